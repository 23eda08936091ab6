//! The results in pictures.

use super::Cell;
use super::comparison::distinct;
use super::table::{Done, by_lambda, models};
use tnsearch_report::plot::{Axis, Figure, Layer, Panel};

/// Eff. of every result, a column per method, a panel per kind of tensor.
pub(super) fn efficiency(done: &[Done]) -> String {
    let mut figure = Figure::new("Parameter efficiency of the structures found").columns(1);
    for (template, order) in distinct(done.iter().map(|(t, _)| (t.template, t.order))) {
        let of: Vec<&Done> = done
            .iter()
            .filter(|(t, _)| (t.template, t.order) == (template, order) && !t.is_lambda())
            .collect();
        let methods = distinct(of.iter().map(|(t, _)| t.method.clone()));
        let column = |name: &str| methods.iter().position(|m| m == name).unwrap_or(0) as f64;
        let mut points = Vec::new();
        let mut tips = Vec::new();
        for (task, cell) in &of {
            let Some(eff) = cell.eff() else { continue };
            // Runs on one tensor stand side by side, however many there are.
            let runs = of.iter().filter(|(t, _)| t.method == task.method && t.trial == task.trial);
            let place = (task.run as f64 + 0.5) / runs.count() as f64 - 0.5;
            let shift = (task.trial as f64 - 2.0) * 0.12 + place * 0.09;
            points.push((column(&task.method) + shift, eff));
            let evaluations =
                cell.evaluations.map_or(String::new(), |n| format!(", {n} evaluations"));
            tips.push(format!("{}: Eff. {eff:.2}{evaluations}", task.key));
        }
        figure = figure.panel(
            Panel::new(
                &format!("{template}, order {order}"),
                Axis::names("", methods.clone()),
                Axis::linear("Eff.").include(0.0).include(1.0),
            )
            .size(760.0, 220.0)
            .add(Layer::horizontal("hidden structure", 1.0).dashed())
            .add(Layer::dots("results with RSE <= 1e-4", points).tips(tips)),
        );
    }
    figure.svg()
}

/// Figure 1: ranks and params of the three maps.
pub(super) fn cover(done: &[Done]) -> String {
    let models = models(done);
    let names = |n: usize| (1..=n).map(|k| format!("model {k}")).collect::<Vec<_>>();
    let edges = models.first().map_or(0, |(ranks, _)| ranks.len());
    let edge_names = (1..=edges).map(|k| format!("edge {k}")).collect();
    let lines = models.iter().enumerate().map(|(k, (ranks, _))| {
        let points = ranks.iter().enumerate().map(|(e, &r)| (e as f64, r)).collect();
        Layer::line(&format!("model {}", k + 1), points)
    });
    let bars =
        models.iter().enumerate().map(|(k, (_, params))| (k as f64 - 0.3, k as f64 + 0.3, *params));
    Figure::new("Ranks needed under different maps of modes onto a ring")
        .columns(2)
        .panel(
            Panel::new(
                "ranks, narrowest edge first",
                Axis::names("", edge_names),
                Axis::linear("rank").include(0.0),
            )
            .add_all(lines),
        )
        .panel(
            Panel::new(
                "parameters",
                Axis::names("", names(models.len())),
                Axis::linear("params").include(0.0),
            )
            .add(Layer::bars("params", bars.collect()).unlisted()),
        )
        .svg()
}

/// Loss against evaluations: the mean of the runs.
pub(super) fn convergence(done: &[Done]) -> String {
    let mut figure = Figure::new("Average loss against evaluations").columns(2);
    for order in distinct(done.iter().map(|(t, _)| t.order)) {
        let methods =
            distinct(done.iter().filter(|(t, _)| t.order == order).map(|(t, _)| t.method.clone()));
        let layers = methods.iter().map(|method| {
            let runs: Vec<&Cell> = done
                .iter()
                .filter(|(t, _)| t.order == order && t.method == *method)
                .map(|&(_, c)| c)
                .collect();
            Layer::steps(method, mean_curve(&runs))
        });
        figure = figure.panel(
            Panel::new(
                &format!("order {order}"),
                Axis::log("evaluations"),
                Axis::log("loss, mean of the runs"),
            )
            .add_all(layers),
        );
    }
    figure.svg()
}

/// The mean of step curves, from the first evaluation that all have made.
fn mean_curve(runs: &[&Cell]) -> Vec<(f64, f64)> {
    let mut at: Vec<u64> = runs.iter().flat_map(|c| c.curve.iter().map(|p| p.0)).collect();
    at.sort_unstable();
    at.dedup();
    let value = |c: &Cell, n: u64| c.curve.iter().take_while(|p| p.0 <= n).last().map(|p| p.1);
    at.into_iter()
        .filter_map(|n| {
            let values: Option<Vec<f64>> = runs.iter().map(|c| value(c, n)).collect();
            let values = values?;
            Some((n as f64, values.iter().sum::<f64>() / values.len() as f64))
        })
        .collect()
}

/// RSE and Eff. against lambda.
pub(super) fn lambda(done: &[Done]) -> String {
    let rows = by_lambda(done);
    let orders = distinct(rows.iter().map(|r| r.0));
    let lines = |value: fn(&(usize, f64, f64, f64)) -> f64| -> Vec<Layer> {
        let line = |order: &usize| {
            let of = rows.iter().filter(|r| r.0 == *order);
            Layer::line(&format!("order {order}"), of.map(|r| (r.1, value(r))).collect())
        };
        orders.iter().map(line).collect()
    };
    Figure::new("TNLS with different weights of the error")
        .columns(2)
        .panel(
            Panel::new("error", Axis::log("lambda"), Axis::log("RSE, mean"))
                .add_all(lines(|r| r.2)),
        )
        .panel(
            Panel::new("size", Axis::log("lambda"), Axis::linear("Eff., mean").include(1.0))
                .add_all(lines(|r| r.3)),
        )
        .svg()
}
