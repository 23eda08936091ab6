//! How one search went, in pictures.

use super::curves::{Along, Quantity, improvement_points, shown, tip, up_to};
use super::digest::Digest;
use super::html::{
    Table, error_cells, error_heads, figure, raw, section as html_section, wide_figure,
};
use super::words;
use crate::plot::{Axis, Colour, Figure, HeatMap, Layer, Panel, Point};
use tnsearch::tensor::size;

/// Improvements shown in the picture of the ranks.
const MAX_STEPS: usize = 60;
/// Edges shown there.
const MAX_EDGES: usize = 80;

/// How the search went.
pub(super) fn section(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let fitted = journal.records.len();
    let mut out = String::new();
    if fitted == 0 {
        return framed("<p>No evaluation is on record.</p>\n");
    }
    if fitted < 3 {
        let text = match fitted {
            1 => "One structure was fitted; there is no curve to draw.",
            _ => "Two structures were fitted; there is no curve to draw.",
        };
        out += &format!("<p>{text}</p>\n");
    } else {
        out += "<p>Every dot is one structure that was fitted; the line is the best answer so far.</p>\n";
    }
    out += "<div class=\"grid\">\n";
    if fitted >= 3 {
        // The loss of an error or a budget to be kept is but params and error again.
        let quantities: &[Quantity] = match journal.header.objective.lambda() {
            Some(_) => &[Quantity::Loss, Quantity::Error, Quantity::Params],
            None => &[Quantity::Params, Quantity::Error],
        };
        for &quantity in quantities {
            let panel = progress(digest, quantity);
            let name = format!("{} against evaluations", quantity.title());
            let svg = Figure::new(&name).panel(panel).inline();
            out += &figure(&svg, &name, &caption(digest, quantity));
        }
    }
    if let Some(runs) = super::compare::runs(digest) {
        out += &runs;
    }
    if let Some(svg) = proposals(digest) {
        out += &figure(
            &svg,
            "What became of the proposals",
            "Structures proposed up to each generation, by what became of them: fitted, ruled out by a bound (pruned), answered from an earlier fit (cached), or too large.",
        );
    }
    out += "</div>\n";
    out += &ranks(digest).unwrap_or_default();
    out += &history(digest).folded();
    framed(&out)
}

fn framed(body: &str) -> String {
    html_section("search", "How the search went", body)
}

fn caption(digest: &Digest<'_>, quantity: Quantity) -> String {
    let header = &digest.journal().header;
    match quantity {
        Quantity::Loss => header.objective.loss_text(&header.measure),
        Quantity::Error => {
            let (meaning, least) = match &header.measure.root {
                Some(root) => (words::capital(&root.meaning), "10⁻⁷"),
                None => (words::capital(&header.measure.meaning), "10⁻¹⁴"),
            };
            format!("{meaning}. Values below {least} are rounding and drawn there.")
        }
        Quantity::Params => "Entries of all cores together.".to_owned(),
    }
}

/// Dots for all evaluations, a line for the best so far, bounds and targets across.
fn progress(digest: &Digest<'_>, quantity: Quantity) -> Panel {
    let along = Along::Evaluations;
    let journal = digest.journal();
    let header = &journal.header;
    let mut points: Vec<Point> = Vec::with_capacity(journal.records.len());
    let mut tips = Vec::new();
    let few = journal.records.len() <= 5000;
    for (k, record) in journal.records.iter().enumerate() {
        points.push((along.of(k, record), quantity.of(record, &header.measure)));
        if few {
            tips.push(tip(digest, k));
        }
    }
    let end = points.iter().map(|p| p.0).fold(0.0, f64::max);
    let marks = improvement_points(digest, quantity, along);
    let best = up_to(marks.clone(), end);
    let mut panel = Panel::new("", along.axis(), Axis::log(quantity.name(digest.measure())))
        .size(430.0, 280.0)
        .add(Layer::dots("evaluation", points).colour(Colour::Muted).size(2.6).tips(tips))
        .add(Layer::steps("best so far", best));
    let tips = digest.improvements.iter().map(|&k| tip(digest, k)).collect();
    panel = panel.add(Layer::dots("best so far", marks).size(3.0).tips(tips).unlisted());
    if let Some((name, bound)) = digest.bound_line() {
        let bound = match quantity {
            // Once the error is reached the loss is phi, and phi follows from the params.
            Quantity::Loss => {
                bound.loss.or(bound.params.map(|p| p as f64 / size(&header.dims) as f64))
            }
            Quantity::Error => bound.error.map(|e| shown(e, &header.measure)),
            Quantity::Params => bound.params.map(|p| p as f64),
        };
        if let Some(bound) = bound.filter(|b| *b > 0.0) {
            panel = panel.add(Layer::horizontal(&name, bound));
        }
    }
    let objective = header.objective;
    let target = match quantity {
        Quantity::Error => {
            let shown = |eps| ("largest error allowed", shown(eps, &header.measure));
            objective.max_error().map(shown)
        }
        Quantity::Params => objective.max_params().map(|p| ("most params allowed", p as f64)),
        Quantity::Loss => None,
    };
    if let Some((name, value)) = target {
        panel = panel.add(Layer::horizontal(name, value).colour(Colour::Series(2)));
    }
    panel
}

