//! The weights of a model, made smaller.

pub mod leading;
pub mod metric;
pub mod pairing;
pub mod sum;
mod weighted;
