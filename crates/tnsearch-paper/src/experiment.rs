//! An experiment by its name: the results it needs, and what is made of them.

use super::experiments::{Description, EXPERIMENTS};
use super::tasks::{Task, TaskList};
use super::{Cell, Method, Options, ReproduceError, Setup, table};
use tnsearch::fit::Method as Fit;

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
    description: &'static Description,
    options: Options,
}

impl Experiment {
    /// The experiments there are.
    pub const NAMES: [&str; EXPERIMENTS.len()] = {
        let mut names = [""; EXPERIMENTS.len()];
        let mut k = 0;
        while k < names.len() {
            names[k] = EXPERIMENTS[k].name;
            k += 1;
        }
        names
    };

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
        let description = EXPERIMENTS.into_iter().find(|d| d.name == name).ok_or_else(unknown)?;
        let mut plan = TaskList { options: &options, tasks: Vec::new() };
        (description.plan)(&mut plan, more)?;
        let tasks = plan.tasks;
        for (k, task) in tasks.iter().enumerate() {
            if tasks[..k].iter().any(|earlier| earlier.key == task.key) {
                let (value, expected) =
                    (task.method.clone(), "every method needs a name of its own");
                return Err(ReproduceError::Option { name: "method", value, expected });
            }
        }
        Ok(Experiment { name: description.name, tasks, description, options })
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
        let Description { name, tables, figure, csv, .. } = self.description;
        let heading = table::heading(name, &self.options, setup, &done, self.tasks.len());
        Output {
            markdown: heading + &tables(&done),
            csv: csv(&done),
            figures: vec![(format!("{name}.svg"), figure(&done))],
        }
    }
}
