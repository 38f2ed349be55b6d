//! A solid-state disk: dies behind channels, a write buffer, garbage that is collected beside the writes, an SLC cache.
//!
//! A read goes to the die that its page's number says, so that neighbours lie side by side; what is programmed goes to the
//! dies in turn. Small writes are collected to pages in the buffer. What collection costs is spread over the writes until
//! the next block is needed.

use std::collections::VecDeque;

use iodyno_model::device::{Ssd, SsdState};

use super::flash_map::{BLOCK_UNITS, FlashMap};
use super::{Lane, Part, PartPlace, transfer_ns};
use crate::Tick;
use crate::kernel::{Core, Count, DeviceRequest, RequestKind, TaskId};
use crate::random::Random;

/// What is mapped on its own.
const SECTOR: u64 = 4096;

#[derive(Clone, Copy, Debug)]
struct Die {
    lane: Lane,
    /// The page that its register holds; `u64::MAX`: none.
    register: u64,
}

pub(crate) struct SolidStateDisk {
    figures: Ssd,
    place: PartPlace,
    dies: Vec<Die>,
    channels: Vec<Lane>,
    map: FlashMap,
    /// Sectors that a unit of the map stands for.
    unit_sectors: u64,
    /// Sectors that were written since the map was touched.
    since_map: u64,
    /// Sectors that are still to be moved to make room, and over how many written ones.
    debt: u64,
    debt_over: u64,
    /// The part of a page that was moved and not programmed yet, in sectors; of those written the same.
    moved_part: u64,
    written_part: u64,
    /// The die that is programmed next.
    next_die: usize,
    /// When each page in the buffer is programmed, oldest first.
    buffer: VecDeque<Tick>,
    buffer_pages: usize,
    slc_used: u64,
    last: Tick,
    /// Sectors written by the user, and programmed for it.
    written: u64,
    programmed: u64,
}

impl SolidStateDisk {
    pub(crate) fn new(figures: &Ssd, place: PartPlace, most_units: u64, random: &mut Random) -> Self {
        let sectors = (figures.capacity_bytes / SECTOR).max(1);
        let unit_sectors = sectors.div_ceil(most_units.clamp(1 << 10, 1 << 18));
        let units = sectors.div_ceil(unit_sectors).max(1);
        let mut map = FlashMap::new(units as u32, figures.over_provisioning_percent / 100.0);
        match figures.state {
            SsdState::Erased => {}
            SsdState::Filled => map.fill(),
            SsdState::Worn => map.wear(random),
        }
        let dies = figures.all_dies() as usize;
        SolidStateDisk {
            dies: vec![Die { lane: Lane::default(), register: u64::MAX }; dies],
            channels: vec![Lane::default(); figures.channels as usize],
            map,
            unit_sectors,
            since_map: 0,
            debt: 0,
            debt_over: 0,
            moved_part: 0,
            written_part: 0,
            next_die: 0,
            buffer: VecDeque::new(),
            buffer_pages: (figures.buffer_bytes / figures.page_bytes) as usize,
            slc_used: 0,
            last: 0,
            written: 0,
            programmed: 0,
            figures: figures.clone(),
            place,
        }
    }

    fn page_sectors(&self) -> u64 {
        (self.figures.page_bytes / SECTOR).max(1)
    }

    fn channel_of(&self, die: usize) -> usize {
        die % self.channels.len()
    }

    fn unit_of(&self, offset: u64) -> u64 {
        (offset / SECTOR / self.unit_sectors).min(self.map.units() - 1)
    }

    /// When bytes of a page have been read from the flash.
    fn read_page(&mut self, page: u64, bytes: u64, from: Tick, core: &mut Core) -> Tick {
        let die = (page % self.dies.len() as u64) as usize;
        let channel = self.channel_of(die);
        let mut at = from;
        if self.dies[die].register != page {
            at = self.dies[die].lane.take(from, self.figures.read_ns);
            self.dies[die].register = page;
            core.works_for(self.place.number, self.figures.read_ns);
        } else {
            at = at.max(self.dies[die].lane.free);
        }
        self.channels[channel].take(at, transfer_ns(bytes, self.figures.channel_rate))
    }

