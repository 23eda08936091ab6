//! Networks (a structure with its cores) and their contraction.

mod apply;
mod claim;
mod contract;
pub(crate) mod contraction;
pub(crate) mod cp;
mod entries;
pub(crate) mod parts;
mod text;
pub(crate) mod tree;

pub use claim::{ClaimError, Confirmed};
pub(crate) use contract::{Labels, contract_scaled};
pub use contract::{contract, contraction_bytes};
pub use text::{draw, draw_named};

use crate::graph::{GraphError, ModeGraph, Structure};
use crate::problem::Target;
use crate::tensor::{AnyTensor, Complex, Kind, Scalar, Tensor, power};
use crate::{MemoryError, dispatch};
use thiserror::Error;

/// Why cores do not make a network.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The dimensions are not one per mode.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A mode of dimension zero.
    #[error("mode {mode} has dimension 0 in {dims:?}; dimensions are at least 1")]
    Dimension {
        /// The mode.
        mode: usize,
        /// The dimensions given.
        dims: Vec<usize>,
    },
    /// The contraction would take more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Not one core per vertex.
    #[error("{found} cores were given, but the structure has {expected} vertices")]
    CoreCount {
        /// The number of cores given.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// The cores are not all of one kind of number.
    #[error("core {vertex} is of kind {found}, core 0 of kind {expected}; a network has one kind")]
    CoreKind {
        /// The vertex.
        vertex: usize,
        /// The kind of its core.
        found: Kind,
        /// The kind of the first.
        expected: Kind,
    },
    /// The core of a copy vertex is not the diagonal.
    #[error("core {vertex} is the hub of a cp, whose entries are all 1")]
    Hub {
        /// The vertex.
        vertex: usize,
    },
    /// A core has another shape than its edges and mode ask for.
    #[error("core {vertex} has shape {found:?}, the structure needs {expected:?}")]
    CoreShape {
        /// The vertex.
        vertex: usize,
        /// The shape given.
        found: Vec<usize>,
        /// The shape needed.
        expected: Vec<usize>,
    },
}

/// A structure with the dimensions of its modes and a core at each vertex of its template.
///
/// The core of a vertex has one axis for each of the template's edges there, in the template's
/// order and rank-1 edges included, then one for each mode it carries, in increasing order
/// ([`Structure::core_dims`]). The cores are all of one kind of number, which is that of the network.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::network::Network;
/// use tnsearch::tensor::Tensor;
/// let structure = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
/// let u = Tensor::new(vec![1, 2], vec![1.0, 2.0]).unwrap();
/// let v = Tensor::new(vec![1, 3], vec![3.0, 4.0, 5.0]).unwrap();
/// let network = Network::new(structure, vec![2, 3], vec![u, v]).unwrap();
/// assert_eq!(network.params(), 5);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    structure: Structure,
    dims: Vec<usize>,
    cores: Vec<AnyTensor>,
}

impl Network {
    /// A network from one core per vertex of the template, shaped as [`Structure::core_dims`].
    pub fn new<C: Into<AnyTensor>>(
        structure: Structure,
        dims: Vec<usize>,
        cores: Vec<C>,
    ) -> Result<Self, NetworkError> {
        let cores: Vec<AnyTensor> = cores.into_iter().map(Into::into).collect();
        check_dims(&structure, &dims)?;
        check_cores(&cores, structure.template().vertices(), |v| structure.core_dims(v, &dims))?;
        match structure.template().copy_vertex() {
            Some(vertex) if !cp::is_hub(&cores[vertex]) => Err(NetworkError::Hub { vertex }),
            _ => Ok(Network { structure, dims, cores }),
        }
    }

