//! Writing results: checked before the work, whole or not at all.

mod pipe;
mod stale;

pub use pipe::hurry;
pub(crate) use pipe::{Pipe, open_now};

use crate::faults::{self, Steps};
use crate::io_text;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// An output cannot be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {reason}", path.display())]
#[non_exhaustive]
pub struct OutputError {
    path: PathBuf,
    reason: String,
}

impl OutputError {
    pub(crate) fn new(path: &Path, e: &io::Error) -> Self {
        OutputError { path: path.to_owned(), reason: io_text(e) }
    }
}

/// A file to be written when the work is done.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    /// Through a temporary file in the same directory that is renamed at the end, when all of it is on the disk: a
    /// reader never sees half a file, and a failure or a power cut leaves the old one.
    Replace { directory: PathBuf, target: PathBuf },
    /// In place: a device or a pipe, or a file in a directory that takes no new files.
    InPlace,
}

impl Output {
    /// Checks that a file can be written, without touching one that is there.
    pub fn check(path: &Path) -> Result<Output, OutputError> {
        let fail = |reason: String| OutputError { path: path.to_owned(), reason };
        // A link stays a link: what it points to is replaced, or made.
        let target = target_of(path);
        let directory = folder_of(&target).to_owned();
        let in_place = || Output { path: path.to_owned(), destination: Destination::InPlace };
        match fs::metadata(&target) {
            Ok(about) if about.is_dir() => return Err(fail("it is a directory".into())),
            Ok(about) => {
                // Opening a pipe for writing would wait for its reader.
                if !is_pipe(&about) {
                    OpenOptions::new().write(true).open(&target).map_err(|e| fail(io_text(&e)))?;
                }
                if !about.is_file() {
                    return Ok(in_place());
                }
                if temporary(&directory).is_err() {
                    return Ok(in_place());
                }
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if target.file_name().is_none() || path.to_string_lossy().ends_with('/') {
                    return Err(fail("it is a directory".into()));
                }
                if !directory.is_dir() {
                    let reason = format!("there is no directory {}", directory.display());
                    return Err(fail(reason));
                }
                temporary(&directory).map_err(|e| fail(io_text(&e)))?;
            }
            Err(e) => return Err(fail(io_text(&e))),
        }
        stale::remove(&directory);
        let destination = Destination::Replace { directory, target };
        Ok(Output { path: path.to_owned(), destination })
    }

    /// The file as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file. When this returns, it is on the disk.
    pub fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.try_write(content).map_err(|e| OutputError::new(&self.path, &e))
    }

    /// Removes what stands in its place, where nothing new can be written that would replace it: false where nothing did. A file
    /// in a sealed folder is emptied; devices and pipes are left alone.
    pub fn remove(&self) -> Result<bool, OutputError> {
        let done = match &self.destination {
            Destination::Replace { target, .. } => match fs::remove_file(target) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
                done => done.map(|()| true),
            },
            Destination::InPlace if self.path.is_file() => {
                OpenOptions::new().write(true).truncate(true).open(&self.path).map(|_| true)
            }
            Destination::InPlace => Ok(false),
        };
        done.map_err(|e| OutputError::new(&self.path, &e))
    }

    fn try_write(&self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match &self.destination {
            Destination::InPlace if fs::metadata(&self.path).is_ok_and(|about| is_pipe(&about)) => {
                let mut pipe = BufWriter::with_capacity(1 << 16, pipe::open(&self.path)?);
                content(&mut pipe)?;
                pipe.flush()
            }
            Destination::InPlace => {
                let file = OpenOptions::new().write(true).truncate(true).open(&self.path)?;
                fill(&file, content)?;
                // A device has no disk below.
                match file.metadata()?.is_file() {
                    true => file.sync_all(),
                    false => Ok(()),
                }
            }
            Destination::Replace { directory, target } => {
                let file = temporary(directory)?;
                let _there = Unfinished::new(file.path());
                fill(file.as_file(), content)?;
                faults::step()?;
                file.as_file().sync_all()?;
                faults::step()?;
                file.persist(target).map_err(|e| e.error)?;
                sync_folder(directory);
                Ok(())
            }
        }
    }
}

fn fill(file: &File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, Steps(file));
    content(&mut writer)?;
    writer.flush()
}

/// The temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file on the list, for as long as it is written.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        lock().push(path.to_owned());
        Unfinished(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock().retain(|path| *path != self.0);
    }
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of outputs that are being written. For a program that is about to end in the middle of
/// them: nothing can be written after that.
pub fn abandon() {
    let unfinished = lock();
    unfinished.iter().for_each(|path| drop(fs::remove_file(path)));
    // Kept: a writer that finishes now would put a file there that is half gone.
    std::mem::forget(unfinished);
}

/// What a path stands for: the end of its links, also where nothing is there yet.
fn target_of(path: &Path) -> PathBuf {
    // As many links as systems follow.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return path,
        }
    }
    path
}

/// The folder of a file; a name alone is one in the folder where the program runs.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The same for the folder of a file.
pub(crate) fn sync_folder_of(file: &Path) {
    sync_folder(folder_of(file));
}

/// Asks the system to bring the names in a folder to the disk. A file that is there already is not failed for a file
/// system that cannot do that.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

/// How the names of temporary files begin; six letters or digits follow.
const PREFIX: &str = ".tnsearch-";

fn temporary(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    // As any new file: readable by others, as far as the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory)?;
    // Says that somebody is writing it; where a file system knows no locks, its age does.
    let _ = file.as_file().try_lock();
    Ok(file)
}

