//! What TCP says of the connections that workers have open: `TCP_INFO`, per connection, at any time.
//!
//! Engines tell of a connection when they begin to use it and when they are done with it; whoever watches asks. Counters
//! are reported since then, or since the connection was made. It refuses to know connections of other processes, and says
//! nothing of sockets that are not TCP.

use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};

use iodyno_model::ConnectionActivity;

/// Connections of one phase that are reported, at most.
const MOST: usize = 4096;
/// Connections that are looked at with every sample, at most.
const SAMPLED: usize = 32;

/// The connections of a phase.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Mutex<Vec<UsedConnection>>>, Arc<Mutex<Vec<KeptListener>>>);

/// A place where connections are taken.
type KeptListener = Arc<dyn std::any::Any + Send + Sync>;

/// A connection that is or was used.
#[derive(Debug)]
struct UsedConnection {
    /// None: it is used no more.
    fd: Option<RawFd>,
    first: Info,
    last: ConnectionActivity,
}

/// From when on the counters of a connection are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Since it was made: the peer of a connection just taken may have sent already.
    Birth,
    /// Since it was told of: somebody else used it before.
    Now,
}

/// What an engine holds of a connection it told of.
#[derive(Debug)]
pub struct Ticket {
    connections: Connections,
    place: usize,
}

impl Connections {
    /// Tells of a connection that a worker of a job begins to use; none: it is no TCP connection.
    pub fn begin(&self, fd: RawFd, since: Since, target: &str, job: usize, worker: u32) -> Option<Ticket> {
        let now = Info::read(fd)?;
        let first = if since == Since::Now { now } else { Info([0; 256]) };
        let last = ConnectionActivity {
            target: target.into(),
            job,
            worker,
            congestion: congestion(fd),
            ..Default::default()
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            return None;
        }
        all.push(UsedConnection { fd: Some(fd), first, last });
        Some(Ticket { connections: self.clone(), place: all.len() - 1 })
    }

    /// Keeps a place open until the phase is over, whoever has done with it: workers that have not come to it yet find there
    /// who has come for them, and nobody is sent away in between.
    pub fn keep(&self, place: KeptListener) {
        let mut kept = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|known| Arc::ptr_eq(known, &place)) {
            kept.push(place);
        }
    }

    /// How all of them fare, or fared when they were left.
    pub fn seen(&self) -> Vec<ConnectionActivity> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().map(UsedConnection::look).collect()
    }

    /// The same of the first few.
    pub fn seen_few(&self) -> Vec<ConnectionActivity> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().take(SAMPLED).map(UsedConnection::look).collect()
    }
}

impl Ticket {
    /// The connection is used no more: how it fared. Its descriptor must still be open.
    pub fn end(&self) -> ConnectionActivity {
        let mut all = self.connections.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut all[self.place];
        let last = known.look();
        known.fd = None;
        last
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut all = self.connections.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[self.place].fd = None;
    }
}

impl UsedConnection {
    fn look(&mut self) -> ConnectionActivity {
        if let Some(info) = self.fd.and_then(Info::read) {
            info.tell(&self.first, &mut self.last);
        }
        self.last.clone()
    }
}

/// `struct tcp_info` of `linux/tcp.h`, as far as this kernel fills it; the rest is 0.
#[derive(Clone, Copy, Debug)]
struct Info([u8; 256]);

impl Info {
    #[cfg(target_os = "linux")]
    fn read(fd: RawFd) -> Option<Info> {
        let mut info = Info([0; 256]);
        let mut bytes = 256 as libc::socklen_t;
        let room = info.0.as_mut_ptr().cast();
        // SAFETY: the array is valid for writing so many bytes.
        let read = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, room, &raw mut bytes) };
        (read == 0 && bytes >= 104).then_some(info)
    }

    #[cfg(not(target_os = "linux"))]
    fn read(_: RawFd) -> Option<Info> {
        None
    }

    /// The congestion window in bytes and the smoothed round trip in µs.
    fn start(&self) -> (u64, u32) {
        (u64::from(self.four(80)) * u64::from(self.four(16)), self.four(68))
    }

    fn four(&self, at: usize) -> u32 {
        self.0[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
    }

    fn eight(&self, at: usize) -> u64 {
        self.0[at..at + 8].try_into().map_or(0, u64::from_ne_bytes)
    }

    /// Writes down how the connection fares; counters since the first look.
    fn tell(&self, first: &Info, told: &mut ConnectionActivity) {
        let since = |at: usize| self.eight(at).saturating_sub(first.eight(at));
        let mss = self.four(16);
        told.retransmits = u64::from(self.four(100).saturating_sub(first.four(100)));
        told.cwnd_bytes = u64::from(self.four(80)) * u64::from(mss);
        told.peer_window_bytes = u64::from(self.four(228));
        told.rtt_us = self.four(68);
        told.rtt_variation_us = self.four(72);
        // All ones: none was measured.
        told.rtt_least_us = Some(self.four(148)).filter(|least| *least != u32::MAX).unwrap_or(0);
        told.path_mtu = self.four(60);
        told.mss = mss;
        told.reordering = self.four(88);
        told.delivery_bps = self.eight(160);
        // All ones: no pace.
        told.pacing_bps = Some(self.eight(104)).filter(|pace| *pace != u64::MAX).unwrap_or(0);
        (told.busy_us, told.window_limited_us, told.buffer_limited_us) = (since(168), since(176), since(184));
        (told.acked_bytes, told.received_bytes) = (since(120), since(128));
    }
}

/// A TCP connection's congestion window in bytes and round trip in µs now; none: it is none, or nobody says.
pub fn window_and_round_trip(fd: RawFd) -> Option<(u64, u32)> {
    Info::read(fd).map(|info| info.start())
}

#[cfg(target_os = "linux")]
fn congestion(fd: RawFd) -> String {
    let mut name = [0u8; 32];
    let mut bytes = name.len() as libc::socklen_t;
    let room = name.as_mut_ptr().cast();
    // SAFETY: the array is valid for writing so many bytes.
    let read = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, room, &raw mut bytes) };
    let name = if read == 0 { &name[..bytes as usize] } else { &[] };
    String::from_utf8_lossy(name).trim_end_matches('\0').to_string()
}

#[cfg(not(target_os = "linux"))]
fn congestion(_: RawFd) -> String {
    String::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_connection_is_seen_while_it_lives_and_afterwards() {
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(place.local_addr().unwrap()).unwrap();
        let (mut far, _) = place.accept().unwrap();
        near.write_all(&[0; 1000]).unwrap();
        far.read_exact(&mut [0; 1000]).unwrap();
        let all = Connections::default();
        let ticket = all.begin(near.as_raw_fd(), Since::Now, "t", 2, 3).unwrap();
        near.write_all(&[0; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        let seen = &all.seen()[0];
        assert_eq!((seen.target.as_str(), seen.job, seen.worker), ("t", 2, 3));
        assert_eq!(seen.acked_bytes, 5000, "{seen:?}");
        assert!(seen.mss > 0 && seen.rtt_us > 0 && seen.path_mtu > 1000 && !seen.congestion.is_empty());
        let _late = all.begin(far.as_raw_fd(), Since::Birth, "f", 0, 0).unwrap();
        assert_eq!(all.seen()[1].received_bytes, 6000, "what came before it was told of counts too");
        let last = ticket.end();
        drop((ticket, near));
        assert_eq!(all.seen()[0], last);
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(all.begin(datagrams.as_raw_fd(), Since::Now, "u", 0, 0).is_none());
    }
}
