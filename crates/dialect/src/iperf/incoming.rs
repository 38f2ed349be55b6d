//! What is opened by peers: connections with a header in front of their data, datagrams of somebody new, and the end of
//! both. What a peer says is bounded before it is believed.

use iodyno_model::conversation::{Action, Connection, Ends};

use super::bounceback;
use super::flow::{StreamState, TestStream};
use super::handshake::CONNECT_NS;
use super::header::{self, Amount, Back, First, TestHeader};
use super::lower;
use super::quota::CONNECTIONS_MOST;
use super::report::text::{ReportFormat, RowKind};
use super::session::{IperfConversation, PLACE};
use crate::address::{host_and_port, joined};

/// Connections served at a time.
pub(super) const MOST_FLOWS: usize = 1024;
/// Bytes that may come before what they are is known.
const MOST_HEAD: usize = 128 << 10;

impl IperfConversation {
    pub(super) fn accept(&mut self, connection: Connection, ends: Ends) {
        let host = host_and_port(&ends.peer).0;
        if self.ending || !self.has_room(&host) {
            return self.act(Action::Close(connection));
        }
        let mut flow = TestStream::new(self.next_id, connection, false, StreamState::Header, self.now_ns);
        self.next_id += 1;
        flow.group = host_and_port(&ends.peer).0;
        flow.ends = ends;
        self.flows.push(flow);
        // What follows the header is left to the run, which counts it in its own time.
        if self.is_server() {
            self.act(Action::Read { connection, most: Some(header::TEST_BYTES) });
        }
        // The way back carries no header.
        if !self.is_server() {
            self.owed = self.owed.saturating_sub(1);
            let index = self.flows.len() - 1;
            self.print_connected(index);
            self.begin_receiving(index);
        }
    }

    /// Whether there is a place for a connection of a host; somebody who says nothing may give way to it.
    fn has_room(&mut self, host: &str) -> bool {
        let full = self.open_flows() >= MOST_FLOWS;
        let enough = self.is_server() && self.has_enough(host);
        if !full && !enough || self.is_server() && self.give_way(enough.then_some(host)) {
            return true;
        }
        if enough && self.quota.is_news(host, self.now_ns) {
            let known = self.quota.knows(host);
            let most = self.most_of(host);
            let hint = if known { "" } else { &format!("\n hint: --also peers={host} lets it have more") };
            self.complain(format!(
                "iperf: {host} is turned away: {most} connections of one address at a time{hint}"
            ));
        }
        false
    }

    /// How many streams a host may have under way: who is known leaves room for one other.
    fn most_of(&self, host: &str) -> usize {
        if self.quota.knows(host) { MOST_FLOWS - CONNECTIONS_MOST } else { CONNECTIONS_MOST }
    }

    /// Whether a host has as many streams under way as one may have.
    fn has_enough(&self, host: &str) -> bool {
        let its =
            |flow: &&TestStream| flow.state != StreamState::Done && host_and_port(&flow.ends.peer).0 == host;
        self.flows.iter().filter(its).count() >= self.most_of(host)
    }

    pub(super) fn read(&mut self, connection: Connection, bytes: &[u8]) {
        let Some(index) = self.position(connection) else { return };
        let udp = self.command.udp;
        let flow = &mut self.flows[index];
        match flow.state {
            StreamState::Header if flow.bounce.is_some() => {
                flow.head.extend_from_slice(bytes);
                self.hold_first(index);
            }
            StreamState::Header => {
                flow.head.extend_from_slice(bytes);
                self.decide(index);
            }
            StreamState::Paused => self.resume(index, bytes.len()),
            StreamState::Standing if udp && !flow.sends => {
                let number = header::number(bytes).unwrap_or(0);
                flow.count_datagram(number, bytes.len());
            }
            StreamState::Closing if udp && flow.sends => self.take_report(index, bytes),
            StreamState::Closing if udp => self.answer_final(index),
            _ => {}
        }
    }

