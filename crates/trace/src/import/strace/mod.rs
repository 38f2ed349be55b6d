//! The text of strace: calls on files become records.
//!
//! Any of `-f`, `-t`, `-tt`, `-ttt`, `-r`, `-T` and `-y` may have been given. Without `-y` the names of descriptors that were
//! open before are not known; without `-T` only calls that another thread interrupted have latencies.

mod arguments;
mod call;
mod errno;
mod facts;
mod line;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use arguments::{PrintedCall, has_flag};
use call::{Meaning, meaning};
use facts::LineFacts;
use line::{LineStamp, Shown, StraceLine};

use iodyno_model::Verb;

use super::lines::{Line, Lines};
use crate::calls::{CallTracker, FileCall, IssueTicket, PendingCall};
use crate::descriptors::SharedState;
use crate::{Batch, RecordSource, Tables, TraceClock, TraceError, TraceHeader, TraceLevel};

/// Records of a batch.
const BATCH: usize = 16_384;
/// Lines that may be wrong before the text is taken as none of strace.
const TRIED: u64 = 1000;
const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
const HALF_DAY_NS: u64 = DAY_NS / 2;
/// Where strace gives no numbers: one process only.
const ONLY_THREAD: u32 = 1;

/// Whether an input begins as strace writes it.
pub fn fits(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().take(20);
    let is_call = |line: &str| match line::parse(line) {
        Some(StraceLine { shown: Shown::Call(call), .. }) => arguments::parse(call).is_some(),
        _ => false,
    };
    lines.any(is_call)
}

/// A call that strace had to interrupt.
struct InterruptedCall {
    text: String,
    at_ns: u64,
    /// Whether it was seen to have made a thread already.
    has_made: bool,
    /// Keeps later records back, if it makes one.
    ticket: Option<IssueTicket>,
    /// What has begun already.
    pending: Option<PendingCall>,
}

/// The records of a text of strace.
pub struct StraceSource {
    lines: Lines,
    header: TraceHeader,
    tracker: CallTracker,
    interrupted: HashMap<u32, InterruptedCall>,
    /// Since the start, or since 1970, ns.
    now_ns: u64,
    last_of_day_ns: u64,
    has_stamps: bool,
    is_fine: bool,
    lines_read: u64,
    wrong: u64,
    first_wrong: String,
    unclear: BTreeMap<String, u64>,
    guessed_makers: u64,
    /// Lines whose time lies before that of the line above.
    backwards: u64,
    is_ended: bool,
}

impl StraceSource {
    pub fn new(name: String, read: Box<dyn std::io::Read + Send>) -> StraceSource {
        let header = TraceHeader {
            source: "strace".into(),
            level: TraceLevel::File,
            resolution_ns: 1000,
            ..TraceHeader::default()
        };
        StraceSource {
            lines: Lines::new(name, read),
            header,
            tracker: CallTracker::default(),
            interrupted: HashMap::new(),
            now_ns: 0,
            last_of_day_ns: 0,
            has_stamps: false,
            is_fine: false,
            lines_read: 0,
            wrong: 0,
            first_wrong: String::new(),
            unclear: BTreeMap::new(),
            guessed_makers: 0,
            backwards: 0,
            is_ended: false,
        }
    }

