//! The memory of a client: reads of pages that are there are answered at once, the others wait for the device; writes are
//! answered from memory and written back later, and writers wait where too much is dirty.
//!
//! Source of the rules: `Documentation/admin-guide/sysctl/vm.rst` of Linux (dirty limits), and its read-ahead, which doubles
//! a window as long as reads follow each other. Left out: a flush writes back all pages, since a device knows no files.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use iodyno_model::device::PageCache;

use super::page_table::{PageHasher, PageTable};
use super::{Part, PartPlace, transfer_ns};
use crate::kernel::{Core, Count, DeviceRequest, NONE, RequestKind, TaskId};

/// What a task with a request behind it waits for.
const PASSED: u32 = 0;
const FETCH: u32 = 1;
const WRITE_BACK: u32 = 2;

/// The event of the part's own: some pages have been dirty for too long.
const EXPIRED: u32 = NONE - 1;

/// Sequential readers that are known at a time.
const STREAMS: usize = 64;
/// Pages that are read ahead at first.
const FIRST_WINDOW: u64 = 4;

/// Reads that follow each other.
#[derive(Clone, Copy, Debug)]
struct ReadStream {
    /// The page that the next one begins with.
    next: u64,
    /// Pages that are read ahead.
    window: u64,
    /// Pages before this one were asked for.
    ahead: u64,
}

pub(crate) struct ClientMemory {
    figures: PageCache,
    place: PartPlace,
    pages: PageTable,
    /// Those who wait for pages that are on their way.
    waiting: HashMap<u64, Vec<TaskId>, PageHasher>,
    streams: VecDeque<ReadStream>,
    /// Dirty pages, and since which flush they are.
    dirty: BTreeMap<u64, u64>,
    /// The same of those that are being written back.
    writing: BTreeMap<u64, u64>,
    /// Dirty pages, and those that are being written back, by the flush since which they are.
    ages: BTreeMap<u64, (u64, u64)>,
    /// Requests that write back.
    writes: u32,
    /// The page with which writing back goes on: it sweeps over the device.
    sweep: u64,
    /// Whether a time is set at which dirty pages expire.
    is_timed: bool,
    /// Pages that became dirty before this flush are written back though nobody waits.
    expired: u64,
    flushes: VecDeque<(TaskId, u64)>,
    flush: u64,
    throttled: VecDeque<TaskId>,
    hits: u64,
    asked: u64,
    read_ahead: u64,
    written_back: u64,
    waits: u64,
}

impl ClientMemory {
    pub(crate) fn new(figures: &PageCache, place: PartPlace) -> Self {
        ClientMemory {
            pages: PageTable::new(figures.pages() as usize, figures.policy),
            figures: figures.clone(),
            place,
            waiting: HashMap::default(),
            streams: VecDeque::new(),
            dirty: BTreeMap::new(),
            writing: BTreeMap::new(),
            ages: BTreeMap::new(),
            writes: 0,
            sweep: 0,
            is_timed: false,
            expired: 0,
            flushes: VecDeque::new(),
            flush: 1,
            throttled: VecDeque::new(),
            hits: 0,
            asked: 0,
            read_ahead: 0,
            written_back: 0,
            waits: 0,
        }
    }

    fn pages_of(&self, request: DeviceRequest) -> RangeInclusive<u64> {
        let page = self.figures.page_bytes;
        request.offset / page..=request.offset.saturating_add(request.bytes.max(1) - 1) / page
    }

    /// So many pages are a share of the memory, one at least.
    fn share(&self, percent: f64) -> usize {
        ((self.figures.pages() as f64 * percent / 100.0) as usize).max(1)
    }

    /// It is answered once memory has been read or written.
    fn answer(&self, task: TaskId, core: &mut Core) {
        let ns = self.figures.operation_ns + transfer_ns(core.request(task).bytes, self.figures.rate);
        core.at(core.now + ns.max(1), self.place.number, task);
    }

    fn pass_on(&self, task: TaskId, core: &mut Core) {
        core.task_mut(task).stage = PASSED;
        core.send(task, self.place.behind, core.request(task));
    }

