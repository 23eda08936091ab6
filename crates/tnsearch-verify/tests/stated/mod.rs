//! A small network whose numbers are written down, what a search says of it, and the proof.

#![allow(dead_code, reason = "not every test takes all of it")]

use serde_json::{Value, json};
use tnsearch_verify::claims::{Bounded, Findings, Given, Made, Outcome, Stored, Tools, verify};
use tnsearch_verify::{Array, Certificate, Graph, Limits, Network, fingerprint};

/// Nobody who proves anything, and one network by name.
pub struct Alone;

impl Tools for Alone {
    fn prove(&self, _: &Bounded) -> Made {
        Made::Not("nobody proves it".to_owned())
    }

    fn graph(&self, _: &str, _: usize) -> Option<Graph> {
        None
    }

    fn network(&self, name: &str) -> Result<Network, String> {
        match name {
            "before" => Ok(network()),
            _ => Err("it is not there".to_owned()),
        }
    }
}

/// A matrix of two singular values, 2 and 1.5, as two cores.
pub fn network() -> Network {
    let core = |dims: [usize; 2], entries: &[f64]| Array::real(dims.to_vec(), entries.to_vec());
    let left = core([2, 3], &[1.2, 1.6, 0.0, -0.8, 0.6, 0.0]).unwrap();
    let right = core([2, 4], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5]).unwrap();
    Network {
        dims: vec![3, 4],
        external: vec![true, true],
        at: vec![0, 1],
        edges: vec![[0, 1, 2]],
        hub: None,
        cores: vec![left, right],
    }
}

pub fn tensor() -> Array {
    let (a, b) = (&network().cores[0].re, &network().cores[1].re);
    let entry = |k: usize| (0..2).map(|r| a[r * 3 + k / 4] * b[r * 4 + k % 4]).sum();
    Array::real(vec![3, 4], (0..12).map(entry).collect()).unwrap()
}

/// What a search for an RSE of 0.1 says of it.
pub fn searched() -> Value {
    let point = json!({"evaluations": 1, "samples": 2, "loss": 14.0 / 12.0, "rse": 0.0, "params": 14, "seconds": 0.5});
    json!({
        "strategy": "exact", "template": "path", "order": 2, "dims": [3, 4], "permutation": [0, 1],
        "edges": [[0, 1, 2]], "params": 14, "phi": 14.0 / 12.0, "log10_cr": -(14.0f64 / 12.0).log10(),
        "dtype": "f64", "reshaped": null, "seed": 3, "rse": 0.0, "re": 0.0, "loss": 14.0 / 12.0, "direct": 1,
        "samples": 2, "evaluations": 1, "cached": 1, "pruned": 0, "refused": 0, "speculative": 0, "seconds": 1.0,
        "shrunk": null, "stopped_by": "finished", "lower_bound": {"params": 14, "rse": null, "loss": null},
        "bound_over": {"template": "path", "max_rank": 7}, "certified_optimal": true, "proven_impossible": false,
        "needed_rank": null, "edges_at_max_rank": 0, "history": [point],
        "pareto": [{"params": 7, "rse": 0.36, "permutation": [0, 1], "edges": [[0, 1, 1]], "run": 0},
                   {"params": 14, "rse": 0.0, "permutation": [0, 1], "edges": [[0, 1, 2]], "run": 0}],
        "formats": [], "chosen": null, "input": "x.npy", "objective": {"max_rse": 0.1}, "target_reached": true,
        "format_preserved": true, "run": 0, "run_seed": 3,
        "runs": [{"seed": 3, "counts": {"direct": 1, "samples": 2, "evaluations": 1, "cached": 1, "pruned": 0, "refused": 0},
                  "best": {"loss": 14.0 / 12.0, "rse": 0.0, "params": 14}, "target_reached": true}],
        "settings": {"max_rank": 7}, "fit": {}, "budgets": {}, "output": "net", "version": "0",
        "statement": {"proven": "optimal", "over": {"template": "path", "max_rank": 7}, "answer": "inside", "text": "optimal"},
    })
}

/// The proof: rank 1 leaves 0.36.
pub fn certificate() -> Value {
    json!({
        "format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "", "reshaped": null,
        "data": {"dims": [3, 4], "dtype": "f64", "sha256": fingerprint(&tensor(), "f64"), "norm": 2.5},
        "template": {"vertices": [{"mode": true}, {"mode": true}], "edges": [[0, 1]]},
        "max_rank": 7, "max_rse": 0.1, "params": 14, "lost": 0.0,
        "cuts": [{"modes": [1], "width": 2, "tail": 0.36, "slack": 1e-12}], "tree": [{}],
    })
}

/// What comes of a summary, with or without the proof.
pub fn checked(
    summary: &Value,
    proof: Option<&Value>,
    change: impl Fn(&mut Given<'_>),
) -> Findings {
    checked_by(&Alone, summary, proof, change)
}

/// The same with somebody who proves.
pub fn checked_by(
    tools: &dyn Tools,
    summary: &Value,
    proof: Option<&Value>,
    change: impl Fn(&mut Given<'_>),
) -> Findings {
    let x = tensor();
    let certificate = proof.map(|c| Certificate::parse(&c.to_string()).unwrap());
    let stored = Stored {
        network: network(),
        dtype: "f64".to_owned(),
        template: json!("path"),
        reshaped: Value::Null,
        rse: Some(0.0),
    };
    let mut given = Given {
        x: &x,
        known: None,
        dtype: "f64",
        reshaped: Value::Null,
        network: Some(stored),
        summary: Some(summary),
        certificate: certificate.as_ref(),
        removed: None,
        loss: None,
        template: None,
        max_rank: None,
    };
    change(&mut given);
    verify(&given, tools, &Limits { bytes: u64::MAX, stop: &|| false })
}

pub fn outcome(summary: &Value, proof: Option<&Value>) -> Outcome {
    checked(summary, proof, |_| ()).outcome(false)
}

/// The network without its second part: it misses 0.36 of the tensor.
pub fn half() -> Network {
    let mut half = network();
    half.cores[1].re[7] = 0.0;
    half
}

/// What every summary says of the structure.
pub fn structure() -> Value {
    let all = searched();
    let mut summary = json!({});
    for name in ["template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"] {
        summary[name] = all[name].clone();
    }
    summary
}

/// Sets what a pointer leads to, also where it is new.
pub fn set(value: &mut Value, pointer: &str, to: Value) {
    let (part, name) = pointer.rsplit_once('/').unwrap();
    let part = value.pointer_mut(part).unwrap_or_else(|| panic!("{pointer}"));
    match name.parse::<usize>() {
        Ok(k) if part.is_array() => part[k] = to,
        _ => part[name] = to,
    }
}

/// A summary with some fields changed.
pub fn with(summary: &Value, changes: &[(&str, Value)]) -> Value {
    let mut made = summary.clone();
    changes.iter().for_each(|(pointer, value)| set(&mut made, pointer, value.clone()));
    made
}
