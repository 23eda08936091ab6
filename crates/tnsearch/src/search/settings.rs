//! All that decides the result of a search, and what it may use: one serialisable value, of which parts may be left out,
//! and the same against a tensor, of which none is ([`Resolved`]). Defaults are decided here and nowhere else.

use super::description::{Description, Graphs, MAX_RANK, PlanFor, strategies};
use super::{SearchError, StrategySpec};
use crate::SettingError;
use crate::error::{count, positive};
use crate::fit::{CheckedFit, FitSettings};
use crate::graph::Template;
use crate::problem::{CheckedObjective, Objective};
use crate::tensor::size;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Ranks beyond this are not tried where no largest one is given.
const WIDEST: usize = 1024;
/// Where ranks are found by the search itself: structures as large as the tensor are not fitted.
const WIDE_PHI: f64 = 1.0;

/// The largest rank that any cut of a tensor can make use of.
fn widest_rank(dims: &[usize]) -> usize {
    let root = (size(dims) as f64).sqrt() as usize;
    root.clamp(1, WIDEST)
}

/// Structures that may be under way at a time; each takes some hundred bytes.
const MAX_AT_ONCE: usize = 1_000_000;

/// The settings of a [`crate::Search`]; what is left out follows from the rest and from the tensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SearchSettings {
    /// What counts as the smallest network.
    pub objective: Objective,
    /// How structures are proposed.
    pub strategy: StrategySpec,
    /// The largest rank R of an edge; none: as large as is of use where the search finds ranks itself, else 7.
    pub max_rank: Option<usize>,
    /// Whether the search begins with what direct methods give (truncated SVDs in the orders that the spectra suggest), so
    /// that it ends with nothing worse, and `auto` goes on with walks. Else it begins at random, as in the paper.
    pub direct: bool,
    /// Independent runs with derived seeds; the best counts.
    pub runs: usize,
    /// Same seed, same data, same settings: same result, at any number of workers.
    pub seed: u64,
    /// Whether structures are left out that a bound proves cannot win.
    pub prune: bool,
    /// Whether a smaller tensor is searched in the place of X where that pays ([`crate::problem::Target::shrink`]).
    pub shrink: bool,
    /// Whether large modes may be split into factors, where that is better than anything in the tensor's own shape: only
    /// for an error to be reached, on all entries, where neither template nor largest rank is given.
    pub split: bool,
    /// Nodes that may be expanded after the search to prove a lower bound; 0: prove none.
    pub certificate_nodes: u64,
    /// How structures are fitted. Its `enough_rse` follows from the objective.
    pub fit: FitSettings,
    /// Levenberg-Marquardt starts where ALS was not good enough; none: as the strategy's description says.
    pub rescue: Option<usize>,
    /// Structures with `params >= max_phi * prod(dims)` are not fitted; none: 1 where the search finds ranks itself, else
    /// 10, as in the authors' program.
    pub max_phi: Option<f64>,
    /// Structures are not fitted whose ALS sweep would take more than this many multiply-adds per entry of the
    /// tensor ([`crate::fit::sweep_cost`]); none: as the strategy's description says.
    pub max_cost: Option<f64>,
    /// What it may use. Changes no result but where the search ends.
    pub budget: Budget,
}

/// What a search may use. May change from one part of a search to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Budget {
    /// Fit at most this many structures.
    pub max_evaluations: Option<u64>,
    /// End after this many seconds, with the best so far; the time before a resume does not count.
    pub max_seconds: Option<f64>,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// Bytes of memory; none: no limit.
    pub max_bytes: Option<u64>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            objective: Objective::MaxError(1e-4),
            strategy: StrategySpec::default(),
            max_rank: None,
            direct: true,
            runs: 1,
            seed: 0,
            prune: true,
            shrink: true,
            split: true,
            certificate_nodes: 200_000,
            fit: FitSettings::default(),
            rescue: None,
            max_phi: None,
            max_cost: None,
            budget: Budget::default(),
        }
    }
}

