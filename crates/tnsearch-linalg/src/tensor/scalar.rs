//! The numbers that tensors are made of: real and complex, of 32 and 64 bits.

use super::{AnyTensor, Kind, Tensor};
use crate::linalg::Kernels;
use crate::rng::Rng;
use num_complex::Complex;
use rand_distr::{Distribution, StandardNormal};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number that tensors are made of: `f32`, `f64`, `Complex<f32>` or `Complex<f64>`.
///
/// Norms, errors and everything else that is real whatever the kind is an `f64`. For `f64` itself every operation is
/// the plain one, so that generic code gives the bits that code written for `f64` would give.
pub trait Scalar:
    Kernels
    + Copy
    + Send
    + Sync
    + fmt::Display
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + PartialEq
    + fmt::Debug
    + 'static
{
    /// The same with parts of 64 bits.
    type Wide: Scalar<Wide = Self::Wide>;

    /// Which one it is.
    const KIND: Kind;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// `re + i im`, each rounded to the kind's precision; real kinds have no use for `im`.
    fn from_parts(re: f64, im: f64) -> Self;

    /// The real part.
    fn re(self) -> f64;

    /// The imaginary part, 0 for real kinds.
    fn im(self) -> f64;

    /// The complex conjugate.
    fn conj(self) -> Self;

    /// `|x|`.
    fn abs(self) -> f64;

    /// `|x|^2`.
    fn abs_squared(self) -> f64;

    /// The product with a real number.
    fn scale(self, by: f64) -> Self;

    /// The quotient by a real number.
    fn unscale(self, by: f64) -> Self;

    /// Whether no part is infinite or NaN.
    fn is_finite(self) -> bool;

    /// A standard normal number, `E |x|^2 = 1`: one draw for real kinds, two for complex ones.
    fn normal(rng: &mut Rng) -> Self;

    /// The same number with parts of 64 bits.
    fn widen(self) -> Self::Wide;

    /// A number of 64 bits, rounded to this kind.
    fn narrow(wide: Self::Wide) -> Self {
        Self::from_parts(wide.re(), wide.im())
    }

    /// The tensor in its erased form.
    fn erase(tensor: Tensor<Self>) -> AnyTensor;

    /// The tensor behind an erased form, if it is of this kind.
    fn of(tensor: &AnyTensor) -> Option<&Tensor<Self>>;

    /// The same, taken out of it; the tensor itself where it is of another kind.
    fn take(tensor: AnyTensor) -> Result<Tensor<Self>, AnyTensor>;
}

macro_rules! erasure {
    ($variant:ident) => {
        fn erase(tensor: Tensor<Self>) -> AnyTensor {
            AnyTensor::$variant(tensor)
        }

        fn of(tensor: &AnyTensor) -> Option<&Tensor<Self>> {
            match tensor {
                AnyTensor::$variant(tensor) => Some(tensor),
                _ => None,
            }
        }

        fn take(tensor: AnyTensor) -> Result<Tensor<Self>, AnyTensor> {
            match tensor {
                AnyTensor::$variant(tensor) => Ok(tensor),
                other => Err(other),
            }
        }
    };
}

macro_rules! real {
    ($t:ty, $variant:ident) => {
        impl Scalar for $t {
            type Wide = f64;
            const KIND: Kind = Kind::$variant;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn from_parts(re: f64, _im: f64) -> Self {
                re as $t
            }

            #[inline(always)]
            fn re(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn im(self) -> f64 {
                0.0
            }

            #[inline(always)]
            fn conj(self) -> Self {
                self
            }

            #[inline(always)]
            fn abs(self) -> f64 {
                f64::from(self).abs()
            }

            #[inline(always)]
            fn abs_squared(self) -> f64 {
                let x = f64::from(self);
                x * x
            }

            #[inline(always)]
            fn scale(self, by: f64) -> Self {
                self * by as $t
            }

            #[inline(always)]
            fn unscale(self, by: f64) -> Self {
                self / by as $t
            }

            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }

            fn normal(rng: &mut Rng) -> Self {
                StandardNormal.sample(rng)
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            erasure!($variant);
        }
    };
}

macro_rules! complex {
    ($part:ty, $variant:ident) => {
        impl Scalar for Complex<$part> {
            type Wide = Complex<f64>;
            const KIND: Kind = Kind::$variant;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);

            #[inline(always)]
            fn from_parts(re: f64, im: f64) -> Self {
                Complex::new(re as $part, im as $part)
            }

            #[inline(always)]
            fn re(self) -> f64 {
                f64::from(self.re)
            }

            #[inline(always)]
            fn im(self) -> f64 {
                f64::from(self.im)
            }

            #[inline(always)]
            fn conj(self) -> Self {
                Complex::conj(&self)
            }

            fn abs(self) -> f64 {
                f64::from(self.re).hypot(f64::from(self.im))
            }

            #[inline(always)]
            fn abs_squared(self) -> f64 {
                let (re, im) = (f64::from(self.re), f64::from(self.im));
                re * re + im * im
            }

            #[inline(always)]
            fn scale(self, by: f64) -> Self {
                self * by as $part
            }

            #[inline(always)]
            fn unscale(self, by: f64) -> Self {
                self / by as $part
            }

            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }

            fn normal(rng: &mut Rng) -> Self {
                let mut part = || -> f64 { StandardNormal.sample(rng) };
                let (re, im) = (part(), part());
                let half = std::f64::consts::FRAC_1_SQRT_2;
                Self::from_parts(half * re, half * im)
            }

            #[inline(always)]
            fn widen(self) -> Complex<f64> {
                Complex::new(f64::from(self.re), f64::from(self.im))
            }

            erasure!($variant);
        }
    };
}

real!(f32, F32);
real!(f64, F64);
complex!(f32, C32);
complex!(f64, C64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Few in Miri: it takes a millisecond for each.
    const DRAWS: usize = if cfg!(miri) { 200 } else { 20_000 };

    fn moments<T: Scalar>() {
        let mut rng = crate::rng::stream(1, b"normal");
        let draws: Vec<T> = (0..DRAWS).map(|_| T::normal(&mut rng)).collect();
        let of = |f: fn(T) -> f64| draws.iter().map(|&x| f(x)).sum::<f64>() / draws.len() as f64;
        // As far as so many draws tell.
        let off = 4.2 / (DRAWS as f64).sqrt();
        assert!((of(T::abs_squared) - 1.0).abs() < 1.6 * off, "{}", T::KIND);
        assert!(of(T::re).abs() < off && of(T::im).abs() < off);
        assert!(of(|x| x.re() * x.im()).abs() < off);
    }

    #[test]
    fn normal_numbers_have_variance_one() {
        moments::<f32>();
        moments::<f64>();
        moments::<Complex<f32>>();
        moments::<Complex<f64>>();
    }

    #[test]
    fn a_real_draw_is_one_draw_of_the_stream() {
        let mut a = crate::rng::stream(3, b"draw");
        let mut b = crate::rng::stream(3, b"draw");
        let mut c = crate::rng::stream(3, b"draw");
        for _ in 0..10 {
            let x: f64 = StandardNormal.sample(&mut a);
            assert_eq!(f64::normal(&mut b), x);
            assert_eq!(f32::normal(&mut c), x as f32);
        }
    }
}
