//! Every bad input gets one clear line and exit code 2, before any work is done.

mod common;

use common::{Place, doubles, npy};

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    let good = npy("<f8", &[2, 2], &doubles(&[1., 2., 3., 4.]));
    place.write("cut.npy", &good[..good.len() - 1]);
    place.write("text.npy", "hello, this is no array");
    place.write("empty.npy", "");
    place.write("pickled.npy", npy("|O", &[2, 2], b"\x80\x04."));
    place.write("fields.npy", npy("[('a', '<f8'), ('b', '<i4')]", &[2], &[0; 24]));
    place.write("complex.npy", npy("<c32", &[2, 2], &[0; 128]));
    place.write("words.npy", npy("<U4", &[2, 2], &[0; 64]));
    place.write("unknown.npy", npy("<q9", &[2, 2], &[0; 64]));
    place.write("huge.npy", npy("<f8", &[1000, 1000, 1000], &[0; 64]));
    place.write("model.safetensors", b"\x02\0\0\0\0\0\0\0{}");
    std::fs::create_dir(place.path("folder.npy")).unwrap();
    for (name, words) in [
        ("nothing.npy", "nothing.npy: no such file"),
        ("nothing.npz:x", "nothing.npz: no such file"),
        ("folder.npy", "it is a directory"),
        ("cut.npy", "truncated: the header promises 4 entries of type f64 (32 bytes)"),
        ("text.npy", "not a .npy file"),
        ("empty.npy", "truncated: the file is empty"),
        ("pickled.npy", "'|O' (pickled Python objects) are not supported"),
        ("fields.npy", "'structured' (2 fields) are not supported"),
        ("complex.npy", "'<c32' (complex long double) are not supported"),
        ("words.npy", "'<U4' (text) are not supported"),
        ("unknown.npy", "'<q9' are not supported; use a boolean, integer, real or complex type"),
        ("huge.npy", "truncated: the header promises 1000000000 entries"),
        ("model.safetensors", "it has no arrays"),
        ("model.safetensors:w", "there is no array 'w' in it"),
    ] {
        place.refuses(&format!("search {name}"), words);
        place.refuses(&format!("info {name}"), words.trim_start_matches("it has no arrays"));
    }
}

#[test]
fn tensors_that_cannot_be_searched() {
    let place = Place::new();
    let nan = [1., f64::NAN, 3., 4., 5., 6.];
    let infinite = [1., 2., 3., 4., 5., f64::NEG_INFINITY];
    place.write("zero-size.npy", npy("<f8", &[3, 0], &[]));
    place.write("number.npy", npy("<f8", &[], &doubles(&[1.])));
    place.write("vector.npy", npy("<f8", &[4], &doubles(&[1., 2., 3., 4.])));
    place.write("nan.npy", npy("<f8", &[2, 3], &doubles(&nan)));
    place.write("infinite.npy", npy("<f8", &[2, 3], &doubles(&infinite)));
    place.write("zero.npy", npy("<f8", &[2, 3], &[0; 48]));
    for (name, words) in [
        ("zero-size.npy", "zero-size.npy: dimension 1 is 0 in shape [3, 0]"),
        ("number.npy", "a network needs at least 2 (reshape it first)"),
        ("vector.npy", "the array has 1 mode(s), shape [4]; a network needs at least 2"),
        ("nan.npy", "nan.npy: the entry at index [0, 1] is NaN"),
        ("infinite.npy", "the entry at index [1, 2] is -inf"),
        ("zero.npy", "every entry is zero"),
    ] {
        place.refuses(&format!("search {name}"), words);
        assert_eq!(place.run(&format!("info {name}")).code, 0, "info shows what is there");
    }
}

