//! How much memory may be taken.

use super::Problem;

/// A limit on memory and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLimit {
    bytes: u64,
    why: &'static str,
}

impl MemoryLimit {
    /// The user's limit, or what the system says is available, or none.
    pub fn new(asked: Option<u64>) -> Self {
        match (asked, available()) {
            (Some(bytes), _) => MemoryLimit { bytes, why: "allowed by --max-memory" },
            (None, Some(bytes)) => MemoryLimit { bytes, why: "available" },
            (None, None) => MemoryLimit { bytes: u64::MAX, why: "addressable" },
        }
    }

    /// The limit in bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Refuses a number of 64-bit entries that does not fit.
    pub fn check(self, entries: u128) -> Result<(), Problem> {
        match entries.saturating_mul(8) > u128::from(self.bytes) {
            true => Err(self.refused(entries)),
            false => Ok(()),
        }
    }

    /// The refusal of that many 64-bit entries.
    pub fn refused(self, entries: u128) -> Problem {
        let needed = entries.saturating_mul(8);
        Problem::Memory { entries, needed, limit: self.bytes, why: self.why }
    }
}

/// `MemAvailable` of /proc/meminfo, where there is one.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
