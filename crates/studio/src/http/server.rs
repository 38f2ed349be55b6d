//! Connections: each has a thread of its own, so that a browser that opens some and says nothing keeps nobody waiting.
//!
//! It refuses to have many of them at once, to wait long for a byte, and to read without end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{BODY_MOST, HEAD_MOST, Head, HttpRequest, Response, head};

/// How long a reader may be silent.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many readers are answered at the same time.
const READERS_MOST: usize = 64;
/// A request comes in so many pieces at most: a byte every few seconds is no request.
const PIECES_MOST: usize = 4096;

/// Answers whoever comes, until the program ends; the threads have that name.
///
/// # Errors
/// When there can be no such thread.
pub fn serve(
    name: &str,
    listener: TcpListener,
    answer: impl Fn(&HttpRequest) -> Response + Send + Sync + 'static,
) -> io::Result<()> {
    let (answer, readers) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    let threads = name.to_string();
    let accept = move || {
        for reader in listener.incoming().flatten() {
            let place = ReaderPlace::take(&readers);
            let answer = Arc::clone(&answer);
            let one = move || match place {
                Some(_place) => converse(reader, &*answer),
                None => say(reader, &Response::refused(503, "too many at once; try again")),
            };
            // A thread that cannot be had is a reader that is not answered; the next one may be.
            let _ = std::thread::Builder::new().name(threads.clone()).spawn(one);
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(accept).map(drop)
}

/// One of the places for readers, given back when its reader has gone.
struct ReaderPlace(Arc<AtomicUsize>);

impl ReaderPlace {
    fn take(readers: &Arc<AtomicUsize>) -> Option<ReaderPlace> {
        let place = ReaderPlace(Arc::clone(readers));
        (place.0.fetch_add(1, Ordering::Relaxed) < READERS_MOST).then_some(place)
    }
}

impl Drop for ReaderPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn converse(mut reader: TcpStream, answer: &dyn Fn(&HttpRequest) -> Response) {
    let answered = match read(&mut reader) {
        Ok(Some(request)) => answer(&request),
        Ok(None) => return,
        Err(refused) => refused,
    };
    say(reader, &answered);
}

/// The next request; `None`: the reader has gone, or is silent.
fn read(reader: &mut TcpStream) -> Result<Option<HttpRequest>, Response> {
    if reader.set_read_timeout(Some(PATIENCE)).is_err() {
        return Ok(None);
    }
    let (mut bytes, mut part) = (Vec::new(), vec![0; 16 << 10]);
    let mut whole: Option<Head> = None;
    for _ in 0..PIECES_MOST {
        if whole.is_none() {
            whole = head(&bytes)?;
        }
        if let Some(Head { request, length, body }) = &mut whole
            && bytes.len() >= *length + *body
        {
            request.body = bytes[*length..*length + *body].to_vec();
            return Ok(whole.map(|head| head.request));
        }
        match reader.read(&mut part) {
            Ok(0) | Err(_) => return Ok(None),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
        if bytes.len() > HEAD_MOST + BODY_MOST + part.len() {
            return Err(Response::refused(413, "the request is too long"));
        }
    }
    Err(Response::refused(400, "the request comes in too many pieces"))
}

fn say(mut reader: TcpStream, response: &Response) {
    // A reader that goes away has heard enough.
    let _ = reader.set_write_timeout(Some(PATIENCE));
    let said = reader.write_all(&response.bytes()).and_then(|()| reader.shutdown(Shutdown::Write));
    if said.is_err() {
        return;
    }
    // What was not read when a connection is closed takes the answer away with it.
    let _ = reader.set_read_timeout(Some(Duration::from_millis(200)));
    let mut rest = [0; 16 << 10];
    for _ in 0..(BODY_MOST / rest.len()) {
        if !matches!(reader.read(&mut rest), Ok(1..)) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(place: std::net::SocketAddr, request: &[u8]) -> String {
        let mut reader = TcpStream::connect(place).unwrap();
        reader.write_all(request).unwrap();
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        told
    }

    #[test]
    fn each_is_answered_and_nobody_waits_for_the_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let answer = |request: &HttpRequest| {
            Response::of("text/plain", format!("{} {}", request.path, String::from_utf8_lossy(&request.body)))
        };
        serve("test", listener, answer).unwrap();
        // One that goes away without a word, and one that stays without a word.
        drop(TcpStream::connect(place).unwrap());
        let silent = TcpStream::connect(place).unwrap();
        assert!(ask(place, b"GET /one HTTP/1.1\r\nHost: h\r\n\r\n").ends_with("\r\n\r\n/one "));
        let told = ask(place, b"POST /two HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbodyrest");
        assert!(told.ends_with("\r\n\r\n/two body"), "{told}");
        assert!(ask(place, b"no request\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let mut long = b"POST / HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n".to_vec();
        long.extend(vec![b'x'; 100_000]);
        assert!(ask(place, &long).starts_with("HTTP/1.1 413 "));
        drop(silent);
    }
}
