//! The mean by alternating least squares: for fixed hyperparameters the bound is quadratic in each core.
//!
//! With the other cores fixed, `g = A c`, a row of A the surroundings of the core times the vectors of its modes, and the bound
//! is largest where `(signal^2 / s^2 A^T A + E x I) c = signal / s^2 A^T y`, E the surroundings of the core in `<c, c>`: a step of
//! natural gradient of length 1. The bound never falls (but for rounding).

use super::TgpError;
use super::bound::Problem;
use super::contract::Contraction;
use super::rows::{each_part, parts};
use std::ops::Range;
use tnsearch::linalg::{Factor, Strides, cholesky, cholesky_solve, matmul};
use tnsearch::problem::Stop;

/// Columns of a block of `A^T A`: only one triangle is computed.
const PANEL: usize = 192;
/// What is added to the diagonal, relative to its mean: ranks may be larger than they are of use.
const RIDGE: f64 = 1e-10;
/// The largest core, in params: its matrix has the square of it.
pub const LARGEST_CORE: usize = 8192;
/// Bytes for the sums of all parts together, about.
pub const SUMS: usize = 256 << 20;

/// The values `g` of all rows, on all threads or on this one.
pub fn values(
    plan: &Contraction,
    cores: &[Vec<f64>],
    phi: &[Vec<f64>],
    count: usize,
    parallel: bool,
) -> Vec<f64> {
    let part = |range: Range<usize>| {
        let mut out = Vec::with_capacity(range.len());
        each_chunk(plan, range, |rows| {
            let (locals, _) = locals(plan, cores, phi, &rows, None);
            let around = plan.around(0, &locals, rows.len());
            let width = plan.vertices()[0].width;
            let pairs = around.chunks_exact(width).zip(locals[0].chunks_exact(width));
            out.extend(pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()));
        });
        out
    };
    each_part(parts(count, 64), parallel, part).concat()
}

fn each_chunk(plan: &Contraction, range: Range<usize>, mut run: impl FnMut(Range<usize>)) {
    let mut from = range.start;
    while from < range.end {
        let to = range.end.min(from + plan.rows_together());
        run(from..to);
        from = to;
    }
}

/// The locals of all vertices for some rows (not of `without`), and the vectors of that one.
fn locals(
    plan: &Contraction,
    cores: &[Vec<f64>],
    phi: &[Vec<f64>],
    rows: &Range<usize>,
    without: Option<usize>,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let slices: Vec<&[f64]> =
        phi.iter().zip(plan.dims()).map(|(p, &m)| &p[rows.start * m..rows.end * m]).collect();
    let mut own = Vec::new();
    let of = |v: usize| {
        let vectors = plan.vectors(v, &slices, rows.len());
        if Some(v) == without {
            own = vectors;
            return Vec::new();
        }
        plan.local(v, &cores[v], &vectors, rows.len())
    };
    let locals = (0..cores.len()).map(of).collect();
    (locals, own)
}

/// `A^T A` (row-major, upper triangle) and `A^T y` of a vertex.
fn normal(
    problem: &Problem<'_>,
    v: usize,
    cores: &[Vec<f64>],
    phi: &[Vec<f64>],
) -> (Vec<f64>, Vec<f64>) {
    let plan = problem.plan;
    let vertex = &plan.vertices()[v];
    let p = vertex.params();
    let part = |range: Range<usize>| {
        let (mut gram, mut right) = (vec![0.0; p * p], vec![0.0; p]);
        let mut panel = vec![0.0; PANEL.min(p) * p];
        // More rows at a time make better products.
        let mut a: Vec<f64> = Vec::new();
        let mut flush = |a: &mut Vec<f64>| {
            let rows = a.len() / p;
            if rows == 0 {
                return;
            }
            for from in (0..p).step_by(PANEL) {
                let (high, wide) = (PANEL.min(p - from), p - from);
                let left = Factor::new(&a[from..], Strides { rows: 1, cols: p });
                let right = Factor::new(&a[from..], Strides::row_major(p));
                matmul((high, wide, rows), &mut panel[..high * wide], left, right);
                for (i, row) in panel[..high * wide].chunks_exact(wide).enumerate() {
                    let to = &mut gram[(from + i) * p + from..(from + i + 1) * p];
                    to.iter_mut().zip(row).for_each(|(g, x)| *g += x);
                }
            }
            a.clear();
        };
        each_chunk(plan, range, |rows| {
            let (locals, own) = locals(plan, cores, phi, &rows, Some(v));
            let around = plan.around(v, &locals, rows.len());
            let pairs = around.chunks_exact(vertex.width).zip(own.chunks_exact(vertex.span));
            for ((e, x), i) in pairs.zip(rows) {
                let begin = a.len();
                e.iter().for_each(|e| a.extend(x.iter().map(|x| e * x)));
                let y = problem.rows.y[i];
                right.iter_mut().zip(&a[begin..]).for_each(|(r, a)| *r += y * a);
            }
            if a.len() >= 256 * p {
                flush(&mut a);
            }
        });
        flush(&mut a);
        (gram, right)
    };
    let most = (SUMS / (16 * p * p).max(1)).clamp(1, 16);
    let made = each_part(parts(problem.rows.len(), most), problem.parallel, part);
    made.into_iter()
        .reduce(|mut a, b| {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a += b);
            a.1.iter_mut().zip(b.1).for_each(|(a, b)| *a += b);
            a
        })
        .unwrap_or_else(|| (vec![0.0; p * p], vec![0.0; p]))
}

