use super::*;
use serde_json::json;
use std::cell::RefCell;
use tnsearch::certificate::{Node, prove_beyond};
use tnsearch::graph::Structure;
use tnsearch::problem::Mask;
use tnsearch::tensor::{Complex, Tensor};
use tnsearch_verify::claims::{Findings, Given as Claims, verify};
use tnsearch_verify::{Limits, Verdict};

fn real(dims: &[usize], entries: &[f64]) -> Tensor {
    Tensor::new(dims.to_vec(), entries.to_vec()).unwrap()
}

/// Singular values 2 and 1: rank 1 leaves 0.2.
fn target() -> Target {
    Target::new(real(&[2, 2], &[2.0, 0.0, 0.0, 1.0])).unwrap()
}

fn path() -> Arc<Template> {
    Arc::new(Template::path(2).unwrap())
}

/// Proofs of at most so many cases of the tensor above.
fn prover<T>(cases: usize, use_it: impl FnOnce(&Prover<'_>) -> T) -> T {
    let (target, stop) = (target(), Stop::new());
    let read = |name: &str| Err(format!("there is no {name}"));
    let limit = MemoryLimit::new(Some(1 << 20));
    use_it(&Prover { target: &target, reshape: None, cases, limit, stop: &stop, read: &read })
}

fn checked(summary: &Value, tools: &dyn Tools) -> Findings {
    let x = tensor(&target());
    let given = Claims {
        x: &x,
        known: None,
        dtype: "f64",
        reshaped: Value::Null,
        network: None,
        summary: Some(summary),
        certificate: None,
        removed: None,
        loss: None,
        template: None,
        max_rank: None,
    };
    verify(&given, tools, &Limits { bytes: 1 << 20, stop: &|| false })
}

/// The claim of a summary, as whoever proves it is asked.
fn claim(least: Least) -> Bounded {
    struct Asked(RefCell<Option<Bounded>>);
    impl Tools for Asked {
        fn prove(&self, claim: &Bounded) -> Made {
            *self.0.borrow_mut() = Some(claim.clone());
            Made::Not(String::new())
        }
        fn graph(&self, _: &str, _: usize) -> Option<Graph> {
            None
        }
        fn network(&self, _: &str) -> Result<tnsearch_verify::Network, String> {
            Err(String::new())
        }
    }
    let asked = Asked(RefCell::new(None));
    checked(&searched(json!({"max_rse": 0.1}), json!({"params": 8})), &asked);
    let mut claim = asked.0.into_inner().unwrap();
    claim.least = least;
    claim
}

fn searched(objective: Value, bound: Value) -> Value {
    let over = json!({"template": "path", "max_rank": 7});
    json!({"strategy": "exact", "objective": objective, "lower_bound": bound, "bound_over": over})
}

#[test]
fn numbers_are_those_of_the_file() {
    let two = array(&real(&[1, 2], &[3.0, -5.0]).into(), 4.0);
    assert_eq!(
        (&two.dims[..], &two.re[..], &two.im[..]),
        (&[1, 2][..], &[12.0, -20.0][..], &[][..])
    );
    let z = [Complex::new(3.0, -1.0), Complex::new(0.0, 2.0)];
    let z = AnyTensor::from(Tensor::new(vec![2], z.to_vec()).unwrap());
    let z = array(&z, 4.0);
    assert_eq!((z.re, z.im), (vec![12.0, 0.0], vec![-4.0, 8.0]));
    // Numbers near the end of the range are held scaled, and given as they were.
    let large = Target::new(real(&[1, 2], &[3e300, -1e300])).unwrap();
    assert_ne!(large.scale(), 1.0);
    assert_eq!(tensor(&large).re, [3e300, -1e300]);
    assert_eq!((known(&large), tensor(&target()).re), (None, vec![2.0, 0.0, 0.0, 1.0]));
    let mask = Mask::new(vec![1, 3], vec![true, false, true]).unwrap();
    let holes = Target::with_holes(real(&[1, 3], &[1.0, f64::NAN, 2.0]), &mask).unwrap();
    assert_eq!(known(&holes), Some(vec![true, false, true]));
}

#[test]
fn networks_are_given_vertex_by_vertex() {
    let tucker = Arc::new(Template::parse("tucker", 2).unwrap());
    let structure = Structure::new(tucker, vec![1, 0], vec![1, 2]).unwrap();
    let dims = vec![2, 3];
    let cores = (0..3).map(|v| {
        let shape = structure.core_dims(v, &dims);
        let entries = shape.iter().product::<usize>();
        Tensor::new(shape, (0..entries).map(|k| (10 * v + k) as f64).collect()).unwrap()
    });
    let cores: Vec<Tensor> = cores.collect();
    let given = Network::new(structure, dims, cores).unwrap();
    let split: Reshape =
        serde_json::from_value(json!({"from": [6], "to": [2, 3], "names": ["a", "b"],
                                                       "column_major": false}))
        .unwrap();
    let made = stored(&given, Some(&split), Some(0.25)).unwrap();
    let network = &made.network;
    assert_eq!((&network.dims[..], &network.external[..]), (&[2, 3][..], &[true, true, false][..]));
    assert_eq!((&network.at[..], &network.edges[..]), (&[1, 0][..], &[[0, 2, 1], [1, 2, 2]][..]));
    assert_eq!((network.cores.len(), network.cores[1].re[3]), (3, 13.0));
    assert!(network.check().is_ok());
    assert_eq!((&*made.dtype, made.template, made.rse), ("f64", json!("tucker"), Some(0.25)));
    assert_eq!(made.reshaped["to"], json!([2, 3]));
    assert_eq!(stored(&given, None, None).unwrap().reshaped, Value::Null);
    let target = target();
    let (stop, limit) = (Stop::new(), MemoryLimit::new(None));
    let read = |name: &str| if name == "net" { Ok(given.clone()) } else { Err("no".to_owned()) };
    let prover =
        Prover { target: &target, reshape: None, cases: 1, limit, stop: &stop, read: &read };
    assert_eq!(prover.network("net").unwrap().edges, network.edges);
    assert_eq!(prover.network("other").unwrap_err(), "no");
}

#[test]
fn names_of_graphs_are_graphs_and_those_of_many_are_none() {
    prover(1, |prover| {
        let star = prover.graph("star", 3).unwrap();
        assert_eq!((star.vertices.len(), star.edges), (3, vec![[0, 1], [0, 2]]));
        let tucker = prover.graph("tucker", 2).unwrap();
        assert_eq!(tucker.vertices.iter().map(|v| v.mode).collect::<Vec<_>>(), [true, true, false]);
        for name in ["any-tree", "any", "formats", "no such", "/etc/passwd"] {
            assert_eq!(prover.graph(name, 3), None, "{name}");
        }
    });
}

#[test]
fn a_certificate_says_what_its_version_has() {
    let bound = CutBound::new(Spectra::within(&target(), false, &BoundLimits::default()).unwrap());
    let trees = Arc::new(Template::any_tree(2).unwrap());
    let made = |claim: &Claim| prove(claim, &bound, 100, &Stop::new()).unwrap();
    let text = |made: &Certificate, template: &Arc<Template>| {
        let text = rendered(made, template, &target(), None).unwrap();
        Given::parse(&text).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let plain = made(&Claim::at_error(&path(), 7, 0.1, Some(8)));
    let found = text(&plain, &path());
    assert_eq!(
        (&found["version"], &found["max_rse"], &found["params"], &found["lost"]),
        (&json!(1), &json!(0.1), &json!(8), &json!(0.0))
    );
    assert_eq!((&found["max_rank"], &found["template"]["edges"]), (&json!(7), &json!([[0, 1]])));
    assert_eq!(found["data"]["dims"], json!([2, 2]));
    assert_eq!(found["data"]["norm"], json!(5f64.sqrt()));
    assert_eq!(found["cuts"][0]["modes"], json!([1]));
    assert_eq!(
        found["says"],
        json!("every path with ranks up to 7 and an RSE of at most 1e-1 has at least 8 params")
    );
    assert!(found.get("errors").is_none() && found.get("contracted").is_none());
    // A line for each cut and each case.
    let mut several = plain.clone();
    several.tree.push(Node::default());
    let lined = rendered(&several, &path(), &target(), None).unwrap();
    assert!(lined.contains("\"tree\": [\n    {") && lined.contains(",\n    {}]"), "{lined}");
    // Norms are those of the tensor as it was read; none where no number holds it.
    for (entry, norm) in [(3e300, json!(3e300)), (1.7e308, Value::Null)] {
        let large = Target::new(real(&[2, 2], &[entry, 0.0, 0.0, entry * 1e-200])).unwrap();
        let text = rendered(&plain, &path(), &large, None).unwrap();
        let found = serde_json::from_str::<Value>(&text).unwrap()["data"]["norm"].clone();
        let full = Target::new(real(&[2, 2], &[entry; 4])).unwrap();
        let text = rendered(&plain, &path(), &full, None).unwrap();
        let full = serde_json::from_str::<Value>(&text).unwrap()["data"]["norm"].clone();
        let near = found.as_f64().is_some_and(|n| (n / entry - 1.0).abs() < 1e-12);
        assert!(near, "{found}");
        assert_eq!(full.is_null(), norm.is_null(), "{full}");
    }
    let none = made(&Claim::at_error(&path(), 1, 0.1, None));
    let says = says(&none, &path());
    assert_eq!(says, "every path with ranks up to 1 has an RSE above 1e-1");
    // Of losses, of one graph and of all trees.
    let priced = text(&made(&Claim::of_loss(&path(), 7, 1.0, 1.1)), &path());
    assert_eq!(
        (&priced["version"], &priced["lambda"], &priced["loss"]),
        (&json!(2), &json!(1.0), &json!(1.1))
    );
    assert!(priced.get("max_rse").is_none() && priced.get("errors").is_none());
    assert_eq!(
        priced["says"],
        json!("every path with ranks up to 7 has phi + 1 * RSE of at least 1.1")
    );
    let of_trees = text(&made(&Claim::of_loss(&trees, 7, 1.0, 0.9)), &trees);
    assert!(of_trees["errors"].as_array().is_some_and(|errors| !errors.is_empty()), "{of_trees}");
    // Modes that are contracted.
    let three = Target::new(real(&[2, 2, 2], &[2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])).unwrap();
    let bound = CutBound::new(Spectra::within(&three, false, &BoundLimits::default()).unwrap());
    let trees = Arc::new(Template::any_tree(3).unwrap());
    let claim = Claim::at_error(&trees, 7, 0.1, Some(5));
    let made = prove_beyond(&claim, &bound, 100, 2, &Stop::new()).unwrap();
    let text = rendered(&made, &trees, &three, None).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&found["version"], found["contracted"].as_array().unwrap().len()), (&json!(3), 1));
}

