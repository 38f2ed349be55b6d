//! `--write-t DIR`: a test script for each group, so that a plain `prove -r DIR` checks the current directory.
//!
//! The scripts hold no rule: each calls this program for its group.

use std::collections::BTreeMap;

use super::expand::ExpandedSuite;
use super::list::many;
use super::options::Options;
use crate::Written;

/// The scripts, and what is said about them.
pub fn scripts(suite: &ExpandedSuite, options: &Options, folder: &str) -> (Vec<Written>, String) {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    suite.cases.iter().for_each(|case| *groups.entry(&case.group).or_default() += 1);
    let words = words(options);
    let files: Vec<Written> = groups
        .iter()
        .map(|(group, cases)| Written {
            path: format!("{}/{group}.t", folder.trim_end_matches('/')),
            bytes: script(group, *cases, &words).into_bytes(),
            program: true,
        })
        .collect();
    let count = many(files.len() as u64, "script");
    (files, format!("{count} in {folder}; go to the directory to check and run: prove -r {folder}\n"))
}

fn script(group: &str, cases: usize, words: &str) -> String {
    format!(
        "#!/bin/sh\n# {} of {group} on the current directory. IODYNO names the program, if it is not in PATH.\n\
         exec \"${{IODYNO:-iodyno}}\" posix --tap --only {group}{words} .\n",
        many(cases as u64, "case")
    )
}

/// What else was said, for every script.
fn words(options: &Options) -> String {
    let mut words = String::new();
    let mut add = |option: &str, value: &str| words.push_str(&format!(" {option} {}", shell(value)));
    options.suite.rules.iter().for_each(|folder| add("--rules", folder));
    options.suite.except.iter().for_each(|pattern| add("--except", pattern));
    options.suite.class.iter().for_each(|class| add("--class", class));
    options.profile.iter().for_each(|profile| add("--profile", profile));
    if options.at_once > 0 {
        add("--at-once", &options.at_once.to_string());
    }
    words
}

/// A word that a shell leaves as it is.
pub fn shell(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:,=+-".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
