//! A run that still goes on, as the page is told it: the phases that have ended, and what the running one has done so far.
//!
//! It listens to what is told to whoever keeps runs, each second, so that the growing page and the final one are made of
//! the same figures.

use iodyno_model::{Event, PhaseRecord, Record, Sample};

use super::{Page, Run};
use crate::shape::Context;

/// Samples of the running phase at most.
const SAMPLES_MOST: usize = 1024;

/// What has happened so far.
#[derive(Default)]
pub struct Growing {
    context: Context,
    record: Record,
    /// What the witnesses saw of the running phase so far: its record has it only at its end.
    samples: Vec<Sample>,
    /// Whether the last phase of the record still runs.
    running: bool,
    ended: bool,
}

impl Growing {
    /// Keeps what an event tells.
    pub fn event(&mut self, event: &Event) {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                self.record.name.clone_from(&started.plan.name);
                self.record.seed = started.plan.seed;
                self.record.machine = started.machine.clone();
                self.record.world = started.world.clone();
            }
            Event::Watched(sample) => self.watched(sample),
            Event::Kept(phase) => self.phase(phase, true),
            Event::PhaseEnded(phase) => self.phase(phase, false),
            Event::Finding(finding) => self.record.findings.push((**finding).clone()),
            Event::Ended(record) => {
                self.record = (**record).clone();
                self.ended = true;
            }
            _ => {}
        }
    }

    /// Whether the run is over.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        Page { live: !self.ended, ..Page::of(vec![Run::of(&self.context, &self.record)]) }
    }

    fn phase(&mut self, phase: &PhaseRecord, running: bool) {
        if self.running {
            self.record.phases.pop();
        }
        let mut phase = phase.clone();
        if running && phase.samples.is_empty() {
            phase.samples.clone_from(&self.samples);
        } else if !running {
            self.samples.clear();
        }
        self.record.phases.push(phase);
        self.running = running;
    }

    fn watched(&mut self, sample: &Sample) {
        if self.samples.len() >= SAMPLES_MOST {
            // The lines need no more; the record will have them all.
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        self.samples.push(sample.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, elapsed_ns: u64) -> Box<PhaseRecord> {
        Box::new(PhaseRecord { name: name.into(), elapsed_ns, ..PhaseRecord::default() })
    }

    #[test]
    fn what_a_phase_has_done_so_far_is_replaced_until_it_has_ended() {
        let mut growing = Growing::default();
        let events = [
            Event::Kept(phase("a", 1)),
            Event::Kept(phase("a", 2)),
            Event::Watched(Box::default()),
            Event::Kept(phase("a", 2)),
            Event::PhaseEnded(phase("a", 3)),
            Event::Watched(Box::default()),
            Event::Kept(phase("b", 1)),
        ];
        events.iter().for_each(|event| growing.event(event));
        let phases: Vec<_> =
            growing.record.phases.iter().map(|phase| (phase.name.as_str(), phase.elapsed_ns)).collect();
        assert_eq!(phases, [("a", 3), ("b", 1)]);
        assert_eq!(growing.record.phases[1].samples.len(), 1);
        assert!(growing.page().live && !growing.has_ended());
        growing.event(&Event::Ended(Box::default()));
        assert!(!growing.page().live && growing.has_ended());
    }
}
