//! `cargo xtask test`: everything that must pass before a change is merged.

use crate::{artifact, chromium, package, python, step};
use anyhow::Result;
use std::path::Path;

/// Runs all checks in order; the first that fails ends the run.
pub fn run(arguments: &[String]) -> Result<()> {
    if let Some(extra) = arguments.first() {
        return Err(step::usage(format!("`cargo xtask test` takes no arguments, not '{extra}'")));
    }
    step::step("cargo xtask test", || {
        step::run_step(&mut step::cargo(&["fmt", "--all", "--", "--check"]))?;
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        step::run_step(&mut step::cargo(&clippy))?;
        step::run_step(&mut step::cargo(&["test", "--workspace"]))?;
        documentation()?;
        packages()?;
        let tnsearch = step::step("the tnsearch program", artifact::tnsearch)?;
        python_tests(&tnsearch)?;
        package::test(&tnsearch)
    })
}

/// The pages of the libraries: no broken link, nothing that rustdoc warns of.
fn documentation() -> Result<()> {
    let mut doc = step::cargo(&["doc", "--no-deps", "--workspace", "--quiet"]);
    step::run_step(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Every crate that can be published makes a package; what is in it was built and tested before.
fn packages() -> Result<()> {
    let mut package = step::cargo(&["package", "--workspace", "--no-verify", "--allow-dirty"]);
    // Those that are not published: the developers' commands, and what PyPI gets as a wheel.
    package.args([
        "--quiet",
        "--exclude",
        "xtask",
        "--exclude",
        "tnsearch-py",
        "--exclude",
        "tnsearch-fuzz",
    ]);
    step::run_step(&mut package)
}

/// The files the command reads and writes, checked with numpy alone.
fn python_tests(tnsearch: &Path) -> Result<()> {
    let python = step::step("the Python environment .venv", || {
        python::environment("tests/python/requirements.txt")
    })?;
    step::step("a browser for the report page", chromium::provide)?;
    let mut pytest =
        step::command(python, &["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]);
    step::run_step(pytest.arg("tests/python").env("TNSEARCH", tnsearch))
}
