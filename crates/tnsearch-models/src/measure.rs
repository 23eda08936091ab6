//! The loss of models that are written for it, measured by a command: how far compression may go.

use super::error::ModelError;
use super::front::Recipe;
use super::job::{Evaluate, Event, FINEST, Job, Record, Trial, dense_bytes};
use super::selection::Selection;
use std::io::Write;
use std::path::{Path, PathBuf};
use tnsearch::tensor::Scalar;
use tnsearch_io::lines::LinesFile;
use tnsearch_io::weights::{self, PartFile, header_bytes};

/// Models that are measured at most, the uncompressed one not counted.
const TRIALS: usize = 8;

/// The file that is measured, beside the output.
pub fn trial_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".trial.safetensors");
    name.into()
}

impl Job<'_> {
    /// Finds the largest error with which the measured loss rises by no more than it may: what is chosen, and the error.
    pub(super) fn measured(
        &self,
        selection: &Selection<'_>,
        rise: f64,
        evaluate: Evaluate<'_>,
        (trials, journal): (&mut Vec<Trial>, &mut LinesFile),
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Vec<Recipe>, f64), ModelError> {
        let mut known = trials.clone().into_iter();
        // The uncompressed model was measured before anything else.
        let Some((first, base)) = known.next().and_then(|t| t.loss.map(|loss| (t, loss))) else {
            return Err(ModelError::Evaluation("it was not measured".to_owned()));
        };
        let mut measure = |re: f64,
                           path: &dyn Fn() -> Result<PathBuf, ModelError>,
                           trials: &mut Vec<Trial>,
                           tell: &mut dyn FnMut(Event<'_>)| {
            if let Some(trial) = known.next() {
                return Ok::<Trial, ModelError>(trial);
            }
            tell(Event::Measuring { re });
            let result = evaluate(&path()?);
            if self.stop.is_set() {
                return Err(ModelError::Interrupted);
            }
            let (loss, failed) = match result {
                Ok(loss) => (Some(loss), None),
                Err(said) => (None, Some(said)),
            };
            let trial = Trial { re, loss, failed };
            trials.push(trial.clone());
            journal.append(&Record::Trial(trial.clone()))?;
            journal.sync()?;
            Ok(trial)
        };
        tell(Event::Trial(&first));
        let (mut good, mut bad) = (FINEST, 1.0f64);
        let mut best = vec![Recipe::Dense; selection.layers.len()];
        for trial in 0..TRIALS {
            // The finest first: where that is too much, nothing will do.
            let re = if trial == 0 { FINEST } else { (good * bad).sqrt() };
            let chosen = selection.within_re(re);
            // What is known to do is not measured again.
            if chosen == best {
                good = re;
                continue;
            }
            let path = trial_path(self.output);
            let made = || {
                self.write_dense(selection, &chosen, &path)?;
                Ok(path.clone())
            };
            let found = measure(re, &made, trials, tell);
            weights::discard(&path);
            let found = found?;
            tell(Event::Trial(&found));
            match found.loss.is_some_and(|loss| loss <= base + rise) {
                true => (good, best) = (re, chosen),
                false if trial == 0 => return Ok((best, good)),
                false => bad = re,
            }
        }
        Ok((best, good))
    }

    /// Writes the model with the layers as they would be: dense.
    fn write_dense(
        &self,
        selection: &Selection<'_>,
        chosen: &[Recipe],
        path: &Path,
    ) -> Result<(), ModelError> {
        let header = header_bytes(self.file.entries(), self.file.notes());
        let mut part = PartFile::begin(path, &header)?;
        match self.fill_dense(selection, chosen, &mut part) {
            Ok(()) => Ok(part.finish()?),
            Err(e) => {
                part.discard();
                Err(e)
            }
        }
    }

    fn fill_dense(
        &self,
        selection: &Selection<'_>,
        chosen: &[Recipe],
        part: &mut PartFile,
    ) -> Result<(), ModelError> {
        for index in 0..self.file.entries().len() {
            let at = selection.layers.iter().position(|l| l.index == index);
            match at.filter(|&k| chosen[k] != Recipe::Dense) {
                None => self.copy(index, part)?,
                Some(k) => {
                    let bytes = match selection.layers[k].is_wide() {
                        true => self.dense_bytes::<f64>(selection, k, chosen[k])?,
                        false => self.dense_bytes::<f32>(selection, k, chosen[k])?,
                    };
                    part.write_all(&bytes).map_err(|e| part.failed(&e))?;
                }
            }
        }
        Ok(())
    }

    fn dense_bytes<T: Scalar>(
        &self,
        selection: &Selection<'_>,
        k: usize,
        recipe: Recipe,
    ) -> Result<Vec<u8>, ModelError> {
        let terms = self.terms::<T>(selection, k, recipe)?;
        dense_bytes(&terms, selection.layers[k].entries() as usize, selection.layers[k].dtype)
    }
}
