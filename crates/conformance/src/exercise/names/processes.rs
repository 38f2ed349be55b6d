//! The processes of a race: forked once, then told round after round what to do through memory that all share.
//!
//! Between rounds they sleep; at the start of one they wait for each other for a moment, so that their calls meet. A child
//! makes system calls and touches that memory, and nothing else: it was forked from a process with threads.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::call::{NameCall, Path, Program, VERBS, Verb};
use super::linearizability::Event;
use super::state::{ModelAnswer, NodeKind};
use iodyno_engine::Failure;
use iodyno_engine::clock;
use iodyno_engine::futex::{wait, wake};
use iodyno_engine::memory::{Mapping, errno};
use iodyno_engine::signal;

pub const MOST_PROCESSES: usize = 4;
pub const MOST_CALLS: usize = 5;
/// One more than what a round's word says of children.
const WANTED: u32 = 8;
/// Turns that a child waits for the others before it begins.
const PATIENCE: u32 = 3000;
/// How long a round may take, ns.
const ROUND_NS: u64 = 20_000_000_000;

/// A call on its way there, its answer on the way back.
#[repr(C)]
struct Slot {
    began: AtomicU64,
    ended: AtomicU64,
    /// The verb, then both paths as text, zero-terminated: written between rounds only.
    verb: AtomicU32,
    path: [AtomicU32; 2],
    /// The error number; 0: none.
    failed: AtomicI32,
    /// Of stat: what was found, and how many names it has.
    kind: AtomicU32,
    links: AtomicU32,
}

#[repr(C)]
struct Board {
    /// The round's number, and in its lowest bits how many children take part.
    round: AtomicU32,
    /// Children that have come, and that are done.
    come: AtomicU32,
    done: AtomicU32,
    counts: [AtomicU32; MOST_PROCESSES],
    slots: [[Slot; MOST_CALLS]; MOST_PROCESSES],
}

pub struct Processes {
    mapping: Mapping,
    children: Vec<libc::pid_t>,
    directory: RawFd,
}

impl Processes {
    /// Starts them on an empty directory, which stays the caller's.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(directory: RawFd) -> Result<Processes, Failure> {
        let mapping = Mapping::shared(size_of::<Board>()).map_err(|number| Failure::call("mmap", number))?;
        let mut processes = Processes { mapping, children: Vec::new(), directory };
        let parent = signal::own_pid();
        for number in 0..MOST_PROCESSES {
            // SAFETY: the child does nothing but system calls on memory that is there, and ends by `_exit`.
            match unsafe { libc::fork() } {
                -1 => return Err(Failure::call("fork", errno())),
                0 => {
                    signal::end_with(parent);
                    processes.work(number)
                }
                pid => processes.children.push(pid),
            }
        }
        Ok(processes)
    }

    fn board(&self) -> &Board {
        // SAFETY: the mapping is that large, aligned to pages, zeroed, and holds only atomics.
        unsafe { &*self.mapping.start().cast::<Board>() }
    }

    /// What a child does until it is killed.
    fn work(&self, number: usize) -> ! {
        signal::leave_to_the_conductor();
        let board = self.board();
        let mut last = 0;
        loop {
            let round = board.round.load(Ordering::Acquire);
            if round == last {
                wait(&board.round, round, ROUND_NS);
                continue;
            }
            last = round;
            let wanted = round & (WANTED - 1);
            if number as u32 >= wanted {
                continue;
            }
            self.race(board, number, wanted);
            board.done.fetch_add(1, Ordering::AcqRel);
            wake(&board.done);
        }
    }

    fn race(&self, board: &Board, number: usize, wanted: u32) {
        board.come.fetch_add(1, Ordering::AcqRel);
        for _ in 0..PATIENCE {
            if board.come.load(Ordering::Acquire) >= wanted {
                break;
            }
            std::hint::spin_loop();
        }
        for slot in &board.slots[number][..board.counts[number].load(Ordering::Acquire) as usize] {
            let verb = VERBS[slot.verb.load(Ordering::Relaxed) as usize % VERBS.len()].0;
            let paths =
                [unpack(slot.path[0].load(Ordering::Relaxed)), unpack(slot.path[1].load(Ordering::Relaxed))];
            slot.began.store(clock::monotonic(), Ordering::Relaxed);
            let answer = perform(self.directory, verb, &paths);
            slot.ended.store(clock::monotonic(), Ordering::Relaxed);
            let (failed, kind, links) = match answer {
                ModelAnswer::Done => (0, 0, 0),
                ModelAnswer::Failed(number) => (number, 0, 0),
                ModelAnswer::Found(kind, links) => (0, 1 + kind as u32, u32::from(links)),
            };
            slot.failed.store(failed, Ordering::Relaxed);
            slot.kind.store(kind, Ordering::Relaxed);
            slot.links.store(links, Ordering::Relaxed);
        }
    }

    /// Runs a program's processes at once: what each did.
    ///
    /// # Errors
    /// A process has died, or hangs.
    pub fn run(&mut self, program: &Program) -> Result<Vec<Vec<Event>>, Failure> {
        let board = self.board();
        let wanted = program.processes.len() as u32;
        for (number, calls) in program.processes.iter().enumerate() {
            board.counts[number].store(calls.len() as u32, Ordering::Relaxed);
            for (slot, call) in board.slots[number].iter().zip(calls) {
                slot.verb.store(call.verb as u32, Ordering::Relaxed);
                slot.path[0].store(pack(call.path), Ordering::Relaxed);
                slot.path[1].store(pack(call.other), Ordering::Relaxed);
            }
        }
        board.come.store(0, Ordering::Release);
        board.done.store(0, Ordering::Release);
        let next = (board.round.load(Ordering::Relaxed) & !(WANTED - 1)).wrapping_add(WANTED) | wanted;
        board.round.store(next, Ordering::Release);
        wake(&board.round);
        let until = clock::now() + ROUND_NS;
        loop {
            let done = board.done.load(Ordering::Acquire);
            if done >= wanted {
                break;
            }
            wait(&board.done, done, 100_000_000);
            if clock::now() > until {
                return Err(Failure::new("a process of a race hangs in a call, or was killed"));
            }
        }
        let events = |(number, calls): (usize, &Vec<NameCall>)| {
            let slots = calls.iter().zip(&board.slots[number]);
            slots.map(|(call, slot)| slot.event(*call)).collect()
        };
        Ok(program.processes.iter().enumerate().map(events).collect())
    }

    /// Makes a call in this process.
    pub fn call(&self, call: &NameCall) -> ModelAnswer {
        perform(self.directory, call.verb, &[unpack(pack(call.path)), unpack(pack(call.other))])
    }
}

