//! The experiments: which tensors, which methods, how often.

use super::cell::{Attempt, Cell, Setup};
use super::method::MAX_COST;
use super::trial::{Recipe, letter};
use super::{Method, ReproduceError, figures, table};
use std::sync::Arc;
use tnsearch::fit::Method as Fit;
use tnsearch::problem::{Measure, Objective};
use tnsearch::rng::derived_seed;
use tnsearch::search::{TngaSettings, TnlsSettings};

/// What the paper measures errors by.
pub(super) static MEASURE: Measure = Measure::RSE;
/// The error of the synthetic experiments.
pub(super) const MAX_RSE: f64 = 1e-4;
/// The weight of the error in the paper's loss.
pub(super) const LAMBDA: f64 = 200.0;
/// The paper's largest rank.
pub(super) const MAX_RANK: usize = 7;

/// Runs of TNLS for each of the others in Table 3: pruned, they fit some dozens of structures, TNGA+ thousands.
pub(super) const TNLS_TIMES: usize = 4;

/// What the user can choose; by default the paper's experiments in full, with seed 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// A small version that shows the experiment works.
    pub quick: bool,
    /// Tensors of each kind; none: as many as in the paper.
    pub trials: Option<usize>,
    /// Runs of each sampling method on each tensor (four times as many of TNLS in Table 3); none: 5.
    pub runs: Option<usize>,
    /// Another seed, other tensors and other searches.
    pub seed: u64,
}

impl Options {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn trials(&self, paper: usize) -> usize {
        self.trials.unwrap_or(if self.quick { 1 } else { paper })
    }

    fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 2 } else { 5 })
    }
}

/// One result to be made.
#[derive(Clone)]
pub struct Task {
    /// Its name: what it depends on besides the options.
    pub key: String,
    /// The method's name.
    pub method: String,
    /// The template of the tensor.
    pub template: &'static str,
    /// The order of the tensor.
    pub order: usize,
    /// The number of the tensor, from 0.
    pub trial: usize,
    /// The run on it, from 0.
    pub run: usize,
    /// What is asked for.
    pub objective: Objective,
    recipe: Recipe,
    by: Arc<Method>,
    seed: u64,
    curve: bool,
}

impl Task {
    /// Makes the result.
    pub fn run(&self, setup: &Setup) -> Result<Cell, ReproduceError> {
        let trial = self.recipe.generate(self.seed, self.trial)?;
        let objective = self.objective.check()?;
        // Run k has the same seed with every method and on every tensor; they draw other things from it.
        let seed = derived_seed(self.seed, self.run);
        let (key, method, curve) = (&self.key, &self.by, self.curve);
        Attempt { key, method, trial: &trial, objective, seed, curve, setup }.run()
    }
}

/// What an experiment leaves behind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// Tables with the paper's numbers beside ours.
    pub markdown: String,
    /// Every result, a line each.
    pub csv: String,
    /// Names and texts of SVG pictures.
    pub figures: Vec<(String, String)>,
}

/// One of the paper's experiments.
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// The results it needs.
    pub tasks: Vec<Task>,
    options: Options,
}

impl Experiment {
    /// The experiments there are.
    pub const NAMES: [&str; 5] = ["table2", "table3", "fig-cover", "fig-convergence", "fig-lambda"];

    /// An experiment by its name, with further methods beside the paper's (tables and convergence).
    pub fn new(
        name: &str,
        options: Options,
        more: Vec<Method>,
    ) -> Result<Experiment, ReproduceError> {
        for (name, value) in [("trials", options.trials), ("runs", options.runs)] {
            if let Some(value) = value.filter(|n| !(1..=100).contains(n)) {
                let (value, expected) = (value.to_string(), "it must be from 1 to 100");
                return Err(ReproduceError::Option { name, value, expected });
            }
        }
        let unknown = || ReproduceError::Unknown { name: name.to_owned() };
        let name = Experiment::NAMES.into_iter().find(|n| *n == name).ok_or_else(unknown)?;
        let mut plan = Plan { options: &options, tasks: Vec::new() };
        match name {
            "table2" => plan.table2(more),
            "table3" => plan.table3(more),
            "fig-cover" => plan.cover(),
            "fig-convergence" => plan.convergence(more),
            _ => plan.lambda(),
        }
        let tasks = plan.tasks;
        for (k, task) in tasks.iter().enumerate() {
            if tasks[..k].iter().any(|earlier| earlier.key == task.key) {
                let (value, expected) =
                    (task.method.clone(), "every method needs a name of its own");
                return Err(ReproduceError::Option { name: "method", value, expected });
            }
        }
        Ok(Experiment { name, tasks, options })
    }

