//! HTTP/1.1 as far as pages of this program need it: a request with its body, an answer, and the connection is closed.
//!
//! It refuses what it does not understand whole: two hosts, bodies in chunks, heads and bodies without end.

mod server;

pub use server::serve;

/// The head of a request may be so long, bytes.
pub const HEAD_MOST: usize = 16 << 10;
/// A body may be so long, bytes: an imported file.
pub const BODY_MOST: usize = 4 << 20;
/// Header lines of a request at most.
const HEADERS_MOST: usize = 64;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: String,
    /// Without what stands behind the question mark; decoded.
    pub path: String,
    /// Names and values behind the question mark, decoded.
    pub query: Vec<(String, String)>,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The value of a header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a name behind the question mark.
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.headers.iter().filter(|(known, _)| known == "cookie");
        let pairs = cookies.flat_map(|(_, value)| value.split(';'));
        pairs
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(known, _)| *known == name)
            .map(|pair| pair.1)
    }
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// What the body is, with its character set.
    pub kind: String,
    /// Other headers.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// Something that was asked for.
    pub fn of(kind: &str, body: impl Into<Vec<u8>>) -> Response {
        Response { status: 200, kind: kind.into(), headers: Vec::new(), body: body.into() }
    }

    /// A sentence instead of what was asked for.
    pub fn refused(status: u16, why: &str) -> Response {
        Response { status, ..Response::of("text/plain; charset=utf-8", format!("{why}\n")) }
    }

    /// The same with one more header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }

    /// All of it as it goes over the wire.
    fn bytes(&self) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.body.len()
        );
        for (name, value) in &self.headers {
            // No value ends its line early, whatever it is made of.
            let value: String = value.chars().filter(|letter| !letter.is_control()).collect();
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = (head + "Connection: close\r\n\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The words of a code. Source: RFC 9110, section 15.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        303 => "See Other",
        400 => "Bad HttpRequest",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        431 => "HttpRequest Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// A head that is whole.
#[derive(Debug)]
struct Head {
    request: HttpRequest,
    /// Bytes of the head.
    length: usize,
    /// Bytes of the body behind it.
    body: usize,
}

/// The head at the beginning of some bytes; `None`: more are needed.
///
/// # Errors
/// What cannot be answered, as the answer.
fn head(bytes: &[u8]) -> Result<Option<Head>, Response> {
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MOST];
    let mut parsed = httparse::Request::new(&mut lines);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MOST => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Response::refused(431, "the head of the request is too long"));
        }
        Err(error) => return Err(Response::refused(400, &format!("this is no request: {error}"))),
    };
    let header = |line: &httparse::Header<'_>| {
        (line.name.to_ascii_lowercase(), String::from_utf8_lossy(line.value).trim().to_string())
    };
    let headers: Vec<(String, String)> = parsed.headers.iter().map(header).collect();
    let target = parsed.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(Response::refused(400, "only what begins with / is asked for here"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let method = parsed.method.unwrap_or_default().to_string();
    let request =
        HttpRequest { method, path: decoded(path, false), query: pairs(query), headers, body: Vec::new() };
    let body = body_length(&request)?;
    Ok(Some(Head { request, length, body }))
}

fn body_length(request: &HttpRequest) -> Result<usize, Response> {
    let count = |name: &str| request.headers.iter().filter(|(known, _)| known == name).count();
    if count("host") > 1 || count("content-length") > 1 {
        return Err(Response::refused(400, "a header stands there twice"));
    }
    if count("transfer-encoding") > 0 {
        return Err(Response::refused(501, "a body must say its length"));
    }
    let Some(length) = request.header("content-length") else { return Ok(0) };
    let is_number = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
    match length.parse::<usize>().ok().filter(|_| is_number) {
        Some(length) if length <= BODY_MOST => Ok(length),
        Some(_) => Err(Response::refused(413, "4 MiB at most")),
        None if is_number => Err(Response::refused(413, "4 MiB at most")),
        None => Err(Response::refused(400, "the length of the body is no number")),
    }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (decoded(name, true), decoded(value, true))
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

/// Percent-encoded text; `plus`: a plus is a blank.
fn decoded(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', ..) if plus => decoded.push(b' '),
            (byte, ..) => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A request from its text, for tests of what is answered.
///
/// # Errors
/// What the server answers to it by itself.
pub fn parse(text: &str) -> Result<HttpRequest, Response> {
    match head(text.as_bytes())? {
        Some(Head { request, length, .. }) => {
            Ok(HttpRequest { body: text.as_bytes()[length..].to_vec(), ..request })
        }
        None => Err(Response::refused(400, "the request is not whole")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        head(text.as_bytes()).err().map_or(200, |refused| refused.status)
    }

    #[test]
    fn a_request_is_read_with_its_query_and_its_cookies() {
        let text = "GET /a%20b/c?key=1%2B1&x=a+b&y HTTP/1.1\r\nHost: h:1\r\nCookie: one=1; two=2\r\ncookie: three=3\r\n\r\n";
        let request = parse(text).unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a b/c"));
        assert_eq!(request.asked("key"), Some("1+1"));
        assert_eq!(
            (request.asked("x"), request.asked("y"), request.asked("z")),
            (Some("a b"), Some(""), None)
        );
        assert_eq!(request.header("host"), Some("h:1"));
        assert_eq!(
            ["one", "two", "three", "four"].map(|name| request.cookie(name)),
            [Some("1"), Some("2"), Some("3"), None]
        );
    }

    #[test]
    fn what_is_not_understood_whole_is_refused() {
        assert_eq!(status("GET http://h/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 501);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n"), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), 413);
        assert_eq!(status("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n\r\n"), 413);
        assert_eq!(status("\u{1}\r\n\r\n"), 400);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(HEAD_MOST))), 431);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MOST + 1))), 431);
        assert!(head(b"GET / HTTP/1.1\r\nHost:").unwrap().is_none());
    }

    #[test]
    fn an_answer_has_its_length_and_no_header_ends_early() {
        let answer = Response::of("text/plain", "abc").with("X-One", "1\r\nSet-Cookie: evil=1");
        let text = String::from_utf8(answer.bytes()).unwrap();
        let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\
                        X-One: 1Set-Cookie: evil=1\r\nConnection: close\r\n\r\nabc";
        assert_eq!(text, expected);
    }
}
