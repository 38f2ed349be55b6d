//! Calls that move bytes between a file and this process, and that make files longer or shorter.
//!
//! One call is one system call: what comes back short is said to be short. Only `fill`, `sum` and `zeros`, which are no
//! system calls, go on until all is done.

use std::ffi::c_int;
use std::hash::Hasher;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64_with_seed};

use super::Answer;
use super::fd_table::Hands;
#[cfg(not(target_os = "macos"))]
use super::flags::FADVISE;
use super::flags::WHENCE;
#[cfg(target_os = "linux")]
use super::flags::{FALLOC, RWF, SYNC_RANGE};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, number, text};
#[cfg(target_os = "linux")]
use ArgumentKind::Flags;
use ArgumentKind::{Fd, Many, Number, One, Path, Text};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("read", &[Fd, Number], "FD COUNT: reads, and says what", |_, given| {
        let mut room = Room::new(given.number(1))?;
        // SAFETY: the room is as long as said.
        let count = unsafe { libc::read(given.fd(0), room.start(), room.length) };
        Ok(room.told(count))
    }),
    verb("pread", &[Fd, Number, Number], "FD COUNT OFFSET: reads at an offset, and says what", |_, given| {
        let mut room = Room::new(given.number(1))?;
        // SAFETY: the room is as long as said.
        let count = unsafe { libc::pread(given.fd(0), room.start(), room.length, given.number(2)) };
        Ok(room.told(count))
    }),
    verb("readv", &[Fd, Many(&Number)], "FD SIZE…: reads into several places, and says what", readv),
    #[cfg(target_os = "linux")]
    verb(
        "preadv2",
        &[Fd, Number, Number, Flags(RWF)],
        "FD COUNT OFFSET FLAGS: reads, and says what",
        preadv2,
    ),
    verb("write", &[Fd, Text], "FD TEXT: writes", |_, given| {
        let room = Room::holding(given.bytes(1));
        Ok(counted(ask_count(|| {
            // SAFETY: the room is as long as said.
            unsafe { libc::write(given.fd(0), room.bytes().as_ptr().cast(), room.length) }
        })))
    }),
    verb("pwrite", &[Fd, Text, Number], "FD TEXT OFFSET: writes at an offset", |_, given| {
        Ok(counted(pwrite(given.fd(0), Room::holding(given.bytes(1)).bytes(), given.number(2))))
    }),
    verb("writev", &[Fd, Many(&Text)], "FD TEXT…: writes from several places", writev),
    #[cfg(target_os = "linux")]
    verb("pwritev2", &[Fd, Text, Number, Flags(RWF)], "FD TEXT OFFSET FLAGS: writes", pwritev2),
    verb("lseek", &[Fd, Number, One(WHENCE)], "FD OFFSET WHENCE: moves, and says where to", |_, given| {
        // SAFETY: takes no pointers.
        match unsafe { libc::lseek(given.fd(0), given.number(1), given.int(2)) } {
            -1 => Ok(Answer::last()),
            offset => Ok(Answer::said(offset.to_string()).with("offset", offset)),
        }
    }),
    verb("truncate", &[Path, Number], "PATH LENGTH: sets the size", |_, given| {
        Ok(ask!(truncate(given.path(0), given.number(1))))
    }),
    verb("ftruncate", &[Fd, Number], "FD LENGTH: sets the size", |_, given| {
        Ok(ask!(ftruncate(given.fd(0), given.number(1))))
    }),
    #[cfg(target_os = "linux")]
    verb(
        "fallocate",
        &[Fd, Flags(FALLOC), Number, Number],
        "FD MODE OFFSET LENGTH: gives or takes space",
        |_, given| Ok(ask!(fallocate(given.fd(0), given.int(1), given.number(2), given.number(3)))),
    ),
    #[cfg(not(target_os = "macos"))]
    verb("posix_fallocate", &[Fd, Number, Number], "FD OFFSET LENGTH: gives space", |_, given| {
        // SAFETY: takes no pointers.
        let errno = unsafe { libc::posix_fallocate(given.fd(0), given.number(1), given.number(2)) };
        Ok(if errno == 0 { Answer::default() } else { Answer::failed(errno) })
    }),
    verb("fsync", &[Fd], "FD: brings a file to the device", |_, given| Ok(ask!(fsync(given.fd(0))))),
    #[cfg(not(target_os = "macos"))]
    verb("fdatasync", &[Fd], "FD: brings a file's data to the device", |_, given| {
        Ok(ask!(fdatasync(given.fd(0))))
    }),
    #[cfg(target_os = "linux")]
    verb("syncfs", &[Fd], "FD: brings a file system to the device", |_, given| Ok(ask!(syncfs(given.fd(0))))),
    #[cfg(target_os = "linux")]
    verb(
        "sync_file_range",
        &[Fd, Number, Number, Flags(SYNC_RANGE)],
        "FD OFFSET LENGTH FLAGS: starts or awaits writeback",
        |_, given| {
            Ok(ask!(sync_file_range(given.fd(0), given.number(1), given.number(2), given.int(3) as _)))
        },
    ),
    #[cfg(not(target_os = "macos"))]
    verb(
        "fadvise",
        &[Fd, Number, Number, One(FADVISE)],
        "FD OFFSET LENGTH ADVICE: says what is to come",
        |_, given| {
            // SAFETY: takes no pointers.
            let errno =
                unsafe { libc::posix_fadvise(given.fd(0), given.number(1), given.number(2), given.int(3)) };
            Ok(if errno == 0 { Answer::default() } else { Answer::failed(errno) })
        },
    ),
    verb("dup", &[Fd], "FD: another descriptor for what is open", |hands, given| {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::dup(given.fd(0)) };
        Ok(hands.keep(&given.label, fd))
    }),
    verb("fill", &[Fd, Number, Number, Text], "FD OFFSET LENGTH BYTE|seed:N: writes a pattern", fill),
    verb("sum", &[Fd, Number, Number], "FD OFFSET LENGTH: says a digest of what is there", |_, given| {
        sum(given)
    }),
    verb(
        "zeros",
        &[Fd, Number, Number],
        "FD OFFSET LENGTH: says `yes`, or where there is another byte",
        |_, given| zeros(given),
    ),
];

