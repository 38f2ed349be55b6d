//! bonnie++'s output: how far it is on standard error, its two tables, and its line of comma-separated values.
//!
//! A test that took less than half a second shows `+++++` in place of a rate, as the original has it: so short a time says
//! nothing. In the table of files the original prints an arbitrary number in place of each rate (`%5d` of a
//! floating-point number); ours prints the rate, which is that of its line of values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, PhaseRecord, Record};
use iodyno_report::{Output, Reporter};

use super::lower::TIMED;
use super::settings::{CHUNK, FILES, FileContent, SEEKS};
use super::view::{ReportContext, TestName};
use crate::mdtest::report::message_text;
use crate::message_log::MessageLog;
use crate::strerror;

/// The versions of the format of the values, and of the program whose output this is.
const FORMAT: &str = "1.98";
pub const VERSION: &str = "2.00a";

/// Shorter tests have no rate, seconds.
const LEAST_S: f64 = 0.5;
/// Width of the name and the size before the rates.
const NAME_WIDTH: usize = 19;

/// What a test came to.
#[derive(Clone, Copy, Debug, Default)]
struct TestResult {
    elapsed_ns: u64,
    /// Time of the processors.
    cpu_ns: u64,
    longest_ns: u64,
}

/// Writes the report.
#[derive(Clone, Debug)]
pub struct Report {
    view: ReportContext,
    results: BTreeMap<TestName, TestResult>,
    failed: Vec<String>,
    /// A worker could not begin or broke off.
    is_broken: bool,
    /// What standard error was told; the same is not told twice.
    said: MessageLog,
    /// A line of standard error is not ended yet.
    is_open: bool,
}

impl Report {
    pub fn new(view: ReportContext) -> Self {
        Report {
            view,
            results: BTreeMap::new(),
            failed: Vec::new(),
            is_broken: false,
            said: MessageLog::default(),
            is_open: false,
        }
    }

    fn started(&mut self, output: &mut Output<'_>) -> io::Result<()> {
        let settings = &self.view.settings;
        if let Some((user, group)) = settings.said.filter(|_| !settings.quiet) {
            let _ = writeln!(output.err, "Using uid:{user}, gid:{group}.");
        }
        if settings.is_counted && settings.runs > 1 {
            writeln!(output.out, "{}", heading())?;
        }
        output.out.flush()
    }

    fn begins(&mut self, index: usize, output: &mut Output<'_>) {
        let part = self.view.parts.get(index).filter(|part| part.begins && !self.view.settings.quiet);
        if let Some(test) = part.and_then(|part| part.test) {
            let _ = write!(output.err, "{}", test.progress().0);
            let _ = output.err.flush();
            self.is_open = true;
        }
    }

