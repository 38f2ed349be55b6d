//! Values and inline tables to fields of the model, by the model's own tables.
//!
//! A field's key, unit and defaults stand where it is declared. What no table can tell has a reading function, found by
//! the field's form or its type. The first thing that is wrong ends the reading of a value.

use std::any::Any;

use iodyno_model::reflect::{Composite, Member, Reflect, ReflectMut, Variant};
use iodyno_model::{
    Content, ErrorPolicy, Every, Extent, FileOrder, Item, Offset, Per, Pick, Placement, Rate, Repeat,
    SharedUse, Size, Stamp, Steady, Think, Timing, Verb, Window,
};

use super::fields::suggestion;
use super::tree::{Node, Value};
use super::value::{self, Read};
use super::{job, pace, pattern, payload, script, target};

/// The value of a key that must be there.
pub(crate) fn must<T>(node: &Node, name: &str, read: impl FnOnce(&Node) -> Read<T>) -> Read<T> {
    let entry = node.entries().iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("`{node}`: `{name}` is missing"))?;
    read(&entry.node).map_err(|error| format!("`{name}`: {error}"))
}

/// The value of a key, or another one.
pub(crate) fn may<T>(node: &Node, name: &str, read: impl FnOnce(&Node) -> Read<T>, other: T) -> Read<T> {
    match node.has(&[name]) {
        true => must(node, name, read),
        false => Ok(other),
    }
}

/// Refuses keys that mean nothing here.
pub(crate) fn known(node: &Node, keys: &[&str]) -> Read<()> {
    match node.entries().iter().find(|entry| !keys.contains(&entry.name.as_str())) {
        Some(entry) => Err(format!("`{}`: {}", entry.name, suggestion(&entry.name, keys))),
        None => Ok(()),
    }
}

/// A list of tables, at least one.
pub(crate) fn each<T>(node: &Node, read: impl Fn(&Node) -> Read<T>) -> Read<Vec<T>> {
    match &node.value {
        Value::List(items) if !items.is_empty() => items.iter().map(read).collect(),
        _ => Err("expected a list of tables".into()),
    }
}

/// A value of the model, by its table alone.
pub(crate) fn record<T: Reflect>(node: &Node) -> Read<T> {
    let mut value = T::blank();
    assign(node, &mut value, &Member::PLAIN)?;
    Ok(value)
}

/// Fills in a struct from a table, which may have other keys besides; a value that is no table is that of its bare field.
pub(crate) fn table(node: &Node, slot: &mut dyn Composite, besides: &[&str]) -> Read<()> {
    let members = slot.table().variants[0].members;
    if node.word().is_some()
        && let Some(index) = members.iter().position(|member| member.is_bare)
    {
        return assign(node, slot.field_mut(index), &members[index]);
    }
    let keys: Vec<_> = members.iter().map(|member| member.key).filter(|key| !key.is_empty()).collect();
    known(node, &[&keys, besides].concat())?;
    for (index, member) in members.iter().enumerate() {
        if !member.key.is_empty() && (member.is_needed || node.has(&[member.key])) {
            must(node, member.key, |node| assign(node, slot.field_mut(index), member))?;
        }
    }
    Ok(())
}

/// Fills in a field.
pub(crate) fn assign(node: &Node, field: &mut dyn Reflect, member: &Member) -> Read<()> {
    let slot = match field.slot() {
        ReflectMut::Optional(slot) => {
            return assign(node, slot.fill(), member).inspect_err(|_| slot.clear());
        }
        slot => slot,
    };
    let name = match &slot {
        ReflectMut::Composite(slot) if member.form.is_empty() => slot.table().name,
        _ => member.form,
    };
    if let Some((_, read)) = FORMS.iter().find(|(form, _)| *form == name) {
        return read(node, slot.any().expect("text has no form"));
    }
    match slot {
        ReflectMut::Bool(slot) => *slot = value::flag(node)?,
        ReflectMut::U8(slot) => *slot = value::whole_percent(node)?,
        ReflectMut::U32(slot) if member.is_positive => *slot = value::small_count(node)?,
        ReflectMut::U32(slot) => *slot = value::small(node)?,
        ReflectMut::U64(slot) => *slot = amount(node, member)?,
        ReflectMut::I32(slot) => *slot = job::error_number(node)?,
        ReflectMut::I64(slot) => *slot = value::signed(node)?,
        ReflectMut::F64(slot) if member.name.ends_with("percent") => *slot = value::percent(node)?,
        ReflectMut::F64(slot) => *slot = value::number(node)?,
        ReflectMut::Text(slot) => *slot = value::text(node)?,
        ReflectMut::List(slot) => {
            slot.clear();
            match &node.value {
                Value::List(items) => items.iter().try_for_each(|item| assign(item, slot.push(), member))?,
                _ => assign(node, slot.push(), member)?,
            }
        }
        ReflectMut::Composite(slot) if slot.table().name == "PerDirection" => directed(node, slot, member)?,
        ReflectMut::Composite(slot) if member.form == "flag" => {
            slot.set_variant(usize::from(value::flag(node)?));
        }
        ReflectMut::Composite(slot) if slot.table().is_enum => variant(node, slot)?,
        ReflectMut::Composite(slot) => table(node, slot, &[])?,
        _ => unreachable!("{} has no form", member.name),
    }
    Ok(())
}

