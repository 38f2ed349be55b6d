//! One request after the other by a client that blocks: for what is not measured.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use iodyno_model::origin::plain;
use iodyno_s3::answer::{Chunks, headers};
use iodyno_s3::body::ErrorBody;
use iodyno_s3::{AnswerHead, Framing};

use super::peer::peers;
use super::settings::StoreSettings;

/// Bodies are read in pieces of so many bytes.
const PIECE: usize = 64 << 10;

/// What a request goes out on, and its answer comes back.
pub trait Channel: Read + Write + Send {}

impl<T: Read + Write + Send> Channel for T {}

/// A whole answer.
#[derive(Clone, Debug, Default)]
pub struct StoreAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl StoreAnswer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How a failure is called: by its code, and by its status.
    pub fn errors(&self) -> Vec<String> {
        let code = ErrorBody::parse(&self.body).code;
        let status = self.status.to_string();
        if code.is_empty() { vec![status] } else { vec![code, status] }
    }
}

/// Connects to the first endpoint, by TLS where it is one of https.
///
/// # Errors
/// In words.
pub fn connect(settings: &StoreSettings, bucket: &str, limit: Duration) -> Result<Box<dyn Channel>, String> {
    let peers = peers(settings, bucket).map_err(|failure| failure.message)?;
    let peer = peers.first().ok_or("no endpoint is named")?;
    let stream = TcpStream::connect_timeout(&peer.address, limit).map_err(|error| plain(&error))?;
    let set = stream.set_read_timeout(Some(limit)).and(stream.set_write_timeout(Some(limit)));
    set.and(stream.set_nodelay(true)).map_err(|error| plain(&error))?;
    if let Some(tls) = &peer.tls {
        return Ok(Box::new(tls.on_blocking(stream).map_err(|error| plain(&error))?));
    }
    Ok(Box::new(stream))
}

/// Why no whole answer came.
#[derive(Debug)]
pub enum Lost {
    BeforeAnswer(String),
    Within(String),
}

/// Sends a request's bytes and waits for the whole answer; whether the connection may be used again.
///
/// # Errors
/// No whole answer came.
pub fn converse(stream: &mut dyn Channel, bytes: &[u8], to_head: bool) -> Result<(StoreAnswer, bool), Lost> {
    stream.write_all(bytes).map_err(|error| Lost::BeforeAnswer(plain(&error)))?;
    let mut read = Vec::new();
    let (head, length) = loop {
        let found = AnswerHead::parse(&read, to_head).map_err(Lost::Within)?;
        match found {
            // An interim answer is followed by the one that counts.
            Some((head, length)) if (100..200).contains(&head.status) => drop(read.drain(..length)),
            Some(found) => break found,
            None if fill(stream, &mut read)? == 0 => {
                let why = "the connection ended before an answer".to_string();
                return Err(if read.is_empty() { Lost::BeforeAnswer(why) } else { Lost::Within(why) });
            }
            None => {}
        }
    };
    let mut answer = StoreAnswer { status: head.status, headers: headers(&read), body: Vec::new() };
    let mut rest = read.split_off(length);
    let cut = || Lost::Within("the connection ended within the answer".into());
    match head.framing {
        Framing::Length(bytes) => {
            let bytes = usize::try_from(bytes).map_err(|_| cut())?;
            while rest.len() < bytes {
                if fill(stream, &mut rest)? == 0 {
                    return Err(cut());
                }
            }
            rest.truncate(bytes);
            answer.body = rest;
        }
        Framing::ToEnd => {
            while fill(stream, &mut rest)? > 0 {}
            answer.body = rest;
        }
        Framing::Chunked => {
            let mut chunks = Chunks::default();
            loop {
                let taken =
                    chunks.take(&rest, |bytes| answer.body.extend_from_slice(bytes)).map_err(Lost::Within)?;
                rest.drain(..taken);
                if chunks.have_ended() {
                    break;
                }
                if fill(stream, &mut rest)? == 0 {
                    return Err(cut());
                }
            }
        }
    }
    Ok((answer, head.keeps_alive))
}

fn fill(stream: &mut dyn Channel, into: &mut Vec<u8>) -> Result<usize, Lost> {
    let before = into.len();
    into.resize(before + PIECE, 0);
    let read = stream.read(&mut into[before..]);
    into.truncate(before + read.as_ref().map_or(0, |read| *read));
    read.map_err(|error| match before {
        0 => Lost::BeforeAnswer(plain(&error)),
        _ => Lost::Within(plain(&error)),
    })
}
