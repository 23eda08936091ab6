//! The search where nothing is said is one search: from Rust and from the command line, bit for bit. (From Python:
//! `tests/package/test_defaults.py`.)

use std::path::Path;
use std::process::Command;
use tnsearch::prelude::*;
use tnsearch::tensor::AnyTensor;
use tnsearch_io::MemoryLimit;

/// Three tensors that end by different ways: one proven best, one whose walks give up, one that is no function.
fn cases() -> [(&'static str, Tensor); 3] {
    let made = |dims: Vec<usize>, entry: &dyn Fn(&[usize]) -> f64| {
        let mut index = vec![0; dims.len()];
        let mut data = Vec::new();
        for _ in 0..dims.iter().product() {
            data.push(entry(&index));
            for axis in (0..dims.len()).rev() {
                index[axis] += 1;
                if index[axis] < dims[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        Tensor::new(dims, data).unwrap()
    };
    let smooth = |i: &[usize]| 1.0 / (1.0 + i.iter().map(|&k| k as f64 / 7.0).sum::<f64>());
    let steps = |i: &[usize]| if i[0] + 2 * i[1] > 3 * i[2] { 1.0 } else { 0.2 * i[3] as f64 };
    let noise = |i: &[usize]| {
        let k = i.iter().fold(7u64, |h, &k| (h ^ k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (k >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    [
        ("smooth", made(vec![8, 7, 6, 5], &smooth)),
        ("steps", made(vec![5, 4, 4, 3], &steps)),
        ("noise", made(vec![4, 5, 4], &noise)),
    ]
}

fn bits(network: &Network) -> Vec<(Vec<usize>, Vec<u64>)> {
    let core = |core: &AnyTensor| {
        let core = core.as_f64().expect("real");
        (core.dims().to_vec(), core.data().iter().map(|x| x.to_bits()).collect())
    };
    network.cores().iter().map(core).collect()
}

fn command(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("tnsearch"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
}

#[test]
fn the_default_search_is_the_same_in_rust_and_on_the_command_line() {
    for (name, tensor) in cases() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npy");
        let output = tnsearch_io::output::Output::check(&path).unwrap();
        tnsearch_io::write_tensor(&output, &AnyTensor::from(tensor.clone())).unwrap();
        let target = Target::new(tensor).unwrap();
        let found = Search::new(&target).max_re(0.01).run().unwrap();
        let best = found.best.as_ref().unwrap();
        let told = command(
            dir.path(),
            &[
                "search",
                "x.npy",
                "--max-re",
                "0.01",
                "-o",
                "net.safetensors",
                "--json",
                "-",
                "--quiet",
            ],
        );
        assert_eq!(told["params"], best.score.params as u64, "{name}");
        assert_eq!(
            told["rse"].as_f64().map(f64::to_bits),
            Some(best.score.error.to_bits()),
            "{name}"
        );
        assert_eq!(told["evaluations"], found.counts.evaluations, "{name}");
        assert_eq!(told["certified_optimal"], found.certified_optimal, "{name}");
        let net = dir.path().join("net.safetensors");
        let written = tnsearch_io::network::read(&net, MemoryLimit::new(None)).unwrap();
        let own = best.network(target.dims()).unwrap();
        assert_eq!(bits(&written.network), bits(&own), "{name}");
    }
}