    /// Asks the device for the pages of these that are neither there nor on their way.
    fn fetch(&mut self, pages: impl Iterator<Item = u64>, core: &mut Core) -> u64 {
        let (mut runs, mut fetched) = (Vec::<(u64, u64)>::new(), 0);
        for page in pages {
            if self.pages.find(page).is_some() {
                continue;
            }
            self.pages.insert(page);
            self.pages.pin(page, true);
            self.waiting.entry(page).or_default();
            fetched += 1;
            match runs.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => runs.push((page, 1)),
            }
        }
        for (first, count) in runs {
            self.ask(FETCH, RequestKind::Read, first, count, core);
        }
        fetched
    }

    /// A request of its own.
    fn ask(&self, stage: u32, kind: RequestKind, first: u64, count: u64, core: &mut Core) {
        let page = self.figures.page_bytes;
        let request =
            DeviceRequest { kind, offset: first * page, bytes: count * page, ..DeviceRequest::default() };
        let task = core.inner(self.place.number, request);
        core.task_mut(task).stage = stage;
        core.send(task, self.place.behind, request);
    }

    /// Lets a task wait for those of these pages that are on their way; whether there are any.
    fn wait(&mut self, task: TaskId, pages: impl Iterator<Item = u64>, core: &mut Core) -> bool {
        let mut count = 0;
        for page in pages {
            if let Some(waiting) = self.waiting.get_mut(&page) {
                waiting.push(task);
                count += 1;
            }
        }
        core.task_mut(task).stage = count;
        count > 0
    }

    fn read(&mut self, task: TaskId, core: &mut Core) {
        let pages = self.pages_of(core.request(task));
        for page in pages.clone() {
            self.asked += 1;
            if self.pages.find(page).is_some() {
                self.hits += u64::from(!self.waiting.contains_key(&page));
                self.pages.touch(page);
            }
        }
        self.fetch(pages.clone(), core);
        self.look_ahead(&pages, core);
        if !self.wait(task, pages, core) {
            self.answer(task, core);
        }
    }

    /// Where a read goes on where an earlier one ended, what follows is fetched before it is asked for.
    fn look_ahead(&mut self, pages: &RangeInclusive<u64>, core: &mut Core) {
        let most = self.figures.read_ahead_bytes / self.figures.page_bytes;
        if most == 0 {
            return;
        }
        let (first, next) = (*pages.start(), pages.end() + 1);
        // Reads that are shorter than a page come to the same one again.
        let known = self.streams.iter().position(|stream| stream.next == first || stream.next == first + 1);
        let Some(index) = known else {
            if self.streams.len() == STREAMS {
                self.streams.pop_front();
            }
            let window = FIRST_WINDOW.min(most) / 2;
            return self.streams.push_back(ReadStream { next, window, ahead: next });
        };
        let mut stream = self.streams[index];
        stream.next = next;
        if stream.ahead < next + stream.window / 2 + 1 {
            stream.window = (stream.window * 2).clamp(1, most);
            let end = match self.place.behind_bytes / self.figures.page_bytes {
                0 => next + stream.window,
                held => (next + stream.window).min(held),
            };
            let begin = stream.ahead.max(next);
            self.read_ahead += self.fetch(begin..end.max(begin), core);
            stream.ahead = end.max(begin);
        }
        self.streams[index] = stream;
    }

    /// A write finds room for its pages, or waits.
    fn write(&mut self, task: TaskId, core: &mut Core) {
        let count = self.pages_of(core.request(task)).count();
        let held = self.dirty.len() + self.writing.len();
        if held > 0 && held + count > self.share(self.figures.dirty_percent) {
            self.waits += 1;
            self.throttled.push_back(task);
            return self.write_back(core);
        }
        self.take_in(task, core);
    }

    /// Pages that are written in part must be there before.
    fn take_in(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        let pages = self.pages_of(request);
        let (page, end) = (self.figures.page_bytes, request.offset + request.bytes);
        let first = (!request.offset.is_multiple_of(page)).then_some(*pages.start());
        let last = (!end.is_multiple_of(page)).then_some(*pages.end()).filter(|last| first != Some(*last));
        let parts = || first.into_iter().chain(last);
        self.fetch(parts(), core);
        if !self.wait(task, parts(), core) {
            self.written(task, core);
        }
    }

    /// The pages of a write are dirty.
    fn written(&mut self, task: TaskId, core: &mut Core) {
        for page in self.pages_of(core.request(task)) {
            self.pages.insert(page);
            self.pages.touch(page);
            if let Entry::Vacant(clean) = self.dirty.entry(page) {
                clean.insert(self.flush);
                self.ages.entry(self.flush).or_default().0 += 1;
            }
            self.pages.pin(page, true);
        }
        if !self.is_timed {
            self.is_timed = true;
            core.at(core.now + self.figures.dirty_expire_ns, self.place.number, EXPIRED);
        }
        self.answer(task, core);
        self.write_back(core);
    }

    /// Whether pages are to be written back at present.
    fn is_pressed(&self) -> bool {
        let waited = self.flushes.back().map_or(0, |(_, flush)| *flush);
        let oldest = self.expired.max(waited);
        self.dirty.len() > self.share(self.figures.dirty_background_percent)
            || !self.throttled.is_empty()
            || self.ages.range(..=oldest).any(|(_, (dirty, _))| *dirty > 0)
    }

    /// Writes back runs of dirty pages, in order of their addresses.
    fn write_back(&mut self, core: &mut Core) {
        let most = (self.figures.write_most_bytes / self.figures.page_bytes).max(1);
        while self.writes < self.figures.write_queue && !self.dirty.is_empty() && self.is_pressed() {
            let is_free = |page: &u64| !self.writing.contains_key(page);
            let onward = self.dirty.range(self.sweep..).map(|(page, _)| *page);
            let found = onward.chain(self.dirty.range(..self.sweep).map(|(page, _)| *page)).find(is_free);
            // A page that is being written is not written again before.
            let Some(first) = found else { return };
            let mut count = 0;
            while count < most && !self.writing.contains_key(&(first + count)) {
                let Some(flush) = self.dirty.remove(&(first + count)) else { break };
                self.writing.insert(first + count, flush);
                let age = self.ages.entry(flush).or_default();
                *age = (age.0 - 1, age.1 + 1);
                count += 1;
            }
            self.sweep = first + count;
            self.writes += 1;
            self.written_back += count * self.figures.page_bytes;
            self.ask(WRITE_BACK, RequestKind::Write, first, count, core);
        }
    }

    /// Drops pages, dirty or not: what they held was given up, or is newer on the device.
    fn discard(&mut self, request: DeviceRequest, core: &mut Core) {
        let pages = self.pages_of(request);
        for page in self.pages.within(&pages) {
            if let Some(flush) = self.dirty.remove(&page) {
                let age = self.ages.entry(flush).or_default();
                age.0 -= 1;
                if *age == (0, 0) {
                    self.ages.remove(&flush);
                }
                if !self.writing.contains_key(&page) {
                    self.pages.pin(page, false);
                }
            }
            self.pages.forget(page);
        }
        self.flushed(core);
    }

    /// Flushes whose pages are all on the device go on to it.
    fn flushed(&mut self, core: &mut Core) {
        while let Some((task, flush)) = self.flushes.front().copied() {
            if self.ages.range(..=flush).next().is_some() {
                return;
            }
            self.flushes.pop_front();
            self.pass_on(task, core);
        }
    }

    /// Pages that were on their way are there.
    fn fetched(&mut self, request: DeviceRequest, core: &mut Core) {
        for page in self.pages_of(request) {
            if !self.dirty.contains_key(&page) && !self.writing.contains_key(&page) {
                self.pages.pin(page, false);
            }
            for task in self.waiting.remove(&page).unwrap_or_default() {
                let left = &mut core.task_mut(task).stage;
                *left -= 1;
                if *left == 0 {
                    match core.request(task).kind {
                        RequestKind::Write => self.written(task, core),
                        _ => self.answer(task, core),
                    }
                }
            }
        }
    }

    /// Pages that were dirty are on the device.
    fn cleaned(&mut self, request: DeviceRequest, core: &mut Core) {
        self.writes -= 1;
        for page in self.pages_of(request) {
            if let Some(flush) = self.writing.remove(&page) {
                let age = self.ages.entry(flush).or_default();
                age.1 -= 1;
                if *age == (0, 0) {
                    self.ages.remove(&flush);
                }
            }
            if !self.dirty.contains_key(&page) {
                self.pages.pin(page, false);
            }
        }
        self.flushed(core);
        for _ in 0..self.throttled.len() {
            let Some(task) = self.throttled.front().copied() else { break };
            let count = self.pages_of(core.request(task)).count();
            let held = self.dirty.len() + self.writing.len();
            if held > 0 && held + count > self.share(self.figures.dirty_percent) {
                break;
            }
            self.throttled.pop_front();
            self.take_in(task, core);
        }
        self.write_back(core);
    }
}

