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

    #[test]
    fn a_tensor_is_called_by_the_sum_of_its_bytes() {
        let real = Array::real(vec![2, 1], vec![1.5, -2.0]).unwrap();
        let complex = Array::complex(vec![2, 1], vec![1.5, -2.0], vec![0.25, 3.0]).unwrap();
        // By Python's hashlib and struct.
        for (x, kind, expected) in [
            (&real, "f64", "daa9be6be904e1af2e8968df5fd569031ddf7db8ee66e08959c6962526a3ad63"),
            (&real, "f32", "991398ef5184c490d7fa9ceb494b858be52b590319f8cf4223f0970f3efaa2ca"),
            (
                &real,
                "complex128",
                "d506f8f6735eb4c7d6c963feddf30b55bf96e09ecb2b45f997f7c5d2f9e34624",
            ),
            (
                &complex,
                "complex64",
                "d98dce4ad2d1e506f05539f930bb544d44fe5d80a351d6f7b2b93c8338fb529c",
            ),
            (
                &complex,
                "complex128",
                "871a7385e0438865696a5debe97d1dc5df101fedfc4a3a2ce6ecfb084c834c98",
            ),
        ] {
            assert_eq!(fingerprint(x, kind), expected, "{kind}");
        }
    }
}
