//! What a test is, as pairs: the options block of the text, and the parameters of JSON.

use crate::ior::test::IorTest;
use crate::ior::value::readable;

/// A value as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownValue {
    Text(String),
    Number(i64),
}

impl std::fmt::Display for ShownValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ShownValue::Text(text) => f.write_str(text),
            ShownValue::Number(number) => write!(f, "{number}"),
        }
    }
}

/// A name and its value.
pub type Pair = (&'static str, ShownValue);

fn text(name: &'static str, value: impl Into<String>) -> Pair {
    (name, ShownValue::Text(value.into()))
}

fn number(name: &'static str, value: impl TryInto<i64>) -> Pair {
    (name, ShownValue::Number(value.try_into().unwrap_or(i64::MAX)))
}

/// `single-shared-file` or `file-per-process`.
pub fn access(test: &IorTest) -> &'static str {
    if test.is_file_per_task() { "file-per-process" } else { "single-shared-file" }
}

/// The options block.
pub fn options(test: &IorTest) -> Vec<Pair> {
    let mut pairs = vec![
        text("api", test.api.as_str()),
        text("apiVersion", ""),
        text("test filename", test.file.as_str()),
        text("access", access(test)),
        text("type", if test.collective { "collective" } else { "independent" }),
        number("segments", test.segments),
        text("ordering in a file", if test.flag("randomOffset") { "random" } else { "sequential" }),
    ];
    pairs.extend(order(test));
    pairs.push(number("nodes", test.nodes));
    pairs.push(number("tasks", test.tasks));
    pairs.push(number("clients per node", test.on_first_node));
    for (name, shown) in [("memoryPerTask", "memoryPerTask"), ("memoryPerNode", "memoryPerNode")] {
        if test.settings.is_given(name) {
            let share = if name == "memoryPerNode" { u64::from(test.on_first_node) } else { 1 };
            pairs.push(text(shown, readable(test.hog_bytes.saturating_mul(share))));
        }
    }
    pairs.extend([
        text("memoryBuffer", "CPU"),
        text("dataAccess", "CPU"),
        text("GPUDirect", "0"),
        number("repetitions", test.repetitions),
        text("xfersize", readable(test.transfer)),
        text("blocksize", readable(test.block)),
        text("aggregate filesize", readable(test.aggregate())),
    ]);
    if test.flag("dryRun") {
        pairs.push(number("dryRun", 1));
    }
    if test.verbose() > 0 {
        pairs.push(number("verbose", test.verbose()));
    }
    if test.count("deadlineForStonewalling") > 0 {
        pairs.push(number("stonewallingTime", test.count("deadlineForStonewalling")));
        pairs.push(number("stoneWallingWearOut", i64::from(test.flag("stoneWallingWearOut"))));
    }
    pairs
}

fn order(test: &IorTest) -> Vec<Pair> {
    let offset = number("task offset", test.count("taskPerNodeOffset"));
    let seed = number("reorder random seed", test.settings.number("reorderTasksRandomSeed"));
    match (test.flag("reorderTasks"), test.flag("reorderTasksRandom")) {
        (true, _) => vec![text("ordering inter file", "constant task offset"), offset],
        (_, true) => vec![text("ordering inter file", "random task offset"), offset, seed],
        _ => vec![text("ordering inter file", "no tasks offsets")],
    }
}

/// The parameters, as JSON and `-vvv` list them.
/// With IOR's quirks the letter of the data is the one that IOR prints, which is another's, and its options are `(null)`.
pub fn parameters(test: &IorTest, platform: &str, quirks: bool) -> Vec<Pair> {
    let data = test.settings.text("dataPacketType").unwrap_or("timestamp");
    let index = ["timestamp", "offset", "incompressible", "random"].iter().position(|name| *name == data);
    let index = index.unwrap_or(0);
    let letter = if quirks { ["g", "t", "o", "i"][index] } else { &data[..1] };
    let mut pairs = vec![
        number("testID", test.id as i64),
        number("refnum", test.settings.number("refNum")),
        text("api", test.api.as_str()),
        text("platform", test.settings.text("platform").unwrap_or(platform)),
        text("testFileName", test.file.as_str()),
        number("deadlineForStonewall", test.count("deadlineForStonewalling")),
        number("stoneWallingWearOut", i64::from(test.flag("stoneWallingWearOut"))),
        number("maxTimeDuration", test.count("maxTimeDuration")),
        number("outlierThreshold", test.count("outlierThreshold")),
        text("options", if quirks { "(null)" } else { "" }),
        number("dryRun", i64::from(test.flag("dryRun"))),
        number("nodes", test.nodes),
        number("memoryPerTask", if test.settings.is_given("memoryPerTask") { test.hog_bytes } else { 0 }),
        number(
            "memoryPerNode",
            if test.settings.is_given("memoryPerNode") {
                test.hog_bytes * u64::from(test.on_first_node)
            } else {
                0
            },
        ),
        number("tasksPerNode", test.on_first_node),
        number("repetitions", test.repetitions),
    ];
    pairs.extend(flags(test));
    pairs.extend([
        number("verbose", test.verbose()),
        text("data packet type", letter),
        number("setTimeStampSignature/incompressibleSeed", test.settings.number("setTimeStampSignature")),
        number("collective", i64::from(test.collective)),
        number("segmentCount", test.segments),
        number("transferSize", test.transfer),
        number("blockSize", test.block),
    ]);
    let at = pairs.iter().position(|(name, _)| *name == "keepFile").unwrap_or(0);
    pairs.insert(at, number("dataPacketType", index as i64));
    pairs
}

fn flags(test: &IorTest) -> Vec<Pair> {
    let names: [(&'static str, &str); 19] = [
        ("multiFile", "multiFile"),
        ("interTestDelay", "interTestDelay"),
        ("fsync", "fsync"),
        ("fsyncperwrite", "fsyncPerWrite"),
        ("useExistingTestFile", "useExistingTestFile"),
        ("uniqueDir", "uniqueDir"),
        ("singleXferAttempt", "singleXferAttempt"),
        ("readFile", ""),
        ("writeFile", ""),
        ("filePerProc", "filePerProc"),
        ("reorderTasks", "reorderTasks"),
        ("reorderTasksRandom", "reorderTasksRandom"),
        ("reorderTasksRandomSeed", "reorderTasksRandomSeed"),
        ("randomOffset", "randomOffset"),
        ("checkWrite", "checkWrite"),
        ("checkRead", "checkRead"),
        ("keepFile", "keepFile"),
        ("keepFileWithError", "keepFileWithError"),
        ("warningAsErrors", "warningAsErrors"),
    ];
    let value = |name: &str, option: &str| match name {
        "readFile" => i64::from(test.read),
        "writeFile" => i64::from(test.write),
        _ => test.settings.number(option),
    };
    let pair = |(name, option): (&'static str, &str)| match name {
        "interTestDelay" => match test.settings.decimal(option) {
            fraction if fraction.fract() != 0.0 => text(name, fraction.to_string()),
            whole => number(name, whole as i64),
        },
        _ => number(name, value(name, option)),
    };
    names.into_iter().map(pair).collect()
}
