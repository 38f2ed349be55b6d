//! What is found, held against what a crash may leave.

use super::bytes::judge_bytes;
use super::tree::joined;
use super::{Alternatives, FoundBody, FoundNode, Given, ModelInode, ModelKind, ModelTree, PromiseKind};
use crate::promise::{Damage, Violation};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Numbers of inodes as the file system gave them, by the model's.
pub type InodeNumbers = BTreeMap<u32, u64>;

/// What the model says of a state, with the names under which each of its inodes was found.
struct Judgement<'a> {
    model: &'a ModelTree,
    numbers: &'a InodeNumbers,
    /// A step in words, for "after step 3, fsync a/x".
    step: &'a dyn Fn(u32) -> String,
    names: BTreeMap<u32, Vec<String>>,
    /// Inodes that may be what was found: without their numbers, or where one was given twice, several fit.
    possible: Vec<u32>,
    violations: Vec<Violation>,
    /// Inodes that the loss of a name was reported for already.
    lost: Vec<u32>,
}

/// The promises of the model that what is found does not keep, the gravest first.
pub fn judge_found(
    model: &ModelTree,
    numbers: &InodeNumbers,
    step: &dyn Fn(u32) -> String,
    found: &FoundNode,
) -> Vec<Violation> {
    let mut judgement = Judgement {
        model,
        numbers,
        step,
        names: BTreeMap::new(),
        possible: Vec::new(),
        violations: Vec::new(),
        lost: Vec::new(),
    };
    judgement.directory("", 0, found);
    judgement.required();
    judgement.single_names();
    let judged = judgement.violations.into_iter().map(|violation| model.practice.weighed(violation));
    let mut violations: Vec<_> = judged.collect();
    violations.sort_by_key(|violation| (violation.authority, violation.damage != Damage::Lost));
    violations
}

