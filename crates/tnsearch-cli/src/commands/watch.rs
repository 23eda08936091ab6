//! `tnsearch watch`: a search in the terminal, running or finished.

mod view;

use super::describe::{line, structure_lines, tensor_text};
use super::report::warn;
use crate::text::{duration, number};
use crate::{Exit, interrupt, terminal};
use anyhow::anyhow;
use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tnsearch::problem::{Score, Stop};
use tnsearch::search::StoppedBy;
use tnsearch_app::page;
use tnsearch_io::journal::Header;
use tnsearch_io::lines::being_written;
use tnsearch_report::page::{Digest, Found, Search, State};

/// How often keys are looked for.
const TICK: Duration = Duration::from_millis(100);
/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Watch a search in the terminal, running or finished.
///
/// Reads the journal that 'search --journal' writes, and follows it until you press q. Without a terminal it
/// prints the state once and ends.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch search X.npy --journal run.jsonl &
  tnsearch watch run.jsonl
  ssh host tnsearch watch run.jsonl       the state, once
  ssh -t host tnsearch watch run.jsonl    live")]
pub struct Watch {
    /// The journal
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,
    /// Print the state once and end, also on a terminal
    #[arg(long)]
    once: bool,
}

/// Whether somebody is writing the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Somebody,
    Nobody,
    Unknown,
}

pub fn run(args: &Watch) -> anyhow::Result<Exit> {
    let tty = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if args.once || !tty {
        let search = page::read(&args.journal)?;
        warn(&args.journal, &search.journal);
        terminal::print(&snapshot(&search, writer(&args.journal)))?;
        return Ok(Exit::Done);
    }
    // A file that is no journal is refused before the screen is taken; one that is not there yet may come.
    if args.journal.metadata().is_ok_and(|m| m.len() > 0) {
        page::read(&args.journal)?;
    }
    let stop = interrupt::silent();
    // Restores the terminal on a panic, too.
    let mut screen = ratatui::try_init().map_err(|e| anyhow!("cannot use the terminal: {e}"))?;
    let ended = follow(&args.journal, &mut screen, &stop);
    ratatui::restore();
    ended.map(|()| Exit::Done)
}

/// What the journal held when it was last read.
struct Seen {
    /// The file's length and time of change.
    mark: Option<(u64, Option<SystemTime>)>,
    search: Result<Search, String>,
    writer: Writer,
    next: Instant,
}

impl Seen {
    fn new() -> Self {
        let search = Err("waiting for the journal".to_owned());
        Seen { mark: None, search, writer: Writer::Unknown, next: Instant::now() }
    }

    /// Looks at the journal, if it is time to, and reads it again if it has changed; whether it looked.
    fn refresh(&mut self, path: &Path) -> bool {
        let begun = Instant::now();
        if begun < self.next {
            return false;
        }
        self.writer = writer(path);
        let mark = path.metadata().ok().map(|m| (m.len(), m.modified().ok()));
        if mark != self.mark || mark.is_none() {
            self.mark = mark;
            self.search = match mark {
                None => Err(format!("waiting for {}", path.display())),
                Some((0, _)) => {
                    Err("the journal is empty: the search is about to begin".to_owned())
                }
                Some(_) => page::read(path).map_err(|e| e.to_string()),
            };
        }
        // A large journal takes a while to read: never more than a fifth of the time.
        self.next = Instant::now() + LOOK.max(5 * begun.elapsed());
        true
    }
}

fn follow(path: &Path, screen: &mut ratatui::DefaultTerminal, stop: &Stop) -> anyhow::Result<()> {
    let mut seen = Seen::new();
    let mut changed = true;
    while !stop.is_set() {
        changed |= seen.refresh(path);
        if std::mem::take(&mut changed) {
            screen.draw(|frame| match &seen.search {
                Ok(search) => view::draw(frame, search, seen.writer),
                Err(problem) => view::wait(frame, problem),
            })?;
        }
        if !event::poll(TICK)? {
            continue;
        }
        // Any other event may be a new size of the screen.
        changed = true;
        if let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            let ctrl_c =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if ctrl_c || matches!(key.code, KeyCode::Char('q' | 'Q') | KeyCode::Esc) {
                break;
            }
        }
    }
    Ok(())
}

