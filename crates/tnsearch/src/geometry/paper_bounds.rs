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

/// gamma(d) N - log(d) / 2 - 1/24: what Lemma 3.2 divides N! by, and so a lower bound on log |G0 class|.
fn exponent(n: f64, d: f64) -> f64 {
    gamma(d) * n - 0.5 * d.ln() - 1.0 / 24.0
}

/// Theorem 3.1 as it is written: lower and upper bound on log |L|, the number of structures with ranks up to R,
/// for `N = order`, `delta = N / d1` and `Delta = N / d2`:
/// `R^(N^2 / (2 d1)) e^(gamma(d2) N - log(d2) / 2 - 1/24)` and `R^(N^2 / (2 d2)) N!`.
pub fn theorem_at_ln(order: usize, d1: f64, d2: f64, max_rank: f64) -> (f64, f64) {
    let n = order as f64;
    let ranks = n * n / 2.0 * max_rank.ln();
    (ranks / d1 + exponent(n, d2), ranks / d2 + ln_factorial(order))
}

/// Theorem 3.1 for a template; none for degrees that no connected graph has.
///
/// With all vertices external it is [`theorem_at_ln`]. A template with internal vertices has V > N vertices,
/// at most `V Delta / 2` and at least `V delta / 2` edges, and at least `N! / |Aut|` placements, |Aut| bounded by
/// Lemma 3.2 on V vertices.
pub fn theorem_ln(
    order: usize,
    vertices: usize,
    degrees: Degrees,
    max_rank: usize,
) -> Option<(f64, f64)> {
    let symmetries = lemma_ln(vertices, degrees.largest)?;
    if order == vertices {
        let d = |degree: usize| order as f64 / degree as f64;
        return Some(theorem_at_ln(order, d(degrees.least), d(degrees.largest), max_rank as f64));
    }
    let half = vertices as f64 / 2.0 * (max_rank as f64).ln();
    let all = ln_factorial(order);
    Some((half * degrees.least as f64 + all - symmetries, half * degrees.largest as f64 + all))
}

/// A connected graph on two or more vertices has degrees from 1 to N - 1.
fn is_connected_degree(vertices: usize, largest_degree: usize) -> bool {
    (1..vertices).contains(&largest_degree)
}
