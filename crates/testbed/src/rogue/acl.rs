//! POSIX ACLs as Linux carries them in extended attributes: what they mean for a file's mode and for new files.
//!
//! The kernel judges by them; the file system has to keep them and the permission bits in step.

use super::node::Node;
use std::ffi::OsStr;

/// The attribute that holds a file's own ACL.
pub const ACCESS: &str = "system.posix_acl_access";
/// The attribute that holds what new files in a directory get.
pub const DEFAULT: &str = "system.posix_acl_default";

// From the kernel's <linux/posix_acl_xattr.h>.
const VERSION: u32 = 2;
const USER_OBJ: u16 = 0x01;
const GROUP_OBJ: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// Tag, permissions, and user or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AclEntry {
    tag: u16,
    permissions: u16,
    id: u32,
}

fn read(bytes: &[u8]) -> Option<Vec<AclEntry>> {
    let (head, entries) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*head) != VERSION || entries.len() % 8 != 0 {
        return None;
    }
    let entry = |bytes: &[u8]| AclEntry {
        tag: u16::from_le_bytes([bytes[0], bytes[1]]),
        permissions: u16::from_le_bytes([bytes[2], bytes[3]]),
        id: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    };
    Some(entries.chunks(8).map(entry).collect())
}

fn write(entries: &[AclEntry]) -> Vec<u8> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for entry in entries {
        bytes.extend(entry.tag.to_le_bytes());
        bytes.extend(entry.permissions.to_le_bytes());
        bytes.extend(entry.id.to_le_bytes());
    }
    bytes
}

/// Which three bits of a mode an entry is, if it is one: the mask stands for the group where there is one.
fn shift(tag: u16, masked: bool) -> Option<u32> {
    match tag {
        USER_OBJ => Some(6),
        MASK => Some(3),
        GROUP_OBJ if !masked => Some(3),
        OTHER => Some(0),
        _ => None,
    }
}

fn masked(entries: &[AclEntry]) -> bool {
    entries.iter().any(|entry| entry.tag == MASK)
}

fn mode_of(entries: &[AclEntry]) -> u32 {
    let masked = masked(entries);
    let bits =
        |entry: &AclEntry| shift(entry.tag, masked).map(|shift| u32::from(entry.permissions & 7) << shift);
    entries.iter().filter_map(bits).sum()
}

/// Lets the entries that are permission bits be those of a mode.
fn follow(entries: &mut [AclEntry], mode: u32) {
    let masked = masked(entries);
    for entry in entries {
        if let Some(shift) = shift(entry.tag, masked) {
            entry.permissions = (mode >> shift & 7) as u16;
        }
    }
}

/// The permission bits that an ACL stands for, and whether they say it all. None: it is no ACL.
pub fn meaning(bytes: &[u8]) -> Option<(u32, bool)> {
    let entries = read(bytes)?;
    Some((mode_of(&entries), entries.len() == 3 && !masked(&entries)))
}

/// After chmod the ACL says the same as the mode.
pub fn after_chmod(node: &mut Node) {
    let mode = node.mode;
    let Some(bytes) = node.attributes.get_mut(OsStr::new(ACCESS)) else { return };
    if let Some(mut entries) = read(bytes) {
        follow(&mut entries, mode);
        *bytes = write(&entries);
    }
}

/// What a new file gets: the directory's default ACL, or the mask of its maker.
pub fn inherit(node: &mut Node, default: Option<&[u8]>, umask: u32) {
    let Some((bytes, mut entries)) = default.and_then(|bytes| Some((bytes, read(bytes)?))) else {
        node.mode &= !(umask & 0o777);
        return;
    };
    let mode = node.mode & mode_of(&entries);
    follow(&mut entries, mode);
    node.mode = node.mode & !0o777 | mode & 0o777;
    if entries.len() > 3 {
        node.attributes.insert(ACCESS.into(), write(&entries));
    }
    if node.is_directory() {
        node.attributes.insert(DEFAULT.into(), bytes.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::NodeKind;
    use super::*;

    fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |&(tag, permissions, id): &(u16, u16, u32)| AclEntry { tag, permissions, id };
        write(&entries.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn the_mask_is_the_group_bits() {
        let bytes = acl(&[(USER_OBJ, 7, 0), (2, 7, 5), (GROUP_OBJ, 5, 0), (MASK, 4, 0), (OTHER, 1, 0)]);
        assert_eq!(meaning(&bytes), Some((0o741, false)));
        let plain = acl(&[(USER_OBJ, 6, 0), (GROUP_OBJ, 4, 0), (OTHER, 0, 0)]);
        assert_eq!(meaning(&plain), Some((0o640, true)));
    }

    #[test]
    fn a_default_acl_stands_for_the_mask_of_the_process() {
        let default = acl(&[(USER_OBJ, 7, 0), (2, 7, 5), (GROUP_OBJ, 7, 0), (MASK, 7, 0), (OTHER, 0, 0)]);
        let mut node = Node::new(NodeKind::Fifo, 0o644, 0, 0);
        inherit(&mut node, Some(&default), 0o777);
        assert_eq!(node.mode, 0o640);
        assert_eq!(meaning(&node.attributes[OsStr::new(ACCESS)]), Some((0o640, false)));
        inherit(&mut node, None, 0o077);
        assert_eq!(node.mode, 0o600);
    }
}
