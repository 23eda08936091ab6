//! The relaxed problem: which structures the cuts do not rule out, the smallest first.
//!
//! Branch and bound over permutations (up to the template's symmetries) and ranks. Vertices are placed one
//! after the other, each with its mode and the ranks of its edges; the cuts settled so far and the
//! parameters placed so far bound what can come of it. Nodes are taken best bound first, so the first
//! complete structure that is taken bounds all others: no structure of the template does better.

use super::order::{PlacedVertex, orbits, places};
use super::rest::Rest;
use super::watch::Watch;
use super::{CutBound, ModeSet};
use crate::graph::{Structure, Template};
use crate::problem::{CheckedObjective, Stop};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The open nodes of the relaxed problem. A clone of one that nothing was taken from shares its tables.
#[derive(Clone)]
pub struct Relaxation {
    template: Arc<Template>,
    dims: Vec<usize>,
    objective: CheckedObjective,
    bound: CutBound,
    max_rank: usize,
    places: Vec<PlacedVertex>,
    /// Mode 0 may sit only where its vertex is the first of its orbit.
    first_of_orbit: Vec<bool>,
    /// The least number of entries of the core of each mode.
    least_core: Vec<f64>,
    /// What the rest costs at least (`MaxError`), where the tables are small enough.
    rest: Option<Arc<Rest>>,
    size: f64,
    open: BinaryHeap<Node>,
    /// End at once.
    stop: Stop,
    /// Go on with what there is, as if the nodes were spent.
    hurry: Stop,
    /// The most nodes held open at a time.
    max_open: f64,
    full: bool,
    expanded: u64,
    made: u64,
}

/// A structure that the cuts do not rule out.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The structure.
    pub structure: Structure,
    /// What it cannot go below: its parameters (`MaxError`), loss (`Lambda`) or RSE (`MaxParams`).
    pub value: f64,
    /// The lower bound on its RSE.
    pub rse: f64,
}

/// What the relaxation has to offer next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The best structure not ruled out; no later one has a smaller value.
    Candidate(Candidate),
    /// The allowed number of nodes was spent; nothing left can go below this value.
    Spent(f64),
    /// Nothing is left: every other structure is ruled out.
    Nothing,
}

/// A partial structure.
#[derive(Debug, Clone)]
struct Node {
    value: f64,
    /// Vertices placed.
    depth: usize,
    /// Breaks ties, so that the order never depends on anything else.
    number: u64,
    /// Parameters of the placed cores.
    params: f64,
    rse: f64,
    /// The mode at each vertex ([`NO_MODE`]: none yet), then the rank of each edge (0: none yet).
    chosen: Box<[u16]>,
}

impl Ord for Node {
    /// The largest is taken first: the smallest value, then the deepest, then the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = other.value.total_cmp(&self.value);
        by_value.then(self.depth.cmp(&other.depth)).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

const NO_MODE: u16 = u16::MAX;

/// The most open nodes held at a time (about 100 bytes each).
const MAX_OPEN: f64 = 4e6;

/// How many nodes [`Relaxation::promising`] makes at each depth, about.
const BEAM: f64 = 3e4;

/// So many nodes are made at each depth also where the time is up: some milliseconds.
const SOON: f64 = 1e3;

/// Adds a node to those of its depth. No more than the beam's are ever used, so twice as many are the most that are held.
fn keep_best(level: &mut Vec<Node>, node: Node) {
    let beam = BEAM as usize;
    level.push(node);
    if level.len() >= 2 * beam {
        level.select_nth_unstable_by(beam, |a, b| b.cmp(a));
        level.truncate(beam);
    }
}

impl Relaxation {
    /// The relaxed problem of a template with ranks up to `max_rank`.
    ///
    /// # Panics
    /// If the template carries another number of modes than the tensor has, or has more than 64 vertices.
    pub fn new(
        template: Arc<Template>,
        objective: CheckedObjective,
        bound: &CutBound,
        max_rank: usize,
    ) -> Self {
        let never = Stop::new();
        Relaxation::stoppable(template, objective, bound, max_rank, &never, &never)
    }

