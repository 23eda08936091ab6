//! An array in a file: how its entries lie there, and reading them in row-major order.

use crate::text::count;
use crate::{Dtype, MemoryLimit, Problem};
use std::io::Read;
use tnsearch::tensor::{AnyTensor, Complex, Kind, Scalar, Tensor, size};

/// An array that was read.
#[derive(Debug)]
pub struct Array {
    /// How its entries lie in the file.
    pub layout: Layout,
    /// The array, of the kind of number that was asked for.
    pub tensor: AnyTensor,
    /// How many of its entries are whole numbers that this kind cannot hold, so that the nearest it can stand for them.
    pub rounded: u64,
}

impl Array {
    /// What there is to say about whole numbers that were rounded, if any were.
    pub fn rounded_text(&self) -> Option<String> {
        rounded_text(self.rounded, self.tensor.len(), self.tensor.kind())
    }
}

/// What there is to say where some entries of an array are whole numbers that a kind cannot hold.
pub fn rounded_text(rounded: u64, entries: usize, kind: Kind) -> Option<String> {
    let (are, they) = if rounded == 1 {
        ("is a whole number", "it is")
    } else {
        ("are whole numbers", "they are")
    };
    (rounded > 0).then(|| {
        format!("{rounded} of {entries} entries {are} that {kind} cannot hold: {they} rounded to the nearest it can")
    })
}

/// Whether a whole number changes when it becomes an entry of that kind.
pub fn is_rounded(number: i128, kind: Kind) -> bool {
    let held = match kind {
        Kind::F32 | Kind::C32 => f64::from(number as f64 as f32),
        Kind::F64 | Kind::C64 => number as f64,
    };
    held as i128 != number
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
                "the header promises {} entries of type {} ({} bytes), but the file has \
                 {found} bytes of data",
                count(self.entries()),
                self.dtype.name(),
                count(promised)
            ))),
        }
    }

    /// Reads the tensor as the kind asked for, or else its own with 64-bit parts. Complex numbers are read as real
    /// ones only where no imaginary part is lost.
    pub fn read(
        self,
        from: &mut (impl Read + ?Sized),
        kind: Option<Kind>,
        limit: MemoryLimit,
    ) -> Result<Array, Problem> {
        let mut rounded = 0;
        let more = (limit, &mut rounded);
        let tensor = match kind.unwrap_or(self.dtype.kind()) {
            Kind::F32 => self.read_tensor::<f32>(from, more),
            Kind::F64 => self.read_tensor::<f64>(from, more),
            Kind::C32 => self.read_tensor::<Complex<f32>>(from, more),
            Kind::C64 => self.read_tensor::<Complex<f64>>(from, more),
        }?;
        Ok(Array { layout: self, tensor, rounded })
    }

    fn read_tensor<T: Scalar>(
        &self,
        from: &mut (impl Read + ?Sized),
        more: (MemoryLimit, &mut u64),
    ) -> Result<AnyTensor, Problem> {
        // Real kinds would drop imaginary parts: such a file is read as it is and converted.
        if self.dtype.kind().is_complex() && !T::KIND.is_complex() {
            let complex = self.read_entries::<Complex<f64>>(from, more)?;
            let complex = AnyTensor::from(Tensor::new(self.dims.clone(), complex)?);
            return Ok(complex.to_kind(T::KIND)?);
        }
        Ok(Tensor::new(self.dims.clone(), self.read_entries::<T>(from, more)?)?.into())
    }

    /// Reads the entries into row-major order, and counts those that are rounded. Nothing is held but the result and a small
    /// buffer; a result beyond the limit is refused before it is allocated.
    fn read_entries<T: Scalar>(
        &self,
        from: &mut (impl Read + ?Sized),
        (limit, rounded): (MemoryLimit, &mut u64),
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
            *rounded += self.dtype.rounded(part, self.big_endian, T::KIND);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, ErrorKind};

    /// Some bytes, and then this error.
    struct Failing<'a>(&'a [u8], ErrorKind);

    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() { Err(self.1.into()) } else { self.0.read(buffer) }
        }
    }

    #[test]
    fn what_goes_wrong_while_entries_are_read_is_told_apart() {
        let layout = |dims: &[usize]| Layout {
            dims: dims.to_vec(),
            dtype: Dtype::F64,
            big_endian: false,
            fortran: false,
        };
        let said = |kind| {
            let mut from = Failing(&[0; 24], kind);
            layout(&[2, 3]).read(&mut from, None, MemoryLimit::new(None)).unwrap_err()
        };
        assert!(matches!(said(ErrorKind::InvalidData), Problem::Damaged(_)));
        assert!(matches!(said(ErrorKind::InvalidInput), Problem::Damaged(_)));
        assert!(matches!(said(ErrorKind::PermissionDenied), Problem::Io(_)));
        let early = said(ErrorKind::UnexpectedEof).to_string();
        assert_eq!(early, "truncated: 6 of 6 entries are missing");
    }

    #[test]
    fn whole_numbers_that_a_kind_cannot_hold_are_counted_and_told() {
        let (single, double) = ((1i128 << 24) + 1, (1i128 << 53) + 1);
        for (number, f32s, f64s) in [
            (1 << 24, false, false),
            (single, true, false),
            (-single, true, false),
            (1 << 53, false, false),
            (double, true, true),
        ] {
            let found = [Kind::F32, Kind::C32, Kind::F64, Kind::C64].map(|k| is_rounded(number, k));
            assert_eq!(found, [f32s, f32s, f64s, f64s], "{number}");
        }
        let said = |rounded| rounded_text(rounded, 9, Kind::F32);
        assert_eq!(said(0), None);
        assert_eq!(
            said(1).unwrap(),
            "1 of 9 entries is a whole number that f32 cannot hold: it is rounded to the nearest it can"
        );
        assert_eq!(
            said(2).unwrap(),
            "2 of 9 entries are whole numbers that f32 cannot hold: they are rounded to the nearest it can"
        );
        let layout = Layout { dims: vec![3], dtype: Dtype::I64, big_endian: false, fortran: false };
        let bytes: Vec<u8> = [1i64, double as i64, 1 << 60].map(i64::to_le_bytes).concat();
        for (kind, rounded) in [(None, 1), (Some(Kind::F32), 1), (Some(Kind::C64), 1)] {
            let read = layout.clone().read(&mut &bytes[..], kind, MemoryLimit::new(None)).unwrap();
            assert_eq!(read.rounded, rounded, "{kind:?}");
            assert!(read.rounded_text().unwrap().starts_with("1 of 3 entries is"));
        }
    }

    #[test]
    fn an_array_has_as_many_bytes_as_its_header_says() {
        let layout = |dims: &[usize]| Layout {
            dims: dims.to_vec(),
            dtype: Dtype::F64,
            big_endian: false,
            fortran: false,
        };
        assert_eq!((layout(&[2, 3]).entries(), layout(&[]).entries()), (6, 1));
        assert!(layout(&[2, 3]).check_length(48).is_ok());
        assert!(matches!(
            layout(&[2, 3]).check_length(49).unwrap_err(),
            Problem::TooLong { promised: 48, found: 49 }
        ));
        assert_eq!(
            layout(&[2, 3]).check_length(47).unwrap_err().to_string(),
            "truncated: the header promises 6 entries of type f64 (48 bytes), but the file has 47 bytes of data"
        );
    }

    #[test]
    fn entries_are_scattered_where_the_first_index_runs_fastest() {
        let mut scatter = Scatter::new(&[2, 3, 2]);
        let found: Vec<usize> = (0..12).map(|_| scatter.next()).collect();
        assert_eq!(found, [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]);
    }
}
