//! Ctrl-C: the first asks for the best so far, the second ends at once.

use crate::terminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tnsearch::fit::Interrupt;

static INTERRUPT: Interrupt = Interrupt::new();

/// Signals so near to each other are one request.
const TOGETHER: Duration = Duration::from_millis(500);

/// A flag that is set when this much time has passed; never for times that cannot be told.
pub fn after(seconds: f64) -> &'static Interrupt {
    // One or two for the life of the program.
    let flag: &'static Interrupt = Box::leak(Box::default());
    if let Ok(time) = Duration::try_from_secs_f64(seconds) {
        std::thread::spawn(move || {
            std::thread::sleep(time);
            flag.set();
        });
    }
    flag
}

/// Whether Ctrl-C (or a termination signal) has come.
pub fn requested() -> bool {
    INTERRUPT.is_set()
}

/// The flag that Ctrl-C (or a termination signal) sets from now on.
pub fn on_ctrl_c() -> anyhow::Result<&'static Interrupt> {
    let first: OnceLock<Instant> = OnceLock::new();
    ctrlc::set_handler(move || {
        // One request may come as two signals: to the process, and to its group.
        if first.get_or_init(Instant::now).elapsed() > TOGETHER {
            std::process::exit(130);
        }
        if INTERRUPT.is_set() {
            return;
        }
        INTERRUPT.set();
        terminal::note("interrupted", "writing the best so far; once more to stop at once");
    })
    .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))?;
    Ok(&INTERRUPT)
}

/// Ctrl-C (or a termination signal) ends the program from now on: there is nothing to be saved.
pub fn end_on_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| std::process::exit(130))
        .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))
}

/// The flag that Ctrl-C (or a termination signal) sets from now on, without a word: the screen is taken.
pub fn silent() -> anyhow::Result<&'static Interrupt> {
    ctrlc::set_handler(|| INTERRUPT.set())
        .map_err(|e| anyhow::anyhow!("cannot watch for Ctrl-C: {e}"))?;
    Ok(&INTERRUPT)
}
