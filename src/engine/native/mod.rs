//! The engine that is built in.

pub mod tool;
