//! Calls on this process, and programs that it starts.
//!
//! What is changed here, the mask and the limits, is put back when the hands are emptied.

use std::ffi::{CStr, c_int};

use super::Answer;
use super::fd_table::Hands;
use super::flags::{LIMITS, UNLIMITED};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Number, One, Path};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb(
        "umask",
        &[Number],
        "MASK: sets the file mode creation mask, and says the one before",
        |hands, given| {
            // SAFETY: takes no pointers.
            let before = unsafe { libc::umask(given.mode(0)) };
            hands.mask.get_or_insert(before);
            Ok(Answer::said(format!("0{before:o}")))
        },
    ),
    verb("rlimit", &[One(LIMITS), One(UNLIMITED)], "NAME VALUE: sets a limit of this process", rlimit),
    verb(
        "running",
        &[Path],
        "PATH: starts a program, which sleeps until the round is over",
        |hands, given| {
            Ok(match start(given, &[c"program", c"sleep"]) {
                Ok(child) => {
                    hands.raise(child);
                    Answer::default()
                }
                Err(errno) => Answer::failed(errno),
            })
        },
    ),
    verb("exec", &[Path], "PATH: starts a program, waits for it, and says its status", exec),
    verb(
        "install",
        &[Path],
        "PATH: makes a program, which says whether it runs as somebody else",
        |_, given| Ok(install(given)),
    ),
];

fn rlimit(hands: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let resource = given.int(0) as Resource;
    // SAFETY: the structure is numbers only.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    let answer = ask!(getrlimit(resource, &mut limit));
    if answer.errno.is_some() {
        return Ok(answer);
    }
    if given.int(0) == libc::RLIMIT_FSIZE as c_int {
        // Else the process ends where the call is to fail.
        // SAFETY: ignoring a signal is always allowed.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }
    hands.limits.push((given.int(0), limit.rlim_cur));
    limit.rlim_cur = (given.number(1) as libc::rlim_t).min(limit.rlim_max);
    Ok(ask!(setrlimit(resource, &limit)))
}

/// What the C library takes a resource as.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
/// What the C library takes a resource as.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
type Resource = c_int;

/// Sets a limit back.
pub(super) fn restore(resource: c_int, value: libc::rlim_t) {
    // SAFETY: the structure is numbers only.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    if ask!(getrlimit(resource as Resource, &mut limit)).errno.is_none() {
        limit.rlim_cur = value.min(limit.rlim_max);
        // It was so before, so it may be so.
        let _ = ask!(setrlimit(resource as Resource, &limit));
    }
}

fn exec(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    Ok(match start(given, &[c"program"]).and_then(outcome) {
        Ok(status) if libc::WIFSIGNALED(status) => Answer::failed(-libc::WTERMSIG(status)),
        Ok(status) => Answer::said(libc::WEXITSTATUS(status).to_string()),
        Err(errno) => Answer::failed(errno),
    })
}

/// Starts a program; its process, or why there is none. No shell and no search: the file itself is what is asked.
fn start(given: &CallArguments, words: &[&CStr]) -> Result<c_int, i32> {
    let mut arguments: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    arguments.push(std::ptr::null());
    let nothing = [std::ptr::null()];
    let mut ends = [0; 2];
    // SAFETY: there is room for both ends.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } < 0 {
        return Err(iodyno_engine::memory::errno());
    }
    let [from, to] = ends;
    // SAFETY: takes no pointers.
    unsafe { libc::fcntl(to, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: the child makes a few system calls and becomes a program, or ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: all pointers were made before the fork.
        unsafe {
            libc::close(from);
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            apart();
            libc::execve(given.path(0), arguments.as_ptr(), nothing.as_ptr());
            let errno = iodyno_engine::memory::errno();
            libc::write(to, std::ptr::from_ref(&errno).cast(), 4);
            libc::_exit(127)
        }
    }
    let forked = if child < 0 { Err(iodyno_engine::memory::errno()) } else { Ok(child) };
    // SAFETY: both ends are open, and the room is as long as said.
    let (read, errno) = unsafe {
        libc::close(to);
        let mut errno = 0i32;
        let read = libc::read(from, std::ptr::from_mut(&mut errno).cast(), 4);
        libc::close(from);
        (read, errno)
    };
    let child = forked?;
    if read == 4 {
        let _ = outcome(child);
        return Err(errno);
    }
    Ok(child)
}

