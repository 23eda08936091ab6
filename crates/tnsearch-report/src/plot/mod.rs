//! The plotting layer: a figure is data plus a few lines.
//!
//! ```
//! use tnsearch_report::plot::{Axis, Figure, Layer, Panel};
//! let losses = vec![(1.0, 0.9), (2.0, 0.4), (3.0, 0.5)];
//! let best = vec![(1.0, 0.9), (2.0, 0.4), (3.0, 0.4)];
//! let panel = Panel::new("Loss", Axis::whole("evaluations"), Axis::log("loss"))
//!     .add(Layer::dots("evaluation", losses))
//!     .add(Layer::steps("best so far", best))
//!     .add(Layer::horizontal("lower bound", 0.3));
//! let svg = Figure::new("A search").panel(panel).svg();
//! assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
//! ```
//!
//! The same input gives the same text, byte for byte. [`Figure::svg`] is a file of its own: white in
//! viewers without CSS, light or dark elsewhere as the reader prefers. [`Figure::inline`] is the same
//! picture for a page that has [`theme::RULES`] and the colours ([`theme::LIGHT`], [`theme::DARK`])
//! in its style sheet. What can be pointed at carries a `<title>`.

mod axis;
pub(crate) mod figure;
mod heat;
mod layer;
mod marks;
mod panel;
mod scale;
pub mod svg;
pub mod theme;
pub mod ticks;

pub use axis::Axis;
pub use figure::Figure;
pub use heat::HeatMap;
pub use layer::{Layer, Point};
pub use panel::Panel;
pub use scale::Scale;
pub use svg::{at_most, escape, number, short};
pub use theme::Colour;

#[cfg(test)]
mod tests;
