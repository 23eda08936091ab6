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
    assert!(phi.contains("0.01 times the tensor's entries as params or more (--max-phi)"), "{phi}");
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

/// Who asks a command to end is not kept waiting by a pipe that nobody reads from, or that is full.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn a_pipe_that_nobody_reads_from_does_not_hold_a_command_that_is_to_end() {
    for (option, pipe) in [("-o", "pipe"), ("--json", "pipe"), ("--report", "pipe"), ("-o", "link")]
    {
        for signal in ["-TERM", "-INT"] {
            let place = Place::new();
            place.ring("x.npy", 4, 1);
            shell(&place, "mkfifo pipe; ln -s pipe link");
            let args =
                format!("search x.npy --template ring --strategy tnls --quiet {option} {pipe}");
            let held = Held::at(&place, "evaluation 2", &args);
            held.signal(signal);
            assert_eq!(held.end().code(), Some(2), "{option} {signal}");
            let said = place.stderr();
            let last = said.lines().last().unwrap_or_default();
            let words = format!("error: cannot write {pipe}: it is a pipe that nobody reads from");
            assert_eq!(last, words, "{option} {signal}: {said}");
            // Neither of them has become a file.
            let (_, types, _) = shell(&place, "stat -c %F pipe link");
            assert_eq!(types, "fifo\nsymbolic link\n");
        }
    }
}

/// What is written on the way, and what only a file can be, is refused before the work where nobody reads from a pipe: every
/// option that names a file to write which is not written at the end alone.
#[test]
fn a_pipe_that_nobody_reads_from_is_refused_where_it_would_be_written_on_the_way() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let entries = doubles(&(0..1024).map(|k| f64::from(k % 37)).collect::<Vec<_>>());
    let mut model = br#"{"w":{"dtype":"F64","shape":[32,32],"data_offsets":[0,8192]}}"#.to_vec();
    let length = (model.len() as u64).to_le_bytes();
    model.splice(0..0, length);
    model.extend(entries);
    place.write("m.safetensors", model);
    shell(&place, "mkfifo pipe out.part out2.journal; ln -s pipe link");
    let models = "a model is written to a file, not to a device or a pipe";
    for (args, words) in [
        ("search x.npy --journal pipe", "journal pipe: it is a pipe that nobody reads from"),
        ("search x.npy --journal link", "journal link: it is a pipe that nobody reads from"),
        ("search x.npy --journal pipe --resume", "it is a pipe that nobody reads from"),
        ("compress-model m.safetensors -o pipe", models),
        ("compress-model m.safetensors -o link", models),
        ("compress-model m.safetensors -o out", models),
        ("compress-model m.safetensors -o out --resume", models),
        ("compress-model m.safetensors -o out2", "it is a pipe that nobody reads from"),
        ("compress-model m.safetensors -o good --dense pipe", models),
        ("decompress-model m.safetensors -o pipe", models),
    ] {
        refuses(&place, &format!("tnsearch {args}"), words);
    }
    assert!(!place.path("good").exists() && !place.path("good.journal").exists());
    // A reader gets every line.
    let search = "tnsearch search x.npy --template ring --strategy random --iterations 2 --samples 4 --seed 1";
    let script = format!(
        "cat pipe > copy & exec 9>pipe; {search} --journal pipe --quiet; exec 9>&-; wait $!"
    );
    let (code, _, said) = shell(&place, &script);
    assert_eq!((code, &*said), (0, ""));
    assert_eq!(place.run("report copy -o page.html --quiet").code, 0);
    assert!(String::from_utf8(place.read("copy")).unwrap().lines().count() > 8);
}

#[test]
fn a_pipe_with_a_reader_gets_all_also_where_he_comes_late() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let args = "tnsearch fit x.npy --structure s.json --quiet";
    place.write(
        "s.json",
        r#"{"template":"ring","permutation":[0,1,2,3],"edges":[[0,1,2],[1,2,2],[2,3,2],[0,3,2]]}"#,
    );
    let (code, _, said) = shell(&place, &format!("{args} -o file"));
    assert_eq!((code, &*said), (0, ""));
    let script = format!("mkfifo pipe; {args} -o pipe & cat pipe > copy; wait $!");
    assert_eq!(shell(&place, &script), (0, String::new(), String::new()));
    assert_eq!(place.read("copy"), place.read("file"));
}