impl Judgement<'_> {
    fn report(&mut self, given: Given, path: &str, damage: Damage, found: String) {
        let violation = violation(given, self.step, path, damage, found);
        self.violations.push(violation);
    }

    fn directory(&mut self, path: &str, number: u32, found: &FoundNode) {
        let given = Given { kind: PromiseKind::Prepared, step: None };
        let inode = self.model.inode(number);
        let ModelKind::Directory(entries) = &inode.kind else { return };
        let FoundBody::Directory(children) = &found.body else {
            let text = unreadable(found).unwrap_or_else(|| "no directory".into());
            return self.report(given, path, Damage::Unusable, text);
        };
        for (name, entry) in entries {
            self.entry(&joined(path, name), entry, children.get(name));
        }
        for (name, child) in children.iter().filter(|(name, _)| !entries.contains_key(*name)) {
            // mkfs.ext4 makes it.
            if number == 0 && name == "lost+found" {
                continue;
            }
            let text = self.described(child).unwrap_or_else(|| "a name that nobody gave".into());
            let damage = if self.number_of(child).is_some() { Damage::WrongName } else { Damage::Garbage };
            self.report(given, &joined(path, name), damage, text);
        }
    }

    /// The inode of the model that has the number of what is found; `None` where numbers say nothing.
    fn number_of(&self, found: &FoundNode) -> Option<u32> {
        let is_same =
            |(_, number): &(&u32, &u64)| self.model.practice.keeps_inode_numbers && **number == found.inode;
        self.numbers.iter().filter(is_same).map(|(model, _)| *model).next_back()
    }

    fn described(&self, found: &FoundNode) -> Option<String> {
        self.number_of(found)
            .map(|number| format!("file {number} of the workload, under a name that it never had"))
    }

    fn entry(&mut self, path: &str, entry: &Alternatives<Option<u32>>, found: Option<&FoundNode>) {
        let given = entry.promise.unwrap_or(Given { kind: PromiseKind::RenameAtomic, step: None });
        let Some(found) = found else {
            if !entry.allows(&None) {
                self.lost.extend(entry.allowed.iter().flatten());
                self.report(given, path, Damage::Lost, "no such name".into());
            }
            return;
        };
        let is_alike =
            |number: &u32| is_same_kind(self.model.inode(*number), found) && self.may_be(*number, found);
        let judged = entry.allowed.iter().flatten().filter(|number| is_alike(number));
        let judged: Vec<_> = judged.map(|number| (self.inode(path, *number, found), *number)).collect();
        let fewest = judged.iter().map(|(violations, _)| violations.len()).min();
        let mut fitting: Vec<_> =
            judged.into_iter().filter(|(violations, _)| Some(violations.len()) == fewest).collect();
        if !fitting.is_empty() {
            self.possible.extend(fitting.iter().map(|(_, number)| number));
            let is_clear = fitting.len() == 1;
            let best = fitting.iter().position(|(_, number)| entry.current == Some(*number)).unwrap_or(0);
            let (violations, number) = fitting.swap_remove(best);
            self.violations.extend(violations);
            if is_clear {
                self.names.entry(number).or_default().push(path.into());
            }
            if matches!(self.model.inode(number).kind, ModelKind::Directory(_)) {
                self.directory(path, number, found);
            }
            return;
        }
        let was_here = entry.ever.iter().flatten().any(is_alike);
        self.lost.extend(entry.allowed.iter().flatten());
        if let Some(text) = unreadable(found) {
            return self.report(given, path, Damage::Unusable, text);
        }
        match (was_here, entry.current) {
            (true, None) => self.report(given, path, Damage::Resurrected, "the name that was removed".into()),
            (true, Some(_)) => {
                self.report(given, path, Damage::Stale, "the file that had this name before".into())
            }
            (false, _) => {
                let text =
                    self.described(found).unwrap_or_else(|| "something that never had this name".into());
                self.report(given, path, Damage::WrongName, text);
            }
        }
    }

    /// Whether numbers of inodes permit that this is found.
    fn may_be(&self, number: u32, found: &FoundNode) -> bool {
        let known =
            self.numbers.get(&number).filter(|_| self.model.practice.keeps_inode_numbers && found.inode != 0);
        known.is_none_or(|known| *known == found.inode)
    }

    fn inode(&self, path: &str, number: u32, found: &FoundNode) -> Vec<Violation> {
        let inode = self.model.inode(number);
        let mut violations = Vec::new();
        let mut report =
            |given, damage, text| violations.push(violation(given, self.step, path, damage, text));
        match (&inode.kind, &found.body) {
            (ModelKind::File, FoundBody::File(bytes)) => {
                let hides_foreign = !self.model.practice.shows_foreign_bytes;
                // Blocks of a file that is gone are given to others before its removal is durable, where data are not ordered:
                // fs/ext4/mballoc.c, ext4_free_blocks. The removal may not be found, and what others wrote is.
                let is_covered = hides_foreign || self.model.names(number) > 0;
                judge_bytes(inode, bytes, is_covered, hides_foreign, &mut report);
            }
            (ModelKind::Symlink(target), FoundBody::Symlink(text)) if target != text => {
                let given = inode.required.unwrap_or(Given { kind: PromiseKind::NewName, step: None });
                report(given, Damage::Garbage, format!("a link to `{text}` instead of `{target}`"));
            }
            _ => {}
        }
        attribute("mode", &inode.mode, &found.mode, &mut report);
        for (name, value) in &inode.xattrs {
            attribute(name, value, &found.xattrs.get(name).cloned(), &mut report);
        }
        violations
    }

    /// Inodes that must be found somewhere, whichever of their names a crash leaves.
    fn required(&mut self) {
        for (number, inode) in self.model.inodes.iter().enumerate() {
            let number = number as u32;
            let Some(given) = inode.required.filter(|_| !self.possible.contains(&number)) else { continue };
            let was = self.paths(number);
            let is_reported = self.lost.contains(&number) || was.iter().any(|path| self.is_below_lost(path));
            if !is_reported {
                let given =
                    if was.len() > 1 { Given { kind: PromiseKind::RenameAtomic, ..given } } else { given };
                self.report(given, &was.join(" or "), Damage::Lost, "under none of its names".into());
            }
        }
    }

    fn is_below_lost(&self, path: &str) -> bool {
        let is_above = |violation: &Violation| {
            path.strip_prefix(&violation.path).is_some_and(|rest| rest.starts_with('/'))
        };
        self.violations.iter().any(is_above)
    }

    /// Where it may be, by the directories' paths of now: those that a crash may leave can be in each other.
    fn paths(&self, number: u32) -> Vec<String> {
        let now = self.model.paths();
        let mut paths = Vec::new();
        for directory in 0..self.model.inodes.len() as u32 {
            let above = now.iter().find(|(_, found)| *found == directory).map_or("", |(path, _)| path);
            let entries = self.model.entries_of(directory).into_iter().flatten();
            let named = entries.filter(|(_, entry)| entry.allows(&Some(number)));
            paths.extend(named.map(|(name, _)| joined(above, name)));
        }
        paths
    }

    fn single_names(&mut self) {
        let names = std::mem::take(&mut self.names);
        for (number, paths) in &names {
            let inode = self.model.inode(*number);
            if paths.len() > inode.most_names.max(1)
                && self.numbers.contains_key(number)
                && self.model.practice.keeps_inode_numbers
            {
                let given = Given {
                    kind: PromiseKind::RenameAtomic,
                    step: inode.required.and_then(|given| given.step),
                };
                self.report(
                    given,
                    &paths.join(" and "),
                    Damage::Resurrected,
                    format!("one file under {} names", paths.len()),
                );
            }
        }
    }
}

fn violation(
    given: Given,
    step: &dyn Fn(u32) -> String,
    path: &str,
    damage: Damage,
    found: String,
) -> Violation {
    let kind = given.kind;
    let after = given.step.map_or_else(String::new, |number| format!(" (step {number}, {})", step(number)));
    let path = if path.is_empty() { "." } else { path };
    Violation {
        authority: kind.authority(),
        promise: format!("{}{after}", kind.words()),
        source: kind.source().into(),
        path: path.into(),
        damage,
        found,
    }
}

fn unreadable(found: &FoundNode) -> Option<String> {
    match &found.body {
        FoundBody::Unreadable(error) => Some(format!("cannot be read: {error}")),
        _ => None,
    }
}

fn is_same_kind(inode: &ModelInode, found: &FoundNode) -> bool {
    matches!(
        (&inode.kind, &found.body),
        (ModelKind::File, FoundBody::File(_))
            | (ModelKind::Directory(_), FoundBody::Directory(_))
            | (ModelKind::Symlink(_), FoundBody::Symlink(_))
    )
}

/// Attributes that no promise covers may be anything.
fn attribute<T: Clone + PartialEq + Debug>(
    name: &str,
    value: &Alternatives<T>,
    found: &T,
    report: &mut dyn FnMut(Given, Damage, String),
) {
    if let Some(given) = value.promise
        && !value.allows(found)
    {
        report(given, Damage::WrongAttribute, format!("{name} is {found:?} instead of {:?}", value.current));
    }
}
