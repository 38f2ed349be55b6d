//! Workers of one design that differ from each other: which are alike, and what all of them do at the same time.
//!
//! IOMeter gives each worker its targets, its load and its list of access specifications; the first of all lists run together, then
//! the second ones. A worker whose list is at its end, or says `Idle`, waits. It refuses names that are no specification.

use iodyno_model::{Diagnostic, Origin};
use serde::{Deserialize, Serialize};

use super::{Design, Specification, TARGETS_MOST, WORKERS_MOST};

/// What a worker does that waits while the others work.
pub const IDLE: &str = "Idle";
/// Groups of workers at most.
const GROUPS_MOST: usize = 64;

/// Workers beside the first ones, alike among themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OtherWorkers {
    pub workers: u32,
    /// Paths; empty: those of the first workers.
    pub targets: Vec<String>,
    /// Outstanding operations of each of them on each of its targets.
    pub depth: u32,
    /// Sectors of each target that are touched; 0: all.
    pub sectors: u64,
    pub first_sector: u64,
    /// What is written, as in a design.
    pub content: u8,
    /// What they do, by name and in this order; empty: every specification that is ticked.
    pub does: Vec<String>,
}

impl Default for OtherWorkers {
    fn default() -> Self {
        OtherWorkers {
            workers: 1,
            targets: Vec::new(),
            depth: 1,
            sectors: 0,
            first_sector: 0,
            content: 1,
            does: Vec::new(),
        }
    }
}

/// Workers that are alike, with all that they do.
#[derive(Clone, Debug, PartialEq)]
pub struct AlikeWorkers<'a> {
    /// From 1.
    pub number: usize,
    pub workers: u32,
    pub targets: &'a [String],
    pub depth: u32,
    pub sectors: u64,
    pub first_sector: u64,
    pub content: u8,
    /// What they do, by name.
    pub names: Vec<&'a str>,
}

/// Workers with what they do in one step.
pub type WorkersAtWork<'a> = (AlikeWorkers<'a>, &'a Specification);

impl Design {
    /// All workers, those that are alike together; the first ones first.
    pub fn groups(&self) -> Vec<AlikeWorkers<'_>> {
        let first = AlikeWorkers {
            number: 1,
            workers: self.workers,
            targets: &self.targets,
            depth: self.depth,
            sectors: self.sectors,
            first_sector: self.first_sector,
            content: self.content,
            names: self.names_of(&self.does),
        };
        let others = self.others.iter().enumerate().map(|(index, other)| AlikeWorkers {
            number: index + 2,
            workers: other.workers,
            targets: if other.targets.is_empty() { &self.targets } else { &other.targets },
            depth: other.depth,
            sectors: other.sectors,
            first_sector: other.first_sector,
            content: other.content,
            names: self.names_of(&other.does),
        });
        std::iter::once(first).chain(others).collect()
    }

    fn names_of<'a>(&'a self, does: &'a [String]) -> Vec<&'a str> {
        match does {
            [] => self.assigned().map(|known| known.name.trim()).collect(),
            names => names.iter().map(|name| name.trim()).collect(),
        }
    }

    /// The specification of a name.
    pub fn specification(&self, name: &str) -> Option<&Specification> {
        self.specifications.iter().find(|known| known.name.trim().eq_ignore_ascii_case(name.trim()))
    }

    /// What happens together, step by step; a step in which all wait is left out.
    pub fn steps(&self) -> Vec<Vec<WorkersAtWork<'_>>> {
        let groups = self.groups();
        let count = groups.iter().map(|group| group.names.len()).max().unwrap_or(0);
        let at = |step: usize| -> Vec<WorkersAtWork<'_>> {
            let works = |group: &AlikeWorkers<'_>| self.specification(group.names.get(step)?);
            groups.iter().filter_map(|group| Some((group.clone(), works(group)?))).collect()
        };
        (0..count).map(at).filter(|step| !step.is_empty()).collect()
    }

    /// The targets of all workers, each once.
    pub fn all_targets(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for target in self.groups().iter().flat_map(|group| group.targets) {
            if !all.contains(&target.as_str()) {
                all.push(target);
            }
        }
        all
    }

    /// Whether all workers are alike and do what is ticked, so that a language that has one load at a time can say it.
    pub fn is_plain(&self) -> bool {
        self.others.is_empty() && self.does.is_empty()
    }

    /// What is wrong with the workers, each with the field that it is about.
    pub(super) fn wrong_workers(&self, refuse: &mut dyn FnMut(&str, String, &str)) {
        if self.others.len() >= GROUPS_MOST {
            refuse("workers", format!("{} kinds of workers", self.others.len() + 1), "64 at most");
        }
        let all: u64 = self.groups().iter().map(|group| u64::from(group.workers)).sum();
        if all > u64::from(WORKERS_MOST) && !self.others.is_empty() {
            refuse("workers", format!("{all} workers together"), "4096 at most");
        }
        for group in self.groups() {
            let of =
                if self.others.is_empty() { String::new() } else { format!("workers {}: ", group.number) };
            if !(1..=WORKERS_MOST).contains(&group.workers) {
                refuse("workers", format!("{of}{} workers", group.workers), "1 to 4096");
            }
            if !(1..=65_536).contains(&group.depth) {
                refuse("depth", format!("{of}{} outstanding operations", group.depth), "1 to 65536");
            }
            if group.content > 2 {
                let hint = "0 repeating bytes, 1 random once, 2 random each time";
                refuse("content", format!("{of}no such data pattern"), hint);
            }
            for name in &group.names {
                if self.specification(name).is_none() && !name.eq_ignore_ascii_case(IDLE) {
                    let hint = "the name of one in the table, or Idle";
                    refuse("does", format!("{of}`{name}`: no such access specification"), hint);
                }
            }
            self.wrong_targets(&group, &of, refuse);
        }
    }

    fn wrong_targets(&self, group: &AlikeWorkers<'_>, of: &str, refuse: &mut dyn FnMut(&str, String, &str)) {
        // Those of the first workers are told once.
        if group.number > 1 && self.others[group.number - 2].targets.is_empty() {
            return;
        }
        let count = group.targets.len();
        if count > TARGETS_MOST {
            refuse("targets", format!("{of}{count} targets"), "256 at most");
        }
        for (index, target) in group.targets.iter().enumerate() {
            if !target.starts_with('/') {
                let hint = "e.g. /srv/data or /dev/loop0";
                refuse("targets", format!("{of}`{target}`: no path from the root"), hint);
            } else if target.chars().any(char::is_control) {
                refuse(
                    "targets",
                    format!("{of}`{}` has a line's end in it", target.escape_debug()),
                    "one line",
                );
            } else if group.targets[..index].contains(target) {
                refuse(
                    "targets",
                    format!("{of}`{target}` is there twice"),
                    "each worker works on it already",
                );
            }
        }
    }
}

/// A description of the difference, for a language that has no workers that differ.
///
/// # Errors
/// There is one.
pub(super) fn alike(design: &Design, language: &str) -> Result<(), Vec<Diagnostic>> {
    if design.is_plain() {
        return Ok(());
    }
    let message = format!("{language} has one load at a time: its workers cannot differ");
    let hint = "export it to fio or TOML, or keep the .icf";
    Err(vec![Diagnostic::error(&Origin::argument("export"), message).hint(hint)])
}
