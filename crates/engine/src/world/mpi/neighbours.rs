//! Which ranks of this machine have ended: asked of the kernel, because a library of MPI reports it late or never, and a launcher
//! that notices kills everybody else within a second or two.
//!
//! Ranks of other machines, and of process namespaces that are not this one's, are never said to be gone: their own launcher
//! has to notice. Nothing here waits.

use std::os::fd::OwnedFd;

use super::nodes::NodeMap;

/// Processes of other ranks on this machine, by rank.
#[derive(Default)]
pub(super) struct Neighbours(Vec<(u32, OwnedFd)>);

impl Neighbours {
    /// The ranks beside this one that it can see.
    pub(super) fn of(map: &NodeMap, rank: u32) -> Neighbours {
        let Some(own) = map.processes.get(rank as usize) else { return Neighbours::default() };
        let others = map.processes.iter().enumerate().filter(|(other, _)| *other as u32 != rank);
        let beside = others.filter(|(_, process)| process.space == own.space);
        Neighbours(beside.filter_map(|(other, process)| Some((other as u32, opened(process.id)?))).collect())
    }

    /// Those that have ended.
    pub(super) fn gone(&self) -> Vec<u32> {
        self.0.iter().filter(|(_, process)| has_ended(process)).map(|(rank, _)| *rank).collect()
    }
}

/// The process of that number, as long as this is kept: a number alone may come to be somebody else's.
#[cfg(target_os = "linux")]
fn opened(id: i32) -> Option<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
    // SAFETY: a descriptor that is not negative is new, and nobody else's.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Elsewhere processes cannot be held like this.
#[cfg(not(target_os = "linux"))]
fn opened(_: i32) -> Option<OwnedFd> {
    None
}

fn has_ended(process: &OwnedFd) -> bool {
    use std::os::fd::AsRawFd;
    let mut question = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the one descriptor's structure is valid for the call, which does not wait.
    let answered = unsafe { libc::poll(&raw mut question, 1, 0) };
    answered == 1 && question.revents & libc::POLLIN != 0
}

#[cfg(test)]
mod tests {
    use super::super::nodes::Process;
    use super::*;

    fn seen(processes: &[(i32, &str)]) -> Neighbours {
        let process = |(id, space): &(i32, &str)| Process { id: *id, space: space.to_string() };
        Neighbours::of(
            &NodeMap { processes: processes.iter().map(process).collect(), ..NodeMap::default() },
            0,
        )
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_has_ended_is_seen_and_strangers_are_not() {
        let own = std::process::id() as i32;
        // A process that ends at once, and is held until it is waited for.
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let id = child.id() as i32;
        let neighbours = seen(&[(own, "a"), (id, "a"), (own, "a"), (id, "b")]);
        child.wait().expect("its end");
        assert_eq!(neighbours.gone(), [1], "the other is this process, the last another space's");
        assert_eq!(seen(&[(own, "a")]).gone(), [0_u32; 0]);
        assert_eq!(seen(&[]).gone(), [0_u32; 0]);
    }
}
