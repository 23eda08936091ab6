//! Ranks by water-filling: the error goes where it saves most parameters.
//!
//! A truncation of edge e to rank r loses at most the tail `tau_e(r)` of its unfolding, and the losses of all edges add
//! up to an upper bound on the error. So the ranks of a tree follow from its tails alone, without a fit:
//!
//! minimise `P(r) = sum over vertices v of I_v * product of the ranks at v` with `sum over e of tau_e(r_e) <= eps`
//!
//! (or the other way round). With a price mu on what is lost, each rank in turn has an optimum of its own, given its
//! neighbours: the least r with `tau_e(r) - tau_e(r + 1) <= (params per rank) / mu`. The price that meets the error
//! is found by halving, and what is left is used up by moves of single ranks and pairs.

use std::sync::Arc;

/// The largest number of rounds over all edges at one price.
const ROUNDS: usize = 60;
/// Steps of halving the interval of prices (as logarithms).
const HALVINGS: usize = 40;

/// What is lost at each rank of an edge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    /// `tails[r]`: what lies beyond the r largest singular values, relative to the whole; 0 at the end.
    tails: Vec<f64>,
}

impl Curve {
    /// From squared singular values relative to the whole, falling.
    pub fn new(squares: impl DoubleEndedIterator<Item = f64>) -> Self {
        let mut tails = vec![0.0];
        let mut sum = 0.0;
        for square in squares.rev() {
            sum += square.max(0.0);
            tails.push(sum);
        }
        tails.reverse();
        Curve { tails }
    }

    /// The rank that loses nothing; 1 at least.
    pub fn full(&self) -> usize {
        (self.tails.len() - 1).max(1)
    }

    /// What is lost at a rank.
    pub fn tail(&self, rank: usize) -> f64 {
        self.tails.get(rank).copied().unwrap_or(0.0)
    }

    /// What the next rank would gain.
    fn gain(&self, rank: usize) -> f64 {
        self.tail(rank) - self.tail(rank + 1)
    }

    /// The least rank that loses at most this.
    pub fn rank_within(&self, lost: f64) -> usize {
        self.tails.partition_point(|&t| t > lost).clamp(1, self.full())
    }

