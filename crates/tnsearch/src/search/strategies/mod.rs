//! The search methods, one file each.

mod annealing;
mod begin;
mod climb;
mod cp;
mod default;
mod exact;
mod exact_then_tnls;
mod formats;
mod greedy;
mod in_turn;
mod nearby;
mod neighbourhood;
mod race;
mod random;
mod small;
mod tnale;
mod tnga;
mod tnls;
mod trees;
mod walk;

pub use annealing::{Annealing, AnnealingSettings, CheckedAnnealing};
pub use begin::Begin;
pub use cp::Cp;
pub use exact::{CheckedExact, Exact, ExactSettings};
pub use exact_then_tnls::ExactThenTnls;
pub use formats::FormatsSettings;
pub use greedy::{CheckedGreedy, Greedy, GreedySettings};
pub use in_turn::{Formats, GoOn};
pub use nearby::Nearby;
pub use neighbourhood::sample_neighbour;
pub use race::Race;
pub use random::{CheckedRandom, RandomSearch, RandomSettings};
pub use tnale::{CheckedTnale, Tnale, TnaleSettings};
pub use tnga::{CheckedTnga, Tnga, TngaSettings};
pub use tnls::{CheckedTnls, Tnls, TnlsSettings};
pub use trees::{CheckedTrees, Trees, TreesSettings};

pub use walk::{CheckedWalk, Walk, WalkSettings};

pub(super) use annealing::ANNEALING;
pub(super) use default::AUTO;
pub(super) use exact_then_tnls::EXACT;
pub(super) use formats::FORMATS;
pub(super) use greedy::GREEDY;
pub(super) use random::RANDOM;
pub(super) use tnale::TNALE;
pub(super) use tnga::{TNGA_PLUS, TNGA_STAR};
pub(super) use tnls::TNLS;
pub(super) use trees::TREES;
pub(super) use walk::WALK;

// What all of them build on.
use super::{Ask, Generation, Outcome, Source, Strategy};
use crate::SettingError;
use crate::error as settings;
use crate::fit::Effort;
use crate::problem::CheckedObjective;
