//! One socket in use: how it waits, what it counts, and how it is left.
//!
//! Calls block, in slices, so that a stop and the end of the job's time are seen; the last wait is as long as there is
//! time. What has moved when time is up is counted; what has not begun to move was no operation.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use socket2::Socket;

use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::connections::{Since, Ticket};
use crate::engines::{Failure, Setup};
use crate::io::UNTALLIED;
use crate::memory::errno;
use crate::worker_counters::{Count, Counts};

/// How long one blocking call waits, ns.
pub const SLICE_NS: u64 = 50_000_000;

/// The result of an operation that time overtook before it began: there was none.
pub const NONE: i64 = UNTALLIED;

/// How long it is waited: until the worker is asked to stop, or its time is up.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    stop: *const AtomicU32,
    time_ns: u64,
    deadline: Tick,
    ramp_ns: u64,
    /// When the ramp ends; never: it has, or there is none.
    ramp_end: Tick,
}

impl Patience {
    /// As long as a job's time.
    pub fn new(setup: &Setup<'_>) -> Patience {
        let limit = &setup.job.limit;
        // Who wears out, or counts from a byte on, ends by other rules than the clock's.
        let by_clock = !limit.wear_out && limit.ramp_bytes == 0;
        let time_ns = limit.time_ns.filter(|_| by_clock);
        let time_ns = time_ns.map_or(NEVER, |time| time.saturating_add(limit.ramp_ns));
        Patience {
            stop: std::ptr::from_ref(setup.live.stop),
            time_ns,
            deadline: NEVER,
            ramp_ns: limit.ramp_ns,
            ramp_end: NEVER,
        }
    }

    /// The time begins to count.
    pub fn begin(&mut self, now: Tick) {
        self.deadline = now.saturating_add(self.time_ns);
        self.ramp_end = if self.ramp_ns > 0 { now.saturating_add(self.ramp_ns) } else { NEVER };
    }

    /// Waits until something has come; `false`: it is over, or the ramp is, and nothing has come by then: what comes later is
    /// another operation, which counts.
    pub fn wait_for_more(&mut self, fd: RawFd) -> bool {
        let came = self.wait_until(fd, libc::POLLIN, self.ramp_end);
        let ramp_is_over = self.ramp_end != NEVER && clock::now() >= self.ramp_end;
        if ramp_is_over {
            self.ramp_end = NEVER;
        }
        came && !ramp_is_over
    }

    /// Whether the worker was asked to stop.
    pub fn is_stopped(&self) -> bool {
        // SAFETY: the flag lies in the phase's barrier, which outlives every engine of the phase.
        unsafe { (*self.stop).load(Relaxed) != 0 }
    }

    /// Whether nothing more is to be waited for.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || clock::now() >= self.deadline
    }

    /// Waits until a socket is ready; `false`: it is over.
    pub fn wait(&self, fd: RawFd, events: i16) -> bool {
        self.wait_until(fd, events, NEVER)
    }

    /// The same, but no longer than until a point in time; `true` then too.
    pub fn wait_until(&self, fd: RawFd, events: i16, until: Tick) -> bool {
        loop {
            let now = clock::now();
            if self.is_stopped() || now >= self.deadline {
                return false;
            }
            let left = self.deadline.min(until).saturating_sub(now);
            if left == 0 || ready(fd, events, left.min(SLICE_NS)) {
                return true;
            }
        }
    }
}

/// Waits until a socket is ready, at most so long; whether it is.
fn ready(fd: RawFd, events: i16, ns: u64) -> bool {
    let mut one = libc::pollfd { fd, events, revents: 0 };
    #[cfg(target_os = "linux")]
    // SAFETY: the one descriptor and the time are valid; there is no signal mask.
    let count = unsafe {
        let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        libc::ppoll(&raw mut one, 1, &raw const time, std::ptr::null())
    };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the one descriptor is valid.
    let count = unsafe { libc::poll(&raw mut one, 1, ns.div_ceil(1_000_000) as i32) };
    count > 0
}

/// Whether a call is to be tried again once the socket is ready.
pub fn is_later(errno: i32) -> bool {
    errno == libc::EAGAIN || errno == libc::EWOULDBLOCK || errno == libc::EINTR
}

/// What an engine counts, for one socket.
#[derive(Clone, Copy, Debug)]
pub struct Meter(*const Counts);

impl Meter {
    /// The worker's counters.
    pub fn new(setup: &Setup<'_>) -> Meter {
        Meter(std::ptr::from_ref(setup.live.counts))
    }

    #[inline(always)]
    pub fn counts(&self) -> &Counts {
        // SAFETY: they lie among the worker's counters, which outlive its engine.
        unsafe { &*self.0 }
    }

    /// Counts a call that moved bytes.
    #[inline(always)]
    pub fn moved(&self, bytes: u64) {
        self.counts().add(Count::Bytes, bytes);
        self.counts().add(Count::Blocks, 1);
    }
}

/// A socket in use.
#[derive(Debug)]
pub struct Line {
    socket: Socket,
    /// The socket's descriptor.
    pub fd: RawFd,
    /// Whether it moves datagrams.
    pub datagrams: bool,
    /// Whether it has a peer of its own.
    pub connected: bool,
    /// How long it waits.
    pub patience: Patience,
    /// What it counts.
    pub meter: Meter,
    ticket: Option<Ticket>,
}

