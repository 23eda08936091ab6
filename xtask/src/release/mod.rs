//! `cargo xtask release-check`: all that takes long, one check after the other, and a table of what came of it in
//! `docs/reliability.md`, so that every figure there is of one commit.

mod checks;
mod table;

use crate::step;
use anyhow::{Context, Result};
use checks::{CHECKS, Check};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{Outcome, Row};

/// The file with the table.
const PAGE: &str = "docs/reliability.md";
/// What each check printed.
const LOGS: &str = "target/release-check";
/// The exit code of a check that cannot be made on this machine; its last line says why.
pub const SKIPPED: i32 = 77;

/// What is asked for.
#[derive(Debug, PartialEq)]
struct Asked {
    /// How much of each check's full size.
    scale: f64,
    /// When no further check begins, and the one that runs ends.
    max_minutes: f64,
    /// Parts of names; all checks where there are none.
    only: Vec<String>,
    list: bool,
    page: PathBuf,
}

/// `cargo xtask release-check [--scale X] [--max-minutes N] [--only NAME,...] [--page FILE] [--list]`
pub fn run(arguments: &[String]) -> Result<()> {
    let asked = asked(arguments)?;
    let checks: Vec<&Check> = CHECKS.iter().filter(|c| asked.takes(c)).collect();
    if checks.is_empty() {
        return Err(step::usage(format!("no check is called '{}'", asked.only.join(","))));
    }
    if asked.list {
        for check in &checks {
            println!("{}: {}", check.name, check.line(asked.scale));
        }
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let logs = step::root().join(LOGS);
    std::fs::create_dir_all(&logs)?;
    let own = |check: &Check, left: Duration| {
        let mut command = Command::new(&program);
        command.args(check.words(asked.scale)).current_dir(step::root());
        let log = logs.join(format!("{}.log", check.name.replace(' ', "-")));
        finished(&mut command, &log, left)
    };
    let rows = driven(&checks, &asked, &table::About::here()?, &asked.page, own)?;
    let failed: Vec<&str> =
        rows.iter().filter(|r| r.outcome.is_failure()).map(|r| r.check.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => anyhow::bail!("failed: {}; see {LOGS}", failed.join(", ")),
    }
}

impl Asked {
    fn takes(&self, check: &Check) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| check.name.contains(part.as_str()))
    }
}

fn asked(arguments: &[String]) -> Result<Asked> {
    let mut asked = Asked {
        scale: 1.0,
        max_minutes: f64::INFINITY,
        only: Vec::new(),
        list: false,
        page: step::root().join(PAGE),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--list" {
            asked.list = true;
            continue;
        }
        let value = words.next().ok_or_else(|| step::usage(format!("{word} needs a value")))?;
        let number = || {
            let number = value.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
            number
                .ok_or_else(|| step::usage(format!("{word} needs a number above 0, not '{value}'")))
        };
        match word.as_str() {
            "--scale" => asked.scale = number()?,
            "--max-minutes" => asked.max_minutes = number()?,
            "--only" => asked.only = value.split(',').map(str::to_owned).collect(),
            "--page" => asked.page = value.into(),
            other => {
                return Err(step::usage(format!("`cargo xtask release-check` knows no '{other}'")));
            }
        }
    }
    Ok(asked)
}

/// Makes the checks one after the other, whatever becomes of them, and writes the table after each: what was not reached
/// is said in its row.
fn driven(
    checks: &[&Check],
    asked: &Asked,
    about: &table::About,
    page: &Path,
    mut make: impl FnMut(&Check, Duration) -> Result<Outcome>,
) -> Result<Vec<Row>> {
    let (begun, seconds) = (Instant::now(), 60.0 * asked.max_minutes);
    let not_yet = |check: &&Check| Row::new(check, asked.scale, Outcome::NotRun("not yet"), 0.0);
    let mut rows: Vec<Row> = checks.iter().map(not_yet).collect();
    for (row, check) in checks.iter().enumerate() {
        let left = seconds - begun.elapsed().as_secs_f64();
        let started = Instant::now();
        let outcome = match left > 0.0 {
            true => {
                println!("==> {}: {}", check.name, check.line(asked.scale));
                let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
                make(check, left).unwrap_or_else(|e| Outcome::Failed(format!("{e:#}")))
            }
            false => Outcome::NotRun("the time given was up before it"),
        };
        let row_now = Row::new(check, asked.scale, outcome, started.elapsed().as_secs_f64());
        println!("    {}", row_now.result());
        rows[row] = row_now;
        table::write(page, about, &rows).with_context(|| format!("{}", page.display()))?;
    }
    Ok(rows)
}

/// Runs a command with all it prints in a file, and ends it with its children when the time is up.
fn finished(command: &mut Command, log: &Path, left: Duration) -> Result<Outcome> {
    let mut file = File::create(log).with_context(|| format!("{}", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let mut child = command.process_group(0).spawn().context("cannot be started")?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > left {
            let group = format!("-{}", child.id());
            step::run(&mut step::command("kill", &["-KILL", "--", &group]))?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    file.flush()?;
    let said = std::fs::read(log)?;
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
    let last = last.to_owned();
    Ok(match status.map(|s| (s.success(), s.code())) {
        None => Outcome::CutOff,
        Some((true, _)) => Outcome::Passed(telling(&said).unwrap_or(last)),
        Some((_, Some(SKIPPED))) => Outcome::Skipped(last),
        Some(_) => Outcome::Failed(last),
    })
}

/// The last line that says what was found, and not how long a step took.
fn telling(said: &str) -> Option<String> {
    let lines = said.lines().rev().map(str::trim);
    let steps = ["==>", "done after", "Finished", "Running", "xtask:"];
    let telling = |l: &&str| !l.is_empty() && !steps.iter().any(|s| l.starts_with(s));
    lines.into_iter().find(telling).map(str::to_owned)
}

#[cfg(test)]
mod tests;
