//! Integers and text as bytes: LEB128, zigzag, and text behind its length.

use crate::TraceError;

/// Files or threads of a section at most.
const DEFINITION_LIMIT: usize = 1 << 20;

/// Seven bits a byte, lowest first; the highest bit says that more follow.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes [`put_varint`] takes.
pub fn varint_length(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// 0, -1, 1, -2, … as 0, 1, 2, 3, …
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A byte 0, or a byte 1 and the value.
pub fn put_option(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put_varint(out, value);
    }
}

/// What is left of a section's body.
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn left(&self) -> usize {
        self.rest.len()
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], TraceError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, TraceError> {
        Ok(self.take(1)?[0])
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, TraceError> {
        match *self.rest {
            [byte @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(byte.into())
            }
            [low, high @ ..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, TraceError> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(match self.rest.len() < 10 {
            true => short(),
            false => TraceError::new("a number is longer than 64 bits"),
        })
    }

    /// A number of things that take at least one byte each: so no more than bytes are left.
    pub fn count(&mut self) -> Result<usize, TraceError> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(TraceError::new(format!("{count} entries in {} bytes", self.rest.len()))),
        }
    }

    /// A number of files or threads: each takes many times its bytes in memory, so a small file must not tell millions.
    pub fn definitions(&mut self) -> Result<usize, TraceError> {
        match self.count()? {
            count if count > DEFINITION_LIMIT => Err(TraceError::new(format!(
                "{count} files or threads in a section, where {DEFINITION_LIMIT} are the most"
            ))),
            count => Ok(count),
        }
    }

    pub fn narrow(&mut self) -> Result<u32, TraceError> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| TraceError::new(format!("{value} where 32 bits are expected")))
    }

    pub fn option(&mut self) -> Result<Option<u64>, TraceError> {
        match self.byte()? {
            0 => Ok(None),
            1 => Ok(Some(self.varint()?)),
            other => Err(TraceError::new(format!("{other} where 0 or 1 is expected"))),
        }
    }

    pub fn text(&mut self) -> Result<String, TraceError> {
        let length = self.count()?;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| TraceError::new("a name is no UTF-8 text"))?;
        Ok(text.to_string())
    }
}

fn short() -> TraceError {
    TraceError::new("it ends before its contents do")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_have_the_stated_length() {
        for value in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len(), varint_length(value), "{value}");
            assert_eq!(Cursor::new(&bytes).varint(), Ok(value));
            assert_eq!(zigzag(unzigzag(value)), value);
        }
        let long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(Cursor::new(&long).varint().is_err());
    }

    #[test]
    fn counts_beyond_the_bytes_are_refused() {
        let error = Cursor::new(&[200, 1, 0]).text().unwrap_err();
        assert_eq!(error.to_string(), "200 entries in 1 bytes");
    }
}
