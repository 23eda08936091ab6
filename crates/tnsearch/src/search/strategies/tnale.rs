//! TnALE: alternating local enumeration (Li, Zeng, Li, Caiafa and Zhao, ICML 2023).
//!
//! Where TNLS samples a neighbourhood, TnALE changes one variable at a time and tries all its values near by.
//! The variables are the rank of each edge and the permutation. A *round* goes there and back: the ranks in
//! the order of the edges, the permutation, the ranks in reverse order, 2 E + 1 enumerations for E edges. Each
//! keeps what is best, ties going to what was there. The window of a rank is that of the round's centre, the
//! structure the round began with: its rank and `radius` more and fewer, moved inwards where it would leave
//! `[1, R]`; the window of the permutation is itself and every swap of two modes. The next round begins at
//! the structure that this one ended with.
//!
//! The first rounds (the paper's initial phase) have a wider radius and *estimate*: of a window only the two
//! ends and the middle are fitted, the RSE of the ranks between is interpolated linearly, and their loss
//! follows from that and their true number of parameters. The walk may go to an estimated structure. (With
//! `phi + lambda * RSE` it never does: the parameters are linear in one rank too, so an estimate lies between
//! its neighbours. With a largest RSE it may.) The structure it stands on serves as a further point where it
//! was fitted. Swaps are always fitted. An initial round that changes nothing is the last.
//!
//! The main rounds fit everything. Where one ends no better than its centre, the centre stays, and the next
//! round begins at a random member of its neighbourhood (ranks uniform in their windows, the permutation
//! uniform among itself and its swaps), as in the authors' program; the papers' algorithm ends there. So a
//! search is `iterations` main rounds long.
//!
//! Counting: only what is fitted is an evaluation; estimates are not even proposed. The structure the walk
//! stands on is not proposed again while its loss is known. (The authors' program counts a window in full
//! each time.) Their warm starts of fits are not used, so that the evaluator is that of the other methods.
//!
//! In an enumeration without estimates only the best below the current loss matters, so the rest may be
//! pruned; estimates need every RSE.

use super::neighbourhood::{sample_anywhere, sample_neighbour, structure};
use super::settings::count;
use super::tnls::ITERATIONS;
use super::{Ask, CheckedObjective, Generation, Outcome, SettingError, Strategy};
use crate::graph::{Structure, Template};
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::OptionKind::{Count, Whole};
use crate::search::description::{
    Context, Description, OptionDescription, Plan, option, settings_from,
};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

/// The settings of TnALE; the defaults of the radii and the initial rounds are those of the authors' program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TnaleSettings {
    /// Rounds with estimates at most; 0: none.
    pub init_iterations: usize,
    /// How far ranks may move in such a round.
    pub init_radius: usize,
    /// Rounds without estimates.
    pub iterations: usize,
    /// How far ranks may move in such a round.
    pub radius: usize,
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for TnaleSettings {
    fn default() -> Self {
        TnaleSettings { init_iterations: 2, init_radius: 2, iterations: 30, radius: 1, max_rank: 7 }
    }
}

impl TnaleSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedTnale, SettingError> {
        count("iterations", self.iterations)?;
        count("radius", self.radius)?;
        count("init-radius", self.init_radius)?;
        count("max-rank", self.max_rank)?;
        Ok(CheckedTnale(self))
    }
}

/// Settings that were checked; reads like [`TnaleSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedTnale(TnaleSettings);

impl Deref for CheckedTnale {
    type Target = TnaleSettings;

    fn deref(&self) -> &TnaleSettings {
        &self.0
    }
}

/// Alternating local enumeration.
pub(crate) const TNALE: Description = Description {
    options: &OPTIONS,
    ..Description::new("tnale", "alternating enumeration", |options, plan| {
        Ok(Box::new(settings_from::<TnaleSettings>(options, plan.max_rank)?.check()?))
    })
};

const OPTIONS: [OptionDescription; 4] = [
    ITERATIONS,
    option("radius", "N", Count, "How far a rank moves"),
    option("init-iterations", "N", Whole, "Rounds that estimate by interpolation, at most"),
    option("init-radius", "N", Count, "How far a rank moves in those"),
];

impl Plan for CheckedTnale {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    /// A window of ranks is enumerated at once.
    fn at_once(&self) -> (&'static str, usize) {
        let radius = self.radius.max(self.init_radius);
        ("radius", radius.saturating_mul(2).saturating_add(1).min(self.max_rank))
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let Context { template, dims, objective, .. } = *context;
        Ok(Box::new(Tnale::new(template, dims, objective, self.clone(), seed)))
    }
}

/// What is known of a structure that was fitted (or refused).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    loss: f64,
    error: Option<f64>,
}

