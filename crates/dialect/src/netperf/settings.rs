//! The settings of both ends: what netserver is asked for, and our own flow.

use iodyno_model::conversation::SocketFacts;

use super::command::{Command, FILL_MOST};
use super::lower::{ConnectionUse, DataFlow, DataRole};
use super::test::{Protocol, TestShape};
use super::wire::{self, OmniRequest};
use crate::conversation::SocketOptions;

/// The largest datagram that IPv4 carries, bytes.
const DATAGRAM_MOST: u64 = 65_507;
/// How long a receiver waits beyond the sender's time, ns.
const GRACE_NS: u64 = 500_000_000;

impl Command {
    /// The level of confidence and the width of the interval, percent; none: nothing was asked.
    pub(super) fn confidence(&self) -> Option<(u32, f64)> {
        match (self.level, self.repeat) {
            (None, None) => None,
            (level, _) => Some(level.unwrap_or((99, 5.0))),
        }
    }

    /// How often it is done at least, and at most.
    pub(super) fn least_rounds(&self) -> usize {
        self.repeat.map_or(1, |(least, _)| least as usize)
    }

    pub(super) fn most_rounds(&self) -> usize {
        self.repeat.map_or(1, |(least, most)| most.max(least) as usize)
    }

    /// The unit of the result: transactions where nothing else was asked for.
    pub(super) fn letter(&self) -> char {
        match (self.test.shape() == TestShape::Transactions, self.units) {
            (true, units) => units.unwrap_or('x'),
            (false, units) => units.filter(|letter| *letter != 'x').unwrap_or('m'),
        }
    }

    pub(super) fn request_bytes(&self) -> u64 {
        if self.test.sends { self.request.0.unwrap_or(1) } else { 0 }
    }

    pub(super) fn response_bytes(&self) -> u64 {
        if self.test.receives { self.request.1.unwrap_or(1) } else { 0 }
    }
}

/// The options of our data socket.
pub(super) fn socket_options(command: &Command) -> Vec<(String, String)> {
    let mut options = SocketOptions::default();
    let stream = !command.test.is_udp();
    options.set("send_buffer_bytes", command.our_buffers.0);
    options.set("receive_buffer_bytes", command.our_buffers.1);
    options.set("congestion", command.congestion.0.as_ref().filter(|_| stream));
    options.set("tos", command.tos.0);
    options.set("priority", command.priority.0);
    options.switch([
        ("nodelay", command.nodelay.0 && stream),
        ("cork", command.cork && stream),
        ("fastopen", command.fastopen && stream),
        ("keepalive", command.keepalive && stream),
        ("dont_fragment", command.dont_fragment),
    ]);
    options.0
}

fn word<T>(value: Option<T>) -> i32
where
    i32: TryFrom<T>,
{
    value.map_or(-1, |value| i32::try_from(value).unwrap_or(i32::MAX))
}

/// What netserver is asked for; our port matters to datagrams.
pub(super) fn request(command: &Command, port: u16, six: bool) -> OmniRequest {
    let test = &command.test;
    let transactions = test.shape() == TestShape::Transactions;
    let sizes = |on: bool, bytes: u64| if transactions && on { word(Some(bytes)) } else { -1 };
    let (burst, every_ns) = command.pace.unwrap_or((0, 0));
    OmniRequest {
        send_buf_size: word(command.their_buffers.0),
        recv_buf_size: word(command.their_buffers.1),
        send_size: word(command.send.1),
        receive_size: word(command.receive.1),
        send_alignment: command.align.0.unwrap_or(8) as i32,
        recv_alignment: command.align.1.unwrap_or(8) as i32,
        send_offset: command.offset.0.unwrap_or(0) as i32,
        recv_offset: command.offset.1.unwrap_or(0) as i32,
        request_size: sizes(test.sends, command.request_bytes()),
        response_size: sizes(test.receives, command.response_bytes()),
        flags: flags(command),
        test_length: command.length.clamp(i64::from(i32::MIN + 1), i64::from(i32::MAX)) as i32,
        data_port: command.data_ports.1.map_or(0, i32::from),
        direction: if test.sends { wire::RECEIVES } else { 0 }
            | if test.receives { wire::TRANSMITS } else { 0 },
        netperf_port: i32::from(port),
        interval_burst: if every_ns > 0 { burst as i32 } else { 0 },
        interval_usecs: (every_ns / 1000).min(i32::MAX as u64) as i32,
        socket_prio: word(command.priority.1),
        socket_tos: word(command.tos.1),
        ..match test.protocol {
            Some(Protocol::Sctp) => OmniRequest { protocol: wire::SCTP, ..OmniRequest::of(false, six) },
            _ => OmniRequest::of(test.is_udp(), six),
        }
    }
}

