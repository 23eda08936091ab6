//! A folder that others filled: none of its files is run, whatever it is called, by any command that starts processes.
//! Searches on real workers in such a folder are tested with the Python package, in `tests/package/test_folder.py`.
#![cfg(unix)]

mod common;

use common::{HANG, Place, doubles, npy};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Modules that Python, the package or a cluster may import, beside all of the standard library.
const MODULES: &[&str] = &[
    "numpy",
    "tnsearch",
    "mpi4py",
    "dask",
    "distributed",
    "ray",
    "sitecustomize",
    "usercustomize",
    "psutil",
    "cloudpickle",
    "msgpack",
    "tornado",
    "yaml",
];

/// Programs that may be started.
const PROGRAMS: &[&str] =
    &["sh", "bash", "python", "python3", "mpiexec", "mpirun", "env", "cat", "true", "echo", "ray"];

fn executable(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// All modules of the standard library.
fn standard() -> Vec<String> {
    let program = "import sys; print(*sys.stdlib_module_names)";
    let said = Command::new("python3").args(["-I", "-c", program]).current_dir("/").output();
    let said = String::from_utf8(said.expect("python3 is needed").stdout).unwrap();
    let all: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
    assert!(all.len() > 100, "{said}");
    all
}

/// A folder with a tensor, a model, and what leaves `ran` behind if it is run: modules as files and as packages, and programs.
fn hostile() -> Place {
    let place = Place::new();
    place.write("x.npy", npy("<f8", &[2, 2, 2], &doubles(&[1., 2., 3., 5., 7., 11., 13., 17.])));
    let header = r#"{"a.weight":{"dtype":"F32","shape":[64,32],"data_offsets":[0,8192]}}"#;
    let mut model = (header.len() as u64).to_le_bytes().to_vec();
    model.extend(header.as_bytes());
    model.extend((0..2048).flat_map(|k| ((k * k % 17) as f32).to_le_bytes()));
    place.write("m.safetensors", model);
    let ran = place.path("ran");
    let text = format!("open({:?}, 'a').write(__name__ + '\\n')\n", ran.display().to_string());
    let names = standard().into_iter().chain(MODULES.iter().map(|&m| m.to_owned()));
    for (k, name) in names.enumerate() {
        match k % 2 {
            0 => place.write(&format!("{name}.py"), &text),
            _ => {
                std::fs::create_dir(place.path(&name)).unwrap();
                place.write(&format!("{name}/__init__.py"), &text);
            }
        }
    }
    place.write("-c", &text);
    for program in PROGRAMS {
        executable(
            &place.path(program),
            &format!("#!/bin/sh\necho {program} >> {}\n", ran.display()),
        );
    }
    place
}

/// A place that the user trusts: a stand-in for mpiexec and the part of mpi4py that is needed to begin.
fn trusted() -> Place {
    let place = Place::new();
    executable(&place.path("mpiexec"), "#!/bin/sh\nshift 2\nexec \"$@\"\n");
    std::fs::create_dir_all(place.path("lib/mpi4py/futures")).unwrap();
    place.write("lib/mpi4py/__init__.py", "");
    place.write("lib/mpi4py/MPI.py", "");
    place.write("lib/mpi4py/futures/__init__.py", "");
    let main = "import sys\ndel sys.argv[0]\nassert sys.argv.pop(0) == '-c'\nexec(sys.argv[0])\n";
    place.write("lib/mpi4py/futures/__main__.py", main);
    place
}

fn tnsearch(place: &Place, environment: &[(&str, String)], args: &[&str]) -> Output {
    let mut command = assert_cmd::Command::cargo_bin("tnsearch").unwrap();
    command.current_dir(place.dir()).env_remove("TNSEARCH_PYTHON").env_remove("PYTHONPATH");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.args(args).timeout(HANG).output().unwrap()
}

fn check(place: &Place, what: &str) {
    let ran = std::fs::read_to_string(place.path("ran")).unwrap_or_default();
    assert!(ran.is_empty(), "{what} ran {ran}");
}

#[test]
fn no_cluster_runs_what_lies_beside_the_tensor() {
    let (place, trusted) = (hostile(), trusted());
    let lib = trusted.path("lib").display().to_string();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", trusted.dir().display());
    for cluster in ["processes:1", "dask", "dask://127.0.0.1:1", "ray", "mpi", "mpi:1"] {
        // An empty part of PYTHONPATH stands for the working folder.
        for more in ["", ":", ":/nowhere", "/nowhere:"] {
            let own =
                if cluster.starts_with("mpi") { format!("{lib}:{more}") } else { more.to_owned() };
            let mut environment = vec![("PATH", path.clone())];
            if !own.is_empty() {
                environment.push(("PYTHONPATH", own.clone()));
            }
            let args = ["search", "x.npy", "--max-re", "0.5", "--cluster", cluster, "--quiet"];
            let ended = tnsearch(&place, &environment, &args);
            check(&place, &format!("--cluster {cluster} with PYTHONPATH '{own}'"));
            let said = String::from_utf8(ended.stderr).unwrap();
            // Where the interpreter has the package and the cluster, it is a search like any other.
            let code = ended.status.code();
            assert!(matches!(code, Some(0..=2)), "{cluster}: {said}");
            assert!(code != Some(2) || said.lines().count() == 1, "{cluster}: {said}");
        }
    }
}

#[test]
fn an_interpreter_named_by_a_relative_path_is_that_of_the_folder() {
    let place = hostile();
    std::fs::create_dir(place.path("mine")).unwrap();
    let text = r#"#!/bin/sh
printf '%s|' "$1" "$2" "$PYTHONPATH" "$PYTHONSAFEPATH" "$TNSEARCH_SHARED" "$(/bin/pwd)" > @
"#;
    let said = place.path("said").display().to_string();
    executable(&place.path("mine/python"), &text.replace('@', &said));
    let environment = [
        ("TNSEARCH_PYTHON", "mine/python".to_owned()),
        ("PYTHONPATH", "lib::/other".to_owned()),
        ("TNSEARCH_SHARED", "data".to_owned()),
    ];
    let args = ["search", "x.npy", "--cluster", "processes:1", "--quiet"];
    assert_eq!(tnsearch(&place, &environment, &args).status.code(), Some(2));
    let real = place.dir().canonicalize().unwrap();
    let (lib, data) = (real.join("lib"), real.join("data"));
    let expected = format!("-P|-c|{}:/other|1|{}|/|", lib.display(), data.display());
    assert_eq!(String::from_utf8(place.read("said")).unwrap(), expected);
    check(&place, "--cluster");
}

#[test]
fn the_command_of_max_loss_is_all_that_runs() {
    let place = hostile();
    // What measures is the user's own: here it is the shell, and a program of Python without the folder.
    let python = "python3 -I -c 'import sys; print(len(sys.argv[1]) / 1e6)'";
    for command in ["printf '0.25\\n'; :", "expr 1 + 1; :", python] {
        let args = [
            "compress-model",
            "m.safetensors",
            "--max-loss",
            command,
            "-o",
            "s.safetensors",
            "--quiet",
        ];
        let ended = tnsearch(&place, &[], &args);
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{command}: {said}");
        check(&place, command);
    }
}

#[test]
fn names_of_files_are_no_commands() {
    let place = hostile();
    let evil = "m;touch ran;$(touch ran)`touch ran`'\"|touch ran&.safetensors";
    std::fs::rename(place.path("m.safetensors"), place.path(evil)).unwrap();
    for command in [
        "printf '0.25\\n'; test -f {} || echo gone",
        "test -f '{}' && echo 0.25; :",
        "expr 1 + 1; :",
    ] {
        let output = format!("out {evil}");
        let args = ["compress-model", evil, "--max-loss", command, "-o", &output, "--quiet"];
        let ended = tnsearch(&place, &[], &args);
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{command}: {said}");
        check(&place, command);
    }
}
