//! What `compress-model` reports: JSON, a table for people, and a page.

use super::CompressModel;
use crate::commands::describe::line;
use crate::text::{duration, number, shape};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use tnsearch_io::text::bytes;
use tnsearch_io::weights::{WeightsFile, shown};
use tnsearch_models::{Cost, Goal, LAYER_CAP, MOST_LOST, Outcome, Settings, Trial, Weigh};
use tnsearch_report::page::{Cell, Rows, Tables, Tile};

#[derive(Serialize)]
pub struct Summary<'a> {
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    goal: Goal,
    cost: Cost,
    weigh: Weigh,
    layers: Vec<LayerSummary>,
    left_alone: Vec<AloneSummary>,
    params_before: u64,
    params: u64,
    bytes_before: u64,
    bytes: u64,
    multiply_adds_before: u64,
    multiply_adds: u64,
    /// Of all layers together, as the goal counts it.
    re: f64,
    rse: f64,
    /// No layer may have a larger RE; none: any.
    layer_cap: Option<f64>,
    /// Layers that lost most of their norm.
    mostly_lost: Vec<&'a str>,
    target_reached: bool,
    trials: &'a [Trial],
    memory_needed: u64,
    memory_peak: Option<u64>,
    seconds: f64,
    seed: u64,
    version: &'a str,
}

#[derive(Serialize)]
struct LayerSummary {
    name: String,
    shape: Vec<usize>,
    dtype: &'static str,
    format: String,
    compressed: bool,
    params_before: u64,
    params: u64,
    re: f64,
    /// On outputs, where inputs are known.
    weighted_re: Option<f64>,
    multiply_adds_before: u64,
    multiply_adds: u64,
}

#[derive(Serialize)]
struct AloneSummary {
    name: String,
    shape: Vec<usize>,
    dtype: String,
    why: &'static str,
}

/// The most memory the process had at a time, where the system says so.
fn peak() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

