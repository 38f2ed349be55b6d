//! On what: files, sets of files, devices, buckets and endpoints, with how they are opened and prepared.
//!
//! Names are templates over `{job} {worker} {rank} {node} {item} {repetition}`; the engine room resolves them once
//! the world is known. `{worker:08}` is a number of at least eight digits, `{worker:A|B}` deals the words in turn.
//! `{worker+3}` is the worker three further. Worker, rank and node are the [owner's](crate::plan::Place), counted over
//! all ranks. Sizes may stay relative until then.

use crate::reflect::{Reflect, blank_by_default};

use crate::dataset::SampleFile;
use crate::file_system_hints::FileSystemHints;
use crate::origin::Origin;
use crate::pattern::Size;

/// One thing that jobs work on. Jobs refer to it by its index in the plan.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Target {
    /// The name plans and reports use.
    #[reflect(key = "")]
    pub name: String,
    /// What it is.
    #[reflect(key = "")]
    pub kind: TargetKind,
    /// How it is opened.
    #[reflect(default, flat)]
    pub open: Open,
    /// What must be there before the start line.
    #[reflect(default)]
    pub prepare: Prepare,
    /// Removed at the end of the run, and on Ctrl-C; only what the run itself made is ever removed.
    #[reflect(default, phrase = "removed at the end")]
    pub remove: bool,
    /// Where it was named.
    #[reflect(default)]
    pub origin: Origin,
}

impl Target {
    /// Where in the file tree it lies, as a template; `None` for what lies elsewhere.
    pub fn path(&self) -> Option<&str> {
        match &self.kind {
            TargetKind::File { path, .. } | TargetKind::Device { path } => Some(path),
            TargetKind::FileSet { root, .. } => Some(root),
            _ => None,
        }
    }
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum TargetKind {
    /// One file, or one for each worker if the template says so.
    File {
        /// Path template.
        path: String,
        /// Its size when prepared; `Rest`: what it has (or, for a file to be written, what the span needs).
        size: Extent,
    },
    /// Many files in a tree, whose names are computed and never stored.
    FileSet {
        /// The directory they are in; a template.
        root: String,
        /// How many and how they are named.
        items: Items,
    },
    /// A file descriptor the program was started with: 0 is standard input, 1 standard output.
    Descriptor {
        /// Its number.
        number: u32,
    },
    /// A block device.
    Device {
        /// Its path, e.g. `/dev/sdb`.
        path: String,
    },
    /// An object store's bucket.
    Bucket {
        /// Its address.
        url: String,
        /// The objects in it.
        items: Items,
    },
    /// A network peer, or the port we wait at.
    Endpoint {
        /// `tcp`, `tcp6`, `udp`, `udp6`, `unix`, `sctp`, `vsock`; or `connection`: one that stands, made by a
        /// [conversation](crate::conversation).
        transport: String,
        /// Address and port to connect to, or to listen at (`HOST:PORT`, `:PORT`; unix: a path; vsock: `CID:PORT`); of a
        /// connection that stands its number.
        address: String,
        /// Whether we wait for the peer.
        listen: bool,
    },
    /// No storage behind it: the engine decides (null, sim).
    Nothing {
        /// Pretended size in bytes.
        bytes: u64,
    },
}

/// How long something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub enum Extent {
    /// So many bytes.
    #[reflect(phrase = "{}")]
    Bytes(#[reflect(form = "bytes")] u64),
    /// So much of the whole, in percent.
    #[reflect(phrase = "{} %")]
    Percent(f64),
    /// What is left, or what there is; as an offset: 0.
    #[default]
    Rest,
}

/// The files of a set.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Items {
    /// How many: in each worker's tree if `own`, for each worker or rank if the name tells them apart, else in all.
    #[reflect(absent = 1)]
    pub count: u64,
    /// Name template; `{item}` is the index, `{item+100}` counts from there, `{item*4096}` counts in such steps.
    /// `{item:010x}` has ten hexadecimal digits, `{letters:12:7}` is up to twelve letters that are drawn by seed 7; names
    /// with one of these lie in memory.
    #[reflect(absent = "{item}".into())]
    pub name: String,
    /// Name template of the first item, where it is another.
    #[reflect(default, phrase = "the first {}")]
    pub first_name: String,
    /// Name template of the directories below the root: `{child}` is the directory's index in the one above (`{child:05}`
    /// with five digits at least), `{item}` its index in the whole tree, level by level, of which the root is 0.
    #[reflect(absent = "d{child}".into())]
    pub directory: String,
    /// Size of each when prepared; where they have a format, of each of their samples.
    #[reflect(absent = Size::Fixed(0))]
    pub size: Size,
    /// What is in them when they are prepared: samples in a format of data sets; none: random bytes.
    #[reflect(default)]
    pub format: Option<SampleFile>,
    /// Directories below the root: levels.
    pub depth: u32,
    /// Directories in a directory.
    #[reflect(positive, absent = 1)]
    pub branch: u32,
    /// Directories that draw how deep and wide they are, in place of those that `depth`, `branch` and `per_directory` say
    /// (filebench `dirgamma`).
    #[reflect(default, key = "")]
    pub tree: Option<Box<Tree>>,
    /// How many lay the items out side by side; 0: one (filebench `paralloc`).
    #[reflect(default, phrase = "made by {} side by side")]
    pub makers: u32,
    /// Whether items lie in the leaves only.
    #[reflect(phrase = "in the leaves only")]
    pub leaves_only: bool,
    /// So many successive items lie in one directory, then as many in the next; 0: they are dealt to the directories in
    /// turn. Further items begin again with the first directory.
    #[reflect(default, phrase = "{} in each directory in turn")]
    pub per_directory: u64,
    /// Whether each worker has a tree of its own.
    pub own: bool,
    /// How many exist at the start, in percent (filebench `prealloc`).
    #[reflect(absent = 100.0)]
    pub present_percent: f64,
    /// Whether an item is a directory rather than a file.
    pub directories: bool,
    /// What marks in items say of them, where that is not who works on them and the item's number.
    #[reflect(default, key = "")]
    pub marked: Option<ItemMarks>,
}

