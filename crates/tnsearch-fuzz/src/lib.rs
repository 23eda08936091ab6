//! Damaged files of every kind against the readers of tnsearch, the same for a seed every time.
//!
//! A target is a reader with good files of its kind, made by our own writers, and those under `fuzz/corpus/<target>`, which
//! once failed. Each input is such a file with a few changes. Whatever it is, the reader must not panic, must not hold more memory than
//! [`ceiling`] allows, and must refuse in one line without control characters; what it accepts must survive being written and
//! read once more.

mod alloc;
mod good;
mod mutate;
mod targets;

pub use targets::{TARGETS, Target};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// What readers are told that they may take.
pub const LIMIT: u64 = 16 << 20;

/// The most memory that a reader of so many bytes may hold: what it is told that it may take, twice (as it is stored and as it is
/// computed with), and what it needs to take the input apart.
pub fn ceiling(input: usize) -> usize {
    2 * LIMIT as usize + (16 << 20) + 200 * input
}

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Budget {
    /// The seed.
    pub seed: u64,
    /// Inputs.
    pub inputs: u64,
    /// At most so long.
    pub time: Option<Duration>,
}

/// An input that a reader failed on.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its number.
    pub number: u64,
    /// What happened.
    pub what: String,
    /// The input.
    pub input: Vec<u8>,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    /// Inputs that were tried.
    pub inputs: u64,
    /// Those that were accepted.
    pub accepted: u64,
    /// The most memory held, in bytes.
    pub peak: usize,
    /// The longest time for one input, in seconds: a figure, nothing depends on it.
    pub slowest: f64,
    /// What failed, at most [`MOST`] of it.
    pub findings: Vec<Finding>,
}

/// Findings after which a run ends.
pub const MOST: usize = 10;

/// The folder of inputs that once failed.
pub fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn kept(target: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(corpus(target)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Tries a target: first all good files and all that once failed as they are, then changes of them.
pub fn run(target: &Target, budget: &Budget) -> Tried {
    let begun = Instant::now();
    // In memory where there is such a place: a million inputs are a million files.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder for the inputs");
    let mut seeds = (target.good)();
    let own = seeds.len() as u64;
    seeds.extend(kept(target.name));
    let mut rng = ChaCha8Rng::seed_from_u64(budget.seed ^ target.name.len() as u64);
    let mut tried = Tried::default();
    for number in 0..budget.inputs.max(seeds.len() as u64) {
        if budget.time.is_some_and(|time| begun.elapsed() > time) || tried.findings.len() >= MOST {
            break;
        }
        let input = match seeds.get(number as usize) {
            Some(seed) => seed.clone(),
            None => {
                let seed = &seeds[rng.random_range(0..seeds.len())];
                let other = &seeds[rng.random_range(0..seeds.len())];
                mutate::mutate(&mut rng, seed, other)
            }
        };
        let started = Instant::now();
        let problem = one(target, &input, folder.path(), &mut tried);
        tried.slowest = tried.slowest.max(started.elapsed().as_secs_f64());
        let problem = match problem {
            None if number < own && tried.accepted <= number => {
                Some("a good file is refused".to_owned())
            }
            other => other,
        };
        if let Some(what) = problem {
            tried.findings.push(Finding { number, what, input });
        }
    }
    tried
}

/// Tries one input of a target by name: whether it was accepted, and the most bytes held; or what is wrong.
pub fn try_input(name: &str, input: &[u8]) -> Result<(bool, usize), String> {
    let target = TARGETS.iter().find(|t| t.name == name).ok_or("no such target")?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut tried = Tried::default();
    match one(target, input, folder.path(), &mut tried) {
        Some(what) => Err(what),
        None => Ok((tried.accepted == 1, tried.peak)),
    }
}

/// Tries one input; what is wrong with what came of it.
fn one(target: &Target, input: &[u8], folder: &Path, tried: &mut Tried) -> Option<String> {
    tried.inputs += 1;
    let work = || catch_unwind(AssertUnwindSafe(|| (target.read)(input, folder)));
    let (done, peak) = alloc::peak(work);
    tried.peak = tried.peak.max(peak);
    if peak > ceiling(input.len()) {
        return Some(format!("it held {peak} bytes for {} of input", input.len()));
    }
    match done {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
        Ok(Ok(())) => {
            tried.accepted += 1;
            None
        }
        Ok(Err(targets::No::Refused(text))) => {
            match text.contains(char::is_control) || text.is_empty() {
                true => Some(format!("not one plain line: {text:?}")),
                false => None,
            }
        }
        Ok(Err(targets::No::Wrong(what))) => Some(what),
    }
}
