//! Compressing a model: the fronts of all layers, one budget, then the cores, layer by layer.
//!
//! Only one layer is in memory at a time. What was done is in `OUTPUT.journal` (fronts, evaluations, layers) and `OUTPUT.part` (the
//! file so far), so a run that was ended goes on where it was, and ends with the same bits.

use super::calibration::Calibration;
use super::error::ModelError;
use super::front::{self, Front, Reach, Recipe, bytes_needed};
use super::layer::{Cost, Goal, Layer, LeftAlone, Settings};
use super::manifest::KEY;
use super::measure::trial_path;
use super::outcome::{Outcome, Written, within};
use super::selection::Selection;
use super::term::Term;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use tnsearch::problem::Stop;
use tnsearch::tensor::Scalar;
use tnsearch_io::Dtype;
use tnsearch_io::lines::{self, Kind, LinesFile, warnings};
use tnsearch_io::weights::{self, WeightsFile, journal_path, part_path};

/// The finest error that is looked at where a command measures the loss.
pub(super) const FINEST: f64 = 0.01;
/// A layer of more than so many entries may take so many times its share of a budget.
const LARGE: u64 = 1 << 20;
const SHARES: f64 = 4.0;
/// An error of this part of what is allowed is small enough for one layer.
const SMALL: f64 = 0.05;

static JOURNAL: Kind = Kind {
    format: "tnsearch-model-journal",
    name: "journal of compress-model",
    // Fronts and trials are known by their places.
    ordered: true,
    settle: |_, _| {},
};

/// A record of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    /// What a layer can be.
    Front(Front),
    /// A model that was measured.
    Trial(Trial),
    /// A tensor that is in the part file.
    Done(Done),
}

impl lines::Record for Record {
    fn check(&self) -> Result<(), String> {
        let numbers = match self {
            Record::Front(front) => vec![front.norm],
            Record::Trial(trial) => vec![trial.re],
            Record::Done(done) => vec![done.error, done.weighted, done.norm],
        };
        match numbers.into_iter().find(|x| !(x.is_finite() && *x >= 0.0)) {
            Some(bad) => Err(format!("no error or norm is {bad}")),
            None => Ok(()),
        }
    }
}

/// A model that a command has measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its relative error; 0 for the uncompressed model.
    pub re: f64,
    /// What the command printed; none where it failed.
    pub loss: Option<f64>,
    /// What a command that failed said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Trial {
    /// What is said about one that failed.
    pub fn warning(&self) -> Option<String> {
        let said = self.failed.as_ref()?;
        let re = self.re;
        Some(format!(
            "the evaluation command failed at RE {re:.3}, which counts as too much: {said}"
        ))
    }
}

/// A tensor that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    /// Its place in the model.
    pub index: usize,
    /// How long the part file is behind it.
    pub length: u64,
    /// The squared error of its cores as they are written.
    pub error: f64,
    /// The same in its metric.
    pub weighted: f64,
    /// Its squared norm.
    pub norm: f64,
}

/// What happens, for those who wait.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A layer is being looked at, or (`writing`) written.
    Layer {
        /// Which one.
        layer: &'a Layer,
        /// The how manyth.
        number: usize,
        /// Of how many.
        of: usize,
        /// Whether its cores are made.
        writing: bool,
    },
    /// Layers that the journal had.
    Resumed(usize),
    /// Something is wrong that was mended.
    Warning(&'a str),
    /// A model was measured.
    Trial(&'a Trial),
    /// The model whose loss is to be measured is written.
    Measuring {
        /// Its relative error.
        re: f64,
    },
}

/// What measures the loss of a model in a file: the number, or why there is none.
pub type Evaluate<'a> = &'a mut (dyn FnMut(&Path) -> Result<f64, String> + Send);

/// What is needed to compress a model.
pub struct Job<'a> {
    /// The model.
    pub file: &'a WeightsFile,
    /// What is known about the inputs of its layers.
    pub calibration: Option<&'a Calibration>,
    /// How.
    pub settings: Settings,
    /// The file to write.
    pub output: &'a Path,
    /// The text of the command that measures the loss, if one does: a run goes on only with the same.
    pub command: Option<&'a str>,
    /// Whether to go on with what the journal has.
    pub resume: bool,
    /// No layer may take more.
    pub max_bytes: u64,
    /// Ends it.
    pub stop: &'a Stop,
}

