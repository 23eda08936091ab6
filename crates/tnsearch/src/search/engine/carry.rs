//! Cores of one structure brought to another of the same template: other ranks, modes on other vertices.

use crate::dispatch;
use crate::graph::Structure;
use crate::linalg::narrowed;
use crate::network::Network;
use crate::rng::{self, Rng};
use crate::tensor::{AnyTensor, Scalar, Tensor};

/// The standard deviation of the entries that a grown edge adds to a core, in units of the root mean square of
/// the entries it had.
const FILL: f64 = 0.1;

/// The cores of a structure's mode graph that begin at a network on the same template. An edge that shrinks keeps the
/// leading directions of the product of its two cores, one that grows gets small random entries; a mode takes the core
/// of the vertex it moves to, cut or filled to its length. None where the templates differ or vertices carry
/// several modes.
pub(crate) fn carried(
    parent: &Network,
    structure: &Structure,
    seed: u64,
) -> Option<Vec<AnyTensor>> {
    let (old, dims) = (parent.structure(), parent.dims());
    if old.template() != structure.template() || old.is_grouped() || structure.is_grouped() {
        return None;
    }
    let mut label = structure.canonical().graph.to_bytes();
    label.extend(b"/carried");
    let mut rng = rng::stream(seed, &label);
    let first = parent.cores().first()?;
    let cores = dispatch!(first, core => moved(core, parent, structure, dims, &mut rng)?);
    let network = Network::new(structure.clone(), dims.to_vec(), cores).ok()?;
    Some(network.to_mode_graph().1)
}

/// The cores on the template; the first one says which kind of number they are.
fn moved<T: Scalar>(
    _: &Tensor<T>,
    parent: &Network,
    structure: &Structure,
    dims: &[usize],
    rng: &mut Rng,
) -> Option<Vec<AnyTensor>> {
    let (old, template) = (parent.structure(), structure.template());
    let typed = parent.cores().iter().map(|core| core.typed::<T>().cloned());
    let mut cores: Vec<Tensor<T>> = typed.collect::<Option<_>>()?;
    for (e, &(u, v)) in template.edges().iter().enumerate() {
        let (now, rank) = (old.ranks()[e], structure.ranks()[e]);
        if rank < now {
            let axis = |w: usize| template.incident(w).position(|f| f == e);
            let (i, j) = (axis(u)?, axis(v)?);
            let (a, b) = (to_front(&cores[u], i), to_front(&cores[v], j));
            let (x, y) = narrowed(a.data(), b.data(), now, rank)?;
            cores[u] = from_front(x, rank, a.dims(), i)?;
            cores[v] = from_front(y, rank, b.dims(), j)?;
        }
    }
    let grown = cores.into_iter().enumerate().map(|(v, core)| {
        let shape = structure.core_dims(v, dims);
        let kept: Vec<usize> = core.dims().iter().zip(&shape).map(|(a, b)| *a.min(b)).collect();
        let core = cut(&core, &kept);
        let small = FILL * core.rms();
        AnyTensor::from(core.widened(shape, || T::normal(rng).scale(small)))
    });
    Some(grown.collect())
}

fn to_front<T: Scalar>(core: &Tensor<T>, axis: usize) -> Tensor<T> {
    let rest = (0..core.dims().len()).filter(|&k| k != axis);
    core.permuted(&[axis].into_iter().chain(rest).collect::<Vec<_>>())
}

/// The inverse of [`to_front`], with another length of that axis.
fn from_front<T: Scalar>(
    data: Vec<T>,
    rank: usize,
    front: &[usize],
    axis: usize,
) -> Option<Tensor<T>> {
    let shape: Vec<usize> = [rank].into_iter().chain(front[1..].iter().copied()).collect();
    let order = (0..shape.len()).map(|k| match k {
        k if k < axis => k + 1,
        k if k == axis => 0,
        k => k,
    });
    Some(Tensor::new(shape.clone(), data).ok()?.permuted(&order.collect::<Vec<_>>()))
}

