//! One connection of `net`: how it is made, how blocks are sent and received, how it is closed.

use std::io;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;

use iodyno_model::{Kind, TargetKind, Verb, Workload};
use socket2::{SockAddr, SockRef, Socket, Type};

use super::{address, adorn, negated};
use crate::clock::{self, Tick};
use crate::engines::{Failure, Setup, setting, switched_on, whole_number};

/// An announcement that comes before its reader is bound is lost for ever: one that starts together with us gets this
/// time, ns.
const LISTENER_NS: u64 = 100_000_000;

/// A UDP writer announces itself; both numbers travel big-endian.
const OPEN: [u8; 8] = [0x6c, 0x69, 0x6e, 0x6b, 0, 0, 0, 0x98];
/// Either side takes its leave; the same first number, but both little-endian.
const CLOSE: [u8; 8] = [0x6b, 0x6e, 0x69, 0x6c, 0x89, 0, 0, 0];
/// How long a connection that nobody takes yet is tried again, ns.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Between two tries, ns.
const RETRY_NS: u64 = 10_000_000;
/// How long one receive of a job with a time waits, ns.
const WAIT_SLICE_NS: u64 = 100_000_000;
/// Connections that may queue up at a port.
const BACKLOG: i32 = 10;

/// The other side.
pub struct Peer {
    socket: Socket,
    /// Where datagrams go.
    to: Option<SockAddr>,
    datagrams: bool,
    /// It took its leave: nothing more comes.
    closed: bool,
    /// The job's time, where it has one, and when it is over.
    time_ns: u64,
    until: Option<Tick>,
    /// The path that a listening socket left in the file system.
    path: Option<String>,
}

impl Peer {
    /// Connects to a peer, or waits for one, whichever the target says.
    ///
    /// # Errors
    /// Nobody there, an address that cannot be had, or the run ended while waiting.
    pub fn meet(setup: &Setup<'_>, handle: usize) -> Result<Peer, Failure> {
        let (job, target) = (setup.job, setup.target(handle));
        let Some(TargetKind::Endpoint { transport, address: text, listen }) =
            target.map(|target| &target.kind)
        else {
            return Err(Failure::new("no endpoint"));
        };
        let shift = if switched_on(job, "port_each") { setup.seat } else { 0 };
        let place = address::address(transport, text, shift)?;
        let (domain, kind) = address::kind(transport)?;
        let socket = Socket::new(domain, kind, None).map_err(|error| Failure::io("socket", &error))?;
        let who = format!("{transport} {text}");
        let datagrams = kind == Type::DGRAM;
        adorn(&socket, job, transport, !listen)?;
        if datagrams {
            return Peer::by_datagrams(setup, socket, place, *listen, &who);
        }
        let (socket, path) = match listen {
            true => {
                let path = (transport == "unix").then(|| text.clone());
                (accept(&socket, &place, path.as_deref(), &who)?, path)
            }
            false => {
                connect(&socket, &place, &who)?;
                (socket, None)
            }
        };
        if transport.starts_with("tcp") && switched_on(job, "nodelay") {
            socket.set_tcp_nodelay(true).map_err(|error| Failure::io("nodelay", &error))?;
        }
        Peer::new(setup, socket, None, path)
    }

    /// A connection that stands. Where the job has a time, no wait outlasts it by much.
    fn new(
        setup: &Setup<'_>,
        socket: Socket,
        to: Option<SockAddr>,
        path: Option<String>,
    ) -> Result<Peer, Failure> {
        let limit = &setup.job.limit;
        if limit.time_ns.is_some() {
            let slice = clock::duration(WAIT_SLICE_NS);
            socket.set_read_timeout(Some(slice)).map_err(|error| Failure::io("SO_RCVTIMEO", &error))?;
        }
        let time_ns = limit.time_ns.map_or(clock::NEVER, |time| time.saturating_add(limit.ramp_ns));
        let datagrams = to.is_some();
        Ok(Peer { socket, to, datagrams, closed: false, time_ns, until: None, path })
    }

    /// The writer sends its announcement, the reader waits for one.
    fn by_datagrams(
        setup: &Setup<'_>,
        socket: Socket,
        place: SockAddr,
        listen: bool,
        who: &str,
    ) -> Result<Peer, Failure> {
        let job = setup.job;
        let group = place.as_socket_ipv4().map(|place| *place.ip()).filter(Ipv4Addr::is_multicast);
        let interface = setting(job, "interface").and_then(|text| text.parse().ok());
        let interface = interface.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let failed = |error: io::Error| Failure::io(who, &error);
        if listen {
            share_port(&socket).map_err(failed)?;
            socket.bind(&place).map_err(failed)?;
            if let Some(group) = group {
                socket.join_multicast_v4(&group, &interface).map_err(failed)?;
            }
            let mut room = [MaybeUninit::uninit(); 8];
            loop {
                // A signal ends the wait: the run is over.
                let (bytes, from) = socket.recv_from(&mut room).map_err(failed)?;
                if bytes == OPEN.len() && initialised(&room) == OPEN {
                    return Peer::new(setup, socket, Some(from), None);
                }
            }
        }
        if group.is_some() {
            socket.set_multicast_ttl_v4(whole_number(job, "ttl").unwrap_or(1) as u32).map_err(failed)?;
            socket.set_multicast_if_v4(&interface).map_err(failed)?;
        }
        // Only where an answer is expected is the socket bound to its peer; a missing one would be an error otherwise.
        if writes(setup) {
            clock::sleep_ns(LISTENER_NS);
            socket.send_to(&OPEN, &place).map_err(failed)?;
        }
        Peer::new(setup, socket, Some(place), None)
    }