    /// A network from cores fitted on the structure's canonical mode graph, one per vertex of
    /// [`Structure::canonical`]'s graph, shaped as [`ModeGraph::core_dims`].
    ///
    /// The axes are brought into the template's order and rank-1 axes inserted; an internal vertex
    /// that is not in the mode graph gets the number 1 as its core.
    pub fn from_fitted<C: Into<AnyTensor>>(
        structure: Structure,
        dims: Vec<usize>,
        cores: Vec<C>,
    ) -> Result<Self, NetworkError> {
        let cores: Vec<AnyTensor> = cores.into_iter().map(Into::into).collect();
        check_dims(&structure, &dims)?;
        let map = AxisMap::new(&structure);
        let graph = &map.graph;
        check_cores(&cores, graph.vertices(), |v| graph.core_dims(v, &dims))?;
        let place = |v: usize| {
            let shape = structure.core_dims(v, &dims);
            let core = match map.vertex[v] {
                Some(w) => cores[w].permuted(&map.axes(&structure, v, w)),
                // The number 1, or the hub of a hyperedge that is a plain edge.
                None => return cp::ones(&cores[0], shape),
            };
            core.reshaped(shape).expect("a rank-1 axis changes no size")
        };
        let placed = (0..structure.template().vertices()).map(place).collect();
        Ok(Network { structure, dims, cores: placed })
    }

    /// A network from cores on a mode graph whose vertices sit on these vertices of the template
    /// ([`Structure::placed_in`]), in whatever order it numbers its internal vertices.
    pub(crate) fn from_placed(
        structure: Structure,
        dims: Vec<usize>,
        (graph, places): (&ModeGraph, &[usize]),
        cores: Vec<AnyTensor>,
    ) -> Result<Self, NetworkError> {
        let template = structure.template().clone();
        let kind = cores.first().map_or(Kind::F64, AnyTensor::kind);
        let mut placed: Vec<AnyTensor> = (0..template.vertices())
            .map(|_| AnyTensor::number(kind, Complex::new(1.0, 0.0)))
            .collect();
        for (v, core) in cores.into_iter().enumerate() {
            let near: Vec<usize> = graph
                .incident(v)
                .map(|e| graph.edges()[e])
                .map(|(a, b, _)| places[if a == v { b } else { a }])
                .collect();
            let at = places[v];
            let other = |e: usize| {
                let (a, b) = template.edges()[e];
                if a == at { b } else { a }
            };
            let edges =
                template.incident(at).filter_map(|e| near.iter().position(|&n| n == other(e)));
            // The modes come last, in increasing order in both.
            let axes: Vec<usize> = edges.chain(near.len()..core.dims().len()).collect();
            placed[at] = core.permuted(&axes);
        }
        let shaped = placed.into_iter().enumerate().map(|(v, core)| {
            let expected = structure.core_dims(v, &dims);
            let found = core.dims().to_vec();
            core.reshaped(expected.clone()).map_err(|_| NetworkError::CoreShape {
                vertex: v,
                found,
                expected,
            })
        });
        let cores = shaped.collect::<Result<Vec<_>, _>>()?;
        Network::new(structure, dims, cores)
    }

    /// The canonical mode graph and the cores on it: the inverse of [`Network::from_fitted`].
    ///
    /// The numbers at internal vertices that are not in the mode graph are multiplied into the core
    /// of mode 0, so that the tensor stays the same.
    pub fn to_mode_graph(&self) -> (ModeGraph, Vec<AnyTensor>) {
        let map = AxisMap::new(&self.structure);
        let cores = dispatch!(&self.cores[0], like => {
            self.on_modes(&map, like).into_iter().map(AnyTensor::from).collect()
        });
        (map.graph, cores)
    }

