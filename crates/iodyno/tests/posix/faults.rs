//! Every rule that the rogue file system can break is found, and named.
//!
//! One fault, one mount, one run of the groups of rules that it lies in. A fault that no rule notices is a hole in the
//! suite: the rule is added to `suites/posix/`, not the fault taken away.

use super::report::{beside, iodyno, judge, judged};
use super::traces::Trace;
use std::collections::BTreeSet;
use std::path::Path;
use testbed::rogue::{Fault, Rogue, Terms};
use testbed::sandbox::keep_to_one_processor;
use testbed::{Case, Need, Outcome};

/// Before the name of a feature that the profile says is there, and that is not.
const FEATURE: &str = "feature ";

/// A fault, and the groups or rules one of which must notice, or the feature that is missed.
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
    (Fault::LinkCopies, &["link/another-name"]),
    (Fault::LinkCountStays, &["link/another-name"]),
    (Fault::LinkKeepsChanged, &["link/times"]),
    (Fault::LinkKeepsParent, &["link/times"]),
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
    (Fault::CreateKeepsParent, &["open/times-of-new-file"]),
    (Fault::MknodKeepsParent, &["mkfifo"]),
    (Fault::SymlinkKeepsParent, &["symlink"]),
    (Fault::NewFileIsOld, &["mkdir"]),
    (Fault::UmaskIgnored, &["mkdir"]),
    (Fault::CreateModeFixed, &["open/mode-and-mask"]),
    (Fault::GroupNotInherited, &["mkfifo"]),
    (Fault::CreatedByRoot, &["mkdir"]),
    (Fault::FifoIsRegular, &["feature fifo", "mkfifo"]),
    (Fault::DeviceNumberLost, &["mknod"]),
    (Fault::CharacterIsBlock, &["feature char", "mknod"]),
    (Fault::ChmodKeepsChanged, &["chmod/*times*"]),
    (Fault::ChmodDropsSpecial, &["feature set-id-bits", "chmod"]),
    (Fault::ChmodIgnored, &["chmod"]),
    (Fault::ChownKeepsChanged, &["chown"]),
    (Fault::ChownLosesGroup, &["feature owners", "chown"]),
    (Fault::ChownKeepsPrivileges, &["chown", "security"]),
    (Fault::WriteKeepsPrivileges, &["chmod"]),
    (Fault::TruncateKeepsPrivileges, &["security"]),
    (Fault::RenameIgnored, &["rename/keeps-the-file"]),
    (Fault::RenameKeepsOld, &["rename/keeps-the-file"]),
    (Fault::RenameChangesInode, &["rename/keeps-the-file"]),
    (Fault::RenameDropsMode, &["rename/keeps-mode-bits"]),
    (Fault::RenameCountStays, &["rename/replaced-link"]),
    (Fault::RenameKeepsReplaced, &["rename/replaced-link"]),
    (Fault::RenameKeepsSource, &["rename/times-of-parents"]),
    (Fault::RenameKeepsTarget, &["rename/times-of-parents"]),
    (Fault::RenameKeepsCounts, &["rename/links-of-parents"]),
    (Fault::RenameFullIsDenied, &["rename/not-empty"]),
    (Fault::RenameReplacesFull, &["rename/not-empty"]),
    (Fault::RenameNotAtomic, &["rename"]),
    (Fault::RenameTouchesModified, &["rename/keeps-the-file"]),
    (Fault::RenameLosesAttributes, &["xattr"]),
    (Fault::ExchangeLosesOne, &["renameat2"]),
    (Fault::ExchangeMoves, &["renameat2"]),
    (Fault::FailedRenameTouches, &["rename/failure-keeps-times-of-parents"]),
    (Fault::ReaddirMisses, &["readdir"]),
    (Fault::ReaddirTwice, &["readdir"]),
    (Fault::ReaddirGhosts, &["readdir"]),
    (Fault::ReaddirWrongType, &["readdir"]),
    (Fault::ReaddirCounts, &["readdir"]),
    (Fault::TruncateKeepsModified, &["truncate"]),
    (Fault::TruncateUncovers, &["truncate"]),
    (Fault::TruncateGrowsNothing, &["truncate"]),
    (Fault::OpenTruncateIgnored, &["open/trunc*"]),
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
    (Fault::NameLimitLies, &["mkdir/name-too-long"]),
    (Fault::AccessTimeStays, &["feature atime", "times"]),
    (Fault::ReadTouchesModified, &["times"]),
    (Fault::NanosecondsCut, &["feature nanoseconds", "utimensat"]),
    (Fault::OmitIgnored, &["utimensat/omit"]),
    (Fault::TimesSwapped, &["utimensat/all-types"]),
    (Fault::UtimensKeepsChanged, &["utimensat"]),
    (Fault::TimesBefore1970, &["utimensat", "times"]),
    (Fault::TimesAfter2038, &["feature times-after-2038", "utimensat", "times"]),
    (Fault::AttributeCreateReplaces, &["xattr"]),
    (Fault::AttributeReplaceCreates, &["xattr"]),
    (Fault::AttributeListShort, &["xattr"]),
    (Fault::AttributeRemoveSilent, &["xattr"]),
    (Fault::AttributeValueCut, &["xattr"]),
    (Fault::AttributeKeepsChanged, &["xattr"]),
    (Fault::AttributeRangeIgnored, &["xattr"]),
    (Fault::DefaultAclIgnored, &["acl/inherited*"]),
    (Fault::AclKeepsMode, &["acl/mode-follows"]),
    (Fault::ChmodKeepsAcl, &["acl/chmod-sets-mask"]),
    (Fault::ImmutableIgnored, &["flags", "unlink"]),
    (Fault::AppendOnlyIgnored, &["flags", "unlink"]),
    (Fault::LockAlwaysGranted, &["locks"]),
    (Fault::LockOutlivesClose, &["locks"]),
    (Fault::LockHolderHidden, &["locks"]),
    (Fault::LockWholeFile, &["locks"]),
    (Fault::FlockAlwaysGranted, &["locks"]),
    (Fault::ClassesNotExclusive, &["open/permission*"]),
    (Fault::GroupsIgnored, &["open/permission*"]),
    (Fault::SearchIgnored, &["chmod/search-denied"]),
    (Fault::ParentWriteIgnored, &["mkdir/making-denied"]),
    (Fault::StickyIgnored, &["unlink/sticky"]),
    (Fault::OpenUnchecked, &["open/permission*"]),
    (Fault::TruncateUnchecked, &["truncate"]),
    (Fault::ChmodByAnyone, &["chmod/by-others"]),
    (Fault::ChownByAnyone, &["chown/by-others"]),
    (Fault::TimesByAnyone, &["utimensat/explicit-*"]),
    (Fault::DeniedIsEperm, &["mkdir/making-denied"]),
    (Fault::NotOwnerIsEacces, &["chmod/by-others"]),
    (Fault::GroupBitStays, &["chmod"]),
    (Fault::FailedChmodTouches, &["chmod"]),
];

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Fuse];
    let mut cases = vec![
        Case::new("without_a_fault_nothing_is_found", &needs, faultless),
        Case::new("without_a_fault_nothing_is_found_where_it_judges_itself", &needs, faultless_judge)
            .against(),
        // No fault is found in the other groups; kernels' own file systems are judged by all of them.
        Case::new("without_a_fault_nothing_at_all_is_found", &needs, faultless_whole).against(),
        Case::new(
            "without_a_fault_nothing_at_all_is_found_where_it_judges_itself",
            &needs,
            faultless_judge_whole,
        )
        .against(),
        Case::new("every_fault_is_planted", &[], every_fault_is_planted),
    ];
    for (fault, marks) in PLANTED {
        let name = format!("finds_{}", fault.name().replace('-', "_"));
        // Each is one more fault that the same checks find: continuous integration takes a sample.
        cases.push(Case::new(name, &needs, move || finds(*fault, marks)).against());
    }
    cases
}

