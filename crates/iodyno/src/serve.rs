//! A few bytes of HTTP: one request, one answer, one reader after the other.
//!
//! A thread of its own answers; the run never waits for it. What is asked and answered is another's business. It refuses
//! to wait long, or to read much.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// How long a reader may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request may be so long, bytes.
const REQUEST_MOST: usize = 8 << 10;

/// What a reader is told.
pub struct Reply {
    /// The code and its words.
    pub status: &'static str,
    /// What the body is, with its character set.
    pub kind: &'static str,
    /// Other headers, each with its end of line.
    pub more: &'static str,
    pub body: Vec<u8>,
}

/// Answers whoever comes, on a thread of that name, until the program ends.
///
/// # Errors
/// When there can be no such thread.
pub fn serve(
    name: &str,
    listener: TcpListener,
    answer: impl Fn(&str) -> Reply + Send + 'static,
) -> io::Result<()> {
    let serve = move || {
        for mut reader in listener.incoming().flatten() {
            // A reader that goes away has heard enough.
            let _ = request(&mut reader).and_then(|request| reply(&mut reader, &answer(&request)));
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(serve).map(drop)
}

fn request(reader: &mut TcpStream) -> io::Result<String> {
    reader.set_read_timeout(Some(PATIENCE))?;
    reader.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MOST {
        match reader.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

fn reply(reader: &mut TcpStream, Reply { status, kind, more, body }: &Reply) -> io::Result<()> {
    let length = body.len();
    write!(
        reader,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n"
    )?;
    reader.write_all(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_answered_and_none_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let answer = |request: &str| Reply {
            status: "200 OK",
            kind: "text/plain",
            more: "X-One: 1\r\n",
            body: request.lines().next().unwrap_or("").into(),
        };
        serve("test", listener, answer).unwrap();
        let ask = |request: &[u8]| {
            let mut reader = TcpStream::connect(place).unwrap();
            reader.write_all(request).unwrap();
            let mut told = String::new();
            // What was too long to be read is still in the way when the connection is closed.
            let _ = reader.read_to_string(&mut told);
            told
        };
        // One that goes away without a word.
        drop(TcpStream::connect(place).unwrap());
        let told = ask(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\nX-One: 1\r\nConnection: close\r\n\r\n";
        assert_eq!(told, format!("{head}GET / HTTP/1.1"));
        ask(&[b'x'; REQUEST_MOST + 1000]);
        assert!(ask(b"GET /again HTTP/1.1\r\n\r\n").ends_with("GET /again HTTP/1.1"));
    }
}
