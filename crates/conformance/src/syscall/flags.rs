//! Constants by their names in the C headers: flags of calls, what can be asked for, where to count from.
//!
//! A name may be said with or without what all of its list begin with (`FALLOC_FL_KEEP_SIZE`, `KEEP_SIZE`). Numbers are
//! taken as they are, so that a rule can ask what a flag nobody knows does. It refuses names it does not know.

use super::words::number;

/// Constants that can be joined.
#[derive(Clone, Copy, Debug)]
pub struct FlagNames {
    /// What all of them begin with.
    prefix: &'static str,
    /// The names and their values.
    known: &'static [(&'static str, i64)],
}

impl FlagNames {
    const fn new(prefix: &'static str, known: &'static [(&'static str, i64)]) -> Self {
        FlagNames { prefix, known }
    }

    /// One constant by its name, or a number.
    ///
    /// # Errors
    /// It is neither; with the nearest name.
    pub fn one(&self, word: &str) -> Result<i64, String> {
        let short = |name: &'static str| name.strip_prefix(self.prefix).unwrap_or(name);
        let found = self.known.iter().find(|(name, _)| *name == word || short(name) == word);
        if let Some(value) = found.map(|(_, value)| *value).or_else(|| number(word)) {
            return Ok(value);
        }
        let distance = |(name, _): &&(&'static str, i64)| strsim::damerau_levenshtein(short(name), word);
        let near = self.known.iter().min_by_key(distance).filter(|near| distance(near) <= 3);
        Err(match near {
            Some((name, _)) => format!("`{word}`: is no flag here; did you mean `{name}`?"),
            None => format!("`{word}`: is no flag here, and no number"),
        })
    }

    /// Constants joined by `|` or `,`; `none`, `0` and empty items are none.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn join(&self, words: &str) -> Result<i64, String> {
        let items = words.split(['|', ',']).filter(|item| !item.is_empty() && *item != "none");
        items.map(|item| self.one(item)).try_fold(0, |all, item| Ok(all | item?))
    }

    /// The short names of the bits that are set.
    pub fn of(&self, bits: i64) -> impl Iterator<Item = &'static str> {
        let set = self.known.iter().filter(move |(_, bit)| bit.count_ones() == 1 && bits & bit != 0);
        set.map(|(name, _)| name.strip_prefix(self.prefix).unwrap_or(name))
    }
}

/// Constants of the C library by their names.
macro_rules! constants {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name as i64)),*] };
}

/// How a file is opened.
#[cfg(target_os = "linux")]
pub const OPEN: FlagNames = FlagNames::new(
    "",
    constants! {
        O_RDONLY O_WRONLY O_RDWR O_ACCMODE O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_NDELAY O_SYNC O_FSYNC
        O_DSYNC O_RSYNC O_ASYNC O_DIRECT O_LARGEFILE O_DIRECTORY O_NOFOLLOW O_NOATIME O_CLOEXEC O_PATH O_TMPFILE
    },
);
/// How a file is opened.
#[cfg(not(target_os = "linux"))]
pub const OPEN: FlagNames = FlagNames::new(
    "",
    constants! {
        O_RDONLY O_WRONLY O_RDWR O_ACCMODE O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_SYNC O_DIRECTORY O_NOFOLLOW
        O_CLOEXEC
    },
);

/// How a path is looked up.
#[cfg(target_os = "linux")]
pub const AT: FlagNames = FlagNames::new(
    "AT_",
    constants! {
        AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_EACCESS AT_NO_AUTOMOUNT AT_EMPTY_PATH AT_STATX_SYNC_AS_STAT
        AT_STATX_FORCE_SYNC AT_STATX_DONT_SYNC AT_RECURSIVE
    },
);
/// How a path is looked up.
#[cfg(not(target_os = "linux"))]
pub const AT: FlagNames =
    FlagNames::new("AT_", constants! { AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_EACCESS });

/// How a name is moved.
#[cfg(target_os = "linux")]
pub const RENAME: FlagNames =
    FlagNames::new("RENAME_", constants! { RENAME_NOREPLACE RENAME_EXCHANGE RENAME_WHITEOUT });

/// What may be done.
pub const ACCESS: FlagNames = FlagNames::new("", constants! { F_OK R_OK W_OK X_OK });

