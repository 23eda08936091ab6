//! The spectrum of one cut, from both sides.

/// The spectrum of one cut: how much of the tensor lies beyond the k largest singular values.
///
/// Where all singular values were computed, tails are known to rounding. Where only the leading ones were, from a
/// sketch that misses an energy `m = ||E||_F^2` of the tensor ([`super::Spectra`]), they are known from two sides:
///
/// `||X||^2 - sum_{j<=k} s_j^2 - m <= tau(k) <= ||X||^2 - sum_{j<=k} s_j^2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// `tails[k] >= sum over j > k of sigma_j^2 / ||X||^2`, down to the last that is known.
    tails: Vec<f64>,
    /// How much of each tail may be none; 0 where all values are known.
    missed: f64,
    /// The number of singular values there are.
    side: usize,
    /// By how much rounding can have raised a tail t: `absolute + root * sqrt(t)`.
    absolute: f64,
    root: f64,
}

impl Spectrum {
    /// From squares relative to `||X||^2`, falling; what they miss, and the slack for rounding.
    pub(super) fn new(
        squares: &[f64],
        missed: f64,
        side: usize,
        (absolute, root): (f64, f64),
    ) -> Self {
        let mut tails: Vec<f64> = Vec::with_capacity(squares.len());
        let mut sum = missed;
        for square in squares.iter().rev() {
            sum += square;
            tails.push(sum);
        }
        tails.reverse();
        Spectrum { tails, missed, side, absolute, root }
    }

    /// `tau(k) / ||X||^2` as computed; from above where not all values are known.
    pub fn tail(&self, k: usize) -> f64 {
        let beyond = if k < self.side { self.missed } else { 0.0 };
        self.tails.get(k).copied().unwrap_or(beyond)
    }

    /// A lower bound on the RSE of any tensor whose unfolding has rank at most k: the tail less the slack.
    pub fn bound(&self, k: usize) -> f64 {
        self.certain(self.tail(k)).max(0.0)
    }

    /// The least rank with which an RSE of `eps` is not ruled out.
    pub fn rank(&self, eps: f64) -> usize {
        self.tails.partition_point(|&t| self.certain(t) > eps)
    }

    /// The least rank whose tail is at most `eps`.
    pub fn reach(&self, eps: f64) -> usize {
        match self.tails.partition_point(|&t| t > eps) {
            k if k == self.tails.len() && self.missed > eps => self.side,
            k => k,
        }
    }

    /// What is taken off the tail beyond k: for rounding, and for what is not known.
    pub fn slack(&self, k: usize) -> f64 {
        self.tail(k) - self.certain(self.tail(k))
    }

    /// How much of each tail may be none, since not all singular values were computed; 0 where they were.
    pub fn missed(&self) -> f64 {
        self.missed
    }

    fn certain(&self, tail: f64) -> f64 {
        tail - self.missed - self.absolute - self.root * tail.sqrt()
    }

    /// The squared singular values relative to their sum, falling, as far as they are known.
    pub fn values(&self) -> Vec<f64> {
        let next = self.tails.iter().skip(1).chain([&self.missed]);
        self.tails.iter().zip(next).map(|(a, b)| a - b).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_known() {
        let spectrum = Spectrum::new(&[0.5, 0.25, 0.25], 0.0, 3, (0.0, 0.0));
        let tails: Vec<f64> = (0..5).map(|k| spectrum.tail(k)).collect();
        assert_eq!(tails, [1.0, 0.5, 0.25, 0.0, 0.0]);
        for (eps, rank) in [(1.0, 0), (0.75, 1), (0.5, 1), (0.4, 2), (0.25, 2), (0.1, 3), (0.0, 3)]
        {
            assert_eq!((spectrum.reach(eps), spectrum.rank(eps)), (rank, rank), "{eps}");
        }
        assert_eq!((spectrum.missed(), spectrum.slack(1), spectrum.bound(1)), (0.0, 0.0, 0.5));
        assert_eq!(spectrum.values(), [0.5, 0.25, 0.25]);
    }

    #[test]
    fn what_a_sketch_misses_counts_for_neither_side() {
        // Of five values two are known, and a quarter of the tensor is missed.
        let spectrum = Spectrum::new(&[0.5, 0.25], 0.25, 5, (0.0, 0.0));
        let tails: Vec<f64> = (0..7).map(|k| spectrum.tail(k)).collect();
        assert_eq!(tails, [1.0, 0.5, 0.25, 0.25, 0.25, 0.0, 0.0]);
        let bounds: Vec<f64> = (0..6).map(|k| spectrum.bound(k)).collect();
        assert_eq!(bounds, [0.75, 0.25, 0.0, 0.0, 0.0, 0.0]);
        // From above: what is missed may be anywhere, up to the last value.
        for (eps, reach, rank) in [(0.5, 1, 1), (0.3, 2, 1), (0.25, 2, 1), (0.2, 5, 2), (0.0, 5, 2)]
        {
            assert_eq!((spectrum.reach(eps), spectrum.rank(eps)), (reach, rank), "{eps}");
        }
        assert_eq!((spectrum.missed(), spectrum.slack(0)), (0.25, 0.25));
        assert_eq!(spectrum.values(), [0.5, 0.25]);
    }

    #[test]
    fn the_slack_for_rounding_weakens_the_bound_alone() {
        let spectrum = Spectrum::new(&[0.75, 0.25], 0.0, 2, (0.125, 0.125));
        // 0.25 - 0.125 - 0.125 * 0.5.
        assert_eq!(
            (spectrum.tail(1), spectrum.bound(1), spectrum.slack(1)),
            (0.25, 0.0625, 0.1875)
        );
        assert_eq!(
            (spectrum.rank(0.0625), spectrum.rank(0.0624), spectrum.reach(0.0625)),
            (1, 2, 2)
        );
    }
}
