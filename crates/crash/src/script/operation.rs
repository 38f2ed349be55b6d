//! What a step does, and its line.

use std::fmt;

/// How a write is made durable by the write itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenDurability {
    /// Not at all.
    None,
    /// Through a descriptor with `O_SYNC`.
    Sync,
    /// Through a descriptor with `O_DSYNC`.
    Dsync,
    /// `pwritev2` with `RWF_DSYNC`.
    RwfDsync,
    /// `pwritev2` with `RWF_SYNC`.
    RwfSync,
    /// Through a descriptor with `O_DIRECT`, which promises nothing.
    Direct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FallocateMode {
    Extend,
    KeepSize,
    Punch,
    Zero,
    Collapse,
    Insert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenameMode {
    Replace,
    NoReplace,
    Exchange,
}

/// Paths are relative to the directory under test; `@NAME` is a file without a name that `tmpfile` has opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepOperation {
    Create {
        path: String,
    },
    Mkdir {
        path: String,
    },
    Rmdir {
        path: String,
    },
    Append {
        path: String,
        length: u64,
        durability: OpenDurability,
    },
    Overwrite {
        path: String,
        offset: u64,
        length: u64,
        durability: OpenDurability,
    },
    MmapWrite {
        path: String,
        offset: u64,
        length: u64,
    },
    Fallocate {
        path: String,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    },
    Truncate {
        path: String,
        size: u64,
    },
    Link {
        from: String,
        to: String,
    },
    Symlink {
        target: String,
        path: String,
    },
    Unlink {
        path: String,
    },
    Rename {
        from: String,
        to: String,
        mode: RenameMode,
    },
    SetXattr {
        path: String,
        name: String,
    },
    RemoveXattr {
        path: String,
        name: String,
    },
    Chmod {
        path: String,
        mode: u32,
    },
    Tmpfile {
        handle: String,
        directory: String,
    },
    Clone {
        from: String,
        to: String,
    },
    Fsync {
        path: String,
    },
    Fdatasync {
        path: String,
    },
    FsyncDirectory {
        path: String,
    },
    Msync {
        path: String,
        offset: u64,
        length: u64,
    },
    SyncFileRange {
        path: String,
        offset: u64,
        length: u64,
    },
    Sync,
    Syncfs,
    /// No call: from here on the program tells its users that this file is safe.
    Promise {
        path: String,
    },
    /// No call: each page of this file is old or new from here on, since the disk writes one as a whole.
    PromisePages {
        path: String,
    },
}

/// The word of an operation and what follows it, for messages and for docs.
pub(super) const FORMS: &[(&str, &str)] = &[
    ("create", "FILE"),
    ("mkdir", "DIR"),
    ("rmdir", "DIR"),
    ("append", "FILE LENGTH [sync|dsync|rwf-dsync|rwf-sync|direct]"),
    ("overwrite", "FILE OFFSET LENGTH [sync|dsync|rwf-dsync|rwf-sync|direct]"),
    ("mmap-write", "FILE OFFSET LENGTH"),
    ("fallocate", "FILE extend|keep-size|punch|zero|collapse|insert OFFSET LENGTH"),
    ("truncate", "FILE SIZE"),
    ("link", "FILE NEW"),
    ("symlink", "TARGET NEW"),
    ("unlink", "FILE"),
    ("rename", "OLD NEW"),
    ("rename-noreplace", "OLD NEW"),
    ("exchange", "ONE OTHER"),
    ("setxattr", "PATH user.NAME"),
    ("removexattr", "PATH user.NAME"),
    ("chmod", "PATH MODE"),
    ("tmpfile", "@NAME DIR"),
    ("clone", "FILE NEW"),
    ("fsync", "FILE"),
    ("fdatasync", "FILE"),
    ("fsync-dir", "DIR"),
    ("msync", "FILE OFFSET LENGTH"),
    ("sync-file-range", "FILE OFFSET LENGTH"),
    ("sync", ""),
    ("syncfs", ""),
    ("promise", "FILE"),
    ("promise-pages", "FILE"),
];

