//! Every claim about a small network whose numbers are written down: it holds, and whatever is changed does not.

#![recursion_limit = "256"]

mod stated;

use serde_json::{Value, json};
use stated::{certificate, checked, network, outcome, searched, tensor};
use tnsearch_verify::Verdict;
use tnsearch_verify::claims::Outcome;

/// That a change is refused by a claim.
fn refuses(summary: &Value, pointer: &str, value: Value, claim: &str) {
    let mut bad = summary.clone();
    *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
    let found = checked(&bad, Some(&certificate()), |_| ());
    assert!(found.is(claim, Verdict::DoesNotHold), "{pointer} {value}: {found:?}");
    assert_eq!(found.outcome(false), Outcome::DoesNotHold, "{pointer} {value}");
}

#[test]
fn what_is_true_holds() {
    let found = checked(&searched(), Some(&certificate()), |_| ());
    let others: Vec<_> =
        found.iter().filter(|f| !matches!(f.verdict, Verdict::Holds | Verdict::Recorded)).collect();
    assert!(others.is_empty(), "{others:?}");
    for name in [
        "params",
        "rse",
        "lower_bound",
        "certified_optimal",
        "history",
        "pareto",
        "runs",
        "statement",
    ] {
        assert!(found.is(name, Verdict::Holds), "{name}");
    }
    assert_eq!(found.outcome(true), Outcome::NotChecked);
    // Without its proof, and nobody who makes one, what follows from it was not checked.
    let found = checked(&searched(), None, |_| ());
    assert_eq!(found.outcome(false), Outcome::NotChecked);
    assert_eq!(found.count(Verdict::NotChecked), 2, "{found:?}");
}

