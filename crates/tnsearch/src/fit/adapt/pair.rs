//! Two cores as one block: the least-squares problem of the block, and its splits into two cores again.

use super::net::Net;
use super::price::Price;
use crate::fit::solve::Solver;
use crate::linalg::{Factor, eigen, eigen_bytes, matmul};
use crate::network::contraction::{Label, reorder};
use crate::network::parts::Part;
use crate::tensor::Scalar;

/// The pull towards the old block relative to the Gram matrix's mean diagonal entry.
pub(super) const DAMPING: f64 = 1e-10;

/// Eigenvalues of a marginal Gram matrix below this part of the largest count as this.
const FLAT: f64 = 1e-12;

/// The block of two vertices u and v: `H b_i = t_i` for every pair i of indices of their modes, b over the edges that
/// leave the pair.
pub(super) struct Pair<T> {
    pub u: usize,
    pub v: usize,
    /// The edges that leave the pair at u, and at v.
    pub outer: (Vec<Label>, Vec<Label>),
    /// Product of their ranks.
    pub width: usize,
    /// H, width x width.
    pub gram: Vec<T>,
    /// T, as the block: [modes, edges at u, edges at v].
    pub rhs: Vec<T>,
    /// The block of the cores as they are.
    pub old: Vec<T>,
    /// The error of that.
    pub old_error: f64,
}

/// Two cores that a block was split into.
pub(super) struct Split<T> {
    /// Whether the modes have swapped their vertices.
    pub swapped: bool,
    pub rank: usize,
    pub u: Part<T>,
    pub v: Part<T>,
    pub error: f64,
    pub params: f64,
}

impl<T: Scalar> Pair<T> {
    /// The labels of the modes.
    pub fn modes(&self, net: &Net<T>) -> (Option<Label>, Option<Label>) {
        (net.mode.get(self.u).copied(), net.mode.get(self.v).copied())
    }

    /// Labels of the block: the modes, the edges at u, the edges at v.
    pub fn labels(&self, net: &Net<T>) -> Vec<Label> {
        let (m, n) = self.modes(net);
        let edges = self.outer.0.iter().chain(&self.outer.1).copied();
        m.into_iter().chain(n).chain(edges).collect()
    }

    /// The edges that leave the pair.
    pub fn edges(&self) -> Vec<Label> {
        self.outer.0.iter().chain(&self.outer.1).copied().collect()
    }

    /// The numbers that solving and splitting the pair take, about: the block in its forms (as it was, solved, whitened, split
    /// two ways, refined), its Gram matrix in a few, and the eigenvectors of the smaller side of its matrix.
    pub fn entries(&self, net: &Net<T>) -> f64 {
        let (a, b) = (net.size(&self.outer.0), net.size(&self.outer.1));
        let (du, dv) = (net.dim(self.u), net.dim(self.v));
        let (block, width) = ((du * dv) as f64 * self.width as f64, self.width as f64);
        let side = (du * a).min(dv * b).max((dv * a).min(du * b));
        let vectors = 3.0 * (side as f64).powi(2);
        let eigen = eigen_bytes::<T>(side) / T::KIND.bytes() as f64 + vectors;
        12.0 * block + 4.0 * width * width + eigen
    }

    /// The numbers that a turn of the two cores takes at a rank, about: H once more and reordered, the squares of both cores
    /// (outer edges times rank, squared) in a few forms, and the solver of the wider one.
    pub fn turn_entries(&self, net: &Net<T>, rank: usize) -> f64 {
        let square = |outer: &[Label]| ((net.size(outer) * rank) as f64).powi(2);
        let (u, v) = (square(&self.outer.0), square(&self.outer.1));
        2.0 * (self.width as f64).powi(2) + 3.0 * (u + v) + 2.0 * u.max(v)
    }

    /// `(||X||^2 + b^H H b - 2 Re b^H t) / ||X||^2`.
    pub fn error_of(&self, block: &[T], norm_squared: f64) -> f64 {
        let n = self.width;
        let columns = block.len() / n;
        let mut product = vec![T::ZERO; block.len()];
        // Row i of the product is (H b_i)^T = b_i^T H^T.
        matmul(
            (columns, n, n),
            &mut product,
            Factor::row_major(block, n),
            Factor::row_major(&self.gram, n).transposed(),
        );
        let energy = product.iter().zip(&self.rhs).zip(block);
        let energy: f64 = energy.map(|((hb, t), b)| (b.conj() * (*hb - t.scale(2.0))).re()).sum();
        (norm_squared + energy) / norm_squared
    }

    /// The block of the least error.
    pub fn solve(&self, solver: &mut Solver<T>) -> Vec<T> {
        let mut block = self.old.clone();
        let damping = DAMPING.max(1e3 * T::KIND.epsilon());
        solver.solve(&self.gram, &self.rhs, &mut block, self.width, damping);
        block
    }

