//! The kernel's events as its trace pipe prints them.

use iodyno_model::Verb;

use super::{AnatomyEvent, BlockRange, RequestKind, TimedEvent};

/// The numbers of the system calls of interest, which differ by processor.
pub type CallNumbers<'a> = &'a [(i64, Verb)];

/// An event of a line such as
/// `fio-812 [001] d..1. 52.001200: block_rq_issue: 7,0 R 4096 () 1024 + 8 none,0,0 [fio]`.
/// None: it is of no interest, or no event.
pub fn parse_line(line: &str, calls: CallNumbers<'_>) -> Option<TimedEvent> {
    if let Some(lost) = line.split_once("[LOST ").map(|(_, rest)| rest) {
        let events = lost.split_whitespace().next()?.parse().ok()?;
        return Some(TimedEvent { at_ns: 0, thread: 0, event: AnatomyEvent::Lost(events) });
    }
    // A task's name may have blanks, colons and brackets: the processor's number is the last `[000]` before the time.
    let (head, name, body) = named(line)?;
    let (head, time) = head.trim_end().rsplit_once(' ')?;
    let task = head.get(..head.rfind(" [")?)?;
    let thread = task.trim_end().rsplit_once('-')?.1.parse().ok()?;
    let (seconds, fraction) = time.split_once('.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= 9)?;
    let at_ns = seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction.parse::<u64>().ok()? * 10u64.pow(9 - digits))?;
    let event = match name {
        "sys_enter" => AnatomyEvent::Enter(call(body, calls)?),
        "sys_exit" => {
            call(body, calls)?;
            AnatomyEvent::Exit
        }
        "block_bio_queue" => AnatomyEvent::Queued(range(body)?),
        "block_rq_issue" => AnatomyEvent::Issued(range(body)?),
        "block_rq_complete" => AnatomyEvent::Completed(range(body)?),
        "jbd2_start_commit" => AnatomyEvent::CommitBegan(device(body.strip_prefix("dev ")?)?),
        "xfs_log_force" => AnatomyEvent::LogForced,
        "jbd2_end_commit" => AnatomyEvent::CommitEnded(device(body.strip_prefix("dev ")?)?),
        _ => return None,
    };
    Some(TimedEvent { at_ns, thread, event })
}

/// What stands before the time's colon, the event's name, and what follows.
fn named(line: &str) -> Option<(&str, &str, &str)> {
    const NAMES: [&str; 8] = [
        "sys_enter",
        "sys_exit",
        "block_bio_queue",
        "block_rq_issue",
        "block_rq_complete",
        "jbd2_start_commit",
        "jbd2_end_commit",
        "xfs_log_force",
    ];
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(": ") {
        let (head, rest) = (&line[..from + at], &line[from + at + 2..]);
        let is_time = head.ends_with(|last: char| last.is_ascii_digit());
        let found = rest.split_once(": ").or_else(|| rest.split_once(' '));
        if let Some((name, body)) = found.filter(|(name, _)| is_time && NAMES.contains(name)) {
            return Some((head, name, body));
        }
        from += at + 2;
    }
    None
}

fn call(body: &str, calls: CallNumbers<'_>) -> Option<Verb> {
    let number = body.strip_prefix("NR ")?.split_whitespace().next()?.parse::<i64>().ok()?;
    calls.iter().find(|(of, _)| *of == number).map(|(_, verb)| *verb)
}

/// `7,0` as the kernel numbers devices; what follows is not looked at.
fn device(text: &str) -> Option<u32> {
    let (major, minor) = text.split_whitespace().next()?.split_once(',')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

/// `7,0 FWS 4096 () 1024 + 8 …`.
fn range(body: &str) -> Option<BlockRange> {
    let mut words = body.split_whitespace();
    let device = device(words.next()?)?;
    let letters = words.next()?;
    let (before, after) = body.split_once(" + ")?;
    let sector = before.rsplit_once(' ')?.1.parse().ok()?;
    let sectors: u32 = after.split_whitespace().next()?.parse().ok()?;
    Some(BlockRange { device, sector, sectors, kind: kind(letters, sectors) })
}

/// The letters begin with F where the cache is flushed before; then comes the operation.
fn kind(letters: &str, sectors: u32) -> RequestKind {
    let mut letters = letters.chars();
    let first = letters.next();
    let operation = match (first, letters.next()) {
        (Some('F'), Some(second)) => Some(second),
        (first, _) => first,
    };
    match operation {
        Some('R') => RequestKind::Read,
        Some('F') => RequestKind::Flush,
        Some('W') if first == Some('F') && sectors == 0 => RequestKind::Flush,
        Some('W') => RequestKind::Write,
        Some('D') => RequestKind::Discard,
        _ => RequestKind::Other,
    }
}
