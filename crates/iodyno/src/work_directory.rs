//! A directory in which a command makes files of its own: what is free there, and what is removed at the end.
//!
//! Refuses to touch what others have in it, but for what killed runs of this program left.

use std::path::Path;

use iodyno_dialect::{Loader, PathKind};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, units};

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

/// Data that a command makes in a directory.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentData<'a> {
    pub directory: &'a str,
    /// What the command says, and by which option.
    pub asked_bytes: Option<u64>,
    pub option: &'a str,
    /// Without that: at most so much, and half of what is free.
    pub most_bytes: u64,
}

impl ExperimentData<'_> {
    /// How much of it there is, after what killed runs have left was removed.
    ///
    /// # Errors
    /// No directory that can be written to, or too little room.
    pub fn bytes(&self, world: &World) -> Result<u64, Diagnostic> {
        let free = free_bytes(world, self.directory, "/mnt/training")?;
        let bytes = self.asked_bytes.unwrap_or(self.most_bytes.min(free / 2));
        if bytes > free {
            let message =
                format!("a data set of {}, and {} are free", units::binary(bytes), units::binary(free));
            return Err(Diagnostic::error(&Origin::argument(self.option), message).hint("ask for less"));
        }
        Ok(bytes)
    }
}

/// A file or a directory that a command made, which goes with all that is in it however the command ends; empty: none.
pub struct MadePath(pub String);

impl Drop for MadePath {
    fn drop(&mut self) {
        let path = Path::new(&self.0);
        let _ = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false if path.is_file() => std::fs::remove_file(path),
            false => Ok(()),
        };
    }
}
