//! Requests of a file server's clients, in the order of a load file, and again from its start when it has come to its end.
//!
//! A worker serves its clients in turn: a request of each, then the next one of each. What a request is, the engine looks up;
//! this says which one is next, and when: pauses, recorded times and a rate hold it back as they do in dbench, whose sleeps
//! are whole milliseconds. What went wrong is told with its line.

use std::sync::Arc;

use iodyno_model::{Job, Rate, Trace};
use iodyno_trace::requests::{CLIENT, LoadRequest, LoadRequestKind, RequestList};

use super::{Next, SourceContext, label_of, labels};
use crate::clock::Tick;
use crate::failure::{Failure, strerror};
use crate::io::{FORGIVEN, Io};
use crate::request_file;

/// Failures that are told, each with its line.
const TOLD_MOST: usize = 20;
const MS: u64 = 1_000_000;

/// What is next for the clients of a worker.
pub struct FileRequests {
    list: Arc<RequestList>,
    /// By kind.
    labels: Vec<u16>,
    at: usize,
    client: usize,
    clients: Vec<ClientPace>,
    /// The number of the first of them.
    first: u64,
    /// Bytes per second of each.
    rate: Option<f64>,
    passes_left: u64,
    /// When this pass began.
    began: Tick,
    /// When the next request may begin, once that is known.
    due: Option<Tick>,
    /// The pause behind the last request of the pass before, µs.
    carried_us: u64,
    told: Vec<String>,
}

/// How fast a client was.
#[derive(Clone, Copy, Default)]
struct ClientPace {
    /// Bytes that it has asked for.
    bytes: u64,
    /// What they were before its last request, and when that began; none: its rate is not kept yet.
    last: Option<(u64, Tick)>,
}

/// Whether a job can serve such requests, as far as the job alone decides: its load is read.
///
/// # Errors
/// There is no load, or what it asks for beside it.
pub fn check(job: &Job, trace: &Trace) -> Result<(), Failure> {
    let Some(path) = &trace.path else {
        return Err(Failure::new("requests are served from a file").hint("name a load file of dbench"));
    };
    if job.depth.most > 1 {
        return Err(Failure::new(format!("requests of a client, {} at a time", job.depth.most))
            .hint("use depth = 1, and more workers or clients"));
    }
    request_file::load(path).map(drop)
}

impl FileRequests {
    /// What is next for one worker.
    ///
    /// # Errors
    /// The load cannot be read.
    pub fn new(context: &SourceContext<'_>, trace: &Trace) -> Result<Self, Failure> {
        let list = request_file::load(trace.path.as_deref().unwrap_or_default())?;
        let known = labels(context.job);
        let of = |kind: &LoadRequestKind| label_of(&known, kind.label(), kind.verb());
        let clients = context.job.setting("clients").and_then(|count| count.parse().ok()).unwrap_or(1);
        let limit = &context.job.limit;
        Ok(FileRequests {
            labels: LoadRequestKind::ALL.iter().map(of).collect(),
            list,
            at: 0,
            client: 0,
            clients: vec![ClientPace::default(); clients],
            first: u64::from(context.worker) * clients as u64,
            rate: match context.job.pace.rate_all {
                Rate::Bytes(bytes) => Some(bytes as f64),
                _ => None,
            },
            passes_left: limit.passes.unwrap_or(if limit.time_ns.is_some() { u64::MAX } else { 1 }),
            began: context.start,
            due: None,
            carried_us: 0,
            told: Vec::new(),
        })
    }

    /// Writes the next request into `io`.
    pub fn next(&mut self, now: Tick, io: &mut Io) -> Next {
        if self.at == self.list.requests.len() {
            self.passes_left = self.passes_left.saturating_sub(1);
            (self.at, self.began, self.carried_us) = (0, now, self.list.last_pause_us);
            self.clients.iter_mut().for_each(|client| client.last = None);
        }
        if self.passes_left == 0 {
            return Next::Done;
        }
        let request = self.list.requests[self.at];
        let due = match self.due {
            Some(due) => due,
            None => *self.due.insert(self.due_of(&request, now)),
        };
        if now < due {
            return Next::Later(due);
        }
        let pace = &mut self.clients[self.client];
        pace.last = self.rate.filter(|_| pace.bytes > 0).map(|_| (pace.bytes, now));
        let bytes = if request.kind.verb().moves_data() { u64::from(request.bytes) } else { 0 };
        pace.bytes += bytes;
        let forgiven = matches!(request.kind, LoadRequestKind::Open | LoadRequestKind::Read);
        *io = Io {
            verb: request.kind.verb(),
            label: self.labels[request.kind.index()],
            flags: if forgiven { FORGIVEN } else { 0 },
            offset: self.at as u64,
            bytes,
            other: self.client as u64,
            ..Io::default()
        };
        (self.client, self.due) = (self.client + 1, None);
        if self.client == self.clients.len() {
            (self.at, self.client, self.carried_us) = (self.at + 1, 0, 0);
        }
        Next::Io
    }

    /// When a request of the client whose turn it is may begin.
    fn due_of(&self, request: &LoadRequest, now: Tick) -> Tick {
        let pause_us = if self.client == 0 { request.pause_us + self.carried_us } else { 0 };
        let now = now + pause_us * 1000;
        match (self.rate, self.clients[self.client]) {
            (Some(rate), ClientPace { bytes, last: Some((before, since)) }) => {
                let wanted = ((bytes - before) as f64 / rate * 1e9) as u64;
                now + wanted.saturating_sub(now.saturating_sub(since)) / MS * MS
            }
            (None, _) if request.at_us > 0 => {
                now + (self.began + request.at_us * 1000).saturating_sub(now) / MS * MS
            }
            _ => now,
        }
    }

    /// Hears of a completion.
    #[inline]
    pub fn done(&mut self, io: &Io, result: i64) -> i64 {
        if result < 0 && self.told.len() < TOLD_MOST {
            self.tell(io, -result as i32);
        }
        result
    }

    #[cold]
    fn tell(&mut self, io: &Io, errno: i32) {
        let Some(request) = self.list.requests.get(io.offset as usize) else { return };
        let client = format!("client{}", self.first + io.other);
        let name =
            |index: u32| self.list.name(index).map(|name| format!(" {}", name.replace(CLIENT, &client)));
        let names = [request.name, request.other].into_iter().filter_map(name).collect::<String>();
        let on = if names.is_empty() { format!(" handle {}", request.handle) } else { names };
        let (line, word, why) = (request.line, request.kind.word(), strerror(errno));
        let expected = if request.succeeds { "" } else { " (it was to fail)" };
        self.told.push(format!("{client}, line {line}: {word}{on}: {why}{expected}"));
    }

    /// What went wrong, a sentence each, the first ones.
    pub fn complaints(&self) -> Vec<String> {
        self.told.clone()
    }
}
