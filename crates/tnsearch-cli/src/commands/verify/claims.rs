//! The claims of a network and of its summary.

use super::findings::Findings;
use super::{Verify, given};
use crate::commands::data::Data;
use crate::commands::structures::{Loaded, Source, load_structure};
use crate::text::number;
use anyhow::bail;
use serde_json::{Value, json};
use std::path::Path;
use tnsearch::problem::Stop;
use tnsearch::tensor::Kind;
use tnsearch_io::MemoryLimit;
use tnsearch_verify::{
    Array, Contracted, Limits, Measure, Network, Unchecked, agree, error, family, rse,
};

/// The checks of one call.
pub struct Checks<'a> {
    pub(super) args: &'a Verify,
    pub(super) data: &'a Data,
    pub(super) limits: &'a Limits<'a>,
    pub(super) limit: MemoryLimit,
    pub(super) stop: &'a Stop,
    /// The tensor, and which of its entries are known.
    pub(super) x: Array,
    known: Option<Vec<bool>>,
    /// The network, and the tensor that it stands for.
    pub(super) network: Option<Network>,
    tensor: Option<Result<Contracted, Unchecked>>,
    pub(super) found: Findings,
}

/// What a rounded number may be off by, relative.
const CLOSE: f64 = 1e-9;

impl<'a> Checks<'a> {
    /// Nothing checked yet.
    pub fn new(
        args: &'a Verify,
        data: &'a Data,
        limits: &'a Limits<'a>,
        limit: MemoryLimit,
        stop: &'a Stop,
    ) -> anyhow::Result<Self> {
        let (target, found) = (&data.target, Findings::default());
        let number = if target.kind().is_complex() { 16 } else { 8 };
        limit
            .check(target.entries() as u128 * number / 8, Kind::F64)
            .map_err(|p| p.of(&args.tensor))?;
        let (x, known) = (given::tensor(target), given::known(target));
        let (network, tensor) = (None, None);
        Ok(Checks { args, data, limits, limit, stop, x, known, network, tensor, found })
    }

    /// What came of all claims.
    pub fn findings(self) -> Findings {
        self.found
    }

    /// The claims of the network's own file.
    pub fn network(&mut self, loaded: &Loaded, summary: Option<&Value>) -> anyhow::Result<()> {
        let Source::Network(stored) = &loaded.source else { bail!("there is no network") };
        let network = given::network(stored);
        let checked = network.check();
        let why = checked.as_ref().err().map(ToString::to_string);
        self.found.said("network", Value::Null, Value::Null, checked.is_ok(), why.clone());
        if why.is_some() {
            return Ok(());
        }
        self.found.compared(
            "dims",
            json!(network.dims),
            json!(self.x.dims),
            network.dims == self.x.dims,
        );
        let template = serde_json::to_value(stored.structure().to_file().template)?;
        self.template(&template, &network);
        self.tensor = Some(network.contract(self.limits));
        self.network = Some(network);
        let Some(claimed) = loaded.rse else { return Ok(()) };
        let rounded = summary.is_none_or(|s| s.get("rse_tensor_at_most").is_some());
        match self.rse() {
            Err(why) => self.found.not_checked("rse of the file", claimed, why.to_string()),
            // Of a network that was rounded it is an upper bound.
            Ok(found) if rounded && found <= claimed && !self.same(claimed, found) => {
                let why = Some(format!("as an upper bound; it is {}", number(found)));
                self.found.said("rse of the file", claimed, found, true, why);
            }
            Ok(found) => {
                let holds = self.same(claimed, found);
                self.found.compared("rse of the file", claimed, found, holds);
            }
        }
        Ok(())
    }

    /// The RSE of the network on the known entries.
    pub(super) fn rse(&self) -> Result<f64, Unchecked> {
        let z = self
            .tensor
            .as_ref()
            .unwrap_or(&Err(Unchecked::Stopped))
            .as_ref()
            .map_err(Clone::clone)?;
        Ok(rse(&self.x, self.known.as_deref(), z).unwrap_or(f64::NAN))
    }

    /// Whether two errors are the same but for what the arithmetic of a fit rounds.
    pub(super) fn same(&self, claimed: f64, found: f64) -> bool {
        let narrow = matches!(self.data.target.kind(), Kind::F32 | Kind::C32);
        let rounding = if narrow { 1e-5 } else { 1e-12 };
        agree(claimed, found, rounding)
            || agree(claimed, found, rounding.max(self.cancelled(narrow)))
    }

