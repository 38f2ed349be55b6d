//! A RAID controller: where bytes lie on its disks, what a write costs there, and a memory that answers writes early.
//!
//! Chunks of levels 5 and 6 lie left-symmetric: parity wanders from the last disk to the first, data follows it.
//! A write of a whole stripe only writes; a smaller one reads what it replaces and the old parity first.

use std::collections::VecDeque;

use iodyno_model::device::{Raid, RaidLevel};

use super::station::Servers;
use super::{Part, PartPlace, transfer_ns};
use crate::Tick;
use crate::kernel::{Core, Count, DeviceRequest, NONE, RequestKind, TaskId};

/// What a task waits for.
const PROCESSOR: u32 = 0;
const READS: u32 = 1;
const WRITES: u32 = 2;
const ANSWER: u32 = 3;
/// Work of its own: a write from the memory, a step of the rebuild.
const DESTAGE_READS: u32 = 4;
const DESTAGE_WRITES: u32 = 5;
const REBUILD_READS: u32 = 6;
const REBUILD_WRITES: u32 = 7;

/// The next step of the rebuild is due.
const REBUILD: u32 = NONE - 1;
/// Answers have been collected for as long as they may be.
const INTERRUPT: u32 = NONE;

/// Bytes that lie together on one disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    disk: u32,
    row: u64,
    /// On the disk.
    offset: u64,
    bytes: u64,
}

/// Requests to disks.
type DiskRequests = Vec<(u32, DeviceRequest)>;

pub(crate) struct RaidController {
    figures: Raid,
    place: PartPlace,
    processor: Servers,
    /// Written data that was answered, by the disk or row that it belongs to.
    dirty: Vec<VecDeque<(u64, u64)>>,
    dirty_bytes: u64,
    /// Writes from the memory that each of these lists has on its way.
    destaging: Vec<u32>,
    no_room: VecDeque<TaskId>,
    flushes: Vec<TaskId>,
    /// Answers that wait for the interrupt.
    answers: Vec<TaskId>,
    /// When it comes; answers of a later time have another one.
    interrupt_at: Tick,
    /// The mirror that is read next.
    mirror: u32,
    /// The bytes of a failed disk that are rebuilt.
    rebuilt: u64,
    full_stripes: u64,
    partial_stripes: u64,
    early: u64,
    writes: u64,
}

impl RaidController {
    pub(crate) fn new(figures: &Raid, place: PartPlace) -> Self {
        let lists = figures.disks as usize;
        RaidController {
            processor: Servers::new(1),
            dirty: vec![VecDeque::new(); lists],
            dirty_bytes: 0,
            destaging: vec![0; lists],
            no_room: VecDeque::new(),
            flushes: Vec::new(),
            answers: Vec::new(),
            interrupt_at: 0,
            mirror: 0,
            rebuilt: 0,
            full_stripes: 0,
            partial_stripes: 0,
            early: 0,
            writes: 0,
            figures: figures.clone(),
            place,
        }
    }

    fn is_failed(&self, disk: u32) -> bool {
        // One disk of each pair at most.
        match self.figures.level {
            RaidLevel::StripedMirror => disk.is_multiple_of(2) && disk / 2 < self.figures.failed,
            _ => disk < self.figures.failed,
        }
    }

    fn has_parity(&self) -> bool {
        matches!(self.figures.level, RaidLevel::Parity | RaidLevel::DoubleParity)
    }

    /// Chunks of a row that hold data.
    fn width(&self) -> u64 {
        match self.figures.level {
            RaidLevel::Mirror => 1,
            _ => u64::from(self.figures.data_disks()),
        }
    }

    /// The disk of a row that its first parity lies on.
    fn parity(&self, row: u64) -> u32 {
        let disks = u64::from(self.figures.disks);
        (disks - 1 - row % disks) as u32
    }

    /// Where a place lies.
    fn segment(&self, offset: u64, bytes: u64) -> Segment {
        let chunk_bytes = self.figures.chunk_bytes;
        let (chunk, within) = (offset / chunk_bytes, offset % chunk_bytes);
        let (row, index) = (chunk / self.width(), (chunk % self.width()) as u32);
        let disks = self.figures.disks;
        let disk = match self.figures.level {
            RaidLevel::Stripe => index,
            RaidLevel::Mirror => 0,
            RaidLevel::StripedMirror => 2 * index,
            RaidLevel::Parity => (self.parity(row) + 1 + index) % disks,
            RaidLevel::DoubleParity => (self.parity(row) + 2 + index) % disks,
        };
        Segment { disk, row, offset: row * chunk_bytes + within, bytes }
    }

