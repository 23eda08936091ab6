//! How often TNLS finds the hidden ring or a smaller one: the paper's section 5.1 with our command.

use super::{median, number_list, program, read, whole};
use crate::json::number;
use crate::step;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

pub const ABOUT: &str = "success rates of TNLS on hidden rings, single runs and best of 5 \
                         (--orders 6,8 --count 10 --quick)";

/// Mode dimension and largest RSE of the paper's synthetic tables.
const DIM: usize = 3;
const MAX_RSE: f64 = 1e-4;

#[derive(Debug, PartialEq)]
struct Options {
    orders: Vec<usize>,
    count: usize,
    iterations: usize,
    runs: usize,
    quick: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let (mut orders, mut count, mut quick) = (vec![6, 8], None, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--orders" => orders = number_list(value()?)?,
                "--count" => count = Some(whole(value()?)?),
                "--quick" => quick = true,
                _ => bail!("unknown option '{word}'; use --orders 6,8 --count 10 --quick"),
            }
        }
        // Quick shows that the experiment works; its rates are not the paper's.
        let (count_default, iterations, runs) = if quick { (2, 10, 2) } else { (10, 30, 5) };
        if let Some(order) = orders.iter().find(|&&n| !(3..=12).contains(&n)) {
            bail!("--orders has {order}; a ring of dimension {DIM} is searched at orders 3 to 12");
        }
        let count = count.unwrap_or(count_default);
        if count == 0 {
            bail!("--count is 0; it must be at least 1");
        }
        Ok(Options { orders, count, iterations, runs, quick })
    }
}

/// What one call of `tnsearch search` ended with.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    /// Params of the hidden structure / params of the one found.
    eff: f64,
    rse: f64,
    evaluations: f64,
    seconds: f64,
}

impl Outcome {
    fn success(&self) -> bool {
        self.rse <= MAX_RSE && self.eff >= 1.0
    }
}

/// Generates the rings, searches each, and prints the tables.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments).map_err(|e| step::usage(format!("{e:#}")))?;
    let tnsearch = program()?;
    let mut rows = Vec::new();
    for &order in &options.orders {
        let mut pairs = Vec::new();
        for index in 0..options.count {
            let title = format!("order {order}, tensor {} of {}", index + 1, options.count);
            pairs.push(step::step(&title, || tensor(&tnsearch, &options, order, index))?);
        }
        rows.push((order, pairs));
    }
    print!("\n{}\n{}", details(&rows, options.runs), summary(&rows, &options));
    Ok(())
}