impl Budget {
    /// Checks every number.
    pub fn check(&self) -> Result<(), SettingError> {
        if self.max_evaluations == Some(0) {
            return Err(SettingError::new("max-evaluations", 0, "it must be at least 1"));
        }
        self.threads.map_or(Ok(()), |n| count("threads", n))?;
        // Above this the system would fail, or the machine come down.
        if let Some(n) = self.threads.filter(|&n| n > 4096) {
            return Err(SettingError::new("threads", n, "it must be at most 4096"));
        }
        self.max_seconds.map_or(Ok(()), |s| positive("max-seconds", s))
    }

    /// The threads to use: those asked for, or one per processor.
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(processors)
    }

    /// As many fits at a time as threads and memory allow: a fit holds a few copies of the tensor.
    pub(super) fn workers(&self, tensor_bytes: u128) -> usize {
        let fits = self
            .max_bytes
            .map_or(u128::MAX, |b| u128::from(b) / tensor_bytes.saturating_mul(4).max(1));
        self.threads().min(usize::try_from(fits).unwrap_or(usize::MAX)).max(1)
    }
}

/// The settings of a search on a tensor: nothing is left out any more. The first line of a journal is
/// made from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Resolved {
    /// What counts as the smallest network.
    pub objective: Objective,
    /// How structures are proposed: where `auto` stands for another strategy, that one.
    pub strategy: StrategySpec,
    /// The largest rank that strategies propose and proofs are about.
    pub max_rank: usize,
    /// Walks and direct methods may use ranks up to this, where it is more.
    pub widest_rank: Option<usize>,
    /// [`SearchSettings::direct`].
    pub direct: bool,
    /// [`SearchSettings::runs`].
    pub runs: usize,
    /// [`SearchSettings::seed`].
    pub seed: u64,
    /// [`SearchSettings::prune`].
    pub prune: bool,
    /// [`SearchSettings::shrink`].
    pub shrink: bool,
    /// [`SearchSettings::certificate_nodes`].
    pub certificate_nodes: u64,
    /// [`SearchSettings::max_phi`].
    pub max_phi: f64,
    /// What it may use.
    pub budget: Budget,
}

impl Resolved {
    /// Structures with so many times the tensor's entries as params are not fitted in the authors' program.
    pub const PAPER_PHI: f64 = 10.0;

    /// The largest rank that anything in the search may use: `widest_rank` where that is more than `max_rank`.
    pub fn widest(&self) -> usize {
        self.widest_rank.map_or(self.max_rank, |widest| widest.max(self.max_rank))
    }
}

impl SearchSettings {
    /// Whether ranks are found by the search itself, so that they need no limit.
    fn finds_ranks(&self) -> bool {
        self.direct && self.strategy.description().is_ok_and(|d| d.finds_ranks)
    }

    /// Whether the default strategy is asked for, by its name or by none.
    fn is_default(&self) -> bool {
        self.strategy.name == StrategySpec::default().name
    }

    /// Whether the options given, if any, are options of a strategy.
    fn are_of(&self, strategy: &Description) -> bool {
        let known = |name: &String| strategy.options.iter().any(|o| o.name == name);
        self.strategy.options.keys().all(known)
    }

