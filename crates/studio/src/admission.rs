//! Who may ask the studio: whoever has its key once, and from then on the browser that came with it.
//!
//! ```text
//!   GET /?key=KEY ─► the key is used up, a cookie is set ─► GET with the cookie ─► POST with cookie, Origin and token
//! ```
//! A page elsewhere can make a browser ask here. It has no cookie of ours (`SameSite=Strict`), comes with an Origin of its own,
//! cannot read the token, and where it has its own name lead to this machine it asks for another Host. Each of these alone
//! refuses it.

use std::net::{IpAddr, SocketAddr};

use crate::http::{HttpRequest, Response};

/// Browsers that may come with keys; the oldest is forgotten.
const SESSIONS_MOST: usize = 16;

/// Knows its keys.
#[derive(Debug)]
pub struct Gate {
    socket: SocketAddr,
    key: String,
    sessions: Vec<String>,
    token: String,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is answered.
    In,
    /// It brought the key: the answer, and the key is used up.
    Entered(Response),
    /// It is not.
    Refused(Response),
}

impl Gate {
    /// A gate at an address; `key`, `token`: words that nobody can guess.
    pub fn new(socket: SocketAddr, key: String, token: String) -> Gate {
        Gate { socket, key, sessions: Vec::new(), token }
    }

    /// Where it is opened, once.
    pub fn url(&self) -> String {
        format!("http://{}/?key={}", self.socket, self.key)
    }

    /// What a page of ours sends with everything that changes something.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The name of the cookie: a browser does not tell the ports of a host apart.
    fn cookie(&self) -> String {
        format!("iodyno-studio-{}", self.socket.port())
    }

    /// Decides about a request; `fresh` makes words that nobody can guess: a new key and a session.
    ///
    /// # Errors
    /// Such a word cannot be made.
    pub fn admit(
        &mut self,
        request: &HttpRequest,
        mut fresh: impl FnMut() -> Result<String, String>,
    ) -> Result<Admission, String> {
        let refuse = |why: &str| Ok(Admission::Refused(secured(Response::refused(403, why))));
        if !self.is_own_host(request) {
            return refuse("this is not the address that was opened");
        }
        if !self.is_own_page(request) {
            return refuse("another page asked for it");
        }
        if request.method == "GET" && request.path == "/" && request.asked("key").is_some() {
            return match request.asked("key") == Some(self.key.as_str()) {
                true => {
                    self.key = fresh()?;
                    let session = fresh()?;
                    Ok(Admission::Entered(self.entered(session)))
                }
                // A page that is loaded again has its key in the address still.
                false if self.has_session(request) => Ok(Admission::Entered(secured(see_other("/")))),
                false => {
                    refuse("that key was used, or never was one: the terminal shows the one that opens it")
                }
            };
        }
        if !self.has_session(request) {
            return refuse("not without the key: open the address that the terminal shows");
        }
        match request.method.as_str() {
            "GET" => Ok(Admission::In),
            "POST" if request.header("origin").is_none() => refuse("it does not say which page asks"),
            "POST" if request.header("x-iodyno-token") != Some(self.token.as_str()) => {
                refuse("the page is of another start of the studio: load it again")
            }
            "POST" => Ok(Admission::In),
            _ => Ok(Admission::Refused(secured(Response::refused(405, "only GET and POST are answered")))),
        }
    }

    fn entered(&mut self, session: String) -> Response {
        let cookie = format!("{}={session}; Path=/; HttpOnly; SameSite=Strict", self.cookie());
        if self.sessions.len() == SESSIONS_MOST {
            self.sessions.remove(0);
        }
        self.sessions.push(session);
        secured(see_other("/")).with("Set-Cookie", cookie)
    }

    fn has_session(&self, request: &HttpRequest) -> bool {
        let session = request.cookie(&self.cookie());
        session.is_some_and(|session| self.sessions.iter().any(|known| known == session))
    }

