//! What the results say of the methods: rates, work, who is ahead.

use super::Cell;
use super::table::Done;
use super::tasks::Task;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The best of several runs: the largest Eff., then the fewest evaluations.
pub(super) fn best<'a>(cells: &[&'a Cell]) -> Option<&'a Cell> {
    let eff = |c: &Cell| c.eff().unwrap_or(0.0);
    cells
        .iter()
        .copied()
        .min_by(|a, b| eff(b).total_cmp(&eff(a)).then(a.evaluations.cmp(&b.evaluations)))
}

/// The different values of something, in the order in which they come.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    for value in values {
        if !out.contains(&value) {
            out.push(value);
        }
    }
    out
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0)
}

/// How often single runs and the best of them reach Eff. >= 1, and what they cost.
pub(super) fn rates(done: &[Done]) -> String {
    let mut out =
        "| method | order | Eff. >= 1, single runs | best of the runs | evaluations to the \
                   answer, median (a) | evaluations in all, median (a) | seconds, median | format \
                   preserved (a) |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    for method in distinct(done.iter().map(|(t, _)| t.method.clone())) {
        for (template, order) in distinct(done.iter().map(|(t, _)| (t.template, t.order))) {
            let kind = |t: &Task| t.method == method && (t.template, t.order) == (template, order);
            let of: Vec<&Done> = done.iter().filter(|(t, _)| kind(t)).collect();
            if of.is_empty() {
                continue;
            }
            let good = |c: &Cell| c.eff().is_some_and(|e| e >= 1.0 - 1e-12);
            let numbers: BTreeSet<usize> = of.iter().map(|(t, _)| t.trial).collect();
            let best_of =
                numbers.iter().filter(|&&n| of.iter().any(|(t, c)| t.trial == n && good(c)));
            let reached: Vec<&Cell> = of.iter().map(|&&(_, c)| c).filter(|c| c.reached).collect();
            let preserved = reached.iter().filter(|c| c.format_preserved == Some(true)).count();
            let number = |f: fn(&Cell) -> Option<u64>| {
                median(reached.iter().filter_map(|c| f(c)).map(|n| n as f64))
                    .map_or(String::new(), |m| m.to_string())
            };
            let label =
                if template == "ring" { order.to_string() } else { format!("{template} {order}") };
            let _ = writeln!(
                out,
                "| {method} | {label} | {} of {} | {} of {} | {} | {} | {:.2} | {preserved} of {} |",
                of.iter().filter(|(_, c)| good(c)).count(),
                of.len(),
                best_of.count(),
                numbers.len(),
                number(|c| c.to_best),
                number(|c| c.evaluations),
                median(of.iter().map(|(_, c)| c.seconds)).unwrap_or(0.0),
                reached.len(),
            );
        }
    }
    out + "\n(a) Of the runs that reached the error.\n\n"
}

/// On how many tensors one method needed fewer evaluations than another, up to the answer and in all: the
/// medians of the runs that reached the error.
pub(super) fn fewer(done: &[Done], first: &str, second: &str) -> String {
    let kinds = distinct(done.iter().map(|(t, _)| (t.template, t.order, t.trial)));
    let count = |value: fn(&Cell) -> Option<u64>| {
        let of = |kind: (&str, usize, usize), method: &str| {
            let same = |t: &Task| (t.template, t.order, t.trial) == kind && t.method == method;
            let cells = done.iter().filter(|(t, c)| same(t) && c.reached);
            median(cells.filter_map(|(_, c)| value(c)).map(|n| n as f64))
        };
        let pairs: Vec<(f64, f64)> =
            kinds.iter().filter_map(|&k| Some((of(k, first)?, of(k, second)?))).collect();
        format!("{} of {}", pairs.iter().filter(|(a, b)| a < b).count(), pairs.len())
    };
    format!(
        "{first} needed fewer evaluations than {second} on {} tensors up to the answer, on {} in all.\n\n",
        count(|c| c.to_best),
        count(|c| c.evaluations),
    )
}

