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
use crate::output::{OutputError, sync_folder_of};
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
        let mut file = LinesFile { file, path, unsynced, sealed, damaged, length };
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
        match Steps(&self.file).write_all(line.as_bytes()) {
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
mod tests {
    use super::*;
    use crate::faults::Fault;
    use serde_json::json;
    use tempfile::TempDir;

    static NOTES: Kind =
        Kind { format: "notes", name: "notebook", ordered: false, settle: |_, _| {} };

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Note {
        n: u64,
    }

    impl Record for Note {
        fn check(&self) -> Result<(), String> {
            (self.n >= 1000).then_some(()).ok_or_else(|| format!("{} is too small", self.n))
        }
    }

    fn note(n: u64) -> Value {
        json!({"n": n})
    }

    fn header(seed: u64) -> Value {
        json!({"format": "notes", "seed": seed, "fit": {"restarts": 4}, "objective": {"lambda": 200.0}})
    }

    fn open(path: &Path, header: &Value, resume: bool) -> Result<(LinesFile, Vec<u64>), String> {
        open_kind(&NOTES, path, header, resume)
    }

    fn open_kind(
        kind: &Kind,
        path: &Path,
        header: &Value,
        resume: bool,
    ) -> Result<(LinesFile, Vec<u64>), String> {
        let opened = LinesFile::open(path, kind, header, resume, |_| Ok(Vec::<Note>::new()));
        let (file, notes) = opened.map_err(|e| e.problem.to_string())?;
        Ok((file, notes.iter().map(|note| note.n).collect()))
    }

    fn refusal(path: &Path, header: &Value, resume: bool) -> String {
        open(path, header, resume).unwrap_err()
    }

    /// A file with the records 0, 1, ...
    fn written(records: u64) -> (TempDir, PathBuf, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.jsonl");
        let (mut file, _) = open(&path, &header(1), false).unwrap();
        (0..records).for_each(|k| file.append(&note(1000 + k)).unwrap());
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
            (whole..3).for_each(|k| file.append(&note(1000 + k)).unwrap());
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "cut at {cut}");
        }
    }

    #[test]
    fn foreign_files_are_left_alone_and_torn_ends_cut_off() {
        let (_dir, path, bytes) = written(3);
        let text = String::from_utf8(bytes).unwrap();
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

    /// The file with one byte changed.
    fn flipped(bytes: &[u8], at: usize, bit: u8) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1 << bit;
        bytes
    }

    #[test]
    fn a_changed_byte_costs_its_line_or_is_refused_and_never_changes_a_record() {
        let (_dir, path, bytes) = written(4);
        let second = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
        for (at, bit) in (0..bytes.len()).map(|at| (at, (at * 5 % 8) as u8)) {
            std::fs::write(&path, flipped(&bytes, at, bit)).unwrap();
            let opened = open(&path, &header(1), true);
            if at < second {
                assert!(opened.is_err(), "bit {bit} of byte {at} of the first line");
                continue;
            }
            let (mut file, records) = opened.unwrap();
            let (lost, torn) = (file.damaged().len(), bytes.len() - 1 == at);
            assert!(torn || (1..=2).contains(&lost), "bit {bit} of byte {at}: {lost} lines");
            assert!(records.len() >= 2, "bit {bit} of byte {at}");
            assert!(records.iter().all(|n| (1000..1004).contains(n)), "bit {bit} of byte {at}");
            assert!(records.is_sorted());
            let line = bytes[..at].iter().filter(|&&b| b == b'\n').count() + 1;
            assert!(torn || file.damaged()[0].line == line);
            // What is made again is on record then.
            (1000..1004).for_each(|n| file.append(&note(n)).unwrap());
            drop(file);
            let again = open(&path, &header(1), true).unwrap();
            assert!(again.1.ends_with(&[1000, 1001, 1002, 1003]), "bit {bit} of byte {at}");
            assert_eq!(again.0.damaged().len(), lost);
        }
    }

    #[test]
    fn where_the_order_counts_all_behind_a_damaged_line_goes_with_it() {
        static ORDERED: Kind =
            Kind { format: "notes", name: "notebook", ordered: true, settle: |_, _| {} };
        let (_dir, path, bytes) = written(4);
        let text = String::from_utf8(bytes).unwrap();
        std::fs::write(&path, text.replace("1001", "1007")).unwrap();
        let (mut file, records) = open_kind(&ORDERED, &path, &header(1), true).unwrap();
        assert_eq!((records, file.damaged().len(), file.damaged()[0].line), (vec![1000], 1, 3));
        (1001..1004).for_each(|n| file.append(&note(n)).unwrap());
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn files_from_before_checksums_are_read_checked_and_continued_without() {
        let (_dir, path, _) = written(0);
        let old = format!("{}\n{{\"n\":1000}}\n{{\"n\":1001}}\n", header(1));
        std::fs::write(&path, &old).unwrap();
        let (mut file, records) = open(&path, &header(1), true).unwrap();
        assert_eq!(records, [1000, 1001]);
        file.append(&note(1002)).unwrap();
        drop(file);
        let now = std::fs::read_to_string(&path).unwrap();
        assert_eq!(now, format!("{old}{{\"n\":1002}}\n"));
        // What contradicts itself is seen all the same.
        std::fs::write(&path, now.replace("1001", "1")).unwrap();
        let (file, records) = open(&path, &header(1), true).unwrap();
        assert_eq!(records, [1000, 1002]);
        assert_eq!(
            warnings(&path, file.damaged(), "it is left out"),
            [format!("{}: line 3 is damaged (1 is too small): it is left out", path.display())]
        );
        // A line cannot lose its checksum where others have one.
        let (_dir, path, bytes) = written(1);
        let text = String::from_utf8(bytes).unwrap();
        std::fs::write(&path, format!("{text}{{\"n\":1001}}\n")).unwrap();
        let (file, records) = open(&path, &header(1), true).unwrap();
        assert_eq!(
            (records, file.damaged()[0].reason.as_str()),
            (vec![1000], "it has no checksum")
        );
    }

    #[test]
    fn a_disk_that_fails_at_any_step_leaves_whole_lines_and_says_so() {
        let (_dir, path, _) = written(0);
        let run = || {
            std::fs::write(&path, "").unwrap();
            let mut told = Vec::new();
            let Ok((mut file, _)) = open(&path, &header(1), true) else { return None };
            for n in 1000..1006 {
                match file.append(&note(n)).and_then(|()| file.sync()) {
                    Ok(()) => told.push(n),
                    Err(e) => assert!(!e.to_string().contains('\n'), "{e}"),
                }
            }
            Some(told)
        };
        for fault in Fault::ALL {
            for number in 0.. {
                let told = faults::at(number, fault, run);
                let steps = faults::steps();
                let (file, records) = open(&path, &header(1), true).unwrap();
                assert!(file.damaged().is_empty(), "{fault:?} at {number}");
                // What was said to be on the disk is there, in order; a line whose wait failed may be.
                let told = told.unwrap_or_default();
                assert!(told.iter().all(|n| records.contains(n)), "{fault:?} at {number}");
                assert!(records.is_sorted() && records.len() <= told.len() + 1);
                if fault == Fault::Short {
                    assert_eq!(records.len(), 6);
                }
                drop(file);
                if steps <= number {
                    break;
                }
            }
        }
    }

    #[test]
    fn what_was_appended_is_waited_for_until_it_is_on_the_disk_and_once() {
        let (_dir, path, _) = written(1);
        let (mut file, _) = open(&path, &header(1), true).unwrap();
        let mut synced = |append: bool, fault: Option<Fault>| {
            let work = || {
                if append {
                    file.append(&note(1001)).unwrap();
                }
                file.sync().is_ok()
            };
            let number = if fault.is_some() { usize::from(append) } else { 99 };
            let done = faults::at(number, fault.unwrap_or(Fault::Broken), work);
            (done, faults::steps())
        };
        assert_eq!(synced(false, None), (true, 0), "nothing was written");
        assert_eq!(synced(true, Some(Fault::Broken)), (false, 2));
        assert_eq!(synced(false, Some(Fault::Broken)), (false, 1), "still not");
        assert_eq!(synced(false, None), (true, 1));
        assert_eq!(synced(false, None), (true, 0));
        // An end that was cut off is brought to the disk, too.
        drop(file);
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend(b"{");
        std::fs::write(&path, torn).unwrap();
        let (mut file, _) = open(&path, &header(1), true).unwrap();
        faults::at(99, Fault::Broken, || file.sync().unwrap());
        assert_eq!(faults::steps(), 1);
    }

    #[test]
    fn another_header_is_refused_by_name() {
        let (_dir, path, _) = written(1);
        // Also where something is said no more, or only now.
        let (mut less, mut more) = (header(1), header(1));
        less.as_object_mut().unwrap().remove("seed");
        more["more"] = json!(true);
        assert_eq!(refusal(&path, &less, true), "it was made with seed 1, now seed null");
        assert_eq!(refusal(&path, &more, true), "it was made with more null, now more true");
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
            LinesFile {
                file,
                path: path.into(),
                unsynced: false,
                sealed: true,
                damaged: Vec::new(),
                length: 0,
            }
        };
        let error = opened("/dev/full").append(&note(1)).unwrap_err().to_string();
        assert_eq!(error, "cannot write /dev/full: no space left on device");
        let mut null = opened("/dev/null");
        null.append(&note(1)).unwrap();
        null.sync().unwrap();
    }
}
