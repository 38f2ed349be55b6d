//! The report of each phase's own tool, in a file of the result directory: `ior-easy-write.txt`, as the original keeps it.
//!
//! A tool's reporter sees its own plan and its own phases, counted from 0, as if nothing else ran.

use std::io;
use std::ops::Range;

use iodyno_model::{Event, PhaseRecord, Plan, Record, RunStart};
use iodyno_report::{Output, Reporter};

/// The log of one phase.
pub struct PhaseLog {
    /// The phase's name, which is the file's.
    pub name: &'static str,
    /// Writes it.
    pub reporter: Box<dyn Reporter>,
    /// The phase as its tool planned it.
    pub plan: Plan,
    /// Its phases in the whole plan, by index.
    pub phases: Range<usize>,
    text: Vec<u8>,
    record: Record,
}

impl PhaseLog {
    /// One with nothing in it.
    pub fn new(name: &'static str, reporter: Box<dyn Reporter>, plan: Plan, phases: Range<usize>) -> Self {
        PhaseLog { name, reporter, plan, phases, text: Vec::new(), record: Record::default() }
    }

    /// A phase of the whole plan has ended; the text once it was the last one of these.
    ///
    /// # Errors
    /// A file beside the report cannot be written.
    pub fn ended(
        &mut self,
        phase: &PhaseRecord,
        run: &RunStart,
        output: &mut Output<'_>,
    ) -> io::Result<Option<&[u8]>> {
        if !self.phases.contains(&phase.index) {
            return Ok(None);
        }
        let index = phase.index - self.phases.start;
        let name = self.plan.phases[index].name.clone();
        if index == 0 {
            let at_unix_ns = phase.jobs.first().map_or(run.at_unix_ns, |job| job.began_unix_ns);
            let started = RunStart { plan: self.plan.clone(), at_unix_ns, ..run.clone() };
            self.tell(&Event::Started(Box::new(started)), output)?;
        }
        let (count, repetition, coordinates) = (self.phases.len(), phase.repetition, Vec::new());
        let record = PhaseRecord { index, name: name.clone(), ..phase.clone() };
        self.tell(&Event::PhaseStarted { index, count, name, repetition, coordinates }, output)?;
        self.tell(&Event::PhaseEnded(Box::new(record.clone())), output)?;
        self.record.phases.push(record);
        if phase.index + 1 < self.phases.end {
            return Ok(None);
        }
        let record = std::mem::take(&mut self.record);
        self.tell(&Event::Ended(Box::new(record)), output)?;
        Ok(Some(&self.text))
    }

    /// What the tool says on standard error is part of its log.
    fn tell(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let mut talk = Vec::new();
        let mut own = Output { out: &mut self.text, err: &mut talk, files: &mut *output.files };
        self.reporter.event(event, &mut own)?;
        self.text.extend(talk);
        Ok(())
    }
}
