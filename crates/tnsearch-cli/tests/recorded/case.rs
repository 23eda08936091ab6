//! The cases: how a tensor is made, what is asked about it, and what came out.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The evaluations of a journal that are kept in full, for a first look at a difference.
const KEPT: usize = 20;

/// One line of `cases.json`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, which begins with its group.
    pub name: String,
    /// The command that makes the tensor.
    make: String,
    /// The command whose answer is recorded; its outputs are named by the harness.
    pub run: String,
    /// Files that have to be there, and what they hold.
    #[serde(default)]
    files: Map<String, Value>,
    /// The part of the journal's evaluations that stays when the search is cut and resumed.
    #[serde(default)]
    cut: Option<f64>,
}

/// The folder of the recordings.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// All cases.
pub fn all() -> Vec<Case> {
    let text = std::fs::read(folder().join("cases.json")).unwrap();
    serde_json::from_slice(&text).expect("cases.json")
}

impl Case {
    /// Where the answer to this case is kept.
    pub fn path(&self) -> PathBuf {
        folder().join("answers").join(format!("{}.json", self.name))
    }

    /// What a program answers.
    pub fn answer(&self, program: &Path) -> Value {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in &self.files {
            std::fs::write(place.path().join(name), text.as_str().unwrap()).unwrap();
        }
        let run = |args: &str| self.run(program, place.path(), args);
        assert_eq!(run(&format!("{} --quiet", self.make)), 0, "{}: {}", self.name, self.make);
        let command = self.run.split(' ').next().unwrap();
        let outputs = match command {
            "search" => " -o found --journal run.jsonl",
            "fit" | "decompose" => " -o found",
            _ => "",
        };
        let asked = format!("{}{outputs} --json out.json --quiet", self.run);
        let mut code = run(&asked);
        let journal = place.path().join("run.jsonl");
        if let Some(part) = self.cut {
            cut(&journal, part);
            code = run(&format!("{asked} --resume"));
        }
        let read = |name: &str| std::fs::read(place.path().join(name)).unwrap();
        let summary = read("out.json");
        let summary: Value = serde_json::from_slice(&summary).expect(&self.name);
        let mut answer = json!({"exit_code": code, "tensor": hex(read("x.npy"))});
        answer["summary"] = timeless(summary);
        if place.path().join("found").exists() {
            answer["cores"] = hex(numbers(&read("found"))).into();
        }
        if journal.exists() {
            answer["evaluations"] = evaluations(&read("run.jsonl"));
        }
        answer
    }

    fn run(&self, program: &Path, place: &Path, args: &str) -> i32 {
        let mut command = std::process::Command::new(program);
        let output = command.args(args.split_whitespace()).current_dir(place).output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(code, 0 | 1),
            "{}: `tnsearch {args}` ended with {code}: {said}",
            self.name
        );
        code
    }
}

/// Leaves the beginning of a journal: a part of its evaluations, and half a line.
fn cut(path: &Path, part: f64) {
    let text = std::fs::read_to_string(path).unwrap();
    let count = text.lines().filter(|l| l.starts_with("{\"run\"")).count();
    let keep = (count as f64 * part) as usize;
    assert!(keep > 0 && keep < count, "a cut at {keep} of {count} evaluations is none");
    let (mut left, mut kept) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with("{\"run\"") {
            kept += 1;
        }
        if kept > keep {
            left += &line[..line.len() / 2];
            break;
        }
        left += line;
    }
    std::fs::write(path, left).unwrap();
}

/// A summary without what depends on time, memory, files and the version.
fn timeless(mut summary: Value) -> Value {
    let fields = summary.as_object_mut().unwrap();
    for name in ["seconds", "budgets", "output", "version"] {
        fields.remove(name);
    }
    for name in ["fit", "settings"] {
        if let Some(Value::Object(settings)) = fields.get_mut(name) {
            settings.remove("max_bytes");
        }
    }
    if let Some(Value::Array(history)) = fields.get_mut("history") {
        history.iter_mut().for_each(|point| {
            point.as_object_mut().unwrap().remove("seconds");
        });
    }
    summary
}

/// The entries of a network's cores, in the order of their vertices: the header says where each lies.
fn numbers(file: &[u8]) -> Vec<u8> {
    let size = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Map<String, Value> = serde_json::from_slice(&file[8..size]).unwrap();
    let cores = header.iter().filter_map(|(name, core)| {
        let vertex: usize = name.strip_prefix("core.")?.parse().ok()?;
        let at = |k: usize| size + core["data_offsets"][k].as_u64().unwrap() as usize;
        Some((vertex, &file[at(0)..at(1)]))
    });
    let mut cores: Vec<(usize, &[u8])> = cores.collect();
    cores.sort();
    assert!(!cores.is_empty());
    cores.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect()
}

/// The evaluations of a journal, whatever order they ended in. Numbers are written with as many digits as tell
/// their bits.
fn evaluations(journal: &[u8]) -> Value {
    let mut lines: Vec<(u64, String, String, String)> = Vec::new();
    for line in journal.split(|&b| b == b'\n').filter(|l| l.starts_with(b"{\"run\"")) {
        let record: Value = serde_json::from_slice(line).unwrap();
        let number = |name: &str| record[name].as_f64().unwrap();
        let (run, key) = (record["run"].as_u64().unwrap(), record["key"].as_str().unwrap());
        let effort = record["effort"].as_str().unwrap_or("full");
        let line = format!(
            "{run} {key} {effort} rse {:e} loss {:e} sweeps {} restarts {} refused {}",
            number("rse"),
            number("loss"),
            record["sweeps"],
            record["restarts"],
            // Journals from version 3 on have no refused fits.
            record.get("refused").unwrap_or(&Value::Bool(false))
        );
        lines.push((run, key.into(), effort.into(), line));
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(.., line)| line).collect();
    let first = &lines[..lines.len().min(KEPT)];
    json!({"count": lines.len(), "sha256": hex(lines.join("\n")), "first": first})
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_do_not_depend_on_their_order() {
        let line = |run: u64, key: &str, rse: f64| {
            let record = json!({"run": run, "key": key, "rse": rse, "loss": 0.5, "sweeps": 3,
                "restarts": 1, "refused": false});
            // The command writes the run first.
            let rest = record.to_string()[1..].replace(&format!(",\"run\":{run}"), "");
            format!("{{\"run\":{run},{rest}\n")
        };
        let (a, b) = (line(0, "b", 0.1), line(1, "a", 0.2));
        let of = |text: String| evaluations(text.as_bytes());
        assert_eq!(of(format!("{{}}\n{a}{b}")), of(format!("{b}{{\"end\":1}}\n{a}")));
        assert_eq!(of(a.clone())["count"], 1);
        assert_ne!(of(a), of(line(0, "b", 0.1 + f64::EPSILON)));
    }

    #[test]
    fn cores_are_read_in_the_order_of_their_vertices() {
        let header = r#"{"core.10":{"data_offsets":[0,1]},"core.2":{"data_offsets":[1,3]},"__metadata__":{"a":"b"}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(b"xyz");
        assert_eq!(numbers(&file), b"yzx");
    }
}
