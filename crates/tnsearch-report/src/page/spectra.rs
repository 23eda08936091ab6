//! The cut spectra of the tensor, and the cuts that hold the structure found.

use super::digest::Digest;
use super::html::{Table, raw};
use super::{CutFacts, Facts};
use crate::plot::{Axis, Figure, HeatMap, Layer, Panel, number};
use tnsearch::tensor::ModeNames;

/// Cuts and singular values shown.
const MAX_CUTS: usize = 40;
const MAX_VALUES: usize = 40;
/// Shares of the tensor below this are all drawn in the same colour.
const LEAST: f64 = 1e-12;

/// The modes of the smaller side of a cut.
fn side(cut: &CutFacts, order: usize, names: ModeNames<'_>) -> String {
    let others: Vec<usize> = (0..order).filter(|m| !cut.modes.contains(m)).collect();
    let small = if cut.modes.len() <= others.len() { &cut.modes } else { &others };
    let names: Vec<_> = small.iter().map(|&m| names.of(m)).collect();
    names.join(" ")
}

/// Singular values by cut, with a frame around the last that the network can keep at each cut that binds.
pub(super) fn heat_map(digest: &Digest<'_>, facts: &Facts) -> Option<String> {
    let cuts: Vec<&CutFacts> = facts.cuts.iter().take(MAX_CUTS).collect();
    if cuts.is_empty() {
        return None;
    }
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
        .size(760.0, (100.0 + 15.0 * cuts.len() as f64).max(200.0))
        .add(Layer::heat("spectra", map));
    Some(Figure::new("Cut spectra").panel(panel).inline())
}

/// What the picture shows (text, not markup).
pub(super) fn caption(digest: &Digest<'_>, facts: &Facts) -> String {
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
pub(super) fn table(digest: &Digest<'_>, facts: &Facts) -> String {
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
