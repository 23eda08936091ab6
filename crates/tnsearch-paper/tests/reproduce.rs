//! The experiments in their quick versions: what they find, and what they write.

use tnsearch::fit::Method;
use tnsearch::problem::Stop;
use tnsearch::search::SearchError;
use tnsearch_paper::{Cell, Experiment, Options, ReproduceError, Setup};

fn quick(name: &str) -> Experiment {
    let options = Options::default().with(|o| {
        o.quick = true;
        o.trials = Some(1);
        o.runs = Some(1);
        o.seed = 3;
    });
    Experiment::new(name, options, Vec::new()).unwrap()
}

fn cells(experiment: &Experiment) -> Vec<Cell> {
    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    experiment.tasks.iter().map(|task| task.run(&setup).unwrap()).collect()
}

#[test]
fn table2_compares_all_methods() {
    let table = quick("table2");
    let cells = cells(&table);
    let of = |method: &str| {
        let task = table.tasks.iter().find(|t| t.order == 5 && t.method == method).unwrap();
        cells.iter().find(|c| c.key == task.key).unwrap()
    };
    let exact = of("exact");
    assert!(exact.eff().unwrap() >= 1.0 && exact.bound <= exact.params, "{exact:?}");
    // Nobody finds a ring smaller than what is proven to be the least.
    for task in table.tasks.iter().filter(|t| t.order == 5) {
        let cell = cells.iter().find(|c| c.key == task.key).unwrap();
        let ring = cell.reached && cell.format_preserved == Some(true);
        if ring && !task.key.contains("lambda") {
            assert!(cell.params >= exact.bound, "{cell:?} against {exact:?}");
        }
        assert!(cell.rse.is_none_or(|rse| (0.0..=1.0).contains(&rse)));
    }
    // Pruning changes what is fitted, not what is found.
    let (pruned, all) = (of("TNLS"), of("TNLS, all fitted"));
    assert_eq!((pruned.params, pruned.rse), (all.params, all.rse));
    assert!(pruned.evaluations < all.evaluations && all.pruned == 0);
    // The order that the tensor comes in costs parameters.
    assert!(of("TR-SVD").eff().unwrap() <= exact.eff().unwrap());

    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    let output = table.output(&cells, &setup);
    assert_eq!(output.csv.lines().count(), 1 + cells.len());
    assert!(output.markdown.contains("| paper's A | 1.00 |"), "{}", output.markdown);
    assert!(output.markdown.contains("| method | order | Eff. >= 1, single runs |"));
    assert!(output.figures[0].1.starts_with("<svg"));
    // A part of the results gives a part of the tables.
    let part = table.output(&cells[..3], &setup);
    assert!(part.markdown.contains(&format!("3 of {} results", cells.len())));
}

#[test]
fn a_task_gives_the_same_result_again() {
    let table = quick("table3");
    let task = table.tasks.iter().find(|t| t.method == "TNLS").unwrap();
    let mut results = [1, 2].map(|threads| {
        let setup = Setup::new(Method::Als, 1, Some(threads), Stop::new()).unwrap();
        task.run(&setup).unwrap()
    });
    results.iter_mut().for_each(|cell| cell.seconds = 0.0);
    assert_eq!(results[0], results[1]);
}

#[test]
fn the_other_experiments_have_tables_and_pictures() {
    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    for (name, text) in [
        ("table3", "| paper's A |"),
        ("fig-convergence", "| order | method | loss"),
        ("fig-lambda", "| 4 | 1000 |"),
        ("fig-cover", "| 3 |"),
    ] {
        let experiment = quick(name);
        let output = experiment.output(&cells(&experiment), &setup);
        assert!(output.markdown.contains(text), "{name}: {}", output.markdown);
        assert!(output.figures[0].1.contains("</svg>"), "{name}");
    }
}

/// The relative error of a picture against another.
fn re(original: &[f64], found: &[f64], of: impl Fn(usize) -> bool) -> f64 {
    let (mut lost, mut all) = (0.0, 0.0);
    for (_, (x, z)) in original.iter().zip(found).enumerate().filter(|(k, _)| of(*k)) {
        lost += (x - z).powi(2);
        all += x * x;
    }
    (lost / all).sqrt()
}

