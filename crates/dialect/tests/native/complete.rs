//! Nothing of a plan is invisible: whatever is changed in it, its print changes.
//!
//! The plan is `everything.toml`, which sets every key; the changes are made to its serialised form, leaf by leaf.

use std::collections::BTreeMap;

use iodyno_model::Plan;
use iodyno_report::plan::print;
use serde_json::Value;

use super::{parse, root};

/// Leaves whose change may leave the print as it is, and why.
const EXEMPT: &[(&str, &str)] = &[
    ("/origin", "where it was written is no part of what is done"),
    ("/trace/replay/facts", "what the trace's file says of itself is found again by reading it"),
];

/// Each leaf's pointer.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| leaves(value, &format!("{at}/{key}"), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| leaves(value, &format!("{at}/{index}"), found));
        }
        Value::Null => {}
        _ => found.push(at.into()),
    }
}

/// A different value of the same kind.
fn changed(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(flag) => vec![Value::Bool(!flag)],
        Value::Number(number) if number.is_u64() => {
            vec![Value::from(number.as_u64().unwrap().checked_add(2).unwrap_or(1))]
        }
        Value::Number(number) if number.is_i64() => vec![Value::from(number.as_i64().unwrap() - 1)],
        Value::Number(number) => vec![Value::from(number.as_f64().unwrap() + 1.5)],
        Value::String(text) => vec![Value::from(format!("{text}x"))],
        _ => Vec::new(),
    }
}

#[test]
fn every_change_of_a_plan_changes_its_print() {
    let plan = parse(&root().join("golden/native/everything.toml")).unwrap();
    let stored = serde_json::to_value(&plan).unwrap();
    let printed = print(&plan);
    let mut pointers = Vec::new();
    leaves(&stored, "", &mut pointers);
    let mut visible: BTreeMap<String, bool> = BTreeMap::new();
    for pointer in pointers.iter().filter(|pointer| !EXEMPT.iter().any(|(part, _)| pointer.contains(part))) {
        for value in changed(stored.pointer(pointer).unwrap()) {
            let mut other = stored.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            let Ok(other) = serde_json::from_value::<Plan>(other) else { continue };
            *visible.entry(kind(pointer)).or_default() |= print(&other) != printed;
        }
    }
    assert!(visible.len() > 150, "only {} kinds of leaves could be changed", visible.len());
    let invisible: Vec<_> = visible.iter().filter(|(_, seen)| !**seen).map(|(kind, _)| kind).collect();
    assert!(invisible.is_empty(), "no change of these shows: {invisible:#?}");
}

/// A pointer without its indices and directions: a leaf may mean nothing in one place (the block of trims in a plan
/// that trims nothing) and must show in another.
fn kind(pointer: &str) -> String {
    let plain = |part: &&str| part.parse::<usize>().is_err();
    let parts = pointer.split('/').filter(plain);
    parts
        .map(|part| if matches!(part, "read" | "write" | "trim") { "*" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

/// Keys of a plan that `everything.toml` leaves at their default, found by comparing with an empty document.
#[test]
fn everything_sets_every_field_of_a_job() {
    let plan = parse(&root().join("golden/native/everything.toml")).unwrap();
    let job = serde_json::to_value(&plan.phases[0].jobs[0]).unwrap();
    let plain = iodyno_model::Job::new("", "", Vec::new(), plan.phases[0].jobs[1].workload.clone());
    let plain = serde_json::to_value(plain).unwrap();
    let same: Vec<_> =
        job.as_object().unwrap().iter().filter(|(key, value)| plain[*key] == **value).collect();
    assert!(same.is_empty(), "still at its default: {same:?}");
}
