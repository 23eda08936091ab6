//! Multiplicative updates: networks without negative entries, by a divergence `z - x log z`.
//!
//! A network of non-negative cores is a sum of products over the values k of its edges. With `p_k` the share that k has
//! in z now, `-log z <= -sum_k p_k log(term_k / p_k)`, with equality now: the loss is at most
//!
//! `F(G) = <1, Z(G)> - sum_v <N_v, log G_v>`, `N_v = G_v * <x / z, dZ/dG_v>`,
//!
//! and a number, with x / z and N taken at the cores as they are: one walk of the plan for all N_v. F is lowered core by
//! core, each to its exact minimum `G_v = N_v / <1, dZ/dG_v>`, and the loss is never above F. The denominators are the
//! network of the cores summed over their modes, which has no entries but one: they cost nothing beside the walk.
//!
//! Holes take z for x (so x / z is 1): the same bound once more, now over what the holes may hold, so that the loss of
//! the entries that are known falls.

use super::entries::{Entries, Losses};
use crate::fit::FitError;
use crate::fit::plan::{Plan, Walk};
use crate::fit::workspace::{Visit, Workspace};
use crate::graph::ModeGraph;
use crate::problem::{Stop, Target};
use crate::tensor::Tensor;

/// Rounds at most; quasi-Newton steps go on.
const ROUNDS: usize = 30;
/// Rounds after which the loss is looked at.
const WINDOW: usize = 5;
/// Where it fell by less than this part in these, they were the last.
const GAIN: f64 = 1e-2;
/// How often F is lowered over all cores in a round.
const INNER: usize = 3;

/// What all starts share.
pub(super) struct Multiplicative<'g> {
    graph: &'g ModeGraph,
    one: Target,
}

/// The updates of one start.
pub(super) struct Updates<'u> {
    /// The network of the cores summed over their modes.
    sums: Workspace<'u, f64>,
    /// N.
    counts: Vec<Vec<f64>>,
}

impl<'g> Multiplicative<'g> {
    pub fn new(graph: &'g ModeGraph) -> Result<Self, FitError> {
        let one = Tensor::new(vec![1; graph.modes()], vec![1.0])?;
        Ok(Multiplicative { graph, one: Target::new(one)? })
    }

    /// Makes updates with the buffers for it.
    pub fn with<R>(&self, take: impl FnOnce(&mut Updates<'_>) -> R) -> R {
        let Some(one) = self.one.tensor().as_f64() else { unreachable!("made of f64") };
        let plan = Plan::new((&self.one, one), self.graph, Walk::Changing, None);
        let plan = plan.unwrap_or_else(|e| unreachable!("smaller than what was planned: {e}"));
        take(&mut Updates { sums: Workspace::new(&plan), counts: Vec::new() })
    }
}

impl Updates<'_> {
    /// Updates until little is gained; the number of rounds.
    pub fn run(
        &mut self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        stop: &Stop,
    ) -> usize {
        let mut before = f64::INFINITY;
        for round in 0..ROUNDS {
            let losses = self.round(ws, entries, round % WINDOW == 0);
            let now = losses.map_or(0.0, |losses| losses.fitted);
            if stop.is_set() || now > (1.0 - GAIN) * before {
                return round + 1;
            }
            before = losses.map_or(before, |losses| losses.fitted);
        }
        ROUNDS
    }

    /// One round over all cores; the losses before it, where they are to be `measured`.
    pub fn round(
        &mut self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        measured: bool,
    ) -> Option<Losses> {
        self.counts.resize(ws.plan().leaves.len(), Vec::new());
        let (counts, sums) = (&mut self.counts, &mut self.sums);
        let losses = entries.ratios(ws, measured, |vertex, core, rhs| {
            let both = core.iter().zip(rhs);
            counts[vertex].clear();
            counts[vertex].extend(both.map(|(g, t)| g * t));
            sum_over_mode(core, sums.core_mut(vertex));
        });
        sums.refresh();
        for _ in 0..INNER {
            sums.walk(|Visit { vertex, core: sum, rhs, width, .. }| {
                let core = ws.core_mut(vertex);
                let rows = core.chunks_exact_mut(width).zip(counts[vertex].chunks_exact(width));
                for (core, count) in rows {
                    for ((g, n), d) in core.iter_mut().zip(count).zip(rhs) {
                        // A direction that no entry sees.
                        *g = if *d > 0.0 { n / d } else { 0.0 };
                    }
                }
                sum_over_mode(core, sum);
            });
        }
        losses
    }
}

/// `[mode, edges]` to `[edges]`.
fn sum_over_mode(core: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for row in core.chunks_exact(out.len()) {
        out.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
    }
}
