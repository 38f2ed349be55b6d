//! What a socket is asked for, by name: the options that plans and conversations share.
//!
//! One place sets them, so that `nodelay` means the same to the engine, to a native plan and to a control protocol's
//! pump. It refuses to pass over a wish in silence: what the system does not take comes back with its name.

use std::io;
use std::time::Duration;

use iodyno_model::Diagnostic;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

#[cfg(target_os = "linux")]
use super::options;
use crate::engines::{SettingSpec, spec};

/// When a socket is asked: some options mean nothing any more once it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before it connects or listens.
    Before,
    /// It stands: it was accepted, or is to change. What must come before is passed over.
    After,
}

/// The options of sockets.
pub const SETTINGS: &[SettingSpec] = &[
    spec("nodelay", "send small segments at once, TCP_NODELAY"),
    spec("cork", "hold back segments that are not full, TCP_CORK (TCP_NOPUSH)"),
    spec("mss", "largest TCP segment, in bytes (TCP_MAXSEG)"),
    spec("window_bytes", "both of the socket's buffers, SO_SNDBUF and SO_RCVBUF"),
    spec("send_buffer_bytes", "the send buffer, SO_SNDBUF"),
    spec("receive_buffer_bytes", "the receive buffer, SO_RCVBUF"),
    spec("congestion", "congestion control, TCP_CONGESTION (cubic, bbr, …)"),
    spec("tos", "the traffic class byte, IP_TOS and IPV6_TCLASS"),
    spec("priority", "the queueing discipline's class, SO_PRIORITY (Linux)"),
    spec("flow_label", "the IPv6 flow label"),
    spec("ttl", "hops that a packet may take"),
    spec("device", "the interface it is bound to, SO_BINDTODEVICE"),
    spec("bind", "the near end's address, ADDRESS[:PORT]"),
    spec("user_timeout_ms", "how long unacknowledged data may wait, TCP_USER_TIMEOUT"),
    spec("keepalive", "ask an idle peer whether it is there: on, off, or IDLE/INTERVAL/COUNT"),
    spec("dont_fragment", "packets are not to be cut on the way"),
    spec("mptcp", "multipath TCP"),
    spec("pacing_bps", "the kernel's pace, bytes per second, SO_MAX_PACING_RATE"),
    spec("busy_poll", "µs that a receive polls the device, SO_BUSY_POLL"),
    spec("fastopen", "data with the first segment, TCP_FASTOPEN"),
    spec("linger", "seconds that closing waits; 0: the connection is reset"),
    spec("family", "4 or 6: the addresses that a name may stand for"),
    spec("only_v6", "an IPv6 place does not take IPv4 peers"),
    spec("sctp_streams", "streams that an SCTP association asks for (Linux)"),
    spec("sctp_bind", "addresses of an SCTP association's near end beside `bind`, joined by + (Linux)"),
];

/// Whether a name is that of an option.
pub fn is_socket_option(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name)
}

/// What a job's or an action's wish says; the last of its name counts.
pub fn wish<'a>(wishes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    wishes.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether a wish of this name is there and is not off.
pub fn is_wanted(wishes: &[(String, String)], name: &str) -> bool {
    wish(wishes, name).is_some_and(|value| matches!(switch(value), Ok(true)))
}

/// Makes a socket; `mptcp` among the wishes is answered here, because later it is too late.
///
/// # Errors
/// The wish that the system does not grant (empty: the socket itself), and its error.
pub fn make(domain: Domain, kind: Type, wishes: &[(String, String)]) -> Result<Socket, (String, io::Error)> {
    let many = is_wanted(wishes, "mptcp") && kind == Type::STREAM && domain != Domain::UNIX;
    let named = |error| (if many { "mptcp".to_string() } else { String::new() }, error);
    Socket::new(domain, kind, multipath(many).map_err(named)?).map_err(named)
}

/// Sets what is wished of a socket.
///
/// # Errors
/// The first wish that it does not grant, and why.
pub fn set(socket: &Socket, wishes: &[(String, String)], when: When) -> Result<(), (String, io::Error)> {
    for (name, value) in wishes {
        set_one(socket, name, value, when).map_err(|error| (name.clone(), error))?;
    }
    Ok(())
}

