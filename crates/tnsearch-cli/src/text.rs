//! Numbers for people.

/// Bytes in GB, with two digits after the point where that says something.
pub fn gigabytes(bytes: u128) -> String {
    let gb = bytes as f64 / 1e9;
    match gb {
        g if g >= 1e15 => format!("{g:.1e}"),
        g if g >= 0.1 => format!("{g:.2}"),
        g => format!("{g:.4}"),
    }
}
