//! Certificates of version 3: some modes are contracted with vectors, and the cuts are of what is left.
//!
//! Let u be a vector of length 1. `||X u - Z u|| <= ||X - Z||`, and where Z is a tree so is `Z u`: the core with that mode is
//! smaller by at least one entry less than the mode has. So no tree of X that is near enough has fewer parameters than one of `X u`
//! that is as near, and these entries. Whatever the vectors are, that holds: they need not be the best.

use crate::certificate::{Certificate, Class, Cut, Refused};
use crate::sums::{Sum, squares};
use crate::{Array, Limits, Unchecked, trees};
use serde::Deserialize;

/// A mode, and the vector whose conjugate it is contracted with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contraction {
    /// The mode.
    pub mode: usize,
    /// The vector, of any length but none: real parts.
    pub re: Vec<f64>,
    /// Imaginary parts; empty: none.
    #[serde(default)]
    pub im: Vec<f64>,
}

impl Contraction {
    /// The vector with length 1; none where it has none.
    fn unit(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let most = self.re.iter().chain(&self.im).fold(0.0f64, |most, x| most.max(x.abs()));
        let scaled = |part: &[f64]| part.iter().map(|x| x / most).collect::<Vec<f64>>();
        let (mut re, mut im) = (scaled(&self.re), scaled(&self.im));
        let length = (squares(&re) + squares(&im)).sqrt();
        re.iter_mut().chain(&mut im).for_each(|x| *x /= length);
        (most > 0.0 && re.iter().chain(&im).all(|x| x.is_finite())).then_some((re, im))
    }
}

impl Certificate {
    /// The modes that are not contracted.
    fn left(&self) -> Vec<usize> {
        let contracted = |m: &usize| self.contracted.iter().any(|c| c.mode == *m);
        (0..self.data.dims.len()).filter(|m| !contracted(m)).collect()
    }

    /// Whether its modes can be contracted, and its cuts are of the others.
    pub(crate) fn check_contracted(&self) -> Result<(), Refused> {
        if self.contracted.is_empty() {
            return Ok(());
        }
        let form = |why: &str| Err(Refused::Form(why.to_owned()));
        if self.template != Class::Named("any-tree".into()) {
            return form("modes are contracted for trees of any topology alone");
        }
        let (dims, left) = (&self.data.dims, self.left());
        for c in &self.contracted {
            let long = dims.get(c.mode).copied();
            let fits = Some(c.re.len()) == long && (c.im.is_empty() || Some(c.im.len()) == long);
            if !fits || c.unit().is_none() {
                return form("a mode that is contracted has no vector, or one of another length");
            }
        }
        if left.len() < 2 || left.len() + self.contracted.len() != dims.len() {
            return form("each mode is contracted once, and two or more are left");
        }
        for (k, cut) in self.cuts.iter().enumerate() {
            if cut.modes.len() >= left.len() || !cut.modes.iter().all(|m| left.contains(m)) {
                let why = "one side has some of the modes that are not contracted, not all".into();
                return Err(Refused::Cut { cut: k, modes: cut.modes.clone(), why });
            }
        }
        Ok(())
    }

