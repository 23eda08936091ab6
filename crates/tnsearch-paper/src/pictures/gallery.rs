//! The pictures of a folder.

use super::super::{Options, ReproduceError};
use super::{Origin, Shot, Variant};
use std::path::Path;

/// Pictures of an experiment, in their order.
pub(crate) struct Gallery {
    pictures: Vec<(String, Origin)>,
}

impl Gallery {
    /// The PNG files of a folder of the data, in the order of their names (those of `only`, where it names any), or drawn
    /// ones where a quick version has no data.
    pub fn open(options: &Options, folder: &str, only: &[&str]) -> Result<Gallery, ReproduceError> {
        let drawn = |k: usize| (format!("drawn-{}", k + 1), Origin::Drawn(k, 16));
        let pictures = match &options.data {
            Some(data) => files(&data.join(folder), only)?,
            None if options.quick => (0..options.trials(2)).map(drawn).collect(),
            None => return Err(ReproduceError::NoData { folder: folder.to_owned() }),
        };
        let count = options.trials.unwrap_or(if options.quick { 1 } else { pictures.len() });
        Ok(Gallery { pictures: pictures.into_iter().take(count).collect() })
    }

    /// Each with what becomes of it.
    pub fn shots(&self, variant: Variant) -> impl Iterator<Item = Shot> + '_ {
        self.pictures.iter().map(move |(name, origin)| Shot {
            name: name.clone(),
            variant,
            origin: origin.clone(),
        })
    }
}

fn files(folder: &Path, only: &[&str]) -> Result<Vec<(String, Origin)>, ReproduceError> {
    let unreadable = |e: std::io::Error| ReproduceError::Folder {
        folder: folder.display().to_string(),
        why: tnsearch_io::io_text(&e),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
        if png && (only.is_empty() || only.contains(&name.as_str())) {
            found.push((name, Origin::File(path)));
        }
    }
    if found.is_empty() {
        let why = "there is no PNG file in it".to_owned();
        return Err(ReproduceError::Folder { folder: folder.display().to_string(), why });
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
