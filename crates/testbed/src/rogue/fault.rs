//! The rules that this file system can be told to break, one at a time.
//!
//! Each has a sentence that says what then happens. It refuses to say who must notice: that is for the tests.

/// Makes the faults, their names on the command line and their sentences out of one table.
macro_rules! faults {
    ($($fault:ident $name:literal $text:literal)*) => {
        /// A rule that is broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = $text] $fault,)*
        }

        impl Fault {
            pub const ALL: &[Fault] = &[$(Fault::$fault),*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name),* }
            }

            /// What it breaks, in one sentence.
            pub fn text(self) -> &'static str {
                match self { $(Fault::$fault => $text),* }
            }
        }
    };
}

faults! {
    LongNameMissing "long-name-missing" "A name beyond NAME_MAX is said to be missing: ENOENT for ENAMETOOLONG."
    LongNameCut "long-name-cut" "A name beyond NAME_MAX is cut to NAME_MAX bytes."
    LongNameTaken "long-name-taken" "Names beyond NAME_MAX are accepted."
    LongestNameRefused "longest-name-refused" "A name of exactly NAME_MAX bytes is refused with ENAMETOOLONG."
    CaseIgnored "case-ignored" "Names that differ in the case of letters alone are the same name."
    BytesRefused "bytes-refused" "Names that are no UTF-8 are refused with EILSEQ."
    TrailingDotCut "trailing-dot-cut" "A dot at the end of a name is dropped."

    SymlinkTextCut "symlink-text-cut" "The text of a symbolic link loses its last byte."
    SymlinkTextLimited "symlink-text-limited" "The text of a symbolic link may have 255 bytes and no more."
    SymlinkSizeZero "symlink-size-zero" "The size of a symbolic link is 0."
    LinkCopies "link-copies" "A hard link is a copy: another file with the same content."
    LinkCountStays "link-count-stays" "link does not raise the number of links."
    LinkKeepsChanged "link-keeps-changed" "link does not mark the file's last change."
    LinkKeepsParent "link-keeps-parent" "link does not mark the directory's last change."
    UnlinkCountStays "unlink-count-stays" "unlink does not lower the number of links."
    UnlinkKeepsChanged "unlink-keeps-changed" "unlink does not mark the file's last change."
    UnlinkKeepsParent "unlink-keeps-parent" "unlink does not mark the directory's last change."
    UnlinkLosesData "unlink-loses-data" "A file that is unlinked while open is empty from then on."
    UnlinkIgnored "unlink-ignored" "unlink of a fifo succeeds and does nothing."

    MkdirKeepsParentCount "mkdir-keeps-parent-count" "mkdir does not raise the parent's number of links."
    MkdirKeepsParent "mkdir-keeps-parent" "mkdir does not mark the parent's last change."
    MkdirDropsGroupBit "mkdir-drops-group-bit" "A new directory does not inherit S_ISGID."
    RmdirKeepsParentCount "rmdir-keeps-parent-count" "rmdir does not lower the parent's number of links."
    RmdirKeepsParent "rmdir-keeps-parent" "rmdir does not mark the parent's last change."
    RmdirFullIsBusy "rmdir-full-is-busy" "rmdir of a directory that is not empty fails with EBUSY."
    RmdirRemovesFull "rmdir-removes-full" "rmdir removes directories that are not empty."
    FailedRmdirTouches "failed-rmdir-touches" "rmdir that fails marks a change of the parent."

    CreateKeepsParent "create-keeps-parent" "open with O_CREAT does not mark the parent's last change."
    MknodKeepsParent "mknod-keeps-parent" "mknod and mkfifo do not mark the parent's last change."
    SymlinkKeepsParent "symlink-keeps-parent" "symlink does not mark the parent's last change."
    NewFileIsOld "new-file-is-old" "New files have times of 1970."
    UmaskIgnored "umask-ignored" "The file mode creation mask is ignored."
    CreateModeFixed "create-mode-fixed" "Regular files are created with mode 0644, whatever was asked for."
    GroupNotInherited "group-not-inherited" "A new file in a directory with S_ISGID does not get the directory's group."
    CreatedByRoot "created-by-root" "New files belong to root."
    FifoIsRegular "fifo-is-regular" "mkfifo makes a regular file."
    DeviceNumberLost "device-number-lost" "A new device has the number 0:0."
    CharacterIsBlock "character-is-block" "mknod makes a block device where a character device is asked for."

    ChmodKeepsChanged "chmod-keeps-changed" "chmod does not mark the last change."
    ChmodDropsSpecial "chmod-drops-special" "chmod of a directory loses the set-group-id and sticky bits."
    ChmodIgnored "chmod-ignored" "chmod of a directory succeeds and does nothing."
    ChownKeepsChanged "chown-keeps-changed" "chown does not mark the last change."
    ChownLosesGroup "chown-loses-group" "chown of owner and group at once changes the owner alone."
    ChownKeepsPrivileges "chown-keeps-privileges" "chown leaves the set-user-id and set-group-id bits."
    WriteKeepsPrivileges "write-keeps-privileges" "A write leaves the set-user-id and set-group-id bits."
    TruncateKeepsPrivileges "truncate-keeps-privileges" "truncate leaves the set-user-id and set-group-id bits."

    RenameIgnored "rename-ignored" "rename succeeds and does nothing."
    RenameKeepsOld "rename-keeps-old" "rename leaves the old name where it was."
    RenameChangesInode "rename-changes-inode" "A renamed file has another serial number."
    RenameDropsMode "rename-drops-mode" "rename takes away the permission bits of group and others."
    RenameCountStays "rename-count-stays" "A file replaced by rename keeps its number of links."
    RenameKeepsReplaced "rename-keeps-replaced" "rename does not mark the last change of the file it replaces."
    RenameKeepsSource "rename-keeps-source" "rename does not mark the last change of the directory it takes from."
    RenameKeepsTarget "rename-keeps-target" "rename does not mark the last change of the directory it puts into."
    RenameKeepsCounts "rename-keeps-counts" "A directory that is moved leaves both parents' numbers of links as they were."
    RenameFullIsDenied "rename-full-is-denied" "rename over a directory that is not empty fails with EACCES."
    RenameReplacesFull "rename-replaces-full" "rename replaces directories that are not empty."
    RenameNotAtomic "rename-not-atomic" "While rename replaces a file, its name leads nowhere for a moment."
    RenameTouchesModified "rename-touches-modified" "rename marks a modification of the renamed file's data."
    RenameLosesAttributes "rename-loses-attributes" "rename loses extended attributes."
    ExchangeLosesOne "exchange-loses-one" "An exchange of two names leaves both with the same file."
    ExchangeMoves "exchange-moves" "An exchange of two names is a rename."
    FailedRenameTouches "failed-rename-touches" "rename that fails on a full directory marks a change of the parent."

    ReaddirMisses "readdir-misses" "A directory with more than one entry is listed without the last."
    ReaddirTwice "readdir-twice" "The first entry of a directory is listed twice."
    ReaddirGhosts "readdir-ghosts" "Removed entries are still listed."
    ReaddirWrongType "readdir-wrong-type" "Every entry is listed as a regular file."
    ReaddirCounts "readdir-counts" "Positions in a directory count its entries, so that removing some skips others."

    TruncateKeepsModified "truncate-keeps-modified" "truncate does not mark the last modification."
    TruncateUncovers "truncate-uncovers" "Bytes that truncate cut off are back when the file grows again."
    TruncateGrowsNothing "truncate-grows-nothing" "truncate beyond the end succeeds and does nothing."
    OpenTruncateIgnored "open-truncate-ignored" "O_TRUNC is ignored."
    WriteKeepsModified "write-keeps-modified" "write does not mark the last modification."
    WriteCut "write-cut" "Of a write longer than 4096 bytes the rest is lost, unsaid."
    AppendOverwrites "append-overwrites" "A write with O_APPEND goes to the start of the file."
    HoleHoldsGarbage "hole-holds-garbage" "A write behind the end leaves bytes that are not zero in between."
    AllocateKeepsSize "allocate-keeps-size" "posix_fallocate does not let the file grow."
    KeepSizeGrows "keep-size-grows" "FALLOC_FL_KEEP_SIZE is ignored."
    AllocateClears "allocate-clears" "posix_fallocate overwrites what is there with zeros."
    PunchKeepsData "punch-keeps-data" "FALLOC_FL_PUNCH_HOLE succeeds and does nothing."
    PunchTruncates "punch-truncates" "FALLOC_FL_PUNCH_HOLE cuts the file off."
    ZeroKeepsData "zero-keeps-data" "FALLOC_FL_ZERO_RANGE succeeds and does nothing."
    SeekSkipsData "seek-skips-data" "SEEK_DATA passes over the first data."
    SeekPastEnd "seek-past-end" "SEEK_DATA behind the end of the file succeeds."
    CopyForgets "copy-forgets" "copy_file_range writes zeros."
    MappedWritesLost "mapped-writes-lost" "What is written through a mapping does not reach the file."
    BlocksZero "blocks-zero" "Files take up no blocks, whatever they hold."
    SizeRounded "size-rounded" "The size of a file is a multiple of 512."
    DirectorySyncRefused "directory-sync-refused" "fsync of a directory fails with EINVAL."
    SpaceConstant "space-constant" "The free space never changes."
    NameLimitLies "name-limit-lies" "The longest name is said to have 100 bytes."
    AccessTimeStays "access-time-stays" "Reading does not mark the last access, even when it is older than the last change."
    ReadTouchesModified "read-touches-modified" "Reading marks the last modification."

    NanosecondsCut "nanoseconds-cut" "utimensat keeps microseconds only."
    OmitIgnored "omit-ignored" "UTIME_OMIT sets the present time."
    TimesSwapped "times-swapped" "utimensat exchanges the two times."
    UtimensKeepsChanged "utimens-keeps-changed" "utimensat does not mark the last change."
    TimesBefore1970 "times-before-1970" "Times before 1970 become 0."
    TimesAfter2038 "times-after-2038" "Times beyond 31 bits of seconds wrap."

    AttributeCreateReplaces "attribute-create-replaces" "XATTR_CREATE is ignored."
    AttributeReplaceCreates "attribute-replace-creates" "XATTR_REPLACE is ignored."
    AttributeListShort "attribute-list-short" "The last extended attribute is not listed."
    AttributeRemoveSilent "attribute-remove-silent" "Removing an extended attribute that is not there succeeds."
    AttributeValueCut "attribute-value-cut" "Values of extended attributes are cut to 64 bytes."
    AttributeKeepsChanged "attribute-keeps-changed" "setxattr does not mark the last change."
    AttributeRangeIgnored "attribute-range-ignored" "A value that does not fit the buffer is cut, for ERANGE."

    DefaultAclIgnored "default-acl-ignored" "A new file does not inherit the directory's default ACL."
    AclKeepsMode "acl-keeps-mode" "Setting an ACL does not change the permission bits."
    ChmodKeepsAcl "chmod-keeps-acl" "chmod does not change the ACL."

    ImmutableIgnored "immutable-ignored" "The immutable flag is ignored."
    AppendOnlyIgnored "append-only-ignored" "The append-only flag is ignored."

    LockAlwaysGranted "lock-always-granted" "Record locks never conflict."
    LockOutlivesClose "lock-outlives-close" "Record locks stay when the file is closed."
    LockHolderHidden "lock-holder-hidden" "F_GETLK never finds a lock."
    LockWholeFile "lock-whole-file" "A record lock covers the whole file."
    FlockAlwaysGranted "flock-always-granted" "flock never conflicts."

    ClassesNotExclusive "classes-not-exclusive" "Who is refused as the owner may still pass as one of the group or the others."
    GroupsIgnored "groups-ignored" "Supplementary groups are not looked at."
    SearchIgnored "search-ignored" "Search permission of directories is not asked for."
    ParentWriteIgnored "parent-write-ignored" "Write permission of the directory is not asked for when a name is added or removed."
    StickyIgnored "sticky-ignored" "The sticky bit of a directory is ignored."
    OpenUnchecked "open-unchecked" "open asks for no permission of the file."
    TruncateUnchecked "truncate-unchecked" "truncate asks for no permission of the file."
    ChmodByAnyone "chmod-by-anyone" "Whoever likes may chmod."
    ChownByAnyone "chown-by-anyone" "Whoever likes may chown."
    TimesByAnyone "times-by-anyone" "Whoever likes may set times."
    DeniedIsEperm "denied-is-eperm" "Missing permission is EPERM for EACCES."
    NotOwnerIsEacces "not-owner-is-eacces" "Not being the owner is EACCES for EPERM."
    GroupBitStays "group-bit-stays" "chmod by who is not in the file's group leaves S_ISGID."
    FailedChmodTouches "failed-chmod-touches" "chmod that fails marks a change of the file."
}

impl Fault {
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// Whether the file system must judge permissions itself: the kernel, asked to do it, would do it right.
    pub fn judges(self) -> bool {
        self as usize >= Fault::ClassesNotExclusive as usize
    }

    /// Whether names come, go or lead elsewhere in another way than the kernel thinks.
    pub fn moves_names(self) -> bool {
        let name = self.name();
        let begins = [
            "long-name",
            "case-",
            "bytes-",
            "trailing-",
            "link-copies",
            "unlink-",
            "rename-",
            "exchange-",
            "rmdir-",
        ];
        begins.iter().any(|begin| name.starts_with(begin))
    }

    /// Whether the file system must keep the record locks itself.
    pub fn keeps_records(self) -> bool {
        use Fault::{LockAlwaysGranted, LockHolderHidden, LockOutlivesClose, LockWholeFile};
        matches!(self, LockAlwaysGranted | LockOutlivesClose | LockHolderHidden | LockWholeFile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_a_sentence() {
        let names: HashSet<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        assert!(Fault::ALL.len() >= 60);
        for fault in Fault::ALL {
            assert!(fault.text().ends_with('.'), "{}", fault.name());
            assert_eq!(Fault::named(fault.name()), Some(*fault));
        }
    }
}
