//! smallfile's output: its parameters, a line for each thread, totals; the results as JSON; response times as CSV.
//!
//! Where the first thread's end ends the measurement, what others did until then is counted from their operations' times: the
//! original looks for that end every so many files. Data are the bytes that were moved; the original multiplies calls by the size
//! of one.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, JobRecord, JournalEntry, JournalPart, PhaseRecord, Record, WorkerRecord};
use iodyno_report::{Output, Reporter};

use super::VERSION;
use super::settings::Settings;
use crate::conversation::fact;
use crate::dlio::results::PYTHON;
use crate::json_tree::JsonTree;
use crate::mdtest::report::message_text;
use crate::message_log::MessageLog;
use crate::{date, strerror};

/// Calls that moved data, as the engine counts them.
const RECORDS: &str = "blocks";
/// Below this share of the files the measurement was too short, percent.
const PERCENT_LEAST: f64 = 90.0;
/// Seconds of a thread that ended before it began, or of a test without a rate.
const LEAST_S: f64 = 0.001;

/// Writes the report.
#[derive(Clone, Debug)]
pub struct Report {
    settings: Settings,
    /// By worker: when each operation was done, ns after the start line, and how long it took.
    done: Vec<Vec<(u64, u64)>>,
    ended: Option<Box<PhaseRecord>>,
    said: MessageLog,
}

/// What a thread, a host or all of them came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct WorkResult {
    elapsed_s: f64,
    files: u64,
    records: u64,
    bytes: u64,
    files_per_s: f64,
    records_per_s: f64,
    mib_per_s: f64,
    errno: i32,
}

impl WorkResult {
    fn new(elapsed_s: f64, files: u64, records: u64, bytes: u64) -> WorkResult {
        let per_s = |amount: f64| if elapsed_s > 0.0 { amount / elapsed_s } else { 0.0 };
        WorkResult {
            elapsed_s,
            files,
            records,
            bytes,
            files_per_s: per_s(files as f64),
            records_per_s: per_s(records as f64),
            mib_per_s: per_s(bytes as f64 / f64::from(1 << 20)),
            errno: 0,
        }
    }

    fn add(&mut self, other: &WorkResult) {
        self.elapsed_s = self.elapsed_s.max(other.elapsed_s);
        self.files += other.files;
        self.records += other.records;
        self.bytes += other.bytes;
        self.files_per_s += other.files_per_s;
        self.records_per_s += other.records_per_s;
        self.mib_per_s += other.mib_per_s;
        if self.errno == 0 {
            self.errno = other.errno;
        }
    }

    fn status(&self) -> String {
        match self.errno {
            0 => "ok".into(),
            errno => format!("ERR: {}", strerror::reason(errno, "it ended before its time")),
        }
    }

    fn json(&self) -> JsonTree {
        let mut tree = JsonTree::object([]);
        if self.errno != 0 {
            tree.push("status", strerror::reason(self.errno, "it ended before its time"));
        }
        tree.push("elapsed", self.elapsed_s).push("files", self.files).push("records", self.records);
        tree.push("files-per-sec", self.files_per_s);
        if self.records > 0 {
            tree.push("IOPS", self.records_per_s).push("MiBps", self.mib_per_s);
        }
        tree
    }
}

impl Report {
    pub fn new(settings: Settings) -> Self {
        Report { settings, done: Vec::new(), ended: None, said: MessageLog::default() }
    }

    fn started(&self, output: &mut Output<'_>) -> io::Result<()> {
        for (name, value) in parameters(&self.settings) {
            writeln!(output.out, "{name:>40} : {value}")?;
        }
        output.out.flush()
    }

    fn journal(&mut self, part: &JournalPart) {
        let worker = part.worker as usize;
        if self.done.len() <= worker {
            self.done.resize(worker + 1, Vec::new());
        }
        for entry in &part.entries {
            if let JournalEntry::Done { at_ns, latency_ns, .. } = entry {
                self.done[worker].push((*at_ns, *latency_ns));
            }
        }
    }

