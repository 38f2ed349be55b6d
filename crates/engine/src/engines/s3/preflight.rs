//! One request before the start line: what no request could succeed with is found there and said in words.

use iodyno_s3::UtcTime;
use iodyno_s3::body::{self, ErrorBody};
use iodyno_s3::failure::remedy;
use iodyno_s3::operation;
use iodyno_s3::request::RequestHead;

use super::connection::{Buffer, Ending, Outgoing};
use super::{S3, watch};
use crate::clock;
use crate::failure::{Failure, strerror};

/// Clocks may differ so far, s.
const SKEW_S: u64 = 15 * 60;

impl S3 {
    /// Asks each endpoint for a page without keys of the bucket's prefix.
    ///
    /// # Errors
    /// Why no request would succeed.
    pub(super) fn preflight(&mut self) -> Result<(), Failure> {
        let Some(bucket) = self.buckets.iter().flatten().next() else { return Ok(()) };
        let (prefix, url) = (bucket.prefix.clone(), bucket.set.url.clone());
        for endpoint in 0..self.endpoints.count() {
            let at = bucket_at(self, endpoint);
            let request = operation::list(&at, &prefix, 1, None);
            let mut lane = super::Lane::new(u32::MAX, endpoint);
            let mut ending = self.once(&mut lane, &request, Vec::new())?;
            let is_new = self.settings.makes_bucket && is_missing(&lane.connection);
            if is_new {
                let body = body::bucket_in(&self.settings.region).into_bytes();
                let locks = self.settings.retention_days > 0;
                ending = self.once(&mut lane, &operation::make_bucket(&at, &body, locks), body)?;
            }
            self.judge(&lane.connection, ending, endpoint, &url)?;
            if endpoint == 0 && self.settings.names_versions() {
                self.ready_bucket(&at, &url, is_new)?;
            }
        }
        Ok(())
    }

    /// Waits for one exchange, on a connection of its own.
    pub(super) fn once(
        &mut self,
        lane: &mut super::Lane,
        request: &RequestHead,
        body: Vec<u8>,
    ) -> Result<Ending, Failure> {
        lane.connection = super::Connection::new(u32::MAX);
        let host = bucket_at(self, lane.endpoint).host;
        self.signer.write_head(request, &host, S3::time(), lane.connection.head());
        self.tally.requests += 1;
        self.tally.classes[request.class() as usize] += 1;
        self.tally.opened += 1;
        let (now, timeout) = (clock::now(), self.settings.timeout_ns);
        let interruptions = crate::signal::interruptions().0;
        let opened = lane.connection.open(self.endpoints.peer(lane.endpoint), now);
        if let Err(errno) = opened.and_then(|()| watch(&self.epoll, &lane.connection)) {
            return Ok(Ending::Broken { errno, connected: false });
        }
        let outgoing = if body.is_empty() { Outgoing::Nothing } else { Outgoing::Text(body) };
        // It belongs to no lane, so that what epoll says of it is not noted: it is asked as if it ended.
        lane.connection.note(libc::EPOLLRDHUP as u32);
        lane.connection.begin(outgoing, Buffer::NONE, false);
        loop {
            if let Some(ending) = lane.connection.go_on(clock::now, timeout, &mut self.scratch) {
                return Ok(ending);
            }
            let now = clock::now();
            if now >= lane.connection.deadline {
                return Ok(lane.connection.give_up(now));
            }
            // What is removed at the end is removed after Ctrl-C too: a further one stops this.
            if crate::signal::interruptions().0 > interruptions {
                return Err(Failure::new("stopped before the store answered"));
            }
            self.wait(super::SLICE_NS)?;
        }
    }

