//! Reads the keys of one table: each by its name and meaning, all that is wrong collected, near misses suggested.
//!
//! A key that nobody asked for is an error; the keys that were asked for are the ones that are suggested.

use std::cell::RefCell;

use iodyno_model::reflect::{Reflect, ReflectMut};
use iodyno_model::{Diagnostic, Origin};

use super::inline::assign;
use super::tree::{Entry, Node, Value};

/// All that is wrong so far.
#[derive(Default)]
pub(crate) struct Wrong(RefCell<Vec<Diagnostic>>);

impl Wrong {
    /// Notes one more problem.
    pub(crate) fn add(&self, diagnostic: Diagnostic) {
        self.0.borrow_mut().push(diagnostic);
    }

    /// How many problems there are so far.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// An error at a place, with a hint.
    pub(crate) fn error(&self, origin: &Origin, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Diagnostic::error(origin, message).hint(hint));
    }

    /// Everything, by file and line.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        let mut list = self.0.into_inner();
        list.sort_by_key(|diagnostic| match &diagnostic.origin {
            Origin::File { path, line } => (path.to_string(), *line),
            _ => (String::new(), 0),
        });
        list
    }
}

/// The keys of one table.
pub(crate) struct Fields<'a> {
    node: &'a Node,
    what: &'a str,
    wrong: &'a Wrong,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// The keys of a table that is `what` (with its article: `a job`).
    pub(crate) fn new(node: &'a Node, what: &'a str, wrong: &'a Wrong) -> Self {
        if !matches!(node.value, Value::Table(_)) {
            let message = format!("`{node}`: {what} is a table");
            wrong.error(&node.origin, message, "write it as [table] lines or as { key = value }");
        }
        Fields { node, what, wrong, asked: RefCell::default() }
    }

    /// Where the table begins.
    pub(crate) fn origin(&self) -> &'a Origin {
        &self.node.origin
    }

    /// All that is wrong so far, for those who read deeper.
    pub(crate) fn wrong(&self) -> &'a Wrong {
        self.wrong
    }

    /// The key and its value, if it is there.
    pub(crate) fn entry(&self, name: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().push(name);
        self.node.entries().iter().find(|entry| entry.name == name)
    }

    /// The value of a key.
    pub(crate) fn node(&self, name: &'static str) -> Option<&'a Node> {
        self.entry(name).map(|entry| &entry.node)
    }

    /// The value of a key as `read` understands it; what it does not is noted.
    pub(crate) fn get<T>(&self, name: &'static str, read: impl Fn(&Node) -> Result<T, String>) -> Option<T> {
        let entry = self.entry(name)?;
        read(&entry.node).map_err(|expected| self.refuse(entry, &expected)).ok()
    }

    fn refuse(&self, entry: &Entry, expected: &str) {
        let (expected, hint) = split_hint(expected);
        let diagnostic =
            Diagnostic::error(&entry.origin, format!("`{} = {}`: {expected}", entry.name, entry.node));
        self.wrong.add(match hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        });
    }

    /// Fills in the fields of a struct, each from its key; what is not there stays as it is.
    pub(crate) fn fill(&self, record: &mut dyn Reflect) {
        let ReflectMut::Composite(slot) = record.slot() else { return };
        for (index, member) in slot.table().variants[0].members.iter().enumerate() {
            let field = slot.field_mut(index);
            if member.is_flat {
                self.fill(field);
            } else if !member.key.is_empty()
                && let Some(entry) = self.entry(member.key)
                && let Err(expected) = assign(&entry.node, field, member)
            {
                // Half of a value must not lead to messages of its own.
                clear(field);
                self.refuse(entry, &expected);
            }
        }
    }

    /// The same, with a value for a key that is not there.
    pub(crate) fn or<T>(&self, name: &'static str, read: impl Fn(&Node) -> Result<T, String>, other: T) -> T {
        self.get(name, read).unwrap_or(other)
    }

    /// A key that is true or false; false where it is not there.
    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.or(name, super::value::flag, false)
    }

    /// The tables of a repeated key: `[[name]]`, or one table.
    pub(crate) fn each(&self, name: &'static str) -> Vec<&'a Node> {
        match self.node(name) {
            None => Vec::new(),
            Some(node) => match &node.value {
                Value::List(items) => items.iter().collect(),
                _ => vec![node],
            },
        }
    }

    /// The keys of a table of tables: `[name.KEY]`.
    pub(crate) fn named(&self, name: &'static str) -> &'a [Entry] {
        let Some(node) = self.node(name) else { return &[] };
        if !matches!(node.value, Value::Table(_)) {
            let hint = format!("give it a name: [{name}.NAME]");
            self.wrong.error(&node.origin, format!("`{name}` is a table of named tables"), hint);
        }
        node.entries()
    }

    /// Notes every key that nobody asked for.
    pub(crate) fn unknown(&self) {
        let asked = self.asked.borrow();
        for entry in self.node.entries().iter().filter(|entry| !asked.contains(&entry.name.as_str())) {
            let message = format!("`{}`: {} has no such key", entry.name, self.what);
            self.wrong.error(&entry.origin, message, suggestion(&entry.name, &asked));
        }
    }
}

fn clear(field: &mut dyn Reflect) {
    match field.slot() {
        ReflectMut::Optional(slot) => slot.clear(),
        ReflectMut::List(slot) => slot.clear(),
        ReflectMut::Composite(slot) => slot.set_variant(0),
        _ => {}
    }
}

/// What was expected, and the suggestion that follows it.
fn split_hint(expected: &str) -> (&str, Option<&str>) {
    let at = ["; did you mean ", "; possible are "].iter().find_map(|mark| expected.find(mark));
    match at {
        Some(at) => (&expected[..at], Some(&expected[at + 2..])),
        None => (expected, None),
    }
}

/// The nearest of the known names, or all of them.
pub fn suggestion(name: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), *known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min();
    match near {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None => {
            let mut known = known.to_vec();
            known.sort_unstable();
            known.dedup();
            format!("possible are {}", known.join(", "))
        }
    }
}