    fn read(&mut self, DeviceRequest { offset, bytes, .. }: DeviceRequest, core: &mut Core) -> Tick {
        let (begin, page_bytes) = (core.now + self.figures.command_ns, self.figures.page_bytes);
        let (mut at, end, mut done) = (offset, offset.saturating_add(bytes), begin);
        while at < end {
            let part = (page_bytes - at % page_bytes).min(end - at);
            // What was never written is known without the flash.
            if self.map.is_mapped(self.unit_of(at)) {
                done = done.max(self.read_page(at / page_bytes, part, begin, core));
            }
            at += part;
        }
        done
    }

    /// A page is programmed, with what collection adds to it; when that is done.
    fn program(&mut self, from: Tick, core: &mut Core) -> Tick {
        let page_bytes = self.figures.page_bytes;
        let is_slc = self.slc_used < self.figures.slc_bytes;
        let program_ns = if is_slc { self.figures.slc_program_ns } else { self.figures.program_ns };
        if is_slc {
            self.slc_used += page_bytes;
        }
        self.pay(self.page_sectors(), from, core);
        self.program_die(program_ns, from, core)
    }

    fn program_die(&mut self, program_ns: u64, from: Tick, core: &mut Core) -> Tick {
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.len();
        let channel = self.channel_of(die);
        // The register takes the page while the die still works, and is programmed when it is free.
        let there = self.channels[channel]
            .take(from, transfer_ns(self.figures.page_bytes, self.figures.channel_rate));
        self.dies[die].register = u64::MAX;
        core.works_for(self.place.number, program_ns);
        self.programmed += self.page_sectors();
        self.dies[die].lane.take(there, program_ns)
    }

    /// Moves as much as so many written sectors owe.
    fn pay(&mut self, sectors: u64, from: Tick, core: &mut Core) {
        if self.debt == 0 {
            return;
        }
        let owed = (self.debt * sectors).div_ceil(self.debt_over.max(sectors)).min(self.debt);
        self.debt -= owed;
        self.debt_over = self.debt_over.saturating_sub(sectors);
        self.move_sectors(owed, from, core);
    }

    fn move_sectors(&mut self, sectors: u64, from: Tick, core: &mut Core) {
        self.moved_part += sectors;
        while self.moved_part >= self.page_sectors() {
            self.moved_part -= self.page_sectors();
            let ns = self.figures.read_ns + self.figures.program_ns;
            self.program_die(ns, from, core);
        }
    }

    /// The map follows the user's writes: a unit for as many sectors as it stands for.
    fn follow(&mut self, offset: u64, core: &mut Core) {
        self.since_map += 1;
        if self.since_map < self.unit_sectors {
            return;
        }
        self.since_map = 0;
        let moved = self.map.write(self.unit_of(offset)) * self.unit_sectors;
        if moved > 0 {
            self.debt += moved;
            // Until the next block is needed.
            let block = u64::from(BLOCK_UNITS) * self.unit_sectors;
            self.debt_over = block.saturating_sub(moved % block).max(self.unit_sectors);
            let block_sectors = u64::from(self.figures.block_pages) * self.page_sectors();
            let erases = (block / block_sectors).max(1);
            let dies = self.dies.len() as u64;
            for _ in 0..erases.min(dies) {
                let die = self.next_die;
                self.dies[die].lane.take(core.now, self.figures.erase_ns * erases.div_ceil(dies));
                self.next_die = (die + 1) % self.dies.len();
            }
        }
    }

    fn write(&mut self, DeviceRequest { offset, bytes, .. }: DeviceRequest, core: &mut Core) -> Tick {
        let begin = core.now + self.figures.command_ns;
        let sectors = bytes.div_ceil(SECTOR).max(1);
        let mut done = begin;
        for sector in 0..sectors {
            self.written += 1;
            self.follow(offset + sector * SECTOR, core);
            self.written_part += 1;
            let is_whole = self.written_part >= self.page_sectors();
            if self.buffer_pages == 0 && (is_whole || sector + 1 == sectors) {
                self.written_part = 0;
                done = done.max(self.program(begin, core));
            } else if self.buffer_pages > 0 {
                done = done.max(self.buffered(is_whole, begin, core));
            }
        }
        done
    }

