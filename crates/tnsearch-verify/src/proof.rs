//! The tree of cases, gone through node by node.
//!
//! A case is a set of structures: some modes have their vertex, and each edge has a least and a largest rank. What is
//! to be shown is that none of them is near enough to the tensor *and* has fewer parameters than claimed. Two rules
//! narrow a case: a cut of width w needs ranks whose product is at least w, so each of its edges has at least w over the
//! largest product of the others; and an edge so wide that the parameters reach the bound even where all other ranks
//! are least is too wide. A case is closed when an edge has no rank left, or when the least parameters reach the
//! bound. Whole numbers only: nothing is rounded.

use crate::certificate::{Cut, Graph, Node, Place, Refused};
use crate::{Certificate, Limits, Unchecked};

/// Larger graphs are refused: every case counts with all of it.
const MOST_VERTICES: usize = 64;
const MOST_EDGES: usize = 512;

/// A case.
#[derive(Clone)]
struct Case {
    /// The vertex of each mode that has one.
    at: Vec<Option<usize>>,
    least: Vec<u64>,
    most: Vec<u64>,
}

/// What all cases share.
struct Proof<'a> {
    dims: &'a [usize],
    graph: &'a Graph,
    /// The modes and the width of each cut.
    cuts: Vec<(&'a [usize], u64)>,
    /// What each misses that is narrower, and by what losses are counted, where these are bounded.
    price: Option<Price>,
    /// What each mode needs alone.
    alone: Vec<u64>,
    /// No structure with fewer parameters is left in the end.
    goal: Option<u64>,
}

/// What is shown of losses phi + lambda * RSE.
struct Price {
    lambda: f64,
    /// No structure with a smaller loss is left in the end.
    loss: f64,
    entries: f64,
    /// What a structure misses at least that is narrower than each cut.
    tails: Vec<f64>,
}

impl Price {
    /// Whether structures of so many params that are narrower than a cut have the loss that is to be shown: the others are
    /// as wide as it says.
    fn allows(&self, cut: usize, params: u128) -> bool {
        params as f64 / self.entries + self.lambda * self.tails[cut] >= self.loss
    }
}

impl Certificate {
    /// Whether the tree goes through all structures of a graph.
    pub(crate) fn check_tree(
        &self,
        graph: &Graph,
        limits: &Limits<'_>,
    ) -> Result<Result<usize, Refused>, Unchecked> {
        let (order, vertices) = (self.data.dims.len(), graph.vertices.len());
        let form = |why: &str| Ok(Err(Refused::Form(why.to_owned())));
        if vertices > MOST_VERTICES || graph.edges.len() > MOST_EDGES {
            return form("its graph is larger than any that is proven about");
        }
        if graph.vertices.iter().filter(|v| v.mode).count() != order {
            return form("its graph has not one vertex for each mode");
        }
        let bad = |e: &[usize; 2]| e[0] == e[1] || e[0].max(e[1]) >= vertices;
        let key = |e: &[usize; 2]| (e[0].min(e[1]), e[0].max(e[1]));
        let twice = |k: usize| graph.edges[..k].iter().any(|e| key(e) == key(&graph.edges[k]));
        if graph.edges.iter().any(bad) || (0..graph.edges.len()).any(twice) {
            return form("an edge of its graph is none");
        }
        let Some(max_rank) = self.max_rank.filter(|r| *r >= 1) else {
            return form("it has no largest rank");
        };
        let price = self.priced().map(|(lambda, loss)| {
            let tails = self.cuts.iter().map(Cut::certain).collect();
            Price { lambda, loss, entries: self.entries(), tails }
        });
        // Every core has an entry for each index of its mode.
        let fewest = self.data.dims.iter().map(|&d| d as u128).sum::<u128>();
        let fewest = fewest + (vertices - order) as u128;
        let alone = |m: usize| {
            let of = self.cuts.iter().enumerate().filter(|(k, c)| {
                let against = c.modes.len() + 1 == order && !c.modes.contains(&m);
                (c.modes == [m] || against) && price.as_ref().is_none_or(|p| p.allows(*k, fewest))
            });
            of.map(|(_, c)| c.width).max().unwrap_or(1)
        };
        let goal = match &price {
            None => self.params,
            // So many params are loss enough.
            Some(price) => Some((price.loss * price.entries).ceil() as u64),
        };
        let proof = Proof {
            dims: &self.data.dims,
            graph,
            cuts: self.cuts.iter().map(|c| (&c.modes[..], c.width)).collect(),
            alone: (0..order).map(alone).collect(),
            goal,
            price,
        };
        let edges = graph.edges.len();
        let mut open = vec![Case {
            at: vec![None; order],
            least: vec![1; edges],
            most: vec![max_rank; edges],
        }];
        for (number, node) in self.tree.iter().enumerate() {
            if number % 256 == 0 {
                limits.poll()?;
            }
            let refused = |why: String| Ok(Err(Refused::Node { node: number, why }));
            let Some(case) = open.pop() else {
                return refused("all cases were closed before it".into());
            };
            match proof.parted(case, node) {
                // The first is the next in the list.
                Ok(cases) => open.extend(cases.into_iter().rev()),
                Err(why) => return refused(why),
            }
        }
        match open.len() {
            0 => Ok(Ok(self.tree.len())),
            left => {
                let why = format!("the tree ends, and {left} cases are open");
                Ok(Err(Refused::Node { node: self.tree.len(), why }))
            }
        }
    }
}

