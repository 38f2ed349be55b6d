//! What the bytes of a connection go through: a socket, or TLS on one. Nothing here blocks.

use std::io::{self, IoSlice, Read, Write};

use socket2::Socket;

use super::tls::TlsStream;

/// A socket that never blocks, or TLS on one.
#[derive(Debug)]
pub enum StoreStream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

impl StoreStream {
    pub fn socket(&self) -> &Socket {
        match self {
            StoreStream::Plain(socket) => socket,
            StoreStream::Tls(stream) => stream.socket(),
        }
    }

    /// Agrees with the other side on keys, where there are any to agree on.
    ///
    /// # Errors
    /// It would block, or they will not agree.
    pub fn shake_hands(&mut self) -> io::Result<()> {
        match self {
            StoreStream::Plain(_) => Ok(()),
            StoreStream::Tls(stream) => stream.shake_hands(),
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            StoreStream::Plain(socket) => socket.read(into),
            StoreStream::Tls(stream) => stream.read(into),
        }
    }

    /// Whether a read that brought less than was asked for took all there was.
    pub fn is_drained_by_short_reads(&self) -> bool {
        matches!(self, StoreStream::Plain(_))
    }

    /// Writes of the first, and then of the second.
    pub fn write(&mut self, head: &[u8], body: &[u8]) -> io::Result<usize> {
        match self {
            StoreStream::Plain(socket) if head.is_empty() => socket.write(body),
            StoreStream::Plain(socket) if body.is_empty() => socket.write(head),
            StoreStream::Plain(socket) => socket.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]),
            StoreStream::Tls(stream) => stream.write(head, body),
        }
    }

    /// Sends what was written and is not sent.
    ///
    /// # Errors
    /// It would block, or the connection is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            StoreStream::Plain(_) => Ok(()),
            StoreStream::Tls(stream) => stream.flush(),
        }
    }
}