#[test]
fn what_is_changed_does_not() {
    let good = searched();
    let null = || Value::Null;
    let changes = [
        ("/order", json!(3), "order"),
        ("/dims", json!([4, 3]), "dims"),
        ("/dims", null(), "dims"),
        ("/permutation", json!([1, 0]), "permutation"),
        ("/permutation", null(), "permutation"),
        ("/edges/0/2", json!(3), "edges"),
        ("/template", json!("tucker"), "template"),
        ("/params", json!(15), "params"),
        ("/phi", json!(1.16), "phi"),
        ("/log10_cr", json!(0.07), "log10_cr"),
        ("/dtype", json!("f32"), "dtype"),
        ("/reshaped", json!({"from": [12], "to": [3, 4]}), "reshaped"),
        ("/rse", json!(1e-9), "rse"),
        ("/rse", null(), "rse"),
        ("/re", json!(1e-9), "re"),
        ("/re", null(), "re"),
        ("/loss", json!(1.0), "loss"),
        ("/loss", null(), "loss"),
        ("/target_reached", json!(false), "target_reached"),
        ("/samples", json!(3), "samples"),
        ("/evaluations", json!(2), "samples"),
        ("/pruned", json!(1), "samples"),
        ("/direct", json!(2), "runs"),
        ("/seed", json!(4), "runs"),
        ("/run", json!(1), "runs"),
        ("/run_seed", json!(5), "runs"),
        ("/run", null(), "runs"),
        ("/runs/0/best/params", json!(13), "runs"),
        ("/runs/0/counts/cached", json!(2), "runs"),
        ("/runs/0/target_reached", json!(false), "runs"),
        ("/runs/0/best", null(), "runs"),
        ("/runs/0/best/loss", json!(1.0), "runs"),
        ("/seconds", json!(0.4), "history"),
        ("/history/0/loss", json!(1.0), "history"),
        ("/history/0/params", json!(13), "history"),
        ("/history/0/samples", json!(1), "history"),
        ("/history/0/evaluations", json!(0), "history"),
        ("/history", json!([]), "history"),
        ("/history/0/rse", json!(0.05), "history"),
        ("/pareto/0/params", json!(8), "pareto"),
        ("/pareto/0/rse", json!(0.0), "pareto"),
        ("/pareto/0/rse", json!(0.05), "pareto"),
        ("/pareto/1/rse", json!(0.5), "pareto"),
        ("/pareto/0/run", json!(1), "pareto"),
        ("/pareto/0/rse", json!(-1.0), "pareto"),
        ("/pareto", json!([]), "pareto"),
        ("/pareto/0/edges", json!([[0, 2, 1]]), "pareto"),
        ("/stopped_by", json!("tired"), "stopped_by"),
        ("/settings/max_rank", json!(8), "settings"),
        ("/shrunk", json!({"dims": [3, 5], "lost": 0.0, "seconds": 0.1}), "shrunk"),
        ("/shrunk", json!({"dims": [1, 4], "lost": 0.0, "seconds": 0.1}), "shrunk"),
        ("/shrunk", json!({"dims": [2, 2], "lost": 0.1, "seconds": 0.1}), "shrunk"),
        ("/shrunk", json!({"dims": [2, 2], "lost": 0.0, "seconds": 2.0}), "shrunk"),
        (
            "/formats",
            json!([{"format": "path", "params": 13, "rse": 0.0, "re": 0.0, "target_reached": true}]),
            "formats",
        ),
        (
            "/formats",
            json!([{"format": "path", "params": 14, "rse": 0.0, "re": 0.1, "target_reached": true}]),
            "formats",
        ),
        (
            "/formats",
            json!([{"format": "path", "params": 14, "rse": 0.0, "re": 0.0, "target_reached": false}]),
            "formats",
        ),
        ("/edges_at_max_rank", json!(1), "edges_at_max_rank"),
        ("/format_preserved", json!(false), "format_preserved"),
        ("/format_preserved", null(), "format_preserved"),
        ("/format_preserved", json!(1), "format_preserved"),
        ("/objective", json!({"max_rse": 0.1, "lambda": 2.0}), "objective"),
        ("/objective/max_rse", json!(0.0), "objective"),
        ("/lower_bound/params", json!(15), "lower_bound"),
        ("/lower_bound/params", json!(13), "certified_optimal"),
        ("/lower_bound/rse", json!(0.5), "lower_bound"),
        ("/lower_bound", null(), "bound_over"),
        ("/bound_over", null(), "bound_over"),
        ("/bound_over/max_rank", null(), "bound_over"),
        ("/bound_over/max_rank", json!(8), "certificate of the summary"),
        ("/bound_over/template", json!("any-tree"), "bound_over"),
        ("/certified_optimal", json!(false), "certified_optimal"),
        ("/proven_impossible", json!(true), "proven_impossible"),
        ("/needed_rank", json!({"rank": 9, "modes": [1], "width": 9}), "needed_rank"),
        ("/statement/proven", json!("lower_bound"), "statement"),
        ("/statement/proven", json!("nothing"), "statement"),
        ("/statement/over", null(), "statement"),
        ("/statement/text", json!(""), "statement"),
        ("/statement/answer", json!("cyclic"), "statement"),
    ];
    for (pointer, value, claim) in changes {
        refuses(&good, pointer, value, claim);
    }
}

#[test]
fn what_nobody_knows_is_said() {
    let mut more = searched();
    more["best_ever"] = json!(true);
    more["lower_bound"]["seconds"] = json!(1);
    more["pareto"][0]["proof"] = json!("trust me");
    let found = checked(&more, Some(&certificate()), |_| ());
    for claim in ["best_ever", "lower_bound.seconds", "pareto.proof"] {
        assert!(found.is(claim, Verdict::NotChecked), "{claim}: {found:?}");
    }
    assert_eq!(found.outcome(false), Outcome::NotChecked);
}

