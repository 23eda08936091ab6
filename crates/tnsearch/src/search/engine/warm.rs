//! Cores that later fits of a run begin at, for strategies that name a parent.
//!
//! Only the best network of a generation is held, since that is what a strategy mostly goes on from. Any other
//! is fitted again when it is needed, from its own parent, and so on: the cores of a structure are a function of
//! the seed and its ancestors, so that a resumed search has them too.

use super::run::{Job, Parent, Slot};
use crate::dispatch;
use crate::graph::{ModeGraph, Structure};
use crate::network::Network;
use crate::rng::{self, Rng};
use crate::tensor::{AnyTensor, Scalar, Tensor};
use std::collections::HashMap;
use std::sync::Arc;

/// The standard deviation of the entries that a grown edge adds to a core, in units of the root mean square of
/// the entries it had.
const FILL: f64 = 0.1;

/// The ancestors of a run's structures, and the cores that may be needed next.
#[derive(Default)]
pub(super) struct Lineage {
    /// The parent of each structure that was to be fitted from one: the first that was named.
    parents: HashMap<ModeGraph, Arc<Parent>>,
    /// The network that the fits under way begin at.
    held: Option<(ModeGraph, Arc<Network>)>,
    /// The best fit since then: its loss, its place in the order of jobs, its cores.
    best: Option<(f64, Slot, ModeGraph, Vec<AnyTensor>)>,
}

impl Lineage {
    /// A job was planned.
    pub(super) fn planned(&mut self, job: &Job) {
        let fits = |p: &&Arc<Parent>| p.near.is_some() || can_grow(&p.structure, &job.structure);
        if let Some(parent) = job.parent.as_ref().filter(fits) {
            self.parents.entry(job.graph.clone()).or_insert_with(|| parent.clone());
        }
    }

    /// The structure that the fit of another began at.
    pub(super) fn parent_of(&self, structure: &Structure) -> Option<&Arc<Parent>> {
        self.parents.get(&structure.canonical().graph)
    }

    /// A job with a parent was fitted. Which fit is kept does not depend on the order in which they end.
    pub(super) fn fitted(&mut self, job: &Job, loss: f64, cores: &[AnyTensor]) {
        let beats = |best: &(f64, Slot, _, _)| (loss, job.place) < (best.0, best.1);
        if self.best.as_ref().is_none_or(beats) {
            self.best = Some((loss, job.place, job.graph.clone(), cores.to_vec()));
        }
    }

    /// The network of a structure, where its cores are at hand; it is held from now on.
    pub(super) fn network(
        &mut self,
        structure: &Structure,
        dims: &[usize],
    ) -> Option<Arc<Network>> {
        let graph = structure.canonical().graph;
        if let Some((_, network)) = self.held.as_ref().filter(|(held, _)| *held == graph) {
            return Some(network.clone());
        }
        let (_, _, _, cores) = self.best.take_if(|best| best.2 == graph)?;
        self.hold(structure, dims, cores)
    }

    /// Holds the network of a structure from its fitted cores.
    pub(super) fn hold(
        &mut self,
        structure: &Structure,
        dims: &[usize],
        cores: Vec<AnyTensor>,
    ) -> Option<Arc<Network>> {
        let graph = structure.canonical().graph;
        let network = Network::from_fitted(structure.clone(), dims.to_vec(), cores).ok()?;
        let network = Arc::new(network);
        self.held = Some((graph, network.clone()));
        // What was fitted before it is of no more use.
        self.best = None;
        Some(network)
    }
}

/// Whether a structure is another with larger ranks: so no structure is its own ancestor.
fn can_grow(old: &Structure, new: &Structure) -> bool {
    old.template() == new.template()
        && old.permutation() == new.permutation()
        && old.ranks() != new.ranks()
        && old.ranks().iter().zip(new.ranks()).all(|(old, new)| old <= new)
}

