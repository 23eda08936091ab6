//! Tensor-train Gaussian processes (Izmailov, Novikov and Kropotov, 2018): regression with inducing points on a grid, whose
//! variational mean is a tensor network.
//!
//! A [`Model`] is trained by [`train`], predicts, and is made smaller by [`compress`]. The mathematics is in `bound.rs`,
//! `docs/tgp.md` says how it is used.

mod adam;
mod als;
mod bound;
mod compress;
mod confirm;
mod contract;
mod data;
mod evidence;
mod factors;
mod file;
mod fitter;
mod grid;
mod improve;
mod kernel;
mod model;
mod plain;
mod rows;
mod settings;
#[cfg(test)]
mod tests;
mod train;
mod tune;

pub use bound::Bound;
pub use compress::{CompressSettings, Compressed, FrontPoint, compress};
pub use data::{Shares, Split, Standard, fingerprint};
pub use grid::{Grid, Weights};
pub use kernel::Kernel;
pub use model::{Figures, Model, Prediction};
pub use plain::{Plain, PlainSettings};
pub use rows::Rows;
pub use settings::TrainSettings;
pub use train::{Event, Trained, train};

use thiserror::Error;

/// Why a Gaussian process could not be trained or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TgpError {
    /// A setting is out of range.
    #[error("{name} is {value}; {expected}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// Too few rows.
    #[error("the table has {rows} {}; at least {least} are needed to train, choose and test", if *rows == 1 { "row" } else { "rows" })]
    FewRows {
        /// The rows there are.
        rows: usize,
        /// The rows needed.
        least: usize,
    },
    /// No feature.
    #[error(
        "the table has one column, '{0}'; features are needed before the response, which comes last"
    )]
    NoFeature(String),
    /// One feature, or too many.
    #[error(
        "the table has {features} {} before the response; from 2 to {} can be modelled{}",
        if *features == 1 { "feature" } else { "features" },
        tnsearch::graph::MAX_ORDER,
        if *features == 1 { ", since a train needs two cores" } else { ": leave columns out" }
    )]
    Features {
        /// The features there are.
        features: usize,
    },
    /// Numbers whose deviation cannot be computed.
    #[error(
        "column '{column}' has numbers from {low:e} to {high:e}, which are too large or too near each other to be standardised; rescale it"
    )]
    Range {
        /// The column.
        column: String,
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// A column that says nothing.
    #[error(
        "{} '{column}' is constant ({value} in every row to learn from){}",
        if *response { "the response" } else { "feature" },
        if *response { "; there is nothing to be learnt" } else { "; leave the column out" }
    )]
    Constant {
        /// The column.
        column: String,
        /// Its value.
        value: f64,
        /// Whether it is the response.
        response: bool,
    },
    /// More inducing points than rows.
    #[error(
        "inducing is {points}, more than the {rows} rows to learn from; use fewer points for each feature"
    )]
    ManyPoints {
        /// The points of a feature.
        points: usize,
        /// The rows.
        rows: usize,
    },
    /// Not one number of inducing points, nor one for each feature.
    #[error("inducing has {given} numbers; give one, or one for each of the {features} features")]
    Points {
        /// The numbers given.
        given: usize,
        /// The features.
        features: usize,
    },
    /// A table with other columns than the model's.
    #[error("the table has no column '{missing}', which the model was trained with; it has {have}")]
    Columns {
        /// The column that is not there.
        missing: String,
        /// The columns there are.
        have: String,
    },
    /// A table that the model was not trained with.
    #[error("this is not the table that the model was trained with ({rows} rows then, {found} now{}); its rows for testing would not be the same", if *rows == *found { ", with other numbers" } else { "" })]
    OtherTable {
        /// The rows of the table it was trained with.
        rows: usize,
        /// The rows of this one.
        found: usize,
    },
    /// A core whose normal equations would be too large.
    #[error(
        "a core would have {params} params; the most is {}: use a smaller rank or fewer inducing points",
        als::LARGEST_CORE
    )]
    Core {
        /// Its params.
        params: usize,
    },
    /// A contraction that would take too much memory.
    #[error(
        "a contraction of the network would need {entries} numbers for each row; use smaller ranks"
    )]
    Contraction {
        /// The numbers of its largest tensor.
        entries: usize,
    },
    /// The grid is too large to be formed, which a search of it needs.
    #[error("the mean has {entries:.3e} entries, and at most {most} can be formed, which a search needs; use fewer inducing points", most = plain::MOST_ENTRIES)]
    Large {
        /// The entries of the grid.
        entries: f64,
    },
    /// Numbers that cannot be computed with.
    #[error("{0}: the features may be of very different sizes, or repeat each other")]
    Numbers(&'static str),
    /// It would take more memory than it may.
    #[error("training needs about {} of memory, but only {} is available or allowed; use fewer inducing points, a smaller rank or fewer evidence rows", tnsearch_io::text::bytes(*needed), tnsearch_io::text::bytes(u128::from(*limit)))]
    Memory {
        /// Bytes needed, about.
        needed: u128,
        /// Bytes there are.
        limit: u64,
    },
    /// A search failed.
    #[error(transparent)]
    Search(#[from] tnsearch::search::SearchError),
    /// A network could not be made.
    #[error(transparent)]
    Network(#[from] tnsearch::network::NetworkError),
    /// A structure could not be made.
    #[error(transparent)]
    Graph(#[from] tnsearch::graph::GraphError),
    /// The mean is no tensor.
    #[error(transparent)]
    Tensor(#[from] tnsearch::tensor::TensorError),
    /// A decomposition failed.
    #[error(transparent)]
    Decompose(#[from] tnsearch::decompose::DecomposeError),
    /// A model is not what was said about it: a fault of the program.
    #[error(
        "the model found is not what was claimed: {0}; nothing is written (a fault of tnsearch: please report it)"
    )]
    Claim(String),
    /// A stop was asked for before there was a model.
    #[error("the time was up before there was a model; give more --max-seconds")]
    Stopped,
}
