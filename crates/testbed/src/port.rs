//! Ports for servers that a test starts as other programs, which cannot be asked what the kernel gave them.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below these the kernel gives out none by itself, so that no client's own end takes one before its server is there.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;
/// How far apart two test programs begin.
const APART: u32 = 997;

static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A port of the loop that nobody has, of TCP and of UDP; a process is told none of them twice.
///
/// # Errors
/// All of them are taken.
pub fn free_port() -> std::io::Result<u16> {
    let begin = std::process::id().wrapping_mul(APART);
    for _ in 0..COUNT {
        let next = begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + next % COUNT).unwrap_or(u16::MAX);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() && UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(std::io::ErrorKind::AddrInUse.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn none_is_told_twice_and_none_that_is_taken() {
        let ports: BTreeSet<u16> = (0..100).map(|_| free_port().expect("a port")).collect();
        assert_eq!(ports.len(), 100);
        let taken = *ports.last().expect("a port") + 1;
        let _there = UdpSocket::bind(("127.0.0.1", taken));
        assert!((0..100).all(|_| free_port().expect("a port") != taken));
    }
}
