//! Simulated annealing on TNLS's neighbourhood, a baseline.
//!
//! The start is drawn uniformly. A step proposes one structure, drawn around the current one exactly as TNLS
//! draws its samples in iteration m, and moves there if
//!
//! `loss < current loss - T_m ln(u)`, u uniform in (0, 1], `T_m = temperature * cooling^(m-1)`,
//!
//! which is Metropolis' rule: always if it is better, else with probability `exp(-(rise) / T_m)`. Each
//! temperature lasts `samples` steps, so that with equal settings it proposes as many structures as TNLS. u is
//! drawn before the outcome is known: what a bound puts above the threshold would be rejected anyhow, and may
//! be pruned.

use super::neighbourhood::{Spread, sample_anywhere, sample_around};
use super::settings::{count, positive, shrinkage};
use super::tnls::{C1, C2, ITERATIONS, SAMPLES};
use super::{Ask, Generation, Outcome, SettingError, Strategy, TnlsSettings};
use crate::graph::{Structure, Template};
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::OptionKind::Real;
use crate::search::description::{
    Context, Description, OptionDescription, Plan, option, settings_from,
};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// The settings of simulated annealing; where they are TNLS's, so are their defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnnealingSettings {
    /// Temperatures.
    pub iterations: usize,
    /// Steps at each temperature.
    pub samples: usize,
    /// How fast the variance of the rank steps shrinks, `c1^(m-1)`.
    pub c1: f64,
    /// How fast the probability of a swap shrinks, `c2^(m-1)`; none: see [`TnlsSettings::c2_of_order`].
    pub c2: Option<f64>,
    /// The first temperature, in units of the loss.
    pub temperature: f64,
    /// What a temperature is multiplied by to give the next.
    pub cooling: f64,
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for AnnealingSettings {
    fn default() -> Self {
        AnnealingSettings {
            iterations: 30,
            samples: 60,
            c1: 0.9,
            c2: None,
            temperature: 1.0,
            cooling: 0.8,
            max_rank: 7,
        }
    }
}

impl AnnealingSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedAnnealing, SettingError> {
        count("iterations", self.iterations)?;
        count("samples", self.samples)?;
        count("max-rank", self.max_rank)?;
        shrinkage("c1", self.c1)?;
        self.c2.map_or(Ok(()), |c2| shrinkage("c2", c2))?;
        positive("temperature", self.temperature)?;
        shrinkage("cooling", self.cooling)?;
        Ok(CheckedAnnealing(self))
    }
}

/// Settings that were checked; reads like [`AnnealingSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedAnnealing(AnnealingSettings);

impl Deref for CheckedAnnealing {
    type Target = AnnealingSettings;

    fn deref(&self) -> &AnnealingSettings {
        &self.0
    }
}

/// Simulated annealing.
pub(crate) const ANNEALING: Description = Description {
    options: &OPTIONS,
    ..Description::new("annealing", "simulated annealing, a baseline", |options, plan| {
        Ok(Box::new(settings_from::<AnnealingSettings>(options, plan.max_rank)?.check()?))
    })
};

const OPTIONS: [OptionDescription; 6] = [
    ITERATIONS,
    SAMPLES,
    C1,
    C2,
    option("temperature", "T", Real, "The first temperature, in units of the loss"),
    option("cooling", "C", Real, "What a temperature is multiplied by to give the next"),
];

impl Plan for CheckedAnnealing {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(Annealing::new(context.template.clone(), self.clone(), seed)))
    }
}

/// The strategy of simulated annealing.
#[derive(Debug, Clone)]
pub struct Annealing {
    template: Arc<Template>,
    settings: CheckedAnnealing,
    c2: f64,
    rng: Rng,
    /// The structure it is at and its loss; none before the start was told.
    current: Option<(Structure, f64)>,
    /// The structure that waits to be told, and the loss it must be below.
    proposed: Option<(Structure, f64)>,
    /// Steps made.
    step: usize,
}

impl Annealing {
    /// The strategy on a template; everything it draws is a function of `seed` and what it is told.
    pub fn new(template: Arc<Template>, settings: CheckedAnnealing, seed: u64) -> Self {
        let c2 = settings.c2.unwrap_or_else(|| TnlsSettings::c2_of_order(template.order()));
        let rng = rng::stream(seed, b"annealing");
        Annealing { template, settings, c2, rng, current: None, proposed: None, step: 0 }
    }

    /// The structure it is at and its loss, once the start was told.
    pub fn current(&self) -> Option<(&Structure, f64)> {
        self.current.as_ref().map(|(structure, loss)| (structure, *loss))
    }

