//! What `write_iolog` writes, in version 3: when (µs), which file, what, and where; it can be replayed.

use iodyno_model::{JournalEntry, JournalPart, Verb};
use iodyno_trace::export::fio::{STAMPED_HEADER, action, put_line};

/// The lines of a part of a journal; `first`: with the header and the names of all files.
pub fn written(part: &JournalPart, first: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.entries.len() * 40);
    if first {
        out.extend_from_slice(STAMPED_HEADER);
        part.files.iter().for_each(|file| put_line(&mut out, Some(0), file.as_bytes(), "add", None));
    }
    for entry in &part.entries {
        let JournalEntry::Began { at_ns, verb, file, offset, bytes } = entry else { continue };
        let (Some(word), Some(file)) = (word(*verb), part.files.get(*file as usize)) else { continue };
        let place = (!matches!(verb, Verb::Open | Verb::Close)).then_some((*offset, *bytes));
        let at_us = at_ns.saturating_sub(part.began_ns) / 1000;
        put_line(&mut out, Some(at_us), file.as_bytes(), word, place);
    }
    out
}

fn word(verb: Verb) -> Option<&'static str> {
    match verb {
        Verb::Open => Some("open"),
        Verb::Close => Some("close"),
        verb => action(verb),
    }
}
