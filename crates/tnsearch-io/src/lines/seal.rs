//! The checksum of a line: its last field, `"crc"`, the CRC-32 (that of zlib) of the line without this field, in eight
//! hexadecimal digits.

/// What stands before the digits, and behind them.
const BEFORE: &[u8] = b",\"crc\":\"";
const BEHIND: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// A JSON object with its checksum. What is no object, or an empty one, has no place for it.
pub(crate) fn seal(line: &str) -> String {
    match line.strip_suffix('}') {
        Some(body) if body.len() > 1 => {
            format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(line.as_bytes()))
        }
        _ => line.to_owned(),
    }
}

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// It has no checksum.
    Plain,
    /// It has the right one: what it says without that.
    Whole(Vec<u8>),
    /// It has a wrong one.
    Broken,
}

/// Takes the checksum off a line.
pub(crate) fn open(line: &[u8]) -> Opened {
    let parts = || {
        let (start, digits) = line.strip_suffix(BEHIND)?.split_last_chunk::<DIGITS>()?;
        let body = start.strip_suffix(BEFORE)?;
        let lower = digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'));
        lower.then_some((body, std::str::from_utf8(digits).ok()?))
    };
    let Some((body, digits)) = parts() else { return Opened::Plain };
    let whole = [body, b"}"].concat();
    match format!("{:08x}", crc32fast::hash(&whole)) == digits {
        true => Opened::Whole(whole),
        false => Opened::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_is_json_and_any_change_of_a_byte_is_seen() {
        let line = r#"{"run":0,"rse":0.25,"format":{"name":"x"}}"#;
        let sealed = seal(line);
        // By zlib.crc32 of Python.
        assert_eq!(sealed, r#"{"run":0,"rse":0.25,"format":{"name":"x"},"crc":"27773110"}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&sealed).is_ok());
        assert_eq!(open(sealed.as_bytes()), Opened::Whole(line.as_bytes().to_vec()));
        assert_eq!(open(line.as_bytes()), Opened::Plain);
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut bytes = sealed.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                // In the name of the field itself: then there is none.
                assert!(!matches!(open(&bytes), Opened::Whole(_)), "bit {bit} of byte {at}");
            }
        }
        assert_eq!([seal("{}"), seal("12")], ["{}", "12"]);
        assert_eq!(open(b""), Opened::Plain);
    }
}
