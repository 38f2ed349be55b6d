//! Exchanges with a connection each: the side that connects, and the one that takes connections.
//!
//! The connection is closed as soon as the response is there. It refuses to reuse anything between two of them.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use iodyno_model::TargetKind;
use socket2::{SockAddr, Socket, Type};

use super::block::Block;
use super::endpoint::{self, EndpointAddress, Listener};
use super::exchange::Sizes;
use super::line::{Line, Meter, NONE, Patience, bound, is_later};
use super::socket_options::{self, When};
use crate::clock;
use crate::connections::Since;
use crate::engines::{Failure, Setup};
use crate::io::Io;
use crate::memory::errno;
use crate::worker_counters::Count;

/// Connects for each exchange.
pub struct Connecting {
    /// How long it waits.
    pub patience: Patience,
    to: SockAddr,
    kind: Type,
    asked: Vec<(String, String)>,
    sizes: Sizes,
    block: Block,
    room: Block,
    meter: Meter,
    /// Once somebody was there, a refusal is an error.
    met: bool,
}

impl Connecting {
    /// To a target.
    ///
    /// # Errors
    /// An address that means nothing.
    pub fn new(setup: &Setup<'_>, handle: usize) -> Result<Connecting, Failure> {
        let place = EndpointAddress::of(setup, handle)?;
        if place.listens || place.transport == "connection" {
            return Err(Failure::new("connect_each needs an address to connect to")
                .hint("name the peer, or use accept_each on the side that waits"));
        }
        let to = place.addresses()?.into_iter().next();
        let to = to.ok_or_else(|| Failure::new(format!("{}: no address", place.address)))?;
        let sizes = Sizes::of(setup);
        Ok(Connecting {
            patience: Patience::new(setup),
            to,
            kind: place.kind()?,
            asked: endpoint::asked(setup),
            sizes,
            block: Block::new(setup, sizes.most())?,
            room: Block::new(setup, sizes.most())?,
            meter: Meter::new(setup),
            met: false,
        })
    }

    /// One exchange.
    pub fn perform(&mut self, io: &Io) -> i64 {
        let began = clock::now();
        let socket = match self.connect() {
            Ok(socket) => socket,
            Err(result) => return result,
        };
        self.meter.counts().add(Count::Connects, 1);
        self.meter.counts().add(Count::ConnectNs, clock::now().saturating_sub(began));
        let sizes = self.sizes;
        let sent = moved(&self.patience, &socket, sizes.request, libc::POLLOUT, |at| {
            send(&socket, &self.block.bytes(sizes.request)[at..])
        });
        if sent as usize != sizes.request {
            return if sent < 0 { sent } else { -i64::from(libc::ECONNRESET) };
        }
        let room = self.room.room(sizes.response);
        let got = moved(&self.patience, &socket, sizes.response, libc::POLLIN, |at| {
            receive(&socket, &mut room[at..])
        });
        if got as usize != sizes.response {
            let cut = if self.patience.is_over() { NONE } else { -i64::from(libc::ECONNRESET) };
            return if got < 0 { got } else { cut };
        }
        drop(socket);
        self.meter.moved(sizes.sum());
        io.bytes.max(1) as i64
    }

    fn connect(&mut self) -> Result<Socket, i64> {
        let failed = |error: std::io::Error| -i64::from(error.raw_os_error().unwrap_or(libc::EINVAL));
        loop {
            let made = socket_options::make(self.to.domain(), self.kind, &self.asked)
                .map_err(|(_, error)| failed(error));
            let socket = made?;
            bound(&socket).map_err(failed)?;
            socket_options::set(&socket, &self.asked, When::Before).map_err(|(_, error)| failed(error))?;
            let to = match self.asked.is_empty() {
                true => None,
                false => {
                    Some(socket_options::labelled(&socket, self.to.clone(), &self.asked).map_err(failed)?)
                }
            };
            match socket.connect(to.as_ref().unwrap_or(&self.to)) {
                Ok(()) => {
                    self.met = true;
                    return Ok(socket);
                }
                Err(error) => {
                    let mut number = error.raw_os_error().unwrap_or(libc::EIO);
                    if number == libc::EINPROGRESS {
                        // It goes on behind the call that only waits a slice: a far peer takes longer than that.
                        match self.arrived(&socket) {
                            0 => {
                                self.met = true;
                                return Ok(socket);
                            }
                            other => number = other,
                        }
                    }
                    let later = is_later(number) || number == libc::EINPROGRESS;
                    let not_yet = !self.met && matches!(number, libc::ECONNREFUSED | libc::ENOENT);
                    if self.patience.is_over() && (later || not_yet) {
                        return Err(NONE);
                    }
                    if !later && !not_yet {
                        return Err(-i64::from(number));
                    }
                    if not_yet {
                        clock::sleep_ns(1_000_000);
                    }
                }
            }
        }
    }

