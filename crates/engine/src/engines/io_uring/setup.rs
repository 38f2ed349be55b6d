//! How a ring is made, which verbs it carries out itself, and what its refusals mean.

use io_uring::{Builder, IoUring, Probe, opcode};
use iodyno_model::{Job, Verb, VerbSet};

use crate::clock;
use crate::engines::{Failure, switch, switched_on, whole_number};

/// The verbs that the ring may carry out, with the operation each of them needs from the kernel.
pub(super) const NATIVE: [(Verb, u8); 18] = [
    (Verb::Read, opcode::Read::CODE),
    (Verb::Write, opcode::Write::CODE),
    (Verb::Fsync, opcode::Fsync::CODE),
    (Verb::Fdatasync, opcode::Fsync::CODE),
    (Verb::SyncFileRange, opcode::SyncFileRange::CODE),
    (Verb::Fallocate, opcode::Fallocate::CODE),
    (Verb::Truncate, opcode::Ftruncate::CODE),
    (Verb::Fadvise, opcode::Fadvise::CODE),
    (Verb::Open, opcode::OpenAt::CODE),
    (Verb::Create, opcode::OpenAt::CODE),
    (Verb::Close, opcode::Close::CODE),
    (Verb::Stat, opcode::Statx::CODE),
    (Verb::Lstat, opcode::Statx::CODE),
    (Verb::Unlink, opcode::UnlinkAt::CODE),
    (Verb::Rmdir, opcode::UnlinkAt::CODE),
    (Verb::Mkdir, opcode::MkDirAt::CODE),
    (Verb::Rename, opcode::RenameAt::CODE),
    (Verb::Link, opcode::LinkAt::CODE),
];

/// A ring with the best ways of working that the kernel knows, but exactly those that the job asks for.
pub(super) fn build(job: &Job, depth: u32) -> Result<IoUring, Failure> {
    let defer = switch(job, "defer_taskrun");
    let attempts: &[fn(&mut Builder)] = match (switched_on(job, "sqpoll"), defer) {
        (true, _) => &[with_thread, |_| ()],
        (false, Some(true)) => &[defer_newest, defer_plain],
        (false, Some(false)) => &[cooperative, |_| ()],
        (false, None) => &[defer_newest, defer_plain, cooperative, |_| ()],
    };
    let mut last = libc::EINVAL;
    for attempt in attempts {
        let mut builder = IoUring::builder();
        builder.setup_clamp();
        asked_for(job, &mut builder);
        attempt(&mut builder);
        match builder.build(depth.next_power_of_two().max(2)) {
            Ok(ring) => return Ok(ring),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = libc::EINVAL,
            Err(error) => return Err(forbidden(&error)),
        }
    }
    let names = ["sqpoll", "iopoll", "defer_taskrun"].into_iter().filter(|name| switched_on(job, name));
    let names = names.collect::<Vec<_>>().join(", ");
    Err(Failure::call("io_uring_setup", last).hint(match names.as_str() {
        "" => "this kernel's io_uring is too old: use libaio or psync".into(),
        names => format!("this kernel does not take {names}: leave it out, or use a newer kernel"),
    }))
}

fn defer_newest(ring: &mut Builder) {
    defer_plain(ring.setup_no_sqarray());
}

fn defer_plain(ring: &mut Builder) {
    ring.setup_submit_all().setup_single_issuer().setup_defer_taskrun();
}

fn with_thread(ring: &mut Builder) {
    ring.setup_submit_all().setup_single_issuer();
}

fn cooperative(ring: &mut Builder) {
    ring.setup_submit_all().setup_coop_taskrun();
}

fn asked_for(job: &Job, ring: &mut Builder) {
    if switched_on(job, "iopoll") {
        ring.setup_iopoll();
    }
    if switched_on(job, "sqpoll") {
        ring.setup_sqpoll(whole_number(job, "sqpoll_idle_ms").unwrap_or(1000) as u32);
        if let Some(cpu) = whole_number(job, "sqpoll_cpu") {
            ring.setup_sqpoll_cpu(cpu as u32);
        }
    }
}

/// What the ring carries out itself: all that the kernel has, but only reads and writes when the device is polled.
pub(super) fn native_verbs(ring: &IoUring, polls: bool) -> VerbSet {
    let mut probe = Probe::new();
    if polls || ring.submitter().register_probe(&mut probe).is_err() {
        return VerbSet::of(&[Verb::Read, Verb::Write]);
    }
    let has = |(_, code): &&(Verb, u8)| probe.is_supported(*code);
    VerbSet::of(&NATIVE.iter().filter(has).map(|(verb, _)| *verb).collect::<Vec<_>>())
}

pub(super) fn forbidden(error: &std::io::Error) -> Failure {
    match error.raw_os_error().unwrap_or(libc::EIO) {
        libc::ENOSYS | libc::EPERM | libc::EACCES => {
            let message =
                "io_uring is forbidden here (by a container's seccomp filter or kernel.io_uring_disabled)";
            Failure::new(message).hint("use libaio or psync, or allow it")
        }
        libc::ENOMEM => Failure::call("io_uring_setup", libc::ENOMEM)
            .hint("raise the limit of locked memory (ulimit -l), or use less depth"),
        number => Failure::call("io_uring_setup", number).hint("use libaio or psync"),
    }
}

pub(super) fn refused(setting: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::io(&format!("io_uring refuses {setting}"), error);
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            failure.hint("raise the limit of locked memory (ulimit -l), or use smaller buffers")
        }
        Some(libc::EMFILE) => failure.hint("raise the limit of open files (ulimit -n)"),
        _ => failure.hint(format!("leave out {setting}")),
    }
}

/// Whether the loop may go on after a failed call: a signal, the time, or a passing want of memory or room.
pub(super) fn tolerate(error: &std::io::Error) -> Result<(), Failure> {
    match error.raw_os_error().unwrap_or(libc::EIO) {
        libc::EINTR | libc::ETIME => Ok(()),
        libc::EAGAIN | libc::EBUSY => {
            clock::sleep_ns(20_000);
            Ok(())
        }
        number => Err(Failure::call("io_uring_enter", number)),
    }
}
