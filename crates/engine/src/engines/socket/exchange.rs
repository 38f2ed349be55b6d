//! Requests and their responses over one line: the asking side, also with several requests in flight, and the answering
//! one.
//!
//! Responses come in the order of their requests. Over datagrams what is not answered in time is counted as lost.

use std::collections::VecDeque;

use iodyno_model::{Job, Verb, Workload};

use super::block::Block;
use super::line::{Line, NONE, SLICE_NS, is_later};
use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::engines::{Failure, Setup, setting, switched_on, whole_number};
use crate::io::{Io, Slot};
use crate::memory::errno;
use crate::worker_counters::Count;

/// How long a response over datagrams is waited for, ms, where nothing is said.
const TIMEOUT_MS: u64 = 1000;
/// Type, code, checksum, identifier and number of an echo request (RFC 792, RFC 4443).
const ECHO_HEADER_BYTES: usize = 8;
/// Losses in a row after which nobody seems to be there.
const SILENT: u32 = 10;

/// Whether a job's operations are exchanges.
pub fn is_wanted(job: &Job) -> bool {
    match &job.workload {
        Workload::Pattern(pattern) => pattern.mix.has(Verb::Exchange),
        _ => false,
    }
}

/// How long requests and responses of a job are.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub request: usize,
    pub response: usize,
}

impl Sizes {
    /// A job's.
    pub fn of(setup: &Setup<'_>) -> Sizes {
        let block = match &setup.job.workload {
            Workload::Pattern(pattern) => pattern.size.read.most_bytes().unwrap_or(1),
            _ => 1,
        };
        let of = |name| whole_number(setup.job, name).unwrap_or(block) as usize;
        Sizes { request: of("request_bytes"), response: of("response_bytes") }
    }

    /// The larger of both.
    pub fn most(self) -> usize {
        self.request.max(self.response)
    }

    /// Both together.
    pub fn sum(self) -> u64 {
        (self.request + self.response) as u64
    }
}

/// Exchanges over one line.
pub struct Exchange {
    line: Line,
    sizes: Sizes,
    answers: bool,
    /// An answer is its request; with the place of its times.
    echo: Option<Option<usize>>,
    /// Between a request and its answer, ns.
    hold_ns: u64,
    deep: bool,
    block: Block,
    room: Block,
    timeout_ns: u64,
    silent: u32,
    /// A response may still come that nobody waits for.
    stale: bool,
    /// Requests in flight, the first asked first.
    asked: VecDeque<(Slot, i64, Tick)>,
    /// Bytes of requests that are still to be sent, and of the first response that have come.
    unsent: usize,
    come: usize,
    /// Nothing more comes: why.
    broken: Option<i64>,
}

impl Exchange {
    /// Exchanges over a line.
    ///
    /// # Errors
    /// What the line cannot do.
    pub fn new(setup: &Setup<'_>, line: Line) -> Result<Exchange, Failure> {
        let (sizes, answers) = (Sizes::of(setup), switched_on(setup.job, "answers"));
        if (sizes.request == 0 || sizes.response == 0) && line.datagrams {
            return Err(Failure::new("datagrams without content cannot be exchanged")
                .hint("ask for requests and responses of at least a byte"));
        }
        let echo = match setting(setup.job, "echo") {
            None | Some("off") => None,
            Some("on") => Some(None),
            Some(_) => Some(whole_number(setup.job, "echo").map(|at| at as usize)),
        };
        if echo.is_some() && (sizes.request != sizes.response || !answers || line.datagrams) {
            return Err(Failure::new("only a stream's requests can be echoed, by answers of their length")
                .hint("leave `echo` out, or set `answers` and both lengths"));
        }
        let deep = setup.depth > 1 && !answers;
        if deep && sizes.response == 0 {
            return Err(Failure::new("requests without a response cannot be in flight").hint("use depth = 1"));
        }
        let timeout_ns = whole_number(setup.job, "response_timeout_ms").unwrap_or(TIMEOUT_MS) * 1_000_000;
        Ok(Exchange {
            line,
            sizes,
            answers,
            echo,
            hold_ns: whole_number(setup.job, "hold_us").unwrap_or(0) * 1000,
            deep,
            block: Block::new(setup, sizes.most())?,
            room: Block::new(setup, sizes.most())?,
            timeout_ns,
            silent: 0,
            stale: false,
            asked: VecDeque::with_capacity(setup.depth as usize),
            unsent: 0,
            come: 0,
            broken: None,
        })
    }

    /// Requests are ICMP's echo requests: the kernel adds their checksum and identifier.
    ///
    /// # Errors
    /// They are too short for its header.
    pub fn ask_for_echo(&mut self) -> Result<(), Failure> {
        let six = self.line.socket().local_addr().is_ok_and(|address| address.is_ipv6());
        if self.sizes.request < ECHO_HEADER_BYTES {
            return Err(Failure::new("an echo request has at least 8 bytes").hint("set request_bytes to 64"));
        }
        let header = self.block.room(ECHO_HEADER_BYTES);
        header.fill(0);
        header[0] = if six { 128 } else { 8 };
        Ok(())
    }

