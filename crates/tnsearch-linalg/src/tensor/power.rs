//! Powers of two: multiplication by them is exact wherever the result is a normal number.

use super::{AnyTensor, Complex, Scalar, Tensor};
use crate::dispatch;

/// `2^exponent`, subnormal numbers included; infinite above `2^1023`, 0 below `2^-1074`.
///
/// ```
/// use tnsearch_linalg::tensor::power_of_two;
/// assert_eq!((power_of_two(-1), power_of_two(1023)), (0.5, 2f64.powi(1023)));
/// assert_eq!(power_of_two(-1074), 5e-324);
/// ```
pub fn power_of_two(exponent: i64) -> f64 {
    let mut one = [1.0];
    multiply(&mut one, exponent);
    one[0]
}

/// Multiplies by `2^exponent`, in steps that are numbers of the kind: nothing overflows or vanishes on the way that is a
/// number at the end.
pub fn multiply<T: Scalar>(data: &mut [T], exponent: i64) {
    /// Further than the largest number is from the least.
    const FAR: i64 = 4200;
    let step = if T::KIND.epsilon() > 1e-10 { 100 } else { 1000 };
    let exponent = exponent.clamp(-FAR, FAR);
    for by in shares(exponent, exponent.unsigned_abs().div_ceil(step) as usize) {
        let factor = 2f64.powi(by as i32);
        data.iter_mut().for_each(|x| *x = x.scale(factor));
    }
}

/// The exponent of the largest part of all entries; none where all are zero or one is not finite.
pub fn exponent<T: Scalar>(data: &[T]) -> Option<i64> {
    let largest = data.iter().fold(0.0f64, |m, x| m.max(x.re().abs()).max(x.im().abs()));
    let known = largest > 0.0 && data.iter().all(|&x| Scalar::is_finite(x));
    // The logarithm of what is next to the largest number is rounded up to 1024.
    known.then(|| (largest.log2().floor() as i64).min(1023))
}

/// An exponent in as many parts, which differ by at most 1.
pub fn shares(exponent: i64, count: usize) -> impl Iterator<Item = i64> {
    let n = count.max(1) as i64;
    let (share, more) = (exponent.div_euclid(n), exponent.rem_euclid(n));
    (0..count as i64).map(move |k| share + i64::from(k < more))
}

/// Multiplies a network by `2^exponent`, spread over its cores so that none overflows or vanishes.
pub fn spread<T: Scalar>(cores: &mut [Tensor<T>], exponent: i64) {
    if exponent != 0 {
        let by = shares(exponent, cores.len());
        cores.iter_mut().zip(by).for_each(|(core, by)| multiply(core.data_mut(), by));
    }
}

/// Divides each core by a power of two so that its largest entry is near 1; the exponent of them all.
pub fn normalise<T: Scalar>(cores: &mut [Tensor<T>]) -> i64 {
    let mut all = 0;
    for core in cores {
        let Some(own) = exponent(core.data()).filter(|own| *own != 0) else { continue };
        multiply(core.data_mut(), -own);
        all += own;
    }
    all
}

/// The cores of a network divided by `2^exponent`, all of about one size.
pub fn divided<T: Scalar>(cores: &[&Tensor<T>], exponent: i64) -> Vec<Tensor<T>> {
    let mut own: Vec<Tensor<T>> = cores.iter().map(|&core| core.clone()).collect();
    let all = normalise(&mut own);
    spread(&mut own, all - exponent);
    own
}

/// Whether products of such cores may leave the range of numbers on the way to a tensor that does not.
pub fn is_extreme<T: Scalar>(cores: &[Tensor<T>]) -> bool {
    let range = if T::KIND.epsilon() > 1e-10 { 60 } else { 500 };
    cores.iter().filter_map(|core| exponent(core.data())).map(i64::abs).sum::<i64>() > range
}