    /// What rounding takes where large parts of a network cancel: a few ulp of the network of absolute values, relative
    /// to the tensor.
    fn cancelled(&self, narrow: bool) -> f64 {
        let Some(network) = &self.network else { return 0.0 };
        let mut sizes = network.clone();
        for core in &mut sizes.cores {
            let im = std::mem::take(&mut core.im);
            core.re.iter_mut().for_each(|x| *x = x.abs());
            core.re.iter_mut().zip(&im).for_each(|(x, y)| *x = x.hypot(*y));
        }
        let Ok(sum) = sizes.contract(self.limits) else { return 0.0 };
        let ulp = if narrow { f64::from(f32::EPSILON) } else { f64::EPSILON };
        relative(&sum.into_array(), &self.x) * 8.0 * ulp * network.external.len() as f64
    }

    /// Whether a template is the graph that the network has.
    fn template(&mut self, template: &Value, network: &Network) {
        let edges: Vec<[usize; 2]> = network.edges.iter().map(|e| [e[0], e[1]]).collect();
        match template {
            Value::String(name) => {
                let vertices = network.external.iter().filter(|e| **e).count();
                match family(name, vertices) {
                    Some((external, expected)) => {
                        let same = external == network.external && same_edges(&expected, &edges);
                        let why = (!same).then(|| format!("its graph is no {name}"));
                        self.found.said("template", name.as_str(), json!(edges), same, why);
                    }
                    None => {
                        let why = format!("the graph of '{name}' is not known here");
                        self.found.not_checked("template", name.as_str(), why);
                    }
                }
            }
            graph => {
                let said: Option<(Vec<bool>, Vec<[usize; 2]>)> = graph_of(graph);
                let same = said.is_some_and(|(external, expected)| {
                    external == network.external && same_edges(&expected, &edges)
                });
                let why = Some("a graph of its own".to_owned());
                self.found.said("template", Value::Null, Value::Null, same, why);
            }
        }
    }