/// A profile of ours, beside this file.
fn profile(name: &str) -> String {
    beside(name).display().to_string()
}

/// Runs the groups, all of them if none is named: nothing is found.
fn sound(directory: &Path, profile_name: &str, groups: &[&str], what: &str) -> Outcome {
    let mut command = iodyno(["posix", "--profile", &profile(profile_name)]);
    command.args(groups.iter().flat_map(|group| ["--only", group])).arg(directory);
    let trace = Trace::of(&mut command, directory);
    judged(command).is_clean(what);
    trace.vanishes(what);
    Ok(())
}

/// The groups in which faults are found.
fn groups_of(judging: bool) -> Vec<&'static str> {
    let planted = PLANTED.iter().filter(|(fault, _)| fault.judges() == judging);
    let marks = planted.flat_map(|(_, marks)| *marks).filter(|mark| !mark.starts_with(FEATURE));
    let groups: BTreeSet<&str> = marks.filter_map(|mark| mark.split('/').next()).collect();
    groups.into_iter().collect()
}

fn faultless() -> Outcome {
    let groups = groups_of(false);
    assert!(groups.len() >= 20, "{groups:?}");
    keeps_soundly(&groups)
}

fn faultless_whole() -> Outcome {
    keeps_soundly(&[])
}

fn keeps_soundly(groups: &[&str]) -> Outcome {
    keep_to_one_processor();
    let rogue = Rogue::mount(None)?;
    sound(rogue.path(), "rogue.toml", groups, "FUSE without a fault")
}

