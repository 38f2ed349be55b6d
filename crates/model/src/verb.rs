//! What an operation does: the field's own verbs, from `read` to `exchange`.
//!
//! Names a system call's meaning, never how an engine carries it out. To add a verb: a variant here, its row in
//! [`Verb::ALL`], and one arm in the engine room's `call`.

use std::fmt;

use crate::reflect::Reflect;

macro_rules! verbs {
    ($($variant:ident $name:literal $kind:ident $doc:literal;)*) => {
        /// One kind of operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Reflect)]
        #[repr(u8)]
        pub enum Verb { $(#[doc = $doc] $variant,)* }

        impl Verb {
            /// Every verb, in declaration order; a verb's index is its discriminant.
            pub const ALL: &'static [Verb] = &[$(Verb::$variant,)*];

            /// The word that plans, records and messages use.
            pub const fn name(self) -> &'static str {
                match self { $(Verb::$variant => $name,)* }
            }

            /// What class of work it is.
            #[inline]
            pub const fn kind(self) -> Kind {
                match self { $(Verb::$variant => Kind::$kind,)* }
            }
        }
    };
}

verbs! {
    Read "read" Read "Bytes from a target into a buffer.";
    Write "write" Write "Bytes from a buffer into a target.";
    Trim "trim" Trim "Discard a range (device) or punch a hole (file).";
    Discard "discard" Trim "Discard a range of a device; what is none refuses.";
    WriteZeroes "write_zeroes" Write "Zero a range without a payload.";
    Fsync "fsync" Sync "Data and metadata of one file to stable storage.";
    Fdatasync "fdatasync" Sync "Data, and the metadata needed to find it, to stable storage.";
    SyncFileRange "sync_file_range" Sync "Start or wait for write-back of a range (Linux).";
    Syncfs "syncfs" Sync "A whole file system to stable storage (Linux).";
    Msync "msync" Sync "A mapped range to its file.";
    Open "open" Metadata "Open an existing file.";
    Close "close" Metadata "Close an open file.";
    Create "create" Metadata "Make a new file and open it, O_CREAT|O_EXCL.";
    Stat "stat" Metadata "Attributes by name.";
    Fstat "fstat" Metadata "Attributes of an open file.";
    Lstat "lstat" Metadata "Attributes by name, of the link itself.";
    Access "access" Metadata "Permission check by name.";
    Unlink "unlink" Metadata "Remove a file's name.";
    Mkdir "mkdir" Metadata "Make a directory.";
    Rmdir "rmdir" Metadata "Remove an empty directory.";
    Rename "rename" Metadata "Change a file's name.";
    Link "link" Metadata "A second name for a file.";
    Symlink "symlink" Metadata "A symbolic link.";
    Readlink "readlink" Metadata "The text of a symbolic link.";
    Mknod "mknod" Metadata "A device node or plain file.";
    Mkfifo "mkfifo" Metadata "A named pipe.";
    Chmod "chmod" Metadata "Change mode bits.";
    Chown "chown" Metadata "Change owner and group.";
    Utimens "utimens" Metadata "Change time stamps.";
    Truncate "truncate" Metadata "Change a file's length.";
    Fallocate "fallocate" Metadata "Reserve or deallocate space.";
    Fadvise "fadvise" Metadata "Declare an access pattern, or drop cached pages.";
    Readdir "readdir" Metadata "List a directory.";
    Setxattr "setxattr" Metadata "Set an extended attribute.";
    Getxattr "getxattr" Metadata "Read an extended attribute.";
    Listxattr "listxattr" Metadata "List extended attributes.";
    Removexattr "removexattr" Metadata "Remove an extended attribute.";
    CopyFileRange "copy_file_range" Write "Copy inside the kernel (Linux).";
    Clone "clone" Metadata "Share extents with another file (FICLONE).";
    Lock "lock" Metadata "Lock a range or a file.";
    Unlock "unlock" Metadata "Release a lock.";
    Listen "listen" Network "Accept connections at an endpoint.";
    Connect "connect" Network "Open a connection.";
    Accept "accept" Network "Take a waiting connection.";
    Send "send" Network "Bytes to a peer.";
    Recv "recv" Network "Bytes from a peer.";
    Exchange "exchange" Network "A request and its whole response.";
    Shutdown "shutdown" Network "Close one or both directions.";
    Think "think" Control "Sleep: a user thinking.";
    Spin "spin" Control "Burn CPU: a program computing.";
    Wait "wait" Control "Wait for a shared object.";
    Post "post" Control "Post to a shared object.";
    Finish "finish" Control "End this worker once a count is reached.";
    Statfs "statfs" Metadata "Attributes of the file system that something open lies on.";
}

/// The class of work that a verb belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Reflect)]
pub enum Kind {
    /// Data towards us.
    Read,
    /// Data away from us.
    Write,
    /// Deallocation.
    Trim,
    /// Durability.
    Sync,
    /// Names and attributes.
    Metadata,
    /// A peer.
    Network,
    /// Nothing that the storage sees.
    Control,
}

impl Verb {
    /// How many verbs there are.
    pub const COUNT: usize = Verb::ALL.len();

    /// Position in [`Verb::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The verb of that name, if there is one.
    pub fn named(name: &str) -> Option<Verb> {
        Verb::ALL.iter().copied().find(|verb| verb.name() == name)
    }

    /// Whether it moves the user's bytes.
    #[inline]
    pub const fn moves_data(self) -> bool {
        matches!(self.kind(), Kind::Read | Kind::Write)
            || matches!(self, Verb::Send | Verb::Recv | Verb::Exchange)
    }

    /// Whether it changes what is stored.
    #[inline]
    pub const fn changes(self) -> bool {
        match self.kind() {
            Kind::Write | Kind::Trim => true,
            Kind::Metadata => !matches!(
                self,
                Verb::Open
                    | Verb::Close
                    | Verb::Stat
                    | Verb::Fstat
                    | Verb::Lstat
                    | Verb::Access
                    | Verb::Readlink
                    | Verb::Statfs
                    | Verb::Fadvise
                    | Verb::Readdir
                    | Verb::Getxattr
                    | Verb::Listxattr
                    | Verb::Lock
                    | Verb::Unlock
            ),
            _ => false,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of verbs, as a bit mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerbSet(u64);

impl VerbSet {
    /// No verb.
    pub const NONE: VerbSet = VerbSet(0);
    /// Every verb.
    pub const ALL: VerbSet = VerbSet((1 << Verb::COUNT) - 1);

    /// A set of the given verbs.
    pub const fn of(verbs: &[Verb]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < verbs.len() {
            bits |= 1 << verbs[index] as u64;
            index += 1;
        }
        VerbSet(bits)
    }

    /// Whether the verb is in the set.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 >> (verb as u64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_found_by_its_name_and_fits_the_mask() {
        const { assert!(Verb::COUNT < 64) };
        for (index, verb) in Verb::ALL.iter().enumerate() {
            assert_eq!(Verb::named(verb.name()), Some(*verb));
            assert_eq!(verb.index(), index);
            assert!(VerbSet::ALL.has(*verb) && !VerbSet::NONE.has(*verb));
        }
    }
}
