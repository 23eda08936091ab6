//! A tensor brought to the leading singular vectors of its modes before it is taken apart, so that many passes over it
//! are cheap.

use super::goal::Budget;
use super::spend::FINE;
use super::truncate::{Basis, Keep, left_basis, project};
use super::{DecomposeError, Decomposition, Limits, multiply};
use crate::dispatch;
use crate::linalg::{Factor, matmul};
use crate::network::Network;
use crate::problem::Target;
use crate::tensor::{AnyTensor, Scalar, Tensor};

/// Modes shorter than this are left as they are.
const SHORT: usize = 6;

/// Decomposes a tensor by way of a smaller one, where there is one: `method` gets a tensor with the dimensions that
/// parameters are counted with, and the error that is left for it.
pub(super) fn compressed(
    target: &Target,
    eps: f64,
    limits: &Limits,
    method: impl FnOnce((&Target, &[usize]), f64) -> Result<Decomposition, DecomposeError>,
) -> Result<Decomposition, DecomposeError> {
    if target.shrunk().is_some() {
        return method((target, target.full_dims()), target.net(eps));
    }
    let budget = Budget::new(eps, target.norm_squared(), 1, target.kind());
    let fine = FINE / 2.0 * budget.left() / target.norm_squared();
    let Some(small) = Compressed::new(target, fine, limits)? else {
        return method((target, target.dims()), eps);
    };
    // What is left of the error, relative to the smaller norm.
    let norms = target.norm_squared() / small.core.norm_squared();
    let found = method((&small.core, target.dims()), (eps - small.lost).max(0.0) * norms)?;
    small.expand(target, found, limits)
}

/// The core of a tensor that loses at most `part` of `||X||^2` with its modes shortened; none where no mode gets shorter.
pub(crate) fn smaller(
    target: &Target,
    part: f64,
    limits: &Limits,
) -> Result<Option<Target>, DecomposeError> {
    Ok(Compressed::new(target, part, limits)?.map(|small| small.core))
}

/// `X ~ core x_1 U_1 x_2 U_2 ...`, the bases orthonormal.
struct Compressed {
    /// The core.
    core: Target,
    /// The part of `||X||^2` that is lost.
    lost: f64,
    /// I_n x s_n, row-major, for modes that got shorter.
    bases: Vec<Option<AnyTensor>>,
}

impl Compressed {
    /// Loses at most `part` of `||X||^2`; none where no mode gets shorter.
    fn new(target: &Target, part: f64, limits: &Limits) -> Result<Option<Self>, DecomposeError> {
        dispatch!(target.tensor(), x => compress(target, x, part, limits))
    }

    /// A decomposition of the core as one of the tensor.
    fn expand(
        &self,
        target: &Target,
        found: Decomposition,
        limits: &Limits,
    ) -> Result<Decomposition, DecomposeError> {
        let network = dispatch!(target.tensor(), x => self.expanded(target, x, &found.network))?;
        let z = network.to_tensor(limits.max_bytes)?;
        let rse = target.rse_of(&z);
        Ok(Decomposition { network, rse, ..found })
    }

    fn expanded<T: Scalar>(
        &self,
        target: &Target,
        _like: &Tensor<T>,
        small: &Network,
    ) -> Result<Network, DecomposeError> {
        let structure = small.structure().clone();
        let typed = small.cores().iter().filter_map(AnyTensor::typed::<T>);
        let mut cores: Vec<Tensor<T>> = typed.cloned().collect();
        for (mode, basis) in self.bases.iter().enumerate() {
            let Some(basis) = basis.as_ref().and_then(AnyTensor::typed) else { continue };
            let vertex = structure.permutation()[mode];
            let at = structure.modes_at(vertex);
            // The modes of a vertex are the last axes of its core.
            let behind = at.iter().filter(|&&other| other > mode).count();
            cores[vertex] = lengthen(&cores[vertex], behind, basis);
        }
        multiply(&mut cores, target.scale());
        Ok(Network::new(structure, target.dims().to_vec(), cores)?)
    }
}

fn compress<T: Scalar>(
    target: &Target,
    x: &Tensor<T>,
    part: f64,
    limits: &Limits,
) -> Result<Option<Compressed>, DecomposeError> {
    let order = x.dims().len();
    let mut modes: Vec<usize> = (0..order).filter(|&n| x.dims()[n] >= SHORT).collect();
    modes.sort_by_key(|&n| x.dims()[n]);
    let mut left = part * target.norm_squared();
    let mut bases: Vec<Option<AnyTensor>> = vec![None; order];
    let mut lost = 0.0;
    let mut rest: Option<Tensor<T>> = None;
    for (k, &n) in modes.iter().enumerate() {
        limits.check_stop()?;
        let now = rest.as_ref().unwrap_or(x);
        let (rows, columns) = (now.dims()[n], now.len() / now.dims()[n]);
        if rows > columns {
            continue;
        }
        limits.check_entries::<T>(3.0 * now.len() as f64)?;
        let first: Vec<usize> = [n].into_iter().chain((0..order).filter(|&m| m != n)).collect();
        let matrix = now.permuted(&first);
        let share = Keep::Within(left / (modes.len() - k) as f64);
        let basis = left_basis(matrix.data(), (rows, columns), share, limits)?;
        if basis.rank == rows {
            continue;
        }
        let short = project(&basis, matrix.data(), (rows, columns));
        let mut dims = matrix.dims().to_vec();
        dims[0] = basis.rank;
        let mut back: Vec<usize> = (1..=n).collect();
        back.push(0);
        back.extend(n + 1..order);
        rest = Some(Tensor::new(dims, short)?.permuted(&back));
        left = (left - basis.lost).max(0.0);
        lost += basis.lost;
        let Basis { u, rank, .. } = basis;
        bases[n] = Some(Tensor::new(vec![rows, rank], u)?.into());
    }
    let Some(core) = rest else { return Ok(None) };
    let lost = lost / target.norm_squared();
    Ok(Some(Compressed { core: Target::new(core)?, lost, bases }))
}

/// A core whose axis of a mode, so many before the last, gets its full length: `core U^T`.
fn lengthen<T: Scalar>(core: &Tensor<T>, behind: usize, basis: &Tensor<T>) -> Tensor<T> {
    let order = core.dims().len();
    let axis = order - 1 - behind;
    let mut last: Vec<usize> = (0..order).filter(|&a| a != axis).collect();
    last.push(axis);
    if behind > 0 {
        let mut back: Vec<usize> = (0..axis).collect();
        back.push(order - 1);
        back.extend(axis..order - 1);
        return lengthen(&core.permuted(&last), 0, basis).permuted(&back);
    }
    let (long, short) = (basis.dims()[0], basis.dims()[1]);
    let rows = core.len() / short;
    let mut out = vec![T::ZERO; rows * long];
    let u = Factor::row_major(basis.data(), short).transposed();
    matmul((rows, long, short), &mut out, Factor::row_major(core.data(), short), u);
    let mut dims = core.dims().to_vec();
    dims.pop();
    dims.push(long);
    Tensor::new(dims, out).unwrap_or_else(|e| unreachable!("{e}"))
}
