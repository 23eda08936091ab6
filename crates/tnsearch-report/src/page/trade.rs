//! What it would cost to go smaller: params against error, over formats, and the Pareto front to choose from.

use super::curves::{shown, tip};
use super::digest::Digest;
use super::html::{Table, error_cells, error_heads, raw, section as html_section, wide_figure};
use super::words;
use crate::plot::{Axis, Colour, Figure, Layer, Panel, Point, number};
use std::fmt::Write as _;
use tnsearch::problem::Measure;
use tnsearch::tensor::size;

/// Formats beyond this number share a colour.
const MAX_FORMATS: usize = 6;
/// Evaluations beyond this number say no more than where they are.
const MAX_TIPS: usize = 5000;

/// Params against error, of all that was fitted and of the peers.
pub(super) fn section(digest: &Digest<'_>) -> String {
    if digest.found.is_none() {
        return String::new();
    }
    let measure = digest.measure();
    let what = match digest.formats.len() {
        0 => "Every structure that was fitted, by its size and its error.".to_owned(),
        n => format!("Every structure that was fitted, of {n} formats, by its size and its error."),
    };
    let mut out = format!(
        "<p>{what} On the front no other is better in both: these are the choices there are, as far as the \
         search looked.</p>\n"
    );
    let mut caption = Vec::new();
    if let Some(root) = &measure.root {
        caption.push(format!("{} is the square root of the {}.", root.name, measure.name));
    }
    let line = digest.bound_line().filter(|(_, bound)| bound.params.is_some());
    if line.is_some() {
        caption.push(format!(
            "Left of the proven bound no {} reaches the error asked for.",
            digest.statement.class()
        ));
    }
    let name = match digest.formats.len() {
        0 => "Params against error",
        _ => "Params against error, by format",
    };
    let draw = |width: f64| Figure::new(name).panel(panel(digest, width)).inline();
    out += &wide_figure(draw, name, &caption.join(" "));
    out += &front(digest);
    out += &formats(digest);
    html_section("trade", "What it would cost to go smaller", &out)
}

fn panel(digest: &Digest<'_>, width: f64) -> Panel {
    let journal = digest.journal();
    let measure = digest.measure();
    let height = |error: f64| shown(error, measure);
    let root = measure.root.as_ref();
    let axis =
        root.map_or(measure.name.to_string(), |root| format!("{} {}", root.meaning, root.name));
    let tall = if width < 500.0 { 430.0 } else { 420.0 };
    let mut panel = Panel::new("", Axis::log("params"), Axis::log(&axis)).size(width, tall);
    let few = journal.records.len() <= MAX_TIPS;
    for (k, format) in groups(digest).into_iter().enumerate() {
        let (name, colour) = match &format {
            Some(name) => (name.clone(), Colour::Series(k)),
            None => ("evaluation".to_owned(), Colour::Muted),
        };
        let of = |k: &usize| match (&format, digest.formats.len()) {
            (None, 0) => true,
            (None, _) => place(digest, *k) >= MAX_FORMATS,
            (Some(_), _) => journal.format_of(&journal.records[*k]) == name,
        };
        let chosen: Vec<usize> = (0..journal.records.len()).filter(of).collect();
        let at = |k: &usize| {
            let r = &journal.records[*k];
            (r.params as f64, height(r.error))
        };
        let points: Vec<Point> = chosen.iter().map(at).collect();
        let tips = if few { chosen.iter().map(|&k| tip(digest, k)).collect() } else { Vec::new() };
        panel = panel.add(Layer::dots(&name, points).colour(colour).size(2.8).tips(tips));
    }
    let front = digest.front.iter().map(|&k| &journal.records[k]);
    let front: Vec<Point> = front.map(|r| (r.params as f64, height(r.error))).collect();
    if journal.records.len() > 1 {
        let line = Layer::steps("Pareto front", front.clone()).colour(Colour::Series(FRONT));
        let tips = digest.front.iter().map(|&k| tip(digest, k)).collect();
        let dots = Layer::dots("Pareto front", front).colour(Colour::Series(FRONT)).size(3.4);
        panel = panel.add(line).add(dots.tips(tips).id("front").unlisted());
    }
    with_lines(with_peers(panel, digest, measure, &height), digest, &height)
}

/// The colour of the front: that of no format.
const FRONT: usize = 7;

/// The formats that have a colour of their own, the best first, then none for the others.
fn groups(digest: &Digest<'_>) -> Vec<Option<String>> {
    let named = digest.formats.iter().take(MAX_FORMATS).map(|f| Some(f.format.clone()));
    let more = (digest.formats.is_empty() || digest.formats.len() > MAX_FORMATS).then_some(None);
    named.chain(more).collect()
}

