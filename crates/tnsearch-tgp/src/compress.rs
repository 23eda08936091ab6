//! A smaller network for the mean of a trained model, at most so much worse on the validation rows.
//!
//! First the tensor of the mean is searched ([`super::plain`]), as in the paper. Then, unless that is turned off, structures are
//! searched whose cores are fitted to the training rows themselves ([`super::fitter`]), from rank 1 on, one rank at a time on the
//! edge that helps most; what is too much is taken away again. The smallest that is good enough on the validation rows is the
//! answer. Nothing is learnt or chosen from the test rows.

use super::TgpError;
use super::model::{Figures, Model};
use super::plain::{self, Plain, PlainSettings};
use super::train::{Prepared, same_table};
use super::tune::Tune;
use serde::Serialize;
use std::sync::Arc;
use tnsearch::declare_options;
use tnsearch::graph::Template;
use tnsearch::options::Takes;
use tnsearch::problem::Stop;
use tnsearch::search::{Resolved, SearchSettings, StrategySpec};
use tnsearch_io::Table;

declare_options! {
    /// The settings of a compression.
    pub struct CompressSettings {
        /// How much the mean squared error on the validation rows may rise, in standardised units
        max_mse_loss: f64 = 0.01, Takes::Real, "LOSS", "Objective";
        /// Go on with cores that are fitted to the data, once the mean alone was reparameterised
        tune: bool = true, Takes::Off, "", "Search";
        /// In the search of the tensor all inducing points count alike, as in the paper; else as the data do
        plain_metric: bool = false, Takes::On, "", "Search";
        /// The largest rank
        max_rank: usize = 14, Takes::Count, "R", "Search";
        /// The seed of the searches
        seed: u64 = 0, Takes::Seed, "SEED", "Search";
    }
    and {
        /// The template that is searched; none: several formats for the tensor, any graph for the data.
        template: Option<Arc<Template>> = None;
        /// Threads; none: one per processor.
        threads: Option<usize> = None;
        /// The part of the time that the search of the tensor gets, where there is a limit.
        plain_part: f64 = 0.4;
    }
}

/// A network that nothing smaller that was tried is as good as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FrontPoint {
    /// Its params.
    pub params: u128,
    /// The error it was judged by: on the validation rows or, where that is more, on the training rows, raised by the
    /// difference that the model before has.
    pub mse: f64,
}

/// A model made smaller.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compressed {
    /// The smaller model, with its figures; the one that was given where nothing smaller is good enough.
    pub model: Model,
    /// The figures of the model that was given.
    pub before: Figures,
    /// What the search of the tensor gave, where it gave anything, and its figures.
    pub plain: Option<(Plain, Figures)>,
    /// Whether the answer's cores were fitted to the data.
    pub tuned: bool,
    /// Params against error of everything that was fitted to the data, and of the answers.
    pub front: Vec<FrontPoint>,
    /// Structures fitted to the data.
    pub evaluations: u64,
    /// Whether a stop cut it short.
    pub stopped: bool,
}

/// Makes a model smaller. The table is the one it was trained with.
pub fn compress(
    model: &Model,
    table: &Table,
    settings: &CompressSettings,
    stop: &Stop,
    heard: &mut dyn FnMut(&str),
) -> Result<Compressed, TgpError> {
    if !(settings.max_mse_loss > 0.0 && settings.max_mse_loss.is_finite()) {
        let (name, value) = ("max-mse-loss", settings.max_mse_loss.to_string());
        return Err(TgpError::Setting {
            name,
            value,
            expected: "it must be a positive number, in standardised units",
        });
    }
    same_table(model, table)?;
    let data = Prepared::new(table, &model.shares, &model.standard, &model.grids)?;
    let measure = |model: &Model| -> Result<Figures, TgpError> {
        data.figures(model, model.bound(&data.train)?.reported)
    };
    let before = measure(model)?;
    let limit = before.validation_mse + settings.max_mse_loss;
    let judged =
        |f: &Figures| f.validation_mse.max(f.train_mse + before.validation_mse - before.train_mse);
    heard(&format!(
        "{} params, MSE {:.4} on the validation rows; {limit:.4} is allowed",
        before.params, before.validation_mse
    ));
    let (plain, networks) = {
        let search = plain_settings(settings, model.grids.len())?;
        let part = if settings.tune { stop.within_part(settings.plain_part) } else { stop.clone() };
        plain::search(
            model,
            (&data.train, &data.validation),
            before.validation_mse,
            limit,
            &search,
            &part,
        )?
    };
    let mut front: Vec<FrontPoint> =
        vec![FrontPoint { params: before.params, mse: before.validation_mse }];
    let mut best = model.clone();
    let mut with_figures = None;
    if let Some(found) = plain {
        let made = model.with_mean(found.mean.clone());
        let figures = measure(&made)?;
        heard(&format!(
            "reparameterised: {} params, MSE {:.4} on the validation rows",
            figures.params, figures.validation_mse
        ));
        front.push(FrontPoint { params: figures.params, mse: judged(&figures) });
        if figures.params < best.mean.params() {
            best = made;
        }
        with_figures = Some((found, figures));
    }
    let (mut tuned, mut evaluations) = (false, 0);
    if settings.tune && !stop.is_set() {
        let run = Tune { model, data: &data, settings, limit, stop, sides: model.sides()? };
        let (found, count) = run.search(networks, &mut front, heard)?;
        evaluations = count;
        if let Some(smaller) = found.filter(|m| m.mean.params() <= best.mean.params()) {
            (best, tuned) = (smaller, true);
        }
    }
    best.figures = Some(measure(&best)?);
    if let Some(f) = &best.figures {
        best.confirm(&data.validation, f.validation_mse)?;
        front.push(FrontPoint { params: f.params, mse: judged(f) });
    }
    Ok(Compressed {
        model: best,
        before,
        plain: with_figures,
        tuned,
        front: pareto(front),
        evaluations,
        stopped: stop.is_set(),
    })
}

/// Those that nothing is better than in both.
fn pareto(mut points: Vec<FrontPoint>) -> Vec<FrontPoint> {
    points.sort_by(|a, b| a.params.cmp(&b.params).then(a.mse.total_cmp(&b.mse)));
    let mut out: Vec<FrontPoint> = Vec::new();
    for point in points {
        if out.last().is_none_or(|last| point.mse < last.mse) {
            out.push(point);
        }
    }
    out
}

fn plain_settings(settings: &CompressSettings, order: usize) -> Result<PlainSettings, TgpError> {
    let template = match &settings.template {
        Some(template) => template.clone(),
        None => Arc::new(Template::parse("formats", order)?),
    };
    if template.copy_vertex().is_some() {
        let expected = "a model of a Gaussian process has cores only; use another template";
        return Err(TgpError::Setting { name: "template", value: "'cp'".to_owned(), expected });
    }
    let mut search = SearchSettings::default();
    if template.is_formats() {
        search.strategy = StrategySpec::new("formats").set("terms", 0);
    }
    search.seed = settings.seed;
    search.max_rank = Some(settings.max_rank);
    search.max_phi = Some(Resolved::PAPER_PHI);
    search.budget.threads = settings.threads;
    Ok(PlainSettings {
        template,
        search,
        by_data: !settings.plain_metric,
        rounds: 3,
        looser: if settings.tune { 3 } else { 0 },
    })
}
