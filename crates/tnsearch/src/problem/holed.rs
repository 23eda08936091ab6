//! A tensor in its own shape of which some entries are missing, before it is reshaped and fitted.

use super::{DataError, Mask, MaskError, Target};
use crate::dispatch;
use crate::tensor::{AnyTensor, Complex, Reshape, Scalar, Tensor, TensorError, sum_of_squares};
use serde::Serialize;

/// A tensor, what is known of it, and what was removed from that.
///
/// ```
/// use tnsearch::{problem::Holed, tensor::Tensor};
/// let x = Tensor::new(vec![2, 2], vec![1.0, f64::NAN, 2.0, 7.0]).unwrap();
/// let holed = Holed::new(x.into(), None, true, None).unwrap();
/// assert_eq!((holed.missing(), holed.target(None).unwrap().norm_squared()), (1, 54.0));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Holed {
    /// All known entries; zero where nothing is known.
    pub whole: AnyTensor,
    /// Which entries are known to the fit, in the tensor's own shape.
    pub observed: Mask,
    /// Which were removed.
    pub removed: Option<Mask>,
}

/// How well removed entries came back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recovered {
    /// How many were removed.
    pub entries: usize,
    /// Their error, squared and relative to them.
    pub rse: f64,
    /// Its root.
    pub re: f64,
    /// The root of the mean square.
    pub rmse: f64,
    /// The PSNR, of data from 0 to 1.
    pub psnr: Option<f64>,
}

impl Holed {
    /// A tensor of which the entries that are `known` (row-major; all by default) were observed, NaN never where that says
    /// missing. A share of them is removed, which entries is decided by the seed beside it.
    pub fn new(
        mut tensor: AnyTensor,
        known: Option<Vec<bool>>,
        nan_missing: bool,
        remove: Option<(f64, u64)>,
    ) -> Result<Self, MaskError> {
        let mut known = known.unwrap_or_else(|| vec![true; tensor.len()]);
        if nan_missing && known.len() == tensor.len() {
            (0..tensor.len()).filter(|&k| is_nan(&tensor, k)).for_each(|k| known[k] = false);
        }
        let observed = Mask::new(tensor.dims().to_vec(), known)?;
        let (observed, removed) = match remove {
            None => (observed, None),
            Some((share, seed)) => {
                let (left, removed) = observed.without(share, seed)?;
                (left, Some(removed))
            }
        };
        let inside =
            |k: usize| observed.contains(k) || removed.as_ref().is_some_and(|r| r.contains(k));
        clear(&mut tensor, inside);
        Ok(Holed { whole: tensor, observed, removed })
    }

    /// The data in the shape in which it is fitted.
    pub fn target(&self, reshape: Option<&Reshape>) -> Result<Target, DataError> {
        let masks = 1 + usize::from(self.removed.is_some());
        let beside = (self.whole.bytes() + masks * self.whole.len()) as u64;
        let (mut tensor, mut mask) = (self.whole.clone(), self.observed.clone());
        if let Some(reshape) = reshape {
            tensor = reshape.apply(tensor);
            let flags = reshape.apply(as_numbers(&mask)?);
            let inside = (0..flags.len()).map(|k| flags.entry(k).re == 1.0).collect();
            mask = Mask::new(flags.dims().to_vec(), inside)?;
        }
        Ok(Target::with_holes(tensor, &mask)?.standing_beside(beside))
    }

    /// Entries in all that are missing.
    pub fn missing(&self) -> usize {
        self.whole.len() - self.observed.count()
    }

