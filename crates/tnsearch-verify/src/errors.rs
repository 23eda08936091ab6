//! How far a network is from the data, by each loss.

use crate::arrays::{exponent, scaled};
use crate::{Array, Contracted, Sum};

/// What an error is measured by.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// `sum |x - z|^2 / sum |x|^2`.
    Rse,
    /// `sum x log(x / z) - x + z` over that of the mean.
    Kl,
    /// Twice that over twice that.
    Poisson,
    /// `e^2 / 2` up to delta and `delta (e - delta / 2)` beyond, over that of zero; none: the delta that the data says.
    Huber(Option<f64>),
}

impl Measure {
    /// A loss by its name: `squared`, `kl`, `poisson`, `huber` or `huber:D`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.split_once(':') {
            None => match name {
                "squared" | "rse" => Measure::Rse,
                "kl" => Measure::Kl,
                "poisson" => Measure::Poisson,
                "huber" => Measure::Huber(None),
                _ => return None,
            },
            Some(("huber", delta)) => {
                let delta = delta.parse().ok().filter(|d: &f64| d.is_finite() && *d > 0.0);
                Measure::Huber(Some(delta?))
            }
            Some(_) => return None,
        })
    }
}

/// The squared relative error on the known entries (all, where there is no mask). None where the shapes are not the same.
pub fn rse(x: &Array, known: Option<&[bool]>, z: &Contracted) -> Option<f64> {
    let pairs = Pairs::new(x, known, z)?;
    let (mut away, mut all) = (Sum::default(), Sum::default());
    for k in pairs.known() {
        let ((xr, zr), (xi, zi)) = pairs.at(k);
        away.add((xr - zr) * (xr - zr));
        all.add(xr * xr);
        if pairs.complex {
            away.add((xi - zi) * (xi - zi));
            all.add(xi * xi);
        }
    }
    Some(away.value() / all.value())
}

/// The error by a measure; none where the shapes are not the same, or where complex numbers have no such error.
pub fn error(measure: Measure, x: &Array, known: Option<&[bool]>, z: &Contracted) -> Option<f64> {
    if measure == Measure::Rse {
        return rse(x, known, z);
    }
    let pairs = Pairs::new(x, known, z).filter(|pairs| !pairs.complex)?;
    let values: Vec<f64> = pairs.known().map(|k| pairs.at(k).0.0).collect();
    let delta = match measure {
        // That of data which was scaled is scaled as well.
        Measure::Huber(given) => given.map_or_else(|| spread(&values), |d| scaled(d, -pairs.power)),
        _ => 0.0,
    };
    let huber = |x: f64, z: f64| {
        let away = (x - z).abs();
        if away <= delta { 0.5 * away * away } else { delta * (away - 0.5 * delta) }
    };
    let total = |of: &dyn Fn(usize) -> f64| {
        let mut sum = Sum::default();
        pairs.known().for_each(|k| sum.add(of(k)));
        sum.value()
    };
    let value = |k: usize, z: f64| match measure {
        Measure::Huber(_) => huber(pairs.at(k).0.0, z),
        _ => divergence(pairs.at(k).0.0, z),
    };
    let away = total(&|k| value(k, pairs.at(k).0.1));
    let sum = total(&|k| pairs.at(k).0.0);
    let nothing = match measure {
        Measure::Huber(_) => total(&|k| value(k, 0.0)),
        _ => {
            let mean = sum / values.len() as f64;
            Some(total(&|k| value(k, mean))).filter(|away| *away > 1e-12 * sum).unwrap_or(sum)
        }
    };
    Some(away / nothing)
}

/// `x log(x / z) - x + z`.
fn divergence(x: f64, z: f64) -> f64 {
    if x <= 0.0 {
        return z;
    }
    if z <= 0.0 {
        return f64::INFINITY;
    }
    // With d = z / x - 1 it is x (d - log(1 + d)): nothing cancels where both are near.
    let d = (z - x) / x;
    if d.is_finite() { x * (d - d.ln_1p()) } else { z }
}

