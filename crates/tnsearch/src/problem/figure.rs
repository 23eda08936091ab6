//! Figures that a claim stands on, for people: rounded to the side on which the claim stays true.

/// A quantity of at least 0 to three digits, rounded down: nothing must be said to be more than what is proven.
///
/// ```
/// use tnsearch::problem::{at_least, at_most};
/// assert_eq!((at_most(0.012399), at_least(0.012301)), ("0.0123".into(), "0.0124".into()));
/// ```
pub fn at_most(x: f64) -> String {
    rounded(x, -1.0)
}

/// The same rounded up: nothing must be said to be less than what may be lost.
pub fn at_least(x: f64) -> String {
    rounded(x, 1.0)
}

/// To three digits, the nearest where that is on the right side.
fn rounded(x: f64, side: f64) -> String {
    let digits = |x: f64, steps: f64| {
        let unit = 10f64.powi(x.abs().log10().floor() as i32 - 2);
        let x = (x / unit).round() * unit + steps * unit;
        match x.abs() {
            a if (1e-3..1e5).contains(&a) => {
                let digits = (2 - a.log10().floor() as i32).clamp(0, 6) as usize;
                format!("{x:.digits$}")
            }
            _ => format!("{x:.2e}"),
        }
    };
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string() };
    }
    // Binary and decimal digits apart: 0.1 is 0.1.
    let beyond =
        |text: &String| text.parse::<f64>().is_ok_and(|y| side * (y - x) < -1e-12 * x.abs());
    let near = digits(x, 0.0);
    if beyond(&near) { digits(x, side) } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt;

    #[test]
    fn no_figure_is_more_or_less_than_what_is_proven() {
        let mut rng = stream(1, b"figures");
        for _ in 0..20_000 {
            let x = 10f64.powf(rng.random_range(-12.0..6.0));
            let (low, high) = (at_most(x), at_least(x));
            let said = [&low, &high].map(|text| text.parse::<f64>().unwrap());
            assert!(said[0] <= x * (1.0 + 1e-12) && said[0] >= 0.98 * x, "{x} {low}");
            assert!(said[1] >= x * (1.0 - 1e-12) && said[1] <= 1.02 * x, "{x} {high}");
        }
        let values = [0.01, 1e-4, 0.1, 0.5, 123.0, 0.012399];
        let plain = ["0.0100", "1.00e-4", "0.100", "0.500", "123"];
        assert_eq!(values.map(at_most)[..5], plain);
        assert_eq!(values.map(at_least)[..5], plain);
        assert_eq!((&*at_most(values[5]), &*at_least(values[5])), ("0.0123", "0.0124"));
        assert_eq!((at_most(0.0), at_least(0.0)), ("0".into(), "0".into()));
    }
}
