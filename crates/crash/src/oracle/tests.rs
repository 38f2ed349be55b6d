//! The oracle against states that are spelled out: each honest one is accepted, and each broken promise is named.

use super::*;
use crate::promise::{Authority, Damage, Violation};
use crate::script::{OpenDurability, StepOperation, builtin, parse_step};
use std::collections::BTreeMap;

fn steps(lines: &[&str]) -> Vec<StepOperation> {
    lines.iter().map(|line| parse_step(line).unwrap()).collect()
}

/// Numbers of inodes that are the model's own, for as many inodes.
fn numbers() -> InodeNumbers {
    (0..100).map(|number| (number, u64::from(number) + 1000)).collect()
}

/// What a clean unmount leaves.
pub(crate) fn unmounted(model: &ModelTree, number: u32) -> FoundNode {
    let inode = model.inode(number);
    let body = match &inode.kind {
        ModelKind::File => {
            let mut bytes = vec![0; inode.size.current as usize];
            for (start, end, range) in inode.bytes.below(inode.size.current) {
                let end = end.min(inode.size.current);
                range.current.fill(start, &mut bytes[start as usize..end as usize]);
            }
            FoundBody::File(FoundBytes { size: inode.size.current, bytes })
        }
        ModelKind::Symlink(target) => FoundBody::Symlink(target.clone()),
        ModelKind::Directory(entries) => {
            let children = entries
                .iter()
                .filter_map(|(name, entry)| Some((name.clone(), unmounted(model, entry.current?))));
            FoundBody::Directory(children.collect())
        }
    };
    let xattrs = inode.xattrs.iter().filter_map(|(name, value)| Some((name.clone(), value.current.clone()?)));
    FoundNode { inode: u64::from(number) + 1000, mode: inode.mode.current, xattrs: xattrs.collect(), body }
}

/// A workload at one moment, on a file system whose practice is known.
struct Case {
    prepare: Vec<StepOperation>,
    steps: Vec<StepOperation>,
    practice: MountPractice,
}

impl Case {
    fn new(prepare: &[&str], lines: &[&str]) -> Case {
        Case {
            prepare: steps(prepare),
            steps: steps(lines),
            practice: MountPractice::of("ext4", "rw,relatime"),
        }
    }

    /// The model after so many steps, and those in flight.
    fn model(&self, ended: usize, begun: usize) -> ModelTree {
        let mut model = ModelTree::new(self.practice.clone());
        self.prepare.iter().for_each(|step| model.apply(step).unwrap());
        model.keep_prepared();
        for (number, step) in self.steps.iter().enumerate().take(begun) {
            let apply = if number < ended { ModelTree::apply_step } else { ModelTree::begin_step };
            apply(&mut model, number as u32, step).unwrap();
        }
        model
    }

    /// The tree as it was after so many steps.
    fn tree(&self, ended: usize) -> FoundNode {
        unmounted(&self.model(ended, ended), 0)
    }

    fn judged(&self, ended: usize, begun: usize, found: &FoundNode) -> Vec<Violation> {
        let step = |number: u32| self.steps[number as usize].to_string();
        judge_found(&self.model(ended, begun), &numbers(), &step, found)
    }

    /// The one violation after all steps.
    fn broken(&self, found: &FoundNode) -> Violation {
        let mut violations = self.judged(self.steps.len(), self.steps.len(), found);
        assert_eq!(violations.len(), 1, "{violations:#?}");
        violations.remove(0)
    }

    fn is_accepted(&self, found: &FoundNode) -> bool {
        let violations = self.judged(self.steps.len(), self.steps.len(), found);
        violations.iter().for_each(|violation| println!("{violation:?}"));
        violations.is_empty()
    }
}

fn at<'a>(found: &'a mut FoundNode, path: &str) -> &'a mut FoundNode {
    path.split('/').fold(found, |node, name| entries_of(node).get_mut(name).unwrap())
}

fn entries_of(node: &mut FoundNode) -> &mut BTreeMap<String, FoundNode> {
    match &mut node.body {
        FoundBody::Directory(entries) => entries,
        _ => panic!("no directory"),
    }
}

fn bytes_of(node: &mut FoundNode) -> &mut FoundBytes {
    match &mut node.body {
        FoundBody::File(bytes) => bytes,
        _ => panic!("no file"),
    }
}

fn cut(found: &mut FoundNode, path: &str, size: usize) {
    let file = bytes_of(at(found, path));
    file.bytes.truncate(size);
    file.size = size as u64;
}

