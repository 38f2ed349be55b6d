//! What is opened by us: a server's place, a client's connections, and the way back to a client that wants it.

use iodyno_model::conversation::{Action, Connection, Ends};

use super::bounceback::Bounce;
use super::command::{LOAD_BYTES, Rate};
use super::flow::{BOTH_WAYS, StreamState, TestStream};
use super::header::{self, Amount, Back, TestHeader};
use super::lower::{self, Load};
use super::number;
use super::quota::{BYTES_MOST, TIME_MOST_NS};
use super::session::{IperfConversation, PLACE};
use crate::address::{host_and_port, joined, transport};

/// How long a connection is tried, ns.
pub(super) const CONNECT_NS: u64 = 10_000_000_000;
/// How long until it is tried again, ns.
const AGAIN_NS: u64 = 1_000_000_000;
/// The same for the way back: the original's client asks for it before it listens, and is there in a moment.
pub(super) const BACK_AGAIN_NS: u64 = 20_000_000;
/// How often the way back is tried again.
const BACK_RETRIES: u32 = 100;

impl IperfConversation {
    pub(super) fn begin(&mut self) {
        if self.is_server() || self.command.dual || self.command.trade {
            self.listen();
        }
        if self.is_server() {
            return;
        }
        for _ in 0..self.command.streams.max(1) {
            self.begin_stream(self.test(), self.command.bounce());
        }
        if let Some(load) = self.command.load {
            let test = TestHeader {
                streams: 1,
                reverse: load.receives && !load.sends,
                full_duplex: load.receives && load.sends,
                quick: true,
                ..self.test()
            };
            (0..load.streams).for_each(|_| self.begin_stream(test, None));
        }
        if self.command.dual || self.command.trade {
            self.owed = self.command.streams.max(1) as usize;
        }
    }

    /// Opens a client's stream.
    fn begin_stream(&mut self, test: TestHeader, bounce: Option<Bounce>) {
        let (id, connection) = (self.next_id, self.connection());
        self.next_id += 1;
        let mut flow = TestStream::new(id, connection, !test.reverse, StreamState::Opening(0), self.now_ns);
        flow.amount = self.command.until();
        (flow.test, flow.bounce) = (Some(test), bounce);
        // The load is no test of its own beside the messages: its sum is of its streams alone.
        flow.group = if test.quick { "load".into() } else { String::new() };
        // Frames end with shorter datagrams.
        let is_even = self.command.udp && test.period_us.is_none();
        flow.each_bytes = if is_even { self.command.block() } else { 0 };
        self.flows.push(flow);
        self.open(connection);
    }

    pub(super) fn connection(&mut self) -> Connection {
        self.next_connection += 1;
        self.next_connection
    }

    fn transport(&self) -> String {
        let family = match (self.command.ipv6, self.is_server()) {
            (true, false) => 6,
            (false, true) => 4,
            _ => 0,
        };
        transport(if self.command.udp { "udp" } else { "tcp" }, family)
    }

    /// The options of a socket; of a client's with its own address.
    fn socket_options(&self, client: bool) -> Vec<(String, String)> {
        let mut socket_options = self.command.socket_options.clone();
        socket_options
            .extend(self.command.window_bytes.map(|bytes| ("window_bytes".into(), bytes.to_string())));
        let (address, device) = self.bound();
        socket_options.extend(device.map(|device| ("device".into(), device)));
        socket_options.extend(address.filter(|_| client).map(|address| ("bind".into(), address)));
        socket_options
    }

    /// Our own address and interface, as `-B` says.
    fn bound(&self) -> (Option<String>, Option<String>) {
        let Some(bind) = &self.command.bind else { return (None, None) };
        let (address, device) =
            bind.split_once('%').map_or((bind.as_str(), None), |(address, device)| (address, Some(device)));
        (Some(address.to_string()).filter(|address| !address.is_empty()), device.map(String::from))
    }