/// A tenth of 1.345 robust standard deviations (1.4826 times the median distance from the median).
fn spread(values: &[f64]) -> f64 {
    let median = |mut v: Vec<f64>| {
        v.sort_unstable_by(f64::total_cmp);
        v.get(v.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
    };
    let middle = median(values.to_vec());
    let away: Vec<f64> = values.iter().map(|x| (x - middle).abs()).collect();
    let mut sum = Sum::default();
    away.iter().for_each(|a| sum.add(*a));
    let mean = sum.value() / values.len().max(1) as f64;
    match 1.4826 * median(away) {
        s if s > 0.0 => 0.1 * 1.345 * s,
        _ if mean > 0.0 => 0.1 * 1.345 * mean,
        _ => 1.0,
    }
}

/// Entries of both, scaled by the same power of two so that squares neither overflow nor vanish.
struct Pairs<'a> {
    x: &'a Array,
    z: &'a Contracted,
    known: Option<&'a [bool]>,
    complex: bool,
    power: i64,
}

impl<'a> Pairs<'a> {
    fn new(x: &'a Array, known: Option<&'a [bool]>, z: &'a Contracted) -> Option<Self> {
        let same = x.dims == z.array.dims && known.is_none_or(|k| k.len() == x.re.len());
        let inside = |k: usize| known.is_none_or(|known| known[k]);
        let largest = |part: &[f64]| {
            let inside = part.iter().enumerate().filter(|(k, _)| inside(*k));
            inside.fold(0.0f64, |most, (_, x)| most.max(x.abs()))
        };
        let most = same.then(|| largest(&x.re).max(largest(&x.im)))?;
        let power = if most > 0.0 && most.is_finite() { exponent(most) } else { 0 };
        let complex = x.is_complex() || z.array.is_complex();
        Some(Pairs { x, z, known, complex, power })
    }

