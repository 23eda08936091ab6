//! Where the ticks of an axis stand and what they say.

use super::svg::{number, power};

/// A tick: its value and its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where it stands.
    pub value: f64,
    /// What it says; nothing for a minor tick.
    pub label: String,
}

/// Ticks at round numbers (1, 2 or 5 times a power of ten apart) within `lo..=hi`, about `wanted` of them.
/// With `whole` only whole numbers.
///
/// ```
/// use tnsearch_report::plot::ticks::linear;
/// let ticks = linear(0.0, 1.0, 5, false);
/// assert_eq!(ticks.iter().map(|t| t.label.as_str()).collect::<Vec<_>>(), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
/// ```
pub fn linear(lo: f64, hi: f64, wanted: usize, whole: bool) -> Vec<Tick> {
    let span = hi - lo;
    // Apart by less than rounding: no ticks can be told from each other.
    if !(span > 0.0 && span.is_finite() && span > 1e-10 * lo.abs().max(hi.abs())) {
        return Vec::new();
    }
    let ends = |step: f64| ((lo / step - 1e-9).ceil(), (hi / step + 1e-9).floor());
    let mut step = round_step(span / wanted.max(1) as f64);
    // One tick alone says nothing about the scale.
    while ends(step).1 - ends(step).0 < 1.0 {
        step = round_step(0.45 * step);
    }
    if whole {
        step = step.max(1.0);
    }
    let (first, last) = ends(step);
    let values: Vec<f64> = (0..=(last - first).clamp(0.0, 1000.0) as usize)
        // A multiple of the step, without the error of adding it up.
        .map(|k| (first + k as f64) * step)
        .collect();
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let plain = lo.abs().max(hi.abs()) < 1e7 && step >= 1e-4;
    values
        .into_iter()
        .map(|value| {
            let label = match plain {
                true if value.abs() < 0.5 * step => "0".to_owned(),
                true if decimals == 0 => number(value.round()),
                true => format!("{value:.decimals$}").replace('-', "−"),
                // Enough digits to tell neighbours apart.
                false => power(value, digits_apart(value, step)),
            };
            Tick { value, label: if value == 0.0 { "0".to_owned() } else { label } }
        })
        .collect()
}

/// The largest of 1, 2 and 5 times a power of ten that is not much above `x`.
fn round_step(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    let factor = match x / power {
        f if f <= 1.5 => 1.0,
        f if f <= 3.2 => 2.0,
        f if f <= 7.1 => 5.0,
        _ => 10.0,
    };
    factor * power
}

fn digits_apart(value: f64, step: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 12.0) as usize
}

/// Ticks of a logarithmic axis within `lo..=hi`, `lo > 0`: powers of ten, about `wanted` of them; with 2 and
/// 5 times those on short axes, and as on a linear axis on very short ones. Minor ticks have no label.
///
/// ```
/// use tnsearch_report::plot::ticks::log;
/// let labels: Vec<String> = log(1e-4, 1e-1, 5).into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect();
/// assert_eq!(labels, ["10⁻⁴", "10⁻³", "0.01", "0.1"]);
/// ```
pub fn log(lo: f64, hi: f64, wanted: usize) -> Vec<Tick> {
    if !(lo > 0.0 && hi > lo && hi.is_finite()) {
        return Vec::new();
    }
    let wanted = wanted.max(2);
    let (first, last) = (exponent_from(lo), exponent_to(hi));
    let decades = last - first + 1;
    if hi / lo < 6.0 {
        return linear(lo, hi, wanted, false);
    }
    if decades >= 3 || (decades == 2 && wanted <= 2) {
        // Counted from 10^0, so that the labelled powers are the same in neighbouring panels.
        let labelled = |skip: i32| (first..=last).filter(|e| e.rem_euclid(skip) == 0).count();
        let mut skip = (decades as usize).div_ceil(wanted) as i32;
        while labelled(skip) < 2 {
            skip -= 1;
        }
        let mut ticks = Vec::new();
        for e in first..=last {
            let value = 10f64.powi(e);
            let label = if e.rem_euclid(skip) == 0 { log_label(value) } else { String::new() };
            ticks.push(Tick { value, label });
        }
        if decades <= 3 {
            minor(&mut ticks, lo, hi, &[2, 3, 4, 5, 6, 7, 8, 9], first);
        }
        return ticks;
    }
    let factors: &[i32] = if hi / lo < 30.0 { &[1, 2, 3, 5] } else { &[1, 2, 5] };
    let mut ticks = Vec::new();
    for e in first - 1..=last {
        for &f in factors {
            let value = f64::from(f) * 10f64.powi(e);
            if within(value, lo, hi) {
                ticks.push(Tick { value, label: log_label(value) });
            }
        }
    }
    ticks
}

