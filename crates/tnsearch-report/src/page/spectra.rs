//! The cut spectra of the tensor, and the cuts that hold the structure found.

use super::digest::Digest;
use super::html::{Table, raw, wide_figure};
use super::{CutFacts, Facts};
use crate::plot::{Axis, Colour, Figure, HeatMap, Layer, Panel, Point, number};
use tnsearch::tensor::ModeNames;

/// Cuts and singular values shown.
const MAX_CUTS: usize = 40;
const MAX_VALUES: usize = 40;
/// Curves in one picture: more cannot be told apart.
const MAX_CURVES: usize = 7;
/// Shares of the tensor below this are all drawn in the same colour.
const LEAST: f64 = 1e-12;
/// A spectrum is sharp where what lies beyond the rank needed is this small a part of the last value within.
const SHARP: f64 = 1e-3;

/// The picture of the spectra that suits them, and the table.
pub(super) fn picture(digest: &Digest<'_>, facts: &Facts) -> String {
    if facts.cuts.is_empty() {
        return String::new();
    }
    let shown: Vec<&CutFacts> = facts.cuts.iter().take(MAX_CUTS).collect();
    let sharp = shown.iter().filter(|cut| is_sharp(cut)).count();
    let picture = match 2 * sharp >= shown.len() {
        true => {
            let draw = |width: f64| heat_map(digest, &shown, width);
            wide_figure(draw, "cut spectra", &heat_caption(digest, facts))
        }
        false => {
            let curves: Vec<&CutFacts> = shown.iter().copied().take(MAX_CURVES).collect();
            let draw = |width: f64| decay(digest, &curves, width);
            wide_figure(draw, "decay of the spectra", &decay_caption(digest, facts, curves.len()))
        }
    };
    picture + &table(digest, facts)
}

/// Whether the values fall off behind the rank needed, as those of an exact network do.
fn is_sharp(cut: &CutFacts) -> bool {
    let needed = cut.needed.unwrap_or(cut.width as usize).max(1);
    match (cut.spectrum.get(needed - 1), cut.spectrum.get(needed)) {
        (Some(last), Some(next)) => *next <= SHARP * last,
        // There is nothing beyond, or it is not known.
        _ => cut.rest <= 0.0,
    }
}

/// The modes of the smaller side of a cut.
fn side(cut: &CutFacts, order: usize, names: ModeNames<'_>) -> String {
    let others: Vec<usize> = (0..order).filter(|m| !cut.modes.contains(m)).collect();
    let small = if cut.modes.len() <= others.len() { &cut.modes } else { &others };
    let names: Vec<_> = small.iter().map(|&m| names.of(m)).collect();
    names.join(" ")
}

/// The error that each rank leaves at a cut, `sqrt(tau(k))`, for k from 0.
fn tails(cut: &CutFacts) -> Vec<f64> {
    let mut sum = cut.rest.max(0.0);
    let mut tails = vec![sum];
    for value in cut.spectrum.iter().rev() {
        sum += value.max(0.0);
        tails.push(sum);
    }
    tails.reverse();
    tails
}

/// The error that each rank leaves, on a logarithmic scale, for some cuts; dots where the network is.
fn decay(digest: &Digest<'_>, cuts: &[&CutFacts], width: f64) -> String {
    let header = &digest.journal().header;
    let (order, measure, names) = (header.dims.len(), &header.measure, header.names());
    let height = |tail: f64| if measure.root.is_some() { tail.sqrt() } else { tail };
    let name = measure.root.as_ref().map_or(&measure.name, |root| &root.name);
    let all: Vec<Vec<f64>> = cuts.iter().map(|cut| tails(cut)).collect();
    // Down to well below the error that matters.
    let eps = header.objective.max_error().or(digest.found.as_ref().map(|f| f.error));
    let least = eps.map_or(LEAST, |eps| (1e-3 * eps).max(1e-16));
    let y = Axis::log(&format!("least {name} of a network with that rank there"));
    let mut panel = Panel::new("", Axis::whole("rank of the cut").include(0.0), y)
        .size(width, if width < 500.0 { 400.0 } else { 380.0 });
    for (k, (cut, tails)) in cuts.iter().zip(&all).enumerate() {
        let ends = tails.iter().position(|t| *t < least).unwrap_or(tails.len());
        let points: Vec<Point> =
            tails[..ends].iter().enumerate().map(|(k, t)| (k as f64, height(*t))).collect();
        let title = format!("{}{}", if cut.binding { "● " } else { "" }, side(cut, order, names));
        let colour = Colour::Series(k);
        panel = panel.add(Layer::line(&title, points).colour(colour));
        let kept = cut.width as usize;
        if let Some(&tail) = tails.get(kept).filter(|t| kept < ends && **t > 0.0) {
            let tip = format!(
                "{} against the rest: the network keeps {}, which leaves {name} {} at least",
                side(cut, order, names),
                number(cut.width),
                number(height(tail))
            );
            let dot = Layer::dots(&title, vec![(kept as f64, height(tail))]);
            panel = panel.add(dot.colour(colour).size(4.5).tips(vec![tip]).unlisted());
        }
    }
    if let Some(eps) = header.objective.max_error() {
        panel = panel.add(Layer::horizontal("largest error allowed", height(eps)));
    }
    Figure::new("Decay of the spectra").panel(panel).inline()
}

