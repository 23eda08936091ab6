//! The Python package: its wheel is built, installed into the environment of the tests and tested there, and so is its
//! source distribution.

use crate::{python, step};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The packages that are large, and of which tests are skipped without them.
const LARGE: [&str; 3] = ["torch", "jax", "ray"];
/// Their tests; "ray" alone would be those of arrays, too.
const LARGE_TESTS: &str = "torch or jax or test_ray or folder";

/// The tests of the package that go through its unsafe parts: arrays that are held while they are read, cores that are lent.
pub const UNSAFE_TESTS: [&str; 4] = [
    "tests/package/test_arrays.py",
    "tests/package/test_boundary.py",
    "tests/package/test_indexing.py",
    "tests/package/test_network.py",
];

/// Everything that is tested of the package, beside a command `tnsearch` that was built before.
pub fn test(tnsearch: &Path) -> Result<()> {
    let python = environment()?;
    let wheels = fresh("target/wheels")?;
    // The dev profile, whose kernels are optimised: what `cargo test` built is used again.
    let wheel = build(&python, &wheels, &["build", "--profile", "dev"], "whl")?;
    let sdist = build(&python, &wheels, &["sdist"], "tar.gz")?;
    step::step("the source distribution is whole", || {
        unpacked(&sdist, "target/sdist").and_then(|source| complete(&source))
    })?;
    step::step("the wheel in its environment", || install(&python, &wheel))?;
    types(&python)?;
    let mut doctests = step::command(&python, &PYTEST);
    step::run_step(doctests.args(["--doctest-modules", "--pyargs", "tnsearch"]))?;
    let mut tests = step::command(&python, &PYTEST);
    step::run_step(tests.arg("tests/package").env("TNSEARCH", tnsearch))
}

const PYTEST: [&str; 6] = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"];

/// The tests that need what is large, with that installed: PyTorch without its dependencies, of which PyPI has only those
/// for CUDA.
pub fn large(tnsearch: &Path) -> Result<()> {
    let python = installed()?;
    step::step(&LARGE.join(", "), || {
        python::install(&python, &["-r", "tests/package/requirements-large-with-deps.txt"])?;
        python::install(&python, &["--no-deps", "-r", "tests/package/requirements-large.txt"])
    })?;
    let mut tests = step::command(&python, &PYTEST);
    tests.args(["tests/package", "-k", LARGE_TESTS]).env("TNSEARCH", tnsearch);
    step::run_step(&mut tests)
}

/// The tests of the package's boundary alone, with so many examples of each.
pub fn boundary(examples: u64) -> Result<()> {
    let python = installed()?;
    let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/package/test_boundary.py"];
    let mut tests = step::command(&python, &pytest);
    step::run_step(tests.env("TNSEARCH_EXAMPLES", examples.to_string()))
}

/// `cargo xtask sdist`: the source distribution is built into a wheel, as `pip install` would, and imported.
pub fn sdist(arguments: &[String]) -> Result<()> {
    if let Some(extra) = arguments.first() {
        return Err(step::usage(format!("`cargo xtask sdist` takes no arguments, not '{extra}'")));
    }
    let python = environment()?;
    let archive = build(&python, &fresh("target/wheels")?, &["sdist"], "tar.gz")?;
    let folder = fresh("target/sdist")?;
    // Cargo's folder is kept, so that a second run has only our own crates to build.
    let target = step::root().join("target/sdist-build");
    let pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"];
    let mut wheel = step::command(&python, &pip);
    step::run_step(wheel.arg(&folder).arg(&archive).env("CARGO_TARGET_DIR", target))?;
    step::step("that wheel in the environment", || install(&python, &only(&folder, "whl")?))
}

/// The interpreter of the environment with the package in it, built from these sources.
pub fn installed() -> Result<PathBuf> {
    let python = environment()?;
    let wheels = fresh("target/wheels")?;
    let wheel = build(&python, &wheels, &["build", "--profile", "dev"], "whl")?;
    step::step("the wheel in its environment", || install(&python, &wheel))?;
    Ok(python)
}

/// The interpreter of the environment, without the package.
pub fn environment() -> Result<PathBuf> {
    step::step("the Python environment .venv", python::tests)
}

