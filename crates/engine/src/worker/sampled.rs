//! The sampled loop: one operation is timed, and those that follow it are only counted, as many as fit between two samples.
//!
//! Reading the clock twice and counting a latency costs as much as a small operation itself. Where a job asks for
//! samples, fast operations are done in a loop that does nothing besides; slow ones are timed one by one as ever. What
//! was timed stands for those that were not, so that percentiles are those of all operations. It refuses sources that
//! do more than to draw the next place.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::Measure;

use super::{InFlight, Worker};
use crate::clock::Tick;
use crate::engines::Engine;
use crate::io::Files;
use crate::source::Next;

/// Operations between two samples at most.
const MOST_UNTIMED: u64 = 1000;
/// Fewer are not worth a sample: each is timed.
const FEWEST_UNTIMED: u64 = 8;

/// Samples, until there is nothing more.
#[inline(always)]
pub(super) fn sampled_loop<E: Engine>(worker: &mut Worker<'_>, engine: &mut E, flight: &mut InFlight<'_>) {
    let mut now = engine.now();
    loop {
        let stopped = flight.stop.load(Relaxed) != 0;
        if stopped {
            flight.waited(now);
        }
        let over = stopped || (now >= flight.deadline && !flight.winds_up());
        let over = over || flight.sample(engine, &mut worker.files, now);
        if over && !flight.goes_on(worker, now) {
            return;
        }
        if flight.ended >= flight.turn {
            flight.turn(worker.kinds);
        }
        // Whoever waited for others in between begins now.
        now = if over { engine.now() } else { flight.ended };
    }
}

impl InFlight<'_> {
    /// Whether it is sampled: the job asks for it, and the source is plain enough.
    pub(super) fn is_sampled(&mut self, measure: &Measure) -> bool {
        let plain = !self.eager && self.slots.len() == 1 && self.source.plain().is_some();
        self.sample_ns = if plain { measure.sample_ns } else { 0 };
        self.sample_ns > 0
    }

    /// Does one operation that is timed, and those up to the next. Whether there is nothing more.
    #[inline(always)]
    fn sample<E: Engine>(&mut self, engine: &mut E, files: &mut Files, now: Tick) -> bool {
        let Some((steady, mut content)) = self.source.plain() else { return true };
        let io = &mut self.slots[0];
        if steady.next(io) == Next::Done {
            return true;
        }
        if let Some(content) = &mut content {
            content.ready(io);
        }
        io.started = if content.is_some() { engine.now() } else { now };
        let started = io.started;
        let result = engine.perform(io, files);
        let ended = engine.now();
        self.counters.depth(1, 1);
        self.free.count = 0;
        self.complete::<false>(0, result, ended);
        if ended >= self.deadline || result < 0 {
            return false;
        }
        self.go_on_untimed(engine, files, started)
    }

    /// The operations that are not timed.
    #[inline(always)]
    fn go_on_untimed<E: Engine>(&mut self, engine: &mut E, files: &mut Files, began: Tick) -> bool {
        let Some((steady, mut content)) = self.source.plain() else { return true };
        let (io, pulse) = (&mut self.slots[0], self.pulse.load(Relaxed));
        let (bytes, timed) = (io.bytes, self.ended - began);
        let (mut count, mut is_over, mut odd) = (0, false, None);
        let goes_on = || self.pulse.load(Relaxed) == pulse;
        while count < self.untimed && odd.is_none() && !is_over && goes_on() {
            let (first, distance, run) = steady.run(self.untimed - count);
            let (mut place, mut left) = (first, run);
            // A place that was drawn is used: only of places in line can the rest be given back.
            while left > 0 {
                io.offset = place;
                if let Some(content) = &mut content {
                    content.ready(io);
                }
                let result = engine.perform(io, files);
                (place, left) = (place.wrapping_add(distance), left - 1);
                odd = (result < bytes as i64).then_some(result);
                if odd.is_some() || !goes_on() {
                    break;
                }
            }
            count += run - left - u64::from(odd.is_some());
            if left > 0 {
                steady.give_back(left, place);
                break;
            }
            is_over = run == 0;
        }
        if count > 0 || odd.is_some() {
            self.counters.successes_untimed(io.label, count, count * bytes, timed);
            self.counters.depth(1, count as usize);
            self.ended = engine.now();
        }
        if let Some(result) = odd {
            self.complete_odd(result, timed);
        }
        let each = ((self.ended - began) / (count + 1)).max(1);
        let fit = self.sample_ns / each;
        self.untimed = if fit < FEWEST_UNTIMED { 0 } else { fit.min(MOST_UNTIMED) };
        is_over
    }

    /// One that failed or came short among those that are not timed.
    #[cold]
    fn complete_odd(&mut self, result: i64, timed: Tick) {
        self.counters.depth(1, 1);
        self.slots[0].started = self.ended - timed;
        self.complete_rarely(0, result, self.ended);
    }
}
