//! Options that commands share, and how their values are read.

use super::data::warn_rounded;
use crate::text::number;
use anyhow::{anyhow, bail};
use clap::Args;
use std::path::Path;
use std::str::FromStr;
use tnsearch::SettingError;
use tnsearch::fit::{AskedFit, Method};
use tnsearch::graph::{GraphError, Template, family_list};
use tnsearch::problem::{AskedObjective, CheckedObjective, LossSpec, Target, loss_list};
use tnsearch::search::{Budget, SearchSettings};
use tnsearch::tensor::Kind;
use tnsearch_io::{FileError, MemoryLimit, Problem, read_tensor, split_key};

/// How far a network is from the data.
#[derive(Debug, Clone, Default, Args)]
pub struct LossOptions {
    #[arg(long, value_name = "LOSS", value_parser = loss, help = loss_help(), help_heading = "Objective")]
    loss: Option<LossSpec>,
}

impl LossOptions {
    /// The loss, the squared error by default.
    pub fn spec(&self) -> LossSpec {
        self.loss.clone().unwrap_or_default()
    }

    /// Refuses a loss that nothing can be proven about.
    pub fn check_bounds(&self) -> Result<(), SettingError> {
        match self.spec() {
            squared if squared.is_default() => Ok(()),
            other => {
                let expected = "the cuts of a tensor bound only the squared error";
                Err(SettingError::new("loss", other, expected))
            }
        }
    }
}

/// What `--help` says about losses.
fn loss_help() -> String {
    format!("How far a network is from the data: {} [default: squared]", loss_list())
}

/// The name of a loss.
fn loss(text: &str) -> Result<LossSpec, String> {
    text.parse().map_err(|e: SettingError| e.expected.into_owned())
}

/// What is looked for.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct ObjectiveOptions {
    #[command(flatten)]
    pub loss: LossOptions,
    /// Fewest params with an error by --loss of at most this, in units of what a network that knows nothing has (for kl
    /// and poisson a constant, else zero) [default for losses other than squared: 0.01]
    #[arg(long, group = "objective", value_name = "E", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_loss: Option<f64>,
    /// Minimise phi + L * RSE (the paper's loss), or phi + L * the error by --loss
    #[arg(long, group = "objective", value_name = "L", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    lambda: Option<f64>,
    /// Fewest params with a relative error (RE) of at most this: 0.01 is one percent [default objective: 0.01]
    #[arg(long, group = "objective", value_name = "RE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_re: Option<f64>,
    /// The same by the RSE, which is the square of the RE: --max-rse 1e-4 is --max-re 0.01
    #[arg(long, group = "objective", value_name = "RSE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_rse: Option<f64>,
    /// Smallest error with at most this many params
    #[arg(long, group = "objective", value_name = "P", value_parser = count::<u128>, allow_negative_numbers = true, help_heading = "Objective")]
    max_params: Option<u128>,
}

impl ObjectiveOptions {
    /// The objective as it is asked for.
    pub fn asked(&self) -> AskedObjective {
        AskedObjective {
            loss: self.loss.spec(),
            max_loss: self.max_loss,
            lambda: self.lambda,
            max_re: self.max_re,
            max_rse: self.max_rse,
            max_params: self.max_params,
        }
    }

    /// The checked objective.
    pub fn check(&self) -> Result<CheckedObjective, SettingError> {
        self.asked().check()
    }

    /// What somebody should know who may have taken the squared error for the error.
    pub fn hint(&self) -> Option<String> {
        hint(self.max_rse?)
    }
}

/// The hint beside a squared error that is large: who wants 10 % types 0.1.
pub fn hint(rse: f64) -> Option<String> {
    (0.005..1.0).contains(&rse).then(|| {
        let (re, percent) = (number(rse.sqrt()), number(100.0 * rse));
        format!("RSE is a square: --max-rse {rse} allows a relative error of {re}; for {percent} % use --max-re {rse}")
    })
}

/// How structures are fitted.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fitting")]
pub struct FitOptions {
    /// Independent starts of a fit; the best counts [default: 4]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    restarts: Option<usize>,
    /// Short starts for each start, of which the best goes on (als, lm) [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    scouts: Option<usize>,
    /// Sweeps (ALS), steps (Adam) or iterations (LM) of one start at most [default: 200, 20000, 100]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    max_sweeps: Option<usize>,
    /// A start ends when its error falls by less than this fraction over some sweeps (0: never)
    #[arg(long, value_name = "T", value_parser = real, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// A fit ends as soon as a start has reached this RSE [default: 1e-12]
    #[arg(long, value_name = "RSE", value_parser = real, allow_negative_numbers = true)]
    stop_rse: Option<f64>,
    /// In searches by tnls: begin fits at the cores of the structure they were drawn around, one start each, and give them
    /// up where they do not come near its loss (--lambda)
    #[arg(long)]
    carry: bool,
    /// Adam's learning rate [default: 0.001]
    #[arg(long, value_name = "RATE", value_parser = real, allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// Standard deviation of the initial cores (Adam, LM) [default: 0.1]
    #[arg(long, value_name = "SD", value_parser = real, allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// LM starts where ALS was not good enough and the parameters are few [default: 8; 0 in searches other than auto and exact]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub rescue: Option<usize>,
}

