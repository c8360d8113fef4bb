//! Papers on disk: whole, or not there.

use std::io::Write;
use std::path::Path;

use super::outcome::FlowError;

/// Writes a paper in one step, so that it is whole or not there.
pub(super) fn freeze(path: &Path, text: &str) -> Result<(), FlowError> {
    let failed = |source| FlowError::File { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Reads a paper.
pub(super) fn read(path: &Path) -> Result<String, FlowError> {
    std::fs::read_to_string(path)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}
