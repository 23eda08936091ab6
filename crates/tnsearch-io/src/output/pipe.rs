//! Writing into a pipe: whoever reads from it is waited for, unless the program is asked to end.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is looked whether there is somebody who reads.
const TICK: Duration = Duration::from_millis(10);

/// Set when the program is asked to end.
static HURRIED: AtomicBool = AtomicBool::new(false);

/// From now on nobody is waited for who does not read from a pipe. May be called by the handler of a signal.
pub fn hurry() {
    HURRIED.store(true, Ordering::SeqCst);
}

/// A pipe that is written into.
pub(crate) struct Pipe<'a, F> {
    file: F,
    hurried: &'a AtomicBool,
}

impl<F> Pipe<'static, F> {
    /// One that [`open_now`] opened.
    pub(crate) fn new(file: F) -> Self {
        Pipe { file, hurried: &HURRIED }
    }
}

/// Opens a pipe as soon as somebody reads from it.
pub(super) fn open(path: &Path) -> io::Result<Pipe<'static, File>> {
    open_until(path, &HURRIED)
}

/// Opens a pipe that somebody reads from, without waiting for one who does: for what is written from the beginning on. To be
/// written into through a [`Pipe`].
pub(crate) fn open_now(path: &Path) -> io::Result<File> {
    Ok(open_until(path, &AtomicBool::new(true))?.file)
}

#[cfg(unix)]
fn open_until<'a>(path: &Path, hurried: &'a AtomicBool) -> io::Result<Pipe<'a, File>> {
    use rustix::{fs::OFlags, io::Errno};
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = File::options();
    options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    loop {
        match options.open(path) {
            Ok(file) => return Ok(Pipe { file, hurried }),
            // There is nobody.
            Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => wait(hurried)?,
            Err(e) => return Err(e),
        }
    }
}

#[cfg(not(unix))]
fn open_until<'a>(path: &Path, hurried: &'a AtomicBool) -> io::Result<Pipe<'a, File>> {
    Ok(Pipe { file: File::options().write(true).open(path)?, hurried })
}

/// Waits for a moment, if that is still wanted.
fn wait(hurried: &AtomicBool) -> io::Result<()> {
    if hurried.load(Ordering::SeqCst) {
        return Err(io::Error::other("it is a pipe that nobody reads from"));
    }
    std::thread::sleep(TICK);
    Ok(())
}

impl<F: Write> Write for Pipe<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                // It is full.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(self.hurried)?,
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::sync::mpsc;

    fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        (dir, path)
    }

    #[test]
    fn nobody_is_waited_for_once_the_program_is_to_end() {
        let (_dir, path) = pipe();
        let hurried = AtomicBool::new(true);
        let said = open_until(&path, &hurried).err().unwrap().to_string();
        assert_eq!(said, "it is a pipe that nobody reads from");
        assert_eq!(open_now(&path).err().unwrap().to_string(), said);
        // Asked for while it waits.
        let hurried = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| open_until(&path, &hurried).is_err());
            hurried.store(true, Ordering::SeqCst);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn a_reader_who_reads_nothing_is_left_and_one_who_reads_gets_all() {
        let (_dir, path) = pipe();
        let much = vec![7; 1 << 20];
        for reads in [false, true] {
            let hurried = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let (begun, began) = mpsc::channel();
                let at = &path;
                let reader = scope.spawn(move || {
                    let mut file = File::open(at).unwrap();
                    let mut got = Vec::new();
                    file.read_exact(&mut [0]).unwrap();
                    begun.send(()).unwrap();
                    match reads {
                        true => file.read_to_end(&mut got).map(|_| (got, None)).unwrap(),
                        // Kept open.
                        false => (got, Some(file)),
                    }
                });
                let mut pipe = open_until(&path, &hurried).unwrap();
                pipe.write_all(&[1]).unwrap();
                began.recv().unwrap();
                if !reads {
                    let kept = reader.join().unwrap().1;
                    hurried.store(true, Ordering::SeqCst);
                    let said = pipe.write_all(&much).unwrap_err().to_string();
                    assert_eq!(said, "it is a pipe that nobody reads from");
                    drop(kept);
                    return;
                }
                pipe.write_all(&much).unwrap();
                drop(pipe);
                assert_eq!(reader.join().unwrap().0, much);
            });
        }
    }
}
