//! Cases: scripts whose every step is a system call with an expectation, each run in a process of its own.
//!
//! A conformance suite is a list of them. What a rule is, and in which words it was written, is its dialect's business;
//! here is what is done, by whom, and what must come back. Whether a failure was to be expected on a file system is
//! judged from the [`CaseRecord`], not here.

use crate::reflect::Reflect;

use crate::workload::{Expect, Script};

/// A list of cases on one directory, the job's only target.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Cases {
    /// What some cases need: asked of the file system before the first of them.
    #[reflect(default)]
    pub features: Vec<Feature>,
    /// The cases.
    pub cases: Vec<Case>,
    /// Processes at a time; 0: as many as the machine carries well.
    #[reflect(default)]
    pub at_once: u32,
    /// How long one case may take before it is ended, ns; 0: without end.
    #[reflect(default)]
    pub limit_ns: u64,
    /// What was made for cases that failed stays, to be looked at.
    #[reflect(default)]
    pub keep: bool,
}

/// Something a file system, or its surroundings, may have or not.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Feature {
    /// Its name, as cases need it.
    pub name: String,
    /// What it is, in words.
    pub text: String,
    /// It is there if all of this holds. Empty: something that whoever runs the cases knows by itself (`root`).
    pub probe: Script,
}

/// How binding a rule is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Reflect)]
pub enum Class {
    /// POSIX: shall.
    #[default]
    Shall,
    /// POSIX: may, should, or left to the implementation, which then keeps to it.
    May,
    /// Documented for Linux.
    Linux,
    /// A file system's own promise.
    FileSystem,
}

/// A script and what it shows.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Case {
    /// Its name, unlike any other's: the rule's, and the values it was made for.
    pub name: String,
    /// The rule it checks.
    pub rule: String,
    /// The rule's group.
    pub group: String,
    /// The rule, in one normative sentence.
    pub text: String,
    /// Where the sentence comes from.
    pub source: String,
    /// How binding it is.
    #[reflect(default)]
    pub class: Class,
    /// Names of [features](Feature) without which it is not applicable.
    #[reflect(default)]
    pub needs: Vec<String>,
    /// Nothing else runs beside it: it fills a file system, or moves what all stand on.
    #[reflect(default)]
    pub alone: bool,
    /// What is done. Each [`Action::Block`](crate::Action::Block) at the top is a round: it begins in an empty directory
    /// of its own, and what fails there concerns no other.
    pub script: Script,
}

/// A system call by its name, with its arguments as words, and what must come back.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Call {
    /// The call (`openat`), or a helper that says several at once (`make`).
    pub name: String,
    /// Its arguments. What begins with `$` is known only where it runs: `$before.ctime`, `$NAME_MAX`. Bytes that are no
    /// UTF-8 are written as [`word`] writes them.
    #[reflect(default)]
    pub arguments: Vec<String>,
    /// Who does it: an index into `Script::actors`; none: whoever runs the case.
    #[reflect(default)]
    pub actor: Option<usize>,
    /// Nobody waits for it; a later `await` of the same actor takes its answer.
    #[reflect(default)]
    pub background: bool,
    /// What must come back: a check each. None: it must succeed, and is no check but a part of the set-up.
    #[reflect(default)]
    pub expect: Vec<Expect>,
}

/// Bytes as a word of a [`Call`]: what is no UTF-8 becomes U+F700 and the byte, a character that nobody uses.
pub fn word(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(0xf700 + u32::from(*byte))));
    }
    text
}

/// The bytes that a [`word`] means.
pub fn word_bytes(word: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    for letter in word.chars() {
        match u32::from(letter) {
            code @ 0xf780..=0xf7ff => bytes.push((code - 0xf700) as u8),
            _ => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// What became of a case.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct CaseRecord {
    /// Its index in [`Cases::cases`].
    pub case: usize,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// How many checks it has.
    pub checks: u32,
    /// How many of them passed.
    pub passed: u32,
    /// Those that did not, in order.
    #[reflect(default)]
    pub verdicts: Vec<Verdict>,
    /// Why it ended before its end: `took longer than 10 s`, `killed by SIGBUS`.
    #[reflect(default)]
    pub broken: Option<String>,
    /// Where what it made can be looked at, if it stayed: a directory.
    #[reflect(omit_empty)]
    pub kept: Option<String>,
}

/// What became of a check that did not pass.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Verdict {
    /// Which check, counted over the whole case.
    pub check: u32,
    /// The round, by its label.
    #[reflect(default)]
    pub round: String,
    /// The step, by index in its round.
    pub step: u32,
    /// The call as it was made, with who made it.
    pub call: String,
    /// What was expected.
    pub expected: String,
    /// What came instead.
    pub got: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a check ended, if it did not pass. Never a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Outcome {
    /// What came back is against the rule.
    #[default]
    Fail,
    /// It was left out by whoever runs it, or by what he may: the reason.
    Skip(String),
    /// The file system does not have what it is about: the feature that is missing.
    NotApplicable(String),
    /// Something that it builds on failed or broke off: what.
    CouldNotRun(String),
    /// The time limit of its case passed before it was made: where the case stood.
    TimedOut(String),
}

/// What an exercise works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum ExerciseKind {
    /// The content of files, one operation or a few at a time, as fsx does.
    #[default]
    Content,
    /// Names: processes race in a small directory tree, and some order of their calls must explain what each of them was
    /// answered.
    Names,
}

/// A long random run against a model in memory.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Exercise {
    /// What it works on.
    #[reflect(default)]
    pub kind: ExerciseKind,
    /// Operations to do (of names: races to run); 0: until the time limit.
    pub operations: u64,
    /// The longest the file may become, bytes.
    pub file_bytes: u64,
    /// Maximum size of an operation, bytes.
    pub operation_bytes: u64,
    /// How often what is drawn, relative to the others; what is not named is not done.
    pub weights: Vec<(String, u32)>,
    /// Engines through which reads and writes go.
    pub engines: Vec<String>,
    /// Done instead of anything drawn: what an earlier run wrote down.
    #[reflect(default)]
    pub script: Vec<String>,
    /// Races after which it goes on, each as the lines of its script.
    #[reflect(default)]
    pub known: Vec<String>,
}

/// What an exercise came to.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ExerciseRecord {
    /// Operations done, by name.
    pub done: Vec<(String, u64)>,
    /// Operations by the engine they went through, of those that have a choice.
    #[reflect(default)]
    pub through: Vec<(String, u64)>,
    /// Operations that failed where that is no fault (no space left), by name and answer.
    #[reflect(default)]
    pub failed: Vec<(String, u64)>,
    /// What the file system does not have, by name, and its answer.
    #[reflect(default)]
    pub refused: Vec<(String, String)>,
    /// Where file and model parted, if they did.
    #[reflect(default)]
    pub failure: Option<Divergence>,
}

/// Where the file and its model part.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Divergence {
    /// The operation, counted from 0.
    pub operation: u64,
    /// What it found, in words.
    pub text: String,
    /// The shortest script found that shows the same.
    pub script: Vec<String>,
    /// How many operations it was reduced from.
    pub reduced_from: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_any_bytes() {
        for bytes in [&b"plain"[..], b"a\xffb\xc3\xa4\xc3", b"", b"\0\n"] {
            assert_eq!(word_bytes(&word(bytes)), bytes);
        }
    }
}
