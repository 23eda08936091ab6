//! `cargo xtask test`: everything that must pass before a change is merged, or a part of it; `cargo xtask check`: what of
//! it is quick.

use crate::{artifact, chromium, package, step};
use anyhow::Result;
use std::path::PathBuf;

/// A part of the tests.
struct Part {
    name: &'static str,
    what: &'static str,
    /// Whether it is a part of the whole.
    always: bool,
    run: fn() -> Result<()>,
}

const PARTS: [Part; 7] = [
    Part { name: "style", what: "format and lints", always: true, run: style },
    Part { name: "rust", what: "all tests in Rust", always: true, run: rust },
    Part { name: "docs", what: "the pages of the libraries", always: true, run: docs },
    Part { name: "crates", what: "what crates.io would get", always: true, run: crates },
    Part { name: "python", what: "the program, with NumPy", always: true, run: program },
    Part { name: "package", what: "the Python package", always: true, run: wheel },
    Part { name: "large", what: "with torch, jax and ray", always: false, run: large },
];

/// Runs all parts in order, or those that are named; the first that fails ends the run.
pub fn run(arguments: &[String]) -> Result<()> {
    let parts: Vec<&Part> = match arguments {
        [] => PARTS.iter().filter(|part| part.always).collect(),
        names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    step::step("cargo xtask test", || parts.iter().try_for_each(|part| (part.run)()))
}

fn named(name: &str) -> Result<&'static Part> {
    PARTS.iter().find(|part| part.name == name).ok_or_else(|| {
        let known = PARTS.iter().map(|part| format!("{} ({})", part.name, part.what));
        let known = known.collect::<Vec<_>>().join(", ");
        step::usage(format!("'{name}' is no part of the tests; they are {known}"))
    })
}

/// The quick lane: format, lints, and the unit tests.
pub fn check(arguments: &[String]) -> Result<()> {
    if let Some(extra) = arguments.first() {
        return Err(step::usage(format!("`cargo xtask check` takes no arguments, not '{extra}'")));
    }
    step::step("cargo xtask check", || {
        style()?;
        step::run_step(&mut step::cargo(&["test", "--workspace", "--lib", "--bins", "--quiet"]))
    })
}

fn style() -> Result<()> {
    step::run_step(&mut step::cargo(&["fmt", "--all", "--", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step::run_step(&mut step::cargo(&clippy))
}

fn rust() -> Result<()> {
    step::run_step(&mut step::cargo(&["test", "--workspace"]))
}

/// No broken link, nothing that rustdoc warns of.
fn docs() -> Result<()> {
    let mut doc = step::cargo(&["doc", "--no-deps", "--workspace", "--quiet"]);
    step::run_step(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Every crate that can be published makes a package; what is in it was built and tested before.
fn crates() -> Result<()> {
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

/// The program that TNSEARCH names, or one as `cargo test` builds it.
fn built() -> Result<PathBuf> {
    artifact::given()
}

/// The files the command reads and writes, checked with numpy alone.
fn program() -> Result<()> {
    let tnsearch = built()?;
    let python = package::environment()?;
    step::step("a browser for the report page", chromium::provide)?;
    let mut pytest =
        step::command(python, &["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]);
    step::run_step(pytest.arg("tests/python").env("TNSEARCH", tnsearch))
}

fn wheel() -> Result<()> {
    package::test(&built()?)
}

fn large() -> Result<()> {
    package::large(&built()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_name_and_strangers_refused_with_the_list() {
        for part in &PARTS {
            assert_eq!(named(part.name).unwrap().name, part.name);
        }
        let refused = named("pyton").err().unwrap().to_string();
        assert!(refused.contains("'pyton'") && refused.contains("large (with torch"), "{refused}");
        assert!(check(&["now".to_owned()]).is_err());
    }
}
