//! The lower bound of a structure: the worst of its cuts.

use super::{ModeSet, Spectra};
use crate::graph::ModeGraph;
use std::sync::Arc;

/// Up to this order every cut is looked at; beyond it only those whose two sides hang together, which
/// for a ring are the arcs and for a tree the edges.
const ALL_CUTS: usize = 10;
/// The most cuts looked at beyond that order.
const MAX_CUTS: usize = 500;
/// Up to this many vertices the widths of all vertex sets are tabulated.
const TABLE: usize = 17;

/// The most modes of a tensor whose cuts have a name.
pub const MAX_MODES: usize = ModeSet::BITS as usize;

/// One cut of a structure and what it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutReport {
    /// The modes on the side without mode 0.
    pub modes: ModeSet,
    /// The width c_S: the least product of crossed ranks over all placements of internal vertices.
    pub width: f64,
    /// The lower bound on the RSE that follows.
    pub rse: f64,
}

/// Bounds structures from cut spectra. Clones share them.
#[derive(Clone)]
pub struct CutBound {
    spectra: Arc<Spectra>,
}

impl CutBound {
    /// A bound for the tensor of these spectra.
    pub fn new(spectra: Spectra) -> Self {
        CutBound { spectra: Arc::new(spectra) }
    }

    /// The spectra.
    pub fn spectra(&self) -> &Spectra {
        &self.spectra
    }

    /// A lower bound on the RSE of every fit of the structure:
    /// `max over S of tau_S(c_S) / ||X||^2`, less a slack for rounding.
    ///
    /// Stops looking once the bound has reached `enough`.
    pub fn rse(&self, graph: &ModeGraph, enough: f64) -> f64 {
        let mut worst = 0.0f64;
        self.each_cut(graph, |cut| {
            worst = worst.max(cut.rse);
            worst < enough
        });
        worst
    }

    /// All cuts looked at, the worst first.
    pub fn cuts(&self, graph: &ModeGraph) -> Vec<CutReport> {
        let mut all = Vec::new();
        self.each_cut(graph, |cut| {
            all.push(cut);
            true
        });
        all.sort_by(|a, b| b.rse.total_cmp(&a.rse).then(a.width.total_cmp(&b.width)));
        all
    }

    /// Calls `look` with cut after cut until it returns false. Sets of more than 64 modes are not known.
    fn each_cut(&self, graph: &ModeGraph, mut look: impl FnMut(CutReport) -> bool) {
        if graph.modes() > MAX_MODES {
            return;
        }
        // A cut separates groups: bit k of a set is vertex k, which stands for the modes of its group.
        let groups: Option<Vec<ModeSet>> = graph.is_grouped().then(|| {
            let bits = |group: Vec<usize>| group.into_iter().fold(0, |set, n| set | 1 << n);
            graph.groups().into_iter().map(bits).collect()
        });
        let graph = &*graph.plain();
        let mut report = |set: ModeSet, width: f64| {
            let modes = groups.as_ref().map_or(set, |groups| {
                let inside = groups.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1);
                inside.fold(0, |modes, (_, group)| modes | group)
            });
            let spectrum = self.spectra.of(modes);
            let rse = spectrum.map_or(0.0, |s| s.bound(width.min(1e15) as usize));
            look(CutReport { modes, width, rse })
        };
        if graph.modes() <= ALL_CUTS && graph.vertices() <= TABLE {
            let widths = all_widths(graph);
            for set in 1..1u64 << (graph.modes() - 1) {
                if !report(set << 1, widths[set as usize]) {
                    return;
                }
            }
        } else {
            for set in connected_cuts(graph) {
                if !report(set, width(graph, set)) {
                    return;
                }
            }
        }
    }
}