fn is_persistence(step: &StepOperation) -> bool {
    use StepOperation as S;
    match step {
        S::Fsync { .. } | S::Fdatasync { .. } | S::FsyncDirectory { .. } | S::Msync { .. } => true,
        S::Append { durability, .. } | S::Overwrite { durability, .. } => *durability != OpenDurability::None,
        S::Sync | S::Syncfs | S::Promise { .. } => true,
        _ => false,
    }
}

#[test]
fn a_file_system_that_commits_all_at_each_persistence_point_is_never_blamed() {
    let mut judged = 0;
    for workload in builtin().unwrap() {
        let case = Case {
            prepare: workload.prepare,
            steps: workload.steps,
            practice: MountPractice::of("xfs", "rw"),
        };
        for begun in 0..=case.steps.len() {
            for ended in [begun.saturating_sub(1), begun] {
                let floor = case.steps[..ended].iter().rposition(is_persistence).map_or(0, |step| step + 1);
                for state in floor..=begun {
                    let violations = case.judged(ended, begun, &case.tree(state));
                    assert!(
                        violations.is_empty(),
                        "{}: {ended} of {begun}, state {state}: {violations:#?}",
                        workload.name
                    );
                    judged += 1;
                }
            }
        }
    }
    assert!(judged > 1000, "{judged}");
}

#[test]
fn data_and_size_after_fsync() {
    let case = Case::new(&[], &["create x", "append x 8k", "fsync x"]);
    let mut short = case.tree(3);
    cut(&mut short, "x", 4096);
    let violation = case.broken(&short);
    assert_eq!((violation.authority, violation.damage), (Authority::Posix, Damage::WrongSize));
    assert_eq!(violation.found, "4096 bytes instead of 8192");
    assert_eq!(violation.promise, "data, size and attributes of a file after its fsync (step 2, fsync x)");

    let mut zeroed = case.tree(3);
    bytes_of(at(&mut zeroed, "x")).bytes[4096..].fill(0);
    let violation = case.broken(&zeroed);
    assert_eq!(
        (violation.damage, violation.found.as_str()),
        (Damage::Zeroed, "bytes 4096 to 8192: zeroes instead of write 1")
    );

    let mut garbage = case.tree(3);
    bytes_of(at(&mut garbage, "x")).bytes[512..600].fill(7);
    assert_eq!(case.broken(&garbage).damage, Damage::Garbage);

    let mut misdirected = case.tree(3);
    bytes_of(at(&mut misdirected, "x")).bytes.copy_within(0..512, 1024);
    let violation = case.broken(&misdirected);
    assert_eq!(violation.found, "bytes 1024 to 1536: misdirected: write 1 of file 1 for offset 0");
}

#[test]
fn bytes_that_were_promised_stay_so_while_a_file_is_cut_unsynced() {
    let case = Case::new(&["create x"], &["append x 16k", "fsync x", "truncate x 3000"]);
    let mut found = case.tree(2);
    bytes_of(at(&mut found, "x")).bytes[8192..8704].fill(3);
    let violation = case.broken(&found);
    assert_eq!((violation.authority, violation.damage), (Authority::Posix, Damage::Garbage));
    let short = Case::new(&["create x"], &["append x 4k", "fsync x", "append x 4k"]);
    let mut found = short.tree(3);
    bytes_of(at(&mut found, "x")).bytes[4096..].fill(3);
    assert_eq!(short.broken(&found).authority, Authority::Linux);
}

#[test]
fn fdatasync_promises_the_size_too_and_no_attributes() {
    let case = Case::new(&["create x"], &["append x 8k", "chmod x 0640", "fdatasync x"]);
    let mut found = case.tree(3);
    cut(&mut found, "x", 0);
    assert_eq!(case.broken(&found).damage, Damage::WrongSize);
    let mut found = case.tree(3);
    at(&mut found, "x").mode = 0o600;
    assert!(case.is_accepted(&found));
    let case = Case::new(&["create x"], &["chmod x 0640", "fsync x"]);
    let violation = case.broken(&case.tree(0));
    assert_eq!((violation.authority, violation.damage), (Authority::Posix, Damage::WrongAttribute));
}

