//! A file of weights that grows tensor by tensor under another name, and can be gone on with.

use crate::faults::{self, Steps};
use crate::output::{Output, OutputError, sync_folder_of};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file in which an output grows: beside what a link points to.
pub fn part_path(output: &Path) -> PathBuf {
    beside(&fs::canonicalize(output).unwrap_or_else(|_| output.to_owned()), ".part")
}

/// The journal of an output.
pub fn journal_path(output: &Path) -> PathBuf {
    beside(output, ".journal")
}

/// Removes a file, if it is there.
pub fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Refuses what is there and no file.
fn files(paths: &[&Path]) -> io::Result<()> {
    match paths.iter().any(|path| fs::metadata(path).is_ok_and(|about| !about.is_file())) {
        true => Err(io::Error::other("a model is written to a file, not to a device or a pipe")),
        false => Ok(()),
    }
}

fn beside(output: &Path, more: &str) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(more);
    name.into()
}

/// An output that grows. Dropped before [`PartFile::finish`], it stays as `OUTPUT.part`.
#[derive(Debug)]
pub struct PartFile {
    file: BufWriter<Steps<File>>,
    path: PathBuf,
    output: PathBuf,
    length: u64,
}

impl PartFile {
    /// Checks that `output` can be written, and grow beside its place: for before the work. Neither is touched.
    pub fn check(output: &Path) -> Result<(), OutputError> {
        Output::check(output)?;
        let part = part_path(output);
        files(&[output, &part]).map_err(|e| OutputError::new(output, &e))
    }

    /// Begins the file of `output` with a header.
    pub fn begin(output: &Path, header: &[u8]) -> Result<Self, OutputError> {
        let path = part_path(output);
        let begun = || -> io::Result<File> {
            files(&[output, &path])?;
            let mut options = OpenOptions::new();
            let mut file =
                options.read(true).write(true).create(true).truncate(false).open(&path)?;
            lock(&file)?;
            file.set_len(0)?;
            file.write_all(header)?;
            Ok(file)
        };
        let file = begun().map_err(|e| OutputError::new(&path, &e))?;
        let (output, length) = (output.to_owned(), header.len() as u64);
        Ok(PartFile { file: BufWriter::new(Steps(file)), path, output, length })
    }

    /// Goes on with a file that begins with this header and was at least `length` bytes long; what is beyond goes. None
    /// where there is no such file.
    pub fn resume(output: &Path, header: &[u8], length: u64) -> Option<Self> {
        let path = part_path(output);
        // A pipe would be waited for.
        files(&[&path]).ok()?;
        let mut file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        lock(&file).ok()?;
        let mut start = vec![0u8; header.len()];
        file.read_exact(&mut start).ok()?;
        let whole = start == header && length >= header.len() as u64;
        if !whole || file.metadata().ok()?.len() < length {
            return None;
        }
        file.set_len(length).ok()?;
        file.seek(SeekFrom::Start(length)).ok()?;
        Some(PartFile {
            file: BufWriter::new(Steps(file)),
            path,
            output: output.to_owned(),
            length,
        })
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Brings what was written to the disk.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        let synced = self.file.flush().and_then(|()| faults::step());
        let synced = synced.and_then(|()| self.file.get_ref().0.sync_data());
        synced.map_err(|e| OutputError::new(&self.path, &e))
    }

    /// What is wrong with writing it.
    pub fn failed(&self, e: &io::Error) -> OutputError {
        OutputError::new(&self.path, e)
    }

    /// Removes what was written.
    pub fn discard(self) {
        drop(self.file);
        discard(&self.path);
    }

    /// Gives the file its name; it is on the disk then.
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.sync()?;
        let output = fs::canonicalize(&self.output).unwrap_or_else(|_| self.output.clone());
        faults::step()
            .and_then(|()| fs::rename(&self.path, &output))
            .map_err(|e| OutputError::new(&self.output, &e))?;
        sync_folder_of(&output);
        Ok(())
    }
}

