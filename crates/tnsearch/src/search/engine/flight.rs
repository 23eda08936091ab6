//! Requests under way: from a job of a run to its result.

use super::run::{Job, Place, Resolved};
use super::warm::grown;
use super::{Driver, Evaluation, Event, TICK};
use crate::fit::{Effort, FitError, Fitted, Request};
use crate::graph::Structure;
use crate::network::Network;
use crate::search::{SearchError, Ticket};
use std::sync::Arc;

/// What a request under way is for.
#[derive(Debug)]
pub(super) enum Flight {
    /// A job that a run waits for.
    Job { run: usize, job: usize },
    /// A job that a run may ask for.
    Guess { run: usize, job: Arc<Job>, cancelled: bool },
    /// A fit that is made again, for its cores.
    Again,
}

impl Driver<'_, '_> {
    /// Has the jobs fitted that a run waits for, or finds them on record or fitted already.
    pub(super) fn request_wave(&mut self, k: usize) -> Result<(), SearchError> {
        let Some(round) = &self.engine.runs[k].round else { return Ok(()) };
        let under_way = |job: usize| {
            self.flights
                .values()
                .any(|f| matches!(f, Flight::Job { run, job: j } if (*run, *j) == (k, job)))
        };
        let wave: Vec<usize> = round.wave.iter().copied().filter(|&job| !under_way(job)).collect();
        // The largest first, so that no worker is left alone with one at the end.
        let mut jobs: Vec<(usize, Arc<Job>)> =
            wave.into_iter().map(|j| (j, round.jobs[j].clone())).collect();
        jobs.sort_by_key(|(_, job)| std::cmp::Reverse(job.params));
        let moved_on = !jobs.is_empty();
        for (index, job) in jobs {
            let key = (k, job.graph.to_string(), job.effort);
            if let Some(record) = self.engine.records.get(&key) {
                let record = self.as_recorded(&job, record.clone());
                self.take(k, index, Resolved::Evaluated(Arc::new(record)));
                continue;
            }
            match self.foresight[k].take(&job) {
                Some(Ok(fitted)) => self.fitted(k, index, &job, fitted),
                Some(Err(error)) => self.failed(k, index, &job, error),
                None if self.adopt(k, index, &job) => {}
                None => {
                    let Some(request) = self.request(&job)? else { return Ok(()) };
                    self.make_room();
                    self.submit(Flight::Job { run: k, job: index }, request);
                }
            }
        }
        if moved_on {
            self.speculative += self.foresight[k].moved_on();
        }
        Ok(())
    }

    /// A record of the journal, with what follows from the job itself.
    fn as_recorded(&self, job: &Job, record: Evaluation) -> Evaluation {
        let loss = self.engine.rules.objective.loss(job.params, job.phi, record.error);
        Evaluation { loss, params: job.params.try_into().unwrap_or(u64::MAX), ..record }
    }

    /// The request of a job; none where a stop came before its parent's cores were there.
    pub(super) fn request(&mut self, job: &Job) -> Result<Option<Request>, SearchError> {
        let (run, seed) = (job.place.run, self.engine.runs[job.place.run].seed);
        let mut request = Request::new(job.graph.clone(), self.engine.fit.clone(), seed);
        request.effort = job.effort;
        if let Some(parent) = &job.parent {
            match self.network(run, parent) {
                Ok(network) => {
                    let cores = network.and_then(|network| grown(&network, &job.structure, seed));
                    request.warm = cores.map(Arc::new);
                }
                Err(FitError::Interrupted) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(request))
    }

    pub(super) fn submit(&mut self, flight: Flight, request: Request) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.flights.insert(ticket, flight);
        self.executor.submit(ticket, request);
        ticket
    }

    /// Takes a result that has come.
    pub(super) fn land(&mut self, ticket: Ticket, result: Result<Fitted, FitError>) {
        match self.flights.remove(&ticket) {
            Some(Flight::Job { run, job: index }) => {
                let Some(round) = &self.engine.runs[run].round else { return };
                let job = round.jobs[index].clone();
                match result {
                    Ok(fitted) if fitted.interrupted => self.keep_cut_short(job, fitted),
                    Ok(fitted) => self.fitted(run, index, &job, fitted),
                    Err(error) => self.failed(run, index, &job, error),
                }
            }
            Some(Flight::Guess { run, job, .. }) => {
                let lost = matches!(&result, Err(FitError::Interrupted))
                    || result.as_ref().is_ok_and(|fitted| fitted.interrupted);
                self.speculative += match lost {
                    true => 1,
                    false => self.foresight[run].keep(&job, result),
                };
                self.foresight[run].changed = true;
            }
            Some(Flight::Again) | None => {}
        }
    }

    /// Ends everything under way; fits that are cut short may still be the best there is.
    pub(super) fn land_all(&mut self) {
        let under_way: Vec<Ticket> = self.flights.keys().copied().collect();
        for ticket in under_way {
            self.executor.cancel(ticket);
        }
        while !self.flights.is_empty() {
            if let Some((ticket, result)) = self.executor.next(TICK) {
                self.land(ticket, result);
            }
        }
        self.speculative += self.foresight.iter_mut().map(|f| f.forget()).sum::<u64>();
    }

