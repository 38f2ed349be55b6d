//! The house's words: what files and modules are called, how files begin, what no tracked file may say.
//!
//! A drawer named for nothing in particular fills with everything; a path of one machine is of no use on another.

use super::source::Source;
use super::{Tree, Violation};
use crate::lexer;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "manager"];
/// Longer lines than this do not fit beside another window.
const LINE_LIMIT: usize = 140;

const NAME_HINT: &str = "name it for what it holds; where that has no name, its parts belong elsewhere";
const HEADER_HINT: &str = "begin with `//!`: what the file is, why it exists, what it refuses to do";
const LINE_HINT: &str = "break the line; `cargo fmt` does it for code, comments are wrapped by hand";
const WORD_HINT: &str = "say it without naming this machine or this workplace: a clone knows neither";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let files =
        tree.files.iter().flat_map(|(path, text)| [file_name(path), strange_words(path, text)].concat());
    let sources =
        tree.sources.iter().flat_map(|source| [header(source), lines(source), modules(source)].concat());
    files.chain(sources).collect()
}

fn file_name(path: &str) -> Vec<Violation> {
    let stem = |part: &str| part.split('.').next().unwrap_or_default().to_string();
    let empty = path.split('/').map(stem).find(|part| EMPTY_NAMES.contains(&part.as_str()));
    let violation = |name| Violation::new(path, 1, format!("a file or folder named `{name}`"), NAME_HINT);
    empty.map(violation).into_iter().collect()
}

fn modules(source: &Source) -> Vec<Violation> {
    let code = &source.masked.code;
    let mut violations = Vec::new();
    for at in lexer::find_words(code, "mod") {
        let rest = code[at + "mod".len()..].trim_start();
        let name: String = rest.chars().take_while(|&c| lexer::is_word(c)).collect();
        if EMPTY_NAMES.contains(&name.as_str()) {
            let line = lexer::line_of(code, at);
            violations.push(Violation::new(
                &source.path,
                line,
                format!("a module named `{name}`"),
                NAME_HINT,
            ));
        }
    }
    violations
}

fn header(source: &Source) -> Vec<Violation> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    vec![Violation::new(&source.path, 1, "does not say what it is", HEADER_HINT)]
}

fn lines(source: &Source) -> Vec<Violation> {
    let numbered = source.text.lines().enumerate().map(|(index, line)| (index + 1, line.chars().count()));
    let long = numbered.filter(|&(_, length)| length > LINE_LIMIT);
    long.map(|(line, length)| {
        Violation::new(&source.path, line, format!("{length} characters wide"), LINE_HINT)
    })
    .collect()
}

/// What no tracked file may say, put together here so that this file does not say it either.
fn strange() -> Vec<String> {
    let path = |name: &str| format!("/{name}/");
    let tool = |name: &str| format!("farm-{name}");
    vec![
        path("work"),
        path("root"),
        tool("bench"),
        tool("studio"),
        format!("..{}shared", '/'),
        format!("{}library", '.'),
    ]
}

fn strange_words(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in strange().iter().filter(|word| says(line, word)) {
            let message = format!("names a thing of one machine: `{word}`");
            violations.push(Violation::new(path, index + 1, message, WORD_HINT));
        }
    }
    violations
}

/// Whether a line has the word at the head of a path or name: `net/work/x` and `self.library` are others' business.
fn says(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| lexer::is_word(c) || matches!(c, '.' | '}' | ')' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    fn found(path: &str, text: &str) -> Vec<String> {
        places(&check(&planted(&[(path, text)])))
    }

    #[test]
    fn names_say_something() {
        assert_eq!(found("crates/model/src/utils.rs", "//! x"), ["crates/model/src/utils.rs:1"]);
        assert_eq!(
            found("crates/engine/tests/common/mod.rs", "//! x"),
            ["crates/engine/tests/common/mod.rs:1"]
        );
        assert_eq!(found("a.rs", "//! x\nmod helpers {\n}"), ["a.rs:2"]);
        assert_eq!(found("a.rs", "//! mod misc\nmod miscible;"), Vec::<String>::new());
    }

    #[test]
    fn files_introduce_themselves_and_fit() {
        assert_eq!(found("a.rs", "use x;"), ["a.rs:1"]);
        assert_eq!(found("a.rs", &format!("//! x\n//{}", "µ".repeat(139))), ["a.rs:2"]);
        assert_eq!(found("a.rs", &format!("//! x\n//{}", "µ".repeat(138))), Vec::<String>::new());
        assert_eq!(found("a.md", &"x".repeat(500)), Vec::<String>::new());
    }

    #[test]
    fn no_file_names_this_machine() {
        for word in strange() {
            assert_eq!(found("a.md", &format!("one\nsee {word}x")), ["a.md:2"], "{word}");
        }
        assert_eq!(
            found("a.md", &format!("net{}x, self{}", strange()[0], strange()[5])),
            Vec::<String>::new()
        );
    }
}