#[test]
fn pages_that_are_promised_whole_are_old_or_new() {
    let case = Case::new(&["create x", "append x 8k"], &["promise-pages x", "overwrite x 0 8k"]);
    let (mut old, mut found) = (case.tree(1), case.tree(2));
    let (old, new) = (bytes_of(at(&mut old, "x")), bytes_of(at(&mut found, "x")));
    new.bytes[4096..].copy_from_slice(&old.bytes[4096..]);
    assert!(case.is_accepted(&found), "the first page is new, the second one old");
    bytes_of(at(&mut found, "x")).bytes[..1024].copy_from_slice(&old.bytes[..1024]);
    let violation = case.broken(&found);
    assert_eq!((violation.authority, violation.damage), (Authority::Application, Damage::Torn));
    assert_eq!(violation.found, "page 0: parts of write 1, write 2");
    let unpromised = Case::new(&["create x", "append x 8k"], &["overwrite x 0 8k"]);
    assert!(unpromised.judged(1, 1, &found).is_empty(), "nobody promised it");
}

#[test]
fn old_and_torn_writes_are_told_apart() {
    let case = Case::new(&["create x", "append x 4k"], &["overwrite x 0 4k", "fdatasync x"]);
    let violation = case.broken(&case.tree(0));
    assert_eq!(
        (violation.damage, violation.found.as_str()),
        (Damage::Stale, "bytes 0 to 4096: write 1 instead of write 2")
    );
    let (mut torn, mut old) = (case.tree(2), case.tree(0));
    bytes_of(at(&mut torn, "x")).bytes[256..512]
        .copy_from_slice(&bytes_of(at(&mut old, "x")).bytes[256..512]);
    let violation = case.broken(&torn);
    assert_eq!(
        (violation.damage, violation.found.as_str()),
        (Damage::Torn, "bytes 0 to 512: pieces of several writes instead of write 2")
    );
}

#[test]
fn what_nobody_synced_may_be_old_new_or_zero_in_any_mixture() {
    let case = Case::new(&["create x", "append x 4k"], &["overwrite x 0 4k", "append x 8k"]);
    let mut found = case.tree(2);
    let mut old = case.tree(0);
    bytes_of(at(&mut found, "x")).bytes[512..2048]
        .copy_from_slice(&bytes_of(at(&mut old, "x")).bytes[512..2048]);
    bytes_of(at(&mut found, "x")).bytes[5632..6144].fill(0);
    bytes_of(at(&mut found, "x")).bytes[6656..7168].fill(0);
    cut(&mut found, "x", 11_000);
    assert!(case.is_accepted(&found));
    let mut foreign = case.tree(2);
    bytes_of(at(&mut foreign, "x")).bytes[8192..8704].fill(9);
    let violation = case.broken(&foreign);
    assert_eq!((violation.authority, violation.damage), (Authority::Linux, Damage::Garbage));
    let writeback = Case { practice: MountPractice::of("ext4", "rw,data=writeback"), ..case };
    assert!(writeback.is_accepted(&foreign));
}

#[test]
fn without_ordered_data_a_file_whose_removal_is_unsynced_may_hold_what_others_wrote() {
    let case = Case::new(&["create x", "append x 8k"], &["unlink x", "create y", "append y 8k", "fsync y"]);
    let mut found = case.tree(0);
    let new = at(&mut case.tree(4), "y").clone();
    bytes_of(at(&mut found, "x")).bytes.copy_from_slice(&bytes_of(&mut new.clone()).bytes);
    entries_of(&mut found).insert("y".into(), new);
    assert_eq!(case.judged(4, 4, &found)[0].damage, Damage::Garbage);
    let writeback = Case { practice: MountPractice::of("ext4", "rw,data=writeback"), ..case };
    assert!(writeback.is_accepted(&found));
    let kept = Case::new(&["create x", "append x 8k"], &["create y", "append y 8k", "fsync y"]);
    let kept = Case { practice: MountPractice::of("ext4", "rw,data=writeback"), ..kept };
    assert_eq!(kept.broken(&found).damage, Damage::Garbage);
}

#[test]
fn a_write_through_o_dsync_promises_its_own_range_alone() {
    let case = Case::new(&["create x", "append x 16k"], &["overwrite x 0 4k", "overwrite x 8k 4k dsync"]);
    assert!(case.is_accepted(&case.tree(2)));
    let (mut found, mut old) = (case.tree(2), case.tree(0));
    bytes_of(at(&mut found, "x")).bytes[..4096].copy_from_slice(&bytes_of(at(&mut old, "x")).bytes[..4096]);
    assert!(case.is_accepted(&found));
    let violation = case.broken(&old);
    assert_eq!(
        (violation.damage, violation.source.as_str()),
        (Damage::Stale, "POSIX.1-2024 open(), O_DSYNC")
    );
    let grown = Case::new(&["create x"], &["append x 4k rwf-dsync"]);
    let violation = grown.broken(&grown.tree(0));
    assert_eq!((violation.authority, violation.damage), (Authority::Linux, Damage::WrongSize));
}

