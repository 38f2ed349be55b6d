//! A Rust source file as the rules see it: masked, with its test parts known and its paths spelt out.
//!
//! A path is followed through `use` groups and through `self` and `super`, so that `use std::{io, fs::File}` is as
//! visible as `std::fs::File`. It refuses to resolve names: what an alias hides stays hidden.

use crate::lexer::{self, MaskedSource};

/// One Rust file of the tree.
#[derive(Debug)]
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    /// As it stands in the file.
    pub text: String,
    /// Code and comments apart.
    pub masked: MaskedSource,
    /// The first and last line (1-based) of every item compiled for tests only.
    test_lines: Vec<(usize, usize)>,
}

/// A path that the code names, with its groups expanded: `std::fs::File` at line 3.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// 1-based.
    pub line: usize,
    /// Segments joined by `::`.
    pub path: String,
}

impl Source {
    /// Takes a file apart.
    pub fn new(path: &str, text: &str) -> Self {
        let masked = lexer::mask(text);
        let test_lines = test_items(&masked.code);
        Self { path: path.to_string(), text: text.to_string(), masked, test_lines }
    }

    /// The crate's folder name, for a file in `crates/NAME/`.
    pub fn package(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether this is a file of a crate's `src` that is not wholly tests.
    pub fn is_product(&self) -> bool {
        let Some(inside) = self.package().and_then(|name| self.path.strip_prefix(&format!("crates/{name}/")))
        else {
            return false;
        };
        inside.starts_with("src/") && !inside.ends_with("/tests.rs") && !inside.contains("/tests/")
    }

    /// Whether a line belongs to an item that only tests see.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|&(first, last)| (first..=last).contains(&line))
    }

    /// The 1-based lines on which any of `words` stands in the code as a whole word.
    pub fn lines_with(&self, words: &[&str]) -> Vec<(usize, String)> {
        let code = &self.masked.code;
        let at = |word: &&str| {
            let word = word.to_string();
            lexer::find_words(code, &word)
                .map(|at| (lexer::line_of(code, at), word.clone()))
                .collect::<Vec<_>>()
        };
        words.iter().flat_map(at).collect()
    }

    /// Every path that starts with one of `roots` (`std`, `crate`, `super`, …), groups expanded.
    pub fn paths(&self, roots: &[&str]) -> Vec<NamedPath> {
        let code = &self.masked.code;
        let mut found = Vec::new();
        for root in roots {
            for at in lexer::find_words(code, root) {
                let is_head = !code[..at].trim_end().ends_with("::");
                if is_head {
                    follow(code, at, String::new(), &mut found);
                }
            }
        }
        found
    }

    /// The module path of this file below its crate's root: `src/engines/null.rs` is `[engines, null]`.
    pub fn module(&self) -> Vec<&str> {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        let mut segments: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
        if matches!(segments.last(), Some(&("mod" | "lib" | "main"))) {
            segments.pop();
        }
        segments
    }
}

/// Reads a path from `at`, adding to `found` each full path once its end is reached.
///
/// Returns where it stopped.
fn follow(code: &str, mut at: usize, mut path: String, found: &mut Vec<NamedPath>) -> usize {
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with('{') {
            return follow_group(code, at, &path, found);
        }
        let length = code[at..]
            .chars()
            .take_while(|&c| lexer::is_word(c) || c == '*')
            .map(char::len_utf8)
            .sum::<usize>();
        let line = lexer::line_of(code, at);
        if length > 0 {
            path = if path.is_empty() {
                code[at..at + length].into()
            } else {
                format!("{path}::{}", &code[at..at + length])
            };
        }
        at += length;
        let rest = code[at..].trim_start();
        // `Vec::<u8>` ends the path as far as modules are concerned.
        if !rest.starts_with("::") || rest[2..].trim_start().starts_with('<') {
            found.push(NamedPath { line, path });
            return at;
        }
        at = code.len() - rest.len() + 2;
    }
}

