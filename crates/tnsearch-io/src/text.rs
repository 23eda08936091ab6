//! Numbers for people, as far as errors need them.

/// An amount of memory in the unit that suits it.
pub fn bytes(n: u128) -> String {
    match n {
        0..1_000 => format!("{n} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        1_000_000_000..1_000_000_000_000_000 => format!("{:.2} GB", n as f64 / 1e9),
        u128::MAX => "more than 10^29 GB".to_owned(),
        _ => format!("{:.1e} GB", n as f64 / 1e9),
    }
}

/// A number of things: its digits where they mean something. `u128::MAX` stands for all that is beyond counting.
pub fn count(n: u128) -> String {
    match n {
        0..1_000_000_000_000_000_000 => n.to_string(),
        u128::MAX => "more than 10^38".to_owned(),
        _ => format!("{:.1e}", n as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(
            [12, 5_832, 134_217_728, 8_000_000_000].map(bytes).join(" "),
            "12 bytes 5.8 kB 134.2 MB 8.00 GB"
        );
        assert_eq!(bytes(1 << 64), "1.8e10 GB");
        assert_eq!(bytes(u128::MAX), "more than 10^29 GB");
        assert_eq!([0, 1_000_000_000_000, 1 << 64].map(count).join(" "), "0 1000000000000 1.8e19");
        assert_eq!(count(u128::MAX), "more than 10^38");
    }
}
