//! TNLS: local sampling (the paper's Algorithm 2).
//!
//! The start is drawn uniformly (permutation, and ranks in `1..=R`) and evaluated alone. Iteration
//! m = 1, 2, ... draws `samples` structures around the centre: each rank from `N(r, c1^(m-1))`, rounded to
//! the nearest integer and pulled back into `[1, R]`; with probability `c2^(m-1)` two modes swap their
//! vertices (Algorithm 1 with d = 1). The centre moves to the best sample if that is strictly better.
//!
//! Where the authors' program differs from the paper, this follows the paper:
//!
//! | | the paper, and here | the authors' program |
//! | --- | --- | --- |
//! | `c1^(m-1)` | the *variance* of a rank step | its standard deviation |
//! | rounding of a step | to the nearest integer | by half-open bins, steps capped at 4 |
//! | beyond `[1, R]` | pulled back to the closest bound | at a bound, the step is folded inwards |
//! | a tie with the centre | the centre stays (`f_min < f_0`) | the centre moves (`<=`) |
//!
//! Both evaluate the start alone, so that #Eva. in the paper's tables is 1 + 60 m. There, structures with
//! `params >= 10 * prod(dims)` are not fitted and get the loss 9999; here the runner refuses the same
//! structures and values them as the zero network (RSE = 1), which no walk prefers either. And here a
//! structure that comes up again is answered from the runner's cache, which changes no step.

use super::neighbourhood::{Spread, sample_anywhere, sample_around};
use super::settings::{count, shrinkage};
use super::{Ask, Generation, Outcome, SettingError, Strategy};
use crate::graph::{Structure, Template};
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::OptionKind::{Count, Real};
use crate::search::description::{
    Context, Description, OptionDescription, Plan, option, settings_from,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// The settings of TNLS; the defaults are those of the paper's synthetic experiments (section 5.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TnlsSettings {
    /// Iterations after the start (#Iter).
    pub iterations: usize,
    /// Structures an iteration (#Sample).
    pub samples: usize,
    /// How fast the variance of the rank steps shrinks, `c1^(m-1)`.
    pub c1: f64,
    /// How fast the probability of a swap shrinks, `c2^(m-1)`; none: see [`TnlsSettings::c2_of_order`].
    pub c2: Option<f64>,
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for TnlsSettings {
    fn default() -> Self {
        TnlsSettings { iterations: 30, samples: 60, c1: 0.9, c2: None, max_rank: 7 }
    }
}

impl TnlsSettings {
    /// The default c2 of tensors of this order. The paper uses 0.9, 0.94 and 0.98 for the orders 4, 6 and
    /// 8; the orders between and beyond take the value of the next larger one (0.98 from order 7 on).
    pub fn c2_of_order(order: usize) -> f64 {
        match order {
            0..=4 => 0.9,
            5 | 6 => 0.94,
            _ => 0.98,
        }
    }

    /// Checks every setting.
    pub fn check(self) -> Result<CheckedTnls, SettingError> {
        count("iterations", self.iterations)?;
        count("samples", self.samples)?;
        count("max-rank", self.max_rank)?;
        shrinkage("c1", self.c1)?;
        self.c2.map_or(Ok(()), |c2| shrinkage("c2", c2))?;
        Ok(CheckedTnls(self))
    }
}

/// Settings that were checked; reads like [`TnlsSettings`].
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedTnls(TnlsSettings);

impl Deref for CheckedTnls {
    type Target = TnlsSettings;

    fn deref(&self) -> &TnlsSettings {
        &self.0
    }
}

/// Local sampling, as in the paper.
pub(crate) const TNLS: Description = Description {
    options: &OPTIONS,
    ..Description::new("tnls", "the paper's local sampling", |options, plan| {
        Ok(Box::new(checked(options, plan.max_rank)?))
    })
};

pub(super) const ITERATIONS: OptionDescription = option(
    "iterations",
    "N",
    Count,
    "Rounds of structures (tnale: after its initial ones), or temperatures",
);
pub(super) const SAMPLES: OptionDescription =
    option("samples", "N", Count, "Structures per round, or steps per temperature");
pub(super) const C1: OptionDescription =
    option("c1", "C1", Real, "How fast rank steps shrink; variance C1^(m-1) in round m");
pub(super) const C2: OptionDescription = option(
    "c2",
    "C2",
    Real,
    "How fast swaps get rarer; probability C2^(m-1) in round m [default: by order, 0.9 to 0.98]",
);
const OPTIONS: [OptionDescription; 4] = [ITERATIONS, SAMPLES, C1, C2];

/// Checked settings from options.
pub(super) fn checked(
    options: &Map<String, Value>,
    max_rank: usize,
) -> Result<CheckedTnls, SettingError> {
    settings_from::<TnlsSettings>(options, max_rank)?.check()
}

impl Plan for CheckedTnls {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn at_once(&self) -> (&'static str, usize) {
        ("samples", self.samples)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(Tnls::new(context.template.clone(), self.clone(), seed)))
    }
}

