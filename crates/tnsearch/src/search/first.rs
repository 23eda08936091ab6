//! A first answer, before anything clever: where the entries are many, a train by sketches, in a few passes over them.

use super::Graphs;
use crate::decompose::{Decomposition, Limits, Widths, sketched_train};
use crate::fit::Fitted;
use crate::graph::{Structure, Template};
use crate::problem::{CheckedObjective, Target};
use std::sync::Arc;

/// Smaller tensors have their answers soon enough.
const MIN_ENTRIES: usize = 1 << 20;
/// The most columns of a sketch.
const MOST: usize = 128;

/// An answer that is there before the search: it is the answer in the end where nothing better is found.
#[derive(Debug, Clone)]
pub struct InHand {
    /// Its structure.
    pub structure: Structure,
    /// Its cores on the structure's mode graph, for the tensor itself (not a smaller one in its place), and their error on
    /// all entries.
    pub fitted: Fitted,
}

impl InHand {
    /// A network of a direct method as an answer of a search over `graphs`; none where it is none of these.
    pub(super) fn new(
        made: Decomposition,
        (template, graphs): (&Arc<Template>, Graphs),
    ) -> Option<Self> {
        let (graph, cores) = made.network.to_mode_graph();
        let structure = match graphs {
            Graphs::Trees | Graphs::Formats => made.network.structure().clone(),
            Graphs::Template | Graphs::All => Structure::in_template(template, &graph)?,
        };
        Some(InHand { structure, fitted: Fitted::without_work(cores, made.rse) })
    }
}

/// The first answer: none where the tensor is small, the structures searched hold no train, or there is neither time nor
/// memory for one.
pub(super) fn first_answer(
    target: &Target,
    searched: (&Arc<Template>, Graphs),
    objective: CheckedObjective,
    max_rank: usize,
    (limits, threads): (&Limits, usize),
) -> Option<InHand> {
    if target.entries() < MIN_ENTRIES || target.dims().len() < 2 {
        return None;
    }
    let own: Vec<usize> = (0..target.dims().len()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    let widths = Widths { max_rank, most: MOST, must_reach: false };
    let made = pool.install(|| sketched_train(target, &own, objective, widths, limits));
    InHand::new(made.ok()?, searched)
}
