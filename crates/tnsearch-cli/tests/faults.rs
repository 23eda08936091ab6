//! Disks, memory, signals and clocks that fail. `cargo xtask faults` makes the same at random moments, a thousand times.
#![cfg(unix)]

mod common;

use common::{Held, Place, timeless};
use std::path::Path;
use std::process::Command;

const SEARCH: &str = "search x.npy --template ring --strategy tnls --no-prune --lambda 200 --max-rank 4 \
                      --iterations 3 --samples 12 --seed 7 --quiet";

/// The command in a shell with limits; its code and what it says on standard error.
fn limited(place: &Place, limits: &str, args: &str) -> (Option<i32>, String) {
    let binary = assert_cmd::cargo::cargo_bin("tnsearch");
    let script = format!("trap '' XFSZ; {limits}; exec '{}' {args}", binary.display());
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(place.dir()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_full_disk_leaves_the_old_output_and_one_line() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let args =
        "generate --template path --order 4 --dim 12 --ranks 2..2 --seed 1 --quiet -o big.npy";
    assert_eq!(place.run(args).code, 0);
    assert_eq!(
        place.run("decompose big.npy --method tt-svd --max-rse 1e-6 -o net --quiet").code,
        0
    );
    for args in [
        "reconstruct net -o out",
        "generate --template path --order 4 --dim 12 --ranks 2..2 --seed 1 -o out",
        "complete big.npy --missing 0.1 --template path --max-rank 2 --max-sweeps 2 -o out",
    ] {
        place.write("out", "what was there before");
        // Files of at most 4 KiB.
        let (code, said) = limited(&place, "ulimit -f 4", &format!("{args} --quiet"));
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{args}: {said}");
        assert!(said.starts_with("error: cannot write out: "), "{args}: {said}");
        assert_eq!(place.read("out"), b"what was there before", "{args}");
        assert!(!place.names().iter().any(|n| n.starts_with(".tnsearch-")), "{args}");
    }
    if Path::new("/dev/full").exists() {
        place.refuses(
            "reconstruct net -o /dev/full",
            "cannot write /dev/full: no space left on device",
        );
        place.refuses("info big.npy --json /dev/full --quiet", "no space left on device");
    }
}

#[test]
fn a_folder_that_takes_nothing_is_refused_before_the_work() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    std::fs::create_dir(place.path("sealed")).unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(place.path("sealed"), mode(0o555)).unwrap();
    // Whoever may write everywhere (root) is not refused.
    if std::fs::write(place.path("sealed/probe"), "").is_err() {
        for args in [
            "-o sealed/net",
            "--json sealed/sum.json",
            "--journal sealed/run.jsonl",
            "--report sealed/page.html",
        ] {
            place.refuses(&format!("{SEARCH} {args}"), "permission denied");
        }
    }
    std::fs::set_permissions(place.path("sealed"), mode(0o755)).unwrap();
    place.refuses(&format!("{SEARCH} -o nowhere/net"), "there is no directory nowhere");
}

#[test]
fn little_memory_never_tears_a_file_or_changes_an_answer() {
    let place = Place::new();
    place.ring("x.npy", 5, 5);
    let (code, json) = place.json(&format!("{SEARCH} -o net --journal ref.jsonl"));
    assert!(code < 2);
    let (summary, network) = (timeless(json), place.read("net"));
    let mut done = 0;
    for level in 0..8u32 {
        for name in ["out", "run.jsonl", "sum.json"] {
            let _ = std::fs::remove_file(place.path(name));
        }
        let limit = format!("ulimit -v {}", 16_000 << level);
        let args = format!("{SEARCH} --threads 1 -o out --journal run.jsonl --json sum.json");
        let (code, said) = limited(&place, &limit, &args);
        if let Ok(found) = std::fs::read(place.path("out")) {
            assert_eq!(found, network, "{limit}: {code:?} {said}");
        }
        match code {
            Some(0 | 1) => {
                done += 1;
                let json = serde_json::from_slice(&place.read("sum.json")).unwrap();
                assert_eq!(timeless(json), summary, "{limit}");
            }
            Some(2) => assert_eq!(said.lines().count(), 1, "{limit}: {said}"),
            _ => assert!(!said.contains("panicked"), "{limit}: {said}"),
        }
        // What is on record is good.
        let resumed = place.run(&format!("{SEARCH} --journal run.jsonl --resume -o out"));
        assert!(resumed.code < 2 && resumed.stderr.is_empty(), "{limit}: {resumed:?}");
        assert_eq!(place.read("out"), network, "{limit}");
    }
    assert!(done > 0);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn killed_at_work_every_output_is_the_old_one() {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    for (point, args) in [
        (
            "evaluation 5",
            format!("{SEARCH} --journal run.jsonl -o out --json out.json --report out.html"),
        ),
        ("preparation", "certify x.npy --max-rse 0.1 --json out.json".to_owned()),
    ] {
        for name in ["out", "out.json", "out.html"] {
            place.write(name, "old");
        }
        Held::at(&place, point, &args).kill();
        let _ = std::fs::remove_file(place.path("hold"));
        for name in ["out", "out.json", "out.html"] {
            assert_eq!(place.read(name), b"old", "{args}");
        }
    }
}

#[test]
fn no_limit_and_no_result_depends_on_the_time_of_day() {
    // `Instant` never jumps; the time of day does. What tells whether a journal has changed may look at it, and how old a
    // file is that a kill left (which must be free of locks, too).
    let allowed = ["tnsearch-cli/src/commands/watch.rs", "tnsearch-io/src/output/stale.rs"];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![crates.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let inside = path.strip_prefix(crates).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if inside.ends_with(".rs") && inside.contains("/src/") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let reads = text.contains("SystemTime") || text.contains("UNIX_EPOCH");
                assert!(
                    !reads || allowed.contains(&inside.as_str()),
                    "{inside} reads the time of day"
                );
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}
