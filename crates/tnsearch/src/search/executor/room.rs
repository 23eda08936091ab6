//! The memory that fits made at the same time share.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What the fits of one search hold at a time. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Room(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<f64>,
    freed: Condvar,
}

/// Bytes that are held until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    room: Room,
    bytes: f64,
}

impl Room {
    /// Waits until so many bytes are free of the limit, or nothing else is held: one fit alone was checked before. Nothing is
    /// waited for where there is no limit.
    pub fn take(&self, bytes: f64, limit: Option<u64>) -> Held {
        let limit = limit.map_or(f64::INFINITY, |limit| limit as f64);
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0.0 && *held + bytes > limit {
            held = self.0.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        Held { room: self.clone(), bytes }
    }
}

impl Held {
    /// What is held by all together.
    pub fn all(&self) -> f64 {
        *self.room.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.room.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        // What is left of none is none, whatever the rounding of sums.
        *held = (*held - self.bytes).max(0.0);
        if *held < 1.0 {
            *held = 0.0;
        }
        self.room.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn as_many_at_a_time_as_fit() {
        let (room, most, now) = (Room::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for k in 0..8 {
                let (room, most, now) = (&room, &most, &now);
                scope.spawn(move || {
                    for _ in 0..50 {
                        // Every fourth is larger than the limit: it is alone.
                        let bytes = if k % 4 == 3 { 500.0 } else { 40.0 };
                        let held = room.take(bytes, Some(100));
                        let with = now.fetch_add(bytes as usize, Ordering::SeqCst) + bytes as usize;
                        most.fetch_max(if bytes > 100.0 { 0 } else { with }, Ordering::SeqCst);
                        assert!(bytes < 100.0 || with == 500, "{with}");
                        now.fetch_sub(bytes as usize, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 100, "{most:?}");
        assert_eq!(*room.0.held.lock().unwrap(), 0.0);
    }
}
