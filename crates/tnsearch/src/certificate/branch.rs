//! How a case is parted, and the tree that comes of it.

use super::case::{Case, Space, Used};
use super::symmetry::symmetry;
use super::{NoCertificate, Node, Place};
use crate::problem::Stop;

/// Edges that are tried before one is chosen.
const TRIED: usize = 6;
/// A list of so many cuts is looked through for those that are not needed.
const SHORT: usize = 24;

/// Makes the tree.
pub(super) struct Branching<'a> {
    space: &'a Space<'a>,
    /// The distance between any two vertices.
    distance: Vec<Vec<usize>>,
    /// Where not all cuts are looked at: the order in which vertices get their modes.
    order: Option<Vec<usize>>,
}

/// How a case is parted, and into what.
struct Parted {
    node: Node,
    cases: Vec<Case>,
}

impl<'a> Branching<'a> {
    pub fn new(space: &'a Space<'a>) -> Self {
        let n = space.external.len();
        let mut distance = vec![vec![n; n]; n];
        (0..n).for_each(|v| distance[v][v] = 0);
        for &(u, v) in &space.edges {
            (distance[u][v], distance[v][u]) = (1, 1);
        }
        for k in 0..n {
            for u in 0..n {
                for v in 0..n {
                    distance[u][v] = distance[u][v].min(distance[u][k] + distance[k][v]);
                }
            }
        }
        let order = space.sides.is_some().then(|| order(space));
        Branching { space, distance, order }
    }

    /// The tree, each node before those made of it.
    pub fn tree(&self, cases: usize, stop: &Stop) -> Result<Vec<Node>, NoCertificate> {
        let mut tree = Vec::new();
        let mut open = vec![self.space.whole()];
        while let Some(case) = open.pop() {
            if stop.is_set() {
                return Err(NoCertificate::Stopped);
            }
            if tree.len() + open.len() >= cases {
                return Err(NoCertificate::Cases(cases));
            }
            let (mut narrowed, mut used) = (case.clone(), Used::new());
            if self.space.narrow(&mut narrowed, &mut used) {
                self.shorten(&case, &mut used);
                tree.push(Node { cuts: listed(&used), ..Node::default() });
                continue;
            }
            let Parted { node, cases } = self.part(&narrowed).ok_or(NoCertificate::NotProven)?;
            tree.push(Node { cuts: listed(&used), ..node });
            open.extend(cases.into_iter().rev());
        }
        Ok(tree)
    }

    /// Leaves out cuts without which the case is ruled out as well.
    fn shorten(&self, case: &Case, used: &mut Used) {
        if used.len() > SHORT {
            return;
        }
        for k in (0..used.len()).rev() {
            let mut fewer = used.clone();
            fewer.remove(k);
            if self.space.replay(&mut case.clone(), &fewer) {
                *used = fewer;
            }
        }
    }

    /// Parts a case that is not ruled out; none where it holds a structure that no cut rules out.
    fn part(&self, case: &Case) -> Option<Parted> {
        // Modes first: where they sit says which edges a cut crosses.
        self.place(case).or_else(|| self.split(case))
    }

