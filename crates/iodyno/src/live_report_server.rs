//! The report while it grows: `live-web=127.0.0.1:PORT` serves it to a browser until the run is over.
//!
//! Threads answer the readers, and make the page when it is asked for: the run waits for nobody but
//! somebody who is looking when it ends, for a moment. It refuses an address that others reach unless there is a key, and
//! answers nobody who comes under another name than this machine's own (a page elsewhere that makes a browser ask here).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iodyno_model::{Diagnostic, Event, Origin};
use iodyno_report::html::Growing;

use iodyno_studio::http::{HttpRequest, Response, serve};

use crate::loader::plain;

/// Who was looking is given so long to ask for the end.
const FAREWELL: Duration = Duration::from_millis(3500);
/// Between two looks whether he did.
const LOOK: Duration = Duration::from_millis(50);
/// What is between the address and the key.
const KEY: &str = "?key=";

/// The growing report, and where it is served.
pub struct LiveReportServer {
    shared: Arc<Mutex<SharedPage>>,
}

/// What the run and the readers share.
#[derive(Default)]
struct SharedPage {
    growing: Growing,
    /// Whether somebody asked for news of a run under way.
    is_followed: bool,
    /// Whether somebody was told that it is over.
    has_told_end: bool,
}

/// Where it is served, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    socket: SocketAddr,
    key: Option<String>,
}

impl LiveReportServer {
    /// Begins to serve at `ADDRESS:PORT`, with `?key=WORD` after it where others are to reach it.
    ///
    /// # Errors
    /// Why it cannot be served there.
    pub fn open(text: &str) -> Result<(LiveReportServer, String), Diagnostic> {
        let address = address(text)?;
        let wrong = |error: io::Error| Diagnostic::error(&Origin::argument(text), plain(&error));
        let listener =
            TcpListener::bind(address.socket).map_err(|error| wrong(error).hint("another port"))?;
        let socket = listener.local_addr().map_err(wrong)?;
        let address = Address { socket, ..address };
        let shared = Arc::new(Mutex::new(SharedPage::default()));
        let (served, place) = (Arc::clone(&shared), url(&address));
        serve("live-web", listener, move |request| reply(request, &address, &served)).map_err(wrong)?;
        Ok((LiveReportServer { shared }, place))
    }

    /// Shows what happened.
    pub fn tell(&self, event: &Event) {
        lock(&self.shared).growing.event(event);
    }

    /// The run is over: who is looking sees the end of it.
    pub fn close(&self) {
        let mut left = FAREWELL.as_millis() / LOOK.as_millis();
        while left > 0 {
            let shared = lock(&self.shared);
            if !shared.is_followed || shared.has_told_end || !shared.growing.has_ended() {
                return;
            }
            drop(shared);
            std::thread::sleep(LOOK);
            left -= 1;
        }
    }
}

/// What is shared, even after a thread that held it has panicked.
fn lock(shared: &Mutex<SharedPage>) -> MutexGuard<'_, SharedPage> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(text: &str) -> Result<Address, Diagnostic> {
    let wrong = |what: &str, hint: &str| Diagnostic::error(&Origin::argument(text), what).hint(hint);
    let (place, key) = match text.split_once(KEY) {
        Some((place, key)) => (place, Some(key.to_string())),
        None => (text, None),
    };
    let named = place.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let socket: SocketAddr = named.as_deref().unwrap_or(place).parse().map_err(|_| {
        wrong("expected an address and a port", "live-web=127.0.0.1:8080; port 0 is any that is free")
    })?;
    if key
        .as_ref()
        .is_some_and(|key| key.is_empty() || !key.chars().all(|letter| letter.is_ascii_alphanumeric()))
    {
        return Err(wrong("a key has letters and digits alone", "live-web=ADDRESS:PORT?key=WORD"));
    }
    if key.is_none() && !socket.ip().is_loopback() {
        let hint =
            "127.0.0.1:PORT is for this machine alone; ADDRESS:PORT?key=WORD is for whoever knows the word";
        return Err(wrong("others would reach it, too, and there is no key", hint));
    }
    Ok(Address { socket, key })
}

