//! A page of numbers and tables.

use super::document;
use super::html::{Table, raw, section};
use super::pictures::{Tile, tiles};
use crate::plot::escape;
use std::fmt::Write as _;

/// What a page of tables shows.
#[derive(Debug)]
pub struct Tables<'a> {
    /// The heading.
    pub title: &'a str,
    /// What made it.
    pub what: &'a str,
    /// The numbers on top.
    pub tiles: &'a [Tile],
    /// The tables, each with a heading.
    pub tables: &'a [Rows],
    /// What to know about the numbers, a sentence each.
    pub notes: &'a [String],
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Its heading.
    pub title: String,
    /// The heads of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text, whatever it holds.
    Text(String),
    /// A number: to a few digits on the page, exact in the copy.
    Number(f64),
}

impl Tables<'_> {
    /// The page: one file that makes no request.
    pub fn html(&self) -> String {
        let mut body = tiles(self.tiles);
        body += "</section>\n";
        for (k, rows) in self.tables.iter().enumerate() {
            let heads: Vec<&str> = rows.head.iter().map(String::as_str).collect();
            let mut table = Table::new(&rows.title, &heads);
            for row in &rows.rows {
                let cell = |cell: &Cell| match cell {
                    // A control character would be taken for the mark of a number.
                    Cell::Text(text) => text.replace('\u{1}', " "),
                    Cell::Number(x) => raw(*x),
                };
                table.row(&row.iter().map(cell).collect::<Vec<_>>());
            }
            body += &section(&format!("table-{k}"), &escape(&rows.title), &table.html());
        }
        let mut about = String::new();
        for note in self.notes {
            let _ = writeln!(about, "<p class=\"note\">{}</p>", escape(note));
        }
        if !about.is_empty() {
            body += &section("notes", "What the numbers are", &about);
        }
        document(self.title, self.what, &body, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_names_hold_is_text() {
        let evil = "<script>alert(1)</script>\u{1}x";
        let tile = Tile { name: "params".into(), value: evil.into(), more: String::new() };
        let rows = Rows {
            title: evil.into(),
            head: vec!["layer".into(), "RE".into()],
            rows: vec![vec![Cell::Text(evil.into()), Cell::Number(0.25)]],
        };
        let page = Tables {
            title: evil,
            what: "compress-model",
            tiles: &[tile],
            tables: &[rows],
            notes: &[evil.into()],
        };
        let html = page.html();
        assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;alert(1)"));
        assert!(html.contains("data-v=\"2.5e-1\""));
    }
}
