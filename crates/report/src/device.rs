//! A simulated device as text: the file that says it, the lines of a printed plan, and what its parts did.
//!
//! What is at its default says nothing, so two devices that read alike behave alike.

use iodyno_model::reflect::{Composite, Member, Reflect, ReflectMut, ReflectRef};
use iodyno_model::{Device, DevicePart, PartKind, PartRecord};

use crate::number;
use crate::paint::Paint;
use crate::table::Table;

/// Longer lists are counted in a line.
const LIST_IN_A_LINE: usize = 8;

/// The device as its file: TOML that reads back as the same device.
pub fn toml(device: &Device) -> String {
    let mut text = format!("name = {}\n", quoted(&device.name));
    let words =
        [("about", Some(&device.about)), ("source", Some(&device.source)), ("entry", device.entry.as_ref())];
    for (key, word) in words {
        if let Some(word) = word.filter(|word| !word.is_empty()) {
            text.push_str(&format!("{key} = {}\n", quoted(word)));
        }
    }
    for part in &device.parts {
        text.push_str(&format!("\n[part.{}.{}]\n", key(&part.name), part.kind.word()));
        for (key, value) in figures(&part.kind) {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

/// A part in one line: `spindle: disk, rpm 7200`.
pub fn line(part: &DevicePart) -> String {
    let mut text = format!("{}: {}", part.name, part.kind.word());
    for (key, value) in figures(&part.kind) {
        let key = key.replace('_', " ");
        match value.strip_prefix('[').map(|list| list.split(", ").count()) {
            // A distribution is no sentence.
            Some(many) if many > LIST_IN_A_LINE => text.push_str(&format!(", {many} {key}")),
            _ => text.push_str(&format!(", {key} {}", value.trim_matches('"'))),
        }
    }
    text
}

/// What the parts of a device did in a phase, as a table with a line for what they counted besides.
pub fn table(parts: &[PartRecord], paint: Paint) -> String {
    let headings = ["part", "kind", "requests", "utilised", "busiest", "queue", "response"];
    let mut table = Table::new(2, &headings);
    let mut counted = String::new();
    for part in parts {
        let many = if part.instances > 1 {
            format!("{} × {}", part.instances, part.kind)
        } else {
            part.kind.clone()
        };
        let percent = |share: f64| format!("{} %", number::significant(share * 100.0));
        table.row(&[
            part.name.clone(),
            many,
            number::thousands(part.requests),
            percent(part.utilisation),
            percent(part.busiest),
            number::significant(part.queue),
            number::latency(part.response_ns),
        ]);
        let counts = part.counts.iter().filter(|count| count.value != 0.0);
        let counts: Vec<_> =
            counts.map(|count| format!("{} {}", count.name, number::significant(count.value))).collect();
        if !counts.is_empty() {
            counted.push_str(&format!("  {}: {}\n", part.name, counts.join(", ")));
        }
    }
    if table.is_empty() { String::new() } else { format!("{}{counted}", table.text(2, paint)) }
}

/// The keys of a part that are not at their defaults, with their values as they are written.
fn figures(kind: &PartKind) -> Vec<(&'static str, String)> {
    let ReflectRef::Composite(kind) = kind.view() else { return Vec::new() };
    let mut usual = PartKind::default();
    let ReflectMut::Composite(slot) = usual.slot() else { return Vec::new() };
    slot.set_variant(kind.variant());
    let (ReflectRef::Composite(found), ReflectRef::Composite(usual)) =
        (kind.field(0).view(), slot.field(0).view())
    else {
        return Vec::new();
    };
    let members = found.table().variants[0].members.iter().enumerate();
    let figure = |(index, member): (usize, &'static Member)| {
        let value = written(found.field(index), member);
        (value != written(usual.field(index), member)).then_some((member.key, value))
    };
    members.filter_map(figure).collect()
}

/// A value as a file says it.
fn written(value: &dyn Reflect, member: &Member) -> String {
    match value.view() {
        ReflectRef::Unsigned(ns) if member.name.ends_with("_ns") => quoted(&in_unit(ns, TIMES)),
        ReflectRef::Unsigned(bytes) if member.name.ends_with("bytes") => quoted(&in_unit(bytes, SIZES)),
        ReflectRef::Unsigned(rate) if member.form == "bytes per second" => {
            quoted(&format!("{}/s", in_unit(rate, RATES)))
        }
        ReflectRef::Unsigned(number) => number.to_string(),
        ReflectRef::Float(share) if member.name.ends_with("percent") => quoted(&format!("{share}%")),
        ReflectRef::Float(number) => number.to_string(),
        ReflectRef::Bool(flag) => flag.to_string(),
        ReflectRef::Text(text) => quoted(text),
        ReflectRef::Composite(value) => word(value),
        ReflectRef::List(list) => {
            let items: Vec<_> = (0..list.len()).map(|index| written(list.item(index), member)).collect();
            format!("[{}]", items.join(", "))
        }
        ReflectRef::Optional(value) => value.get().map_or_else(String::new, |value| written(value, member)),
        _ => String::new(),
    }
}

/// A variant by its key; one that is a number stands without quotes.
fn word(value: &dyn Composite) -> String {
    let key = value.table().variants[value.variant()].key;
    if key.parse::<u64>().is_ok() { key.into() } else { quoted(&key.replace(' ', "_")) }
}

const TIMES: &[(u64, &str)] = &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
const SIZES: &[(u64, &str)] = &[
    (1 << 40, "TiB"),
    (1_000_000_000_000, "TB"),
    (1 << 30, "GiB"),
    (1_000_000_000, "GB"),
    (1 << 20, "MiB"),
    (1_000_000, "MB"),
    (1 << 10, "KiB"),
    (1, "B"),
];
const RATES: &[(u64, &str)] =
    &[(1_000_000_000, "GB"), (1 << 20, "MiB"), (1_000_000, "MB"), (1 << 10, "KiB"), (1, "B")];

/// In the first unit that divides it.
fn in_unit(value: u64, units: &[(u64, &str)]) -> String {
    let found = units.iter().find(|(unit, _)| value > 0 && value.is_multiple_of(*unit));
    let (unit, name) = found.copied().unwrap_or((1, units[units.len() - 1].1));
    format!("{}{name}", value / unit)
}

fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|letter| match letter {
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
            letter => letter.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// A bare key where TOML allows it.
fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.into() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use iodyno_model::device::PartCount;

    use super::*;

    #[test]
    fn what_parts_did_is_a_table() {
        let array = PartRecord {
            name: "array".into(),
            kind: "raid".into(),
            instances: 1,
            requests: 81_234,
            utilisation: 0.813,
            busiest: 0.813,
            queue: 4.0,
            response_ns: 732_000.0,
            counts: vec![PartCount { name: "writes answered from memory".into(), value: 81_230.0 }],
            ..PartRecord::default()
        };
        let disks = PartRecord {
            name: "disk".into(),
            kind: "disk".into(),
            instances: 12,
            counts: vec![],
            ..array.clone()
        };
        assert_eq!(
            table(&[array, disks], Paint::default()),
            "  part   kind       requests  utilised  busiest  queue  response\n  \
             array  raid         81,234    81.3 %   81.3 %   4.00    732 µs\n  \
             disk   12 × disk    81,234    81.3 %   81.3 %   4.00    732 µs\n  \
             array: writes answered from memory 81,230\n"
        );
        assert_eq!(table(&[], Paint::default()), "");
    }
}