    /// The segments of a request.
    fn segments(&self, DeviceRequest { offset, bytes, .. }: DeviceRequest) -> Vec<Segment> {
        let chunk_bytes = self.figures.chunk_bytes;
        let (mut at, end, mut all) = (offset, offset.saturating_add(bytes), Vec::new());
        while at < end {
            let part = (chunk_bytes - at % chunk_bytes).min(end - at);
            all.push(self.segment(at, part));
            at += part;
        }
        all
    }

    fn on(&self, disk: u32, kind: RequestKind, offset: u64, bytes: u64) -> (u32, DeviceRequest) {
        (self.place.behind + disk, DeviceRequest { kind, offset, bytes, ..DeviceRequest::default() })
    }

    /// The next mirror of those that are whole.
    fn next_mirror(&mut self, mirrors: std::ops::Range<u32>) -> u32 {
        let whole: Vec<u32> = mirrors.filter(|disk| !self.is_failed(*disk)).collect();
        self.mirror = self.mirror.wrapping_add(1);
        whole[self.mirror as usize % whole.len().max(1)]
    }

    /// What a read asks of the disks.
    fn reads(&mut self, request: DeviceRequest) -> DiskRequests {
        let mut all = DiskRequests::new();
        for segment in self.segments(request) {
            let Segment { disk, offset, bytes, .. } = segment;
            match self.figures.level {
                RaidLevel::Mirror => {
                    let disk = self.next_mirror(0..self.figures.disks);
                    all.push(self.on(disk, request.kind, offset, bytes));
                }
                RaidLevel::StripedMirror => {
                    let disk = self.next_mirror(disk..disk + 2);
                    all.push(self.on(disk, request.kind, offset, bytes));
                }
                _ if self.is_failed(disk) => all.extend(self.others(disk, offset, bytes)),
                _ => all.push(self.on(disk, request.kind, offset, bytes)),
            }
        }
        all
    }

    /// Reads from which a lost segment is computed: as many other chunks of its row as hold data.
    fn others(&self, lost: u32, offset: u64, bytes: u64) -> DiskRequests {
        let whole = (0..self.figures.disks).filter(|disk| *disk != lost && !self.is_failed(*disk));
        let enough = whole.take(self.width() as usize);
        enough.map(|disk| self.on(disk, RequestKind::Read, offset, bytes)).collect()
    }

    /// What a write reads first, and what it writes then.
    fn writes(&self, request: DeviceRequest) -> (DiskRequests, DiskRequests, [u64; 2]) {
        let (mut first, mut then, mut stripes) = (DiskRequests::new(), DiskRequests::new(), [0; 2]);
        let segments = self.segments(request);
        let write = |disk: u32, offset: u64, bytes: u64| self.on(disk, request.kind, offset, bytes);
        for row in segments.chunk_by(|a, b| a.row == b.row) {
            if self.has_parity() {
                self.row(row, &mut first, &mut then, &mut stripes);
                continue;
            }
            for Segment { disk, offset, bytes, .. } in row.iter().copied() {
                let disks = match self.figures.level {
                    RaidLevel::Mirror => 0..self.figures.disks,
                    RaidLevel::StripedMirror => disk..disk + 2,
                    _ => disk..disk + 1,
                };
                then.extend(
                    disks.filter(|disk| !self.is_failed(*disk)).map(|disk| write(disk, offset, bytes)),
                );
            }
        }
        (first, then, stripes)
    }

    /// The same for one row of a level with parity.
    fn row(
        &self,
        row: &[Segment],
        first: &mut DiskRequests,
        then: &mut DiskRequests,
        stripes: &mut [u64; 2],
    ) {
        let chunk_bytes = self.figures.chunk_bytes;
        let begin = row.iter().map(|segment| segment.offset).min().unwrap_or(0);
        let end = row.iter().map(|segment| segment.offset + segment.bytes).max().unwrap_or(begin);
        let parities = self.figures.disks - self.width() as u32;
        let parity: Vec<u32> =
            (0..parities).map(|index| (self.parity(row[0].row) + index) % self.figures.disks).collect();
        let is_full =
            row.len() as u64 == self.width() && row.iter().all(|segment| segment.bytes == chunk_bytes);
        stripes[usize::from(!is_full)] += 1;
        let mut lost = false;
        for Segment { disk, offset, bytes, .. } in row.iter().copied() {
            if self.is_failed(disk) {
                lost = true;
                continue;
            }
            if !is_full {
                first.push(self.on(disk, RequestKind::Read, offset, bytes));
            }
            then.push(self.on(disk, RequestKind::Write, offset, bytes));
        }
        if lost && !is_full {
            // Parity of what cannot be read again is computed from all the others.
            let data = (0..self.figures.disks).filter(|disk| {
                !parity.contains(disk) && !self.is_failed(*disk) && !row.iter().any(|one| one.disk == *disk)
            });
            first.extend(data.map(|disk| self.on(disk, RequestKind::Read, begin, end - begin)));
        }
        for disk in parity.into_iter().filter(|disk| !self.is_failed(*disk)) {
            if !is_full && !lost {
                first.push(self.on(disk, RequestKind::Read, begin, end - begin));
            }
            then.push(self.on(disk, RequestKind::Write, begin, end - begin));
        }
    }

