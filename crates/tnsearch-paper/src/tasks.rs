//! The results that an experiment needs, as they are collected.

use super::cell::{Attempt, Cell, Made, Setup};
use super::trial::{Recipe, Source, letter};
use super::{MEASURE, Method, Options, ReproduceError};
use std::sync::Arc;
use tnsearch::problem::Objective;
use tnsearch::rng::derived_seed;
use tnsearch::search::{TngaSettings, TnlsSettings};
use tnsearch_io::Picture;

/// One result to be made.
#[derive(Clone)]
pub struct Task {
    /// Its name: what it depends on besides the options.
    pub key: String,
    /// The method's name.
    pub method: String,
    /// The template of the tensor.
    pub template: &'static str,
    /// What was done to a picture; empty for generated tensors.
    pub variant: &'static str,
    /// The order of the tensor.
    pub order: usize,
    /// The number of the tensor, from 0.
    pub trial: usize,
    /// What the tensor is called: A, B, C, ..., or by the name of a picture.
    pub name: String,
    /// The run on it, from 0.
    pub run: usize,
    /// What is asked for.
    pub objective: Objective,
    source: Source,
    by: Arc<Method>,
    seed: u64,
    curve: bool,
}

impl Task {
    /// Makes the result.
    pub fn run(&self, setup: &Setup) -> Result<Cell, ReproduceError> {
        self.make(setup).map(|made| made.cell)
    }

    /// Makes the result and, of a picture, what became of it.
    pub fn make(&self, setup: &Setup) -> Result<Made, ReproduceError> {
        let trial = self.source.trial(self.seed, self.trial, &setup.stop)?;
        let objective = trial.objective(self.objective).check()?;
        // Run k has the same seed with every method and on every tensor; they draw other things from it.
        let seed = derived_seed(self.seed, self.run);
        let (key, method, curve) = (&self.key, &self.by, self.curve);
        Attempt { key, method, trial: &trial, objective, seed, curve, setup }.run()
    }

    /// What is asked for, checked already.
    pub(super) fn is_lambda(&self) -> bool {
        self.objective.lambda().is_some()
    }

    /// The files of the pictures that came of it, by their names in the folder of results.
    pub fn files<'p>(&self, shown: &'p super::Shown) -> Vec<(String, &'p Picture)> {
        let file = |what: &str| super::gallery_table::file(self.variant, &self.name, what);
        let holes = shown.holes.as_ref().map(|holes| (file("holes"), holes));
        let found = super::gallery_table::found(self);
        let all = [(file("original"), &shown.original), (found, &shown.found)];
        all.into_iter().chain(holes).collect()
    }
}

/// Tasks as they are collected.
pub(super) struct TaskList<'o> {
    pub options: &'o Options,
    pub tasks: Vec<Task>,
}

impl TaskList<'_> {
    pub fn add(&mut self, recipe: &Recipe, trial: usize, by: &Arc<Method>, objective: Objective) {
        // The outcome with lambda stands beside; one run shows it.
        let most = if objective.max_error().is_some() { usize::MAX } else { 1 };
        self.add_runs(recipe, trial, by, objective, most);
    }

    pub fn add_runs(
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

    pub fn add_run(
        &mut self,
        recipe: &Recipe,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
        run: usize,
        curve: bool,
    ) {
        let (template, order) = (recipe.template, recipe.order);
        let data = format!("{template}-{order} {}", letter(trial));
        let source = Source::Hidden(recipe.clone());
        let task = Task {
            template,
            order,
            name: letter(trial),
            curve,
            ..self.task(&data, source, trial, by, objective, run)
        };
        self.tasks.push(task);
    }

    /// Results on a picture, by a ring of its order: one run, or as many as are asked for where they differ.
    pub fn add_picture(
        &mut self,
        shot: &Arc<super::pictures::Shot>,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
    ) {
        let data = format!("{} {}", shot.variant.name(), shot.name);
        for run in 0..self.options.runs.unwrap_or(1).min(by.max_runs) {
            let source = Source::Picture(shot.clone());
            let task = Task {
                template: "ring",
                variant: shot.variant.name(),
                order: shot.order(),
                name: shot.name.clone(),
                ..self.task(&data, source, trial, by, objective, run)
            };
            self.tasks.push(task);
        }
    }

    /// Results on the mean of a model.
    pub fn add_process(
        &mut self,
        study: &Arc<super::processes::Study>,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
    ) {
        let (name, data) = (study.recipe.name, study.key());
        for run in 0..self.options.runs.unwrap_or(1).min(by.max_runs) {
            let source = Source::Process(study.clone());
            let task = Task {
                template: "ring",
                order: study.recipe.features,
                name: name.to_owned(),
                ..self.task(&data, source, trial, by, objective, run)
            };
            self.tasks.push(task);
        }
    }

    fn task(
        &self,
        data: &str,
        source: Source,
        trial: usize,
        by: &Arc<Method>,
        objective: Objective,
        run: usize,
    ) -> Task {
        let (what, _, value) = objective.parts(&MEASURE);
        Task {
            key: format!("{data} {} {run} {what} {value}", by.name),
            method: by.name.clone(),
            template: "",
            variant: "",
            order: 0,
            trial,
            name: String::new(),
            run,
            objective,
            source,
            by: by.clone(),
            seed: self.options.seed,
            curve: false,
        }
    }

    pub fn tnls(&self) -> TnlsSettings {
        match self.options.quick {
            true => TnlsSettings::default().with(|s| (s.iterations, s.samples) = (6, 20)),
            false => TnlsSettings::default(),
        }
    }

    pub fn tnga(&self, population: usize) -> TngaSettings {
        match self.options.quick {
            true => TngaSettings::default().with(|s| (s.generations, s.population) = (5, 20)),
            false => TngaSettings::default().with(|s| s.population = population),
        }
    }
}
