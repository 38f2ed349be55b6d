//! Lines of a stream, each at most 64 KiB: what is longer is told and skipped, so that memory stays flat.

use std::io::Read;

use crate::TraceError;

/// The longest line that is read.
pub const LONGEST: usize = 64 << 10;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Text(&'a [u8]),
    /// Longer than [`LONGEST`].
    TooLong,
}

/// The lines of one input.
pub struct Lines {
    name: String,
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    ended: bool,
    /// Where the line lies that was read last.
    current: std::ops::Range<usize>,
}

impl Lines {
    pub fn new(name: String, source: Box<dyn Read + Send>) -> Lines {
        let buffer = vec![0; 4 * LONGEST];
        Lines { name, source, buffer, start: 0, end: 0, number: 0, ended: false, current: 0..0 }
    }

    /// The line that was read last.
    pub fn current(&self) -> &[u8] {
        &self.buffer[self.current.clone()]
    }

    /// Where the line is that was read last.
    pub fn place(&self) -> String {
        format!("{}:{}", self.name, self.number)
    }

    /// The next line; none: the end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, TraceError> {
        // What was looked through already.
        let mut seen = 0;
        loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(length) = memchr::memchr(b'\n', &rest[seen..]).map(|at| seen + at) {
                return Ok(Some(self.taken(length, 1)));
            }
            seen = rest.len();
            if seen > LONGEST {
                self.number += 1;
                self.skip_line()?;
                return Ok(Some(Line::TooLong));
            }
            if self.ended {
                return Ok((seen > 0).then(|| self.taken(seen, 0)));
            }
            self.fill()?;
        }
    }

    fn taken(&mut self, length: usize, end: usize) -> Line<'_> {
        self.number += 1;
        let line = &self.buffer[self.start..self.start + length];
        let kept = line.strip_suffix(b"\r").unwrap_or(line).len();
        self.current = self.start..self.start + kept;
        self.start += length + end;
        if length > LONGEST { Line::TooLong } else { Line::Text(self.current()) }
    }

    fn skip_line(&mut self) -> Result<(), TraceError> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += at + 1;
                return Ok(());
            }
            self.start = self.end;
            if self.ended {
                return Ok(());
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(TraceError::from(error).at(format!("{}:{}", self.name, self.number + 1)));
                }
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_told_and_the_rest_is_read() {
        let long = "x".repeat(1 << 20);
        let text = format!("a\r\n\n{long}\nb\n{long}");
        let mut lines = Lines::new("f".into(), Box::new(std::io::Cursor::new(text)));
        let mut told = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            told.push(match line {
                Line::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Line::TooLong => "long".into(),
            });
        }
        assert_eq!(told, ["a", "", "long", "b", "long"]);
        assert_eq!(lines.place(), "f:5");
    }
}
