//! `socket`: streams, datagrams and exchanges between two sockets.
//!
//! A send moves a block to the peer, a recv takes what has come, an exchange is a request and its whole response, or
//! the answering half of one. Endpoints are connected to or waited at, or stand already and are lent by a conversation
//! (transport `connection`). Blocks lie in memory of the engine's own, one warm block that is sent again and again, so
//! what is received is counted and not verified. It refuses to frame, to handshake and to take leave: what goes over
//! the wire is the payload alone.

use iodyno_model::{Diagnostic, EngineTrait, Job, TargetKind, Verb, VerbSet};

use super::{
    Engine, EngineFacts, Failure, SettingSpec, Setup, check_switches, check_values, only_verbs, setting,
    spec, switched_on,
};
use crate::clock::{self, Tick};
use crate::facts::joined;
use crate::io::{Files, Io, Slot};

mod block;
mod bursts;
pub mod datagram_stats;
mod datagrams;
mod endpoint;
mod exchange;
mod file;
mod line;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod ring;
pub mod socket_options;
pub mod stamp;
mod stream;
mod transactions;
#[cfg(target_os = "linux")]
mod zerocopy;

use datagrams::Datagrams;
use exchange::Exchange;
use stream::Stream;
use transactions::{Connecting, Taking};

/// What the engine is asked for beyond its sockets' options.
const OWN: &[SettingSpec] = &[
    spec(
        "method",
        "how blocks are sent: copy (default), sendfile, splice, zerocopy, io_uring, io_uring_zerocopy",
    ),
    spec(
        "receive",
        "what becomes of received bytes: copy (default), truncate (dropped in the kernel), splice (to /dev/null), io_uring",
    ),
    spec("from", "a file whose bytes are sent over a stream instead; its end is the job's"),
    spec("into", "a file that is made, and holds what a stream brings"),
    spec(
        "shut",
        "a stream that has sent what it was to send ends its direction, and the peer reads an end; datagrams whose number \
         comes first end with one whose number is negated (default off)",
    ),
    spec(
        "read_bin_bytes",
        "receives of a stream are counted in eight bins so wide (default 0: they are not)",
    ),
    spec("blocks", "so many blocks of a stream go out in turn: what is sent is longer than one (default 1)"),
    spec("datagram_bytes", "a block is cut into datagrams of so many bytes"),
    spec("gso", "datagrams are cut by the kernel: auto (default: where a block holds several), on, off"),
    spec("gro", "datagrams are joined by the kernel: auto (default: where it can), on, off"),
    spec(
        "stamp",
        "header of each datagram: none (default), seconds_micros_u32, seconds_micros_u64, number_seconds_micros",
    ),
    spec(
        "bursts",
        "a block is a burst that says when it was due: off (default), on (a stream's blocks begin with it), or the byte of each \
         datagram at which it stands",
    ),
    spec("spread", "times of datagrams on their way are counted by their length too (default off)"),
    spec("first_number", "the first datagram's number (default 1)"),
    spec("request_bytes", "bytes of a request (default: the block)"),
    spec("response_bytes", "bytes of a response (default: the block)"),
    spec("answers", "exchanges are answered, not begun (default off)"),
    spec(
        "echo",
        "an answer is the request itself: off (default), on, or the byte at which the wall-clock times of its coming and \
         going are put, each as seconds and microseconds of four bytes",
    ),
    spec("hold_us", "between a request and its answer, µs (default 0)"),
    spec("connect_each", "each exchange has a connection of its own (default off)"),
    spec("accept_each", "each exchange is answered on a connection of its own (default off)"),
    spec("response_timeout_ms", "a datagram unanswered so long is lost (default 1000)"),
    spec(
        "peer_timeout_ms",
        "so long a peer is awaited who is not there yet (default: 10000 to connect, the whole run to accept)",
    ),
    spec("port_each", "worker n takes the n-th port from the address's (default off)"),
];

const COUNT: usize = socket_options::SETTINGS.len() + OWN.len();

/// Ways to send blocks.
const METHODS: [&str; 6] = ["copy", "sendfile", "splice", "zerocopy", "io_uring", "io_uring_zerocopy"];

/// Verbs that have a meaning here.
const VERBS: [Verb; 5] = [Verb::Read, Verb::Write, Verb::Send, Verb::Recv, Verb::Exchange];

/// The other side, one for each of a job's targets.
enum SocketLink {
    Stream(Box<Stream>),
    Datagrams(Box<Datagrams>),
    Exchange(Box<Exchange>),
    Connecting(Box<Connecting>),
    Taking(Box<Taking>),
    /// No endpoint.
    None,
}

/// Sockets of one worker.
pub struct Sockets {
    links: Vec<SocketLink>,
    /// Whether the job's time counts: from the first operation on.
    begun: bool,
    /// What is done and not yet handed back.
    done: Vec<(Slot, i64)>,
}