/// The cores of a structure's mode graph that begin at a network with smaller ranks: the old entries, and small
/// random ones where an edge has grown. None where it is not the same structure with larger ranks.
pub(crate) fn grown(parent: &Network, structure: &Structure, seed: u64) -> Option<Vec<AnyTensor>> {
    if !can_grow(parent.structure(), structure) {
        return None;
    }
    let mut label = structure.canonical().graph.to_bytes();
    label.extend(b"/grown");
    let mut rng = rng::stream(seed, &label);
    let dims = parent.dims();
    let cores = parent.cores().iter().enumerate();
    let cores = cores.map(|(v, core)| widen(core, structure.core_dims(v, dims), &mut rng));
    let network = Network::new(structure.clone(), dims.to_vec(), cores.collect()).ok()?;
    Some(network.to_mode_graph().1)
}

/// A core in a larger shape.
fn widen(core: &AnyTensor, shape: Vec<usize>, rng: &mut Rng) -> AnyTensor {
    if core.dims() == shape {
        return core.clone();
    }
    let small = FILL * core.rms();
    dispatch!(core, core => filled(core, shape, small, rng).into())
}

/// The same, the new entries normal numbers of that standard deviation.
fn filled<T: Scalar>(core: &Tensor<T>, shape: Vec<usize>, sigma: f64, rng: &mut Rng) -> Tensor<T> {
    core.widened(shape, || T::normal(rng).scale(sigma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::search::engine::Driver;
    use crate::search::engine::testing::{
        Branching, DIMS, TestExecutor, engine, fitted, job, structure,
    };
    use rand::RngExt as _;
    use rand_distr::StandardNormal;

    fn random(structure: &Structure, dims: &[usize], seed: u64) -> Network {
        let mut rng = rng::stream(seed, b"random network");
        let cores = (0..structure.template().vertices()).map(|v| {
            let shape = structure.core_dims(v, dims);
            let len = shape.iter().product();
            let data = (0..len).map(|_| rng.sample::<f64, _>(StandardNormal)).collect();
            Tensor::new(shape, data).unwrap()
        });
        Network::new(structure.clone(), dims.to_vec(), cores.collect()).unwrap()
    }

    #[test]
    fn a_grown_network_begins_near_its_parent() {
        let dims = [3, 4, 2, 3];
        // Internal vertices too: their numbers in the mode graph may change as ranks grow from 1.
        for template in [Template::complete(4).unwrap(), Template::ht(4).unwrap()] {
            let template = Arc::new(template);
            let edges = template.edges().len();
            for (seed, e) in (0..edges).enumerate() {
                let ranks: Vec<usize> = (0..edges).map(|k| 1 + (k + seed) % 3).collect();
                let old = Structure::identity(template.clone(), ranks.clone()).unwrap();
                let parent = random(&old, &dims, seed as u64);
                let mut more = ranks;
                more[e] += 1;
                let new = Structure::identity(template.clone(), more).unwrap();
                let cores = grown(&parent, &new, 7).unwrap();
                assert_eq!(cores, grown(&parent, &new, 7).unwrap());
                assert_ne!(cores, grown(&parent, &new, 8).unwrap());
                let network = Network::from_fitted(new.clone(), dims.to_vec(), cores).unwrap();
                let (x, z) = (parent.to_tensor(None).unwrap(), network.to_tensor(None).unwrap());
                let lost: f64 = (0..x.len()).map(|k| (x.entry(k) - z.entry(k)).re.powi(2)).sum();
                assert!(lost > 0.0 && lost < 0.05 * x.norm_squared(), "{lost}");
                assert_eq!(grown(&network, &old, 7), None, "a rank shrinks");
            }
        }
    }

    #[test]
    fn another_permutation_is_no_parent() {
        let ring = Arc::new(Template::ring(3).unwrap());
        let old = Structure::identity(ring.clone(), vec![2; 3]).unwrap();
        let parent = random(&old, &[2, 2, 2], 1);
        let new = Structure::new(ring, vec![1, 0, 2], vec![2; 3]).unwrap();
        assert_eq!(grown(&parent, &new, 1), None);
        assert_eq!(grown(&parent, &old, 1), None, "nothing has grown");
    }

    #[test]
    fn a_network_grows_only_from_smaller_ranks_on_the_same_places() {
        let ring = Arc::new(Template::ring(3).unwrap());
        let line = Arc::new(Template::parse("path", 3).unwrap());
        let of = |t: &Arc<Template>, p: [usize; 3], r: &[usize]| {
            Structure::new(t.clone(), p.to_vec(), r.to_vec()).unwrap()
        };
        let old = of(&ring, [0, 1, 2], &[2, 2, 2]);
        for (new, grows) in [
            (of(&ring, [0, 1, 2], &[2, 3, 2]), true),
            (of(&ring, [0, 1, 2], &[3, 3, 3]), true),
            (of(&ring, [0, 1, 2], &[2, 2, 2]), false),
            (of(&ring, [0, 1, 2], &[3, 1, 2]), false),
            (of(&ring, [1, 0, 2], &[3, 3, 3]), false),
            (of(&ring, [1, 0, 2], &[2, 2, 2]), false),
            (of(&line, [0, 1, 2], &[3, 3]), false),
        ] {
            assert_eq!(can_grow(&old, &new), grows, "{new:?}");
        }
    }

    /// A ring of rank k, fitted with that loss at that place.
    fn lineage(order: &[(usize, f64, usize)]) -> Lineage {
        let mut bench = TestExecutor::new(1);
        let driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let mut lineage = Lineage::default();
        for &(code, loss, index) in order {
            let job = job(&driver, code, index);
            lineage.fitted(&job, loss, &fitted(&job.graph, 0.5).cores);
        }
        lineage
    }

    #[test]
    fn the_best_of_a_generation_is_at_hand_whenever_it_was_fitted() {
        let fits = [(1, 0.5, 0), (2, 0.3, 1), (3, 0.3, 2), (4, 0.4, 3)];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [2, 1, 0, 3]] {
            let at_hand = |code: usize| {
                let network = lineage(&order.map(|k| fits[k])).network(&structure(code), &DIMS);
                network.is_some_and(|n| *n.structure() == structure(code))
            };
            assert_eq!([1, 2, 3, 4].map(at_hand), [false, true, false, false], "{order:?}");
        }
        // It is held from then on, until another one is.
        let mut held = lineage(&fits);
        assert!(held.network(&structure(2), &DIMS).is_some());
        assert!(held.network(&structure(2), &DIMS).is_some());
        let cores = fitted(&structure(9).canonical().graph, 0.5).cores;
        assert!(held.hold(&structure(9), &DIMS, cores).is_some());
        assert!(held.network(&structure(2), &DIMS).is_none());
        assert!(held.network(&structure(9), &DIMS).is_some());
    }

    #[test]
    fn the_first_parent_that_fits_is_the_parent() {
        let mut bench = TestExecutor::new(1);
        let driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let mut lineage = Lineage::default();
        let mut plan = |code: usize, parent: usize, near: Option<f64>| {
            let mut job = job(&driver, code, 0);
            job.parent = Some(Arc::new(Parent { structure: structure(parent), near }));
            lineage.planned(&job);
            lineage.parent_of(&structure(code)).map(|p| p.structure.clone())
        };
        assert_eq!(plan(2222, 3333, None), None, "it is larger");
        assert_eq!(plan(2222, 1111, None), Some(structure(1111)));
        assert_eq!(plan(2222, 1112, None), Some(structure(1111)));
        assert_eq!(plan(1111, 3333, Some(0.5)), Some(structure(3333)));
    }

    #[test]
    fn old_entries_keep_their_places() {
        let core = Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let wide = widen(&core.into(), vec![2, 3], &mut rng::stream(1, b"widen"));
        let wide = wide.into_f64().unwrap();
        assert_eq!([0, 1, 3, 4].map(|k| wide.data()[k]), [1.0, 2.0, 3.0, 4.0]);
        assert!([2, 5].iter().all(|&k| wide.data()[k] != 0.0 && wide.data()[k].abs() < 2.0));
    }
}
