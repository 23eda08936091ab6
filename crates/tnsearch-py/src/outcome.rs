//! What a search found, as Python gets it.

use crate::data::Data;
use crate::errors::{pythonic, raise};
use crate::network::PyNetwork;
use crate::report::whole;
use crate::structure::from_json;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Value, json};
use tnsearch::search::{Best, Evaluation, SearchResult};
use tnsearch_app::summary::Asked;

/// A search that has ended.
pub struct Outcome {
    pub result: SearchResult,
    pub data: Data,
    pub asked: Asked,
    /// The summary that the command writes, as JSON.
    pub summary: String,
    /// The evaluations of the journal it went on from.
    pub before: Vec<Evaluation>,
    /// Its own.
    pub trials: Vec<Evaluation>,
    /// What is to be said about its files.
    pub warnings: Vec<String>,
}

/// The numbers as a dict, the network if there is one, the networks of the front.
pub fn outcome(py: Python<'_>, found: Outcome) -> PyResult<Bound<'_, PyTuple>> {
    for said in &found.warnings {
        py.import("warnings")?.call_method1("warn", (pythonic(said),))?;
    }
    let values = from_json(py, &values(&found))?;
    let network = found.result.best.as_ref().filter(|best| !best.fitted.cores.is_empty());
    let network = network.map(|best| found.network(py, best)).transpose()?;
    let front = found.result.front.iter().map(|best| found.network(py, best));
    let front = front.collect::<PyResult<Vec<_>>>()?;
    (values, network, front).into_pyobject(py)
}

impl Outcome {
    fn network(&self, py: Python<'_>, best: &Best) -> PyResult<PyNetwork> {
        let (data, measure) = (&self.data, &self.result.measure);
        let network = best.network(data.target.dims()).map_err(raise)?;
        if !data.target.has_entries() {
            return Ok(PyNetwork::new(network, None, None));
        }
        let rse = py.detach(|| data.rse_of(&network, measure, best.score.error)).map_err(raise)?;
        let most = Some(data.limit.bytes());
        py.detach(|| data.target.confirm(&network, rse, most)).map_err(raise)?;
        Ok(PyNetwork::new(network, Some(rse), data.reshape.clone()))
    }
}

fn values(found: &Outcome) -> Value {
    let (result, best) = (&found.result, found.result.best.as_ref());
    let (dims, settings) = (found.data.target.dims(), &found.asked.settings);
    let trial = |trial: &Evaluation| {
        let mut value = json!(trial);
        if let Some(fields) = value.as_object_mut() {
            let error = fields.remove("rse").unwrap_or_default();
            fields.insert("error".to_owned(), error);
        }
        value
    };
    let point = |params: u128, error: f64| json!({"params": whole(params), "error": error});
    let pareto = result.pareto.iter().map(|p| {
        let mut value = point(p.params, p.error);
        value["structure"] = json!(p.structure.to_file());
        value["run"] = p.run.into();
        value
    });
    let formats = result.formats.iter().map(|f| {
        let mut value = point(f.score.params, f.score.error);
        value["format"] = f.format.clone().into();
        value["seconds"] = f.seconds.into();
        value["target_reached"] = f.target_reached.into();
        value
    });
    let history = result.history.iter().map(|h| {
        json!({
            "evaluations": h.evaluations, "samples": h.samples, "loss": h.loss, "error": h.error,
            "params": whole(h.params), "seconds": h.seconds,
        })
    });
    let bound = result
        .lower_bound
        .map(|b| json!({"params": b.params.map(whole), "error": b.error, "loss": b.loss}));
    json!({
        "summary": found.summary,
        "strategy": result.strategy,
        "template": found.asked.template.name(),
        "dims": dims,
        "seed": settings.seed,
        "objective": settings.objective.recorded(),
        "measure": result.measure,
        "structure": best.map(|b| b.structure.to_file()),
        "params": best.map(|b| whole(b.score.params)),
        "phi": best.map(|b| b.phi),
        "error": best.map(|b| b.score.error),
        "loss": best.map(|b| b.score.loss),
        "target_reached": result.target_reached,
        "direct": result.counts.direct,
        "samples": result.counts.samples,
        "evaluations": result.counts.evaluations,
        "cached": result.counts.cached,
        "pruned": result.counts.pruned,
        "refused": result.counts.refused,
        "speculative": result.speculative,
        "seconds": result.seconds,
        "stopped_by": result.stopped_by,
        "lower_bound": bound,
        "bound_over": result.statement.bound_over().map(|over| over.to_file()),
        "statement": result.statement.record(),
        "no_answer": result.no_answer.map(|why| why.text()),
        "certified_optimal": result.certified_optimal,
        "proven_impossible": result.proven_impossible,
        "needed_rank": result.needed_rank.map(|n| json!({"rank": n.rank, "because": n.because()})),
        "rounding": result.rounding_text(found.data.target.kind()).map(|text| pythonic(&text)),
        "shrunk": result.shrunk,
        "history": history.collect::<Vec<_>>(),
        "pareto": pareto.collect::<Vec<_>>(),
        "formats": formats.collect::<Vec<_>>(),
        "runs": result.runs,
        "run": best.map(|b| b.run),
        "run_seed": best.map(|b| b.seed),
        "journal_error": result.listener_error.as_ref().map(ToString::to_string),
        "trials": found.before.iter().chain(&found.trials).map(trial).collect::<Vec<_>>(),
    })
}
