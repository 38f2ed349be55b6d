//! Text of the block tracer: blkparse's default lines, and ftrace's, classic or with ftrace's own prefix.
//!
//! | kind | line |
//! |---|---|
//! | blkparse | `8,0 3 1 0.000000000 697 D WS 223490 + 8 [kjournald]` |
//! | classic | `8,0 3 930.643071424 697 D WS 223490 + 8 [kjournald]` |
//! | ftrace | `kjournald-697 [003] d..1. 930.643071: 8,0 D WS 223490 + 8 [kjournald]` |

use super::blktrace;
use super::block_decoder;
use super::block_events::{BlockEvent, BlockStep, BlockTraits, EventReader, SECTOR};
use super::context::{ImportContext, LineFault};
use super::formats::first_lines;
use super::importer::ImportOptions;
use super::lines::Lines;
use super::number;
use super::order::{OrderedRecords, sortable};
use super::unpack::Stream;
use crate::TraceError;

const LINES: usize = 2048;
const SECOND_NS: u64 = 1_000_000_000;

/// What the first words of a line tell.
struct LineHead<'a> {
    device: (u32, u32),
    at_ns: i64,
    process: u32,
    /// From the event's letter on.
    rest: Words<'a>,
    name: Option<&'a [u8]>,
}

/// The words of a line.
#[derive(Clone)]
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// Whether nothing but blanks is left.
    fn is_empty(&self) -> bool {
        self.rest.trim_ascii_start().is_empty()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        (!word.is_empty()).then_some(word)
    }
}

/// Whether lines of the block tracer are among the first.
pub fn fits(head: &[u8]) -> bool {
    let lines = first_lines(head);
    lines.iter().any(|line| matches!(event(line), Ok(Some(_))))
        && lines.iter().all(|line| is_talk(line) || event(line).is_ok())
}

/// Readers of such text.
///
/// # Errors
/// None.
pub fn open(
    streams: Vec<Stream>,
    options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    context.header.source = "blkparse text".into();
    let reader = |stream: Stream| -> Box<dyn EventReader + Send> {
        Box::new(BlkparseReader { lines: Lines::new(stream.name, stream.reader) })
    };
    let readers = streams.into_iter().map(reader).collect();
    Ok(block_decoder::open(readers, options.events, 1, context))
}

struct BlkparseReader {
    lines: Lines,
}

impl EventReader for BlkparseReader {
    fn read(
        &mut self,
        context: &mut ImportContext,
        events: &mut Vec<BlockEvent>,
    ) -> Result<bool, TraceError> {
        for _ in 0..LINES {
            let Some(line) = context.next_line(&mut self.lines)? else { return Ok(false) };
            match event(line) {
                Ok(Some((event, name))) => {
                    context.good_line();
                    if let Some(name) = name {
                        let thread = context.thread(event.process, event.process);
                        context.name_thread(thread, name);
                    }
                    events.push(event);
                }
                Ok(None) => context.good_line(),
                Err(_) if is_talk(line) => {
                    let lost = lost(line);
                    context.good_line();
                    context.count(blktrace::LOST, lost);
                }
                Err(fault) => {
                    let place = self.lines.place();
                    context.wrong_line(&place, fault, self.lines.current())?;
                }
            }
        }
        Ok(true)
    }
}

/// Lines around the events: blkparse's statistics and messages, ftrace's header.
fn is_talk(line: &[u8]) -> bool {
    const TALK: &[&str] = &[
        "#",
        "CPU",
        "cpu ",
        "Total (",
        "Reads ",
        "Read ",
        "Writes ",
        "IO unplugs",
        "Timer unplugs",
        "Throughput",
        "Events (",
        "Skips:",
        "Input file",
        "PC ",
        "Allocations",
        "plug ",
    ];
    let line = line.trim_ascii();
    line.is_empty() || TALK.iter().any(|start| line.starts_with(start.as_bytes()))
}

/// How many events a line of ftrace says were lost.
fn lost(line: &[u8]) -> u64 {
    let line = [line.trim_ascii(), b"\n"].concat();
    blktrace::lost(&line).map_or(0, |(count, _)| count)
}

/// The event of a line, and the process's name; none: an event that needs no look.
type LineEvent<'a> = Option<(BlockEvent, Option<&'a [u8]>)>;

