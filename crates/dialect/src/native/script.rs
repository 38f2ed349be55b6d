//! `[[phase.job.step]]` and `[phase.job.trace]`: what is written or was recorded.

use iodyno_model::reflect::Reflect;
use iodyno_model::{Action, Item, Offset, Operation, Script, Size, Step, Timing, Trace, TraceEntry, Verb};

use super::fields::{Fields, suggestion};
use super::inline::{known, may, must};
use super::pattern;
use super::tree::Node;
use super::value::{Read, bytes, choice, count, number, text, time, verb, whole_number};

/// The script of a job.
pub(crate) fn read(fields: &Fields<'_>, targets: &[String]) -> Script {
    let steps = fields.each("step").into_iter().map(|node| step(node, fields, targets)).collect();
    Script { actors: Vec::new(), steps }
}

fn step(node: &Node, outer: &Fields<'_>, targets: &[String]) -> Step {
    let fields = Fields::new(node, "a step", outer.wrong());
    let parts = fields.each("step");
    let repeat = fields.or("repeat", count, 1);
    let label = fields.get("label", text);
    let (named, action) = if parts.is_empty() {
        let verb = fields.get("do", verb);
        if fields.entry("do").is_none() {
            let hint = "say do = \"read\", or give it steps of its own";
            outer.wrong().error(fields.origin(), "the step does not say what to do", hint);
        }
        let operation = operation(&fields, verb.unwrap_or(Verb::Think), targets);
        (operation.verb.name(), Action::Do(Box::new(operation)))
    } else {
        let steps = parts.into_iter().map(|part| step(part, &fields, targets)).collect();
        ("block", Action::Block(steps))
    };
    fields.unknown();
    Step { label: label.unwrap_or_else(|| named.into()), action, repeat, origin: node.origin.clone() }
}

fn operation(fields: &Fields<'_>, verb: Verb, targets: &[String]) -> Operation {
    let target = |node: &Node| index(node, targets, "a target of this job");
    let needs_target = verb.kind() != iodyno_model::Kind::Control;
    let default = (needs_target && targets.len() == 1).then_some(0);
    let (time_ns, drawn) = fields.or("time", lasting, (0, None));
    let number = fields.get("drawn", pattern::size).map(|number| (number, 1.0));
    let mut operation = Operation {
        target: fields.get("on", target).or(default),
        other: fields.get("to", |node| other(node, targets)),
        time_ns,
        drawn: number.or(drawn),
        arguments: arguments(fields),
        ..Operation::control(verb)
    };
    fields.fill(&mut operation);
    operation
}

fn index(node: &Node, names: &[String], what: &str) -> Read<usize> {
    let name = text(node)?;
    let known: Vec<_> = names.iter().map(String::as_str).collect();
    let found = names.iter().position(|known| *known == name);
    found.ok_or_else(|| format!("expected {what}; {}", suggestion(&name, &known)))
}

fn other(node: &Node, targets: &[String]) -> Read<(usize, Item)> {
    known(node, &["on", "item"])?;
    let target = |node: &Node| index(node, targets, "a target of this job");
    Ok((may(node, "on", target, 0)?, may(node, "item", item, Item::Whole)?))
}

pub(super) fn item(node: &Node) -> Read<Item> {
    let expected = "expected each, shuffled, listed, existing, missing, held, all held, cached block, new block, a number, \
                    or a table with name, existing, missing, oldest or further";
    if let Ok(index) = whole_number(node) {
        return Ok(Item::Index(index));
    }
    let Some(word) = node.word() else {
        known(node, &["name", "existing", "missing", "oldest", "after", "further"])?;
        if node.has(&["oldest"]) {
            let after = may(node, "after", |node| text(node).map(Some), None)?;
            return Ok(Item::Oldest { first: must(node, "oldest", whole_number)?, after });
        }
        if node.has(&["further"]) {
            return Ok(Item::Last { further: must(node, "further", whole_number)? });
        }
        let entry = node.entries().first().ok_or(expected)?;
        return match entry.name.as_str() {
            "name" => text(&entry.node).map(Item::Named),
            "existing" => pattern::pick(&entry.node).map(Item::Existing),
            _ => pattern::pick(&entry.node).map(Item::Missing),
        };
    };
    match word {
        "whole" => Ok(Item::Whole),
        "each" => Ok(Item::Each),
        "shuffled" => Ok(Item::Shuffled),
        "listed" => Ok(Item::Listed),
        "existing" => Ok(Item::Existing(Default::default())),
        "missing" => Ok(Item::Missing(Default::default())),
        "held" => Ok(Item::Held),
        "all held" => Ok(Item::AllHeld),
        "cached block" => Ok(Item::Requested { stored: false }),
        "new block" => Ok(Item::Requested { stored: true }),
        _ => Err(expected.into()),
    }
}