fn decay_caption(digest: &Digest<'_>, facts: &Facts, shown: usize) -> String {
    let where_to = match digest.journal().header.objective.max_error() {
        Some(_) => " Where a curve meets the dashed line is the least rank that allows the error.",
        None => "",
    };
    let binding = match facts.cuts.iter().take(shown).any(|cut| cut.binding) {
        true => " Cuts with a ● bind: there the network is as narrow as its error allows.",
        false => "",
    };
    format!(
        "What the singular values beyond each rank hold, one curve for each way to part the modes in two (the modes \
         named against the rest): below its curve no network comes that has so little rank there. Dots stand where the \
         network found does.{where_to}{binding} Shown are {shown} of {} cuts.",
        facts.cuts_seen
    )
}

/// Singular values by cut, with a frame around the last that the network can keep at each cut that binds.
fn heat_map(digest: &Digest<'_>, cuts: &[&CutFacts], width: f64) -> String {
    let (order, names) = (digest.journal().header.dims.len(), digest.journal().header.names());
    let longest = cuts.iter().map(|c| c.spectrum.len()).max().unwrap_or(0);
    let used = cuts.iter().filter(|c| c.binding).map(|c| c.width as usize).max().unwrap_or(0);
    let columns = longest.min(MAX_VALUES.min(used.saturating_add(6).max(12)));
    let mut marked = Vec::new();
    let mut values = Vec::new();
    let mut tips = Vec::new();
    for (row, cut) in cuts.iter().enumerate() {
        let shown = cut.spectrum.iter().take(columns);
        values.push(shown.clone().map(|v| v.max(0.0)).collect::<Vec<f64>>());
        let said = |(k, v): (usize, &f64)| {
            format!(
                "{} against the rest: singular value {} holds {} of the tensor (squared); the network keeps {}",
                side(cut, order, names),
                k + 1,
                number(*v),
                number(cut.width)
            )
        };
        tips.push(shown.enumerate().map(said).collect::<Vec<String>>());
        if cut.binding && cut.width >= 1.0 && cut.width <= columns.min(cut.spectrum.len()) as f64 {
            marked.push((row, cut.width as usize - 1));
        }
    }
    let names = cuts
        .iter()
        .map(|c| format!("{}{}", if c.binding { "● " } else { "" }, side(c, order, names)));
    let rows = Axis::names("cut: these modes against the rest", names.collect());
    let x = Axis::names("singular value", (1..=columns).map(|k| k.to_string()).collect());
    let map = HeatMap::new("σ² share", values).log().range(LEAST, 1.0).mark(marked).tips(tips);
    let panel = Panel::new("", x, rows)
        .size(width, (100.0 + 15.0 * cuts.len() as f64).max(200.0))
        .add(Layer::heat("spectra", map));
    Figure::new("Cut spectra").panel(panel).inline()
}

/// What the picture shows (text, not markup).
fn heat_caption(digest: &Digest<'_>, facts: &Facts) -> String {
    let binding = facts.cuts.iter().filter(|c| c.binding).count();
    let why = match digest.journal().header.objective.max_error() {
        Some(_) => "at these the network is as narrow as the error allows",
        None => "at these the network is as narrow as the error that it reached allows",
    };
    format!(
        "The singular values of the tensor's unfoldings, one row for each way to part the modes in two. A network \
         can keep as many as its edges across the cut are wide; what lies beyond is lost whatever the cores. \
         Cuts with a ● bind: {why}, and the frame is around the last value kept. Shown are {} of {} cuts{}.",
        facts.cuts.len().min(MAX_CUTS),
        facts.cuts_seen,
        match binding {
            0 => "; none binds".to_owned(),
            n => format!("; {n} bind"),
        }
    )
}

/// The same in numbers.
fn table(digest: &Digest<'_>, facts: &Facts) -> String {
    let (order, names) = (digest.journal().header.dims.len(), digest.journal().header.names());
    let least = format!("{} at least", digest.measure().name);
    let mut table = Table::new(
        "Cuts of the network found",
        &["modes of one side", "binds", "network's width", "rank needed", &least],
    );
    for cut in &facts.cuts {
        table.row(&[
            side(cut, order, names),
            if cut.binding { "yes" } else { "no" }.to_owned(),
            raw(cut.width),
            cut.needed.map_or_else(|| "–".to_owned(), |n| n.to_string()),
            raw(cut.error),
        ]);
    }
    table.folded()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(spectrum: &[f64], rest: f64, needed: usize) -> CutFacts {
        CutFacts {
            modes: vec![1],
            width: needed as f64,
            needed: Some(needed),
            error: 0.0,
            binding: true,
            spectrum: spectrum.to_vec(),
            rest,
        }
    }

    #[test]
    fn a_spectrum_is_sharp_where_it_breaks_off() {
        assert!(is_sharp(&cut(&[0.7, 0.3, 1e-12], 1e-12, 2)));
        assert!(!is_sharp(&cut(&[0.7, 0.2, 0.05], 0.05, 2)));
        assert!(is_sharp(&cut(&[0.7, 0.3], 0.0, 2)), "all values are kept");
        assert!(!is_sharp(&cut(&[0.7, 0.2], 0.1, 2)), "more lies beyond what is shown");
    }

    #[test]
    fn tails_are_the_sums_of_what_lies_beyond() {
        let tails = tails(&cut(&[0.5, 0.25, 0.125], 0.125, 2));
        assert_eq!(tails, [1.0, 0.5, 0.25, 0.125]);
    }
}
