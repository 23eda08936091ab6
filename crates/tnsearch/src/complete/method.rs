//! The two ways to fill holes: ranks that grow, or a ring of one rank.

use super::{CheckedComplete, CompleteError, FormatTried, HeldOut, Step, complete};
use crate::SettingError;
use crate::decompose::{Goal, Limits, tr_als};
use crate::fit::FitSettings;
use crate::network::Network;
use crate::problem::{Stop, Target};
use serde::Serialize;
use std::str::FromStr;

/// How the structure is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CompleteMethod {
    /// Ranks grow while entries held out are predicted better.
    #[default]
    Choose,
    /// A tensor ring with the same rank everywhere (Wang et al. 2017).
    Trals,
}

impl FromStr for CompleteMethod {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        match text {
            "choose" => Ok(CompleteMethod::Choose),
            "trals" => Ok(CompleteMethod::Trals),
            _ => Err(SettingError::new("method", format!("'{text}'"), "use choose or trals")),
        }
    }
}

/// What a ring of one rank is asked with.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OneRank {
    /// The rank.
    pub rank: Option<usize>,
    /// The ridge; 0 by default.
    pub ridge: Option<f64>,
    /// Sweeps at most; as many as a fit has by default.
    pub max_sweeps: Option<usize>,
}

/// What either way found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Filled {
    /// The network, fitted to all observed entries.
    pub network: Network,
    /// Its RSE on the observed entries.
    pub rse: f64,
    /// How well the structure predicts entries that it was not fitted to; none where none were held out.
    pub held_out: Option<HeldOut>,
    /// The ridge.
    pub ridge: f64,
    /// The best of each format, in the order tried.
    pub formats: Vec<FormatTried>,
    /// Structures fitted.
    pub structures: usize,
    /// Sweeps over the cores, of all fits.
    pub sweeps: usize,
    /// Whether time ran out or an interrupt came: this is then the best so far.
    pub interrupted: bool,
}

impl CompleteMethod {
    /// Refuses a rank for the way that chooses it, and none for the other.
    pub fn check(self, rank: Option<usize>) -> Result<(), CompleteError> {
        let wrong = match (self, rank) {
            (CompleteMethod::Trals, None) => "--method trals needs --rank R",
            (CompleteMethod::Choose, Some(_)) => "--rank is that of trals; use --max-rank",
            _ => return Ok(()),
        };
        Err(CompleteError::Asked(wrong))
    }

    /// Fills the holes of a tensor on so many threads (none: one per processor); see [`complete`].
    pub fn fill(
        self,
        target: &Target,
        settings: &CheckedComplete,
        ring: OneRank,
        threads: Option<usize>,
        stop: &Stop,
        tell: &mut (dyn FnMut(Step) + Send),
    ) -> Result<Filled, CompleteError> {
        self.check(ring.rank)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .build()
            .map_err(|e| CompleteError::Threads(e.to_string()))?;
        pool.install(|| match self {
            CompleteMethod::Choose => {
                complete(target, settings, stop, &mut |step| tell(step)).map(|found| Filled {
                    network: found.network,
                    rse: found.rse,
                    held_out: Some(found.held_out),
                    ridge: found.ridge,
                    formats: found.formats,
                    structures: found.structures,
                    sweeps: found.sweeps,
                    interrupted: found.interrupted,
                })
            }
            CompleteMethod::Trals => one_rank(target, settings, ring, stop),
        })
    }
}

fn one_rank(
    target: &Target,
    settings: &CheckedComplete,
    ring: OneRank,
    stop: &Stop,
) -> Result<Filled, CompleteError> {
    let order = target.dims().len();
    let edges = if order == 2 { 1 } else { order };
    let goal = Goal::ranks(vec![ring.rank.unwrap_or(1); edges])?;
    let ridge = ring.ridge.unwrap_or(0.0);
    let fit = FitSettings::default().with(|s| {
        s.restarts = 1;
        s.ridge = ridge;
        s.max_sweeps = ring.max_sweeps.unwrap_or(s.max_sweeps);
        s.max_bytes = settings.fit.max_bytes;
    });
    let limits = Limits::none().with(|l| {
        l.max_bytes = target.left_of(settings.fit.max_bytes);
        l.stop = stop.within_seconds(settings.max_seconds.unwrap_or(f64::INFINITY));
    });
    let permutation: Vec<usize> = (0..order).collect();
    let found = tr_als(target, &permutation, &goal, &fit.check()?, settings.seed, &limits)?;
    Ok(Filled {
        network: found.network,
        rse: found.rse,
        held_out: None,
        ridge,
        formats: Vec::new(),
        structures: 1,
        sweeps: found.sweeps,
        interrupted: found.interrupted,
    })
}
