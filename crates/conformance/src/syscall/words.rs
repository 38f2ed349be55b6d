//! Arguments as words: what each call wants, and how a word becomes a number, a descriptor, a pointer.
//!
//! Everything is read before anything is done, so that a call with a wrong word does nothing. It refuses to guess: an
//! unknown flag is an error with its nearest neighbour, never a 0.

use std::ffi::{CString, c_char, c_int};

/// Bytes as a word, and the bytes that a word means.
pub use iodyno_model::{word as text, word_bytes as bytes};

use super::fd_table::Hands;
use super::flags::FlagNames;

#[derive(Clone, Copy, Debug)]
pub enum ArgumentKind {
    /// A path; `NULL` and `DEADCODE` are bad pointers.
    Path,
    /// A descriptor: a label, `AT_FDCWD`, `BADFD`.
    Fd,
    /// What was opened under a label: a directory stream, a mapping.
    Held,
    /// A whole number, `0x` and a leading `0` as in C.
    Number,
    /// A whole number, or `-` for none.
    Offset,
    /// Bytes.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Names of constants, joined by `|` or `,`.
    Flags(FlagNames),
    /// One constant, by name or number.
    One(FlagNames),
    /// What is left, at least one of it.
    Many(&'static ArgumentKind),
}

/// An argument that was read.
#[derive(Clone, Debug)]
enum Value {
    Text(CString),
    Bytes(Vec<u8>),
    Bad(usize),
    Fd(c_int),
    Held(usize),
    Number(i64),
    Nothing,
}

/// The arguments of one call, read. What is absent, or of another kind, is a null pointer, descriptor -1, 0, or empty.
#[derive(Clone, Debug, Default)]
pub struct CallArguments {
    values: Vec<Value>,
    /// Under which label it keeps what it opens.
    pub label: String,
}

/// Where no program has anything: the `DEADCODE` of suites.
const DEADCODE: usize = 0xdead_c0de;

impl CallArguments {
    /// Reads the words of a call that wants the first, and may have the second kinds. Without hands any label will do,
    /// and so does what begins with `$`.
    ///
    /// # Errors
    /// A word is missing, is one too many, or makes no sense.
    pub fn read(
        hands: Option<&Hands>,
        wanted: &[ArgumentKind],
        welcome: &[ArgumentKind],
        words: &[String],
        label: &str,
    ) -> Result<CallArguments, String> {
        let kinds: Vec<ArgumentKind> = wanted.iter().chain(welcome).copied().collect();
        let endless = matches!(kinds.last(), Some(ArgumentKind::Many(_)));
        if words.len() < wanted.len() || (words.len() > kinds.len() && !endless) {
            return Err(format!("{} arguments, not {}", counted(wanted, &kinds), words.len()));
        }
        let kind = |index: usize| match kinds[index.min(kinds.len() - 1)] {
            ArgumentKind::Many(kind) => *kind,
            kind => kind,
        };
        let values = words.iter().enumerate().map(|(index, word)| value(hands, kind(index), word));
        Ok(CallArguments { values: values.collect::<Result<_, _>>()?, label: label.into() })
    }

    /// How many arguments there are.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Whether the argument is there, and is not `-`.
    pub fn has(&self, index: usize) -> bool {
        self.values.get(index).is_some_and(|value| !matches!(value, Value::Nothing))
    }

    /// A path; may be a bad pointer, on purpose.
    pub fn path(&self, index: usize) -> *const c_char {
        match self.values.get(index) {
            Some(Value::Text(text)) => text.as_ptr(),
            Some(Value::Bad(address)) => *address as *const c_char,
            _ => std::ptr::null(),
        }
    }

    /// Whether a path is a bad pointer.
    pub fn is_bad(&self, index: usize) -> bool {
        matches!(self.values.get(index), Some(Value::Bad(_)))
    }

    /// A path as text; of a bad pointer nothing.
    pub fn name(&self, index: usize) -> &[u8] {
        match self.values.get(index) {
            Some(Value::Text(text)) => text.as_bytes(),
            _ => &[],
        }
    }

    /// A descriptor.
    pub fn fd(&self, index: usize) -> c_int {
        match self.values.get(index) {
            Some(Value::Fd(fd)) => *fd,
            _ => -1,
        }
    }

