//! The copying loop: a block is read and written with the clock, and those that follow it are only copied and counted, as
//! many as fit between two samples.
//!
//! A script costs more than a small block's two calls. Where a job asks for samples and its script is a copy of whole
//! blocks, most of them pass it by; what comes back short, failed or at the end is handed to it as if it had asked.

use std::sync::atomic::Ordering::Relaxed;

use super::{InFlight, Worker};
use crate::clock::Tick;
use crate::engines::Engine;
use crate::io::Files;
use crate::source::{BlockCopy, Next};

/// Blocks between two samples at most.
const MOST_UNTIMED: u64 = 1000;
/// Fewer are not worth a sample: each is timed.
const FEWEST_UNTIMED: u64 = 8;

/// Copies, until the source has something else to do, its time is up or it is to stop: the event loop does the rest.
#[inline(never)]
pub(super) fn copying_loop<E: Engine>(worker: &mut Worker<'_>, engine: &mut E, flight: &mut InFlight<'_>) {
    let mut now = engine.now();
    while flight.stop.load(Relaxed) == 0
        && now < flight.deadline
        && let Some(copy) = flight.source.copy()
    {
        let timed = flight.copy_timed(engine, &mut worker.files, copy, now);
        let fit = flight.sample_ns / (timed.0 + timed.1).max(1);
        if fit >= FEWEST_UNTIMED
            && flight.ended < flight.deadline
            && let Some(copy) = flight.source.copy()
        {
            flight.copy(engine, &mut worker.files, copy, fit.min(MOST_UNTIMED), timed);
        }
        if flight.ended >= flight.turn {
            flight.turn(worker.kinds);
        }
        now = engine.now();
    }
}

impl InFlight<'_> {
    /// Whether it copies in this way: the job asks for samples, and the source is a plain copy.
    pub(super) fn is_copying(&mut self, sample_ns: u64) -> bool {
        let plain = !self.eager && self.slots.len() == 1 && self.ramp_end == 0;
        self.sample_ns = if plain && self.source.copy().is_some() { sample_ns } else { 0 };
        self.sample_ns > 0
    }

    /// Copies one block; how long its read and its write took, 0 for one that was not made.
    fn copy_timed<E: Engine>(
        &mut self,
        engine: &mut E,
        files: &mut Files,
        copy: BlockCopy,
        mut began: Tick,
    ) -> (Tick, Tick) {
        let mut timed = [0; 2];
        for (io, latency) in [&copy.read, &copy.write].into_iter().zip(&mut timed) {
            let result = engine.perform(io, files);
            self.ended = engine.now();
            *latency = self.ended.saturating_sub(began);
            self.complete_copied(result, *latency);
            if result != io.bytes as i64 {
                break;
            }
            began = self.ended;
        }
        timed.into()
    }

    /// Copies blocks that are not timed; `timed`: what the read and the write before them took.
    fn copy<E: Engine>(
        &mut self,
        engine: &mut E,
        files: &mut Files,
        copy: BlockCopy,
        most: u64,
        timed: (Tick, Tick),
    ) {
        let BlockCopy { read, write, most: left } = copy;
        let (bytes, pulse) = (read.bytes as i64, self.pulse.load(Relaxed));
        let (mut blocks, mut odd) = (0, None);
        while blocks < most.min(left) && self.pulse.load(Relaxed) == pulse {
            let came = engine.perform(&read, files);
            if came != bytes {
                odd = Some((came, None));
                break;
            }
            let went = engine.perform(&write, files);
            if went != bytes {
                odd = Some((came, Some(went)));
                break;
            }
            blocks += 1;
        }
        if blocks > 0 {
            for (io, latency) in [(&read, timed.0), (&write, timed.1)] {
                self.counters.successes_untimed(io.label, blocks, blocks * io.bytes, latency);
            }
            self.counters.depth(1, 2 * blocks as usize);
            self.source.copied(blocks);
        }
        self.ended = engine.now();
        if let Some((came, went)) = odd {
            self.complete_copied(came, timed.0);
            went.into_iter().for_each(|went| self.complete_copied(went, timed.1));
        }
    }

    /// What the source asks for next was done already, with this result.
    #[inline(never)]
    fn complete_copied(&mut self, result: i64, latency: Tick) {
        let (ended, io) = (self.ended, &mut self.slots[0]);
        let Next::Io = self.source.next(ended, 0, io) else { return };
        io.started = ended.saturating_sub(latency);
        self.counters.depth(1, 1);
        self.free.count = 0;
        self.complete::<false>(0, result, ended);
    }
}
