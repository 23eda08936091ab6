//! Stops within a fit: long steps look at them, and what is left is an answer or none.

use super::*;
use crate::fit::als::energy;
use crate::fit::plan::{Step, bytes_needed};
use crate::fit::solve::Solver;
use crate::fit::workspace::Workspace;
use crate::graph::ModeGraph;
use std::cell::Cell;

/// A positive definite matrix with its largest entries on the diagonal, and right-hand sides.
fn system(n: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
    let entry = |p: usize| {
        let (i, j) = (p / n, p % n);
        let apart = i.abs_diff(j) as f64;
        if i == j { 3.0 } else { 1.0 / (1.0 + apart * apart) }
    };
    ((0..n * n).map(entry).collect(), (0..n * columns).map(|k| (k % 17) as f64 - 8.0).collect())
}

#[test]
fn a_long_solve_looks_at_its_stop_and_leaves_the_core_as_it_was() {
    let (n, columns) = (1700, 40);
    let (gram, rhs) = system(n, columns);
    let mut solver = Solver::new(n, columns);
    let old = vec![0.25; n * columns];
    let mut whole = old.clone();
    solver.solve(&gram, &rhs, &mut whole, n, 1e-10);
    let looks = Cell::new(0);
    let count = || {
        looks.set(looks.get() + 1);
        false
    };
    let mut looked = old.clone();
    solver.solve_until((&gram, &rhs), &mut looked, n, 1e-10, &count);
    assert!(looks.get() > 20, "{} looks", looks.get());
    assert_eq!(looked, whole, "the same bit for bit");
    let all = looks.get();
    for at in [1, 5, all / 2, all] {
        looks.set(0);
        let ended = || {
            looks.set(looks.get() + 1);
            looks.get() >= at
        };
        let mut cut_short = old.clone();
        solver.solve_until((&gram, &rhs), &mut cut_short, n, 1e-10, &ended);
        assert_eq!(looks.get(), at, "it ends at the look that says so");
        assert_eq!(cut_short, old);
    }
}

#[test]
fn whenever_a_fit_is_stopped_its_answer_is_what_it_says() {
    // Products and solves that are long enough to be looked into.
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 9), (1, 2, 9)]);
    let dims = [60, 50, 40];
    let target = random::<f64>(&dims, 3);
    for method in [Method::Als, Method::Lm, Method::Adam] {
        let settings = FitSettings { method, restarts: 2, max_sweeps: 4, ..FitSettings::default() };
        let settings = settings.check().unwrap();
        let whole = fit_of(&target, &graph, &settings, 0).unwrap();
        let mut outcomes = [0; 3];
        for looks in (0..30).chain([40, 60, 90, 130, 200, 1_000_000]) {
            let stop = Stop::after_looks(looks);
            match fit(
                &target,
                &Request::new(graph.clone(), settings.clone(), 0),
                &Run::until(&stop),
            ) {
                Ok(fitted) => {
                    let error = error_of(&target, &graph, &fitted.cores, None).unwrap();
                    assert!((fitted.error - error).abs() < 1e-12, "{method} {looks}: {error}");
                    assert!(fitted.error <= 1.0 && fitted.error >= whole.error - 1e-12);
                    outcomes[if fitted.interrupted { 1 } else { 0 }] += 1;
                    if !fitted.interrupted {
                        assert_eq!(fitted, whole, "{method} {looks}");
                    }
                }
                Err(FitError::Interrupted | FitError::Time) => outcomes[2] += 1,
                Err(e) => panic!("{e}"),
            }
        }
        // Whole, cut short, and nothing yet.
        assert!(outcomes.iter().all(|&n| n > 0), "{method}: {outcomes:?}");
    }
}

#[test]
fn a_halted_workspace_goes_on_when_it_is_told_to() {
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 8), (1, 2, 8), (0, 2, 8)]);
    let dims = [40, 50, 30];
    let target = random::<f64>(&dims, 5);
    let x = target.tensor().as_f64().unwrap();
    let plan = Plan::new((&target, x), &graph, Walk::Changing, None).unwrap();
    let mut ws = Workspace::new(&plan);
    ws.randomise(&mut rng::stream(1, b"halted"), 1.0);
    ws.refresh();
    let error = ws.rse();
    let stop = Stop::new();
    ws.obey(Some(&stop));
    stop.set();
    let mut visits = 0;
    ws.walk(|_| visits += 1);
    assert!(ws.halted() && visits == 0);
    ws.obey(None);
    ws.refresh();
    assert!(!ws.halted() && ws.rse() == error);
}

