//! `iodyno measure --profile crystaldiskmark`: the sets of tests that CrystalDiskMark and KDiskMark have, in the table that their
//! users know, with the median of the runs beside the best.
//!
//! ```text
//!   each direction ─► each test ─► five runs of 5 s, the first of them after 5 s of rest
//! ```
//! The best of the runs is what CrystalDiskMark prints, and the median what is kept true here.

use std::fmt::Write as _;

use iodyno_model::{
    Coverage, Depth, Extent, Intent, Job, Kind, Mix, Pattern, Phase, Pick, Plan, RunStart, Span, Start, Verb,
    Workload, units,
};
use iodyno_report::findings;
use iodyno_report::native;
use iodyno_report::number;
use iodyno_report::paint::Paint;
use iodyno_report::table::wrapped;

use super::frame::CardFrame;
use super::gather;
use super::lower;
use super::report::CardSetup;
use super::settings::Settings;
use super::text;
use crate::engine_choice::keeps_depth;

const SECOND: u64 = 1_000_000_000;
/// Runs of each test.
const RUNS: u32 = 5;
/// Of a run, and of the rest before a test.
const RUN_NS: u64 = 5 * SECOND;
const REST_NS: u64 = 5 * SECOND;
/// Percentage of reads in the mix.
const MIX_READS: f64 = 70.0;

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkTest {
    block_bytes: u64,
    is_random: bool,
    /// Of each thread.
    depth: u32,
    threads: u32,
}

const fn seq(block_bytes: u64, depth: u32, threads: u32) -> MarkTest {
    MarkTest { block_bytes, is_random: false, depth, threads }
}

const fn rnd(depth: u32, threads: u32) -> MarkTest {
    MarkTest { block_bytes: 4096, is_random: true, depth, threads }
}

/// A set of tests.
#[derive(Debug)]
pub(super) struct MarkProfile {
    /// Behind `crystaldiskmark-`; empty: the usual one.
    suffix: &'static str,
    title: &'static str,
    tests: &'static [MarkTest],
    has_mix: bool,
}

const MIB: u64 = 1 << 20;
const USUAL: &[MarkTest] = &[seq(MIB, 8, 1), seq(MIB, 1, 1), rnd(32, 1), rnd(1, 1)];
const NVME: &[MarkTest] = &[seq(MIB, 8, 1), seq(128 << 10, 32, 1), rnd(32, 16), rnd(1, 1)];
const PEAK: &[MarkTest] = &[seq(MIB, 8, 1), rnd(32, 1)];
const NVME_PEAK: &[MarkTest] = &[seq(MIB, 8, 1), rnd(32, 16)];
const REAL_WORLD: &[MarkTest] = &[seq(MIB, 1, 1), rnd(1, 1)];
const DEMO: &[MarkTest] = &[seq(MIB, 8, 1)];

const fn set(
    suffix: &'static str,
    title: &'static str,
    tests: &'static [MarkTest],
    has_mix: bool,
) -> MarkProfile {
    MarkProfile { suffix, title, tests, has_mix }
}

const PROFILES: &[MarkProfile] = &[
    set("", "Default", USUAL, false),
    set("mix", "Default [+Mix]", USUAL, true),
    set("nvme", "NVMe SSD", NVME, false),
    set("nvme-mix", "NVMe SSD [+Mix]", NVME, true),
    set("peak", "Peak Performance", PEAK, false),
    set("peak-mix", "Peak Performance [+Mix]", PEAK, true),
    set("nvme-peak", "Peak Performance, NVMe SSD", NVME_PEAK, false),
    set("nvme-peak-mix", "Peak Performance, NVMe SSD [+Mix]", NVME_PEAK, true),
    set("real-world", "Real World Performance", REAL_WORLD, false),
    set("real-world-mix", "Real World Performance [+Mix]", REAL_WORLD, true),
    set("demo", "Demo", DEMO, false),
];

/// The set of that name: `crystaldiskmark`, `kdiskmark`, or one of them with a hyphen and what it is for.
pub(super) fn profile(name: &str) -> Result<&'static MarkProfile, String> {
    let suffix = ["crystaldiskmark", "kdiskmark"].iter().find_map(|first| name.strip_prefix(first));
    let suffix = match suffix {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('-').filter(|rest| !rest.is_empty()),
        None => None,
    };
    let known = suffix.and_then(|suffix| PROFILES.iter().find(|profile| profile.suffix == suffix));
    known.ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().skip(1).map(|profile| profile.suffix).collect();
        format!(
            "expected crystaldiskmark, or crystaldiskmark- and one of {} (or kdiskmark)",
            names.join(", ")
        )
    })
}

