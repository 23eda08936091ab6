//! What is drawn in a panel.

use super::{Colour, HeatMap};

/// A point `(x, y)` of the data.
pub type Point = (f64, f64);

/// Data and how they are drawn. Layers of one panel that have the same name share a colour and one entry in
/// the legend, so that a line and its band belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) colour: Option<Colour>,
    pub(crate) dashed: bool,
    pub(crate) listed: bool,
    /// What to say about each point; where there is none, its coordinates.
    pub(crate) tips: Vec<String>,
    pub(crate) size: f64,
    /// By what a page finds its marks.
    pub(crate) id: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    Line(Vec<Point>),
    Steps(Vec<Point>),
    Dots(Vec<Point>),
    /// `(x, low, high)`.
    Band(Vec<(f64, f64, f64)>),
    /// `(from x, to x, height)`.
    Bars(Vec<(f64, f64, f64)>),
    Horizontal(f64),
    Vertical(f64),
    Heat(HeatMap),
}

impl Layer {
    fn new(name: &str, mark: Mark) -> Self {
        let name = name.to_owned();
        Layer {
            name,
            mark,
            colour: None,
            dashed: false,
            listed: true,
            tips: Vec::new(),
            size: 3.0,
            id: None,
        }
    }

    /// A line from point to point.
    pub fn line(name: &str, points: Vec<Point>) -> Self {
        Layer::new(name, Mark::Line(points))
    }

    /// A value that holds until the next: the best so far.
    pub fn steps(name: &str, points: Vec<Point>) -> Self {
        Layer::new(name, Mark::Steps(points))
    }

    /// A dot for each point. Where there are more than can be told apart, neighbours are drawn as one dot
    /// that says how many it stands for.
    pub fn dots(name: &str, points: Vec<Point>) -> Self {
        Layer::new(name, Mark::Dots(points))
    }

    /// The area between two values over x, each `(x, low, high)`.
    pub fn band(name: &str, points: Vec<(f64, f64, f64)>) -> Self {
        Layer::new(name, Mark::Band(points))
    }

    /// Bars from the foot of the panel, each `(from x, to x, height)`.
    pub fn bars(name: &str, bars: Vec<(f64, f64, f64)>) -> Self {
        Layer::new(name, Mark::Bars(bars))
    }

    /// A dashed line across the panel at a value of y: a bound, a target.
    pub fn horizontal(name: &str, y: f64) -> Self {
        Layer { dashed: true, ..Layer::new(name, Mark::Horizontal(y)) }.colour(Colour::Bound)
    }

    /// A dashed line up the panel at a value of x.
    pub fn vertical(name: &str, x: f64) -> Self {
        Layer { dashed: true, ..Layer::new(name, Mark::Vertical(x)) }.colour(Colour::Bound)
    }

    /// Coloured cells.
    pub fn heat(name: &str, map: HeatMap) -> Self {
        Layer { listed: false, ..Layer::new(name, Mark::Heat(map)) }
    }

    /// Sets the colour; without, layers take the series' colours in turn.
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Draws a line in dashes.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// Leaves the layer out of the legend.
    pub fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Sets what is said about each point when one points at it.
    pub fn tips(mut self, tips: Vec<String>) -> Self {
        self.tips = tips;
        self
    }

    /// Sets a name by which the script of a page finds the dots.
    pub fn id(mut self, id: &'static str) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the radius of dots, in pixels (3 without).
    pub fn size(mut self, radius: f64) -> Self {
        self.size = radius;
        self
    }

    /// The values along x and along y that must be in sight.
    pub(crate) fn extent(&self) -> (Vec<f64>, Vec<f64>) {
        match &self.mark {
            Mark::Line(p) | Mark::Steps(p) | Mark::Dots(p) => p.iter().copied().unzip(),
            Mark::Band(p) => {
                (p.iter().map(|b| b.0).collect(), p.iter().flat_map(|b| [b.1, b.2]).collect())
            }
            Mark::Bars(b) => {
                let heights = b.iter().map(|b| b.2).chain([0.0]).collect();
                (b.iter().flat_map(|b| [b.0, b.1]).collect(), heights)
            }
            Mark::Horizontal(y) => (Vec::new(), vec![*y]),
            Mark::Vertical(x) => (vec![*x], Vec::new()),
            Mark::Heat(map) => {
                let span = |n: usize| vec![-0.5, n as f64 - 0.5];
                (span(map.columns()), span(map.rows()))
            }
        }
    }
}
