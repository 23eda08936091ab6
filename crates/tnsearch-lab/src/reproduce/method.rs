//! The methods that are compared.

use super::ranks_only::RanksOnly;
use super::{ReproduceError, Trial};
use tnsearch::bound::{CutBound, Relaxation};
use tnsearch::decompose::{
    BayesSettings, DecomposeError, Decomposition, Goal, Limits, bayes_tr, tr_als_ar, tr_lm, tr_svd,
};
use tnsearch::fit::FitSettings;
use tnsearch::problem::CheckedObjective;
use tnsearch::problem::{Stop, Target};
use tnsearch::search::{
    Exact, ExactSettings, Greedy, GreedySettings, Strategy, Tnale, TnaleSettings, Tnga,
    TngaSettings, Tnls, TnlsSettings,
};

/// Structures over the complete graph, and all of Table 3, are not fitted where a sweep takes more multiply-adds an
/// entry of the tensor. (Rings of rank 7 take some hundred, the hidden structures of Table 3 at most 145.)
pub(super) const MAX_COST: f64 = 500.0;

/// What a search strategy is made for.
pub struct Setting<'a> {
    /// The tensor and the template.
    pub trial: &'a Trial,
    /// What is asked for.
    pub objective: CheckedObjective,
    /// The bounds from the tensor's cuts.
    pub bound: &'a CutBound,
    /// Seen by strategies that compute for long.
    pub stop: &'a Stop,
}

pub(super) type Decompose =
    dyn Fn(&Target, &Goal, u64, &Limits) -> Result<Decomposition, DecomposeError> + Send + Sync;
pub(super) type Search = dyn for<'a> Fn(&Setting<'a>, u64) -> Result<Box<dyn Strategy + 'a>, ReproduceError>
    + Send
    + Sync;

pub(super) enum Kind {
    Decompose(Box<Decompose>),
    Search(Box<Search>),
}

/// A method: a decomposition with adaptive ranks, or a search.
pub struct Method {
    /// Its name in tables.
    pub name: String,
    pub(super) kind: Kind,
    /// Whether bounds may rule structures out.
    pub(super) prune: bool,
    /// Levenberg-Marquardt starts of its fits where ALS fails.
    pub(super) rescue: usize,
    /// Structures larger than this many times the tensor are not fitted.
    pub(super) max_phi: f64,
    /// And those whose sweep takes more than this many multiply-adds an entry.
    pub(super) max_cost: Option<f64>,
    /// Runs on one tensor at most: 1 where different seeds give the same answer, or a run takes minutes.
    pub(super) max_runs: usize,
    /// Its runs for each one that is asked for: more than one where they are cheap.
    pub(super) times: usize,
    /// Whether it makes one run only on a MERA, of which it would fit thousands of costly ones.
    pub(super) once_on_mera: bool,
    /// Whether it can minimise `phi + lambda * RSE` too.
    pub(super) takes_lambda: bool,
}