    /// An index into what the hands hold.
    pub fn held(&self, index: usize) -> usize {
        match self.values.get(index) {
            Some(Value::Held(index)) => *index,
            _ => usize::MAX,
        }
    }

    /// A number, or flags.
    pub fn number(&self, index: usize) -> i64 {
        match self.values.get(index) {
            Some(Value::Number(number)) => *number,
            _ => 0,
        }
    }

    /// A number where the C library wants an `int`.
    pub fn int(&self, index: usize) -> c_int {
        self.number(index) as c_int
    }

    /// Permission bits.
    pub fn mode(&self, index: usize) -> libc::mode_t {
        self.number(index) as libc::mode_t
    }

    /// A user's or a group's number; -1: as it is.
    pub fn id(&self, index: usize) -> u32 {
        self.number(index) as u32
    }

    pub fn bytes(&self, index: usize) -> &[u8] {
        match self.values.get(index) {
            Some(Value::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Bytes as text.
    pub fn text(&self, index: usize) -> String {
        text(self.bytes(index))
    }
}

fn counted(wanted: &[ArgumentKind], kinds: &[ArgumentKind]) -> String {
    match kinds.last() {
        Some(ArgumentKind::Many(_)) => format!("it wants at least {}", wanted.len()),
        _ if wanted.len() == kinds.len() => format!("it wants {}", wanted.len()),
        _ => format!("it wants {} to {}", wanted.len(), kinds.len()),
    }
}

fn value(hands: Option<&Hands>, kind: ArgumentKind, word: &str) -> Result<Value, String> {
    if hands.is_none() && word.contains('$') {
        return Ok(Value::Nothing);
    }
    Ok(match kind {
        ArgumentKind::Path if word == "NULL" => Value::Bad(0),
        ArgumentKind::Path if word == "DEADCODE" => Value::Bad(DEADCODE),
        ArgumentKind::Path => {
            Value::Text(CString::new(bytes(word)).map_err(|_| format!("`{word}`: a path holds no NUL byte"))?)
        }
        ArgumentKind::Fd => Value::Fd(descriptor(hands, word)?),
        ArgumentKind::Held => {
            let Some(hands) = hands else { return Ok(Value::Nothing) };
            Value::Held(hands.find(word).ok_or_else(|| format!("`{word}`: nothing is held under it"))?)
        }
        ArgumentKind::Offset if word == "-" => Value::Nothing,
        ArgumentKind::Number | ArgumentKind::Offset => Value::Number(
            number(word)
                .ok_or_else(|| format!("`{word}`: expected a whole number, as `-1`, `0644` or `0x10`"))?,
        ),
        ArgumentKind::Text => Value::Bytes(bytes(word)),
        ArgumentKind::Word(known) => match known.contains(&word) {
            true => Value::Bytes(word.as_bytes().to_vec()),
            false => return Err(format!("`{word}`: expected {}", known.join(", "))),
        },
        ArgumentKind::Flags(names) => Value::Number(names.join(word)?),
        ArgumentKind::One(names) => Value::Number(names.one(word)?),
        ArgumentKind::Many(kind) => return value(hands, *kind, word),
    })
}

fn descriptor(hands: Option<&Hands>, word: &str) -> Result<c_int, String> {
    match word {
        "AT_FDCWD" => Ok(libc::AT_FDCWD),
        "BADFD" => Ok(-1),
        label => hands.map_or(Ok(-1), |hands| hands.descriptor(label)),
    }
}

/// A whole number as C reads it: `0x` hexadecimal, a leading `0` octal, signed. Up to 64 bits.
pub fn number(word: &str) -> Option<i64> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(&digits[1..], 8),
        None => digits.parse(),
    }
    .ok()?;
    match negative {
        true if magnitude <= 1 << 63 => Some((magnitude as i64).wrapping_neg()),
        true => None,
        false => Some(magnitude as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        for (word, expected) in [
            ("0", Some(0)),
            ("0644", Some(0o644)),
            ("0x1f", Some(31)),
            ("-1", Some(-1)),
            ("-0x10", Some(-16)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("18446744073709551615", Some(-1)),
            ("18446744073709551616", None),
            ("-9223372036854775809", None),
            ("", None),
            ("08", None),
            ("12x", None),
            ("--1", None),
            ("-+1", None),
        ] {
            assert_eq!(number(word), expected, "{word}");
        }
    }
}
