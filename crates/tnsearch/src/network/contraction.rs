//! One pairwise contraction of labelled tensors, planned once and run many times without allocation.

use crate::linalg::{Factor, Strides, matmul_until};
use crate::problem::Stop;
use crate::tensor::{AxisPlan, Scalar};

/// An index of a tensor: the modes and edges of a network are numbered, and each number has a length.
pub type Label = usize;

/// Moving an entry costs about as much as this many floating-point operations.
const FLOPS_PER_MOVE: f64 = 25.0;

/// Whether A and B have their summed labels first, and whether the product is taken as `B^T A^T`.
const LAYOUTS: [(bool, bool, bool); 8] = [
    (false, true, false),
    (true, true, false),
    (true, true, true),
    (true, false, true),
    (false, true, true),
    (false, false, true),
    (false, false, false),
    (true, false, false),
];

/// A planned contraction `C = sum over the shared labels of A * B`.
///
/// Each operand is either used as it lies or copied into scratch with its axes reordered; the product
/// itself is one matrix product. The order of C's labels falls out of the plan ([`Contraction::labels`])
/// unless it was asked for.
#[derive(Debug, Clone)]
pub struct Contraction {
    a: Operand,
    b: Operand,
    /// Whether the matrix product is taken as `B^T A^T`, so that C has B's labels first.
    swapped: bool,
    m: usize,
    n: usize,
    k: usize,
    labels: Vec<Label>,
    finish: Option<AxisPlan>,
    flops: f64,
    /// Whether the entries of A, of B are conjugated.
    conj: (bool, bool),
}

/// How an operand is read: reordered or as it lies, and whether its summed labels come first.
#[derive(Debug, Clone)]
struct Operand {
    reorder: Option<AxisPlan>,
    /// Layout [K, free] rather than [free, K].
    summed_first: bool,
    len: usize,
}

/// Scratch space of contractions: reordered operands and unfinished results.
#[derive(Debug, Clone)]
pub struct Scratch<T = f64> {
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
    /// Ends a contraction, and those after it.
    stop: Option<Stop>,
    halted: bool,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Scratch { a: Vec::new(), b: Vec::new(), c: Vec::new(), stop: None, halted: false }
    }
}

/// Contractions of fewer floating-point operations are over before a stop is looked at.
const SHORT: f64 = 1e6;

impl<T> Scratch<T> {
    /// Looks at a stop before every contraction that is not short, and within long ones; at none where none is given. What was
    /// halted goes on.
    pub fn obey(&mut self, stop: Option<&Stop>) {
        (self.stop, self.halted) = (stop.cloned(), false);
    }

    /// The stop that is looked at.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Moves entries as planned, unless it was halted.
    pub fn reorder(&mut self, plan: &AxisPlan, src: &[T], dst: &mut [T])
    where
        T: Copy,
    {
        let stopped = || self.stop.as_ref().is_some_and(Stop::is_set);
        self.halted = self.halted || !plan.apply_until(src, dst, Some(&stopped));
    }

    /// Whether a contraction was ended by the stop: its result, and those of all that came after it, are of no use.
    pub fn halted(&self) -> bool {
        self.halted
    }
}

impl<T: Scalar> Scratch<T> {
    /// Gives large buffers back to the system.
    pub fn release(&mut self) {
        /// Smaller ones may be kept.
        const KEPT: usize = 1 << 16;
        for buffer in [&mut self.a, &mut self.b, &mut self.c] {
            if buffer.len() > KEPT {
                *buffer = Vec::new();
            }
        }
    }

    /// Makes room for a contraction.
    pub fn reserve(&mut self, contraction: &Contraction) {
        let [a, b, c] = contraction.scratch_lens();
        for (buffer, len) in [(&mut self.a, a), (&mut self.b, b), (&mut self.c, c)] {
            // What was there is of no use, and fresh zeros take no time.
            if buffer.len() < len {
                *buffer = vec![T::ZERO; len];
            }
        }
    }
}

impl Contraction {
    /// Plans the contraction of tensors with these labels (row-major); `lengths[label]` is the length
    /// of an index. With `want`, the result has its labels in that order.
    pub fn plan(a: &[Label], b: &[Label], lengths: &[usize], want: Option<&[Label]>) -> Self {
        let size = |ls: &[Label]| ls.iter().map(|&l| lengths[l]).product::<usize>();
        let free_a: Vec<Label> = a.iter().copied().filter(|l| !b.contains(l)).collect();
        let free_b: Vec<Label> = b.iter().copied().filter(|l| !a.contains(l)).collect();
        let sum_a: Vec<Label> = a.iter().copied().filter(|l| b.contains(l)).collect();
        let sum_b: Vec<Label> = b.iter().copied().filter(|l| a.contains(l)).collect();
        let (m, n, k) = (size(&free_a), size(&free_b), size(&sum_a));

        // Every way to lay out the operands; the cheapest by entries moved and idle vector lanes.
        let stays = |has: &[Label], first: &[Label], then: &[Label]| {
            let long = |l: &&Label| lengths[**l] > 1;
            has.iter().filter(long).eq(first.iter().chain(then).filter(long))
        };
        let flops = 2.0 * m as f64 * n as f64 * k as f64;
        let mut best = (f64::INFINITY, &sum_a, true, true, false);
        for sum in [&sum_a, &sum_b] {
            for (a_first, b_first, swapped) in LAYOUTS {
                // The factor whose free labels run along the vector lanes needs them contiguous.
                let (lanes, contiguous) = if swapped { (m, a_first) } else { (n, b_first) };
                if !contiguous && lanes > 1 {
                    continue;
                }
                let in_place = |has: &[Label], free: &[Label], first: bool| {
                    if first { stays(has, sum, free) } else { stays(has, free, sum) }
                };
                let done = want.is_none_or(|w| match swapped {
                    false => stays(w, &free_a, &free_b),
                    true => stays(w, &free_b, &free_a),
                });
                let moved = if in_place(a, &free_a, a_first) { 0 } else { m * k }
                    + if in_place(b, &free_b, b_first) { 0 } else { n * k }
                    + if done { 0 } else { m * n };
                let idle = lanes.next_multiple_of(4) as f64 / lanes as f64;
                let cost = flops * idle + FLOPS_PER_MOVE * moved as f64;
                if cost < best.0 {
                    best = (cost, sum, a_first, b_first, swapped);
                }
            }
        }
        let (_, sum, a_first, b_first, swapped) = best;
        let natural: Vec<Label> = match swapped {
            false => free_a.iter().chain(&free_b).copied().collect(),
            true => free_b.iter().chain(&free_a).copied().collect(),
        };
        let finish = want.map(|w| reorder(&natural, w, lengths)).filter(|p| !p.is_identity());
        Contraction {
            a: Operand::plan(a, &free_a, sum, a_first, lengths),
            b: Operand::plan(b, &free_b, sum, b_first, lengths),
            swapped,
            m,
            n,
            k,
            labels: want.map_or(natural, <[Label]>::to_vec),
            finish,
            flops,
            conj: (false, false),
        }
    }

