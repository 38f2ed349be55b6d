//! Keys from the bytes that a terminal sends (ECMA-48, and the sequences of xterm and the Linux console).

use std::collections::VecDeque;
use std::io;

use iodyno_report::tui::Key;

use super::raw_terminal::RawTerminal;

/// Keys that were sent and not read yet.
#[derive(Default)]
pub struct Keys {
    ready: VecDeque<Key>,
    rest: Vec<u8>,
}

impl Keys {
    /// The next key; nothing: a second passed, or a signal came.
    pub fn next(&mut self, from: &RawTerminal) -> io::Result<Option<Key>> {
        while self.ready.is_empty() {
            let bytes = from.read(!self.rest.is_empty())?;
            let complete = bytes.is_empty();
            if complete && self.rest.is_empty() {
                return Ok(None);
            }
            self.rest.extend(bytes);
            self.ready.extend(decoded(&mut self.rest, complete));
        }
        Ok(self.ready.pop_front())
    }

    /// Waits for the key Enter, or one that leaves, or a signal.
    pub fn wait_for_enter(&mut self, from: &RawTerminal) -> io::Result<()> {
        loop {
            match self.next(from)? {
                Some(Key::Enter | Key::Escape | Key::Leave | Key::Letter('q')) => return Ok(()),
                None if iodyno_engine::signal::interruptions().0 > 0 => return Ok(()),
                _ => {}
            }
        }
    }
}

/// Takes the keys out of the bytes; `complete`: nothing more of them comes.
fn decoded(bytes: &mut Vec<u8>, complete: bool) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(length) = first(bytes, complete, &mut keys) {
        bytes.drain(..length);
    }
    keys
}

/// The length of the first key, which is added to the others where it is one; nothing: its end has not come yet.
fn first(bytes: &[u8], complete: bool, keys: &mut Vec<Key>) -> Option<usize> {
    let (key, length) = match *bytes.first()? {
        b'\r' | b'\n' => (Some(Key::Enter), 1),
        b'\t' => (Some(Key::Tab), 1),
        3 | 4 => (Some(Key::Leave), 1),
        8 | 127 => (Some(Key::Backspace), 1),
        0x1b => match sequence(bytes) {
            Some(found) => found,
            None if complete => (Some(Key::Escape), 1),
            None => return None,
        },
        byte if byte < b' ' => (None, 1),
        byte => {
            let length = match byte {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
            let letter = bytes.get(..length).map(|bytes| std::str::from_utf8(bytes).ok());
            match letter {
                None if !complete => return None,
                None | Some(None) => (None, 1),
                Some(Some(text)) => (text.chars().next().map(Key::Letter), length),
            }
        }
    };
    keys.extend(key);
    Some(length)
}

/// The key of a sequence that begins with an escape character, and its length; nothing: its end is not there.
fn sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    match bytes.get(1)? {
        b'[' => {
            // The Linux console's function keys have a second bracket.
            let from = 2 + usize::from(bytes.get(2) == Some(&b'['));
            let end =
                from + bytes[from.min(bytes.len())..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let key = match (&bytes[2..end], bytes[end]) {
                (_, b'A') => Some(Key::Up),
                (_, b'B') => Some(Key::Down),
                (_, b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
                (_, b'F') | (b"4" | b"8", b'~') => Some(Key::End),
                (b"5", b'~') => Some(Key::PageUp),
                (b"6", b'~') => Some(Key::PageDown),
                (_, b'Z') => Some(Key::BackTab),
                _ => None,
            };
            Some((key, end + 1))
        }
        b'O' => {
            let key = match bytes.get(2)? {
                b'A' => Some(Key::Up),
                b'B' => Some(Key::Down),
                b'H' => Some(Key::Home),
                b'F' => Some(Key::End),
                _ => None,
            };
            Some((key, 3))
        }
        _ => Some((Some(Key::Escape), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], complete: bool) -> (Vec<Key>, usize) {
        let mut bytes = bytes.to_vec();
        (decoded(&mut bytes, complete), bytes.len())
    }

    #[test]
    fn sequences_letters_and_control_characters_are_keys() {
        let bytes = "ä\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[1~\x1b[F\x1b[Z\t\r\x7f\x03\x1b[1;5C".as_bytes();
        let all = [
            Key::Letter('ä'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Home,
            Key::End,
            Key::BackTab,
            Key::Tab,
            Key::Enter,
            Key::Backspace,
            Key::Leave,
        ];
        assert_eq!(keys(bytes, false), (all.to_vec(), 0));
    }

    #[test]
    fn a_sequence_in_two_pieces_waits_for_the_second() {
        assert_eq!(keys(b"\x1b[", false), (vec![], 2));
        assert_eq!(keys(b"\x1b", false), (vec![], 1));
        assert_eq!(keys(b"\x1b", true), (vec![Key::Escape], 0));
        assert_eq!(keys("日".as_bytes().split_at(2).0, false), (vec![], 2));
        assert_eq!(keys(b"\xff\x00a", true), (vec![Key::Letter('a')], 0));
    }
}