    /// Whether the browser was told this address, and not a name that somebody lets lead here.
    fn is_own_host(&self, request: &HttpRequest) -> bool {
        let Some(host) = request.header("host") else { return false };
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.socket.port()) {
            return false;
        }
        let own = self.socket.ip();
        if name.eq_ignore_ascii_case("localhost") {
            return own.is_loopback() || own.is_unspecified();
        }
        // An address as such belongs to nobody's name.
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        address.is_ok_and(|address| address == own || own.is_unspecified())
    }

    /// Whether a page of ours asks, or nobody does but who typed the address.
    fn is_own_page(&self, request: &HttpRequest) -> bool {
        let host = request.header("host").unwrap_or_default();
        let is_own = |origin: &str| origin.eq_ignore_ascii_case(&format!("http://{host}"));
        let opens = request.method == "GET" && request.path == "/";
        match (request.header("origin"), request.header("sec-fetch-site")) {
            (Some(origin), _) if !is_own(origin) => false,
            (_, Some("cross-site" | "same-site")) => {
                // Who clicks on a link in a mail or another page may open ours; nothing of it is read there.
                opens && request.header("sec-fetch-mode").is_none_or(|mode| mode == "navigate")
            }
            _ => true,
        }
    }
}

fn see_other(place: &str) -> Response {
    Response { status: 303, ..Response::of("text/plain; charset=utf-8", "") }.with("Location", place)
}

/// What a page may do: nothing but load what this server has.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// The same answer, which is kept nowhere, framed nowhere and loads nothing from elsewhere.
pub fn secured(response: Response) -> Response {
    let policy = match response.headers.iter().any(|(name, _)| *name == "Content-Security-Policy") {
        true => response,
        false => response.with("Content-Security-Policy", POLICY),
    };
    policy
        .with("Cache-Control", "no-store")
        .with("X-Content-Type-Options", "nosniff")
        .with("X-Frame-Options", "DENY")
        .with("Referrer-Policy", "no-referrer")
        .with("Cross-Origin-Resource-Policy", "same-origin")
        .with("Cross-Origin-Opener-Policy", "same-origin")
}