    fn send_all(task: TaskId, requests: DiskRequests, core: &mut Core) {
        requests.into_iter().for_each(|(disk, request)| core.send(task, disk, request));
    }

    /// The controller has looked at a request.
    fn process(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        match request.kind {
            RequestKind::Read => {
                core.task_mut(task).stage = WRITES;
                let reads = self.reads(request);
                Self::send_all(task, reads, core);
            }
            RequestKind::Write => {
                self.writes += 1;
                if self.figures.cache_bytes > 0 && self.figures.battery {
                    if !self.no_room.is_empty() || !self.take_in(task, core) {
                        self.no_room.push_back(task);
                    }
                } else {
                    self.write_through(task, READS, core);
                }
            }
            // What is in the memory survives; what is on the disks must leave their memories.
            RequestKind::Flush if self.figures.cache_bytes > 0 && self.figures.battery => {
                self.answer(task, core)
            }
            RequestKind::Flush => {
                core.task_mut(task).stage = WRITES;
                let whole = (0..self.figures.disks).filter(|disk| !self.is_failed(*disk));
                let all = whole.map(|disk| self.on(disk, RequestKind::Flush, 0, 0)).collect();
                Self::send_all(task, all, core);
            }
            RequestKind::Trim => {
                core.task_mut(task).stage = WRITES;
                let writes = self.writes(request).1;
                Self::send_all(task, writes, core);
            }
            RequestKind::Metadata => self.answer(task, core),
        }
        if core.task(task).stage == WRITES && core.task(task).waits == 0 {
            self.answer(task, core);
        }
    }

    /// Reads what must be read first, else writes at once.
    fn write_through(&mut self, task: TaskId, stage: u32, core: &mut Core) {
        let (first, then, stripes) = self.writes(core.request(task));
        self.full_stripes += stripes[0];
        self.partial_stripes += stripes[1];
        let is_read = !first.is_empty();
        core.task_mut(task).stage = if is_read { stage } else { stage + 1 };
        Self::send_all(task, if is_read { first } else { then }, core);
    }

    /// A write goes into the memory, if there is room.
    fn take_in(&mut self, task: TaskId, core: &mut Core) -> bool {
        let request = core.request(task);
        if self.dirty_bytes > 0 && self.dirty_bytes + request.bytes > self.figures.cache_bytes {
            return false;
        }
        self.dirty_bytes += request.bytes;
        self.early += 1;
        let unit = if self.has_parity() {
            self.figures.chunk_bytes * self.width()
        } else {
            self.figures.chunk_bytes
        };
        let (mut at, end) = (request.offset, request.offset.saturating_add(request.bytes));
        while at < end {
            let bytes = (unit - at % unit).min(end - at);
            let segment = self.segment(at, bytes);
            let list = if self.has_parity() { segment.row as u32 % self.figures.disks } else { segment.disk };
            let list = &mut self.dirty[list as usize];
            match list.back_mut() {
                // What follows in the same stripe is written with it.
                Some((offset, joined)) if *offset + *joined == at && *offset / unit == at / unit => {
                    *joined += bytes
                }
                _ => list.push_back((at, bytes)),
            }
            at += bytes;
        }
        self.answer(task, core);
        self.destage(core);
        true
    }

    /// Gives the disks writes from the memory.
    fn destage(&mut self, core: &mut Core) {
        for list in 0..self.dirty.len() {
            while self.destaging[list] < self.figures.destage
                && let Some((offset, bytes)) = self.dirty[list].pop_front()
            {
                self.destaging[list] += 1;
                let task = core.inner(
                    self.place.number,
                    DeviceRequest { kind: RequestKind::Write, offset, bytes, ..DeviceRequest::default() },
                );
                self.write_through(task, DESTAGE_READS, core);
                if core.task(task).waits == 0 {
                    self.destaged(task, core);
                }
            }
        }
    }

