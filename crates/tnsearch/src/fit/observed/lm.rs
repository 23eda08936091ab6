//! Levenberg-Marquardt over observed entries: a damped Gauss-Newton step on all cores at once. Real numbers only.
//!
//! The row of the Jacobian of entry k has the environment row a_k of each core in the slice of that core that k belongs
//! to, and zeros elsewhere. So the block of `J^T J` of slices i and j of two cores is a product over the entries that
//! belong to both.

use super::gradient::errors_and_gradient;
use super::halt::Halt;
use super::join::lay_out;
use super::keep::Keep;
use super::plan::Plan;
use super::state::{Errors, State, Visit};
use crate::fit::FitSettings;
use crate::fit::control::{Control, Progress};
use crate::linalg::{Cholesky, Factor, Route, matmul};
use crate::tensor::Scalar;

/// Iterations over which the errors must fall.
const WINDOW: usize = 3;
/// Dampings tried in one iteration before it is given up.
const TRIES: usize = 12;
/// The least damping, relative to the mean diagonal entry; 4 ulp where that is more.
const FLOOR: f64 = 1e-14;

/// Multiply-adds of one iteration: the pairs of environments and the factorisation.
pub(super) fn cost<T: Scalar>(plan: &Plan<T>) -> f64 {
    let widths: f64 = plan.leaves.iter().map(|leaf| leaf.width as f64).sum();
    let params: f64 = plan.core_lens().iter().map(|&n| n as f64).sum();
    plan.fitted as f64 * widths * widths + params.powi(3) / 3.0
}

/// Entries needed beside the plan's: the matrix and its factor, and the rows of all environments.
pub(super) fn extra_entries<T: Scalar>(plan: &Plan<T>) -> f64 {
    let params: f64 = plan.core_lens().iter().map(|&n| n as f64).sum();
    let widths: f64 = plan.leaves.iter().map(|leaf| leaf.width as f64).sum();
    2.0 * params * params + 2.0 * plan.fitted as f64 * widths
}

/// Improves the cores; the errors of what it leaves, and the iterations made.
pub(super) fn improve<T: Scalar>(
    state: &mut State<T>,
    settings: &FitSettings,
    control: &Control,
) -> (Errors, usize) {
    let sizes = state.plan.core_lens();
    let params: usize = sizes.iter().sum();
    let mut gradient: Vec<Vec<T>> = sizes.iter().map(|&n| vec![T::ZERO; n]).collect();
    let mut normal = Normal::new(state.plan);
    let mut factor = vec![T::ZERO; params * params];
    let mut step = vec![T::ZERO; params];
    let mut cholesky = Cholesky::new::<T>(params, 1);
    let floor = FLOOR.max(4.0 * T::KIND.epsilon());
    let mut progress = Progress::with_window(settings, WINDOW);
    let mut keep = Keep::new(state.plan.holds_out(), WINDOW);
    let (mut damping, mut growth, mut made) = (1e-2, 2.0, 0);
    state.rescale_to_target();
    loop {
        let errors = errors_and_gradient(state, &mut gradient);
        let late = keep.after(state, errors);
        let done = control.stopped() || late || progress.finished(errors.fitted);
        if done || made == settings.max_sweeps {
            break;
        }
        made += 1;
        if !normal.assemble(state) {
            break;
        }
        let diagonal = (0..params).map(|i| normal.matrix[i * params + i].re());
        let mean = diagonal.sum::<f64>() / params as f64;
        let before = state.flat();
        let mut accepted = false;
        for _ in 0..TRIES {
            factor.copy_from_slice(&normal.matrix);
            for i in 0..params {
                factor[i * params + i] += T::from_parts(damping * mean, 0.0);
            }
            for (s, g) in step.iter_mut().zip(gradient.iter().flatten()) {
                *s = g.scale(-0.5 * state.plan.norm_squared);
            }
            let stopped = || control.stopped();
            let route = Route::Blocked;
            let Some(positive) = cholesky.factor_until(&mut factor, params, route, &stopped) else {
                break;
            };
            if positive {
                cholesky.solve(&factor, &mut step, params, Route::Blocked);
                state.add(&step);
                state.refresh();
                if state.errors().fitted < errors.fitted {
                    accepted = true;
                    (damping, growth) = ((damping / 3.0).max(floor), 2.0);
                    break;
                }
                state.set_between(&before, &before, 0.0);
            }
            damping *= growth;
            growth *= 2.0;
            if control.stopped() {
                break;
            }
        }
        if !accepted {
            break;
        }
    }
    (keep.settle(state), made.max(1))
}

