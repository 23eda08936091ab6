//! The journal of a search on disk: one JSON line for the search, then one for each evaluation.

use crate::files::{entries::push_bytes, io_text};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use tnsearch::dispatch;
use tnsearch::problem::Target;
use tnsearch::search::{
    BeginRecord, EndRecord, EvaluationRecord, GenerationRecord, Journal, JournalError, JournalLine,
};
use tnsearch::tensor::Kind;
pub use tnsearch_report::journal::{FORMAT, VERSION};

/// Why a journal is refused.
#[derive(Debug, Error)]
#[error("journal {}: {reason}", path.display())]
pub struct RefusedJournal {
    path: PathBuf,
    reason: String,
}

/// An open journal, locked against other processes for as long as it is open.
#[derive(Debug)]
pub struct DiskJournal {
    file: File,
    path: PathBuf,
    /// The version of its first line: a journal of version 1 has evaluations only, and stays so.
    version: u64,
    /// The last generation on record: those before are not written again after a resume.
    generation: u64,
}

impl DiskJournal {
    /// Opens a journal for a search that `header` describes, and returns the records it has.
    ///
    /// A journal with something in it is taken only to `resume`, and only if it is of the same search.
    /// A last line that was torn is cut off.
    pub fn open<T: DeserializeOwned>(
        path: &Path,
        header: &Value,
        resume: bool,
    ) -> Result<(Self, Vec<T>), RefusedJournal> {
        let refused = |reason: String| RefusedJournal { path: path.to_owned(), reason };
        let io = |e: io::Error| refused(io_text(&e));
        if path.is_dir() {
            return Err(refused("it is a directory".into()));
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => refused("another process is using it".into()),
            TryLockError::Error(e) => io(e),
        })?;
        // Only a file can be resumed; a device is written to.
        let mut bytes = Vec::new();
        if file.metadata().map_err(io)?.is_file() {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        if !bytes.is_empty() && !resume {
            let reason =
                "it has the record of a search; use --resume to continue it, or another file";
            return Err(refused(reason.into()));
        }
        let Parsed { records, good, version, generation } =
            parse(&bytes, header).map_err(refused)?;
        if good < bytes.len() {
            file.set_len(good as u64).map_err(io)?;
            file.seek(SeekFrom::Start(good as u64)).map_err(io)?;
        }
        let mut journal = DiskJournal { file, path: path.to_owned(), version, generation };
        if good == 0 {
            journal.write_line(&header.to_string()).map_err(io)?;
        }
        Ok((journal, records))
    }

    /// Keeps one record.
    pub fn append_line(&mut self, record: &impl Serialize) -> Result<(), JournalError> {
        let line = serde_json::to_string(record).map_err(JournalError::new)?;
        self.write_line(&line).map_err(|e| self.cannot_write(&e))
    }

    /// Notes that a search begins, or goes on.
    pub fn begin(&mut self, begin: BeginRecord) -> Result<(), JournalError> {
        self.write(JournalLine::Begin(begin))
    }

    /// Notes that it has ended.
    pub fn end(&mut self, end: EndRecord) -> Result<(), JournalError> {
        self.write(JournalLine::End(end))
    }

    /// Writes a line that version 1 does not know.
    fn write(&mut self, line: JournalLine) -> Result<(), JournalError> {
        if self.version < 2 {
            return Ok(());
        }
        self.write_line(&line.write()?).map_err(|e| self.cannot_write(&e))
    }

    fn cannot_write(&self, e: &io::Error) -> JournalError {
        JournalError::new(format!("cannot write {}: {}", self.path.display(), io_text(e)))
    }

    /// One line in one write: a crash leaves it whole, or torn at the very end of the file.
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.file.flush()
    }
}

impl Journal for DiskJournal {
    fn append(&mut self, record: &EvaluationRecord) -> Result<(), JournalError> {
        self.append_line(record)
    }

    fn generation(&mut self, &generation: &GenerationRecord) -> Result<(), JournalError> {
        if generation.number <= self.generation {
            return Ok(());
        }
        self.generation = generation.number;
        self.write(JournalLine::Generation(generation))
    }
}

/// A line after the first.
enum Line<T> {
    Record(T),
    /// The state after the generation of this number.
    Generation(u64),
    /// A beginning or an end.
    Other,
}

impl<T: DeserializeOwned> Line<T> {
    /// Reads a line; only the journal of a search has other kinds than records.
    fn read(line: &[u8], journal: bool) -> Result<Self, String> {
        let other = [&b"{\"begin\""[..], b"{\"generation\"", b"{\"end\""];
        if journal && other.iter().any(|start| line.starts_with(start)) {
            return match JournalLine::parse(line).map_err(|e| e.to_string())? {
                JournalLine::Generation(generation) => Ok(Line::Generation(generation.number)),
                _ => Ok(Line::Other),
            };
        }
        serde_json::from_slice(line).map(Line::Record).map_err(|e| e.to_string())
    }
}

