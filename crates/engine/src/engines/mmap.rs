//! `mmap`: the file is mapped into memory and bytes are copied to and from it; the kernel does I/O in page faults.
//!
//! A mapping cannot grow a file, fail or return short, so what `pread` and `pwrite` would say is found out beforehand
//! from the file's length; a page that cannot be had all the same (the file was cut by somebody, the device failed, the
//! disk is full) raises SIGBUS, which becomes `-EIO` for that operation and not the end of the process. Files must be
//! open for reading too, and direct I/O has no meaning here.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::sync::OnceLock;

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb};

use super::{EngineFacts, Failure, Setup, SyncEngine, check_values, setting, spec};
use crate::call;
use crate::io::{AT_END, Files, Io};
use crate::memory::errno;

/// How much of a file is mapped at once: all of it, where addresses are plenty.
const WINDOW_BYTES: u64 = if cfg!(target_pointer_width = "64") { 1 << 40 } else { 1 << 28 };

/// A part of a file in memory.
struct MappedWindow {
    start: *mut u8,
    offset: u64,
    bytes: u64,
}

/// What is known of a file: valid as long as its descriptor stays the same.
#[derive(Default)]
struct FileMapping {
    fd: Option<RawFd>,
    readable: bool,
    writable: bool,
    file_bytes: u64,
    window: Option<MappedWindow>,
}

/// Files in memory.
pub struct Mmap {
    files: Vec<FileMapping>,
    advice: Vec<libc::c_int>,
    wait: bool,
    /// Whether every other operation is a call, and whether the last one was.
    mixed: bool,
    called: bool,
}

impl SyncEngine for Mmap {
    const FACTS: EngineFacts = EngineFacts {
        about: "copies to and from mapped files; the kernel does I/O in page faults",
        settings: &[
            spec("thp", "on or off: ask for huge pages, or for none (default: the system's way)"),
            spec("sync", "what msync does: sync waits, async only marks (default sync)"),
            spec("advice", "normal, random, sequential or willneed, told to the kernel (default: nothing)"),
            spec(
                "dont_need",
                "on or off: the kernel is told that newly mapped pages are not needed (default off)",
            ),
            spec("calls", "on or off: every other operation is a call, on the same file (default off)"),
        ],
        reads_to_write: true,
        performs: true,
        check: Self::check,
        traits: &[EngineTrait::OneAtATime],
        ..EngineFacts::named("mmap")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        catch_bus_errors()?;
        let advice = match setting(setup.job, "advice") {
            Some("random") => Some(libc::MADV_RANDOM),
            Some("sequential") => Some(libc::MADV_SEQUENTIAL),
            Some("willneed") => Some(libc::MADV_WILLNEED),
            Some("normal") => Some(libc::MADV_NORMAL),
            _ => None,
        };
        Ok(Mmap {
            files: setup.files.handles.iter().map(|_| FileMapping::default()).collect(),
            advice: advice
                .into_iter()
                .chain(huge_pages(setup.job))
                .chain(super::switched_on(setup.job, "dont_need").then_some(libc::MADV_DONTNEED))
                .collect(),
            wait: setting(setup.job, "sync") != Some("async"),
            mixed: super::switched_on(setup.job, "calls"),
            called: false,
        })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        match io.verb {
            Verb::Read | Verb::Write if self.mixed && !self.called => {
                self.called = true;
                call::perform(io, files)
            }
            Verb::Read | Verb::Write if io.offset < AT_END => {
                self.called = false;
                self.transfer(io, files.fd(io.file))
            }
            _ => self.other(io, files),
        }
    }
}

