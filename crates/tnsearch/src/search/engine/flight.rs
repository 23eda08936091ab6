//! Requests under way: from a job of a run to its result.

use super::assembly::Assembly;
use super::carry::carried;
use super::run::{Job, Parent, Resolved, Slot};
use super::speculate::{Key, key};
use super::warm::grown;
use super::{Driver, Evaluation, Event, OtherFormat, StoppedBy, TICK};
use crate::fit::{Effort, FitError, FitSettings, Fitted, Request};
use crate::graph::Structure;
use crate::network::Network;
use crate::problem::Score;
use crate::search::{SearchError, Ticket};
use std::collections::HashMap;
use std::sync::Arc;

/// Interruptions of one fit that nobody asked for before the search ends.
const MOST_LOST: u32 = 3;

/// What a request under way is for.
#[derive(Debug)]
pub(super) enum Flight {
    /// A part of a fit of a run.
    Part { run: usize, key: Key, part: usize },
    /// A fit that is made again, for its cores.
    Again,
    /// A fit that was given up.
    Nothing,
}

/// Fits that would take longer than the time left before the search ends: those that follow will, too.
const MOST_OUT_OF_TIME: u32 = 16;

/// What a fit from random cores has to come below, in units of the error that matters: it begins further off.
const COLD: f64 = 1.5;

/// What a fit of the answer's cores may take when the search is to end.
const LAST_SECONDS: f64 = 1.0;

impl Driver<'_, '_> {
    /// Has the jobs fitted that a run waits for, or finds them on record or fitted already.
    pub(super) fn request_wave(&mut self, k: usize) -> Result<(), SearchError> {
        let Some(round) = &self.engine.runs[k].round else { return Ok(()) };
        let under_way = |job: &Job| {
            self.fits[k].get(&key(job)).is_some_and(|assembly| assembly.index.is_some())
        };
        let jobs: Vec<(usize, Arc<Job>)> = round
            .wave
            .iter()
            .map(|&j| (j, round.jobs[j].clone()))
            .filter(|(_, job)| !under_way(job))
            .collect();
        let wave = round.wave.len();
        for (index, job) in jobs {
            let record = (k, job.record_key(), job.effort);
            if let Some(record) = self.engine.records.get(&record) {
                let resolved = self.as_recorded(&job, record.clone());
                self.take(k, index, resolved);
                continue;
            }
            let key = key(&job);
            match self.fits[k].get_mut(&key).filter(|_| job.parent.is_none()) {
                // It was guessed.
                Some(assembly) => {
                    assembly.job = job;
                    assembly.index = Some(index);
                }
                None => {
                    let Some(request) = self.request(&job)? else { return Ok(()) };
                    self.give_up(k, &key);
                    let in_parts = self.makes_parts(wave);
                    let assembly = Assembly::new(job, Some(index), request, in_parts);
                    self.fits[k].insert(key.clone(), assembly);
                }
            }
            self.go_on(k, &key);
        }
        Ok(())
    }

    /// Ends a fit that a run waits for if its result is known; else its next part is to be made.
    fn go_on(&mut self, k: usize, key: &Key) {
        let Some(assembly) = self.fits[k].get(key) else { return };
        let Some(index) = assembly.index else { return };
        if assembly.result().is_none() {
            if assembly.needed().is_some() {
                self.ready.insert(assembly.urgency(), (k, key.clone()));
            }
            return;
        }
        let Some(assembly) = self.give_up(k, key) else { return };
        let job = assembly.job.clone();
        let Some((result, used)) = assembly.into_result() else { return };
        self.speculative -= used;
        match result {
            Ok(fitted) => self.fitted(k, index, &job, fitted),
            // Not written down: with more memory it may not be refused the next time.
            Err(error @ (FitError::Memory(_) | FitError::NoSweep | FitError::OneVertex)) => {
                self.out_of_memory += u32::from(matches!(error, FitError::Memory(_)));
                self.take(k, index, Resolved::Refused);
            }
            Err(FitError::Time) => {
                self.out_of_time += 1;
                if self.out_of_time > MOST_OUT_OF_TIME && self.stopped_by.is_none() {
                    self.stopped_by = Some(StoppedBy::MaxSeconds);
                }
                self.take(k, index, Resolved::Refused);
            }
            Err(error) => self.fail(job.place, error),
        }
    }