impl Part for ClientMemory {
    fn servers(&self) -> u32 {
        1
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        let request = core.request(task);
        match request.kind {
            RequestKind::Read if !request.direct => self.read(task, core),
            RequestKind::Write if !request.direct && !request.durable => self.write(task, core),
            RequestKind::Write if !request.direct => {
                self.pages_of(request).for_each(|page| self.pages.insert(page));
                self.pass_on(task, core);
            }
            RequestKind::Write | RequestKind::Trim => {
                self.discard(request, core);
                self.pass_on(task, core);
            }
            RequestKind::Flush => {
                self.flushes.push_back((task, self.flush));
                self.flush += 1;
                self.flushed(core);
                self.write_back(core);
            }
            RequestKind::Read | RequestKind::Metadata => self.pass_on(task, core),
        }
    }

    fn event(&mut self, what: u32, core: &mut Core) {
        if what != EXPIRED {
            return core.finish(what);
        }
        self.is_timed = !self.dirty.is_empty();
        self.expired = self.flush;
        self.flush += 1;
        if self.is_timed {
            core.at(core.now + self.figures.dirty_expire_ns, self.place.number, EXPIRED);
        }
        self.write_back(core);
    }

    fn returned(&mut self, task: TaskId, request: DeviceRequest, core: &mut Core) {
        let stage = core.task(task).stage;
        core.finish(task);
        match stage {
            FETCH => self.fetched(request, core),
            WRITE_BACK => self.cleaned(request, core),
            _ => {}
        }
    }

    fn counts(&self) -> Vec<Count> {
        vec![
            ("page hits", self.hits, self.asked),
            ("pages read ahead", self.read_ahead, 0),
            ("bytes written back", self.written_back, 0),
            ("waits for dirty pages", self.waits, 0),
        ]
    }
}
