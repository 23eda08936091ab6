//! Claims of every command about networks that miss something, and what is said where nothing can be checked.

#![recursion_limit = "256"]

mod stated;

use Verdict::{DoesNotHold, Holds, NotChecked, Recorded};
use serde_json::{Value, json};
use stated::{certificate, checked, checked_by, half, outcome, searched, structure, tensor, with};
use tnsearch_verify::claims::{Bounded, Findings, Given, Least, Made, Outcome, Tools};
use tnsearch_verify::{Array, Certificate, Graph, Limits, Network, Verdict, spectrum};

/// What a summary of the half network comes to.
fn of_half(summary: &Value, change: impl Fn(&mut Given<'_>)) -> Findings {
    checked(summary, None, |given| {
        let stored = given.network.as_mut().unwrap();
        (stored.network, stored.rse) = (half(), Some(0.36));
        change(given);
    })
}

/// That a claim comes out so, and no otherwise.
fn says(found: &Findings, claim: &str, verdict: Verdict) {
    let all = [Holds, DoesNotHold, NotChecked, Recorded].map(|v| found.is(claim, v));
    let expected = [Holds, DoesNotHold, NotChecked, Recorded].map(|v| v == verdict);
    assert_eq!(all, expected, "{claim}: {found:?}");
}

#[test]
fn a_compressed_array_has_a_peak_and_a_noise() {
    // The largest entry is 1.6, the squared error 0.36 of 6.25 over 12 entries.
    let psnr = 20.0 * (1.6 / (0.36f64 * 6.25 / 12.0).sqrt()).log10();
    let summary = with(
        &structure(),
        &[
            ("/rse", json!(0.36)),
            ("/re", json!(0.6)),
            ("/re_unrounded", json!(0.6)),
            ("/shape", json!([3, 4])),
            ("/peak", json!(1.6)),
            ("/psnr", json!(psnr)),
            ("/dtype", json!("u8")),
            ("/picture", json!(false)),
        ],
    );
    let found = of_half(&summary, |_| ());
    for name in ["rse", "re", "psnr", "peak", "phi", "log10_cr"] {
        says(&found, name, Holds);
    }
    for name in ["re_unrounded", "shape", "dtype"] {
        says(&found, name, NotChecked);
    }
    for (pointer, value) in [
        ("/psnr", json!(psnr * (1.0 + 2e-5))),
        ("/psnr", json!(psnr * (1.0 - 2e-5))),
        ("/psnr", json!(null)),
        ("/peak", json!(1.61)),
        ("/peak", json!(1.59)),
        ("/rse", json!(0.35)),
        ("/re", json!(0.61)),
    ] {
        let found = of_half(&with(&summary, &[(pointer, value)]), |_| ());
        says(&found, &pointer[1..], DoesNotHold);
    }
    // Phi is over the entries of the file.
    let other = with(&summary, &[("/shape", json!([3, 5]))]);
    says(&of_half(&other, |_| ()), "phi", DoesNotHold);
    let other = with(
        &other,
        &[("/phi", json!(14.0 / 15.0)), ("/log10_cr", json!(-(14.0f64 / 15.0).log10()))],
    );
    says(&of_half(&other, |_| ()), "phi", Holds);
    // That of a picture is another.
    let picture = with(&summary, &[("/picture", json!(true)), ("/psnr", json!(1.0))]);
    says(&of_half(&picture, |_| ()), "psnr", NotChecked);
    let reshaped = of_half(&with(&summary, &[("/psnr", json!(1.0))]), |given| {
        given.reshaped = json!({"to": [3, 4]})
    });
    says(&reshaped, "psnr", NotChecked);
    // Of complex numbers the largest is the largest absolute value.
    let found = of_half(&with(&summary, &[("/peak", json!(2.0))]), |given| {
        let mut y = tensor();
        y.im = y.re.iter().map(|x| 0.75 * x).collect();
        given.x = Box::leak(Box::new(y));
    });
    says(&found, "peak", Holds);
}

#[test]
fn what_was_removed_came_back_so_far() {
    let counts = [
        ("/rse", json!(0.36)),
        ("/re", json!(0.6)),
        ("/entries", json!(12)),
        ("/observed", json!(12)),
        ("/missing", json!(0)),
        ("/empty_slices", json!([])),
    ];
    let base = with(&structure(), &counts);
    // Entries of 1.2, which is there, and -1.2, which is gone.
    let of = |whole: Array, recovered: &Value| {
        let mut removed = vec![false; 12];
        (removed[0], removed[3]) = (true, true);
        of_half(&with(&base, &[("/recovered", recovered.clone())]), |given| {
            given.removed = Some((whole.clone(), removed.clone()));
        })
    };
    let rmse = (1.44f64 / 2.0).sqrt();
    let good = json!({"entries": 2, "rse": 0.5, "re": 0.5f64.sqrt(), "rmse": rmse, "psnr": null});
    says(&of(tensor(), &good), "recovered", Holds);
    // Between 0 and 1 there is a noise as well: 0.7 and 0.5 away.
    let square = 0.49 + 0.25;
    let rmse = f64::sqrt(square / 2.0);
    let shares = Array::real(vec![3, 4], vec![0.5; 12]).unwrap();
    let noise = json!({"entries": 2, "rse": square / 0.5, "re": (square / 0.5f64).sqrt(), "rmse": rmse, "psnr": -20.0 * rmse.log10()});
    says(&of(shares.clone(), &noise), "recovered", Holds);
    for (base, whole) in [(&good, tensor()), (&noise, shares.clone())] {
        for name in ["entries", "rse", "re", "rmse", "psnr"] {
            for by in [1.0 + 3e-6, 1.0 - 3e-6] {
                let mut bad = base.clone();
                bad[name] = match bad[name].as_f64() {
                    Some(_) if name == "entries" => json!(3),
                    Some(x) => json!(x * by),
                    None => json!(1.0),
                };
                says(&of(whole.clone(), &bad), "recovered", DoesNotHold);
            }
        }
    }
    // 1 is still a share, what is more is none.
    let mut edge = shares.clone();
    (edge.re[5], edge.re[6]) = (1.0, 0.0);
    says(&of(edge.clone(), &noise), "recovered", Holds);
    edge.re[5] = 1.1;
    says(&of(edge, &noise), "recovered", DoesNotHold);
    // Imaginary parts have a size, and no noise.
    let complex = Array::complex(vec![3, 4], shares.re.clone(), vec![0.5; 12]).unwrap();
    let square = square + 0.5;
    let (rse, rmse) = (square / 1.0, f64::sqrt(square / 2.0));
    let both = json!({"entries": 2, "rse": rse, "re": rse.sqrt(), "rmse": rmse, "psnr": null});
    says(&of(complex, &both), "recovered", Holds);
    // Of a tensor that was reshaped the slices are others.
    let found = of_half(&base, |given| given.reshaped = json!({"to": [3, 4]}));
    says(&found, "empty_slices", NotChecked);
    let found = of_half(&with(&base, &[("/recovered", json!({"entries": 2, "more": 1}))]), |_| ());
    says(&found, "recovered.more", NotChecked);
}

#[test]
fn errors_without_a_network_or_by_other_names_are_not_checked() {
    let base = with(&structure(), &[("/rse", json!(0.36)), ("/re", json!(0.6))]);
    says(&of_half(&base, |_| ()), "rse", Holds);
    says(&of_half(&base, |given| given.network = None), "rse", NotChecked);
    says(&of_half(&with(&base, &[("/rse", json!("small"))]), |_| ()), "rse", DoesNotHold);
    says(&of_half(&base, |given| given.loss = Some("cubic")), "rse", NotChecked);
    for by in [1.0 + 1e-8, 1.0 - 1e-8] {
        says(&of_half(&with(&base, &[("/rse", json!(0.36 * by))]), |_| ()), "rse", DoesNotHold);
    }
    // The delta of a loss decides.
    let mut huber = structure();
    huber["huber"] = json!(0.5);
    says(&of_half(&huber, |_| ()), "huber", NotChecked);
    says(&of_half(&huber, |given| given.loss = Some("huber:0.5")), "huber", DoesNotHold);
    // Beyond delta an error e costs delta (e - delta / 2): 1.2 and 0.9 of 1.2, 1.6, 1.2 and 0.9.
    let (away, all) = (0.5 * 0.95 + 0.5 * 0.65, 0.5 * (0.95 + 1.35 + 0.95 + 0.65));
    let exact = with(&huber, &[("/huber", json!(away / all))]);
    says(&of_half(&exact, |given| given.loss = Some("huber:0.5")), "huber", Holds);
    for by in [1.0 + 3e-9, 1.0 - 3e-9] {
        let near = with(&huber, &[("/huber", json!(away / all * by))]);
        says(&of_half(&near, |given| given.loss = Some("huber:0.5")), "huber", DoesNotHold);
    }
    // Numbers of 32 bits round more.
    let rough = with(
        &base,
        &[("/rse", json!(0.36 * (1.0 + 1e-5))), ("/re", json!((0.36f64 * (1.0 + 1e-5)).sqrt()))],
    );
    says(&of_half(&rough, |_| ()), "rse", DoesNotHold);
    says(&of_half(&rough, |given| given.dtype = "f32"), "rse", Holds);
    for kind in ["f16", "f32", "complex64", "f64"] {
        let found =
            of_half(&rough, |given| given.network.as_mut().unwrap().dtype = kind.to_owned());
        says(&found, "rse", if kind == "f64" { DoesNotHold } else { Holds });
    }
}

#[test]
fn the_error_of_a_file_is_that_of_its_network() {
    let of = |rse: f64, summary: Option<&Value>| {
        of_half(summary.unwrap_or(&Value::Null), |given| {
            given.network.as_mut().unwrap().rse = Some(rse);
            given.summary = given.summary.filter(|s| !s.is_null());
        })
    };
    let base = with(&structure(), &[("/rse", json!(0.36)), ("/re", json!(0.6))]);
    for summary in [None, Some(&base)] {
        says(&of(0.36, summary), "rse of the file", Holds);
        says(&of(0.3, summary), "rse of the file", DoesNotHold);
    }
    // Alone it may be an upper bound, beside a summary it is not.
    says(&of(0.4, None), "rse of the file", Holds);
    says(&of(0.4, Some(&base)), "rse of the file", DoesNotHold);
    let found =
        of_half(&base, |given| given.network.as_mut().unwrap().network.cores[0].re[0] = f64::NAN);
    says(&found, "network", DoesNotHold);
    assert!(!found.has("rse of the file"));
    let found = of_half(&base, |given| given.network.as_mut().unwrap().template = json!("tucker"));
    assert!(found.is("template", DoesNotHold), "{found:?}");
    let found = of_half(&base, |given| given.network.as_mut().unwrap().template = json!("mera"));
    assert!(found.is("template", NotChecked) && !found.is("template", DoesNotHold), "{found:?}");
    let own = json!({"vertices": [{"mode": true}, {"mode": true}], "edges": [[1, 0]]});
    let found = of_half(&base, |given| given.network.as_mut().unwrap().template = own.clone());
    says(&found, "template", Holds);
}

#[test]
fn what_was_rounded_is_compared_with_what_it_was() {
    let base = with(
        &structure(),
        &[
            ("/rse", json!(0.36)),
            ("/re", json!(0.6)),
            ("/max_rse", json!(0.4)),
            ("/target_reached", json!(true)),
            ("/rse_floor", json!(1e-15)),
            ("/rse_tensor_at_most", json!(0.36)),
            ("/params_before", json!(14)),
            ("/input", json!("before")),
        ],
    );
    let found = of_half(&base, |_| ());
    for name in ["rse", "re", "target_reached", "rse_floor", "rse_tensor_at_most", "params_before"]
    {
        says(&found, name, Holds);
    }
    let ulp = f64::EPSILON;
    for (pointer, value, verdict) in [
        ("/rse_floor", json!(0.0), Holds),
        ("/rse_floor", json!(64.0 * ulp), Holds),
        ("/rse_floor", json!(65.0 * ulp), DoesNotHold),
        ("/rse_floor", json!(-1e-300), DoesNotHold),
        ("/rse", json!(0.35), DoesNotHold),
        ("/rse", json!(0.37), DoesNotHold),
        ("/rse", json!(null), DoesNotHold),
        ("/re", json!(0.61), DoesNotHold),
        ("/params_before", json!(13), DoesNotHold),
        ("/params_before", json!("many"), DoesNotHold),
        ("/rse_tensor_at_most", json!(0.5), Holds),
        ("/rse_tensor_at_most", json!(0.36 * (1.0 - 1e-10)), Holds),
        ("/rse_tensor_at_most", json!(0.35), DoesNotHold),
        ("/rse_tensor_at_most", json!(null), DoesNotHold),
        ("/target_reached", json!(false), DoesNotHold),
    ] {
        let found = of_half(&with(&base, &[(pointer, value.clone())]), |_| ());
        assert!(found.is(&pointer[1..], verdict), "{pointer} {value}: {found:?}");
    }
    let gone = of_half(&with(&base, &[("/input", json!("gone"))]), |_| ());
    for name in ["rse", "re", "target_reached", "params_before"] {
        says(&gone, name, NotChecked);
    }
    says(&gone, "rse_tensor_at_most", Holds);
    // The floor of single numbers is higher; of cycles errors are seen no further down.
    let rough = with(&base, &[("/rse_floor", json!(64.0 * f64::from(f32::EPSILON)))]);
    says(&of_half(&rough, |_| ()), "rse_floor", DoesNotHold);
    says(&of_half(&rough, |given| given.dtype = "f32"), "rse_floor", Holds);
    says(&of_half(&base, |given| given.network = None), "rse_floor", NotChecked);
}

/// The ring of three modes of rank 2, all ones.
fn ring() -> Network {
    let core = || Array::real(vec![2, 2, 2], vec![1.0; 8]).unwrap();
    Network {
        dims: vec![2; 3],
        external: vec![true; 3],
        at: vec![0, 1, 2],
        edges: vec![[0, 1, 2], [0, 2, 2], [1, 2, 2]],
        hub: None,
        cores: vec![core(), core(), core()],
    }
}

fn of_ring(summary: &Value, change: impl Fn(&mut Given<'_>)) -> Findings {
    checked(summary, None, |given| {
        let stored = given.network.as_mut().unwrap();
        (stored.network, stored.template, stored.rse) = (ring(), json!("ring"), None);
        given.x = Box::leak(Box::new(Array::real(vec![2; 3], vec![8.0; 8]).unwrap()));
        change(given);
    })
}

#[test]
fn of_cycles_a_floor_is_one_number() {
    let base = json!({"rse_tensor_at_most": 1.0, "rse": 0.0, "re": 0.0, "input": "gone", "rse_floor": 64.0 * f64::EPSILON});
    says(&of_ring(&base, |_| ()), "rse_floor", Holds);
    for floor in [0.0, 63.0 * f64::EPSILON, 65.0 * f64::EPSILON] {
        says(
            &of_ring(&with(&base, &[("/rse_floor", json!(floor))]), |_| ()),
            "rse_floor",
            DoesNotHold,
        );
    }
}

#[test]
fn edges_at_the_largest_rank_are_counted_where_more_would_help() {
    let base = json!({"strategy": "exact", "settings": {"max_rank": 2}, "edges_at_max_rank": 0, "template": "ring"});
    // The cores have 8 entries, 4 beside each edge of rank 2: each is at its largest rank.
    let of = |changes: &[(&str, Value)]| of_ring(&with(&base, changes), |_| ());
    says(&of(&[]), "edges_at_max_rank", DoesNotHold);
    says(&of(&[("/edges_at_max_rank", json!(3))]), "edges_at_max_rank", Holds);
    // Beyond the ranks, and without a number: the root of the entries is 2.
    says(
        &of(&[("/settings/max_rank", json!(1)), ("/edges_at_max_rank", json!(3))]),
        "edges_at_max_rank",
        Holds,
    );
    says(
        &of(&[("/settings", json!({})), ("/edges_at_max_rank", json!(3))]),
        "edges_at_max_rank",
        Holds,
    );
    says(&of(&[("/settings/max_rank", json!(3))]), "edges_at_max_rank", Holds);
    says(
        &of(&[("/settings/max_rank", json!(3)), ("/edges_at_max_rank", json!(3))]),
        "edges_at_max_rank",
        Holds,
    );
    says(
        &of(&[("/settings/max_rank", json!(3)), ("/edges_at_max_rank", json!(2))]),
        "edges_at_max_rank",
        DoesNotHold,
    );
    let over = [
        ("/settings", json!({})),
        ("/bound_over", json!({"template": "ring", "max_rank": 3})),
        ("/edges_at_max_rank", json!(0)),
    ];
    assert!(of(&over).is("edges_at_max_rank", Holds));
    let trees = [
        ("/bound_over", json!({"template": "any-tree", "max_rank": null})),
        ("/edges_at_max_rank", json!(3)),
    ];
    assert!(of(&trees).is("edges_at_max_rank", DoesNotHold));
    assert!(!of(&[("/edges_at_max_rank", json!(null))]).has("edges_at_max_rank"));
}

#[test]
fn a_format_is_preserved_or_left() {
    let base = json!({"strategy": "exact", "template": "ring", "format_preserved": true});
    let of = |changes: &[(&str, Value)]| of_ring(&with(&base, changes), |_| ());
    let verdict = |changes: &[(&str, Value)], expected: Verdict| {
        says(&of(changes), "format_preserved", expected);
    };
    let over = |name: &str| ("/bound_over", json!({"template": name, "max_rank": 2}));
    let no = || ("/format_preserved", json!(false));
    verdict(&[], Holds);
    verdict(&[no()], DoesNotHold);
    verdict(&[over("complete")], Holds);
    verdict(&[over("path")], DoesNotHold);
    verdict(&[over("path"), no()], Holds);
    verdict(&[over("any-tree")], DoesNotHold);
    verdict(&[("/format_preserved", json!(3))], DoesNotHold);
    // Where other graphs are walked to, the template is that of the bound, or unknown.
    let walk = || ("/strategy", json!("greedy"));
    verdict(&[walk()], NotChecked);
    verdict(&[walk(), over("path"), no()], Holds);
    verdict(&[over("mera")], NotChecked);
    // Where nothing is said, nothing was asked for.
    let null = || ("/format_preserved", json!(null));
    verdict(&[null(), over("ring")], DoesNotHold);
    for changes in
        [vec![null()], vec![null(), over("any-tree")], vec![null(), walk(), over("ring")]]
    {
        assert!(!of(&changes).has("format_preserved"), "{changes:?}");
    }
}

/// Somebody who proves by one certificate.
struct Prover(fn() -> Made);

impl Tools for Prover {
    fn prove(&self, claim: &Bounded) -> Made {
        assert_eq!((claim.max_rank, claim.least), (Some(7), Least::Params(0.1, Some(14))));
        (self.0)()
    }

    fn graph(&self, _: &str, _: usize) -> Option<Graph> {
        None
    }

    fn network(&self, _: &str) -> Result<Network, String> {
        Err("none".to_owned())
    }
}

fn made(change: impl Fn(&mut Value)) -> Made {
    let mut certificate = certificate();
    change(&mut certificate);
    Made::Certificate(Box::new(Certificate::parse(&certificate.to_string()).unwrap()))
}

#[test]
fn a_proof_that_somebody_makes_is_checked_like_any_other() {
    for (prover, verdict) in [
        (Prover(|| made(|_| ())), Holds),
        (Prover(|| made(|c| c["params"] = json!(13))), NotChecked),
        (Prover(|| made(|c| c["max_rank"] = json!(6))), NotChecked),
        (Prover(|| made(|c| c["params"] = json!(15))), DoesNotHold),
        (Prover(|| made(|c| c["cuts"][0]["width"] = json!(3))), DoesNotHold),
        (Prover(|| made(|c| c["data"]["sha256"] = json!("0"))), DoesNotHold),
        (Prover(|| Made::Wrong("it is less".to_owned())), DoesNotHold),
        (Prover(|| Made::Not("no time".to_owned())), NotChecked),
    ] {
        let found = checked_by(&prover, &searched(), None, |_| ());
        says(&found, "lower_bound", verdict);
        let optimal = if verdict == Holds { Holds } else { verdict };
        says(&found, "certified_optimal", optimal);
    }
    // One that was given and is about something else counts against the files, not against the claim.
    let mut other = certificate();
    other["params"] = json!(13);
    let found = checked_by(&Prover(|| made(|_| ())), &searched(), Some(&other), |_| ());
    says(&found, "lower_bound", Holds);
    says(&found, "certificate", Holds);
    says(&found, "certificate of the summary", DoesNotHold);
    // Beside another command it is what it is.
    let fit = with(&structure(), &[("/rse", json!(0.0)), ("/re", json!(0.0))]);
    assert_eq!(outcome(&fit, Some(&certificate())), Outcome::Holds);
}

#[test]
fn the_statement_says_what_the_fields_say() {
    let base = searched();
    let of = |changes: &[(&str, Value)], verdict: Verdict| {
        let found = checked(&with(&base, changes), Some(&certificate()), |_| ());
        says(&found, "statement", verdict);
    };
    of(&[], Holds);
    of(&[("/statement/answer", json!("undecided"))], Holds);
    of(&[("/statement/answer", json!(null))], Holds);
    of(&[("/statement/answer", json!(3))], DoesNotHold);
    of(&[("/statement/answer", json!("ranks"))], DoesNotHold);
    of(&[("/statement/reason", json!("tired"))], DoesNotHold);
    of(&[("/statement/needed", json!({"rank": 3}))], DoesNotHold);
    of(&[("/statement/text", json!(3))], DoesNotHold);
    of(&[("/statement/proven", json!("impossible"))], DoesNotHold);
    of(&[("/statement", json!({"proven": "optimal", "text": "t"}))], Holds);
    // A bound is named by its number.
    let bound = |text: &str| {
        vec![
            ("/certified_optimal", json!(false)),
            ("/lower_bound/params", json!(13)),
            ("/statement/proven", json!("lower_bound")),
            ("/statement/text", json!(text)),
        ]
    };
    of(&bound("at least 13 params"), Holds);
    of(&bound("at least 12 params"), DoesNotHold);
    // An error of at least 0 is nothing.
    let idle = |said: &str, least: f64| {
        vec![
            ("/objective", json!({"max_params": 14})),
            ("/lower_bound", json!({"params": null, "rse": least, "loss": null})),
            ("/certified_optimal", json!(false)),
            ("/statement/proven", json!(said)),
            ("/statement/text", json!("words")),
        ]
    };
    of(&idle("nothing", 0.0), Holds);
    of(&idle("lower_bound", 0.0), Holds);
    of(&idle("nothing", 1e-5), DoesNotHold);
    of(&idle("optimal", 0.0), DoesNotHold);
    let unsaid = |over: Value| {
        let mut changes = idle("nothing", 0.0);
        changes.push(("/statement/over", over));
        changes.push(("/statement/reason", json!("no cuts")));
        changes
    };
    of(&unsaid(json!(null)), Holds);
    of(&unsaid(json!({"template": "ring", "max_rank": 7})), DoesNotHold);
    assert!(
        !checked(&with(&base, &[("/statement", json!(null))]), Some(&certificate()), |_| ())
            .has("statement")
    );
}

#[test]
fn where_an_answer_is_stands_in_the_statement() {
    let base = json!({"strategy": "exact", "template": "ring", "statement": {"proven": "nothing", "text": "t"}});
    for (over, answer) in [
        (json!({"template": "ring", "max_rank": 2}), "inside"),
        (json!({"template": "ring", "max_rank": 1}), "ranks"),
        (json!({"template": "path", "max_rank": 2}), "elsewhere"),
        (json!({"template": "any-tree", "max_rank": null}), "cyclic"),
    ] {
        for said in ["inside", "ranks", "elsewhere", "cyclic"] {
            let summary =
                with(&base, &[("/bound_over", over.clone()), ("/statement/answer", json!(said))]);
            let found = of_ring(&summary, |_| ());
            says(&found, "statement", if said == answer { Holds } else { DoesNotHold });
        }
    }
}

#[test]
fn how_the_tensor_was_taken_is_what_the_network_says() {
    let base = with(&structure(), &[("/rse", json!(0.0)), ("/dtype", json!("f64"))]);
    let of = |summary: &Value, change: &dyn Fn(&mut Given<'_>)| checked(summary, None, change);
    says(&of(&base, &|_| ()), "dtype", Holds);
    says(&of(&with(&base, &[("/dtype", json!("f32"))]), &|_| ()), "dtype", DoesNotHold);
    says(&of(&base, &|given| given.network = None), "dtype", NotChecked);
    // What `certify` compares may have been made of others.
    let certify = with(&base, &[("/binding_cuts", json!([])), ("/dtype", json!("f32"))]);
    says(&of(&certify, &|_| ()), "dtype", NotChecked);
    // Shapes.
    let shape = json!({"from": [12], "to": [3, 4]});
    let shaped = with(&base, &[("/reshaped", shape.clone())]);
    says(&of(&shaped, &|given| given.network = None), "reshaped", NotChecked);
    let other = with(&base, &[("/reshaped", json!({"from": [12], "to": [4, 3]}))]);
    says(&of(&other, &|given| given.network = None), "reshaped", DoesNotHold);
    says(
        &of(&shaped, &|given| (given.network, given.reshaped) = (None, shape.clone())),
        "reshaped",
        Holds,
    );
    let none = with(&base, &[("/reshaped", json!(null))]);
    says(
        &of(&none, &|given| (given.network, given.reshaped) = (None, shape.clone())),
        "reshaped",
        DoesNotHold,
    );
    assert!(!of(&none, &|_| ()).has("reshaped"));
}

#[test]
fn nothing_follows_from_no_structure() {
    let base = json!({"template": "path", "permutation": null, "edges": null, "strategy": "exact"});
    let of = |changes: &[(&str, Value)]| {
        checked(&with(&base, changes), None, |given| given.network = None)
    };
    for name in ["params", "phi", "log10_cr", "rse", "re", "loss"] {
        assert!(of(&[(&format!("/{name}"), json!(1.0))]).is(name, DoesNotHold), "{name}");
        assert!(!of(&[(&format!("/{name}"), json!(null))]).is(name, DoesNotHold), "{name}");
    }
    says(&of(&[]), "template", NotChecked);
    says(&of(&[("/bound_over", json!({"template": "path", "max_rank": 3}))]), "template", Holds);
    says(
        &of(&[("/bound_over", json!({"template": "ring", "max_rank": 3}))]),
        "template",
        DoesNotHold,
    );
    // A structure without a network is one of its template, or of none that is known.
    let own = |template: &str, at: Value, edges: Value| {
        of(&[
            ("/template", json!(template)),
            ("/permutation", at),
            ("/edges", edges),
            ("/params", json!(7)),
        ])
    };
    says(&own("path", json!([0, 1]), json!([[0, 1, 1]])), "params", Holds);
    says(&own("path", json!([0, 1]), json!([[0, 1, 2]])), "params", DoesNotHold);
    says(&own("mera", json!([0, 1]), json!([[0, 1, 1]])), "params", Holds);
    says(&own("mera", json!([0, 1]), json!([[0, 1, 1]])), "edges", Holds);
    for (template, at, edges) in [
        ("path", json!([0, 0]), json!([[0, 1, 1]])),
        ("path", json!([0, 1]), json!([[0, 2, 1]])),
        ("path", json!([0, 1]), json!("none")),
        ("mera", json!([0, 5000]), json!([[0, 5000, 1]])),
        ("mera", json!([0, 1, 2]), json!([[0, 1, 1]])),
    ] {
        says(&own(template, at, edges), "edges", DoesNotHold);
    }
}

#[test]
fn what_is_optimal_meets_its_bound_and_is_what_was_asked_for() {
    let of = |changes: &[(&str, Value)]| {
        let mut all = vec![("/statement", json!(null))];
        all.extend_from_slice(changes);
        checked(&with(&searched(), &all), Some(&certificate()), |_| ())
    };
    let verdict = |changes: &[(&str, Value)], expected: Verdict| {
        says(&of(changes), "certified_optimal", expected)
    };
    verdict(&[], Holds);
    verdict(&[("/lower_bound", json!(null)), ("/bound_over", json!(null))], DoesNotHold);
    verdict(&[("/proven_impossible", json!(true))], DoesNotHold);
    verdict(&[("/lower_bound/params", json!(13))], DoesNotHold);
    verdict(&[("/lower_bound/params", json!(15))], DoesNotHold);
    // Params that are few enough, errors that are as small as can be.
    let few = |least: f64, optimal: bool| {
        vec![
            ("/objective", json!({"max_params": 14})),
            ("/certified_optimal", json!(optimal)),
            ("/lower_bound", json!({"params": null, "rse": least, "loss": null})),
        ]
    };
    verdict(&few(0.0, true), Holds);
    verdict(&few(0.0, false), DoesNotHold);
    let mut many = few(0.0, true);
    many[0].1 = json!({"max_params": 13});
    verdict(&many, DoesNotHold);
    many[2].1 = json!(null);
    verdict(&many, DoesNotHold);
    // No network, nothing claimed.
    let alone = |changes: &[(&str, Value)]| {
        checked(&with(&searched(), changes), Some(&certificate()), |given| given.network = None)
    };
    says(&alone(&[]), "certified_optimal", NotChecked);
    says(
        &alone(&[("/certified_optimal", json!(false)), ("/statement", json!(null))]),
        "certified_optimal",
        Holds,
    );
    // Elsewhere there is no bound that it could meet: it is none of these structures.
    verdict(&[("/bound_over/template", json!("tucker"))], DoesNotHold);
    says(&of(&[]), "proven_impossible", Holds);
}

#[test]
fn the_gap_is_what_the_network_has_over_the_bound() {
    let all = searched();
    let mut base = structure();
    for name in [
        "dtype",
        "reshaped",
        "objective",
        "lower_bound",
        "bound_over",
        "proven_impossible",
        "needed_rank",
    ] {
        base[name] = all[name].clone();
    }
    let more = [
        ("/max_rank", json!(7)),
        ("/binding_cuts", json!([])),
        (
            "/net",
            json!({"params": 14, "rse": 0.0, "gap": 1.0, "certified_optimal": true, "reaches": true}),
        ),
    ];
    let base = with(&base, &more);
    let of =
        |changes: &[(&str, Value)]| checked(&with(&base, changes), Some(&certificate()), |_| ());
    says(&of(&[]), "gap", Holds);
    let gap = |gap: f64, bound: Value, objective: Value| {
        of(&[("/net/gap", json!(gap)), ("/lower_bound", bound), ("/objective", objective)])
    };
    let params = json!({"params": 7, "rse": null, "loss": null});
    says(&gap(2.0, params.clone(), json!({"max_rse": 0.1})), "gap", Holds);
    says(&gap(1.9, params, json!({"max_rse": 0.1})), "gap", DoesNotHold);
    let loss = json!({"params": null, "rse": null, "loss": 0.5});
    says(&gap(14.0 / 6.0, loss.clone(), json!({"lambda": 3.0})), "gap", Holds);
    says(&gap(14.0 / 5.0, loss, json!({"lambda": 3.0})), "gap", DoesNotHold);
    let rse = json!({"params": null, "rse": 0.5, "loss": null});
    says(&gap(0.0, rse.clone(), json!({"max_params": 14})), "gap", Holds);
    says(&gap(1.0, rse, json!({"max_params": 14})), "gap", DoesNotHold);
    // What does not reach it has none.
    says(&of(&[("/net/reaches", json!(false))]), "gap", DoesNotHold);
    says(&of(&[("/net/reaches", json!(false)), ("/net/gap", json!(null))]), "gap", Holds);
    says(&of(&[("/net/gap", json!("one"))]), "gap", DoesNotHold);
    assert!(!of(&[("/net", json!(null))]).has("gap"));
    let bare = checked(&base, Some(&certificate()), |given| given.network = None);
    says(&bare, "net", NotChecked);
    // The ranks of the bound are those of the command.
    says(&of(&[("/max_rank", json!(6))]), "max_rank", DoesNotHold);
    assert!(!of(&[("/max_rank", json!(7))]).is("max_rank", DoesNotHold));
}

#[test]
fn claims_that_contradict_each_other_are_refused() {
    let of = |changes: &[(&str, Value)]| {
        checked(&with(&searched(), changes), Some(&certificate()), |_| ())
    };
    let refused = |changes: &[(&str, Value)], claim: &str| {
        let found = of(changes);
        assert!(found.is(claim, DoesNotHold), "{changes:?}: {found:?}");
    };
    refused(&[("/proven_impossible", json!(true))], "proven_impossible");
    refused(
        &[
            ("/proven_impossible", json!(true)),
            ("/lower_bound", json!(null)),
            ("/objective", json!({"lambda": 1.0})),
        ],
        "proven_impossible",
    );
    refused(&[("/bound_over", json!(null))], "bound_over");
    refused(&[("/lower_bound", json!(null))], "bound_over");
    refused(&[("/bound_over/max_rank", json!(0))], "bound_over");
    refused(&[("/bound_over/template", json!("any-tree"))], "bound_over");
    says(&of(&[("/bound_over/template", json!("mera"))]), "bound_over", NotChecked);
    says(&of(&[("/bound_over/more", json!(1))]), "bound_over.more", NotChecked);
    // The bound is on what was minimised, alone, and a number from 0 on.
    for bound in [
        json!({"params": null, "rse": null, "loss": null}),
        json!({"params": 14, "rse": 0.1, "loss": null}),
        json!({"params": 14, "rse": null, "loss": 0.1}),
        json!({"params": null, "rse": 0.0, "loss": null}),
        json!({"params": "14", "rse": null, "loss": null}),
        json!({"params": -1, "rse": null, "loss": null}),
    ] {
        refused(&[("/lower_bound", bound)], "lower_bound");
    }
    // Given otherwise than by the summary.
    let found = checked(
        &with(&searched(), &[("/bound_over", json!(null))]),
        Some(&certificate()),
        |given| {
            (given.template, given.max_rank) = (Some(json!("path")), Some(7));
        },
    );
    assert!(found.is("lower_bound", Holds) && !found.is("bound_over", DoesNotHold), "{found:?}");
    let found = checked(
        &with(&searched(), &[("/bound_over/max_rank", json!(null))]),
        Some(&certificate()),
        |given| {
            given.max_rank = Some(7);
        },
    );
    assert!(found.is("lower_bound", Holds) && found.is("bound_over", Holds), "{found:?}");
}

#[test]
fn a_history_goes_on_and_ends_with_the_answer() {
    let first = json!({"evaluations": 0, "samples": 1, "loss": 7.0 / 12.0 + 0.02 * 2.6, "rse": 0.36, "params": 7, "seconds": 0.4});
    let base = with(&searched(), &[("/history", json!([first, searched()["history"][0]]))]);
    let of =
        |changes: &[(&str, Value)]| checked(&with(&base, changes), Some(&certificate()), |_| ());
    says(&of(&[]), "history", Holds);
    for (pointer, value) in [
        ("/history/0/seconds", json!(0.6)),
        ("/history/0/samples", json!(3)),
        ("/history/0/evaluations", json!(2)),
        ("/history/1/seconds", json!(null)),
        ("/history/0/loss", json!(0.6)),
        ("/history/1/loss", json!(1.0)),
        ("/seconds", json!(0.45)),
        ("/loss", json!(1.1)),
    ] {
        assert!(of(&[(pointer, value.clone())]).is("history", DoesNotHold), "{pointer} {value}");
    }
    for (pointer, value) in [
        ("/history/0/seconds", json!(0.5)),
        ("/history/0/seconds", json!(null)),
        ("/seconds", json!(0.5)),
    ] {
        says(&of(&[(pointer, value)]), "history", Holds);
    }
    // A run without a best has not reached the target; an answer is of some run.
    let none = json!({"seed": 4, "counts": {"direct": 0, "samples": 0, "evaluations": 0, "cached": 0, "pruned": 0, "refused": 0},
        "best": null, "target_reached": false});
    let two = |change: &dyn Fn(&mut Value)| {
        let mut other = none.clone();
        change(&mut other);
        of(&[("/runs", json!([searched()["runs"][0], other]))])
    };
    says(&two(&|_| ()), "runs", Holds);
    says(&two(&|run| run["target_reached"] = json!(true)), "runs", DoesNotHold);
    says(&two(&|run| run["counts"]["direct"] = json!(1)), "runs", DoesNotHold);
    says(&two(&|run| run["counts"]["samples"] = json!(1)), "runs", DoesNotHold);
    let nobody = |run: Value| {
        checked(
            &with(
                &base,
                &[
                    ("/run", run),
                    ("/params", json!(null)),
                    ("/rse", json!(null)),
                    ("/runs/0/best", json!(null)),
                    ("/runs/0/target_reached", json!(false)),
                ],
            ),
            None,
            |given| given.network = None,
        )
    };
    says(&nobody(json!(null)), "runs", Holds);
    says(&nobody(json!(7)), "runs", DoesNotHold);
}

#[test]
fn a_front_falls_and_reaches_the_answer() {
    let of = |changes: &[(&str, Value)]| {
        checked(&with(&searched(), changes), Some(&certificate()), |_| ())
    };
    says(&of(&[]), "pareto", Holds);
    let points = searched()["pareto"].clone();
    let (small, large) = (points[0].clone(), points[1].clone());
    for (bad, why) in [
        (json!([large, small]), "larger first"),
        (json!([small, small, large]), "twice"),
        (json!([small]), "not the answer"),
        (json!([with(&large, &[("/rse", json!(null))])]), "no error"),
        (json!([with(&large, &[("/run", json!(null))])]), "no run"),
        (json!([with(&large, &[("/permutation", json!([0, 0]))])]), "no structure"),
        (json!([with(&large, &[("/edges", json!([]))])]), "another graph"),
    ] {
        says(&of(&[("/pareto", bad)]), "pareto", DoesNotHold);
        assert!(!why.is_empty());
    }
    says(&of(&[("/pareto", json!([large]))]), "pareto", Holds);
    let mera = with(&large, &[("/template", json!("mera"))]);
    says(&of(&[("/pareto", json!([mera]))]), "pareto", Holds);
}

#[test]
fn what_wsearched_by_instead_lost_no_more_than_the_error() {
    let of = |shrunk: Value| {
        checked(&with(&searched(), &[("/shrunk", shrunk)]), Some(&certificate()), |_| ())
    };
    let is = |shrunk: Value, wrong: bool| {
        assert_eq!(of(shrunk.clone()).is("shrunk", DoesNotHold), wrong, "{shrunk}")
    };
    is(json!({"dims": [2, 2], "lost": 0.0, "seconds": 1.0}), false);
    is(json!({"dims": [3, 4], "lost": 0.0, "seconds": 0.0}), false);
    for bad in [
        json!({"dims": [2], "lost": 0.0}),
        json!({"dims": [0, 4], "lost": 0.0}),
        json!({"dims": [3, 5], "lost": 0.0}),
        json!({"dims": [3, 4], "lost": 1.0}),
        json!({"dims": [3, 4], "lost": -0.1}),
        json!({"dims": [3, 4], "lost": null}),
        json!({"dims": [3, 4], "lost": 1e-6}),
        json!({"dims": [1, 4], "lost": 0.0}),
        json!({"dims": [3, 1], "lost": 0.0}),
        json!({"dims": [2, 2], "lost": 0.0, "seconds": 1.1}),
    ] {
        is(bad, true);
    }
    // Of the half network's error one vector may be left.
    let half = with(
        &searched(),
        &[("/rse", json!(0.36)), ("/shrunk", json!({"dims": [1, 1], "lost": 0.36}))],
    );
    assert!(!of_half(&half, |_| ()).is("shrunk", DoesNotHold));
    let less = with(&half, &[("/shrunk/lost", json!(0.35))]);
    assert!(of_half(&less, |_| ()).is("shrunk", DoesNotHold));
}

#[test]
fn a_cut_leaves_what_is_beyond_its_width() {
    let base = with(
        &structure(),
        &[
            ("/edges", json!([[0, 1, 1]])),
            ("/params", json!(7)),
            ("/phi", json!(7.0 / 12.0)),
            ("/log10_cr", json!(-(7.0f64 / 12.0).log10())),
            ("/rse", json!(0.36)),
            ("/re", json!(0.6)),
            ("/cuts", json!([{"modes": [1], "width": 1.0, "rse": 0.36}])),
        ],
    );
    let of = |rse: f64| {
        let changes =
            [("/rse", json!(rse)), ("/re", json!(rse.sqrt())), ("/cuts/0/rse", json!(rse))];
        checked(&with(&base, &changes), None, |given| given.network = None)
    };
    says(&of(0.36), "cuts", Holds);
    says(&of(0.36), "rse", Holds);
    // Sampled values may miss a little of it, and never add to it.
    says(&of(0.36 * 0.94), "cuts", Holds);
    says(&of(0.36 * 0.92), "cuts", DoesNotHold);
    says(&of(0.36 * (1.0 + 1e-8)), "cuts", DoesNotHold);
    // The network itself is nearer than any may be.
    let found = checked(&with(&base, &[("/edges", json!([[0, 1, 2]]))]), None, |_| ());
    assert!(found.is("cuts", DoesNotHold), "{found:?}");
    // What an error needs.
    let needs = |eps: f64, needed: u64| {
        let certify = with(
            &structure(),
            &[
                ("/objective", json!({"max_rse": eps})),
                (
                    "/binding_cuts",
                    json!([{"modes": [0], "width": 2.0, "needed": needed, "rse": 0.0}]),
                ),
            ],
        );
        checked(&certify, None, |_| ())
    };
    for (eps, rank) in [(0.4, 1), (0.3, 2), (1e-3, 2)] {
        for needed in 0..4 {
            says(
                &needs(eps, needed),
                "binding_cuts",
                if needed == rank { Holds } else { DoesNotHold },
            );
        }
    }
    // Just below the tail both are taken: not all may have been computed.
    says(&needs(0.35, 1), "binding_cuts", Holds);
    says(&needs(0.35, 2), "binding_cuts", Holds);
}

#[test]
fn singular_values_come_from_products_or_from_rotations() {
    let n = 260;
    let mut re = vec![0.0; n * n];
    (re[0], re[n + 1]) = (1.0, 1e-9);
    let x = Array::real(vec![n, n], re).unwrap();
    let limits = Limits { bytes: u64::MAX, stop: &|| false };
    let of = |eps: f64| spectrum(&x, &[0], eps, &limits).unwrap();
    // Products lose what is small, and say how much that may be.
    let rounding = (260.0 + 260f64.sqrt()) * f64::EPSILON;
    for (eps, absolute) in [(1e-6, rounding), (1e-10, rounding), (9e-11, 0.0)] {
        let found = of(eps);
        assert!(
            (1.0 - found.certain(0) - 1e-13 - absolute).abs() < 1e-15,
            "{eps}: {}",
            found.certain(0)
        );
        assert_eq!(found.tails.len(), n);
    }
    assert!((of(9e-11).of(1) / 1e-18 - 1.0).abs() < 1e-9);
}