    fn propose(&mut self) -> Option<(Structure, f64)> {
        let settings = &self.settings;
        let Some((current, loss)) = &self.current else {
            let start = sample_anywhere(&self.template, settings.max_rank, &mut self.rng);
            return Some((start, f64::INFINITY));
        };
        let level = self.step / settings.samples;
        if level == settings.iterations {
            return None;
        }
        self.step += 1;
        let spread = Spread::after(level, settings.c1, self.c2);
        let structure = sample_around(current, spread, settings.max_rank, &mut self.rng);
        let temperature = settings.temperature * settings.cooling.powf(level as f64);
        // 1 - [0, 1) is never 0.
        let u = 1.0 - self.rng.random::<f64>();
        Some((structure, loss - temperature * u.ln()))
    }
}

impl Strategy for Annealing {
    fn name(&self) -> &str {
        "annealing"
    }

    fn ask(&mut self) -> Ask {
        self.proposed = self.propose();
        match &self.proposed {
            Some((structure, threshold)) => {
                Generation::new(vec![structure.clone()]).only_below(*threshold).ask()
            }
            None => Ask::Done,
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        for (outcome, (structure, threshold)) in outcomes.iter().zip(self.proposed.take()) {
            if outcome.loss < threshold {
                self.current = Some((structure, outcome.loss));
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
    use crate::search::testing::{asked, generation, told};

    fn annealing(settings: AnnealingSettings, seed: u64) -> Annealing {
        let ring = Arc::new(Template::ring(6).unwrap());
        Annealing::new(ring, settings.check().unwrap(), seed)
    }

    #[test]
    fn refuses_settings_that_mean_nothing() {
        let bad = |change: fn(&mut AnnealingSettings)| {
            let mut s = AnnealingSettings::default();
            change(&mut s);
            s.check().unwrap_err().to_string()
        };
        assert_eq!(bad(|s| s.temperature = 0.0), "temperature is 0; it must be a positive number");
        assert!(bad(|s| s.temperature = f64::NAN).starts_with("temperature is NaN"));
        assert!(bad(|s| s.cooling = 1.5).starts_with("cooling is 1.5"));
        assert!(bad(|s| s.samples = 0).starts_with("samples is 0"));
    }

    #[test]
    fn moves_up_with_the_probability_of_metropolis() {
        for (rise, temperature) in [(0.1, 1.0), (1.0, 1.0), (1.0, 0.5), (-1.0, 0.1)] {
            let settings = AnnealingSettings {
                samples: 1,
                temperature,
                cooling: 1.0,
                ..AnnealingSettings::default()
            };
            let (tries, mut moved) = (4000, 0);
            for seed in 0..tries {
                let mut a = annealing(settings.clone(), seed);
                a.ask();
                a.tell(&[told(2.0)]);
                let to = asked(&mut a).remove(0);
                a.tell(&[told(2.0 + rise)]);
                let (current, loss) = a.current().unwrap();
                assert_eq!(*current == to && loss == 2.0 + rise, loss != 2.0);
                moved += usize::from(loss != 2.0);
            }
            let rate = moved as f64 / tries as f64;
            let expected = (-rise / temperature).exp().min(1.0);
            assert!((rate - expected).abs() < 0.03, "{rise} at {temperature}: {rate}, {expected}");
        }
    }

    #[test]
    fn the_threshold_is_what_decides() {
        let mut a = annealing(AnnealingSettings::default(), 4);
        assert_eq!(generation(&mut a).only_below, Some(f64::INFINITY));
        a.tell(&[told(1.0)]);
        for _ in 0..200 {
            let threshold = generation(&mut a).only_below.unwrap();
            let before = a.current().unwrap().1;
            assert!(threshold >= before);
            a.tell(&[told(threshold)]);
            assert_eq!(a.current().unwrap().1, before, "at the threshold it stays");
            let below = generation(&mut a).only_below.unwrap() - 1e-9;
            a.tell(&[told(below)]);
            assert_eq!(a.current().unwrap().1, below);
        }
    }

    #[test]
    fn cools_and_ends() {
        let settings = AnnealingSettings {
            iterations: 4,
            samples: 3,
            temperature: 8.0,
            cooling: 0.5,
            ..AnnealingSettings::default()
        };
        let mut a = annealing(settings, 1);
        let mut count = 0;
        while let [structure] = &asked(&mut a)[..] {
            assert!(structure.ranks().iter().all(|r| (1..=7).contains(r)));
            a.tell(&[told(1.0)]);
            count += 1;
        }
        assert_eq!((count, a.planned_samples()), (13, Some(13)));
    }
}
