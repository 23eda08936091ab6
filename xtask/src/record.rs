//! `cargo xtask record`: the answers of a released program, which later versions have to give bit for bit.

use crate::step;
use anyhow::{Context, Result};
use std::path::Path;

/// Runs the cases in `crates/tnsearch-cli/tests/recorded` with a program and writes its answers there.
pub fn run(arguments: &[String]) -> Result<()> {
    let program = program(arguments)?;
    let absolute = Path::new(program)
        .canonicalize()
        .with_context(|| format!("there is no program '{program}'"))?;
    let test = ["test", "-p", "tnsearch-cli", "--test", "recorded", "--", "--ignored", "record"];
    step::run_step(step::cargo(&test).env("TNSEARCH_RECORD", absolute))
}

fn program(arguments: &[String]) -> Result<&str> {
    match arguments {
        [option, path] if option == "--binary" => Ok(path),
        _ => Err(step::usage(
            "usage: cargo xtask record --binary PATH, the program whose answers are to be kept"
                .into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_to_be_named() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(program(&words("--binary /a/b")).unwrap(), "/a/b");
        for wrong in ["--binary", "/a/b", "--binary a b"] {
            assert!(program(&words(wrong)).is_err(), "{wrong}");
        }
        let error = run(&words("--binary /no/such/program")).unwrap_err();
        assert!(format!("{error:#}").contains("there is no program '/no/such/program'"));
    }
}
