//! Pictures of networks and searches.

pub mod network;
pub mod page;
pub mod plot;
pub mod space;

pub use network::{network_inline, network_layout, network_svg, network_svg_named, networks_svg};
