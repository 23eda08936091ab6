//! The parts a page is made of.

use crate::plot::{escape, number};
use std::fmt::Write as _;
use tnsearch::problem::{Measure, Root};

/// A part of the page with a heading.
pub(super) fn section(id: &str, title: &str, body: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{title}</h2>\n{body}</section>\n"
    )
}

/// A picture with a caption (text, not markup).
pub(super) fn figure(svg: &str, name: &str, caption: &str) -> String {
    framed("fig", svg, name, caption)
}

/// A picture that takes the whole width, drawn twice: for a wide page and, so that its letters stay legible, for a
/// narrow one. `draw` is given the width.
pub(super) fn wide_figure(draw: impl Fn(f64) -> String, name: &str, caption: &str) -> String {
    let (wide, narrow) = (draw(WIDE), draw(NARROW));
    let both = format!("{wide}</div><div class=\"scroll narrow\">{narrow}");
    framed("fig wide", &both, name, caption)
}

/// The width of a picture that takes the whole width of a page, and of one on a telephone.
const WIDE: f64 = 760.0;
const NARROW: f64 = 380.0;

fn framed(class: &str, svg: &str, name: &str, caption: &str) -> String {
    let (name, caption) = (escape(name), escape(caption));
    format!(
        "<figure class=\"{class}\"><div class=\"scroll\" data-name=\"{name}\">{svg}</div>\
         <figcaption><b>{name}.</b> {caption}</figcaption></figure>\n"
    )
}

/// A number in a table: for people, with the exact value for the copy.
pub(super) fn raw(value: f64) -> String {
    format!("\u{1}{value:e}\u{1}{}", number(value))
}

/// The names of an error as markup: a journal may call it anything.
pub(super) fn marked_up(measure: &Measure) -> Measure {
    let text = |words: &str| escape(words).into();
    let root = measure.root.as_ref();
    Measure {
        id: text(&measure.id),
        name: text(&measure.name),
        meaning: text(&measure.meaning),
        root: root.map(|r| Root {
            id: text(&r.id),
            name: text(&r.name),
            meaning: text(&r.meaning),
        }),
    }
}

/// The heads of the columns of an error: its name, and its root's where that has one.
pub(super) fn error_heads(measure: &Measure) -> Vec<&str> {
    [&*measure.name].into_iter().chain(measure.root.as_ref().map(|root| &*root.name)).collect()
}

/// The cells below them; dashes where there is no error.
pub(super) fn error_cells(measure: &Measure, error: Option<f64>) -> Vec<String> {
    let root = measure.root.as_ref().map(|_| error.map(f64::sqrt));
    let cell = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), raw);
    [cell(error)].into_iter().chain(root.map(cell)).collect()
}

/// A table that can be copied as CSV.
pub(super) struct Table {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    left_out: usize,
    id: Option<&'static str>,
}

/// Rows beyond this number are left out of the page.
const MAX_ROWS: usize = 200;

impl Table {
    pub(super) fn new(title: &str, head: &[&str]) -> Self {
        let head = head.iter().map(|&h| h.to_owned()).collect();
        Table { title: title.to_owned(), head, rows: Vec::new(), left_out: 0, id: None }
    }

    /// Sets a name by which the script of the page finds the table.
    pub(super) fn id(mut self, id: &'static str) -> Self {
        self.id = Some(id);
        self
    }

    /// The rows that are shown.
    pub(super) fn shown(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row of texts (not markup); see [`raw`] for numbers.
    pub(super) fn row(&mut self, cells: &[String]) {
        if self.rows.len() < MAX_ROWS {
            self.rows.push(cells.to_vec());
        } else {
            self.left_out += 1;
        }
    }

    /// The table.
    pub(super) fn html(&self) -> String {
        let mut out = format!(
            "<div class=\"table\"><div class=\"bar\"><b>{}</b><button type=\"button\" class=\"csv\">Copy as CSV</button></div>\n\
             <div class=\"scroll\"><table{}>\n<thead><tr>",
            escape(&self.title),
            self.id.map_or(String::new(), |id| format!(" id=\"{id}\""))
        );
        for cell in &self.head {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(cell));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, head) in row.iter().zip(&self.head) {
                // On a narrow page each cell stands in a line of its own, after the head of its column.
                let head = escape(head);
                out += &match cell.strip_prefix('\u{1}').and_then(|c| c.split_once('\u{1}')) {
                    Some((exact, shown)) => {
                        format!(
                            "<td class=\"n\" data-h=\"{head}\" data-v=\"{}\">{}</td>",
                            escape(exact),
                            escape(shown)
                        )
                    }
                    None if is_number(cell) => {
                        format!("<td class=\"n\" data-h=\"{head}\">{}</td>", escape(cell))
                    }
                    None => format!("<td data-h=\"{head}\">{}</td>", escape(cell)),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>");
        if self.left_out > 0 {
            let _ = write!(out, "<p class=\"note\">{} more rows are not shown.</p>", self.left_out);
        }
        out + "</div>\n"
    }

    /// The table behind a line that opens it.
    pub(super) fn folded(&self) -> String {
        format!(
            "<details><summary>{} ({})</summary>\n{}</details>\n",
            escape(&self.title),
            match self.rows.len() + self.left_out {
                1 => "1 row".to_owned(),
                n => format!("{n} rows"),
            },
            self.html()
        )
    }
}

fn is_number(cell: &str) -> bool {
    cell.chars().next().is_some_and(|c| c.is_ascii_digit() || c == '−')
        && cell.chars().all(|c| c.is_ascii_digit() || "−.·⁰¹²³⁴⁵⁶⁷⁸⁹⁻\u{202f}e-".contains(c))
}
