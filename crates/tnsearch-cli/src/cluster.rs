//! Workers of a cluster, reached through the Python package: a process beside this one ships requests and answers
//! (`python/tnsearch/parallel/broker.py`, which says what the frames are). The search stays here, with its journal.

use anyhow::{Context as _, anyhow, bail};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, absolute};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use tnsearch::search::wire::Job;
use tnsearch::search::{ExecutorDescription, FromWorkers, Remote, Ticket, ToWorkers, executors};

/// The interpreter that has the package, where it is not `python3`.
const PYTHON: &str = "TNSEARCH_PYTHON";

/// A folder that all machines see, where the package puts data.
const SHARED: &str = "TNSEARCH_SHARED";

/// Keeps modules of the current folder (a `numpy.py` beside the tensor) out of what Python imports. An interpreter before
/// 3.11 does not know it and ends.
const SAFE: &str = "-P";

/// Says why where the package is not there, in the way of the broker.
const PROGRAM: &str = r#"
import sys
try:
    from tnsearch.parallel.broker import main
except ImportError as error:
    text = f"X{sys.executable} has no Python package tnsearch ({error})".encode()
    sys.stdout.buffer.write(len(text).to_bytes(8, "little") + text)
    sys.exit(2)
sys.exit(main())
"#;

/// Whether MPI is there, in the same way: under `mpiexec` every process would say so.
const CHECK: &str = r#"
import sys
text = "H12345678"
try:
    from mpi4py import MPI
except ImportError:
    text = "Xmpi4py is not installed; pip install 'tnsearch[mpi]' (or mpi4py)"
except RuntimeError as error:
    text = f"Xmpi4py finds no MPI ({error}); install one, such as pip install mpich"
text = text.encode()
sys.stdout.buffer.write(len(text).to_bytes(8, "little") + text)
"#;

/// What is said where the broker says nothing.
const SILENT: &str = "the broker of --cluster ended without a word; it needs Python 3.11 or newer";
/// What is said where it is not understood.
const UNKNOWN: &str = "the broker of --cluster said something unknown; is it of this version?";

/// Where fits are made.
#[derive(Clone)]
pub enum Where {
    /// By workers that the Python package knows.
    Workers(Address),
    /// By an executor that was registered, with what followed its name.
    Registered(&'static ExecutorDescription, String),
}

impl fmt::Debug for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Where::Workers(Address(text)) => f.write_str(text),
            Where::Registered(executor, rest) => write!(f, "{}:{rest}", executor.name),
        }
    }
}

impl FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let place = text.parse::<Address>();
        match executors().into_iter().find(|executor| executor.name == name) {
            Some(executor) if place.is_err() => Ok(Where::Registered(executor, rest.to_owned())),
            _ => place.map(Where::Workers).map_err(|said| {
                let more =
                    executors().into_iter().map(|e| format!(", or {} ({})", e.name, e.summary));
                said + &more.collect::<String>()
            }),
        }
    }
}

/// Where workers are, as the Python package understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(n, r)| (n, Some(r)));
        let address = |rest: &str| {
            let host = rest.strip_prefix("//").and_then(|at| at.rsplit_once(':'));
            host.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        let number = |rest: &str| rest.parse::<usize>().is_ok_and(|n| n > 0);
        let known = match (name, rest) {
            ("dask" | "ray" | "mpi" | "processes", None) => true,
            ("dask" | "ray", Some(rest)) => address(rest),
            ("mpi" | "processes", Some(rest)) => number(rest),
            _ => false,
        };
        match known {
            true => Ok(Address(text.to_owned())),
            false => {
                Err("use dask://HOST:PORT, ray://HOST:PORT, dask, ray, mpi, mpi:N, processes or \
                          processes:N"
                    .to_owned())
            }
        }
    }
}

impl Address {
    /// The processes that MPI starts, beside the broker.
    fn mpi(&self) -> Option<usize> {
        let rest = self.0.strip_prefix("mpi")?;
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        Some(rest.strip_prefix(':').and_then(|n| n.parse().ok()).unwrap_or_else(all))
    }

