//! System calls of the fast path, made here rather than in the C library: an instruction with its registers, and no call.
//!
//! Answers as `syscall(2)` does, by -1 and `errno`, so that nothing else need know. On other machines it is `syscall`
//! itself. It refuses to know what a call means.

/// Makes a system call of up to four arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn call(number: libc::c_long, a: usize, b: usize, c: usize, d: usize) -> i64 {
    let answer: i64;
    // SAFETY: the call is the caller's affair; the kernel keeps all registers but rax, rcx and r11.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    c_result(answer)
}

/// Makes a system call of up to four arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn call(number: libc::c_long, a: usize, b: usize, c: usize, d: usize) -> i64 {
    let answer: i64;
    // SAFETY: the call is the caller's affair; the kernel keeps all registers but x0.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number, inlateout("x0") a => answer, in("x1") b, in("x2") c, in("x3") d,
            options(nostack),
        );
    }
    c_result(answer)
}

/// Makes a system call of six arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn long(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    let answer: i64;
    // SAFETY: as for `call`.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    c_result(answer)
}

/// Makes a system call of six arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn long(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    let answer: i64;
    // SAFETY: as for `call`.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number, inlateout("x0") a => answer, in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    c_result(answer)
}

/// Makes a system call of six arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub unsafe fn long(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(number, a, b, c, d, e, f) as i64 }
}

/// Makes a system call of up to four arguments.
///
/// # Safety
/// The arguments are what the call wants.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub unsafe fn call(number: libc::c_long, a: usize, b: usize, c: usize, d: usize) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(number, a, b, c, d) as i64 }
}

/// The kernel's answer as the C library would give it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn c_result(answer: i64) -> i64 {
    if answer < 0 { failed(answer) } else { answer }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cold]
fn failed(answer: i64) -> i64 {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = -answer as libc::c_int };
    -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::errno;

    #[test]
    fn all_six_arguments_arrive() {
        let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
        let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"behind", 4096).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as usize;
        // SAFETY: mappings at addresses of the kernel's choice, read within their length.
        unsafe {
            let start = long(libc::SYS_mmap, [0, 4096, access, libc::MAP_PRIVATE as usize, fd, 4096]);
            assert_eq!(std::slice::from_raw_parts(start as usize as *const u8, 6), b"behind");
            assert_eq!(call(libc::SYS_munmap, start as usize, 4096, 0, 0), 0);
            assert_eq!(
                (long(libc::SYS_mmap, [0, 0, access, private, usize::MAX, 0]), errno()),
                (-1, libc::EINVAL)
            );
        }
    }

    #[test]
    fn answers_and_errors_are_the_c_librarys() {
        // SAFETY: the calls take no pointers.
        unsafe {
            assert_eq!(call(libc::SYS_getpid, 0, 0, 0, 0), i64::from(libc::getpid()));
            assert_eq!((call(libc::SYS_close, usize::MAX, 0, 0, 0), errno()), (-1, libc::EBADF));
            assert_eq!((long(libc::SYS_close, [usize::MAX, 0, 0, 0, 0, 0]), errno()), (-1, libc::EBADF));
        }
    }
}
