//! The developers' commands: `cargo xtask help` lists them.

mod artifact;
mod bench;
mod chromium;
mod deny;
mod experiments;
mod faults;
mod fuzz;
mod json;
mod msrv;
mod mutants;
mod package;
mod python;
mod random;
mod record;
mod release;
mod reliability;
mod sanitize;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
The developers' commands of tnsearch.

  cargo xtask check                   the quick part of the tests: format, lints, unit tests
  cargo xtask test [PART ...]         everything that must pass before a change is merged, or parts of it: style, rust,
                                      docs, crates, python, package; and large, which needs torch, jax and ray
  cargo xtask bench                   one sweep against matrix products and against the peer
  cargo xtask experiments <name>      an experiment; without a name, the list of them
  cargo xtask record --binary PATH    the answers of a released program that later ones have to give
  cargo xtask enumerate [--cases N]   claims against all structures, enumerated by NumPy
  cargo xtask soak [--minutes N]      random work, every result verified, memory and threads watched
  cargo xtask mutants [AREA]          whether the tests see small changes of the source
  cargo xtask fuzz [TARGET]           damaged files and wild command lines [--inputs N] [--seconds S] [--seed N]
  cargo xtask faults                  kills and memory limits at random moments [--kills N] [--levels N] [--seed N]
  cargo xtask memory [--megabytes N]  the most that commands hold under --max-memory, against the limit
  cargo xtask sanitize [PART]         the unsafe parts under AddressSanitizer, Miri and Valgrind
  cargo xtask release-check           all that takes long, and its table [--scale X] [--max-minutes N] [--only NAME]
  cargo xtask deny                    licences, sources and vulnerabilities of the dependencies
  cargo xtask sdist                   the Python package, built from its source distribution
  cargo xtask msrv                    the oldest Rust that is promised
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result = match arguments.first().map(String::as_str) {
        Some("test") => test::run(rest),
        Some("check") => test::check(rest),
        Some("bench") => bench::run(rest),
        Some("experiments") => experiments::run(rest),
        Some("record") => record::run(rest),
        Some("deny") => deny::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("faults") => faults::run(rest),
        Some("sanitize") => sanitize::run(rest),
        Some("sdist") => package::sdist(rest),
        Some("enumerate") => reliability::enumerate(rest),
        Some("soak") => reliability::soak(rest),
        Some("memory") => reliability::memory(rest),
        Some("release-check") => release::run(rest),
        Some("mutants") => mutants::run(rest),
        Some("msrv") => msrv::run(rest),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(step::usage(format!("unknown command '{other}'\n\n{HELP}"))),
        None => Err(step::usage(format!("no command given\n\n{HELP}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            step::exit_code(&error)
        }
    }
}
