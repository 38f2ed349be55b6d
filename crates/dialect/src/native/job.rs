//! `[[phase.job]]`: who does what to which target.

use iodyno_model::{
    ErrorPolicy, Job, NumaMemory, NumaPolicy, Pattern, Pick, Placement, SAME_ID, Setting, Verb, Workload,
};

use super::fields::{Fields, Wrong, suggestion};
use super::inline::{may, must, record, table};
use super::tree::{Node, Value};
use super::value::{Read, choice, count, list, small, text};
use super::{pace, pattern, payload, script};

/// One job; `targets` are the names of the plan's targets.
pub(crate) fn read(node: &Node, number: usize, targets: &[String], wrong: &Wrong) -> Job {
    let fields = Fields::new(node, "a job", wrong);
    let on = fields.or("on", list(|node| target(node, targets)), Vec::new());
    let own: Vec<_> = on.iter().map(|index| targets[*index].clone()).collect();
    let mut job = Job {
        payload: payload::read(&fields),
        settings: settings(&fields),
        origin: node.origin.clone(),
        ..Job::new(&format!("job {number}"), "psync", on, workload(&fields, &own))
    };
    fields.fill(&mut job);
    (job.pace.rate_all, job.pace.rate) = fields.or("rate", pace::rates, Default::default());
    if job.targets.is_empty() && fields.entry("on").is_none() {
        wrong.error(
            &node.origin,
            format!("job `{}` works on nothing", job.name),
            "say on = \"NAME\" of a [target.NAME]",
        );
    }
    fields.unknown();
    job
}

pub(super) fn target(node: &Node, targets: &[String]) -> Read<usize> {
    let name = text(node)?;
    let known: Vec<_> = targets.iter().map(String::as_str).collect();
    let found = targets.iter().position(|target| *target == name);
    found.ok_or_else(|| match known.is_empty() {
        true => format!("there is no target; write [target.{name}]"),
        false => format!("there is no target of that name; {}", suggestion(&name, &known)),
    })
}

fn workload(fields: &Fields<'_>, targets: &[String]) -> Workload {
    let drawn = pattern::read(fields);
    let script = script::read(fields, targets);
    let trace = fields.node("trace").map(|node| script::trace(node, fields, targets));
    let found =
        usize::from(drawn.is_some()) + usize::from(!script.steps.is_empty()) + usize::from(trace.is_some());
    if found != 1 {
        let message = match found {
            0 => "the job does not say what to do",
            _ => "the job says more than one thing to do",
        };
        let hint =
            "say exactly one of do = \"read\", mix = { read = 70, write = 30 }, [[phase.job.step]], trace";
        fields.wrong().error(fields.origin(), message, hint);
    }
    match (trace, script.steps.is_empty(), drawn) {
        (Some(trace), _, _) => Workload::Trace(trace),
        (None, false, _) => Workload::Script(script),
        (None, true, Some(pattern)) => Workload::Pattern(Box::new(pattern)),
        (None, true, None) => Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 4096))),
    }
}

fn settings(fields: &Fields<'_>) -> Vec<Setting> {
    let setting = |entry: &super::tree::Entry| Setting {
        name: entry.name.clone(),
        value: entry.node.to_string(),
        origin: entry.origin.clone(),
    };
    fields.named("settings").iter().map(setting).collect()
}

/// `user`, `group` and `numa_node` say parts of what a plan keeps as one.
pub(super) fn placement(node: &Node) -> Read<Placement> {
    let mut placement = Placement::default();
    table(node, &mut placement, &["numa_node", "user", "group"])?;
    let id = |name| may(node, name, small, SAME_ID);
    let identity = (id("user")?, id("group")?);
    placement.identity = (identity != (SAME_ID, SAME_ID)).then_some(identity);
    if node.has(&["numa_node"]) {
        let nodes = vec![must(node, "numa_node", small)?];
        placement.numa_memory = Some(NumaMemory { policy: NumaPolicy::Bind, nodes });
    }
    Ok(placement)
}

/// `"0-3,8"` or a list of numbers.
pub(super) fn cpus(node: &Node) -> Read<Vec<u32>> {
    let expected = || "expected CPUs such as \"0-3,8\" or [0, 1]".to_string();
    if let Value::List(items) = &node.value {
        return items.iter().map(small).collect();
    }
    let mut all = Vec::new();
    for part in node.word().ok_or_else(expected)?.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number =
            |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 65536).ok_or_else(expected);
        all.extend(number(first)?..=number(last)?);
    }
    if all.is_empty() { Err(expected()) } else { Ok(all) }
}

pub(super) fn nice(node: &Node) -> Read<i32> {
    let number = super::value::signed(node).ok().filter(|nice| (-20..=19).contains(nice));
    number.map(|nice| nice as i32).ok_or_else(|| "expected a number from -20 to 19".into())
}

/// `"real time:4"`, `"best effort:0"`, `"idle"`.
pub(super) fn io_priority(node: &Node) -> Read<(u8, u8)> {
    let expected = || "expected \"real time:LEVEL\", \"best effort:LEVEL\" (0 to 7) or \"idle\"".to_string();
    let word = node.word().ok_or_else(expected)?.replace('_', " ");
    let (class, level) = word.split_once(':').unwrap_or((&word, "0"));
    let level = level.parse::<u8>().ok().filter(|level| *level < 8).ok_or_else(expected)?;
    match class {
        "real time" => Ok((1, level)),
        "best effort" => Ok((2, level)),
        "idle" => Ok((3, level)),
        _ => Err(expected()),
    }
}

/// A hint of 10 bits; what is more is the most.
pub(super) fn priority_hint(node: &Node) -> Read<u16> {
    small(node).map(|hint| hint.min(1023) as u16)
}

pub(super) fn error_number(node: &Node) -> Read<i32> {
    small(node).and_then(|number| i32::try_from(number).map_err(|_| "expected an error number".into()))
}

/// `stop`, `continue`, how many are borne, or their numbers by what failed.
pub(super) fn errors(node: &Node) -> Read<ErrorPolicy> {
    if node.word().is_none() {
        return record(node).map(|tolerance| ErrorPolicy::Tolerate(Box::new(tolerance)));
    }
    if let Ok(most) = count(node) {
        return Ok(ErrorPolicy::AtMost(most));
    }
    choice(&[("stop", ErrorPolicy::Stop), ("continue", ErrorPolicy::Continue)])(node)
        .map_err(|error| format!("{error}, or how many errors are borne"))
}
