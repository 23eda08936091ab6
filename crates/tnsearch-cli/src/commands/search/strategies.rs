//! `--strategy`: which there are, their options, and the settings that follow.

use super::super::options::{count, real, whole};
use super::MAX_GENERATION;
use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::bound::{CutBound, Relaxation};
use tnsearch::graph::{GraphError, Template};
use tnsearch::problem::CheckedObjective;
use tnsearch::search::{
    Annealing, AnnealingSettings, Auto, CheckedAnnealing, CheckedExact, CheckedGreedy,
    CheckedRandom, CheckedTnale, CheckedTnga, CheckedTnls, Exact, ExactSettings, Greedy,
    GreedySettings, RandomSearch, RandomSettings, Strategy, Tnale, TnaleSettings, Tnga,
    TngaSettings, Tnls, TnlsSettings,
};

/// The strategies there are, each with the options it knows.
const STRATEGIES: [(&str, &[&str]); 9] = [
    ("auto", &["nodes", "iterations", "samples", "c1", "c2"]),
    ("exact", &["nodes", "iterations", "samples", "c1", "c2"]),
    ("tnls", &["iterations", "samples", "c1", "c2"]),
    ("tnale", &["iterations", "radius", "init-iterations", "init-radius"]),
    ("tnga-plus", GENETIC),
    ("tnga-star", GENETIC),
    ("greedy", &[]),
    ("annealing", &["iterations", "samples", "c1", "c2", "temperature", "cooling"]),
    ("random", &["iterations", "samples"]),
];

const GENETIC: &[&str] =
    &["generations", "population", "elimination", "reproduction", "alpha", "beta", "mutation"];

/// What `auto` spends on exact search before it turns to TNLS.
const AUTO: ExactSettings =
    ExactSettings { nodes: 1_000_000, candidates: 256, retries: 24, growth: 0 };

/// Structures over the complete graph are not fitted where a sweep costs more than this many multiply-adds an
/// entry of the tensor: with few parameters they can still take hours.
const COMPLETE_MAX_COST: f64 = 1000.0;

/// How structures are proposed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct StrategyOptions {
    /// How structures are proposed: exact (proven best first); tnls (the paper's local sampling); tnale
    /// (alternating enumeration); tnga-plus (genetic); annealing; random; over all graphs, leaving the
    /// template: tnga-star (genetic), greedy; or auto: exact while it is affordable, then tnls
    #[arg(long = "strategy", value_name = "NAME", default_value = "auto")]
    pub name: String,
    /// Rounds of TNLS, of random search and of TnALE (after its initial ones); temperatures of annealing [default:
    /// 30]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    iterations: Option<usize>,
    /// Structures a round (tnls, random, annealing) [default: 60]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    samples: Option<usize>,
    /// How fast rank steps shrink (tnls, annealing); variance C1^(m-1) in round m [default: 0.9]
    #[arg(long, value_name = "C1", value_parser = real, allow_negative_numbers = true)]
    c1: Option<f64>,
    /// How fast swaps get rarer (tnls, annealing); probability C2^(m-1) in round m [default: by order, 0.9 to
    /// 0.98]
    #[arg(long, value_name = "C2", value_parser = real, allow_negative_numbers = true)]
    c2: Option<f64>,
    /// Nodes of the branch and bound that exact search may expand [default: 5000000, auto: 1000000]
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true)]
    nodes: Option<u64>,
    /// How far TnALE moves a rank [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    radius: Option<usize>,
    /// Rounds of TnALE that estimate by interpolation at most [default: 2]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    init_iterations: Option<usize>,
    /// How far TnALE moves a rank in those [default: 2]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    init_radius: Option<usize>,
    /// Generations of a genetic search [default: 30]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    generations: Option<usize>,
    /// Structures a generation [default: 150]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    population: Option<usize>,
    /// The part of a generation that has no children [default: 0.36]
    #[arg(long, value_name = "P", value_parser = real, allow_negative_numbers = true)]
    elimination: Option<f64>,
    /// How many of the best go on unchanged [default: 2]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    reproduction: Option<usize>,
    /// Parent k = 0, 1, ... is drawn with weight ln(ALPHA / (0.01 + BETA k)) [default: 20]
    #[arg(long, value_name = "ALPHA", value_parser = real, allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// See --alpha [default: 1]
    #[arg(long, value_name = "BETA", value_parser = real, allow_negative_numbers = true)]
    beta: Option<f64>,
    /// The probability that a gene (a rank, a place) of a child is drawn anew [default: 0.24]
    #[arg(long, value_name = "P", value_parser = real, allow_negative_numbers = true)]
    mutation: Option<f64>,
    /// The first temperature of annealing, in units of the loss [default: 1]
    #[arg(long, value_name = "T", value_parser = real, allow_negative_numbers = true)]
    temperature: Option<f64>,
    /// What a temperature is multiplied by to give the next [default: 0.8]
    #[arg(long, value_name = "C", value_parser = real, allow_negative_numbers = true)]
    cooling: Option<f64>,
}

