//! Work in parallel where there are threads to be had, and on this one where there are not: a system without memory for
//! another thread is no reason to end.

use rayon::prelude::*;

/// The threads that [`each`] works on.
pub(crate) fn count() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// What becomes of each item, in their order: on the threads of the pool at work, else of one made for it, else here.
pub(crate) fn each<I: Send, R: Send>(items: Vec<I>, work: impl Fn(I) -> R + Send + Sync) -> Vec<R> {
    if rayon::current_thread_index().is_some() {
        return items.into_par_iter().map(work).collect();
    }
    each_in(rayon::ThreadPoolBuilder::new().build().ok().as_ref(), items, work)
}

fn each_in<I: Send, R: Send>(
    pool: Option<&rayon::ThreadPool>,
    items: Vec<I>,
    work: impl Fn(I) -> R + Send + Sync,
) -> Vec<R> {
    match pool {
        Some(pool) => pool.install(|| items.into_par_iter().map(work).collect()),
        None => items.into_iter().map(work).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_in_order_with_threads_and_without() {
        let items: Vec<usize> = (0..100).collect();
        let expected: Vec<usize> = items.iter().map(|k| k * k).collect();
        assert_eq!(each(items.clone(), |k| k * k), expected);
        assert_eq!(each_in(None, items.clone(), |k| k * k), expected);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // On the threads of the pool at work.
        let here = pool.install(|| each(vec![(), ()], |()| rayon::current_num_threads()));
        assert_eq!(here, [2, 2]);
    }
}
