//! How sockets of a conversation come about: places where peers are awaited, and connections to peers.
//!
//! None of them ever blocks the pump, save for looking up a name.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;

use iodyno_model::conversation::{Ends, SocketFacts};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::engines::socket::socket_options::{self, When};

/// Connections that may queue up at a place.
const BACKLOG: i32 = 128;

/// What went wrong: the system's error number (0: none), and what failed.
pub struct SocketError {
    /// The number.
    pub errno: i32,
    /// What, in words.
    pub what: String,
}

impl SocketError {
    /// A call that failed; what the system has no number for is said.
    pub fn of(what: impl Into<String>, error: &io::Error) -> Self {
        let what = what.into();
        match error.raw_os_error() {
            Some(errno) => SocketError { errno, what },
            None => SocketError::new(format!("{what}: {error}")),
        }
    }

    fn new(what: impl Into<String>) -> Self {
        SocketError { errno: 0, what: what.into() }
    }
}

/// Options of a socket, by name.
pub type Wishes = [(String, String)];

/// A transport taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    kind: Type,
    /// `Some(true)`: IPv6; none: either.
    six: Option<bool>,
    unix: bool,
    sctp: bool,
}

impl Transport {
    /// Whether it carries datagrams.
    pub fn is_datagrams(self) -> bool {
        self.kind == Type::DGRAM
    }

    fn fits(self, address: &SocketAddr) -> bool {
        self.six.is_none_or(|six| address.is_ipv6() == six)
    }
}

pub fn transport(name: &str) -> Result<Transport, SocketError> {
    let (stream, datagram) = (Type::STREAM, Type::DGRAM);
    let (family, sctp) = match name.strip_prefix("sctp") {
        Some("" | "4" | "6") => (name.replace("sctp", "tcp"), true),
        _ => (name.to_string(), false),
    };
    let (kind, six, unix) = match family.as_str() {
        "tcp" => (stream, None, false),
        "tcp4" => (stream, Some(false), false),
        "tcp6" => (stream, Some(true), false),
        "udp" => (datagram, None, false),
        "udp4" => (datagram, Some(false), false),
        "udp6" => (datagram, Some(true), false),
        "unix" => (stream, None, true),
        _ => return Err(SocketError::new(format!("no transport `{name}` here"))),
    };
    Ok(Transport { kind, six, unix, sctp })
}

/// The addresses that a text means, in the resolver's order.
fn resolved(transport: Transport, text: &str) -> Result<Vec<SocketAddr>, SocketError> {
    let wrong = || SocketError::new(format!("{text}: not an address"));
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        let every: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        let every = every.map(|ip| SocketAddr::new(ip, port));
        return Ok(every.into_iter().filter(|address| transport.fits(address)).collect());
    }
    let found = (host, port).to_socket_addrs().map_err(|error| SocketError::of(host, &error))?;
    let found: Vec<_> = found.filter(|address| transport.fits(address)).collect();
    match found.is_empty() {
        true => Err(SocketError::new(format!("{host}: it has no such address"))),
        false => Ok(found),
    }
}

/// A place where peers are awaited, and the path that it left in the file system.
pub fn listen(
    transport: Transport,
    address: &str,
    asked: &Wishes,
) -> Result<(Socket, Option<String>), SocketError> {
    if transport.unix {
        let place = SockAddr::unix(address).map_err(|error| SocketError::of(address, &error))?;
        let socket = place_at(transport, &place, asked)?;
        return Ok((socket, Some(address.into())));
    }
    let mut last = SocketError::new(format!("{address}: no address"));
    for place in resolved(transport, address)? {
        match place_at(transport, &place.into(), asked) {
            Ok(socket) => return Ok((socket, None)),
            // Without IPv6 the other family will do; taken is taken.
            Err(trouble) if trouble.errno == libc::EADDRINUSE => return Err(trouble),
            Err(trouble) => last = trouble,
        }
    }
    Err(last)
}

fn place_at(transport: Transport, place: &SockAddr, asked: &Wishes) -> Result<Socket, SocketError> {
    let socket = make(place.domain(), transport, asked)?;
    let failed = |what: &'static str| move |error: io::Error| SocketError::of(what, &error);
    if place.domain() == Domain::IPV6 {
        socket.set_only_v6(transport.six == Some(true)).map_err(failed("IPV6_V6ONLY"))?;
    }
    set(&socket, asked, When::Before)?;
    if !transport.is_datagrams() {
        socket.set_reuse_address(true).map_err(failed("SO_REUSEADDR"))?;
    }
    socket.bind(place).map_err(failed("bind"))?;
    if transport.is_datagrams() {
        // Only now: two servers at one port would share its datagrams, sockets that answer one peer each may.
        socket.set_reuse_address(true).map_err(failed("SO_REUSEADDR"))?;
    } else {
        socket.listen(BACKLOG).map_err(failed("listen"))?;
    }
    socket.set_nonblocking(true).map_err(failed("O_NONBLOCK"))?;
    set(&socket, asked, When::After)?;
    Ok(socket)
}

/// The places that a connection may go to.
pub fn goals(transport: Transport, address: &str) -> Result<Vec<SockAddr>, SocketError> {
    if transport.unix {
        return Ok(vec![SockAddr::unix(address).map_err(|error| SocketError::of(address, &error))?]);
    }
    Ok(resolved(transport, address)?.into_iter().map(SockAddr::from).collect())
}

