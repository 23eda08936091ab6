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

/// A name or other text from a file as it may be printed: what would act on a terminal is written as an escape.
///
/// ```
/// assert_eq!(tnsearch_io::text::shown("a\n\u{1b}[2Jb"), "a\\n\\u{1b}[2Jb");
/// ```
pub fn shown(text: &str) -> String {
    let one = |c: char| match c {
        // Marks that turn the direction of writing around hide what a name is.
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => c.escape_unicode().to_string(),
        c if c.is_control() => c.escape_debug().to_string(),
        c => c.to_string(),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(shown("layer.3 \u{e9}\u{1f600}"), "layer.3 \u{e9}\u{1f600}");
        let said = shown("\u{1b}]0;x\u{7}\na\u{202e}b\u{9b}2J\u{2028}");
        assert_eq!(said, "\\u{1b}]0;x\\u{7}\\na\\u{202e}b\\u{9b}2J\\u{2028}");
    }

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