fn minor(ticks: &mut Vec<Tick>, lo: f64, hi: f64, factors: &[i32], first: i32) {
    let last = exponent_to(hi);
    for e in first - 1..=last {
        for &f in factors {
            let value = f64::from(f) * 10f64.powi(e);
            if within(value, lo, hi) {
                ticks.push(Tick { value, label: String::new() });
            }
        }
    }
    ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
}

fn log_label(value: f64) -> String {
    if (0.009..1e5).contains(&value) {
        return number(if value >= 1.0 { value.round() } else { value });
    }
    power(value, 0)
}

fn within(value: f64, lo: f64, hi: f64) -> bool {
    value >= lo * (1.0 - 1e-9) && value <= hi * (1.0 + 1e-9)
}

/// The exponent of the smallest power of ten that is not below `x`.
fn exponent_from(x: f64) -> i32 {
    (x.log10() - 1e-9).ceil() as i32
}

/// The exponent of the largest power of ten that is not above `x`.
fn exponent_to(x: f64) -> i32 {
    (x.log10() + 1e-9).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).filter(|l| !l.is_empty()).collect()
    }

    /// Ticks rise, lie on the axis, and no two say the same.
    fn sound(ticks: &[Tick], lo: f64, hi: f64) -> Result<(), TestCaseError> {
        let room = 1e-6 * (hi - lo);
        for t in ticks {
            prop_assert!(t.value >= lo - room && t.value <= hi + room, "{t:?} in {lo}..{hi}");
        }
        for w in ticks.windows(2) {
            prop_assert!(w[0].value < w[1].value, "{w:?}");
        }
        let all = labels(ticks);
        for (k, label) in all.iter().enumerate() {
            prop_assert!(!all[..k].contains(label), "{all:?}");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn linear_ticks_are_sound(lo in -1e9f64..1e9, exponent in -6.0f64..9.0, wanted in 2usize..10) {
            let hi = lo + 10f64.powf(exponent);
            let ticks = linear(lo, hi, wanted, false);
            sound(&ticks, lo, hi)?;
            if hi - lo > 1e-9 * lo.abs() {
                prop_assert!(ticks.len() >= 2 && ticks.len() <= 2 * wanted + 2, "{}", ticks.len());
            }
        }

        #[test]
        fn whole_ticks_are_whole(lo in -50f64..1e5, span in 1.0f64..1e6, wanted in 2usize..10) {
            let ticks = linear(lo, lo + span, wanted, true);
            sound(&ticks, lo, lo + span)?;
            prop_assert!(!ticks.is_empty());
            for t in &ticks {
                prop_assert_eq!(t.value, t.value.round());
            }
        }

        #[test]
        fn log_ticks_are_sound(lo in -30.0f64..20.0, decades in 0.05f64..40.0, wanted in 2usize..9) {
            let (lo, hi) = (10f64.powf(lo), 10f64.powf(lo + decades));
            let ticks = log(lo, hi, wanted);
            sound(&ticks, lo, hi)?;
            let said = labels(&ticks).len();
            prop_assert!(said >= 2 && said <= 2 * wanted + 4, "{said} labels: {ticks:?}");
        }
    }

    #[test]
    fn labels_are_those_people_write() {
        let text = |ticks: Vec<Tick>| labels(&ticks).join(" ");
        assert_eq!(text(linear(-1.0, 1.0, 4, false)), "−1.0 −0.5 0 0.5 1.0");
        assert_eq!(text(linear(0.0, 7.3, 8, true)), "0 1 2 3 4 5 6 7");
        assert_eq!(text(linear(0.0, 2.0, 8, true)), "0 1 2");
        assert_eq!(
            text(linear(0.0, 30_000.0, 3, true)).replace('\u{202f}', ""),
            "0 10000 20000 30000"
        );
        assert_eq!(text(log(0.05, 60.0, 5)), "0.1 1 10");
        assert_eq!(text(log(1e-12, 1.0, 5)), "10⁻¹² 10⁻⁹ 10⁻⁶ 10⁻³ 1");
        assert_eq!(text(log(15.0, 200.0, 5)), "20 30 50 100 200");
        assert_eq!(text(log(100.0, 150.0, 5)), "100 110 120 130 140 150");
        assert!(linear(1.0, 1.0, 5, false).is_empty() && log(-1.0, 1.0, 5).is_empty());
        assert!(linear(f64::NAN, 1.0, 5, false).is_empty());
        assert!(linear(0.0, f64::INFINITY, 5, false).is_empty());
    }
}