fn event(line: &[u8]) -> Result<LineEvent<'_>, LineFault> {
    let Some(head) = classic_head(line).or_else(|| ftrace_head(line)) else {
        return Err(LineFault::new("no line of blkparse or of ftrace's blk tracer"));
    };
    let mut words = head.rest;
    let step = BlockStep::lettered(words.next().unwrap_or_default());
    if step == BlockStep::Other {
        return Ok(None);
    }
    const NO_TRAITS: LineFault = LineFault::new("no letters such as R, WS, FN");
    let traits = words.next().and_then(BlockTraits::lettered).ok_or(NO_TRAITS)?;
    let mut event = BlockEvent {
        at_ns: sortable(head.at_ns),
        device: head.device,
        sector: 0,
        bytes: 0,
        step,
        traits,
        process: head.process,
        error: 0,
        split_sector: 0,
    };
    range(&mut event, &mut words)?;
    let rest = words.rest.trim_ascii();
    let inner = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    if step == BlockStep::Complete {
        let error = inner.and_then(|text| std::str::from_utf8(text).ok()?.parse::<i32>().ok());
        // Binary records have 16 bits for it.
        event.error = match error.ok_or(LineFault::new("no [error] at the end"))? {
            error @ 32_768..=65_535 => error - 65_536,
            error => error,
        };
        return Ok(Some((event, None)));
    }
    let name = head.name.or(inner).filter(|name| !matches!(*name, b"(null)" | b"<...>" | b""));
    Ok(Some((event, name)))
}

/// `223490 + 8`, of splits `223490 / 223498`, of flushes nothing.
fn range(event: &mut BlockEvent, words: &mut Words<'_>) -> Result<(), LineFault> {
    const WRONG: LineFault = LineFault::new("no range such as 223490 + 8");
    let before = words.clone();
    let Some(sector) = words.next().and_then(number::whole) else {
        *words = before;
        return Ok(());
    };
    event.sector = sector;
    let at_sign = words.clone();
    match words.next() {
        // blkparse -t puts the time since the queue or the issue here.
        Some(word) if word.starts_with(b"(") => {
            while !words.is_empty() && !words.rest.trim_ascii_start().starts_with(b"+") {
                words.next();
            }
            words.next();
            event.bytes = words
                .next()
                .and_then(number::whole)
                .and_then(|count| count.checked_mul(SECTOR))
                .ok_or(WRONG)?;
        }
        Some(b"+") => {
            event.bytes = words
                .next()
                .and_then(number::whole)
                .and_then(|count| count.checked_mul(SECTOR))
                .ok_or(WRONG)?;
        }
        Some(b"/") => event.split_sector = words.next().and_then(number::whole).ok_or(WRONG)?,
        // `FN 0 [0]`
        _ => *words = at_sign,
    }
    Ok(())
}

fn device(word: &[u8]) -> Option<(u32, u32)> {
    let comma = word.iter().position(|byte| *byte == b',')?;
    Some((number::small(&word[..comma])?, number::small(&word[comma + 1..])?))
}

fn time(word: &[u8]) -> Option<i64> {
    word.contains(&b'.').then(|| number::time_ns(word, SECOND_NS)).flatten()
}

/// blkparse's and classic lines: these have no sequence number.
fn classic_head(line: &[u8]) -> Option<LineHead<'_>> {
    let mut words = Words { rest: line };
    let device = device(words.next()?)?;
    number::small(words.next()?)?;
    let third = words.next()?;
    let at_ns = match time(third) {
        Some(at_ns) => at_ns,
        None => {
            number::whole(third)?;
            time(words.next()?)?
        }
    };
    let process = number::small(words.next()?)?;
    Some(LineHead { device, at_ns, process, rest: words, name: None })
}

/// `task-697 [003] d..1. 930.643071: 8,0 D …`; a task's name may have blanks and dashes.
fn ftrace_head(line: &[u8]) -> Option<LineHead<'_>> {
    let bracket = line.windows(2).position(|pair| pair[0] == b'[' && pair[1].is_ascii_digit())?;
    let task = line[..bracket].trim_ascii();
    let dash = task.iter().rposition(|byte| *byte == b'-')?;
    let process = number::small(&task[dash + 1..])?;
    let colon = bracket + line[bracket..].windows(2).position(|pair| pair == b": ")?;
    let stamp = Words { rest: &line[bracket..colon] }.last()?;
    let at_ns = time(stamp)?;
    let mut words = Words { rest: &line[colon + 1..] };
    let device = device(words.next()?)?;
    Some(LineHead { device, at_ns, process, rest: words, name: Some(&task[..dash]) })
}