    /// No tree with these cuts has fewer parameters.
    pub(crate) fn least_of_trees<'c>(
        &self,
        cuts: impl Iterator<Item = &'c Cut>,
        limits: &Limits<'_>,
    ) -> Result<u128, Unchecked> {
        let dims = &self.data.dims;
        if self.contracted.is_empty() {
            return trees::least(dims, cuts, limits);
        }
        let left = self.left();
        let place = |m: &usize| left.iter().position(|l| l == m);
        let named =
            |cut: &Cut| Cut { modes: cut.modes.iter().filter_map(place).collect(), ..cut.clone() };
        let cuts: Vec<Cut> = cuts.map(named).collect();
        let lengths: Vec<usize> = left.iter().map(|&m| dims[m]).collect();
        let found = trees::least(&lengths, cuts.iter(), limits)?;
        let gone: u128 = self.contracted.iter().map(|c| dims[c.mode] as u128 - 1).sum();
        // Every mode has its entries, one by one: a product is no less than the sum, but for ones.
        let entries: u128 = dims.iter().filter(|&&d| d > 1).map(|&d| d as u128).sum();
        Ok(found.saturating_add(gone).max(entries))
    }

    /// The tensor with its modes contracted, of length 1 there, and its part of the norm squared of the whole.
    pub(crate) fn contract(
        &self,
        x: &Array,
        limits: &Limits<'_>,
    ) -> Result<(Array, f64), Unchecked> {
        limits.check(8 * 4 * x.re.len() as u128)?;
        let energy = |x: &Array| squares(&x.re) + squares(&x.im);
        let mut part = x.clone();
        part.normalise();
        let all = energy(&part);
        for c in &self.contracted {
            limits.poll()?;
            let (re, im) = c.unit().unwrap_or_default();
            part = along(&part, c.mode, &re, &im);
        }
        let share = if all > 0.0 { energy(&part) / all } else { 0.0 };
        Ok((part, share))
    }
}

