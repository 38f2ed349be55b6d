//! The JSON schemas of `iodyno.record/1` and of its parts that stand alone (a plan, a list of findings), made from the tables
//! of the types that the formats are made of.
//!
//! Format: JSON Schema 2020-12. A field that older documents lack is not required; fields that are not known may come, as
//! later versions add some.

use iodyno_model::document::{RecordDocument, SCHEMA};
use iodyno_model::reflect::{FieldForm, Reflect, TypeShape, TypeTable, Variant};
use iodyno_model::{Finding, Plan};
use serde_json::{Map, Value, json};

/// The record's.
pub fn schema() -> Value {
    document(SCHEMA, RecordDocument::shape())
}

/// The schemas that are published, by the names of their files.
pub fn published() -> Vec<(&'static str, Value)> {
    vec![
        ("record-1.schema.json", schema()),
        ("plan-1.schema.json", document(PLAN, Plan::shape())),
        ("findings-1.schema.json", document(FINDINGS, TypeShape::List(Finding::shape))),
    ]
}

/// The plan of a record, and what `iodyno run` is told.
const PLAN: &str = "iodyno.plan/1";
/// The findings of a record.
const FINDINGS: &str = "iodyno.findings/1";

fn document(title: &str, shape: TypeShape) -> Value {
    let mut definitions = Map::new();
    let mut root = of(shape, &mut definitions);
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = title.into();
    root["$defs"] = definitions.into();
    root
}

fn of(shape: TypeShape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        TypeShape::Bool => json!({ "type": "boolean" }),
        TypeShape::Unsigned(most) => match u64::try_from(most) {
            // What is larger has no exact double, with which many readers compare.
            Ok(most) if most < 1 << 53 => json!({ "type": "integer", "minimum": 0, "maximum": most }),
            _ => json!({ "type": "integer", "minimum": 0 }),
        },
        TypeShape::Signed(_) => json!({ "type": "integer" }),
        TypeShape::Float => json!({ "type": "number" }),
        TypeShape::Text => json!({ "type": "string" }),
        TypeShape::Scalar => json!({ "type": ["boolean", "integer", "string"] }),
        TypeShape::Optional(inner) => json!({ "anyOf": [of(inner(), definitions), { "type": "null" }] }),
        TypeShape::List(inner) => json!({ "type": "array", "items": of(inner(), definitions) }),
        TypeShape::Tuple(items) => {
            let items: Vec<Value> = items.iter().map(|item| of(item(), definitions)).collect();
            json!({ "type": "array", "prefixItems": items, "minItems": items.len(), "maxItems": items.len() })
        }
        TypeShape::Composite(table) => composite(table, definitions),
    }
}

/// A reference to the type's definition, which is made at its first use: a type may contain itself.
fn composite(table: &TypeTable, definitions: &mut Map<String, Value>) -> Value {
    let name = name(table);
    if !definitions.contains_key(&name) {
        definitions.insert(name.clone(), Value::Null);
        let mut definition = match table.is_enum {
            true => variants(table, definitions),
            false => fields(&table.variants[0], definitions),
        };
        describe(&mut definition, table.doc);
        definitions.insert(name.clone(), definition);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A type's name; of one for several types, with the type it is for.
fn name(table: &TypeTable) -> String {
    let inner = |shape: TypeShape| match shape {
        TypeShape::Composite(table) => table.name.to_string(),
        TypeShape::Optional(_) => "optional".into(),
        TypeShape::Unsigned(_) => "number".into(),
        _ => "value".into(),
    };
    match table.name {
        "PerDirection" => format!("PerDirection-{}", inner((table.variants[0].members[0].shape)())),
        name => name.into(),
    }
}

/// Units are words; fields of others lie below the variant's word.
fn variants(table: &TypeTable, definitions: &mut Map<String, Value>) -> Value {
    let units = table.variants.iter().filter(|variant| variant.form == FieldForm::Unit);
    let words: Vec<&str> = units.map(|variant| variant.word).collect();
    let mut choices = if words.is_empty() { Vec::new() } else { vec![json!({ "enum": words })] };
    for variant in table.variants.iter().filter(|variant| variant.form != FieldForm::Unit) {
        let mut content = match variant.form {
            FieldForm::Named => fields(variant, definitions),
            FieldForm::Newtype => of((variant.members[0].shape)(), definitions),
            FieldForm::Tuple | FieldForm::Unit => {
                let members: Vec<Value> =
                    variant.members.iter().map(|member| of((member.shape)(), definitions)).collect();
                json!({ "type": "array", "prefixItems": members, "minItems": members.len() })
            }
        };
        describe(&mut content, variant.doc);
        choices.push(json!({
            "type": "object",
            "properties": { variant.word: content },
            "required": [variant.word],
            "additionalProperties": false,
        }));
    }
    match choices.len() {
        1 => choices.remove(0),
        _ => json!({ "oneOf": choices }),
    }
}

fn fields(variant: &Variant, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for member in variant.members {
        let mut property = of((member.shape)(), definitions);
        describe(&mut property, member.doc);
        properties.insert(member.name.into(), property);
    }
    let required: Vec<&str> =
        variant.members.iter().filter(|member| member.is_required).map(|member| member.name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn describe(schema: &mut Value, doc: &str) {
    if let (Some(schema), false) = (schema.as_object_mut(), doc.is_empty()) {
        schema.insert("description".into(), doc.into());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every type that a shape is made of, by the name of its definition.
    fn types(shape: TypeShape, found: &mut HashMap<String, &'static str>) {
        match shape {
            TypeShape::Optional(inner) | TypeShape::List(inner) => types(inner(), found),
            TypeShape::Tuple(items) => items.iter().for_each(|item| types(item(), found)),
            TypeShape::Composite(table) => {
                if let Some(doc) = found.insert(name(table), table.doc) {
                    return assert_eq!(doc, table.doc, "two types are named {}", name(table));
                }
                let members = table.variants.iter().flat_map(|variant| variant.members);
                members.for_each(|member| types((member.shape)(), found));
            }
            _ => {}
        }
    }

    #[test]
    fn each_definition_is_of_one_type() {
        let mut found = HashMap::new();
        types(RecordDocument::shape(), &mut found);
        let schema = schema();
        assert_eq!(schema["$defs"].as_object().unwrap().len(), found.len());
        assert_eq!(schema["$defs"]["JobDocument"]["required"][2], "comparable");
        assert_eq!(schema["$defs"]["Verb"]["enum"][0], "read");
    }
}
