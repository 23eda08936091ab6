//! Training: hyperparameters by the evidence of some rows, then the mean by sweeps over all rows, the hyperparameters by
//! minibatches of the bound.

use super::TgpError;
use super::adam::Adam;
use super::als;
use super::bound::{Posterior, Problem};
use super::contract::Contraction;
use super::data::{Shares, Split, Standard, fingerprint};
use super::evidence;
use super::grid::Grid;
use super::kernel::{Kernel, sides};
use super::model::{Figures, Model};
use super::rows::Rows;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution as _, StandardNormal};
use std::sync::Arc;
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::Stop;
use tnsearch::rng::stream;
use tnsearch_io::Table;

/// The settings of training.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainSettings {
    /// The inducing points of each feature; one number for all of them, or one for each.
    pub inducing: Vec<usize>,
    /// The rank of every edge of the train.
    pub rank: usize,
    /// Sweeps over the cores at most.
    pub sweeps: usize,
    /// Sweeps without a smaller error on the validation rows, after which it ends.
    pub patience: usize,
    /// Rows that the evidence is computed on, at the beginning.
    pub evidence_rows: usize,
    /// Steps of Adam on that evidence; 0: begin with lengths of 2, signal 1 and noise 0.5.
    pub evidence_steps: usize,
    /// Rows of a minibatch of the bound.
    pub batch: usize,
    /// Steps of Adam on the bound after each sweep; 0: hyperparameters stay as the evidence gave them.
    pub bound_steps: usize,
    /// Their rate.
    pub rate: f64,
    /// How rows are divided.
    pub shares: Shares,
    /// Refuse what needs more memory.
    pub max_bytes: Option<u64>,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            inducing: vec![8],
            rank: 10,
            sweeps: 20,
            patience: 2,
            evidence_rows: 1000,
            evidence_steps: 60,
            batch: 2048,
            bound_steps: 0,
            rate: 0.02,
            shares: Shares::new(0),
            max_bytes: None,
        }
    }
}

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
        /// The bound.
        bound: f64,
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
    pub fn figures(&self, model: &Model, bound: f64) -> Result<Figures, TgpError> {
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

impl TrainSettings {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The points of every feature, checked.
    fn points(&self, features: usize, rows: usize) -> Result<Vec<usize>, TgpError> {
        let points = match self.inducing.as_slice() {
            [one] => vec![*one; features],
            many if many.len() == features => many.to_vec(),
            many => return Err(TgpError::Points { given: many.len(), features }),
        };
        for &m in &points {
            if m < 2 {
                let expected = "a feature needs at least 2 points (4 for interpolation by cubics without its ends)";
                return Err(TgpError::Setting { name: "inducing", value: m.to_string(), expected });
            }
            if m > rows {
                return Err(TgpError::ManyPoints { points: m, rows });
            }
        }
        Ok(points)
    }

    fn check(&self) -> Result<(), TgpError> {
        let bad = |name, value: String, expected| Err(TgpError::Setting { name, value, expected });
        if self.rank == 0 {
            return bad("tt-rank", self.rank.to_string(), "it must be at least 1");
        }
        if self.sweeps == 0 {
            return bad("sweeps", self.sweeps.to_string(), "it must be at least 1");
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            return bad("rate", self.rate.to_string(), "it must be above 0 and at most 1");
        }
        if self.batch == 0 || self.evidence_rows < 2 {
            return bad("batch", self.batch.to_string(), "it must be at least 1");
        }
        Ok(())
    }

    /// Refuses what takes too much memory: vectors of all rows, and the normal equations of the largest core.
    fn check_memory(&self, points: &[usize], rows: usize) -> Result<(), TgpError> {
        let numbers: usize = points.iter().map(|m| m + 5).sum::<usize>().saturating_mul(rows);
        let core = points.iter().max().map_or(0, |m| m.saturating_mul(self.rank.saturating_pow(2)));
        let core = core.min(self.rank.saturating_mul(points[0]).saturating_mul(self.rank));
        if core > als::LARGEST_CORE {
            return Err(TgpError::Core { params: core });
        }
        let needed = 8 * (2 * numbers as u128 + 4 * (core as u128).pow(2)) + (600 << 20) / 4;
        match self.max_bytes.filter(|&limit| needed > u128::from(limit)) {
            Some(limit) => Err(TgpError::Memory { needed, limit }),
            None => Ok(()),
        }
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
    let split = settings.shares.split(table.rows())?;
    let known: Vec<usize> = split.train.iter().chain(&split.validation).copied().collect();
    let points = settings.points(d, split.train.len())?;
    settings.check_memory(&points, table.rows())?;
    let standard = Standard::of(table, &known)?;
    let grids = grids(table, &standard, &known, &points);
    let data = Prepared::new(table, &settings.shares, &standard, &grids)?;
    let begun = match from {
        Some(model) => begin_again(model, table, settings, &grids)?,
        None => {
            let kernel = first_kernel(&data, &grids, settings, stop, heard)?;
            let structure = train_structure(d, settings.rank)?;
            let plan = Contraction::new(&structure.canonical().graph, &points)?;
            let cores = random_cores(&plan, settings.shares.seed);
            let roots: Vec<Vec<f64>> = points.iter().map(|&m| identity(m)).collect();
            let sides = sides(&grids, &kernel)?;
            let mean = Model::network(&structure, &plan, &cores, &sides, &kernel)?;
            let (names, shares) = (table.names.clone(), settings.shares);
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
    let rank = train_structure(dims.len(), settings.rank)?;
    if model.shares != settings.shares || model.grids != grids || *model.mean.structure() != rank {
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

fn grids(table: &Table, standard: &Standard, rows: &[usize], points: &[usize]) -> Vec<Grid> {
    let grid = |(k, &m): (usize, &usize)| {
        let values = rows.iter().map(|&r| standard.apply(k, table.row(r)[k]));
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        Grid::over(low, high, m)
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
    let rows =
        some_rows(&data.train, settings.evidence_rows, settings.shares.seed, b"tgp evidence");
    let from = Kernel::new(vec![2.0; grids.len()], 1.0, 0.5);
    evidence::learn(&rows, grids, &from, settings.evidence_steps, stop, &mut |step, evidence| {
        heard(Event::Evidence { step, evidence });
    })
}

struct Run<'a> {
    data: &'a Prepared,
    settings: &'a TrainSettings,
    stop: &'a Stop,
}

impl Run<'_> {
    fn improve(&self, begun: Model, heard: &mut dyn FnMut(Event<'_>)) -> Result<Trained, TgpError> {
        let Run { data, settings, stop } = *self;
        let structure = begun.mean.structure().clone();
        let mut model = begun;
        let mut sides = model.sides()?;
        let (plan, cores) = model.whitened(&sides)?;
        let mut at = Posterior { cores, roots: model.whitened_roots(&sides) };
        let mut best: Option<(f64, Model, f64)> = None;
        let (mut worse, mut adam) = (0, Adam::new(model.kernel.logs().len()));
        let first = model.sweeps;
        while model.sweeps < settings.sweeps.max(first + 1)
            && worse < settings.patience
            && !stop.is_set()
        {
            let problem = Problem {
                rows: &data.train,
                sides: &sides,
                kernel: &model.kernel,
                plan: &plan,
                weight: data.train.len() as f64,
                parallel: true,
            };
            let phi = data.train.vectors(&sides);
            als::sweep(&problem, &mut at.cores, &phi, model.sweeps % 2 == 1, stop)?;
            if stop.is_set() && best.is_some() {
                break;
            }
            problem.improve_roots(&mut at.roots)?;
            let bound = problem.bound(&at);
            model.sweeps += 1;
            let made = model.with_posterior(&structure, &plan, &at, &sides)?;
            let validation_mse = made.mse(&data.validation)?;
            let better = best.as_ref().is_none_or(|(least, ..)| validation_mse < *least);
            // An improvement too small to see is none to wait for.
            let clearly =
                best.as_ref().is_none_or(|(least, ..)| validation_mse < least * (1.0 - 1e-3));
            worse = if clearly { 0 } else { worse + 1 };
            if better {
                best = Some((validation_mse, made, bound.bound));
            }
            let (sweep, train_mse) = (model.sweeps, bound.mse);
            let improved = best.as_ref().filter(|_| better).map(|(_, m, _)| m);
            heard(Event::Sweep {
                sweep,
                bound: bound.bound,
                train_mse,
                validation_mse,
                best: improved,
            });
            if settings.bound_steps > 0 {
                self.learn(&mut model, &mut at, &plan, &mut adam)?;
                sides = model.sides()?;
            }
        }
        let (_, mut model, bound) = best.ok_or(TgpError::Stopped)?;
        model.figures = Some(data.figures(&model, bound)?);
        let Split { train, validation, test } = &data.split;
        let rows = [train.len(), validation.len(), test.len()];
        Ok(Trained { model, rows, stopped: stop.is_set() })
    }

    /// Steps of Adam on the bound by the hyperparameters, each on another minibatch.
    fn learn(
        &self,
        model: &mut Model,
        at: &mut Posterior,
        plan: &Contraction,
        adam: &mut Adam,
    ) -> Result<(), TgpError> {
        let rows = &self.data.train;
        for step in 0..self.settings.bound_steps {
            if self.stop.is_set() {
                return Ok(());
            }
            let label = format!("tgp batch {} {step}", model.sweeps);
            let batch =
                some_rows(rows, self.settings.batch, self.settings.shares.seed, label.as_bytes());
            let sides = model.sides()?;
            let problem = Problem {
                rows: &batch,
                sides: &sides,
                kernel: &model.kernel,
                plan,
                weight: rows.len() as f64,
                parallel: true,
            };
            let (_, gradient) = problem.gradient(at);
            let mut logs = model.kernel.logs();
            adam.step(&mut logs, &gradient.logs, self.settings.rate);
            model.kernel = Kernel::from_logs(&logs);
        }
        Ok(())
    }
}