    /// The cores, of the kind of `like`, on the mode graph.
    fn on_modes<T: Scalar>(&self, map: &AxisMap, _like: &Tensor<T>) -> Vec<Tensor<T>> {
        let mut placed = vec![None; map.graph.vertices()];
        let mut numbers = vec![Tensor::new(Vec::new(), vec![T::ONE]).expect("one entry")];
        for (v, core) in self.cores.iter().enumerate() {
            let core = core.typed::<T>().expect("all cores are of one kind");
            let Some(w) = map.vertex[v] else {
                numbers.push(core.clone());
                continue;
            };
            // Undo the move from the mode graph: its axis `axes[k]` is axis `k` without rank 1.
            let axes = map.axes(&self.structure, v, w);
            let mut back = vec![0; axes.len()];
            for (k, &a) in axes.iter().enumerate() {
                back[a] = k;
            }
            let shape = map.graph.core_dims(w, &self.dims);
            let moved = axes.iter().map(|&a| shape[a]).collect();
            let core = Tensor::new(moved, core.data().to_vec());
            placed[w] = Some(core.expect("a rank-1 axis changes no size").permuted(&back));
        }
        let mut cores: Vec<Tensor<T>> = placed.into_iter().flatten().collect();
        // Their product may be no number where that of all cores is one.
        let exponent = if power::is_extreme(&numbers) { power::normalise(&mut numbers) } else { 0 };
        let factor = numbers.iter().fold(T::ONE, |product, number| product * number.data()[0]);
        if factor != T::ONE {
            cores[0].data_mut().iter_mut().for_each(|x| *x *= factor);
        }
        power::spread(&mut cores, exponent);
        cores
    }

    /// The network for the full tensor of a network for a shrunk target: the same structure, with the full dimensions.
    pub fn expanded(&self, target: &Target) -> Result<Network, NetworkError> {
        let (graph, cores) = self.to_mode_graph();
        check_cores(&cores, graph.vertices(), |v| graph.core_dims(v, target.dims()))?;
        let cores = expand_cores(target, &graph, cores);
        Network::from_fitted(self.structure.clone(), target.full_dims().to_vec(), cores)
    }

    /// The structure.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The dimensions of the modes.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The cores, one per vertex of the template.
    pub fn cores(&self) -> &[AnyTensor] {
        &self.cores
    }

    /// The core of a vertex, if it is of this kind of number.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn core<T: Scalar>(&self, vertex: usize) -> Option<&Tensor<T>> {
        self.cores[vertex].typed()
    }

    /// The kind of number the cores are made of.
    pub fn kind(&self) -> Kind {
        self.cores[0].kind()
    }

    /// The number of entries of all cores.
    pub fn params(&self) -> u128 {
        self.structure.params(&self.dims)
    }

    /// phi = params / product of the dimensions.
    pub fn phi(&self) -> f64 {
        self.structure.phi(&self.dims)
    }

    /// The dense tensor, of the network's kind, its modes in the original order. Refused, before anything is allocated, where
    /// the contraction would take more than `max_bytes`.
    pub fn to_tensor(&self, max_bytes: Option<u64>) -> Result<AnyTensor, NetworkError> {
        let (tensor, exponent) = self.to_scaled_tensor(max_bytes)?;
        Ok(tensor.times_power_of_two(exponent))
    }

    /// The same divided by a power of two, and its exponent. That is 0 unless the cores are so large or small that the
    /// tensor, or something on the way to it, may be beyond the range of numbers.
    pub fn to_scaled_tensor(
        &self,
        max_bytes: Option<u64>,
    ) -> Result<(AnyTensor, i64), NetworkError> {
        let map = AxisMap::new(&self.structure);
        if max_bytes.is_some() {
            let needed = contraction_bytes(&map.graph, &self.dims, self.kind());
            MemoryError::check("contracting the network", needed, max_bytes)?;
        }
        Ok(dispatch!(&self.cores[0], like => {
            let cores = self.on_modes(&map, like);
            let (tensor, exponent) = contract_scaled(&map.graph, &self.dims, &cores);
            (tensor.into(), exponent)
        }))
    }
}