/// A strategy with its checked settings.
pub enum Plan {
    /// Exact search, then TNLS where that is not enough; only `auto` does without bounds.
    Auto(CheckedTnls, CheckedExact),
    Exact(CheckedTnls, CheckedExact),
    Tnls(CheckedTnls),
    Tnale(CheckedTnale),
    TngaPlus(CheckedTnga),
    TngaStar(CheckedTnga),
    Greedy(CheckedGreedy),
    Annealing(CheckedAnnealing),
    Random(CheckedRandom),
}

/// What a strategy is made for.
pub struct Setting<'a> {
    pub template: &'a Arc<Template>,
    pub dims: &'a [usize],
    pub objective: CheckedObjective,
    pub bound: Option<&'a CutBound>,
    pub relax: &'a dyn Fn(&'a CutBound) -> Relaxation,
}

impl StrategyOptions {
    /// The options that were given, by name.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("iterations", self.iterations.is_some()),
            ("samples", self.samples.is_some()),
            ("c1", self.c1.is_some()),
            ("c2", self.c2.is_some()),
            ("nodes", self.nodes.is_some()),
            ("radius", self.radius.is_some()),
            ("init-iterations", self.init_iterations.is_some()),
            ("init-radius", self.init_radius.is_some()),
            ("generations", self.generations.is_some()),
            ("population", self.population.is_some()),
            ("elimination", self.elimination.is_some()),
            ("reproduction", self.reproduction.is_some()),
            ("alpha", self.alpha.is_some()),
            ("beta", self.beta.is_some()),
            ("mutation", self.mutation.is_some()),
            ("temperature", self.temperature.is_some()),
            ("cooling", self.cooling.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// The strategy and its settings, all checked; `runs` of it are to be made.
    pub fn plan(&self, max_rank: usize, runs: usize) -> anyhow::Result<Plan> {
        let Some((name, known)) = STRATEGIES.iter().find(|(name, _)| *name == self.name) else {
            let names: Vec<&str> = STRATEGIES.iter().map(|(name, _)| *name).collect();
            bail!("unknown strategy '{}'; use {}", self.name, names.join(", "));
        };
        if let Some(option) = self.given().into_iter().find(|option| !known.contains(option)) {
            let knows: Vec<String> = known.iter().map(|o| format!("--{o}")).collect();
            let knows = if knows.is_empty() { "none".to_owned() } else { knows.join(", ") };
            bail!("--{option} is no option of strategy {name}; its own are: {knows}");
        }
        let plan = self.checked(max_rank)?;
        let (option, at_once) = plan.at_once();
        if runs.saturating_mul(at_once) > MAX_GENERATION {
            bail!(
                "--runs {runs} times --{option} {at_once} is more than {MAX_GENERATION} structures \
                 at a time; use fewer of either"
            );
        }
        Ok(plan)
    }

    fn checked(&self, max_rank: usize) -> anyhow::Result<Plan> {
        let exact = |of: ExactSettings| {
            ExactSettings { nodes: self.nodes.unwrap_or(of.nodes), ..of }.check()
        };
        Ok(match self.name.as_str() {
            "auto" => Plan::Auto(self.tnls(max_rank)?, exact(AUTO)?),
            "exact" => Plan::Exact(self.tnls(max_rank)?, exact(ExactSettings::default())?),
            "tnale" => Plan::Tnale(self.tnale(max_rank)?),
            "tnga-plus" => Plan::TngaPlus(self.tnga(max_rank)?),
            "tnga-star" => Plan::TngaStar(self.tnga(max_rank)?),
            "greedy" => Plan::Greedy(GreedySettings { max_rank }.check()?),
            "annealing" => Plan::Annealing(self.annealing(max_rank)?),
            "random" => {
                let of = RandomSettings::default();
                let settings = RandomSettings {
                    iterations: self.iterations.unwrap_or(of.iterations),
                    samples: self.samples.unwrap_or(of.samples),
                    max_rank,
                };
                Plan::Random(settings.check()?)
            }
            _ => Plan::Tnls(self.tnls(max_rank)?),
        })
    }

    fn tnls(&self, max_rank: usize) -> anyhow::Result<CheckedTnls> {
        let of = TnlsSettings::default();
        let settings = TnlsSettings {
            iterations: self.iterations.unwrap_or(of.iterations),
            samples: self.samples.unwrap_or(of.samples),
            c1: self.c1.unwrap_or(of.c1),
            c2: self.c2,
            max_rank,
        };
        Ok(settings.check()?)
    }

    fn tnale(&self, max_rank: usize) -> anyhow::Result<CheckedTnale> {
        let of = TnaleSettings::default();
        let settings = TnaleSettings {
            init_iterations: self.init_iterations.unwrap_or(of.init_iterations),
            init_radius: self.init_radius.unwrap_or(of.init_radius),
            iterations: self.iterations.unwrap_or(of.iterations),
            radius: self.radius.unwrap_or(of.radius),
            max_rank,
        };
        Ok(settings.check()?)
    }

    fn tnga(&self, max_rank: usize) -> anyhow::Result<CheckedTnga> {
        let of = TngaSettings::default();
        let settings = TngaSettings {
            generations: self.generations.unwrap_or(of.generations),
            population: self.population.unwrap_or(of.population),
            elimination: self.elimination.unwrap_or(of.elimination),
            reproduction: self.reproduction.unwrap_or(of.reproduction),
            alpha: self.alpha.unwrap_or(of.alpha),
            beta: self.beta.unwrap_or(of.beta),
            mutation: self.mutation.unwrap_or(of.mutation),
            max_rank,
        };
        Ok(settings.check()?)
    }

    fn annealing(&self, max_rank: usize) -> anyhow::Result<CheckedAnnealing> {
        let of = AnnealingSettings::default();
        let settings = AnnealingSettings {
            iterations: self.iterations.unwrap_or(of.iterations),
            samples: self.samples.unwrap_or(of.samples),
            c1: self.c1.unwrap_or(of.c1),
            c2: self.c2,
            temperature: self.temperature.unwrap_or(of.temperature),
            cooling: self.cooling.unwrap_or(of.cooling),
            max_rank,
        };
        Ok(settings.check()?)
    }
}

impl Plan {
    /// The option that says how many structures a run has under way at a time, and its value.
    fn at_once(&self) -> (&'static str, usize) {
        match self {
            Plan::Auto(tnls, _) | Plan::Exact(tnls, _) | Plan::Tnls(tnls) => {
                ("samples", tnls.samples)
            }
            Plan::Random(random) => ("samples", random.samples),
            Plan::TngaPlus(tnga) | Plan::TngaStar(tnga) => ("population", tnga.population),
            // A window of ranks is enumerated at once.
            Plan::Tnale(tnale) => {
                let radius = tnale.radius.max(tnale.init_radius);
                ("radius", radius.saturating_mul(2).saturating_add(1).min(tnale.max_rank))
            }
            _ => ("runs", 1),
        }
    }