fn faultless_judge() -> Outcome {
    let groups = groups_of(true);
    assert!(groups.len() >= 6, "{groups:?}");
    judges_soundly(&groups)
}

fn faultless_judge_whole() -> Outcome {
    judges_soundly(&[])
}

fn judges_soundly(groups: &[&str]) -> Outcome {
    keep_to_one_processor();
    let rogue = Rogue::with(Terms { judges: true, ..Terms::default() })?;
    sound(rogue.path(), "rogue-judging.toml", groups, "FUSE without a fault, judging")
}

fn every_fault_is_planted() -> Outcome {
    for fault in Fault::ALL {
        let count = PLANTED.iter().filter(|(planted, _)| planted == fault).count();
        assert_eq!(count, 1, "{}", fault.name());
    }
    assert!(PLANTED.len() >= 60);
    Ok(())
}

/// The fault is noticed, and named: by a rule of a group that it lies in, or, where the faultless file system has a
/// feature and this one has not, by that.
fn finds(fault: Fault, marks: &[&str]) -> Outcome {
    // What is seen only while two calls run at once needs two processors.
    if fault != Fault::RenameNotAtomic {
        keep_to_one_processor();
    }
    let rogue = Rogue::mount(Some(fault))?;
    let profile = profile(if fault.judges() { "rogue-judging.toml" } else { "rogue.toml" });
    let mut arguments = vec!["--profile", &profile];
    let rules = marks.iter().filter(|mark| !mark.starts_with(FEATURE));
    rules.clone().for_each(|rule| arguments.extend(["--only", rule]));
    let report = judge(rogue.path(), &arguments);
    let groups: Vec<_> = rules.filter_map(|rule| rule.split('/').next()).collect();
    let failed = report.failed();
    let rule = failed.iter().find(|rule| groups.iter().any(|group| rule.split('/').next() == Some(group)));
    let missing = report.missing();
    let feature = marks.iter().filter_map(|mark| mark.strip_prefix(FEATURE));
    let feature = feature.into_iter().find(|feature| missing.contains(feature));
    let Some(found) = rule.copied().or(feature) else {
        return Err(format!("not found: {}\n{}", fault.text(), report.said).into());
    };
    assert_eq!(report.status, 1, "{}", report.said);
    eprintln!("{}: {found}; {} cases failed", fault.name(), failed.len());
    Ok(())
}
