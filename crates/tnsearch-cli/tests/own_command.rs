//! The example `own_command`: a program with a strategy, a loss and an executor of its own, on the whole command line.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The example beside the program; `cargo test` builds both.
fn program() -> PathBuf {
    let tnsearch = assert_cmd::cargo::cargo_bin("tnsearch");
    tnsearch.parent().expect("a folder").join("examples/own_command")
}

fn run(arguments: &[&str], folder: &std::path::Path) -> Output {
    Command::new(program()).args(arguments).current_dir(folder).output().expect("it starts")
}

#[test]
fn what_is_registered_is_asked_for_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let made = run(&["generate", "--order", "4", "--seed", "3", "-o", "x.npy"], dir.path());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let asked = "search x.npy --template path --strategy shuffle --tries 3 --loss log-cosh --max-loss 0.9 \
                 --cluster one --json - --quiet --seed 1";
    let asked: Vec<&str> = asked.split_whitespace().collect();
    let found = run(&asked, dir.path());
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(matches!(found.status.code(), Some(0 | 1)), "{said}");
    let summary: serde_json::Value = serde_json::from_slice(&found.stdout).expect(&said);
    assert_eq!(summary["strategy"], "shuffle");
    assert_eq!(summary["settings"]["tries"], 3);
    assert!(summary["log_cosh"].is_number() || summary["log-cosh"].is_number(), "{summary}");
    assert_eq!(summary["samples"], 3);
    // The same on this machine's threads: an executor decides nothing.
    let here: Vec<&str> =
        asked.iter().filter(|word| !["--cluster", "one"].contains(word)).copied().collect();
    let there: serde_json::Value = serde_json::from_slice(&run(&here, dir.path()).stdout).unwrap();
    for field in ["params", "edges", "loss", "evaluations"] {
        assert_eq!(summary[field], there[field], "{field}");
    }
}

#[test]
fn its_help_and_its_refusals_name_them() {
    let dir = tempfile::tempdir().unwrap();
    let help = String::from_utf8(run(&["search", "--help"], dir.path()).stdout).unwrap();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in ["shuffle (some orders", "--tries <N>", "log-cosh (log cosh of errors)"] {
        assert!(words.contains(told), "{told}");
    }
    let refused = run(&["search", "x.npy", "--cluster", "two"], dir.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("or one (one thread)"), "{said}");
    assert_eq!(refused.status.code(), Some(2));
    // The command itself knows none of them.
    let plain = Command::new(assert_cmd::cargo::cargo_bin("tnsearch"))
        .args(["search", "x.npy", "--strategy", "shuffle"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&plain.stderr).contains("unknown strategy 'shuffle'"));
}