    /// The slices without an observed entry in words, if there are any.
    pub fn empty_text(&self) -> Option<String> {
        const MOST: usize = 8;
        let empty = self.observed.empty_slices();
        let named: Vec<String> =
            empty.iter().take(MOST).map(|(mode, i)| format!("index {i} of mode {mode}")).collect();
        let more = match empty.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!empty.is_empty()).then(|| {
            format!(
                "no entry is observed at {}{more}; they are predicted by the mean of the others",
                named.join(", ")
            )
        })
    }

    /// What a network predicts, a tensor in the own shape and of the same kind of number, with observed entries as they
    /// are. None where it is of another shape or kind.
    pub fn filled(&self, mut predicted: AnyTensor) -> Option<AnyTensor> {
        if predicted.dims() != self.whole.dims() {
            return None;
        }
        dispatch!(&mut predicted, z => {
            let x = self.whole.typed()?;
            for k in self.observed.positions() {
                z.data_mut()[k] = x.data()[k];
            }
        });
        Some(predicted)
    }

    /// How well what was removed came back in a filled tensor.
    pub fn recovered(&self, full: &AnyTensor) -> Option<Recovered> {
        let removed = self.removed.as_ref()?;
        let x = |k: usize| self.whole.entry(k);
        let off: Vec<_> = removed.positions().map(|k| x(k) - full.entry(k)).collect();
        let values: Vec<_> = removed.positions().map(x).collect();
        let (lost, all) = (sum_of_squares(&off), sum_of_squares(&values));
        let entries = removed.count();
        let rms = |values: Vec<Complex<f64>>| Tensor::new(vec![entries], values).map(|t| t.rms());
        let (rmse, size) = (rms(off).ok()?, rms(values).ok()?);
        // Squares of very large and very small entries are no numbers.
        let rse = match (1e-280..1e300).contains(&all) {
            true => lost / all,
            false => (rmse / size).powi(2),
        };
        let (rse, psnr) = (rse, self.peak().map(|peak| 20.0 * (peak / rmse).log10()));
        Some(Recovered { entries, rse, re: rse.sqrt(), rmse, psnr })
    }

    /// The largest value that data from 0 to 1 (a picture) can have; none where it is other data.
    fn peak(&self) -> Option<f64> {
        let mut entries = (0..self.whole.len()).map(|k| self.whole.entry(k));
        let within = |x: Complex<f64>| x.im == 0.0 && (0.0..=1.0).contains(&x.re);
        entries.all(within).then_some(1.0)
    }
}

/// A mask as ones and zeros.
fn as_numbers(mask: &Mask) -> Result<AnyTensor, TensorError> {
    let ones = mask.as_slice().iter().map(|&inside| f64::from(u8::from(inside)));
    Ok(Tensor::new(mask.dims().to_vec(), ones.collect())?.into())
}

fn is_nan(tensor: &AnyTensor, k: usize) -> bool {
    let entry = tensor.entry(k);
    entry.re.is_nan() || entry.im.is_nan()
}

/// Sets what is not known to zero.
fn clear(tensor: &mut AnyTensor, known: impl Fn(usize) -> bool) {
    dispatch!(tensor, t => {
        for (k, x) in t.data_mut().iter_mut().enumerate() {
            if !known(k) {
                *x = Scalar::ZERO;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave() -> AnyTensor {
        let entries = (0..24).map(|k| 2.0 + f64::from(k).sin()).collect();
        Tensor::new(vec![4, 6], entries).unwrap().into()
    }

    #[test]
    fn masks_are_reshaped_with_their_tensor() {
        let known: Vec<bool> = (0..24).map(|k| k % 5 != 0).collect();
        let holed = Holed::new(wave(), Some(known.clone()), false, None).unwrap();
        let reshape = Reshape::shape(&[4, 6], vec![2, 2, 6], true).unwrap().unwrap();
        let target = holed.target(Some(&reshape)).unwrap();
        let mask = target.fitted().unwrap();
        assert_eq!((mask.dims(), mask.count()), (&[2, 2, 6][..], holed.observed.count()));
        // Column-major: row i is digit i % 2 of the first new mode, i / 2 of the second.
        for (i, j) in (0..4).flat_map(|i| (0..6).map(move |j| (i, j))) {
            let there = ((i % 2) * 2 + i / 2) * 6 + j;
            assert_eq!(mask.contains(there), known[i * 6 + j], "{i}, {j}");
        }
    }

    #[test]
    fn what_was_removed_is_measured_and_what_was_seen_stays() {
        let holed = Holed::new(wave(), None, false, Some((0.5, 3))).unwrap();
        let removed = holed.removed.clone().unwrap();
        assert_eq!((holed.missing(), removed.count()), (12, 12));
        let zero = Tensor::new(vec![4, 6], vec![0.0; 24]).unwrap();
        let full = holed.filled(zero.into()).unwrap();
        for k in 0..24 {
            let expected = if removed.contains(k) { 0.0 } else { wave().entry(k).re };
            assert_eq!(full.entry(k).re, expected);
        }
        let back = holed.recovered(&full).unwrap();
        assert_eq!((back.rse, back.re, back.psnr), (1.0, 1.0, None));
        let other = Tensor::new(vec![6, 4], vec![0.0; 24]).unwrap();
        assert_eq!(holed.filled(other.into()), None);
    }
}
