//! Giving names and taking them away: create, link, unlink, rmdir.

use super::access::Caller;
use super::acl;
use super::fault::Fault;
use super::node::{Names, Node, NodeKind, SGID};
use super::tree::{Tree, Try};
use std::ffi::OsStr;

/// A file to be made.
pub struct NewNode {
    pub kind: NodeKind,
    /// Its mode, with the type's bits or without.
    pub mode: u32,
    /// What the creating process masks.
    pub umask: u32,
    /// Which fault forgets to mark the directory.
    pub quiet: Fault,
}

impl Tree {
    /// Makes a file and tells the kernel of it.
    pub fn create(&mut self, caller: &Caller, directory: u64, name: &OsStr, order: NewNode) -> Try<u64> {
        self.may_change(caller, directory)?;
        let name = self.known_as(directory, name)?;
        if self.names(directory)?.0.get(&name).is_some() {
            return Err(libc::EEXIST);
        }
        // A directory that was removed takes no more names.
        if self.node(directory)?.links == 0 {
            return Err(libc::ENOENT);
        }
        let quiet = order.quiet;
        let node = self.born(caller, directory, order)?;
        let is_directory = node.is_directory();
        let number = self.insert(node)?;
        self.names_mut(directory)?.add(&name, number);
        self.node_mut(number)?.known = 1;
        if is_directory && !self.breaks(Fault::MkdirKeepsParentCount) {
            self.node_mut(directory)?.links += 1;
        }
        self.touch(directory, quiet);
        Ok(number)
    }

    /// The new file with its owner, group, mode and ACL.
    fn born(&self, caller: &Caller, directory: u64, order: NewNode) -> Try<Node> {
        let parent = self.node(directory)?;
        let inherits = parent.mode & SGID != 0;
        let uid = if self.breaks(Fault::CreatedByRoot) { 0 } else { caller.uid };
        let taken = inherits && !self.breaks(Fault::GroupNotInherited);
        let gid = if taken { parent.gid } else { caller.gid };
        let mut node = Node::new(order.kind, order.mode & 0o7777, uid, gid);
        if let NodeKind::Directory(_, above) = &mut node.kind {
            *above = directory;
            if inherits && !self.breaks(Fault::MkdirDropsGroupBit) {
                node.mode |= SGID;
            }
        }
        let mask = if self.breaks(Fault::UmaskIgnored) { 0 } else { order.umask };
        if !matches!(node.kind, NodeKind::Symlink(_)) {
            let default = parent.attributes.get(OsStr::new(acl::DEFAULT));
            let default = default.filter(|_| !self.breaks(Fault::DefaultAclIgnored));
            acl::inherit(&mut node, default.map(Vec::as_slice), mask);
        }
        if self.breaks(Fault::CreateModeFixed) && matches!(node.kind, NodeKind::Regular(_)) {
            node.mode = 0o644;
        }
        if self.breaks(Fault::NewFileIsOld) {
            (node.accessed, node.modified, node.changed) = ((0, 0), (0, 0), (0, 0));
        }
        Ok(node)
    }

    /// What mknod makes of a mode and a device number.
    pub fn special(&self, mode: u32, device: u32) -> Try<NodeKind> {
        let device = if self.breaks(Fault::DeviceNumberLost) { 0 } else { device };
        Ok(match mode & libc::S_IFMT {
            libc::S_IFREG | 0 => NodeKind::Regular(Default::default()),
            libc::S_IFIFO if self.breaks(Fault::FifoIsRegular) => NodeKind::Regular(Default::default()),
            libc::S_IFIFO => NodeKind::Fifo,
            libc::S_IFSOCK => NodeKind::Socket,
            libc::S_IFCHR if self.breaks(Fault::CharacterIsBlock) => NodeKind::Block(device),
            libc::S_IFCHR => NodeKind::Character(device),
            libc::S_IFBLK => NodeKind::Block(device),
            _ => return Err(libc::EINVAL),
        })
    }

    /// An empty directory.
    pub fn directory() -> NodeKind {
        NodeKind::Directory(Names::default(), 0)
    }

