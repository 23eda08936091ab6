//! The page in plain words.

use super::Peer;
use super::digest::{Digest, Found};
use super::html::marked_up;
use crate::plot::{at_most, escape, short as number};
use std::fmt::Write as _;
use tnsearch::graph::Structure;
use tnsearch::problem::{Over, Proven};
use tnsearch::search::{self, chosen_format};
use tnsearch::tensor::{ModeNames, size};

/// What the template asked for is called in a sentence.
pub(super) fn template(digest: &Digest<'_>) -> String {
    let template = &digest.journal().header.template;
    match template.name() {
        ANY_TREE => "tree".to_owned(),
        "any" => "network".to_owned(),
        _ if template.is_formats() => "tensor network".to_owned(),
        _ => template.words(),
    }
}

/// The template that stands for all trees: no rank is too large for it.
const ANY_TREE: &str = "any-tree";

/// The tensor's name: as the user gave it, else the journal's.
pub(super) fn tensor(digest: &Digest<'_>) -> String {
    digest.journal().input().map_or_else(|| "the tensor".to_owned(), str::to_owned)
}

/// Text, not markup.
pub(super) fn title(digest: &Digest<'_>) -> String {
    let tensor = tensor(digest);
    let header = &digest.journal().header;
    let form = match header.searched == header.template {
        _ if digest.found.as_ref().is_some_and(|f| f.format.is_some()) => format(digest),
        true => template(digest),
        // It left the format asked for, or may have.
        false => match digest
            .found
            .as_ref()
            .and_then(|f| header.template.holds(&f.structure.canonical().graph))
        {
            Some(true) => template(digest),
            _ => "network of another format".to_owned(),
        },
    };
    match &digest.found {
        Some(found) if digest.target_reached => {
            let phi = found.structure.phi(&digest.journal().header.dims);
            match phi < 1.0 {
                true => {
                    format!("{tensor}: {} times smaller as a {form}", number(1.0 / phi))
                }
                false => format!("{tensor} as a {form}"),
            }
        }
        Some(_) => format!("{tensor}: the target was not reached"),
        None => format!("{tensor}: nothing was fitted"),
    }
}

/// What the format found is called in a sentence, after "a".
fn format(digest: &Digest<'_>) -> String {
    match digest.found.as_ref().and_then(|f| Some((f, f.format.as_deref()?))) {
        Some((found, name)) => match name {
            ANY_TREE => "tree".to_owned(),
            "any" => "network".to_owned(),
            _ if found.structure.template().family().is_some() => {
                found.structure.template().words()
            }
            other => other.to_owned(),
        },
        None => template(digest),
    }
}

/// What stands at a vertex of a structure: `m2`, `m2 m5`, or `v7` where it carries no mode.
pub(super) fn vertex(structure: &Structure, vertex: usize, names: ModeNames<'_>) -> String {
    let modes = structure.permutation().iter().enumerate().filter(|(_, v)| **v == vertex);
    let modes: Vec<_> = modes.map(|(n, _)| names.of(n)).collect();
    if modes.is_empty() { format!("v{vertex}") } else { modes.join(" ") }
}

/// The edges of a structure that are some, with their ranks: `m0–m3: 4, m3–v5: 2`.
pub(super) fn ranks(structure: &Structure, names: ModeNames<'_>) -> String {
    let edges = structure.edges().into_iter().filter(|e| e[2] > 1);
    let text = |[u, v, r]: [usize; 3]| {
        format!("{}–{}: {r}", vertex(structure, u, names), vertex(structure, v, names))
    };
    let all: Vec<String> = edges.map(text).collect();
    if all.is_empty() { "all 1".to_owned() } else { all.join(", ") }
}

/// That the target was missed and by how much, as two short texts of markup.
pub(super) fn missed(digest: &Digest<'_>, found: &Found) -> (String, String) {
    let header = &digest.journal().header;
    let measure = marked_up(&header.measure);
    let more = match (header.objective.max_error(), header.objective.max_params()) {
        (Some(eps), _) => match &measure.root {
            Some(root) => {
                let (name, error) = (&root.name, number(found.error.sqrt()));
                format!("{name} {error}, asked for {}", number(eps.sqrt()))
            }
            None => {
                let (name, error) = (&measure.name, number(found.error));
                format!("{name} {error}, asked for {}", number(eps))
            }
        },
        (_, Some(most)) => {
            format!(
                "{} params, at most {} asked for",
                number(found.params as f64),
                number(most as f64)
            )
        }
        _ => String::new(),
    };
    ("not reached".to_owned(), more)
}

/// That the target was missed, and what the answer is instead.
fn nearest(digest: &Digest<'_>, found: &Found) -> String {
    let journal = digest.journal();
    let nearest = journal.records.iter().min_by(|a, b| a.error.total_cmp(&b.error));
    let nearest = nearest.map(|record| (u128::from(record.params), record.error));
    let (objective, measure) = (journal.header.objective, &journal.header.measure);
    let fitted = journal.records.len() as u64;
    search::missed(&found.score(), nearest, fitted, objective, measure, number)
}

