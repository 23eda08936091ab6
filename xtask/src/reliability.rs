//! `cargo xtask enumerate`, `soak` and `memory`: what the Python tests have small versions of, at length.

use crate::{artifact, package, python, step};
use anyhow::Result;

/// The commands and their options.
const KNOWN: [(&str, &[&str]); 3] = [
    ("enumerate", &["--cases", "--seed", "--processes"]),
    ("soak", &["--minutes", "--seed"]),
    ("memory", &["--megabytes"]),
];

/// Compares the claims of `certify`, `bound` and `search` with all structures, enumerated by NumPy:
/// `cargo xtask enumerate [--cases N] [--seed N] [--processes N]`.
pub fn enumerate(arguments: &[String]) -> Result<()> {
    parse("enumerate", arguments)?;
    script("tests/package/enumeration.py", arguments)
}

/// Random work with every result verified, and memory, threads and files watched: `cargo xtask soak [--minutes N] [--seed N]`.
pub fn soak(arguments: &[String]) -> Result<()> {
    parse("soak", arguments)?;
    script("tests/package/soak.py", arguments)
}

/// The most that commands hold under `--max-memory`, against the limit: `cargo xtask memory [--megabytes N]`.
pub fn memory(arguments: &[String]) -> Result<()> {
    parse("memory", arguments)?;
    let tnsearch = artifact::given()?;
    let python = python::given(python::tests)?;
    let mut script = step::command(python, &["tests/python/memory.py"]);
    step::run_step(script.args(arguments).env("TNSEARCH", tnsearch))
}

/// Whether a command of [`KNOWN`] takes these words.
pub fn parse(command: &str, arguments: &[String]) -> Result<()> {
    let known = KNOWN.iter().find(|(name, _)| *name == command).map_or(&[][..], |(_, known)| known);
    checked(command, arguments, known)
}

/// The arguments, pairs of an option and a number: what is wrong is said before anything is built.
fn checked(command: &str, arguments: &[String], known: &[&str]) -> Result<()> {
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|n| n.parse::<f64>().ok());
        if !known.contains(&pair[0].as_str()) || number.is_none_or(|n| !(0.0..1e9).contains(&n)) {
            let (given, known) = (pair.join(" "), known.join(" N, "));
            return Err(step::usage(format!(
                "`cargo xtask {command}` takes {known} N, not '{given}'"
            )));
        }
    }
    Ok(())
}

fn script(path: &str, arguments: &[String]) -> Result<()> {
    let tnsearch = artifact::given()?;
    let python = package::installed()?;
    let mut script = step::command(python, &[path]);
    step::run_step(script.args(arguments).env("TNSEARCH", tnsearch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_with_numbers() {
        let check = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| (*w).to_string()).collect();
            checked("soak", &words, &["--minutes", "--seed"]).is_ok()
        };
        assert!(check(&[]) && check(&["--minutes", "0.5", "--seed", "3"]));
        for bad in [&["--minutes"][..], &["--minutes", "x"], &["--hours", "1"], &["--seed", "-1"]] {
            assert!(!check(bad), "{bad:?}");
        }
    }
}
