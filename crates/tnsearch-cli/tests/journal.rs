//! Journals: resumed searches equal uninterrupted ones, whatever ended the first part.
#![cfg(unix)]

mod common;

use common::{Held, Place, timeless};
use rand::RngExt;
use serde_json::Value;
use std::process::Command;

/// A search of about a second, with many evaluations.
const SEARCH: &str = "search x.npy --strategy tnls --no-prune --lambda 200 --max-rank 5 \
                      --iterations 8 --samples 30 --runs 2 --seed 7 --quiet";

/// The uninterrupted search: its summary, its network, and the evaluations it has on record at the end.
fn reference(place: &Place, search: &str) -> (Value, Vec<u8>, usize) {
    let (code, json) = place.json(&format!("{search} -o reference --journal reference.jsonl"));
    assert!(code < 2);
    (timeless(json), place.read("reference"), evaluations(place, "reference.jsonl").len())
}

fn resumed(place: &Place, search: &str, threads: usize) -> (Value, Vec<u8>) {
    let args = format!("{search} --journal run.jsonl --resume --threads {threads} -o resumed");
    let (code, json) = place.json(&args);
    assert!(code < 2);
    (timeless(json), place.read("resumed"))
}

/// The evaluations in a journal, line by line.
fn evaluations(place: &Place, journal: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(place.path(journal)).unwrap_or_default();
    let lines = bytes.split_inclusive(|&b| b == b'\n');
    lines
        .filter(|line| line.starts_with(b"{\"run\"") && line.ends_with(b"\n"))
        .map(<[u8]>::to_vec)
        .collect()
}

/// How many evaluations are on record.
fn on_record(place: &Place) -> usize {
    evaluations(place, "run.jsonl").len()
}

