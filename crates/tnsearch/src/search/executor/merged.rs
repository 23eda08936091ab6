//! Tensors with merged modes, held for the fits that come next.

use crate::fit::{FitError, grouped};
use crate::graph::ModeGraph;
use crate::problem::Target;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many are held at most.
const MOST: usize = 8;
/// How many bytes they may take together.
const HELD_BYTES: u64 = 1 << 30;

/// The merged forms of one tensor, those used last. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct MergedTargets(Arc<Mutex<Vec<Held>>>);

/// The modes of each group, and the tensor with those merged.
type Held = (Vec<Vec<usize>>, Target);

impl MergedTargets {
    fn lock(&self) -> MutexGuard<'_, Vec<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of those that are held.
    pub fn bytes(&self) -> usize {
        self.lock().iter().map(|(_, merged)| merged.tensor().bytes()).sum()
    }

    /// Holds none of them any more.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The tensor that a graph with several modes at a vertex is fitted to. As many are held as fit into a quarter of
    /// `max_bytes`, and into a gibibyte.
    pub fn of(
        &self,
        target: &Target,
        graph: &ModeGraph,
        max_bytes: Option<u64>,
    ) -> Result<Target, FitError> {
        let groups = graph.groups();
        {
            let mut held = self.lock();
            if let Some(at) = held.iter().position(|(known, _)| *known == groups) {
                let found = held.remove(at);
                let merged = found.1.clone();
                held.push(found);
                return Ok(merged);
            }
        }
        let merged = grouped::merged(target, graph, max_bytes)?;
        let bytes = max_bytes.map_or(HELD_BYTES, |limit| (limit / 4).min(HELD_BYTES));
        let most = MOST.min((bytes / (merged.tensor().bytes() as u64).max(1)) as usize);
        let mut held = self.lock();
        if !held.iter().any(|(known, _)| *known == groups) {
            held.push((groups, merged.clone()));
        }
        let over = held.len().saturating_sub(most);
        held.drain(..over);
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn the_last_used_are_held() {
        let x = Tensor::new(vec![2; 4], (1..17).map(f64::from).collect()).unwrap();
        let target = Target::new(x).unwrap();
        let graph = |a: usize, b: usize| {
            let others = (0..4).filter(|n| ![a, b].contains(n)).map(|n| vec![n]);
            ModeGraph::grouped(others.chain([vec![a, b]]).collect(), 0, vec![])
        };
        let merged = MergedTargets::default();
        let held = |m: &MergedTargets| m.0.lock().unwrap().len();
        // Room for two tensors of 128 bytes in a quarter of the limit.
        let limit = Some(4 * 256);
        for (a, b) in [(0, 1), (0, 2), (0, 1), (1, 3)] {
            let graph = graph(a, b);
            let found = merged.of(&target, &graph, limit).unwrap();
            assert_eq!(found.tensor(), target.merged(&graph.groups()).tensor());
        }
        let known: Vec<_> =
            merged.0.lock().unwrap().iter().map(|(groups, _)| groups.clone()).collect();
        assert_eq!(known, [graph(0, 1).groups(), graph(1, 3).groups()]);
        assert!(matches!(merged.of(&target, &graph(2, 3), Some(100)), Err(FitError::Memory(_))));
        assert_eq!(merged.bytes(), 2 * 128);
        merged.clear();
        assert_eq!((merged.bytes(), held(&merged)), (0, 0));
        // Too large to be held.
        let tight = MergedTargets::default();
        tight.of(&target, &graph(2, 3), Some(200)).unwrap();
        assert_eq!(held(&tight), 0);
    }
}
