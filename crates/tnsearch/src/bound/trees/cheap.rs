//! A bound for tensors of too many modes: that of a part of them.
//!
//! Let u be a unit vector. `||X u - Z u|| <= ||X - Z||` where both are contracted with it along a mode, and `Z u`
//! has a tree with fewer parameters: at the vertex of that mode the core is `I_n` times smaller, so at least
//! `I_n - 1` entries are gone. So the bound for `X u` (with the error measured against X) and those entries bounds X.
//! The modes that carry least are contracted, each with its leading singular vector.

use super::super::{ModeSet, Spectra, SpectraSettings};
use super::least::least;
use crate::dispatch;
use crate::linalg::eigen;
use crate::problem::{Stop, Target};
use crate::tensor::{AnyTensor, Complex, Scalar, Tensor, sum_of_squares};

/// The modes that are left.
pub(crate) const LEFT: usize = 12;

/// How far rounding takes a contraction, whoever computes it, from the true one: relative to `||X||`, twice.
const ROUNDING: f64 = 2e-12;

/// A tensor with some modes contracted.
pub(crate) struct Contracted {
    spectra: Spectra,
    dims: Vec<usize>,
    /// The modes that are left.
    pub left: Vec<usize>,
    /// The others in the order in which they were contracted, each with its vector, as long as the tensor searched is there.
    pub vectors: Vec<(usize, Vec<Complex<f64>>)>,
    /// The entries that contracting took at least.
    gone: u128,
    /// An error of X in units of that of the contracted tensor.
    scale: f64,
}

/// What a cut of the contracted tensor says about X.
pub(crate) struct PartCut {
    /// The rank of the unfolding of whatever is near enough, at least.
    pub width: usize,
    /// The tail beyond one less, relative to `||X||^2`, and what of it may be rounding.
    pub tail: f64,
    pub slack: f64,
}

impl Contracted {
    /// Contracts all but so many modes, those that carry most; none if it was told to stop.
    pub fn new(spectra: &Spectra, dims: &[usize], count: usize, stop: &Stop) -> Option<Contracted> {
        let target = spectra.target();
        let (small, left, vectors) = dispatch!(target.tensor(), x => contract(x, count, stop)?);
        let norm_squared = small.norm_squared();
        let gone = (0..dims.len()).filter(|n| !left.contains(n)).map(|n| dims[n] as u128 - 1);
        let gone = gone.sum();
        let small = Target::new(small).ok()?;
        let scale = target.norm_squared() / norm_squared;
        let spectra = Spectra::new(&small, SpectraSettings::default()).stoppable(stop);
        let dims = left.iter().map(|&n| dims[n]).collect();
        Some(Contracted { spectra, dims, left, vectors, gone, scale })
    }

    /// What the cut between these of the modes left (by their places among them) and the others says of what has an RSE
    /// below `eps`, or of that; none where it says nothing.
    pub fn cut(&self, set: ModeSet, eps: f64) -> Option<PartCut> {
        let spectrum = self.spectra.of(set)?;
        let at = |width: usize| {
            let tail = spectrum.tail(width - 1) / self.scale;
            let certain = spectrum.bound(width - 1) / self.scale - ROUNDING * tail.sqrt();
            PartCut { width, tail, slack: tail - certain }
        };
        let most = spectrum.rank(eps * self.scale);
        (2..=most).rev().map(at).find(|cut| cut.tail - cut.slack > eps)
    }

    /// No tree of X with an RSE of at most `eps` has fewer parameters.
    pub fn params(&self, eps: f64, stop: &Stop) -> u128 {
        let rank = |set| self.cut(set, eps).map_or(1, |cut| cut.width);
        let fronts = least(&self.dims, &rank, None, stop);
        let least = fronts.and_then(|f| f.best()).map_or(0, |(value, _)| value.round() as u128);
        least + self.gone
    }
}

/// A tensor with modes contracted, the modes left, and those that are not with their vectors.
type Contraction = (AnyTensor, Vec<usize>, Vec<(usize, Vec<Complex<f64>>)>);

/// Contracts modes with their leading singular vectors until so many are left.
fn contract<T: Scalar>(x: &Tensor<T>, count: usize, stop: &Stop) -> Option<Contraction> {
    let data: Vec<T::Wide> = x.data().iter().map(|x| x.widen()).collect();
    let mut small = Tensor::new(x.dims().to_vec(), data).ok()?;
    let mut left: Vec<usize> = (0..x.dims().len()).collect();
    // Those whose leading vector holds most go first.
    let mut lost: Vec<(f64, usize)> = Vec::new();
    for n in 0..left.len() {
        if stop.is_set() {
            return None;
        }
        let all = sum_of_squares(small.data());
        lost.push((all - leading(&small, n)?.0, n));
    }
    lost.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut vectors = Vec::new();
    for (_, mode) in lost.into_iter().take(left.len().saturating_sub(count)) {
        let axis = left.iter().position(|&n| n == mode)?;
        let (_, u) = leading(&small, axis)?;
        small = along(&small, axis, &u)?;
        left.remove(axis);
        vectors.push((mode, u.iter().map(|x| Complex::new(x.re(), x.im())).collect()));
    }
    Some((small.into(), left, vectors))
}

