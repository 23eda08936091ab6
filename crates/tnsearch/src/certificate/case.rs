//! A case: some modes have their vertex, each edge has a least and a largest rank. What narrows it, and when it is
//! ruled out.

use super::Looked;
use super::cuts::Cuts;
use super::sides::{Side, sides};
use crate::bound::ModeSet;
use crate::graph::Template;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A set of structures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The vertex of each mode that has one.
    pub at: Vec<Option<usize>>,
    /// The least rank of each edge, and the largest.
    pub least: Vec<u64>,
    pub most: Vec<u64>,
}

impl Case {
    /// The modes that have a vertex.
    pub fn placed(&self) -> ModeSet {
        let placed = self.at.iter().enumerate().filter(|(_, at)| at.is_some());
        placed.fold(0, |set, (m, _)| set | 1 << m)
    }

    pub fn has(&self, vertex: usize) -> bool {
        self.at.contains(&Some(vertex))
    }

    /// The same case with a mode on a vertex.
    pub fn with(&self, mode: usize, vertex: usize) -> Case {
        let mut case = self.clone();
        case.at[mode] = Some(vertex);
        case
    }
}

/// The edges across a cut, and the internal vertices on the side of its modes.
#[derive(Debug, Clone)]
pub(super) struct Crossing {
    pub inside: Vec<usize>,
    pub edges: Vec<usize>,
}

/// By what losses phi + lambda * RSE are counted.
pub(super) struct Price {
    lambda: f64,
    loss: f64,
    entries: f64,
}

impl Price {
    pub fn new(lambda: f64, loss: f64, dims: &[usize]) -> Self {
        Price { lambda, loss, entries: dims.iter().map(|&d| d as f64).product() }
    }

    /// So many params are loss enough.
    pub fn goal(&self) -> u64 {
        (self.loss * self.entries).ceil() as u64
    }

    /// Whether what has so many params and misses so much, being narrower than a cut, has the loss.
    fn allows(&self, missed: f64, params: u128) -> bool {
        params as f64 / self.entries + self.lambda * missed >= self.loss
    }
}

/// What all cases share.
pub(super) struct Space<'a> {
    pub dims: Vec<u128>,
    pub external: Vec<bool>,
    pub edges: Vec<(usize, usize)>,
    /// The edges of each vertex.
    incident: Vec<Vec<usize>>,
    pub cuts: &'a Cuts<'a>,
    /// Where not all cuts are looked at: the sides that are.
    pub sides: Option<Vec<Side>>,
    /// What each mode needs alone.
    alone: Vec<u128>,
    price: Option<Price>,
    /// Parameters from which on a structure does not matter.
    pub goal: Option<u128>,
    pub max_rank: u64,
    /// By the external vertices on one side.
    crossings: RefCell<HashMap<u64, Rc<Vec<Crossing>>>>,
}

/// A cut that was used: its number, and how it is crossed.
pub(super) type Used = Vec<(usize, Crossing)>;

impl<'a> Space<'a> {
    pub fn new(
        template: &Template,
        dims: &[usize],
        max_rank: u64,
        (cuts, looked): (&'a Cuts<'a>, Looked),
        goal: Option<u64>,
        price: Option<Price>,
    ) -> Self {
        let external: Vec<bool> =
            (0..template.vertices()).map(|v| template.is_external(v)).collect();
        let asked = looked == Looked::Asked;
        let mut space = Space {
            alone: Vec::new(),
            dims: dims.iter().map(|&d| d as u128).collect(),
            sides: asked.then(|| sides(&external, template.edges())),
            external,
            edges: template.edges().to_vec(),
            incident: (0..template.vertices()).map(|v| template.incident(v).collect()).collect(),
            cuts,
            price,
            goal: goal.map(u128::from),
            max_rank,
            crossings: RefCell::default(),
        };
        let fewest = space.fewest();
        let alone = |m: usize| {
            let of = cuts.of(1 << m);
            let counts = |k: &&usize| {
                space.price.as_ref().is_none_or(|p| p.allows(cuts.certain(**k), fewest))
            };
            u128::from(of.iter().filter(counts).map(|&k| cuts.width(k)).max().unwrap_or(1))
        };
        space.alone = (0..dims.len()).map(alone).collect();
        space
    }

    /// What every structure has: every core has an entry for each index of its mode.
    pub fn fewest(&self) -> u128 {
        self.dims.iter().sum::<u128>() + (self.external.len() - self.dims.len()) as u128
    }

