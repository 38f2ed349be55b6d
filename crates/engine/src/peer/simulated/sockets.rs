//! The sockets of a simulated network: who is connected with whom, what has come and was not read, and which of them a run
//! has.
//!
//! A stream's parts come in the order in which they were sent. Names are not looked up: a host is known by its address.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iodyno_model::conversation::{Action, Connection, Ends, FIRST_ACCEPTED, Input, SocketFacts};

use super::{Happens as Event, Network};
use crate::engines::socket::stamp::Stamp;

/// Read at a time at most, bytes.
const READ_MOST: usize = 64 << 10;
/// A connection that nobody answers is given up after this where nothing else is said, ns: what Linux takes.
const GIVE_UP_NS: u64 = 127_000_000_000;
/// The first port that is given to who wants any.
const FIRST_PORT: u16 = 40_000;
/// The descriptor of a party's first socket.
const FIRST_DESCRIPTOR: i32 = 5;

/// A socket's place in the list of all.
pub type SocketId = usize;
/// Host and port.
pub type Address = (usize, u16);

/// What happens to sockets.
pub enum Happens {
    /// A wish to connect arrives.
    Asks(SocketId, Address),
    /// The answer arrives: it stands, with the socket at the other end.
    Stands(SocketId, SocketId),
    /// Nobody is there.
    Refused(SocketId),
    /// It has taken too long.
    GivenUp(SocketId),
    /// Part of a stream arrives at a socket, from another.
    Parcel(SocketId, SocketId, Parcel),
    /// A datagram arrives at an address, from another, sent by a socket.
    Datagram(Address, Address, SocketId, Datagram),
    /// The other end has read so much of what a socket sent.
    Read(SocketId, u64),
}

/// What arrives.
#[derive(Clone)]
pub enum Parcel {
    /// What a conversation sent over a stream.
    Bytes(Vec<u8>),
    /// What a run sent over a stream: how much, and what it is made of.
    Payload(u64, Arc<[u8]>),
    /// A datagram, and whence.
    Datagram(Address, Datagram),
    /// The peer sends nothing more.
    End,
    /// The peer has gone.
    Reset,
}

impl Parcel {
    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        match self {
            Parcel::Bytes(bytes) => bytes.len() as u64,
            Parcel::Payload(bytes, _) => *bytes,
            Parcel::Datagram(_, datagram) => datagram.bytes as u64,
            Parcel::End | Parcel::Reset => 0,
        }
    }
}

/// A datagram, written out only where somebody reads it.
#[derive(Clone)]
pub struct Datagram {
    /// Its length.
    pub bytes: usize,
    /// What it is made of.
    pub content: Arc<[u8]>,
    /// Its header: the number, and when it was sent by the clock of that header, ns.
    pub stamp: Option<(Stamp, u64, u64)>,
}

impl Datagram {
    /// Its first bytes, so many at most.
    pub fn head(&self, most: usize) -> Vec<u8> {
        let mut head = repeated(&self.content, self.bytes.min(most));
        if let Some((stamp, number, sent_ns)) = self.stamp {
            stamp.write(&mut head, number, sent_ns);
        }
        head
    }
}

/// Content over and over, so many bytes.
fn repeated(content: &[u8], bytes: usize) -> Vec<u8> {
    match content.is_empty() {
        true => vec![0; bytes],
        false => content.iter().copied().cycle().take(bytes).collect(),
    }
}

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Peers connect here.
    Place,
    /// Datagrams of anybody come here.
    Mailbox,
    /// Not there yet.
    Connecting,
    /// Bytes.
    Stream,
    /// Datagrams of one peer.
    Datagrams,
}

/// A socket.
pub struct Socket {
    /// Whose it is.
    pub party: usize,
    /// What it is called there.
    pub number: Connection,
    /// What it is for.
    pub role: Role,
    /// Where it is.
    pub near: Address,
    /// Where its peer is.
    pub far: Option<Address>,
    /// The other end of a stream.
    pub peer: Option<SocketId>,
    /// What has come and was not read.
    pub inbox: VecDeque<Parcel>,
    /// The run that it is lent to.
    pub lent: Option<usize>,
    /// What a run sent that the other end has not read, bytes.
    pub unread: u64,
    /// When the last of what it sent arrives, ns.
    pub last_ns: u64,
    descriptor: i32,
    most: Option<usize>,
    ended: bool,
    shut: bool,
    closing: bool,
}

/// All of them; a number is used once.
#[derive(Default)]
pub struct Sockets {
    all: Vec<Option<Socket>>,
    /// By party: how many were accepted, and how many there were.
    accepted: BTreeMap<usize, u32>,
    opened: BTreeMap<usize, i32>,
    ports: BTreeMap<usize, u16>,
}

impl Sockets {
    /// One that is there.
    pub fn get(&self, id: SocketId) -> Option<&Socket> {
        self.all.get(id)?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.all.get_mut(id)?.as_mut()
    }

    /// By its party's number for it.
    pub fn find(&self, party: usize, number: Connection) -> Option<SocketId> {
        self.position(|socket| socket.party == party && socket.number == number)
    }

    fn position(&self, is: impl Fn(&Socket) -> bool) -> Option<SocketId> {
        self.all.iter().position(|socket| socket.as_ref().is_some_and(&is))
    }

