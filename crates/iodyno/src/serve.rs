//! A page that is served while it runs, to this machine alone: one text, whatever is asked for.
//!
//! A thread answers one reader after the other; the run never waits for it. It refuses addresses that others reach.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iodyno_model::{Diagnostic, Origin};

/// What a page of metrics is. Source: OpenMetrics 1.0.0, "protocol negotiation".
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How long a reader may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request may be so long, bytes.
const REQUEST_MOST: usize = 8 << 10;

/// The page.
pub struct Page {
    text: Arc<Mutex<Vec<u8>>>,
}

impl Page {
    /// Begins to serve.
    ///
    /// # Errors
    /// Why the address cannot be had.
    pub fn open(address: SocketAddr) -> Result<Page, Diagnostic> {
        let wrong = |what: String| Diagnostic::error(&Origin::argument(&address.to_string()), what);
        if !address.ip().is_loopback() {
            return Err(wrong("others would reach it, too".into()).hint("127.0.0.1:PORT, or a file"));
        }
        let listener = TcpListener::bind(address)
            .map_err(|error| wrong(crate::loader::plain(&error)).hint("another port, or a file"))?;
        let text = Arc::new(Mutex::new(b"# EOF\n".to_vec()));
        let shared = Arc::clone(&text);
        let serve = move || {
            for reader in listener.incoming().flatten() {
                let now = shared.lock().map(|text| text.clone()).unwrap_or_default();
                // A reader that goes away has heard enough.
                let _ = answer(reader, &now);
            }
        };
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(serve)
            .map_err(|error| wrong(crate::loader::plain(&error)))?;
        Ok(Page { text })
    }

    /// Serves this from now on.
    pub fn put(&self, text: Vec<u8>) {
        if let Ok(mut now) = self.text.lock() {
            *now = text;
        }
    }
}

fn answer(mut reader: TcpStream, text: &[u8]) -> io::Result<()> {
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
    let length = text.len();
    let (status, body) =
        if request.starts_with(b"GET ") { ("200 OK", text) } else { ("405 Method Not Allowed", &b""[..]) };
    let length = if body.is_empty() { 0 } else { length };
    write!(
        reader,
        "HTTP/1.1 {status}\r\nContent-Type: {KIND}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    reader.write_all(body)
}
