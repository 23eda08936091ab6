//! Pictures of structures.

mod labels;
mod layout;
mod stress;
mod tree;

use crate::plot::escape;
use crate::plot::figure::open;
use crate::plot::svg::{fitted, px};
use std::fmt::Write as _;
use tnsearch::graph::Structure;
use tnsearch::tensor::ModeNames;

/// Half the size of a vertex with a mode, and of one without.
const MODE: f64 = 22.0;
const INTERNAL: f64 = 14.0;
/// The radius of the hub of a hyperedge.
const HUB: f64 = 6.0;
/// The space around a picture, and between two.
const MARGIN: f64 = 32.0;
const GAP: f64 = 36.0;
/// The height of a caption.
const CAPTION: f64 = 26.0;

/// Draws a structure as a self-contained SVG picture.
///
/// Blue circles carry a mode and say which and its dimension; brown squares are internal vertices with their
/// number. An edge is labelled with its rank and the wider the higher it is; an edge of the template that has
/// rank 1, and so is none, is faint. Rings are drawn round, trees in layers, lattices as grids.
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
    networks_svg(&[("", structure)], dims)
}

/// The same with names for the modes.
pub fn network_svg_named(structure: &Structure, dims: &[usize], names: ModeNames<'_>) -> String {
    render(&[("", structure)], dims, names, true)
}

/// Where the vertices of a structure are drawn, in pixels from the upper left: for pictures made elsewhere.
pub fn network_layout(structure: &Structure) -> Vec<(f64, f64)> {
    layout::layout(structure.template())
}

/// Draws several structures side by side, each with a caption, as a self-contained SVG picture: what was
/// found beside the original order, say.
pub fn networks_svg(structures: &[(&str, &Structure)], dims: &[usize]) -> String {
    render(structures, dims, ModeNames::default(), true)
}

/// The picture of a structure for a page that has the style of figures ([`crate::plot::theme::RULES`]).
pub fn network_inline(structure: &Structure, dims: &[usize], names: ModeNames<'_>) -> String {
    render(&[("", structure)], dims, names, false)
}

fn render(
    structures: &[(&str, &Structure)],
    dims: &[usize],
    names: ModeNames<'_>,
    alone: bool,
) -> String {
    let places: Vec<Vec<(f64, f64)>> =
        structures.iter().map(|(_, s)| layout::layout(s.template())).collect();
    let most = |place: &[(f64, f64)], f: fn(&(f64, f64)) -> f64| {
        place.iter().map(f).fold(0.0, f64::max) + 2.0 * MARGIN
    };
    let caption = if structures.iter().any(|(c, _)| !c.is_empty()) { CAPTION } else { 0.0 };
    let height = places.iter().map(|p| most(p, |p| p.1)).fold(0.0, f64::max) + caption;
    let widths: Vec<f64> = places.iter().map(|p| most(p, |p| p.0).max(150.0)).collect();
    let width = widths.iter().sum::<f64>() + GAP * widths.len().saturating_sub(1) as f64;
    let title: Vec<String> = structures.iter().map(|(c, s)| describe(c, s)).collect();
    let mut out = open(width, height, &title.join("; "), alone);
    let mut left = 0.0;
    for (((name, structure), place), &wide) in structures.iter().zip(&places).zip(&widths) {
        if !name.is_empty() {
            let _ = writeln!(
                out,
                "<text fill=\"#1b2430\" font-size=\"14\" font-weight=\"600\" x=\"{}\" y=\"18\" \
                 text-anchor=\"middle\">{}</text>",
                px(left + wide / 2.0),
                escape(&fitted(name, 14.0, wide))
            );
        }
        let shift = left + (wide - most(place, |p| p.0)) / 2.0 + MARGIN;
        let at: Vec<(f64, f64)> =
            place.iter().map(|p| (p.0 + shift, p.1 + MARGIN + caption)).collect();
        one(&mut out, structure, dims, names, &at);
        left += wide + GAP;
    }
    out + "</svg>\n"
}

/// What a screen reader says.
fn describe(caption: &str, structure: &Structure) -> String {
    let template = structure.template();
    let ranks: Vec<String> = structure.ranks().iter().take(64).map(usize::to_string).collect();
    let colon = if caption.is_empty() { "" } else { ": " };
    format!(
        "{caption}{colon}{} of {} modes, ranks {}",
        template.name(),
        structure.permutation().len(),
        ranks.join(", ")
    )
}