#[test]
fn templates_and_structures() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let graph = |modes: usize, edges: &str| {
        let vertices = vec!["{\"mode\":true}"; modes].join(",");
        format!("{{\"vertices\":[{vertices}],\"edges\":{edges}}}")
    };
    place.write("apart.json", graph(4, "[[0,1],[2,3]]"));
    place.write("loop.json", graph(4, "[[0,1],[1,1],[1,2],[2,3]]"));
    place.write("twice.json", graph(4, "[[0,1],[1,0],[1,2],[2,3]]"));
    place.write("three.json", graph(3, "[[0,1],[1,2]]"));
    place.write("far.json", graph(4, "[[0,1],[1,2],[2,9]]"));
    place.write("broken.json", "{\"vertices\":");
    for (template, words) in [
        ("rong", "unknown template 'rong'"),
        ("peps:2x3", "cannot carry 4 modes"),
        ("apart.json", "apart.json: bad graph: it is not connected"),
        ("loop.json", "joins a vertex to itself"),
        ("twice.json", "edge [0,1] stands twice"),
        ("far.json", "names a vertex that is not there"),
        ("three.json", "has 3 external vertices, but the tensor has 4 modes"),
        ("broken.json", "broken.json: bad graph"),
        ("none.json", "none.json: no such file"),
    ] {
        place.refuses(&format!("search x.npy --template {template}"), words);
    }
    for (structure, words) in [
        ("[", "s.json: "),
        ("{\"template\":\"ring\"}", "missing field `permutation`"),
        (r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,1,0]]}"#, "rank 0"),
        (r#"{"template":"ring","permutation":[0,1,2,2],"edges":[]}"#, "bad permutation"),
        (r#"{"template":"ring","permutation":[0,1,2],"edges":[]}"#, "the tensor has 4 modes"),
        (r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,2,2]]}"#, "no such edge"),
    ] {
        place.write("s.json", structure);
        place.refuses("fit x.npy --structure s.json", words);
        place.refuses("bound x.npy --structure s.json", words);
    }
    place.refuses("fit x.npy --structure none.json", "none.json: no such file");
    place.refuses("bound x.npy --structure none.json", "none.json: no such file");
}

#[test]
fn what_cannot_be_bounded_or_certified() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.ring("y.npy", 5, 1);
    let structure = r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,1,2]]}"#;
    place.write("s.json", structure);
    assert_eq!(place.run("fit x.npy --structure s.json -o net -q").code, 0);
    place.write("cut", &place.read("net")[..200]);
    let star: String = (1..70).map(|v| format!(",[0,{v}]")).collect();
    let inner = vec!["{\"mode\":false}"; 66].join(",");
    let modes = ["{\"mode\":true}"; 4].join(",");
    place.write(
        "star.json",
        format!("{{\"vertices\":[{modes},{inner}],\"edges\":[{}]}}", &star[1..]),
    );
    for (args, words) in [
        ("certify x.npy --template peps:2x3", "cannot carry 4 modes"),
        ("certify x.npy --template rong", "unknown template 'rong'"),
        ("certify x.npy --template star.json", "has 70 vertices; bounds over all structures need"),
        ("certify x.npy --max-rse 0", "max-rse is 0; it must be above 0 and below 1"),
        ("certify x.npy --max-rse 1.5", "max-rse is 1.5"),
        ("certify x.npy --max-rse nan", "max-rse is NaN"),
        ("certify x.npy --lambda -1", "lambda is -1; it must be a positive number"),
        ("certify x.npy --max-params 0", "'--max-params <P>'"),
        ("certify x.npy --lambda 1 --max-rse 0.1", "cannot be used with"),
        ("certify x.npy --max-rank 0", "'--max-rank <R>'"),
        ("certify x.npy --nodes 0", "'--nodes <N>'"),
        ("certify x.npy --threads 5000", "threads is 5000; it must be at most 4096"),
        (
            "certify y.npy --net net",
            "net: the network is for a tensor 3 x 3 x 3 x 3, not 3 x 3 x 3 x 3 x 3",
        ),
        ("certify x.npy --net none", "none: no such file"),
        ("certify x.npy --net cut", "cut: "),
        ("certify x.npy --net x.npy", "x.npy: not a network written by tnsearch"),
        ("certify x.npy --net net --json net", "--json and --net are the same file"),
        ("certify x.npy --max-memory 2kB", "only half of 2.0 kB may be used"),
        ("certify none.npy", "none.npy: no such file"),
        ("bound y.npy --structure s.json", "the tensor has 5 modes"),
        ("bound x.npy --structure s.json --json x.npy", "--json and the tensor are the same file"),
        ("bound x.npy --structure s.json --max-memory 2kB", "only half of 2.0 kB may be used"),
        ("bound x.npy", "--structure <FILE>"),
    ] {
        place.refuses(args, words);
    }
}

