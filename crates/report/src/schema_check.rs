//! Whether a document follows a schema, for the keywords that our schemas use (JSON Schema 2020-12).
//!
//! It refuses to know any other keyword: one that comes in has to be understood here first.

use serde_json::Value;

/// Keywords that say nothing about a document.
const SAYING: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Holds a document against a schema.
///
/// # Errors
/// The first place that does not follow, and why.
pub fn follows(schema: &Value, document: &Value) -> Result<(), String> {
    held(schema, schema, document, "")
}

fn held(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{}: {what}", if place.is_empty() { "/" } else { place }));
    let keywords = schema.as_object().ok_or_else(|| format!("{place}: the schema is no object"))?;
    for (keyword, wanted) in keywords.iter().filter(|(keyword, _)| !SAYING.contains(&keyword.as_str())) {
        let all = || wanted.as_array().into_iter().flatten();
        match keyword.as_str() {
            "$ref" => {
                let name = wanted.as_str().and_then(|path| path.strip_prefix("#/$defs/")).unwrap_or_default();
                held(root, &root["$defs"][name], value, place)?;
            }
            "type" if !all().chain(wanted.as_str().map(|_| wanted)).any(|one| is_of_type(value, one)) => {
                return wrong(format!("is not of type {wanted}"));
            }
            "enum" if !all().any(|one| one == value) => return wrong(format!("{value} is none of {wanted}")),
            "minimum" if value.as_f64() < wanted.as_f64() => {
                return wrong(format!("{value} is less than {wanted}"));
            }
            "maximum" if value.as_f64() > wanted.as_f64() => {
                return wrong(format!("{value} is more than {wanted}"));
            }
            "minItems" if items(value) < wanted.as_u64() => {
                return wrong(format!("fewer than {wanted} items"));
            }
            "maxItems" if items(value) > wanted.as_u64() => {
                return wrong(format!("more than {wanted} items"));
            }
            "anyOf" | "oneOf" => {
                let fits = all().filter(|one| held(root, one, value, place).is_ok()).count();
                if fits == 0 || (fits > 1 && keyword == "oneOf") {
                    return wrong(format!("follows {fits} of the choices"));
                }
            }
            "items" => each(value, |index, item| held(root, wanted, item, &format!("{place}/{index}")))?,
            "prefixItems" => each(value, |index, item| match wanted.get(index) {
                Some(one) => held(root, one, item, &format!("{place}/{index}")),
                None => Ok(()),
            })?,
            "required" => {
                let missing = all()
                    .filter_map(Value::as_str)
                    .find(|name| value.is_object() && value.get(name).is_none());
                if let Some(name) = missing {
                    return wrong(format!("`{name}` is missing"));
                }
            }
            "properties" => members(value, |name, member| match wanted.get(name) {
                Some(one) => held(root, one, member, &format!("{place}/{name}")),
                None => Ok(()),
            })?,
            "additionalProperties" => members(value, |name, _| match schema["properties"].get(name) {
                None => Err(format!("{place}: `{name}` is not known")),
                Some(_) => Ok(()),
            })?,
            "type" | "enum" | "minimum" | "maximum" | "minItems" | "maxItems" => {}
            other => return wrong(format!("the keyword `{other}` is not understood")),
        }
    }
    Ok(())
}

fn items(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn each(value: &Value, mut check: impl FnMut(usize, &Value) -> Result<(), String>) -> Result<(), String> {
    value.as_array().into_iter().flatten().enumerate().try_for_each(|(index, item)| check(index, item))
}

fn members(value: &Value, mut check: impl FnMut(&str, &Value) -> Result<(), String>) -> Result<(), String> {
    value.as_object().into_iter().flatten().try_for_each(|(name, member)| check(name, member))
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_held_against_each_keyword() {
        let schema = json!({
            "$ref": "#/$defs/A",
            "$defs": { "A": {
                "type": "object",
                "required": ["n"],
                "properties": {
                    "n": { "type": "integer", "minimum": 1, "maximum": 3 },
                    "w": { "oneOf": [{ "enum": ["x"] }, { "type": "object", "properties": { "y": {} }, "additionalProperties": false }] },
                    "l": { "type": "array", "prefixItems": [{ "type": "string" }], "minItems": 1, "maxItems": 1 },
                    "o": { "anyOf": [{ "type": "number" }, { "type": "null" }] },
                },
            } },
        });
        for good in [
            json!({ "n": 1 }),
            json!({ "n": 3, "w": "x", "l": ["a"], "o": null }),
            json!({ "n": 2, "w": { "y": 1 }, "more": 1 }),
        ] {
            assert_eq!(follows(&schema, &good), Ok(()));
        }
        for (bad, place) in [
            (json!({}), "`n` is missing"),
            (json!({ "n": 0 }), "/n: 0 is less"),
            (json!({ "n": 4 }), "/n: 4 is more"),
            (json!({ "n": 1.5 }), "/n: is not of type"),
            (json!({ "n": 1, "w": "z" }), "/w: follows 0"),
            (json!({ "n": 1, "w": { "z": 1 } }), "/w: follows 0"),
            (json!({ "n": 1, "l": [1] }), "/l/0: is not of type"),
            (json!({ "n": 1, "l": [] }), "/l: fewer"),
            (json!({ "n": 1, "o": "x" }), "/o: follows 0"),
        ] {
            let why = follows(&schema, &bad).unwrap_err();
            assert!(why.contains(place), "{bad}: {why}");
        }
        assert!(follows(&json!({ "pattern": "x" }), &json!("x")).unwrap_err().contains("not understood"));
    }
}
