//! How much faster a search gets with the number of threads: pruned and not, the same answer each time.

use super::{median, number_list, program, read, whole};
use crate::json::number;
use crate::step;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

pub const ABOUT: &str = "five pruned TNLS runs of order 8 by threads, and one unpruned (--threads 1,2 --count 3 --repeat 3)";

/// The searches: a name, and options beside the tensor and the threads.
const SEARCHES: [(&str, &str); 2] =
    [("pruned, 5 runs", "--runs 5"), ("not pruned, 1 run", "--runs 1 --no-prune --iterations 6")];

/// Generates the tensors, searches each with every number of threads, and prints the table.
pub fn run(arguments: &[String]) -> Result<()> {
    let (mut threads, mut count, mut repeat) = (vec![1, 2], 3, 3);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--threads" => threads = number_list(value()?)?,
            "--count" => count = whole(value()?)?,
            "--repeat" => repeat = whole(value()?)?.max(1),
            _ => {
                return Err(step::usage(format!(
                    "unknown option '{word}'; use --threads, --count, --repeat"
                )));
            }
        }
    }
    let tnsearch = program()?;
    let folder =
        tnsearch.parent().context("the program has no folder")?.join("experiments/scaling");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    println!("| search | seed | threads | seconds, median | gain | evaluations | speculative |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for seed in 8001..8001 + count {
        let mut make = Command::new(&tnsearch);
        make.args([
            "generate", "--order", "8", "--dim", "3", "--ranks", "1..4", "--quiet", "--seed",
        ]);
        make.arg(seed.to_string()).arg("-o").arg(folder.join("X.npy"));
        step::run(&mut make)?;
        for (name, options) in SEARCHES {
            let mut first: Option<(f64, Value)> = None;
            for &count in &threads {
                let mut seconds = Vec::new();
                let mut last = Value::Null;
                for _ in 0..repeat {
                    last = search(&tnsearch, &folder, options, count)?;
                    seconds.push(number(&last, "seconds")?);
                }
                let seconds = median(seconds.into_iter());
                let (one, answer) = first.get_or_insert((seconds, last.clone()));
                let same = ["loss", "evaluations", "pruned", "permutation", "edges"];
                ensure!(same.iter().all(|key| last[key] == answer[key]), "another answer: {last}");
                println!(
                    "| {name} | {seed} | {count} | {seconds:.2} | {:.1} | {} | {} |",
                    *one / seconds,
                    last["evaluations"],
                    last["speculative"]
                );
            }
        }
    }
    Ok(())
}

fn search(tnsearch: &Path, folder: &Path, options: &str, threads: usize) -> Result<Value> {
    let path = folder.join("found.json");
    let mut command = Command::new(tnsearch);
    command.arg("search").arg(folder.join("X.npy")).args(options.split_whitespace());
    command.args(["--strategy", "tnls", "--lambda", "200", "--seed", "1", "--quiet"]);
    command.args(["--certificate-nodes", "0", "--threads", &threads.to_string()]);
    command.arg("--json").arg(&path);
    step::run(&mut command)?;
    read(&path)
}
