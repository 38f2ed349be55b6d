//! What other tools measured, read from their own JSON: what the readers of fio, IOR and iperf3 have in common.
//!
//! Only what a file says is taken in. A latency distribution is taken from its buckets where they were written
//! (`--output-format=json+`), else from its percentiles, which then are exact and nothing between them is; what has no
//! series has no interval of its own. It refuses to fill a gap with a guess.

use iodyno_model::{Machine, PhaseRecord, Plan, Record, RunStart};
use serde_json::Value;

use crate::{fio, ior, iperf3};

/// A run that another tool measured, with its command line where the tool wrote it down.
pub type ForeignRun = (Vec<String>, RunStart, Record);

/// The runs of a tool's document; none: it is not that tool's.
pub type Read = fn(&Value) -> Option<Result<Vec<ForeignRun>, String>>;

/// The tools whose JSON is known, by name.
pub const READERS: &[(&str, Read)] =
    &[("fio", fio::import::read), ("ior", ior::import::read), ("iperf3", iperf3::import::read)];

/// What a document says of a run.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The tool's name and version: `fio-3.33`.
    pub version: String,
    /// What its command or job was called.
    pub name: String,
    /// The command line, where the tool wrote it down.
    pub words: Vec<String>,
    /// The host, where the tool wrote it down.
    pub host: String,
    /// The kernel, where the tool wrote it down.
    pub kernel: String,
    /// When it began, ns since 1970; 0: the tool did not say.
    pub began_unix_ns: u64,
    /// What it measured.
    pub phases: Vec<PhaseRecord>,
}

impl From<Import> for ForeignRun {
    fn from(import: Import) -> Self {
        let Import { version, name, words, host, kernel, began_unix_ns: at_unix_ns, phases } = import;
        let machine = Machine { host, kernel, version, ..Machine::default() };
        let plan = Plan { name: name.clone(), ..Plan::default() };
        let record = Record { name, machine: machine.clone(), phases, ..Record::default() };
        (
            words,
            RunStart { plan, targets: Vec::new(), machine, at_unix_ns, world: Default::default() },
            record,
        )
    }
}

/// A number of an object; 0 where it is missing.
pub fn number(of: &Value, name: &str) -> f64 {
    of.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// A count of an object; 0 where it is missing.
pub fn count(of: &Value, name: &str) -> u64 {
    number(of, name).max(0.0) as u64
}

/// A text of an object; a number as its digits; empty where it is missing.
pub fn text(of: &Value, name: &str) -> String {
    match of.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The members of a list; none where it is missing.
pub fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts and numbers of an object as facts, by name.
pub fn facts(of: Option<&Value>) -> Vec<(String, String)> {
    let members = of.and_then(Value::as_object).into_iter().flatten();
    let told = members.filter(|(_, value)| value.is_string() || value.is_number() || value.is_boolean());
    told.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        (name.clone(), value)
    })
    .collect()
}
