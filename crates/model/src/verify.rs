//! How what was written is checked: what each block carries, when it is read back, what is kept of it.
//!
//! A stamp is told in the field's own terms; where one is laid out as another tool lays it out, the files of both can
//! be checked by both. Nothing here makes or checks a stamp.

use crate::reflect::Reflect;

use crate::payload::Template;

/// Verification: what is stamped and when it is read back and checked.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Verify {
    /// The stamp or checksum.
    #[reflect(default)]
    pub stamp: Stamp,
    /// When blocks are checked.
    #[reflect(default, key = "")]
    pub when: VerifyWhen,
    /// Bytes from one stamp to the next; 0: one for each block. One that does not divide every block is as long as the
    /// longest that does (fio `verify_interval`).
    #[reflect(default, positive, phrase = "one for every {}")]
    pub interval_bytes: u64,
    /// After so many bytes of a write the pattern begins anew, with the offset of that place where it names one; 0: it is
    /// repeated throughout (fio `verify_pattern_interval`).
    #[reflect(default, phrase = "the pattern anew every {}")]
    pub pattern_interval_bytes: u64,
    /// Stop at the first bad block; otherwise all of a block's faults are reported, and the job's error policy decides (fio
    /// `verify_fatal`).
    #[reflect(default, phrase = "the first bad block ends it")]
    pub fatal: bool,
    /// Whether a read that brings wrong content counts as done, with its bytes and its latency, besides as failed (as fio
    /// counts it).
    #[reflect(default, phrase = "wrong blocks count as read")]
    pub wrong_is_read: bool,
    /// Threads that check, beside the worker; 0: the worker itself (fio `verify_async`).
    #[reflect(default, phrase = "by {helper}")]
    pub helpers: u32,
    /// CPUs those threads may use; empty: any (fio `verify_async_cpus`).
    #[reflect(default, key = "", phrase = "helpers on CPU {,}")]
    pub helper_cpus: Vec<u32>,
    /// Nothing is written: the places that the writes would go to are read back, as if an earlier run of the same job
    /// had written them (fio `verify_only`). Reads, trims and insertions of the mix are left out too.
    #[reflect(default, phrase = "nothing is written")]
    pub only: bool,
    /// What is not done for `only` counts as done, with its bytes, as fio counts it.
    #[reflect(default, phrase = "and counted as if it were")]
    pub only_counts: bool,
    /// Which writes are read back at the end.
    #[reflect(default, key = "")]
    pub policy: VerifyPolicy,
    /// Bad blocks are written to files beside: as read and as expected, `NAME.OFFSET.received` and
    /// `NAME.OFFSET.expected` in the current directory, NAME being the last part of the path (fio `verify_dump`).
    #[reflect(default, phrase = "bad blocks are dumped")]
    pub dump: bool,
    /// Written blocks that are trimmed again before they are read back (fio `trim_percentage` and `trim_*`).
    #[reflect(default, key = "")]
    pub trim: Option<TrimBack>,
    /// How far the writes came, kept in a file.
    #[reflect(default, key = "")]
    pub state: Option<VerifyState>,
    /// A file with the generation of every block: a worker that writes appends to it when it ends; one that only reads, or
    /// with `only`, checks against it, so that an older generation is told from the newest after any crash and on any host.
    #[reflect(default, phrase = "generation map {}")]
    pub map: Option<String>,
    /// While a worker writes, what it knows is kept in a file beside the map, so that it outlives a process that is killed; who
    /// checks with `only` takes over what such a process left (vdbench journal).
    #[reflect(default, phrase = "kept while it runs")]
    pub map_live: bool,
    /// How headers and that file are laid out where they are written; both layouts are read.
    #[reflect(default, key = "")]
    pub layout: VerifyLayout,
    /// The number of the job's first worker, from 0, counted through all jobs: in stamps and in state files (fio counts
    /// its jobs through).
    #[reflect(default, key = "", phrase = "workers counted from {}")]
    pub first_worker: u32,
}

/// What a block carries so that it can be checked.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Stamp {
    /// iodyno's own: block address, job seed, generation and checksum in every 512-byte sector.
    #[default]
    Block,
    /// A header of 40 bytes in each interval: magic number, kind of checksum, length, seed, byte offset, time, thread,
    /// number of the write, checksum of the header; behind it the checksum of the data (fio `verify=CHECKSUM`).
    Header(HeaderStamp),
    /// No stamp: the repeated pattern itself, from the first byte of each write on (fio `verify=pattern`).
    Pattern(Template),
    /// The content itself, made again and compared, no stamp; of [`PayloadMarks`](crate::payload::PayloadMarks) content its words.
    Content,
    /// Nothing: blocks are read back as if they were checked (fio `verify=null`).
    Nothing,
}