impl MarkTest {
    /// `SEQ1M Q8T1`; an engine that keeps one operation in flight gets its depth from as many threads.
    fn name(self, keeps_depth: bool) -> String {
        let kind = if self.is_random { "RND" } else { "SEQ" };
        let block = if self.block_bytes >= MIB {
            format!("{}M", self.block_bytes / MIB)
        } else {
            format!("{}K", self.block_bytes >> 10)
        };
        let (depth, threads) = self.shape(keeps_depth);
        format!("{kind}{block} Q{depth}T{threads}")
    }

    fn shape(self, keeps_depth: bool) -> (u32, u32) {
        if keeps_depth { (self.depth, self.threads) } else { (1, self.depth * self.threads) }
    }

    /// `SEQ    1MiB (Q=  8, T= 1)`.
    fn row(self, keeps_depth: bool) -> String {
        let kind = if self.is_random { "RND" } else { "SEQ" };
        let block = if self.block_bytes >= MIB {
            format!("{}MiB", self.block_bytes / MIB)
        } else {
            format!("{}KiB", self.block_bytes >> 10)
        };
        let (depth, threads) = self.shape(keeps_depth);
        format!("{kind} {block:>7} (Q={depth:3}, T={threads:2})")
    }
}

/// A direction of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkDirection {
    Read,
    Write,
    Mix,
}

impl MarkDirection {
    fn name(self) -> &'static str {
        match self {
            MarkDirection::Read => "read",
            MarkDirection::Write => "write",
            MarkDirection::Mix => "mix",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            MarkDirection::Read => "[Read]",
            MarkDirection::Write => "[Write]",
            MarkDirection::Mix => "[Mix] Read 70%/Write 30%",
        }
    }
}

/// A set of tests with what they are made on.
#[derive(Clone)]
pub(super) struct DiskMark {
    settings: Settings,
    profile: &'static MarkProfile,
    run_ns: u64,
}

