//! Large factorisations on a thread of their own.
//!
//! faer's kernels copy parts of their matrices into a buffer that each thread keeps until it ends: twice the last cache, of
//! which the pages touched stay taken. The buffer of a thread of its own goes when the factorisation is done.

/// Factorisations of smaller sides touch little of the buffer, and are over before a thread pays.
const LARGE: usize = 384;

/// The columns that kernels copy at a time.
const DEEP: usize = 512;

/// Runs a factorisation, apart where its matrix is large; here where the system has no thread to give. The bits are the same.
pub(super) fn apart<R: Send>(side: usize, work: impl FnOnce() -> R + Send) -> R {
    if side < LARGE {
        return work();
    }
    let work = std::sync::Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    let done = std::thread::scope(|scope| {
        let run = || take().map(|work| work());
        let thread = std::thread::Builder::new().spawn_scoped(scope, run).ok()?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match done {
        Some(result) => result,
        None => take().unwrap_or_else(|| unreachable!("it was not run"))(),
    }
}

/// Bytes that kernels copy of square matrices while they factor them: a part of both factors of a product.
pub(super) fn copied_bytes(side: usize, number: usize) -> f64 {
    2.0 * side as f64 * side.min(DEEP) as f64 * number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ones_have_a_thread_of_their_own_and_panics_come_through() {
        let here = std::thread::current().id();
        let thread = || std::thread::current().id();
        assert_eq!(apart(LARGE - 1, thread), here);
        assert_ne!(apart(LARGE, thread), here);
        let panic = || apart(LARGE, || -> usize { panic!("as it was") });
        let panic = std::panic::catch_unwind(panic).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as it was"));
    }
}