    /// A sector goes into the buffer when there is room; a whole page leaves it for the flash.
    fn buffered(&mut self, is_whole: bool, begin: Tick, core: &mut Core) -> Tick {
        while self.buffer.front().is_some_and(|programmed| *programmed <= begin) {
            self.buffer.pop_front();
        }
        // The place that becomes free when the page before so many others is programmed.
        let over = (self.buffer.len() + 1).saturating_sub(self.buffer_pages);
        let room = if over > 0 { self.buffer.get(over - 1).copied().unwrap_or(begin) } else { begin };
        if is_whole {
            self.written_part = 0;
            let programmed = self.program(room.max(begin), core);
            // Pages leave in order: the buffer is a ring.
            let programmed = programmed.max(self.buffer.back().copied().unwrap_or(0));
            self.buffer.push_back(programmed);
        }
        room.max(begin)
    }

    /// What was done while nobody asked for anything.
    fn rested(&mut self, core: &mut Core) {
        let idle = core.now.saturating_sub(self.last);
        self.last = core.now;
        if idle <= self.figures.idle_ns {
            return;
        }
        let each = (self.figures.read_ns + self.figures.program_ns).max(1);
        let mut pages = (idle - self.figures.idle_ns) / each * self.dies.len() as u64;
        let folded = (pages * self.figures.page_bytes).min(self.slc_used);
        self.slc_used -= folded;
        pages -= folded / self.figures.page_bytes;
        let mut sectors = pages * self.page_sectors();
        let paid = self.debt.min(sectors);
        (self.debt, sectors) = (self.debt - paid, sectors - paid);
        self.programmed += paid;
        while sectors > 0
            && let Some(moved) = self.map.collect_ahead()
        {
            self.programmed += moved * self.unit_sectors;
            sectors = sectors.saturating_sub(moved.max(1) * self.unit_sectors);
        }
    }

    fn trim(&mut self, DeviceRequest { offset, bytes, .. }: DeviceRequest) {
        let unit_bytes = self.unit_sectors * SECTOR;
        let (first, last) = (offset.div_ceil(unit_bytes), offset.saturating_add(bytes) / unit_bytes);
        (first..last.min(self.map.units())).for_each(|unit| self.map.forget(unit));
        if first >= last {
            // One of so many small ones is the unit's.
            self.since_map += bytes / SECTOR;
            if self.since_map >= self.unit_sectors {
                self.since_map = 0;
                self.map.forget(self.unit_of(offset));
            }
        }
    }
}

impl Part for SolidStateDisk {
    fn servers(&self) -> u32 {
        self.figures.all_dies()
    }

    fn arrive(&mut self, task: TaskId, core: &mut Core) {
        self.rested(core);
        let request = core.request(task);
        let done = match request.kind {
            RequestKind::Read => self.read(request, core),
            RequestKind::Write => self.write(request, core),
            RequestKind::Trim => {
                self.trim(request);
                core.now + self.figures.command_ns
            }
            RequestKind::Flush if !self.figures.protected => {
                let part = std::mem::take(&mut self.written_part);
                let begin = core.now + self.figures.command_ns;
                let part = if part > 0 { self.program(begin, core) } else { begin };
                self.buffer.back().copied().unwrap_or(0).max(part)
            }
            RequestKind::Flush | RequestKind::Metadata => core.now + self.figures.command_ns,
        };
        self.last = self.last.max(done);
        core.at(done.max(core.now + 1), self.place.number, task);
    }

    fn event(&mut self, task: u32, core: &mut Core) {
        core.finish(task);
    }

    fn counts(&self) -> Vec<Count> {
        if self.written == 0 {
            return Vec::new();
        }
        vec![("write amplification", self.programmed, self.written), ("sectors written", self.written, 0)]
    }
}
