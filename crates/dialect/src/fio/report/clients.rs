//! The report of a run on several hosts, as fio's client writes it: what each host says under its name, then all of them
//! together.
//!
//! Each host's part is written by a report of its own; here are only the frame around them and the sum.

use std::io::{self, Write};

use iodyno_model::{Event, Record, RunStart};
use iodyno_report::{Files, Output, Reporter};

use super::summary::{ReportedJob, Summary, summary};
use super::{Report, banner, json, normal, terse};
use crate::fio::client::{self, HostView};
use crate::fio::view::{Format, JobView, ReportContext, ReportFigures};

/// Writes the report of several hosts.
pub struct Clients {
    hosts: Vec<(String, Report)>,
    /// All jobs as one run: progress and messages.
    all: Report,
}

/// The reporter of a run on several hosts; `view` has the jobs of all.
pub fn reporter(view: ReportContext, parts: Vec<HostView>) -> Box<dyn Reporter> {
    let hosts = parts.into_iter().map(|part| (part.host, Report::new(part.view))).collect();
    Box::new(Clients { hosts, all: Report::new(view) })
}

/// Log files carry the name of the host they tell of.
struct HostFiles<'a> {
    files: &'a mut dyn Files,
    host: &'a str,
}

impl Files for HostFiles<'_> {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.files.file(&format!("{path}.{}", self.host))
    }

    fn close(&mut self, path: &str) -> io::Result<()> {
        self.files.close(&format!("{path}.{}", self.host))
    }
}

/// The name of the sum.
const ALL: &str = "All clients";

/// The processor family that this was built for, as the original names it.
fn architecture() -> &'static str {
    match () {
        () if cfg!(target_arch = "x86_64") => "x86-64",
        () if cfg!(target_arch = "aarch64") => "aarch64",
        () => "generic",
    }
}

impl Clients {
    fn started(&mut self, started: &RunStart, output: &mut Output<'_>) -> io::Result<()> {
        let mut text = String::new();
        for (rank, (_, report)) in self.hosts.iter().enumerate() {
            let version = &report.view.style.version;
            let (machine, os) = (started.world.host(rank as u32), started.machine.kernel.split(' ').next());
            let (bits, architecture) = (usize::BITS, architecture());
            let os = os.unwrap_or("Linux");
            text += &format!(
                "hostname={machine}, be={}, {bits}-bit, os={os}, arch={architecture}, fio={version}, flags=1\n",
                u8::from(cfg!(target_endian = "big"))
            );
        }
        for (host, report) in &self.hosts {
            text += &under(host, &banner::banner(&report.view), &report.view.style.version);
        }
        match self.all.speaks() {
            true => output.out.write_all(text.as_bytes()),
            false => Ok(()),
        }
    }

    /// Lets every host's report see an event; those that have begun keep what they need for the end.
    fn each(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        for (host, report) in &mut self.hosts {
            let files = &mut HostFiles { files: output.files, host };
            let mut own = Output { out: output.out, err: output.err, files };
            report.event(event, &mut own)?;
        }
        Ok(())
    }

    fn ended(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let event = Event::Ended(Box::new(record.clone()));
        if !self.all.started {
            return self.all.event(&event, output);
        }
        // What every host would say is said once.
        let unheard = Output { out: &mut io::sink(), err: &mut io::sink(), files: output.files };
        for (host, report) in &mut self.hosts {
            let files = &mut HostFiles { files: unheard.files, host };
            report.event(&event, &mut Output { out: unheard.out, err: unheard.err, files })?;
        }
        if let Some(signal) = record.stopped_by {
            self.all.tell(&format!("\nfio: terminating on signal {signal}\n"), output)?;
        }
        self.write(record, output)
    }

