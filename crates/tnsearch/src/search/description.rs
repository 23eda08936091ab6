//! What a strategy is, said once: its name, its options, which graphs it searches, whether it needs bounds, how it is
//! built. Command line, help, journal, report and tests read this.

use super::{SearchError, Strategy, strategies};
use crate::SettingError;
use crate::bound::{CutBound, Relaxation};
use crate::graph::{Structure, Template};
use crate::problem::{CheckedObjective, Stop};
use crate::registry::{Named, Registry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The largest rank of strategies that need one, where none is given.
pub(super) const MAX_RANK: usize = 7;

/// Which graphs a strategy proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Graphs {
    /// The template's.
    Template,
    /// Those of all formats: the complete graph, whatever the template.
    All,
    /// All trees, whatever the template: vertices with none, one or several modes.
    Trees,
    /// Several formats, trees and others.
    Formats,
}

/// What a strategy does with bounds on the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bounds {
    /// They may prune what it proposes, if anything.
    Optional,
    /// It works with them, and without them in another way.
    Useful,
    /// It cannot do without.
    Needed,
}

/// A strategy that can be asked for by its name.
pub struct Description {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What can be set.
    pub options: &'static [OptionDescription],
    /// Which graphs it searches.
    pub graphs: Graphs,
    /// What it does with bounds.
    pub bounds: Bounds,
    /// Whether it finds the ranks itself where it begins with direct methods, so that they need no limit.
    pub finds_ranks: bool,
    /// Whether it can search template `any`, which has every graph.
    pub any_graph: bool,
    /// Whether it is by the squared error on all entries, and by nothing else.
    pub least_squares: bool,
    /// Levenberg-Marquardt starts per fit that did not reach the error, unless others are asked for: more where few
    /// structures are fitted, each of which is worth more.
    pub rescue: usize,
    /// Structures are not fitted whose sweep takes more multiply-adds per entry, unless another limit is asked for.
    pub max_cost: Option<f64>,
    /// Checks its options.
    pub plan: MakePlan,
}

impl Description {
    /// A strategy that searches a template, without options; what is otherwise is changed.
    pub const fn new(name: &'static str, summary: &'static str, plan: MakePlan) -> Self {
        Description {
            name,
            summary,
            options: &[],
            graphs: Graphs::Template,
            bounds: Bounds::Optional,
            finds_ranks: false,
            any_graph: false,
            least_squares: false,
            rescue: 0,
            max_cost: None,
            plan,
        }
    }
}

/// What a strategy is planned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanFor {
    /// The largest rank that is proposed.
    pub max_rank: usize,
    /// Whether walks can go on from what direct methods give: there are such, by the squared error on all entries, and the
    /// template has a mode on every vertex.
    pub walks: bool,
}

/// Ranks up to a largest one, on a template that can be walked over.
impl From<usize> for PlanFor {
    fn from(max_rank: usize) -> Self {
        PlanFor { max_rank, walks: true }
    }
}

/// Checks options.
pub type MakePlan = fn(&Map<String, Value>, PlanFor) -> Result<Box<dyn Plan>, SettingError>;

/// An option of a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionDescription {
    /// Its name, with hyphens.
    pub name: &'static str,
    /// What stands for its value in help texts.
    pub value: &'static str,
    /// Which values it takes.
    pub kind: OptionKind,
    /// What it does.
    pub help: &'static str,
}

/// Which values an option takes; its range is checked with the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// A whole number of at least 1.
    Count,
    /// A whole number.
    Whole,
    /// Any number.
    Real,
}

/// Makes the descriptions of options read like a table.
pub const fn option(
    name: &'static str,
    value: &'static str,
    kind: OptionKind,
    help: &'static str,
) -> OptionDescription {
    OptionDescription { name, value, kind, help }
}

/// The strategies of this crate, the default first.
const OURS: [&Description; 12] = [
    &strategies::AUTO,
    &strategies::EXACT,
    &strategies::TNLS,
    &strategies::TNALE,
    &strategies::TNGA_PLUS,
    &strategies::ANNEALING,
    &strategies::RANDOM,
    &strategies::WALK,
    &strategies::GREEDY,
    &strategies::TNGA_STAR,
    &strategies::TREES,
    &strategies::FORMATS,
];

static STRATEGIES: Registry<Description> = Registry::new(&OURS);

impl Named for Description {
    const WHAT: &'static str = "strategy";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// The strategies there are, the default first: those of this crate, then those that were [registered](register_strategy).
pub fn strategies() -> Vec<&'static Description> {
    STRATEGIES.all()
}