/// An array contracted with the conjugate of a vector along an axis, which is of length 1 then.
fn along(x: &Array, axis: usize, re: &[f64], im: &[f64]) -> Array {
    let mut dims = x.dims.clone();
    let long = std::mem::replace(&mut dims[axis], 1);
    let inner: usize = dims[axis + 1..].iter().product();
    let complex = x.is_complex() || !im.is_empty();
    let count = x.re.len() / long;
    let (mut real, mut imaginary) = (Vec::with_capacity(count), Vec::new());
    let at = |part: &[f64], k: usize| part.get(k).copied().unwrap_or(0.0);
    for k in 0..count {
        let first = k / inner * inner * long + k % inner;
        let (mut a, mut b) = (Sum::default(), Sum::default());
        for (j, &ur) in re.iter().enumerate().take(long) {
            let (xr, xi) = (x.re[first + j * inner], at(&x.im, first + j * inner));
            let ui = at(im, j);
            a.add(ur * xr);
            a.add(ui * xi);
            b.add(ur * xi);
            b.add(-ui * xr);
        }
        real.push(a.value());
        if complex {
            imaginary.push(b.value());
        }
    }
    Array { dims, re: real, im: imaginary }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_contracted_with_conjugates() {
        // 2 x 3 x 2, entry 100 i + 10 j + k.
        let entry = |n: usize| (100 * (n / 6) + 10 * (n / 2 % 3) + n % 2) as f64;
        let x = Array::real(vec![2, 3, 2], (0..12).map(entry).collect()).unwrap();
        let y = along(&x, 1, &[1.0, 0.0, 2.0], &[]);
        assert_eq!((y.dims, y.re), (vec![2, 1, 2], vec![40., 43., 340., 343.]));
        let y = along(&x, 0, &[0.0, 1.0], &[1.0, 0.0]);
        assert_eq!(y.re, [100., 101., 110., 111., 120., 121.]);
        assert_eq!(y.im, [0., -1., -10., -11., -20., -21.]);
        // A phase and its conjugate leave what was there.
        let z = along(&y, 2, &[0.0, 0.0], &[0.0, 1.0]);
        assert_eq!((z.re, z.im), (vec![-1., -11., -21.], vec![-101., -111., -121.]));
    }

    #[test]
    fn vectors_have_length_one() {
        let unit = |re: &[f64], im: &[f64]| {
            Contraction { mode: 0, re: re.to_vec(), im: im.to_vec() }.unit()
        };
        assert_eq!(unit(&[3e300, 4e300], &[]), Some((vec![0.6, 0.8], vec![])));
        assert_eq!(unit(&[0.0], &[-2.0]), Some((vec![0.0], vec![-1.0])));
        assert_eq!((unit(&[0.0, 0.0], &[]), unit(&[], &[])), (None, None));
        assert_eq!((unit(&[f64::NAN], &[]), unit(&[f64::INFINITY], &[])), (None, None));
    }

    /// A certificate over three modes of lengths 2, 3 and 2 with these contracted.
    fn certificate(contracted: serde_json::Value, cut: &[usize]) -> Certificate {
        let made = serde_json::json!({
            "format": "tnsearch-certificate", "version": 3, "tnsearch": "0", "says": "", "reshaped": null,
            "data": {"dims": [2, 3, 2], "dtype": "f64", "sha256": "", "norm": 5.0},
            "template": "any-tree", "max_rank": null, "max_rse": 0.1, "params": 4, "lost": 0.0,
            "contracted": contracted, "cuts": [{"modes": cut, "width": 2, "tail": 0.3, "slack": 0.0}], "tree": [],
        });
        Certificate::parse(&made.to_string()).unwrap()
    }

    #[test]
    fn each_mode_is_contracted_once_with_a_vector_of_its_length() {
        use serde_json::json;
        let taken = |contracted, cut: &[usize]| {
            let made = certificate(contracted, cut);
            made.check_contracted().is_ok()
        };
        let one = json!({"mode": 1, "re": [1.0, 0.0, 2.0]});
        assert!(taken(json!([one]), &[0]));
        assert!(taken(json!([{"mode": 1, "re": [1.0, 0.0, 2.0], "im": [0.0, 1.0, 0.0]}]), &[2]));
        for contracted in [
            json!([{"mode": 1, "re": [1.0, 0.0]}]),
            json!([{"mode": 1, "re": [1.0, 0.0, 2.0, 3.0]}]),
            json!([{"mode": 1, "re": [1.0, 0.0, 2.0], "im": [1.0]}]),
            json!([{"mode": 1, "re": [1.0, 0.0], "im": [1.0, 0.0, 2.0]}]),
            json!([{"mode": 1, "re": [0.0, 0.0, 0.0]}]),
            json!([{"mode": 3, "re": [1.0]}]),
            json!([one, one]),
            json!([one, {"mode": 0, "re": [1.0, 0.0]}]),
        ] {
            assert!(!taken(contracted.clone(), &[2]), "{contracted}");
        }
        // Cuts are of what is left.
        for cut in [&[1][..], &[0, 2], &[0, 1]] {
            assert!(!taken(json!([one]), cut), "{cut:?}");
        }
        let mut graph = certificate(json!([one]), &[0]);
        graph.template = Class::Named("path".into());
        assert!(graph.check_contracted().is_err());
    }

    #[test]
    fn what_is_left_is_a_part_of_the_whole() {
        let made = certificate(serde_json::json!([{"mode": 1, "re": [0.0, 3.0, 0.0]}]), &[0]);
        let x = Array::complex(vec![2, 3, 2], vec![1.0; 12], vec![1.0; 12]).unwrap();
        let limits = |bytes: u64| Limits { bytes, stop: &|| false };
        let (part, share) = made.contract(&x, &limits(384)).unwrap();
        assert_eq!((part.dims, part.re.len()), (vec![2, 1, 2], 4));
        assert!((share - 1.0 / 3.0).abs() < 1e-15, "{share}");
        let refused = made.contract(&x, &limits(383)).unwrap_err();
        assert_eq!(refused, Unchecked::Memory { needed: 384 });
        let none = Array::real(vec![2, 3, 2], vec![0.0; 12]).unwrap();
        assert_eq!(made.contract(&none, &limits(384)).unwrap().1, 0.0);
        // Along the last mode, and with numbers on both sides of the middle one.
        let y = along(&x, 2, &[1.0, 2.0], &[0.5, 0.0]);
        assert_eq!((y.dims, y.re[0], y.im[0]), (vec![2, 3, 1], 3.5, 2.5));
    }
}
