//! What conversations do with the sockets of a simulated network, and what arrives there.

use iodyno_model::conversation::{Action, Connection, Ends, Input, SocketFacts};

use super::sockets::{Address, Datagram, Happens, Parcel, Role, Socket, SocketId};
use super::wire::SEGMENT_BYTES;
use super::{Happens as Event, Network};

/// A connection that nobody answers is given up after this where nothing else is said, ns: what Linux takes.
const GIVE_UP_NS: u64 = 127_000_000_000;

impl Network {
    /// Does what concerns sockets; what came of it at once.
    pub fn act(&mut self, party: usize, action: Action) -> Vec<Input> {
        match action {
            Action::Listen { place, transport, address, .. } => {
                vec![self.listen(party, place, &transport, &address)]
            }
            Action::Connect { connection, transport, address, socket_options, timeout_ns } => self
                .connect(party, connection, &transport, &address, &socket_options, timeout_ns)
                .into_iter()
                .collect(),
            Action::Answer { at, connection, to } => vec![self.answer(party, at, connection, &to)],
            Action::Send(number, bytes) => {
                self.with(party, number, |network, id| network.send_bytes(id, bytes))
            }
            Action::Read { connection, most } => self.with(party, connection, |network, id| {
                network.sockets.get_mut(id).into_iter().for_each(|socket| socket.most = most);
                network.serve(id);
            }),
            Action::Shut(number) => self.with(party, number, Network::shut),
            Action::Close(number) => self.with(party, number, Network::close),
            _ => Vec::new(),
        }
    }

    fn with(
        &mut self,
        party: usize,
        number: Connection,
        act: impl FnOnce(&mut Network, SocketId),
    ) -> Vec<Input> {
        if let Some(id) = self.sockets.find(party, number) {
            act(self, id);
        }
        Vec::new()
    }

    fn listen(&mut self, party: usize, number: Connection, transport: &str, address: &str) -> Input {
        let role = if transport.starts_with("udp") { Role::Mailbox } else { Role::Place };
        let host = self.host_of(party);
        let port = match port_of(address) {
            0 => self.sockets.any_port(host),
            port => port,
        };
        let near = (host, port);
        if self.sockets.position(|socket| socket.near == near && socket.role == role).is_some() {
            return Input::Failed(number, libc::EADDRINUSE, "bind".into());
        }
        let id = self.sockets.add(party, number, role, near, None);
        Input::Ready(number, self.ends(id))
    }

    /// Hosts are numbered by their first party.
    fn host_of(&self, party: usize) -> usize {
        self.hosts.iter().position(|host| *host == self.hosts[party]).unwrap_or(party)
    }

    fn connect(
        &mut self,
        party: usize,
        number: Connection,
        transport: &str,
        address: &str,
        socket_options: &[(String, String)],
        timeout_ns: u64,
    ) -> Option<Input> {
        let Some(goal) = self.address(address) else {
            return Some(Input::Failed(number, libc::EHOSTUNREACH, "connect".into()));
        };
        let host = self.host_of(party);
        let wished = socket_options.iter().find(|(name, _)| name == "bind").map_or(0, |(_, at)| port_of(at));
        let port = if wished > 0 { wished } else { self.sockets.any_port(host) };
        let datagrams = transport.starts_with("udp");
        let role = if datagrams { Role::Datagrams } else { Role::Connecting };
        let id = self.sockets.add(party, number, role, (host, port), Some(goal));
        if datagrams {
            return Some(Input::Ready(number, self.ends(id)));
        }
        if let Some(at_ns) = self.wires.sign(self.now_ns) {
            self.later(at_ns, Event::Socket(Happens::Asks(id, goal)));
        }
        let timeout_ns = if timeout_ns > 0 { timeout_ns } else { GIVE_UP_NS };
        self.later(self.now_ns + timeout_ns, Event::Socket(Happens::GivenUp(id)));
        None
    }

    fn answer(&mut self, party: usize, at: Connection, number: Connection, to: &str) -> Input {
        let near = self.sockets.find(party, at).and_then(|id| self.sockets.get(id)).map(|place| place.near);
        let (Some(near), Some(far)) = (near, self.address(to)) else {
            return Input::Failed(number, 0, "no such place".into());
        };
        let id = self.sockets.add(party, number, Role::Datagrams, near, Some(far));
        Input::Ready(number, self.ends(id))
    }

    /// The address that a text means.
    fn address(&self, text: &str) -> Option<Address> {
        let host = text.rsplit_once(':')?.0;
        Some((self.hosts.iter().position(|known| known == host)?, port_of(text)))
    }

    fn text(&self, (host, port): Address) -> String {
        format!("{}:{port}", self.hosts[host])
    }