    /// The scouts of its fits, unless others are asked for: lattices and MERA have many local minima.
    pub fn scouts(&self, method: Fit) -> usize {
        match (self.name, method) {
            ("table3", Fit::Als | Fit::Lm) => 8,
            _ => 1,
        }
    }

    /// Tables and figures of the results there are, in any order.
    pub fn output(&self, cells: &[Cell], setup: &Setup) -> Output {
        let done: Vec<(&Task, &Cell)> = self
            .tasks
            .iter()
            .filter_map(|t| cells.iter().find(|c| c.key == t.key).map(|c| (t, c)))
            .collect();
        let mut markdown = table::heading(self.name, &self.options, setup, &done, self.tasks.len());
        let mut drawn = Vec::new();
        match self.name {
            "table2" => {
                markdown += &table::table2(&done);
                drawn.push(("table2.svg".to_owned(), figures::efficiency(&done)));
            }
            "table3" => {
                markdown += &table::table3(&done);
                drawn.push(("table3.svg".to_owned(), figures::efficiency(&done)));
            }
            "fig-cover" => {
                markdown += &table::cover(&done);
                drawn.push(("fig-cover.svg".to_owned(), figures::cover(&done)));
            }
            "fig-convergence" => {
                markdown += &table::convergence(&done);
                drawn.push(("fig-convergence.svg".to_owned(), figures::convergence(&done)));
            }
            _ => {
                markdown += &table::lambda(&done);
                drawn.push(("fig-lambda.svg".to_owned(), figures::lambda(&done)));
            }
        }
        Output { markdown, csv: table::csv(&done), figures: drawn }
    }
}

/// Tasks as they are collected.
struct Plan<'o> {
    options: &'o Options,
    tasks: Vec<Task>,
}

