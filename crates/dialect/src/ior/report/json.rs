//! `-O summaryFormat=JSON`: IOR's keys, always valid; warnings are a list of each test's, what IOR lacks is under `iodyno`.
//!
//! Numbers are told as exactly as they are known, not in four decimals.

use iodyno_model::Finding;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::facts::{Pair, Shown};
use super::outcome::Outcome;
use super::text::{MEBI, Space, Summary, VERSION};
use super::{Told, facts};
use crate::ior::test::Test;
use crate::ior::view::{Access, View};

/// A value of a document whose keys keep their order.
pub enum Node {
    /// Text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A list.
    List(Vec<Node>),
    /// Keys and values.
    Map(Vec<(String, Node)>),
    /// What serialises itself.
    Any(serde_json::Value),
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Text(text) => serializer.serialize_str(text),
            Node::Whole(number) => serializer.serialize_i64(*number),
            Node::Real(number) => serializer.serialize_f64(*number),
            Node::List(nodes) => serializer.collect_seq(nodes),
            Node::Map(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (name, node) in pairs {
                    map.serialize_entry(name, node)?;
                }
                map.end()
            }
            Node::Any(value) => value.serialize(serializer),
        }
    }
}

fn text(name: &str, value: impl Into<String>) -> (String, Node) {
    (name.into(), Node::Text(value.into()))
}

fn real(name: &str, value: f64) -> (String, Node) {
    (name.into(), Node::Real(value))
}

fn whole(name: &str, value: impl TryInto<i64>) -> (String, Node) {
    (name.into(), Node::Whole(value.try_into().unwrap_or(i64::MAX)))
}

fn pairs(pairs: Vec<Pair>) -> Node {
    let node = |shown| match shown {
        Shown::Text(text) => Node::Text(text),
        Shown::Number(number) => Node::Whole(number),
    };
    Node::Map(pairs.into_iter().map(|(name, shown)| (name.to_string(), node(shown))).collect())
}

/// What frames the tests.
pub struct Frame<'a> {
    /// The tests and the command line.
    pub view: &'a View,
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
pub fn document(frame: &Frame<'_>, told: &[Told]) -> String {
    let both = || frame.view.tests.iter().zip(told);
    let summary = both().flat_map(|(test, told)| {
        [Access::Write, Access::Read].into_iter().filter_map(|access| summary(test, &told.outcomes, access))
    });
    let mut own = vec![
        ("findings".into(), Node::Any(serde_json::to_value(frame.findings).unwrap_or_default())),
        ("cache".into(), Node::List(both().flat_map(|(test, told)| cache(test, told)).collect())),
        ("errors".into(), Node::List(frame.errors.iter().cloned().map(Node::Text).collect())),
    ];
    if !frame.demands.is_empty() {
        own.push(("demands".into(), Node::Any(serde_json::to_value(frame.demands).unwrap_or_default())));
    }
    let root = Node::Map(vec![
        text("Version", VERSION),
        text("Began", frame.began),
        text("Command line", frame.view.command.as_str()),
        text("Machine", frame.machine.0),
        (
            "tests".into(),
            Node::List(
                both().map(|(test, told)| self::test(test, told, frame.machine.1, frame.view.bugs)).collect(),
            ),
        ),
        ("summary".into(), Node::List(summary.collect())),
        ("iodyno".into(), Node::Map(own)),
        text("Finished", frame.finished),
    ]);
    serde_json::to_string_pretty(&root).unwrap_or_default() + "\n"
}

fn test(test: &Test, told: &Told, platform: &str, quirks: bool) -> Node {
    let mut keys = vec![
        whole("TestID", test.id as i64),
        text("StartTime", told.began.as_str()),
        text("Path", test.file.as_str()),
    ];
    if let Some(Space { capacity, used, inodes, inodes_used }) =
        told.facts.as_ref().and_then(super::text::space)
    {
        keys.extend([
            text("Capacity", capacity),
            text("Used Capacity", used),
            text("Inodes", inodes),
            text("Used Inodes", inodes_used),
        ]);
    }
    keys.push(("Parameters".into(), pairs(facts::parameters(test, platform, quirks))));
    keys.push(("Options".into(), pairs(facts::options(test))));
    let rows = told.outcomes.iter().filter_map(|outcome| row(outcome, test));
    keys.push(("Results".into(), Node::List(rows.collect())));
    keys.push(("warnings".into(), Node::List(told.warnings.iter().cloned().map(Node::Text).collect())));
    if test.verbose() > 0 {
        keys.push(("max".into(), Node::Map(best(&told.outcomes))));
    }
    Node::Map(keys)
}

