//! Alternating least squares over observed entries: each slice of a core in turn gets its best value.
//!
//! Slice i of a core minimises `sum |x_k - <a_k, g>|^2 + d |g - c|^2` over the entries k of index i, with c the mean of
//! the core's slices and d a fraction (`ridge`) of the mean diagonal entry of the Gram matrices: slices with few entries
//! lean on the others, one with none is their mean.

use super::halt::{Halt, Pace};
use super::join::lay_out;
use super::keep::Keep;
use super::plan::{Leaf, PART};
use super::state::{Errors, State, Visit};
use crate::fit::FitSettings;
use crate::fit::control::{Control, Progress};
use crate::linalg::{Cholesky, Factor, Route, Strides, matmul};
use crate::tensor::Scalar;
use rayon::prelude::*;

/// The pull towards the old slice relative to the mean diagonal entry, 1000 ulp where that is more: it keeps singular
/// systems solvable and every fixed point where it is.
const DAMPING: f64 = 1e-10;
/// Rows laid out at a time.
const ROWS: usize = 512;
/// Columns of a Gram matrix computed at a time: only blocks below the diagonal are.
const BLOCK: usize = 48;

/// Improves the cores until they are good enough, stall, or predict held-out entries no better; the errors of what it
/// leaves, and the sweeps made.
pub(super) fn improve<T: Scalar>(
    state: &mut State<T>,
    settings: &FitSettings,
    control: &Control,
) -> (Errors, usize) {
    let mut progress = Progress::new(settings);
    let mut keep = Keep::new(state.plan.holds_out(), Keep::<T>::SWEEPS);
    let mut momentum = Momentum::new();
    let mut made = 0;
    state.refresh();
    while made < settings.max_sweeps {
        made += 1;
        let whole = sweep(state, settings.ridge, || control.stopped());
        if state.halted() {
            // The cores of the last whole sweep are known; these are not.
            break;
        }
        if !whole {
            state.refresh();
        }
        let errors = state.errors();
        let late = keep.after(state, errors);
        let fitted = momentum.after(state, errors.fitted);
        if control.stopped() || late || progress.finished(fitted) {
            break;
        }
    }
    (keep.settle(state), made)
}

/// Extrapolation between sweeps, as in fits to all entries: a sweep that ends worse than the best is taken back.
struct Momentum<T> {
    best: Vec<T>,
    before: Vec<T>,
    best_error: f64,
    scale: f64,
    factor: f64,
    sweeps: usize,
}

impl<T: Scalar> Momentum<T> {
    /// Plain sweeps before the first extrapolation.
    const PLAIN: usize = 5;
    /// The furthest extrapolation, in steps.
    const LARGEST: f64 = 3.0;

    fn new() -> Self {
        let (best, before) = (Vec::new(), Vec::new());
        Momentum { best, before, best_error: f64::INFINITY, scale: 1.0, factor: 0.5, sweeps: 0 }
    }

    /// Looks at the cores after a sweep and moves them to where the next begins; the best error yet.
    fn after(&mut self, state: &mut State<T>, error: f64) -> f64 {
        self.sweeps += 1;
        if error <= self.best_error {
            self.before = std::mem::replace(&mut self.best, state.flat());
            (self.scale, self.best_error) = (state.scale, error);
            if self.sweeps > Self::PLAIN && !self.before.is_empty() {
                self.factor = (self.factor * 1.5).min(Self::LARGEST);
                state.set_between(&self.before, &self.best, self.factor);
                state.refresh();
            }
            return error;
        }
        self.factor = (self.factor * 0.25).max(0.1);
        if !self.best.is_empty() {
            state.set_between(&self.best, &self.best, 0.0);
            state.scale = self.scale;
            state.refresh();
        }
        self.best_error
    }
}

