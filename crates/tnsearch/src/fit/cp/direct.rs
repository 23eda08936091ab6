//! The first starts of a sum of products: terms from eigenvectors, and further ones from what is left.
//!
//! The modes fall into three groups, so that X is a tensor a x b x c. With `A`, `B`, `C` the factors of `r` terms, projected on
//! the leading singular vectors of its unfoldings, two slices are `S_k = A^T diag(C_k) B`: the columns of `A^T` are the
//! eigenvectors of `S_1 S_0^-1` (Harshman 1972; Leurgans, Ross and Abel 1993). That is exact where X has r terms and r is no
//! larger than a and b, and a start that sweeps improve elsewhere. Each further term is the best product near what the terms
//! before it leave, after a few sweeps and steps of all factors at once.

use super::newton;
use super::sweep::Problem;
use crate::fit::FitSettings;
use crate::fit::control::Progress;
use crate::linalg::{Factor, eigen, eliminate, general_eigen, gram, matmul, precise_left_singular};
use crate::network::cp::dense;
use crate::problem::{Stop, Target};
use crate::tensor::{Complex, Scalar, Tensor};

/// Sweeps over the terms that there are before each step of growth, and steps of all factors at once after them.
const SWEEPS: usize = 20;
const BETWEEN: usize = 40;
/// Terms that come one by one in a start that grows.
const LAST: usize = 4;
/// Terms grow in at most so many steps.
const STEPS: usize = 8;
/// Operations that singular vectors of the unfoldings may take.
const WORK: f64 = 2e10;

/// How factors are improved between two steps of growth.
pub(super) struct Growth<'g, W> {
    pub problem: &'g Problem<W>,
    pub target: &'g Target,
    pub settings: &'g FitSettings,
    pub limit: &'g Stop,
}

impl<W: Scalar<Wide = W>> Growth<'_, W> {
    /// Factors with all terms: as many as eigenvectors give, then further ones in a few steps. And the sweeps made.
    pub fn at_once(&self) -> (Vec<Vec<W>>, usize) {
        let all = self.problem.rank;
        let factors = self.first(all);
        let missing = all - self.problem.rank_of(&factors);
        self.grow(factors, missing.div_ceil(STEPS).max(1))
    }

    /// The same from fewer terms, the last ones one by one: where many terms at once end in a bad place, fewer need not.
    pub fn one_by_one(&self) -> (Vec<Vec<W>>, usize) {
        self.grow(self.first(self.problem.rank.saturating_sub(LAST).max(1)), 1)
    }

    fn first(&self, terms: usize) -> Vec<Vec<W>> {
        let none = || self.problem.dims.iter().map(|_| Vec::new()).collect();
        eigenvectors(self.problem, terms).unwrap_or_else(none)
    }

    /// Adds terms, so many at a time, after what there is was improved.
    fn grow(&self, mut factors: Vec<Vec<W>>, step: usize) -> (Vec<Vec<W>>, usize) {
        let (problem, mut sweeps) = (self.problem, 0);
        loop {
            let rank = problem.rank_of(&factors);
            if rank == problem.rank {
                return (factors, sweeps);
            }
            if rank > 0 {
                sweeps += self.improve(&mut factors);
            }
            add_terms(problem, &mut factors, step.min(problem.rank - rank));
        }
    }

    /// A few sweeps and steps; how many.
    fn improve(&self, factors: &mut Vec<Vec<W>>) -> usize {
        let (problem, limit) = (self.problem, self.limit);
        let relative = |residual: f64| self.target.relative(residual);
        let mut progress = Progress::new(self.settings);
        let mut ends = |rse: f64| progress.finished(rse);
        let (rse, sweeps) = problem.improve(factors, SWEEPS, &relative, &mut ends, limit);
        let steps = newton::steps(&problem.dims, problem.rank_of(factors)).min(BETWEEN);
        if limit.is_set() || steps == 0 || self.settings.is_enough(rse) {
            return sweeps;
        }
        let mut progress = Progress::new(self.settings);
        let mut ends = |rse: f64| progress.finished(rse);
        sweeps + problem.newton(factors, steps, &relative, &mut ends, limit).1
    }
}

/// Adds the products nearest to what is left, one after the other.
fn add_terms<W: Scalar<Wide = W>>(problem: &Problem<W>, factors: &mut [Vec<W>], terms: usize) {
    let dims = &problem.dims;
    let mut left = problem.x.clone();
    let take = |left: &mut [W], factors: &[&[W]], rank: usize| {
        let z = dense(factors, dims, rank);
        left.iter_mut().zip(z).for_each(|(x, z)| *x -= z);
    };
    let rank = problem.rank_of(factors);
    if rank > 0 {
        let known: Vec<&[W]> = factors.iter().map(|f| &f[..]).collect();
        take(&mut left, &known, rank);
    }
    for _ in 0..terms {
        let new = product(&left, dims);
        take(&mut left, &new.iter().map(|v| &v[..]).collect::<Vec<_>>(), 1);
        factors.iter_mut().zip(new).for_each(|(factor, v)| factor.extend(v));
    }
}

