//! The kernel's blktrace: records of 48 bytes (linux/blktrace_api.h) and what follows them, in either byte order.
//!
//! What was queued is played back: reads, writes, discards, flushes. Several processors' files are merged beforehand
//! (blkparse -d); in one file the order is kept, as fio does.

use iodyno_model::{Timing, TraceEntry, Verb};

use super::{Devices, How, Recording};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// `BLK_IO_TRACE_MAGIC`, and the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
/// `sizeof(struct blk_io_trace)`.
const RECORD: usize = 48;

/// Which byte order a file's first record has; `None`: it is no blktrace.
pub fn order(bytes: &[u8]) -> Option<ByteOrder> {
    let magic: [u8; 4] = bytes.get(..RECORD)?.first_chunk().copied()?;
    match () {
        () if u32::from_le_bytes(magic) & !0xff == MAGIC => Some(ByteOrder::Little),
        () if u32::from_be_bytes(magic) & !0xff == MAGIC => Some(ByteOrder::Big),
        () => None,
    }
}

/// A record's fields that are needed.
struct Record {
    magic: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    data_bytes: usize,
}

impl Record {
    fn of(bytes: &[u8; RECORD], order: ByteOrder) -> Record {
        let short = |at: usize| bytes[at..at + 4].try_into().expect("4 bytes");
        let long = |at: usize| bytes[at..at + 8].try_into().expect("8 bytes");
        let half = [bytes[46], bytes[47]];
        let u32_at = |at| match order {
            ByteOrder::Little => u32::from_le_bytes(short(at)),
            ByteOrder::Big => u32::from_be_bytes(short(at)),
        };
        let u64_at = |at| match order {
            ByteOrder::Little => u64::from_le_bytes(long(at)),
            ByteOrder::Big => u64::from_be_bytes(long(at)),
        };
        let data_bytes = match order {
            ByteOrder::Little => u16::from_le_bytes(half),
            ByteOrder::Big => u16::from_be_bytes(half),
        };
        Record {
            magic: u32_at(0),
            time_ns: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action: u32_at(28),
            device: u32_at(36),
            data_bytes: data_bytes.into(),
        }
    }

    /// `BLK_TC_*`: the upper half of the action.
    fn is(&self, class: u32) -> bool {
        self.action >> 16 & class != 0
    }
}

const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// `__BLK_TA_*`: the lower half.
const QUEUED: u32 = 1;
const MERGED: [u32; 2] = [2, 3];
const COMPLETED: u32 = 8;

/// Reads a blktrace.
///
/// # Errors
/// Records that are none, devices that are not there.
pub fn read(
    bytes: &[u8],
    order: ByteOrder,
    how: &How,
    devices: &mut Devices<'_>,
) -> Result<Recording, String> {
    let timing = if how.no_stall { Timing::AsFast } else { Timing::Gaps };
    let mut reader = BlktraceReader {
        how,
        recording: Recording { timing, ..Recording::default() },
        known: Vec::new(),
        last_ns: None,
        pause_ns: 0,
        depth: Depth::default(),
    };
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_first_chunk::<RECORD>() {
        let record = Record::of(head, order);
        if record.magic != MAGIC | VERSION {
            let at = bytes.len() - rest.len();
            return Err(format!("at byte {at} is no record of a blktrace of version {VERSION}"));
        }
        reader.record(&record, devices)?;
        rest = after.get(record.data_bytes..).unwrap_or_default();
    }
    if !rest.is_empty() {
        reader.recording.note("fio: short read on blktrace file".into());
    }
    reader.recording.depth = reader.depth.most();
    Ok(reader.recording)
}

struct BlktraceReader<'a> {
    how: &'a How,
    recording: Recording,
    /// Devices that were met, and their files.
    known: Vec<(u32, usize)>,
    last_ns: Option<u64>,
    pause_ns: u64,
    depth: Depth,
}

impl BlktraceReader<'_> {
    fn record(&mut self, record: &Record, devices: &mut Devices<'_>) -> Result<(), String> {
        if record.is(NOTIFY) {
            return Ok(());
        }
        let kind = record.action & 0xffff;
        self.depth.met(kind, usize::from(record.is(WRITE)));
        if kind != QUEUED {
            return Ok(());
        }
        let gap_ns = self.last_ns.map_or(0, |last| record.time_ns.saturating_sub(last));
        self.last_ns = Some(record.time_ns);
        // fio counts in µs.
        self.pause_ns = self.pause_ns.saturating_add(self.how.scaled(gap_ns) / 1000 * 1000);
        let verb = match () {
            () if record.is(DISCARD) => Verb::Discard,
            () if record.is(FLUSH) => Verb::Fsync,
            () if record.is(WRITE) => Verb::Write,
            () => Verb::Read,
        };
        let target = self.file(record.device, devices)?;
        let mut bytes = u64::from(record.bytes);
        if self.how.align > 0 {
            bytes = bytes.next_multiple_of(self.how.align);
        }
        let offset = record.sector.saturating_mul(512);
        let entry = TraceEntry { at_ns: self.pause_ns, verb, target, offset, bytes };
        if !self.recording.add(self.how, entry) {
            self.pause_ns = 0;
        }
        Ok(())
    }

    fn file(&mut self, device: u32, devices: &mut Devices<'_>) -> Result<usize, String> {
        if let Some((_, file)) = self.known.iter().find(|(known, _)| *known == device) {
            return Ok(*file);
        }
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        let name = match &self.how.redirect {
            Some(name) => name.clone(),
            None => devices(major, minor)
                .ok_or_else(|| format!("it was recorded on device {major}:{minor}, which is not here"))?,
        };
        let file = self.recording.file(&name);
        self.known.push((device, file));
        Ok(file)
    }
}

/// How many operations were queued before one ended, by reads and writes.
#[derive(Default)]
struct Depth {
    now: [u32; 2],
    most: u32,
}

impl Depth {
    fn met(&mut self, kind: u32, way: usize) {
        match kind {
            QUEUED => self.now[way] += 1,
            COMPLETED => {
                self.most = self.most.max(self.now[way]);
                self.now[way] = 0;
            }
            kind if MERGED.contains(&kind) => self.now[way] = self.now[way].saturating_sub(1),
            _ => {}
        }
    }

    /// fio's limit.
    fn most(&self) -> Option<u32> {
        Some(self.most.min(1024)).filter(|most| *most > 0)
    }
}
