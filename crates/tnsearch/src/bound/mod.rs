//! What no network of a structure can do better: bounds from the singular values of unfoldings.
//!
//! Let Z have structure (G, r) and S be a set of modes. Cutting Z between S and the rest crosses edges of
//! total width `c_S`, so the unfolding `Z_(S)` has rank at most `c_S`, and by Eckart-Young
//! `||X - Z||^2 >= sum over j > c_S of sigma_j(X_(S))^2`. The largest of these over all S is a lower bound
//! on the RSE of *every* fit of the structure. See `docs/bounds.md`.

mod compressed;
mod cuts;
mod needed;
mod order;
mod prepare;
mod relax;
mod report;
mod rest;
mod sketch;
mod spectra;
mod spectrum;
mod table;
mod trees;
mod watch;

pub use cuts::{CutBound, CutReport, MAX_MODES};
pub use needed::{NeededRank, needed_rank};
pub use prepare::{BoundError, BoundLimits, check_template, matters, needs_svd};
pub use relax::{Candidate, Next, Relaxation};
pub use report::{Cut, NeededReport, StructureBound, binding, bound_structure};
pub use spectra::{LeftOut, ModeSet, Spectra, SpectraSettings};
pub use spectrum::Spectrum;
pub use trees::{ALL_TREES, ModeTree, Priced, Pricing, TreeBound};
pub(crate) use trees::{LEFT, counted, good_order};
