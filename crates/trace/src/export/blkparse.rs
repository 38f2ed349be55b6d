//! The text that blkparse prints: an event for when a request was queued, issued and completed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use iodyno_model::{Kind, Verb};

use crate::export::{ExportLosses, Exporter};
use crate::{RecordFlags, Tables, TraceRecord};

const SECTOR: u64 = 512;

/// The flags that it tells.
const TOLD: u32 = RecordFlags::PREFLUSH.0
    | RecordFlags::FUA.0
    | RecordFlags::SYNC.0
    | RecordFlags::META.0
    | RecordFlags::READAHEAD.0;

#[derive(Default)]
pub struct Blkparse {
    sequence: u64,
    /// Completions that are still to come: as many as requests are in flight.
    completions: BinaryHeap<Reverse<Completion>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Completion {
    at_ns: u64,
    /// Of those at one time, the first that was issued.
    order: u64,
    /// The line without its sequence number and time, in two parts.
    device: String,
    rest: String,
}

impl Blkparse {
    fn event(&mut self, out: &mut Vec<u8>, device: &str, at_ns: u64, rest: &str) {
        self.sequence += 1;
        let (seconds, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        // Writing to memory does not fail.
        let _ = writeln!(out, "{device} {:>8} {seconds:>5}.{ns:09} {rest}", self.sequence);
    }

    fn complete(&mut self, until_ns: u64, out: &mut Vec<u8>) {
        while self.completions.peek().is_some_and(|Reverse(next)| next.at_ns <= until_ns) {
            if let Some(Reverse(done)) = self.completions.pop() {
                self.event(out, &done.device, done.at_ns, &done.rest);
            }
        }
    }
}

impl Exporter for Blkparse {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn record(
        &mut self,
        record: &TraceRecord,
        tables: &Tables,
        out: &mut Vec<u8>,
        losses: &mut ExportLosses,
    ) {
        let Some(rwbs) = rwbs(record) else { return losses.leave_out(record.verb) };
        self.complete(record.at_ns, out);
        let device = tables.files.get(record.file as usize).and_then(|file| file.device);
        losses.lose_if(device.is_none(), "names of what is no device (0,N stands for file N)");
        let (major, minor) = device.unwrap_or((0, record.file));
        let has_range = record.verb.kind() != Kind::Sync;
        let (sector, sectors) = match has_range {
            true => (record.offset / SECTOR, record.bytes.div_ceil(SECTOR)),
            false => (0, 0),
        };
        let is_whole = record.offset.is_multiple_of(SECTOR) && record.bytes.is_multiple_of(SECTOR);
        losses.lose_if(has_range && !is_whole, "bytes within a sector");
        let thread = tables.threads.get(record.thread as usize);
        let process = thread.map_or(0, |thread| thread.process);
        let name = thread.map_or_else(String::new, |thread| thread.name.replace(char::is_control, "?"));
        let place = if sectors > 0 { format!("{sector} + {sectors} ") } else { String::new() };
        let device = format!("{:>3},{minor:<3} {:>2}", major, 0);
        for action in ["Q", "D"] {
            let rest = format!("{process:>5}  {action} {rwbs:>3} {place}[{name}]");
            self.event(out, &device, record.at_ns, &rest);
        }
        match record.ended_ns() {
            Some(at_ns) => {
                // The kernel keeps the error in 16 bits.
                let error = record.result.filter(|result| *result < 0).unwrap_or(0) as u16;
                let rest = format!("{:>5}  C {rwbs:>3} {place}[{error}]", 0);
                let order = self.sequence;
                self.completions.push(Reverse(Completion { at_ns, order, device, rest }));
            }
            None => losses.lose_if(record.result.is_some(), "results without a latency"),
        }
        losses.lose_if(record.flags.0 & !TOLD != 0, "flags of calls");
        losses.lose_own(record);
    }

    fn end(&mut self, _: &Tables, out: &mut Vec<u8>, _: &mut ExportLosses) {
        self.complete(u64::MAX, out);
    }
}

/// The letters of a request; none: it is none.
fn rwbs(record: &TraceRecord) -> Option<String> {
    let mut letters = String::new();
    if record.flags.has(RecordFlags::PREFLUSH) || record.verb.kind() == Kind::Sync {
        letters.push('F');
    }
    letters.push(match record.verb {
        Verb::Read => 'R',
        Verb::Write => 'W',
        Verb::Trim | Verb::Discard => 'D',
        Verb::Fsync | Verb::Fdatasync => 'N',
        _ => return None,
    });
    let flags = [
        (RecordFlags::FUA, 'F'),
        (RecordFlags::READAHEAD, 'A'),
        (RecordFlags::SYNC, 'S'),
        (RecordFlags::META, 'M'),
    ];
    letters.extend(flags.iter().filter(|(flag, _)| record.flags.has(*flag)).map(|(_, letter)| letter));
    Some(letters)
}