/// Where the format of an evaluation stands among all.
fn place(digest: &Digest<'_>, k: usize) -> usize {
    let name = digest.journal().format_of(&digest.journal().records[k]);
    digest.formats.iter().position(|f| f.format == name).unwrap_or(0)
}

fn with_peers(
    mut panel: Panel,
    digest: &Digest<'_>,
    measure: &Measure,
    height: &dyn Fn(f64) -> f64,
) -> Panel {
    let said = |who: &str, params: u128, error: f64| {
        let error = measure.short_text(error, number);
        format!("{who}: {} params, {error}", number(params as f64))
    };
    let first = digest.formats.len().min(MAX_FORMATS);
    for (k, peer) in digest.search.facts.iter().flat_map(|f| &f.peers).enumerate() {
        let said = said(&peer.name, peer.params, peer.error);
        let at = (peer.params as f64, height(peer.error));
        let dot = Layer::dots(&peer.name, vec![at]).colour(Colour::Series(first + k));
        panel = panel.add(dot.size(5.0).tips(vec![said]));
    }
    let Some(found) = &digest.found else { return panel };
    let name = if digest.target_reached { "chosen" } else { "best so far, target not reached" };
    let chosen = (found.params as f64, height(found.error));
    let tips = vec![said(name, found.params, found.error)];
    panel.add(Layer::dots(name, vec![chosen]).colour(Colour::Accent).size(6.0).tips(tips))
}

/// The bound, and what was asked for.
fn with_lines(mut panel: Panel, digest: &Digest<'_>, height: &dyn Fn(f64) -> f64) -> Panel {
    let objective = digest.journal().header.objective;
    if let Some((name, bound)) = digest.bound_line() {
        if let Some(p) = bound.params {
            panel = panel.add(Layer::vertical(&name, p as f64));
        }
        if let Some(r) = bound.error.filter(|r| *r > 0.0) {
            panel = panel.add(Layer::horizontal(&name, height(r)));
        }
    }
    let target = |layer: Layer| layer.colour(Colour::Muted);
    if let Some(eps) = objective.max_error() {
        panel = panel.add(target(Layer::horizontal("largest error allowed", height(eps))));
    }
    if let Some(p) = objective.max_params() {
        panel = panel.add(target(Layer::vertical("most params allowed", p as f64)));
    }
    panel
}

/// The Pareto front: a slider over its points where there is a script, and a table.
fn front(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let measure = digest.measure();
    let (several, names) = (!digest.formats.is_empty(), journal.header.names());
    let heads = [
        &["params"][..],
        &error_heads(measure),
        &["compression"],
        if several { &["format"] } else { &[] },
        &["ranks", "evaluation"],
    ];
    let mut table = Table::new("Pareto front", &heads.concat()).id("front");
    let entries = size(&journal.header.dims) as f64;
    for &k in &digest.front {
        let r = &journal.records[k];
        let mut row = vec![r.params.to_string()];
        row.extend(error_cells(measure, Some(r.error)));
        row.push(raw(entries / r.params.max(1) as f64));
        if several {
            row.push(journal.format_of(r).to_owned());
        }
        row.push(journal.structure(r).map_or_else(String::new, |s| words::ranks(&s, names)));
        row.push((k + 1).to_string());
        table.row(&row);
    }
    let mut out = String::new();
    if table.shown() > 1 {
        let chosen = digest.found.as_ref();
        let at = digest.front.iter().position(|&k| {
            chosen.is_some_and(|f| u128::from(journal.records[k].params) >= f.params)
        });
        let last = table.shown() - 1;
        let _ = writeln!(
            out,
            "<div class=\"slider\" hidden><label for=\"front-at\">Along the Pareto front, from small to exact</label>\
             <input type=\"range\" id=\"front-at\" min=\"0\" max=\"{last}\" step=\"1\" value=\"{}\">\
             <output id=\"front-says\" for=\"front-at\"></output></div>",
            at.unwrap_or(last).min(last)
        );
    }
    out + &table.folded()
}

/// The best of each format.
fn formats(digest: &Digest<'_>) -> String {
    if digest.formats.is_empty() {
        return String::new();
    }
    let measure = digest.measure();
    let heads = [
        &["format", "params"][..],
        &error_heads(measure),
        &["compression", "found after", "target"],
    ];
    let mut table = Table::new("The best of each format", &heads.concat());
    let entries = size(&digest.journal().header.dims) as f64;
    for best in &digest.formats {
        let mut row = vec![best.format.clone(), best.score.params.to_string()];
        row.extend(error_cells(measure, Some(best.score.error)));
        row.push(raw(entries / best.score.params.max(1) as f64));
        row.push(words::seconds(best.seconds));
        row.push(if best.target_reached { "reached" } else { "not reached" }.to_owned());
        table.row(&row);
    }
    table.html()
}
