//! How a socket comes to be connected: it connects, accepts, or is lent by a conversation.
//!
//! Workers that wait at one address share one listening socket, so that each accepts one peer. A connection that is refused is tried
//! again for a while: both sides may be jobs of one plan. A conversation lends a connection, or a place where one is accepted.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iodyno_model::TargetKind;
use socket2::{SockAddr, Socket, Type};

use super::line::{Line, bound, is_later};
use super::socket_options::{self, When, is_socket_option};
use crate::clock;
use crate::connections::Since;
use crate::engines::{Failure, Setup, switched_on, whole_number};

/// How long a connection that nobody takes yet is tried again, ns.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Between two tries, ns.
const RETRY_NS: u64 = 10_000_000;
/// Datagrams that are sent before their receiver is bound are lost: one that starts together with us gets this time, ns.
const LISTENER_NS: u64 = 100_000_000;
/// Connections that may queue up at a place.
const BACKLOG: i32 = 4096;

/// Options of sockets, as a job's settings have them.
pub fn asked(setup: &Setup<'_>) -> Vec<(String, String)> {
    let settings = setup.job.settings.iter().filter(|setting| is_socket_option(&setting.name));
    settings.map(|setting| (setting.name.clone(), setting.value.clone())).collect()
}

/// A target's transport, address and whether it is waited there; the port as the worker's own where each has one.
pub struct EndpointAddress {
    pub transport: String,
    pub address: String,
    /// Whether peers come to us.
    pub listens: bool,
    /// The target's name.
    pub name: String,
    shift: u32,
    family: Option<bool>,
}

impl EndpointAddress {
    /// Of a handle.
    ///
    /// # Errors
    /// It is no endpoint.
    pub fn of(setup: &Setup<'_>, handle: usize) -> Result<EndpointAddress, Failure> {
        let none = || Failure::new("no endpoint").hint("the socket engine works on endpoints");
        let target = setup.target(handle).ok_or_else(none)?;
        let TargetKind::Endpoint { transport, address, listen } = &target.kind else { return Err(none()) };
        let shift = if switched_on(setup.job, "port_each") { setup.seat } else { 0 };
        let family = socket_options::wish(&asked(setup), "family").map(|family| family == "6");
        let (transport, address, name) = (transport.clone(), address.clone(), target.name.clone());
        Ok(EndpointAddress { transport, address, listens: *listen, name, shift, family })
    }

    /// Stream or datagrams.
    ///
    /// # Errors
    /// A transport that is not had here.
    pub fn kind(&self) -> Result<Type, Failure> {
        Ok(match self.transport.as_str() {
            "tcp" | "tcp4" | "tcp6" | "unix" => Type::STREAM,
            "udp" | "udp4" | "udp6" => Type::DGRAM,
            // What the kernel answers by itself: nobody waits there.
            "icmp" if !self.listens => Type::DGRAM,
            #[cfg(target_os = "linux")]
            "vsock" => Type::STREAM,
            other => {
                return Err(Failure::new(format!("no transport `{other}` here"))
                    .hint("transports: tcp tcp4 tcp6 udp udp4 udp6 icmp unix vsock connection"));
            }
        })
    }

    /// The addresses that its text means, in the resolver's order.
    ///
    /// # Errors
    /// What cannot be understood or resolved.
    pub fn addresses(&self) -> Result<Vec<SockAddr>, Failure> {
        self.kind()?;
        if matches!(self.transport.as_str(), "unix" | "vsock") {
            return Ok(vec![super::super::net::address::address(
                &self.transport,
                &self.address,
                self.shift,
            )?]);
        }
        let wrong = || {
            Failure::new(format!("{}: not an address of {}", self.address, self.transport))
                .hint("write HOST:PORT, or :PORT to wait at every interface")
        };
        let (host, port) = self.address.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse::<u32>().map_err(|_| wrong())?.checked_add(self.shift).ok_or_else(wrong)?;
        let port = u16::try_from(port).map_err(|_| wrong())?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = match host {
            "" => {
                let every: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
                every.map(|ip| SocketAddr::new(ip, port)).into()
            }
            host => {
                let found = (host, port).to_socket_addrs();
                found.map_err(|error| Failure::new(format!("{host}: {error}")))?.collect()
            }
        };
        let six = match self.transport.as_bytes().last() {
            Some(b'4') => Some(false),
            Some(b'6') => Some(true),
            _ => self.family,
        };
        let fits = |address: &&SocketAddr| six.is_none_or(|six| address.is_ipv6() == six);
        let found: Vec<_> = found.iter().filter(fits).map(|address| SockAddr::from(*address)).collect();
        match found.is_empty() {
            true => {
                Err(Failure::new(format!("{host}: it has no such address")).hint("ask for the other family"))
            }
            false => Ok(found),
        }
    }