    fn write(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let Some((_, first)) = self.hosts.first() else { return Ok(()) };
        let style = &self.all.view.style;
        let mut summaries: Vec<Summary<'_>> = self
            .hosts
            .iter()
            .map(|(_, report)| summary(&report.view, &report.plan, &report.phases))
            .collect();
        // The devices of all hosts are counted together, so they are told once.
        summaries.iter_mut().rev().skip(1).for_each(|summary| summary.disks.clear());
        let jobs = || summaries.iter().flat_map(|summary| &summary.jobs);
        let view = jobs().last().map(|last| sum_view(last.view)).unwrap_or_default();
        let sum = ReportedJob::sum(&mut jobs(), &view);
        if style.formats.contains(&Format::Terse) {
            for summary in &summaries {
                let text = terse::write(summary, style.terse_version, &style.version);
                output.out.write_all(text.as_bytes())?;
            }
        }
        if style.formats.contains(&Format::Normal) {
            for ((host, report), summary) in self.hosts.iter().zip(&summaries) {
                let text = normal::write(summary, &|job| report.steady(job), &report.moment());
                output.out.write_all(format!("<{host}> {text}").as_bytes())?;
            }
            if let Some(sum) = &sum {
                output.out.write_all(normal::reported(sum, None, None, &first.moment()).as_bytes())?;
            }
        }
        if style.formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus)) {
            output.out.write_all(self.json(&summaries, sum.as_ref(), record).as_bytes())?;
        }
        output.out.flush()
    }

    fn json(&self, summaries: &[Summary<'_>], sum: Option<&ReportedJob<'_>>, record: &Record) -> String {
        let moments: Vec<_> = self.hosts.iter().map(|(_, report)| report.moment()).collect();
        let asked: Vec<_> =
            self.hosts.iter().map(|(_, report)| |job: &ReportedJob<'_>| report.steady(job)).collect();
        let mut parts = Vec::new();
        for (index, (host, report)) in self.hosts.iter().enumerate() {
            let frame = json::Frame {
                view: &report.view,
                plus: report.view.style.formats.contains(&Format::JsonPlus),
                now: &moments[index],
                elapsed_s: 0,
                eta_s: 0,
                findings: &record.findings,
                demands: &record.demands,
                steady: &asked[index],
                host: Some(host),
            };
            parts.push((&summaries[index], frame));
        }
        json::write_clients(&parts, sum)
    }
}

/// A host's lines under its name; the version was said before.
fn under(host: &str, text: &str, version: &str) -> String {
    text.lines().filter(|line| *line != version).map(|line| format!("<{host}> {line}\n")).collect()
}

/// How the sum is reported: as the last job is, without percentiles. It has no clones, because no job file has it.
fn sum_view(last: &JobView) -> JobView {
    let figures = ReportFigures {
        completion_percentiles: false,
        latency_percentiles: false,
        submission_percentiles: false,
        ..last.figures.clone()
    };
    JobView {
        name: ALL.into(),
        figures,
        options: Vec::new(),
        description: String::new(),
        counts_errors: false,
        clones: 0,
        ..last.clone()
    }
}

impl Reporter for Clients {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => {
                let (out, err) = (&mut io::sink(), &mut io::sink());
                let mut unheard = Output { out, err, files: output.files };
                self.each(event, &mut unheard)?;
                self.all.event(event, &mut unheard)?;
                let _ = output.err.write_all(banner::warnings(&self.all.view).as_bytes());
                self.started(started, output)
            }
            Event::LayingOut { job, files, total_bytes } if self.all.speaks() => {
                let (host, job) = client::apart(job);
                let text = under(host, &banner::laying_out(job, *files, *total_bytes), "");
                output.out.write_all(text.as_bytes())
            }
            Event::Live(_) | Event::Message(_) => {
                let mut unheard = Output { out: &mut io::sink(), err: &mut io::sink(), files: output.files };
                if matches!(event, Event::Live(_)) {
                    self.each(event, &mut unheard)?;
                }
                self.all.event(event, output)
            }
            Event::Interim(phase) => {
                self.hosts.iter_mut().for_each(|(_, report)| report.keep(phase));
                self.write(&Record::default(), output)
            }
            Event::PhaseEnded(phase) => {
                self.all.keep(phase);
                self.each(event, output)
            }
            Event::Ended(record) => self.ended(record, output),
            _ => self.each(event, output),
        }
    }
}