    fn ends(&self, id: SocketId) -> Ends {
        let Some(socket) = self.sockets.get(id) else { return Ends::default() };
        let local = match socket.far {
            Some(_) => self.text(socket.near),
            None => format!("0.0.0.0:{}", socket.near.1),
        };
        let peer = socket.far.map_or_else(String::new, |far| self.text(far));
        Ends { local, peer, socket: self.facts(socket) }
    }

    fn facts(&self, socket: &Socket) -> SocketFacts {
        let stream = matches!(socket.role, Role::Stream | Role::Connecting);
        let of_stream = |value: u64| if stream { value } else { 0 };
        SocketFacts {
            descriptor: socket.descriptor,
            send_buffer_bytes: if stream { 16_384 } else { 212_992 },
            receive_buffer_bytes: if stream { 131_072 } else { 212_992 },
            mss: of_stream(SEGMENT_BYTES),
            congestion: if stream { "cubic".into() } else { String::new() },
            cwnd_bytes: of_stream(10 * SEGMENT_BYTES),
            rtt_us: of_stream(2 * self.wires.link.latency_ns / 1000) as u32,
        }
    }

    /// From a socket's host to its peer's.
    pub fn way(&self, id: SocketId) -> Option<(usize, usize)> {
        let socket = self.sockets.get(id)?;
        Some((socket.near.0, socket.far?.0))
    }

    fn send_bytes(&mut self, id: SocketId, bytes: Vec<u8>) {
        let (Some(socket), Some(way)) = (self.sockets.get(id), self.way(id)) else { return };
        match (socket.role, socket.far) {
            (Role::Stream, _) => {
                let passage = self.wires.stream(way, bytes.len() as u64, self.now_ns);
                self.post(id, Parcel::Bytes(bytes), passage.arrives_ns);
            }
            (Role::Datagrams, Some(to)) => {
                let datagram = Datagram { bytes: bytes.len(), content: bytes.into(), stamp: None };
                self.send_datagram(id, to, datagram);
            }
            _ => {}
        }
    }

