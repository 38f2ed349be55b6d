//! Operations of a worker on a shared device that differ in their place alone, one at a time: they follow each other without
//! the worker's stack, and what they need lies side by side.
//!
//! Ten thousand workers have no room in a processor's caches; the fewer lines of them a worker needs for an operation, the
//! sooner it is done. What happens seldom (the end of the time, of the ramp, of a row, a stop, the last operation) is the
//! event loop's: it finds everything as if it had been there all the time.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_simulation::DeviceRequest;

use super::InFlight;
use crate::clock::Tick;
use crate::engines::Engine;
use crate::io::{Files, PACED, SILENT};
use crate::shared_device::{RequestTemplate, StacklessWorker};
use crate::source::pattern::Steady;
use crate::worker_counters::{LatencySum, WorkerCounters};

/// What such a worker needs for an operation.
#[repr(align(64))]
pub(super) struct StacklessLoop<'a> {
    source: Steady,
    request: RequestTemplate,
    stop: &'a AtomicU32,
    /// From then on something else is to be done when an operation is answered.
    until: Tick,
    started: Tick,
    ended: Tick,
    offset: u64,
    label: u16,
    counters: WorkerCounters<'a>,
    /// Operations that were answered and not written down.
    answered: LatencySum,
    /// The largest latency since it began.
    latency_max_ns: u64,
}

impl StacklessWorker for StacklessLoop<'_> {
    #[inline]
    fn answered(&mut self, now: Tick) -> Option<DeviceRequest> {
        if now >= self.until || self.source.left() == 0 || self.stop.load(Relaxed) != 0 {
            return None;
        }
        let latency = now.saturating_sub(self.started);
        self.counters.bucket(self.label, latency);
        self.answered.add(latency);
        (self.ended, self.started) = (now, now);
        self.offset = self.source.place();
        Some(self.request.at(self.offset))
    }

    fn write_down(&mut self) {
        let answered = std::mem::take(&mut self.answered);
        if answered.count > 0 {
            self.latency_max_ns = self.latency_max_ns.max(answered.most);
            self.counters.successes_together(self.label, self.request.bytes, &answered);
            // For each that was answered one was handed over, and was alone.
            self.counters.depth(1, answered.count as usize);
        }
    }

    fn buckets(&self) -> *const AtomicU64 {
        self.counters.buckets(self.label)
    }

    fn besides(&self) -> (usize, usize) {
        self.source.state_elsewhere()
    }
}

impl<'a> InFlight<'a> {
    /// With its one operation in flight: lets those that follow be taken and answered without the stack, as far as that goes.
    #[inline(never)]
    pub(super) fn run_stackless<E: Engine>(&mut self, engine: &E, files: &Files) {
        let until = self.turn.min(self.deadline);
        let is_rare = self.eager || self.source.listens || self.source.fills;
        let [io] = &mut self.slots[..] else { return };
        if is_rare || io.flags & (SILENT | PACED) != 0 || until <= io.started {
            return;
        }
        let Some((source, None)) = self.source.plain() else { return };
        if !source.has_places() || source.left() == 0 {
            return;
        }
        let Some((seat, request)) = engine.stackless(io, files) else { return };
        let stackless = self.stackless.get_or_insert_with(|| {
            Box::new(StacklessLoop {
                source: source.clone(),
                request,
                stop: self.stop,
                until,
                started: 0,
                ended: 0,
                offset: 0,
                label: io.label,
                counters: self.counters,
                answered: LatencySum::default(),
                latency_max_ns: 0,
            })
        });
        (stackless.until, stackless.started, stackless.ended) = (until, io.started, self.ended);
        (stackless.offset, stackless.latency_max_ns) = (io.offset, 0);
        std::mem::swap(&mut stackless.source, source);
        seat.leave_to(&mut **stackless, self.deadline);
        std::mem::swap(&mut stackless.source, source);
        stackless.write_down();
        (io.offset, io.started) = (stackless.offset, stackless.started);
        self.ended = stackless.ended;
        self.series.observe(stackless.latency_max_ns);
    }
}
