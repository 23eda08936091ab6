//! The tensors of the experiments.

use super::ReproduceError;
use super::pictures::{Scene, Shot};
use super::processes::{Ready, Study};
use std::sync::Arc;
use tnsearch::graph::Template;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch_app::Synthetic;

/// One tensor: generated (the paper's trials A, B, C, ...), a picture, or the mean of a model.
#[derive(Debug)]
pub struct Trial {
    /// The format, which is the template of the searches too.
    pub template: Arc<Template>,
    /// The number of the trial, from 0.
    pub number: usize,
    /// The tensor.
    pub target: Target,
    /// The parameters of the structure it was generated from: Eff. is these / those found. Of a picture its entries.
    pub hidden_params: u128,
    pub(super) scene: Option<Scene>,
    pub(super) process: Option<Arc<Ready>>,
}

impl Trial {
    /// What is asked of it. With holes the paper's loss is `phi + lambda ||P(X - Z)||^2`, not relative to `||P(X)||^2`.
    pub(super) fn objective(&self, objective: Objective) -> Objective {
        match (objective, self.scene.as_ref().and_then(Scene::weight)) {
            (Objective::Lambda(lambda), Some(weight)) => Objective::Lambda(lambda * weight),
            _ => objective,
        }
    }
}

/// Where a tensor comes from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A network.
    Hidden(Recipe),
    /// A picture.
    Picture(Arc<Shot>),
    /// The mean of a Gaussian process.
    Process(Arc<Study>),
}

impl Source {
    /// The tensor of a trial.
    pub fn trial(&self, seed: u64, number: usize, stop: &Stop) -> Result<Trial, ReproduceError> {
        let shot = match self {
            Source::Hidden(recipe) => return recipe.generate(seed, number),
            Source::Process(study) => return mean_of(study, number, stop),
            Source::Picture(shot) => shot,
        };
        // What is removed is the same for every method.
        let seed = tnsearch::rng::derived_seed(seed, 100_000 + number);
        let (scene, target) = Scene::new(shot, seed)?;
        let template = Arc::new(Template::ring(target.dims().len())?);
        let hidden_params = target.entries() as u128;
        Ok(Trial { template, number, target, hidden_params, scene: Some(scene), process: None })
    }
}

/// The tensor of a model's mean.
fn mean_of(study: &Study, number: usize, stop: &Stop) -> Result<Trial, ReproduceError> {
    let ready = study.ready(stop)?;
    let target = Target::new(ready.tensor()?).map_err(tnsearch::fit::FitError::from)?;
    let template = Arc::new(Template::ring(target.dims().len())?);
    let hidden_params = target.entries() as u128;
    let process = Some(ready);
    Ok(Trial { template, number, target, hidden_params, scene: None, process })
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
        Ok(Trial { template, number, target, hidden_params, scene: None, process: None })
    }
}

/// A, B, C, ... and from the 27th on a number.
pub(super) fn letter(number: usize) -> String {
    match u8::try_from(number).ok().filter(|n| *n < 26) {
        Some(n) => char::from(b'A' + n).to_string(),
        None => (number + 1).to_string(),
    }
}
