//! `cargo xtask tidy`: the walls of the house, checked over the tree; it also runs inside `cargo test`.
//!
//! Who may import whom, where `unsafe` and system calls live, who may ask the time: a wall that nothing checks
//! erodes silently. Every rule reports all of its violations at once, with a hint that resolves them, and has a test
//! that plants one. It refuses to repair anything.

mod anatomy;
mod arrows;
mod layers;
mod length;
mod links;
mod names;
mod papers;
mod size;
mod source;
mod testing;
mod walls;
mod words;

use source::Source;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions that may be longer than the rule says, each with its reason.
const ALLOW_FILE: &str = "crates/xtask/tidy-allow.txt";

/// One place where the tree breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    /// 1-based; 1 where the whole file is meant.
    line: usize,
    message: String,
    hint: &'static str,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>, hint: &'static str) -> Self {
        Self { path: path.to_string(), line, message: message.into(), hint }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n hint: {}", self.path, self.line, self.message, self.hint)
    }
}

/// The tree to be judged: every text file, and the Rust ones taken apart.
#[derive(Debug, Default)]
struct Tree {
    /// `(path, text)`, the path relative to the root with `/`.
    files: Vec<(String, String)>,
    sources: Vec<Source>,
    /// What is too large, which a tree in memory cannot tell.
    large: Vec<Violation>,
}

impl Tree {
    fn new(files: Vec<(String, String)>) -> Self {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| Source::new(path, text)).collect();
        Self { files, sources, large: Vec::new() }
    }

    /// Reads what git tracks or would track; without git, every file outside `target` and hidden folders.
    fn read(root: &Path) -> Result<Self, String> {
        let paths =
            tracked(root).filter(|paths| !paths.is_empty()).unwrap_or_else(|| walk(root, Path::new("")));
        if paths.is_empty() {
            return Err(format!("{}: no file to check", root.display()));
        }
        // What is no text, or is gone from the disk but not yet from the index, has no lines to judge.
        let large = size::check(root, &paths);
        let read = |path: String| std::fs::read_to_string(root.join(&path)).ok().map(|text| (path, text));
        Ok(Self { large, ..Self::new(paths.into_iter().filter_map(read).collect()) })
    }

    fn text(&self, path: &str) -> &str {
        self.files.iter().find(|(name, _)| name == path).map_or("", |(_, text)| text)
    }

    fn check(&self) -> Vec<Violation> {
        let mut violations = [
            anatomy::check(self),
            arrows::check(self),
            layers::check(self),
            names::check(self),
            walls::check(self),
            testing::check(self),
            words::check(self),
            papers::check(self),
            links::check(self),
            length::check(self, ALLOW_FILE),
            self.large.clone(),
        ]
        .concat();
        violations.sort();
        violations.dedup();
        violations
    }
}

/// Prints every violation; true when there is none.
pub fn chore(root: &Path) -> Result<bool, String> {
    let tree = Tree::read(root)?;
    let violations = tree.check();
    violations.iter().for_each(|violation| println!("{violation}"));
    match violations.len() {
        0 => println!(
            "tidy: {} files, {} of them Rust: every wall stands",
            tree.files.len(),
            tree.sources.len()
        ),
        count => println!("tidy: {count} violations"),
    }
    Ok(violations.is_empty())
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let mut paths: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|p| !p.is_empty())
        .map(str::to_string)
        .collect();
    paths.sort();
    paths.dedup();
    Some(paths)
}

fn walk(root: &Path, folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| folder.join(entry.file_name())).collect();
    names.sort();
    let is_left_out = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name == "target" || (name.starts_with('.') && name != ".ci" && name != ".cargo")
    };
    let found = names.into_iter().filter(|path| !is_left_out(path)).flat_map(|path| {
        if root.join(&path).is_dir() { walk(root, &path) } else { vec![path.to_string_lossy().into_owned()] }
    });
    found.collect()
}

/// A tree in memory, for planting violations.
#[cfg(test)]
fn planted(files: &[(&str, &str)]) -> Tree {
    Tree::new(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect())
}

/// The `path:line` of each violation.
#[cfg(test)]
fn places(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(|violation| format!("{}:{}", violation.path, violation.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let tree = Tree::read(&crate::root()).expect("the workspace is readable");
        assert!(tree.sources.len() > 5, "the tree was not found: {} Rust files", tree.sources.len());
        let violations = tree.check();
        let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
        assert!(violations.is_empty(), "{} violations\n{}", violations.len(), list.join("\n"));
    }

    #[test]
    fn walking_finds_what_git_tracks() {
        let root = crate::root();
        let walked = walk(&root, Path::new("crates/xtask"));
        assert!(walked.contains(&"crates/xtask/src/tidy/mod.rs".to_string()), "{walked:?}");
    }

    #[test]
    fn all_violations_come_at_once_with_hints() {
        let tree = planted(&[("crates/model/src/lib.rs", "use std::fs;\nfn f() { println!() }\n")]);
        let text: Vec<String> = tree.check().iter().map(Violation::to_string).collect();
        assert_eq!(text.len(), 3, "{text:?}");
        assert!(text.iter().all(|line| line.contains("\n hint: ")), "{text:?}");
    }
}
