//! Rounding: a network with smaller ranks near a given one, without its dense tensor.

mod cyclic;
mod fill;
mod part;
mod tree;

use super::{DecomposeError, Limits};
use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::tensor::{Kind, Scalar, Tensor, power};
use crate::{SettingError, dispatch};
use part::Part;
use std::sync::Arc;

/// What a rounded network is to reach. Checked when it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundGoal(Aim);

#[derive(Debug, Clone, PartialEq)]
enum Aim {
    MaxRse(f64),
    MaxParams(u128),
    Ranks(Vec<usize>),
}

impl RoundGoal {
    /// The smallest ranks found with `||Z - Z'||^2 <= eps ||Z||^2`, Z being the network given.
    pub fn max_rse(eps: f64) -> Result<Self, SettingError> {
        match (0.0..1.0).contains(&eps) {
            true => Ok(RoundGoal(Aim::MaxRse(eps))),
            false => Err(SettingError::new("max-rse", eps, "it must be at least 0 and below 1")),
        }
    }

    /// The smallest error found with at most so many parameters.
    pub fn max_params(params: u128) -> Self {
        RoundGoal(Aim::MaxParams(params))
    }

    /// These ranks, one for each of the template's edges in its order, or less where less loses nothing.
    pub fn ranks(ranks: Vec<usize>) -> Result<Self, SettingError> {
        match ranks.contains(&0) {
            false => Ok(RoundGoal(Aim::Ranks(ranks))),
            true => {
                let value = format!("{ranks:?}");
                Err(SettingError::new("ranks", value, "every rank is at least 1"))
            }
        }
    }

    /// The error asked for, if one was.
    pub fn rse(&self) -> Option<f64> {
        match self.0 {
            Aim::MaxRse(eps) => Some(eps),
            _ => None,
        }
    }
}

/// A network that was rounded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rounded {
    /// The network.
    pub network: Network,
    /// `||Z - Z'||^2 / ||Z||^2`, Z being the network given.
    pub rse: f64,
    /// Errors below this cannot be told from it. For trees the error is a sum of squares, exact to rounding; with
    /// cycles it is a difference of norms, and nothing below about 1e-14 (an RE of 1e-7) is seen.
    pub floor: f64,
    /// Sweeps of alternating least squares that were made; 0 for trees.
    pub sweeps: usize,
    /// Whether it was interrupted: this is then the best so far.
    pub interrupted: bool,
}

/// Rounds a network on its own graph, without its dense tensor.
///
/// A tree is orthogonalised towards a root; then the singular values of every edge are known, ranks are chosen where
/// they save most parameters for what they lose (the sum of all tails within the budget), and truncated SVDs from
/// the leaves to the root make the cores. Their errors add up exactly:
/// `||Z - Z'||^2 = sum over edges of lost_e <= sum over edges of tau_e(r_e)`.
///
/// On a graph with cycles, the Gram matrices on both sides of each edge come from the doubled network `<Z|Z>` with that edge
/// cut, edges are truncated by SVDs whitened with them, and sweeps of alternating least squares against Z follow,
/// in which every environment is a contraction of networks. The error is `||Z||^2 - 2 Re <Z, Z'> + ||Z'||^2`.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::decompose::{Limits, RoundGoal, round};
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::{network::Network, tensor::Tensor};
/// // Forty modes of size 4, all cores ones: rank 1, written with rank 3.
/// let structure = Structure::identity(Arc::new(Template::path(40).unwrap()), vec![3; 39]).unwrap();
/// let dims = vec![4; 40];
/// let ones = |v| {
///     let shape = structure.core_dims(v, &dims);
///     Tensor::new(shape.clone(), vec![1.0; shape.iter().product()]).unwrap()
/// };
/// let cores: Vec<Tensor> = (0..40).map(ones).collect();
/// let net = Network::new(structure.clone(), dims.clone(), cores).unwrap();
/// let rounded = round(&net, &RoundGoal::max_rse(1e-20).unwrap(), &Limits::none()).unwrap();
/// assert_eq!(rounded.network.params(), 160);
/// assert!(rounded.rse < 1e-28);
/// ```
pub fn round(
    network: &Network,
    goal: &RoundGoal,
    limits: &Limits,
) -> Result<Rounded, DecomposeError> {
    let structure = network.structure();
    if structure.template().copy_vertex().is_some() {
        return Err(DecomposeError::Hyperedge);
    }
    goal.check_edges(structure.template())?;
    if let Some(tree) = tree::Spanning::of(structure) {
        return dispatch!(&network.cores()[0], like => {
            let built = tree::Built::new(network, like, structure, tree, limits)?;
            tree::round(built, goal, limits)
        });
    }
    // Differences of norms are no good in 32 bits.
    let kind = network.kind();
    let wide = widened(network)?;
    let network = wide.as_ref().unwrap_or(network);
    let mut made =
        dispatch!(&network.cores()[0], like => cyclic::round(network, like, goal, limits))?;
    if wide.is_some() {
        made.network = converted(&made.network, kind)?;
        made.floor = made.floor.max(kind.epsilon().powi(2) * 100.0);
    }
    Ok(made)
}

/// The network in numbers of 64 bits; none where it has them.
fn widened(network: &Network) -> Result<Option<Network>, DecomposeError> {
    let wide = match network.kind() {
        Kind::F32 => Kind::F64,
        Kind::C32 => Kind::C64,
        Kind::F64 | Kind::C64 => return Ok(None),
    };
    converted(network, wide).map(Some)
}

