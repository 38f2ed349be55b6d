//! blktrace's binary records: version 7 (48 bytes) and version 8 (64 bytes), in either byte order.
//!
//! Facts of linux/blktrace_api.h. A record may have data behind it: of notes, remaps and splits. What lies between
//! records and is none is skipped up to the next one, and counted.

use std::collections::HashMap;
use std::io::Read;

use super::block_decoder;
use super::block_events::{BlockEvent, BlockStep, BlockTraits, EventReader};
use super::context::ImportContext;
use super::importer::ImportOptions;
use super::number;
use super::order::{OrderedRecords, sortable};
use super::unpack::Stream;
use crate::TraceError;

/// The magic number without the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
/// A record with the longest data.
const LONGEST: usize = 64 + 0xffff;
const BUFFER: usize = 4 * LONGEST;
/// The note of what a pipe of ftrace says is missing.
pub const LOST: &str = "events that the tracer lost, as it says itself";
/// An event that begins with the number of a control group (`__BLK_TA_CGROUP`).
const CGROUP: u32 = 1 << 8;
/// Events that are read at a time.
const STEP: usize = 2048;
/// The longest line that says how many events were lost.
const LOST_LINE: usize = 64;
/// A larger step of sequence numbers is another trace, no loss.
const MOST_LOST: u32 = 1 << 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub fn u16(self, bytes: &[u8]) -> u16 {
        let bytes = *bytes.first_chunk().expect("2 bytes");
        if self == ByteOrder::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    pub fn u32(self, bytes: &[u8]) -> u32 {
        let bytes = *bytes.first_chunk().expect("4 bytes");
        if self == ByteOrder::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    pub fn u64(self, bytes: &[u8]) -> u64 {
        let bytes = *bytes.first_chunk().expect("8 bytes");
        if self == ByteOrder::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}

/// The byte order and the version of a record that begins so.
pub fn kind(bytes: &[u8]) -> Option<(ByteOrder, u8)> {
    let bytes = bytes.get(..4)?;
    let order =
        [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32(bytes) & !0xff == MAGIC)?;
    Some((order, (order.u32(bytes) & 0xff) as u8))
}

/// The byte order and the version of a stream.
///
/// # Errors
/// It is no such trace, or of another version.
pub fn checked_kind(stream: &Stream) -> Result<(ByteOrder, u8), TraceError> {
    let Some((order, version)) = kind(after_losses(&stream.head)) else {
        return Err(TraceError::new("it is no blktrace").at(&stream.name).hint("--as NAME says what it is"));
    };
    match record_bytes(version) {
        Some(_) => Ok((order, version)),
        None => {
            let message = format!("a blktrace of version {version}: only versions 7 and 8 can be read");
            Err(TraceError::new(message).at(&stream.name).hint("blkparse of its system makes text of it"))
        }
    }
}

/// The size of a version's records, bytes.
pub fn record_bytes(version: u8) -> Option<usize> {
    match version {
        7 => Some(48),
        8 => Some(64),
        _ => None,
    }
}

/// Whether an input is such a trace, of whatever version.
pub fn fits(head: &[u8]) -> bool {
    kind(after_losses(head)).is_some()
}

/// How many events a line of ftrace says were lost, `CPU:1 [LOST 123 EVENTS]`, and where it ends; 1 where it does not say
/// how many. Its pipes have such lines between records, also between binary ones.
pub fn lost(bytes: &[u8]) -> Option<(u64, usize)> {
    let line = &bytes[..bytes.len().min(LOST_LINE)];
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let words = line[..end].strip_prefix(b"CPU:")?;
    let digits = words.iter().position(|byte| !byte.is_ascii_digit())?;
    let count = words[digits..].trim_ascii().strip_prefix(b"[LOST ")?.strip_suffix(b"EVENTS]")?.trim_ascii();
    Some((if count.is_empty() { 1 } else { number::whole(count)? }, end + 1))
}

/// What follows the lines of losses at the start.
fn after_losses(mut bytes: &[u8]) -> &[u8] {
    while let Some((_, end)) = lost(bytes) {
        bytes = &bytes[end..];
    }
    bytes
}

/// Readers of such traces.
///
/// # Errors
/// Another version, or no such trace.
pub fn open(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    let mut readers: Vec<Box<dyn EventReader + Send>> = Vec::new();
    for stream in streams {
        let (order, version) = checked_kind(&stream)?;
        context.header.source = format!("blktrace {version}");
        readers.push(Box::new(BlktraceReader::new(stream, order)));
    }
    Ok(block_decoder::open(readers, options.events, 1, context))
}

/// A record's fields.
#[derive(Clone, Copy, Debug)]
pub struct BlktraceRecord {
    pub sequence: u32,
    pub time_ns: u64,
    pub sector: u64,
    pub bytes: u32,
    /// The event, and its properties.
    pub event: u32,
    pub traits: u32,
    pub process: u32,
    pub device: u32,
    pub cpu: u32,
    pub error: u16,
    pub data_bytes: usize,
}

impl BlktraceRecord {
    fn of(bytes: &[u8], order: ByteOrder, version: u8) -> BlktraceRecord {
        let u32_at = |at: usize| order.u32(&bytes[at..]);
        let u64_at = |at: usize| order.u64(&bytes[at..]);
        let (sequence, time_ns, sector, size) = (u32_at(4), u64_at(8), u64_at(16), u32_at(24));
        if version == 7 {
            let action = u32_at(28);
            return BlktraceRecord {
                sequence,
                time_ns,
                sector,
                bytes: size,
                event: action & 0xffff,
                traits: action >> 16,
                process: u32_at(32),
                device: u32_at(36),
                cpu: u32_at(40),
                error: order.u16(&bytes[44..]),
                data_bytes: order.u16(&bytes[46..]).into(),
            };
        }
        let action = u64_at(32);
        BlktraceRecord {
            sequence,
            time_ns,
            sector,
            bytes: size,
            event: action as u32,
            traits: (action >> 32) as u32,
            process: u32_at(28),
            device: u32_at(40),
            cpu: u32_at(44),
            error: order.u16(&bytes[48..]),
            data_bytes: order.u16(&bytes[50..]).into(),
        }
    }

    fn device(&self) -> (u32, u32) {
        (self.device >> 20, self.device & 0xf_ffff)
    }

    /// What happened, without what is said of control groups.
    pub fn step(&self) -> BlockStep {
        BlockStep::numbered(self.event & !CGROUP)
    }

    /// The record without data, of version 7, in the order of the machine.
    pub fn bytes_of_version_7(&self) -> [u8; 48] {
        let mut out = [0; 48];
        let words = [
            (0, MAGIC | 7),
            (4, self.sequence),
            (24, self.bytes),
            (28, self.traits << 16 | self.event & 0xffff & !CGROUP),
            (32, self.process),
            (36, self.device),
            (40, self.cpu),
        ];
        for (at, word) in words {
            out[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        out[8..16].copy_from_slice(&self.time_ns.to_ne_bytes());
        out[16..24].copy_from_slice(&self.sector.to_ne_bytes());
        out[44..46].copy_from_slice(&self.error.to_ne_bytes());
        out
    }
}

/// Reads records.
pub struct BlktraceReader {
    name: String,
    source: Box<dyn Read + Send>,
    order: ByteOrder,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_ended: bool,
    /// Bytes of records, bytes between them, and bytes of lines that tell of losses.
    passed: u64,
    skipped: u64,
    told: u64,
    /// The last number of each device and processor.
    sequences: HashMap<(u32, u32), u32>,
}

impl BlktraceReader {
    pub fn new(stream: Stream, order: ByteOrder) -> BlktraceReader {
        BlktraceReader {
            name: stream.name,
            source: stream.reader,
            order,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            is_ended: false,
            passed: 0,
            skipped: 0,
            told: 0,
            sequences: HashMap::new(),
        }
    }

    /// The next record; none: the end.
    ///
    /// # Errors
    /// Those of the input; too much that is no record.
    pub fn next_record(&mut self, context: &mut ImportContext) -> Result<Option<BlktraceRecord>, TraceError> {
        Ok(self.record(context)?.map(|(record, _)| record))
    }

    /// Has so many bytes in the buffer, if the input has.
    fn fill(&mut self, wanted: usize) -> Result<bool, TraceError> {
        while self.end - self.start < wanted && !self.is_ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::from(error).at(self.place())),
            }
        }
        Ok(self.end - self.start >= wanted)
    }

    fn place(&self) -> String {
        format!("{}: byte {}", self.name, self.passed + self.skipped + self.told)
    }

    /// Goes to the next record, over what is none.
    fn seek(&mut self, context: &mut ImportContext) -> Result<Option<u8>, TraceError> {
        loop {
            if !self.fill(4)? {
                let rest = (self.end - self.start) as u64;
                self.cut_off(rest, context);
                return Ok(None);
            }
            let found = kind(&self.buffer[self.start..self.end]);
            match found.filter(|(order, version)| *order == self.order && record_bytes(*version).is_some()) {
                Some((_, version)) => return Ok(Some(version)),
                None if self.skip_loss(context)? => {}
                None => {
                    if self.skipped == 0 {
                        context.tell(format!(
                            "{}: no record of a blktrace; the next one is looked for",
                            self.place()
                        ));
                    }
                    self.start += 1;
                    self.skipped += 1;
                    context.count("bytes between records that are none, skipped", 1);
                    if context.is_strict() || self.skipped > 1 << 20 && self.skipped > self.passed {
                        let message = format!(
                            "{} bytes of {} are no records",
                            self.skipped,
                            self.skipped + self.passed
                        );
                        return Err(TraceError::new(message)
                            .at(self.place())
                            .hint("is it damaged, or of another kind?"));
                    }
                }
            }
        }
    }

    /// Whether a line that tells of losses was here.
    fn skip_loss(&mut self, context: &mut ImportContext) -> Result<bool, TraceError> {
        if self.buffer[self.start] != b'C' {
            return Ok(false);
        }
        self.fill(LOST_LINE)?;
        let Some((count, end)) = lost(&self.buffer[self.start..self.end]) else { return Ok(false) };
        context.count(LOST, count);
        self.start += end;
        self.told += end as u64;
        Ok(true)
    }

    fn cut_off(&mut self, bytes: u64, context: &mut ImportContext) {
        if bytes > 0 {
            context.tell(format!("{}: the last record is cut off", self.place()));
            context.count("bytes of last records that were cut off", bytes);
        }
        self.start = self.end;
    }

    /// The next record and where its data lie; none: the end.
    fn record(&mut self, context: &mut ImportContext) -> Result<Option<(BlktraceRecord, usize)>, TraceError> {
        let Some(version) = self.seek(context)? else { return Ok(None) };
        let size = record_bytes(version).unwrap_or(48);
        if !self.fill(size)? {
            let rest = (self.end - self.start) as u64;
            self.cut_off(rest, context);
            return Ok(None);
        }
        let record = BlktraceRecord::of(&self.buffer[self.start..self.end], self.order, version);
        if !self.fill(size + record.data_bytes)? {
            let rest = (self.end - self.start) as u64;
            self.cut_off(rest, context);
            return Ok(None);
        }
        let data = self.start + size;
        self.start = data + record.data_bytes;
        self.passed += (size + record.data_bytes) as u64;
        Ok(Some((record, data)))
    }

    /// Counts events that are missing. What the tracer of ftrace writes has no numbers.
    fn check_sequence(&mut self, record: &BlktraceRecord, context: &mut ImportContext) {
        if record.sequence == 0 || self.sequences.len() > 1 << 16 {
            return;
        }
        let last = self.sequences.insert((record.device, record.cpu), record.sequence);
        let lost = last.map_or(0, |last| record.sequence.wrapping_sub(last).wrapping_sub(1));
        if lost < MOST_LOST {
            context.count("events that the tracer lost (gaps in its numbers)", lost.into());
        }
    }

    fn notice(&self, record: &BlktraceRecord, data: &[u8], context: &mut ImportContext) {
        match record.event & !CGROUP {
            0 => {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                let thread = context.thread(record.process, record.process);
                context.name_thread(thread, name);
            }
            1 if data.len() >= 8 => {
                let (seconds, ns) = (self.order.u32(data), self.order.u32(&data[4..]));
                let wall_ns = i64::from(seconds) * 1_000_000_000 + i64::from(ns);
                let offset_ns = i64::try_from(record.time_ns).ok().and_then(|ns| wall_ns.checked_sub(ns));
                context.unix_offset_ns = context.unix_offset_ns.or(offset_ns);
            }
            // Messages of programs and of schedulers.
            _ => {}
        }
    }
}

impl EventReader for BlktraceReader {
    fn read(
        &mut self,
        context: &mut ImportContext,
        events: &mut Vec<BlockEvent>,
    ) -> Result<bool, TraceError> {
        for _ in 0..STEP {
            let Some((record, at)) = self.record(context)? else {
                if self.passed == 0 {
                    return Err(TraceError::new("it holds no record").at(&self.name).hint("is it cut off?"));
                }
                return Ok(false);
            };
            let traits = BlockTraits(record.traits);
            let data = &self.buffer[at..at + record.data_bytes];
            if traits.has(BlockTraits::NOTIFY) {
                self.notice(&record, data, context);
                continue;
            }
            let own = if record.event & CGROUP != 0 { data.get(8..).unwrap_or_default() } else { data };
            let step = record.step();
            // The kernel writes it in the order of network protocols.
            let split_sector = own.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            let time_ns = i64::try_from(record.time_ns);
            let event = BlockEvent {
                at_ns: sortable(time_ns.unwrap_or(i64::MAX)),
                device: record.device(),
                sector: record.sector,
                bytes: record.bytes.into(),
                step,
                traits,
                process: record.process,
                error: i32::from(record.error as i16),
                split_sector,
            };
            self.check_sequence(&record, context);
            if step != BlockStep::Other {
                events.push(event);
            }
        }
        Ok(true)
    }
}
