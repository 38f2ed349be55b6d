//! Files of rules: TOML to what they say, before any variable is put in.
//!
//! All files of a suite are read as one: features, lists and actors of one are known to all. Everything that is wrong is
//! said at once; no step is understood here.

use std::collections::BTreeMap;

use iodyno_model::{Actor, Class, Diagnostic, Origin};

use super::suite::File;
use super::vocabulary::Vocabulary;
use crate::native::fields::{Fields, Wrong};
use crate::native::suggestion;
use crate::native::tree::{self, Entry, Node, Value};
use crate::native::value::{self, Read};

/// What a directory of rules says.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// What file systems may lack.
    pub features: Vec<Feature>,
    /// Who may act, by name.
    pub actors: Vec<Actor>,
    /// The rules, in the order of the files.
    pub rules: Vec<Rule>,
    /// What their steps can say.
    pub vocabulary: &'static Vocabulary,
}

/// Something that a file system may lack.
#[derive(Clone, Debug)]
pub struct Feature {
    pub name: String,
    pub text: String,
    /// How to find out.
    pub probe: Vec<StepLine>,
}

/// A rule as it is written.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The group; may hold variables, as all texts here.
    pub group: String,
    /// Its name in the group.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// Where it comes from.
    pub source: String,
    /// How binding it is.
    pub class: Class,
    /// Features it needs.
    pub needs: Vec<String>,
    /// Nothing runs beside it.
    pub alone: bool,
    /// What it is done for.
    pub axes: Vec<Axis>,
    /// Constants.
    pub lets: Vec<(String, String)>,
    /// Variables whose values make cases.
    pub split: Vec<String>,
    pub steps: Vec<StepLine>,
    /// Where it begins.
    pub origin: Origin,
}

/// One or several variables with their values, side by side.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The variables.
    pub names: Vec<String>,
    /// Their values, as many words each as there are variables.
    pub values: Vec<Vec<String>>,
    /// Where it was written.
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub struct StepLine {
    /// As it is written.
    pub text: String,
    pub origin: Origin,
}

/// Features that whoever runs the cases knows by itself.
pub const KNOWN_FEATURES: &[&str] = &["root", "mounts", "small"];

/// The number of an actor's user and group that mean: as whoever runs the case.
pub const SAME: u32 = u32::MAX;

/// Actors that every suite has: name, user and group, a further group.
const ACTORS: &[(&str, u32, Option<u32>)] = &[
    ("p1", SAME, None),
    ("p2", SAME, None),
    ("p3", SAME, None),
    ("p4", SAME, None),
    ("owner", 65534, None),
    ("owner2", 65534, None),
    ("member", 65533, Some(65534)),
    ("other", 65532, None),
];

const CLASSES: &[(&str, Class)] = &[
    ("shall", Class::Shall),
    ("may", Class::May),
    ("linux", Class::Linux),
    ("filesystem", Class::FileSystem),
];

/// A class as files of rules and options name it.
pub fn class_name(class: Class) -> &'static str {
    CLASSES.iter().find(|(_, known)| *known == class).map_or("shall", |(name, _)| name)
}

pub fn class_named(name: &str) -> Option<Class> {
    CLASSES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
}

/// A document and the text it was read from.
struct Document<'a> {
    node: Node,
    text: &'a str,
}

type Lists = BTreeMap<String, Vec<Vec<String>>>;

