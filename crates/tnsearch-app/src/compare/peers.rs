//! The answer of a search beside what direct methods give, for its page.

use super::direct::decomposed;
use crate::facts::LEAST_ERROR;
use tnsearch::bound::CutBound;
use tnsearch::decompose::{DecomposeSettings, Limits, Method};
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::Structure;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch_io::MemoryLimit;
use tnsearch_report::page::{Facts, Found, Peer};

/// Larger tensors are not decomposed for a page.
const MAX_ENTRIES: usize = 20_000_000;

/// The methods that a page has beside the answer, as people call them: those that need no sweeps.
const PEERS: [(&str, Method); 4] = [
    ("TT-SVD", Method::TtSvd),
    ("TR-SVD", Method::TrSvd),
    ("HT-SVD", Method::HtSvd),
    ("Tucker (HOSVD)", Method::Hosvd),
];

/// Methods without a search in the original order, to the error of the answer; where that is not what was asked for,
/// to the error asked for.
pub(crate) fn peers(
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
    if !(0.0..1.0).contains(&eps) {
        facts.notes.push("TT-SVD and its kin are left out: the answer has an error of 1.".into());
        return;
    }
    let limits = Limits::none().with(|l| {
        l.max_bytes = Some(limit.bytes());
        l.stop = interrupt.clone();
    });
    for (name, method) in PEERS {
        let settings = DecomposeSettings::new(method);
        match decomposed(&settings, None, target, Objective::MaxError(eps), &limits) {
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

/// The answer's ranks with the modes in the original order.
pub(crate) fn original_order(
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