impl FitOptions {
    /// What these options ask of a method.
    pub fn asked(&self, method: Method) -> AskedFit {
        AskedFit {
            method: Some(method),
            restarts: self.restarts,
            scouts: self.scouts,
            max_sweeps: self.max_sweeps,
            tolerance: self.tolerance,
            stop_rse: self.stop_rse,
            carry: self.carry,
            learning_rate: self.learning_rate,
            sigma: self.sigma,
            rescue: self.rescue,
        }
    }
}

/// Refuses a number of threads that no machine has.
pub fn check_threads(threads: Option<usize>) -> Result<(), SettingError> {
    let mut settings = SearchSettings::default();
    settings.budget.threads = threads;
    settings.budget.check()
}

/// A whole number of at least 1.
pub fn count<T: FromStr + From<u8> + PartialOrd>(text: &str) -> Result<T, String> {
    match text.parse::<T>() {
        Ok(n) if n >= T::from(1) => Ok(n),
        _ => Err("it must be a whole number of at least 1".to_owned()),
    }
}

/// A whole number, 0 included.
pub fn whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number of at least 0".to_owned())
}

/// A vertex of a permutation.
pub fn vertex(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a list of vertices such as 0,2,1,3".to_owned())
}

/// A number; its range is checked where it is used.
pub fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it must be a number".to_owned())
}

/// A seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it must be a whole number from 0 to 2^64 - 1".to_owned())
}

/// A fit method's name.
pub fn method(text: &str) -> Result<Method, String> {
    text.parse().map_err(|_| "use als, adam or lm".to_owned())
}

/// An amount of memory: `500MB`, `4GB`, `2GiB`, or bytes.
pub fn memory(text: &str) -> Result<u64, String> {
    tnsearch_io::parse_memory(text).map_err(|e| e.expected.into_owned())
}

/// Of what kind the numbers are that a tensor is computed with.
#[derive(Debug, Clone, Copy, Args)]
pub struct DtypeOptions {
    /// Compute with f32, f64, complex64 or complex128 [default: f64, complex128 where the tensor is complex]
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub dtype: Option<Kind>,
}

/// The name of a kind of number.
fn kind(text: &str) -> Result<Kind, String> {
    text.parse().map_err(|e: SettingError| e.expected.into_owned())
}

/// Refuses a limit on time that nothing could be done in.
pub fn check_seconds(seconds: Option<f64>) -> Result<(), SettingError> {
    Budget::default().with(|b| b.max_seconds = seconds).check()
}

/// Reads a tensor as the kind asked for and checks that it can be fitted.
pub fn load_target(
    name: &str,
    dtype: Option<Kind>,
    limit: MemoryLimit,
) -> Result<Target, FileError> {
    let loaded = read_tensor(name, dtype, limit)?;
    warn_rounded(name, &loaded);
    Target::new(loaded.tensor).map_err(|e| Problem::from(e).of(split_key(name).0))
}

/// What `--help` says about a template that is one graph.
pub fn graph_help(more: &str) -> String {
    format!("{}, or a JSON file with a graph{more}", family_list())
}

/// What `--help` says about a template.
pub fn template_help(more: &str) -> String {
    format!(
        "{}, any-tree (all trees), any (all graphs), or a JSON file with a graph{more}",
        family_list()
    )
}

/// The template a user names, or that is in a JSON file, for a tensor of that order.
pub fn load_template(spec: &str, order: usize) -> anyhow::Result<Template> {
    let path = Path::new(spec);
    let unknown = match Template::parse(spec, order) {
        Err(unknown @ GraphError::UnknownTemplate(_)) => unknown,
        known => return Ok(known?),
    };
    let is_path = path.exists() || spec.contains('/') || spec.ends_with(".json");
    if !is_path {
        return Err(unknown.into());
    }
    let text = read_text(path)?;
    let template = Template::from_json(spec, &text).map_err(|e| anyhow!("{spec}: {e}"))?;
    template.check_order(order)?;
    Ok(template)
}

/// A template that is one graph: not one that stands for several, where nothing is searched.
pub fn load_graph(spec: &str, order: usize) -> anyhow::Result<Template> {
    let template = load_template(spec, order)?;
    if template.is_formats() || template.is_any_tree() || template.is_any() {
        bail!(
            "template {spec} stands for many graphs; this needs one: {} or a JSON file",
            family_list()
        );
    }
    Ok(template)
}

/// The text of a small file.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    Ok(tnsearch_io::small::read_text(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_come_with_a_hint() {
        let said = hint(0.1).unwrap();
        assert!(
            said.contains("relative error of 0.316")
                && said.contains("for 10.0 % use --max-re 0.1"),
            "{said}"
        );
        assert_eq!((hint(1e-4), hint(2.0)), (None, None));
    }

    #[test]
    fn counts_are_at_least_one() {
        assert_eq!(count::<usize>("3"), Ok(3));
        for bad in ["0", "-1", "1.5", "x", ""] {
            assert!(count::<u128>(bad).is_err(), "{bad}");
        }
    }
}