    /// The claims of a summary about the network.
    pub fn summary(&mut self, summary: &Value) -> anyhow::Result<()> {
        let Some(network) = self.network.clone() else { return Ok(()) };
        if summary.get("binding_cuts").is_some() {
            self.certified(summary, &network);
            return Ok(());
        }
        let known = |name: &str| summary.get(name).filter(|v| !v.is_null());
        let mut equal = |name: &'static str, found: Value| {
            if let Some(claimed) = known(name) {
                let holds = *claimed == found;
                self.found.compared(name, claimed.clone(), found, holds);
            }
        };
        equal("order", json!(network.dims.len()));
        equal("dims", json!(network.dims));
        equal("permutation", json!(network.at));
        equal("edges", json!(network.edges));
        if let Some(template) = known("template") {
            self.template(&template.clone(), &network);
        }
        self.sizes(summary, &network);
        self.holes(summary);
        self.errors(summary, &network)?;
        self.front(summary, &network);
        Ok(())
    }

    /// Numbers that follow from the structure.
    fn sizes(&mut self, summary: &Value, network: &Network) {
        let Some(params) = network.params() else { return };
        if let Some(claimed) = summary.get("params").filter(|v| !v.is_null()) {
            let holds = claimed.as_u64().map(u128::from) == Some(params);
            self.found.compared("params", claimed.clone(), u64::try_from(params).ok(), holds);
        }
        let entries: f64 = network.dims.iter().map(|&d| d as f64).product();
        let phi = params as f64 / entries;
        for (name, found) in [("phi", phi), ("log10_cr", -phi.log10())] {
            if let Some(claimed) = summary.get(name).and_then(Value::as_f64) {
                let holds = (claimed - found).abs() <= CLOSE * found.abs().max(1e-3);
                self.found.compared(name, claimed, found, holds);
            }
        }
    }

    /// How many entries are known.
    fn holes(&mut self, summary: &Value) {
        if summary.get("empty_slices").is_none() {
            return;
        }
        let entries = self.x.re.len();
        let observed = self.known.as_ref().map_or(entries, |k| k.iter().filter(|k| **k).count());
        let counts =
            [("entries", entries), ("observed", observed), ("missing", entries - observed)];
        for (name, found) in counts {
            if let Some(claimed) = summary.get(name).filter(|v| !v.is_null()) {
                self.found.compared(
                    name,
                    claimed.clone(),
                    found,
                    claimed.as_u64() == Some(found as u64),
                );
            }
        }
    }

    /// The error, and what follows from it.
    fn errors(&mut self, summary: &Value, network: &Network) -> anyhow::Result<()> {
        if summary.get("rse_tensor_at_most").is_some() {
            return self.rounded(summary);
        }
        let ids = [("rse", "squared"), ("kl", "kl"), ("poisson", "poisson"), ("huber", "huber")];
        let said = ids.into_iter().find(|(id, _)| summary.get(id).is_some_and(|v| !v.is_null()));
        let Some((id, name)) = said else { return Ok(()) };
        let claimed = summary[id].as_f64().unwrap_or(f64::NAN);
        let asked = self.args.loss.spec();
        let asked = if asked.is_default() { name.to_owned() } else { asked.to_string() };
        let measure = Measure::named(&asked);
        let contracted = self.tensor.as_ref().unwrap_or(&Err(Unchecked::Stopped));
        let found = match (contracted, measure) {
            (Err(why), _) => {
                self.found.not_checked(id, claimed, why.to_string());
                return Ok(());
            }
            (_, None) => {
                self.found.not_checked(
                    id,
                    claimed,
                    format!("the loss '{asked}' is not known here"),
                );
                return Ok(());
            }
            (Ok(z), Some(measure)) => error(measure, &self.x, self.known.as_deref(), z),
        };
        let found = found.unwrap_or(f64::NAN);
        let holds = match id {
            "rse" => self.same(claimed, found),
            _ => (claimed - found).abs() <= 1e-9 * found.abs() + 1e-12,
        };
        if id == "huber" && !holds && self.args.loss.spec().is_default() {
            let why = "its delta is not in the summary: give --loss huber:D as it was";
            self.found.not_checked(id, claimed, why.to_owned());
            return Ok(());
        }
        self.found.compared(id, claimed, found, holds);
        if let Some(re) = summary.get("re").and_then(Value::as_f64).filter(|_| id == "rse") {
            let holds = self.same(re * re, found);
            self.found.compared("re", re, found.sqrt(), holds);
        }
        self.goal(summary, network, id, found, Some(claimed).filter(|_| holds));
        Ok(())
    }

    /// The loss, and whether the target was reached. Where the error claimed holds, its loss is that of this error:
    /// far from a small one it grows what was rounded.
    fn goal(
        &mut self,
        summary: &Value,
        network: &Network,
        id: &str,
        error: f64,
        claimed: Option<f64>,
    ) {
        let objective = &summary["objective"];
        let number = |name: &str| objective.get(name).and_then(Value::as_f64);
        let params = network.params().unwrap_or(u128::MAX) as f64;
        let phi = params / network.dims.iter().map(|&d| d as f64).product::<f64>();
        let eps = number(&format!("max_{id}")).or(summary.get("max_rse").and_then(Value::as_f64));
        let goals = (number("lambda"), eps, number("max_params"));
        let loss = |error: f64| match goals {
            (Some(lambda), ..) => Some(phi + lambda * error),
            (_, Some(eps), _) => Some(phi + 0.02 * (error / eps - 1.0).max(0.0)),
            (_, _, Some(most)) if params > most => Some(1.0 + params / most),
            (_, _, Some(_)) => Some(error),
            _ => None,
        };
        let reached = match goals {
            (Some(_), ..) => Some(true),
            // Right at the threshold rounding decides.
            (_, Some(eps), _) if self.same(eps, error) && error != eps => None,
            (_, Some(eps), _) => Some(error <= eps),
            (_, _, most) => most.map(|most| params <= most),
        };
        let said = summary.get("loss").and_then(Value::as_f64);
        if let (Some(said), Some(found)) = (said, loss(claimed.unwrap_or(error))) {
            let holds = (said - found).abs() <= 1e-9 * found.abs() + 1e-12;
            self.found.compared("loss", said, found, holds);
        }
        if let (Some(claimed), Some(found)) = (summary["target_reached"].as_bool(), reached) {
            self.found.compared("target_reached", claimed, found, claimed == found);
        }
    }

    /// The claims of a network that was rounded: its error is that against the network given.
    fn rounded(&mut self, summary: &Value) -> anyhow::Result<()> {
        let claimed = summary["rse"].as_f64().unwrap_or(f64::NAN);
        let floor = summary["rse_floor"].as_f64().unwrap_or(0.0);
        let input = summary["input"].as_str().unwrap_or_default();
        let z = self.tensor.as_ref().unwrap_or(&Err(Unchecked::Stopped));
        let found = match (Path::new(input).exists(), z) {
            (_, Err(why)) => Err(why.to_string()),
            (false, _) => Err(format!("the network before, '{input}', is not there")),
            (true, Ok(z)) => match load_structure(Path::new(input), self.limit)?.source {
                Source::Network(before) => {
                    let before = given::network(&before);
                    match before.check().map(|()| before.contract(self.limits)) {
                        Ok(Ok(before)) => {
                            Ok(rse(&before.into_array(), None, z).unwrap_or(f64::NAN))
                        }
                        Ok(Err(why)) => Err(why.to_string()),
                        Err(why) => Err(why.to_string()),
                    }
                }
                _ => Err(format!("'{input}' is no network")),
            },
        };
        match found {
            Err(why) => self.found.not_checked("rse", claimed, why),
            Ok(found) => {
                let holds = self.same(claimed, found) || agree(claimed, found, floor.sqrt());
                self.found.compared("rse", claimed, found, holds);
            }
        }
        let most = summary["rse_tensor_at_most"].as_f64().unwrap_or(f64::NAN);
        match self.rse() {
            Err(why) => self.found.not_checked("rse_tensor_at_most", most, why.to_string()),
            Ok(found) => {
                let holds = found <= most || self.same(most, found);
                self.found.compared("rse_tensor_at_most", most, found, holds);
            }
        }
        Ok(())
    }

    /// What `certify` says about the network.
    fn certified(&mut self, summary: &Value, network: &Network) {
        let net = &summary["net"];
        if net.is_null() {
            return;
        }
        let params = network.params();
        if let Some(claimed) = net.get("params") {
            let holds = claimed.as_u64().map(u128::from) == params;
            let found = params.and_then(|p| u64::try_from(p).ok());
            self.found.compared("params", claimed.clone(), found, holds);
        }
        let claimed = net["rse"].as_f64().unwrap_or(f64::NAN);
        match self.rse() {
            Err(why) => self.found.not_checked("rse", claimed, why.to_string()),
            Ok(found) => {
                let holds = self.same(claimed, found);
                self.found.compared("rse", claimed, found, holds);
                let said =
                    json!({"objective": summary["objective"], "target_reached": net["reaches"]});
                self.goal(&said, network, "rse", found, None);
            }
        }
    }

    /// The points of the front: their sizes; their errors would take their cores.
    fn front(&mut self, summary: &Value, network: &Network) {
        let Some(points) = summary["pareto"].as_array().filter(|p| !p.is_empty()) else { return };
        let wrong = points.iter().position(|point| {
            let edges: Option<Vec<[usize; 3]>> =
                serde_json::from_value(point["edges"].clone()).ok();
            let at: Option<Vec<usize>> = serde_json::from_value(point["permutation"].clone()).ok();
            let (Some(edges), Some(at)) = (edges, at) else { return true };
            let ends = edges.iter().flat_map(|e| [e[0], e[1]]).chain(at.iter().copied());
            let vertices = ends.max().unwrap_or(0).saturating_add(1);
            if vertices > 4096 {
                return true;
            }
            let external = (0..vertices).map(|v| at.contains(&v)).collect();
            let (dims, cores) = (network.dims.clone(), Vec::new());
            let made = Network { dims, external, at, edges, cores };
            let params = point["params"].as_u64().map(u128::from);
            made.check_structure().is_err() || made.params() != params
        });
        let why = match wrong {
            None => format!("the params of {} points", points.len()),
            Some(k) => format!("point {k} has other params than it says"),
        };
        self.found.said("pareto", Value::Null, Value::Null, wrong.is_none(), Some(why));
    }
}

