//! Telemetry: lists of what is to be written or read (`-X`, `-Y`), a line for each operation.
//!
//! ```text
//!   # offset  bytes  ms before it
//!   0         65536  0
//!   65536     4096
//! ```
//! It refuses every line that is none, all of them at once.

use iodyno_model::{Diagnostic, Origin, Timing, Trace, TraceEntry, Verb};

/// The largest offset and length, bytes, and the longest pause, ms.
const MOST: (u64, u64) = (1 << 60, 1 << 32);
/// The longest operation, bytes.
const LONGEST: u64 = 1 << 30;
/// So many wrong lines are told; the rest would say no more.
const TOLD: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOperation {
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub bytes: u64,
    /// The pause before it, ns.
    pub pause_ns: u64,
}

/// The operations of a list.
///
/// # Errors
/// Every line that is none; a list without any.
pub fn parse(path: &str, text: &str) -> Result<Vec<TimedOperation>, Vec<Diagnostic>> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let moments =
        parse_lines(path, lines, "no operation", "a line is OFFSET BYTES [MS], in whole numbers", moment)?;
    if moments.is_empty() {
        let wrong = Diagnostic::error(&Origin::file(path, 1), "no operation in it");
        return Err(vec![wrong.hint("a line is OFFSET BYTES [MS]")]);
    }
    Ok(moments)
}

/// What each line of a file means, by its index.
///
/// # Errors
/// The first lines that mean nothing.
pub fn parse_lines<'a, T>(
    path: &str,
    lines: impl Iterator<Item = (usize, &'a str)>,
    message: &str,
    hint: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Vec<Diagnostic>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for (index, line) in lines {
        match parse(line) {
            Some(item) => found.push(item),
            None => wrong.push(Diagnostic::error(&Origin::file(path, index as u32 + 1), message).hint(hint)),
        }
    }
    wrong.truncate(TOLD);
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn moment(line: &str) -> Option<TimedOperation> {
    let words: Vec<u64> = line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let (offset, bytes, pause_ms) = match words[..] {
        [offset, bytes] => (offset, bytes, 0),
        [offset, bytes, pause_ms] => (offset, bytes, pause_ms),
        _ => return None,
    };
    let fits = offset <= MOST.0 && (1..=LONGEST).contains(&bytes) && pause_ms <= MOST.1;
    fits.then(|| TimedOperation { offset, bytes, pause_ns: pause_ms * 1_000_000 })
}

/// Whether there is a pause anywhere.
pub fn pauses(moments: &[TimedOperation]) -> bool {
    moments.iter().any(|moment| moment.pause_ns > 0)
}

/// Where the last byte lies, one past it.
pub fn end(moments: &[TimedOperation]) -> u64 {
    moments.iter().map(|moment| moment.offset + moment.bytes).max().unwrap_or(0)
}

/// The list as a trace on a job's only target.
pub fn trace(moments: &[TimedOperation], verb: Verb) -> Trace {
    let entry = |moment: &TimedOperation| TraceEntry {
        at_ns: moment.pause_ns,
        verb,
        target: 0,
        offset: moment.offset,
        bytes: moment.bytes,
        repeat: 1,
    };
    let timing = if pauses(moments) { Timing::Pauses } else { Timing::AsFast };
    Trace::of(moments.iter().map(entry).collect(), timing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_operation() {
        let list = parse("l", "# x\n0 65536 0\n\n 65536 4096\n4096 512 7\n").unwrap();
        assert_eq!((list.len(), end(&list), pauses(&list)), (3, 69_632, true));
        assert_eq!(list[2], TimedOperation { offset: 4096, bytes: 512, pause_ns: 7_000_000 });
        assert_eq!(trace(&list, Verb::Read).timing, Timing::Pauses);
        assert_eq!(trace(&list[..2], Verb::Read).timing, Timing::AsFast);
    }

    #[test]
    fn every_wrong_line_is_told() {
        let wrong = parse("l", "0\n0 0\n0 4096\n-1 4096\n0 4096 1 1\nx y\n0 9999999999\n").unwrap_err();
        let lines: Vec<String> = wrong.iter().map(|wrong| wrong.origin.to_string()).collect();
        assert_eq!(lines, ["l:1", "l:2", "l:4", "l:5", "l:6", "l:7"]);
        assert_eq!(parse("l", "# nothing\n").unwrap_err().len(), 1);
        let many = "x\n".repeat(5000);
        assert_eq!(parse("l", &many).unwrap_err().len(), TOLD);
    }

    #[test]
    fn nothing_that_is_read_panics() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..5000 {
            let text: String = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    b"0123456789 \n\t#-.\xe9k"[(state >> 40) as usize % 18] as char
                })
                .collect();
            let _ = parse("l", &text);
        }
    }
}