fn writer(path: &Path) -> Writer {
    match being_written(path) {
        Some(true) => Writer::Somebody,
        Some(false) => Writer::Nobody,
        None => Writer::Unknown,
    }
}

/// The state of a search in a few words.
fn state(digest: &Digest<'_>, writer: Writer) -> String {
    match (digest.state, writer) {
        (_, Writer::Somebody) => "running".to_owned(),
        (State::Ended(StoppedBy::Finished), _) => "finished".to_owned(),
        (State::Ended(by), _) => format!("ended by {}", by.name().replace('_', "-")),
        (State::Open, Writer::Nobody) if digest.journal().begins.is_empty() => {
            "not running; whether it ended is not on record".to_owned()
        }
        (State::Open, Writer::Nobody) => "broken off; --resume continues it".to_owned(),
        (State::Open, Writer::Unknown) => "not ended".to_owned(),
    }
}

/// An answer in a few words.
fn best(found: &Found, header: &Header) -> String {
    header.objective.score_text(&score(found), &header.measure, number)
}

fn score(found: &Found) -> Score {
    Score { loss: found.loss, error: found.error, params: found.params }
}

/// What is proven, in a few words.
fn proof(digest: &Digest<'_>) -> String {
    let (text, statement) = (digest.statement.short(), &digest.statement);
    let gap = statement.gap().filter(|_| !statement.is_optimal());
    match gap.filter(|_| statement.bound().is_some_and(|bound| bound.params.is_some())) {
        Some(gap) => format!("{text}; the best is {gap:.3} times that"),
        None => text,
    }
}

/// What became of the structures.
fn counts(digest: &Digest<'_>) -> String {
    let c = digest.counts;
    let mut text = format!("{} evaluated", c.evaluations);
    if digest.counted {
        text =
            format!("{} structures: {text}, {} cached, {} pruned", c.samples, c.cached, c.pruned);
        if c.refused > 0 {
            text += &format!(", {} too large", c.refused);
        }
    }
    let rate = match digest.seconds > 0.0 {
        true => format!(", {} fits/s", number(c.evaluations as f64 / digest.seconds)),
        false => String::new(),
    };
    format!("{text}, in {}{rate}", duration(digest.seconds))
}

/// What was asked, in a few words.
fn asked(digest: &Digest<'_>) -> String {
    let h = &digest.journal().header;
    let rank = h.max_rank().map_or(String::new(), |r| format!(", ranks up to {r}"));
    format!(
        "{}; {}{rank}, {}, seed {}",
        h.objective.text(&h.measure),
        h.template.name(),
        h.strategy,
        h.seed
    )
}

/// The state as plain text.
fn snapshot(search: &Search, writer: Writer) -> String {
    let digest = Digest::new(search);
    let header = &search.journal.header;
    let mut out = String::new();
    line(&mut out, "journal", format!("{}, {}", search.name, state(&digest, writer)));
    line(
        &mut out,
        "tensor",
        tensor_text(search.journal.input().unwrap_or("not named"), &header.dims),
    );
    line(&mut out, "asked", asked(&digest));
    match &digest.found {
        Some(found) => {
            let reached =
                if digest.target_reached { "" } else { "; the target is NOT reached yet" };
            line(&mut out, "best", format!("{}{reached}", best(found, header)));
            let (dims, names) = (&header.dims, header.names());
            structure_lines(&mut out, &found.structure, dims, names, &header.measure, found.error);
        }
        None => line(&mut out, "best", "nothing was fitted yet"),
    }
    line(&mut out, "searched", counts(&digest));
    line(&mut out, "proven", proof(&digest));
    out
}
