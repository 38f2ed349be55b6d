//! What does not fit, as text and back: facts cross from a worker's process in shared memory that holds no pointers.
//!
//! Fields are divided by unit separators, records by record separators; neither occurs in numbers, and paths that hold
//! one are printed with a question mark. Refuses to be read by anyone but the conductor.

use iodyno_model::{Mismatch, Wrong};

const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';

/// As many of them as fit so many bytes.
pub fn encode(mismatches: &[Mismatch], most_bytes: usize) -> String {
    let mut text = String::new();
    for mismatch in mismatches {
        let one = record(mismatch);
        if text.len() + one.len() < most_bytes {
            text.push_str(&one);
            text.push(RECORD);
        }
    }
    text
}

fn record(mismatch: &Mismatch) -> String {
    let (what, at) = number_of(mismatch.what);
    let dumped = mismatch.dumped.clone().unwrap_or_default();
    let plain = |text: &str| text.replace([FIELD, RECORD], "?");
    let fields = [
        plain(&mismatch.file),
        mismatch.offset.to_string(),
        mismatch.bytes.to_string(),
        mismatch.read_offset.to_string(),
        mismatch.read_bytes.to_string(),
        what.to_string(),
        at.to_string(),
        plain(&mismatch.check),
        plain(&mismatch.expected),
        plain(&mismatch.found),
        plain(&dumped.0),
        plain(&dumped.1),
    ];
    fields.join(&FIELD.to_string())
}

/// The records that are whole.
pub fn decode(text: &str) -> Vec<Mismatch> {
    text.split(RECORD).filter_map(one).collect()
}

fn one(record: &str) -> Option<Mismatch> {
    let fields: Vec<&str> = record.split(FIELD).collect();
    let [file, offset, bytes, read_offset, read_bytes, what, at, check, expected, found, received, wanted] =
        fields[..]
    else {
        return None;
    };
    let dumped = (!received.is_empty()).then(|| (received.to_string(), wanted.to_string()));
    Some(Mismatch {
        file: file.into(),
        offset: offset.parse().ok()?,
        bytes: bytes.parse().ok()?,
        read_offset: read_offset.parse().ok()?,
        read_bytes: read_bytes.parse().ok()?,
        what: wrong_of(what.parse().ok()?, at.parse().ok()?),
        check: check.into(),
        expected: expected.into(),
        found: found.into(),
        dumped,
    })
}

const fn number_of(what: Wrong) -> (u8, u64) {
    match what {
        Wrong::Magic => (0, 0),
        Wrong::Length => (1, 0),
        Wrong::Seed => (2, 0),
        Wrong::Offset => (3, 0),
        Wrong::Number => (4, 0),
        Wrong::Header => (5, 0),
        Wrong::Checksum => (6, 0),
        Wrong::Pattern { at } => (7, at),
        Wrong::NotZero { at } => (8, at),
        Wrong::Content => (9, 0),
        Wrong::Marks => (10, 0),
        Wrong::Version => (11, 0),
    }
}

const fn wrong_of(number: u8, at: u64) -> Wrong {
    match number {
        0 => Wrong::Magic,
        1 => Wrong::Length,
        2 => Wrong::Seed,
        3 => Wrong::Offset,
        4 => Wrong::Number,
        5 => Wrong::Header,
        6 => Wrong::Checksum,
        7 => Wrong::Pattern { at },
        8 => Wrong::NotZero { at },
        10 => Wrong::Marks,
        11 => Wrong::Version,
        _ => Wrong::Content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were() {
        let mismatch = |what| Mismatch {
            file: "a dir/f 1".into(),
            offset: 4096,
            bytes: 512,
            read_offset: 0,
            read_bytes: 8192,
            what,
            check: "crc32c".into(),
            expected: "f4a2efa3".into(),
            found: "dbbb7ae9".into(),
            dumped: Some(("f.4096.received".into(), "f.4096.expected".into())),
        };
        let all: Vec<_> = (0..11)
            .map(|number| mismatch(wrong_of(number, if matches!(number, 7 | 8) { 33 } else { 0 })))
            .collect();
        assert_eq!(decode(&encode(&all, 1 << 20)), all);
        assert_eq!(decode(&encode(&all, 300))[..], all[..3]);
    }
}
