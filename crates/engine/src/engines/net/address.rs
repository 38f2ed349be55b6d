//! From a transport and an address as plans write them to a socket's address.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use socket2::{Domain, SockAddr, Type};

use crate::failure::Failure;

/// What kind of socket a transport needs.
///
/// # Errors
/// A transport that this system does not have.
pub fn kind(transport: &str) -> Result<(Domain, Type), Failure> {
    Ok(match transport {
        "tcp" => (Domain::IPV4, Type::STREAM),
        "tcp6" => (Domain::IPV6, Type::STREAM),
        "udp" => (Domain::IPV4, Type::DGRAM),
        "udp6" => (Domain::IPV6, Type::DGRAM),
        "unix" => (Domain::UNIX, Type::STREAM),
        #[cfg(target_os = "linux")]
        "vsock" => (Domain::VSOCK, Type::STREAM),
        other => {
            return Err(Failure::new(format!("no transport `{other}` here"))
                .hint("transports: tcp tcp6 udp udp6 unix vsock"));
        }
    })
}

/// The socket address; `shift` is added to the port.
///
/// # Errors
/// What cannot be understood or resolved.
pub fn address(transport: &str, text: &str, shift: u32) -> Result<SockAddr, Failure> {
    if transport == "unix" {
        return SockAddr::unix(text).map_err(|error| Failure::new(format!("{text}: {error}")));
    }
    let wrong = || {
        Failure::new(format!("{text}: not an address of {transport}"))
            .hint("write HOST:PORT, or :PORT to wait at every interface")
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse::<u32>().map_err(|_| wrong())?.checked_add(shift).ok_or_else(wrong)?;
    #[cfg(target_os = "linux")]
    if transport == "vsock" {
        let any = libc::VMADDR_CID_ANY;
        let cid = if host.is_empty() { any } else { host.parse().map_err(|_| wrong())? };
        return Ok(SockAddr::vsock(cid, port));
    }
    let port = u16::try_from(port).map_err(|_| wrong())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let six = transport.ends_with('6');
    if host.is_empty() {
        let any = if six { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        return Ok(SocketAddr::new(any, port).into());
    }
    let found = (host, port).to_socket_addrs().map_err(|error| Failure::new(format!("{host}: {error}")))?;
    let fits = |address: &SocketAddr| address.is_ipv6() == six;
    found.into_iter().find(fits).map(SockAddr::from).ok_or_else(|| {
        let family = if six { "IPv6" } else { "IPv4" };
        Failure::new(format!("{host}: it has no {family} address"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood() {
        let of = |transport, text, shift| address(transport, text, shift).map(|found| found.as_socket());
        assert_eq!(of("tcp", "127.0.0.1:80", 2).ok(), Some("127.0.0.1:82".parse().ok()));
        assert_eq!(of("tcp", ":80", 0).ok(), Some("0.0.0.0:80".parse().ok()));
        assert_eq!(of("udp6", "::1:9", 0).ok(), Some("[::1]:9".parse().ok()));
        assert_eq!(of("tcp6", "[::1]:9", 0).ok(), Some("[::1]:9".parse().ok()));
        for wrong in ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:65535"] {
            assert!(of("tcp", wrong, 1).is_err(), "{wrong}");
        }
        assert!(of("tcp", "[::1]:9", 0).is_err());
    }
}
