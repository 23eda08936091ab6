//! What rounding may take: how near a network has to be to a bound to meet it, to miss it, or to refute it.

#![recursion_limit = "256"]

mod stated;

use Verdict::{DoesNotHold, Holds, NotChecked};
use serde_json::{Value, json};
use stated::{certificate, checked, checked_by, network, searched, structure, with};
use tnsearch_verify::claims::{Bounded, Findings, Made, Tools};
use tnsearch_verify::{Array, Certificate, Graph, Limits, Network, Verdict};

fn says(found: &Findings, claim: &str, verdict: Verdict, case: &dyn std::fmt::Debug) {
    assert!(found.is(claim, verdict), "{claim} {case:?}: {found:?}");
    let other = [Holds, DoesNotHold, NotChecked].into_iter().filter(|v| *v != verdict);
    assert!(other.into_iter().all(|v| !found.is(claim, v)), "{claim} {case:?}: {found:?}");
}

/// The network whose smaller singular value is this instead of 1.5: 14 params.
fn two(second: f64) -> Network {
    let mut made = network();
    made.cores[1].re[7] = second;
    made
}

/// Its error.
fn error(second: f64) -> f64 {
    (1.5 - second) * (1.5 - second) / 6.25
}

/// The larger singular value alone: 7 params, an error of 0.36.
fn one() -> Network {
    let mut made = network();
    made.edges = vec![[0, 1, 1]];
    made.cores[0] = Array::real(vec![1, 3], vec![1.2, 1.6, 0.0]).unwrap();
    made.cores[1] = Array::real(vec![1, 4], vec![1.0, 0.0, 0.0, 0.0]).unwrap();
    made
}

/// What a search says of a network, whether it is optimal included; nobody proves it.
fn claims(network: &Network, objective: &Value, bound: &Value, optimal: bool) -> Findings {
    let changes = [
        ("/objective", objective.clone()),
        ("/lower_bound", bound.clone()),
        ("/certified_optimal", json!(optimal)),
        ("/statement", json!(null)),
    ];
    checked(&with(&searched(), &changes), None, |given| {
        given.network.as_mut().unwrap().network = network.clone();
    })
}

#[test]
fn a_loss_meets_a_bound_and_refutes_one_to_within_parts_in_a_billion() {
    // Above 1 and below it: 14 / 12 + 3 * 0.36, and 7 / 12 + 0.36 / 2.
    for (network, params, error, lambda) in [(two(0.0), 14.0, 0.36, 3.0), (one(), 7.0, 0.36, 0.5)] {
        let loss: f64 = params / 12.0 + lambda * error;
        let unit = loss.max(1.0);
        for (away, optimal, bound) in [
            (-2.3e-9 * unit, DoesNotHold, NotChecked),
            (-1.7e-9 * unit, NotChecked, NotChecked),
            (1.7e-9 * unit + 1e-9 * loss, NotChecked, NotChecked),
            (2.3e-9 * unit + 1e-9 * loss, DoesNotHold, DoesNotHold),
        ] {
            let least = json!({"params": null, "rse": null, "loss": loss + away});
            let found = claims(&network, &json!({ "lambda": lambda }), &least, true);
            says(&found, "certified_optimal", optimal, &(lambda, away));
            says(&found, "lower_bound", bound, &(lambda, away));
        }
    }
}

#[test]
fn an_error_meets_a_bound_to_within_what_rounding_takes() {
    // A small error, one of 0.01 and one of 0.36: parts of it, and of its root.
    for (second, away, optimal) in [
        (1.475, 4.05e-12, NotChecked),
        (1.475, 4.15e-12, DoesNotHold),
        (0.0, 0.36 * 1.9e-9, NotChecked),
        (0.0, 0.36 * 2.1e-9, DoesNotHold),
        (0.0, -0.36 * 1.9e-9, NotChecked),
    ] {
        let least = json!({"params": null, "rse": error(second) - away, "loss": null});
        let found = claims(&two(second), &json!({"max_params": 14}), &least, true);
        says(&found, "certified_optimal", optimal, &(second, away));
    }
    // More params than were asked for, or an error that is larger, is not what was asked for.
    let least = json!({"params": null, "rse": 0.36, "loss": null});
    for (most, optimal) in [(13, DoesNotHold), (14, NotChecked)] {
        let found = claims(&two(0.0), &json!({ "max_params": most }), &least, true);
        says(&found, "certified_optimal", optimal, &most);
    }
    let least = json!({"params": 14, "rse": null, "loss": null});
    for (eps, optimal) in [(0.35, DoesNotHold), (0.36, NotChecked), (0.37, NotChecked)] {
        let found = claims(&two(0.0), &json!({ "max_rse": eps }), &least, true);
        says(&found, "certified_optimal", optimal, &eps);
    }
}