impl DiskMark {
    pub(super) fn new(settings: Settings, profile: &'static MarkProfile, run_ns: Option<u64>) -> Self {
        DiskMark { settings, profile, run_ns: run_ns.unwrap_or(RUN_NS) }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The plan: reads first, as in the originals.
    pub(super) fn plan(&self) -> Plan {
        let mut phases = Vec::new();
        for direction in self.directions() {
            for test in self.profile.tests {
                let is_first = |run: u32| run == 0 && !phases.is_empty();
                let all: Vec<Phase> =
                    (0..RUNS).map(|run| self.phase(*test, direction, run, is_first(run))).collect();
                phases.extend(all);
            }
        }
        Plan {
            name: format!("measure {}, {}", self.settings.path, self.profile.title),
            seed: self.settings.seed,
            intent: Intent::Device,
            targets: lower::data_target(&self.settings),
            phases,
            ..Plan::default()
        }
    }

    fn directions(&self) -> Vec<MarkDirection> {
        let mut directions = vec![MarkDirection::Read];
        if !self.settings.reads_only() {
            directions.push(MarkDirection::Write);
            directions.extend(self.profile.has_mix.then_some(MarkDirection::Mix));
        }
        directions
    }

    fn phase(&self, test: MarkTest, direction: MarkDirection, run: u32, rests: bool) -> Phase {
        let keeps = keeps_depth(self.settings.engine);
        let pick = if test.is_random { Pick::Uniform } else { Pick::Sequential };
        let verb = if direction == MarkDirection::Write { Verb::Write } else { Verb::Read };
        let mut pattern = Pattern::of(verb, pick, test.block_bytes);
        if direction == MarkDirection::Mix {
            pattern.mix = Mix::reads(MIX_READS);
        }
        pattern.coverage = Coverage::Repeating;
        pattern.span = Span { length: Extent::Bytes(self.settings.span_bytes), ..Span::default() };
        let name = format!("{} {}", test.name(keeps), direction.name());
        let mut job = Job::new(&name, self.settings.engine, vec![0], Workload::Pattern(Box::new(pattern)));
        let (depth, threads) = test.shape(keeps);
        (job.workers, job.depth) = (threads, Depth { most: depth, ..Depth::default() });
        job.limit.time_ns = Some(self.run_ns);
        if rests {
            job.start = Start { after_ns: REST_NS.min(self.run_ns), ..Start::default() };
        }
        Phase { name, jobs: vec![job], repetition: run, ..Phase::default() }
    }

    fn table(&self, frame: &CardFrame<'_>) -> String {
        let mut text = String::new();
        for direction in self.directions() {
            let _ = writeln!(text, "\n{}", direction.heading());
            for test in self.profile.tests {
                let _ = writeln!(text, "{}", self.row(frame, *test, direction));
            }
        }
        text
    }

    fn row(&self, frame: &CardFrame<'_>, test: MarkTest, direction: MarkDirection) -> String {
        let keeps = keeps_depth(self.settings.engine);
        let name = format!("{} {}", test.name(keeps), direction.name());
        let mark = if frame.running == Some(name.as_str()) { "▸" } else { " " };
        let row = format!("{mark} {}:", test.row(keeps));
        let kinds: &[Kind] = match direction {
            MarkDirection::Read => &[Kind::Read],
            MarkDirection::Write => &[Kind::Write],
            MarkDirection::Mix => &[Kind::Read, Kind::Write],
        };
        let found: Vec<_> =
            kinds.iter().filter_map(|kind| gather::figures(&frame.record.phases, &name, *kind)).collect();
        if found.is_empty() {
            return format!("{row}          -");
        }
        let sum = |of: &dyn Fn(&gather::CellFigures) -> Option<f64>| found.iter().filter_map(of).sum::<f64>();
        let (bytes, iops) = (sum(&|cell| cell.bytes.most()), sum(&|cell| cell.iops.most()));
        let median = sum(&|cell| cell.bytes.median());
        // Of a mix each direction's best mean weighs as much as it did operations.
        let weighted = sum(&|cell| Some(cell.iops.most()? * cell.mean_ns.least()?));
        let mean_us = if iops > 0.0 { weighted / iops / 1e3 } else { 0.0 };
        format!(
            "{row} {:9.3} MB/s [{iops:9.1} IOPS] <{mean_us:9.2} us>   median {:9.3} MB/s",
            bytes / 1e6,
            median / 1e6
        )
    }

    fn conditions(&self, frame: &CardFrame<'_>) -> String {
        let targets = frame.context.started.as_ref().map_or(&[][..], |started| &started.targets);
        let about = [
            ("Profile", self.profile.title.to_string()),
            (
                "Test",
                format!(
                    "{} (x{RUNS}), {}",
                    units::binary(self.settings.span_bytes),
                    text::what(&self.settings, targets)
                ),
            ),
            (
                "Time",
                format!(
                    "Measure {} / Interval {}",
                    number::latency(self.run_ns as f64),
                    number::latency(REST_NS.min(self.run_ns) as f64)
                ),
            ),
            ("Engine", self.settings.engine.to_string()),
            ("On", frame.machine()),
            ("Not measured", frame.skipped(&self.settings.skipped).join("; ")),
        ];
        frame.rows(about.to_vec())
    }
}

/// What the figures are.
const LEGEND: &str = "Best of the runs, as CrystalDiskMark prints it, and the median of the same runs, which chance raises less. 1 MB is \
                      1,000,000 bytes. IOPS are of the best run, us is the least mean latency of a run.";

impl CardSetup for DiskMark {
    fn announcement(&self, started: &RunStart, paint: Paint) -> String {
        let planned = iodyno_report::live::planned_ns(&started.plan);
        let what = wrapped(&text::what(&self.settings, &started.targets), paint.columns - 2, 2);
        format!(
            "measuring {}:\n  {what}\n{} ({RUNS} runs of {} each): about {}\n",
            paint.heading(&self.settings.path),
            self.profile.title,
            number::latency(self.run_ns as f64),
            number::wait(planned)
        )
    }

    fn card(&self, frame: CardFrame<'_>) -> String {
        let title = frame.title(&self.settings.path);
        if frame.record.phases.is_empty() {
            return title + &frame.errors();
        }
        let legend = frame.paint.aside(&wrapped(LEGEND, frame.paint.columns, 0));
        [
            title,
            self.table(&frame),
            format!("\n{legend}\n"),
            self.conditions(&frame),
            frame.errors(),
            native::demands(frame.record, frame.paint),
            findings::text(&frame.record.findings, frame.details, frame.paint),
        ]
        .concat()
    }

    fn growing(&self, frame: CardFrame<'_>, _rows: usize) -> String {
        self.table(&frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_known_by_both_names() {
        assert_eq!(profile("crystaldiskmark").unwrap().tests, USUAL);
        assert_eq!(profile("kdiskmark-nvme").unwrap().tests, NVME);
        for wrong in ["crystal", "crystaldiskmark-", "crystaldiskmarknvme", "crystaldiskmark-slow", ""] {
            assert!(profile(wrong).is_err_and(|said| said.contains("nvme-peak-mix")), "{wrong}");
        }
    }

    #[test]
    fn tests_are_called_as_the_originals_call_them() {
        assert_eq!(
            NVME.iter().map(|test| test.name(true)).collect::<Vec<_>>(),
            ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1"]
        );
        assert_eq!(
            (rnd(32, 16).name(false), seq(MIB, 8, 1).row(true)),
            ("RND4K Q1T512".into(), "SEQ    1MiB (Q=  8, T= 1)".into())
        );
    }
}
