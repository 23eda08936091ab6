//! `tnsearch.bound`, `certify` and `space`: what is proven, and how large a search would be.

use crate::data::DataOptions;
use crate::errors::{pythonic, raise};
use crate::report::{Given, structure_values, whole};
use crate::structure::{Whole, from_json};
use crate::{options, template, work};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tnsearch::bound::{BoundLimits, Cut, NeededReport, bound_structure};
use tnsearch::certify::{CertifySettings, Compared};
use tnsearch::geometry::{Internal, Space, SpaceReport};
use tnsearch::graph::{Family, Template, family_list};
use tnsearch::problem::AskedObjective;
use tnsearch::search::Budget;
use tnsearch_app::certificate;
use tnsearch_io::output::Output;

/// Cuts that are listed.
const LISTED: usize = 10;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    objective: AskedObjective,
    max_rank: Option<usize>,
    nodes: Option<u64>,
    no_shrink: bool,
    certificate: Option<PathBuf>,
    certificate_cases: Option<usize>,
    max_seconds: Option<f64>,
    threads: Option<usize>,
}

impl Options {
    fn read(given: &Bound<'_, PyDict>) -> PyResult<(Self, BoundLimits)> {
        let asked: Options = options::read(given)?;
        let budget = Budget::default().with(|b| {
            b.threads = asked.threads;
            b.max_seconds = asked.max_seconds;
        });
        budget.check().map_err(raise)?;
        let bytes = asked.data.limit()?.bytes();
        let limits = BoundLimits::default().with(|l| {
            l.threads = asked.threads;
            l.max_bytes = Some(bytes);
        });
        Ok((asked, limits))
    }

    fn seconds(&self) -> f64 {
        self.max_seconds.unwrap_or(f64::INFINITY)
    }
}

/// What no fit of a structure can go below, as a dict.
#[pyfunction]
pub fn bound<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    structure: &Bound<'py, PyAny>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (asked, limits) = Options::read(given)?;
    let structure = Given::of(structure)?;
    let data = asked.data.load_whole(x, structure.reshape.as_ref())?;
    structure.check_shape(data.target.dims())?;
    let (structure, target) = (&structure.structure, &data.target);
    let done = work::interruptible(py, |stop| {
        let stop = stop.within_seconds(asked.seconds());
        bound_structure(target, structure, &limits, &stop)
    })?;
    // There is nothing before the end.
    done.interrupted.map_or(Ok(()), Err)?;
    let found = done.result.map_err(raise)?;
    let mut values = structure_values(structure, target.dims());
    values["rse"] = json!(found.rse);
    values["cuts"] = found.cuts.iter().take(LISTED).map(|cut| json!(Cut::new(cut))).collect();
    values["cuts_computed"] = found.used.into();
    values["cuts_left_out"] = (found.cuts.len() - found.used).into();
    from_json(py, &values)
}