    /// Whether there was a line.
    fn next_line(&mut self) -> Result<bool, TraceError> {
        let text = match self.lines.next_line()? {
            None => return Ok(false),
            Some(Line::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            Some(Line::TooLong) => None,
        };
        self.lines_read += 1;
        let parsed = text.as_deref().and_then(line::parse);
        let is_blank = text.as_deref().is_some_and(|text| text.trim().is_empty());
        let is_good = match parsed {
            Some(line) => self.line(&line),
            None => is_blank,
        };
        if !is_good {
            self.wrong += 1;
            if self.first_wrong.is_empty() {
                let shown: String = text.unwrap_or_default().chars().take(60).collect();
                self.first_wrong = format!("{}: `{}`", self.lines.place(), shown.escape_debug());
            }
            if self.lines_read >= TRIED {
                self.judge()?;
            }
        }
        Ok(true)
    }

    /// # Errors
    /// Most of the lines are wrong.
    fn judge(&self) -> Result<(), TraceError> {
        if self.wrong * 2 <= self.lines_read {
            return Ok(());
        }
        let message = format!(
            "{} of {} lines are none of strace; the first is {}",
            self.wrong, self.lines_read, self.first_wrong
        );
        Err(TraceError::new(message).hint("write it with: strace -f -ttt -T -y -o FILE COMMAND"))
    }

    /// Whether a line was understood.
    fn line(&mut self, line: &StraceLine) -> bool {
        let thread = line.thread.unwrap_or(ONLY_THREAD);
        self.advance(line);
        if !matches!(line.shown, Shown::Nothing) {
            self.meet(thread);
        }
        match line.shown {
            Shown::Nothing => true,
            Shown::Call(text) => self.call(thread, self.now_ns, text, None),
            Shown::Unfinished(text) => {
                let begun = self.interrupt(thread, text);
                self.interrupted.insert(thread, begun);
                true
            }
            Shown::Resumed(_, rest) => match self.interrupted.remove(&thread) {
                Some(begun) => self.resume(thread, begun, rest),
                None => false,
            },
            Shown::Exited => {
                self.abandon(thread);
                self.tracker.ended(thread, None, &mut LineFacts::default());
                true
            }
            Shown::Superseded(by) => {
                self.abandon(thread);
                let begun = self.interrupted.remove(&by);
                self.interrupted.extend(begun.map(|begun| (thread, begun)));
                self.tracker.executed(by, thread);
                true
            }
        }
    }

    fn advance(&mut self, line: &StraceLine) {
        let Some(stamp) = line.stamp else { return };
        self.has_stamps = true;
        self.is_fine |= line.is_fine;
        match stamp {
            LineStamp::Unix(ns) => {
                self.header.clock = TraceClock::Realtime;
                self.backwards += u64::from(ns < self.now_ns);
                self.now_ns = self.now_ns.max(ns);
            }
            LineStamp::Since(ns) => self.now_ns = self.now_ns.saturating_add(ns),
            LineStamp::OfDay(ns) => {
                if ns.saturating_add(HALF_DAY_NS) < self.last_of_day_ns {
                    let midnight_ns = self.now_ns.saturating_sub(self.last_of_day_ns).saturating_add(DAY_NS);
                    self.now_ns = midnight_ns.saturating_add(ns);
                } else if self.now_ns == 0 {
                    self.now_ns = ns;
                } else {
                    self.backwards += u64::from(ns < self.last_of_day_ns);
                    self.now_ns = self.now_ns.saturating_add(ns.saturating_sub(self.last_of_day_ns));
                }
                self.last_of_day_ns = ns;
            }
        }
    }

    /// A thread that is new: its maker is in a call that has not been seen to end.
    fn meet(&mut self, thread: u32) {
        if self.tracker.is_known(thread) {
            return;
        }
        let is_making = |call: &&mut InterruptedCall| !call.has_made && makes_threads(&call.text);
        let makers = self.interrupted.iter_mut().filter(|(_, call)| is_making(call));
        let mut makers: Vec<_> = makers.map(|(maker, call)| (call.at_ns, *maker, call)).collect();
        makers.sort_by_key(|(at_ns, maker, _)| (*at_ns, *maker));
        self.guessed_makers += u64::from(makers.len() > 1);
        match makers.into_iter().next() {
            Some((_, maker, call)) => {
                call.has_made = true;
                let text = call.text.clone();
                self.started(maker, thread, &text);
            }
            None => self.tracker.inherit(thread, &[], &mut LineFacts::default()),
        }
    }

    fn started(&mut self, maker: u32, thread: u32, text: &str) {
        if self.tracker.is_known(thread) {
            return;
        }
        let flags = clone_flags(text);
        let shared = SharedState {
            descriptors: has_flag(flags, "CLONE_FILES"),
            directory: has_flag(flags, "CLONE_FS"),
        };
        let is_thread = has_flag(flags, "CLONE_THREAD");
        self.tracker.started(maker, thread, shared, is_thread, &mut LineFacts::default());
    }

    /// A call of which only the begin is shown.
    fn interrupt(&mut self, thread: u32, text: &str) -> InterruptedCall {
        let at_ns = self.now_ns;
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let (begun, _) = arguments::split(rest);
        let printed =
            |arguments| PrintedCall { name, arguments, result: None, returned: None, latency_ns: None };
        let mut pending = None;
        // What a descriptor means is known now: another thread may close it before the call ends.
        if let Some(call) = early(&printed(begun.clone())) {
            let mut facts = LineFacts::of(&call, &printed(begun));
            pending = self.tracker.begin(thread, at_ns, call, &mut facts);
        }
        let is_recorded = pending.is_none() && meaning(&printed(Vec::new())) != Meaning::Other;
        let ticket = is_recorded.then(|| self.tracker.hold(at_ns));
        InterruptedCall { text: text.into(), at_ns, has_made: false, ticket, pending }
    }

    /// The rest of an interrupted call; whether it was understood.
    fn resume(&mut self, thread: u32, begun: InterruptedCall, rest: &str) -> bool {
        let text = format!("{}{rest}", begun.text);
        let took_ns = self.has_stamps.then(|| self.now_ns.saturating_sub(begun.at_ns));
        let is_good = match begun.pending {
            Some(mut pending) => {
                let printed = arguments::parse(&text);
                if let Some(Meaning::Call(call)) = printed.as_ref().map(meaning) {
                    pending.amend(call);
                }
                let (result, latency_ns) =
                    printed.as_ref().map_or((None, None), |printed| (printed.result, printed.latency_ns));
                self.tracker.end(pending, result, latency_ns.or(took_ns), &mut LineFacts::default());
                printed.is_some()
            }
            None => self.call(thread, begun.at_ns, &text, took_ns),
        };
        if let Some(ticket) = begun.ticket {
            self.tracker.release(ticket);
        }
        is_good
    }

    /// A call whose end was never shown has no result.
    fn abandon(&mut self, thread: u32) {
        if let Some(mut begun) = self.interrupted.remove(&thread) {
            match begun.pending.take() {
                Some(pending) => self.tracker.end(pending, None, None, &mut LineFacts::default()),
                None => {
                    let text = format!("{}) = ?", begun.text.trim_end_matches(','));
                    self.call(thread, begun.at_ns, &text, None);
                }
            }
            if let Some(ticket) = begun.ticket {
                self.tracker.release(ticket);
            }
        }
    }

    /// Whether a call was understood.
    fn call(&mut self, thread: u32, at_ns: u64, text: &str, took_ns: Option<u64>) -> bool {
        let Some(printed) = arguments::parse(text) else { return false };
        if makes_threads(text) {
            if let Some(child) = printed.result.filter(|child| *child > 0) {
                self.started(thread, child as u32, text);
            }
            return true;
        }
        if matches!(printed.name, "execve" | "execveat") {
            if printed.result == Some(0) {
                self.tracker.executed(thread, thread);
            }
            return true;
        }
        match meaning(&printed) {
            Meaning::Other => {}
            Meaning::Unclear => *self.unclear.entry(printed.name.to_string()).or_default() += 1,
            Meaning::Call(call) => self.recorded(thread, at_ns, call, &printed, took_ns),
        }
        true
    }

    fn recorded(
        &mut self,
        thread: u32,
        at_ns: u64,
        call: FileCall,
        printed: &PrintedCall,
        took_ns: Option<u64>,
    ) {
        let mut facts = LineFacts::of(&call, printed);
        let Some(pending) = self.tracker.begin(thread, at_ns, call, &mut facts) else { return };
        let file = pending.file();
        self.tracker.end(pending, printed.result, printed.latency_ns.or(took_ns), &mut facts);
        if let Some((file, bytes)) = file.zip(facts.told_bytes) {
            self.tracker.learn_length(file, bytes);
        }
    }

    fn finish(&mut self) {
        self.is_ended = true;
        let mut left: Vec<u32> = self.interrupted.keys().copied().collect();
        left.sort_unstable();
        left.into_iter().for_each(|thread| self.abandon(thread));
        self.tracker.finish();
        let mut notes = self.tracker.notes();
        if !self.has_stamps {
            notes.push("there are no times: all records are at 0".into());
        }
        if self.wrong > 0 {
            notes.push(format!(
                "lines that are none of strace, left out: {}; the first: {}",
                self.wrong, self.first_wrong
            ));
        }
        for (name, count) in &self.unclear {
            notes.push(format!(
                "calls of {name} with arguments that are cut or not understood, left out: {count}"
            ));
        }
        if self.guessed_makers > 0 {
            notes.push(format!(
                "threads whose maker is taken as the one that began first: {}",
                self.guessed_makers
            ));
        }
        if self.backwards > 0 {
            // The order of the lines is that of the calls: descriptors and positions follow from it.
            notes.push(format!(
                "lines with a time before that of the line above, taken at that one: {}",
                self.backwards
            ));
        }
        self.header.notes = notes;
    }
}

impl RecordSource for StraceSource {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tracker.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while !self.is_ended && self.tracker.ready() < BATCH {
            if !self.next_line()? {
                self.judge()?;
                self.finish();
            }
        }
        self.tracker.take(batch, BATCH);
        if self.has_stamps && !self.is_fine {
            self.header.resolution_ns = 1_000_000_000;
        }
        if self.header.clock == TraceClock::Realtime {
            let began = self.tracker.began_ns().and_then(|began| i64::try_from(began).ok());
            self.header.began_unix_ns = began;
        }
        Ok(())
    }
}

/// The call on a descriptor that begins so, although what it will have read is not shown yet.
fn early(begun: &PrintedCall) -> Option<FileCall> {
    let fd =
        begun.arguments.first().and_then(|fd| arguments::number(fd)).and_then(|fd| i32::try_from(fd).ok())?;
    match meaning(begun) {
        Meaning::Call(
            call @ (FileCall::Close { .. } | FileCall::Transfer { .. } | FileCall::OnDescriptor { .. }),
        ) => Some(call),
        Meaning::Unclear if matches!(begun.name, "read" | "pread64" | "preadv" | "preadv2") => {
            let (verb, offset) = (Verb::Read, None);
            Some(FileCall::Transfer { verb, fd, offset, bytes: 0, durable: false, append: false })
        }
        _ => None,
    }
}

/// Whether a call makes a thread or a process.
fn makes_threads(text: &str) -> bool {
    ["clone(", "clone3(", "fork(", "vfork("].iter().any(|call| text.starts_with(call))
}

/// The flags of `clone`; none: it shares nothing.
fn clone_flags(text: &str) -> &str {
    let Some((_, rest)) = text.split_once("flags=") else { return "" };
    let end = rest.find([',', ')', '}', ' ']).unwrap_or(rest.len());
    &rest[..end]
}
