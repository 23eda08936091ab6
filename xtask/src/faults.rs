//! `cargo xtask faults`: kills at random moments and limits on memory over all commands that write. After each, every output is
//! the whole new file, the whole old one or not there, and what can be resumed ends as if nothing had happened.

use crate::{artifact, random::Random, step};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that writes.
struct Job {
    name: &'static str,
    args: &'static str,
    /// What is the same in every run, byte for byte.
    outputs: &'static [&'static str],
    /// What is whole or not there, and tells the time.
    others: &'static [&'static str],
    /// Whether `--resume` goes on with it; the files it goes on from.
    resumes: Option<&'static [&'static str]>,
}

const SEARCH: &str = "search x.npy --template ring --strategy tnls --no-prune --lambda 200 --max-rank 4 --iterations 6 --samples 20 \
                      --seed 7 --quiet --threads 2 --journal run.jsonl -o net --json sum.json --report page.html";

const JOBS: [Job; 13] = [
    Job {
        name: "search",
        args: SEARCH,
        outputs: &["net"],
        others: &["sum.json", "page.html"],
        resumes: Some(&["run.jsonl"]),
    },
    Job {
        name: "fit",
        args: "fit x.npy --structure s.json -o net --json sum.json --quiet",
        outputs: &["net"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "decompose",
        args: "decompose big.npy --method tt-svd --max-rse 0.01 -o net --json sum.json --quiet",
        outputs: &["net"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "complete",
        args: "complete x.npy --missing 0.2 --template ring --max-rank 2 -o y.npy --json sum.json --quiet",
        outputs: &["y.npy"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "compress",
        args: "compress big.npy --re 0.1 -o net --json sum.json --quiet",
        outputs: &["net"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "decompress",
        args: "decompress packed -o y.npy --json sum.json --quiet",
        outputs: &["y.npy"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "reconstruct",
        args: "reconstruct bignet -o y.npy --json sum.json --quiet",
        outputs: &["y.npy"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "round",
        args: "round bignet --max-re 0.2 -o net --json sum.json --quiet",
        outputs: &["net"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "report",
        args: "report done.jsonl -o page.html --quiet",
        outputs: &["page.html"],
        others: &[],
        resumes: None,
    },
    Job {
        name: "generate",
        args: "generate --template path --order 4 --dim 30 --ranks 2..2 --seed 5 -o y.npy --quiet",
        outputs: &["y.npy"],
        others: &[],
        resumes: None,
    },
    Job {
        name: "compress-model",
        args: "compress-model model.safetensors --keep-re 0.2 -o m.safetensors --json sum.json --quiet",
        outputs: &["m.safetensors"],
        others: &["sum.json"],
        resumes: Some(&["m.safetensors.journal", "m.safetensors.part"]),
    },
    Job {
        name: "decompress-model",
        args: "decompress-model small.safetensors -o m.safetensors --json sum.json --quiet",
        outputs: &["m.safetensors"],
        others: &["sum.json"],
        resumes: None,
    },
    Job {
        name: "pick",
        args: "pick done.jsonl --params 200 -o net --json sum.json --quiet",
        outputs: &["net"],
        others: &["sum.json"],
        resumes: None,
    },
];

/// What a run of a job gave without a fault.
struct Reference {
    outputs: Vec<Vec<u8>>,
    code: Option<i32>,
    time: Duration,
}

struct Place {
    tnsearch: PathBuf,
    folder: PathBuf,
}

/// The kills, levels and seed that are asked for.
pub fn parse(arguments: &[String]) -> Result<(u64, u64, u64)> {
    let (mut kills, mut levels, mut seed) = (1000, 50, 16);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = words.next().ok_or_else(|| step::usage(format!("{word} needs a number")))?;
        let number =
            text.parse().map_err(|_| step::usage(format!("{word}: '{text}' is no number")))?;
        match word.as_str() {
            "--kills" => kills = number,
            "--levels" => levels = number,
            "--seed" => seed = number,
            other => return Err(step::usage(format!("`cargo xtask faults` knows no '{other}'"))),
        }
    }
    Ok((kills, levels, seed))
}

/// Makes kills, then levels of memory.
pub fn run(arguments: &[String]) -> Result<()> {
    let (kills, levels, seed) = parse(arguments)?;
    let tnsearch = artifact::given()?;
    let folder = std::env::temp_dir().join(format!("tnsearch-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let place = Place { tnsearch, folder };
    let references = step::step("without faults", || place.prepare())?;
    // What was not asked for says nothing.
    if kills > 0 {
        step::step(&format!("{kills} kills"), || place.kills(&references, kills, seed))?;
    }
    if levels > 0 {
        step::step(&format!("{levels} levels of memory"), || place.levels(&references, levels))?;
    }
    std::fs::remove_dir_all(&place.folder)?;
    Ok(())
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.tnsearch);
        command.args(args.split_whitespace()).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn must(&self, args: &str) -> Result<()> {
        let output = self.command(args).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code().is_some_and(|code| code < 2), "`{args}`: {said}");
        Ok(())
    }

    /// Makes what the jobs read, and runs each once.
    fn prepare(&self) -> Result<Vec<Reference>> {
        self.must(
            "generate --template ring --order 5 --dim 3 --ranks 2..2 --seed 1 -o x.npy --quiet",
        )?;
        self.must(
            "generate --template path --order 4 --dim 24 --ranks 2..2 --seed 1 -o big.npy --quiet",
        )?;
        let s = r#"{"template":"ring","permutation":[0,1,2,3,4],"edges":[[0,1,2],[1,2,2],[2,3,2],[3,4,2],[0,4,2]]}"#;
        std::fs::write(self.path("s.json"), s)?;
        self.must("decompose big.npy --method tt-svd --max-rse 1e-6 -o bignet --quiet")?;
        self.must("compress big.npy --re 0.1 -o packed --quiet")?;
        self.must(
            "generate --template path --order 2 --dim 96 --ranks 8..8 --seed 3 -o w.npy --quiet",
        )?;
        self.model()?;
        self.must("compress-model model.safetensors --keep-re 0.2 -o small.safetensors --quiet")?;
        self.must(&SEARCH.replace("run.jsonl", "done.jsonl"))?;
        self.clear(&JOBS[0])?;
        JOBS.iter()
            .map(|job| {
                let begun = Instant::now();
                let status = self.command(job.args).status()?;
                ensure!(status.code().is_some_and(|code| code < 2), "{} fails: {status}", job.name);
                let time = begun.elapsed();
                let outputs = job.outputs.iter().map(|name| std::fs::read(self.path(name)));
                let outputs = outputs.collect::<std::io::Result<_>>().context(job.name)?;
                self.clear(job)?;
                Ok(Reference { outputs, code: status.code(), time })
            })
            .collect()
    }

    /// A model of three layers from the entries of an array.
    fn model(&self) -> Result<()> {
        let npy = std::fs::read(self.path("w.npy"))?;
        let entries = &npy[npy.len() - 96 * 96 * 8..];
        let mut header = String::from("{");
        for k in 0..3 {
            let (start, end) = (k * entries.len(), (k + 1) * entries.len());
            let comma = if k > 0 { "," } else { "" };
            header += &format!(
                "{comma}\"w{k}\":{{\"dtype\":\"F64\",\"shape\":[96,96],\"data_offsets\":[{start},{end}]}}"
            );
        }
        header += "}";
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.bytes());
        (0..3).for_each(|_| file.extend(entries));
        Ok(std::fs::write(self.path("model.safetensors"), file)?)
    }

    /// Removes what a job leaves, and what a kill leaves of it.
    fn clear(&self, job: &Job) -> Result<()> {
        let names = job.outputs.iter().chain(job.others).chain(job.resumes.into_iter().flatten());
        for name in names {
            let _ = std::fs::remove_file(self.path(name));
        }
        for entry in std::fs::read_dir(&self.folder)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(".tnsearch-") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Every output is the new one, the old one, or not there.
    fn whole(&self, job: &Job, reference: &Reference, old: bool, after: &str) -> Result<()> {
        for (name, new) in job.outputs.iter().zip(&reference.outputs) {
            let Ok(found) = std::fs::read(self.path(name)) else {
                ensure!(!old, "{after}: the old {name} is gone");
                continue;
            };
            ensure!(&found == new || old && found == OLD, "{after}: {name} is torn or another one");
        }
        for name in job.others {
            let Ok(found) = std::fs::read(self.path(name)) else { continue };
            let text = String::from_utf8(found).with_context(|| format!("{after}: {name}"))?;
            let good = match name.ends_with(".json") {
                true => serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                false => text.trim_end().ends_with("</html>"),
            };
            ensure!(good, "{after}: {name} is torn");
        }
        Ok(())
    }

    /// Goes on with a job, or makes it anew: its outputs are those of the run without a fault.
    fn finish(&self, job: &Job, reference: &Reference, after: &str) -> Result<()> {
        let resume = if job.resumes.is_some() { " --resume" } else { "" };
        let output =
            self.command(&format!("{}{resume}", job.args)).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == reference.code, "{after}, then: {} {said}", output.status);
        for (name, new) in job.outputs.iter().zip(&reference.outputs) {
            ensure!(
                &std::fs::read(self.path(name))? == new,
                "{after}, then: {name} is another one"
            );
        }
        Ok(())
    }

    fn kills(&self, references: &[Reference], kills: u64, seed: u64) -> Result<()> {
        let mut random = Random::new(seed);
        let (mut killed, mut left) = (0, 0);
        for number in 0..kills {
            let k = random.below(JOBS.len());
            let (job, reference) = (&JOBS[k], &references[k]);
            self.clear(job)?;
            let old = random.below(2) == 0;
            if old {
                job.outputs.iter().try_for_each(|name| std::fs::write(self.path(name), OLD))?;
            }
            // Some are killed several times on their way.
            let rounds = if job.resumes.is_some() { 1 + random.below(3) } else { 1 };
            for round in 0..rounds {
                let moment = reference.time.mul_f64(random.below(1100) as f64 / 1000.0);
                let resume = if round > 0 { " --resume" } else { "" };
                let mut child = self.command(&format!("{}{resume}", job.args)).spawn()?;
                std::thread::sleep(moment);
                let running = child.try_wait()?.is_none();
                child.kill()?;
                child.wait()?;
                killed += u64::from(running);
                let after =
                    format!("kill {number} of {} after {:.3} s", job.name, moment.as_secs_f64());
                self.whole(job, reference, old, &after)?;
                left += self.temporary()?;
            }
            self.finish(job, reference, &format!("kill {number} of {}", job.name))?;
        }
        println!("    {}", killed_text(kills, killed, left));
        Ok(())
    }

    /// How many temporary files there are.
    fn temporary(&self) -> Result<u64> {
        let names = std::fs::read_dir(&self.folder)?.flatten().map(|e| e.file_name());
        Ok(names.filter(|n| n.to_string_lossy().starts_with(".tnsearch-")).count() as u64)
    }

    fn levels(&self, references: &[Reference], levels: u64) -> Result<()> {
        let (mut done, mut refused, mut ended, mut panicked) = (0, 0, 0, 0);
        for (job, reference) in JOBS.iter().zip(references) {
            for level in 0..levels {
                self.clear(job)?;
                // From 12 MB to 3 GB of addresses.
                let kb = 12_000.0 * 250f64.powf(level as f64 / levels.max(2) as f64);
                let script =
                    format!("ulimit -v {kb:.0}; exec '{}' {}", self.tnsearch.display(), job.args);
                let output = Command::new("bash")
                    .args(["-c", &script])
                    .current_dir(&self.folder)
                    .output()?;
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let after = format!("{} in {:.0} MB", job.name, kb / 1e3);
                self.whole(job, reference, false, &after)?;
                match output.status.code() {
                    code if code == reference.code => {
                        done += 1;
                        let made = |(name, new): (&&str, &Vec<u8>)| {
                            std::fs::read(self.path(name)).is_ok_and(|f| f == *new)
                        };
                        let all = job.outputs.iter().zip(&reference.outputs).all(made);
                        ensure!(all, "{after}: done without its output: {said}");
                    }
                    Some(2) => refused += 1,
                    // The system gave no memory to something that cannot do without.
                    None | Some(127 | 134 | 139) => ended += 1,
                    // A thread that the system does not give: the standard library's panic, in one place or another.
                    Some(101) => panicked += 1,
                    Some(1) => refused += 1,
                    Some(code) => bail!("{after}: exit code {code}: {said}"),
                }
                if job.resumes.is_some() && level % 5 == 0 {
                    self.finish(job, reference, &after)?;
                }
            }
        }
        println!("    {}", levels_text(done, refused, ended, panicked));
        Ok(())
    }
}

/// What came of kills.
fn killed_text(rounds: u64, killed: u64, left: u64) -> String {
    format!(
        "{rounds} rounds over {} commands, {killed} kills of one at work: no output torn, the next run ends as without a kill; \
         {left} temporary files left",
        JOBS.len()
    )
}

/// What came of runs with little memory.
fn levels_text(done: u64, refused: u64, ended: u64, panicked: u64) -> String {
    format!(
        "{} runs: {done} done as without a limit, {refused} refused, {ended} ended by the system, {panicked} by a panic; \
         no output torn",
        done + refused + ended + panicked
    )
}

/// What stands in an output before.
const OLD: &[u8] = b"what was there before";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_did_and_no_more() {
        let said = killed_text(10, 14, 3);
        assert!(said.starts_with("10 rounds over 13 commands, 14 kills of one at work: no output"));
        assert!(!said.contains("without a limit"));
        let said = levels_text(10, 1, 15, 0);
        assert!(said.starts_with("26 runs: 10 done as without a limit, 1 refused"), "{said}");
    }
}