fn url(address: &Address) -> String {
    let key = address.key.as_ref().map_or_else(String::new, |key| format!("{KEY}{key}"));
    format!("http://{}/{key}", address.socket)
}

/// The answer to a request.
fn reply(request: &HttpRequest, address: &Address, shared: &Mutex<SharedPage>) -> Response {
    // Nothing of it is to be kept, or taken for something else.
    let unkept = |response: Response| {
        response.with("Cache-Control", "no-store").with("X-Content-Type-Options", "nosniff")
    };
    let refused = |status, why: &str| unkept(Response::refused(status, why));
    if request.method != "GET" {
        return refused(405, "only GET is answered");
    }
    if !is_welcome(request, address) {
        return refused(403, "not without the key, and not under another name");
    }
    match request.path.as_str() {
        "/" => unkept(Response::of("text/html; charset=utf-8", page(shared, false).html())),
        "/data.json" => unkept(Response::of("application/json; charset=utf-8", page(shared, true).data())),
        _ => refused(404, "there is nothing else here"),
    }
}

/// The page as it is now; `news`: it is asked for by a page that is open already.
fn page(shared: &Mutex<SharedPage>, news: bool) -> iodyno_report::html::Page {
    let mut shared = lock(shared);
    shared.is_followed = true;
    shared.has_told_end |= news && shared.growing.has_ended();
    shared.growing.page()
}

fn is_welcome(request: &HttpRequest, address: &Address) -> bool {
    if let Some(key) = &address.key {
        return request.asked("key") == Some(key.as_str());
    }
    let host = request.header("host").unwrap_or_default().to_ascii_lowercase();
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name) || name == address.socket.ip().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_studio::http::parse;

    fn asked(request: &str, key: Option<&str>) -> u16 {
        let address = Address { socket: "127.0.0.1:8080".parse().unwrap(), key: key.map(Into::into) };
        reply(&parse(request).unwrap(), &address, &Mutex::new(SharedPage::default())).status
    }

    #[test]
    fn only_this_machine_is_served_without_a_key() {
        for text in
            ["10.0.0.1:80", "0.0.0.0:80", "[::]:80", "10.0.0.1:80?key=", "10.0.0.1:80?key=a b", "x", "80"]
        {
            assert!(address(text).is_err(), "{text}");
        }
        for text in ["127.0.0.1:80", "localhost:80", "[::1]:80", "10.0.0.1:80?key=a1B2"] {
            assert!(address(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn who_comes_under_another_name_or_without_the_key_is_not_answered() {
        let ask = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(asked(&ask("/data.json", "127.0.0.1:8080"), None), 200);
        assert_eq!(asked(&ask("/data.json", "localhost:8080"), None), 200);
        assert_eq!(asked(&ask("/data.json", "evil.example:8080"), None), 403);
        assert_eq!(asked("GET / HTTP/1.0\r\n\r\n", None), 403);
        assert_eq!(asked(&ask("/data.json", "h:1"), Some("word")), 403);
        assert_eq!(asked(&ask("/data.json?key=wore", "h:1"), Some("word")), 403);
        assert_eq!(asked(&ask("/data.json?key=word", "h:1"), Some("word")), 200);
        assert_eq!(asked(&ask("/etc/passwd", "127.0.0.1"), None), 404);
        assert_eq!(asked("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", None), 405);
    }

    #[test]
    fn who_is_looking_sees_the_end() {
        let shared = Mutex::new(SharedPage::default());
        assert!(page(&shared, true).live && !lock(&shared).has_told_end);
        lock(&shared).growing.event(&Event::Ended(Box::default()));
        assert!(!page(&shared, true).live && lock(&shared).has_told_end);
    }
}