/// The cores of a mode graph, fitted to a shrunk target, as cores for the full tensor: every mode's axis times its
/// basis. As they are where the target was not shrunk.
///
/// # Panics
/// If a core is not shaped as [`ModeGraph::core_dims`] for the target's dimensions.
pub fn expand_cores(target: &Target, graph: &ModeGraph, cores: Vec<AnyTensor>) -> Vec<AnyTensor> {
    let Some(shrunk) = target.shrunk() else { return cores };
    let vertices = cores.into_iter().enumerate();
    let expanded = vertices.map(|(v, core)| {
        // The modes of a vertex come after its edges, one axis each.
        let axes = graph.modes_at(v).into_iter().zip(graph.incident(v).count()..);
        axes.fold(core, |core, (mode, axis)| shrunk.expand(core, axis, mode))
    });
    expanded.collect()
}

fn check_dims(structure: &Structure, dims: &[usize]) -> Result<(), NetworkError> {
    structure.check_order(dims.len())?;
    match dims.iter().position(|&d| d == 0) {
        Some(mode) => Err(NetworkError::Dimension { mode, dims: dims.to_vec() }),
        None => Ok(()),
    }
}

fn check_cores(
    cores: &[AnyTensor],
    expected: usize,
    shape: impl Fn(usize) -> Vec<usize>,
) -> Result<(), NetworkError> {
    if cores.len() != expected {
        return Err(NetworkError::CoreCount { found: cores.len(), expected });
    }
    for (vertex, core) in cores.iter().enumerate() {
        let expected = shape(vertex);
        if core.dims() != expected {
            return Err(NetworkError::CoreShape { vertex, found: core.dims().to_vec(), expected });
        }
        let (found, expected) = (core.kind(), cores[0].kind());
        if found != expected {
            return Err(NetworkError::CoreKind { vertex, found, expected });
        }
    }
    Ok(())
}

/// How the cores on the template and those on the mode graph correspond.
struct AxisMap {
    graph: ModeGraph,
    vertex: Vec<Option<usize>>,
}

impl AxisMap {
    fn new(structure: &Structure) -> Self {
        let canonical = structure.canonical();
        AxisMap { graph: canonical.graph, vertex: canonical.vertex }
    }

