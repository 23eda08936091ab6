//! Numbers for people.

/// Dimensions as `3 x 4 x 5`.
pub fn shape(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// A quantity that may be tiny or large, to about three digits.
pub fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e5).contains(&a) => {
            let digits = (2 - a.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{x:.digits$}")
        }
        _ => format!("{x:.2e}"),
    }
}

/// A time span: `0.4 s`, `38 s`, `12 min 5 s`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// A number known by its decimal logarithm: `2520`, `1.45e10`, `10^139.6`.
pub fn power(log10: f64) -> String {
    match log10 {
        -3.0..15.0 => number(10f64.powf(log10)),
        _ => format!("10^{log10:.1}"),
    }
}

/// A time span known by the decimal logarithm of its seconds: days and years where it is long.
pub fn span(log10_seconds: f64) -> String {
    const DAY: f64 = 86_400.0;
    let seconds = 10f64.powf(log10_seconds);
    match seconds {
        _ if seconds < 3.0 * DAY => duration(seconds),
        _ if seconds < 1000.0 * DAY => format!("{} days", number(seconds / DAY)),
        _ => format!("{} years", power(log10_seconds - (365.25 * DAY).log10())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0.0, 0.012345, 7.594, 123.4, 54321.0].map(number).join(" "),
            "0 0.0123 7.59 123 54321"
        );
        assert_eq!([1e-12, 3.456e8, -2.5].map(number).join(" "), "1.00e-12 3.46e8 -2.50");
        assert_eq!(
            [0.44, 38.2, 725.0, 12_000.0].map(duration).join(", "),
            "0.4 s, 38 s, 12 min 5 s, 3 h 20 min"
        );
        assert_eq!(shape(&[3, 4]), "3 x 4");
        assert_eq!([0.4, 3.4, 10.162, 139.55].map(power).join(" "), "2.51 2512 1.45e10 10^139.6");
        assert_eq!(
            [-2.0, 4.0, 6.0, 9.0, 140.0].map(span).join(", "),
            "0.0 s, 2 h 46 min, 11.6 days, 31.7 years, 10^132.5 years"
        );
    }
}
