//! No option is silently ignored: each one that the table calls done is read somewhere, by its first name.
//!
//! It refuses to believe the table: it looks into the sources of what follows after it.

use std::path::Path;

use iodyno_dialect::fio::DIALECT;
use iodyno_dialect::fio::lower::engine::{Form, SETTINGS};
use iodyno_dialect::fio::options::{JobOption, OPTIONS};
use iodyno_dialect::option::Status;

use crate::shelf::Shelf;

/// Options that are done and read nowhere, each with the reason.
const EXCEPTIONS: [(&str, &[&str]); 2] = [
    ("traces are read as they are played back, chunked or not", &["read_iolog_chunked"]),
    ("its words that are not refused say what is found by looking", &["filetype"]),
];

/// Values that the table calls done and that are refused all the same, each with the reason.
const REFUSED_BY_ENGINE: [(&str, &str); 1] = [("sg", "hipri")];

/// What reads options: everything of the dialect but the table, its readers and its printers.
const READERS: [&str; 6] = ["lower", "log", "report", "gather.rs", "cli.rs", "client.rs"];

/// All text of a file, or of the files below a directory, without tests.
fn sources(path: &Path) -> String {
    if path.is_file() {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        return text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| !path.ends_with("tests.rs")).map(|path| sources(&path)).collect()
}

fn read_by_the_dialect() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fio");
    READERS.iter().map(|name| sources(&root.join(name))).collect()
}

#[test]
fn what_is_done_is_read() {
    let text = read_by_the_dialect();
    assert!(text.len() > 100_000, "the sources are where they were: {}", text.len());
    let done = OPTIONS.iter().filter(|row| row.entry.status == Status::Done).map(|row| row.entry.name);
    let unread: Vec<_> = done.filter(|name| !text.contains(&format!("\"{name}\""))).collect();
    let excepted: Vec<_> = EXCEPTIONS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let silent: Vec<_> = unread.iter().filter(|name| !excepted.contains(name)).collect();
    assert!(silent.is_empty(), "read nowhere, so silently ignored: {silent:?}");
    let outlived: Vec<_> = excepted.iter().filter(|name| !unread.contains(name)).collect();
    assert!(outlived.is_empty(), "no exceptions any more: {outlived:?}");
}

#[test]
fn options_of_an_engine_reach_it() {
    let text = read_by_the_dialect();
    // These turn options into something else than a setting of their own.
    let lower = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fio/lower");
    let apart = ["peers.rs", "priority.rs", "objects.rs"].map(|name| sources(&lower.join(name))).concat();
    let mut silent = Vec::new();
    for row in OPTIONS.iter().filter(|row| row.entry.status == Status::Done) {
        for engine in row.rule.engines {
            let set = |(name, ..): &(&str, &str, Form)| *name == row.entry.name;
            let served = text.contains(&format!("(\"{engine}\", EngineClass::"));
            let read_apart = apart.contains(&format!("\"{}\"", row.entry.name));
            if served && !read_apart && !SETTINGS.iter().any(set) {
                silent.push(format!("{engine}: {}", row.entry.name));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

/// The values of an option that its table calls done: its words, or its default, or a number.
fn values(row: &JobOption) -> Vec<String> {
    let words = row.entry.words().iter().filter(|word| !matches!(word.status, Status::Refused(..)));
    let words: Vec<String> = words.map(|word| word.name.to_string()).collect();
    match (words.is_empty(), row.entry.is_flag()) {
        (false, _) => words,
        (true, true) => vec!["1".into()],
        (true, false) => vec![row.entry.default.to_string(), "1".into(), "64k".into()],
    }
}

/// The document says "yes" of nothing that is refused: every option that the table calls done, with every word of it, is
/// lowered by a job of each engine that has it. What is wrong with such a job may be what it lacks, but not that the option
/// is not served.
#[test]
fn what_the_document_calls_done_is_not_refused() {
    let mut refused = Vec::new();
    let mut tried = 0;
    for row in OPTIONS.iter().filter(|row| row.entry.status == Status::Done) {
        let engines = if row.rule.engines.is_empty() { &["psync"][..] } else { row.rule.engines };
        for (engine, value) in
            engines.iter().flat_map(|engine| values(row).into_iter().map(move |value| (engine, value)))
        {
            let name = row.entry.name;
            let line = if value.is_empty() { name.to_string() } else { format!("{name}={value}") };
            let text = format!("[a]\nioengine={engine}\nsize=1m\nrw=randwrite\n{line}\n");
            tried += 1;
            let Err(wrong) = (DIALECT.lower)(&["j".to_string()], &mut Shelf::of(&[("j", &text)])) else {
                continue;
            };
            let told = format!("{wrong:?}");
            let not_served = ["not served", "not supported", "not done", "is not here"];
            if not_served.iter().any(|words| told.contains(words))
                && !REFUSED_BY_ENGINE.contains(&(engine, name))
                && !told.contains("`ioengine=")
            {
                refused.push(format!("{engine}: {line}"));
            }
        }
    }
    assert!(tried > 600, "{tried}");
    assert_eq!(refused, Vec::<String>::new());
}