#[test]
fn a_bound_that_the_network_goes_below_is_refuted_by_it() {
    let mut bad = searched();
    bad["lower_bound"]["params"] = json!(20);
    let found = checked(&bad, None, |_| ());
    assert!(found.is("lower_bound", Verdict::DoesNotHold), "{found:?}");
    // Not where it is none of the structures: its rank is beyond them.
    bad["bound_over"]["max_rank"] = json!(1);
    bad["settings"]["max_rank"] = json!(1);
    let found = checked(&bad, None, |_| ());
    assert!(found.is("lower_bound", Verdict::NotChecked), "{found:?}");
    // A loss, and an error.
    let mut priced = searched();
    priced["objective"] = json!({"lambda": 3.0});
    priced["lower_bound"] = json!({"params": null, "rse": null, "loss": 1.2});
    assert!(checked(&priced, None, |_| ()).is("lower_bound", Verdict::DoesNotHold));
    priced["lower_bound"]["loss"] = json!(14.0 / 12.0);
    assert!(checked(&priced, None, |_| ()).is("lower_bound", Verdict::NotChecked));
    let mut few = searched();
    few["objective"] = json!({"max_params": 14});
    few["lower_bound"] = json!({"params": null, "rse": 0.01, "loss": null});
    assert!(checked(&few, None, |_| ()).is("lower_bound", Verdict::DoesNotHold));
    few["lower_bound"]["rse"] = json!(0.0);
    assert!(checked(&few, None, |_| ()).is("lower_bound", Verdict::Holds));
    // Out of reach, it says.
    let mut none = searched();
    none["lower_bound"] = Value::Null;
    none["proven_impossible"] = json!(true);
    none["certified_optimal"] = json!(false);
    none["statement"]["proven"] = json!("impossible");
    assert!(checked(&none, None, |_| ()).is("proven_impossible", Verdict::DoesNotHold));
}

#[test]
fn a_certificate_is_of_the_summary_or_not_taken() {
    let good = searched();
    let weaker = |change: &dyn Fn(&mut Value)| {
        let mut other = certificate();
        change(&mut other);
        let found = checked(&good, Some(&other), |_| ());
        assert_ne!(found.outcome(false), Outcome::Holds, "{other}");
    };
    weaker(&|c| c["max_rank"] = json!(6));
    weaker(&|c| c["max_rse"] = json!(0.05));
    weaker(&|c| c["params"] = json!(13));
    weaker(&|c| c["params"] = json!(15));
    weaker(&|c| c["cuts"][0]["width"] = json!(3));
    weaker(&|c| c["data"]["sha256"] = json!("0"));
    weaker(&|c| c["tree"] = json!([]));
    // One that says more says this, too.
    let mut more = certificate();
    more["max_rse"] = json!(0.3);
    more["max_rank"] = json!(9);
    assert_eq!(outcome(&good, Some(&more)), Outcome::Holds);
    // Beside a summary that claims nothing it proves nothing.
    let mut bare = good.clone();
    for name in ["lower_bound", "bound_over"] {
        bare[name] = Value::Null;
    }
    bare["certified_optimal"] = json!(false);
    bare["statement"] = Value::Null;
    assert_eq!(outcome(&bare, None), Outcome::Holds);
    assert_eq!(outcome(&bare, Some(&certificate())), Outcome::DoesNotHold);
}

#[test]
fn losses_have_certificates_of_their_own() {
    let mut summary = searched();
    summary["objective"] = json!({"lambda": 3.0});
    summary["lower_bound"] = json!({"params": null, "rse": null, "loss": 14.0 / 12.0});
    // Rank 1 costs 7 / 12 + 3 * 0.36, more than 14 / 12.
    let mut proof = certificate();
    for name in ["max_rse", "params"] {
        proof.as_object_mut().unwrap().remove(name);
    }
    (proof["version"], proof["lambda"], proof["loss"]) = (json!(2), json!(3.0), json!(14.0 / 12.0));
    assert_eq!(
        outcome(&summary, Some(&proof)),
        Outcome::Holds,
        "{:?}",
        checked(&summary, Some(&proof), |_| ())
    );
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut bad = proof.clone();
        change(&mut bad);
        assert_ne!(outcome(&summary, Some(&bad)), Outcome::Holds, "{bad}");
    };
    refused(&|c| c["loss"] = json!(1.17));
    refused(&|c| c["loss"] = json!(1.0));
    refused(&|c| c["lambda"] = json!(3.1));
    // At this price rank 1 has a smaller loss: the cut says nothing.
    refused(&|c| c["lambda"] = json!(1.5));
    refused(&|c| c["cuts"][0]["slack"] = json!(0.3));
    refused(&|c| c["cuts"] = json!([]));
    refused(&|c| c["cuts"][0]["tail"] = json!(0.4));
}

