//! What is asked: the data, how far from it a network is, what counts as the best, and when to stop; and what can be said
//! of an answer, the [`Statement`].
//!
//! Everything that computes knows this module and nothing above it: [`crate::fit`] and [`crate::bound`] take the
//! data and a [`Stop`]; strategies, engine, journal and report ask the [`Objective`] and the [`Loss`] for names and
//! meanings instead of knowing them.

mod asked;
mod data;
mod figure;
mod holed;
mod loss;
mod losses;
mod mask;
mod objective;
mod over;
mod shrink;
mod statement;
mod stop;
mod words;

pub use asked::{AskedObjective, squared_error};
pub(crate) use data::Facts;
pub use data::{DataError, Target};
pub use figure::{at_least, at_most};
pub use holed::{Holed, Recovered};
pub use loss::{Loss, Measure, ModelDomain, Root};
pub(crate) use losses::check_domain;
pub use losses::{
    Description as LossDescription, Huber, KlDivergence, LossSpec, MakeLoss, PoissonDeviance,
    SquaredError, loss_list, losses, register_loss,
};
pub use mask::{Mask, MaskError};
pub use objective::{CheckedObjective, LowerBound, Objective, Score};
pub use over::{Over, OverFile, Place};
pub use shrink::{ShrinkLimits, Shrunk};
pub use statement::{Known, Needed, Proven, Statement, StatementRecord, Unproven};
pub use stop::{Reason, Stop};
