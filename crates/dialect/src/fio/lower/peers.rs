//! Network endpoints as targets: whom `ioengine=net` talks to, and which side waits for the other.
//!
//! fio writes the peer's address where other engines have a file name; here it becomes one endpoint. It refuses, in fio's
//! words, what fio finds out when it connects; it resolves no name and opens no socket.

use iodyno_model::{Open, Prepare, Target, TargetKind};

use super::JobContext;
use super::direction::Direction;
use super::engine::Engine;
use super::option_reader::OptionReader;
use crate::option::refuse;

/// fio's protocols and ours.
const TRANSPORTS: [(&str, &str); 6] = [
    ("tcp", "tcp"),
    ("tcpv6", "tcp6"),
    ("udp", "udp"),
    ("udpv6", "udp6"),
    ("unix", "unix"),
    ("vsock", "vsock"),
];

/// The endpoint of a job.
pub fn target(ask: &mut OptionReader<'_>, found: &JobContext) -> Target {
    let transport = transport(ask);
    let host = host(ask);
    let port = ask.count("port");
    check(ask, &found.direction, &found.engine, host.is_some());
    let listen = listens(ask, transport, &found.direction);
    let host = host.unwrap_or_default();
    let address = match (transport, port) {
        ("unix", _) => host.to_string(),
        (_, port) => format!("{host}:{}", port.unwrap_or(0)),
    };
    Target {
        name: address.clone(),
        kind: TargetKind::Endpoint { transport: transport.into(), address, listen },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: ask.origin(said_by(ask)).clone(),
    }
}

fn transport(ask: &OptionReader<'_>) -> &'static str {
    let word = ask.word("protocol").unwrap_or("tcp");
    TRANSPORTS.iter().find(|known| known.0 == word).map_or("tcp", |known| known.1)
}

/// `hostname` and `filename` write the same place in fio: the later one counts.
fn said_by(ask: &OptionReader<'_>) -> &'static str {
    if ask.position("filename") > ask.position("hostname") { "filename" } else { "hostname" }
}

fn host<'a>(ask: &OptionReader<'a>) -> Option<&'a str> {
    ask.text(said_by(ask))
}

/// Of TCP either side may wait for the other; of the rest it is the reader.
fn listens(ask: &OptionReader<'_>, transport: &str, direction: &Direction) -> bool {
    let asked = ask.flag("listen", false);
    match transport {
        "tcp" | "tcp6" => asked,
        _ => asked || direction.reads,
    }
}

/// 224.0.0.0/4 (RFC 5771) and ff00::/8 (RFC 4291).
fn is_multicast(host: &str) -> bool {
    let first = host.split('.').next().and_then(|part| part.parse::<u8>().ok());
    let six = host.contains(':') && host.len() > 2 && host[..2].eq_ignore_ascii_case("ff");
    six || first.is_some_and(|part| (224..240).contains(&part))
}

/// What fio refuses when it starts to connect.
fn check(ask: &mut OptionReader<'_>, direction: &Direction, engine: &Engine, named: bool) {
    let transport = transport(ask);
    let listens = listens(ask, transport, direction);
    let (tcp, udp, unix) = (transport.starts_with("tcp"), transport.starts_with("udp"), transport == "unix");
    let multicast = udp && host(ask).is_some_and(is_multicast);
    let (asks, has_port) = (ask.flag("listen", false), ask.has("port"));
    let port_of = if transport == "vsock" { "vsock" } else { "tcp or udp" };
    let place = said_by(ask);
    refuse! { ask
        "rw" if direction.random || direction.trims => "network IO can't be random", "say rw=read or rw=write";
        "port" if unix && has_port => "network IO port not valid with unix socket", "the path is filename=PATH";
        "ioengine" if !unix && !has_port => format!("network IO requires port for {port_of}"), "for example port=8888";
        "rw" if !tcp && direction.mixed() =>
            "datagram network connections must be read OR write", "use one job for each direction, or protocol=tcp";
        "listen" if (udp || unix) && asks => "listen only valid for TCP proto IO", "leave it out: the reader listens";
        "protocol" if engine.name == "netsplice" && udp => "datagrams cannot be spliced", "use ioengine=net for udp";
        "ioengine" if !named && unix => "UNIX sockets need host/filename", "filename=PATH";
        "ioengine" if !named && !unix && !listens =>
            "connect with no host to connect to", "say hostname=HOST, or listen";
        place if named && listens && !unix && !multicast =>
            "hostname not valid for non-multicast inbound network IO", "leave it out: the job listens at every interface";
        place if multicast && transport == "udp6" => "IPv6 not supported for multicast network IO", "use an IPv4 group";
    }
}