#[test]
fn other_commands_are_checked_by_their_own_claims() {
    let all = searched();
    let shared = |names: &[&str]| {
        let mut summary = json!({});
        names.iter().for_each(|name| summary[*name] = all[*name].clone());
        summary
    };
    let structure =
        ["template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"];
    let wrong = |summary: &Value, pointer: &str, value: Value| {
        let mut bad = summary.clone();
        *bad.pointer_mut(pointer).unwrap() = value.clone();
        let found = checked(&bad, Some(&certificate()), |_| ());
        assert_eq!(found.outcome(false), Outcome::DoesNotHold, "{pointer} {value}: {found:?}");
    };
    // generate
    let mut made = shared(&structure);
    (made["norm"], made["rse"], made["seed"]) = (json!(2.5), json!(0.0), json!(1));
    assert_eq!(outcome(&made, None), Outcome::Holds);
    wrong(&made, "/norm", json!(2.51));
    wrong(&made, "/rse", json!(1e-6));
    // decompose
    let mut cut = shared(&structure);
    (cut["rse"], cut["re"], cut["max_rse"], cut["target_reached"]) =
        (json!(0.0), json!(0.0), json!(0.1), json!(true));
    assert_eq!(outcome(&cut, None), Outcome::Holds);
    wrong(&cut, "/target_reached", json!(false));
    cut["max_rse"] = Value::Null;
    assert_eq!(outcome(&cut, None), Outcome::Holds);
    wrong(&cut, "/target_reached", json!(false));
    // round
    let mut round = cut.clone();
    round["max_rse"] = json!(0.1);
    (round["rse_floor"], round["rse_tensor_at_most"]) = (json!(1e-15), json!(1e-3));
    (round["params_before"], round["input"]) = (json!(14), json!("before"));
    assert_eq!(outcome(&round, None), Outcome::Holds, "{:?}", checked(&round, None, |_| ()));
    for (pointer, value) in [
        ("/rse_floor", json!(1.0)),
        ("/rse_floor", json!(-1.0)),
        ("/rse_tensor_at_most", json!(-1.0)),
        ("/params_before", json!(15)),
        ("/rse", json!(1e-6)),
        ("/re", json!(1e-3)),
        ("/target_reached", json!(false)),
    ] {
        wrong(&round, pointer, value);
    }
    round["input"] = json!("elsewhere");
    assert_eq!(outcome(&round, None), Outcome::NotChecked);
    // bound
    let mut bound = shared(&structure);
    (bound["rse"], bound["re"]) = (json!(0.0), json!(0.0));
    bound["cuts"] = json!([{"modes": [1], "width": 2.0, "rse": 0.0}]);
    assert_eq!(outcome(&bound, None), Outcome::Holds, "{:?}", checked(&bound, None, |_| ()));
    for (pointer, value) in [
        ("/cuts/0/width", json!(3.0)),
        ("/cuts/0/rse", json!(0.36)),
        ("/cuts/0/modes", json!([2])),
        ("/cuts/0/modes", json!([])),
        ("/cuts/0/modes", json!([1, 1])),
        ("/cuts", json!(1)),
        ("/rse", json!(0.1)),
        ("/re", json!(0.1)),
    ] {
        wrong(&bound, pointer, value);
    }
    let cut = bound["cuts"][0].clone();
    bound["cuts"] = json!([cut.clone(), cut]);
    assert_eq!(outcome(&bound, None), Outcome::DoesNotHold);
    // certify
    let mut proven = shared(&structure);
    for name in [
        "dtype",
        "reshaped",
        "objective",
        "lower_bound",
        "bound_over",
        "proven_impossible",
        "needed_rank",
    ] {
        proven[name] = all[name].clone();
    }
    proven["max_rank"] = json!(7);
    proven["net"] =
        json!({"params": 14, "rse": 0.0, "gap": 1.0, "certified_optimal": true, "reaches": true});
    proven["binding_cuts"] = json!([{"modes": [1], "width": 2.0, "needed": 2, "rse": 0.0}]);
    assert_eq!(
        outcome(&proven, Some(&certificate())),
        Outcome::Holds,
        "{:?}",
        checked(&proven, Some(&certificate()), |_| ())
    );
    for (pointer, value) in [
        ("/net/params", json!(13)),
        ("/net/rse", json!(0.01)),
        ("/net/gap", json!(1.5)),
        ("/net/gap", Value::Null),
        ("/net/reaches", json!(false)),
        ("/net/certified_optimal", json!(false)),
        ("/binding_cuts/0/needed", json!(3)),
        ("/max_rank", json!(8)),
        ("/edges/0/2", json!(3)),
        ("/permutation", json!([0, 0])),
        ("/params", json!(13)),
    ] {
        wrong(&proven, pointer, value);
    }
}

