//! Claims about the structure: where modes sit, the graph, the ranks, what follows from them.

use super::class::{CP, class_of, has_graph, hub_of, same_edges};
use super::{Checks, Command, Stored, close};
use crate::certificate::Class;
use crate::{Network, Verdict};
use serde_json::{Value, json};

/// Strategies that leave the template: the structures of all graphs are theirs.
pub(super) const ALL_GRAPHS: [&str; 2] = ["greedy", "tnga-star"];
/// The largest rank that a search tries where none is given.
const WIDEST: usize = 1024;

impl<'a> Checks<'a> {
    /// The claims of the network's own file.
    pub(super) fn file(&mut self, stored: &'a Stored) {
        let network = &stored.network;
        let checked = network.check();
        let why = checked.as_ref().err().map(ToString::to_string);
        self.found.said("network", Value::Null, Value::Null, checked.is_ok(), why);
        if checked.is_err() {
            return;
        }
        let dims = &self.given.x.dims;
        self.found.compared("dims", json!(network.dims), json!(dims), network.dims == *dims);
        self.template(&stored.template, network);
        self.tensor = Some(network.contract(self.limits));
        self.network = Some(network);
        let Some(claimed) = stored.rse else { return };
        // Of a network that was rounded it is an upper bound.
        let most = self.given.summary.is_none() || self.command == Command::Round;
        match self.rse() {
            Err(why) => self.found.not_checked("rse of the file", claimed, why.to_string()),
            Ok(found) if most && found <= claimed && !self.same(claimed, found) => {
                let why = Some(format!("as an upper bound; it is {found:.3e}"));
                self.found.said("rse of the file", claimed, found, true, why);
            }
            Ok(found) => {
                let holds = self.same(claimed, found);
                self.found.compared("rse of the file", claimed, found, holds);
            }
        }
    }

    /// Whether a template is the graph that the network has.
    fn template(&mut self, template: &Value, network: &Network) {
        let edges: Vec<[usize; 2]> = network.edges.iter().map(|e| [e[0], e[1]]).collect();
        let vertices = network.external.iter().filter(|e| **e).count();
        let class = class_of(template, vertices, &|name| self.tools.graph(name, vertices));
        let (claimed, own) = match template {
            Value::String(name) => (json!(name), None),
            _ => (Value::Null, Some("a graph of its own".to_owned())),
        };
        match class {
            Some(Class::Named(name)) if name == CP => {
                let same = network.hub.is_some();
                let why = (!same).then(|| format!("its graph is no {template}"));
                self.found.said("template", claimed, json!(edges), same, why);
            }
            Some(Class::Graph(graph)) => {
                let external = graph.vertices.iter().map(|v| v.mode);
                let same = external.eq(network.external.iter().copied())
                    && same_edges(&graph.edges, &edges)
                    && network.hub.is_none();
                let why = own.or((!same).then(|| format!("its graph is no {template}")));
                self.found.said("template", claimed, json!(edges), same, why);
            }
            _ => {
                let why = format!("the graph of {template} is not known here");
                self.found.not_checked("template", claimed, why);
            }
        }
    }

    /// The claims of a summary about the structure.
    pub(super) fn structure(&mut self, summary: &Value) {
        let dims = json!(self.given.x.dims);
        for (name, found) in [("order", json!(self.given.x.dims.len())), ("dims", dims)] {
            if let Some(claimed) = summary.get(name) {
                self.found.compared(name, claimed.clone(), found.clone(), *claimed == found);
            }
        }
        self.taken(summary);
        // What `certify` reports is the best structure that no cut rules out, not the network.
        let own = self.network.is_none() || self.command == Command::Certify;
        let network = if own { self.own(summary) } else { self.network.cloned() };
        let Some(network) = network else { return self.nothing(summary) };
        self.about = Some(network.clone());
        if !own {
            let found = [("permutation", json!(network.at)), ("edges", json!(network.edges))];
            for (name, found) in found {
                // Nothing was found, it says, and there is a network.
                if let Some(claimed) = summary.get(name) {
                    self.found.compared(name, claimed.clone(), found.clone(), *claimed == found);
                }
            }
        }
        if let Some(template) = summary.get("template") {
            self.template(&template.clone(), &network);
        }
        self.sizes(summary, &network);
        if self.command == Command::Search {
            self.at_most(summary, &network);
            self.preserved(summary, &network);
        }
    }

