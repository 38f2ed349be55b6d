//! Ports for servers that a test starts as other programs, which cannot be asked what the kernel gave them.
//!
//! Why: between asking for a port and the server's bind another test could be told the same one. So a port that was
//! given is held by a lock of this process, an abstract socket of its number, until the process ends; every test
//! program looks at the same locks. It refuses ports that the kernel gives to clients by itself.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below these the kernel gives out none by itself, so that no client's own end takes one before its server is there.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;
/// How far apart two test programs begin.
const APART: u32 = 997;

static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A port that nobody has on any address, of TCP and of UDP; it is told to nobody else until this process ends.
///
/// # Errors
/// All of them are taken.
pub fn free_port() -> std::io::Result<u16> {
    let begin = std::process::id().wrapping_mul(APART);
    for _ in 0..COUNT {
        let next = begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + next % COUNT).unwrap_or(u16::MAX);
        // The lock comes first: who looked at the port and then locked it might have looked too early.
        if reserve(port) && is_free(port) {
            return Ok(port);
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// Whether nothing listens there; an address family that the machine lacks takes nothing.
fn is_free(port: u16) -> bool {
    ["127.0.0.1", "0.0.0.0", "::1", "::"].iter().all(|host| {
        let tcp = TcpListener::bind((*host, port)).map(drop);
        let udp = UdpSocket::bind((*host, port)).map(drop);
        [tcp, udp].iter().all(|bound| !matches!(bound, Err(error) if error.kind() == ErrorKind::AddrInUse))
    })
}

/// Takes the lock of a port, to be held as long as this process lives; false: another has it.
#[cfg(target_os = "linux")]
fn reserve(port: u16) -> bool {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let name = SocketAddr::from_abstract_name(format!("iodyno-testbed-port-{port}"));
    let Ok(lock) = name.and_then(|name| UnixDatagram::bind_addr(&name)) else { return false };
    // The descriptor is closed by the kernel, when the process ends; programs that it starts do not inherit it.
    std::mem::forget(lock);
    true
}

/// Elsewhere test programs only begin apart.
#[cfg(not(target_os = "linux"))]
fn reserve(_port: u16) -> bool {
    true
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_that_was_told_is_reserved() {
        let port = free_port().expect("a port");
        assert!(is_free(port), "nobody listens there");
        assert!(!reserve(port), "and nobody else is told of it");
    }
}