    /// Gives a file one more name, and tells the kernel of it.
    pub fn link(&mut self, caller: &Caller, number: u64, directory: u64, name: &OsStr) -> Try<u64> {
        self.may_change(caller, directory)?;
        self.may_link(caller, number)?;
        let name = self.known_as(directory, name)?;
        if self.names(directory)?.0.get(&name).is_some() {
            return Err(libc::EEXIST);
        }
        let number = self.one_more(number)?;
        self.names_mut(directory)?.add(&name, number);
        self.touch(directory, Fault::LinkKeepsParent);
        Ok(number)
    }

    fn one_more(&mut self, number: u64) -> Try<u64> {
        if self.breaks(Fault::LinkCopies) {
            let copy = Node { known: 1, links: 1, ..self.node(number)?.clone() };
            return self.insert(copy);
        }
        let raised = u32::from(!self.breaks(Fault::LinkCountStays));
        let node = self.node_mut(number)?;
        node.links += raised;
        node.known += 1;
        if !self.breaks(Fault::LinkKeepsChanged) {
            self.mark(number);
        }
        Ok(number)
    }

    /// Takes a name away from what is no directory.
    pub fn unlink(&mut self, caller: &Caller, directory: u64, name: &OsStr) -> Try<()> {
        let name = self.known_as(directory, name)?;
        let number = self.child(directory, &name)?;
        self.may_remove(caller, directory, number)?;
        if self.breaks(Fault::UnlinkIgnored) && matches!(self.node(number)?.kind, NodeKind::Fifo) {
            return Ok(());
        }
        self.drop_name(directory, &name, number)?;
        self.touch(directory, Fault::UnlinkKeepsParent);
        let lowers = !self.breaks(Fault::UnlinkCountStays);
        let marks = !self.breaks(Fault::UnlinkKeepsChanged);
        self.lose_link(number, lowers, marks)
    }

    /// A file has one name less.
    pub fn lose_link(&mut self, number: u64, lowers: bool, marks: bool) -> Try<()> {
        let node = self.node_mut(number)?;
        if lowers {
            node.links = node.links.saturating_sub(1);
        }
        let gone = node.links == 0;
        if marks {
            self.mark(number);
        }
        if gone && self.breaks(Fault::UnlinkLosesData) {
            self.resize(number, 0)?;
        }
        self.bury(number);
        Ok(())
    }

    /// Removes an entry, leaving a ghost where a fault wants it.
    pub fn drop_name(&mut self, directory: u64, name: &OsStr, number: u64) -> Try<()> {
        let haunted = self.breaks(Fault::ReaddirGhosts);
        let names = self.names_mut(directory)?;
        names.remove(name);
        if haunted {
            names.ghosts.push((name.to_owned(), number));
        }
        Ok(())
    }

    /// Removes a directory.
    pub fn rmdir(&mut self, caller: &Caller, directory: u64, name: &OsStr) -> Try<()> {
        let name = self.known_as(directory, name)?;
        let number = self.child(directory, &name)?;
        self.may_remove(caller, directory, number)?;
        if !self.names(number)?.0.is_empty() && !self.breaks(Fault::RmdirRemovesFull) {
            if self.breaks(Fault::FailedRmdirTouches) {
                self.stamp(directory);
            }
            let busy = self.breaks(Fault::RmdirFullIsBusy);
            return Err(if busy { libc::EBUSY } else { libc::ENOTEMPTY });
        }
        self.drop_name(directory, &name, number)?;
        self.lose_directory(number)?;
        if !self.breaks(Fault::RmdirKeepsParentCount) {
            let above = self.node_mut(directory)?;
            above.links = above.links.saturating_sub(1);
        }
        self.touch(directory, Fault::RmdirKeepsParent);
        Ok(())
    }

    /// A directory has no name any more.
    pub fn lose_directory(&mut self, number: u64) -> Try<()> {
        self.node_mut(number)?.links = 0;
        self.mark(number);
        self.bury(number);
        Ok(())
    }
}
