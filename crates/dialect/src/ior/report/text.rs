//! The text that IOR 4.1 prints.

use std::fmt::Write as _;

use iodyno_model::{Machine, TargetFacts};

use super::columns;
use super::facts::{self, Pair};
use super::number::{rate, spread};
use super::outcome::PhaseOutcome;
use crate::ior::test::IorTest;
use crate::ior::view::Access;
use crate::spread::Spread;

/// The version that reports name: that of the layout, with our name behind it.
pub const VERSION: &str = "4.1.0+iodyno";
/// Bytes of IOR's MiB and MB.
pub const MEBI: f64 = 1_048_576.0;

/// The head of the whole report.
pub fn head(command: &str, began: &str, machine: &str) -> String {
    let mut text = format!("IOR-{VERSION}: MPI Coordinated Test of Parallel I/O\n");
    for (name, value) in [("Began", began), ("Command line", command), ("Machine", machine)] {
        pair(&mut text, name, value);
    }
    text
}

/// The machine in a line: system and host; at `-vv` its release.
pub fn machine(machine: &Machine, verbose: i64) -> String {
    let system = machine.kernel.split_whitespace().next().unwrap_or("Unknown");
    let release = machine.kernel.split_once(' ').map_or("", |(_, release)| release);
    match verbose {
        2.. => format!("{system} {} {release}", machine.host),
        _ => format!("{system} {}", machine.host),
    }
}

fn pair(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{name:<20}: {value}");
}

/// The head of one test: when, where, its options, the head of its table.
pub fn test(test: &IorTest, began: &str, facts: Option<&TargetFacts>, parameters: &[Pair]) -> String {
    let mut text = String::new();
    pair(&mut text, "TestID", test.id);
    pair(&mut text, "StartTime", began);
    pair(&mut text, "Path", &test.file);
    if let Some(space) = facts.and_then(space) {
        pair(&mut text, "FS", space.line());
    }
    if test.verbose() > 2 {
        text.push_str("\nParameters: \n");
        parameters.iter().for_each(|(name, value)| pair(&mut text, name, value));
    }
    text.push_str("\nOptions: \n");
    facts::options(test).iter().for_each(|(name, value)| pair(&mut text, name, value));
    text.push_str("\nResults: \n\n");
    text + &columns::head(4)
}

/// How full a file system is.
pub struct Space {
    /// Bytes in all, as text.
    pub capacity: String,
    /// Used, in percent.
    pub used: String,
    /// Files in all, in Mi.
    pub inodes: String,
    /// Used, in percent.
    pub inodes_used: String,
}

impl Space {
    /// As the heads of IOR's and mdtest's reports print it.
    pub fn line(&self) -> String {
        format!(
            "{}   Used FS: {}   Inodes: {}   Used Inodes: {}",
            self.capacity, self.used, self.inodes, self.inodes_used
        )
    }
}

impl From<&TargetFacts> for Space {
    /// Zeros where it could not be read.
    fn from(facts: &TargetFacts) -> Space {
        let (size, free) = (facts.size_bytes.unwrap_or(0), facts.free_bytes.unwrap_or(0));
        let (inodes, inodes_free) = (facts.inodes.unwrap_or(0), facts.inodes_free.unwrap_or(0));
        let used =
            |all: u64, free: u64| if all == 0 { 0.0 } else { (1.0 - free as f64 / all as f64) * 100.0 };
        let gibi = size as f64 / f64::from(1 << 30);
        let (capacity, unit) = if gibi > 1024.0 { (gibi / 1024.0, "TiB") } else { (gibi, "GiB") };
        Space {
            capacity: format!("{capacity:.1} {unit}"),
            used: format!("{:.1}%", used(size, free)),
            inodes: format!("{:.1} Mi", inodes as f64 / MEBI),
            inodes_used: format!("{:.1}%", used(inodes, inodes_free)),
        }
    }
}

/// The space of a target's file system; none where it could not be read.
pub fn space(facts: &TargetFacts) -> Option<Space> {
    (facts.size_bytes.is_some() && facts.free_bytes.is_some()).then(|| facts.into())
}

/// The line about a deadline that was worn out.
pub fn worn(outcome: &PhaseOutcome) -> String {
    let Some(worn) = outcome.worn else { return String::new() };
    let gibi = (1u64 << 30) as f64;
    format!(
        "stonewalling pairs accessed min: {} max: {} -- min data: {:.1} GiB mean data: {:.1} GiB time: {:.1}s\n",
        worn.transfers.0,
        worn.transfers.1,
        worn.least_bytes as f64 / gibi,
        worn.mean_bytes / gibi,
        worn.at
    )
}

/// `-v`: the best of each direction.
pub fn best(outcomes: &[PhaseOutcome]) -> String {
    let mut text = String::new();
    for (access, title) in [(Access::Write, "Max Write: "), (Access::Read, "Max Read:  ")] {
        let of = outcomes.iter().filter(|outcome| outcome.access == Some(access));
        if let Some(best) = of.map(PhaseOutcome::bandwidth).reduce(f64::max) {
            let _ = writeln!(text, "{title}{:.2} MiB/sec ({:.2} MB/sec)", best / MEBI, best / 1e6);
        }
    }
    text
}

