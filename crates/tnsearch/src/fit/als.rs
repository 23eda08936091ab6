//! Alternating least squares: each core in turn gets its optimal value, the others held fixed.

use super::control::{Control, Progress};
use super::plan::Walk;
use super::solve::Solver;
use super::workspace::{Visit, Workspace};
use super::{FitSettings, Improve};

/// The pull towards the old core relative to the Gram matrix's mean diagonal entry.
const DAMPING: f64 = 1e-10;

/// Alternating least squares, the default.
pub(super) struct Als;

impl Improve for Als {
    fn walk(&self) -> Walk {
        Walk::Changing
    }

    fn improve(&self, ws: &mut Workspace, settings: &FitSettings, control: &Control) -> usize {
        let leaves = &ws.plan().leaves;
        let width = leaves.iter().map(|l| l.width).max().unwrap_or(1);
        let dim = leaves.iter().map(|l| l.dim).max().unwrap_or(1);
        let mut solver = Solver::new(width, dim);
        let mut progress = Progress::new(settings);
        ws.refresh();
        for sweep in 1..=settings.max_sweeps {
            let rse = als_sweep(ws, &mut solver);
            if control.stopped() || progress.finished(rse) {
                return sweep;
            }
        }
        settings.max_sweeps
    }
}

/// One sweep over all cores; the RSE after it, from the last core's normal equations (so it cannot be
/// trusted below about 1e-14). Allocates nothing.
pub(super) fn als_sweep(ws: &mut Workspace, solver: &mut Solver) -> f64 {
    let norm_squared = ws.plan().norm_squared;
    let last = ws.plan().leaves.len();
    let mut seen = 0;
    let mut rse = 1.0;
    ws.walk(|visit: Visit| {
        seen += 1;
        let Visit { core, rhs, gram, width, scale, .. } = visit;
        core.iter_mut().for_each(|g| *g *= *scale);
        solver.solve(gram, rhs, core, width, DAMPING);
        if seen == last {
            rse = (norm_squared + energy(gram, rhs, core, width)) / norm_squared;
        }
        // Every core has norm 1 and the scale is kept apart: it moves to the core updated next.
        let norm = core.iter().map(|g| g * g).sum::<f64>().sqrt();
        if norm > 0.0 {
            core.iter_mut().for_each(|g| *g /= norm);
        }
        *scale = norm;
    });
    rse
}

/// `g^T H g - 2 t^T g`, summed over the columns.
fn energy(gram: &[f64], rhs: &[f64], core: &[f64], width: usize) -> f64 {
    let columns = core.chunks_exact(width).zip(rhs.chunks_exact(width));
    let column = |(g, t): (&[f64], &[f64])| -> f64 {
        let rows = gram.chunks_exact(width).zip(g).zip(t);
        rows.map(|((h, gi), ti)| gi * (h.iter().zip(g).map(|(h, g)| h * g).sum::<f64>() - 2.0 * ti))
            .sum()
    };
    columns.map(column).sum()
}
