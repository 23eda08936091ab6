//! Safetensors files of named arrays of 64-bit numbers with notes: what models are written as.

use crate::entries::write_entries;
use crate::formats::safetensors::{SafetensorsFile, framed};
use crate::registry::{Archive, find};
use crate::{FileError, MemoryLimit, Problem};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;
use tnsearch::tensor::{Kind, Tensor, size};

/// Arrays by their names, and what was noted about them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Named {
    /// What was noted.
    pub notes: HashMap<String, String>,
    /// The arrays.
    pub arrays: HashMap<String, Tensor>,
}

/// Writes notes and arrays, in the order given. The same ones give the same bytes.
pub fn write(
    to: &mut dyn Write,
    notes: &BTreeMap<&str, String>,
    arrays: &[(String, &Tensor)],
) -> io::Result<()> {
    let mut header = format!("{{\"__metadata__\":{}", json!(notes));
    let mut start = 0;
    for (name, array) in arrays {
        let end = start + 8 * array.len();
        let info = json!({"dtype": "F64", "shape": array.dims(), "data_offsets": [start, end]});
        header += &format!(",{}:{info}", json!(name));
        start = end;
    }
    header.push('}');
    to.write_all(&framed(header))?;
    arrays.iter().try_for_each(|(_, array)| write_entries(to, array.data()))
}

/// Reads a file that is marked so, `"format": mark` in its notes; `what` it is called where it is none.
pub fn read(path: &Path, mark: &str, what: &str, limit: MemoryLimit) -> Result<Named, FileError> {
    let not = |why: &str| Problem::NotAModel(format!("{what} written by tnsearch: {why}"));
    let read = || {
        let found = find(path)?;
        let safetensors = std::ptr::eq(found.format, &crate::formats::safetensors::FORMAT);
        if !safetensors {
            return Err(not("it is no safetensors file"));
        }
        let mut file = SafetensorsFile::open(found.file, found.length)?;
        let notes = file.notes();
        if notes.get("format").is_none_or(|f| f != mark) {
            return Err(not(&format!("its metadata has no \"format\": \"{mark}\"")));
        }
        let keys = file.keys();
        let shapes = keys.iter().map(|key| Ok(size(&file.layout(key)?.dims)));
        limit.check(shapes.sum::<Result<u128, Problem>>()?, Kind::F64)?;
        let mut arrays = HashMap::new();
        for key in keys {
            let array = file.read(&key, Some(Kind::F64), limit)?.tensor;
            let array = array.into_f64().map_err(|_| not(&format!("'{key}' is not real")))?;
            arrays.insert(key, array);
        }
        Ok(Named { notes, arrays })
    };
    read().map_err(|p| p.of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_notes_come_back_bit_for_bit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        let a = Tensor::new(vec![2, 2], vec![0.1, -2.0, 1e-300, 4.0]).unwrap();
        let b = Tensor::new(vec![1], vec![7.0]).unwrap();
        let notes =
            BTreeMap::from([("format", "some".to_owned()), ("odd \"name\"", "ü\n".to_owned())]);
        let mut bytes = Vec::new();
        write(&mut bytes, &notes, &[("a".to_owned(), &a), ("b \"x\"".to_owned(), &b)]).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let limit = MemoryLimit::new(Some(1 << 20));
        let named = read(&path, "some", "model", limit).unwrap();
        assert_eq!((&named.arrays["a"], &named.arrays["b \"x\""]), (&a, &b));
        assert_eq!(named.notes["odd \"name\""], "ü\n");
        let other = read(&path, "other", "model", limit).unwrap_err().to_string();
        assert!(
            other.ends_with(
                "not a model written by tnsearch: its metadata has no \"format\": \"other\""
            ),
            "{other}"
        );
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(read(&path, "some", "model", limit).unwrap_err().to_string().contains("truncated"));
    }
}
