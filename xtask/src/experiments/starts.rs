//! How often a fit of the hidden structure reaches the error, by the number of starts and of scouts.

use super::{program, read, whole};
use crate::json::number;
use crate::step;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

pub const ABOUT: &str =
    "fits of hidden lattices, rings and MERA by starts and scouts (--count 20 --quick)";

/// Template, order and ranks (MERA of higher ones are hardly ever fitted).
const KINDS: [(&str, usize, &str); 4] =
    [("peps:2x3", 6, "2..4"), ("ring", 4, "2..4"), ("ring", 6, "2..4"), ("mera", 8, "1..4")];
/// Starts, and scouts for each.
const WAYS: [(usize, usize); 5] = [(1, 1), (1, 8), (4, 1), (2, 8), (4, 8)];
/// Fits of each tensor, with different seeds.
const SEEDS: usize = 8;
const MAX_RSE: f64 = 1e-4;

/// The fits made one way: how many, how many reached the error, their sweeps.
#[derive(Debug, Default, Clone, PartialEq)]
struct Tally {
    fits: usize,
    reached: usize,
    sweeps: f64,
}

/// Generates the tensors, fits each in all ways, and prints the table.
pub fn run(arguments: &[String]) -> Result<()> {
    let count = count(arguments).map_err(|e| step::usage(format!("{e:#}")))?;
    let tnsearch = program()?;
    let mut rows = Vec::new();
    for kind in KINDS {
        let (template, order, ranks) = kind;
        let mut tallies = vec![Tally::default(); WAYS.len()];
        step::step(&format!("{template}, order {order}"), || {
            (0..count).try_for_each(|k| tensor(&tnsearch, kind, k, &mut tallies))
        })?;
        rows.push((format!("{template}, {order}, {ranks}"), tallies));
    }
    print!("\n{}", table(&rows));
    Ok(())
}

fn count(arguments: &[String]) -> Result<usize> {
    let mut count = 20;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--count" => count = whole(words.next().context("--count needs a value")?)?,
            "--quick" => count = 1,
            _ => bail!("unknown option '{word}'; use --count 20 --quick"),
        }
    }
    match count {
        0 => bail!("--count is 0; it must be at least 1"),
        _ => Ok(count),
    }
}

/// One hidden structure, fitted in all ways.
fn tensor(
    program: &Path,
    (template, order, ranks): (&str, usize, &str),
    index: usize,
    tallies: &mut [Tally],
) -> Result<()> {
    let base = program.parent().context("the program has no folder")?;
    let folder = base.join("experiments/starts");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (x, hidden) = (folder.join("X.npy"), folder.join("hidden.json"));
    let mut generate = Command::new(program);
    generate.args(["generate", "--template", template, "--order", &order.to_string()]);
    generate.args(["--ranks", ranks, "--seed", &(5000 + index).to_string(), "--quiet"]);
    generate.arg("-o").arg(&x).arg("--structure").arg(&hidden);
    step::run(&mut generate)?;
    for ((starts, scouts), tally) in WAYS.into_iter().zip(tallies) {
        for seed in 0..SEEDS {
            let report = folder.join("fit.json");
            let mut fit = Command::new(program);
            fit.arg("fit").arg(&x).arg("--structure").arg(&hidden);
            fit.args(["--restarts", &starts.to_string(), "--scouts", &scouts.to_string()]);
            fit.args(["--rescue", "0", "--stop-rse", "1e-9", "--seed", &seed.to_string()]);
            fit.arg("--quiet").arg("--json").arg(&report);
            step::run(&mut fit)?;
            let report = read(&report)?;
            tally.fits += 1;
            tally.reached += usize::from(number(&report, "rse")? <= MAX_RSE);
            tally.sweeps += number(&report, "sweeps")?;
        }
    }
    Ok(())
}

fn table(rows: &[(String, Vec<Tally>)]) -> String {
    let mut out = format!(
        "Fits that reached RSE <= {MAX_RSE:e}, and sweeps per fit.\n\n| template, order, ranks |"
    );
    for (starts, scouts) in WAYS {
        out += &format!(" {starts} x {scouts} |");
    }
    out += &format!("\n| --- |{}\n", " ---: |".repeat(WAYS.len()));
    for (name, tallies) in rows {
        let cell =
            |t: &Tally| format!(" {} of {}, {:.0} |", t.reached, t.fits, t.sweeps / t.fits as f64);
        out += &format!("| {name} |{}\n", tallies.iter().map(cell).collect::<String>());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_checked() {
        let of =
            |line: &str| count(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!((of("").unwrap(), of("--quick").unwrap(), of("--count 3").unwrap()), (20, 1, 3));
        for bad in ["--count", "--count 0", "--count x", "--slow"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_row_shows_successes_and_mean_sweeps() {
        let tally = Tally { fits: 8, reached: 3, sweeps: 400.0 };
        let text = table(&[("ring, 4".to_owned(), vec![tally; WAYS.len()])]);
        assert!(text.ends_with(&format!("| ring, 4 |{}\n", " 3 of 8, 50 |".repeat(5))), "{text}");
    }
}
