//! `tnsearch complete`, and masks where other commands take them.

mod common;

use common::{Place, doubles, npy};

/// x_ijk = (1 + i) (2 + j) + k: rank 2 in every cut.
fn values() -> Vec<f64> {
    (0..216).map(|n| ((1 + n / 36) * (2 + n / 6 % 6) + n % 6) as f64).collect()
}

/// Every fifth entry is missing, in another place of each row.
fn missing() -> Vec<bool> {
    (0..216).map(|n| (n * 7 + n / 6) % 5 == 0).collect()
}

fn place() -> Place {
    let place = Place::new();
    place.write("X.npy", npy("<f8", &[6, 6, 6], &doubles(&values())));
    let flags = |marks: bool| -> Vec<u8> {
        missing().iter().map(|&missing| u8::from(missing == marks)).collect()
    };
    place.write("missing.npy", npy("|b1", &[6, 6, 6], &flags(true)));
    place.write("observed.npy", npy("|u1", &[6, 6, 6], &flags(false)));
    let holed = values().into_iter().zip(missing()).map(|(x, m)| if m { f64::NAN } else { x });
    place.write("N.npy", npy("<f8", &[6, 6, 6], &doubles(&holed.collect::<Vec<_>>())));
    place
}

/// The entries of a .npy file of doubles.
fn entries(place: &Place, name: &str) -> Vec<f64> {
    let bytes = place.read(name);
    let data = &bytes[bytes.len() - 216 * 8..];
    data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn holes_are_filled_however_they_are_marked() {
    let place = place();
    let ways = [
        "X.npy --mask missing.npy",
        "X.npy --mask observed.npy --mask-marks observed",
        "N.npy --nan-missing",
        "N.npy --nan-missing --mask missing.npy --split 2x3,6,6",
        "X.npy --mask missing.npy --template path --folds 4",
    ];
    for way in ways {
        let (code, json) = place.json(&format!("complete {way} -o full.npy --threads 1"));
        assert_eq!(code, 0, "{way}");
        assert_eq!((&json["missing"], &json["observed"]), (&44.into(), &172.into()), "{way}");
        assert_eq!(json["proven"], "bounds do not hold with holes: nothing is proven");
        let held = &json["held_out"];
        // A tenth would be 17: too few, so every entry is held out once.
        let folds = if way.contains("folds") { 4 } else { 5 };
        assert_eq!((&held["folds"], &held["entries"]), (&folds.into(), &172.into()), "{way}");
        let (full, x) = (entries(&place, "full.npy"), values());
        for (k, missing) in missing().into_iter().enumerate() {
            let off = (full[k] - x[k]).abs();
            // Observed entries stay as they are, the others are found.
            assert!(off <= if missing { 0.5 } else { 0.0 }, "{way} {k}: {} {}", full[k], x[k]);
        }
    }
    let same = |threads: usize| {
        place.run(&format!("complete N.npy --nan-missing -o a.npy --threads {threads}"));
        place.read("a.npy")
    };
    assert_eq!(same(1), same(3));
    let said = place.run("complete N.npy --nan-missing").stdout;
    for words in ["20.4 % missing (44 of 216 entries)", "172 observed entries", "nothing is proven"]
    {
        assert!(said.contains(words), "{said} lacks '{words}'");
    }
}

#[test]
fn what_is_removed_is_measured() {
    let place = place();
    let choose = "complete X.npy --missing 0.3 --seed 1 --threads 1";
    for more in ["", " --method trals --rank 2"] {
        let (code, json) = place.json(&format!("{choose}{more} --network net.safetensors"));
        assert_eq!(code, 0);
        assert_eq!(json["recovered"]["entries"], 65);
        assert!(json["recovered"]["re"].as_f64().unwrap() < 0.05, "{json}");
        assert_eq!(json["held_out"].is_null(), !more.is_empty());
        assert!(json["recovered"]["psnr"].is_null(), "no picture");
        let (code, info) = place.json("info net.safetensors");
        assert_eq!((code, &info["params"]), (0, &json["params"]));
    }
}

#[test]
fn a_slice_without_entries_is_named_and_answered() {
    let place = Place::new();
    let x: Vec<f64> =
        (0..216).map(|n| if n / 6 % 6 == 3 { f64::NAN } else { 1.0 + (n % 6) as f64 }).collect();
    place.write("X.npy", npy("<f8", &[6, 6, 6], &doubles(&x)));
    let ended = place.run("complete X.npy --nan-missing -o full.npy");
    assert_eq!(ended.code, 0);
    assert!(ended.stderr.contains("no entry is observed at index 3 of mode 1"), "{}", ended.stderr);
    let full = entries(&place, "full.npy");
    assert!((0..216).all(|n| (full[n] - (1.0 + (n % 6) as f64)).abs() < 0.2), "{full:?}");
}

#[test]
fn searches_and_fits_take_masks() {
    let place = place();
    let search = "search X.npy --mask missing.npy --strategy tnls --lambda 10 --iterations 3 \
                  --samples 6 --max-rank 3 --threads 1 -o net.safetensors --journal run.jsonl";
    let (code, json) = place.json(search);
    assert_eq!(code, 0, "{json}");
    assert!(json["rse"].as_f64().unwrap() < 1e-2, "{json}");
    assert!(json["lower_bound"].is_null() && json["certified_optimal"] == false);
    let fit = "fit X.npy --mask missing.npy --structure net.safetensors --method lm";
    let (code, json) = place.json(fit);
    assert!(code == 0 && json["rse"].as_f64().unwrap() < 1e-2, "{json}");
    // Another mask is other data.
    place.refuses(
        &search.replace("missing.npy", "observed.npy").replace("-o net", "--resume -o n"),
        "run.jsonl",
    );
    let (code, _) = place.json(&format!("{search} --resume"));
    assert_eq!(code, 0);
    place.refuses("search X.npy --mask missing.npy --strategy exact", "bound");
}

#[test]
fn bad_masks_are_refused_in_a_line() {
    let place = place();
    place.write("other.npy", npy("|b1", &[6, 36], &[0; 216]));
    place.write("all.npy", npy("|b1", &[6, 6, 6], &[1; 216]));
    place.write("numbers.npy", npy("<f8", &[6, 6, 6], &doubles(&values())));
    place.write("none.npy", npy("|b1", &[6, 6, 6], &[0; 216]));
    place.write("tiny.npy", npy("<f8", &[2, 2], &doubles(&[1.0, 2.0, f64::NAN, 3.0])));
    for (args, words) in [
        ("X.npy", "which entries are missing? use --mask M.npy, --nan-missing or --missing SHARE"),
        ("N.npy --mask none.npy", "with --nan-missing NaN is taken as missing"),
        ("X.npy --mask other.npy", "the mask has shape [6, 36], the tensor [6, 6, 6]"),
        ("X.npy --mask all.npy", "every entry is missing; at least one must be observed"),
        (
            "X.npy --mask numbers.npy",
            "a mask is of true and false (or ones and zeros), and this holds 2",
        ),
        ("X.npy --mask none.npy", "nothing is missing"),
        ("X.npy --nan-missing", "nothing is missing"),
        ("X.npy --mask nothing.npy", "nothing.npy: no such file"),
        ("X.npy --missing 1.5", "--missing is 1.5; it must be above 0 and below 1"),
        ("X.npy --missing 0.3 --held-out 0", "held-out is 0; it must be above 0 and below 1"),
        ("X.npy --missing 0.3 --ridge -1", "ridge is -1; it must be a number from 0 on"),
        ("X.npy --missing 0.3 --method trals", "--method trals needs --rank R"),
        ("X.npy --missing 0.3 --rank 3", "--rank is that of trals; use --max-rank"),
        ("X.npy --missing 0.3 --template moebius", "moebius"),
        ("X.npy --missing 0.3 --max-seconds 0", "max-seconds"),
        ("X.npy --missing 0.3 --max-memory 1kB", "memory"),
        ("tiny.npy --nan-missing", "3 entries are observed; at least 20 are needed"),
        ("X.npy --mask missing.npy -o missing.npy", "--output and --mask are the same file"),
    ] {
        place.refuses(&format!("complete {args}"), words);
    }
    place.refuses("search N.npy", "with --nan-missing NaN is taken as missing");
    place.refuses("search X.npy --mask all.npy", "every entry is missing");
}
