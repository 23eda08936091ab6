//! Files of JSON lines that only grow: the first line says what the file belongs to, every other is a record.
//!
//! A line is written at once, so a crash leaves it whole or torn at the very end of the file. A torn end is cut off
//! when the file is opened again; a line that cannot be read anywhere else is damage, and named.

mod problem;

pub use problem::{LinesError, LinesProblem};

use crate::output::{OutputError, sync_folder};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What a file of lines is.
#[derive(Debug)]
pub struct Kind {
    /// Its mark: `"format"` in the first line.
    pub format: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Changes the fields of a first line that mean the same as other ones now.
    pub settle: fn(then: &mut Map<String, Value>, now: &Value),
}

/// What takes the lines after the first. A `Vec` takes records of one kind.
pub trait Lines {
    /// A line that was read.
    type Line;

    /// Reads a line. The last line of a file was torn where this fails.
    fn read(&self, line: &[u8]) -> Result<Self::Line, String>;

    /// Takes a line. One that does not go with the lines before is damaged.
    fn take(&mut self, line: Self::Line) -> Result<(), String>;
}

impl<T: DeserializeOwned> Lines for Vec<T> {
    type Line = T;

    fn read(&self, line: &[u8]) -> Result<T, String> {
        serde_json::from_slice(line).map_err(|e| e.to_string())
    }

    fn take(&mut self, line: T) -> Result<(), String> {
        self.push(line);
        Ok(())
    }
}

/// The first line, and where the second begins: none where the first has no end.
pub(crate) fn first_line(bytes: &[u8]) -> (&[u8], Option<usize>) {
    match bytes.iter().position(|&b| b == b'\n') {
        Some(at) => (&bytes[..at], Some(at + 1)),
        None => (bytes, None),
    }
}

/// Hands the lines from `second` on, where the second line begins, to `lines`; how many bytes are good.
pub(crate) fn scan(
    bytes: &[u8],
    second: usize,
    lines: &mut impl Lines,
) -> Result<usize, LinesProblem> {
    let mut good = second;
    for (k, line) in bytes[second..].split_inclusive(|&b| b == b'\n').enumerate() {
        let damaged = |reason| LinesProblem::Damaged { line: k + 2, reason };
        // Also a line that reads well may have lost something, if it lost its end.
        if line.last() != Some(&b'\n') {
            break;
        }
        match lines.read(line.trim_ascii()) {
            Ok(read) => lines.take(read).map_err(damaged)?,
            Err(_) if good + line.len() == bytes.len() => break,
            Err(reason) => return Err(damaged(reason)),
        }
        good += line.len();
    }
    Ok(good)
}

/// An open file of lines, locked against other processes for as long as it is open.
#[derive(Debug)]
pub struct LinesFile {
    file: File,
    path: PathBuf,
    /// Something was written that may not be on the disk.
    unsynced: bool,
}

impl LinesFile {
    /// Opens a file that `header` describes, and reads what it has.
    ///
    /// A file with something in it is taken only to `resume`, and only if its first line says the same. A torn end is
    /// cut off. `begin` makes what takes the lines, from the first line as it stands in the file.
    pub fn open<L: Lines>(
        path: &Path,
        kind: &Kind,
        header: &Value,
        resume: bool,
        begin: impl FnOnce(&Value) -> Result<L, LinesProblem>,
    ) -> Result<(Self, L), LinesError> {
        Self::try_open(path, kind, header, resume, begin).map_err(|problem| problem.of(path))
    }

