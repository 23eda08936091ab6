//! Words of statements.

use super::*;
use crate::graph::{Template, testing};
use crate::rng::stream;
use std::sync::Arc;

const EPS: Objective = Objective::MaxError(1e-4);
static RSE: Measure = Measure::RSE;

fn known(over: Option<Over>, objective: Objective) -> Known<'static> {
    Known {
        over,
        objective,
        measure: &RSE,
        bound: None,
        impossible: None,
        unproven: Unproven::Unknown,
        answer: None,
    }
}

fn ring(max_rank: usize) -> Option<Over> {
    Some(Over::new(&Arc::new(Template::ring(4).unwrap()), max_rank))
}

fn structure(template: Template, ranks: Vec<usize>) -> Structure {
    Structure::identity(Arc::new(template), ranks).unwrap()
}

fn score(params: u128, error: f64, loss: f64) -> Score {
    Score { loss, error, params }
}

#[test]
fn an_answer_is_optimal_only_among_what_it_is_one_of() {
    let inside = structure(Template::ring(4).unwrap(), vec![2, 3, 3, 2]);
    let wide = structure(Template::ring(4).unwrap(), vec![2, 9, 3, 2]);
    let star = structure(Template::star(4).unwrap(), vec![2, 3, 3]);
    let said = |over: Option<Over>, answer: &Structure, params: u128| {
        let bound = Some(EPS.lower_bound(50.0));
        let answer = Some((answer, score(params, 1e-5, 0.5)));
        Statement::of(Known { bound, answer, ..known(over, EPS) })
    };
    let best = said(ring(7), &inside, 50);
    assert!(best.is_optimal() && best.gap() == Some(1.0));
    assert_eq!(best.text(), "optimal: no ring with ranks up to 7 is better");
    assert_eq!(best.sentence(), "Optimal: no ring with ranks up to 7 is better.");
    let gap = said(ring(7), &inside, 60);
    assert_eq!(
        gap.text(),
        "every ring with ranks up to 7 that reaches the error has at least 50 params (found is 1.200 times that)"
    );
    // Not one of them: whatever its size, it is neither optimal nor so many times the bound.
    let every = "every ring with ranks up to 7 that reaches the error has at least 50 params; the answer is none of these: ";
    for (answer, why) in [(&wide, "it has an edge of rank 9"), (&star, "it has another format")] {
        for (params, more) in [
            (40, ", and is smaller than any of these can be"),
            (50, "; none of these is smaller"),
            (60, ", so how much it could be improved is not known"),
        ] {
            let other = said(ring(7), answer, params);
            assert!(!other.is_optimal() && other.gap().is_none());
            assert_eq!(other.text(), format!("{every}{why}{more}"));
        }
    }
    let cyclic = said(Some(Over::Trees), &inside, 40);
    assert!(
        cyclic.text().contains(
            "every tree of any topology and ranks over these modes that reaches the error"
        )
    );
    assert!(cyclic.text().contains("it has a cycle, and is smaller than any of these can be"));
    assert!(said(Some(Over::Trees), &star, 50).is_optimal());
    // Structures that nobody named are those of the strategy, which proposed the answer.
    let unknown = said(None, &inside, 50);
    assert!(unknown.is_optimal(), "{}", unknown.text());
    assert_eq!(unknown.text(), "optimal: no structure that the strategy searches is better");
}

#[test]
fn errors_and_losses_are_compared_by_what_was_asked_for() {
    let wide = structure(Template::ring(4).unwrap(), vec![2, 9, 3, 2]);
    let said = |objective: Objective, value: f64, score: Score| {
        let bound = Some(objective.lower_bound(value));
        let answer = Some((&wide, score));
        Statement::of(Known { bound, answer, ..known(ring(7), objective) }).text()
    };
    let (budget, loss) = (Objective::MaxParams(80), Objective::Lambda(2.0));
    let text = said(budget, 0.1, score(70, 0.05, 0.05));
    assert!(
        text.starts_with("every ring with ranks up to 7 within the budget has RSE >= 0.100;"),
        "{text}"
    );
    assert!(text.ends_with("and has a smaller error than any of these can have"), "{text}");
    let text = said(loss, 0.5, score(70, 0.05, 0.4));
    assert!(
        text.starts_with("every ring with ranks up to 7 has a loss of at least 0.500;"),
        "{text}"
    );
    assert!(text.ends_with("and has a smaller loss than any of these can have"), "{text}");
    assert!(said(loss, 0.5, score(70, 0.05, 0.5)).ends_with("none of these has a smaller loss"));
    // A bound of zero is none.
    let text = said(budget, 0.0, score(70, 0.05, 0.05));
    assert!(text.starts_with("nothing: the cuts of the tensor allow a ring"), "{text}");
}