    /// As [`Relaxation::new`]; ends at once when `stop` is set, and goes on with what there is, as if its nodes
    /// were spent, when `hurry` is.
    ///
    /// # Panics
    /// As [`Relaxation::new`].
    pub fn stoppable(
        template: Arc<Template>,
        objective: CheckedObjective,
        bound: &CutBound,
        max_rank: usize,
        stop: &Stop,
        hurry: &Stop,
    ) -> Self {
        // Whatever tensor stands in the place of X, parameters are those of networks for X.
        let dims = bound.spectra().target().full_dims().to_vec();
        assert_eq!(template.order(), dims.len(), "one vertex per mode");
        assert!(template.vertices() <= 64, "sets of vertices are kept as 64 bits");
        let orbits = orbits(&template);
        let least_core = (0..dims.len())
            .map(|n| {
                let spectrum = |eps| bound.spectra().of(1 << n).map(|s| s.rank(eps).max(1));
                let rank = objective.max_error().and_then(spectrum).unwrap_or(1);
                (dims[n] * rank) as f64
            })
            .collect();
        let start = Node {
            value: 0.0,
            depth: 0,
            number: 0,
            params: 0.0,
            rse: 0.0,
            chosen: [vec![NO_MODE; template.vertices()], vec![0; template.edges().len()]]
                .concat()
                .into(),
        };
        let places = places(&template);
        let max_rank = max_rank.min(usize::from(u16::MAX));
        let rest = objective.max_error().and_then(|eps| {
            Rest::new(&template, &places, &dims, bound.spectra(), max_rank, eps, hurry)
        });
        let rest = rest.map(Arc::new);
        let mut relaxation = Relaxation {
            places,
            first_of_orbit: orbits.iter().enumerate().map(|(v, &o)| v == o).collect(),
            size: dims.iter().map(|&d| d as f64).product(),
            template,
            dims,
            objective,
            bound: bound.clone(),
            max_rank,
            least_core,
            rest,
            open: BinaryHeap::new(),
            stop: stop.clone(),
            hurry: hurry.clone(),
            max_open: MAX_OPEN,
            full: false,
            expanded: 0,
            made: 0,
        };
        relaxation.open.extend(relaxation.valued(start));
        relaxation
    }

    /// Holds no more nodes open than fit into about this many bytes.
    pub fn within(mut self, bytes: f64) -> Self {
        let chosen = 2 * (self.template.vertices() + self.template.edges().len());
        // The node, its box, and what the heap and the allocator add.
        let node = 1.5 * (size_of::<Node>() + chosen + 16) as f64;
        self.max_open = MAX_OPEN.min(bytes / node);
        self
    }

    /// Whether it was told to end.
    pub fn interrupted(&self) -> bool {
        self.stop.is_set()
    }

    /// Whether it was told to go on with what there is.
    pub fn hurried(&self) -> bool {
        self.stop.is_set() || self.hurry.is_set()
    }

    /// The largest rank of an edge.
    pub fn max_rank(&self) -> usize {
        self.max_rank
    }

    /// Nodes expanded so far.
    pub fn expanded(&self) -> u64 {
        self.expanded
    }

    /// What nothing left can go below; none when nothing is left.
    pub fn floor(&self) -> Option<f64> {
        self.open.peek().map(|node| node.value)
    }

    /// Whether so many nodes are open that no more may be expanded.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Takes the best structure that the cuts do not rule out, expanding at most `nodes` nodes on the way
    /// (and holding at most some millions open).
    pub fn next(&mut self, nodes: u64) -> Next {
        let until = self.expanded.saturating_add(nodes);
        while let Some(node) = self.open.pop() {
            if node.depth == self.places.len() {
                return Next::Candidate(self.candidate(&node));
            }
            self.full = self.open.len() as f64 + self.children(&node) > self.max_open;
            if self.expanded >= until || self.full || self.hurried() {
                let floor = node.value;
                self.open.push(node);
                return Next::Spent(floor);
            }
            let mut children = Vec::new();
            if !self.expand(&node, &self.hurried_now(), &mut |child| children.push(child)) {
                // What was not made of it is not ruled out.
                let floor = node.value;
                self.open.push(node);
                return Next::Spent(floor);
            }
            self.expanded += 1;
            self.open.extend(children);
        }
        Next::Nothing
    }

