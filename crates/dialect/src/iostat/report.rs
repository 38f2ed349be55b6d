//! iostat's output format: a line about the machine, then a report for each sample, as text or as one document.
//!
//! Devices that were never used are left out unless somebody named them, so what was used is remembered from the first
//! sample on, which covers the time since the machine was started.

use std::collections::BTreeSet;
use std::io::{self, Write};

use iodyno_model::{CpuShares, Event, Record, RunStart, Sample};
use iodyno_report::metrics::shares;
use iodyno_report::{Output, Reporter};

use super::columns::{Column, keys, tables};
use super::figures::{Interval, is_unused};
use super::json;
use super::settings::{Selection, Settings};
use crate::date;

/// Writes iostat's reports.
#[derive(Clone, Debug)]
pub struct Reports {
    settings: Settings,
    used: BTreeSet<String>,
    samples: u64,
    printed: u64,
    begun: bool,
    closed: bool,
}

const CPU_WIDTH: usize = 7;

impl Reports {
    /// The reporter of what is to be seen.
    pub fn new(settings: Settings) -> Self {
        Reports { settings, used: BTreeSet::new(), samples: 0, printed: 0, begun: false, closed: false }
    }

    fn begin(&mut self, started: &RunStart, out: &mut dyn Write) -> io::Result<()> {
        self.begun = true;
        let machine = &started.machine;
        let cpus = self.settings.cpus.unwrap_or(machine.cpus);
        let date = self.settings.date(started.at_unix_ns);
        if self.settings.command.json {
            let (system, release) = machine.kernel.split_once(' ').unwrap_or((&machine.kernel, ""));
            let architecture = &self.settings.architecture;
            return json::head(out, &[&machine.host, system, release, architecture], cpus, &date);
        }
        let (kernel, host, architecture) = (&machine.kernel, &machine.host, &self.settings.architecture);
        writeln!(out, "{kernel} ({host}) \t{date} \t_{architecture}_\t({cpus} CPU)")
    }

    fn sample(&mut self, sample: &Sample, out: &mut dyn Write) -> io::Result<()> {
        self.samples += 1;
        let active = sample.devices.iter().filter(|did| !is_unused(did));
        self.used.extend(active.map(|did| did.device.clone()));
        let is_left_out = self.settings.is_first_left_out() && self.samples == 1;
        // In a document the original leaves a line for what it leaves out, too.
        if !self.settings.command.json || is_left_out {
            writeln!(out)?;
        }
        if is_left_out {
            return out.flush();
        }
        let rows = if self.settings.command.shows_disks() { self.rows(sample) } else { Vec::new() };
        self.printed += 1;
        match self.settings.command.json {
            true => self.part_of_document(sample, &rows, out)?,
            false => self.settings.report(sample, &rows, out)?,
        }
        out.flush()
    }

    fn part_of_document(&self, sample: &Sample, rows: &[Interval], out: &mut dyn Write) -> io::Result<()> {
        let Settings { command, layout, style, .. } = &self.settings;
        let time = command.timed.then(|| self.settings.time(sample.at_unix_ns));
        let keys = keys(*layout, command.extended, command.short);
        let device = |row| json::device(row, &keys, style);
        let disks = command.shows_disks().then(|| rows.iter().map(device).collect());
        let cpu = sample.cpu.as_ref().filter(|_| command.shows_cpu());
        json::statistics(out, self.printed > 1, time.as_deref(), cpu, disks)
    }

    /// The lines of a report, those that are not to be shown left out.
    fn rows(&self, sample: &Sample) -> Vec<Interval> {
        let mut rows = match &self.settings.selection {
            Selection::All { unused, sorted } => {
                let mut rows = self.all(sample, *unused);
                if *sorted {
                    rows.sort_by(|one, other| one.did.device.cmp(&other.did.device));
                }
                rows
            }
            Selection::Named(names) => self.named(sample, names),
            Selection::Groups { alone, groups, only } => {
                let mut rows = self.named(sample, alone);
                for (name, devices) in groups {
                    let members = match devices.is_empty() {
                        true => self.all(sample, false),
                        false => self.named(sample, devices),
                    };
                    let all = Interval::together(&format!(" {name}"), members.iter());
                    rows.extend(members.into_iter().filter(|_| !only));
                    rows.push(all);
                }
                rows
            }
        };
        rows.retain(|row| !(self.settings.command.without_idle && row.is_idle()));
        rows
    }

