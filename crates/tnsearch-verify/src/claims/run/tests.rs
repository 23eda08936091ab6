use super::*;

/// An answer of 30 params and an error of 0.04, of a tensor of 60 entries.
fn answer(goal: Option<Goal>) -> Answer {
    let loss = goal.map(|goal| goal.loss(30.0, 60.0, 0.04));
    let (params, error) = (Some(30.0), Some(0.04));
    Answer { goal, id: "rse", entries: 60.0, params, error, loss, cut_short: false }
}

fn point(params: f64, rse: f64, loss: f64) -> Value {
    json!({"params": params, "rse": rse, "loss": loss})
}

const GOALS: [Goal; 5] = [
    Goal::Lambda(2.0),
    Goal::MaxError(0.05),
    // Missed.
    Goal::MaxError(0.02),
    Goal::MaxParams(40.0),
    // Missed.
    Goal::MaxParams(20.0),
];

#[test]
fn errors_of_one_fit_are_alike() {
    assert!(alike(0.04, 0.04 * (1.0 + 3e-6)) && alike(0.04 * (1.0 + 3e-6), 0.04));
    assert!(!alike(0.04, 0.04 * (1.0 + 2e-5)) && !alike(0.04 * (1.0 + 2e-5), 0.04));
    assert!(alike(0.0, 1e-12) && alike(1e-12, 0.0) && !alike(0.0, 5e-12));
    assert!(alike(1e6, 1e6 * (1.0 + 1e-6)) && !alike(1e6, 1e6 * (1.0 + 5e-6)));
}

#[test]
fn a_loss_is_that_of_params_and_error() {
    for goal in GOALS {
        let answer = answer(Some(goal));
        for (params, rse) in [(30.0, 0.04), (10.0, 0.3), (50.0, 0.001)] {
            let loss = goal.loss(params, 60.0, rse);
            assert!(answer.adds_up(&point(params, rse, loss)), "{goal:?}");
            for by in [1.0 + 3e-9, 1.0 - 3e-9] {
                assert!(
                    !answer.adds_up(&point(params, rse, loss * by + (by - 1.0) * 1e-3)),
                    "{goal:?}"
                );
            }
        }
        for field in ["params", "rse", "loss"] {
            let mut bad = point(30.0, 0.04, goal.loss(30.0, 60.0, 0.04));
            bad[field] = Value::Null;
            assert!(!answer.adds_up(&bad), "{field}");
        }
    }
    assert!(answer(None).adds_up(&point(1.0, 2.0, 3.0)));
    // That of a run is called `rse` whatever it is.
    let huber = Answer { id: "huber", ..answer(Some(Goal::Lambda(2.0))) };
    assert!(huber.adds_up(&json!({"params": 30, "huber": 0.04, "rse": 7.0, "loss": 0.58})));
    assert!(huber.adds_up(&json!({"params": 30, "rse": 0.04, "loss": 0.58})));
}

#[test]
fn a_point_is_the_answer_by_its_params_and_its_error() {
    for goal in GOALS {
        let own = answer(Some(goal));
        assert!(own.is(&point(30.0, 0.04, 0.0)) && own.is(&point(30.0, 0.04 * (1.0 + 1e-6), 0.0)));
        assert!(!own.is(&point(31.0, 0.04, 0.0)) && !own.is(&point(30.0, 0.05, 0.0)));
        assert!(!own.is(&Value::Null));
        let short = Answer { cut_short: true, ..answer(Some(goal)) };
        assert!(short.is(&point(31.0, 0.05, 0.0)));
        // Another may lead where the error is missed, by its loss.
        let loss = goal.loss(30.0, 60.0, 0.04);
        let missed = goal == Goal::MaxError(0.02);
        assert!(own.leads(&point(30.0, 0.04, loss)));
        assert_eq!(own.leads(&point(29.0, 0.05, loss)), missed, "{goal:?}");
        assert_eq!(own.leads(&point(29.0, 0.05, loss * (1.0 + 5e-7))), missed, "{goal:?}");
        assert!(!own.leads(&point(29.0, 0.05, loss * (1.0 + 3e-6))), "{goal:?}");
    }
    let at = Answer { error: Some(0.05), ..answer(Some(Goal::MaxError(0.05))) };
    assert!(!at.leads(&point(29.0, 0.06, 0.1)));
}

#[test]
fn what_was_asked_for_is_reached_or_not() {
    let reached = |goal: Option<Goal>, point: &Value| answer(goal).reached(point);
    for (goal, expected) in GOALS.into_iter().zip([true, true, false, true, false]) {
        assert_eq!(reached(Some(goal), &point(30.0, 0.04, 0.0)), Some(expected), "{goal:?}");
        assert_eq!(reached(Some(goal), &json!({"params": 30})), None);
        assert_eq!(reached(Some(goal), &json!({"rse": 0.04})), None);
    }
    assert_eq!(reached(None, &point(30.0, 0.04, 0.0)), None);
}

#[test]
fn a_better_answer_is_what_was_asked_for_more_than_the_answer() {
    // Against 30 params and 0.04, for each goal: beaten or not.
    let cases = [
        ((30.0, 0.04), [false, false, false, false, false]),
        // The same error with fewer params, and with more.
        ((29.0, 0.04), [true, true, false, false, true]),
        ((31.0, 0.04), [false, false, false, false, false]),
        // Less of an error.
        ((30.0, 0.03), [true, false, true, true, false]),
        ((41.0, 0.03), [false, false, true, false, false]),
        ((90.0, 0.01), [false, false, true, false, false]),
        ((20.0, 0.9), [false, false, false, false, true]),
        ((25.0, 0.045), [true, true, false, false, true]),
        ((25.0, 0.055), [true, false, false, false, true]),
    ];
    for ((params, rse), expected) in cases {
        let point = point(params, rse, 0.0);
        let found = GOALS.map(|goal| answer(Some(goal)).beaten_by(&point));
        assert_eq!(found, expected, "{params} {rse}");
        assert!(!answer(None).beaten_by(&point));
        let nothing = Answer { params: None, ..answer(Some(Goal::Lambda(2.0))) };
        assert!(!nothing.beaten_by(&point));
    }
    // Not by rounding alone.
    for goal in GOALS {
        assert!(!answer(Some(goal)).beaten_by(&point(30.0, 0.04 * (1.0 - 1e-7), 0.0)), "{goal:?}");
    }
}

#[test]
fn what_is_as_good_is_not_better_and_small_losses_add_up() {
    for goal in GOALS {
        let answer = answer(Some(goal));
        assert!(!answer.beaten_by(&point(30.0, 0.04, 0.0)), "{goal:?}");
    }
    let few = Answer { error: Some(0.0), ..answer(Some(Goal::MaxParams(40.0))) };
    assert!(few.adds_up(&point(30.0, 0.0, 0.9e-12)) && !few.adds_up(&point(30.0, 0.0, 1.1e-12)));
}
