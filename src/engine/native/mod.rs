//! The engine that is built in.
