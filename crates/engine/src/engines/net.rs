//! `net` and `netsplice`: a stream of bytes between two sockets. What one side writes the other reads; with `pingpong`
//! each operation goes there and back.
//!
//! On the wire it is what fio does, so that either side may be fio: over UDP the writer announces itself with an open
//! datagram that the reader waits for, and each side takes its leave with a close message, over TCP too. `netsplice` is
//! the same through splice, for streams only; a spliced buffer may be sent after it was filled anew.

use iodyno_model::{Diagnostic, EngineTrait, Job, TargetKind, Verb, VerbSet};
use socket2::Socket;

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, only_verbs, spec, switched_on,
};
use crate::io::{Files, Io};

pub(super) mod address;
mod peer;

use peer::Peer;

/// `net`.
pub type Net = Network<false>;
/// `netsplice`.
#[cfg(target_os = "linux")]
pub type Netsplice = Network<true>;

/// Streams between sockets.
pub struct Network<const SPLICE: bool> {
    /// One for each of the job's targets.
    peers: Vec<Option<Peer>>,
    pingpong: bool,
    #[cfg(target_os = "linux")]
    pipe: Option<super::splice::Pipe>,
}

impl<const SPLICE: bool> SyncEngine for Network<SPLICE> {
    const FACTS: EngineFacts = EngineFacts {
        about: if SPLICE {
            "sends to or receives from a peer through splice (tcp, unix, vsock)"
        } else {
            "sends to or receives from a peer (tcp, udp, unix, vsock)"
        },
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Send, Verb::Recv]),
        settings: &[
            spec("nodelay", "send small segments at once, TCP_NODELAY (default off)"),
            spec("pingpong", "each operation is sent and comes back (default off)"),
            spec("window_bytes", "the socket's buffer, as SO_SNDBUF and SO_RCVBUF take it"),
            spec("mss", "largest TCP segment, in bytes (TCP_MAXSEG)"),
            spec("interface", "address of the interface for UDP multicast"),
            spec("ttl", "hops of outgoing UDP multicast (default 1)"),
            spec("port_each", "worker n takes the n-th port from the address's (default off)"),
        ],
        connects: true,
        is_slow: true,
        check: Self::check,
        traits: if SPLICE {
            &[EngineTrait::ExchangesFiles]
        } else {
            &[EngineTrait::KeepsProcessorBusy, EngineTrait::ExchangesFiles]
        },
        ..EngineFacts::named(if SPLICE { "netsplice" } else { "net" })
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let mut peers = Vec::new();
        for handle in 0..setup.files.handles.len() {
            let kind = setup.target(handle).map(|target| &target.kind);
            let Some(TargetKind::Endpoint { transport, .. }) = kind else {
                peers.push(None);
                continue;
            };
            if SPLICE && transport.starts_with("udp") {
                let message = "datagrams cannot be spliced";
                return Err(Failure::new(message).hint("use the engine net for udp"));
            }
            peers.push(Some(Peer::meet(setup, handle)?));
        }
        Ok(Network {
            peers,
            pingpong: switched_on(setup.job, "pingpong"),
            #[cfg(target_os = "linux")]
            pipe: match SPLICE {
                true => Some(super::splice::Pipe::new().map_err(|errno| Failure::call("pipe2", errno))?),
                false => None,
            },
        })
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        self.exchange(io)
    }
}

impl<const SPLICE: bool> Network<SPLICE> {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = check_switches(job, &["nodelay", "pingpong", "port_each"]);
        let number = |value: &str| value.parse::<u32>().is_ok();
        wrong.extend(check_values(job, &["window_bytes", "mss", "ttl"], number, "say a whole number"));
        let address = |value: &str| value.parse::<std::net::Ipv4Addr>().is_ok();
        wrong.extend(check_values(job, &["interface"], address, "say its IPv4 address"));
        wrong.extend(only_verbs(job, Self::FACTS.name, &[Verb::Read, Verb::Write, Verb::Send, Verb::Recv]));
        wrong
    }

    /// One operation, there and with `pingpong` back.
    fn exchange(&mut self, io: &Io) -> i64 {
        let verbs = match io.verb {
            Verb::Write | Verb::Send => [Verb::Send, Verb::Recv],
            Verb::Read | Verb::Recv => [Verb::Recv, Verb::Send],
            _ => return -i64::from(libc::EOPNOTSUPP),
        };
        let first = self.one_way(verbs[0], io, io.bytes);
        if !self.pingpong || first <= 0 {
            return first;
        }
        match self.one_way(verbs[1], io, first as u64) {
            failed @ ..0 => failed,
            _ => first,
        }
    }

    fn one_way(&mut self, verb: Verb, io: &Io, bytes: u64) -> i64 {
        let Some(Some(peer)) = self.peers.get_mut(io.file as usize) else {
            return -i64::from(libc::ENOTCONN);
        };
        #[cfg(target_os = "linux")]
        if let Some(pipe) = &mut self.pipe {
            return peer.splice(pipe, verb, io.buffer, bytes);
        }
        // SAFETY: the buffer is valid for the operation's bytes until it completes, which is here.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, bytes as usize) };
        match verb {
            Verb::Send => peer.send(buffer, !self.pingpong),
            _ => peer.receive(buffer),
        }
    }
}

/// The descriptor's error, as results are.
fn negated(error: &std::io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Sets what a job asks of its sockets before they connect or listen.
fn adorn(socket: &Socket, job: &Job, transport: &str, sends: bool) -> Result<(), Failure> {
    let asked = |name| super::whole_number(job, name).map(|value| value as usize);
    let tcp = transport.starts_with("tcp");
    if let Some(bytes) = asked("window_bytes").filter(|bytes| *bytes > 0) {
        let set = if sends { socket.set_send_buffer_size(bytes) } else { socket.set_recv_buffer_size(bytes) };
        set.map_err(|error| Failure::io("window_bytes", &error))?;
    }
    if let Some(bytes) = asked("mss").filter(|bytes| *bytes > 0 && tcp) {
        socket
            .set_tcp_mss(bytes as u32)
            .map_err(|error| Failure::io("mss", &error).hint("leave it out, or say 88 to 32767"))?;
    }
    if tcp && switched_on(job, "nodelay") {
        socket.set_tcp_nodelay(true).map_err(|error| Failure::io("nodelay", &error))?;
    }
    Ok(())
}
