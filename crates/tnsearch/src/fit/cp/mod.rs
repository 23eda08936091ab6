//! Fits of sums of products of vectors (CP): `Z[i, j, ...] = sum over r of A[r, i] B[r, j] ...`. Alternating least squares,
//! then steps of all factors at once where these are cheap. All is computed with 64 bits, whatever the tensor has.

mod direct;
mod newton;
mod normal;
mod sweep;

use super::control::{Control, Progress};
use super::door::Task;
use super::starts::{Attempt, Begin, Needs, Starts};
use super::{CheckedFit, FitError, FitSettings, Fitted, check_bytes};
use crate::dispatch;
use crate::graph::ModeGraph;
use crate::network::cp::{dense, dense_entries};
use crate::problem::{Stop, Target};
use crate::rng::Rng;
use crate::tensor::{AnyTensor, Kind, Scalar, Tensor, power};
use direct::Growth;
use sweep::Problem;

/// Plain sweeps before the first extrapolation.
const PLAIN: usize = 5;
/// The furthest extrapolation, in steps.
const LARGEST: f64 = 3.0;

/// Fits a sum of products. The first starts (after the one at given cores) are those of [`Growth`], the others are at random.
pub(super) fn fit(task: Task<'_>) -> Result<Fitted, FitError> {
    let (target, graph) = (task.target, task.graph);
    if graph.modes() != target.dims().len() {
        return Err(FitError::Modes { structure: graph.modes(), tensor: target.dims().len() });
    }
    dispatch!(target.tensor(), x => fit_typed(task, x))
}

fn fit_typed<T: Scalar>(task: Task<'_>, x: &Tensor<T>) -> Result<Fitted, FitError> {
    let Task { target, graph, settings, run, .. } = task;
    let rank = graph.rank_of_cp().unwrap_or(1);
    let bytes = bytes_needed(target.dims(), rank, T::KIND);
    check_bytes(bytes + target.held_bytes() as f64, settings.max_bytes)?;
    let limit = settings.max_seconds.map(|s| run.stop.within_seconds(s));
    let limit = limit.as_ref().unwrap_or(&run.stop);
    let problem = Problem::new(x, rank, settings.ends_at());
    let needs = Needs { bytes, held: target.held_bytes(), flops: problem.sweep_flops() };
    let mut starts = Starts::new(task, limit, needs)?;
    starts.label = "cp".to_owned();
    let own = if rank > 1 { 2 } else { 1 };
    starts.begin.extend((0..own).map(Begin::Own));
    starts.run(|_| Cp::<T>::new(&problem, target, settings, limit))
}

/// Bytes of a fit beside the tensor: the tensor with 64 bits and its unfoldings, where equations are solved exactly, the
/// dense tensor of the terms, the products of factors, and what steps of all factors hold.
pub(super) fn bytes_needed(dims: &[usize], rank: usize, kind: Kind) -> f64 {
    let wide = if kind.is_complex() { 16.0 } else { 8.0 };
    let entries: f64 = dims.iter().map(|&d| d as f64).product();
    let factors: f64 = dims.iter().map(|&d| d as f64).sum::<f64>() * rank as f64;
    let copies = 2.0 + sweep::copies(dims, rank);
    wide * (copies * entries
        + 2.0 * dense_entries(dims, rank)
        + newton::numbers(dims, rank)
        + 8.0 * factors
        + 4.0 * (rank as f64).powi(2))
}

/// Multiply-adds of a sweep, about.
pub(super) fn sweep_cost(dims: &[usize], rank: usize) -> f64 {
    let entries: f64 = dims.iter().map(|&d| d as f64).product();
    let solves = dims.len() as f64 * (rank as f64).powi(3) / 3.0;
    3.0 * rank as f64 * entries + solves
}

/// The error of given cores, from an explicit residual.
pub(super) fn error_of(
    target: &Target,
    graph: &ModeGraph,
    cores: &[AnyTensor],
    max_bytes: Option<u64>,
) -> Result<f64, FitError> {
    let (dims, rank) = (target.dims(), graph.rank_of_cp().unwrap_or(1));
    let entries = dense_entries(dims, rank) + 2.0 * rank as f64 * dims.iter().sum::<usize>() as f64;
    let bytes = target.kind().bytes() as f64 * entries;
    check_bytes(bytes + target.held_bytes() as f64, max_bytes)?;
    dispatch!(target.tensor(), x => {
        let cores = super::starts::checked_cores(graph, dims, cores)?;
        Ok(rse_of(target, x, &cores, rank))
    })
}

/// The same of cores of the tensor's kind.
fn rse_of<T: Scalar>(target: &Target, _x: &Tensor<T>, cores: &[&Tensor<T>], rank: usize) -> f64 {
    let near = power::divided(&cores[..target.dims().len()], target.exponent());
    let factors: Vec<&[T]> = near.iter().map(Tensor::data).collect();
    let z = Tensor::new(target.dims().to_vec(), dense(&factors, target.dims(), rank));
    target.rse_in_units(&z.unwrap_or_else(|e| unreachable!("{e}")).into())
}

