//! This build speaks no TLS: none of these values can be made, and `https` is refused where settings are read.

use std::io;
use std::net::TcpStream;

use socket2::Socket;

use crate::failure::Failure;

#[derive(Clone, Debug)]
pub enum TlsTrust {}

#[derive(Clone, Debug)]
pub enum TlsClient {}

#[derive(Debug)]
pub enum TlsStream {}

impl TlsTrust {
    /// # Errors
    /// Always.
    pub fn new(_: Option<&str>) -> Result<TlsTrust, Failure> {
        Err(Failure::new("this build speaks no TLS"))
    }

    /// # Errors
    /// None: there is no such value.
    pub fn with(&self, _: &str) -> Result<TlsClient, Failure> {
        match *self {}
    }
}

impl TlsClient {
    pub(super) fn on(&self, _: Socket) -> io::Result<TlsStream> {
        match *self {}
    }

    /// # Errors
    /// None: there is no such value.
    pub fn on_blocking(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}

impl TlsStream {
    pub(super) fn socket(&self) -> &Socket {
        match *self {}
    }

    pub(super) fn shake_hands(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn is_resumed(&self) -> bool {
        match *self {}
    }

    pub(super) fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn write(&mut self, _: &[u8], _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}

pub(super) fn explain(_: &io::Error) -> Option<(String, &'static str)> {
    None
}
