//! A rotating disk: an arm, a platter, and a memory for what was written and what lies ahead.
//!
//! The arm serves one thing at a time. Of several that wait it takes the one that it reaches first (shortest positioning
//! time), as command queueing and sorted write-back do. Where the platter stands follows from the time, so a place that was
//! just missed comes round after a whole turn.

use std::collections::VecDeque;

use iodyno_model::device::{HardDisk, Rotation, SeekCurve};

use super::{Part, PartPlace, transfer_ns};
use crate::Tick;
use crate::kernel::{Core, Count, DeviceRequest, NONE, RequestKind, TaskId};
use crate::random::Random;

/// Seeks between two places drawn at random over the whole disk: the mean root of their distance is 8/15.
const MEAN_ROOT: f64 = 8.0 / 15.0;

/// What the arm works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Task(TaskId),
    /// Something that was written is put where it belongs.
    WriteBack(Extent),
}

/// A place that waits to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    offset: u64,
    bytes: u64,
}

/// What the arm reads ahead: from `base` on it passes at the rate of the tracks since `since`, until it is called away.
#[derive(Clone, Copy, Debug)]
struct ReadAhead {
    /// The first byte that is in the memory.
    begin: u64,
    base: u64,
    since: Tick,
    /// Where it stopped, once it did.
    stopped: Option<u64>,
}

/// So many times its window may the oldest that waits be passed over by nearer ones; then it is next.
const MOST_PASSED: u32 = 16;

/// Neighbouring writes in the memory are written back together up to this.
const MOST_JOINED_BYTES: u64 = 1 << 20;

pub(crate) struct RotatingDisk {
    figures: HardDisk,
    place: PartPlace,
    turn_ns: u64,
    track_bytes: u64,
    waiting: VecDeque<TaskId>,
    work: Option<Work>,
    /// Where the arm is: the end of what it did last.
    head: u64,
    ahead: Option<ReadAhead>,
    /// What was answered and is not yet where it belongs.
    dirty: VecDeque<Extent>,
    dirty_bytes: u64,
    /// Writes that wait for room in the memory.
    no_room: VecDeque<TaskId>,
    /// Flushes that wait until nothing is dirty.
    flushes: Vec<TaskId>,
    /// Those that the next is chosen from.
    places: Vec<u64>,
    /// How often the oldest write in the memory, and the oldest request that waits, was passed over.
    passed: [u32; 2],
    /// Whether a write was put back last, so that reads and writes take turns while writes wait for room.
    wrote_last: bool,
    hits: u64,
    reads: u64,
}

impl RotatingDisk {
    pub(crate) fn new(figures: &HardDisk, place: PartPlace, random: &mut Random) -> Self {
        let turn_ns = 60_000_000_000 / u64::from(figures.rpm.max(1));
        let track = u128::from(figures.outer_rate) * u128::from(turn_ns) / 1_000_000_000;
        RotatingDisk {
            turn_ns,
            track_bytes: (track as u64).max(1 << 20),
            waiting: VecDeque::new(),
            work: None,
            head: random.below(figures.capacity_bytes.max(1)),
            ahead: None,
            dirty: VecDeque::new(),
            dirty_bytes: 0,
            no_room: VecDeque::new(),
            flushes: Vec::new(),
            places: Vec::new(),
            passed: [0; 2],
            wrote_last: false,
            hits: 0,
            reads: 0,
            figures: figures.clone(),
            place,
        }
    }

    /// Bytes per second at a place.
    fn rate(&self, offset: u64) -> u64 {
        let HardDisk { outer_rate, inner_rate, capacity_bytes, .. } = self.figures;
        if inner_rate == 0 || inner_rate == outer_rate {
            return outer_rate;
        }
        let inward = u128::from(offset.min(capacity_bytes)) * u128::from(outer_rate - inner_rate);
        outer_rate - (inward / u128::from(capacity_bytes.max(1))) as u64
    }

    /// The arm's way to a place and the wait for it, from now.
    fn positioning_ns(&self, offset: u64, now: Tick) -> u64 {
        if offset == self.head {
            return 0;
        }
        let seek = self.seek_ns(offset.abs_diff(self.head));
        let turn = match self.figures.rotation {
            Rotation::Half => self.turn_ns / 2,
            Rotation::Angle => {
                let at = (now + seek) % self.turn_ns;
                let track = offset % self.track_bytes;
                let wanted =
                    (u128::from(track) * u128::from(self.turn_ns) / u128::from(self.track_bytes)) as u64;
                (wanted + self.turn_ns - at) % self.turn_ns
            }
        };
        seek + turn
    }