    /// The command that starts the broker.
    fn command(&self, python: &OsString) -> anyhow::Result<Command> {
        let Some(workers) = self.mpi() else {
            let mut command = elsewhere(python);
            command.args([SAFE, "-c", PROGRAM, &self.0]);
            return Ok(command);
        };
        let mut check = elsewhere(python);
        check.args([SAFE, "-c", CHECK]).stdin(Stdio::null()).stderr(Stdio::null());
        let output = check.output().map_err(|e| no_python(python, &e))?;
        self.heard(&read_frame(&mut &output.stdout[..]).context(SILENT)?)?;
        let mut command = elsewhere(OsStr::new("mpiexec"));
        command.args(["-n", &(workers + 1).to_string()]).arg(python);
        command.args([SAFE, "-m", "mpi4py.futures", "-c", PROGRAM, "mpi"]);
        Ok(command)
    }

    /// How many workers there are, or why there are none.
    fn heard(&self, frame: &[u8]) -> anyhow::Result<usize> {
        match frame.split_first() {
            Some((b'H', number)) => Ok(number_of(number).context(UNKNOWN)? as usize),
            Some((b'X', why)) => {
                let why = String::from_utf8_lossy(why);
                let why = why.lines().next().unwrap_or_default();
                let how = match why.contains("no Python package") {
                    true => format!("; pip install tnsearch, or name an interpreter in {PYTHON}"),
                    false => String::new(),
                };
                bail!("--cluster {}: {why}{how}", self.0)
            }
            _ => bail!(UNKNOWN),
        }
    }
}

/// A command that takes nothing from the folder where it is started: neither Python nor what it starts (Ray puts the
/// working folder on the path of its workers) finds modules there.
fn elsewhere(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    // For the processes that it starts, too.
    command.env("PYTHONSAFEPATH", "1");
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        match searched(&path) {
            Some(path) => command.env("PYTHONPATH", path),
            None => command.env_remove("PYTHONPATH"),
        };
    }
    if let Some(folder) = std::env::var_os(SHARED).filter(|folder| !folder.is_empty()) {
        command.env(SHARED, absolute(&folder).map_or(folder, Into::into));
    }
    #[cfg(unix)]
    command.current_dir("/");
    command
}

/// The folders of a search path, wherever it is used. An empty one stands for the working folder, mostly by accident (as
/// in `PYTHONPATH=$PYTHONPATH:lib`): it is left out.
fn searched(path: &OsStr) -> Option<OsString> {
    let folders = std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty());
    let folders = folders.map(|folder| absolute(&folder).unwrap_or(folder));
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty())
}

/// The interpreter: one that is named by a path is that of the folder where the command runs.
fn python() -> OsString {
    let named = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
    match Path::new(&named).components().count() {
        0 | 1 => named,
        _ => absolute(&named).map_or(named, Into::into),
    }
}

fn no_python(python: &OsString, error: &io::Error) -> anyhow::Error {
    anyhow!(
        "--cluster needs Python 3.11 with the package tnsearch, and {} does not start ({error}); name an interpreter \
         in {PYTHON}",
        python.display()
    )
}

/// The process that knows the workers.
pub struct Broker {
    child: Child,
    pipes: Option<(ChildStdin, BufReader<ChildStdout>)>,
    threads: Vec<JoinHandle<()>>,
    workers: usize,
}

impl Broker {
    /// Starts it, and waits until it has workers.
    pub fn start(place: &Address) -> anyhow::Result<Self> {
        let python = python();
        let mut command = place.command(&python)?;
        // Ctrl-C is for the search, which tells its workers.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| match place.mpi() {
            None => no_python(&python, &e),
            Some(_) => {
                anyhow!("--cluster mpi needs mpiexec, which does not start ({e}); install an MPI")
            }
        })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pipes = pipes.map(|(stdin, stdout)| (stdin, BufReader::new(stdout)));
        let mut broker = Broker { child, pipes, threads: Vec::new(), workers: 0 };
        let Some((_, stdout)) = &mut broker.pipes else { bail!(SILENT) };
        broker.workers = place.heard(&read_frame(stdout).context(SILENT)?)?;
        Ok(broker)
    }

    /// Workers for a job. They end with the search.
    pub fn connect(&mut self, job: Job) -> Remote {
        let ((to, requests), (answers, from)) = (mpsc::channel(), mpsc::channel());
        if let Some((stdin, stdout)) = self.pipes.take() {
            let writer = std::thread::spawn(move || {
                // Where the broker is gone, the reader notices.
                let _ = write_all(BufWriter::new(stdin), &requests);
            });
            let reader = std::thread::spawn(move || read_all(stdout, &answers));
            self.threads.extend([writer, reader]);
        }
        Remote::new(job, self.workers, to, from)
    }
}

