//! Heat maps: a table of values as coloured cells.

use super::scale::{Mapping, Scale, domain};
use super::svg::{escape, number, px};
use super::theme::heat;
use super::ticks;
use std::fmt::Write as _;

/// A table of values drawn as coloured cells, the first row at the top.
///
/// Its panel has [`super::Axis::names`] on both axes, or numbers where columns are counted.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    values: Vec<Vec<f64>>,
    scale: Scale,
    marked: Vec<(usize, usize)>,
    range: Option<(f64, f64)>,
    what: String,
    tips: Vec<Vec<String>>,
}

impl HeatMap {
    /// A map of rows of values that mean `what`; cells that are no number stay empty.
    pub fn new(what: &str, values: Vec<Vec<f64>>) -> Self {
        HeatMap {
            values,
            scale: Scale::Linear,
            marked: Vec::new(),
            range: None,
            what: what.to_owned(),
            tips: Vec::new(),
        }
    }

    /// Spreads the colours over the logarithms of the values.
    pub fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }

    /// Sets the values of the first and the last colour; others beyond them get those colours.
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        let sound = lo < hi && hi.is_finite() && (self.scale == Scale::Linear || lo > 0.0);
        self.range = sound.then_some((lo, hi));
        self
    }

    /// Draws a frame around some cells, each `(row, column)`.
    pub fn mark(mut self, cells: Vec<(usize, usize)>) -> Self {
        self.marked = cells;
        self
    }

    /// Sets what is said about each cell, by rows.
    pub fn tips(mut self, tips: Vec<Vec<String>>) -> Self {
        self.tips = tips;
        self
    }

    pub(crate) fn rows(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.values.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn mapping(&self) -> Mapping {
        let all = self.values.iter().flatten().copied();
        let usable = all.filter(|v| v.is_finite() && (self.scale == Scale::Linear || *v > 0.0));
        let (lo, hi) = self.range.unwrap_or_else(|| {
            let (lo, hi) =
                usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            if lo < hi { (lo, hi) } else { domain([lo].into_iter(), self.scale) }
        });
        Mapping { scale: self.scale, lo, hi, from: 0.0, to: 1.0 }
    }

    /// Draws the cells over a panel's axes.
    pub(crate) fn draw(&self, out: &mut String, x: &Mapping, y: &Mapping) {
        let map = self.mapping();
        let at = |row: usize, column: usize| {
            let (left, right) = (x.at(column as f64 - 0.5), x.at(column as f64 + 0.5));
            let (top, bottom) = (y.at(row as f64 - 0.5), y.at(row as f64 + 0.5));
            (left, top.min(bottom), right - left, (bottom - top).abs())
        };
        for (r, row) in self.values.iter().enumerate() {
            for (c, &value) in row.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                let (left, top, width, height) = at(r, c);
                let tip = match self.tips.get(r).and_then(|row| row.get(c)) {
                    Some(tip) => tip.clone(),
                    None => format!("{} {}", self.what, number(value)),
                };
                // A hair wider than the cell: no seams between neighbours.
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>",
                    px(left),
                    px(top),
                    px(width + 0.3),
                    px(height + 0.3),
                    heat(map.at(value)).0,
                    escape(&tip)
                );
            }
        }
        for &(r, c) in &self.marked {
            let (left, top, width, height) = at(r, c);
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#ff2e88\" \
                 stroke-width=\"2\" pointer-events=\"none\"/>",
                px(left + 0.5),
                px(top + 0.5),
                px(width - 1.0),
                px(height - 1.0)
            );
        }
    }

    /// Draws the scale of colours to the right of a panel.
    pub(crate) fn key(&self, out: &mut String, left: f64, top: f64, height: f64) {
        const PARTS: usize = 48;
        const WIDTH: f64 = 12.0;
        let map = self.mapping();
        let part = height / PARTS as f64;
        for k in 0..PARTS {
            let (colour, _) = heat((k as f64 + 0.5) / PARTS as f64);
            let y = top + height - (k + 1) as f64 * part;
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{WIDTH}\" height=\"{}\" fill=\"{colour}\"/>",
                px(left),
                px(y),
                px(part + 0.4)
            );
        }
        let wanted = (height / 40.0) as usize;
        let ticks = match self.scale {
            Scale::Linear => ticks::linear(map.lo, map.hi, wanted, false),
            Scale::Log => ticks::log(map.lo, map.hi, wanted),
        };
        for tick in ticks.iter().filter(|t| !t.label.is_empty()) {
            let y = top + height * (1.0 - map.at(tick.value));
            let _ = writeln!(
                out,
                "<text class=\"soft num\" fill=\"#5a6675\" font-size=\"11\" x=\"{}\" y=\"{}\" \
                 dominant-baseline=\"central\">{}</text>",
                px(left + WIDTH + 5.0),
                px(y),
                escape(&tick.label)
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"soft\" fill=\"#5a6675\" font-size=\"11\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            px(left + WIDTH + 44.0),
            px(top - 8.0),
            escape(&self.what)
        );
    }
}
