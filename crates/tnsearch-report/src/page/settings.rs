//! The settings of a search and the command that repeats it.

use super::digest::{Digest, State};
use super::html::{Table, section as html_section};
use super::words;
use crate::plot::escape;
use serde_json::Value;
use tnsearch::graph::TemplateRef;
use tnsearch::search::StoppedBy;

/// Settings, files, and the command.
pub(super) fn section(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let header = &journal.header;
    let recorded = journal.begins.last().map(|b| &b.command).filter(|c| !c.is_empty());
    let (command, note) = match recorded {
        Some(words) => (quoted(words), "As it was given."),
        None => (
            rebuilt(digest),
            "Put together from the journal's first line; the tensor's file is not on record.",
        ),
    };
    // A limit in seconds or a Ctrl-C ends where the machine happens to be.
    let promise = match digest.state {
        State::Ended(StoppedBy::Finished | StoppedBy::MaxEvaluations) => {
            " The same seed gives the same answer, bit for bit, at any number of threads."
        }
        _ => "",
    };
    let journal_note = match command.contains("--journal") {
        true => " To repeat it, name another journal and leave out --resume.",
        false => "",
    };
    let mut out = format!(
        "<div class=\"command\"><div class=\"bar\"><b>The command that repeats it</b>\
         <button type=\"button\" class=\"copy\">Copy</button></div><pre tabindex=\"0\"><code>{}</code></pre>\
         <p class=\"note\">{note}{journal_note}{promise}</p></div>\n",
        escape(&command)
    );
    let mut table = Table::new("Settings", &["setting", "value"]);
    let mut row = |name: &str, value: String| table.row(&[name.to_owned(), value]);
    row("journal", digest.search.name.clone());
    row("tensor", words::tensor(digest));
    row("tensor SHA-256", header.sha256.clone());
    row("dimensions", header.dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "));
    row("template", header.template.name().to_owned());
    row("objective", header.objective.text(&header.measure));
    row(
        "strategy",
        match words::strategy(digest) {
            used if used != header.strategy => format!("{} (ended with {used})", header.strategy),
            used => used.to_owned(),
        },
    );
    row("seed", header.seed.to_string());
    row("runs", header.runs.to_string());
    flatten("", &header.settings, &mut |name, value| row(name, value));
    flatten("fit ", &header.fit, &mut |name, value| row(name, value));
    row(
        "ended by",
        match digest.state {
            State::Ended(by) => by.name().to_owned(),
            State::Open => "not on record".to_owned(),
        },
    );
    row("seconds", format!("{:.3}", digest.seconds));
    if let Some(stages) = journal.end.as_ref().and_then(|end| end.stages) {
        let each = stages.each().map(|(stage, seconds)| format!("{stage} {seconds:.3}"));
        row("seconds by stage", each.join(", "));
    }
    row("tnsearch", header.tnsearch.clone());
    out += &table.folded();
    html_section("settings", "Settings", &out)
}

/// The fields of a JSON object, one level deep.
fn flatten(prefix: &str, value: &Value, row: &mut impl FnMut(&str, String)) {
    let Some(fields) = value.as_object() else { return };
    for (name, value) in fields {
        let text = match value {
            Value::String(s) => s.clone(),
            Value::Null => "–".to_owned(),
            other => other.to_string(),
        };
        row(&format!("{prefix}{}", name.replace('_', " ")), text);
    }
}

/// The command for a journal that does not hold it.
fn rebuilt(digest: &Digest<'_>) -> String {
    let header = &digest.journal().header;
    let template = match header.template.to_ref() {
        TemplateRef::Name(name) => name,
        TemplateRef::Graph { .. } => "template.json".to_owned(),
    };
    let mut words = vec!["tnsearch".to_owned(), "search".to_owned(), "X.npy".to_owned()];
    words.extend(header.objective.option(&header.measure).split(' ').map(str::to_owned));
    let seed = header.seed.to_string();
    let mut pairs =
        vec![("template", template), ("strategy", header.strategy.clone()), ("seed", seed)];
    if let Some(rank) = header.max_rank() {
        pairs.push(("max-rank", rank.to_string()));
    }
    if header.runs > 1 {
        pairs.push(("runs", header.runs.to_string()));
    }
    if header.strategy == "tnls" {
        for name in ["iterations", "samples", "c1", "c2"] {
            if let Some(value) = header.settings.get(name).filter(|v| v.is_number()) {
                pairs.push((name, value.to_string()));
            }
        }
    }
    words.extend(pairs.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]));
    quoted(&words)
}

/// Words as a shell takes them.
fn quoted(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        let words: Vec<String> =
            ["tnsearch", "<script>.npy", "it's", "", "--max-rse=1e-4"].map(str::to_owned).to_vec();
        assert_eq!(quoted(&words), r"tnsearch '<script>.npy' 'it'\''s' '' --max-rse=1e-4");
        let script = format!("printf '%s|' {}", quoted(&words[1..]));
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
        assert_eq!(String::from_utf8(said).unwrap(), "<script>.npy|it's||--max-rse=1e-4|");
    }
}
