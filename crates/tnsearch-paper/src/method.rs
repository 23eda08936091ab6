//! The methods that are compared.

use super::MAX_RANK;
use super::ranks_only::RanksOnly;
use super::uniform::Uniform;
use tnsearch::decompose::{
    BayesSettings, DecomposeError, Decomposition, Goal, Limits, bayes_tr, tr_als_ar, tr_lm, tr_svd,
};
use tnsearch::fit::{FitSettings, Method as Fit};
use tnsearch::problem::Target;
use tnsearch::search::{
    Context, Exact, ExactSettings, SearchError, Strategy, StrategySpec, TngaSettings, TnlsSettings,
};

/// Structures over the complete graph, and all of Table 3, are not fitted where a sweep takes more multiply-adds per
/// entry of the tensor. (Rings of rank 7 take some hundred, the hidden structures of Table 3 at most 145.)
pub(super) const MAX_COST: f64 = 500.0;

/// Walks on a ring, and over all graphs, for one picture: they go on improving for long, by ever less.
const MOST_WALKS: u64 = 60;
const MOST_WALKS_ANY: u64 = 120;

/// The paper's largest rank on pictures, and that of quick versions.
const PICTURE_RANK: usize = 14;
const QUICK_RANK: usize = 4;

pub(super) type Decompose =
    dyn Fn(&Target, &Goal, u64, &Limits) -> Result<Decomposition, DecomposeError> + Send + Sync;
