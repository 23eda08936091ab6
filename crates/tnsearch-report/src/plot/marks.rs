//! How the layers of a panel are drawn.

use super::layer::{Layer, Mark};
use super::scale::{Mapping, Scale};
use super::svg::{escape, number, px};
use super::theme::Colour;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Dots beyond this number in one layer are drawn together: more cannot be told apart, or would make a page
/// of many figures slow.
pub(crate) const MAX_DOTS: usize = 700;
/// A line with more points than this keeps the extremes of each pixel.
const MAX_LINE: usize = 1500;

/// The axes of a panel over its pixels, and what they measure.
pub(crate) struct Frame<'a> {
    pub(crate) x: Mapping,
    pub(crate) y: Mapping,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    /// The foot of the panel, in pixels.
    pub(crate) foot: f64,
    pub(crate) head: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
}

/// Draws one layer.
pub(crate) fn draw(out: &mut String, layer: &Layer, colour: Colour, frame: &Frame<'_>) {
    let (class, light) = colour.property();
    let dash = if layer.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
    let open = |width: f64| {
        format!(
            "<path class=\"s-{class}\" fill=\"none\" stroke=\"{light}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dash} d=\""
        )
    };
    let name = escape(&layer.name);
    match &layer.mark {
        Mark::Line(points) => {
            let at = thinned(places(points, frame));
            let path = lines(&at);
            let _ = writeln!(out, "{}{path}\"><title>{name}</title></path>", open(2.0));
        }
        Mark::Steps(points) => {
            let path = steps(&thinned(places(points, frame)));
            let _ = writeln!(out, "{}{path}\"><title>{name}</title></path>", open(2.2));
        }
        Mark::Band(points) => {
            let finite =
                points.iter().filter(|b| b.0.is_finite() && b.1.is_finite() && b.2.is_finite());
            let at = |b: &(f64, f64, f64), y: f64| (frame.x.at(b.0), frame.y.at(y));
            let upper: Vec<_> = thinned(finite.clone().map(|b| at(b, b.2)).collect());
            let mut lower: Vec<_> = thinned(finite.map(|b| at(b, b.1)).collect());
            lower.reverse();
            let outline: Vec<_> = upper.into_iter().chain(lower).collect();
            let _ = writeln!(
                out,
                "<path class=\"f-{class}\" fill=\"{light}\" fill-opacity=\".18\" d=\"{}Z\"><title>{name}</title></path>",
                lines(&outline)
            );
        }
        Mark::Bars(bars) => {
            let _ = writeln!(out, "<g class=\"f-{class}\" fill=\"{light}\">");
            for (k, &(from, to, height)) in bars.iter().enumerate() {
                if !(from.is_finite() && to.is_finite() && height.is_finite()) {
                    continue;
                }
                let (left, right) = (frame.x.at(from), frame.x.at(to));
                let foot =
                    if frame.y.scale == Scale::Linear { frame.y.at(0.0) } else { frame.foot };
                let top = frame.y.at(height);
                let tip =
                    tip(layer, k).unwrap_or_else(|| format!("{}: {}", layer.name, number(height)));
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
                    px(left.min(right)),
                    px(top.min(foot)),
                    px((right - left).abs().max(0.5)),
                    px((foot - top).abs()),
                    escape(&tip)
                );
            }
            out.push_str("</g>\n");
        }
        Mark::Horizontal(y) if y.is_finite() => {
            let (y, value) = (px(frame.y.at(*y)), number(*y));
            let path = format!("M{} {y}H{}", px(frame.left), px(frame.right));
            let _ = writeln!(out, "{}{path}\"><title>{name}: {value}</title></path>", open(1.6));
        }
        Mark::Vertical(x) if x.is_finite() => {
            let (x, value) = (px(frame.x.at(*x)), number(*x));
            let path = format!("M{x} {}V{}", px(frame.foot), px(frame.head));
            let _ = writeln!(out, "{}{path}\"><title>{name}: {value}</title></path>", open(1.6));
        }
        Mark::Horizontal(_) | Mark::Vertical(_) => {}
        Mark::Dots(points) => dots(out, layer, points, colour, frame),
        Mark::Heat(map) => map.draw(out, &frame.x, &frame.y),
    }
}

fn tip(layer: &Layer, k: usize) -> Option<String> {
    layer.tips.get(k).cloned()
}

/// The pixels of the points that have a place.
fn places(points: &[(f64, f64)], frame: &Frame<'_>) -> Vec<(f64, f64)> {
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    finite.map(|p| (frame.x.at(p.0), frame.y.at(p.1))).collect()
}

