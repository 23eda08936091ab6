//! Ctrl-C: the first asks for the best so far, the second ends at once.

use crate::terminal;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};
use tnsearch::problem::Stop;

static STOP: LazyLock<Stop> = LazyLock::new(Stop::new);

/// Signals so near to each other are one request.
const TOGETHER: Duration = Duration::from_millis(500);

/// The stop that Ctrl-C (or a termination signal) sets from now on.
pub fn on_ctrl_c() -> anyhow::Result<Stop> {
    let first: OnceLock<Instant> = OnceLock::new();
    ctrlc::set_handler(move || {
        // One request may come as two signals: to the process, and to its group.
        if first.get_or_init(Instant::now).elapsed() > TOGETHER {
            std::process::exit(130);
        }
        if STOP.is_set() {
            return;
        }
        STOP.set();
        terminal::note("interrupted", "writing the best so far; once more to stop at once");
    })
    .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))?;
    Ok(STOP.clone())
}

/// Ctrl-C (or a termination signal) ends the program from now on: there is nothing to be saved.
pub fn end_on_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| std::process::exit(130))
        .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))
}

/// The stop that Ctrl-C (or a termination signal) sets from now on, without a word: the screen is taken.
pub fn silent() -> anyhow::Result<Stop> {
    ctrlc::set_handler(|| STOP.set())
        .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))?;
    Ok(STOP.clone())
}
