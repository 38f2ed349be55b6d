//! Datagrams on Linux: `UDP_SEGMENT` or `sendmmsg` out, `UDP_GRO` and `recvmmsg` in.

use std::mem::zeroed;

use super::super::datagram_stats::Full;
use super::super::line::{Line, NONE, is_later};
use super::super::options;
use super::{DATAGRAM_MOST, Wish};
use crate::engines::Failure;
use crate::memory::{Mapping, errno};

/// `linux/udp.h`.
const UDP_SEGMENT: i32 = 103;
const UDP_GRO: i32 = 104;
/// Datagrams that the kernel cuts at once, at most (`UDP_MAX_SEGMENTS`; newer kernels cut more).
const SEGMENTS: usize = 64;
/// Datagrams in one call, at most.
const BATCH: usize = 64;
/// Rooms for joined datagrams in one call.
const JOINED: usize = 8;
/// Room for control messages of one datagram, words of eight bytes.
const CONTROL: usize = 12;
/// What a receive buffer is raised to, where nobody has said how large it is to be.
const RECEIVE_BUFFER: i32 = 4 << 20;

/// Sends blocks.
pub struct Sender {
    /// Bytes that the kernel cuts a send into; 0: it does not.
    segment: usize,
    insists: bool,
    vectors: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
}