    /// The rank at which one more gains no more than it costs, at costs that do not fall with the rank.
    fn rank_at(&self, cap: usize, cost: impl Fn(usize) -> f64) -> usize {
        let (mut low, mut high) = (1, cap);
        while low < high {
            let middle = (low + high) / 2;
            if self.gain(middle) > cost(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// A graph whose ranks are to be chosen by what each edge loses.
///
/// Where an inner vertex joins two edges alone, they split the modes alike and have one rank: one *choice*. All ranks
/// below are those of the choices; [`Water::of_edges`] and [`Water::of_choices`] go from one to the other.
#[derive(Debug, Clone)]
pub(crate) struct Water {
    /// The choice of each edge.
    choice: Vec<usize>,
    /// The vertices of each choice, and how many of its edges are there.
    at: Vec<Vec<(usize, i32)>>,
    /// The choices at each vertex, one for each edge.
    incident: Vec<Vec<usize>>,
    /// The entries of each core at ranks 1.
    sizes: Vec<f64>,
    curves: Vec<Arc<Curve>>,
    /// Ranks from 1 to these.
    caps: Vec<usize>,
}

impl Water {
    /// The graph with these edges, entries of its cores at ranks 1, and losses of its edges; ranks up to `max_rank`.
    pub fn new(
        ends: &[(usize, usize)],
        sizes: Vec<f64>,
        curves: &[Arc<Curve>],
        max_rank: usize,
    ) -> Self {
        let mut edges = vec![Vec::new(); sizes.len()];
        for (e, &(u, v)) in ends.iter().enumerate() {
            edges[u].push(e);
            edges[v].push(e);
        }
        let mut first: Vec<usize> = (0..ends.len()).collect();
        for (v, at) in edges.iter().enumerate() {
            if let ([a, b], 1.0) = (&at[..], sizes[v]) {
                let (low, high) = (first[*a].min(first[*b]), first[*a].max(first[*b]));
                first.iter_mut().filter(|f| **f == high).for_each(|f| *f = low);
            }
        }
        let mut kept: Vec<usize> = first.clone();
        kept.sort_unstable();
        kept.dedup();
        let choice: Vec<usize> =
            first.iter().map(|f| kept.iter().position(|k| k == f).unwrap_or(0)).collect();
        // Of several edges with the same split, the curve that was not cut short.
        let longest = |c: usize| {
            let alike = (0..ends.len()).filter(|&e| choice[e] == c);
            let all = |e: usize| curves[e].tail(1);
            alike
                .max_by(|&a, &b| all(a).total_cmp(&all(b)))
                .map_or_else(|| Arc::new(Curve::new([].into_iter())), |e| curves[e].clone())
        };
        let own: Vec<Arc<Curve>> = (0..kept.len()).map(longest).collect();
        let caps = own.iter().map(|curve| curve.full().min(max_rank.max(1))).collect();
        let incident: Vec<Vec<usize>> =
            edges.iter().map(|at| at.iter().map(|&e| choice[e]).collect()).collect();
        let at = (0..kept.len()).map(|c| {
            let count = |v: usize| incident[v].iter().filter(|&&i| i == c).count() as i32;
            (0..sizes.len()).map(|v| (v, count(v))).filter(|n| n.1 > 0).collect()
        });
        let at = at.collect();
        Water { choice, at, incident, sizes, curves: own, caps }
    }

    /// The ranks of the edges, from those of the choices.
    pub fn of_edges(&self, ranks: &[usize]) -> Vec<usize> {
        self.choice.iter().map(|&c| ranks[c]).collect()
    }

    /// The ranks of the choices, from those of the edges.
    pub fn of_choices(&self, edges: &[usize]) -> Vec<usize> {
        let of = |c: usize| (0..edges.len()).filter(move |&e| self.choice[e] == c);
        (0..self.curves.len()).map(|c| of(c).map(|e| edges[e]).min().unwrap_or(1)).collect()
    }

    /// The parameters with these ranks.
    pub fn params(&self, ranks: &[usize]) -> f64 {
        (0..self.sizes.len()).map(|v| self.core(v, ranks, usize::MAX)).sum()
    }

    /// What is lost in all with these ranks, at most.
    pub fn lost(&self, ranks: &[usize]) -> f64 {
        self.curves.iter().zip(ranks).map(|(curve, &r)| curve.tail(r)).sum()
    }

    /// What a choice loses at a rank.
    pub fn curve(&self, choice: usize) -> &Curve {
        &self.curves[choice]
    }

    /// The ranks cut down to what the ends of each edge can carry.
    pub fn useful(&self, ranks: &[usize]) -> Vec<usize> {
        let mut ranks = ranks.to_vec();
        let mut changed = true;
        while changed {
            changed = false;
            for c in 0..ranks.len() {
                for &(v, count) in self.at[c].iter().filter(|n| n.1 == 1) {
                    debug_assert_eq!(count, 1);
                    let held = self.core(v, &ranks, c);
                    if held < ranks[c] as f64 {
                        ranks[c] = held as usize;
                        changed = true;
                    }
                }
            }
        }
        ranks
    }

    /// The entries of a core, one choice left out.
    fn core(&self, vertex: usize, ranks: &[usize], without: usize) -> f64 {
        let others = self.incident[vertex].iter().filter(|&&c| c != without);
        others.fold(self.sizes[vertex], |size, &c| size * ranks[c] as f64)
    }

    /// What one rank more of a choice costs at a rank, given the others: a function of the rank that does not fall.
    fn cost(&self, choice: usize, ranks: &[usize]) -> impl Fn(usize) -> f64 + use<> {
        let (mut linear, mut square) = (0.0, 0.0);
        for &(v, count) in &self.at[choice] {
            let others = self.core(v, ranks, choice);
            if count == 1 { linear += others } else { square += others }
        }
        move |rank| linear + square * (2 * rank + 1) as f64
    }

    /// The parameters that the last rank of a choice takes.
    pub fn saving(&self, choice: usize, ranks: &[usize]) -> f64 {
        self.cost(choice, ranks)(ranks[choice].saturating_sub(1))
    }

    /// Ranks at which no single one can be changed for the better, from these: a minimum of `P + price * lost`.
    pub fn priced(&self, price: f64, ranks: &mut [usize]) {
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (e, curve) in self.curves.iter().enumerate() {
                let cost = self.cost(e, ranks);
                let best = curve.rank_at(self.caps[e], |rank| cost(rank) / price);
                changed |= best != ranks[e];
                ranks[e] = best;
            }
            if !changed {
                break;
            }
        }
    }

    /// The ranks that lose an equal share each, as the starting point of all others.
    fn shared(&self, eps: f64) -> Vec<usize> {
        let share = eps / self.curves.len().max(1) as f64;
        let caps = self.caps.iter();
        self.curves.iter().zip(caps).map(|(c, &cap)| c.rank_within(share).min(cap)).collect()
    }

    /// The least price, to within a part in a thousand or so, at which `enough` holds of the ranks from `start`; its
    /// ranks. None where it does not even hold of the largest.
    fn least_price(
        &self,
        start: &[usize],
        guess: f64,
        enough: impl Fn(&[usize]) -> bool,
    ) -> Option<Vec<usize>> {
        let at = |log: f64| {
            let mut ranks = start.to_vec();
            self.priced(log.exp(), &mut ranks);
            let good = enough(&ranks);
            good.then_some(ranks)
        };
        let (mut low, mut high) = (guess.ln(), guess.ln());
        let mut found = at(high);
        for step in 0..12 {
            if found.is_some() {
                break;
            }
            low = high;
            high += 2f64.powi(step.min(5));
            found = at(high);
        }
        let mut found = found?;
        for step in 0..12 {
            if low < high {
                break;
            }
            low -= 2f64.powi(step.min(5));
            match at(low) {
                Some(ranks) => (found, high) = (ranks, low),
                None => break,
            }
        }
        for _ in 0..HALVINGS {
            if high - low < 1e-3 {
                break;
            }
            let middle = (low + high) / 2.0;
            match at(middle) {
                Some(ranks) => (found, high) = (ranks, middle),
                None => low = middle,
            }
        }
        Some(found)
    }

    /// Few parameters with at most this error; none where the largest ranks lose more. Quick: one descent.
    pub fn quickly_within(&self, eps: f64) -> Option<Vec<usize>> {
        let caps = self.caps.clone();
        if self.lost(&caps) > eps {
            return None;
        }
        let start = self.shared(eps);
        let guess = self.params(&start) / eps.max(f64::MIN_POSITIVE);
        let mut ranks = self
            .least_price(&start, guess, |r| self.lost(r) <= eps)
            .unwrap_or_else(|| caps.clone());
        self.lower(&mut ranks, eps);
        Some(ranks)
    }

    /// The fewest parameters found with at most this error; none where the largest ranks lose more.
    pub fn within_error(&self, eps: f64) -> Option<Vec<usize>> {
        let caps = self.caps.clone();
        if self.lost(&caps) > eps {
            return None;
        }
        let shared = self.shared(eps);
        let guess = self.params(&shared) / eps.max(f64::MIN_POSITIVE);
        let mut best: Option<(f64, Vec<usize>)> = None;
        for start in [shared, vec![1; caps.len()], caps.clone()] {
            let found = self.least_price(&start, guess, |r| self.lost(r) <= eps);
            let mut ranks = found.unwrap_or_else(|| caps.clone());
            self.lower(&mut ranks, eps);
            self.exchange(&mut ranks, eps);
            let params = self.params(&ranks);
            if best.as_ref().is_none_or(|b| params < b.0) {
                best = Some((params, ranks));
            }
        }
        best.map(|b| b.1)
    }

    /// The least loss found with at most this many parameters; none where ranks 1 have more.
    pub fn within_params(&self, params: f64) -> Option<Vec<usize>> {
        let ones = vec![1; self.curves.len()];
        if self.params(&ones) > params {
            return None;
        }
        let mut best: Option<(f64, Vec<usize>)> = None;
        for start in [ones.clone(), self.caps.clone()] {
            // The largest price within the budget: the prices below the least one beyond it.
            let (mut low, mut high) = (-60.0f64, (params * 1e18).ln());
            let mut ranks = ones.clone();
            for _ in 0..HALVINGS {
                let middle = (low + high) / 2.0;
                let mut trial = start.clone();
                self.priced(middle.exp(), &mut trial);
                match self.params(&trial) <= params {
                    true => (ranks, low) = (trial, middle),
                    false => high = middle,
                }
            }
            self.raise(&mut ranks, params);
            self.trade(&mut ranks, params);
            let lost = self.lost(&ranks);
            if best.as_ref().is_none_or(|b| lost < b.0) {
                best = Some((lost, ranks));
            }
        }
        best.map(|b| b.1)
    }

    /// The least `P + price * lost` found.
    pub fn at_price(&self, price: f64) -> Vec<usize> {
        let value = |ranks: &[usize]| self.params(ranks) + price * self.lost(ranks);
        let starts =
            [vec![1; self.curves.len()], self.caps.clone()].into_iter().map(|mut ranks| {
                self.priced(price, &mut ranks);
                ranks
            });
        starts.min_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or_default()
    }

    /// Lowers ranks one at a time while the error allows it: always the one that saves most for what it loses.
    fn lower(&self, ranks: &mut [usize], eps: f64) {
        let mut left = eps - self.lost(ranks);
        loop {
            let fits = |&e: &usize| ranks[e] > 1 && self.curves[e].gain(ranks[e] - 1) <= left;
            let worth = |e: &usize| {
                self.saving(*e, ranks) / self.curves[*e].gain(ranks[*e] - 1).max(1e-300)
            };
            let next = (0..ranks.len()).filter(fits).max_by(|a, b| worth(a).total_cmp(&worth(b)));
            let Some(e) = next else { return };
            left -= self.curves[e].gain(ranks[e] - 1);
            ranks[e] -= 1;
        }
    }

    /// Raises ranks one at a time while the parameters allow it: always the one that gains most for what it costs.
    fn raise(&self, ranks: &mut [usize], params: f64) {
        let mut left = params - self.params(ranks);
        loop {
            let fits = |&e: &usize| {
                let curve = &self.curves[e];
                ranks[e] < self.caps[e]
                    && curve.gain(ranks[e]) > 0.0
                    && self.cost(e, ranks)(ranks[e]) <= left
            };
            let worth =
                |e: &usize| self.curves[*e].gain(ranks[*e]) / self.cost(*e, ranks)(ranks[*e]);
            let next = (0..ranks.len()).filter(fits).max_by(|a, b| worth(a).total_cmp(&worth(b)));
            let Some(e) = next else { return };
            left -= self.cost(e, ranks)(ranks[e]);
            ranks[e] += 1;
        }
    }

    /// Lowers one rank and raises another where that saves parameters and keeps the error.
    fn exchange(&self, ranks: &mut [usize], eps: f64) {
        for _ in 0..ROUNDS {
            let now = self.params(ranks);
            let mut best: Option<(f64, Vec<usize>)> = None;
            for down in (0..ranks.len()).filter(|&e| ranks[e] > 1) {
                for by in [1, 2, 4] {
                    let mut less = ranks.to_vec();
                    less[down] = ranks[down].saturating_sub(by).max(1);
                    let rest = self.lost(&less);
                    for up in (0..ranks.len()).filter(|&e| e != down) {
                        let allowed = eps - (rest - self.curves[up].tail(less[up]));
                        let rank = self.curves[up].rank_within(allowed).min(self.caps[up]);
                        if allowed < 0.0 || self.curves[up].tail(rank) > allowed {
                            continue;
                        }
                        let mut trial = less.clone();
                        trial[up] = rank;
                        let params = self.params(&trial);
                        if params < best.as_ref().map_or(now, |b| b.0) {
                            best = Some((params, trial));
                        }
                    }
                }
            }
            let Some((_, trial)) = best else { return };
            ranks.copy_from_slice(&trial);
            self.lower(ranks, eps);
        }
    }

    /// Lowers one rank and spends what it saves on others where less is lost then.
    fn trade(&self, ranks: &mut [usize], params: f64) {
        for _ in 0..ROUNDS {
            let now = self.lost(ranks);
            let trials = (0..ranks.len()).filter(|&e| ranks[e] > 1).map(|down| {
                let mut trial = ranks.to_vec();
                trial[down] -= 1;
                self.raise(&mut trial, params);
                trial
            });
            let best = trials.min_by(|a, b| self.lost(a).total_cmp(&self.lost(b)));
            let Some(best) = best.filter(|b| self.lost(b) < now) else { return };
            ranks.copy_from_slice(&best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt as _;

    /// A path, a star, a tree with an inner vertex, and the root of a hierarchical Tucker, with random falling losses.
    fn cases() -> Vec<Water> {
        type Case = (&'static [(usize, usize)], &'static [f64]);
        let graphs: [Case; 4] = [
            (&[(0, 1), (1, 2), (2, 3)], &[4.0, 3.0, 2.0, 5.0]),
            (&[(0, 1), (0, 2), (0, 3)], &[3.0, 4.0, 4.0, 2.0]),
            (&[(0, 3), (1, 3), (2, 3)], &[5.0, 4.0, 6.0, 1.0]),
            (&[(0, 2), (1, 2), (0, 3)], &[5.0, 4.0, 1.0, 6.0]),
        ];
        let mut all = Vec::new();
        for (g, (ends, sizes)) in graphs.into_iter().enumerate() {
            for seed in 0..12 {
                let mut rng = stream(seed, &[g as u8]);
                let mut curve = || {
                    let decay = rng.random_range(0.2..0.9f64);
                    let scale = rng.random_range(0.1..1.0);
                    Arc::new(Curve::new((0..6).map(|k| scale * decay.powi(k))))
                };
                let curves: Vec<_> = ends.iter().map(|_| curve()).collect();
                all.push(Water::new(ends, sizes.to_vec(), &curves, 6));
            }
        }
        all
    }

    fn every(water: &Water) -> Vec<Vec<usize>> {
        let count = water.curves.len();
        let all = 0..6usize.pow(count as u32);
        all.map(|k| (0..count).map(|c| 1 + k / 6usize.pow(c as u32) % 6).collect()).collect()
    }

    #[test]
    fn few_parameters_are_near_the_fewest_of_all() {
        let (mut best, mut count) = (0, 0);
        for water in cases() {
            for eps in [0.02, 0.1, 0.4, 1.2] {
                let allowed = every(&water).into_iter().filter(|r| water.lost(r) <= eps);
                let least = allowed.map(|r| water.params(&r)).min_by(f64::total_cmp);
                let found = water.within_error(eps);
                let quick = water.quickly_within(eps);
                assert_eq!(found.is_some(), least.is_some());
                assert_eq!(quick.is_some(), least.is_some());
                let (Some(found), Some(quick), Some(least)) = (found, quick, least) else {
                    continue;
                };
                assert!(water.lost(&found) <= eps && water.lost(&quick) <= eps);
                let params = water.params(&found);
                assert!(
                    params <= 1.06 * least && params <= water.params(&quick),
                    "{params} {least}"
                );
                count += 1;
                best += usize::from(params == least);
            }
        }
        assert!(best * 20 >= count * 19, "{best} of {count}");
    }

    #[test]
    fn small_losses_are_near_the_least_of_all() {
        let (mut best, mut count) = (0, 0);
        for water in cases() {
            for budget in [10.0, 30.0, 60.0, 150.0] {
                let allowed = every(&water).into_iter().filter(|r| water.params(r) <= budget);
                let least = allowed.map(|r| water.lost(&r)).min_by(f64::total_cmp);
                let found = water.within_params(budget);
                assert_eq!(found.is_some(), least.is_some());
                let (Some(found), Some(least)) = (found, least) else { continue };
                assert!(water.params(&found) <= budget);
                let lost = water.lost(&found);
                assert!(lost <= 1.3 * least + 1e-12, "{lost} {least}");
                count += 1;
                best += usize::from(lost <= least * (1.0 + 1e-12));
            }
            for price in [1.0, 30.0, 1000.0] {
                let value = |r: &[usize]| water.params(r) + price * water.lost(r);
                let least = every(&water).iter().map(|r| value(r)).min_by(f64::total_cmp).unwrap();
                assert!(value(&water.at_price(price)) <= 1.05 * least);
            }
        }
        assert!(best * 10 >= count * 8, "{best} of {count}");
    }

    #[test]
    fn edges_with_the_same_split_have_one_rank() {
        let curve = |k: i32| Arc::new(Curve::new([0.5, 0.3, 0.1 * f64::from(k)].into_iter()));
        let ends = [(0, 2), (1, 2), (0, 3)];
        let curves = [curve(1), curve(2), curve(1)];
        let water = Water::new(&ends, vec![5.0, 4.0, 1.0, 6.0], &curves, 9);
        assert_eq!(
            (water.of_edges(&[2, 3]), water.of_choices(&[3, 2, 4])),
            (vec![2, 2, 3], vec![2, 4])
        );
        // 5 * 2 * 3 + 4 * 2 + 2 * 2 + 6 * 3; the curve that loses more counts.
        assert_eq!((water.params(&[2, 3]), water.curve(0).tail(1)), (60.0, 0.5));
        assert_eq!(water.saving(0, &[2, 3]), 60.0 - water.params(&[1, 3]));
        assert_eq!(water.useful(&[9, 9]), [4, 6]);
    }
}
