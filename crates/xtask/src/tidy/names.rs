//! Names of types and modules: one name for one thing, as the glossary has it.
//!
//! A name that is defined in many places says nothing where it is read. Names of the dialects' common anatomy are exempt.

use std::collections::BTreeMap;

use super::source::Source;
use super::{Tree, Violation};
use crate::lexer;

/// Definitions of one name in the products of the workspace, at most.
const MOST: usize = 3;
/// What each dialect has.
const ANATOMY: &[&str] = &["Command", "Options", "Settings", "Lower", "Report", "ReportContext", "EarlyExit"];
/// Modules were called so once; the glossary has words that the field knows.
const RETIRED: &[&str] = &[
    "abroad",
    "behind",
    "company",
    "crew",
    "desk",
    "exposed",
    "gate",
    "guardian",
    "guided",
    "hands",
    "ledger",
    "luggage",
    "manner",
    "parting",
    "patience",
    "post",
    "programme",
    "roster",
    "sayings",
    "sheet",
    "shelf",
    "siblings",
    "strangers",
    "stretch",
    "telling",
    "watched",
    "wishes",
];

const TYPE_HINT: &str =
    "name what it is, in the words of docs/glossary.md: a reader meets the name before its folder";
const MODULE_HINT: &str = "docs/glossary.md has the field's word for it";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut defined: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for source in tree.sources.iter().filter(|source| source.is_product()) {
        for (name, line) in types(source) {
            defined.entry(name).or_default().push((&source.path, line));
        }
    }
    let mut violations = Vec::new();
    for (name, places) in &defined {
        if is_participle(name) {
            let (path, line) = places[0];
            let message = format!("`{name}` is a participle, and a type is a noun");
            violations.push(Violation::new(path, line, message, TYPE_HINT));
        }
        if places.len() > MOST && !ANATOMY.contains(&name.as_str()) {
            let (path, line) = places[places.len() - 1];
            let message = format!("`{name}` is defined {} times, over {MOST}", places.len());
            violations.push(Violation::new(path, line, message, TYPE_HINT));
        }
    }
    violations.extend(tree.sources.iter().filter(|source| source.is_product()).flat_map(retired));
    violations
}

/// Whether a name is one word that ends as regular past participles do.
fn is_participle(name: &str) -> bool {
    name.ends_with("ed")
        && !name.ends_with("eed")
        && name.chars().filter(|letter| letter.is_uppercase()).count() == 1
}

/// The types that a file defines outside its tests, with their lines.
fn types(source: &Source) -> Vec<(String, usize)> {
    let code = &source.masked.code;
    let mut found = Vec::new();
    for keyword in ["struct", "enum", "trait"] {
        for at in lexer::find_words(code, keyword) {
            let rest = code[at + keyword.len()..].trim_start();
            let name: String = rest.chars().take_while(|&c| lexer::is_word(c)).collect();
            let line = lexer::line_of(code, at);
            if name.starts_with(char::is_uppercase) && !source.is_test_line(line) {
                found.push((name, line));
            }
        }
    }
    found
}

fn retired(source: &Source) -> Vec<Violation> {
    let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    if !RETIRED.contains(&stem) {
        return Vec::new();
    }
    vec![Violation::new(&source.path, 1, format!("a module named `{stem}`"), MODULE_HINT)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    fn files(count: usize, text: &str) -> Vec<(String, &str)> {
        (0..count).map(|at| (format!("crates/engine/src/a{at}.rs"), text)).collect()
    }

    fn found(files: &[(String, &str)]) -> usize {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        places(&check(&planted(&files))).len()
    }

    #[test]
    fn a_name_is_defined_three_times_at_most() {
        assert_eq!(found(&files(3, "struct Kind;")), 0);
        assert_eq!(found(&files(4, "struct Kind;")), 1);
        assert_eq!(found(&files(4, "struct Command;")), 0, "every dialect has one");
        assert_eq!(found(&files(4, "#[cfg(test)]\nmod tests {\n    struct Kind;\n}\n")), 0);
    }

    #[test]
    fn a_type_is_a_noun() {
        assert_eq!(found(&files(1, "pub struct Watched;")), 1);
        assert_eq!(found(&files(1, "pub struct WatchedTarget;\nenum Speed {}\nstruct Seed;")), 0);
    }

    #[test]
    fn retired_names_of_modules_do_not_return() {
        assert_eq!(found(&[("crates/engine/src/gate.rs".into(), "")]), 1);
        assert_eq!(found(&[("crates/engine/src/barrier.rs".into(), "")]), 0);
    }
}