/// The widths of all cuts, by the modes on the side without mode 0, shifted by one.
pub(super) fn all_widths(graph: &ModeGraph) -> Vec<f64> {
    if let Some(rank) = graph.rank_of_cp() {
        let mut widths = vec![rank as f64; 1 << (graph.modes() - 1)];
        widths[0] = 1.0;
        return widths;
    }
    // Vertex sets without vertex 0, built up from their lowest vertex: its edges to the inside stop
    // crossing, its other edges start.
    let v = graph.vertices();
    let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); v];
    for &(a, b, r) in graph.edges() {
        neighbours[a].push((b, r as f64));
        neighbours[b].push((a, r as f64));
    }
    let mut widths = vec![1.0f64; 1 << (v - 1)];
    for set in 1..widths.len() {
        let lowest = set.trailing_zeros() as usize;
        let rest = set & (set - 1);
        let mut width = widths[rest];
        for &(u, r) in &neighbours[lowest + 1] {
            let inside = u > 0 && rest >> (u - 1) & 1 == 1;
            width = if inside { width / r } else { width * r };
        }
        widths[set] = width.round();
    }
    // Internal vertices go wherever the width is least: modes are the low bits.
    let cuts = 1 << (graph.modes() - 1);
    for set in cuts..widths.len() {
        let modes = set % cuts;
        widths[modes] = widths[modes].min(widths[set]);
    }
    widths.truncate(cuts);
    widths
}

/// The width of one cut: a minimum cut between the modes of S and the others.
pub(super) fn width(graph: &ModeGraph, set: ModeSet) -> f64 {
    // Whatever is cut, the terms are R.
    if let Some(rank) = graph.rank_of_cp() {
        return rank as f64;
    }
    let inside = |v: usize| v < graph.modes() && set >> v & 1 == 1;
    let crossed = |side: &dyn Fn(usize) -> bool| -> f64 {
        graph.edges().iter().filter(|e| side(e.0) != side(e.1)).map(|e| e.2 as f64).product()
    };
    if graph.internal() == 0 {
        return crossed(&inside);
    }
    let reached = min_cut_side(graph, &inside);
    crossed(&|v| reached[v])
}

/// The side of S in a minimum cut (capacities: logarithms of the ranks), by augmenting paths.
fn min_cut_side(graph: &ModeGraph, inside: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let v = graph.vertices();
    let mut capacity = vec![0.0f64; v * v];
    for &(a, b, r) in graph.edges() {
        capacity[a * v + b] = (r as f64).ln();
        capacity[b * v + a] = (r as f64).ln();
    }
    let sink = |u: usize| u < graph.modes() && !inside(u);
    loop {
        let mut from = vec![usize::MAX; v];
        let mut queue: Vec<usize> = (0..graph.modes()).filter(|&u| inside(u)).collect();
        queue.iter().for_each(|&u| from[u] = u);
        let mut end = None;
        let mut next = 0;
        while next < queue.len() && end.is_none() {
            let u = queue[next];
            next += 1;
            for w in 0..v {
                if from[w] == usize::MAX && capacity[u * v + w] > 1e-9 {
                    from[w] = u;
                    if sink(w) {
                        end = Some(w);
                        break;
                    }
                    queue.push(w);
                }
            }
        }
        let Some(end) = end else { return from.iter().map(|&f| f != usize::MAX).collect() };
        let path = |mut visit: Box<dyn FnMut(usize, usize) + '_>| {
            let mut w = end;
            while from[w] != w {
                visit(from[w], w);
                w = from[w];
            }
        };
        let mut least = f64::INFINITY;
        path(Box::new(|u, w| least = least.min(capacity[u * v + w])));
        path(Box::new(|u, w| {
            capacity[u * v + w] -= least;
            capacity[w * v + u] += least;
        }));
    }
}