impl Drop for Broker {
    /// Waits until it has ended, so that nothing stays behind.
    fn drop(&mut self) {
        drop(self.pipes.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let _ = self.child.wait();
    }
}

fn number_of(bytes: &[u8]) -> io::Result<u64> {
    let bytes = bytes.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut frame = Vec::new();
    let length = u64::from_le_bytes(length);
    // Not allocated before it has come.
    match from.take(length).read_to_end(&mut frame)? as u64 == length {
        true => Ok(frame),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn write_frame(to: &mut impl Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let length = 1 + parts.iter().map(|part| part.len() as u64).sum::<u64>();
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&[kind])?;
    parts.iter().try_for_each(|part| to.write_all(part))
}

/// Writes what the search says, until it ends.
fn write_all(mut to: impl Write, requests: &Receiver<ToWorkers>) -> io::Result<()> {
    while let Ok(first) = requests.recv() {
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                ToWorkers::Job(job) => {
                    let size = (job.header().len() as u32).to_le_bytes();
                    write_frame(&mut to, b'J', &[&size, job.header(), job.entries()])?;
                }
                ToWorkers::Submit(Ticket(ticket), request) => {
                    write_frame(&mut to, b'S', &[&ticket.to_le_bytes(), &request])?;
                }
                ToWorkers::Cancel(Ticket(ticket)) => {
                    write_frame(&mut to, b'C', &[&ticket.to_le_bytes()])?;
                }
            }
            next = requests.try_recv().ok();
        }
        to.flush()?;
    }
    write_frame(&mut to, b'E', &[])?;
    to.flush()
}

/// Reads what comes back, until the broker ends or the search does.
fn read_all(mut from: impl Read, answers: &Sender<FromWorkers>) {
    while let Ok(frame) = read_frame(&mut from) {
        let Some((kind, rest)) = frame.split_first() else { return };
        let Some((number, rest)) = rest.split_at_checked(8) else { return };
        let Ok(number) = number_of(number) else { return };
        let sent = match kind {
            b'A' => answers.send(FromWorkers::Answer(Ticket(number), rest.to_vec())),
            b'F' => {
                let why = String::from_utf8_lossy(rest).into_owned();
                answers.send(FromWorkers::Failed(Ticket(number), why))
            }
            b'W' => answers.send(FromWorkers::Workers(number as usize)),
            _ => return,
        };
        // Where nobody listens the search is over, but the broker must not be stuck.
        let _ = sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_checked_before_anything_is_started() {
        for good in [
            "dask",
            "ray",
            "mpi",
            "mpi:4",
            "processes",
            "processes:8",
            "dask://10.0.0.1:8786",
            "ray://head.cluster:10001",
            "dask://[::1]:8786",
        ] {
            assert_eq!(good.parse::<Address>().unwrap().0, good);
        }
        for bad in [
            "",
            "dusk",
            "dask://",
            "dask://host",
            "dask://:1",
            "ray:10001",
            "processes:0",
            "processes:x",
            "mpi://a:1",
            "dask://h:99999",
        ] {
            assert!(bad.parse::<Address>().unwrap_err().contains("dask://HOST:PORT"), "{bad}");
        }
    }

    #[test]
    fn empty_folders_of_a_path_are_none_and_the_others_are_whole() {
        let here = std::env::current_dir().unwrap();
        let of = |path: &str| searched(OsStr::new(path)).map(|p| p.into_string().unwrap());
        let lib = here.join("lib").display().to_string();
        for path in [":lib", "lib:", ":lib::", "lib"] {
            assert_eq!(of(path).as_deref(), Some(&*lib), "{path}");
        }
        assert_eq!(of("/a:./lib").unwrap(), format!("/a:{lib}"));
        assert_eq!((of(""), of("::")), (None, None));
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, b'A', &[&7u64.to_le_bytes(), b"answer"]).unwrap();
        write_frame(&mut bytes, b'W', &[&3u64.to_le_bytes()]).unwrap();
        write_frame(&mut bytes, b'F', &[&8u64.to_le_bytes(), b"why"]).unwrap();
        let (send, receive) = mpsc::channel();
        read_all(&bytes[..], &send);
        drop(send);
        let said: Vec<String> = receive.iter().map(|message| format!("{message:?}")).collect();
        assert_eq!(said.len(), 3);
        assert!(said[0].contains("Ticket(7)") && said[2].contains("\"why\""), "{said:?}");
        assert!(read_frame(&mut &bytes[..5]).is_err() && read_frame(&mut &bytes[..20]).is_err());
        assert!(read_frame(&mut &[255u8; 8][..]).is_err(), "nothing is allocated for it");
    }
}
