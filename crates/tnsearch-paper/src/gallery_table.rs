//! Results on pictures in tables: a row for each picture, the averages, the paper's.

use super::Cell;
use super::comparison::{distinct, median};
use super::table::{Done, quoted, text};
use super::tasks::Task;
use std::fmt::Write as _;
use tnsearch_report::plot::{Axis, Figure, Layer, Panel};

/// log10 of entries / params.
fn log_cr(cell: &Cell) -> Option<f64> {
    Some((cell.hidden_params as f64 / cell.params? as f64).log10())
}

fn re(cell: &Cell) -> Option<f64> {
    Some(cell.rse?.sqrt())
}

/// phi + lambda RSE.
fn loss(cell: &Cell, lambda: f64) -> Option<f64> {
    Some(cell.params? as f64 / cell.hidden_params as f64 + lambda * cell.rse?)
}

/// What stands in a table: of one result, and of several together.
pub(super) struct Entry {
    one: fn(&Cell) -> Option<String>,
    mean: fn(&[&Cell]) -> Option<String>,
}

fn mean(cells: &[&Cell], value: fn(&Cell) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = cells.iter().map(|c| value(c)).collect();
    values.filter(|v| !v.is_empty()).map(|v| v.iter().sum::<f64>() / v.len() as f64)
}

fn evaluations(cell: &Cell) -> String {
    cell.to_best.map_or(String::new(), |n| format!(" [{n}]"))
}

/// log10 CR (RE) [evaluations].
pub(super) const COMPRESSED: Entry = Entry {
    one: |c| Some(format!("{:.2} ({:.3}){}", log_cr(c)?, re(c)?, evaluations(c))),
    mean: |cells| Some(format!("{:.2} ({:.3})", mean(cells, log_cr)?, mean(cells, re)?)),
};

/// RE on the missing entries [evaluations].
pub(super) const COMPLETED: Entry = Entry {
    one: |c| Some(format!("{:.3}{}", c.missing_re?, evaluations(c))),
    mean: |cells| Some(format!("{:.3}", mean(cells, |c| c.missing_re)?)),
};

/// Of several runs of a method on a picture the one with the smallest loss.
fn best<'d>(done: &[Done<'d>], picture: &str, method: &str) -> Option<Done<'d>> {
    let of = done.iter().filter(|(t, _)| t.name == picture && t.method == method);
    let loss = |c: &Cell| c.loss.unwrap_or(f64::INFINITY);
    of.min_by(|a, b| loss(a.1).total_cmp(&loss(b.1))).copied()
}

/// The name of the file of what a method made of a picture.
pub(super) fn found(task: &Task) -> String {
    match task.run {
        0 => file(task.variant, &task.name, &task.method),
        run => file(task.variant, &task.name, &format!("{}-{}", task.method, run + 1)),
    }
}

/// A table of a variant: pictures, averages, seconds, the paper's.
pub(super) fn rows(
    heading: &str,
    done: &[Done],
    published: &[(&str, &str)],
    entry: &Entry,
    lambda: Option<f64>,
) -> String {
    let methods = distinct(done.iter().map(|(t, _)| t.method.clone()));
    let mut out = format!("## {heading}\n\n| picture | {} |\n", methods.join(" | "));
    out += &format!("| --- |{}\n", " ---: |".repeat(methods.len()));
    let mut row = |name: &str, value: &dyn Fn(&str) -> Option<String>| {
        let values = methods.iter().map(|m| value(m).unwrap_or_default());
        let _ = writeln!(out, "| {name} | {} |", values.collect::<Vec<_>>().join(" | "));
    };
    let pictures = distinct(done.iter().map(|(t, _)| t.name.clone()));
    let of = |method: &str| -> Vec<&Cell> {
        pictures.iter().filter_map(|p| best(done, p, method)).map(|(_, c)| c).collect()
    };
    for picture in &pictures {
        row(picture, &|m| (entry.one)(best(done, picture, m)?.1));
    }
    // An average over other pictures than the rest would not compare.
    let all = |m: &str| Some(of(m)).filter(|cells| cells.len() == pictures.len());
    row("**average**", &|m| Some(format!("**{}**", (entry.mean)(&all(m)?)?)));
    if let Some(lambda) = lambda {
        row("loss, average", &|m| {
            let losses: Option<Vec<f64>> = all(m)?.iter().map(|c| loss(c, lambda)).collect();
            let losses = losses?;
            Some(format!("{:.4}", losses.iter().sum::<f64>() / losses.len() as f64))
        });
    }
    row("evaluations, median", &|m| {
        Some(median(of(m).iter().filter_map(|c| c.evaluations).map(|n| n as f64))?.to_string())
    });
    row("runs, at most", &|m| {
        let of = done.iter().filter(|(t, _)| t.method == m);
        of.map(|(t, _)| t.run + 1).max().map(|n| n.to_string())
    });
    row("seconds of the run, median", &|m| {
        Some(format!("{:.1}", median(of(m).iter().map(|c| c.seconds))?))
    });
    row("*paper*", &|m| {
        published.iter().find(|(method, _)| *method == m).map(|(_, text)| (*text).to_owned())
    });
    out + "\n"
}

