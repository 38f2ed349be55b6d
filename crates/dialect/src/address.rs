//! Addresses of the network as text.

/// A host and a port as one address; an IPv6 address stands in brackets, whether it came in them or not.
pub fn joined(host: &str, port: u16) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_tell_addresses_from_ports() {
        let all = ["h", "10.0.0.1", "::1", "[::1]", ""].map(|host| joined(host, 5));
        assert_eq!(all, ["h:5", "10.0.0.1:5", "[::1]:5", "[::1]:5", ":5"]);
    }
}