    /// The worker's time begins.
    pub fn begin(&mut self, now: Tick) {
        self.line.patience.begin(now);
    }

    /// Whether several requests are in flight.
    pub fn is_deep(&self) -> bool {
        self.deep
    }

    /// One exchange, from its beginning to its end.
    #[inline(always)]
    pub fn perform(&mut self, io: &Io) -> i64 {
        let result = match (self.answers, self.line.datagrams) {
            (false, false) => self.ask_stream(),
            (true, false) => self.answer_stream(),
            (false, true) => self.ask_datagram(),
            (true, true) => self.answer_datagram(),
        };
        if result != 1 {
            return result;
        }
        self.line.meter.moved(self.sizes.sum());
        io.bytes.max(1) as i64
    }

    /// 1: done; else the operation's result.
    #[inline(always)]
    fn ask_stream(&mut self) -> i64 {
        let sizes = self.sizes;
        let sent = self.line.send(self.block.bytes(sizes.request));
        if sent as usize != sizes.request {
            return if sent < 0 { sent } else { NONE };
        }
        let got = match sizes.response {
            0 => 0,
            response => self.line.receive_whole(self.room.room(response)),
        };
        if got as usize == sizes.response { 1 } else { self.unanswered(got) }
    }

    /// Why a response did not come: the end of the stream, the end of time, or an error.
    #[cold]
    fn unanswered(&self, got: i64) -> i64 {
        match got {
            ..0 => got,
            _ if self.line.patience.is_over() => NONE,
            _ => -i64::from(libc::ECONNRESET),
        }
    }

    #[inline(always)]
    fn answer_stream(&mut self) -> i64 {
        let sizes = self.sizes;
        let got = match sizes.request {
            0 => 0,
            request => self.line.receive_whole(self.room.room(request)),
        };
        if got as usize != sizes.request {
            // A peer that leaves does so between two requests, or in the midst of one when its time is up.
            let reset = got == -i64::from(libc::ECONNRESET);
            return if got > 0 || reset { 0 } else { got };
        }
        let sent = match (self.echo, self.hold_ns) {
            (None, 0) => self.line.send(self.block.bytes(sizes.response)),
            _ => self.answer_later(),
        };
        match sent as usize == sizes.response {
            true => 1,
            false if sent == -i64::from(libc::EPIPE) || sent == -i64::from(libc::ECONNRESET) => 0,
            false if sent < 0 => sent,
            false => NONE,
        }
    }

    /// An answer that has something of its request, or waits: bytes sent.
    fn answer_later(&mut self) -> i64 {
        let response = self.sizes.response;
        let now = |at: Option<usize>| if at.is_some() { clock::unix_ns() } else { 0 };
        let place = self.echo.flatten();
        let came_ns = now(place);
        let end = clock::now().saturating_add(self.hold_ns);
        while clock::now() < end && !self.line.patience.is_over() {
            clock::sleep_ns(end.saturating_sub(clock::now()).min(SLICE_NS));
        }
        if self.echo.is_none() {
            return self.line.send(self.block.bytes(response));
        }
        let times = [came_ns, now(place)].into_iter().flat_map(|ns| {
            [ns / 1_000_000_000, ns % 1_000_000_000 / 1000]
                .into_iter()
                .flat_map(|part| (part as u32).to_be_bytes())
        });
        let room = self.room.room(response);
        if let Some(room) = place.and_then(|at| room.get_mut(at..at + 16)) {
            room.iter_mut().zip(times).for_each(|(byte, of)| *byte = of);
        }
        self.line.send(self.room.bytes(response))
    }

    fn ask_datagram(&mut self) -> i64 {
        if self.stale {
            self.discard();
        }
        let sent = self.line.send(self.block.bytes(self.sizes.request));
        // What an earlier one met with is reported now.
        let refused = -i64::from(libc::ECONNREFUSED);
        let sent = if sent == refused { self.line.send(self.block.bytes(self.sizes.request)) } else { sent };
        if sent < 0 {
            return sent;
        }
        let until = clock::now() + self.timeout_ns;
        let room = self.room.room(self.sizes.most());
        loop {
            // SAFETY: the room is valid for writing its length.
            let got = unsafe { call::recv(self.line.fd, room.as_mut_ptr().cast(), room.len(), 0) };
            if got >= 0 {
                (self.silent, self.stale) = (0, false);
                return 1;
            }
            let number = errno();
            if !is_later(number) && number != libc::ECONNREFUSED {
                return -i64::from(number);
            }
            if clock::now() + SLICE_NS / 4 >= until {
                return self.lose();
            }
            if !self.line.patience.wait_until(self.line.fd, libc::POLLIN, until) {
                return NONE;
            }
        }
    }

    /// A request or its response was lost.
    #[cold]
    fn lose(&mut self) -> i64 {
        self.line.meter.counts().add(Count::Lost, 1);
        self.silent += 1;
        self.stale = true;
        if self.silent >= SILENT { -i64::from(libc::ETIMEDOUT) } else { NONE }
    }