/// What may be asked of a path.
#[cfg(target_os = "linux")]
pub const PATHCONF: FlagNames = FlagNames::new(
    "_PC_",
    constants! {
        _PC_LINK_MAX _PC_MAX_CANON _PC_MAX_INPUT _PC_NAME_MAX _PC_PATH_MAX _PC_PIPE_BUF _PC_CHOWN_RESTRICTED _PC_NO_TRUNC
        _PC_VDISABLE _PC_SYNC_IO _PC_ASYNC_IO _PC_PRIO_IO _PC_FILESIZEBITS _PC_REC_INCR_XFER_SIZE _PC_REC_MAX_XFER_SIZE
        _PC_REC_MIN_XFER_SIZE _PC_REC_XFER_ALIGN _PC_ALLOC_SIZE_MIN _PC_SYMLINK_MAX _PC_2_SYMLINKS
    },
);
/// What may be asked of a path.
#[cfg(not(target_os = "linux"))]
pub const PATHCONF: FlagNames = FlagNames::new(
    "_PC_",
    constants! {
        _PC_LINK_MAX _PC_MAX_CANON _PC_MAX_INPUT _PC_NAME_MAX _PC_PATH_MAX _PC_PIPE_BUF _PC_CHOWN_RESTRICTED _PC_NO_TRUNC
        _PC_VDISABLE
    },
);

/// Nanoseconds that are none.
pub const NANOSECONDS: FlagNames = FlagNames::new("", constants! { UTIME_NOW UTIME_OMIT });

/// What statx is asked for.
#[cfg(target_os = "linux")]
pub const STATX: FlagNames = FlagNames::new(
    "STATX_",
    &[
        ("STATX_TYPE", 0x1),
        ("STATX_MODE", 0x2),
        ("STATX_NLINK", 0x4),
        ("STATX_UID", 0x8),
        ("STATX_GID", 0x10),
        ("STATX_ATIME", 0x20),
        ("STATX_MTIME", 0x40),
        ("STATX_CTIME", 0x80),
        ("STATX_INO", 0x100),
        ("STATX_SIZE", 0x200),
        ("STATX_BLOCKS", 0x400),
        ("STATX_BASIC_STATS", 0x7ff),
        ("STATX_BTIME", 0x800),
        ("STATX_ALL", 0xfff),
        ("STATX_MNT_ID", 0x1000),
        ("STATX_DIOALIGN", 0x2000),
        ("STATX_MNT_ID_UNIQUE", 0x4000),
        ("STATX_SUBVOL", 0x8000),
        ("STATX_WRITE_ATOMIC", 0x1_0000),
        ("STATX_DIO_READ_ALIGN", 0x2_0000),
        ("STATX__RESERVED", 0x8000_0000),
    ],
);

/// What statx says of a file.
#[cfg(target_os = "linux")]
pub const STATX_ATTRIBUTES: FlagNames = FlagNames::new(
    "STATX_ATTR_",
    &[
        ("STATX_ATTR_COMPRESSED", 0x4),
        ("STATX_ATTR_IMMUTABLE", 0x10),
        ("STATX_ATTR_APPEND", 0x20),
        ("STATX_ATTR_NODUMP", 0x40),
        ("STATX_ATTR_ENCRYPTED", 0x800),
        ("STATX_ATTR_AUTOMOUNT", 0x1000),
        ("STATX_ATTR_MOUNT_ROOT", 0x2000),
        ("STATX_ATTR_VERITY", 0x10_0000),
        ("STATX_ATTR_DAX", 0x20_0000),
        ("STATX_ATTR_WRITE_ATOMIC", 0x40_0000),
    ],
);

/// No flag is known.
#[cfg(target_os = "linux")]
pub const NONE: FlagNames = FlagNames::new("", &[]);

/// Where to count from.
#[cfg(not(target_os = "macos"))]
pub const WHENCE: FlagNames =
    FlagNames::new("SEEK_", constants! { SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE });
/// Where to count from.
#[cfg(target_os = "macos")]
pub const WHENCE: FlagNames = FlagNames::new("SEEK_", constants! { SEEK_SET SEEK_CUR SEEK_END });

/// What is given or taken (`linux/falloc.h`).
#[cfg(target_os = "linux")]
pub const FALLOC: FlagNames = FlagNames::new(
    "FALLOC_FL_",
    &[
        ("FALLOC_FL_KEEP_SIZE", 0x01),
        ("FALLOC_FL_PUNCH_HOLE", 0x02),
        ("FALLOC_FL_NO_HIDE_STALE", 0x04),
        ("FALLOC_FL_COLLAPSE_RANGE", 0x08),
        ("FALLOC_FL_ZERO_RANGE", 0x10),
        ("FALLOC_FL_INSERT_RANGE", 0x20),
        ("FALLOC_FL_UNSHARE_RANGE", 0x40),
        ("FALLOC_FL_WRITE_ZEROES", 0x80),
        ("FALLOC_FL_ALLOCATE_RANGE", 0),
    ],
);

