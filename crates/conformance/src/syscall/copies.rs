//! Calls that move bytes from one file to another without this process seeing them: copies, clones, pipes.

use std::ffi::c_int;

use super::Answer;
use super::fd_table::Hands;
use super::flags::NONE;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Fd, Flags, Number, Offset};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb(
        "copy_file_range",
        &[Fd, Offset, Fd, Offset, Number, Flags(NONE)],
        "FD OFFSET|- FD OFFSET|- LENGTH FLAGS: copies from the first to the second",
        copy_file_range,
    ),
    verb(
        "sendfile",
        &[Fd, Fd, Offset, Number],
        "FD FD OFFSET|- LENGTH: copies to the first from the second",
        |_, given| {
            let mut offset = given.number(2);
            let place = place(given, 2, &mut offset);
            // SAFETY: the offset outlives the call.
            let count = unsafe { libc::sendfile(given.fd(0), given.fd(1), place, given.number(3) as usize) };
            Ok(moved(count as i64, offset))
        },
    ),
    verb(
        "splice",
        &[Fd, Offset, Fd, Offset, Number],
        "FD OFFSET|- FD OFFSET|- LENGTH: moves from the first to the second, one of which is a fifo",
        splice,
    ),
    verb("ficlone", &[Fd, Fd], "FD FD: makes the first share the second's blocks", |_, given| {
        Ok(ask!(ioctl(given.fd(0), libc::FICLONE as _, given.fd(1))))
    }),
    verb(
        "ficlonerange",
        &[Fd, Fd, Number, Number, Number],
        "FD FD FROM LENGTH TO: makes a range of the first share the second's blocks",
        |_, given| {
            let range = CloneRange {
                source: i64::from(given.fd(1)),
                offset: given.number(2) as u64,
                length: given.number(3) as u64,
                to: given.number(4) as u64,
            };
            Ok(ask!(ioctl(given.fd(0), libc::FICLONERANGE as _, std::ptr::from_ref(&range))))
        },
    ),
    verb(
        "dedupe",
        &[Fd, Fd, Number, Number, Number],
        "FD FD FROM LENGTH TO: makes a range of the first share the second's blocks, if both are the same",
        dedupe,
    ),
];

fn place(given: &CallArguments, index: usize, offset: &mut i64) -> *mut i64 {
    if given.has(index) { std::ptr::from_mut(offset) } else { std::ptr::null_mut() }
}

fn moved(count: i64, offset: i64) -> Answer {
    match count {
        count if count < 0 => Answer::last(),
        count => Answer::default().with("count", count).with("offset", offset),
    }
}

fn copy_file_range(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (mut from, mut to) = (given.number(1), given.number(3));
    let places = (place(given, 1, &mut from), place(given, 3, &mut to));
    let (length, flags) = (given.number(4) as usize, given.int(5));
    // SAFETY: the offsets outlive the call.
    let count = unsafe {
        libc::syscall(libc::SYS_copy_file_range, given.fd(0), places.0, given.fd(2), places.1, length, flags)
    };
    Ok(moved(count, to))
}

fn splice(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let (mut from, mut to) = (given.number(1), given.number(3));
    let places = (place(given, 1, &mut from), place(given, 3, &mut to));
    let length = given.number(4) as usize;
    // SAFETY: the offsets outlive the call.
    let count = unsafe { libc::splice(given.fd(0), places.0, given.fd(2), places.1, length, 0) };
    Ok(moved(count as i64, to))
}

/// `struct file_clone_range` of `linux/fs.h`.
#[repr(C)]
struct CloneRange {
    source: i64,
    offset: u64,
    length: u64,
    to: u64,
}

/// `struct file_dedupe_range` of `linux/fs.h`, with one target.
#[repr(C)]
struct DedupeRange {
    offset: u64,
    length: u64,
    targets: u16,
    reserved: [u16; 3],
    target: i64,
    target_offset: u64,
    done: u64,
    status: i32,
    reserved_too: u32,
}

/// `_IOWR(0x94, 54, struct file_dedupe_range)`, whose 24 bytes are those before the targets.
const FIDEDUPERANGE: u32 = 3 << 30 | 24 << 16 | 0x94 << 8 | 54;

/// The targets' own status: they differ.
const DIFFERS: i32 = 1;

fn dedupe(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut range = DedupeRange {
        offset: given.number(2) as u64,
        length: given.number(3) as u64,
        targets: 1,
        reserved: [0; 3],
        target: i64::from(given.fd(0) as c_int),
        target_offset: given.number(4) as u64,
        done: 0,
        status: 0,
        reserved_too: 0,
    };
    let answer = ask!(ioctl(given.fd(1), FIDEDUPERANGE as _, std::ptr::from_mut(&mut range)));
    Ok(match (answer.errno, range.status) {
        (Some(_), _) => answer,
        (None, DIFFERS) => Answer::said("differs").with("count", range.done),
        (None, 0) => Answer::said("same").with("count", range.done),
        (None, status) => Answer::failed(-status),
    })
}