/// How many structures were fitted, pruned, cached by each generation.
fn proposals(digest: &Digest<'_>) -> Option<String> {
    let generations = &digest.journal().generations;
    if generations.len() < 2 {
        return None;
    }
    type Pick = fn(&tnsearch::search::Counts) -> u64;
    let kinds: [(&str, Pick); 5] = [
        ("proposed", |c| c.samples),
        ("fitted", |c| c.evaluations),
        ("pruned", |c| c.pruned),
        ("cached", |c| c.cached),
        ("too large", |c| c.refused),
    ];
    let mut panel =
        Panel::new("", Axis::whole("generation"), Axis::whole("structures").include(0.0))
            .size(430.0, 280.0);
    for (name, pick) in kinds {
        let points: Vec<Point> =
            generations.iter().map(|g| (g.number as f64, pick(&g.counts) as f64)).collect();
        if points.iter().any(|p| p.1 > 0.0) {
            panel = panel.add(Layer::line(name, points));
        }
    }
    Some(Figure::new("What became of the proposals").panel(panel).inline())
}

/// The ranks of each best so far, of those that are of one template with the answer.
fn ranks(digest: &Digest<'_>) -> Option<String> {
    let journal = digest.journal();
    let found = digest.found.as_ref()?;
    let edges = found.structure.template().edges();
    let alike = |&&k: &&usize| {
        let record = &journal.records[k];
        record.format.as_ref().map(|f| &f.name) == found.format.as_ref()
            && record.ranks.len() == edges.len()
    };
    let all: Vec<usize> = digest.improvements.iter().filter(alike).copied().collect();
    let own = found.format.is_some() && found.structure.template().family().is_none();
    if edges.len() > MAX_EDGES || all.len() < 2 || own {
        return None;
    }
    // Evenly chosen where there are too many; the last is always one of them.
    let chosen: Vec<usize> = match all.len() {
        n if n <= MAX_STEPS => all.clone(),
        n => (1..=MAX_STEPS).map(|k| all[k * n / MAX_STEPS - 1]).collect(),
    };
    let values: Vec<Vec<f64>> = (0..edges.len())
        .map(|e| chosen.iter().map(|&k| journal.records[k].ranks[e] as f64).collect())
        .collect();
    let name = |v: usize| words::vertex(&found.structure, v, journal.header.names());
    let rows: Vec<String> =
        edges.iter().map(|&(u, v)| format!("{}–{}", name(u), name(v))).collect();
    let tips: Vec<Vec<String>> = rows
        .iter()
        .enumerate()
        .map(|(e, name)| {
            let said = |&k: &usize| {
                format!("edge {name}: rank {} at evaluation {}", journal.records[k].ranks[e], k + 1)
            };
            chosen.iter().map(said).collect()
        })
        .collect();
    let columns: Vec<String> = chosen.iter().map(|k| (k + 1).to_string()).collect();
    let top = journal.header.max_rank().unwrap_or(7).max(2) as f64;
    let height = 90.0 + (240.0 / edges.len() as f64).clamp(15.0, 26.0) * edges.len() as f64;
    let draw = |width: f64| {
        let panel = Panel::new(
            "",
            Axis::names("evaluation that improved the best", columns.clone()),
            Axis::names("edge", rows.clone()),
        )
        .size(width, height.clamp(190.0, 1300.0));
        let map = HeatMap::new("rank", values.clone()).range(1.0, top).tips(tips.clone());
        Figure::new("Ranks of the best so far").panel(panel.add(Layer::heat("ranks", map))).inline()
    };
    Some(wide_figure(
        draw,
        "Ranks of the best so far",
        "Each column is an improvement of the best answer, each row an edge, named by the modes that sit at its ends in the answer.",
    ))
}

fn history(digest: &Digest<'_>) -> Table {
    let (records, measure) = (&digest.journal().records, digest.measure());
    let heads = [&["evaluation", "seconds", "params"][..], &error_heads(measure), &["loss", "run"]]
        .concat();
    let mut table = Table::new("Improvements of the best answer", &heads);
    for &k in &digest.improvements {
        let r = &records[k];
        let mut row = vec![(k + 1).to_string(), raw(r.seconds), r.params.to_string()];
        row.extend(error_cells(measure, Some(r.error)));
        row.extend([raw(r.loss), r.run.to_string()]);
        table.row(&row);
    }
    table
}
