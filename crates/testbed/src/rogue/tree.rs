//! The whole file system in memory: every file by its number, and the names that lead there.
//!
//! One lock guards it all, so that each request is one step, as POSIX asks of each call. The kernel walks paths, so this
//! knows single names only. It refuses to outlive its server: nothing of it is ever on a disk.

use super::access::Caller;
use super::fault::Fault;
use super::node::{Names, Node, NodeKind, Stamp, now};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What a request ends with: its answer, or the number of an error.
pub type Try<T> = Result<T, i32>;

/// The number of the root directory.
pub const ROOT: u64 = 1;
/// The longest name.
pub const NAME_MAX: usize = 255;
/// Room for data, in pages.
pub const PAGES: u64 = 1 << 18;
/// Room for files.
pub const FILES: u64 = 1 << 20;

/// All files.
pub struct Tree {
    /// The rule that is broken.
    pub fault: Option<Fault>,
    /// Permissions are judged here, not in the kernel.
    pub judges: bool,
    nodes: HashMap<u64, Node>,
    /// Which record locks are held on what.
    pub locks: BTreeMap<u64, Vec<super::locks::Lock>>,
    last: u64,
    /// Pages that are taken.
    pub pages: u64,
}

impl Tree {
    /// An empty directory that everybody may use.
    pub fn new(fault: Option<Fault>, judges: bool) -> Tree {
        let root = Node::new(NodeKind::Directory(Names::default(), ROOT), 0o777, 0, 0);
        let nodes = HashMap::from([(ROOT, root)]);
        Tree { fault, judges, nodes, locks: BTreeMap::new(), last: ROOT, pages: 0 }
    }

