//! One recorded operation.

use iodyno_model::Verb;

/// One recorded operation. Times are ns since the trace's first record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRecord {
    /// When it was issued.
    pub at_ns: u64,
    /// From issue to completion; none: the source does not tell.
    pub latency_ns: Option<u64>,
    pub verb: Verb,
    pub flags: RecordFlags,
    /// Index into [`Tables::files`](crate::Tables::files).
    pub file: u32,
    /// The second name of rename, link, symlink, copies and clones, and the name of an extended attribute: index into the same
    /// table. Of rename and link it is the new name; of a symlink its text; of copies and clones the source, while file and
    /// offset are those of what is written.
    pub other: Option<u32>,
    /// Index into [`Tables::threads`](crate::Tables::threads).
    pub thread: u32,
    /// Bytes from the start of the file or device; of mknod the device's numbers, major × 2³² + minor.
    pub offset: u64,
    /// Bytes asked for: of reads, writes, trims and other ranges; of truncate the new length; of create and mkdir the mode
    /// bits, of mkfifo and mknod with the type; of chown its [`Owners`]; of a clone 0: the whole file.
    pub bytes: u64,
    /// What came back: ≥ 0 bytes or 0, < 0 the negative errno (Linux numbers); none: the source does not tell.
    pub result: Option<i64>,
    pub content: Option<RecordedContent>,
    pub after: Option<Dependency>,
}

/// The owners that a chown asks for, as its record's `bytes` hold them: the user's number + 1 in the upper 32 bits, the group's
/// in the lower ones; 0: it stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    pub user: Option<u32>,
    pub group: Option<u32>,
}

impl Owners {
    /// Of the arguments of a call, where −1 stays.
    pub fn of_call(user: u32, group: u32) -> Owners {
        let known = |number: u32| Some(number).filter(|number| *number != u32::MAX);
        Owners { user: known(user), group: known(group) }
    }

    pub fn from_bytes(bytes: u64) -> Owners {
        Owners {
            user: (bytes >> 32).checked_sub(1).map(|user| user as u32),
            group: (bytes as u32).checked_sub(1),
        }
    }

    pub fn bytes(self) -> u64 {
        let part = |number: Option<u32>| number.map_or(0, |number| u64::from(number) + 1);
        part(self.user) << 32 | part(self.group)
    }
}

/// Properties of a record, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFlags(pub u32);

impl RecordFlags {
    /// The device's cache is flushed before it (block: PREFLUSH).
    pub const PREFLUSH: RecordFlags = RecordFlags(1);
    /// Durable when it ends (block: FUA; file: `O_DSYNC`, `RWF_DSYNC`).
    pub const FUA: RecordFlags = RecordFlags(1 << 1);
    /// Someone waits for it (block: SYNC).
    pub const SYNC: RecordFlags = RecordFlags(1 << 2);
    /// Of a file system itself (block: META).
    pub const META: RecordFlags = RecordFlags(1 << 3);
    /// Read ahead of need (block: RAHEAD).
    pub const READAHEAD: RecordFlags = RecordFlags(1 << 4);
    /// Past the page cache (`O_DIRECT`).
    pub const DIRECT: RecordFlags = RecordFlags(1 << 5);
    /// At the end of the file (`O_APPEND`).
    pub const APPEND: RecordFlags = RecordFlags(1 << 6);
    /// Through a mapping of memory: offset and size are what is known of it.
    pub const MAPPED: RecordFlags = RecordFlags(1 << 7);
    /// It made the file (open with `O_CREAT`).
    pub const CREATED: RecordFlags = RecordFlags(1 << 8);
    /// It emptied the file (open with `O_TRUNC`).
    pub const TRUNCATED: RecordFlags = RecordFlags(1 << 9);
    /// Its time was not recorded but computed, for example spread over a second.
    pub const SPREAD: RecordFlags = RecordFlags(1 << 10);
    /// Of fallocate, and of the trims and zeroes that are one: the file's length stays (`FALLOC_FL_KEEP_SIZE`).
    pub const KEEPS_SIZE: RecordFlags = RecordFlags(1 << 11);
    /// Of fallocate: the range is taken out, and what follows moves up (`FALLOC_FL_COLLAPSE_RANGE`).
    pub const COLLAPSES: RecordFlags = RecordFlags(1 << 12);
    /// Of fallocate: a hole is put in, and what follows moves down (`FALLOC_FL_INSERT_RANGE`).
    pub const INSERTS: RecordFlags = RecordFlags(1 << 13);
    /// Of fallocate: blocks shared with other files become the file's own (`FALLOC_FL_UNSHARE_RANGE`).
    pub const UNSHARES: RecordFlags = RecordFlags(1 << 14);
    /// Of a clone: its source is the same range of the other file.
    pub const SAME_RANGE: RecordFlags = RecordFlags(1 << 15);

    /// The mode bits of `fallocate` that a record has flags for, in Linux numbers.
    const ALLOCATIONS: [(u32, RecordFlags); 4] = [
        (0x01, RecordFlags::KEEPS_SIZE),
        (0x08, RecordFlags::COLLAPSES),
        (0x20, RecordFlags::INSERTS),
        (0x40, RecordFlags::UNSHARES),
    ];

    /// The flags of a call of `fallocate` with this mode.
    pub fn of_allocation(mode: u32) -> RecordFlags {
        let said = RecordFlags::ALLOCATIONS.iter().filter(|(bit, _)| mode & bit != 0);
        said.fold(RecordFlags::default(), |flags, (_, flag)| flags.with(*flag))
    }

    /// The mode of the call of `fallocate` that has these flags.
    pub fn allocation(self) -> u32 {
        let said = RecordFlags::ALLOCATIONS.iter().filter(|(_, flag)| self.has(*flag));
        said.fold(0, |mode, (bit, _)| mode | bit)
    }

    pub const fn has(self, flag: RecordFlags) -> bool {
        self.0 & flag.0 == flag.0
    }

    #[must_use]
    pub const fn with(self, flag: RecordFlags) -> RecordFlags {
        RecordFlags(self.0 | flag.0)
    }
}

/// What is known of the bytes that were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedContent {
    /// A digest of the content: equal digests are equal bytes.
    Digest([u8; 16]),
    /// How many per cent compression saves, 0 to 100.
    Compressible(u8),
}

/// The record that had to end before this one was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// How many records before this one, at least 1.
    pub back: u64,
    /// From that one's completion to this one's issue, ns.
    pub think_ns: u64,
}

impl TraceRecord {
    /// A record of a verb on a range, with nothing else known.
    pub fn new(at_ns: u64, verb: Verb, file: u32, offset: u64, bytes: u64) -> TraceRecord {
        TraceRecord {
            at_ns,
            latency_ns: None,
            verb,
            flags: RecordFlags::default(),
            file,
            other: None,
            thread: 0,
            offset,
            bytes,
            result: None,
            content: None,
            after: None,
        }
    }

    /// When it ended, where that is known.
    pub fn ended_ns(&self) -> Option<u64> {
        self.latency_ns.map(|latency| self.at_ns.saturating_add(latency))
    }

    /// The byte after its range.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}