/// The pictures themselves: originals, and what each method makes of them. Their files are named by [`file`].
pub(super) fn strips(done: &[Done]) -> String {
    let mut out = String::new();
    for variant in distinct(done.iter().map(|(t, _)| t.variant)) {
        let rows: Vec<Done> = done.iter().copied().filter(|(t, _)| t.variant == variant).collect();
        let methods = distinct(rows.iter().map(|(t, _)| t.method.clone()));
        // Where something was removed, what was left stands second.
        let holes = rows.iter().any(|(_, c)| c.missing_re.is_some());
        let given = if holes { vec!["original", "holes"] } else { vec!["original"] };
        let heads: Vec<&str> =
            given.iter().copied().chain(methods.iter().map(|m| &m[..])).collect();
        let _ = write!(out, "## Pictures, {variant}\n\n| {} |\n", heads.join(" | "));
        out += &format!("|{}\n", " --- |".repeat(heads.len()));
        for picture in distinct(rows.iter().map(|(t, _)| t.name.clone())) {
            out.push('|');
            for what in &given {
                let _ = write!(out, " ![{picture}]({}) |", file(variant, &picture, what));
            }
            for method in &methods {
                let _ = match best(&rows, &picture, method) {
                    Some((task, _)) => write!(out, " ![]({}) |", found(task)),
                    None => write!(out, " |"),
                };
            }
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// The name of a picture's file in the folder of results.
pub(super) fn file(variant: &str, picture: &str, what: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
    let name: String = format!("{variant}-{picture}-{what}").chars().map(plain).collect();
    format!("pictures/{name}.png")
}

/// log10 CR against RE, or against RE on the missing entries.
pub(super) fn figure(done: &[Done]) -> String {
    let holes = done.iter().any(|(_, c)| c.missing_re.is_some());
    let (title, label) = match holes {
        true => ("Size and error of completed pictures", "RE on the missing entries"),
        false => ("Size and error of compressed pictures", "RE"),
    };
    let mut figure = Figure::new(title).columns(2);
    for variant in distinct(done.iter().map(|(t, _)| t.variant)) {
        let of = |method: &str| {
            let same = |t: &Task| t.variant == variant && t.method == method;
            let cells = done.iter().filter(|(t, _)| same(t)).filter_map(|(t, c)| {
                let error = if holes { c.missing_re } else { re(c) };
                Some(((error?, log_cr(c)?), format!("{}: {}", t.name, t.method)))
            });
            let (points, tips): (Vec<(f64, f64)>, Vec<String>) = cells.unzip();
            Layer::dots(method, points).tips(tips)
        };
        let tasks = done.iter().filter(|(t, _)| t.variant == variant);
        let layers: Vec<Layer> =
            distinct(tasks.map(|(t, _)| t.method.clone())).iter().map(|m| of(m)).collect();
        let panel = Panel::new(
            variant,
            Axis::linear(label).include(0.0),
            Axis::linear("log10 CR").include(0.0),
        );
        figure = figure.panel(panel.add_all(layers));
    }
    figure.svg()
}

/// Every result, a line each.
pub(super) fn csv(done: &[Done]) -> String {
    let mut out = "variant,picture,method,run,entries,params,log10_cr,re,missing_re,loss,evaluations,to_best,\
                   pruned,refused,seconds\n"
        .to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |x| format!("{x:.5}"));
    for (task, cell) in done {
        let fields = [
            task.variant.to_owned(),
            quoted(&task.name),
            quoted(&task.method),
            task.run.to_string(),
            cell.hidden_params.to_string(),
            text(cell.params),
            number(log_cr(cell)),
            number(re(cell)),
            number(cell.missing_re),
            number(cell.loss),
            text(cell.evaluations),
            text(cell.to_best),
            cell.pruned.to_string(),
            cell.refused.to_string(),
            format!("{:.3}", cell.seconds),
        ];
        out += &fields.join(",");
        out.push('\n');
    }
    out
}
