//! The `tnsearch` command.
fn main() {}
