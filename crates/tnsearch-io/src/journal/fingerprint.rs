//! Which tensor a journal belongs to.

use sha2::{Digest, Sha256};
use tnsearch::problem::Target;

/// A fingerprint of a tensor's dimensions and entries (SHA-256 of their little-endian bytes).
pub fn fingerprint(target: &Target) -> String {
    let tensor = target.tensor();
    let mut hash = Sha256::new();
    if target.scale() != 1.0 {
        hash.update(target.scale().to_le_bytes());
    }
    hash.update((tensor.order() as u64).to_le_bytes());
    for &d in tensor.dims() {
        hash.update((d as u64).to_le_bytes());
    }
    let mut bytes = Vec::with_capacity(8 * 4096);
    for chunk in tensor.data().chunks(4096) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|v| v.to_le_bytes()));
        hash.update(&bytes);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::tensor::Tensor;

    #[test]
    fn the_fingerprint_sees_shape_and_entries() {
        let print = |dims: &[usize], data: &[f64]| {
            fingerprint(&Target::new(Tensor::new(dims.to_vec(), data.to_vec()).unwrap()).unwrap())
        };
        let base = print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[4, 1], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0 + 1e-15]));
    }
}