/// `J^T J`, and what it is made of.
struct Normal<T> {
    /// Params x params, column-major, its lower triangle.
    matrix: Vec<T>,
    params: usize,
    /// The rows of each environment, by entry.
    rows: Vec<Vec<T>>,
    /// The slice of each core that an entry belongs to.
    slices: Vec<Vec<u32>>,
    offsets: Vec<usize>,
}

impl<T: Scalar> Normal<T> {
    fn new(plan: &Plan<T>) -> Self {
        let sizes = plan.core_lens();
        let params = sizes.iter().sum();
        let offsets = sizes.iter().scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect();
        let rows = plan.leaves.iter().map(|l| vec![T::ZERO; plan.fitted * l.width]).collect();
        let slices = plan.leaves.iter().map(|leaf| {
            let mut slice = vec![0; plan.fitted];
            for index in 0..leaf.dim {
                leaf.slice(index).iter().for_each(|&(_, k)| slice[k as usize] = index as u32);
            }
            slice
        });
        let slices = slices.collect();
        Normal { matrix: vec![T::ZERO; params * params], params, rows, slices, offsets }
    }

    /// Computes the matrix at the cores; false where a stop ended it.
    fn assemble(&mut self, state: &mut State<T>) -> bool {
        let all = &mut self.rows;
        let mut whole = state.walk(false, &mut |Visit { vertex, leaf, rows, halt, .. }| {
            let width = leaf.width;
            if halt.look() {
                return false;
            }
            for &(row, entry) in &leaf.entries {
                lay_out(
                    &rows[row as usize * width..][..width],
                    leaf.order.as_deref(),
                    &mut all[vertex][entry as usize * width..][..width],
                );
            }
            true
        });
        self.matrix.fill(T::ZERO);
        for u in 0..all.len() {
            for v in 0..=u {
                whole = whole && self.pair(state.plan, u, v, state.halt());
            }
        }
        whole
    }

    /// The blocks of two cores: rows of the matrix from u, columns from v. False where a stop ended it.
    fn pair(&mut self, plan: &Plan<T>, u: usize, v: usize, halt: &Halt) -> bool {
        let (wu, wv) = (plan.leaves[u].width, plan.leaves[v].width);
        let columns = plan.leaves[v].dim;
        // The entries of each slice of u, by slice of v.
        let mut both: Vec<Vec<u32>> = vec![Vec::new(); columns];
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut block = vec![T::ZERO; wu * wv];
        let mut pace = halt.pace();
        for i in 0..plan.leaves[u].dim {
            if pace.halted(plan.leaves[u].slice(i).len() as f64 * (wu * wv) as f64) {
                return false;
            }
            both.iter_mut().for_each(Vec::clear);
            for &(_, k) in plan.leaves[u].slice(i) {
                both[self.slices[v][k as usize] as usize].push(k);
            }
            for (j, entries) in both.iter().enumerate().filter(|(_, e)| !e.is_empty()) {
                let gather = |out: &mut Vec<T>, rows: &[T], width: usize| {
                    out.clear();
                    for &k in entries {
                        out.extend_from_slice(&rows[k as usize * width..][..width]);
                    }
                };
                gather(&mut left, &self.rows[u], wu);
                gather(&mut right, &self.rows[v], wv);
                // Column-major block (u, v) is row-major (v, u).
                let (a, b) = (Factor::row_major(&right, wv), Factor::row_major(&left, wu));
                matmul((wv, wu, entries.len()), &mut block, a.transposed(), b);
                let row = self.offsets[u] + i * wu;
                for (c, block) in block.chunks_exact(wu).enumerate() {
                    let column = self.offsets[v] + j * wv + c;
                    let at = column * self.params + row;
                    self.matrix[at..at + wu].copy_from_slice(block);
                }
            }
        }
        true
    }
}
