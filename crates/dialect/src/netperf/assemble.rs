//! What netperf asks of both ends, and what both ends' counts amount to.

use iodyno_model::Histogram;
use iodyno_model::conversation::{Ends, SocketFacts};

use super::command::{Command, FILL_MOST};
use super::figures::{self, Cpu, EndFigures, ReportFigures, RunFigures};
use super::lower::{ConnectionUse, DataFlow, DataRole};
use super::test::TestShape;
use super::wire::{self, Message, OmniRequest, OmniResponse, OmniResults};
use crate::address::host_of;
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

    fn request_bytes(&self) -> u64 {
        if self.test.sends { self.request.0.unwrap_or(1) } else { 0 }
    }

    fn response_bytes(&self) -> u64 {
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
        ..OmniRequest::of(test.is_udp(), six)
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
fn blocks(command: &Command, at_first: &SocketFacts) -> (u64, u64) {
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

/// What was seen of both ends beside their counts.
pub(super) struct EndSightings<'a> {
    pub(super) control: &'a Ends,
    pub(super) probe: &'a Ends,
    pub(super) data: &'a SocketFacts,
    pub(super) response: &'a OmniResponse,
    pub(super) uuid: &'a str,
}

/// Everything that a report may say of one round.
pub(super) fn figures(
    command: &Command,
    ours: &RunFigures,
    theirs: Option<&Message>,
    seen: &EndSightings<'_>,
) -> ReportFigures {
    let shape = command.test.shape();
    let mut local = local_side(command, ours, seen);
    let mut remote = remote_side(command, theirs, seen);
    // Who takes datagrams cannot know which was the last one; who sent them does.
    let sender_s = theirs.map_or(0.0, |message| wire::fraction(OmniResults::read(message).elapsed_time));
    let takes = command.test.is_udp() && shape == TestShape::Receives && sender_s > 0.0;
    let elapsed_s = if takes { sender_s } else { ours.elapsed_s };
    let transactions = (shape == TestShape::Transactions).then_some(ours.operations);
    // A stream counts where it arrives.
    let arrived = match shape {
        TestShape::Sends if theirs.is_some() => remote.received,
        TestShape::Sends => local.sent,
        _ => local.received,
    };
    let letter = letter(command);
    let throughput = match transactions {
        Some(count) => count as f64 / elapsed_s.max(1e-9),
        None => figures::rate(arrived, elapsed_s, letter),
    };
    let units = transactions.map_or(arrived as f64 / 1024.0, |count| count as f64);
    local.demands(units, elapsed_s);
    remote.demands(units, elapsed_s);
    let six = seen.control.peer.starts_with('[') || seen.probe.local.starts_with('[');
    let near = command.data_local.clone().or_else(|| command.local.clone());
    ReportFigures {
        udp: command.test.is_udp(),
        direction: command.test.direction(),
        local,
        remote,
        elapsed_s,
        throughput,
        units: format!("{}/s", figures::units(letter)),
        transactions,
        request: if transactions.is_some() && command.test.sends {
            command.request_bytes() as i64
        } else {
            -1
        },
        response: if transactions.is_some() && command.test.receives {
            command.response_bytes() as i64
        } else {
            -1
        },
        burst: command.burst,
        latency: ours.latency.clone(),
        mss: if ours.mss > 0 { ours.mss as i64 } else { seen.data.mss as i64 },
        brand: command.brand.clone(),
        uuid: seen.uuid.into(),
        line: command.line.clone(),
        source_named: near.is_some(),
        source: near.unwrap_or_else(|| (if six { "::" } else { "0.0.0.0" }).into()),
        destination: host_of(&seen.control.peer).unwrap_or_else(|| command.host.clone()),
        family: if six { 10 } else { 2 },
        letter: command.units,
        ..ReportFigures::default()
    }
}

/// The unit of the result.
fn letter(command: &Command) -> char {
    let counts = command.test.shape() == TestShape::Transactions;
    let usual = if counts { 'x' } else { 'm' };
    command.units.filter(|letter| (*letter == 'x') == counts).unwrap_or(usual)
}

fn local_side(command: &Command, ours: &RunFigures, seen: &EndSightings<'_>) -> EndFigures {
    let asked = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
    let at_first = &seen.probe.socket;
    let (send, receive) = blocks(command, at_first);
    let sizes = |first: u64, last: u64| (first as i64, if last == 0 { first as i64 } else { last as i64 });
    let (send_first, send_last) = sizes(at_first.send_buffer_bytes, seen.data.send_buffer_bytes);
    let (receive_first, receive_last) = sizes(at_first.receive_buffer_bytes, seen.data.receive_buffer_bytes);
    let shape = command.test.shape();
    let mut side = EndFigures {
        send_buffer: (asked(command.our_buffers.0), send_first, send_last),
        receive_buffer: (asked(command.our_buffers.1), receive_first, receive_last),
        send_size: if shape == TestShape::Sends { send as i64 } else { 0 },
        receive_size: if shape == TestShape::Receives { receive as i64 } else { 0 },
        cpu: ours.cpu.clone().filter(|_| command.cpu.0),
        confidence: -1.0,
        retransmits: ours.retransmits.map_or(-1, |count| count as i64),
        failed: ours.failed,
        align: (8, 8),
        nodelay: command.nodelay.0,
        cork: command.cork,
        tos: command.tos.0,
        priority: command.priority.0,
        congestion: seen.data.congestion.clone(),
        fill: command.fill_name.clone(),
        processor: command.processors.0,
        interval: command.pace.map_or((0, 0), |(burst, ns)| (burst, ns / 1000)),
        ..EndFigures::default()
    };
    match shape {
        TestShape::Sends => (side.sent, side.send_calls) = (ours.bytes, ours.calls),
        TestShape::Receives => (side.received, side.receive_calls) = (ours.bytes, ours.calls),
        TestShape::Transactions => {
            (side.send_calls, side.receive_calls) = (ours.operations, ours.operations);
            side.sent = ours.operations * command.request_bytes();
            side.received = ours.operations * command.response_bytes();
        }
    }
    side
}

fn remote_side(command: &Command, theirs: Option<&Message>, seen: &EndSightings<'_>) -> EndFigures {
    let asked = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
    let count = |word: i32| u64::from(word as u32);
    let response = seen.response;
    let results = theirs.map(OmniResults::read).unwrap_or_default();
    let last = |last: i32, first: i32| i64::from(if last > 0 { last } else { first });
    EndFigures {
        send_buffer: (
            asked(command.their_buffers.0),
            i64::from(response.send_buf_size),
            last(results.send_buf_size, response.send_buf_size),
        ),
        receive_buffer: (
            asked(command.their_buffers.1),
            i64::from(response.recv_buf_size),
            last(results.recv_buf_size, response.recv_buf_size),
        ),
        send_size: i64::from(response.send_size),
        receive_size: i64::from(response.receive_size),
        cpu: their_cpu(&results).filter(|_| command.cpu.1 && theirs.is_some()),
        confidence: -1.0,
        retransmits: i64::from(results.transport_retrans),
        sent: results.sent(),
        received: results.received(),
        send_calls: count(results.send_calls),
        receive_calls: count(results.recv_calls),
        failed: count(results.failed_sends.max(0)),
        align: (command.align.0.unwrap_or(8), command.align.1.unwrap_or(8)),
        offset: (command.offset.0.unwrap_or(0), command.offset.1.unwrap_or(0)),
        nodelay: command.nodelay.1,
        tos: command.tos.1,
        priority: command.priority.1,
        congestion: theirs
            .map(|message| message.text(wire::RESULTS_CONGESTION, wire::CONGESTION_BYTES))
            .unwrap_or_default(),
        processor: command.processors.1,
        interval: (count(response.interval_burst) as u32, count(response.interval_usecs)),
        ..EndFigures::default()
    }
}

fn their_cpu(results: &OmniResults) -> Option<Cpu> {
    let share = |bits: i32| wire::fraction(bits).clamp(0.0, 100.0);
    (results.num_cpus > 0).then(|| Cpu {
        used_percent: share(results.cpu_util),
        user_percent: share(results.cpu_user),
        system_percent: share(results.cpu_system),
        iowait_percent: share(results.cpu_iowait),
        irq_percent: share(results.cpu_irq),
        softirq_percent: share(results.cpu_swintr),
        count: results.num_cpus as u32,
        peak_percent: share(results.peak_cpu_util),
        peak: results.peak_cpu_id.max(0) as u32,
    })
}

/// The mean of all rounds; counts are those of the last.
pub(super) fn mean(rounds: &[ReportFigures]) -> ReportFigures {
    let Some(last) = rounds.last() else { return ReportFigures::default() };
    let of = |value: fn(&ReportFigures) -> f64| rounds.iter().map(value).sum::<f64>() / rounds.len() as f64;
    let mut mean = last.clone();
    mean.throughput = of(|round| round.throughput);
    mean.elapsed_s = of(|round| round.elapsed_s);
    mean.local.demand = of(|round| round.local.demand);
    mean.remote.demand = of(|round| round.remote.demand);
    let used = |cpu: &Option<Cpu>| cpu.as_ref().map_or(-1.0, |cpu| cpu.used_percent);
    let ours = rounds.iter().map(|round| used(&round.local.cpu)).sum::<f64>() / rounds.len() as f64;
    let theirs = rounds.iter().map(|round| used(&round.remote.cpu)).sum::<f64>() / rounds.len() as f64;
    if let Some(cpu) = &mut mean.local.cpu {
        cpu.used_percent = ours;
    }
    if let Some(cpu) = &mut mean.remote.cpu {
        cpu.used_percent = theirs;
    }
    let mut latency = Histogram::default();
    rounds.iter().for_each(|round| latency.merge(&round.latency));
    mean.latency = latency;
    mean
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
