//! Pictures as tensors, and pictures and arrays compressed.

mod common;

use common::{Place, doubles, npy};
use serde_json::{Value, json};
use tnsearch_io::Picture;

/// A gradient with a bright disc: easy to compress, and not of low rank.
fn scene(place: &Place, name: &str, height: usize, width: usize, channels: usize) -> Vec<u8> {
    let mut samples = Vec::new();
    for r in 0..height {
        for c in 0..width {
            let (y, x) = (r as f64 / height as f64, c as f64 / width as f64);
            let disc = if (y - 0.4).hypot(x - 0.6) < 0.3 { 0.3 } else { 0.0 };
            let tone = 0.2 + 0.4 * x + 0.1 * (6.0 * y).sin() + disc;
            samples.extend([tone, 0.8 * tone, 1.0 - tone].iter().take(channels));
        }
    }
    let picture = Picture::new(height, width, channels, samples).unwrap();
    place.write(name, picture.to_png().unwrap());
    picture.bytes()
}

fn bytes(place: &Place, name: &str) -> (Vec<usize>, Vec<u8>) {
    let limit = tnsearch_io::MemoryLimit::new(None);
    let read = tnsearch_io::picture::read(&place.path(name), limit).unwrap();
    (read.dims(), read.bytes())
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / squares).log10()
}

#[test]
fn a_picture_is_searched_and_comes_back() {
    let place = Place::new();
    let own = scene(&place, "x.png", 16, 16, 1);
    let cases = [
        ("", json!([4, 4, 4, 4])),
        ("--tensorise vdt --factors 4x4,2x4,2x1", json!([16, 8, 2])),
        ("--tensorise reshape", json!([4, 4, 4, 4])),
        ("--tensorise none", json!([16, 16])),
        ("--split 4x4,16", json!([4, 4, 16])),
    ];
    for (options, to) in cases {
        let search =
            format!("search x.png {options} --template path --max-re 0.08 -o net.safetensors");
        let (code, found) = place.json(&search);
        assert_eq!((code, &found["dims"]), (0, &to), "{options}: {found}");
        assert_eq!(found["reshaped"]["from"], json!([16, 16]));
        assert_eq!(place.run("reconstruct net.safetensors -o z.png").code, 0);
        let (dims, z) = bytes(&place, "z.png");
        assert_eq!(dims, [16, 16]);
        assert!(psnr(&own, &z) > 24.0, "{options}: {}", psnr(&own, &z));
        let (_, made) = place.json("reconstruct net.safetensors -o z.npy");
        assert_eq!(made["dims"], json!([16, 16]));
        // The network alone says how the picture became a tensor.
        let (code, fitted) = place.json("fit x.png --structure net.safetensors");
        assert_eq!((code, &fitted["reshaped"]), (0, &found["reshaped"]), "{options}");
    }
    assert!(place.run("info x.png").stdout.contains("16 x 16"));
    let text = place.run("search x.png --max-re 0.1").stdout;
    assert!(text.contains("16 x 16 -> 4 x 4 x 4 x 4, digits of row and column: d0 d1"), "{text}");
}

#[test]
fn what_was_done_to_a_picture_is_done_again() {
    let place = Place::new();
    scene(&place, "x.png", 13, 22, 3);
    let steps = "--grey --resize 11x17 --crop";
    let search = format!("search x.png {steps} --template path --max-re 0.1 --pareto front");
    let (code, found) = place.json(&format!("{search} --journal run.jsonl"));
    assert_eq!((code, &found["reshaped"]["from"]), (0, &json!([10, 16])));
    let picture = json!({"grey": true, "resize": [11, 17], "crop": [10, 16]});
    assert_eq!(found["reshaped"]["picture"], picture);
    let (code, picked) = place.json("pick run.jsonl --max-re 0.1");
    assert_eq!((code, &picked["params"]), (0, &found["params"]), "{picked}");
    // Sides that have no small factors are made longer, and cut off again.
    let (_, found) = place.json("search x.png --template path --max-re 0.1 -o net.safetensors");
    assert_eq!(found["reshaped"]["padded"], json!([14, 24, 3]));
    assert_eq!(place.run("reconstruct net.safetensors -o z.png").code, 0);
    assert_eq!(bytes(&place, "z.png").0, [13, 22, 3]);
}