/// What a journal holds.
struct Parsed<T> {
    records: Vec<T>,
    /// The number of bytes that are good.
    good: usize,
    version: u64,
    /// The last generation on record.
    generation: u64,
}

fn parse<T: DeserializeOwned>(bytes: &[u8], header: &Value) -> Result<Parsed<T>, String> {
    let mut parsed = Parsed { records: Vec::new(), good: 0, version: VERSION, generation: 0 };
    let Parsed { records, good, version, generation } = &mut parsed;
    let mut number = 0;
    let ours = kind(header) == "journal";
    while *good < bytes.len() {
        let rest = &bytes[*good..];
        let newline = rest.iter().position(|&b| b == b'\n');
        let line = &rest[..newline.unwrap_or(rest.len())];
        number += 1;
        let last = newline.is_none_or(|at| *good + at + 1 == bytes.len());
        if *good == 0 {
            // Only what began as our own header may be cut off: this could be any file.
            if newline.is_none() && header.to_string().as_bytes().starts_with(line) {
                return Ok(parsed);
            }
            *version = check_header(line, header)?;
        } else {
            match Line::read(line, ours) {
                _ if newline.is_none() => break,
                Ok(Line::Record(record)) => records.push(record),
                Ok(Line::Generation(number)) => *generation = number,
                Ok(Line::Other) => {}
                Err(_) if last => break,
                Err(e) => return Err(format!("line {number} is damaged ({e})")),
            }
        }
        match newline {
            Some(at) => *good += at + 1,
            // A whole header that lost its end is written anew.
            None => return Ok(Parsed { version: VERSION, ..parsed }),
        }
    }
    Ok(parsed)
}

/// Compares the first line with that of the search at hand; returns its version.
fn check_header(line: &[u8], now: &Value) -> Result<u64, String> {
    let foreign = || format!("not a {} of tnsearch", kind(now));
    let mut then: Value = serde_json::from_slice(line).map_err(|_| foreign())?;
    if then.get("format") != now.get("format") {
        return Err(foreign());
    }
    let version = then.get("version").and_then(Value::as_u64).unwrap_or(0);
    // Version 2 has more kinds of lines, and the same first line.
    if version == 1 && kind(now) == "journal" {
        then["version"] = VERSION.into();
    }
    match difference("", &then, now) {
        None => Ok(version),
        Some((name, _, _)) if name == "data.sha256" => {
            Err("it was made with a tensor of the same shape but other entries".into())
        }
        Some((name, then, now)) => Err(format!("it was made with {name} {then}, now {name} {now}")),
    }
}

/// What a file with such a header is called.
fn kind(header: &Value) -> &'static str {
    match header.get("format").and_then(Value::as_str) {
        Some(FORMAT) | None => "journal",
        Some(_) => "file of results",
    }
}

/// The first field in which two headers differ, with both values.
fn difference(name: &str, then: &Value, now: &Value) -> Option<(String, String, String)> {
    // An objective is one thing: its name and its number.
    if let (Value::Object(a), Value::Object(b), true) = (then, now, name != "objective") {
        let keys = b.keys().chain(a.keys().filter(|k| !b.contains_key(*k)));
        return keys.into_iter().find_map(|k| {
            let inner = if name.is_empty() { k.clone() } else { format!("{name}.{k}") };
            let get = |m: &serde_json::Map<String, Value>| m.get(k).cloned().unwrap_or(Value::Null);
            difference(&inner, &get(a), &get(b))
        });
    }
    (then != now).then(|| (name.to_owned(), then.to_string(), now.to_string()))
}

