//! A large tensor of many modes with groups of them projected on their leading singular vectors.
//!
//! Let `Q_g` be an orthonormal basis for the modes of a group g, and S a cut with each of some groups on one of its sides. With
//! `Y = (prod_g Q_g Q_g^H) X`, the unfolding of Y has singular values of at most those of X, and applying
//! `A^H A = (QQ^H A)^H (QQ^H A) + E^H E` group by group (on the side where each lies) the k largest squares of X sum to
//! at most those of Y and `||X||^2 - ||Y||^2`. So the small core of Y stands in the place of X, as a sketch does.

use super::ModeSet;
use crate::linalg::{Factor, eigen, gram, matmul};
use crate::problem::Stop;
use crate::tensor::{AnyTensor, AxisPlan, Scalar, Tensor, sum_of_squares};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most entries of a group.
const GROUP: usize = 16;
/// The part of what may still be lost that one group may lose.
const PART: f64 = 0.6;

/// A tensor some of whose axes stand for groups of modes.
#[derive(Clone)]
pub(super) struct Small {
    /// Of 64-bit numbers.
    pub tensor: AnyTensor,
    /// The modes of each axis.
    pub axes: Vec<ModeSet>,
    /// `||X||^2` less the square of its norm.
    pub missed: f64,
}

/// The bases of groups of modes, and the small tensors made with them.
pub(super) struct Compressed {
    /// The modes of each group, and `Q_g^H` (r x entries of the group).
    groups: Vec<(Vec<usize>, AnyTensor)>,
    /// By the groups that are projected.
    made: Mutex<HashMap<u64, Arc<Small>>>,
}

impl Compressed {
    /// Bases for groups of modes that stand side by side in an order, which lose at most `budget` of the square of the
    /// norm together; none where that makes nothing smaller.
    pub fn new<T: Scalar>(
        x: &Tensor<T>,
        order: &[usize],
        budget: f64,
        stop: &Stop,
    ) -> Option<Compressed> {
        let mut small = Folded::new(x);
        let mut groups = Vec::new();
        let mut left = budget;
        for modes in grouped(x.dims(), order) {
            if stop.is_set() {
                return None;
            }
            let (side, unfolded) = small.unfolded(&modes);
            let (values, vectors) = eigen(&gram(&unfolded, side, unfolded.len() / side), side)?;
            // Eigenvalues rise: what the first ones hold is lost without them.
            let mut lost = 0.0;
            let gone = values.iter().take_while(|v| {
                lost += v.max(0.0);
                lost <= PART * left
            });
            let rank = (side - gone.count()).max(1);
            if rank == side {
                continue;
            }
            let rows = (0..rank).flat_map(|k| &vectors[(side - 1 - k) * side..(side - k) * side]);
            let basis: Vec<T::Wide> = rows.map(|v| v.conj()).collect();
            let before = small.energy();
            small.project(&modes, &basis, rank);
            left = (left - (before - small.energy())).max(0.0);
            groups.push((modes, Tensor::new(vec![rank, side], basis).ok()?.into()));
        }
        (!groups.is_empty()).then(|| Compressed { groups, made: Mutex::default() })
    }

    /// The smallest tensor at hand for a cut: every group on one side of it is projected. None where none is.
    pub fn of_cut<T: Scalar>(&self, x: &Tensor<T>, set: ModeSet) -> Option<Arc<Small>> {
        let modes = |k: usize| self.groups[k].0.iter().fold(0, |all: ModeSet, n| all | 1 << n);
        let whole = (0..self.groups.len())
            .filter(|&k| matches!(modes(k) & set, m if m == 0 || m == modes(k)));
        let mask = whole.fold(0u64, |mask, k| mask | 1 << k);
        if mask == 0 {
            return None;
        }
        let known = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(small) = known().get(&mask) {
            return Some(small.clone());
        }
        let mut small = Folded::new(x);
        let all = small.energy();
        for (k, (modes, basis)) in self.groups.iter().enumerate() {
            if mask >> k & 1 == 1 {
                let basis: &Tensor<T::Wide> = basis.typed()?;
                small.project(modes, basis.data(), basis.dims()[0]);
            }
        }
        let missed = (all - small.energy()).max(0.0);
        let Folded { dims, axes, data } = small;
        let tensor = Tensor::new(dims, data).ok()?.into();
        let small = Arc::new(Small { tensor, axes, missed });
        known().insert(mask, small.clone());
        Some(small)
    }
}

/// Modes side by side in an order, as many together as a group may have.
pub(super) fn grouped(dims: &[usize], order: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
    for &n in order {
        let last = groups.len() - 1;
        let size: usize = groups[last].iter().map(|&m| dims[m]).product();
        match groups[last].is_empty() || size * dims[n] <= GROUP {
            true => groups[last].push(n),
            false => groups.push(vec![n]),
        }
    }
    groups.truncate(64);
    groups
}

/// A tensor under projection.
struct Folded<W> {
    dims: Vec<usize>,
    axes: Vec<ModeSet>,
    data: Vec<W>,
}

impl<W: Scalar> Folded<W> {
    fn new<T: Scalar<Wide = W>>(x: &Tensor<T>) -> Self {
        Folded {
            dims: x.dims().to_vec(),
            axes: (0..x.dims().len()).map(|n| 1 << n).collect(),
            data: x.data().iter().map(|x| x.widen()).collect(),
        }
    }

