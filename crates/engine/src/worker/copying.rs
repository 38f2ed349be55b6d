//! The copying loop: a block is read and written with the clock, and those that follow it are only copied and counted, as
//! many as fit between two samples.
//!
//! A script costs more than a small block's two calls. Where a job asks for samples and its script is a copy of whole
//! blocks, most of them pass it by; what comes back short, failed or at the end is handed to it as if it had asked.

use std::sync::atomic::Ordering::Relaxed;

use super::{InFlight, Worker};
use crate::clock::Tick;
use crate::engines::{Engine, Failure};
use crate::io::Files;
use crate::source::{BlockCopy, Next};

/// Blocks between two samples at most.
const MOST_UNTIMED: u64 = 1000;
/// Fewer are not worth a sample: each is timed.
const FEWEST_UNTIMED: u64 = 8;

/// Copies, until there is nothing more.
#[inline(never)]
pub(super) fn copying_loop<E: Engine>(
    worker: &mut Worker<'_>,
    engine: &mut E,
    flight: &mut InFlight<'_>,
) -> Result<(), Failure> {
    let (mut now, mut timed) = (engine.now(), (0, 0));
    loop {
        let (stopped, time_is_up) = (flight.stop.load(Relaxed) != 0, now >= flight.deadline);
        match flight.step::<E, false>(worker, engine, now, stopped, time_is_up)? {
            Some(later) => now = later,
            None => return Ok(()),
        }
        timed = (timed.1, flight.ended.saturating_sub(flight.slots[0].started));
        let fit = flight.sample_ns / (timed.0 + timed.1).max(1);
        if fit >= FEWEST_UNTIMED
            && now < flight.deadline
            && let Some(copy) = flight.source.copy()
        {
            flight.copy(engine, &mut worker.files, copy, fit.min(MOST_UNTIMED), timed);
            now = flight.ended;
        }
    }
}

impl InFlight<'_> {
    /// Whether it copies in this way: the job asks for samples, and the source is a plain copy.
    pub(super) fn is_copying(&mut self, sample_ns: u64) -> bool {
        let plain = !self.eager && self.slots.len() == 1 && self.ramp_end == 0;
        self.sample_ns = if plain && self.source.copy().is_some() { sample_ns } else { 0 };
        self.sample_ns > 0
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
    #[cold]
    fn complete_copied(&mut self, result: i64, latency: Tick) {
        let (ended, io) = (self.ended, &mut self.slots[0]);
        let Next::Io = self.source.next(ended, 0, io) else { return };
        io.started = ended.saturating_sub(latency);
        self.counters.depth(1, 1);
        self.free.count = 0;
        self.complete::<false>(0, result, ended);
    }
}
