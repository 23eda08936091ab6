//! What people see of `compress-model`: a table, and a page.

use crate::commands::describe::line;
use crate::text::{duration, number, shape};
use std::fmt::Write as _;
use std::path::Path;
use tnsearch_io::text::bytes;
use tnsearch_io::weights::shown;
use tnsearch_models::summary::{AloneSummary, LayerSummary};
use tnsearch_models::{Goal, LAYER_CAP, Summary, Trial, Weigh};
use tnsearch_report::page::{Cell, Rows, Tables, Tile};

/// The table of layers.
fn table(summary: &Summary) -> Rows {
    let mut head = vec!["layer", "shape", "format", "params before", "params", "RE"];
    if summary.weighted() {
        head.push("RE of outputs");
    }
    head.extend(["multiply-adds before", "multiply-adds"]);
    let row = |l: &LayerSummary| {
        let whole = |n: u64| Cell::Text(n.to_string());
        let mut row = vec![
            Cell::Text(shown(&l.name)),
            Cell::Text(shape(&l.shape)),
            Cell::Text(l.format.clone()),
            whole(l.params_before),
            whole(l.params),
            Cell::Number(l.re),
        ];
        if summary.weighted() {
            row.push(l.weighted_re.map_or(Cell::Text("–".into()), Cell::Number));
        }
        row.extend([whole(l.multiply_adds_before), whole(l.multiply_adds)]);
        row
    };
    Rows {
        title: "Layers".into(),
        head: head.into_iter().map(str::to_owned).collect(),
        rows: summary.layers.iter().map(row).collect(),
    }
}

