//! dbench's output: a line a second, a table of the operations, and the throughput of the last line.
//!
//! Seconds are counted from the start of the run, then from the end of the warm-up, of which the last second has no line. The
//! throughput is that of the last line before the end, as the original has it: none where the time was one second. The
//! longest latency of a line is that of the operations that ended in it; the original counts how long one has taken that has
//! not ended, too. Failures are told before the table, each with its line of the load.

use std::fmt::Write as _;
use std::io;

use iodyno_model::histogram::upper_edge;
use iodyno_model::{Event, Histogram, JobRecord, Live, PhaseRecord, Record, Tally};
use iodyno_report::{Output, Reporter};
use iodyno_trace::requests::LoadRequestKind;

use super::VERSION;
use super::settings::Settings;
use crate::conversation::{fact, fact_of};
use crate::iperf3::json::general;
use crate::mdtest::report::message_text;
use crate::message_log::MessageLog;

/// What the engine counts: lines of the load that were gone through, the warm-up's among them.
const LINES: &str = "lines";

/// Writes the report.
#[derive(Clone, Debug)]
pub struct Report {
    settings: Settings,
    /// Since the start line, ns.
    elapsed_ns: u64,
    running: u32,
    /// Latencies when the last line was printed.
    before: Histogram,
    throughput: f64,
    latency_ns_max: u64,
    /// How many seconds have a line, or are not to have one.
    seconds: u64,
    is_over: bool,
    ended: Option<Box<PhaseRecord>>,
    said: MessageLog,
}

impl Report {
    pub fn new(settings: Settings) -> Self {
        Report {
            settings,
            elapsed_ns: 0,
            running: 0,
            before: Histogram::default(),
            throughput: 0.0,
            latency_ns_max: 0,
            seconds: 0,
            is_over: false,
            ended: None,
            said: MessageLog::default(),
        }
    }

    fn started(&self, output: &mut Output<'_>) -> io::Result<()> {
        let Settings { time_s, load, warmup_s, .. } = &self.settings;
        writeln!(output.out, "dbench version {VERSION} - Copyright Andrew Tridgell 1999-2004\n")?;
        writeln!(
            output.out,
            "Running for {time_s} seconds with load '{load}' and minimum warmup {warmup_s} secs"
        )?;
        output.out.flush()
    }

    fn begins(&self, output: &mut Output<'_>) -> io::Result<()> {
        let all = self.settings.processes;
        writeln!(output.out, "{all} of {all} processes prepared for launch   0 sec\nreleasing clients")?;
        output.out.flush()
    }

    fn live(&mut self, live: &Live) {
        self.elapsed_ns = live.elapsed_ns;
        self.running = live.jobs.iter().map(|job| job.running).sum();
    }

    /// The line of a second.
    fn second(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(job) = phase.jobs.first() else { return Ok(()) };
        let (warmup, time) = (self.settings.warmup_s, self.settings.time_s);
        let second = (self.elapsed_ns + 500_000_000) / 1_000_000_000;
        if second <= self.seconds || second == 0 {
            return Ok(());
        }
        self.seconds = second;
        let clients = self.settings.all_clients();
        if second >= warmup + time {
            // When the time is up all of them begin to clear away.
            let is_first = !std::mem::replace(&mut self.is_over, true);
            let left = u64::from(self.running) * u64::from(self.settings.clients);
            return self.cleanup(if is_first { clients } else { left }, second - warmup, output);
        }
        if second == warmup {
            // What comes is counted anew.
            self.before = Histogram::default();
            return Ok(());
        }
        let is_warm = second > warmup;
        let seconds = self.elapsed_ns as f64 / 1e9 - if is_warm { warmup as f64 } else { 0.0 };
        let latency = self.longest(&job.tally);
        let rate = job.tally.all_bytes() as f64 / 1e6 / seconds;
        let active = job.workers.iter().filter(|worker| worker.bytes > 0).count() as u64;
        let (state, active) = match is_warm {
            true => ("execute", clients),
            false => ("warmup", active * u64::from(self.settings.clients)),
        };
        if is_warm {
            self.throughput = rate;
            self.latency_ns_max = self.latency_ns_max.max(latency);
        }
        writeln!(
            output.out,
            "{active:4}  {:8}  {rate:7.2} MB/sec  {state} {seconds:3.0} sec  latency {:.3} ms",
            lines(job) / clients,
            latency as f64 / 1e6,
        )?;
        output.out.flush()
    }

    /// How many clients still remove what they have made.
    fn cleanup(&self, left: u64, second: u64, output: &mut Output<'_>) -> io::Result<()> {
        writeln!(output.out, "{left:4}  cleanup {second:3} sec")?;
        output.out.flush()
    }

