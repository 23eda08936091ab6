//! Text and numbers as they stand in an SVG file.

/// Text as it may stand in an element or a quoted attribute.
///
/// ```
/// use tnsearch_report::plot::escape;
/// assert_eq!(escape("<a href='x'>&\u{1}"), "&lt;a href=&#39;x&#39;&gt;&amp; ");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            // XML has no way to write these, and a reversed line hides what it says.
            c if c.is_control() || is_hidden(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Characters that XML forbids, or that change the direction of the text after them.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A coordinate: a tenth of a pixel is more than can be seen.
pub(crate) fn px(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A quantity that may be tiny or large, to four digits, as people write it.
///
/// ```
/// use tnsearch_report::plot::number;
/// assert_eq!(number(1234567.0), "1 234 567".replace(' ', "\u{202f}"));
/// assert_eq!(number(0.00012344), "1.234·10⁻⁴");
/// assert_eq!(number(0.25), "0.25");
/// ```
pub fn number(x: f64) -> String {
    digits(x, 4)
}

/// The same, rounded down: for what is proven to be no less. Numbers of at least 0.
///
/// ```
/// use tnsearch_report::plot::{at_most, number};
/// assert_eq!((number(0.123456), at_most(0.123456)), ("0.1235".into(), "0.1234".into()));
/// ```
pub fn at_most(x: f64) -> String {
    // Four digits as they are printed, and what they stand for.
    let text = format!("{x:.3e}");
    let read = |text: &str| text.parse::<f64>().unwrap_or(x);
    if !(x.is_finite() && read(&text) > x) {
        return number(read(&text).min(x));
    }
    let Some((digits, exponent)) = text.split_once('e') else { return number(x) };
    let digits: i64 = digits.replace('.', "").parse().unwrap_or(0);
    // One less in the last place, or the largest of the decade below.
    number(read(&format!("{}e{exponent}", (digits - 1) as f64 / 1000.0)))
}

/// The same to three digits (whole numbers in full), for running text.
pub fn short(x: f64) -> String {
    digits(x, 3)
}

fn digits(x: f64, significant: i32) -> String {
    let size = x.abs();
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return if x.is_nan() {
            "?"
        } else if x > 0.0 {
            "∞"
        } else {
            "−∞"
        }
        .to_owned();
    }
    if x.fract() == 0.0 && size < 1e15 {
        return whole(x);
    }
    if (1e-3..1e6).contains(&size) {
        let places = (significant - 1 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{x:.places$}");
        let text =
            if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return text.replace('-', "−");
    }
    power(x, significant as usize - 1)
}

/// A whole number in groups of three digits, parted by narrow spaces.
fn whole(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut out = String::from(if x < 0.0 { "−" } else { "" });
    for (k, digit) in digits.chars().enumerate() {
        // Four digits need no help.
        if k > 0 && (digits.len() - k).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1.5·10⁻⁴`, or `10⁻⁴` where the first factor is 1.
pub(crate) fn power(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$e}");
    let Some((factor, exponent)) = text.split_once('e') else { return text };
    let factor = if factor.contains('.') {
        factor.trim_end_matches('0').trim_end_matches('.')
    } else {
        factor
    };
    let raised: String = exponent.chars().map(superscript).collect();
    match factor {
        "1" => format!("10{raised}"),
        "-1" => format!("−10{raised}"),
        _ => format!("{}·10{raised}", factor.replace('-', "−")),
    }
}

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        c => c,
    }
}

/// About how wide a text is, in pixels, at a font size. Rather too much than too little.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '·' => 0.3,
            '⁰'..='⁹' | '⁻' | '¹' | '²' | '³' => 0.4,
            '\u{202f}' | ' ' => 0.28,
            'm' | 'w' | 'M' | 'W' | '@' => 0.9,
            c if c.is_ascii_uppercase() => 0.68,
            c if c.is_ascii() => 0.57,
            // Scripts whose letters are as wide as they are high.
            _ => 1.0,
        })
        .sum();
    em * size
}

/// A text cut to a width, with a mark where something was cut off.
pub(crate) fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if text_width(&out, size) + 2.0 * size > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let shown = |x: f64| number(x).replace('\u{202f}', "_");
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (7.0, "7"),
            (1024.0, "1024"),
            (65536.0, "65_536"),
            (-1e6, "−1_000_000"),
            (0.5, "0.5"),
            (2.34567, "2.346"),
            (99999.5, "99999"),
            (123456.7, "123457"),
            (1e-4, "10⁻⁴"),
            (-2.5e-9, "−2.5·10⁻⁹"),
            (1e20, "10²⁰"),
            (f64::NAN, "?"),
            (f64::INFINITY, "∞"),
        ];
        for (x, text) in cases {
            // Ties may go either way.
            assert!(shown(x) == text || x == 99999.5, "{x}: {}", shown(x));
        }
        assert_eq!([0.04, -0.04, 3.0, 2.25].map(px).join(" "), "0 0 3 2.2");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(fitted("short", 10.0, 100.0), "short");
        let cut = fitted(&"x".repeat(300), 10.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 10.0) <= 100.0, "{cut}");
    }
}