#[test]
fn an_output_on_a_link_to_nothing_makes_what_it_points_to() {
    let place = Place::new();
    std::fs::create_dir(place.path("far")).unwrap();
    std::os::unix::fs::symlink("far/y.npy", place.path("link")).unwrap();
    let args = "generate --template path --order 3 --dim 3 --ranks 2..2 --seed 1 --quiet -o";
    assert_eq!(place.run(&format!("{args} link")).code, 0);
    assert!(std::fs::symlink_metadata(place.path("link")).unwrap().is_symlink());
    assert_eq!(place.run(&format!("{args} plain")).code, 0);
    assert_eq!(place.read("far/y.npy"), place.read("plain"));
    std::os::unix::fs::symlink("no/y.npy", place.path("lost")).unwrap();
    place.refuses(&format!("{args} lost"), "there is no directory");
}

#[test]
fn a_killed_command_leaves_a_file_that_a_later_one_removes() {
    let place = Place::new();
    let args = "generate --template path --order 4 --dim 40 --ranks 2..2 --seed 1 --quiet -o";
    assert_eq!(place.run(&format!("{args} big.npy")).code, 0);
    let decompose = "decompose big.npy --method tt-svd --max-rse 1e-6 -o net --quiet";
    assert_eq!(place.run(decompose).code, 0);
    let temporary = || {
        let mut names = place.names();
        names.retain(|name| name.starts_with(".tnsearch-"));
        names
    };
    let mut held = Held::start(&place, "reconstruct net -o y.npy --quiet");
    let written = |name: &String| place.path(name).metadata().is_ok_and(|about| about.len() > 0);
    // It may have been done before the kill: then what it would have left is made here.
    held.until(|| temporary().iter().any(written));
    held.kill();
    if temporary().is_empty() {
        place.write(".tnsearch-a1B2c3", "half a file");
    }
    let left = temporary();
    place.write(".tnsearch-mine", "a file of the user's own");
    assert_eq!(place.run(&format!("{args} other.npy")).code, 0);
    assert!(left.iter().all(|name| place.path(name).exists()), "it may still be written");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    for name in left.iter().map(String::as_str).chain([".tnsearch-mine"]) {
        std::fs::File::options()
            .write(true)
            .open(place.path(name))
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    assert_eq!(place.run(&format!("{args} other.npy")).code, 0);
    assert_eq!(temporary(), [".tnsearch-mine"]);
}

/// `pick` reads the tensor that a summary names, whoever wrote the summary: it reads it, and does no more.
#[test]
fn what_a_summary_names_is_read_as_a_tensor_or_refused() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let search = "search x.npy --template ring --strategy random --iterations 1 --samples 4";
    assert_ne!(place.run(&format!("{search} --json s.json --quiet")).code, 2);
    let summary = String::from_utf8(place.read("s.json")).unwrap();
    place.write("secret", "hunter2\n");
    place.write("other.npy", npy("<f8", &[2, 2], &doubles(&[1.0, 2.0, 3.0, 4.0])));
    shell(&place, "mkfifo pipe");
    for name in [
        "secret",
        "pipe",
        "/dev/zero",
        ".",
        "gone.npy",
        "other.npy",
        "/proc/self/environ",
        "x.npy:key",
    ] {
        let named = summary.replace("\"x.npy\"", &format!("{name:?}"));
        assert_ne!(named, summary);
        place.write("named.json", named);
        refuses(&place, "tnsearch pick named.json --params 1000 -o net", "");
        let (_, _, said) = shell(&place, "tnsearch pick named.json --params 1000 -o net");
        assert!(!said.contains("hunter2") && !place.path("net").exists(), "{name}: {said}");
    }
    // What is read is not written over.
    refuses(&place, "tnsearch pick s.json --params 1000 -o x.npy", "are the same file");
    assert_eq!(place.run("pick s.json --params 1000 -o net --quiet").code, 0);
}