/// Which writes are read back at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum VerifyPolicy {
    /// All.
    #[default]
    All,
    /// Those that had completed when the last sync that succeeded was submitted: all that a crash must have left (fio
    /// `verify_policy=fsynced`).
    #[reflect(phrase = "of what was synced")]
    Synced,
}

/// How headers and state files are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum VerifyLayout {
    /// With a version, and numbers of 64 bits (fio 3.41 and later).
    #[default]
    Versioned,
    /// Without a version (fio up to 3.40).
    #[reflect(phrase = "laid out without a version")]
    Unversioned,
}

/// A header in each interval and what is behind it.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct HeaderStamp {
    /// The checksum of the data.
    pub checksum: Checksum,
    /// Where in the interval the header lies; the data that would be there lies at its start (fio `verify_offset`).
    #[reflect(default)]
    pub offset_bytes: u64,
    /// The data; none: incompressible, made from the header's seed. Of a pattern every byte is checked besides the
    /// checksum (fio `verify_pattern`).
    #[reflect(default)]
    pub pattern: Option<Template>,
    /// Whether the header's seed must be the one this run wrote there (fio `verify_header_seed`).
    #[reflect(default = true)]
    pub seed_checked: bool,
    /// Whether the header's write number must be the one this run gave (fio `verify_write_sequence`).
    #[reflect(default = true)]
    pub number_checked: bool,
}

impl HeaderStamp {
    /// A header at the start of each interval, incompressible data behind it, everything checked.
    pub fn new(checksum: Checksum) -> Self {
        HeaderStamp { checksum, offset_bytes: 0, pattern: None, seed_checked: true, number_checked: true }
    }
}

/// A checksum behind a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(kebab)]
pub enum Checksum {
    /// None: the header alone (fio `meta`).
    Meta,
    /// None: the header, and the pattern behind it (fio `pattern_hdr`).
    Pattern,
    /// MD5, 16 bytes.
    Md5,
    /// CRC-64, 8 bytes.
    Crc64,
    /// CRC-32, 4 bytes.
    Crc32,
    /// CRC-32C, 4 bytes.
    Crc32c,
    /// CRC-16, 2 bytes.
    Crc16,
    /// CRC-7, 1 byte.
    Crc7,
    /// SHA-256 as fio keeps it, 64 bytes.
    Sha256,
    /// SHA-512 as fio keeps it, 128 bytes.
    Sha512,
    /// SHA3-224, 28 bytes.
    #[reflect(name = "sha3-224")]
    Sha3x224,
    /// SHA3-256, 32 bytes.
    #[reflect(name = "sha3-256")]
    Sha3x256,
    /// SHA3-384, 48 bytes.
    #[reflect(name = "sha3-384")]
    Sha3x384,
    /// SHA3-512, 64 bytes.
    #[reflect(name = "sha3-512")]
    Sha3x512,
    /// xxHash, 32 bits, 4 bytes.
    Xxhash,
    /// SHA-1, 20 bytes.
    Sha1,
}

impl Checksum {
    /// All of them.
    pub const ALL: [Checksum; 16] = [
        Checksum::Meta,
        Checksum::Pattern,
        Checksum::Md5,
        Checksum::Crc64,
        Checksum::Crc32,
        Checksum::Crc32c,
        Checksum::Crc16,
        Checksum::Crc7,
        Checksum::Sha256,
        Checksum::Sha512,
        Checksum::Sha3x224,
        Checksum::Sha3x256,
        Checksum::Sha3x384,
        Checksum::Sha3x512,
        Checksum::Xxhash,
        Checksum::Sha1,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Checksum::Meta => "meta",
            Checksum::Pattern => "pattern_hdr",
            Checksum::Md5 => "md5",
            Checksum::Crc64 => "crc64",
            Checksum::Crc32 => "crc32",
            Checksum::Crc32c => "crc32c",
            Checksum::Crc16 => "crc16",
            Checksum::Crc7 => "crc7",
            Checksum::Sha256 => "sha256",
            Checksum::Sha512 => "sha512",
            Checksum::Sha3x224 => "sha3-224",
            Checksum::Sha3x256 => "sha3-256",
            Checksum::Sha3x384 => "sha3-384",
            Checksum::Sha3x512 => "sha3-512",
            Checksum::Xxhash => "xxhash",
            Checksum::Sha1 => "sha1",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Checksum::ALL.into_iter().find(|checksum| checksum.name() == name)
    }
}