/// The square of the leading singular value of a mode's unfolding, and its left vector.
fn leading<T: Scalar>(x: &Tensor<T>, axis: usize) -> Option<(f64, Vec<T>)> {
    let d = x.dims()[axis];
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let mut gram = vec![T::ZERO; d * d];
    for slab in x.data().chunks_exact(d * inner) {
        for a in 0..d {
            for b in 0..=a {
                let rows = slab[a * inner..(a + 1) * inner].iter().zip(&slab[b * inner..]);
                // Column-major: entry (a, b) of A A^H, of which the lower triangle is read.
                gram[b * d + a] += rows.map(|(x, y)| *x * y.conj()).sum::<T>();
            }
        }
    }
    let (values, vectors) = eigen(&gram, d)?;
    Some((*values.last()?, vectors[(d - 1) * d..].to_vec()))
}

/// The tensor contracted with the conjugate of a vector along an axis.
fn along<T: Scalar>(x: &Tensor<T>, axis: usize, u: &[T]) -> Option<Tensor<T>> {
    let d = x.dims()[axis];
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let mut data = Vec::with_capacity(x.len() / d);
    for slab in x.data().chunks_exact(d * inner) {
        let entry = |i: usize| (0..d).map(|a| u[a].conj() * slab[a * inner + i]).sum::<T>();
        data.extend((0..inner).map(entry));
    }
    let mut dims = x.dims().to_vec();
    dims.remove(axis);
    Tensor::new(dims, data).ok()
}

#[cfg(test)]
mod tests {
    use super::super::TreeBound;
    use super::super::brute;
    use super::*;
    use crate::linalg::singular_values;
    use crate::rng::stream;
    use crate::tensor::{Complex, unflatten};

    /// The largest squared singular value of an axis, by its definition, and what is left along its vector.
    fn leads<T: Scalar<Wide = T>>() {
        let dims = [3, 2, 4];
        let mut rng = stream(2, b"leading");
        let data: Vec<T> = (0..24).map(|_| T::normal(&mut rng)).collect();
        let x = Tensor::new(dims.to_vec(), data.clone()).unwrap();
        for (axis, &d) in dims.iter().enumerate() {
            let mut unfolding = vec![T::ZERO; 24];
            for (flat, &entry) in data.iter().enumerate() {
                let at = unflatten(flat, &dims);
                let others = (0..3).filter(|&n| n != axis);
                let column = others.fold(0, |k, n| k * dims[n] + at[n]);
                unfolding[at[axis] * (24 / d) + column] = entry;
            }
            let want = singular_values(&unfolding, d, 24 / d).unwrap()[0].powi(2);
            let (value, u) = leading(&x, axis).unwrap();
            assert!((value - want).abs() < 1e-12 * want, "{axis}: {value} {want}");
            assert!((sum_of_squares(&u) - 1.0).abs() < 1e-12);
            let small = along(&x, axis, &u).unwrap();
            assert_eq!(small.len(), 24 / d);
            let norm = sum_of_squares(small.data());
            assert!((norm - want).abs() < 1e-12 * want, "{axis}: {norm} {want}");
            // Row by row of the unfolding.
            for (k, found) in small.data().iter().enumerate() {
                let sum: T = (0..d).map(|a| u[a].conj() * unfolding[a * (24 / d) + k]).sum();
                assert!(sum_of_squares(&[sum - *found]) < 1e-24);
            }
        }
    }

    #[test]
    fn modes_are_contracted_with_their_leading_vectors() {
        leads::<f64>();
        leads::<Complex<f64>>();
    }

