//! The full disclosure: everything that was known about machine, targets, engines and surroundings, as names and values.
//!
//! It is taken from the facts' own names, so that a fact that is added to the model is on the page without being named
//! here. Nothing is left out but what could not be read.

use iodyno_model::{PhaseRecord, Record, Sighting, units};
use serde::Serialize;
use serde_json::Value;

use crate::number;
use crate::shape::Context;

/// A table of names and values.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// What they are about.
    pub title: String,
    pub rows: Vec<(String, String)>,
}

/// Tables about the machine, the ranks and each target.
pub fn surroundings(record: &Record, context: &Context) -> Vec<Facts> {
    let mut tables = vec![table("Machine", &record.machine)];
    if record.world.ranks() > 1 {
        tables.push(table("Ranks", &record.world));
    }
    if let Some(started) = &context.started {
        tables.extend(started.targets.iter().map(|facts| table(&format!("Target {}", facts.target), facts)));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Tables of what the witnesses saw of a phase, and of what its engines told of themselves.
pub fn seen(phase: &PhaseRecord) -> Vec<Facts> {
    let engines = phase.jobs.iter().filter(|job| !job.engine_facts.is_empty()).map(|job| Facts {
        title: format!("Engine {} of {}", job.engine, job.name),
        rows: job.engine_facts.clone(),
    });
    let sightings = phase.sightings.iter().filter(|sighting| !matches!(sighting, Sighting::Target(_)));
    engines.chain(sightings.map(sighting)).filter(|table| !table.rows.is_empty()).collect()
}

fn sighting(sighting: &Sighting) -> Facts {
    match serde_json::to_value(sighting) {
        Ok(Value::Object(fields)) => {
            let (name, value) = fields.into_iter().next().unwrap_or_default();
            Facts { title: words(&name), rows: rows(&value) }
        }
        _ => Facts::default(),
    }
}

fn table(title: &str, facts: &impl Serialize) -> Facts {
    let value = serde_json::to_value(facts).unwrap_or_default();
    Facts { title: title.into(), rows: rows(&value) }
}

fn rows(value: &Value) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    flatten("", value, &mut rows);
    rows
}

/// Names and values of all that is known; lists of pairs are names and values of their own.
fn flatten(name: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            let prefix = if name.is_empty() { String::new() } else { format!("{name} · ") };
            fields.iter().for_each(|(field, value)| flatten(&format!("{prefix}{field}"), value, rows));
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) if items.iter().all(|item| pair(item).is_some()) => {
            rows.extend(items.iter().filter_map(pair));
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(index, item)| {
                flatten(&format!("{name} {}", index + 1), item, rows);
            });
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| text(name, item)).collect();
            rows.push((words(name), items.join(", ")));
        }
        Value::String(empty) if empty.is_empty() => {}
        value => rows.push((words(name), text(name, value))),
    }
}

/// A name with its value, as lists of facts have them.
fn pair(item: &Value) -> Option<(String, String)> {
    match item.as_array()?.as_slice() {
        [Value::String(name), value @ Value::String(_)] => Some((name.clone(), text(name, value))),
        _ => None,
    }
}

/// A field's name as words; the unit stands with the value.
fn words(name: &str) -> String {
    const UNITS: [&str; 6] = ["_bytes", "_ns", "_percent", "_bits", "_ppm", "_unix"];
    let mut name = name.to_string();
    while let Some(bare) = UNITS.iter().find_map(|unit| name.strip_suffix(unit)) {
        name = bare.to_string();
    }
    name.replace('_', " ")
}

fn text(name: &str, value: &Value) -> String {
    let figure = value.as_f64();
    match (value, figure) {
        (Value::Bool(flag), _) => if *flag { "yes" } else { "no" }.into(),
        (Value::String(text), _) => match text.strip_suffix(" bytes").map(str::parse) {
            Some(Ok(bytes)) => units::binary(bytes),
            _ => text.clone(),
        },
        (_, Some(bytes)) if name.ends_with("_bytes") && bytes >= 0.0 => units::binary(bytes as u64),
        (_, Some(ns)) if name.ends_with("_ns") && ns >= 0.0 => number::latency(ns),
        (_, Some(percent)) if name.ends_with("_percent") => number::percent(percent),
        (_, Some(bits)) if name.ends_with("_bits") => format!("{} bit/s", units::count(bits)),
        (_, Some(ppm)) if name.ends_with("_ppm") => format!("{ppm:.2} ppm"),
        (Value::Number(number), _) if number.is_u64() => number::thousands(number.as_u64().unwrap_or(0)),
        (_, Some(figure)) if figure >= 0.0 => number::significant(figure),
        (value, _) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{DeviceActivity, Machine};

    #[test]
    fn facts_are_named_by_themselves() {
        let machine = Machine {
            host: "a <b>".into(),
            memory_bytes: 1 << 30,
            cpus: 2,
            facts: vec![("governor".into(), "performance".into()), ("swap".into(), "4096 bytes".into())],
            ..Machine::default()
        };
        let rows = table("Machine", &machine).rows;
        let of = |name: &str| rows.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((of("host"), of("memory"), of("cpus")), (Some("a <b>"), Some("1 GiB"), Some("2")));
        assert_eq!((of("governor"), of("kernel")), (Some("performance"), None));
        assert_eq!(of("swap"), Some("4 KiB"));
    }

    #[test]
    fn sightings_have_the_name_of_their_kind() {
        let beneath = vec![DeviceActivity { device: "sdb".into(), ..DeviceActivity::default() }];
        let device = DeviceActivity {
            device: "dm-0".into(),
            busy_ns: 1_500_000,
            beneath,
            ..DeviceActivity::default()
        };
        let facts = sighting(&Sighting::Device(device));
        assert_eq!(facts.title, "device");
        assert!(facts.rows.contains(&("busy".into(), "1.50 ms".into())), "{:?}", facts.rows);
        assert!(facts.rows.contains(&("beneath 1 · device".into(), "sdb".into())), "{:?}", facts.rows);
    }
}
