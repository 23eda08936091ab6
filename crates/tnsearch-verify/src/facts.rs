//! Verdicts on claims, and which tensor is meant.

use crate::Array;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was checked, and it holds.
    Holds,
    /// It was checked, and it does not.
    DoesNotHold,
    /// It was not checked.
    NotChecked,
    /// It says how a run went (its seed, its time, what else it tried): no file can show that. It contradicts nothing that
    /// was looked at.
    Recorded,
}

/// Whether two errors are the same but for rounding: their roots, which are distances relative to that of zero, may
/// differ by a part in 10^9 and by `rounding`.
pub fn agree(claimed: f64, found: f64, rounding: f64) -> bool {
    let (a, b) = (claimed.sqrt(), found.sqrt());
    claimed == found || (a - b).abs() <= 1e-9 * a.max(b) + rounding
}

/// SHA-256 of the kind of number where it is not `f64`, the order, the dimensions (64-bit whole numbers) and the entries,
/// all little-endian: what journals and certificates call a tensor by.
pub fn fingerprint(x: &Array, kind: &str) -> String {
    let mut hash = Sha256::new();
    if kind != "f64" {
        hash.update(kind);
    }
    hash.update((x.dims.len() as u64).to_le_bytes());
    x.dims.iter().for_each(|&d| hash.update((d as u64).to_le_bytes()));
    let narrow = matches!(kind, "f32" | "complex64");
    let mut put = |x: f64| match narrow {
        true => hash.update((x as f32).to_le_bytes()),
        false => hash.update(x.to_le_bytes()),
    };
    for k in 0..x.re.len() {
        put(x.re[k]);
        if kind.starts_with("complex") {
            put(x.im.get(k).copied().unwrap_or(0.0));
        }
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_agree_up_to_rounding() {
        assert!(agree(0.0, 0.0, 0.0) && agree(1e-4, 1e-4 * (1.0 + 1e-10), 0.0));
        assert!(agree(1e-26, 3e-26, 1e-12) && !agree(1e-4, 1.0001e-4, 1e-12));
        assert!(!agree(0.0, 1e-20, 1e-12) && !agree(f64::NAN, f64::NAN, 1.0));
    }
}