/// What marks in items of a set say of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct ItemMarks {
    /// Whose they are: the worker so many further, after the last the first.
    pub owner_further: u32,
    /// Their place is the item's number times this, plus `plus`.
    pub times: u64,
    pub plus: u64,
}

blank_by_default!(Items);

impl Items {
    /// The length of a file whose drawn size is so many bytes.
    pub fn file_bytes(&self, drawn_bytes: u64) -> u64 {
        self.format.map_or(drawn_bytes, |format| format.layout(drawn_bytes).bytes())
    }
}

/// A tree whose directories are drawn. All items lie in its leaves: a directory that is as deep as it drew.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Tree {
    /// How deep a directory may lie to have others in it, drawn for each, levels.
    pub depths: Size,
    /// How many directories or items a directory has, drawn for each.
    pub widths: Size,
    /// Decides the tree, whatever the plan's seed is.
    #[reflect(default)]
    pub seed: u64,
}

/// How a target is opened.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Open {
    /// Reading, writing or what the verbs need.
    #[reflect(default)]
    pub mode: OpenMode,
    /// Make it where it is missing; of a set: creating an item that exists opens it, and a directory that exists will do.
    #[reflect(default, phrase = "created")]
    pub create: bool,
    /// Make the directories above it where they are missing.
    #[reflect(default, key = "directories_made", phrase = "directories made")]
    pub parents: bool,
    /// Permission bits of files that are made, of which the system takes away the umask; none: 666, of a set's items 644.
    #[reflect(default, form = "permissions", phrase = "made with mode {}")]
    pub permissions: Option<u32>,
    /// Fail where it exists.
    #[reflect(default, phrase = "must be new")]
    pub exclusive: bool,
    /// Cut it to `truncate_bytes`.
    #[reflect(default, key = "")]
    pub truncate: bool,
    /// The length it is cut to.
    #[reflect(default, key = "")]
    pub truncate_bytes: u64,
    /// Writes go to the end.
    #[reflect(default, phrase = "append")]
    pub append: bool,
    /// Past the page cache.
    #[reflect(default)]
    pub direct: Direct,
    /// Each write durable before it returns: none, data (`O_DSYNC`), all (`O_SYNC`).
    #[reflect(default)]
    pub sync: OpenSync,
    /// `O_NONBLOCK`.
    #[reflect(default, phrase = "nonblock")]
    pub nonblock: bool,
    /// `O_NOATIME`.
    #[reflect(default, phrase = "noatime")]
    pub noatime: bool,
    /// `O_NOFOLLOW`.
    #[reflect(default, phrase = "nofollow")]
    pub nofollow: bool,
    /// `O_DIRECTORY`; of a set: its root must be there, and is not made.
    #[reflect(default, key = "must_be_directory", phrase = "directory")]
    pub directory: bool,
    /// `O_NOCTTY`.
    #[reflect(default, phrase = "noctty")]
    pub noctty: bool,
    /// Drop cached pages of the target before the start line.
    #[reflect(default, phrase = "cache dropped before")]
    pub invalidate: bool,
    /// Read once through the page cache before the start line, each worker its part; after `invalidate`.
    #[reflect(default, phrase = "read once before")]
    pub pre_read: bool,
    /// Drop cached pages of what was moved, as it goes (dd `nocache`).
    #[reflect(default, phrase = "cache dropped behind")]
    pub drop_behind: bool,
    /// Advice to the kernel about the pattern.
    #[reflect(default, key = "advise")]
    pub advice: Advice,
    /// How long the kernel is told that what is written will live; none: it is told nothing.
    #[reflect(default, phrase = "write life {}")]
    pub write_life: Option<WriteLife>,
    /// Whether workers that share it take turns, or who opened it has it alone.
    #[reflect(default)]
    pub lock: FileLock,
    /// What the client of a parallel file system is asked for.
    #[reflect(default)]
    pub hints: Option<Box<FileSystemHints>>,
}

