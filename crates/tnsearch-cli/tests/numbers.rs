//! Kinds of numbers on the command line: complex and 32-bit tensors from the file to the certificate and back.

mod common;

use common::{Place, npy};
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::graph::{Structure, Template};
use tnsearch::network::contract;
use tnsearch::rng::stream;
use tnsearch::tensor::{Complex, Scalar, Tensor};

/// Writes the tensor of a ring of random cores with its modes shuffled; its number of params.
fn hide<T: Scalar>(place: &Place, name: &str, descr: &str) -> u128 {
    let mut rng = stream(4, b"numbers");
    let ring = Arc::new(Template::ring(6).unwrap());
    let structure = Structure::new(ring, vec![3, 0, 4, 1, 5, 2], vec![2, 3, 2, 2, 3, 2]).unwrap();
    let graph = structure.canonical().graph;
    let dims = vec![3; 6];
    let mut core = |v: usize| {
        let shape = graph.core_dims(v, &dims);
        let n = shape.iter().product();
        Tensor::new(shape, (0..n).map(|_| T::normal(&mut rng)).collect()).unwrap()
    };
    let cores: Vec<Tensor<T>> = (0..6).map(&mut core).collect();
    let x = contract(&graph, &dims, &cores);
    let part = |v: f64| match descr {
        "<c16" | "<f8" => v.to_le_bytes().to_vec(),
        _ => (v as f32).to_le_bytes().to_vec(),
    };
    let complex = T::KIND.is_complex();
    let parts =
        x.data().iter().flat_map(|v| if complex { vec![v.re(), v.im()] } else { vec![v.re()] });
    place.write(name, npy(descr, &dims, &parts.flat_map(part).collect::<Vec<u8>>()));
    structure.params(&dims)
}

/// Exact search finds and certifies the hidden ring with a single evaluation; the network comes back as it was.
fn found(place: &Place, options: &str, max_rse: f64, params: u128) -> Value {
    let line =
        format!("search x.npy --no-direct --max-rse {max_rse:e} -o net.safetensors {options}");
    let (code, found) = place.json(&line);
    assert_eq!(code, 0, "{found}");
    assert_eq!(found["certified_optimal"], json!(true), "{found}");
    assert_eq!(found["evaluations"], json!(1), "{found}");
    assert_eq!(found["params"], json!(params));
    let (code, certified) =
        place.json(&format!("certify x.npy --net net.safetensors --max-rse {max_rse:e} {options}"));
    assert_eq!((code, &certified["net"]["certified_optimal"]), (0, &json!(true)), "{certified}");
    assert_eq!(certified["dtype"], found["dtype"]);
    let (code, back) = place.json("reconstruct net.safetensors -o z.npy");
    assert_eq!((code, &back["dtype"]), (0, &found["dtype"]));
    let (_, about) = place.json("info net.safetensors");
    assert_eq!(about["dtype"], found["dtype"]);
    found
}

#[test]
fn a_hidden_complex_ring_is_found_and_certified() {
    let place = Place::new();
    let params = hide::<Complex<f64>>(&place, "x.npy", "<c16");
    assert_eq!(found(&place, "", 1e-8, params)["dtype"], json!("complex128"));
    assert_eq!(found(&place, "--dtype complex64", 1e-6, params)["dtype"], json!("complex64"));
    place.refuses("search x.npy --dtype f64", "complex numbers cannot be made real");
    place.refuses("search x.npy --dtype c16", "use f32, f64, complex64 or complex128");
}

#[test]
fn a_hidden_ring_of_32_bit_numbers_is_found_and_certified() {
    let place = Place::new();
    let params = hide::<f32>(&place, "x.npy", "<f4");
    let single = found(&place, "--dtype f32", 1e-6, params);
    assert_eq!(single["dtype"], json!("f32"));
    // By default 64-bit numbers are computed with, as ever; real numbers are complex ones too.
    assert_eq!(found(&place, "", 1e-6, params)["dtype"], json!("f64"));
    assert_eq!(found(&place, "--dtype complex128", 1e-6, params)["dtype"], json!("complex128"));
}

#[test]
fn methods_for_real_numbers_say_what_to_use_instead() {
    let place = Place::new();
    hide::<Complex<f64>>(&place, "x.npy", "<c16");
    place.write(
        "s.json",
        r#"{"template":"ring","permutation":[0,1,2,3,4,5],"edges":[[0,1,2],[1,2,2]]}"#,
    );
    place.refuses(
        "fit x.npy --structure s.json --method lm",
        "method is lm; it fits real numbers only, and these are complex128; use als or adam",
    );
    place.refuses(
        "decompose x.npy --method bayes-tr --max-rse 1e-3",
        "method is bayes-tr; its model is of real numbers",
    );
    let (code, fitted) = place.json("fit x.npy --structure s.json --method adam --max-sweeps 50");
    assert_eq!((code, &fitted["dtype"]), (0, &json!("complex128")));
    let (_, bound) = place.json("bound x.npy --structure s.json");
    assert!(bound["rse"].as_f64().unwrap() <= fitted["rse"].as_f64().unwrap());
    for method in ["tt-svd", "tr-svd", "tr-lm", "ht-svd"] {
        let (code, found) =
            place.json(&format!("decompose x.npy --method {method} --max-rse 1e-3"));
        assert_eq!((code, &found["target_reached"]), (0, &json!(true)), "{method}: {found}");
    }
}

#[test]
fn a_journal_knows_the_kind() {
    let place = Place::new();
    hide::<f32>(&place, "x.npy", "<f4");
    let line = "search x.npy --strategy tnls --iterations 1 --samples 5 --max-rse 1e-3 --seed 1";
    place.json(&format!("{line} --dtype f32 --journal run.jsonl"));
    place.refuses(&format!("{line} --journal run.jsonl --resume"), "made with data.dtype \"f32\"");
    let again = place.run(&format!("{line} --dtype f32 --journal run.jsonl --resume"));
    assert!(again.code < 2, "{again:?}");
    // The report finds the kind by itself.
    let page = place.run("report run.jsonl --x x.npy -o page.html");
    assert_eq!(page.code, 0, "{page:?}");
}
