//! A certificate as a file: what is claimed, the facts it rests on, and the tree that goes through all cases.

use crate::part::Contraction;
use crate::{Array, Limits, Unchecked, fingerprint, spectrum};
use serde::Deserialize;
use thiserror::Error;

/// Losses are compared to within this part of them.
const ROUNDED: f64 = 1.0 - 1e-12;

/// A proof that every structure of a class with an RSE of at most `max_rse` has at least `params` parameters; or, of version 2,
/// that every structure of a class has a loss phi + `lambda` * RSE of at least `loss`. Of version 3 it is either, with some modes
/// contracted.
///
/// The form is described in `docs/formats.md`, why it is a proof in `docs/bounds.md`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u64,
    /// The version of the program that wrote it.
    pub tnsearch: String,
    /// What is proven, in words; only the numbers count.
    pub says: String,
    /// The tensor.
    pub data: DataFacts,
    /// How the tensor was reshaped before, as in a network.
    pub reshaped: serde_json::Value,
    /// The class of structures.
    pub template: Class,
    /// The largest rank of an edge; none: any.
    pub max_rank: Option<u64>,
    /// The error: what is nearer to the tensor than that, or as near, is bounded.
    #[serde(default)]
    pub max_rse: f64,
    /// The parameters that these have at least; none: there is no such structure.
    #[serde(default)]
    pub params: Option<u64>,
    /// Of version 2: what an error costs, in units of phi.
    #[serde(default)]
    pub lambda: Option<f64>,
    /// Of version 2: the loss that every structure has at least.
    #[serde(default)]
    pub loss: Option<f64>,
    /// Of version 2, for trees of any topology: errors between which the params are bounded.
    #[serde(default)]
    pub errors: Vec<f64>,
    /// What the tensor whose cuts were computed misses of this one, relative to its norm squared.
    pub lost: f64,
    /// Of version 3: modes that are contracted before the cuts are made.
    #[serde(default)]
    pub contracted: Vec<Contraction>,
    /// The cuts.
    pub cuts: Vec<Cut>,
    /// The cases, each before those made of it; nothing for trees of any topology.
    pub tree: Vec<Node>,
}

/// Which tensor is meant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFacts {
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// The kind of its numbers.
    pub dtype: String,
    /// Its [`fingerprint`].
    pub sha256: String,
    /// Its Frobenius norm; none where no number holds it.
    pub norm: Option<f64>,
}

/// A class of structures.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Class {
    /// `any-tree`: trees of any topology, their vertices with any number of modes.
    Named(String),
    /// The structures of a graph.
    Graph(Graph),
}

/// A graph some of whose vertices carry one mode each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Whether each vertex carries a mode.
    pub vertices: Vec<Vertex>,
    /// The edges.
    pub edges: Vec<[usize; 2]>,
}

/// A vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vertex {
    /// Whether it carries a mode.
    pub mode: bool,
}

/// A cut, and the width that every structure must have there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The modes on one side.
    pub modes: Vec<usize>,
    /// The rank of the unfolding, at least, of whatever is near enough.
    pub width: u64,
    /// The part of the tensor beyond its `width - 1` largest singular values.
    pub tail: f64,
    /// How much of that may be rounding, or was not computed.
    pub slack: f64,
}

impl Cut {
    /// What a structure that is narrower here misses at least.
    pub(crate) fn certain(&self) -> f64 {
        self.tail - self.slack
    }
}

/// A case of the proof: after what some cuts say it is ruled out, or parted into others, which follow it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Cuts that raise ranks here: the number of each, and the internal vertices on the side of its modes.
    #[serde(default)]
    pub cuts: Vec<(usize, Vec<usize>)>,
    /// Where a mode sits.
    #[serde(default)]
    pub place: Option<Place>,
    /// Which mode sits on this vertex.
    #[serde(default)]
    pub fill: Option<usize>,
    /// An edge and a rank: at most that, or more.
    #[serde(default)]
    pub split: Option<(usize, u64)>,
}

/// The vertices of a mode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The mode.
    pub mode: usize,
    /// The vertices that are looked at.
    pub on: Vec<usize>,
    /// Symmetries that take every other vertex to one of these: the image of each vertex.
    #[serde(default)]
    pub by: Vec<Vec<usize>>,
}

/// Why a certificate proves nothing.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is no certificate.
    #[error("it is no certificate of version 1 to 3: {0}")]
    Form(String),
    /// It is about something else.
    #[error("its {0}")]
    Data(String),
    /// A cut is not what it says.
    #[error("cut {cut} (modes {modes:?}): {why}")]
    Cut {
        /// Its number.
        cut: usize,
        /// Its modes.
        modes: Vec<usize>,
        /// What is wrong.
        why: String,
    },
    /// A case is not what it says.
    #[error("node {node} of the tree: {why}")]
    Node {
        /// Its number.
        node: usize,
        /// What is wrong.
        why: String,
    },
    /// The bound is not what follows.
    #[error("the cuts prove {found} params over all trees, not {claimed}")]
    Trees {
        /// What follows.
        found: u128,
        /// What it says.
        claimed: u64,
    },
}

