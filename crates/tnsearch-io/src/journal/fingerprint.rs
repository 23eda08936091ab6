//! Which tensor a journal belongs to.

use crate::entries::push_bytes;
use sha2::{Digest, Sha256};
use tnsearch::dispatch;
use tnsearch::problem::Target;
use tnsearch::tensor::Kind;

/// A shape without entries counts as a tensor of ones of that shape, as it was one before version 0.4; beyond this, as one
/// entry.
const MOST_ONES: usize = 1 << 26;

/// A fingerprint of a tensor's dimensions and entries (SHA-256 of their little-endian bytes), and of the kind of its
/// numbers unless they are real ones of 64 bits, and of which are known where not all are.
pub fn fingerprint(target: &Target) -> String {
    let tensor = target.tensor();
    let mut hash = Sha256::new();
    if target.kind() != Kind::F64 {
        hash.update(target.kind().name());
    }
    if target.scale() != 1.0 {
        hash.update(target.scale().to_le_bytes());
    }
    let dims = target.dims();
    hash.update((dims.len() as u64).to_le_bytes());
    for &d in dims {
        hash.update((d as u64).to_le_bytes());
    }
    let mut bytes = Vec::with_capacity(16 * 4096);
    if !target.has_entries() && target.entries() <= MOST_ONES {
        // All but the last, which stands for them.
        let one = 1f64.to_le_bytes();
        (1..target.entries()).for_each(|_| hash.update(one));
    }
    dispatch!(tensor, tensor => for chunk in tensor.data().chunks(4096) {
        bytes.clear();
        push_bytes(chunk, &mut bytes);
        hash.update(&bytes);
    });
    for mask in [target.fitted(), target.held()].into_iter().flatten() {
        let flags: Vec<u8> = mask.as_slice().iter().map(|&inside| u8::from(inside)).collect();
        hash.update(&flags);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::problem::Mask;
    use tnsearch::tensor::Tensor;

    #[test]
    fn a_shape_has_the_fingerprint_of_ones() {
        let shape = |dims: Vec<usize>| fingerprint(&Target::of_shape(dims).unwrap());
        let ones = Tensor::new(vec![3, 2, 4], vec![1.0; 24]).unwrap();
        assert_eq!(shape(vec![3, 2, 4]), fingerprint(&Target::new(ones).unwrap()));
        assert_ne!(shape(vec![4; 20]), shape(vec![4; 21]));
    }

    #[test]
    fn the_fingerprint_sees_shape_and_entries() {
        let print = |dims: &[usize], data: &[f64]| {
            fingerprint(&Target::new(Tensor::new(dims.to_vec(), data.to_vec()).unwrap()).unwrap())
        };
        let base = print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[4, 1], &[1.0, 2.0, 3.0, 4.0]));
        assert_ne!(base, print(&[2, 2], &[1.0, 2.0, 3.0, 4.0 + 1e-15]));
        // The same numbers as another kind are fitted to other bits.
        let tensor = Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let prints = Kind::ALL.map(|kind| {
            let tensor = tnsearch::tensor::AnyTensor::from(tensor.clone()).to_kind(kind).unwrap();
            fingerprint(&Target::new(tensor).unwrap())
        });
        assert_eq!(prints.iter().filter(|p| **p == base).count(), 1);
        assert_eq!(prints.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        // What is known of it counts too.
        let holed = |inside: [bool; 4]| {
            let mask = Mask::new(vec![2, 2], inside.to_vec()).unwrap();
            fingerprint(&Target::with_holes(tensor.clone(), &mask).unwrap())
        };
        let (a, b) = (holed([true, true, true, false]), holed([true, true, false, true]));
        assert!(a != base && b != base && a != b);
        assert_eq!(holed([true; 4]), base);
        // As 0.2.0 had it: journals stay good.
        assert_eq!(base, "7b8317df3ad9cc93739863444e5c9743be869e4efb671fcd2ad703586357eea3");
    }
}
