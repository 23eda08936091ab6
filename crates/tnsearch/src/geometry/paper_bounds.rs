//! The paper's bounds on the number of symmetries and of structures (Lemma 3.2, Theorem 3.1), as natural
//! logarithms: nothing overflows.

use crate::graph::Template;

/// The least and the largest degree of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Degrees {
    /// The least degree, delta.
    pub least: usize,
    /// The largest degree, Delta.
    pub largest: usize,
}

impl Degrees {
    /// The degrees of a template's vertices.
    pub fn of(template: &Template) -> Degrees {
        let mut degree = vec![0; template.vertices()];
        for &(u, v) in template.edges() {
            degree[u] += 1;
            degree[v] += 1;
        }
        let (least, largest) = (degree.iter().min(), degree.iter().max());
        Degrees { least: least.copied().unwrap_or(0), largest: largest.copied().unwrap_or(0) }
    }
}

/// gamma(d) = log d + 1/d - 1 of Theorem 3.1: 0 at d = 1, positive and increasing beyond.
pub fn gamma(d: f64) -> f64 {
    d.ln() + 1.0 / d - 1.0
}

/// log n!, by summation.
pub fn ln_factorial(n: usize) -> f64 {
    (2..=n).map(|k| (k as f64).ln()).sum()
}

/// Krasikov, Lev and Thatte's bound, from which the paper derives Lemma 3.2:
/// log |Aut(G)| <= log(N * Delta! * (Delta - 1)^(N - Delta - 1)) for a connected graph on N >= 2 vertices.
pub fn krasikov_ln(vertices: usize, largest_degree: usize) -> Option<f64> {
    if !is_connected_degree(vertices, largest_degree) {
        return None;
    }
    let rest = vertices - largest_degree - 1;
    // 0 * log 0 for the single edge, whose exponent is 0.
    let rest = if rest == 0 { 0.0 } else { rest as f64 * (largest_degree as f64 - 1.0).ln() };
    Some((vertices as f64).ln() + ln_factorial(largest_degree) + rest)
}

/// Lemma 3.2: log |Aut(G)| <= log N! - gamma(d) N + log(d) / 2 + 1/24, d = N / Delta, for a connected graph on
/// N >= 2 vertices. None for other numbers: d must be larger than 1 and finite.
pub fn lemma_ln(vertices: usize, largest_degree: usize) -> Option<f64> {
    if !is_connected_degree(vertices, largest_degree) {
        return None;
    }
    let n = vertices as f64;
    Some(ln_factorial(vertices) - exponent(n, n / largest_degree as f64))
}

/// gamma(d) N - log(d) / 2 - 1/24: what Lemma 3.2 divides N! by, and the lower bound of Theorem 3.1 on
/// log |G0 class| (d need not be N over a whole number).
pub(super) fn exponent(n: f64, d: f64) -> f64 {
    gamma(d) * n - 0.5 * d.ln() - 1.0 / 24.0
}

/// Theorem 3.1: lower and upper bound on log |L|, the number of structures with ranks up to R.
///
/// With all vertices external these are the paper's `R^(N delta / 2) e^(gamma(d2) N - log(d2) / 2 - 1/24)` and
/// `R^(N Delta / 2) N!`. A template with internal vertices has V > N vertices and `N! / |Aut|` placements at
/// least; there edges are counted with V, and |Aut| is bounded by Lemma 3.2 on V vertices.
pub fn theorem_ln(
    order: usize,
    vertices: usize,
    degrees: Degrees,
    max_rank: usize,
) -> Option<(f64, f64)> {
    let aut = lemma_ln(vertices, degrees.largest)?;
    let half = vertices as f64 / 2.0 * (max_rank as f64).ln();
    let placements = match order == vertices {
        // Without the rounding of N! - N!.
        true => exponent(order as f64, order as f64 / degrees.largest as f64),
        false => ln_factorial(order) - aut,
    };
    let low = half * degrees.least as f64 + placements;
    Some((low, half * degrees.largest as f64 + ln_factorial(order)))
}

/// A connected graph on two or more vertices has degrees from 1 to N - 1.
fn is_connected_degree(vertices: usize, largest_degree: usize) -> bool {
    (1..vertices).contains(&largest_degree)
}
