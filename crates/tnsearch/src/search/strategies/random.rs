//! Random search: uniform structures, a baseline for the methods that learn.
//!
//! Every structure is drawn on its own, permutation and ranks (in `1..=R`) uniform, as the start of TNLS is.
//! The draws depend on nothing that was told, and only the best counts; so all that cannot be the best may be
//! pruned.

use super::neighbourhood::sample_anywhere;
use super::settings::count;
use super::tnls::{ITERATIONS, SAMPLES};
use super::{Ask, Generation, Outcome, SettingError, Strategy};
use crate::graph::Template;
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::{Context, Description, Plan, settings_from};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// The settings of random search; the defaults propose as many structures as TNLS does (but for its start).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RandomSettings {
    /// Rounds.
    pub iterations: usize,
    /// Structures a round.
    pub samples: usize,
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for RandomSettings {
    fn default() -> Self {
        RandomSettings { iterations: 30, samples: 60, max_rank: 7 }
    }
}

impl RandomSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedRandom, SettingError> {
        count("iterations", self.iterations)?;
        count("samples", self.samples)?;
        count("max-rank", self.max_rank)?;
        Ok(CheckedRandom(self))
    }
}

/// Settings that were checked; reads like [`RandomSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedRandom(RandomSettings);

impl Deref for CheckedRandom {
    type Target = RandomSettings;

    fn deref(&self) -> &RandomSettings {
        &self.0
    }
}

/// Uniform structures.
pub(crate) const RANDOM: Description = Description {
    options: &[ITERATIONS, SAMPLES],
    ..Description::new("random", "uniform structures, a baseline", |options, plan| {
        Ok(Box::new(settings_from::<RandomSettings>(options, plan.max_rank)?.check()?))
    })
};

impl Plan for CheckedRandom {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn at_once(&self) -> (&'static str, usize) {
        ("samples", self.samples)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(RandomSearch::new(context.template.clone(), self.clone(), seed)))
    }
}

/// The strategy of random search.
#[derive(Debug, Clone)]
pub struct RandomSearch {
    template: Arc<Template>,
    settings: CheckedRandom,
    rng: Rng,
    iteration: usize,
    /// The smallest loss so far.
    low: f64,
}

impl RandomSearch {
    /// The strategy on a template; everything it draws is a function of `seed`.
    pub fn new(template: Arc<Template>, settings: CheckedRandom, seed: u64) -> Self {
        let rng = rng::stream(seed, b"random");
        RandomSearch { template, settings, rng, iteration: 0, low: f64::INFINITY }
    }
}

impl Strategy for RandomSearch {
    fn name(&self) -> &str {
        "random"
    }

    fn ask(&mut self) -> Ask {
        if self.iteration == self.settings.iterations {
            return Ask::Done;
        }
        self.iteration += 1;
        let (samples, max_rank) = (self.settings.samples, self.settings.max_rank);
        let sample = |_| sample_anywhere(&self.template, max_rank, &mut self.rng);
        Generation::new((0..samples).map(sample).collect()).only_below(self.low).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.low = outcomes.iter().map(|o| o.loss).fold(self.low, f64::min);
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        Some(Box::new(self.clone()))
    }

    fn planned_samples(&self) -> Option<u64> {
        Some((self.settings.iterations as u64).saturating_mul(self.settings.samples as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::told;

    #[test]
    fn proposes_what_it_planned_whatever_it_is_told() {
        let walk = |seed, loss| {
            let settings = RandomSettings { iterations: 3, samples: 5, max_rank: 4 };
            let ring = Arc::new(Template::ring(5).unwrap());
            let mut random = RandomSearch::new(ring, settings.check().unwrap(), seed);
            assert_eq!(random.planned_samples(), Some(15));
            let (mut all, mut low) = (Vec::new(), f64::INFINITY);
            while let Ask::Generation(asked) = random.ask() {
                assert_eq!(asked.only_below, Some(low));
                random.tell(&vec![told(loss); asked.structures.len()]);
                all.extend(asked.structures);
                low = loss;
            }
            // Each generation names what it has to beat, so the last tell shows in the state.
            assert_eq!(random.low, loss);
            all
        };
        let all = walk(1, 0.5);
        assert_eq!(all.len(), 15);
        assert!(all.iter().all(|s| s.ranks().iter().all(|r| (1..=4).contains(r))));
        assert_eq!(all, walk(1, 2.0));
        assert_ne!(all, walk(2, 0.5));
    }

    #[test]
    fn refuses_settings_that_mean_nothing() {
        let bad = RandomSettings { samples: 0, ..RandomSettings::default() };
        assert_eq!(bad.check().unwrap_err().to_string(), "samples is 0; it must be at least 1");
    }
}
