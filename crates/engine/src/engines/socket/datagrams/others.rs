//! Datagrams where the system moves one with each call.

use super::super::datagram_stats::Full;
use super::super::line::{Line, NONE, is_later};
use super::Wish;
use crate::engines::Failure;
use crate::memory::errno;

/// Sends blocks.
pub struct Sender;

impl Sender {
    /// For any block.
    ///
    /// # Errors
    /// The system is to cut blocks, and cannot.
    pub fn new(_: &Line, _: usize, _: usize, gso: Wish) -> Result<Sender, Failure> {
        match gso {
            Wish::On => Err(Failure::new("this system does not cut blocks").hint("leave gso out")),
            _ => Ok(Sender),
        }
    }

    /// Sends a block in datagrams of so many bytes: bytes sent, or what kept the first from going.
    pub fn send(&mut self, line: &Line, block: &[u8], each: usize) -> i64 {
        let mut sent = 0;
        while sent < block.len() {
            let datagram = &block[sent..(sent + each).min(block.len())];
            // SAFETY: the datagram is valid for its length.
            let given =
                unsafe { libc::send(line.fd, datagram.as_ptr().cast(), datagram.len(), libc::MSG_NOSIGNAL) };
            if given >= 0 {
                sent += given as usize;
                continue;
            }
            let number = errno();
            let again = is_later(number) || matches!(number, libc::ENOBUFS | libc::ECONNREFUSED);
            if !again || !line.patience.wait(line.fd, libc::POLLOUT) {
                let failed = if again { NONE } else { -i64::from(number) };
                return if sent > 0 { sent as i64 } else { failed };
            }
        }
        sent as i64
    }
}

/// Takes datagrams.
pub struct Receiver(Box<[u8]>);

impl Receiver {
    /// For datagrams of any length.
    ///
    /// # Errors
    /// The system is to join them, and cannot.
    pub fn new(_: &Line, _: usize, gro: Wish) -> Result<Receiver, Failure> {
        match gro {
            Wish::On => Err(Failure::new("this system does not join datagrams").hint("leave gro out")),
            _ => Ok(Receiver(vec![0; 1 << 16].into())),
        }
    }

    /// Waits for one: its bytes, or the error.
    pub fn receive(&mut self, line: &mut Line, mut each: impl FnMut(&[u8], Full)) -> i64 {
        let got = line.receive(self.0.as_mut_ptr(), self.0.len(), 0);
        if got >= 0 {
            each(&self.0[..got as usize], Full::default());
        }
        got
    }
}
