//! The whole way from a tensor to what its file holds.

use super::{
    Candidate, Goal, GoalError, Scale, default_template, direct, distance_as_written,
    distance_squared,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;
use tnsearch::decompose::Limits;
use tnsearch::graph::{GraphError, Template};
use tnsearch::network::{ClaimError, Network, NetworkError};
use tnsearch::problem::{CheckedObjective, Stop, Target};
use tnsearch::search::{Listener, Search, SearchError, SearchSettings, StoppedBy};
use tnsearch::tensor::{AnyTensor, Reshape, TensorError};
use tnsearch::{MemoryError, SettingError};
use tnsearch_io::network::Origin;
use tnsearch_io::{Dtype, Precision, PrecisionError};

/// Why nothing was compressed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompressError {
    /// What is asked for cannot be reached.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The template does not go with the tensor.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A network could not be made or contracted.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The network is not what it should be.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A tensor is wrong.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The cores cannot be had in that precision.
    #[error("--cores {precision}: {error}")]
    Precision {
        /// The precision.
        precision: Precision,
        /// Why.
        error: PrecisionError,
    },
    /// There is no network to be had.
    #[error("nothing was found: {0}")]
    Nothing(&'static str),
    /// It was interrupted before there was a network.
    #[error("interrupted")]
    Interrupted,
}

/// How a tensor is to be compressed.
#[derive(Debug, Clone)]
pub struct CompressSettings {
    /// What is to be reached; none: 30 dB for pictures, an RE of 0.01 for arrays.
    pub goal: Option<Goal>,
    /// The format; none: several, of which the best is chosen.
    pub template: Option<Arc<Template>>,
    /// The numbers in the file.
    pub cores: Precision,
    /// The seed.
    pub seed: u64,
    /// End the search after this many seconds with the best so far.
    pub max_seconds: f64,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// Memory that may be used.
    pub max_bytes: u64,
}

/// A compression that was checked.
pub struct Plan<'a> {
    target: &'a Target,
    reshape: Option<&'a Reshape>,
    asked: CompressSettings,
    scale: Scale,
    goal: Goal,
    objective: CheckedObjective,
    settings: SearchSettings,
    template: Arc<Template>,
}

/// A network and what it stands for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compressed {
    /// With cores as the file has them.
    pub network: Network,
    /// The shape of what was compressed.
    pub shape: Vec<usize>,
    /// What the file stands for, in that shape, divided by [`Target::scale`].
    pub dense: AnyTensor,
    /// Its RSE.
    pub rse: f64,
    /// The RSE before the cores were rounded.
    pub unrounded: f64,
    /// Its PSNR.
    pub psnr: f64,
    /// What that refers to.
    pub scale: Scale,
    /// What was asked for.
    pub goal: Goal,
    /// Whether the file itself is that.
    pub target_reached: bool,
    /// Why the search ended.
    pub stopped_by: StoppedBy,
}

impl<'a> Plan<'a> {
    /// Checks what is asked for a tensor that was reshaped so.
    pub fn new(
        target: &'a Target,
        reshape: Option<&'a Reshape>,
        origin: Origin,
        asked: CompressSettings,
    ) -> Result<Self, CompressError> {
        // What is measured in the end: the tensor, what the network stands for, and one of them in another order.
        let copies = if reshape.is_some() { 4 } else { 3 };
        let needed = copies as f64 * target.tensor().bytes() as f64;
        MemoryError::check("compressing this tensor", needed, Some(asked.max_bytes))
            .map_err(NetworkError::from)?;
        let own = own_shape(target, reshape);
        let bits = if origin.dtype == Dtype::U16 { 16 } else { 8 };
        let scale = if origin.picture { Scale::of_picture(bits) } else { Scale::of_array(&own) };
        let usual = if origin.picture { Goal::Psnr(30.0) } else { Goal::Re(0.01) };
        let goal = asked.goal.unwrap_or(usual);
        let objective = goal.objective(&own, target.norm_squared(), scale)?;
        let dims = target.dims();
        let mut settings = SearchSettings::default();
        // No proof is asked for.
        (settings.objective, settings.certificate_nodes) = (objective, 0);
        settings.fit.max_bytes = Some(asked.max_bytes);
        settings.budget.max_bytes = Some(asked.max_bytes);
        settings.seed = asked.seed;
        settings.budget.max_seconds = Some(asked.max_seconds);
        settings.budget.threads = asked.threads;
        settings.check_all(None)?;
        let template = match &asked.template {
            Some(template) => template.clone(),
            None => Arc::new(Template::parse(default_template(target.entries()), dims.len())?),
        };
        let objective = objective.check()?;
        Ok(Plan { target, reshape, asked, scale, goal, objective, settings, template })
    }