/// Mode sets whose vertices (with all internal vertices on either side) hang together, small ones first.
fn connected_cuts(graph: &ModeGraph) -> Vec<ModeSet> {
    let n = graph.modes();
    // All widths are the same.
    if graph.rank_of_cp().is_some() {
        return (1..n).map(|m| 1 << m).chain([(ModeSet::MAX >> (MAX_MODES - n)) & !1]).collect();
    }
    let all = ModeSet::MAX >> (MAX_MODES - n);
    // Two modes are near if an edge joins them, or internal vertices alone.
    let near = modes_near(graph);
    let mut found: Vec<ModeSet> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut layer: Vec<ModeSet> = (0..n).map(|m| 1 << m).collect();
    while !layer.is_empty() && found.len() < MAX_CUTS {
        let mut next = Vec::new();
        for set in layer {
            let normal = if set & 1 == 1 { all & !set } else { set };
            if set.count_ones() as usize > n.div_ceil(2) || !seen.insert(set) {
                continue;
            }
            if normal != 0 && !found.contains(&normal) {
                found.push(normal);
            }
            let around = (0..n).filter(|&m| set >> m & 1 == 1).fold(0, |a, m| a | near[m]) & !set;
            next.extend((0..n).filter(|&m| around >> m & 1 == 1).map(|m| set | 1 << m));
        }
        layer = next;
    }
    found.truncate(MAX_CUTS);
    found
}