/// A product of vectors near a tensor: the leading singular vector of its first unfolding, then that of what remains. All
/// vectors have one length.
fn product<W: Scalar>(x: &[W], dims: &[usize]) -> Vec<Vec<W>> {
    let mut rest = x.to_vec();
    let mut vectors: Vec<Vec<W>> = Vec::with_capacity(dims.len());
    for &dim in &dims[..dims.len() - 1] {
        let width = rest.len() / dim;
        let u = leading(&rest, dim, width);
        let mut next = vec![W::ZERO; width];
        let a = Factor::row_major(&u, dim).conj();
        matmul((1, width, dim), &mut next, a, Factor::row_major(&rest, width));
        vectors.push(u);
        rest = next;
    }
    let length = crate::tensor::sum_of_squares(&rest).sqrt();
    if length > 0.0 {
        rest.iter_mut().for_each(|x| *x = x.unscale(length));
    }
    vectors.push(rest);
    let share = length.powf(1.0 / dims.len() as f64);
    vectors.iter_mut().flatten().for_each(|x| *x = x.scale(share));
    vectors
}

/// The leading left singular vector of a row-major matrix.
fn leading<W: Scalar>(x: &[W], dim: usize, width: usize) -> Vec<W> {
    let mut unit = vec![W::ZERO; dim];
    unit[0] = W::ONE;
    let vectors = eigen(&gram(x, dim, width), dim).map(|(_, vectors)| vectors);
    // The eigenvalues rise.
    let last = vectors.map(|v| v[(dim - 1) * dim..].to_vec());
    last.filter(|v| v.iter().all(|x| x.is_finite())).unwrap_or(unit)
}

/// The modes in three groups: the last a short one, the others about as long as each other.
fn groups(dims: &[usize]) -> Option<[Vec<usize>; 3]> {
    let mut modes: Vec<usize> = (0..dims.len()).filter(|&n| dims[n] > 1).collect();
    if modes.len() < 3 {
        return None;
    }
    modes.sort_by_key(|&n| (std::cmp::Reverse(dims[n]), n));
    let last = modes.pop().into_iter().collect();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (1.0, 1.0);
    for n in modes {
        let (group, size) = if a <= b { (&mut first, &mut a) } else { (&mut second, &mut b) };
        group.push(n);
        *size *= dims[n] as f64;
    }
    // Modes of one index go anywhere.
    first.extend((0..dims.len()).filter(|&n| dims[n] == 1));
    Some([first, second, last])
}