/// What no structure of a template can go below, as a dict.
#[pyfunction]
#[pyo3(signature = (x, graph, net, given))]
pub fn certify<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    graph: Option<&Bound<'py, PyAny>>,
    net: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (asked, limits) = Options::read(given)?;
    let objective = asked.objective.check().map_err(raise)?;
    if !asked.objective.loss.is_default() {
        let text = format!(
            "loss is {}; the cuts of a tensor bound only the squared error",
            asked.objective.loss
        );
        return Err(PyValueError::new_err(text));
    }
    let output = asked.certificate.as_deref().map(Output::check).transpose().map_err(raise)?;
    let cases = certificate::cases(asked.certificate_cases, output.is_some()).map_err(raise)?;
    let net = net.map(Given::of).transpose()?;
    let known = net.as_ref().and_then(|net| net.reshape.as_ref());
    let data = asked.data.load_whole(x, known)?;
    let (target, dims) = (&data.target, data.target.dims());
    if let Some(net) = &net {
        net.check_shape(dims)?;
    }
    let template = match (graph, &net) {
        (Some(graph), _) => Arc::new(template::template(graph, dims.len())?),
        (None, Some(net)) if net.structure.is_grouped() => {
            return Err(PyValueError::new_err(
                "some vertex of the network carries several modes; say with template which structures the proof is about",
            ));
        }
        (None, Some(net)) => net.structure.template().clone(),
        (None, None) => Arc::new(Template::ring(dims.len()).map_err(raise)?),
    };
    if template.is_formats() || template.is_any() {
        return Err(many(template.name()));
    }
    let settings = CertifySettings::default().with(|s| {
        s.max_rank = asked.max_rank.unwrap_or(s.max_rank);
        s.nodes = asked.nodes.unwrap_or(s.nodes);
        s.shrink = !asked.no_shrink;
        s.cases = output.as_ref().map(|_| cases);
        s.limits = limits;
    });
    if settings.max_rank == 0 || settings.nodes == 0 {
        return Err(PyValueError::new_err("max_rank and nodes must be at least 1"));
    }
    let compared = net.as_ref().map(|net| match &net.network {
        Some(network) => Compared::Network(&network.get().network),
        None => Compared::Structure(&net.structure),
    });
    let done = work::interruptible(py, |stop| {
        let stop = stop.within_seconds(asked.seconds());
        tnsearch::certify::certify(target, &template, objective, &settings, compared, &stop)
    })?;
    let proof = match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => return Err(signal),
        (proof, _) => proof.map_err(raise)?,
    };
    if let (Some(output), Some(made)) = (&output, &proof.certificate) {
        // A file that fails must not take the proof with it.
        let said = certificate::write(output, made, &template, &data);
        if let Some(said) = said.unwrap_or_else(|e| Some(e.to_string())) {
            py.import("warnings")?.call_method1("warn", (pythonic(&said),))?;
        }
    }
    let values = json!({
        "template": template.to_ref(),
        "relaxed": proof.relaxed.as_ref().map(|s| structure_values(s, dims)),
        "dims": dims,
        "objective": objective.get(),
        "max_rank": settings.max_rank,
        "lower_bound": proof.bound,
        "bound_over": proof.statement.bound_over().map(|over| over.to_file()),
        "statement": proof.statement.record(),
        "nodes": proof.nodes,
        "complete": proof.complete,
        "proven_impossible": proof.impossible,
        "needed_rank": proof.needed.map(NeededReport::new),
        "net": proof.net.as_ref().map(|net| json!({
            "params": whole(net.params), "rse": net.rse, "gap": net.gap,
            "certified_optimal": net.certified_optimal, "reaches": net.reaches,
        })),
        "binding_cuts": proof.binding.iter().take(LISTED).collect::<Vec<_>>(),
    });
    from_json(py, &values)
}

fn many(name: &str) -> PyErr {
    PyValueError::new_err(format!(
        "template {name} stands for many graphs; this needs one: {} or a graph",
        family_list()
    ))
}

/// How large the search space of a template is, as a dict.
#[pyfunction]
#[pyo3(signature = (graph, order, max_rank, internal))]
pub fn space<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyAny>,
    order: Option<Whole>,
    max_rank: Whole,
    internal: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (order, max_rank) = (order.map(|n| n.0), max_rank.0);
    let internal = match internal {
        "free" => Internal::Free,
        "fixed" => Internal::Fixed,
        other => {
            let text = format!("internal is '{other}'; use 'free' or 'fixed'");
            return Err(PyValueError::new_err(text));
        }
    };
    let family = graph.cast::<PyString>().ok().map(|name| name.to_str().map(Family::parse));
    let template = match (family.transpose()?, order) {
        (Some(Ok(family)), order) => match order.or(family.order()) {
            Some(order) => family.build(order).map_err(raise)?,
            None => {
                let text = format!("template {graph} has any order; give order=N or dims");
                return Err(PyTypeError::new_err(text));
            }
        },
        (_, Some(order)) => template::template(graph, order)?,
        (_, None) => template::own(graph)?,
    };
    if template.is_formats() || template.is_any_tree() || template.is_any() {
        return Err(many(template.name()));
    }
    let template = Arc::new(template);
    let done = work::interruptible(py, |_| Space::new(template.clone(), max_rank, internal))?;
    done.interrupted.map_or(Ok(()), Err)?;
    let size = done.result.map_err(raise)?;
    from_json(py, &json!(SpaceReport::new(&template, &size, internal)))
}