    fn listen(&mut self) {
        let port = if self.is_server() { self.command.port } else { self.back_port() };
        let host = self.bound().0.unwrap_or_default();
        let action = Action::Listen {
            place: PLACE,
            transport: self.transport(),
            address: joined(&host, port),
            socket_options: self.socket_options(false),
        };
        self.act(action);
    }

    fn back_port(&self) -> u16 {
        self.command.listen_port.unwrap_or(self.command.port)
    }

    pub(super) fn listening(&mut self, ends: &Ends) {
        let what = if self.command.udp { "UDP" } else { "TCP" };
        let port = host_and_port(&ends.local).1;
        let mut text = format!("Server listening on {what} port {port}\n");
        if let Some(host) = self.bound().0 {
            text += &format!("Binding to local address {host}\n");
        }
        if self.view.enhanced {
            let (block, bin) = (number::size(self.command.block()), number::size(self.bin_bytes()));
            text += &format!("Read buffer size: {block} (Dist bin width={bin})\n");
        }
        text += &self.command.bins.map(|bins| bins.heading()).unwrap_or_default();
        text += &self.view.window(ends.socket.receive_buffer_bytes, self.command.window_bytes);
        self.rule(&text);
    }

    fn open(&mut self, connection: Connection) {
        let host = self.command.host.as_deref().unwrap_or_default();
        let action = Action::Connect {
            connection,
            transport: self.transport(),
            address: joined(host, self.command.port),
            socket_options: self.socket_options(true),
            timeout_ns: CONNECT_NS,
        };
        self.act(action);
    }

    pub(super) fn open_again(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let pause_ns = if flow.starred { BACK_AGAIN_NS } else { AGAIN_NS };
        let waited = self.now_ns.saturating_sub(flow.since_ns) >= pause_ns;
        // The first try is under way; a later one begins here.
        let StreamState::Opening(tries) = flow.state else { return };
        if !is_refused(tries) || !waited {
            return;
        }
        flow.enter(StreamState::Opening(tries + 1), self.now_ns);
        let connection = flow.connection;
        let back = flow.starred.then(|| flow.ends.peer.clone());
        match back {
            Some(peer) => self.open_back(connection, peer),
            None => self.open(connection),
        }
    }

    /// Whether a way back waits to be tried again, so that the next look comes soon.
    pub(super) fn tries_back(&self) -> bool {
        let tries = |flow: &TestStream| {
            flow.starred && matches!(flow.state, StreamState::Opening(tries) if is_refused(tries))
        };
        self.flows.iter().any(tries)
    }

    pub(super) fn fail(&mut self, connection: Connection, errno: i32, what: &str) {
        let words = crate::strerror::reason(errno, what);
        if connection == PLACE {
            self.complain(format!("listener bind failed: {words}"));
            self.failed = true;
            return self.act(Action::End(1));
        }
        let Some(index) = self.position(connection) else { return };
        let retries = self.command.retries;
        let flow = &mut self.flows[index];
        match flow.state {
            StreamState::Opening(tries) if flow.starred && is_nobody(errno) && tries / 2 < BACK_RETRIES => {
                flow.enter(StreamState::Opening(tries + 1), self.now_ns);
            }
            StreamState::Opening(tries) if tries / 2 < retries && !flow.starred => {
                flow.enter(StreamState::Opening(tries + 1), self.now_ns);
                self.complain(format!("tcp connect failed: {words}"));
            }
            StreamState::Opening(_) => {
                self.complain(format!(
                    "{} connect failed: {words}",
                    if self.command.udp { "udp" } else { "tcp" }
                ));
                self.failed = true;
                self.flows[index].enter(StreamState::Done, self.now_ns);
                if !self.is_server() {
                    self.all_stand();
                }
                self.settle();
            }
            // A full buffer, or a port at which nobody listens: sent again later.
            StreamState::Closing if self.command.udp => {}
            // The peer closed while its last word was awaited, or sent what nobody reads.
            StreamState::Closing => {
                self.leave(index);
                self.settle();
            }
            StreamState::Header | StreamState::Standing => self.forget(index),
            StreamState::Paused => self.finish(index),
            StreamState::Running | StreamState::Done => {}
        }
    }

