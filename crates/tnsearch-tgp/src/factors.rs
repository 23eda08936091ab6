//! Lower factors S of covariances, and what they add to the divergence without cancellation.
//!
//! The divergence of a Kronecker product of `S_k S_k^T` from the identity has the terms `prod_k |S_k|_F^2 - M - sum_k (M / m_k)
//! log det S_k S_k^T`, each as large as M. With `t_k = ln(|S_k|_F^2 / m_k)`, `e(x) = exp(x) - 1 - x` and `l(x) = x - ln(1 + x)` they
//! are `M (e(sum_k t_k) + sum_k (t_k - log det S_k S_k^T / m_k))`, and with `b_i = S_ii^2 - 1` and `t_k = ln(1 + a)` the k-th
//! difference is `sum_(i > j) S_ij^2 / m_k + mean l(b_i) - l(a)`: all of second order near the prior.

/// `exp(x) - 1 - x`, without cancellation.
pub fn beyond_line(x: f64) -> f64 {
    if x.abs() > 0.25 {
        return x.exp_m1() - x;
    }
    // x^2/2! + x^3/3! + ...
    let step =
        |(term, sum): (f64, f64), n: u32| (term * x / f64::from(n), sum + term * x / f64::from(n));
    (2..20).fold((x, 0.0), step).1
}

/// `x - ln(1 + x)`, without cancellation.
fn above_log(x: f64) -> f64 {
    if x.abs() > 0.25 {
        return x - x.ln_1p();
    }
    // x^2/2 - x^3/3 + ...
    let step = |(power, sum): (f64, f64), n: u32| (-power * x, sum - power * x / f64::from(n));
    (2..30).fold((-x, 0.0), step).1
}

/// `t_k` of a lower factor, and `t_k - log det S S^T / m`.
pub fn logs(root: &[f64], m: usize) -> (f64, f64) {
    let (mut below, mut diagonal, mut above) = (0.0, 0.0, 0.0);
    for i in 0..m {
        below += root[i * m..i * m + i].iter().map(|x| x * x).sum::<f64>();
        let s = root[i * m + i].abs();
        let b = (s - 1.0) * (s + 1.0);
        diagonal += b;
        above += above_log(b);
    }
    let n = m as f64;
    let a = (below + diagonal) / n;
    (a.ln_1p(), (below + above) / n - above_log(a))
}

/// `|S^T x|^2` of a lower factor.
pub fn spread(root: &[f64], x: &[f64]) -> f64 {
    let m = x.len();
    (0..m).map(|j| (j..m).map(|i| root[i * m + j] * x[i]).sum::<f64>().powi(2)).sum()
}

/// `S S^T`, row-major.
pub fn squared(root: &[f64], m: usize) -> Vec<f64> {
    let entry = |k: usize| (0..m).map(|c| root[k / m * m + c] * root[k % m * m + c]).sum();
    (0..m * m).map(entry).collect()
}

/// The lower factor S of `A^-1 = S S^T`: with the rows and columns of A in reverse, `A = U U^T`, U upper, so `S = U^-T`.
pub fn inverse_root(matrix: Vec<f64>, m: usize) -> Option<Vec<f64>> {
    let mut reversed: Vec<f64> = matrix.into_iter().rev().collect();
    if !tnsearch::linalg::cholesky(&mut reversed, m) {
        return None;
    }
    // Column-major lower L of the reversed matrix: U_ij = L_(m-1-i)(m-1-j).
    let upper = |i: usize, j: usize| reversed[(m - 1 - j) * m + (m - 1 - i)];
    // S^T = U^-1, upper; so S U^T = I: forward substitution by rows of S.
    let mut s = vec![0.0; m * m];
    for i in 0..m {
        for j in (0..=i).rev() {
            let sum: f64 = (j + 1..=i).map(|c| s[i * m + c] * upper(j, c)).sum();
            s[i * m + j] = (if i == j { 1.0 } else { 0.0 } - sum) / upper(j, j);
        }
    }
    Some(s)
}