impl Line {
    /// A socket that stands.
    ///
    /// # Errors
    /// Its waits cannot be bounded.
    pub fn new(setup: &Setup<'_>, socket: Socket, target: &str, since: Since) -> Result<Line, Failure> {
        let failed = |error| Failure::io("socket", &error);
        socket.set_nonblocking(false).map_err(failed)?;
        bound(&socket).map_err(failed)?;
        let datagrams = socket.r#type().map_err(failed)? == socket2::Type::DGRAM;
        let fd = socket.as_raw_fd();
        let connected = socket.peer_addr().is_ok();
        let known = |_| setup.live.connections.begin(fd, since, target, setup.live.job, setup.seat);
        let ticket = connected.then_some(()).and_then(known);
        let (patience, meter) = (Patience::new(setup), Meter::new(setup));
        Ok(Line { socket, fd, datagrams, connected, patience, meter, ticket })
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends all of a block, in as many calls as it takes: bytes sent, or what kept the first from going.
    #[inline(always)]
    pub fn send(&self, block: &[u8]) -> i64 {
        // SAFETY: the block is valid for its length.
        let sent = unsafe { call::send(self.fd, block.as_ptr().cast(), block.len(), libc::MSG_NOSIGNAL) };
        if sent as usize == block.len() { sent as i64 } else { self.send_rest(block, sent) }
    }

    #[cold]
    fn send_rest(&self, block: &[u8], first: isize) -> i64 {
        self.in_parts(block.len(), first, libc::POLLOUT, |at| {
            let rest = &block[at..];
            // SAFETY: the rest is valid for its length.
            unsafe { call::send(self.fd, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) }
        })
    }

    /// Receives a whole block: bytes received, fewer only at the stream's end or when time is up.
    #[inline(always)]
    pub fn receive_whole(&self, block: &mut [u8]) -> i64 {
        // SAFETY: the block is valid for writing its length.
        let got = unsafe { call::recv(self.fd, block.as_mut_ptr().cast(), block.len(), 0) };
        if got as usize == block.len() { got as i64 } else { self.receive_rest(block, got) }
    }

    #[cold]
    fn receive_rest(&self, block: &mut [u8], first: isize) -> i64 {
        let whole = block.len();
        self.in_parts(whole, first, libc::POLLIN, |at| {
            let rest = &mut block[at..];
            // SAFETY: the rest is valid for writing its length.
            unsafe { call::recv(self.fd, rest.as_mut_ptr().cast(), rest.len(), 0) }
        })
    }

    /// Goes on with calls until all is moved, the stream ends, or time is up. `last` is what the first call answered.
    pub fn in_parts(
        &self,
        whole: usize,
        mut last: isize,
        events: i16,
        mut again: impl FnMut(usize) -> isize,
    ) -> i64 {
        let mut moved = 0;
        loop {
            match last {
                1.. => {
                    moved += last as usize;
                    // Where many flows share a path each call may move but little of a block.
                    if moved < whole && self.patience.is_over() {
                        return moved as i64;
                    }
                }
                0 => return moved as i64,
                _ => {
                    let number = errno();
                    if !is_later(number) {
                        return if moved > 0 { moved as i64 } else { -i64::from(number) };
                    }
                    if !self.patience.wait(self.fd, events) {
                        return if moved > 0 { moved as i64 } else { NONE };
                    }
                }
            }
            if moved >= whole {
                return moved as i64;
            }
            last = again(moved);
        }
    }

    /// One receive of what there is.
    #[inline(always)]
    pub fn receive(&mut self, room: *mut u8, bytes: usize, flags: i32) -> i64 {
        loop {
            // SAFETY: callers' rooms are valid for so many bytes, or the flags say that nothing is written.
            let got = unsafe { call::recv(self.fd, room.cast(), bytes, flags) };
            if got >= 0 {
                return got as i64;
            }
            let number = errno();
            if !is_later(number) {
                return -i64::from(number);
            }
            if !self.patience.wait_for_more(self.fd) {
                return NONE;
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.meter.counts().add(Count::Retransmits, ticket.end().retransmits);
        }
    }
}

/// Lets no call on a socket block longer than a slice.
///
/// # Errors
/// The system's.
pub fn bound(socket: &Socket) -> std::io::Result<()> {
    let slice = Some(clock::duration(SLICE_NS));
    socket.set_read_timeout(slice)?;
    socket.set_write_timeout(slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_under_way_is_left_when_time_is_up() {
        let (socket, _peer) = Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        let (stop, counts) = (AtomicU32::new(0), Counts::new());
        let patience =
            Patience { stop: &raw const stop, time_ns: NEVER, deadline: NEVER, ramp_ns: 0, ramp_end: NEVER };
        let (fd, meter) = (socket.as_raw_fd(), Meter(&raw const counts));
        let mut line = Line { socket, fd, datagrams: false, connected: true, patience, meter, ticket: None };
        // A call that moved a part is followed by others, until all is moved or it is over.
        let mut calls = 0;
        let one = |calls: &mut u32| {
            *calls += 1;
            2
        };
        assert_eq!((line.in_parts(8, 2, libc::POLLOUT, |_| one(&mut calls)), calls), (8, 3));
        line.patience.deadline = 0;
        assert_eq!((line.in_parts(8, 2, libc::POLLOUT, |_| one(&mut calls)), calls), (2, 3));
        (line.patience.deadline, calls) = (NEVER, 0);
        stop.store(1, Relaxed);
        assert_eq!((line.in_parts(8, 2, libc::POLLOUT, |_| one(&mut calls)), calls), (2, 0));
    }
}
