//! Models: what is compressed, what comes back, what is refused, and what an interruption leaves.

mod common;

use common::{Held, Place};
use serde_json::{Value, json};

/// A safetensors file from names, types, shapes and bytes, in this order.
fn model(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut fields = vec![r#""__metadata__":{"format":"pt"}"#.to_owned()];
    let mut data: Vec<u8> = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let about = json!({"dtype": dtype, "shape": shape, "data_offsets": [data.len(), data.len() + bytes.len()]});
        fields.push(format!("{}:{about}", json!(name)));
        data.extend(bytes);
    }
    let header = format!("{{{}}}", fields.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// Entries of a matrix of low rank and something else below it.
fn entries(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    let wave = |i: usize, j: usize| {
        let (i, j, s) = (i as f32, j as f32, seed as f32);
        (0.3 * i + s).sin() * (0.2 * j).cos() + 0.5 * (0.7 * i).cos() * (0.4 * j + s).sin()
    };
    let rough = |i: usize, j: usize| {
        (((i * 31 + j * 17 + seed) * 2654435761 % 1000) as f32 / 1000.0 - 0.5) * 0.2
    };
    (0..rows * columns)
        .map(|p| wave(p / columns, p % columns) + rough(p / columns, p % columns))
        .collect()
}

fn f32s(v: &[f32]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The upper halves: bf16 by truncation.
fn bf16s(v: &[f32]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_le_bytes()[2..].to_vec()).collect()
}

/// Name, type, shape and bytes.
type Stored = (String, String, Value, Vec<u8>);

/// The names, types and shapes of a file in the order of their bytes, and the bytes of each.
fn read(file: &[u8]) -> (Vec<Stored>, Value) {
    let size = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..size]).unwrap();
    let notes = header.as_object_mut().unwrap().remove("__metadata__").unwrap_or(Value::Null);
    let mut all: Vec<(usize, String, String, Value, Vec<u8>)> = Vec::new();
    for (name, about) in header.as_object().unwrap() {
        let at = |k: usize| about["data_offsets"][k].as_u64().unwrap() as usize;
        let bytes = file[size + at(0)..size + at(1)].to_vec();
        all.push((
            at(0),
            name.clone(),
            about["dtype"].as_str().unwrap().into(),
            about["shape"].clone(),
            bytes,
        ));
    }
    all.sort_by_key(|t| t.0);
    (all.into_iter().map(|(_, a, b, c, d)| (a, b, c, d)).collect(), notes)
}

fn numbers(bytes: &[u8], dtype: &str) -> Vec<f64> {
    match dtype {
        "F32" => {
            bytes.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
        }
        "BF16" => {
            bytes.chunks(2).map(|b| f64::from(f32::from_le_bytes([0, 0, b[0], b[1]]))).collect()
        }
        _ => panic!("{dtype}"),
    }
}

const ODD: &str = "layer \u{1b}[31m\n\"1\" <b>\u{202e}/weight";

/// A model with something of everything.
fn mixed() -> Vec<u8> {
    model(&[
        ("z.embed", "F32", &[48, 32], f32s(&entries(48, 32, 1))),
        ("a.norm", "F32", &[32], f32s(&entries(1, 32, 2))),
        (ODD, "BF16", &[40, 32], bf16s(&entries(40, 32, 3))),
        ("conv", "F32", &[16, 8, 3, 3], f32s(&entries(16, 72, 4))),
        ("ids", "I64", &[3], (0..24).collect()),
        ("q.weight", "I8", &[32, 32], vec![7; 1024]),
    ])
}

