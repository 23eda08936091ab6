//! `cargo xtask experiments <name>`: one file per experiment, listed in [`EXPERIMENTS`].

mod certified;
mod real;
mod scaling;
mod starts;
mod tnls_rates;

use crate::{artifact, step};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{env, fs};

/// An experiment: its name, what it shows, and what runs it (with the arguments after the name).
struct Experiment {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const EXPERIMENTS: &[Experiment] = &[
    Experiment { name: "tnls-rates", about: tnls_rates::ABOUT, run: tnls_rates::run },
    Experiment { name: "certified", about: certified::ABOUT, run: certified::run },
    Experiment { name: "real", about: real::ABOUT, run: real::run },
    Experiment { name: "scaling", about: scaling::ABOUT, run: scaling::run },
    Experiment { name: "starts", about: starts::ABOUT, run: starts::run },
];

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

/// The command under test: what the variable TNSEARCH names, else a release build.
fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("TNSEARCH") {
        let path = PathBuf::from(path);
        return fs::canonicalize(&path)
            .with_context(|| format!("TNSEARCH names {}, which is not there", path.display()));
    }
    step::step("building tnsearch", || {
        artifact::executable(&["build", "--release", "-p", "tnsearch-cli"], "tnsearch")
    })
}

fn whole(word: &str) -> Result<usize> {
    usize::from_str(word).with_context(|| format!("'{word}' is not a whole number"))
}

/// Whole numbers with commas between.
fn number_list(words: &str) -> Result<Vec<usize>> {
    words.split(',').map(whole).collect()
}

fn read(path: &Path) -> Result<Value> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle() {
        assert_eq!(median([4.0, 1.0, 2.0, 8.0].into_iter()), 3.0);
    }
}
