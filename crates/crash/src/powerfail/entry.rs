//! The log of promises as text: a line for each entry, with a checksum at its end.
//!
//! ```text
//! iodyno-powerfail/1 run=5eed… target=directory blocks=64 threads=2 xattr=yes modes=fsync,replace 9a3b01c2
//! ready 0 1700000000000000000 4b1c…
//! begin 0 1700000000000000000 replace replace-3 g7 b0 c1 77aa…
//! kept 0 1700000000000100000 g7 13fe…
//! end 0 1700000009000000000 0c11…
//! ```

use std::fmt;

use super::step::{PromiseStep, PromisedObject, SyncMode};

/// How a log begins.
pub const MAGIC: &str = "iodyno-powerfail/1";

/// What a writer works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHeader {
    pub run: u64,
    pub is_device: bool,
    /// Blocks of each thread's file, or of each thread's part of a device.
    pub blocks: u64,
    pub threads: u32,
    /// Whether steps of attributes set an extended one.
    pub has_xattr: bool,
    pub modes: Vec<SyncMode>,
}

/// An entry of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEntry {
    /// All that steps need is laid out and durable.
    Ready,
    /// A step begins.
    Begin(PromiseStep),
    /// The durability call of the thread's step with this generation has returned.
    Kept(u32),
    /// The thread ended as it was asked.
    End,
    /// The trigger is pulled now: what returns from here on may race with it, and promises nothing.
    Cut,
}

/// An entry, with its thread and the wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine {
    pub thread: u32,
    pub at_unix_ns: u64,
    pub entry: LogEntry,
}

/// A line with its checksum and its end.
pub fn sealed(text: &str) -> String {
    format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes()))
}

/// The text of a line whose checksum is right.
pub fn unsealed(line: &str) -> Option<&str> {
    let (text, sum) = line.rsplit_once(' ')?;
    let sum = (sum.len() == 8).then(|| u32::from_str_radix(sum, 16).ok()).flatten()?;
    (crc32c::crc32c(text.as_bytes()) == sum).then_some(text)
}

impl fmt::Display for LogHeader {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let target = if self.is_device { "device" } else { "directory" };
        let xattr = if self.has_xattr { "yes" } else { "no" };
        let modes: Vec<_> = self.modes.iter().map(|mode| mode.name()).collect();
        write!(
            f,
            "{MAGIC} run={:016x} target={target} blocks={} threads={} xattr={xattr} modes={}",
            self.run,
            self.blocks,
            self.threads,
            modes.join(",")
        )
    }
}

impl LogHeader {
    pub fn parse(text: &str) -> Option<LogHeader> {
        let mut words = text.split(' ');
        if words.next() != Some(MAGIC) {
            return None;
        }
        let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let run = u64::from_str_radix(value("run")?, 16).ok()?;
        let is_device = match value("target")? {
            "device" => true,
            "directory" => false,
            _ => return None,
        };
        Some(LogHeader {
            run,
            is_device,
            blocks: value("blocks")?.parse().ok()?,
            threads: value("threads")?.parse().ok()?,
            has_xattr: value("xattr")? == "yes",
            modes: value("modes")?.split(',').map(SyncMode::named).collect::<Option<_>>()?,
        })
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let LogLine { thread, at_unix_ns, entry } = self;
        match entry {
            LogEntry::Ready => write!(f, "ready {thread} {at_unix_ns}"),
            LogEntry::Begin(step) => {
                let PromiseStep { mode, object, generation, first, count } = step;
                let (of, number) = (object.mode.name(), object.number);
                let mode = mode.name();
                write!(f, "begin {thread} {at_unix_ns} {mode} {of}-{number} g{generation} b{first} c{count}")
            }
            LogEntry::Kept(generation) => write!(f, "kept {thread} {at_unix_ns} g{generation}"),
            LogEntry::End => write!(f, "end {thread} {at_unix_ns}"),
            LogEntry::Cut => write!(f, "cut {thread} {at_unix_ns}"),
        }
    }
}

impl LogLine {
    pub fn parse(text: &str) -> Option<LogLine> {
        let words: Vec<&str> = text.split(' ').collect();
        let (kind, rest) = words.split_first()?;
        let (thread, at_unix_ns) = (rest.first()?.parse().ok()?, rest.get(1)?.parse().ok()?);
        let entry = match (*kind, &rest[2..]) {
            ("ready", []) => LogEntry::Ready,
            ("end", []) => LogEntry::End,
            ("cut", []) => LogEntry::Cut,
            ("kept", [generation]) => LogEntry::Kept(prefixed(generation, 'g')?),
            ("begin", [mode, object, generation, first, count]) => {
                let (of, number) = object.rsplit_once('-')?;
                let object =
                    PromisedObject { thread, mode: SyncMode::named(of)?, number: number.parse().ok()? };
                LogEntry::Begin(PromiseStep {
                    mode: SyncMode::named(mode)?,
                    object,
                    generation: prefixed(generation, 'g')?,
                    first: prefixed(first, 'b')?,
                    count: prefixed(count, 'c')?,
                })
            }
            _ => return None,
        };
        Some(LogLine { thread, at_unix_ns, entry })
    }
}

fn prefixed<T: std::str::FromStr>(word: &str, letter: char) -> Option<T> {
    word.strip_prefix(letter)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let object = PromisedObject { thread: 3, mode: SyncMode::Create, number: 12 };
        let step = PromiseStep { mode: SyncMode::Remove, object, generation: 99, first: 4, count: 2 };
        for entry in
            [LogEntry::Ready, LogEntry::Begin(step), LogEntry::Kept(99), LogEntry::End, LogEntry::Cut]
        {
            let line = LogLine { thread: 3, at_unix_ns: 17, entry };
            let text = sealed(&line.to_string());
            assert_eq!(unsealed(text.trim_end()).and_then(LogLine::parse), Some(line));
        }
        let header = LogHeader {
            run: 0xabc,
            is_device: true,
            blocks: 9,
            threads: 2,
            has_xattr: false,
            modes: vec![SyncMode::Flush, SyncMode::Fua],
        };
        assert_eq!(LogHeader::parse(&header.to_string()), Some(header));
    }

    #[test]
    fn a_cut_or_changed_line_is_none() {
        let text = sealed("kept 0 17 g5");
        let text = text.trim_end();
        assert!((0..text.len()).all(|cut| unsealed(&text[..cut]).is_none()));
        assert_eq!(unsealed(&text.replace("g5", "g6")), None);
    }
}
