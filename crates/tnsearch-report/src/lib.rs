//! Pictures of networks and searches.