impl<'a> Summary<'a> {
    pub fn new(
        args: &'a CompressModel,
        settings: &Settings,
        file: &WeightsFile,
        outcome: &'a Outcome,
        seconds: f64,
    ) -> Self {
        let layer = |w: &tnsearch_models::Written| LayerSummary {
            name: w.layer.name.clone(),
            shape: w.layer.shape.clone(),
            dtype: w.layer.dtype.name(),
            format: w.format.clone(),
            compressed: w.compressed,
            params_before: w.layer.entries(),
            params: w.params,
            re: w.re,
            weighted_re: w.weighted_re,
            multiply_adds_before: w.layer.entries(),
            multiply_adds: w.multiply_adds,
        };
        let alone = |l: &tnsearch_models::LeftAlone| {
            let entry = &file.entries()[l.index];
            AloneSummary {
                name: entry.name.clone(),
                shape: entry.shape.clone(),
                dtype: entry.stored.clone(),
                why: l.why.words(),
            }
        };
        Summary {
            input: &args.model,
            output: &args.output,
            goal: settings.goal,
            cost: settings.cost,
            weigh: settings.weigh,
            layers: outcome.layers.iter().map(layer).collect(),
            left_alone: outcome.alone.iter().map(alone).collect(),
            params_before: outcome.params.0,
            params: outcome.params.1,
            bytes_before: outcome.bytes.0,
            bytes: outcome.bytes.1,
            multiply_adds_before: outcome.multiply_adds.0,
            multiply_adds: outcome.multiply_adds.1,
            re: outcome.re,
            rse: outcome.re * outcome.re,
            layer_cap: outcome.layer_cap,
            mostly_lost: {
                let lost = outcome.layers.iter().filter(|l| l.is_mostly_lost());
                lost.map(|l| &l.layer.name[..]).collect()
            },
            target_reached: outcome.reached,
            trials: &outcome.trials,
            memory_needed: outcome.memory_needed,
            memory_peak: peak(),
            seconds,
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    fn weighted(&self) -> bool {
        self.layers.iter().any(|l| l.weighted_re.is_some())
    }

    /// The table of layers.
    fn table(&self) -> Rows {
        let mut head = vec!["layer", "shape", "format", "params before", "params", "RE"];
        if self.weighted() {
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
            if self.weighted() {
                row.push(l.weighted_re.map_or(Cell::Text("–".into()), Cell::Number));
            }
            row.extend([whole(l.multiply_adds_before), whole(l.multiply_adds)]);
            row
        };
        Rows {
            title: "Layers".into(),
            head: head.into_iter().map(str::to_owned).collect(),
            rows: self.layers.iter().map(row).collect(),
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let Rows { head, rows, .. } = self.table();
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
                let _ = if k < 3 {
                    write!(line, "{cell}{pad}  ")
                } else {
                    write!(line, "{pad}{cell}  ")
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out.push('\n');
        let times = |a: u64, b: u64| format!("{} times fewer", number(a as f64 / b.max(1) as f64));
        let Summary { params_before, params, multiply_adds_before, multiply_adds, .. } = self;
        line(
            &mut out,
            "params",
            format!("{params_before} -> {params}, {}", times(*params_before, *params)),
        );
        let (before, after) = (bytes(self.bytes_before.into()), bytes(self.bytes.into()));
        line(&mut out, "bytes", format!("{before} -> {after}"));
        let fewer = times(*multiply_adds_before, *multiply_adds);
        line(&mut out, "mult-adds", format!("{multiply_adds_before} -> {multiply_adds}, {fewer}"));
        line(
            &mut out,
            "RE",
            format!("{} ({}); RSE {}", number(self.re), self.meaning(), number(self.rse)),
        );
        line(&mut out, "layers", self.losses());
        if !self.left_alone.is_empty() {
            line(&mut out, "left alone", format!("{} tensors", self.left_alone.len()));
        }
        for trial in self.trials {
            let loss = trial.loss.map_or("failed".to_owned(), |l| format!("loss {l}"));
            line(&mut out, "measured", format!("{loss} at RE {}", number(trial.re)));
        }
        if !self.target_reached {
            let why = match self.goal {
                Goal::MaxLoss(_) => "no layer could be compressed within the loss allowed",
                _ => "the target was not reached",
            };
            line(&mut out, "target", why);
        }
        let memory = match self.memory_peak {
            Some(peak) => format!("{} at most", bytes(peak.into())),
            None => format!("about {}", bytes(self.memory_needed.into())),
        };
        line(&mut out, "memory", memory);
        line(&mut out, "time", duration(self.seconds));
        line(&mut out, "written", self.output.display());
        out
    }

    /// What the error of the whole is.
    fn meaning(&self) -> &'static str {
        match (self.weigh, self.weighted()) {
            (Weigh::Norm | Weigh::Each, false) => "all layers together",
            (Weigh::Norm | Weigh::Each, true) => "outputs of all layers together",
            (Weigh::Layer, false) => "mean of order 3 over layers",
            (Weigh::Layer, true) => "of outputs, mean of order 3 over layers",
        }
    }

    /// What the layers lost, and what each may.
    fn losses(&self) -> String {
        let re = |l: &LayerSummary| l.weighted_re.unwrap_or(l.re);
        let changed = self.layers.iter().filter(|l| l.compressed);
        let worst = changed.max_by(|a, b| re(a).total_cmp(&re(b)));
        let allowed = match (self.layer_cap, self.weigh, self.goal) {
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

    /// What somebody who uses the model has to know.
    pub fn warnings(&self) -> Vec<String> {
        let lost = self.mostly_lost.len();
        let Some(first) = self.mostly_lost.first().map(|name| shown(name)) else {
            return Vec::new();
        };
        let who = match lost {
            1 => format!("layer '{first}' has"),
            n => format!("{n} layers such as '{first}' have"),
        };
        let instead = match (self.goal, self.weigh) {
            (_, Weigh::Norm) => "leave out --weigh norm",
            (Goal::KeepRe(_), _) => "ask for a smaller --keep-re",
            (Goal::MaxCost(_), _) => "allow more",
            (Goal::MaxLoss(_), _) => "allow less",
        };
        vec![format!(
            "{who} lost most of {} (RE above {MOST_LOST}), which may ruin the model: measure it, or {instead}",
            if lost == 1 { "its norm" } else { "their norms" }
        )]
    }

    /// The page.
    pub fn page(&self) -> String {
        let tile =
            |name: &str, value: String, more: String| Tile { name: name.to_owned(), value, more };
        let fewer = |a: u64, b: u64| format!("{}\u{d7} fewer", number(a as f64 / b.max(1) as f64));
        let tiles = [
            tile(
                "numbers",
                fewer(self.params_before, self.params),
                format!("{} \u{2192} {}", self.params_before, self.params),
            ),
            tile(
                "bytes",
                bytes(self.bytes.into()),
                format!("from {}", bytes(self.bytes_before.into())),
            ),
            tile(
                "multiply-adds",
                fewer(self.multiply_adds_before, self.multiply_adds),
                format!("{} \u{2192} {}", self.multiply_adds_before, self.multiply_adds),
            ),
            tile("error (RE)", number(self.re), self.meaning().to_owned()),
            tile("time", duration(self.seconds), String::new()),
        ];
        let mut tables = vec![self.table()];
        if !self.trials.is_empty() {
            let row = |t: &Trial| {
                let loss = t.loss.map_or(Cell::Text("failed".into()), Cell::Number);
                vec![Cell::Number(t.re), loss]
            };
            tables.push(Rows {
                title: "Measured losses".into(),
                head: vec!["RE".into(), "loss".into()],
                rows: self.trials.iter().map(row).collect(),
            });
        }
        if !self.left_alone.is_empty() {
            let row = |a: &AloneSummary| {
                let texts = [shown(&a.name), shape(&a.shape), a.dtype.clone(), a.why.to_owned()];
                texts.map(Cell::Text).to_vec()
            };
            tables.push(Rows {
                title: "Left alone".into(),
                head: ["tensor", "shape", "type", "why"].map(str::to_owned).to_vec(),
                rows: self.left_alone.iter().map(row).collect(),
            });
        }
        let mut notes = vec![
            "RE is the norm of the difference over that of the layer. Multiply-adds are those of applying a layer to one input \
             (of a convolution, to one place), cores in their cheapest order."
                .to_owned(),
            "svd r: two matrices of rank r. kron A (x) B: a Kronecker product, shapes as rows x columns. tree: cores on factors of the sides."
                .to_owned(),
            format!("Layers: {}.", self.losses()),
        ];
        notes.extend(self.warnings().iter().map(|said| format!("Warning: {said}.")));
        let name = self.input.file_name().map_or_else(String::new, |n| shown(&n.to_string_lossy()));
        let reached = if self.target_reached { "" } else { " (target not reached)" };
        let title = format!("{name}, compressed{reached}");
        Tables {
            title: &title,
            what: "compress-model",
            tiles: &tiles,
            tables: &tables,
            notes: &notes,
        }
        .html()
    }
}