fn converted(network: &Network, kind: Kind) -> Result<Network, DecomposeError> {
    let cores = network.cores().iter().map(|c| c.clone().to_kind(kind));
    let cores = cores.collect::<Result<Vec<_>, _>>()?;
    Ok(Network::new(network.structure().clone(), network.dims().to_vec(), cores)?)
}

/// Rounds a network onto a tree, which may be another graph than its own, without its dense tensor. `permutation[n]` is
/// the vertex of mode n; without one, the modes come in an order that keeps neighbours in the network near.
///
/// From the leaves of the tree to its root, the cores of the network that belong to a vertex are contracted with what
/// comes from its branches; the edges of the network that lead elsewhere are carried along, and an orthonormal basis of
/// what is below leaves no more of them than needed. Then as [`round`].
pub fn round_onto(
    network: &Network,
    template: &Arc<Template>,
    permutation: Option<&[usize]>,
    goal: &RoundGoal,
    limits: &Limits,
) -> Result<Rounded, DecomposeError> {
    let copies = |s: &Template| s.copy_vertex().is_some();
    if copies(template) || copies(network.structure().template()) {
        return Err(DecomposeError::Hyperedge);
    }
    goal.check_edges(template)?;
    let candidates = match permutation {
        Some(given) => vec![given.to_vec()],
        None => tree::placements(network.structure(), template)?,
    };
    let ranks = vec![1; template.edges().len()];
    let mut best: Option<Rounded> = None;
    let mut refused = None;
    for permutation in candidates {
        let placed = Structure::new(template.clone(), permutation, ranks.clone())?;
        let Some(tree) = tree::Spanning::of(&placed).filter(|_| is_tree(template)) else {
            let (edges, vertices) = (template.edges().len(), template.vertices());
            let template = template.name().to_owned();
            return Err(DecomposeError::NotATree { template, edges, vertices });
        };
        let made = dispatch!(&network.cores()[0], like => {
            let built = tree::Built::new(network, like, &placed, tree, limits);
            built.and_then(|built| tree::round(built, goal, limits))
        });
        let made = match made {
            Ok(made) => made,
            // Another order may do with less.
            Err(e @ DecomposeError::Memory(_)) => {
                refused = Some(e);
                continue;
            }
            Err(e) => return Err(e),
        };
        let key = |r: &Rounded| match goal.0 {
            Aim::MaxRse(_) => (r.network.params() as f64, r.rse),
            _ => (r.rse, r.network.params() as f64),
        };
        if best.as_ref().is_none_or(|b| key(&made) < key(b)) {
            best = Some(made);
        }
        if limits.stop.is_set() {
            break;
        }
    }
    match (best, refused) {
        (Some(best), _) => Ok(best),
        (None, Some(refused)) => Err(refused),
        (None, None) => Err(DecomposeError::Interrupted),
    }
}

fn is_tree(template: &Template) -> bool {
    template.is_tree()
}

impl RoundGoal {
    /// Refuses ranks that are not one per edge.
    fn check_edges(&self, template: &Template) -> Result<(), DecomposeError> {
        let edges = template.edges().len();
        match &self.0 {
            Aim::Ranks(ranks) if ranks.len() != edges => {
                let expected = format!("the template has {edges} edges and needs a rank for each");
                Err(SettingError::new("ranks", format!("{ranks:?}"), expected).into())
            }
            _ => Ok(()),
        }
    }
}

/// The modes at each vertex, rising.
fn modes_at(structure: &Structure, vertex: usize) -> Vec<usize> {
    let permutation = structure.permutation();
    (0..permutation.len()).filter(|&n| permutation[n] == vertex).collect()
}

/// The labels of a core on a structure: its edges `e` in the template's order, then `edges + n` for each mode n.
fn core_labels(structure: &Structure, vertex: usize) -> Vec<usize> {
    let edges = structure.template().edges().len();
    let incident = structure.template().incident(vertex);
    incident.chain(modes_at(structure, vertex).into_iter().map(|n| edges + n)).collect()
}

/// The cores of a network as parts, with [`core_labels`].
fn parts<T: Scalar>(network: &Network, _like: &Tensor<T>) -> Vec<Part<T>> {
    let core = |(v, core): (usize, &crate::tensor::AnyTensor)| {
        let core = core.typed::<T>().unwrap_or_else(|| unreachable!("one kind"));
        Part::new(core_labels(network.structure(), v), core.data().to_vec())
    };
    network.cores().iter().enumerate().map(core).collect()
}

/// A network from parts, whose ranks are the lengths of the labels of edges; multiplied by `2^exponent`.
fn network<T: Scalar>(
    structure: &Structure,
    dims: &[usize],
    parts: &[Part<T>],
    lengths: &[usize],
    exponent: i64,
) -> Result<Network, DecomposeError> {
    let template = structure.template().clone();
    let ranks = lengths[..template.edges().len()].to_vec();
    let structure = Structure::new(template, structure.permutation().to_vec(), ranks)?;
    let by = power::shares(exponent, parts.len());
    let cores = parts.iter().enumerate().zip(by).map(|((v, part), by)| {
        let mut part = part.ordered(&core_labels(&structure, v), lengths);
        power::multiply(&mut part.data, by);
        Tensor::new(structure.core_dims(v, dims), part.data)
    });
    let cores = cores.collect::<Result<Vec<_>, _>>()?;
    Ok(Network::new(structure.clone(), dims.to_vec(), cores)?)
}

#[cfg(test)]
mod tests;
