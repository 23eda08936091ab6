//! Numbers that are the same for a seed every time (SplitMix64).

/// A stream of numbers.
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below another, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_numbers_are_those_of_splitmix() {
        // The first of the reference implementation for seed 1234567.
        assert_eq!(super::Random::new(1_234_567).next(), 6_457_827_717_110_365_317);
    }
}