/// The same answer as a document of its own: it may run what it has in it, and reach nothing, not even this server.
pub fn sandboxed(response: Response) -> Response {
    secured(response.with(
        "Content-Security-Policy",
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::parse;

    const HOST: &str = "Host: 127.0.0.1:8080\r\n";

    fn gate() -> Gate {
        Gate::new("127.0.0.1:8080".parse().unwrap(), "first".into(), "token".into())
    }

    /// What becomes of a request: 0 in, else its code.
    fn ask(gate: &mut Gate, line: &str, headers: &str) -> u16 {
        let request = parse(&format!("{line} HTTP/1.1\r\n{headers}\r\n")).unwrap();
        let mut number = 0;
        let fresh = || {
            number += 1;
            Ok(format!("fresh{number}"))
        };
        match gate.admit(&request, fresh).unwrap() {
            Admission::In => 0,
            Admission::Entered(response) | Admission::Refused(response) => response.status,
        }
    }

    fn entered() -> (Gate, String) {
        let mut gate = gate();
        assert_eq!(ask(&mut gate, "GET /?key=first", HOST), 303);
        (gate, format!("{HOST}Cookie: iodyno-studio-8080=fresh2\r\n"))
    }

    #[test]
    fn a_key_opens_once_and_the_cookie_from_then_on() {
        let mut gate = gate();
        assert_eq!(ask(&mut gate, "GET /", HOST), 403);
        assert_eq!(ask(&mut gate, "GET /?key=wrong", HOST), 403);
        assert_eq!(ask(&mut gate, "GET /api/runs?key=first", HOST), 403);
        let (mut gate, known) = entered();
        assert_eq!(ask(&mut gate, "GET /?key=first", HOST), 403);
        assert_eq!(ask(&mut gate, "GET /?key=first", &known), 303);
        assert_eq!(ask(&mut gate, "GET /", &known), 0);
        assert_eq!(ask(&mut gate, "GET /", &format!("{HOST}Cookie: iodyno-studio-8080=fresh1\r\n")), 403);
        assert_eq!(ask(&mut gate, "GET /", &format!("{HOST}Cookie: iodyno-studio-8081=fresh2\r\n")), 403);
        assert!(gate.url().ends_with("?key=fresh1"));
    }

    #[test]
    fn nobody_comes_under_another_name() {
        let (mut gate, _) = entered();
        for host in [
            "evil.example:8080",
            "127.0.0.1:8081",
            "127.0.0.1",
            "10.0.0.1:8080",
            "localhost.evil:8080",
            "[::2]:8080",
        ] {
            let headers = format!("Host: {host}\r\nCookie: iodyno-studio-8080=fresh2\r\n");
            assert_eq!(ask(&mut gate, "GET /", &headers), 403, "{host}");
        }
        assert_eq!(ask(&mut gate, "GET /", "Cookie: iodyno-studio-8080=fresh2\r\n"), 403);
        assert_eq!(
            ask(&mut gate, "GET /", "Host: localhost:8080\r\nCookie: iodyno-studio-8080=fresh2\r\n"),
            0
        );
        let mut everywhere = Gate::new("0.0.0.0:8080".parse().unwrap(), "first".into(), "token".into());
        assert_eq!(ask(&mut everywhere, "GET /?key=first", "Host: 10.0.0.1:8080\r\n"), 303);
        assert_eq!(ask(&mut everywhere, "GET /?key=first", "Host: evil.example:8080\r\n"), 403);
    }

    #[test]
    fn a_hostile_page_is_refused_even_with_the_cookie() {
        let (mut gate, known) = entered();
        let own = "Origin: http://127.0.0.1:8080\r\n";
        let token = "X-Iodyno-Token: token\r\n";
        assert_eq!(ask(&mut gate, "POST /api/start", &format!("{known}{own}{token}")), 0);
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "null",
        ] {
            let headers = format!("{known}Origin: {origin}\r\n{token}");
            assert_eq!(ask(&mut gate, "POST /api/start", &headers), 403, "{origin}");
            assert_eq!(ask(&mut gate, "GET /api/runs", &headers), 403, "{origin}");
        }
        assert_eq!(ask(&mut gate, "POST /api/start", &format!("{known}{token}")), 403);
        assert_eq!(ask(&mut gate, "POST /api/start", &format!("{known}{own}")), 403);
        assert_eq!(ask(&mut gate, "POST /api/start", &format!("{known}{own}X-Iodyno-Token: other\r\n")), 403);
        assert_eq!(ask(&mut gate, "POST /api/start", &format!("{HOST}{own}{token}")), 403);
        assert_eq!(ask(&mut gate, "PUT /api/start", &format!("{known}{own}{token}")), 405);
    }

    #[test]
    fn a_link_elsewhere_opens_the_page_and_nothing_else() {
        let (mut gate, known) = entered();
        let cross = format!("{known}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n");
        assert_eq!(ask(&mut gate, "GET /", &cross), 0);
        assert_eq!(ask(&mut gate, "GET /api/runs", &cross), 403);
        assert_eq!(ask(&mut gate, "GET /", &cross.replace("navigate", "no-cors")), 403);
    }

    #[test]
    fn what_is_answered_loads_nothing_from_elsewhere() {
        let answer = secured(Response::of("text/html", ""));
        let policy = answer.headers.iter().find(|(name, _)| *name == "Content-Security-Policy");
        assert!(
            policy
                .is_some_and(|(_, value)| value.contains("default-src 'none'") && !value.contains("unsafe"))
        );
        let policies = |answer: &Response| {
            answer.headers.iter().filter(|(name, _)| *name == "Content-Security-Policy").count()
        };
        assert_eq!((policies(&answer), policies(&sandboxed(Response::of("text/html", "")))), (1, 1));
    }
}
