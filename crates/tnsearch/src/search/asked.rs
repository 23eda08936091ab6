//! A search in the words of users: what the command line and Python take, and what follows where nothing is said.

use super::{Budget, SearchSettings, StrategySpec};
use crate::SettingError;
use crate::fit::AskedFit;
use crate::problem::AskedObjective;
use serde::{Deserialize, Serialize};

/// What is asked of a search; every part may be left out.
///
/// ```
/// use tnsearch::search::AskedSearch;
/// let asked = AskedSearch::default();
/// assert_eq!(asked.settings(1 << 30).unwrap().default_template(), "formats");
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
    /// The settings, within so much memory; all that can be checked without data is.
    pub fn settings(&self, max_bytes: u64) -> Result<SearchSettings, SettingError> {
        let settings = SearchSettings {
            objective: self.objective.check()?.get(),
            strategy: self.strategy.clone(),
            max_rank: self.max_rank,
            direct: self.direct,
            runs: self.runs,
            seed: self.seed,
            prune: self.prune,
            shrink: self.shrink,
            split: true,
            certificate_nodes: self.certificate_nodes,
            fit: self.fit.settings(None, max_bytes),
            rescue: self.fit.rescue,
            max_phi: self.max_phi,
            max_cost: self.max_cost,
            budget: Budget {
                max_evaluations: self.max_evaluations,
                max_seconds: self.max_seconds,
                threads: self.threads,
                max_bytes: Some(max_bytes),
            },
        };
        settings.check_all(self.template.as_deref())?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_is_nothing_set() {
        let mut usual = SearchSettings::default();
        usual.fit.max_bytes = Some(1000);
        usual.budget.max_bytes = Some(1000);
        assert_eq!(AskedSearch::default().settings(1000).unwrap(), usual);
        let none = AskedSearch { runs: 0, ..AskedSearch::default() };
        assert!(none.settings(1000).is_err());
    }

    #[test]
    fn wrong_options_are_refused_before_there_are_data() {
        let asked = |template: Option<&str>, option: &str| {
            let strategy = StrategySpec::default().set(option, 3);
            let template = template.map(str::to_owned);
            let asked = AskedSearch { strategy, template, ..AskedSearch::default() };
            asked.settings(1000).map_err(|e| e.to_string())
        };
        for option in ["trees", "steps", "patience"] {
            assert_eq!(asked(None, option).unwrap().default_template(), "formats", "{option}");
        }
        assert!(asked(Some("any-tree"), "trees").is_ok());
        assert!(asked(Some("ring"), "steps").is_ok());
        // Whether entries are missing is not known yet.
        assert!(asked(Some("ring"), "samples").is_ok());
        assert!(asked(Some("ring"), "trees").unwrap_err().contains("no option of strategy auto"));
        assert!(asked(Some("any-tree"), "steps").is_err());
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
