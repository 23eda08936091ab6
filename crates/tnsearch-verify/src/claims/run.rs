//! What is on record of a run: nobody can compute it anew, but it has to agree with the rest.

use super::errors::{Goal, measured};
use super::{Checks, Command, number};
use crate::spectrum;
use crate::{Network, Verdict};
use serde_json::{Value, json};

/// What became of structures, and how many there were.
const COUNTS: [&str; 5] = ["samples", "evaluations", "cached", "pruned", "refused"];
/// Why searches end.
const ENDS: [&str; 4] = ["finished", "max_evaluations", "max_seconds", "interrupted"];

/// The numbers of an answer, as a summary has them.
struct Answer {
    goal: Option<Goal>,
    id: &'static str,
    entries: f64,
    params: Option<f64>,
    error: Option<f64>,
    loss: Option<f64>,
    /// It may be a fit that a stop cut short, which nothing else has on record.
    cut_short: bool,
}

/// Whether two errors are those of one fit: the last is computed once more from the whole cores.
fn alike(a: f64, b: f64) -> bool {
    (a.sqrt() - b.sqrt()).abs() <= 1e-6 * a.max(b).sqrt() + 1e-6
}

impl Answer {
    /// The error of a point of the record; that of a run is called `rse` whatever it is.
    fn error_of(&self, point: &Value) -> Option<f64> {
        number(point, self.id).or(number(point, "rse"))
    }

    /// Whether the loss of a point of the record is that of its params and its error.
    fn adds_up(&self, point: &Value) -> bool {
        let (Some(params), Some(error), Some(loss)) =
            (number(point, "params"), self.error_of(point), number(point, "loss"))
        else {
            return false;
        };
        self.goal.is_none_or(|goal| {
            let found = goal.loss(params, self.entries, error);
            (loss - found).abs() <= 1e-9 * found.abs() + 1e-12
        })
    }

    /// Whether a point of the record is the answer.
    fn is(&self, point: &Value) -> bool {
        let errors = self.error_of(point).zip(self.error);
        self.cut_short
            || number(point, "params") == self.params && errors.is_some_and(|(a, b)| alike(a, b))
    }

    /// Whether a point of the record, which goes by the loss, is the best beside the answer: the answer itself, or where the
    /// error is missed one with no larger loss.
    fn leads(&self, point: &Value) -> bool {
        let missed =
            matches!(self.goal, Some(Goal::MaxError(eps)) if self.error.is_some_and(|e| e > eps));
        let losses = number(point, "loss").zip(self.loss);
        self.is(point) || missed && losses.is_some_and(|(a, b)| a <= b * (1.0 + 1e-6))
    }

    /// Whether a point of the record is what was asked for.
    fn reached(&self, point: &Value) -> Option<bool> {
        let (params, error) = (number(point, "params")?, self.error_of(point)?);
        self.goal.map(|goal| goal.reached(params, error))
    }

    /// Whether a point of the record is a better answer.
    fn beaten_by(&self, point: &Value) -> bool {
        let numbers = (number(point, "params"), self.error_of(point), self.params, self.error);
        let (Some(p), Some(e), Some(params), Some(error)) = numbers else { return false };
        let reached = |p: f64, e: f64| self.goal.is_some_and(|goal| goal.reached(p, e));
        match (self.goal, reached(p, e), reached(params, error)) {
            (None, ..) | (_, false, true) => false,
            (_, true, false) => true,
            (Some(Goal::MaxError(_)), true, true) => p < params,
            (Some(Goal::MaxParams(_)), true, true) => e < error && !alike(e, error),
            // Where the error is missed, the nearest is the answer.
            (Some(Goal::MaxError(_)), false, false) => e < error && !alike(e, error),
            (Some(goal), ..) => {
                let (other, own) =
                    (goal.loss(p, self.entries, e), goal.loss(params, self.entries, error));
                other < own * (1.0 - 1e-6)
            }
        }
    }
}