    /// Where no structure is named: nothing follows from it, and its template is that of the bound.
    fn nothing(&mut self, summary: &Value) {
        for name in ["params", "phi", "log10_cr", "rse", "re", "loss"] {
            if let Some(claimed) = summary.get(name).filter(|v| !v.is_null()) {
                self.found.refused(name, claimed, "there is no structure that it could be of");
            }
        }
        let Some(template) = summary.get("template") else { return };
        let over = &summary["bound_over"]["template"];
        match over.is_null() {
            true => {
                let why = "there is no structure, and no bound, that it could be of";
                self.found.not_checked("template", template.clone(), why);
            }
            false => {
                self.found.compared("template", template.clone(), over.clone(), template == over)
            }
        }
    }

    /// How the tensor was taken: the kind of its numbers, its shape.
    fn taken(&mut self, summary: &Value) {
        let stored = self.given.network.as_ref().map(|n| &*n.dtype);
        if let Some(claimed) = summary.get("dtype").filter(|_| self.command != Command::Compress) {
            match stored {
                Some(kind) if *claimed == json!(kind) => {
                    self.found.compared("dtype", claimed.clone(), kind, true);
                }
                // The network that `certify` compares may have been made of other numbers.
                Some(kind) if self.command != Command::Certify => {
                    self.found.compared("dtype", claimed.clone(), kind, false);
                }
                _ => {
                    let why = "no network says which numbers it was computed with";
                    self.found.not_checked("dtype", claimed.clone(), why);
                }
            }
        }
        let Some(claimed) = summary.get("reshaped") else { return };
        let found = self.given.reshaped.clone();
        let stored = self.given.network.as_ref().map(|n| n.reshaped.clone());
        if let Some(stored) = stored.filter(|stored| stored != claimed) {
            return self.found.compared("reshaped", claimed.clone(), stored, false);
        }
        match (claimed.is_null(), found.is_null()) {
            (true, true) => {}
            // It may have been read in the shape that it has after that.
            (false, true) if claimed["to"] == json!(self.given.x.dims) => {
                let why = "the tensor was given in this shape: its own is not known";
                self.found.not_checked("reshaped", claimed.clone(), why);
            }
            _ => self.found.compared("reshaped", claimed.clone(), found.clone(), *claimed == found),
        }
    }

    /// The structure that a summary names, without cores.
    pub(super) fn own(&mut self, summary: &Value) -> Option<Network> {
        let (at, edges) = (summary.get("permutation")?, summary.get("edges")?);
        if at.is_null() && edges.is_null() {
            return None;
        }
        let dims = self.given.x.dims.clone();
        let parsed = || {
            let at: Vec<usize> = serde_json::from_value(at.clone()).ok()?;
            let edges: Vec<[usize; 3]> = serde_json::from_value(edges.clone()).ok()?;
            let external: Vec<bool> = match self.class(summary.get("template")?) {
                Some(Class::Graph(graph)) => graph.vertices.iter().map(|v| v.mode).collect(),
                _ => {
                    let ends = edges.iter().flat_map(|e| [e[0], e[1]]).chain(at.iter().copied());
                    let vertices = ends.max()?.checked_add(1).filter(|n| *n <= 4096)?;
                    (0..vertices).map(|v| at.contains(&v)).collect()
                }
            };
            let hub = hub_of(summary.get("template")?, &external);
            let made = Network { dims, external, at, edges, hub, cores: Vec::new() };
            made.check_structure().ok().map(|()| made)
        };
        let made = parsed();
        for (name, value) in [("permutation", at), ("edges", edges)] {
            let why = made.is_none().then(|| "it is no structure of its template".to_owned());
            self.found.said(name, value.clone(), Value::Null, made.is_some(), why);
        }
        made
    }