impl OpenDurability {
    pub(super) const WORDS: &[(&str, OpenDurability)] = &[
        ("sync", OpenDurability::Sync),
        ("dsync", OpenDurability::Dsync),
        ("rwf-dsync", OpenDurability::RwfDsync),
        ("rwf-sync", OpenDurability::RwfSync),
        ("direct", OpenDurability::Direct),
    ];

    /// With the blank before it.
    fn suffix(self) -> String {
        let word = OpenDurability::WORDS.iter().find(|(_, durability)| *durability == self);
        word.map_or_else(String::new, |(word, _)| format!(" {word}"))
    }
}

impl FallocateMode {
    pub(super) const WORDS: &[(&str, FallocateMode)] = &[
        ("extend", FallocateMode::Extend),
        ("keep-size", FallocateMode::KeepSize),
        ("punch", FallocateMode::Punch),
        ("zero", FallocateMode::Zero),
        ("collapse", FallocateMode::Collapse),
        ("insert", FallocateMode::Insert),
    ];

    fn word(self) -> &'static str {
        FallocateMode::WORDS.iter().find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }
}

impl fmt::Display for StepOperation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        use StepOperation as S;
        match self {
            S::Create { path } => write!(f, "create {path}"),
            S::Mkdir { path } => write!(f, "mkdir {path}"),
            S::Rmdir { path } => write!(f, "rmdir {path}"),
            S::Append { path, length, durability } => {
                write!(f, "append {path} {}{}", Bytes(*length), durability.suffix())
            }
            S::Overwrite { path, offset, length, durability } => {
                write!(f, "overwrite {path} {} {}{}", Bytes(*offset), Bytes(*length), durability.suffix())
            }
            S::MmapWrite { path, offset, length } => {
                write!(f, "mmap-write {path} {} {}", Bytes(*offset), Bytes(*length))
            }
            S::Fallocate { path, mode, offset, length } => {
                write!(f, "fallocate {path} {} {} {}", mode.word(), Bytes(*offset), Bytes(*length))
            }
            S::Truncate { path, size } => write!(f, "truncate {path} {}", Bytes(*size)),
            S::Link { from, to } => write!(f, "link {from} {to}"),
            S::Symlink { target, path } => write!(f, "symlink {target} {path}"),
            S::Unlink { path } => write!(f, "unlink {path}"),
            S::Rename { from, to, mode: RenameMode::Replace } => write!(f, "rename {from} {to}"),
            S::Rename { from, to, mode: RenameMode::NoReplace } => write!(f, "rename-noreplace {from} {to}"),
            S::Rename { from, to, mode: RenameMode::Exchange } => write!(f, "exchange {from} {to}"),
            S::SetXattr { path, name } => write!(f, "setxattr {path} {name}"),
            S::RemoveXattr { path, name } => write!(f, "removexattr {path} {name}"),
            S::Chmod { path, mode } => write!(f, "chmod {path} {mode:04o}"),
            S::Tmpfile { handle, directory } => write!(f, "tmpfile {handle} {directory}"),
            S::Clone { from, to } => write!(f, "clone {from} {to}"),
            S::Fsync { path } => write!(f, "fsync {path}"),
            S::Fdatasync { path } => write!(f, "fdatasync {path}"),
            S::FsyncDirectory { path } => write!(f, "fsync-dir {path}"),
            S::Msync { path, offset, length } => {
                write!(f, "msync {path} {} {}", Bytes(*offset), Bytes(*length))
            }
            S::SyncFileRange { path, offset, length } => {
                write!(f, "sync-file-range {path} {} {}", Bytes(*offset), Bytes(*length))
            }
            S::Sync => f.write_str("sync"),
            S::Syncfs => f.write_str("syncfs"),
            S::Promise { path } => write!(f, "promise {path}"),
            S::PromisePages { path } => write!(f, "promise-pages {path}"),
        }
    }
}

/// A number of bytes as a step has it: `8k` for 8192.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            bytes if bytes > 0 && bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            bytes if bytes > 0 && bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}
