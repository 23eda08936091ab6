//! `cargo xtask sanitize`: the parts with `unsafe`, one at a time, under Miri, AddressSanitizer and Valgrind.
//!
//! AddressSanitizer is asked of the usual compiler, which ships its runtime; nothing but Miri needs nightly. What this
//! machine has not is said in one line, with exit code 77.

use crate::{artifact, package, python, release, step};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The modules with `unsafe` that call no system and no Python, interpreted.
    Miri,
    /// All of `linalg` and `tensor`, whose products call kernels by pointers.
    Kernels,
    /// The readers, with all that the fuzzing makes.
    Readers,
    /// The Python module: arrays that are held and lent.
    Python,
    /// As Miri's, with the kernels as the machine runs them.
    Valgrind,
}

const PARTS: [(&str, Part); 5] = [
    ("kernels", Part::Kernels),
    ("readers", Part::Readers),
    ("python", Part::Python),
    ("miri", Part::Miri),
    ("valgrind", Part::Valgrind),
];

/// Every module of the library with `unsafe` in it, by the path of its tests.
const UNSAFE: [&str; 4] =
    ["linalg::plain::", "linalg::product::", "linalg::kernels::", "tensor::scalar::"];

/// The part asked for; none for all.
pub fn parse(arguments: &[String]) -> Result<Option<Part>> {
    let [name] = arguments else {
        return match arguments.is_empty() {
            true => Ok(None),
            false => Err(step::usage("`cargo xtask sanitize` takes one part at a time".into())),
        };
    };
    let found = PARTS.iter().find(|(known, _)| known == name);
    let names = PARTS.map(|(name, _)| name).join(", ");
    let unknown = || step::usage(format!("'{name}' is no part; they are {names}"));
    found.map(|(_, part)| Some(*part)).ok_or_else(unknown)
}

/// Runs a part, or all of them; what cannot be had here does not end the others.
pub fn run(arguments: &[String]) -> Result<()> {
    let parts = match parse(arguments)? {
        Some(part) => vec![part],
        None => PARTS.iter().map(|(_, part)| *part).collect(),
    };
    let several = parts.len() > 1;
    for part in parts {
        match part.run()? {
            None => {}
            Some(why) if several => println!("note: {why}"),
            Some(why) => {
                println!("{why}");
                std::process::exit(release::SKIPPED);
            }
        }
    }
    Ok(())
}

impl Part {
    /// Runs it; why it cannot be run here.
    fn run(self) -> Result<Option<String>> {
        match self {
            Part::Miri => miri(),
            Part::Kernels => address(&[("tnsearch-linalg", &["--lib"])]),
            Part::Readers => {
                address(&[("tnsearch-io", &["--lib"]), ("tnsearch-fuzz", &["--test", "*"])])
            }
            Part::Python => python_module(),
            Part::Valgrind => valgrind(),
        }
    }
}

fn miri() -> Result<Option<String>> {
    let there = step::command("cargo", &["+nightly", "miri", "--version"]).output();
    if !there.is_ok_and(|o| o.status.success()) {
        let how = "rustup component add miri rust-src --toolchain nightly";
        return Ok(Some(format!("there is no Miri here ({how})")));
    }
    for (package, tests) in [("tnsearch-linalg", &UNSAFE[..]), ("tnsearch-fuzz", &["alloc::"][..])]
    {
        let words = ["+nightly", "miri", "test", "-p", package, "--lib"];
        let mut test = step::command("cargo", &words);
        // A folder of its own: no other build waits for it, and what was built stays.
        test.args(["--target-dir", "target/miri", "--"]).args(tests);
        // Files and clocks are looked at. Kernels are plain loops there (`linalg::product`): those of the libraries ask the
        // processor for its caches by an instruction that Miri does not know.
        test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        step::run_step(&mut test)?;
    }
    Ok(None)
}

/// The compiler's flags; the switch for them works without nightly.
fn with_address<'c>(command: &'c mut Command, target: &str) -> &'c mut Command {
    command.args(["--target", target, "--target-dir", "target/sanitize"]);
    // Quick to build: what is looked for is the same.
    let packages =
        ["package.\"*\".opt-level=1", "package.tnsearch-linalg.opt-level=1", "opt-level=0"];
    for level in packages {
        command.arg("--config").arg(format!("profile.dev.{level}"));
    }
    // Leaks at the end of a process are none.
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("RUSTC_BOOTSTRAP", "1");
    command.env("ASAN_OPTIONS", "detect_leaks=0")
}

