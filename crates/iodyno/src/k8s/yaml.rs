//! YAML for `kubectl`, of a tree of JSON.
//!
//! Mappings and lists are in block style. A string is quoted unless no reader of YAML can take it for anything else; text of
//! several lines is a literal block where that keeps every byte. It reads nothing.

use serde_json::Value;

/// The tree as one document, which ends with a newline.
pub fn document(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

/// A value at its own lines, each so far to the right.
fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                out.push_str(&format!("{:indent$}{}:", "", scalar(key)));
                child(value, indent, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("{:indent$}-", ""));
                item_of(item, indent, out);
            }
        }
        value => out.push_str(&format!("{:indent$}{}\n", "", leaf(value))),
    }
}

/// What stands behind a key: below it, or in its line.
fn child(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(value, indent, out);
        }
        Value::String(text) if is_literal(text) => literal(text, indent + 2, out),
        value => out.push_str(&format!(" {}\n", leaf(value))),
    }
}

/// What stands behind a hyphen: a mapping begins in its line.
fn item_of(item: &Value, indent: usize, out: &mut String) {
    match item {
        Value::Object(fields) if !fields.is_empty() => {
            let mut inner = String::new();
            block(item, indent + 2, &mut inner);
            out.push(' ');
            out.push_str(inner.trim_start_matches(' '));
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(item, indent + 2, out);
        }
        item => out.push_str(&format!(" {}\n", leaf(item))),
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Object(_) => "{}".into(),
        Value::Array(_) => "[]".into(),
        value => value.to_string(),
    }
}

/// A string in one line.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.into() } else { quoted(text) }
}

/// Whether a string is itself without quotes in every version of YAML: a letter first, no word that means something else.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'/');
    first && text.bytes().all(is_safe) && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// A string in double quotes, in which only ASCII stands for itself.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(letter),
            _ if u32::from(letter) <= 0xFFFF => out.push_str(&format!("\\u{:04X}", u32::from(letter))),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(letter))),
        }
    }
    out.push('"');
    out
}

/// Whether text can be a literal block: printable lines, the first of which says how far the block is to the right.
fn is_literal(text: &str) -> bool {
    let is_printable = |letter: char| letter == '\n' || letter == '\t' || (' '..='~').contains(&letter);
    let begins = text.chars().next().is_some_and(|letter| letter > ' ' && letter != '\n');
    let last = text.trim_end_matches('\n');
    text.len() > last.len() && text.len() - last.len() == 1 && begins && text.chars().all(is_printable)
}

fn literal(text: &str, indent: usize, out: &mut String) {
    out.push_str(" |\n");
    for line in text.lines() {
        match line {
            "" => out.push('\n'),
            line => out.push_str(&format!("{:indent$}{line}\n", "")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strings_that_mean_something_else_are_quoted() {
        for text in [
            "no", "True", "1e3", "0x10", "~", "", "- a", "a: b", "a #b", "*x", "null", "é", "12:30",
            "a\u{85}b",
        ] {
            assert!(scalar(text).starts_with('"'), "{text}: {}", scalar(text));
        }
        assert_eq!(
            (scalar("batch/v1"), scalar("node-1.example")),
            ("batch/v1".into(), "node-1.example".into())
        );
        assert_eq!(scalar("a\"b\\c\n\u{1F600}\u{7f}"), r#""a\"b\\c\n\U0001F600\u007F""#);
    }

    #[test]
    fn trees_are_blocks() {
        let tree =
            json!({"a": {"b": [1, {"c": "x", "d": []}, ["y"]]}, "text": "[j]\n rw=read\n\nbs=4k\n", "e": {}});
        let expected = "a:\n  b:\n  - 1\n  - c: x\n    d: []\n  -\n    - \"y\"\ne: {}\ntext: |\n  [j]\n   rw=read\n\n  bs=4k\n";
        assert_eq!(document(&tree), expected);
        assert!(
            document(&json!({"t": " a\n"})).contains("\" a\\n\""),
            "a block would take the blank for its place"
        );
        assert!(document(&json!({"t": "a\n\n"})).contains("\"a\\n\\n\""));
    }
}
