//! Numbers for people.

pub use tnsearch_app::text::{number, shape};

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
    fn spans_read_well() {
        assert_eq!(
            [0.44, 38.2, 725.0, 12_000.0].map(duration).join(", "),
            "0.4 s, 38 s, 12 min 5 s, 3 h 20 min"
        );
        assert_eq!([0.4, 3.4, 10.162, 139.55].map(power).join(" "), "2.51 2512 1.45e10 10^139.6");
        assert_eq!(
            [-2.0, 4.0, 6.0, 9.0, 140.0].map(span).join(", "),
            "0.0 s, 2 h 46 min, 11.6 days, 31.7 years, 10^132.5 years"
        );
    }
}