#[test]
fn a_picture_is_compressed_and_comes_back() {
    let place = Place::new();
    let own = scene(&place, "x.png", 11, 17, 3);
    let mut sizes = Vec::new();
    for cores in ["f64", "f32", "f16"] {
        let run = format!(
            "compress x.png -o x.net --psnr 24 --cores {cores} --page page.html --max-seconds 600 --template path"
        );
        let (code, made) = place.json(&run);
        assert_eq!(code, 0, "{made}");
        assert_eq!(made["bytes_before"], place.read("x.png").len());
        assert_eq!(made["bytes"], place.read("x.net").len());
        sizes.push(place.read("x.net").len());
        let added = number(&made["re"]) - number(&made["re_unrounded"]);
        assert!(added.abs() < if cores == "f16" { 1e-3 } else { 1e-6 }, "{cores}: {added}");
        let (code, back) = place.json("decompress x.net -o z.png");
        assert_eq!((code, &back["shape"], &back["dtype"]), (0, &json!([11, 17, 3]), &json!("u8")));
        let (dims, z) = bytes(&place, "z.png");
        assert_eq!(dims, [11, 17, 3]);
        assert!((psnr(&own, &z) - number(&made["psnr"])).abs() < 1e-9, "{made}");
        assert!(number(&made["psnr"]) >= 24.0 - 1e-3);
        let page = String::from_utf8(place.read("page.html")).unwrap();
        assert_eq!(page.matches("data:image/png;base64,").count(), 3);
        // The same samples as an array.
        assert_eq!(place.run("decompress x.net -o z.npy").code, 0);
        assert!(place.read("z.npy").ends_with(&z));
        assert!(place.run("info x.net").stdout.contains("11 x 17 x 3"));
    }
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn arrays_come_back_with_their_shape_and_type() {
    let place = Place::new();
    let values: Vec<f64> =
        (0..240).map(|k| (f64::from(k % 60) / 9.0).sin() * 90.0 + 100.0).collect();
    let small: Vec<u8> = values.iter().map(|&x| x as u8).collect();
    let single: Vec<u8> = values.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
    place.write("u1.npy", npy("|u1", &[4, 6, 10], &small));
    place.write("f4.npy", npy("<f4", &[4, 60], &single));
    place.write("f8.npy", npy("<f8", &[2, 2, 60], &doubles(&values)));
    for (name, dtype, shape) in [
        ("u1", "u8", json!([4, 6, 10])),
        ("f4", "f32", json!([4, 60])),
        ("f8", "f64", json!([2, 2, 60])),
    ] {
        let (code, made) =
            place.json(&format!("compress {name}.npy -o a.net --re 0.05 --max-seconds 600"));
        assert_eq!((code, &made["dtype"], &made["shape"]), (0, &json!(dtype), &shape), "{made}");
        assert!(number(&made["re"]) <= 0.05);
        assert_eq!(place.run("decompress a.net -o b.npy").code, 0);
        let (_, info) = place.json("info b.npy");
        assert_eq!((&info["dtype"], &info["dims"]), (&json!(dtype), &shape));
    }
    let (code, made) = place.json("compress f8.npy -o a.net --max-params 80 --max-seconds 600");
    assert_eq!(code, 0, "{made}");
    assert!(made["params"].as_u64().unwrap() <= 80);
    let text = place.run("compress f8.npy -o a.net --psnr 20 --max-seconds 600").stdout;
    assert!(
        text.contains("the largest absolute value") && text.contains("rounded to f32"),
        "{text}"
    );
    let missed = place.run("compress f8.npy -o a.net --max-params 1 --max-seconds 600");
    assert!(missed.code == 1 || missed.code == 2, "{missed:?}");
    place.refuses("decompress a.net -o b.png", "it holds an array of type f64; write it as .npy");
    place.refuses(
        "compress f8.npy -o c.net --page p.html",
        "--page shows pictures; f8.npy is an array",
    );
}

#[test]
fn pictures_that_cannot_be_taken() {
    let place = Place::new();
    scene(&place, "x.png", 8, 8, 3);
    scene(&place, "dot.png", 1, 1, 1);
    let whole = place.read("x.png");
    place.write("cut.png", &whole[..whole.len() / 2]);
    place.write("words.png", "hello");
    place.write("words.jpg", "hello");
    place.write("empty.png", "");
    let black = Picture::new(4, 4, 1, vec![0.0; 16]).unwrap();
    place.write("black.png", black.to_png().unwrap());
    place.write("v.npy", npy("<f8", &[2, 2, 2], &doubles(&[1.0; 8])));
    place.write("net.json", r#"{"template":"path","permutation":[0,1],"edges":[[0,1,2]]}"#);
    for command in ["search", "compress -o n.net"] {
        for (args, words) in [
            ("words.png", "words.png: not a .png file: it does not start with PNG's signature"),
            ("words.jpg", "words.jpg: not a .jpg file: it does not start with JPEG's signature"),
            ("empty.png", "truncated: the file is empty"),
            ("cut.png", "cut.png: "),
            ("black.png", "every entry is zero"),
            ("x.png --max-memory 100", "x.png: its 192 entries need 1.7 kB of memory"),
            (
                "x.png --resize 0x5",
                "--resize: '0x5' is no size; use rows x columns such as 256x256",
            ),
            ("x.png --resize 5", "--resize: '5' is no size"),
            (
                "x.png --resize 5x99999",
                "x.png: a picture cannot be resized to 5 x 99999; sides are 1 to 65535",
            ),
            (
                "x.png --tensorise vdt --factors 2y2",
                "--factors: unknown digits '2y2'; use sizes such as 2x2",
            ),
            (
                "x.png --tensorise vdt --factors 2x2",
                "x.png: the digits give 2 x 2, too few for 8 x 8 x 3",
            ),
            (
                "x.png --tensorise reshape --factors 4x4,2x2",
                "the digits give 16 x 4, too few for 8 x 8 x 3",
            ),
            ("x.png --tensorise none --factors 2x2", "--factors needs --tensorise vdt or reshape"),
            ("x.png --factors 2x2", "--tensorise"),
            ("x.png --tensorise vdt --split 4", "--tensorise"),
            ("x.png --tensorise cube", "cube"),
            (
                "v.npy --grey",
                "v.npy: a picture needs real numbers of shape H x W or H x W x 3, not f64 of shape [2, 2, 2]",
            ),
        ] {
            place.refuses(&format!("{command} {args}"), words);
        }
    }
    for (args, words) in [
        ("--re 1.5", "re is 1.5; it must be above 0 and below 1"),
        ("--psnr 90", "psnr is 90; samples of 8 bits are rounded, which alone gives 58.9 dB"),
        ("--psnr 1", "zeros alone reach"),
        ("--psnr nan", "psnr is NaN; it must be a number of dB above 0"),
        ("--re 0.1 --psnr 30", "cannot be used with"),
        ("--cores f8", "use f16, f32 or f64"),
        ("--max-seconds 0", "max-seconds is 0"),
        ("--page x.png", "--page and the input are the same file"),
        ("--template rong", "rong"),
    ] {
        place.refuses(&format!("compress x.png -o n.net {args}"), words);
    }
    let one = place.run("compress dot.png -o dot.net");
    assert!(one.code == 0 || one.stderr.lines().count() == 1, "{one:?}");
    assert_eq!(place.run("fit v.npy --structure net.json").code, 2);
    place.refuses("decompress x.png -o y.png", "x.png: not a network written by tnsearch");
    scene(&place, "t.png", 8, 8, 1);
    assert_eq!(place.run("search t.png --template path --max-re 0.1 -o t.net").code, 0);
    place.refuses(
        "decompress t.net -o y.png",
        "t.net: it was not made by 'compress'; 'reconstruct' gives its tensor",
    );
    place.write("big.npy", npy("<f8", &[2, 3, 4], &doubles(&[2.0; 24])));
    assert_eq!(place.run("search big.npy --template path -o big.net").code, 0);
    place.refuses(
        "reconstruct big.net -o y.png",
        "a picture needs real numbers of shape H x W or H x W x 3",
    );
}
