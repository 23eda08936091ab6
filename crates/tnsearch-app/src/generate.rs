//! Tensors that are made: from a hidden network, as in the paper's section 5.1, or an example.

use crate::{Example, ExampleError, Synthetic, SyntheticError};
use serde::Deserialize;
use std::sync::Arc;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::graph::{GraphError, MAX_ORDER, Template, family_list};
use tnsearch::network::{Network, NetworkError};
use tnsearch::tensor::{Tensor, TensorError};
use tnsearch_io::output::{Output, OutputError};
use tnsearch_io::{Dtype, weights, write_tensor};

/// Why no tensor was made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Options that do not go together, or are none.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The template does not go with the order.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The template is not one graph.
    #[error(
        "template {name} stands for many graphs; this needs one: {} or a JSON file",
        family_list()
    )]
    Many {
        /// Its name.
        name: String,
    },
    /// The hidden network.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// The example.
    #[error(transparent)]
    Example(#[from] ExampleError),
    /// Its error on the tensor could not be computed.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Entries are beyond the range of numbers, or vanish.
    #[error("sigma {sigma} does not go: {error}")]
    Sigma {
        /// The standard deviation of the cores' entries.
        sigma: f64,
        /// What is wrong with the tensor.
        error: TensorError,
    },
}

/// Which tensor is made, in the words of users.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedTensor {
    /// The name of an example, which is made from no network.
    pub example: Option<String>,
    /// The number of modes; none: 6, of an example its own.
    pub order: Option<usize>,
    /// The dimension of every mode; none: 3, of an example its own.
    pub dim: Option<usize>,
    /// The dimension of each mode, instead of both.
    pub dims: Vec<usize>,
    /// The smallest and the largest rank; none: 1 and 4.
    pub ranks: Option<(usize, usize)>,
    /// The vertex of mode 0, of mode 1, ...; empty: a random permutation.
    pub perm: Vec<usize>,
    /// The standard deviation of the cores' entries; none: 1.
    pub sigma: Option<f64>,
    /// The signal-to-noise ratio of the noise that is added.
    pub noise_db: Option<f64>,
    /// Same seed, same tensor.
    pub seed: u64,
}

/// A tensor that was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Made {
    /// The tensor.
    pub tensor: Tensor,
    /// What it was made from.
    pub from: From,
}

/// What a tensor was made from.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// A network.
    Hidden {
        /// The network, without noise.
        network: Box<Network>,
        /// Its RSE on the tensor: what the noise takes away.
        rse: f64,
    },
    /// No network.
    Example(Example),
}

impl AskedTensor {
    /// The example asked for.
    fn example(&self) -> Result<Option<Example>, GenerateError> {
        let Some(name) = &self.example else { return Ok(None) };
        let hidden = [
            ("ranks", self.ranks.is_some()),
            ("perm", !self.perm.is_empty()),
            ("sigma", self.sigma.is_some()),
            ("noise-db", self.noise_db.is_some()),
        ];
        if let Some((option, _)) = hidden.into_iter().find(|(_, given)| *given) {
            let expected = format!("--{option} belongs to a hidden network; leave one of them out");
            return Err(SettingError::new("example", name.clone(), expected).into());
        }
        Ok(Some(name.parse()?))
    }

    /// The dimensions of the tensor.
    pub fn dims(&self) -> Result<Vec<usize>, GenerateError> {
        let usual = self.example()?.map_or((6, 3), |e| (e.order(), e.dim()));
        if self.dims.is_empty() {
            let (order, dim) = (self.order.unwrap_or(usual.0), self.dim.unwrap_or(usual.1));
            if order > MAX_ORDER {
                let expected = format!("at most {MAX_ORDER} are possible");
                return Err(SettingError::new("order", order, expected).into());
            }
            return Ok(vec![dim; order]);
        }
        if self.order.is_some() || self.dim.is_some() {
            let expected = "it says all of --order and --dim; leave these out";
            return Err(SettingError::new("dims", format!("{:?}", self.dims), expected).into());
        }
        Ok(self.dims.clone())
    }

    /// Makes the tensor; from a network of this template, a ring where it is none.
    ///
    /// ```
    /// use tnsearch_app::generate::AskedTensor;
    /// let asked = AskedTensor { order: Some(4), seed: 1, ..AskedTensor::default() };
    /// assert_eq!(asked.make(None).unwrap().tensor.dims(), [3; 4]);
    /// ```
    pub fn make(&self, template: Option<Template>) -> Result<Made, GenerateError> {
        let dims = self.dims()?;
        if let Some(example) = self.example()? {
            if template.is_some() {
                let expected = "a template is that of a hidden network; leave one of them out";
                return Err(SettingError::new("example", example.name(), expected).into());
            }
            let tensor = example.make(&dims, self.seed)?;
            return Ok(Made { tensor, from: From::Example(example) });
        }
        let template = template.map_or_else(|| Template::ring(dims.len()), Ok)?;
        if template.is_formats() || template.is_any_tree() || template.is_any() {
            return Err(GenerateError::Many { name: template.name().to_owned() });
        }
        let sigma = self.sigma.unwrap_or(1.0);
        let recipe = Synthetic::new(Arc::new(template), dims, self.ranks.unwrap_or((1, 4)));
        let made = recipe.with(|s| {
            s.permutation = (!self.perm.is_empty()).then(|| self.perm.clone());
            (s.sigma, s.noise_db) = (sigma, self.noise_db);
        });
        let made = made.generate(self.seed)?;
        made.tensor.check().map_err(|error| GenerateError::Sigma { sigma, error })?;
        let rse = match self.noise_db {
            None => 0.0,
            Some(_) => {
                let clean = made.network.to_tensor(None)?;
                let clean = clean.as_f64().map(|z| z.data()).unwrap_or_default();
                let noise = made.tensor.data().iter().zip(clean).map(|(x, z)| (x - z).powi(2));
                noise.sum::<f64>() / made.tensor.norm_squared()
            }
        };
        let from = From::Hidden { network: Box::new(made.network), rse };
        Ok(Made { tensor: made.tensor, from })
    }
}

impl Made {
    /// Writes the tensor: .npy, or an example as a .safetensors of one tensor `weight`.
    pub fn write(&self, output: &Output) -> Result<(), OutputError> {
        let weights = output.path().extension().is_some_and(|e| e == "safetensors");
        match self.from {
            From::Example(_) if weights => {
                weights::write(output, &[("weight", &self.tensor)], Dtype::F32)
            }
            _ => write_tensor(output, &self.tensor.clone().into()),
        }
    }
}
