//! Long work: without the interpreter's lock, on a thread of its own, while the calling thread looks for Ctrl-C.

use crate::errors;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tnsearch::problem::Stop;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// What work gave, and whether Ctrl-C was pressed while it went on: it has then ended early, with what it had.
pub struct Done<T> {
    pub result: T,
    pub interrupted: Option<PyErr>,
}

/// Does work that obeys a stop. Ctrl-C sets it; the work then ends as soon as it can.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send,
) -> PyResult<Done<T>> {
    let stop = Stop::new();
    let (send, mut receive) = mpsc::channel();
    let (seen, stop) = (&stop, &stop);
    let mut interrupted = None;
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("tnsearch".to_owned());
        let worker = thread.spawn_scoped(scope, move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(seen)));
            // The receiver waits for it.
            let _ = send.send(());
            result
        });
        let worker = worker.map_err(no_thread)?;
        loop {
            let waiting = &mut receive;
            match py.detach(move || waiting.recv_timeout(TICK)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
            if let Err(signal) = py.check_signals() {
                stop.set();
                interrupted = Some(signal);
            }
        }
        Ok::<_, PyErr>(py.detach(|| worker.join()))
    });
    match result? {
        Ok(Ok(result)) => Ok(Done { result, interrupted }),
        Ok(Err(panic)) | Err(panic) => Err(errors::fault(&*panic)),
    }
}

fn no_thread(error: std::io::Error) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(format!("no thread could be started: {error}"))
}
