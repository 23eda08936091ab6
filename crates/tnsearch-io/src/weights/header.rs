//! The header of a safetensors file: read with all that can be wrong with it, and written.

use super::{Notes, shown};
use crate::formats::safetensors::framed;
use crate::{Dtype, Problem};
use safetensors::tensor::Dtype as Stored;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};
use std::fmt;

/// A tensor in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as it stands in the file.
    pub name: String,
    /// Its type, as the format calls it.
    pub stored: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where its bytes begin, counted from the end of the header.
    pub start: u64,
    /// Where they end.
    pub end: u64,
    /// Its place among the fields of the header, whatever the order of the bytes is.
    pub place: usize,
}

impl Entry {
    /// A tensor of a type and a shape whose bytes begin there.
    pub fn new(name: String, stored: String, shape: Vec<usize>, start: u64, bytes: u64) -> Self {
        Entry { name, stored, shape, start, end: start + bytes, place: 0 }
    }

    /// The same at a place in the header.
    pub fn at_place(self, place: usize) -> Self {
        Entry { place, ..self }
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Its entries, saturating.
    pub fn count(&self) -> u64 {
        self.shape.iter().fold(1u64, |n, &d| n.saturating_mul(d as u64))
    }

    /// Its type, where it is one that can be read.
    pub fn dtype(&self) -> Option<Dtype> {
        Some(match &self.stored[..] {
            "BOOL" => Dtype::Bool,
            "I8" => Dtype::I8,
            "I16" => Dtype::I16,
            "I32" => Dtype::I32,
            "I64" => Dtype::I64,
            "U8" => Dtype::U8,
            "U16" => Dtype::U16,
            "U32" => Dtype::U32,
            "U64" => Dtype::U64,
            "F16" => Dtype::F16,
            "BF16" => Dtype::Bf16,
            "F32" => Dtype::F32,
            "F64" => Dtype::F64,
            "C64" => Dtype::C64,
            _ => return None,
        })
    }
}

/// The name of a type of weights in the format.
pub(crate) fn stored_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "F16",
        Dtype::Bf16 => "BF16",
        Dtype::F64 => "F64",
        _ => "F32",
    }
}

impl Dtype {
    /// Its name in safetensors files, for types of weights.
    pub fn stored(self) -> &'static str {
        stored_name(self)
    }
}

/// The fields of a header as they stand, with those that come twice.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a field for each tensor")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields: Vec<(String, Value)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if !seen.insert(name.clone()) {
                        let twice = format!("two tensors are called '{}'", shown(&name));
                        return Err(de::Error::custom(twice));
                    }
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        d.deserialize_map(InOrder)
    }
}