impl Method {
    /// A search by a strategy, made anew for every tensor and seed.
    pub fn search(
        name: &str,
        strategy: impl for<'a> Fn(&Setting<'a>, u64) -> Result<Box<dyn Strategy + 'a>, ReproduceError>
        + Send
        + Sync
        + 'static,
    ) -> Method {
        Method {
            name: name.to_owned(),
            kind: Kind::Search(Box::new(strategy)),
            prune: true,
            rescue: 0,
            max_phi: 10.0,
            max_cost: None,
            max_runs: usize::MAX,
            times: 1,
            once_on_mera: false,
            takes_lambda: true,
        }
    }

    fn decompose(
        name: &str,
        decompose: impl Fn(&Target, &Goal, u64, &Limits) -> Result<Decomposition, DecomposeError>
        + Send
        + Sync
        + 'static,
    ) -> Method {
        Method {
            name: name.to_owned(),
            kind: Kind::Decompose(Box::new(decompose)),
            prune: false,
            rescue: 0,
            max_phi: f64::INFINITY,
            max_cost: None,
            max_runs: 1,
            times: 1,
            once_on_mera: false,
            takes_lambda: false,
        }
    }

    pub(super) fn tr_svd() -> Method {
        Method::decompose("TR-SVD", |x, goal, _, limits| tr_svd(x, &as_given(x), goal, limits))
    }

    pub(super) fn tr_lm() -> Method {
        Method::decompose("TR-LM", |x, goal, _, limits| tr_lm(x, &as_given(x), goal, limits))
    }

    pub(super) fn tr_alsar() -> Method {
        // Alternating least squares is what it is, whatever the searches fit with.
        Method::decompose("TR-ALSAR", |x, goal, seed, limits| {
            let als = FitSettings::default().check()?;
            tr_als_ar(x, &as_given(x), goal, &als, seed, limits)
        })
    }

    pub(super) fn bayes_tr() -> Method {
        Method::decompose("Bayes-TR", |x, goal, seed, limits| {
            let (settings, als) =
                (BayesSettings::default().check()?, FitSettings::default().check()?);
            bayes_tr(x, &as_given(x), goal, &settings, &als, seed, limits)
        })
    }

    pub(super) fn greedy() -> Method {
        Method {
            max_runs: 1,
            takes_lambda: false,
            ..Method::search("Greedy", |s, _| {
                let settings = GreedySettings::default().check()?;
                let order = s.trial.target.dims().len();
                Ok(Box::new(Greedy::new(order, s.objective, settings)?))
            })
        }
        .over_all_graphs()
    }

    /// The genetic search over all graphs.
    pub(super) fn tnga_star(settings: TngaSettings) -> Method {
        let method = Method::search("TNGA*", move |s, seed| {
            let order = s.trial.target.dims().len();
            Ok(Box::new(Tnga::star(order, settings.clone().check()?, seed)?))
        });
        // Most of what it proposes is costly: a run takes minutes at order 8.
        Method { max_runs: 1, ..method }.over_all_graphs()
    }

    pub(super) fn tnga_plus(settings: TngaSettings) -> Method {
        Method::search("TNGA+", move |s, seed| {
            Ok(Box::new(Tnga::plus(s.trial.template.clone(), settings.clone().check()?, seed)))
        })
    }

    pub(super) fn tnls(settings: TnlsSettings) -> Method {
        Method::search("TNLS", move |s, seed| {
            Ok(Box::new(Tnls::new(s.trial.template.clone(), settings.clone().check()?, seed)))
        })
    }

    /// TNLS as in the paper: every sample that is new is fitted.
    pub(super) fn tnls_unpruned(settings: TnlsSettings) -> Method {
        let name = "TNLS, all fitted".to_owned();
        Method { prune: false, max_runs: 1, name, ..Method::tnls(settings) }
    }

    pub(super) fn tnale(settings: TnaleSettings) -> Method {
        Method::search("TnALE", move |s, seed| {
            let (template, dims) = (&s.trial.template, s.trial.target.dims());
            let settings = settings.clone().check()?;
            Ok(Box::new(Tnale::new(template, dims, s.objective, settings, seed)))
        })
    }

    pub(super) fn exact(settings: ExactSettings, max_rank: usize) -> Method {
        Method {
            max_runs: 1,
            rescue: 8,
            takes_lambda: false,
            ..Method::search("exact", move |s, _| {
                let template = s.trial.template.clone();
                let (bound, stop) = (s.bound, s.stop);
                let relaxation =
                    Relaxation::stoppable(template, s.objective, bound, max_rank, stop, stop);
                Ok(Box::new(Exact::new(relaxation, s.objective, settings.clone().check()?)))
            })
        }
    }

    /// The best ranks for a given place of every mode.
    pub(super) fn ranks_only(permutation: Vec<usize>, max_rank: usize) -> Method {
        Method {
            max_runs: 1,
            rescue: 0,
            takes_lambda: false,
            ..Method::search("ranks only", move |s, _| {
                Ok(Box::new(RanksOnly::new(s, &permutation, max_rank)?))
            })
        }
    }

    /// What is far too costly is not fitted.
    fn over_all_graphs(self) -> Method {
        Method { max_cost: Some(MAX_COST), ..self }
    }
}

/// The modes in the order of the tensor, which is all that a decomposition can take.
fn as_given(target: &Target) -> Vec<usize> {
    (0..target.dims().len()).collect()
}
