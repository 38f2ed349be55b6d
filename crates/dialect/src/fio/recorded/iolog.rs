//! fio's iolog: a line for each operation; version 3 begins each with its time, version 2 may say `wait`.
//!
//! Lines that are none are noted and skipped, as fio does. What works on a file that is not open is refused: fio itself
//! crashes there.

use iodyno_model::{Timing, TraceEntry, Verb};

use super::{How, Recording};

/// Reads an iolog.
///
/// # Errors
/// No version that is known, or a line that works on a file that is not open.
pub fn read(bytes: &[u8], how: &How) -> Result<Recording, String> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let stamped = match () {
        () if first.starts_with(b"fio version 2 iolog") => false,
        () if first.starts_with(b"fio version 3 iolog") => true,
        () if first.starts_with(b"fio version") => return Err("only versions 2 and 3 are played back".into()),
        () => return Err("it is neither an iolog of fio nor a blktrace".into()),
    };
    let timing = match (how.no_stall, stamped) {
        (true, _) => Timing::AsFast,
        (false, true) => Timing::Gaps,
        (false, false) => Timing::NoEarlier,
    };
    let recording = Recording { timing, ..Recording::default() };
    let mut reader = IologReader { how, stamped, recording, open: Vec::new(), last_us: 0, pause_ns: 0 };
    for (number, line) in lines.enumerate() {
        if !line.trim_ascii().is_empty() {
            reader
                .line(&String::from_utf8_lossy(line))
                .map_err(|why| format!("line {}: {why}", number + 2))?;
        }
    }
    Ok(reader.recording)
}

struct IologReader<'a> {
    how: &'a How,
    stamped: bool,
    recording: Recording,
    /// Which files are open.
    open: Vec<bool>,
    /// The stamp of the line before, µs.
    last_us: u64,
    /// Version 3: what has passed since the last operation, ns. Version 2: what the last `wait` waits for, since the start.
    pause_ns: u64,
}

impl IologReader<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        if self.stamped {
            let Some(at_us) = words.next().and_then(leading_number) else { return self.bad(line) };
            let gap_ns = at_us.saturating_sub(self.last_us).saturating_mul(1000);
            self.pause_ns = self.pause_ns.saturating_add(self.how.scaled(gap_ns));
            self.last_us = at_us;
        }
        let (Some(file), Some(word)) = (words.next(), words.next()) else { return self.bad(line) };
        let file = self.how.redirect.clone().unwrap_or_else(|| file.into());
        match (words.next().and_then(leading_number), words.next().and_then(leading_number)) {
            (Some(offset), Some(bytes)) => self.operation(&file, word, offset, bytes),
            (None, _) => self.event(&file, word),
            _ => self.bad(line),
        }
    }

    fn bad(&mut self, line: &str) -> Result<(), String> {
        let version = if self.stamped { 3 } else { 2 };
        self.recording.note(format!("bad iolog{version}: {line}"));
        Ok(())
    }

    /// A line without a place.
    fn event(&mut self, file: &str, word: &str) -> Result<(), String> {
        let known = self.recording.files.iter().position(|name| name == file);
        match (word, known) {
            ("add", _) => {
                let index = self.recording.file(file);
                self.open.resize(self.recording.files.len().max(index + 1), false);
            }
            ("open", Some(index)) => self.open[index] = true,
            // Several files in one are open until the end.
            ("close", Some(index)) => self.open[index] = self.how.redirect.is_some(),
            ("open" | "close", None) => return Err(format!("{file}: no line adds this file")),
            _ => self.recording.note(format!("fio: bad iolog file action: {word}")),
        }
        Ok(())
    }

    fn operation(&mut self, file: &str, word: &str, offset: u64, bytes: u64) -> Result<(), String> {
        let verb = match word {
            "read" => Verb::Read,
            "write" => Verb::Write,
            "trim" => Verb::Discard,
            "sync" => Verb::Fsync,
            "datasync" => Verb::Fdatasync,
            "wait" => return self.wait(offset),
            _ => {
                self.recording.note(format!("fio: bad iolog file action: {word}"));
                return Ok(());
            }
        };
        let target = self.recording.files.iter().position(|name| name == file);
        let target = target.ok_or_else(|| format!("{file}: no line adds this file"))?;
        if !self.open[target] {
            return Err(format!("{file}: no line opens this file before it is used"));
        }
        let entry = TraceEntry { at_ns: self.pause_ns, verb, target, offset, bytes };
        let left_out = self.recording.add(self.how, entry);
        if self.stamped && !left_out {
            self.pause_ns = 0;
        }
        Ok(())
    }

    /// Version 2 waits until so many ms after the start.
    fn wait(&mut self, until_ms: u64) -> Result<(), String> {
        if self.stamped && !self.how.no_stall {
            return Err("`wait` in a log that has times (version 3) is not served".into());
        }
        if !self.how.no_stall {
            self.pause_ns = self.pause_ns.max(until_ms.saturating_mul(1_000_000));
        }
        Ok(())
    }
}

/// The number that a word begins with.
fn leading_number(word: &str) -> Option<u64> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    word[..digits].parse().ok()
}