/// Keeps the first, the last and the extremes of each pixel of x, where there are very many points.
fn thinned(at: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if at.len() <= MAX_LINE {
        return at;
    }
    let mut out: Vec<(f64, f64)> = Vec::new();
    let mut start = 0;
    while start < at.len() {
        let pixel = at[start].0.floor();
        let run = at[start..].iter().take_while(|p| p.0.floor() == pixel).count();
        let run = &at[start..start + run];
        let index = |pick: fn(f64, f64) -> bool| {
            (1..run.len()).fold(0, |best, k| if pick(run[k].1, run[best].1) { k } else { best })
        };
        let mut kept = [0, index(|a, b| a < b), index(|a, b| a > b), run.len() - 1];
        kept.sort_unstable();
        for (k, &place) in kept.iter().enumerate() {
            if k == 0 || kept[k - 1] != place {
                out.push(run[place]);
            }
        }
        start += run.len();
    }
    out
}

fn lines(at: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (k, p) in at.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if k == 0 { 'M' } else { 'L' }, px(p.0), px(p.1));
    }
    path
}

/// A path that holds each value until the next point.
fn steps(at: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut level = f64::NAN;
    for (k, p) in at.iter().enumerate() {
        if k == 0 {
            let _ = write!(path, "M{} {}", px(p.0), px(p.1));
        } else if p.1 != level || k + 1 == at.len() {
            let _ = write!(path, "H{}", px(p.0));
            if p.1 != level {
                let _ = write!(path, "V{}", px(p.1));
            }
        }
        level = p.1;
    }
    path
}

/// Points that are drawn as one dot.
#[derive(Debug, Clone)]
struct Cell {
    count: usize,
    first: usize,
    place: (f64, f64),
    x: (f64, f64),
    y: (f64, f64),
}

fn dots(out: &mut String, layer: &Layer, points: &[(f64, f64)], colour: Colour, frame: &Frame<'_>) {
    let (class, light) = colour.property();
    let id = layer.id.map_or(String::new(), |id| format!(" data-layer=\"{id}\""));
    let cells = cells(points, frame);
    let opacity = match (colour, cells.len()) {
        (Colour::Muted, n) if n > 150 => ".55",
        (Colour::Muted, _) => ".75",
        (_, n) if n > 150 => ".7",
        _ => "1",
    };
    let _ = writeln!(
        out,
        "<g class=\"f-{class} ring\"{id} fill=\"{light}\" fill-opacity=\"{opacity}\" stroke=\"#fff\" stroke-width=\".6\">"
    );
    for cell in &cells {
        let tip = match cell.count {
            1 => tip(layer, cell.first).unwrap_or_else(|| {
                let (x, y) = points[cell.first];
                format!("{} {}, {} {}", frame.x_label, number(x), frame.y_label, number(y))
            }),
            n => format!(
                "{} points: {} {}, {} {}",
                number(n as f64),
                frame.x_label,
                span(cell.x),
                frame.y_label,
                span(cell.y)
            ),
        };
        // Many points in one place make a slightly larger dot.
        let radius = layer.size + (cell.count as f64).ln().min(6.0) * 0.25;
        let _ = writeln!(
            out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>",
            px(cell.place.0),
            px(cell.place.1),
            px(radius),
            escape(&tip)
        );
    }
    out.push_str("</g>\n");
}

fn span((lo, hi): (f64, f64)) -> String {
    let (low, high) = (number(lo), number(hi));
    if low == high { low } else { format!("{low} to {high}") }
}

/// One cell a point; where there are too many, points in the same square of a grid are taken together, the
/// grid as fine as the number of dots allows.
fn cells(points: &[(f64, f64)], frame: &Frame<'_>) -> Vec<Cell> {
    let usable = points.iter().enumerate().filter(|(_, p)| p.0.is_finite() && p.1.is_finite());
    let all: Vec<Cell> = usable
        .map(|(first, &(x, y))| Cell {
            count: 1,
            first,
            place: (frame.x.at(x), frame.y.at(y)),
            x: (x, x),
            y: (y, y),
        })
        .collect();
    if all.len() <= MAX_DOTS {
        return all;
    }
    let mut side = 3.0;
    loop {
        let mut grid: BTreeMap<(i64, i64), Cell> = BTreeMap::new();
        for cell in &all {
            let key = ((cell.place.0 / side).floor() as i64, (cell.place.1 / side).floor() as i64);
            grid.entry(key)
                .and_modify(|sum| {
                    sum.count += 1;
                    sum.place.0 += cell.place.0;
                    sum.place.1 += cell.place.1;
                    sum.x = (sum.x.0.min(cell.x.0), sum.x.1.max(cell.x.1));
                    sum.y = (sum.y.0.min(cell.y.0), sum.y.1.max(cell.y.1));
                })
                .or_insert_with(|| cell.clone());
            if grid.len() > MAX_DOTS {
                break;
            }
        }
        if grid.len() <= MAX_DOTS {
            let mean = |cell: &mut Cell| {
                let n = cell.count as f64;
                cell.place = (cell.place.0 / n, cell.place.1 / n);
            };
            return grid
                .into_values()
                .map(|mut cell| {
                    mean(&mut cell);
                    cell
                })
                .collect();
        }
        side *= 1.25;
    }
}