    /// What each thread came to, until the first was done where that ends the measurement.
    fn threads(&self, job: &JobRecord) -> Vec<WorkResult> {
        let elapsed = |worker: &WorkerRecord| worker.ended_ns.saturating_sub(worker.began_ns);
        let whole = job.workers.iter().filter(|worker| worker.operations >= self.settings.files);
        let first_ns = whole.map(|worker| worker.ended_ns).min().filter(|_| self.settings.cuts());
        let one = |worker: &WorkerRecord| {
            let records = fact(&worker.facts, RECORDS).unwrap_or(0);
            let mut result =
                WorkResult::new(elapsed(worker) as f64 / 1e9, worker.operations, records, worker.bytes);
            let done = self.done.get(worker.index as usize).filter(|done| !done.is_empty());
            if let (Some(first_ns), Some(done)) = (first_ns.filter(|first| *first < worker.ended_ns), done) {
                let files = done.iter().filter(|(at_ns, _)| *at_ns <= first_ns).count() as u64;
                let part = |amount: u64| (u128::from(amount) * u128::from(files) / done.len() as u128) as u64;
                let seconds = first_ns.saturating_sub(worker.began_ns) as f64 / 1e9;
                result = WorkResult::new(seconds, files, part(records), part(worker.bytes));
            }
            result.errno = match (&worker.fatal, &worker.failure) {
                (Some(fatal), _) => fatal.errno.max(1),
                (None, Some(_)) => 1,
                _ => 0,
            };
            result
        };
        job.workers.iter().map(one).collect()
    }