/// A time, or a number that is drawn of units of time.
pub(super) fn lasting(node: &Node) -> Read<(u64, Option<(Size, f64)>)> {
    if node.word().is_some() {
        return Ok((time(node)?, None));
    }
    known(node, &["drawn", "unit"])?;
    let unit_ns = may(node, "unit", time, 1)?;
    Ok((0, Some((must(node, "drawn", pattern::size)?, unit_ns as f64))))
}

pub(super) fn offset(node: &Node) -> Read<Offset> {
    if node.word().is_none() {
        known(node, &["from", "pick", "span", "cached_blocks", "new_blocks"])?;
        for (key, stored) in [("cached_blocks", false), ("new_blocks", true)] {
            if node.has(&[key]) {
                return must(node, key, bytes).map(|block_bytes| Offset::Requested { stored, block_bytes });
            }
        }
        if node.has(&["from"]) {
            return must(node, "from", bytes).map(Offset::NextFrom);
        }
        return Ok(Offset::Drawn {
            pick: must(node, "pick", pattern::pick)?,
            span_bytes: may(node, "span", bytes, 0)?,
        });
    }
    match node.word() {
        Some("next") => Ok(Offset::Next),
        Some("end") => Ok(Offset::End),
        Some("again") => Ok(Offset::Again),
        _ => bytes(node).map(Offset::At).map_err(|_| {
            "expected next, end, again, a place such as \"4KiB\", { from = \"4KiB\" } or { pick = \"random\" }"
                .into()
        }),
    }
}

fn arguments(fields: &Fields<'_>) -> Vec<(String, String)> {
    let entries = fields.named("arguments").iter();
    entries.map(|entry| (entry.name.clone(), entry.node.to_string())).collect()
}

/// The trace of a job.
pub(crate) fn trace(node: &Node, outer: &Fields<'_>, targets: &[String]) -> Trace {
    let fields = Fields::new(node, "a trace", outer.wrong());
    let mut trace = Trace::blank();
    trace.entries = fields.each("entry").into_iter().map(|node| entry(node, outer, targets)).collect();
    fields.fill(&mut trace);
    if trace.entries.is_empty() == trace.path.is_none() {
        let hint = "say path and format, or write its entries";
        outer.wrong().error(fields.origin(), "a trace has either a path or entries", hint);
    }
    fields.unknown();
    trace
}

pub(super) fn timing(node: &Node) -> Read<Timing> {
    if node.has(&["faster"]) {
        known(node, &["faster"])?;
        return must(node, "faster", number).map(Timing::Scaled);
    }
    choice(&[
        ("as recorded", Timing::AsRecorded),
        ("pauses", Timing::Pauses),
        ("gaps", Timing::Gaps),
        ("no earlier", Timing::NoEarlier),
        ("as fast", Timing::AsFast),
        ("think times", Timing::ThinkTimes),
        ("dependencies", Timing::Dependencies),
        ("depths", Timing::Depths),
    ])(node)
    .map_err(|error| format!("{error}, or {{ faster = 10.0 }}"))
}

fn entry(node: &Node, outer: &Fields<'_>, targets: &[String]) -> TraceEntry {
    let fields = Fields::new(node, "an entry of a trace", outer.wrong());
    let mut entry = TraceEntry::blank();
    entry.target = fields.or("on", |node| index(node, targets, "a target of this job"), 0);
    fields.fill(&mut entry);
    fields.unknown();
    entry
}
