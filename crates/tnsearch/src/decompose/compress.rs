//! A tensor is made smaller before it is taken apart, so that many passes over it are cheap.

use super::{DecomposeError, Decomposition, Limits};
use crate::problem::{Objective, ShrinkLimits, Target};

/// Decomposes a tensor by way of a smaller one ([`Target::shrink`]), where that pays: `method` gets a tensor with the
/// dimensions that parameters are counted with, and the error that is left for it.
pub(super) fn compressed(
    target: &Target,
    eps: f64,
    limits: &Limits,
    method: impl FnOnce((&Target, &[usize]), f64) -> Result<Decomposition, DecomposeError>,
) -> Result<Decomposition, DecomposeError> {
    let of = |target: &Target| method((target, target.full_dims()), target.net(eps));
    let Some(small) = target.shrink(Objective::MaxError(eps), &shrink_limits(limits)) else {
        return of(target);
    };
    let found = of(&small)?;
    let network = found.network.expanded(&small)?;
    let rse = target.rse_of_network(&network, limits.max_bytes)?;
    Ok(Decomposition { network, rse, ..found })
}

/// What shrinking may use: one thread, as decompositions do.
pub(crate) fn shrink_limits(limits: &Limits) -> ShrinkLimits {
    ShrinkLimits { max_bytes: limits.max_bytes, threads: Some(1), stop: limits.stop.clone() }
}