/// A text with a capital.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// That edges stand at the largest rank allowed, where some do that could use a larger one.
fn capped(digest: &Digest<'_>, found: &Found) -> Option<String> {
    let header = &digest.journal().header;
    let most = digest.max_rank()?;
    // A tree of any topology has the ranks it needs.
    if found.format.as_deref() == Some(ANY_TREE) {
        return None;
    }
    let optimal = digest.statement.is_optimal();
    let at = found.structure.edges_at(most, &header.dims);
    let may = match (digest.target_reached, header.objective.max_error()) {
        (false, _) => "may reach the target",
        (true, Some(_)) => "may give fewer parameters",
        (true, None) => "may give a better answer",
    };
    (at > 0 && !optimal).then(|| {
        let (at, of) = (number(at as f64), number(found.structure.ranks().len() as f64));
        let are = if at == "1" { "is" } else { "are" };
        format!(
            " {at} of {of} edges {are} at the largest rank allowed, {most}: a larger <code>--max-rank</code> {may}."
        )
    })
}

/// The strategy at work, as a word.
pub(super) fn strategy<'a>(digest: &'a Digest<'_>) -> &'a str {
    let journal = digest.journal();
    journal.end.as_ref().map_or(journal.header.strategy.as_str(), |end| end.strategy.as_str())
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n as f64), if n == 1 { one } else { many })
}

/// Headings and paragraphs, as markup.
pub(super) fn summary(digest: &Digest<'_>) -> Vec<(&'static str, String)> {
    let mut parts = vec![("Asked", asked(digest)), ("Found", found(digest))];
    if let Some(text) = compared(digest) {
        parts.push(("Compared", text));
    }
    if let Some(text) = chosen(digest) {
        parts.push(("Chosen", text));
    }
    parts.push(("Proven", certificate(digest)));
    parts.push(("Searched", effort(digest)));
    parts
}

/// Which of several formats, and why.
fn chosen(digest: &Digest<'_>) -> Option<String> {
    let header = &digest.journal().header;
    let why = chosen_format(&digest.formats, header.objective, &header.measure, number)?;
    Some(format!(
        "Structures of {} formats were fitted. The answer is of the format {}.",
        digest.formats.len(),
        escape(&why)
    ))
}

/// Which ranks were allowed, to stand after what was searched; nothing where all were.
fn ranks_asked(digest: &Digest<'_>) -> String {
    match digest.max_rank() {
        _ if digest.journal().header.template.is_any_tree() => " of any topology and ranks".into(),
        Some(rank) => format!(" with ranks up to {rank}"),
        None => String::new(),
    }
}

fn asked(digest: &Digest<'_>) -> String {
    let header = &digest.journal().header;
    let dims = &header.dims;
    let free = match header.searched == header.template {
        true => "",
        false => " Its strategy may leave that format: it searches all graphs.",
    };
    let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
    let as_what = match digest.formats.len() {
        _ if header.template.is_formats() => "as a tensor network of any format".to_owned(),
        0 | 1 => format!("as a {}{}", escape(&template(digest)), ranks_asked(digest)),
        n => format!("in one of {n} formats"),
    };
    let aim = header.objective.aim(&marked_up(&header.measure), number);
    format!(
        "The tensor <b>{}</b> has {} modes, {}, which is {} numbers. Of all ways to write it {as_what}, \
         the search was for {aim}.{free}",
        escape(&tensor(digest)),
        dims.len(),
        escape(&shape.join(" × ")),
        number(size(dims) as f64),
    )
}

fn found(digest: &Digest<'_>) -> String {
    let header = &digest.journal().header;
    let Some(found) = &digest.found else {
        let why = digest.journal().end.as_ref().and_then(|end| end.no_answer);
        let why = why.map_or_else(|| "no structure was fitted".to_owned(), |why| why.text());
        return format!("Nothing: {}.", escape(&why));
    };
    let phi = found.structure.phi(&header.dims);
    let ratio = match phi < 1.0 {
        true => format!("{} times fewer numbers than the tensor has", number(1.0 / phi)),
        false if phi == 1.0 => "as many numbers as the tensor has".to_owned(),
        false => format!("{} times more numbers than the tensor has", number(phi)),
    };
    let start = match digest.target_reached {
        true => "A network with".to_owned(),
        false => format!("{}. It has", escape(&capital(&nearest(digest, found)))),
    };
    let format = match header.searched == header.template {
        true => "",
        false => match header.template.holds(&found.structure.canonical().graph) {
            Some(true) => " It has the format asked for, under some order of the modes.",
            Some(false) => " It does <b>not</b> have the format asked for.",
            None => " Whether it has the format asked for was not decided.",
        },
    };
    format!(
        "{start} <b>{} parameters</b>, {ratio}, at {} {}.{format}{}",
        number(found.params as f64),
        header.measure.article(),
        marked_up(&header.measure).short_text(found.error, number),
        capped(digest, found).unwrap_or_default()
    )
}