/// One sweep over all cores; false if a stop ended it early.
pub(super) fn sweep<T: Scalar>(
    state: &mut State<T>,
    ridge: f64,
    stopped: impl Fn() -> bool,
) -> bool {
    let (x, spread) = (&state.plan.x[..], state.spread);
    state.walk(true, &mut |Visit { leaf, core, rows, scale, halt, .. }| {
        core.iter_mut().for_each(|g| *g = g.scale(*scale));
        solve(leaf, core, rows, x, (ridge, spread, halt));
        // Every core has norm 1 and the scale is kept apart: it moves to the core updated next.
        let norm = core.iter().map(|g| g.abs_squared()).sum::<f64>().sqrt();
        if norm > 0.0 {
            core.iter_mut().for_each(|g| *g = g.unscale(norm));
        }
        *scale = norm;
        !stopped()
    })
}

/// Solves all slices of a core; those after a stop stay as they were.
pub(super) fn solve<T: Scalar>(
    leaf: &Leaf,
    core: &mut [T],
    rows: &[T],
    x: &[T],
    (ridge, spread, halt): (f64, bool, &Halt),
) {
    let width = leaf.width;
    // The mean diagonal entry over the slices that have entries.
    let squares: Vec<f64> = rows
        .chunks_exact(width)
        .map(|row| row.iter().map(|a| a.abs_squared()).sum::<f64>())
        .collect();
    let total: f64 = leaf.entries.iter().map(|&(row, _)| squares[row as usize]).sum();
    let seen = (0..leaf.dim).filter(|&i| !leaf.slice(i).is_empty()).count().max(1);
    let mean = total / (seen * width) as f64;
    if !(mean > 0.0 && mean.is_finite()) {
        return; // The environment is zero (or has overflowed): no core is better than another.
    }
    let centre = mean_slice(leaf, core);
    let room = || Room::new(width, halt);
    let step = |room: &mut Room<T>, (index, g): (usize, &mut [T])| {
        // Many short slices are long work together.
        let (entries, w) = (leaf.slice(index).len() as f64, width as f64);
        let halted = room.pace.halted(entries * w * w / 2.0 + w.powi(3) / 3.0);
        if !leaf.slice(index).is_empty() && !halted {
            room.solve((leaf, index), g, &centre, (rows, x), (ridge * mean, mean, spread));
        }
    };
    match spread {
        true => core.par_chunks_exact_mut(width).enumerate().for_each_init(room, step),
        false => {
            let mut room = room();
            core.chunks_exact_mut(width).enumerate().for_each(|work| step(&mut room, work));
        }
    }
    if seen < leaf.dim {
        let centre = mean_slice(leaf, core);
        for (index, g) in core.chunks_exact_mut(width).enumerate() {
            if leaf.slice(index).is_empty() {
                g.copy_from_slice(&centre);
            }
        }
    }
}

/// The mean of the slices that have entries.
fn mean_slice<T: Scalar>(leaf: &Leaf, core: &[T]) -> Vec<T> {
    let mut mean = vec![T::ZERO; leaf.width];
    let mut seen = 0;
    for (index, g) in core.chunks_exact(leaf.width).enumerate() {
        if !leaf.slice(index).is_empty() {
            mean.iter_mut().zip(g).for_each(|(m, g)| *m += *g);
            seen += 1;
        }
    }
    mean.iter_mut().for_each(|m| *m = m.unscale(seen.max(1) as f64));
    mean
}

/// What the solve of a slice writes to.
struct Room<'h, T> {
    halt: &'h Halt,
    pace: Pace<'h>,
    gram: Vec<T>,
    factor: Vec<T>,
    cholesky: Cholesky,
    right: Vec<T>,
}

impl<'h, T: Scalar> Room<'h, T> {
    fn new(width: usize, halt: &'h Halt) -> Self {
        Room {
            halt,
            pace: halt.pace(),
            gram: Vec::new(),
            factor: vec![T::ZERO; width * width],
            cholesky: Cholesky::new::<T>(width, 1),
            right: vec![T::ZERO; width],
        }
    }

