//! `cargo xtask experiments <name>`: one file an experiment, listed in [`EXPERIMENTS`].

mod tnls_rates;

use crate::step;
use anyhow::Result;

/// An experiment: its name, what it shows, and what runs it (with the arguments after the name).
struct Experiment {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const EXPERIMENTS: &[Experiment] =
    &[Experiment { name: "tnls-rates", about: tnls_rates::ABOUT, run: tnls_rates::run }];

/// Runs the experiment named by the first argument.
pub fn run(arguments: &[String]) -> Result<()> {
    let list: String =
        EXPERIMENTS.iter().map(|e| format!("  {:<14}{}\n", e.name, e.about)).collect();
    let Some(name) = arguments.first() else {
        print!("Experiments (cargo xtask experiments <name> [options]):\n{list}");
        return Ok(());
    };
    match EXPERIMENTS.iter().find(|e| e.name == name) {
        Some(experiment) => (experiment.run)(&arguments[1..]),
        None => Err(step::usage(format!("unknown experiment '{name}'; there are:\n{list}"))),
    }
}
