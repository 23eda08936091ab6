//! The figure of RSE and Eff. against lambda.

use super::super::comparison::distinct;
use super::super::table::{self, Done};
use super::super::tasks::{Task, TaskList};
use super::super::trial::Recipe;
use super::super::{Method, ReproduceError};
use super::Description;
use std::fmt::Write as _;
use std::sync::Arc;
use tnsearch::problem::Objective;
use tnsearch_report::plot::{Axis, Figure, Layer, Panel};

pub(super) const LAMBDA_WEIGHT: Description =
    Description { name: "fig-lambda", plan, tables, figure, csv: table::csv };

/// The figure of RSE and Eff. against lambda.
fn plan(plan: &mut TaskList, _: Vec<Method>) -> Result<(), ReproduceError> {
    let orders: &[usize] = if plan.options.quick { &[4] } else { &[4, 6, 8] };
    let by = Arc::new(Method::tnls(&plan.tnls()));
    for &order in orders {
        for trial in 0..plan.options.trials(5) {
            for lambda in [0.1, 1.0, 10.0, 100.0, 1000.0] {
                let recipe = Recipe::ring(order);
                plan.add_run(&recipe, trial, &by, Objective::Lambda(lambda), 0, false);
            }
        }
    }
    Ok(())
}

fn tables(done: &[Done]) -> String {
    let mut out = "TNLS, averages over the tensors of each order (Eff. here counts whatever the error is).\n\n\
                   | order | lambda | RSE, mean | Eff., mean |\n| ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (order, lambda, rse, eff) in by_lambda(done) {
        let _ = writeln!(out, "| {order} | {lambda} | {rse:.1e} | {eff:.2} |");
    }
    out + "\n"
}

/// Order, lambda, mean RSE, mean Eff.
fn by_lambda(done: &[Done]) -> Vec<(usize, f64, f64, f64)> {
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

/// RSE and Eff. against lambda.
fn figure(done: &[Done]) -> String {
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
