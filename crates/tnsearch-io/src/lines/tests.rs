//! Files of lines, whole, torn and damaged.

use super::*;
use crate::faults::Fault;
use serde_json::json;
use tempfile::TempDir;

static NOTES: Kind = Kind { format: "notes", name: "notebook", ordered: false, settle: |_, _| {} };

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
    assert_eq!((records, file.damaged()[0].reason.as_str()), (vec![1000], "it has no checksum"));
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
    assert_eq!(refusal(&path, &other, true), "it was made with fit.restarts 4, now fit.restarts 2");
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
            pipe: false,
        }
    };
    let error = opened("/dev/full").append(&note(1)).unwrap_err().to_string();
    assert_eq!(error, "cannot write /dev/full: no space left on device");
    let mut null = opened("/dev/null");
    null.append(&note(1)).unwrap();
    null.sync().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_longer_than_half_of_the_memory_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long");
    let file = std::fs::File::create(&path).unwrap();
    // It takes no room on the disk.
    if file.set_len(4 * MemoryLimit::new(None).bytes()).is_ok() {
        let said = refusal(&path, &header(1), true);
        assert!(said.contains("longer than"), "{said}");
    }
}

/// A pipe takes some thousand bytes from whoever holds it open; then it waits.
#[cfg(unix)]
#[test]
fn a_pipe_is_written_to_only_where_somebody_reads_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    for resume in [false, true] {
        let said = open(&pipe, &header(1), resume).err();
        assert_eq!(said.as_deref(), Some("it is a pipe that nobody reads from"));
    }
    // Held open for writing, too, so that nobody has to wait.
    let mut reader = File::options().read(true).write(true).open(&pipe).unwrap();
    const MANY: u64 = 5000;
    let written = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let (mut file, notes) = open(&pipe, &header(1), false).unwrap();
            assert!(notes.is_empty());
            (0..MANY).for_each(|n| file.append(&note(1000 + n)).unwrap());
            file.sync().unwrap();
            file.length
        }
    });
    let (mut text, mut some) = (Vec::new(), [0; 4096]);
    while text.iter().filter(|&&b| b == b'\n').count() < MANY as usize + 1 {
        let read = reader.read(&mut some).unwrap();
        text.extend(&some[..read]);
    }
    assert_eq!(written.join().unwrap(), text.len() as u64);
    assert!(text.len() > 1 << 16, "more than a pipe holds");
    let whole = dir.path().join("copy");
    std::fs::write(&whole, text).unwrap();
    let (_, notes) = open(&whole, &header(1), true).unwrap();
    assert_eq!(notes, (1000..1000 + MANY).collect::<Vec<u64>>());
}