impl<T: Scalar> Tensor<T> {
    /// The root of the mean of `|x|^2`, whatever the size of the entries; 0 of no entries.
    pub fn rms(&self) -> f64 {
        let plain = self.norm_squared();
        if (1e-280..1e300).contains(&plain) || plain == 0.0 && exponent(self.data()).is_none() {
            return (plain / self.len().max(1) as f64).sqrt();
        }
        let Some(size) = exponent(self.data()) else { return f64::NAN };
        let mut near: Vec<Complex<f64>> =
            self.data().iter().map(|x| Complex::new(x.re(), x.im())).collect();
        multiply(&mut near, -size);
        let mut rms = [(super::sum_of_squares(&near) / near.len() as f64).sqrt()];
        multiply(&mut rms, size);
        rms[0]
    }
}

impl AnyTensor {
    /// The root of the mean of `|x|^2`, whatever the size of the entries ([`Tensor::rms`]).
    pub fn rms(&self) -> f64 {
        dispatch!(self, t => t.rms())
    }

    /// The Frobenius norm, whatever the size of the entries; infinite where it is no number.
    pub fn norm(&self) -> f64 {
        let plain = self.norm_squared();
        match (1e-280..1e300).contains(&plain) {
            true => plain.sqrt(),
            false => self.rms() * (self.len() as f64).sqrt(),
        }
    }

    /// The same tensor times `2^exponent`, exact wherever an entry stays a normal number.
    pub fn times_power_of_two(mut self, exponent: i64) -> AnyTensor {
        if exponent != 0 {
            dispatch!(&mut self, t => multiply(t.data_mut(), exponent));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_exact_over_the_whole_range() {
        for k in -1074..=1023i64 {
            let bits = match k {
                -1074..=-1023 => 1u64 << (k + 1074),
                _ => ((k + 1023) as u64) << 52,
            };
            assert_eq!(power_of_two(k).to_bits(), bits, "{k}");
        }
        assert_eq!((power_of_two(1024), power_of_two(-1075)), (f64::INFINITY, 0.0));
        // There and back again, from one end of the range to the other.
        let mut x = [f64::MAX, 1.0, -3.0];
        multiply(&mut x, -1500);
        assert!(x[0] > 0.0 && x[1] == 0.0);
        let mut least = [5e-324f64, -1.5e-323];
        multiply(&mut least, 2097);
        assert_eq!(least, [2f64.powi(1023), -3.0 * 2f64.powi(1022) * 2.0]);
        // Next to the largest number the logarithm is rounded up.
        assert_eq!((exponent(&[f64::MAX]), exponent(&[5e-324])), (Some(1023), Some(-1074)));
        let mut small = [f32::from_bits(1)];
        multiply(&mut small, 149 + 127);
        assert_eq!(small, [2f32.powi(127)]);
    }

    #[test]
    fn shares_add_up_and_differ_by_one() {
        for (exponent, count) in [(7, 3), (-7, 3), (0, 5), (-1074, 4), (1023, 1)] {
            let parts: Vec<i64> = shares(exponent, count).collect();
            assert_eq!((parts.len(), parts.iter().sum::<i64>()), (count, exponent));
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            assert!(most - least <= 1, "{parts:?}");
        }
    }

    #[test]
    fn means_and_norms_of_any_size() {
        for k in [-1070i64, -900, -300, 0, 300, 900, 1020] {
            let entries = [3.0, -4.0, 0.0, 5.0].map(|x| x * power_of_two(k));
            let x = Tensor::new(vec![2, 2], entries.to_vec()).unwrap();
            let unit = x.rms() / power_of_two(k);
            assert!((unit - (50f64 / 4.0).sqrt()).abs() < if k < -1060 { 0.1 } else { 1e-14 });
            let norm = AnyTensor::from(x).norm() / power_of_two(k);
            assert!((norm - 50f64.sqrt()).abs() < if k < -1060 { 0.1 } else { 1e-14 });
        }
        assert_eq!(Tensor::<f64>::zeros(vec![2, 2]).rms(), 0.0);
    }
}