/// For people.
pub fn text(summary: &Summary, output: &Path) -> String {
    let Rows { head, rows, .. } = table(summary);
    let cell = |c: &Cell| match c {
        Cell::Text(text) => text.clone(),
        Cell::Number(x) => number(*x),
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|r| r.iter().map(cell).collect()).collect();
    let width = |k: usize| {
        let all = rows.iter().map(|r| r[k].chars().count());
        all.chain([head[k].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (k, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[k] - cell.chars().count());
            // Names and words to the left, numbers to the right.
            let _ =
                if k < 3 { write!(line, "{cell}{pad}  ") } else { write!(line, "{pad}{cell}  ") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
    let times = |a: u64, b: u64| format!("{} times fewer", number(a as f64 / b.max(1) as f64));
    let Summary { params_before, params, multiply_adds_before, multiply_adds, .. } = summary;
    line(
        &mut out,
        "params",
        format!("{params_before} -> {params}, {}", times(*params_before, *params)),
    );
    let (before, after) = (bytes(summary.bytes_before.into()), bytes(summary.bytes.into()));
    line(&mut out, "bytes", format!("{before} -> {after}"));
    let fewer = times(*multiply_adds_before, *multiply_adds);
    line(&mut out, "mult-adds", format!("{multiply_adds_before} -> {multiply_adds}, {fewer}"));
    line(
        &mut out,
        "RE",
        format!("{} ({}); RSE {}", number(summary.re), meaning(summary), number(summary.rse)),
    );
    line(&mut out, "layers", losses(summary));
    if !summary.left_alone.is_empty() {
        line(&mut out, "left alone", format!("{} tensors", summary.left_alone.len()));
    }
    for trial in &summary.trials {
        let loss = trial.loss.map_or("failed".to_owned(), |l| format!("loss {l}"));
        line(&mut out, "measured", format!("{loss} at RE {}", number(trial.re)));
    }
    if !summary.target_reached {
        let why = match summary.goal {
            Goal::MaxLoss(_) => "no layer could be compressed within the loss allowed",
            _ => "the target was not reached",
        };
        line(&mut out, "target", why);
    }
    let memory = match summary.memory_peak {
        Some(peak) => format!("{} at most", bytes(peak.into())),
        None => format!("about {}", bytes(summary.memory_needed.into())),
    };
    line(&mut out, "memory", memory);
    line(&mut out, "time", duration(summary.seconds));
    line(&mut out, "written", output.display());
    out
}

/// What the error of the whole is.
fn meaning(summary: &Summary) -> &'static str {
    match (summary.weigh, summary.weighted()) {
        (Weigh::Norm | Weigh::Each, false) => "all layers together",
        (Weigh::Norm | Weigh::Each, true) => "outputs of all layers together",
        (Weigh::Layer, false) => "mean of order 3 over layers",
        (Weigh::Layer, true) => "of outputs, mean of order 3 over layers",
    }
}

/// What the layers lost, and what each may.
fn losses(summary: &Summary) -> String {
    let re = |l: &LayerSummary| l.weighted_re.unwrap_or(l.re);
    let changed = summary.layers.iter().filter(|l| l.compressed);
    let worst = changed.max_by(|a, b| re(a).total_cmp(&re(b)));
    let allowed = match (summary.layer_cap, summary.weigh, summary.goal) {
        (Some(cap), ..) => {
            format!("each within RE {} ({LAYER_CAP} times that of the whole)", number(cap))
        }
        (None, Weigh::Norm, _) => "none has an error of its own to keep (--weigh norm)".into(),
        (None, _, Goal::MaxCost(_)) => "none has an error of its own to keep".into(),
        _ => "each may lose anything".to_owned(),
    };
    match worst {
        Some(worst) => {
            format!(
                "the most is lost by '{}', RE {}; {allowed}",
                shown(&worst.name),
                number(re(worst))
            )
        }
        None => "all are as they were".to_owned(),
    }
}

/// The page.
pub fn page(summary: &Summary, input: &Path) -> String {
    let tile =
        |name: &str, value: String, more: String| Tile { name: name.to_owned(), value, more };
    let fewer = |a: u64, b: u64| format!("{}\u{d7} fewer", number(a as f64 / b.max(1) as f64));
    let tiles = [
        tile(
            "numbers",
            fewer(summary.params_before, summary.params),
            format!("{} \u{2192} {}", summary.params_before, summary.params),
        ),
        tile(
            "bytes",
            bytes(summary.bytes.into()),
            format!("from {}", bytes(summary.bytes_before.into())),
        ),
        tile(
            "multiply-adds",
            fewer(summary.multiply_adds_before, summary.multiply_adds),
            format!("{} \u{2192} {}", summary.multiply_adds_before, summary.multiply_adds),
        ),
        tile("error (RE)", number(summary.re), meaning(summary).to_owned()),
        tile("time", duration(summary.seconds), String::new()),
    ];
    let mut tables = vec![table(summary)];
    if !summary.trials.is_empty() {
        let row = |t: &Trial| {
            let loss = t.loss.map_or(Cell::Text("failed".into()), Cell::Number);
            vec![Cell::Number(t.re), loss]
        };
        tables.push(Rows {
            title: "Measured losses".into(),
            head: vec!["RE".into(), "loss".into()],
            rows: summary.trials.iter().map(row).collect(),
        });
    }
    if !summary.left_alone.is_empty() {
        let row = |a: &AloneSummary| {
            let texts = [shown(&a.name), shape(&a.shape), a.dtype.clone(), a.why.to_owned()];
            texts.map(Cell::Text).to_vec()
        };
        tables.push(Rows {
            title: "Left alone".into(),
            head: ["tensor", "shape", "type", "why"].map(str::to_owned).to_vec(),
            rows: summary.left_alone.iter().map(row).collect(),
        });
    }
    let mut notes = vec![
        "RE is the norm of the difference over that of the layer. Multiply-adds are those of applying a layer to one input \
         (of a convolution, to one place), cores in their cheapest order."
            .to_owned(),
        "svd r: two matrices of rank r. kron A (x) B: a Kronecker product, shapes as rows x columns. tree: cores on factors of the sides."
            .to_owned(),
        format!("Layers: {}.", losses(summary)),
    ];
    notes.extend(summary.warnings().iter().map(|said| format!("Warning: {said}.")));
    let name = input.file_name().map_or_else(String::new, |n| shown(&n.to_string_lossy()));
    let reached = if summary.target_reached { "" } else { " (target not reached)" };
    let title = format!("{name}, compressed{reached}");
    Tables { title: &title, what: "compress-model", tiles: &tiles, tables: &tables, notes: &notes }
        .html()
}
