//! What is checked at length: each with its full size, which `--scale` lowers, and the command that makes it.

/// A check: `cargo xtask COMMAND`, with its size where `N` stands.
#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    /// The words after `cargo xtask`.
    command: &'static str,
    /// The full size, and what it counts.
    size: f64,
    pub unit: &'static str,
    /// Sizes are whole numbers, at least this.
    least: f64,
}

const fn check(
    name: &'static str,
    command: &'static str,
    (size, unit, least): (f64, &'static str, f64),
) -> Check {
    Check { name, command, size, unit, least }
}

const fn reader(name: &'static str, command: &'static str) -> Check {
    check(name, command, (1e6, "inputs", 100.0))
}

/// A figure large enough to be all mutants of an area.
const ALL: f64 = 4000.0;

/// In the order in which they are made: what takes little first, so that a limit on time leaves out what takes most.
pub const CHECKS: [Check; 32] = [
    check("enumeration", "enumerate --cases N", (1e5, "cases", 90.0)),
    // Tensors of these sizes, whatever the scale is.
    check("memory at 20 MB", "memory --megabytes N", (20.0, "MB", 20.0)),
    check("kills", "faults --kills N --levels 0", (1000.0, "rounds", 1.0)),
    check("memory levels", "faults --kills 0 --levels N", (50.0, "levels of 13 commands", 2.0)),
    check("command lines", "fuzz commands --inputs N", (5e3, "command lines", 20.0)),
    check("Python boundary", "fuzz python --inputs N", (2000.0, "examples a test", 5.0)),
    check("AddressSanitizer, kernels", "sanitize kernels", (1.0, "run", 1.0)),
    check("AddressSanitizer, readers", "sanitize readers", (1.0, "run", 1.0)),
    check("AddressSanitizer, Python module", "sanitize python", (1.0, "run", 1.0)),
    check("Miri, unsafe modules", "sanitize miri", (1.0, "run", 1.0)),
    check("Valgrind, unsafe modules", "sanitize valgrind", (1.0, "run", 1.0)),
    reader("reader npy", "fuzz npy --inputs N"),
    reader("reader npz", "fuzz npz --inputs N"),
    reader("reader safetensors", "fuzz safetensors --inputs N"),
    reader("reader png", "fuzz png --inputs N"),
    reader("reader jpeg", "fuzz jpeg --inputs N"),
    reader("reader csv", "fuzz csv --inputs N"),
    reader("reader template", "fuzz template --inputs N"),
    reader("reader structure", "fuzz structure --inputs N"),
    reader("reader network", "fuzz network --inputs N"),
    reader("reader weights", "fuzz weights --inputs N"),
    reader("reader journal", "fuzz journal --inputs N"),
    reader("reader mask", "fuzz mask --inputs N"),
    reader("reader certificate", "fuzz certificate --inputs N"),
    reader("reader text", "fuzz text --inputs N"),
    check("soak", "soak --minutes N", (60.0, "minutes", 1.0)),
    check("memory at 200 MB", "memory --megabytes N", (200.0, "MB", 200.0)),
    check("mutants of solve", "mutants solve --sample N", (ALL, "mutants at most", 1.0)),
    check("mutants of readers", "mutants readers --sample N", (ALL, "mutants at most", 1.0)),
    check("mutants of verify", "mutants verify --sample N", (ALL, "mutants at most", 1.0)),
    check("mutants of engine", "mutants engine --sample N", (ALL, "mutants at most", 1.0)),
    check("mutants of bound", "mutants bound --sample N", (ALL, "mutants at most", 1.0)),
];

impl Check {
    /// The size at a scale.
    pub fn size(&self, scale: f64) -> f64 {
        (self.size * scale).round().max(self.least)
    }

    /// The words after `cargo xtask`.
    pub fn words(&self, scale: f64) -> Vec<String> {
        let size = self.size(scale).to_string();
        let word = |w: &str| if w == "N" { size.clone() } else { w.to_owned() };
        self.command.split(' ').map(word).collect()
    }

    /// The command line.
    pub fn line(&self, scale: f64) -> String {
        format!("cargo xtask {}", self.words(scale).join(" "))
    }
}

#[cfg(test)]
pub const fn fake(name: &'static str, size: f64) -> Check {
    check(name, "fake --size N", (size, "things", 3.0))
}
