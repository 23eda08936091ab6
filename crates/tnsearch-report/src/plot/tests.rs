//! Figures as a whole: well-formed, deterministic, bounded in size, safe with any text.

use super::*;
use proptest::prelude::*;
use roxmltree::{Document, Node};

fn parse(svg: &str) -> Document<'_> {
    Document::parse(svg).unwrap_or_else(|e| panic!("{e}:\n{svg}"))
}

fn count(document: &Document<'_>, tag: &str) -> usize {
    document.descendants().filter(|n| n.has_tag_name(tag)).count()
}

fn titles(document: &Document<'_>) -> Vec<String> {
    let found = document.descendants().filter(|n| n.has_tag_name("title"));
    found.map(|n: Node<'_, '_>| n.text().unwrap_or("").to_owned()).collect()
}

fn panel(name: &str, points: Vec<Point>) -> Panel {
    let band = points.iter().map(|p| (p.0, p.1 - 1.0, p.1 + 1.0)).collect();
    let bars = points.iter().map(|p| (p.0, p.0 + 1.0, p.1)).collect();
    Panel::new(name, Axis::linear(name), Axis::log(name))
        .add(Layer::bars("bars", bars))
        .add(Layer::band(name, band))
        .add(Layer::line(name, points.clone()))
        .add(Layer::steps("steps", points.clone()))
        .add(Layer::dots("dots", points).tips(vec![name.to_owned()]))
        .add(Layer::horizontal("bound", 2.0))
        .add(Layer::vertical("now", 1.0))
}

proptest! {
    #[test]
    fn any_data_and_any_text_give_well_formed_xml(
        name in any::<String>(),
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..30),
        cells in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..4), 0..4),
    ) {
        let heat = Panel::new(&name, Axis::names("x", vec![name.clone(); 4]), Axis::names(&name, vec![name.clone(); 4]))
            .add(Layer::heat(&name, HeatMap::new(&name, cells).log().mark(vec![(0, 0)])));
        let figure = Figure::new(&name).panel(panel(&name, points)).panel(heat);
        for svg in [figure.svg(), figure.inline()] {
            let document = parse(&svg);
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            prop_assert_eq!(document.root_element().attribute("role"), Some("img"));
            prop_assert_eq!(count(&document, "script"), 0);
        }
        prop_assert_eq!(figure.svg(), figure.svg());
    }

    #[test]
    fn dots_beyond_number_are_drawn_together_and_none_is_lost(n in 1usize..6000, seed in 0u32..9) {
        let x = |k: usize| (k * (7919 + seed as usize)) % 1009;
        let points: Vec<Point> = (0..n).map(|k| (k as f64, 1.0 + x(k) as f64)).collect();
        let panel = Panel::new("t", Axis::whole("n"), Axis::linear("v")).add(Layer::dots("d", points));
        let svg = Figure::new("").panel(panel).inline();
        let document = parse(&svg);
        // One more for the legend.
        prop_assert!(count(&document, "circle") <= marks::MAX_DOTS + 1);
        let stood_for: usize = titles(&document)
            .iter()
            .map(|t| match t.split_once(" points: ") {
                Some((n, _)) => n.replace('\u{202f}', "").parse().unwrap(),
                None => 1,
            })
            .sum();
        prop_assert_eq!(stood_for, n);
    }
}

#[test]
fn a_hostile_name_is_text() {
    let name = "</title><script>alert(1)</script>\u{202e}\"'&";
    let svg = Figure::new(name).panel(panel(name, vec![(1.0, 2.0), (2.0, 3.0)])).svg();
    assert!(!svg.contains("<script"));
    assert!(titles(&parse(&svg)).iter().any(|t| t.contains("<script>alert(1)</script>")));
}

#[test]
fn layers_of_one_name_share_colour_and_entry() {
    let points = vec![(1.0, 2.0), (2.0, 3.0)];
    let svg = Figure::new("")
        .panel(
            Panel::new("", Axis::linear("x"), Axis::linear("y"))
                .add(Layer::band("a", vec![(1.0, 1.0, 3.0), (2.0, 2.0, 4.0)]))
                .add(Layer::line("a", points.clone()))
                .add(Layer::line("b", points.clone()))
                .add(Layer::line("hidden", points).unlisted()),
        )
        .inline();
    let document = parse(&svg);
    let said: Vec<&str> = document
        .descendants()
        .filter(|n| n.has_tag_name("text") && n.attribute("class") == Some("soft"))
        .filter_map(|n| n.text())
        .collect();
    assert_eq!(said, ["a", "b"]);
    let lines: Vec<&str> = document
        .descendants()
        .filter(|n| n.has_tag_name("path") && n.has_children())
        .filter_map(|n| n.attribute("class"))
        .collect();
    assert_eq!(lines, ["f-c0", "s-c0", "s-c1", "s-c2"]);
}

#[test]
fn steps_hold_a_value_until_the_next() {
    let svg = Figure::new("")
        .panel(
            Panel::new("", Axis::linear("").range(0.0, 4.0), Axis::linear("").range(0.0, 10.0))
                .add(Layer::steps("s", vec![(0.0, 10.0), (1.0, 10.0), (2.0, 5.0), (4.0, 5.0)])),
        )
        .inline();
    let document = parse(&svg);
    let path =
        document.descendants().find(|n| n.attribute("class") == Some("s-c0") && n.has_children());
    let d = path.unwrap().attribute("d").unwrap().to_owned();
    let letters: String = d.chars().filter(char::is_ascii_alphabetic).collect();
    assert_eq!(letters, "MHVH", "{d}");
}

#[test]
fn a_long_line_keeps_its_extremes() {
    let mut points: Vec<Point> = (0..50_000).map(|k| (f64::from(k), 1.0)).collect();
    points[33_333].1 = 100.0;
    let panel = Panel::new("", Axis::linear("x"), Axis::linear("y")).add(Layer::line("l", points));
    let svg = Figure::new("").panel(panel).inline();
    assert!(svg.len() < 60_000, "{}", svg.len());
    let document = parse(&svg);
    let line = document.descendants().find(|n| n.has_tag_name("path") && n.has_children()).unwrap();
    let ys: Vec<f64> = line.attribute("d").unwrap()[1..]
        .split('L')
        .map(|p| p.split_once(' ').unwrap().1.parse().unwrap())
        .collect();
    let (top, foot) = ys.iter().fold((f64::MAX, f64::MIN), |(a, b), &y| (a.min(y), b.max(y)));
    assert!(foot - top > 150.0, "{top} {foot}");
}

#[test]
fn a_figure_alone_has_its_style_and_a_background() {
    let figure = Figure::new("t").panel(panel("p", vec![(1.0, 1.0)])).columns(1);
    let (alone, inline) = (figure.svg(), figure.inline());
    let document = parse(&alone);
    let paper = document.descendants().find(|n| n.attribute("class") == Some("paper")).unwrap();
    assert_eq!(paper.attribute("fill"), Some("#fff"));
    assert!(alone.contains("prefers-color-scheme:dark"));
    assert!(!inline.contains("<style") && !inline.contains("paper"));
}
