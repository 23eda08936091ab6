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
        assert_eq!(shape(&[3, 4]), "3 x 4");
    }
}