/// When verification happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum VerifyWhen {
    /// Whatever a read brings is checked.
    #[default]
    OnRead,
    /// After the writes of a phase, everything that was written is read back.
    AfterWrites,
    /// As soon as `writes` wait to be read back, the `batch` of them that wait longest are, and what is left at the end
    /// (fio `verify_backlog`).
    Backlog {
        /// Writes that wait until a round begins.
        writes: u64,
        /// Blocks read back in a round; 0: as many as wait.
        batch: u64,
    },
    /// Never by this job: blocks are stamped for a later one (fio `do_verify=0`).
    Never,
}

/// Written blocks that are trimmed again before they are read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub struct TrimBack {
    /// Of the written blocks so many are to be trimmed, 0 to 100 percent (fio `trim_percentage`).
    pub percent: u8,
    /// After so many writes those that are due are trimmed; at least 1 (fio `trim_backlog`).
    pub every_writes: u64,
    /// So many of them at a time; 0: `every_writes` (fio `trim_backlog_batch`).
    #[reflect(default)]
    pub batch: u64,
    /// Whether a trimmed block must read as zeros; otherwise it is read and not checked (fio `trim_verify_zero`).
    pub reads_zero: bool,
}

/// How far the writes came, kept in a file from one run to the next.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct VerifyState {
    /// The file; `{worker}` is the worker's number, counted from [`Verify::first_worker`] (fio
    /// `local-JOB-{worker}-verify.state`).
    pub path: String,
    /// The job's name, kept in it.
    pub name: String,
    /// Whether a worker that wrote keeps its state there when it ends (fio `verify_state_save`).
    pub save: bool,
    /// Whether a worker that reads stops where the state says that the writes ended (fio `verify_state_load`).
    pub load: bool,
    /// What is loaded instead of files here: those of a client's directory (fio `--server`).
    #[reflect(default)]
    pub given: Vec<GivenState>,
}

/// The content of a worker's state file.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct GivenState {
    /// The worker's number within its job, from 0.
    pub worker: u32,
    pub bytes: Vec<u8>,
}

/// One interval that is not what was written, as facts.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct Mismatch {
    /// The file's path.
    pub file: String,
    /// Where the interval begins in it, bytes.
    pub offset: u64,
    /// How long it is, bytes.
    pub bytes: u64,
    /// Where the read began that brought it.
    pub read_offset: u64,
    /// How much that read asked for, bytes.
    pub read_bytes: u64,
    /// What is wrong.
    pub what: Wrong,
    /// The checksum's name, `pattern`, `block`, `content` or `marks`.
    pub check: String,
    /// What should be there: hexadecimal for magic numbers, versions, checksums (byte by byte as they lie there) and pattern
    /// bytes, decimal for everything else. Of a checksum of data: what the stamp says.
    pub expected: String,
    /// What is there, in the same way. Of a checksum of data: what the data make.
    pub found: String,
    /// The files it was dumped to, as read and as expected.
    #[reflect(default)]
    pub dumped: Option<(String, String)>,
}

/// What is wrong with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum Wrong {
    /// The header's magic number.
    Magic,
    /// The header's version, which is neither of those that are known.
    Version,
    /// The header's length.
    Length,
    /// The header's seed.
    Seed,
    /// The header's byte offset.
    Offset,
    /// The header's number of the write.
    Number,
    /// The header's own checksum.
    Header,
    /// The checksum of the data.
    Checksum,
    /// A byte of the pattern.
    Pattern {
        /// Bytes from the start of the interval.
        at: u64,
    },
    /// A trimmed block that does not read as zeros.
    NotZero {
        /// Bytes from the start of the interval.
        at: u64,
    },
    /// The content, which is compared as a whole: `found` names what it is.
    Content,
    /// Words of [`PayloadMarks`](crate::payload::PayloadMarks) content: the first of them are reported as hexadecimal numbers.
    Marks,
}
