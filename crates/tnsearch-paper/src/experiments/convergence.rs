//! The figure of the loss against evaluations.

use super::super::comparison::{distinct, median};
use super::super::table::{self, Done};
use super::super::tasks::TaskList;
use super::super::trial::Recipe;
use super::super::{Cell, LAMBDA, Method, ReproduceError};
use super::Description;
use std::fmt::Write as _;
use std::sync::Arc;
use tnsearch::problem::Objective;
use tnsearch_report::plot::{Axis, Figure, Layer, Panel};

pub(super) const CONVERGENCE: Description =
    Description { name: "fig-convergence", plan, tables, figure, csv: table::csv };

/// The figure of the loss against evaluations: lambda = 200, populations and samples of 60 and 100.
fn plan(plan: &mut TaskList, more: Vec<Method>) -> Result<(), ReproduceError> {
    let orders: &[usize] = if plan.options.quick { &[5] } else { &[8, 12] };
    let mut methods = Vec::new();
    for size in if plan.options.quick { vec![10] } else { vec![60, 100] } {
        let samples = plan.tnls().with(|s| s.samples = size);
        let named = |m: Method| Method { name: format!("{} ({size})", m.name), ..m };
        methods.push(named(Method::tnga_plus(&plan.tnga(size))));
        methods.push(named(Method::tnls_unpruned(&samples)));
        methods.push(named(Method::tnls(&samples)));
    }
    let methods: Vec<Arc<Method>> = methods.into_iter().chain(more).map(Arc::new).collect();
    for &order in orders {
        for by in &methods {
            for run in 0..plan.options.runs() {
                let objective = Objective::Lambda(LAMBDA);
                plan.add_run(&Recipe::ring(order), 0, by, objective, run, true);
            }
        }
    }
    Ok(())
}

fn tables(done: &[Done]) -> String {
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

/// Loss against evaluations: the mean of the runs.
fn figure(done: &[Done]) -> String {
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
