//! JSON whose fields keep their order, in the layout of the tool that a dialect stands for.
//!
//! Scripts cut the JSON of these tools by lines and compare its bytes, so a [`JsonStyle`] says where each tool breaks lines and
//! how it prints numbers. Reading is `serde_json`'s business.

use std::fmt::Write as _;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Whole(i128),
    /// A number with a fraction; the style prints it.
    Real(f64),
    Text(String),
    /// An array.
    List(Vec<JsonTree>),
    /// An object, its fields in the order in which they were added.
    Object(Vec<(String, JsonTree)>),
}

/// How a tool lays JSON out.
#[derive(Clone, Copy, Debug)]
pub struct JsonStyle {
    /// What a level is indented by, and what a line ends with; both are empty where everything stands on one line.
    pub indent: &'static str,
    /// The line's end.
    pub newline: &'static str,
    /// Between a name and its value.
    pub colon: &'static str,
    /// Between the values of an array that stand on one line; none: each has a line of its own.
    pub inline_comma: Option<&'static str>,
    /// Whether what is empty is written as `{}` or `[]`, without a line between its brackets.
    pub is_empty_closed: bool,
    /// How a number with a fraction is printed.
    pub real: fn(f64) -> String,
}

/// Integers as whole numbers.
macro_rules! from_whole {
    ($($integer:ty)*) => {
        $(impl From<$integer> for JsonTree {
            fn from(value: $integer) -> Self {
                JsonTree::Whole(value.into())
            }
        })*
    };
}

from_whole!(i32 i64 i128 u8 u16 u32 u64);

/// An object of these fields, in this order.
macro_rules! json_object {
    ($($name:literal: $value:expr),* $(,)?) => {
        $crate::json_tree::JsonTree::object([$(($name, $crate::json_tree::JsonTree::from($value))),*])
    };
}

pub(crate) use json_object;

/// What a variant holds as that variant.
macro_rules! from_value {
    ($($value:ty => $variant:ident)*) => {
        $(impl From<$value> for JsonTree {
            fn from(value: $value) -> Self {
                JsonTree::$variant(value.into())
            }
        })*
    };
}

from_value!(bool => Bool f64 => Real &str => Text &String => Text String => Text Vec<JsonTree> => List);

impl FromIterator<JsonTree> for JsonTree {
    fn from_iter<I: IntoIterator<Item = JsonTree>>(values: I) -> Self {
        JsonTree::List(values.into_iter().collect())
    }
}

impl From<&serde_json::Value> for JsonTree {
    /// What was read.
    fn from(value: &serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => JsonTree::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => whole.into(),
                (_, Some(whole)) => whole.into(),
                _ => number.as_f64().unwrap_or(0.0).into(),
            },
            Value::String(text) => text.as_str().into(),
            Value::Array(values) => JsonTree::List(values.iter().map(JsonTree::from).collect()),
            Value::Object(fields) => {
                JsonTree::Object(fields.iter().map(|(name, value)| (name.clone(), value.into())).collect())
            }
        }
    }
}

