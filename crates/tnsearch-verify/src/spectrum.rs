//! The singular values of an unfolding: modes of a set along the rows, the others along the columns.

use crate::rotations::{by_products, by_rotations};
use crate::sums::{Sum, squares};
use crate::{Array, Limits, Unchecked};

/// Up to this many rows (and for smaller errors always) values come from rotations.
const ROTATED: usize = 256;
/// Errors from which on inner products tell enough.
const TOLD: f64 = 1e-10;
/// How far rounding takes singular values, relative to the norm; and where the tensor was contracted before.
const ROUNDED: f64 = 1e-13;
const CONTRACTED: f64 = 1e-12;
/// More multiplications than this are not begun.
const MOST: f64 = 1e13;

/// The part of a tensor that lies beyond its leading singular values, for each number of these.
#[derive(Debug, Clone, PartialEq)]
pub struct Tails {
    /// Entry k: the sum of the squares beyond the k largest, over the sum of all.
    pub tails: Vec<f64>,
    /// By how much rounding may have raised each: by that, and by so many times its root.
    absolute: f64,
    root: f64,
}

impl Tails {
    /// The tail beyond the k largest.
    pub fn of(&self, k: u64) -> f64 {
        usize::try_from(k).ok().and_then(|k| self.tails.get(k)).copied().unwrap_or(0.0)
    }

    /// The same less what rounding may have added: a tensor whose unfolding has rank k is at least so far away.
    pub fn certain(&self, k: u64) -> f64 {
        let tail = self.of(k);
        (tail - self.absolute - self.root * tail.sqrt()).max(0.0)
    }

    /// The same relative to a tensor of which this one, contracted from it, is such a share. Of nothing there are no tails.
    pub(crate) fn of_part(self, share: f64) -> Tails {
        let scaled = |tail: f64| if share > 0.0 { tail * share } else { 0.0 };
        let tails = self.tails.into_iter().map(scaled).collect();
        Tails { tails, absolute: self.absolute * share, root: CONTRACTED }
    }
}

