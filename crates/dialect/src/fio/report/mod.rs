//! fio's output format: what happens, as fio 3.33 writes it down, with the keys that 3.42 added to its JSON.
//!
//! ```text
//!   events ─► Report ─┬─ banner, ETA line, error lines        as they happen
//!                     └─ summary (computed once) ─► terse, JSON, normal: in that order, as fio
//! ```
//! Results never mix with messages: where the results are only for machines, what fio would write before the first
//! brace goes to standard error. What fio does not say is in the JSON under `iodyno`, and nowhere else.

pub(super) mod banner;
pub mod bins;
pub mod clients;
mod debug;
pub(super) mod direction;
pub(super) mod disks;
pub(super) mod eta;
pub(super) mod idleness;
mod json;
mod mismatch;
pub(super) mod normal;
mod number;
pub(super) mod samples;
pub(super) mod spectrum;
pub(super) mod summary;
mod terse;
pub(super) mod trouble;

use std::io::{self, Write};

use iodyno_model::pace::Steady;
use iodyno_model::{Event, Level, Live, PhaseRecord, Plan, Record};
use iodyno_report::{Output, Reporter};

use self::debug::DebugLines;
use self::eta::EtaLine;
use self::normal::ReportTime;
use self::summary::{ReportedJob, Summary};
use self::trouble::Failure;
use crate::fio::log::LogFiles;
use crate::fio::view::{Format, IdleProfile, ReportContext};

/// The number that fio prints for an unknown time.
const NOBODY_KNOWS: i64 = 2_147_483_647;

/// Writes fio's report.
pub struct Report {
    view: ReportContext,
    plan: Plan,
    began_unix_ns: u64,
    /// The records of phases that ended, and of one that runs.
    phases: Vec<PhaseRecord>,
    live: Option<Live>,
    eta: EtaLine,
    logs: LogFiles,
    debug: DebugLines,
    started: bool,
}

/// The reporter of a run.
pub fn reporter(view: ReportContext) -> Box<dyn Reporter> {
    Box::new(Report::new(view))
}

impl Report {
    /// The reporter of a run.
    pub fn new(view: ReportContext) -> Self {
        Report {
            logs: LogFiles::new(&view),
            debug: DebugLines::new(&view.style.debug),
            view,
            plan: Plan::default(),
            began_unix_ns: 0,
            phases: Vec::new(),
            live: None,
            eta: EtaLine::default(),
            started: false,
        }
    }

    fn speaks(&self) -> bool {
        self.view.style.formats.contains(&Format::Normal)
    }

    /// Writes where people read: among the results when those are for people, else beside them.
    fn tell(&self, text: &str, output: &mut Output<'_>) -> io::Result<()> {
        match self.speaks() {
            true => output.out.write_all(text.as_bytes()),
            // Nobody may be listening on standard error.
            false => {
                let _ = output.err.write_all(text.as_bytes());
                Ok(())
            }
        }
    }

    fn live(&mut self, live: &Live, output: &mut Output<'_>) -> io::Result<()> {
        if !live.asked && eta::wanted(&self.view) {
            let elapsed_ns = self.now_unix_ns(live.elapsed_ns).saturating_sub(self.began_unix_ns);
            if let Some(line) = self.eta.line(live, elapsed_ns, &self.view, &self.plan) {
                // The line is for the terminal: beside a report in a file of its own it is talk.
                let to: &mut dyn Write = if self.view.style.to_file { output.err } else { output.out };
                to.write_all(line.as_bytes())?;
                to.flush()?;
            }
        }
        self.live = Some(live.clone());
        Ok(())
    }

    /// The wall-clock time, so long after the last phase's start line.
    fn now_unix_ns(&self, elapsed_ns: u64) -> u64 {
        let line = self.phases.last().and_then(|phase| phase.jobs.first()).map(|job| job.began_unix_ns);
        let before: u64 = self.phases.iter().rev().skip(1).map(|phase| phase.elapsed_ns).sum();
        line.filter(|began| *began > 0).unwrap_or(self.began_unix_ns + before) + elapsed_ns
    }

    fn keep(&mut self, phase: &PhaseRecord) {
        self.phases.retain(|known| known.index != phase.index);
        self.phases.push(phase.clone());
    }

    fn phase_ended(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        self.keep(phase);
        self.live = None;
        let here = |job: &&crate::fio::view::JobView| job.phase == phase.index;
        for view in self.view.jobs.iter().filter(here) {
            let Some(record) = phase.jobs.get(view.job) else { continue };
            // Nobody may be listening on standard error.
            let _ = output.err.write_all(trouble::complaints(record, view, &self.plan).as_bytes());
            for worker in &record.workers {
                if let Some(failure) = Failure::of(worker, &self.plan) {
                    self.tell(&failure.line(worker.pid), output)?;
                }
            }
        }
        self.listening(phase.index + 1, output)
    }

    /// Tells that jobs of a phase wait for whoever connects.
    fn listening(&self, phase: usize, output: &mut Output<'_>) -> io::Result<()> {
        match banner::listening(&self.view, &self.plan, phase) {
            waiting if self.speaks() => {
                output.out.write_all(waiting.as_bytes())?;
                output.out.flush()
            }
            _ => Ok(()),
        }
    }

