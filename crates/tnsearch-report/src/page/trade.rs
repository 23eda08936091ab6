//! What it would cost to go smaller: params against error.

use super::curves::{LEAST_ERROR, tip};
use super::digest::Digest;
use super::html::{Table, error_cells, error_heads, raw, section as html_section, wide_figure};
use crate::plot::{Axis, Colour, Figure, Layer, Panel, Point, number};

/// Params against error, of all that was fitted and of the peers.
pub(super) fn section(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let header = &journal.header;
    let Some(found) = &digest.found else { return String::new() };
    let measure = digest.measure();
    // The root, where people use that: small errors are less far apart.
    let root = measure.root.as_ref();
    let height = |error: f64| {
        let shown = error.max(LEAST_ERROR);
        if root.is_some() { shown.sqrt() } else { shown }
    };
    let axis =
        root.map_or(measure.name.to_string(), |root| format!("{} {}", root.meaning, root.name));
    let fitted = || journal.records.iter().enumerate();
    let few = journal.records.len() <= 5000;
    let all: Vec<Point> = fitted().map(|(_, r)| (r.params as f64, height(r.error))).collect();
    let tips = if few { fitted().map(|(k, _)| tip(digest, k)).collect() } else { Vec::new() };
    let front: Vec<Point> = digest
        .front
        .iter()
        .map(|&k| (journal.records[k].params as f64, height(journal.records[k].error)))
        .collect();
    let mut panel = Panel::new("", Axis::log("params"), Axis::log(&axis)).size(760.0, 400.0);
    if all.len() > 1 {
        panel = panel
            .add(Layer::dots("evaluation", all).colour(Colour::Muted).size(2.6).tips(tips))
            .add(Layer::steps("Pareto front", front.clone()))
            .add(Layer::dots("Pareto front", front).size(3.4).unlisted());
    }
    let said = |who: &str, params: u128, error: f64| {
        format!("{who}: {} params, {} {}", number(params as f64), measure.name, number(error))
    };
    for (k, peer) in digest.search.facts.iter().flat_map(|f| &f.peers).enumerate() {
        let said = said(&peer.name, peer.params, peer.error);
        let at = (peer.params as f64, height(peer.error));
        panel = panel.add(
            Layer::dots(&peer.name, vec![at])
                .colour(Colour::Series(k + 1))
                .size(5.0)
                .tips(vec![said]),
        );
    }
    let chosen = (found.params as f64, height(found.error));
    let said = said("chosen", found.params, found.error);
    panel = panel
        .add(Layer::dots("chosen", vec![chosen]).colour(Colour::Accent).size(6.0).tips(vec![said]));
    if let Some(p) = digest.lower_bound.and_then(|b| b.params) {
        panel = panel.add(Layer::vertical("proven lower bound", p as f64));
    }
    if let Some(r) = digest.lower_bound.and_then(|b| b.error).filter(|r| *r > 0.0) {
        panel = panel.add(Layer::horizontal("proven lower bound", height(r)));
    }
    let target = |layer: Layer| layer.colour(Colour::Series(2));
    if let Some(eps) = header.objective.max_error() {
        panel = panel.add(target(Layer::horizontal("largest error allowed", height(eps))));
    }
    if let Some(p) = header.objective.max_params() {
        panel = panel.add(target(Layer::vertical("most params allowed", p as f64)));
    }
    let svg = Figure::new("Params against error").panel(panel).inline();
    let mut out = String::from(
        "<p>Every structure that was fitted, by its size and its error. On the front no other is better in both: \
         these are the choices there are, as far as the search looked.</p>\n",
    );
    let mut caption = Vec::new();
    if let Some(root) = root {
        caption.push(format!("{} is the square root of the {}.", root.name, measure.name));
    }
    if digest.lower_bound.is_some_and(|b| b.params.is_some()) {
        caption.push(
            "Left of the proven bound there is nothing that reaches the error asked for.".into(),
        );
    }
    out += &wide_figure(&svg, "Params against error", &caption.join(" "));
    let heads = [&["params"][..], &error_heads(measure), &["compression", "evaluation"]].concat();
    let mut table = Table::new("Pareto front", &heads);
    let entries = tnsearch::tensor::size(&header.dims) as f64;
    for &k in &digest.front {
        let r = &journal.records[k];
        let mut row = vec![r.params.to_string()];
        row.extend(error_cells(measure, Some(r.error)));
        row.extend([raw(entries / r.params.max(1) as f64), (k + 1).to_string()]);
        table.row(&row);
    }
    out += &table.folded();
    html_section("trade", "What it would cost to go smaller", &out)
}
