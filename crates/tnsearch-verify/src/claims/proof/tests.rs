use super::*;

fn certificate(change: impl Fn(&mut Value)) -> Certificate {
    let mut made = json!({
        "format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "", "reshaped": null,
        "data": {"dims": [2, 2], "dtype": "f64", "sha256": "", "norm": 5.0},
        "template": {"vertices": [{"mode": true}, {"mode": true}], "edges": [[0, 1]]},
        "max_rank": 7, "max_rse": 0.1, "params": 14, "lost": 0.0, "cuts": [], "tree": [],
    });
    change(&mut made);
    Certificate::parse(&made.to_string()).unwrap()
}

fn priced(change: impl Fn(&mut Value)) -> Certificate {
    certificate(|made| {
        ["max_rse", "params"]
            .iter()
            .for_each(|name| drop(made.as_object_mut().unwrap().remove(*name)));
        (made["version"], made["lambda"], made["loss"]) = (json!(2), json!(3.0), json!(1.5));
        change(made);
    })
}

fn claim(max_rank: Option<u64>, least: Least) -> Bounded {
    let class = certificate(|_| ()).template;
    Bounded { template: json!("path"), class, max_rank, least }
}

#[test]
fn a_claim_follows_from_what_says_as_much_or_more() {
    let plain = claim(Some(7), Least::Params(0.1, Some(14)));
    let of = |change: &dyn Fn(&mut Value)| weaker(&plain, &certificate(change));
    assert_eq!(of(&|_| ()), None);
    assert_eq!(of(&|c| c["max_rank"] = json!(8)), None);
    assert_eq!(of(&|c| c["max_rank"] = json!(null)), None);
    assert_eq!(of(&|c| c["max_rse"] = json!(0.2)), None);
    assert_eq!(of(&|c| c["params"] = json!(15)), None);
    assert_eq!(of(&|c| c["params"] = json!(null)), None);
    assert_eq!(of(&|c| c["max_rank"] = json!(6)).unwrap().0, "is about ranks up to 6 only");
    assert_eq!(of(&|c| c["max_rse"] = json!(0.05)).unwrap().0, "is about an RSE of 5e-2, not 1e-1");
    assert_eq!(of(&|c| c["params"] = json!(13)).unwrap().0, "proves 13 params only");
    assert_eq!(of(&|c| c["template"]["edges"] = json!([])).unwrap().0, "is about other structures");
    assert_eq!(weaker(&plain, &priced(|_| ())).unwrap().0, "is about another objective");
    // Any rank, and nothing at all, is more than any number.
    let all = claim(None, Least::Params(0.1, Some(14)));
    assert!(weaker(&all, &certificate(|_| ())).is_some());
    let none = claim(Some(7), Least::Params(0.1, None));
    assert!(weaker(&none, &certificate(|_| ())).is_some());
    assert_eq!(weaker(&none, &certificate(|c| c["params"] = json!(null))), None);
    // Losses: a smaller lambda makes them smaller.
    let loss = |lambda: f64, least: f64| claim(Some(7), Least::Loss(lambda, least));
    let proof = priced(|_| ());
    assert_eq!(weaker(&loss(3.0, 1.5), &proof), None);
    assert_eq!(weaker(&loss(4.0, 1.4), &proof), None);
    assert_eq!(weaker(&loss(3.0 - 1e-9, 1.5), &proof), None);
    assert_eq!(weaker(&loss(2.9, 1.5), &proof).unwrap().0, "is about lambda 3, not 2.9");
    assert_eq!(weaker(&loss(3.0, 1.6), &proof).unwrap().0, "proves a loss of 1.5 only");
    assert_eq!(
        weaker(&loss(3.0, 1.5), &certificate(|_| ())).unwrap().0,
        "is about another objective"
    );
}

#[test]
fn what_a_certificate_says_is_made_from_its_numbers() {
    assert_eq!(
        certificate(|_| ()).says(),
        "every structure of its graph with ranks up to 7 with an RSE of at most 1e-1 has at least 14 params"
    );
    assert_eq!(
        certificate(|c| (c["max_rank"], c["params"]) = (json!(null), json!(null))).says(),
        "every structure of its graph has an RSE above 1e-1"
    );
    assert_eq!(
        priced(|c| c["template"] = json!("any-tree")).says(),
        "every tree of any topology has phi + 3 * RSE of at least 1.5"
    );
}
