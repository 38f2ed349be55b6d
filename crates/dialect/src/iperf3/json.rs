//! JSON as iperf3 writes it: fields in their order, tabs, and numbers as C prints them.
//!
//! Programs that read iperf3 compare bytes and order more often than they should. Reading is `serde_json`'s business.

use std::fmt::Write as _;

/// A value; the fields of an object stay in the order in which they came.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Json>),
    /// Named values.
    Object(Vec<(String, Json)>),
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Whole(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Json::Whole(value)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Json::Real(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(value.into())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::Text(value)
    }
}

impl Json {
    /// An object of these fields.
    pub fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// Adds a field; of anything but an object nothing happens.
    pub fn push(&mut self, name: &str, value: impl Into<Json>) {
        if let Json::Object(fields) = self {
            fields.push((name.to_string(), value.into()));
        }
    }

    /// The same value as another program's library read it.
    pub fn of(value: &serde_json::Value) -> Json {
        match value {
            serde_json::Value::Null => Json::Object(Vec::new()),
            serde_json::Value::Bool(value) => Json::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => Json::Whole(whole),
                None => Json::Real(number.as_f64().unwrap_or(0.0)),
            },
            serde_json::Value::String(text) => Json::Text(text.clone()),
            serde_json::Value::Array(values) => Json::List(values.iter().map(Json::of).collect()),
            serde_json::Value::Object(fields) => {
                Json::Object(fields.iter().map(|(name, value)| (name.clone(), Json::of(value))).collect())
            }
        }
    }

    /// On one line.
    pub fn line(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text
    }

    /// With tabs, over many lines.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text
    }

    fn write(&self, text: &mut String, depth: Option<usize>) {
        match self {
            Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Whole(value) => {
                let _ = write!(text, "{value}");
            }
            Json::Real(value) => text.push_str(&number(*value)),
            Json::Text(value) => quoted(value, text),
            Json::List(values) => {
                text.push('[');
                for (at, value) in values.iter().enumerate() {
                    text.push_str(match (at, depth) {
                        (0, _) => "",
                        (_, Some(_)) => ", ",
                        (_, None) => ",",
                    });
                    value.write(text, depth.map(|depth| depth + 1));
                }
                text.push(']');
            }
            Json::Object(fields) => object(fields, text, depth),
        }
    }
}

fn object(fields: &[(String, Json)], text: &mut String, depth: Option<usize>) {
    text.push('{');
    let tabs = |text: &mut String, count: usize| (0..count).for_each(|_| text.push('\t'));
    if depth.is_some() {
        text.push('\n');
    }
    for (at, (name, value)) in fields.iter().enumerate() {
        if let Some(depth) = depth {
            tabs(text, depth + 1);
        }
        quoted(name, text);
        text.push(':');
        if depth.is_some() {
            text.push('\t');
        }
        value.write(text, depth.map(|depth| depth + 1));
        if at + 1 < fields.len() {
            text.push(',');
        }
        if depth.is_some() {
            text.push('\n');
        }
    }
    if let Some(depth) = depth {
        tabs(text, depth);
    }
    text.push('}');
}

fn quoted(value: &str, text: &mut String) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if (control as u32) < 0x20 => {
                let _ = write!(text, "\\u{:04x}", control as u32);
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

/// A number as cJSON prints it: whole where it is, else with 15 digits, or 17 where 15 do not bring it back. What is no
/// number is 0: the original writes `null` there, which no reader expects.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    if value == value.trunc() && value.abs() < 9e15 {
        return format!("{}", value as i64);
    }
    let short = general(value, 15);
    if short.parse::<f64>() == Ok(value) { short } else { general(value, 17) }
}

/// C's `%.{digits}g`.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cs() {
        assert_eq!(number(1.000_388_979_911_804_2), "1.0003889799118042");
        assert_eq!(number(29_396_927_681.663_07), "29396927681.663071");
        assert_eq!(number(3.5e-5), "3.5e-05");
        assert_eq!((number(2.001239), number(0.0), number(4.0)), ("2.001239".into(), "0".into(), "4".into()));
        assert_eq!((number(f64::NAN), number(1e300)), ("0".into(), "1e+300".into()));
        assert_eq!(general(0.05, 2), "0.05");
    }

    #[test]
    fn documents_are_cjsons() {
        let inner = Json::object([("a", 1u64.into()), ("b", "x\"\n".into())]);
        let list = Json::List(vec![inner.clone(), inner]);
        let whole = Json::object([("l", list), ("none", Json::List(vec![])), ("end", Json::object([]))]);
        assert_eq!(
            whole.pretty(),
            "{\n\t\"l\":\t[{\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\"x\\\"\\n\"\n\t\t}, {\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\
             \"x\\\"\\n\"\n\t\t}],\n\t\"none\":\t[],\n\t\"end\":\t{\n\t}\n}"
        );
        assert_eq!(
            whole.line(),
            "{\"l\":[{\"a\":1,\"b\":\"x\\\"\\n\"},{\"a\":1,\"b\":\"x\\\"\\n\"}],\"none\":[],\"end\":{}}"
        );
        assert_eq!(
            Json::of(&serde_json::json!({"a": [1, 2.5, true, "x"]})).line(),
            "{\"a\":[1,2.5,true,\"x\"]}"
        );
    }
}
