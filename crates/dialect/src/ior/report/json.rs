//! `-O summaryFormat=JSON`: IOR's keys, always valid; warnings are a list of each test's, what IOR lacks is under `iodyno`.
//!
//! Numbers are printed as exactly as they are known, not in four decimals.

use iodyno_model::Finding;

use super::facts::{Pair, ShownValue};
use super::outcome::PhaseOutcome;
use super::text::{MEBI, Summary, VERSION};
use super::{TestResults, facts};
use crate::ior::test::IorTest;
use crate::ior::view::{Access, ReportContext};
use crate::json_tree::{JsonStyle, JsonTree, json_object};

/// IOR's layout, with numbers as exactly as they are known.
const STYLE: JsonStyle = JsonStyle {
    indent: "  ",
    newline: "\n",
    colon: ": ",
    inline_comma: None,
    is_empty_closed: true,
    real: |number| serde_json::to_string(&number).unwrap_or_default(),
};

fn pairs(pairs: Vec<Pair>) -> JsonTree {
    JsonTree::fields(pairs.into_iter().map(|(name, shown)| match shown {
        ShownValue::Text(text) => (name, JsonTree::Text(text)),
        ShownValue::Number(number) => (name, number.into()),
    }))
}

/// What frames the tests.
pub struct Frame<'a> {
    /// The tests and the command line.
    pub view: &'a ReportContext,
    /// When the run began.
    pub began: &'a str,
    /// When it was over.
    pub finished: &'a str,
    /// The machine in a line, and as `host(system)`.
    pub machine: (&'a str, &'a str),
    /// What spoils a number.
    pub findings: &'a [Finding],
    /// What was demanded of the run.
    pub demands: &'a [iodyno_model::DemandRecord],
    /// What went wrong with the run as a whole.
    pub errors: &'a [String],
}

/// The whole document.
pub fn document(frame: &Frame<'_>, results: &[TestResults]) -> String {
    let both = || frame.view.tests.iter().zip(results);
    let summaries = both().flat_map(|(test, results)| {
        [Access::Write, Access::Read]
            .into_iter()
            .filter_map(|access| summary(test, &results.outcomes, access))
    });
    let mut own = json_object! {
        "findings": &serde_json::to_value(frame.findings).unwrap_or_default(),
        "cache": both().flat_map(|(test, results)| cache(test, results)).collect::<JsonTree>(),
        "errors": texts(frame.errors),
    };
    if !frame.demands.is_empty() {
        own.push("demands", &serde_json::to_value(frame.demands).unwrap_or_default());
    }
    let tests = both().map(|(test, results)| self::test(test, results, frame.machine.1, frame.view.bugs));
    let root = json_object! {
        "Version": VERSION, "Began": frame.began,
        "Command line": &frame.view.command, "Machine": frame.machine.0,
        "tests": tests.collect::<JsonTree>(),
        "summary": summaries.collect::<JsonTree>(),
        "iodyno": own,
        "Finished": frame.finished,
    };
    root.print(&STYLE) + "\n"
}

fn texts(texts: &[String]) -> JsonTree {
    texts.iter().map(JsonTree::from).collect()
}

fn test(test: &IorTest, results: &TestResults, platform: &str, quirks: bool) -> JsonTree {
    let mut keys = json_object! { "TestID": test.id as i64, "StartTime": &results.began, "Path": &test.file };
    if let Some(space) = results.facts.as_ref().and_then(super::text::space) {
        keys.append(json_object! {
            "Capacity": space.capacity, "Used Capacity": space.used,
            "Inodes": space.inodes, "Used Inodes": space.inodes_used,
        });
    }
    keys.append(json_object! {
        "Parameters": pairs(facts::parameters(test, platform, quirks)),
        "Options": pairs(facts::options(test)),
        "Results": results.outcomes.iter().filter_map(|outcome| row(outcome, test)).collect::<JsonTree>(),
        "warnings": texts(&results.warnings),
    });
    if test.verbose() > 0 {
        keys.push("max", best(&results.outcomes));
    }
    keys
}

