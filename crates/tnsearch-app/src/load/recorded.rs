//! The tensor of a search that is on record.

use super::{ARRAY, LoadError, as_picture, as_prepared, picture_of};
use tnsearch::problem::Target;
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_io::journal::{Header, fingerprint};
use tnsearch_io::{MemoryLimit, Problem, read_tensor, split_key};

/// Where a tensor comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file, with the key of the array where there are several.
    File(String),
    /// An array.
    Array(AnyTensor),
}

impl Source {
    /// A tensor as it was taken before: its picture prepared, its shape changed where it has the one for that.
    fn read(
        &self,
        kind: Option<Kind>,
        reshape: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> Result<AnyTensor, LoadError> {
        let pictured = reshape.filter(|r| r.picture().is_some());
        let tensor = match (self, pictured) {
            (Source::File(name), Some(reshape)) => {
                let own = picture_of(name, limit, &mut Vec::new())?.0;
                as_prepared(own, reshape, kind)?
            }
            (Source::File(name), None) => read_tensor(name, kind, limit)?.tensor,
            (Source::Array(own), reshape) => {
                let own = match reshape {
                    Some(reshape) => as_picture(own.clone(), reshape)?,
                    None => own.clone(),
                };
                let kind = kind.unwrap_or(own.kind());
                own.to_kind(kind)?
            }
        };
        Ok(match reshape {
            Some(reshape) if reshape.from() == tensor.dims() => reshape.apply(tensor),
            _ => tensor,
        })
    }

    fn target(&self, tensor: AnyTensor) -> Result<Target, LoadError> {
        Target::new(tensor).map_err(|e| match self {
            Source::File(name) => Problem::from(e).of(split_key(name).0).into(),
            Source::Array(_) => e.into(),
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Source::File(name) => name,
            Source::Array(_) => ARRAY,
        }
    }
}

/// The tensor of a search that is on record, in the shape and of the kind of number that it was searched with. None
/// where it is another tensor.
pub fn recorded(
    source: &Source,
    header: &Header,
    limit: MemoryLimit,
) -> Result<Option<Target>, LoadError> {
    // The search may have been made with another kind of number than the file has.
    for kind in [None].into_iter().chain(Kind::ALL.map(Some)) {
        let tensor = match source.read(kind, header.reshaped.as_ref(), limit) {
            Ok(tensor) => tensor,
            Err(_) if kind.is_some() => continue,
            Err(e) => return Err(e),
        };
        if tensor.dims() != header.dims {
            return Ok(None);
        }
        let target = source.target(tensor)?;
        if fingerprint(&target) == header.sha256 {
            return Ok(Some(target));
        }
    }
    Ok(None)
}

/// A tensor as numbers of that kind, reshaped as it was where it has the shape for that.
pub fn read_as(
    source: &Source,
    kind: Kind,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> Result<Target, LoadError> {
    source.target(source.read(Some(kind), reshape, limit)?)
}
