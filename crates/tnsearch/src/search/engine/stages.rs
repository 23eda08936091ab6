//! Where the time of a search goes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Instant;

/// A stage of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// The tensor is read, and the shape chosen in which it is searched.
    Reading,
    /// A smaller tensor is sought in its place, and the spectra of cuts are computed.
    Spectra,
    /// Direct methods: a first answer by sketches, structures from truncated SVDs.
    Direct,
    /// Structures that a strategy proposes are fitted: exact search, and the paper's.
    Exact,
    /// Fits that change their structure.
    Walks,
    /// A lower bound is proven when the search is over.
    Proof,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Reading => "reading",
            Stage::Spectra => "spectra",
            Stage::Direct => "direct",
            Stage::Exact => "exact",
            Stage::Walks => "walks",
            Stage::Proof => "proof",
        })
    }
}

/// The seconds that each stage of a search took; those before a resume are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// [`Stage::Reading`].
    pub reading: f64,
    /// [`Stage::Spectra`].
    pub spectra: f64,
    /// [`Stage::Direct`].
    pub direct: f64,
    /// [`Stage::Exact`].
    pub exact: f64,
    /// [`Stage::Walks`].
    pub walks: f64,
    /// [`Stage::Proof`].
    pub proof: f64,
}

impl Stages {
    fn of(&mut self, stage: Stage) -> &mut f64 {
        match stage {
            Stage::Reading => &mut self.reading,
            Stage::Spectra => &mut self.spectra,
            Stage::Direct => &mut self.direct,
            Stage::Exact => &mut self.exact,
            Stage::Walks => &mut self.walks,
            Stage::Proof => &mut self.proof,
        }
    }

    /// Each stage and its seconds, in their order.
    pub fn each(mut self) -> [(Stage, f64); 6] {
        use Stage::{Direct, Exact, Proof, Reading, Spectra, Walks};
        [Reading, Spectra, Direct, Exact, Walks, Proof].map(|stage| (stage, *self.of(stage)))
    }
}

/// Measures the stages: one at a time.
#[derive(Debug, Clone)]
pub struct StageClock {
    stages: Stages,
    now: Stage,
    since: Instant,
}

impl StageClock {
    /// Reading, since that moment.
    pub fn reading_since(begun: Instant) -> Self {
        StageClock { stages: Stages::default(), now: Stage::Reading, since: begun }
    }

    /// From now on it is this stage; whether it was another.
    pub fn enter(&mut self, stage: Stage) -> bool {
        let now = Instant::now();
        *self.stages.of(self.now) += now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        std::mem::replace(&mut self.now, stage) != stage
    }

    /// The seconds of each until now.
    pub fn stages(&mut self) -> Stages {
        self.enter(self.now);
        self.stages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_belongs_to_one_stage() {
        let begun = Instant::now();
        let mut clock = StageClock::reading_since(begun);
        assert!(!clock.enter(Stage::Reading) && clock.enter(Stage::Walks));
        assert!(clock.enter(Stage::Proof) && !clock.enter(Stage::Proof));
        let stages = clock.stages();
        let sum: f64 = stages.each().iter().map(|(_, seconds)| seconds).sum();
        assert!((sum - clock.since.duration_since(begun).as_secs_f64()).abs() < 1e-9);
        assert_eq!((stages.spectra, stages.direct, stages.exact), (0.0, 0.0, 0.0));
        // The names in JSON are those in words.
        let json = serde_json::to_value(stages).unwrap();
        for (stage, seconds) in stages.each() {
            assert_eq!(json[stage.to_string()], seconds);
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.to_string());
        }
    }
}
