//! The results in pictures.

use super::comparison::distinct;
use super::table::Done;
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
