//! Every rule that the rogue file system can break is found, and named.
//!
//! One fault, one mount, one run of the groups of rules that it lies in. A fault that no rule notices is a hole in the
//! suite: the rule is added to `suites/posix/`, not the fault taken away.

use super::report::{beside, iodyno, judge, judged, tell};
use super::traces::Trace;
use std::path::Path;
use testbed::rogue::{Fault, Rogue, Terms};
use testbed::{Case, Need, Outcome};

/// A fault, and the groups of rules one of which must notice.
type Planted = (Fault, &'static [&'static str]);

const PLANTED: &[Planted] = &[
    (Fault::LongNameMissing, &["mkdir"]),
    (Fault::LongNameCut, &["mkdir"]),
    (Fault::LongNameTaken, &["mkdir"]),
    (Fault::LongestNameRefused, &["mkdir"]),
    (Fault::CaseIgnored, &["pathnames"]),
    (Fault::BytesRefused, &["pathnames"]),
    (Fault::TrailingDotCut, &["pathnames"]),
    (Fault::SymlinkTextCut, &["symlink"]),
    (Fault::SymlinkTextLimited, &["symlink"]),
    (Fault::SymlinkSizeZero, &["symlink"]),
    (Fault::LinkCopies, &["link"]),
    (Fault::LinkCountStays, &["link"]),
    (Fault::LinkKeepsChanged, &["link"]),
    (Fault::LinkKeepsParent, &["link"]),
    (Fault::UnlinkCountStays, &["unlink"]),
    (Fault::UnlinkKeepsChanged, &["unlink"]),
    (Fault::UnlinkKeepsParent, &["unlink"]),
    (Fault::UnlinkLosesData, &["unlinked", "unlink"]),
    (Fault::UnlinkIgnored, &["unlink"]),
    (Fault::MkdirKeepsParentCount, &["mkdir"]),
    (Fault::MkdirKeepsParent, &["mkdir"]),
    (Fault::MkdirDropsGroupBit, &["mkdir"]),
    (Fault::RmdirKeepsParentCount, &["rmdir", "nlink"]),
    (Fault::RmdirKeepsParent, &["rmdir"]),
    (Fault::RmdirFullIsBusy, &["rmdir"]),
    (Fault::RmdirRemovesFull, &["rmdir"]),
    (Fault::FailedRmdirTouches, &["rmdir"]),
    (Fault::CreateKeepsParent, &["open"]),
    (Fault::MknodKeepsParent, &["mkfifo"]),
    (Fault::SymlinkKeepsParent, &["symlink"]),
    (Fault::NewFileIsOld, &["mkdir"]),
    (Fault::UmaskIgnored, &["mkdir"]),
    (Fault::CreateModeFixed, &["open"]),
    (Fault::GroupNotInherited, &["mkfifo"]),
    (Fault::CreatedByRoot, &["mkdir"]),
    (Fault::FifoIsRegular, &["mkfifo"]),
    (Fault::DeviceNumberLost, &["mknod"]),
    (Fault::CharacterIsBlock, &["mknod"]),
    (Fault::ChmodKeepsChanged, &["chmod"]),
    (Fault::ChmodDropsSpecial, &["chmod"]),
    (Fault::ChmodIgnored, &["chmod"]),
    (Fault::ChownKeepsChanged, &["chown"]),
    (Fault::ChownLosesGroup, &["chown"]),
    (Fault::ChownKeepsPrivileges, &["chown"]),
    (Fault::WriteKeepsPrivileges, &["chmod"]),
    (Fault::TruncateKeepsPrivileges, &["truncate"]),
    (Fault::RenameIgnored, &["rename"]),
    (Fault::RenameKeepsOld, &["rename"]),
    (Fault::RenameChangesInode, &["rename"]),
    (Fault::RenameDropsMode, &["rename"]),
    (Fault::RenameCountStays, &["rename"]),
    (Fault::RenameKeepsReplaced, &["rename"]),
    (Fault::RenameKeepsSource, &["rename"]),
    (Fault::RenameKeepsTarget, &["rename"]),
    (Fault::RenameKeepsCounts, &["rename", "nlink"]),
    (Fault::RenameFullIsDenied, &["rename"]),
    (Fault::RenameReplacesFull, &["rename"]),
    (Fault::RenameNotAtomic, &["rename"]),
    (Fault::RenameTouchesModified, &["rename"]),
    (Fault::RenameLosesAttributes, &["xattr"]),
    (Fault::ExchangeLosesOne, &["renameat2"]),
    (Fault::ExchangeMoves, &["renameat2"]),
    (Fault::FailedRenameTouches, &["rename"]),
    (Fault::ReaddirMisses, &["readdir"]),
    (Fault::ReaddirTwice, &["readdir"]),
    (Fault::ReaddirGhosts, &["readdir"]),
    (Fault::ReaddirWrongType, &["readdir"]),
    (Fault::ReaddirCounts, &["readdir"]),
    (Fault::TruncateKeepsModified, &["truncate"]),
    (Fault::TruncateUncovers, &["truncate"]),
    (Fault::TruncateGrowsNothing, &["truncate"]),
    (Fault::OpenTruncateIgnored, &["open"]),
    (Fault::WriteKeepsModified, &["times"]),
    (Fault::WriteCut, &["io", "fallocate", "copy"]),
    (Fault::AppendOverwrites, &["append"]),
    (Fault::HoleHoldsGarbage, &["seek", "large", "truncate"]),
    (Fault::AllocateKeepsSize, &["posix_fallocate"]),
    (Fault::KeepSizeGrows, &["fallocate"]),
    (Fault::AllocateClears, &["posix_fallocate"]),
    (Fault::PunchKeepsData, &["fallocate"]),
    (Fault::PunchTruncates, &["fallocate"]),
    (Fault::ZeroKeepsData, &["fallocate"]),
    (Fault::SeekSkipsData, &["seek"]),
    (Fault::SeekPastEnd, &["seek"]),
    (Fault::CopyForgets, &["copy"]),
    (Fault::MappedWritesLost, &["mmap"]),
    (Fault::BlocksZero, &["fallocate"]),
    (Fault::SizeRounded, &["truncate"]),
    (Fault::DirectorySyncRefused, &["sync"]),
    (Fault::SpaceConstant, &["statvfs"]),
    (Fault::NameLimitLies, &["statvfs", "pathnames"]),
    (Fault::AccessTimeStays, &["times"]),
    (Fault::ReadTouchesModified, &["times"]),
    (Fault::NanosecondsCut, &["utimensat"]),
    (Fault::OmitIgnored, &["utimensat"]),
    (Fault::TimesSwapped, &["utimensat"]),
    (Fault::UtimensKeepsChanged, &["utimensat"]),
    (Fault::TimesBefore1970, &["utimensat"]),
    (Fault::TimesAfter2038, &["utimensat"]),
    (Fault::AttributeCreateReplaces, &["xattr"]),
    (Fault::AttributeReplaceCreates, &["xattr"]),
    (Fault::AttributeListShort, &["xattr"]),
    (Fault::AttributeRemoveSilent, &["xattr"]),
    (Fault::AttributeValueCut, &["xattr"]),
    (Fault::AttributeKeepsChanged, &["xattr"]),
    (Fault::AttributeRangeIgnored, &["xattr"]),
    (Fault::DefaultAclIgnored, &["acl"]),
    (Fault::AclKeepsMode, &["acl"]),
    (Fault::ChmodKeepsAcl, &["acl"]),
    (Fault::ImmutableIgnored, &["flags", "unlink"]),
    (Fault::AppendOnlyIgnored, &["flags", "unlink"]),
    (Fault::LockAlwaysGranted, &["locks"]),
    (Fault::LockOutlivesClose, &["locks"]),
    (Fault::LockHolderHidden, &["locks"]),
    (Fault::LockWholeFile, &["locks"]),
    (Fault::FlockAlwaysGranted, &["locks"]),
    (Fault::ClassesNotExclusive, &["open"]),
    (Fault::GroupsIgnored, &["open"]),
    (Fault::SearchIgnored, &["chmod"]),
    (Fault::ParentWriteIgnored, &["mkdir"]),
    (Fault::StickyIgnored, &["unlink"]),
    (Fault::OpenUnchecked, &["open"]),
    (Fault::TruncateUnchecked, &["truncate"]),
    (Fault::ChmodByAnyone, &["chmod"]),
    (Fault::ChownByAnyone, &["chown"]),
    (Fault::TimesByAnyone, &["utimensat"]),
    (Fault::DeniedIsEperm, &["mkdir"]),
    (Fault::NotOwnerIsEacces, &["chmod"]),
    (Fault::GroupBitStays, &["chmod"]),
    (Fault::FailedChmodTouches, &["chmod"]),
];

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Fuse];
    let mut cases = vec![
        Case::new("without_a_fault_nothing_is_found", &needs, faultless),
        Case::new("without_a_fault_nothing_is_found_where_it_judges_itself", &needs, faultless_judge),
        Case::new("every_fault_is_planted", &[], every_fault_is_planted),
    ];
    for (fault, groups) in PLANTED {
        let name = format!("finds_{}", fault.name().replace('-', "_"));
        cases.push(Case::new(name, &needs, move || finds(*fault, groups)));
    }
    cases
}

