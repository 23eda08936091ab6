//! Which tests come by a mutant, and whether one of them fails with it.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Tests that take less than this in all run together.
const QUICK: f64 = 0.5;
/// A test that stands so many modules nearer to a mutant may take so many times as long and still runs first.
const NEAR: f64 = 5.0;
/// What a test may take with a mutant in it: so many times what it takes without, and so many seconds.
const PATIENCE: (f64, f64) = (10.0, 10.0);
/// What a test may take without one, which is slower where it is noted what it comes by.
const TRACED: f64 = 600.0;

/// A test of a program of tests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Test {
    pub program: PathBuf,
    pub folder: PathBuf,
    pub name: String,
    pub seconds: f64,
    /// When its program was built, in nanoseconds.
    pub built: u128,
    /// The mutants that it comes by.
    pub reaches: Vec<usize>,
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// A test did not end.
    Endless,
    /// All tests that come by it pass.
    Missed,
    /// No test comes by it.
    Unreached,
}

/// Does something for each number below `count`, on so many threads; the results in order.
pub fn each<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= count {
                        return;
                    }
                    let result = work(k);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .insert(k, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_values().collect()
}

/// Runs every test once, without any mutant, and notes which it comes by, but for those that take much longer than a mutant is
/// given. Those of programs that are as they were are known.
pub fn trace(
    programs: &[(PathBuf, PathBuf)],
    known: Vec<Test>,
    folder: &Path,
    threads: usize,
    most: f64,
) -> Result<Vec<Test>> {
    let (mut tests, mut good) = (Vec::new(), Vec::new());
    for (program, place) in programs {
        let since = std::fs::metadata(program)?.modified()?.duration_since(std::time::UNIX_EPOCH);
        let built = since.map_or(0, |s| s.as_nanos());
        let same = known.iter().filter(|t| t.program == *program && t.built == built);
        let before = good.len();
        good.extend(same.cloned());
        if good.len() > before {
            continue;
        }
        let output =
            Command::new(program).args(["--list", "--format", "terse"]).current_dir(place).output();
        let output = output.with_context(|| format!("{}", program.display()))?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        for name in list.lines().filter_map(|line| line.strip_suffix(": test")) {
            let (program, folder) = (program.clone(), place.clone());
            tests.push(Test {
                program,
                folder,
                name: name.into(),
                seconds: 0.0,
                built,
                reaches: Vec::new(),
            });
        }
    }
    std::fs::create_dir_all(folder)?;
    let traced = each(tests.len(), threads, |k| -> Result<Test> {
        let mut test = tests[k].clone();
        let file = folder.join(format!("{k}.txt"));
        let _ = std::fs::remove_file(&file);
        let begun = Instant::now();
        let mut command = call(&test, &[&test.name], 0);
        let passed = ends(command.env("TNSEARCH_MUTANT_TRACE", &file), TRACED.min(10.0 * most))?;
        anyhow::ensure!(passed.is_some(), "{} takes too long", test.name);
        anyhow::ensure!(passed == Some(true), "{} fails without any mutant", test.name);
        test.seconds = begun.elapsed().as_secs_f64();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        test.reaches = text.lines().filter_map(|n| n.parse().ok()).collect();
        Ok(test)
    });
    for test in traced {
        match test {
            Ok(test) => good.push(test),
            Err(error) => println!("    left out: {error:#}"),
        }
    }
    Ok(good)
}