/// The evaluations of some orders together.
pub(super) fn medians(done: &[Done], orders: [usize; 2]) -> String {
    let of = |method: String| {
        let same = |t: &Task| orders.contains(&t.order) && t.method == method;
        let cells = done.iter().filter(|(t, c)| same(t) && c.reached);
        let evaluations = median(cells.filter_map(|(_, c)| c.evaluations).map(|n| n as f64))?;
        Some(format!("{method} {evaluations}"))
    };
    let methods = distinct(done.iter().map(|(t, _)| t.method.clone()));
    let list: Vec<String> = methods.into_iter().filter_map(of).collect();
    let [a, b] = orders;
    match list.is_empty() {
        true => String::new(),
        false => format!(
            "Evaluations in all, medians over the runs on orders {a} and {b} that reached the error: {}.\n\n",
            list.join(", ")
        ),
    }
}

/// On how many tensors one method's best answer is at least as small as another's.
pub(super) fn not_below(done: &[Done], first: &str, second: &str) -> String {
    let kinds = distinct(done.iter().map(|(t, _)| (t.template, t.trial)));
    let of = |kind: (&str, usize), method: &str| {
        let cells = done
            .iter()
            .filter(|(t, _)| (t.template, t.trial) == kind && t.method == method)
            .map(|&(_, c)| c);
        let cells: Vec<&Cell> = cells.collect();
        best(&cells).map(|c| c.eff().unwrap_or(0.0))
    };
    let pairs: Vec<(f64, f64)> =
        kinds.iter().filter_map(|&k| Some((of(k, first)?, of(k, second)?))).collect();
    let count = pairs.iter().filter(|(a, b)| a >= b).count();
    format!(
        "The best of all runs of {first} is at least as good as that of {second} on {count} of {} tensors.\n\n",
        pairs.len()
    )
}

/// The same with as many runs of both.
pub(super) fn equal_runs(done: &[Done], first: &str, second: &str) -> String {
    let runs = |t: &Task| {
        let same =
            |o: &Task| (o.template, o.trial, o.method.as_str()) == (t.template, t.trial, second);
        done.iter().filter(|(o, _)| same(o)).count()
    };
    let as_many: Vec<Done> = done.iter().copied().filter(|(t, _)| t.run < runs(t)).collect();
    not_below(&as_many, first, second).replace("of all runs", "of as many runs")
}

/// The structures that all runs of a method on a tensor fitted together, format by format.
pub(super) fn in_all_runs(done: &[Done]) -> String {
    let methods =
        distinct(done.iter().filter(|(_, c)| c.evaluations.is_some()).map(|d| &d.0.method));
    let mut out = "Structures fitted in all runs on a tensor together, median over the tensors (runs on each):\n\n\
                   | format |"
        .to_owned();
    methods.iter().for_each(|m| out += &format!(" {m} |"));
    out += &format!("\n| --- |{}\n", " ---: |".repeat(methods.len()));
    for template in distinct(done.iter().map(|(t, _)| t.template)) {
        out += &format!("| {template} |");
        for method in &methods {
            let of = |trial: usize| {
                let same =
                    move |t: &Task| (t.template, t.trial, &t.method) == (template, trial, *method);
                done.iter().filter(move |(t, _)| same(t)).map(|(_, c)| c.evaluations.unwrap_or(0))
            };
            let mut trials =
                distinct(done.iter().filter(|d| d.0.template == template).map(|d| d.0.trial));
            trials.retain(|&k| of(k).next().is_some());
            let middle = median(trials.iter().map(|&k| of(k).sum::<u64>() as f64)).unwrap_or(0.0);
            let runs = trials.iter().map(|&k| of(k).count()).max().unwrap_or(0);
            out += &format!(" {middle} ({runs}) |");
        }
        out.push('\n');
    }
    out + "\n"
}