    /// Who takes what comes to an address from another: first whoever has that one for a peer.
    fn receiver(&self, at: Address, from: Address) -> Option<SocketId> {
        let peers = |socket: &Socket| socket.role == Role::Datagrams && socket.far == Some(from);
        let anybody = |socket: &Socket| socket.role == Role::Mailbox;
        let here = |is: &dyn Fn(&Socket) -> bool| self.position(|socket| socket.near == at && is(socket));
        here(&peers).or_else(|| here(&anybody))
    }

    fn add(&mut self, party: usize, number: Connection, role: Role, near: Address, far: Option<Address>) -> SocketId {
        let opened = self.opened.entry(party).or_default();
        *opened += 1;
        self.all.push(Some(Socket {
            party,
            number,
            role,
            near,
            far,
            peer: None,
            inbox: VecDeque::new(),
            lent: None,
            unread: 0,
            last_ns: 0,
            descriptor: FIRST_DESCRIPTOR + *opened - 1,
            most: None,
            ended: false,
            shut: false,
            closing: false,
        }));
        self.all.len() - 1
    }

    fn any_port(&mut self, host: usize) -> u16 {
        let next = self.ports.entry(host).or_insert(FIRST_PORT);
        *next += 1;
        *next - 1
    }

    fn next_accepted(&mut self, party: usize) -> Connection {
        let accepted = self.accepted.entry(party).or_default();
        *accepted += 1;
        FIRST_ACCEPTED + *accepted - 1
    }

    /// The next thing that a conversation reads there; none: nothing, or it reads nothing now.
    fn read(&mut self, id: SocketId) -> Option<(Input, u64)> {
        let socket = self.get_mut(id)?;
        if socket.lent.is_some() || socket.ended || socket.closing || socket.most == Some(0) {
            return None;
        }
        let number = socket.number;
        let most = socket.most.unwrap_or(READ_MOST).min(READ_MOST);
        let bytes = match socket.inbox.pop_front()? {
            Parcel::End => {
                socket.ended = true;
                return Some((Input::Closed(number), 0));
            }
            Parcel::Reset => {
                socket.ended = true;
                return Some((Input::Failed(number, libc::ECONNRESET, "receive".into()), 0));
            }
            Parcel::Datagram(from, datagram) if socket.role == Role::Mailbox => {
                socket.inbox.push_front(Parcel::Datagram(from, datagram));
                return None;
            }
            Parcel::Datagram(_, datagram) => datagram.head(most),
            Parcel::Bytes(mut bytes) => {
                if bytes.len() > most {
                    socket.inbox.push_front(Parcel::Bytes(bytes.split_off(most)));
                }
                bytes
            }
            Parcel::Payload(left, content) => {
                let taken = left.min(most as u64);
                if left > taken {
                    socket.inbox.push_front(Parcel::Payload(left - taken, content.clone()));
                }
                repeated(&content, taken as usize)
            }
        };
        socket.most = socket.most.map(|most| most.saturating_sub(bytes.len()));
        let read = bytes.len() as u64;
        Some((Input::Bytes(number, bytes), read))
    }

    /// The next datagram of a mailbox.
    fn mail(&mut self, id: SocketId) -> Option<(Connection, Address, Vec<u8>)> {
        let socket = self.get_mut(id).filter(|socket| socket.role == Role::Mailbox && socket.lent.is_none())?;
        match socket.inbox.pop_front()? {
            Parcel::Datagram(from, datagram) => Some((socket.number, from, datagram.head(READ_MOST))),
            _ => None,
        }
    }
}

impl Network {
    /// Does what concerns sockets; what came of it at once.
    pub fn act(&mut self, party: usize, action: Action) -> Vec<Input> {
        match action {
            Action::Listen { place, transport, address, .. } => {
                vec![self.listen(party, place, &transport, &address)]
            }
            Action::Connect { connection, transport, address, wishes, timeout_ns } => {
                self.connect(party, connection, &transport, &address, &wishes, timeout_ns).into_iter().collect()
            }
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

    fn with(&mut self, party: usize, number: Connection, act: impl FnOnce(&mut Network, SocketId)) -> Vec<Input> {
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
        wishes: &[(String, String)],
        timeout_ns: u64,
    ) -> Option<Input> {
        let Some(goal) = self.address(address) else {
            return Some(Input::Failed(number, libc::EHOSTUNREACH, "connect".into()));
        };
        let host = self.host_of(party);
        let wished = wishes.iter().find(|(name, _)| name == "bind").map_or(0, |(_, at)| port_of(at));
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
            mss: of_stream(super::wire::SEGMENT_BYTES),
            congestion: if stream { "cubic".into() } else { String::new() },
            cwnd_bytes: of_stream(10 * super::wire::SEGMENT_BYTES),
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
        self.sockets.all[id] = None;
    }

    /// A party has gone.
    pub fn close_all(&mut self, party: usize) {
        let its = |socket: &Option<Socket>| socket.as_ref().is_some_and(|socket| socket.party == party);
        let ids: Vec<SocketId> =
            self.sockets.all.iter().enumerate().filter(|(_, socket)| its(socket)).map(|(id, _)| id).collect();
        for id in ids {
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
        let peer = self.sockets.get(id).filter(|socket| socket.role == Role::Stream).and_then(|socket| socket.peer);
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
        let Some(socket) = self.sockets.get_mut(client).filter(|socket| socket.role == Role::Connecting) else {
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
        let Some(socket) = self.sockets.get(id).filter(|socket| socket.role == Role::Connecting) else { return };
        let (party, number) = (socket.party, socket.number);
        self.sockets.all[id] = None;
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
