//! The relay as a state machine: whoever comes gets a connection of their own to the other side, and a path each way.
//!
//! What it may hold is bounded: so many flows, and of a stream so many bytes; then its sender waits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use iodyno_model::conversation::{Action, Connection, Conversation, Ends, Happening, Input};
use iodyno_model::units;

use super::path::{Fate, Fates, Impairment, Path};

/// The places, by transport.
const TCP: Connection = 1;
const UDP: Connection = 2;
/// The first number of a connection of ours.
const FIRST: Connection = 16;
/// Flows at a time.
const MOST_FLOWS: usize = 1024;
/// Bytes of a stream that wait before its sender does, and from which on it goes on.
const FULL_BYTES: usize = 4 << 20;
const EMPTY_BYTES: usize = 1 << 20;
/// A flow of datagrams is forgotten after so long without any, ns.
const IDLE_NS: u64 = 60_000_000_000;
const CONNECT_NS: u64 = 10_000_000_000;

/// What is wanted of a relay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelaySettings {
    pub listen: String,
    /// Whom it connects to.
    pub to: String,
    /// Streams.
    pub tcp: bool,
    /// Datagrams.
    pub udp: bool,
    /// What happens on the way, in each direction.
    pub impairment: Impairment,
    /// For how long it works, ns; 0: until it is interrupted.
    pub time_ns: u64,
}

/// One who came, and the connection made for them.
struct RelayFlow {
    /// Theirs and ours.
    ends: [Connection; 2],
    stands: [bool; 2],
    datagrams: bool,
    /// Towards the server, and back.
    paths: [Path; 2],
    /// When the last bytes of a direction arrive, ns: later ones do not overtake them.
    last_ns: [u64; 2],
    /// Bytes that are on their way.
    held: [usize; 2],
    waits: [bool; 2],
    /// The peer that a direction leads to takes less than comes.
    slow: [bool; 2],
    /// Came before the other side stood.
    early: Vec<(usize, Vec<u8>)>,
    busy_ns: u64,
    finished: [bool; 2],
}

/// What arrives when: the time, the order in which it came, the flow, the direction; nothing: the end of a stream.
type Due = Reverse<(u64, u64, u64, usize)>;

/// A relay at work.
#[derive(Default)]
pub struct Relay {
    settings: RelaySettings,
    flows: HashMap<u64, RelayFlow>,
    by_connection: HashMap<Connection, (u64, usize)>,
    by_sender: HashMap<String, u64>,
    due: BinaryHeap<Due>,
    content: HashMap<u64, Option<Vec<u8>>>,
    next_flow: u64,
    next_packet: u64,
    next_connection: Connection,
    standing: usize,
    /// What became of what forgotten flows carried, by transport and direction.
    totals: [[Fates; 2]; 2],
    now_ns: u64,
    wake_ns: u64,
    out: Vec<Action>,
}

impl Relay {
    /// A relay that has not begun.
    pub fn new(settings: RelaySettings) -> Self {
        Relay { settings, next_connection: FIRST, wake_ns: u64::MAX, ..Relay::default() }
    }

    fn begin(&mut self) {
        for (place, transport, settings) in [(TCP, "tcp", self.settings.tcp), (UDP, "udp", self.settings.udp)]
        {
            if settings {
                let address = self.settings.listen.clone();
                self.out.push(Action::Listen {
                    place,
                    transport: transport.into(),
                    address,
                    socket_options: socket_options(transport == "udp"),
                });
            }
        }
    }

    fn listening(&mut self, place: Connection, ends: &Ends) {
        self.standing += 1;
        let transport = if place == TCP { "tcp" } else { "udp" };
        let path = described(&self.settings.impairment);
        self.out.push(Action::Print(format!(
            "relay: {transport} {} to {}: {path}\n",
            ends.local, self.settings.to
        )));
    }

