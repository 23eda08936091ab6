//! Mutual information between modes, and the orders it suggests.
//!
//! `I(i, j) = S_i + S_j - S_ij`, S the entropy of a cut: 0 for modes that have nothing to do with each other. Modes
//! that share much should be near: the orders below make `sum of I(i, j) * distance(i, j)^2` small.

use super::cuts::Cuts;
use crate::linalg;

/// The mutual information of all pairs of modes, symmetric; none where the cuts take too much work.
pub(super) fn mutual(cuts: &Cuts<'_>, order: usize) -> Option<Vec<Vec<f64>>> {
    let single: Option<Vec<f64>> = (0..order).map(|n| cuts.entropy(1 << n)).collect();
    let single = single?;
    let mut all = vec![vec![0.0; order]; order];
    for i in 0..order {
        for j in 0..i {
            let pair = cuts.entropy(1 << i | 1 << j)?;
            all[i][j] = (single[i] + single[j] - pair).max(0.0);
            all[j][i] = all[i][j];
        }
    }
    Some(all)
}

/// The modes along a line: sorted by the second eigenvector of the Laplacian, then improved.
pub(super) fn line(mutual: &[Vec<f64>]) -> Vec<usize> {
    improved(mutual, by_fiedler(mutual), |i, j| i.abs_diff(j))
}

/// The modes around a circle.
pub(super) fn circle(mutual: &[Vec<f64>]) -> Vec<usize> {
    let n = mutual.len();
    let around = move |i: usize, j: usize| i.abs_diff(j).min(n - i.abs_diff(j));
    let starts = [by_fiedler(mutual), folded(&by_fiedler(mutual)), nearest(mutual)];
    let found = starts.into_iter().map(|start| improved(mutual, start, around));
    let cost = |order: &Vec<usize>| spread(mutual, order, around);
    found.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or_default()
}

fn by_fiedler(mutual: &[Vec<f64>]) -> Vec<usize> {
    let n = mutual.len();
    let mut laplacian = vec![0.0; n * n];
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            laplacian[i * n + j] = -mutual[i][j];
            laplacian[i * n + i] += mutual[i][j];
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    if let Some((_, vectors)) = linalg::eigen::<f64>(&laplacian, n).filter(|_| n > 2) {
        order.sort_by(|&a, &b| vectors[n + a].total_cmp(&vectors[n + b]));
    }
    order
}

/// A line folded to a circle: there on every second place, back on the others.
fn folded(line: &[usize]) -> Vec<usize> {
    let there = line.iter().step_by(2);
    let back: Vec<usize> = line.iter().skip(1).step_by(2).copied().collect();
    there.copied().chain(back.into_iter().rev()).collect()
}

/// Always on to the mode that shares most with the last one.
fn nearest(mutual: &[Vec<f64>]) -> Vec<usize> {
    let mut order = vec![0];
    while order.len() < mutual.len() {
        let last = &mutual[order[order.len() - 1]];
        let left = (0..mutual.len()).filter(|n| !order.contains(n));
        order.extend(left.max_by(|&a, &b| last[a].total_cmp(&last[b]).then(b.cmp(&a))));
    }
    order
}

/// `sum of I(i, j) * distance^2` of an order.
fn spread(mutual: &[Vec<f64>], order: &[usize], distance: impl Fn(usize, usize) -> usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..order.len() {
        for j in 0..i {
            sum += mutual[order[i]][order[j]] * (distance(i, j) as f64).powi(2);
        }
    }
    sum
}

/// The order after swaps, moves and reversals that help.
fn improved(
    mutual: &[Vec<f64>],
    mut order: Vec<usize>,
    distance: impl Fn(usize, usize) -> usize + Copy,
) -> Vec<usize> {
    let mut cost = spread(mutual, &order, distance);
    let mut changed = true;
    while changed {
        changed = false;
        for step in steps(order.len()) {
            let trial = step.apply(&order);
            let now = spread(mutual, &trial, distance);
            if now < cost * (1.0 - 1e-12) {
                (order, cost, changed) = (trial, now, true);
            }
        }
    }
    order
}

/// A change of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Two change places.
    Swap(usize, usize),
    /// One goes to another place.
    Move(usize, usize),
    /// A part is turned round.
    Reverse(usize, usize),
}

impl Step {
    pub fn apply(self, order: &[usize]) -> Vec<usize> {
        let mut new = order.to_vec();
        match self {
            Step::Swap(i, j) => new.swap(i, j),
            Step::Move(i, j) => {
                let moved = new.remove(i);
                new.insert(j, moved);
            }
            Step::Reverse(i, j) => new[i..=j].reverse(),
        }
        new
    }
}

/// All steps of an order of so many modes, neighbours first.
pub(super) fn steps(n: usize) -> Vec<Step> {
    let mut all = Vec::new();
    for apart in 1..n {
        for i in 0..n - apart {
            let j = i + apart;
            all.push(Step::Swap(i, j));
            if apart > 1 {
                all.extend([Step::Move(i, j), Step::Move(j, i)]);
            }
            if apart > 2 {
                all.push(Step::Reverse(i, j));
            }
        }
    }
    all
}
