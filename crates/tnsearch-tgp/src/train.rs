//! Training: hyperparameters by the evidence of some rows, then the mean by sweeps over all rows, the hyperparameters by
//! minibatches of the bound.

use super::TgpError;
use super::contract::Contraction;
use super::data::{Shares, Split, Standard, fingerprint};
use super::evidence;
use super::grid::Grid;
use super::improve::Run;
use super::kernel::{Kernel, sides};
use super::model::{Figures, Model};
use super::rows::Rows;
use super::settings::TrainSettings;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution as _, StandardNormal};
use std::sync::Arc;
use tnsearch::graph::{MAX_ORDER, Structure, Template};
use tnsearch::problem::Stop;
use tnsearch::rng::stream;
use tnsearch_io::Table;

/// How far the grid goes beyond the rows that it is laid over, at most, in units of their range.
const BEYOND: f64 = 0.1;

/// What happens during training.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step on the evidence.
    Evidence {
        /// Its number, from 0.
        step: usize,
        /// The log evidence of the rows it is computed on.
        evidence: f64,
    },
    /// A sweep is done.
    Sweep {
        /// Its number, from 1.
        sweep: usize,
        /// The bound; none where it cannot be told from rounding.
        bound: Option<f64>,
        /// The error on the rows trained with.
        train_mse: f64,
        /// The error on the rows to choose by.
        validation_mse: f64,
        /// The model, where it is the best so far.
        best: Option<&'a Model>,
    },
}

/// A model and how it came about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trained {
    /// The model of the smallest error on the validation rows, with its figures.
    pub model: Model,
    /// Rows trained with, to choose by, to test with.
    pub rows: [usize; 3],
    /// Whether a stop cut it short.
    pub stopped: bool,
}

/// A table divided, standardised and on its grids.
pub(super) struct Prepared {
    pub train: Rows,
    pub validation: Rows,
    pub test: Rows,
    pub split: Split,
}

impl Prepared {
    pub fn new(
        table: &Table,
        shares: &Shares,
        standard: &Standard,
        grids: &[Grid],
    ) -> Result<Self, TgpError> {
        let split = shares.split(table.rows())?;
        let rows = |which: &[usize]| {
            let (features, y) = standard.rows(table, which);
            Rows::new(grids, &features, y)
        };
        Ok(Prepared {
            train: rows(&split.train),
            validation: rows(&split.validation),
            test: rows(&split.test),
            split,
        })
    }

    /// How near a model is.
    pub fn figures(&self, model: &Model, bound: Option<f64>) -> Result<Figures, TgpError> {
        let test_mse = model.mse(&self.test)?;
        let n = self.test.len() as f64;
        let mean = self.test.y.iter().sum::<f64>() / n;
        let variance = self.test.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
        Ok(Figures {
            params: model.mean.params(),
            bound,
            train_mse: model.mse(&self.train)?,
            validation_mse: model.mse(&self.validation)?,
            test_mse,
            test_mse_respective: if variance > 0.0 { test_mse / variance } else { test_mse },
        })
    }
}

