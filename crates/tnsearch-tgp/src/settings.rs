//! The settings of training, checked.

use super::data::Shares;
use super::{TgpError, als};
use tnsearch::declare_options;
use tnsearch::options::Takes;

declare_options! {
    /// The settings of training.
    pub struct TrainSettings {
        /// Inducing points of each feature; several numbers, one for each: 12,12,8,4
        inducing: Vec<usize> = vec![8], Takes::Counts, "M", "Model";
        /// The rank of the tensor train
        tt_rank: usize = 10, Takes::Count, "R", "Model";
        /// Sweeps over the cores at most
        sweeps: usize = 20, Takes::Count, "N", "Training";
        #[doc = "Try shorter and longer lengths, which the validation rows decide on: on few rows the evidence likes longer ones \
                 than all rows would bear"]
        stretch: bool = true, Takes::Off, "", "Training";
        /// Rows on which hyperparameters begin, by the exact evidence
        evidence_rows: usize = 1000, Takes::Count, "N", "Training";
        /// Steps of Adam on the bound by all hyperparameters after each sweep (0: as the evidence gave them)
        bound_steps: usize = 0, Takes::Whole, "N", "Training";
        /// Rows of a minibatch of these steps
        batch: usize = 2048, Takes::Count, "N", "Training";
        /// The rate of these steps
        rate: f64 = 0.02, Takes::Real, "RATE", "Training";
        /// Which rows are for what, and where cores begin
        seed: u64 = 0, Takes::Seed, "SEED", "Training";
    }
    and {
        /// Sweeps without a smaller error on the validation rows, after which it ends.
        patience: usize = 2;
        /// Steps of Adam on the evidence; 0: begin with lengths of 2, signal 1 and noise 0.5.
        evidence_steps: usize = 60;
        /// Refuse what needs more memory.
        max_bytes: Option<u64> = None;
    }
}

impl TrainSettings {
    /// How rows are divided.
    pub(super) fn shares(&self) -> Shares {
        Shares::new(self.seed)
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
        if self.tt_rank == 0 {
            return bad("tt-rank", self.tt_rank.to_string(), "it must be at least 1");
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
        let cores = cores.map(|(k, m)| m.saturating_mul(self.tt_rank.saturating_pow(edges(k))));
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
