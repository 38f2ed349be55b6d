//! Signals that end a program, passed on to the recorded one.
//!
//! A terminal sends Ctrl-C to both itself. Once the program has ended and others that it started go on, the first signal asks
//! those to end, and the next one ends them.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::SeqCst};

static PROGRAM: AtomicI32 = AtomicI32::new(0);
static UNANSWERED: AtomicU32 = AtomicU32::new(0);

const SIGNALS: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

extern "C" fn arrived(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let program = PROGRAM.load(SeqCst);
    // SAFETY: the kernel passes a valid structure to a handler with SA_SIGINFO; `kill` may be called here.
    unsafe {
        match program {
            0 => {
                UNANSWERED.fetch_add(1, SeqCst);
            }
            program if (*info).si_code <= 0 => {
                libc::kill(program, signal);
            }
            _ => {}
        }
    }
}

/// Passes signals on while it lives.
pub struct SignalForwarding {
    former: Vec<(libc::c_int, libc::sigaction)>,
    /// What was blocked before signals were waited for.
    mask: Option<libc::sigset_t>,
}

impl SignalForwarding {
    pub fn begin(program: u32) -> SignalForwarding {
        PROGRAM.store(program as i32, SeqCst);
        UNANSWERED.store(0, SeqCst);
        let mut former = Vec::new();
        for signal in SIGNALS {
            // SAFETY: both structures are valid for the calls, and the handler only touches atomics and sends signals.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut old);
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = arrived as *const () as libc::sighandler_t;
                new.sa_flags = libc::SA_SIGINFO;
                libc::sigemptyset(&raw mut new.sa_mask);
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
                former.push((signal, old));
            }
        }
        SignalForwarding { former, mask: None }
    }

    /// The program ends: signals are for this process now, and come only while it [waits](Self::pause).
    pub fn program_ended(&mut self) {
        PROGRAM.store(0, SeqCst);
        // SAFETY: both sets are valid for the call.
        unsafe {
            let mut before: libc::sigset_t = std::mem::zeroed();
            let waited = self.waited();
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const waited, &raw mut before);
            self.mask = Some(before);
        }
    }

    /// The program has ended: signals are counted from now on.
    pub fn stop(&self) {
        PROGRAM.store(0, SeqCst);
    }

    /// Those that are waited for: what a child does, and those that nobody ignores.
    fn waited(&self) -> libc::sigset_t {
        // SAFETY: the set is valid for the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            self.former.iter().for_each(|(signal, _)| {
                libc::sigaddset(&raw mut set, *signal);
            });
            set
        }
    }

    /// How many signals were for this process.
    pub fn unanswered(&self) -> u32 {
        UNANSWERED.load(SeqCst)
    }

    /// Waits until a child stops or ends, or a signal for this process arrives.
    pub fn pause(&self) {
        let set = self.waited();
        // SAFETY: the set is valid for the call, and nothing is asked about the signal.
        let signal = unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) };
        if signal > 0 && signal != libc::SIGCHLD {
            UNANSWERED.fetch_add(1, SeqCst);
        }
    }
}

impl Drop for SignalForwarding {
    fn drop(&mut self) {
        PROGRAM.store(0, SeqCst);
        if let Some(mask) = &self.mask {
            // SAFETY: the set is the one that the kernel gave.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
        }
        for (signal, old) in &self.former {
            // SAFETY: the structure is the one that the kernel gave.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
    }
}

/// Sends a signal to a process.
pub fn send(process: u32, signal: libc::c_int) {
    // SAFETY: the call takes numbers only.
    unsafe { libc::kill(process as libc::pid_t, signal) };
}
