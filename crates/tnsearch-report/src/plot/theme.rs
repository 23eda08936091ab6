//! Colours and style of figures.
//!
//! Every colour is a CSS custom property, so that a page can change them all at once; every element also
//! has the light colour as an attribute, which viewers without CSS variables fall back on. The colours of
//! series follow Okabe and Ito's set, which people with any colour vision can tell apart, darkened on
//! white and lightened on black until lines have a contrast of at least 3 to 1.

/// A colour of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// One of the series' colours; they repeat after [`SERIES`].
    Series(usize),
    /// For what stands back: single evaluations behind a best-so-far line.
    Muted,
    /// For bounds and targets.
    Bound,
    /// For what the figure is about: the chosen point.
    Accent,
}

/// The number of different colours for series.
pub const SERIES: usize = 8;

const SERIES_LIGHT: [&str; SERIES] =
    ["#0068a8", "#c8500a", "#00825f", "#a8487f", "#8a6a00", "#3f93c9", "#5b4bb5", "#6e6e6e"];

impl Colour {
    /// The name of its custom property, after `--tn-`, and its value in light figures.
    pub(crate) fn property(self) -> (&'static str, &'static str) {
        const NAMES: [&str; SERIES] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
        match self {
            Colour::Series(k) => (NAMES[k % SERIES], SERIES_LIGHT[k % SERIES]),
            Colour::Muted => ("dot", "#8795a8"),
            Colour::Bound => ("bound", "#b3261e"),
            Colour::Accent => ("accent", "#d4006a"),
        }
    }
}

/// The custom properties of light figures.
pub const LIGHT: &str = "--tn-paper:#fff;--tn-ink:#1b2430;--tn-soft:#5a6675;--tn-grid:#e6eaef;\
--tn-axis:#9aa5b1;--tn-dot:#8795a8;--tn-bound:#b3261e;--tn-accent:#d4006a;--tn-c0:#0068a8;\
--tn-c1:#c8500a;--tn-c2:#00825f;--tn-c3:#a8487f;--tn-c4:#8a6a00;--tn-c5:#3f93c9;--tn-c6:#5b4bb5;\
--tn-c7:#6e6e6e;--tn-mode:#0068a8;--tn-inner:#8a5a00;--tn-edge:#5f6f82;--tn-on:#fff";

/// The custom properties of dark figures.
pub const DARK: &str = "--tn-paper:#12171e;--tn-ink:#e8edf3;--tn-soft:#a3afbd;--tn-grid:#28313c;\
--tn-axis:#5d6a79;--tn-dot:#93a3b8;--tn-bound:#ff8a80;--tn-accent:#ff6fae;--tn-c0:#57b1f0;\
--tn-c1:#f5945a;--tn-c2:#3fcfa4;--tn-c3:#e79cc8;--tn-c4:#dcb94a;--tn-c5:#9bd8ff;--tn-c6:#b0a5f5;\
--tn-c7:#b5b5b5;--tn-mode:#1f78bd;--tn-inner:#94691a;--tn-edge:#8fa0b5;--tn-on:#fff";

/// The rules that turn custom properties into colours. A page with inline figures has them once.
pub const RULES: &str = "\
.tn-fig text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:var(--tn-ink)}\
.tn-fig .paper{fill:var(--tn-paper)}\
.tn-fig .soft,.tn-fig .soft text{fill:var(--tn-soft)}\
.tn-fig .grid{stroke:var(--tn-grid)}\
.tn-fig .axis{stroke:var(--tn-axis)}\
.tn-fig .halo{stroke:var(--tn-paper);fill:var(--tn-paper)}\
.tn-fig .ring{stroke:var(--tn-paper)}\
.tn-fig .mark{stroke:var(--tn-ink)}\
.tn-fig .num{font-variant-numeric:tabular-nums}\
.tn-fig .s-c0{stroke:var(--tn-c0)}.tn-fig .f-c0{fill:var(--tn-c0)}\
.tn-fig .s-c1{stroke:var(--tn-c1)}.tn-fig .f-c1{fill:var(--tn-c1)}\
.tn-fig .s-c2{stroke:var(--tn-c2)}.tn-fig .f-c2{fill:var(--tn-c2)}\
.tn-fig .s-c3{stroke:var(--tn-c3)}.tn-fig .f-c3{fill:var(--tn-c3)}\
.tn-fig .s-c4{stroke:var(--tn-c4)}.tn-fig .f-c4{fill:var(--tn-c4)}\
.tn-fig .s-c5{stroke:var(--tn-c5)}.tn-fig .f-c5{fill:var(--tn-c5)}\
.tn-fig .s-c6{stroke:var(--tn-c6)}.tn-fig .f-c6{fill:var(--tn-c6)}\
.tn-fig .s-c7{stroke:var(--tn-c7)}.tn-fig .f-c7{fill:var(--tn-c7)}\
.tn-fig .s-dot{stroke:var(--tn-dot)}.tn-fig .f-dot{fill:var(--tn-dot)}\
.tn-fig .s-bound{stroke:var(--tn-bound)}.tn-fig .f-bound{fill:var(--tn-bound)}\
.tn-fig .s-accent{stroke:var(--tn-accent)}.tn-fig .f-accent{fill:var(--tn-accent)}\
.tn-fig .edge{stroke:var(--tn-edge)}\
.tn-fig .mode{fill:var(--tn-mode)}.tn-fig .inner{fill:var(--tn-inner)}\
.tn-fig .on text,.tn-fig text.on{fill:var(--tn-on)}";