    /// Overwrites a slice with its best value.
    fn solve(
        &mut self,
        (leaf, index): (&Leaf, usize),
        g: &mut [T],
        centre: &[T],
        (rows, x): (&[T], &[T]),
        (ridge, mean, spread): (f64, f64, bool),
    ) {
        let (n, wide) = (leaf.width, leaf.width + 1);
        if !gram(leaf, leaf.slice(index), (rows, x), (spread, self.halt), &mut self.gram) {
            return;
        }
        let mut pull = mean * DAMPING.max(1e3 * T::KIND.epsilon());
        let route = Route::of_size(n);
        for _ in 0..8 {
            for j in 0..n {
                for i in j..n {
                    self.factor[j * n + i] = self.gram[i * wide + j];
                }
                self.factor[j * n + j] += T::from_parts(ridge + pull, 0.0);
            }
            let stopped = || self.halt.look();
            match self.cholesky.factor_until(&mut self.factor, n, route, &stopped) {
                None => return,
                Some(true) => {}
                Some(false) => {
                    pull *= 100.0;
                    continue;
                }
            }
            // The last row of the Gram matrix of [A x] is x^H A.
            let right = self.gram[n * wide..n * wide + n].iter().map(|t| t.conj());
            for (((r, t), g), c) in self.right.iter_mut().zip(right).zip(&*g).zip(centre) {
                *r = t + g.scale(pull) + c.scale(ridge);
            }
            self.cholesky.solve(&self.factor, &mut self.right, n, route);
            if self.right.iter().all(|r| Scalar::is_finite(*r)) {
                g.copy_from_slice(&self.right);
            }
            return;
        }
    }
}

/// `[A x]^H [A x]` of some entries, row-major, its lower triangle: parts of a fixed size, summed in their order. False
/// where a stop ended it.
pub(super) fn gram<T: Scalar>(
    leaf: &Leaf,
    entries: &[(u32, u32)],
    (rows, x): (&[T], &[T]),
    (spread, halt): (bool, &Halt),
    out: &mut Vec<T>,
) -> bool {
    let part = |part: &[(u32, u32)]| part_of_gram(leaf, part, (rows, x), halt.pace());
    let mut parts: Vec<Vec<T>> = Vec::new();
    if spread && entries.len() > PART {
        parts = entries.par_chunks(PART).map(part).collect();
    }
    let mut parts = parts.into_iter();
    for (k, entries) in entries.chunks(PART).enumerate() {
        if halt.seen() {
            return false;
        }
        let sum = parts.next().unwrap_or_else(|| part(entries));
        match k {
            0 => *out = sum,
            _ => out.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum),
        }
    }
    !halt.seen()
}

fn part_of_gram<T: Scalar>(
    leaf: &Leaf,
    entries: &[(u32, u32)],
    (rows, x): (&[T], &[T]),
    mut pace: Pace<'_>,
) -> Vec<T> {
    let (width, wide) = (leaf.width, leaf.width + 1);
    let mut out = vec![T::ZERO; wide * wide];
    let mut laid = vec![T::ZERO; ROWS.min(entries.len()) * wide];
    let mut block = vec![T::ZERO; BLOCK.min(wide) * wide];
    for entries in entries.chunks(ROWS) {
        for (to, &(row, entry)) in laid.chunks_exact_mut(wide).zip(entries) {
            let row = &rows[row as usize * width..][..width];
            lay_out(row, leaf.order.as_deref(), &mut to[..width]);
            to[width] = x[entry as usize];
        }
        for begin in (0..wide).step_by(BLOCK) {
            let end = wide.min(begin + BLOCK);
            if pace.halted(((end - begin) * end) as f64 * entries.len() as f64) {
                return out;
            }
            let left = Factor::new(&laid[begin..], Strides { rows: 1, cols: wide }).conj();
            let right = Factor::row_major(&laid, wide);
            matmul((end - begin, end, entries.len()), &mut block, left, right);
            let sums = block.chunks_exact(end).take(end - begin);
            for (out, block) in out[begin * wide..].chunks_mut(wide).zip(sums) {
                out.iter_mut().zip(block).for_each(|(out, block)| *out += *block);
            }
        }
    }
    out
}