impl Engine for Sockets {
    const FACTS: EngineFacts = EngineFacts {
        about: "streams, datagrams and exchanges with a peer (tcp, udp, unix, vsock)",
        verbs: VerbSet::of(&VERBS),
        settings: &joined::<COUNT>(OWN, socket_options::SETTINGS),
        connects: true,
        performs: true,
        uses_files: false,
        check: Self::check,
        traits: &[EngineTrait::MovesFlows],
        ..EngineFacts::named("socket")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        setup.live.counts.begin();
        let mut links = Vec::new();
        for handle in 0..setup.files.handles.len() {
            links.push(link(setup, handle)?);
        }
        Ok(Sockets { links, begun: false, done: Vec::with_capacity(setup.depth as usize) })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        if !self.begun {
            self.begin();
        }
        match self.links.get_mut(io.file as usize) {
            Some(SocketLink::Stream(stream)) => stream.perform(io),
            Some(SocketLink::Exchange(exchange)) => exchange.perform(io),
            Some(SocketLink::Datagrams(datagrams)) => datagrams.perform(io),
            Some(SocketLink::Connecting(connecting)) => connecting.perform(io),
            Some(SocketLink::Taking(taking)) => taking.perform(io),
            _ => -i64::from(libc::ENOTCONN),
        }
    }

    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        if !self.begun {
            self.begin();
        }
        if let Some(SocketLink::Exchange(exchange)) = self.links.get_mut(io.file as usize)
            && exchange.is_deep()
        {
            return exchange.ask(slot, io);
        }
        let result = self.perform(io, files);
        self.done.push((slot, result));
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let least = (min as usize).saturating_sub(self.done.len());
        for link in &mut self.links {
            if let SocketLink::Exchange(exchange) = link
                && exchange.is_deep()
            {
                exchange.hear(least, until, &mut self.done);
            }
        }
        let now = clock::now();
        self.done.drain(..).for_each(|(slot, result)| done(slot, result, now));
        Ok(())
    }
}

impl Sockets {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong =
            check_switches(job, &["answers", "shut", "connect_each", "accept_each", "port_each", "spread"]);
        let one_of = |wrong: &mut Vec<Diagnostic>, name: &str, known: &[&str]| {
            let hint = format!("say one of: {}", known.join(" "));
            wrong.extend(check_values(job, &[name], |value| known.contains(&value), &hint));
        };
        one_of(&mut wrong, "method", &METHODS);
        one_of(&mut wrong, "receive", &["copy", "truncate", "splice", "io_uring"]);
        one_of(&mut wrong, "gso", &["auto", "on", "off"]);
        one_of(&mut wrong, "gro", &["auto", "on", "off"]);
        let stamps = ["none", "seconds_micros_u32", "seconds_micros_u64", "number_seconds_micros"];
        one_of(&mut wrong, "stamp", &stamps);
        let numbers = [
            "blocks",
            "datagram_bytes",
            "first_number",
            "request_bytes",
            "response_bytes",
            "response_timeout_ms",
            "peer_timeout_ms",
            "hold_us",
            "read_bin_bytes",
        ];
        let number = |value: &str| value.parse::<u32>().is_ok();
        wrong.extend(check_values(job, &numbers, number, "say a whole number"));
        let echo = |value: &str| matches!(value, "on" | "off") || number(value);
        wrong.extend(check_values(job, &["echo", "bursts"], echo, "say on, off, or a number of bytes"));
        wrong.extend(socket_options::check(job));
        wrong.extend(only_verbs(job, Self::FACTS.name, &VERBS));
        let linux =
            ["method", "receive"].iter().any(|name| setting(job, name).is_some_and(|how| how != "copy"));
        let copies = setting(job, "receive").is_none_or(|how| how == "copy");
        if setting(job, "into").is_some() && !copies {
            let message = "what is dropped in the kernel cannot be written to a file";
            wrong.push(Diagnostic::error(&job.origin, message).hint("leave `receive` or `into` out"));
        }
        if linux && !cfg!(target_os = "linux") {
            let message = "only Linux moves blocks otherwise than by copying";
            wrong.push(Diagnostic::error(&job.origin, message).hint("leave method and receive out"));
        }
        wrong
    }

    /// What takes time is done, and the start line was passed: from here on the job's time counts.
    #[cold]
    fn begin(&mut self) {
        let begin = clock::now();
        self.links.iter_mut().for_each(|link| link.begin(begin));
        self.begun = true;
    }
}

impl SocketLink {
    /// The worker's time begins.
    fn begin(&mut self, now: Tick) {
        match self {
            SocketLink::Stream(stream) => stream.line.patience.begin(now),
            SocketLink::Datagrams(datagrams) => datagrams.line.patience.begin(now),
            SocketLink::Exchange(exchange) => exchange.begin(now),
            SocketLink::Connecting(connecting) => connecting.patience.begin(now),
            SocketLink::Taking(taking) => taking.line.patience.begin(now),
            SocketLink::None => {}
        }
    }
}

/// Meets the peer of one target.
fn link(setup: &Setup<'_>, handle: usize) -> Result<SocketLink, Failure> {
    let job = setup.job;
    let Some(TargetKind::Endpoint { transport, .. }) = setup.target(handle).map(|target| &target.kind) else {
        return Ok(SocketLink::None);
    };
    let exchanges = exchange::is_wanted(job);
    if exchanges && switched_on(job, "connect_each") {
        return Ok(SocketLink::Connecting(Box::new(Connecting::new(setup, handle)?)));
    }
    if exchanges && switched_on(job, "accept_each") {
        return Ok(SocketLink::Taking(Box::new(Taking::new(setup, handle)?)));
    }
    let line = endpoint::meet(setup, handle)?;
    Ok(match (exchanges, line.datagrams) {
        (true, _) => {
            let mut exchange = Exchange::new(setup, line)?;
            if transport == "icmp" {
                exchange.ask_for_echo()?;
            }
            SocketLink::Exchange(Box::new(exchange))
        }
        (false, true) => SocketLink::Datagrams(Box::new(Datagrams::new(setup, line)?)),
        (false, false) => SocketLink::Stream(Box::new(Stream::new(setup, line)?)),
    })
}
