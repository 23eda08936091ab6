//! Entries of any kind as little-endian bytes: the parts of complex numbers one after the other.

use std::io::{self, Write};
use tnsearch::tensor::{Kind, Scalar};

/// Appends the bytes of entries.
pub(crate) fn push_bytes<T: Scalar>(entries: &[T], bytes: &mut Vec<u8>) {
    let parts = entries.iter().map(|x| (x.re(), x.im()));
    // Rounding a part to the precision it has changes nothing.
    let single = |x: f64| (x as f32).to_le_bytes();
    match T::KIND {
        Kind::F64 => bytes.extend(parts.flat_map(|(re, _)| re.to_le_bytes())),
        Kind::F32 => bytes.extend(parts.flat_map(|(re, _)| single(re))),
        Kind::C64 => {
            bytes.extend(parts.flat_map(|(re, im)| [re, im]).flat_map(f64::to_le_bytes));
        }
        Kind::C32 => bytes.extend(parts.flat_map(|(re, im)| [re, im]).flat_map(single)),
    }
}

/// Writes the bytes of entries, some thousands at a time.
pub(crate) fn write_entries<T: Scalar>(
    to: &mut (impl Write + ?Sized),
    entries: &[T],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8192 * T::KIND.bytes());
    for chunk in entries.chunks(8192) {
        bytes.clear();
        push_bytes(chunk, &mut bytes);
        to.write_all(&bytes)?;
    }
    Ok(())
}