fn row(outcome: &Outcome, test: &Test) -> Option<Node> {
    let access = outcome.access?;
    let mut keys = vec![text("access", access.name())];
    match access {
        Access::Remove if test.verbose() > 0 => keys.push(real("totalTime", outcome.total)),
        Access::Write | Access::Read => keys.extend([
            real("bwMiB", outcome.bandwidth() / MEBI),
            real("blockKiB", test.block as f64 / 1024.0),
            real("xferKiB", test.transfer as f64 / 1024.0),
            real("iops", outcome.operations()),
            real("latency", outcome.latency),
            real("openTime", outcome.open),
            real("wrRdTime", outcome.transfer),
            real("closeTime", outcome.close),
            real("totalTime", outcome.total),
        ]),
        _ => return None,
    }
    Some(Node::Map(keys))
}

fn best(outcomes: &[Outcome]) -> Vec<(String, Node)> {
    let mut keys = Vec::new();
    for (access, mebi, mega) in [(Access::Write, "writeMiB", "writeMB"), (Access::Read, "readMiB", "readMB")]
    {
        let of = outcomes.iter().filter(|outcome| outcome.access == Some(access));
        if let Some(best) = of.map(Outcome::bandwidth).reduce(f64::max) {
            keys.extend([real(mebi, best / MEBI), real(mega, best / 1e6)]);
        }
    }
    keys
}

fn summary(test: &Test, outcomes: &[Outcome], access: Access) -> Option<Node> {
    let summary = Summary::of(test, outcomes, access)?;
    let number = |name: &str| test.settings.number(name);
    let mut keys = vec![
        text("operation", access.name()),
        text("API", test.api.as_str()),
        whole("TestID", test.id as i64),
        whole("ReferenceNumber", number("refNum")),
        whole("segmentCount", test.segments),
        whole("blockSize", test.block),
        whole("transferSize", test.transfer),
        whole("numTasks", test.tasks),
        whole("tasksPerNode", test.on_first_node),
        whole("repetitions", test.repetitions),
        whole("filePerProc", number("filePerProc")),
        whole("reorderTasks", number("reorderTasks")),
        whole("taskPerNodeOffset", number("taskPerNodeOffset")),
        whole("reorderTasksRandom", number("reorderTasksRandom")),
        whole("reorderTasksRandomSeed", number("reorderTasksRandomSeed")),
        real("bwMaxMIB", summary.bandwidth.max),
        real("bwMinMIB", summary.bandwidth.min),
        real("bwMeanMIB", summary.bandwidth.mean),
        real("bwStdMIB", summary.bandwidth.deviation),
        real("OPsMax", summary.operations.max),
        real("OPsMin", summary.operations.min),
        real("OPsMean", summary.operations.mean),
        real("OPsSD", summary.operations.deviation),
        real("MeanTime", summary.seconds),
    ];
    if let Some((seconds, rate)) = summary.stonewall {
        keys.extend([real("StoneWallTime", seconds), real("StoneWallbwMeanMIB", rate)]);
    }
    keys.push(real("xsizeMiB", summary.bytes as f64 / MEBI));
    Some(Node::Map(keys))
}

/// How much of what each phase read came from the page cache, and how that is known.
fn cache(test: &Test, told: &Told) -> Vec<Node> {
    let of = |outcome: &Outcome| {
        let (cache, access) = (outcome.cache.as_ref()?, outcome.access?);
        let mut keys = vec![
            whole("TestID", test.id as i64),
            text("access", access.name()),
            whole("iter", outcome.repetition),
            whole("readBytes", cache.read_bytes),
        ];
        if let (Some(bytes), Some(percent)) = (cache.cached_bytes, cache.percent()) {
            keys.extend([whole("cachedBytes", bytes), real("cachedPercent", percent)]);
        }
        keys.push(text("because", cache.because.as_str()));
        Some(Node::Map(keys))
    };
    told.outcomes.iter().filter_map(of).collect()
}
