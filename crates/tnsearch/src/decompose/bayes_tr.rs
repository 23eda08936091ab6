//! Bayesian tensor ring with automatic ranks (Tao & Zhao 2020, for fully observed tensors).

use super::error::check_whole;
use super::ring::{along_ring, ring_network};
use super::tr_als::Ring;
use super::tr_svd::ring_template;
use super::variational::Posterior;
use super::{DecomposeError, Decomposition, Goal, Limits};
use crate::SettingError;
use crate::error::count;
use crate::fit::{CheckedFit, FitSettings};
use crate::problem::Target;
use crate::tensor::Kind;
use std::ops::Deref;

/// How much quieter than the error asked for the noise is assumed to be, in turn, until the error is reached.
const QUIETER: [f64; 4] = [1.0, 0.1, 0.01, 0.001];

/// The settings of [`bayes_tr`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BayesSettings {
    /// The rank of every edge at the start; ranks only shrink. The paper's searches go up to 7.
    pub max_rank: usize,
    /// Sweeps over the cores for each noise level, at most.
    pub max_sweeps: usize,
}

impl Default for BayesSettings {
    fn default() -> Self {
        BayesSettings { max_rank: 7, max_sweeps: 300 }
    }
}

impl BayesSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedBayes, SettingError> {
        count("max-rank", self.max_rank)?;
        count("max-sweeps", self.max_sweeps)?;
        Ok(CheckedBayes(self))
    }
}

/// Settings that were checked; reads like [`BayesSettings`].
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedBayes(BayesSettings);

impl Deref for CheckedBayes {
    type Target = BayesSettings;

    fn deref(&self) -> &BayesSettings {
        &self.0
    }
}

/// Tensor ring by Bayes-TR: variational inference that switches off the ranks it does not need.
/// `permutation[n]` is the vertex of mode `n` along the ring; needs a largest RSE eps.
///
/// The model is `X = Z + noise`. Entry (a, i, b) of core k is normal with precision `lambda_k(a) lambda_{k+1}(b)`,
/// and the lambdas have flat Gamma priors: that of an index that carries nothing grows without bound and the index
/// is dropped. The posterior is approximated by independent factors, updated in turn (every core is normal with one
/// covariance for all i, since every entry is observed).
///
/// The error enters as the noise, which is taken as known: `E ||noise||^2 = eps ||X||^2` (Tao & Zhao learn it; on
/// small exact rings that can end in the zero ring). The cores at the end are improved by ALS at the ranks found; where
/// they miss eps, it starts again with the noise a tenth as loud, down to a thousandth, and then returns the best
/// ring found. Real tensors only; those of 32-bit numbers are inferred with 64.
pub fn bayes_tr(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    settings: &CheckedBayes,
    polish: &CheckedFit,
    seed: u64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let eps = goal.needs_rse("bayes-tr")?;
    if target.kind().is_complex() {
        let expected =
            format!("its model is of real numbers, and these are {}; use tr-als", target.kind());
        return Err(SettingError::new("method", "bayes-tr", expected).into());
    }
    check_whole(target, "BayesTR")?;
    let template = ring_template(target, permutation)?;
    let once = FitSettings { restarts: 1, ..FitSettings::clone(polish) }.check()?;
    let mut ring = Ring::new(target, permutation, goal, &once, seed, limits)?;
    let mut best: Option<Decomposition> = None;
    let mut sweeps = 0;
    for quieter in QUIETER {
        let mut posterior =
            Posterior::new(target, permutation, settings.max_rank, eps * quieter, seed, limits)?;
        sweeps += posterior.infer(settings.max_sweeps, limits);
        let network = match target.kind() {
            Kind::F32 => {
                let means = posterior.into_means::<f32>();
                ring_network(&template, permutation, target.dims(), 0, means)
            }
            _ => {
                let means = posterior.into_means::<f64>();
                ring_network(&template, permutation, target.dims(), 0, means)
            }
        };
        let along = along_ring(network.structure().ranks());
        let found = match ring.fit(&along, Some(&network)) {
            Err(DecomposeError::Interrupted) => {
                let rse = target.rse_of_network(&network, limits.max_bytes)?;
                Decomposition { network, rse, sweeps: 0, interrupted: true }
            }
            found => found?,
        };
        let (done, interrupted) = (found.rse <= eps, found.interrupted);
        // With all the ranks there are it cannot get better.
        let full = along.iter().all(|&r| r == settings.max_rank);
        if best.as_ref().is_none_or(|b| found.rse < b.rse) {
            best = Some(found);
        }
        if done || interrupted || full {
            break;
        }
    }
    let best = best.ok_or(DecomposeError::Interrupted)?;
    let interrupted = limits.stop.is_set();
    Ok(Decomposition { sweeps: sweeps + ring.sweeps, interrupted, ..best })
}