#[test]
fn pictures_are_compressed_and_come_back() {
    let table = quick("table-compression");
    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    let made: Vec<_> = table.tasks.iter().map(|task| task.make(&setup).unwrap()).collect();
    assert_eq!(made.len(), 2 * 7, "both tensorisations, all methods");
    for (task, made) in table.tasks.iter().zip(&made) {
        let (cell, shown) = (&made.cell, made.pictures.as_ref().unwrap());
        // The error of the tensor is that of the picture.
        let own = re(shown.original.samples(), shown.found.samples(), |_| true);
        assert!((own - cell.rse.unwrap().sqrt()).abs() < 1e-4, "{}: {own} {cell:?}", task.key);
        assert!(shown.holes.is_none() && cell.missing_re.is_none());
        if let Some(loss) = cell.loss {
            let phi = cell.params.unwrap() as f64 / 256.0;
            assert!((loss - phi - 5.0 * cell.rse.unwrap()).abs() < 1e-6, "{cell:?}");
        } else {
            assert!(cell.rse.unwrap() <= 0.15 * 0.15);
        }
        let names: Vec<String> = task.files(shown).into_iter().map(|f| f.0).collect();
        assert_eq!(names[0], format!("pictures/{}-drawn-1-original.png", task.variant));
        assert_eq!(names.len(), 2);
    }
    let loss = |variant: &str, method: &str| {
        let at = table.tasks.iter().position(|t| t.variant == variant && t.method == method);
        made[at.unwrap()].cell.loss.unwrap()
    };
    for variant in ["reshape", "vdt"] {
        // Whoever begins at what direct methods give and chooses its ranks is not far behind a sampling search.
        assert!(loss(variant, "ours, ring") < 1.1 * loss(variant, "TNLS"));
        assert!(loss(variant, "ours, any graph") < 1.1 * loss(variant, "TNLS"));
    }
    let cells: Vec<Cell> = made.into_iter().map(|made| made.cell).collect();
    let output = table.output(&cells, &setup);
    assert!(output.markdown.contains("| *paper* | 0.92 (0.15) |"), "{}", output.markdown);
    assert!(output.markdown.contains("![](pictures/vdt-drawn-1-ours__any_graph.png)"));
    assert_eq!(output.csv.lines().count(), 1 + cells.len());
    assert!(output.figures[0].1.contains("</svg>"));
}

#[test]
fn holes_of_pictures_are_filled() {
    let table = quick("table-completion");
    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    // Greedy and TNGA+ are searches as TNLS is.
    let tasks: Vec<_> = table
        .tasks
        .iter()
        .filter(|t| ["TRALS", "TNLS", "ours, held out"].contains(&&t.method[..]))
        .filter(|t| t.variant == "missing-70")
        .collect();
    assert_eq!(tasks.len(), 3);
    let mut cells = Vec::new();
    for task in tasks {
        let made = task.make(&setup).unwrap();
        let (cell, shown) = (made.cell, made.pictures.unwrap());
        let (original, holes) = (shown.original.samples(), shown.holes.as_ref().unwrap().samples());
        let removed = |k: usize| original[k] != holes[k];
        assert_eq!((0..768).filter(|&k| removed(k)).count(), 538, "70 % of 16 x 16 x 3");
        // What is known stays, and the error is that of what is not.
        let found = shown.found.samples();
        assert!((0..768).filter(|&k| !removed(k)).all(|k| original[k] == found[k]));
        let own = re(original, found, removed);
        let told = cell.missing_re.unwrap();
        assert!((own - told).abs() < 1e-5 * told, "{}: {own} {told}", task.key);
        // phi + lambda ||P(X - Z)||^2.
        let known: f64 = (0..768).filter(|&k| !removed(k)).map(|k| original[k].powi(2)).sum();
        let phi = cell.params.unwrap() as f64 / 768.0;
        let loss = phi + 0.0008 * known * cell.rse.unwrap();
        assert!((cell.loss.unwrap() - loss).abs() < 1e-6, "{cell:?} {loss}");
        assert_eq!(task.files(&shown).len(), 3);
        cells.push(cell);
    }
    let output = table.output(&cells, &setup);
    assert!(
        output.markdown.contains("| *paper* | 0.142 | 0.136 [1437] |  |"),
        "{}",
        output.markdown
    );
    assert!(output.markdown.contains("](pictures/missing-70-drawn-1-holes.png)"));
}