#[test]
fn settings_and_budgets() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    for (args, words) in [
        ("--max-rank 0", "it must be a whole number of at least 1"),
        ("--max-rank -2", "invalid value '-2' for '--max-rank <R>'"),
        ("--max-evaluations 0", "'--max-evaluations <N>'"),
        ("--max-seconds 0", "max-seconds is 0; it must be a positive number"),
        ("--max-seconds nan", "max-seconds is NaN"),
        ("--threads 0", "'--threads <N>'"),
        ("--runs 0", "'--runs <K>'"),
        ("--runs 1000000000000", "structures at a time; use fewer"),
        ("--samples 0", "'--samples <N>'"),
        ("--iterations 0", "'--iterations <N>'"),
        ("--strategy tnls --c1 0", "c1 is 0; it must be above 0 and at most 1"),
        ("--no-direct --c2 1.5", "c2 is 1.5; it must be above 0 and at most 1"),
        (
            "--template ring --samples 9",
            "samples is 9; the default search walks from direct methods",
        ),
        ("--c1 0.5", "use --strategy tnls or --no-direct with it"),
        ("--no-direct --width 3", "width is 3; this search has no walks"),
        ("--template ht --patience 3", "patience is 3; this search has no walks"),
        ("--lambda -1", "lambda is -1; it must be a positive number"),
        ("--lambda inf", "lambda is inf"),
        ("--max-rse 0", "max-rse is 0; it must be above 0 and below 1"),
        ("--max-params 0", "'--max-params <P>'"),
        ("--max-params 5", "with all ranks 1 this template has 12 params"),
        ("--lambda 1 --max-rse 0.1", "cannot be used with"),
        ("--restarts 0", "'--restarts <N>'"),
        ("--max-sweeps 0", "'--max-sweeps <N>'"),
        ("--tolerance 1", "tolerance is 1"),
        ("--stop-rse 2", "stop-rse is 2"),
        ("--sigma 0", "sigma is 0"),
        ("--learning-rate -1", "learning-rate is -1"),
        ("--fit newton", "use als, adam or lm"),
        ("--nodes 0", "'--nodes <N>'"),
        ("--strategy guess", "unknown strategy 'guess'; use auto, exact, tnls, tnale, tnga-plus"),
        (
            "--strategy tnls --nodes 9",
            "--nodes is no option of strategy tnls; its own are: --iterati",
        ),
        (
            "--strategy greedy --samples 9",
            "--samples is no option of strategy greedy; its own are: none",
        ),
        ("--strategy tnga-plus --c2 0.9", "--c2 is no option of strategy tnga-plus"),
        ("--alpha 3", "--alpha is no option of strategy auto"),
        (
            "--strategy tnga-star --elimination 1",
            "elimination is 1; it must be at least 0 and below 1",
        ),
        ("--strategy tnga-plus --population 1", "population is 1; it must be at least 2"),
        ("--strategy tnga-plus --population 2000000", "more than 1000000 structures at a time"),
        ("--strategy annealing --temperature 0", "temperature is 0; it must be a positive number"),
        ("--strategy tnale --radius 0", "'--radius <N>'"),
        ("--max-phi 0", "max-phi is 0; it must be above 0"),
        ("--max-cost -1", "max-cost is -1; it must be a positive number"),
        ("--strategy exact --max-memory 2kB", "needs 2.6 kB of memory, but only half of 2.0 kB"),
        ("--max-memory lots", "it must be an amount such as 500MB"),
        ("--max-memory 100B", "its 81 entries need 648 bytes of memory"),
        ("--resume", "--journal <FILE>"),
        ("--colour", "unexpected argument '--colour' found"),
    ] {
        place.refuses(&format!("search x.npy {args}"), words);
    }
    place.refuses("", "no command given");
    place.refuses("serch x.npy", "search");
    place.refuses("search", "<TENSOR>");
    place.refuses("reconstruct x.npy -o y.npy", "not a network written by tnsearch");
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    std::fs::create_dir(place.path("folder")).unwrap();
    for (args, words) in [
        ("-o none/net.safetensors", "cannot write none/net.safetensors: there is no directory"),
        ("-o folder", "cannot write folder: it is a directory"),
        ("--json folder", "cannot write folder: it is a directory"),
        ("--journal folder", "journal folder: it is a directory"),
        ("--journal none/run.jsonl", "journal none/run.jsonl: no such file or directory"),
        ("-o x.npy", "--output and the tensor are the same file"),
        ("-o out --json out", "--json and --output are the same file"),
        ("--journal run --json run", "--journal and --json are the same file"),
    ] {
        // Were the work begun, this would take hours.
        place.refuses(&format!("search x.npy --strategy tnls --iterations 1000000 {args}"), words);
    }
    #[cfg(target_os = "linux")]
    place.refuses("search x.npy -o /proc/net.safetensors", "cannot write /proc/net.safetensors");
    #[cfg(target_os = "linux")]
    place.refuses("search x.npy --journal /dev/full", "no space left on device");
}

#[cfg(target_os = "linux")]
#[test]
fn a_tensor_beyond_memory_is_refused_with_a_figure() {
    let place = Place::new();
    let header = npy("<f8", &[1000, 1000, 1000, 1000], &[]);
    place.write("x.npy", &header);
    // Eight terabytes on paper, nothing on the disk.
    let file = std::fs::OpenOptions::new().append(true).open(place.path("x.npy")).unwrap();
    if file.set_len(header.len() as u64 + 8_000_000_000_000).is_err() {
        return; // a file system without such files
    }
    place.refuses("search x.npy", "its 1000000000000 entries need 8000.00 GB of memory");
    place.refuses("info x.npy --max-memory 2GB", "only 2.00 GB is allowed by --max-memory");
}
