//! What only the tensor can tell about a search, for its page: peers, and the cuts that hold the answer.

use std::sync::Arc;
use tnsearch::bound::{Cut, CutBound, binding};
use tnsearch::decompose::{
    DecomposeError, Decomposition, Goal, Limits, ht_svd, tr_svd, tree_svd, tt_svd,
};
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::{Objective, Reason, Stop, Target};
use tnsearch_io::MemoryLimit;
use tnsearch_io::journal::JournalFile;
use tnsearch_report::page::{CutFacts, Facts, Found, Peer};

/// Larger tensors are not decomposed for a page.
const MAX_ENTRIES: usize = 20_000_000;
/// Cuts that are neither wide nor tight say nothing; so many go to the page.
const MAX_CUTS: usize = 60;
/// Smaller errors are rounding: every cut would bind.
const LEAST_ERROR: f64 = 1e-10;
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

/// Methods without a search in the original order, to the error of the answer; where that is not what was asked for,
/// to the error asked for.
fn peers(
    facts: &mut Facts,
    target: &Target,
    objective: Objective,
    found: &Found,
    limit: MemoryLimit,
    interrupt: &Stop,
) {
    let asked = objective.max_error().filter(|eps| found.error > *eps);
    let eps = asked.unwrap_or(found.error.max(LEAST_ERROR));
    if target.entries() > MAX_ENTRIES {
        let most = MAX_ENTRIES / 1_000_000;
        facts.notes.push(format!(
            "TT-SVD and its kin are left out: the tensor has more than {most} million entries."
        ));
        return;
    }
    let Ok(goal) = Goal::max_rse(eps) else {
        facts.notes.push("TT-SVD and its kin are left out: the answer has an error of 1.".into());
        return;
    };
    let order: Vec<usize> = (0..target.dims().len()).collect();
    let limits = Limits::none().with(|l| {
        l.max_bytes = Some(limit.bytes());
        l.stop = interrupt.clone();
    });
    type Method = fn(&Target, &[usize], &Goal, &Limits) -> Result<Decomposition, DecomposeError>;
    let methods: [(&str, Method); 4] =
        [("TT-SVD", tt_svd), ("TR-SVD", tr_svd), ("HT-SVD", ht_svd), ("Tucker (HOSVD)", tucker)];
    for (name, method) in methods {
        match method(target, &order, &goal, &limits) {
            Ok(made) if made.interrupted => {
                facts.notes.push(format!("{name} is left out: the time was up."));
            }
            Ok(made) => facts.peers.push(Peer {
                name: name.to_owned(),
                how: match asked {
                    Some(_) => "to the error asked for, modes in the original order",
                    None => "to the error of the answer, modes in the original order",
                }
                .to_owned(),
                params: made.network.structure().params(target.full_dims()),
                error: made.rse,
                least_error: None,
            }),
            Err(e) => facts.notes.push(format!("{name} is left out: {e}.")),
        }
    }
}

fn tucker(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = Arc::new(Template::tucker(target.dims().len())?);
    tree_svd(target, &template, permutation, goal, limits)
}

/// The answer's ranks with the modes in the original order.
fn original_order(
    facts: &mut Facts,
    target: &Target,
    bound: Option<&CutBound>,
    objective: Objective,
    found: &Found,
    limit: MemoryLimit,
    interrupt: &Stop,
) {
    // Which modes share a vertex is no order.
    if found.structure.is_grouped() {
        return;
    }
    let template = found.structure.template().clone();
    // A graph that was made for its modes has no original order.
    if found.format.is_some() && template.family().is_none() {
        return;
    }
    let Ok(identity) = Structure::identity(template, found.structure.ranks().to_vec()) else {
        return;
    };
    let graph = identity.canonical().graph;
    if graph == found.structure.canonical().graph {
        return;
    }
    let mut settings = FitSettings::default().with(|s| s.max_bytes = Some(limit.bytes()));
    if let Some(eps) = objective.max_error() {
        settings.enough_rse = eps;
    }
    let Ok(settings) = settings.check() else { return };
    match fit(target, &Request::new(graph.clone(), settings, 0), &Run::until(interrupt)) {
        Ok(fitted) if fitted.interrupted => {
            facts.notes.push("The original order was not fitted: the time was up.".into());
        }
        Ok(fitted) => facts.peers.push(Peer {
            name: "original order".to_owned(),
            how: "the same ranks, modes in the original order, fitted by ALS".to_owned(),
            params: identity.params(target.full_dims()),
            error: fitted.error,
            least_error: Some(bound.map_or(0.0, |b| b.rse(&graph, f64::INFINITY))),
        }),
        Err(e) => facts.notes.push(format!("The original order was not fitted: {e}.")),
    }
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