    /// What came first is a header, data, or not enough to tell.
    fn decide(&mut self, index: usize) {
        let bin = self.bin_of(self.flows[index].head.len());
        let flow = &mut self.flows[index];
        let test = match header::first(&flow.head) {
            First::More if flow.head.len() < MOST_HEAD => {
                let (connection, most) = (flow.connection, header::most_of_head(flow.head.len()));
                return self.act(Action::Read { connection, most });
            }
            First::More | First::Data => None,
            First::Test(test) => Some(test),
            First::Bounce(bounce) => {
                flow.bounce = Some(bounce);
                return self.hold_first(index);
            }
        };
        flow.test = test;
        flow.before.reads[bin] = 1;
        flow.before.bytes = flow.head.len() as u64;
        flow.before.calls = 1;
        flow.head = Vec::new();
        let reverse = test.is_some_and(|test| test.reverse);
        let duplex = flow.is_duplex();
        if test.is_some_and(|test| test.extended) && !reverse && !duplex {
            let connection = flow.connection;
            self.act(Action::Send(connection, header::acknowledged()));
        }
        self.print_connected(index);
        if reverse {
            self.begin_sending(index)
        } else if duplex {
            let flow = &mut self.flows[index];
            (flow.begun_ns, flow.amount) = (self.now_ns, bounded(test));
            let both: Vec<usize> = [index].into_iter().chain(self.other_way(index)).collect();
            self.run(&both);
        } else if self.flows[index].has_bursts(false) {
            // What follows is cut into bursts, of which the run is to see the first.
            self.begin_receiving(index);
        } else {
            // A connection that says no more than this is to cost no thread.
            self.flows[index].begun_ns = self.now_ns;
            self.await_data(index);
        }
        if let Some(test) = test.filter(|test| test.back == Some(Back::Now)) {
            self.connect_back(index, test);
        }
    }

    /// The first of the messages that come back, as far as it has come: it is held as long as the client wants.
    fn hold_first(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Some(bounce) = flow.bounce else { return };
        let (connection, left) = (flow.connection, (bounce.bytes as usize).saturating_sub(flow.head.len()));
        if left > 0 {
            return self.act(Action::Read { connection, most: Some(left) });
        }
        flow.came_unix_ns = self.unix_ns;
        flow.due_ns = Some(self.now_ns + u64::from(bounce.hold_us) * 1000);
        self.return_first(index);
    }

    /// Sends the first message back once it is time; the others are the run's.
    pub(super) fn return_first(&mut self, index: usize) {
        let (now_ns, unix_ns) = (self.now_ns, self.unix_ns);
        let flow = &mut self.flows[index];
        if flow.due_ns.is_none_or(|due_ns| now_ns < due_ns) {
            return;
        }
        let mut message = std::mem::take(&mut flow.head);
        bounceback::returned(&mut message, flow.came_unix_ns, unix_ns);
        (flow.before.bytes, flow.before.calls) = (2 * message.len() as u64, 1);
        flow.begun_ns = flow.since_ns;
        let connection = flow.connection;
        self.act(Action::Send(connection, message));
        self.print_connected(index);
        self.run(&[index]);
    }

    pub(super) fn begin_receiving(&mut self, index: usize) {
        self.flows[index].begun_ns = self.now_ns;
        self.run(&[index]);
    }

    /// What a client receives on its own connection goes on it, too.
    fn begin_sending(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.sends = true;
        flow.before = Default::default();
        flow.begun_ns = self.now_ns;
        flow.amount = bounded(flow.test);
        if flow.test.is_some_and(|test| test.period_us.is_some()) {
            let label = flow.label();
            self.complain(format!(
                "[{label:>3}] WARNING: frames are asked for with -R: even traffic is sent"
            ));
        }
        self.run(&[index]);
    }

    /// Opens the way back to a client that wants it.
    fn connect_back(&mut self, index: usize, test: TestHeader) {
        let (id, connection) = (self.next_id, self.connection());
        self.next_id += 1;
        let mut flow = TestStream::new(id, connection, true, StreamState::Opening(0), self.now_ns);
        flow.group = host_and_port(&self.flows[index].ends.peer).0;
        flow.starred = true;
        flow.test = Some(TestHeader { back: None, reverse: false, ..test });
        flow.amount = bounded(Some(test));
        flow.ends.peer = joined(&flow.group, test.port);
        let peer = flow.ends.peer.clone();
        self.flows.push(flow);
        self.open_back(connection, peer);
    }

    /// Asks for a connection to a client's own port.
    pub(super) fn open_back(&mut self, connection: Connection, peer: String) {
        self.act(Action::Connect {
            connection,
            transport: if self.command.udp { "udp" } else { "tcp" }.into(),
            address: peer,
            socket_options: Vec::new(),
            timeout_ns: CONNECT_NS,
        });
    }