    #[test]
    fn the_modes_that_carry_least_go_first() {
        // Mode 1 holds one vector only, mode 2 nearly so.
        let mut x = Tensor::<f64>::zeros(vec![3, 2, 3]);
        for (a, c, value) in [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 1.0), (0, 1, 0.3), (1, 2, 0.2)] {
            for b in 0..2 {
                x.data_mut()[(a * 2 + b) * 3 + c] = value;
            }
        }
        // And mode 0 is even.
        x.data_mut()[6] = 1.4;
        let left = |count| contract(&x, count, &Stop::new()).unwrap().1;
        assert_eq!((left(3), left(2)), (vec![0, 1, 2], vec![0, 2]));
        let stop = Stop::new();
        stop.set();
        assert!(contract(&x, 2, &stop).is_none());
    }

    #[test]
    fn the_error_is_measured_against_the_whole_tensor() {
        let mut differ = 0;
        for seed in 0..2 {
            let target = brute::noisy(&[2; 13], seed, 1.0);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let stop = Stop::new();
            let weak = Contracted::new(&spectra, target.dims(), LEFT, &stop).unwrap();
            let (small, kept, _) = contract(target.tensor().as_f64().unwrap(), 12, &stop).unwrap();
            assert_eq!((kept.len(), weak.gone, &weak.dims), (12, 1, &vec![2; 12]));
            let lost = target.norm_squared() / small.norm_squared();
            assert!(lost > 1.01, "{lost}");
            let small = Target::new(small).unwrap();
            let own = Spectra::new(&small, SpectraSettings::default());
            let own = TreeBound::new(&own, &stop);
            for eps in [0.02, 0.1, 0.2, 0.3, 0.4] {
                let bound = own.params(eps * lost);
                assert_eq!(weak.params(eps, &stop), bound + 1, "{seed} {eps}");
                differ += usize::from(own.params(eps / lost) != bound);
            }
        }
        assert!(differ > 0, "it makes no difference");
    }

    #[test]
    fn contracting_only_weakens_the_bound() {
        for seed in 0..6 {
            let target = brute::noisy(&[3, 2, 3, 2, 4], seed, 0.1);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let stop = Stop::new();
            let whole = TreeBound::new(&spectra, &stop);
            for left in [2, 3, 4, 5] {
                let weak = Contracted::new(&spectra, target.dims(), left, &stop).unwrap();
                assert_eq!((weak.left.len(), weak.vectors.len()), (left, 5 - left));
                assert!(weak.scale >= 1.0 - 1e-12);
                let gone = weak.vectors.iter().map(|(n, _)| target.dims()[*n] as u128 - 1);
                assert_eq!(weak.gone, gone.sum::<u128>());
                for eps in [1e-6, 1e-3, 1e-2, 0.1, 0.5] {
                    let (weak, whole) = (weak.params(eps, &stop), whole.params(eps));
                    assert!(weak <= whole, "{left} {eps}: {weak} {whole}");
                    assert!(left < 5 || weak == whole);
                }
            }
        }
    }
    /// A tail that is above the error by no more than what rounding may do says nothing.
    #[test]
    fn what_may_be_rounding_needs_no_rank() {
        let target = brute::noisy(&[3, 2, 3, 2, 4], 1, 0.2);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let stop = Stop::new();
        let part = Contracted::new(&spectra, target.dims(), 4, &stop).unwrap();
        for (set, width) in [(0b0110, 3), (0b0110, 4), (0b1010, 3), (0b0010, 2)] {
            let tail = part.cut(set, 1e-9).unwrap();
            assert!(tail.width >= width, "{}", tail.width);
            let tail = part.spectra.of(set).unwrap().tail(width - 1) / part.scale;
            let at = |eps: f64| part.cut(set, eps).map_or(1, |cut| cut.width);
            // More than the spectrum itself allows for, and less than a contraction may be off.
            assert_eq!(at(tail - 1.2e-12 * tail.sqrt()), width - 1, "{set:b} {width}");
            assert_eq!(at(tail - 5e-12 * tail.sqrt()), width, "{set:b} {width}");
        }
    }

    /// What a cut of the contracted tensor says: the largest rank whose tail, less rounding, is above the error.
    #[test]
    fn a_cut_of_a_part_needs_the_rank_whose_tail_is_too_large() {
        for seed in 0..4 {
            let target = brute::noisy(&[3, 2, 3, 2, 4], seed, 0.2);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let stop = Stop::new();
            let part = Contracted::new(&spectra, target.dims(), 4, &stop).unwrap();
            let (small, ..) = contract(target.tensor().as_f64().unwrap(), 4, &stop).unwrap();
            let (all, own) = (target.norm_squared(), small.norm_squared());
            let small = Spectra::new(&Target::new(small).unwrap(), SpectraSettings::default());
            for set in 1..8u64 {
                let spectrum = small.of(set << 1).unwrap();
                for eps in [1e-6, 1e-3, 1e-2, 0.05, 0.2, 0.9] {
                    // Tails against the whole tensor, by the definition.
                    let tail = |k: usize| spectrum.tail(k) * own / all;
                    let ranks = 1..=spectrum.values().len();
                    let want = ranks.rev().find(|&r| r > 1 && tail(r - 1) > eps + 1e-9);
                    let found = part.cut(set << 1, eps);
                    assert_eq!(found.as_ref().map(|cut| cut.width), want, "{seed} {set} {eps}");
                    if let Some(cut) = found {
                        assert!((cut.tail - tail(cut.width - 1)).abs() < 1e-14);
                        assert!(cut.slack > 0.0 && cut.slack < 1e-11, "{}", cut.slack);
                        assert!(cut.slack >= ROUNDING * cut.tail.sqrt());
                    }
                }
            }
        }
    }
}
