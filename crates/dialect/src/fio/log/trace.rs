//! What `write_iolog` writes, in version 3: when (µs), which file, what, and where; it can be replayed.

use iodyno_model::{JournalEntry, JournalPart, Verb};

use super::line::number;

/// What each clone's part of the file begins with.
pub const HEADER: &[u8] = b"fio version 3 iolog\n";

/// The lines of a part of a journal; `first`: with the header and the names of all files.
pub fn written(part: &JournalPart, first: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.entries.len() * 40);
    if first {
        out.extend_from_slice(HEADER);
        part.files.iter().for_each(|file| line(&mut out, 0, file, "add", None));
    }
    for entry in &part.entries {
        let JournalEntry::Began { at_ns, verb, file, offset, bytes } = entry else { continue };
        let (Some(word), Some(file)) = (word(*verb), part.files.get(*file as usize)) else { continue };
        let place = (!matches!(verb, Verb::Open | Verb::Close)).then_some((*offset, *bytes));
        line(&mut out, at_ns.saturating_sub(part.began_ns) / 1000, file, word, place);
    }
    out
}

fn word(verb: Verb) -> Option<&'static str> {
    Some(match verb {
        Verb::Open => "open",
        Verb::Close => "close",
        Verb::Read => "read",
        Verb::Write => "write",
        Verb::Trim | Verb::Discard => "trim",
        Verb::Fsync => "sync",
        Verb::Fdatasync => "datasync",
        _ => return None,
    })
}

fn line(out: &mut Vec<u8>, at_us: u64, file: &str, word: &str, place: Option<(u64, u64)>) {
    number(out, at_us);
    out.push(b' ');
    out.extend_from_slice(file.as_bytes());
    out.push(b' ');
    out.extend_from_slice(word.as_bytes());
    if let Some((offset, bytes)) = place {
        out.push(b' ');
        number(out, offset);
        out.push(b' ');
        number(out, bytes);
    }
    out.push(b'\n');
}
