//! Addresses of the network as text.

/// A host and a port as one address; an IPv6 address stands in brackets, whether it came in them or not.
pub fn joined(host: &str, port: u16) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Host and port of an address; port 0 where there is none.
pub fn host_and_port(address: &str) -> (String, u16) {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "0"));
    (host.trim_start_matches('[').trim_end_matches(']').into(), port.parse().unwrap_or(0))
}

/// The host of an address; none where it is empty or no port follows it.
pub fn host_of(address: &str) -> Option<String> {
    Some(host_and_port(address).0).filter(|host| address.contains(':') && !host.is_empty())
}

pub fn port_of(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// A protocol over IPv4 (4), IPv6 (6) or either, as the engine names transports: `tcp4`.
pub fn transport(protocol: &str, family: u8) -> String {
    match family {
        4 | 6 => format!("{protocol}{family}"),
        _ => protocol.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_tell_addresses_from_ports() {
        let all = ["h", "10.0.0.1", "::1", "[::1]", ""].map(|host| joined(host, 5));
        assert_eq!(all, ["h:5", "10.0.0.1:5", "[::1]:5", "[::1]:5", ":5"]);
    }

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(host_and_port("127.0.0.1:80"), ("127.0.0.1".into(), 80));
        assert_eq!(host_and_port("[::1]:80"), ("::1".into(), 80));
        assert_eq!((host_of("[::1]:80"), host_of(""), host_of("h")), (Some("::1".into()), None, None));
        assert_eq!((port_of("h:x"), port_of("h:7")), (None, Some(7)));
        assert_eq!((transport("tcp", 6), transport("udp", 0)), ("tcp6".into(), "udp".into()));
    }
}