    /// By the rank of an edge across a cut that is too narrow with the least ranks.
    fn split(&self, case: &Case) -> Option<Parted> {
        let space = self.space;
        let mut tried: Vec<(usize, u64, f64)> = Vec::new();
        for (cut, crossings) in space.settled(case) {
            let width = space.cuts.width(cut) as f64;
            for crossing in crossings.iter() {
                let product: f64 = crossing.edges.iter().map(|&e| case.least[e] as f64).product();
                if product >= width {
                    continue;
                }
                let free: Vec<usize> = crossing
                    .edges
                    .iter()
                    .copied()
                    .filter(|&e| case.least[e] < case.most[e])
                    .collect();
                let fixed: f64 = crossing
                    .edges
                    .iter()
                    .filter(|e| !free.contains(e))
                    .map(|&e| case.least[e] as f64)
                    .product();
                // The rank that each would have if all had the same.
                let even = (width / fixed).powf(1.0 / free.len().max(1) as f64);
                for &e in &free {
                    let rank = (even.ceil() as u64)
                        .saturating_sub(1)
                        .clamp(case.least[e], case.most[e] - 1);
                    let urgent = (width / product).ln() / free.len() as f64;
                    tried.push((e, rank, urgent));
                }
            }
        }
        tried.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)));
        let mut seen: Vec<(usize, u64)> = Vec::new();
        for (e, rank, _) in tried {
            if seen.len() < TRIED && !seen.contains(&(e, rank)) {
                seen.push((e, rank));
            }
        }
        let parts = |&(e, rank): &(usize, u64)| {
            let (mut narrow, mut wide) = (case.clone(), case.clone());
            narrow.most[e] = rank;
            wide.least[e] = rank + 1;
            vec![narrow, wide]
        };
        let valued = seen.into_iter().map(|split| (self.gain(&parts(&split)), split));
        let (_, best) = valued.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let node = Node { split: Some(best), ..Node::default() };
        Some(Parted { node, cases: parts(&best) })
    }

    /// How much nearer to its end a case is after it was parted.
    fn gain(&self, cases: &[Case]) -> f64 {
        let space = self.space;
        let value = |case: &Case| {
            let mut case = case.clone();
            let closed = space.narrow(&mut case, &mut Used::new());
            match space.goal {
                _ if closed => 1.0,
                Some(goal) => space.params(&case, &case.least) as f64 / goal as f64,
                None => 0.0,
            }
        };
        let values: Vec<f64> = cases.iter().map(value).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        least + values.iter().sum::<f64>() / values.len() as f64
    }

    /// By where a mode sits, up to symmetries; or by which mode sits on a vertex.
    fn place(&self, case: &Case) -> Option<Parted> {
        let space = self.space;
        let mode = (0..space.dims.len()).find(|&m| case.at[m].is_none())?;
        let free: Vec<usize> =
            (0..space.external.len()).filter(|&v| space.external[v] && !case.has(v)).collect();
        let next = self.order.as_ref().and_then(|order| order.iter().find(|v| free.contains(v)));
        if let Some(&vertex) = next.filter(|_| free.len() < space.dims.len()) {
            return Some(self.fill(case, vertex));
        }
        let (mut on, mut by): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        for &v in &free {
            let covered = |g: &Vec<usize>| on.contains(&g[v]);
            if by.iter().any(covered) {
                continue;
            }
            match on.iter().find_map(|&w| symmetry(space, case, v, w)) {
                Some(found) => by.push(found),
                None => on.push(v),
            }
        }
        // Where vertices have an order, the first mode is placed only if it does not matter where.
        if let Some(&vertex) = next.filter(|_| on.len() > 1) {
            return Some(self.fill(case, vertex));
        }
        if on.len() < free.len() {
            let cases = on.iter().map(|&v| case.with(mode, v)).collect();
            let place = Some(Place { mode, on, by });
            return Some(Parted { node: Node { place, ..Node::default() }, cases });
        }
        // The vertex nearest to those that have a mode.
        let near = |v: usize| {
            let placed = case.at.iter().flatten();
            let mut away: Vec<usize> = placed.map(|&u| self.distance[u][v]).collect();
            away.sort_unstable();
            away
        };
        let vertex = free.into_iter().min_by_key(|&v| near(v))?;
        Some(self.fill(case, vertex))
    }

    /// By which mode sits on a vertex.
    fn fill(&self, case: &Case, vertex: usize) -> Parted {
        let modes = (0..self.space.dims.len()).filter(|&m| case.at[m].is_none());
        let cases = modes.map(|m| case.with(m, vertex)).collect();
        Parted { node: Node { fill: Some(vertex), ..Node::default() }, cases }
    }
}

/// Always the vertex that the fewest edges join to those without a place, near those that have one: so that cuts of few
/// edges are settled soon.
fn order(space: &Space<'_>) -> Vec<usize> {
    let n = space.external.len();
    let mut placed: Vec<usize> = Vec::with_capacity(n);
    while placed.len() < n {
        let key = |v: usize| {
            let others = space.edges.iter().filter(|e| e.0 == v || e.1 == v);
            let ends = others.map(|e| if e.0 == v { e.1 } else { e.0 });
            let (near, away): (Vec<usize>, Vec<usize>) = ends.partition(|u| placed.contains(u));
            (away.len(), n - near.len(), v)
        };
        let Some(next) = (0..n).filter(|v| !placed.contains(v)).min_by_key(|&v| key(v)) else {
            break;
        };
        placed.push(next);
    }
    placed.retain(|&v| space.external[v]);
    placed
}

fn listed(used: &Used) -> Vec<(usize, Vec<usize>)> {
    used.iter().map(|(cut, crossing)| (*cut, crossing.inside.clone())).collect()
}
