//! Where a store is, and how a bucket and a key are written in a request.

use std::fmt::{self, Write as _};

/// A store's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether it is spoken to by TLS.
    pub tls: bool,
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    /// Reads `http://HOST[:PORT]` or `https://…`; the port is the scheme's unless it is given.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let (tls, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some((other, _)) => return Err(format!("`{other}` is no scheme of a store: http or https")),
            None => return Err(format!("`{text}` has no scheme: http://HOST:PORT")),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains(['/', '?', '#', '@']) || rest.chars().any(char::is_whitespace) {
            return Err(format!("`{text}` is more than a host and a port"));
        }
        let bracketed = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (host, port) = match bracketed {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or("a port follows a colon")?)),
            None => rest.rsplit_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().map_err(|_| format!("`{port}` is no port"))?,
        };
        if host.is_empty() {
            return Err(format!("`{text}` names no host"));
        }
        Ok(Endpoint { tls, host: host.into(), port })
    }

    /// The endpoints of `http://node{1...4}:9000,http://other`: numbers in braces are counted out.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn parse_list(text: &str) -> Result<Vec<Endpoint>, String> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            for one in counted_out(part)? {
                all.push(Endpoint::parse(&one)?);
            }
        }
        Ok(all)
    }

    /// The host as its header says it: with the port, unless that is the scheme's.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// `http://HOST[:PORT]`, without the scheme's own port.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

/// `a{1...3}b` as a1b, a2b, a3b.
fn counted_out(text: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once('{') else { return Ok(vec![text.into()]) };
    let wrong = || format!("`{text}`: numbers are counted out as {{1...4}}");
    let (range, after) = rest.split_once('}').ok_or_else(wrong)?;
    let (first, last) = range.split_once("...").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (first_number, last_number) = (number(first)?, number(last)?);
    if first_number > last_number || last_number - first_number >= 10_000 {
        return Err(wrong());
    }
    let width = if first.starts_with('0') { first.len() } else { 0 };
    (first_number..=last_number).map(|number| counted_out(after).map(|rest| (number, rest))).try_fold(
        Vec::new(),
        |mut all, next| {
            let (number, rest) = next?;
            all.extend(rest.into_iter().map(|rest| format!("{before}{number:0width$}{rest}")));
            Ok(all)
        },
    )
}

/// Where a bucket's name stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// In the path: `http://HOST/BUCKET/KEY`. Every server has it.
    #[default]
    Path,
    /// Before the host: `http://BUCKET.HOST/KEY`. Amazon wants it of new buckets.
    VirtualHost,
}

/// A bucket as it is addressed at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    /// The value of the `host` header.
    pub host: String,
    /// What every path begins with, without a slash at its end.
    pub root: String,
}

impl BucketAddress {
    /// A bucket at an endpoint.
    pub fn new(endpoint: &Endpoint, addressing: Addressing, bucket: &str) -> BucketAddress {
        let authority = endpoint.authority();
        match addressing {
            Addressing::Path => {
                BucketAddress { host: authority, root: format!("/{}", encoded(bucket, false)) }
            }
            Addressing::VirtualHost => {
                BucketAddress { host: format!("{bucket}.{authority}"), root: String::new() }
            }
        }
    }

    /// The path of the bucket itself.
    pub fn bucket_path(&self) -> &str {
        if self.root.is_empty() { "/" } else { &self.root }
    }

    /// The path of a key, as it is sent and signed.
    pub fn path(&self, key: &str) -> String {
        let mut path = String::with_capacity(self.root.len() + key.len() + 8);
        path.push_str(&self.root);
        path.push('/');
        encode(key, true, &mut path);
        path
    }
}

/// Writes a text in the way that signatures want: everything but letters, digits and `-._~` as `%XX`. `slashes`: slashes
/// stay, as in a path.
pub fn encode(text: &str, slashes: bool, out: &mut String) {
    let stays = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
        b'/' => slashes,
        _ => false,
    };
    if text.bytes().all(stays) {
        return out.push_str(text);
    }
    for byte in text.bytes() {
        match stays(byte) {
            true => out.push(byte as char),
            false => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// The same as a text of its own.
pub fn encoded(text: &str, slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    encode(text, slashes, &mut out);
    out
}

/// The text that was written so: `%XX` as the byte.
pub fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_scheme_host_and_port() {
        let of = |text| Endpoint::parse(text).map(|found| (found.tls, found.host, found.port));
        assert_eq!(of("http://127.0.0.1:9000/"), Ok((false, "127.0.0.1".into(), 9000)));
        assert_eq!(of("https://s3.example.org"), Ok((true, "s3.example.org".into(), 443)));
        assert_eq!(of("http://[::1]:80"), Ok((false, "::1".into(), 80)));
        for wrong in [
            "127.0.0.1:9000",
            "ftp://a",
            "http://",
            "http://a:b",
            "http://a/b",
            "http://u@a",
            "http://[::1]x",
        ] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
        let list = Endpoint::parse_list("http://n{08...10}:9000, http://x").unwrap();
        let hosts: Vec<_> = list.iter().map(Endpoint::authority).collect();
        assert_eq!(hosts, ["n08:9000", "n09:9000", "n10:9000", "x"]);
        assert!(Endpoint::parse_list("http://n{3...1}").is_err());
    }

    #[test]
    fn a_bucket_stands_in_the_path_or_before_the_host() {
        let endpoint = Endpoint::parse("http://s3.example.org:9000").unwrap();
        let path = BucketAddress::new(&endpoint, Addressing::Path, "b");
        assert_eq!(
            (path.host.as_str(), path.path("a b/ü$")),
            ("s3.example.org:9000", "/b/a%20b/%C3%BC%24".into())
        );
        let host = BucketAddress::new(&endpoint, Addressing::VirtualHost, "b");
        assert_eq!((host.host.as_str(), host.path("k")), ("b.s3.example.org:9000", "/k".into()));
    }
}
