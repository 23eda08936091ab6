//! Changes of good files: bytes, fields that are numbers, pieces of other files, values of JSON.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// Numbers at which readers go wrong.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    7,
    127,
    255,
    256,
    65_535,
    65_536,
    i32::MAX as u64,
    u32::MAX as u64,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Texts at which readers of JSON and of headers go wrong.
const TEXTS: [&str; 16] = [
    "",
    "\0",
    "\u{1b}[2J",
    "\u{202e}",
    "\n",
    "'",
    "\"",
    "\\",
    "nan",
    "1e999",
    "-1",
    "ring",
    "any",
    "path:0",
    "peps:99999x99999",
    "{}",
];

/// One to four changes of a file.
pub fn mutate(rng: &mut ChaCha8Rng, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    if rng.random_range(0..4) == 0
        && let Some(changed) = json(rng, &bytes)
    {
        bytes = changed;
    }
    for _ in 0..rng.random_range(1..=4) {
        change(rng, &mut bytes, other);
    }
    bytes
}

fn place(rng: &mut ChaCha8Rng, bytes: &[u8]) -> usize {
    // Headers are where it matters.
    let end = if rng.random_range(0..3) == 0 { bytes.len().min(256) } else { bytes.len() };
    if end == 0 { 0 } else { rng.random_range(0..end) }
}

fn change(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = place(rng, bytes);
    match rng.random_range(0..10) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.random_range(0..8),
        1 if !bytes.is_empty() => bytes[at] = rng.random_range(0..=255),
        2 => bytes.truncate(at),
        3 if !bytes.is_empty() => {
            let end = (at + rng.random_range(1..64)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let from = place(rng, other);
            let end = (from + rng.random_range(1..64)).min(other.len());
            let piece = other[from..end].to_vec();
            bytes.splice(at..at, piece);
        }
        5 => {
            let end = (at + rng.random_range(1..64)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        6 => {
            // A binary field.
            let number = NUMBERS[rng.random_range(0..NUMBERS.len())];
            let width = [1, 2, 4, 8][rng.random_range(0..4)];
            let mut field = number.to_le_bytes();
            if rng.random_range(0..2) == 0 {
                field[..width].reverse();
            }
            for (byte, new) in bytes[at..].iter_mut().zip(&field[..width]) {
                *byte = *new;
            }
        }
        7 => digits(rng, bytes, at),
        8 => {
            let text = TEXTS[rng.random_range(0..TEXTS.len())];
            bytes.splice(at..at, text.bytes());
        }
        _ if bytes.len() > 1 => {
            let to = place(rng, bytes);
            bytes.swap(at, to);
        }
        _ => bytes.push(0),
    }
}

/// Puts another number in the place of the next one written in digits.
fn digits(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|n| at + n) else {
        return;
    };
    let length = bytes[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    let number = NUMBERS[rng.random_range(0..NUMBERS.len())].to_string();
    let number = match rng.random_range(0..4) {
        0 => format!("-{number}"),
        1 => format!("{number}e{}", rng.random_range(-400..400)),
        _ => number,
    };
    bytes.splice(start..start + length, number.into_bytes());
}

/// Changes a value of a file of JSON, or of one of its lines.
fn json(rng: &mut ChaCha8Rng, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines: Vec<String> = match serde_json::from_str::<Value>(text) {
        Ok(_) => vec![text.to_owned()],
        Err(_) => text.split_inclusive('\n').map(str::to_owned).collect(),
    };
    let k = rng.random_range(0..lines.len().max(1));
    let line = lines.get_mut(k)?;
    let mut value: Value = serde_json::from_str(line).ok()?;
    edit(rng, &mut value, 0);
    let end = if line.ends_with('\n') { "\n" } else { "" };
    *line = format!("{value}{end}");
    Some(lines.concat().into_bytes())
}

fn edit(rng: &mut ChaCha8Rng, value: &mut Value, depth: usize) {
    let deeper = depth < 8 && rng.random_range(0..4) > 0;
    match value {
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = rng.random_range(0..fields.len());
            let Some(key) = fields.keys().nth(at).cloned() else { return };
            match rng.random_range(0..8) {
                0 => drop(fields.remove(&key)),
                1 => {
                    let copy = fields[&key].clone();
                    fields.insert(TEXTS[rng.random_range(0..TEXTS.len())].to_owned(), copy);
                }
                _ => edit(rng, &mut fields[&key], depth + 1),
            }
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = rng.random_range(0..items.len());
            match rng.random_range(0..8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => edit(rng, &mut items[at], depth + 1),
            }
        }
        other => {
            *other = match rng.random_range(0..8) {
                0 => Value::Null,
                1 => Value::Bool(true),
                2 => TEXTS[rng.random_range(0..TEXTS.len())].into(),
                3 => Value::Array(Vec::new()),
                4 => serde_json::json!({"mode": true}),
                5 => (-0.5 * f64::from(rng.random_range(0..9u8))).into(),
                _ => NUMBERS[rng.random_range(0..NUMBERS.len())].into(),
            }
        }
    }
}