/// The TNLS strategy.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::Template;
/// use tnsearch::search::{Strategy, Tnls, TnlsSettings};
/// let template = Arc::new(Template::ring(6).unwrap());
/// let mut tnls = Tnls::new(template, TnlsSettings::default().check().unwrap(), 1);
/// assert_eq!(tnls.ask().structures().len(), 1); // the random start, alone
/// assert_eq!(tnls.planned_samples(), Some(1801));
/// ```
#[derive(Debug, Clone)]
pub struct Tnls {
    template: Arc<Template>,
    settings: CheckedTnls,
    c2: f64,
    rng: Rng,
    /// The structure in the middle and its loss; none before the start was told.
    centre: Option<(Structure, f64)>,
    /// Where to start; none: at random.
    start: Option<Structure>,
    /// The generation that waits to be told.
    asked: Vec<Structure>,
    /// Iterations asked for so far.
    iteration: usize,
}

impl Tnls {
    /// The strategy on a template; everything it draws is a function of `seed` and what it is told.
    pub fn new(template: Arc<Template>, settings: CheckedTnls, seed: u64) -> Self {
        let c2 = settings.c2.unwrap_or_else(|| TnlsSettings::c2_of_order(template.order()));
        let rng = rng::stream(seed, b"tnls");
        Tnls {
            template,
            settings,
            c2,
            rng,
            centre: None,
            start: None,
            asked: Vec::new(),
            iteration: 0,
        }
    }

    /// The same, starting at a given structure of the template instead of a random one.
    pub fn starting_at(start: Structure, settings: CheckedTnls, seed: u64) -> Self {
        let mut tnls = Tnls::new(start.template().clone(), settings, seed);
        tnls.start = Some(start);
        tnls
    }

    /// The structure in the middle and its loss, once the start was told.
    pub fn centre(&self) -> Option<(&Structure, f64)> {
        self.centre.as_ref().map(|(structure, loss)| (structure, *loss))
    }
}

impl Strategy for Tnls {
    fn name(&self) -> &str {
        "tnls"
    }