/// How the writing of a model ended.
pub(super) enum Ended {
    /// All of it is written.
    Whole(Vec<Done>),
    /// The cores of a layer lose more than it may.
    Over {
        /// Its number among the layers.
        layer: usize,
        /// What they lose.
        re: f64,
    },
}

/// The layers of a model, and what is left alone.
pub fn layers(file: &WeightsFile, settings: &Settings) -> (Vec<Layer>, Vec<LeftAlone>) {
    let (mut layers, mut alone) = (Vec::new(), Vec::new());
    for (k, entry) in file.entries().iter().enumerate() {
        match Layer::of(k, entry, settings) {
            Ok(layer) => layers.push(layer),
            Err(left) => alone.push(left),
        }
    }
    (layers, alone)
}

impl Job<'_> {
    /// Compresses the model. Where what was asked for cannot be, no journal is left.
    pub fn run(
        &self,
        evaluate: Option<Evaluate<'_>>,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, ModelError> {
        let mut opened = false;
        let result = self.compress(evaluate, tell, &mut opened);
        match &result {
            Err(ModelError::Interrupted | ModelError::Output(_) | ModelError::Journal(_)) => {}
            // Nothing can go on from there: the model, the command or the goal has to be another one.
            Err(_) if opened => forget(self.output),
            _ => {}
        }
        result
    }

    fn compress(
        &self,
        mut evaluate: Option<Evaluate<'_>>,
        tell: &mut dyn FnMut(Event<'_>),
        opened: &mut bool,
    ) -> Result<Outcome, ModelError> {
        if self.file.notes().contains_key(KEY) {
            let why = "it was written by 'compress-model'; use 'decompress-model' first".to_owned();
            return Err(ModelError::Nothing { file: self.file.path().display().to_string(), why });
        }
        let (layers, alone) = layers(self.file, &self.settings);
        if layers.is_empty() {
            let why = alone.iter().find(|l| l.why == super::layer::Why::Quantised);
            let why = why.or(alone.first()).map_or("it has no tensors", |l| l.why.words());
            let file = self.file.path().display().to_string();
            return Err(ModelError::Nothing { file, why: why.to_owned() });
        }
        let rest = self.alone_cost(&alone);
        let reaches = self.reaches(&layers, rest);
        let memory_needed = self.check_memory(&layers, &reaches)?;
        let path = journal_path(self.output);
        let (mut journal, records) =
            LinesFile::open(&path, &JOURNAL, &self.header(), self.resume, |_| {
                Ok(Vec::<Record>::new())
            })?;
        *opened = true;
        let then = "what it and the lines behind it say is computed again";
        for said in warnings(&path, journal.damaged(), then) {
            tell(Event::Warning(&said));
        }
        let (mut fronts, mut trials, mut done) = (Vec::new(), Vec::new(), Vec::<Done>::new());
        for record in records {
            match record {
                Record::Front(front) => fronts.push(front),
                Record::Trial(trial) => trials.push(trial),
                Record::Done(one) => {
                    // One that was begun anew has the first tensor twice.
                    done.truncate(one.index);
                    if done.len() == one.index {
                        done.push(one);
                    }
                }
            }
        }
        if let Some(evaluate) = evaluate.as_deref_mut().filter(|_| trials.is_empty()) {
            // Before the work: a command that fails on the model as it is fails on all.
            tell(Event::Measuring { re: 0.0 });
            let loss = evaluate(self.file.path());
            if self.stop.is_set() {
                return Err(ModelError::Interrupted);
            }
            let loss = Some(loss.map_err(ModelError::Evaluation)?);
            let trial = Trial { re: 0.0, loss, failed: None };
            journal.append(&Record::Trial(trial.clone()))?;
            journal.sync()?;
            trials.push(trial);
        }
        if !fronts.is_empty() {
            tell(Event::Resumed(fronts.len()));
        }
        for (number, (layer, reach)) in layers.iter().zip(&reaches).enumerate().skip(fronts.len()) {
            tell(Event::Layer { layer, number, of: layers.len(), writing: false });
            let front = match layer.is_wide() {
                true => self.front::<f64>(layer, *reach)?,
                false => self.front::<f32>(layer, *reach)?,
            };
            let record = Record::Front(front);
            journal.append(&record)?;
            journal.sync()?;
            if let Record::Front(front) = record {
                fronts.push(front);
            }
        }
        let selection = Selection::new(&self.settings, &layers, &fronts, &reaches);
        let (mut chosen, cap) = match (self.settings.goal, evaluate) {
            (Goal::MaxLoss(rise), Some(evaluate)) => {
                let measured =
                    self.measured(&selection, rise, evaluate, (&mut trials, &mut journal), tell)?;
                (measured.0, self.settings.layer_cap(measured.1))
            }
            (Goal::MaxCost(limit), _) => (selection.within_cost(limit as f64, rest)?, None),
            (Goal::KeepRe(re), _) => (selection.within_re(re), self.settings.layer_cap(re)),
            (Goal::MaxLoss(_), None) => (vec![Recipe::Dense; layers.len()], None),
        };
        let written = loop {
            match self.write(&selection, (&chosen, cap), (&mut journal, done), tell)? {
                Ended::Whole(written) => break written,
                // What was claimed is not what its cores give: the layer as it is loses nothing.
                Ended::Over { layer: k, re } => {
                    let name = weights::shown(&layers[k].name);
                    let most = cap.unwrap_or(0.0);
                    let said = format!(
                        "layer '{name}' is left as it is: its cores would lose RE {re:.3e}, and it may lose {most:.3e}"
                    );
                    tell(Event::Warning(&said));
                    chosen[k] = Recipe::Dense;
                    done = Vec::new();
                }
            }
        };
        let rest = (rest, cap);
        let outcome =
            self.outcome(&selection, &chosen, alone, (written, trials, memory_needed), rest);
        drop(journal);
        weights::discard(&path);
        Ok(outcome)
    }

    /// What the journal belongs to.
    fn header(&self) -> Value {
        json!({
            "format": JOURNAL.format,
            "tnsearch": env!("CARGO_PKG_VERSION"),
            "model": self.file.fingerprint(),
            "calibration": self.calibration.map(Calibration::fingerprint),
            "settings": self.settings,
            "command": self.command,
        })
    }

    /// What the tensors that are left alone cost.
    fn alone_cost(&self, alone: &[LeftAlone]) -> f64 {
        let entries = alone.iter().map(|l| &self.file.entries()[l.index]);
        match self.settings.cost {
            Cost::Params => entries.map(|e| e.count() as f64).sum(),
            Cost::Bytes => entries.map(|e| e.bytes() as f64).sum(),
            Cost::MultiplyAdds => 0.0,
        }
    }

    /// How far the front of each layer is of use.
    fn reaches(&self, layers: &[Layer], rest: f64) -> Vec<Reach> {
        let cost = self.settings.cost;
        let whole: f64 = layers.iter().map(|l| l.dense_cost(cost)).sum();
        let one = |layer: &Layer| {
            let dense = layer.dense_cost(cost);
            match self.settings.goal {
                Goal::MaxCost(limit) => {
                    let limit = (limit as f64 - rest).max(0.0);
                    let share = match layer.entries() > LARGE {
                        true => SHARES * limit * dense / whole,
                        false => limit,
                    };
                    let most = share.min(limit).min(dense);
                    Reach { most, enough: 1e-10 }
                }
                Goal::KeepRe(re) => Reach { most: dense, enough: SMALL * re * re },
                Goal::MaxLoss(_) => Reach { most: dense, enough: SMALL * FINEST * FINEST },
            }
        };
        layers.iter().map(one).collect()
    }

    /// Refuses layers that need too much memory; what the largest needs.
    fn check_memory(&self, layers: &[Layer], reaches: &[Reach]) -> Result<u64, ModelError> {
        let mut most = 0;
        for (layer, reach) in layers.iter().zip(reaches) {
            let weighted = self.calibration.is_some_and(|c| c.knows(layer));
            let needed = bytes_needed(layer, weighted, &self.settings, *reach);
            if needed > self.max_bytes {
                let (layer, limit) = (weights::shown(&layer.name), self.max_bytes);
                return Err(ModelError::Memory { layer, needed, limit });
            }
            most = most.max(needed);
        }
        Ok(most)
    }

    pub(super) fn metric<T: Scalar>(
        &self,
        layer: &Layer,
    ) -> Result<Option<super::metric::Metric<T>>, ModelError> {
        Ok(match self.calibration {
            Some(calibration) => calibration.metric(layer)?,
            None => None,
        })
    }

    fn front<T: Scalar>(&self, layer: &Layer, reach: Reach) -> Result<Front, ModelError> {
        let metric = self.metric::<T>(layer)?;
        let w: Vec<T> = self.file.read(layer.index)?;
        let front = front::front(w, layer, metric.as_ref(), &self.settings, reach, self.stop);
        front.ok_or_else(|| self.ended(layer))
    }

    /// Why a layer was not computed.
    pub(super) fn ended(&self, layer: &Layer) -> ModelError {
        match self.stop.is_set() {
            true => ModelError::Interrupted,
            false => ModelError::Numbers { layer: weights::shown(&layer.name) },
        }
    }

    fn outcome(
        &self,
        selection: &Selection<'_>,
        chosen: &[Recipe],
        alone: Vec<LeftAlone>,
        (done, trials, memory_needed): (Vec<Done>, Vec<Trial>, u64),
        (rest, layer_cap): (f64, Option<f64>),
    ) -> Outcome {
        let mut layers = Vec::new();
        let (mut sum, mut cost) = (0.0, rest);
        let mut sums = [(0u64, 0u64); 3];
        let mut add = |k: usize, before: u64, after: u64| {
            sums[k].0 += before;
            sums[k].1 += after;
        };
        for left in &alone {
            let entry = &self.file.entries()[left.index];
            add(0, entry.count(), entry.count());
            add(1, entry.bytes(), entry.bytes());
        }
        for (k, layer) in selection.layers.iter().enumerate() {
            let front = &selection.fronts[k];
            let point = selection.point(k, chosen[k]);
            let one = &done[layer.index];
            let part = |a: f64, b: f64| if b > 0.0 { (a / b).sqrt() } else { 0.0 };
            sum += selection.counted(k, one.weighted);
            let compressed = chosen[k] != Recipe::Dense;
            let (dense, width) = (layer.entries(), layer.dtype.bytes() as u64);
            let now = if compressed { layer.cores.bytes() as u64 } else { width };
            add(0, dense, point.params);
            add(1, dense * width, point.params * now);
            add(2, dense, point.multiply_adds);
            cost += selection.cost(k, &point);
            layers.push(Written {
                layer: layer.clone(),
                format: front.name(chosen[k]),
                compressed,
                params: point.params,
                multiply_adds: point.multiply_adds,
                re: part(one.error, one.norm),
                weighted_re: front.weighted.then(|| part(one.weighted, front.norm)),
            });
        }
        let re = selection.re_of(sum);
        let reached = match self.settings.goal {
            Goal::KeepRe(most) => {
                let kept = |l: &Written| layer_cap.is_none_or(|cap| within(l.counted_re(), cap));
                within(re, most) && layers.iter().all(kept)
            }
            Goal::MaxCost(most) => cost <= most as f64,
            Goal::MaxLoss(_) => layers.iter().any(|l| l.compressed),
        };
        let [params, bytes, multiply_adds] = sums;
        Outcome {
            layers,
            alone,
            re,
            layer_cap,
            params,
            bytes,
            multiply_adds,
            reached,
            memory_needed,
            trials,
        }
    }
}

/// Removes what an interrupted run has left beside an output.
pub fn forget(output: &Path) {
    for path in [journal_path(output), part_path(output), trial_path(output)] {
        weights::discard(&path);
    }
}

/// The bytes of a sum of terms.
pub(super) fn dense_bytes<T: Scalar>(
    terms: &[Term<T>],
    entries: usize,
    dtype: Dtype,
) -> Result<Vec<u8>, ModelError> {
    let mut sum = vec![T::ZERO; entries];
    for term in terms {
        term.add_to(&mut sum, 1.0)?;
    }
    let mut bytes = Vec::with_capacity(entries * dtype.bytes());
    weights::encode(dtype, &sum, &mut bytes);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