/// An empty folder under the root.
fn fresh(folder: &str) -> Result<PathBuf> {
    let folder = step::root().join(folder);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    Ok(folder)
}

/// Runs maturin and returns the one file of that kind it has made.
fn build(python: &Path, folder: &Path, arguments: &[&str], ending: &str) -> Result<PathBuf> {
    let mut maturin = step::command(python, &["-m", "maturin"]);
    step::run_step(maturin.args(arguments).arg("-o").arg(folder))?;
    only(folder, ending)
}

fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.map(|f| f.map(|f| f.path()));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let mut files = files.into_iter().filter(|f| f.to_string_lossy().ends_with(ending));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("there is not one .{ending} in {}", folder.display()),
    }
}

fn install(python: &Path, wheel: &Path) -> Result<()> {
    let wheel = wheel.to_string_lossy();
    python::install(python, &["--force-reinstall", "--no-deps", "--no-index", &wheel])?;
    // Not from the root, where the sources are.
    let version = "import tnsearch; print('    tnsearch', tnsearch.__version__, tnsearch.__file__)";
    step::run(step::command(python, &["-c", version]).current_dir(step::root().join("target")))
}

/// Unpacks a source distribution; the folder that is in it.
fn unpacked(archive: &Path, folder: &str) -> Result<PathBuf> {
    let folder = fresh(folder)?;
    let mut tar = step::command("tar", &["-xzf"]);
    step::run(tar.arg(archive).arg("-C").arg(&folder))?;
    let name = archive.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(folder.join(name.trim_end_matches(".tar.gz")))
}

/// Whether cargo finds every crate there, in the versions that were tested, and pip all it asks for: without compiling it.
fn complete(source: &Path) -> Result<()> {
    // Not --locked: the lock file names crates of the workspace that are not in the distribution.
    let mut metadata = step::cargo(&["metadata", "--offline", "--format-version", "1"]);
    metadata.arg("--manifest-path").arg(source.join("crates/tnsearch-py/Cargo.toml"));
    let metadata: serde_json::Value = serde_json::from_str(&step::output(&mut metadata)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    if !packages.iter().any(|p| p["name"] == "tnsearch-py") {
        bail!("the source distribution has no crate tnsearch-py");
    }
    let lock = std::fs::read_to_string(step::root().join("Cargo.lock"))?;
    for package in packages {
        let (name, version) = (&package["name"], &package["version"]);
        if !lock.contains(&format!("name = {name}\nversion = {version}\n")) {
            bail!(
                "the source distribution would be built with {name} {version}, which Cargo.lock does not have"
            );
        }
    }
    let needed = ["PKG-INFO", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock"];
    let needed = needed.into_iter().chain(["python/tnsearch/py.typed", "pyproject.toml"]);
    for file in needed {
        if !source.join(file).is_file() {
            bail!("the source distribution has no {file}");
        }
    }
    Ok(())
}

/// The type checkers accept the package, and a script that uses it as installed; its stubs say what is there.
fn types(python: &Path) -> Result<()> {
    let checked = ["python/tnsearch", "tests/package/typed_user.py"];
    let mut mypy = step::command(python, &["-m", "mypy", "--strict", "--no-error-summary"]);
    step::run_step(mypy.args(checked).env("MYPYPATH", "python"))?;
    let mut pyright = step::command(python, &["-m", "pyright", "--warnings", "--pythonpath"]);
    step::run_step(pyright.arg(python).args(checked))?;
    let stubtest = ["-m", "mypy.stubtest", "tnsearch._core", "--concise"];
    step::run_step(step::command(python, &stubtest).current_dir(step::root().join("target")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_file_is_found() {
        let folder = fresh("target/xtask-only").unwrap();
        assert!(only(&folder, "whl").is_err());
        std::fs::write(folder.join("a.whl"), "").unwrap();
        std::fs::write(folder.join("a.tar.gz"), "").unwrap();
        assert_eq!(only(&folder, "whl").unwrap(), folder.join("a.whl"));
        std::fs::write(folder.join("b.whl"), "").unwrap();
        assert!(only(&folder, "whl").is_err());
    }
}