    /// The same with the entries of A, of B conjugated: `C = sum conj(A) * B`, say. Real numbers stay as they are.
    pub fn conjugated(self, a: bool, b: bool) -> Self {
        Contraction { conj: (a, b), ..self }
    }

    /// The labels of the result, in row-major order.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The number of entries of the result.
    pub fn result_len(&self) -> usize {
        self.m * self.n
    }

    /// Floating-point operations of one run.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Scratch entries needed for the two operands and the unfinished result.
    pub fn scratch_lens(&self) -> [usize; 3] {
        let finish = if self.finish.is_some() { self.m * self.n } else { 0 };
        [self.a.moved(), self.b.moved(), finish]
    }

    /// Runs the contraction, unless the scratch was halted. The slices have the lengths planned for; `scratch` was reserved.
    pub fn run<T: Scalar>(&self, a: &[T], b: &[T], c: &mut [T], scratch: &mut Scratch<T>) {
        let Scratch { a: scratch_a, b: scratch_b, c: scratch_c, stop, halted } = scratch;
        let stop = stop.as_ref().filter(|_| self.flops > SHORT);
        *halted |= stop.is_some_and(Stop::is_set);
        if *halted {
            return;
        }
        let stopped = || stop.is_some_and(Stop::is_set);
        let stopped = stop.map(|_| &stopped as &dyn Fn() -> bool);
        let (Some(a), Some(b)) =
            (self.a.lay_out(a, scratch_a, stopped), self.b.lay_out(b, scratch_b, stopped))
        else {
            *halted = true;
            return;
        };
        let (conj_a, conj_b) = self.conj;
        let a = Factor { entries: a, strides: self.a.strides(self.m, self.k), conj: conj_a };
        let b = Factor { entries: b, strides: self.b.strides(self.n, self.k), conj: conj_b };
        let product = match &self.finish {
            Some(_) => &mut scratch_c[..self.m * self.n],
            None => &mut *c,
        };
        let (m, n, k) = (self.m, self.n, self.k);
        let whole = match self.swapped {
            false => matmul_until((m, n, k), product, a, b.transposed(), stopped),
            true => matmul_until((n, m, k), product, b, a.transposed(), stopped),
        };
        *halted |= !whole;
        if let Some(finish) = self.finish.as_ref().filter(|_| whole) {
            *halted |= !finish.apply_until(&scratch_c[..self.m * self.n], c, stopped);
        }
    }
}

impl Operand {
    fn plan(
        has: &[Label],
        free: &[Label],
        sum: &[Label],
        summed_first: bool,
        lengths: &[usize],
    ) -> Self {
        let wanted: Vec<Label> = match summed_first {
            true => sum.iter().chain(free).copied().collect(),
            false => free.iter().chain(sum).copied().collect(),
        };
        let plan = reorder(has, &wanted, lengths);
        let len = has.iter().map(|&l| lengths[l]).product();
        let reorder = Some(plan).filter(|p| !p.is_identity());
        Operand { reorder, summed_first, len }
    }

    fn moved(&self) -> usize {
        if self.reorder.is_some() { self.len } else { 0 }
    }

    /// The operand as a matrix free x K.
    fn strides(&self, free: usize, k: usize) -> Strides {
        match self.summed_first {
            true => Strides { rows: 1, cols: free },
            false => Strides { rows: k, cols: 1 },
        }
    }

    /// The operand as the product takes it; none where it was ended by a stop.
    fn lay_out<'s, T: Scalar>(
        &self,
        data: &'s [T],
        scratch: &'s mut [T],
        stopped: Option<&dyn Fn() -> bool>,
    ) -> Option<&'s [T]> {
        match &self.reorder {
            None => Some(data),
            Some(plan) => {
                let scratch = &mut scratch[..self.len];
                plan.apply_until(data, scratch, stopped).then_some(&*scratch)
            }
        }
    }
}

/// The reordering of axes that brings labels `from` into the order `to`.
pub fn reorder(from: &[Label], to: &[Label], lengths: &[usize]) -> AxisPlan {
    let dims: Vec<usize> = from.iter().map(|&l| lengths[l]).collect();
    let axes: Vec<usize> = to
        .iter()
        .map(|l| from.iter().position(|f| f == l).unwrap_or_else(|| unreachable!("same labels")))
        .collect();
    AxisPlan::new(&dims, &axes)
}