impl Sender {
    /// For blocks of at most so many bytes.
    ///
    /// # Errors
    /// The kernel is to cut and does not.
    pub fn new(line: &Line, each: usize, block: usize, gso: Wish) -> Result<Sender, Failure> {
        let several = each > 0 && block > each;
        let wanted = gso == Wish::On || (gso == Wish::Auto && several);
        let mut segment = 0;
        if wanted && each > 0 {
            match options::set(line.socket(), libc::IPPROTO_UDP, UDP_SEGMENT, &(each as i32)) {
                Ok(()) => segment = each,
                Err(error) if gso == Wish::On => {
                    let failure = Failure::io("UDP_SEGMENT", &error);
                    return Err(failure.hint("gso=off sends them one by one"));
                }
                Err(_) => {}
            }
        }
        // SAFETY: zero is a value of both structures.
        let (vector, message) = unsafe { (zeroed::<libc::iovec>(), zeroed::<libc::mmsghdr>()) };
        let mut sender = Sender {
            segment,
            insists: gso == Wish::On,
            vectors: vec![vector; BATCH].into(),
            messages: vec![message; BATCH].into(),
        };
        for (message, vector) in sender.messages.iter_mut().zip(sender.vectors.iter_mut()) {
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        Ok(sender)
    }

    /// Sends a block in datagrams of so many bytes: bytes sent, or what kept the first from going.
    pub fn send(&mut self, line: &Line, block: &[u8], each: usize) -> i64 {
        let mut sent = 0;
        while sent < block.len() {
            let rest = &block[sent..];
            let given = if self.segment > 0 || rest.len() <= each {
                let most = (DATAGRAM_MOST / each).clamp(1, SEGMENTS) * each;
                let part = &rest[..rest.len().min(most)];
                // SAFETY: the part is valid for its length.
                unsafe { libc::send(line.fd, part.as_ptr().cast(), part.len(), libc::MSG_NOSIGNAL) }
            } else {
                self.send_many(line, rest, each)
            };
            if given >= 0 {
                sent += given as usize;
                continue;
            }
            match self.failed(line, errno()) {
                Ok(()) => {}
                Err(result) => return if sent > 0 { sent as i64 } else { result },
            }
        }
        sent as i64
    }

    fn send_many(&mut self, line: &Line, rest: &[u8], each: usize) -> isize {
        let mut count = 0;
        for (datagram, vector) in rest.chunks(each).zip(self.vectors.iter_mut()) {
            (vector.iov_base, vector.iov_len) = (datagram.as_ptr().cast_mut().cast(), datagram.len());
            count += 1;
        }
        // SAFETY: the messages refer to vectors that lie behind stable boxes, and those to the block.
        let sent =
            unsafe { libc::sendmmsg(line.fd, self.messages.as_mut_ptr(), count, libc::MSG_NOSIGNAL as _) };
        match usize::try_from(sent) {
            Ok(sent) => self.vectors[..sent].iter().map(|vector| vector.iov_len as isize).sum(),
            Err(_) => -1,
        }
    }

    /// What an error means: try again, or the operation's result.
    #[cold]
    fn failed(&mut self, line: &Line, number: i32) -> Result<(), i64> {
        let full = is_later(number) || number == libc::ENOBUFS;
        // What an earlier datagram met with is reported once; this one may fare better.
        if number == libc::ECONNREFUSED {
            return if line.patience.is_over() { Err(NONE) } else { Ok(()) };
        }
        if full {
            return if line.patience.wait(line.fd, libc::POLLOUT) { Ok(()) } else { Err(NONE) };
        }
        if self.segment > 0 && !self.insists && matches!(number, libc::EINVAL | libc::EIO | libc::EMSGSIZE) {
            self.segment = 0;
            let _ = options::set(line.socket(), libc::IPPROTO_UDP, UDP_SEGMENT, &0i32);
            return Ok(());
        }
        Err(-i64::from(number))
    }
}

/// Takes datagrams.
pub struct Receiver {
    rooms: Mapping,
    room: usize,
    control: Box<[[u64; CONTROL]]>,
    vectors: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
    /// Whether the kernel may join datagrams.
    joins: bool,
    /// Messages of the last call, whose lengths must be set anew.
    used: usize,
    /// Packets that the kernel had no room for, as it last said.
    dropped: u32,
}

impl Receiver {
    /// For datagrams of so many bytes; 0: of any length.
    ///
    /// # Errors
    /// The kernel is to join and does not; no memory.
    pub fn new(line: &Line, each: usize, gro: Wish) -> Result<Receiver, Failure> {
        raise_buffer(line);
        // The kernel says how many it had no room for.
        let _ = options::set(line.socket(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &1i32);
        let joins = match gro {
            Wish::Off => false,
            _ => match options::set(line.socket(), libc::IPPROTO_UDP, UDP_GRO, &1i32) {
                Ok(()) => true,
                Err(error) if gro == Wish::On => {
                    return Err(Failure::io("UDP_GRO", &error).hint("gro=off takes them one by one"));
                }
                Err(_) => false,
            },
        };
        let (room, count) = match (joins, each) {
            (true, _) => (1 << 16, JOINED),
            (false, 0) => (1 << 16, JOINED),
            (false, each) => (each.next_multiple_of(64), ((1 << 19) / each).clamp(1, BATCH)),
        };
        let rooms = Mapping::private(room * count).map_err(|errno| Failure::call("memory", errno))?;
        // SAFETY: zero is a value of both structures.
        let (vector, message) = unsafe { (zeroed::<libc::iovec>(), zeroed::<libc::mmsghdr>()) };
        let (control, vectors) = (vec![[0; CONTROL]; count].into(), vec![vector; count].into());
        let messages = vec![message; count].into();
        let mut receiver =
            Receiver { rooms, room, control, vectors, messages, joins, used: count, dropped: 0 };
        receiver.lay_out();
        Ok(receiver)
    }

    fn lay_out(&mut self) {
        for index in 0..self.messages.len() {
            // SAFETY: the mapping holds as many rooms as there are messages.
            let base = unsafe { self.rooms.start().add(index * self.room) };
            self.vectors[index] = libc::iovec { iov_base: base.cast(), iov_len: self.room };
            let head = &mut self.messages[index].msg_hdr;
            head.msg_iov = &raw mut self.vectors[index];
            head.msg_iovlen = 1;
            head.msg_control = self.control[index].as_mut_ptr().cast();
        }
    }

    /// Waits for the first and takes all that have come: bytes taken, or the error. With each comes how many found the
    /// buffer full just before it.
    pub fn receive(&mut self, line: &mut Line, mut each: impl FnMut(&[u8], Full)) -> i64 {
        let count = loop {
            for message in &mut self.messages[..self.used] {
                message.msg_hdr.msg_controllen = (CONTROL * 8) as _;
            }
            let (messages, most) = (self.messages.as_mut_ptr(), self.messages.len() as u32);
            // SAFETY: the messages refer to vectors, rooms and control rooms that live as long as they do.
            let count = unsafe {
                libc::recvmmsg(line.fd, messages, most, libc::MSG_WAITFORONE as _, std::ptr::null_mut())
            };
            if count > 0 {
                break count as usize;
            }
            self.used = 0;
            let number = errno();
            // A refused datagram of ours says nothing of those that come.
            if !is_later(number) && number != libc::ECONNREFUSED {
                return -i64::from(number);
            }
            if !line.patience.wait_for_more(line.fd) {
                return NONE;
            }
        };
        self.used = count;
        let mut bytes = 0;
        for index in 0..count {
            bytes += self.take(index, &mut each);
        }
        bytes as i64
    }

    fn take(&mut self, index: usize, each: &mut impl FnMut(&[u8], Full)) -> usize {
        let message = &self.messages[index];
        let length = (message.msg_len as usize).min(self.room);
        // SAFETY: the kernel has written so much of the room.
        let content =
            unsafe { std::slice::from_raw_parts(self.rooms.start().add(index * self.room), length) };
        let (mut segment, mut dropped) = (length, self.dropped);
        let told = message.msg_hdr.msg_controllen > 0;
        let mut control = Control { head: std::ptr::null(), message: &message.msg_hdr };
        while let Some((level, kind, value)) = if told { control.next() } else { None } {
            match (level, kind) {
                (libc::IPPROTO_UDP, UDP_GRO) if value > 0 => segment = value as usize,
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => dropped = value,
                _ => {}
            }
        }
        let packets = u64::from(dropped.wrapping_sub(self.dropped));
        let joined = if self.joins { length.div_ceil(segment.max(1)).max(1) as u64 } else { 0 };
        self.dropped = dropped;
        let mut full = Full { packets, joined };
        if segment == 0 {
            each(&[], full);
        }
        for datagram in content.chunks(segment.max(1)) {
            each(datagram, std::mem::take(&mut full));
        }
        length
    }
}

/// The control messages of one datagram.
struct Control<'a> {
    head: *const libc::cmsghdr,
    message: &'a libc::msghdr,
}

impl Control<'_> {
    fn next(&mut self) -> Option<(i32, i32, u32)> {
        // SAFETY: the kernel wrote the control messages of this header; each that is found lies inside their room and
        // holds at least a number of four bytes.
        unsafe {
            self.head = match self.head.is_null() {
                true => libc::CMSG_FIRSTHDR(self.message),
                false => libc::CMSG_NXTHDR(self.message, self.head),
            };
            let head = self.head.as_ref()?;
            let value = std::ptr::read_unaligned(libc::CMSG_DATA(self.head).cast::<u32>());
            Some((head.cmsg_level, head.cmsg_type, value))
        }
    }
}

/// Raises a receive buffer that has the system's default size: what overflows it would look like the network's loss.
fn raise_buffer(line: &Line) {
    let path = "/proc/sys/net/core/rmem_default";
    let default: Option<usize> = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    let now = line.socket().recv_buffer_size().ok();
    if now.is_none() || now != default {
        return;
    }
    // Only the administrator may go beyond the limit.
    if options::set(line.socket(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER).is_err() {
        let _ = line.socket().set_recv_buffer_size(RECEIVE_BUFFER as usize);
    }
}