fn modes_near(graph: &ModeGraph) -> Vec<ModeSet> {
    let v = graph.vertices();
    let mut near = vec![0; graph.modes()];
    for (m, near) in near.iter_mut().enumerate() {
        let mut seen = vec![false; v];
        let mut stack = vec![m];
        seen[m] = true;
        while let Some(u) = stack.pop() {
            for &(a, b, _) in graph.edges() {
                let w = if a == u {
                    b
                } else if b == u {
                    a
                } else {
                    continue;
                };
                if std::mem::replace(&mut seen[w], true) {
                    continue;
                }
                if w < graph.modes() {
                    *near |= 1 << w;
                } else {
                    stack.push(w);
                }
            }
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::SpectraSettings;
    use crate::fit::{FitSettings, Request, Run, fit};
    use crate::graph::{Structure, testing};
    use crate::problem::Target;
    use crate::rng::stream;
    use crate::tensor::Tensor;
    use rand::RngExt as _;
    use rand_distr::{Distribution, StandardNormal};

    fn random_target(dims: Vec<usize>, seed: u64) -> Target {
        let mut rng = stream(seed, b"cuts");
        let n = dims.iter().product();
        let data: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
        Target::new(Tensor::new(dims, data).unwrap()).unwrap()
    }

    #[test]
    fn the_table_agrees_with_minimum_cuts_and_brute_force() {
        let mut rng = stream(1, b"widths");
        for order in 2..7 {
            for template in testing::all(order) {
                let graph = testing::random(&Arc::new(template), 4, &mut rng).canonical().graph;
                let table = all_widths(&graph);
                for set in 1..1u64 << (order - 1) {
                    let brute = (0..1u64 << graph.internal())
                        .map(|inner| {
                            let side = set << 1 | inner << order;
                            let cut = graph
                                .edges()
                                .iter()
                                .filter(|e| (side >> e.0 ^ side >> e.1) & 1 == 1);
                            cut.map(|e| e.2 as f64).product::<f64>()
                        })
                        .fold(f64::INFINITY, f64::min);
                    assert_eq!(table[set as usize], brute, "{graph} {set:b}");
                    assert_eq!(width(&graph, set << 1), brute, "{graph} {set:b}");
                }
            }
        }
    }

    #[test]
    fn minimum_cuts_find_their_way_through_many_internal_vertices() {
        let mut rng = stream(3, b"flows");
        for round in 0..400 {
            let (modes, internal) = (rng.random_range(2..5usize), rng.random_range(1..6usize));
            let v = modes + internal;
            let mut edges: Vec<(usize, usize, usize)> = Vec::new();
            for a in 0..v {
                for b in a + 1..v {
                    if rng.random_bool(0.5) {
                        edges.push((a, b, rng.random_range(1..6)));
                    }
                }
            }
            let graph = ModeGraph::new(modes, internal, edges);
            for set in 1..(1u64 << modes) - 1 {
                let brute = (0..1u64 << internal).map(|inner| {
                    let side = set | inner << modes;
                    let crossed =
                        graph.edges().iter().filter(|e| (side >> e.0 ^ side >> e.1) & 1 == 1);
                    crossed.map(|e| e.2 as f64).product::<f64>()
                });
                let brute = brute.fold(f64::INFINITY, f64::min);
                assert_eq!(width(&graph, set), brute, "round {round}: {graph} {set:b}");
            }
        }
    }

    #[test]
    fn a_flow_that_took_the_wrong_way_is_taken_back() {
        // Five internal vertices; the shortest path first leaves no room for two others. Least is between 0, 5 and the rest.
        let edges =
            vec![(0, 2, 2), (0, 5, 3), (1, 4, 2), (1, 6, 3), (2, 4, 2), (2, 6, 2), (4, 5, 2)];
        assert_eq!(width(&ModeGraph::new(2, 5, edges), 0b01), 4.0);
    }

    #[test]
    fn the_cuts_of_groups_are_named_by_their_modes() {
        let target = random_target(vec![3, 4, 2, 3], 5);
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        // Modes 0 and 2 together, then mode 1, then mode 3.
        let groups = [vec![0, 2], vec![1], vec![3]];
        let path = Structure::from_groups("groups", &groups, &[(0, 1, 2), (1, 2, 3)]).unwrap();
        let mut found = bound.cuts(&path.canonical().graph);
        found.sort_by_key(|cut| cut.modes);
        let named: Vec<(ModeSet, f64)> = found.iter().map(|cut| (cut.modes, cut.width)).collect();
        assert_eq!(named, [(0b0010, 6.0), (0b1000, 3.0), (0b1010, 2.0)]);
        for cut in found {
            let spectrum = bound.spectra().of(cut.modes).unwrap();
            assert_eq!(cut.rse, spectrum.bound(cut.width as usize));
        }
    }

    #[test]
    fn the_connected_cuts_of_a_ring_are_its_arcs() {
        let ring = ModeGraph::new(12, 0, (0..12).map(|v| (v, (v + 1) % 12, 2)).collect());
        let cuts = connected_cuts(&ring);
        assert_eq!(cuts.len(), 12 * 11 / 2);
        assert!(cuts.iter().all(|&s| width(&ring, s) == 4.0));
    }

    #[test]
    fn the_bound_is_the_worst_of_the_cuts_looked_at() {
        // Where every cut is looked at, and where the connected ones are; the first of either.
        for (order, dim, count, first) in [(5, 3, 15, 0b10), (11, 2, 55, 1)] {
            let target = random_target(vec![dim; order], 3);
            let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
            let ring =
                ModeGraph::new(order, 0, (0..order).map(|v| (v, (v + 1) % order, 2)).collect());
            let rse = |set: ModeSet| bound.spectra().of(set).unwrap().bound(4);
            // All arcs; with every cut looked at, wider ones bound no more.
            let arc = |from: usize, len: usize| (from..from + len).map(|k| 1 << (k % order)).sum();
            let arcs = (0..order).flat_map(|from| (1..order).map(move |len| arc(from, len)));
            let worst = arcs.map(rse).fold(0.0, f64::max);
            assert!(worst > 0.1 && bound.rse(&ring, f64::INFINITY) == worst, "{order}");
            let cuts = bound.cuts(&ring);
            assert!(cuts[0].rse == worst && cuts.is_sorted_by(|a, b| a.rse >= b.rse));
            assert_eq!(cuts.len(), count);
            // With anything enough, only the first is looked at.
            assert_eq!(bound.rse(&ring, 0.0), rse(first));
            assert!(bound.rse(&ring, worst / 2.0) >= worst / 2.0);
        }
    }

    #[test]
    fn no_more_cuts_are_looked_at_than_allowed_and_none_of_too_many_modes() {
        let cuts = |order: usize| {
            let target = Target::new(Tensor::new(vec![1; order], vec![2.0]).unwrap()).unwrap();
            let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
            let edges = (0..order).map(|v| (v, (v + 1) % order, 2)).collect();
            bound.cuts(&ModeGraph::new(order, 0, edges)).len()
        };
        // A ring of 31 has 465 arcs and complements, one of 40 has 780.
        assert_eq!([31, 40, 64, 65].map(cuts), [465, MAX_CUTS, MAX_CUTS, 0]);
    }

    /// Whether a set of modes hangs together: by edges, or by paths through internal vertices.
    fn hangs_together(graph: &ModeGraph, set: ModeSet) -> bool {
        let v = graph.vertices();
        let mut joined = vec![vec![false; v]; v];
        for &(a, b, _) in graph.edges() {
            (joined[a][b], joined[b][a]) = (true, true);
        }
        // Through internal vertices, then through modes of the set.
        let through = (graph.modes()..v).chain((0..graph.modes()).filter(|m| set >> m & 1 == 1));
        for k in through {
            for (a, b) in (0..v).flat_map(|a| (0..v).map(move |b| (a, b))) {
                joined[a][b] |= joined[a][k] && joined[k][b];
            }
        }
        let members = || (0..graph.modes()).filter(|m| set >> m & 1 == 1);
        members().all(|a| members().all(|b| a == b || joined[a][b]))
    }

    #[test]
    fn the_connected_cuts_of_any_graph_are_all_small_sets_that_hang_together() {
        let mut rng = stream(4, b"connected");
        for order in 2..8 {
            for template in testing::all(order) {
                let graph = testing::random(&Arc::new(template), 2, &mut rng).canonical().graph;
                let n = graph.modes();
                let all: ModeSet = (1 << n) - 1;
                let small = (1..all).filter(|s| s.count_ones() as usize <= n.div_ceil(2));
                let together = small.filter(|&s| hangs_together(&graph, s));
                let mut expected: Vec<ModeSet> =
                    together.map(|s| if s & 1 == 1 { all & !s } else { s }).collect();
                expected.sort_unstable();
                expected.dedup();
                let mut cuts = connected_cuts(&graph);
                cuts.sort_unstable();
                assert_eq!(cuts, expected, "{graph}");
            }
        }
    }

    #[test]
    fn no_fit_goes_below_the_bound() {
        let mut rng = stream(2, b"bound");
        let settings = FitSettings { max_sweeps: 30, restarts: 2, ..Default::default() };
        let settings = settings.check().unwrap();
        for round in 0..60u64 {
            let order = 2 + (round % 5) as usize;
            let dims: Vec<usize> = (0..order).map(|_| rng.random_range(1..4usize)).collect();
            let target = random_target(dims, round);
            let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
            for template in testing::all(order) {
                let graph = testing::random(&Arc::new(template), 3, &mut rng).canonical().graph;
                let request = Request::new(graph.clone(), settings.clone(), round);
                let fitted = fit(&target, &request, &Run::default()).unwrap();
                let low = bound.rse(&graph, f64::INFINITY);
                assert!(low <= fitted.error + 1e-12, "{graph}: {low} {}", fitted.error);
            }
        }
    }
    /// Whatever is cut of a sum of R products, R terms cross: also in the table, and beyond the order of all cuts.
    #[test]
    fn every_cut_of_a_cp_is_as_wide_as_its_rank() {
        for order in [3, 5] {
            let cp = ModeGraph::cp(order, 2);
            let table = all_widths(&cp);
            assert_eq!(table.len(), 1 << (order - 1));
            assert_eq!(table[0], 1.0);
            for set in 1..1u64 << (order - 1) {
                assert_eq!((table[set as usize], width(&cp, set << 1)), (2.0, 2.0));
            }
            // The bound is the worst of all cuts.
            let target = random_target(vec![3; order], 7);
            let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
            let of = |set: u64| bound.spectra().of(set << 1).unwrap().bound(2);
            let worst = (1..1 << (order - 1)).map(of).fold(0.0, f64::max);
            assert!(worst > 0.0 && bound.rse(&cp, f64::INFINITY) == worst, "{order}");
        }
        // Of many modes each alone.
        let mut cuts = connected_cuts(&ModeGraph::cp(12, 3));
        cuts.sort_unstable();
        let mut singles: Vec<ModeSet> = (1..12).map(|m| 1 << m).collect();
        singles.push((1 << 12) - 2);
        assert_eq!(cuts, singles);
    }
}