impl Open {
    /// Whether each operation takes its turn on a file, or tells the file system its range.
    pub fn surrounds_operations(&self) -> bool {
        self.lock.is_each_operation() || self.hints.as_ref().is_some_and(|hints| hints.gpfs_access)
    }
}

/// Reading, writing, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum OpenMode {
    /// What the workload's verbs need.
    #[default]
    #[reflect(key = "")]
    AsNeeded,
    /// `O_RDONLY`.
    #[reflect(phrase = "opened to read")]
    Read,
    /// `O_WRONLY`.
    #[reflect(phrase = "opened to write")]
    Write,
    /// `O_RDWR`.
    #[reflect(phrase = "opened to read and write")]
    ReadWrite,
}

/// `O_DIRECT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Direct {
    /// Through the page cache.
    #[default]
    #[reflect(key = "false")]
    No,
    /// Past it, or the run does not start.
    #[reflect(key = "true", phrase = "direct")]
    Yes,
    /// Past it where the file system takes it; said so where not.
    #[reflect(phrase = "direct if possible")]
    IfPossible,
}

/// Durability of each write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum OpenSync {
    /// None.
    #[default]
    #[reflect(key = "false")]
    No,
    /// `O_DSYNC`.
    #[reflect(phrase = "dsync")]
    Data,
    /// `O_SYNC`.
    #[reflect(phrase = "sync")]
    All,
}

/// Advice to the kernel about how a file will be used (`posix_fadvise`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Advice {
    /// None.
    #[default]
    #[reflect(key = "false")]
    No,
    /// Sequential or random, by what the workload does.
    #[reflect(key = "true", phrase = "kernel advised")]
    AsPicked,
    /// Random.
    #[reflect(phrase = "kernel advised: random")]
    Random,
    /// Sequential.
    #[reflect(phrase = "kernel advised: sequential")]
    Sequential,
    /// Once, or never again soon.
    #[reflect(phrase = "kernel advised: no reuse")]
    NoReuse,
}

/// How long what is written will live (`F_SET_RW_HINT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum WriteLife {
    /// No opinion, on purpose.
    #[reflect(key = "none")]
    No,
    /// Short.
    Short,
    /// Medium.
    Medium,
    /// Long.
    Long,
    /// Extremely long.
    Extreme,
}

/// How workers that share a file take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum FileLock {
    /// Not at all.
    #[default]
    #[reflect(key = "false")]
    No,
    /// One operation at a time.
    #[reflect(phrase = "one operation at a time")]
    Exclusive,
    /// Many reads, or one write, at a time.
    #[reflect(phrase = "many reads or one write at a time")]
    ReadWrite,
    /// Each operation locks the bytes that it reads or writes, shared for reads (IOR `--posix.rangelocks`).
    #[reflect(phrase = "each operation locks its range")]
    Range,
    /// The whole file from opening to closing, shared by those that only read; who finds it locked fails (iozone `-W`).
    #[reflect(phrase = "locked while open")]
    Whole,
}