    /// Whether this is the rule to break.
    pub fn breaks(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// How many files there are.
    pub fn count(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// A file by its number.
    pub fn node(&self, number: u64) -> Try<&Node> {
        self.nodes.get(&number).ok_or(libc::ESTALE)
    }

    /// A file by its number, to be changed.
    pub fn node_mut(&mut self, number: u64) -> Try<&mut Node> {
        self.nodes.get_mut(&number).ok_or(libc::ESTALE)
    }

    /// The names of a directory, and the directory above it.
    pub fn names(&self, directory: u64) -> Try<(&Names, u64)> {
        match &self.node(directory)?.kind {
            NodeKind::Directory(names, parent) => Ok((names, *parent)),
            _ => Err(libc::ENOTDIR),
        }
    }

    /// The names of a directory, to be changed.
    pub fn names_mut(&mut self, directory: u64) -> Try<&mut Names> {
        match &mut self.node_mut(directory)?.kind {
            NodeKind::Directory(names, _) => Ok(names),
            _ => Err(libc::ENOTDIR),
        }
    }

    /// A name as it is kept.
    pub fn known_as(&self, directory: u64, name: &OsStr) -> Try<OsString> {
        let mut name = self.checked(name)?;
        if self.breaks(Fault::TrailingDotCut) && name.len() > 1 && name.as_bytes().ends_with(b".") {
            name = OsString::from_vec(name.as_bytes()[..name.len() - 1].to_vec());
        }
        if self.breaks(Fault::CaseIgnored) {
            return Ok(self.names(directory)?.0.like(&name).unwrap_or(name));
        }
        Ok(name)
    }

    fn checked(&self, name: &OsStr) -> Try<OsString> {
        let refused = name.len() == NAME_MAX && self.breaks(Fault::LongestNameRefused);
        if self.breaks(Fault::BytesRefused) && name.to_str().is_none() {
            return Err(libc::EILSEQ);
        }
        if name.len() <= NAME_MAX && !refused {
            return Ok(name.to_owned());
        }
        match self.fault {
            Some(Fault::LongNameMissing) => Err(libc::ENOENT),
            Some(Fault::LongNameTaken) => Ok(name.to_owned()),
            Some(Fault::LongNameCut) => Ok(OsString::from_vec(name.as_bytes()[..NAME_MAX].to_vec())),
            _ => Err(libc::ENAMETOOLONG),
        }
    }

    /// What a name in a directory leads to.
    pub fn child(&self, directory: u64, name: &OsStr) -> Try<u64> {
        let name = self.known_as(directory, name)?;
        self.names(directory)?.0.get(&name).ok_or(libc::ENOENT)
    }

    /// As [`child`](Self::child), on behalf of somebody who walks a path; the kernel knows of it from now on.
    pub fn look_up(&mut self, caller: &Caller, directory: u64, name: &OsStr) -> Try<u64> {
        self.may_search(caller, directory)?;
        let found = self.child(directory, name)?;
        self.node_mut(found)?.known += 1;
        Ok(found)
    }

    /// The kernel forgets a file that it was told of so many times.
    pub fn forget(&mut self, number: u64, times: u64) {
        if let Ok(node) = self.node_mut(number) {
            node.known = node.known.saturating_sub(times);
            self.bury(number);
        }
    }

    /// Removes a file that has no name left and that the kernel does not know.
    pub fn bury(&mut self, number: u64) {
        let gone = self.node(number).is_ok_and(|node| node.links == 0 && node.known == 0);
        if gone && number != ROOT {
            self.pages = self.pages.saturating_sub(self.room(number));
            self.nodes.remove(&number);
            self.locks.remove(&number);
        }
    }

    /// Puts in a new file.
    pub fn insert(&mut self, node: Node) -> Try<u64> {
        if self.count() >= FILES {
            return Err(libc::ENOSPC);
        }
        self.last += 1;
        self.nodes.insert(self.last, node);
        Ok(self.last)
    }

    /// Gives a file another number.
    pub fn renumber(&mut self, number: u64) -> Try<u64> {
        let node = self.node(number)?.clone();
        let copy = Node { known: 0, ..node };
        self.node_mut(number)?.links = 0;
        self.insert(copy)
    }

    /// Pages that a file takes.
    pub fn room(&self, number: u64) -> u64 {
        match self.node(number).map(|node| &node.kind) {
            Ok(NodeKind::Regular(content)) => content.allocated(),
            _ => 0,
        }
    }

    /// Corrects the sum of taken pages after a change of a file that took `before`.
    pub fn account(&mut self, number: u64, before: u64) {
        self.pages = (self.pages + self.room(number)).saturating_sub(before);
    }

    /// Marks a change of the file itself.
    pub fn mark(&mut self, number: u64) {
        if let Ok(node) = self.node_mut(number) {
            node.changed = now();
        }
    }

    /// Marks a change of a directory's names, unless a fault keeps it from that.
    pub fn touch(&mut self, directory: u64, unless: Fault) {
        if !self.breaks(unless) {
            self.stamp(directory);
        }
    }

    /// Marks a modification.
    pub fn stamp(&mut self, number: u64) {
        let moment = now();
        if let Ok(node) = self.node_mut(number) {
            (node.modified, node.changed) = (moment, moment);
        }
    }

    /// Marks an access, if the last one is older than the last change or than a day.
    pub fn note_access(&mut self, number: u64) {
        const DAY: i64 = 86_400;
        if self.breaks(Fault::AccessTimeStays) {
            return;
        }
        let moment: Stamp = now();
        if let Ok(node) = self.node_mut(number) {
            let latest = node.modified.max(node.changed);
            if node.accessed <= latest || moment.0 - node.accessed.0 >= DAY {
                node.accessed = moment;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_refused() {
        let tree = Tree::new(None, false);
        let long = OsString::from_vec(vec![b'n'; NAME_MAX + 1]);
        assert_eq!(tree.child(ROOT, &long), Err(libc::ENAMETOOLONG));
        assert_eq!(tree.child(ROOT, OsStr::new("n")), Err(libc::ENOENT));
        let broken = Tree::new(Some(Fault::LongNameMissing), false);
        assert_eq!(broken.child(ROOT, &long), Err(libc::ENOENT));
    }
}
