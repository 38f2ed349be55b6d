//! What the client of a parallel file system is asked for beyond POSIX: stripes of new files, locks and hints.

use crate::reflect::Reflect;

/// What the client of a parallel file system is asked for. Where the target lies on another one, the run does not start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct FileSystemHints {
    /// How Lustre stripes a file that is made; none: as its directory says.
    #[reflect(default)]
    pub lustre_stripes: Option<LustreStripes>,
    /// Lustre takes no locks for I/O on the file (`LL_FILE_IGNORE_LOCK`).
    #[reflect(default, phrase = "without Lustre's locks")]
    pub lustre_ignore_locks: bool,
    /// How BeeGFS stripes a file that is made; none: as its directory says.
    #[reflect(default)]
    pub beegfs_stripes: Option<BeegfsStripes>,
    /// Each read and write tells GPFS its range before, and gives it back after (`GPFS_ACCESS_RANGE`, `GPFS_FREE_RANGE`).
    #[reflect(default, phrase = "GPFS told of each range")]
    pub gpfs_access: bool,
    /// All of GPFS's byte-range tokens are given back after opening (`GPFS_FREE_RANGE`).
    #[reflect(default, phrase = "GPFS tokens released")]
    pub gpfs_release_tokens: bool,
    /// GPFS expects small writes of many tasks to a file that is made (`GPFS_FINE_GRAIN_WRITE_SHARING`).
    #[reflect(default, phrase = "GPFS fine grain writes")]
    pub gpfs_fine_grain_writes: bool,
    /// GPFS expects small reads of many tasks from a file that exists (`GPFS_FINE_GRAIN_READ_SHARING`).
    #[reflect(default, phrase = "GPFS fine grain reads")]
    pub gpfs_fine_grain_reads: bool,
    /// GPFS expects many tasks to make files in a set's root, while a job makes any (`GPFS_CREATE_SHARING`).
    #[reflect(default, phrase = "GPFS create sharing")]
    pub gpfs_create_sharing: bool,
}

impl FileSystemHints {
    /// Whether GPFS is asked for anything.
    pub fn are_for_gpfs(&self) -> bool {
        self.gpfs_access
            || self.gpfs_release_tokens
            || self.gpfs_fine_grain_writes
            || self.gpfs_fine_grain_reads
            || self.gpfs_create_sharing
    }

    /// Whether Lustre is asked for anything.
    pub fn are_for_lustre(&self) -> bool {
        self.lustre_stripes.is_some() || self.lustre_ignore_locks
    }

    /// These, or none where nobody is asked for anything.
    pub fn boxed(self) -> Option<Box<FileSystemHints>> {
        (self != FileSystemHints::default()).then(|| Box::new(self))
    }
}

/// Stripes of a file of Lustre (`lfs setstripe`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct LustreStripes {
    /// Object storage targets; -1: all of them; 0: as many as the file system's default.
    #[reflect(default, phrase = "Lustre stripes on {} targets")]
    pub count: i32,
    /// Bytes of a stripe; 0: as the file system's default.
    #[reflect(default, form = "bytes", phrase = "Lustre stripes of {}")]
    pub bytes: u64,
    /// The index of the first target; -1: any.
    #[reflect(default = -1, absent = -1, phrase = "from target {}")]
    pub start: i32,
    /// The pool that the targets are from.
    #[reflect(default, phrase = "in pool {}")]
    pub pool: Option<String>,
}

/// Stripes of a file of BeeGFS (`beegfs-ctl --setpattern`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct BeegfsStripes {
    /// Storage targets; 0: as many as the directory's.
    #[reflect(default, phrase = "BeeGFS stripes on {} targets")]
    pub targets: u32,
    /// Bytes of a chunk, a power of two from 64 KiB; 0: as the directory's.
    #[reflect(default, form = "bytes", phrase = "BeeGFS chunks of {}")]
    pub chunk_bytes: u64,
}
