//! The sets of modes that a tree may have behind its edges.

use super::super::ModeSet;

/// A set by its number; 0 is the empty set, and parts of a set have smaller numbers.
pub(super) type Index = usize;

/// A family of sets that do not contain the root's mode.
#[derive(Debug, Clone)]
pub(super) enum Sets {
    /// All of them; the root is mode 0.
    All {
        /// The number of modes.
        modes: usize,
    },
    /// Those that stand side by side in an order; the root is its first. As a cut names either of its sides, these are
    /// all arcs of the order closed to a circle.
    Arcs {
        /// The order of the modes.
        order: Vec<usize>,
        /// Begin and end of each arc, by rising length; the first is empty.
        arcs: Vec<(usize, usize)>,
    },
}

impl Sets {
    /// The arcs of an order.
    pub fn arcs(order: Vec<usize>) -> Sets {
        let n = order.len();
        let of_length = |len: usize| (1..=n - len).map(move |from| (from, from + len));
        let arcs = [(0, 0)].into_iter().chain((1..n).flat_map(of_length)).collect();
        Sets::Arcs { order, arcs }
    }

    /// The number of sets, the empty one included.
    pub fn len(&self) -> usize {
        match self {
            Sets::All { modes } => 1 << (modes - 1),
            Sets::Arcs { arcs, .. } => arcs.len(),
        }
    }

    /// The mode of the root.
    pub fn root(&self) -> usize {
        match self {
            Sets::All { .. } => 0,
            Sets::Arcs { order, .. } => order[0],
        }
    }

    /// The modes of a set.
    pub fn modes(&self, set: Index) -> ModeSet {
        match self {
            Sets::All { .. } => (set as ModeSet) << 1,
            Sets::Arcs { order, arcs } => {
                let (from, to) = arcs[set];
                order[from..to].iter().fold(0, |modes, &n| modes | 1 << n)
            }
        }
    }

    /// The number of the arc from one place to another.
    fn arc(&self, from: usize, to: usize) -> Index {
        let Sets::Arcs { order, .. } = self else { return 0 };
        let (n, len) = (order.len(), to - from);
        if len == 0 {
            return 0;
        }
        // Before it stand the empty arc and the n - 1, n - 2, ... shorter ones.
        let shorter = (len - 1) * n - len * (len - 1) / 2;
        1 + shorter + from - 1
    }

    /// A set without its first part.
    pub fn minus(&self, set: Index, first: Index) -> Index {
        match self {
            Sets::All { .. } => set & !first,
            Sets::Arcs { arcs, .. } => self.arc(arcs[first].1.max(arcs[set].0), arcs[set].1),
        }
    }

    /// Calls `look` with each way of taking a first part (with the set's first mode) and leaving a rest that is not
    /// empty.
    pub fn each_split(&self, set: Index, mut look: impl FnMut(Index, Index)) {
        match self {
            Sets::All { .. } => {
                let low = set & set.wrapping_neg();
                let others = set & !low;
                let mut some = others;
                while some != 0 {
                    some = (some - 1) & others;
                    look(some | low, others & !some);
                }
            }
            Sets::Arcs { arcs, .. } => {
                let (from, to) = arcs[set];
                (from + 1..to).for_each(|at| look(self.arc(from, at), self.arc(at, to)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_disjoint_and_make_the_set() {
        for sets in [Sets::All { modes: 5 }, Sets::arcs(vec![3, 1, 4, 0, 2])] {
            for set in 1..sets.len() {
                let mut count = 0;
                sets.each_split(set, |first, rest| {
                    count += 1;
                    assert!(first < set && rest < set);
                    assert_eq!(sets.modes(first) & sets.modes(rest), 0);
                    assert_eq!(sets.modes(first) | sets.modes(rest), sets.modes(set));
                    assert_eq!(sets.minus(set, first), rest);
                });
                let modes = sets.modes(set).count_ones() as usize;
                let all = matches!(sets, Sets::All { .. });
                assert_eq!(count, if all { (1 << (modes - 1)) - 1 } else { modes - 1 });
                assert_eq!(sets.minus(set, set), 0);
                assert_eq!(sets.modes(set) >> sets.root() & 1, 0);
            }
        }
    }
}
