//! Structures of the mean fitted to the data themselves: what a search of structures asks for here.
//!
//! After sweeps over the training rows ([`als`]) the error of a structure is its mean squared error on the validation rows or,
//! where that is more, on the training rows, raised by the difference that the trained model has: who tries many structures on
//! few validation rows finds one that is good on these alone. Where no data are, the mean does not matter, so structures may be
//! far smaller than those near the mean of the trained model.

use super::TgpError;
use super::als::{self, sweep, values};
use super::bound::Problem;
use super::contract::Contraction;
use super::kernel::{Kernel, Side};
use super::model::Model;
use super::rows::Rows;
use super::train::random_cores;
use tnsearch::fit::{FitError, Fitted, Request};
use tnsearch::graph::ModeGraph;
use tnsearch::problem::Stop;
use tnsearch::search::Evaluator;
use tnsearch::tensor::{AnyTensor, Tensor};

/// Fits cores to rows.
pub(super) struct Fitter {
    pub train: Rows,
    pub validation: Rows,
    pub sides: Vec<Side>,
    pub kernel: Kernel,
    pub dims: Vec<usize>,
    /// Sweeps of one fit at most.
    pub sweeps: usize,
    /// Whether a fit uses all threads.
    pub parallel: bool,
    /// What the trained model's error is more on the validation rows than on these training rows.
    pub raise: f64,
    train_vectors: Vec<Vec<f64>>,
    validation_vectors: Vec<Vec<f64>>,
}

/// Whitened cores and their error.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub cores: Vec<Vec<f64>>,
    pub error: f64,
    pub sweeps: usize,
}

/// A fit ends when a sweep lowers what is minimised by less than this part of it.
const LITTLE: f64 = 1e-3;

impl Fitter {
    pub fn new(
        train: Rows,
        validation: Rows,
        sides: Vec<Side>,
        kernel: Kernel,
        sweeps: usize,
        parallel: bool,
    ) -> Self {
        let dims = sides.iter().map(|s| s.points).collect();
        let (train_vectors, validation_vectors) =
            (train.vectors(&sides), validation.vectors(&sides));
        let raise = 0.0;
        Fitter {
            train,
            validation,
            sides,
            kernel,
            dims,
            sweeps,
            parallel,
            raise,
            train_vectors,
            validation_vectors,
        }
    }

    /// The same, errors compared with those of a trained model.
    pub fn against(mut self, model: &Model) -> Result<Self, TgpError> {
        let (plan, cores) = model.whitened(&self.sides)?;
        let [train, validation] = self.errors(&plan, &cores);
        self.raise = validation - train;
        Ok(self)
    }

    /// The mean squared errors of cores on the training and the validation rows.
    fn errors(&self, plan: &Contraction, cores: &[Vec<f64>]) -> [f64; 2] {
        let of = |rows: &Rows, vectors: &[Vec<f64>]| {
            let g = values(plan, cores, vectors, rows.len(), self.parallel);
            let squares = g.iter().zip(&rows.y).map(|(g, y)| (y - self.kernel.signal * g).powi(2));
            squares.sum::<f64>() / rows.len() as f64
        };
        [of(&self.train, &self.train_vectors), of(&self.validation, &self.validation_vectors)]
    }

    /// Fits a graph, from cores or at random.
    pub fn fit(
        &self,
        plan: &Contraction,
        warm: Option<Vec<Vec<f64>>>,
        seed: u64,
        stop: &Stop,
    ) -> Result<Fit, TgpError> {
        let Fitter { train, sides, kernel, .. } = self;
        let weight = train.len() as f64;
        let problem = Problem { rows: train, sides, kernel, plan, weight, parallel: self.parallel };
        let mut cores = warm.unwrap_or_else(|| random_cores(plan, seed));
        let (mut last, mut sweeps) = (f64::INFINITY, 0);
        while sweeps < self.sweeps && !stop.is_set() {
            sweep(&problem, &mut cores, &self.train_vectors, sweeps % 2 == 1, stop)?;
            sweeps += 1;
            let g = values(plan, &cores, &self.train_vectors, train.len(), self.parallel);
            let now = als::energy(&problem, &cores, &g);
            if now > last * (1.0 - LITTLE) {
                break;
            }
            last = now;
        }
        let [train, validation] = self.errors(plan, &cores);
        let error = validation.max(train + self.raise);
        Ok(Fit { cores, error, sweeps })
    }
}

/// Cores as tensors of a graph.
pub(super) fn tensors(
    graph: &ModeGraph,
    dims: &[usize],
    cores: Vec<Vec<f64>>,
) -> Result<Vec<AnyTensor>, TgpError> {
    let shaped =
        |(v, core): (usize, Vec<f64>)| Ok(Tensor::new(graph.core_dims(v, dims), core)?.into());
    cores.into_iter().enumerate().map(shaped).collect()
}

/// The entries of tensors, which are of 64 bits.
pub(super) fn entries(cores: &[AnyTensor]) -> Option<Vec<Vec<f64>>> {
    cores.iter().map(|c| c.as_f64().map(|t| t.data().to_vec())).collect()
}

impl Evaluator for Fitter {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        // What cannot be contracted or solved is left out of the search.
        let plan = Contraction::new(&request.graph, &self.dims).map_err(|_| FitError::Time)?;
        let warm = request.warm.as_ref().and_then(|cores| entries(cores));
        let fit = self.fit(&plan, warm, request.seed, stop).map_err(|_| FitError::Time)?;
        if stop.is_set() {
            return Err(FitError::Interrupted);
        }
        let cores = tensors(&request.graph, &self.dims, fit.cores).map_err(|_| FitError::Time)?;
        Ok(Fitted {
            cores,
            error: fit.error,
            sweeps: fit.sweeps,
            restarts: 1,
            rescued: false,
            interrupted: false,
            graph: None,
        })
    }
}
