//! A command under way, started to be interrupted or killed at a place that the test knows.

use super::{HANG, Place};
use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What the last command of a place says on standard error.
const STDERR: &str = "stderr.txt";

impl Place {
    /// What the last command that was started says on standard error, so far.
    pub fn stderr(&self) -> String {
        String::from_utf8(self.read(STDERR)).unwrap()
    }
}

/// A running command; dropped, it is killed.
pub struct Held {
    child: Child,
    args: String,
}

impl Held {
    /// Starts the command and waits until it is held at a point (`TNSEARCH_TEST_HOLD`, see `src/hold.rs`): from then
    /// on it can do nothing until it is told to stop, or `place`'s file `hold` is removed.
    pub fn at(place: &Place, point: &str, args: &str) -> Held {
        let file = place.path("hold");
        let _ = std::fs::remove_file(&file);
        let mut held = Held::spawn(place, args, Some(point));
        let ended = held.until(|| file.exists());
        assert!(!ended || file.exists(), "`{args}` ended before it came to: {point}");
        held
    }

    /// Starts the command.
    pub fn start(place: &Place, args: &str) -> Held {
        Held::spawn(place, args, None)
    }

    fn spawn(place: &Place, args: &str, point: Option<&str>) -> Held {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("tnsearch"));
        command.args(args.split_whitespace()).current_dir(place.dir());
        if let Some(point) = point {
            let hold = place.path("hold");
            command.env("TNSEARCH_TEST_HOLD", format!("{}:{point}", hold.display()));
        }
        let stderr = File::create(place.path(STDERR)).unwrap();
        let child = command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        Held { child, args: args.to_owned() }
    }

    /// Waits for an event, or for the end of the command; whether it has ended.
    pub fn until(&mut self, event: impl Fn() -> bool) -> bool {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().unwrap().is_some();
            if ended || event() {
                return ended;
            }
            assert!(begun.elapsed() < HANG, "`{}` hangs", self.args);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a signal.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Kills it, without a chance to save anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub fn end(mut self) -> ExitStatus {
        self.until(|| false);
        self.child.wait().unwrap()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
