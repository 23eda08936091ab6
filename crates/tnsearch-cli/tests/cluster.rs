//! `--cluster` where something is missing: one plain line and exit code 2. Searches on real workers are tested with the
//! Python package, in `tests/package/test_cluster.py`.

mod common;

use assert_cmd::Command;
use common::{HANG, Place, doubles, npy};
use std::fmt::Write as _;

/// How a search on a cluster ends if `python` is this shell script, or not there at all.
fn refusal(script: Option<&str>, cluster: &str) -> String {
    let place = Place::new();
    place.write("x.npy", npy("<f8", &[2, 2, 2], &doubles(&[1., 2., 3., 5., 7., 11., 13., 17.])));
    let python = place.path("python");
    if let Some(script) = script {
        place.write("python", format!("#!/bin/sh\n{script}\n"));
        let made = std::process::Command::new("chmod").arg("+x").arg(&python).status();
        assert!(made.unwrap().success());
    }
    let ended = Command::cargo_bin("tnsearch")
        .unwrap()
        .current_dir(place.dir())
        .env("TNSEARCH_PYTHON", &python)
        .args(["search", "x.npy", "--template", "ring", "--cluster", cluster])
        .timeout(HANG)
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(ended.stdout.is_empty());
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// A script that writes a frame.
fn frame(kind: char, text: &str) -> String {
    let mut octal = String::new();
    for byte in (text.len() as u64 + 1).to_le_bytes() {
        write!(octal, "\\{byte:03o}").unwrap();
    }
    format!("printf '{octal}{kind}{text}'")
}

#[test]
fn what_is_missing_is_said_in_one_line() {
    let gone = refusal(None, "dask://localhost:8786");
    assert!(gone.contains("--cluster needs Python 3.11 with the package tnsearch"), "{gone}");
    assert!(gone.contains("TNSEARCH_PYTHON"), "{gone}");
    let package = frame('X', "python has no Python package tnsearch (No module named tnsearch)");
    let package = refusal(Some(&package), "ray");
    assert!(package.contains("has no Python package tnsearch"), "{package}");
    assert!(package.contains("pip install tnsearch, or name an interpreter in"), "{package}");
    let text = "distributed is not installed; pip install distributed";
    let dask = refusal(Some(&frame('X', text)), "dask");
    assert!(dask.ends_with(&format!("--cluster dask: {text}\n")), "{dask}");
}

#[test]
fn a_broker_that_cannot_be_understood_is_refused() {
    let silent = refusal(Some("exit 0"), "ray");
    assert!(silent.contains("the broker of --cluster ended without a word"), "{silent}");
    for strange in ["printf hello".to_owned(), frame('?', "12345678"), frame('H', "12")] {
        refusal(Some(&strange), "processes:2");
    }
}

#[test]
fn workers_that_go_away_end_the_search() {
    // One worker, and nothing more.
    let hello = r"printf '\011\0\0\0\0\0\0\0H\1\0\0\0\0\0\0\0'";
    let gone = refusal(Some(hello), "processes:1");
    assert!(gone.contains("the workers are gone"), "{gone}");
}

#[test]
fn places_that_do_not_exist_are_refused_before_anything_is_started() {
    for place in ["dusk", "dask://", "processes:0", "ray:1"] {
        let refused = refusal(Some("exit 0"), place);
        assert!(refused.contains("use dask://HOST:PORT"), "{refused}");
    }
}