/// Begins to connect; whether it already stands.
pub fn connect(transport: Transport, goal: &SockAddr, asked: &Wishes) -> Result<(Socket, bool), SocketError> {
    let failed = |what: &'static str| move |error: io::Error| SocketError::of(what, &error);
    let socket = make(goal.domain(), transport, asked)?;
    set(&socket, asked, When::Before)?;
    let goal = socket_options::labelled(&socket, goal.clone(), asked).map_err(failed("flow_label"))?;
    socket.set_nonblocking(true).map_err(failed("O_NONBLOCK"))?;
    let stands = match socket.connect(&goal) {
        Ok(()) => true,
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => false,
        Err(error) => return Err(SocketError::of("connect", &error)),
    };
    if stands {
        set(&socket, asked, When::After)?;
    }
    Ok((socket, stands))
}

/// A socket bound as a place is, and connected to one who sent a datagram there.
pub fn answer(place: &Socket, to: &str) -> Result<Socket, SocketError> {
    let failed = |what: &'static str| move |error: io::Error| SocketError::of(what, &error);
    let near = place.local_addr().map_err(failed("getsockname"))?;
    let peer: SocketAddr = to.parse().map_err(|_| SocketError::new(format!("{to}: not an address")))?;
    let peer = match (near.domain() == Domain::IPV6, peer) {
        (true, SocketAddr::V4(four)) => SocketAddr::new(four.ip().to_ipv6_mapped().into(), four.port()),
        _ => peer,
    };
    let socket = Socket::new(near.domain(), Type::DGRAM, Some(Protocol::UDP)).map_err(failed("socket"))?;
    if near.domain() == Domain::IPV6 {
        socket.set_only_v6(place.only_v6().unwrap_or(false)).map_err(failed("IPV6_V6ONLY"))?;
    }
    if let Ok(bytes) = place.recv_buffer_size() {
        // Linux counts twice what it is asked for.
        let room = [("receive_buffer_bytes".to_string(), (bytes / 2).to_string())];
        set(&socket, &room, When::Before)?;
    }
    socket.set_reuse_address(true).map_err(failed("SO_REUSEADDR"))?;
    socket.bind(&near).map_err(failed("bind"))?;
    socket.connect(&peer.into()).map_err(failed("connect"))?;
    socket.set_nonblocking(true).map_err(failed("O_NONBLOCK"))?;
    Ok(socket)
}

fn make(domain: Domain, transport: Transport, asked: &Wishes) -> Result<Socket, SocketError> {
    if transport.sctp {
        let made = Socket::new(domain, transport.kind, Some(Protocol::from(libc::IPPROTO_SCTP)));
        return made.map_err(|error| match error.raw_os_error() {
            Some(errno @ (libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::EPROTOTYPE)) => {
                SocketError { errno, what: "this kernel has no SCTP".into() }
            }
            _ => SocketError::of("socket", &error),
        });
    }
    socket_options::make(domain, transport.kind, asked).map_err(|(name, error)| {
        SocketError::of(if name.is_empty() { "socket".into() } else { name }, &error)
    })
}

/// Sets options of a socket.
pub fn set(socket: &Socket, asked: &Wishes, when: When) -> Result<(), SocketError> {
    socket_options::set(socket, asked, when).map_err(|(name, error)| SocketError::of(name, &error))
}

/// An address as text; IPv4 behind IPv6 as IPv4.
pub fn text(address: &SockAddr) -> String {
    if let Some(address) = address.as_socket() {
        return SocketAddr::new(address.ip().to_canonical(), address.port()).to_string();
    }
    address.as_pathname().map_or_else(String::new, |path| path.display().to_string())
}

/// Both ends of a socket, and what the system made of it.
pub fn ends(socket: &Socket) -> Ends {
    let local = socket.local_addr().map(|address| text(&address)).unwrap_or_default();
    let peer = socket.peer_addr().map(|address| text(&address)).unwrap_or_default();
    Ends { local, peer, socket: facts(socket) }
}

fn facts(socket: &Socket) -> SocketFacts {
    let (cwnd_bytes, rtt_us) =
        crate::connections::window_and_round_trip(socket.as_raw_fd()).unwrap_or_default();
    SocketFacts {
        cwnd_bytes,
        rtt_us,
        descriptor: socket.as_raw_fd(),
        send_buffer_bytes: socket.send_buffer_size().unwrap_or(0) as u64,
        receive_buffer_bytes: socket.recv_buffer_size().unwrap_or(0) as u64,
        mss: u64::from(socket.tcp_mss().unwrap_or(0)),
        congestion: congestion(socket),
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn congestion(socket: &Socket) -> String {
    let name = socket.tcp_congestion().unwrap_or_default();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn congestion(_socket: &Socket) -> String {
    String::new()
}

/// Whether a socket is SCTP's, which knows no half-closed connection: who sends no more ends it for both, and is not told when it
/// is over.
#[cfg(target_os = "linux")]
pub fn is_sctp(socket: &Socket) -> bool {
    socket.protocol().is_ok_and(|protocol| protocol == Some(Protocol::from(libc::IPPROTO_SCTP)))
}

/// Whether an SCTP socket still has its association: the kernel has a status of nothing else (RFC 6458, 8.2.1).
#[cfg(target_os = "linux")]
pub fn is_associated(socket: &Socket) -> bool {
    const SCTP_STATUS: i32 = 14;
    let (mut status, mut bytes) = ([0_u64; 64], size_of::<[u64; 64]>() as libc::socklen_t);
    // SAFETY: the kernel writes no more than the bytes that it is told of, which are the array's.
    let result = unsafe {
        let room = status.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_STATUS, room, &raw mut bytes)
    };
    result == 0
}

#[cfg(not(target_os = "linux"))]
pub fn is_sctp(_: &Socket) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub fn is_associated(_: &Socket) -> bool {
    false
}
