//! A comparison in lines of text, and in a sentence.

use super::{Comparison, Row, Sort};
use crate::text::number;
use std::fmt;
use tnsearch::problem::Measure;
use tnsearch::search::StoppedBy;

const HEAD: [&str; 8] =
    ["method", "params", "RE", "log10 CR", "seconds", "reached", "format", "won"];
/// These columns are words, which stand at the left.
const WORDS: [usize; 4] = [0, 5, 6, 7];

impl Comparison {
    /// Who won, by how much the default did or did not.
    pub fn verdict(&self) -> String {
        let asked = self.objective.text(&Measure::RSE);
        let Some(best) = self.rows.first().filter(|row| row.target_reached) else {
            return format!("no method reached it: {asked}");
        };
        let winners: Vec<&str> =
            self.rows.iter().filter(|r| r.won).map(|r| r.method.as_str()).collect();
        let (what, value): (&str, fn(&Row) -> Option<f64>) = match self.objective.max_error() {
            Some(_) => ("params", |row| row.params.map(|p| p as f64)),
            None => ("RE", |row| row.re),
        };
        let said = |row: &Row| match row.params {
            Some(params) if what == "params" => format!("{params} params"),
            _ => format!("RE {}", number(row.re.unwrap_or(1.0))),
        };
        let mut text = match winners.len() {
            1 => format!("{} is best with {}", winners[0], said(best)),
            _ => format!("{} are best with {}", winners.join(", "), said(best)),
        };
        let default = self.rows.iter().find(|row| row.sort == Sort::Default && !row.won);
        match default.map(|row| (row, value(row), value(best))) {
            Some((row, Some(own), Some(least))) if row.target_reached => {
                let more = 100.0 * (own / least - 1.0);
                text += &format!("; the default has {}, {} % more", said(row), number(more));
            }
            Some(_) => text += "; the default did not reach it",
            None => {}
        }
        text
    }
}

/// The table, a line for each method, without the verdict.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells: Vec<[String; 8]> = self.rows.iter().map(cells).collect();
        let head = HEAD.map(str::to_owned);
        let width = |k: usize| {
            let all = cells.iter().chain([&head]).map(|row| row[k].chars().count());
            // The last column is as long as it is.
            if k + 1 == HEAD.len() { 0 } else { all.max().unwrap_or(0) }
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for row in [&head].into_iter().chain(&cells) {
            let mut line = String::new();
            for (k, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[k].saturating_sub(cell.chars().count()));
                line += &match WORDS.contains(&k) {
                    true => format!("{cell}{pad}  "),
                    false => format!("{pad}{cell}  "),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn cells(row: &Row) -> [String; 8] {
    let none = || "-".to_owned();
    let quantity = |x: Option<f64>| x.map_or_else(none, number);
    let note = match (&row.reason, row.stopped_by) {
        (Some(reason), _) => format!("failed: {reason}"),
        _ if row.won => "won".to_owned(),
        (None, Some(StoppedBy::MaxSeconds)) => "(time up)".to_owned(),
        (None, Some(StoppedBy::Interrupted)) => "(interrupted)".to_owned(),
        _ => String::new(),
    };
    [
        row.method.clone(),
        row.params.map_or_else(none, |p| p.to_string()),
        quantity(row.re),
        row.log10_cr.map_or_else(none, |x| format!("{x:.2}")),
        format!("{:.2}", row.seconds),
        if row.target_reached { "yes" } else { "no" }.to_owned(),
        row.template.clone().unwrap_or_else(none),
        note,
    ]
}