/// A profile of ours, beside this file.
fn profile(name: &str) -> String {
    beside(name).display().to_string()
}

fn whole(directory: &Path, profile_name: &str, what: &str) -> Outcome {
    let mut command = iodyno(["posix", "--profile", &profile(profile_name)]);
    command.arg(directory);
    let trace = Trace::of(&mut command, directory);
    judged(command).is_clean(what);
    trace.vanishes(what);
    Ok(())
}

fn faultless() -> Outcome {
    let rogue = Rogue::mount(None)?;
    whole(rogue.path(), "rogue.toml", "FUSE without a fault")
}

fn faultless_judge() -> Outcome {
    let rogue = Rogue::with(Terms { judges: true, ..Terms::default() })?;
    whole(rogue.path(), "rogue-judging.toml", "FUSE without a fault, judging")
}

fn every_fault_is_planted() -> Outcome {
    for fault in Fault::ALL {
        let count = PLANTED.iter().filter(|(planted, _)| planted == fault).count();
        assert_eq!(count, 1, "{}", fault.name());
    }
    assert!(PLANTED.len() >= 60);
    Ok(())
}

/// The fault is noticed, and a rule of a group that it lies in is named.
fn finds(fault: Fault, groups: &[&str]) -> Outcome {
    let rogue = Rogue::mount(Some(fault))?;
    let profile = profile(if fault.judges() { "rogue-judging.toml" } else { "rogue.toml" });
    let mut arguments = vec!["--profile", &profile];
    groups.iter().for_each(|group| arguments.extend(["--only", group]));
    let report = judge(rogue.path(), &arguments);
    let failed = report.failed();
    let named = failed.iter().find(|rule| groups.iter().any(|group| rule.split('/').next() == Some(group)));
    let Some(rule) = named else {
        return Err(format!("not found: {}\n{}", fault.text(), tell(&report.said)).into());
    };
    assert_eq!(report.status, 1, "{}", tell(&report.said));
    eprintln!("{}: {rule} and {} others", fault.name(), failed.len() - 1);
    Ok(())
}