#[test]
fn holes_are_counted_and_what_was_removed_is_compared() {
    let mut known = vec![true; 12];
    (known[0], known[5]) = (false, false);
    let removed = known.iter().map(|k| !k).collect::<Vec<bool>>();
    let mut made = json!({});
    for name in [
        "template",
        "order",
        "dims",
        "permutation",
        "edges",
        "params",
        "phi",
        "log10_cr",
        "dtype",
        "reshaped",
    ] {
        made[name] = searched()[name].clone();
    }
    (made["rse"], made["re"]) = (json!(0.0), json!(0.0));
    (made["entries"], made["observed"], made["missing"], made["empty_slices"]) =
        (json!(12), json!(10), json!(2), json!([]));
    made["recovered"] = json!({"entries": 2, "rse": 0.0, "re": 0.0, "rmse": 0.0, "psnr": null});
    let run = |summary: &Value, whole: bool| {
        checked(summary, None, |given| {
            given.known = Some(known.clone().leak());
            given.removed = whole.then(|| (tensor(), removed.clone()));
        })
    };
    assert_eq!(run(&made, true).outcome(false), Outcome::Holds, "{:?}", run(&made, true));
    assert!(run(&made, false).is("recovered", Verdict::NotChecked));
    for (pointer, value) in [
        ("/entries", json!(13)),
        ("/observed", json!(11)),
        ("/missing", json!(1)),
        ("/empty_slices", json!([[0, 0]])),
        ("/recovered/entries", json!(3)),
        ("/recovered/rse", json!(0.1)),
        ("/recovered/rmse", json!(0.1)),
        ("/recovered/psnr", json!(30.0)),
    ] {
        let mut bad = made.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert_eq!(run(&bad, true).outcome(false), Outcome::DoesNotHold, "{pointer}");
    }
    // A row that nobody saw.
    let blind: &[bool] =
        vec![false, false, false, false, true, true, true, true, true, true, true, true].leak();
    let found = checked(&made, None, |given| given.known = Some(blind));
    assert!(found.is("empty_slices", Verdict::DoesNotHold), "{found:?}");
    let mut seen = made.clone();
    (seen["observed"], seen["missing"], seen["empty_slices"]) =
        (json!(8), json!(4), json!([[0, 0]]));
    seen["recovered"] = Value::Null;
    let found = checked(&seen, None, |given| given.known = Some(blind));
    assert_eq!(found.outcome(false), Outcome::Holds, "{found:?}");
    // Cuts of a tensor with holes bound nothing.
    let found = checked(&searched(), Some(&certificate()), |given| given.known = Some(blind));
    assert!(
        found.is("certificate", Verdict::DoesNotHold)
            && found.is("lower_bound", Verdict::DoesNotHold)
    );
}

