use super::*;
use checks::fake;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn about() -> table::About {
    table::About { commit: "abc".into(), date: "2026-01-02".into(), machine: "a machine".into() }
}

/// A page with the marks in a folder of its own.
fn page(name: &str) -> PathBuf {
    let folder = step::root().join("target/xtask-release");
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join(name);
    std::fs::write(&page, format!("# Page\n\n{}\n{}\n\nmore\n", table::BEGIN, table::END)).unwrap();
    page
}

#[test]
fn every_check_has_its_row_whatever_becomes_of_it() {
    let fakes = [
        fake("good", 500.0),
        fake("bad", 1.0),
        fake("absent", 9000.0),
        fake("broken", 7.0),
        fake("long", 7.0),
    ];
    let checks: Vec<&Check> = fakes.iter().collect();
    let page = page("fakes.md");
    let asked = asked(&words("--scale 0.1")).unwrap();
    let mut seen = Vec::new();
    let make = |check: &Check, _| {
        seen.push(check.words(0.1).join(" "));
        Ok(match check.name {
            "good" => Outcome::Passed("50 things | fine".into()),
            "bad" => Outcome::Failed("2 of 3 wrong".into()),
            "absent" => Outcome::Skipped("there is no such tool".into()),
            "long" => Outcome::CutOff,
            _ => anyhow::bail!("cannot be started"),
        })
    };
    let rows = driven(&checks, &asked, &about(), &page, make).unwrap();
    assert_eq!(seen.len(), 5, "a failure ends nothing");
    // A tenth of the size, but never less than the least.
    assert_eq!(seen[..3], ["fake --size 50", "fake --size 3", "fake --size 900"]);
    assert_eq!(rows.iter().filter(|r| r.outcome.is_failure()).count(), 2);
    let text = std::fs::read_to_string(&page).unwrap();
    for line in [
        "Commit abc, 2026-01-02, a machine.",
        "| good | 50 things | passed: 50 things / fine | 0 | `cargo xtask fake --size 50` |",
        "| bad | 3 things | **failed**: 2 of 3 wrong | 0 | `cargo xtask fake --size 3` |",
        "| absent | 900 things | skipped: there is no such tool | 0 | `cargo xtask fake --size 900` |",
        "| broken | 3 things | **failed**: cannot be started | 0 | `cargo xtask fake --size 3` |",
        "| long | 3 things | cut off: the time given was up | 0 | `cargo xtask fake --size 3` |",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.starts_with("# Page\n") && text.ends_with("\n\nmore\n"));
}

#[test]
fn what_does_not_fit_into_the_time_is_said() {
    let fakes = [fake("first", 1.0), fake("second", 1.0)];
    let checks: Vec<&Check> = fakes.iter().collect();
    let page = page("time.md");
    let mut asked = asked(&[]).unwrap();
    asked.max_minutes = 0.0;
    let none = |_: &Check, _| -> Result<Outcome> { panic!("there is no time") };
    driven(&checks, &asked, &about(), &page, none).unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    let said = "| second | 3 things | not run: the time given was up before it |  |";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_command_is_judged_by_its_end() {
    let log = page("a.log");
    let of = |script: &str, left: Duration| {
        finished(Command::new("sh").args(["-c", script]), &log, left).unwrap()
    };
    let long = Duration::from_secs(600);
    let steps = "echo 7 cases; echo; echo '==> a step'; echo '    done after 3 s: a step'";
    assert_eq!(of(steps, long), Outcome::Passed("7 cases".into()));
    assert_eq!(of("true", long), Outcome::Passed(String::new()));
    assert_eq!(of("echo why >&2; exit 3", long), Outcome::Failed("why".into()));
    assert_eq!(of("echo no tool; exit 77", long), Outcome::Skipped("no tool".into()));
    assert_eq!(of("kill -9 $$", long), Outcome::Failed(String::new()));
    // Its children end with it: the log's other holder is gone when this returns.
    assert_eq!(of("sleep 1000 & wait", Duration::ZERO), Outcome::CutOff);
}

#[test]
fn every_command_of_the_table_is_one() {
    for scale in [1.0, 0.01, 1e-9] {
        for check in &CHECKS {
            let words = check.words(scale);
            let rest = &words[1..];
            let parsed = match words[0].as_str() {
                "enumerate" | "soak" | "memory" => crate::reliability::parse(&words[0], rest),
                "fuzz" => crate::fuzz::parse(rest).map(drop),
                "faults" => crate::faults::parse(rest).map(drop),
                "sanitize" => crate::sanitize::parse(rest).map(drop),
                "mutants" => crate::mutants::parse(rest),
                other => panic!("{other} is no command"),
            };
            parsed.unwrap_or_else(|e| panic!("{}: {e}", check.line(scale)));
        }
    }
    let names: std::collections::BTreeSet<&str> = CHECKS.iter().map(|c| c.name).collect();
    assert_eq!(names.len(), CHECKS.len(), "names are told apart");
    // Every reader that is fuzzed has its row.
    let targets = std::fs::read_to_string(step::root().join("crates/tnsearch-fuzz/src/targets.rs"));
    let targets = targets.unwrap();
    let found: Vec<&str> = targets
        .split("Target {")
        .filter_map(|part| part.trim_start().strip_prefix("name: \"")?.split('"').next())
        .collect();
    assert!(found.len() >= 14, "{found:?}");
    for reader in found {
        assert!(names.contains(format!("reader {reader}").as_str()), "{reader} has no row");
    }
}

#[test]
fn the_page_has_its_marks() {
    let page = std::fs::read_to_string(step::root().join(PAGE)).unwrap();
    assert_eq!(page.matches(table::BEGIN).count(), 1);
    assert_eq!(page.matches(table::END).count(), 1);
}

#[test]
fn options_are_checked_before_anything_runs() {
    let given = asked(&words("--scale 0.01 --max-minutes 5 --only kills,enumeration")).unwrap();
    assert_eq!((given.scale, given.max_minutes), (0.01, 5.0));
    assert_eq!(CHECKS.iter().filter(|c| given.takes(c)).count(), 2);
    for bad in ["--scale", "--scale x", "--scale 0", "--max-minutes -1", "--sacle 1", "--scale nan"]
    {
        assert!(asked(&words(bad)).is_err(), "{bad}");
    }
    assert!(run(&words("--only nothing")).is_err());
}
