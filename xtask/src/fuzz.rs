//! `cargo xtask fuzz`: damaged files against every reader, wild words against every command, hostile values against the
//! Python package.

use crate::{artifact, package, random::Random, step};
use anyhow::{Result, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is asked for.
pub struct Asked {
    target: Option<String>,
    inputs: u64,
    seconds: Option<u64>,
    seed: u64,
}

impl Asked {
    /// How many command lines.
    fn lines(&self) -> u64 {
        match self.target {
            Some(_) => self.inputs,
            // Beside readers: a process takes longer than they do.
            None => self.inputs.div_ceil(20),
        }
    }
}

/// Runs a target, or all readers and the command lines.
pub fn run(arguments: &[String]) -> Result<()> {
    let asked = parse(arguments)?;
    match asked.target.as_deref() {
        Some("python") => package::boundary(asked.inputs),
        Some("commands") => commands(&asked),
        Some(_) => readers(&asked),
        None => readers(&asked).and_then(|()| commands(&asked)),
    }
}

/// What the words ask for.
pub fn parse(arguments: &[String]) -> Result<Asked> {
    let mut asked = Asked { target: None, inputs: 20_000, seconds: None, seed: 0 };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let text = words.next().ok_or_else(|| step::usage(format!("{word} needs a number")))?;
            text.parse().map_err(|_| step::usage(format!("{word} needs a number, not '{text}'")))
        };
        match word.as_str() {
            "--inputs" => asked.inputs = number()?,
            "--seconds" => asked.seconds = Some(number()?),
            "--seed" => asked.seed = number()?,
            name if asked.target.is_none() && !name.starts_with('-') => {
                asked.target = Some(name.to_owned());
            }
            other => return Err(step::usage(format!("`cargo xtask fuzz` knows no '{other}'"))),
        }
    }
    Ok(asked)
}

fn readers(asked: &Asked) -> Result<()> {
    let mut fuzz = step::cargo(&["run", "--quiet", "-p", "tnsearch-fuzz", "--"]);
    fuzz.args(&asked.target).args(["--inputs", &asked.inputs.to_string()]);
    fuzz.args(["--seed", &asked.seed.to_string()]);
    if let Some(seconds) = asked.seconds {
        fuzz.args(["--seconds", &seconds.to_string()]);
    }
    step::run_step(&mut fuzz)
}

/// Commands that may take long, and can be told not to.
const LONG: [&str; 7] = ["search", "fit", "decompose", "compare", "complete", "certify", "bound"];

/// Words that options and files are made of.
const WORDS: [&str; 47] = [
    "verify",
    "search",
    "fit",
    "decompose",
    "compare",
    "complete",
    "compress",
    "decompress",
    "compress-model",
    "decompress-model",
    "bound",
    "certify",
    "space",
    "distance",
    "reconstruct",
    "round",
    "pick",
    "report",
    "watch",
    "info",
    "tgp",
    "generate",
    "completions",
    "x.npy",
    "s.json",
    "--certificate",
    "net",
    "run.jsonl",
    "nothing",
    "--structure",
    "--template",
    "--max-rse",
    "--max-rank",
    "--lambda",
    "--max-params",
    "--split",
    "--reshape",
    "--dtype",
    "--json",
    "-o",
    "--order",
    "--max-phi",
    "--max-evaluations",
    "--seed",
    "--mask",
    "--resize",
    "--crop",
];

/// Values of every kind.
const VALUES: [&str; 26] = [
    "",
    "0",
    "1",
    "-1",
    "2",
    "1e300",
    "-1e300",
    "nan",
    "inf",
    "18446744073709551615",
    "18446744073709551616",
    "ring",
    "any",
    "peps:9999999x9999999",
    "4^99",
    "2x",
    "auto",
    "f16",
    "/dev/null",
    "-",
    "\u{1b}[2J",
    "\u{202e}",
    "../x.npy",
    "x.npy:key",
    "bash",
    "2..3",
];

/// Runs the command with wild words, in 2 GB of memory: it ends by itself, with one line where it refuses.
fn commands(asked: &Asked) -> Result<()> {
    let tnsearch = artifact::given()?;
    let folder = std::env::temp_dir().join(format!("tnsearch-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let tried = wild(asked, &tnsearch, &folder);
    std::fs::remove_dir_all(&folder)?;
    println!("{}", tried?);
    Ok(())
}

fn wild(asked: &Asked, tnsearch: &Path, folder: &Path) -> Result<String> {
    let begun = Instant::now();
    let good = "generate --order 4 --dim 2 --ranks 2..2 --seed 1 -o x.npy --quiet";
    step::run(Command::new(tnsearch).args(good.split(' ')).current_dir(folder))?;
    let structure =
        r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,1,2],[1,2,2],[2,3,2],[0,3,2]]}"#;
    std::fs::write(folder.join("s.json"), structure)?;
    let mut random = Random::new(asked.seed);
    let (mut codes, mut number) = ([0u64; 3], 0);
    while number < asked.lines() {
        if asked.seconds.is_some_and(|seconds| begun.elapsed() > Duration::from_secs(seconds)) {
            break;
        }
        number += 1;
        let mut words: Vec<&str> = vec![WORDS[random.below(22)]];
        for _ in 0..random.below(6) {
            let from = if random.below(2) == 0 { &WORDS[..] } else { &VALUES[..] };
            words.push(from[random.below(from.len())]);
        }
        let quoted: Vec<String> = words.iter().map(|w| format!("'{w}'")).collect();
        let script = format!(
            "ulimit -v 2000000 -t 60; exec '{}' {}{}",
            tnsearch.display(),
            quoted.join(" "),
            if LONG.contains(&words[0]) { " --max-seconds 5" } else { "" }
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(folder).stdin(Stdio::null());
        let output = shell.output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let Some(code @ 0..=2) = output.status.code() else {
            bail!("{}: {}: {said}", words.join(" "), output.status);
        };
        codes[code as usize] += 1;
        let plain =
            !said.contains(|c: char| c.is_control() && c != '\n') && !said.contains("panicked");
        ensure!(plain && (code != 2 || said.lines().count() == 1), "{words:?}: {said:?}");
    }
    Ok(format!(
        "{number} command lines: {} done, {} without what was asked for, {} refused in one line",
        codes[0], codes[1], codes[2]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_that_are_asked_for_are_made() {
        let asked = |text: &str| {
            parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(asked("commands --inputs 50").lines(), 50);
        assert_eq!(asked("--inputs 50").lines(), 3);
    }
}
