//! `cargo xtask mutants`: whether the tests see small changes of the source (docs/reliability.md).
//!
//! cargo-mutants says what could be changed. It would build every mutant for itself, minutes each; here all of them are built
//! once, each behind a switch (`switch.rs`), every test is run once to see which it comes by, and then each mutant runs
//! against the tests that come by it, the near and quick ones first, up to the first that fails.

mod build;
mod explained;
mod list;
mod run;
mod switch;

use crate::step;
use anyhow::{Context, Result};
use explained::Explained;
use run::{Outcome, Test};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A part of the sources whose mutants are looked at.
struct Area {
    name: &'static str,
    globs: &'static [&'static str],
}

const AREAS: [Area; 5] = [
    Area { name: "bound", globs: &["crates/tnsearch/src/bound/**"] },
    Area { name: "engine", globs: &["crates/tnsearch/src/search/engine/**"] },
    Area { name: "solve", globs: &["crates/tnsearch/src/fit/solve.rs"] },
    Area { name: "readers", globs: &["crates/tnsearch-io/src/**"] },
    Area { name: "verify", globs: &["crates/tnsearch-verify/src/**"] },
];

/// Whose tests count; with `--library` those of the first three, which are built sooner.
const PACKAGES: [&str; 4] = ["tnsearch", "tnsearch-io", "tnsearch-verify", "tnsearch-cli"];
/// Of those tests with `--unit`: the units', and the few others of tnsearch-verify.
const UNIT: [&str; 13] = [
    "--lib",
    "--test",
    "claims",
    "--test",
    "commands",
    "--test",
    "contraction",
    "--test",
    "many_modes",
    "--test",
    "margins",
    "--test",
    "proofs",
];
const FOLDER: &str = "target/mutants";
/// Why some mutants survive.
const EXPLAINED: &str = "xtask/mutants.explained";

/// What is run: kept in a file, so that another machine with the same folder can run it.
#[derive(Serialize, Deserialize)]
struct Plan {
    /// Number, area and name.
    mutants: Vec<(usize, String, String)>,
    programs: Vec<(PathBuf, PathBuf)>,
    /// Those that do not compile beside the others, or stand in constants.
    left_out: usize,
    tests: Vec<Test>,
}

struct Asked {
    areas: Vec<String>,
    sample: Option<usize>,
    /// A list of survivors, as an earlier run wrote it: these alone, wherever they stand by now.
    only: Option<PathBuf>,
    seconds: f64,
    /// Seconds of tests that a mutant is given, the near and quick ones first.
    each: f64,
    threads: usize,
    packages: &'static [&'static str],
    /// Which of their tests: `--lib --tests`, or fewer.
    targets: &'static [&'static str],
    step: Step,
}

#[derive(PartialEq)]
enum Step {
    All,
    Build,
    Run,
}

/// `cargo xtask mutants [AREA...] [--sample N] [--only FILE] [--seconds N] [--each N] [--threads N] [--library | --unit] [--build-only | --run-only]`
pub fn run(arguments: &[String]) -> Result<()> {
    let asked = asked(arguments)?;
    let folder = step::root().join(FOLDER);
    let plan = folder.join("plan.json");
    if asked.step != Step::Run {
        let mut made = step::step("all mutants in one build", || built(&asked, &folder))?;
        let old = std::fs::read(&plan).ok().and_then(|t| serde_json::from_slice::<Plan>(&t).ok());
        let known = old.filter(|old| old.mutants == made.mutants).map_or(Vec::new(), |o| o.tests);
        made.tests = step::step("every test without a mutant", || {
            run::trace(&made.programs, known, &folder.join("trace"), asked.threads, asked.each)
        })?;
        std::fs::write(&plan, serde_json::to_vec(&made)?)?;
    }
    if asked.step != Step::Build {
        let text = std::fs::read(&plan).with_context(|| format!("{}", plan.display()))?;
        let plan: Plan = serde_json::from_slice(&text)?;
        step::step("every mutant", || report(&plan, &asked, &folder))?;
    }
    Ok(())
}

/// Whether these words can be asked for.
#[cfg(test)]
pub fn parse(arguments: &[String]) -> Result<()> {
    asked(arguments).map(drop)
}