#[test]
fn a_network_refutes_what_says_that_it_cannot_be() {
    for (eps, params, bound) in [
        (0.4, 15, DoesNotHold),
        (0.4, 14, NotChecked),
        (0.36, 15, NotChecked),
        (0.36 * (1.0 + 1e-9), 15, NotChecked),
        (0.36 * (1.0 + 1e-8), 15, DoesNotHold),
        (0.35, 15, NotChecked),
    ] {
        let least = json!({"params": params, "rse": null, "loss": null});
        let found = claims(&two(0.0), &json!({ "max_rse": eps }), &least, false);
        says(&found, "lower_bound", bound, &(eps, params));
    }
    let nothing = |eps: f64| {
        let changes = [
            ("/objective", json!({ "max_rse": eps })),
            ("/lower_bound", json!(null)),
            ("/proven_impossible", json!(true)),
            ("/certified_optimal", json!(false)),
            ("/statement", json!(null)),
        ];
        checked(&with(&searched(), &changes), None, |given| {
            given.network.as_mut().unwrap().network = two(0.0);
        })
    };
    says(&nothing(0.4), "proven_impossible", DoesNotHold, &0.4);
    says(&nothing(0.3), "proven_impossible", NotChecked, &0.3);
}

/// Somebody who proves whatever is asked by this.
struct Proves(Value);

impl Tools for Proves {
    fn prove(&self, _: &Bounded) -> Made {
        Made::Certificate(Box::new(Certificate::parse(&self.0.to_string()).unwrap()))
    }

    fn graph(&self, _: &str, _: usize) -> Option<Graph> {
        None
    }

    fn network(&self, _: &str) -> Result<Network, String> {
        Err("none".to_owned())
    }
}

#[test]
fn what_meets_a_bound_clearly_is_optimal_and_has_to_be_called_so() {
    let of = |network: &Network, objective: Value, bound: Value, proof: &Value| {
        let changes = [
            ("/objective", objective),
            ("/lower_bound", bound),
            ("/certified_optimal", json!(false)),
            ("/statement", json!(null)),
        ];
        checked_by(&Proves(proof.clone()), &with(&searched(), &changes), None, |given| {
            given.network.as_mut().unwrap().network = network.clone();
        })
    };
    // No loss with lambda 3 is below that of the whole matrix, 14 / 12.
    let mut proof = certificate();
    let fields = proof.as_object_mut().unwrap();
    ["max_rse", "params"].iter().for_each(|name| drop(fields.remove(*name)));
    (proof["version"], proof["lambda"], proof["loss"]) = (json!(2), json!(3.0), json!(14.0 / 12.0));
    for (away, verdict) in [(0.0, DoesNotHold), (4e-10, DoesNotHold), (6e-10, Holds)] {
        let least = json!({"params": null, "rse": null, "loss": 14.0 / 12.0 * (1.0 - away)});
        let found = of(&network(), json!({"lambda": 3.0}), least, &proof);
        says(&found, "lower_bound", Holds, &away);
        says(&found, "certified_optimal", verdict, &away);
    }
    // No error of 7 params is below 0.36.
    let proof = with(&certificate(), &[("/max_rse", json!(0.36 - 4e-12)), ("/params", json!(8))]);
    let (objective, most) = (json!({"max_params": 7}), 0.36);
    for (away, verdict) in [
        (0.0, DoesNotHold),
        (1.7e-10, DoesNotHold),
        (1.81e-10, DoesNotHold),
        (1.83e-10, Holds),
        (3e-10, Holds),
    ] {
        let least = json!({"params": null, "rse": most - away, "loss": null});
        let found = of(&one(), objective.clone(), least, &proof);
        says(&found, "lower_bound", Holds, &away);
        says(&found, "certified_optimal", verdict, &away);
    }
    // Larger ranks than the bound is about are no contradiction, nor is what was not asked for.
    let least = json!({"params": 14, "rse": null, "loss": null});
    let found = of(&network(), json!({"max_rse": 0.1}), least, &certificate());
    says(&found, "certified_optimal", DoesNotHold, &"params");
}

/// What a summary of a network says, of the tensor or another.
fn of(network: &Network, changes: &[(&str, Value)], x: Option<&Array>) -> Findings {
    checked(&with(&structure(), changes), None, |given| {
        given.network.as_mut().unwrap().network = network.clone();
        if let Some(x) = x {
            given.x = Box::leak(Box::new(x.clone()));
        }
    })
}

