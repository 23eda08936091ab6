//! What is drawn along a search: quantities of its evaluations, and the best so far.

use super::digest::{Digest, improvements};
use super::words;
use crate::plot::{Axis, Point, number};
use tnsearch::problem::Measure;
use tnsearch::search::Evaluation;

/// Smaller errors cannot be told from rounding; they are drawn here.
pub(super) const LEAST_ERROR: f64 = 1e-14;

/// How high an error is drawn: its root, where that has a name.
pub(super) fn shown(error: f64, measure: &Measure) -> f64 {
    let error = error.max(LEAST_ERROR);
    if measure.root.is_some() { error.sqrt() } else { error }
}

/// One quantity of an evaluation.
#[derive(Clone, Copy)]
pub(super) enum Quantity {
    Loss,
    Error,
    Params,
}

impl Quantity {
    pub(super) fn name(self, measure: &Measure) -> &str {
        match self {
            Quantity::Loss => "loss",
            // The root, where people use that.
            Quantity::Error => measure.root.as_ref().map_or(&measure.name, |root| &root.name),
            Quantity::Params => "params",
        }
    }

    pub(super) fn of(self, record: &Evaluation, measure: &Measure) -> f64 {
        match self {
            Quantity::Loss => record.loss,
            Quantity::Error => shown(record.error, measure),
            Quantity::Params => record.params as f64,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Quantity::Loss => "Loss",
            Quantity::Error => "Error",
            Quantity::Params => "Size",
        }
    }
}

/// What evaluations are counted along.
#[derive(Clone, Copy)]
pub(super) enum Along {
    Evaluations,
    Seconds,
}

impl Along {
    pub(super) fn name(self) -> &'static str {
        match self {
            Along::Evaluations => "evaluations",
            Along::Seconds => "time",
        }
    }

    pub(super) fn axis(self) -> Axis {
        match self {
            Along::Evaluations => Axis::whole("evaluations"),
            Along::Seconds => Axis::linear("seconds"),
        }
    }

    pub(super) fn of(self, index: usize, record: &Evaluation) -> f64 {
        match self {
            Along::Evaluations => (index + 1) as f64,
            Along::Seconds => record.seconds,
        }
    }
}

/// The numbers of an evaluation.
pub(super) fn tip(digest: &Digest<'_>, index: usize) -> String {
    let journal = digest.journal();
    let record = &journal.records[index];
    let format = match digest.formats.is_empty() {
        true => String::new(),
        false => format!(" ({})", journal.format_of(record)),
    };
    let loss = match journal.header.objective.lambda() {
        Some(_) => format!("loss {}, ", number(record.loss)),
        None => String::new(),
    };
    format!(
        "evaluation {}{format}: {loss}{} params, {}, after {}",
        index + 1,
        number(record.params as f64),
        digest.measure().short_text(record.error, number),
        words::seconds(record.seconds)
    )
}

/// The best so far: where it improved, over all runs.
pub(super) fn improvement_points(
    digest: &Digest<'_>,
    quantity: Quantity,
    along: Along,
) -> Vec<Point> {
    let at = |&k: &usize| {
        let record = &digest.journal().records[k];
        (along.of(k, record), quantity.of(record, digest.measure()))
    };
    digest.improvements.iter().map(at).collect()
}

/// The best so far of one run.
pub(super) fn run_line(
    digest: &Digest<'_>,
    run: usize,
    quantity: Quantity,
    along: Along,
) -> Vec<Point> {
    let journal = digest.journal();
    let objective = journal.header.objective.check().ok();
    let found = improvements(journal, objective, Some(run));
    let mut count = 0;
    let mut points = Vec::new();
    let mut next = found.iter().peekable();
    let mut end = 0.0f64;
    for (k, record) in journal.records.iter().enumerate().filter(|(_, r)| r.run == run) {
        count += 1;
        let x = along.of(count - 1, record);
        end = end.max(x);
        if next.next_if(|&&n| n == k).is_some() {
            points.push((x, quantity.of(record, digest.measure())));
        }
    }
    up_to(points, end)
}

/// A line that stays at its last value up to `end`.
pub(super) fn up_to(mut points: Vec<Point>, end: f64) -> Vec<Point> {
    if let Some(&(_, last)) = points.last() {
        points.push((end, last));
    }
    points
}
