//! The state after each generation, for the journal.

use super::Search;
use crate::search::GenerationRecord;

impl Search<'_, '_> {
    /// Writes the state after a generation to the journal. A journal that fails is given up; the search
    /// goes on.
    pub(super) fn record_generation(&mut self) {
        let Some(journal) = &mut self.runner.journal else { return };
        let proven = self.runner.runs.iter().filter_map(|run| run.strategy.lower_bound());
        let proven = proven.filter(|b| b.is_finite()).reduce(f64::max);
        let objective = self.runner.objective.get();
        let record = GenerationRecord {
            number: self.generation,
            counts: self.ledger.counts,
            lower_bound: proven.map(|value| objective.lower_bound(value)),
            seconds: self.before + self.begun.elapsed().as_secs_f64(),
        };
        if let Err(error) = journal.generation(&record) {
            self.runner.journal = None;
            self.journal_error = Some(error);
        }
    }
}