    /// Throws away responses that come too late.
    #[cold]
    fn discard(&mut self) {
        let room = self.room.room(self.sizes.most());
        // SAFETY: the room is valid for writing its length.
        while unsafe { call::recv(self.line.fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) }
            > 0
        {
            self.line.meter.counts().add(Count::Late, 1);
        }
    }

    /// Whoever asks is answered.
    fn answer_datagram(&mut self) -> i64 {
        let room = self.room.room(self.sizes.most());
        if self.line.connected {
            match self.line.receive(room.as_mut_ptr(), room.len(), 0) {
                got @ 1.. => _ = got,
                got if got == -i64::from(libc::ECONNREFUSED) => return NONE,
                got => return got,
            }
            let sent = self.line.send(self.block.bytes(self.sizes.response));
            return if sent < 0 { NONE } else { 1 };
        }
        loop {
            // SAFETY: what is received only ever initialises bytes.
            let bare = unsafe { &mut *(std::ptr::from_mut(&mut *room) as *mut [std::mem::MaybeUninit<u8>]) };
            match self.line.socket().recv_from(bare) {
                Ok((0, _)) => return 0,
                Ok((_, from)) => {
                    // One who is gone needs no answer.
                    let _ = self.line.socket().send_to(self.block.bytes(self.sizes.response), &from);
                    return 1;
                }
                Err(error) => {
                    let number = error.raw_os_error().unwrap_or(libc::EIO);
                    if !is_later(number) && number != libc::ECONNREFUSED {
                        return -i64::from(number);
                    }
                    if !self.line.patience.wait(self.line.fd, libc::POLLIN) {
                        return NONE;
                    }
                }
            }
        }
    }

    /// Sends one more request, as far as the line takes it now.
    pub fn ask(&mut self, slot: Slot, io: &Io) {
        self.asked.push_back((slot, io.bytes.max(1) as i64, clock::now()));
        self.unsent += self.sizes.request;
        self.send_on();
    }

    /// Sends what is still to be sent, as far as it goes. Requests are alike: only their number counts.
    fn send_on(&mut self) {
        while self.unsent > 0 {
            // The rest of one that was begun comes first.
            let rest = match self.unsent % self.sizes.request {
                0 => self.sizes.request,
                rest => rest,
            };
            let bytes = self.block.bytes(rest);
            let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            // SAFETY: the bytes are valid for their length.
            let sent = unsafe { call::send(self.line.fd, bytes.as_ptr().cast(), bytes.len(), flags) };
            if sent >= 0 {
                self.unsent -= sent as usize;
                continue;
            }
            let number = errno();
            if !is_later(number) && number != libc::ENOBUFS && number != libc::ECONNREFUSED {
                self.broken = Some(-i64::from(number));
            }
            return;
        }
    }

    /// Hears responses, at least so many unless `until` comes first, and says which requests they end.
    pub fn hear(&mut self, least: usize, until: Tick, done: &mut Vec<(Slot, i64)>) {
        let mut received = 0;
        loop {
            self.send_on();
            received += self.take(done);
            if let Some(result) = self.broken {
                return self.give_up(result, done);
            }
            self.lose_old(done);
            if received >= least || self.asked.is_empty() {
                return;
            }
            if until != NEVER && clock::now() >= until {
                return;
            }
            let events = if self.unsent > 0 { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
            let soon = until.min(clock::now() + SLICE_NS);
            if !self.line.patience.wait_until(self.line.fd, events, soon) {
                return self.give_up(NONE, done);
            }
        }
    }

    /// Takes what has come: how many requests it ends.
    fn take(&mut self, done: &mut Vec<(Slot, i64)>) -> usize {
        let mut ended = 0;
        while !self.asked.is_empty() {
            let room = self.room.room(self.sizes.most());
            // SAFETY: the room is valid for writing its length.
            let got =
                unsafe { call::recv(self.line.fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
            if got <= 0 {
                let number = if got == 0 { libc::ECONNRESET } else { errno() };
                if !is_later(number) && number != libc::ECONNREFUSED {
                    self.broken = Some(-i64::from(number));
                }
                return ended;
            }
            self.come += if self.line.datagrams { self.sizes.response } else { got as usize };
            while self.come >= self.sizes.response
                && let Some((slot, result, _)) = self.asked.pop_front()
            {
                self.come -= self.sizes.response;
                self.line.meter.moved(self.sizes.sum());
                done.push((slot, result));
                ended += 1;
            }
        }
        ended
    }

    /// Over datagrams: requests that nobody has answered in time.
    fn lose_old(&mut self, done: &mut Vec<(Slot, i64)>) {
        while self.line.datagrams
            && let Some((slot, _, at)) = self.asked.front().copied()
            && clock::now().saturating_sub(at) > self.timeout_ns
        {
            self.asked.pop_front();
            self.line.meter.counts().add(Count::Lost, 1);
            done.push((slot, NONE));
        }
    }

    /// Nothing more is received.
    fn give_up(&mut self, result: i64, done: &mut Vec<(Slot, i64)>) {
        done.extend(self.asked.drain(..).map(|(slot, ..)| (slot, result)));
        self.unsent = 0;
    }
}