/// The address to connect to, with the flow label where one is wished.
///
/// # Errors
/// The label cannot be had.
pub fn labelled(socket: &Socket, to: SockAddr, wishes: &[(String, String)]) -> io::Result<SockAddr> {
    let Some(value) = wish(wishes, "flow_label") else { return Ok(to) };
    let Some(mut six) = to.as_socket_ipv6() else {
        return Err(refused("only IPv6 has flow labels"));
    };
    let label = number(value)?;
    #[cfg(target_os = "linux")]
    options::flow_label(socket, &six, label)?;
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
    six.set_flowinfo(label.to_be());
    Ok(six.into())
}

/// One error for each wish whose value makes no sense, before anything is touched.
pub fn check(job: &iodyno_model::Job) -> Vec<Diagnostic> {
    let numbers = [
        "mss",
        "window_bytes",
        "send_buffer_bytes",
        "receive_buffer_bytes",
        "flow_label",
        "user_timeout_ms",
        "pacing_bps",
        "busy_poll",
        "priority",
        "linger",
        "sctp_streams",
    ];
    let number = |value: &str| value.parse::<u64>().is_ok();
    let byte = |value: &str| value.parse::<u8>().is_ok();
    let mut wrong = super::super::check_values(job, &numbers, number, "say a whole number");
    wrong.extend(super::super::check_values(job, &["tos", "ttl"], byte, "say a number from 0 to 255"));
    let switches = ["nodelay", "cork", "dont_fragment", "mptcp", "fastopen", "only_v6"];
    wrong.extend(super::super::check_switches(job, &switches));
    let family = |value: &str| matches!(value, "4" | "6");
    wrong.extend(super::super::check_values(job, &["family"], family, "say 4 or 6"));
    wrong
}

