//! The figures so far at an address of this machine alone: one text, whatever is asked for.
//!
//! It refuses addresses that others reach.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::http::{HttpRequest, Response, serve};

/// What a page of metrics is. Source: OpenMetrics 1.0.0, "protocol negotiation".
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text that is served.
pub struct MetricsEndpoint {
    text: Arc<Mutex<Vec<u8>>>,
}

impl MetricsEndpoint {
    /// Begins to serve.
    ///
    /// # Errors
    /// Why the address cannot be had.
    pub fn open(address: SocketAddr) -> Result<MetricsEndpoint, Diagnostic> {
        let wrong = |what: String| Diagnostic::error(&Origin::argument(&address.to_string()), what);
        if !address.ip().is_loopback() {
            return Err(wrong("others would reach it, too".into()).hint("127.0.0.1:PORT, or a file"));
        }
        let listener = TcpListener::bind(address)
            .map_err(|error| wrong(crate::loader::plain(&error)).hint("another port, or a file"))?;
        let text = Arc::new(Mutex::new(b"# EOF\n".to_vec()));
        let shared = Arc::clone(&text);
        let answer = move |request: &HttpRequest| match request.method.as_str() {
            "GET" => Response::of(KIND, shared.lock().map(|text| text.clone()).unwrap_or_default()),
            _ => Response::refused(405, "only GET is answered"),
        };
        serve("metrics", listener, answer).map_err(|error| wrong(crate::loader::plain(&error)))?;
        Ok(MetricsEndpoint { text })
    }

    /// Serves this from now on.
    pub fn put(&self, text: Vec<u8>) {
        if let Ok(mut now) = self.text.lock() {
            *now = text;
        }
    }
}
