//! Files of JSON lines that only grow: the first line says what the file belongs to, every other is a record.
//!
//! A line is written at once, so a crash leaves it whole or torn at the very end of the file. A torn end is cut off
//! when the file is opened again. Every line has a checksum (`seal.rs`); one that fails it, cannot be read or contradicts
//! itself is damage: it is not used, and named. Files that were begun before there were checksums have none, and get
//! none.

mod problem;
mod seal;

pub use problem::{Damage, LinesError, LinesProblem, warnings};
pub(crate) use seal::{Opened, open, seal};

use crate::faults::{self, Steps};
use crate::output::{OutputError, Pipe, is_pipe, open_now, sync_folder_of};
use crate::{MemoryLimit, Problem};
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
    /// Whether a line counts only with all before it: what follows a damaged one is then cut off with it.
    pub ordered: bool,
    /// Changes the fields of a first line that mean the same as other ones now.
    pub settle: fn(then: &mut Map<String, Value>, now: &Value),
}

/// What takes the lines after the first. A `Vec` takes records of one kind.
pub trait Lines {
    /// Takes a line, without its checksum; what is wrong with it where that is damaged.
    fn take(&mut self, line: &[u8]) -> Result<(), String>;
}

/// What a line says.
pub trait Record: DeserializeOwned {
    /// Refuses one that contradicts itself.
    fn check(&self) -> Result<(), String>;
}

impl<T: Record> Lines for Vec<T> {
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let record: T = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        record.check()?;
        self.push(record);
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

/// A first line without its checksum, and whether it has one.
pub(crate) fn open_first(line: &[u8]) -> Result<(Vec<u8>, bool), LinesProblem> {
    match open(line) {
        Opened::Plain => Ok((line.to_vec(), false)),
        Opened::Whole(line) => Ok((line, true)),
        Opened::Broken => Err(LinesProblem::Header(WRONG.to_owned())),
    }
}

const WRONG: &str = "its checksum is wrong";

/// How the lines after the first are to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// Whether each has a checksum.
    pub sealed: bool,
    /// As [`Kind::ordered`].
    pub ordered: bool,
}

/// Hands the lines from `second` on, where the second line begins, to `lines`; how many bytes are to be kept, and what is
/// damaged.
pub(crate) fn scan(
    bytes: &[u8],
    second: usize,
    reading: Reading,
    lines: &mut impl Lines,
) -> (usize, Vec<Damage>) {
    let (mut good, mut damaged) = (second, Vec::new());
    for (k, line) in bytes[second..].split_inclusive(|&b| b == b'\n').enumerate() {
        // Also a line that reads well may have lost something, if it lost its end.
        if line.last() != Some(&b'\n') {
            break;
        }
        let taken = match open(line.trim_ascii()) {
            Opened::Whole(line) => lines.take(&line),
            Opened::Broken => Err(WRONG.to_owned()),
            Opened::Plain if reading.sealed => Err("it has no checksum".to_owned()),
            Opened::Plain => lines.take(line.trim_ascii()),
        };
        if let Err(reason) = taken {
            // Zeros at the end, as some file systems leave after a power cut.
            if good + line.len() == bytes.len() && line.contains(&0) {
                break;
            }
            damaged.push(Damage::new(k + 2, &reason));
            if reading.ordered {
                break;
            }
        }
        good += line.len();
    }
    (good, damaged)
}

