//! What the tests of the command share: files made here, and the command itself.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

mod held;

pub use held::Held;

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// After so long a command hangs. This is the only limit of time in these tests, and only there to turn a hang into a
/// failure: no test expects anything to happen within it on a machine that is slow or busy.
pub const HANG: Duration = Duration::from_secs(600);

/// A directory of one test, with the command run inside it.
pub struct Place(TempDir);

/// How a call of the command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn dir(&self) -> &Path {
        self.0.path()
    }

    /// Runs the command with arguments separated by spaces. A search that names no template is one of rings; what it does
    /// without that is tested by [`Place::run_as_it_is`].
    pub fn run(&self, args: &str) -> Ended {
        match args.starts_with("search ") && !args.contains("--template") {
            true => self.run_as_it_is(&format!("{args} --template ring")),
            false => self.run_as_it_is(args),
        }
    }

    /// Runs the command with these arguments and no others.
    pub fn run_as_it_is(&self, args: &str) -> Ended {
        let output = Command::cargo_bin("tnsearch")
            .unwrap()
            .current_dir(self.0.path())
            .args(args.split_whitespace())
            .timeout(HANG)
            .output()
            .unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the command and reads the JSON it prints.
    pub fn json(&self, args: &str) -> (i32, Value) {
        let ended = self.run(&format!("{args} --json -"));
        let value = serde_json::from_str(&ended.stdout);
        (ended.code, value.unwrap_or_else(|e| panic!("{e}: {ended:?}")))
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Checks that a call is refused with one line on standard error that contains `words`.
    pub fn refuses(&self, args: &str, words: &str) {
        let before = self.names();
        let ended = self.run(args);
        assert_eq!(ended.code, 2, "{args}: {ended:?}");
        assert_eq!(ended.stdout, "", "{args}");
        assert_eq!(ended.stderr.lines().count(), 1, "{args}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: "), "{args}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{args}: {} lacks '{words}'", ended.stderr);
        assert_eq!(self.names(), before, "{args}: it left files behind");
    }

    /// A ring of the given order, dimension 3 and ranks 2, with its modes shuffled.
    pub fn ring(&self, name: &str, order: usize, seed: u64) {
        use std::sync::Arc;
        let ring = Arc::new(tnsearch::graph::Template::ring(order).unwrap());
        let made = tnsearch_app::Synthetic::new(ring, vec![3; order], (2, 2)).generate(seed);
        let tensor = made.unwrap().tensor;
        self.write(name, npy("<f8", tensor.dims(), &doubles(tensor.data())));
    }
}

/// A .npy file from its type, shape and bytes.
pub fn npy(descr: &str, dims: &[usize], data: &[u8]) -> Vec<u8> {
    let descr = if descr.starts_with('[') { descr.to_owned() } else { format!("'{descr}'") };
    let shape: String = dims.iter().map(|d| format!("{d}, ")).collect();
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The entries of a .npy file of doubles as this program writes it.
pub fn entries(bytes: &[u8]) -> Vec<f64> {
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    bytes[10 + header..].as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

/// A summary without what depends on time and machine.
pub fn timeless(mut summary: Value) -> Value {
    let fields = summary.as_object_mut().unwrap();
    for name in ["seconds", "stages", "budgets", "output", "speculative"] {
        fields.remove(name);
    }
    fields["fit"].as_object_mut().unwrap().remove("max_bytes");
    for format in fields["formats"].as_array_mut().unwrap() {
        format.as_object_mut().unwrap().remove("seconds");
    }
    for point in fields["history"].as_array_mut().unwrap() {
        point.as_object_mut().unwrap().remove("seconds");
    }
    summary
}
