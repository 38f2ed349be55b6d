//! Logs of samples: one line for each operation, or for each window of them; or the same packed by zlib.
//!
//! A line is time (ms), value, direction, block size, offset or 0, priority, and what was asked for besides. Values are
//! ns for latencies, operations per second for rates, and for bandwidth KiB/s in windows but kB/s (thousands of bytes)
//! of single operations: so the original does it.

use std::io::{ErrorKind, Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use iodyno_model::{JournalEntry, JournalPart, Kind};

use super::super::view::{LogWindow, Logs};
use super::Times;
use super::line::{columns, number};

/// What a log measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedQuantity {
    /// Bytes by time.
    Bandwidth,
    /// Operations by time.
    Operations,
    /// Whole latencies.
    Latency,
    /// Latencies until the kernel had it; of an engine that does not wait for operations, or an empty log.
    Submission(bool),
    /// Latencies from there.
    Completion,
}

/// One line.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time_ms: u64,
    value: u64,
    /// The largest of the window, beside the average.
    most: u64,
    direction: u64,
    block: u64,
    offset: u64,
    priority: u16,
    issued_ns: u64,
}

/// In packed samples: a direction's flags for samples with an offset and with a whole priority.
const HAS_OFFSET: u32 = 0x8000_0000;
const HAS_PRIORITY: u32 = 0x4000_0000;
/// The priority class for real-time operations, as the kernel packs it.
const REAL_TIME: u16 = 1;

/// The number of a direction; none for what has none.
pub fn direction(kind: Kind) -> Option<u64> {
    [Kind::Read, Kind::Write, Kind::Trim].iter().position(|known| *known == kind).map(|index| index as u64)
}

/// A part of a journal, as the log of one measure has it.
pub fn written(measured: LoggedQuantity, part: &JournalPart, logs: &Logs, times: Times) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.entries.len() * 32);
    for entry in &part.entries {
        if let Some(sample) = sample(measured, entry, logs, times) {
            if logs.compressed { sample.pack(logs, &mut out) } else { sample.print(logs, &mut out) }
        }
    }
    match logs.compressed && !out.is_empty() {
        true => packed(&out),
        false => out,
    }
}

/// A zlib stream of its own; a log is one or several of them.
pub fn packed(samples: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Into memory nothing fails.
    let _ = encoder.write_all(samples);
    encoder.finish().unwrap_or_default()
}

/// A packed log as text: its samples in all its streams.
///
/// # Errors
/// It is no such log.
pub fn inflated(bytes: &[u8]) -> Result<String, String> {
    Ok(printed(&unpacked(bytes)?))
}