    /// A flow for somebody new; the connection towards the server is under way.
    fn open(&mut self, theirs: Connection, datagrams: bool) -> u64 {
        let number = self.next_flow;
        self.next_flow += 1;
        let ours = self.connection();
        let path = |way: u64| Path::new(self.settings.impairment, number << 1 | way);
        let flow = RelayFlow {
            ends: [theirs, ours],
            stands: [!datagrams, false],
            datagrams,
            paths: [path(0), path(1)],
            last_ns: [0; 2],
            held: [0; 2],
            waits: [false; 2],
            slow: [false; 2],
            early: Vec::new(),
            busy_ns: self.now_ns,
            finished: [false; 2],
        };
        self.flows.insert(number, flow);
        self.by_connection.insert(theirs, (number, 0));
        self.by_connection.insert(ours, (number, 1));
        self.out.push(Action::Connect {
            connection: ours,
            transport: if datagrams { "udp" } else { "tcp" }.into(),
            address: self.settings.to.clone(),
            socket_options: socket_options(datagrams),
            timeout_ns: CONNECT_NS,
        });
        number
    }

    fn connection(&mut self) -> Connection {
        self.next_connection += 1;
        self.next_connection
    }

    fn datagram(&mut self, from: String, bytes: Vec<u8>) {
        let number = match self.by_sender.get(&from) {
            Some(number) => *number,
            None if self.flows.len() >= MOST_FLOWS => return,
            None => {
                let theirs = self.connection();
                self.out.push(Action::Answer { at: UDP, connection: theirs, to: from.clone() });
                let number = self.open(theirs, true);
                self.by_sender.insert(from, number);
                number
            }
        };
        self.came(number, 0, bytes);
    }

