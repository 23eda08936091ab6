//! The number types that can be read, and what they are as 64-bit numbers.

use half::{bf16, f16};

/// The type of an array's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Dtype {
    /// Bytes of one entry.
    pub fn bytes(self) -> usize {
        match self {
            Dtype::Bool | Dtype::I8 | Dtype::U8 => 1,
            Dtype::I16 | Dtype::U16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::I32 | Dtype::U32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::U64 | Dtype::F64 => 8,
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
        }
    }

    /// Appends the entries in `bytes` (a whole number of them) to `out`.
    pub(crate) fn decode(self, bytes: &[u8], big_endian: bool, out: &mut Vec<f64>) {
        macro_rules! numbers {
            ($t:ty, $convert:expr) => {{
                const N: usize = size_of::<$t>();
                out.extend(bytes.as_chunks::<N>().0.iter().map(|b| {
                    $convert(if big_endian {
                        <$t>::from_be_bytes(*b)
                    } else {
                        <$t>::from_le_bytes(*b)
                    })
                }))
            }};
        }
        match self {
            Dtype::Bool => out.extend(bytes.iter().map(|&b| f64::from(u8::from(b != 0)))),
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
        }
    }
}