    fn all(&self, sample: &Sample, unused: bool) -> Vec<Interval> {
        let shown = |name: &str| unused || self.used.contains(name);
        let devices = sample.devices.iter().filter(|did| shown(&did.device));
        devices.map(|did| self.row(sample, did)).collect()
    }

    fn named(&self, sample: &Sample, names: &[String]) -> Vec<Interval> {
        let find = |name: &String| sample.devices.iter().find(|did| did.device == *name);
        names.iter().filter_map(find).map(|did| self.row(sample, did)).collect()
    }

    fn row(&self, sample: &Sample, did: &iodyno_model::DeviceActivity) -> Interval {
        let name = self.settings.names.get(&did.device).unwrap_or(&did.device);
        Interval::of(name, did, sample.interval_ns)
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if !std::mem::replace(&mut self.closed, true) && self.begun {
            match self.settings.command.json {
                true => json::tail(output.out)?,
                false => writeln!(output.out)?,
            }
        }
        for error in &record.errors {
            writeln!(output.err, "iostat: {}", error.message)?;
            if let Some(hint) = &error.hint {
                writeln!(output.err, " hint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl Settings {
    fn date(&self, unix_ns: u64) -> String {
        let stamp = date::stamp(unix_ns, self.east_s);
        if self.iso { stamp[..10].to_string() } else { american(&stamp) }
    }

    fn time(&self, unix_ns: u64) -> String {
        let stamp = date::stamp(unix_ns, self.east_s);
        let time = &stamp[11..];
        if !self.iso {
            return format!("{} {time}", american(&stamp));
        }
        let (sign, minutes) = (if self.east_s < 0 { '-' } else { '+' }, self.east_s.abs() / 60);
        format!("{}T{time}{sign}{:02}{:02}", &stamp[..10], minutes / 60, minutes % 60)
    }

    /// The first sample covers the time since the machine was started.
    fn is_first_left_out(&self) -> bool {
        self.command.without_first && self.command.interval.is_some_and(|seconds| seconds > 0)
    }

    fn report(&self, sample: &Sample, rows: &[Interval], out: &mut dyn Write) -> io::Result<()> {
        let command = &self.command;
        if command.timed {
            writeln!(out, "{}", self.time(sample.at_unix_ns))?;
        }
        if let Some(cpu) = sample.cpu.as_ref().filter(|_| command.shows_cpu()) {
            self.processors(cpu, out)?;
        }
        if !command.shows_disks() {
            return writeln!(out);
        }
        let is_narrow = command.pretty && !command.compact;
        let tables = tables(self.layout, command.extended, command.short, is_narrow);
        tables.iter().try_for_each(|columns| self.table(columns, rows, out))
    }

    fn processors(&self, cpu: &CpuShares, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "avg-cpu:  %user   %nice %system %iowait  %steal   %idle")?;
        let shares = shares(cpu).map(|(_, share)| self.style.percent(share, CPU_WIDTH));
        writeln!(out, "       {}\n", shares.concat())
    }

    fn table(&self, columns: &[Column], rows: &[Interval], out: &mut dyn Write) -> io::Result<()> {
        let unit = self.style.unit;
        let heads: String =
            columns.iter().map(|column| format!(" {:>1$}", column.heading(unit), column.width)).collect();
        let device = self.layout.device();
        match self.command.pretty {
            true => writeln!(out, "{heads} {device}")?,
            false => writeln!(out, "{device:<13}{heads}")?,
        }
        for row in rows {
            let cells: String =
                columns.iter().map(|column| self.style.cell(column, (column.value)(row))).collect();
            match self.command.pretty {
                true => writeln!(out, "{cells}{}", self.style.name(&format!(" {}", row.name)))?,
                false => writeln!(out, "{}{cells}", self.style.name(&format!("{:<13}", row.name)))?,
            }
        }
        writeln!(out)
    }
}

/// A date as the C locale writes it: `11/22/26`.
fn american(stamp: &str) -> String {
    format!("{}/{}/{}", &stamp[5..7], &stamp[8..10], &stamp[2..4])
}

impl Reporter for Reports {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => self.begin(started, output.out),
            Event::Watched(sample) => self.sample(sample, output.out),
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}