fn row(outcome: &PhaseOutcome, test: &IorTest) -> Option<JsonTree> {
    let access = outcome.access?;
    match access {
        Access::Remove if test.verbose() > 0 => {
            Some(json_object! { "access": access.name(), "totalTime": outcome.total })
        }
        Access::Write | Access::Read => Some(json_object! {
            "access": access.name(),
            "bwMiB": outcome.bandwidth() / MEBI,
            "blockKiB": test.block as f64 / 1024.0, "xferKiB": test.transfer as f64 / 1024.0,
            "iops": outcome.operations(), "latency": outcome.latency,
            "openTime": outcome.open, "wrRdTime": outcome.transfer,
            "closeTime": outcome.close, "totalTime": outcome.total,
        }),
        _ => None,
    }
}

fn best(outcomes: &[PhaseOutcome]) -> JsonTree {
    let mut keys = JsonTree::object([]);
    for (access, mebi, mega) in [(Access::Write, "writeMiB", "writeMB"), (Access::Read, "readMiB", "readMB")]
    {
        let of = outcomes.iter().filter(|outcome| outcome.access == Some(access));
        if let Some(best) = of.map(PhaseOutcome::bandwidth).reduce(f64::max) {
            keys.push(mebi, best / MEBI).push(mega, best / 1e6);
        }
    }
    keys
}

fn summary(test: &IorTest, outcomes: &[PhaseOutcome], access: Access) -> Option<JsonTree> {
    let summary = Summary::of(test, outcomes, access)?;
    let number = |name: &str| test.settings.number(name);
    let (bandwidth, operations) = (&summary.bandwidth, &summary.operations);
    let mut keys = json_object! {
        "operation": access.name(), "API": &test.api,
        "TestID": test.id as i64, "ReferenceNumber": number("refNum"),
        "segmentCount": test.segments, "blockSize": test.block, "transferSize": test.transfer,
        "numTasks": test.tasks, "tasksPerNode": test.on_first_node,
        "repetitions": test.repetitions, "filePerProc": number("filePerProc"),
        "reorderTasks": number("reorderTasks"), "taskPerNodeOffset": number("taskPerNodeOffset"),
        "reorderTasksRandom": number("reorderTasksRandom"),
        "reorderTasksRandomSeed": number("reorderTasksRandomSeed"),
        "bwMaxMIB": bandwidth.max, "bwMinMIB": bandwidth.min,
        "bwMeanMIB": bandwidth.mean, "bwStdMIB": bandwidth.deviation,
        "OPsMax": operations.max, "OPsMin": operations.min,
        "OPsMean": operations.mean, "OPsSD": operations.deviation,
        "MeanTime": summary.seconds,
    };
    if let Some((seconds, rate)) = summary.stonewall {
        keys.push("StoneWallTime", seconds).push("StoneWallbwMeanMIB", rate);
    }
    keys.push("xsizeMiB", summary.bytes as f64 / MEBI);
    Some(keys)
}

/// How much of what each phase read came from the page cache, and how that is known.
fn cache(test: &IorTest, results: &TestResults) -> Vec<JsonTree> {
    let of = |outcome: &PhaseOutcome| {
        let (cache, access) = (outcome.cache.as_ref()?, outcome.access?);
        let mut keys = json_object! {
            "TestID": test.id as i64, "access": access.name(),
            "iter": outcome.repetition, "readBytes": cache.read_bytes,
        };
        if let (Some(bytes), Some(percent)) = (cache.cached_bytes, cache.percent()) {
            keys.push("cachedBytes", bytes).push("cachedPercent", percent);
        }
        keys.push("because", &cache.because);
        Some(keys)
    };
    results.outcomes.iter().filter_map(of).collect()
}
