//! Tensors as users have them: a ground state, functions on grids, a noisy field, a long signal. Not made from
//! networks, so that no structure is exact; each is a function of its size and a seed.

mod functions;
mod heisenberg;

use crate::synthetic::refuse_large;
use crate::{SyntheticError, synthetic};
use std::str::FromStr;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::rng::stream;
use tnsearch::tensor::{Tensor, size};

/// Which tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Example {
    /// The ground state of the periodic Heisenberg chain, by the Lanczos method; modes shuffled.
    Heisenberg,
    /// `1/(0.2 + (a-d)^2) + sin(6 b e + c) + exp(-3 |c - a b|)` on a grid of five modes.
    Smooth,
    /// Six moving blobs and a wave, sampled in space and time, with noise of a thousandth; four modes.
    Field,
    /// A smooth signal of 2^order samples with noise of 0.2 %, as a tensor of modes of size 2; modes shuffled.
    Signal,
    /// A matrix like the weights of a trained layer: singular values that fall as a power, and noise below them.
    Weights,
    /// A matrix like a layer with structure: singular values that fall as 1/k, and a Kronecker product as loud.
    Layer,
}

/// Why an example could not be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ExampleError {
    /// The tensor is too large.
    #[error(transparent)]
    Size(#[from] SyntheticError),
    /// The example has no such shape.
    #[error("a {example} example has {expected}, not dimensions {dims:?}")]
    Shape {
        /// Its name.
        example: &'static str,
        /// What would be right.
        expected: &'static str,
        /// The dimensions given.
        dims: Vec<usize>,
    },
}

impl Example {
    /// All of them, by name.
    pub const ALL: [(&'static str, Example); 6] = [
        ("heisenberg", Example::Heisenberg),
        ("smooth", Example::Smooth),
        ("field", Example::Field),
        ("signal", Example::Signal),
        ("weights", Example::Weights),
        ("layer", Example::Layer),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Example::ALL.iter().find(|(_, example)| *example == self).map_or("", |(name, _)| name)
    }

    /// How many modes it has where nothing else is asked for.
    pub fn order(self) -> usize {
        match self {
            Example::Heisenberg => 12,
            Example::Smooth => 5,
            Example::Field => 4,
            Example::Signal => 16,
            Example::Weights | Example::Layer => 2,
        }
    }

    /// The size of its modes where nothing else is asked for.
    pub fn dim(self) -> usize {
        match self {
            Example::Heisenberg | Example::Signal => 2,
            Example::Smooth => 16,
            Example::Field => 32,
            Example::Weights | Example::Layer => 256,
        }
    }

    /// The tensor of these dimensions and seed.
    ///
    /// ```
    /// use tnsearch_app::Example;
    /// let smooth = Example::Smooth.make(&[4; 5], 0).unwrap();
    /// assert_eq!(smooth.data()[0], 5.0 + 0.0 + 1.0);
    /// assert!(Example::Heisenberg.make(&[3; 4], 0).is_err());
    /// ```
    pub fn make(self, dims: &[usize], seed: u64) -> Result<Tensor, ExampleError> {
        let fits = match self {
            Example::Heisenberg => dims.iter().all(|&d| d == 2) && (3..=20).contains(&dims.len()),
            Example::Smooth => dims.len() == 5 && dims.iter().all(|&d| d > 1),
            Example::Field => dims.len() == 4 && dims.iter().all(|&d| d > 1),
            Example::Signal => dims.iter().all(|&d| d == 2) && dims.len() > 1,
            Example::Weights | Example::Layer => dims.len() == 2,
        };
        if !fits {
            let expected = match self {
                Example::Heisenberg => "3 to 20 modes of size 2",
                Example::Smooth => "five modes of at least size 2",
                Example::Field => "four modes of at least size 2",
                Example::Signal => "modes of size 2",
                Example::Weights | Example::Layer => "two modes",
            };
            return Err(ExampleError::Shape {
                example: self.name(),
                expected,
                dims: dims.to_vec(),
            });
        }
        refuse_large("the tensor", size(dims))?;
        Ok(match self {
            Example::Heisenberg => shuffled(dims, heisenberg::ground_state(dims.len()), seed),
            Example::Smooth => functions::smooth(dims),
            Example::Field => functions::field(dims, seed),
            Example::Weights => functions::weights(dims[0], dims[1], seed),
            Example::Layer => functions::layer(dims[0], dims[1], seed),
            Example::Signal => shuffled(dims, functions::signal(dims.len(), seed), seed),
        })
    }
}

impl FromStr for Example {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let found = Example::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, it)| it);
        let use_ = || format!("use {}", Example::ALL.map(|(name, _)| name).join(", "));
        found.ok_or_else(|| SettingError::new("example", format!("'{text}'"), use_()))
    }
}

/// Entries in their natural order as a tensor whose modes were shuffled.
fn shuffled(dims: &[usize], entries: Vec<f64>, seed: u64) -> Tensor {
    let mut rng = stream(seed, b"example order");
    let order = synthetic::shuffle((0..dims.len()).collect(), &mut rng);
    let tensor = Tensor::new(dims.to_vec(), entries).unwrap_or_else(|e| unreachable!("{e}"));
    tensor.permuted(&order)
}
