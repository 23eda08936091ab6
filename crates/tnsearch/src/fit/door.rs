//! The one door to a fit: from a request to cores, whatever the data, the loss and the effort.

use super::adapt::adapt;
use super::cp;
use super::direct::{fit_direct, fit_quick};
use super::reduce::Reduced;
use super::{
    CheckedFit, Effort, FitError, FitSettings, Fitted, Request, check_bytes, dense, grouped,
    losses, observed,
};
use crate::SettingError;
use crate::graph::ModeGraph;
use crate::problem::{Loss, Stop, Target, check_domain};
use crate::tensor::AnyTensor;

/// What surrounds a request: by which loss it is fitted, what ends it, and where its starts are made.
#[derive(Debug, Clone, Default)]
pub struct Run<'l> {
    /// How far a network is from the data; none: the squared error.
    pub loss: Option<&'l dyn Loss>,
    /// Ends the fit early.
    pub stop: Stop,
    /// Whether starts (and, where entries are missing, the work of each) are spread over the current pool of threads. The
    /// result is the same. Other losses than the squared error make one start after the other.
    pub parallel: bool,
}

impl<'l> Run<'l> {
    /// By the squared error, on this thread, until a stop.
    pub fn until(stop: &Stop) -> Self {
        Run { stop: stop.clone(), ..Run::default() }
    }

    /// By a loss.
    pub fn by(self, loss: &'l dyn Loss) -> Self {
        Run { loss: Some(loss), ..self }
    }

    /// On the current pool of threads.
    pub fn in_parallel(self) -> Self {
        Run { parallel: true, ..self }
    }

    /// The loss, where it is another than the squared error.
    fn other_loss(&self) -> Option<&'l dyn Loss> {
        self.loss.filter(|loss| !loss.is_squared_error())
    }
}

/// Fits the cores of a request's graph to a tensor, holes included: the best of several starts, ending early when one
/// reaches the stopping error. With [`Request::warm`], the first start begins at those cores. Where vertices carry several
/// modes, X is reordered first, and fitted as a tensor of merged modes.
///
/// By another loss than the squared error, `sum of l(x, z) / baseline` over the fitted entries becomes small; the error is
/// that of the entries it is measured on ([`Target::measured`]), and where these were held out, the fit ends where it no
/// longer falls on them. Real numbers of 64 bits only.
///
/// The result is a pure function of the target, the request and the loss, whatever the number of threads (unless a time
/// limit or an interrupt cuts it short).
///
/// ```
/// use tnsearch::fit::{FitSettings, Request, Run, fit};
/// use tnsearch::graph::ModeGraph;
/// use tnsearch::problem::Target;
/// use tnsearch::tensor::Tensor;
/// let target = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
/// let settings = FitSettings::default().check().unwrap();
/// let request = Request::new(ModeGraph::new(2, 0, vec![]), settings, 0);
/// let fitted = fit(&target, &request, &Run::default()).unwrap();
/// assert!((fitted.error - 0.2).abs() < 1e-9);
/// ```
pub fn fit(target: &Target, request: &Request, run: &Run<'_>) -> Result<Fitted, FitError> {
    let merge = || grouped::merged(target, &request.graph, request.settings.max_bytes);
    fit_merging(target, request, run, merge)
}

/// The same; `merge` makes or finds the tensor of merged modes.
pub(crate) fn fit_merging(
    target: &Target,
    request: &Request,
    run: &Run<'_>,
    merge: impl FnOnce() -> Result<Target, FitError>,
) -> Result<Fitted, FitError> {
    if !target.has_entries() {
        let expected = "there is nothing to fit to; give a tensor, or errors of your own";
        return Err(SettingError::new("the tensor", "a shape without entries", expected).into());
    }
    if let Some(loss) = run.other_loss() {
        check_domain(target, loss)?;
    }
    let Request { graph, settings, seed, start, .. } = request;
    let warm = request.warm.as_ref().map(|cores| cores.as_slice());
    let fit = |target: &Target, graph: &ModeGraph, warm: Option<&[AnyTensor]>| {
        Task { target, graph, settings, seed: *seed, warm, start: *start, run }.by_effort(request)
    };
    match graph.is_grouped() {
        true => grouped::fit_merged(graph, target.dims(), warm, merge, fit),
        false => fit(target, graph, warm),
    }
}

