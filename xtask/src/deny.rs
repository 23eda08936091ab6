//! `cargo xtask deny`: licences, sources, duplicates and known vulnerabilities of all dependencies.

use crate::step;
use anyhow::{Context, Result};

/// Runs cargo-deny with `deny.toml`; installs it where it is missing.
pub fn run(arguments: &[String]) -> Result<()> {
    if let Some(extra) = arguments.first() {
        return Err(step::usage(format!("`cargo xtask deny` takes no arguments, not '{extra}'")));
    }
    if !there() {
        step::run_step(&mut step::cargo(&["install", "--locked", "cargo-deny"]))
            .context("cargo-deny is missing and cannot be installed")?;
    }
    step::run_step(&mut step::cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    if step::run_step(&mut step::cargo(&["deny", "fetch", "db"])).is_err() {
        println!(
            "note: the database of advisories cannot be reached from here, so known vulnerabilities were NOT \
             looked for; licences, bans and sources were checked"
        );
        return Ok(());
    }
    step::run_step(&mut step::cargo(&["deny", "check", "--disable-fetch", "advisories"]))
}

/// Whether cargo-deny is installed.
fn there() -> bool {
    step::cargo(&["deny", "--version"]).output().is_ok_and(|o| o.status.success())
}
