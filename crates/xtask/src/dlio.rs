//! What DLIO is run with: PyTorch and MPI of Debian; its own packages the tests install from PyPI.
//!
//! It refuses to fail the run: what cannot be had is a sentence, and the cases count themselves as skipped.

use std::path::{Path, PathBuf};

use crate::packages;

/// Names the folder of its environment to the tests.
pub const FOLDER: &str = "IODYNO_DLIO";

/// The folder for its environment.
///
/// # Errors
/// There can be no folder.
pub fn folder(root: &Path) -> Result<PathBuf, String> {
    packages::install(&packages::DLIO);
    let folder = root.join("target/dlio");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