/// Puts the best core of a vertex, the others as they are.
fn improve(
    problem: &Problem<'_>,
    v: usize,
    cores: &mut [Vec<f64>],
    phi: &[Vec<f64>],
) -> Result<(), TgpError> {
    let (mut matrix, mut right) = normal(problem, v, cores, phi);
    let vertex = &problem.plan.vertices()[v];
    let (p, span) = (vertex.params(), vertex.span);
    let scale = problem.weight / problem.rows.len() as f64;
    let (signal, noise) = (problem.kernel.signal, problem.kernel.noise);
    let (squared, single) = (scale * (signal / noise).powi(2), scale * signal / (noise * noise));
    matrix.iter_mut().for_each(|x| *x *= squared);
    right.iter_mut().for_each(|x| *x *= single);
    let around = problem.plan.norm_around(v, cores);
    for a in 0..vertex.width {
        for b in a..vertex.width {
            let e = around[a * vertex.width + b];
            (0..span).for_each(|s| matrix[(a * span + s) * p + b * span + s] += e);
        }
    }
    let mean = (0..p).map(|i| matrix[i * p + i]).sum::<f64>() / p as f64;
    let mut ridge = RIDGE * mean;
    // A row-major upper triangle is a column-major lower one.
    for _ in 0..4 {
        let mut factor = matrix.clone();
        (0..p).for_each(|i| factor[i * p + i] += ridge);
        if cholesky(&mut factor, p) {
            let mut solution = right;
            cholesky_solve(&factor, &mut solution, p);
            cores[v] = solution;
            return Ok(());
        }
        ridge *= 1e3;
    }
    Err(TgpError::Numbers("the normal equations of a core are not positive definite"))
}

/// One sweep over all cores, forwards or backwards. Ends early, between two cores, where a stop is asked for.
pub fn sweep(
    problem: &Problem<'_>,
    cores: &mut [Vec<f64>],
    phi: &[Vec<f64>],
    backwards: bool,
    stop: &Stop,
) -> Result<(), TgpError> {
    let count = cores.len();
    if let Some(large) =
        problem.plan.vertices().iter().map(|v| v.params()).find(|&p| p > LARGEST_CORE)
    {
        return Err(TgpError::Core { params: large });
    }
    for place in 0..count {
        if stop.is_set() {
            return Ok(());
        }
        let at = |k: usize| if backwards { count - 1 - k } else { k };
        improve(problem, at(place), cores, phi)?;
        if place + 1 < count {
            problem.plan.shift(at(place), at(place + 1), cores);
        }
    }
    Ok(())
}

/// What the sweeps make smaller: `signal^2`-weighted squares and the norm, `sum (y - signal g)^2 / (2 s^2) + <c, c> / 2`.
pub fn energy(problem: &Problem<'_>, cores: &[Vec<f64>], values: &[f64]) -> f64 {
    let (signal, noise) = (problem.kernel.signal, problem.kernel.noise);
    let squares: f64 =
        values.iter().zip(&problem.rows.y).map(|(g, y)| (y - signal * g).powi(2)).sum();
    let scale = problem.weight / problem.rows.len() as f64;
    0.5 * (scale * squares / (noise * noise) + problem.plan.norm_squared(cores))
}