/// Refuses a file that another process writes.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another process is writing it")),
        // Where files cannot be locked, there is no protection.
        _ => Ok(()),
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, Notes, WeightsFile, header_bytes};
    use super::*;

    #[test]
    fn what_was_cut_off_is_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out.safetensors");
        let entry = |name: &str, start| Entry::new(name.into(), "U8".into(), vec![3], start, 3);
        let notes = Notes::from([("a \"note\"".to_owned(), "b".to_owned())]);
        let header = header_bytes(&[entry("one", 0), entry("two", 3)], &notes);
        assert_eq!(header.len() % 8, 0);
        let mut part = PartFile::begin(&output, &header).unwrap();
        part.write_all(b"abc").unwrap();
        let good = part.length();
        part.write_all(b"x").unwrap();
        part.sync().unwrap();
        drop(part);
        assert!(!output.exists());
        assert!(PartFile::resume(&output, b"another header", good).is_none());
        assert!(PartFile::resume(&output, &header, good + 2).is_none(), "it was never so long");
        let mut part = PartFile::resume(&output, &header, good).unwrap();
        part.write_all(b"def").unwrap();
        part.finish().unwrap();
        let file = WeightsFile::open(&output).unwrap();
        let mut bytes = Vec::new();
        (0..2).for_each(|k| file.copy(k, &mut bytes).unwrap());
        assert_eq!((&bytes[..], file.notes()), (&b"abcdef"[..], &notes));
        assert!(!part_path(&output).exists());
    }

    #[test]
    fn a_disk_that_fails_at_any_step_leaves_no_output_and_can_be_gone_on_with() {
        use crate::faults::Fault;
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out");
        for fault in Fault::ALL {
            for number in 0.. {
                let _ = fs::remove_file(&output);
                let _ = fs::remove_file(part_path(&output));
                let mut good = None;
                let mut write = || -> io::Result<()> {
                    let failed = |e: OutputError| io::Error::other(e.to_string());
                    let mut part = PartFile::begin(&output, b"header").map_err(failed)?;
                    for _ in 0..3 {
                        part.write_all(&[b'x'; 5000])?;
                        part.sync().map_err(failed)?;
                        good = Some(part.length());
                    }
                    part.finish().map_err(failed)
                };
                let ended = faults::at(number, fault, &mut write);
                let steps = faults::steps();
                let whole = [b"header".as_slice(), &[b'x'; 15000]].concat();
                match (ended, good) {
                    (Ok(()), _) => assert!(fs::read(&output).unwrap() == whole),
                    (Err(_), good) => {
                        assert!(!output.exists(), "{fault:?} at {number}");
                        // What was said to be on the disk is there.
                        if let Some(length) = good {
                            let mut part = PartFile::resume(&output, b"header", length).unwrap();
                            part.write_all(&whole[length as usize..]).unwrap();
                            part.finish().unwrap();
                            assert!(fs::read(&output).unwrap() == whole, "{fault:?} at {number}");
                        }
                    }
                }
                if steps <= number {
                    break;
                }
            }
        }
    }

    #[test]
    fn what_is_discarded_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("x.safetensors");
        let part = PartFile::begin(&output, b"header").unwrap();
        assert!(part_path(&output).exists());
        part.discard();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }

    #[cfg(unix)]
    fn refused_as(path: &Path) -> String {
        let why = "a model is written to a file, not to a device or a pipe";
        format!("cannot write {}: {why}", path.display())
    }

    #[test]
    fn one_process_writes_at_a_time_and_only_files_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("out.safetensors");
        let begun = PartFile::begin(&output, b"header").unwrap();
        let refused = PartFile::begin(&output, b"other").unwrap_err().to_string();
        assert!(refused.ends_with("another process is writing it"), "{refused}");
        assert!(PartFile::resume(&output, b"header", 6).is_none());
        drop(begun);
        assert!(PartFile::resume(&output, b"header", 6).is_some());
        #[cfg(unix)]
        {
            let pipe = dir.path().join("pipe");
            rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
            let refused = PartFile::begin(&pipe, b"header").unwrap_err();
            assert!(refused.to_string().contains("not to a device"), "{refused}");
            assert!(!part_path(&pipe).exists());
            assert_eq!(PartFile::check(&pipe).unwrap_err().to_string(), refused_as(&pipe));
            // Nor is the place where it grows one: reading from it would wait.
            let part = part_path(&output);
            fs::remove_file(&part).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, &part, 0o600.into()).unwrap();
            assert!(PartFile::resume(&output, b"header", 6).is_none());
            let refused = PartFile::begin(&output, b"header").unwrap_err().to_string();
            assert_eq!(refused, refused_as(&part));
            assert_eq!(PartFile::check(&output).unwrap_err().to_string(), refused_as(&output));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_points_to_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (there, link) = (dir.path().join("there"), dir.path().join("link"));
        fs::create_dir(&there).unwrap();
        fs::write(there.join("file"), b"old").unwrap();
        std::os::unix::fs::symlink(there.join("file"), &link).unwrap();
        let mut part = PartFile::begin(&link, b"new").unwrap();
        assert!(part_path(&link).starts_with(fs::canonicalize(&there).unwrap()));
        part.write_all(b"er").unwrap();
        part.finish().unwrap();
        assert_eq!(fs::read(there.join("file")).unwrap(), b"newer");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_journal_stands_beside_its_output() {
        let path = journal_path(Path::new("a/out.safetensors"));
        assert_eq!(path, Path::new("a/out.safetensors.journal"));
    }
}
