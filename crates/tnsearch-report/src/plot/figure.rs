//! A figure: panels in a grid, as one SVG picture.

use super::svg::{escape, fitted, px};
use super::{Panel, theme};
use std::fmt::Write as _;

/// The space between panels, and around a figure that stands alone.
const GAP: f64 = 20.0;
/// The font size of the figure's title.
const TITLE: f64 = 17.0;

/// Panels in a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    title: String,
    panels: Vec<Panel>,
    columns: usize,
}

impl Figure {
    /// A figure without panels yet. The title is what a screen reader says, and the heading of a figure that
    /// stands alone.
    pub fn new(title: &str) -> Self {
        Figure { title: title.to_owned(), panels: Vec::new(), columns: 2 }
    }

    /// Adds a panel.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Adds several panels.
    pub fn panels(mut self, panels: impl IntoIterator<Item = Panel>) -> Self {
        self.panels.extend(panels);
        self
    }

    /// Sets how many panels stand side by side (2 without).
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// The figure as a file of its own: with its title, its style and a background.
    pub fn svg(&self) -> String {
        self.render(true)
    }

    /// The figure for a page that has the style itself.
    pub fn inline(&self) -> String {
        self.render(false)
    }

    fn render(&self, alone: bool) -> String {
        let columns = self.columns.min(self.panels.len()).max(1);
        let cell = self.panels.iter().map(|p| p.width).fold(0.0, f64::max);
        let heights: Vec<f64> = self
            .panels
            .chunks(columns)
            .map(|row| row.iter().map(|p| p.height).fold(0.0, f64::max))
            .collect();
        let margin = if alone { GAP } else { 0.0 };
        let heading = if alone && !self.title.is_empty() { 34.0 } else { 0.0 };
        let gaps = |n: usize| n.saturating_sub(1) as f64 * GAP;
        let width = columns as f64 * cell + gaps(columns) + 2.0 * margin;
        let height = heights.iter().sum::<f64>() + gaps(heights.len()) + 2.0 * margin + heading;
        let mut out = open(width, height, &self.title, alone);
        if heading > 0.0 {
            let title = escape(&fitted(&self.title, TITLE, width - 2.0 * margin));
            let _ = writeln!(
                out,
                "<text fill=\"#1b2430\" font-size=\"{TITLE}\" font-weight=\"700\" x=\"{}\" y=\"{}\">{title}</text>",
                px(margin + 6.0),
                px(margin + 14.0)
            );
        }
        let mut top = margin + heading;
        for (row, height) in self.panels.chunks(columns).zip(&heights) {
            for (k, panel) in row.iter().enumerate() {
                panel.draw(&mut out, margin + k as f64 * (cell + GAP), top);
            }
            top += height + GAP;
        }
        out + "</svg>\n"
    }
}

/// The beginning of a picture: its size, its name, and where it stands alone its style and background.
pub(crate) fn open(width: f64, height: f64, title: &str, alone: bool) -> String {
    let (w, h, title) = (px(width), px(height), escape(title));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tn-fig\" role=\"img\" aria-label=\"{title}\" \
         width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"system-ui,-apple-system,&#39;Segoe UI&#39;,Helvetica,Arial,sans-serif\">\n"
    );
    if alone {
        let _ = writeln!(
            out,
            "<title>{title}</title>\n<style>{}</style>\n\
             <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>",
            theme::standalone()
        );
    }
    out
}
