//! Files of simulated devices, and `device` in a plan: a name of those that come with the program, or the device itself.
//!
//! A part is a table of its kind: `[part.NAME.disk]`. What a part stands in front of is said there: `over = "NAME"`.

use iodyno_model::reflect::{Reflect, ReflectMut};
use iodyno_model::{Device, DevicePart, Diagnostic, PartKind};

use super::fields::{Fields, Wrong, suggestion};
use super::tree::{self, Entry, Node};
use super::value::text;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../devices/", $name, ".toml")))),*]
    };
}

/// The devices that come with the program: names and files, in order of their names.
pub const SHIPPED: &[(&str, &str)] = shipped![
    "cloud-6000",
    "cloud-6000-512k",
    "cloud-burst",
    "cloud-from-snapshot",
    "cluster-100",
    "cluster-6-erasure-slow",
    "hdd-7200",
    "hdd-7200-cached",
    "hdd-7200-span",
    "hdd-7200x12-raid0",
    "hdd-8-raid5",
    "hdd-8-raid6-rebuilding",
    "nfs-server",
    "nvme-ssd",
    "nvme-ssd-worn",
    "pcie-ssd-compared",
    "sas-15k-compared",
    "sata-7200-compared",
    "textbook-7200",
    "tiered-ssd-hdd",
];

/// The device that a file's text says; `path` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it, by line.
pub fn parse(text: &str, path: &str) -> Result<Device, Vec<Diagnostic>> {
    let document = tree::parse(text, path)?;
    let wrong = Wrong::default();
    let device = read(&document, "", &wrong);
    let list = wrong.into_list();
    if list.is_empty() { Ok(device) } else { Err(list) }
}

/// A device that comes with the program.
///
/// # Errors
/// There is none of that name: which there are, the nearest first.
pub fn named(name: &str) -> Result<Device, String> {
    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let Some((name, text)) = SHIPPED.iter().find(|(known, _)| *known == name) else {
        return Err(format!("there is no device of that name; {}", suggestion(name, &names)));
    };
    parse(text, &format!("devices/{name}.toml"))
        .map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The device of a plan: a name, or a table.
pub(super) fn of_plan(node: &Node, wrong: &Wrong) -> Option<Device> {
    if node.word().is_none() {
        return Some(read(node, "device", wrong));
    }
    match text(node).and_then(|name| named(&name)) {
        Ok(device) => Some(device),
        Err(message) => {
            let (message, hint) = message.split_once("; ").unwrap_or((&message, ""));
            let hint = if hint.is_empty() { "write [device] with [device.part.NAME.KIND]" } else { hint };
            wrong.error(&node.origin, format!("`device = {node}`: {message}"), hint);
            None
        }
    }
}

fn read(node: &Node, name: &str, wrong: &Wrong) -> Device {
    let before = wrong.count();
    let fields = Fields::new(node, "a device", wrong);
    let mut device = Device { name: name.into(), origin: node.origin.clone(), ..Device::default() };
    fields.fill(&mut device);
    device.parts = fields.named("part").iter().filter_map(|entry| part(entry, wrong)).collect();
    fields.unknown();
    // What could not be read would be missed as well.
    if wrong.count() == before {
        if device.name.is_empty() {
            wrong.error(&node.origin, "the device has no name", "say name = \"NAME\"");
        }
        device.problems().into_iter().for_each(|problem| wrong.add(problem));
    }
    device
}

/// One part, of the one kind that its table has.
fn part(entry: &Entry, wrong: &Wrong) -> Option<DevicePart> {
    let kinds = entry.node.entries();
    let [kind] = kinds else {
        let message = format!(
            "part `{}` is {}",
            entry.name,
            if kinds.is_empty() { "of no kind" } else { "of several kinds" }
        );
        let hint = format!("write [part.{}.KIND] with one of {}", entry.name, PartKind::WORDS.join(", "));
        wrong.error(&entry.origin, message, hint);
        return None;
    };
    let Some(index) = PartKind::WORDS.iter().position(|word| *word == kind.name) else {
        let message = format!("`{}`: there is no such kind of part", kind.name);
        wrong.error(&kind.origin, message, suggestion(&kind.name, &PartKind::WORDS));
        return None;
    };
    let mut found = PartKind::default();
    if let ReflectMut::Composite(slot) = found.slot() {
        slot.set_variant(index);
        let what = format!("a part of kind {}", kind.name);
        let fields = Fields::new(&kind.node, &what, wrong);
        fields.fill(slot.field_mut(0));
        fields.unknown();
    }
    Some(DevicePart { name: entry.name.clone(), kind: found, origin: kind.origin.clone() })
}
