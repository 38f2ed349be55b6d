//! Constants by their names in the C headers: flags of calls, what can be asked for, where to count from.
//!
//! A name may be said with or without what all of its list begin with (`FALLOC_FL_KEEP_SIZE`, `KEEP_SIZE`). Numbers are
//! taken as they are, so that a rule can ask what a flag nobody knows does. It refuses names it does not know.

use super::words::number;

/// Constants that can be joined.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// What all of them begin with.
    prefix: &'static str,
    /// The names and their values.
    known: &'static [(&'static str, i64)],
}

impl Names {
    const fn new(prefix: &'static str, known: &'static [(&'static str, i64)]) -> Self {
        Names { prefix, known }
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
pub const OPEN: Names = Names::new(
    "",
    constants! {
        O_RDONLY O_WRONLY O_RDWR O_ACCMODE O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_NDELAY O_SYNC O_FSYNC
        O_DSYNC O_RSYNC O_ASYNC O_DIRECT O_LARGEFILE O_DIRECTORY O_NOFOLLOW O_NOATIME O_CLOEXEC O_PATH O_TMPFILE
    },
);
/// How a file is opened.
#[cfg(not(target_os = "linux"))]
pub const OPEN: Names = Names::new(
    "",
    constants! {
        O_RDONLY O_WRONLY O_RDWR O_ACCMODE O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_SYNC O_DIRECTORY O_NOFOLLOW
        O_CLOEXEC
    },
);

/// How a path is looked up.
#[cfg(target_os = "linux")]
pub const AT: Names = Names::new(
    "AT_",
    constants! {
        AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_EACCESS AT_NO_AUTOMOUNT AT_EMPTY_PATH AT_STATX_SYNC_AS_STAT
        AT_STATX_FORCE_SYNC AT_STATX_DONT_SYNC AT_RECURSIVE
    },
);
/// How a path is looked up.
#[cfg(not(target_os = "linux"))]
pub const AT: Names =
    Names::new("AT_", constants! { AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_EACCESS });

/// How a name is moved.
#[cfg(target_os = "linux")]
pub const RENAME: Names =
    Names::new("RENAME_", constants! { RENAME_NOREPLACE RENAME_EXCHANGE RENAME_WHITEOUT });

/// What may be done.
pub const ACCESS: Names = Names::new("", constants! { F_OK R_OK W_OK X_OK });

/// What may be asked of a path.
#[cfg(target_os = "linux")]
pub const PATHCONF: Names = Names::new(
    "_PC_",
    constants! {
        _PC_LINK_MAX _PC_MAX_CANON _PC_MAX_INPUT _PC_NAME_MAX _PC_PATH_MAX _PC_PIPE_BUF _PC_CHOWN_RESTRICTED _PC_NO_TRUNC
        _PC_VDISABLE _PC_SYNC_IO _PC_ASYNC_IO _PC_PRIO_IO _PC_FILESIZEBITS _PC_REC_INCR_XFER_SIZE _PC_REC_MAX_XFER_SIZE
        _PC_REC_MIN_XFER_SIZE _PC_REC_XFER_ALIGN _PC_ALLOC_SIZE_MIN _PC_SYMLINK_MAX _PC_2_SYMLINKS
    },
);
/// What may be asked of a path.
#[cfg(not(target_os = "linux"))]
pub const PATHCONF: Names = Names::new(
    "_PC_",
    constants! {
        _PC_LINK_MAX _PC_MAX_CANON _PC_MAX_INPUT _PC_NAME_MAX _PC_PATH_MAX _PC_PIPE_BUF _PC_CHOWN_RESTRICTED _PC_NO_TRUNC
        _PC_VDISABLE
    },
);

/// Nanoseconds that are none.
pub const NANOSECONDS: Names = Names::new("", constants! { UTIME_NOW UTIME_OMIT });

/// What statx is asked for.
#[cfg(target_os = "linux")]
pub const STATX: Names = Names::new(
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
pub const STATX_ATTRIBUTES: Names = Names::new(
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
