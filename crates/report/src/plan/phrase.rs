//! What a print says of a value, by the phrases that stand where the model declares its fields and variants.
//!
//! `{}` in a phrase is the value, in the unit of the field's name. `{worker}` counts it: `1 worker`, `2 workers`. Items of
//! a list are joined by what stands between the braces. What is at its default says nothing.

use iodyno_model::reflect::{Composite, Member, Reflect, ReflectRef};

use super::exact::{bytes, many, number, time};

/// What the fields of these names say, in this order.
///
/// # Panics
/// Where there is no such field.
pub(crate) fn phrases(value: &dyn Reflect, names: &str) -> Vec<String> {
    let ReflectRef::Composite(value) = value.view() else { panic!("only structs have fields") };
    let members = &value.table().variants[0].members;
    let index = |name: &str| members.iter().position(|member| member.name == name);
    let phrases_of = |name: &str| {
        let index = index(name).unwrap_or_else(|| panic!("{} has no field {name}", value.table().name));
        field_phrases(value.field(index), &members[index])
    };
    names.split(' ').flat_map(phrases_of).collect()
}

/// What an enum's variant says; nothing where it is the usual one.
pub(crate) fn word(value: &dyn Reflect) -> String {
    match value.view() {
        ReflectRef::Composite(value) => variant(value),
        _ => panic!("only enums have variants"),
    }
}

/// What a field says.
fn field_phrases(field: &dyn Reflect, member: &Member) -> Vec<String> {
    let is_set = match field.view() {
        ReflectRef::Bool(flag) => flag,
        ReflectRef::Unsigned(number) => number > 0,
        ReflectRef::Text(text) => !text.is_empty(),
        ReflectRef::List(list) => !list.is_empty(),
        ReflectRef::Optional(value) => {
            return value.get().map_or(Vec::new(), |value| set_phrases(value, member));
        }
        ReflectRef::Composite(_) => return set_phrases(field, member),
        _ => true,
    };
    if is_set { vec![render(member.phrase, field, member)] } else { Vec::new() }
}

/// What a field says that is a struct, an enum or not none.
fn set_phrases(field: &dyn Reflect, member: &Member) -> Vec<String> {
    match field.view() {
        ReflectRef::Composite(value) if !value.table().is_enum && !member.phrase.contains('{') => {
            let words = struct_phrases(value);
            if words.is_empty() { vec![member.phrase.into()] } else { words }
        }
        ReflectRef::Composite(value) if value.table().is_enum && member.phrase.is_empty() => {
            Some(variant(value)).filter(|text| !text.is_empty()).into_iter().collect()
        }
        ReflectRef::Composite(value) if value.table().is_enum && text(field, member, "").is_empty() => {
            Vec::new()
        }
        _ => vec![render(member.phrase, field, member)],
    }
}

/// What all fields of a struct say.
fn struct_phrases(value: &dyn Composite) -> Vec<String> {
    let members = value.table().variants[0].members.iter().enumerate();
    members.flat_map(|(index, member)| field_phrases(value.field(index), member)).collect()
}

fn variant(value: &dyn Composite) -> String {
    let variant = &value.table().variants[value.variant()];
    match variant.members {
        [] => variant.phrase.into(),
        [first, ..] => render(variant.phrase, value.field(0), first),
    }
}

/// A phrase with the value in its braces; each item of a tuple has braces of its own.
fn render(phrase: &str, value: &dyn Reflect, member: &Member) -> String {
    let Some((before, rest)) = phrase.split_once('{') else { return phrase.into() };
    let (hint, after) = rest.split_once('}').unwrap_or(("", rest));
    match value.view() {
        ReflectRef::Tuple(items) => {
            let first = text(items.item(0), member, hint);
            format!("{before}{first}{}", render(after, items.item(1), member))
        }
        _ => format!("{before}{}{after}", text(value, member, hint)),
    }
}

fn text(value: &dyn Reflect, member: &Member, hint: &str) -> String {
    match value.view() {
        ReflectRef::Unsigned(count) if !hint.is_empty() && hint != " " && hint != "," => many(count, hint),
        ReflectRef::Unsigned(ns) if member.name.ends_with("_ns") => time(ns),
        ReflectRef::Unsigned(size) if member.name.ends_with("bytes") || member.form == "bytes" => bytes(size),
        ReflectRef::Unsigned(bits) if member.form == "permissions" => format!("{bits:o}"),
        ReflectRef::Unsigned(count) => count.to_string(),
        ReflectRef::Signed(count) => count.to_string(),
        ReflectRef::Float(value) => number(value),
        ReflectRef::Text(text) => text.into(),
        ReflectRef::List(list) => {
            let items: Vec<_> = (0..list.len()).map(|index| text(list.item(index), member, "")).collect();
            items.join(if hint.is_empty() { ", " } else { hint })
        }
        ReflectRef::Composite(value) if !value.table().is_enum => struct_phrases(value).join(", "),
        ReflectRef::Composite(value) => {
            let is_named = matches!(value.table().name, "Verb" | "WriteLife");
            let key = || value.table().variants[value.variant()].key.replace(' ', "_");
            if is_named { key() } else { variant(value) }
        }
        _ => String::new(),
    }
}
