//! The settings of training, checked.

use super::data::Shares;
use super::{TgpError, als};

/// The settings of training.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainSettings {
    /// The inducing points of each feature; one number for all of them, or one for each.
    pub inducing: Vec<usize>,
    /// The rank of every edge of the train.
    pub rank: usize,
    /// Sweeps over the cores at most.
    pub sweeps: usize,
    /// Sweeps without a smaller error on the validation rows, after which it ends.
    pub patience: usize,
    /// Whether all lengths are made shorter or longer by one factor as long as that lowers the validation error: on few rows
    /// the evidence likes longer ones than all rows would bear.
    pub stretch: bool,
    /// Rows that the evidence is computed on, at the beginning.
    pub evidence_rows: usize,
    /// Steps of Adam on that evidence; 0: begin with lengths of 2, signal 1 and noise 0.5.
    pub evidence_steps: usize,
    /// Rows of a minibatch of the bound.
    pub batch: usize,
    /// Steps of Adam on the bound after each sweep; 0: hyperparameters stay as the evidence gave them.
    pub bound_steps: usize,
    /// Their rate.
    pub rate: f64,
    /// How rows are divided.
    pub shares: Shares,
    /// Refuse what needs more memory.
    pub max_bytes: Option<u64>,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            inducing: vec![8],
            rank: 10,
            sweeps: 20,
            patience: 2,
            stretch: true,
            evidence_rows: 1000,
            evidence_steps: 60,
            batch: 2048,
            bound_steps: 0,
            rate: 0.02,
            shares: Shares::new(0),
            max_bytes: None,
        }
    }
}

impl TrainSettings {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The points of every feature, checked.
    pub(super) fn points(&self, features: usize, rows: usize) -> Result<Vec<usize>, TgpError> {
        let points = match self.inducing.as_slice() {
            [one] => vec![*one; features],
            many if many.len() == features => many.to_vec(),
            many => return Err(TgpError::Points { given: many.len(), features }),
        };
        for &m in &points {
            if m < 2 {
                let expected = "a feature needs at least 2 points (4 for interpolation by cubics without its ends)";
                return Err(TgpError::Setting { name: "inducing", value: m.to_string(), expected });
            }
            if m > rows {
                return Err(TgpError::ManyPoints { points: m, rows });
            }
        }
        Ok(points)
    }

    pub(super) fn check(&self) -> Result<(), TgpError> {
        let bad = |name, value: String, expected| Err(TgpError::Setting { name, value, expected });
        if self.rank == 0 {
            return bad("tt-rank", self.rank.to_string(), "it must be at least 1");
        }
        if self.sweeps == 0 {
            return bad("sweeps", self.sweeps.to_string(), "it must be at least 1");
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            return bad("rate", self.rate.to_string(), "it must be above 0 and at most 1");
        }
        if self.batch == 0 {
            return bad("batch", self.batch.to_string(), "it must be at least 1");
        }
        if self.evidence_rows < 2 {
            return bad("evidence-rows", self.evidence_rows.to_string(), "it must be at least 2");
        }
        Ok(())
    }

    /// Refuses what takes too much memory: vectors of all rows, the normal equations of the largest core, and before these the
    /// evidence of so many rows, with three square matrices.
    pub(super) fn check_memory(
        &self,
        points: &[usize],
        rows: usize,
        evidence: usize,
    ) -> Result<(), TgpError> {
        let numbers: usize = points.iter().map(|m| m + 5).sum::<usize>().saturating_mul(rows);
        // A core has two edges, the first and the last one.
        let last = points.len() - 1;
        let edges = |k: usize| u32::from(k > 0) + u32::from(k < last);
        let cores = points.iter().enumerate();
        let cores = cores.map(|(k, m)| m.saturating_mul(self.rank.saturating_pow(edges(k))));
        let core = cores.max().unwrap_or(0);
        if core > als::LARGEST_CORE {
            return Err(TgpError::Core { params: core });
        }
        // The matrix of the core, its factor, and the sums of all parts.
        let squares = 8 * (core as u128).pow(2);
        let sums = (16 * squares).min(als::SUMS as u128).max(squares);
        let evidence = 24 * (evidence as u128).pow(2);
        let needed = 16 * numbers as u128 + evidence.max(2 * squares + 2 * sums);
        match self.max_bytes.filter(|&limit| needed > u128::from(limit)) {
            Some(limit) => Err(TgpError::Memory { needed, limit }),
            None => Ok(()),
        }
    }
}
