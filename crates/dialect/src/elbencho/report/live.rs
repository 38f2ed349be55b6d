//! Live statistics: a line for people, and a line of CSV, each of all threads together.

use iodyno_model::Live;

use super::latency::seconds_text;
use super::{entry_word, is_dirs};
use crate::date;
use crate::elbencho::results::Counts;
use crate::elbencho::view::{ElbenchoPhase, PhaseRole, ReportContext};

const MIB: u64 = 1 << 20;

/// The names of the columns of live CSV.
pub const HEAD: &str = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,\
                        Lat Ent us,Lat IO us,Active,CPU,Service,\n";

/// Clears the line of a terminal and goes to its beginning.
pub const CLEARED: &str = "\x1b[2K\r";

/// What was done so far in a running phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveCounts {
    pub elapsed_ns: u64,
    pub main: Counts,
    pub mixed: Counts,
    pub threads: u32,
}

impl LiveCounts {
    pub fn of(live: &Live, part: &ElbenchoPhase) -> LiveCounts {
        let mut counts = LiveCounts { elapsed_ns: live.elapsed_ns, ..LiveCounts::default() };
        for job in &live.jobs {
            counts.threads += job.running;
            let reads = Counts { entries: 0, operations: job.reads.0, bytes: job.read_bytes };
            let writes = Counts { entries: 0, operations: job.writes.0, bytes: job.write_bytes };
            let others = job.operations.saturating_sub(job.reads.0 + job.writes.0);
            let entries = Counts { entries: others / part.others.max(1), ..Counts::default() };
            let reader = part.role == PhaseRole::Write && job.name == crate::elbencho::lower::READERS;
            match (part.role, reader) {
                (PhaseRole::Write, false) => {
                    counts.main = counts.main.with(writes).with(entries);
                    counts.mixed = counts.mixed.with(reads);
                }
                (PhaseRole::Write, true) => counts.mixed = counts.mixed.with(reads).with(entries),
                _ => counts.main = counts.main.with(reads).with(entries),
            }
        }
        counts
    }

    fn since(&self, before: &LiveCounts) -> (Counts, Counts) {
        let us = self.elapsed_ns.saturating_sub(before.elapsed_ns) / 1000;
        let rate = |now: Counts, then: Counts| {
            let done = Counts {
                entries: now.entries.saturating_sub(then.entries),
                operations: now.operations.saturating_sub(then.operations),
                bytes: now.bytes.saturating_sub(then.bytes),
            };
            done.per_second(us)
        };
        (rate(self.main, before.main), rate(self.mixed, before.mixed))
    }

    fn percent(counts: Counts, part: &ElbenchoPhase) -> u64 {
        let part_of = |done: u64, all: u64| (u128::from(done) * 100 / u128::from(all)).min(100) as u64;
        match (part.bytes, part.entries) {
            (0, 0) => 0,
            (0, entries) => part_of(counts.entries, entries),
            (bytes, _) => part_of(counts.bytes, bytes),
        }
    }
}

/// `WRITE: 1200 files/s; 12 MiB/s; 2400 files; 24 MiB; 2 threads; 50% CPU; 2s`.
pub fn line(
    view: &ReportContext,
    name: &str,
    part: &ElbenchoPhase,
    now: &LiveCounts,
    before: &LiveCounts,
    cpu: u64,
) -> String {
    let (unit, by) = if view.test.flag("base10") { ("MB/s", 1_000_000) } else { ("MiB/s", MIB) };
    let (main, mixed) = now.since(before);
    let word = entry_word(view, part.role).to_lowercase();
    let is_mixed = !now.mixed.is_empty();
    let all = now.main.with(now.mixed);
    let done = if is_dirs(view) {
        let rates = if is_mixed {
            let entries =
                if mixed.entries > 0 { format!("{} {word}/s; ", mixed.entries) } else { String::new() };
            format!(
                "wr=[{} {word}/s; {} {unit}] rd=[{entries}{} {unit}]",
                main.entries,
                main.bytes / by,
                mixed.bytes / by
            )
        } else {
            format!("{} {word}/s; {} {unit}", main.entries, main.bytes / by)
        };
        format!("{rates}; {} {word}; {} MiB", all.entries, all.bytes / MIB)
    } else {
        let of = |rate: Counts, done: Counts| {
            format!("{} IOPS; {} {unit}; {} MiB", rate.operations, rate.bytes / by, done.bytes / MIB)
        };
        if is_mixed {
            format!("wr=[{}] rd=[{}]", of(main, now.main), of(mixed, now.mixed))
        } else {
            of(main, now.main)
        }
    };
    let seconds = seconds_text(now.elapsed_ns / 1_000_000_000);
    format!("{name}: {done}; {} threads; {cpu}% CPU; {seconds}", now.threads)
}

/// The same as CSV, reads of a phase of writes in a line of their own.
pub fn csv(
    view: &ReportContext,
    (name, began_unix_ns): (&str, u64),
    part: &ElbenchoPhase,
    (now, before): (&LiveCounts, &LiveCounts),
    cpu: u64,
) -> String {
    let (main, mixed) = now.since(before);
    let is_mixed = !now.mixed.is_empty();
    let date = date::iso_local(began_unix_ns + now.elapsed_ns, view.east_s, true);
    let label = view.test.settings.text("label").unwrap_or_default().replace(',', " ");
    let row = |kind: &str, done: Counts, rate: Counts| {
        let (entries, per_second) = if is_dirs(view) { (done.entries, rate.entries) } else { (0, 0) };
        format!(
            "{date},{label},{name},{},Total,{kind},{},{},{},{},{entries},{per_second},0,0,{},{cpu},,\n",
            now.elapsed_ns / 1_000_000,
            LiveCounts::percent(done, part),
            done.bytes,
            rate.bytes / MIB,
            rate.operations,
            now.threads
        )
    };
    let mut text = row(if is_mixed { "Write" } else { "" }, now.main, main);
    if is_mixed {
        text += &row("Read", now.mixed, mixed);
    }
    text
}