    fn who(&self) -> String {
        format!("{} {}", self.transport, self.address)
    }
}

fn ungranted((name, error): (String, io::Error)) -> Failure {
    let what = if name.is_empty() { "socket" } else { &name };
    Failure::io(what, &error).hint(match name.as_str() {
        "" => "another transport may be had here",
        _ => "leave it out, or ask for another value",
    })
}

/// The line of a target.
///
/// # Errors
/// Nobody there, an option that is not granted, or the run ended while waiting.
pub fn meet(setup: &Setup<'_>, handle: usize) -> Result<Line, Failure> {
    let place = EndpointAddress::of(setup, handle)?;
    let asked = asked(setup);
    let socket = match (place.transport.as_str(), place.listens) {
        ("connection", true) => {
            let listener = lent(&place.address)?;
            bound(&listener).map_err(|error| Failure::io("SO_RCVTIMEO", &error))?;
            let socket = accept(setup, &listener, &place)?;
            socket_options::set(&socket, &asked, When::After).map_err(ungranted)?;
            socket
        }
        ("connection", false) => {
            let socket = lent(&place.address)?;
            socket_options::set(&socket, &asked, When::After).map_err(ungranted)?;
            socket
        }
        (_, true) if place.kind()? == Type::DGRAM => bind(&place, &asked)?,
        (_, true) => {
            let listener = listener(&place, &asked)?;
            setup.live.connections.keep(listener.clone());
            let socket = accept(setup, &listener.socket, &place)?;
            socket_options::set(&socket, &asked, When::After).map_err(ungranted)?;
            socket
        }
        (_, false) => connect(setup, &place, &asked)?,
    };
    let is_lent = place.transport == "connection" && !place.listens;
    let since = if is_lent { Since::Now } else { Since::Birth };
    Line::new(setup, socket, &place.name, since)
}

/// Another descriptor of a socket that a conversation has.
///
/// # Errors
/// It is none.
pub fn lent(address: &str) -> Result<Socket, Failure> {
    let none = || Failure::new(format!("connection {address}: there is no such connection"));
    let fd: RawFd = address.parse().map_err(|_| none())?;
    if fd < 0 {
        return Err(none());
    }
    // SAFETY: the number is only asked to be duplicated; one that is not open is refused by the system.
    let lender = unsafe { BorrowedFd::borrow_raw(fd) };
    let own = lender.try_clone_to_owned().map_err(|error| Failure::io("connection", &error))?;
    Ok(own.into())
}

/// Connects, and tries again for a while when nobody waits there yet.
fn connect(
    setup: &Setup<'_>,
    place: &EndpointAddress,
    asked: &[(String, String)],
) -> Result<Socket, Failure> {
    let (addresses, kind) = (place.addresses()?, place.kind()?);
    let end = clock::monotonic() + peer_timeout_ns(setup).unwrap_or(PATIENCE_NS);
    loop {
        let mut last = None;
        for address in &addresses {
            let socket = match place.transport.as_str() {
                "icmp" => echo_socket(address.domain())?,
                _ => socket_options::make(address.domain(), kind, asked).map_err(ungranted)?,
            };
            socket_options::set(&socket, asked, When::Before).map_err(ungranted)?;
            let label = |error| Failure::io("flow_label", &error);
            let goal = socket_options::labelled(&socket, address.clone(), asked).map_err(label)?;
            match socket.connect(&goal) {
                Ok(()) => {
                    if kind == Type::DGRAM && place.transport != "icmp" {
                        clock::sleep_ns(LISTENER_NS);
                    }
                    return Ok(socket);
                }
                Err(error) => last = Some(error),
            }
        }
        let error = last.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
        let number = error.raw_os_error().unwrap_or(libc::EIO);
        let not_yet = matches!(number, libc::ECONNREFUSED | libc::ENOENT | libc::ECONNRESET);
        let stopped = setup.live.stop.load(std::sync::atomic::Ordering::Relaxed) != 0;
        if !not_yet || stopped || clock::monotonic() >= end {
            let failure = Failure::io(&place.who(), &error);
            return Err(failure.hint("start the other side first, or check the address"));
        }
        clock::sleep_ns(RETRY_NS);
    }
}