    /// Sends a part of a fit to a worker.
    pub(super) fn send(&mut self, k: usize, key: &Key, part: usize) {
        let ticket = self.next_ticket();
        let Some(assembly) = self.fits[k].get_mut(key) else { return };
        let request = assembly.send(part, ticket);
        self.flights.insert(ticket, Flight::Part { run: k, key: key.clone(), part });
        // Until it is of use.
        self.speculative += 1;
        self.executor.submit(ticket, request);
    }

    /// Forgets a fit; what is under way of it ends soon.
    pub(super) fn give_up(&mut self, k: usize, key: &Key) -> Option<Assembly> {
        let assembly = self.fits[k].remove(key)?;
        for ticket in assembly.flying() {
            self.flights.insert(ticket, Flight::Nothing);
            self.executor.cancel(ticket);
        }
        Some(assembly)
    }

    /// How many workers have nothing to do.
    pub(super) fn idle(&self) -> usize {
        self.executor.workers().max(1).saturating_sub(self.flights.len())
    }

    fn next_ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// A record of the journal, with what follows from the job itself.
    fn as_recorded(&mut self, job: &Arc<Job>, record: Evaluation) -> Resolved {
        let whole = |job: &Job| job.params.try_into().unwrap_or(u64::MAX);
        let objective = self.engine.rules.objective;
        if job.walk.is_none() {
            let loss = objective.loss(job.params, job.phi, record.error);
            return Resolved::Evaluated(Arc::new(Evaluation {
                loss,
                params: whole(job),
                ..record
            }));
        }
        let template = job.structure.template().clone();
        let (permutation, ranks) = (record.permutation.clone(), record.ranks.clone());
        let found = Structure::new(template, permutation, ranks).ok();
        let Some(found) = found.and_then(|s| self.engine.rules.found(job, s)) else {
            return Resolved::Refused;
        };
        self.walks[job.place.run].began(job);
        let loss = objective.loss(found.params, found.phi, record.error);
        let record = Evaluation { loss, params: whole(&found), ..record };
        Resolved::Found(Arc::new(found), Arc::new(record))
    }

