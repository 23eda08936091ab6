//! Random streams that depend on what is computed, never on when or on which thread.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The generator used everywhere in the library.
pub type Rng = ChaCha8Rng;

/// The random stream of a purpose: a generator that is a pure function of `seed` and `label`.
///
/// ```
/// use rand::Rng as _;
/// let mut a = tnsearch_linalg::rng::stream(7, b"fit 0");
/// let mut b = tnsearch_linalg::rng::stream(7, b"fit 0");
/// let mut c = tnsearch_linalg::rng::stream(7, b"fit 1");
/// let (x, y, z) = (a.next_u64(), b.next_u64(), c.next_u64());
/// assert_eq!(x, y);
/// assert_ne!(x, z);
/// ```
pub fn stream(seed: u64, label: &[u8]) -> Rng {
    let mut key = [0u8; 32];
    // Four 64-bit FNV-1a hashes with different offsets fill the 256-bit ChaCha key.
    for (i, chunk) in key.chunks_exact_mut(8).enumerate() {
        let mut h = 0xcbf2_9ce4_8422_2325u64 ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in seed.to_le_bytes().iter().chain(label) {
            h = (h ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        chunk.copy_from_slice(&mix(h).to_le_bytes());
    }
    Rng::from_seed(key)
}

/// The seed of independent run `k`: run 0 keeps the seed itself, so that one run of several can be
/// repeated alone.
pub fn derived_seed(seed: u64, k: usize) -> u64 {
    if k == 0 {
        return seed;
    }
    // Kept below 2^53 so that the seed survives a trip through JSON readers that use doubles.
    mix(seed ^ mix(k as u64)) >> 11
}

/// The finaliser of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