    /// Complete structures that the cuts do not rule out, the best first, found by following only the most
    /// promising open nodes of each depth: for when [`Relaxation::next`] has spent its nodes and there is no
    /// answer yet. What they are worth proves nothing about others. Where there is a limit on time, it takes a quarter
    /// of what is left at most.
    pub fn promising(&mut self) -> Vec<Candidate> {
        let stop = Watch::new([self.stop.within_part(0.25)]);
        let mut best: Vec<Vec<&Node>> = vec![Vec::new(); self.places.len() + 1];
        self.open.iter().for_each(|node| best[node.depth].push(node));
        let beam = |mut nodes: Vec<&Node>| -> Vec<Node> {
            nodes.sort_unstable_by(|a, b| b.cmp(a));
            nodes.into_iter().take(BEAM as usize).cloned().collect()
        };
        let mut levels: Vec<Vec<Node>> = best.into_iter().map(beam).collect();
        for depth in 0..self.places.len() {
            let mut level = std::mem::take(&mut levels[depth]);
            level.sort_unstable_by(|a, b| b.cmp(a));
            let children = level.first().map_or(1.0, |node| self.children(node));
            if children <= self.max_open {
                level.truncate((BEAM / children).max(100.0) as usize);
                let below = &mut levels[depth + 1];
                // Where the time is up, what there is counts: the best come first.
                let mut nodes = level.iter();
                let mut keep = |child: Node| keep_best(below, child);
                while nodes.next().is_some_and(|node| self.expand(node, &stop, &mut keep)) {}
                // And the best goes on to its end, if that is soon.
                if let Some(best) = level.first().filter(|_| below.is_empty() && children <= SOON) {
                    self.expand(best, &Watch::new([]), &mut |child| keep_best(below, child));
                }
            }
        }
        let mut complete = levels.pop().unwrap_or_default();
        complete.sort_unstable_by(|a, b| b.cmp(a));
        complete.iter().map(|node| self.candidate(node)).collect()
    }

    /// How many nodes an expansion makes at most.
    fn children(&self, node: &Node) -> f64 {
        let Some(place) = self.places.get(node.depth) else { return 0.0 };
        let placed = self.places[..node.depth].iter().filter(|p| p.external).count();
        let modes = if place.external { self.dims.len() - placed } else { 1 };
        modes as f64 * (self.max_rank as f64).powi(place.new_edges.len() as i32)
    }