fn follow_group(code: &str, open: usize, path: &str, found: &mut Vec<NamedPath>) -> usize {
    let end = lexer::closing(code, open).unwrap_or(code.len());
    let mut at = open + 1;
    while at < end {
        let rest = &code[at..end];
        let skip =
            rest.len() - rest.trim_start_matches(|c: char| !lexer::is_word(c) && c != '*' && c != '{').len();
        if skip == rest.len() {
            break;
        }
        at = follow(code, at + skip, path.to_string(), found).max(at + skip + 1);
        // `x as y`: the alias is no path of its own.
        at += code[at..end].find([',', '}']).unwrap_or(end - at);
    }
    end + 1
}

/// The lines of every item behind `#[cfg(test)]` or `#[test]`.
fn test_items(code: &str) -> Vec<(usize, usize)> {
    let mut items = Vec::new();
    for (at, _) in code.match_indices("#[") {
        let Some(end) = lexer::closing(code, at + 1) else { continue };
        let attribute: String = code[at + 2..end].split_whitespace().collect();
        if !is_test_attribute(&attribute) {
            continue;
        }
        let last = item_end(code, end + 1);
        items.push((lexer::line_of(code, at), lexer::line_of(code, last)));
    }
    items
}

fn is_test_attribute(attribute: &str) -> bool {
    let conditional = attribute.strip_prefix("cfg(").is_some_and(|condition| {
        lexer::find_words(condition, "test").next().is_some() && !condition.contains("not(test")
    });
    attribute == "test" || conditional
}

/// Where the item after an attribute ends: at its closing brace, or at its semicolon.
fn item_end(code: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(offset) = code[at..].find(['{', ';', '[', '(']) {
        let stop = at + offset;
        match code.as_bytes()[stop] {
            b';' => return stop,
            b'{' => return lexer::closing(code, stop).unwrap_or(code.len()),
            _ => at = lexer::closing(code, stop).map_or(code.len(), |end| end + 1),
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, roots: &[&str]) -> Vec<String> {
        let mut paths: Vec<String> = Source::new("crates/x/src/lib.rs", text)
            .paths(roots)
            .into_iter()
            .map(|named| named.path)
            .collect();
        paths.sort();
        paths
    }

    #[test]
    fn groups_are_spelt_out() {
        let text =
            "use std::{fs::{self, File as F}, io, time::Instant};\nuse std::env;\nlet x = std::net::y(1);";
        let expected =
            ["std::env", "std::fs::File", "std::fs::self", "std::io", "std::net::y", "std::time::Instant"];
        assert_eq!(paths(text, &["std"]), expected);
    }

    #[test]
    fn a_root_is_a_head_and_a_whole_word() {
        assert_eq!(paths("my::std::fs; stdx::fs; \"std::net\"; // std::io", &["std"]), Vec::<String>::new());
        assert_eq!(paths("crate::worker::drive::<E>()", &["crate"]), ["crate::worker::drive"]);
    }

    #[test]
    fn test_items_are_known() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\nfn c() {}\n#[cfg(not(test))]\nfn d() {}";
        let source = Source::new("crates/x/src/lib.rs", text);
        let lines: Vec<usize> = (1..=9).filter(|&line| source.is_test_line(line)).collect();
        assert_eq!(lines, [2, 3, 4, 5, 6]);
    }

    #[test]
    fn modules_follow_the_files() {
        let module = |path: &str| Source::new(path, "").module().join("::");
        assert_eq!(module("crates/engine/src/engines/null.rs"), "engines::null");
        assert_eq!(module("crates/engine/src/engines/mod.rs"), "engines");
        assert_eq!(module("crates/engine/src/lib.rs"), "");
    }

    #[test]
    fn product_is_src_without_its_tests() {
        let is_product = |path: &str| Source::new(path, "").is_product();
        assert!(is_product("crates/model/src/plan.rs"));
        assert!(!is_product("crates/model/tests/lowering.rs"));
        assert!(!is_product("crates/model/src/plan/tests.rs"));
        assert!(!is_product("fuzz/fuzz_targets/dd.rs"));
    }
}