impl FileLock {
    /// Whether each operation takes its turn.
    pub fn is_each_operation(self) -> bool {
        matches!(self, FileLock::Exclusive | FileLock::ReadWrite | FileLock::Range)
    }
}

/// What must be there before the start line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Prepare {
    /// It must be as it is.
    #[default]
    AsItIs,
    /// Laid out with data where it is missing or too short (reads need blocks that exist).
    #[reflect(phrase = "filled")]
    Filled,
    /// Space reserved, nothing written.
    #[reflect(phrase = "space reserved")]
    Reserved,
    /// Space reserved, the file's length left as it is (`FALLOC_FL_KEEP_SIZE`); where the system cannot, nothing is.
    #[reflect(phrase = "space reserved, length kept")]
    ReservedBeyondEnd,
    /// Extended with a hole.
    #[reflect(phrase = "sparse")]
    Sparse,
    /// Made with nothing in it.
    #[reflect(phrase = "made empty")]
    Empty,
    /// Not there: a regular file of that name is removed before every phase that asks for it.
    #[reflect(phrase = "removed before")]
    Absent,
}

/// What a target's bytes pass on their way to one host, and what that carries at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Link {
    /// What it is: `SATA 6.0 Gbit/s`, `PCIe 8.0 GT/s x4`, `eth0 and eth1`.
    pub name: String,
    /// Bits per second, each way.
    pub bits: u64,
}

/// What the machine says a target is: file system, mount, device. `None`: could not be read.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct TargetFacts {
    /// The target's name in the plan.
    pub target: String,
    /// The path that was looked at.
    pub path: String,
    /// Nothing is there yet; the other facts are those of the directory it would be in.
    #[reflect(default)]
    pub missing: bool,
    /// Size in bytes of the file itself, where it is one.
    #[reflect(default)]
    pub file_bytes: Option<u64>,
    /// `ext4`, `xfs`, `tmpfs`, `overlay`, …
    pub file_system: Option<String>,
    /// Where it is mounted.
    pub mount_point: Option<String>,
    /// Mount options, as the kernel prints them.
    pub mount_options: Option<String>,
    /// What is mounted: a device, a share, a name.
    pub source: Option<String>,
    /// The block device's kernel name (`vda1`).
    pub device: Option<String>,
    /// The whole disk it is part of (`vda`).
    pub disk: Option<String>,
    /// Vendor and model, where the device tells.
    pub model: Option<String>,
    /// What the device's queue says; proves nothing on virtual devices.
    pub rotational: Option<bool>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// Write-cache mode: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Logical block size in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Physical block size in bytes.
    pub physical_block_bytes: Option<u64>,
    /// Size of the target's device or file system in bytes.
    pub size_bytes: Option<u64>,
    /// Free space for this user in bytes.
    pub free_bytes: Option<u64>,
    /// How many files the file system has room for in all.
    #[reflect(default)]
    pub inodes: Option<u64>,
    /// How many more files fit.
    #[reflect(default)]
    pub inodes_free: Option<u64>,
    /// Read-ahead in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// Requests the device's queue takes.
    pub queue_requests: Option<u64>,
    /// Queues through which the hardware is fed; none where the device is no such thing (a mapper's, an array's).
    #[reflect(default)]
    pub hardware_queues: Option<u64>,
    /// Requests that each of them takes.
    #[reflect(default)]
    pub queue_tags: Option<u64>,
    /// Requests that the device takes from all of them together, where its driver tells (SCSI's `queue_depth`).
    #[reflect(default)]
    pub device_requests: Option<u64>,
    /// The narrowest link between the device and the host; of a network file system, all links of the host together.
    #[reflect(default)]
    pub link: Option<Link>,
    /// Whether O_DIRECT works here, and the alignment it needs.
    pub direct: Option<bool>,
    /// Alignment O_DIRECT needs, in bytes.
    pub direct_align_bytes: Option<u64>,
    /// What lies beneath: the backing file of a loop device, the upper directory of an overlay, …
    pub layers: Vec<String>,
    /// Machine memory in bytes, to judge what can be cached.
    pub memory_bytes: Option<u64>,
}