    fn known(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.x.re.len()).filter(|&k| self.known.is_none_or(|known| known[k]))
    }

    /// Real parts, then imaginary ones; each of X and of the network.
    fn at(&self, k: usize) -> ((f64, f64), (f64, f64)) {
        let part = |a: &[f64], power: i64| a.get(k).map_or(0.0, |x| scaled(*x, power));
        let (x, z, power) = (self.x, &self.z.array, self.z.power - self.power);
        let re = (part(&x.re, -self.power), part(&z.re, power));
        (re, (part(&x.im, -self.power), part(&z.im, power)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(x: &[f64], z: &[f64]) -> (Array, Contracted) {
        let array = |v: &[f64]| Array::real(vec![v.len()], v.to_vec()).unwrap();
        (array(x), Contracted { array: array(z), power: 0 })
    }

    fn by(name: &str, x: &[f64], z: &[f64]) -> f64 {
        let (x, z) = pair(x, z);
        error(Measure::named(name).unwrap(), &x, None, &z).unwrap()
    }

    #[test]
    fn each_loss_is_what_its_formula_says() {
        let (x, z) = ([1.0, 2.0, 0.0, 5.0], [1.5, 2.0, 0.25, 4.0]);
        assert!((by("squared", &x, &z) - 1.3125 / 30.0).abs() < 1e-15);
        let kl = (1.0f64 / 1.5).ln() + 0.5 + 0.25 + 5.0 * (5.0f64 / 4.0).ln() - 1.0;
        let mean = 2.0f64;
        let base = 0.5f64.ln() + 1.0 + 2.0 + 5.0 * 2.5f64.ln() - 3.0;
        assert_eq!(mean, x.iter().sum::<f64>() / 4.0);
        assert!((by("kl", &x, &z) - kl / base).abs() < 1e-14);
        assert!((by("poisson", &x, &z) - kl / base).abs() < 1e-14);
        let huber = (0.08 + 0.02 + 0.48) / (0.4 * 0.8 + 0.4 * 1.8 + 0.4 * 4.8);
        assert!(
            (by("huber:0.4", &x, &z)
                - (0.125f64.min(0.4 * 0.3) + 0.03125 + 0.4 * 0.8)
                    / (0.4 * 0.8 + 0.4 * 1.8 + 0.4 * 4.8))
                .abs()
                < 1e-14,
            "{huber}"
        );
        // Median 1, distances 0, 1, 1, 4: a tenth of 1.345 * 1.4826.
        let delta = 0.1 * 1.345 * 1.4826;
        assert!((by("huber", &x, &z) - by(&format!("huber:{delta}"), &x, &z)).abs() < 1e-12);
        assert_eq!(by("kl", &[2.0, 2.0], &[2.0, 2.0]), 0.0);
        assert!(
            ["kl:2", "huber:0", "huber:x", "cubic"].iter().all(|n| Measure::named(n).is_none())
        );
    }

    #[test]
    fn sizes_at_the_ends_of_the_range_change_nothing() {
        for scale in [1e-310, 1e-200, 1.0, 1e200, 1e304] {
            let (x, z) = pair(&[1.0 * scale, 2.0 * scale], &[1.0 * scale, 1.5 * scale]);
            let found = rse(&x, None, &z).unwrap();
            assert!((found - 0.05).abs() < 1e-12, "{scale} {found}");
        }
    }

    #[test]
    fn holes_do_not_count() {
        let (x, z) = pair(&[1.0, 1e300, 2.0], &[1.0, 0.0, 1.0]);
        assert!((rse(&x, Some(&[true, false, true]), &z).unwrap() - 0.2).abs() < 1e-15);
        assert_eq!(rse(&x, Some(&[true]), &z), None);
    }

    #[test]
    fn complex_numbers_are_as_far_apart_as_their_parts() {
        let of = |x: Array, re: &[f64], im: &[f64], power: i64| {
            let (dims, re, im) = (vec![re.len()], re.to_vec(), im.to_vec());
            let z = Contracted { array: Array { dims, re, im }, power };
            (rse(&x, None, &z), error(Measure::Kl, &x, None, &z))
        };
        let x = Array::complex(vec![1], vec![1.0], vec![2.0]).unwrap();
        assert_eq!(of(x.clone(), &[1.5], &[1.0], 0), (Some(0.25), None));
        assert_eq!(of(x.clone(), &[3.0], &[2.0], -1), (Some(0.25), None));
        assert_eq!(of(x.clone(), &[1.0], &[], 0), (Some(0.8), None));
        assert_eq!(of(x, &[1.0, 1.0], &[], 0), (None, None));
        let real = Array::real(vec![2], vec![1.0, 2.0]).unwrap();
        assert_eq!(of(real, &[1.0, 2.0], &[1.0, 0.0], 0), (Some(0.2), None));
    }

    #[test]
    fn losses_of_counts_have_an_end() {
        assert_eq!((divergence(0.0, 3.0), divergence(-1.0, 3.0)), (3.0, 3.0));
        assert_eq!((divergence(2.0, 0.0), divergence(2.0, -1.0)), (f64::INFINITY, f64::INFINITY));
        // The ratio is beyond all numbers.
        assert_eq!(divergence(5e-324, 1e300), 1e300);
        assert!((divergence(2.0, 3.0) - (2.0 * (2.0f64 / 3.0).ln() + 1.0)).abs() < 1e-15);
        // Where all are the same, or nearly, their sum is what is compared with.
        let away = divergence(2.0, 1.0) + divergence(2.0, 3.0);
        assert!((by("kl", &[2.0, 2.0], &[1.0, 3.0]) - away / 4.0).abs() < 1e-15);
        for (more, sum) in [(1e-7, true), (1e-5, false)] {
            let x = [1.0, 1.0 + more];
            let mean = 1.0 + more / 2.0;
            let base =
                if sum { 2.0 + more } else { divergence(x[0], mean) + divergence(x[1], mean) };
            let expected = (divergence(x[0], 2.0) + divergence(x[1], 2.0)) / base;
            let found = by("kl", &x, &[2.0, 2.0]);
            assert!((found / expected - 1.0).abs() < 1e-9, "{more}: {found} {expected}");
        }
    }

    #[test]
    fn the_spread_is_robust() {
        let one = 0.1 * 1.345;
        assert!((spread(&[1.0, 2.0, 10.0, 3.0]) - one * 1.4826).abs() < 1e-15);
        assert!((spread(&[7.0, 2.0, 5.0, 9.0, 1.0]) - one * 1.4826 * 3.0).abs() < 1e-15);
        // Most are the same: the mean distance.
        assert!((spread(&[1.0, 1.0, 5.0, 1.0]) - one).abs() < 1e-15);
        assert_eq!((spread(&[3.0, 3.0]), spread(&[])), (1.0, 1.0));
        // Errors from the delta on cost less.
        let (x, z) = ([4.0, -8.0], [1.0, -7.0]);
        let huber = |e: f64| if e <= 2.0 { 0.5 * e * e } else { 2.0 * (e - 1.0) };
        let expected = (huber(3.0) + huber(1.0)) / (huber(4.0) + huber(8.0));
        assert!((by("huber:2", &x, &z) - expected).abs() < 1e-15);
        assert!((by("huber:3", &x, &z) - 5.0 / (3.0 * 2.5 + 3.0 * 6.5)).abs() < 1e-15);
    }
}