impl Proof<'_> {
    /// The cases that a node parts a case into; none where it is closed.
    fn parted(&self, mut case: Case, node: &Node) -> Result<Vec<Case>, String> {
        self.cap(&mut case);
        for (cut, inside) in &node.cuts {
            self.raise(&mut case, *cut, inside)?;
            self.cap(&mut case);
        }
        match (&node.place, node.fill, node.split) {
            (None, None, None) => match self.is_closed(&case) {
                true => Ok(Vec::new()),
                false => Err("it is not ruled out".into()),
            },
            (Some(place), None, None) => self.place(&case, place),
            (None, Some(vertex), None) => self.fill(&case, vertex),
            (None, None, Some((edge, rank))) => {
                let fits = |e: &usize| case.least[*e] <= rank && rank < case.most[*e];
                let Some(edge) = Some(edge).filter(|e| *e < case.least.len() && fits(e)) else {
                    return Err(format!("edge {edge} has nothing to be split at {rank}"));
                };
                let (mut narrow, mut wide) = (case.clone(), case);
                narrow.most[edge] = rank;
                wide.least[edge] = rank + 1;
                Ok(vec![narrow, wide])
            }
            _ => Err("it is parted in two ways".into()),
        }
    }

    /// What a cut says: the product of the ranks across it is at least its width.
    fn raise(&self, case: &mut Case, cut: usize, inside: &[usize]) -> Result<(), String> {
        let Some((modes, width)) = self.cuts.get(cut) else {
            return Err(format!("there is no cut {cut}"));
        };
        let placed = |m: &usize| case.at[*m];
        let side: Option<Vec<usize>> = modes.iter().map(placed).collect();
        let others = (0..self.dims.len()).filter(|m| !modes.contains(m));
        // Where the modes of one side have their vertices, those of the other have the rest.
        let side = side.or_else(|| others.map(|m| placed(&m)).collect());
        let Some(mut side) = side else {
            return Err(format!("cut {cut} has modes without a vertex on both sides"));
        };
        let internal = |v: &usize| self.graph.vertices.get(*v).is_some_and(|v| !v.mode);
        if !inside.iter().all(internal) {
            return Err(format!("cut {cut} holds a vertex that is not internal"));
        }
        side.extend(inside);
        let crosses = |e: &usize| {
            let [u, v] = self.graph.edges[*e];
            side.contains(&u) != side.contains(&v)
        };
        let crossed: Vec<usize> = (0..case.least.len()).filter(crosses).collect();
        if crossed.is_empty() {
            return Err(format!("cut {cut} crosses no edge"));
        }
        if let Some(price) = &self.price
            && !price.allows(cut, self.params(case, &case.least))
        {
            // Narrower structures may have a smaller loss here: it says nothing.
            return Ok(());
        }
        for &e in &crossed {
            let others = crossed.iter().filter(|&&f| f != e);
            let product = others.fold(1u128, |p, &f| p.saturating_mul(u128::from(case.most[f])));
            let need = u128::from(*width).div_ceil(product.max(1));
            case.least[e] = case.least[e].max(u64::try_from(need).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Takes away ranks with which the parameters reach the bound even where all others are least.
    fn cap(&self, case: &mut Case) {
        let Some(goal) = self.goal else { return };
        for e in 0..case.least.len() {
            let too_wide = |rank: u64| {
                let mut least = case.least.clone();
                least[e] = rank;
                self.params(case, &least) >= u128::from(goal)
            };
            // The parameters grow with the rank: the largest that is not too wide, by halving.
            if case.least[e] > case.most[e] || !too_wide(case.most[e]) {
                continue;
            }
            let (mut fits, mut wide) = (case.least[e] - 1, case.most[e]);
            while wide - fits > 1 {
                let middle = fits + (wide - fits) / 2;
                if too_wide(middle) { wide = middle } else { fits = middle }
            }
            case.most[e] = fits;
        }
    }

    fn is_closed(&self, case: &Case) -> bool {
        let empty = case.least.iter().zip(&case.most).any(|(l, m)| l > m);
        empty || self.goal.is_some_and(|goal| self.params(case, &case.least) >= u128::from(goal))
    }

    /// The least parameters of a structure with these ranks, or larger ones.
    fn params(&self, case: &Case, ranks: &[u64]) -> u128 {
        let product = |v: usize| {
            let edges = self.graph.edges.iter().zip(ranks).filter(|(e, _)| e.contains(&v));
            edges.fold(1u128, |p, (_, r)| p.saturating_mul(u128::from(*r)))
        };
        let mut sum = 0u128;
        let mut free: Vec<u128> = Vec::new();
        for (v, vertex) in self.graph.vertices.iter().enumerate() {
            let mode = case.at.iter().position(|at| *at == Some(v));
            match mode {
                // All edges of the vertex are a cut: the mode against all others.
                Some(m) => {
                    let wide = product(v).max(u128::from(self.alone[m]));
                    sum = sum.saturating_add(wide.saturating_mul(self.dims[m] as u128));
                }
                None if vertex.mode => free.push(product(v)),
                None => sum = sum.saturating_add(product(v)),
            }
        }
        let unplaced = || (0..self.dims.len()).filter(|&m| case.at[m].is_none());
        let alone = unplaced().fold(0u128, |sum, m| {
            sum.saturating_add((self.dims[m] as u128).saturating_mul(u128::from(self.alone[m])))
        });
        // However the modes without a vertex are placed: the longest where the ranks are least is the cheapest.
        free.sort_unstable_by(|a, b| b.cmp(a));
        let mut dims: Vec<usize> = unplaced().map(|m| self.dims[m]).collect();
        dims.sort_unstable();
        let cheapest = free
            .iter()
            .zip(&dims)
            .fold(0u128, |sum, (p, d)| sum.saturating_add(p.saturating_mul(*d as u128)));
        sum.saturating_add(cheapest.max(alone))
    }

    /// A mode on each vertex that is free, up to symmetries that change nothing about the case.
    fn place(&self, case: &Case, place: &Place) -> Result<Vec<Case>, String> {
        let Place { mode, on, by } = place;
        if case.at.get(*mode) != Some(&None) {
            return Err(format!("mode {mode} is none without a vertex"));
        }
        let free = |v: usize| {
            self.graph.vertices.get(v).is_some_and(|v| v.mode) && !case.at.contains(&Some(v))
        };
        if let Some(v) = on.iter().find(|v| !free(**v)) {
            return Err(format!("vertex {v} is not free for mode {mode}"));
        }
        if let Some(k) = by.iter().position(|g| !self.is_symmetry(case, g)) {
            return Err(format!("symmetry {k} is none of this case"));
        }
        let covered = |v: usize| on.contains(&v) || by.iter().any(|g| on.contains(&g[v]));
        if let Some(v) = (0..self.graph.vertices.len()).find(|&v| free(v) && !covered(v)) {
            return Err(format!("mode {mode} on vertex {v} is left out"));
        }
        Ok(on.iter().map(|&v| with(case, *mode, v)).collect())
    }

    /// Whether a map of the vertices keeps the graph, the vertices that have a mode, and all bounds on ranks.
    fn is_symmetry(&self, case: &Case, image: &[usize]) -> bool {
        let (vertices, edges) = (&self.graph.vertices, &self.graph.edges);
        let mut seen = vec![false; vertices.len()];
        if image.len() != vertices.len() {
            return false;
        }
        for (v, &w) in image.iter().enumerate() {
            if w >= vertices.len() || seen[w] || vertices[v].mode != vertices[w].mode {
                return false;
            }
            seen[w] = true;
        }
        let fixed = case.at.iter().flatten().all(|&v| image[v] == v);
        fixed
            && edges.iter().enumerate().all(|(e, &[u, v])| {
                let (u, v) = (image[u], image[v]);
                let to = edges.iter().position(|&f| f == [u, v] || f == [v, u]);
                to.is_some_and(|f| case.least[e] == case.least[f] && case.most[e] == case.most[f])
            })
    }

    /// Every mode that has no vertex yet on this one.
    fn fill(&self, case: &Case, vertex: usize) -> Result<Vec<Case>, String> {
        let carries = self.graph.vertices.get(vertex).is_some_and(|v| v.mode);
        if !carries || case.at.contains(&Some(vertex)) {
            return Err(format!("vertex {vertex} is not free"));
        }
        let modes = (0..self.dims.len()).filter(|&m| case.at[m].is_none());
        Ok(modes.map(|m| with(case, m, vertex)).collect())
    }
}

/// The same case with a mode on a vertex.
fn with(case: &Case, mode: usize, vertex: usize) -> Case {
    let mut case = case.clone();
    case.at[mode] = Some(vertex);
    case
}

#[cfg(test)]
mod tests;
