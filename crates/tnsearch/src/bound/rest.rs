//! What the vertices not placed yet must cost at least: dynamic programming over sets of modes.
//!
//! The state after some vertices are placed is the set of their modes and the ranks of the edges that leave
//! them (the frontier). Of the cuts this knows two kinds: all placed vertices against the rest, and each
//! vertex alone. For a ring these are the arcs that begin at the first vertex: of `2^N` sets and `R^2` pairs
//! of ranks each. Added to what is placed, it leads the branch and bound nearly straight to its goal.

use super::order::PlacedVertex;
use super::{ModeSet, Spectra};
use crate::graph::Template;
use crate::problem::Stop;
use std::collections::HashMap;

/// The most steps that the tables may take (some seconds); else there are none.
const MAX_STEPS: f64 = 2e8;
/// The most entries of all tables.
const MAX_ENTRIES: f64 = 2e7;
/// The most work for the spectra of all cuts, which the tables ask for.
const MAX_FLOPS: f64 = 5e12;

/// The least parameters of the rest, after each number of placed vertices.
pub(super) struct Rest {
    max_rank: usize,
    levels: Vec<Level>,
}

struct Level {
    /// The edges between placed vertices and the rest.
    frontier: Vec<usize>,
    /// For each set of placed modes its table, by the ranks of the frontier.
    tables: HashMap<ModeSet, Vec<f64>>,
}

impl Rest {
    /// The tables for an error, where they are small enough; none if it was told to stop.
    pub fn new(
        template: &Template,
        places: &[PlacedVertex],
        dims: &[usize],
        spectra: &Spectra,
        max_rank: usize,
        eps: f64,
        stop: &Stop,
    ) -> Option<Rest> {
        let frontiers = frontiers(template, places);
        if spectra.prepare_flops() > MAX_FLOPS || dims.len() >= 32 {
            return None;
        }
        let (mut steps, mut entries, mut placed) = (0.0, 0.0, 0);
        for (k, place) in places.iter().enumerate() {
            let states =
                binomial(dims.len(), placed) * (max_rank as f64).powi(frontiers[k].len() as i32);
            let modes = if place.external { dims.len() - placed } else { 1 };
            entries += states;
            steps += states * modes as f64 * (max_rank as f64).powi(place.new_edges.len() as i32);
            placed += usize::from(place.external);
        }
        if steps > MAX_STEPS || entries > MAX_ENTRIES {
            return None;
        }
        let all: ModeSet = (1 << dims.len()) - 1;
        let needed = |set: ModeSet| match spectra.of(set) {
            Some(spectrum) => spectrum.rank(eps).max(1) as f64,
            None => 1.0,
        };
        // After the last vertex nothing is left.
        let mut levels =
            vec![Level { frontier: Vec::new(), tables: HashMap::from([(all, vec![0.0])]) }];
        for (k, place) in places.iter().enumerate().rev() {
            let below = levels.last()?;
            let mut tables: HashMap<ModeSet, Vec<f64>> = HashMap::new();
            let move_on = Move::new(&frontiers[k], place, &below.frontier, max_rank);
            for (&set, rest) in &below.tables {
                if stop.is_set() {
                    return None;
                }
                // A frontier too narrow for the set is not feasible.
                let width = if set == 0 || set == all { 1.0 } else { needed(set) };
                if !place.external {
                    let table = tables.entry(set).or_insert_with(|| move_on.empty());
                    move_on.relax(table, rest, width, 1.0, 1.0);
                    continue;
                }
                for mode in (0..dims.len()).filter(|m| set >> m & 1 == 1) {
                    let before = set & !(1 << mode);
                    let table = tables.entry(before).or_insert_with(|| move_on.empty());
                    move_on.relax(table, rest, width, needed(1 << mode), dims[mode] as f64);
                }
            }
            levels.push(Level { frontier: frontiers[k].clone(), tables });
        }
        levels.reverse();
        Some(Rest { max_rank, levels })
    }

