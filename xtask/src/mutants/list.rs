//! The mutants, as cargo-mutants lists them.

use crate::step;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;

/// A change of the source that some test has to see.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    /// Its number; 0 stands for none.
    pub id: usize,
    /// What is changed, and where, in words.
    pub name: String,
    /// The file, from the root.
    pub file: PathBuf,
    pub genre: Genre,
    /// What is written instead.
    pub replacement: String,
    /// Where it begins: line and column from 1.
    pub start: (usize, usize),
}

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Genre {
    Binary,
    Unary,
    Function,
    Guard,
    Arm,
    Field,
}

/// Asks cargo-mutants for all mutants of these files; installs it where it is missing.
pub fn list(globs: &[&str]) -> Result<Vec<Mutant>> {
    let there = step::cargo(&["mutants", "--version"]).output().is_ok_and(|o| o.status.success());
    if !there {
        step::run_step(&mut step::cargo(&["install", "--locked", "cargo-mutants"]))
            .context("cargo-mutants is missing and cannot be installed")?;
    }
    let mut command = step::cargo(&["mutants", "--list", "--json"]);
    for glob in globs {
        command.args(["-f", glob]);
    }
    parse(&step::output(&mut command)?)
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let all: Vec<Value> = serde_json::from_str(text).context("the list of cargo-mutants")?;
    all.iter().enumerate().map(|(k, value)| mutant(k + 1, value)).collect()
}

fn mutant(id: usize, value: &Value) -> Result<Mutant> {
    let text = |key: &str| {
        let text = value[key].as_str().map(str::to_string);
        text.with_context(|| format!("cargo-mutants listed a mutant without '{key}'"))
    };
    let number = |key: &str| value["span"]["start"][key].as_u64().map(|n| n as usize);
    let start = number("line").zip(number("column"));
    let genre = match text("genre")?.as_str() {
        "BinaryOperator" => Genre::Binary,
        "UnaryOperator" => Genre::Unary,
        "FnValue" => Genre::Function,
        "MatchArmGuard" => Genre::Guard,
        "MatchArm" => Genre::Arm,
        "StructField" => Genre::Field,
        other => bail!("cargo-mutants listed a mutant of a new kind, '{other}'"),
    };
    Ok(Mutant {
        id,
        name: text("name")?,
        file: text("file")?.into(),
        genre,
        replacement: text("replacement")?,
        start: start.context("cargo-mutants listed a mutant without a place")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_read() {
        let text = r#"[{"genre":"BinaryOperator","name":"a.rs:1:3: replace + with - in f","file":"a.rs",
            "replacement":"-","span":{"start":{"line":1,"column":3},"end":{"line":1,"column":4}}}]"#;
        let all = parse(text).unwrap();
        assert_eq!(
            (all.len(), all[0].id, all[0].genre, all[0].start),
            (1, 1, Genre::Binary, (1, 3))
        );
        assert!(parse(&text.replace("BinaryOperator", "Other")).is_err());
    }
}
