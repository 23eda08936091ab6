//! Tensor ring by alternating least squares, with given or growing ranks (Zhao et al. 2016, algorithms 2 and 3).

use super::ring::{along_ring, ring_chain, ring_network, ring_ranks};
use super::tr_svd::ring_template;
use super::{DecomposeError, Decomposition, Goal, Limits};
use crate::dispatch;
use crate::fit::{CheckedFit, FitError, FitSettings, Request, Run, fit};
use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::problem::Target;
use crate::rng::{Rng, stream};
use crate::tensor::{AnyTensor, Scalar, Tensor};
use std::sync::Arc;

/// Rings with this many times the tensor's entries are not tried (as in the authors' program).
pub(super) const MAX_PHI: f64 = 10.0;

/// A grown edge's new entries, relative to the root mean square of those that are there. Much smaller ones leave
/// a ring at a saddle point for so many sweeps that the fit is taken for stalled.
const NEW_ENTRIES: f64 = 0.1;

/// A gain in RSE that counts, as a fraction.
const GAIN: f64 = 1e-3;

/// Tensor ring by TR-ALS. `permutation[n]` is the vertex of mode `n` along the ring.
///
/// With ranks it is the best of several starts of alternating least squares ([`crate::fit`]). With a largest RSE
/// all ranks are 1, then 2, and so on, until it is reached: each ring starts from the one before with its edges
/// padded by small noise, and as often as the settings say from random cores. Where rings of up to ten times the
/// tensor's entries do not reach it, the best one is returned.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, tr_als};
/// use tnsearch::{fit::FitSettings, problem::Target, tensor::Tensor};
/// let entries = (0..3 * 4 * 5).map(|k| (k as f64).sin()).collect();
/// let x = Target::new(Tensor::new(vec![3, 4, 5], entries).unwrap()).unwrap();
/// let fit = FitSettings::default().check().unwrap();
/// let goal = Goal::max_rse(1e-6).unwrap();
/// let ring = tr_als(&x, &[0, 1, 2], &goal, &fit, 0, &Limits::none()).unwrap();
/// assert!(ring.rse <= 1e-6);
/// ```
pub fn tr_als(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    settings: &CheckedFit,
    seed: u64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let mut ring = Ring::new(target, permutation, goal, settings, seed, limits)?;
    let edges = ring.template.edges().len();
    let Some(eps) = goal.rse() else {
        let ranks = goal.ranks_for(edges)?.unwrap_or_default();
        return ring.fit(&along_ring(ranks), None);
    };
    let mut best = ring.fit(&vec![1; edges], None)?;
    for rank in 2.. {
        let ranks = vec![rank; edges];
        if best.rse <= eps || best.interrupted || ring.params(&ranks) >= ring.most() {
            break;
        }
        let grown = ring.padded(&best.network, &ranks);
        let Some(new) = ring.try_fit(&ranks, &grown)? else { break };
        best = Decomposition {
            interrupted: new.interrupted,
            ..if new.rse < best.rse { new } else { best }
        };
    }
    Ok(ring.finish(best))
}

/// Tensor ring by TR-ALSAR: alternating least squares with adaptive ranks. `permutation[n]` is the vertex of
/// mode `n` along the ring; needs a largest RSE eps.
///
/// From a ring of ranks 1 on, each edge in turn is tried with one rank more, starting from the cores so far. The
/// new rank stays if it closes a good part of what is missing,
///
/// `(RE_old - RE_new) / (RE_old - sqrt(eps)) > 1 / N`, `RE = sqrt(RSE)`,
///
/// (Zhao et al. leave the threshold open), or if no edge did so in a whole turn and it was the best of them. It
/// ends when the error is reached, after as many turns without any gain as there are edges, or at ten times the
/// tensor's entries; the ring with the smallest error is returned. Ranks never shrink again, which is why it often
/// ends with too many.
pub fn tr_als_ar(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    settings: &CheckedFit,
    seed: u64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let eps = goal.needs_rse("tr-als-ar")?;
    let once = FitSettings { restarts: 1, ..FitSettings::clone(settings) }.check()?;
    let mut ring = Ring::new(target, permutation, goal, &once, seed, limits)?;
    let edges = ring.template.edges().len();
    let mut ranks = vec![1; edges];
    let mut now = ring.fit(&ranks, None)?;
    let mut best = now.clone();
    let threshold = 1.0 / target.dims().len() as f64;
    // Turns without any gain: a cycle can need several ranks at once, but not more than all.
    let mut idle = 0;
    'turns: while best.rse > eps && !limits.stop.is_set() && idle <= edges {
        let mut accepted = false;
        let mut runner_up: Option<(Decomposition, usize)> = None;
        for edge in 0..edges {
            let mut more = ranks.clone();
            more[edge] += 1;
            if ring.params(&more) >= ring.most() {
                continue;
            }
            let grown = ring.padded(&now.network, &more);
            let Some(trial) = ring.try_fit(&more, &grown)? else { break 'turns };
            let (old, new) = (now.rse.sqrt(), trial.rse.sqrt());
            if trial.rse < (1.0 - GAIN) * best.rse {
                idle = 0;
            }
            if trial.rse < best.rse {
                best = trial.clone();
            }
            if best.rse <= eps || trial.interrupted {
                break 'turns;
            }
            if old - new > threshold * (old - eps.sqrt()) {
                (now, ranks, accepted) = (trial, more, true);
            } else if runner_up.as_ref().is_none_or(|(r, _)| trial.rse < r.rse) {
                runner_up = Some((trial, edge));
            }
        }
        match runner_up {
            _ if accepted => {}
            Some((trial, edge)) => {
                ranks[edge] += 1;
                now = trial;
                idle += 1;
            }
            None => break,
        }
    }
    Ok(ring.finish(best))
}

