//! How much memory may be taken.

use crate::Problem;
use tnsearch::SettingError;
use tnsearch::tensor::Kind;

/// A limit on memory and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLimit {
    bytes: u64,
    /// Where the limit comes from; none where there is none.
    why: Option<&'static str>,
}

impl MemoryLimit {
    /// The user's limit, or what the system says is available, or none.
    pub fn new(asked: Option<u64>) -> Self {
        match (asked, available()) {
            (Some(bytes), _) => MemoryLimit { bytes, why: Some("allowed by --max-memory") },
            (None, Some(bytes)) => MemoryLimit { bytes, why: Some("available") },
            (None, None) => MemoryLimit { bytes: u64::MAX, why: None },
        }
    }

    /// The limit in bytes; `u64::MAX` where there is none.
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

    /// Refuses what takes so many bytes while it becomes that many entries of 64 bits.
    pub(crate) fn check_bytes(self, entries: u128, needed: u128) -> Result<(), Problem> {
        match self.why {
            Some(why) if needed > u128::from(self.bytes) => {
                let numbers = "64-bit numbers";
                Err(Problem::Memory { entries, needed, numbers, limit: self.bytes, why })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file of which so many bytes are held while it is read.
    pub(crate) fn check_file(self, needed: u64) -> Result<(), Problem> {
        match self.why {
            Some(why) if needed > self.bytes => {
                Err(Problem::File { needed, limit: self.bytes, why })
            }
            _ => Ok(()),
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
        match self.why {
            Some(why) if needed > u128::from(self.bytes) => {
                Problem::Memory { entries, needed, numbers, limit: self.bytes, why }
            }
            _ => Problem::NotGiven(entries),
        }
    }
}

/// An amount of memory in bytes: `500MB`, `4GB`, `2GiB`, or a number.
///
/// ```
/// assert_eq!(tnsearch_io::parse_memory("1.5 GiB"), Ok(1_610_612_736));
/// assert!(tnsearch_io::parse_memory("much").is_err());
/// ```
pub fn parse_memory(text: &str) -> Result<u64, SettingError> {
    let bad = || {
        let expected = "it must be an amount such as 500MB, 4GB or 2GiB";
        SettingError::new("max-memory", format!("'{text}'"), expected)
    };
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(bad()),
    };
    let bytes = number.parse::<f64>().map_err(|_| bad())? * factor;
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(bad()) }
}

/// What the system would give: `MemAvailable` of /proc/meminfo, and what is left below a limit on the process's addresses
/// (`ulimit -v`), where they are known.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = kibibytes(&read("/proc/meminfo"), "MemAvailable:");
    let most = most_addresses(&read("/proc/self/limits"));
    let taken = kibibytes(&read("/proc/self/status"), "VmSize:").unwrap_or(0);
    let addresses = most.map(|most| most.saturating_sub(taken));
    memory.into_iter().chain(addresses).min()
}

/// A line such as `MemAvailable:   21000 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The first figure of `Max address space   8192000000   unlimited   bytes`; none where it is no number.
fn most_addresses(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        for (text, bytes) in [
            ("4096", 4096),
            ("1", 1),
            ("7b", 7),
            ("3K", 3_000),
            ("2kb", 2_000),
            ("5m", 5_000_000),
            ("500MB", 500_000_000),
            ("2 g", 2_000_000_000),
            ("3GB", 3_000_000_000),
            ("1t", 1_000_000_000_000),
            ("2TB", 2_000_000_000_000),
            ("2KiB", 2_048),
            ("3 MiB", 3_145_728),
            ("1.5 GiB", 1_610_612_736),
            ("2TiB", 2_199_023_255_552),
        ] {
            assert_eq!(parse_memory(text), Ok(bytes), "{text}");
        }
        for bad in ["", "0", "GB", "-1GB", "1XB", "1.2.3GB"] {
            assert!(parse_memory(bad).is_err(), "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn without_a_limit_it_is_what_the_system_has() {
        let MemoryLimit { bytes, why } = MemoryLimit::new(None);
        assert_eq!(why, Some("available"));
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap();
        let kib: u64 = total.trim().trim_end_matches("kB").trim().parse().unwrap();
        // Given in KiB; no machine that runs this has a thousandth of its memory left.
        assert!(bytes <= kib * 1024 && bytes >= kib, "{bytes} of {kib} KiB");
    }

    #[test]
    fn a_limit_on_addresses_is_a_limit_on_memory() {
        let limits = "Limit   Soft Limit   Hard Limit   Units\n\
                      Max cpu time   5   unlimited   seconds\n\
                      Max address space   8192000000   9000000000   bytes\n";
        assert_eq!(most_addresses(limits), Some(8_192_000_000));
        assert_eq!(most_addresses("Max address space   unlimited   unlimited   bytes"), None);
        assert_eq!(most_addresses(""), None);
        assert_eq!(kibibytes("VmPeak:\t 9 kB\nVmSize:\t   12 kB\n", "VmSize:"), Some(12 * 1024));
        assert_eq!(kibibytes("VmSize: 12 MB", "VmSize:"), None);
    }

    #[test]
    fn what_is_read_on_the_way_is_refused_by_its_bytes() {
        let limit = MemoryLimit::new(Some(1_000));
        assert!(limit.check_file(1_000).is_ok() && limit.check_bytes(9, 1_000).is_ok());
        assert_eq!(
            limit.check_file(1_001).unwrap_err().to_string(),
            "reading it takes 1.0 kB of memory, but only 1.0 kB is allowed by --max-memory"
        );
        assert_eq!(
            limit.check_bytes(9, 1_001).unwrap_err().to_string(),
            "its 9 entries need 1.0 kB of memory as 64-bit numbers, but only 1.0 kB is allowed \
             by --max-memory"
        );
        let none = MemoryLimit { bytes: u64::MAX, why: None };
        assert!(none.check_file(u64::MAX).is_ok() && none.check_bytes(1, u128::MAX).is_ok());
    }

    #[test]
    fn refusals_name_figures_that_mean_something() {
        let limit = MemoryLimit::new(Some(1_000));
        assert!(limit.check(125, Kind::F64).is_ok());
        assert_eq!(
            limit.check(126, Kind::F64).unwrap_err().to_string(),
            "its 126 entries need 1.0 kB of memory as 64-bit numbers, but only 1.0 kB is allowed \
             by --max-memory"
        );
        // A product of dimensions that is beyond counting is not given to 39 digits.
        assert_eq!(
            limit.check(u128::MAX, Kind::F64).unwrap_err().to_string(),
            "its more than 10^38 entries need more than 10^29 GB of memory as 64-bit numbers, but \
             only 1.0 kB is allowed by --max-memory"
        );
        let none = MemoryLimit { bytes: u64::MAX, why: None };
        let text = none.check(10u128.pow(20), Kind::F64).unwrap_err().to_string();
        assert_eq!(
            text,
            "its 1.0e20 entries need 8.0e11 GB of memory as 64-bit numbers, and the system does \
             not give as much"
        );
        // The system may refuse what is within the limit, up to the last byte.
        let text = limit.refused(125, Kind::F64).to_string();
        assert!(text.ends_with("the system does not give as much"), "{text}");
        let text = MemoryLimit::new(Some(1 << 40)).refused(1000, Kind::F64).to_string();
        assert!(
            text.ends_with(
                "8.0 kB of memory as 64-bit numbers, and the system does not give as much"
            )
        );
    }
}