    fn ask(&mut self) -> Ask {
        self.asked = match self.centre.as_ref().map(|(structure, _)| structure.clone()) {
            None => vec![self.start.take().unwrap_or_else(|| {
                sample_anywhere(&self.template, self.settings.max_rank, &mut self.rng)
            })],
            Some(_) if self.iteration == self.settings.iterations => Vec::new(),
            Some(centre) => {
                let spread = Spread::after(self.iteration, self.settings.c1, self.c2);
                self.iteration += 1;
                let (samples, max_rank) = (self.settings.samples, self.settings.max_rank);
                let mut sample = || sample_around(&centre, spread, max_rank, &mut self.rng);
                (0..samples).map(|_| sample()).collect()
            }
        };
        let generation = Generation::new(self.asked.clone());
        match &self.centre {
            Some((centre, loss)) => generation.near(centre.clone()).only_below(*loss).ask(),
            None => generation.ask(),
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        for (structure, outcome) in std::mem::take(&mut self.asked).into_iter().zip(outcomes) {
            if self.centre.as_ref().is_none_or(|(_, loss)| outcome.loss < *loss) {
                self.centre = Some((structure, outcome.loss));
            }
        }
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        Some(Box::new(self.clone()))
    }

    fn planned_samples(&self) -> Option<u64> {
        let (iterations, samples) = (self.settings.iterations as u64, self.settings.samples as u64);
        Some(iterations.saturating_mul(samples).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{asked, told};

    fn tnls(order: usize, settings: TnlsSettings, seed: u64) -> Tnls {
        Tnls::new(Arc::new(Template::ring(order).unwrap()), settings.check().unwrap(), seed)
    }

    /// Iterations 1..=m around a centre that never moves; the samples of iteration m.
    fn around(t: &mut Tnls, m: usize) -> (Structure, Vec<Structure>) {
        let start = asked(t).remove(0);
        t.tell(&[told(0.0)]);
        let mut samples = Vec::new();
        for _ in 0..m {
            samples = asked(t);
            t.tell(&vec![told(1.0); samples.len()]);
        }
        (start, samples)
    }

    #[test]
    fn refuses_settings_that_mean_nothing() {
        let bad = |change: fn(&mut TnlsSettings)| {
            let mut s = TnlsSettings::default();
            change(&mut s);
            s.check().unwrap_err().to_string()
        };
        assert_eq!(bad(|s| s.max_rank = 0), "max-rank is 0; it must be at least 1");
        assert!(bad(|s| s.samples = 0).starts_with("samples is 0"));
        assert!(bad(|s| s.iterations = 0).starts_with("iterations is 0"));
        assert!(bad(|s| s.c1 = 1.5).starts_with("c1 is 1.5"));
        assert!(bad(|s| s.c1 = f64::NAN).starts_with("c1 is NaN"));
        assert!(bad(|s| s.c2 = Some(0.0)).starts_with("c2 is 0"));
        assert_eq!([4, 5, 6, 7, 8].map(TnlsSettings::c2_of_order), [0.9, 0.94, 0.94, 0.98, 0.98]);
    }

    #[test]
    fn the_start_is_uniform() {
        let (mut ranks, mut vertex) = ([0; 7], [0; 5]);
        let seeds = 2000;
        for seed in 0..seeds {
            let start = asked(&mut tnls(5, TnlsSettings::default(), seed)).remove(0);
            vertex[start.permutation()[0]] += 1;
            start.ranks().iter().for_each(|&r| ranks[r - 1] += 1);
        }
        // 400 expected per vertex (sd 18), 1428 per rank (sd 35).
        assert!(vertex.iter().all(|c| (320..480).contains(c)), "{vertex:?}");
        assert!(ranks.iter().all(|c| (1270..1590).contains(c)), "{ranks:?}");
    }

    #[test]
    fn rank_steps_have_variance_c1_to_the_m_minus_1() {
        for m in [1, 4, 9] {
            let settings = TnlsSettings {
                c1: 0.8,
                samples: 4000,
                max_rank: 1_000_000,
                ..TnlsSettings::default()
            };
            let (start, samples) = around(&mut tnls(6, settings, 3), m);
            let steps: Vec<f64> = samples
                .iter()
                .flat_map(|s| s.ranks().iter().zip(start.ranks()))
                .map(|(&s, &r)| s as f64 - r as f64)
                .collect();
            let n = steps.len() as f64;
            let mean = steps.iter().sum::<f64>() / n;
            let variance = steps.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n;
            // The variance of the rounded Gaussian, summed from its definition.
            let sd = 0.8f64.powi(m as i32 - 1).sqrt();
            let expected: f64 = (1..=12)
                .map(|k| 2.0 * (k * k) as f64 * mass(k as f64 - 0.5, k as f64 + 0.5, sd))
                .sum();
            assert!(mean.abs() < 0.03, "m = {m}: mean {mean}");
            assert!((variance / expected - 1.0).abs() < 0.05, "m = {m}: {variance}, {expected}");
        }
    }

    /// The probability of [a, b] under N(0, sd^2), by the midpoint rule.
    fn mass(a: f64, b: f64, sd: f64) -> f64 {
        let n = 200;
        let h = (b - a) / n as f64;
        let density =
            |x: f64| (-0.5 * (x / sd).powi(2)).exp() / (sd * std::f64::consts::TAU.sqrt());
        (0..n).map(|k| h * density(a + (k as f64 + 0.5) * h)).sum()
    }

    #[test]
    fn ranks_are_clamped_not_folded() {
        let settings = TnlsSettings { max_rank: 2, samples: 5000, ..TnlsSettings::default() };
        let (start, samples) = around(&mut tnls(4, settings, 8), 1);
        for e in 0..4 {
            let up = samples.iter().filter(|s| s.ranks()[e] == 2).count() as f64 / 5000.0;
            assert!(samples.iter().all(|s| (1..=2).contains(&s.ranks()[e])));
            // P(N(1, 1) >= 1.5) = P(N(2, 1) < 1.5) = 0.3085: all mass outside is pulled to the bound.
            let expected = if start.ranks()[e] == 1 { 0.3085 } else { 1.0 - 0.3085 };
            assert!((up - expected).abs() < 0.03, "{up}, {expected}");
        }
    }

    #[test]
    fn swaps_happen_with_probability_c2_to_the_m_minus_1() {
        for (m, expected) in [(1, 1.0), (3, 0.49), (6, 0.16807)] {
            let settings = TnlsSettings { c2: Some(0.7), samples: 4000, ..TnlsSettings::default() };
            let (start, samples) = around(&mut tnls(6, settings, 11), m);
            let moved = |s: &Structure| {
                s.permutation().iter().zip(start.permutation()).filter(|(a, b)| a != b).count()
            };
            assert!(samples.iter().all(|s| matches!(moved(s), 0 | 2)));
            let rate = samples.iter().filter(|s| moved(s) == 2).count() as f64 / 4000.0;
            assert!((rate - expected).abs() < 0.03, "m = {m}: {rate}");
        }
    }

    #[test]
    fn the_centre_moves_only_to_a_strictly_better_first_minimum() {
        let mut t = tnls(6, TnlsSettings { samples: 5, ..TnlsSettings::default() }, 1);
        let start = asked(&mut t).remove(0);
        t.tell(&[told(1.0)]);
        t.ask();
        t.tell(&[told(1.0), told(2.0), told(1.0), told(3.0), told(9.0)]);
        assert_eq!(t.centre(), Some((&start, 1.0)), "ties keep the centre");
        let asked = asked(&mut t);
        t.tell(&[told(0.7), told(0.5), told(0.6), told(0.5), told(0.9)]);
        assert_eq!(t.centre(), Some((&asked[1], 0.5)), "the first minimum");
    }

    #[test]
    fn ends_after_its_iterations_and_repeats_with_its_seed() {
        let settings = TnlsSettings { iterations: 3, samples: 7, ..TnlsSettings::default() };
        let walk = |seed| {
            let mut t = tnls(6, settings.clone(), seed);
            let mut all = Vec::new();
            loop {
                let asked = asked(&mut t);
                if asked.is_empty() {
                    return all;
                }
                t.tell(&asked.iter().map(|s| told(s.ranks()[0] as f64)).collect::<Vec<_>>());
                all.extend(asked);
            }
        };
        assert_eq!(walk(1).len(), 1 + 3 * 7);
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}