    pub(super) fn connected(&mut self, connection: Connection, ends: Ends) {
        let Some(index) = self.position(connection) else { return };
        self.flows[index].ends = ends;
        let opened = matches!(self.flows[index].state, StreamState::Opening(_)) && !self.is_server();
        self.flows[index].connect_ns =
            if opened { self.now_ns.saturating_sub(self.flows[index].since_ns).max(1) } else { 0 };
        self.flows[index].enter(StreamState::Standing, self.now_ns);
        if self.is_server() {
            return self.stands_back(index);
        }
        let first = self.flows.iter().filter(|flow| flow.state == StreamState::Standing).count() == 1;
        if self.flows[index].test.is_none() {
            self.print_connected(index);
            return self.begin_receiving(index);
        }
        if first {
            self.print_connecting(index);
        }
        self.print_connected(index);
        self.all_stand();
    }

    /// The heading of a client.
    pub(super) fn print_connecting(&mut self, index: usize) {
        let flow = &self.flows[index];
        let (host, port) = host_and_port(&flow.ends.peer);
        let name = self.command.host.clone().unwrap_or(host);
        let what = if self.command.udp { "UDP" } else { "TCP" };
        let mut text = format!("Client connecting to {name}, {what} port {port}");
        if self.view.enhanced {
            text += &format!(" ({} flows)", self.command.streams.max(1));
        }
        text.push('\n');
        if self.view.enhanced && !self.command.udp {
            text += &self.written_blocks();
        }
        if let Some(frames) = self.command.frames {
            let mean = rate(frames.mean_bits(self.command.block()));
            let (deviation, period_ms) = (rate(frames.deviation_bits), 1e3 / frames.per_second);
            text += &format!(
                "Isochronous: {:.2} frames/sec mean={mean}/s, stddev={deviation}/s, Period/IPG={period_ms:.2}/0.000 ms\n",
                frames.per_second
            );
        }
        if self.view.enhanced && self.command.bounces.is_some() {
            text += &format!("TOS set to 0x{:x} and nodelay (Nagle off)\n", self.command.tos);
        } else if self.view.enhanced {
            let nagle = if self.command.nodelay { "off" } else { "on" };
            text += &format!("TOS set to 0x{:x} (Nagle {nagle})\n", self.command.tos);
        }
        if let Some(mss) = self.command.mss.filter(|_| !self.command.udp) {
            text += &format!("MSS req size {mss} bytes (per TCP_MAXSEG)\n");
        }
        if self.command.udp && self.command.frames.is_none() {
            let block = self.block_of(index);
            let gap = self.bits_of(index).map(|bits| block as f64 * 8e6 / bits).unwrap_or(0.0);
            text += &format!("Sending {block} byte datagrams, IPG target: {gap:.2} us (kalman adjust)\n");
        }
        text += &self.view.window(flow.ends.socket.send_buffer_bytes, self.command.window_bytes);
        self.rule(&text);
        self.headings.clear();
    }

    /// What a client writes, and when.
    fn written_blocks(&self) -> String {
        let Some(bounce) = self.command.bounce() else {
            return format!("Write buffer size: {} Byte\n", self.command.block());
        };
        let bytes = format!("{:>4}", bounce.bytes);
        let mut text = format!("Write buffer size: {bytes} Byte\n");
        if let Some((burst, period_ns)) = self.command.burst_of_bounces() {
            let period_s = period_ns as f64 / 1e9;
            text += &format!("Bursting: {bytes} Byte writes {burst} times every {period_s:.2} second(s)\n");
        }
        let quick = if bounce.quick { " & tcp_quickack" } else { "" };
        let hold_us = bounce.hold_us;
        text + &format!("Bounce-back test (size={bytes} Byte) (server hold req={hold_us} usecs{quick})\n")
    }

