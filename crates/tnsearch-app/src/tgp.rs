//! Gaussian processes trained, used and made smaller: threads, time, and what is said about them.

use crate::threads::pool;
use serde::Serialize;
use std::time::Instant;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::problem::{LowerBound, Over, OverFile, StatementRecord, Stop};
use tnsearch::search::Budget;
use tnsearch_io::Table;
use tnsearch_tgp::{
    CompressSettings, Compressed, Event, Figures, FrontPoint, Kernel, Model, Prediction, TgpError,
    TrainSettings, Trained,
};

/// The seconds that compressing takes at most where nothing is said.
const COMPRESS_SECONDS: f64 = 120.0;

/// Why a Gaussian process could not be trained, used or made smaller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The process itself.
    #[error(transparent)]
    Tgp(#[from] TgpError),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The system gives no threads.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// What work may use.
#[derive(Debug, Clone, Default)]
pub struct Means {
    /// It ends after so many seconds; none: not when it trains, after 120 when it compresses.
    pub max_seconds: Option<f64>,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// Ends it.
    pub stop: Stop,
}

impl Means {
    /// Refuses a time that nothing could be done in, and threads that no machine has.
    pub fn check(&self) -> Result<(), SettingError> {
        let budget = Budget::default();
        budget.with(|b| (b.max_seconds, b.threads) = (self.max_seconds, self.threads)).check()
    }

    fn stop(&self, usual: Option<f64>) -> Stop {
        let seconds = self.max_seconds.or(usual);
        seconds.map_or_else(|| self.stop.child(), |s| self.stop.within_seconds(s))
    }
}

/// Figures without the params, which the structure has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// The evidence lower bound.
    pub bound: Option<f64>,
    /// The mean squared error on the rows trained with.
    pub train_mse: f64,
    /// The same on the rows that choices were made by.
    pub validation_mse: f64,
    /// The same on the rows that nothing was learnt from.
    pub test_mse: f64,
    /// The same with these rows standardised by their own deviation.
    pub test_mse_respective: f64,
}

impl From<&Figures> for Measured {
    fn from(f: &Figures) -> Self {
        Measured {
            bound: f.bound,
            train_mse: f.train_mse,
            validation_mse: f.validation_mse,
            test_mse: f.test_mse,
            test_mse_respective: f.test_mse_respective,
        }
    }
}

/// The figures of a model that was measured.
fn figures(model: &Model) -> Result<Figures, TgpError> {
    model.figures.ok_or_else(|| TgpError::Claim("it was not measured".to_owned()))
}

/// What is said about a model that was trained.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainSummary {
    /// How near it is.
    #[serde(flatten)]
    pub figures: Measured,
    /// Its hyperparameters.
    pub kernel: Kernel,
    /// Rows trained with, to choose by, to test with.
    pub rows: [usize; 3],
    /// The columns that it predicts from.
    pub features: Vec<String>,
    /// The column that it predicts.
    pub response: String,
    /// Sweeps made.
    pub sweeps: usize,
    /// Whether a stop cut it short.
    pub stopped: bool,
    /// How long it took.
    pub seconds: f64,
    /// Which rows are for what, and where cores begin.
    pub seed: u64,
}

/// Trains a model on a table whose last column is the response, or goes on with one.
pub fn train(
    table: &Table,
    settings: &TrainSettings,
    from: Option<Model>,
    means: &Means,
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<(Trained, TrainSummary), ProcessError> {
    let begun = Instant::now();
    means.check()?;
    let (pool, stop) = (pool::<ProcessError>(means.threads)?, means.stop(None));
    let trained = pool.install(|| tnsearch_tgp::train(table, settings, from, &stop, tell))?;
    let model = &trained.model;
    let names = model.names.split_last();
    let (response, features) = names.map_or((String::new(), &[][..]), |(y, x)| (y.clone(), x));
    let summary = TrainSummary {
        figures: Measured::from(&figures(model)?),
        kernel: model.kernel.clone(),
        rows: trained.rows,
        features: features.to_vec(),
        response,
        sweeps: model.sweeps,
        stopped: trained.stopped,
        seconds: begun.elapsed().as_secs_f64(),
        seed: settings.seed,
    };
    Ok((trained, summary))
}

/// What is said about predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PredictSummary {
    /// The rows.
    pub rows: usize,
    /// The entries of the cores of the mean.
    pub params: u128,
    /// Where the response is known: in its units, and standardised by the model's rows.
    pub mse: Option<f64>,
    /// The same, standardised by the model's rows.
    pub mse_standardised: Option<f64>,
    /// The share of rows within two standard deviations.
    pub within_two_sd: Option<f64>,
}