fn asked(arguments: &[String]) -> Result<Asked> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut asked = Asked {
        areas: Vec::new(),
        sample: None,
        only: None,
        seconds: f64::INFINITY,
        each: f64::INFINITY,
        threads,
        packages: &PACKAGES,
        targets: &["--lib", "--tests"],
        step: Step::All,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--only" {
            let file = rest.next().ok_or_else(|| step::usage("--only needs a file".into()))?;
            asked.only = Some(file.into());
            continue;
        }
        let mut number = || {
            let value = rest.next().and_then(|n| n.parse().ok()).filter(|&n: &usize| n > 0);
            value.ok_or_else(|| step::usage(format!("{argument} needs a number of at least 1")))
        };
        match argument.as_str() {
            "--sample" => asked.sample = Some(number()?),
            "--seconds" => asked.seconds = number()? as f64,
            "--each" => asked.each = number()? as f64,
            "--threads" => asked.threads = number()?,
            "--library" => asked.packages = &PACKAGES[..3],
            "--unit" => (asked.packages, asked.targets) = (&PACKAGES[..3], &UNIT),
            "--build-only" => asked.step = Step::Build,
            "--run-only" => asked.step = Step::Run,
            name if AREAS.iter().any(|a| a.name == name) => asked.areas.push(name.into()),
            other => {
                let names = AREAS.map(|a| a.name).join(", ");
                return Err(step::usage(format!(
                    "'{other}' is no area of mutants; they are {names}"
                )));
            }
        }
    }
    Ok(asked)
}

fn built(asked: &Asked, folder: &Path) -> Result<Plan> {
    let unit = asked.targets == UNIT;
    // By unit tests the areas asked for alone, and the crates that they stand in: the rest is built as it is.
    let wanted = |name: &str| asked.areas.is_empty() || asked.areas.iter().any(|n| n == name);
    let areas: Vec<&Area> = AREAS.iter().filter(|a| !unit || wanted(a.name)).collect();
    let globs: Vec<&str> = areas.iter().flat_map(|a| a.globs.iter().copied()).collect();
    let all = list::list(&globs)?;
    let home = |package: &&str| {
        globs.iter().any(|glob| glob.starts_with(&format!("crates/{package}/src")))
    };
    let packages: Vec<&str> = asked.packages.iter().copied().filter(|p| !unit || home(p)).collect();
    let mut tree = build::Tree::copied(folder, &all)?;
    let left_out = folder.join("left-out.txt");
    let known = std::fs::read_to_string(&left_out).unwrap_or_default();
    tree.known(&all, &known.lines().map(String::from).collect());
    let left = tree.switch(&all, &packages)?;
    let kept: BTreeSet<usize> = left.iter().map(|m| m.id).collect();
    let lost = all.iter().filter(|m| !kept.contains(&m.id)).map(|m| &*m.name);
    let names: BTreeSet<&str> = all.iter().map(|m| &*m.name).collect();
    let others = known.lines().filter(|name| !names.contains(name));
    let lost = lost.chain(others).map(|name| format!("{name}\n"));
    std::fs::write(&left_out, lost.collect::<String>())?;
    // The other tests are those of tnsearch-verify.
    let targets = if unit && !wanted("verify") { &UNIT[..1] } else { asked.targets };
    let programs = tree.tests(&packages, targets)?;
    let named = left.iter().map(|m| (m.id, area_of(&m.file).to_string(), m.name.clone()));
    Ok(Plan {
        mutants: named.collect(),
        programs,
        left_out: all.len() - left.len(),
        tests: Vec::new(),
    })
}

/// The area of a file: by the folder that its glob begins with.
fn area_of(file: &Path) -> &'static str {
    let begins = |glob: &str| file.starts_with(glob.trim_end_matches("/**"));
    AREAS.iter().find(|a| a.globs.iter().any(|g| begins(g))).map_or("", |a| a.name)
}

/// The file of a mutant and what is changed, without the line and what a run said of it.
fn without_place(line: &str) -> (&str, &str) {
    let line = line.split('\t').next().unwrap_or(line);
    let name = line.strip_prefix("Missed ").or_else(|| line.strip_prefix("Unreached "));
    let name = name.unwrap_or(line);
    let (file, rest) = name.split_once(':').unwrap_or((name, ""));
    (file, rest.splitn(3, ':').nth(2).unwrap_or(rest).trim())
}

