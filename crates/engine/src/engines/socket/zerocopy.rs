//! Sending and receiving without a copy: out of a file in memory, through pipes, out of memory lent to the kernel.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::line::{Line, NONE, is_later};
use super::options;
use crate::clock;
use crate::engines::Failure;
use crate::memory::errno;
use crate::worker_counters::Count;

/// How much a pipe is asked to hold; it may hold less.
const PIPE_BYTES: libc::c_int = 1 << 20;
/// Sends after which the kernel is asked what it is done with.
const ASK_EVERY: u32 = 16;
/// How long it is waited at the end for the kernel to be done with what was lent, ns.
const SETTLE_NS: u64 = 500_000_000;
/// `linux/errqueue.h`.
const ORIGIN_ZEROCOPY: u8 = 5;
const CODE_COPIED: u8 = 1;

/// A block in a file in memory, that `sendfile` sends from.
pub struct Sheet(File);

impl Sheet {
    /// A file that holds a block.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(block: &[u8]) -> Result<Sheet, Failure> {
        // SAFETY: the name is a valid string; the descriptor that comes back is ours alone.
        let fd = unsafe { libc::memfd_create(c"block".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(Failure::call("memfd_create", errno()));
        }
        // SAFETY: as above.
        let mut file = unsafe { File::from_raw_fd(fd) };
        let wrong = |error| Failure::io("memfd", &error);
        file.write_all(block).map_err(wrong)?;
        Ok(Sheet(file))
    }

    /// Sends the first bytes of it.
    pub fn send(&mut self, line: &Line, bytes: usize) -> i64 {
        let file = self.0.as_raw_fd();
        let call = |at: usize| {
            let mut offset = at as libc::off_t;
            // SAFETY: the offset is valid for the call.
            unsafe { libc::sendfile(line.fd, file, &raw mut offset, bytes - at) }
        };
        line.in_parts(bytes, call(0), libc::POLLOUT, call)
    }
}

/// Both ends of a pipe.
fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    let mut ends = [-1; 2];
    // SAFETY: the array is valid for writing both descriptors, which are ours alone then.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return Err(Failure::call("pipe2", errno()));
        }
        // A smaller pipe only means more calls.
        libc::fcntl(ends[1], libc::F_SETPIPE_SZ, PIPE_BYTES);
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn splice(from: RawFd, to: RawFd, bytes: usize, flags: u32) -> isize {
    let none = std::ptr::null_mut();
    // SAFETY: there are no offsets.
    unsafe { libc::splice(from, none, to, none, bytes, flags) }
}

/// Memory goes through a pipe to the socket, page by page, without being copied.
pub struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    /// What an earlier operation left inside.
    inside: usize,
}

impl Pipe {
    /// An empty one.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Pipe, Failure> {
        let (reader, writer) = pipe()?;
        Ok(Pipe { reader, writer, inside: 0 })
    }

    pub fn send(&mut self, line: &Line, block: &[u8]) -> i64 {
        let mut sent = 0;
        while sent < block.len() {
            if self.inside == 0 {
                let rest = &block[sent..];
                let vector = libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() };
                // SAFETY: the block's memory lives as long as the engine and never changes while pages of it are lent.
                let taken = unsafe { libc::vmsplice(self.writer.as_raw_fd(), &raw const vector, 1, 0) };
                if taken <= 0 {
                    return if sent > 0 { sent as i64 } else { -i64::from(errno()) };
                }
                self.inside = taken as usize;
            }
            let more = if sent + self.inside < block.len() { libc::SPLICE_F_MORE } else { 0 };
            let given = splice(self.reader.as_raw_fd(), line.fd, self.inside, more | libc::SPLICE_F_MOVE);
            if given > 0 {
                self.inside -= given as usize;
                sent += given as usize;
                continue;
            }
            let number = errno();
            if !is_later(number) || !line.patience.wait(line.fd, libc::POLLOUT) {
                let failed = if is_later(number) { NONE } else { -i64::from(number) };
                return if sent > 0 { sent as i64 } else { failed };
            }
        }
        sent as i64
    }
}

/// What comes in goes through a pipe into nothing.
pub struct Drain {
    reader: OwnedFd,
    writer: OwnedFd,
    nothing: File,
}