    fn judge(
        &self,
        connection: &super::Connection,
        ending: Ending,
        endpoint: usize,
        url: &str,
    ) -> Result<(), Failure> {
        let place = format!("{url} at {}", self.settings.endpoints[endpoint]);
        if let Some(failure) = unanswered(connection, ending, &place) {
            return Err(failure);
        }
        let Some(answer) = &connection.answer else { return Ok(()) };
        let error = ErrorBody::parse(&connection.text);
        let (now, date) = (S3::time(), answer.date.as_deref().and_then(UtcTime::parse_http));
        let status = answer.status;
        if (200..300).contains(&status) {
            return Ok(());
        }
        let code = match (error.code.as_str(), status) {
            ("", 301 | 307) => "PermanentRedirect",
            ("", 404) => "NoSuchBucket",
            (code, _) => code,
        };
        if let Some(remedy) = remedy(code) {
            let region = error.region.as_ref().or(answer.region.as_ref());
            let hint = match region {
                Some(region) if *region != self.settings.region => {
                    format!("{}: region = \"{region}\"", remedy.hint)
                }
                _ => remedy.hint.to_string(),
            };
            let skew = date.map(|date| now.unix.abs_diff(date.unix)).filter(|skew| *skew > SKEW_S / 2);
            let skew = skew.map(|skew| format!("; they differ by {skew} s")).unwrap_or_default();
            let message = format!("{place}: {} ({status} {code}{skew})", remedy.what);
            return Err(Failure::new(message).errno(super::tally::errno_of(status, code)).hint(hint));
        }
        // Who may not list may still read and write; who is told to come later may do so.
        match status {
            403 | 429 | 500..=599 => Ok(()),
            // Servers that speak TLS and see that a client does not say so in a sentence.
            400 if says_https(&connection.text) => {
                let failure = Failure::new(format!("{place}: the port speaks TLS (https)"));
                Err(failure.errno(libc::EPROTO).hint("say https:// for this port"))
            }
            _ if error.code.is_empty() => {
                let failure =
                    Failure::new(format!("{place}: it answers {status}, and not as a store of the S3 API"));
                Err(failure.errno(libc::EPROTO).hint("name the port of a store that speaks the S3 API"))
            }
            _ => Ok(()),
        }
    }
}

/// Why no whole answer came.
fn unanswered(connection: &super::Connection, ending: Ending, place: &str) -> Option<Failure> {
    let broken =
        |what: &str, errno: i32| Failure::new(format!("{place}: {what}: {}", strerror(errno))).errno(errno);
    Some(match ending {
        Ending::Answered => return None,
        Ending::Broken { errno, connected: false } if connection.times.connected > 0 => {
            broken("the connection was cut before TLS was agreed on", errno)
                .hint("a port that speaks no TLS does this: say http:// for it")
        }
        Ending::Broken { errno, connected: false } => {
            broken("no connection", errno).hint("check the endpoint's host and port, and that the store runs")
        }
        Ending::Broken { errno, .. } => broken("the connection was cut before an answer was whole", errno)
            .hint("a proxy or a port that speaks something else does this; https ports too"),
        Ending::Garbled | Ending::Stale => {
            let failure = Failure::new(format!("{place}: {}", connection.garbled)).errno(libc::EPROTO);
            failure.hint(match connection.garbled_hint {
                "" => "name the port of a store that speaks the S3 API",
                hint => hint,
            })
        }
    })
}

/// Go's and nginx's answers to a request without TLS: `… to an HTTPS server`, `… to HTTPS port`.
fn says_https(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("HTTPS server") || text.contains("HTTPS port")
}

/// Whether the answer is that there is no such bucket.
fn is_missing(connection: &super::Connection) -> bool {
    let status = connection.answer.as_ref().map_or(0, |answer| answer.status);
    let code = ErrorBody::parse(&connection.text).code;
    status == 404 && matches!(code.as_str(), "" | "NoSuchBucket")
}

fn bucket_at(engine: &S3, endpoint: usize) -> iodyno_s3::address::BucketAddress {
    let bucket = engine.buckets.iter().flatten().next().expect("the caller found one");
    bucket.at[endpoint].clone()
}