#[test]
fn a_shape_is_that_of_the_network_and_of_the_tensor() {
    let shape = json!({"from": [12], "to": [3, 4], "names": ["a", "b"], "column_major": false});
    let mut summary = searched();
    summary["reshaped"] = shape.clone();
    let run = |network: Value, tensor: Value| {
        checked(&summary, Some(&certificate()), |given| {
            given.network.as_mut().unwrap().reshaped = network.clone();
            given.reshaped = tensor.clone();
        })
    };
    assert!(run(shape.clone(), shape.clone()).is("reshaped", Verdict::Holds));
    assert!(run(shape.clone(), json!({"from": [2, 6]})).is("reshaped", Verdict::DoesNotHold));
    assert!(run(Value::Null, shape.clone()).is("reshaped", Verdict::DoesNotHold));
    // The tensor was given as it was searched: nobody sees its own shape.
    assert!(run(shape, Value::Null).is("reshaped", Verdict::NotChecked));
}

#[test]
fn at_the_threshold_rounding_decides() {
    // The network misses 0.36 of the tensor where its second part is gone.
    let mut half = network();
    half.cores[1].re[7] = 0.0;
    let mut summary = json!({"max_rse": 0.36, "target_reached": true, "rse": 0.36, "re": 0.6});
    for name in ["template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"] {
        summary[name] = searched()[name].clone();
    }
    let run = |summary: &Value| {
        checked(summary, None, |given| {
            let stored = given.network.as_mut().unwrap();
            (stored.network, stored.rse) = (half.clone(), Some(0.36));
        })
        .outcome(false)
    };
    assert_eq!(run(&summary), Outcome::Holds);
    for (eps, reached, expected) in [
        (0.36 * (1.0 + 1e-10), true, Outcome::Holds),
        (0.36 * (1.0 + 1e-10), false, Outcome::DoesNotHold),
        (0.37, true, Outcome::Holds),
        (0.35, true, Outcome::DoesNotHold),
        (0.35, false, Outcome::Holds),
    ] {
        (summary["max_rse"], summary["target_reached"]) = (json!(eps), json!(reached));
        assert_eq!(run(&summary), expected, "{eps} {reached}");
    }
}

#[test]
fn what_meets_its_bound_is_called_so() {
    let mut summary = searched();
    summary["statement"] = Value::Null;
    summary["certified_optimal"] = json!(false);
    let of = |summary: &Value, proof: &Value| {
        checked(summary, Some(proof), |_| ()).is("certified_optimal", Verdict::DoesNotHold)
    };
    assert!(of(&summary, &certificate()));
    let mut proof = certificate();
    for name in ["max_rse", "params"] {
        proof.as_object_mut().unwrap().remove(name);
    }
    (proof["version"], proof["lambda"], proof["loss"]) = (json!(2), json!(3.0), json!(14.0 / 12.0));
    summary["objective"] = json!({"lambda": 3.0});
    summary["lower_bound"] = json!({"params": null, "rse": null, "loss": 14.0 / 12.0});
    assert!(of(&summary, &proof));
    // What is a little worse than the bound may be called so or not.
    summary["lower_bound"]["loss"] = json!(14.0 / 12.0 - 8e-10);
    assert!(!of(&summary, &proof));
    // Ranks that the bound is not about, and a graph of which it is not.
    let mut wide = searched();
    wide["statement"] = Value::Null;
    (wide["bound_over"]["max_rank"], wide["settings"]["max_rank"]) = (json!(1), json!(1));
    wide["certified_optimal"] = json!(false);
    assert!(!of(&wide, &certificate()));
    let mut other = searched();
    other["bound_over"]["template"] = json!("tucker");
    assert!(checked(&other, None, |_| ()).is("bound_over", Verdict::DoesNotHold));
    other["strategy"] = json!("greedy");
    assert!(!checked(&other, None, |_| ()).is("bound_over", Verdict::DoesNotHold));
}