    /// Numbers that follow from the structure.
    fn sizes(&mut self, summary: &Value, network: &Network) {
        let Some(params) = network.params() else { return };
        if let Some(claimed) = summary.get("params") {
            let holds = claimed.as_u64().map(u128::from) == Some(params);
            self.found.compared("params", claimed.clone(), u64::try_from(params).ok(), holds);
        }
        let entries: f64 = match self.command {
            // Those of the array or picture itself.
            Command::Compress => {
                let shape: Vec<f64> =
                    serde_json::from_value(summary["shape"].clone()).unwrap_or_default();
                shape.iter().product()
            }
            _ => network.dims.iter().map(|&d| d as f64).product(),
        };
        let phi = params as f64 / entries;
        for (name, found) in [("phi", phi), ("log10_cr", -phi.log10())] {
            if let Some(claimed) = summary.get(name) {
                let holds = claimed
                    .as_f64()
                    .is_some_and(|c| (c - found).abs() <= 1e-12 + 1e-9 * found.abs());
                self.found.compared(name, claimed.clone(), found, holds);
            }
        }
    }

    /// How many edges stand at the largest rank.
    fn at_most(&mut self, summary: &Value, network: &Network) {
        let Some(claimed) = summary.get("edges_at_max_rank") else { return };
        let over = &summary["bound_over"];
        // Where the search finds its ranks itself there is no largest, also where a bound has one.
        if claimed.is_null() {
            return;
        }
        if over["template"] == json!("any-tree") {
            let why = "trees of any topology have no largest rank";
            return self.found.refused("edges_at_max_rank", claimed, why);
        }
        let entries: f64 = network.dims.iter().map(|&d| d as f64).product();
        let widest = (entries.sqrt() as usize).clamp(1, WIDEST);
        let said = summary["settings"]["max_rank"].as_u64().or(over["max_rank"].as_u64());
        // Where no rank was given, walks take larger ones than the bound is about.
        let ranks = [said.map(|r| r as usize), Some(widest)];
        let size = |v: usize| {
            network.core_dims(v).into_iter().fold(1u128, |n, d| n.saturating_mul(d as u128))
        };
        let count = |most: usize| {
            let capped = network.edges.iter().filter(|&&[u, v, rank]| {
                rank >= most && size(u).min(size(v)) / rank as u128 > rank as u128
            });
            capped.count()
        };
        let found: Vec<usize> = ranks.into_iter().flatten().map(count).collect();
        let holds = claimed.as_u64().is_some_and(|c| found.contains(&(c as usize)));
        self.found.compared("edges_at_max_rank", claimed.clone(), found[0], holds);
    }

    /// Whether the template that was asked for holds the structure.
    fn preserved(&mut self, summary: &Value, network: &Network) {
        let name = "format_preserved";
        let Some(claimed) = summary.get(name) else { return };
        let over = &summary["bound_over"]["template"];
        let left = ALL_GRAPHS.iter().any(|s| summary["strategy"] == json!(s));
        let many = *over == json!("any-tree");
        match claimed.as_bool() {
            None if !claimed.is_null() => self.found.refused(name, claimed, "it is yes or no"),
            None if many || left || over.is_null() => {}
            None => self.found.refused(name, claimed, "the template was searched: it is preserved"),
            Some(_) if many => {
                self.found.refused(name, claimed, "no one template was asked for");
            }
            Some(said) => {
                let asked = if over.is_null() && !left { &summary["template"] } else { over };
                match self.class(asked).map(|class| has_graph(network, &class)) {
                    Some(Some(found)) => self.found.compared(name, said, found, said == found),
                    Some(None) => {
                        self.found.not_checked(name, said, "it takes too long to find out")
                    }
                    None => {
                        let why = "the summary does not say which template was asked for";
                        self.found.not_checked(name, said, why);
                    }
                }
            }
        }
    }

    /// Whether the network is one of a class; none where that is not known.
    pub(super) fn is_in(&self, class: &Class, max_rank: Option<u64>) -> Option<bool> {
        let network = self.network?;
        let narrow = max_rank.is_none_or(|most| super::class::widest(network) <= most);
        Some(has_graph(network, class)? && narrow)
    }

    /// Whether a field was checked and holds.
    pub(super) fn holds(&self, claim: &str) -> bool {
        self.found.is(claim, Verdict::Holds) && !self.found.is(claim, Verdict::DoesNotHold)
    }

    /// Whether two numbers of a file are the same.
    pub(super) fn equal(claimed: Option<f64>, found: Option<f64>) -> bool {
        match (claimed, found) {
            (Some(a), Some(b)) => close(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}