#[test]
fn means_of_models_are_compressed() {
    let table = quick("table-tgp");
    let cells = cells(&table);
    let of = |method: &str| {
        let task = table.tasks.iter().position(|t| t.method == method).unwrap();
        &cells[task]
    };
    let given = of("TT");
    assert_eq!(given.params, Some(5 * 3 + 3 * 5 * 3 + 3 * 5));
    let mse = |cell: &Cell| cell.test_mse.unwrap();
    assert!(mse(given) < 0.01, "{given:?}");
    for method in ["TNGA+", "TNLS", "ours, ring", "ours, any graph", "ours, tensor", "ours, fitted"]
    {
        let cell = of(method);
        // A short genetic search need not find anything smaller than the train; the tensor has 125 entries.
        let most = if method.starts_with("ours") { 75 } else { 125 };
        assert!(cell.params.unwrap() <= most && mse(cell) < mse(given) + 2e-3, "{cell:?}");
    }
    assert!(of("ours, fitted, 0.01").params <= of("ours, fitted").params);
    // The bound is over all trees: what is below it has a cycle, here of all three modes.
    let tensor = of("ours, tensor");
    let cyclic = tensor.ranks.iter().filter(|r| **r > 1).count() == 3;
    assert!(
        tensor.bound.unwrap() <= tensor.params.unwrap() || cyclic && !tensor.certified,
        "{tensor:?}"
    );
    let setup = Setup::new(Method::Als, 1, Some(2), Stop::new()).unwrap();
    let output = table.output(&cells, &setup);
    assert!(output.markdown.contains("| *paper's TNLS* | 2.24 (0.06) [1051] |"));
    assert_eq!(output.csv.lines().count(), 9);
    assert!(output.figures[0].1.starts_with("<svg"));
    let without = Experiment::new("table-tgp", Options::default(), Vec::new());
    assert!(
        without.err().unwrap().to_string().starts_with("this experiment needs tables: --data DIR")
    );
}

#[test]
fn bad_options_are_named() {
    let options = |trials| {
        Options::default().with(|o| {
            o.quick = true;
            o.trials = trials;
        })
    };
    let error = Experiment::new("table9", options(None), Vec::new()).err().unwrap().to_string();
    assert!(error.starts_with("unknown experiment 'table9'; use table2, "), "{error}");
    let error = Experiment::new("table2", options(Some(0)), Vec::new()).err().unwrap().to_string();
    assert_eq!(error, "trials is 0; it must be from 1 to 100");
    let no_data = Experiment::new("table-compression", Options::default(), Vec::new());
    let error = no_data.err().unwrap().to_string();
    assert!(error.contains("--data DIR, with images/bsd-gray256/*.png in it"), "{error}");
}

#[test]
fn a_method_needs_a_name_of_its_own() {
    use tnsearch_paper::Method as Compared;
    let options = Options::default().with(|o| o.quick = true);
    let mine = Compared::search("TNLS", |_, _| Err(SearchError::Threads("none".into())));
    let error = Experiment::new("table2", options, vec![mine]).err().unwrap().to_string();
    assert_eq!(error, "method is TNLS; every method needs a name of its own");
}

#[test]
fn an_interrupt_ends_a_task() {
    let stopped = Stop::new();
    stopped.set();
    let setup = Setup::new(Method::Als, 1, Some(1), stopped).unwrap();
    let table = quick("table2");
    let search = table.tasks.iter().find(|t| t.method == "TNLS").unwrap();
    assert!(matches!(search.run(&setup), Err(ReproduceError::Interrupted)));
}