    /// The whitened block and what brings cores back.
    pub fn whiten(&self, net: &Net<T>, block: &[T]) -> Option<Whitened<T>> {
        let (a, b) = (net.size(&self.outer.0), net.size(&self.outer.1));
        let n = self.width;
        let (mut left, mut right) = (vec![T::ZERO; a * a], vec![T::ZERO; b * b]);
        let mut trace = 0.0;
        for i in 0..a {
            for j in 0..a {
                left[i * a + j] = (0..b).map(|k| self.gram[(i * b + k) * n + j * b + k]).sum();
            }
        }
        for i in 0..b {
            for j in 0..b {
                right[i * b + j] = (0..a).map(|k| self.gram[(k * b + i) * n + k * b + j]).sum();
            }
        }
        for i in 0..n {
            trace += self.gram[i * n + i].re();
        }
        if !(trace > 0.0 && trace.is_finite()) {
            return None;
        }
        right.iter_mut().for_each(|x| *x = x.unscale(trace));
        let (left, right) = (Root::new(&left, a)?, Root::new(&right, b)?);
        // [modes][a][b] -> [modes][a'][b'].
        let columns = block.len() / n;
        let mut half = vec![T::ZERO; block.len()];
        for (out, block) in half.chunks_exact_mut(n).zip(block.chunks_exact(n)) {
            matmul((a, b, a), out, Factor::row_major(&left.root, a), Factor::row_major(block, b));
        }
        let mut white = vec![T::ZERO; block.len()];
        matmul(
            (columns * a, b, b),
            &mut white,
            Factor::row_major(&half, b),
            Factor::row_major(&right.root, b).transposed(),
        );
        Some(Whitened { white, left, right })
    }

    /// The best split of a block by the price of its rank; the modes may swap their vertices.
    pub fn split(
        &self,
        net: &Net<T>,
        whitened: &Whitened<T>,
        swapped: bool,
        price: &Price,
        (min_rank, max_rank): (usize, usize),
        norm_squared: f64,
    ) -> Option<(f64, Spectrum<T>)> {
        let (a, b) = (net.size(&self.outer.0), net.size(&self.outer.1));
        let (du, dv) = (net.dim(self.u), net.dim(self.v));
        // [du][dv][a][b] -> rows (mode, a), columns (mode, b).
        let order = if swapped { [1, 2, 0, 3] } else { [0, 2, 1, 3] };
        let (rows, cols) = if swapped { (dv * a, du * b) } else { (du * a, dv * b) };
        let mut matrix = vec![T::ZERO; whitened.white.len()];
        let labels: Vec<Label> = vec![0, 1, 2, 3];
        reorder(&labels, &order, &[du, dv, a, b]).apply(&whitened.white, &mut matrix);
        let (values, vectors, transposed) = leading(&matrix, rows, cols)?;
        let most = max_rank.min(values.len());
        let all: f64 = values.iter().sum();
        let width = self.width_of(net, swapped, (rows, cols));
        let (mut best, mut kept) = ((f64::INFINITY, 1), 0.0);
        for r in 1..=most {
            kept += values[r - 1];
            let tail = (all - kept).max(0.0) / norm_squared;
            let loss = price.of(r as f64 * width, tail);
            if loss < best.0 || r <= min_rank.min(most) {
                best = (loss, r);
            }
        }
        let spectrum =
            Spectrum { swapped, rows, cols, matrix, values, vectors, transposed, rank: best.1 };
        Some((best.0, spectrum))
    }

    /// The parameters that a rank takes: rows and columns, their modes counted in full.
    fn width_of(&self, net: &Net<T>, swapped: bool, (rows, cols): (usize, usize)) -> f64 {
        let (mut u, mut v) = (net.stretch_of(self.u), net.stretch_of(self.v));
        if swapped {
            std::mem::swap(&mut u, &mut v);
        }
        rows as f64 * u + cols as f64 * v
    }

    /// The cores of a split.
    pub fn cores(&self, net: &Net<T>, whitened: &Whitened<T>, spectrum: &Spectrum<T>) -> Split<T> {
        let Spectrum { swapped, rows, cols, rank, .. } = *spectrum;
        let (a, b) = (net.size(&self.outer.0), net.size(&self.outer.1));
        let (left, right) = spectrum.factors(rank);
        // Rows are (mode, a) x rank; columns rank x (mode, b).
        let dv = cols / b;
        let mut core_u = vec![T::ZERO; rows * rank];
        for (out, x) in core_u.chunks_exact_mut(a * rank).zip(left.chunks_exact(a * rank)) {
            matmul(
                (a, rank, a),
                out,
                Factor::row_major(&whitened.left.inverse, a),
                Factor::row_major(x, rank),
            );
        }
        let mut core_v = vec![T::ZERO; cols * rank];
        matmul(
            (rank * dv, b, b),
            &mut core_v,
            Factor::row_major(&right, b),
            Factor::row_major(&whitened.right.inverse, b).transposed(),
        );
        let edge = net.edge(self.u, self.v);
        let (m, n) = self.modes(net);
        let (m, n) = if swapped { (n, m) } else { (m, n) };
        let bond = (rank > 1).then_some(edge);
        let labels_u = m.into_iter().chain(self.outer.0.iter().copied()).chain(bond).collect();
        let labels_v = bond.into_iter().chain(n).chain(self.outer.1.iter().copied()).collect();
        Split {
            swapped,
            rank,
            u: Part::new(labels_u, core_u),
            v: Part::new(labels_v, core_v),
            error: 1.0,
            params: rank as f64 * self.width_of(net, swapped, (rows, cols)),
        }
    }
}