impl Checks<'_> {
    /// What is on record of a run.
    pub(super) fn run(&mut self, summary: &Value) {
        if self.command != Command::Search {
            return;
        }
        let (id, _) = measured(summary);
        let answer = Answer {
            goal: Goal::of(&summary["objective"], id),
            id,
            entries: self.given.x.dims.iter().map(|&d| d as f64).product(),
            params: number(summary, "params"),
            error: number(summary, id),
            loss: number(summary, "loss"),
            cut_short: ["max_seconds", "interrupted"].iter().any(|e| summary["stopped_by"] == *e),
        };
        self.counts(summary, &answer);
        self.history(summary, &answer);
        self.front(summary, &answer);
        self.formats(summary, &answer);
        self.shrunk(summary, &answer);
        let tried = ["history", "pareto", "runs"].iter().any(|name| summary[name].is_array());
        if tried {
            let why =
                "what else was tried, and when: it agrees with the answer, but its fits are gone";
            self.found.recorded("history, pareto, runs", &Value::Null, why);
        }
        if let Some(said) = summary.get("stopped_by")
            && !ENDS.iter().any(|end| said == end)
        {
            self.found.refused("stopped_by", said, "no search ends so");
        }
        let (over, set) = (&summary["bound_over"]["max_rank"], &summary["settings"]["max_rank"]);
        if over.is_u64() && set.is_u64() && over != set {
            self.found.refused("settings", set, "the bound is about other ranks");
        }
    }

    /// The counts of all runs, and of each.
    fn counts(&mut self, summary: &Value, answer: &Answer) {
        let of = |part: &Value, name: &str| part[name].as_u64();
        let adds_up = |part: &Value| {
            let parts = COUNTS[1..].iter().map(|name| of(part, name));
            parts.sum::<Option<u64>>().is_some_and(|sum| of(part, "samples") == Some(sum))
        };
        if let Some(said) = summary.get("samples") {
            let why = Some("the sum of what became of them".to_owned());
            self.found.said("samples", said.clone(), Value::Null, adds_up(summary), why);
        }
        let Some(runs) = summary["runs"].as_array() else { return };
        self.strangers("runs", &summary["runs"], &["seed", "counts", "best", "target_reached"]);
        let mut why = None;
        for (k, run) in runs.iter().enumerate() {
            let best = &run["best"];
            let counted = adds_up(&run["counts"]);
            let valued = best.is_null() || answer.adds_up(best);
            let reached = if best.is_null() { Some(false) } else { answer.reached(best) };
            let reached = reached.is_none_or(|r| run["target_reached"] == json!(r));
            if !counted || !valued || !reached {
                why = Some(format!("run {k} contradicts itself"));
            }
            if !best.is_null() && answer.beaten_by(best) {
                why = Some(format!("run {k} has a better answer"));
            }
        }
        for name in COUNTS.iter().chain(["direct"].iter()) {
            let sum = runs.iter().map(|run| of(&run["counts"], name)).sum::<Option<u64>>();
            if summary.get(*name).is_some() && of(summary, name) != sum {
                why = Some(format!("their {name} are not those of the search"));
            }
        }
        let first = runs.first().map(|run| &run["seed"]);
        if first.is_none_or(|seed| *seed != summary["seed"]) {
            why = Some("the first run has another seed".to_owned());
        }
        let own = summary["run"].as_u64().and_then(|run| runs.get(run as usize));
        match own {
            Some(run) if run["seed"] != summary["run_seed"] => {
                why = Some("the run of the answer has another seed".to_owned());
            }
            Some(run) if !answer.leads(&run["best"]) => {
                why = Some("the run of the answer has another best".to_owned());
            }
            None if !summary["run"].is_null() => {
                why = Some("there is no such run as that of the answer".to_owned());
            }
            None if answer.params.is_some() && summary.get("run").is_some() => {
                why = Some("there is an answer of no run".to_owned());
            }
            _ => {}
        }
        let said = why.clone().unwrap_or("they agree with the answer and the counts".to_owned());
        self.found.said("runs", Value::Null, Value::Null, why.is_none(), Some(said));
    }

    /// How the best improved.
    fn history(&mut self, summary: &Value, answer: &Answer) {
        let Some(points) = summary["history"].as_array() else { return };
        let fields = ["evaluations", "samples", "loss", answer.id, "params", "seconds"];
        self.strangers("history", &summary["history"], &fields);
        let mut why = None;
        for (k, point) in points.iter().enumerate() {
            if !answer.adds_up(point) {
                why = Some(format!("the loss of point {k} is not that of its params and error"));
            }
            let before = if k == 0 { &Value::Null } else { &points[k - 1] };
            let later = |name: &str| {
                number(before, name).is_none_or(|b| number(point, name).is_some_and(|p| p >= b))
            };
            if !["evaluations", "samples", "seconds"].into_iter().all(later) {
                why = Some(format!("point {k} is before the one before it"));
            }
        }
        let end = points.last();
        let ends = |name: &str| end.is_none_or(|end| end[name] == summary[name]);
        if !ends("evaluations") || !ends("samples") {
            why = Some("it does not end where the search does".to_owned());
        }
        let lost = |end: &Value| {
            let losses = number(end, "loss").zip(answer.loss);
            !answer.cut_short
                && answer.is(end)
                && losses.is_none_or(|(a, b)| (a - b).abs() > 1e-6 * a.abs().max(b.abs()))
        };
        if end.is_some_and(|end| !answer.leads(end) || lost(end)) {
            why = Some("it does not end with the answer".to_owned());
        }
        if end.is_none() && answer.params.is_some() && !answer.cut_short {
            why = Some("there is an answer, and nothing came before it".to_owned());
        }
        let late = end.and_then(|end| number(end, "seconds")).zip(number(summary, "seconds"));
        if late.is_some_and(|(end, all)| end > all) {
            why = Some("it ends after the search does".to_owned());
        }
        let said = why.clone().unwrap_or(format!("{} points agree with the answer", points.len()));
        self.found.said("history", Value::Null, Value::Null, why.is_none(), Some(said));
    }

    /// The points of the front: their sizes and their order; their errors would take their cores.
    fn front(&mut self, summary: &Value, answer: &Answer) {
        let Some(points) = summary["pareto"].as_array() else { return };
        let fields = ["params", answer.id, "permutation", "edges", "run", "template", "effort"];
        self.strangers("pareto", &summary["pareto"], &fields);
        let runs = summary["runs"].as_array().map(Vec::len);
        let mut why = None;
        for (k, point) in points.iter().enumerate() {
            let template = point.get("template").unwrap_or(&summary["template"]);
            let params = self.params_of(point, template);
            if params.is_none() || point["params"].as_u64().map(u128::from) != params {
                why = Some(format!("point {k} has other params than it says"));
            }
            let better = k > 0
                && (number(point, "params") <= number(&points[k - 1], "params")
                    || answer.error_of(point) >= answer.error_of(&points[k - 1]));
            if better || answer.error_of(point).is_none_or(|e| e < 0.0) {
                why = Some(format!("point {k} is no point of a front"));
            }
            if runs.is_some_and(|n| point["run"].as_u64().is_none_or(|run| run >= n as u64)) {
                why = Some(format!("point {k} is of no run"));
            }
            if answer.beaten_by(point) {
                why = Some(format!("point {k} is a better answer than the answer"));
            }
        }
        // The answer itself is on it, or something as good in both.
        let reaches = |point: &Value| {
            let numbers = (number(point, "params"), answer.error_of(point));
            let (Some(p), Some(e)) = numbers else { return false };
            answer.params.is_some_and(|params| p <= params)
                && answer.error.is_some_and(|error| e <= error || alike(e, error))
        };
        if answer.params.is_some() && !answer.cut_short && !points.iter().any(reaches) {
            why = Some("it does not reach the answer".to_owned());
        }
        let said = why.clone().unwrap_or(format!("the params of {} points", points.len()));
        self.found.said("pareto", Value::Null, Value::Null, why.is_none(), Some(said));
    }

    /// The params of a structure in JSON.
    fn params_of(&self, point: &Value, template: &Value) -> Option<u128> {
        let edges: Vec<[usize; 3]> = serde_json::from_value(point["edges"].clone()).ok()?;
        let at: Vec<usize> = serde_json::from_value(point["permutation"].clone()).ok()?;
        let graph = match self.class(template) {
            Some(crate::Class::Graph(graph)) => Some(graph),
            _ => None,
        };
        let ends = edges.iter().flat_map(|e| [e[0], e[1]]).chain(at.iter().copied());
        let vertices = ends.max()?.checked_add(1).filter(|n| *n <= 4096)?;
        let external: Vec<bool> = match &graph {
            Some(graph) => graph.vertices.iter().map(|v| v.mode).collect(),
            None => (0..vertices).map(|v| at.contains(&v)).collect(),
        };
        let plain: Vec<[usize; 2]> = edges.iter().map(|e| [e[0], e[1]]).collect();
        if graph.is_some_and(|graph| !super::class::same_edges(&graph.edges, &plain)) {
            return None;
        }
        let (dims, cores) = (self.given.x.dims.clone(), Vec::new());
        let hub = super::class::hub_of(template, &external);
        let made = Network { dims, external, at, edges, hub, cores };
        made.check_structure().ok()?;
        made.params()
    }

    /// The best of each format.
    fn formats(&mut self, summary: &Value, answer: &Answer) {
        let Some(formats) = summary["formats"].as_array().filter(|f| !f.is_empty()) else { return };
        let fields = ["format", "params", answer.id, "re", "seconds", "target_reached"];
        self.strangers("formats", &summary["formats"], &fields);
        let mut why = None;
        for (k, best) in formats.iter().enumerate() {
            let reached = answer.reached(best);
            if reached.is_some_and(|r| best["target_reached"] != json!(r)) {
                why = Some(format!("format {k}: whether it reaches the target is not so"));
            }
            let root = number(best, "re").zip(number(best, "rse"));
            if root.is_some_and(|(re, rse)| !super::is_root(re, rse)) {
                why = Some(format!("format {k}: its RE is not the root of its RSE"));
            }
            if answer.beaten_by(best) {
                why = Some(format!("format {k} is a better answer than the answer"));
            }
        }
        if formats.first().is_some_and(|first| !answer.is(first)) {
            why = Some("the first is not the answer".to_owned());
        }
        if let Some(why) = why {
            self.found.refused("formats", &summary["formats"], why);
        }
    }

    /// The tensor that was searched in the place of this one: the part of X that it can miss at least, and at most.
    fn shrunk(&mut self, summary: &Value, answer: &Answer) {
        let shrunk = &summary["shrunk"];
        if shrunk.is_null() {
            return;
        }
        self.strangers("shrunk", shrunk, &["dims", "lost", "seconds"]);
        let (x, lost) = (self.given.x, number(shrunk, "lost").unwrap_or(f64::NAN));
        let dims: Option<Vec<usize>> = serde_json::from_value(shrunk["dims"].clone()).ok();
        let dims = dims.filter(|d| {
            d.len() == x.dims.len() && d.iter().zip(&x.dims).all(|(d, n)| (1..=*n).contains(d))
        });
        let why = match dims {
            None => Some("its dimensions are not those of a smaller tensor".to_owned()),
            Some(_) if !(0.0..1.0).contains(&lost) => Some("what it lost is no share".to_owned()),
            Some(_)
                if answer
                    .error
                    .is_some_and(|e| answer.id == "rse" && lost > e && !self.same(lost, e)) =>
            {
                Some("it lost more than the whole error".to_owned())
            }
            // A projection on so few vectors leaves at least the tail of that mode.
            Some(dims) => {
                dims.iter().enumerate().filter(|(m, d)| **d < x.dims[*m]).find_map(|(m, &d)| {
                    let tails = spectrum(x, &[m], lost.max(1e-12), self.limits).ok()?;
                    let least = tails.certain(d as u64);
                    let wide = least > lost * (1.0 + 1e-6) + 1e-12;
                    wide.then(|| format!("so few vectors of mode {m} lose {least:e} at least"))
                })
            }
        };
        if let Some(why) = why {
            self.found.refused("shrunk", shrunk, why);
        }
        let late = number(shrunk, "seconds").zip(number(summary, "seconds"));
        if late.is_some_and(|(own, all)| own > all)
            && !self.found.is("shrunk", Verdict::DoesNotHold)
        {
            self.found.refused("shrunk", shrunk, "it took longer than the search");
        }
    }
}

#[cfg(test)]
mod tests;