/// A socket for echo requests, which needs no privilege where the user's group may have one.
fn echo_socket(domain: socket2::Domain) -> Result<Socket, Failure> {
    let six = domain == socket2::Domain::IPV6;
    let protocol = if six { socket2::Protocol::ICMPV6 } else { socket2::Protocol::ICMPV4 };
    Socket::new(domain, Type::DGRAM, Some(protocol)).map_err(|error| {
        Failure::io("icmp", &error).hint("the sysctl net.ipv4.ping_group_range says which groups may")
    })
}

/// A socket that takes datagrams from anybody.
fn bind(place: &EndpointAddress, asked: &[(String, String)]) -> Result<Socket, Failure> {
    let mut last = None;
    for address in place.addresses()? {
        let socket = socket_options::make(address.domain(), Type::DGRAM, asked).map_err(ungranted)?;
        if address.is_ipv6() {
            let _ = socket.set_only_v6(place.transport.ends_with('6'));
        }
        share(&socket).map_err(|error| Failure::io("SO_REUSEPORT", &error))?;
        socket_options::set(&socket, asked, When::Before).map_err(ungranted)?;
        match socket.bind(&address) {
            Ok(()) => return Ok(socket),
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
    Err(Failure::io(&place.who(), &error).hint("choose another port, or end who has it"))
}

fn share(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)
}

/// A place where connections are taken; its path goes with it.
#[derive(Debug)]
pub struct Listener {
    pub socket: Socket,
    path: Option<String>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The places of this process, by transport and address.
static PLACES: Mutex<Vec<(String, Weak<Listener>)>> = Mutex::new(Vec::new());

/// The place at an address, shared by all workers of this process.
///
/// # Errors
/// It cannot be had.
pub fn listener(place: &EndpointAddress, asked: &[(String, String)]) -> Result<Arc<Listener>, Failure> {
    let name = format!("{} {}", place.who(), place.shift);
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    places.retain(|(_, known)| known.strong_count() > 0);
    let known = places.iter().find(|(known, _)| *known == name).and_then(|(_, known)| known.upgrade());
    if let Some(known) = known {
        return Ok(known);
    }
    let made = Arc::new(listen(place, asked)?);
    places.push((name, Arc::downgrade(&made)));
    Ok(made)
}

fn listen(place: &EndpointAddress, asked: &[(String, String)]) -> Result<Listener, Failure> {
    let kind = place.kind()?;
    let path = (place.transport == "unix").then(|| place.address.clone());
    if let Some(path) = &path {
        // Left behind by an earlier run; a file that is no socket stays, and binding fails.
        use std::os::unix::fs::FileTypeExt;
        if std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket()) {
            let _ = std::fs::remove_file(path);
        }
    }
    let mut last = None;
    for address in place.addresses()? {
        let socket = socket_options::make(address.domain(), kind, asked).map_err(ungranted)?;
        if address.is_ipv6() {
            let _ = socket.set_only_v6(place.transport.ends_with('6'));
        }
        if path.is_none() {
            socket.set_reuse_address(true).map_err(|error| Failure::io("SO_REUSEADDR", &error))?;
        }
        socket_options::set(&socket, asked, When::Before).map_err(ungranted)?;
        match socket.bind(&address).and_then(|()| socket.listen(BACKLOG)).and_then(|()| bound(&socket)) {
            Ok(()) => return Ok(Listener { socket, path }),
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
    Err(Failure::io(&place.who(), &error).hint("choose another port, or end who has it"))
}

/// For how long a peer that is not there yet is awaited, where the job says so.
fn peer_timeout_ns(setup: &Setup<'_>) -> Option<u64> {
    whole_number(setup.job, "peer_timeout_ms").map(|ms| ms * 1_000_000)
}

/// Waits for one connection, until the worker is stopped or the job's patience ends.
fn accept(setup: &Setup<'_>, listener: &Socket, place: &EndpointAddress) -> Result<Socket, Failure> {
    let end = peer_timeout_ns(setup).map(|timeout_ns| clock::monotonic() + timeout_ns);
    loop {
        match listener.accept() {
            Ok((socket, _)) => return Ok(socket),
            Err(error) if is_later(error.raw_os_error().unwrap_or(0)) => {
                if setup.live.stop.load(std::sync::atomic::Ordering::Relaxed) != 0 {
                    return Err(Failure::new(format!("{}: the run ended before a peer came", place.who())));
                }
                if end.is_some_and(|end| clock::monotonic() >= end) {
                    return Err(Failure::new(format!("{}: no peer came in time", place.who())));
                }
            }
            Err(error) => return Err(Failure::io(&place.who(), &error)),
        }
    }
}