/// Factors as cores that give X, and the hub.
fn cores_of<T: Scalar>(
    factors: &[Vec<T::Wide>],
    problem: &Problem<T::Wide>,
    target: &Target,
) -> Vec<Tensor<T>> {
    let cores = factors.iter().zip(&problem.dims).map(|(factor, &dim)| {
        let data = factor.iter().map(|&x| T::narrow(x)).collect();
        Tensor::new(vec![problem.rank, dim], data).unwrap_or_else(|e| unreachable!("{e}"))
    });
    let mut cores: Vec<Tensor<T>> = cores.collect();
    power::spread(&mut cores, target.exponent());
    let hub = Tensor::new(vec![problem.rank], vec![T::ONE; problem.rank]);
    cores.push(hub.unwrap_or_else(|e| unreachable!("{e}")));
    cores
}

/// One start.
struct Cp<'p, T: Scalar> {
    problem: &'p Problem<T::Wide>,
    target: &'p Target,
    settings: &'p CheckedFit,
    limit: &'p Stop,
    factors: Vec<Vec<T::Wide>>,
    rse: f64,
}

impl<'p, T: Scalar> Cp<'p, T> {
    fn new(
        problem: &'p Problem<T::Wide>,
        target: &'p Target,
        settings: &'p CheckedFit,
        limit: &'p Stop,
    ) -> Self {
        Cp { problem, target, settings, limit, factors: Vec::new(), rse: f64::INFINITY }
    }
}

impl<T: Scalar> Attempt<T> for Cp<'_, T> {
    fn take(&mut self, cores: &[&Tensor<T>], _: &mut Rng) {
        let near = power::divided(&cores[..self.problem.dims.len()], self.target.exponent());
        let wide = |core: &Tensor<T>| core.data().iter().map(|x| x.widen()).collect();
        self.factors = near.iter().map(wide).collect();
    }

    fn randomise(&mut self, rng: &mut Rng, _sigma: f64) {
        let Problem { dims, rank, .. } = self.problem;
        let random = |&dim: &usize| (0..rank * dim).map(|_| T::Wide::normal(rng)).collect();
        self.factors = dims.iter().map(random).collect();
    }

    fn begin(&mut self, which: usize, rng: &mut Rng) -> usize {
        let &mut Cp { problem, target, settings, limit, .. } = self;
        if limit.is_set() {
            self.randomise(rng, settings.sigma);
            return 0;
        }
        let growth = Growth { problem, target, settings, limit };
        let sweeps;
        (self.factors, sweeps) = if which == 0 { growth.at_once() } else { growth.one_by_one() };
        sweeps
    }

    fn sweep(&mut self, settings: &FitSettings, control: &Control) -> usize {
        let ends = |progress: &mut Progress, rse| control.stopped() || progress.finished(rse);
        let mut progress = Progress::new(settings);
        let target = self.target;
        let (rse, sweeps) = self.problem.improve(
            &mut self.factors,
            settings.max_sweeps,
            &|residual| target.relative(residual),
            &mut |rse| ends(&mut progress, rse),
            self.limit,
        );
        self.rse = rse;
        sweeps
    }

    /// Sweeps, then steps of all factors at once.
    fn improve(&mut self, settings: &FitSettings, control: &Control) -> usize {
        let (problem, target) = (self.problem, self.target);
        let sweeps = self.sweep(settings, control);
        let steps = newton::steps(&problem.dims, problem.rank).min(settings.max_sweeps);
        if steps == 0 || self.rse <= settings.ends_at() || control.stopped() {
            return sweeps;
        }
        let mut progress = Progress::new(settings);
        let mut ends = |rse: f64| control.stopped() || progress.finished(rse);
        let relative = |residual: f64| target.relative(residual);
        let made = problem.newton(&mut self.factors, steps, &relative, &mut ends, self.limit);
        self.rse = made.0;
        sweeps + made.1
    }

    fn scouted(&mut self) -> f64 {
        self.rse.min(f64::MAX)
    }

    fn kept(&self) -> (Vec<T>, f64) {
        let narrow = |x: &T::Wide| T::narrow(*x);
        (self.factors.iter().flatten().map(narrow).collect(), 1.0)
    }

    fn put_back(&mut self, (kept, _): &(Vec<T>, f64)) {
        let mut kept = kept.iter();
        for factor in &mut self.factors {
            factor.iter_mut().zip(&mut kept).for_each(|(x, k)| *x = k.widen());
        }
    }

    fn finish(&mut self, _sweeps: usize) -> Option<f64> {
        let cores = self.cores();
        let cores: Vec<&Tensor<T>> = cores.iter().collect();
        let rse = rse_of(self.target, cores[0], &cores, self.problem.rank);
        if rse.is_nan() || rse > 1.0 {
            self.factors.iter_mut().flatten().for_each(|x| *x = T::Wide::ZERO);
            return Some(1.0);
        }
        Some(rse)
    }

    fn cores(&self) -> Vec<Tensor<T>> {
        cores_of(&self.factors, self.problem, self.target)
    }
}

#[cfg(test)]
mod tests;
