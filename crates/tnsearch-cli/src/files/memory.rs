//! How much memory may be taken.

use super::Problem;
use tnsearch::tensor::Kind;

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

    /// Refuses a number of entries of a kind that does not fit.
    pub fn check(self, entries: u128, kind: Kind) -> Result<(), Problem> {
        match entries.saturating_mul(kind.bytes() as u128) > u128::from(self.bytes) {
            true => Err(self.refused(entries, kind)),
            false => Ok(()),
        }
    }

    /// The refusal of that many entries of a kind.
    pub fn refused(self, entries: u128, kind: Kind) -> Problem {
        let needed = entries.saturating_mul(kind.bytes() as u128);
        let numbers = match kind {
            Kind::F32 => "32-bit numbers",
            Kind::F64 => "64-bit numbers",
            Kind::C32 => "complex numbers of two 32-bit parts",
            Kind::C64 => "complex numbers of two 64-bit parts",
        };
        Problem::Memory { entries, needed, numbers, limit: self.bytes, why: self.why }
    }
}

/// `MemAvailable` of /proc/meminfo, where there is one.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
