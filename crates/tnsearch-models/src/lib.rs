//! The weights of a model, made smaller: every matrix, embedding and kernel that gains, within one budget.
//!
//! A [`Job`] looks at every layer on its own ([`front`]): sums of Kronecker products and SVDs ([`sum`]), trees on factors of its
//! sides ([`trees`]), each with what it costs and what it loses. One budget over all layers chooses ([`budget`]), and the
//! cores of what was chosen are written, layer by layer, with a [`manifest`] that says what they are. [`restore()`] makes dense weights
//! of them again. See `docs/weights.md`.

pub mod asked;
pub mod budget;
pub mod calibration;
pub mod command;
pub mod error;
pub mod front;
pub mod job;
pub mod layer;
pub mod leading;
pub mod manifest;
mod measure;
pub mod metric;
pub mod outcome;
pub mod pairing;
pub mod restore;
mod screen;
mod selection;
pub mod sum;
pub mod summary;
pub mod term;
pub mod trees;
mod weighted;
mod write;

pub use asked::AskedModel;
pub use calibration::{Calibration, CalibrationError};
pub use error::ModelError;
pub use job::{Event, Job, Trial, forget, layers};
pub use layer::{Cost, Goal, LAYER_CAP, Layer, LeftAlone, MOST_LOST, Settings, Weigh, Why};
pub use manifest::Manifest;
pub use measure::trial_path;
pub use outcome::{Outcome, Written};
pub use restore::restore;
pub use summary::Summary;