impl Mmap {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let one_of = |words: &'static [&str]| move |value: &str| words.contains(&value);
        let mut found = super::check_switches(job, &["thp", "dont_need", "calls"]);
        found.extend(check_values(job, &["sync"], one_of(&["sync", "async"]), "say sync or async"));
        let advice = one_of(&["normal", "random", "sequential", "willneed"]);
        found.extend(check_values(job, &["advice"], advice, "say normal, random, sequential or willneed"));
        found
    }

    fn transfer(&mut self, io: &Io, fd: RawFd) -> i64 {
        let outcome = match (self.mapped(io.file, fd), io.verb) {
            (Ok(()), Verb::Read) => self.read(io, fd),
            (Ok(()), _) => self.write(io, fd),
            (Err(number), _) => Err(number),
        };
        match outcome {
            Ok(bytes) => bytes as i64,
            Err(number) => {
                // A faulted page was replaced by an empty one: the mapping is no longer the file.
                self.forget(io.file);
                -i64::from(number)
            }
        }
    }

    fn read(&mut self, io: &Io, fd: RawFd) -> Result<u64, i32> {
        if !self.files[io.file as usize].readable {
            return Err(libc::EBADF);
        }
        let end = end_of(io)?;
        let file_bytes = self.bytes_for(io.file, fd, end)?;
        let bytes = end.min(file_bytes).saturating_sub(io.offset);
        self.copy(io, fd, bytes, |file, buffer, bytes| {
            // SAFETY: both lie inside their areas, as `copy` computed, and a mapping never overlaps a buffer.
            unsafe { std::ptr::copy_nonoverlapping(file, buffer, bytes) };
        })
    }

    fn write(&mut self, io: &Io, fd: RawFd) -> Result<u64, i32> {
        if !self.files[io.file as usize].writable {
            return Err(libc::EBADF);
        }
        let end = end_of(io)?;
        if io.bytes > 0 && end > self.bytes_for(io.file, fd, end)? {
            // Writing our own last byte grows the file and can never cut what another worker wrote.
            // SAFETY: the last byte lies inside the buffer, which is valid until the operation completes.
            let grown = unsafe {
                let last = io.buffer.add(io.bytes as usize - 1);
                libc::pwrite(fd, last.cast_const().cast(), 1, (end - 1) as libc::off_t)
            };
            if grown != 1 {
                return Err(errno());
            }
            self.files[io.file as usize].file_bytes = end;
        }
        self.copy(io, fd, io.bytes, |file, buffer, bytes| {
            // SAFETY: both lie inside their areas, as `copy` computed, and a mapping never overlaps a buffer.
            unsafe { std::ptr::copy_nonoverlapping(buffer.cast_const(), file, bytes) };
        })
    }

    /// Runs the copy over as many windows as the range touches.
    #[inline(always)]
    fn copy(
        &mut self,
        io: &Io,
        fd: RawFd,
        bytes: u64,
        move_bytes: impl Fn(*mut u8, *mut u8, usize),
    ) -> Result<u64, i32> {
        let mut done = 0;
        while done < bytes {
            let (file, room) = self.address(io.file, fd, io.offset + done)?;
            let part = room.min(bytes - done) as usize;
            // SAFETY: `done` is below the operation's length, so the address lies inside the buffer.
            let buffer = unsafe { io.buffer.add(done as usize) };
            guarded(file, part, || move_bytes(file, buffer, part))?;
            done += part as u64;
        }
        Ok(done)
    }

    /// Notes what a descriptor may be used for, when it is new.
    #[inline(always)]
    fn mapped(&mut self, file: u32, fd: RawFd) -> Result<(), i32> {
        let index = file as usize;
        if self.files.get(index).is_some_and(|mapped| mapped.fd == Some(fd)) {
            return Ok(());
        }
        // SAFETY: the call takes no pointers.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        if flags < 0 {
            return Err(errno());
        }
        if index >= self.files.len() {
            self.files.resize_with(index + 1, FileMapping::default);
        }
        self.forget(file);
        let access = flags & libc::O_ACCMODE;
        let mapped = &mut self.files[index];
        (mapped.fd, mapped.readable, mapped.writable) =
            (Some(fd), access != libc::O_WRONLY, access != libc::O_RDONLY);
        Ok(())
    }

    /// The file's length; asked of the kernel only when what is known does not reach `end`.
    #[inline(always)]
    fn bytes_for(&mut self, file: u32, fd: RawFd, end: u64) -> Result<u64, i32> {
        let known = &mut self.files[file as usize].file_bytes;
        if end > *known {
            *known = call::file_bytes(fd)?;
        }
        Ok(*known)
    }

    /// Where an offset of a file is in memory, and how many bytes follow it there.
    #[inline(always)]
    fn address(&mut self, file: u32, fd: RawFd, offset: u64) -> Result<(*mut u8, u64), i32> {
        let inside = |window: &MappedWindow| offset.wrapping_sub(window.offset) < window.bytes;
        if !self.files[file as usize].window.as_ref().is_some_and(inside) {
            self.map(file, fd, offset)?;
        }
        let Some(window) = &self.files[file as usize].window else { return Err(libc::EIO) };
        let at = offset - window.offset;
        // SAFETY: `at` is below the window's length.
        Ok((unsafe { window.start.add(at as usize) }, window.bytes - at))
    }

    #[cold]
    fn map(&mut self, file: u32, fd: RawFd, offset: u64) -> Result<(), i32> {
        let mapped = &mut self.files[file as usize];
        // First let go, so that two windows never exist at once.
        mapped.window = None;
        let begin = offset - offset % WINDOW_BYTES;
        // Rounded up, so that a growing file is mapped anew only as often as it doubles.
        let bytes = mapped.file_bytes.saturating_sub(begin).max(1 << 20);
        let bytes = bytes.checked_next_power_of_two().unwrap_or(WINDOW_BYTES).min(WINDOW_BYTES);
        let access = libc::PROT_READ | if mapped.writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                access,
                libc::MAP_SHARED,
                fd,
                begin as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(errno());
        }
        for advice in &self.advice {
            // Advice that is not taken changes nothing but speed.
            // SAFETY: the range was mapped above.
            unsafe { libc::madvise(start, bytes as usize, *advice) };
        }
        mapped.window = Some(MappedWindow { start: start.cast(), offset: begin, bytes });
        Ok(())
    }

    /// Syncs by mapping where there is one; other verbs are `call`'s, and may change what is known of the file.
    #[inline(never)]
    fn other(&mut self, io: &Io, files: &mut Files) -> i64 {
        let sync = match io.verb {
            Verb::Fsync | Verb::Fdatasync => Some(libc::MS_SYNC),
            Verb::Msync => Some(if self.wait { libc::MS_SYNC } else { libc::MS_ASYNC }),
            _ => None,
        };
        let mapped =
            self.files.get(io.file as usize).and_then(|mapped| mapped.window.as_ref().zip(mapped.fd));
        if let (Some(flags), Some((window, fd))) = (sync, mapped)
            && fd == files.fd(io.file)
        {
            let bytes = window.bytes.min(self.files[io.file as usize].file_bytes - window.offset) as usize;
            // SAFETY: the range is mapped.
            let value = unsafe { libc::msync(window.start.cast(), bytes, flags) };
            return if value < 0 { -i64::from(errno()) } else { 0 };
        }
        let result = match io.verb {
            // Nothing is mapped yet, so nothing is dirty.
            Verb::Msync => 0,
            _ => call::perform(io, files),
        };
        if io.verb.changes() || matches!(io.verb, Verb::Open | Verb::Close) {
            // Its length may be another one, and a number may stand for another file.
            self.files.iter_mut().for_each(|mapped| *mapped = FileMapping::default());
        }
        result
    }

    fn forget(&mut self, file: u32) {
        if let Some(mapped) = self.files.get_mut(file as usize) {
            *mapped = FileMapping::default();
        }
    }
}

