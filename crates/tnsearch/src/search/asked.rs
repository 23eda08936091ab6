//! A search in the words of users: what the command line and Python take, and what follows where nothing is said.

use super::{Budget, Description, STRATEGIES, SearchSettings, StrategySpec};
use crate::SettingError;
use crate::fit::AskedFit;
use crate::problem::AskedObjective;
use crate::tensor::size;
use serde::{Deserialize, Serialize};

/// Ranks beyond this are not tried where no largest one is given.
const WIDEST: usize = 1024;
/// Structures with so many times the entries as params, or more, are not fitted: those are no compression.
const WIDE_PHI: f64 = 1.0;

/// The largest rank that any cut of a tensor can make use of.
fn widest_rank(dims: &[usize]) -> usize {
    let root = (size(dims) as f64).sqrt() as usize;
    root.clamp(1, WIDEST)
}

/// What is asked of a search; every part may be left out.
///
/// ```
/// use tnsearch::search::AskedSearch;
/// let asked = AskedSearch::default();
/// assert_eq!(asked.template(), "formats");
/// let settings = asked.settings(1 << 30).unwrap();
/// assert_eq!((settings.max_rank, settings.max_phi), (7, 1.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedSearch {
    /// What is looked for.
    pub objective: AskedObjective,
    /// The name of the template, where one is given.
    pub template: Option<String>,
    /// The largest rank of an edge.
    pub max_rank: Option<usize>,
    /// How structures are proposed.
    pub strategy: StrategySpec,
    /// Independent runs.
    pub runs: usize,
    /// The seed.
    pub seed: u64,
    /// [`SearchSettings::prune`].
    pub prune: bool,
    /// [`SearchSettings::shrink`].
    pub shrink: bool,
    /// [`SearchSettings::direct`].
    pub direct: bool,
    /// [`SearchSettings::certificate_nodes`].
    pub certificate_nodes: u64,
    /// How structures are fitted.
    pub fit: AskedFit,
    /// [`SearchSettings::max_phi`].
    pub max_phi: Option<f64>,
    /// [`SearchSettings::max_cost`].
    pub max_cost: Option<f64>,
    /// [`Budget::max_evaluations`].
    pub max_evaluations: Option<u64>,
    /// [`Budget::max_seconds`].
    pub max_seconds: Option<f64>,
    /// [`Budget::threads`].
    pub threads: Option<usize>,
}

impl Default for AskedSearch {
    fn default() -> Self {
        let usual = SearchSettings::default();
        AskedSearch {
            objective: AskedObjective::default(),
            template: None,
            max_rank: None,
            strategy: StrategySpec::default(),
            runs: usual.runs,
            seed: usual.seed,
            prune: usual.prune,
            shrink: usual.shrink,
            direct: usual.direct,
            certificate_nodes: usual.certificate_nodes,
            fit: AskedFit::default(),
            max_phi: None,
            max_cost: None,
            max_evaluations: None,
            max_seconds: None,
            threads: None,
        }
    }
}

impl AskedSearch {
    fn is_auto(&self) -> bool {
        self.strategy.name == STRATEGIES[0].name
    }

    /// Whether ranks are found by the search itself, so that they need no limit.
    fn is_wide(&self) -> bool {
        let finds = self.is_auto() || ["walk", "formats", "trees"].contains(&&*self.strategy.name);
        finds && self.direct
    }

    /// The template: several formats for `auto`, where none is named.
    pub fn template(&self) -> &str {
        // Options of other strategies speak of one that searches a template.
        let several = self.is_auto() && self.are_of("formats") && self.direct;
        self.template.as_deref().unwrap_or(if several { "formats" } else { "ring" })
    }

    /// Whether the options given, if any, are options of a strategy.
    fn are_of(&self, strategy: &str) -> bool {
        let known = Description::named(strategy).map_or(&[][..], |d| d.options);
        self.strategy.options.keys().all(|name| known.iter().any(|o| o.name == name))
    }

    /// The strategy: where `auto` stands for another one, and options of that are given, that one.
    fn strategy(&self) -> StrategySpec {
        let stands_for = match self.template() {
            "formats" => "formats",
            "any-tree" => "trees",
            _ => STRATEGIES[0].name,
        };
        let mut strategy = self.strategy.clone();
        if self.is_auto() && !strategy.options.is_empty() && self.are_of(stands_for) {
            stands_for.clone_into(&mut strategy.name);
        }
        strategy
    }

    /// Structures with so many times the entries as params, or more, are not fitted: none that is as large as the
    /// tensor, and for the paper's strategies 10, as there.
    pub fn max_phi(&self) -> f64 {
        self.max_phi.unwrap_or(if self.is_wide() { WIDE_PHI } else { 10.0 })
    }