fn one(
    out: &mut String,
    structure: &Structure,
    dims: &[usize],
    names: ModeNames<'_>,
    at: &[(f64, f64)],
) {
    let modes = structure.groups();
    let edges = structure.edges();
    let who = |v: usize| match modes[v].is_empty() {
        true => format!("internal vertex {v}"),
        false => words(&modes[v], names),
    };
    // Where most edges are none they would hide the others.
    let crowded = edges.iter().filter(|e| e[2] == 1).count() > 3 * at.len();
    let faint = if crowded { ".22" } else { ".8" };
    // All lines first, so that no line runs over a label; the faint ones below the others.
    for visible in [false, true] {
        for &[u, v, rank] in edges.iter().filter(|e| (e[2] > 1) == visible) {
            let ((x, y), (to_x, to_y)) = (at[u], at[v]);
            let style = if visible {
                "class=\"edge\" stroke=\"#5f6f82\" stroke-linecap=\"round\"".to_owned()
            } else {
                format!(
                    "class=\"axis none\" stroke=\"#9aa5b1\" stroke-opacity=\"{faint}\" stroke-dasharray=\"3 6\""
                )
            };
            let _ = writeln!(
                out,
                "<line {style} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke-width=\"{}\">\
                 <title>rank {rank} between {} and {}</title></line>",
                px(x),
                px(y),
                px(to_x),
                px(to_y),
                px(line_width(rank)),
                who(u),
                who(v)
            );
        }
    }
    let shown: Vec<&[usize; 3]> = edges.iter().filter(|e| e[2] > 1).collect();
    let ends: Vec<_> = shown.iter().map(|e| (at[e[0]], at[e[1]])).collect();
    let bodies: Vec<_> = modes
        .iter()
        .zip(at)
        .map(|(modes, &p)| (p, if modes.is_empty() { INTERNAL } else { MODE }))
        .collect();
    for (edge, place) in shown.iter().zip(labels::places(&ends, &bodies)) {
        let Some((x, y)) = place else { continue };
        let (x, y, rank) = (px(x), px(y), edge[2]);
        // The halo is a text of its own: not every viewer can draw a stroke below its fill.
        for class in [
            "class=\"halo\" fill=\"#fff\" stroke=\"#fff\" stroke-width=\"5\" stroke-linejoin=\"round\"",
            "class=\"rank\" fill=\"#1b2430\"",
        ] {
            let _ = writeln!(
                out,
                "<text {class} font-size=\"13\" font-weight=\"600\" x=\"{x}\" y=\"{y}\" \
                 text-anchor=\"middle\" dominant-baseline=\"central\" pointer-events=\"none\">{rank}</text>"
            );
        }
    }
    for (v, modes) in modes.iter().enumerate() {
        match structure.template().copy_vertex() == Some(v) {
            true => hub(out, v, at[v]),
            false => vertex(out, v, modes, dims, names, at[v]),
        }
    }
}

/// The hub of a hyperedge, which has no entries of its own: a dot.
fn hub(out: &mut String, v: usize, (x, y): (f64, f64)) {
    let _ = writeln!(
        out,
        "<g class=\"on\"><title>vertex {v}: the hyperedge that joins all modes, without parameters</title>\
         <circle class=\"inner hub\" fill=\"#5f6f82\" cx=\"{}\" cy=\"{}\" r=\"{HUB}\"/></g>",
        px(x),
        px(y)
    );
}