/// What one read may ask for at most, bytes: its answer is kept as text.
const MOST: i64 = 64 << 20;

/// Memory that stands at a page, as direct I/O wants it.
struct Room {
    pages: Vec<Page>,
    length: usize,
}

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page([u8; 4096]);

impl Room {
    fn new(length: i64) -> Result<Room, String> {
        let wanted = usize::try_from(length).ok().filter(|_| length <= MOST);
        let length = wanted.ok_or_else(|| format!("{length} bytes: one call takes 0 to {MOST}"))?;
        Ok(Room { pages: vec![Page([0; 4096]); length.div_ceil(4096).max(1)], length })
    }

    fn holding(bytes: &[u8]) -> Room {
        let pages = vec![Page([0; 4096]); bytes.len().div_ceil(4096).max(1)];
        let mut room = Room { pages, length: bytes.len() };
        for (page, bytes) in room.pages.iter_mut().zip(bytes.chunks(4096)) {
            page.0[..bytes.len()].copy_from_slice(bytes);
        }
        room
    }

    fn start(&mut self) -> *mut libc::c_void {
        self.pages.as_mut_ptr().cast()
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: pages are bytes without gaps, and there are at least so many.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.length) }
    }

    /// What a read that came back with this count means.
    fn told(&self, count: isize) -> Answer {
        match usize::try_from(count) {
            Ok(count) => Answer::said(text(&self.bytes()[..count])).with("count", count),
            Err(_) => Answer::last(),
        }
    }
}

fn ask_count(ask: impl FnOnce() -> isize) -> Result<usize, Answer> {
    usize::try_from(ask()).map_err(|_| Answer::last())
}

fn counted(count: Result<usize, Answer>) -> Answer {
    count.map_or_else(|failed| failed, |count| Answer::default().with("count", count))
}

fn pread(fd: c_int, into: &mut [u8], offset: i64) -> Result<usize, Answer> {
    // SAFETY: the place is as long as said.
    ask_count(|| unsafe { libc::pread(fd, into.as_mut_ptr().cast(), into.len(), offset) })
}

fn pwrite(fd: c_int, from: &[u8], offset: i64) -> Result<usize, Answer> {
    // SAFETY: the place is as long as said.
    ask_count(|| unsafe { libc::pwrite(fd, from.as_ptr().cast(), from.len(), offset) })
}

fn readv(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let sizes = (1..given.count()).map(|index| given.number(index));
    let mut rooms = sizes.map(Room::new).collect::<Result<Vec<_>, _>>()?;
    let pieces: Vec<_> =
        rooms.iter_mut().map(|room| libc::iovec { iov_base: room.start(), iov_len: room.length }).collect();
    // SAFETY: each room is as long as said.
    let count = unsafe { libc::readv(given.fd(0), pieces.as_ptr(), pieces.len() as c_int) };
    let Ok(count) = usize::try_from(count) else { return Ok(Answer::last()) };
    let all: Vec<u8> = rooms.iter().flat_map(|room| room.bytes().iter().copied()).take(count).collect();
    Ok(Answer::said(text(&all)).with("count", count))
}

fn writev(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let rooms: Vec<Room> = (1..given.count()).map(|index| Room::holding(given.bytes(index))).collect();
    let piece = |room: &Room| libc::iovec { iov_base: room.bytes().as_ptr() as *mut _, iov_len: room.length };
    let pieces: Vec<_> = rooms.iter().map(piece).collect();
    // SAFETY: each room is as long as said.
    Ok(counted(ask_count(|| unsafe { libc::writev(given.fd(0), pieces.as_ptr(), pieces.len() as c_int) })))
}