/// Packed samples as text.
pub fn printed(samples: &[u8]) -> String {
    let (mut rest, mut out) = (samples, Vec::new());
    while let Some((sample, logs, length)) = Sample::unpack(rest) {
        sample.print(&logs, &mut out);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The samples of a packed log in one stream, and how many there are.
///
/// # Errors
/// It is no such log.
pub fn samples_in(bytes: &[u8]) -> Result<(u64, Vec<u8>), String> {
    let samples = unpacked(bytes)?;
    let (mut rest, mut count) = (samples.as_slice(), 0);
    while let Some((.., length)) = Sample::unpack(rest) {
        count += 1;
        rest = &rest[length..];
    }
    Ok((count, packed(&samples)))
}

/// The bytes in all streams of a packed log.
///
/// # Errors
/// It is no such log.
pub fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (mut rest, mut samples) = (bytes, Vec::new());
    while !rest.is_empty() {
        let mut decoder = ZlibDecoder::new(rest);
        match decoder.read_to_end(&mut samples) {
            Ok(_) => rest = &rest[decoder.total_in() as usize..],
            // A program that was killed leaves half a stream: what can be read is.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(format!("it is no compressed log: {error}")),
        }
    }
    Ok(samples)
}

fn sample(measured: LoggedQuantity, entry: &JournalEntry, logs: &Logs, times: Times) -> Option<Sample> {
    if measured == LoggedQuantity::Submission(false) {
        return None;
    }
    match entry {
        JournalEntry::Done { .. } if logs.average_ms == 0 => single(measured, entry, times),
        JournalEntry::Window { .. } if logs.average_ms > 0 => window(measured, entry, logs, times),
        _ => None,
    }
}

/// The sample of one operation.
fn single(measured: LoggedQuantity, entry: &JournalEntry, times: Times) -> Option<Sample> {
    let JournalEntry::Done { at_ns, verb, offset, bytes, submission_ns, completion_ns, priority, .. } = entry
    else {
        return None;
    };
    let value = match measured {
        LoggedQuantity::Bandwidth => (u128::from(*bytes) * 1_000_000)
            .checked_div(u128::from(*completion_ns))
            .map_or(0, |rate| rate as u64),
        LoggedQuantity::Operations => 1,
        // From the actual start, whatever the pace: so the original counts.
        LoggedQuantity::Latency => submission_ns + completion_ns,
        LoggedQuantity::Submission(_) => *submission_ns,
        LoggedQuantity::Completion => *completion_ns,
    };
    Some(Sample {
        time_ms: times.ms(*at_ns),
        value,
        most: value,
        direction: direction(verb.kind())?,
        block: *bytes,
        offset: *offset,
        priority: *priority,
        issued_ns: at_ns.saturating_sub(*completion_ns).saturating_sub(times.began_ns),
    })
}

fn window(measured: LoggedQuantity, entry: &JournalEntry, logs: &Logs, times: Times) -> Option<Sample> {
    let JournalEntry::Window {
        at_ns,
        kind,
        length_ns,
        operations,
        bytes,
        submission_ns,
        completion_ns,
        latency_ns,
    } = entry
    else {
        return None;
    };
    // Rates are sampled by time: the original has none of a last window that is not full.
    let full = *length_ns >= logs.average_ms * 1_000_000;
    let rate = |amount: u64| full.then(|| u128::from(amount) * 1_000_000_000 / u128::from(*length_ns));
    let average = |(sum, most): &(u64, u64)| ((sum + operations / 2) / operations.max(&1), *most);
    let same = |rate: u128| (rate as u64, rate as u64);
    let (mean, most) = match measured {
        LoggedQuantity::Bandwidth => same(rate(*bytes)? / 1024),
        LoggedQuantity::Operations => same(rate(*operations)?),
        LoggedQuantity::Latency => average(latency_ns),
        LoggedQuantity::Submission(_) => average(submission_ns),
        LoggedQuantity::Completion => average(completion_ns),
    };
    let value = if logs.window == LogWindow::Most { most } else { mean };
    let (time_ms, direction) = (times.ms(*at_ns), direction(*kind)?);
    Some(Sample { time_ms, value, most, direction, ..Sample::default() })
}

impl Sample {
    fn print(&self, logs: &Logs, out: &mut Vec<u8>) {
        columns(out, &[self.time_ms, self.value]);
        if logs.window == LogWindow::Both && logs.average_ms > 0 {
            out.extend_from_slice(b", ");
            number(out, self.most);
        }
        out.extend_from_slice(b", ");
        columns(out, &[self.direction, self.block]);
        if logs.offsets {
            out.extend_from_slice(b", ");
            number(out, self.offset);
        }
        if logs.priorities {
            out.extend_from_slice(format!(", 0x{:04x}", self.priority).as_bytes());
        } else {
            out.extend_from_slice(if self.priority >> 13 == REAL_TIME { b", 1" } else { b", 0" });
        }
        if logs.issue_times {
            out.extend_from_slice(b", ");
            number(out, self.issued_ns);
        }
        out.push(b'\n');
    }

    /// As the original lays it out in memory: time, value, direction and flags, priority, block size, offset.
    fn pack(&self, logs: &Logs, out: &mut Vec<u8>) {
        let flags =
            if logs.offsets { HAS_OFFSET } else { 0 } | if logs.priorities { HAS_PRIORITY } else { 0 };
        let real_time = u16::from(self.priority >> 13 == REAL_TIME);
        let priority = if logs.priorities { self.priority } else { real_time };
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(&(self.direction as u32 | flags).to_le_bytes());
        out.extend_from_slice(&u32::from(priority).to_le_bytes());
        out.extend_from_slice(&self.block.to_le_bytes());
        if logs.offsets {
            out.extend_from_slice(&self.offset.to_le_bytes());
        }
    }

    /// The first sample of some that were packed, what it holds, and how long it is.
    fn unpack(bytes: &[u8]) -> Option<(Sample, Logs, usize)> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let flags = long(16)? as u32;
        let logs = Logs {
            offsets: flags & HAS_OFFSET != 0,
            priorities: flags & HAS_PRIORITY != 0,
            ..Logs::default()
        };
        let priority = (long(16)? >> 32) as u16;
        let sample = Sample {
            time_ms: long(0)?,
            value: long(8)?,
            direction: u64::from(flags & !(HAS_OFFSET | HAS_PRIORITY)),
            // Without whole priorities there is only whether it was a real-time one.
            priority: if logs.priorities { priority } else { priority << 13 },
            block: long(24)?,
            offset: if logs.offsets { long(32)? } else { 0 },
            ..Sample::default()
        };
        let length = if logs.offsets { 40 } else { 32 };
        Some((sample, logs, length))
    }
}
