//! Standard output and standard error; where they are a terminal, what does not come from us gives it no orders.
//!
//! Names of jobs and files are printed as their originals print them, with whatever bytes they have. A terminal gets
//! line ends, tabs, colours and the end of a line cleared; every other control character is shown as `\\x1b`. A pipe or a
//! file gets every byte as it is.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use iodyno_model::{Diagnostic, Origin};
use iodyno_report::number::RateUnit;
use iodyno_report::paint::Paint;

/// Standard output.
pub fn out() -> ScreenedStream<StdoutLock<'static>> {
    let to = io::stdout().lock();
    ScreenedStream { screens: to.is_terminal(), to }
}

/// Standard error.
pub fn err() -> ScreenedStream<StderrLock<'static>> {
    let to = io::stderr().lock();
    ScreenedStream { screens: to.is_terminal(), to }
}

/// Whether a person reads standard error.
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person reads standard error on a terminal that moves its cursor.
pub fn is_redrawn() -> bool {
    is_watched() && !is_dumb()
}

/// Whether a person types at a terminal that moves its cursor, and sees what is printed.
pub fn is_conversed() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb()
}

/// How standard output is painted.
pub fn out_paint() -> Paint {
    paint(io::stdout())
}

/// How standard error is painted.
pub fn err_paint() -> Paint {
    paint(io::stderr())
}

/// Columns of text where no terminal says how many it has.
const COLUMNS: usize = 80;
/// Narrower text cannot be read, wider lines neither.
const COLUMNS_LEAST: usize = 40;
const COLUMNS_MOST: usize = 140;

/// Without colours where they are not wanted (`NO_COLOR`) or not understood (`TERM=dumb`); as wide as `COLUMNS` says, or the
/// terminal is.
fn paint(stream: impl IsTerminal + AsFd) -> Paint {
    let colour = stream.is_terminal() && !is_dumb() && std::env::var_os("NO_COLOR").is_none();
    let told =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    let seen = || terminal_size::terminal_size_of(stream).map(|(columns, _)| usize::from(columns.0));
    let columns = told.or_else(seen).unwrap_or(COLUMNS).clamp(COLUMNS_LEAST, COLUMNS_MOST);
    Paint { colour, columns, rates: UNITS.get().copied().unwrap_or_default() }
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// The unit of data rates in all that people read.
static UNITS: OnceLock<RateUnit> = OnceLock::new();

/// Takes the unit that `--units` or `IODYNO_UNITS` names.
///
/// # Errors
/// A unit that there is not.
pub fn choose_units(option: Option<&str>) -> Result<(), Diagnostic> {
    let named = std::env::var("IODYNO_UNITS").ok().filter(|name| !name.is_empty());
    let (place, name) = match (option, &named) {
        (Some(name), _) => (format!("--units {name}"), name),
        (None, Some(name)) => (format!("IODYNO_UNITS={name}"), name.as_str()),
        (None, None) => return Ok(()),
    };
    let same = |unit: &RateUnit| [unit.name(), unit.name().trim_end_matches("/s")].contains(&name);
    let unit = RateUnit::ALL.into_iter().find(same).ok_or_else(|| {
        let names = RateUnit::ALL.map(RateUnit::name).join(", ");
        Diagnostic::error(&Origin::argument(&place), "no unit of data rates").hint(format!("one of {names}"))
    })?;
    // It is chosen once, before anything is printed.
    let _ = UNITS.set(unit);
    Ok(())
}

/// A stream that shows control characters instead of sending them.
pub struct ScreenedStream<W> {
    to: W,
    screens: bool,
}

impl<W: Write> Write for ScreenedStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.screens {
            true => self.to.write_all(&shown(bytes)).map(|()| bytes.len()),
            false => self.to.write(bytes),
        }
    }

    /// All at once: pieces of a sequence could not be told from a lone control character.
    fn write_fmt(&mut self, text: Arguments<'_>) -> io::Result<()> {
        match self.screens {
            true => self.to.write_all(&shown(text.to_string().as_bytes())),
            false => self.to.write_fmt(text),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Bytes as a terminal may have them.
fn shown(bytes: &[u8]) -> Cow<'_, [u8]> {
    let harmless = |byte: u8| matches!(byte, b'\n' | b'\r' | b'\t' | b' '..=b'~');
    if bytes.iter().all(|byte| harmless(*byte)) {
        return Cow::Borrowed(bytes);
    }
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len() + 16), bytes);
    while let Some(first) = rest.first() {
        let passed = if harmless(*first) { 1 } else { sequence(rest).or_else(|| letter(rest)).unwrap_or(0) };
        if passed == 0 {
            out.extend_from_slice(format!("\\x{first:02x}").as_bytes());
        }
        let (done, left) = rest.split_at(passed.max(1));
        if passed > 0 {
            out.extend_from_slice(done);
        }
        rest = left;
    }
    Cow::Owned(out)
}

/// The length of one of our own sequences: a colour, or the end of the line cleared.
fn sequence(bytes: &[u8]) -> Option<usize> {
    let parameters = bytes.strip_prefix(b"\x1b[")?;
    let end = parameters.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'))?;
    matches!(parameters[end], b'm' | b'K').then_some(end + 3)
}

/// The length of a letter beyond ASCII that is no control character.
fn letter(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
    (!text.chars().any(char::is_control)).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_no_orders() {
        for (bytes, wanted) in [
            (&b"plain\ttext\r\n"[..], &b"plain\ttext\r\n"[..]),
            ("µs · ä 日".as_bytes(), "µs · ä 日".as_bytes()),
            (b"\x1b[1;31mred\x1b[0m\r\x1b[2K", b"\x1b[1;31mred\x1b[0m\r\x1b[2K"),
            (b"\x1b]0;title\x07", b"\\x1b]0;title\\x07"),
            (b"\x1b[2J\x1b[?1049h\x1b", b"\\x1b[2J\\x1b[?1049h\\x1b"),
            (b"\xc2\x9b2J\x9b\x80", b"\\xc2\\x9b2J\\x9b\\x80"),
            (b"\x08\x7f\x00", b"\\x08\\x7f\\x00"),
        ] {
            assert_eq!(shown(bytes), wanted, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_formatted_in_pieces_is_looked_at_as_a_whole() {
        let mut to = Vec::new();
        let mut screened = ScreenedStream { to: &mut to, screens: true };
        let (code, name) = (31, "\x1b[H");
        write!(screened, "\x1b[{code}m{name}\x1b[0m").unwrap();
        assert_eq!(to, b"\x1b[31m\\x1b[H\x1b[0m");
    }
}
