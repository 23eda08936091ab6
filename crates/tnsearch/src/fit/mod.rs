//! Fitting the cores of a given structure: minimise `RSE = ||X - Z||^2 / ||X||^2` over the cores.

mod settings;

pub use settings::{CheckedFit, FitSettings, Method};

use crate::graph::ModeGraph;
use crate::tensor::{Tensor, TensorError};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Why a fit could not be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// A setting is out of range.
    #[error("{name} is {value}; {expected}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The tensor cannot be fitted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The structure has another number of modes than the tensor.
    #[error("the structure has {structure} modes, but the tensor has {tensor}")]
    Modes {
        /// Modes of the structure.
        structure: usize,
        /// Modes of the tensor.
        tensor: usize,
    },
    /// The fit would take more memory than it may.
    #[error(
        "fitting this structure needs about {needed} MB of memory, but the limit is {limit} MB"
    )]
    Memory {
        /// Estimated need, in MB.
        needed: u64,
        /// The limit, in MB.
        limit: u64,
    },
    /// The given cores do not fit the structure.
    #[error("warm start: core {vertex} has shape {found:?}, the structure needs {expected:?}")]
    WarmStart {
        /// The vertex of the mode graph.
        vertex: usize,
        /// The shape given.
        found: Vec<usize>,
        /// The shape needed.
        expected: Vec<usize>,
    },
    /// The fit was interrupted before it had a result.
    #[error("interrupted")]
    Interrupted,
}

/// A flag that asks running work to stop soon (Ctrl-C, a deadline). Shared by reference.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    /// A flag that is not set.
    pub const fn new() -> Self {
        Interrupt(AtomicBool::new(false))
    }

    /// Asks for a stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A checked tensor, ready to be fitted many times.
#[derive(Debug, Clone)]
pub struct Target {
    tensor: Tensor,
    norm_squared: f64,
}

impl Target {
    /// Checks the tensor (order, finite, not zero) and keeps its norm.
    pub fn new(tensor: Tensor) -> Result<Self, TensorError> {
        tensor.check()?;
        let norm_squared = tensor.norm_squared();
        Ok(Target { tensor, norm_squared })
    }

    /// The tensor X.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// Its dimensions.
    pub fn dims(&self) -> &[usize] {
        self.tensor.dims()
    }

    /// `||X||_F^2`.
    pub fn norm_squared(&self) -> f64 {
        self.norm_squared
    }
}

/// What a fit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// One core a vertex of the mode graph, shaped as [`ModeGraph::core_dims`].
    pub cores: Vec<Tensor>,
    /// The RSE of these cores, from an explicit residual.
    pub rse: f64,
    /// Sweeps (ALS), steps (Adam) or iterations (LM), over all restarts made.
    pub sweeps: usize,
    /// Restarts made: fewer than asked for when one reached the stopping error.
    pub restarts: usize,
}

/// Fits the cores of `graph` to `target`: the best of several starts.
///
/// The result is a pure function of the target, the graph, the settings and `seed`, whatever the
/// number of threads (unless a time limit or an interrupt cuts it short).
pub fn fit(
    target: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[Tensor]>,
    interrupt: &Interrupt,
) -> Result<Fitted, FitError> {
    let _ = (target, graph, settings, seed, warm, interrupt);
    todo!("the engine is on its way")
}