/// Adds a strategy of another crate: from now on it can be asked for by its name, with its options, wherever those of
/// this crate can.
///
/// ```
/// use tnsearch::search::{Description, StrategySpec, TnlsSettings, register_strategy};
/// static QUICK: Description = Description::new("quick", "tnls with few samples", |_, plan| {
///     let settings = TnlsSettings::default().with(|s| (s.samples, s.max_rank) = (5, plan.max_rank));
///     Ok(Box::new(settings.check()?))
/// });
/// register_strategy(&QUICK).unwrap();
/// assert_eq!(StrategySpec::new("quick").check(4.into()).unwrap().settings()["samples"], 5);
/// // A name is taken once.
/// assert!(register_strategy(&QUICK).is_err());
/// ```
pub fn register_strategy(strategy: &'static Description) -> Result<(), SettingError> {
    STRATEGIES.add(strategy)
}

impl Description {
    /// The strategy of a name.
    ///
    /// ```
    /// let tnls = tnsearch::search::Description::named("tnls").unwrap();
    /// assert!(tnls.options.iter().any(|option| option.name == "samples"));
    /// ```
    pub fn named(name: &str) -> Result<&'static Description, SettingError> {
        STRATEGIES.named(name).ok_or_else(|| {
            let names: Vec<&str> = strategies().iter().map(|d| d.name).collect();
            SettingError::new("strategy", format!("'{name}'"), format!("use {}", names.join(", ")))
        })
    }

    /// The value of an option where it is not given; none where it follows from something else.
    pub fn default_of(&self, option: &str) -> Option<Value> {
        let plan = |walks| (self.plan)(&Map::new(), PlanFor { max_rank: MAX_RANK, walks }).ok();
        let value = |settings: Value| settings.get(option.replace('-', "_")).cloned();
        let of = |plan: Box<dyn Plan>| value(plan.settings()).or_else(|| value(plan.exact()?));
        of(plan(true)?).or_else(|| of(plan(false)?)).filter(|v| !v.is_null())
    }
}

/// A strategy by name, with the options that differ from its defaults. Serialisable, so that a search can be described
/// in a file or sent to another process.
///
/// ```
/// use tnsearch::search::StrategySpec;
/// let spec = StrategySpec::new("tnls").set("samples", 20).set("c1", 0.8);
/// let json = serde_json::to_string(&spec).unwrap();
/// assert_eq!(json, r#"{"name":"tnls","options":{"c1":0.8,"samples":20}}"#);
/// assert!(spec.check(7.into()).is_ok());
/// assert!(StrategySpec::new("tnls").set("radius", 2).check(7.into()).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StrategySpec {
    /// The strategy's name; left out: the default.
    #[serde(default = "default_name")]
    pub name: String,
    /// Its options by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
}

impl StrategySpec {
    /// A strategy with its defaults.
    pub fn new(name: impl Into<String>) -> Self {
        StrategySpec { name: name.into(), options: Map::new() }
    }

    /// The same with an option set.
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.options.insert(option.to_owned(), value.into());
        self
    }

    /// What is said about the strategy.
    pub fn description(&self) -> Result<&'static Description, SettingError> {
        Description::named(&self.name)
    }

    /// The strategy with all its settings, checked.
    pub fn check(&self, plan: PlanFor) -> Result<Box<dyn Plan>, SettingError> {
        let description = self.description()?;
        let known = |option: &String| description.options.iter().any(|o| o.name == option.as_str());
        if let Some(option) = self.options.keys().find(|option| !known(option)) {
            let own: Vec<String> =
                description.options.iter().map(|o| format!("--{}", o.name)).collect();
            let own = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            let text = format!("it is no option of strategy {}; its own are: {own}", self.name);
            return Err(SettingError::new(option.clone(), &self.options[option], text));
        }
        (description.plan)(&self.options, plan)
    }
}

impl Default for StrategySpec {
    fn default() -> Self {
        StrategySpec::new(default_name())
    }
}

fn default_name() -> String {
    OURS[0].name.to_owned()
}

/// A strategy with checked settings, from which any number of runs can be made.
pub trait Plan: Send + Sync {
    /// All its settings, for journals and reports.
    fn settings(&self) -> Value;

    /// Those of exact search, where it is a part.
    fn exact(&self) -> Option<Value> {
        None
    }

    /// The option that says how many structures a run has under way at a time, and its value.
    fn at_once(&self) -> (&'static str, usize) {
        ("runs", 1)
    }