/// Where the modes sit, for the caption of the picture (text, not markup).
pub(super) fn where_modes_sit(found: &Found, names: ModeNames<'_>) -> String {
    let name =
        |modes: &Vec<usize>| modes.iter().map(|&n| names.of(n)).collect::<Vec<_>>().join(" with ");
    let groups = found.structure.groups();
    let modes: Vec<String> = groups.iter().filter(|g| !g.is_empty()).map(name).collect();
    found.structure.template().placement(&modes)
}

fn compared(digest: &Digest<'_>) -> Option<String> {
    let found = digest.found.as_ref()?;
    let facts = digest.search.facts.as_ref()?;
    let sentence = |peer: &Peer| match peer.least_error {
        Some(least) => original_order(digest, found, peer, least),
        None => format!("{} {}", escape(&peer.name), against(digest, found, peer)),
    };
    let sentences: Vec<String> = facts.peers.iter().map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What the same ranks do with the modes in the original order; below `least` they cannot come.
fn original_order(digest: &Digest<'_>, found: &Found, peer: &Peer, least: f64) -> String {
    let header = &digest.journal().header;
    let enough = header.objective.max_error().unwrap_or(found.error * 1.001);
    let (name, error) = (escape(&header.measure.name), number(peer.error));
    let said = match peer.error <= enough {
        true if !digest.target_reached => format!(
            "<b>reach what was asked for</b> ({name} {error}, {} parameters): the search missed it; search longer, \
             or with other seeds",
            number(peer.params as f64)
        ),
        true => format!("do as well ({name} {error})"),
        false if least > 0.0 && (least > found.error || least > 0.99 * peer.error) => {
            let least = at_most(least);
            format!("reach only {name} {error}; below {least} they cannot, which is proven")
        }
        false => format!("reached only {name} {error}"),
    };
    format!("With the modes in their original order the same ranks {said}.")
}

/// What another method needs for the same error, beside the network found.
fn against(digest: &Digest<'_>, found: &Found, peer: &Peer) -> String {
    let params = number(peer.params as f64);
    if !digest.target_reached {
        let error = match &digest.measure().root {
            Some(root) => format!("{} {}", escape(&root.name), number(peer.error.sqrt())),
            None => format!("{} {}", escape(&digest.measure().name), number(peer.error)),
        };
        return format!("reaches {error} with {params} parameters.");
    }
    let relation = match peer.params as f64 / found.params.max(1) as f64 {
        t if t > 1.005 => format!("<b>{} times more</b>", number((t * 100.0).round() / 100.0)),
        t if t < 0.995 => format!("{} times fewer", number((100.0 / t).round() / 100.0)),
        _ => "as many".to_owned(),
    };
    format!("needs {params} parameters, {relation}.")
}

/// What is proven, as markup: the statement's own words, and how far the answer is from the bound where it is one of the
/// structures that the bound is about.
pub(super) fn certificate(digest: &Digest<'_>) -> String {
    let statement = &digest.statement;
    let said = escape(&statement.sentence());
    let params = statement.bound().and_then(|bound| bound.params);
    let why = match &statement.proven {
        Proven::Optimal(_) => format!(
            " The singular values of the tensor's unfoldings rule out every better one: whoever searches those longer \
             will find none.{}",
            beyond(digest)
        ),
        Proven::AtLeast(_) => match statement.gap().filter(|_| params.is_some()) {
            Some(gap) => {
                let save = 100.0 * (1.0 - 1.0 / gap);
                format!(
                    " Of such networks none could save more than {} % of the parameters found.{}",
                    number((save * 10.0).ceil() / 10.0),
                    beyond(digest)
                )
            }
            None => String::new(),
        },
        _ => String::new(),
    };
    format!("<b>{said}</b>{why}")
}

/// That a proof over trees is none over others, where others were searched.
fn beyond(digest: &Digest<'_>) -> &'static str {
    let formats = digest.journal().header.template.is_formats();
    match digest.statement.over == Some(Over::Trees) && formats {
        true => " Networks with cycles are not among them: about those nothing is proven.",
        false => "",
    }
}

fn effort(digest: &Digest<'_>) -> String {
    let counts = digest.counts;
    let mut text = format!(
        "{} fitted in {}",
        plural(counts.evaluations, "structure was", "structures were"),
        seconds(digest.seconds)
    );
    if digest.counted {
        let _ = write!(text, ", of {} proposed", number(counts.samples as f64));
        let mut rest = Vec::new();
        for (n, what) in [
            (counts.pruned, "ruled out by a bound without a fit"),
            (counts.cached, "known from before"),
            (counts.refused, "too large"),
        ] {
            if n > 0 {
                rest.push(format!("{} {what}", number(n as f64)));
            }
        }
        if !rest.is_empty() {
            let _ = write!(text, "; {}", rest.join(", "));
        }
    }
    let runs = digest.journal().header.runs;
    if runs > 1 {
        let _ = write!(text, ". {} independent runs were made side by side", number(runs as f64));
    }
    text + "."
}

/// A time span in words.
pub(super) fn seconds(s: f64) -> String {
    let whole = s.round().max(0.0) as u64;
    match whole {
        0 if s < 0.095 => format!("{} ms", number((s * 1000.0).ceil())),
        0..10 => format!("{s:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}
