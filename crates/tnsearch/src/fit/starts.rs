//! The starts of a fit, whatever it is fitted to and by: from given or random cores, scouted where that is asked for; the
//! best counts. What kinds of fits differ in is an [`Attempt`].

use super::control::Control;
use super::door::Task;
use super::{FitError, FitSettings, Fitted, Method, check_bytes};
use crate::SettingError;
use crate::graph::ModeGraph;
use crate::problem::{Stop, Target};
use crate::rng::{self, Rng};
use crate::tensor::{AnyTensor, Scalar, Tensor};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sweeps (or iterations) of a scout.
const SCOUT_SWEEPS: usize = 10;

/// A rescue is made where one of its iterations costs at most this: some milliseconds.
const RESCUE_FLOPS: f64 = 4e7;

/// Floating-point operations that are made also where the time is up: a tenth of a second or so.
pub(super) const LITTLE: f64 = 3e9;

/// One start on its way: its cores, and what improving them takes.
pub(super) trait Attempt<T: Scalar> {
    /// Begins at given cores, shaped as [`ModeGraph::core_dims`].
    fn take(&mut self, cores: &[&Tensor<T>], rng: &mut Rng);

    /// Begins at what the attempt makes itself, by its number ([`Begin::Own`]); the number of sweeps made.
    fn begin(&mut self, _which: usize, rng: &mut Rng) -> usize {
        self.randomise(rng, 1.0);
        0
    }

    /// Begins at random cores.
    fn randomise(&mut self, rng: &mut Rng, sigma: f64);

    /// Sweeps over the cores until they are good enough or stall; the number of sweeps made.
    fn sweep(&mut self, settings: &FitSettings, control: &Control) -> usize;

    /// The same for what is to be the answer.
    fn improve(&mut self, settings: &FitSettings, control: &Control) -> usize {
        self.sweep(settings, control)
    }

    /// The error after a scout's sweeps.
    fn scouted(&mut self) -> f64;

    /// All cores one after the other, and what their tensor is multiplied by.
    fn kept(&self) -> (Vec<T>, f64);

    /// Puts them back.
    fn put_back(&mut self, kept: &(Vec<T>, f64));

    /// The error of the cores after so many sweeps; none where a stop left nothing that is worth the time it takes.
    fn finish(&mut self, sweeps: usize) -> Option<f64>;

    /// The cores, shaped as [`ModeGraph::core_dims`].
    fn cores(&self) -> Vec<Tensor<T>>;
}

/// What starts that are not at random begin at.
pub(super) enum Begin<'b, T> {
    /// Cores.
    At(Vec<&'b Tensor<T>>),
    /// The cores of a fit by the squared error to this tensor. Several of these are all made, whatever the first reaches.
    Squares(Target),
    /// What the attempt makes itself.
    Own(usize),
}

/// What one start takes.
pub(super) struct Needs {
    pub bytes: f64,
    /// Bytes that are held whatever the number of starts.
    pub held: u64,
    /// Floating-point operations of the least that is worth a start.
    pub flops: f64,
}

/// All that the starts of one fit share.
pub(super) struct Starts<'s, T> {
    pub task: Task<'s>,
    /// The task's stop with the time limit of the fit.
    pub limit: &'s Stop,
    needs: Needs,
    /// The first starts.
    pub begin: Vec<Begin<'s, T>>,
    /// How many there are.
    pub count: usize,
    /// Short starts for each that begins at random cores.
    pub scouts: usize,
    /// What random cores are drawn for.
    pub label: String,
    /// An answer that no start was needed for.
    pub given: Option<Fitted>,
    winner: AtomicUsize,
}

