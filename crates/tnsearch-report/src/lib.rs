//! Pictures of networks and searches.

pub mod draw;
mod layout;
pub mod plot;
pub mod space;

pub use draw::network_svg;
