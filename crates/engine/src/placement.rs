//! Where on the machine a worker runs, and as whom. Applied by the worker to itself, before the start line.

use iodyno_model::Placement;

use crate::engines::Failure;
use crate::memory::errno;

/// The number by which the kernel knows the calling worker.
#[cfg(target_os = "linux")]
pub fn pid() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// The number of the calling worker's process.
#[cfg(not(target_os = "linux"))]
pub fn pid() -> u32 {
    std::process::id()
}

/// Moves the calling worker where its job wants it.
///
/// # Errors
/// What the system refused.
pub fn apply(placement: &Placement, worker: u32) -> Result<(), Failure> {
    if !placement.cpus.is_empty() {
        let alone = placement.cpus[worker as usize % placement.cpus.len()];
        affinity(if placement.spread { std::slice::from_ref(&alone) } else { &placement.cpus })?;
    }
    if let Some(memory) = &placement.numa_memory {
        prefer_node(memory.nodes.first().copied().unwrap_or(0))?;
    }
    if let Some(nice) = placement.nice {
        // SAFETY: the call takes no pointers.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } < 0 {
            return Err(Failure::call("setpriority", errno()).hint("a negative nice value needs privileges"));
        }
    }
    if let Some((class, level)) = placement.io_priority {
        io_priority(class, level)?;
    }
    if let Some(group) = &placement.cgroup {
        let file = format!("{}/cgroup.procs", group.path);
        std::fs::write(&file, "0").map_err(|error| Failure::new(format!("{file}: {error}")))?;
    }
    if let Some((uid, gid)) = placement.identity {
        become_user(uid, gid)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// None of them may be used.
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

#[cfg(target_os = "linux")]
fn prefer_node(node: u32) -> Result<(), Failure> {
    const MPOL_BIND: libc::c_long = 2;
    let mask: [u64; 16] = std::array::from_fn(|word| match node as usize / 64 == word {
        true => 1 << (node % 64),
        false => 0,
    });
    // SAFETY: the mask is valid for reading and as long as said.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_BIND, mask.as_ptr(), 1024) } {
        0 => Ok(()),
        _ => Err(Failure::call("set_mempolicy", errno()).hint("name a NUMA node that exists")),
    }
}

#[cfg(target_os = "linux")]
fn io_priority(class: u8, level: u8) -> Result<(), Failure> {
    const WHO_PROCESS: libc::c_long = 1;
    let value = libc::c_long::from(class) << 13 | libc::c_long::from(level);
    // SAFETY: the call takes no pointers.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) } {
        0 => Ok(()),
        _ => Err(Failure::call("ioprio_set", errno())
            .hint("classes are 1 to 3, levels 0 to 7; class 1 is for root")),
    }
}

#[cfg(target_os = "linux")]
fn become_user(uid: u32, gid: u32) -> Result<(), Failure> {
    // SAFETY: the calls take no pointers that are read.
    let failed = unsafe {
        libc::setgroups(0, std::ptr::null()) < 0
            || libc::setresgid(gid, gid, gid) < 0
            || libc::setresuid(uid, uid, uid) < 0
    };
    match failed {
        true => Err(Failure::call("setresuid", errno()).hint("another identity needs root and processes")),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn affinity(_cpus: &[u32]) -> Result<(), Failure> {
    Err(Failure::new("a CPU list is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
fn prefer_node(_node: u32) -> Result<(), Failure> {
    Err(Failure::new("a NUMA node is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
fn io_priority(_class: u8, _level: u8) -> Result<(), Failure> {
    Err(Failure::new("an I/O priority is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
fn become_user(_uid: u32, _gid: u32) -> Result<(), Failure> {
    Err(Failure::new("another identity is a Linux option here").hint("leave it out here"))
}
