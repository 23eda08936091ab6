//! The least largest rank with which the cuts do not rule out a whole template.

use super::cuts::{all_widths, width};
use super::{ModeSet, Spectra};
use crate::graph::{ModeGraph, Template};

/// Up to this many vertices the cuts of all sets of modes are looked at; beyond, those of one mode and of two.
const TABLE: usize = 16;

/// The rank that a template needs at least, and the cut that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeededRank {
    /// With ranks below this, no structure of the template reaches the error.
    pub rank: usize,
    /// The modes on one side of the cut that needs it.
    pub modes: ModeSet,
    /// The rank of the tensor's unfolding at that cut, for the error asked for.
    pub width: usize,
    /// The edges that a cut with so many modes on one side can cross, as far as others leave them.
    pub edges: usize,
    /// Whether no set of so many vertices has more edges: then the cut alone needs the rank, wherever its modes sit.
    pub alone: bool,
}

impl NeededRank {
    /// Why that rank is needed, for a sentence: "mode 2 alone needs rank 12".
    pub fn because(&self) -> String {
        let modes: Vec<usize> =
            (0..ModeSet::BITS as usize).filter(|&m| self.modes >> m & 1 == 1).collect();
        let list: Vec<String> = modes.iter().map(usize::to_string).collect();
        let (width, rank, list) = (self.width, self.rank, list.join(","));
        let one = modes.len() == 1;
        match (self.alone, self.edges) {
            (false, _) => format!("in any order of the modes some edge needs rank {rank}"),
            (true, 1) if one => format!("mode {list} alone needs rank {rank}"),
            (true, 1) => format!("modes {list} against the rest need rank {rank}"),
            (true, edges) if one => format!(
                "mode {list} alone needs width {width}, which over {edges} edges is rank {rank}"
            ),
            (true, edges) => {
                format!(
                    "modes {list} against the rest need width {width}, which over {edges} edges is rank {rank}"
                )
            }
        }
    }
}

/// The least R for which the cuts of the tensor do not rule out every structure of the template with ranks up to R.
/// None where rank 1 may do.
///
/// Let `k(V)` be the least number of edges between a set V of external vertices and the other external ones. A
/// permutation takes the sets of s modes one to one to the sets of s vertices, and needs `R^k(p(S)) >= rank_eps(S)`
/// for each. The right side grows with the rank, the left with k; so of all ways to pair both kinds of sets, the
/// one that needs the least R pairs the i-th largest rank with the i-th largest k. That is valid for every
/// permutation. Spectra that are not affordable are left out, but for those of single modes.
pub fn needed_rank(template: &Template, spectra: &Spectra, eps: f64) -> Option<NeededRank> {
    let order = spectra.order();
    if template.check_order(order).is_err() || order > super::MAX_MODES {
        return None;
    }
    let all = spectra.affordable();
    let graph = unit_graph(template);
    let sizes = if all { order / 2 } else { 1 };
    let tabulated = graph.vertices() <= TABLE;
    let sizes = if tabulated { sizes } else { sizes.min(2) };
    let mut best: Option<NeededRank> = None;
    // All sets of a size, on the side of modes and on the side of vertices.
    let crossed = tabulated.then(|| all_widths(&graph));
    for size in 1..=sizes {
        let sets = sets(order, size);
        let mut needs: Vec<(usize, ModeSet)> =
            sets.iter().map(|&set| (spectra.of(set).map_or(1, |s| s.rank(eps)), set)).collect();
        needs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut edges: Vec<usize> = sets
            .iter()
            .map(|&set| {
                let set = spectra.normal(set);
                let wide =
                    crossed.as_ref().map_or_else(|| width(&graph, set), |w| w[(set >> 1) as usize]);
                wide.log2().round() as usize
            })
            .collect();
        edges.sort_unstable_by(|a, b| b.cmp(a));
        for (&(width, modes), &k) in needs.iter().zip(&edges) {
            let rank = root(width, k);
            if rank > best.map_or(1, |b| b.rank) {
                best = Some(NeededRank { rank, modes, width, edges: k, alone: k == edges[0] });
            }
        }
    }
    best
}

