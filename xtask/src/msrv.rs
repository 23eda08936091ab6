//! `cargo xtask msrv`: the `rust-version` of the manifest is one that the code and its dependencies keep to.

use crate::step;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::process::Command;

/// Compares what the dependencies declare, and checks the workspace with that toolchain where rustup has it.
pub fn run(arguments: &[String]) -> Result<()> {
    if let Some(extra) = arguments.first() {
        return Err(step::usage(format!("`cargo xtask msrv` takes no arguments, not '{extra}'")));
    }
    let version = step::step("what the dependencies declare", declared)?;
    match toolchain(&version) {
        Some(name) => {
            // Not the target folder of the other toolchain: neither would find its own builds again.
            let check =
                ["run", &name, "cargo", "check", "--workspace", "--all-targets", "--locked"];
            let folder = step::root().join("target/msrv");
            step::run_step(step::command("rustup", &check).env("CARGO_TARGET_DIR", folder))
        }
        None => {
            println!(
                "note: rustup has no toolchain {version}, so the code was NOT compiled with it \
                 (`rustup toolchain install {version} --profile minimal`); only what the dependencies declare \
                 was compared"
            );
            Ok(())
        }
    }
}

/// Checks that no package of the lock file declares a newer version; the version of the workspace.
fn declared() -> Result<String> {
    let mut metadata = step::cargo(&["metadata", "--format-version", "1", "--locked"]);
    let metadata = serde_json::from_str(&step::output(&mut metadata)?)?;
    let version = workspace_version(&metadata)?;
    let newer = newer(&metadata, &version)?;
    if !newer.is_empty() {
        bail!("rust-version is {version}, but some packages need more: {}", newer.join(", "));
    }
    Ok(version)
}

fn packages(metadata: &Value) -> Result<&Vec<Value>> {
    metadata["packages"].as_array().context("cargo metadata has no packages")
}

/// What the main crate declares.
fn workspace_version(metadata: &Value) -> Result<String> {
    let ours = packages(metadata)?.iter().find(|p| p["name"] == "tnsearch");
    let version = ours.and_then(|p| p["rust_version"].as_str());
    Ok(version.context("the package tnsearch declares no rust-version")?.to_owned())
}

/// The packages that declare a newer version, as text.
fn newer(metadata: &Value, version: &str) -> Result<Vec<String>> {
    let limit = numbers(version)?;
    let mut found = Vec::new();
    for package in packages(metadata)? {
        if let Some(needed) = package["rust_version"].as_str()
            && numbers(needed)? > limit
        {
            let word = |key: &str| package[key].as_str().unwrap_or("?").to_owned();
            found.push(format!("{} {} needs {needed}", word("name"), word("version")));
        }
    }
    Ok(found)
}

/// Major, minor and patch.
fn numbers(version: &str) -> Result<[u32; 3]> {
    let mut numbers = [0; 3];
    for (place, word) in numbers.iter_mut().zip(version.split('.')) {
        *place = word.parse().with_context(|| format!("bad version '{version}'"))?;
    }
    Ok(numbers)
}

/// The toolchain of that version that rustup has, if any.
fn toolchain(version: &str) -> Option<String> {
    let list = Command::new("rustup").args(["toolchain", "list"]).output().ok()?;
    find(&String::from_utf8_lossy(&list.stdout), version)
}

fn find(list: &str, version: &str) -> Option<String> {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let matches = |name: &&str| {
        let rest = name.strip_prefix(version);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    names.into_iter().find(matches).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_package_that_needs_more_is_named() {
        let metadata = json!({"packages": [
            {"name": "tnsearch", "version": "0.2.0", "rust_version": "1.90"},
            {"name": "old", "version": "1.0.0", "rust_version": null},
            {"name": "same", "version": "1.0.0", "rust_version": "1.90.0"},
            {"name": "new", "version": "2.1.0", "rust_version": "1.100"},
        ]});
        let version = workspace_version(&metadata).unwrap();
        assert_eq!(version, "1.90");
        assert_eq!(newer(&metadata, &version).unwrap(), ["new 2.1.0 needs 1.100"]);
        assert!(numbers("1.x").is_err());
    }

    #[test]
    fn the_toolchain_is_that_version_and_no_other() {
        let list = "stable-x86_64 (active, default)\n1.9-x86_64\n1.90.0-x86_64\n";
        assert_eq!(find(list, "1.90"), Some("1.90.0-x86_64".into()));
        assert_eq!(find(list, "1.9"), Some("1.9-x86_64".into()));
        assert_eq!(find(list, "1.95"), None);
    }
}
