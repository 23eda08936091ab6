//! Pictures of structures.

use crate::layout::{Layout, layout};
use std::fmt::Write as _;
use tnsearch::graph::Structure;

/// Half the size of a vertex with a mode, and of one without.
const MODE: f64 = 25.0;
const INTERNAL: f64 = 15.0;
/// The space around the picture.
const MARGIN: f64 = 34.0;

/// Colours for light pages and, where the reader prefers it, for dark ones. The picture has no
/// background; labels carry a halo so that they can be read on any.
const STYLE: &str = "\
.tn-net text{font:600 13px system-ui,sans-serif;text-anchor:middle;dominant-baseline:central}\
.tn-net .edge line{stroke:#64748b;stroke-linecap:round}\
.tn-net .none line{stroke:#94a3b8;stroke-opacity:.75;stroke-dasharray:4 6}\
.tn-net .halo{fill:#fff;stroke:#fff;stroke-width:5px;stroke-linejoin:round}\
.tn-net .rank{fill:#0f172a}\
.tn-net .mode circle{fill:#1d4ed8;stroke:#fff;stroke-width:2}\
.tn-net .inner rect{fill:#b45309;stroke:#fff;stroke-width:2}\
.tn-net .mode text,.tn-net .inner text{fill:#fff}\
.tn-net .mode text.dim{font-size:10.5px;font-weight:400}\
.tn-net .inner text{font-size:10.5px;font-weight:400}\
@media (prefers-color-scheme:dark){\
.tn-net .edge line{stroke:#94a3b8}\
.tn-net .none line{stroke:#64748b}\
.tn-net .halo{fill:#0f172a;stroke:#0f172a}\
.tn-net .rank{fill:#f1f5f9}\
.tn-net .mode circle,.tn-net .inner rect{stroke:#0f172a}\
.tn-net .mode circle{fill:#2563eb}}";

/// Draws a structure as a self-contained SVG picture.
///
/// Blue circles carry a mode and say which and its dimension; brown squares are internal vertices
/// with their number. An edge is labelled with its rank and the wider the higher it is; an edge of
/// the template that has rank 1, and so is none, is dashed.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// let ring = Arc::new(Template::ring(4).unwrap());
/// let structure = Structure::identity(ring, vec![2, 3, 1, 4]).unwrap();
/// let svg = tnsearch_report::network_svg(&structure, &[5, 6, 7, 8]);
/// assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
/// ```
pub fn network_svg(structure: &Structure, dims: &[usize]) -> String {
    let template = structure.template();
    let Layout { place, label_at } = layout(template);
    let most = |f: fn(&(f64, f64)) -> f64| place.iter().map(f).fold(0.0, f64::max) + 2.0 * MARGIN;
    let (width, height) = (most(|p| p.0), most(|p| p.1));
    let at = |v: usize| (place[v].0 + MARGIN, place[v].1 + MARGIN);
    let title =
        format!("{} of {} modes, ranks {:?}", template.name(), template.order(), structure.ranks());
    let title = escape(&title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tn-net\" role=\"img\" aria-label=\"{title}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.1} {height:.1}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n"
    );
    // All lines first, so that no line runs over a label.
    for [u, v, rank] in structure.edges() {
        let ((x, y), (to_x, to_y)) = (at(u), at(v));
        let class = if rank > 1 { "edge" } else { "none" };
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><title>rank {rank} between vertices {u} and {v}</title>\
             <line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\" \
             stroke-width=\"{:.1}\"/></g>",
            line_width(rank)
        );
    }
    for [u, v, rank] in structure.edges().into_iter().filter(|e| e[2] > 1) {
        let ((x, y), (to_x, to_y)) = (at(u), at(v));
        let (x, y) = (x + label_at * (to_x - x), y + label_at * (to_y - y));
        // The halo is a text of its own: not every viewer can draw a stroke below its fill.
        for class in ["halo", "rank"] {
            let _ =
                writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{rank}</text>");
        }
    }
    for (v, mode) in structure.modes().into_iter().enumerate() {
        let (x, y) = at(v);
        let _ = match mode {
            Some(n) => {
                let dim = dims.get(n).map_or(String::new(), |d| format!("I={d}"));
                writeln!(
                    out,
                    "<g class=\"mode\"><title>mode {n} on vertex {v}</title>\
                     <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{MODE}\"/>\
                     <text x=\"{x:.1}\" y=\"{:.1}\">m{n}</text>\
                     <text class=\"dim\" x=\"{x:.1}\" y=\"{:.1}\">{dim}</text></g>",
                    y - 6.0,
                    y + 9.0
                )
            }
            None => writeln!(
                out,
                "<g class=\"inner\"><title>internal vertex {v}</title>\
                 <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
                 <text x=\"{x:.1}\" y=\"{y:.1}\">{v}</text></g>",
                x - INTERNAL,
                y - INTERNAL,
                2.0 * INTERNAL,
                2.0 * INTERNAL
            ),
        };
    }
    out + "</svg>\n"
}

/// Grows with the logarithm of the rank, so that 2 and 64 can stand in one picture.
fn line_width(rank: usize) -> f64 {
    if rank == 1 { 1.5 } else { (1.0 + 1.3 * (rank as f64).log2()).min(12.0) }
}

/// Text as it may stand in an element or a quoted attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no way to write these.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::graph::Template;

    fn picture(template: Template, rank: impl Fn(usize) -> usize) -> String {
        let ranks = (0..template.edges().len()).map(rank).collect();
        let dims: Vec<usize> = (0..template.order()).map(|n| n + 2).collect();
        network_svg(&Structure::identity(Arc::new(template), ranks).unwrap(), &dims)
    }

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn every_vertex_and_edge_is_drawn_once() {
        for order in 2..=10 {
            for spec in ["path", "ring", "star", "tree", "complete", "ht", "mera"] {
                let t = Template::parse(spec, order).unwrap();
                let (edges, internal) = (t.edges().len(), t.vertices() - order);
                let svg = picture(t, |e| e % 3 + 1);
                let none = edges.div_ceil(3);
                assert_eq!(count(&svg, "<circle "), order);
                assert_eq!(count(&svg, "<rect "), internal);
                assert_eq!(count(&svg, "class=\"none\""), none);
                assert_eq!(count(&svg, "class=\"edge\""), edges - none);
                assert_eq!(count(&svg, "class=\"rank\""), edges - none);
                assert_eq!(count(&svg, "<g "), count(&svg, "</g>"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
                for n in 0..order {
                    assert!(svg.contains(&format!(">m{n}<")));
                    assert!(svg.contains(&format!(">I={}<", n + 2)));
                }
            }
        }
    }

    #[test]
    fn names_are_escaped() {
        let name = "<script>\"a\"&'b'\n</script>";
        let t = Template::from_graph(name, vec![true; 2], vec![(0, 1)]).unwrap();
        let svg = picture(t, |_| 2);
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("&lt;script&gt;&quot;a&quot;&amp;&#39;b&#39; &lt;/script&gt;"));
    }

    #[test]
    fn width_follows_the_rank() {
        let widths: Vec<f64> = [2, 3, 8, 64, 400].map(line_width).to_vec();
        assert!(widths.is_sorted() && widths[0] < widths[3]);
        assert_eq!(line_width(usize::MAX), 12.0);
    }
}
