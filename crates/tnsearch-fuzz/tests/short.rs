//! A short run of every target; `cargo xtask fuzz --inputs 1000000` makes the long one.

use tnsearch_fuzz::{Budget, TARGETS, run};

#[test]
fn no_reader_panics_takes_too_much_or_loses_anything() {
    let mut failed = Vec::new();
    for target in &TARGETS {
        let tried = run(target, &Budget { seed: 16, inputs: 2000, time: None });
        let good = (target.good)().len() as u64;
        assert!(tried.accepted >= good, "{}: good files are refused", target.name);
        assert!(tried.inputs == 2000 || !tried.findings.is_empty());
        failed.extend(
            tried.findings.into_iter().map(|f| format!("{} {}: {}", target.name, f.number, f.what)),
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_run_is_the_same_for_its_seed() {
    let npy = TARGETS.iter().find(|t| t.name == "structure").unwrap();
    let tried = |seed| run(npy, &Budget { seed, inputs: 500, time: None }).accepted;
    assert_eq!(tried(3), tried(3));
}
