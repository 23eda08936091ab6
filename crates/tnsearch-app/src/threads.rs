//! Threads for work that is not a search, which has its own.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tnsearch::SettingError;
use tnsearch::search::Budget;

/// So many threads; none: one per processor.
pub(crate) fn pool<E: From<SettingError> + From<ThreadPoolBuildError>>(
    threads: Option<usize>,
) -> Result<ThreadPool, E> {
    Budget::default().with(|b| b.threads = threads).check()?;
    Ok(ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?)
}