/// The template with mode n on its n-th external vertex and rank 2 everywhere, so that a width counts edges.
fn unit_graph(template: &Template) -> ModeGraph {
    if template.copy_vertex().is_some() {
        return ModeGraph::cp(template.order(), 2);
    }
    let mut number = vec![0; template.vertices()];
    let internal = (0..template.vertices()).filter(|&v| !template.is_external(v));
    for (k, v) in template.external_vertices().into_iter().chain(internal).enumerate() {
        number[v] = k;
    }
    let edges = template.edges().iter().map(|&(u, v)| (number[u], number[v], 2)).collect();
    let order = template.order();
    ModeGraph::new(order, template.vertices() - order, edges)
}

/// All sets of `size` of the first `order` numbers.
fn sets(order: usize, size: usize) -> Vec<ModeSet> {
    let mut sets: Vec<ModeSet> = vec![0];
    for _ in 0..size {
        sets = sets
            .into_iter()
            .flat_map(|set| {
                let above = (ModeSet::BITS - set.leading_zeros()) as usize;
                (above..order).map(move |m| set | 1 << m)
            })
            .collect();
    }
    sets
}

/// The least R with R^k >= n.
fn root(n: usize, k: usize) -> usize {
    let reaches =
        |r: usize| (0..k).try_fold(1usize, |p, _| p.checked_mul(r)).is_none_or(|p| p >= n);
    if k == 0 {
        return if n <= 1 { 1 } else { usize::MAX };
    }
    let (mut low, mut high) = (1, n.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if reaches(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{CutBound, SpectraSettings};
    use crate::graph::{Structure, testing};
    use crate::problem::Target;
    use crate::rng::stream;
    use crate::tensor::Tensor;
    use rand::RngExt as _;
    use rand_distr::{Distribution, StandardNormal};
    use std::sync::Arc;

    fn random(dims: &[usize], seed: u64) -> Target {
        let mut rng = stream(seed, b"needed");
        let n = dims.iter().product();
        let data: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
        Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
    }

    fn permutations(n: usize) -> Vec<Vec<usize>> {
        if n == 0 {
            return vec![Vec::new()];
        }
        let shorter = permutations(n - 1);
        let put = |p: &Vec<usize>| {
            let p = p.clone();
            (0..n).map(move |at| [&p[..at], &[n - 1], &p[at..]].concat()).collect::<Vec<_>>()
        };
        shorter.iter().flat_map(put).collect()
    }

    /// The least R that leaves some permutation, by trying all.
    fn brute(template: &Arc<Template>, bound: &CutBound, eps: f64) -> usize {
        let external = template.external_vertices();
        let possible = |rank: usize| {
            permutations(external.len()).iter().any(|p| {
                let permutation = p.iter().map(|&k| external[k]).collect();
                let ranks = vec![rank; template.edges().len()];
                let s = Structure::new(template.clone(), permutation, ranks).unwrap();
                bound.rse(&s.canonical().graph, f64::INFINITY) <= eps
            })
        };
        (1..).find(|&rank| possible(rank)).unwrap()
    }

    #[test]
    fn it_is_never_above_what_some_order_of_the_modes_needs() {
        let mut rng = stream(3, b"needed");
        let mut equal = 0;
        let mut seen = 0;
        for round in 0..12u64 {
            let order = 3 + (round % 3) as usize;
            let dims: Vec<usize> = (0..order).map(|_| rng.random_range(2..5usize)).collect();
            let target = random(&dims, round);
            let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
            for template in testing::all(order) {
                let template = Arc::new(template);
                for eps in [0.3, 0.05, 1e-9] {
                    let least = brute(&template, &bound, eps);
                    let needed = needed_rank(&template, bound.spectra(), eps).map_or(1, |n| n.rank);
                    assert!(
                        needed <= least,
                        "{} {dims:?} {eps}: {needed} {least}",
                        template.name()
                    );
                    equal += usize::from(needed == least);
                    seen += 1;
                }
            }
        }
        // It is a relaxation, and mostly exact.
        assert!(equal * 10 >= seen * 8, "{equal} of {seen}");
    }

    #[test]
    fn a_single_mode_is_named_where_it_needs_the_rank() {
        // Mode 1 has rank 9 whatever is done: two edges of a ring hold 3 each, a leaf of a star 9.
        let mut x = Tensor::<f64>::zeros(vec![3, 9, 3, 2]);
        for k in 0..9 {
            let (a, c) = (k / 3, k % 3);
            let at = ((a * 9 + k) * 3 + c) * 2;
            x.data_mut()[at] = 1.0;
        }
        let target = Target::new(x).unwrap();
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let of =
            |name: &str| needed_rank(&Template::parse(name, 4).unwrap(), &spectra, 1e-6).unwrap();
        let ring = of("ring");
        assert_eq!(
            (ring.rank, ring.width, ring.edges, ring.modes, ring.alone),
            (3, 9, 2, 0b10, true)
        );
        // On a path mode 1 sits inside, where it has two edges.
        assert_eq!(of("path").rank, 3);
        assert_eq!(ring.because(), "mode 1 alone needs width 9, which over 2 edges is rank 3");
        assert_eq!(of("ht").because(), "mode 1 alone needs rank 9");
        // In a hierarchical network every mode has one edge.
        assert_eq!((of("ht").rank, of("ht").edges), (9, 1));
        assert_eq!(needed_rank(&Template::ring(5).unwrap(), &spectra, 1e-6), None);
        assert_eq!(needed_rank(&Template::ring(4).unwrap(), &spectra, 0.99), None);
    }

    #[test]
    fn the_reason_is_said_in_words() {
        let said =
            |modes, edges, alone| NeededRank { rank: 3, modes, width: 9, edges, alone }.because();
        assert_eq!(said(0b10, 2, false), "in any order of the modes some edge needs rank 3");
        assert_eq!(said(0b100, 1, true), "mode 2 alone needs rank 3");
        assert_eq!(said(0b101, 1, true), "modes 0,2 against the rest need rank 3");
        let one = "mode 3 alone needs width 9, which over 2 edges is rank 3";
        assert_eq!(said(0b1000, 2, true), one);
        let two = "modes 1,3 against the rest need width 9, which over 2 edges is rank 3";
        assert_eq!(said(0b1010, 2, true), two);
    }

    #[test]
    fn cuts_of_half_the_modes_count_as_well() {
        // All unfoldings have full rank: three modes against three have rank 8, and on a path some edge stands between
        // three and three; on a ring two edges do.
        let target = random(&[2; 6], 9);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let rank = |spec: &str| {
            needed_rank(&Template::parse(spec, 6).unwrap(), &spectra, 1e-9).map(|n| n.rank)
        };
        assert_eq!((rank("path"), rank("ring"), rank("star")), (Some(8), Some(3), Some(2)));
    }

    #[test]
    fn of_more_modes_than_sets_hold_nothing_is_said() {
        let vertices = vec![r#"{"mode":true}"#; 65].join(",");
        let edges: Vec<String> = (1..65).map(|v| format!("[{},{v}]", v - 1)).collect();
        let text = format!("{{\"vertices\":[{vertices}],\"edges\":[{}]}}", edges.join(","));
        let path = Template::from_json("mine", &text).unwrap();
        let ones = Tensor::<f64>::new(vec![1; 65], vec![2.0]).unwrap();
        let spectra = Spectra::new(&Target::new(ones).unwrap(), SpectraSettings::default());
        assert_eq!(needed_rank(&path, &spectra, 1e-3), None);
    }

    #[test]
    fn widths_count_edges_of_the_template() {
        let graph = unit_graph(&Template::parse("tucker", 3).unwrap());
        assert_eq!((graph.modes(), graph.internal(), graph.edges().len()), (3, 1, 3));
        assert!(graph.edges().iter().all(|e| e.2 == 2 && (e.0 == 3 || e.1 == 3)));
        assert_eq!(width(&graph, 0b011), 2.0);
    }

    #[test]
    fn sets_are_all_of_a_size() {
        for order in 1..7 {
            for size in 0..=order {
                let mut found = sets(order, size);
                found.sort_unstable();
                let all = (0..1u64 << order).filter(|s| s.count_ones() as usize == size);
                assert_eq!(found, all.collect::<Vec<_>>(), "{order} {size}");
            }
        }
    }

    #[test]
    fn roots_are_the_least_that_reach() {
        for k in 1..5u32 {
            for n in 1..200usize {
                let r = root(n, k as usize);
                assert!(r.pow(k) >= n && (r == 1 || (r - 1).pow(k) < n), "{n} {k} {r}");
            }
        }
        assert_eq!((root(1, 0), root(2, 0), root(usize::MAX, 2)), (1, usize::MAX, 1 << 32));
    }
}
