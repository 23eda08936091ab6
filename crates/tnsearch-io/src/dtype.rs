//! The number types that can be read, and reading them into the kind of number that is asked for.

use crate::array::is_rounded;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use tnsearch::tensor::{Kind, Scalar};

/// The type of an array's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
#[non_exhaustive]
pub enum Dtype {
    /// One byte, zero or not.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE half precision.
    F16,
    /// The upper half of a single-precision number.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Complex, two numbers of single precision.
    C64,
    /// Complex, two numbers of double precision.
    C128,
}

/// All of them.
const ALL: [Dtype; 15] = [
    Dtype::Bool,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F32,
    Dtype::F64,
    Dtype::C64,
    Dtype::C128,
];

impl From<Dtype> for &'static str {
    fn from(dtype: Dtype) -> Self {
        dtype.name()
    }
}

impl TryFrom<String> for Dtype {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = ALL.into_iter().find(|d| d.name() == name);
        known.ok_or_else(|| format!("'{name}' is no type of numbers"))
    }
}

impl Dtype {
    /// Bytes of one entry.
    pub fn bytes(self) -> usize {
        match self {
            Dtype::Bool | Dtype::I8 | Dtype::U8 => 1,
            Dtype::I16 | Dtype::U16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::I32 | Dtype::U32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::U64 | Dtype::F64 | Dtype::C64 => 8,
            Dtype::C128 => 16,
        }
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::I8 => "i8",
            Dtype::I16 => "i16",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::U8 => "u8",
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::U64 => "u64",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::C64 => "complex64",
            Dtype::C128 => "complex128",
        }
    }

    /// The kind of number it is computed with unless another is asked for: 64-bit parts.
    pub fn kind(self) -> Kind {
        match self {
            Dtype::C64 | Dtype::C128 => Kind::C64,
            _ => Kind::F64,
        }
    }

    /// Appends the entries in `bytes` (a whole number of them) to `out`.
    pub(crate) fn decode<T: Scalar>(self, bytes: &[u8], big_endian: bool, out: &mut Vec<T>) {
        let real = |v: f64| T::from_parts(v, 0.0);
        macro_rules! numbers {
            ($t:ty, $convert:expr) => {{
                const N: usize = size_of::<$t>();
                out.extend(bytes.as_chunks::<N>().0.iter().map(|b| {
                    real($convert(if big_endian {
                        <$t>::from_be_bytes(*b)
                    } else {
                        <$t>::from_le_bytes(*b)
                    }))
                }))
            }};
        }
        macro_rules! complex {
            ($t:ty) => {{
                const N: usize = size_of::<$t>();
                let part = |b: &[u8; N]| {
                    f64::from(if big_endian {
                        <$t>::from_be_bytes(*b)
                    } else {
                        <$t>::from_le_bytes(*b)
                    })
                };
                let parts = bytes.as_chunks::<N>().0.as_chunks::<2>().0.iter();
                out.extend(parts.map(|[re, im]| T::from_parts(part(re), part(im))))
            }};
        }
        match self {
            Dtype::Bool => out.extend(bytes.iter().map(|&b| real(f64::from(u8::from(b != 0))))),
            Dtype::I8 => numbers!(i8, f64::from),
            Dtype::I16 => numbers!(i16, f64::from),
            Dtype::I32 => numbers!(i32, f64::from),
            // Beyond 2^53 these round to the nearest double.
            Dtype::I64 => numbers!(i64, |v| v as f64),
            Dtype::U8 => numbers!(u8, f64::from),
            Dtype::U16 => numbers!(u16, f64::from),
            Dtype::U32 => numbers!(u32, f64::from),
            Dtype::U64 => numbers!(u64, |v| v as f64),
            Dtype::F16 => numbers!(f16, f64::from),
            Dtype::Bf16 => numbers!(bf16, f64::from),
            Dtype::F32 => numbers!(f32, f64::from),
            Dtype::F64 => numbers!(f64, |v| v),
            Dtype::C64 => complex!(f32),
            Dtype::C128 => complex!(f64),
        }
    }

    /// How many entries in `bytes` are whole numbers that a kind cannot hold.
    pub(crate) fn rounded(self, bytes: &[u8], big_endian: bool, kind: Kind) -> u64 {
        let single = matches!(kind, Kind::F32 | Kind::C32);
        macro_rules! count {
            ($t:ty) => {{
                let chunks = bytes.as_chunks::<{ size_of::<$t>() }>().0.iter();
                let numbers = chunks.map(|b| match big_endian {
                    true => <$t>::from_be_bytes(*b),
                    false => <$t>::from_le_bytes(*b),
                });
                numbers.filter(|&v| is_rounded(i128::from(v), kind)).count() as u64
            }};
        }
        match self {
            Dtype::I64 => count!(i64),
            Dtype::U64 => count!(u64),
            Dtype::I32 if single => count!(i32),
            Dtype::U32 if single => count!(u32),
            _ => 0,
        }
    }

    /// Its name in .npy files, without the order of bytes; bf16, which these do not have, is written as f32.
    pub(crate) fn npy_name(self) -> &'static str {
        match self {
            Dtype::Bool => "b1",
            Dtype::I8 => "i1",
            Dtype::I16 => "i2",
            Dtype::I32 => "i4",
            Dtype::I64 => "i8",
            Dtype::U8 => "u1",
            Dtype::U16 => "u2",
            Dtype::U32 => "u4",
            Dtype::U64 => "u8",
            Dtype::F16 => "f2",
            Dtype::Bf16 | Dtype::F32 => "f4",
            Dtype::F64 => "f8",
            Dtype::C64 => "c8",
            Dtype::C128 => "c16",
        }
    }

    /// Appends the bytes of a number, little-endian: whole numbers are rounded and cut off at the ends of their range.
    pub(crate) fn encode(self, re: f64, im: f64, out: &mut Vec<u8>) {
        let whole = re.round();
        match self {
            Dtype::Bool => out.push(u8::from(re >= 0.5)),
            Dtype::I8 => out.extend((whole as i8).to_le_bytes()),
            Dtype::I16 => out.extend((whole as i16).to_le_bytes()),
            Dtype::I32 => out.extend((whole as i32).to_le_bytes()),
            Dtype::I64 => out.extend((whole as i64).to_le_bytes()),
            Dtype::U8 => out.push(whole as u8),
            Dtype::U16 => out.extend((whole as u16).to_le_bytes()),
            Dtype::U32 => out.extend((whole as u32).to_le_bytes()),
            Dtype::U64 => out.extend((whole as u64).to_le_bytes()),
            Dtype::F16 => out.extend(f16::from_f64(re).to_le_bytes()),
            Dtype::Bf16 | Dtype::F32 => out.extend((re as f32).to_le_bytes()),
            Dtype::F64 => out.extend(re.to_le_bytes()),
            Dtype::C64 => [re, im].iter().for_each(|x| out.extend((*x as f32).to_le_bytes())),
            Dtype::C128 => [re, im].iter().for_each(|x| out.extend(x.to_le_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_counted_that_a_kind_is_too_short_for() {
        let numbers = [7u64, (1 << 24) + 1, (1 << 53) + 1, 1 << 60];
        let kinds = [Kind::F32, Kind::C32, Kind::F64, Kind::C64];
        let of = |dtype: Dtype, bytes: Vec<u8>, big: bool| {
            kinds.map(|kind| dtype.rounded(&bytes, big, kind))
        };
        let (little, big) = (numbers.map(u64::to_le_bytes), numbers.map(u64::to_be_bytes));
        for dtype in [Dtype::I64, Dtype::U64] {
            assert_eq!(of(dtype, little.concat(), false), [2, 2, 1, 1], "{dtype:?}");
            assert_eq!(of(dtype, big.concat(), true), [2, 2, 1, 1], "{dtype:?}");
        }
        for dtype in [Dtype::I32, Dtype::U32] {
            let bytes = [numbers[0], numbers[1]].map(|n| (n as u32).to_le_bytes()).concat();
            assert_eq!(of(dtype, bytes, false), [1, 1, 0, 0], "{dtype:?}");
        }
        assert_eq!(of(Dtype::U64, u64::MAX.to_le_bytes().to_vec(), false), [1; 4]);
        assert_eq!(of(Dtype::F64, little.concat(), false), [0; 4]);
    }
}
