//! The sockets of a conversation by number: what waits to be sent, what may be read, and which of them a run has.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use iodyno_model::conversation::{Action, Connection, FIRST_ACCEPTED, Input, RunNumber};
use iodyno_model::{Diagnostic, Plan, TargetKind};
use socket2::{SockAddr, Socket};

use super::sockets::{self, SocketError, Transport, Wishes};
use crate::engines::socket::socket_options::When;

/// Read at a time at most, bytes.
const READ_MOST: usize = 64 << 10;
/// How often an SCTP socket that sends no more is asked whether all was taken, ns.
const ASK_NS: u64 = 2_000_000;
/// Peers taken, and datagrams read, at a time at most.
const AT_ONCE: usize = 64;
/// What waits for a peer that does not read, at most, bytes.
const OUTBOX_MOST: usize = 64 << 20;
/// A peer for whom so much waits is slow, bytes: the sender is told, and told again when all of it has gone.
const SLOW: usize = 4 << 20;
/// For how long a connection that was closed goes on sending what it still has, ns.
const LINGER_NS: u64 = 5_000_000_000;

/// What a socket is for.
enum Role {
    /// Peers connect here.
    Place,
    /// Datagrams of anybody come here.
    Mailbox,
    /// Not there yet; further goals to be tried, and what is wished of it.
    Connecting { transport: Transport, goals: Vec<SockAddr>, socket_options: Vec<(String, String)> },
    /// Bytes.
    Stream,
    /// Datagrams of one peer.
    Datagrams,
}

struct SocketEntry {
    socket: Socket,
    role: Role,
    outbox: Vec<u8>,
    /// Nothing is sent after what waits.
    shuts: bool,
    /// The conversation was told that the peer is slow.
    slow: bool,
    /// Bytes that may still be read; none: any.
    most: Option<usize>,
    /// Nothing more comes.
    ended: bool,
    lent: Option<RunNumber>,
    /// Closed, but not before a run gives it back or what waits is sent.
    closing: bool,
    /// When it is given up, ns since the conversation began.
    due_ns: Option<u64>,
    /// When it is asked next whether its association is over, which no event tells.
    asked_ns: Option<u64>,
    /// What it left in the file system.
    _path: Option<LeftPath>,
}

/// A path that a place left in the file system, for as long as the place is.
struct LeftPath(String);

impl Drop for LeftPath {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl SocketEntry {
    fn new(socket: Socket, role: Role) -> Self {
        SocketEntry {
            socket,
            role,
            outbox: Vec::new(),
            shuts: false,
            slow: false,
            most: None,
            ended: false,
            lent: None,
            closing: false,
            due_ns: None,
            asked_ns: None,
            _path: None,
        }
    }

    /// What is waited for; nothing: it is not looked at.
    fn events(&self) -> i16 {
        if self.lent.is_some() {
            return 0;
        }
        let connecting = matches!(self.role, Role::Connecting { .. });
        let reads = !self.ended && !self.closing && !connecting && self.most != Some(0);
        let writes = connecting || !self.outbox.is_empty();
        (if reads { libc::POLLIN } else { 0 }) | (if writes { libc::POLLOUT } else { 0 })
    }