#[test]
fn where_large_parts_cancel_more_is_rounded() {
    // 2^20 - (2^20 - 1) in the place of 1.25: the root of the error is 0.2, that of the sizes 2^21.
    let large = 2f64.powi(20);
    let mut made = network();
    made.cores[0].re = vec![large, 0.0, 0.0, -large, 0.0, 0.0];
    made.cores[1].re = vec![1.0, 0.0, 0.0, 0.0, 1.0 - 1.0 / large, 0.0, 0.0, 0.0];
    let mut x = Array::real(vec![3, 4], vec![0.0; 12]).unwrap();
    x.re[0] = 1.25;
    let rounded = 2.0 * large / 1.25 * 8.0 * f64::EPSILON * 2.0;
    for (away, verdict) in [(0.0, Holds), (0.9 * rounded, Holds), (1.1 * rounded, DoesNotHold)] {
        let root: f64 = 0.2 + away;
        let found = of(&made, &[("/rse", json!(root * root)), ("/re", json!(root))], Some(&x));
        says(&found, "rse", verdict, &away);
    }
}

#[test]
fn losses_and_targets_are_those_of_the_error() {
    // A large loss, and one that is next to nothing.
    let small = two(1.5 - 1e-7);
    for (network, objective, error, loss, away) in [
        (&two(0.0), json!({"lambda": 100.0}), 0.36, 14.0 / 12.0 + 36.0, 37e-9),
        (&small, json!({"max_params": 14}), error(1.5 - 1e-7), error(1.5 - 1e-7), 1e-12),
    ] {
        for (by, verdict) in [(0.9, Holds), (-0.9, Holds), (1.1, DoesNotHold), (-1.1, DoesNotHold)]
        {
            let changes = [
                ("/rse", json!(error)),
                ("/re", json!(error.sqrt())),
                ("/objective", objective.clone()),
                ("/loss", json!(loss + by * away)),
            ];
            says(&of(network, &changes, None), "loss", verdict, &(loss, by));
        }
    }
    // Right at the threshold the error claimed decides.
    let eps = 0.36 * (1.0 - 1e-10);
    for (claimed, reached, verdict) in [
        (0.36, false, Holds),
        (0.36, true, DoesNotHold),
        (eps, true, Holds),
        (eps, false, DoesNotHold),
        // It does not hold itself: then either may be, as long as the threshold is near.
        (0.3, true, Holds),
        (0.3, false, Holds),
    ] {
        let changes = [
            ("/rse", json!(claimed)),
            ("/re", json!(f64::sqrt(claimed))),
            ("/objective", json!({ "max_rse": eps })),
            ("/target_reached", json!(reached)),
        ];
        says(&of(&two(0.0), &changes, None), "target_reached", verdict, &(claimed, reached));
    }
    let changes = [
        ("/rse", json!(0.3)),
        ("/objective", json!({"max_rse": 0.5})),
        ("/target_reached", json!(false)),
    ];
    says(&of(&two(0.0), &changes, None), "target_reached", DoesNotHold, &"far");
    // Without an error ranks were given; where one is asked for it has to be a number.
    let base = [("/rse", json!(0.36)), ("/re", json!(0.6)), ("/target_reached", json!(true))];
    for (name, value, verdict) in [
        ("/max_rse", json!(null), Holds),
        ("/max_rse", json!("small"), NotChecked),
        ("/strategy", json!("exact"), NotChecked),
    ] {
        let changes = [&base[..], &[(name, value.clone())]].concat();
        says(&of(&two(0.0), &changes, None), "target_reached", verdict, &value);
    }
    let changes = [&base[..2], &[("/target_reached", json!(false))]].concat();
    says(&of(&two(0.0), &changes, None), "target_reached", DoesNotHold, &"ranks");
}

#[test]
fn rounded_networks_have_an_error_down_to_their_floor() {
    let floor = 64.0 * f64::EPSILON;
    for (floor, away, verdict) in
        [(floor, 1e-7, Holds), (floor, 1.3e-7, DoesNotHold), (0.0, 1e-7, DoesNotHold)]
    {
        let root: f64 = 0.6 + away;
        let changes = [
            ("/rse", json!(root * root)),
            ("/re", json!(root)),
            ("/rse_floor", json!(floor)),
            ("/rse_tensor_at_most", json!(1.0)),
            ("/input", json!("before")),
        ];
        says(&of(&two(0.0), &changes, None), "rse", verdict, &(floor, away));
    }
}

