//! File systems whose storage is not this machine's own, by the names that kernels give: one list for everybody who asks
//! how data come here. What it does not name may lie anywhere.

/// How data of a file system come to this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From servers, through this machine's own network.
    Network,
    /// From the host of a virtual machine, from disks that several machines share, or by a program that may fetch them
    /// anywhere: which network carries them, if any, is not known.
    Elsewhere,
}

const WAYS: [(&str, Way); 21] = [
    ("nfs", Way::Network),
    ("nfs4", Way::Network),
    ("cifs", Way::Network),
    ("smb3", Way::Network),
    ("smbfs", Way::Network),
    ("ceph", Way::Network),
    ("lustre", Way::Network),
    ("gpfs", Way::Network),
    ("beegfs", Way::Network),
    ("pvfs2", Way::Network),
    ("orangefs", Way::Network),
    ("afs", Way::Network),
    ("glusterfs", Way::Network),
    ("9p", Way::Elsewhere),
    ("virtiofs", Way::Elsewhere),
    ("ocfs2", Way::Elsewhere),
    ("gfs2", Way::Elsewhere),
    ("fuse.sshfs", Way::Elsewhere),
    ("fuse.glusterfs", Way::Elsewhere),
    ("fuse.s3fs", Way::Elsewhere),
    ("fuse.cephfs", Way::Elsewhere),
];

/// How data of a file system come here; none: from a disk of this machine, or it is not known.
pub fn way(file_system: &str) -> Option<Way> {
    WAYS.iter().find(|(name, _)| *name == file_system).map(|(_, way)| *way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once() {
        for (index, (name, _)) in WAYS.iter().enumerate() {
            assert!(WAYS[index + 1..].iter().all(|(other, _)| other != name), "{name}");
        }
        assert_eq!(["nfs4", "virtiofs", "ext4"].map(way), [Some(Way::Network), Some(Way::Elsewhere), None]);
    }
}