    fn seek_ns(&self, distance: u64) -> u64 {
        let HardDisk { seek_ns, track_to_track_ns, capacity_bytes, .. } = self.figures;
        match self.figures.seek_curve {
            SeekCurve::Flat => seek_ns,
            SeekCurve::Root if distance < self.track_bytes => 0,
            SeekCurve::Root => {
                let root = (distance as f64 / capacity_bytes.max(1) as f64).sqrt();
                track_to_track_ns + ((seek_ns - track_to_track_ns) as f64 / MEAN_ROOT * root).round() as u64
            }
        }
    }

    /// The nearest of the first few places; none of them waits for ever.
    fn next(&mut self, now: Tick, queue: usize) -> Option<usize> {
        let reach = |(index, offset): &(usize, &u64)| (self.positioning_ns(**offset, now), *index);
        let (found, _) = self.places.iter().enumerate().min_by_key(reach)?;
        let most = MOST_PASSED * self.places.len() as u32;
        let passed = &mut self.passed[queue];
        *passed = if found == 0 || *passed >= most { 0 } else { *passed + 1 };
        Some(if *passed == 0 { 0 } else { found })
    }

    /// Gives the arm something to do.
    fn go_on(&mut self, core: &mut Core) {
        if self.work.is_some() {
            return;
        }
        self.follow(core);
        let start = core.now + self.figures.command_ns;
        let reads = self.waiting.len().min(self.figures.ncq as usize);
        let writes = self.dirty.len().min(self.figures.sorted as usize);
        let back = writes > 0 && (reads == 0 || (!self.no_room.is_empty() && !self.wrote_last));
        let (work, request) = if back {
            let offsets = self.dirty.iter().take(writes).map(|extent| extent.offset);
            self.places.clear();
            self.places.extend(offsets);
            let Some(index) = self.next(start, 0) else { return };
            let Some(extent) = self.dirty.remove(index) else { return };
            (
                Work::WriteBack(extent),
                DeviceRequest {
                    kind: RequestKind::Write,
                    offset: extent.offset,
                    bytes: extent.bytes,
                    ..DeviceRequest::default()
                },
            )
        } else if reads > 0 {
            let offsets = self.waiting.iter().take(reads).map(|task| core.request(*task).offset);
            self.places.clear();
            self.places.extend(offsets);
            let Some(index) = self.next(start, 1) else { return };
            let Some(task) = self.waiting.remove(index) else { return };
            (Work::Task(task), core.request(task))
        } else {
            return;
        };
        self.wrote_last = back;
        let end = match request.kind {
            RequestKind::Trim | RequestKind::Metadata | RequestKind::Flush => start,
            RequestKind::Read | RequestKind::Write => {
                self.stop_ahead(core.now);
                let there = start + self.positioning_ns(request.offset, start);
                let end = there + transfer_ns(request.bytes, self.rate(request.offset));
                self.head = request.offset.saturating_add(request.bytes);
                end
            }
        };
        let end = end.max(core.now + 1);
        self.work = Some(work);
        core.works(self.place.number, 1);
        core.at(end, self.place.number, NONE);
    }

    /// Waiting reads that go on where the arm reads ahead are answered as it passes them.
    fn follow(&mut self, core: &mut Core) {
        let mut index = 0;
        while self.ahead.is_some() && index < self.waiting.len().min(self.figures.ncq as usize) {
            let task = self.waiting[index];
            let request = core.request(task);
            match self.ready_at(request, core.now).filter(|_| request.kind == RequestKind::Read) {
                Some(at) => {
                    self.waiting.remove(index);
                    self.hit(task, at, core);
                }
                None => index += 1,
            }
        }
    }

    /// A read is answered from the memory, once the arm has passed it.
    fn hit(&mut self, task: TaskId, at: Tick, core: &mut Core) {
        self.hits += 1;
        core.works_for(self.place.number, at - core.now);
        core.at(at + self.figures.cached_ns.max(1), self.place.number, task);
    }

    /// The arm is called away.
    fn stop_ahead(&mut self, now: Tick) {
        let rate = self.rate(self.head);
        if let Some(ahead) = &mut self.ahead
            && ahead.stopped.is_none()
        {
            ahead.stopped = Some(passed(ahead, now, rate, self.figures.read_ahead_bytes));
            self.head = ahead.stopped.unwrap_or(self.head);
        }
    }

