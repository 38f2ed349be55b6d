//! What a writer does, and what each completed step promises.

use crate::promise::Authority;

/// Threads of a writer, at most.
pub const MOST_THREADS: u32 = 64;
/// Objects of one mode, at most.
const NUMBERS: u32 = 1 << 16;

/// Makes the modes, their words and the source of their promises out of one table.
macro_rules! modes {
    ($($mode:ident $name:literal $authority:ident $source:literal $promise:literal)*) => {
        /// A way to ask for durability.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SyncMode {
            $(#[doc = $promise] $mode,)*
        }

        impl SyncMode {
            pub const ALL: &[SyncMode] = &[$(SyncMode::$mode),*];

            /// As it stands in logs and command lines.
            pub fn name(self) -> &'static str {
                match self { $(SyncMode::$mode => $name),* }
            }

            pub fn authority(self) -> Authority {
                match self { $(SyncMode::$mode => Authority::$authority),* }
            }

            /// Where the promise comes from.
            pub fn source(self) -> &'static str {
                match self { $(SyncMode::$mode => $source),* }
            }

            /// What a completed step promises, in words.
            pub fn promise(self) -> &'static str {
                match self { $(SyncMode::$mode => $promise),* }
            }
        }
    };
}

modes! {
    Fsync "fsync" Posix "POSIX.1-2024 fsync()" "data of a file after its fsync"
    Fdatasync "fdatasync" Posix "POSIX.1-2024 fdatasync()" "data of a file after its fdatasync"
    OSync "o_sync" Posix "POSIX.1-2024 open(), O_SYNC" "data of a write to a file opened with O_SYNC"
    ODsync "o_dsync" Posix "POSIX.1-2024 open(), O_DSYNC" "data of a write to a file opened with O_DSYNC"
    RwfDsync "rwf_dsync" Linux "pwritev2(2), RWF_DSYNC" "data of a write with RWF_DSYNC"
    Msync "msync" Posix "POSIX.1-2024 msync(), MS_SYNC" "data of a mapping after msync with MS_SYNC"
    Syncfs "syncfs" Linux "sync(2), syncfs" "data of a file after syncfs of its file system"
    Range "sync_file_range" Linux "sync_file_range(2)" "nothing: sync_file_range is informational"
    Create "create" Posix "POSIX.1-2024 fsync() of the directory" "a new file after fsync of it and of its directory"
    Name "name" Linux "fsync(2) of a new file, as ext4, xfs and btrfs do" "the name of a new file after fsync of it alone"
    Remove "unlink" Posix "POSIX.1-2024 fsync() of the directory" "no file after unlink and fsync of its directory"
    Rename "rename" Posix "POSIX.1-2024 fsync() of the directory" "the new name of a file after rename and fsync of its directory"
    Replace "replace" Linux "rename(2): it replaces as a whole" "the old or the new file, whole, where rename replaces"
    Append "append" Posix "POSIX.1-2024 fdatasync()" "records and size of an append log after its fdatasync"
    DoubleWrite "double_write" Posix "POSIX.1-2024 fdatasync()" "a block written to a journal first: whole in one of both places"
    Attribute "attribute" Posix "POSIX.1-2024 fsync(), synchronized file integrity" "mode and extended attributes after fsync"
    Size "size" Posix "POSIX.1-2024 fsync()" "the size of a file after ftruncate and fsync"
    Flush "flush" Linux "block layer: a completed flush keeps all writes that ended before it" "blocks written before a completed flush"
    Fua "fua" Linux "block layer: REQ_FUA, as O_DSYNC asks for it" "blocks of a write with O_DSYNC"
}

impl SyncMode {
    pub fn named(name: &str) -> Option<SyncMode> {
        SyncMode::ALL.iter().copied().find(|mode| mode.name() == name)
    }

    /// Whether it works on a device, or in a directory.
    pub fn is_of_devices(self) -> bool {
        matches!(self, SyncMode::Flush | SyncMode::Fua)
    }

    /// Whether nothing is promised, so that what is found is only told.
    pub fn is_informational(self) -> bool {
        self == SyncMode::Range
    }

    /// Whether a step overwrites blocks of a file that is there.
    pub fn is_of_blocks(self) -> bool {
        use SyncMode as M;
        matches!(
            self,
            M::Fsync | M::Fdatasync | M::OSync | M::ODsync | M::RwfDsync | M::Msync | M::Syncfs | M::Range
        )
    }

    fn number(self) -> u32 {
        SyncMode::ALL.iter().position(|mode| *mode == self).unwrap_or_default() as u32
    }
}

/// What a step works on: of one thread, which nobody else touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromisedObject {
    pub thread: u32,
    /// The mode whose object it is: the removed file is that of the mode that made it.
    pub mode: SyncMode,
    pub number: u32,
}

impl PromisedObject {
    /// Its number in the sectors.
    pub fn id(self) -> u32 {
        (self.thread << 24) | (self.mode.number() << 16) | (self.number % NUMBERS)
    }

    /// Of the number in a sector.
    pub fn of_id(id: u32) -> Option<PromisedObject> {
        let mode = *SyncMode::ALL.get((id >> 16 & 0xff) as usize)?;
        Some(PromisedObject { thread: id >> 24, mode, number: id & (NUMBERS - 1) })
    }

    /// Its name, relative to the directory of the run. Of a file that is renamed this is the beginning.
    pub fn path(self) -> String {
        let PromisedObject { thread, mode, number } = self;
        match mode {
            SyncMode::Create | SyncMode::Name | SyncMode::Replace | SyncMode::Rename => {
                format!("t{thread}/{}-{number}", mode.name())
            }
            SyncMode::Flush | SyncMode::Fua => "the device".into(),
            mode => format!("t{thread}/{}.dat", mode.name()),
        }
    }
}

/// One step. Its generation is its number in its thread, from 2; 1 is what was laid out before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromiseStep {
    pub mode: SyncMode,
    pub object: PromisedObject,
    pub generation: u32,
    /// Of steps that write blocks: the first, and how many; sectors in the append log.
    pub first: u64,
    pub count: u32,
}

/// The generation of what is laid out before the first step.
pub const LAID_OUT: u32 = 1;

/// The permissions that a step gives.
pub fn permissions_of(generation: u32) -> u32 {
    0o600 | (generation % 0o100)
}

/// The length that a step gives, bytes.
pub fn size_of(generation: u32) -> u64 {
    u64::from(generation % 97 + 1) * 1000
}

/// Blocks of a file that is replaced as a whole.
pub fn blocks_of(generation: u32) -> u64 {
    u64::from(generation % 3 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_its_number() {
        for mode in SyncMode::ALL {
            let object = PromisedObject { thread: 63, mode: *mode, number: 9 };
            assert_eq!(PromisedObject::of_id(object.id()), Some(object));
            assert_eq!(SyncMode::named(mode.name()), Some(*mode));
        }
        assert_eq!(PromisedObject::of_id(0xffff_ffff), None);
    }
}
