//! An array in a file: how its entries lie there, and reading them in row-major order.

use crate::{Dtype, MemoryLimit, Problem};
use std::io::Read;
use tnsearch::tensor::size;

/// An array that was read.
#[derive(Debug)]
pub struct Array {
    /// How its entries lie in the file.
    pub layout: Layout,
    /// Its entries as 64-bit numbers, row-major.
    pub entries: Vec<f64>,
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
        self,
        from: &mut (impl Read + ?Sized),
        limit: MemoryLimit,
    ) -> Result<Array, Problem> {
        let size = self.entries();
        limit.check(size)?;
        let refused = || limit.refused(size);
        let count = usize::try_from(size).map_err(|_| refused())?;
        let mut entries: Vec<f64> = Vec::new();
        entries.try_reserve_exact(count).map_err(|_| refused())?;
        let mut scatter = (self.fortran && self.dims.len() > 1).then(|| {
            entries.resize(count, 0.0);
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
                None => self.dtype.decode(part, self.big_endian, &mut entries),
                Some(scatter) => {
                    values.clear();
                    self.dtype.decode(part, self.big_endian, &mut values);
                    for &v in &values {
                        entries[scatter.next()] = v;
                    }
                }
            }
            left -= n;
        }
        Ok(Array { layout: self, entries })
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