    fn destaged(&mut self, task: TaskId, core: &mut Core) {
        let DeviceRequest { offset, bytes, .. } = core.request(task);
        core.finish(task);
        let segment = self.segment(offset, bytes);
        let list = if self.has_parity() { segment.row as u32 % self.figures.disks } else { segment.disk };
        self.destaging[list as usize] -= 1;
        self.dirty_bytes -= bytes;
        while let Some(task) = self.no_room.front().copied() {
            if !self.take_in(task, core) {
                break;
            }
            self.no_room.pop_front();
        }
        if self.dirty_bytes == 0 {
            std::mem::take(&mut self.flushes).into_iter().for_each(|task| self.answer(task, core));
        }
    }

    fn answer(&mut self, task: TaskId, core: &mut Core) {
        core.task_mut(task).stage = ANSWER;
        core.at(core.now + self.figures.answer_ns.max(1), self.place.number, task);
    }

    /// An answer has come to the host; several share an interrupt.
    fn collect(&mut self, task: TaskId, core: &mut Core) {
        if self.figures.coalesced <= 1 {
            return core.finish(task);
        }
        if self.answers.is_empty() {
            self.interrupt_at = core.now + self.figures.coalesced_for_ns;
            core.at(self.interrupt_at, self.place.number, INTERRUPT);
        }
        self.answers.push(task);
        if self.answers.len() >= self.figures.coalesced as usize {
            std::mem::take(&mut self.answers).into_iter().for_each(|task| core.finish(task));
        }
    }

    /// One chunk of a failed disk is computed from the others and written.
    fn rebuild(&mut self, core: &mut Core) {
        let bytes = self.figures.chunk_bytes;
        if self.rebuilt >= self.place.behind_bytes {
            return;
        }
        let offset = self.rebuilt;
        self.rebuilt += bytes;
        let task = core.inner(
            self.place.number,
            DeviceRequest { kind: RequestKind::Write, offset, bytes, ..DeviceRequest::default() },
        );
        core.task_mut(task).stage = REBUILD_READS;
        let reads = match self.figures.level {
            RaidLevel::Mirror => vec![self.on(self.figures.failed, RequestKind::Read, offset, bytes)],
            RaidLevel::StripedMirror => vec![self.on(1, RequestKind::Read, offset, bytes)],
            _ => self.others(0, offset, bytes),
        };
        Self::send_all(task, reads, core);
        let next = transfer_ns(bytes, self.figures.rebuild_rate).max(1);
        core.at(core.now + next, self.place.number, REBUILD);
    }
}

impl Part for RaidController {
    fn servers(&self) -> u32 {
        1
    }

    fn start(&mut self, core: &mut Core) {
        if self.figures.rebuild_rate > 0 {
            core.at(0, self.place.number, REBUILD);
        }
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        if self.processor.take(task, self.place.number, core) {
            core.at(core.now + self.figures.command_ns.max(1), self.place.number, task);
        }
    }

    fn event(&mut self, what: u32, core: &mut Core) {
        match what {
            REBUILD => return self.rebuild(core),
            INTERRUPT => {
                if core.now >= self.interrupt_at {
                    std::mem::take(&mut self.answers).into_iter().for_each(|task| core.finish(task));
                }
                return;
            }
            _ => {}
        }
        if core.task(what).stage == ANSWER {
            return self.collect(what, core);
        }
        debug_assert_eq!(core.task(what).stage, PROCESSOR);
        if let Some(next) = self.processor.release(self.place.number, core) {
            core.at(core.now + self.figures.command_ns.max(1), self.place.number, next);
        }
        self.process(what, core);
    }

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        if core.task(task).waits > 0 {
            return;
        }
        match core.task(task).stage {
            stage @ (READS | DESTAGE_READS) => {
                core.task_mut(task).stage = stage + 1;
                let then = self.writes(core.request(task)).1;
                Self::send_all(task, then, core);
            }
            DESTAGE_WRITES => self.destaged(task, core),
            REBUILD_READS => {
                core.task_mut(task).stage = REBUILD_WRITES;
                let DeviceRequest { offset, bytes, .. } = core.request(task);
                let (disk, write) = self.on(0, RequestKind::Write, offset, bytes);
                core.send(task, disk, write);
            }
            REBUILD_WRITES => core.finish(task),
            _ => self.answer(task, core),
        }
    }

    fn counts(&self) -> Vec<Count> {
        let mut counts = Vec::new();
        if self.figures.cache_bytes > 0 && self.figures.battery {
            counts.push(("writes answered from memory", self.early, 0));
        }
        if self.has_parity() {
            counts.push(("whole stripes written", self.full_stripes, 0));
            counts.push(("partial stripes written", self.partial_stripes, 0));
        }
        if self.figures.rebuild_rate > 0 {
            counts.push(("bytes rebuilt", self.rebuilt, 0));
        }
        counts
    }
}