/// The style sheet of a figure that stands alone.
pub(crate) fn standalone() -> String {
    format!(
        ".tn-fig{{{LIGHT}}}@media (prefers-color-scheme:dark){{.tn-fig{{{DARK}}}}}\
         @media print{{.tn-fig{{{LIGHT}}}}}{RULES}"
    )
}

/// The colours of the scale from low to high of a heat map: the map "cividis", which looks the same to
/// people with red-green colour blindness and grows evenly lighter.
const CIVIDIS: [(u8, u8, u8); 9] = [
    (0, 34, 78),
    (31, 56, 110),
    (71, 79, 110),
    (100, 102, 111),
    (125, 124, 120),
    (153, 149, 118),
    (184, 175, 107),
    (218, 203, 86),
    (254, 232, 56),
];

/// The colour of a share of the way from low to high, and whether text on it must be light.
pub(crate) fn heat(share: f64) -> (String, bool) {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let at = share * (CIVIDIS.len() - 1) as f64;
    let low = (at as usize).min(CIVIDIS.len() - 2);
    let part = at - low as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (CIVIDIS[low], CIVIDIS[low + 1]);
    let colour = format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2));
    (colour, share < 0.55)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of WCAG 2.
    fn luminance(hex: &str) -> f64 {
        let hex = hex.trim_start_matches('#');
        let full: String =
            if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex.into() };
        let part = |k: usize| {
            let v = f64::from(u8::from_str_radix(&full[2 * k..2 * k + 2], 16).unwrap()) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn value<'a>(theme: &'a str, name: &str) -> &'a str {
        let key = format!("--tn-{name}:");
        let at = theme.find(&key).unwrap_or_else(|| panic!("{name}")) + key.len();
        theme[at..].split(';').next().unwrap()
    }

    #[test]
    fn everything_stands_out_from_the_paper() {
        for theme in [LIGHT, DARK] {
            let paper = value(theme, "paper");
            for text in ["ink", "soft", "bound", "accent"] {
                assert!(contrast(value(theme, text), paper) >= 4.5, "{text} on {paper}");
            }
            for k in 0..SERIES {
                let (name, _) = Colour::Series(k).property();
                assert!(contrast(value(theme, name), paper) >= 3.0, "{name} on {paper}");
            }
            for fill in ["mode", "inner"] {
                assert!(contrast(value(theme, "on"), value(theme, fill)) >= 4.5, "{fill}");
            }
        }
    }

    #[test]
    fn fallback_colours_are_those_of_the_light_theme() {
        let mut all: Vec<Colour> = (0..SERIES).map(Colour::Series).collect();
        all.extend([Colour::Muted, Colour::Bound, Colour::Accent]);
        for colour in all {
            let (name, fallback) = colour.property();
            assert_eq!(value(LIGHT, name), fallback);
            assert!(RULES.contains(&format!(".s-{name}{{stroke:var(--tn-{name})}}")));
            assert!(RULES.contains(&format!(".f-{name}{{fill:var(--tn-{name})}}")));
        }
    }

    #[test]
    fn the_scale_grows_lighter_and_text_on_it_can_be_read() {
        let mut before = -1.0;
        for k in 0..=100 {
            let (colour, light) = heat(f64::from(k) / 100.0);
            let now = luminance(&colour);
            assert!(now >= before, "{k}");
            before = now;
            let text = if light { "#fff" } else { "#000" };
            assert!(contrast(&colour, text) >= 3.5, "{k}: {colour}");
        }
        assert_eq!(heat(f64::NAN).0, heat(0.0).0);
    }
}