    /// Bytes that came from one end of a flow: `way` 0 is towards the server.
    fn came(&mut self, number: u64, way: usize, bytes: Vec<u8>) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.busy_ns = self.now_ns;
        if !flow.stands[1 - way] {
            // A peer who sends much before the other side stands is not served better for it.
            if flow.early.len() < 64 {
                flow.early.push((way, bytes));
            }
            return;
        }
        if flow.datagrams {
            match flow.paths[way].datagram(self.now_ns, bytes.len()) {
                Fate::Never => {}
                Fate::Once(at) => self.hold(number, way, at, Some(bytes)),
                Fate::Twice(one, two) => {
                    self.hold(number, way, one, Some(bytes.clone()));
                    self.hold(number, way, two, Some(bytes));
                }
            }
            return;
        }
        let at = flow.paths[way].bytes(self.now_ns, bytes.len()).max(flow.last_ns[way]);
        flow.last_ns[way] = at;
        flow.held[way] += bytes.len();
        if flow.held[way] > FULL_BYTES && !flow.waits[way] {
            flow.waits[way] = true;
            self.out.push(Action::Read { connection: flow.ends[way], most: Some(0) });
        }
        self.hold(number, way, at, Some(bytes));
    }

    fn hold(&mut self, flow: u64, way: usize, at_ns: u64, bytes: Option<Vec<u8>>) {
        let packet = self.next_packet;
        self.next_packet += 1;
        self.due.push(Reverse((at_ns, packet, flow, way)));
        self.content.insert(packet, bytes);
    }

    /// Everything whose time has come.
    fn deliver(&mut self) {
        while let Some(Reverse((at_ns, packet, number, way))) = self.due.peek().copied() {
            if at_ns > self.now_ns {
                break;
            }
            self.due.pop();
            let Some(bytes) = self.content.remove(&packet) else { continue };
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let to = flow.ends[1 - way];
            let Some(bytes) = bytes else {
                self.out.push(Action::Shut(to));
                flow.finished[way] = true;
                if flow.finished == [true; 2] {
                    self.forget(number);
                }
                continue;
            };
            if !flow.datagrams {
                flow.held[way] -= bytes.len();
                if flow.waits[way] && flow.held[way] < EMPTY_BYTES && !flow.slow[way] {
                    flow.waits[way] = false;
                    self.out.push(Action::Read { connection: flow.ends[way], most: None });
                }
            }
            self.out.push(Action::Send(to, bytes));
        }
    }

    fn ready(&mut self, connection: Connection) {
        let Some((number, end)) = self.by_connection.get(&connection).copied() else { return };
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.stands[end] = true;
        let (now, later) = std::mem::take(&mut flow.early).into_iter().partition(|(way, _)| 1 - way == end);
        flow.early = later;
        let now: Vec<(usize, Vec<u8>)> = now;
        for (way, bytes) in now {
            if bytes.is_empty() { self.finish(number, way) } else { self.came(number, way, bytes) }
        }
    }

    fn failed(&mut self, connection: Connection, words: &str) {
        if connection == TCP || connection == UDP {
            self.out.push(Action::Complain(format!("relay: cannot listen: {words}\n")));
            return self.out.push(Action::End(1));
        }
        let Some((number, end)) = self.by_connection.get(&connection).copied() else { return };
        let Some(flow) = self.flows.get(&number) else { return };
        // A datagram that the system does not take is lost, as on any path.
        if flow.datagrams && flow.stands[end] {
            return;
        }
        if !flow.stands[end] {
            self.out.push(Action::Complain(format!("relay: {}: {words}\n", self.settings.to)));
        }
        self.forget(number);
    }

    /// The peer at a connection takes less than comes for it, or has caught up: the other one waits meanwhile.
    fn slow(&mut self, connection: Connection, slow: bool) {
        let Some((number, end)) = self.by_connection.get(&connection).copied() else { return };
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let way = 1 - end;
        flow.slow[way] = slow;
        let waits = slow || flow.held[way] > EMPTY_BYTES;
        if waits != flow.waits[way] {
            flow.waits[way] = waits;
            let most = waits.then_some(0);
            self.out.push(Action::Read { connection: flow.ends[way], most });
        }
    }

    fn closed(&mut self, connection: Connection) {
        let Some((number, way)) = self.by_connection.get(&connection).copied() else { return };
        self.finish(number, way);
    }

    /// The end of a stream takes its way behind its bytes.
    fn finish(&mut self, number: u64, way: usize) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        if flow.datagrams {
            return;
        }
        if !flow.stands[1 - way] {
            return flow.early.push((way, Vec::new()));
        }
        let delay_ns = self.settings.impairment.delay_ns;
        let at = flow.last_ns[way].max(self.now_ns + delay_ns);
        self.hold(number, way, at, None);
    }

    fn forget(&mut self, number: u64) {
        let Some(flow) = self.flows.remove(&number) else { return };
        for (way, path) in flow.paths.iter().enumerate() {
            add(&mut self.totals[usize::from(flow.datagrams)][way], &path.fates);
            self.by_connection.remove(&flow.ends[way]);
            self.out.push(Action::Close(flow.ends[way]));
        }
        self.by_sender.retain(|_, of| *of != number);
    }

    fn forget_idle(&mut self) {
        let idle = |flow: &RelayFlow| flow.datagrams && self.now_ns.saturating_sub(flow.busy_ns) > IDLE_NS;
        let idle: Vec<u64> =
            self.flows.iter().filter(|(_, flow)| idle(flow)).map(|(number, _)| *number).collect();
        idle.into_iter().for_each(|number| self.forget(number));
    }

    /// What became of everything.
    fn end(&mut self) {
        let all: Vec<u64> = self.flows.keys().copied().collect();
        all.into_iter().for_each(|number| self.forget(number));
        for (datagrams, transport) in ["tcp", "udp"].into_iter().enumerate() {
            for (way, direction) in ["to the server", "from the server"].into_iter().enumerate() {
                let fates = &self.totals[datagrams][way];
                if fates.came > 0 {
                    self.out.push(Action::Print(fated(transport, direction, fates)));
                }
            }
        }
        self.out.push(Action::End(0));
    }

    /// When something is to be done next, ns; none: nothing is.
    fn next_ns(&self) -> Option<u64> {
        let due = self.due.peek().map(|Reverse((at_ns, ..))| *at_ns);
        let end = Some(self.settings.time_ns).filter(|ns| *ns > 0);
        let idle = (!self.by_sender.is_empty()).then_some(self.now_ns + IDLE_NS);
        [due, end, idle].into_iter().flatten().min()
    }

    fn handle(&mut self, input: Input) {
        match input {
            Input::Began => self.begin(),
            Input::Ready(place @ (TCP | UDP), ends) => self.listening(place, &ends),
            Input::Ready(connection, _) => self.ready(connection),
            Input::Failed(connection, _, words) => self.failed(connection, &words),
            Input::Accepted { connection, .. } if self.flows.len() >= MOST_FLOWS => {
                self.out.push(Action::Close(connection));
            }
            Input::Accepted { connection, .. } => {
                self.out.push(Action::Set(connection, vec![("nodelay".into(), "on".into())]));
                self.open(connection, false);
            }
            Input::Bytes(connection, bytes) => {
                if let Some((number, way)) = self.by_connection.get(&connection).copied() {
                    self.came(number, way, bytes);
                }
            }
            Input::Datagram { from, bytes, .. } => self.datagram(from, bytes),
            Input::Closed(connection) => self.closed(connection),
            Input::Slow(connection, slow) => self.slow(connection, slow),
            Input::Interrupted(_) => self.end(),
            Input::Tick => self.forget_idle(),
            Input::Told(..) | Input::Ended(..) => {}
        }
    }
}

