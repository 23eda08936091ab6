//! Pictures of networks and searches.

pub mod draw;
mod layout;
pub mod plot;

pub use draw::network_svg;
