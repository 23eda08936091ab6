//! The sweeps of training, and which hyperparameters they are made with.

use super::TgpError;
use super::adam::Adam;
use super::als;
use super::bound::{Posterior, Problem};
use super::contract::Contraction;
use super::data::Split;
use super::kernel::Kernel;
use super::model::Model;
use super::settings::TrainSettings;
use super::train::{Event, Prepared, Trained, some_rows};
use tnsearch::problem::Stop;

/// All lengths are multiplied by this, or divided.
const STRETCH: f64 = 0.6;
/// Factors tried at most.
const STRETCHES: usize = 6;
/// An improvement by less than this part is none to wait for.
const LITTLE: f64 = 1e-3;

pub(super) struct Run<'a> {
    pub data: &'a Prepared,
    pub settings: &'a TrainSettings,
    pub stop: &'a Stop,
}

/// A model, its error on the validation rows and its bound.
struct Improved {
    mse: f64,
    model: Model,
    /// None where it cannot be told from rounding.
    bound: Option<f64>,
}

impl Run<'_> {
    /// Sweeps until the error on the validation rows stays where it is; then the same with shorter or longer lengths.
    pub fn improve(
        &self,
        begun: Model,
        heard: &mut dyn FnMut(Event<'_>),
    ) -> Result<Trained, TgpError> {
        let Run { data, settings, stop } = *self;
        let given = self.given(&begun)?;
        let fresh = given.is_none();
        let least = given.as_ref().map_or(f64::INFINITY, |g| g.mse);
        let found = self.sweeps(begun, least, settings.patience, heard)?;
        // A model to go on with stays where nothing better was found.
        let found = found.filter(|f| f.mse < least);
        let mut best = found.or(given).ok_or(TgpError::Stopped)?;
        if settings.stretch && fresh {
            for factor in [STRETCH, 1.0 / STRETCH] {
                let mut helped = false;
                for _ in 0..STRETCHES {
                    let mut other = best.model.clone();
                    other.kernel.lengths.iter_mut().for_each(|l| *l *= factor);
                    other.kernel.noise = other.kernel.noise.min(best.mse.sqrt());
                    let Some(found) = self.sweeps(other, best.mse, 1, heard)? else { break };
                    let clearly = found.mse < best.mse * (1.0 - LITTLE);
                    if found.mse < best.mse {
                        best = found;
                    }
                    if !clearly {
                        break;
                    }
                    helped = true;
                }
                if helped {
                    break;
                }
            }
        }
        let Improved { mut model, bound, .. } = best;
        model.figures = Some(data.figures(&model, bound)?);
        let Split { train, validation, test } = &data.split;
        let rows = [train.len(), validation.len(), test.len()];
        Ok(Trained { model, rows, stopped: stop.is_set() })
    }

    /// The model to go on with, measured; none where nothing was swept yet.
    fn given(&self, begun: &Model) -> Result<Option<Improved>, TgpError> {
        if begun.sweeps == 0 {
            return Ok(None);
        }
        let bound = match &begun.figures {
            Some(figures) => figures.bound,
            None => begun.bound(&self.data.train)?.reported,
        };
        let mse = begun.mse(&self.data.validation)?;
        Ok(Some(Improved { mse, model: begun.clone(), bound }))
    }

    /// Sweeps with the model's hyperparameters, until so many have not lowered the error; a model is the best so far where its
    /// error is below `least`, too. The model of the smallest error; none where a stop came before the first sweep was done (of
    /// a new model's very first sweep what there is).
    fn sweeps(
        &self,
        begun: Model,
        least: f64,
        patience: usize,
        heard: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Improved>, TgpError> {
        let Run { data, settings, stop } = *self;
        let structure = begun.mean.structure().clone();
        let mut model = begun;
        let mut sides = model.sides()?;
        let (plan, cores) = model.whitened(&sides)?;
        let mut at = Posterior { cores, roots: model.whitened_roots(&sides) };
        let mut best: Option<Improved> = None;
        let (mut worse, mut adam) = (0, Adam::new(model.kernel.logs().len()));
        for _ in 0..settings.sweeps {
            if worse >= patience || stop.is_set() {
                break;
            }
            let problem = Problem::new(&data.train, &sides, &model.kernel, &plan);
            let phi = data.train.vectors(&sides);
            als::sweep(&problem, &mut at.cores, &phi, model.sweeps % 2 == 1, stop)?;
            if stop.is_set() && (best.is_some() || least.is_finite()) {
                break;
            }
            problem.improve_roots(&mut at.roots)?;
            let bound = problem.bound(&at);
            model.sweeps += 1;
            let made = model.with_posterior(&structure, &plan, &at, &sides)?;
            let mse = made.mse(&data.validation)?;
            let before = best.as_ref().map_or(f64::INFINITY, |b| b.mse);
            worse = if mse < before * (1.0 - LITTLE) { 0 } else { worse + 1 };
            heard(Event::Sweep {
                sweep: model.sweeps,
                bound: bound.reported,
                train_mse: bound.mse,
                validation_mse: mse,
                best: (mse < before.min(least)).then_some(&made),
            });
            if mse < before {
                best = Some(Improved { mse, model: made, bound: bound.reported });
            }
            if settings.bound_steps > 0 {
                self.learn(&mut model, &at, &plan, &mut adam)?;
                sides = model.sides()?;
            }
        }
        Ok(best)
    }

    /// Steps of Adam on the bound by the hyperparameters, each on another minibatch.
    fn learn(
        &self,
        model: &mut Model,
        at: &Posterior,
        plan: &Contraction,
        adam: &mut Adam,
    ) -> Result<(), TgpError> {
        let (rows, settings) = (&self.data.train, self.settings);
        for step in 0..settings.bound_steps {
            if self.stop.is_set() {
                return Ok(());
            }
            let label = format!("tgp batch {} {step}", model.sweeps);
            let batch = some_rows(rows, settings.batch, settings.seed, label.as_bytes());
            let sides = model.sides()?;
            let problem = Problem::new(&batch, &sides, &model.kernel, plan);
            let problem = Problem { weight: rows.len() as f64, ..problem };
            let (_, gradient) = problem.gradient(at);
            let mut logs = model.kernel.logs();
            adam.step(&mut logs, &gradient.logs, settings.rate);
            model.kernel = Kernel::from_logs(&logs);
        }
        Ok(())
    }
}
