//! Places to be held at, for tests of a command that is interrupted or killed in the middle of its work.
//!
//! `TNSEARCH_TEST_HOLD=PATH:POINT` makes the command create the file PATH when it comes to POINT for the first time,
//! and wait there until the file is gone or the command is told to stop. So a test knows where the command is,
//! however fast or busy the machine. The points are
//!
//! - `preparation`: before the cuts of the tensor are computed (`search`, `certify`, `bound`);
//! - `front N`, `cores N`: before layer N is looked at, or written (`compress-model`);
//! - `method N`: before method N has its turn (`compare`);
//! - `evaluation N`: the N-th evaluation of this process is on record (`search` with a journal).
//!
//! Only builds with debug assertions know the variable: there is nothing of it in a release.

use tnsearch::problem::Stop;
use tnsearch::search::{Event, Listener, ListenerError};

#[cfg(debug_assertions)]
mod point {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock};
    use std::time::Duration;
    use tnsearch::problem::Stop;

    fn asked() -> Option<&'static (PathBuf, String)> {
        static ASKED: OnceLock<Option<(PathBuf, String)>> = OnceLock::new();
        let read = || {
            let value = std::env::var("TNSEARCH_TEST_HOLD").ok()?;
            let (path, point) = value.rsplit_once(':')?;
            Some((path.into(), point.to_owned()))
        };
        ASKED.get_or_init(read).as_ref()
    }

    pub fn at(point: &str, stop: &Stop) {
        // All threads that come to the point wait for the first.
        static LEFT: AtomicBool = AtomicBool::new(false);
        static FIRST: Mutex<()> = Mutex::new(());
        let Some((path, _)) = asked().filter(|(_, asked)| asked == point) else { return };
        let _first = FIRST.lock();
        if !LEFT.load(Ordering::SeqCst) {
            wait(path, stop);
            LEFT.store(true, Ordering::SeqCst);
        }
    }

    fn wait(path: &Path, stop: &Stop) {
        if std::fs::write(path, "").is_ok() {
            while path.exists() && !stop.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    pub fn evaluation(stop: &Stop) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
        if asked().is_some() {
            at(&format!("evaluation {number}"), stop);
        }
    }
}

/// Waits here if that is the point to be held at; `stop` says whether the command was told to end.
pub fn at(point: &str, stop: &Stop) {
    #[cfg(debug_assertions)]
    point::at(point, stop);
    #[cfg(not(debug_assertions))]
    let _ = (point, stop);
}

/// Holds a search after an evaluation; to be told after the journal.
pub struct AfterEvaluations(pub Stop);

impl Listener for AfterEvaluations {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        #[cfg(debug_assertions)]
        if let Event::Evaluated(_) = event {
            point::evaluation(&self.0);
        }
        #[cfg(not(debug_assertions))]
        let _ = (event, &self.0);
        Ok(())
    }
}