    /// Which of the structures that direct methods give are fitted before all else.
    fn first(&self, context: &Context<'_>) -> Vec<Structure> {
        context.starts.unwrap_or_default().to_vec()
    }

    /// The strategy of a run.
    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError>;
}

/// What a strategy is made for.
pub struct Context<'c> {
    /// The template.
    pub template: &'c Arc<Template>,
    /// The tensor's dimensions.
    pub dims: &'c [usize],
    /// What is asked for.
    pub objective: CheckedObjective,
    /// The bounds from the tensor's cuts, where they are at hand.
    pub bound: Option<&'c CutBound>,
    /// Structures that direct methods give, of the template or (for [`Graphs::Formats`]) of several; none where the search
    /// is to begin at random.
    pub starts: Option<&'c [Structure]>,
    /// The largest rank of walks.
    pub widest_rank: usize,
    /// The entries of the tensor that is fitted.
    pub entries: usize,
    /// Seen by strategies that compute for long.
    pub stop: &'c Stop,
    pub(super) relaxation: &'c dyn Fn(&CutBound) -> Relaxation,
}

impl Context<'_> {
    /// The relaxed problem that nothing was taken from yet; all runs share its tables. None without bounds.
    pub fn relaxation(&self) -> Option<Relaxation> {
        self.bound.map(self.relaxation)
    }
}

/// Settings from options: the defaults where nothing is said, and the largest rank.
pub(super) fn settings_from<S: Default + Serialize + DeserializeOwned>(
    options: &Map<String, Value>,
    max_rank: usize,
) -> Result<S, SettingError> {
    let defaults = serde_json::to_value(S::default()).unwrap_or_default();
    let mut fields = defaults.as_object().cloned().unwrap_or_default();
    for (name, field) in &mut fields {
        if name == "max_rank" {
            *field = max_rank.into();
        } else if let Some(value) = options.get(&name.replace('_', "-")) {
            *field = value.clone();
        }
    }
    serde_json::from_value(Value::Object(fields.clone())).map_err(|e| {
        // The one that does not go alone is to blame.
        let wrong = options.iter().find(|(name, value)| {
            let mut one = defaults.as_object().cloned().unwrap_or_default();
            one.insert(name.replace('-', "_"), (*value).clone());
            serde_json::from_value::<S>(Value::Object(one)).is_err()
        });
        let (name, value) = wrong
            .map_or(("options".to_owned(), String::new()), |(n, v)| (n.clone(), v.to_string()));
        SettingError::new(name, value, format!("it must be a number of the right kind ({e})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_described_and_its_options_are_its_settings() {
        for description in OURS {
            let spec = StrategySpec::new(description.name);
            let plans = [true, false].map(|walks| PlanFor { max_rank: 5, walks });
            let used = plans.map(|plan| spec.check(plan).unwrap());
            assert!(used.iter().all(|plan| plan.settings()["max_rank"] == 5), "{}", spec.name);
            for option in description.options {
                let field = option.name.replace('-', "_");
                let has =
                    |v: Value| v.as_object().is_some_and(|fields| fields.contains_key(&field));
                let has = |plan: &dyn Plan| has(plan.settings()) || plan.exact().is_some_and(has);
                assert!(used.iter().any(|plan| has(&**plan)), "{}: {}", spec.name, option.name);
                for (plan, used) in plans.into_iter().zip(&used) {
                    // What a plan has is taken; what it has not is refused, never passed over.
                    let usual = description.default_of(option.name).unwrap_or_else(|| 1.into());
                    let taken = spec.clone().set(option.name, usual).check(plan);
                    assert_eq!(taken.is_ok(), has(&**used), "{}: {}", spec.name, option.name);
                    // A value that is no number is refused with the option's name.
                    let refused = spec.clone().set(option.name, "x").check(plan).err().unwrap();
                    assert_eq!(refused.name, option.name);
                }
            }
            assert_eq!(Description::named(description.name).unwrap().name, description.name);
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_known() {
        let error = StrategySpec::new("best").check(7.into()).err().unwrap().to_string();
        assert!(error.starts_with("strategy is 'best'; use auto, exact, tnls"), "{error}");
        let error =
            StrategySpec::new("tnls").set("radius", 3).check(7.into()).err().unwrap().to_string();
        assert!(
            error.contains("no option of strategy tnls") && error.contains("--samples"),
            "{error}"
        );
        let error =
            StrategySpec::new("greedy").set("radius", 3).check(7.into()).err().unwrap().to_string();
        assert!(error.ends_with("its own are: none"), "{error}");
    }
}
