//! Adam over observed entries: the gradient at slice i of a core is `2 sum (z_k - x_k) conj(a_k) / ||x||^2` over the
//! entries k of index i.

use super::join::lay_out;
use super::keep::Keep;
use super::state::{Errors, State, Visit};
use crate::fit::FitSettings;
use crate::fit::adam::{Cores, Moments};
use crate::fit::control::{Control, Progress};
use crate::tensor::{Scalar, sum_of_squares};

/// Steps over which the error must fall by the tolerance, and that of held-out entries at all.
const WINDOW: usize = 500;

impl<T: Scalar> Cores<T> for State<'_, T> {
    fn core_mut(&mut self, vertex: usize) -> &mut [T] {
        State::core_mut(self, vertex)
    }
}

/// Improves the cores by Adam; the errors of what it leaves, and the steps made.
pub(super) fn adam<T: Scalar>(
    state: &mut State<T>,
    settings: &FitSettings,
    control: &Control,
) -> (Errors, usize) {
    let sizes = state.plan.core_lens();
    let mut gradient: Vec<Vec<T>> = sizes.iter().map(|&n| vec![T::ZERO; n]).collect();
    let mut moments = Moments::new(&sizes);
    let mut progress = Progress::with_window(settings, WINDOW);
    let mut keep = Keep::new(state.plan.holds_out(), WINDOW);
    let mut made = 0;
    loop {
        let errors = errors_and_gradient(state, &mut gradient);
        let late = keep.after(state, errors);
        if control.stopped() || late || progress.finished(errors.fitted) {
            break;
        }
        if made == settings.max_sweeps {
            break;
        }
        made += 1;
        moments.step(state, &gradient, |_| settings.learning_rate);
    }
    (keep.settle(state), made.max(1))
}

/// The errors of the cores (no numbers where a stop ended it), and the gradient of that on the fitted entries (cores as `[mode, edges]`).
pub(super) fn errors_and_gradient<T: Scalar>(
    state: &mut State<T>,
    gradient: &mut [Vec<T>],
) -> Errors {
    state.refresh();
    let plan = state.plan;
    let mut residual = state.predicted();
    if state.halted() {
        return Errors::UNKNOWN;
    }
    residual.iter_mut().zip(&plan.x).for_each(|(z, x)| *z -= *x);
    let fitted = sum_of_squares(&residual[..plan.fitted]) / plan.norm_squared;
    let measured = match plan.holds_out() {
        true => sum_of_squares(&residual[plan.fitted..]) / plan.held_norm_squared,
        false => fitted,
    };
    let factor = 2.0 * state.scale / plan.norm_squared;
    residual.iter_mut().for_each(|r| *r = r.scale(factor));
    let whole = state.walk(false, &mut |Visit { vertex, leaf, rows, halt, .. }| {
        let (width, mut pace) = (leaf.width, halt.pace());
        let mut sum = vec![T::ZERO; width];
        for (index, out) in gradient[vertex].chunks_exact_mut(width).enumerate() {
            if pace.halted((leaf.slice(index).len() * width) as f64) {
                return false;
            }
            sum.fill(T::ZERO);
            for &(row, entry) in leaf.slice(index) {
                let (row, r) = (&rows[row as usize * width..][..width], residual[entry as usize]);
                sum.iter_mut().zip(row).for_each(|(sum, a)| *sum += a.conj() * r);
            }
            lay_out(&sum, leaf.order.as_deref(), out);
        }
        true
    });
    if whole { Errors { fitted, measured } } else { Errors::UNKNOWN }
}
