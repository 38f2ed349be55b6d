//! Who may do what: the judgement that the kernel leaves to this file system when a fault lies in it.
//!
//! Without such a fault the kernel judges (`default_permissions`) and everything here says yes. One thing cannot be
//! judged here, for the kernel does not ask: opening a fifo.

use super::fault::Fault;
use super::node::{Node, STICKY};
use super::tree::{Tree, Try};
use fuser::Request;

/// Read, write, and execute or search permission.
pub const READ: u32 = 4;
/// See [`READ`].
pub const WRITE: u32 = 2;
/// See [`READ`].
pub const SEARCH: u32 = 1;

/// Who makes a request.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Process, or 0.
    pub pid: u32,
}

impl Caller {
    /// Who made this request.
    pub fn of(request: &Request) -> Caller {
        Caller { uid: request.uid(), gid: request.gid(), pid: request.pid() }
    }

    /// Whether it is nobody's business what he does.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether he is in a group, be it a supplementary one.
    fn in_group(&self, gid: u32, supplementary: bool) -> bool {
        self.gid == gid || supplementary && groups_of(self.pid).contains(&gid)
    }
}

fn groups_of(pid: u32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    line.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

impl Tree {
    /// Whether he is in a group, as far as this file system looks.
    pub fn member(&self, caller: &Caller, gid: u32) -> bool {
        caller.in_group(gid, !self.breaks(Fault::GroupsIgnored))
    }

    fn denied(&self) -> i32 {
        if self.breaks(Fault::DeniedIsEperm) { libc::EPERM } else { libc::EACCES }
    }

    fn not_owner(&self) -> i32 {
        if self.breaks(Fault::NotOwnerIsEacces) { libc::EACCES } else { libc::EPERM }
    }

    fn allows(&self, caller: &Caller, node: &Node, wanted: u32) -> bool {
        if caller.is_root() {
            return wanted & SEARCH == 0 || node.is_directory() || node.mode & 0o111 != 0;
        }
        let (owner, group) = (node.uid == caller.uid, self.member(caller, node.gid));
        let granted = |shift: u32| node.mode >> shift & wanted == wanted;
        if self.breaks(Fault::ClassesNotExclusive) {
            return owner && granted(6) || group && granted(3) || granted(0);
        }
        match (owner, group) {
            (true, _) => granted(6),
            (_, true) => granted(3),
            _ => granted(0),
        }
    }

    fn need(&self, caller: &Caller, number: u64, wanted: u32) -> Try<()> {
        let allowed = !self.judges || self.allows(caller, self.node(number)?, wanted);
        if allowed { Ok(()) } else { Err(self.denied()) }
    }

    /// Whether he may use the names of a directory.
    pub fn may_search(&self, caller: &Caller, directory: u64) -> Try<()> {
        if self.breaks(Fault::SearchIgnored) {
            return Ok(());
        }
        self.need(caller, directory, SEARCH)
    }

    /// Whether he may add names to a directory and take them away.
    pub fn may_change(&self, caller: &Caller, directory: u64) -> Try<()> {
        if self.breaks(Fault::ParentWriteIgnored) {
            self.may_search(caller, directory)?;
            return if self.is_immutable(directory) { Err(libc::EPERM) } else { Ok(()) };
        }
        self.need(caller, directory, WRITE | SEARCH)?;
        if self.is_immutable(directory) { Err(libc::EPERM) } else { Ok(()) }
    }

    /// Whether he may take this name away, the sticky bit included.
    pub fn may_remove(&self, caller: &Caller, directory: u64, child: u64) -> Try<()> {
        self.may_change(caller, directory)?;
        self.is_free(child)?;
        if self.is_append_only(directory) {
            return Err(libc::EPERM);
        }
        if !self.judges || self.breaks(Fault::StickyIgnored) || caller.is_root() {
            return Ok(());
        }
        let (above, below) = (self.node(directory)?, self.node(child)?);
        let stuck = above.mode & STICKY != 0 && ![above.uid, below.uid].contains(&caller.uid);
        if stuck { Err(self.not_owner()) } else { Ok(()) }
    }

    /// Whether he may open a file for this, or read or write what belongs to it.
    pub fn may_open(&self, caller: &Caller, number: u64, wanted: u32) -> Try<()> {
        if self.breaks(Fault::OpenUnchecked) {
            return Ok(());
        }
        self.need(caller, number, wanted)
    }

    /// Whether he may change a file's length.
    pub fn may_truncate(&self, caller: &Caller, number: u64) -> Try<()> {
        if self.breaks(Fault::TruncateUnchecked) {
            return Ok(());
        }
        self.need(caller, number, WRITE)
    }

    /// Whether he may move a directory elsewhere, which changes the directory itself.
    pub fn may_move(&self, caller: &Caller, directory: u64) -> Try<()> {
        self.need(caller, directory, WRITE)
    }

    /// What access(2) asks.
    pub fn may(&self, caller: &Caller, number: u64, wanted: u32) -> Try<()> {
        self.need(caller, number, wanted)
    }

    /// Whether he owns the file.
    pub fn owns(&self, caller: &Caller, number: u64) -> Try<bool> {
        Ok(!self.judges || caller.is_root() || self.node(number)?.uid == caller.uid)
    }

    /// Whether he may make a hard link to it: Linux asks for ownership or full access (`fs.protected_hardlinks`).
    pub fn may_link(&self, caller: &Caller, number: u64) -> Try<()> {
        self.is_free(number)?;
        let node = self.node(number)?;
        let plain = node.type_bits() == libc::S_IFREG && node.mode & 0o4000 == 0;
        let allowed = self.owns(caller, number)? || plain && self.allows(caller, node, READ | WRITE);
        if allowed { Ok(()) } else { Err(libc::EPERM) }
    }

    /// Whether he may change the mode; the mode that he gets.
    pub fn may_chmod(&mut self, caller: &Caller, number: u64, mode: u32) -> Try<u32> {
        if !self.owns(caller, number)? && !self.breaks(Fault::ChmodByAnyone) {
            if self.breaks(Fault::FailedChmodTouches) {
                self.mark(number);
            }
            return Err(self.not_owner());
        }
        let node = self.node(number)?;
        let stranger = self.judges && !caller.is_root() && !self.member(caller, node.gid);
        let keeps = !stranger || self.breaks(Fault::GroupBitStays);
        Ok(if keeps { mode } else { mode & !0o2000 })
    }

    /// Whether he may give the file to this owner and group.
    pub fn may_chown(&self, caller: &Caller, number: u64, uid: Option<u32>, gid: Option<u32>) -> Try<()> {
        if !self.judges || caller.is_root() || self.breaks(Fault::ChownByAnyone) {
            return Ok(());
        }
        let node = self.node(number)?;
        let owner = node.uid == caller.uid;
        let uid_may = uid.is_none_or(|uid| owner && uid == node.uid);
        let gid_may = gid.is_none_or(|gid| owner && (gid == node.gid || self.member(caller, gid)));
        if uid_may && gid_may { Ok(()) } else { Err(self.not_owner()) }
    }

    /// Whether he may set times: anybody who may write sets the present, the owner alone anything else.
    pub fn may_stamp(&self, caller: &Caller, number: u64, present: bool) -> Try<()> {
        if self.owns(caller, number)? || self.breaks(Fault::TimesByAnyone) {
            return Ok(());
        }
        if present { self.need(caller, number, WRITE) } else { Err(self.not_owner()) }
    }
}
