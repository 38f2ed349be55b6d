//! The socket options of Linux that the socket crate does not have.

use std::io;
use std::mem::size_of;
use std::net::SocketAddrV6;
use std::os::fd::{AsRawFd, RawFd};

use socket2::Socket;

/// Sets one option.
///
/// # Errors
/// The system's.
pub fn set<T: Copy>(socket: &Socket, level: i32, option: i32, value: &T) -> io::Result<()> {
    set_fd(socket.as_raw_fd(), level, option, value)
}

/// The same of a descriptor.
///
/// # Errors
/// The system's.
pub fn set_fd<T: Copy>(fd: RawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is valid for its size, and the call only reads it.
    let result = unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The same of a value that has no type.
///
/// # Errors
/// The system's.
pub fn set_bytes(socket: &Socket, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let (start, bytes) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: the value is valid for its length, and the call only reads it.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, start, bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What the kernel wants to be told of a flow label (`linux/in6.h`).
#[repr(C)]
#[derive(Clone, Copy)]
struct LabelRequest {
    peer: [u8; 16],
    label: u32,
    action: u8,
    share: u8,
    flags: u16,
    expires: u16,
    linger: u16,
    pad: u32,
}

const IPV6_FLOWLABEL_MGR: i32 = 32;
const IPV6_FLOWINFO_SEND: i32 = 33;
/// Get it, and make it where there is none.
const GET: u8 = 0;
const CREATE: u16 = 1;
/// Anybody may use it.
const ANY: u8 = 255;

/// Takes a flow label for packets to a peer.
///
/// # Errors
/// The system's.
pub fn flow_label(socket: &Socket, to: &SocketAddrV6, label: u32) -> io::Result<()> {
    let request = LabelRequest {
        peer: to.ip().octets(),
        label: (label & 0xf_ffff).to_be(),
        action: GET,
        share: ANY,
        flags: CREATE,
        expires: 0,
        linger: 0,
        pad: 0,
    };
    set(socket, libc::IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &request)?;
    set(socket, libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &1i32)
}