#[test]
fn a_fit_takes_no_more_memory_than_was_counted() {
    let graphs = [
        (vec![4, 5, 6], vec![(0, 1, 3), (1, 2, 4)], 0),
        (vec![30, 3, 31], vec![(0, 1, 20), (1, 2, 25)], 0),
        (vec![4, 4, 4, 4], vec![(0, 1, 3), (1, 2, 3), (2, 3, 3), (0, 3, 3)], 0),
        (vec![3; 5], vec![(0, 5, 3), (1, 5, 3), (2, 5, 2), (3, 6, 3), (4, 6, 3), (5, 6, 4)], 2),
        (vec![4; 4], vec![(0, 1, 4), (0, 2, 4), (0, 3, 4), (1, 2, 4), (1, 3, 4), (2, 3, 4)], 0),
    ];
    for (dims, edges, internal) in graphs {
        let graph = ModeGraph::new(dims.len(), internal, edges);
        let target = random::<f64>(&dims, 1);
        let x = target.tensor().as_f64().unwrap();
        for kind in [Walk::Changing, Walk::Reading] {
            let plan = Plan::new((&target, x), &graph, kind, None).unwrap();
            let width = plan.leaves.iter().map(|l| l.width).max().unwrap();
            let moved = |step: &Step| match step {
                Step::Contract { plan, .. } => plan.scratch_lens(),
                _ => [0; 3],
            };
            let steps = plan.renew.iter().flatten().chain(&plan.walk).map(moved);
            let scratch = steps.fold([0; 3], |a: [usize; 3], b| [0, 1, 2].map(|k| a[k].max(b[k])));
            let params: usize = plan.core_lens().iter().sum();
            // X in the plan's order, the buffers, the scratch, the factor of a solve, momentum and the cores given back.
            let held = x.len()
                + plan.buffer_lens.iter().sum::<usize>()
                + scratch.iter().sum::<usize>()
                + width * width
                + 3 * params;
            let counted = bytes_needed(&dims, &graph, Kind::F64) / 8.0;
            assert!(held as f64 <= counted, "{graph}: {held} of {counted}");
            // And no limit below that lets it begin.
            let limit = Some((8 * held) as u64);
            assert!(Plan::new((&target, x), &graph, kind, limit).is_err(), "{graph}");
        }
    }
}

/// Products of a large matrix with many columns, entry by entry: the error of the last core of a sweep, and the norm that
/// random cores are scaled by.
#[test]
fn the_error_of_a_wide_core_looks_at_its_stop() {
    let (n, columns) = (3000, 12);
    let (gram, rhs) = system(n, columns);
    let looks = Cell::new(0);
    let core = vec![0.5; n * columns];
    let count = || {
        looks.set(looks.get() + 1);
        looks.get() > 2
    };
    assert_eq!(energy(&gram, &rhs, &core, n, &count), None);
    assert_eq!(looks.get(), 3, "it ends at the look that says so");
    let whole = energy(&gram, &rhs, &core, n, &|| false).unwrap();
    assert!(whole.is_finite());
    // Small ones are over before anybody could look.
    looks.set(0);
    energy(&gram[..100], &rhs[..100], &core[..100], 10, &count).unwrap();
    assert_eq!(looks.get(), 0);
}

#[test]
fn cores_are_not_scaled_by_a_norm_that_was_cut_short() {
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 18), (0, 2, 18), (1, 2, 2)]);
    let dims = [40, 30, 20];
    let target = random::<f64>(&dims, 5);
    let x = target.tensor().as_f64().unwrap();
    let plan = Plan::new((&target, x), &graph, Walk::Changing, None).unwrap();
    let (mut scaled, mut same) = (0, 0);
    for looks in 0..200 {
        let mut ws = Workspace::new(&plan);
        ws.randomise(&mut rng::stream(1, b"scaled"), 1.0);
        let before = ws.cores();
        ws.obey(Some(&Stop::after_looks(looks)));
        ws.rescale_to_target();
        match ws.cores() == before {
            true => same += 1,
            false => scaled += 1,
        }
    }
    assert!(same > 1 && scaled > 1, "{same} {scaled}");
}

/// Very many vertices: to plan their contraction takes seconds.
#[test]
fn plans_of_many_vertices_look_at_their_stop() {
    for vertices in [60, 300, 1000] {
        let edges = (0..vertices).map(|v| (v, (v + 1) % vertices));
        let mut edges: Vec<_> = edges.map(|(a, b)| (a.min(b), a.max(b), 2)).collect();
        edges.sort_unstable();
        let graph = ModeGraph::new(4, vertices - 4, edges);
        let target = random::<f64>(&[2; 4], 1);
        let x = target.tensor().as_f64().unwrap();
        let plan = |stop: &Stop| {
            let data = (&target, x);
            Plan::new_until(data, &graph, Walk::Changing, None, Some(stop)).map(|p| p.bytes)
        };
        for looks in [0, 1, 5, 50, vertices as u64, 3 * vertices as u64] {
            let ended = plan(&Stop::after_looks(looks));
            assert_eq!(ended, Err(FitError::Interrupted), "{vertices} {looks}");
        }
    }
}