/// A whole number; its unit is the end of the field's name.
fn amount(node: &Node, member: &Member) -> Read<u64> {
    let read = match member.name {
        name if name.ends_with("_ns") && member.is_positive => value::some_time,
        name if name.ends_with("_ns") => value::time,
        name if name.ends_with("bytes") && member.is_positive => value::some_bytes,
        name if name.ends_with("bytes") => value::bytes,
        _ if member.is_positive => value::count,
        _ => value::whole_number,
    };
    read(node)
}

/// One value for all directions, or a table of `read`, `write`, `trim`.
fn directed(node: &Node, slot: &mut dyn Composite, member: &Member) -> Read<()> {
    let names = slot.table().variants[0].names;
    if !node.has(names) {
        return (0..names.len()).try_for_each(|index| assign(node, slot.field_mut(index), member));
    }
    node.entries().iter().try_for_each(|entry| match names.iter().position(|name| *name == entry.name) {
        Some(index) => assign(&entry.node, slot.field_mut(index), member),
        None => Err(format!("`{}`: expected read, write or trim", entry.name)),
    })
}

/// One of an enum's words, blanks and underscores being the same; or a table of one key, a variant's with its value.
fn variant(node: &Node, slot: &mut dyn Composite) -> Read<()> {
    let all = slot.table().variants;
    let variants = || all.iter().enumerate().filter(|(_, variant)| !variant.key.is_empty());
    let is_word = |(_, variant): &(usize, &Variant)| variant.members.is_empty();
    let keys: Vec<_> = variants().filter(|one| !is_word(one)).map(|(_, variant)| variant.word).collect();
    if node.word().is_some() || keys.is_empty() {
        let word = node.word().map(|word| word.replace('_', " "));
        let found = variants().filter(is_word).find(|(_, variant)| Some(variant.key) == word.as_deref());
        let (index, _) = found.ok_or_else(|| expected(variants().filter(is_word).map(|(_, one)| one.key)))?;
        slot.set_variant(index);
        return Ok(());
    }
    known(node, &keys)?;
    // What is missing is the last.
    let key = keys.iter().find(|key| node.has(&[key])).or(keys.last()).expect("there are keys");
    let (index, variant) = variants().find(|(_, variant)| variant.word == *key).expect("it was one of them");
    slot.set_variant(index);
    must(node, key, |node| assign(node, slot.field_mut(0), &variant.members[0]))
}

/// The message that lists words; of a yes and a no, the yes comes first.
pub(crate) fn expected<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<_> = words.map(|word| format!("\"{word}\"")).collect();
    if words.get(1).is_some_and(|second| second == "\"true\"") {
        words.swap(0, 1);
    }
    format!("expected one of {}", words.join(", "))
}

type Form = (&'static str, fn(&Node, &mut dyn Any) -> Read<()>);

/// A reading function for values of one type.
macro_rules! form {
    ($name:literal, $kind:ty, $read:expr) => {
        ($name, |node, slot| {
            *slot.downcast_mut::<$kind>().expect($name) = $read(node)?;
            Ok(())
        })
    };
}

/// Fields by their form, types by their name.
const FORMS: &[Form] = &[
    form!("bits", u64, value::bits),
    form!("bytes", u64, value::bytes),
    form!("bytes per second", u64, value::byte_rate),
    form!("cpus", Vec<u32>, job::cpus),
    form!("every", Vec<Every>, pattern::every),
    form!("gates", Vec<SharedUse>, value::list(pace::gate)),
    form!("hint", u16, job::priority_hint),
    form!("io priority", (u8, u8), job::io_priority),
    form!("limit", f64, pace::steady_limit),
    form!("nice", i32, job::nice),
    form!("permissions", u32, target::permissions),
    form!("sync verb", Verb, pace::sync),
    form!("Content", Content, payload::content),
    form!("ErrorPolicy", ErrorPolicy, job::errors),
    form!("Extent", Extent, value::extent),
    form!("FileOrder", FileOrder, pattern::order),
    form!("Item", Item, script::item),
    form!("Offset", Offset, script::offset),
    form!("Per", Per, pace::per),
    form!("Pick", Pick, pattern::pick),
    form!("Placement", Placement, job::placement),
    form!("Rate", Rate, value::rate),
    form!("Repeat", Repeat, super::repeat),
    form!("Size", Size, pattern::size),
    form!("Stamp", Stamp, payload::stamp),
    form!("Steady", Steady, pace::steady),
    form!("Think", Think, pace::think),
    form!("Timing", Timing, script::timing),
    form!("Verb", Verb, value::verb),
    form!("Window", Window, pattern::window),
];
