//! The virtual environment of the Python parts, `.venv`.

use crate::step;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

const NEEDED: &str = "python3 3.11 or newer, with its venv module, is needed \
                      (Debian and Ubuntu: apt install python3-venv)";

/// The interpreter that TNSEARCH_PYTHON names, with all that is needed in it, or that of an environment made for it.
pub fn given(environment: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    match std::env::var_os("TNSEARCH_PYTHON") {
        Some(python) => Ok(python.into()),
        None => environment(),
    }
}

/// What the tests need of Python.
const TESTS: &str = "tests/package/requirements.txt";

/// The environment of the tests; nothing of the project is in it but, for its own tests, the wheel.
pub fn tests() -> Result<PathBuf> {
    environment(TESTS)
}

/// Makes `.venv` if it is not there, installs a requirements file (a path from the root), and returns the environment's
/// interpreter.
pub fn environment(requirements: &str) -> Result<PathBuf> {
    let folder = ".venv";
    let folder = step::root().join(folder);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !works(&python) {
        let check = "import sys; sys.exit(sys.version_info < (3, 11))";
        step::run(&mut step::command("python3", &["-c", check])).context(NEEDED)?;
        // --clear: what an interrupted run left behind is not an environment.
        let mut venv = step::command("python3", &["-m", "venv", "--clear"]);
        step::run(venv.arg(&folder)).context(NEEDED)?;
    }
    install(&python, &["-r", requirements])?;
    Ok(python)
}

/// Installs with pip: without network access when everything is there already.
pub fn install(python: &Path, what: &[&str]) -> Result<()> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    step::run(step::command(python, &pip).args(what))
        .with_context(|| format!("cannot install {}", what.join(" ")))
}

/// Whether the environment is whole: its interpreter starts and has pip.
fn works(python: &Path) -> bool {
    let probe = std::process::Command::new(python).args(["-m", "pip", "--version"]).output();
    probe.is_ok_and(|o| o.status.success())
}