    /// Waits until a connection that was begun stands: 0, or why it does not. `EINPROGRESS`: time was up.
    #[cold]
    fn arrived(&self, socket: &Socket) -> i32 {
        if !self.patience.wait(socket.as_raw_fd(), libc::POLLOUT) {
            return libc::EINPROGRESS;
        }
        match socket.take_error() {
            Ok(None) => 0,
            Ok(Some(error)) | Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// Takes a connection for each exchange.
pub struct Taking {
    /// The place.
    pub line: Line,
    /// Kept as long as connections are taken here; none: the place is lent.
    _listener: Option<Arc<Listener>>,
    asked: Vec<(String, String)>,
    sizes: Sizes,
    block: Block,
    room: Block,
}

impl Taking {
    /// At a target.
    ///
    /// # Errors
    /// The place cannot be had.
    pub fn new(setup: &Setup<'_>, handle: usize) -> Result<Taking, Failure> {
        let place = EndpointAddress::of(setup, handle)?;
        let asked = endpoint::asked(setup);
        let is_lent = matches!(
            setup.target(handle).map(|target| &target.kind),
            Some(TargetKind::Endpoint { transport, .. }) if transport == "connection"
        );
        let (socket, listener) = match is_lent {
            true => (endpoint::lent(&place.address)?, None),
            false => {
                let listener = endpoint::listener(&place, &asked)?;
                setup.live.connections.keep(listener.clone());
                let own = listener.socket.try_clone().map_err(|error| Failure::io("dup", &error))?;
                (own, Some(listener))
            }
        };
        let line = Line::new(setup, socket, &place.name, Since::Now)?;
        let sizes = Sizes::of(setup);
        let (block, room) = (Block::new(setup, sizes.most())?, Block::new(setup, sizes.most())?);
        Ok(Taking { line, _listener: listener, asked, sizes, block, room })
    }

    /// One exchange.
    pub fn perform(&mut self, io: &Io) -> i64 {
        loop {
            let socket = match self.accept() {
                Ok(socket) => socket,
                Err(result) => return result,
            };
            self.line.meter.counts().add(Count::Connects, 1);
            // A peer that leaves in the midst of it is no error of ours.
            if self.answer(&socket) {
                drop(socket);
                self.line.meter.moved(self.sizes.sum());
                return io.bytes.max(1) as i64;
            }
            if self.line.patience.is_over() {
                return NONE;
            }
        }
    }

    fn accept(&self) -> Result<Socket, i64> {
        loop {
            let error = match self.line.socket().accept() {
                Ok((socket, _)) => {
                    let failed =
                        |error: std::io::Error| -i64::from(error.raw_os_error().unwrap_or(libc::EINVAL));
                    bound(&socket).map_err(failed)?;
                    socket_options::set(&socket, &self.asked, When::After)
                        .map_err(|(_, error)| failed(error))?;
                    return Ok(socket);
                }
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            };
            if !is_later(error) && error != libc::ECONNABORTED {
                return Err(-i64::from(error));
            }
            if !self.line.patience.wait(self.line.fd, libc::POLLIN) {
                return Err(NONE);
            }
        }
    }

    fn answer(&mut self, socket: &Socket) -> bool {
        let (sizes, patience) = (self.sizes, self.line.patience);
        let room = self.room.room(sizes.request);
        let got =
            moved(&patience, socket, sizes.request, libc::POLLIN, |at| receive(socket, &mut room[at..]));
        if got as usize != sizes.request {
            return false;
        }
        let sent = moved(&patience, socket, sizes.response, libc::POLLOUT, |at| {
            send(socket, &self.block.bytes(sizes.response)[at..])
        });
        sent as usize == sizes.response
    }
}

fn send(socket: &Socket, bytes: &[u8]) -> isize {
    // SAFETY: the bytes are valid for their length.
    unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) }
}

fn receive(socket: &Socket, room: &mut [u8]) -> isize {
    // SAFETY: the room is valid for writing its length.
    unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), 0) }
}

/// Calls until all is moved, the stream ends, or time is up.
fn moved(
    patience: &Patience,
    socket: &Socket,
    whole: usize,
    events: i16,
    mut call: impl FnMut(usize) -> isize,
) -> i64 {
    let mut moved = 0;
    while moved < whole {
        match call(moved) {
            more @ 1.. => moved += more as usize,
            0 => break,
            _ => {
                let number = errno();
                if !is_later(number) {
                    return -i64::from(number);
                }
                if !patience.wait(socket.as_raw_fd(), events) {
                    return NONE;
                }
            }
        }
    }
    moved as i64
}