    fn try_open<L: Lines>(
        path: &Path,
        kind: &Kind,
        header: &Value,
        resume: bool,
        begin: impl FnOnce(&Value) -> Result<L, LinesProblem>,
    ) -> Result<(Self, L), LinesProblem> {
        if path.is_dir() {
            return Err(LinesProblem::Directory);
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => LinesProblem::InUse,
            TryLockError::Error(e) => e.into(),
        })?;
        // Only a file can be resumed; a device is written to.
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.read_to_end(&mut bytes)?;
        }
        if !bytes.is_empty() && !resume {
            return Err(LinesProblem::NotEmpty);
        }
        let (lines, good) = kind.resume(&bytes, header, begin)?;
        if good < bytes.len() {
            file.set_len(good as u64)?;
            file.seek(SeekFrom::Start(good as u64))?;
        }
        let mut file = LinesFile { file, path: path.to_owned(), unsynced: good < bytes.len() };
        if good == 0 {
            file.write(&header.to_string())?;
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
            sync_folder(parent.unwrap_or(Path::new(".")));
        }
        Ok((file, lines))
    }

    /// Appends one record. It survives a crash of the program at once, and one of the machine after [`Self::sync`].
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), OutputError> {
        let line = serde_json::to_string(record);
        self.append_line(&line.map_err(|e| OutputError::new(&self.path, &e.into()))?)
    }

    /// Appends a record that is a line already.
    pub(crate) fn append_line(&mut self, line: &str) -> Result<(), OutputError> {
        self.write(line).map_err(|e| OutputError::new(&self.path, &e))
    }

    /// Brings all that was appended to the disk.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        let sync = |file: &File| match file.metadata()?.is_file() {
            true => file.sync_data(),
            false => Ok(()),
        };
        if self.unsynced {
            sync(&self.file).map_err(|e| OutputError::new(&self.path, &e))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Appends a line in one write.
    fn write(&mut self, line: &str) -> io::Result<()> {
        self.unsynced = true;
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

/// Whether somebody is writing a file of lines; none where that cannot be told.
pub fn being_written(path: &Path) -> Option<bool> {
    // Who writes it holds a lock; it is tried for a moment.
    match File::open(path).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

impl Kind {
    /// What `bytes` hold, if they belong to `now`, and how many of them are good.
    fn resume<L: Lines>(
        &self,
        bytes: &[u8],
        now: &Value,
        begin: impl FnOnce(&Value) -> Result<L, LinesProblem>,
    ) -> Result<(L, usize), LinesProblem> {
        let (first, second) = first_line(bytes);
        let Some(second) = second else {
            // Only what began as our own first line may be cut off: this could be any file.
            if !now.to_string().as_bytes().starts_with(first) {
                self.compare(first, now)?;
            }
            return Ok((begin(now)?, 0));
        };
        let mut lines = begin(&self.compare(first, now)?)?;
        let good = scan(bytes, second, &mut lines)?;
        Ok((lines, good))
    }

    /// Reads a first line and compares it with what it would be now.
    fn compare(&self, line: &[u8], now: &Value) -> Result<Value, LinesProblem> {
        let foreign = || LinesProblem::Foreign(self.name);
        let Ok(Value::Object(then)) = serde_json::from_slice(line) else { return Err(foreign()) };
        if then.get("format").and_then(Value::as_str) != Some(self.format) {
            return Err(foreign());
        }
        let mut settled = then.clone();
        (self.settle)(&mut settled, now);
        match difference("", &Value::Object(settled), now) {
            None => Ok(Value::Object(then)),
            Some((name, ..)) if name == "data.sha256" => Err(LinesProblem::OtherEntries),
            Some((name, then, now)) => Err(LinesProblem::Differs { name, then, now }),
        }
    }
}

/// The first field in which two first lines differ, with both values.
fn difference(name: &str, then: &Value, now: &Value) -> Option<(String, String, String)> {
    // An objective is one thing: its name and its number.
    if let (Value::Object(a), Value::Object(b), true) = (then, now, name != "objective") {
        let keys = b.keys().chain(a.keys().filter(|k| !b.contains_key(*k)));
        return keys.into_iter().find_map(|k| {
            let inner = if name.is_empty() { k.clone() } else { format!("{name}.{k}") };
            let get = |m: &Map<String, Value>| m.get(k).cloned().unwrap_or(Value::Null);
            difference(&inner, &get(a), &get(b))
        });
    }
    (then != now).then(|| (name.to_owned(), then.to_string(), now.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tempfile::TempDir;

    static NOTES: Kind = Kind { format: "notes", name: "notebook", settle: |_, _| {} };

    fn header(seed: u64) -> Value {
        json!({"format": "notes", "seed": seed, "fit": {"restarts": 4}, "objective": {"lambda": 200.0}})
    }

    fn open(path: &Path, header: &Value, resume: bool) -> Result<(LinesFile, Vec<u64>), String> {
        let opened = LinesFile::open(path, &NOTES, header, resume, |_| Ok(Vec::new()));
        opened.map_err(|e| e.problem.to_string())
    }

    fn refusal(path: &Path, header: &Value, resume: bool) -> String {
        open(path, header, resume).unwrap_err()
    }

    /// A file with the records 0, 1, ...
    fn written(records: u64) -> (TempDir, PathBuf, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.jsonl");
        let (mut file, _) = open(&path, &header(1), false).unwrap();
        (0..records).for_each(|k| file.append(&(1000 + k)).unwrap());
        file.sync().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (dir, path, bytes)
    }

    #[test]
    fn any_cut_leaves_the_whole_lines() {
        let (_dir, path, bytes) = written(3);
        let ends: Vec<usize> = (0..bytes.len()).filter(|&k| bytes[k] == b'\n').collect();
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let (mut file, records) = open(&path, &header(1), true).unwrap();
            let whole = ends.iter().filter(|&&end| end < cut).count().saturating_sub(1) as u64;
            assert_eq!(records, (1000..1000 + whole).collect::<Vec<_>>(), "cut at {cut}");
            (whole..3).for_each(|k| file.append(&(1000 + k)).unwrap());
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "cut at {cut}");
        }
    }

    #[test]
    fn damage_is_told_apart_from_a_torn_end() {
        let (_dir, path, bytes) = written(3);
        let text = String::from_utf8(bytes).unwrap();
        std::fs::write(&path, text.replace("1001", "1x01")).unwrap();
        assert!(refusal(&path, &header(1), true).starts_with("line 3 is damaged"));
        // Zeros at the end, as some file systems leave after a power cut.
        for end in ["\0\0\0\0", "\0\0\n"] {
            std::fs::write(&path, format!("{text}{end}")).unwrap();
            assert_eq!(open(&path, &header(1), true).unwrap().1.len(), 3);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        for foreign in ["hello\nworld\n", "hello", "{\"a\":1}\n", "[1]\n", "\u{93}NUMPY"] {
            std::fs::write(&path, foreign).unwrap();
            assert_eq!(refusal(&path, &header(1), true), "not a notebook of tnsearch");
            assert_eq!(std::fs::read(&path).unwrap(), foreign.as_bytes(), "left as it was");
        }
    }

    #[test]
    fn another_header_is_refused_by_name() {
        let (_dir, path, _) = written(1);
        assert!(refusal(&path, &header(1), false).contains("use --resume"));
        assert_eq!(refusal(&path, &header(2), true), "it was made with seed 1, now seed 2");
        let mut other = header(1);
        other["fit"]["restarts"] = json!(2);
        assert_eq!(
            refusal(&path, &other, true),
            "it was made with fit.restarts 4, now fit.restarts 2"
        );
        let mut other = header(1);
        other["objective"] = json!({"max_rse": 0.1});
        assert_eq!(
            refusal(&path, &other, true),
            "it was made with objective {\"lambda\":200.0}, now objective {\"max_rse\":0.1}"
        );
    }

    #[test]
    fn two_at_a_time_are_refused() {
        let (_dir, path, _) = written(1);
        assert_eq!(being_written(&path), Some(false));
        let first = open(&path, &header(1), true).unwrap();
        assert_eq!(being_written(&path), Some(true));
        assert_eq!(refusal(&path, &header(1), true), "another process is using it");
        drop(first);
        assert!(open(&path, &header(1), true).is_ok());
        assert_eq!(being_written(&path.join("none")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_a_device_has_no_disk() {
        let opened = |path: &str| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            LinesFile { file, path: path.into(), unsynced: false }
        };
        let error = opened("/dev/full").append(&1).unwrap_err().to_string();
        assert_eq!(error, "cannot write /dev/full: no space left on device");
        let mut null = opened("/dev/null");
        null.append(&1).unwrap();
        null.sync().unwrap();
    }
}
