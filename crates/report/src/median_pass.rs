//! Several passes for a reporter that knows of one: it sees the one whose rate is the median, as if that had been all.
//!
//! A drop-in's output format has no words for passes over everything. Its events are kept until the end, and those of the
//! middle pass told; where it writes a log of every operation, which may be as long as the run, the first pass is told as
//! it goes. Refuses to mix figures of several passes.

use std::io;

use iodyno_model::{Event, PhaseRecord, Plan, Record, Repeat};

use crate::{Output, Reporter};

/// Shows one of several passes to another reporter.
pub struct OnePass {
    inner: Box<dyn Reporter>,
    /// Phases before the first pass.
    before: usize,
    /// Phases in a pass.
    length: usize,
    /// Whether the first pass is told as it goes.
    first: bool,
    /// What happened in each pass.
    kept: Vec<Vec<Event>>,
    /// The pass that is under way.
    pass: usize,
}

impl OnePass {
    /// For a plan that was not expanded yet; the reporter is told of its phases as they were without passes.
    pub fn new(plan: &Plan, inner: Box<dyn Reporter>) -> Self {
        let before = plan.phases.iter().filter(|phase| phase.precondition).count();
        let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        let first = jobs.into_iter().any(|job| job.measure.journal.is_some());
        let length = (plan.phases.len() - before).max(1);
        OnePass { inner, before, length, first, kept: Vec::new(), pass: 0 }
    }

    /// Whether a plan is done more than once, or has phases before it.
    pub fn needed(plan: &Plan) -> bool {
        plan.repeat != Repeat::default() || plan.phases.iter().any(|phase| phase.precondition)
    }

    /// The pass of a phase and its index in it; `None`: it is before them.
    fn place(&self, index: usize) -> Option<(usize, usize)> {
        let index = index.checked_sub(self.before)?;
        Some((index / self.length, index % self.length))
    }

    /// The event as if its pass were the only one; `None`: it is of none.
    fn placed(&mut self, event: &Event) -> Option<Event> {
        let mut event = event.clone();
        let index = match &mut event {
            Event::PhaseStarted { index, count, .. } => {
                *count = self.length;
                index
            }
            Event::Live(live) => &mut live.phase,
            Event::Interim(record) => &mut record.index,
            Event::PhaseEnded(record) => &mut record.index,
            Event::Journal(part) => &mut part.phase,
            _ => return (self.pass != usize::MAX).then_some(event),
        };
        let Some((pass, place)) = self.place(*index) else {
            self.pass = usize::MAX;
            return None;
        };
        (self.pass, *index) = (pass, place);
        match &mut event {
            Event::PhaseStarted { repetition, .. } => *repetition -= (pass as u32).min(*repetition),
            Event::Interim(record) | Event::PhaseEnded(record) => first_of(record, pass),
            _ => {}
        }
        Some(event)
    }

    fn keep(&mut self, event: Event) {
        if matches!(event, Event::Live(_) | Event::Watched(_) | Event::Interim(_)) {
            return;
        }
        if self.kept.len() <= self.pass {
            self.kept.resize(self.pass + 1, Vec::new());
        }
        self.kept[self.pass].push(event);
    }

    /// The complete pass whose rate is the median; the first where none is complete.
    fn middle(&self, record: &Record) -> usize {
        let mut rates: Vec<(f64, usize)> = Vec::new();
        for pass in 0..=record.phases.len() {
            let phases = record
                .phases
                .iter()
                .filter(|phase| self.place(phase.index).is_some_and(|(of, _)| of == pass));
            let phases: Vec<&PhaseRecord> = phases.collect();
            if phases.len() == self.length {
                rates.push((phases.iter().map(|phase| rate(phase)).sum(), pass));
            }
        }
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        rates.get(rates.len().saturating_sub(1) / 2).map_or(0, |(_, pass)| *pass)
    }