    /// All structures.
    pub fn whole(&self) -> Case {
        let edges = self.edges.len();
        Case {
            at: vec![None; self.dims.len()],
            least: vec![1; edges],
            most: vec![self.max_rank; edges],
        }
    }

    /// The ways to cross a cut between some external vertices and the others; of two ways one of which crosses all
    /// edges of the other, only that.
    pub fn crossings(&self, side: u64) -> Rc<Vec<Crossing>> {
        if let Some(known) = self.crossings.borrow().get(&side) {
            return known.clone();
        }
        let internal: Vec<usize> =
            (0..self.external.len()).filter(|&v| !self.external[v]).collect();
        let mut found: Vec<(u128, Crossing)> = Vec::new();
        for choice in 0..1u64 << internal.len() {
            let chosen = internal.iter().enumerate().filter(|(k, _)| choice >> k & 1 == 1);
            let inside: Vec<usize> = chosen.map(|(_, &v)| v).collect();
            let set = inside.iter().fold(side, |set, &v| set | 1 << v);
            let crosses = |e: &usize| (set >> self.edges[*e].0 ^ set >> self.edges[*e].1) & 1 == 1;
            let edges: Vec<usize> = (0..self.edges.len()).filter(crosses).collect();
            let bits = edges.iter().fold(0u128, |bits, &e| bits | 1 << e);
            found.push((bits, Crossing { inside, edges }));
        }
        found.sort_by_key(|(bits, _)| bits.count_ones());
        let mut kept: Vec<(u128, Crossing)> = Vec::new();
        for (bits, crossing) in found {
            if !kept.iter().any(|(other, _)| other & !bits == 0) {
                kept.push((bits, crossing));
            }
        }
        let kept = Rc::new(kept.into_iter().map(|(_, crossing)| crossing).collect::<Vec<_>>());
        self.crossings.borrow_mut().insert(side, kept.clone());
        kept
    }

    /// The cuts all of whose modes on one side have their vertex, with the ways to cross them.
    pub fn settled(&self, case: &Case) -> Vec<(usize, Rc<Vec<Crossing>>)> {
        let (placed, all) = (case.placed(), (1 << self.dims.len()) - 1);
        let vertices = |set: ModeSet| {
            let inside = case.at.iter().enumerate().filter(|(m, _)| set >> m & 1 == 1);
            inside.fold(0u64, |side, (_, at)| at.map_or(side, |v| side | 1 << v))
        };
        let mut found = Vec::new();
        if let Some(sides) = &self.sides {
            sides.iter().for_each(|side| self.settle(side, case, placed, &mut found));
            return found;
        }
        for k in 0..self.cuts.len() {
            let set = self.cuts.set(k);
            // As those who check it: the side of the cut's own modes, if it is settled.
            let side = [set, all ^ set].into_iter().find(|side| side & !placed == 0);
            found.extend(side.map(|side| (k, self.crossings(vertices(side)))));
        }
        found
    }

    /// The cuts of a side of the graph, where the modes on it or on the other one are known.
    fn settle(
        &self,
        side: &Side,
        case: &Case,
        placed: ModeSet,
        found: &mut Vec<(usize, Rc<Vec<Crossing>>)>,
    ) {
        let all: ModeSet = (1 << self.dims.len()) - 1;
        let (mut inside, mut outside) = (0, 0);
        let (mut on, mut off) = (0, 0);
        for (v, _) in self.external.iter().enumerate().filter(|(_, external)| **external) {
            let mode = case.at.iter().position(|at| *at == Some(v));
            let bit = mode.map_or(0, |m| 1 << m);
            match side.vertices >> v & 1 == 1 {
                true => (inside, on) = (inside | bit, on + usize::from(mode.is_none())),
                false => (outside, off) = (outside | bit, off + usize::from(mode.is_none())),
            }
        }
        let modes: ModeSet = match (on, off) {
            (0, _) => inside,
            (_, 0) => all ^ outside,
            _ => return,
        };
        for &k in self.cuts.of(modes).iter() {
            let set = self.cuts.set(k);
            // As those who check it: the side of the cut's own modes, if it is settled.
            let named = if set & !placed == 0 { set } else { all ^ set };
            let within = |v: &usize| (side.vertices >> v & 1 == 1) == (named == modes);
            let internal = (0..self.external.len()).filter(|&v| !self.external[v]);
            let crossing =
                Crossing { inside: internal.filter(within).collect(), edges: side.edges.clone() };
            found.push((k, Rc::new(vec![crossing])));
        }
    }