/// Trains a model on a table whose last column is the response, or goes on with one.
pub fn train(
    table: &Table,
    settings: &TrainSettings,
    from: Option<Model>,
    stop: &Stop,
    heard: &mut dyn FnMut(Event<'_>),
) -> Result<Trained, TgpError> {
    settings.check()?;
    let d = table.columns() - 1;
    if d == 0 {
        return Err(TgpError::NoFeature(table.names[0].clone()));
    }
    // What no network can carry is refused before anything is computed.
    if !(2..=MAX_ORDER).contains(&d) {
        return Err(TgpError::Features { features: d });
    }
    let split = settings.shares().split(table.rows())?;
    let known: Vec<usize> = split.train.iter().chain(&split.validation).copied().collect();
    let points = settings.points(d, split.train.len())?;
    let evidence = match from.is_some() || settings.evidence_steps == 0 {
        true => 0,
        false => settings.evidence_rows.min(split.train.len()),
    };
    settings.check_memory(&points, table.rows(), evidence)?;
    let standard = Standard::of(table, &known)?;
    let grids = grids(table, &standard, &known, &points);
    let data = Prepared::new(table, &settings.shares(), &standard, &grids)?;
    let begun = match from {
        Some(model) => begin_again(model, table, settings, &grids)?,
        None => {
            let kernel = first_kernel(&data, &grids, settings, stop, heard)?;
            let structure = train_structure(d, settings.tt_rank)?;
            let plan = Contraction::new(&structure.canonical().graph, &points)?;
            let cores = random_cores(&plan, settings.seed);
            let roots: Vec<Vec<f64>> = points.iter().map(|&m| identity(m)).collect();
            let sides = sides(&grids, &kernel)?;
            let mean = Model::network(&structure, &plan, &cores, &sides, &kernel)?;
            let (names, shares) = (table.names.clone(), settings.shares());
            let roots = Model::coloured_roots(&kernel, &sides, &roots);
            let (rows, fingerprint) = (table.rows(), fingerprint(table));
            Model {
                names,
                standard,
                grids,
                kernel,
                mean,
                roots,
                shares,
                rows,
                fingerprint,
                sweeps: 0,
                figures: None,
            }
        }
    };
    Run { data: &data, settings, stop }.improve(begun, heard)
}

/// Checks that a model can go on with this table and these settings.
fn begin_again(
    model: Model,
    table: &Table,
    settings: &TrainSettings,
    grids: &[Grid],
) -> Result<Model, TgpError> {
    same_table(&model, table)?;
    let dims: Vec<usize> = grids.iter().map(|g| g.points).collect();
    let rank = train_structure(dims.len(), settings.tt_rank)?;
    if model.shares != settings.shares() || model.grids != grids || *model.mean.structure() != rank
    {
        let expected = "the model to go on with has others; use the same --seed, --inducing, --tt-rank and shares, or do not --resume";
        return Err(TgpError::Setting {
            name: "resume",
            value: "a model of other settings".to_owned(),
            expected,
        });
    }
    Ok(model)
}

/// Refuses another table than the model was trained with.
pub(super) fn same_table(model: &Model, table: &Table) -> Result<(), TgpError> {
    if model.names != table.names {
        let missing = model.names.iter().find(|n| !table.names.contains(n));
        let have = table.names.join(", ");
        if let Some(missing) = missing {
            return Err(TgpError::Columns { missing: missing.clone(), have });
        }
    }
    match model.fingerprint == fingerprint(table) {
        true => Ok(()),
        false => Err(TgpError::OtherTable { rows: model.rows, found: table.rows() }),
    }
}

/// The grids: over the range of each feature, but for what is far beyond all but two rows of a thousand.
fn grids(table: &Table, standard: &Standard, rows: &[usize], points: &[usize]) -> Vec<Grid> {
    let grid = |(k, &m): (usize, &usize)| {
        let mut values: Vec<f64> =
            rows.iter().map(|&r| standard.apply(k, table.row(r)[k])).collect();
        values.sort_by(f64::total_cmp);
        let (first, last) = (values[0], values[values.len() - 1]);
        let rare = values.len() / 1000;
        let (low, high) = (values[rare], values[values.len() - 1 - rare]);
        match high > low {
            true => {
                let margin = BEYOND * (high - low);
                Grid::over(first.max(low - margin), last.min(high + margin), m)
            }
            false => Grid::over(first, last, m),
        }
    };
    points.iter().enumerate().map(grid).collect()
}

/// A tensor train of one rank on every edge.
fn train_structure(order: usize, rank: usize) -> Result<Structure, TgpError> {
    let template = Arc::new(Template::path(order)?);
    let ranks = vec![rank; template.edges().len()];
    Ok(Structure::identity(template, ranks)?)
}

pub(super) fn random_cores(plan: &Contraction, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = stream(seed, b"tgp cores");
    let mut core = |v: &super::contract::Vertex| -> Vec<f64> {
        let scale = 1.0 / (v.width as f64).sqrt().sqrt();
        (0..v.params())
            .map(|_| {
                let x: f64 = StandardNormal.sample(&mut rng);
                scale * x
            })
            .collect()
    };
    plan.vertices().iter().map(&mut core).collect()
}

fn identity(m: usize) -> Vec<f64> {
    (0..m * m).map(|k| f64::from(u8::from(k / m == k % m))).collect()
}

/// Some of the training rows, by the seed.
pub(super) fn some_rows(rows: &Rows, count: usize, seed: u64, label: &[u8]) -> Rows {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.shuffle(&mut stream(seed, label));
    order.truncate(count);
    order.sort_unstable();
    rows.some(&order)
}

fn first_kernel(
    data: &Prepared,
    grids: &[Grid],
    settings: &TrainSettings,
    stop: &Stop,
    heard: &mut dyn FnMut(Event<'_>),
) -> Result<Kernel, TgpError> {
    let rows = some_rows(&data.train, settings.evidence_rows, settings.seed, b"tgp evidence");
    // Lengths far below the step have no slope.
    let lengths = grids.iter().map(|g| g.step.max(2.0)).collect();
    let from = Kernel::new(lengths, 1.0, 0.5);
    // Half of the time is for the sweeps.
    let part = stop.within_part(0.5);
    evidence::learn(&rows, grids, &from, settings.evidence_steps, &part, &mut |step, evidence| {
        heard(Event::Evidence { step, evidence });
    })
}