/// `-vvv`: each task's times.
pub fn tasks(outcome: &PhaseOutcome) -> String {
    let mut text = String::new();
    for task in &outcome.tasks {
        let _ = writeln!(
            text,
            "task {:>5}: open {:.6} to {:.6}, transfers {:.6} to {:.6}, close {:.6} to {:.6}, {} bytes",
            task.number,
            task.open.0,
            task.open.1,
            task.transfer.0,
            task.transfer.1,
            task.close.0,
            task.close.1,
            task.bytes
        );
    }
    text
}

/// The head of the summary.
pub const SUMMARY: &str = "\nSummary of all tests:\n\
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) \
Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize \
aggs(MiB)   API RefNum\n";

/// The rows of a test in the summary: of what was done at least once.
pub fn summary(test: &IorTest, outcomes: &[PhaseOutcome]) -> String {
    [Access::Write, Access::Read]
        .into_iter()
        .filter_map(|access| summary_row(test, outcomes, access))
        .collect()
}

/// What a test is, in the summaries of IOR 4 and 3; IOR 4 has widths for it.
pub fn test_columns(test: &IorTest) -> [(usize, i128); 12] {
    let number = |name: &str| i128::from(test.settings.number(name));
    [
        (5, test.id as i128),
        (6, test.tasks.into()),
        (3, test.on_first_node.into()),
        (4, test.repetitions.into()),
        (3, number("filePerProc")),
        (5, number("reorderTasks")),
        (8, number("taskPerNodeOffset")),
        (9, number("reorderTasksRandom")),
        (4, number("reorderTasksRandomSeed")),
        (6, test.segments.into()),
        (8, test.block.into()),
        (8, test.transfer.into()),
    ]
}

fn summary_row(test: &IorTest, outcomes: &[PhaseOutcome], access: Access) -> Option<String> {
    let summary = Summary::of(test, outcomes, access)?;
    let mut text = summary.head(access);
    let _ = match summary.stonewall {
        Some((seconds, rate)) => write!(text, "{seconds:10.2} {rate:13.2} "),
        None => write!(text, "{:>10} {:>13} ", "NA", "NA"),
    };
    for (width, value) in test_columns(test) {
        let _ = write!(text, "{value:width$} ");
    }
    let _ = writeln!(
        text,
        "{:9.1} {:>3} {:6}",
        summary.bytes as f64 / MEBI,
        test.api,
        test.settings.number("refNum")
    );
    Some(text)
}

/// Figures over the repetitions of one direction.
pub struct Summary {
    /// MiB/s.
    pub bandwidth: Spread,
    /// Transfers per second of the whole time.
    pub operations: Spread,
    /// Mean total time.
    pub seconds: f64,
    /// When the time was up: seconds, and MiB/s of a task until then.
    pub stonewall: Option<(f64, f64)>,
    /// Bytes of the first repetition.
    pub bytes: u64,
}

impl Summary {
    /// The first columns of a row, in the texts of IOR 4 and 3.
    pub fn head(&self, access: Access) -> String {
        let each = |spread: Spread| [spread.max, spread.min, spread.mean, spread.deviation];
        let values = [self.bandwidth, self.operations].into_iter().flat_map(each);
        let cells: String = values.map(|value| format!("{value:10.2} ")).collect();
        format!("{:<9} {cells}{:10.5} ", access.name(), self.seconds)
    }

    /// Over all repetitions that ran; none: none did.
    pub fn of(test: &IorTest, outcomes: &[PhaseOutcome], access: Access) -> Option<Summary> {
        let of: Vec<&PhaseOutcome> =
            outcomes.iter().filter(|outcome| outcome.access == Some(access)).collect();
        let first = of.first()?;
        let map = |value: &dyn Fn(&PhaseOutcome) -> f64| {
            of.iter().map(|outcome| value(outcome)).collect::<Vec<_>>()
        };
        let worn: Vec<_> = of.iter().filter_map(|outcome| outcome.worn).collect();
        let mean = |value: &dyn Fn(&super::outcome::Worn) -> f64| {
            spread(&worn.iter().map(value).collect::<Vec<_>>()).mean
        };
        let transfer = test.transfer.max(1) as f64;
        Some(Summary {
            bandwidth: spread(&map(&|outcome| outcome.bandwidth() / MEBI)),
            operations: spread(&map(&|outcome| outcome.bandwidth() / transfer)),
            seconds: spread(&map(&|outcome| outcome.total)).mean,
            stonewall: (!worn.is_empty())
                .then(|| (mean(&|worn| worn.at), mean(&|worn| rate(worn.mean_bytes / MEBI, worn.at)))),
            bytes: first.bytes,
        })
    }
}

/// The last line.
pub fn finished(at: &str) -> String {
    let mut text = String::new();
    pair(&mut text, "Finished", at);
    text
}
