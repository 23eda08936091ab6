//! Where cargo put a program it built: asked of cargo, so that any target folder works.

use crate::step;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::PathBuf;

/// Runs cargo and returns the path of the program of that name.
pub fn executable(cargo_arguments: &[&str], name: &str) -> Result<PathBuf> {
    let mut command = step::cargo(cargo_arguments);
    command.arg("--message-format=json-render-diagnostics");
    find(&step::output(&mut command)?, name)?
        .with_context(|| format!("cargo {} built no program '{name}'", cargo_arguments.join(" ")))
}

/// Runs cargo and returns the path of the unit tests of the library of that name.
pub fn harness(cargo_arguments: &[&str], name: &str) -> Result<PathBuf> {
    let mut command = step::cargo(cargo_arguments);
    command.arg("--message-format=json-render-diagnostics");
    built(&step::output(&mut command)?, name, "lib", true)?
        .with_context(|| format!("cargo {} built no tests of '{name}'", cargo_arguments.join(" ")))
}

/// The command: the program that `cargo test` builds (the same features, so nothing is built again; in
/// the dev profile the kernels are optimised).
pub fn tnsearch() -> Result<PathBuf> {
    executable(&["test", "--workspace", "--no-run"], "tnsearch")
}

/// The command that TNSEARCH names, or one built for it.
pub fn given() -> Result<PathBuf> {
    match std::env::var_os("TNSEARCH") {
        Some(program) => Ok(std::path::absolute(PathBuf::from(program))?),
        None => step::step("the tnsearch program", tnsearch),
    }
}

fn find(messages: &str, name: &str) -> Result<Option<PathBuf>> {
    built(messages, name, "bin", false)
}

fn built(messages: &str, name: &str, kind: &str, test: bool) -> Result<Option<PathBuf>> {
    for line in messages.lines().filter(|l| l.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo printed bad JSON")?;
        let (target, harness) = (&message["target"], &message["profile"]["test"]);
        if target["name"] == name
            && target["kind"] == serde_json::json!([kind])
            && *harness == test
            && let Some(path) = message["executable"].as_str()
        {
            return Ok(Some(path.into()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_program_and_not_its_test_harness() {
        let line = |kind: &str, test: bool, path: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"tnsearch"}},"profile":{{"test":{test}}},"executable":{path}}}"#
            )
        };
        let text = [
            r#"{"reason":"build-script-executed"}"#.to_owned(),
            line("lib", false, "null"),
            line("example", false, "\"/t/examples/tnsearch\""),
            line("bin", true, "\"/t/deps/tnsearch-1\""),
            line("bin", false, "\"/t/debug/tnsearch\""),
        ]
        .join("\n");
        assert_eq!(find(&text, "tnsearch").unwrap(), Some("/t/debug/tnsearch".into()));
        assert_eq!(find(&text, "other").unwrap(), None);
        let tests = line("lib", true, "\"/t/deps/tnsearch-2\"");
        assert_eq!(
            built(&tests, "tnsearch", "lib", true).unwrap(),
            Some("/t/deps/tnsearch-2".into())
        );
        assert_eq!(built(&text, "tnsearch", "lib", true).unwrap(), None);
    }
}
