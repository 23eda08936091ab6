//! Ctrl-C: it ends a command, or asks it for the best so far (the second then ends it at once).

use crate::terminal;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};
use tnsearch::problem::Stop;
use tnsearch_io::output;

static STOP: LazyLock<Stop> = LazyLock::new(Stop::new);

/// What a signal does.
static MEANING: AtomicU8 = AtomicU8::new(END);
const END: u8 = 0;
const ASK: u8 = 1;
const ASK_SILENTLY: u8 = 2;

/// Signals so near to each other are one request.
const TOGETHER: Duration = Duration::from_millis(500);

/// From now on Ctrl-C (or a termination signal) ends the program and leaves no temporary file behind, until something
/// else is asked for here.
pub fn watch() -> anyhow::Result<()> {
    let first: OnceLock<Instant> = OnceLock::new();
    ctrlc::set_handler(move || {
        output::hurry();
        match MEANING.load(Ordering::SeqCst) {
            END => end(),
            ASK_SILENTLY => STOP.set(),
            _ => {
                // One request may come as two signals: to the process, and to its group.
                if first.get_or_init(Instant::now).elapsed() > TOGETHER {
                    end();
                }
                if !STOP.is_set() {
                    STOP.set();
                    let said = "writing the best so far; once more to stop at once";
                    terminal::note("interrupted", said);
                }
            }
        }
    })
    .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))
}

fn end() -> ! {
    output::abandon();
    std::process::exit(130);
}

fn meaning(meaning: u8) -> Stop {
    MEANING.store(meaning, Ordering::SeqCst);
    STOP.clone()
}

/// The stop that Ctrl-C (or a termination signal) sets from now on.
pub fn on_ctrl_c() -> Stop {
    meaning(ASK)
}

/// The stop that Ctrl-C (or a termination signal) sets from now on, without a word: the screen is taken.
pub fn silent() -> Stop {
    meaning(ASK_SILENTLY)
}
