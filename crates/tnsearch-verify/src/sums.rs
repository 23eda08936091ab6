//! Sums that keep what rounding takes.

/// A compensated sum: what each addition loses is kept beside it.
///
/// ```
/// let mut sum = tnsearch_verify::Sum::default();
/// [1e16, 1.0, -1e16].into_iter().for_each(|x| sum.add(x));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let back = sum - self.high;
        self.low += (self.high - (sum - back)) + (x - back);
        self.high = sum;
    }

    /// The sum so far.
    #[inline]
    pub fn value(self) -> f64 {
        // Where a number was infinite the rest is none.
        if self.high.is_finite() { self.high + self.low } else { self.high }
    }
}

/// The compensated sum of products.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = Sum::default();
    a.iter().zip(b).for_each(|(a, b)| sum.add(a * b));
    sum.value()
}

/// The compensated sum of squares.
pub(crate) fn squares(a: &[f64]) -> f64 {
    dot(a, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_small_is_lost_beside_something_large() {
        let mut sum = Sum::default();
        (0..1000).for_each(|_| sum.add(1e-17));
        sum.add(1.0);
        (0..1000).for_each(|_| sum.add(1e-17));
        assert_eq!(sum.value(), 1.0 + 2e-14);
        let mut infinite = Sum::default();
        infinite.add(f64::INFINITY);
        infinite.add(1.0);
        assert_eq!(infinite.value(), f64::INFINITY);
        assert_eq!((dot(&[1.0, 2.0], &[3.0, 4.0]), squares(&[3.0, 4.0])), (11.0, 25.0));
    }
}