    /// The record with the phases of one pass.
    fn of(&self, record: &Record, pass: usize) -> Record {
        let phases = record.phases.iter().filter_map(|phase| {
            let (_, place) = self.place(phase.index).filter(|(of, _)| *of == pass)?;
            let mut phase = phase.clone();
            phase.index = place;
            first_of(&mut phase, pass);
            Some(phase)
        });
        Record { phases: phases.collect(), ..record.clone() }
    }
}

fn first_of(record: &mut PhaseRecord, pass: usize) {
    record.repetition -= (pass as u32).min(record.repetition);
}

fn rate(phase: &PhaseRecord) -> f64 {
    let jobs = phase.jobs.iter();
    jobs.map(|job| crate::shape::per_second(job.tally.all_operations(), phase, job)).sum()
}

impl Reporter for OnePass {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                let mut started = started.clone();
                let phases = &mut started.plan.phases;
                phases.drain(..self.before.min(phases.len()));
                phases.truncate(self.length);
                self.inner.event(&Event::Started(started), output)
            }
            Event::Ended(record) => {
                let pass = if self.first { 0 } else { self.middle(record) };
                for event in self.kept.get(pass).cloned().unwrap_or_default() {
                    self.inner.event(&event, output)?;
                }
                self.inner.event(&Event::Ended(Box::new(self.of(record, pass))), output)
            }
            // What is told of the whole has no pass.
            Event::Finding(_) | Event::Message(_) => self.inner.event(event, output),
            event => match self.placed(event) {
                Some(event) if self.first && self.pass == 0 => self.inner.event(&event, output),
                Some(event) if !self.first => {
                    self.keep(event);
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFiles;
    use iodyno_model::{JobRecord, Line, Phase, RunStart, Verb};

    /// Writes down each event.
    struct EventLog;

    impl Reporter for EventLog {
        fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
            match event {
                Event::Started(started) => writeln!(output.out, "{} phases", started.plan.phases.len()),
                Event::PhaseStarted { index, count, repetition, .. } => {
                    writeln!(output.out, "{index} of {count}, {repetition}")
                }
                Event::PhaseEnded(phase) => writeln!(output.out, "{} {}", phase.index, phase.jobs[0].name),
                Event::Ended(record) => writeln!(output.out, "{} ended", record.phases.len()),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn the_middle_pass_is_told_as_if_it_were_all() {
        let phase = |precondition| Phase { name: "p".into(), precondition, ..Phase::default() };
        let repeat = Repeat { times: 3, ..Repeat::default() };
        let once = Plan { phases: vec![phase(true), phase(false)], repeat, ..Plan::default() };
        assert!(OnePass::needed(&once) && !OnePass::needed(&Plan::default()));
        let mut reporter = OnePass::new(&once, Box::new(EventLog));
        let plan = iodyno_model::sweep::expand(&once).unwrap();
        let mut out = Vec::new();
        let mut record = Record::default();
        let mut tell = |event: Event| {
            let mut err = Vec::new();
            let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
            reporter.event(&event, &mut output).unwrap();
        };
        let started = RunStart {
            plan,
            targets: Vec::new(),
            machine: Default::default(),
            at_unix_ns: 0,
            world: Default::default(),
        };
        tell(Event::Started(Box::new(started)));
        for (index, operations) in [(0, 5), (1, 300), (2, 100), (3, 200)] {
            let repetition = u32::saturating_sub(index, 1);
            let index = index as usize;
            let mut job = JobRecord { name: operations.to_string(), ..JobRecord::default() };
            let mut line = Line::empty("read", Verb::Read);
            line.operations = operations;
            job.tally.lines.push(line);
            job.tally.last_done_ns = 1_000_000_000;
            let ended =
                PhaseRecord { index, repetition, jobs: vec![job], name: "p".into(), ..Default::default() };
            let (name, coordinates) = ("p".to_string(), Vec::new());
            tell(Event::PhaseStarted { index, count: 4, name, repetition, coordinates });
            tell(Event::PhaseEnded(Box::new(ended.clone())));
            record.phases.push(ended);
        }
        tell(Event::Ended(Box::new(record)));
        assert_eq!(String::from_utf8(out).unwrap(), "1 phases\n0 of 1, 0\n0 200\n1 ended\n");
    }
}
