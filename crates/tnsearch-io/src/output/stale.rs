//! Temporary files that a kill or a power cut has left beside outputs.

use super::PREFIX;
use std::fs::{self, DirEntry, File};
use std::path::Path;
use std::time::Duration;

/// Whoever writes a file has touched it within this time, also where a file system knows no locks.
const AGE: Duration = Duration::from_secs(3600);

/// Looked through at most: a folder may be full.
const MOST: usize = 100_000;

/// Removes temporary files in a folder that are ours, that nobody is writing and that have not been touched for an hour.
/// What cannot be told or removed is left.
pub(super) fn remove(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MOST).flatten() {
        if is_stale(&entry) == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file is one of ours that was left; none where that cannot be told.
fn is_stale(entry: &DirEntry) -> Option<bool> {
    let name = entry.file_name();
    let letters = name.to_str()?.strip_prefix(PREFIX)?;
    if letters.len() != 6 || !letters.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Some(false);
    }
    // Not through a link.
    let about = entry.metadata().ok()?;
    if !about.is_file() || about.modified().ok()?.elapsed().ok()? < AGE {
        return Some(false);
    }
    // Who writes it holds a lock, which ends with its process.
    Some(File::open(entry.path()).ok()?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use crate::output::{Output, temporary};
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    #[test]
    fn what_a_kill_left_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let old = SystemTime::now() - Duration::from_secs(4000);
        let aged = |name: &str| {
            let file = File::create(at(name)).unwrap();
            file.set_modified(old).unwrap();
        };
        let stay = [
            ".tnsearch-notes",
            ".tnsearch-",
            ".tnsearch-abc12",
            ".tnsearch-abc1234",
            ".tnsearch-abc_12",
            ".tnsearch-abc123.npy",
            "tnsearch-abc123",
            ".other-abc123",
        ];
        // "notes" has five letters.
        stay.into_iter().for_each(aged);
        aged(".tnsearch-abC123");
        aged(".tnsearch-000000");
        fs::create_dir(at(".tnsearch-folder")).unwrap();
        File::create(at(".tnsearch-fresh1")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("tnsearch-abc123", at(".tnsearch-linked")).unwrap();
        // One that is being written, however long that takes.
        let held = temporary(dir.path()).unwrap();
        held.as_file().set_modified(old).unwrap();
        Output::check(&at("out")).unwrap().write(|w| w.write_all(b"x")).unwrap();
        assert!(!at(".tnsearch-abC123").exists() && !at(".tnsearch-000000").exists());
        assert!(stay.iter().all(|name| at(name).exists()));
        assert!(at(".tnsearch-folder").is_dir() && at(".tnsearch-fresh1").exists());
        assert!(fs::symlink_metadata(at(".tnsearch-linked")).is_ok() || cfg!(not(unix)));
        assert!(held.path().exists());
        // Left by who wrote it.
        let (file, path) = held.keep().unwrap();
        drop(file);
        Output::check(&at("out")).unwrap();
        assert!(!path.exists());
    }
}
