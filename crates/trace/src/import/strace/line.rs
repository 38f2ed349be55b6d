//! A line of strace: who, when, and what of a call it shows.

/// What a line shows.
#[derive(Debug, PartialEq)]
pub enum Shown<'a> {
    /// A whole call.
    Call(&'a str),
    /// A call up to `<unfinished ...>`.
    Unfinished(&'a str),
    /// The rest of a call, with its name.
    Resumed(&'a str, &'a str),
    Exited,
    /// Another thread executed a program and goes on under this number.
    Superseded(u32),
    /// Signals, and what strace says itself.
    Nothing,
}

/// When a line was written, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStamp {
    /// Since the Unix epoch (`-ttt`), ns.
    Unix(u64),
    /// Since midnight (`-t`, `-tt`), ns.
    OfDay(u64),
    /// Since the line before (`-r`), ns.
    Since(u64),
}

#[derive(Debug, PartialEq)]
pub struct StraceLine<'a> {
    /// None: strace followed one process only.
    pub thread: Option<u32>,
    pub stamp: Option<LineStamp>,
    /// Whether the stamp has parts of a second.
    pub is_fine: bool,
    pub shown: Shown<'a>,
}

/// The largest number that a thread has on Linux: larger ones are seconds since 1970.
const LARGEST_THREAD: u64 = 4_194_304;
/// Seconds since 1970 begin here: smaller ones are since the line before.
const EARLIEST_UNIX_S: u64 = 100_000_000;

/// Takes a line apart; none: it is no line of strace.
pub fn parse(line: &str) -> Option<StraceLine<'_>> {
    if line.starts_with("strace: ") {
        return Some(StraceLine { thread: None, stamp: None, is_fine: false, shown: Shown::Nothing });
    }
    let mut rest = line.trim_start();
    let mut thread = None;
    if let Some(after) = rest.strip_prefix("[pid") {
        let (number, after) = after.split_once(']')?;
        thread = Some(number.trim().parse().ok()?);
        rest = after.trim_start();
    } else if let Some((word, after)) = rest.split_once(' ')
        && let Ok(number) = word.parse::<u64>()
        && number <= LARGEST_THREAD
    {
        thread = Some(number as u32);
        rest = after.trim_start();
    }
    let (mut stamp, mut is_fine) = (None, false);
    if let Some((word, after)) = rest.split_once(' ')
        && let Some(time) = time(word)
    {
        (stamp, is_fine) = (Some(time), word.contains('.'));
        rest = after.trim_start();
        // With -r beside another stamp: `(+ 0.000012)`.
        if let Some((_, after)) = rest.strip_prefix("(+").and_then(|rest| rest.split_once(')')) {
            rest = after.trim_start();
        }
    }
    Some(StraceLine { thread, stamp, is_fine, shown: shown(rest)? })
}

fn shown(rest: &str) -> Option<Shown<'_>> {
    if let Some(end) = rest.strip_prefix("+++ ") {
        return Some(match end.strip_prefix("superseded by execve in pid ") {
            Some(by) => Shown::Superseded(by.split(' ').next()?.parse().ok()?),
            None => Shown::Exited,
        });
    }
    if rest.starts_with("--- ") {
        return Some(Shown::Nothing);
    }
    if let Some(resumed) = rest.strip_prefix("<... ") {
        let (name, after) = resumed.split_once(" resumed>")?;
        return Some(Shown::Resumed(name, after));
    }
    if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
        return Some(Shown::Unfinished(begun.trim_end()));
    }
    let name = rest.split('(').next().filter(|name| rest.len() > name.len())?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'?';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(Shown::Call(rest))
}

/// `12:34:56.789`, `1795287630.899657` or `0.000123`.
fn time(word: &str) -> Option<LineStamp> {
    if let Some((hours, rest)) = word.split_once(':') {
        let (minutes, seconds) = rest.split_once(':')?;
        let [hours, minutes]: [u64; 2] = [hours.parse().ok()?, minutes.parse().ok()?];
        let seconds_ns = seconds_ns(seconds)?;
        let is_of_day = hours < 24 && minutes < 60 && seconds_ns <= 61_000_000_000;
        return is_of_day.then(|| LineStamp::OfDay((hours * 60 + minutes) * 60 * 1_000_000_000 + seconds_ns));
    }
    let ns = seconds_ns(word)?;
    Some(if ns >= EARLIEST_UNIX_S * 1_000_000_000 { LineStamp::Unix(ns) } else { LineStamp::Since(ns) })
}

/// Seconds with up to nine digits after the point, as ns.
pub fn seconds_ns(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 9 || !is_number(part) || !is_number(whole) {
        return None;
    }
    let part_ns = format!("{part:0<9}").parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(line: &str) -> (Option<u32>, Option<LineStamp>) {
        let line = parse(line).unwrap();
        assert_eq!(line.shown, Shown::Call("close(3) = 0"));
        (line.thread, line.stamp)
    }

    #[test]
    fn all_forms_of_numbers_and_times_are_understood() {
        let day = 45_296_000_000_000;
        assert_eq!(whole("close(3) = 0"), (None, None));
        assert_eq!(whole("5694  close(3) = 0"), (Some(5694), None));
        assert_eq!(whole("[pid  5694] close(3) = 0"), (Some(5694), None));
        assert_eq!(whole("12:34:56 close(3) = 0"), (None, Some(LineStamp::OfDay(day))));
        assert_eq!(whole("7 12:34:56.5 close(3) = 0"), (Some(7), Some(LineStamp::OfDay(day + 500_000_000))));
        let unix = Some(LineStamp::Unix(1_795_287_630_899_657_000));
        assert_eq!(whole("1795287630.899657 close(3) = 0"), (None, unix));
        assert_eq!(whole("5694  1795287630.899657 close(3) = 0"), (Some(5694), unix));
        assert_eq!(
            whole("1795287630 close(3) = 0"),
            (None, Some(LineStamp::Unix(1_795_287_630_000_000_000)))
        );
        assert_eq!(whole("     0.000123 close(3) = 0"), (None, Some(LineStamp::Since(123_000))));
        assert_eq!(whole("12:34:56 (+     0.000123) close(3) = 0"), (None, Some(LineStamp::OfDay(day))));
    }

    #[test]
    fn parts_of_calls_ends_and_signals_are_told_apart() {
        let shown = |line: &'static str| parse(line).map(|line| line.shown);
        assert_eq!(shown("5 read(3,  <unfinished ...>"), Some(Shown::Unfinished("read(3,")));
        assert_eq!(shown("5 <... read resumed>\"a\", 1) = 1"), Some(Shown::Resumed("read", "\"a\", 1) = 1")));
        assert_eq!(shown("5 +++ exited with 0 +++"), Some(Shown::Exited));
        assert_eq!(shown("5 +++ superseded by execve in pid 9 +++"), Some(Shown::Superseded(9)));
        assert_eq!(shown("5 --- SIGCHLD {si_signo=SIGCHLD} ---"), Some(Shown::Nothing));
        assert_eq!(shown("strace: Process 5 attached"), Some(Shown::Nothing));
        assert_eq!([shown("hello world"), shown("")], [None, None]);
    }
}
