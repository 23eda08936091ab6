//! Ctrl-C: the first asks for the best so far, the second ends at once.

use crate::terminal;
use tnsearch::fit::Interrupt;

static INTERRUPT: Interrupt = Interrupt::new();

/// The flag that Ctrl-C (or a termination signal) sets from now on.
pub fn on_ctrl_c() -> anyhow::Result<&'static Interrupt> {
    ctrlc::set_handler(|| {
        if INTERRUPT.is_set() {
            std::process::exit(130);
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
