//! The experiments in their quick versions: what they find, and what they write.

use tnsearch::fit::Method;
use tnsearch::problem::Stop;
use tnsearch::search::SearchError;
use tnsearch_lab::reproduce::{Cell, Experiment, Options, ReproduceError, Setup};

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
}

#[test]
fn a_method_needs_a_name_of_its_own() {
    use tnsearch_lab::reproduce::Method as Compared;
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
