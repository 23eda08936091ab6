//! No method in the box is better: on thirty small tensors of twelve kinds the default is never larger than a method
//! without a search, nor than another strategy. Budgets are numbers of evaluations, never times.

mod kinds;

use kinds::{Case, thirty};
use tnsearch::problem::{AskedObjective, Stop};
use tnsearch::search::AskedSearch;
use tnsearch_app::compare::{AskedComparison, Comparison, Contender, Sort, contenders};
use tnsearch_io::MemoryLimit;

/// Fits that each search may make.
const EVALUATIONS: u64 = 40;

fn compared(case: &Case, takes_part: impl Fn(&Contender) -> bool) -> Comparison {
    let methods = contenders().iter().filter(|c| takes_part(c)).map(Contender::name).collect();
    let search = AskedSearch {
        objective: AskedObjective { max_re: Some(case.re), ..AskedObjective::default() },
        max_evaluations: Some(EVALUATIONS),
        ..AskedSearch::default()
    };
    let compare = AskedComparison { search, methods }.check(MemoryLimit::new(None)).unwrap();
    compare.run(&case.target, &Stop::new(), |_| {})
}

/// What is wrong with a comparison: the default missed the error, or something is smaller.
fn beaten(case: &Case, found: &Comparison) -> Option<String> {
    let default = found.rows.iter().find(|row| row.sort == Sort::Default).unwrap();
    let reason = |row: &&tnsearch_app::compare::Row| row.reason.is_some();
    assert!(!found.rows.iter().any(|row| reason(&row)), "{}:\n{found}", case.name);
    let fine = default.target_reached && default.won;
    (!fine).then(|| format!("{} at RE {}: {}\n{found}", case.name, case.re, found.verdict()))
}

#[test]
fn no_method_without_a_search_is_smaller_than_the_default() {
    let all = thirty();
    assert_eq!(all.len(), 30);
    let found = all.iter().map(|case| {
        let takes_part = |c: &Contender| !matches!(c, Contender::Strategy(_));
        beaten(case, &compared(case, takes_part))
    });
    let beaten: Vec<String> = found.flatten().collect();
    assert!(beaten.is_empty(), "{} of 30:\n\n{}", beaten.len(), beaten.join("\n"));
}

#[test]
fn no_strategy_is_smaller_than_the_default() {
    let found = thirty().into_iter().map(|case| {
        let takes_part = |c: &Contender| !matches!(c, Contender::Decompose(..));
        beaten(&case, &compared(&case, takes_part))
    });
    let beaten: Vec<String> = found.flatten().collect();
    assert!(beaten.is_empty(), "{} of 30:\n\n{}", beaten.len(), beaten.join("\n"));
}
