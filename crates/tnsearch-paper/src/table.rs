//! The results in tables: Markdown with the paper's numbers beside ours, and CSV.

use super::comparison::{best, distinct};
use super::method::MAX_COST;
use super::published::Published;
use super::tasks::Task;
use super::trial::letter;
use super::{Cell, MEASURE, Options, Setup};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A task and its result.
pub(super) type Done<'a> = (&'a Task, &'a Cell);

pub(super) fn heading(
    name: &str,
    options: &Options,
    setup: &Setup,
    done: &[Done],
    all: usize,
) -> String {
    let quick = if options.quick { "; a quick version that only shows how it works" } else { "" };
    let seconds: f64 = done.iter().map(|(_, c)| c.seconds).sum();
    let scouts = match setup.fit.scouts {
        1 => String::new(),
        n => format!(" (each the best of {n} after ten sweeps)"),
    };
    format!(
        "# {name}\n\nSeed {}{quick}. {} of {all} results, in {:.1} minutes; fits by {}, {} starts each{scouts}; \
         tnsearch {}.\n\n",
        options.seed,
        done.len(),
        seconds / 60.0,
        setup.fit.method,
        setup.fit.restarts,
        env!("CARGO_PKG_VERSION"),
    )
}

/// Every result, a line each.
pub(super) fn csv(done: &[Done]) -> String {
    let mut out = "template,order,trial,method,run,objective,hidden_params,params,eff,rse,reached,\
                   format_preserved,evaluations,to_best,pruned,refused,certified,bound,seconds\n"
        .to_owned();
    for (task, cell) in done {
        let (what, relation, value) = task.objective.parts(&MEASURE);
        let fields = [
            task.template.to_owned(),
            task.order.to_string(),
            letter(task.trial),
            quoted(&task.method),
            task.run.to_string(),
            format!("{what}{relation}{value}"),
            cell.hidden_params.to_string(),
            text(cell.params),
            cell.eff().map_or(String::new(), |e| format!("{e:.4}")),
            cell.rse.map_or(String::new(), |e| format!("{e:.4e}")),
            cell.reached.to_string(),
            text(cell.format_preserved),
            text(cell.evaluations),
            text(cell.to_best),
            cell.pruned.to_string(),
            cell.refused.to_string(),
            cell.certified.to_string(),
            text(cell.bound),
            format!("{:.3}", cell.seconds),
        ];
        out += &fields.join(",");
        out.push('\n');
    }
    out
}

pub(super) fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

pub(super) fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

fn entry(cells: &[&Cell], with_format: bool) -> String {
    let Some(cell) = best(cells) else { return String::new() };
    let Some(eff) = cell.eff() else { return "-".to_owned() };
    let mut out = format!("{eff:.2}");
    if with_format && cell.evaluations.is_some() {
        out += match cell.format_preserved {
            Some(true) => " Y",
            Some(false) => " N",
            None => " ?",
        };
    }
    if let Some(n) = cell.to_best {
        let _ = write!(out, " [{n}]");
    }
    if cell.certified {
        out += " *";
    }
    out
}

/// Ours and the paper's, trial by trial.
pub(super) fn trials(done: &[Done], published: &[Published]) -> String {
    let methods = distinct(done.iter().map(|(t, _)| t.method.clone()));
    let numbers: BTreeSet<usize> = done.iter().map(|(t, _)| t.trial).collect();
    let mut out = format!("| trial | {} |\n", methods.join(" | "));
    out += &format!("| --- |{}\n", " ---: |".repeat(methods.len()));
    for &trial in &numbers {
        let row = methods.iter().map(|m| {
            let cells: Vec<&Cell> = done
                .iter()
                .filter(|(t, _)| t.method == *m && t.trial == trial)
                .map(|&(_, c)| c)
                .collect();
            entry(&cells, true)
        });
        let _ = writeln!(out, "| {} | {} |", letter(trial), row.collect::<Vec<_>>().join(" | "));
    }
    if !published.is_empty() {
        let count = published.iter().map(|p| p.trials.len()).max().unwrap_or(0);
        for trial in 0..count {
            let row = methods.iter().map(|m| {
                let column = published.iter().find(|p| p.method == m);
                column.and_then(|p| p.trials.get(trial)).copied().unwrap_or("")
            });
            let row: Vec<&str> = row.collect();
            let _ = writeln!(out, "| paper's {} | {} |", letter(trial), row.join(" | "));
        }
    }
    out + "\n"
}

pub(super) const LEGEND: &str = "Eff. (params of the hidden structure / of the one found; `-`: RSE <= 1e-4 not reached), \
    whether the template's format was preserved (Y, N), [evaluations when the answer was found], `*` proven optimal. \
    Of several runs the best is shown, of equal ones the one with the fewest evaluations; rates and medians of single runs \
    are below. An evaluation is a structure that was fitted, counted once per run; the paper counts every sample. The paper's \
    tensors are others of the same kind. Run k has the same seed with every method and on every tensor.\n\nAll methods \
    fit with the same evaluator; only exact search, which fits few structures, has truncated SVDs for those without cycles \
    and (beside ALS) up to 8 Levenberg-Marquardt starts for those that come near.\n\n";

/// What was not fitted, under a table.
pub(super) fn refused(params: &str, which: &str) -> String {
    format!(
        "Not fitted are structures with {params}, and {which} of which a sweep takes more than {MAX_COST} multiply-adds per \
         entry.\n\n"
    )
}
