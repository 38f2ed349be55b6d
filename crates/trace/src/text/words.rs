//! The words of the text, as both sides know them.

use crate::{FileKind, RecordFlags, TraceClock, TraceLevel};

pub const LEVELS: [(&str, TraceLevel); 2] = [("block", TraceLevel::Block), ("file", TraceLevel::File)];

pub const CLOCKS: [(&str, TraceClock); 3] = [
    ("relative", TraceClock::Relative),
    ("realtime", TraceClock::Realtime),
    ("monotonic", TraceClock::Monotonic),
];

pub const KINDS: [(&str, FileKind); 5] = [
    ("file", FileKind::File),
    ("device", FileKind::Device),
    ("directory", FileKind::Directory),
    ("link", FileKind::Link),
    ("other", FileKind::Other),
];

/// The names of flags.
pub const FLAGS: [(&str, RecordFlags); 16] = [
    ("preflush", RecordFlags::PREFLUSH),
    ("fua", RecordFlags::FUA),
    ("sync", RecordFlags::SYNC),
    ("meta", RecordFlags::META),
    ("readahead", RecordFlags::READAHEAD),
    ("direct", RecordFlags::DIRECT),
    ("append", RecordFlags::APPEND),
    ("mapped", RecordFlags::MAPPED),
    ("created", RecordFlags::CREATED),
    ("truncated", RecordFlags::TRUNCATED),
    ("spread", RecordFlags::SPREAD),
    ("keepsize", RecordFlags::KEEPS_SIZE),
    ("collapse", RecordFlags::COLLAPSES),
    ("insert", RecordFlags::INSERTS),
    ("unshare", RecordFlags::UNSHARES),
    ("samerange", RecordFlags::SAME_RANGE),
];

/// The word of a value.
pub fn word<T: PartialEq>(list: &[(&'static str, T)], value: &T) -> &'static str {
    list.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

/// The value of a word; else what there is.
pub fn value<T: Copy>(list: &[(&'static str, T)], word: &str) -> Result<T, String> {
    let found = list.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<&str> = list.iter().map(|(word, _)| *word).collect();
        format!("one of {}", known.join(", "))
    })
}

/// Names with commas; bits without a name as one number.
pub fn flag_words(flags: RecordFlags) -> String {
    let named = FLAGS.iter().filter(|(_, flag)| flags.has(*flag));
    let rest = named.clone().fold(flags.0, |rest, (_, flag)| rest & !flag.0);
    let mut words: Vec<String> = named.map(|(name, _)| (*name).into()).collect();
    if rest != 0 {
        words.push(rest.to_string());
    }
    words.join(",")
}

/// Text within a line.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// The text that [`escaped`] was given; none: a backslash without a meaning.
pub fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(plain)
}
