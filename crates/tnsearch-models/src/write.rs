//! The cores of what was chosen, written layer by layer, and gone on with.

use super::error::ModelError;
use super::front::{self, Recipe, TermShape};
use super::job::{Done, Ended, Event, Job, Record, forget};
use super::layer::Layer;
use super::manifest::{KEY, Manifest};
use super::metric::norm_squared;
use super::outcome::within;
use super::selection::Selection;
use super::term::Term;
use std::io::Write;
use tnsearch::tensor::{Scalar, Tensor};
use tnsearch_io::Problem;
use tnsearch_io::lines::LinesFile;
use tnsearch_io::weights::{self, Entry, PartFile, header_bytes};

impl Job<'_> {
    /// The terms of a layer, their cores rounded as they are written.
    pub(super) fn terms<T: Scalar>(
        &self,
        selection: &Selection<'_>,
        k: usize,
        recipe: Recipe,
    ) -> Result<Vec<Term<T>>, ModelError> {
        let layer = &selection.layers[k];
        let metric = self.metric::<T>(layer)?;
        let w: Vec<T> = self.file.read(layer.index)?;
        let how = (&selection.fronts[k], recipe, selection.reaches[k]);
        let terms = front::terms(w, layer, metric.as_ref(), &self.settings, how, self.stop);
        let mut terms = terms.ok_or_else(|| self.ended(layer))?;
        let shapes = selection.fronts[k].terms(recipe, layer);
        let planned = shapes.iter().flat_map(|t| &t.cores);
        let mut count = 0;
        for (core, planned) in terms.iter_mut().flat_map(|t| &mut t.cores).zip(planned) {
            let found = core.dims();
            if found != planned {
                // Ranks that came out smaller than planned are filled with zeros: the file's header is as planned.
                let smaller = found.len() == planned.len()
                    && found.iter().zip(planned).all(|(found, planned)| found <= planned);
                if !smaller {
                    return Err(self.ended(layer));
                }
                *core = core.widened(planned.clone(), || T::ZERO);
            }
            core.data_mut().iter_mut().for_each(|x| *x = weights::rounded(layer.cores, *x));
            if !core.data().iter().all(|x| x.is_finite()) {
                return Err(self.too_coarse(layer));
            }
            count += 1;
        }
        match count == shapes.iter().map(|t| t.cores.len()).sum::<usize>() {
            true => Ok(terms),
            false => Err(self.ended(layer)),
        }
    }

    /// The cores of a layer cannot be written as the numbers asked for.
    fn too_coarse(&self, layer: &Layer) -> ModelError {
        let cores = layer.cores.stored().to_lowercase();
        ModelError::Cores { layer: weights::shown(&layer.name), cores }
    }

    /// The layer less its terms.
    fn rest<T: Scalar>(&self, layer: &Layer, terms: &[Term<T>]) -> Result<Vec<T>, ModelError> {
        let mut w: Vec<T> = self.file.read(layer.index)?;
        for term in terms {
            term.add_to(&mut w, -1.0)?;
        }
        Ok(w)
    }

    pub(super) fn copy(&self, index: usize, part: &mut PartFile) -> Result<(), ModelError> {
        self.file.copy(index, part).map_err(|e| part.failed(&e).into())
    }

    /// Writes the file, tensor by tensor, going on behind those that are done. Every layer is confirmed before it is written:
    /// one whose cores lose more than the cap ends the writing.
    pub(super) fn write(
        &self,
        selection: &Selection<'_>,
        (chosen, cap): (&[Recipe], Option<f64>),
        (journal, done): (&mut LinesFile, Vec<Done>),
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, ModelError> {
        let shapes: Vec<(&Layer, Vec<TermShape>)> = (0..selection.layers.len())
            .map(|k| {
                (&selection.layers[k], selection.fronts[k].terms(chosen[k], &selection.layers[k]))
            })
            .collect();
        let (manifest, entries) = Manifest::plan(self.file, &shapes);
        let mut notes = self.file.notes().clone();
        notes.insert(KEY.to_owned(), serde_json::to_string(&manifest).unwrap_or_default());
        let header = header_bytes(&entries, &notes);
        let resumed = done.last().and_then(|d| PartFile::resume(self.output, &header, d.length));
        let (mut part, mut done) = match resumed {
            Some(part) => (part, done),
            None => (PartFile::begin(self.output, &header)?, Vec::new()),
        };
        let count = self.file.entries().len();
        for index in done.len()..count {
            let at = selection.layers.iter().position(|l| l.index == index);
            let mut one = Done { index, length: 0, error: 0.0, weighted: 0.0, norm: 0.0 };
            match at {
                None => self.copy(index, &mut part)?,
                Some(k) => {
                    let layer = &selection.layers[k];
                    tell(Event::Layer {
                        layer,
                        number: k,
                        of: selection.layers.len(),
                        writing: true,
                    });
                    let how = (chosen[k], cap);
                    let confirmed = match layer.is_wide() {
                        true => {
                            self.write_layer::<f64>(selection, k, how, (&mut part, &mut one))?
                        }
                        false => {
                            self.write_layer::<f32>(selection, k, how, (&mut part, &mut one))?
                        }
                    };
                    if let Err(re) = confirmed {
                        return Ok(Ended::Over { layer: k, re });
                    }
                }
            }
            // On the disk before the journal says so.
            part.sync()?;
            one.length = part.length();
            journal.append(&Record::Done(one.clone()))?;
            journal.sync()?;
            done.push(one);
            if self.stop.is_set() && index + 1 < count {
                return Err(ModelError::Interrupted);
            }
        }
        // What the header promises is there.
        let promised = header.len() as u64 + entries.iter().map(Entry::bytes).sum::<u64>();
        if part.length() != promised {
            drop(part);
            forget(self.output);
            let found = format!(
                "it came out with {} bytes instead of {promised}",
                done.last().map_or(0, |d| d.length)
            );
            return Err(Problem::Damaged(found).of(self.output).into());
        }
        part.finish()?;
        Ok(Ended::Whole(done))
    }

    /// Writes a layer whose cores, read from the bytes that are to be written, lose no more than they may; else says what
    /// they lose, and writes nothing.
    fn write_layer<T: Scalar>(
        &self,
        selection: &Selection<'_>,
        k: usize,
        (recipe, cap): (Recipe, Option<f64>),
        (part, one): (&mut PartFile, &mut Done),
    ) -> Result<Result<(), f64>, ModelError> {
        let (layer, front) = (&selection.layers[k], &selection.fronts[k]);
        one.norm = norm_squared(&self.file.read::<T>(layer.index)?, None);
        if recipe == Recipe::Dense {
            return self.copy(layer.index, part).map(Ok);
        }
        let mut terms = self.terms::<T>(selection, k, recipe)?;
        let mut bytes = Vec::new();
        for core in terms.iter_mut().flat_map(|t| &mut t.cores) {
            let start = bytes.len();
            weights::encode(layer.cores, core.data(), &mut bytes);
            let read: Vec<T> = weights::decode(layer.cores, &bytes[start..]);
            *core = Tensor::new(core.dims().to_vec(), read).map_err(|_| self.ended(layer))?;
        }
        let rest = self.rest(layer, &terms)?;
        drop(terms);
        let metric = self.metric::<T>(layer)?;
        one.error = norm_squared(&rest, None);
        one.weighted = norm_squared(&rest, metric.as_ref());
        drop(rest);
        // What rounding may add is far below; numbers too small for their type vanish.
        if one.weighted > 2.0 * selection.point(k, recipe).error + 1e-3 * front.norm {
            return Err(self.too_coarse(layer));
        }
        let re = if front.norm > 0.0 { (one.weighted / front.norm).sqrt() } else { 0.0 };
        if cap.is_some_and(|cap| !within(re, cap)) {
            return Ok(Err(re));
        }
        part.write_all(&bytes).map_err(|e| part.failed(&e))?;
        Ok(Ok(()))
    }
}
