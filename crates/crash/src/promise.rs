//! What a completed call promises to keep, who says so, and how the promise can be broken.

use std::fmt;

/// Who gives a promise, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// POSIX.1: data and size of a file after `fsync`, a directory's entry after `fsync` of the directory.
    Posix,
    /// What Linux file systems do and programs rely on: the name of a new file after its `fsync`, `rename` that replaces as a
    /// whole.
    Linux,
    /// What a mount option adds or takes away.
    MountOption,
    /// What a program promises to its users.
    Application,
}

/// How a promise was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Damage {
    /// It is not there.
    Lost,
    /// An earlier generation of it is there.
    Stale,
    /// Parts of several generations are there.
    Torn,
    /// Zeroes are there.
    Zeroed,
    /// Something that nobody wrote there.
    Garbage,
    /// Whole, under another name.
    WrongName,
    /// Removed, and there again.
    Resurrected,
    /// Of another length.
    WrongSize,
    /// Attributes (mode, owner, extended attributes) of another value.
    WrongAttribute,
    /// The file system cannot be mounted, checked or written any more.
    Unusable,
}

/// A promise that a state does not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub authority: Authority,
    /// The promise in words: "data of a file after its fsync".
    pub promise: String,
    /// Where the promise comes from: "POSIX.1-2024 fsync()", "ext4(5)".
    pub source: String,
    /// What it was given for, relative to the root of the file system.
    pub path: String,
    pub damage: Damage,
    /// What was found where what was promised.
    pub found: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Damage::Lost => "lost",
            Damage::Stale => "stale",
            Damage::Torn => "torn",
            Damage::Zeroed => "zeroed",
            Damage::Garbage => "garbage",
            Damage::WrongName => "wrong name",
            Damage::Resurrected => "resurrected",
            Damage::WrongSize => "wrong size",
            Damage::WrongAttribute => "wrong attribute",
            Damage::Unusable => "unusable",
        })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Authority::Posix => "POSIX",
            Authority::Linux => "Linux practice",
            Authority::MountOption => "mount option",
            Authority::Application => "application",
        })
    }
}