/// `mode 2`, `modes 0, 2`.
fn words(modes: &[usize], names: ModeNames<'_>) -> String {
    let numbers: Vec<_> = modes.iter().map(|&n| names.bare(n)).collect();
    format!("mode{} {}", if modes.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

fn vertex(
    out: &mut String,
    v: usize,
    modes: &[usize],
    dims: &[usize],
    names: ModeNames<'_>,
    (x, y): (f64, f64),
) {
    let text = |size: f64, weight: u32, dy: f64, text: &str| {
        format!(
            "<text fill=\"#fff\" font-size=\"{size}\" font-weight=\"{weight}\" x=\"{}\" y=\"{}\" \
             text-anchor=\"middle\" dominant-baseline=\"central\">{text}</text>",
            px(x),
            px(y + dy)
        )
    };
    let _ = match modes.is_empty() {
        false => {
            let dim = |&n: &usize| dims.get(n).copied().unwrap_or(0).to_string();
            let dims: Vec<String> = modes.iter().map(dim).collect();
            // Several modes are told by their numbers alone, as many as there is room for.
            let (label, name) = match modes {
                [n] => (format!("I={}", dims[0]), names.of(*n).into_owned()),
                _ => {
                    let few: Vec<_> = modes.iter().take(3).map(|&n| names.bare(n)).collect();
                    let more = if modes.len() > 3 { "…" } else { "" };
                    let shape = dims.join("×");
                    let short = shape.chars().count() <= 9;
                    let label = if short { shape } else { format!("{} modes", modes.len()) };
                    (label, format!("m{}{more}", few.join(",")))
                }
            };
            // Long labels in smaller letters: all stay inside the circle.
            let size = (68.0 / label.chars().count().max(1) as f64).clamp(7.0, 10.5);
            let large = (72.0 / name.chars().count().max(1) as f64).clamp(8.0, 13.0);
            let dimensions = if modes.len() == 1 { "dimension" } else { "dimensions" };
            writeln!(
                out,
                "<g class=\"on\"><title>{}, {dimensions} {}, on vertex {v}</title>\
                 <circle class=\"mode ring\" fill=\"#0068a8\" stroke=\"#fff\" stroke-width=\"2\" cx=\"{}\" cy=\"{}\" r=\"{MODE}\"/>\
                 {}{}</g>",
                words(modes, names),
                dims.join(", "),
                px(x),
                px(y),
                text(large, 600, -6.0, &name),
                text(size, 400, 8.5, &label)
            )
        }
        true => writeln!(
            out,
            "<g class=\"on\"><title>internal vertex {v}: it carries no mode</title>\
             <rect class=\"inner ring\" fill=\"#8a5a00\" stroke=\"#fff\" stroke-width=\"2\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
             {}</g>",
            px(x - INTERNAL),
            px(y - INTERNAL),
            2.0 * INTERNAL,
            2.0 * INTERNAL,
            text(10.5, 400, 0.0, &format!("v{v}"))
        ),
    };
}

/// Grows with the logarithm of the rank, so that 2 and 64 can stand in one picture.
fn line_width(rank: usize) -> f64 {
    if rank == 1 { 1.2 } else { (1.0 + 1.3 * (rank as f64).log2()).min(12.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;
    use std::sync::Arc;
    use tnsearch::graph::Template;

    fn picture(template: Template, rank: impl Fn(usize) -> usize) -> String {
        // The edges of a copy vertex have one rank.
        let copies = template.copy_vertex().is_some();
        let ranks = (0..template.edges().len()).map(|e| rank(if copies { 0 } else { e })).collect();
        let dims: Vec<usize> = (0..template.order()).map(|n| n + 2).collect();
        network_svg(&Structure::identity(Arc::new(template), ranks).unwrap(), &dims)
    }

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn every_vertex_and_edge_is_drawn_once() {
        for order in 2..=24 {
            for t in layout::tests::all(order) {
                let (edges, internal) = (t.edges().len(), t.vertices() - order);
                let name = t.name().to_owned();
                let svg = picture(t, |e| e % 3 + 1);
                // The edges of a copy vertex have one rank: here 1.
                let none = if name == "cp" { edges } else { edges.div_ceil(3) };
                // And the vertex is a dot.
                assert_eq!(count(&svg, "<circle "), order + usize::from(name == "cp"));
                assert_eq!(count(&svg, "class=\"inner "), internal);
                assert_eq!(count(&svg, "class=\"axis none\""), none);
                assert_eq!(count(&svg, "class=\"edge\""), edges - none);
                if name != "complete" {
                    assert_eq!(count(&svg, "class=\"rank\""), edges - none, "{name} {order}");
                }
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
                Document::parse(&svg).unwrap();
                for n in 0..order {
                    assert!(svg.contains(&format!(">m{n}<")));
                    assert!(svg.contains(&format!(">I={}<", n + 2)));
                }
            }
        }
    }

    #[test]
    fn several_modes_at_a_vertex_are_shown() {
        let groups = [vec![0, 2], vec![], vec![1, 3, 4, 5], vec![6]];
        let edges = [(0, 1, 2), (1, 2, 3), (1, 3, 2)];
        let s = Structure::from_groups("mine", &groups, &edges).unwrap();
        let svg = network_svg(&s, &[2, 3, 4, 100, 100, 100, 7]);
        Document::parse(&svg).unwrap();
        assert_eq!(count(&svg, "<circle "), 3);
        for text in [
            "mine of 7 modes, ranks",
            "modes 0, 2, dimensions 2, 4, on vertex 0",
            "modes 1, 3, 4, 5, dimensions 3, 100, 100, 100, on vertex 2",
            "mode 6, dimension 7, on vertex 3",
            "rank 2 between modes 0, 2 and internal vertex 1",
            ">m0,2<",
            ">2×4<",
            ">m1,3,4…<",
            ">4 modes<",
            ">m6<",
        ] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn names_are_escaped() {
        let name = "<script>\"a\"&'b'\u{7}</script>";
        let t = Template::from_graph(name, vec![true; 2], vec![(0, 1)]).unwrap();
        let svg = picture(t, |_| 2);
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("&lt;script&gt;&quot;a&quot;&amp;&#39;b&#39; &lt;/script&gt;"));
    }

    #[test]
    fn pictures_stand_side_by_side_with_their_captions() {
        let ring = Arc::new(Template::ring(5).unwrap());
        let one = Structure::identity(ring.clone(), vec![2; 5]).unwrap();
        let other = Structure::new(ring, vec![1, 0, 2, 4, 3], vec![3; 5]).unwrap();
        let svg = networks_svg(&[("<found>", &other), ("original order", &one)], &[3; 5]);
        let document = Document::parse(&svg).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        assert!(texts.contains(&"<found>") && texts.contains(&"original order"));
        let xs: Vec<f64> = document
            .descendants()
            .filter(|n| n.has_tag_name("circle"))
            .map(|n| n.attribute("cx").unwrap().parse().unwrap())
            .collect();
        let (first, second) = xs.split_at(5);
        let right = first.iter().fold(0.0f64, |a, &b| a.max(b));
        assert!(second.iter().all(|&x| x > right + 2.0 * MODE));
    }

    #[test]
    fn width_follows_the_rank() {
        let widths: Vec<f64> = [2, 3, 8, 64, 400].map(line_width).to_vec();
        assert!(widths.is_sorted() && widths[0] < widths[3]);
        assert_eq!(line_width(usize::MAX), 12.0);
    }
}