/// A program holds nothing of this process open, and ends with it.
fn apart() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes no pointers; the one descriptor still needed goes with exec, too.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// Waits for a child; how it ended, as wait tells it.
pub(super) fn outcome(child: c_int) -> Result<c_int, i32> {
    let mut status = 0;
    loop {
        // SAFETY: the place outlives the call.
        if unsafe { libc::waitpid(child, &mut status, 0) } == child {
            return Ok(status);
        }
        match iodyno_engine::memory::errno() {
            libc::EINTR => (),
            errno => return Err(errno),
        }
    }
}

/// Ends a child and waits for it.
pub(super) fn end(child: c_int) {
    // SAFETY: the child is this process's own, and was not waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let _ = outcome(child);
}

/// A program: with an argument it sleeps; else its status is 1 where it runs as another user than started it, plus 2 where
/// as another group.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[
    0x48, 0x8b, 0x04, 0x24, // mov rax, [rsp]
    0x48, 0x83, 0xf8, 0x01, // cmp rax, 1
    0x77, 0x36, // ja sleep
    0xb8, 102, 0, 0, 0, 0x0f, 0x05, 0x89, 0xc3, // getuid; mov ebx, eax
    0xb8, 107, 0, 0, 0, 0x0f, 0x05, // geteuid
    0x31, 0xff, 0x39, 0xd8, 0x40, 0x0f, 0x95, 0xc7, // xor edi, edi; cmp eax, ebx; setne dil
    0xb8, 104, 0, 0, 0, 0x0f, 0x05, 0x89, 0xc3, // getgid; mov ebx, eax
    0xb8, 108, 0, 0, 0, 0x0f, 0x05, // getegid
    0x39, 0xd8, 0x74, 0x03, 0x83, 0xcf, 0x02, // cmp eax, ebx; je exit; or edi, 2
    0xb8, 60, 0, 0, 0, 0x0f, 0x05, // exit
    0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7, // sleep: pause; jmp sleep
];
#[cfg(target_arch = "x86_64")]
const MACHINE: u8 = 62;

/// The same in the words of the other machine.
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &{
    const WORDS: [u32; 27] = [
        0xf940_03e0, // ldr x0, [sp]
        0xf100_041f, // cmp x0, 1
        0x5400_0248, // b.hi sleep
        0xd280_15c8, // getuid
        0xd400_0001, //
        0x2a00_03e9, // mov w9, w0
        0xd280_15e8, // geteuid
        0xd400_0001, //
        0x6b09_001f, // cmp w0, w9
        0x1a9f_07ea, // cset w10, ne
        0xd280_1608, // getgid
        0xd400_0001, //
        0x2a00_03e9, // mov w9, w0
        0xd280_1628, // getegid
        0xd400_0001, //
        0x6b09_001f, // cmp w0, w9
        0x1a9f_07eb, // cset w11, ne
        0x2a0b_0540, // orr w0, w10, w11, lsl 1
        0xd280_0ba8, // exit
        0xd400_0001, //
        0xd280_0000, // sleep: ppoll of nothing, for ever
        0xd280_0001, //
        0xd280_0002, //
        0xd280_0003, //
        0xd280_0928, //
        0xd400_0001, //
        0x17ff_fffa, // b sleep
    ];
    let mut bytes = [0; WORDS.len() * 4];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = WORDS[index / 4].to_le_bytes()[index % 4];
        index += 1;
    }
    bytes
};
#[cfg(target_arch = "aarch64")]
const MACHINE: u8 = 183;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CODE: &[u8] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u8 = 0;

/// Where the program is loaded.
const ORIGIN: u64 = 0x40_0000;
/// Bytes of the file's and of the only segment's head.
const HEADS: u64 = 64 + 56;

/// The program as a file: an ELF head, one segment, the code.
fn program() -> Vec<u8> {
    let size = HEADS + CODE.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let shorts =
        |file: &mut Vec<u8>, shorts: &[u16]| shorts.iter().for_each(|s| file.extend(s.to_le_bytes()));
    shorts(&mut file, &[2, u16::from(MACHINE), 1, 0]);
    [ORIGIN + HEADS, 64, 0].iter().for_each(|long| file.extend(long.to_le_bytes()));
    shorts(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
    // Loaded, readable and executable.
    shorts(&mut file, &[1, 0, 5, 0]);
    [0, ORIGIN, ORIGIN, size, size, 4096].iter().for_each(|long: &u64| file.extend(long.to_le_bytes()));
    file.extend(CODE);
    file
}

fn install(given: &CallArguments) -> Answer {
    if CODE.is_empty() {
        return Answer::failed(libc::ENOSYS);
    }
    super::several::put(given.path(0), &program(), 0o755)
}