/// The tails of the unfolding of a tensor, exact enough for errors of `eps` (an RSE) and above.
///
/// The shorter side runs along the rows. Complex numbers `a + bi` become blocks `[[a, -b], [b, a]]`, which have every
/// singular value twice.
pub fn spectrum(
    x: &Array,
    modes: &[usize],
    eps: f64,
    limits: &Limits<'_>,
) -> Result<Tails, Unchecked> {
    let inside = |m: &usize| modes.contains(m);
    let (mut rows, mut columns): (Vec<usize>, Vec<usize>) = (0..x.dims.len()).partition(inside);
    let length = |modes: &[usize]| modes.iter().map(|&m| x.dims[m]).product::<usize>();
    if length(&rows) > length(&columns) {
        std::mem::swap(&mut rows, &mut columns);
    }
    let (short, long) = (length(&rows), length(&columns));
    let twice = if x.is_complex() { 2 } else { 1 };
    let (n, wide) = (twice * short, twice * long);
    // A copy with its table of positions, the rows, and the square.
    limits.check(8 * (4 * x.re.len() as u128 * twice as u128 + 2 * n as u128 * n as u128))?;
    let rotated = n <= ROTATED || eps < TOLD;
    let (n1, wide1) = (n as f64, wide as f64);
    let operations = n1 * n1 * (wide1 + if rotated { 30.0 * n1 } else { 1.4 * n1 });
    if operations > MOST {
        return Err(Unchecked::Long { operations });
    }
    let mut flat = x.reordered(&[rows, columns].concat());
    flat.normalise();
    let row = |k: usize| -> Vec<f64> {
        let part = |part: &[f64], sign: f64| -> Vec<f64> {
            part[(k % short) * long..(k % short + 1) * long].iter().map(|x| sign * x).collect()
        };
        match (x.is_complex(), k < short) {
            (false, _) => part(&flat.re, 1.0),
            (true, true) => [part(&flat.re, 1.0), part(&flat.im, -1.0)].concat(),
            (true, false) => [part(&flat.im, 1.0), part(&flat.re, 1.0)].concat(),
        }
    };
    let matrix: Vec<Vec<f64>> = (0..n).map(row).collect();
    let all: f64 = matrix.iter().map(|row| squares(row)).sum();
    drop(flat);
    let values = match rotated {
        true => by_rotations(matrix, limits)?,
        false => by_products(&matrix, limits)?,
    };
    let mut sum = Sum::default();
    let mut tails: Vec<f64> = values
        .iter()
        .rev()
        .map(|square| {
            sum.add(square / all);
            sum.value()
        })
        .collect();
    tails.reverse();
    let tails = tails.into_iter().step_by(twice).collect();
    let absolute = if rotated { 0.0 } else { (n1 + wide1.sqrt()) * f64::EPSILON };
    Ok(Tails { tails, absolute, root: ROUNDED })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits<'static> {
        Limits { bytes: u64::MAX, stop: &|| false }
    }

    #[test]
    fn a_sum_of_two_products_has_two_values() {
        // e0 x e0 x e0 * 3 + e1 x e1 x e1 * 4 on 2 x 3 x 2, cut in every way.
        let mut re = vec![0.0; 12];
        (re[0], re[6 + 2 + 1]) = (3.0, 4.0);
        let x = Array::real(vec![2, 3, 2], re.clone()).unwrap();
        for modes in [vec![0], vec![1], vec![2], vec![0, 1], vec![1, 2]] {
            let found = spectrum(&x, &modes, 1e-6, &limits()).unwrap();
            assert!((found.of(0) - 1.0).abs() < 1e-15 && (found.of(1) - 0.36).abs() < 1e-15);
            assert!(found.of(2) < 1e-30 && found.of(1000) == 0.0);
            assert!(found.certain(1) < 0.36 && found.certain(1) > 0.36 - 1e-12);
        }
        // A phase changes nothing.
        let (a, b) = (0.6, 0.8);
        let im = re.iter().map(|x| b * x).collect();
        let y = Array::complex(vec![2, 3, 2], re.iter().map(|x| a * x).collect(), im).unwrap();
        let found = spectrum(&y, &[1], 1e-6, &limits()).unwrap();
        assert_eq!(found.tails.len(), 3);
        assert!((found.of(1) - 0.36).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn memory_is_refused_before_it_is_taken() {
        let x = Array::real(vec![10, 10], vec![1.0; 100]).unwrap();
        let limits = Limits { bytes: 4799, stop: &|| false };
        assert_eq!(spectrum(&x, &[0], 1e-6, &limits), Err(Unchecked::Memory { needed: 4800 }));
    }

    #[test]
    fn what_takes_too_long_is_not_begun() {
        // By rotations 30 n^3 more, by products 1.4; complex numbers have twice the rows.
        let large = |n: usize, eps: f64, im: usize| {
            let x = Array { dims: vec![n, n], re: Vec::new(), im: vec![0.0; im] };
            spectrum(&x, &[0], eps, &limits())
        };
        let long = |operations: f64| Err(Unchecked::Long { operations });
        assert_eq!(large(10_000, 1e-12, 0), long(1e8 * (1e4 + 30.0 * 1e4)));
        assert_eq!(large(20_000, 1e-6, 0), long(4e8 * (2e4 + 1.4 * 2e4)));
        assert_eq!(large(20_000, TOLD, 0), long(4e8 * (2e4 + 1.4 * 2e4)));
        assert_eq!(large(10_000, 1e-6, 1), long(4e8 * (2e4 + 1.4 * 2e4)));
        // Few rows are always rotated.
        let wide = Array { dims: vec![200, 1 << 30], re: Vec::new(), im: Vec::new() };
        let operations = 4e4 * ((1u64 << 30) as f64 + 30.0 * 200.0);
        assert_eq!(spectrum(&wide, &[0], 1e-6, &limits()), long(operations));
    }

    #[test]
    fn a_part_has_a_part_of_the_tails() {
        let tails = Tails { tails: vec![1.0, 0.25], absolute: 1e-3, root: 1e-13 };
        let half = tails.clone().of_part(0.5);
        assert_eq!((half.of(0), half.of(1), half.of(2)), (0.5, 0.125, 0.0));
        assert!((half.certain(0) - (0.5 - 5e-4)).abs() < 1e-11, "{}", half.certain(0));
        assert!((tails.certain(1) - (0.25 - 1e-3)).abs() < 1e-12);
        assert_eq!(tails.of_part(0.0).of(0), 0.0);
        let rough = Tails { tails: vec![0.25], absolute: 0.0, root: 0.1 };
        assert_eq!(rough.certain(0), 0.25 - 0.05);
        let small = Tails { tails: vec![0.25], absolute: 0.2, root: 0.2 };
        assert_eq!(small.certain(0), 0.0);
    }
}