    /// Narrows a case by all its cuts until they say no more; those that did something. Whether it is ruled out.
    pub fn narrow(&self, case: &mut Case, used: &mut Used) -> bool {
        self.cap(case);
        if self.is_closed(case) {
            return true;
        }
        let settled = self.settled(case);
        loop {
            let mut changed = false;
            for (cut, crossings) in &settled {
                for crossing in crossings.iter() {
                    if self.raise(case, *cut, crossing) {
                        used.push((*cut, crossing.clone()));
                        self.cap(case);
                        changed = true;
                        if self.is_closed(case) {
                            return true;
                        }
                    }
                }
            }
            if !changed {
                return false;
            }
        }
    }

    /// The same with these cuts in turn.
    pub fn replay(&self, case: &mut Case, used: &Used) -> bool {
        self.cap(case);
        for (cut, crossing) in used {
            self.raise(case, *cut, crossing);
            self.cap(case);
        }
        self.is_closed(case)
    }

    /// The product of the ranks across a cut is at least its width; whether that raised one.
    fn raise(&self, case: &mut Case, cut: usize, crossing: &Crossing) -> bool {
        let width = u128::from(self.cuts.width(cut));
        let narrow = crossing.edges.iter().any(|&e| {
            let others = crossing.edges.iter().filter(|&&f| f != e);
            let product = others.fold(1u128, |p, &f| p.saturating_mul(u128::from(case.most[f])));
            width.div_ceil(product.max(1)) > u128::from(case.least[e])
        });
        if !narrow {
            return false;
        }
        if let Some(price) = &self.price
            && !price.allows(self.cuts.certain(cut), self.params(case, &case.least))
        {
            return false;
        }
        let mut raised = false;
        for &e in &crossing.edges {
            let others = crossing.edges.iter().filter(|&&f| f != e);
            let product = others.fold(1u128, |p, &f| p.saturating_mul(u128::from(case.most[f])));
            let need = u64::try_from(width.div_ceil(product.max(1))).unwrap_or(u64::MAX);
            if need > case.least[e] {
                case.least[e] = need;
                raised = true;
            }
        }
        raised
    }

    /// Takes away ranks with which the parameters reach the goal even where all others are least.
    fn cap(&self, case: &mut Case) {
        let Some(goal) = self.goal else { return };
        for e in 0..case.least.len() {
            let mut ranks = case.least.clone();
            let mut too_wide = |rank: u64| {
                ranks[e] = rank;
                self.params(case, &ranks) >= goal
            };
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

    /// Whether nothing is left of it that has fewer parameters than the goal.
    pub fn is_closed(&self, case: &Case) -> bool {
        let empty = case.least.iter().zip(&case.most).any(|(least, most)| least > most);
        empty || self.goal.is_some_and(|goal| self.params(case, &case.least) >= goal)
    }

    /// The least parameters of a structure with these ranks, or larger ones.
    pub fn params(&self, case: &Case, ranks: &[u64]) -> u128 {
        let product = |v: usize| {
            self.incident[v].iter().fold(1u128, |p, &e| p.saturating_mul(u128::from(ranks[e])))
        };
        let mut modes = vec![None; self.external.len()];
        for (m, at) in case.at.iter().enumerate() {
            if let Some(v) = at {
                modes[*v] = Some(m);
            }
        }
        let (mut sum, mut free) = (0u128, Vec::new());
        for (v, &external) in self.external.iter().enumerate() {
            match modes[v] {
                Some(m) => {
                    let core = product(v).max(self.alone[m]).saturating_mul(self.dims[m]);
                    sum = sum.saturating_add(core);
                }
                None if external => free.push(product(v)),
                None => sum = sum.saturating_add(product(v)),
            }
        }
        if free.is_empty() {
            return sum;
        }
        let left = || (0..self.dims.len()).filter(|&m| case.at[m].is_none());
        let alone = left().map(|m| self.dims[m].saturating_mul(self.alone[m]));
        let alone = alone.fold(0u128, u128::saturating_add);
        free.sort_unstable_by(|a, b| b.cmp(a));
        let mut dims: Vec<u128> = left().map(|m| self.dims[m]).collect();
        dims.sort_unstable();
        let cheapest = free.iter().zip(&dims).map(|(p, d)| p.saturating_mul(*d));
        sum.saturating_add(alone.max(cheapest.fold(0, u128::saturating_add)))
    }
}