/// An open file of lines, locked against other processes for as long as it is open.
#[derive(Debug)]
pub struct LinesFile {
    file: File,
    path: PathBuf,
    /// Something was written that may not be on the disk.
    unsynced: bool,
    /// Whether each line has a checksum.
    sealed: bool,
    damaged: Vec<Damage>,
    /// How long it is with whole lines only.
    length: u64,
    /// Whether it is a pipe.
    pipe: bool,
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
        // A pipe would take what fits into it, and then wait for a reader who may never come.
        let pipe = path.metadata().is_ok_and(|about| is_pipe(&about));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = if pipe { open_now(path)? } else { options.open(path)? };
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => LinesProblem::InUse,
            TryLockError::Error(e) => e.into(),
        })?;
        // Only a file can be resumed; a device is written to.
        let mut bytes = Vec::new();
        let about = file.metadata()?;
        if about.is_file() {
            let most = MemoryLimit::new(None).bytes() / 2;
            if about.len() > most {
                return Err(Problem::Long(most).into());
            }
            file.read_to_end(&mut bytes)?;
        }
        if !bytes.is_empty() && !resume {
            return Err(LinesProblem::NotEmpty);
        }
        let Resumed { lines, good, sealed, damaged } = kind.resume(&bytes, header, begin)?;
        let unsynced = good < bytes.len();
        if unsynced {
            file.set_len(good as u64)?;
            file.seek(SeekFrom::Start(good as u64))?;
        }
        let (path, length) = (path.to_owned(), good as u64);
        let mut file = LinesFile { file, path, unsynced, sealed, damaged, length, pipe };
        if good == 0 {
            file.write(&header.to_string())?;
            sync_folder_of(&file.path);
        }
        Ok((file, lines))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines that are damaged and were not used.
    pub fn damaged(&self) -> &[Damage] {
        &self.damaged
    }

    /// Appends one record, an object. It survives a crash of the program at once, and one of the machine after [`Self::sync`].
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), OutputError> {
        let line = serde_json::to_string(record);
        let written = line.map_err(Into::into).and_then(|line| self.write(&line));
        written.map_err(|e| OutputError::new(&self.path, &e))
    }

    /// Brings all that was appended to the disk.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        let sync = |file: &File| match file.metadata()?.is_file() {
            true => faults::step().and_then(|()| file.sync_data()),
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
        let mut line = if self.sealed { seal(line) } else { line.to_owned() };
        line.push('\n');
        let written = match self.pipe {
            true => Pipe::new(&self.file).write_all(line.as_bytes()),
            false => Steps(&self.file).write_all(line.as_bytes()),
        };
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(e) => {
                // A line that was begun must not be gone on with by the next. (A device has no length.)
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::Start(self.length));
                return Err(e);
            }
        }
        Ok(())
    }
}

/// Whether somebody is writing a file of lines; none where that cannot be told.
pub fn being_written(path: &Path) -> Option<bool> {
    // Opening a pipe would wait for who writes into it.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    // Who writes it holds a lock; it is tried for a moment.
    match File::open(path).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// What a file of lines holds.
struct Resumed<L> {
    lines: L,
    /// How many bytes are to be kept.
    good: usize,
    sealed: bool,
    damaged: Vec<Damage>,
}

impl Kind {
    /// What `bytes` hold, if they belong to `now`.
    fn resume<L: Lines>(
        &self,
        bytes: &[u8],
        now: &Value,
        begin: impl FnOnce(&Value) -> Result<L, LinesProblem>,
    ) -> Result<Resumed<L>, LinesProblem> {
        let (first, second) = first_line(bytes);
        let Some(second) = second else {
            // Only what began as our own first line may be cut off: this could be any file.
            let plain = now.to_string();
            if ![seal(&plain), plain].iter().any(|own| own.as_bytes().starts_with(first)) {
                self.compare(&open_first(first)?.0, now)?;
            }
            return Ok(Resumed { lines: begin(now)?, good: 0, sealed: true, damaged: Vec::new() });
        };
        let (first, sealed) = open_first(first)?;
        let mut lines = begin(&self.compare(&first, now)?)?;
        let reading = Reading { sealed, ordered: self.ordered };
        let (good, damaged) = scan(bytes, second, reading, &mut lines);
        Ok(Resumed { lines, good, sealed, damaged })
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
        return b.keys().chain(a.keys()).find_map(|k| {
            let inner = if name.is_empty() { k.clone() } else { format!("{name}.{k}") };
            let get = |m: &Map<String, Value>| m.get(k).cloned().unwrap_or(Value::Null);
            difference(&inner, &get(a), &get(b))
        });
    }
    (then != now).then(|| (name.to_owned(), then.to_string(), now.to_string()))
}

#[cfg(test)]
mod tests;
