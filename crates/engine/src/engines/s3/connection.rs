//! One connection to a store, and the one exchange on it: a request goes out, an answer comes back.
//!
//! The socket never blocks. Bytes of an object go between the socket and the operation's buffer without a copy where
//! their length is known. It retries nothing: how an exchange ended is for its owner.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};

use iodyno_s3::answer::{Chunks, HEAD_BYTES_MOST};
use iodyno_s3::{AnswerHead, Framing};
use socket2::{Domain, Protocol, Socket, Type};

use super::peer::Peer;
use super::stream::StoreStream;
use super::tls::{self, TlsClient, TlsStream};
use crate::clock::Tick;
use crate::secrets::SecretBytes;

/// The longest body that is no object's: a page of a list has at most 1000 keys.
const TEXT_BYTES_MOST: usize = 16 << 20;
/// Read at once where it does not go to a buffer, bytes.
pub const SCRATCH_BYTES: usize = 16 << 10;

/// A buffer of an operation: bytes that are sent, or that come.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub start: *mut u8,
    pub bytes: usize,
}

impl Buffer {
    pub const NONE: Buffer = Buffer { start: std::ptr::null_mut(), bytes: 0 };

    /// All of it.
    ///
    /// # Safety
    /// As [`Buffer::rest`].
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: as the caller promises.
        unsafe { self.rest(0) }
    }

    /// The bytes from a place on.
    ///
    /// # Safety
    /// The buffer is that of an operation in flight.
    unsafe fn rest(&self, from: usize) -> &[u8] {
        match self.bytes.saturating_sub(from) {
            0 => &[],
            // SAFETY: the buffer is as long as that, and as the caller promises.
            left => unsafe { std::slice::from_raw_parts(self.start.add(from), left) },
        }
    }

    /// The same to be written to.
    ///
    /// # Safety
    /// As [`Buffer::rest`], and nobody else looks at it.
    unsafe fn room(&mut self, from: usize) -> &mut [u8] {
        match self.bytes.saturating_sub(from) {
            0 => &mut [],
            // SAFETY: as above.
            left => unsafe { std::slice::from_raw_parts_mut(self.start.add(from), left) },
        }
    }
}

/// What is sent behind a request's head.
#[derive(Debug)]
pub enum Outgoing {
    Nothing,
    /// An object's bytes.
    Object(Buffer),
    Text(Vec<u8>),
}

/// How far an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeStage {
    /// No exchange.
    Idle,
    Connecting,
    /// TLS: keys are agreed on.
    Handshake,
    Sending,
    /// The head of the answer is awaited.
    Head,
    Body,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A whole answer came.
    Answered,
    /// A connection that had been used before was closed by the other side before anything of the answer came.
    Stale,
    /// The system's error number, and whether the connection stood.
    Broken { errno: i32, connected: bool },
    /// What came is no answer, or there is no TLS session: [`Connection::garbled`].
    Garbled,
}

/// Times of an exchange; 0: not reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExchangeTimes {
    /// The connection was opened for it.
    pub opened: Tick,
    pub connected: Tick,
    /// A TLS session stood on it.
    pub secured: Tick,
    pub sent: Tick,
    pub first_byte: Tick,
    pub ended: Tick,
}

/// A connection, with what is on its way on it.
#[derive(Debug)]
pub struct Connection {
    stream: Option<StoreStream>,
    /// TLS begins once the socket is connected.
    tls: Option<TlsClient>,
    stage: ExchangeStage,
    /// It carried an exchange before.
    used: bool,
    keeps_alive: bool,
    /// The socket has nothing, or takes nothing, for now.
    is_blocked: bool,
    /// The system said that something is there, and it was not all read.
    has_input: bool,
    /// The other side sends nothing more, which is said once.
    is_ending: bool,
    /// A session's token stands in it.
    head: SecretBytes,
    outgoing: Outgoing,
    sent: usize,
    input: Vec<u8>,
    is_head_request: bool,
    /// Where the bytes of an answer of success go; none: they are kept as text.
    sink: Buffer,
    chunks: Chunks,
    /// Bytes of the body that came.
    pub body_bytes: u64,
    pub answer: Option<AnswerHead>,
    pub text: Vec<u8>,
    /// What is wrong with what came.
    pub garbled: String,
    /// What to do about it, where that is known.
    pub garbled_hint: &'static str,
    pub times: ExchangeTimes,
    /// When it fails unless something moves.
    pub deadline: Tick,
    /// What epoll calls it.
    pub number: u32,
}