/// Why AddressSanitizer cannot be had, or the target to build for.
fn runtime() -> Result<std::result::Result<String, String>> {
    let said = step::output(&mut step::command("rustc", &["-vV"]))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc says nothing about its host")?.to_owned();
    let sysroot = step::output(&mut step::command("rustc", &["--print", "sysroot"]))?;
    let folder = Path::new(sysroot.trim()).join("lib/rustlib").join(&host).join("lib");
    let there = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names = there.map(|e| e.file_name().to_string_lossy().into_owned());
    Ok(match names.any(|n| n.ends_with("_rt.asan.a")) {
        true => Ok(host),
        false => Err(format!("the compiler ships no AddressSanitizer for {host}")),
    })
}

fn address(runs: &[(&str, &[&str])]) -> Result<Option<String>> {
    let target = match runtime()? {
        Ok(target) => target,
        Err(why) => return Ok(Some(why)),
    };
    for (package, more) in runs {
        let mut test = step::command("cargo", &["test", "-p", package]);
        with_address(&mut test, &target).args(*more);
        step::run_step(&mut test)?;
    }
    Ok(None)
}

/// The module is a library: the runtime has to be in the interpreter before it is loaded.
fn python_module() -> Result<Option<String>> {
    let target = match runtime()? {
        Ok(target) => target,
        Err(why) => return Ok(Some(why)),
    };
    let preload = step::output(&mut step::command("gcc", &["-print-file-name=libasan.so"]));
    let preload = match preload.map(|p| PathBuf::from(p.trim())) {
        Ok(path) if path.is_absolute() => path,
        _ => return Ok(Some("there is no libasan.so, which gcc brings".into())),
    };
    let mut build = step::command("cargo", &["build", "-p", "tnsearch-py"]);
    step::run_step(with_address(&mut build, &target))?;
    let module = step::root().join("target/sanitize").join(&target).join("debug/lib_core.so");
    // The package as it is installed: its Python files, and this module.
    let folder = step::root().join("target/sanitize/python");
    step::run(step::command("rm", &["-rf"]).arg(&folder))?;
    std::fs::create_dir_all(&folder)?;
    step::run(step::command("cp", &["-r", "python/tnsearch"]).arg(&folder))?;
    std::fs::copy(&module, folder.join("tnsearch/_core.abi3.so"))
        .with_context(|| format!("{}", module.display()))?;
    let python = python::given(package::environment)?;
    let mut tests = step::command(&python, &["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    // Every test of arrays that come and go; a network that lends its cores; hostile values.
    tests.args(package::UNSAFE_TESTS);
    tests.env("PYTHONPATH", &folder).env("LD_PRELOAD", preload);
    tests.env("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1");
    tests.env("TNSEARCH_EXAMPLES", "20").env("PYTHONMALLOC", "malloc");
    step::run_step(&mut tests)?;
    Ok(None)
}

fn valgrind() -> Result<Option<String>> {
    let there = step::command("valgrind", &["--version"]).output();
    if !there.is_ok_and(|o| o.status.success()) {
        return Ok(Some("there is no Valgrind here".into()));
    }
    let built = ["test", "-p", "tnsearch-linalg", "--lib", "--no-run"];
    let program = artifact::harness(&built, "tnsearch_linalg")?;
    let mut checked = step::command("valgrind", &["--error-exitcode=9", "--leak-check=no", "-q"]);
    checked.arg(program).args(["--test-threads", "1"]).args(UNSAFE).arg("tensor::raw::");
    step::run_step(checked.env("PROPTEST_CASES", "8"))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a folder, and of those in it.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => sources(&path, found),
                false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
                false => {}
            }
        }
    }

    #[test]
    fn every_unsafe_module_is_known_and_run() {
        let mut files = Vec::new();
        let crates = step::root().join("crates");
        for entry in std::fs::read_dir(&crates).unwrap().flatten() {
            sources(&entry.path().join("src"), &mut files);
        }
        let word = ["un", "safe"].concat();
        let begins = ["{", "fn", "impl", "extern"].map(|next| format!("{word} {next}"));
        let mut with: Vec<String> = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            if code.into_iter().any(|l| begins.iter().any(|b| l.contains(b.as_str()))) {
                with.push(file.strip_prefix(&crates).unwrap().display().to_string());
            }
        }
        with.sort();
        // A new one needs a run of its own: in `UNSAFE`, or with the Python module, or with the readers. The first declares
        // one function of the C library, with numbers alone.
        let known = [
            "tnsearch-cli/src/allocator.rs",
            "tnsearch-fuzz/src/alloc.rs",
            "tnsearch-linalg/src/linalg/kernels.rs",
            "tnsearch-linalg/src/linalg/plain.rs",
            "tnsearch-linalg/src/linalg/product.rs",
            "tnsearch-py/src/array.rs",
        ];
        assert_eq!(with, known);
    }

    #[test]
    fn parts_are_named() {
        let parsed =
            |text: &str| parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parsed("").unwrap(), None);
        assert_eq!(parsed("valgrind").unwrap(), Some(Part::Valgrind));
        assert!(parsed("thread").is_err() && parsed("miri python").is_err());
    }
}
