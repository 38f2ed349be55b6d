//! Profiles: what is known of a file system, with a reason for everything that it may do against a rule.
//!
//! It judges nothing: that is [`judge`](super::judge)'s. An entry without a reason and a source is refused.

use iodyno_model::{Diagnostic, Origin, Verdict, glob};

use super::select;
use super::suite::{self, BuiltInSuite, File};
use crate::Loader;
use crate::native::fields::{Fields, Wrong};
use crate::native::suggestion;
use crate::native::tree::{self, Node, Value};
use crate::native::value::{self, Read};

/// What is known of a file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Its name: that of its file.
    pub name: String,
    /// What it is for, in words.
    pub text: String,
    /// Types of file systems it is for, as the kernel names them; patterns where no other profile is for one by name.
    pub types: Vec<String>,
    /// Features that must be there.
    pub has: Vec<String>,
    /// Features that are known not to be there.
    pub lacks: Vec<String>,
    /// Failures that are known.
    pub expected: Vec<ExpectedFailure>,
}

/// A failure that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedFailure {
    /// The rules, groups or cases it is about; a pattern.
    pub rule: String,
    /// The rounds; a pattern, none: all.
    pub round: Option<String>,
    /// What comes instead; a pattern, none: anything.
    pub got: Option<String>,
    /// Why.
    pub reason: String,
    /// Where that is known from.
    pub source: String,
    /// It depends on the kernel or on mount options: that it does not happen is no news.
    pub sometimes: bool,
    /// Where it is written.
    pub origin: Origin,
}

impl ExpectedFailure {
    /// Whether it explains what became of a check.
    pub fn explains(&self, verdict: &Verdict) -> bool {
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, text))
        };
        fits(&self.round, &verdict.round) && fits(&self.got, &verdict.got)
    }
}

/// The profile that is asked for: a name, a file, `none`; without a wish the one for a type of file system.
///
/// # Errors
/// There is none of that name, or something is wrong with it.
pub fn find(
    carried: &BuiltInSuite,
    wish: Option<&str>,
    file_system: Option<&str>,
    loader: &mut dyn Loader,
) -> Result<Option<Profile>, Vec<Diagnostic>> {
    let carried = carried.profiles();
    match wish {
        Some("none") => Ok(None),
        Some(path) if path.contains('/') || path.ends_with(".toml") => {
            let text = suite::file(path, loader).map_err(|reason| {
                let wrong = Diagnostic::error(&Origin::argument(path), format!("cannot be read: {reason}"));
                vec![wrong.hint("--profile takes a name, a file of your own, or none")]
            })?;
            read(&(path.into(), text)).map(Some)
        }
        Some(name) => {
            let names: Vec<String> = carried.iter().map(|(path, _)| stem(path).to_string()).collect();
            let Some(place) = names.iter().position(|known| known == name) else {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let wrong = Diagnostic::error(
                    &Origin::argument(&format!("--profile {name}")),
                    "there is no such profile",
                );
                return Err(vec![wrong.hint(suggestion(name, &names))]);
            };
            read(&carried[place]).map(Some)
        }
        None => {
            let Some(file_system) = file_system else { return Ok(None) };
            let mut general = None;
            for file in &carried {
                let profile = read(file)?;
                if profile.types.iter().any(|known| known == file_system) {
                    return Ok(Some(profile));
                }
                // A pattern is for whatever has no profile of its own.
                if profile.types.iter().any(|known| glob::matches(known, file_system)) {
                    general.get_or_insert(profile);
                }
            }
            Ok(general)
        }
    }
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".toml").unwrap_or(name)
}

/// Reads a profile.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read((path, text): &File) -> Result<Profile, Vec<Diagnostic>> {
    let document = tree::parse(text, path)?;
    let wrong = Wrong::default();
    let fields = Fields::new(&document, "a profile", &wrong);
    let profile = Profile {
        name: stem(path).into(),
        text: fields.or("text", value::text, String::new()),
        types: fields.or("types", words, Vec::new()),
        has: fields.or("has", words, Vec::new()),
        lacks: fields.or("lacks", words, Vec::new()),
        expected: fields.each("expected").into_iter().map(|node| expected(node, &wrong)).collect(),
    };
    fields.unknown();
    let list = wrong.into_list();
    if list.is_empty() { Ok(profile) } else { Err(list) }
}

fn words(node: &Node) -> Read<Vec<String>> {
    let Value::List(items) = &node.value else { return Err("expected a list of words".into()) };
    let words: Option<Vec<_>> = items.iter().map(|item| item.word().map(String::from)).collect();
    words.ok_or_else(|| "expected a list of words".into())
}

fn expected(node: &Node, wrong: &Wrong) -> ExpectedFailure {
    let fields = Fields::new(node, "an expected failure", wrong);
    let must = |name: &'static str, example: &str| {
        let text = fields.or(name, value::text, String::new());
        if text.is_empty() {
            wrong.error(&node.origin, format!("`{name}` is missing"), format!("{name} = \"{example}\""));
        }
        text
    };
    let expected = ExpectedFailure {
        rule: must("rule", "symlink/target-length*"),
        round: fields.get("round", value::text),
        got: fields.get("got", value::text),
        reason: must("reason", "targets of symbolic links have at most 1024 bytes"),
        source: must("source", "xfs: XFS_SYMLINK_MAXLEN"),
        sometimes: fields.flag("sometimes"),
        origin: node.origin.clone(),
    };
    fields.unknown();
    expected
}

/// Entries and features of a profile that no case of a suite has: slips of the pen.
pub fn strays(profile: &Profile, suite: &super::expand::ExpandedSuite) -> Vec<Diagnostic> {
    let cases = &suite.cases;
    let idle = |entry: &&ExpectedFailure| !cases.iter().any(|case| select::means(&entry.rule, case));
    let entries = profile.expected.iter().filter(idle).map(|entry| {
        let message = format!("`rule = \"{}\"`: no group, rule or case has such a name", entry.rule);
        Diagnostic::error(&entry.origin, message).hint("--list --verbose tells what there is")
    });
    let known: Vec<&str> = suite.features.iter().map(|feature| feature.name.as_str()).collect();
    let named = profile.has.iter().chain(&profile.lacks);
    let unknown = named.filter(|name| !known.contains(&name.as_str()));
    let features = unknown.map(|name| {
        let origin = Origin::argument(&format!("profile {}", profile.name));
        Diagnostic::error(&origin, format!("`{name}`: there is no such feature"))
            .hint(suggestion(name, &known))
    });
    entries.chain(features).collect()
}