#[test]
fn norms_and_noise_are_those_of_all_parts() {
    // |1 + 2i| of each of 12 entries, a million times over.
    let scale = 1e6;
    let x = Array::complex(vec![3, 4], vec![scale; 12], vec![2.0 * scale; 12]).unwrap();
    let norm = 60f64.sqrt() * scale;
    for (by, verdict) in [(5e-10, Holds), (2e-9, DoesNotHold)] {
        let found = of(&network(), &[("/norm", json!(norm * (1.0 + by)))], Some(&x));
        says(&found, "norm", verdict, &by);
    }
    let real = |psnr: f64| {
        let changes = [
            ("/rse", json!(0.36)),
            ("/re", json!(0.6)),
            ("/re_unrounded", json!(0.6)),
            ("/shape", json!([3, 4])),
            ("/psnr", json!(psnr)),
        ];
        of(&two(0.0), &changes, None)
    };
    let psnr = 20.0 * (1.6 / (0.36f64 * 6.25 / 12.0).sqrt()).log10();
    for (by, verdict) in [(0.7e-5, Holds), (1.3e-5, DoesNotHold)] {
        says(&real(psnr * (1.0 + by)), "psnr", verdict, &by);
    }
    // A network of nothing misses all: the root of 5 beside that of 60 over 12.
    let x = Array::complex(vec![3, 4], vec![2.0; 12], vec![1.0; 12]).unwrap();
    let mut none = network();
    none.cores[0].re.fill(0.0);
    let changes = [
        ("/rse", json!(1.0)),
        ("/re_unrounded", json!(1.0)),
        ("/peak", json!(5f64.sqrt())),
        ("/psnr", json!(1e-9)),
    ];
    says(&of(&none, &changes, Some(&x)), "peak", Holds, &"complex");
    // Entries of other sizes: 3 beside 12 * (1 + 1) in all.
    let mut x = Array::complex(vec![3, 4], vec![1.0; 12], vec![1.0; 12]).unwrap();
    x.re[0] = 3.0;
    let psnr = 20.0 * (10f64.sqrt() / (32f64 / 12.0).sqrt()).log10();
    let changes = [("/rse", json!(1.0)), ("/re_unrounded", json!(1.0)), ("/psnr", json!(psnr))];
    says(&of(&none, &changes, Some(&x)), "psnr", Holds, &"complex");
}

#[test]
fn cuts_of_single_numbers_round_more() {
    let cut = |rse: f64, kind: &'static str| {
        let changes = [
            ("/edges", json!([[0, 1, 1]])),
            ("/rse", json!(rse)),
            ("/cuts", json!([{"modes": [1], "width": 1.0, "rse": rse}])),
        ];
        checked(&with(&structure(), &changes), None, |given| {
            (given.network, given.dtype) = (None, kind);
        })
    };
    // 0.07 of 0.36 may be missed, and of single numbers 0.0006 and 1e-6.
    for (rse, double, single) in [
        (0.33481, Holds, Holds),
        (0.3347, DoesNotHold, Holds),
        (0.3342, DoesNotHold, Holds),
        (0.334_198, DoesNotHold, DoesNotHold),
        (0.3338, DoesNotHold, DoesNotHold),
    ] {
        says(&cut(rse, "f64"), "cuts", double, &rse);
        says(&cut(rse, "f32"), "cuts", single, &rse);
    }
    // A cut that says more than the network has is refuted by it, however little that is.
    let changes = [
        ("/rse", json!(5e-14)),
        ("/re", json!(5e-14f64.sqrt())),
        ("/cuts", json!([{"modes": [1], "width": 2.0, "rse": 5e-14}])),
    ];
    let found = of(&network(), &changes, None);
    assert!(found.is("cuts", Holds) && found.is("rse", DoesNotHold), "{found:?}");
    let changes = [("/rse", json!(0.0)), ("/re", json!(0.0)), ("/cuts", changes[2].1.clone())];
    let none = with(&json!(changes[2].1.clone()), &[("/0/rse", json!(0.0))]);
    for other in [network(), two(0.0)] {
        let changes = [changes[0].clone(), changes[1].clone(), ("/cuts", none.clone())];
        says(&of(&other, &changes, None), "rse", Holds, &"nothing");
    }
}

