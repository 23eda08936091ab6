//! The browser that the tests of the report page use.

use crate::step;
use anyhow::Result;
use std::process::Command;

/// The names a Chromium goes by.
const PROGRAMS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Makes sure that there is a Chromium: installs Debian's where that is possible, else says what is missing.
/// Without one the tests that need it are skipped, and say so.
pub fn provide() -> Result<()> {
    if std::env::var_os("CHROMIUM").is_some() || PROGRAMS.iter().any(|p| works(p)) {
        return Ok(());
    }
    if root() && succeeds("apt-get", &["--version"]) {
        let mut update = step::command("apt-get", &["update", "-qq"]);
        let install = ["install", "-y", "-qq", "--no-install-recommends", "chromium"];
        let mut install = step::command("apt-get", &install);
        install.env("DEBIAN_FRONTEND", "noninteractive");
        if step::run(&mut update).and_then(|()| step::run(&mut install)).is_ok()
            && works("chromium")
        {
            return Ok(());
        }
    }
    eprintln!(
        "note: there is no chromium and it cannot be installed from here; the tests of the report page in a \
         browser are skipped (install it, or name one in CHROMIUM)"
    );
    Ok(())
}

fn root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}

fn works(program: &str) -> bool {
    succeeds(program, &["--version"])
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|o| o.status.success())
}