/// The last argument but one is the upper half of an offset that is whole in the one before.
#[cfg(target_os = "linux")]
fn preadv2(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut room = Room::new(given.number(1))?;
    let piece = libc::iovec { iov_base: room.start(), iov_len: room.length };
    let (fd, offset, flags) = (given.fd(0), given.number(2), given.int(3));
    let place = std::ptr::from_ref(&piece);
    // SAFETY: the room is as long as said.
    let count = unsafe { libc::syscall(libc::SYS_preadv2, fd, place, 1usize, offset, 0usize, flags) };
    Ok(room.told(count as isize))
}

#[cfg(target_os = "linux")]
fn pwritev2(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut room = Room::holding(given.bytes(1));
    let piece = libc::iovec { iov_base: room.start(), iov_len: room.length };
    let (fd, offset, flags) = (given.fd(0), given.number(2), given.int(3));
    let place = std::ptr::from_ref(&piece);
    Ok(counted(ask_count(|| {
        // SAFETY: the room is as long as said.
        unsafe { libc::syscall(libc::SYS_pwritev2, fd, place, 1usize, offset, 0usize, flags) as isize }
    })))
}

/// What `fill` writes.
enum Pattern {
    Byte(u8),
    Seed(u64),
}

impl Pattern {
    fn read(word: &str) -> Result<Pattern, String> {
        let wrong = || format!("`{word}`: expected a byte from 0 to 255, or `seed:N`");
        match word.strip_prefix("seed:") {
            Some(seed) => number(seed).map(|seed| Pattern::Seed(seed as u64)),
            None => number(word).and_then(|byte| u8::try_from(byte).ok()).map(Pattern::Byte),
        }
        .ok_or_else(wrong)
    }

    /// The bytes that belong at an offset: the same however they are cut.
    fn fill(&self, bytes: &mut [u8], offset: u64) {
        match self {
            Pattern::Byte(byte) => bytes.fill(*byte),
            Pattern::Seed(seed) => {
                for (index, byte) in bytes.iter_mut().enumerate() {
                    let at = offset + index as u64;
                    *byte =
                        xxh3_64_with_seed(&(at / 8).to_le_bytes(), *seed).to_le_bytes()[(at % 8) as usize];
                }
            }
        }
    }
}

/// The most that is moved at a time, bytes.
const PIECE: i64 = 1 << 20;

/// Does something with each piece of a range, as long as it goes on: until an answer is there.
fn pieces(given: &CallArguments, mut each: impl FnMut(&mut [u8], i64) -> Result<usize, Answer>) -> Answer {
    let (from, length) = (given.number(1), given.number(2));
    let mut done = 0;
    let mut room = vec![Page([0; 4096]); PIECE.min(length.max(1)).unsigned_abs().div_ceil(4096) as usize];
    while done < length {
        let count = PIECE.min(length - done) as usize;
        // SAFETY: pages are bytes without gaps, and there are at least so many.
        let bytes = unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), count) };
        match each(bytes, from.saturating_add(done)) {
            Ok(0) => break,
            Ok(count) => done += count as i64,
            Err(answer) => return answer,
        }
    }
    Answer::default().with("count", done)
}

fn fill(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let pattern = Pattern::read(&given.text(3))?;
    Ok(pieces(given, |bytes, offset| {
        pattern.fill(bytes, offset as u64);
        pwrite(given.fd(0), bytes, offset)
    }))
}

fn sum(given: &CallArguments) -> Result<Answer, String> {
    let mut digest = Xxh3Default::new();
    let mut answer = pieces(given, |bytes, offset| {
        let count = pread(given.fd(0), bytes, offset)?;
        digest.write(&bytes[..count]);
        Ok(count)
    });
    if answer.errno.is_none() {
        answer.text = format!("{:016x}", digest.digest());
    }
    Ok(answer)
}

fn zeros(given: &CallArguments) -> Result<Answer, String> {
    let answer = pieces(given, |bytes, offset| {
        let count = pread(given.fd(0), bytes, offset)?;
        match bytes[..count].iter().position(|byte| *byte != 0) {
            Some(index) => Err(Answer::said(format!("{:#04x} at {}", bytes[index], offset + index as i64))),
            None => Ok(count),
        }
    });
    let whole = answer.field("count") == Some(&given.number(2).max(0).to_string());
    Ok(match answer.field("count").map(str::to_string) {
        Some(_) if whole => Answer { text: "yes".into(), ..answer },
        Some(count) => Answer { text: format!("ends after {count}"), ..answer },
        None => answer,
    })
}