#[test]
fn a_model_comes_back_with_its_names_types_and_order() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let (code, json) = place
        .json("compress-model m.safetensors --keep-re 0.2 -o s.safetensors --report page.html");
    assert_eq!(code, 0, "{json}");
    assert!(place.run("decompress-model s.safetensors -o d.safetensors").code == 0);
    let ((before, _), (after, notes)) =
        (read(&place.read("m.safetensors")), read(&place.read("d.safetensors")));
    assert_eq!(notes, json!({"format": "pt"}));
    let (mut lost, mut whole) = (0.0, 0.0);
    assert_eq!(before.len(), after.len());
    for (b, a) in before.iter().zip(&after) {
        assert_eq!((&b.0, &b.1, &b.2), (&a.0, &a.1, &a.2));
        let layer = json["layers"].as_array().unwrap().iter().find(|l| l["name"] == b.0.as_str());
        let Some(layer) = layer else {
            assert_eq!(b.3, a.3, "left alone: {}", b.0);
            continue;
        };
        let (x, z) = (numbers(&b.3, &b.1), numbers(&a.3, &a.1));
        let error: f64 = x.iter().zip(&z).map(|(x, z)| (x - z).powi(2)).sum();
        let norm: f64 = x.iter().map(|x| x * x).sum();
        // The dense weights of a bf16 layer are rounded once more.
        let re = (error / norm).sqrt();
        assert!((re - layer["re"].as_f64().unwrap()).abs() < 3e-3, "{re} {layer}");
        assert!(
            layer["compressed"].as_bool().unwrap()
                && layer["params"].as_u64() < layer["params_before"].as_u64()
        );
        lost += error;
        whole += norm;
    }
    assert!(
        (lost / whole).sqrt() < 0.2
            && (json["re"].as_f64().unwrap() - (lost / whole).sqrt()).abs() < 1e-3
    );
    // The cores are what the manifest says.
    let (cores, notes) = read(&place.read("s.safetensors"));
    let manifest: Value = serde_json::from_str(notes["tnsearch_model"].as_str().unwrap()).unwrap();
    let stored: usize = cores
        .iter()
        .map(|c| {
            c.2.as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as usize).product::<usize>()
        })
        .sum();
    assert_eq!(json["params"].as_u64().unwrap() as usize, stored);
    assert_eq!(manifest["tensors"].as_array().unwrap().len(), 6);
    // Names are escaped for people, and kept for programs.
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(
        page.contains("\\u{1b}[31m\\n")
            && !page.contains('\u{1b}')
            && page.contains("their scales are needed")
    );
    let text = place
        .run("compress-model m.safetensors --keep-re 0.2 -o s2.safetensors --dense d2.safetensors");
    assert!(
        !text.stdout.contains('\u{1b}') && text.stdout.contains("\\u{202e}"),
        "{}",
        text.stdout
    );
    assert!(
        text.stderr.contains("'q.weight' is left alone: whole numbers need their scales"),
        "{}",
        text.stderr
    );
    assert_eq!(place.read("s.safetensors"), place.read("s2.safetensors"), "same bits");
    assert_eq!(place.read("d.safetensors"), place.read("d2.safetensors"));
    let left: Vec<String> = place
        .names()
        .into_iter()
        .filter(|n| n.contains(".journal") || n.contains(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn budgets_are_kept_in_every_unit_and_at_any_thread_count() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let of = |options: &str| {
        let (code, json) =
            place.json(&format!("compress-model m.safetensors -o s.safetensors {options}"));
        assert_eq!(code, 0, "{json}");
        json
    };
    let few = of("--max-params 2400 --threads 1");
    let one = place.read("s.safetensors");
    let again = of("--max-params 2400 --threads 2");
    assert_eq!((one, &few["re"]), (place.read("s.safetensors"), &again["re"]));
    assert!(few["params"].as_u64().unwrap() <= 2400);
    let more = of("--max-params 3600");
    assert!(more["re"].as_f64() < few["re"].as_f64());
    assert!(of("--max-bytes 8000")["bytes"].as_u64().unwrap() <= 8000);
    assert!(of("--max-multiply-adds 1500")["multiply_adds"].as_u64().unwrap() <= 1500);
    // Half as wide cores take half the bytes.
    let half = of("--keep-re 0.3 --cores f16");
    assert!(
        half["re"].as_f64().unwrap() <= 0.3
            && half["bytes"].as_u64() < of("--keep-re 0.3")["bytes"].as_u64()
    );
}

#[test]
fn a_kronecker_product_in_a_layer_is_found() {
    let place = Place::new();
    assert_eq!(place.run("generate --example layer --dims 96,128 -o m.safetensors").code, 0);
    let (_, all) = place.json("compress-model m.safetensors -o s.safetensors --max-params 1000");
    let (_, plain) = place.json(
        "compress-model m.safetensors -o p.safetensors --max-params 1000 --no-products --no-trees",
    );
    let rse = |json: &Value| json["rse"].as_f64().unwrap();
    assert!(rse(&all) < 0.5 * rse(&plain), "{} {}", rse(&all), rse(&plain));
    assert!(all["layers"][0]["format"].as_str().unwrap().contains("kron 8x8 (x) 12x16"), "{all}");
}

#[test]
fn what_is_no_model_is_refused() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let shared = r#"{"a":{"dtype":"F32","shape":[8,8],"data_offsets":[0,256]},"b":{"dtype":"F32","shape":[8,8],"data_offsets":[128,384]}}"#;
    let mut bytes = (shared.len() as u64).to_le_bytes().to_vec();
    bytes.extend(shared.as_bytes());
    bytes.extend([0; 384]);
    place.write("shared.safetensors", &bytes);
    place.refuses(
        "compress-model shared.safetensors -o s.safetensors",
        "tensors 'a' and 'b' share bytes 128 to 256",
    );
    place.write("text.safetensors", "no weights here at all");
    place.refuses("compress-model text.safetensors -o s.safetensors", "not a safetensors file");
    place.write("i.safetensors", model(&[("w", "I8", &[64, 64], vec![1; 4096])]));
    place.refuses("compress-model i.safetensors -o s.safetensors", "their scales are needed");
    let mut nan = entries(32, 32, 1);
    nan[77] = f32::NAN;
    place.write("nan.safetensors", model(&[("w", "F32", &[32, 32], f32s(&nan))]));
    let ended = place.run("compress-model nan.safetensors -o s.safetensors");
    assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1));
    assert!(
        ended.stderr.contains("tensor 'w' has a number that is not finite at 77"),
        "{}",
        ended.stderr
    );
    // Nothing can go on from there.
    assert!(!place.path("s.safetensors.journal").exists());
    place.refuses("compress-model m.safetensors -o s.safetensors --keep-re 1.5", "keep-re is 1.5");
    place.refuses(
        "compress-model m.safetensors -o s.safetensors --keep-re 0.1 --max-params 10",
        "cannot be used with",
    );
    place.refuses("compress-model m.safetensors -o m.safetensors", "are the same file");
    std::fs::copy(place.path("m.safetensors"), place.path("z.part")).unwrap();
    place.refuses("compress-model z.part -o z", "are the same file");
    assert_eq!(place.read("z.part"), place.read("m.safetensors"));
    let mut large = entries(64, 64, 1);
    large.iter_mut().for_each(|x| *x *= 1e20);
    place.write("large.safetensors", model(&[("w", "F32", &[64, 64], f32s(&large))]));
    place.refuses(
        "compress-model large.safetensors -o s.safetensors --max-params 3000 --cores f16",
        "the cores of layer 'w' are too large or too small for f16",
    );
    assert_eq!(place.run("compress-model m.safetensors -o c.safetensors").code, 0);
    place.refuses(
        "compress-model c.safetensors -o s.safetensors",
        "it was written by 'compress-model'; use 'decompress-model' first",
    );
    place.refuses(
        "compress-model m.safetensors -o s.safetensors --max-memory 1MB",
        "of memory, but only 1.0 MB may be taken",
    );
    place.refuses(
        "decompress-model m.safetensors -o d.safetensors",
        "not a model written by 'compress-model'",
    );
    place.refuses(
        "compress-model m.safetensors -o s.safetensors --max-params 500",
        "500 params are too few: what is left alone takes 1059",
    );
}