    fn end(&mut self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let ended = self.ended.take();
        let job = ended.as_deref().and_then(|phase| phase.jobs.first());
        for worker in job.iter().flat_map(|job| &job.workers) {
            worker.failure.iter().for_each(|why| self.said.say(format!("{why}\n"), output));
        }
        record.errors.iter().map(message_text).for_each(|text| self.said.say(text, output));
        let Some(job) = job.filter(|_| record.stopped_by.is_none()) else { return Ok(()) };
        let threads = self.threads(job);
        let mut all = WorkResult::default();
        threads.iter().for_each(|thread| all.add(thread));
        output.out.write_all(self.text(job, &threads, &all).as_bytes())?;
        output.out.flush()?;
        if self.settings.times {
            self.write_times(output)?;
        }
        if let Some(path) = self.settings.json.clone() {
            let text = self.json(job, &threads, &all).print(&PYTHON);
            output.files.file(&path)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn text(&self, job: &JobRecord, threads: &[WorkResult], all: &WorkResult) -> String {
        let mut text = String::new();
        for (worker, thread) in job.workers.iter().zip(threads) {
            let (host, number) = self.settings.who(worker.index);
            let (elapsed, files, records) = ((PYTHON.real)(thread.elapsed_s), thread.files, thread.records);
            let _ = writeln!(
                text,
                "host = {host},thr = {number:02},elapsed = {elapsed},files = {files},records = {records},status = {}",
                thread.status()
            );
        }
        let _ = writeln!(text, "total threads = {}\ntotal files = {}", threads.len(), all.files);
        if all.records > 0 {
            let _ = writeln!(text, "total IOPS = {}", all.records_per_s as u64);
            let _ = writeln!(text, "total data = {:9.3} GiB", all.bytes as f64 / f64::from(1 << 30));
        }
        let percent = self.percent(all);
        let _ = writeln!(
            text,
            "{percent:6.2}% of requested files processed, warning threshold is {PERCENT_LEAST:6.2}%"
        );
        let _ = writeln!(text, "elapsed time = {:9.3}", all.elapsed_s);
        if all.elapsed_s < LEAST_S {
            text.push_str("WARNING: test must run longer than a millisecond\n");
        } else {
            let _ = writeln!(text, "files/sec = {:.6}", all.files_per_s);
            if all.records > 0 {
                let _ = writeln!(text, "IOPS = {:.6}\nMiB/sec = {:.6}", all.records_per_s, all.mib_per_s);
            }
        }
        if all.errno != 0 {
            text.push_str("WARNING: at least one thread encountered error, test may be incomplete\n");
        } else if percent < PERCENT_LEAST {
            text.push_str(
                "WARNING: not enough total files processed before 1st thread finished, change test parameters\n",
            );
        }
        text
    }

    fn percent(&self, all: &WorkResult) -> f64 {
        100.0 * all.files as f64 / (self.settings.files * self.settings.all_threads()).max(1) as f64
    }

    fn json(&self, job: &JobRecord, threads: &[WorkResult], all: &WorkResult) -> JsonTree {
        let mut hosts: Vec<(String, WorkResult, JsonTree)> = Vec::new();
        for (worker, thread) in job.workers.iter().zip(threads) {
            let (host, number) = self.settings.who(worker.index);
            if hosts.last().is_none_or(|(known, ..)| known != host) {
                hosts.push((host.into(), WorkResult::default(), JsonTree::object([])));
            }
            if let Some((_, sum, inside)) = hosts.last_mut() {
                sum.add(thread);
                inside.push(&format!("{number:02}"), thread.json());
            }
        }
        let mut results = JsonTree::object([]);
        match self.settings.hosts.is_empty() {
            true => {
                for (_, _, inside) in hosts {
                    results.push("in-thread", inside);
                }
            }
            false => {
                let of = |(host, sum, inside): (String, WorkResult, JsonTree)| {
                    let mut tree = JsonTree::object([("in-thread", inside)]);
                    tree.append(sum.json());
                    (host, tree)
                };
                results.push("in-host", JsonTree::fields(hosts.into_iter().map(of)));
            }
        }
        results.append(all.json());
        results.push("total-threads", threads.len() as u64);
        if all.records > 0 {
            results.push("total-data-GB", all.bytes as f64 / f64::from(1 << 30));
        }
        results.push("pct-files-done", self.percent(all));
        let began_s = self.settings.began_unix_ns as f64 / 1e9;
        results.push("start-time", began_s);
        if all.errno == 0 {
            results.push("status", "Success");
        }
        results.push("date", date::stamp(self.settings.began_unix_ns, 0).replace(' ', "T") + ".000Z");
        let mut tree = JsonTree::object([("params", params(&self.settings))]);
        tree.push("results", results);
        tree
    }

    /// A file for each thread: what was done, when it began and how long it took, in seconds.
    fn write_times(&self, output: &mut Output<'_>) -> io::Result<()> {
        let Settings { operation, sync_directory, began_unix_ns, .. } = &self.settings;
        output.files.folder(sync_directory)?;
        for (worker, done) in (0..).zip(&self.done) {
            let (host, number) = self.settings.who(worker);
            let began_s = *began_unix_ns as f64 / 1e9;
            let path = format!("{sync_directory}/rsptimes_{number:02}_{host}_{operation}_{began_s:.2}.csv");
            let mut text = String::new();
            for (at_ns, took_ns) in done {
                let (began, took) = (at_ns.saturating_sub(*took_ns) as f64 / 1e9, *took_ns as f64 / 1e9);
                let _ = writeln!(text, "{operation:>8}, {began:9.6}, {took:9.6}");
            }
            output.files.file(&path)?.write_all(text.as_bytes())?;
            output.files.close(&path)?;
        }
        Ok(())
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(_) => self.started(output),
            Event::Journal(part) => {
                self.journal(part);
                Ok(())
            }
            Event::PhaseEnded(phase) => {
                self.ended = Some(phase.clone());
                Ok(())
            }
            Event::Message(wrong) => {
                self.said.say(message_text(wrong), output);
                Ok(())
            }
            Event::Ended(record) => self.end(record, output),
            _ => Ok(()),
        }
    }
}

const fn yes_or_no(is: bool) -> &'static str {
    if is { "Y" } else { "N" }
}

