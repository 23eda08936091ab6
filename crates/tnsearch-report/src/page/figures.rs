//! The pictures of one search.

use super::digest::{Digest, improvements};
use super::html::{Table, figure, raw, section as html_section, wide_figure};
use super::words;
use crate::plot::{Axis, Colour, Figure, HeatMap, Layer, Panel, Point, number};
use tnsearch::problem::Objective;
use tnsearch::search::Evaluation;

/// Smaller errors cannot be told from rounding; they are drawn here.
const LEAST_RSE: f64 = 1e-14;
/// Improvements shown in the picture of the ranks.
const MAX_STEPS: usize = 60;
/// Edges shown there.
const MAX_EDGES: usize = 80;

/// One quantity of an evaluation.
#[derive(Clone, Copy)]
pub(super) enum Quantity {
    Loss,
    Rse,
    Params,
}

impl Quantity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Loss => "loss",
            Quantity::Rse => "RSE",
            Quantity::Params => "params",
        }
    }

    pub(super) fn of(self, record: &Evaluation) -> f64 {
        match self {
            Quantity::Loss => record.loss,
            Quantity::Rse => record.error.max(LEAST_RSE),
            Quantity::Params => record.params as f64,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Quantity::Loss => "Loss",
            Quantity::Rse => "Error",
            Quantity::Params => "Size",
        }
    }
}

/// What evaluations are counted along.
#[derive(Clone, Copy)]
pub(super) enum Along {
    Evaluations,
    Seconds,
}

impl Along {
    pub(super) fn axis(self) -> Axis {
        match self {
            Along::Evaluations => Axis::whole("evaluations"),
            Along::Seconds => Axis::linear("seconds"),
        }
    }

    pub(super) fn of(self, index: usize, record: &Evaluation) -> f64 {
        match self {
            Along::Evaluations => (index + 1) as f64,
            Along::Seconds => record.seconds,
        }
    }
}

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
        for quantity in [Quantity::Loss, Quantity::Rse, Quantity::Params] {
            for along in [Along::Evaluations, Along::Seconds] {
                let panel = progress(digest, quantity, along);
                let name = format!("{} against {}", quantity.title(), along_name(along));
                let svg = Figure::new(&name).panel(panel).inline();
                out += &figure(&svg, &name, caption(digest, quantity));
            }
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
    if digest.improvements.len() > 1
        && let Some(svg) = ranks(digest)
    {
        out += &wide_figure(
            &svg,
            "Ranks of the best so far",
            "Each column is an improvement of the best answer, each row an edge of the template between two vertices.",
        );
    }
    out += &history(digest).folded();
    framed(&out)
}

fn framed(body: &str) -> String {
    html_section("search", "How the search went", body)
}

fn along_name(along: Along) -> &'static str {
    match along {
        Along::Evaluations => "evaluations",
        Along::Seconds => "time",
    }
}

