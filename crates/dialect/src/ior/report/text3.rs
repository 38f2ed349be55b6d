//! The text that IOR 3 printed: tabbed options, nine columns, `remove` always, a summary without stonewalls.

use std::fmt::Write as _;

use super::outcome::PhaseOutcome;
use super::text::{Summary, test_columns};
use super::{columns, facts};
use crate::ior::test::IorTest;
use crate::ior::value::readable;
use crate::ior::view::Access;

/// The head of the whole report.
pub fn head(command: &str, began: &str, machine: &str) -> String {
    format!(
        "IOR-3.1.0+iodyno: MPI Coordinated Test of Parallel I/O\n\nBegan: {began}\nCommand line used: {command}\nMachine: {machine}\n"
    )
}

/// The head of one test.
pub fn test(test: &IorTest, began: &str) -> String {
    let mut text = format!("\nTest {} started: {began}\nSummary:\n", test.id);
    let count = |name: &str| test.count(name);
    let order = match (test.flag("reorderTasks"), test.flag("reorderTasksRandom")) {
        (true, _) => format!("constant task offsets = {}", count("taskPerNodeOffset")),
        (_, true) => {
            let seed = test.settings.number("reorderTasksRandomSeed");
            format!("random task offsets >= {}, seed={seed}", count("taskPerNodeOffset"))
        }
        _ => "no tasks offsets".to_string(),
    };
    let order_in = if test.flag("randomOffset") { "random offsets" } else { "sequential offsets" };
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "\t{name:<18} = {value}");
    };
    line("api", &test.api);
    line("test filename", &test.file);
    line("access", facts::access(test));
    line("ordering in a file", order_in);
    // The one name that fills its column, as it always stood there.
    let _ = writeln!(text, "\tordering inter file= {order}");
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "\t{name:<18} = {value}");
    };
    line("clients", &format!("{} ({} per node)", test.tasks, test.on_first_node));
    line("repetitions", &test.repetitions.to_string());
    line("xfersize", &readable(test.transfer));
    line("blocksize", &readable(test.block));
    line("aggregate filesize", &readable(test.aggregate()));
    if count("deadlineForStonewalling") > 0 {
        let worn = if test.flag("stoneWallingWearOut") { " with phase out" } else { "" };
        let _ = writeln!(text, "\tUsing stonewalling = {} second(s){worn}", count("deadlineForStonewalling"));
    }
    text + "\n" + &columns::head(3)
}

/// The head of the summary.
pub const SUMMARY: &str = "\nSummary of all tests:\n\
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) \
Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum\n";

/// The rows of a test in the summary.
pub fn summary(test: &IorTest, outcomes: &[PhaseOutcome]) -> String {
    let mut text = String::new();
    for access in [Access::Write, Access::Read] {
        let Some(summary) = Summary::of(test, outcomes, access) else { continue };
        text += &summary.head(access);
        test_columns(test).iter().for_each(|(_, value)| text += &format!("{value} "));
        let _ = writeln!(text, "{} {} {}", summary.bytes, test.api, test.settings.number("refNum"));
    }
    text
}

/// The last line.
pub fn finished(at: &str) -> String {
    format!("\nFinished: {at}\n")
}