impl From<&Outcome> for Known {
    fn from(outcome: &Outcome) -> Self {
        Known { loss: outcome.loss, error: outcome.error }
    }
}

/// The TnALE strategy.
#[derive(Debug, Clone)]
pub struct Tnale {
    dims: Vec<usize>,
    objective: CheckedObjective,
    settings: CheckedTnale,
    rng: Rng,
    /// The middle of the windows, and its loss (main rounds; infinite before the first of them has ended).
    centre: Structure,
    centre_loss: f64,
    /// Where the walk is, and its loss unless it is an estimate.
    current: Structure,
    known: Option<Known>,
    /// Rounds ended in this phase, and whether it is the initial one.
    rounds: usize,
    estimating: bool,
    /// The next enumeration of the round, from 0 to 2 E; none at the end of the search.
    place: Option<usize>,
    asked: Vec<Structure>,
}

impl Tnale {
    /// The strategy on a template, for a tensor of these dimensions, from a random start.
    pub fn new(
        template: &Arc<Template>,
        dims: &[usize],
        objective: CheckedObjective,
        settings: CheckedTnale,
        seed: u64,
    ) -> Self {
        let mut rng = rng::stream(seed, b"tnale start");
        let start = sample_anywhere(template, settings.max_rank, &mut rng);
        Self::starting_at(start, dims, objective, settings, seed)
    }

    /// The same from a given start.
    pub fn starting_at(
        start: Structure,
        dims: &[usize],
        objective: CheckedObjective,
        settings: CheckedTnale,
        seed: u64,
    ) -> Self {
        Tnale {
            dims: dims.to_vec(),
            objective,
            estimating: settings.init_iterations > 0,
            settings,
            rng: rng::stream(seed, b"tnale"),
            centre: start.clone(),
            centre_loss: f64::INFINITY,
            current: start,
            known: None,
            rounds: 0,
            place: Some(0),
            asked: Vec::new(),
        }
    }

    fn edges(&self) -> usize {
        self.current.ranks().len()
    }

    /// The edge whose rank is enumerated at a place of the round; none for the permutation.
    fn edge_at(&self, place: usize) -> Option<usize> {
        let edges = self.edges();
        match place {
            _ if place < edges => Some(place),
            _ if place == edges => None,
            _ => Some(2 * edges - place),
        }
    }

    /// The ranks that an edge may have in this round.
    fn window(&self, edge: usize) -> RangeInclusive<usize> {
        let radius = if self.estimating { self.settings.init_radius } else { self.settings.radius };
        let (centre, most) = (self.centre.ranks()[edge], self.settings.max_rank);
        let low = centre.saturating_sub(radius).max(1);
        // As wide as anywhere else, if there is room.
        let width = radius.saturating_mul(2).min(most - 1);
        let low = low.min(most - width);
        low..=low + width
    }

    /// Whether this enumeration estimates: the ranks that it fits are fewer than those it may choose.
    fn estimates(&self, edge: usize) -> bool {
        self.estimating && self.window(edge).count() > 3
    }

    fn with_rank(&self, edge: usize, rank: usize) -> Structure {
        let mut ranks = self.current.ranks().to_vec();
        ranks[edge] = rank;
        structure(self.current.template(), self.current.permutation().to_vec(), ranks)
    }

    /// What is to be fitted at a place of the round.
    fn enumeration(&self, place: usize) -> Vec<Structure> {
        let mut all = Vec::new();
        match self.edge_at(place) {
            Some(edge) => {
                let window = self.window(edge);
                let (low, high) = (*window.start(), *window.end());
                let middle = low + (high - low) / 2;
                let all_ranks = !self.estimates(edge);
                let fitted = |r: &usize| all_ranks || [low, middle, high].contains(r);
                all.extend(window.filter(fitted).map(|rank| self.with_rank(edge, rank)));
            }
            None => {
                let order = self.current.permutation().len();
                all.push(self.current.clone());
                for (i, j) in (0..order).flat_map(|i| (i + 1..order).map(move |j| (i, j))) {
                    let mut permutation = self.current.permutation().to_vec();
                    permutation.swap(i, j);
                    let ranks = self.current.ranks().to_vec();
                    all.push(structure(self.current.template(), permutation, ranks));
                }
            }
        }
        all.retain(|s| self.known.is_none() || *s != self.current);
        all
    }

    /// Moves to the best of the fitted structures, if it is better than where the walk is.
    fn choose(&mut self, fitted: Vec<(Structure, Known)>) {
        for (structure, known) in fitted {
            // The first to come replaces what is only an estimate.
            if self.known.is_none_or(|now| known.loss < now.loss) {
                (self.current, self.known) = (structure, Some(known));
            }
        }
    }