#[test]
fn a_calibration_must_go_with_the_layers() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    place.write(
        "acts.safetensors",
        model(&[("z.embed", "F32", &[64, 32], f32s(&entries(64, 32, 9)))]),
    );
    let (code, json) = place.json("compress-model m.safetensors -o s.safetensors --max-params 3000 --calibration acts.safetensors");
    assert_eq!((code, &json["weigh"]), (0, &json!("layer")));
    let layer = |name: &str| {
        json["layers"].as_array().unwrap().iter().find(|l| l["name"] == name).unwrap().clone()
    };
    assert!(
        layer("z.embed")["weighted_re"].as_f64().is_some()
            && layer("conv")["weighted_re"].is_null()
    );
    place.write(
        "wide.safetensors",
        model(&[("z.embed", "F32", &[64, 33], f32s(&entries(64, 33, 9)))]),
    );
    place.refuses(
        "compress-model m.safetensors -o t.safetensors --calibration wide.safetensors",
        "'z.embed' has shape [64, 33]; layer 'z.embed' has 32 inputs, so it needs samples x inputs",
    );
    place.write("other.safetensors", model(&[("q", "F32", &[4, 4], f32s(&entries(4, 4, 9)))]));
    place.refuses(
        "compress-model m.safetensors -o t.safetensors --calibration other.safetensors",
        "such as 'z.embed'",
    );
    place.write(
        "zero.safetensors",
        model(&[("z.embed.covariance", "F32", &[32, 32], vec![0; 4096])]),
    );
    let ended =
        place.run("compress-model m.safetensors -o t.safetensors --calibration zero.safetensors");
    assert!(ended.code == 2 && ended.stderr.contains("is no covariance"), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn a_command_that_measures_decides_how_far_to_go() {
    let place = Place::new();
    place.write("m.safetensors", model(&[("w", "F32", &[48, 32], f32s(&entries(48, 32, 1)))]));
    // The loss is how many bytes differ: nothing about it is smooth, but more compression is no less loss.
    place.write("eval", "#!/bin/sh\ncmp -l m.safetensors \"$1\" 2>/dev/null | wc -l\n");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(place.path("eval"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (code, json) =
        place.json("compress-model m.safetensors -o s.safetensors --max-loss ./eval --allow 1e9");
    assert_eq!(code, 0, "{json}");
    assert_eq!(json["trials"][0], json!({"re": 0.0, "loss": 0.0}));
    assert!(json["re"].as_f64().unwrap() > 0.5, "everything is allowed: {json}");
    let (code, json) =
        place.json("compress-model m.safetensors -o s.safetensors --max-loss ./eval --allow 0");
    assert_eq!((code, &json["layers"][0]["compressed"]), (1, &json!(false)), "nothing is allowed");
    assert_eq!(place.names().iter().filter(|n| n.contains("trial")).count(), 0);
}

#[cfg(unix)]
#[test]
fn a_command_that_fails_is_told_and_the_layers_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write("m.safetensors", model(&[("w", "F32", &[48, 32], f32s(&entries(48, 32, 1)))]));
    let script = |name: &str, text: &str| {
        place.write(name, text);
        std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("broken", "#!/bin/sh\necho cannot import torch >&2\nexit 7\n");
    place.refuses(
        "compress-model m.safetensors -o s.safetensors --max-loss ./broken",
        "'./broken' ended with exit status: 7: cannot import torch",
    );
    // It reads the original, and nothing else.
    script(
        "picky",
        "#!/bin/sh\ncase $1 in */m.safetensors) echo 0.5;; *) echo odd weights >&2; exit 1;; esac\n",
    );
    let ended = place.run("compress-model m.safetensors -o s.safetensors --max-loss ./picky");
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        ended.stderr.contains("which counts as too much") && ended.stderr.contains("odd weights"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("as it is"), "{}", ended.stdout);
    let (before, _) = read(&place.read("m.safetensors"));
    assert_eq!(before, read(&place.read("s.safetensors")).0);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_and_ends_with_the_same_bits() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let line = |out: &str| format!("compress-model m.safetensors --keep-re 0.1 -o {out}");
    assert_eq!(place.run(&line("whole.safetensors")).code, 0);
    for (point, kill) in
        [("front 1", false), ("cores 1", false), ("cores 2", true), ("front 2", true)]
    {
        let out = format!("{}.safetensors", point.replace(' ', ""));
        let held = Held::at(&place, point, &line(&out));
        match kill {
            true => held.kill(),
            false => {
                held.signal("-INT");
                assert_eq!(held.end().code(), Some(130), "{point}");
                assert!(place.stderr().contains("go on with --resume"), "{}", place.stderr());
            }
        }
        assert!(!place.path(&out).exists(), "{point}");
        let _ = std::fs::remove_file(place.path("hold"));
        // Not by accident.
        let ended = place.run(&line(&out));
        assert!(ended.code == 2 && ended.stderr.contains("--resume"), "{ended:?}");
        let ended =
            place.run(&format!("compress-model m.safetensors --keep-re 0.3 -o {out} --resume"));
        assert!(ended.code == 2 && ended.stderr.contains("settings.goal"), "{ended:?}");
        let ended = place.run(&format!("{} --resume --progress", line(&out)));
        assert_eq!(ended.code, 0, "{ended:?}");
        // Layers that were done are not done again.
        assert!(!ended.stderr.contains("looking at layer 1 of 3"), "{point}: {}", ended.stderr);
        if point == "cores 2" {
            assert!(
                !ended.stderr.contains("writing layer 1 of 3")
                    && ended.stderr.contains("writing layer 3 of 3"),
                "{}",
                ended.stderr
            );
        }
        assert_eq!(place.read(&out), place.read("whole.safetensors"), "{point}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_gone_on_with_is_the_same_model_and_whole() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let line = |out: &str| format!("compress-model m.safetensors --keep-re 0.1 -o {out}");
    assert_eq!(place.run(&line("whole.safetensors")).code, 0);
    let held = |point: &str, line: &str| {
        Held::at(&place, point, line).kill();
        let _ = std::fs::remove_file(place.path("hold"));
    };
    // What was written is lost, and the run that writes it anew is killed, too.
    held("cores 2", &line("s.safetensors"));
    std::fs::remove_file(place.path("s.safetensors.part")).unwrap();
    held("cores 1", &format!("{} --resume", line("s.safetensors")));
    let ended = place.run(&format!("{} --resume", line("s.safetensors")));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(place.read("s.safetensors"), place.read("whole.safetensors"));
    // Other weights of the same shapes.
    held("cores 2", &line("t.safetensors"));
    let mut other = place.read("m.safetensors");
    *other.last_mut().unwrap() ^= 1;
    place.write("m.safetensors", other);
    let ended = place.run(&format!("{} --resume", line("t.safetensors")));
    assert!(ended.code == 2 && ended.stderr.contains("model"), "{ended:?}");
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn a_changed_byte_of_the_journal_never_changes_the_model() {
    let place = Place::new();
    place.write("m.safetensors", mixed());
    let line = |out: &str| format!("compress-model m.safetensors --keep-re 0.1 -o {out}");
    assert_eq!(place.run(&line("whole.safetensors")).code, 0);
    Held::at(&place, "cores 2", &line("c.safetensors")).kill();
    let _ = std::fs::remove_file(place.path("hold"));
    let (journal, part) = (place.read("c.safetensors.journal"), place.read("c.safetensors.part"));
    let second = journal.iter().position(|&b| b == b'\n').unwrap() + 1;
    // One byte in each line, at another place in each.
    let mut start = 0;
    for (k, text) in journal.split_inclusive(|&b| b == b'\n').enumerate() {
        let at = start + (k * 37 + 11) % (text.len() - 1);
        start += text.len();
        let mut bytes = journal.clone();
        bytes[at] ^= 1 << (k % 8);
        place.write("c.safetensors.journal", &bytes);
        place.write("c.safetensors.part", &part);
        let ended = place.run(&format!("{} --resume", line("c.safetensors")));
        if at < second {
            assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{ended:?}");
            continue;
        }
        assert_eq!(ended.code, 0, "byte {at}: {ended:?}");
        let words = format!("warning: c.safetensors.journal: line {} is damaged (", k + 1);
        assert!(ended.stderr.starts_with(&words), "{}", ended.stderr);
        assert!(place.read("c.safetensors") == place.read("whole.safetensors"), "byte {at}");
    }
}

#[test]
fn manifests_that_lie_are_refused_before_anything_is_written() {
    let place = Place::new();
    place.write("m.safetensors", model(&[("w", "F32", &[48, 32], f32s(&entries(48, 32, 1)))]));
    assert_eq!(place.run("compress-model m.safetensors --keep-re 0.3 -o c.safetensors").code, 0);
    let file = place.read("c.safetensors");
    let size = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&file[8..8 + size]).unwrap();
    let manifest = header["__metadata__"]["tnsearch_model"].as_str().unwrap();
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let refused = |change: &dyn Fn(&mut Value), said: &str| {
        let (mut header, mut manifest) = (header.clone(), manifest.clone());
        change(&mut manifest["tensors"][0]);
        header["__metadata__"]["tnsearch_model"] = json!(manifest.to_string());
        let text = header.to_string();
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes.extend(&file[8 + size..]);
        place.write("bad.safetensors", bytes);
        place.refuses("decompress-model bad.safetensors -o d.safetensors", said);
        assert!(!place.path("d.safetensors.part").exists());
    };
    let huge = json!([10_000_000_000u64, 10_000_000_000u64]);
    refused(&|t| (t["shape"], t["terms"]) = (huge.clone(), json!([])), "'w' has no cores");
    refused(&|t| t["shape"] = huge.clone(), "has another size");
    refused(
        &|t| {
            t["shape"] = json!([1_000_000, 1_000_000]);
            let cores = t["terms"][0]["cores"].clone();
            t["terms"] =
                json!([{"modes": [1_000_000, 1_000_000], "einsum": "a,b->ab", "cores": cores}]);
        },
        "of memory",
    );
}

/// The peak of memory is that of one layer, however many there are: far below all of them together.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_that_of_the_largest_layer() {
    let place = Place::new();
    let (side, count) = (512, 96);
    let bytes = f32s(&entries(side, side, 5));
    let names: Vec<String> = (0..count).map(|k| format!("layer.{k}")).collect();
    let sides = [side, side];
    let tensors: Vec<_> =
        names.iter().map(|n| (&n[..], "F32", &sides[..], bytes.clone())).collect();
    place.write("many.safetensors", model(&tensors));
    let options = "--max-params 110000 --no-trees --no-products --threads 1";
    let (code, json) =
        place.json(&format!("compress-model many.safetensors -o s.safetensors {options}"));
    assert_eq!(code, 0, "{json}");
    let number = |name: &str| json[name].as_f64().unwrap();
    assert!(number("memory_peak") < 1.1 * number("memory_needed"), "{json}");
    assert!(1.1 * number("memory_needed") < 0.6 * number("bytes_before"), "{json}");
}
