//! The tensors of the experiments.

use super::ReproduceError;
use crate::Synthetic;
use std::sync::Arc;
use tnsearch::graph::Template;
use tnsearch::problem::Target;

/// One generated tensor: the paper's trials A, B, C, ...
#[derive(Debug)]
pub struct Trial {
    /// The format, which is the template of the searches too.
    pub template: Arc<Template>,
    /// The number of the trial, from 0.
    pub number: usize,
    /// The tensor.
    pub target: Target,
    /// The parameters of the structure it was generated from: Eff. is these / those found.
    pub hidden_params: u128,
}

/// What a trial is generated from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    /// The template as the user names it.
    pub template: &'static str,
    pub order: usize,
    pub dim: usize,
    pub ranks: (usize, usize),
    pub sigma: f64,
}

impl Recipe {
    /// The paper's TT/TR data: dimension 3, ranks 1 to 4, cores N(0, 1).
    pub const fn ring(order: usize) -> Self {
        Recipe { template: "ring", order, dim: 3, ranks: (1, 4), sigma: 1.0 }
    }

    /// The paper's other formats: the same with cores N(0, 0.1), which we read as the variance.
    pub const fn other(template: &'static str, order: usize) -> Self {
        Recipe { template, order, dim: 3, ranks: (1, 4), sigma: 0.316_227_766_016_837_94 }
    }

    /// The tensor of a trial.
    pub fn generate(&self, seed: u64, number: usize) -> Result<Trial, ReproduceError> {
        let template = Arc::new(Template::parse(self.template, self.order)?);
        let recipe = Synthetic::new(template.clone(), vec![self.dim; self.order], self.ranks)
            .with(|s| s.sigma = self.sigma);
        // A seed of its own for every tensor; searches draw from other streams.
        let seed = tnsearch::rng::derived_seed(seed, 1000 * self.order + number);
        let made = recipe.generate(seed)?;
        let hidden_params = made.network.params();
        let target = Target::new(made.tensor).map_err(tnsearch::fit::FitError::from)?;
        Ok(Trial { template, number, target, hidden_params })
    }
}

/// A, B, C, ... and from the 27th on a number.
pub(super) fn letter(number: usize) -> String {
    match u8::try_from(number).ok().filter(|n| *n < 26) {
        Some(n) => char::from(b'A' + n).to_string(),
        None => (number + 1).to_string(),
    }
}