/// The norm of a tensor in units of that of another.
fn relative(sum: &Array, x: &Array) -> f64 {
    let norm = |a: &Array| {
        let parts = a.re.iter().chain(&a.im);
        let most = parts.clone().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        (parts.map(|x| (x / most) * (x / most)).sum::<f64>().sqrt(), most)
    };
    let ((a, large), (b, small)) = (norm(sum), norm(x));
    (a / b) * (large / small)
}

/// Whether two lists name the same edges.
pub(super) fn same_edges(a: &[[usize; 2]], b: &[[usize; 2]]) -> bool {
    let sorted = |edges: &[[usize; 2]]| {
        let mut edges: Vec<[usize; 2]> =
            edges.iter().map(|e| [e[0].min(e[1]), e[0].max(e[1])]).collect();
        edges.sort_unstable();
        edges
    };
    sorted(a) == sorted(b)
}

/// The vertices and edges of a graph in JSON.
fn graph_of(graph: &Value) -> Option<(Vec<bool>, Vec<[usize; 2]>)> {
    let vertices = graph.get("vertices")?.as_array()?;
    let external =
        vertices.iter().map(|v| v.get("mode")?.as_bool()).collect::<Option<Vec<bool>>>()?;
    Some((external, serde_json::from_value(graph.get("edges")?.clone()).ok()?))
}
