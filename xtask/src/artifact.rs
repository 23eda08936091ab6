//! Where cargo put a program it built: asked of cargo, so that any target folder works.

use crate::json::Value;
use crate::step;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Runs cargo and returns the path of the program of that kind (`bin`, `example`) and name.
pub fn executable(cargo_arguments: &[&str], kind: &str, name: &str) -> Result<PathBuf> {
    let mut command = step::cargo(cargo_arguments);
    command.arg("--message-format=json-render-diagnostics");
    find(&step::output(&mut command)?, kind, name)?
        .with_context(|| format!("cargo {} built no {kind} '{name}'", cargo_arguments.join(" ")))
}

fn find(messages: &str, kind: &str, name: &str) -> Result<Option<PathBuf>> {
    for line in messages.lines().filter(|l| l.starts_with('{')) {
        let message = Value::parse(line)?;
        let (Some(target), Some(path)) = (message.find("target"), message.string("executable"))
        else {
            continue;
        };
        let harness = message.find("profile").and_then(|p| p.find("test"));
        let kinds = target.get("kind")?.elements()?;
        if target.string("name") == Some(name)
            && kinds.contains(&Value::String(kind.into()))
            && harness == Some(&Value::Bool(false))
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
    fn the_real_cargo_is_understood() {
        let path = executable(&["build", "-p", "xtask"], "bin", "xtask").unwrap();
        assert!(path.is_file(), "{}", path.display());
        let error = executable(&["build", "-p", "xtask"], "example", "none").unwrap_err();
        assert_eq!(error.to_string(), "cargo build -p xtask built no example 'none'");
    }

    #[test]
    fn finds_the_program_and_not_its_test_harness() {
        let line = |test: bool, path: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["bin"],"name":"tnsearch"}},"profile":{{"test":{test}}},"executable":{path}}}"#
            )
        };
        let text = [
            r#"{"reason":"build-script-executed"}"#.to_owned(),
            line(false, "null"),
            line(true, "\"/t/deps/tnsearch-1\""),
            line(false, "\"/t/debug/tnsearch\""),
        ]
        .join("\n");
        let found = find(&text, "bin", "tnsearch").unwrap();
        assert_eq!(found, Some("/t/debug/tnsearch".into()));
        assert_eq!(find(&text, "example", "tnsearch").unwrap(), None);
    }
}