fn set_one(socket: &Socket, name: &str, value: &str, when: When) -> io::Result<()> {
    match name {
        "nodelay" => nodelay(socket, switch(value)?),
        "cork" => cork(socket, switch(value)?),
        "mss" => socket.set_tcp_mss(number(value)?),
        "window_bytes" => {
            buffer(socket, value, false)?;
            buffer(socket, value, true)
        }
        "send_buffer_bytes" => buffer(socket, value, true),
        "receive_buffer_bytes" => buffer(socket, value, false),
        "congestion" => congestion(socket, value),
        "tos" => tos(socket, number(value)?),
        "ttl" => ttl(socket, number(value)?),
        "device" => device(socket, value),
        "user_timeout_ms" => user_timeout(socket, number(value)?),
        "keepalive" => keepalive(socket, value),
        "dont_fragment" => dont_fragment(socket, switch(value)?),
        "pacing_bps" => pacing(socket, parse_number(value)?),
        "busy_poll" => busy_poll(socket, number(value)?),
        "priority" => priority(socket, number(value)?),
        "linger" => socket.set_linger(Some(Duration::from_secs(parse_number(value)?))),
        "bind" | "fastopen" | "only_v6" | "sctp_streams" | "sctp_bind" if when == When::After => Ok(()),
        "sctp_streams" => {
            sctp_streams(socket, value.parse().map_err(|_| refused("not a number below 65536"))?)
        }
        "sctp_bind" => {
            let addresses = value.split('+').map(str::parse).collect::<Result<Vec<_>, _>>();
            sctp_bind(socket, &addresses.map_err(|_| refused("not addresses joined by +"))?)
        }
        "bind" => bind(socket, value),
        "fastopen" => fastopen(socket, switch(value)?),
        "only_v6" => socket.set_only_v6(switch(value)?),
        // Answered where the socket is made, or its peer's address is looked up.
        "mptcp" | "family" | "flow_label" => Ok(()),
        _ => Err(refused("no such option of a socket")),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn number(value: &str) -> io::Result<u32> {
    value.parse().map_err(|_| refused("not a whole number"))
}

fn parse_number(value: &str) -> io::Result<u64> {
    value.parse().map_err(|_| refused("not a whole number"))
}

fn switch(value: &str) -> io::Result<bool> {
    super::super::switch_of(value).ok_or_else(|| refused("say on or off"))
}

/// The size of a buffer; more than the system grants everybody is asked for as the administrator.
fn buffer(socket: &Socket, value: &str, sends: bool) -> io::Result<()> {
    let bytes = usize::try_from(parse_number(value)?).unwrap_or(usize::MAX);
    let granted = match sends {
        true => socket.set_send_buffer_size(bytes).and_then(|()| socket.send_buffer_size())?,
        false => socket.set_recv_buffer_size(bytes).and_then(|()| socket.recv_buffer_size())?,
    };
    #[cfg(target_os = "linux")]
    if granted < bytes {
        // Only the administrator may; who may not has what the system gave.
        let option = if sends { libc::SO_SNDBUFFORCE } else { libc::SO_RCVBUFFORCE };
        let most = bytes.min(i32::MAX as usize / 2) as i32;
        let _ = options::set(socket, libc::SOL_SOCKET, option, &most);
    }
    let _ = granted;
    Ok(())
}

fn is_six(socket: &Socket) -> bool {
    socket.local_addr().is_ok_and(|near| near.is_ipv6())
}

fn tos(socket: &Socket, class: u32) -> io::Result<()> {
    if !is_six(socket) {
        return socket.set_tos_v4(class);
    }
    // IPv4 peers of an IPv6 socket take the other one, where the system has both.
    let _ = socket.set_tos_v4(class);
    socket.set_tclass_v6(class)
}

fn ttl(socket: &Socket, hops: u32) -> io::Result<()> {
    // Only datagrams go to groups.
    let groups = socket.r#type()? == Type::DGRAM;
    match (is_six(socket), groups) {
        (true, true) => socket.set_multicast_hops_v6(hops)?,
        (false, true) => socket.set_multicast_ttl_v4(hops)?,
        _ => {}
    }
    if is_six(socket) { socket.set_unicast_hops_v6(hops) } else { socket.set_ttl_v4(hops) }
}

/// `on`, `off`, or idle seconds, seconds between probes and their number.
fn keepalive(socket: &Socket, value: &str) -> io::Result<()> {
    if let Ok(on) = switch(value) {
        return socket.set_keepalive(on);
    }
    let wrong = || refused("say on, off or IDLE/INTERVAL/COUNT");
    let parts: Result<Vec<u32>, _> = value.split('/').map(str::parse).collect();
    let parts = parts.map_err(|_| wrong())?;
    let mut wish = TcpKeepalive::new();
    let seconds = |at: usize| parts.get(at).filter(|part| **part > 0).map(|part| u64::from(*part));
    if let Some(idle) = seconds(0) {
        wish = wish.with_time(Duration::from_secs(idle));
    }
    if let Some(interval) = seconds(1) {
        wish = wish.with_interval(Duration::from_secs(interval));
    }
    if let Some(count) = seconds(2) {
        wish = wish.with_retries(count as u32);
    }
    socket.set_tcp_keepalive(&wish)
}

/// `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, `:PORT`, or a path.
fn bind(socket: &Socket, value: &str) -> io::Result<()> {
    let near = socket.local_addr()?;
    if near.domain() == Domain::UNIX {
        return socket.bind(&SockAddr::unix(value)?);
    }
    let (address, port) = split(value);
    let port = port.map_or(Ok(0), |port| port.parse().map_err(|_| refused("not a port")))?;
    let six = near.is_ipv6();
    let address = match (address, six) {
        ("", true) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        ("", false) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        (text, _) => resolve(text, six)?,
    };
    if port > 0 {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&std::net::SocketAddr::new(address, port).into())
}

fn resolve(text: &str, six: bool) -> io::Result<std::net::IpAddr> {
    use std::net::{IpAddr, ToSocketAddrs};
    let found: Vec<IpAddr> = (text, 0u16).to_socket_addrs()?.map(|address| address.ip()).collect();
    let fits = |address: &IpAddr| address.is_ipv6() == six;
    match found.iter().copied().find(fits) {
        Some(address) => Ok(address),
        None => match found.first() {
            Some(IpAddr::V4(four)) if six => Ok(four.to_ipv6_mapped().into()),
            _ => Err(refused("that address is of the other family")),
        },
    }
}

/// Address and port; an IPv6 address without brackets has none.
fn split(value: &str) -> (&str, Option<&str>) {
    if let Some((address, rest)) = value.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (address, rest.strip_prefix(':'));
    }
    match value.split_once(':') {
        Some((address, port)) if !port.contains(':') => (address, Some(port)),
        _ => (value, None),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::*;

    pub(super) fn multipath(wanted: bool) -> io::Result<Option<Protocol>> {
        Ok(wanted.then_some(Protocol::MPTCP))
    }

    pub(super) fn cork(socket: &Socket, on: bool) -> io::Result<()> {
        socket.set_tcp_cork(on)
    }

    pub(super) fn congestion(socket: &Socket, name: &str) -> io::Result<()> {
        socket.set_tcp_congestion(name.as_bytes())
    }

    pub(super) fn device(socket: &Socket, name: &str) -> io::Result<()> {
        socket.bind_device(Some(name.as_bytes()))
    }

    pub(super) fn user_timeout(socket: &Socket, ms: u32) -> io::Result<()> {
        socket.set_tcp_user_timeout(Some(Duration::from_millis(u64::from(ms))))
    }

    pub(super) fn dont_fragment(socket: &Socket, on: bool) -> io::Result<()> {
        let [four, six] = match on {
            true => [libc::IP_PMTUDISC_DO, libc::IPV6_PMTUDISC_DO],
            false => [libc::IP_PMTUDISC_DONT, libc::IPV6_PMTUDISC_DONT],
        };
        if is_six(socket) {
            options::set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &six)?;
        }
        options::set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &four)
    }

    pub(super) fn pacing(socket: &Socket, bytes_per_second: u64) -> io::Result<()> {
        options::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second)
    }

    pub(super) fn priority(socket: &Socket, class: u32) -> io::Result<()> {
        options::set(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &class)
    }

    /// `sctp_initmsg` of `linux/sctp.h`; zero leaves a part as it is.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct InitMessage {
        streams: u16,
        streams_back: u16,
        attempts: u16,
        timeout_ms: u16,
    }

    const SCTP_INITMSG: i32 = 2;

    pub(super) fn sctp_streams(socket: &Socket, streams: u16) -> io::Result<()> {
        let asked = InitMessage { streams, streams_back: 0, attempts: 0, timeout_ms: 0 };
        options::set(socket, libc::IPPROTO_SCTP, SCTP_INITMSG, &asked)
    }

    const SCTP_NODELAY: i32 = 3;
    const SCTP_SOCKOPT_BINDX_ADD: i32 = 100;

    /// What is sent goes out at once, of whichever protocol.
    pub(super) fn nodelay(socket: &Socket, on: bool) -> io::Result<()> {
        match socket.protocol()? {
            Some(protocol) if i32::from(protocol) == libc::IPPROTO_SCTP => {
                options::set(socket, libc::IPPROTO_SCTP, SCTP_NODELAY, &i32::from(on))
            }
            _ => socket.set_tcp_nodelay(on),
        }
    }

    /// Adds addresses to those of the near end: `sctp_bindx` of RFC 6458, whose addresses lie one behind the other.
    pub(super) fn sctp_bind(socket: &Socket, addresses: &[std::net::IpAddr]) -> io::Result<()> {
        let mut packed = Vec::new();
        for address in addresses {
            let address = SockAddr::from(std::net::SocketAddr::new(*address, 0));
            // SAFETY: the address is valid for its length.
            packed.extend(unsafe {
                std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.len() as usize)
            });
        }
        options::set_bytes(socket, libc::IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, &packed)
    }

    pub(super) fn busy_poll(socket: &Socket, us: u32) -> io::Result<()> {
        options::set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &us)
    }

    pub(super) fn fastopen(socket: &Socket, on: bool) -> io::Result<()> {
        // One is for who connects, the other for who listens; which of both this is shows later.
        options::set(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &i32::from(on))?;
        options::set(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &if on { 128i32 } else { 0 })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    fn missing<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not have it"))
    }

    pub(super) fn multipath(wanted: bool) -> io::Result<Option<Protocol>> {
        if wanted { missing() } else { Ok(None) }
    }

    pub(super) fn cork(_: &Socket, on: bool) -> io::Result<()> {
        if on { missing() } else { Ok(()) }
    }

    pub(super) fn congestion(_: &Socket, _: &str) -> io::Result<()> {
        missing()
    }

    pub(super) fn device(_: &Socket, _: &str) -> io::Result<()> {
        missing()
    }

    pub(super) fn user_timeout(_: &Socket, _: u32) -> io::Result<()> {
        missing()
    }

    pub(super) fn dont_fragment(_: &Socket, on: bool) -> io::Result<()> {
        if on { missing() } else { Ok(()) }
    }

    pub(super) fn pacing(_: &Socket, _: u64) -> io::Result<()> {
        missing()
    }

    pub(super) fn priority(_: &Socket, _: u32) -> io::Result<()> {
        missing()
    }

    pub(super) fn sctp_streams(_: &Socket, _: u16) -> io::Result<()> {
        missing()
    }

    pub(super) fn nodelay(socket: &Socket, on: bool) -> io::Result<()> {
        socket.set_tcp_nodelay(on)
    }

    pub(super) fn sctp_bind(_: &Socket, _: &[std::net::IpAddr]) -> io::Result<()> {
        missing()
    }

    pub(super) fn busy_poll(_: &Socket, _: u32) -> io::Result<()> {
        missing()
    }

    pub(super) fn fastopen(_: &Socket, on: bool) -> io::Result<()> {
        if on { missing() } else { Ok(()) }
    }
}

