//! CP by alternating least squares: sums of products of vectors.

use super::error::check_whole;
use super::terms::Fewest;
use super::{DecomposeError, Decomposition, Goal, Limits};
use crate::bound::{BoundLimits, CutBound, Spectra, needs_svd};
use crate::fit::{CheckedFit, FitError, FitSettings, Request, Run, fit};
use crate::graph::{ModeGraph, Structure, Template, most_terms};
use crate::network::Network;
use crate::problem::{Objective, ShrinkLimits, Target};
use crate::tensor::size;
use std::sync::Arc;

/// A sum of R products of vectors, `Z[i, j, ...] = sum over r of A[r, i] B[r, j] ...`, by alternating least squares
/// and, where they are cheap, steps of all vectors at once ([`crate::fit`]): the best of several starts, the first from
/// eigenvectors of slices and the products nearest to what is left, the second from fewer terms, the others at random. `permutation[n]` is the vertex of mode `n`, which changes no tensor.
///
/// With a largest RSE, R begins at the largest rank of an unfolding at that error, which R cannot be below, and grows by an
/// eighth (at least 1) until it is reached, then falls again between the last two. Where it is not reached with as many
/// parameters as the tensor has entries, the best is returned.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, cp_als};
/// use tnsearch::{fit::FitSettings, problem::Target, tensor::Tensor};
/// // x_ijk = i + j + k is a limit of sums of two products, and a sum of three.
/// let entries = (0..64).map(|n| (n / 16 + n / 4 % 4 + n % 4) as f64).collect();
/// let x = Target::new(Tensor::new(vec![4; 3], entries).unwrap()).unwrap();
/// let fit = FitSettings::default().check().unwrap();
/// let goal = Goal::max_rse(1e-12).unwrap();
/// let cp = cp_als(&x, &[0, 1, 2], &goal, &fit, 0, &Limits::none()).unwrap();
/// assert!(cp.rse <= 1e-12 && cp.ranks() == [3; 3]);
/// ```
pub fn cp_als(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    settings: &CheckedFit,
    seed: u64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    check_whole(target, "cp-als")?;
    let order = target.dims().len();
    let template = Arc::new(Template::cp(order)?);
    // What the permutation may be is checked before anything is computed.
    Structure::new(template.clone(), permutation.to_vec(), vec![1; order])?;
    let Some(eps) = goal.rse() else {
        let ranks = goal.ranks_for(order)?.unwrap_or_default().to_vec();
        let structure = Structure::new(template, permutation.to_vec(), ranks)?;
        let cp = Cp {
            target,
            template: structure.template().clone(),
            permutation,
            settings,
            seed,
            limits,
        };
        return cp.fit(structure.ranks()[0], None);
    };
    let shrinking = ShrinkLimits {
        max_bytes: limits.max_bytes,
        stop: limits.stop.clone(),
        ..ShrinkLimits::default()
    };
    let small = (eps > 0.0).then(|| target.shrink(Objective::MaxError(eps), &shrinking)).flatten();
    let at_hand = small.as_ref().unwrap_or(target);
    let cp = Cp { target: at_hand, template, permutation, settings, seed, limits };
    let found = cp.fewest(eps)?;
    match small {
        None => Ok(found),
        Some(small) => {
            let network = found.network.expanded(&small)?;
            let rse = target.rse_of_network(&network, limits.max_bytes).unwrap_or(found.rse);
            Ok(Decomposition { network, rse, ..found })
        }
    }
}

/// Fits of one tensor.
struct Cp<'c> {
    target: &'c Target,
    template: Arc<Template>,
    permutation: &'c [usize],
    settings: &'c CheckedFit,
    seed: u64,
    limits: &'c Limits,
}

impl Cp<'_> {
    /// So many terms; `eps`: the error that is enough.
    fn fit(&self, terms: usize, eps: Option<f64>) -> Result<Decomposition, DecomposeError> {
        let (target, limits) = (self.target, self.limits);
        let structure = Structure::new(
            self.template.clone(),
            self.permutation.to_vec(),
            vec![terms; target.dims().len()],
        )?;
        let held = |bytes: u64| bytes.saturating_add(target.held_bytes());
        let settings = FitSettings {
            enough_rse: eps.unwrap_or(self.settings.enough_rse),
            max_bytes: limits.max_bytes.map(held).or(self.settings.max_bytes),
            ..FitSettings::clone(self.settings)
        };
        let request = Request::new(structure.canonical().graph, settings.check()?, self.seed);
        let found = fit(target, &request, &Run::until(&limits.stop))?;
        let network = Network::from_fitted(structure, target.dims().to_vec(), found.cores)?;
        let (sweeps, interrupted) = (found.sweeps, found.interrupted);
        Ok(Decomposition { network, rse: found.error, sweeps, interrupted })
    }

    /// The fewest terms found that reach an error.
    fn fewest(&self, eps: f64) -> Result<Decomposition, DecomposeError> {
        let dims = self.target.full_dims();
        let sum: usize = dims.iter().sum();
        let whole = usize::try_from(size(dims) / sum as u128).unwrap_or(usize::MAX);
        let most = most_terms(self.target.dims()).min(whole).max(1);
        let low = self.lowest(eps, most);
        let mut fewest = Fewest::new(low, most);
        let mut sweeps = 0;
        let mut best: Option<Decomposition> = None;
        while let Some(terms) = fewest.next(None) {
            let made = match self.fit(terms, Some(eps)) {
                Err(
                    DecomposeError::Interrupted
                    | DecomposeError::Fit(
                        FitError::Memory(_) | FitError::Time | FitError::Interrupted,
                    ),
                ) if best.is_some() => break,
                made => made?,
            };
            sweeps += made.sweeps;
            let (reached, interrupted) = (made.rse <= eps, made.interrupted);
            if best.as_ref().is_none_or(|b| reached || b.rse > eps && made.rse < b.rse) {
                best = Some(made);
            }
            fewest.tell(terms, reached);
            if interrupted || self.limits.stop.is_set() {
                break;
            }
        }
        let found = best.ok_or(DecomposeError::Interrupted)?;
        let interrupted = found.interrupted || self.limits.stop.is_set();
        Ok(Decomposition { sweeps, interrupted, ..found })
    }

    /// The largest rank of an unfolding at an error: fewer terms do not reach it.
    fn lowest(&self, eps: f64, most: usize) -> usize {
        let objective = Objective::MaxError(eps);
        let within = BoundLimits { max_bytes: self.limits.max_bytes, ..BoundLimits::default() };
        let Ok(spectra) = Spectra::within(self.target, needs_svd(objective), &within) else {
            return 1;
        };
        if !spectra.affordable() {
            return 1;
        }
        let bound = CutBound::new(spectra.stoppable(&self.limits.stop));
        let order = self.target.dims().len();
        let reaches = |terms: usize| bound.rse(&ModeGraph::cp(order, terms), eps.next_up()) <= eps;
        let (mut few, mut many) = (0, most);
        while many - few > 1 {
            let middle = few.midpoint(many);
            *(if reaches(middle) { &mut many } else { &mut few }) = middle;
        }
        many
    }
}