    /// Sends a block. `more`: another one will follow.
    pub fn send(&mut self, block: &[u8], more: bool) -> i64 {
        if let Some(to) = &self.to {
            return self.socket.send_to(block, to).map_or_else(|error| negated(&error), |bytes| bytes as i64);
        }
        let mut sent = 0;
        while sent < block.len() {
            match self.socket.send_with_flags(&block[sent..], if more { MORE } else { libc::MSG_NOSIGNAL }) {
                Ok(bytes) => sent += bytes,
                Err(error) if sent == 0 => return negated(&error),
                Err(_) => break,
            }
        }
        sent as i64
    }

    /// Receives a block: all of it from a stream, one datagram otherwise. Nothing once the peer has taken its leave.
    pub fn receive(&mut self, block: &mut [u8]) -> i64 {
        if self.closed {
            return 0;
        }
        // SAFETY: what is received only ever initialises bytes.
        let room = unsafe { &mut *(std::ptr::from_mut(block) as *mut [MaybeUninit<u8>]) };
        let mut received = 0;
        loop {
            let outcome = match self.datagrams {
                true => self.socket.recv_from(room).map(|(bytes, _)| bytes),
                false => self.socket.recv_with_flags(&mut room[received..], libc::MSG_WAITALL),
            };
            match outcome {
                Ok(bytes) => {
                    received += bytes;
                    if self.datagrams || bytes == 0 || received == room.len() {
                        return self.counted(received, block);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if clock::now() >= self.deadline() {
                        self.closed = true;
                        return received as i64;
                    }
                }
                // It had nothing more to say.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    self.closed = true;
                    return received as i64;
                }
                Err(error) if received == 0 => return negated(&error),
                Err(_) => return received as i64,
            }
        }
    }

    /// When nothing more is waited for: the job's time after the first wait that was in vain.
    fn deadline(&mut self) -> Tick {
        let time_ns = self.time_ns;
        *self.until.get_or_insert_with(|| clock::now().saturating_add(time_ns))
    }

    /// What was received, without the peer's leave.
    fn counted(&mut self, bytes: usize, block: &[u8]) -> i64 {
        let says_so = bytes >= CLOSE.len() && block[bytes - CLOSE.len()..bytes] == CLOSE;
        let short = bytes < block.len();
        if says_so && (short || bytes == CLOSE.len()) && (!self.datagrams || bytes == CLOSE.len()) {
            self.closed = true;
            return (bytes - CLOSE.len()) as i64;
        }
        self.closed = bytes == 0;
        bytes as i64
    }

    /// One block through a pipe.
    #[cfg(target_os = "linux")]
    pub fn splice(
        &mut self,
        pipe: &mut crate::engines::splice::Pipe,
        verb: Verb,
        buffer: *mut u8,
        bytes: u64,
    ) -> i64 {
        use std::os::fd::AsRawFd;
        let fd = self.socket.as_raw_fd();
        if verb == Verb::Send {
            return pipe.write(fd, None, buffer, bytes);
        }
        if self.closed {
            return 0;
        }
        let moved = pipe.read(fd, None, buffer, bytes);
        if moved < 0 {
            return moved;
        }
        // SAFETY: the buffer is valid for the operation's bytes, and holds what was just received.
        let block = unsafe { std::slice::from_raw_parts(buffer, bytes as usize) };
        self.counted(moved as usize, block)
    }
}

impl Drop for Peer {
    /// Takes leave, as fio's net engine does. Whoever is gone does not hear it.
    fn drop(&mut self) {
        let _ = match &self.to {
            Some(to) => self.socket.send_to(&CLOSE, to),
            None => self.socket.send_with_flags(&CLOSE, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT),
        };
        if let Some(path) = &self.path {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const MORE: i32 = libc::MSG_NOSIGNAL | libc::MSG_MORE;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const MORE: i32 = libc::MSG_NOSIGNAL;

fn initialised(room: &[MaybeUninit<u8>; 8]) -> [u8; 8] {
    // SAFETY: the caller received as many bytes.
    room.map(|byte| unsafe { byte.assume_init() })
}

/// Whether a job sends first.
fn writes(setup: &Setup<'_>) -> bool {
    let sends = |verb: Verb| verb.kind() == Kind::Write || verb == Verb::Send;
    match &setup.job.workload {
        Workload::Pattern(pattern) => {
            pattern.mix.shares.iter().any(|share| share.weight > 0.0 && sends(share.verb))
        }
        _ => true,
    }
}

/// Several workers, and a run right after another, may wait at one port.
fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)
}

/// Waits at a place for one connection.
fn accept(socket: &Socket, place: &SockAddr, path: Option<&str>, who: &str) -> Result<Socket, Failure> {
    let failed = |error: io::Error| Failure::io(who, &error);
    match path {
        Some(path) => {
            // Left behind by an earlier run; a file that is no socket stays, and binding fails.
            use std::os::unix::fs::FileTypeExt;
            if std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket()) {
                let _ = std::fs::remove_file(path);
            }
        }
        None => share_port(socket).map_err(failed)?,
    }
    socket.bind(place).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)?;
    // A signal ends the wait: the run is over.
    socket.accept().map(|(peer, _)| peer).map_err(failed)
}

/// Connects, and tries again for a while when nobody waits there yet.
fn connect(socket: &Socket, place: &SockAddr, who: &str) -> Result<(), Failure> {
    let end = clock::monotonic() + PATIENCE_NS;
    loop {
        let Err(error) = SockRef::from(socket).connect(place) else { return Ok(()) };
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        let not_yet = matches!(number, libc::ECONNREFUSED | libc::ENOENT | libc::ECONNRESET);
        if !not_yet || clock::monotonic() >= end {
            return Err(Failure::io(who, &error).hint("start the other side first, or check the address"));
        }
        clock::sleep_ns(RETRY_NS);
    }
}
