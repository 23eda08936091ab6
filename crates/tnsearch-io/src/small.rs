//! Small files, read whole: within a bound, and without waiting for a pipe that nobody writes into.

use crate::{FileError, Problem};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most that is read of a small file, in bytes: a template, a structure, a summary.
pub const MOST: u64 = 64 << 20;

/// Reads a file, a pipe or a device of at most `most` bytes.
///
/// What is longer is refused, without an end or not. A pipe has to have somebody who writes into it, as that of a shell's
/// `<(...)`.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    try_read(path, most).map_err(|problem| problem.of(path))
}

/// The text of a file of at most [`MOST`] bytes.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    String::from_utf8(read(path, MOST)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Problem::Format(format!("text: byte {at} begins no character of UTF-8")).of(path)
    })
}

/// The first bytes of a file, at most `count`; none where it is none: what is read from a pipe or a device is gone.
pub fn start(path: &Path, count: u64) -> Result<Option<Vec<u8>>, FileError> {
    let read = || {
        if !about(path)?.is_file() {
            return Ok(None);
        }
        let mut start = Vec::new();
        File::open(path)?.take(count).read_to_end(&mut start)?;
        Ok(Some(start))
    };
    read().map_err(|problem: Problem| problem.of(path))
}

/// What is known of a path that is no directory.
fn about(path: &Path) -> Result<Metadata, Problem> {
    let about = fs::metadata(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Problem::Missing,
        _ => Problem::Io(e),
    })?;
    match about.is_dir() {
        true => Err(Problem::NotAFile("a directory")),
        false => Ok(about),
    }
}

fn try_read(path: &Path, most: u64) -> Result<Vec<u8>, Problem> {
    let about = about(path)?;
    if about.is_file() && about.len() > most {
        return Err(Problem::Long(most));
    }
    let pipe = crate::output::is_pipe(&about);
    // Nothing large comes from a device.
    let most = if about.is_file() || pipe { most } else { most.min(MOST) };
    let mut bytes = Vec::new();
    let file = match pipe {
        true => open_pipe(path, &mut bytes)?,
        false => File::open(path)?,
    };
    let left = most.saturating_add(1).saturating_sub(bytes.len() as u64);
    file.take(left).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(Problem::Long(most)),
        false => Ok(bytes),
    }
}

/// Opens a pipe that somebody writes into, without waiting for one who does; what was read on the way goes to `first`.
#[cfg(unix)]
fn open_pipe(path: &Path, first: &mut Vec<u8>) -> Result<File, Problem> {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut some = [0; 4096];
    match file.read(&mut some) {
        Ok(0) => return Err(Problem::NotAFile("a pipe that nobody writes into")),
        Ok(n) => first.extend(&some[..n]),
        Err(e) if e.kind() == ErrorKind::WouldBlock => {}
        Err(e) => return Err(e.into()),
    }
    // From now on there is somebody to wait for.
    fcntl_setfl(&file, OFlags::empty()).map_err(io::Error::from)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_pipe(path: &Path, _: &mut Vec<u8>) -> Result<File, Problem> {
    Ok(File::open(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path, most: u64) -> String {
        read(path, most).unwrap_err().problem.to_string()
    }

    #[test]
    fn files_are_read_up_to_the_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(refusal(&path, 4), "it is longer than 4 bytes, the most that is read of it");
        assert_eq!(start(&path, 3).unwrap().unwrap(), b"123");
        assert_eq!(refusal(dir.path(), 9), "it is a directory, not a file");
        assert_eq!(refusal(&dir.path().join("none"), 9), "no such file");
        fs::write(&path, b"ab\xff").unwrap();
        let said = read_text(&path).unwrap_err().problem.to_string();
        assert_eq!(said, "not text: byte 2 begins no character of UTF-8");
        // A file that seems to have no end: it takes no room.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().contains("longer than 67.1 MB"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_without_an_end_and_pipes_without_a_writer_are_refused() {
        let zeros = Path::new("/dev/zero");
        assert!(refusal(zeros, 1 << 16).starts_with("it is longer than 65.5 kB"));
        assert_eq!(start(zeros, 8).unwrap(), None);
        assert!(read("/dev/null".as_ref(), 9).unwrap().is_empty());
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert_eq!(refusal(&pipe, 9), "it is a pipe that nobody writes into, not a file");
        // Held open for reading, too, so that nobody has to wait.
        let open = || fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut writer = open();
        io::Write::write_all(&mut writer, &[b'x'; 5000]).unwrap();
        assert!(refusal(&pipe, 4500).starts_with("it is longer than 4.5 kB"));
        drop(writer);
        let mut writer = open();
        let read = std::thread::spawn({
            let pipe = pipe.clone();
            move || read(&pipe, 9000).unwrap().len()
        });
        io::Write::write_all(&mut writer, &[b'x'; 8000]).unwrap();
        // The pipe has been emptied: there is a reader, who waits for the end.
        while rustix::io::ioctl_fionread(&writer).unwrap() > 0 {
            std::thread::yield_now();
        }
        drop(writer);
        assert_eq!(read.join().unwrap(), 8000);
    }
}