impl JsonTree {
    /// An object of these fields.
    pub fn object<const N: usize>(fields: [(&str, JsonTree); N]) -> JsonTree {
        JsonTree::Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// Adds a field; of anything but an object nothing happens.
    pub fn push(&mut self, name: &str, value: impl Into<JsonTree>) -> &mut Self {
        if let JsonTree::Object(fields) = self {
            fields.push((name.to_string(), value.into()));
        }
        self
    }

    /// The fields of a list of names and values.
    pub fn fields<N: Into<String>, V: Into<JsonTree>>(fields: impl IntoIterator<Item = (N, V)>) -> JsonTree {
        JsonTree::Object(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Adds the fields of another object.
    pub fn append(&mut self, other: JsonTree) -> &mut Self {
        if let (JsonTree::Object(fields), JsonTree::Object(more)) = (&mut *self, other) {
            fields.extend(more);
        }
        self
    }

    /// Adds a field unless its value is empty.
    pub fn push_unless_empty(&mut self, name: &str, value: impl Into<JsonTree>) -> &mut Self {
        let value = value.into();
        if value.is_empty() { self } else { self.push(name, value) }
    }

    /// Adds fields of one type.
    pub fn extend<V: Into<JsonTree>>(&mut self, fields: impl IntoIterator<Item = (&'static str, V)>) {
        for (name, value) in fields {
            self.push(name, value);
        }
    }

    /// Whether it is an object without fields, or an array without values.
    pub fn is_empty(&self) -> bool {
        match self {
            JsonTree::List(values) => values.is_empty(),
            JsonTree::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }

    /// In a tool's layout.
    pub fn print(&self, style: &JsonStyle) -> String {
        let mut text = String::new();
        self.write(style, 0, &mut text);
        text
    }

    /// On one line, without blanks.
    pub fn line(&self, style: &JsonStyle) -> String {
        let compact = JsonStyle { indent: "", newline: "", colon: ":", inline_comma: Some(","), ..*style };
        self.print(&compact)
    }

    fn write(&self, style: &JsonStyle, level: usize, text: &mut String) {
        match self {
            JsonTree::Null => *text += "null",
            JsonTree::Bool(value) => *text += if *value { "true" } else { "false" },
            JsonTree::Whole(value) => {
                let _ = write!(text, "{value}");
            }
            JsonTree::Real(value) => *text += &(style.real)(*value),
            JsonTree::Text(value) => quoted(value, text),
            JsonTree::List(values) => match style.inline_comma {
                Some(comma) => {
                    text.push('[');
                    for (index, value) in values.iter().enumerate() {
                        *text += if index == 0 { "" } else { comma };
                        value.write(style, level + 1, text);
                    }
                    text.push(']');
                }
                None => {
                    block(style, ['[', ']'], values, level, text, |value, text| {
                        value.write(style, level + 1, text);
                    });
                }
            },
            JsonTree::Object(fields) => {
                block(style, ['{', '}'], fields, level, text, |(name, value), text| {
                    quoted(name, text);
                    *text += style.colon;
                    value.write(style, level + 1, text);
                });
            }
        }
    }
}

/// What stands on lines of its own between two brackets.
fn block<T>(
    style: &JsonStyle,
    [open, close]: [char; 2],
    entries: &[T],
    level: usize,
    text: &mut String,
    write: impl Fn(&T, &mut String),
) {
    let line = |text: &mut String, level: usize| {
        *text += style.newline;
        (0..level).for_each(|_| *text += style.indent);
    };
    text.push(open);
    for (index, entry) in entries.iter().enumerate() {
        *text += if index == 0 { "" } else { "," };
        line(text, level + 1);
        write(entry, text);
    }
    match (entries.is_empty(), style.is_empty_closed) {
        (true, true) => {}
        (true, false) if style.newline.is_empty() => {}
        _ => line(text, level),
    }
    text.push(close);
}

fn quoted(value: &str, text: &mut String) {
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' => *text += "\\\"",
            '\\' => *text += "\\\\",
            '\n' => *text += "\\n",
            '\r' => *text += "\\r",
            '\t' => *text += "\\t",
            '\u{8}' => *text += "\\b",
            '\u{c}' => *text += "\\f",
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX: JsonStyle = JsonStyle {
        indent: "  ",
        newline: "\n",
        colon: " : ",
        inline_comma: None,
        is_empty_closed: false,
        real: |number| format!("{number:.6}"),
    };

    #[test]
    fn a_style_says_where_lines_break() {
        let inner = JsonTree::object([("N", 3u64.into()), ("mean", 1.5.into())]);
        let list = || JsonTree::List(vec![1.into(), JsonTree::object([])]);
        let mut outer = JsonTree::object([("na\"me", "a\tb\u{1}".into()), ("lat_ns", inner)]);
        outer.push("empty", Vec::new()).push("list", list());
        outer.extend([("yes", true), ("no", false)]);
        let broken = "{\n  \"na\\\"me\" : \"a\\tb\\u0001\",\n  \"lat_ns\" : {\n    \"N\" : 3,\n    \"mean\" : 1.500000\n  },\n  \
                      \"empty\" : [\n  ],\n  \"list\" : [\n    1,\n    {\n    }\n  ],\n  \"yes\" : true,\n  \"no\" : false\n}";
        assert_eq!(outer.print(&SIX), broken);
        let inline = JsonStyle { inline_comma: Some(", "), is_empty_closed: true, ..SIX };
        assert_eq!(list().print(&inline), "[1, {}]");
        assert_eq!(list().line(&SIX), "[1,{}]");
        assert!(!outer.is_empty() && JsonTree::object([]).is_empty());
    }

    #[test]
    fn objects_grow_by_fields_and_by_objects() {
        let mut object = json_object! { "a": 1, "b": "x" };
        object.append(JsonTree::fields([("c", 2.5)])).push_unless_empty("d", Vec::new());
        object.push_unless_empty("e", [JsonTree::from(true)].into_iter().collect::<JsonTree>());
        assert_eq!(object.line(&SIX), "{\"a\":1,\"b\":\"x\",\"c\":2.500000,\"e\":[true]}");
    }

    #[test]
    fn what_was_read_is_written_again() {
        let value = serde_json::json!({"a": [1, 2.5, true, "x", null, u64::MAX]});
        assert_eq!(
            JsonTree::from(&value).line(&SIX),
            "{\"a\":[1,2.500000,true,\"x\",null,18446744073709551615]}"
        );
    }
}
