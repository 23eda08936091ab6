//! A panel: two axes and what is drawn between them.

use super::Axis;
use super::layer::{Layer, Mark};
use super::marks::{self, Frame};
use super::scale::{Mapping, Scale};
use super::svg::{escape, fitted, px, text_width};
use super::theme::Colour;
use super::ticks::Tick;
use std::fmt::Write as _;

/// Font sizes: title, labels and legend, ticks.
const TITLE: f64 = 14.0;
const LABEL: f64 = 12.0;
const TICK: f64 = 11.0;
/// How far marks may reach over the axes: half a dot.
const OVER: f64 = 6.0;

/// Two axes and the layers between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    title: String,
    x: Axis,
    y: Axis,
    layers: Vec<Layer>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// An entry of the legend: the layers of one name.
struct Entry<'a> {
    name: &'a str,
    colour: Colour,
    layers: Vec<&'a Layer>,
}

impl Panel {
    /// An empty panel of 480 by 300 pixels.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        let title = title.to_owned();
        Panel { title, x, y, layers: Vec::new(), width: 480.0, height: 300.0 }
    }

    /// Adds a layer above those there are.
    #[expect(clippy::should_implement_trait, reason = "nothing is summed")]
    pub fn add(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Adds several layers.
    pub fn add_all(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.layers.extend(layers);
        self
    }

    /// Sets the size in pixels, legend and labels included (at least 160 by 120).
    pub fn size(mut self, width: f64, height: f64) -> Self {
        (self.width, self.height) = (width.max(160.0), height.max(120.0));
        self
    }

    /// The colour of each layer: its own, or the next of the series; the same for the same name.
    fn colours(&self) -> Vec<Colour> {
        let mut known: Vec<(&str, Colour)> = Vec::new();
        let mut next = 0;
        let mut colours = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let same = known.iter().find(|(name, _)| *name == layer.name).map(|k| k.1);
            let colour = layer.colour.or(same).unwrap_or_else(|| {
                next += 1;
                Colour::Series(next - 1)
            });
            known.push((&layer.name, colour));
            colours.push(colour);
        }
        colours
    }

    fn entries(&self, colours: &[Colour]) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (layer, &colour) in self.layers.iter().zip(colours) {
            if !layer.listed || layer.name.is_empty() {
                continue;
            }
            match entries.iter_mut().find(|e| e.name == layer.name && e.colour == colour) {
                Some(entry) => entry.layers.push(layer),
                None => entries.push(Entry { name: &layer.name, colour, layers: vec![layer] }),
            }
        }
        entries
    }

    /// Draws the panel with its upper left corner at a place.
    pub(crate) fn draw(&self, out: &mut String, left: f64, top: f64) {
        let colours = self.colours();
        let entries = self.entries(&colours);
        let _ = writeln!(out, "<g transform=\"translate({} {})\">", px(left), px(top));
        let mut y = 4.0;
        if !self.title.is_empty() {
            let title = escape(&fitted(&self.title, TITLE, self.width - 12.0));
            let _ = writeln!(
                out,
                "<text fill=\"#1b2430\" font-size=\"{TITLE}\" font-weight=\"600\" x=\"6\" y=\"17\">{title}</text>"
            );
            y = 26.0;
        }
        if !entries.is_empty() {
            y = self.legend(out, &entries, y);
        }
        let heat = self.layers.iter().find_map(|l| match &l.mark {
            Mark::Heat(map) => Some(map),
            _ => None,
        });
        let head = y + if heat.is_some() { 22.0 } else { 8.0 };
        let foot = (self.height - 42.0).max(head + 20.0);
        let right = self.width - if heat.is_some() { 72.0 } else { 12.0 };
        let extents: Vec<(Vec<f64>, Vec<f64>)> = self.layers.iter().map(Layer::extent).collect();
        let xs = extents.iter().flat_map(|e| e.0.iter().copied());
        let ys = extents.iter().flat_map(|e| e.1.iter().copied());
        // Rows of a heat map are read from the top.
        let mut y_map = match heat.is_some() {
            true => self.y.mapping(ys, head, foot),
            false => self.y.mapping(ys, foot, head),
        };
        // Bars stand on the axis.
        let bars = self.layers.iter().any(|l| matches!(l.mark, Mark::Bars(_)));
        let lowest = extents.iter().flat_map(|e| &e.1).copied().fold(f64::INFINITY, f64::min);
        if bars && lowest == 0.0 && y_map.scale == Scale::Linear && y_map.hi > 0.0 {
            y_map.lo = 0.0;
        }
        let room = if heat.is_some() { 14.0 } else { 34.0 };
        let y_ticks = self.y.ticks(&y_map, (((foot - head) / room) as usize).max(2));
        let widest = y_ticks.iter().map(|t| text_width(&t.label, TICK)).fold(0.0, f64::max);
        let side = widest.min(self.width * 0.3)
            + 12.0
            + if self.y.label.is_empty() { 4.0 } else { LABEL + 11.0 };
        let x_map = self.x.mapping(xs, side, right);
        let x_ticks = self.x_ticks(&x_map, right - side);
        let frame = Frame {
            x: x_map,
            y: y_map,
            x_label: &self.x.label,
            y_label: &self.y.label,
            foot,
            head,
            left: side,
            right,
        };
        self.axes(out, &frame, &x_ticks, &y_ticks, widest, heat.is_none());
        // An inner picture cuts off what lies beyond the axes.
        let (cut_x, cut_y) = (side - OVER, head - OVER);
        let (cut_w, cut_h) = (right - side + 2.0 * OVER, foot - head + 2.0 * OVER);
        let _ = writeln!(
            out,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">",
            x = px(cut_x),
            y = px(cut_y),
            w = px(cut_w),
            h = px(cut_h)
        );
        for (layer, &colour) in self.layers.iter().zip(&colours) {
            marks::draw(out, layer, colour, &frame);
        }
        out.push_str("</svg>\n");
        if let Some(map) = heat {
            map.key(out, right + 14.0, head, foot - head);
        }
        out.push_str("</g>\n");
    }

    /// As many ticks as there is room for their labels.
    fn x_ticks(&self, map: &Mapping, room: f64) -> Vec<Tick> {
        let mut wanted = (room / 56.0) as usize;
        loop {
            let ticks = self.x.ticks(map, wanted.max(2));
            let labels = ticks.iter().filter(|t| !t.label.is_empty());
            let width: f64 = labels.map(|t| text_width(&t.label, TICK) + 10.0).sum();
            if width <= room + 30.0 || wanted <= 2 {
                return ticks;
            }
            wanted -= 1;
        }
    }

    /// Draws the names of the layers in rows; returns where they end.
    fn legend(&self, out: &mut String, entries: &[Entry<'_>], top: f64) -> f64 {
        let (mut x, mut y) = (6.0, top + 9.0);
        for entry in entries {
            let name = fitted(entry.name, LABEL, self.width - 50.0);
            let width = 26.0 + text_width(&name, LABEL) + 14.0;
            if x > 6.0 && x + width > self.width {
                (x, y) = (6.0, y + 18.0);
            }
            let (class, light) = entry.colour.property();
            for layer in &entry.layers {
                let dash = if layer.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
                let _ = match &layer.mark {
                    Mark::Dots(_) => writeln!(
                        out,
                        "<circle class=\"f-{class}\" fill=\"{light}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
                        px(x + 10.0),
                        px(y),
                        px(layer.size.clamp(2.5, 5.0))
                    ),
                    Mark::Band(_) | Mark::Bars(_) => writeln!(
                        out,
                        "<rect class=\"f-{class}\" fill=\"{light}\" fill-opacity=\"{}\" x=\"{}\" y=\"{}\" \
                         width=\"20\" height=\"10\"/>",
                        if matches!(layer.mark, Mark::Band(_)) { ".25" } else { "1" },
                        px(x),
                        px(y - 5.0)
                    ),
                    _ => writeln!(
                        out,
                        "<path class=\"s-{class}\" fill=\"none\" stroke=\"{light}\" stroke-width=\"2\"{dash} \
                         d=\"M{} {y}h20\"/>",
                        px(x),
                        y = px(y)
                    ),
                };
            }
            let _ = writeln!(
                out,
                "<text class=\"soft\" fill=\"#5a6675\" font-size=\"{LABEL}\" x=\"{}\" y=\"{}\" \
                 dominant-baseline=\"central\">{}</text>",
                px(x + 26.0),
                px(y),
                escape(&name)
            );
            x += width;
        }
        y + 10.0
    }

    fn axes(
        &self,
        out: &mut String,
        frame: &Frame<'_>,
        x_ticks: &[Tick],
        y_ticks: &[Tick],
        widest: f64,
        grid: bool,
    ) {
        let Frame { foot, head, left, right, .. } = *frame;
        let mut path = String::new();
        if grid {
            for tick in y_ticks.iter().filter(|t| !t.label.is_empty()) {
                let _ = write!(path, "M{} {}H{}", px(left), px(frame.y.at(tick.value)), px(right));
            }
            let _ = writeln!(
                out,
                "<path class=\"grid\" fill=\"none\" stroke=\"#e6eaef\" d=\"{path}\"/>"
            );
            path.clear();
        }
        for tick in x_ticks {
            let length = if tick.label.is_empty() { 3 } else { 5 };
            let _ = write!(path, "M{} {}v{length}", px(frame.x.at(tick.value)), px(foot));
        }
        for tick in y_ticks {
            let length = if tick.label.is_empty() { 3 } else { 5 };
            let _ = write!(path, "M{} {}h-{length}", px(left), px(frame.y.at(tick.value)));
        }
        let _ = write!(path, "M{} {}V{}H{}", px(left), px(head), px(foot), px(right));
        let _ =
            writeln!(out, "<path class=\"axis\" fill=\"none\" stroke=\"#9aa5b1\" d=\"{path}\"/>");
        let _ = writeln!(out, "<g class=\"soft num\" fill=\"#5a6675\" font-size=\"{TICK}\">");
        let mut taken = f64::NEG_INFINITY;
        for tick in x_ticks.iter().filter(|t| !t.label.is_empty()) {
            // On a logarithmic axis labels crowd at the far end.
            let (at, half) = (frame.x.at(tick.value), text_width(&tick.label, TICK) / 2.0);
            if at - half < taken {
                continue;
            }
            taken = at + half + 6.0;
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                px(frame.x.at(tick.value)),
                px(foot + 17.0),
                escape(&tick.label)
            );
        }
        for tick in y_ticks.iter().filter(|t| !t.label.is_empty()) {
            let label = fitted(&tick.label, TICK, self.width * 0.3);
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dominant-baseline=\"central\">{}</text>",
                px(left - 8.0),
                px(frame.y.at(tick.value)),
                escape(&label)
            );
        }
        out.push_str("</g>\n");
        if !self.x.label.is_empty() {
            let _ = writeln!(
                out,
                "<text fill=\"#1b2430\" font-size=\"{LABEL}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                px((left + right) / 2.0),
                px(foot + 36.0),
                escape(&self.x.label)
            );
        }
        if !self.y.label.is_empty() {
            let (x, y) = (px(left - 19.0 - widest.min(self.width * 0.3)), px((head + foot) / 2.0));
            let _ = writeln!(
                out,
                "<text fill=\"#1b2430\" font-size=\"{LABEL}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" \
                 transform=\"rotate(-90 {x} {y})\">{}</text>",
                escape(&self.y.label)
            );
        }
    }
}
