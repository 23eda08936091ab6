//! What a record of a journal says twice must agree: one that contradicts itself is damaged, with a checksum or without.

use super::Header;
use tnsearch::graph::Structure;
use tnsearch::problem::Measure;
use tnsearch::search::Evaluation;

/// Losses that were computed from the same numbers differ by no more than this part of themselves.
const ROUNDING: f64 = 1e-15;

/// Refuses an evaluation whose numbers do not belong together.
pub(super) fn evaluation(
    header: &Header,
    structure: &Structure,
    record: &Evaluation,
    keyed: bool,
) -> Result<(), String> {
    let wrong = |what: &str, says: &dyn std::fmt::Display, is: &dyn std::fmt::Display| {
        Err(format!("{what} is {says}, but it follows that it is {is}"))
    };
    if record.run as u64 >= header.runs {
        return Err(format!("it is of run {}, but there are {}", record.run, header.runs));
    }
    let follows = consistent(header, structure, record)?;
    if keyed && record.key != follows.key {
        return wrong("its key", &record.key, &follows.key);
    }
    if record.params != follows.params {
        return wrong("params", &record.params, &follows.params);
    }
    if !record.error.is_finite() || header.measure == Measure::RSE && record.error < 0.0 {
        return Err(format!("no error is {}", record.error));
    }
    time(record.seconds)?;
    let (says, loss) = (record.loss, follows.loss);
    match (loss - says).abs() <= ROUNDING * loss.abs().max(says.abs()) {
        true => Ok(()),
        false => wrong("loss", &says, &loss),
    }
}

/// An evaluation with all that follows from its structure and its error.
pub(super) fn consistent(
    header: &Header,
    structure: &Structure,
    record: &Evaluation,
) -> Result<Evaluation, String> {
    let (params, phi) = (structure.params(&header.dims), structure.phi(&header.dims));
    let objective = header.objective.check().map_err(|e| e.to_string())?;
    Ok(Evaluation {
        // A walk is known by where it began, and recorded with where it ended.
        key: match record.key.contains('~') {
            true => record.key.clone(),
            false => structure.canonical().graph.to_string(),
        },
        params: params.try_into().unwrap_or(u64::MAX),
        loss: objective.loss(params, phi, record.error),
        ..record.clone()
    })
}

/// Refuses what is no number of seconds.
pub(super) fn time(seconds: f64) -> Result<(), String> {
    match seconds.is_finite() && seconds >= 0.0 {
        true => Ok(()),
        false => Err(format!("no time is {seconds} seconds")),
    }
}