#[cfg(unix)]
pub(crate) fn is_pipe(about: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{Output, folder_of};
    use crate::faults::{self, Fault};
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_name_alone_is_one_in_the_folder_where_the_program_runs() {
        for (file, folder) in [("a", "."), ("a/b", "a"), ("/a", "/"), ("./a", "."), ("/", ".")] {
            assert_eq!(folder_of(Path::new(file)), Path::new(folder), "{file}");
        }
    }

    #[test]
    fn what_cannot_be_removed_is_told_from_what_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let output = Output::check(&path).unwrap();
        assert!(!output.remove().unwrap());
        fs::write(&path, "old").unwrap();
        assert!(output.remove().unwrap() && !path.exists());
        fs::create_dir(&path).unwrap();
        assert!(output.remove().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_written_to_is_refused_and_a_pipe_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        // Nobody can open a socket, not even root.
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let said = Output::check(&socket).unwrap_err().to_string();
        assert!(said.starts_with("cannot write ") && said.contains("socket: "), "{said}");
        // Nobody reads from it: to open it would wait for ever.
        let pipe = pipe_in(dir.path());
        assert_eq!(Output::check(&pipe).unwrap().path(), pipe);
    }

    #[test]
    fn a_check_leaves_no_trace_and_a_write_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("new.json");
        let output = Output::check(&new).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        output.write(|w| w.write_all(b"one")).unwrap();
        let output = Output::check(&new).unwrap();
        assert_eq!(fs::read(&new).unwrap(), b"one");
        output.write(|w| w.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&new).unwrap(), b"two");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_replaced_can_be_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.json");
        let output = Output::check(&path).unwrap();
        assert!(!output.remove().unwrap());
        output.write(|w| w.write_all(b"old")).unwrap();
        assert!(output.remove().unwrap() && !path.exists());
        // A pipe stays as it is.
        #[cfg(unix)]
        {
            let pipe = pipe_in(dir.path());
            assert!(!Output::check(&pipe).unwrap().remove().unwrap() && pipe.exists());
        }
    }

    /// A pipe of a test's own: as root even a device of the machine could be replaced.
    #[cfg(unix)]
    fn pipe_in(folder: &Path) -> std::path::PathBuf {
        let pipe = folder.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        pipe
    }

    #[test]
    fn a_disk_that_fails_at_any_step_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        let write = || {
            Output::check(&path).unwrap().write(|w| {
                (0..40).try_for_each(|_| w.write_all(&[b'x'; 4096]))?;
                w.write_all(b"end")
            })
        };
        for fault in Fault::ALL {
            let mut failed = 0;
            for number in 0.. {
                fs::write(&path, "old").unwrap();
                let ended = faults::at(number, fault, write);
                assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "{fault:?} at {number}");
                match ended {
                    Err(e) => {
                        failed += 1;
                        assert_eq!(fs::read(&path).unwrap(), b"old", "{fault:?} at {number}: {e}");
                        assert!(!e.to_string().contains('\n'), "{e}");
                    }
                    // A short write is gone on with.
                    Ok(()) => assert_eq!(fs::read(&path).unwrap().len(), 40 * 4096 + 3),
                }
                if faults::steps() <= number {
                    break;
                }
            }
            assert!(failed >= 4 || fault == Fault::Short, "{fault:?}: {failed}");
        }
        // Other tests write at the same time, elsewhere.
        assert!(!super::lock().iter().any(|path| path.starts_with(dir.path())));
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        fs::write(&path, "old").unwrap();
        let output = Output::check(&path).unwrap();
        let failed = output.write(|w| {
            w.write_all(b"half")?;
            Err(std::io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_refused_before() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: &std::path::Path| Output::check(path).unwrap_err().to_string();
        assert!(error(dir.path()).ends_with("it is a directory"));
        assert!(error(&dir.path().join("no/such/file")).contains("there is no directory"));
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(Output::check(&dir.path().join("file/below")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_points_to_is_made() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("other")).unwrap();
        // To a name, to a path, and through another link from elsewhere.
        symlink("new", at("plain")).unwrap();
        symlink(at("other/new"), at("whole")).unwrap();
        symlink("../second", at("other/first")).unwrap();
        symlink("third", at("second")).unwrap();
        for (link, target) in [("plain", "new"), ("whole", "other/new"), ("other/first", "third")] {
            for text in ["one", "two"] {
                Output::check(&at(link)).unwrap().write(|w| w.write_all(text.as_bytes())).unwrap();
                assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
                assert!(fs::symlink_metadata(at(target)).unwrap().is_file(), "{link}");
                assert_eq!(fs::read_to_string(at(target)).unwrap(), text);
            }
            assert!(Output::check(&at(link)).unwrap().remove().unwrap());
            assert!(fs::symlink_metadata(at(link)).is_ok() && !at(target).exists());
        }
        // Where nothing can be made, it is said before the work.
        symlink("no/such/file", at("lost")).unwrap();
        symlink("round", at("about")).unwrap();
        symlink("about", at("round")).unwrap();
        for link in ["lost", "round"] {
            let said = Output::check(&at(link)).unwrap_err().to_string();
            assert!(said.starts_with("cannot write ") && said.contains(link), "{said}");
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        Output::check(&link).unwrap().write(|w| w.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        let pipe = pipe_in(dir.path());
        let read = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        Output::check(&pipe).unwrap().write(|w| w.write_all(b"gone")).unwrap();
        // Had it been replaced, nobody would ever write into the pipe that is being read.
        assert!(!fs::metadata(&pipe).unwrap().is_file());
        assert_eq!(read.join().unwrap(), b"gone");
    }
}
