//! What is measured otherwise than plainly: latencies in parts, or none; batches; what is written down; buffers in turn.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::Verb;

use super::{InFlight, Instruments, Worker};
use crate::clock::Tick;
use crate::engines::{Engine, Failure};
use crate::io::{PACED, SILENT, Slot};
use crate::journal::WorkerJournal;

impl<'a> Instruments<'a> {
    pub(super) fn new<E: Engine>(worker: &mut Worker<'a>, begin: Tick) -> Self {
        let (job, writer) = (worker.job, worker.writer.take());
        let parted = job.measure.submission && job.measure.latency && E::FACTS.submits;
        let mut journal = writer
            .zip(job.measure.journal.as_ref())
            .map(|(writer, wants)| Box::new(WorkerJournal::new(writer, wants, job, begin)));
        if let Some(journal) = &mut journal {
            journal.files(Verb::Open, worker.files.handles.len() as u32, begin);
        }
        let slots = if parted { worker.depth as usize } else { 0 };
        let batch = job.depth.submit_batch;
        let turns = (job.buffers.turns > 1).then(|| (worker.memory, vec![0; worker.depth as usize].into()));
        Instruments {
            marks: std::mem::take(&mut worker.marks),
            issued: vec![0; slots].into(),
            submits: parted || (batch > 0 && batch < worker.depth),
            timed: job.measure.latency,
            noted: job.measure.each,
            journal,
            turns,
        }
    }

    /// The buffer that a slot's next operation takes: those of one slot lie as many apart as there are slots.
    pub(super) fn next_buffer(&mut self, slot: Slot) -> Option<*mut u8> {
        let (memory, turns) = self.turns.as_mut()?;
        let slots = turns.len() as u32;
        let turn = turns.get_mut(slot as usize)?;
        *turn = (*turn + 1) % (memory.count() / slots).max(1);
        Some(memory.buffer(slot + *turn * slots))
    }

    /// Whether a worker measures plainly: counts and whole latencies.
    pub(super) fn are_plain<E: Engine>(worker: &Worker<'_>) -> bool {
        let measure = &worker.job.measure;
        // Whatever is done otherwise than "as many as are free, at once" belongs to the other loop too.
        let depth = &worker.job.depth;
        let in_parts = depth.low > 0 || (depth.submit_batch > 0 && depth.submit_batch < worker.depth);
        let batches = (measure.batches || in_parts) && worker.depth > 1;
        let turns = worker.job.buffers.turns > 1;
        measure.latency
            && !turns
            && worker.writer.is_none()
            && !batches
            && !(measure.submission && E::FACTS.submits)
    }
}

impl InFlight<'_> {
    /// Makes sure that the kernel has what was handed over, and notes when it had it.
    #[inline(always)]
    pub(super) fn handed_over<E: Engine>(&mut self, engine: &mut E, before: usize) -> Result<(), Failure> {
        // Slots that were taken from the stack still lie above it, the first taken uppermost.
        let taken = self.free.count..before;
        if taken.is_empty() {
            return Ok(());
        }
        self.counters.submitted(taken.len());
        if self.instruments.submits {
            engine.submit()?;
        }
        if !self.instruments.issued.is_empty() {
            let now = engine.now();
            self.free.slots[taken.clone()]
                .iter()
                .for_each(|slot| self.instruments.issued[*slot as usize] = now);
        }
        if let Some(journal) = self.instruments.journal.as_mut().filter(|journal| journal.wants_starts()) {
            let begun = self.free.slots[taken].iter().rev().map(|slot| &self.slots[*slot as usize]);
            begun.filter(|io| io.flags & SILENT == 0).for_each(|io| journal.began(io));
        }
        Ok(())
    }

    /// Latencies in parts, or none, and what is written down.
    #[inline(never)]
    pub(super) fn complete_instrumented(&mut self, slot: Slot, result: i64, ended: Tick) {
        let io = &self.slots[slot as usize];
        let latency = ended.saturating_sub(io.started);
        if result < io.bytes as i64 || io.flags & (SILENT | PACED) != 0 {
            if !self.complete_rarely(slot, result, ended) {
                return;
            }
        } else if self.instruments.timed {
            self.series.observe(latency);
            self.counters.success(io.label, result as u64, latency);
        } else {
            self.counters.success_untimed(io.label, result as u64);
        }
        let io = &self.slots[slot as usize];
        let mut issued = io.started;
        if let Some(at) = self.instruments.issued.get(slot as usize) {
            issued = *at;
            self.counters.parts(io.label, issued.saturating_sub(io.started), ended.saturating_sub(issued));
        }
        if let Some(mark) = self.instruments.marks.get(slot as usize).map(|mark| mark.load(Relaxed)) {
            issued = if mark > 0 { mark } else { ended };
        }
        if let Some(journal) = self.instruments.journal.as_mut().filter(|_| self.ramp_end == 0) {
            journal.done(io, result as u64, issued, ended);
            if journal.failure().is_some() {
                self.deadline = 0;
            }
        }
    }
}
