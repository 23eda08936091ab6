//! What is freed goes back to the system at once, so that `--max-memory` is what the process holds.
//!
//! The allocator of GNU libc asks the system for large blocks one by one at first, but after the first of them is freed it
//! takes blocks of up to 32 MB from a heap that shrinks only at its end: a search of a 20 MB tensor then held 40 MB
//! that nobody used.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use std::ffi::c_int;

    // SAFETY: the declaration is that of malloc.h, the function takes two numbers and any value of them.
    unsafe extern "C" {
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }

    /// `M_MMAP_THRESHOLD` of malloc.h.
    const MMAP_THRESHOLD: c_int = -3;
    /// Blocks of this size and above come from the system and go back to it.
    const LARGE: c_int = 1 << 20;

    pub fn give_back() -> bool {
        mallopt(MMAP_THRESHOLD, LARGE) == 1
    }
}

/// From now on large blocks go back to the system when they are freed; whether that could be asked for.
pub fn give_back() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    return gnu::give_back();
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    return false;
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// What this process holds, in KiB.
    fn held() -> u64 {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    #[test]
    fn freed_blocks_are_not_kept() {
        assert!(give_back());
        let block = |megabytes: usize| vec![1u8; megabytes << 20];
        // The first that is freed would raise the threshold, and one in use above the others would keep them.
        drop(block(31));
        let blocks: Vec<Vec<u8>> = (0..8).map(|_| block(20)).collect();
        let above = block(2);
        let full = held();
        drop(blocks);
        assert!(held() + 150_000 < full, "{} of {full} KiB", held());
        assert_eq!(above.len(), 2 << 20);
    }
}