#[test]
fn the_impossible_is_said_with_the_rank_it_would_take() {
    let needed = Needed { rank: 12, because: "mode 2 alone needs rank 12".to_owned() };
    let said = |needed: Option<Needed>, objective| {
        Statement::of(Known { impossible: Some(needed), ..known(ring(7), objective) })
    };
    let text = said(Some(needed.clone()), EPS).text();
    assert_eq!(
        text,
        "no ring with ranks up to 7 reaches RE 0.0100: mode 2 alone needs rank 12; use --max-rank 12 or more"
    );
    let text = said(None, EPS).text();
    assert!(text.ends_with("it takes a larger --max-rank or another template"), "{text}");
    let text = said(None, Objective::MaxParams(9)).text();
    assert_eq!(text, "no ring with ranks up to 7 has so few params");
    // Where the search itself takes larger ranks, that is no proof about its answers.
    let larger = Unproven::LargerRanks(Some(needed.clone()));
    let larger = Statement::of(Known { unproven: larger, ..known(ring(7), EPS) });
    assert_eq!(larger.record().proven, "nothing");
    assert!(larger.text().ends_with("and of larger ranks nothing is proven"), "{}", larger.text());
    assert_eq!(said(Some(needed.clone()), EPS).record().needed, Some(needed));
}

#[test]
fn every_set_has_words_and_survives_its_file() {
    for order in [4usize, 6] {
        let own =
            Template::from_graph("mine", vec![true; order], (1..order).map(|v| (0, v)).collect());
        let special =
            [Template::any_tree(order), Template::any(order), Template::formats(order), own];
        for template in testing::all(order).into_iter().chain(special.map(Result::unwrap)) {
            let template = Arc::new(template);
            let over = Over::new(&template, 3);
            let file = over.to_file();
            let back = Over::from_file(&file, order).unwrap();
            assert_eq!(back.to_file(), file);
            let trees = template.is_any_tree() || template.is_formats();
            assert_eq!(over == Over::Trees, trees);
            assert_eq!(file.max_rank, (!trees).then_some(3));
            let class = over.class();
            assert!(
                class.contains(if trees { "any topology" } else { "ranks up to 3" }),
                "{class}"
            );
            assert!(!class.contains("own graph"), "{class}");
            if !trees {
                // A structure of it with these ranks is one of them, whatever it is called.
                let mut rng = stream(2, template.name().as_bytes());
                let s = testing::random(&template, 3, &mut rng);
                assert_eq!((over.place(&s), back.place(&s)), (Place::Inside, Place::Inside));
                let wide = Structure::new(
                    template.clone(),
                    s.permutation().to_vec(),
                    vec![4; template.edges().len()],
                );
                assert_eq!(over.place(&wide.unwrap()), Place::Ranks(4));
            }
            let searched = Over::of_search(&template, &template, Some(3));
            assert_eq!(searched, Some(over));
        }
    }
    // A search that leaves its template has bounds over nothing.
    let (ring, complete) = (Arc::new(Template::ring(4).unwrap()), Template::complete(4).unwrap());
    assert_eq!(Over::of_search(&ring, &complete, Some(7)), None);
}

#[test]
fn a_cycle_is_seen_beside_modes_that_stand_alone() {
    // Three edges on four vertices, and no tree.
    let complete = Template::complete(4).unwrap();
    let triangle = complete.edges().iter().map(|&(_, v)| if v < 3 { 2 } else { 1 }).collect();
    assert_eq!(Over::Trees.place(&structure(complete, triangle)), Place::Cyclic);
    // A ring with an edge of rank 1 is a path.
    let open = structure(Template::ring(4).unwrap(), vec![2, 1, 3, 2]);
    assert_eq!(Over::Trees.place(&open), Place::Inside);
}

#[test]
fn a_record_says_what_the_statement_does() {
    for (unproven, name) in [
        (Unproven::Open, "open"),
        (Unproven::Interrupted, "interrupted"),
        (Unproven::TimeUp, "time_up"),
        (Unproven::OtherLoss, "other_loss"),
        (Unproven::Holes, "holes"),
        (Unproven::AllGraphs, "all_graphs"),
        (Unproven::TooLarge, "too_large"),
        (Unproven::NotAsked, "not_asked"),
        (Unproven::Unknown, "unknown"),
    ] {
        let said = Statement::of(Known { unproven, ..known(ring(7), EPS) });
        assert!(said.text().starts_with("nothing"), "{}", said.text());
        assert!(said.bound_over().is_none() && said.line().is_none());
        let json = serde_json::to_value(said.record()).unwrap();
        assert_eq!(json["reason"], name);
        assert_eq!((&json["proven"], &json["over"]), (&"nothing".into(), &serde_json::Value::Null));
        let back: StatementRecord = serde_json::from_value(json).unwrap();
        assert_eq!(back, said.record());
    }
    // A reason that a later version knows does not make a journal unreadable.
    let later = r#"{"proven":"nothing","over":null,"reason":"tired","text":"nothing"}"#;
    assert_eq!(
        serde_json::from_str::<StatementRecord>(later).unwrap().reason,
        Some(Unproven::Unknown)
    );
}