    /// A fit that a run waited for has ended well.
    fn fitted(&mut self, run: usize, index: usize, job: &Arc<Job>, fitted: Fitted) {
        // An error that is no number cannot be compared or written down.
        if !fitted.error.is_finite() {
            return self.take(run, index, Resolved::Refused);
        }
        let loss = self.engine.rules.objective.loss(job.params, job.phi, fitted.error);
        let evaluation = self.evaluation(job, loss, &fitted);
        self.tell(&Event::Evaluated(&evaluation));
        if job.parent.is_some() {
            self.lineages[run].fitted(job, loss, &fitted.cores);
        }
        let score = crate::problem::Score { params: job.params, ..evaluation.score() };
        self.account.keep(job, score, fitted);
        self.take(run, index, Resolved::Evaluated(Arc::new(evaluation)));
        self.tell_progress();
    }

    /// The record of a fit.
    pub(super) fn evaluation(&self, job: &Job, loss: f64, fitted: &Fitted) -> Evaluation {
        Evaluation {
            run: job.place.run,
            key: job.graph.to_string(),
            permutation: job.structure.permutation().to_vec(),
            ranks: job.structure.ranks().to_vec(),
            params: job.params.try_into().unwrap_or(u64::MAX),
            error: fitted.error,
            loss,
            sweeps: fitted.sweeps,
            restarts: fitted.restarts,
            seconds: self.seconds(),
            effort: job.effort,
        }
    }

    fn failed(&mut self, run: usize, index: usize, job: &Job, error: FitError) {
        match error {
            // Not written down: with more memory it may not be refused the next time.
            FitError::Memory(_) => self.take(run, index, Resolved::Refused),
            FitError::Interrupted => {}
            error => self.fail(job.place, error),
        }
    }

    fn fail(&mut self, place: Place, error: FitError) {
        if self.failure.as_ref().is_none_or(|(first, _)| place < *first) {
            self.failure = Some((place, error));
        }
    }

    /// Hands a result to the run that waits for it.
    fn take(&mut self, run: usize, index: usize, resolved: Resolved) {
        let rules = &self.engine.rules;
        if let Some(round) = &self.engine.runs[run].round {
            self.seen.resolved(rules, &round.jobs[index], &resolved);
        }
        self.engine.runs[run].resolve(rules, index, resolved);
        self.foresight[run].changed = true;
    }

    /// A fit was stopped on its way: no evaluation, but better than nothing if there is nothing else.
    fn keep_cut_short(&mut self, job: Arc<Job>, fitted: Fitted) {
        let objective = self.engine.rules.objective;
        let score = objective.score(job.params, job.phi, fitted.error);
        let first = self.account.leader.is_none() && self.seen.best.is_none();
        let better = |(_, best, _): &(_, _, _)| objective.better(&score, best);
        if first && self.cut_short.as_ref().is_none_or(better) {
            self.cut_short = Some((job, score, fitted));
        }
    }

    /// The network of a structure that was fitted before in a run: as it is held, or fitted again.
    fn network(
        &mut self,
        run: usize,
        structure: &Structure,
    ) -> Result<Option<Arc<Network>>, FitError> {
        let dims = &self.engine.rules.dims;
        if let Some(network) = self.lineages[run].network(structure, dims) {
            return Ok(Some(network));
        }
        let fitted = self.fit_again(run, structure, Effort::Full, true)?;
        let dims = &self.engine.rules.dims;
        Ok(self.lineages[run].hold(structure, dims, fitted.cores))
    }

    /// Fits a structure once more, from its parent if it has one. Not an evaluation: its result is known. Where it may
    /// be stopped, a stop is an error: cut short, it is not what it was.
    pub(super) fn fit_again(
        &mut self,
        run: usize,
        structure: &Structure,
        effort: Effort,
        stoppable: bool,
    ) -> Result<Fitted, FitError> {
        // Back to an ancestor whose cores are at hand, or to the first; then forward.
        let (mut missing, mut network) = (Vec::new(), None);
        let lineage = &mut self.lineages[run];
        let mut next = lineage.parent_of(structure).filter(|_| effort.is_full()).cloned();
        while let Some(ancestor) = next {
            network = lineage.network(&ancestor, &self.engine.rules.dims);
            if network.is_some() {
                break;
            }
            next = lineage.parent_of(&ancestor).cloned();
            missing.push(ancestor);
        }
        for ancestor in missing.iter().rev() {
            let fitted =
                self.fit_from(run, ancestor, Effort::Full, network.as_deref(), stoppable)?;
            let dims = &self.engine.rules.dims;
            network = self.lineages[run].hold(ancestor, dims, fitted.cores);
        }
        self.fit_from(run, structure, effort, network.as_deref(), stoppable)
    }

    fn fit_from(
        &mut self,
        run: usize,
        structure: &Structure,
        effort: Effort,
        parent: Option<&Network>,
        stoppable: bool,
    ) -> Result<Fitted, FitError> {
        let seed = self.engine.runs[run].seed;
        let graph = structure.canonical().graph;
        let mut request = Request::new(graph, self.engine.fit.clone(), seed);
        request.effort = effort;
        request.warm = parent.and_then(|p| grown(p, structure, seed)).map(Arc::new);
        let again = self.submit(Flight::Again, request);
        let mut cancelled = false;
        loop {
            if stoppable && !cancelled && self.engine.stop.is_set() {
                self.executor.cancel(again);
                cancelled = true;
            }
            let Some((ticket, result)) = self.executor.next(TICK) else { continue };
            if ticket != again {
                self.land(ticket, result);
                continue;
            }
            self.flights.remove(&again);
            return match result {
                Ok(fitted) if fitted.interrupted && stoppable => Err(FitError::Interrupted),
                result => result,
            };
        }
    }
}
