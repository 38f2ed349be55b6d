//! fio's iolog, versions 2 and 3.
//!
//! fio replays an operation only on a file that a line has added and another has opened. Its `wait` of version 2 takes
//! milliseconds since the start, whatever its documentation says.

use iodyno_model::Verb;

use crate::export::{ExportLosses, Exporter, put_number};
use crate::{FileKind, RecordFlags, Tables, TraceRecord};

/// fio reads names up to here.
const NAME_LIMIT: usize = 255;

/// What an iolog of version 3 begins with: its lines have times.
pub const STAMPED_HEADER: &[u8] = b"fio version 3 iolog\n";

/// fio's word for an operation that works on a range, or on a whole file.
pub fn action(verb: Verb) -> Option<&'static str> {
    Some(match verb {
        Verb::Read => "read",
        Verb::Write => "write",
        Verb::Trim | Verb::Discard => "trim",
        Verb::Fsync => "sync",
        Verb::Fdatasync => "datasync",
        _ => return None,
    })
}

/// The operation that fio's word means; of files' events: none.
pub fn verb(action: &[u8]) -> Option<Verb> {
    const KNOWN: [Verb; 5] = [Verb::Read, Verb::Write, Verb::Trim, Verb::Fsync, Verb::Fdatasync];
    KNOWN.into_iter().find(|verb| self::action(*verb).is_some_and(|word| word.as_bytes() == action))
}

/// Appends a line. `at_us`: its time, in version 3; `place`: offset and bytes of what is no event of a file.
pub fn put_line(out: &mut Vec<u8>, at_us: Option<u64>, name: &[u8], action: &str, place: Option<(u64, u64)>) {
    if let Some(at_us) = at_us {
        put_number(out, at_us);
        out.push(b' ');
    }
    out.extend_from_slice(name);
    out.push(b' ');
    out.extend_from_slice(action.as_bytes());
    if let Some((offset, bytes)) = place {
        out.push(b' ');
        put_number(out, offset);
        out.push(b' ');
        put_number(out, bytes);
    }
    out.push(b'\n');
}

pub struct Iolog {
    is_stamped: bool,
    files: Vec<IologFile>,
    /// Version 2: until when the last `wait` waits, ms.
    waited_ms: u64,
    last_us: u64,
    thread: Option<u32>,
}

#[derive(Clone, Default)]
struct IologFile {
    /// As it is written; empty: no line has added it yet.
    name: Vec<u8>,
    opened: u32,
}

impl Iolog {
    pub fn new(is_stamped: bool) -> Iolog {
        Iolog { is_stamped, files: Vec::new(), waited_ms: 0, last_us: 0, thread: None }
    }

    fn line(&self, out: &mut Vec<u8>, file: u32, action: &str, place: Option<(u64, u64)>) {
        put_line(
            out,
            self.is_stamped.then_some(self.last_us),
            &self.files[file as usize].name,
            action,
            place,
        );
    }

    /// Adds the file and opens it, unless it is open.
    fn open(&mut self, file: u32, tables: &Tables, out: &mut Vec<u8>, losses: &mut ExportLosses) {
        let index = file as usize;
        if self.files.len() <= index {
            self.files.resize(index + 1, IologFile::default());
        }
        if self.files[index].name.is_empty() {
            self.files[index].name = name(file, tables, losses);
            self.line(out, file, "add", None);
        }
        if self.files[index].opened == 0 {
            self.line(out, file, "open", None);
            self.files[index].opened = 1;
        }
    }

    fn open_or_close(
        &mut self,
        record: &TraceRecord,
        tables: &Tables,
        out: &mut Vec<u8>,
        losses: &mut ExportLosses,
    ) {
        let file = record.file;
        let opened = self.files.get(file as usize).map_or(0, |file| file.opened);
        let kind = tables.files.get(file as usize).map_or(FileKind::File, |file| file.kind);
        let has_failed = record.result.is_some_and(|result| result < 0);
        if has_failed || !matches!(kind, FileKind::File | FileKind::Device) {
            return losses.leave_out(record.verb);
        }
        match record.verb {
            Verb::Close if opened == 1 => {
                self.line(out, file, "close", None);
                self.files[file as usize].opened = 0;
            }
            Verb::Close => {
                losses.leave_out(record.verb);
                if opened > 1 {
                    self.files[file as usize].opened -= 1;
                }
            }
            _ if opened > 0 => {
                losses.leave_out(record.verb);
                self.files[file as usize].opened += 1;
            }
            _ => self.open(file, tables, out, losses),
        }
    }
}

impl Exporter for Iolog {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.is_stamped {
            true => STAMPED_HEADER,
            false => b"fio version 2 iolog\n",
        });
    }

    fn record(
        &mut self,
        record: &TraceRecord,
        tables: &Tables,
        out: &mut Vec<u8>,
        losses: &mut ExportLosses,
    ) {
        let is_event = matches!(record.verb, Verb::Open | Verb::Create | Verb::Close);
        let Some(action) = action(record.verb).or(is_event.then_some("")) else {
            return losses.leave_out(record.verb);
        };
        self.last_us = record.at_ns / 1000;
        if is_event {
            return self.open_or_close(record, tables, out, losses);
        }
        self.open(record.file, tables, out, losses);
        let step_ns = if self.is_stamped { 1000 } else { 1_000_000 };
        let finer = if self.is_stamped { "times below 1 µs" } else { "times below 1 ms" };
        losses.lose_if(!record.at_ns.is_multiple_of(step_ns), finer);
        if !self.is_stamped && record.at_ns / step_ns > self.waited_ms {
            self.waited_ms = record.at_ns / step_ns;
            self.line(out, record.file, "wait", Some((self.waited_ms, 0)));
        }
        self.line(out, record.file, action, Some((record.offset, record.bytes)));
        losses.lose_if(record.latency_ns.is_some(), "latencies");
        losses.lose_if(record.result.is_some_and(|result| result < 0), "errors");
        losses.lose_if(record.flags != RecordFlags::default(), "flags");
        let thread = *self.thread.get_or_insert(record.thread);
        losses.lose_if(thread != record.thread, "threads other than the first");
        losses.lose_own(record);
    }

    fn end(&mut self, _: &Tables, out: &mut Vec<u8>, _: &mut ExportLosses) {
        for file in 0..self.files.len() as u32 {
            if self.files[file as usize].opened > 0 {
                self.line(out, file, "close", None);
            }
        }
    }
}

/// A name without spaces, as fio splits lines at them.
fn name(file: u32, tables: &Tables, losses: &mut ExportLosses) -> Vec<u8> {
    let name = tables.files.get(file as usize).map_or("", |file| file.name.as_str());
    let is_held = !name.is_empty()
        && name.len() <= NAME_LIMIT
        && !name.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    match is_held {
        true => name.into(),
        false => {
            losses.lose("a name with spaces, or longer than 255 bytes (file-N stands for it)");
            format!("file-{file}").into()
        }
    }
}
