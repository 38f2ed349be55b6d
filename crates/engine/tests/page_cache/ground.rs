//! Where the files lie, and what is in the cache of them.

use std::os::fd::AsRawFd;
use std::path::Path;

use iodyno_engine::memory::Mapping;
use iodyno_engine::witness::{identity, page_cache};
use testbed::Skip;

/// A folder beside the build, which is a disk more often than the temporary one.
pub fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
}

/// Nothing can be dropped from the cache of a file system that is memory.
pub fn storage() -> Result<(), Skip> {
    let facts = identity::facts(env!("CARGO_TARGET_TMPDIR"));
    match facts.file_system.as_deref() {
        Some("tmpfs" | "ramfs") => Err(Skip::new("files lie in memory here")),
        _ => Ok(()),
    }
}

/// Bytes of a file that are in the cache now.
pub fn resident(path: &Path) -> Result<u64, Skip> {
    let known = path.to_str().and_then(page_cache::resident);
    known
        .map(|(_, bytes)| bytes)
        .ok_or_else(|| Skip::new("the kernel does not tell what is in its page cache"))
}

/// The first bytes of a file in memory, which cannot leave while this lives.
pub fn locked(path: &Path, bytes: u64) -> Result<Mapping, Box<dyn std::error::Error>> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    let mapping =
        Mapping::of_file(file.as_raw_fd(), 0, bytes as usize).map_err(|failure| failure.to_string())?;
    // SAFETY: the range is mapped.
    if unsafe { libc::mlock(mapping.start().cast(), mapping.bytes()) } < 0 {
        let why = std::io::Error::last_os_error();
        return Err(Skip::new(format!("memory cannot be locked here: {why}")).into());
    }
    Ok(mapping)
}
