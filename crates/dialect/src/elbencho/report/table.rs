//! The table: two columns of results for each phase, between lines of hyphens.

use std::fmt::Write as _;

use iodyno_model::Histogram;

use super::latency::{Buckets, extremes, human, time_text};
use super::{entry_word, is_balanced_mix};
use crate::elbencho::results::{Counts, PhaseTotals};
use crate::elbencho::test::BenchmarkPaths;
use crate::elbencho::view::{PhaseRole, ReportContext};

const MIB: u64 = 1 << 20;

/// The heading.
pub fn head() -> String {
    let rule = line("===========", "================", "", "==========", "=========");
    line("OPERATION", "RESULT TYPE", "", "FIRST DONE", "LAST DONE") + &rule
}

fn line(phase: &str, what: &str, colon: &str, first: &str, last: &str) -> String {
    format!("{phase:<11} {what:<17}{colon:1} {first:>11} {last:>11}\n")
}

/// The rows of a phase.
struct Rows<'a> {
    view: &'a ReportContext,
    totals: &'a PhaseTotals,
    first: (Counts, Counts),
    last: (Counts, Counts),
    text: String,
}

/// A phase's part of the table.
pub fn phase(view: &ReportContext, name: &str, role: PhaseRole, totals: &PhaseTotals) -> String {
    let rate =
        |first: Counts, last: Counts| (first.per_second(totals.first_us), last.per_second(totals.last_us));
    let main = rate(totals.main.first, totals.main.last);
    let mixed = rate(totals.mixed.first, totals.mixed.last);
    let mut rows =
        Rows { view, totals, first: (main.0, mixed.0), last: (main.1, mixed.1), text: String::new() };
    let times = (time_text(totals.first_us / 1000), time_text(totals.last_us / 1000));
    rows.text = line(name, "Elapsed time", ":", &times.0, &times.1);
    rows.entries_per_second(role);
    rows.operations_per_second();
    rows.bytes_per_second();
    rows.sums(role);
    rows.threads();
    rows.latencies(role);
    if totals.first_us == 0 && !view.test.flag("no0usecerr") {
        rows.text += "WARNING: a thread took less than a microsecond: rates are shown as 0, and mean little. Use more data; \
                      --no0usecerr leaves this out.\n";
    }
    rows.text + "---\n"
}

