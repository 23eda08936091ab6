//! `tnsearch.compress_model` and `decompress_model`: the weights of models, file to file.

use crate::errors::{pythonic, raise};
use crate::options::Memory;
use crate::structure::from_json;
use crate::{options, work};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tnsearch_app::models::{self, ModelOrder};
use tnsearch_io::output::Output;
use tnsearch_io::weights::{Entry, Notes, WeightsFile, header_bytes};
use tnsearch_models::job::Evaluate;
use tnsearch_models::{AskedModel, Event, ModelError};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    asked: AskedModel,
    calibration: Option<PathBuf>,
    dense: Option<PathBuf>,
    resume: bool,
    threads: Option<usize>,
    max_memory: Memory,
}

/// Warns as Python does.
fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let kind = py.get_type::<PyUserWarning>();
    py.import("warnings")?.call_method1("warn", (pythonic(text), kind, 4)).map(drop)
}

/// What work on a model gave, or why nothing; where Ctrl-C ended it, that.
fn ended<T>(done: work::Done<Result<T, ModelError>>) -> PyResult<T> {
    match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => Err(signal),
        (result, _) => result.map_err(raise),
    }
}

/// Compresses a model file: its summary. A function may measure the loss in the place of a command.
#[pyfunction]
#[pyo3(signature = (model, output, evaluate, given))]
pub fn compress_model<'py>(
    py: Python<'py>,
    model: PathBuf,
    output: PathBuf,
    evaluate: Option<Py<PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let begun = Instant::now();
    let asked: Options = options::read(given)?;
    let limit = asked.max_memory.limit()?;
    let (mut warnings, mut raised) = (Vec::new(), None);
    let done = work::interruptible(py, |stop| {
        let order = ModelOrder {
            model: &model,
            output: &output,
            calibration: asked.calibration.as_deref(),
            dense: asked.dense.as_deref(),
            others: &[],
            asked: &asked.asked,
            resume: asked.resume,
            threads: asked.threads,
            max_bytes: limit.bytes(),
            stop,
        };
        let mut measured = |path: &Path| match &evaluate {
            Some(function) => Python::attach(|py| {
                let loss = function.call1(py, (path,)).and_then(|loss| loss.extract::<f64>(py));
                match loss {
                    Ok(loss) if loss.is_finite() => Ok(loss),
                    Ok(loss) => Err(format!("the loss is {loss}; it must be a finite number")),
                    Err(e) => {
                        // What a function of the user raises is raised.
                        let text = e.to_string();
                        raised.get_or_insert(e);
                        stop.set();
                        Err(text)
                    }
                }
            }),
            None => Err("there is no function".to_owned()),
        };
        let measured = evaluate.is_some().then_some(&mut measured as Evaluate<'_>);
        models::compress_model(&order, begun, measured, &mut |event| match event {
            Event::Warning(said) => warnings.push(said.to_owned()),
            Event::Trial(trial) => warnings.extend(trial.warning()),
            _ => {}
        })
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    let summary = ended(done)?;
    warnings.extend(summary.warnings());
    warnings.extend(summary.quantised());
    warnings.iter().try_for_each(|said| warn(py, said))?;
    from_json(py, &summary)
}

/// Writes the dense weights of a compressed model: what is said about them.
#[pyfunction]
#[pyo3(signature = (model, output, given))]
pub fn decompress_model<'py>(
    py: Python<'py>,
    model: PathBuf,
    output: PathBuf,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: Options = options::read(given)?;
    let limit = asked.max_memory.limit()?.bytes();
    let done = work::interruptible(py, |stop| {
        models::decompress_model(&model, &output, &[], limit, stop)
    })?;
    from_json(py, &ended(done)?)
}

/// A tensor of a file of weights: name, type as the format calls it, shape, bytes.
type Stored<'py> = (String, String, Vec<usize>, Bound<'py, PyBytes>);

/// Texts by their names, in the order of the file.
type Texts = Vec<(String, String)>;

/// The tensors of a file of weights, in the order of their bytes, and the texts that its writer noted.
#[pyfunction]
pub fn read_weights<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(Vec<Stored<'py>>, Texts)> {
    let file = WeightsFile::open(&path).map_err(raise)?;
    let mut tensors = Vec::new();
    for (k, Entry { name, stored, shape, .. }) in file.entries().iter().enumerate() {
        let mut bytes = Vec::new();
        file.copy(k, &mut bytes).map_err(raise)?;
        tensors.push((name.clone(), stored.clone(), shape.clone(), PyBytes::new(py, &bytes)));
    }
    let texts = file.notes().texts().map(|(name, text)| (name.to_owned(), text.to_owned()));
    Ok((tensors, texts.collect()))
}

/// Writes tensors as a file of weights, in this order.
#[pyfunction]
pub fn write_weights(path: PathBuf, tensors: Vec<Stored<'_>>, texts: Texts) -> PyResult<()> {
    let mut notes = Notes::new();
    texts.into_iter().for_each(|(name, text)| notes.insert(name, text));
    let (mut entries, mut at) = (Vec::new(), 0);
    for (place, (name, stored, shape, bytes)) in tensors.iter().enumerate() {
        let length = bytes.as_bytes().len() as u64;
        let entry = Entry::new(name.clone(), stored.clone(), shape.clone(), at, length);
        // Behind the notes.
        entries.push(entry.at_place(place + 1));
        at += length;
    }
    let write = |w: &mut dyn std::io::Write| {
        w.write_all(&header_bytes(&entries, &notes))?;
        tensors.iter().try_for_each(|(.., bytes)| w.write_all(bytes.as_bytes()))
    };
    Output::check(&path).and_then(|output| output.write(write)).map_err(raise)
}