/// The first entries along every axis.
fn cut<T: Scalar>(core: &Tensor<T>, shape: &[usize]) -> Tensor<T> {
    if core.dims() == shape {
        return core.clone();
    }
    let mut data = Vec::with_capacity(shape.iter().product());
    let mut index = vec![0; shape.len()];
    for &x in core.data() {
        if index.iter().zip(shape).all(|(i, d)| i < d) {
            data.push(x);
        }
        for (i, &d) in index.iter_mut().zip(core.dims()).rev() {
            *i += 1;
            if *i < d {
                break;
            }
            *i = 0;
        }
    }
    Tensor::new(shape.to_vec(), data).unwrap_or_else(|e| unreachable!("{e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use std::sync::Arc;

    fn random(structure: &Structure, dims: &[usize], seed: u64) -> Network {
        let mut rng = rng::stream(seed, b"random network");
        let cores = (0..structure.template().vertices()).map(|v| {
            let shape = structure.core_dims(v, dims);
            let len = shape.iter().product();
            Tensor::new(shape, (0..len).map(|_| f64::normal(&mut rng)).collect()).unwrap()
        });
        Network::new(structure.clone(), dims.to_vec(), cores.collect()).unwrap()
    }

    fn lost(old: &Network, new: &Structure) -> f64 {
        let cores = carried(old, new, 7).unwrap();
        assert_eq!(cores, carried(old, new, 7).unwrap());
        let new = Network::from_fitted(new.clone(), old.dims().to_vec(), cores).unwrap();
        let (x, z) = (old.to_tensor(None).unwrap(), new.to_tensor(None).unwrap());
        let lost: f64 = (0..x.len()).map(|k| (x.entry(k) - z.entry(k)).re.powi(2)).sum();
        lost / x.norm_squared()
    }

    #[test]
    fn ranks_that_were_of_no_use_are_taken_away_without_loss() {
        let ring = Arc::new(Template::ring(4).unwrap());
        let ranks = |r: [usize; 4]| Structure::identity(ring.clone(), r.to_vec()).unwrap();
        // Cores of any size.
        for size in [1e-3, 1.0, 1e3] {
            let small = random(&ranks([2, 3, 2, 3]), &[3, 4, 2, 3], 1);
            let cores = small.cores().iter().map(|core| {
                let core = core.as_f64().unwrap();
                let data = core.data().iter().map(|x| x * size).collect();
                Tensor::new(core.dims().to_vec(), data).unwrap()
            });
            let dims = vec![3, 4, 2, 3];
            let small =
                Network::new(small.structure().clone(), dims.clone(), cores.collect()).unwrap();
            // With larger ranks it is nearly the same, and comes back.
            let large = ranks([4, 3, 3, 4]);
            let cores = carried(&small, &large, 7).unwrap();
            let wide = Network::from_fitted(large.clone(), dims, cores).unwrap();
            assert!(lost(&small, &large) < 0.1, "{size}");
            assert!(lost(&wide, &ranks([2, 3, 2, 3])) < 0.1, "{size}");
            assert_eq!(lost(&small, &ranks([2, 3, 2, 3])), 0.0);
        }
    }

    #[test]
    fn a_mode_takes_the_core_of_its_new_vertex() {
        let ring = Arc::new(Template::ring(3).unwrap());
        let at = |p: [usize; 3]| Structure::new(ring.clone(), p.to_vec(), vec![2; 3]).unwrap();
        let old = random(&at([0, 1, 2]), &[3, 3, 2], 1);
        // Modes 0 and 1 exchange their vertices: the tensor with these two modes exchanged.
        let cores = carried(&old, &at([1, 0, 2]), 7).unwrap();
        let new = Network::from_fitted(at([1, 0, 2]), vec![3, 3, 2], cores).unwrap();
        let (x, z) = (old.to_tensor(None).unwrap(), new.to_tensor(None).unwrap());
        let x = x.permuted(&[1, 0, 2]);
        assert!((0..x.len()).all(|k| (x.entry(k) - z.entry(k)).re.abs() < 1e-12));
        // Another length: cut or filled.
        assert!(carried(&old, &at([2, 1, 0]), 7).is_some());
        let path = Arc::new(Template::parse("path", 3).unwrap());
        let path = Structure::identity(path, vec![2; 2]).unwrap();
        assert_eq!(carried(&old, &path, 7), None);
    }
}
