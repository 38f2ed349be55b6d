//! From events of the block tracer to requests with their latencies.
//!
//! A request waits until its completion has been met, or until too many wait behind it; so memory is bounded, and records
//! leave in the order of their issue.

use std::collections::{HashMap, VecDeque};

use iodyno_model::Verb;

use super::block_events::{BlockEvent, BlockPoint, BlockStep, BlockTraits, SECTOR};
use super::context::ImportContext;
use crate::{RecordFlags, TraceError, TraceRecord};

/// Requests that wait for their completion.
const MOST_WAITING: usize = 1 << 16;

/// What tells requests of one device and sector apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RequestClass {
    Read,
    Write,
    Discard,
    /// A flush as it was asked for.
    Flush,
    /// A flush as the driver gets it.
    DriverFlush,
}

type RequestKey = (u32, RequestClass, u64);

struct WaitingRequest {
    record: TraceRecord,
    key: RequestKey,
    /// Bytes that have not completed.
    left: u64,
    is_done: bool,
    /// It became part of another one, or went back to the queue.
    is_dropped: bool,
    /// One that waited under the same key.
    older: Option<u64>,
}

/// The requests that wait, and what was counted.
#[derive(Default)]
pub struct BlockRequests {
    queue: VecDeque<WaitingRequest>,
    /// The number of the first of `queue`.
    base: u64,
    starts: HashMap<RequestKey, u64>,
    /// By the sector behind them: for merges.
    ends: HashMap<RequestKey, u64>,
    pub has_completions: bool,
    folded: u64,
}

fn class(event: &BlockEvent) -> Option<RequestClass> {
    let traits = event.traits;
    match () {
        () if traits.has(BlockTraits::DISCARD) => Some(RequestClass::Discard),
        () if event.bytes > 0 && traits.has(BlockTraits::WRITE) => Some(RequestClass::Write),
        () if event.bytes > 0 && traits.has(BlockTraits::READ) => Some(RequestClass::Read),
        () if traits.has(BlockTraits::WRITE) => Some(RequestClass::Flush),
        () if traits.has(BlockTraits::FLUSH) => Some(RequestClass::DriverFlush),
        () => None,
    }
}