    /// The longest latency since the last line.
    fn longest(&mut self, tally: &Tally) -> u64 {
        let mut all = Histogram::default();
        tally.lines.iter().for_each(|line| all.merge(&line.latency));
        let before = std::mem::replace(&mut self.before, all.clone());
        if before.count() > all.count() || all.max > before.max {
            return all.max;
        }
        let counted = |bucket: u32| {
            let same = before.buckets().iter().find(|(known, _)| *known == bucket);
            same.map_or(0, |(_, count)| *count)
        };
        let new = all.buckets().iter().rev().find(|(bucket, count)| *count > counted(*bucket));
        new.map_or(0, |(bucket, _)| upper_edge(*bucket as usize).min(all.max))
    }

    fn ends(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let second = self.settings.time_s;
        if let Some(job) = phase.jobs.first()
            && self.is_whole(job)
        {
            if !self.is_over && !self.settings.once {
                self.cleanup(self.settings.all_clients(), second, output)?;
            }
            let passed = self.seconds.saturating_sub(self.settings.warmup_s).max(1);
            let last = if self.settings.once { passed } else { passed.max(second) };
            self.cleanup(0, last, output)?;
        }
        self.ended = Some(Box::new(phase.clone()));
        Ok(())
    }

    fn is_whole(&self, job: &JobRecord) -> bool {
        job.workers.iter().all(|worker| worker.failure.is_none() && worker.fatal.is_none())
    }

    /// The tables and the throughput, unless a client ended with a failure.
    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let ended = self.ended.take();
        let job = ended.as_deref().and_then(|phase| phase.jobs.first());
        for worker in job.iter().flat_map(|job| &job.workers) {
            let complaints = worker.complaints.iter().map(|complaint| format!("{complaint}\n"));
            complaints.chain(worker.failure.iter().map(|why| format!("{why}\n"))).for_each(|text| {
                self.said.say(text, output);
            });
        }
        record.errors.iter().map(message_text).for_each(|text| self.said.say(text, output));
        let Some(job) = job.filter(|_| record.stopped_by.is_none()) else { return Ok(()) };
        if !self.is_whole(job) {
            self.said.say("Child failed with status 1\n".into(), output);
            return Ok(());
        }
        output.out.write_all(self.tables(job).as_bytes())?;
        let Settings { sync_open, sync_directories, processes, .. } = self.settings;
        writeln!(
            output.out,
            "Throughput {} MB/sec{}{}  {} clients  {processes} procs  max_latency={:.3} ms",
            general(self.throughput, 6),
            if sync_open { " (sync open)" } else { "" },
            if sync_directories { " (sync dirs)" } else { "" },
            self.settings.all_clients(),
            self.latency_ns_max as f64 / 1e6,
        )?;
        output.out.flush()
    }

    fn tables(&self, job: &JobRecord) -> String {
        let mut text = format!("\n{}", table(&job.tally, &job.tally));
        if !self.settings.each_client {
            return text;
        }
        text.push_str("Per client results:\n");
        for worker in &job.workers {
            let Some(tally) = &worker.tally else { continue };
            let lines = fact(&worker.facts, LINES).unwrap_or(0);
            let _ = writeln!(text, "Client {} did {lines} lines and {} bytes", worker.index, worker.bytes);
            text += &table(tally, &job.tally);
        }
        text
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.started(output),
            Event::PhaseStarted { .. } => self.begins(output),
            Event::Live(live) => {
                self.live(live);
                Ok(())
            }
            Event::Interim(phase) => self.second(phase, output),
            Event::PhaseEnded(phase) => self.ends(phase, output),
            Event::Message(wrong) => {
                self.said.say(message_text(wrong), output);
                Ok(())
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}

/// Lines of the load that all clients went through.
fn lines(job: &JobRecord) -> u64 {
    fact_of(job, LINES).unwrap_or(0)
}

/// The operations that anybody did, as one did them.
fn table(tally: &Tally, all: &Tally) -> String {
    let mut text = String::from(" Operation      Count    AvgLat    MaxLat\n");
    text.push_str(" ----------------------------------------\n");
    for kind in LoadRequestKind::ALL {
        let of = |tally: &Tally| {
            let line = tally.lines.iter().find(|line| line.label == kind.label())?;
            Some((line.operations + line.failed, line.latency.clone()))
        };
        let is_done = of(all).is_some_and(|(count, _)| count > 0);
        let Some((count, latency)) = of(tally).filter(|_| is_done) else { continue };
        let mean = if count == 0 { "-nan".into() } else { format!("{:.3}", latency.mean() / 1e6) };
        let _ = writeln!(text, " {:12} {count:7} {mean:>9} {:9.3}", kind.label(), latency.max as f64 / 1e6);
    }
    text.push('\n');
    text
}