use system::{
    busy_poll, congestion, cork, device, dont_fragment, fastopen, multipath, nodelay, pacing, priority,
    sctp_bind, sctp_streams, user_timeout,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn what_is_wished_is_set() {
        let all = wishes(&[("nodelay", "on"), ("window_bytes", "65536"), ("tos", "16"), ("linger", "0")]);
        let socket = make(Domain::IPV4, Type::STREAM, &all).unwrap();
        set(&socket, &all, When::Before).unwrap();
        assert!(socket.tcp_nodelay().unwrap());
        assert!(socket.recv_buffer_size().unwrap() >= 65536);
        assert_eq!(socket.tos_v4().unwrap(), 16);
        assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_not_granted_has_a_name() {
        let socket = make(Domain::IPV4, Type::STREAM, &[]).unwrap();
        for (name, value) in
            [("congestion", "no-such"), ("nodelay", "perhaps"), ("colour", "blue"), ("mss", "x")]
        {
            let (named, _) = set(&socket, &wishes(&[(name, value)]), When::Before).unwrap_err();
            assert_eq!(named, name);
        }
    }

    #[test]
    fn near_ends_are_understood() {
        assert_eq!(split("127.0.0.1:80"), ("127.0.0.1", Some("80")));
        assert_eq!(split("127.0.0.1"), ("127.0.0.1", None));
        assert_eq!(split("[::1]:80"), ("::1", Some("80")));
        assert_eq!(split("::1"), ("::1", None));
        assert_eq!(split(":80"), ("", Some("80")));
        let socket = make(Domain::IPV4, Type::STREAM, &[]).unwrap();
        set(&socket, &wishes(&[("bind", "127.0.0.1")]), When::Before).unwrap();
        assert_eq!(socket.local_addr().unwrap().as_socket().unwrap().ip().to_string(), "127.0.0.1");
        set(&socket, &wishes(&[("bind", "127.0.0.1")]), When::After).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_grants_its_own() {
        let all = wishes(&[
            ("dont_fragment", "on"),
            ("pacing_bps", "1000000"),
            ("user_timeout_ms", "500"),
            ("keepalive", "9/2/3"),
            ("cork", "on"),
            ("fastopen", "on"),
            ("ttl", "9"),
        ]);
        for domain in [Domain::IPV4, Domain::IPV6] {
            let Ok(socket) = make(domain, Type::STREAM, &all) else { continue };
            set(&socket, &all, When::Before).unwrap();
            assert!(socket.tcp_cork().unwrap() && socket.keepalive().unwrap());
        }
    }
}
