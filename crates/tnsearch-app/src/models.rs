//! Models made smaller, and dense again: their files, threads, and what is said about them.

use crate::outputs::check_distinct;
use crate::threads::pool;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use tnsearch::problem::Stop;
use tnsearch_io::weights::{PartFile, WeightsFile, journal_path, part_path};
use tnsearch_models::job::Evaluate;
use tnsearch_models::{
    AskedModel, Calibration, Event, Job, ModelError, Summary, command, layers, restore, trial_path,
};

/// Other files that the caller writes, and what they are for: no file of a model may be one of them.
pub type Others<'a> = &'a [(&'a str, Option<&'a Path>)];

/// A model that is to be compressed.
#[derive(Debug)]
pub struct ModelOrder<'a> {
    /// The model.
    pub model: &'a Path,
    /// The file to write.
    pub output: &'a Path,
    /// The inputs of its layers, where they are known.
    pub calibration: Option<&'a Path>,
    /// Where the dense weights go, too.
    pub dense: Option<&'a Path>,
    /// What else is written.
    pub others: Others<'a>,
    /// How.
    pub asked: &'a AskedModel,
    /// Whether to go on with a run that was ended.
    pub resume: bool,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// No layer may take more.
    pub max_bytes: u64,
    /// Ends it.
    pub stop: &'a Stop,
}

/// Compresses a model. Its loss is measured by the command that is asked for, or by `evaluate` in the place of it.
pub fn compress_model(
    order: &ModelOrder<'_>,
    begun: Instant,
    mut evaluate: Option<Evaluate<'_>>,
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<Summary, ModelError> {
    let ModelOrder { output, asked, stop, max_bytes, .. } = *order;
    let mut inputs = vec![("the model", order.model)];
    inputs.extend(order.calibration.map(|path| ("--calibration", path)));
    let (part, journal) = (part_path(output), journal_path(output));
    let trial = asked.max_loss.is_some().then(|| trial_path(output));
    let dense_part = order.dense.map(part_path);
    let files = [
        ("--output", Some(output)),
        ("the file in which --output grows", Some(&*part)),
        ("the journal of --output", Some(&*journal)),
        ("the file that --max-loss measures", trial.as_deref()),
        ("--dense", order.dense),
        ("the file in which --dense grows", dense_part.as_deref()),
    ];
    distinct(&inputs, &[&files, order.others].concat())?;
    let settings = asked.settings(order.calibration.is_some())?;
    PartFile::check(output)?;
    order.dense.map(PartFile::check).transpose()?;
    let file = WeightsFile::open(order.model)?;
    let (found, _) = layers(&file, &settings);
    let calibration = match order.calibration {
        Some(path) => Some(Calibration::new(WeightsFile::open(path)?, &found)?),
        None => None,
    };
    // Here, where a thread that the system does not give is an error; the first use of a pool would panic.
    let pool = pool::<ModelError>(order.threads)?;
    let job = Job {
        file: &file,
        calibration: calibration.as_ref(),
        settings: settings.clone(),
        output,
        command: asked.max_loss.as_deref(),
        resume: order.resume,
        max_bytes,
        stop,
    };
    let mut measure = |path: &Path| match &mut evaluate {
        Some(evaluate) => evaluate(path),
        None => command::loss(asked.max_loss.as_deref().unwrap_or_default(), path),
    };
    let measure = asked.max_loss.is_some().then_some(&mut measure as Evaluate<'_>);
    let outcome = pool.install(|| job.run(measure, tell))?;
    if let Some(dense) = order.dense {
        let written = WeightsFile::open(output)?;
        pool.install(|| restore(&written, dense, max_bytes, stop, &mut |_| ()))?;
    }
    Ok(Summary::new(&settings, &file, &outcome, begun.elapsed().as_secs_f64()))
}

fn distinct(inputs: &[(&str, &Path)], outputs: Others<'_>) -> Result<(), ModelError> {
    check_distinct(inputs, outputs).map_err(|e| ModelError::SameFile(e.to_string()))
}

/// What is said about a model that is dense again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Its tensors.
    pub tensors: usize,
    /// Those that were cores.
    pub decompressed: usize,
    /// Its numbers.
    pub params: u64,
    /// The bytes of its file.
    pub bytes: u64,
}

/// Writes the dense weights of a compressed model.
pub fn decompress_model(
    model: &Path,
    output: &Path,
    others: Others<'_>,
    max_bytes: u64,
    stop: &Stop,
) -> Result<Restored, ModelError> {
    let part = part_path(output);
    let files = [("--output", Some(output)), ("the file in which --output grows", Some(&*part))];
    distinct(&[("the model", model)], &[&files, others].concat())?;
    PartFile::check(output)?;
    let file = WeightsFile::open(model)?;
    let manifest = restore(&file, output, max_bytes, stop, &mut |_| ())?;
    let dense = WeightsFile::open(output)?;
    Ok(Restored {
        tensors: manifest.tensors.len(),
        decompressed: manifest.tensors.iter().filter(|t| t.terms.is_some()).count(),
        params: dense.entries().iter().map(|e| e.count()).sum(),
        bytes: std::fs::metadata(output).map_or(0, |m| m.len()),
    })
}
