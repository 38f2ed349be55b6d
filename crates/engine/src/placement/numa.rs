//! NUMA: the CPUs of nodes, and the nodes that memory comes from.

use iodyno_model::NumaMemory;

use crate::failure::Failure;

/// The CPUs of these nodes.
///
/// # Errors
/// A node that is not there.
#[cfg(target_os = "linux")]
pub fn cpus_of(nodes: &[u32]) -> Result<Vec<u32>, Failure> {
    let mut cpus = Vec::new();
    for node in nodes {
        let text = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"));
        let text = text.map_err(|_| no_node(*node))?;
        cpus.extend(listed(&text));
    }
    Ok(cpus)
}

#[cfg(target_os = "linux")]
fn no_node(node: u32) -> Failure {
    Failure::new(format!("there is no NUMA node {node}"))
        .hint("ls /sys/devices/system/node shows which there are")
}

/// `0-3,8` as numbers.
#[cfg(target_os = "linux")]
fn listed(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Sets where the calling worker's new pages come from.
///
/// # Errors
/// A node that is not there, or a kernel without NUMA.
#[cfg(target_os = "linux")]
pub fn take_memory_from(memory: &NumaMemory) -> Result<(), Failure> {
    use iodyno_model::NumaPolicy;
    let all = || listed(&std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default());
    let (mode, nodes): (libc::c_int, Vec<u32>) = match memory.policy {
        NumaPolicy::Standard => (libc::MPOL_DEFAULT, Vec::new()),
        NumaPolicy::Local => (libc::MPOL_LOCAL, Vec::new()),
        NumaPolicy::Prefer => (libc::MPOL_PREFERRED, memory.nodes.clone()),
        NumaPolicy::Bind | NumaPolicy::Interleave => {
            let mode =
                if memory.policy == NumaPolicy::Bind { libc::MPOL_BIND } else { libc::MPOL_INTERLEAVE };
            (mode, if memory.nodes.is_empty() { all() } else { memory.nodes.clone() })
        }
    };
    let mut mask = [0u64; 16];
    for node in &nodes {
        *mask.get_mut(*node as usize / 64).ok_or_else(|| no_node(*node))? |= 1 << (node % 64);
    }
    let (pointer, bits) = match nodes.is_empty() {
        true => (std::ptr::null(), 0),
        false => (mask.as_ptr(), 1024),
    };
    // SAFETY: the mask is valid for reading and as long as said, or there is none.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) } {
        0 => Ok(()),
        _ => Err(Failure::call("set_mempolicy", crate::memory::errno()).hint("name NUMA nodes that exist")),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn cpus_of(_nodes: &[u32]) -> Result<Vec<u32>, Failure> {
    Err(Failure::new("a NUMA node is a Linux option").hint("leave it out here"))
}

#[cfg(not(target_os = "linux"))]
pub fn take_memory_from(_memory: &NumaMemory) -> Result<(), Failure> {
    Err(Failure::new("a NUMA policy is a Linux option").hint("leave it out here"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(listed("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(listed("\n"), Vec::<u32>::new());
    }

    #[test]
    fn policies_are_set_and_read_back() {
        use iodyno_model::NumaPolicy;
        let policies = [NumaPolicy::Bind, NumaPolicy::Prefer, NumaPolicy::Interleave, NumaPolicy::Local];
        for policy in policies {
            // On a thread of its own: a policy stays with its thread.
            let seen = std::thread::spawn(move || {
                let nodes = if policy == NumaPolicy::Local { Vec::new() } else { vec![0] };
                take_memory_from(&NumaMemory { policy, nodes }).map(|()| {
                    let mut mode = -1;
                    // SAFETY: the mode is valid for writing; nothing else is asked for.
                    unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, 0, 0, 0, 0) };
                    mode
                })
            });
            match seen.join().unwrap() {
                Ok(mode) => assert!(
                    [libc::MPOL_PREFERRED, libc::MPOL_BIND, libc::MPOL_INTERLEAVE, libc::MPOL_LOCAL]
                        .contains(&mode)
                ),
                // A kernel without NUMA says so.
                Err(failure) => assert!(failure.hint.is_some()),
            }
        }
        assert!(cpus_of(&[4000]).is_err());
    }
}
