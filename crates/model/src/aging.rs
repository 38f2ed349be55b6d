//! A file system made old before anything is measured on it: files come and go until it is as full and as worn as asked.
//!
//! A young file system flatters: its free space is one piece, and so is every file. What wears it is a fill and a churn
//! of makes and removals over sizes and ages; all of it follows from the seed, so that two file systems that were aged
//! alike had the same done to them. Says what is to be done and what was found; does nothing.

use crate::reflect::Reflect;

use crate::origin::Origin;
use crate::pattern::Size;

/// How a file system is made old.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Aging {
    /// A directory of it; where it is not there yet, the nearest above it.
    #[reflect(key = "in")]
    pub directory: String,
    /// How full the file system becomes, percent of its size, what it holds already included; 0 < n < 100.
    #[reflect(key = "to")]
    pub full_percent: f64,
    /// How often the written bytes are rewritten afterwards; 0: filled only.
    pub turnover: f64,
    /// Sizes of the files.
    pub sizes: Size,
    /// How much sooner young files die than old ones, at least 1: the rank of the next to die, counted from the youngest,
    /// is that of n files times u to this power. 1: all alike.
    pub youth: f64,
    /// So many sequences side by side, each in a directory of its own.
    #[reflect(positive)]
    pub workers: u32,
    /// Space is reserved, nothing is written: faster, but what is there reads as zeros without the device.
    pub reserved: bool,
    /// What an earlier aging left in this directory is removed, and nothing else is done.
    #[reflect(key = "")]
    pub remove: bool,
    /// Where it was asked for.
    #[reflect(default)]
    pub origin: Origin,
}

impl Aging {
    /// The usual for a directory: three turnovers of files as they are found on file servers.
    pub fn new(directory: &str, full_percent: f64) -> Aging {
        Aging {
            directory: directory.into(),
            full_percent,
            turnover: 3.0,
            sizes: Aging::usual_sizes(),
            youth: 2.0,
            workers: 2,
            reserved: false,
            remove: false,
            origin: Origin::Default,
        }
    }

    /// Most files small, most bytes in large ones. The shares are ours, after the shape that Agrawal et al. found, "A
    /// five-year study of file-system metadata", FAST 2007.
    pub fn usual_sizes() -> Size {
        let between = |least_bytes, most_bytes| Size::Uniform { least_bytes, most_bytes, step_bytes: 1 };
        Size::Blend(vec![
            (between(1, 4 << 10), 35.0),
            (between(4 << 10, 32 << 10), 35.0),
            (between(32 << 10, 256 << 10), 20.0),
            (between(256 << 10, 2 << 20), 8.0),
            (between(2 << 20, 32 << 20), 1.9),
            (between(32 << 20, 256 << 20), 0.1),
        ])
    }
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct AgingRecord {
    /// The directory that holds the files.
    pub directory: String,
    /// The file system's type.
    pub file_system: String,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// How full it was to become, percent of its size; 0: everything was to be removed.
    #[reflect(default)]
    pub asked_percent: f64,
    /// Files made and removed, now and in the runs before that this one went on with.
    pub made: u64,
    /// See above.
    pub removed: u64,
    /// Files that are there now.
    pub files: u64,
    /// What was written for them in all, bytes.
    pub written_bytes: u64,
    /// Files that did not fit any more and were cut.
    pub cut: u64,
    /// Whether it went on where an earlier run was ended.
    pub resumed: bool,
    /// Whether all was done that was asked for.
    pub complete: bool,
    /// How long this run took, ns.
    pub elapsed_ns: u64,
    /// How the file system was before, where this run began it.
    pub before: Option<Wear>,
    /// How it is now; none: everything was removed.
    pub after: Option<Wear>,
}

/// How worn a file system is.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Wear {
    /// How full, percent of its size.
    pub full_percent: f64,
    /// Files that were looked at, of a fair sample.
    pub files: u64,
    /// Those in more than one piece.
    pub broken_files: u64,
    /// Pieces (extents) of all of them; none: the file system does not tell (`FS_IOC_FIEMAP`).
    pub extents: Option<u64>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of a file that was written as a trial, and its pieces.
    pub trial_bytes: u64,
    /// See above; none: the file system does not tell.
    pub trial_extents: Option<u64>,
    /// Pieces of free space; none: the file system does not tell (`FS_IOC_GETFSMAP`).
    pub free_extents: Option<u64>,
    /// The largest of them, bytes.
    pub free_largest_bytes: u64,
    /// All of them, bytes.
    pub free_bytes: u64,
}