    /// When a read is in the memory; none: it is not, and the arm must go there.
    fn ready_at(&mut self, request: DeviceRequest, now: Tick) -> Option<Tick> {
        let rate = self.rate(request.offset);
        let window = self.figures.read_ahead_bytes;
        let ahead = self.ahead.as_mut()?;
        let end = request.offset.saturating_add(request.bytes);
        let there = passed(ahead, now, rate, window);
        // What was passed stays for as long as the memory has room.
        let is_kept = request.offset >= ahead.begin.max(there.saturating_sub(self.figures.cache_bytes));
        if !is_kept || end <= there {
            return (is_kept && end <= there).then_some(now);
        }
        if ahead.stopped.is_some() || request.offset > there.saturating_add(window) {
            return None;
        }
        // It goes on from where it is: no further than its window beyond what was asked for.
        if there > ahead.base {
            (ahead.base, ahead.since) = (there, now);
        }
        self.head = there;
        Some(now + transfer_ns(end - there, rate))
    }

    /// A write goes into the memory, if there is room.
    fn take_in(&mut self, task: TaskId, core: &mut Core) -> bool {
        let DeviceRequest { offset, bytes, .. } = core.request(task);
        if self.dirty_bytes > 0 && self.dirty_bytes.saturating_add(bytes) > self.figures.cache_bytes {
            return false;
        }
        self.dirty_bytes += bytes;
        match self.dirty.back_mut() {
            Some(last) if last.offset + last.bytes == offset && last.bytes + bytes <= MOST_JOINED_BYTES => {
                last.bytes += bytes;
            }
            _ => self.dirty.push_back(Extent { offset, bytes }),
        }
        core.at(core.now + self.figures.cached_ns.max(1), self.place.number, task);
        true
    }

    fn written_back(&mut self, extent: Extent, core: &mut Core) {
        self.dirty_bytes -= extent.bytes;
        while let Some(task) = self.no_room.front().copied() {
            if !self.take_in(task, core) {
                break;
            }
            self.no_room.pop_front();
        }
        if self.dirty_bytes == 0 {
            std::mem::take(&mut self.flushes).into_iter().for_each(|task| core.finish(task));
        }
    }
}

/// Up to where the arm has read ahead.
fn passed(ahead: &ReadAhead, now: Tick, rate: u64, window: u64) -> u64 {
    let far = u128::from(now - ahead.since.min(now)) * u128::from(rate) / 1_000_000_000;
    let far = if rate == 0 { window } else { (far as u64).min(window) };
    ahead.stopped.unwrap_or(ahead.base + far)
}

impl Part for RotatingDisk {
    fn servers(&self) -> u32 {
        1
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        match request.kind {
            RequestKind::Write if self.figures.write_back => {
                if !self.no_room.is_empty() || !self.take_in(task, core) {
                    self.no_room.push_back(task);
                }
            }
            RequestKind::Flush if self.dirty_bytes > 0 => self.flushes.push(task),
            RequestKind::Read => {
                self.reads += 1;
                match self.ready_at(request, core.now) {
                    Some(at) => self.hit(task, at, core),
                    None => self.waiting.push_back(task),
                }
            }
            _ => self.waiting.push_back(task),
        }
        self.go_on(core);
    }

    /// `NONE`: the arm is done; a task: it is answered from the memory.
    fn event(&mut self, what: u32, core: &mut Core) {
        if what != NONE {
            return core.finish(what);
        }
        core.rests(self.place.number, 1);
        match self.work.take() {
            Some(Work::Task(task)) => {
                let DeviceRequest { kind, offset, bytes, .. } = core.request(task);
                if kind == RequestKind::Read && self.figures.read_ahead_bytes > 0 {
                    let (begin, base, since) = (offset, offset + bytes, core.now);
                    self.ahead = Some(ReadAhead { begin, base, since, stopped: None });
                }
                core.finish(task);
            }
            Some(Work::WriteBack(extent)) => self.written_back(extent, core),
            None => {}
        }
        self.go_on(core);
    }

    fn counts(&self) -> Vec<Count> {
        if self.figures.read_ahead_bytes > 0 {
            vec![("read hits", self.hits, self.reads)]
        } else {
            Vec::new()
        }
    }
}
