//! The number types that can be read, and reading them into 64-bit numbers.

use super::{MemoryLimit, Problem};
use half::{bf16, f16};
use std::io::Read;
use tnsearch::tensor::size;

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
    fn decode(self, bytes: &[u8], big_endian: bool, out: &mut Vec<f64>) {
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

/// How the entries of an array lie in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The dimensions.
    pub dims: Vec<usize>,
    /// The type of the entries.
    pub dtype: Dtype,
    /// The most significant byte comes first.
    pub big_endian: bool,
    /// The first index runs fastest.
    pub fortran: bool,
}

impl Layout {
    /// The number of entries.
    pub fn entries(&self) -> u128 {
        size(&self.dims)
    }

    /// Refuses an array that does not have exactly the `found` bytes that the file has for it.
    pub fn check_length(&self, found: u64) -> Result<(), Problem> {
        let promised = self.entries().saturating_mul(self.dtype.bytes() as u128);
        match promised.cmp(&u128::from(found)) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => Err(Problem::TooLong { promised, found }),
            std::cmp::Ordering::Greater => Err(Problem::Truncated(format!(
                "the header promises {} entries of type {} ({promised} bytes), but the file has \
                 {found} bytes of data",
                self.entries(),
                self.dtype.name()
            ))),
        }
    }

    /// Reads the entries into row-major order. Nothing is held but the result and a small buffer; a
    /// result beyond the limit is refused before it is allocated.
    pub fn read(
        &self,
        from: &mut (impl Read + ?Sized),
        limit: MemoryLimit,
    ) -> Result<Vec<f64>, Problem> {
        let entries = self.entries();
        limit.check(entries)?;
        let refused = || limit.refused(entries);
        let count = usize::try_from(entries).map_err(|_| refused())?;
        let mut data: Vec<f64> = Vec::new();
        data.try_reserve_exact(count).map_err(|_| refused())?;
        let mut scatter = (self.fortran && self.dims.len() > 1).then(|| {
            data.resize(count, 0.0);
            Scatter::new(&self.dims)
        });

        const CHUNK: usize = 8192;
        let mut bytes = vec![0u8; CHUNK * self.dtype.bytes()];
        let mut values: Vec<f64> = Vec::with_capacity(CHUNK);
        let mut left = count;
        while left > 0 {
            let n = left.min(CHUNK);
            let part = &mut bytes[..n * self.dtype.bytes()];
            from.read_exact(part).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    Problem::Truncated(format!("{left} of {count} entries are missing"))
                }
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                    Problem::Damaged(e.to_string())
                }
                _ => Problem::Io(e),
            })?;
            match &mut scatter {
                None => self.dtype.decode(part, self.big_endian, &mut data),
                Some(scatter) => {
                    values.clear();
                    self.dtype.decode(part, self.big_endian, &mut values);
                    for &v in &values {
                        data[scatter.next()] = v;
                    }
                }
            }
            left -= n;
        }
        Ok(data)
    }
}

/// The row-major positions of entries that come with the first index running fastest.
struct Scatter {
    dims: Vec<usize>,
    strides: Vec<usize>,
    index: Vec<usize>,
    position: usize,
}

impl Scatter {
    fn new(dims: &[usize]) -> Self {
        let mut strides = vec![1; dims.len()];
        for k in (0..dims.len() - 1).rev() {
            strides[k] = strides[k + 1] * dims[k + 1];
        }
        Scatter { dims: dims.to_vec(), strides, index: vec![0; dims.len()], position: 0 }
    }

    fn next(&mut self) -> usize {
        let now = self.position;
        for k in 0..self.dims.len() {
            self.index[k] += 1;
            self.position += self.strides[k];
            if self.index[k] < self.dims[k] {
                break;
            }
            self.position -= self.strides[k] * self.dims[k];
            self.index[k] = 0;
        }
        now
    }
}