impl BlockRequests {
    /// Takes an event of a device whose requests are taken at `point`.
    ///
    /// # Errors
    /// More devices than fit.
    pub fn event(
        &mut self,
        event: &BlockEvent,
        point: BlockPoint,
        context: &mut ImportContext,
    ) -> Result<(), TraceError> {
        let is_record = event.step == point.step();
        if event.traits.has(BlockTraits::PASSTHROUGH | BlockTraits::ZONES) {
            context.count("commands past the file systems and of zones, left out", u64::from(is_record));
            return Ok(());
        }
        self.has_completions |= event.step == BlockStep::Complete;
        let Some(class) = class(event) else { return Ok(()) };
        let end = event.sector.checked_mul(SECTOR).and_then(|offset| offset.checked_add(event.bytes));
        if end.is_none_or(|end| end > i64::MAX as u64) {
            context.count("events whose range reaches beyond 2^63 bytes, left out", u64::from(is_record));
            return Ok(());
        }
        let file = context.device(event.device.0, event.device.1)?;
        let is_flush = matches!(class, RequestClass::Flush | RequestClass::DriverFlush);
        let key = (file, class, if is_flush { 0 } else { event.sector });
        if is_record {
            self.push(event, key, point, context);
        }
        match event.step {
            BlockStep::Complete if point != BlockPoint::Complete => self.complete(event, key),
            BlockStep::Requeue if point == BlockPoint::Issue => self.requeue(key, context),
            BlockStep::BackMerge if point == BlockPoint::Queue => self.merge(event, key, false),
            BlockStep::FrontMerge if point == BlockPoint::Queue => self.merge(event, key, true),
            BlockStep::BackMerge | BlockStep::FrontMerge if point == BlockPoint::EachQueue => {
                self.absorbed(key)
            }
            BlockStep::Split if matches!(point, BlockPoint::Queue | BlockPoint::EachQueue) => {
                self.split(event, key);
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, event: &BlockEvent, key: RequestKey, point: BlockPoint, context: &mut ImportContext) {
        let verb = match key.1 {
            RequestClass::Read => Verb::Read,
            RequestClass::Write => Verb::Write,
            RequestClass::Discard => Verb::Trim,
            RequestClass::Flush | RequestClass::DriverFlush => Verb::Fsync,
        };
        let is_flush = verb == Verb::Fsync;
        let offset = if is_flush { 0 } else { event.sector * SECTOR };
        let thread = context.thread(event.process, event.process);
        let is_done = point == BlockPoint::Complete;
        let result = is_done.then(|| result(event.error, event.bytes));
        let record = TraceRecord {
            flags: flags(event.traits, is_flush),
            thread,
            result,
            ..TraceRecord::new(event.at_ns, verb, key.0, offset, event.bytes)
        };
        let number = self.base + self.queue.len() as u64;
        let mut waiting =
            WaitingRequest { record, key, left: event.bytes, is_done, is_dropped: false, older: None };
        if !is_done {
            waiting.older = self.starts.insert(key, number);
            if point == BlockPoint::Queue && !is_flush {
                self.ends.insert((key.0, key.1, key.2 + event.bytes / SECTOR), number);
            }
        }
        self.queue.push_back(waiting);
    }

    /// The request that waits under a key.
    fn waiting(&mut self, key: RequestKey) -> Option<(u64, &mut WaitingRequest)> {
        let number = *self.starts.get(&key)?;
        let index = number.checked_sub(self.base)?;
        let waiting = self.queue.get_mut(index as usize)?;
        (!waiting.is_done && !waiting.is_dropped).then_some((number, waiting))
    }

    /// Takes a request from its key, under which an older one may wait.
    fn forget(&mut self, key: RequestKey, number: u64) {
        let older = number.checked_sub(self.base).and_then(|index| self.queue.get(index as usize)?.older);
        match older.filter(|older| *older >= self.base) {
            Some(older) => self.starts.insert(key, older),
            None => self.starts.remove(&key),
        };
    }

    fn complete(&mut self, event: &BlockEvent, key: RequestKey) {
        let Some((number, waiting)) = self.waiting(key) else { return };
        waiting.left = waiting.left.saturating_sub(event.bytes);
        let is_error = event.error != 0;
        if waiting.left > 0 && !is_error {
            // The rest completes later, under the sector where it begins.
            let rest = (key.0, key.1, event.sector + event.bytes / SECTOR);
            self.forget(key, number);
            self.starts.entry(rest).or_insert(number);
            return;
        }
        waiting.is_done = true;
        waiting.record.latency_ns = Some(event.at_ns.saturating_sub(waiting.record.at_ns));
        waiting.record.result = Some(result(event.error, waiting.record.bytes));
        let end = (waiting.key.0, waiting.key.1, waiting.record.end() / SECTOR);
        if self.ends.get(&end) == Some(&number) {
            self.ends.remove(&end);
        }
        self.forget(key, number);
    }

    fn requeue(&mut self, key: RequestKey, context: &mut ImportContext) {
        let Some((number, waiting)) = self.waiting(key) else { return };
        waiting.is_dropped = true;
        context.count("requests that went back to the queue and are taken at their next D", 1);
        self.forget(key, number);
    }

    /// A request that was queued becomes a part of one that was queued before.
    fn merge(&mut self, event: &BlockEvent, key: RequestKey, is_front: bool) {
        let sectors = event.bytes / SECTOR;
        let (device, class, sector) = key;
        let target = match is_front {
            true => self.starts.get(&(device, class, sector + sectors)).copied(),
            false => self.ends.get(&key).copied(),
        };
        let own = self.waiting(key).map(|(number, _)| number);
        let (Some(target), Some(own)) = (target.filter(|target| Some(*target) != own), own) else { return };
        let Some(index) = target.checked_sub(self.base).map(|index| index as usize) else { return };
        let Some(request) = self.queue.get_mut(index).filter(|one| !one.is_done && !one.is_dropped) else {
            return;
        };
        request.record.bytes += event.bytes;
        request.left += event.bytes;
        let own_end = (device, class, sector + sectors);
        if is_front {
            let old_key = std::mem::replace(&mut request.key, key);
            request.record.offset = sector * SECTOR;
            self.forget(old_key, target);
            self.ends.remove(&own_end);
        } else {
            self.ends.remove(&key);
            self.ends.insert(own_end, target);
        }
        self.forget(key, own);
        if is_front {
            self.starts.insert(key, target);
        }
        let own = (own - self.base) as usize;
        self.queue[own].is_dropped = true;
        self.folded += 1;
    }

    /// A request that stays a record of its own, and completes as a part of another one.
    fn absorbed(&mut self, key: RequestKey) {
        if let Some((number, waiting)) = self.waiting(key) {
            waiting.is_done = true;
            self.forget(key, number);
        }
    }

    /// The second part completes under its own sector.
    fn split(&mut self, event: &BlockEvent, key: RequestKey) {
        if let Some((number, _)) = self.waiting(key) {
            self.starts.entry((key.0, key.1, event.split_sector)).or_insert(number);
        }
    }

    /// Moves what waits no longer to `records`; `is_end`: all.
    pub fn take_done(&mut self, records: &mut Vec<TraceRecord>, is_end: bool, context: &mut ImportContext) {
        while let Some(front) = self.queue.front() {
            let is_complete = front.is_done || front.is_dropped;
            if !is_complete && !is_end && self.queue.len() <= MOST_WAITING {
                break;
            }
            let Some(front) = self.queue.pop_front() else { break };
            self.base += 1;
            if !front.is_dropped {
                records.push(front.record);
            }
            if !is_complete && self.has_completions {
                context.count("requests without a completion, whose latency is unknown", 1);
            }
        }
        if self.starts.len() > 4 * MOST_WAITING {
            self.starts.retain(|_, number| *number >= self.base);
        }
        if self.ends.len() > 4 * MOST_WAITING {
            self.ends.retain(|_, number| *number >= self.base);
        }
        context.count("requests of Q that were merged into another one and are a part of it", self.folded);
        self.folded = 0;
    }
}

/// Bytes, or the negative error.
fn result(error: i32, bytes: u64) -> i64 {
    if error == 0 { bytes as i64 } else { -i64::from(error).abs() }
}

fn flags(traits: BlockTraits, is_flush: bool) -> RecordFlags {
    let all = [
        // What is only a flush needs no flag that says so.
        (BlockTraits::FLUSH, RecordFlags::PREFLUSH, !is_flush),
        (BlockTraits::FUA, RecordFlags::FUA, true),
        (BlockTraits::SYNC, RecordFlags::SYNC, true),
        (BlockTraits::META, RecordFlags::META, true),
        (BlockTraits::READAHEAD, RecordFlags::READAHEAD, true),
    ];
    let set = all.iter().filter(|(bit, _, is_wanted)| *is_wanted && traits.has(*bit));
    set.fold(RecordFlags::default(), |flags, (_, flag, _)| flags.with(*flag))
}