#[test]
fn msync_promises_its_range_and_sync_file_range_nothing() {
    let case = Case::new(&["create x", "append x 8k"], &["mmap-write x 0 8k", "msync x 0 4k"]);
    assert_eq!(case.broken(&case.tree(0)).found, "bytes 0 to 4096: write 1 instead of write 2");
    let case = Case::new(&["create x", "append x 8k"], &["overwrite x 0 8k", "sync-file-range x 0 8k"]);
    assert!(case.is_accepted(&case.tree(0)));
}

#[test]
fn a_step_in_flight_may_have_happened_and_promises_nothing() {
    let case = Case::new(&["create x", "append x 4k"], &["truncate x 0", "fsync x"]);
    assert!(case.judged(1, 2, &case.tree(0)).is_empty());
    assert!(case.judged(0, 1, &case.tree(1)).is_empty());
    assert!(!case.judged(0, 0, &case.tree(1)).is_empty());
    assert!(!case.judged(2, 2, &case.tree(0)).is_empty());
}

#[test]
fn entries_after_fsync_of_the_directory() {
    let case = Case::new(&["mkdir a", "create a/x"], &["create a/y", "unlink a/x", "fsync-dir a"]);
    let mut lost = case.tree(3);
    entries_of(at(&mut lost, "a")).remove("y");
    let violation = case.broken(&lost);
    assert_eq!(
        (violation.authority, violation.damage, violation.path.as_str()),
        (Authority::Posix, Damage::Lost, "a/y")
    );
    let (mut back, mut old) = (case.tree(3), case.tree(0));
    let removed = at(&mut old, "a/x").clone();
    entries_of(at(&mut back, "a")).insert("x".into(), removed);
    let violation = case.broken(&back);
    assert_eq!((violation.damage, violation.path.as_str()), (Damage::Resurrected, "a/x"));
}

#[test]
fn a_name_whose_removal_nobody_synced_may_be_back() {
    let case = Case::new(&["mkdir a", "create a/x"], &["unlink a/x", "rmdir a"]);
    assert!(case.is_accepted(&case.tree(0)));
    assert!(case.is_accepted(&case.tree(1)));
}

#[test]
fn the_name_of_a_new_file_after_its_fsync_is_linux_practice() {
    let case = Case::new(&[], &["mkdir a", "create a/x", "append a/x 4k", "fsync a/x"]);
    let mut found = case.tree(4);
    entries_of(at(&mut found, "a")).clear();
    let violation = case.broken(&found);
    assert_eq!(
        (violation.authority, violation.damage, violation.path.as_str()),
        (Authority::Linux, Damage::Lost, "a/x")
    );
    entries_of(&mut found).clear();
    assert_eq!(case.broken(&found).path, "a");
}

#[test]
fn rename_leaves_the_old_file_or_the_new_one() {
    let lines = ["create n", "append n 8k", "fsync n", "rename n x"];
    let case = Case::new(&["create x", "append x 4k"], &lines);
    assert!(case.is_accepted(&case.tree(4)));
    assert!(case.is_accepted(&case.tree(3)));
    let mut neither = case.tree(4);
    entries_of(&mut neither).remove("x");
    let violation = case.judged(4, 4, &neither).remove(0);
    assert_eq!((violation.damage, violation.path.as_str()), (Damage::Lost, "x"));
    let (mut both, mut before) = (case.tree(4), case.tree(3));
    let new = at(&mut before, "n").clone();
    entries_of(&mut both).insert("n".into(), new);
    let violation = case.broken(&both);
    assert_eq!((violation.authority, violation.damage), (Authority::Linux, Damage::Resurrected));
    assert_eq!((violation.path.as_str(), violation.found.as_str()), ("n and x", "one file under 2 names"));
    let mut replaced = case.tree(3);
    entries_of(&mut replaced).remove("n");
    let violation = case.broken(&replaced);
    assert_eq!((violation.damage, violation.path.as_str()), (Damage::Lost, "n or x"));
}

#[test]
fn btrfs_may_leave_both_names_of_a_rename_between_directories() {
    let case =
        Case::new(&["mkdir a", "mkdir b", "create a/x", "create a/y"], &["rename a/x b/x", "fsync-dir b"]);
    let mut both = case.tree(2);
    let file = at(&mut both, "b/x").clone();
    entries_of(at(&mut both, "a")).insert("x".into(), file.clone());
    assert_eq!(case.broken(&both).damage, Damage::Resurrected);
    let btrfs = Case { practice: MountPractice::of("btrfs", "rw"), ..case };
    assert!(btrfs.is_accepted(&both));
    entries_of(at(&mut both, "a")).insert("y".into(), file);
    assert!(!btrfs.is_accepted(&both));
}