impl Plan<'_> {
    fn add(&mut self, recipe: &Recipe, trial: usize, by: &Arc<Method>, objective: Objective) {
        // The outcome with lambda stands beside; one run shows it.
        let most = if objective.max_error().is_some() { usize::MAX } else { 1 };
        self.add_runs(recipe, trial, by, objective, most);
    }

    fn add_runs(
        &mut self,
        recipe: &Recipe,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
        most: usize,
    ) {
        let runs = self.options.runs().saturating_mul(by.times);
        for run in 0..runs.min(by.max_runs).min(most) {
            self.add_run(recipe, trial, by, objective, run, false);
        }
    }

    fn add_run(
        &mut self,
        recipe: &Recipe,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
        run: usize,
        curve: bool,
    ) {
        let (template, order) = (recipe.template, recipe.order);
        let (what, _, value) = objective.parts(&MEASURE);
        let key = format!("{template}-{order} {} {} {run} {what} {value}", letter(trial), by.name);
        self.tasks.push(Task {
            key,
            method: by.name.clone(),
            template,
            order,
            trial,
            run,
            objective,
            recipe: recipe.clone(),
            by: by.clone(),
            seed: self.options.seed,
            curve,
        });
    }

    /// Table 2: rings of orders 4, 6 and 8, all methods.
    fn table2(&mut self, more: Vec<Method>) {
        let orders: &[usize] = if self.options.quick { &[4, 5] } else { &[4, 6, 8] };
        let (tnga, tnls) = (self.tnga(150), self.tnls());
        let methods: Vec<Arc<Method>> = [
            Method::tr_svd(),
            Method::tr_lm(),
            Method::tr_alsar(),
            Method::bayes_tr(),
            Method::greedy(),
            Method::tnga_star(&tnga),
            Method::tnga_plus(&tnga),
            Method::tnls(&tnls),
            Method::tnls_unpruned(&tnls),
            Method::tnale(),
            Method::exact(),
        ]
        .into_iter()
        .chain(more)
        .map(Arc::new)
        .collect();
        for &order in orders {
            for trial in 0..self.options.trials(5) {
                for by in &methods {
                    self.add(&Recipe::ring(order), trial, by, Objective::MaxError(MAX_RSE));
                    if by.takes_lambda && by.prune {
                        self.add(&Recipe::ring(order), trial, by, Objective::Lambda(LAMBDA));
                    }
                }
            }
        }
    }

    /// Table 3: the other formats.
    fn table3(&mut self, more: Vec<Method>) {
        let formats: &[(&str, usize)] = match self.options.quick {
            true => &[("tree", 5)],
            false => &[("tree", 7), ("peps:2x3", 6), ("ht", 6), ("mera", 8)],
        };
        let methods: Vec<Arc<Method>> = [
            Method { once_on_mera: true, ..Method::tnga_plus(&self.tnga(120)) },
            Method { times: TNLS_TIMES, ..Method::tnls(&self.tnls()) },
            Method::greedy(),
            Method { once_on_mera: true, ..Method::tnale() },
            Method::exact(),
        ]
        .into_iter()
        .chain(more)
        // The hidden structures are smaller than their tensors.
        .map(|method| Arc::new(Method { max_phi: 1.0, max_cost: Some(MAX_COST), ..method }))
        .collect();
        for &(template, order) in formats {
            for trial in 0..self.options.trials(4) {
                for by in &methods {
                    let recipe = Recipe::other(template, order);
                    let most = if template == "mera" && by.once_on_mera { 1 } else { usize::MAX };
                    self.add_runs(&recipe, trial, by, Objective::MaxError(MAX_RSE), most);
                }
            }
        }
    }

    /// Figure 1: the ranks that an order-4 tensor needs on the three different rings through its modes.
    fn cover(&mut self) {
        let recipe = Recipe { dim: 5, ranks: (2, 3), ..Recipe::ring(4) };
        for trial in 0..self.options.trials(20) {
            for (k, permutation) in [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]].iter().enumerate() {
                let method = Method::ranks_only(permutation.to_vec());
                let by = Arc::new(Method { name: format!("map {}", k + 1), ..method });
                self.add_run(&recipe, trial, &by, Objective::MaxError(MAX_RSE), 0, false);
            }
        }
    }

    /// The figure of the loss against evaluations: lambda = 200, populations and samples of 60 and 100.
    fn convergence(&mut self, more: Vec<Method>) {
        let orders: &[usize] = if self.options.quick { &[5] } else { &[8, 12] };
        let mut methods = Vec::new();
        for size in if self.options.quick { vec![10] } else { vec![60, 100] } {
            let samples = self.tnls().with(|s| s.samples = size);
            let named = |m: Method| Method { name: format!("{} ({size})", m.name), ..m };
            methods.push(named(Method::tnga_plus(&self.tnga(size))));
            methods.push(named(Method::tnls_unpruned(&samples)));
            methods.push(named(Method::tnls(&samples)));
        }
        let methods: Vec<Arc<Method>> = methods.into_iter().chain(more).map(Arc::new).collect();
        for &order in orders {
            for by in &methods {
                for run in 0..self.options.runs() {
                    let objective = Objective::Lambda(LAMBDA);
                    self.add_run(&Recipe::ring(order), 0, by, objective, run, true);
                }
            }
        }
    }

    /// The figure of RSE and Eff. against lambda.
    fn lambda(&mut self) {
        let orders: &[usize] = if self.options.quick { &[4] } else { &[4, 6, 8] };
        let by = Arc::new(Method::tnls(&self.tnls()));
        for &order in orders {
            for trial in 0..self.options.trials(5) {
                for lambda in [0.1, 1.0, 10.0, 100.0, 1000.0] {
                    let recipe = Recipe::ring(order);
                    self.add_run(&recipe, trial, &by, Objective::Lambda(lambda), 0, false);
                }
            }
        }
    }

    fn tnls(&self) -> TnlsSettings {
        match self.options.quick {
            true => TnlsSettings::default().with(|s| (s.iterations, s.samples) = (6, 20)),
            false => TnlsSettings::default(),
        }
    }

    fn tnga(&self, population: usize) -> TngaSettings {
        match self.options.quick {
            true => TngaSettings::default().with(|s| (s.generations, s.population) = (5, 20)),
            false => TngaSettings::default().with(|s| s.population = population),
        }
    }
}

impl Task {
    /// What is asked for, checked already.
    pub(super) fn is_lambda(&self) -> bool {
        self.objective.lambda().is_some()
    }
}