/// Which of a list are looked at: all, or so many of each area, spread evenly. Their order is mixed, so that those that are done
/// when the time is up are a sample as well.
fn chosen<'p>(
    plan: &'p Plan,
    asked: &Asked,
    only: Option<&str>,
) -> Vec<&'p (usize, String, String)> {
    let named: Option<BTreeSet<(&str, &str)>> =
        only.map(|text| text.lines().map(without_place).collect());
    let mut areas: BTreeMap<&str, Vec<&(usize, String, String)>> = BTreeMap::new();
    for mutant in &plan.mutants {
        let wanted = asked.areas.is_empty() || asked.areas.contains(&mutant.1);
        if !wanted || named.as_ref().is_some_and(|n| !n.contains(&without_place(&mutant.2))) {
            continue;
        }
        areas.entry(&mutant.1).or_default().push(mutant);
    }
    let some = |all: Vec<_>| {
        let count = asked.sample.unwrap_or(all.len()).min(all.len());
        (0..count).map(|k| all[k * all.len() / count]).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = areas.into_values().flat_map(some).collect();
    // A multiple of the golden ratio of 2^64: neighbours go far apart.
    all.sort_by_key(|m| (m.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    all
}

fn report(plan: &Plan, asked: &Asked, folder: &Path) -> Result<()> {
    let only = asked.only.as_ref();
    let only = only
        .map(|f| std::fs::read_to_string(f).with_context(|| format!("{}", f.display())))
        .transpose()?;
    let chosen = chosen(plan, asked, only.as_deref());
    let begun = Instant::now();
    // What is known so far, for who waits.
    let progress = std::fs::File::create(folder.join("progress.txt"))?;
    let outcomes = run::each(chosen.len(), asked.threads, |k| {
        if begun.elapsed().as_secs_f64() >= asked.seconds {
            return Ok(None);
        }
        let (id, _, name) = chosen[k];
        let outcome = run::outcome(*id, name, &plan.tests, asked.each)?;
        (&progress).write_all(format!("{outcome:?} {name}\n").as_bytes())?;
        anyhow::Ok(Some(outcome))
    });
    let mut explained = Explained::read(&step::root().join(EXPLAINED))?;
    let mut table: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    let (mut lines, mut not_run) = (String::new(), 0);
    for (mutant, outcome) in chosen.iter().zip(outcomes) {
        let Some(outcome) = outcome? else {
            not_run += 1;
            continue;
        };
        let row = table.entry(&mutant.1).or_default();
        row[outcome as usize] += 1;
        if matches!(outcome, Outcome::Missed | Outcome::Unreached) {
            let reason = explained.reason(&mutant.2);
            row[4] += usize::from(reason.is_some());
            let reason = reason.map_or_else(String::new, |r| format!("\t{r}"));
            lines += &format!("{outcome:?} {}{reason}\n", mutant.2);
        }
    }
    println!("{lines}");
    println!(
        "{:10} {:>7} {:>7} {:>8} {:>7} {:>10} {:>10} {:>6}",
        "area", "mutants", "caught", "endless", "missed", "unreached", "explained", "rate"
    );
    for (area, [caught, endless, missed, unreached, explained]) in table {
        let all = caught + endless + missed + unreached;
        let rate = 100.0 * (caught + endless) as f64 / all as f64;
        println!(
            "{area:10} {all:7} {caught:7} {endless:8} {missed:7} {unreached:10} {explained:10} {rate:5.1}%"
        );
    }
    for line in explained.unused() {
        println!("explains no survivor of this run: {line}");
    }
    let not_run = not_run + plan.mutants.len() - chosen.len();
    println!("not run, as the time was up or others are the sample: {not_run}");
    println!(
        "left out, as they do not compile beside the others or are in constants: {}",
        plan.left_out
    );
    std::fs::write(folder.join("survivors.txt"), lines)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_wherever_it_stands() {
        let name = "a/b.rs:12:3: replace | with ^ in f::<T>";
        assert_eq!(without_place(name), ("a/b.rs", "replace | with ^ in f::<T>"));
        let said = "Missed a/b.rs:14:3: replace | with ^ in f::<T>\tbecause";
        assert_eq!(without_place(said), without_place(name));
        assert_ne!(
            without_place("Unreached a/c.rs:12:3: replace | with ^ in f::<T>"),
            without_place(name)
        );
    }
}