    /// The least parameters of the vertices that are not among the first `depth`; infinite where no ranks of
    /// theirs are wide enough.
    pub fn least(&self, depth: usize, placed: ModeSet, ranks: &[u16]) -> f64 {
        let level = &self.levels[depth];
        let digits = level.frontier.iter().map(|&e| usize::from(ranks[e]) - 1);
        let at = digits.fold(0, |at, digit| at * self.max_rank + digit);
        level.tables.get(&placed).map_or(f64::INFINITY, |table| table[at])
    }
}

/// How one vertex leads from a frontier to the next.
struct Move {
    max_rank: usize,
    before: usize,
    /// The edges of both frontiers together: each one's place in either.
    edges: Vec<(Option<u32>, Option<u32>, bool)>,
}

impl Move {
    fn new(before: &[usize], place: &PlacedVertex, after: &[usize], max_rank: usize) -> Self {
        let mut edges: Vec<usize> = before.iter().chain(&place.new_edges).copied().collect();
        edges.sort_unstable();
        let digit = |list: &[usize], e: usize| {
            list.iter().position(|&f| f == e).map(|at| (list.len() - 1 - at) as u32)
        };
        let own = |e: usize| place.edges.contains(&e);
        let edges = edges.iter().map(|&e| (digit(before, e), digit(after, e), own(e))).collect();
        Move { max_rank, before: before.len(), edges }
    }

    fn empty(&self) -> Vec<f64> {
        vec![f64::INFINITY; self.max_rank.pow(self.before as u32)]
    }

    /// Takes over every way through the vertex: its frontier at least `width` wide, its own edges at least
    /// `needed`, each entry of its core counted `dim` times.
    fn relax(&self, table: &mut [f64], rest: &[f64], width: f64, needed: f64, dim: f64) {
        let total = self.max_rank.pow(self.edges.len() as u32);
        for code in 0..total {
            let (mut left, mut from, mut to) = (code, 0, 0);
            let (mut own, mut out) = (1.0, 1.0);
            for &(before, after, at_vertex) in &self.edges {
                let digit = left % self.max_rank;
                left /= self.max_rank;
                let rank = (digit + 1) as f64;
                if let Some(place) = before {
                    from += digit * self.max_rank.pow(place);
                }
                if let Some(place) = after {
                    to += digit * self.max_rank.pow(place);
                    out *= rank;
                }
                if at_vertex {
                    own *= rank;
                }
            }
            if out >= width && own >= needed {
                table[from] = table[from].min(rest[to] + dim * own);
            }
        }
    }
}