/// Fits of rings to one tensor.
pub(super) struct Ring<'s> {
    target: &'s Target,
    template: Arc<Template>,
    permutation: &'s [usize],
    settings: CheckedFit,
    seed: u64,
    limits: &'s Limits,
    noise: Rng,
    /// Sweeps of all fits so far.
    pub sweeps: usize,
}

impl<'s> Ring<'s> {
    pub fn new(
        target: &'s Target,
        permutation: &'s [usize],
        goal: &Goal,
        settings: &CheckedFit,
        seed: u64,
        limits: &'s Limits,
    ) -> Result<Self, DecomposeError> {
        let template = ring_template(target, permutation)?;
        let enough_rse = goal.rse().unwrap_or(settings.enough_rse);
        let settings = FitSettings {
            enough_rse,
            // A fit counts the tensor too.
            max_bytes: limits
                .max_bytes
                .map(|bytes| bytes.saturating_add(target.held_bytes()))
                .or(settings.max_bytes),
            ..FitSettings::clone(settings)
        };
        let noise = stream(seed, b"grown ranks");
        let settings = settings.check()?;
        Ok(Ring { target, template, permutation, settings, seed, limits, noise, sweeps: 0 })
    }

    fn structure(&self, along: &[usize]) -> Result<Structure, DecomposeError> {
        let (template, permutation) = (self.template.clone(), self.permutation.to_vec());
        Ok(Structure::new(template, permutation, ring_ranks(along))?)
    }

    fn params(&self, along: &[usize]) -> f64 {
        self.structure(along).map_or(f64::INFINITY, |s| s.params(self.target.full_dims()) as f64)
    }

    /// The parameters at which growth ends.
    fn most(&self) -> f64 {
        MAX_PHI * self.target.entries() as f64
    }

    /// Fits a ring with these ranks along it, the first start from the cores given.
    pub fn fit(
        &mut self,
        along: &[usize],
        warm: Option<&Network>,
    ) -> Result<Decomposition, DecomposeError> {
        let structure = self.structure(along)?;
        let graph = structure.canonical().graph;
        let warm = warm.map(|network| network.to_mode_graph().1);
        let (target, limits) = (self.target, self.limits);
        let request = Request::new(graph, self.settings.clone(), self.seed);
        let request = Request { warm: warm.map(Arc::new), ..request };
        let found = fit(target, &request, &Run::until(&limits.stop))?;
        self.sweeps += found.sweeps;
        let network = Network::from_fitted(structure, target.dims().to_vec(), found.cores)?;
        let (sweeps, interrupted) = (found.sweeps, found.interrupted);
        Ok(Decomposition { network, rse: found.error, sweeps, interrupted })
    }

    /// A fit of a grown ring; none where it was interrupted at once or would take too much memory, so that
    /// what was found before is the answer.
    fn try_fit(
        &mut self,
        along: &[usize],
        warm: &Network,
    ) -> Result<Option<Decomposition>, DecomposeError> {
        match self.fit(along, Some(warm)) {
            Err(
                DecomposeError::Interrupted
                | DecomposeError::Fit(FitError::Memory(_) | FitError::Time),
            ) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The answer, with all sweeps counted.
    fn finish(&self, found: Decomposition) -> Decomposition {
        let interrupted = found.interrupted || self.limits.stop.is_set();
        Decomposition { sweeps: self.sweeps, interrupted, ..found }
    }

    /// The same ring with larger ranks along it, the new entries small noise.
    pub fn padded(&mut self, network: &Network, along: &[usize]) -> Network {
        let old = ring_chain(network);
        dispatch!(&old[0], like => self.padded_chain(&old, like, along))
    }

    /// The same for cores `[left, mode, right]` of the kind of `like`.
    fn padded_chain<T: Scalar>(
        &mut self,
        old: &[AnyTensor],
        _like: &Tensor<T>,
        along: &[usize],
    ) -> Network {
        let n = old.len();
        let old = old.iter().map(|core| core.typed::<T>().expect("all cores are of one kind"));
        let rank = |k: usize| along.get(k % n).copied().unwrap_or(1);
        let mut chain = Vec::with_capacity(n);
        for (k, core) in old.enumerate() {
            let (left, dim, right) = (core.dims()[0], core.dims()[1], core.dims()[2]);
            let rms = core.rms();
            let mut grown = Tensor::<T>::zeros(vec![rank(k + n - 1), dim, rank(k)]);
            let shape = grown.dims().to_vec();
            for (place, entry) in grown.data_mut().iter_mut().enumerate() {
                let (a, i, b) =
                    (place / (dim * shape[2]), place / shape[2] % dim, place % shape[2]);
                *entry = if a < left && b < right {
                    core.at(&[a, i, b])
                } else {
                    T::normal(&mut self.noise).scale(NEW_ENTRIES * rms)
                };
            }
            chain.push(grown);
        }
        ring_network(&self.template, self.permutation, self.target.dims(), 0, chain)
    }
}
