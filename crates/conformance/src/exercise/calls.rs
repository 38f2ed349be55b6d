//! The system calls of an exercise that no engine makes: each a function from plain values to a count or an error number.
//!
//! What can come back short is asked again for the rest. Nothing here knows a model.

use std::ffi::CString;
use std::os::fd::RawFd;

use iodyno_engine::memory::errno;

type CallResult = Result<u64, i32>;

fn answer(value: i64) -> CallResult {
    if value < 0 { Err(errno()) } else { Ok(value as u64) }
}

/// Opens a file of a directory; created where it is not there.
pub fn open(path: &CString, flags: i32) -> Result<RawFd, i32> {
    // SAFETY: the path is a valid string.
    let fd =
        unsafe { libc::open(path.as_ptr(), flags | libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC, 0o600) };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}

/// Closes a descriptor; delayed write errors come out here on some file systems.
pub fn close(fd: RawFd) -> CallResult {
    // SAFETY: the descriptor is the caller's and is not used again.
    answer(i64::from(unsafe { libc::close(fd) }))
}

pub fn unlink(path: &CString) -> CallResult {
    // SAFETY: the path is a valid string.
    answer(i64::from(unsafe { libc::unlink(path.as_ptr()) }))
}

fn attributes(fd: RawFd) -> Result<libc::stat, i32> {
    // SAFETY: zero is a value of every field, and the structure is valid for the call.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        answer(i64::from(libc::fstat(fd, &raw mut stat))).map(|_| stat)
    }
}

/// How long a file is.
pub fn size(fd: RawFd) -> CallResult {
    attributes(fd).map(|stat| stat.st_size as u64)
}

/// The file system's block, bytes.
pub fn block(fd: RawFd) -> CallResult {
    // SAFETY: zero is a value of every field, and the structure is valid for the call.
    unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        answer(i64::from(libc::fstatvfs(fd, &raw mut stat))).map(|_| stat.f_bsize as u64)
    }
}

/// What direct operations must be aligned to, as the file system says; none: it does not say.
pub fn direct_alignment(fd: RawFd) -> Option<u64> {
    // SAFETY: zero is a value of every field; the path is the empty string, so the descriptor itself is meant.
    unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let asked = libc::statx(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN, &raw mut stat);
        let said = asked == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0 && stat.stx_dio_offset_align > 0;
        said.then_some(u64::from(stat.stx_dio_offset_align))
    }
}

/// Bytes that anybody may still use below a path.
pub fn room(path: &CString) -> CallResult {
    // SAFETY: the path is a valid string, zero is a value of every field.
    unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        answer(i64::from(libc::statvfs(path.as_ptr(), &raw mut stat)))
            .map(|_| stat.f_bavail as u64 * stat.f_frsize as u64)
    }
}

pub fn truncate(fd: RawFd, bytes: u64) -> CallResult {
    // SAFETY: the call takes no pointers.
    answer(i64::from(unsafe { libc::ftruncate(fd, bytes as i64) }))
}

pub fn fallocate(fd: RawFd, mode: i32, offset: u64, bytes: u64) -> CallResult {
    loop {
        // SAFETY: the call takes no pointers.
        match answer(i64::from(unsafe { libc::fallocate(fd, mode, offset as i64, bytes as i64) })) {
            Err(libc::EINTR) => {}
            other => return other,
        }
    }
}

pub fn fsync(fd: RawFd) -> CallResult {
    // SAFETY: the call takes no pointers.
    answer(i64::from(unsafe { libc::fsync(fd) }))
}

pub fn fdatasync(fd: RawFd) -> CallResult {
    // SAFETY: the call takes no pointers.
    answer(i64::from(unsafe { libc::fdatasync(fd) }))
}

pub fn sync_range(fd: RawFd, offset: u64, bytes: u64) -> CallResult {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes no pointers.
    answer(i64::from(unsafe { libc::sync_file_range(fd, offset as i64, bytes as i64, flags) }))
}

pub fn readahead(fd: RawFd, offset: u64, bytes: u64) -> CallResult {
    // SAFETY: the call takes no pointers.
    answer(unsafe { libc::readahead(fd, offset as i64, bytes as usize) } as i64)
}

/// Drops the file's clean pages from the cache.
pub fn drop_cache(fd: RawFd) -> CallResult {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(0),
        number => Err(number),
    }
}

/// Where the next data, or the next hole, begins; none: there is none.
pub fn seek(fd: RawFd, offset: u64, data: bool) -> Result<Option<u64>, i32> {
    let whence = if data { libc::SEEK_DATA } else { libc::SEEK_HOLE };
    // SAFETY: the call takes no pointers.
    match answer(unsafe { libc::lseek(fd, offset as i64, whence) }) {
        Err(libc::ENXIO) => Ok(None),
        other => other.map(Some),
    }
}

/// Reads or writes at an offset, the memory cut into so many pieces.
pub fn pieces(fd: RawFd, write: bool, buffer: &mut [u8], offset: u64, count: usize) -> CallResult {
    let size = buffer.len().div_ceil(count.max(1)).max(1);
    let mut vectors = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; 8];
    let mut used = 0;
    for (vector, piece) in vectors.iter_mut().zip(buffer.chunks_mut(size)) {
        *vector = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
        used += 1;
    }
    // SAFETY: the vectors describe parts of a buffer that is borrowed for the call.
    answer(unsafe {
        match write {
            true => libc::pwritev(fd, vectors.as_ptr(), used, offset as i64),
            false => libc::preadv(fd, vectors.as_ptr(), used, offset as i64),
        }
    } as i64)
}