    fn energy(&self) -> f64 {
        sum_of_squares(&self.data)
    }

    /// The axes of these modes first, then the others.
    fn first(&self, modes: &[usize]) -> Vec<usize> {
        let place = |n: &usize| self.axes.iter().position(|&axis| axis == 1 << n);
        let own: Vec<usize> = modes.iter().filter_map(place).collect();
        let others = (0..self.axes.len()).filter(|a| !own.contains(a));
        own.iter().copied().chain(others).collect()
    }

    /// The unfolding of modes that were not projected yet: their entries, and the matrix.
    fn unfolded(&self, modes: &[usize]) -> (usize, Vec<W>) {
        let order = self.first(modes);
        let side = order[..modes.len()].iter().map(|&a| self.dims[a]).product();
        let mut out = vec![W::ZERO; self.data.len()];
        AxisPlan::new(&self.dims, &order).apply(&self.data, &mut out);
        (side, out)
    }

    /// Puts one axis of length `rank` in the place of some modes: the product with `Q^H`.
    fn project(&mut self, modes: &[usize], basis: &[W], rank: usize) {
        let order = self.first(modes);
        let (side, unfolded) = self.unfolded(modes);
        let long = unfolded.len() / side;
        let mut data = vec![W::ZERO; rank * long];
        let (q, a) = (Factor::row_major(basis, side), Factor::row_major(&unfolded, long));
        matmul((rank, long, side), &mut data, q, a);
        let together = modes.iter().fold(0, |all, n| all | 1 << n);
        let others = &order[modes.len()..];
        self.dims = [rank].into_iter().chain(others.iter().map(|&a| self.dims[a])).collect();
        self.axes = [together].into_iter().chain(others.iter().map(|&a| self.axes[a])).collect();
        self.data = data;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::singular_values;
    use crate::rng::stream;
    use crate::tensor::Complex;

    /// The squares of the singular values of a cut of a tensor whose axes stand for these modes.
    fn squares<T: Scalar>(x: &Tensor<T>, axes: &[ModeSet], set: ModeSet) -> Vec<f64> {
        let (rows, columns): (Vec<usize>, Vec<usize>) =
            (0..axes.len()).partition(|&a| axes[a] & set != 0);
        let m: usize = rows.iter().map(|&a| x.dims()[a]).product();
        let order: Vec<usize> = rows.into_iter().chain(columns).collect();
        let mut out = vec![T::ZERO; x.len()];
        AxisPlan::new(x.dims(), &order).apply(x.data(), &mut out);
        let values = singular_values(&out, m, x.len() / m).unwrap();
        values.into_iter().map(|s| s * s).collect()
    }

    #[test]
    fn groups_are_as_large_as_they_may_be() {
        let order = [8, 0, 1, 2, 3, 4, 5, 6, 7];
        let groups = grouped(&[2; 9], &order);
        assert_eq!(groups, [vec![8, 0, 1, 2], vec![3, 4, 5, 6], vec![7]]);
        // 3 * 5 = 15 fits, with 2 more it does not; a mode longer than a group stands alone.
        let dims = [20, 3, 5, 2, 40, 4, 4, 1, 1];
        let groups = grouped(&dims, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(groups, [vec![0], vec![1, 2], vec![3], vec![4], vec![5, 6, 7, 8]]);
    }

    fn encloses<T: Scalar<Wide = T>>() {
        let dims = [2, 3, 2, 2, 2, 3, 2];
        let order = [4, 0, 6, 2, 1, 5, 3];
        let mut rng = stream(3, b"compressed");
        let entries: usize = dims.iter().product();
        let smooth = |k: usize| T::from_parts((k as f64 / 50.0).sin(), (k as f64 / 80.0).cos());
        let noise = |rng: &mut crate::rng::Rng| T::normal(rng).scale(0.02);
        let data = (0..entries).map(|k| smooth(k) + noise(&mut rng)).collect();
        let x = Tensor::<T>::new(dims.to_vec(), data).unwrap();
        let all = sum_of_squares(x.data());
        let compressed = Compressed::new(&x, &order, 0.02 * all, &Stop::new()).unwrap();
        let modes: Vec<ModeSet> = (0..7).map(|n| 1 << n).collect();
        let mut smaller = 0;
        for set in 1..(1u64 << 7) - 1 {
            let Some(small) = compressed.of_cut(&x, set) else { continue };
            let tensor: &Tensor<T> = small.tensor.typed().unwrap();
            smaller += usize::from(tensor.len() < x.len());
            assert!(small.missed <= 0.02 * all && small.missed > 0.0);
            let (whole, part) = (squares(&x, &modes, set), squares(tensor, &small.axes, set));
            for k in 1..=part.len() {
                let (a, b): (f64, f64) = (whole[..k].iter().sum(), part[..k].iter().sum());
                assert!(b <= a + 1e-12 * all && a <= b + small.missed + 1e-12 * all, "{set:b} {k}");
            }
        }
        assert!(smaller > 20, "{smaller}");
    }

    #[test]
    fn projected_tensors_enclose_the_spectra() {
        encloses::<f64>();
        encloses::<Complex<f64>>();
    }
}