    fn ends(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let Some(part) = self.view.parts.get(phase.index).copied() else { return Ok(()) };
        self.note_failures(phase);
        if let Some(test) = part.test {
            let result = self.results.entry(test).or_default();
            result.elapsed_ns += phase.elapsed_ns;
            for job in &phase.jobs {
                result.cpu_ns +=
                    job.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum::<u64>();
                let lines = job.tally.lines.iter().filter(|line| line.label == TIMED);
                let longest = lines.map(|line| line.latency.max).max().unwrap_or(0);
                result.longest_ns = result.longest_ns.max(longest);
            }
            if part.ends && self.is_whole() && !self.view.settings.quiet {
                let seekers = if test == TestName::Seeks { self.view.settings.seekers as usize } else { 0 };
                let _ = write!(output.err, "{}{}", "done...".repeat(seekers), test.progress().1);
                self.is_open = false;
            }
        }
        if part.is_last && self.is_whole() {
            self.print(output)?;
            self.results.clear();
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.failed.is_empty() && !self.is_broken
    }

    fn note_failures(&mut self, phase: &PhaseRecord) {
        for job in &phase.jobs {
            self.is_broken |=
                job.workers.iter().any(|worker| worker.failure.is_some() || worker.fatal.is_some());
            for error in &job.tally.errors {
                let reason = strerror::reason(error.errno, "less was moved than asked for");
                self.failed
                    .push(format!("Bonnie: drastic I/O error ({}, {}): {reason}", phase.name, error.verb));
            }
        }
    }

    /// Both tables, where all tests are done once, and the line of values.
    fn print(&self, output: &mut Output<'_>) -> io::Result<()> {
        if !self.view.settings.is_counted {
            let tables = self.tables();
            match self.view.settings.quiet {
                true => drop(output.err.write_all(tables.as_bytes())),
                false => output.out.write_all(tables.as_bytes())?,
            }
        }
        writeln!(output.out, "{}", self.values())?;
        output.out.flush()
    }

    fn result(&self, test: TestName) -> TestResult {
        self.results.get(&test).copied().unwrap_or_default()
    }

    /// What a test moved, in KiB, seeks or files.
    fn amount(&self, test: TestName) -> u64 {
        let settings = &self.view.settings;
        match test {
            TestName::ByteWrite | TestName::ByteRead => settings.byte_mib * 1024,
            TestName::FastWrite | TestName::Rewrite | TestName::FastRead => settings.mib * 1024,
            TestName::Seeks => settings.seeks,
            _ => settings.kfiles * FILES,
        }
    }

    fn tables(&self) -> String {
        let settings = &self.view.settings;
        let mut text = String::new();
        let version = format!("Version {VERSION:>5}       ");
        if settings.mib > 0 {
            let _ = writeln!(text, "{version}------Sequential Output------ --Sequential Input- --Random-");
            let _ = writeln!(text, "{:20}-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--", "");
            let _ = writeln!(text, "{:20}{}", "Name:Size etc", columns());
            text += &self.name_and_size();
            TestName::FILE.iter().for_each(|test| text += &self.cells(*test));
            text += &self.latencies(&TestName::FILE);
            text.push('\n');
        }
        if settings.kfiles > 0 {
            let _ = writeln!(text, "{version}------Sequential Create------ --------Random Create--------");
            let name: String = settings.machine.chars().take(NAME_WIDTH).collect();
            let _ = writeln!(
                text,
                "{name:NAME_WIDTH$} -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--"
            );
            let what = match settings.content {
                FileContent::Sized { least: 1.., .. } => "files:max:min       ",
                FileContent::Sized { most: 0, .. } => "              files ",
                _ => "files:max           ",
            };
            let _ = writeln!(text, "{what}{}", columns());
            let _ = write!(text, "{:>NAME_WIDTH$}", self.files());
            TestName::FILES.iter().for_each(|test| text += &self.cells(*test));
            text += &self.latencies(&TestName::FILES);
        }
        // The original ends the table of files by a line's end, whether there is one or not.
        text + "\n"
    }

    /// The machine, and the size of the file with what else is not usual.
    fn name_and_size(&self) -> String {
        let settings = &self.view.settings;
        let unless = |usual: bool, text: String| if usual { String::new() } else { text };
        let parts = [
            counted(settings.mib, &["M", "G"]),
            unless(settings.chunk == CHUNK, counted(settings.chunk, &["", "k", "m"])),
            unless(settings.concurrency == 1, settings.concurrency.to_string()),
            unless(settings.seeks == SEEKS, settings.seeks.to_string()),
            // As the original, which cuts a number of one digit off.
            unless(settings.seekers < 10, settings.seekers.to_string()),
        ];
        let size = parts.join(":").trim_end_matches(':').to_string();
        let Some(room) = (NAME_WIDTH - 1).checked_sub(size.len()) else { return size };
        let name: String = settings.machine.chars().take(room).collect();
        format!("{name:room$} {size}")
    }

    /// Number, sizes and directories of the files.
    fn files(&self) -> String {
        let settings = &self.view.settings;
        let sizes = match settings.content {
            FileContent::HardLinks => ":link".into(),
            FileContent::SymbolicLinks => ":symlink".into(),
            FileContent::Sized { most: 0, .. } => String::new(),
            FileContent::Sized { least, most } => format!(":{most}:{least}"),
        };
        let directories =
            if settings.directories > 1 { format!("/{}", settings.directories) } else { String::new() };
        format!("{}{sizes}{directories}", settings.kfiles)
    }

    /// The rate and the share of the processor, as the tables have them.
    fn cells(&self, test: TestName) -> String {
        let result = self.result(test);
        let seconds = result.elapsed_ns as f64 / 1e9;
        if result.elapsed_ns == 0 {
            return " ".repeat(10);
        }
        if seconds < LEAST_S {
            return " +++++ +++".into();
        }
        let rate = self.amount(test) as f64 / seconds;
        let text = match test {
            TestName::Seeks if rate >= 1000.0 => format!(" {rate:5.0}"),
            TestName::Seeks => format!(" {rate:5.1}"),
            test if TestName::FILES.contains(&test) => format!(" {:5}", rate as u64),
            _ if rate < 10_000.0 => format!(" {:4}k", rate as u64),
            _ if rate / 1024.0 < 100.0 => format!(" {:4.1}m", rate / 1024.0),
            _ if rate / 1024.0 < 1000.0 => format!(" {:4}m", (rate / 1024.0 + 0.5) as u64),
            _ => format!(" {:4.1}g", rate / 1024.0 / 1024.0),
        };
        format!("{text} {:3}", result.cpu_ns * 100 / result.elapsed_ns)
    }

    fn latencies(&self, tests: &[TestName]) -> String {
        let cells = tests.iter().map(|test| format!(" {:>9}", latency(self.result(*test).longest_ns)));
        format!("\nLatency          {}", cells.collect::<String>())
    }

    /// The line of values: of each test the rate and the share of the processor, then the latencies.
    fn values(&self) -> String {
        let settings = &self.view.settings;
        let (name, copies, seed) = (&settings.machine, settings.concurrency, &settings.seed_text);
        let mut text = format!("{FORMAT},{VERSION},{name},{copies},{seed}");
        if settings.mib > 0 {
            // The size of a chunk stays empty in the original.
            let size = counted(settings.mib, &["M", "G"]);
            let _ = write!(text, ",{size},,{},{}", settings.seeks, settings.seekers);
            TestName::FILE.iter().for_each(|test| text += &self.value(*test));
        } else {
            text += &",".repeat(16);
        }
        if settings.kfiles > 0 {
            let sizes = match settings.content {
                FileContent::HardLinks => "link,".into(),
                FileContent::SymbolicLinks => "symlink,".into(),
                FileContent::Sized { most: 0, .. } => ",".into(),
                FileContent::Sized { least: 0, most } => format!("{most},"),
                FileContent::Sized { least, most } => format!("{most},{least}"),
            };
            let directories =
                if settings.directories > 1 { settings.directories.to_string() } else { String::new() };
            let _ = write!(text, ",{},{sizes},,{directories}", settings.kfiles);
            TestName::FILES.iter().for_each(|test| text += &self.value(*test));
        } else {
            text += &",".repeat(17);
        }
        for test in TestName::FILE.iter().chain(&TestName::FILES) {
            let _ = write!(text, ",{}", latency(self.result(*test).longest_ns));
        }
        text
    }

    fn value(&self, test: TestName) -> String {
        let result = self.result(test);
        let seconds = result.elapsed_ns as f64 / 1e9;
        if result.elapsed_ns == 0 {
            return ",,".into();
        }
        if seconds < LEAST_S {
            return ",+++++,+++".into();
        }
        let rate = self.amount(test) as f64 / seconds;
        let rate = match test {
            TestName::Seeks if rate >= 1000.0 => format!("{rate:.0}"),
            TestName::Seeks => format!("{rate:.1}"),
            _ => (rate as u64).to_string(),
        };
        format!(",{rate},{}", result.cpu_ns * 100 / result.elapsed_ns)
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            let _ = writeln!(output.err);
        }
        let failed: Vec<String> = self.failed.drain(..).map(|text| text + "\n").collect();
        failed
            .into_iter()
            .chain(record.errors.iter().map(message_text))
            .for_each(|text| self.said.say(text, output));
        Ok(())
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.started(output),
            Event::PhaseStarted { index, .. } => {
                self.begins(*index, output);
                Ok(())
            }
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

fn columns() -> String {
    " /sec %CP ".repeat(6).trim_end().to_string()
}

/// A number in the largest unit that divides it; the last unit takes all.
fn counted(mut number: u64, units: &[&str]) -> String {
    let mut unit = 0;
    while number > 0 && number.is_multiple_of(1024) && unit + 1 < units.len() {
        (number, unit) = (number / 1024, unit + 1);
    }
    format!("{number}{}", units[unit])
}

/// Microseconds, milliseconds or seconds; nothing where nothing was timed.
fn latency(ns: u64) -> String {
    match ns / 1000 {
        _ if ns == 0 => String::new(),
        us @ 0..=99_999 => format!("{us}us"),
        us @ 100_000..=99_999_999 => format!("{}ms", us / 1000),
        us => format!("{}s", us / 1_000_000),
    }
}

/// The names of the values.
fn heading() -> String {
    let rates = |names: &[&str]| names.iter().map(|name| format!(",{name},{name}_cpu")).collect::<String>();
    let file = ["putc", "put_block", "rewrite", "getc", "get_block", "seeks"];
    let files = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];
    let latencies = file.iter().chain(&files).map(|name| format!(",{name}_latency"));
    format!(
        "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size{}\
         ,num_files,max_size,min_size,num_dirs,file_chunk_size{}{}",
        rates(&file),
        rates(&files),
        latencies.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_latencies_are_told_in_the_originals_units() {
        let of = |number| counted(number, &["M", "G"]);
        assert_eq!(
            (of(300), of(1024), of(1536), of(4 << 20)),
            ("300M".into(), "1G".into(), "1536M".into(), "4096G".into())
        );
        let told: Vec<String> = [0, 999, 99_999_999, 100_000_000, 99_999_999_999, 100_000_000_000]
            .into_iter()
            .map(latency)
            .collect();
        assert_eq!(told, ["", "0us", "99999us", "100ms", "99999ms", "100s"]);
    }
}
