//! Alternating least squares: each core in turn gets its optimal value, the others held fixed.

use super::FitSettings;
use super::control::{Control, Progress};
use super::dense::Improve;
use super::plan::Walk;
use super::solve::Solver;
use super::workspace::{Visit, Workspace};
use crate::tensor::{Kind, Scalar};

/// The pull towards the old core relative to the Gram matrix's mean diagonal entry; never below the rounding of
/// that ([`damping`]).
const DAMPING: f64 = 1e-10;

/// Below this the error of a sweep is lost in rounding, for 64-bit numbers; where it matters, the residual is computed.
const TRUSTED: f64 = 1e-13;

/// Alternating least squares, the default.
pub(super) struct Als;

impl<T: Scalar> Improve<T> for Als {
    fn walk(&self) -> Walk {
        Walk::Changing
    }

    fn improve(&self, ws: &mut Workspace<T>, settings: &FitSettings, control: &Control) -> usize {
        let leaves = &ws.plan().leaves;
        let width = leaves.iter().map(|l| l.width).max().unwrap_or(1);
        let dim = leaves.iter().map(|l| l.dim).max().unwrap_or(1);
        let mut solver = Solver::new(width, dim);
        let mut progress = Progress::new(settings);
        let mut momentum = Momentum::new(ws);
        let trusted = T::KIND.tolerance(TRUSTED);
        ws.refresh();
        for sweep in 1..=settings.max_sweeps {
            let Swept { mut rse, doubt } = als_sweep(ws, &mut solver, || control.stopped());
            // 64-bit numbers have digits to spare, where the cores of a swamp grow and cancel.
            let narrow = T::KIND.epsilon() > f64::EPSILON;
            let trusted = if narrow { trusted.max(10.0 * doubt) } else { trusted };
            if rse < trusted && settings.ends_at() < trusted && !ws.halted() {
                rse = ws.rse();
            }
            let stopped = control.stopped();
            let rse = momentum.after(ws, rse, stopped);
            if stopped || progress.finished(rse) {
                momentum.settle(ws);
                return sweep;
            }
        }
        momentum.settle(ws);
        settings.max_sweeps
    }
}

/// Extrapolation between sweeps: in a swamp each sweep takes a tiny step in nearly the same direction,
/// so the next one starts further along it. A sweep that ends worse than the best is taken back.
struct Momentum<T> {
    /// The cores after the best sweep, and after the one before it, one after the other.
    best: Vec<T>,
    before: Vec<T>,
    best_rse: f64,
    scale: f64,
    factor: f64,
    sweeps: usize,
}

impl<T: Scalar> Momentum<T> {
    /// Plain sweeps before the first extrapolation: most fits that succeed are done by then.
    const PLAIN: usize = 5;
    /// The furthest extrapolation, in steps.
    const LARGEST: f64 = 3.0;

    fn new(ws: &mut Workspace<T>) -> Self {
        let entries = ws.plan().core_lens().iter().sum();
        Momentum {
            best: vec![T::ZERO; entries],
            before: vec![T::ZERO; entries],
            best_rse: f64::INFINITY,
            scale: 1.0,
            factor: 0.5,
            sweeps: 0,
        }
    }

    /// Looks at the cores after a sweep and moves them to where the next begins, if there is to be one; the best error yet.
    fn after(&mut self, ws: &mut Workspace<T>, rse: f64, last: bool) -> f64 {
        self.sweeps += 1;
        if rse <= self.best_rse {
            std::mem::swap(&mut self.best, &mut self.before);
            ws.copy_cores_to(&mut self.best);
            self.scale = ws.scale;
            self.best_rse = rse;
            if self.sweeps > Self::PLAIN && !last {
                self.factor = (self.factor * 1.5).min(Self::LARGEST);
                ws.set_cores_between(&self.before, &self.best, self.factor);
                ws.refresh();
            }
        } else {
            // Back to the best, with a plain sweep next.
            self.factor = (self.factor * 0.25).max(0.1);
            self.settle(ws);
            if !last {
                ws.refresh();
            }
        }
        self.best_rse
    }

