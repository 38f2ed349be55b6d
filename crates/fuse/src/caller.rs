//! Whose call it is: what is done for a user is done with his rights, and what is made is his.

use std::fs;
use std::marker::PhantomData;

use fuser::Request;

/// While it lives this thread has the rights of another user on files.
pub struct CallerRights {
    /// User, group and groups of this thread to go back to; none: they are the caller's already.
    own: Option<(u32, u32)>,
    /// Rights are the thread's.
    _thread: PhantomData<*const ()>,
}

impl CallerRights {
    pub fn take(request: &Request) -> CallerRights {
        // SAFETY: the calls take nothing.
        let own = unsafe { (libc::geteuid(), libc::getegid()) };
        let (user, group) = (request.uid(), request.gid());
        // The kernel itself asks without a process: pages that it writes back are anybody's.
        if own == (user, group) || request.pid() == 0 {
            return CallerRights { own: None, _thread: PhantomData };
        }
        if user != own.0 {
            set_groups(&groups_of(request.pid()));
        }
        set_ids(user, group);
        CallerRights { own: Some(own), _thread: PhantomData }
    }
}

impl Drop for CallerRights {
    fn drop(&mut self) {
        if let Some((user, group)) = self.own {
            set_ids(user, group);
            set_groups(&groups_of(std::process::id()));
        }
    }
}

/// The group first: it needs the right that another user has not.
fn set_ids(user: u32, group: u32) {
    // SAFETY: the calls take numbers only, and change this thread alone.
    unsafe {
        libc::syscall(libc::SYS_setfsgid, group);
        libc::syscall(libc::SYS_setfsuid, user);
    }
}

/// By the system call itself, which changes this thread alone.
fn set_groups(groups: &[libc::gid_t]) {
    // SAFETY: the list is as long as said.
    unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
}

fn groups_of(process: u32) -> Vec<libc::gid_t> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_whitespace().filter_map(|group| group.parse().ok()).collect()
}
