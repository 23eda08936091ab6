//! The table of a release check, between its marks in a page.

use super::checks::Check;
use crate::step;
use anyhow::{Context, Result, ensure};
use std::path::Path;

pub const BEGIN: &str = "<!-- release-check: begin -->";
pub const END: &str = "<!-- release-check: end -->";

/// What the table is about.
#[derive(Debug, Clone)]
pub struct About {
    pub commit: String,
    pub date: String,
    pub machine: String,
}

/// What became of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It passed; what it said.
    Passed(String),
    Failed(String),
    /// It cannot be made on this machine; why.
    Skipped(String),
    /// The time was up while it ran.
    CutOff,
    /// It was not begun; why.
    NotRun(&'static str),
}

impl Outcome {
    pub fn is_failure(&self) -> bool {
        matches!(self, Outcome::Failed(_))
    }
}

/// A row.
#[derive(Debug, Clone)]
pub struct Row {
    pub check: String,
    size: String,
    pub outcome: Outcome,
    seconds: f64,
    command: String,
}

impl Row {
    pub fn new(check: &Check, scale: f64, outcome: Outcome, seconds: f64) -> Self {
        let size = format!("{} {}", grouped(check.size(scale)), check.unit);
        Row { check: check.name.to_owned(), size, outcome, seconds, command: check.line(scale) }
    }

    /// The outcome in words.
    pub fn result(&self) -> String {
        match &self.outcome {
            Outcome::Passed(said) if said.is_empty() => "passed".to_owned(),
            Outcome::Passed(said) => format!("passed: {}", plain(said)),
            Outcome::Failed(said) => format!("**failed**: {}", plain(said)),
            Outcome::Skipped(why) => format!("skipped: {}", plain(why)),
            Outcome::CutOff => "cut off: the time given was up".to_owned(),
            Outcome::NotRun(why) => format!("not run: {why}"),
        }
    }

    fn line(&self) -> String {
        let seconds = match self.outcome {
            Outcome::NotRun(_) => String::new(),
            _ => format!("{:.0}", self.seconds),
        };
        let result = self.result();
        format!("| {} | {} | {result} | {seconds} | `{}` |", self.check, self.size, self.command)
    }
}

/// One cell's worth of what a check said.
fn plain(said: &str) -> String {
    const MOST: usize = 160;
    let text: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.replace('|', "/").split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text,
    }
}

/// A whole number with commas.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl About {
    /// This commit, day and machine.
    pub fn here() -> Result<Self> {
        let said = |program: &str, words: &[&str]| -> Result<String> {
            Ok(step::output(&mut step::command(program, words))?.trim().to_owned())
        };
        let commit = said("git", &["rev-parse", "--short=12", "HEAD"])?;
        // The page itself is what this changes.
        let changed = said("git", &["status", "--porcelain", "--", ".", ":!docs/reliability.md"])?;
        let commit = match changed.is_empty() {
            true => commit,
            false => format!("{commit} and changes that are not committed"),
        };
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, name: &str| {
            let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
            line.split_once(':').map_or_else(String::new, |(_, v)| v.trim().to_owned())
        };
        let model = after(&read("/proc/cpuinfo"), "model name");
        let memory = after(&read("/proc/meminfo"), "MemTotal");
        let kib: f64 = memory.trim_end_matches("kB").trim().parse().unwrap_or(0.0);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let load = read("/proc/loadavg");
        let load = load.split(' ').next().unwrap_or_default();
        let rust = said("rustc", &["--version"])?;
        let machine = format!(
            "{cores} cores ({model}), {:.0} GB, load {load} at the start, {rust}",
            kib * 1024.0 / 1e9
        );
        Ok(About { commit, date: said("date", &["-u", "+%F"])?, machine })
    }
}

/// The text between the marks.
fn text(about: &About, rows: &[Row]) -> String {
    let mut text = format!(
        "Commit {}, {}, {}.\n\n| check | size | result | seconds | command |\n| --- | --- | --- | ---: | --- |\n",
        about.commit, about.date, about.machine
    );
    for row in rows {
        text += &row.line();
        text.push('\n');
    }
    text
}

/// Puts the table into the page.
pub fn write(page: &Path, about: &About, rows: &[Row]) -> Result<()> {
    let old = std::fs::read_to_string(page)?;
    let new = put(&old, &text(about, rows))?;
    Ok(std::fs::write(page, new)?)
}

fn put(page: &str, table: &str) -> Result<String> {
    let (before, rest) =
        page.split_once(BEGIN).context("there is no mark where the table begins")?;
    let (_, after) = rest.split_once(END).context("there is no mark where the table ends")?;
    ensure!(!after.contains(BEGIN), "there are two places for the table");
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_last_one() {
        let page = format!("above\n{BEGIN}\nold | table\n{END}\nbelow\n");
        let once = put(&page, "| a |\n").unwrap();
        assert_eq!(once, format!("above\n{BEGIN}\n| a |\n{END}\nbelow\n"));
        assert_eq!(put(&once, "| b |\n").unwrap(), once.replace("| a |", "| b |"));
        for bad in ["above\n".to_owned(), format!("{BEGIN} only"), page.repeat(2)] {
            assert!(put(&bad, "").is_err());
        }
    }

    #[test]
    fn what_is_said_fits_into_a_cell() {
        assert_eq!(plain("3 | 4\t\u{1b}x  y"), "3 / 4 x y");
        assert_eq!(plain(&"\u{e9}".repeat(200)).chars().count(), 164);
        assert_eq!(
            (grouped(7.0), grouped(1e6), grouped(12345.0)),
            ("7".into(), "1,000,000".into(), "12,345".into())
        );
    }
}