#[test]
fn fsync_of_a_renamed_file_keeps_its_names_where_that_is_practice() {
    let case = Case::new(&["mkdir a", "mkdir b", "create a/x"], &["rename a/x b/x", "fsync b/x"]);
    let violation = case.judged(2, 2, &case.tree(0)).remove(0);
    assert_eq!(violation.authority, Authority::Linux);
    let elsewhere = Case { practice: MountPractice::of("vfat", "rw"), ..case };
    assert!(elsewhere.is_accepted(&elsewhere.tree(0)));
}

#[test]
fn directories_that_were_in_each_other_are_judged() {
    let lines = ["rename a b/a", "rename b/a a", "rename b a/b"];
    let case = Case::new(&["mkdir a", "mkdir b", "create a/x", "create b/y"], &lines);
    assert!((0..=3).all(|state| case.is_accepted(&case.tree(state))));
    let mut found = case.tree(0);
    entries_of(&mut found).remove("b");
    let violation = case.judged(3, 3, &found).remove(0);
    assert_eq!((violation.damage, violation.path.as_str()), (Damage::Lost, "b or a/b"));
}

#[test]
fn an_exchange_and_a_link_keep_both_files() {
    let case = Case::new(&["create x", "create y"], &["exchange x y"]);
    assert!(case.is_accepted(&case.tree(0)) && case.is_accepted(&case.tree(1)));
    let mut found = case.tree(1);
    let twin = at(&mut found, "x").clone();
    entries_of(&mut found).insert("y".into(), twin);
    assert!(!case.judged(1, 1, &found).is_empty());
    let case = Case::new(&["create x"], &["link x y"]);
    assert!(case.is_accepted(&case.tree(0)) && case.is_accepted(&case.tree(1)));
}

#[test]
fn collapsed_and_inserted_ranges_carry_their_bytes_with_them() {
    let case = Case::new(
        &["create x", "append x 32k"],
        &[
            "fallocate x collapse 4k 8k",
            "fsync x",
            "fallocate x insert 4k 4k",
            "fsync x",
            "fallocate x punch 0 4k",
        ],
    );
    let mut found = case.tree(4);
    assert_eq!(bytes_of(at(&mut found, "x")).size, 28 << 10);
    let stamp = crate::stamp::BlockStamp::read(&bytes_of(at(&mut found, "x")).bytes[8192..8704]).unwrap();
    assert_eq!(stamp.offset, 12 << 10);
    assert!(case.is_accepted(&found) && case.is_accepted(&case.tree(5)));
    assert!(!case.is_accepted(&case.tree(2)));
    assert!(!case.is_accepted(&case.tree(0)));
}

#[test]
fn options_that_take_a_promise_away_are_named() {
    let case = Case::new(&[], &["create x", "append x 8k", "fsync x"]);
    let case = Case { practice: MountPractice::of("ext4", "rw,nobarrier"), ..case };
    let violation = case.broken(&case.tree(0));
    assert_eq!(
        (violation.authority, violation.source.as_str()),
        (Authority::MountOption, "ext4(5), barrier")
    );
    assert!(
        violation.promise.ends_with("(taken away by the mount option nobarrier)"),
        "{}",
        violation.promise
    );
}

#[test]
fn wrong_programs_break_their_own_promise_alone() {
    for workload in builtin().unwrap().into_iter().filter(|workload| workload.wrong.is_some()) {
        let case = Case {
            prepare: workload.prepare,
            steps: workload.steps,
            practice: MountPractice::of("ext4", ""),
        };
        let promised =
            case.steps.iter().rposition(|step| matches!(step, StepOperation::Promise { .. })).unwrap() + 1;
        // All that nobody synced is gone.
        let asked =
            |step: &StepOperation| is_persistence(step) && !matches!(step, StepOperation::Promise { .. });
        let floor = case.steps[..promised].iter().rposition(asked).map_or(0, |step| step + 1);
        let violations = case.judged(promised, promised, &case.tree(floor));
        assert!(!violations.is_empty(), "{}", workload.name);
        assert!(
            violations.iter().all(|violation| violation.authority == Authority::Application),
            "{violations:#?}"
        );
    }
}
