//! Where on the machine a worker runs, and as whom. Applied by the worker to itself, before the start line.
//!
//! What workers share (control groups, devices' schedulers) is the conductor's: see [`Surroundings`].

use iodyno_model::{Placement, SAME_ID, WorkerKind};

use crate::failure::Failure;
use crate::memory::errno;

mod cgroup;
mod numa;
mod scheduler;
mod surroundings;

pub use cgroup::directory as group_directory;
pub use surroundings::Surroundings;

/// The number by which the kernel knows the calling worker.
#[cfg(target_os = "linux")]
pub fn pid() -> u32 {
    // The C library has a function for it since glibc 2.30, and the program starts with 2.28.
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// The number of the calling worker's process.
#[cfg(not(target_os = "linux"))]
pub fn pid() -> u32 {
    std::process::id()
}

/// Processors that this process may use. It reads files of control groups: ask once for a phase, and not for each worker.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The processors that this program may use; empty: all of them, or it is unknown.
#[cfg(target_os = "linux")]
pub(crate) fn allowed() -> Vec<u32> {
    // SAFETY: the set is plain memory of that size, and read only after success.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) < 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize)
            .filter(|number| libc::CPU_ISSET(*number, &set))
            .map(|number| number as u32)
            .collect()
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed() -> Vec<u32> {
    Vec::new()
}

/// Moves the calling worker where its job wants it.
///
/// # Errors
/// What the system refused.
pub fn apply(placement: &Placement, kind: WorkerKind, worker: u32) -> Result<(), Failure> {
    placement.worker_name.as_deref().map_or(Ok(()), name)?;
    let cpus = cpus(placement)?;
    if !cpus.is_empty() {
        let alone = cpus[worker as usize % cpus.len()];
        affinity(if placement.spread { std::slice::from_ref(&alone) } else { &cpus })?;
    }
    if let Some(memory) = &placement.numa_memory {
        numa::take_memory_from(memory)?;
    }
    if let Some(nice) = placement.nice {
        // SAFETY: the call takes no pointers.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } < 0 {
            return Err(Failure::call("setpriority", errno()).hint("a negative nice value needs privileges"));
        }
    }
    if let Some((class, level)) = placement.io_priority {
        io_priority(class, level, placement.io_priority_hint)?;
    }
    if let Some(group) = &placement.cgroup {
        cgroup::join(group, kind)?;
    }
    if let Some((uid, gid)) = placement.identity {
        become_user(uid, gid)?;
    }
    Ok(())
}

/// The CPUs a job's workers may use; empty: any.
fn cpus(placement: &Placement) -> Result<Vec<u32>, Failure> {
    let mut cpus = placement.cpus.clone();
    if !placement.numa_cpu_nodes.is_empty() {
        let of_nodes = numa::cpus_of(&placement.numa_cpu_nodes)?;
        match cpus.is_empty() {
            true => cpus = of_nodes,
            false => cpus.retain(|cpu| of_nodes.contains(cpu)),
        }
        if cpus.is_empty() {
            return Err(Failure::new("the CPUs and the NUMA nodes have no CPU in common")
                .hint("leave out one of them"));
        }
    }
    if cpus.is_empty() && placement.spread {
        cpus = (0..std::thread::available_parallelism().map_or(1, |count| count.get() as u32)).collect();
    }
    Ok(cpus)
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// None of them is there, or may be used.
#[cfg(target_os = "linux")]
pub(crate) fn affinity(cpus: &[u32]) -> Result<(), Failure> {
    // SAFETY: the set is plain memory and valid for the calls; CPU_SET ignores numbers that do not fit.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu as usize, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) < 0
    };
    match failed {
        true => Err(Failure::call("sched_setaffinity", errno()).hint("name CPUs that exist and may be used")),
        false => Ok(()),
    }
}

/// Names the calling thread; the kernel cuts what is longer than 15 bytes.
#[cfg(target_os = "linux")]
fn name(name: &str) -> Result<(), Failure> {
    let name =
        std::ffi::CString::new(name).map_err(|_| Failure::new("a worker's name holds no zero byte"))?;
    // SAFETY: the name ends with a zero and is valid for the call, which copies it.
    match unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Failure::call("prctl", errno())),
    }
}

#[cfg(not(target_os = "linux"))]
fn name(_: &str) -> Result<(), Failure> {
    Err(Failure::new("naming a worker needs Linux").hint("leave it out"))
}

#[cfg(target_os = "linux")]
fn io_priority(class: u8, level: u8, hint: u16) -> Result<(), Failure> {
    const WHO_PROCESS: libc::c_long = 1;
    let value = libc::c_long::from(class) << 13 | libc::c_long::from(hint) << 3 | libc::c_long::from(level);
    // SAFETY: the call takes no pointers.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) } {
        0 => Ok(()),
        _ => Err(Failure::call("ioprio_set", errno())
            .hint("classes are 1 to 3, levels 0 to 7; class 1 is for root; old kernels know no hint")),
    }
}

#[cfg(target_os = "linux")]
fn become_user(uid: u32, gid: u32) -> Result<(), Failure> {
    // SAFETY: the calls take no pointers that are read.
    let failed = unsafe {
        ((uid, gid) != (SAME_ID, SAME_ID) && libc::setgroups(0, std::ptr::null()) < 0)
            || libc::setresgid(gid, gid, gid) < 0
            || libc::setresuid(uid, uid, uid) < 0
    };
    match failed {
        true => Err(Failure::call("setresuid", errno()).hint("another identity needs root and processes")),
        false => Ok(()),
    }
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// Always: this system has no such call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn affinity(_cpus: &[u32]) -> Result<(), Failure> {
    Err(Failure::new("a CPU list is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
fn io_priority(_class: u8, _level: u8, _hint: u16) -> Result<(), Failure> {
    Err(Failure::new("an I/O priority is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
fn become_user(uid: u32, gid: u32) -> Result<(), Failure> {
    match (uid, gid) {
        (SAME_ID, SAME_ID) => Ok(()),
        _ => Err(Failure::new("another identity is a Linux option here").hint("leave it out here")),
    }
}
