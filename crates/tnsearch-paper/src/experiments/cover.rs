//! Figure 1: the ranks that an order-4 tensor needs on the three different rings through its modes.

use super::super::comparison::distinct;
use super::super::table::{self, Done};
use super::super::tasks::TaskList;
use super::super::trial::Recipe;
use super::super::{Cell, MAX_RSE, Method, ReproduceError};
use super::Description;
use std::fmt::Write as _;
use std::sync::Arc;
use tnsearch::problem::Objective;
use tnsearch_report::plot::{Axis, Figure, Layer, Panel};

pub(super) const COVER: Description =
    Description { name: "fig-cover", plan, tables, figure, csv: table::csv };

/// Figure 1: the ranks that an order-4 tensor needs on the three different rings through its modes.
fn plan(plan: &mut TaskList, _: Vec<Method>) -> Result<(), ReproduceError> {
    let recipe = Recipe { dim: 5, ranks: (2, 3), ..Recipe::ring(4) };
    for trial in 0..plan.options.trials(20) {
        for (k, permutation) in [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]].iter().enumerate() {
            let method = Method::ranks_only(permutation.to_vec());
            let by = Arc::new(Method { name: format!("map {}", k + 1), ..method });
            plan.add_run(&recipe, trial, &by, Objective::MaxError(MAX_RSE), 0, false);
        }
    }
    Ok(())
}

fn tables(done: &[Done]) -> String {
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
fn models(done: &[Done]) -> Vec<(Vec<f64>, f64)> {
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

/// Figure 1: ranks and params of the three maps.
fn figure(done: &[Done]) -> String {
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