impl Conversation for Relay {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        self.now_ns = happening.at_ns;
        let ticked = matches!(happening.input, Input::Tick);
        self.handle(happening.input);
        self.deliver();
        if self.settings.time_ns > 0 && self.now_ns >= self.settings.time_ns {
            self.end();
        }
        let next = self.next_ns();
        if let Some(at_ns) =
            next.filter(|at_ns| ticked || self.wake_ns <= self.now_ns || *at_ns < self.wake_ns)
        {
            self.wake_ns = at_ns;
            self.out.push(Action::Wake(at_ns));
        }
        std::mem::take(&mut self.out)
    }
}

/// Room for what comes while others have the processor; small pieces of a stream are not held back.
fn socket_options(datagrams: bool) -> Vec<(String, String)> {
    let (name, value) = if datagrams { ("receive_buffer_bytes", "4194304") } else { ("nodelay", "on") };
    vec![(name.into(), value.into())]
}

fn add(sum: &mut Fates, more: &Fates) {
    sum.came += more.came;
    sum.bytes += more.bytes;
    sum.lost += more.lost;
    sum.dropped += more.dropped;
    sum.doubled += more.doubled;
    sum.overtook += more.overtook;
}

fn fated(transport: &str, direction: &str, fates: &Fates) -> String {
    let came = format!("relay: {transport} {direction}: {} came", units::decimal(fates.bytes as f64));
    if transport == "tcp" {
        return came + "\n";
    }
    let Fates { came: packets, lost, dropped, doubled, overtook, .. } = fates;
    format!(
        "{came} in {packets} datagrams, {lost} lost, {dropped} dropped at the rate, {doubled} doubled, {overtook} overtook\n"
    )
}