/// How one read or write is done (`linux/fs.h`).
#[cfg(target_os = "linux")]
pub const RWF: FlagNames = FlagNames::new(
    "RWF_",
    &[
        ("RWF_HIPRI", 0x01),
        ("RWF_DSYNC", 0x02),
        ("RWF_SYNC", 0x04),
        ("RWF_NOWAIT", 0x08),
        ("RWF_APPEND", 0x10),
        ("RWF_NOAPPEND", 0x20),
        ("RWF_ATOMIC", 0x40),
        ("RWF_DONTCACHE", 0x80),
    ],
);

/// What part of writing back is wanted.
#[cfg(target_os = "linux")]
pub const SYNC_RANGE: FlagNames = FlagNames::new(
    "SYNC_FILE_RANGE_",
    constants! {
        SYNC_FILE_RANGE_WAIT_BEFORE SYNC_FILE_RANGE_WRITE SYNC_FILE_RANGE_WAIT_AFTER
    },
);

/// What is going to be read.
#[cfg(not(target_os = "macos"))]
pub const FADVISE: FlagNames = FlagNames::new(
    "POSIX_FADV_",
    constants! {
        POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL POSIX_FADV_WILLNEED POSIX_FADV_DONTNEED POSIX_FADV_NOREUSE
    },
);

/// What may be done with memory.
pub const PROT: FlagNames = FlagNames::new("PROT_", constants! { PROT_NONE PROT_READ PROT_WRITE PROT_EXEC });

/// What a mapping is.
#[cfg(target_os = "linux")]
pub const MAP: FlagNames = FlagNames::new(
    "MAP_",
    constants! {
        MAP_SHARED MAP_PRIVATE MAP_SHARED_VALIDATE MAP_FIXED MAP_FIXED_NOREPLACE MAP_ANONYMOUS MAP_GROWSDOWN MAP_LOCKED
        MAP_NORESERVE MAP_POPULATE MAP_NONBLOCK MAP_STACK MAP_HUGETLB MAP_SYNC
    },
);
/// What a mapping is.
#[cfg(not(target_os = "linux"))]
pub const MAP: FlagNames = FlagNames::new("MAP_", constants! { MAP_SHARED MAP_PRIVATE MAP_FIXED MAP_ANON });

/// How a mapping is brought to its file.
pub const MSYNC: FlagNames = FlagNames::new("MS_", constants! { MS_ASYNC MS_SYNC MS_INVALIDATE });

/// Whether an extended attribute may or must be there.
#[cfg(target_os = "linux")]
pub const XATTR: FlagNames = FlagNames::new("XATTR_", constants! { XATTR_CREATE XATTR_REPLACE });

/// What is reported, and how.
#[cfg(target_os = "linux")]
pub const INOTIFY: FlagNames = FlagNames::new(
    "IN_",
    constants! {
        IN_ACCESS IN_MODIFY IN_ATTRIB IN_CLOSE_WRITE IN_CLOSE_NOWRITE IN_OPEN IN_MOVED_FROM IN_MOVED_TO IN_CREATE IN_DELETE
        IN_DELETE_SELF IN_MOVE_SELF IN_UNMOUNT IN_Q_OVERFLOW IN_IGNORED IN_ONLYDIR IN_DONT_FOLLOW IN_EXCL_UNLINK
        IN_MASK_CREATE IN_MASK_ADD IN_ISDIR IN_ONESHOT IN_CLOSE IN_MOVE IN_ALL_EVENTS
    },
);

pub const LIMITS: FlagNames = FlagNames::new(
    "RLIMIT_",
    constants! {
        RLIMIT_FSIZE RLIMIT_NOFILE RLIMIT_CORE RLIMIT_DATA RLIMIT_STACK RLIMIT_CPU RLIMIT_AS RLIMIT_MEMLOCK RLIMIT_NPROC
    },
);

/// A limit that is none.
pub const UNLIMITED: FlagNames = FlagNames::new(
    "RLIM_",
    &[("RLIM_INFINITY", libc::RLIM_INFINITY as i64), ("unlimited", libc::RLIM_INFINITY as i64)],
);

/// What a mount allows.
#[cfg(target_os = "linux")]
pub const MOUNT: FlagNames = FlagNames::new(
    "MS_",
    constants! {
        MS_RDONLY MS_NOSUID MS_NODEV MS_NOEXEC MS_SYNCHRONOUS MS_REMOUNT MS_MANDLOCK MS_DIRSYNC MS_NOATIME MS_NODIRATIME
        MS_BIND MS_MOVE MS_REC MS_SILENT MS_UNBINDABLE MS_PRIVATE MS_SLAVE MS_SHARED MS_RELATIME MS_STRICTATIME MS_LAZYTIME
    },
);
