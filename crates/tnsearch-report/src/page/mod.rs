//! The report page: one self-contained HTML file about one search or several.

mod compare;
mod curves;
mod digest;
mod figures;
mod html;
mod pictures;
mod settings;
mod spectra;
mod tables;
mod tiles;
mod trade;
mod words;

pub use digest::{Digest, Found, State};
pub use pictures::{Shown, SideBySide, Tile};
pub use tables::{Cell, Rows, Tables};

use crate::network::network_inline;
use crate::plot::{at_most, escape, number, theme};
use html::{Table, error_cells, error_heads, figure, section};
use std::fmt::Write as _;
use tnsearch::graph::Structure;
use tnsearch_io::journal::JournalFile;

/// A search to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// What to call it: the journal's file name.
    pub name: String,
    /// Its journal.
    pub journal: JournalFile,
    /// What only the tensor can tell; none where it is not at hand.
    pub facts: Option<Facts>,
}

/// What only the tensor can tell about a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Other ways to write the tensor, for comparison.
    pub peers: Vec<Peer>,
    /// The cuts of the structure found, those that hold it first.
    pub cuts: Vec<CutFacts>,
    /// How many cuts were looked at.
    pub cuts_seen: usize,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Another way to write the tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// What was done, in a few words.
    pub how: String,
    /// Its parameters.
    pub params: u128,
    /// Its error.
    pub error: f64,
    /// No network of this structure has a smaller error, where that was computed.
    pub least_error: Option<f64>,
}

/// A cut of the structure found.
#[derive(Debug, Clone, PartialEq)]
pub struct CutFacts {
    /// The modes of one side.
    pub modes: Vec<usize>,
    /// The largest rank that the network's unfolding can have there.
    pub width: f64,
    /// The rank needed for the error asked for.
    pub needed: Option<usize>,
    /// No network with this cut has a smaller error.
    pub error: f64,
    /// Whether the cut holds the structure where it is.
    pub binding: bool,
    /// The first squared singular values of the unfolding, as shares of the sum of all, falling.
    pub spectrum: Vec<f64>,
    /// The share of those beyond.
    pub rest: f64,
}

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page about some searches, the first of which is shown in full where there is one only; of several the
/// best is, below a comparison of all.
///
/// The page needs nothing but itself: its policy forbids any request.
pub fn page(searches: &[Search]) -> String {
    let digests: Vec<Digest<'_>> = searches.iter().map(Digest::new).collect();
    let main = compare::best(&digests);
    let mut body = String::new();
    let title = match main {
        Some(main) => words::title(main),
        None => "tnsearch report".to_owned(),
    };
    if digests.len() > 1 {
        body += &compare::section(&digests, main);
    }
    if let Some(main) = main {
        if digests.len() > 1 {
            let name = escape(&main.search.name);
            let _ = writeln!(
                body,
                "<p class=\"divider\">The rest of this page is about <b>{name}</b>.</p>"
            );
        }
        body += &summary(main);
        body += &networks(main);
        body += &trade::section(main);
        body += &figures::section(main);
        body += &proof(main);
        body += &settings::section(main);
    }
    document(&title, "report", &body, FOOTER)
}

/// What to do with the figures of a report.
const FOOTER: &str = "Point at a mark, or move to a figure with Tab and through its marks with the arrow keys, to see its numbers.";

/// A page that needs nothing but itself: a title and a footer (text), and its body (markup).
fn document(title: &str, what: &str, body: &str, footer: &str) -> String {
    let (title, footer) = (escape(title), escape(footer));
    let (light, dark, rules) = (theme::LIGHT, theme::DARK, theme::RULES);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n\
         :root{{{light};color-scheme:light}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark};color-scheme:dark}}}}\n\
         :root[data-theme=dark]{{{dark};color-scheme:dark}}\n\
         {rules}\n{STYLE}\
         @media print{{:root,:root[data-theme=dark]{{{light};color-scheme:light}}}}\n</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the summary</a>\n\
         <header><span class=\"brand\">tnsearch</span><span class=\"what\">{what}</span>\
         <span class=\"tools\"><button id=\"theme\" type=\"button\" aria-label=\"Change the colours\">\
         <span aria-hidden=\"true\">◐</span> <span id=\"theme-name\">auto</span></button></span></header>\n\
         <main id=\"main\" tabindex=\"-1\">\n<h1>{title}</h1>\n{body}</main>\n\
         <footer>Made by tnsearch {version}. {footer}</footer>\n\
         <div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// What was asked, what was found, how it compares, how sure we are.