    /// Puts the best cores back.
    fn settle(&self, ws: &mut Workspace<T>) {
        ws.set_cores_between(&self.before, &self.best, 0.0);
        ws.scale = self.scale;
    }
}

/// What a sweep says about the cores it leaves.
pub(super) struct Swept {
    /// The RSE from the last core's normal equations (so it cannot be trusted below about [`TRUSTED`]).
    pub rse: f64,
    /// What rounding H by an ulp can do to it: `ulp ||g||^2 trace(H) / ||X||^2`.
    pub doubt: f64,
}

/// One sweep over all cores, or those up to a stop: then its error is that of the zero network. Allocates nothing.
pub(super) fn als_sweep<T: Scalar>(
    ws: &mut Workspace<T>,
    solver: &mut Solver<T>,
    stopped: impl Fn() -> bool,
) -> Swept {
    let norm_squared = ws.plan().norm_squared;
    let last = ws.plan().leaves.len();
    let mut seen = 0;
    let mut swept = Swept { rse: 1.0, doubt: 0.0 };
    let damping = damping(T::KIND);
    ws.walk_while(|visit: Visit<T>| {
        seen += 1;
        let Visit { core, rhs, gram, width, scale, .. } = visit;
        core.iter_mut().for_each(|g| *g = g.scale(*scale));
        solver.solve_until((gram, rhs), core, width, damping, &stopped);
        if seen == last
            && let Some(energy) = energy(gram, rhs, core, width, &stopped)
        {
            swept.rse = (norm_squared + energy) / norm_squared;
        }
        // Every core has norm 1 and the scale is kept apart: it moves to the core updated next.
        let norm = core.iter().map(|g| g.abs_squared()).sum::<f64>().sqrt();
        if seen == last {
            let trace: f64 = gram.iter().step_by(width + 1).map(|h| h.re()).sum();
            swept.doubt = T::KIND.epsilon() * norm * norm * trace / norm_squared;
        }
        if norm > 0.0 {
            core.iter_mut().for_each(|g| *g = g.unscale(norm));
        }
        *scale = norm;
        !stopped()
    });
    swept
}

/// [`DAMPING`], or 1000 ulp where that is more: what rounding adds to t goes into the core divided by it, along
/// directions that H does not see, and from there into the environments of the others (measured: `docs/fitting.md`).
fn damping(kind: Kind) -> f64 {
    DAMPING.max(1e3 * kind.epsilon())
}

/// `g^H H g - 2 Re(g^H t)`, summed over the columns; none where `stopped` ended it, which long ones look at.
pub(super) fn energy<T: Scalar>(
    gram: &[T],
    rhs: &[T],
    core: &[T],
    width: usize,
    stopped: &dyn Fn() -> bool,
) -> Option<f64> {
    let looks = look_every(width);
    let columns = core.chunks_exact(width).zip(rhs.chunks_exact(width));
    let column = |(g, t): (&[T], &[T])| -> f64 {
        let rows = gram.chunks_exact(width).zip(g).zip(t);
        let row = |((h, gi), ti): ((&[T], &T), &T)| {
            let hg: T = h.iter().zip(g).map(|(h, g)| *h * *g).sum();
            (gi.conj() * (hg - ti.scale(2.0))).re()
        };
        rows.map(row).sum()
    };
    let mut sum = 0.0;
    for (k, c) in columns.enumerate() {
        if looks.is_some_and(|every| k % every == 0) && stopped() {
            return None;
        }
        sum += column(c);
    }
    Some(sum)
}

/// After how many columns that are multiplied with a matrix of so many rows, entry by entry, a stop is looked at again; none
/// where all of them take no time to speak of.
pub(super) fn look_every(width: usize) -> Option<usize> {
    /// Multiply-adds: some hundredths of a second.
    const OFTEN: usize = 1 << 25;
    (width > 256).then(|| (OFTEN / (width * width)).max(1))
}