#[test]
fn claims_are_proven_or_not_and_those_at_the_edge_are_left() {
    let of = |claim: &Bounded, cases: usize| match prover(cases, |p| p.prove(claim)) {
        Made::Certificate(made) => made.says(),
        Made::Wrong(why) => format!("wrong: {why}"),
        Made::Not(why) => format!("not: {why}"),
    };
    let wrong = "wrong: some structure passes all cuts and goes below it";
    let edge = "not: it is so near to what the cuts say that rounding decides";
    let params = |eps: f64, params: u64| of(&claim(Least::Params(eps, Some(params))), 100);
    assert!(params(0.1, 8).ends_with("has at least 8 params"), "{}", params(0.1, 8));
    assert_eq!((&*params(0.1, 9), &*params(0.21, 8)), (wrong, wrong));
    // Rank 1 leaves 0.2, to within a hundredth.
    assert_eq!((&*params(0.2, 8), &*params(0.201, 8)), (edge, edge));
    // At lambda 1 rank 1 has a loss of 4 / 4 + 0.2, to within a part in a million.
    let loss = |loss: f64| of(&claim(Least::Loss(1.0, loss)), 100);
    assert!(loss(1.19).ends_with("of at least 1.19"), "{}", loss(1.19));
    assert_eq!((&*loss(1.2 + 6e-7), &*loss(1.2 + 3e-6)), (edge, wrong));
    // More cases than allowed, and classes that are none.
    let mut other = claim(Least::Params(0.1, Some(8)));
    assert!(of(&other, 0).starts_with("not: there is no certificate of at most 0 cases"));
    let vertex = json!({"mode": true});
    other.template = json!({"vertices": [vertex, vertex], "edges": [[0, 1]]});
    assert!(of(&other, 100).ends_with("has at least 8 params"));
    other.max_rank = None;
    assert!(of(&other, 100).contains("at least 8 params"), "{}", of(&other, 100));
    for template in [json!("no such"), json!(3)] {
        other.template = template;
        assert!(of(&other, 100).starts_with("not: "), "{}", of(&other, 100));
    }
    // What comes of it is checked as from anywhere.
    let summary = searched(json!({"max_rse": 0.1}), json!({"params": 8}));
    prover(100, |p| assert!(checked(&summary, p).is("lower_bound", Verdict::Holds)));
}

#[test]
fn small_errors_are_those_of_singular_values() {
    // Squares are rounded by ulps of the largest, and so is what they leave.
    let target = Target::new(real(&[2, 2], &[1.0, 0.0, 0.0, 1e-2])).unwrap();
    let (stop, limit) = (Stop::new(), MemoryLimit::new(Some(1 << 20)));
    let read = |_: &str| Err(String::new());
    let prover =
        Prover { target: &target, reshape: None, cases: 100, limit, stop: &stop, read: &read };
    let slack = |eps: f64| match prover.prove(&claim(Least::Params(eps, Some(8)))) {
        Made::Certificate(made) => made.cuts[0].slack,
        other => panic!("{other:?}"),
    };
    let [small, at, large] = [9e-7, SMALL, 2e-6].map(slack);
    assert!(small < at && at == large, "{small} {at} {large}");
}