impl Slot {
    fn event(&self, call: NameCall) -> Event {
        let answer = match (self.failed.load(Ordering::Relaxed), self.kind.load(Ordering::Relaxed)) {
            (0, 0) => ModelAnswer::Done,
            (0, kind) => {
                let kind =
                    [NodeKind::File, NodeKind::Directory, NodeKind::Symlink][(kind as usize - 1).min(2)];
                ModelAnswer::Found(kind, self.links.load(Ordering::Relaxed) as u8)
            }
            (number, _) => ModelAnswer::Failed(number),
        };
        let (began, ended) = (self.began.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
        Event { call, began, ended, answer }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &self.children {
            // SAFETY: the child is ours and was not waited for; no status is wanted.
            unsafe {
                libc::kill(*child, libc::SIGKILL);
                while libc::waitpid(*child, std::ptr::null_mut(), 0) < 0 && errno() == libc::EINTR {}
            }
        }
    }
}

/// A path as one word: up to three letters.
fn pack(path: Path) -> u32 {
    let letter = |name: u8| b'a' + name;
    match path.within {
        Some(within) => u32::from_le_bytes([letter(within), b'/', letter(path.name), 0]),
        None => u32::from_le_bytes([letter(path.name), 0, 0, 0]),
    }
}

fn unpack(word: u32) -> [u8; 4] {
    word.to_le_bytes()
}

/// Makes a call below a directory.
fn perform(directory: RawFd, verb: Verb, paths: &[[u8; 4]; 2]) -> ModelAnswer {
    let [path, other] = [paths[0].as_ptr().cast::<libc::c_char>(), paths[1].as_ptr().cast::<libc::c_char>()];
    // What a symlink says is the last name alone.
    let text = if paths[1][1] == b'/' { [paths[1][2], 0, 0, 0] } else { paths[1] };
    // SAFETY: all paths are zero-terminated and valid for the calls, as is the structure.
    let value = unsafe {
        match verb {
            Verb::Create => {
                let fd = libc::openat(directory, path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o600);
                if fd >= 0 { libc::close(fd) } else { fd }
            }
            Verb::Mkdir => libc::mkdirat(directory, path, 0o700),
            Verb::Symlink => libc::symlinkat(text.as_ptr().cast(), directory, path),
            Verb::Unlink => libc::unlinkat(directory, path, 0),
            Verb::Rmdir => libc::unlinkat(directory, path, libc::AT_REMOVEDIR),
            Verb::Rename => libc::renameat(directory, path, directory, other),
            Verb::Link => libc::linkat(directory, path, directory, other, 0),
            Verb::Stat => return stat(directory, path),
        }
    };
    if value < 0 { ModelAnswer::Failed(errno()) } else { ModelAnswer::Done }
}

/// # Safety
/// The path is zero-terminated and valid for the call.
unsafe fn stat(directory: RawFd, path: *const libc::c_char) -> ModelAnswer {
    // SAFETY: the caller's word, and the structure is valid for the call.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstatat(directory, path, &raw mut stat, libc::AT_SYMLINK_NOFOLLOW) < 0 {
            return ModelAnswer::Failed(errno());
        }
        found(stat.st_mode, u64::from(stat.st_nlink as u32))
    }
}

/// What attributes say; of directories the number of names is the file system's affair.
pub fn found(mode: u32, links: u64) -> ModelAnswer {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => ModelAnswer::Found(NodeKind::Directory, 1),
        libc::S_IFLNK => ModelAnswer::Found(NodeKind::Symlink, links.min(255) as u8),
        _ => ModelAnswer::Found(NodeKind::File, links.min(255) as u8),
    }
}

/// Opens a directory, for calls below it.
///
/// # Errors
/// The system's error number.
pub fn open_directory(path: &std::path::Path) -> Result<RawFd, i32> {
    let path = CString::new(path.to_string_lossy().as_bytes()).map_err(|_| libc::EINVAL)?;
    // SAFETY: the path is a valid string.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}
