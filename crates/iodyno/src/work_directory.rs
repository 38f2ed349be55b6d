//! A directory in which a command makes files of its own: what is free there, and what is removed at the end.
//!
//! Refuses to touch what others have in it, but for what killed runs of this program left.

use std::path::Path;

use iodyno_dialect::{Loader, PathKind};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin};

use crate::leftovers;
use crate::loader::HostLoader;

/// What is free in a directory, once what killed runs left there is removed; an `example` goes into the hint.
///
/// # Errors
/// Why nothing can be made there.
pub fn free_bytes(world: &World, directory: &str, example: &str) -> Result<u64, Diagnostic> {
    let origin = Origin::argument(directory);
    // First of all: it may be what fills the file system.
    leftovers::remove_temporaries(directory).iter().for_each(crate::session::say);
    let hint = format!("name one that files can be made in, e.g. {example}");
    let facts = HostLoader::new(world)
        .look(directory)
        .ok_or_else(|| Diagnostic::error(&origin, "no such directory").hint(hint.clone()))?;
    if facts.kind != PathKind::Directory || !facts.writable {
        return Err(Diagnostic::error(&origin, "no directory that can be written to").hint(hint));
    }
    Ok(facts.target.free_bytes.unwrap_or(u64::MAX))
}

/// A directory that a command made, which goes with all that is in it however the command ends; empty: none.
pub struct MadeDirectory(pub String);

impl Drop for MadeDirectory {
    fn drop(&mut self) {
        if !self.0.is_empty() && Path::new(&self.0).exists() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