#[test]
fn the_statement_agrees_with_what_is_needed() {
    // Rank 1 is out of reach: it takes rank 2.
    let mut summary = searched();
    for (name, value) in [
        ("lower_bound", Value::Null),
        ("proven_impossible", json!(true)),
        ("certified_optimal", json!(false)),
        ("needed_rank", json!({"rank": 2, "modes": [1], "width": 2})),
        ("bound_over", json!({"template": "path", "max_rank": 1})),
        ("settings", json!({"max_rank": 1})),
        ("edges_at_max_rank", json!(1)),
    ] {
        summary[name] = value;
    }
    summary["statement"] = json!({"proven": "impossible", "over": summary["bound_over"], "answer": "ranks",
        "needed": {"rank": 2, "because": "it does"}, "text": "out of reach"});
    let mut proof = certificate();
    (proof["params"], proof["max_rank"]) = (Value::Null, json!(1));
    proof["tree"] = json!([{"place": {"mode": 0, "on": [0], "by": [[1, 0]]}}, {"cuts": [[0, []]]}]);
    let found = checked(&summary, Some(&proof), |_| ());
    assert_eq!(found.outcome(false), Outcome::Holds, "{found:?}");
    for (pointer, value, claim) in [
        ("/needed_rank/rank", json!(3), "needed_rank"),
        ("/needed_rank/width", json!(3), "needed_rank"),
        ("/needed_rank/modes", json!([2]), "needed_rank"),
        ("/needed_rank/rank", json!(1), "needed_rank"),
        ("/statement/needed/rank", json!(3), "statement"),
        ("/statement/answer", json!("inside"), "statement"),
        ("/statement/proven", json!("nothing"), "statement"),
        ("/edges_at_max_rank", json!(2), "edges_at_max_rank"),
    ] {
        let mut bad = summary.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        let found = checked(&bad, Some(&proof), |_| ());
        assert!(found.is(claim, Verdict::DoesNotHold), "{pointer}: {found:?}");
    }
}

#[test]
fn other_losses_go_by_their_names() {
    let mut summary = searched();
    // All that is about the squared error, and none of it proven.
    for name in ["rse", "re"] {
        summary.as_object_mut().unwrap().remove(name);
    }
    for (name, value) in [
        ("huber", json!(0.0)),
        ("objective", json!({"max_huber": 0.1})),
        ("lower_bound", Value::Null),
        ("bound_over", Value::Null),
        ("certified_optimal", json!(false)),
        ("statement", Value::Null),
    ] {
        summary[name] = value;
    }
    for pointer in ["/history/0", "/pareto/0", "/pareto/1"] {
        let point = summary.pointer_mut(pointer).unwrap();
        point["huber"] = point.as_object_mut().unwrap().remove("rse").unwrap();
    }
    // That of a run is called as ever.
    let run = |summary: &Value| checked(summary, None, |given| given.loss = Some("huber:0.5"));
    assert_eq!(run(&summary).outcome(false), Outcome::Holds, "{:?}", run(&summary));
    for (pointer, claim) in [
        ("/huber", "huber"),
        ("/runs/0/best/rse", "runs"),
        ("/history/0/huber", "history"),
        ("/pareto/1/huber", "pareto"),
    ] {
        let mut bad = summary.clone();
        *bad.pointer_mut(pointer).unwrap() = json!(0.5);
        assert!(run(&bad).is(claim, Verdict::DoesNotHold), "{pointer}");
    }
}

#[test]
fn an_answer_that_a_stop_cut_short_may_be_on_no_other_record() {
    let mut summary = searched();
    summary["history"] = json!([]);
    for end in ["max_seconds", "interrupted"] {
        summary["stopped_by"] = json!(end);
        assert_eq!(outcome(&summary, Some(&certificate())), Outcome::Holds, "{end}");
    }
    summary["stopped_by"] = json!("max_evaluations");
    assert_eq!(outcome(&summary, Some(&certificate())), Outcome::DoesNotHold);
    // It is not late, but as late as the search.
    let mut late = searched();
    late["shrunk"] = json!({"dims": [2, 2], "lost": 0.0, "seconds": 1.0});
    late["history"][0]["seconds"] = json!(1.0);
    assert_eq!(outcome(&late, Some(&certificate())), Outcome::Holds);
}