/// Reads all of a range, as far as the file goes.
pub fn read_all(fd: RawFd, buffer: &mut [u8], offset: u64) -> CallResult {
    again(buffer.len() as u64, |done| pieces(fd, false, &mut buffer[done as usize..], offset + done, 1))
}

/// Appends: the descriptor was opened for that.
pub fn append(fd: RawFd, buffer: &[u8]) -> CallResult {
    // SAFETY: the buffer is valid for the call.
    answer(unsafe { libc::write(fd, buffer.as_ptr().cast(), buffer.len()) } as i64)
}

/// Asks again for the rest until all is done, nothing more comes, or something fails.
fn again(bytes: u64, mut ask: impl FnMut(u64) -> CallResult) -> CallResult {
    let mut done = 0;
    while done < bytes {
        match ask(done) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(libc::EINTR) => {}
            Err(number) if done == 0 => return Err(number),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Where from, where to, how many bytes.
#[derive(Clone, Copy)]
pub struct Course {
    pub from: RawFd,
    pub offset: u64,
    pub to: RawFd,
    pub target: u64,
    pub bytes: u64,
}

pub fn copy_range(course: &Course) -> CallResult {
    again(course.bytes, |done| {
        let (mut from, mut to) = ((course.offset + done) as i64, (course.target + done) as i64);
        let left = (course.bytes - done) as usize;
        // SAFETY: both offsets are valid for the call.
        answer(unsafe { libc::copy_file_range(course.from, &raw mut from, course.to, &raw mut to, left, 0) }
            as i64)
    })
}

pub fn sendfile(course: &Course) -> CallResult {
    // SAFETY: the call takes no pointers.
    answer(unsafe { libc::lseek(course.to, course.target as i64, libc::SEEK_SET) })?;
    again(course.bytes, |done| {
        let mut from = (course.offset + done) as i64;
        // SAFETY: the offset is valid for the call.
        answer(unsafe {
            libc::sendfile(course.to, course.from, &raw mut from, (course.bytes - done) as usize)
        } as i64)
    })
}

/// From one file through a pipe to another.
pub fn splice(course: &Course) -> CallResult {
    let mut pipe = [0; 2];
    // SAFETY: the pair is valid for the call.
    answer(i64::from(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }))?;
    let mut done = 0;
    let mut moved = Ok((0, 0));
    while done < course.bytes {
        moved = through(course, pipe, done);
        let Ok((taken, given)) = moved else { break };
        done += given;
        if given < taken || taken == 0 {
            break;
        }
    }
    // A pipe has nothing to write back.
    let _ = pipe.map(close);
    if done == 0 { moved.map(|_| 0) } else { Ok(done) }
}

/// Fills the pipe and empties it: how much went in, and how much came out.
fn through(course: &Course, pipe: [RawFd; 2], done: u64) -> Result<(u64, u64), i32> {
    let mut from = (course.offset + done) as i64;
    let left = (course.bytes - done) as usize;
    let none = std::ptr::null_mut();
    // SAFETY: the offset is valid for the call.
    let taken = answer(unsafe { libc::splice(course.from, &raw mut from, pipe[1], none, left, 0) } as i64)?;
    let given = again(taken, |given| {
        let mut to = (course.target + done + given) as i64;
        // SAFETY: as above.
        answer(unsafe { libc::splice(pipe[0], none, course.to, &raw mut to, (taken - given) as usize, 0) }
            as i64)
    })?;
    Ok((taken, given))
}

/// `struct file_clone_range`.
#[repr(C)]
struct CloneRange {
    from: i64,
    offset: u64,
    bytes: u64,
    target: u64,
}

/// `struct file_dedupe_range` with one destination.
#[repr(C)]
struct DedupeRange {
    offset: u64,
    bytes: u64,
    count: u16,
    reserved: [u16; 3],
    to: i64,
    target: u64,
    deduped: u64,
    status: i32,
    reserved_too: u32,
}

/// `_IOW(0x94, 13, struct file_clone_range)` and `_IOWR(0x94, 54, struct file_dedupe_range)`.
const CLONE_RANGE: u64 = 0x4020_940d;
const DEDUPE_RANGE: u64 = 0xc018_9436;

pub fn clone_range(course: &Course) -> CallResult {
    let range = CloneRange {
        from: i64::from(course.from),
        offset: course.offset,
        bytes: course.bytes,
        target: course.target,
    };
    // SAFETY: the structure is valid for the call.
    answer(i64::from(unsafe { libc::ioctl(course.to, CLONE_RANGE as _, &raw const range) }))
        .map(|_| course.bytes)
}

/// Lets two ranges share their storage if they hold the same; answers whether they do.
pub fn dedupe_range(course: &Course) -> Result<bool, i32> {
    let mut range = DedupeRange {
        offset: course.offset,
        bytes: course.bytes,
        count: 1,
        reserved: [0; 3],
        to: i64::from(course.to),
        target: course.target,
        deduped: 0,
        status: 0,
        reserved_too: 0,
    };
    // SAFETY: the structure, with its one destination, is valid for the call.
    answer(i64::from(unsafe { libc::ioctl(course.from, DEDUPE_RANGE as _, &raw mut range) }))?;
    match range.status {
        0 => Ok(true),
        1 => Ok(false),
        number => Err(-number),
    }
}
