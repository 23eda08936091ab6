//! Answers of version 0.2.0 that later versions give bit for bit: the summaries, the cores, and every evaluation.
//!
//! `recorded/cases.json` says what is asked, `recorded/answers` what version 0.2.0 answered, and
//! `recorded/arithmetic.json` on which arithmetic. Where that of the machine at hand is another (see `arithmetic`),
//! only what rounding does not decide is compared. `cargo xtask record --binary PATH` makes the answers again.

#[path = "recorded/arithmetic.rs"]
mod arithmetic;
#[path = "recorded/case.rs"]
mod case;
#[path = "recorded/compare.rs"]
mod compare;

use case::Case;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

/// What the names of cases begin with; each is one test.
const GROUPS: [&str; 8] =
    ["strategy-", "template-", "objective-", "search-", "fit-", "bound-", "certify-", "decompose-"];

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn write(path: &Path, value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap();
    std::fs::write(path, text + "\n").unwrap();
}

/// Whether this machine computes as the one of the recordings did; says so where not, once and past the capture of
/// the test harness.
fn same_arithmetic() -> bool {
    static SAME: OnceLock<bool> = OnceLock::new();
    *SAME.get_or_init(|| {
        let recorded = read(&case::folder().join("arithmetic.json"));
        let here = arithmetic::fingerprint();
        let same = recorded["sha256"] == here;
        if !same {
            let words = "note: this machine rounds otherwise than the one of the recordings; only exit codes, \
                         targets and proofs are compared, not bits";
            let _ = writeln!(std::io::stderr(), "{words} (arithmetic {here})");
        }
        same
    })
}

/// Asks the command of this version about all cases of a group.
fn check(group: &str) {
    let same = same_arithmetic();
    let program = assert_cmd::cargo::cargo_bin("tnsearch");
    let cases: Vec<Case> = case::all().into_iter().filter(|c| c.name.starts_with(group)).collect();
    assert!(!cases.is_empty(), "no case of group {group}");
    let mut found = Vec::new();
    for case in cases {
        let (mut then, mut now) = (read(&case.path()), case.answer(&program));
        if !same {
            then = compare::robust(&case.run, &then);
            now = compare::robust(&case.run, &now);
        }
        let differences = compare::differences("", &then, &now);
        found.extend(differences.iter().take(12).map(|d| format!("{}: {d}", case.name)));
    }
    assert!(found.is_empty(), "not what was recorded:\n{}", found.join("\n"));
}

#[test]
fn strategies() {
    check("strategy-");
}

#[test]
fn templates() {
    check("template-");
}

#[test]
fn objectives() {
    check("objective-");
}

#[test]
fn ways_to_search() {
    check("search-");
}

#[test]
fn fits() {
    check("fit-");
}

#[test]
fn proofs() {
    check("bound-");
    check("certify-");
}

#[test]
fn decompositions() {
    check("decompose-");
}

#[test]
fn every_case_is_asked_and_every_answer_has_one() {
    let mut names: Vec<String> = case::all().into_iter().map(|c| c.name).collect();
    names.sort();
    for name in &names {
        assert_eq!(GROUPS.iter().filter(|g| name.starts_with(*g)).count(), 1, "{name}");
    }
    let entries = std::fs::read_dir(case::folder().join("answers")).unwrap();
    let mut answers: Vec<String> = entries
        .map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    answers.sort();
    assert_eq!(names, answers);
}

/// Writes the answers of the program that TNSEARCH_RECORD names (`cargo xtask record`).
#[test]
#[ignore = "it writes the recordings"]
fn record() {
    let program = std::env::var_os("TNSEARCH_RECORD").expect("TNSEARCH_RECORD names no program");
    let program = Path::new(&program);
    let version = std::process::Command::new(program).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let answers = case::folder().join("answers");
    let _ = std::fs::remove_dir_all(&answers);
    std::fs::create_dir_all(&answers).unwrap();
    for case in case::all() {
        let answer = case.answer(program);
        write(&case.path(), &answer);
    }
    let arithmetic = json!({"program": version.trim(), "machine": std::env::consts::ARCH,
        "sha256": arithmetic::fingerprint()});
    write(&case::folder().join("arithmetic.json"), &arithmetic);
}
