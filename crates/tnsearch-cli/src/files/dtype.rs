//! The number types that can be read, and reading them into the kind of number that is asked for.

use super::{MemoryLimit, Problem};
use half::{bf16, f16};
use std::io::Read;
use tnsearch::tensor::{AnyTensor, Complex, Kind, Scalar, Tensor, size};

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
    /// Complex, two numbers of single precision.
    C64,
    /// Complex, two numbers of double precision.
    C128,
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
    fn decode<T: Scalar>(self, bytes: &[u8], big_endian: bool, out: &mut Vec<T>) {
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

    /// Reads the tensor as the kind asked for, or else its own with 64-bit parts. Complex numbers are read as real
    /// ones only where no imaginary part is lost.
    pub fn read(
        &self,
        from: &mut (impl Read + ?Sized),
        kind: Option<Kind>,
        limit: MemoryLimit,
    ) -> Result<AnyTensor, Problem> {
        match kind.unwrap_or(self.dtype.kind()) {
            Kind::F32 => self.read_tensor::<f32>(from, limit),
            Kind::F64 => self.read_tensor::<f64>(from, limit),
            Kind::C32 => self.read_tensor::<Complex<f32>>(from, limit),
            Kind::C64 => self.read_tensor::<Complex<f64>>(from, limit),
        }
    }

    fn read_tensor<T: Scalar>(
        &self,
        from: &mut (impl Read + ?Sized),
        limit: MemoryLimit,
    ) -> Result<AnyTensor, Problem> {
        // Real kinds would drop imaginary parts: such a file is read as it is and converted.
        if self.dtype.kind().is_complex() && !T::KIND.is_complex() {
            let complex = self.read_entries::<Complex<f64>>(from, limit)?;
            let complex = AnyTensor::from(Tensor::new(self.dims.clone(), complex)?);
            return Ok(complex.to_kind(T::KIND)?);
        }
        Ok(Tensor::new(self.dims.clone(), self.read_entries::<T>(from, limit)?)?.into())
    }

    /// Reads the entries into row-major order. Nothing is held but the result and a small buffer; a
    /// result beyond the limit is refused before it is allocated.
    fn read_entries<T: Scalar>(
        &self,
        from: &mut (impl Read + ?Sized),
        limit: MemoryLimit,
    ) -> Result<Vec<T>, Problem> {
        let entries = self.entries();
        limit.check(entries, T::KIND)?;
        let refused = || limit.refused(entries, T::KIND);
        let count = usize::try_from(entries).map_err(|_| refused())?;
        let mut data: Vec<T> = Vec::new();
        data.try_reserve_exact(count).map_err(|_| refused())?;
        let mut scatter = (self.fortran && self.dims.len() > 1).then(|| {
            data.resize(count, T::ZERO);
            Scatter::new(&self.dims)
        });

        const CHUNK: usize = 8192;
        let mut bytes = vec![0u8; CHUNK * self.dtype.bytes()];
        let mut values: Vec<T> = Vec::with_capacity(CHUNK);
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