type Make = dyn Fn(&Context<'_>, u64) -> Result<Box<dyn Strategy>, SearchError> + Send + Sync;

/// Where the strategy of a search comes from.
pub(super) enum By {
    /// The library.
    Named(StrategySpec),
    /// Elsewhere.
    Own(Box<Make>),
}

pub(super) enum Kind {
    Decompose(Box<Decompose>),
    Search(By),
    /// Holes are filled by a structure chosen by entries held out.
    Complete,
    /// A trained model as it is.
    Given,
    /// Its mean made smaller, its cores fitted to the data or not: by how much the validation error may rise, or by which part
    /// of it where that is not given.
    Compress(Option<f64>, bool),
}

/// A method: a decomposition with adaptive ranks, or a search.
pub struct Method {
    /// Its name in tables.
    pub name: String,
    pub(super) kind: Kind,
    /// The largest rank.
    pub(super) max_rank: usize,
    /// Whether it begins with what direct methods give.
    pub(super) direct: bool,
    /// Whether it searches all graphs, whatever the template.
    pub(super) any_graph: bool,
    /// Structures that it may fit, or walks that it may make.
    pub(super) most: Option<u64>,
    /// What it changes about fits.
    pub(super) fit: fn(FitSettings) -> FitSettings,
    /// Whether bounds may rule structures out.
    pub(super) prune: bool,
    /// Levenberg-Marquardt starts of its fits where ALS fails.
    pub(super) rescue: usize,
    /// Structures larger than this many times the tensor are not fitted.
    pub(super) max_phi: f64,
    /// And those whose sweep takes more than this many multiply-adds per entry.
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
    /// A search by a strategy of one's own, made anew for every tensor and seed.
    pub fn search(
        name: &str,
        strategy: impl Fn(&Context<'_>, u64) -> Result<Box<dyn Strategy>, SearchError>
        + Send
        + Sync
        + 'static,
    ) -> Method {
        Method::by(name, By::Own(Box::new(strategy)))
    }

    /// A search by a strategy of the library.
    pub fn named(name: &str, strategy: StrategySpec) -> Method {
        Method::by(name, By::Named(strategy))
    }

    fn by(name: &str, by: By) -> Method {
        Method {
            name: name.to_owned(),
            kind: Kind::Search(by),
            max_rank: MAX_RANK,
            direct: false,
            any_graph: false,
            most: None,
            fit: |settings| settings,
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
            max_rank: MAX_RANK,
            direct: false,
            any_graph: false,
            most: None,
            fit: |settings| settings,
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
        let greedy = Method::named("Greedy", StrategySpec::new("greedy"));
        Method { max_runs: 1, takes_lambda: false, ..greedy }.over_all_graphs()
    }

    /// The genetic search over all graphs.
    pub(super) fn tnga_star(settings: &TngaSettings) -> Method {
        // Most of what it proposes is costly: a run takes minutes at order 8.
        let method = Method::named("TNGA*", genetic("tnga-star", settings));
        Method { max_runs: 1, ..method }.over_all_graphs()
    }

    pub(super) fn tnga_plus(settings: &TngaSettings) -> Method {
        Method::named("TNGA+", genetic("tnga-plus", settings))
    }

    pub(super) fn tnls(settings: &TnlsSettings) -> Method {
        let spec = StrategySpec::new("tnls");
        let spec = spec.set("iterations", settings.iterations).set("samples", settings.samples);
        let spec = spec.set("c1", settings.c1);
        Method::named(
            "TNLS",
            match settings.c2 {
                Some(c2) => spec.set("c2", c2),
                None => spec,
            },
        )
    }

    /// Our walks: on the template, or over all graphs.
    pub(super) fn walks(any_graph: bool, quick: bool) -> Method {
        let name = if any_graph { "ours, any graph" } else { "ours, ring" };
        let spec = StrategySpec::new("walk");
        let spec = if quick { spec.set("steps", 5).set("patience", 1) } else { spec };
        let most = Some(if any_graph { MOST_WALKS_ANY } else { MOST_WALKS });
        Method { any_graph, direct: true, most, max_runs: 1, ..Method::named(name, spec) }
    }

    /// The same on pictures: ranks up to 14 (small ones for quick versions), and fits of one start that go on no longer than
    /// they have to.
    pub(super) fn on_pictures(self, quick: bool) -> Method {
        let fit = |settings: FitSettings| {
            settings.with(|s| {
                (s.restarts, s.carry) = (1, true);
                if s.method == Fit::Als {
                    s.max_sweeps = 60;
                }
            })
        };
        let max_rank = if quick { QUICK_RANK } else { PICTURE_RANK };
        Method { max_rank, fit, ..self }
    }

    /// Whether it is a search, not a decomposition.
    pub(super) fn searches(&self) -> bool {
        !matches!(self.kind, Kind::Decompose(_))
    }

    /// TNLS as in the paper: every sample that is new is fitted.
    pub(super) fn tnls_unpruned(settings: &TnlsSettings) -> Method {
        let name = "TNLS, all fitted".to_owned();
        Method { prune: false, max_runs: 1, name, ..Method::tnls(settings) }
    }

    pub(super) fn tnale() -> Method {
        Method::named("TnALE", StrategySpec::new("tnale"))
    }

    /// Exact search alone: where it ends without an answer, nothing goes on.
    pub(super) fn exact() -> Method {
        let exact = Method::search("exact", |context, _| {
            let settings = ExactSettings::default().check()?;
            let relaxation = context.relaxation().ok_or(SearchError::NoBounds)?;
            Ok(Box::new(Exact::new(relaxation, context.objective, settings)))
        });
        Method { max_runs: 1, rescue: 8, takes_lambda: false, ..exact }
    }

    /// Rings of one rank on every edge, by alternating least squares over what is known.
    pub(super) fn tr_als() -> Method {
        let rings = Method::search("TRALS", |context, _| {
            Ok(Box::new(Uniform::new(context, PICTURE_RANK)?))
        });
        Method { max_runs: 1, takes_lambda: true, ..rings }
    }

    /// Holes filled by whatever predicts entries best that were held out.
    pub(super) fn complete() -> Method {
        Method {
            kind: Kind::Complete,
            max_runs: 1,
            ..Method::named("ours, held out", StrategySpec::default())
        }
    }

    fn model(name: &str, kind: Kind) -> Method {
        Method { kind, max_runs: 1, ..Method::named(name, StrategySpec::default()) }
    }

    /// The trained model itself.
    pub(super) fn given() -> Method {
        Method::model("TT", Kind::Given)
    }

    /// The tensor of the mean by all formats, weighted by the data.
    pub(super) fn reparameterised() -> Method {
        Method::model("ours, tensor", Kind::Compress(None, false))
    }

    /// Structures fitted to the data.
    pub(super) fn fitted(loss: Option<f64>) -> Method {
        let name = loss.map_or("ours, fitted".to_owned(), |l| format!("ours, fitted, {l}"));
        Method::model(&name, Kind::Compress(loss, true))
    }

    /// The best ranks for a given place of every mode.
    pub(super) fn ranks_only(permutation: Vec<usize>) -> Method {
        let ranks = Method::search("ranks only", move |context, _| {
            Ok(Box::new(RanksOnly::new(context, &permutation, MAX_RANK)?))
        });
        Method { max_runs: 1, rescue: 0, takes_lambda: false, ..ranks }
    }

    /// What is far too costly is not fitted.
    fn over_all_graphs(self) -> Method {
        Method { max_cost: Some(MAX_COST), ..self }
    }
}

fn genetic(name: &str, settings: &TngaSettings) -> StrategySpec {
    let spec = StrategySpec::new(name).set("generations", settings.generations);
    let spec = spec.set("population", settings.population).set("mutation", settings.mutation);
    let spec = spec.set("elimination", settings.elimination);
    let spec = spec.set("reproduction", settings.reproduction);
    spec.set("alpha", settings.alpha).set("beta", settings.beta)
}

/// The modes in the order of the tensor, which is all that a decomposition can take.
fn as_given(target: &Target) -> Vec<usize> {
    (0..target.dims().len()).collect()
}
