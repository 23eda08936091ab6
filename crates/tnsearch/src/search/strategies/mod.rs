//! The search methods, one file each.

mod annealing;
mod auto;
mod climb;
mod exact;
mod greedy;
mod neighbourhood;
mod random;
mod tnale;
mod tnga;
mod tnls;

pub use annealing::{Annealing, AnnealingSettings, CheckedAnnealing};
pub use auto::Auto;
pub use exact::{CheckedExact, Exact, ExactSettings};
pub use greedy::{CheckedGreedy, Greedy, GreedySettings};
pub use neighbourhood::sample_neighbour;
pub use random::{CheckedRandom, RandomSearch, RandomSettings};
pub use tnale::{CheckedTnale, Tnale, TnaleSettings};
pub use tnga::{CheckedTnga, Tnga, TngaSettings};
pub use tnls::{CheckedTnls, Tnls, TnlsSettings};

// What all of them build on.
use super::{Effort, Outcome, Source, Strategy};
use crate::SettingError;
use crate::error as settings;
use crate::problem::{CheckedObjective, Objective};
