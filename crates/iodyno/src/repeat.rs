//! A conversation that is had again and again: what each measured is kept, and what the last day's came to is told.
//!
//! It waits between two, and does nothing else meanwhile. It refuses to catch up: where one took longer than the time to
//! the next, the next one's turn is over.

use iodyno_dialect::Repeat;
use iodyno_engine::{clock, signal};
use iodyno_history::Filter;
use iodyno_model::{Diagnostic, Record};

use crate::archive;
use crate::conversation;
use crate::session::{OutputPolicy, print, say};

/// What a course is told of, ns.
const DAY_NS: u64 = 86_400_000_000_000;
/// How often it looks whether it was interrupted, ns.
const GLANCE_NS: u64 = 100_000_000;

/// Has it as often as it is wanted; the exit status: that of the worst, or the signal's.
pub fn answer(mut repeat: Repeat, policy: &OutputPolicy) -> u8 {
    if repeat.times == Some(0) {
        return match course(&repeat) {
            Ok(text) => print(text.as_bytes()),
            Err(wrong) => {
                say(wrong);
                2
            }
        };
    }
    let (began, mut status, mut done) = (clock::monotonic(), 0, 0);
    loop {
        status = status.max(conversation::answer((repeat.make)(), policy));
        done += 1;
        match course(&repeat) {
            Ok(text) if !text.is_empty() => status = status.max(print(format!("\n{text}\n").as_bytes())),
            Ok(_) => status = status.max(print(b"\n")),
            Err(wrong) => say(wrong),
        }
        if repeat.times.is_some_and(|times| done >= times) {
            return status;
        }
        if let Some(signal) = wait(began, repeat.every_ns) {
            return (128 + signal).clamp(1, 255) as u8;
        }
    }
}

/// Waits until it is time again; the signal that came instead.
fn wait(began: u64, every_ns: u64) -> Option<i32> {
    let passed = clock::monotonic().saturating_sub(began);
    let due = began + (passed / every_ns.max(1) + 1) * every_ns;
    loop {
        if let (1.., signal) = signal::interruptions() {
            return Some(signal);
        }
        let left = due.saturating_sub(clock::monotonic());
        if left == 0 {
            return None;
        }
        clock::sleep_ns(left.min(GLANCE_NS));
    }
}

/// What the last day's came to.
fn course(repeat: &Repeat) -> Result<String, Diagnostic> {
    let history = archive::open()?;
    let since_unix_ns = clock::unix_ns().saturating_sub(DAY_NS);
    let filter = Filter { tag: Some(repeat.tag.clone()), since_unix_ns, ..Filter::default() };
    let mut entries = history.list(&filter)?;
    entries.sort_by_key(|entry| entry.began_unix_ns);
    let load = |entry: &iodyno_history::Entry| -> Result<(u64, Record), Diagnostic> {
        Ok((entry.began_unix_ns, history.load(&entry.id.to_string())?.record))
    };
    Ok((repeat.course)(&entries.iter().map(load).collect::<Result<Vec<_>, _>>()?))
}