    /// The request of a job; none where a stop came before its parent's cores were there.
    pub(super) fn request(&mut self, job: &Job) -> Result<Option<Request>, SearchError> {
        let (run, seed) = (job.place.run, self.engine.runs[job.place.run].seed);
        if let Some((_, from)) = &job.walk {
            return match from.map(|from| self.walked(run, from)).transpose() {
                Ok(cores) => Ok(Some(self.walk_request(job, cores))),
                Err(FitError::Interrupted) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        let mut request = Request::new(job.graph.clone(), self.engine.fit.clone(), seed);
        request.effort = job.effort;
        if let Some(loss) = job.far {
            let give_up = self.engine.rules.objective.error_at(job.phi, loss).map(|e| COLD * e);
            let settings = FitSettings { give_up, ..FitSettings::clone(&request.settings) };
            request.settings = Arc::new(settings.check()?);
        }
        if let Some(parent) = &job.parent {
            match self.network(run, &parent.structure) {
                Ok(network) => {
                    if let Some(network) = network {
                        self.begin_at(&mut request, &job.structure, parent, &network)?;
                    }
                }
                Err(FitError::Interrupted | FitError::Time) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(request))
    }

    /// Lets a fit begin at the cores of its parent.
    fn begin_at(
        &self,
        request: &mut Request,
        structure: &Structure,
        parent: &Parent,
        network: &Network,
    ) -> Result<(), FitError> {
        let Some(loss) = parent.near else {
            request.warm = grown(network, structure, request.seed).map(Arc::new);
            return Ok(());
        };
        request.warm = carried(network, structure, request.seed).map(Arc::new);
        if request.warm.is_some() {
            let rules = &self.engine.rules;
            let give_up = rules.objective.error_at(structure.phi(&rules.dims), loss);
            let settings = FitSettings::clone(&request.settings);
            let settings = FitSettings { restarts: 1, rescue: 0, give_up, ..settings };
            request.settings = Arc::new(settings.check()?);
        }
        Ok(())
    }

    /// Takes a result that has come.
    pub(super) fn land(&mut self, ticket: Ticket, result: Result<Fitted, FitError>) {
        let Some(Flight::Part { run, key, part }) = self.flights.remove(&ticket) else { return };
        let Some(assembly) = self.fits[run].get_mut(&key) else { return };
        let (job, waited_for) = (assembly.job.clone(), assembly.index.is_some());
        match result {
            Ok(fitted) if fitted.interrupted => {
                assembly.drop_part(part);
                if waited_for {
                    self.speculative -= 1;
                    self.keep_cut_short(job, fitted);
                }
            }
            Err(FitError::Interrupted) => {
                // A worker was lost, perhaps; but not every time.
                assembly.drop_part(part);
                assembly.lost += 1;
                if assembly.lost > MOST_LOST && self.stopped_by.is_none() && waited_for {
                    self.fail(job.place, lost());
                }
            }
            result => {
                assembly.land(part, result);
                self.foresight[run].changed |= assembly.result().is_some();
            }
        }
        self.go_on(run, &key);
    }

    /// Ends everything under way; what is done of fits that are cut short may still be the best there is.
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
        let waited_for = self.fits.iter().flat_map(HashMap::values).filter(|a| a.index.is_some());
        let done = waited_for.filter_map(|a| Some((a.job.clone(), a.best_so_far()?)));
        for (job, fitted) in done.collect::<Vec<_>>() {
            self.keep_cut_short(job, Fitted { interrupted: true, ..fitted });
        }
    }

    /// A fit that a run waited for has ended well.
    fn fitted(&mut self, run: usize, index: usize, job: &Arc<Job>, fitted: Fitted) {
        if job.walk.is_some() {
            return self.walk_ended(run, index, job, fitted);
        }
        let loss = self.engine.rules.objective.loss(job.params, job.phi, fitted.error);
        // What is no number cannot be compared or written down.
        if !(fitted.error.is_finite() && loss.is_finite()) {
            return self.take(run, index, Resolved::Refused);
        }
        let evaluation = self.evaluation(job, loss, &fitted);
        self.tell(&Event::Evaluated(&evaluation));
        if job.parent.is_some() {
            self.lineages[run].fitted(job, loss, &fitted.cores);
        }
        self.account.keep(job, evaluation.score(), fitted);
        self.take(run, index, Resolved::Evaluated(Arc::new(evaluation)));
        self.tell_progress();
    }

    /// The record of a fit.
    pub(super) fn evaluation(&self, job: &Job, loss: f64, fitted: &Fitted) -> Evaluation {
        Evaluation {
            run: job.place.run,
            key: job.record_key(),
            permutation: job.structure.permutation().to_vec(),
            ranks: job.structure.ranks().to_vec(),
            params: job.params.try_into().unwrap_or(u64::MAX),
            error: fitted.error,
            loss,
            sweeps: fitted.sweeps,
            restarts: fitted.restarts,
            seconds: self.seconds(),
            effort: job.effort,
            format: OtherFormat::of(&job.structure, self.engine.home.as_ref()),
        }
    }

    pub(super) fn fail(&mut self, place: Slot, error: FitError) {
        if self.failure.as_ref().is_none_or(|(first, _)| place < *first) {
            self.failure = Some((place, error));
        }
    }

    /// Hands a result to the run that waits for it.
    pub(super) fn take(&mut self, run: usize, index: usize, resolved: Resolved) {
        let rules = &self.engine.rules;
        if let Some(round) = &self.engine.runs[run].round {
            self.seen.resolved(rules, &round.jobs[index], &resolved);
            self.foresight[run].learn(&round.jobs[index], &resolved);
        }
        self.engine.runs[run].resolve(rules, index, resolved);
    }

    /// A fit was stopped on its way: no evaluation, but better than nothing if there is nothing else. A walk may have
    /// come further than all before it.
    fn keep_cut_short(&mut self, job: Arc<Job>, fitted: Fitted) {
        let objective = self.engine.rules.objective;
        if job.walk.is_some() {
            let Some((found, fitted)) = self.engine.rules.found_by(&job, fitted) else { return };
            let score = objective.score(found.params, found.phi, fitted.error);
            let beaten = |other: &Score| !objective.better(&score, other);
            if !(self.seen.best.as_ref().is_some_and(beaten)
                || self.cut_short.as_ref().is_some_and(|(_, other, _)| beaten(other)))
            {
                self.cut_short = Some((Arc::new(found), score, fitted));
            }
            return;
        }
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
        let dims = &self.engine.rules.data_dims;
        if let Some(network) = self.lineages[run].network(structure, dims) {
            return Ok(Some(network));
        }
        let fitted = self.fit_again(run, structure, Effort::Full, true)?;
        let dims = &self.engine.rules.data_dims;
        Ok(self.lineages[run].hold(structure, dims, fitted.cores))
    }

    /// Fits a structure once more, from its parent if it has one. Not an evaluation: its result is known. Where it may
    /// be stopped, a stop is an error: cut short, it is not what it was. Where it may not, for the answer's cores, it
    /// gets a second (and its ancestors theirs) once the search is to end.
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
            network = lineage.network(&ancestor.structure, &self.engine.rules.data_dims);
            if network.is_some() {
                break;
            }
            next = lineage.parent_of(&ancestor.structure).cloned();
            missing.push(ancestor);
        }
        for ancestor in missing.iter().rev() {
            let ancestor = &ancestor.structure;
            let fitted =
                self.fit_from(run, ancestor, Effort::Full, network.as_deref(), stoppable)?;
            let dims = &self.engine.rules.data_dims;
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
        let mut settings = self.engine.fit.clone();
        if !stoppable && self.engine.stop.is_set() {
            let seconds = settings.max_seconds.map_or(LAST_SECONDS, |s| s.min(LAST_SECONDS));
            let short = FitSettings { max_seconds: Some(seconds), ..FitSettings::clone(&settings) };
            settings = Arc::new(short.check()?);
        }
        let mut request = Request::new(graph, settings, seed);
        request.effort = effort;
        if let (Some(network), Some(parent)) = (parent, self.lineages[run].parent_of(structure)) {
            self.begin_at(&mut request, structure, &parent.clone(), network)?;
        }
        self.compute_again(request, stoppable)
    }

    /// Has a request computed whose result was thrown away, and waits for it.
    pub(super) fn compute_again(
        &mut self,
        request: Request,
        stoppable: bool,
    ) -> Result<Fitted, FitError> {
        let mut times_lost = 0;
        let mut again = self.submit_again(&request);
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
            match result {
                Ok(fitted) if fitted.interrupted && stoppable => return Err(FitError::Interrupted),
                // A worker was lost, perhaps; but not every time.
                Err(FitError::Interrupted) if !cancelled => {
                    if times_lost == MOST_LOST {
                        return Err(lost());
                    }
                    times_lost += 1;
                    again = self.submit_again(&request);
                }
                result => return result,
            }
        }
    }

    fn submit_again(&mut self, request: &Request) -> Ticket {
        let ticket = self.next_ticket();
        self.flights.insert(ticket, Flight::Again);
        self.executor.submit(ticket, request.clone());
        ticket
    }
}

/// The error of a fit that was interrupted so often though nobody asked for that.
fn lost() -> FitError {
    let times = MOST_LOST + 1;
    FitError::Elsewhere(format!("a fit was given up {times} times, though nobody asked for that"))
}

#[cfg(test)]
mod tests;