    /// Starts a client's streams when all of them stand or have failed.
    fn all_stand(&mut self) {
        let ours = |flow: &TestStream| flow.test.is_some();
        if self
            .flows
            .iter()
            .filter(|flow| ours(flow))
            .any(|flow| matches!(flow.state, StreamState::Opening(_)))
        {
            return;
        }
        let ready = |flow: &TestStream| ours(flow) && flow.state == StreamState::Standing;
        let mut all: Vec<usize> = (0..self.flows.len()).filter(|index| ready(&self.flows[*index])).collect();
        if all.is_empty() {
            return;
        }
        for index in all.clone() {
            self.send_header(index);
            all.extend(self.other_way(index));
        }
        self.run(&all);
    }

    /// The stream that goes the other way over a connection of both, if it is one.
    pub(super) fn other_way(&mut self, index: usize) -> Option<usize> {
        let now_ns = self.now_ns;
        let flow = &mut self.flows[index];
        if !flow.is_duplex() {
            return None;
        }
        // Both are the sum of their own, and of no others.
        flow.group = format!("{}{BOTH_WAYS}{}", flow.group, flow.id);
        let mut other = TestStream::new(flow.id, flow.connection, !flow.sends, StreamState::Standing, now_ns);
        (other.starred, other.test, other.amount) = (true, flow.test, flow.amount);
        (other.group, other.ends) = (flow.group.clone(), flow.ends.clone());
        self.flows.push(other);
        Some(self.flows.len() - 1)
    }

    /// The header of the test for the server.
    fn test(&self) -> TestHeader {
        let rate = match self.command.rate {
            Some(Rate::Writes(_)) | None if !self.command.udp => 0.0,
            _ => self.command.bits().unwrap_or(0.0),
        };
        TestHeader {
            streams: self.command.streams.max(1),
            port: if self.command.dual || self.command.trade { self.back_port() } else { self.command.port },
            block_bytes: self.command.block_bytes.unwrap_or(0) as u32,
            amount: self.command.until(),
            back: match (self.command.dual, self.command.trade) {
                (true, _) => Some(Back::Now),
                (_, true) => Some(Back::Later),
                _ => None,
            },
            reverse: self.command.reverse,
            full_duplex: self.command.full_duplex,
            trip_times: self.command.trip_times,
            period_us: self.command.frames.map(|frames| frames.period_us()),
            quick: false,
            rate_bits: rate.min(f64::from(u32::MAX)) as u32,
            extended: !self.command.compatible,
            version: None,
        }
    }

    /// A header over TCP; over UDP only where nothing else of ours would come.
    fn send_header(&mut self, index: usize) {
        let (udp, now_ns) = (self.command.udp, self.now_ns);
        let flow = &mut self.flows[index];
        flow.begun_ns = now_ns;
        let (connection, Some(test), None) = (flow.connection, flow.test, flow.bounce) else { return };
        if udp {
            if test.reverse {
                let mut bytes = header::udp(&test, 1, self.unix_ns);
                bytes.resize((self.command.block() as usize).max(bytes.len()), b'0');
                self.act(Action::Send(connection, bytes));
            }
            return;
        }
        let mut bytes = header::tcp(&test, self.unix_ns);
        if !test.extended {
            // Old servers know six words, and only where they are to send back.
            bytes.truncate(if test.back.is_some() { 24 } else { 0 });
            if let Some(first) = bytes.first_mut() {
                *first &= 0x80;
                bytes[1..3].fill(0);
                bytes[3] &= 1;
            }
        }
        flow.before.bytes = bytes.len() as u64;
        self.act(Action::Send(connection, bytes));
    }

