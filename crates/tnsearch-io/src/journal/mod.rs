//! The journal of a search: one line for what was asked, then one per evaluation, generation, beginning and end.
//!
//! This is its only reader and its only writer.

mod check;
mod fingerprint;
mod header;
mod line;
mod reader;
mod settle;
mod writer;

pub use fingerprint::fingerprint;
pub use header::{FORMAT, Header, SAME_FITS, VERSION};
pub use line::BeginRecord;
pub use reader::JournalFile;
pub use writer::JournalWriter;
