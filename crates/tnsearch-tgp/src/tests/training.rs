//! Training: what it goes on with, and what it refuses.

use super::super::train::{Prepared, train};
use super::super::{Event, TrainSettings};
use super::{random, response};
use tnsearch::network::Network;
use tnsearch::problem::Stop;
use tnsearch_io::Table;

fn table(rows: usize, d: usize) -> Table {
    let features = random(rows * d, 11);
    let y = response(&features, d);
    let names = (0..=d).map(|k| format!("c{k}")).collect();
    let row = |(x, y): (&[f64], f64)| x.iter().copied().chain([y]).collect::<Vec<_>>();
    Table::new(names, features.chunks_exact(d).zip(y).flat_map(row).collect())
}

#[test]
fn a_model_to_go_on_with_stays_where_nothing_better_is_found() {
    let table = table(120, 2);
    let settings = TrainSettings::default().with(|s| {
        (s.inducing, s.tt_rank, s.evidence_rows, s.evidence_steps) = (vec![6], 3, 60, 10);
    });
    let first = train(&table, &settings, None, &Stop::new(), &mut |_| ()).unwrap().model;
    let mse = first.figures.unwrap().validation_mse;
    let stopped = Stop::new();
    stopped.set();
    let same = train(&table, &settings, Some(first.clone()), &stopped, &mut |_| ()).unwrap();
    assert!(same.stopped && same.model == first);
    // From a model as it is kept on the way, without figures; a worse one is never told to be the best.
    let mut bare = first.clone();
    bare.figures = None;
    let mut told = Vec::new();
    let settings = settings.with(|s| s.bound_steps = 3);
    let more = train(&table, &settings, Some(bare), &Stop::new(), &mut |event| {
        if let Event::Sweep { validation_mse, best: Some(_), .. } = event {
            told.push(validation_mse);
        }
    });
    let figures = more.unwrap().model.figures.unwrap();
    assert!(figures.validation_mse <= mse && figures.bound.is_some());
    assert!(told.iter().all(|&better| better < mse), "{told:?} {mse}");
}

#[test]
fn models_that_are_not_what_is_said_are_seen() {
    // Few rows, of which all are looked at, and many.
    for rows in [120, 900] {
        let table = table(rows, 2);
        let settings = TrainSettings::default().with(|s| {
            (s.inducing, s.tt_rank, s.evidence_rows, s.evidence_steps) = (vec![6], 3, 60, 5);
        });
        let model = train(&table, &settings, None, &Stop::new(), &mut |_| ()).unwrap().model;
        let data = Prepared::new(&table, &model.shares, &model.standard, &model.grids).unwrap();
        let mse = model.mse(&data.validation).unwrap();
        model.confirm(&data.validation, mse).unwrap();
        if rows == 120 {
            let said = model.confirm(&data.validation, 1.01 * mse).unwrap_err().to_string();
            assert!(said.contains("mean squared error was computed as"), "{said}");
        }
        let structure = model.mean.structure().clone();
        let mut cores: Vec<_> =
            model.mean.cores().iter().map(|c| c.as_f64().unwrap().clone()).collect();
        cores[0].data_mut()[0] = f64::NAN;
        let broken = Network::new(structure, model.mean.dims().to_vec(), cores).unwrap();
        let said = model.with_mean(broken).confirm(&data.validation, mse).unwrap_err();
        assert!(said.to_string().contains("not finite"), "{said}");
    }
}

#[test]
fn what_cannot_be_trained_is_refused_before_anything_is_computed() {
    let said = |table: &Table, change: fn(&mut TrainSettings)| {
        let settings = TrainSettings::default().with(|s| s.inducing = vec![2]).with(change);
        let heard = &mut |_: Event<'_>| panic!("it began");
        train(table, &settings, None, &Stop::new(), heard).unwrap_err().to_string()
    };
    let one = said(&table(40, 1), |_| ());
    assert!(one.starts_with("the table has 1 feature before the response; from 2 to 64"), "{one}");
    let many = said(&table(40, 65), |_| ());
    assert!(many.starts_with("the table has 65 features before the response"), "{many}");
    let few = said(&table(40, 2), |s| s.evidence_rows = 1);
    assert_eq!(few, "evidence-rows is 1; it must be at least 2");
    let mut large = table(40, 2);
    large.cells.iter_mut().skip(1).step_by(3).for_each(|x| *x *= 1e200);
    let large = said(&large, |_| ());
    assert!(large.starts_with("column 'c1' has numbers from -"), "{large}");
    let settings = TrainSettings::default().with(|s| s.max_bytes = Some(100 << 20));
    assert!(settings.check_memory(&[4, 4], 4000, 1000).is_ok());
    let evidence = settings.check_memory(&[4, 4], 4000, 4000).unwrap_err().to_string();
    assert!(evidence.starts_with("training needs about"), "{evidence}");
    // The largest core counts, wherever it is.
    assert!(settings.clone().with(|s| s.tt_rank = 30).check_memory(&[2, 10, 2], 10, 0).is_err());
}
