//! Files and names that would hang the command, take its memory, act on the terminal or be two things at once.
#![cfg(unix)]

mod common;

use common::{Held, Place, doubles, npy};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

/// The command in a shell, with 2 GB of memory; its code, and both outputs as text.
fn shell(place: &Place, script: &str) -> (i32, String, String) {
    let binary = assert_cmd::cargo::cargo_bin("tnsearch");
    let script =
        format!("ulimit -v 4000000; tnsearch() {{ {} \"$@\"; }}; {script}", binary.display());
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(place.dir()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn refuses(place: &Place, script: &str, words: &str) {
    let (code, _, stderr) = shell(place, script);
    assert_eq!((code, stderr.lines().count()), (2, 1), "{script}: {stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(words), "{script}: {stderr}");
}

#[test]
fn what_has_no_end_or_no_writer_is_refused_by_every_reader() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    shell(&place, "mkfifo pipe");
    for (path, words) in [("/dev/zero", ""), ("pipe", "pipe")] {
        for args in [
            "fit x.npy --structure PATH",
            "bound x.npy --structure PATH",
            "certify x.npy --max-rse 0.1 --net PATH",
            "search x.npy --template PATH",
            "space --template PATH --order 4",
            "distance PATH PATH",
            "report PATH -o page.html",
            "watch PATH --once",
            "info PATH",
            "pick PATH --params 10 -o n.safetensors",
            "reconstruct PATH -o y.npy",
            "compress-model PATH --keep-re 0.1 -o m.safetensors",
            "decompress-model PATH -o m.safetensors",
            "search PATH",
            "search x.npy --mask PATH",
            "tgp train PATH -o model.safetensors",
        ] {
            refuses(&place, &format!("tnsearch {}", args.replace("PATH", path)), words);
        }
    }
    refuses(&place, "tnsearch fit x.npy --structure /dev/zero", "longer than 67.1 MB");
    refuses(&place, "tnsearch distance pipe pipe", "a pipe that nobody writes into");
}

#[test]
fn a_pipe_of_the_shell_is_read_once() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.write(
        "s.json",
        r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,1,2],[1,2,2],[2,3,2],[0,3,2]]}"#,
    );
    place.write("g.json", r#"{"vertices":[{"mode":true},{"mode":true},{"mode":true},{"mode":true}],"edges":[[0,1],[1,2],[2,3]]}"#);
    for script in [
        "tnsearch fit x.npy --structure <(cat s.json) --restarts 1 --max-sweeps 2 --quiet",
        "cat s.json | tnsearch fit x.npy --structure /dev/stdin --restarts 1 --max-sweeps 2 --quiet",
        "tnsearch distance <(cat s.json) <(cat s.json) --quiet",
        "tnsearch info <(cat s.json) --quiet",
        "tnsearch space --template <(cat g.json) --order 4 --quiet",
    ] {
        let (code, _, stderr) = shell(&place, script);
        assert_eq!((code, stderr.as_str()), (0, ""), "{script}");
    }
}

#[test]
fn names_from_files_do_not_act_on_the_terminal() {
    let place = Place::new();
    let header = r#"{"a\u001b[2Jx\u202e":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]},"b\nc":{"dtype":"F64","shape":[1,2],"data_offsets":[16,32]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend([0; 32]);
    place.write("esc.safetensors", &file);
    place.write("descr.npy", npy("<f\u{1b}[2J", &[2, 2], &doubles(&[1.0; 4])));
    for args in [
        "info esc.safetensors",
        "search esc.safetensors",
        "info descr.npy",
        "info esc.safetensors:\u{1b}[2J",
    ] {
        let ended = place.run(args);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.is_empty());
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.contains(acts), "{args}: {said:?}");
    }
    let shown = place.run("info esc.safetensors").stdout;
    assert!(shown.contains("a\\u{1b}[2Jx\\u{202e}") && shown.contains("b\\nc"), "{shown}");
}

