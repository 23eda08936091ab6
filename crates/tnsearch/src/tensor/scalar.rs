//! The numbers that tensors are made of: real and complex, of 32 and 64 bits.

use super::{AnyTensor, Tensor};
use crate::SettingError;
use crate::rng::Rng;
use num_complex::Complex;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

/// The kind of number a tensor is made of, named as numpy names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Real, 32 bits: about 7 digits.
    #[serde(rename = "f32")]
    F32,
    /// Real, 64 bits: about 16 digits. What everything is computed with unless another kind is asked for.
    #[serde(rename = "f64")]
    F64,
    /// Complex, two numbers of 32 bits.
    #[serde(rename = "complex64")]
    C32,
    /// Complex, two numbers of 64 bits.
    #[serde(rename = "complex128")]
    C64,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::F32, Kind::F64, Kind::C32, Kind::C64];

    /// The name: `f32`, `f64`, `complex64` or `complex128`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::C32 => "complex64",
            Kind::C64 => "complex128",
        }
    }

    /// The bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Kind::F32 => 4,
            Kind::F64 | Kind::C32 => 8,
            Kind::C64 => 16,
        }
    }

    /// Whether its numbers have an imaginary part.
    pub fn is_complex(self) -> bool {
        matches!(self, Kind::C32 | Kind::C64)
    }

    /// The distance from 1 to the next number of a part: `2^-23` or `2^-52`.
    pub fn epsilon(self) -> f64 {
        match self {
            Kind::F32 | Kind::C32 => f64::from(f32::EPSILON),
            Kind::F64 | Kind::C64 => f64::EPSILON,
        }
    }

    /// What takes the place of a tolerance that was measured with 64-bit numbers: `of_f64 * epsilon / 2^-52`.
    ///
    /// ```
    /// use tnsearch::tensor::Kind;
    /// assert_eq!(Kind::C64.tolerance(1e-13), 1e-13);
    /// assert!(Kind::F32.tolerance(1e-13) > 5e-5);
    /// ```
    pub fn tolerance(self, of_f64: f64) -> f64 {
        of_f64 * (self.epsilon() / f64::EPSILON)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = SettingError;

    fn from_str(s: &str) -> Result<Self, SettingError> {
        Kind::ALL.into_iter().find(|k| k.name() == s).ok_or_else(|| {
            SettingError::new("dtype", format!("'{s}'"), "use f32, f64, complex64 or complex128")
        })
    }
}

pub(crate) mod sealed {
    /// The kernels of small matrix products; keeps [`Scalar`](super::Scalar) closed.
    pub trait Kernel: Sized {
        /// `C = A B` by the small-matrix kernels, which have no set-up cost.
        ///
        /// # Safety
        /// As that of `nano_gemm::planless`: every entry the strides lead to must be there.
        #[allow(clippy::too_many_arguments)]
        unsafe fn small_product(
            shape: (usize, usize, usize),
            dst: *mut Self,
            dst_strides: (isize, isize),
            lhs: *const Self,
            lhs_strides: (isize, isize),
            rhs: *const Self,
            rhs_strides: (isize, isize),
            conj: (bool, bool),
        );
    }
}

/// A number that tensors are made of: `f32`, `f64`, `Complex<f32>` or `Complex<f64>`.
///
/// Norms, errors and everything else that is real whatever the kind is an `f64`. For `f64` itself every operation is
/// the plain one, so that generic code gives the bits that code written for `f64` would give.
pub trait Scalar:
    sealed::Kernel
    + faer::traits::ComplexField
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
    + 'static
{
    /// The same with parts of 64 bits.
    type Wide: Scalar;

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

    /// The tensor in its erased form.
    fn erase(tensor: Tensor<Self>) -> AnyTensor;

    /// The tensor behind an erased form, if it is of this kind.
    fn of(tensor: &AnyTensor) -> Option<&Tensor<Self>>;

    /// The same, taken out of it; the tensor itself where it is of another kind.
    fn take(tensor: AnyTensor) -> Result<Tensor<Self>, AnyTensor>;
}

macro_rules! kernel {
    ($t:ty, $execute:ident) => {
        impl sealed::Kernel for $t {
            #[inline(always)]
            unsafe fn small_product(
                (m, n, k): (usize, usize, usize),
                dst: *mut Self,
                dst_strides: (isize, isize),
                lhs: *const Self,
                lhs_strides: (isize, isize),
                rhs: *const Self,
                rhs_strides: (isize, isize),
                conj: (bool, bool),
            ) {
                // SAFETY: the caller's.
                unsafe {
                    nano_gemm::planless::$execute(
                        m,
                        n,
                        k,
                        dst,
                        dst_strides.0,
                        dst_strides.1,
                        lhs,
                        lhs_strides.0,
                        lhs_strides.1,
                        rhs,
                        rhs_strides.0,
                        rhs_strides.1,
                        Self::ZERO,
                        Self::ONE,
                        conj.0,
                        conj.1,
                    );
                }
            }
        }
    };
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
    ($t:ty, $variant:ident, $execute:ident) => {
        kernel!($t, $execute);

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
    ($part:ty, $variant:ident, $execute:ident) => {
        kernel!(Complex<$part>, $execute);

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

real!(f32, F32, execute_f32);
real!(f64, F64, execute_f64);
complex!(f32, C32, execute_c32);
complex!(f64, C64, execute_c64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let unknown = "f16".parse::<Kind>().unwrap_err().to_string();
        assert_eq!(unknown, "dtype is 'f16'; use f32, f64, complex64 or complex128");
    }

    fn moments<T: Scalar>() {
        let mut rng = crate::rng::stream(1, b"normal");
        let draws: Vec<T> = (0..20_000).map(|_| T::normal(&mut rng)).collect();
        let of = |f: fn(T) -> f64| draws.iter().map(|&x| f(x)).sum::<f64>() / draws.len() as f64;
        assert!((of(T::abs_squared) - 1.0).abs() < 0.05, "{}", T::KIND);
        assert!(of(T::re).abs() < 0.03 && of(T::im).abs() < 0.03);
        assert!(of(|x| x.re() * x.im()).abs() < 0.03);
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