    /// A stream's first bytes as datagrams carry them; `number` negated: of the last one.
    pub(super) fn first_datagram(&self, index: usize, number: i64) -> Vec<u8> {
        let flow = &self.flows[index];
        match flow.test.filter(|test| test.extended) {
            Some(test) if !self.is_server() => header::udp(&test, number, self.unix_ns),
            Some(test) if test.trip_times => header::udp_back(&test, number, self.unix_ns),
            _ => header::numbered(number, self.unix_ns),
        }
    }

    /// Bytes of a stream's write: a server's are those that the client asks for.
    pub(super) fn block_of(&self, index: usize) -> u64 {
        let test = self.flows[index].test;
        if test.is_some_and(|test| test.quick) && !self.is_server() {
            return LOAD_BYTES;
        }
        let wished = test.filter(|_| self.is_server()).map(|test| u64::from(test.block_bytes));
        let least = if self.command.udp { 16 } else { 1 };
        let most = if self.command.udp { 65_507 } else { 16 << 20 };
        wished.filter(|bytes| *bytes > 0).unwrap_or(self.command.block()).clamp(least, most)
    }

    /// A stream's rate in bit/s: a server's is the one that the client asks for.
    pub(super) fn bits_of(&self, index: usize) -> Option<f64> {
        let wished = self.flows[index].test.filter(|_| self.is_server()).map(|test| test.rate_bits);
        match wished {
            None => self.command.bits(),
            Some(0) => self.command.udp.then_some(1_048_576.0),
            Some(bits) => Some(f64::from(bits)),
        }
    }

    /// Starts one run of some streams.
    pub(super) fn run(&mut self, flows: &[usize]) {
        let run = self.next_run;
        self.next_run += 1;
        let mut loads = Vec::new();
        for (job, index) in flows.iter().enumerate() {
            let content = self.content_of(*index);
            let (block, bits) = (self.block_of(*index), self.bits_of(*index));
            let (udp, file) = (self.command.udp, self.content.is_some());
            let granted_bytes = self.granted(*index, block);
            let bursts = self.command.burst_of_bounces();
            let server = self.is_server();
            let frames = self.command.frames;
            let counts_bins = self.command.bins.is_some();
            let bin_bytes = if self.view.enhanced && !udp { self.bin_bytes() } else { 0 };
            let flow = &mut self.flows[*index];
            flow.enter(StreamState::Running, self.now_ns);
            flow.run = Some((run, job));
            let sent = flow.before.bytes;
            let amount = match flow.amount {
                Amount::Bytes(bytes) => Amount::Bytes(bytes.saturating_sub(sent).max(1)),
                Amount::Time(ns) if granted_bytes.is_some() => Amount::Time(ns.min(TIME_MOST_NS)),
                time => time,
            };
            let most_bytes = content.as_ref().filter(|_| file).map(|content| content.len() as u64);
            loads.push(Load {
                name: lower::name(flow.id),
                connection: flow.connection,
                udp,
                sends: flow.sends,
                block_bytes: block,
                bits,
                amount,
                most_bytes,
                granted_bytes,
                content,
                shuts: flow.is_duplex() && flow.sends,
                exchange: flow.bounce.map(|bounce| match server {
                    true => lower::Exchange::Echoes(bounce),
                    false => lower::Exchange::Asks(bounce, bursts),
                }),
                bin_bytes: if flow.sends { 0 } else { bin_bytes },
                frames: frames.filter(|_| flow.sends && !server),
                bursts: flow.has_bursts(udp),
                spread: udp && !flow.sends && counts_bins && flow.test.is_some_and(|test| test.trip_times),
            });
        }
        let plan = lower::plan(&loads);
        self.act(Action::Run { run, plan: Box::new(plan), interim_ns: self.interim_ns() });
    }

