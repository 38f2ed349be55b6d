//! A storage server: a thread works on a request until it is answered; reads of what was read or written lately are
//! answered from memory.
//!
//! The cache is simulated line by line in sets of eight, each of which drops the line that was used longest ago: an LRU
//! cache but for a few percent, in memory that is bounded by the number of lines.

use std::collections::VecDeque;

use iodyno_model::device::Server;

use super::station::Servers;
use super::{Part, PartPlace, drawn};
use crate::kernel::{Core, Count, DeviceRequest, NONE, RequestKind, TaskId};
use crate::random::mix;

/// Lines of a set.
const WAYS: usize = 8;

/// What a task waits for.
const THREAD: u32 = 0;
const BEHIND: u32 = 1;

struct LineCache {
    line_bytes: u64,
    /// Lines of each set, the one used last first; 0: none.
    lines: Vec<u64>,
}

impl LineCache {
    fn new(bytes: u64, line_bytes: u64) -> Self {
        let sets = (bytes / line_bytes.max(1)) as usize / WAYS;
        LineCache { line_bytes: line_bytes.max(1), lines: vec![0; sets * WAYS] }
    }

    /// Whether all lines of these bytes were there; afterwards they are.
    fn touch(&mut self, offset: u64, bytes: u64) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let (first, last) =
            (offset / self.line_bytes, offset.saturating_add(bytes.max(1) - 1) / self.line_bytes);
        let sets = (self.lines.len() / WAYS) as u64;
        let mut all = true;
        for line in first..=last {
            let set = (mix(line) % sets) as usize * WAYS;
            let set = &mut self.lines[set..set + WAYS];
            let found = set.iter().position(|known| *known == line + 1);
            all &= found.is_some();
            set[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
            set[0] = line + 1;
        }
        all
    }
}

pub(crate) struct StorageServer {
    figures: Server,
    place: PartPlace,
    threads: Servers,
    cache: LineCache,
    /// Answered writes that are on their way to the part behind, bytes.
    dirty_bytes: u64,
    /// Writes that wait for room in the memory.
    no_room: VecDeque<TaskId>,
    flushes: Vec<TaskId>,
    hits: u64,
    reads: u64,
}

impl StorageServer {
    pub(crate) fn new(figures: &Server, place: PartPlace) -> Self {
        StorageServer {
            threads: Servers::new(figures.threads),
            cache: LineCache::new(figures.cache_bytes, figures.line_bytes),
            figures: figures.clone(),
            place,
            dirty_bytes: 0,
            no_room: VecDeque::new(),
            flushes: Vec::new(),
            hits: 0,
            reads: 0,
        }
    }

    fn work(&mut self, task: TaskId, core: &mut Core) {
        let mean = match core.request(task).kind {
            RequestKind::Metadata => self.figures.metadata_ns,
            _ => self.figures.operation_ns,
        };
        let ns = drawn(mean, self.figures.variation, &mut core.random).max(1);
        core.at(core.now + ns, self.place.number, task);
    }

    /// The thread is free for the next.
    fn leave(&mut self, task: TaskId, core: &mut Core) {
        core.finish(task);
        self.let_go(core);
    }

    fn let_go(&mut self, core: &mut Core) {
        if let Some(next) = self.threads.release(self.place.number, core) {
            self.work(next, core);
        }
    }

    fn pass_on(&mut self, task: TaskId, core: &mut Core) {
        core.task_mut(task).stage = BEHIND;
        core.send(task, self.place.behind, core.request(task));
    }

    /// A write is answered from memory, if there is room; it goes on to the part behind by itself.
    fn take_in(&mut self, task: TaskId, core: &mut Core) -> bool {
        let request = core.request(task);
        if self.dirty_bytes > 0 && self.dirty_bytes + request.bytes > self.figures.cache_bytes {
            return false;
        }
        self.dirty_bytes += request.bytes;
        core.send(task, self.place.behind, request);
        // The task stays until the part behind has answered, though its sender goes on.
        core.finish(task);
        true
    }
}

impl Part for StorageServer {
    fn servers(&self) -> u32 {
        self.figures.threads
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        if self.threads.take(task, self.place.number, core) {
            self.work(task, core);
        }
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        if task == NONE {
            return;
        }
        debug_assert_eq!(core.task(task).stage, THREAD);
        let DeviceRequest { kind, offset, bytes, .. } = core.request(task);
        match kind {
            RequestKind::Metadata => self.leave(task, core),
            RequestKind::Read => {
                self.reads += 1;
                if self.cache.touch(offset, bytes) {
                    self.hits += 1;
                    self.leave(task, core);
                } else {
                    self.pass_on(task, core);
                }
            }
            RequestKind::Write => {
                self.cache.touch(offset, bytes);
                if !self.figures.write_back {
                    self.pass_on(task, core);
                } else if self.no_room.is_empty() && self.take_in(task, core) {
                    self.let_go(core);
                } else {
                    self.no_room.push_back(task);
                }
            }
            RequestKind::Flush if self.dirty_bytes > 0 => self.flushes.push(task),
            RequestKind::Flush | RequestKind::Trim => self.pass_on(task, core),
        }
    }

    fn returned(&mut self, task: TaskId, _request: DeviceRequest, core: &mut Core) {
        self.leave(task, core);
    }

    fn late(&mut self, request: DeviceRequest, core: &mut Core) {
        self.dirty_bytes -= request.bytes;
        while let Some(task) = self.no_room.front().copied() {
            if !self.take_in(task, core) {
                break;
            }
            self.no_room.pop_front();
            self.let_go(core);
        }
        if self.dirty_bytes == 0 {
            for task in std::mem::take(&mut self.flushes) {
                self.pass_on(task, core);
            }
        }
    }

    fn counts(&self) -> Vec<Count> {
        if self.figures.cache_bytes > 0 { vec![("read hits", self.hits, self.reads)] } else { Vec::new() }
    }
}