    /// As [`Tnale::choose`], with estimates for the ranks of the window that were not fitted.
    fn choose_estimated(&mut self, edge: usize, mut fitted: Vec<(Structure, Known)>) {
        if let Some(known) = self.known {
            fitted.push((self.current.clone(), known));
        }
        // The walk's own value decides ties, then the smaller rank.
        fitted.sort_by_key(|(s, _)| s.ranks()[edge]);
        let points: Vec<(usize, f64)> =
            fitted.iter().filter_map(|(s, k)| Some((s.ranks()[edge], k.error?))).collect();
        let mut best = self.known.map(|known| (self.current.clone(), known.loss, Some(known)));
        for rank in self.window(edge) {
            let exact = fitted.iter().find(|(s, _)| s.ranks()[edge] == rank);
            let (structure, loss, known) = match (exact, interpolate(&points, rank)) {
                (Some((s, known)), _) => (s.clone(), known.loss, Some(*known)),
                (None, Some(rse)) => {
                    let s = self.with_rank(edge, rank);
                    let (params, phi) = (s.params(&self.dims), s.phi(&self.dims));
                    (s, self.objective.loss(params, phi, rse), None)
                }
                // Next to a rank that could not be fitted: nothing is known.
                (None, None) => continue,
            };
            if best.as_ref().is_none_or(|(_, low, _)| loss < *low) {
                best = Some((structure, loss, known));
            }
        }
        if let Some((structure, _, known)) = best {
            (self.current, self.known) = (structure, known);
        }
    }

    /// The next place, in this round or the next.
    fn advance(&mut self, place: usize) {
        if place < 2 * self.edges() {
            self.place = Some(place + 1);
            return;
        }
        self.rounds += 1;
        match self.estimating {
            true => self.end_initial_round(),
            false => self.end_main_round(),
        }
    }

    fn end_initial_round(&mut self) {
        let unchanged = self.current == self.centre;
        self.centre = self.current.clone();
        self.place = Some(0);
        if unchanged || self.rounds == self.settings.init_iterations {
            (self.estimating, self.rounds) = (false, 0);
        }
    }

    fn end_main_round(&mut self) {
        let unchanged = self.current == self.centre;
        let loss = self.known.map_or(f64::INFINITY, |known| known.loss);
        let better = loss < self.centre_loss;
        if better {
            (self.centre, self.centre_loss) = (self.current.clone(), loss);
        }
        self.place = (self.rounds < self.settings.iterations).then_some(0);
        if unchanged || !better {
            match self.random_member() {
                Some(start) => (self.current, self.known) = (start, None),
                None => self.place = None,
            }
        }
    }

    /// A random member of the centre's neighbourhood that is not the centre; none where there is hardly one.
    fn random_member(&mut self) -> Option<Structure> {
        for _ in 0..100 {
            let edges = 0..self.edges();
            let ranks = edges.map(|e| self.rng.random_range(self.window(e))).collect();
            let mut permutation = self.centre.permutation().to_vec();
            let n = permutation.len();
            // Itself and every swap, equally often.
            let swaps = n * (n - 1) / 2;
            if self.rng.random_range(0..=swaps) > 0 {
                permutation = sample_neighbour(&permutation, 1, &mut self.rng);
            }
            let member = structure(self.centre.template(), permutation, ranks);
            if member != self.centre {
                return Some(member);
            }
        }
        None
    }
}

/// The value at a rank between two points, on the line through them; points are sorted by rank.
fn interpolate(points: &[(usize, f64)], rank: usize) -> Option<f64> {
    let after = points.iter().position(|p| p.0 >= rank)?;
    let (r1, y1) = points[after];
    if r1 == rank {
        return Some(y1);
    }
    let (r0, y0) = points[after.checked_sub(1)?];
    Some(y0 + (y1 - y0) * (rank - r0) as f64 / (r1 - r0) as f64)
}

impl Strategy for Tnale {
    fn name(&self) -> &str {
        "tnale"
    }

    fn ask(&mut self) -> Ask {
        self.asked.clear();
        while let Some(place) = self.place {
            self.asked = self.enumeration(place);
            if !self.asked.is_empty() {
                break;
            }
            self.advance(place);
        }
        let generation = Generation::new(self.asked.clone());
        let edge = self.place.and_then(|place| self.edge_at(place));
        match edge {
            Some(edge) if self.estimates(edge) => generation.ask(),
            _ => generation.only_below(self.known.map_or(f64::INFINITY, |known| known.loss)).ask(),
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let Some(place) = self.place else { return };
        let asked = std::mem::take(&mut self.asked);
        let fitted = asked.into_iter().zip(outcomes.iter().map(Known::from)).collect();
        match self.edge_at(place) {
            Some(edge) if self.estimates(edge) => self.choose_estimated(edge, fitted),
            _ => self.choose(fitted),
        }
        self.advance(place);
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests;