/// Reads files as one suite: what is right of it, and everything that is wrong.
///
/// # Errors
/// Where a file is no TOML at all.
pub fn read(files: &[File]) -> Result<(Suite, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut broken = Vec::new();
    let mut documents = Vec::new();
    for (path, text) in files {
        match tree::parse(text, path) {
            Ok(node) => documents.push(Document { node, text }),
            Err(problems) => broken.extend(problems),
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    let wrong = Wrong::default();
    let suite = suite(&documents, &wrong);
    Ok((suite, wrong.into_list()))
}

fn suite(documents: &[Document<'_>], wrong: &Wrong) -> Suite {
    let mut suite = Suite { actors: built_in_actors(), ..Suite::default() };
    let mut lists = Lists::new();
    let tables: Vec<_> = documents
        .iter()
        .map(|document| (Fields::new(&document.node, "a file of rules", wrong), document))
        .collect();
    for (fields, document) in &tables {
        read_lists(fields, &mut lists);
        read_actors(fields, &mut suite.actors);
        for node in fields.each("feature") {
            let feature = feature(node, document.text, wrong);
            if suite.features.iter().any(|known| known.name == feature.name)
                || KNOWN_FEATURES.contains(&feature.name.as_str())
            {
                wrong.error(
                    &node.origin,
                    format!("`{}`: there is such a feature already", feature.name),
                    "name it otherwise",
                );
            }
            suite.features.push(feature);
        }
    }
    for (fields, document) in &tables {
        let group = fields.or("group", value::text, String::new());
        let rules = fields.each("rule");
        for node in rules {
            let before = wrong.count();
            let rule = rule(node, &group, document.text, &lists, wrong);
            // What is wrong already has no rounds that could be looked at.
            if wrong.count() == before {
                suite.rules.push(rule);
            }
        }
        fields.unknown();
    }
    suite
}

fn built_in_actors() -> Vec<Actor> {
    let actor = |(name, id, further): &(&str, u32, Option<u32>)| Actor {
        name: (*name).into(),
        uid: *id,
        gid: *id,
        groups: further.iter().copied().collect(),
        umask: 0,
    };
    ACTORS.iter().map(actor).collect()
}

fn read_lists(fields: &Fields<'_>, lists: &mut Lists) {
    for entry in fields.named("lists") {
        let values = match values(&entry.node) {
            Ok(values) => values,
            Err(expected) => {
                fields.wrong().error(&entry.origin, format!("`{}`: {expected}", entry.name), LIST_HINT);
                continue;
            }
        };
        if lists.insert(entry.name.clone(), values).is_some() {
            let message = format!("`{}`: there is a list of that name already", entry.name);
            fields.wrong().error(&entry.origin, message, "name it otherwise");
        }
    }
}

const LIST_HINT: &str =
    "e.g. [\"regular\", \"fifo\"], or [[\"unlink f\", \"ENOENT\"], [\"rmdir f\", \"ENOTDIR\"]]";

/// Words, or lists of words.
fn values(node: &Node) -> Read<Vec<Vec<String>>> {
    let Value::List(items) = &node.value else { return Err("expected a list".into()) };
    let words = |node: &Node| match &node.value {
        Value::Word(word) => Ok(vec![word.clone()]),
        Value::List(items) => {
            let words = items.iter().map(|item| item.word().map(String::from));
            words.collect::<Option<Vec<_>>>().ok_or("expected words in the lists of a list".to_string())
        }
        Value::Table(_) => Err("expected words".into()),
    };
    items.iter().map(words).collect()
}

fn words(node: &Node) -> Read<Vec<String>> {
    if let Value::Word(word) = &node.value {
        return Ok(vec![word.clone()]);
    }
    let rows = values(node)?;
    if rows.iter().any(|row| row.len() != 1) {
        return Err("expected a list of words".into());
    }
    Ok(rows.into_iter().flatten().collect())
}

fn read_actors(fields: &Fields<'_>, actors: &mut Vec<Actor>) {
    for entry in fields.named("actors") {
        if actors.iter().any(|known| known.name == entry.name) {
            let message = format!("`{}`: there is an actor of that name already", entry.name);
            fields.wrong().error(&entry.origin, message, "name it otherwise");
        }
        actors.push(actor(entry, fields.wrong()));
    }
}

fn actor(entry: &Entry, wrong: &Wrong) -> Actor {
    let fields = Fields::new(&entry.node, "an actor", wrong);
    let uid = fields.or("uid", value::small, SAME);
    let numbers = |node: &Node| {
        let numbers: Option<Vec<u32>> = words(node)?.iter().map(|word| word.parse().ok()).collect();
        numbers.ok_or_else(|| "expected a list of group numbers".to_string())
    };
    let actor = Actor {
        name: entry.name.clone(),
        uid,
        gid: fields.or("gid", value::small, uid),
        groups: fields.or("groups", numbers, Vec::new()),
        umask: fields.or("umask", octal, 0),
    };
    fields.unknown();
    actor
}

/// `"022"`, or a plain number as TOML reads it.
fn octal(node: &Node) -> Read<u32> {
    let word = value::word(node)?;
    u32::from_str_radix(word, 8).map_err(|_| "expected an octal number in quotes, e.g. \"022\"".into())
}

fn feature(node: &Node, source: &str, wrong: &Wrong) -> Feature {
    let fields = Fields::new(node, "a feature", wrong);
    let feature = Feature {
        name: must(&fields, "name", "xattr"),
        text: must(&fields, "text", "extended attributes in the user namespace"),
        probe: fields.entry("probe").map(|entry| lines(entry, source)).unwrap_or_default(),
    };
    if feature.probe.is_empty() {
        let hint = "probe = \"\"\"STEPS\"\"\"";
        wrong.error(&node.origin, format!("feature `{}` has no probe", feature.name), hint);
    }
    fields.unknown();
    feature
}

fn must(fields: &Fields<'_>, name: &'static str, example: &str) -> String {
    let text = fields.get(name, value::text);
    if text.as_ref().is_none_or(String::is_empty)
        && fields.node(name).is_none_or(|node| node.word() == Some(""))
    {
        let hint = format!("{name} = \"{example}\"");
        fields.wrong().error(fields.origin(), format!("`{name}` is missing"), hint);
    }
    text.unwrap_or_default()
}

fn rule(node: &Node, group: &str, source: &str, lists: &Lists, wrong: &Wrong) -> Rule {
    let fields = Fields::new(node, "a rule", wrong);
    let rule = Rule {
        group: fields.or("group", value::text, group.into()),
        id: must(&fields, "id", "search-denied"),
        text: must(&fields, "text", "chmod fails with EACCES when search permission is denied."),
        source: must(&fields, "source", "POSIX.1-2024 chmod, ERRORS, EACCES"),
        class: fields.or("class", value::choice(CLASSES), Class::Shall),
        needs: fields.or("needs", words, Vec::new()),
        alone: fields.flag("alone"),
        axes: fields.named("for").iter().filter_map(|entry| axis(entry, lists, wrong)).collect(),
        lets: constants(&fields),
        split: fields.or("split", words, Vec::new()),
        steps: fields.entry("steps").map(|entry| lines(entry, source)).unwrap_or_default(),
        origin: node.origin.clone(),
    };
    let named = |message: String, hint: &str| wrong.error(&rule.origin, message, hint);
    if rule.group.is_empty() {
        named(format!("rule `{}` belongs to no group", rule.id), "group = \"chmod\" at the top of the file");
    }
    if rule.steps.is_empty() {
        named(format!("rule `{}` has no steps", rule.id), "steps = \"\"\"STEPS\"\"\"");
    }
    fields.unknown();
    names(&rule, wrong);
    rule
}

fn constants(fields: &Fields<'_>) -> Vec<(String, String)> {
    let mut constants = Vec::new();
    for entry in fields.named("let") {
        match value::text(&entry.node) {
            Ok(text) => constants.push((entry.name.clone(), text)),
            Err(expected) => {
                let hint = "let.flags = \"O_RDWR|O_CREAT\"";
                fields.wrong().error(&entry.origin, format!("`let.{}`: {expected}", entry.name), hint);
            }
        }
    }
    constants
}

/// Names that are given once, and names that are referred to.
fn names(rule: &Rule, wrong: &Wrong) {
    let variables: Vec<&str> = rule.axes.iter().flat_map(|axis| &axis.names).map(String::as_str).collect();
    let all: Vec<&str> =
        variables.iter().copied().chain(rule.lets.iter().map(|(name, _)| name.as_str())).collect();
    for (index, name) in all.iter().enumerate().filter(|(index, name)| all[..*index].contains(name)) {
        let origin = rule.axes.iter().find(|axis| axis.names.iter().any(|known| known == name));
        let origin = origin.map_or(&rule.origin, |axis| &axis.origin);
        let _ = index;
        wrong.error(origin, format!("`{name}`: the rule has such a variable already"), "name it otherwise");
    }
    for name in rule.split.iter().filter(|name| !variables.contains(&name.as_str())) {
        wrong.error(
            &rule.origin,
            format!("split = \"{name}\": the rule has no `for.{name}`"),
            if variables.is_empty() { "leave split out".into() } else { suggestion(name, &variables) },
        );
    }
}

fn axis(entry: &Entry, lists: &Lists, wrong: &Wrong) -> Option<Axis> {
    let names: Vec<String> = entry.name.split(',').map(|name| name.trim().to_string()).collect();
    let key = &entry.name;
    let values = match &entry.node.value {
        Value::Word(list) => {
            let Some(values) = lists.get(list) else {
                let known: Vec<&str> = lists.keys().map(String::as_str).collect();
                let hint =
                    if known.is_empty() { "[lists] has none".into() } else { suggestion(list, &known) };
                let message = format!("`for.{key} = {list}`: there is no list of that name");
                wrong.error(&entry.origin, message, hint);
                return None;
            };
            values.clone()
        }
        _ => match values(&entry.node) {
            Ok(values) => values,
            Err(expected) => {
                wrong.error(&entry.origin, format!("`for.{key}`: {expected}"), LIST_HINT);
                return None;
            }
        },
    };
    if values.is_empty() {
        wrong.error(&entry.origin, format!("`for.{key}`: the list is empty"), LIST_HINT);
        return None;
    }
    if let Some(odd) = values.iter().find(|row| row.len() != names.len()) {
        let message = format!(
            "`for.{key}`: [{}] has {} words for {} variables",
            odd.join(", "),
            odd.len(),
            names.len()
        );
        wrong.error(&entry.origin, message, "for.\"call,error\" = [[\"unlink f\", \"ENOENT\"], …]");
        return None;
    }
    Some(Axis { names, values, origin: entry.origin.clone() })
}

/// The lines of a text in quotes, each with its place; comments and empty lines are left out.
fn lines(entry: &Entry, source: &str) -> Vec<StepLine> {
    let Some(text) = entry.node.word() else { return Vec::new() };
    let Origin::File { path, line } = &entry.node.origin else { return Vec::new() };
    let first = source.lines().nth(*line as usize - 1).unwrap_or_default();
    // A line end that follows the opening quotes does not belong to the text.
    let opened = first.trim_end();
    let begins_below = opened.ends_with("\"\"\"") || opened.ends_with("'''");
    let first_line = line + u32::from(begins_below);
    let numbered = text.lines().zip(first_line..);
    let steps = numbered.map(|(text, line)| (text.trim(), line));
    steps
        .filter(|(text, _)| !text.is_empty() && !text.starts_with('#'))
        .map(|(text, line)| StepLine { text: text.into(), origin: Origin::file(path, line) })
        .collect()
}
