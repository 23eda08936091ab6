//! `cargo xtask sanitize`: the parts with `unsafe` under Miri, where nightly has it, and under AddressSanitizer.

use crate::step;
use anyhow::{Context, Result};

/// Tests of code with `unsafe` that Miri can run: nothing in them that calls the system or takes minutes.
const MIRI: [&str; 2] = ["linalg::", "tensor::"];

/// Runs both, or what there is.
pub fn run(arguments: &[String]) -> Result<()> {
    let only = arguments.first().map(String::as_str);
    if only != Some("address") {
        let miri = rustup(&["component", "list", "--toolchain", "nightly", "--installed"])?;
        match miri.lines().any(|line| line.starts_with("miri")) {
            true => {
                for filter in MIRI {
                    let mut test = step::command(
                        "cargo",
                        &["+nightly", "miri", "test", "-p", "tnsearch", "--lib"],
                    );
                    test.args(["--", filter]).env("MIRIFLAGS", "-Zmiri-disable-isolation");
                    step::run_step(&mut test)?;
                }
            }
            false => println!(
                "note: nightly has no Miri here (rustup component add miri --toolchain nightly)"
            ),
        }
    }
    if only != Some("miri") {
        let target = host()?;
        // The kernels, and the readers with all that the fuzzing makes.
        let runs: [(&str, &[&str]); 3] = [
            ("tnsearch", &["--lib", "--", "linalg::", "tensor::"]),
            ("tnsearch-io", &[]),
            ("tnsearch-fuzz", &[]),
        ];
        for (package, more) in runs {
            let mut test =
                step::command("cargo", &["+nightly", "test", "-p", package, "--target", &target]);
            test.args(["--target-dir", "target/sanitize"]).args(more);
            // Kernels load past what they use, within what they own; leaks at the end of a process are none.
            test.env("RUSTFLAGS", "-Zsanitizer=address").env("ASAN_OPTIONS", "detect_leaks=0");
            step::run_step(&mut test)?;
        }
    }
    Ok(())
}

fn rustup(arguments: &[&str]) -> Result<String> {
    step::output(&mut step::command("rustup", arguments))
        .context("nightly is needed for sanitizers")
}

/// The target that nightly builds for here.
fn host() -> Result<String> {
    let text = step::output(&mut step::command("rustc", &["+nightly", "-vV"]))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc says nothing about its host")?.to_owned())
}
