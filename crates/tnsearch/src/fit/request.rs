//! A fit as a value that can be sent anywhere: to a thread, to another process, to another machine.

use super::{Adapt, CheckedFit};
use crate::graph::ModeGraph;
use crate::tensor::AnyTensor;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How much work a fit is worth.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// One start, to sort out what is easy.
    Quick,
    /// Truncated SVDs, and sweeps from there: never worse than what the SVDs give.
    Direct,
    /// All the starts that the fit's settings ask for.
    #[default]
    Full,
    /// A walk that may change the structure: its ranks, its edges and where its modes sit ([`Adapt`]).
    Adapt,
}

impl Effort {
    /// Whether it is [`Effort::Full`].
    pub fn is_full(&self) -> bool {
        *self == Effort::Full
    }
}

/// Which structure is to be fitted, and how. The result is a pure function of the request and the data, wherever
/// it is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The structure, in its canonical form.
    pub graph: ModeGraph,
    /// How it is fitted.
    pub settings: Arc<CheckedFit>,
    /// The seed of the random starts.
    pub seed: u64,
    /// How much work it is worth.
    pub effort: Effort,
    /// The cores at which the first start begins, shaped as [`ModeGraph::core_dims`]; none: at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Arc<Vec<AnyTensor>>>,
    /// How the structure may be changed, where the effort is [`Effort::Adapt`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<Arc<Adapt>>,
    /// Only this one of the starts, and no rescue: a part of the fit, to be put together with the others by
    /// [`Fitted::best_of`](super::Fitted::best_of); none: the whole fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// The fingerprint of the data it is about, where the request leaves the process that holds the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl Request {
    /// A full fit from random cores.
    pub fn new(graph: ModeGraph, settings: impl Into<Arc<CheckedFit>>, seed: u64) -> Self {
        Request {
            graph,
            settings: settings.into(),
            seed,
            effort: Effort::Full,
            warm: None,
            adapt: None,
            start: None,
            data: None,
        }
    }

    /// The same with a first start that begins at these cores.
    pub fn beginning_at(self, cores: impl Into<Arc<Vec<AnyTensor>>>) -> Self {
        Request { warm: Some(cores.into()), ..self }
    }
}
