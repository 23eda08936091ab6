//! Pictures of networks and searches.

pub mod draw;
mod layout;

pub use draw::network_svg;
