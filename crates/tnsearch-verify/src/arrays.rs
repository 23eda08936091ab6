//! Dense arrays, row-major, the real parts beside the imaginary ones.

/// A dense array of real or complex numbers, the last index running fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// The real parts.
    pub re: Vec<f64>,
    /// The imaginary parts; empty for real numbers.
    pub im: Vec<f64>,
}

impl Array {
    /// Real numbers; none where there are not as many as the dimensions say.
    pub fn real(dims: Vec<usize>, re: Vec<f64>) -> Option<Self> {
        Array { dims, re, im: Vec::new() }.checked()
    }

    /// Complex numbers.
    pub fn complex(dims: Vec<usize>, re: Vec<f64>, im: Vec<f64>) -> Option<Self> {
        Array { dims, re, im }.checked()
    }

    fn checked(self) -> Option<Self> {
        let size = self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let fits = self.re.len() == size && (self.im.is_empty() || self.im.len() == size);
        fits.then_some(self)
    }

    /// Whether there are imaginary parts.
    pub fn is_complex(&self) -> bool {
        !self.im.is_empty()
    }

    /// Where the first entry is that is no finite number.
    pub fn not_finite(&self) -> Option<usize> {
        let bad = |part: &[f64]| part.iter().position(|x| !x.is_finite());
        bad(&self.re).into_iter().chain(bad(&self.im)).min()
    }

    /// Divides by the power of two below the largest part; its exponent. Nothing is rounded but what is nothing beside it.
    pub(crate) fn normalise(&mut self) -> i64 {
        let parts = || self.re.iter().chain(&self.im);
        let most = parts().fold(0.0f64, |most, x| most.max(x.abs()));
        if most == 0.0 || !most.is_finite() {
            return 0;
        }
        let exponent = exponent(most);
        if exponent != 0 {
            self.re.iter_mut().chain(&mut self.im).for_each(|x| *x = scaled(*x, -exponent));
        }
        exponent
    }

    /// The same numbers with the axes in another order: axis k of the result is axis `order[k]` of this.
    pub(crate) fn reordered(&self, order: &[usize]) -> Array {
        let dims: Vec<usize> = order.iter().map(|&k| self.dims[k]).collect();
        let mut strides = vec![1usize; self.dims.len()];
        for k in (1..self.dims.len()).rev() {
            strides[k - 1] = strides[k] * self.dims[k];
        }
        let strides: Vec<usize> = order.iter().map(|&k| strides[k]).collect();
        let mut positions = Vec::with_capacity(self.re.len());
        let (mut index, mut at) = (vec![0usize; dims.len()], 0usize);
        for _ in 0..self.re.len() {
            positions.push(at);
            for k in (0..dims.len()).rev() {
                index[k] += 1;
                at += strides[k];
                if index[k] < dims[k] {
                    break;
                }
                at -= strides[k] * dims[k];
                index[k] = 0;
            }
        }
        let take = |part: &[f64]| positions.iter().map(|&p| part[p]).collect::<Vec<f64>>();
        let im = if self.is_complex() { take(&self.im) } else { Vec::new() };
        Array { re: take(&self.re), im, dims }
    }
}

/// The power of two at or below a positive finite number.
pub(crate) fn exponent(x: f64) -> i64 {
    match (x.to_bits() >> 52) & 0x7ff {
        // Numbers without a leading one are lifted first.
        0 => exponent(x * 2f64.powi(100)) - 100,
        bits => bits as i64 - 1023,
    }
}

/// A number times a power of two, which may be beyond what a number can hold.
pub(crate) fn scaled(mut x: f64, mut power: i64) -> f64 {
    while power > 1000 && x.is_finite() && x != 0.0 {
        x *= 2f64.powi(1000);
        power -= 1000;
    }
    while power < -1000 && x != 0.0 {
        x *= 2f64.powi(-1000);
        power += 1000;
    }
    x * 2f64.powi(power.clamp(-1000, 1000) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        for x in [1.0, 1.5, 3.0, 1e300, 1e-300, 5e-324, f64::MAX] {
            let e = exponent(x);
            let y = scaled(x, -e);
            assert!((1.0..2.0).contains(&y), "{x} {e} {y}");
            assert_eq!(scaled(y, e), x);
        }
        assert_eq!(scaled(1.0, 2000), f64::INFINITY);
        assert_eq!(scaled(1.0, -3000), 0.0);
    }

    #[test]
    fn axes_are_reordered_as_said() {
        let a = Array::real(vec![2, 3], (0..6).map(f64::from).collect()).unwrap();
        let t = a.reordered(&[1, 0]);
        assert_eq!((t.dims, t.re), (vec![3, 2], vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
        let b = Array::complex(vec![2, 1, 2], vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]);
        let b = b.unwrap().reordered(&[2, 0, 1]);
        assert_eq!(
            (b.dims, b.re, b.im),
            (vec![2, 2, 1], vec![1., 3., 2., 4.], vec![5., 7., 6., 8.])
        );
        assert!(Array::real(vec![2, 2], vec![0.0; 3]).is_none());
        assert!(Array::real(vec![usize::MAX, 2], vec![0.0; 3]).is_none());
    }

    #[test]
    fn the_largest_part_is_brought_to_one() {
        let mut a = Array::complex(vec![2], vec![0.5, -3.0], vec![5.0, 0.0]).unwrap();
        assert_eq!(
            (a.normalise(), a.re.clone(), a.im.clone()),
            (2, vec![0.125, -0.75], vec![1.25, 0.0])
        );
        assert_eq!((a.normalise(), a.is_complex(), a.not_finite()), (0, true, None));
        let mut zero = Array::real(vec![2], vec![0.0, 0.0]).unwrap();
        assert_eq!((zero.normalise(), zero.re.clone()), (0, vec![0.0, 0.0]));
        let mut endless = Array::real(vec![2], vec![f64::INFINITY, 4.0]).unwrap();
        assert_eq!((endless.normalise(), endless.re[1], endless.not_finite()), (0, 4.0, Some(0)));
        (a.re[1], a.im[0]) = (f64::NAN, f64::INFINITY);
        assert_eq!(a.not_finite(), Some(0));
        a.im[0] = 1.0;
        assert_eq!(a.not_finite(), Some(1));
        assert!(Array::complex(vec![2], vec![0.0; 2], vec![0.0; 1]).is_none());
        // Beyond what one power of two can do.
        assert_eq!(
            (scaled(5e-324, 2000), scaled(2f64.powi(1023), -2000)),
            (2f64.powi(926), 2f64.powi(-977))
        );
        assert_eq!((scaled(1.0, 1001), scaled(1.0, -1001)), (2f64.powi(1001), 2f64.powi(-1001)));
        assert_eq!((scaled(0.0, 5000), scaled(f64::INFINITY, 5000)), (0.0, f64::INFINITY));
    }
}