    fn modes<'n>(&self, node: &'n Node) -> &'n [u16] {
        &node.chosen[..self.template.vertices()]
    }

    fn candidate(&self, node: &Node) -> Candidate {
        let mut permutation = vec![0; self.dims.len()];
        let (modes, ranks) = node.chosen.split_at(self.template.vertices());
        for (v, &mode) in modes.iter().enumerate().filter(|(_, m)| **m != NO_MODE) {
            permutation[usize::from(mode)] = v;
        }
        let ranks = ranks.iter().map(|&r| usize::from(r)).collect();
        let structure = Structure::new(self.template.clone(), permutation, ranks)
            .unwrap_or_else(|e| unreachable!("a complete node: {e}"));
        Candidate { structure, value: node.value, rse: node.rse }
    }

    /// What ends an expansion.
    fn hurried_now(&self) -> Watch {
        Watch::new([self.stop.clone(), self.hurry.clone()])
    }

    /// Places the next vertex in every way that is not ruled out; false where that was not ended.
    fn expand(&mut self, node: &Node, stop: &Watch, keep: &mut dyn FnMut(Node)) -> bool {
        let place = self.places[node.depth].clone();
        if !place.external {
            return self.choose_ranks(node.clone(), &place, 0, stop, keep);
        }
        for mode in 0..self.dims.len() {
            let used = self.modes(node).iter().any(|&m| usize::from(m) == mode);
            if used || (mode == 0 && !self.first_of_orbit[place.vertex]) {
                continue;
            }
            let mut child = node.clone();
            child.chosen[place.vertex] = mode as u16;
            if !self.choose_ranks(child, &place, 0, stop, keep) {
                return false;
            }
        }
        true
    }

    fn choose_ranks(
        &mut self,
        mut node: Node,
        place: &PlacedVertex,
        edge: usize,
        stop: &Watch,
        keep: &mut dyn FnMut(Node),
    ) -> bool {
        let Some(&e) = place.new_edges.get(edge) else {
            // A complete structure is bounded by all its cuts, which takes as long as thousands of nodes.
            let last = node.depth + 1 == self.places.len();
            let stopped = if last { stop.look() } else { stop.is_set() };
            if stopped {
                return false;
            }
            if let Some(mut node) = self.finished(node, place) {
                self.made += 1;
                node.number = self.made;
                keep(node);
            }
            return true;
        };
        let at = self.template.vertices() + e;
        for rank in 1..=self.max_rank {
            node.chosen[at] = rank as u16;
            if !self.choose_ranks(node.clone(), place, edge + 1, stop, keep) {
                return false;
            }
        }
        true
    }

    /// Bounds a node whose vertex is placed; none where it is ruled out.
    fn finished(&self, mut node: Node, place: &PlacedVertex) -> Option<Node> {
        let (modes, ranks) = node.chosen.split_at(self.template.vertices());
        let product = |edges: &[usize]| edges.iter().map(|&e| f64::from(ranks[e])).product::<f64>();
        let mode = modes[place.vertex];
        let dim = if mode == NO_MODE { 1.0 } else { self.dims[usize::from(mode)] as f64 };
        node.params += dim * product(&place.edges);
        node.depth += 1;
        let limit = self.objective.max_error().unwrap_or(f64::INFINITY);
        for cut in &place.cuts {
            let inside = cut.external.iter().fold(0, |set: ModeSet, &v| set | 1 << modes[v]);
            let width = product(&cut.edges);
            let Some(spectrum) = self.bound.spectra().of(inside) else { continue };
            node.rse = node.rse.max(spectrum.bound(width.min(1e15) as usize));
            if node.rse > limit {
                return None;
            }
        }
        if node.depth == self.places.len() {
            let graph = self.candidate(&node).structure.canonical().graph;
            node.rse = node.rse.max(self.bound.rse(&graph, f64::INFINITY));
            if node.rse > limit {
                return None;
            }
        }
        self.valued(node)
    }

    /// Gives a node the value that nothing made of it can go below; none where it is ruled out.
    fn valued(&self, mut node: Node) -> Option<Node> {
        let params = node.params + self.remaining(&node);
        node.value = self.objective.least_value(params, self.size, node.rse)?;
        Some(node)
    }

    /// The least number of parameters of the vertices not placed yet: each mode needs a core of its least
    /// size, and each vertex one of its ranks so far.
    fn remaining(&self, node: &Node) -> f64 {
        let (modes, ranks) = node.chosen.split_at(self.template.vertices());
        if let Some(rest) = &self.rest {
            let placed = modes.iter().filter(|&&m| m != NO_MODE);
            let placed = placed.fold(0, |set: ModeSet, &m| set | 1 << m);
            return rest.least(node.depth, placed, ranks);
        }
        let left = |mode: &usize| !modes.iter().any(|&m| usize::from(m) == *mode);
        let by_mode: f64 = (0..self.dims.len()).filter(left).map(|n| self.least_core[n]).sum();
        let smallest = (0..self.dims.len()).filter(left).map(|n| self.dims[n]).min().unwrap_or(1);
        let (mut internal, mut by_vertex) = (0.0, 0.0);
        for place in &self.places[node.depth..] {
            let known = place.edges.iter().map(|&e| f64::from(ranks[e].max(1))).product::<f64>();
            if place.external {
                by_vertex += known * smallest as f64;
            } else {
                internal += known;
            }
        }
        internal + by_mode.max(by_vertex)
    }
}

#[cfg(test)]
mod tests;
