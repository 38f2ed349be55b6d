//! A TOML document as a tree in source order in which every word knows its line.
//!
//! Knows no key of a plan: only tables, lists and words. Syntax errors end here, all of them at once.

use std::fmt;

use iodyno_model::{Diagnostic, Origin};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string, a number or a truth value, as text.
    Word(String),
    /// Values in brackets, or repeated tables.
    List(Vec<Node>),
    /// Keys and values.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

impl Node {
    /// The word, if it is one.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.value {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The keys of a table, none for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Where a word stands first, from a place on; that place if it is nowhere.
    pub(crate) fn place_of<'a>(&'a self, word: &str, from: &'a Origin) -> &'a Origin {
        self.find(word, line(from)).unwrap_or(from)
    }

    fn find(&self, word: &str, from: u32) -> Option<&Origin> {
        match &self.value {
            Value::Word(found) => (found == word && line(&self.origin) >= from).then_some(&self.origin),
            Value::List(items) => items.iter().find_map(|item| item.find(word, from)),
            Value::Table(entries) => entries.iter().find_map(|entry| entry.node.find(word, from)),
        }
    }

    /// Whether it is a table that has one of the keys.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        self.entries().iter().any(|entry| keys.contains(&entry.name.as_str()))
    }
}

fn line(origin: &Origin) -> u32 {
    match origin {
        Origin::File { line, .. } => *line,
        _ => 0,
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |items: Vec<String>| items.join(", ");
        match &self.value {
            Value::Word(word) => f.write_str(word),
            Value::List(items) => write!(f, "[{}]", joined(items.iter().map(Node::to_string).collect())),
            Value::Table(entries) => {
                let entry = |entry: &Entry| format!("{} = {}", entry.name, entry.node);
                write!(f, "{{ {} }}", joined(entries.iter().map(entry).collect()))
            }
        }
    }
}

/// Where bytes of the text lie.
struct LineIndex<'a> {
    path: &'a str,
    line_starts: Vec<usize>,
}

impl LineIndex<'_> {
    fn origin(&self, at: usize) -> Origin {
        let line = self.line_starts.partition_point(|start| *start <= at);
        Origin::file(self.path, u32::try_from(line.max(1)).unwrap_or(u32::MAX))
    }
}

/// The document as a table.
///
/// # Errors
/// Every place where it is no TOML.
pub(crate) fn parse(text: &str, path: &str) -> Result<Node, Vec<Diagnostic>> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
    let source = LineIndex { path, line_starts: std::iter::once(0).chain(ends).collect() };
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node { origin: source.origin(0), value: table(&source, document.get_ref()) });
    }
    Err(errors.iter().map(|error| syntax(&source, error)).collect())
}

fn syntax(source: &LineIndex<'_>, error: &toml::de::Error) -> Diagnostic {
    let at = error.span().map_or(0, |span| span.start);
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    Diagnostic::error(&source.origin(at), format!("this is no TOML: {message}"))
        .hint("a line is `key = value`, text stands in quotes, e.g. block = \"4KiB\"")
}

fn table(source: &LineIndex<'_>, table: &DeTable<'_>) -> Value {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let at = key.span().start;
            let entry = Entry {
                name: key.get_ref().to_string(),
                origin: source.origin(at),
                node: node(source, value),
            };
            (at, entry)
        })
        .collect();
    entries.sort_by_key(|(at, _)| *at);
    Value::Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn node(source: &LineIndex<'_>, value: &Spanned<DeValue<'_>>) -> Node {
    let origin = source.origin(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Word(text.to_string()),
        DeValue::Integer(number) => Value::Word(decimal_digits(number)),
        DeValue::Float(number) => Value::Word(number.as_str().into()),
        DeValue::Boolean(flag) => Value::Word(flag.to_string()),
        DeValue::Datetime(time) => Value::Word(time.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(source, item)).collect()),
        DeValue::Table(inner) => table(source, inner),
    };
    Node { origin, value }
}

/// Decimal digits of a number that may have been written as `0x1000`.
fn decimal_digits(number: &toml::de::DeInteger<'_>) -> String {
    match i128::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) => value.to_string(),
        Err(_) => number.as_str().into(),
    }
}
