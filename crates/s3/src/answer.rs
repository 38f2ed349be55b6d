//! An answer's head, and how its body is framed.

use std::mem::MaybeUninit;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes follow.
    Length(u64),
    /// Chunks follow, the last of which is empty.
    Chunked,
    /// The body ends with the connection.
    ToEnd,
}

/// The head of an answer, as far as a client needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerHead {
    pub status: u16,
    pub framing: Framing,
    /// Whether the connection may be used again.
    pub keeps_alive: bool,
    pub etag: Option<String>,
    /// When the server thinks it is.
    pub date: Option<String>,
    /// Checksums of the object, by header.
    pub checksums: Vec<(String, String)>,
    /// The region that a bucket is in, where the server says so.
    pub region: Option<String>,
    /// How long ago a cache stored it, s, and whether it says that it did (`age`, `x-cache`).
    pub from_cache: bool,
    /// An intermediary passed the answer on (`via`).
    pub came_via: bool,
    /// Attempts that an intermediary says it made beyond the first (`x-envoy-attempt-count`).
    pub further_attempts: u64,
    /// Tells one request's number from another's (`x-amz-request-id`); 0: there is none.
    pub request_number: u64,
    /// Seconds to wait before another attempt.
    pub retry_after: Option<u64>,
}

/// Headers of an answer, at most.
const HEADERS_MOST: usize = 96;
/// The longest head, bytes.
pub const HEAD_BYTES_MOST: usize = 64 << 10;

/// All headers of a whole head, in its order; values that are no UTF-8 are left out.
pub fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
    let mut answer = httparse::Response::new(&mut headers);
    if !answer.parse(bytes).is_ok_and(|status| status.is_complete()) {
        return Vec::new();
    }
    let text = |header: &httparse::Header<'_>| {
        let value = std::str::from_utf8(header.value).ok()?;
        Some((header.name.to_string(), value.trim().to_string()))
    };
    answer.headers.iter().filter_map(text).collect()
}

impl AnswerHead {
    /// Reads a head: it, and its length in bytes; `None`: more bytes are needed.
    ///
    /// # Errors
    /// These bytes are no answer of HTTP/1.
    pub fn parse(bytes: &[u8], to_head: bool) -> Result<Option<(AnswerHead, usize)>, String> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MOST];
        let mut answer = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        let length = match parser.parse_response_with_uninit_headers(&mut answer, bytes, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES_MOST => {
                return Err("the head of the answer has no end".into());
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(format!("no answer of HTTP: {error}")),
        };
        let (status, version) = (answer.code.unwrap_or(0), answer.version.unwrap_or(0));
        let mut head = AnswerHead {
            status,
            framing: Framing::ToEnd,
            keeps_alive: version >= 1,
            etag: None,
            date: None,
            checksums: Vec::new(),
            region: None,
            from_cache: false,
            came_via: false,
            further_attempts: 0,
            request_number: 0,
            retry_after: None,
        };
        for header in answer.headers.iter() {
            let Ok(value) = std::str::from_utf8(header.value) else { continue };
            head.take(header.name, value.trim())?;
        }
        if to_head || matches!(status, 100..=199 | 204 | 304) {
            head.framing = Framing::Length(0);
        }
        if head.framing == Framing::ToEnd {
            head.keeps_alive = false;
        }
        Ok(Some((head, length)))
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("content-length") {
            let bytes = value.parse().map_err(|_| format!("a body of `{value}` bytes"))?;
            if self.framing != Framing::Chunked {
                self.framing = Framing::Length(bytes);
            }
        } else if is("transfer-encoding") {
            if value.eq_ignore_ascii_case("chunked") {
                self.framing = Framing::Chunked;
            } else {
                return Err(format!("a body encoded as `{value}`"));
            }
        } else if is("connection") {
            self.keeps_alive &= !value.eq_ignore_ascii_case("close");
        } else if is("etag") {
            self.etag = Some(value.into());
        } else if is("date") {
            self.date = Some(value.into());
        } else if is("x-amz-bucket-region") {
            self.region = Some(value.into());
        } else if is("age") {
            self.from_cache |= value != "0";
        } else if is("x-cache") {
            self.from_cache |= value.to_ascii_lowercase().contains("hit");
        } else if is("via") {
            self.came_via = true;
        } else if is("x-envoy-attempt-count") {
            self.further_attempts = value.parse::<u64>().unwrap_or(1).saturating_sub(1);
        } else if is("x-amz-request-id") {
            self.request_number = hash(value);
        } else if is("retry-after") {
            self.retry_after = value.parse().ok();
        } else if name.len() > 15 && name[..15].eq_ignore_ascii_case("x-amz-checksum-") {
            self.checksums.push((name.to_ascii_lowercase(), value.into()));
        }
        Ok(())
    }
}