impl Drop for MappedWindow {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody points into it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes as usize) };
    }
}

/// The end of an operation, where it is an offset that a file can have.
fn end_of(io: &Io) -> Result<u64, i32> {
    io.offset.checked_add(io.bytes).filter(|end| *end <= i64::MAX as u64).ok_or(libc::EINVAL)
}

#[cfg(target_os = "linux")]
fn huge_pages(job: &Job) -> Option<libc::c_int> {
    super::switch(job, "thp").map(|on| if on { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })
}

#[cfg(not(target_os = "linux"))]
fn huge_pages(_job: &Job) -> Option<libc::c_int> {
    None
}

thread_local! {
    /// The file's bytes that this thread is about to touch: first, and one past the last.
    static GUARDED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Whether one of them could not be had.
    static FAULTED: Cell<bool> = const { Cell::new(false) };
}

/// What was done about SIGBUS before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Touches mapped bytes; `EIO` when one of their pages could not be had.
#[inline(always)]
pub fn guarded(start: *mut u8, bytes: usize, touch: impl FnOnce()) -> Result<(), i32> {
    GUARDED.set((start as usize, start as usize + bytes));
    // The handler runs on this thread: only the compiler must be kept from reordering.
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    touch();
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    GUARDED.set((0, 0));
    if FAULTED.get() {
        FAULTED.set(false);
        return Err(libc::EIO);
    }
    Ok(())
}

/// Puts an empty page where one cannot be had and notes it; faults elsewhere are left to whoever was there before.
extern "C" fn on_bus_error(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid description of the fault; all calls below may be made in a handler.
    unsafe {
        let address = (*info).si_addr() as usize;
        let (first, end) = GUARDED.get();
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let start = address - address % page;
        if first != end && start < end && address + page > first - first % page {
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_FIXED);
            let new = libc::mmap(start as *mut _, page, access, flags | libc::MAP_ANON, -1, 0);
            if new != libc::MAP_FAILED {
                FAULTED.set(true);
                return;
            }
        }
        match BEFORE.get() {
            Some(before) => libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()),
            None => {
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
                0
            }
        };
    }
}

/// Installs the handler, once for the process.
pub fn catch_bus_errors() -> Result<(), Failure> {
    let mut failed = 0;
    BEFORE.get_or_init(|| {
        // SAFETY: both structures are valid; zero is a value for each of their fields.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before) != 0 {
                failed = errno();
            }
            before
        }
    });
    if failed == 0 { Ok(()) } else { Err(Failure::call("sigaction", failed)) }
}
