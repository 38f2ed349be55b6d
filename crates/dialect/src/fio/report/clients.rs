//! The report of a run on several hosts, as fio's client writes it: what each host says under its name, then all of them
//! together.
//!
//! Each host's part is written by a report of its own; here are only the frame around them and the sum.

use std::io::{self, Write};

use iodyno_model::pace::Steady;
use iodyno_model::{Event, Record, RunStart};
use iodyno_report::{Files, Output, Reporter};

use super::normal::ReportTime;
use super::summary::{ReportedJob, Summary};
use super::{Report, banner, json, normal, terse};
use crate::fio::client::{self, HostView};
use crate::fio::view::{Format, JobView, ReportContext, ReportFigures, ReportStyle};

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
        let mut hosts: Vec<HostReport<'_>> = self
            .hosts
            .iter()
            .map(|(host, report)| HostReport {
                host,
                label: host,
                port: None,
                view: report.view.clone(),
                summary: report.summary(),
                steady: Box::new(|job| report.steady(job)),
                moment: report.moment(),
            })
            .collect();
        // The devices of all hosts are counted together, so they are told once.
        hosts.iter_mut().rev().skip(1).for_each(|host| host.summary.disks.clear());
        output.out.write_all(report(&hosts, &self.all.view.style, record).as_bytes())?;
        output.out.flush()
    }
}

/// What was asked of a job where it looks for steadiness.
pub type AskedSteadiness<'a> = Box<dyn Fn(&ReportedJob<'_>) -> Option<Steady> + 'a>;

/// What one host came to.
pub struct HostReport<'a> {
    /// As the user named it.
    pub host: &'a str,
    /// What stands before its lines.
    pub label: &'a str,
    /// Where its server listens; none: it was started there.
    pub port: Option<u16>,
    pub view: ReportContext,
    pub summary: Summary<'a>,
    /// What was asked where a job looks for steadiness.
    pub steady: AskedSteadiness<'a>,
    pub moment: ReportTime,
}

/// The report of several hosts: each, and their sum.
pub fn report(hosts: &[HostReport<'_>], style: &ReportStyle, record: &Record) -> String {
    let Some(first) = hosts.first() else { return String::new() };
    let jobs = || hosts.iter().flat_map(|host| &host.summary.jobs);
    let view = jobs().last().map(|last| sum_view(last.view)).unwrap_or_default();
    let sum = ReportedJob::sum(&mut jobs(), &view);
    let mut text = String::new();
    if style.formats.contains(&Format::Terse) {
        hosts
            .iter()
            .for_each(|host| text += &terse::write(&host.summary, style.terse_version, &style.version));
    }
    if style.formats.contains(&Format::Normal) {
        for host in hosts {
            let own = normal::write(&host.summary, &*host.steady, &host.moment);
            // A server has sent the first line itself.
            text += &match host.port {
                Some(_) => own.trim_start_matches('\n').to_string(),
                None => format!("<{}> {own}", host.label),
            };
        }
        if let Some(sum) = &sum {
            text += &normal::reported(sum, None, None, &first.moment);
        }
    }
    if style.formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus)) {
        text += &json_text(hosts, style, sum.as_ref(), record);
    }
    text
}

fn json_text(
    hosts: &[HostReport<'_>],
    style: &ReportStyle,
    sum: Option<&ReportedJob<'_>>,
    record: &Record,
) -> String {
    let mut parts = Vec::new();
    for host in hosts {
        let frame = json::Frame {
            view: &host.view,
            plus: style.formats.contains(&Format::JsonPlus),
            now: &host.moment,
            elapsed_s: 0,
            eta_s: 0,
            findings: &record.findings,
            demands: &record.demands,
            steady: &*host.steady,
            idleness: None,
            host: Some((host.host, host.port)),
        };
        parts.push((&host.summary, frame));
    }
    json::write_clients(&parts, sum)
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
