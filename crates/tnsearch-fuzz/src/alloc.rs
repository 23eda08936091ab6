//! An allocator that counts what is held, so that a reader which takes more than it may is found.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts, per thread, on top of the system's allocator.
pub struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: isize) {
    // At the end of a thread there is nothing to be counted in.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator with the same arguments, and what it gives is given on; counting
// touches nothing but two cells of the thread that need no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: the pointer came from `System`, by way of `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as isize - layout.size() as isize);
        // SAFETY: the pointer came from `System` with this layout, and the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The most bytes that this thread held at once while it did something, beyond what it held before.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let done = work();
    (done, (PEAK.get() - before).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_at_once_is_counted() {
        // Every way to get memory and to give it back: plain, zeroed, grown, shrunk, in other threads.
        let (sum, most) = peak(|| {
            let mut grown: Vec<u64> = vec![7; 100];
            grown.reserve_exact(1000);
            grown.extend(0..500);
            grown.shrink_to_fit();
            let zeros = vec![0u8; 3000];
            let elsewhere = std::thread::spawn(|| vec![1u8; 50_000].len()).join().unwrap();
            grown.iter().sum::<u64>()
                + zeros.iter().map(|&z| u64::from(z)).sum::<u64>()
                + elsewhere as u64
        });
        assert_eq!(sum, 700 + 500 * 499 / 2 + 50_000);
        // Another thread counts for itself.
        assert!((8800..40_000).contains(&most), "{most}");
        let ((), freed) = peak(|| drop(vec![0u8; 10]));
        assert!((10..10_000).contains(&freed), "{freed}");
    }
}
