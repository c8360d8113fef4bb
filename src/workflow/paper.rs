//! Papers on disk: whole, or not there.

use std::path::Path;

use super::outcome::FlowError;
use crate::disk::{self, Care};

/// Writes a paper in one step, so that it is whole or not there.
pub(super) fn freeze(path: &Path, text: &str) -> Result<(), FlowError> {
    disk::replace(path, text.as_bytes(), Care::Record)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}

/// Reads a paper.
pub(super) fn read(path: &Path) -> Result<String, FlowError> {
    std::fs::read_to_string(path)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}