#[test]
fn an_output_whose_name_is_no_text_is_written_and_summed_up() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let name = std::ffi::OsStr::from_bytes(b"n\xff.safetensors");
    let output = Command::new(assert_cmd::cargo::cargo_bin("tnsearch"))
        .args(
            "decompose x.npy --method tt-svd --max-rse 0.1 --json sum.json --quiet -o"
                .split_whitespace(),
        )
        .arg(name)
        .current_dir(place.dir())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(place.dir().join(name).exists());
    let summary: serde_json::Value = serde_json::from_slice(&place.read("sum.json")).unwrap();
    assert_eq!(summary["output"], "n\u{fffd}.safetensors");
}

#[test]
fn one_file_under_two_names_is_seen() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    std::fs::create_dir(place.path("d")).unwrap();
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(from, place.path(to)).unwrap();
    link("net", "to-net");
    link("../net", "d/up");
    link("to-net", "to-link");
    link("x.npy", "to-x");
    std::fs::hard_link(place.path("x.npy"), place.path("hard")).unwrap();
    for args in [
        "search x.npy -o net --journal to-net",
        "search x.npy -o to-net --journal ./net",
        "search x.npy -o d/up --journal to-link",
        "search x.npy -o d/../net --json net",
        "search x.npy --report to-link --journal d/up",
        "search x.npy -o to-x",
        "search x.npy --journal hard",
        "search x.npy -o ./d/../x.npy",
        "decompose x.npy --method tt-svd --max-rse 0.1 -o hard",
    ] {
        place.refuses(args, "are the same file");
    }
    assert_eq!(place.run("search x.npy -o /dev/null --json /dev/null --quiet").code, 0);
}

#[test]
fn what_is_to_blame_is_named() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let said = |args: &str| place.run(args).stdout;
    let phi = said("search x.npy --max-phi 0.01 --strategy greedy");
    assert!(phi.contains("too large for --max-phi; try a larger one"), "{phi}");
    let ranks = said("search x.npy --lambda 1e300 --max-evaluations 1");
    assert!(ranks.contains("phi + 1e300 * RSE"), "{ranks}");
    place.refuses("search x.npy --max-phi -1e300", "max-phi is -1e300; it must be above 0");
    place.refuses("search x.npy --max-memory 1", "its 81 entries need 648 bytes");
    // As numpy: `f` is a number of 32 bits, the last of two equal keys counts.
    let ones = [1f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
    place.write("f.npy", npy("<f", &[2, 2], &ones));
    assert!(said("info f.npy").contains("f32"));
    let twice = npy("<f8', 'descr': '<f4", &[2, 2], &ones);
    place.write("twice.npy", twice);
    assert!(said("info twice.npy").contains("f32"));
    place.write("huge.npy", npy("<f8", &[usize::MAX / 2, usize::MAX / 2], &[]));
    place.refuses("info huge.npy", "promises 8.5e37 entries of type f64 (more than 10^38 bytes)");
}

#[test]
fn a_command_that_is_ended_while_it_writes_leaves_nothing() {
    let place = Place::new();
    let args = "generate --template path --order 4 --dim 40 --ranks 2..2 --seed 1 --quiet -o";
    assert_eq!(place.run(&format!("{args} big.npy")).code, 0);
    assert_eq!(
        place.run("decompose big.npy --method tt-svd --max-rse 1e-6 -o net --quiet").code,
        0
    );
    for signal in ["-TERM", "-INT"] {
        let mut held = Held::start(&place, "reconstruct net -o y.npy --quiet");
        // A temporary file that something was written to.
        let writing = || {
            let entries = std::fs::read_dir(place.dir()).unwrap().flatten();
            let mut temporary =
                entries.filter(|e| e.file_name().to_string_lossy().starts_with(".tnsearch-"));
            temporary.any(|e| e.metadata().is_ok_and(|about| about.len() > 0))
        };
        if !held.until(writing) {
            held.signal(signal);
        }
        let code = held.end().code();
        let left = place.names();
        assert!(!left.iter().any(|name| name.starts_with(".tnsearch-")), "{left:?}");
        // It may have been done.
        match place.path("y.npy").exists() {
            true => assert_eq!(place.run("info y.npy --quiet").code, 0),
            false => assert_eq!(code, Some(130)),
        }
        let _ = std::fs::remove_file(place.path("y.npy"));
    }
}