/// Kills a search after some evaluations, in some rounds, and checks that resuming gives the same.
fn kill(place: &Place, search: &str, kills: u64) {
    let _ = std::fs::remove_file(place.path("reference.jsonl"));
    let (summary, network, all) = reference(place, search);
    assert!(all >= 10, "{summary}");
    let mut rng = tnsearch::rng::stream(kills, b"kills");
    for round in 0..kills {
        let _ = std::fs::remove_file(place.path("run.jsonl"));
        // Some rounds are killed more than once.
        for part in 0..rng.random_range(1..=3) {
            let before = on_record(place);
            if before == all {
                break;
            }
            let threads = rng.random_range(1..=3);
            let more = rng.random_range(1..=all - before);
            let args = format!("{search} --journal run.jsonl --resume --threads {threads}");
            if part % 2 == 0 {
                // Held after an evaluation: it cannot have ended.
                Held::at(place, &format!("evaluation {more}"), &args).kill();
                assert_eq!(on_record(place), before + more);
            } else {
                // In full run, wherever it is by the time that evaluation is seen.
                let mut child = Held::start(place, &args);
                child.until(|| on_record(place) >= before + more);
                child.kill();
                assert!(on_record(place) >= before + more);
            }
            if part == 0 && round % 2 == 0 {
                // The kill tore a line, as it may.
                let bytes = place.read("run.jsonl");
                let cut = rng.random_range(0..=bytes.len().min(200));
                place.write("run.jsonl", &bytes[..bytes.len() - cut]);
            }
        }
        let before = on_record(place);
        let threads = rng.random_range(1..=3);
        assert_eq!(
            resumed(place, search, threads),
            (summary.clone(), network.clone()),
            "round {round}"
        );
        assert!(on_record(place) >= before);
        // Everything is on record now: a further resume fits nothing anew.
        let complete = evaluations(place, "run.jsonl");
        assert_eq!(resumed(place, search, 2).0, summary);
        assert_eq!(evaluations(place, "run.jsonl"), complete);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn killed_after_any_evaluation() {
    let kills: u64 = std::env::var("TNSEARCH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    kill(&place, SEARCH, kills);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn killed_with_pruning() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let search = SEARCH.replace("--no-prune", "--restarts 20 --runs 3").replace("--runs 2", "");
    kill(&place, &search, 2);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn killed_in_an_exact_search() {
    let place = Place::new();
    let args = "generate --order 4 --ranks 3..4 --seed 1 -o x.npy --quiet";
    assert_eq!(place.run(args).code, 0);
    kill(&place, "search x.npy --strategy exact --max-rse 1e-4 --quiet", 2);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn killed_in_the_other_strategies() {
    let place = Place::new();
    place.ring("x.npy", 5, 5);
    for (strategy, options) in [
        ("random", "--iterations 4 --samples 30 --no-prune"),
        ("annealing", "--iterations 8 --samples 20 --no-prune"),
        ("tnga-plus", "--generations 5 --population 30"),
        ("tnga-star", "--generations 4 --population 30"),
        ("tnale", "--iterations 3 --no-prune"),
        ("greedy", "--restarts 20 --no-prune"),
    ] {
        let search = format!("search x.npy --strategy {strategy} {options} --max-rank 4 --seed 3");
        kill(&place, &format!("{search} --max-sweeps 50 --quiet"), 1);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn interrupted_by_ctrl_c() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (summary, network, all) = reference(&place, SEARCH);
    let args = format!("{SEARCH} --journal run.jsonl --json part.json -o part");
    let held = Held::at(&place, "evaluation 20", &args);
    held.signal("-INT");
    assert_eq!(held.end().code(), Some(130));
    let json: Value = serde_json::from_slice(&place.read("part.json")).unwrap();
    assert_eq!(json["stopped_by"], "interrupted");
    assert!(json["params"].is_number());
    assert_eq!(place.run("info part").code, 0, "the best so far is a whole network");
    // What was fitted while it was held counts; no generation is begun after that.
    let before = on_record(&place);
    assert!((20..all).contains(&before), "{before} of {all}");
    assert_eq!(resumed(&place, SEARCH, 2), (summary, network));
}

#[test]
fn stopped_by_a_budget_and_resumed_without() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (summary, network, _) = reference(&place, SEARCH);
    let (_, json) = place.json(&format!("{SEARCH} --journal run.jsonl --max-evaluations 50"));
    let direct = json["direct"].as_u64().unwrap() as usize;
    assert_eq!((json["evaluations"].as_u64(), on_record(&place)), (Some(50), 50 + direct));
    assert_eq!(resumed(&place, SEARCH, 1), (summary, network));
}

/// The journal as version 2 had it, and of another strategy if one is named.
fn rewritten(place: &Place, strategy: Option<&str>) -> String {
    let text = String::from_utf8(place.read("run.jsonl")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(first).unwrap();
    header.as_object_mut().unwrap().remove("crc");
    match strategy {
        Some(name) => header["strategy"] = name.into(),
        None => {
            assert_eq!((&header["version"], &header["searched"]), (&5.into(), &"ring".into()));
            header["version"] = 2.into();
            let fields = header.as_object_mut().unwrap();
            for name in ["searched", "max_rank", "shrink"] {
                fields.remove(name);
            }
            fields["data"].as_object_mut().unwrap().remove("dtype");
        }
    }
    let old = |line: &str| {
        let line = &line[..line.rfind(",\"crc\":\"").unwrap()];
        match (line.strip_prefix("{\"run\""), strategy) {
            (Some(_), None) => format!("{line},\"refused\":false}}\n"),
            _ => format!("{line}}}\n"),
        }
    };
    rest.lines().fold(format!("{header}\n"), |text, line| text + &old(line))
}

#[test]
fn a_journal_of_version_2_is_continued_as_one() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (summary, network, _) = reference(&place, SEARCH);
    place.json(&format!("{SEARCH} --journal run.jsonl --max-evaluations 50"));
    let old = rewritten(&place, None);
    place.write("run.jsonl", &old);
    assert_eq!(resumed(&place, SEARCH, 2), (summary, network));
    let after = String::from_utf8(place.read("run.jsonl")).unwrap();
    assert!(after.starts_with(&old) && after.len() > old.len());
    assert!(
        evaluations(&place, "run.jsonl").iter().all(|line| line.ends_with(b"\"refused\":false}\n"))
    );
}

#[test]
fn a_journal_of_an_unknown_strategy_is_shown() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    for strategy in ["greedy", "random --iterations 2 --samples 3"] {
        let search = format!("search x.npy --strategy {strategy} --max-rank 2 --max-evaluations 3");
        assert_ne!(place.run(&format!("{search} --journal run.jsonl --quiet")).code, 2);
        place.write("run.jsonl", rewritten(&place, Some("my-own")));
        let shown = place.run("watch run.jsonl");
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stdout.contains("my-own") && shown.stdout.contains("3 evaluated"));
        assert_eq!(place.run("report run.jsonl -o page.html --quiet").code, 0);
        std::fs::remove_file(place.path("run.jsonl")).unwrap();
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn a_journal_in_use_is_refused() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let args = "search x.npy --strategy tnls --no-prune --iterations 2 --journal run.jsonl";
    let held = Held::at(&place, "evaluation 1", args);
    place.refuses(&format!("{args} --resume"), "journal run.jsonl: another process is using it");
    held.kill();
    place.refuses(args, "use --resume to continue it, or another file");
}

#[test]
fn a_journal_of_another_search_is_refused() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.ring("y.npy", 4, 2);
    place.ring("z.npy", 5, 1);
    let base = "--strategy tnls --no-prune --iterations 2 --samples 5 --journal run.jsonl --resume";
    assert_ne!(place.run(&format!("search x.npy --seed 1 {base}")).code, 2);
    for (args, words) in [
        ("x.npy --seed 2", "it was made with seed 1, now seed 2"),
        (
            "x.npy --seed 1 --lambda 5",
            "objective {\"max_rse\":0.0001}, now objective {\"lambda\":5.0}",
        ),
        ("x.npy --seed 1 --max-rank 3", "made with max_rank 7, now max_rank 3"),
        ("x.npy --seed 1 --restarts 2", "fit.restarts 4, now fit.restarts 2"),
        ("x.npy --seed 1 --template path", "template \"ring\", now template \"path\""),
        ("x.npy --seed 1 --max-cost 900", "max_cost null, now max_cost 900"),
        ("x.npy --seed 1 --runs 2", "runs 1, now runs 2"),
        ("y.npy --seed 1", "a tensor of the same shape but other entries"),
        ("z.npy --seed 1", "data.dims [3,3,3,3], now data.dims [3,3,3,3,3]"),
    ] {
        place.refuses(&format!("search {args} {base}"), words);
    }
    assert_ne!(place.run(&format!("search x.npy --seed 1 {base} --max-seconds 1e9")).code, 2);
    place.write("run.jsonl", "my diary");
    place.refuses(&format!("search x.npy --seed 1 {base}"), "not a journal of tnsearch");
    assert_eq!(place.read("run.jsonl"), b"my diary");
}

/// The place with one byte of the journal changed.
fn flip(place: &Place, whole: &[u8], at: usize, bit: u32) {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 1 << bit;
    place.write("run.jsonl", &bytes);
}

#[test]
fn a_changed_byte_never_changes_the_answer() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    // The answer is reached and small: nothing that is said of it may be lost.
    let search = "search x.npy --strategy random --iterations 2 --samples 6 --max-rank 3 \
                  --max-rse 1e-4 --seed 7 --quiet";
    let (summary, network, _) = reference(&place, search);
    let whole = place.read("reference.jsonl");
    let second = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
    let mut rng = tnsearch::rng::stream(16, b"flips");
    let flips: usize =
        std::env::var("TNSEARCH_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for number in 0..flips {
        // The first line is long, and refused as a whole.
        let from = if number % 10 == 0 { 0 } else { second };
        let (at, bit) = (rng.random_range(from..whole.len()), rng.random_range(0..8));
        flip(&place, &whole, at, bit);
        let ended =
            place.run(&format!("{search} --journal run.jsonl --resume --json out.json -o resumed"));
        if at < second {
            assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "byte {at}: {ended:?}");
            assert!(ended.stderr.starts_with("error: journal run.jsonl: "), "{}", ended.stderr);
            continue;
        }
        let json = serde_json::from_slice(&place.read("out.json")).unwrap();
        assert_eq!((timeless(json), place.read("resumed")), (summary.clone(), network.clone()));
        let line = whole[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        // A last line without its end was torn.
        if at + 1 < whole.len() {
            let words =
                format!("warning: run.jsonl: line {line} is damaged (its checksum is wrong");
            let missing = format!("warning: run.jsonl: line {line} is damaged (it has no checksum");
            assert!(
                ended.stderr.starts_with(&words) || ended.stderr.starts_with(&missing),
                "bit {bit} of byte {at}: {}",
                ended.stderr
            );
        }
    }
}

#[test]
fn a_digit_of_an_error_or_a_key_in_an_old_journal_is_refitted() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    // The error is a part of the loss: where it only has to be small enough, nothing else tells what it was.
    let search = "search x.npy --strategy random --iterations 2 --samples 6 --max-rank 3 \
                  --lambda 20 --no-prune --seed 7 --quiet";
    let (summary, network, _) = reference(&place, search);
    std::fs::rename(place.path("reference.jsonl"), place.path("run.jsonl")).unwrap();
    let old = rewritten(&place, None);
    let number = |line: &str| -> f64 {
        serde_json::from_str::<Value>(line).unwrap()["rse"].as_f64().unwrap()
    };
    let mut tried = 0;
    for (k, line) in old.lines().enumerate().filter(|(_, l)| l.starts_with("{\"run\"")) {
        let rse = number(line);
        for bad in [
            line.replacen("\"rse\":", "\"rse\":-", 1),
            line.replacen("\"rse\":", "\"rse\":9", 1),
            line.replacen("x2", "x3", 1),
        ] {
            // Less is lost in the loss.
            if bad == line || rse < 1e-9 {
                continue;
            }
            place.write("run.jsonl", old.replacen(line, &bad, 1));
            let args = format!("{search} --journal run.jsonl --resume --json out.json -o resumed");
            let ended = place.run(&args);
            let json = serde_json::from_slice(&place.read("out.json")).unwrap();
            assert_eq!((timeless(json), place.read("resumed")), (summary.clone(), network.clone()));
            let words = format!("warning: run.jsonl: line {} is damaged (", k + 1);
            assert!(ended.stderr.starts_with(&words), "{bad}: {}", ended.stderr);
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn a_full_disk_costs_the_journal_not_the_result() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (summary, _, _) = reference(&place, SEARCH);
    // Files of at most 8 KiB: writing more fails as on a full disk.
    let binary = assert_cmd::cargo::cargo_bin("tnsearch");
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} {SEARCH} --journal run.jsonl --json -",
        binary.display()
    );
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(place.dir()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("warning: the journal is incomplete: cannot write run.jsonl"));
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(timeless(json), summary);
    // What was written before is still good.
    assert_eq!(resumed(&place, SEARCH, 2).0, summary);
}
