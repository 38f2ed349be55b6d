//! The promises that the oracle knows, each with its source; and what a mount option takes away.

use crate::promise::{Authority, Violation};

/// What a promise is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromiseKind {
    Prepared,
    Fsync,
    Fdatasync,
    Osync,
    Odsync,
    RwfSync,
    RwfDsync,
    Msync,
    Sync,
    Syncfs,
    FsyncDirectory,
    /// The name of a new file, and those of the new directories above it.
    NewName,
    /// Old and new name of a file that was renamed, linked or unlinked, after its own fsync.
    ChangedNames,
    RenameAtomic,
    /// Bytes that nobody synced are old, new or zeroes.
    NoForeignBytes,
    /// Pages of 4 KiB that are written in place are old or new.
    WholePages,
    Application,
}

impl PromiseKind {
    pub fn authority(self) -> Authority {
        use PromiseKind as K;
        match self {
            K::Fsync | K::Fdatasync | K::Osync | K::Odsync | K::Msync | K::FsyncDirectory => Authority::Posix,
            K::Prepared | K::RwfSync | K::RwfDsync | K::Sync | K::Syncfs => Authority::Linux,
            K::NewName | K::ChangedNames | K::RenameAtomic | K::NoForeignBytes => Authority::Linux,
            K::WholePages | K::Application => Authority::Application,
        }
    }

    pub fn words(self) -> &'static str {
        use PromiseKind as K;
        match self {
            K::Prepared => "what lay there before, after a clean unmount",
            K::Fsync => "data, size and attributes of a file after its fsync",
            K::Fdatasync => "data and size of a file after its fdatasync",
            K::Osync => "data of a write through O_SYNC",
            K::Odsync => "data of a write through O_DSYNC",
            K::RwfSync => "data of a write with RWF_SYNC",
            K::RwfDsync => "data of a write with RWF_DSYNC",
            K::Msync => "data of a mapping after its msync",
            K::Sync => "everything after sync",
            K::Syncfs => "everything after syncfs",
            K::FsyncDirectory => "entries of a directory after its fsync",
            K::NewName => "the name of a new file after its fsync",
            K::ChangedNames => "the names of a file after its fsync",
            K::RenameAtomic => "rename as a whole: the old name or the new one",
            K::NoForeignBytes => "bytes that nobody synced are old, new or zeroes",
            K::WholePages => "pages of 4 KiB that are old or new",
            K::Application => "what the program told its users",
        }
    }

    pub fn source(self) -> &'static str {
        use PromiseKind as K;
        match self {
            K::Prepared => "umount(2)",
            K::Fsync => "POSIX.1-2024 fsync()",
            K::Fdatasync => "POSIX.1-2024 fdatasync()",
            K::Osync => "POSIX.1-2024 open(), O_SYNC",
            K::Odsync => "POSIX.1-2024 open(), O_DSYNC",
            K::RwfSync => "pwritev2(2), RWF_SYNC",
            K::RwfDsync => "pwritev2(2), RWF_DSYNC",
            K::Msync => "POSIX.1-2024 msync(), MS_SYNC",
            K::Sync => "sync(2)",
            K::Syncfs => "syncfs(2)",
            K::FsyncDirectory => "POSIX.1-2024 fsync(); fsync(2)",
            K::NewName | K::ChangedNames => "practice of ext4, xfs and btrfs",
            K::RenameAtomic => "POSIX.1-2024 rename(), RATIONALE; rename(2)",
            K::NoForeignBytes => "ext4(5), data=ordered",
            K::WholePages => "the workload, on a disk that writes 4 KiB as a whole",
            K::Application => "the workload",
        }
    }
}

/// A promise, and the step that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Given {
    pub kind: PromiseKind,
    /// `None`: before the first step.
    pub step: Option<u32>,
}

/// What a file system under its mount options adds to POSIX, and takes from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPractice {
    /// The option under which nothing that was synced need be there, with its source.
    pub withdrawn: Option<(&'static str, &'static str)>,
    /// Whether an unsynced file may show what other files left on the disk.
    pub shows_foreign_bytes: bool,
    /// Whether numbers of inodes outlive a mount.
    pub keeps_inode_numbers: bool,
    /// Whether a file that was renamed into another directory may be found under both names, as if it had been linked and nothing
    /// removed, while the new directory alone is synced: btrfs logs that one alone.
    pub keeps_both_names: bool,
    /// Whether fsync of a file makes durable what became of its names.
    pub syncs_changed_names: bool,
}

impl MountPractice {
    /// What a type and its options mean.
    pub fn of(file_system: &str, options: &str) -> MountPractice {
        let has = |wanted: &[&str]| options.split(',').any(|option| wanted.contains(&option));
        let is_ext = matches!(file_system, "ext3" | "ext4");
        let is_journalled = is_ext || matches!(file_system, "xfs" | "btrfs");
        let withdrawn = match file_system {
            "ext3" | "ext4" if has(&["nobarrier", "barrier=0"]) => Some(("nobarrier", "ext4(5), barrier")),
            "btrfs" if has(&["nobarrier"]) => Some(("nobarrier", "btrfs(5), barrier")),
            "f2fs" if has(&["nobarrier", "fsync_mode=nobarrier"]) => Some(("nobarrier", "f2fs, fsync_mode")),
            _ => None,
        };
        MountPractice {
            withdrawn,
            shows_foreign_bytes: !is_journalled || has(&["data=writeback"]),
            keeps_inode_numbers: is_journalled || file_system == "f2fs",
            keeps_both_names: file_system == "btrfs",
            syncs_changed_names: is_journalled,
        }
    }

    /// The violation as the mount options let it count: what an option takes away was not promised. What a program told its users
    /// was.
    pub fn weighed(&self, mut violation: Violation) -> Violation {
        if let Some((option, source)) = self.withdrawn
            && violation.authority < Authority::MountOption
        {
            violation.authority = Authority::MountOption;
            violation.promise = format!("{} (taken away by the mount option {option})", violation.promise);
            violation.source = source.into();
        }
        violation
    }

    /// A file system of which nothing is known but that it follows POSIX.
    pub fn posix() -> MountPractice {
        MountPractice::of("", "")
    }
}