    /// The largest rank that any cut of the tensor can make use of; none where one is given.
    pub fn widest_rank(&self, dims: &[usize]) -> Option<usize> {
        (self.is_wide() && self.max_rank.is_none()).then(|| widest_rank(dims))
    }

    /// The settings, within so much memory; all that can be checked without data is. What follows from the tensor's
    /// shape ([`AskedSearch::widest_rank`]) is not among them.
    pub fn settings(&self, max_bytes: u64) -> Result<SearchSettings, SettingError> {
        let usual = SearchSettings::default();
        let settings = SearchSettings {
            objective: self.objective.check()?.get(),
            strategy: self.strategy(),
            max_rank: self.max_rank.unwrap_or(usual.max_rank),
            widest_rank: None,
            direct: self.direct,
            runs: self.runs,
            seed: self.seed,
            prune: self.prune,
            shrink: self.shrink,
            certificate_nodes: self.certificate_nodes,
            fit: self.fit.settings(None, max_bytes),
            rescue: self.fit.rescue,
            max_phi: self.max_phi(),
            max_cost: self.max_cost,
            budget: Budget {
                max_evaluations: self.max_evaluations,
                max_seconds: self.max_seconds,
                threads: self.threads,
                max_bytes: Some(max_bytes),
            },
        };
        settings.check_all()?;
        Ok(settings)
    }
}

impl SearchSettings {
    /// The settings of a search where nothing is said, for answers without a proof.
    pub fn unproven(dims: &[usize], max_bytes: u64) -> Self {
        let mut settings = SearchSettings {
            widest_rank: Some(widest_rank(dims)),
            max_phi: WIDE_PHI,
            certificate_nodes: 0,
            ..SearchSettings::default()
        };
        settings.fit.max_bytes = Some(max_bytes);
        settings.budget.max_bytes = Some(max_bytes);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::super::OptionKind;
    use super::*;

    #[test]
    fn what_is_not_said_follows_from_the_rest() {
        let mut asked = AskedSearch::default();
        assert_eq!(asked.widest_rank(&[100, 100, 4]), Some(200));
        asked.max_rank = Some(5);
        assert_eq!((asked.widest_rank(&[100, 100]), asked.max_phi()), (None, 1.0));
        asked.strategy = StrategySpec::new("tnls");
        assert_eq!((asked.template(), asked.max_phi()), ("ring", 10.0));
        asked.strategy = StrategySpec::new("walk");
        asked.direct = false;
        assert_eq!((asked.widest_rank(&[9, 9]), asked.max_phi()), (None, 10.0));
        asked.template = Some("path".to_owned());
        asked.max_phi = Some(2.0);
        assert_eq!((asked.template(), asked.max_phi()), ("path", 2.0));
        asked.runs = 0;
        assert!(asked.settings(1000).is_err());
    }

    #[test]
    fn options_of_what_auto_stands_for_are_taken() {
        let made = |template: Option<&str>, option: &str| {
            let strategy = StrategySpec::new("auto").set(option, 3);
            let template = template.map(str::to_owned);
            AskedSearch { strategy, template, ..AskedSearch::default() }
        };
        for description in STRATEGIES {
            for option in description.options.iter().filter(|o| o.kind == OptionKind::Count) {
                let asked = made(None, option.name);
                let of = |name: &str| asked.are_of(name);
                let settings = asked.settings(1000);
                match (of("formats"), of("auto")) {
                    (true, _) => {
                        assert_eq!(asked.template(), "formats", "{}", option.name);
                        assert_eq!(settings.unwrap().strategy.name, "formats", "{}", option.name);
                    }
                    (_, known) => {
                        assert_eq!(asked.template(), "ring", "{}", option.name);
                        assert_eq!(settings.is_ok(), known, "{}", option.name);
                    }
                }
            }
        }
        let trees = made(Some("any-tree"), "trees").settings(1000).unwrap();
        assert_eq!(trees.strategy.name, "trees");
        assert!(made(Some("ring"), "steps").settings(1000).is_err());
    }

    #[test]
    fn it_survives_json_and_strangers_are_refused() {
        let asked = AskedSearch { seed: 3, max_rank: Some(4), ..AskedSearch::default() };
        let text = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<AskedSearch>(&text).unwrap(), asked);
        assert_eq!(serde_json::from_str::<AskedSearch>("{}").unwrap(), AskedSearch::default());
        assert!(serde_json::from_str::<AskedSearch>(r#"{"max_rnak":1}"#).is_err());
    }
}
