//! The results in tables: Markdown with the paper's numbers beside ours, and CSV.

use super::comparison::{
    best, distinct, equal_runs, fewer, in_all_runs, median, medians, not_below, rates,
};
use super::experiment::{LAMBDA, MAX_RSE, MEASURE, Options, TNLS_TIMES, Task};
use super::method::MAX_COST;
use super::published::{self, Published};
use super::trial::letter;
use super::{Cell, Setup};
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

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

fn quoted(name: &str) -> String {
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
fn trials(done: &[Done], published: &[Published]) -> String {
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

const LEGEND: &str = "Eff. (params of the hidden structure / of the one found; `-`: RSE <= 1e-4 not reached), \
    whether the template's format was preserved (Y, N), [evaluations when the answer was found], `*` proven optimal. \
    Of several runs the best is shown, of equal ones the one with the fewest evaluations; rates and medians of single runs \
    are below. An evaluation is a structure that was fitted, counted once per run; the paper counts every sample. The paper's \
    tensors are others of the same kind. Run k has the same seed with every method and on every tensor.\n\nAll methods \
    fit with the same evaluator; only exact search, which fits few structures, has truncated SVDs for those without cycles \
    and (beside ALS) up to 8 Levenberg-Marquardt starts for those that come near.\n\n";

/// What was not fitted, under a table.
fn refused(params: &str, which: &str) -> String {
    format!(
        "Not fitted are structures with {params}, and {which} of which a sweep takes more than {MAX_COST} multiply-adds per \
         entry.\n\n"
    )
}

pub(super) fn table2(done: &[Done]) -> String {
    let constrained: Vec<Done> = done.iter().copied().filter(|(t, _)| !t.is_lambda()).collect();
    let mut out = LEGEND.to_owned();
    let params = "ten times as many params as the tensor has entries, or more";
    out += &refused(params, "those over the complete graph (Greedy, TNGA*)");
    out += "TNGA* makes one run per tensor, since it takes minutes.\n\n";
    for order in distinct(constrained.iter().map(|(t, _)| t.order)) {
        let rows: Vec<Done> =
            constrained.iter().copied().filter(|(t, _)| t.order == order).collect();
        let _ = writeln!(out, "## Order {order}\n");
        out += &trials(&rows, published::table2(order));
    }
    out += "## Rates and work\n\n";
    out += &rates(&constrained);
    out += &medians(&constrained, [6, 8]);
    out += &fewer(&constrained, "TNLS", "TNGA+");
    out += &fewer(&constrained, "TNLS, all fitted", "TNGA+");
    out += &fewer(&constrained, "TnALE", "TNLS, all fitted");
    out += "(Bounds prune TNLS, TnALE, Greedy and exact search; \"all fitted\" is TNLS without them, as in the paper. \
            Genetic searches cannot be pruned.)\n\n";
    let _ = write!(
        out,
        "## With lambda = {LAMBDA}\n\n\
         The paper does not say how it forces RSE <= {MAX_RSE:e}; above, every search minimises the parameters under \
         that condition. With the loss phi + {LAMBDA} RSE alone, which it names, small orders end at larger errors with \
         fewer parameters: params of the hidden structure / of the one found, and its RSE, one run each.\n\n"
    );
    let free: Vec<Done> = done.iter().copied().filter(|(t, _)| t.is_lambda()).collect();
    out + &lambda_rows(&free)
}

fn lambda_rows(done: &[Done]) -> String {
    let methods = distinct(done.iter().map(|(t, _)| t.method.clone()));
    let mut out = format!("| order, trial | {} |\n", methods.join(" | "));
    out += &format!("| --- |{}\n", " ---: |".repeat(methods.len()));
    for (order, trial) in distinct(done.iter().map(|(t, _)| (t.order, t.trial))) {
        let row = methods.iter().map(|m| {
            let same = |t: &Task| (t.order, t.trial) == (order, trial) && t.method == *m;
            let cell = done.iter().find(|(t, _)| same(t)).map(|(_, c)| c);
            cell.and_then(|c| {
                let eff = c.hidden_params as f64 / c.params? as f64;
                Some(format!("{eff:.2}, {:.1e}", c.rse?))
            })
            .unwrap_or_default()
        });
        let row: Vec<String> = row.collect();
        let _ = writeln!(out, "| {order} {} | {} |", letter(trial), row.join(" | "));
    }
    out + "\n"
}

pub(super) fn table3(done: &[Done]) -> String {
    let mut out = LEGEND.to_owned();
    out += &refused("as many params as the tensor has entries, or more", "those");
    let _ = write!(
        out,
        "TNLS makes {TNLS_TIMES} runs for one of TNGA+ and TnALE: a run of it fits dozens of structures, one of TNGA+ \
         thousands (below). On MERA TNGA+ and TnALE make a single run, since it takes minutes.\n\n"
    );
    for (template, order) in distinct(done.iter().map(|(t, _)| (t.template, t.order))) {
        let rows: Vec<Done> =
            done.iter().copied().filter(|(t, _)| t.template == template).collect();
        let _ = writeln!(out, "## {template}, order {order}\n");
        out += &trials(&rows, published::table3(template));
    }
    out += "## Rates and work\n\n";
    out += &rates(done);
    out += &not_below(done, "TNLS", "TNGA+");
    out += &equal_runs(done, "TNLS", "TNGA+");
    out + &in_all_runs(done)
}

pub(super) fn cover(done: &[Done]) -> String {
    let mut out = "The smallest ring with RSE <= 1e-4 on each of the three rings through the modes of a tensor of order \
                   4 (dimension 5, hidden ranks 2 to 3, ranks up to 7): ranks from the narrowest edge to the widest, and params, \
                   averages over the tensors on which all three were found, with four starts of ALS per structure. Model 1 is the best map of each tensor, model 3 the worst (the paper's \
                   figure shows such models without numbers in its text).\n\n\
                   | model | ranks | params |\n| --- | --- | ---: |\n"
        .to_owned();
    for (k, (ranks, params)) in models(done).iter().enumerate() {
        let ranks: Vec<String> = ranks.iter().map(|r| format!("{r:.2}")).collect();
        let _ = writeln!(out, "| {} | {} | {params:.0} |", k + 1, ranks.join(", "));
    }
    out + "\n"
}

/// For the best, the second and the worst map of each tensor: ranks in increasing order and params, on average.
pub(super) fn models(done: &[Done]) -> Vec<(Vec<f64>, f64)> {
    let mut sums: Vec<(Vec<f64>, f64)> = Vec::new();
    let mut count = 0.0;
    for trial in distinct(done.iter().map(|(t, _)| t.trial)) {
        let mut maps: Vec<&Cell> =
            done.iter().filter(|(t, c)| t.trial == trial && c.reached).map(|&(_, c)| c).collect();
        // A tensor counts once all its maps are known.
        if maps.len() < 3 {
            continue;
        }
        count += 1.0;
        maps.sort_by_key(|c| c.params);
        sums.resize(maps.len(), (vec![0.0; maps[0].ranks.len()], 0.0));
        for ((ranks, params), cell) in sums.iter_mut().zip(&maps) {
            let mut sorted = cell.ranks.clone();
            sorted.sort_unstable();
            ranks.iter_mut().zip(&sorted).for_each(|(sum, &r)| *sum += r as f64);
            *params += cell.params.unwrap_or(0) as f64;
        }
    }
    sums.iter_mut().for_each(|(ranks, params)| {
        ranks.iter_mut().for_each(|r| *r /= count);
        *params /= count;
    });
    sums
}

pub(super) fn convergence(done: &[Done]) -> String {
    let mut out = "Loss phi + 200 RSE against evaluations; at the end of the runs:\n\n\
                   | order | method | loss, mean of the runs | evaluations, median |\n\
                   | ---: | --- | ---: | ---: |\n"
        .to_owned();
    for (order, method) in distinct(done.iter().map(|(t, _)| (t.order, t.method.clone()))) {
        let cells: Vec<&Cell> = done
            .iter()
            .filter(|(t, _)| (t.order, &t.method) == (order, &method))
            .map(|&(_, c)| c)
            .collect();
        let losses: Vec<f64> = cells.iter().filter_map(|c| c.loss).collect();
        let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
        let evaluations = median(cells.iter().filter_map(|c| c.evaluations).map(|n| n as f64));
        let _ = writeln!(
            out,
            "| {order} | {method} | {mean:.4} | {} |",
            evaluations.map_or(String::new(), |n| n.to_string())
        );
    }
    out + "\n"
}

pub(super) fn lambda(done: &[Done]) -> String {
    let mut out = "TNLS, averages over the tensors of each order (Eff. here counts whatever the error is).\n\n\
                   | order | lambda | RSE, mean | Eff., mean |\n| ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (order, lambda, rse, eff) in by_lambda(done) {
        let _ = writeln!(out, "| {order} | {lambda} | {rse:.1e} | {eff:.2} |");
    }
    out + "\n"
}

/// Order, lambda, mean RSE, mean Eff.
pub(super) fn by_lambda(done: &[Done]) -> Vec<(usize, f64, f64, f64)> {
    let of = |task: &Task| task.objective.lambda().unwrap_or(f64::NAN);
    let kinds = distinct(done.iter().map(|(t, _)| (t.order, of(t))));
    let row = |(order, lambda): (usize, f64)| {
        let cells = done.iter().filter(|(t, _)| (t.order, of(t)) == (order, lambda));
        let found: Vec<(f64, f64)> = cells
            .filter_map(|(_, c)| Some((c.rse?, c.hidden_params as f64 / c.params? as f64)))
            .collect();
        let mean = |f: fn(&(f64, f64)) -> f64| {
            found.iter().map(f).sum::<f64>() / found.len().max(1) as f64
        };
        (order, lambda, mean(|x| x.0), mean(|x| x.1))
    };
    kinds.into_iter().map(row).collect()
}