impl Connection {
    pub fn new(number: u32) -> Connection {
        Connection {
            stream: None,
            tls: None,
            stage: ExchangeStage::Idle,
            used: false,
            keeps_alive: false,
            is_blocked: false,
            has_input: false,
            is_ending: false,
            head: SecretBytes::default(),
            outgoing: Outgoing::Nothing,
            sent: 0,
            input: Vec::new(),
            is_head_request: false,
            sink: Buffer::NONE,
            chunks: Chunks::default(),
            body_bytes: 0,
            answer: None,
            text: Vec::new(),
            garbled: String::new(),
            garbled_hint: "",
            times: ExchangeTimes::default(),
            deadline: 0,
            number,
        }
    }

    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    pub fn is_busy(&self) -> bool {
        self.stage != ExchangeStage::Idle
    }

    pub fn fd(&self) -> Option<RawFd> {
        self.stream.as_ref().map(|stream| stream.socket().as_raw_fd())
    }

    /// Whether its TLS session went on with the keys of one before.
    pub fn is_resumed(&self) -> bool {
        match &self.stream {
            Some(StoreStream::Tls(stream)) => TlsStream::is_resumed(stream),
            _ => false,
        }
    }

    /// Begins to connect.
    ///
    /// # Errors
    /// The system's error number.
    pub fn open(&mut self, peer: &Peer, now: Tick) -> Result<(), i32> {
        let number = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let domain = Domain::for_address(peer.address);
        let socket =
            Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP)).map_err(number)?;
        socket.set_tcp_nodelay(true).map_err(number)?;
        match socket.connect(&peer.address.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(number(error)),
        }
        (self.used, self.has_input, self.is_ending) = (false, false, false);
        self.stream = Some(StoreStream::Plain(socket));
        self.tls.clone_from(&peer.tls);
        self.times = ExchangeTimes { opened: now, ..ExchangeTimes::default() };
        self.stage = ExchangeStage::Connecting;
        Ok(())
    }

    /// Notes what epoll said of the socket. As it says each change once, a socket that gave less than was asked for is not
    /// asked again before that.
    pub fn note(&mut self, events: u32) {
        self.has_input |= events & libc::EPOLLIN as u32 != 0;
        self.is_ending |= events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0;
    }

    pub fn close(&mut self) {
        (self.stream, self.stage, self.used) = (None, ExchangeStage::Idle, false);
    }

    /// The head of the next request, to be written to.
    pub fn head(&mut self) -> &mut SecretBytes {
        self.head.clear();
        &mut self.head
    }

    /// Begins an exchange whose head is written already. `sink`: where the bytes of an object go.
    pub fn begin(&mut self, outgoing: Outgoing, sink: Buffer, is_head_request: bool) {
        if self.stage == ExchangeStage::Idle {
            (self.stage, self.times) = (ExchangeStage::Sending, ExchangeTimes::default());
        }
        (self.outgoing, self.sent, self.sink) = (outgoing, 0, sink);
        (self.is_head_request, self.deadline) = (is_head_request, Tick::MAX);
        self.has_input = false;
        self.input.clear();
        self.text.clear();
        self.garbled.clear();
        (self.answer, self.body_bytes, self.chunks) = (None, 0, Chunks::default());
    }

    /// Goes on as far as the socket lets it. Some: the exchange ended.
    ///
    /// `scratch` is room for what comes and does not go to a buffer; of a thousand connections none has its own.
    pub fn go_on(&mut self, now: impl Fn() -> Tick, timeout_ns: u64, scratch: &mut [u8]) -> Option<Ending> {
        let mut moves = self.deadline == Tick::MAX;
        loop {
            self.is_blocked = false;
            let ending = match self.stage {
                ExchangeStage::Idle => return None,
                ExchangeStage::Connecting => self.connected(&now),
                ExchangeStage::Handshake => self.shake_hands(&now),
                ExchangeStage::Sending => self.send(&now, scratch),
                ExchangeStage::Head => self.take_head(&now, scratch),
                ExchangeStage::Body => self.take_body(scratch),
            };
            if let Some(ending) = ending {
                return Some(self.end(ending, now()));
            }
            if self.is_blocked {
                if moves {
                    self.deadline = now() + timeout_ns;
                }
                return None;
            }
            moves = true;
        }
    }

    /// Nothing moved for too long.
    pub fn give_up(&mut self, now: Tick) -> Ending {
        let connected = self.is_connected();
        self.end(Ending::Broken { errno: libc::ETIMEDOUT, connected }, now)
    }

    fn end(&mut self, ending: Ending, now: Tick) -> Ending {
        self.times.ended = now;
        self.outgoing = Outgoing::Nothing;
        self.stage = ExchangeStage::Idle;
        if ending == Ending::Answered && self.keeps_alive {
            self.used = true;
        } else {
            self.close();
        }
        ending
    }

    fn broken(&mut self, error: &std::io::Error) -> Option<Ending> {
        if let Some((what, hint)) = tls::explain(error) {
            (self.garbled, self.garbled_hint) = (what, hint);
            return Some(Ending::Garbled);
        }
        match error.kind() {
            ErrorKind::Interrupted => None,
            ErrorKind::WouldBlock => {
                self.is_blocked = true;
                // Of a write it says nothing of what is there to be read.
                self.has_input &= self.stage == ExchangeStage::Sending;
                None
            }
            // A session that ends before it begins.
            ErrorKind::UnexpectedEof => Some(self.lost(libc::ECONNRESET)),
            _ => Some(self.lost(error.raw_os_error().unwrap_or(libc::EIO))),
        }
    }

    fn is_connected(&self) -> bool {
        !matches!(self.stage, ExchangeStage::Connecting | ExchangeStage::Handshake)
    }

    /// The connection is gone.
    fn lost(&self, errno: i32) -> Ending {
        let nothing_came = self.answer.is_none() && self.input.is_empty();
        match self.used && nothing_came {
            true => Ending::Stale,
            false => Ending::Broken { errno, connected: self.is_connected() },
        }
    }

    fn connected(&mut self, now: &impl Fn() -> Tick) -> Option<Ending> {
        let socket = self.stream.as_ref()?.socket();
        match socket.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return self.broken(&error),
        }
        if socket.peer_addr().is_err() {
            self.is_blocked = true;
            return None;
        }
        (self.times.connected, self.stage) = (now(), ExchangeStage::Sending);
        if let Some(tls) = &self.tls
            && let Some(StoreStream::Plain(socket)) = self.stream.take()
        {
            match tls.on(socket) {
                Ok(stream) => self.stream = Some(StoreStream::Tls(Box::new(stream))),
                Err(error) => return self.broken(&error),
            }
            self.stage = ExchangeStage::Handshake;
        }
        None
    }

    fn shake_hands(&mut self, now: &impl Fn() -> Tick) -> Option<Ending> {
        match self.stream.as_mut()?.shake_hands() {
            Ok(()) => {
                (self.times.secured, self.stage) = (now(), ExchangeStage::Sending);
                None
            }
            Err(error) => self.broken(&error),
        }
    }

    fn send(&mut self, now: &impl Fn() -> Tick, scratch: &mut [u8]) -> Option<Ending> {
        let stream = self.stream.as_mut()?;
        let body: &[u8] = match &self.outgoing {
            Outgoing::Nothing => &[],
            // SAFETY: the buffer belongs to the operation that this exchange is for, which is in flight.
            Outgoing::Object(buffer) => unsafe { buffer.rest(0) },
            Outgoing::Text(text) => text,
        };
        let total = self.head.len() + body.len();
        let written = match self.sent {
            sent if sent == total => stream.flush().map(|()| 0),
            sent if sent < self.head.len() => stream.write(&self.head[sent..], body),
            sent => stream.write(&[], &body[sent - self.head.len()..]),
        };
        match written {
            Ok(bytes) => self.sent += bytes,
            // An answer may have come before all was sent, and says why it was not wanted.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPIPE | libc::ECONNRESET)) => {
                self.times.sent = now();
                self.stage = ExchangeStage::Head;
                let ending = self.take_head(now, scratch);
                return ending.or(self.answer.is_none().then(|| self.lost(libc::ECONNRESET)));
            }
            Err(error) => return self.broken(&error),
        }
        if self.sent == total {
            if let Err(error) = self.stream.as_mut()?.flush() {
                return self.broken(&error);
            }
            (self.times.sent, self.stage) = (now(), ExchangeStage::Head);
            // Nothing is there yet, or epoll has said so.
            self.is_blocked = !self.has_input && !self.is_ending;
        }
        None
    }

    /// So many of the bytes that were asked for came: of a stream less than all is all there is.
    fn note_read(&mut self, came: usize, asked: usize) {
        if came < asked && self.stream.as_ref().is_some_and(StoreStream::is_drained_by_short_reads) {
            self.has_input = false;
            self.is_blocked = !self.is_ending;
        }
    }

    /// Reads what is there behind what came. None: nothing more is there now.
    fn read(&mut self, scratch: &mut [u8]) -> Result<Option<usize>, Ending> {
        let Some(stream) = self.stream.as_mut() else { return Ok(None) };
        match stream.read(scratch) {
            Ok(bytes) => {
                self.note_read(bytes, scratch.len());
                Ok(Some(bytes))
            }
            Err(error) => self.broken(&error).map_or(Ok(None), Err),
        }
    }

    fn take_head(&mut self, now: &impl Fn() -> Tick, scratch: &mut [u8]) -> Option<Ending> {
        let came = match self.read(scratch) {
            Ok(None) => return None,
            Ok(Some(0)) => return Some(self.lost(libc::ECONNRESET)),
            Ok(Some(bytes)) => &scratch[..bytes],
            Err(ending) => return Some(ending),
        };
        if self.times.first_byte == 0 {
            self.times.first_byte = now();
        }
        if self.input.is_empty() {
            return self.parse(came);
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(came);
        self.parse(&input)
    }

    /// Reads the head in what came; what is no whole one is kept.
    fn parse(&mut self, mut bytes: &[u8]) -> Option<Ending> {
        loop {
            match AnswerHead::parse(bytes, self.is_head_request) {
                Ok(None) if bytes.len() < HEAD_BYTES_MOST => {
                    self.input.extend_from_slice(bytes);
                    return None;
                }
                Ok(None) => return Some(self.garble("the head of the answer has no end", bytes)),
                // What it is about comes behind it.
                Ok(Some((head, length))) if (100..200).contains(&head.status) => bytes = &bytes[length..],
                Ok(Some((head, length))) => {
                    self.keeps_alive = head.keeps_alive;
                    if !(200..300).contains(&head.status) {
                        self.sink = Buffer::NONE;
                    }
                    self.answer = Some(head);
                    self.stage = ExchangeStage::Body;
                    return self.take(&bytes[length..]);
                }
                Err(what) => return Some(self.garble(&what, bytes)),
            }
        }
    }

    fn garble(&mut self, what: &str, bytes: &[u8]) -> Ending {
        // The first byte of a TLS alert.
        let tls = bytes.first() == Some(&0x15);
        self.garbled_hint = if tls { "say https:// for this port" } else { "" };
        self.garbled = if tls { "the port speaks TLS (https)".into() } else { what.into() };
        Ending::Garbled
    }

    fn framing(&self) -> Framing {
        self.answer.as_ref().map_or(Framing::Length(0), |answer| answer.framing)
    }

    fn take_body(&mut self, scratch: &mut [u8]) -> Option<Ending> {
        let length = match self.framing() {
            Framing::Length(length) if self.sink.bytes > 0 => length,
            _ => u64::MAX,
        };
        let at = self.body_bytes as usize;
        let read = match self.stream.as_mut() {
            // Straight into the operation's buffer.
            Some(stream) if length != u64::MAX && at < self.sink.bytes => {
                // SAFETY: the buffer belongs to the operation that this exchange is for, which is in flight.
                let room = unsafe { self.sink.room(at) };
                let most = room.len().min(usize::try_from(length - self.body_bytes).unwrap_or(usize::MAX));
                match stream.read(&mut room[..most]) {
                    Ok(bytes) => {
                        self.body_bytes += bytes as u64;
                        self.note_read(bytes, most);
                        bytes
                    }
                    Err(error) => return self.broken(&error),
                }
            }
            _ => match self.read(scratch) {
                Ok(None) => return None,
                Ok(Some(0)) => 0,
                Ok(Some(bytes)) => return self.take(&scratch[..bytes]),
                Err(ending) => return Some(ending),
            },
        };
        match self.framing() {
            _ if self.is_whole() => Some(Ending::Answered),
            Framing::ToEnd if read == 0 => Some(Ending::Answered),
            _ if read == 0 => Some(Ending::Broken { errno: libc::ECONNRESET, connected: true }),
            _ => None,
        }
    }

    /// Takes bytes of the body.
    fn take(&mut self, bytes: &[u8]) -> Option<Ending> {
        let before = self.body_bytes;
        let framing = self.framing();
        let Connection { sink, text, body_bytes, chunks, .. } = self;
        let mut keep = |part: &[u8]| {
            let at = usize::try_from(*body_bytes).unwrap_or(usize::MAX);
            *body_bytes += part.len() as u64;
            if sink.bytes == 0 {
                let room = TEXT_BYTES_MOST.saturating_sub(text.len());
                text.extend_from_slice(&part[..part.len().min(room)]);
                return;
            }
            // SAFETY: the buffer belongs to the operation that this exchange is for, which is in flight.
            let room = unsafe { sink.room(at) };
            let fits = part.len().min(room.len());
            room[..fits].copy_from_slice(&part[..fits]);
        };
        let taken = match framing {
            Framing::Chunked => chunks.take(bytes, keep),
            Framing::Length(length) => {
                let left = usize::try_from(length.saturating_sub(before)).unwrap_or(usize::MAX);
                let part = bytes.len().min(left);
                keep(&bytes[..part]);
                Ok(part)
            }
            Framing::ToEnd => {
                keep(bytes);
                Ok(bytes.len())
            }
        };
        match taken {
            Err(what) => Some(self.garble(&what, &[])),
            // Bytes that nobody asked for: the next answer would not be the next request's.
            Ok(taken) if self.is_whole() => {
                self.keeps_alive &= taken == bytes.len();
                Some(Ending::Answered)
            }
            Ok(_) => None,
        }
    }

    fn is_whole(&self) -> bool {
        match self.framing() {
            Framing::Length(length) => self.body_bytes >= length,
            Framing::Chunked => self.chunks.have_ended(),
            Framing::ToEnd => false,
        }
    }
}
