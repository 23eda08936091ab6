//! Compressing a model: the fronts of all layers, one budget, then the cores, layer by layer.
//!
//! Only one layer is in memory at a time. What was done is in `OUTPUT.journal` (fronts, evaluations, layers) and `OUTPUT.part` (the
//! file so far), so a run that was ended goes on where it was, and ends with the same bits.

use super::budget::{self, Choice};
use super::calibration::Calibration;
use super::error::ModelError;
use super::front::{self, Front, Point, Reach, Recipe, TermShape, bytes_needed};
use super::layer::{Cost, Goal, Layer, LeftAlone, Settings, Weigh};
use super::manifest::{KEY, Manifest};
use super::metric::norm_squared;
use super::term::Term;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use tnsearch::problem::Stop;
use tnsearch::tensor::Scalar;
use tnsearch_io::lines::{Kind, LinesFile};
use tnsearch_io::weights::{
    self, Entry, PartFile, WeightsFile, header_bytes, journal_path, part_path,
};
use tnsearch_io::{Dtype, Problem};

/// The finest error that is looked at where a command measures the loss.
const FINEST: f64 = 0.01;
/// Models that are measured at most, the uncompressed one not counted.
const TRIALS: usize = 8;
/// A layer of more than so many entries may take so many times its share of a budget.
const LARGE: u64 = 1 << 20;
const SHARES: f64 = 4.0;
/// An error of this part of what is allowed is small enough for one layer.
const SMALL: f64 = 0.05;

static JOURNAL: Kind =
    Kind { format: "tnsearch-model-journal", name: "journal of compress-model", settle: |_, _| {} };

/// A record of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Record {
    /// What a layer can be.
    Front(Front),
    /// A model that was measured.
    Trial(Trial),
    /// A tensor that is in the part file.
    Done(Done),
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

/// A tensor that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Done {
    /// Its place in the model.
    index: usize,
    /// How long the part file is behind it.
    length: u64,
    /// The squared error of its cores as they are written.
    error: f64,
    /// The same in its metric.
    weighted: f64,
    /// Its squared norm.
    norm: f64,
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
    /// A model was measured.
    Trial(&'a Trial),
    /// The model whose loss is to be measured is written.
    Measuring {
        /// Its relative error.
        re: f64,
    },
}

/// What measures the loss of a model in a file: the number, or why there is none.
pub type Evaluate<'a> = &'a mut dyn FnMut(&Path) -> Result<f64, String>;

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

/// A layer as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The layer.
    pub layer: Layer,
    /// What it is called that it is now.
    pub format: String,
    /// Whether it has cores.
    pub compressed: bool,
    /// Numbers that are stored.
    pub params: u64,
    /// Multiply-adds of applying it.
    pub multiply_adds: u64,
    /// Its relative error as written.
    pub re: f64,
    /// The same in its metric, where it has one.
    pub weighted_re: Option<f64>,
}

