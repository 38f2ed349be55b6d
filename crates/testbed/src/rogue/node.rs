//! What a name leads to: a file of any type with its attributes.
//!
//! Times are kept as the kernel hands them over: seconds of either sign and nanoseconds that always count forwards.

use super::content::Content;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment: seconds since 1970, and nanoseconds after that second.
pub type Stamp = (i64, u32);

/// The set-user-id, set-group-id and sticky bits.
pub const SUID: u32 = 0o4000;
/// See [`SUID`].
pub const SGID: u32 = 0o2000;
/// See [`SUID`].
pub const STICKY: u32 = 0o1000;

/// This moment.
pub fn now() -> Stamp {
    stamp_of(SystemTime::now())
}

/// A moment as the FUSE crate hands it over. It subtracts the nanoseconds of a time before 1970 where they are to be
/// added; here the number that the kernel sent is taken out again.
pub fn sent_stamp(time: SystemTime) -> Stamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => (-(before.duration().as_secs() as i64), before.duration().subsec_nanos()),
    }
}

fn stamp_of(time: SystemTime) -> Stamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() as i64, since.subsec_nanos())
}

/// A moment as the FUSE crate wants it.
pub fn time_of(stamp: Stamp) -> SystemTime {
    let (seconds, nanoseconds) = stamp;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let second = if seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    second + Duration::from_nanos(nanoseconds.into())
}

/// Names of a directory, each with the position at which a reader of the directory finds it.
#[derive(Debug, Clone, Default)]
pub struct Names {
    by_name: HashMap<OsString, u64>,
    by_position: BTreeMap<u64, (OsString, u64)>,
    /// Names that were removed, for a fault that still shows them.
    pub ghosts: Vec<(OsString, u64)>,
    last: u64,
}

/// Positions of `.` and `..`.
const DOTS: u64 = 2;

impl Names {
    /// The number of what has this name.
    pub fn get(&self, name: &OsStr) -> Option<u64> {
        let position = self.by_name.get(name)?;
        self.by_position.get(position).map(|(_, node)| *node)
    }

    /// The name as it was given, of the first that is the same but for the case of its letters.
    pub fn like(&self, name: &OsStr) -> Option<OsString> {
        self.by_name.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned()
    }

    /// Gives a name, which nobody may have.
    pub fn add(&mut self, name: &OsStr, node: u64) {
        self.last = self.last.max(DOTS) + 1;
        self.by_name.insert(name.to_owned(), self.last);
        self.by_position.insert(self.last, (name.to_owned(), node));
    }

    /// Lets a name mean something else, at its old position.
    pub fn point(&mut self, name: &OsStr, node: u64) {
        let position = self.by_name.get(name).copied();
        match position.and_then(|position| self.by_position.get_mut(&position)) {
            Some(entry) => entry.1 = node,
            None => self.add(name, node),
        }
    }

    /// Takes a name away.
    pub fn remove(&mut self, name: &OsStr) {
        if let Some(position) = self.by_name.remove(name) {
            self.by_position.remove(&position);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// All names behind a position, in order.
    pub fn after(&self, position: u64) -> impl Iterator<Item = (u64, &OsStr, u64)> {
        let behind = self.by_position.range(position + 1..);
        behind.map(|(position, (name, node))| (*position, name.as_os_str(), *node))
    }
}

/// A file's type, and what only that type has.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A regular file.
    Regular(Content),
    /// A directory, and the directory it is in.
    Directory(Names, u64),
    /// A symbolic link.
    Symlink(Vec<u8>),
    Fifo,
    /// A socket's name.
    Socket,
    /// A block device.
    Block(u32),
    /// A character device.
    Character(u32),
}

/// A file of any type.
#[derive(Debug, Clone)]
pub struct Node {
    pub kind: NodeKind,
    /// The twelve lowest bits of its mode.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// How many names it has.
    pub links: u32,
    /// Last access.
    pub accessed: Stamp,
    /// Last change of the data.
    pub modified: Stamp,
    /// Last change of anything.
    pub changed: Stamp,
    /// The flags of chattr.
    pub flags: u32,
    /// Extended attributes.
    pub attributes: BTreeMap<OsString, Vec<u8>>,
    /// How often the kernel was told of it and did not forget it yet.
    pub known: u64,
}

impl Node {
    /// A new file.
    pub fn new(kind: NodeKind, mode: u32, uid: u32, gid: u32) -> Node {
        let links = if matches!(kind, NodeKind::Directory(..)) { 2 } else { 1 };
        let born = now();
        Node {
            kind,
            mode,
            uid,
            gid,
            links,
            accessed: born,
            modified: born,
            changed: born,
            flags: 0,
            attributes: BTreeMap::new(),
            known: 0,
        }
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, NodeKind::Directory(..))
    }

    /// The type's bits of a mode.
    pub fn type_bits(&self) -> u32 {
        match self.kind {
            NodeKind::Regular(_) => libc::S_IFREG,
            NodeKind::Directory(..) => libc::S_IFDIR,
            NodeKind::Symlink(_) => libc::S_IFLNK,
            NodeKind::Fifo => libc::S_IFIFO,
            NodeKind::Socket => libc::S_IFSOCK,
            NodeKind::Block(_) => libc::S_IFBLK,
            NodeKind::Character(_) => libc::S_IFCHR,
        }
    }

    /// Takes away what a program of this file might do more than others; the kernel leaves it to the file system.
    pub fn drop_capabilities(&mut self) {
        self.attributes.remove(OsStr::new("security.capability"));
    }

    /// Takes set-user-id away, and set-group-id where it does not mark mandatory locking.
    pub fn drop_privileges(&mut self) {
        if self.is_directory() {
            return;
        }
        self.mode &= !SUID;
        if self.mode & 0o010 != 0 {
            self.mode &= !SGID;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_are_the_kernels() {
        // What the crate makes of −1 s and 250 ms.
        let handed = UNIX_EPOCH - Duration::new(1, 250_000_000);
        assert_eq!(sent_stamp(handed), (-1, 250_000_000));
        assert_eq!(time_of((-1, 250_000_000)), UNIX_EPOCH - Duration::from_millis(750));
    }

    #[test]
    fn positions_outlive_other_names() {
        let mut names = Names::default();
        ["a", "b", "c"].iter().zip(10..).for_each(|(name, node)| names.add(OsStr::new(name), node));
        let at = names.after(0).next().map(|(position, ..)| position).unwrap_or(0);
        names.remove(OsStr::new("a"));
        let rest: Vec<_> = names.after(at).map(|(_, name, node)| (name.to_owned(), node)).collect();
        assert_eq!(rest, [("b".into(), 11), ("c".into(), 12)]);
    }
}
