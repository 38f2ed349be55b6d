//! Bytes on their way from a read to a gathering write: each becomes another, pairs change places, lines become records of
//! one length and the reverse (POSIX, dd, `conv=`).
//!
//! A line may become much longer than it was, so it is converted only as far as the queue has room. All memory is there
//! before the start line.

use iodyno_model::{Conversion, RecordForm};

/// Converts what one buffer's reads bring.
pub struct Converter {
    /// What each byte becomes.
    table: [u8; 256],
    swaps: bool,
    form: RecordForm,
    /// What was read last, with its pairs in their new order, and how much of it was converted.
    input: Vec<u8>,
    at: usize,
    /// The odd byte that waits for its other one.
    odd: Option<u8>,
    /// Bytes of the present line or record so far.
    column: u64,
    /// Blanks that are due: behind a line that is too short, or seen and not yet written.
    blanks: u64,
    /// Lines that were longer than a record.
    pub truncated: u64,
}

impl Converter {
    /// For reads of so many bytes.
    pub fn new(conversion: &Conversion, most_bytes: u64) -> Self {
        let mut table: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        table.iter_mut().zip(&conversion.bytes).for_each(|(byte, becomes)| *byte = *becomes);
        Converter {
            table,
            swaps: conversion.swap,
            form: conversion.records,
            input: Vec::with_capacity(most_bytes as usize + 2),
            at: 0,
            odd: None,
            column: 0,
            blanks: 0,
            truncated: 0,
        }
    }

    /// What short reads are filled up with.
    pub fn padding(&self) -> u8 {
        if self.form == RecordForm::AsRead { 0 } else { b' ' }
    }

    /// Takes over what was read; what was taken over before is converted by now.
    pub fn take(&mut self, read: &[u8]) {
        self.at = 0;
        self.input.clear();
        let mut bytes = read.iter().map(|byte| self.table[usize::from(*byte)]);
        if !self.swaps {
            return self.input.extend(bytes);
        }
        while let Some(first) = self.odd.take().or_else(|| bytes.next()) {
            match bytes.next() {
                Some(second) => self.input.extend([second, first]),
                None => {
                    self.odd = Some(first);
                    return;
                }
            }
        }
    }

    /// Converts as much as `out` has room for; with `ends` nothing more is read. How many bytes that came to.
    pub fn fill(&mut self, out: &mut [u8], ends: bool) -> usize {
        if ends && self.at == self.input.len() {
            self.input.extend(self.odd.take());
        }
        let mut filled = match self.form {
            RecordForm::AsRead => {
                let left = &self.input[self.at..];
                let bytes = left.len().min(out.len());
                out[..bytes].copy_from_slice(&left[..bytes]);
                self.at += bytes;
                bytes
            }
            _ => 0,
        };
        while filled < out.len() {
            let Some(byte) = self.next_of_record(ends) else { break };
            out[filled] = byte;
            filled += 1;
        }
        filled
    }

    /// The next byte of records or lines; none: more must be read, or all is written.
    fn next_of_record(&mut self, ends: bool) -> Option<u8> {
        loop {
            let next = self.input.get(self.at).copied();
            match self.form {
                RecordForm::AsRead => return None,
                RecordForm::FromLines { bytes, newline, blank } => {
                    if self.blanks > 0 {
                        self.blanks -= 1;
                        return Some(blank);
                    }
                    let is_end = next == Some(newline) || (next.is_none() && ends && self.column > 0);
                    if is_end {
                        self.blanks = bytes.saturating_sub(std::mem::take(&mut self.column));
                        self.at += usize::from(next.is_some());
                        continue;
                    }
                    let byte = next?;
                    self.at += 1;
                    self.column += 1;
                    if self.column <= bytes {
                        return Some(byte);
                    }
                    self.truncated += u64::from(self.column == bytes + 1);
                }
                RecordForm::ToLines { bytes, newline, blank } => {
                    let is_end = next.is_none() && ends && self.column > 0;
                    if is_end || (next.is_some() && self.column >= bytes) {
                        (self.column, self.blanks) = (0, 0);
                        return Some(newline);
                    }
                    let byte = next?;
                    if byte != blank && self.blanks > 0 {
                        self.blanks -= 1;
                        return Some(blank);
                    }
                    self.at += 1;
                    self.column += 1;
                    if byte != blank {
                        return Some(byte);
                    }
                    self.blanks += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of reads of so many bytes, written into rooms of `room` bytes; and the lines that were cut.
    fn converted(conversion: &Conversion, text: &[u8], read: usize, room: usize) -> (String, u64) {
        let mut converter = Converter::new(conversion, read as u64);
        let (mut all, mut out) = (Vec::new(), vec![0; room]);
        let mut write = |converter: &mut Converter, ends: bool| loop {
            match converter.fill(&mut out, ends) {
                0 => break,
                bytes => all.extend_from_slice(&out[..bytes]),
            }
        };
        for part in text.chunks(read) {
            converter.take(part);
            write(&mut converter, false);
        }
        write(&mut converter, true);
        (String::from_utf8(all).unwrap(), converter.truncated)
    }

    fn with(records: RecordForm) -> Conversion {
        Conversion { records, ..Conversion::default() }
    }

    /// The outputs are GNU dd 9.1's.
    #[test]
    fn lines_become_records_and_the_reverse_however_they_are_cut() {
        let block = with(RecordForm::FromLines { bytes: 6, newline: b'\n', blank: b' ' });
        let unblock = with(RecordForm::ToLines { bytes: 6, newline: b'\n', blank: b' ' });
        for read in [1, 2, 3, 7, 64] {
            for room in [1, 4, 64] {
                let of = |conversion, text: &str| converted(conversion, text.as_bytes(), read, room);
                let text = "abcdefgh\nxy\n\nlonger line here\nend";
                assert_eq!(of(&block, text), ("abcdefxy          longerend   ".into(), 2), "{read} {room}");
                let lines = of(&unblock, "ab    cd    \n      xyz  abc");
                assert_eq!(lines, ("ab\ncd\n\n\n xyz\nabc\n".into(), 0), "{read} {room}");
                assert_eq!(of(&unblock, ""), (String::new(), 0));
            }
        }
    }

    #[test]
    fn pairs_change_places_across_reads_and_an_odd_one_stays() {
        let swap = Conversion { swap: true, ..Conversion::default() };
        for read in 1..9 {
            assert_eq!(converted(&swap, b"abcdefg", read, 3).0, "badcfeg", "{read}");
            assert_eq!(converted(&swap, b"abcdef", read, 64).0, "badcfe", "{read}");
        }
    }

    #[test]
    fn bytes_become_others_before_lines_are_cut() {
        let bytes = (0..=255u8).map(|byte| if byte == b'x' { b'\n' } else { byte.to_ascii_uppercase() });
        let records = RecordForm::FromLines { bytes: 2, newline: b'\n', blank: b'.' };
        let conversion = Conversion { bytes: bytes.collect(), swap: true, records };
        assert_eq!(converted(&conversion, b"axbcd", 2, 64), ("..AC".into(), 1));
    }
}