/// The edges between the first k vertices and the rest, for each k.
fn frontiers(template: &Template, places: &[PlacedVertex]) -> Vec<Vec<usize>> {
    let mut placed = vec![false; template.vertices()];
    places
        .iter()
        .map(|place| {
            let edges = template.edges().iter().enumerate();
            let open = edges.filter(|(_, e)| placed[e.0] != placed[e.1]).map(|(k, _)| k).collect();
            placed[place.vertex] = true;
            open
        })
        .collect()
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::super::SpectraSettings;
    use super::super::order::places;
    use super::*;
    use crate::problem::Target;
    use crate::rng::stream;
    use crate::tensor::Tensor;
    use rand_distr::{Distribution, StandardNormal};

    struct Brute<'b> {
        template: &'b Template,
        places: &'b [PlacedVertex],
        dims: &'b [usize],
        max_rank: u16,
        needed: &'b dyn Fn(ModeSet) -> f64,
    }

    impl Brute<'_> {
        /// The least of the rest by trying all of it: modes, and ranks of edges that have none yet.
        fn least(&self, depth: usize, set: ModeSet, ranks: &mut Vec<u16>) -> f64 {
            let Some(place) = self.places.get(depth) else { return 0.0 };
            let modes: Vec<Option<usize>> = match place.external {
                true => (0..self.dims.len()).filter(|m| set >> m & 1 == 0).map(Some).collect(),
                false => vec![None],
            };
            let placed: Vec<usize> = self.places[..=depth].iter().map(|p| p.vertex).collect();
            let mut best = f64::INFINITY;
            for code in 0..self.max_rank.pow(place.new_edges.len() as u32) {
                for (k, &e) in place.new_edges.iter().enumerate() {
                    ranks[e] = code / self.max_rank.pow(k as u32) % self.max_rank + 1;
                }
                let own: f64 = place.edges.iter().map(|&e| f64::from(ranks[e])).product();
                let edges = self.template.edges().iter().zip(&*ranks);
                let out = edges.filter(|(e, _)| placed.contains(&e.0) != placed.contains(&e.1));
                let out: f64 = out.map(|(_, &r)| f64::from(r)).product();
                for &mode in &modes {
                    let after = mode.map_or(set, |m| set | 1 << m);
                    let whole = after == 0 || after == (1 << self.dims.len()) - 1;
                    let enough = mode.is_none_or(|m| own >= (self.needed)(1 << m));
                    if enough && (whole || out >= (self.needed)(after)) {
                        let dim = mode.map_or(1.0, |m| self.dims[m] as f64);
                        best = best.min(dim * own + self.least(depth + 1, after, ranks));
                    }
                }
            }
            place.new_edges.iter().for_each(|&e| ranks[e] = 0);
            best
        }
    }

    #[test]
    fn the_tables_hold_the_least_of_all_ways_to_go_on() {
        let dims = [2, 3, 2, 3];
        let mut rng = stream(5, b"rest");
        let data: Vec<f64> = (0..36).map(|_| StandardNormal.sample(&mut rng)).collect();
        let target = Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap();
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let (eps, max_rank) = (0.2, 3);
        let needed = |set: ModeSet| spectra.of(set).unwrap().rank(eps).max(1) as f64;
        let mut finite = 0;
        for spec in ["ring", "path", "star", "tucker"] {
            let template = Template::parse(spec, 4).unwrap();
            let places = places(&template);
            let rest = Rest::new(&template, &places, &dims, &spectra, max_rank, eps, &Stop::new())
                .unwrap();
            let brute = Brute {
                template: &template,
                places: &places,
                dims: &dims,
                max_rank: 3,
                needed: &needed,
            };
            let edges = template.edges().len();
            for depth in 0..=places.len() {
                let external = places[..depth].iter().filter(|p| p.external).count() as u32;
                let settled: Vec<usize> =
                    places[..depth].iter().flat_map(|p| p.new_edges.clone()).collect();
                // Some ranks of the edges that have one.
                for code in 0..7u16 {
                    let mut ranks = vec![0u16; edges];
                    for (k, &e) in settled.iter().enumerate() {
                        ranks[e] = (code + 1 + code * k as u16) % 3 + 1;
                    }
                    for set in (0..16u64).filter(|s| s.count_ones() == external) {
                        // No way on, where what is placed is too narrow already.
                        let want = brute.least(depth, set, &mut ranks.clone());
                        let found = rest.least(depth, set, &ranks);
                        assert_eq!(found, want, "{spec} {depth} {set:b} {ranks:?}");
                        finite += usize::from(found.is_finite() && found > 0.0);
                    }
                }
            }
        }
        assert!(finite > 200, "{finite}");
        let stop = Stop::new();
        stop.set();
        let ring = Template::ring(4).unwrap();
        assert!(Rest::new(&ring, &places(&ring), &dims, &spectra, 3, eps, &stop).is_none());
    }

    #[test]
    fn binomials_are_those_of_pascal() {
        for n in 0..12usize {
            let row: f64 = (0..=n).map(|k| binomial(n, k)).sum();
            assert!((row - 2f64.powi(n as i32)).abs() < 1e-9);
        }
        assert_eq!([binomial(5, 0), binomial(5, 2), binomial(6, 6)], [1.0, 10.0, 1.0]);
    }
}