/// Runs the tests that come by a mutant until one fails: those that take so many seconds in all, the near and quick ones first.
pub fn outcome(id: usize, name: &str, tests: &[Test], most: f64) -> Result<Outcome> {
    let mut reaching: Vec<&Test> = tests.iter().filter(|t| t.reaches.contains(&id)).collect();
    if reaching.is_empty() {
        return Ok(Outcome::Unreached);
    }
    let file = name.split(':').next().unwrap_or(name);
    let cost = |test: &Test| test.seconds / NEAR.powi(nearness(file, test));
    reaching.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let mut sum = 0.0;
    reaching.retain(|test| {
        sum += test.seconds;
        sum <= most
    });
    let mut calls: Vec<Vec<&Test>> = Vec::new();
    for test in reaching {
        let joins = |call: &&mut Vec<&Test>| {
            let seconds: f64 = call.iter().map(|t| t.seconds).sum();
            call[0].program == test.program && seconds + test.seconds < QUICK
        };
        match calls.iter_mut().rev().find(joins) {
            Some(call) => call.push(test),
            None => calls.push(vec![test]),
        }
    }
    for tests in calls {
        let names: Vec<&str> = tests.iter().map(|t| t.name.as_str()).collect();
        let seconds: f64 = tests.iter().map(|t| t.seconds).sum();
        match ends(&mut call(tests[0], &names, id), PATIENCE.0 * seconds + PATIENCE.1)? {
            Some(true) => {}
            Some(false) => return Ok(Outcome::Caught),
            None => return Ok(Outcome::Endless),
        }
    }
    Ok(Outcome::Missed)
}

/// How many modules of a file, `crates/NAME/src/a/b.rs`, a test of its crate stands in.
fn nearness(file: &str, test: &Test) -> i32 {
    let Some((home, modules)) = file.split_once("/src/") else { return 0 };
    if !test.folder.ends_with(home) {
        return 0;
    }
    let modules = modules.trim_end_matches(".rs").trim_end_matches("/mod").split('/');
    modules.zip(test.name.split("::")).take_while(|(a, b)| a == b).count() as i32
}

/// What begins a test. A mutant that writes where it must not is not to replace a device of this machine, which root may: there a
/// device is a place of its own while it runs, and nothing can be moved over it.
const GUARD: &str = r#"
if [ "$(id -u)" = 0 ]; then
    exec unshare --mount sh -c '
        for device in /dev/null /dev/full /dev/zero; do mount --bind $device $device || exit 125; done
        ulimit -v 8388608; exec "$@"' sh "$@"
fi
ulimit -v 8388608; exec "$@""#;

/// These tests of a program, one after the other, with a mutant turned on; within 8 GB.
fn call(test: &Test, names: &[&str], mutant: usize) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(&test.program);
    command.args(["--exact", "--test-threads", "1"]).args(names).current_dir(&test.folder);
    command.env("TNSEARCH_MUTANT", mutant.to_string()).env("RUST_BACKTRACE", "0");
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    command
}

/// Whether it succeeds; none where it does not end in time.
fn ends(command: &mut Command, seconds: f64) -> Result<Option<bool>> {
    let mut child = command.spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if begun.elapsed().as_secs_f64() > seconds {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_module_are_the_nearest_to_its_mutants() {
        let test = |folder: &str, name: &str| Test {
            program: PathBuf::new(),
            folder: folder.into(),
            name: name.into(),
            seconds: 0.0,
            built: 0,
            reaches: Vec::new(),
        };
        let file = "crates/a/src/b/c.rs";
        assert_eq!(nearness(file, &test("/x/crates/a", "b::c::tests::t")), 2);
        assert_eq!(nearness(file, &test("/x/crates/a", "b::d::tests::t")), 1);
        assert_eq!(nearness(file, &test("/x/crates/a", "d::c::tests::t")), 0);
        assert_eq!(nearness(file, &test("/x/crates/d", "b::c::tests::t")), 0);
        assert_eq!(nearness("crates/a/src/b/mod.rs", &test("/x/crates/a", "b::tests::t")), 1);
    }

    #[test]
    fn a_device_stays_where_it_is_and_the_rest_runs_as_it_would() {
        let said = |script: &str| {
            let output = Command::new("sh").args(["-c", GUARD, "sh", "sh", "-c", script]).output();
            let output = output.unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        if said("true").0 == Some(125) || !cfg!(target_os = "linux") {
            eprintln!("skipped: nothing can be mounted here");
            return;
        }
        assert_eq!(said("ulimit -v; exit 3"), (Some(3), "8388608\n".into()));
        let file = std::env::temp_dir().join(format!("tnsearch-guard-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        // Neither root nor anybody else.
        let moved = said(&format!("mv -f {} /dev/null 2>&1", file.display()));
        assert_ne!(moved.0, Some(0), "{}", moved.1);
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        std::fs::remove_file(&file).unwrap();
    }
}