impl Drain {
    /// An open drain.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Drain, Failure> {
        let (reader, writer) = pipe()?;
        let nothing = File::options().write(true).open("/dev/null");
        let wrong = |error| Failure::io("/dev/null", &error);
        Ok(Drain { reader, writer, nothing: nothing.map_err(wrong)? })
    }

    /// Takes what there is, at most so much.
    pub fn receive(&mut self, line: &Line, bytes: usize) -> i64 {
        loop {
            let got = splice(line.fd, self.writer.as_raw_fd(), bytes, libc::SPLICE_F_MOVE);
            if got >= 0 {
                self.empty(got as usize);
                return got as i64;
            }
            let number = errno();
            if !is_later(number) {
                return -i64::from(number);
            }
            if !line.patience.wait(line.fd, libc::POLLIN) {
                return NONE;
            }
        }
    }

    fn empty(&self, mut bytes: usize) {
        while bytes > 0 {
            match splice(self.reader.as_raw_fd(), self.nothing.as_raw_fd(), bytes, libc::SPLICE_F_MOVE) {
                gone @ 1.. => bytes -= gone as usize,
                _ => return,
            }
        }
    }
}

/// Memory is lent to the kernel with each send, and handed back by its error queue.
pub struct ZerocopySend {
    /// Sends that were not handed back yet.
    out: u64,
    until_asked: u32,
}

impl ZerocopySend {
    /// For a line.
    ///
    /// # Errors
    /// The socket cannot do it.
    pub fn new(line: &Line) -> Result<ZerocopySend, Failure> {
        options::set(line.socket(), libc::SOL_SOCKET, libc::SO_ZEROCOPY, &1i32).map_err(|error| {
            Failure::io("SO_ZEROCOPY", &error).hint("use method=splice or copy with this transport")
        })?;
        Ok(ZerocopySend { out: 0, until_asked: ASK_EVERY })
    }

    pub fn send(&mut self, line: &Line, block: &[u8]) -> i64 {
        let mut sent = 0;
        while sent < block.len() {
            let rest = &block[sent..];
            let flags = libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY;
            // SAFETY: the block's memory lives as long as the engine and never changes while it is lent.
            let given = unsafe { libc::send(line.fd, rest.as_ptr().cast(), rest.len(), flags) };
            if given >= 0 {
                sent += given as usize;
                self.sent(line);
                continue;
            }
            let number = errno();
            // It has lent more than the system allows.
            let full = number == libc::ENOBUFS;
            if full {
                self.take_back(line);
            }
            if !(full || is_later(number)) || !line.patience.wait(line.fd, libc::POLLOUT) {
                let failed = if full || is_later(number) { NONE } else { -i64::from(number) };
                return if sent > 0 { sent as i64 } else { failed };
            }
        }
        sent as i64
    }

    fn sent(&mut self, line: &Line) {
        self.out += 1;
        self.until_asked -= 1;
        if self.until_asked == 0 {
            self.until_asked = ASK_EVERY;
            self.take_back(line);
        }
    }

    /// Waits a while until everything was handed back.
    pub fn settle(&mut self, line: &Line) {
        let end = clock::now() + SETTLE_NS;
        while self.out > 0 && clock::now() < end {
            self.take_back(line);
            if self.out > 0 {
                clock::sleep_ns(100_000);
            }
        }
    }

    /// Hears what the kernel is done with.
    fn take_back(&mut self, line: &Line) {
        #[repr(align(8))]
        struct Room([u8; 128]);
        loop {
            let mut room = Room([0; 128]);
            // SAFETY: zero is a value of the structure.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            (message.msg_control, message.msg_controllen) = (room.0.as_mut_ptr().cast(), room.0.len() as _);
            // SAFETY: the message's one room is valid for writing its length; the error queue never blocks.
            let got = unsafe { libc::recvmsg(line.fd, &raw mut message, libc::MSG_ERRQUEUE) };
            if got < 0 {
                return;
            }
            // SAFETY: the kernel wrote the control messages; the pointer is null or inside the room.
            let head = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
            if head.is_null() {
                return;
            }
            // SAFETY: an extended error is 16 bytes and lies inside the room, of which only bytes are read.
            let extended: [u8; 16] = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(head).cast()) };
            let word = |at: usize| {
                u32::from_ne_bytes([extended[at], extended[at + 1], extended[at + 2], extended[at + 3]])
            };
            if extended[4] != ORIGIN_ZEROCOPY {
                continue;
            }
            let count = u64::from(word(12).wrapping_sub(word(8))) + 1;
            self.out = self.out.saturating_sub(count);
            if extended[6] & CODE_COPIED != 0 {
                line.meter.counts().add(Count::Copied, count);
            }
        }
    }
}
