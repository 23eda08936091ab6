//! What is said about a model that was compressed.

use super::job::Trial;
use super::layer::{Cost, Goal, LeftAlone, MOST_LOST, Settings, Weigh, Why};
use super::outcome::{Outcome, Written};
use serde::Serialize;
use tnsearch_io::weights::{WeightsFile, shown};

/// What is said about a model that was compressed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// What was to be reached.
    pub goal: Goal,
    /// What was kept low.
    pub cost: Cost,
    /// How the errors of layers were added up.
    pub weigh: Weigh,
    /// The layers.
    pub layers: Vec<LayerSummary>,
    /// What was left alone.
    pub left_alone: Vec<AloneSummary>,
    /// Numbers of all tensors before.
    pub params_before: u64,
    /// Numbers of all tensors.
    pub params: u64,
    /// Their bytes before.
    pub bytes_before: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Multiply-adds of all layers before.
    pub multiply_adds_before: u64,
    /// Multiply-adds of all layers.
    pub multiply_adds: u64,
    /// Of all layers together, as the goal counts it.
    pub re: f64,
    /// Its square.
    pub rse: f64,
    /// No layer may have a larger RE; none: any.
    pub layer_cap: Option<f64>,
    /// Layers that lost most of their norm.
    pub mostly_lost: Vec<String>,
    /// Whether the goal was reached.
    pub target_reached: bool,
    /// The models that were measured.
    pub trials: Vec<Trial>,
    /// Bytes that the largest layer needs.
    pub memory_needed: u64,
    /// The most memory the process had at a time, where the system says so.
    pub memory_peak: Option<u64>,
    /// How long it took.
    pub seconds: f64,
    /// Random numbers.
    pub seed: u64,
    /// The program.
    pub version: &'static str,
}

/// A layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LayerSummary {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its type.
    pub dtype: &'static str,
    /// What it is now.
    pub format: String,
    /// Whether it has cores.
    pub compressed: bool,
    /// Its numbers before.
    pub params_before: u64,
    /// Its numbers.
    pub params: u64,
    /// Its relative error.
    pub re: f64,
    /// On outputs, where inputs are known.
    pub weighted_re: Option<f64>,
    /// Multiply-adds of applying it before.
    pub multiply_adds_before: u64,
    /// Multiply-adds of applying it.
    pub multiply_adds: u64,
}

/// A tensor that was left alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AloneSummary {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its type, as the file has it.
    pub dtype: String,
    /// Why.
    pub why: &'static str,
}

/// The most memory the process had at a time, where the system says so.
fn peak() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

impl Summary {
    /// That of an outcome.
    pub fn new(settings: &Settings, file: &WeightsFile, outcome: &Outcome, seconds: f64) -> Self {
        let layer = |w: &Written| LayerSummary {
            name: w.layer.name.clone(),
            shape: w.layer.shape.clone(),
            dtype: w.layer.dtype.name(),
            format: w.format.clone(),
            compressed: w.compressed,
            params_before: w.layer.entries(),
            params: w.params,
            re: w.re,
            weighted_re: w.weighted_re,
            multiply_adds_before: w.layer.entries(),
            multiply_adds: w.multiply_adds,
        };
        let alone = |l: &LeftAlone| {
            let entry = &file.entries()[l.index];
            AloneSummary {
                name: entry.name.clone(),
                shape: entry.shape.clone(),
                dtype: entry.stored.clone(),
                why: l.why.words(),
            }
        };
        let lost = outcome.layers.iter().filter(|l| l.is_mostly_lost());
        Summary {
            goal: settings.goal,
            cost: settings.cost,
            weigh: settings.weigh,
            layers: outcome.layers.iter().map(layer).collect(),
            left_alone: outcome.alone.iter().map(alone).collect(),
            params_before: outcome.params.0,
            params: outcome.params.1,
            bytes_before: outcome.bytes.0,
            bytes: outcome.bytes.1,
            multiply_adds_before: outcome.multiply_adds.0,
            multiply_adds: outcome.multiply_adds.1,
            re: outcome.re,
            rse: outcome.re * outcome.re,
            layer_cap: outcome.layer_cap,
            mostly_lost: lost.map(|l| l.layer.name.clone()).collect(),
            target_reached: outcome.reached,
            trials: outcome.trials.clone(),
            memory_needed: outcome.memory_needed,
            memory_peak: peak(),
            seconds,
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Whether errors are those of outputs.
    pub fn weighted(&self) -> bool {
        self.layers.iter().any(|l| l.weighted_re.is_some())
    }

    /// What somebody who uses the model has to know.
    pub fn warnings(&self) -> Vec<String> {
        let lost = self.mostly_lost.len();
        let Some(first) = self.mostly_lost.first().map(|name| shown(name)) else {
            return Vec::new();
        };
        let who = match lost {
            1 => format!("layer '{first}' has"),
            n => format!("{n} layers such as '{first}' have"),
        };
        let instead = match (self.goal, self.weigh) {
            (_, Weigh::Norm) => "leave out --weigh norm",
            (Goal::KeepRe(_), _) => "ask for a smaller --keep-re",
            (Goal::MaxCost(_), _) => "allow more",
            (Goal::MaxLoss(_), _) => "allow less",
        };
        vec![format!(
            "{who} lost most of {} (RE above {MOST_LOST}), which may ruin the model: measure it, or {instead}",
            if lost == 1 { "its norm" } else { "their norms" }
        )]
    }

    /// That whole numbers were left alone, where some were.
    pub fn quantised(&self) -> Option<String> {
        let why = Why::Quantised.words();
        let quantised: Vec<_> = self.left_alone.iter().filter(|l| l.why == why).collect();
        let name = shown(&quantised.first()?.name);
        let (those, text) = match quantised.len() {
            1 => ("it", format!("'{name}' is")),
            n => ("them", format!("{n} tensors such as '{name}' are")),
        };
        Some(format!(
            "{text} left alone: whole numbers need their scales; store {those} as f16 or f32 to compress {those}"
        ))
    }
}