    /// Whether it cannot do without bounds.
    pub fn needs_bounds(&self) -> bool {
        matches!(self, Plan::Exact(..))
    }

    /// Whether it searches the graphs of all formats instead of the template.
    pub fn leaves_template(&self) -> bool {
        matches!(self, Plan::TngaStar(_) | Plan::Greedy(_))
    }

    /// What [`tnsearch::search::RunnerSettings`]'s `max_cost` is where nothing else was asked for.
    pub fn max_cost(&self) -> Option<f64> {
        self.leaves_template().then_some(COMPLETE_MAX_COST)
    }

    /// The settings, for reports and journals.
    pub fn settings(&self) -> Value {
        match self {
            Plan::Auto(tnls, _) | Plan::Exact(tnls, _) | Plan::Tnls(tnls) => json!(**tnls),
            Plan::Tnale(tnale) => json!(**tnale),
            Plan::TngaPlus(tnga) | Plan::TngaStar(tnga) => json!(**tnga),
            Plan::Greedy(greedy) => json!(**greedy),
            Plan::Annealing(annealing) => json!(**annealing),
            Plan::Random(random) => json!(**random),
        }
    }

    /// The settings of exact search, where it is a part.
    pub fn exact(&self) -> Option<&CheckedExact> {
        match self {
            Plan::Auto(_, exact) | Plan::Exact(_, exact) => Some(exact),
            _ => None,
        }
    }

    /// The strategy of a run.
    pub fn strategy<'a>(
        &self,
        setting: &Setting<'a>,
        seed: u64,
    ) -> Result<Box<dyn Strategy + 'a>, GraphError> {
        let &Setting { template, dims, objective, bound, relax } = setting;
        let template = template.clone();
        Ok(match (self, bound) {
            (Plan::Auto(tnls, settings) | Plan::Exact(tnls, settings), Some(bound)) => {
                let exact = Exact::new(relax(bound), objective, settings.clone());
                Box::new(Auto::new(exact, template, tnls.clone(), seed))
            }
            (Plan::Auto(tnls, _) | Plan::Exact(tnls, _) | Plan::Tnls(tnls), _) => {
                Box::new(Tnls::new(template, tnls.clone(), seed))
            }
            (Plan::Tnale(s), _) => {
                Box::new(Tnale::new(&template, dims, objective, s.clone(), seed))
            }
            (Plan::TngaPlus(s), _) => Box::new(Tnga::plus(template, s.clone(), seed)),
            (Plan::TngaStar(s), _) => Box::new(Tnga::star(dims.len(), s.clone(), seed)?),
            (Plan::Greedy(s), _) => Box::new(Greedy::new(dims.len(), objective, s.clone())?),
            (Plan::Annealing(s), _) => Box::new(Annealing::new(template, s.clone(), seed)),
            (Plan::Random(s), _) => Box::new(RandomSearch::new(template, s.clone(), seed)),
        })
    }
}