/// What is to be fitted, and how: a graph with one mode at a vertex at most.
#[derive(Clone, Copy)]
pub(super) struct Task<'r> {
    pub target: &'r Target,
    pub graph: &'r ModeGraph,
    pub settings: &'r CheckedFit,
    pub seed: u64,
    /// The cores that the first start begins at.
    pub warm: Option<&'r [AnyTensor]>,
    /// Only this one of the starts.
    pub start: Option<usize>,
    pub run: &'r Run<'r>,
}

impl<'r> Task<'r> {
    /// With as much work as the request says.
    fn by_effort(self, request: &Request) -> Result<Fitted, FitError> {
        if self.graph.rank_of_cp().is_some() {
            // From given terms, or the two starts that are not at random.
            let restarts = if self.warm.is_some() { 1 } else { self.settings.restarts.min(2) };
            let few = FitSettings { restarts, scouts: 1, ..FitSettings::clone(self.settings) };
            return match request.effort {
                _ if request.adapt.is_some() => Err(FitError::Hyperedge),
                Effort::Full => self.fit(),
                _ => Task { settings: &few.check()?, start: None, ..self }.fit(),
            };
        }
        if let Some(how) = &request.adapt {
            return adapt(self, how);
        }
        let whole = Task { start: None, ..self };
        match request.effort {
            Effort::Full => self.fit(),
            // Truncated SVDs say nothing about holes and other losses.
            _ if !self.is_plain() => {
                let one = FitSettings::clone(self.settings);
                let one = FitSettings { restarts: 1, scouts: 1, rescue: 0, ..one }.check()?;
                Task { settings: &one, ..whole }.fit()
            }
            _ if self.warm.is_some() => self.fit(),
            Effort::Direct => fit_direct(whole),
            Effort::Quick | Effort::Adapt => fit_quick(whole),
        }
    }

    /// With all starts, or the one that is asked for.
    pub fn fit(self) -> Result<Fitted, FitError> {
        if self.graph.rank_of_cp().is_some() {
            let settings = &self.settings.for_target(self.target);
            return match self.is_plain() {
                true => cp::fit(Task { settings, ..self }),
                false => Err(FitError::Hyperedge),
            };
        }
        let single = self.graph.vertices() == 1;
        match self.loss() {
            Some(loss) if single => losses::fit_single((self.target, loss), self.graph),
            None if single => grouped::fit_single(self.target, self.graph),
            Some(loss) => self.without_useless_ranks(|task| losses::fit(task, loss)),
            None => {
                let fit = if self.target.is_whole() { dense::fit } else { observed::fit };
                let settings = &self.settings.for_target(self.target);
                Task { settings, ..self }.without_useless_ranks(fit)
            }
        }
    }

    /// The same by the squared error, of another tensor of these dimensions, as these settings say.
    pub fn by_squares(self, target: &Target, settings: &CheckedFit) -> Result<Fitted, FitError> {
        let run = &Run { loss: None, ..self.run.clone() };
        Task { target, settings, start: None, run, ..self }.fit()
    }

    /// Fits the structure without the ranks that are of no use; one that begins at given cores is fitted as it is.
    fn without_useless_ranks(
        self,
        fit: impl FnOnce(Task<'_>) -> Result<Fitted, FitError>,
    ) -> Result<Fitted, FitError> {
        let (graph, dims) = (self.graph, self.target.dims());
        if self.warm.is_some() || graph.modes() != dims.len() {
            return fit(self);
        }
        let reduced = Reduced::new(graph, dims);
        // The cores come back with all their ranks.
        let bytes = self.target.kind().bytes() as f64 * graph.params(dims) as f64;
        check_bytes(bytes, self.settings.max_bytes.filter(|_| reduced.differs()))?;
        let fitted = fit(Task { graph: &reduced.graph, ..self })?;
        Ok(Fitted { cores: reduced.restore(fitted.cores, dims), ..fitted })
    }

    /// The loss, where it is another than the squared error.
    pub fn loss(&self) -> Option<&'r dyn Loss> {
        self.run.other_loss()
    }

    /// Whether it is by the squared error of all entries.
    pub fn is_plain(&self) -> bool {
        self.loss().is_none() && self.target.is_whole()
    }

    /// Whether no start after one of this error is made.
    pub fn is_enough(&self, error: f64) -> bool {
        match self.is_plain() {
            true => self.settings.is_enough(error),
            false => error <= self.settings.stop_rse.max(self.settings.enough_rse),
        }
    }
}