/// The tensors of a header in the order of their bytes, and the notes.
pub(super) fn parse(text: &[u8]) -> Result<(Vec<Entry>, Notes), Problem> {
    let bad = |e: String| Problem::Damaged(format!("bad safetensors header: {e}"));
    let Fields(fields) = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
    let notes = std::str::from_utf8(text).ok().and_then(Notes::of_header);
    let notes = notes.ok_or_else(|| bad("'__metadata__' is no object".to_owned()))?;
    let mut entries = Vec::new();
    for (place, (name, value)) in fields.into_iter().enumerate() {
        if name == "__metadata__" {
            continue;
        }
        let said = || bad(format!("'{}' is no description of a tensor", shown(&name)));
        let list = |field: &str| -> Option<Vec<u64>> {
            value.get(field)?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let stored = value.get("dtype").and_then(Value::as_str).ok_or_else(said)?.to_owned();
        let shape = list("shape").ok_or_else(said)?;
        let shape: Result<Vec<usize>, _> = shape.into_iter().map(usize::try_from).collect();
        let shape = shape.map_err(|_| said())?;
        let [start, end] = list("data_offsets").ok_or_else(said)?[..] else { return Err(said()) };
        if end < start {
            return Err(said());
        }
        entries.push(Entry { name, stored, shape, start, end, place });
    }
    // A sort that keeps the order: empty tensors stay beside their neighbours.
    entries.sort_by_key(|e| (e.start, e.end));
    Ok((entries, notes))
}

/// Checks that the tensors fill `found` bytes, each with as many as its shape needs.
pub(super) fn check(entries: &[Entry], found: u64) -> Result<(), Problem> {
    let again = "save it again with tensors that are contiguous and share no memory";
    for entry in entries {
        let bits = serde_json::from_value::<Stored>(json!(entry.stored)).map(|d| d.bitsize());
        let Ok(bits) = bits else { continue };
        let needed = u128::from(entry.count()) * bits as u128 / 8;
        if needed != u128::from(entry.bytes()) {
            let shape: Vec<String> = entry.shape.iter().map(usize::to_string).collect();
            let name = shown(&entry.name);
            return Err(Problem::Damaged(format!(
                "tensor '{name}' of type {} and shape {} has {} bytes, not {needed}: it is not contiguous; {again}",
                entry.stored,
                shape.join(" x "),
                entry.bytes()
            )));
        }
    }
    let mut last: Option<&Entry> = None;
    let mut at = 0;
    for entry in entries.iter().filter(|e| e.bytes() > 0) {
        let name = shown(&entry.name);
        if let Some(last) = last.filter(|_| entry.start < at) {
            let (other, to) = (shown(&last.name), at.min(entry.end));
            return Err(Problem::Damaged(format!(
                "tensors '{other}' and '{name}' share bytes {} to {to}, which the format does not allow; {again}",
                entry.start
            )));
        }
        if entry.start > at {
            return Err(Problem::Damaged(format!(
                "bytes {at} to {} belong to no tensor (before '{name}'); {again}",
                entry.start
            )));
        }
        (at, last) = (entry.end, Some(entry));
    }
    match at.cmp(&found) {
        std::cmp::Ordering::Greater => Err(Problem::Truncated(format!(
            "the header promises {at} bytes of data, but the file has {found}"
        ))),
        std::cmp::Ordering::Less => Err(Problem::TooLong { promised: u128::from(at), found }),
        std::cmp::Ordering::Equal => Ok(()),
    }
}

/// The bytes in front of the data: the length of the header and the header, to a multiple of 8. Its fields come by their
/// places, of equals as they are given.
pub fn header_bytes(entries: &[Entry], notes: &Notes) -> Vec<u8> {
    let mut fields = Vec::new();
    if !notes.is_empty() {
        fields.push((notes.place, format!("\"__metadata__\":{}", notes.json())));
    }
    for entry in entries {
        let about = json!({
            "dtype": entry.stored, "shape": entry.shape, "data_offsets": [entry.start, entry.end],
        });
        fields.push((entry.place, format!("{}:{}", json!(entry.name), about)));
    }
    fields.sort_by_key(|f| f.0);
    let fields: Vec<String> = fields.into_iter().map(|f| f.1).collect();
    framed(format!("{{{}}}", fields.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_put_at_a_place() {
        let entry = Entry::new("a".into(), "U8".into(), vec![3], 5, 3).at_place(2);
        assert_eq!((entry.place, entry.start, entry.end, &*entry.name), (2, 5, 8, "a"));
    }

    #[test]
    fn every_type_of_the_format_is_known() {
        let all = [
            ("BOOL", Dtype::Bool),
            ("I8", Dtype::I8),
            ("I16", Dtype::I16),
            ("I32", Dtype::I32),
            ("I64", Dtype::I64),
            ("U8", Dtype::U8),
            ("U16", Dtype::U16),
            ("U32", Dtype::U32),
            ("U64", Dtype::U64),
            ("F16", Dtype::F16),
            ("BF16", Dtype::Bf16),
            ("F32", Dtype::F32),
            ("F64", Dtype::F64),
            ("C64", Dtype::C64),
        ];
        for (stored, dtype) in all {
            let entry = Entry::new("x".into(), stored.into(), vec![2, 3], 8, 48);
            assert_eq!(
                (entry.dtype(), entry.count(), entry.bytes()),
                (Some(dtype), 6, 48),
                "{stored}"
            );
        }
        assert_eq!(Entry::new("x".into(), "F8_E4M3".into(), vec![], 0, 1).dtype(), None);
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let entry = Entry::new("x".into(), dtype.stored().into(), vec![], 0, 8);
            assert_eq!(entry.dtype(), Some(dtype), "what is written is read");
        }
    }

    #[test]
    fn tensors_without_entries_and_offsets_that_go_back() {
        let one = |offsets: &str| {
            parse(
                format!(r#"{{"a":{{"dtype":"F32","shape":[0],"data_offsets":{offsets}}}}}"#)
                    .as_bytes(),
            )
        };
        let (entries, _) = one("[0,0]").unwrap();
        assert_eq!((entries.len(), entries[0].bytes()), (1, 0));
        assert_eq!(one("[4,0]").unwrap_err().to_string(), one("[0]").unwrap_err().to_string());
        let said = parse(b"[1]").unwrap_err().to_string();
        assert!(said.contains("an object with a field for each tensor"), "{said}");
    }
}