fn summary(digest: &Digest<'_>) -> String {
    let mut out = String::from("<section class=\"summary\" aria-label=\"Summary\">\n");
    out += &tiles::warnings(digest);
    out += &tiles::tiles(digest);
    out.push_str("<div class=\"words\">\n");
    for (head, text) in words::summary(digest) {
        let _ = writeln!(out, "<div><h2>{head}</h2><p>{text}</p></div>");
    }
    out.push_str("</div>\n");
    let peers = digest.search.facts.as_ref().map_or(&[][..], |f| &f.peers);
    if let (Some(found), false) = (&digest.found, peers.is_empty()) {
        let measure = digest.measure();
        let heads =
            [&["network", "how", "params"][..], &error_heads(measure), &["times the params found"]];
        let title = match digest.target_reached {
            true => "Other ways to write the same tensor, at the same error",
            false => "Other ways to write the same tensor",
        };
        let mut table = Table::new(title, &heads.concat());
        let mut row = |name: &str, how: String, params: u128, error: f64| {
            let mut cells = vec![name.to_owned(), how, params.to_string()];
            cells.extend(error_cells(measure, Some(error)));
            cells.push(number(params as f64 / found.params.max(1) as f64));
            table.row(&cells);
        };
        row("found", words::strategy(digest).to_owned(), found.params, found.error);
        for peer in peers {
            let how = match peer.least_error.filter(|least| *least > 0.0) {
                Some(least) => {
                    let (name, least) = (&measure.name, at_most(least));
                    format!("{}; no fit of it can go below {name} {least}", peer.how)
                }
                None => peer.how.clone(),
            };
            row(&peer.name, how, peer.params, peer.error);
        }
        let dense = tnsearch::tensor::size(&digest.journal().header.dims);
        row("the tensor itself", "all entries".to_owned(), dense, 0.0);
        out += &table.html();
    }
    out + "</section>\n"
}

/// The structure found beside the original order.
fn networks(digest: &Digest<'_>) -> String {
    let Some(found) = &digest.found else { return String::new() };
    let header = &digest.journal().header;
    let mut out = String::from(
        "<p>Each circle carries one mode (m) of the tensor and says how long it is (I); each line is an edge, \
         labelled with its rank, and the thicker the higher it is. A dotted line is an edge of rank 1, which \
         is no edge.",
    );
    let template = found.structure.template();
    if found.structure.is_grouped() {
        out.push_str(" A circle with several numbers carries all these modes.");
    }
    if (0..template.vertices()).any(|v| !template.is_external(v)) {
        out.push_str(" Squares (v) are internal vertices: they carry no mode.");
    }
    out.push_str("</p>\n<div class=\"pair\">\n");
    let names = header.names();
    let drawn = |s: &Structure| network_inline(s, &header.dims, names);
    let named =
        (template.family().is_some() || found.format.is_none()) && !found.structure.is_grouped();
    let identity = Structure::identity(template.clone(), found.structure.ranks().to_vec());
    let other = |s: &Structure| s.canonical().graph != found.structure.canonical().graph;
    let mut caption = words::where_modes_sit(found, names);
    let identity = identity.ok().filter(|s| named && other(s));
    if identity.is_none() && named && header.searched == header.template {
        caption += " The original order of the modes gives the same network.";
    }
    out += &figure(&drawn(&found.structure), "found", &caption);
    if let Some(identity) = identity {
        let caption =
            "The same ranks with the modes in the original order: another network, for comparison.";
        out += &figure(&drawn(&identity), "original order", caption);
    }
    out.push_str("</div>\n");
    let mut edges =
        Table::new("Edges of the network found", &["vertex", "vertex", "modes there", "rank"]);
    let who = |v: usize| words::vertex(&found.structure, v, names);
    for [u, v, rank] in found.structure.edges() {
        edges.row(&[
            u.to_string(),
            v.to_string(),
            format!("{} – {}", who(u), who(v)),
            rank.to_string(),
        ]);
    }
    out += &edges.folded();
    section("network", "The network", &out)
}

/// The certificate, and the cuts behind it.
fn proof(digest: &Digest<'_>) -> String {
    let mut out = format!("<p>{}</p>\n", words::certificate(digest));
    match &digest.search.facts {
        None => {
            out.push_str(
                "<p class=\"note\">The journal alone does not hold the tensor's cut spectra. Give the tensor to \
                 see them here: <code>tnsearch report RUN.jsonl --x X.npy -o report.html</code>, or write the \
                 page with the search itself: <code>tnsearch search X.npy --report report.html</code>.</p>\n",
            );
        }
        Some(facts) => {
            out += &spectra::picture(digest, facts);
            for note in &facts.notes {
                let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
            }
        }
    }
    section("proof", "How sure this is", &out)
}

#[cfg(test)]
mod tests;