fn caption(digest: &Digest<'_>, quantity: Quantity) -> &'static str {
    match (quantity, digest.journal().header.objective) {
        (Quantity::Loss, Objective::Lambda(_)) => "The loss that was minimised, φ + λ · RSE.",
        (Quantity::Loss, Objective::MaxError(_)) => {
            "The loss that guides the search: φ, and a penalty where the error is not reached."
        }
        (Quantity::Loss, Objective::MaxParams(_)) => {
            "The loss that guides the search: the RSE within the budget."
        }
        (Quantity::Rse, _) => {
            "Squared relative error. Values below 10⁻¹⁴ are rounding and drawn there."
        }
        (Quantity::Params, _) => "Entries of all cores together.",
    }
}

/// Dots for all evaluations, a line for the best so far, bounds and targets across.
fn progress(digest: &Digest<'_>, quantity: Quantity, along: Along) -> Panel {
    let journal = digest.journal();
    let header = &journal.header;
    let mut points: Vec<Point> = Vec::with_capacity(journal.records.len());
    let mut tips = Vec::new();
    let few = journal.records.len() <= 5000;
    for (k, record) in journal.records.iter().enumerate() {
        points.push((along.of(k, record), quantity.of(record)));
        if few {
            tips.push(tip(k, record));
        }
    }
    let end = points.iter().map(|p| p.0).fold(0.0, f64::max);
    let best = best_line(digest, &digest.improvements, quantity, along, end);
    let mut panel = Panel::new("", along.axis(), Axis::log(quantity.name()))
        .size(480.0, 290.0)
        .add(Layer::dots("evaluation", points).colour(Colour::Muted).size(2.6).tips(tips))
        .add(Layer::steps("best so far", best.clone()));
    let marks: Vec<Point> = improvement_points(digest, quantity, along);
    let tips = digest.improvements.iter().map(|&k| tip(k, &journal.records[k])).collect();
    panel = panel.add(Layer::dots("best so far", marks).size(3.0).tips(tips).unlisted());
    let bound = digest.lower_bound.and_then(|b| match quantity {
        Quantity::Loss => b.loss.or(match header.objective {
            // Once the error is reached the loss is phi, and phi follows from the params.
            Objective::MaxError(_) => {
                b.params.map(|p| p as f64 / tnsearch::tensor::size(&header.dims) as f64)
            }
            _ => None,
        }),
        Quantity::Rse => b.error,
        Quantity::Params => b.params.map(|p| p as f64),
    });
    if let Some(bound) = bound.filter(|b| *b > 0.0) {
        panel = panel.add(Layer::horizontal("proven lower bound", bound));
    }
    let target = match (quantity, header.objective) {
        (Quantity::Rse, Objective::MaxError(eps)) => Some(("largest error allowed", eps)),
        (Quantity::Params, Objective::MaxParams(p)) => Some(("most params allowed", p as f64)),
        _ => None,
    };
    if let Some((name, value)) = target {
        panel = panel.add(Layer::horizontal(name, value).colour(Colour::Series(2)));
    }
    panel
}

fn tip(index: usize, record: &Evaluation) -> String {
    format!(
        "evaluation {}: loss {}, RSE {}, {} params, after {}",
        index + 1,
        number(record.loss),
        number(record.error),
        number(record.params as f64),
        words::seconds(record.seconds)
    )
}

fn improvement_points(digest: &Digest<'_>, quantity: Quantity, along: Along) -> Vec<Point> {
    let records = &digest.journal().records;
    digest
        .improvements
        .iter()
        .map(|&k| (along.of(k, &records[k]), quantity.of(&records[k])))
        .collect()
}

/// The best so far up to `end`.
pub(super) fn best_line(
    digest: &Digest<'_>,
    improvements: &[usize],
    quantity: Quantity,
    along: Along,
    end: f64,
) -> Vec<Point> {
    let records = &digest.journal().records;
    let mut points: Vec<Point> = improvements
        .iter()
        .map(|&k| (along.of(k, &records[k]), quantity.of(&records[k])))
        .collect();
    if let Some(&(_, last)) = points.last() {
        points.push((end, last));
    }
    points
}

/// The best so far of one run.
pub(super) fn run_line(
    digest: &Digest<'_>,
    run: usize,
    quantity: Quantity,
    along: Along,
) -> Vec<Point> {
    let journal = digest.journal();
    let objective = journal.header.objective.check().ok();
    let found = improvements(journal, objective, Some(run));
    let mut count = 0;
    let mut points = Vec::new();
    let mut next = found.iter().peekable();
    let mut end = 0.0f64;
    for (k, record) in journal.records.iter().enumerate().filter(|(_, r)| r.run == run) {
        count += 1;
        let x = along.of(count - 1, record);
        end = end.max(x);
        if next.next_if(|&&n| n == k).is_some() {
            points.push((x, quantity.of(record)));
        }
    }
    if let Some(&(_, last)) = points.last() {
        points.push((end, last));
    }
    points
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
            .size(480.0, 290.0);
    for (name, pick) in kinds {
        let points: Vec<Point> =
            generations.iter().map(|g| (g.number as f64, pick(&g.counts) as f64)).collect();
        if points.iter().any(|p| p.1 > 0.0) {
            panel = panel.add(Layer::line(name, points));
        }
    }
    Some(Figure::new("What became of the proposals").panel(panel).inline())
}

/// The ranks of each best so far.
fn ranks(digest: &Digest<'_>) -> Option<String> {
    let journal = digest.journal();
    let edges = journal.header.searched.edges();
    if edges.len() > MAX_EDGES {
        return None;
    }
    let all = &digest.improvements;
    // Evenly chosen where there are too many; the last is always one of them.
    let chosen: Vec<usize> = match all.len() {
        n if n <= MAX_STEPS => all.clone(),
        n => (1..=MAX_STEPS).map(|k| all[k * n / MAX_STEPS - 1]).collect(),
    };
    let values: Vec<Vec<f64>> = (0..edges.len())
        .map(|e| chosen.iter().map(|&k| journal.records[k].ranks[e] as f64).collect())
        .collect();
    let tips = edges
        .iter()
        .enumerate()
        .map(|(e, (u, v))| {
            let said = |&k: &usize| {
                format!(
                    "edge {u}–{v}: rank {} at evaluation {}",
                    journal.records[k].ranks[e],
                    k + 1
                )
            };
            chosen.iter().map(said).collect()
        })
        .collect();
    let columns = chosen.iter().map(|k| (k + 1).to_string()).collect();
    let rows = edges.iter().map(|(u, v)| format!("{u}–{v}")).collect();
    let top = journal.header.max_rank().unwrap_or(7).max(2) as f64;
    let height = 90.0 + (240.0 / edges.len() as f64).clamp(15.0, 26.0) * edges.len() as f64;
    let panel = Panel::new(
        "",
        Axis::names("evaluation that improved the best", columns),
        Axis::names("edge", rows),
    )
    .size(760.0, height.clamp(190.0, 1300.0))
    .add(Layer::heat("ranks", HeatMap::new("rank", values).range(1.0, top).tips(tips)));
    Some(Figure::new("Ranks of the best so far").panel(panel).inline())
}

fn history(digest: &Digest<'_>) -> Table {
    let records = &digest.journal().records;
    let mut table = Table::new(
        "Improvements of the best answer",
        &["evaluation", "seconds", "params", "RSE", "RE", "loss", "run"],
    );
    for &k in &digest.improvements {
        let r = &records[k];
        table.row(&[
            (k + 1).to_string(),
            raw(r.seconds),
            r.params.to_string(),
            raw(r.error),
            raw(r.error.sqrt()),
            raw(r.loss),
            r.run.to_string(),
        ]);
    }
    table
}

/// What it would cost to go smaller: params against error.
pub(super) fn trade_off(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let header = &journal.header;
    let Some(found) = &digest.found else { return String::new() };
    let re = |rse: f64| rse.max(LEAST_RSE).sqrt();
    let fitted = || journal.records.iter().enumerate();
    let few = journal.records.len() <= 5000;
    let all: Vec<Point> = fitted().map(|(_, r)| (r.params as f64, re(r.error))).collect();
    let tips = if few { fitted().map(|(k, r)| tip(k, r)).collect() } else { Vec::new() };
    let front: Vec<Point> = digest
        .front
        .iter()
        .map(|&k| (journal.records[k].params as f64, re(journal.records[k].error)))
        .collect();
    let mut panel =
        Panel::new("", Axis::log("params"), Axis::log("relative error RE")).size(760.0, 400.0);
    if all.len() > 1 {
        panel = panel
            .add(Layer::dots("evaluation", all).colour(Colour::Muted).size(2.6).tips(tips))
            .add(Layer::steps("Pareto front", front.clone()))
            .add(Layer::dots("Pareto front", front).size(3.4).unlisted());
    }
    for (k, peer) in digest.search.facts.iter().flat_map(|f| &f.peers).enumerate() {
        let said = format!(
            "{}: {} params, RSE {}",
            peer.name,
            number(peer.params as f64),
            number(peer.rse)
        );
        let at = (peer.params as f64, re(peer.rse));
        panel = panel.add(
            Layer::dots(&peer.name, vec![at])
                .colour(Colour::Series(k + 1))
                .size(5.0)
                .tips(vec![said]),
        );
    }
    let chosen = (found.params as f64, re(found.rse));
    let said = format!("chosen: {} params, RSE {}", number(found.params as f64), number(found.rse));
    panel = panel
        .add(Layer::dots("chosen", vec![chosen]).colour(Colour::Accent).size(6.0).tips(vec![said]));
    if let Some(p) = digest.lower_bound.and_then(|b| b.params) {
        panel = panel.add(Layer::vertical("proven lower bound", p as f64));
    }
    if let Some(r) = digest.lower_bound.and_then(|b| b.error).filter(|r| *r > 0.0) {
        panel = panel.add(Layer::horizontal("proven lower bound", r.sqrt()));
    }
    match header.objective {
        Objective::MaxError(eps) => {
            panel = panel.add(
                Layer::horizontal("largest error allowed", eps.sqrt()).colour(Colour::Series(2)),
            );
        }
        Objective::MaxParams(p) => {
            panel = panel
                .add(Layer::vertical("most params allowed", p as f64).colour(Colour::Series(2)));
        }
        Objective::Lambda(_) => {}
    }
    let svg = Figure::new("Params against error").panel(panel).inline();
    let mut out = String::from(
        "<p>Every structure that was fitted, by its size and its error. On the front no other is better in both: \
         these are the choices there are, as far as the search looked.</p>\n",
    );
    out += &wide_figure(
        &svg,
        "Params against error",
        match digest.lower_bound.and_then(|b| b.params) {
            Some(_) => {
                "RE is the square root of the RSE. Left of the proven bound there is nothing that reaches the error asked for."
            }
            None => "RE is the square root of the RSE.",
        },
    );
    let mut table =
        Table::new("Pareto front", &["params", "RSE", "RE", "compression", "evaluation"]);
    let entries = tnsearch::tensor::size(&header.dims) as f64;
    for &k in &digest.front {
        let r = &journal.records[k];
        table.row(&[
            r.params.to_string(),
            raw(r.error),
            raw(r.error.sqrt()),
            raw(entries / r.params.max(1) as f64),
            (k + 1).to_string(),
        ]);
    }
    out += &table.folded();
    html_section("trade", "What it would cost to go smaller", &out)
}
