//! `tnsearch-fuzz [TARGET] [--inputs N] [--seconds S] [--seed N] [--keep DIR]`: `cargo xtask fuzz` runs it.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use tnsearch_fuzz::{Budget, TARGETS, run};

fn main() -> ExitCode {
    match tried() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(what) => {
            eprintln!("tnsearch-fuzz: {what}");
            ExitCode::from(2)
        }
    }
}

fn tried() -> Result<bool, String> {
    let (mut names, mut budget, mut keep) =
        (Vec::new(), Budget { seed: 0, inputs: 20_000, time: None }, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{word} needs a value"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("{text:?} is no whole number"));
        match word.as_str() {
            "--inputs" => budget.inputs = number(value()?)?,
            "--seconds" => budget.time = Some(Duration::from_secs(number(value()?)?)),
            "--seed" => budget.seed = number(value()?)?,
            "--keep" => keep = Some(value()?),
            name => names.push(name.to_owned()),
        }
    }
    let known: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
    if let Some(unknown) = names.iter().find(|n| !known.contains(&n.as_str())) {
        return Err(format!("there is no target {unknown:?}; there are {}", known.join(", ")));
    }
    // What is caught is told below.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut good, mut last) = (true, String::new());
    println!("target        inputs     accepted   seconds   slowest ms   peak MB   found");
    for target in TARGETS.iter().filter(|t| names.is_empty() || names.contains(&t.name.to_owned()))
    {
        let begun = Instant::now();
        let tried = run(target, &budget);
        println!(
            "{:<12} {:>8} {:>12} {:>9.1} {:>12.1} {:>9.1} {:>7}",
            target.name,
            tried.inputs,
            tried.accepted,
            begun.elapsed().as_secs_f64(),
            1e3 * tried.slowest,
            tried.peak as f64 / 1e6,
            tried.findings.len()
        );
        last = format!(
            "{}: {} inputs, {} accepted, {} found; the slowest took {:.1} ms, the most held was {:.1} MB",
            target.name,
            tried.inputs,
            tried.accepted,
            tried.findings.len(),
            1e3 * tried.slowest,
            tried.peak as f64 / 1e6
        );
        for finding in &tried.findings {
            good = false;
            println!("  input {} of seed {}: {}", finding.number, budget.seed, finding.what);
            if let Some(folder) = &keep {
                let path = format!("{folder}/{}-{}-{}", target.name, budget.seed, finding.number);
                std::fs::write(&path, &finding.input).map_err(|e| format!("{path}: {e}"))?;
            }
        }
    }
    // One target in words, for tables of several runs.
    if names.len() == 1 && good {
        println!("{last}");
    }
    Ok(good)
}
