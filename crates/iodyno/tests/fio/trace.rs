//! The list of I/Os that a program says it issued: fio's iolog, versions 2 and 3.
//!
//! Only reads, writes and trims are I/Os here; opens, closes and syncs are counted by the JSON.

use std::collections::BTreeSet;
use std::path::Path;

/// One I/O.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Io {
    /// The file, as the job named it.
    pub file: String,
    /// `read`, `write` or `trim`.
    pub verb: String,
    /// Where it began.
    pub offset: u64,
    /// How many bytes it asked for.
    pub bytes: u64,
}

/// Reads an iolog.
///
/// # Errors
/// A sentence, when the file cannot be read or a line is none of an iolog's.
pub fn read(path: &Path) -> Result<Vec<Io>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Io>, String> {
    let mut lines = text.lines();
    let stamped = match lines.next() {
        Some("fio version 2 iolog") => false,
        Some("fio version 3 iolog") => true,
        other => return Err(format!("an iolog begins with its version, not with {other:?}")),
    };
    let ios = lines.map(|line| io(line, stamped)).collect::<Result<Vec<_>, _>>()?;
    Ok(ios.into_iter().flatten().collect())
}

fn io(line: &str, stamped: bool) -> Result<Option<Io>, String> {
    let wrong = || format!("`{line}` is no line of an iolog");
    // From the right: a file's name may hold blanks.
    let stamp = if stamped { line.split_once(' ').ok_or_else(wrong)?.1 } else { line };
    let fields: Vec<&str> = stamp.rsplitn(4, ' ').collect();
    if let [bytes, offset, verb @ ("read" | "write" | "trim"), file] = fields[..] {
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let io = Io { file: file.into(), verb: verb.into(), offset: number(offset)?, bytes: number(bytes)? };
        return Ok(Some(io));
    }
    let known = ["add", "open", "close", "sync", "datasync", "wait"];
    if stamp.split(' ').any(|word| known.contains(&word)) { Ok(None) } else { Err(wrong()) }
}

/// The blocks touched, each once, by file and verb.
pub fn blocks(ios: &[Io]) -> BTreeSet<&Io> {
    ios.iter().collect()
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![("trace_both_versions_are_read", both_versions_are_read)]
}

fn both_versions_are_read() {
    let second = parse("fio version 2 iolog\na b.0 add\na b.0 open\na b.0 read 4096 512\na b.0 close\n");
    let third =
        parse("fio version 3 iolog\n3 a b.0 add\n4 a b.0 open\n9 a b.0 read 4096 512\n12 a b.0 sync 0 0\n");
    assert_eq!(second, third);
    assert_eq!(second.expect("an iolog")[0].offset, 4096);
    assert!(parse("no iolog\n").is_err());
    assert!(parse("fio version 2 iolog\nnonsense\n").is_err());
}
