//! What only the tensor can tell about a search, for its page: peers, and the cuts that hold the answer.

use crate::compare::{original_order, peers};
use tnsearch::bound::{Cut, CutBound, binding};
use tnsearch::graph::Structure;
use tnsearch::problem::{Objective, Reason, Stop, Target};
use tnsearch_io::MemoryLimit;
use tnsearch_io::journal::JournalFile;
use tnsearch_report::page::{CutFacts, Facts, Found};

/// Cuts that are neither wide nor tight say nothing; so many go to the page.
const MAX_CUTS: usize = 60;
/// Smaller errors are rounding: every cut would bind.
pub(crate) const LEAST_ERROR: f64 = 1e-10;
/// Singular values of a cut that go to the page.
const MAX_VALUES: usize = 64;

/// Works out the facts about the answer of a search, from the tensor or the smaller one that was searched in its place. Whatever takes too much is left out, with the reason.
pub fn facts(
    target: &Target,
    bound: Option<&CutBound>,
    journal: &JournalFile,
    found: &Found,
    limit: MemoryLimit,
    interrupt: &Stop,
) -> Facts {
    let mut facts = Facts::default();
    if let Some(reason) = interrupt.reason() {
        let why = match reason {
            Reason::Deadline => "The time was up",
            _ => "The search was interrupted",
        };
        facts.notes.push(format!("{why}: nothing was compared with its answer."));
        return facts;
    }
    let objective = journal.header.objective;
    peers(&mut facts, target, objective, found, limit, interrupt);
    original_order(&mut facts, target, bound, objective, found, limit, interrupt);
    match bound {
        Some(bound) => {
            // Where no error was asked for, the cuts that hold the answer are those of its own error.
            let eps = objective.max_error().unwrap_or(found.error.max(LEAST_ERROR));
            let objective = Objective::MaxError(eps);
            cuts(&mut facts, bound, objective, &found.structure);
        }
        None => facts.notes.push(
            "The cut spectra are not shown: computing them for this tensor takes too much memory or time.".into(),
        ),
    }
    facts
}

/// The cuts of the answer, those that bind first, then the others by how little room they leave.
fn cuts(facts: &mut Facts, bound: &CutBound, objective: Objective, structure: &Structure) {
    if !bound.spectra().affordable() {
        facts.notes.push(
            "The cut spectra are not shown: there are too many, or they are too large.".into(),
        );
        return;
    }
    let binding = binding(bound, structure, objective);
    let all = bound.cuts(&structure.canonical().graph);
    facts.cuts_seen = all.len();
    let mut cuts: Vec<(f64, CutFacts)> = Vec::new();
    for cut in &all {
        let Some(spectrum) = bound.spectra().of(cut.modes) else { continue };
        let report = Cut::new(cut);
        let needed = objective.max_error().map(|eps| spectrum.rank(eps));
        let room = match needed {
            Some(needed) => cut.width / needed.max(1) as f64,
            None => -cut.rse,
        };
        let mut values = spectrum.values();
        values.truncate(MAX_VALUES);
        let rest = spectrum.tail(values.len());
        cuts.push((
            room,
            CutFacts {
                binding: binding.iter().any(|b| b.modes == report.modes),
                modes: report.modes,
                width: cut.width,
                needed,
                error: cut.rse,
                spectrum: values,
                rest,
            },
        ));
    }
    cuts.sort_by(|(p, a), (q, b)| {
        b.binding.cmp(&a.binding).then(p.total_cmp(q)).then_with(|| a.modes.cmp(&b.modes))
    });
    facts.cuts = cuts.into_iter().take(MAX_CUTS).map(|(_, cut)| cut).collect();
}