/// What was proven: no structure that is near enough has fewer parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Cases gone through.
    pub nodes: usize,
    /// Cuts whose tails were computed anew.
    pub cuts: usize,
    /// Cuts that were not, and why; where there are any, nothing is proven but what follows from the others.
    pub unchecked: Vec<(usize, Unchecked)>,
}

impl Certificate {
    /// Reads one. What it says is not checked by that.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let form = |e: &dyn std::fmt::Display| Refused::Form(e.to_string());
        let made: Certificate = serde_json::from_str(text).map_err(|e| form(&e))?;
        if made.format != "tnsearch-certificate" || !(1..=3).contains(&made.version) {
            let (format, version) = (&made.format, made.version);
            return Err(form(&format_args!("it says '{format}', version {version}")));
        }
        let fields: serde_json::Value = serde_json::from_str(text).map_err(|e| form(&e))?;
        let has = |names: &[&str]| names.iter().all(|name| fields.get(name).is_some());
        let lacks = |names: &[&str]| names.iter().all(|name| fields.get(name).is_none());
        let positive = |x: Option<f64>| x.is_some_and(|x| x.is_finite() && x > 0.0);
        let (plain, priced) = (["max_rse", "params"], ["lambda", "loss"]);
        let of_error = has(&plain) && lacks(&priced) && lacks(&["errors"]);
        let of_loss = lacks(&plain) && positive(made.lambda) && positive(made.loss);
        let whole = match made.version {
            1 => of_error && lacks(&["contracted"]),
            2 => of_loss && lacks(&["contracted"]),
            _ => (of_error || of_loss) && !made.contracted.is_empty(),
        };
        if !whole {
            let why = "version 1 has max_rse and params, version 2 lambda and loss, both above 0, version 3 \
                       the fields of either and modes that are contracted";
            return Err(form(&why));
        }
        let share = |x: f64| (0.0..1.0).contains(&x);
        if !share(made.max_rse) || !share(made.lost) {
            return Err(form(&"max_rse and lost are from 0 to 1"));
        }
        let order = made.data.dims.len();
        if !(2..=63).contains(&order) || made.data.dims.contains(&0) {
            return Err(form(&"a tensor has 2 to 63 modes, none of them empty"));
        }
        Ok(made)
    }

    /// Whether the cuts are cuts, and what they say is above the error.
    fn check_facts(&self) -> Result<(), Refused> {
        let order = self.data.dims.len();
        let share = |x: f64| (0.0..1.0).contains(&x);
        for (k, cut) in self.cuts.iter().enumerate() {
            let wrong =
                |why: &str| Refused::Cut { cut: k, modes: cut.modes.clone(), why: why.into() };
            let mut modes = cut.modes.clone();
            modes.sort_unstable();
            modes.dedup();
            if modes.is_empty() || modes.len() >= order || modes.len() != cut.modes.len() {
                return Err(wrong("one side has some modes, each once, and not all"));
            }
            if modes.iter().any(|&m| m >= order) {
                return Err(wrong("there is no such mode"));
            }
            if cut.width < 2 || !share(cut.tail) || !share(cut.slack) {
                return Err(wrong("its width is at least 2, its tail and slack from 0 to 1"));
            }
            if cut.certain() <= self.max_rse {
                return Err(wrong("its tail less its slack is not above the error"));
            }
        }
        Ok(())
    }

    /// Whether the bound follows from the cuts, whatever tensor they are of; how many cases there are.
    pub fn check_cases(&self, limits: &Limits<'_>) -> Result<Result<usize, Refused>, Unchecked> {
        if let Err(refused) = self.check_contracted().and_then(|()| self.check_facts()) {
            return Ok(Err(refused));
        }
        match &self.template {
            Class::Graph(graph) => self.check_tree(graph, limits),
            Class::Named(name) if name == "any-tree" => {
                if self.max_rank.is_some() || !self.tree.is_empty() {
                    let why = "trees of any topology have any ranks, and need no tree of cases";
                    return Ok(Err(Refused::Form(why.into())));
                }
                if let Some((lambda, loss)) = self.priced() {
                    return self.check_steps(lambda, loss, limits);
                }
                let Some(claimed) = self.params else {
                    return Ok(Err(Refused::Form("there always is some tree".into())));
                };
                let found = self.least_of_trees(self.cuts.iter(), limits)?;
                match found >= u128::from(claimed) {
                    true => Ok(Ok(0)),
                    false => Ok(Err(Refused::Trees { found, claimed })),
                }
            }
            Class::Named(name) => {
                Ok(Err(Refused::Form(format!("'{name}' is no class of structures"))))
            }
        }
    }

    /// Lambda and the loss, of version 2.
    pub(crate) fn priced(&self) -> Option<(f64, f64)> {
        self.lambda.zip(self.loss.map(|loss| loss * ROUNDED))
    }

    /// The entries of the tensor.
    pub(crate) fn entries(&self) -> f64 {
        self.data.dims.iter().map(|&d| d as f64).product()
    }

    /// Whether no tree has a smaller loss. One with an RSE from one error of the list up to the next has at least the params
    /// that follow from the cuts whose tails are not below that next one; beyond the last, those of vectors.
    fn check_steps(
        &self,
        lambda: f64,
        loss: f64,
        limits: &Limits<'_>,
    ) -> Result<Result<usize, Refused>, Unchecked> {
        let entries = self.entries();
        let mut before = 0.0;
        for (k, &error) in self.errors.iter().chain([&f64::INFINITY]).enumerate() {
            if error.is_nan() || error <= before {
                return Ok(Err(Refused::Form("its errors do not grow".into())));
            }
            let cuts = self.cuts.iter().filter(|cut| cut.certain() >= error);
            let params = self.least_of_trees(cuts, limits)?;
            let found = params as f64 / entries + lambda * before;
            if found < loss {
                let why = format!("trees beyond error {k} of its list may have a loss of {found}");
                return Ok(Err(Refused::Form(why)));
            }
            before = error;
        }
        Ok(Ok(0))
    }

    /// Whether this is the tensor it is about, in the shape in which it was taken.
    pub fn check_data(&self, x: &Array, kind: &str) -> Result<(), Refused> {
        let data = &self.data;
        if data.dims != x.dims {
            return Err(Refused::Data(format!("tensor is {:?}, not {:?}", data.dims, x.dims)));
        }
        if data.dtype != kind {
            return Err(Refused::Data(format!("numbers are {}, not {kind}", data.dtype)));
        }
        if let Some(norm) = data.norm {
            let mut copy = x.clone();
            let power = copy.normalise();
            let squares = crate::sums::squares(&copy.re) + crate::sums::squares(&copy.im);
            let found = crate::arrays::scaled(squares.sqrt(), power);
            if (norm - found).abs() > 1e-9 * found {
                return Err(Refused::Data(format!(
                    "norm is {norm:e}, that of the tensor {found:e}"
                )));
            }
        }
        let found = fingerprint(x, kind);
        if data.sha256 != found {
            return Err(Refused::Data(format!(
                "sha256 is {}, that of the tensor {found}",
                data.sha256
            )));
        }
        Ok(())
    }

    /// Whether every cut is as wide as it says: its singular values computed anew.
    pub fn check_cuts(
        &self,
        x: &Array,
        limits: &Limits<'_>,
    ) -> Result<Vec<(usize, Unchecked)>, Refused> {
        let mut unchecked = Vec::new();
        // Of version 3 those of what is left.
        let part = match self.contracted.is_empty() {
            true => None,
            false => match self.contract(x, limits) {
                Ok(part) => Some(part),
                Err(why) => return Ok((0..self.cuts.len()).map(|k| (k, why.clone())).collect()),
            },
        };
        let (x, share) = part.as_ref().map_or((x, None), |(part, share)| (part, Some(*share)));
        for (k, cut) in self.cuts.iter().enumerate() {
            // Of version 1 it has to be above the error, of version 2 what the cases count with.
            let least = self.priced().map_or(self.max_rse, |_| cut.certain());
            let tails = match spectrum(x, &cut.modes, least, limits) {
                Ok(tails) => tails,
                Err(why) => {
                    unchecked.push((k, why));
                    continue;
                }
            };
            let wrong = |why: String| Refused::Cut { cut: k, modes: cut.modes.clone(), why };
            let tails = match share {
                Some(share) => tails.of_part(share),
                None => tails,
            };
            let (tail, certain) = (tails.of(cut.width - 1), tails.certain(cut.width - 1));
            let short = match self.priced() {
                None => certain <= least,
                Some(_) => certain < least,
            };
            if short {
                let rank = cut.width - 1;
                let why = format!("rank {rank} leaves {tail:e}, which is not above {least:e}");
                return Err(wrong(why));
            }
            if (tail - cut.tail).abs() > cut.slack + self.lost {
                return Err(wrong(format!("its tail is {tail:e}, not {:e}", cut.tail)));
            }
        }
        Ok(unchecked)
    }

    /// All of it: the tensor, the cuts, the cases.
    pub fn check(
        &self,
        x: &Array,
        kind: &str,
        limits: &Limits<'_>,
    ) -> Result<Result<Statement, Refused>, Unchecked> {
        if let Err(refused) = self.check_data(x, kind) {
            return Ok(Err(refused));
        }
        let nodes = match self.check_cases(limits)? {
            Ok(nodes) => nodes,
            Err(refused) => return Ok(Err(refused)),
        };
        Ok(self.check_cuts(x, limits).map(|unchecked| Statement {
            nodes,
            cuts: self.cuts.len() - unchecked.len(),
            unchecked,
        }))
    }
}

#[cfg(test)]
mod tests;