    /// The template where none is given: several formats for the default strategy, but where it is given options that
    /// the search over formats has not, or begins at random.
    pub fn default_template(&self) -> &'static str {
        let formats = strategies().into_iter().find(|d| d.graphs == Graphs::Formats);
        let several = self.is_default() && self.direct && formats.is_some_and(|d| self.are_of(d));
        if several { "formats" } else { "ring" }
    }

    /// What can be searched on a template by the squared error on all entries (`plain`) or by something else; the first
    /// is what the default stands for. None: what searches templates as such.
    fn strategies_of(template: &Template, plain: bool) -> Option<Vec<&'static Description>> {
        let fits = |d: &&Description| match template {
            t if t.is_any_tree() => d.graphs == Graphs::Trees,
            t if t.is_formats() => d.graphs == Graphs::Formats,
            t if t.is_any() => d.any_graph && (plain || !d.least_squares),
            _ => false,
        };
        let found: Vec<_> = strategies().into_iter().filter(fits).collect();
        Some(found).filter(|found| !found.is_empty())
    }

    /// The strategy of a template: what stands for several graphs has strategies of its own.
    fn strategy_on(&self, template: &Template, plain: bool) -> Result<StrategySpec, SettingError> {
        let (asked, description) = (&self.strategy, self.strategy.description()?);
        let refused = |expected: String| {
            Err(SettingError::new("strategy", format!("'{}'", asked.name), expected))
        };
        if template.copy_vertex().is_some() && !plain {
            let expected =
                "it is fitted by the squared error on all entries alone; use another template";
            return Err(SettingError::new("template", "'cp'", expected));
        }
        if description.least_squares && !plain {
            return refused(
                "it is by the squared error on all entries; use greedy, or tnls on a template"
                    .into(),
            );
        }
        match Self::strategies_of(template, plain) {
            None if matches!(description.graphs, Graphs::Trees | Graphs::Formats) => refused(
                "it is for templates any-tree and formats; use auto for a template of one format"
                    .into(),
            ),
            None if template.copy_vertex().is_some() && !self.is_default() => refused(
                "template cp has one rank to choose, which auto does; use auto, or another template"
                    .into(),
            ),
            None => Ok(asked.clone()),
            Some(own) if self.is_default() => {
                Ok(StrategySpec { name: own[0].name.to_owned(), options: asked.options.clone() })
            }
            Some(own) if own.iter().any(|d| d.name == asked.name) => Ok(asked.clone()),
            Some(own) => {
                let names: Vec<&str> = own.iter().map(|d| d.name).collect();
                let what = template.name();
                refused(format!("template {what} is searched by {} (or auto)", names.join(", ")))
            }
        }
    }

    /// All that is left out, decided for a tensor of these dimensions; `plain`: by the squared error on all its entries.
    /// Where no template is given, [`SearchSettings::default_template`] says which.
    pub fn resolve(
        &self,
        template: Option<Arc<Template>>,
        dims: &[usize],
        plain: bool,
    ) -> Result<(Arc<Template>, Resolved), SearchError> {
        let mut template = match template {
            Some(template) => template,
            None => Arc::new(Template::parse(self.default_template(), dims.len())?),
        };
        if template.is_formats() && !plain {
            // Formats are chosen between by their bounds.
            template = Arc::new(Template::any(template.order())?);
        }
        let strategy = self.strategy_on(&template, plain)?;
        Ok((template, self.resolved(strategy, dims)))
    }

    pub(super) fn resolved(&self, strategy: StrategySpec, dims: &[usize]) -> Resolved {
        let wide = self.finds_ranks();
        Resolved {
            objective: self.objective,
            strategy,
            max_rank: self.max_rank.unwrap_or(MAX_RANK),
            widest_rank: (wide && self.max_rank.is_none()).then(|| widest_rank(dims)),
            direct: self.direct,
            runs: self.runs,
            seed: self.seed,
            prune: self.prune,
            shrink: self.shrink,
            certificate_nodes: self.certificate_nodes,
            max_phi: self.max_phi.unwrap_or(if wide { WIDE_PHI } else { Resolved::PAPER_PHI }),
            budget: self.budget.clone(),
        }
    }

    /// Checks everything but the strategy, and gives the objective and the settings of fits that follow.
    pub(super) fn check(
        &self,
        default_rescue: usize,
    ) -> Result<(CheckedObjective, CheckedFit), SettingError> {
        let objective = self.objective.check()?;
        count("runs", self.runs)?;
        self.max_rank.map_or(Ok(()), |rank| count("max-rank", rank))?;
        if let Some(phi) = self.max_phi.filter(|phi| phi.is_nan() || *phi <= 0.0) {
            return Err(SettingError::new("max-phi", phi, "it must be above 0"));
        }
        self.max_cost.map_or(Ok(()), |cost| positive("max-cost", cost))?;
        self.budget.check()?;
        Ok((objective, self.fit_settings(default_rescue).check()?))
    }

    /// Checks everything that can be checked without data, for a template by its name.
    pub fn check_all(&self, template: Option<&str>) -> Result<(), SettingError> {
        let description = self.strategy.description()?;
        self.check(description.rescue)?;
        let max_rank = self.max_rank.unwrap_or(MAX_RANK);
        let stands_for = match template.unwrap_or_else(|| self.default_template()) {
            "formats" => Some(Graphs::Formats),
            "any-tree" => Some(Graphs::Trees),
            _ => None,
        };
        let stands_for = strategies().into_iter().find(|d| Some(d.graphs) == stands_for);
        let spec = match stands_for.filter(|_| self.is_default()) {
            Some(other) => StrategySpec { name: other.name.to_owned(), ..self.strategy.clone() },
            None => self.strategy.clone(),
        };
        // What data and template decide is checked with them: whether there is anything to walk from.
        let plan = |walks| spec.check(PlanFor { max_rank, walks });
        let plan = plan(self.direct).or_else(|e| plan(false).map_err(|_| e))?;
        self.check_at_once(plan.at_once())
    }

    /// The settings of fits: a fit that has reached the error need not go on.
    fn fit_settings(&self, default_rescue: usize) -> FitSettings {
        let of = &self.fit;
        FitSettings {
            enough_rse: self.objective.max_error().unwrap_or(of.enough_rse),
            rescue: self.rescue.unwrap_or(default_rescue),
            max_bytes: of.max_bytes.or(self.budget.max_bytes),
            ..of.clone()
        }
    }

    /// Refuses more structures at a time than memory is meant for.
    pub(super) fn check_at_once(
        &self,
        (option, at_once): (&str, usize),
    ) -> Result<(), SettingError> {
        if self.runs.saturating_mul(at_once) <= MAX_AT_ONCE {
            return Ok(());
        }
        let expected = format!(
            "times {option} {at_once} it is more than {MAX_AT_ONCE} structures at a time; use fewer of either"
        );
        Err(SettingError::new("runs", self.runs, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_budgets_that_allow_nothing() {
        let bad = |change: fn(&mut SearchSettings)| {
            let mut s = SearchSettings::default();
            change(&mut s);
            s.check(0).unwrap_err().to_string()
        };
        assert_eq!(
            bad(|s| s.budget.max_evaluations = Some(0)),
            "max-evaluations is 0; it must be at least 1"
        );
        assert_eq!(
            bad(|s| s.budget.max_seconds = Some(-1.0)),
            "max-seconds is -1; it must be a positive number"
        );
        assert!(bad(|s| s.budget.max_seconds = Some(f64::NAN)).starts_with("max-seconds is NaN"));
        assert!(bad(|s| s.budget.threads = Some(0)).starts_with("threads is 0"));
        assert!(bad(|s| s.budget.threads = Some(1_000_000)).starts_with("threads is 1000000"));
        assert!(bad(|s| s.max_phi = Some(0.0)).starts_with("max-phi is 0"));
        assert!(bad(|s| s.max_cost = Some(-1.0)).starts_with("max-cost is -1"));
        assert!(bad(|s| s.runs = 0).starts_with("runs is 0"));
        assert!(SearchSettings::default().check(0).is_ok());
        let many = SearchSettings { runs: 2_000_000, ..SearchSettings::default() };
        assert!(many.check_at_once(("samples", 1)).unwrap_err().to_string().contains("samples 1"));
    }

    #[test]
    fn what_is_not_said_follows_from_the_rest() {
        let resolved = |change: fn(&mut SearchSettings), dims: &[usize]| {
            let settings = SearchSettings::default().with(change);
            let (template, resolved) = settings.resolve(None, dims, true).unwrap();
            let strategy = resolved.strategy.name.clone();
            (template.name().to_owned(), strategy, resolved)
        };
        let (template, strategy, usual) = resolved(|_| {}, &[100, 100, 4]);
        assert_eq!((&*template, &*strategy), ("formats", "formats"));
        assert_eq!((usual.max_rank, usual.widest_rank, usual.max_phi), (7, Some(200), 1.0));
        let (.., given) = resolved(|s| s.max_rank = Some(5), &[100, 100]);
        assert_eq!((given.max_rank, given.widest_rank, given.max_phi), (5, None, 1.0));
        let (template, strategy, tnls) =
            resolved(|s| s.strategy = StrategySpec::new("tnls"), &[9, 9]);
        assert_eq!((&*template, &*strategy), ("ring", "tnls"));
        assert_eq!((tnls.max_rank, tnls.widest_rank, tnls.max_phi), (7, None, 10.0));
        let (template, _, random) = resolved(|s| s.direct = false, &[9, 9]);
        assert_eq!((&*template, random.widest_rank, random.max_phi), ("ring", None, 10.0));
        let (.., phi) = resolved(|s| s.max_phi = Some(2.0), &[9, 9]);
        assert_eq!(phi.max_phi, 2.0);
    }

    #[test]
    fn the_default_stands_for_the_strategy_of_its_template_and_takes_its_options() {
        let on = |template: &str, plain, option: Option<&str>| {
            let spec = StrategySpec::default();
            let spec = option.map_or(spec.clone(), |option| spec.set(option, 3));
            let settings = SearchSettings::default().with(|s| s.strategy = spec);
            let template = Arc::new(Template::parse(template, 4).unwrap());
            let (template, found) = settings.resolve(Some(template), &[3; 4], plain).unwrap();
            let plan = PlanFor { max_rank: found.max_rank, walks: found.direct && plain };
            let taken = found.strategy.check(plan).is_ok();
            (template.name().to_owned(), found.strategy.name, taken)
        };
        let told = |a: &str, b: &str, taken| (a.to_owned(), b.to_owned(), taken);
        assert_eq!(on("formats", true, None), told("formats", "formats", true));
        assert_eq!(on("formats", false, None), told("any", "greedy", true));
        assert_eq!(on("any-tree", true, Some("trees")), told("any-tree", "trees", true));
        assert_eq!(on("any", true, Some("steps")), told("any", "walk", true));
        for option in ["steps", "width", "patience", "nodes"] {
            assert_eq!(on("ring", true, Some(option)), told("ring", "auto", true), "{option}");
        }
        for option in ["samples", "iterations", "c1"] {
            assert_eq!(on("ring", true, Some(option)), told("ring", "auto", false), "{option}");
        }
        // Without all entries there are no walks, and the default is exact search or tnls.
        assert_eq!(on("ring", false, Some("samples")), told("ring", "auto", true));
        assert_eq!(on("ring", false, Some("steps")), told("ring", "auto", false));
    }

    #[test]
    fn settings_survive_json_and_defaults_fill_in() {
        let settings = SearchSettings {
            objective: Objective::Lambda(200.0),
            strategy: StrategySpec::new("tnls").set("samples", 5),
            ..SearchSettings::default()
        };
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<SearchSettings>(&json).unwrap(), settings);
        assert_eq!(
            serde_json::from_str::<SearchSettings>("{}").unwrap(),
            SearchSettings::default()
        );
    }

    #[test]
    fn memory_limits_the_workers() {
        let budget = |max_bytes| Budget { threads: Some(8), max_bytes, ..Budget::default() };
        assert_eq!(budget(None).workers(1000), 8);
        assert_eq!(budget(Some(12_000)).workers(1000), 3);
        assert_eq!(budget(Some(1)).workers(1000), 1);
    }
}