/// Makes the starts of a task until a stop, the second argument; says what an iteration of Levenberg-Marquardt would cost.
/// More starts are made with that where it is asked for and needed.
pub(super) fn with_rescue(
    task: Task<'_>,
    starts: impl Fn(Task<'_>, &Stop) -> Result<(Fitted, f64), FitError>,
) -> Result<Fitted, FitError> {
    let (settings, stop) = (task.settings, &task.run.stop);
    // The time limit of the fit is one for all its starts; only the caller's stop is an interruption.
    let limit = settings.max_seconds.map(|s| stop.within_seconds(s));
    let limit = limit.as_ref().unwrap_or(stop);
    let (first, iteration) = starts(task, limit)?;
    let rescue = settings.rescue > 0
        && settings.method == Method::Als
        && task.start.is_none()
        && !task.target.kind().is_complex()
        && !task.is_enough(first.error)
        && !first.interrupted
        && !limit.is_set()
        && iteration <= RESCUE_FLOPS;
    if !rescue {
        return Ok(first);
    }
    let lm = FitSettings {
        method: Method::Lm,
        restarts: settings.rescue,
        scouts: 1,
        max_sweeps: settings.max_sweeps.min(200),
        tolerance: settings.tolerance.min(1e-3),
        ..FitSettings::clone(settings)
    };
    match starts(Task { settings: &lm.check()?, warm: None, ..task }, limit) {
        Ok((second, _)) => {
            let interrupted = second.interrupted;
            let best = first.or_later(Fitted { rescued: true, ..second });
            Ok(Fitted { interrupted, ..best })
        }
        // Too large after all, or interrupted: the first answer stands.
        Err(_) => Ok(first),
    }
}

impl<'s, T: Scalar> Starts<'s, T> {
    /// As many as the settings say, the first at the task's cores; refused where there is not the memory or the time.
    pub fn new(task: Task<'s>, limit: &'s Stop, needs: Needs) -> Result<Self, FitError> {
        let Task { target, graph, settings, .. } = task;
        check_bytes(needs.bytes + needs.held as f64, settings.max_bytes)?;
        let stop = &task.run.stop;
        if stop.remaining().is_some() && !stop.is_set() && !stop.has_time_for(needs.flops) {
            return Err(FitError::Time);
        }
        let warm = task.warm.map(|cores| checked_cores(graph, target.dims(), cores)).transpose()?;
        Ok(Starts {
            task,
            limit,
            needs,
            begin: warm.map(Begin::At).into_iter().collect(),
            count: settings.restarts,
            scouts: settings.scouts,
            label: settings.method.to_string(),
            given: None,
            winner: AtomicUsize::new(usize::MAX),
        })
    }

    /// Makes them, in turn or in parallel; the best, counting no start after the first that was good enough. An attempt is
    /// told whether its work is to be spread over threads.
    pub fn run<A: Attempt<T>>(
        mut self,
        attempt: impl Fn(bool) -> A + Sync,
    ) -> Result<Fitted, FitError> {
        let mut best = self.given.take();
        let (settings, parallel) = (self.task.settings, self.task.run.parallel);
        let indices = self.task.start.map_or(0..self.count, |start| start..start + 1);
        let room = || {
            let at_once = rayon::current_num_threads().min(self.count) as f64;
            let bytes = self.needs.held as f64 + at_once * self.needs.bytes;
            settings.max_bytes.is_none_or(|max| bytes <= max as f64)
        };
        let make = |index: usize, rival: f64| self.make(index, rival, || attempt(parallel));
        // By another loss, a start has an eye on those before it.
        let made: Option<Vec<_>> = (parallel && self.task.loss().is_none() && room())
            .then(|| indices.clone().into_par_iter().map(|k| make(k, f64::INFINITY)).collect());
        let mut made = made.map(Vec::into_iter);
        let mut enough = false;
        for index in indices {
            if enough && !self.belongs_to_the_last(index) {
                break;
            }
            let rival = best.as_ref().map_or(f64::INFINITY, |best| best.error);
            let start = match &mut made {
                Some(made) => made.next().unwrap_or(Ok(None))?,
                None => make(index, rival)?,
            };
            if let Some(start) = start {
                enough |= self.task.is_enough(start.error);
                best = Some(match best {
                    Some(best) => best.or_later(start),
                    None => start,
                });
            }
        }
        let best = best.ok_or(FitError::Interrupted)?;
        Ok(Fitted { interrupted: self.task.run.stop.is_set(), ..best })
    }

    /// Whether a start is made whatever the one before it has reached.
    fn belongs_to_the_last(&self, index: usize) -> bool {
        let squares = |k: usize| matches!(self.begin.get(k), Some(Begin::Squares(_)));
        index > 0 && squares(index - 1) && squares(index)
    }

    /// Makes start number `index`, beside others of which the best has the error `rival`; nothing if it was interrupted
    /// before its first sweep ended.
    fn make<A: Attempt<T>>(
        &self,
        index: usize,
        rival: f64,
        attempt: impl FnOnce() -> A,
    ) -> Result<Option<Fitted>, FitError> {
        let Task { graph, settings, seed, run, .. } = self.task;
        let control = Control { stop: self.limit, winner: &self.winner, start: index, rival };
        if control.stopped() && (index > 0 || run.stop.is_set()) {
            return Ok(None);
        }
        let mut label = graph.to_bytes();
        label.extend(format!("/{} {index}", self.label).bytes());
        let mut rng = rng::stream(seed, &label);
        let begin = self.begin.get(index);
        let near = match begin {
            Some(Begin::Squares(data)) => match self.squares_of(data) {
                Err(FitError::Interrupted | FitError::Time) if index > 0 => return Ok(None),
                near => Some(near?),
            },
            _ => None,
        };
        let (mut attempt, mut scouted, mut begun) = (attempt(), 0, 0);
        match (&near, begin) {
            (Some(near), _) => {
                let cores: Vec<_> = near.cores.iter().filter_map(AnyTensor::typed).collect();
                attempt.take(&cores, &mut rng);
            }
            (None, Some(Begin::At(cores))) => attempt.take(cores, &mut rng),
            (None, Some(Begin::Own(which))) => begun = attempt.begin(*which, &mut rng),
            _ => scouted = self.scout(&mut attempt, &mut rng, &control),
        }
        let mut sweeps = begun + scouted;
        if scouted == 0 || !control.stopped() {
            sweeps += attempt.improve(settings, &control);
        }
        let Some(error) = attempt.finish(sweeps) else { return Ok(None) };
        if self.task.is_enough(error) && !self.belongs_to_the_last(index + 1) {
            self.winner.fetch_min(index, Ordering::Relaxed);
        }
        let cores = attempt.cores().into_iter().map(AnyTensor::from).collect();
        Ok(Some(match near {
            Some(near) => Fitted { cores, error, sweeps: near.sweeps + sweeps, ..near },
            None => Fitted { sweeps, restarts: 1, ..Fitted::without_work(cores, error) },
        }))
    }

    /// A fit by the squared error. How near that comes to the error asked for says nothing about another one.
    fn squares_of(&self, data: &Target) -> Result<Fitted, FitError> {
        let settings = FitSettings::clone(self.task.settings);
        let settings = FitSettings { enough_rse: settings.stop_rse, ..settings };
        self.task.by_squares(data, &settings.check()?)
    }

    /// Random cores: the best of several after a few sweeps, where scouts are asked for. The number of sweeps made.
    fn scout<A: Attempt<T>>(&self, attempt: &mut A, rng: &mut Rng, control: &Control) -> usize {
        let settings = self.task.settings;
        attempt.randomise(rng, settings.sigma);
        if self.scouts == 1 {
            return 0;
        }
        let max_sweeps = settings.max_sweeps.min(SCOUT_SWEEPS);
        let short = FitSettings { max_sweeps, ..FitSettings::clone(settings) };
        let (mut best, mut least, mut sweeps) = (attempt.kept(), f64::INFINITY, 0);
        for scout in 0..self.scouts {
            if scout > 0 {
                attempt.randomise(rng, settings.sigma);
            }
            sweeps += attempt.sweep(&short, control);
            if control.stopped() && least < f64::INFINITY {
                break;
            }
            let error = attempt.scouted();
            if error < least {
                (best, least) = (attempt.kept(), error);
            }
            if self.task.is_enough(error) || control.stopped() {
                break;
            }
        }
        attempt.put_back(&best);
        sweeps
    }
}

/// Refuses complex numbers where the method is Levenberg-Marquardt.
pub(super) fn check_kind<T: Scalar>(method: Method) -> Result<(), SettingError> {
    if method == Method::Lm && T::KIND.is_complex() {
        let expected =
            format!("it fits real numbers only, and these are {}; use als or adam", T::KIND);
        return Err(SettingError::new("method", "lm", expected));
    }
    Ok(())
}

/// The cores of a warm start, of the right kind and shape.
pub(super) fn checked_cores<'c, T: Scalar>(
    graph: &ModeGraph,
    dims: &[usize],
    cores: &'c [AnyTensor],
) -> Result<Vec<&'c Tensor<T>>, FitError> {
    let checked = (0..graph.vertices()).map(|vertex| {
        let expected = graph.core_dims(vertex, dims);
        let Some(core) = cores.get(vertex).filter(|c| c.dims() == expected) else {
            let found = cores.get(vertex).map_or(Vec::new(), |c| c.dims().to_vec());
            return Err(FitError::WarmStart { vertex, found, expected });
        };
        let (found, expected) = (core.kind(), T::KIND);
        core.typed().ok_or(FitError::WarmKind { vertex, found, expected })
    });
    checked.collect()
}