/// `A = R^H R` of a marginal Gram matrix, and the inverse of R.
pub(super) struct Root<T> {
    root: Vec<T>,
    inverse: Vec<T>,
}

impl<T: Scalar> Root<T> {
    /// From a row-major Hermitian matrix.
    fn new(gram: &[T], n: usize) -> Option<Self> {
        // Row-major A is column-major conj(A), whose eigenvectors are the conjugated ones.
        let (values, vectors) = eigen(gram, n)?;
        let largest = values.last().copied().unwrap_or(0.0);
        if largest.is_nan() || largest <= 0.0 {
            return None;
        }
        let floor = (FLAT.max(T::KIND.epsilon()) * largest).max(f64::MIN_POSITIVE);
        let (mut root, mut inverse) = (vec![T::ZERO; n * n], vec![T::ZERO; n * n]);
        for (k, &value) in values.iter().enumerate() {
            let scale = value.max(floor).sqrt();
            for i in 0..n {
                let q = vectors[k * n + i].conj();
                root[k * n + i] = q.conj().scale(scale);
                inverse[i * n + k] = q.unscale(scale);
            }
        }
        Some(Root { root, inverse })
    }
}

/// A block in whose metric truncation loses what the error gains, as far as the Gram matrix is a product.
pub(super) struct Whitened<T> {
    white: Vec<T>,
    left: Root<T>,
    right: Root<T>,
}

/// The squared singular values of a whitened block, falling, and what its cores are made from.
pub(super) struct Spectrum<T> {
    pub swapped: bool,
    rows: usize,
    cols: usize,
    matrix: Vec<T>,
    pub values: Vec<f64>,
    /// Row k: the k-th singular vector of the smaller side.
    vectors: Vec<T>,
    transposed: bool,
    pub rank: usize,
}

impl<T: Scalar> Spectrum<T> {
    /// The two factors of the best approximation of a rank: rows x rank and rank x columns.
    fn factors(&self, rank: usize) -> (Vec<T>, Vec<T>) {
        let (rows, cols) = (self.rows, self.cols);
        let (mut left, mut right) = (vec![T::ZERO; rows * rank], vec![T::ZERO; rank * cols]);
        let vectors = &self.vectors;
        if self.transposed {
            // Vectors are the right ones, v_k^H in row k conjugated: A v_k = s_k u_k.
            matmul(
                (rows, rank, cols),
                &mut left,
                Factor::row_major(&self.matrix, cols),
                Factor::row_major(vectors, cols).transposed(),
            );
            for k in 0..rank {
                let scale = self.values[k].max(f64::MIN_POSITIVE).powf(0.25);
                for i in 0..rows {
                    left[i * rank + k] = left[i * rank + k].unscale(scale);
                }
                for j in 0..cols {
                    right[k * cols + j] = vectors[k * cols + j].conj().scale(scale);
                }
            }
        } else {
            matmul(
                (rank, cols, rows),
                &mut right,
                Factor::row_major(vectors, rows).conj(),
                Factor::row_major(&self.matrix, cols),
            );
            for k in 0..rank {
                let scale = self.values[k].max(f64::MIN_POSITIVE).powf(0.25);
                for j in 0..cols {
                    right[k * cols + j] = right[k * cols + j].unscale(scale);
                }
                for i in 0..rows {
                    left[i * rank + k] = vectors[k * rows + i].scale(scale);
                }
            }
        }
        (left, right)
    }
}

/// Squared singular values of a row-major matrix, falling, and the vectors of its smaller side, one a row: left ones u,
/// or right ones v where `transposed`.
fn leading<T: Scalar>(a: &[T], rows: usize, cols: usize) -> Option<(Vec<f64>, Vec<T>, bool)> {
    let transposed = cols < rows;
    let n = rows.min(cols);
    let mut gram = vec![T::ZERO; n * n];
    let a = Factor::row_major(a, cols);
    // Column-major A A^H is row-major conj(A) A^T; column-major A^H A is row-major A^T conj(A).
    match transposed {
        false => matmul((n, n, cols), &mut gram, a.conj(), a.transposed()),
        true => matmul((n, n, rows), &mut gram, a.transposed(), a.conj()),
    }
    let (rising, vectors) = eigen(&gram, n)?;
    let values = rising.iter().rev().map(|v| v.max(0.0)).collect();
    let falling = vectors.chunks_exact(n).rev().flatten().copied().collect();
    Some((values, falling, transposed))
}
