//! The steps at which a disk can fail: each write, each wait for the disk, each rename. Tests let each fail in turn; in any
//! other build there is nothing of it.

use std::io::{self, Write};

/// Passes on what is written, write by write.
#[derive(Debug)]
pub(crate) struct Steps<W>(pub W);

impl<W: Write> Write for Steps<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = write_step(bytes.len())?;
        self.0.write(&bytes[..most])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(not(test))]
fn write_step(length: usize) -> io::Result<usize> {
    Ok(length)
}

/// A step that is no write.
#[cfg(not(test))]
pub(crate) fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use injected::*;

#[cfg(test)]
mod injected {
    use std::cell::Cell;
    use std::io::{self, ErrorKind};

    /// How a step fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Fault {
        /// No room: all from this step on fail.
        Full,
        /// The disk is broken at this step.
        Broken,
        /// Half of a write is made and said to be made.
        Short,
        /// Half of a write is made, then there is no room.
        Torn,
    }

    impl Fault {
        pub const ALL: [Fault; 4] = [Fault::Full, Fault::Broken, Fault::Short, Fault::Torn];
    }

    thread_local! {
        static PLAN: Cell<Option<(usize, Fault)>> = const { Cell::new(None) };
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Runs something whose step of that number, from 0, fails on this thread.
    pub fn at<T>(number: usize, fault: Fault, work: impl FnOnce() -> T) -> T {
        PLAN.set(Some((number, fault)));
        STEPS.set(0);
        let done = work();
        PLAN.set(None);
        done
    }

    /// The steps of what was run last.
    pub fn steps() -> usize {
        STEPS.get()
    }

    /// The fault that is due, if one is.
    fn due() -> Option<Fault> {
        let (number, fault) = PLAN.get()?;
        let now = STEPS.replace(STEPS.get() + 1);
        match fault {
            Fault::Full => (now >= number).then_some(fault),
            // What was torn was followed by a full disk.
            Fault::Torn if now > number => Some(Fault::Full),
            _ => (now == number).then_some(fault),
        }
    }

    pub(super) fn write_step(length: usize) -> io::Result<usize> {
        match due() {
            None => Ok(length),
            Some(Fault::Full) => Err(ErrorKind::StorageFull.into()),
            Some(Fault::Broken) => Err(io::Error::from_raw_os_error(5)),
            Some(Fault::Short | Fault::Torn) => Ok(length.div_ceil(2)),
        }
    }

    /// A step that is no write.
    pub fn step() -> io::Result<()> {
        match due() {
            Some(Fault::Full | Fault::Torn) => Err(ErrorKind::StorageFull.into()),
            Some(Fault::Broken) => Err(io::Error::from_raw_os_error(5)),
            Some(Fault::Short) | None => Ok(()),
        }
    }
}