fn distribution(settings: &Settings) -> &'static str {
    if settings.is_exponential { "random exponential" } else { "fixed" }
}

/// A list as Python prints it.
fn list(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The parameters as the text has them, in its order.
fn parameters(settings: &Settings) -> Vec<(&'static str, String)> {
    let python = |is: bool| if is { "True" } else { "False" }.to_string();
    let yes = |is: bool| yes_or_no(is).to_string();
    let hosts = if settings.hosts.is_empty() { "None".into() } else { list(&settings.names) };
    let mut all = vec![
        ("version", VERSION.to_string()),
        ("hosts in test", hosts),
        ("top test directory(s)", list(&settings.tops)),
        ("operation", settings.operation.clone()),
        ("files/thread", settings.files.to_string()),
        ("threads", settings.threads.to_string()),
        ("record size (KB, 0 = maximum)", settings.record_kib.to_string()),
        ("file size (KB)", settings.kib.to_string()),
        ("file size distribution", distribution(settings).to_string()),
        ("files per dir", settings.per_directory.to_string()),
        ("dirs per dir", settings.branch.to_string()),
        ("threads share directories?", yes(settings.shares)),
        ("filename prefix", settings.prefix.clone()),
        ("filename suffix", settings.suffix.clone()),
        ("hash file number into dir.?", yes(settings.hashes)),
        ("fsync after modify?", yes(settings.fsync)),
        ("pause between files (microsec)", settings.pause_us.to_string()),
        ("minimum directories per sec", settings.min_directories.to_string()),
        ("finish all requests?", yes(settings.finishes)),
        ("stonewall?", yes(settings.stonewalls)),
        ("measure response times?", yes(settings.times)),
        ("verify read?", yes(settings.verifies)),
        ("verbose?", python(settings.is_verbose)),
        ("log to stderr?", python(settings.logs)),
        ("ext.attr.size", settings.attribute_bytes.to_string()),
        ("ext.attr.count", settings.attributes.to_string()),
    ];
    if !settings.hosts.is_empty() {
        all.push(("permute host directories?", yes(settings.permutes)));
        all.push(("network thread sync. dir.", settings.sync_directory.clone()));
    }
    all
}

/// The parameters as the JSON has them, in its order.
fn params(settings: &Settings) -> JsonTree {
    let hosts = if settings.hosts.is_empty() { "localhost".to_string() } else { settings.names.join(",") };
    let mut tree = JsonTree::object([]);
    tree.push("host-set", hosts)
        .push("version", VERSION)
        .push("top", settings.tops.join(","))
        .push("operation", &settings.operation)
        .push("files-per-thread", settings.files)
        .push("threads", settings.threads)
        .push("file-size", settings.kib)
        .push("file-size-distr", distribution(settings))
        .push("files-per-dir", settings.per_directory)
        .push("share-dir", yes_or_no(settings.shares))
        .push("fname-prefix", &settings.prefix)
        .push("fname-suffix", &settings.suffix)
        .push("hash-to-dir", yes_or_no(settings.hashes))
        .push("fsync-after-modify", yes_or_no(settings.fsync))
        .push("pause-between-files", settings.pause_us.to_string())
        .push("finish-all-requests", yes_or_no(settings.finishes))
        .push("stonewall", yes_or_no(settings.stonewalls))
        .push("verify-read", yes_or_no(settings.verifies))
        .push("xattr-size", settings.attribute_bytes.to_string())
        .push("xattr-count", settings.attributes.to_string())
        .push("permute-host-dirs", yes_or_no(settings.permutes))
        .push("network-sync-dir", &settings.sync_directory)
        .push("min-directories-per-sec", settings.min_directories);
    tree
}
