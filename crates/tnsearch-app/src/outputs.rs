//! Where results go: that no output stands in the way of another file.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Two files that have to be different are one.
#[derive(Debug, Error)]
#[error("{} and {} are the same file, {}", names[0], names[1], path.display())]
#[non_exhaustive]
pub struct SameFile {
    /// What they are for.
    pub names: [String; 2],
    /// The file.
    pub path: PathBuf,
}

/// Refuses two outputs on one file, and an output on an input.
pub fn check_distinct(
    inputs: &[(&str, &Path)],
    outputs: &[(&str, Option<&Path>)],
) -> Result<(), SameFile> {
    let mut seen: Vec<(&str, PathBuf)> = inputs.iter().map(|(n, p)| (*n, real(p))).collect();
    for (name, path) in outputs {
        let Some(path) = path else { continue };
        let path = real(path);
        // Several outputs may go to one device (/dev/null).
        let clash = |p: &PathBuf| same(p, &path) && (p.is_file() || !p.exists());
        if let Some((other, _)) = seen.iter().find(|(_, p)| clash(p)) {
            let names = [name, other].map(|n| (*n).to_owned());
            return Err(SameFile { names, path });
        }
        seen.push((name, path));
    }
    Ok(())
}

/// Whether two paths without links are one file: by its name, or another name of it (a hard link).
fn same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (a.metadata(), b.metadata()) {
        use std::os::unix::fs::MetadataExt as _;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    a == b
}

/// A path without links and dots; of a file that is not there yet, where it would be.
fn real(path: &Path) -> PathBuf {
    // As many links as systems follow.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        if let Ok(found) = std::fs::canonicalize(&path) {
            return found;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let (Ok(folder), Some(name)) = (folder, path.file_name()) else { return path };
        // A link to what is not there yet.
        match std::fs::read_link(folder.join(name)) {
            Ok(to) => path = folder.join(to),
            Err(_) => return folder.join(name),
        }
    }
    path
}
