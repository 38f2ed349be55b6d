//! The sockets of a simulated network: who is connected with whom, what has come and was not read, and which of them a run
//! has.
//!
//! A stream's parts come in the order in which they were sent. Names are not looked up: a host is known by its address.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use iodyno_model::conversation::{Connection, FIRST_ACCEPTED, Input};

use crate::engines::socket::stamp::Stamp;

/// Read at a time at most, bytes.
const READ_MOST: usize = 64 << 10;
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

pub struct Socket {
    pub party: usize,
    /// What it is called there.
    pub number: Connection,
    pub role: Role,
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
    /// What its descriptor would be.
    pub descriptor: i32,
    /// Bytes that a conversation may still read; none: any.
    pub most: Option<usize>,
    /// It will send nothing more.
    pub shut: bool,
    /// It is closed once a run gives it back.
    pub closing: bool,
    ended: bool,
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
    pub fn get(&self, id: SocketId) -> Option<&Socket> {
        self.all.get(id)?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.all.get_mut(id)?.as_mut()
    }

    /// It is no more.
    pub fn remove(&mut self, id: SocketId) {
        self.all[id] = None;
    }

    pub fn of(&self, party: usize) -> Vec<SocketId> {
        let its = |socket: &Option<Socket>| socket.as_ref().is_some_and(|socket| socket.party == party);
        self.all.iter().enumerate().filter(|(_, socket)| its(socket)).map(|(id, _)| id).collect()
    }

    /// By its party's number for it.
    pub fn find(&self, party: usize, number: Connection) -> Option<SocketId> {
        self.position(|socket| socket.party == party && socket.number == number)
    }

    /// The first of which something is true.
    pub fn position(&self, is: impl Fn(&Socket) -> bool) -> Option<SocketId> {
        self.all.iter().position(|socket| socket.as_ref().is_some_and(&is))
    }

    /// Who takes what comes to an address from another: first whoever has that one for a peer.
    pub fn receiver(&self, at: Address, from: Address) -> Option<SocketId> {
        let peers = |socket: &Socket| socket.role == Role::Datagrams && socket.far == Some(from);
        let anybody = |socket: &Socket| socket.role == Role::Mailbox;
        let here = |is: &dyn Fn(&Socket) -> bool| self.position(|socket| socket.near == at && is(socket));
        here(&peers).or_else(|| here(&anybody))
    }

    /// A further one.
    pub fn add(
        &mut self,
        party: usize,
        number: Connection,
        role: Role,
        near: Address,
        far: Option<Address>,
    ) -> SocketId {
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

    /// A port of a host that nobody has.
    pub fn any_port(&mut self, host: usize) -> u16 {
        let next = self.ports.entry(host).or_insert(FIRST_PORT);
        *next += 1;
        *next - 1
    }

    /// The number of the next connection that a party accepts.
    pub fn next_accepted(&mut self, party: usize) -> Connection {
        let accepted = self.accepted.entry(party).or_default();
        *accepted += 1;
        FIRST_ACCEPTED + *accepted - 1
    }

    /// The next thing that a conversation reads there, and its bytes; none: nothing, or it reads nothing now.
    pub fn read(&mut self, id: SocketId) -> Option<(Input, u64)> {
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
    pub fn mail(&mut self, id: SocketId) -> Option<(Connection, Address, Vec<u8>)> {
        let socket =
            self.get_mut(id).filter(|socket| socket.role == Role::Mailbox && socket.lent.is_none())?;
        match socket.inbox.pop_front()? {
            Parcel::Datagram(from, datagram) => Some((socket.number, from, datagram.head(READ_MOST))),
            _ => None,
        }
    }
}