    /// What a server may send of datagrams to somebody whose address proves nothing, bytes; none: whatever was asked for.
    fn granted(&mut self, index: usize, block: u64) -> Option<u64> {
        let flow = &self.flows[index];
        let host = host_and_port(&flow.ends.peer).0;
        if !self.is_server() || !self.command.udp || !flow.sends || self.quota.knows(&host) {
            return None;
        }
        let seconds = match flow.amount {
            Amount::Time(ns) => ns.min(TIME_MOST_NS) as f64 / 1e9,
            Amount::Bytes(_) => TIME_MOST_NS as f64 / 1e9,
        };
        let at_rate = self.bits_of(index).map_or(u64::MAX, |bits| (bits / 8.0 * seconds) as u64 + block);
        let wished = match flow.amount {
            Amount::Bytes(bytes) => bytes.min(at_rate),
            Amount::Time(_) => at_rate,
        };
        let longer = matches!(flow.amount, Amount::Time(ns) if ns > TIME_MOST_NS);
        let granted = self.quota.grant(&host, wished, self.now_ns);
        if (granted < wished || longer) && self.quota.is_news(&host, self.now_ns) {
            self.complain(format!(
                "iperf: {host} asks for more datagrams than go to an address that proved nothing: {} in a minute\n hint: if \
                 it is yours, start the server with --also peers={host}, or a range like 10.0.0.0/8",
                number::size(BYTES_MOST)
            ));
        }
        Some(granted)
    }

    /// Bytes of a bin in which reads are counted: an eighth of a block.
    pub(super) fn bin_bytes(&self) -> u64 {
        (self.command.block() / 8).max(1)
    }

    /// The bin of a read.
    pub(super) fn bin_of(&self, bytes: usize) -> usize {
        (bytes.saturating_sub(1) as u64 / self.bin_bytes()).min(7) as usize
    }

    /// How often a run is to tell; of datagrams and at a server always, so that a silent peer is noticed.
    pub(super) fn interim_ns(&self) -> u64 {
        match self.command.interval_ns {
            0 if self.command.udp || self.is_server() => 1_000_000_000,
            ns => ns,
        }
    }

    /// What a stream sends: digits, a file, or datagrams with the test's header.
    fn content_of(&self, index: usize) -> Option<Vec<u8>> {
        if !self.flows[index].sends {
            return None;
        }
        if let Some(bounce) = self.flows[index].bounce {
            return Some(bounce.message(self.unix_ns));
        }
        let test = self.flows[index].test.filter(|_| self.flows[index].has_bursts(self.command.udp));
        if let Some(test) = test.filter(|_| !self.command.udp) {
            let mut bytes = header::burst(&test);
            let frame = self.command.frames.filter(|_| !self.is_server());
            let most = frame.and_then(|frames| frames.sizes(0, false).most_bytes());
            let block = most.unwrap_or(self.block_of(index)) as usize;
            bytes.extend((bytes.len()..block).map(|at| b'0' + (at % 10) as u8));
            return Some(bytes);
        }
        if !self.command.udp {
            return self.content.clone();
        }
        let mut bytes = self.first_datagram(index, 1);
        let block = self.block_of(index) as usize;
        bytes.truncate(block);
        bytes.extend((bytes.len()..block).map(|at| b'0' + (at % 10) as u8));
        Some(bytes)
    }
}

/// A rate as the heading of frames writes it.
fn rate(bits: f64) -> String {
    match bits {
        0.0 => "0.000 bit".into(),
        bits => number::printed(bits / 8.0, 'a').trim_end_matches('s').into(),
    }
}

/// Whether this state of being opened is a refusal that waits for its next try: tries and refusals take turns.
fn is_refused(tries: u32) -> bool {
    tries % 2 == 1
}

/// Whether nobody listened: a peer that does not answer at all takes its time, and gets no second one.
fn is_nobody(errno: i32) -> bool {
    std::io::Error::from_raw_os_error(errno).kind() == std::io::ErrorKind::ConnectionRefused
}