#[test]
fn the_rank_that_is_needed_is_that_of_the_widest_cut() {
    let impossible = |x: &Array, eps: f64, modes: &[usize], width: u64| {
        let summary = json!({
            "strategy": "exact", "objective": {"max_rse": eps}, "proven_impossible": true,
            "bound_over": {"template": "path", "max_rank": 1},
            "needed_rank": {"rank": 2, "modes": modes, "width": width},
        });
        checked(&summary, None, |given| {
            given.network = None;
            given.x = Box::leak(Box::new(x.clone()));
        })
    };
    // 2 e0 e0 e0 + e1 e1 e0: the last mode is alone.
    let mut x = Array::real(vec![2, 2, 3], vec![0.0; 12]).unwrap();
    (x.re[0], x.re[9]) = (2.0, 1.0);
    for (modes, width) in [(&[0][..], 2), (&[1, 2], 2), (&[2], 1), (&[0, 1], 1)] {
        for said in [1, 2] {
            let verdict = if said == width { Holds } else { DoesNotHold };
            says(&impossible(&x, 0.1, modes, said), "needed_rank", verdict, &(modes, said));
        }
    }
    // Of more than 12 modes there are too many.
    for (order, verdict) in [(12, DoesNotHold), (13, NotChecked)] {
        let one = Array::real(vec![1; order], vec![1.0]).unwrap();
        says(&impossible(&one, 0.1, &[1], 2), "needed_rank", verdict, &order);
    }
    // Not all may have been computed: 0.07 of the error.
    let x = stated::tensor();
    for (eps, width, verdict) in
        [(0.35, 1, Holds), (0.35, 2, Holds), (0.33, 1, DoesNotHold), (0.33, 2, Holds)]
    {
        says(&impossible(&x, eps, &[1], width), "needed_rank", verdict, &(eps, width));
    }
}

#[test]
fn cuts_that_were_not_computed_are_not_counted() {
    let made = Certificate::parse(&certificate().to_string()).unwrap();
    for (bytes, cuts) in [(u64::MAX, 1), (1, 0)] {
        let limits = Limits { bytes, stop: &|| false };
        let found = made.check(&stated::tensor(), "f64", &limits).unwrap().unwrap();
        assert_eq!((found.cuts, found.unchecked.len()), (cuts, 1 - cuts));
    }
}

#[test]
fn the_gap_of_an_error_is_its_ratio() {
    let net = json!({"params": 14, "rse": 0.36, "gap": 0.72, "certified_optimal": false, "reaches": true});
    for (gap, verdict) in [(0.72, Holds), (0.36, DoesNotHold), (0.18, DoesNotHold)] {
        let changes = [
            ("/objective", json!({"max_params": 14})),
            ("/lower_bound", json!({"params": null, "rse": 0.5, "loss": null})),
            ("/bound_over", json!({"template": "path", "max_rank": 7})),
            ("/binding_cuts", json!([])),
            ("/net", with(&net, &[("/gap", json!(gap))])),
        ];
        says(&of(&two(0.0), &changes, None), "gap", verdict, &gap);
    }
}

#[test]
fn sizes_are_those_of_the_structure_to_within_parts_in_a_billion() {
    let phi = 14.0 / 12.0;
    let small = -f64::log10(phi);
    for (name, value, away, verdict) in [
        ("phi", phi, 1.1e-9, Holds),
        ("phi", phi, 1.3e-9, DoesNotHold),
        ("log10_cr", small, 6.6e-11, Holds),
        ("log10_cr", small, 7e-11, DoesNotHold),
    ] {
        let found = of(&network(), &[(&format!("/{name}"), json!(value + away))], None);
        says(&found, name, verdict, &away);
    }
    // Either of where modes sit and which ranks there are is a structure.
    for (at, edges) in [(json!(null), json!([[0, 1, 2]])), (json!([0, 1]), json!(null))] {
        let changes = [("/permutation", at), ("/edges", edges)];
        let found = checked(&with(&structure(), &changes), None, |given| given.network = None);
        assert!(found.is("edges", DoesNotHold), "{found:?}");
    }
    // A template by name is compared, and so is a graph of its own; vertices count as much as edges.
    let vertex = |mode: bool| json!({ "mode": mode });
    let own = |first: bool| json!({"vertices": [vertex(first), vertex(true)], "edges": [[0, 1]]});
    for (template, verdict, why) in [
        (json!("path"), Holds, false),
        (own(true), Holds, true),
        (own(false), DoesNotHold, true),
        (json!("tucker"), DoesNotHold, true),
    ] {
        let found = of(&network(), &[("/template", template.clone())], None);
        assert!(found.is("template", verdict), "{found:?}");
        let of_summary = found.iter().filter(|f| f.claim == "template").last().unwrap();
        assert_eq!(of_summary.why.is_some(), why, "{template}");
        let claimed = if template.is_string() { template } else { Value::Null };
        assert_eq!(of_summary.claimed, claimed);
    }
}