/// A fingerprint of a tensor's dimensions and entries (SHA-256 of their little-endian bytes), and of the kind of its
/// numbers unless they are real ones of 64 bits.
pub fn fingerprint(target: &Target) -> String {
    let tensor = target.tensor();
    let mut hash = Sha256::new();
    if target.kind() != Kind::F64 {
        hash.update(target.kind().name());
    }
    if target.scale() != 1.0 {
        hash.update(target.scale().to_le_bytes());
    }
    hash.update((tensor.order() as u64).to_le_bytes());
    for &d in tensor.dims() {
        hash.update((d as u64).to_le_bytes());
    }
    let mut bytes = Vec::with_capacity(16 * 4096);
    dispatch!(tensor, tensor => for chunk in tensor.data().chunks(4096) {
        bytes.clear();
        push_bytes(chunk, &mut bytes);
        hash.update(&bytes);
    });
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tnsearch::tensor::Tensor;

    fn header(seed: u64) -> Value {
        json!({"format": FORMAT, "version": VERSION, "seed": seed, "fit": {"restarts": 4},
               "objective": {"lambda": 200.0}})
    }

    fn record(run: usize) -> EvaluationRecord {
        EvaluationRecord {
            run,
            key: format!("3+0:0-1x{}", run + 2),
            permutation: vec![0, 1, 2],
            ranks: vec![run + 2, 1],
            params: 10,
            rse: 0.1 + 0.2,
            loss: 1.0 / 3.0,
            sweeps: 5,
            restarts: 1,
            seconds: 0.25,
            refused: false,
            effort: Default::default(),
        }
    }

    fn written(path: &Path, records: usize) -> Vec<u8> {
        let (mut journal, _) =
            DiskJournal::open::<EvaluationRecord>(path, &header(1), false).unwrap();
        (0..records).for_each(|k| journal.append(&record(k)).unwrap());
        std::fs::read(path).unwrap()
    }

    fn refusal(path: &Path, header: &Value, resume: bool) -> String {
        DiskJournal::open::<EvaluationRecord>(path, header, resume).unwrap_err().reason
    }

    #[test]
    fn any_cut_leaves_the_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let bytes = written(&path, 3);
        let ends: Vec<usize> = (0..bytes.len()).filter(|&k| bytes[k] == b'\n').collect();
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let (mut journal, records) =
                DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap();
            let whole = ends.iter().filter(|&&end| end < cut).count().saturating_sub(1);
            assert_eq!(records, (0..whole).map(record).collect::<Vec<_>>(), "cut at {cut}");
            (whole..3).for_each(|k| journal.append(&record(k)).unwrap());
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "cut at {cut}");
        }
    }

    #[test]
    fn a_journal_of_version_1_is_continued_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let old = String::from_utf8(written(&path, 2)).unwrap().replacen(
            "\"version\":2",
            "\"version\":1",
            1,
        );
        std::fs::write(&path, &old).unwrap();
        let (mut journal, records) =
            DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap();
        assert_eq!(records.len(), 2);
        journal.begin(BeginRecord::default()).unwrap();
        journal.generation(&generation(1)).unwrap();
        journal.append(&record(2)).unwrap();
        drop(journal);
        let line = serde_json::to_string(&record(2)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{old}{line}\n"));
    }

    #[test]
    fn generations_on_record_are_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
        for (round, expected) in [(0, 6), (1, 7)] {
            let (mut journal, records) =
                DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap();
            assert_eq!(records.len(), round);
            journal.begin(BeginRecord::default()).unwrap();
            (1..=3).for_each(|g| journal.generation(&generation(g)).unwrap());
            if round == 0 {
                journal.append(&record(0)).unwrap();
            }
            assert_eq!(lines(), expected);
        }
        let (_, records) = DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap();
        assert_eq!(records, [record(0)]);
    }

    fn generation(number: u64) -> GenerationRecord {
        GenerationRecord { number, counts: Default::default(), lower_bound: None, seconds: 0.5 }
    }

    #[test]
    fn damage_is_told_apart_from_a_torn_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let text = String::from_utf8(written(&path, 3)).unwrap();
        std::fs::write(&path, text.replace("3+0:0-1x3\"", "3+0:0-1x3")).unwrap();
        assert!(refusal(&path, &header(1), true).starts_with("line 3 is damaged"));
        // Zeros at the end, as some file systems leave after a power cut.
        std::fs::write(&path, format!("{text}\0\0\0\0")).unwrap();
        assert_eq!(
            DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap().1.len(),
            3
        );
        for foreign in ["hello\nworld\n", "hello", "{\"a\":1}\n", "\u{93}NUMPY"] {
            std::fs::write(&path, foreign).unwrap();
            assert_eq!(refusal(&path, &header(1), true), "not a journal of tnsearch");
            assert_eq!(std::fs::read(&path).unwrap(), foreign.as_bytes(), "left as it was");
        }
    }

    #[test]
    fn another_search_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        written(&path, 1);
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
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let first = DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).unwrap();
        assert_eq!(refusal(&path, &header(1), true), "another process is using it");
        drop(first);
        assert!(DiskJournal::open::<EvaluationRecord>(&path, &header(1), true).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut journal =
            DiskJournal { file, path: "/dev/full".into(), version: VERSION, generation: 0 };
        let error = journal.append(&record(0)).unwrap_err().to_string();
        assert_eq!(error, "cannot write /dev/full: no space left on device");
    }

    #[test]
    fn the_fingerprint_sees_shape_and_entries() {
        let print = |dims: &[usize], data: &[f64]| {
            fingerprint(&Target::new(Tensor::new(dims.to_vec(), data.to_vec()).unwrap()).unwrap())
        };
        let base = print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[4, 1], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0 + 1e-15]));
        // The same numbers as another kind are fitted to other bits.
        let tensor = Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let prints = Kind::ALL.map(|kind| {
            let tensor = tnsearch::tensor::AnyTensor::from(tensor.clone()).to_kind(kind).unwrap();
            fingerprint(&Target::new(tensor).unwrap())
        });
        assert_eq!(prints.iter().filter(|p| **p == base).count(), 1);
        assert_eq!(prints.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        // As 0.2.0 had it: journals stay good.
        assert_eq!(base, "7b8317df3ad9cc93739863444e5c9743be869e4efb671fcd2ad703586357eea3");
    }
}
