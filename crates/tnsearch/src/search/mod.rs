//! Searching structures.