    /// Part of a stream is under way; it does not overtake what was sent before.
    pub fn post(&mut self, id: SocketId, parcel: Parcel, arrives_ns: Option<u64>) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        let (Some(to), Some(at_ns)) = (socket.peer, arrives_ns) else { return };
        socket.last_ns = socket.last_ns.max(at_ns);
        let at_ns = socket.last_ns;
        self.later(at_ns, Event::Socket(Happens::Parcel(to, id, parcel)));
    }

    /// Sends a datagram; when it has left, ns.
    pub fn send_datagram(&mut self, id: SocketId, to: Address, datagram: Datagram) -> u64 {
        let Some(near) = self.sockets.get(id).map(|socket| socket.near) else { return self.now_ns };
        let passage = self.wires.datagram((near.0, to.0), datagram.bytes as u64, self.now_ns);
        if let Some(at_ns) = passage.arrives_ns {
            self.later(at_ns, Event::Socket(Happens::Datagram(to, near, id, datagram)));
        }
        passage.left_ns
    }

    fn shut(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id).filter(|socket| !socket.shut) else { return };
        socket.shut = true;
        self.say_farewell(id, Parcel::End);
    }

    fn say_farewell(&mut self, id: SocketId, parcel: Parcel) {
        let at_ns = self.wires.sign(self.now_ns);
        self.post(id, parcel, at_ns);
    }

    /// Closes one; of those that a run has, when it is done.
    fn close(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        if socket.lent.is_some() {
            socket.closing = true;
            return;
        }
        let unread = socket.inbox.iter().any(|parcel| parcel.bytes() > 0);
        let parcel = if unread { Parcel::Reset } else { Parcel::End };
        if socket.role == Role::Stream && !socket.shut {
            self.say_farewell(id, parcel);
        }
        self.sockets.remove(id);
    }

    /// A party has gone.
    pub fn close_all(&mut self, party: usize) {
        for id in self.sockets.of(party) {
            self.sockets.get_mut(id).into_iter().for_each(|socket| socket.lent = None);
            self.close(id);
        }
    }

    /// A run has done with a socket.
    pub fn give_back(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else { return };
        socket.lent = None;
        match socket.closing {
            true => self.close(id),
            false => self.serve(id),
        }
    }

    /// Hands on what has come: to the run that has the socket, or to the conversation.
    pub fn serve(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get(id) else { return };
        let party = socket.party;
        if let Some(run) = socket.lent {
            return self.feed(run, id);
        }
        while let Some((input, read)) = self.sockets.read(id) {
            self.tell_input(party, input);
            self.tell_read(id, read);
        }
        while let Some((at, from, bytes)) = self.sockets.mail(id) {
            let from = self.text(from);
            self.tell_input(party, Input::Datagram { at, from, bytes });
        }
    }

    /// The sender of a stream hears how much was read.
    pub fn tell_read(&mut self, id: SocketId, bytes: u64) {
        let peer =
            self.sockets.get(id).filter(|socket| socket.role == Role::Stream).and_then(|socket| socket.peer);
        if let (Some(peer), Some(at_ns), 1..) = (peer, self.wires.sign(self.now_ns), bytes) {
            self.later(at_ns, Event::Socket(Happens::Read(peer, bytes)));
        }
    }

    /// Something happens to a socket.
    pub fn socket_happens(&mut self, happens: Happens) {
        match happens {
            Happens::Asks(client, goal) => self.asked(client, goal),
            Happens::Stands(client, server) => self.stands(client, server),
            Happens::Refused(id) => self.refused(id),
            Happens::GivenUp(id) => self.give_up(id, libc::ETIMEDOUT),
            Happens::Parcel(to, from, parcel) => self.arrived(to, from, parcel),
            Happens::Datagram(to, from, sender, datagram) => self.mail_arrived(to, from, sender, datagram),
            Happens::Read(id, bytes) => {
                let Some(socket) = self.sockets.get_mut(id) else { return };
                socket.unread = socket.unread.saturating_sub(bytes);
                if let Some(run) = socket.lent {
                    self.go_on_over(run, id);
                }
            }
        }
    }

    /// A wish to connect has arrived.
    fn asked(&mut self, client: SocketId, goal: Address) {
        let place = self.sockets.position(|socket| socket.near == goal && socket.role == Role::Place);
        let Some(from) = self.sockets.get(client).map(|socket| socket.near) else { return };
        let Some(place) = place.and_then(|id| self.sockets.get(id)) else {
            return self.back(Happens::Refused(client));
        };
        let (party, at) = (place.party, place.number);
        let connection = self.sockets.next_accepted(party);
        let server = self.sockets.add(party, connection, Role::Stream, goal, Some(from));
        self.sockets.get_mut(server).into_iter().for_each(|socket| socket.peer = Some(client));
        self.tell_input(party, Input::Accepted { at, connection, ends: self.ends(server) });
        self.back(Happens::Stands(client, server));
    }

    fn back(&mut self, happens: Happens) {
        if let Some(at_ns) = self.wires.sign(self.now_ns) {
            self.later(at_ns, Event::Socket(happens));
        }
    }

    fn stands(&mut self, client: SocketId, server: SocketId) {
        let Some(socket) = self.sockets.get_mut(client).filter(|socket| socket.role == Role::Connecting)
        else {
            return;
        };
        (socket.role, socket.peer) = (Role::Stream, Some(server));
        let (party, number) = (socket.party, socket.number);
        self.tell_input(party, Input::Ready(number, self.ends(client)));
    }

    fn refused(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get(id) else { return };
        match socket.role {
            Role::Connecting => self.give_up(id, libc::ECONNREFUSED),
            // A datagram that nobody took is no end; a run hears of it by what does not come.
            Role::Datagrams if socket.lent.is_none() => {
                let (party, number) = (socket.party, socket.number);
                self.tell_input(party, Input::Failed(number, libc::ECONNREFUSED, "receive".into()));
            }
            _ => {}
        }
    }

    fn give_up(&mut self, id: SocketId, errno: i32) {
        let Some(socket) = self.sockets.get(id).filter(|socket| socket.role == Role::Connecting) else {
            return;
        };
        let (party, number) = (socket.party, socket.number);
        self.sockets.remove(id);
        self.tell_input(party, Input::Failed(number, errno, "connect".into()));
    }

    fn arrived(&mut self, to: SocketId, from: SocketId, parcel: Parcel) {
        let Some(socket) = self.sockets.get_mut(to) else {
            if parcel.bytes() > 0
                && let Some(at_ns) = self.wires.sign(self.now_ns)
            {
                self.later(at_ns, Event::Socket(Happens::Parcel(from, to, Parcel::Reset)));
            }
            return;
        };
        socket.inbox.push_back(parcel);
        self.serve(to);
    }

    fn mail_arrived(&mut self, to: Address, from: Address, sender: SocketId, datagram: Datagram) {
        let Some(id) = self.sockets.receiver(to, from) else { return self.back(Happens::Refused(sender)) };
        self.sockets.get_mut(id).into_iter().for_each(|socket| {
            socket.inbox.push_back(Parcel::Datagram(from, datagram.clone()));
        });
        self.serve(id);
    }
}

fn port_of(address: &str) -> u16 {
    address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0)
}