/// Predicts the rows of a table; where the response is there too, the errors are measured.
pub fn predict(
    model: &Model,
    table: &Table,
    threads: Option<usize>,
) -> Result<(Prediction, PredictSummary), ProcessError> {
    let (_, response) = model.columns(table)?;
    let predicted = pool::<ProcessError>(threads)?.install(|| model.predict(table))?;
    let rows = table.rows();
    let known = response.filter(|_| rows > 0);
    let (mut squares, mut within) = (0.0, 0usize);
    if let Some(column) = known {
        let pairs = predicted.mean.iter().zip(&predicted.deviation);
        for (r, (mean, sd)) in pairs.enumerate() {
            let error = table.row(r)[column] - mean;
            squares += error * error;
            within += usize::from(error.abs() <= 2.0 * sd);
        }
    }
    let n = rows as f64;
    let scale = model.standard.scale.last().copied().unwrap_or(1.0);
    let mse = known.map(|_| squares / n);
    let summary = PredictSummary {
        rows,
        params: model.mean.params(),
        mse,
        mse_standardised: mse.map(|e| e / (scale * scale)),
        within_two_sd: known.map(|_| within as f64 / n),
    };
    Ok((predicted, summary))
}

/// What is said about a model that was made smaller.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CompressSummary {
    /// How near it is.
    #[serde(flatten)]
    pub figures: Measured,
    /// Whether its cores were fitted to the data.
    pub tuned: bool,
    /// Whether it is smaller.
    pub target_reached: bool,
    /// How much the error on the validation rows may rise.
    pub max_mse_loss: f64,
    /// The figures of the model that was given.
    pub before: Figures,
    /// What the search of the tensor gave.
    pub plain: Option<PlainSummary>,
    /// Params against error.
    pub pareto: Vec<FrontPoint>,
    /// Structures fitted to the data.
    pub evaluations: u64,
    /// Whether a stop cut it short.
    pub stopped: bool,
    /// How long it took.
    pub seconds: f64,
    /// The seed of the searches.
    pub seed: u64,
}

/// What the search of the tensor gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlainSummary {
    /// How near its model is.
    #[serde(flatten)]
    pub figures: Figures,
    /// The RSE of the network.
    pub rse: f64,
    /// The RSE asked for.
    pub max_rse: f64,
    /// What none can go below.
    pub lower_bound: Option<LowerBound>,
    /// The structures that this is about.
    pub bound_over: Option<OverFile>,
    /// What is proven.
    pub statement: StatementRecord,
    /// Whether none is smaller.
    pub certified_optimal: bool,
    /// Structures fitted.
    pub evaluations: u64,
}

/// Makes a model smaller. The table is the one it was trained with.
pub fn compress(
    model: &Model,
    table: &Table,
    settings: CompressSettings,
    means: &Means,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<(Compressed, CompressSummary), ProcessError> {
    let begun = Instant::now();
    means.check()?;
    let (pool, stop) = (pool::<ProcessError>(means.threads)?, means.stop(Some(COMPRESS_SECONDS)));
    let settings = settings.with(|s| s.threads = means.threads);
    let found = pool.install(|| tnsearch_tgp::compress(model, table, &settings, &stop, tell))?;
    let now = figures(&found.model)?;
    let plain = found.plain.as_ref().map(|(p, figures)| PlainSummary {
        figures: *figures,
        rse: p.rse,
        max_rse: p.max_rse,
        lower_bound: p.lower_bound,
        bound_over: p.statement.bound_over().map(Over::to_file),
        statement: p.statement.record(),
        certified_optimal: p.certified_optimal,
        evaluations: p.evaluations,
    });
    let summary = CompressSummary {
        figures: Measured::from(&now),
        tuned: found.tuned,
        target_reached: now.params < found.before.params,
        max_mse_loss: settings.max_mse_loss,
        before: found.before,
        plain,
        pareto: found.front.clone(),
        evaluations: found.evaluations,
        stopped: found.stopped,
        seconds: begun.elapsed().as_secs_f64(),
        seed: settings.seed,
    };
    Ok((found, summary))
}