fn flags(command: &Command) -> i32 {
    [
        (command.nodelay.1, wire::NODELAY),
        (command.test.connects, wire::CONNECTIONS),
        (command.cpu.1, wire::MEASURE_CPU),
        (true, wire::ROUTED),
        (command.bound, wire::CONNECTED),
        (command.dont_fragment, wire::DISCOVER_MTU),
        (command.keepalive, wire::KEEPALIVE),
    ]
    .iter()
    .filter(|(on, _)| *on)
    .fold(0, |flags, (_, flag)| flags | flag)
}

/// Bytes of our sends and receives: what was asked for, or what the socket's buffers are at first.
pub(super) fn blocks(command: &Command, at_first: &SocketFacts) -> (u64, u64) {
    let most = if command.test.is_udp() { DATAGRAM_MOST } else { i32::MAX as u64 };
    let usual = |bytes: u64, other: u64| if bytes == 0 { other } else { bytes };
    let send = command.send.0.unwrap_or_else(|| usual(at_first.send_buffer_bytes, 16_384));
    let receive = command.receive.0.unwrap_or_else(|| usual(at_first.receive_buffer_bytes, 131_072));
    (send.clamp(1, most), receive.clamp(1, 1 << 24))
}

/// Our end of the data.
pub(super) fn flow(command: &Command, over: ConnectionUse, at_first: &SocketFacts) -> DataFlow {
    let shape = command.test.shape();
    let (send, receive) = blocks(command, at_first);
    let (time_ns, bytes, operations) = match (command.length, shape) {
        (1.., TestShape::Receives) if command.test.is_udp() => {
            (Some(nanoseconds(command.length) + GRACE_NS), None, None)
        }
        // The end of a stream comes from its sender.
        (_, TestShape::Receives) => (None, None, None),
        (1.., _) => (Some(nanoseconds(command.length)), None, None),
        (length, TestShape::Transactions) => (None, None, Some(length.unsigned_abs().max(1))),
        (length, _) => (None, Some(length.unsigned_abs().max(1)), None),
    };
    DataFlow {
        name: command.test.name.into(),
        role: role(shape),
        socket_options: if matches!(over, ConnectionUse::Each(_)) {
            socket_options(command)
        } else {
            Vec::new()
        },
        over,
        block_bytes: if shape == TestShape::Sends { send } else { receive },
        request_bytes: command.request_bytes(),
        response_bytes: command.response_bytes(),
        depth: if command.test.connects { 1 } else { command.burst + 1 },
        time_ns,
        bytes,
        operations,
        pace: command.pace,
        fill: command.fill.clone(),
        blocks: command.fill.as_ref().map_or(1, |_| buffers(command.width, send)),
        sendfile: command.test.sendfile,
        patience_ms: command
            .patience_ms
            .filter(|_| command.test.is_udp() && shape == TestShape::Transactions),
        processor: command.processors.0,
    }
}

/// How many buffers hold what is sent: two, as the original's usual ring, unless `-W` says how many.
fn buffers(width: Option<u64>, send: u64) -> u64 {
    width.unwrap_or(2).min((FILL_MOST as u64 / send.max(1)).max(1))
}

fn nanoseconds(seconds: i64) -> u64 {
    seconds.unsigned_abs().saturating_mul(1_000_000_000)
}

/// What the flow of a test is, seen from netperf.
fn role(shape: TestShape) -> DataRole {
    match shape {
        TestShape::Sends => DataRole::Sends,
        TestShape::Receives => DataRole::Receives,
        TestShape::Transactions => DataRole::Asks,
    }
}

/// What netserver does when we do that.
pub(super) fn other(direction: i32) -> DataRole {
    match (direction & wire::RECEIVES != 0, direction & wire::TRANSMITS != 0) {
        (true, false) => DataRole::Receives,
        (false, true) => DataRole::Sends,
        _ => DataRole::Answers,
    }
}