    fn message(&self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let Event::Message(diagnostic) = event else { return Ok(()) };
        let workers = self.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.workers);
        // A worker's own end was told when its phase ended.
        let told = || workers.into_iter().any(|worker| worker.failure.is_some() || worker.fatal.is_some());
        if diagnostic.level < Level::Error || !told() {
            let _ = output.err.write_all(trouble::message(diagnostic).as_bytes());
        }
        Ok(())
    }

    fn ended(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if !self.started {
            let text: String = record.errors.iter().map(trouble::message).collect();
            let _ = output.err.write_all(text.as_bytes());
            return Ok(());
        }
        if let Some(signal) = record.stopped_by {
            self.tell(&format!("\nfio: terminating on signal {signal}\n"), output)?;
        }
        let told = self.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.workers);
        if !told.into_iter().any(|worker| worker.failure.is_some() || worker.fatal.is_some()) {
            for failure in record.errors.iter().filter_map(|wrong| Failure::of_message(&wrong.message)) {
                self.tell(&failure.line(0), output)?;
            }
        }
        self.live = None;
        self.phases.clone_from(&record.phases);
        self.write(record, output)
    }

    /// What all phases came to, computed for a report that others write.
    pub(super) fn summary(&self) -> Summary<'_> {
        summary::summary(&self.view, &self.plan, &self.phases)
    }

    /// Takes the records of a run that has ended.
    pub(super) fn take_phases(&mut self, record: &Record) {
        self.phases.clone_from(&record.phases);
    }

    /// The whole report, in every format that is wanted: terse, JSON, normal.
    fn write(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let style = &self.view.style;
        let summary = self.summary();
        let asked = |job: &ReportedJob<'_>| self.steady(job);
        let now = self.moment();
        if style.formats.contains(&Format::Terse) {
            let text = terse::write(&summary, style.terse_version, &style.version);
            output.out.write_all(text.as_bytes())?;
        }
        let plus = style.formats.contains(&Format::JsonPlus);
        if plus || style.formats.contains(&Format::Json) {
            let elapsed_s = now.unix_ns.saturating_sub(self.began_unix_ns).div_ceil(1_000_000_000).max(1);
            let frame = json::Frame {
                view: &self.view,
                plus,
                now: &now,
                elapsed_s,
                eta_s: self.left_s(elapsed_s),
                findings: &record.findings,
                demands: &record.demands,
                steady: &asked,
                idleness: record.idleness.as_ref().zip(style.idleness),
                host: None,
            };
            output.out.write_all(json::write(&summary, &frame).as_bytes())?;
        }
        if style.formats.contains(&Format::Normal) {
            output.out.write_all(normal::write(&summary, &asked, &now).as_bytes())?;
            if let Some((found, profile)) = record.idleness.as_ref().zip(style.idleness) {
                let lists = profile == IdleProfile::PerProcessor;
                output.out.write_all(idleness::text(found, lists).as_bytes())?;
            }
        }
        output.out.flush()
    }

    /// What was asked where a job looks for steadiness.
    pub(super) fn steady(&self, job: &ReportedJob<'_>) -> Option<Steady> {
        self.plan.phases.get(job.view.phase)?.jobs.get(job.view.job)?.limit.steady
    }

    /// The time of the report: the end of what ran last.
    fn moment(&self) -> ReportTime {
        let elapsed_ns = self.phases.last().map_or(0, |phase| phase.elapsed_ns);
        ReportTime { unix_ns: self.now_unix_ns(elapsed_ns), east_s: self.view.style.local.0 }
    }

    fn left_s(&self, elapsed_s: u64) -> i64 {
        match &self.live {
            _ if elapsed_s < 3 => NOBODY_KNOWS,
            Some(live) => eta::left_s(live, &self.view).map_or(NOBODY_KNOWS, |left| left as i64),
            None => 0,
        }
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.logs.event(event, output.files)?;
        self.report(event, output)?;
        match self.debug.lines(event, &self.view) {
            text if text.is_empty() => Ok(()),
            text => self.tell(&text, output),
        }
    }
}

impl Report {
    fn report(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                self.started = true;
                self.plan = started.plan.clone();
                self.began_unix_ns = started.at_unix_ns;
                // Nobody may be listening on standard error.
                let _ = output.err.write_all(banner::warnings(&self.view).as_bytes());
                if self.speaks() {
                    output.out.write_all(banner::banner(&self.view).as_bytes())?;
                }
                self.listening(0, output)
            }
            Event::LayingOut { job, files, total_bytes } if self.speaks() => {
                output.out.write_all(banner::laying_out(job, *files, *total_bytes).as_bytes())
            }
            Event::Live(live) => self.live(live, output),
            Event::Interim(phase) => {
                self.keep(phase);
                self.write(&Record::default(), output)
            }
            Event::PhaseEnded(phase) => self.phase_ended(phase, output),
            Event::Message(_) => self.message(event, output),
            Event::Ended(record) => self.ended(record, output),
            _ => Ok(()),
        }
    }
}