    /// The settings of the search.
    pub fn settings(&self) -> &SearchSettings {
        &self.settings
    }

    /// Searches, rounds the cores and measures what the file will stand for.
    pub fn run(
        self,
        begun: Instant,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<Compressed, CompressError> {
        let Plan { target, objective, .. } = self;
        let direct = self.asked.template.is_none().then(|| {
            let limits = Limits::none().with(|l| {
                l.max_bytes = target.left_of(Some(self.asked.max_bytes));
                l.stop = stop.within_seconds(self.asked.max_seconds);
            });
            direct(target, objective, &limits)
        });
        let search =
            Search::new(target).template(self.template.clone()).settings(self.settings.clone());
        let result = search.stop(stop).begun(begun).listen(listener).run()?;
        let searched = match &result.best {
            Some(best) => {
                let network = best.network(target.dims())?;
                Some(Candidate { network, rse: best.score.error })
            }
            None => None,
        };
        match Candidate::better(objective, direct.flatten(), searched) {
            Some(found) => self.made(&found.network, result.stopped_by),
            None => Err(match result.stopped_by {
                StoppedBy::Interrupted => CompressError::Interrupted,
                StoppedBy::MaxSeconds => CompressError::Nothing(
                    "the time was up before the first fit was done; give more --max-seconds",
                ),
                _ => {
                    CompressError::Nothing("no network is smaller than the tensor and near enough")
                }
            }),
        }
    }

    /// Rounds the cores and measures what the file stands for.
    fn made(self, found: &Network, stopped_by: StoppedBy) -> Result<Compressed, CompressError> {
        let Plan { scale, goal, .. } = self;
        // Not before the search, which needs the memory.
        let own = own_shape(self.target, self.reshape);
        let left = self.target.left_of(Some(self.asked.max_bytes));
        let left = left.map(|left| match &own {
            Cow::Owned(own) => left.saturating_sub(own.bytes() as u64),
            Cow::Borrowed(_) => left,
        });
        let dense = |network: &Network| -> Result<AnyTensor, CompressError> {
            let tensor = self.target.dense_of(network, left)?;
            Ok(match self.reshape {
                Some(reshape) => reshape.undo(tensor),
                None => tensor,
            })
        };
        let norm = own.norm_squared();
        let unrounded = distance_squared(&own, &dense(found)?) / norm;
        let precision = self.asked.cores;
        let network = precision
            .round(found)
            .map_err(|error| CompressError::Precision { precision, error })?;
        // Whatever is written holds what is said about it.
        network.check_finite()?;
        let dense = dense(&network)?;
        let distance = distance_squared(&own, &dense);
        let seen = scale.bits.map_or(distance, |bits| distance_as_written(&own, &dense, bits));
        let (rse, psnr) = (distance / norm, scale.psnr(seen, own.len()));
        // Cores of few bits may spoil what the search had reached.
        let target_reached = match goal {
            Goal::Re(re) => rse.sqrt() <= re * (1.0 + 1e-6),
            Goal::Psnr(asked) => psnr >= asked - 1e-3,
            Goal::MaxParams(params) => network.params() <= params,
        };
        Ok(Compressed {
            network,
            shape: own.dims().to_vec(),
            dense,
            rse,
            unrounded,
            psnr,
            scale: Scale { peak: scale.peak * self.target.scale(), ..scale },
            goal,
            target_reached,
            stopped_by,
        })
    }
}

/// What is compressed, in its own shape, divided by [`Target::scale`].
pub fn own_shape<'t>(target: &'t Target, reshape: Option<&Reshape>) -> Cow<'t, AnyTensor> {
    match reshape {
        Some(reshape) => Cow::Owned(reshape.undo(target.tensor().clone())),
        None => Cow::Borrowed(target.tensor()),
    }
}