impl Rows<'_> {
    fn row(&mut self, what: &str, first: u64, last: u64) {
        self.text += &line("", what, ":", &first.to_string(), &last.to_string());
    }

    fn list(&mut self, what: &str, list: &str) {
        let _ = writeln!(self.text, "{:<11} {what:<17}: [ {list} ]", "");
    }

    /// Whether reads are told apart.
    fn is_mixed(&self) -> bool {
        !self.totals.mixed.last.is_empty()
    }

    /// Whether directories are counted by their files.
    fn counts_directories(&self, role: PhaseRole) -> bool {
        let test = &self.view.test;
        test.flag("dirstats") && test.kind == BenchmarkPaths::Directories && role.moves_data()
    }

    fn entries_per_second(&mut self, role: PhaseRole) {
        let (word, threads) = (entry_word(self.view, role), is_balanced_mix(self.view, self.totals));
        let files = self.view.test.files.max(1);
        let (first, last) = (self.first, self.last);
        let (has_main, has_mixed) = (self.totals.main.last.entries > 0, self.totals.mixed.last.entries > 0);
        let write = if threads { " write" } else { "" };
        if has_main {
            self.row(&format!("{word}/s{write}"), first.0.entries, last.0.entries);
        }
        if has_main && self.counts_directories(role) {
            self.row(&format!("Dirs/s{write}"), first.0.entries / files, last.0.entries / files);
        }
        if has_mixed {
            self.row(&format!("{word}/s read"), first.1.entries, last.1.entries);
            let (first, last) = (first.0.with(first.1), last.0.with(last.1));
            self.row(&format!("{word}/s total"), first.entries, last.entries);
        }
        if has_mixed && self.counts_directories(role) {
            self.row("Dirs/s read", first.1.entries / files, last.1.entries / files);
        }
    }

    /// Where an entry is one operation, they are its entries.
    fn operations_per_second(&mut self) {
        let test = &self.view.test;
        let is_told = |counts: Counts| {
            let differs = !test.kind.has_entries() || test.block != test.bytes || counts.entries == 0;
            counts.operations > 0 && differs
        };
        let (main, mixed) = (is_told(self.totals.main.last), is_told(self.totals.mixed.last));
        let (first, last, is_mixed) = (self.first, self.last, self.is_mixed());
        if main {
            self.row(if is_mixed { "IOPS write" } else { "IOPS" }, first.0.operations, last.0.operations);
        }
        if mixed {
            self.row("IOPS read", first.1.operations, last.1.operations);
            let (first, last) = (first.0.with(first.1), last.0.with(last.1));
            self.row("IOPS total", first.operations, last.operations);
        }
    }

    fn bytes_per_second(&mut self) {
        let (unit, by) = if self.view.test.flag("base10") { ("MB/s", 1_000_000) } else { ("MiB/s", MIB) };
        let (first, last, is_mixed) = (self.first, self.last, self.is_mixed());
        if self.totals.main.last.bytes > 0 {
            let what = if is_mixed { format!("{unit} write") } else { format!("Throughput {unit}") };
            self.row(&what, first.0.bytes / by, last.0.bytes / by);
        }
        if self.totals.mixed.last.bytes > 0 {
            self.row(&format!("{unit} read"), first.1.bytes / by, last.1.bytes / by);
            let (first, last) = (first.0.with(first.1), last.0.with(last.1));
            self.row(&format!("{unit} total"), first.bytes / by, last.bytes / by);
        }
    }

    fn sums(&mut self, role: PhaseRole) {
        let (word, threads) = (entry_word(self.view, role), is_balanced_mix(self.view, self.totals));
        let (main, mixed) = (&self.totals.main, &self.totals.mixed);
        let (main, mixed) = ((main.first, main.last), (mixed.first, mixed.last));
        let (files, is_mixed) = (self.view.test.files.max(1), self.is_mixed());
        let total = if threads { "write" } else { "total" };
        if main.1.bytes > 0 {
            self.row(
                if is_mixed { "MiB write" } else { "Total MiB" },
                main.0.bytes / MIB,
                main.1.bytes / MIB,
            );
        }
        if mixed.1.bytes > 0 {
            self.row("MiB read", mixed.0.bytes / MIB, mixed.1.bytes / MIB);
        }
        let counts_directories = self.counts_directories(role);
        if main.1.entries > 0 {
            self.row(&format!("{word} {total}"), main.0.entries, main.1.entries);
            if counts_directories {
                self.row(&format!("Dirs {total}"), main.0.entries / files, main.1.entries / files);
            }
        }
        if mixed.1.entries > 0 {
            self.row(&format!("{word} read"), mixed.0.entries, mixed.1.entries);
            if counts_directories {
                self.row("Dirs read", mixed.0.entries / files, mixed.1.entries / files);
            }
        }
        let told = self.view.test.settings.count("log") > 0;
        if main.1.operations > 0 && told {
            self.row(if is_mixed { "IOs write" } else { "IOs total" }, main.0.operations, main.1.operations);
        }
        if mixed.1.operations > 0 && told {
            self.row("IOs read", mixed.0.operations, mixed.1.operations);
        }
    }

    fn threads(&mut self) {
        let test = &self.view.test;
        if test.flag("cpu") {
            let percent = self.totals.cpu_percent.unwrap_or(0.0) as u64;
            self.row("CPU util %", percent, percent);
        }
        if test.flag("allelapsed") {
            let each: Vec<String> = self.totals.each_us.iter().map(|us| (us / 1000).to_string()).collect();
            self.list("Time ms each", &each.join(" "));
        }
        if test.flag("svcelapsed") && test.hosts > 1 {
            let name = |rank: usize| test.host_names.get(rank).map_or("", String::as_str);
            let mut hosts: Vec<(u64, usize)> =
                self.totals.hosts_us.iter().enumerate().map(|(rank, us)| (us / 1000, rank)).collect();
            hosts.sort_unstable();
            let all: Vec<String> =
                hosts.into_iter().map(|(ms, rank)| format!("{}={}", name(rank), time_text(ms))).collect();
            self.list("Svc compl. time", &all.join(" "));
        }
    }

    fn latencies(&mut self, role: PhaseRole) {
        let word = entry_word(self.view, role);
        let threads = is_balanced_mix(self.view, self.totals);
        let (main, mixed) = (self.totals.main.clone(), self.totals.mixed.clone());
        self.latency(&format!("{word}{}", if threads { " wr" } else { "" }), &main.entries);
        self.latency(&format!("{word} rd"), &mixed.entries);
        self.latency(if self.is_mixed() { "IO wr" } else { "IO" }, &main.operations);
        self.latency("IO rd", &mixed.operations);
    }

    fn latency(&mut self, of: &str, latency: &Histogram) {
        if latency.is_empty() {
            return;
        }
        let test = &self.view.test;
        let (buckets, nines) = (Buckets::of(latency), test.settings.count("latpercent9s"));
        let (plain, percent, histogram) = (test.flag("lat"), test.flag("latpercent"), test.flag("lathisto"));
        if plain {
            let [min, avg, max] = extremes(latency).map(human);
            self.list(&format!("{of} latency"), &format!("min={min} avg={avg} max={max}"));
        }
        if percent {
            let whole =
                [1.0, 50.0, 75.0, 99.0].map(|percent| format!("{percent}%<={}", buckets.percentile(percent)));
            let more = (1..=nines).map(|count| {
                let text = format!("99.{}", "9".repeat(count as usize));
                let percent = text.parse().unwrap_or(100.0);
                format!("{text}%<={}", buckets.percentile(percent))
            });
            self.list(
                &format!("{of} lat % us"),
                &whole.into_iter().chain(more).collect::<Vec<_>>().join(" "),
            );
        }
        if histogram {
            self.list(&format!("{of} lat hist"), &buckets.text());
        }
    }
}