/// A compressed model.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its layers.
    pub layers: Vec<Written>,
    /// What was left alone.
    pub alone: Vec<LeftAlone>,
    /// The relative error of all layers together, as the goal counts it.
    pub re: f64,
    /// Numbers before and after, of all tensors.
    pub params: (u64, u64),
    /// Bytes of the numbers before and after.
    pub bytes: (u64, u64),
    /// Multiply-adds of all layers before and after.
    pub multiply_adds: (u64, u64),
    /// Whether the goal was reached.
    pub reached: bool,
    /// Bytes that the largest layer needs.
    pub memory_needed: u64,
    /// The models that were measured.
    pub trials: Vec<Trial>,
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
        let header = json!({
            "format": JOURNAL.format,
            "tnsearch": env!("CARGO_PKG_VERSION"),
            "model": self.file.fingerprint(),
            "calibration": self.calibration.map(Calibration::fingerprint),
            "settings": self.settings,
            "command": self.command,
        });
        let path = journal_path(self.output);
        let (mut journal, records) =
            LinesFile::open(&path, &JOURNAL, &header, self.resume, |_| Ok(Vec::<Record>::new()))?;
        *opened = true;
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
        let plan = Plan::new(&self.settings, &layers, &fronts, &reaches);
        let chosen = match (self.settings.goal, evaluate) {
            (Goal::MaxLoss(rise), Some(evaluate)) => {
                self.measured(&plan, rise, evaluate, (&mut trials, &mut journal), tell)?
            }
            (Goal::MaxCost(limit), _) => plan.within_cost(limit as f64, rest)?,
            (Goal::KeepRe(re), _) => plan.within_re(re),
            (Goal::MaxLoss(_), None) => vec![Recipe::Dense; layers.len()],
        };
        let written = self.write(&plan, &chosen, (&mut journal, done), tell)?;
        let outcome = self.outcome(&plan, &chosen, alone, (written, trials, memory_needed), rest);
        drop(journal);
        let _ = std::fs::remove_file(path);
        Ok(outcome)
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

    fn metric<T: Scalar>(
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
    fn ended(&self, layer: &Layer) -> ModelError {
        match self.stop.is_set() {
            true => ModelError::Interrupted,
            false => ModelError::Numbers { layer: weights::shown(&layer.name) },
        }
    }

    /// The terms of a layer, their cores rounded as they are written.
    fn terms<T: Scalar>(
        &self,
        plan: &Plan<'_>,
        k: usize,
        recipe: Recipe,
    ) -> Result<Vec<Term<T>>, ModelError> {
        let layer = &plan.layers[k];
        let metric = self.metric::<T>(layer)?;
        let w: Vec<T> = self.file.read(layer.index)?;
        let how = (&plan.fronts[k], recipe, plan.reaches[k]);
        let terms = front::terms(w, layer, metric.as_ref(), &self.settings, how, self.stop);
        let mut terms = terms.ok_or_else(|| self.ended(layer))?;
        let shapes = plan.fronts[k].terms(recipe, layer);
        let planned = shapes.iter().flat_map(|t| &t.cores);
        let mut count = 0;
        for (core, planned) in terms.iter_mut().flat_map(|t| &mut t.cores).zip(planned) {
            let found = core.dims();
            if found != planned {
                // Ranks that came out smaller than planned are filled with zeros: the file's header is as planned.
                let smaller = found.len() == planned.len()
                    && found.iter().zip(planned).all(|(found, planned)| found <= planned);
                if !smaller {
                    return Err(self.ended(layer));
                }
                *core = core.widened(planned.clone(), || T::ZERO);
            }
            core.data_mut().iter_mut().for_each(|x| *x = weights::rounded(layer.cores, *x));
            if !core.data().iter().all(|x| x.is_finite()) {
                return Err(self.too_coarse(layer));
            }
            count += 1;
        }
        match count == shapes.iter().map(|t| t.cores.len()).sum::<usize>() {
            true => Ok(terms),
            false => Err(self.ended(layer)),
        }
    }

    /// The cores of a layer cannot be written as the numbers asked for.
    fn too_coarse(&self, layer: &Layer) -> ModelError {
        let cores = layer.cores.stored().to_lowercase();
        ModelError::Cores { layer: weights::shown(&layer.name), cores }
    }

    /// The layer less its terms.
    fn rest<T: Scalar>(&self, layer: &Layer, terms: &[Term<T>]) -> Result<Vec<T>, ModelError> {
        let mut w: Vec<T> = self.file.read(layer.index)?;
        for term in terms {
            term.add_to(&mut w, -1.0)?;
        }
        Ok(w)
    }

    /// Finds the largest error with which the measured loss rises by no more than it may.
    fn measured(
        &self,
        plan: &Plan<'_>,
        rise: f64,
        evaluate: Evaluate<'_>,
        (trials, journal): (&mut Vec<Trial>, &mut LinesFile),
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<Recipe>, ModelError> {
        let mut known = trials.clone().into_iter();
        let mut measure = |re: f64,
                           path: &dyn Fn() -> Result<PathBuf, ModelError>,
                           trials: &mut Vec<Trial>,
                           tell: &mut dyn FnMut(Event<'_>)| {
            if let Some(trial) = known.next() {
                return Ok::<Trial, ModelError>(trial);
            }
            tell(Event::Measuring { re });
            let result = evaluate(&path()?);
            if self.stop.is_set() {
                return Err(ModelError::Interrupted);
            }
            let (loss, failed) = match result {
                Ok(loss) => (Some(loss), None),
                Err(said) => (None, Some(said)),
            };
            let trial = Trial { re, loss, failed };
            trials.push(trial.clone());
            journal.append(&Record::Trial(trial.clone()))?;
            journal.sync()?;
            Ok(trial)
        };
        let first = measure(0.0, &|| Ok(self.file.path().to_owned()), trials, tell)?;
        let Some(base) = first.loss else {
            return Err(ModelError::Evaluation(first.failed.unwrap_or_default()));
        };
        tell(Event::Trial(&first));
        let (mut good, mut bad) = (FINEST, 1.0f64);
        let mut best = vec![Recipe::Dense; plan.layers.len()];
        for trial in 0..TRIALS {
            // The finest first: where that is too much, nothing will do.
            let re = if trial == 0 { FINEST } else { (good * bad).sqrt() };
            let chosen = plan.within_re(re);
            // What is known to do is not measured again.
            if chosen == best {
                good = re;
                continue;
            }
            let path = trial_path(self.output);
            let made = || {
                self.write_dense(plan, &chosen, &path)?;
                Ok(path.clone())
            };
            let found = measure(re, &made, trials, tell);
            let _ = std::fs::remove_file(&path);
            let found = found?;
            tell(Event::Trial(&found));
            match found.loss.is_some_and(|loss| loss <= base + rise) {
                true => (good, best) = (re, chosen),
                false if trial == 0 => return Ok(best),
                false => bad = re,
            }
        }
        Ok(best)
    }

    /// Writes the model with the layers as they would be: dense.
    fn write_dense(
        &self,
        plan: &Plan<'_>,
        chosen: &[Recipe],
        path: &Path,
    ) -> Result<(), ModelError> {
        let header = header_bytes(self.file.entries(), self.file.notes());
        let mut part = PartFile::begin(path, &header)?;
        match self.fill_dense(plan, chosen, &mut part) {
            Ok(()) => Ok(part.finish()?),
            Err(e) => {
                drop(part);
                let _ = std::fs::remove_file(part_path(path));
                Err(e)
            }
        }
    }

    fn fill_dense(
        &self,
        plan: &Plan<'_>,
        chosen: &[Recipe],
        part: &mut PartFile,
    ) -> Result<(), ModelError> {
        for index in 0..self.file.entries().len() {
            let at = plan.layers.iter().position(|l| l.index == index);
            match at.filter(|&k| chosen[k] != Recipe::Dense) {
                None => self.copy(index, part)?,
                Some(k) => {
                    let bytes = match plan.layers[k].is_wide() {
                        true => self.dense_bytes::<f64>(plan, k, chosen[k])?,
                        false => self.dense_bytes::<f32>(plan, k, chosen[k])?,
                    };
                    part.write_all(&bytes).map_err(|e| part.failed(&e))?;
                }
            }
        }
        Ok(())
    }

    fn dense_bytes<T: Scalar>(
        &self,
        plan: &Plan<'_>,
        k: usize,
        recipe: Recipe,
    ) -> Result<Vec<u8>, ModelError> {
        let terms = self.terms::<T>(plan, k, recipe)?;
        dense_bytes(&terms, plan.layers[k].entries() as usize, plan.layers[k].dtype)
    }

    fn copy(&self, index: usize, part: &mut PartFile) -> Result<(), ModelError> {
        self.file.copy(index, part).map_err(|e| part.failed(&e).into())
    }

    /// Writes the file, tensor by tensor, going on behind those that are done.
    fn write(
        &self,
        plan: &Plan<'_>,
        chosen: &[Recipe],
        (journal, done): (&mut LinesFile, Vec<Done>),
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<Done>, ModelError> {
        let shapes: Vec<(&Layer, Vec<TermShape>)> = (0..plan.layers.len())
            .map(|k| (&plan.layers[k], plan.fronts[k].terms(chosen[k], &plan.layers[k])))
            .collect();
        let (manifest, entries) = Manifest::plan(self.file, &shapes);
        let mut notes = self.file.notes().clone();
        notes.insert(KEY.to_owned(), serde_json::to_string(&manifest).unwrap_or_default());
        let header = header_bytes(&entries, &notes);
        let resumed = done.last().and_then(|d| PartFile::resume(self.output, &header, d.length));
        let (mut part, mut done) = match resumed {
            Some(part) => (part, done),
            None => (PartFile::begin(self.output, &header)?, Vec::new()),
        };
        let count = self.file.entries().len();
        for index in done.len()..count {
            let at = plan.layers.iter().position(|l| l.index == index);
            let mut one = Done { index, length: 0, error: 0.0, weighted: 0.0, norm: 0.0 };
            match at {
                None => self.copy(index, &mut part)?,
                Some(k) => {
                    let layer = &plan.layers[k];
                    tell(Event::Layer { layer, number: k, of: plan.layers.len(), writing: true });
                    match layer.is_wide() {
                        true => {
                            self.write_layer::<f64>(plan, k, chosen[k], (&mut part, &mut one))?
                        }
                        false => {
                            self.write_layer::<f32>(plan, k, chosen[k], (&mut part, &mut one))?
                        }
                    }
                }
            }
            // On the disk before the journal says so.
            part.sync()?;
            one.length = part.length();
            journal.append(&Record::Done(one.clone()))?;
            journal.sync()?;
            done.push(one);
            if self.stop.is_set() && index + 1 < count {
                return Err(ModelError::Interrupted);
            }
        }
        // What the header promises is there.
        let promised = header.len() as u64 + entries.iter().map(Entry::bytes).sum::<u64>();
        if part.length() != promised {
            drop(part);
            forget(self.output);
            let found = format!(
                "it came out with {} bytes instead of {promised}",
                done.last().map_or(0, |d| d.length)
            );
            return Err(Problem::Damaged(found).of(self.output).into());
        }
        part.finish()?;
        Ok(done)
    }

    fn write_layer<T: Scalar>(
        &self,
        plan: &Plan<'_>,
        k: usize,
        recipe: Recipe,
        (part, one): (&mut PartFile, &mut Done),
    ) -> Result<(), ModelError> {
        let layer = &plan.layers[k];
        if recipe == Recipe::Dense {
            one.norm = norm_squared(&self.file.read::<T>(layer.index)?, None);
            return self.copy(layer.index, part);
        }
        let terms = self.terms::<T>(plan, k, recipe)?;
        let mut bytes = Vec::new();
        for core in terms.iter().flat_map(|t| &t.cores) {
            bytes.clear();
            weights::encode(layer.cores, core.data(), &mut bytes);
            part.write_all(&bytes).map_err(|e| part.failed(&e))?;
        }
        one.norm = norm_squared(&self.file.read::<T>(layer.index)?, None);
        let rest = self.rest(layer, &terms)?;
        drop(terms);
        let metric = self.metric::<T>(layer)?;
        one.error = norm_squared(&rest, None);
        one.weighted = norm_squared(&rest, metric.as_ref());
        // What rounding may add is far below; numbers too small for their type vanish.
        let front = &plan.fronts[k];
        match one.weighted <= 2.0 * plan.point(k, recipe).error + 1e-3 * front.norm {
            true => Ok(()),
            false => Err(self.too_coarse(layer)),
        }
    }

    fn outcome(
        &self,
        plan: &Plan<'_>,
        chosen: &[Recipe],
        alone: Vec<LeftAlone>,
        (done, trials, memory_needed): (Vec<Done>, Vec<Trial>, u64),
        rest: f64,
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
        for (k, layer) in plan.layers.iter().enumerate() {
            let front = &plan.fronts[k];
            let point = plan.point(k, chosen[k]);
            let one = &done[layer.index];
            let part = |a: f64, b: f64| if b > 0.0 { (a / b).sqrt() } else { 0.0 };
            sum += plan.counted(k, one.weighted);
            let compressed = chosen[k] != Recipe::Dense;
            let (dense, width) = (layer.entries(), layer.dtype.bytes() as u64);
            let now = if compressed { layer.cores.bytes() as u64 } else { width };
            add(0, dense, point.params);
            add(1, dense * width, point.params * now);
            add(2, dense, point.multiply_adds);
            cost += plan.cost(k, &point);
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
        let re = plan.re_of(sum);
        let reached = match self.settings.goal {
            Goal::KeepRe(most) => re <= most * (1.0 + 1e-6),
            Goal::MaxCost(most) => cost <= most as f64,
            Goal::MaxLoss(_) => layers.iter().any(|l| l.compressed),
        };
        let [params, bytes, multiply_adds] = sums;
        Outcome { layers, alone, re, params, bytes, multiply_adds, reached, memory_needed, trials }
    }
}

/// The file that is measured.
fn trial_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".trial.safetensors");
    name.into()
}

/// Removes what an interrupted run has left beside an output.
pub fn forget(output: &Path) {
    for path in [journal_path(output), part_path(output), trial_path(output)] {
        let _ = std::fs::remove_file(path);
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

/// The fronts of all layers as one problem.
struct Plan<'a> {
    settings: &'a Settings,
    layers: &'a [Layer],
    fronts: &'a [Front],
    reaches: &'a [Reach],
    points: Vec<Vec<Point>>,
    choices: Vec<Vec<Choice>>,
}

impl<'a> Plan<'a> {
    fn new(
        settings: &'a Settings,
        layers: &'a [Layer],
        fronts: &'a [Front],
        reaches: &'a [Reach],
    ) -> Self {
        let all = layers.iter().zip(fronts);
        let points: Vec<Vec<Point>> = all.map(|(l, f)| f.points(l, settings.cost)).collect();
        let mut plan = Plan { settings, layers, fronts, reaches, points, choices: Vec::new() };
        let choice =
            |k: usize, p: &Point| Choice { cost: plan.cost(k, p), error: plan.counted(k, p.error) };
        let choices =
            (0..layers.len()).map(|k| plan.points[k].iter().map(|p| choice(k, p)).collect());
        plan.choices = choices.collect();
        plan
    }

    fn cost(&self, k: usize, point: &Point) -> f64 {
        match point.recipe {
            Recipe::Dense => self.layers[k].dense_cost(self.settings.cost),
            _ => self.layers[k].cost(self.settings.cost, point.params, point.multiply_adds),
        }
    }

    /// What a squared error of a layer counts in the sum of all.
    fn counted(&self, k: usize, error: f64) -> f64 {
        match self.settings.weigh {
            Weigh::Norm => error,
            Weigh::Layer => (error / self.fronts[k].norm.max(f64::MIN_POSITIVE)).powf(1.5),
        }
    }

    /// The sum that a relative error of the whole stands for, and the other way round.
    fn allowed(&self, re: f64) -> f64 {
        match self.settings.weigh {
            Weigh::Norm => re * re * self.fronts.iter().map(|f| f.norm).sum::<f64>(),
            Weigh::Layer => re.powi(3) * self.fronts.len() as f64,
        }
    }

    fn re_of(&self, sum: f64) -> f64 {
        let whole: f64 = self.fronts.iter().map(|f| f.norm).sum();
        match self.settings.weigh {
            Weigh::Norm if whole > 0.0 => (sum / whole).sqrt(),
            Weigh::Norm => 0.0,
            Weigh::Layer => (sum / self.fronts.len() as f64).cbrt(),
        }
    }

    fn point(&self, k: usize, recipe: Recipe) -> Point {
        let found = self.points[k].iter().find(|p| p.recipe == recipe);
        found.or(self.points[k].last()).copied().unwrap_or_else(|| unreachable!("the layer itself"))
    }

    fn recipes(&self, chosen: &[usize]) -> Vec<Recipe> {
        self.points.iter().zip(chosen).map(|(points, &k)| points[k].recipe).collect()
    }

    /// The cheapest with a relative error of at most this, less what rounding the cores adds.
    fn within_re(&self, re: f64) -> Vec<Recipe> {
        let unit = |l: &Layer| match l.cores {
            Dtype::Bf16 => 2f64.powi(-9),
            Dtype::F16 => 2f64.powi(-12),
            _ => 2f64.powi(-24),
        };
        let rounding = self.layers.iter().map(unit).fold(0.0, f64::max).powi(2);
        let allowed = self.allowed((re * re - 4.0 * rounding).max(0.0).sqrt());
        let chosen = budget::within_error(&self.choices, allowed);
        chosen.map_or_else(|| vec![Recipe::Dense; self.layers.len()], |c| self.recipes(&c))
    }

    /// The best with at most this cost of the whole model.
    fn within_cost(&self, limit: f64, rest: f64) -> Result<Vec<Recipe>, ModelError> {
        match budget::within_cost(&self.choices, limit - rest) {
            Some(chosen) => Ok(self.recipes(&chosen)),
            None => {
                let unit = match self.settings.cost {
                    Cost::Params => "params",
                    Cost::Bytes => "bytes",
                    Cost::MultiplyAdds => "multiply-adds",
                };
                let least = budget::least_cost(&self.choices) as u64;
                Err(ModelError::TooFew { limit: limit as u64, unit, alone: rest as u64, least })
            }
        }
    }
}
