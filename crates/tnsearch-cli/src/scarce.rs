//! A thread that the system does not give, for want of memory or by a limit: one line, wherever it was asked for. Our own
//! code asks in a way that can fail; libraries that start threads by themselves (pools, progress bars) panic.

use anyhow::anyhow;
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

/// Does something; a panic for want of a thread is an error, any other stays one.
pub fn run<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        if !no_thread(about.payload()) {
            usual(about);
        }
    }));
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) if no_thread(&*panic) => {
            Err(anyhow!("the system gives no further thread; give fewer --threads, or more memory"))
        }
        Err(panic) => panic::resume_unwind(panic),
    }
}

/// Whether a panic says so: the words of the standard library and of the pool.
fn no_thread(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    ["failed to spawn thread", "global thread pool has not been initialized"]
        .iter()
        .any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    /// Called by the test below in a process of its own, which gets no thread at all.
    #[test]
    #[ignore = "the other test runs it"]
    fn without_threads() {
        let said = |done: anyhow::Result<u64>| done.unwrap_err().to_string();
        let plain = said(run(|| Ok(std::thread::spawn(|| 1).join().unwrap_or(2))));
        assert!(plain.starts_with("the system gives no further thread"), "{plain}");
        let pool = said(run(|| Ok((0..9u64).into_par_iter().sum())));
        assert_eq!(pool, plain);
        let scoped = run(|| std::thread::scope(|s| Ok(s.spawn(|| 1).join().unwrap_or(2))));
        assert_eq!(said(scoped), plain);
        assert!(panic::catch_unwind(|| run::<()>(|| panic!("something else"))).is_err());
        assert_eq!(run(|| Ok(5)).unwrap(), 5);
    }

    #[test]
    fn a_thread_that_is_not_given_is_said_in_one_line() {
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "scarce::tests::without_threads", "--ignored", "--test-threads", "1"]);
        // No stack is as large.
        let output = own.env("RUST_MIN_STACK", (1u64 << 60).to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