    /// Sends what waits, as far as the peer takes it.
    fn flush(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            match self.socket.send_with_flags(&self.outbox, libc::MSG_NOSIGNAL) {
                Ok(bytes) => drop(self.outbox.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.outbox.clear();
                    return Err(error);
                }
            }
        }
        if self.shuts {
            // The peer may be gone, which reading will tell.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
        Ok(())
    }
}

#[derive(Default)]
pub struct Table {
    entries: BTreeMap<Connection, SocketEntry>,
    accepted: u32,
}

impl Table {
    /// Does what concerns sockets; what came of it.
    pub fn act(&mut self, action: Action, now_ns: u64) -> Vec<Input> {
        match action {
            Action::Listen { place, transport, address, socket_options } => {
                self.listen(place, &transport, &address, &socket_options)
            }
            Action::Connect { connection, transport, address, socket_options, timeout_ns } => {
                let due_ns = (timeout_ns > 0).then(|| now_ns.saturating_add(timeout_ns));
                self.connect(connection, &transport, &address, socket_options, due_ns)
            }
            Action::Answer { at, connection, to } => self.answer(at, connection, &to),
            Action::Set(connection, socket_options) => self.set(connection, &socket_options),
            Action::Send(connection, bytes) => self.send(connection, bytes),
            Action::Read { connection, most } => {
                if let Some(entry) = self.entries.get_mut(&connection) {
                    entry.most = most;
                }
                Vec::new()
            }
            Action::Shut(connection) => self.shut(connection, now_ns),
            Action::Close(connection) => {
                self.close(connection, now_ns);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn listen(
        &mut self,
        place: Connection,
        transport: &str,
        address: &str,
        socket_options: &Wishes,
    ) -> Vec<Input> {
        let made = sockets::transport(transport).and_then(|transport| {
            let (socket, path) = sockets::listen(transport, address, socket_options)?;
            Ok((socket, path, transport))
        });
        match made {
            Ok((socket, path, transport)) => {
                let role = if transport.is_datagrams() { Role::Mailbox } else { Role::Place };
                let ends = sockets::ends(&socket);
                self.entries.insert(
                    place,
                    SocketEntry { _path: path.map(LeftPath), ..SocketEntry::new(socket, role) },
                );
                vec![Input::Ready(place, ends)]
            }
            Err(trouble) => vec![failed(place, trouble)],
        }
    }

    fn connect(
        &mut self,
        number: Connection,
        transport: &str,
        address: &str,
        socket_options: Vec<(String, String)>,
        due_ns: Option<u64>,
    ) -> Vec<Input> {
        let goals = sockets::transport(transport)
            .and_then(|transport| Ok((transport, sockets::goals(transport, address)?)));
        match goals {
            Ok((transport, goals)) => self.try_goals(number, transport, goals, socket_options, due_ns, None),
            Err(trouble) => vec![failed(number, trouble)],
        }
    }

    /// Begins to connect to the first goal that can be tried.
    fn try_goals(
        &mut self,
        number: Connection,
        transport: Transport,
        mut goals: Vec<SockAddr>,
        socket_options: Vec<(String, String)>,
        due_ns: Option<u64>,
        mut last: Option<SocketError>,
    ) -> Vec<Input> {
        while !goals.is_empty() {
            match sockets::connect(transport, &goals.remove(0), &socket_options) {
                Ok((socket, true)) => {
                    let ends = sockets::ends(&socket);
                    self.entries.insert(number, SocketEntry::new(socket, standing(transport)));
                    return vec![Input::Ready(number, ends)];
                }
                Ok((socket, false)) => {
                    let role = Role::Connecting { transport, goals, socket_options };
                    self.entries.insert(number, SocketEntry { due_ns, ..SocketEntry::new(socket, role) });
                    return Vec::new();
                }
                Err(trouble) => last = Some(trouble),
            }
        }
        self.entries.remove(&number);
        let none = || SocketError { errno: 0, what: "no address".into() };
        vec![failed(number, last.unwrap_or_else(none))]
    }

    /// A connection that was begun stands now, or does not.
    fn connected(&mut self, number: Connection) -> Vec<Input> {
        let Some(mut entry) = self.entries.remove(&number) else { return Vec::new() };
        let role = std::mem::replace(&mut entry.role, Role::Stream);
        let Role::Connecting { transport, goals, socket_options } = role else { return Vec::new() };
        if let Ok(Some(error)) | Err(error) = entry.socket.take_error() {
            let trouble = SocketError::of("connect", &error);
            return self.try_goals(number, transport, goals, socket_options, entry.due_ns, Some(trouble));
        }
        if let Err(trouble) = sockets::set(&entry.socket, &socket_options, When::After) {
            return vec![failed(number, trouble)];
        }
        let ends = sockets::ends(&entry.socket);
        entry.role = standing(transport);
        entry.due_ns = None;
        self.entries.insert(number, entry);
        vec![Input::Ready(number, ends)]
    }

    fn answer(&mut self, at: Connection, number: Connection, to: &str) -> Vec<Input> {
        let none = || SocketError { errno: 0, what: "no such place".into() };
        let made = self.entries.get(&at).ok_or_else(none);
        match made.and_then(|place| sockets::answer(&place.socket, to)) {
            Ok(socket) => {
                let ends = sockets::ends(&socket);
                self.entries.insert(number, SocketEntry::new(socket, Role::Datagrams));
                vec![Input::Ready(number, ends)]
            }
            Err(trouble) => vec![failed(number, trouble)],
        }
    }

    fn set(&mut self, number: Connection, socket_options: &Wishes) -> Vec<Input> {
        let Some(entry) = self.entries.get(&number) else { return Vec::new() };
        [When::Before, When::After]
            .into_iter()
            .find_map(|when| sockets::set(&entry.socket, socket_options, when).err())
            .map(|trouble| failed(number, trouble))
            .into_iter()
            .collect()
    }

    fn send(&mut self, number: Connection, bytes: Vec<u8>) -> Vec<Input> {
        let Some(entry) = self.entries.get_mut(&number) else { return Vec::new() };
        if entry.outbox.len() + bytes.len() > OUTBOX_MOST {
            entry.ended = true;
            return vec![Input::Failed(number, libc::ENOBUFS, "the peer does not read".into())];
        }
        // A datagram is sent whole, and not with another.
        if matches!(entry.role, Role::Datagrams) {
            let sent = entry.socket.send_with_flags(&bytes, libc::MSG_NOSIGNAL);
            return sent
                .err()
                .map(|error| failed(number, SocketError::of("send", &error)))
                .into_iter()
                .collect();
        }
        entry.outbox.extend(bytes);
        self.flush(number)
    }

    fn flush(&mut self, number: Connection) -> Vec<Input> {
        let Some(entry) = self.entries.get_mut(&number) else { return Vec::new() };
        if matches!(entry.role, Role::Connecting { .. }) {
            return Vec::new();
        }
        let flushed = entry.flush();
        if entry.closing && entry.outbox.is_empty() && entry.lent.is_none() {
            self.entries.remove(&number);
            return Vec::new();
        }
        let slow = if entry.slow { !entry.outbox.is_empty() } else { entry.outbox.len() > SLOW };
        match flushed {
            Ok(()) if slow == entry.slow => Vec::new(),
            Ok(()) => {
                entry.slow = slow;
                vec![Input::Slow(number, slow)]
            }
            Err(error) => {
                entry.ended = true;
                vec![failed(number, SocketError::of("send", &error))]
            }
        }
    }

    fn shut(&mut self, number: Connection, now_ns: u64) -> Vec<Input> {
        let Some(entry) = self.entries.get_mut(&number) else { return Vec::new() };
        entry.shuts = true;
        entry.asked_ns = sockets::is_sctp(&entry.socket).then_some(now_ns + ASK_NS);
        self.flush(number)
    }

    fn close(&mut self, number: Connection, now_ns: u64) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        if entry.lent.is_none() && entry.outbox.is_empty() {
            self.entries.remove(&number);
            return;
        }
        entry.closing = true;
        if entry.lent.is_none() {
            entry.due_ns = Some(now_ns.saturating_add(LINGER_NS));
        }
    }

    /// Lends a plan the connections that its targets name, and writes their descriptors there.
    ///
    /// # Errors
    /// A connection that is not there, or that another run has.
    pub fn lend(&mut self, plan: &mut Plan, run: RunNumber) -> Result<Vec<Connection>, Diagnostic> {
        let mut lent = Vec::new();
        for target in &mut plan.targets {
            let TargetKind::Endpoint { transport, address, .. } = &mut target.kind else { continue };
            if transport != "connection" {
                continue;
            }
            let number = address.parse().ok();
            let entry = number.and_then(|number| Some((number, self.entries.get_mut(&number)?)));
            let blocking = entry
                .filter(|(number, entry)| entry.lent.is_none() || lent.contains(number))
                .filter(|(_, entry)| entry.socket.set_nonblocking(false).is_ok());
            let Some((number, entry)) = blocking else {
                self.take_back(&lent);
                let gone = format!("connection {address} is not there to be used");
                return Err(Diagnostic::error(&target.origin, gone));
            };
            entry.lent = Some(run);
            *address = entry.socket.as_raw_fd().to_string();
            lent.push(number);
        }
        Ok(lent)
    }

    /// A run has ended: its connections are the conversation's again.
    pub fn take_back(&mut self, lent: &[Connection]) {
        for number in lent {
            let Some(entry) = self.entries.get_mut(number) else { continue };
            entry.lent = None;
            // One that does not obey is read all the same, when there is something.
            let _ = entry.socket.set_nonblocking(true);
            if entry.closing && entry.outbox.is_empty() {
                self.entries.remove(number);
            }
        }
    }

    /// Adds what is to be waited for; which it is.
    pub fn polled(&self, polled: &mut Vec<libc::pollfd>) -> Vec<Connection> {
        let waited = self.entries.iter().filter(|(_, entry)| entry.events() != 0);
        waited
            .map(|(number, entry)| {
                let (fd, events) = (entry.socket.as_raw_fd(), entry.events());
                polled.push(libc::pollfd { fd, events, revents: 0 });
                *number
            })
            .collect()
    }

    /// Something can be done with a socket: what came of it.
    pub fn stir(&mut self, number: Connection, revents: i16) -> Vec<Input> {
        let Some(entry) = self.entries.get_mut(&number) else { return Vec::new() };
        if matches!(entry.role, Role::Connecting { .. }) {
            return self.connected(number);
        }
        let mut news = Vec::new();
        if revents & (libc::POLLIN | libc::POLLHUP | libc::POLLERR) != 0 {
            news = match entry.role {
                Role::Place => self.accept(number),
                Role::Mailbox => read_mail(number, entry),
                Role::Datagrams => read_datagrams(number, entry),
                _ => read(number, entry),
            };
        }
        if revents & libc::POLLOUT != 0 {
            news.extend(self.flush(number));
        }
        news
    }

    fn accept(&mut self, at: Connection) -> Vec<Input> {
        let mut news = Vec::new();
        for _ in 0..AT_ONCE {
            let Some(place) = self.entries.get(&at) else { break };
            match place.socket.accept() {
                Ok((socket, _)) => {
                    // A peer that is gone already is reported when it is read.
                    let _ = socket.set_nonblocking(true);
                    let connection = FIRST_ACCEPTED + self.accepted;
                    self.accepted = (self.accepted + 1) % (u32::MAX - FIRST_ACCEPTED);
                    let ends = sockets::ends(&socket);
                    self.entries.insert(connection, SocketEntry::new(socket, Role::Stream));
                    news.push(Input::Accepted { at, connection, ends });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => {}
                Err(error) => {
                    // Whoever is out of descriptors would hear of the same peer again at once.
                    crate::clock::sleep_ns(10_000_000);
                    news.push(failed(at, SocketError::of("accept", &error)));
                    break;
                }
            }
        }
        news
    }

    /// When the next connection is given up, ns since the conversation began.
    pub fn due_ns(&self) -> Option<u64> {
        self.entries.values().flat_map(|entry| [entry.due_ns, entry.asked_ns]).flatten().min()
    }

    /// Gives up what is overdue.
    pub fn overdue(&mut self, now_ns: u64) -> Vec<Input> {
        let late = |entry: &SocketEntry| entry.due_ns.is_some_and(|due| due <= now_ns);
        let numbers: Vec<_> = self.entries.iter().filter(|(_, entry)| late(entry)).map(|(n, _)| *n).collect();
        let gone = numbers.into_iter().filter_map(|number| Some((number, self.entries.remove(&number)?)));
        let told = gone.filter(|(_, entry)| !entry.closing);
        let mut news: Vec<Input> =
            told.map(|(number, _)| Input::Failed(number, libc::ETIMEDOUT, "connect".into())).collect();
        for (number, entry) in &mut self.entries {
            if entry.asked_ns.is_none_or(|asked_ns| asked_ns > now_ns) {
                continue;
            }
            let goes_on = !entry.ended && sockets::is_associated(&entry.socket);
            if !goes_on && !entry.ended && !entry.closing {
                entry.ended = true;
                news.push(Input::Closed(*number));
            }
            entry.asked_ns = goes_on.then_some(now_ns + ASK_NS);
        }
        news
    }

    /// Whether something still waits to be sent to a peer that takes it.
    pub fn has_to_send(&self) -> bool {
        self.entries.values().any(|entry| entry.closing && !entry.outbox.is_empty())
    }
}

fn failed(number: Connection, trouble: SocketError) -> Input {
    Input::Failed(number, trouble.errno, trouble.what)
}

fn standing(transport: Transport) -> Role {
    if transport.is_datagrams() { Role::Datagrams } else { Role::Stream }
}

/// A peer's datagrams: as many as wait, so that none is lost for want of room.
fn read_datagrams(number: Connection, entry: &mut SocketEntry) -> Vec<Input> {
    let mut news = Vec::new();
    while news.len() < AT_ONCE && entry.most != Some(0) {
        let one = read(number, entry);
        let goes_on = matches!(one.first(), Some(Input::Bytes(..)));
        news.extend(one);
        if !goes_on {
            break;
        }
    }
    news
}

/// What a stream brings, or one datagram.
fn read(number: Connection, entry: &mut SocketEntry) -> Vec<Input> {
    let most = entry.most.unwrap_or(READ_MOST).min(READ_MOST);
    let mut room = vec![0; most];
    match (&entry.socket).read(&mut room) {
        Ok(0) if !matches!(entry.role, Role::Datagrams) => {
            entry.ended = true;
            vec![Input::Closed(number)]
        }
        Ok(bytes) => {
            room.truncate(bytes);
            entry.most = entry.most.map(|most| most - bytes);
            vec![Input::Bytes(number, room)]
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Vec::new()
        }
        Err(error) => {
            // A datagram that nobody took is no end.
            entry.ended = !matches!(entry.role, Role::Datagrams);
            vec![failed(number, SocketError::of("receive", &error))]
        }
    }
}

/// Datagrams of anybody.
fn read_mail(at: Connection, entry: &SocketEntry) -> Vec<Input> {
    let mut room = vec![MaybeUninit::uninit(); READ_MOST];
    let mut news = Vec::new();
    while news.len() < AT_ONCE {
        let Ok((bytes, from)) = entry.socket.recv_from(&mut room) else { break };
        // SAFETY: so many bytes were received.
        let bytes = room[..bytes].iter().map(|byte| unsafe { byte.assume_init() }).collect();
        news.push(Input::Datagram { at, from: sockets::text(&from), bytes });
    }
    news
}