/// A path in words.
fn described(impairment: &Impairment) -> String {
    let time = |ns: u64| units::duration(ns as f64);
    let mut parts = Vec::new();
    let mut part = |there: bool, text: String| parts.extend(there.then_some(text));
    part(impairment.delay_ns > 0, format!("delay {}", time(impairment.delay_ns)));
    part(impairment.jitter_ns > 0, format!("jitter {}", time(impairment.jitter_ns)));
    part(impairment.loss_percent > 0.0, format!("loss {} %", impairment.loss_percent));
    part(impairment.duplicate_percent > 0.0, format!("duplicates {} %", impairment.duplicate_percent));
    part(impairment.reorder_percent > 0.0, format!("overtaking {} %", impairment.reorder_percent));
    part(impairment.rate_bps > 0, format!("{}bit/s", units::count(impairment.rate_bps as f64 * 8.0)));
    part(true, format!("seed {}", impairment.seed));
    parts.join(", ") + " each way"
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn relay(impairment: Impairment) -> Relay {
        let to = "h:2".to_string();
        let mut relay = Relay::new(RelaySettings {
            listen: "h:1".into(),
            to,
            tcp: true,
            udp: true,
            impairment,
            time_ns: 0,
        });
        assert_eq!(step(&mut relay, 0, Input::Began).len(), 2);
        relay
    }

    fn step(relay: &mut Relay, at_ns: u64, input: Input) -> Vec<Action> {
        relay.step(Happening { at_ns, unix_ns: 0, input })
    }

    fn sent(actions: &[Action]) -> Vec<(Connection, Vec<u8>)> {
        let sent = |action: &Action| match action {
            Action::Send(connection, bytes) => Some((*connection, bytes.clone())),
            _ => None,
        };
        actions.iter().filter_map(sent).collect()
    }

    #[test]
    fn datagrams_go_and_come_with_a_delay() {
        let mut relay = relay(Impairment { delay_ns: 10 * MS, ..Impairment::default() });
        let actions =
            step(&mut relay, 0, Input::Datagram { at: UDP, from: "p:9".into(), bytes: b"one".to_vec() });
        let numbers: Vec<Connection> = actions
            .iter()
            .filter_map(|action| match action {
                Action::Answer { connection, .. } | Action::Connect { connection, .. } => Some(*connection),
                _ => None,
            })
            .collect();
        let [theirs, ours] = numbers[..] else { panic!("{actions:?}") };
        step(&mut relay, MS, Input::Ready(theirs, Ends::default()));
        let actions = step(&mut relay, MS, Input::Ready(ours, Ends::default()));
        assert!(
            actions.iter().any(|action| matches!(action, Action::Wake(at) if *at == 11 * MS)),
            "{actions:?}"
        );
        assert_eq!(sent(&step(&mut relay, 11 * MS, Input::Tick)), [(ours, b"one".to_vec())]);
        assert!(sent(&step(&mut relay, 12 * MS, Input::Bytes(ours, b"two".to_vec()))).is_empty());
        assert_eq!(sent(&step(&mut relay, 22 * MS, Input::Tick)), [(theirs, b"two".to_vec())]);
        let end = step(&mut relay, 30 * MS, Input::Interrupted(2));
        assert!(end.iter().any(|action| matches!(action, Action::End(0))));
        let text = format!("{end:?}");
        assert!(text.contains("udp to the server: 3 B came in 1 datagrams, 0 lost"), "{text}");
    }

    #[test]
    fn streams_keep_their_order_and_their_end() {
        let mut relay =
            relay(Impairment { delay_ns: 5 * MS, jitter_ns: 4 * MS, seed: 1, ..Impairment::default() });
        let theirs = 1 << 24;
        let actions =
            step(&mut relay, 0, Input::Accepted { at: TCP, connection: theirs, ends: Ends::default() });
        let ours = actions.iter().find_map(|action| match action {
            Action::Connect { connection, .. } => Some(*connection),
            _ => None,
        });
        let ours = ours.unwrap();
        // What comes before the server's side stands is not lost.
        step(&mut relay, 0, Input::Bytes(theirs, vec![0]));
        step(&mut relay, 0, Input::Ready(ours, Ends::default()));
        let mut got = Vec::new();
        for byte in 1..50 {
            let actions = step(&mut relay, u64::from(byte) * MS, Input::Bytes(theirs, vec![byte]));
            got.extend(sent(&actions).into_iter().flat_map(|(_, bytes)| bytes));
        }
        step(&mut relay, 50 * MS, Input::Closed(theirs));
        let actions = step(&mut relay, 100 * MS, Input::Tick);
        got.extend(sent(&actions).into_iter().flat_map(|(_, bytes)| bytes));
        assert_eq!(got, (0..50).collect::<Vec<u8>>());
        assert!(
            matches!(actions.iter().rev().find(|action| matches!(action, Action::Shut(_))), Some(Action::Shut(to)) if *to == ours)
        );
    }

    #[test]
    fn a_stream_that_fills_the_relay_waits() {
        let mut relay = relay(Impairment { delay_ns: 1000 * MS, ..Impairment::default() });
        let theirs = 1 << 24;
        let actions =
            step(&mut relay, 0, Input::Accepted { at: TCP, connection: theirs, ends: Ends::default() });
        let Some(Action::Connect { connection: ours, .. }) =
            actions.iter().find(|action| matches!(action, Action::Connect { .. }))
        else {
            panic!("no way on")
        };
        step(&mut relay, 0, Input::Ready(*ours, Ends::default()));
        let full = (0..100).any(|_| {
            let actions = step(&mut relay, 0, Input::Bytes(theirs, vec![0; 64 << 10]));
            actions.iter().any(|action| matches!(action, Action::Read { most: Some(0), .. }))
        });
        assert!(full);
        let actions = step(&mut relay, 1000 * MS, Input::Tick);
        assert!(actions.iter().any(|action| matches!(action, Action::Read { most: None, .. })));
    }

    #[test]
    fn floods_are_bounded() {
        let mut relay = relay(Impairment::default());
        for peer in 0..3000 {
            step(&mut relay, 0, Input::Datagram { at: UDP, from: format!("p:{peer}"), bytes: vec![0; 10] });
        }
        assert_eq!(relay.flows.len(), MOST_FLOWS);
        step(&mut relay, IDLE_NS + 1, Input::Tick);
        assert!(relay.flows.is_empty() && relay.by_connection.is_empty() && relay.by_sender.is_empty());
    }
}