/// FNV-1a, never 0: two numbers of requests are only held against each other.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step).max(1)
}

/// Takes a chunked body apart as its bytes come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Bytes left of this chunk, its line end included.
    left: u64,
    line: Vec<u8>,
    state: ChunkState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    /// In the line with a chunk's length.
    #[default]
    Length,
    Data,
    /// In the line end behind a chunk.
    DataEnd,
    /// In the lines behind the last chunk.
    Trailer,
    Ended,
}

impl Chunks {
    /// Takes bytes, of which those of the body go to `out`; the answer is how many were taken: after the body's end none.
    ///
    /// # Errors
    /// They are no chunks.
    pub fn take(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) -> Result<usize, String> {
        let mut at = 0;
        while at < bytes.len() && self.state != ChunkState::Ended {
            if self.state == ChunkState::Data {
                let part = (bytes.len() - at).min(usize::try_from(self.left).unwrap_or(usize::MAX));
                out(&bytes[at..at + part]);
                (at, self.left) = (at + part, self.left - part as u64);
                if self.left == 0 {
                    self.state = ChunkState::DataEnd;
                }
                continue;
            }
            let byte = bytes[at];
            at += 1;
            if byte != b'\n' {
                self.line.push(byte);
                if self.line.len() > 4096 {
                    return Err("a chunk whose length has no end".into());
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            self.turn(line.trim_ascii())?;
        }
        Ok(at)
    }

    /// A line is over.
    fn turn(&mut self, line: &[u8]) -> Result<(), String> {
        self.state = match self.state {
            ChunkState::DataEnd if line.is_empty() => ChunkState::Length,
            ChunkState::Trailer if line.is_empty() => ChunkState::Ended,
            ChunkState::Trailer => ChunkState::Trailer,
            ChunkState::Length => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let digits = std::str::from_utf8(digits).unwrap_or("").trim();
                self.left =
                    u64::from_str_radix(digits, 16).map_err(|_| format!("a chunk of `{digits}` bytes"))?;
                if self.left == 0 { ChunkState::Trailer } else { ChunkState::Data }
            }
            _ => return Err("a chunk longer than it says".into()),
        };
        Ok(())
    }

    /// Whether the whole body has come.
    pub fn have_ended(&self) -> bool {
        self.state == ChunkState::Ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> AnswerHead {
        AnswerHead::parse(text.as_bytes(), false).unwrap().unwrap().0
    }

    #[test]
    fn a_head_says_how_its_body_ends() {
        let text = "HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\nETag: \"x\"\r\nAge: 3\r\n\
                    X-Amz-Checksum-Crc32c: AAAA\r\n\r\n0123456789";
        let (found, length) = AnswerHead::parse(text.as_bytes(), false).unwrap().unwrap();
        assert_eq!((found.status, found.framing, found.keeps_alive), (206, Framing::Length(10), true));
        assert_eq!((found.etag.as_deref(), found.from_cache, length), (Some("\"x\""), true, text.len() - 10));
        assert_eq!(found.checksums, [("x-amz-checksum-crc32c".into(), "AAAA".into())]);
        let chunked = head("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert_eq!(chunked.framing, Framing::Chunked);
        let old = head("HTTP/1.0 200 OK\r\n\r\n");
        assert_eq!((old.framing, old.keeps_alive), (Framing::ToEnd, false));
        let closing = head("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        assert_eq!((closing.framing, closing.keeps_alive), (Framing::Length(0), false));
        let of_head =
            AnswerHead::parse(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", true).unwrap().unwrap().0;
        assert_eq!(of_head.framing, Framing::Length(0));
        assert_eq!(AnswerHead::parse(b"HTTP/1.1 200 OK\r\nConte", false), Ok(None));
        assert!(AnswerHead::parse(b"\x15\x03\x01\x00\x02", false).is_err());
        assert!(AnswerHead::parse(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", false).is_err());
    }

    #[test]
    fn chunks_come_in_any_pieces() {
        let text = b"5\r\nHello\r\n3;x=y\r\nabc\r\n0\r\ntrailer: 1\r\n\r\nrest";
        for step in 1..text.len() {
            let (mut chunks, mut body, mut taken) = (Chunks::default(), Vec::new(), 0);
            for part in text.chunks(step) {
                taken += chunks.take(part, |bytes| body.extend_from_slice(bytes)).unwrap();
            }
            assert_eq!(
                (body.as_slice(), taken, chunks.have_ended()),
                (&b"Helloabc"[..], text.len() - 4, true)
            );
        }
        assert!(Chunks::default().take(b"zz\r\n", |_| ()).is_err());
    }
}
