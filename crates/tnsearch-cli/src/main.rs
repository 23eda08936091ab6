//! The `tnsearch` command.

mod files;
mod text;

fn main() {}