    /// The axes of the core at vertex `w` of the mode graph in the order of vertex `v` of the
    /// template, rank-1 edges left out; the modes come last in both.
    fn axes(&self, structure: &Structure, v: usize, w: usize) -> Vec<usize> {
        let other_end = |e: usize| {
            let (a, b) = structure.template().edges()[e];
            self.vertex[if a == v { b } else { a }]
        };
        if structure.template().copy_vertex().is_some() {
            // One edge or none, then the mode.
            let edges = self.graph.incident(w).count().min(1);
            return (0..edges + self.graph.modes_at(w).len()).collect();
        }
        let neighbours: Vec<usize> = self
            .graph
            .incident(w)
            .map(|e| self.graph.edges()[e])
            .map(|(a, b, _)| if a == w { b } else { a })
            .collect();
        let edges = structure.template().incident(v).filter(|&e| structure.ranks()[e] > 1);
        let position = |e| neighbours.iter().position(|&n| Some(n) == other_end(e));
        let mut axes: Vec<usize> = edges.filter_map(position).collect();
        axes.extend(
            self.graph.modes_at(w).into_iter().zip(neighbours.len()..).map(|(_, axis)| axis),
        );
        axes
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::graph::testing::{all, random, shuffled};
    use crate::rng::{Rng, stream};
    use crate::tensor::unflatten;
    use rand::RngExt as _;
    use std::sync::Arc;

    /// The tensor of cores on a graph by the definition: for each entry the sum over all values of
    /// all edges of the product of the cores' entries. `modes[v]` are the modes of vertex `v`; the axes
    /// of a core are its edges in the order of `edges`, then its modes.
    pub(crate) fn einsum(
        edges: &[[usize; 3]],
        modes: &[Vec<usize>],
        dims: &[usize],
        cores: &[Tensor],
    ) -> Tensor {
        let ranks: Vec<usize> = edges.iter().map(|e| e[2]).collect();
        let (entries, terms): (usize, usize) = (dims.iter().product(), ranks.iter().product());
        let mut data = vec![0.0; entries];
        for (flat, z) in data.iter_mut().enumerate() {
            let at = unflatten(flat, dims);
            for term in 0..terms {
                let on = unflatten(term, &ranks);
                *z += (0..cores.len())
                    .map(|v| {
                        let here = (0..edges.len()).filter(|&e| edges[e][..2].contains(&v));
                        let index: Vec<usize> =
                            here.map(|e| on[e]).chain(modes[v].iter().map(|&n| at[n])).collect();
                        cores[v].at(&index)
                    })
                    .product::<f64>();
            }
        }
        Tensor::new(dims.to_vec(), data).unwrap()
    }

    fn dense(network: &Network) -> Tensor {
        let s = network.structure();
        let cores: Vec<Tensor> =
            network.cores().iter().map(|c| c.as_f64().unwrap().clone()).collect();
        einsum(&s.edges(), &s.groups(), network.dims(), &cores)
    }

    fn dense_on_modes(graph: &ModeGraph, dims: &[usize], cores: &[Tensor]) -> Tensor {
        let edges: Vec<[usize; 3]> = graph.edges().iter().map(|&(u, v, r)| [u, v, r]).collect();
        let modes: Vec<Vec<usize>> = (0..graph.vertices()).map(|v| graph.modes_at(v)).collect();
        einsum(&edges, &modes, dims, cores)
    }

    fn random_tensor(dims: Vec<usize>, rng: &mut Rng) -> Tensor {
        let n = dims.iter().product();
        Tensor::new(dims, (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()).unwrap()
    }

    fn assert_close(a: &Tensor, b: &Tensor) {
        assert_eq!(a.dims(), b.dims());
        for (x, y) in a.data().iter().zip(b.data()) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + x.abs()), "{x} is not {y}");
        }
    }

    /// A structure with different ranks on neighbouring edges whose einsum has few terms.
    fn small(template: &Arc<Template>, rng: &mut Rng) -> (Structure, Vec<usize>) {
        let start = random(template, 1, rng);
        let mut ranks = start.ranks().to_vec();
        let mut dims = vec![1; template.order()];
        let mut budget = 1 << 11;
        for k in shuffled(ranks.len() + dims.len(), rng) {
            let (slot, most) = match k.checked_sub(ranks.len()) {
                Some(n) => (&mut dims[n], 3),
                None => (&mut ranks[k], 4),
            };
            let want = rng.random_range(1..=most);
            if budget / want > 0 {
                *slot = want;
                budget /= want;
            }
        }
        (Structure::new(template.clone(), start.permutation().to_vec(), ranks).unwrap(), dims)
    }

    /// Networks on all templates, with several modes at a vertex, and of every kind of number.
    pub(crate) fn random_network() -> Vec<Network> {
        let mut rng = stream(2, b"network");
        let made = |structure: Structure, dims: Vec<usize>, kind, rng: &mut Rng| {
            let shapes =
                (0..structure.template().vertices()).map(|v| structure.core_dims(v, &dims));
            let cores =
                shapes.map(|d| AnyTensor::from(random_tensor(d, rng)).to_kind(kind).unwrap());
            let cores: Vec<AnyTensor> = cores.collect();
            Network::new(structure, dims, cores).unwrap()
        };
        let mut networks = Vec::new();
        for template in (2..=7).flat_map(all) {
            let (structure, dims) = small(&Arc::new(template), &mut rng);
            let kind = Kind::ALL[networks.len() % Kind::ALL.len()];
            networks.push(made(structure, dims, kind, &mut rng));
        }
        let groups = [vec![0, 2], vec![], vec![1], vec![3]];
        let edges = [(0, 1, 2), (1, 2, 3), (1, 3, 2), (2, 3, 1)];
        let grouped = Structure::from_groups("mine", &groups, &edges).unwrap();
        networks.push(made(grouped, vec![2, 3, 4, 2], Kind::F64, &mut rng));
        networks
    }

    #[test]
    fn moving_between_template_and_mode_graph_keeps_the_tensor() {
        let mut rng = stream(1, b"network");
        let internal = r#"{"vertices":[{"mode":false},{"mode":true},{"mode":false},{"mode":true},
            {"mode":true}],"edges":[[0,1],[0,2],[0,3],[2,3],[2,4],[1,4]]}"#;
        let mut templates: Vec<Template> = (2..=10).flat_map(all).collect();
        templates.push(Template::from_json("mine", internal).unwrap());
        for template in templates {
            let template = Arc::new(template);
            for _ in 0..4 {
                let (structure, dims) = small(&template, &mut rng);
                let graph = structure.canonical().graph;
                let shapes = (0..graph.vertices()).map(|v| graph.core_dims(v, &dims));
                let fitted: Vec<Tensor> = shapes.map(|d| random_tensor(d, &mut rng)).collect();
                let network =
                    Network::from_fitted(structure.clone(), dims.clone(), fitted.clone()).unwrap();
                assert_close(&dense(&network), &dense_on_modes(&graph, &dims, &fitted));
                // The placed cores are a valid network, and the way back gives the same cores.
                let again = Network::new(structure.clone(), dims.clone(), network.cores().to_vec())
                    .unwrap();
                assert_eq!(again, network);
                let (on, back) = network.to_mode_graph();
                assert_eq!(on, graph);
                assert_eq!(back, fitted);

                // From cores on the template: numbers at dropped vertices are kept too.
                let shapes = (0..template.vertices()).map(|v| structure.core_dims(v, &dims));
                let cores: Vec<Tensor> = shapes.map(|d| random_tensor(d, &mut rng)).collect();
                let network = Network::new(structure.clone(), dims.clone(), cores).unwrap();
                let (on, cores) = network.to_mode_graph();
                let cores: Vec<Tensor> = cores.into_iter().map(|c| c.into_f64().unwrap()).collect();
                assert_eq!(on, graph);
                assert_close(&dense_on_modes(&on, &dims, &cores), &dense(&network));
                assert_eq!(network.params(), structure.params(&dims));
            }
        }
    }

    #[test]
    fn bad_cores_are_refused() {
        let s = Structure::identity(Arc::new(Template::ring(3).unwrap()), vec![2, 1, 3]).unwrap();
        let core = |dims: &[usize]| AnyTensor::from(Tensor::<f64>::zeros(dims.to_vec()));
        let good = || vec![core(&[2, 1, 4]), core(&[2, 3, 5]), core(&[1, 3, 6])];
        let make = |dims: &[usize], cores| Network::new(s.clone(), dims.to_vec(), cores);
        assert!(make(&[4, 5, 6], good()).is_ok());
        let refusal = |dims: &[usize], cores| make(dims, cores).unwrap_err().to_string();
        assert!(refusal(&[4, 5], good()).contains("the tensor has 2 modes"));
        assert!(refusal(&[4, 0, 6], good()).contains("mode 1 has dimension 0"));
        assert!(refusal(&[4, 5, 6], good()[..2].to_vec()).contains("2 cores were given"));
        assert_eq!(
            refusal(&[4, 5, 7], good()),
            "core 2 has shape [1, 3, 6], the structure needs [1, 3, 7]"
        );
        let mut mixed = good();
        mixed[1] = mixed[1].clone().to_kind(Kind::C32).unwrap();
        assert_eq!(
            refusal(&[4, 5, 6], mixed),
            "core 1 is of kind complex64, core 0 of kind f64; a network has one kind"
        );
        // On the mode graph 0-1x2, 1-2x3 the rank-1 axes are gone.
        let fitted = vec![core(&[2, 4]), core(&[2, 3, 5]), core(&[3, 6])];
        assert!(Network::from_fitted(s.clone(), vec![4, 5, 6], fitted).is_ok());
        let error = Network::from_fitted(s.clone(), vec![4, 5, 6], good()).unwrap_err();
        assert!(matches!(error, NetworkError::CoreShape { vertex: 0, .. }));
    }
}