/// One hidden ring: a single run, then several runs of which the best is kept.
fn tensor(program: &Path, options: &Options, order: usize, index: usize) -> Result<[Outcome; 2]> {
    // Different seeds, so that the search cannot draw what the generator drew.
    let hidden_seed = (1000 * order + index).to_string();
    let seed = (1 + index).to_string();
    // Beside the program, so inside the target folder, which git ignores.
    let base = program.parent().context("the program has no folder")?;
    let folder = base.join(format!("experiments/tnls-rates/order{order}-{index:02}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (n, dim) = (order.to_string(), DIM.to_string());
    let mut generate = Command::new(program);
    generate.args(["generate", "--template", "ring", "--order", &n, "--dim", &dim]);
    generate.args(["--ranks", "1..4", "--seed", &hidden_seed, "--quiet"]);
    generate.arg("-o").arg(folder.join("X.npy"));
    generate.arg("--structure").arg(folder.join("hidden.json"));
    generate.arg("--json").arg(folder.join("gen.json"));
    step::run(&mut generate)?;
    let hidden = number(&read(&folder.join("gen.json"))?, "params")?;
    let single = search(program, options, &folder, &seed, 1, hidden)?;
    let several = search(program, options, &folder, &seed, options.runs, hidden)?;
    Ok([single, several])
}

fn search(
    program: &Path,
    options: &Options,
    folder: &Path,
    seed: &str,
    runs: usize,
    hidden_params: f64,
) -> Result<Outcome> {
    let report = folder.join(format!("runs{runs}.json"));
    let (iterations, runs) = (options.iterations.to_string(), runs.to_string());
    let mut command = Command::new(program);
    command.arg("search").arg(folder.join("X.npy"));
    command.args(["--template", "ring", "--max-rank", "7", "--lambda", "200"]);
    command.args(["--strategy", "tnls", "--iterations", &iterations, "--samples", "60"]);
    // c2 is left to the command: by default the paper's value for the order.
    command.args(["--c1", "0.9", "--seed", seed, "--runs", &runs, "--quiet"]);
    command.arg("--json").arg(&report);
    command.arg("-o").arg(folder.join(format!("runs{runs}.safetensors")));
    step::run(&mut command)?;
    let report = read(&report)?;
    let outcome = Outcome {
        eff: hidden_params / number(&report, "params")?,
        rse: number(&report, "rse")?,
        evaluations: number(&report, "evaluations")?,
        seconds: number(&report, "seconds")?,
    };
    let word = if outcome.success() { "found" } else { "missed" };
    println!(
        "    runs {runs}: {word}, Eff {:.2}, RSE {:.1e}, {} evaluations, {:.1} s",
        outcome.eff, outcome.rse, outcome.evaluations, outcome.seconds
    );
    Ok(outcome)
}

type Row = (usize, Vec<[Outcome; 2]>);

/// Every tensor: single run and best of several.
fn details(rows: &[Row], runs: usize) -> String {
    let mut out = format!(
        "| order | tensor | Eff, 1 run | RSE, 1 run | Eff, {runs} runs | RSE, {runs} runs |\n"
    );
    out += "| ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (order, pairs) in rows {
        for (k, [a, b]) in pairs.iter().enumerate() {
            out += &format!(
                "| {order} | {} | {:.2} | {:.1e} | {:.2} | {:.1e} |\n",
                k + 1,
                a.eff,
                a.rse,
                b.eff,
                b.rse
            );
        }
    }
    out
}

/// Successes, and median evaluations and seconds of a call, per order.
fn summary(rows: &[Row], options: &Options) -> String {
    let runs = options.runs;
    let mut out = String::new();
    if options.quick {
        out += "Quick: fewer iterations and runs than the paper's, so these are not its rates.\n\n";
    }
    out += &format!(
        "Success: RSE <= {MAX_RSE:e} and Eff >= 1. Evaluations and seconds: median of a call.\n\n"
    );
    out += &format!(
        "| order | success, 1 run | success, {runs} runs | evaluations, 1 run | evaluations, \
         {runs} runs | seconds, 1 run | seconds, {runs} runs |\n"
    );
    out += "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (order, pairs) in rows {
        let of = |which: usize, f: fn(&Outcome) -> f64| median(pairs.iter().map(|p| f(&p[which])));
        let successes = |which: usize| pairs.iter().filter(|p| p[which].success()).count();
        out += &format!(
            "| {order} | {} of {n} | {} of {n} | {:.0} | {:.0} | {:.1} | {:.1} |\n",
            successes(0),
            successes(1),
            of(0, |o| o.evaluations),
            of(1, |o| o.evaluations),
            of(0, |o| o.seconds),
            of(1, |o| o.seconds),
            n = pairs.len(),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_the_papers_defaults() {
        let paper =
            Options { orders: vec![6, 8], count: 10, iterations: 30, runs: 5, quick: false };
        assert_eq!(options("").unwrap(), paper);
        let quick = options("--quick --orders 4 --count 3").unwrap();
        assert_eq!((quick.orders, quick.count, quick.iterations), (vec![4], 3, 10));
        for bad in ["--orders", "--orders 2", "--orders 6,", "--count 0", "--count x", "--slow"] {
            assert!(options(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn success_needs_both_the_error_and_the_size() {
        let outcome = |eff, rse| Outcome { eff, rse, evaluations: 100.0, seconds: 2.0 };
        let pairs = vec![
            [outcome(1.0, 1e-4), outcome(1.2, 1e-9)],
            [outcome(0.99, 1e-9), outcome(1.0, 1e-9)],
            [outcome(1.5, 2e-4), outcome(0.5, 1e-9)],
        ];
        let table = summary(&[(6, pairs)], &options("").unwrap());
        let last = table.lines().last().unwrap();
        assert_eq!(last, "| 6 | 1 of 3 | 2 of 3 | 100 | 100 | 2.0 | 2.0 |");
    }
}