    /// The way back that is asked for afterwards.
    pub(super) fn give_back(&mut self, index: usize) {
        let later = self.flows[index].test.filter(|test| test.back == Some(Back::Later));
        if let Some(test) = later.filter(|_| self.is_server() && !self.ending) {
            self.connect_back(index, test);
            // It is a test of its own: there is no sum of what did not run together.
            if let Some(flow) = self.flows.last_mut() {
                flow.group += " back";
            }
        }
    }

    /// A server's connection stands: the way back, or a socket of their own for somebody's datagrams.
    pub(super) fn stands_back(&mut self, index: usize) {
        if self.flows[index].starred {
            self.print_connecting(index);
            self.print_connected(index);
            self.flows[index].begun_ns = self.now_ns;
            return self.run(&[index]);
        }
        self.print_connected(index);
        let flow = &self.flows[index];
        match flow.test {
            Some(test) if test.reverse => self.begin_sending(index),
            test => {
                let begun_ns = flow.begun_ns;
                self.flows[index].amount = bounded(test);
                let both: Vec<usize> = [index].into_iter().chain(self.other_way(index)).collect();
                self.run(&both);
                self.flows[index].begun_ns = begun_ns;
                if let Some(test) = test.filter(|test| test.back == Some(Back::Now)) {
                    self.connect_back(index, test);
                }
            }
        }
    }

    pub(super) fn datagram(&mut self, from: &str, bytes: &[u8]) {
        let Some(number) = header::number(bytes).filter(|number| *number != 0) else { return };
        if let Some(index) = self.senders.get(from).and_then(|connection| self.position(*connection)) {
            let flow = &mut self.flows[index];
            if !flow.sends {
                flow.count_datagram(number, bytes.len());
            }
            // The end came before its own socket stood, or again after it.
            if number < 0 && flow.state == StreamState::Closing {
                self.answer_final(index);
            }
            return;
        }
        // An end without a beginning is of a test that was reported already.
        let enough = self.is_server() && self.has_enough(&host_and_port(from).0);
        if number < 0 || enough || self.open_flows() >= MOST_FLOWS || self.ending {
            return;
        }
        let (id, connection) = (self.next_id, self.connection());
        self.next_id += 1;
        let mut flow = TestStream::new(id, connection, false, StreamState::Opening(0), self.now_ns);
        flow.group = host_and_port(from).0;
        flow.ends.peer = from.to_string();
        if let First::Test(test) = header::first(&bytes[header::DATAGRAM_BYTES..]) {
            flow.test = Some(test).filter(|_| self.is_server());
        }
        if !flow.test.is_some_and(|test| test.reverse) {
            flow.count_datagram(number, bytes.len());
        }
        self.owed = self.owed.saturating_sub(1);
        self.flows.push(flow);
        self.senders.insert(from.to_string(), connection);
        self.act(Action::Answer { at: PLACE, connection, to: from.to_string() });
    }

    fn take_report(&mut self, index: usize, bytes: &[u8]) {
        let Some(report) = header::reported(bytes) else { return };
        let flow = &mut self.flows[index];
        let (label, connection) = (flow.label(), flow.connection);
        flow.enter(StreamState::Done, self.now_ns);
        let facts = [
            ("datagrams", report.datagrams.saturating_sub(report.lost)),
            ("lost", report.lost),
            ("overflow", report.overflow),
        ];
        let facts = facts.map(|(name, count)| (name.to_string(), count)).to_vec();
        self.act(Action::Peer(lower::name(self.flows[index].id), facts));
        if !self.view.csv && !self.command.excluded.contains('V') {
            // As the original: whose clocks agree wants to read times.
            let enhanced = self.view.enhanced || self.command.trip_times;
            let view = ReportFormat { enhanced, ..self.view.clone() };
            let heading = self.head(view.columns(false, RowKind::Usual));
            let text = view.reported(&label, heading, &report);
            self.act(Action::Print(text));
        }
        self.act(Action::Close(connection));
        self.settle();
    }
}

/// Until when a peer may let us send.
fn bounded(test: Option<TestHeader>) -> Amount {
    test.map(|test| test.amount).filter(|amount| *amount != Amount::Bytes(0)).unwrap_or_default()
}