/// Up to so many terms from eigenvectors; none where the modes have no three groups, or the numbers do not allow it.
fn eigenvectors<W: Scalar<Wide = W>>(problem: &Problem<W>, terms: usize) -> Option<Vec<Vec<W>>> {
    let dims = &problem.dims;
    let [first, second, last] = groups(dims)?;
    let size = |modes: &[usize]| modes.iter().map(|&n| dims[n]).product::<usize>();
    let (a, b, c) = (size(&first), size(&second), size(&last));
    let work = |side: usize| side as f64 * side as f64 * ((a * b * c) as f64 / side as f64);
    if work(a) + work(b) > WORK {
        return None;
    }
    let order: Vec<usize> = first.iter().chain(&second).chain(&last).copied().collect();
    let x = Tensor::new(dims.clone(), problem.x.clone()).ok()?.permuted(&order).into_data();
    let turned = |axes: &[usize]| {
        let cube = Tensor::new(vec![a, b, c], x.clone()).ok()?;
        Some(cube.permuted(axes).into_data())
    };
    // Column-major: rows of the basis, one after the other.
    let (values, u) = precise_left_singular(&x, (a, b * c), None)?;
    let rank = terms.min(a).min(b).min(useful(&values));
    let (values, v) = precise_left_singular(&turned(&[1, 0, 2])?, (b, a * c), None)?;
    let rank = rank.min(useful(&values));
    let (_, w) = precise_left_singular(&turned(&[2, 0, 1])?, (c, a * b), None)?;
    let (u, v, w) = (u.get(..a * rank)?, v.get(..b * rank)?, w.get(..2 * c)?);
    // rank x (b c), then the two slices rank x rank.
    let mut near = vec![W::ZERO; rank * b * c];
    let by = Factor::row_major(u, a).conj();
    matmul((rank, b * c, a), &mut near, by, Factor::row_major(&x, b * c));
    let slice = |k: usize| {
        let mut flat = vec![W::ZERO; rank * b];
        let by = Factor::row_major(&w[k * c..(k + 1) * c], 1).conj();
        matmul((rank * b, 1, c), &mut flat, Factor::row_major(&near, c), by);
        let mut slice = vec![W::ZERO; rank * rank];
        let by = Factor::row_major(v, b).conj().transposed();
        matmul((rank, rank, b), &mut slice, Factor::row_major(&flat, b), by);
        slice
    };
    // M S_0 = S_1, so S_0^T M^T = S_1^T.
    let transposed =
        |s: Vec<W>| -> Vec<W> { (0..rank * rank).map(|k| s[k % rank * rank + k / rank]).collect() };
    let (mut zeroth, mut pencil) = (transposed(slice(0)), transposed(slice(1)));
    if !eliminate(&mut zeroth, &mut pencil, rank) {
        return None;
    }
    // Row-major M^T is column-major M.
    let pencil: Vec<Complex<f64>> = pencil.iter().map(|x| Complex::new(x.re(), x.im())).collect();
    if pencil.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let (values, vectors) = general_eigen(&pencil, rank)?;
    let mut factors: Vec<Vec<W>> = dims.iter().map(|_| Vec::new()).collect();
    let mut mixing = vec![W::ZERO; rank * rank];
    for (r, (value, vector)) in values.iter().zip(vectors.chunks_exact(rank)).enumerate() {
        for (p, x) in own::<W>(*value, vector).into_iter().enumerate() {
            mixing[p * rank + r] = x;
        }
    }
    // What the first group has, and what is left for the others.
    let mut others = near;
    let mut firsts = vec![W::ZERO; rank * a];
    let by = Factor::row_major(&mixing, rank).transposed();
    matmul((rank, a, rank), &mut firsts, by, Factor::row_major(u, a));
    if !eliminate(&mut mixing, &mut others, rank) || others.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let lengths = |modes: &[usize]| modes.iter().map(|&n| dims[n]).collect::<Vec<_>>();
    let (own, rest) = (lengths(&first), lengths(&order[first.len()..]));
    for r in 0..rank {
        let mine = product(&firsts[r * a..(r + 1) * a], &own);
        let theirs = product(&others[r * b * c..(r + 1) * b * c], &rest);
        for (&n, v) in order.iter().zip(mine.into_iter().chain(theirs)) {
            factors[n].extend(v);
        }
    }
    Some(factors)
}

/// How many singular values are more than rounding.
fn useful(values: &[f64]) -> usize {
    let least = 1e-14 * values.first().copied().unwrap_or(0.0);
    values.iter().take_while(|&&s| s > least).count().max(1)
}

/// An eigenvector with its largest entry real; of real matrices the real part, or the imaginary one of the second of a pair.
fn own<W: Scalar>(value: Complex<f64>, vector: &[Complex<f64>]) -> Vec<W> {
    let largest = vector.iter().max_by(|a, b| a.norm().total_cmp(&b.norm()));
    let turn =
        largest.filter(|x| x.norm() > 0.0).map_or(Complex::new(1.0, 0.0), |x| x.conj() / x.norm());
    // Rounding gives real ones an imaginary part of either sign, and vectors next to none.
    let across: f64 = vector.iter().map(|x| (x * turn).im.powi(2)).sum();
    let pair = across > 1e-12 * vector.iter().map(|x| x.norm_sqr()).sum::<f64>();
    let second = !W::KIND.is_complex() && pair && value.im < 0.0;
    let part = |x: &Complex<f64>| {
        let x = x * turn;
        if second { W::from_parts(-x.im, 0.0) } else { W::from_parts(x.re, x.im) }
    };
    vector.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_eigenvector_is_real_whatever_rounding_does_to_its_value() {
        let vector = [Complex::new(0.6, 1e-17), Complex::new(-0.8, -1e-17)];
        for im in [1e-18, 0.0, -1e-18] {
            let own = own::<f64>(Complex::new(2.0, im), &vector);
            assert!((own[0].abs() - 0.6).abs() < 1e-12 && (own[1].abs() - 0.8).abs() < 1e-12);
        }
        // Of a pair the second is the other part.
        let pair = [Complex::new(0.0, 0.6), Complex::new(0.8, 0.0)];
        let parts = [1.0, -1.0].map(|im| own::<f64>(Complex::new(2.0, im), &pair));
        assert!(parts[0][0].abs() < 1e-12 && parts[1][1].abs() < 1e-12, "{parts:?}");
    }
}
