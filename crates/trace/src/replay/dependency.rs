//! What an operation has to wait for: what of its thread had ended when it was issued, what touched the same range or
//! the same name.
//!
//! Where completions are recorded, two operations that were in flight together wait for no one: the program that issued
//! them did not wait either. Only operations within [`WINDOW`] are named; those further back have ended.

use std::collections::HashMap;

use iodyno_model::{Kind, Verb};

use super::{EDGES_MOST, WINDOW};
use crate::{RecordFlags, Tables, TraceHeader, TraceLevel, TraceRecord};

/// Ranges are looked up by the parts of this length that they touch, bytes.
const PART_BYTES: u64 = 1 << 16;
/// A range of more parts is kept with its file and compared with all.
const PARTS_MOST: u64 = 64;

/// An operation that touched something.
#[derive(Clone, Copy, Debug)]
struct Touch {
    sequence: u64,
    /// Its range.
    from: u64,
    to: u64,
    changes: bool,
    issued_ns: u64,
    ended_ns: u64,
}

/// What touched one thing lately: what changed it, and what only used it.
#[derive(Default)]
struct Touches {
    changes: Vec<Touch>,
    uses: Vec<Touch>,
}

impl Touches {
    /// Finds those that an operation conflicts with and that had ended when it was issued.
    fn meet(&mut self, own: &Touch, list: &mut Vec<u64>) {
        let conflicts = |touch: &&Touch| touch.from < own.to && own.from < touch.to;
        let ended = |touch: &&Touch| touch.ended_ns <= own.issued_ns && touch.sequence < own.sequence;
        list.extend(self.changes.iter().filter(conflicts).filter(ended).map(|touch| touch.sequence));
        if own.changes {
            list.extend(self.uses.iter().filter(conflicts).filter(ended).map(|touch| touch.sequence));
        }
        // What a change has waited for that has ended itself need not be waited for by anything later.
        let last = self.changes.iter().filter(conflicts).filter(ended).max_by_key(|touch| touch.issued_ns);
        if let Some(last) = last.copied() {
            let settled = |touch: &Touch| {
                let covered = last.from <= touch.from && touch.to <= last.to;
                covered && touch.ended_ns <= last.issued_ns && touch.sequence != last.sequence
            };
            self.changes.retain(|touch| !settled(touch));
            self.uses.retain(|touch| !settled(touch));
        }
    }

    fn push(&mut self, own: Touch) {
        if own.changes { self.changes.push(own) } else { self.uses.push(own) }
    }

    /// Forgets what has ended for certain. Whether anything is left.
    fn is_recent(&mut self, sequence: u64) -> bool {
        let recent = |touch: &Touch| sequence - touch.sequence < u64::from(WINDOW);
        self.changes.retain(recent);
        self.uses.retain(recent);
        !self.changes.is_empty() || !self.uses.is_empty()
    }
}

/// What was touched lately.
#[derive(Default)]
pub(super) struct Dependencies {
    parts: HashMap<(u32, u64), Touches>,
    /// By file: ranges too long for parts; and all others, with which one of those is compared.
    wide: HashMap<u32, Touches>,
    narrow: HashMap<u32, Touches>,
    names: HashMap<u32, Touches>,
    threads: HashMap<u32, Touches>,
    /// The file that is the directory of a file, where it is one of the trace.
    above: Vec<Option<u32>>,
    directories: HashMap<String, u32>,
    swept: u64,
    found: Vec<u64>,
    /// Neither threads nor names matter.
    ranges_only: bool,
}

/// What an operation waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// How many operations before it; 0: none.
    pub edges: [u32; EDGES_MOST],
    /// Whether there are others, which [`Dependencies::others`] has.
    pub has_others: bool,
}

impl Dependencies {
    /// Of ranges alone.
    pub fn of_ranges() -> Dependencies {
        Dependencies { ranges_only: true, ..Dependencies::default() }
    }

    /// What a record waits for that will be the operations of these numbers, the first of which waits. What has no time of
    /// completion ends at its issue: those after it wait.
    pub fn of(
        &mut self,
        (first, sequence): (u64, u64),
        record: &TraceRecord,
        header: &TraceHeader,
        tables: &Tables,
    ) -> Waits {
        self.sweep(first);
        self.found.clear();
        let (issued_ns, ended_ns) = (record.at_ns, record.ended_ns().unwrap_or(record.at_ns));
        let touch = |from, to, changes| Touch { sequence, from, to, changes, issued_ns, ended_ns };
        if !self.ranges_only {
            let thread = self.threads.entry(record.thread).or_default();
            thread.meet(&touch(0, u64::MAX, true), &mut self.found);
            thread.push(touch(0, u64::MAX, true));
        }
        let (file, named) = (record.file, header.level == TraceLevel::File && !self.ranges_only);
        match record.verb {
            Verb::Write | Verb::WriteZeroes | Verb::Trim | Verb::Discard | Verb::Fallocate => {
                self.range(file, touch(record.offset, record.end().max(record.offset + 1), true));
            }
            Verb::Read | Verb::SyncFileRange => {
                self.range(file, touch(record.offset, record.end().max(record.offset + 1), false));
            }
            // It waits for the writes before it, and the writes after wait for it.
            Verb::Fsync | Verb::Fdatasync | Verb::Msync | Verb::Syncfs => {
                self.range(file, touch(0, u64::MAX, false));
            }
            Verb::CopyFileRange => {
                self.range(file, touch(record.offset, record.end().max(record.offset + 1), true));
            }
            // A range of 0 bytes is the whole file.
            Verb::Clone => {
                self.range(file, touch(0, u64::MAX, true));
                record.other.into_iter().for_each(|source| self.range(source, touch(0, u64::MAX, false)));
            }
            Verb::Truncate => self.range(file, touch(0, u64::MAX, true)),
            _ => {}
        }
        if named {
            self.names(record, tables, &touch);
        }
        waits(first, &mut self.found)
    }

    /// What the last operation waits for beside its edges: how many operations before it each is.
    pub fn others(&self) -> &[u64] {
        &self.found
    }

    fn range(&mut self, file: u32, own: Touch) {
        let (first, last) = (own.from / PART_BYTES, (own.to - 1) / PART_BYTES);
        if let Some(wide) = self.wide.get_mut(&file) {
            wide.meet(&own, &mut self.found);
        }
        if last - first < PARTS_MOST {
            for part in first..=last {
                let touches = self.parts.entry((file, part)).or_default();
                touches.meet(&own, &mut self.found);
                touches.push(own);
            }
            self.narrow.entry(file).or_default().push(own);
        } else {
            self.narrow.entry(file).or_default().meet(&own, &mut self.found);
            self.wide.entry(file).or_default().push(own);
        }
    }

    /// A name is made before it is used, and used before it goes; its directory is there before it.
    fn names(&mut self, record: &TraceRecord, tables: &Tables, touch: &dyn Fn(u64, u64, bool) -> Touch) {
        let alters = match record.verb {
            Verb::Create | Verb::Unlink | Verb::Mkdir | Verb::Rmdir | Verb::Rename | Verb::Symlink => true,
            Verb::Mkfifo | Verb::Mknod => true,
            Verb::Open => record.flags.has(RecordFlags::CREATED),
            _ => false,
        };
        let alters_other = matches!(record.verb, Verb::Rename | Verb::Link);
        let others = record.other.map(|other| (other, alters_other));
        for (name, changes) in std::iter::once((record.file, alters)).chain(others) {
            self.name(name, touch(0, u64::MAX, changes));
            if let Some(above) = self.above(name, tables).filter(|_| record.verb.kind() == Kind::Metadata) {
                self.name(above, touch(0, u64::MAX, false));
            }
        }
    }

    fn name(&mut self, name: u32, own: Touch) {
        let touches = self.names.entry(name).or_default();
        touches.meet(&own, &mut self.found);
        touches.push(own);
    }

    /// The directory of a file, where the trace names it.
    fn above(&mut self, file: u32, tables: &Tables) -> Option<u32> {
        while self.above.len() < tables.files.len() {
            let index = self.above.len();
            let name = super::path_below(&tables.files[index].name);
            let above = name.rsplit_once('/').and_then(|(above, _)| self.directories.get(above).copied());
            self.directories.insert(name, index as u32);
            self.above.push(above);
        }
        self.above.get(file as usize).copied().flatten()
    }

    /// Forgets what has ended for certain, now and then: memory follows the window, not the trace.
    fn sweep(&mut self, sequence: u64) {
        if sequence < self.swept + u64::from(WINDOW) {
            return;
        }
        self.swept = sequence;
        self.parts.retain(|_, touches| touches.is_recent(sequence));
        for all in [&mut self.wide, &mut self.narrow, &mut self.names, &mut self.threads] {
            all.retain(|_, touches| touches.is_recent(sequence));
        }
    }
}

/// The list as distances: the nearest become edges, the others stay in the list.
fn waits(sequence: u64, list: &mut Vec<u64>) -> Waits {
    list.sort_unstable();
    list.dedup();
    list.retain(|other| sequence - other < u64::from(WINDOW));
    let mut waits = Waits { has_others: list.len() > EDGES_MOST, ..Waits::default() };
    let rest = list.len().saturating_sub(EDGES_MOST);
    for (edge, other) in waits.edges.iter_mut().zip(list.drain(rest..).rev()) {
        *edge = (sequence - other) as u32;
    }
    list.iter_mut().for_each(|other| *other = sequence - *other);
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceFile, TraceHeader};

    /// By record: how far back those are that it waits for.
    fn waited(level: TraceLevel, records: &[TraceRecord], names: &[&str]) -> Vec<Vec<u32>> {
        let header = TraceHeader { level, ..TraceHeader::default() };
        let file = |name: &&str| TraceFile { name: (*name).into(), ..TraceFile::default() };
        let tables = Tables { files: names.iter().map(file).collect(), ..Tables::default() };
        let mut dependencies = Dependencies::default();
        let of = |(sequence, record)| {
            let waits = dependencies.of((sequence as u64, sequence as u64), record, &header, &tables);
            assert_eq!(waits.has_others, !dependencies.others().is_empty());
            waits.edges.into_iter().filter(|edge| *edge > 0).collect()
        };
        records.iter().enumerate().map(of).collect()
    }

    fn record(thread: u32, at_ns: u64, latency_ns: u64, verb: Verb, place: (u32, u64, u64)) -> TraceRecord {
        let (file, offset, bytes) = place;
        let latency_ns = Some(latency_ns);
        TraceRecord { thread, latency_ns, ..TraceRecord::new(at_ns, verb, file, offset, bytes) }
    }

    #[test]
    fn ranges_that_overlap_wait_for_changes_and_changes_for_all() {
        let at = |offset| (0, offset, 4096);
        let records = [
            record(0, 0, 10, Verb::Write, at(0)),
            record(1, 20, 10, Verb::Read, at(2048)),
            record(2, 40, 10, Verb::Read, at(0)),
            record(3, 60, 10, Verb::Write, at(1024)),
            record(4, 80, 10, Verb::Read, at(1 << 20)),
            // While the write before it was in flight: it waited for the first one alone.
            record(5, 65, 10, Verb::Read, at(0)),
        ];
        let waits = waited(TraceLevel::Block, &records, &["d"]);
        assert_eq!(waits, [vec![], vec![1], vec![2], vec![1, 2, 3], vec![], vec![5]]);
    }

    #[test]
    fn a_thread_waits_for_what_it_had_seen_end_and_a_sync_for_the_writes_of_its_file() {
        let records = [
            record(0, 0, 100, Verb::Write, (0, 0, 512)),
            record(0, 10, 100, Verb::Write, (0, 4096, 512)),
            record(1, 20, 10, Verb::Write, (1, 0, 512)),
            record(2, 200, 10, Verb::Fsync, (0, 0, 0)),
            record(3, 300, 10, Verb::Write, (0, 8192, 512)),
            record(0, 400, 10, Verb::Read, (1, 1 << 30, 1 << 30)),
        ];
        let waits = waited(TraceLevel::Block, &records, &["a", "b"]);
        assert_eq!(waits, [vec![], vec![], vec![], vec![2, 3], vec![1], vec![4, 5]]);
    }

    #[test]
    fn names_are_made_before_they_are_used_and_used_before_they_go() {
        let names = ["dir", "dir/a", "dir/b"];
        let records = [
            record(0, 0, 5, Verb::Mkdir, (0, 0, 0o755)),
            record(1, 10, 5, Verb::Create, (1, 0, 0o644)),
            record(2, 20, 5, Verb::Open, (1, 0, 0)),
            record(3, 30, 5, Verb::Read, (1, 0, 512)),
            TraceRecord { other: Some(2), ..record(4, 40, 5, Verb::Rename, (1, 0, 0)) },
            record(5, 50, 5, Verb::Stat, (2, 0, 0)),
        ];
        let waits = waited(TraceLevel::File, &records, &names);
        assert_eq!(waits[1], [1], "the directory");
        assert_eq!(waits[2], [1, 2], "the file and its directory");
        assert_eq!(waits[3], [2], "the file");
        assert_eq!(waits[4], [1, 2, 3, 4], "all of its uses");
        assert!(waits[5].contains(&1), "the new name");
    }

    #[test]
    fn more_than_four_are_waited_for_one_by_one() {
        let header = TraceHeader::default();
        let mut dependencies = Dependencies::default();
        for number in 0..9 {
            // The last two lie elsewhere.
            let place = if number < 7 { u64::from(number) * 512 } else { 1 << 30 };
            let write = record(number, 0, 10, Verb::Write, (0, place, 512));
            dependencies.of((number.into(), number.into()), &write, &header, &Tables::default());
        }
        let read = record(9, 20, 10, Verb::Read, (0, 0, 4096));
        let waits = dependencies.of((9, 9), &read, &header, &Tables::default());
        assert_eq!((waits.edges, waits.has_others), ([3, 4, 5, 6], true));
        assert_eq!(dependencies.others(), [9, 8, 7]);
    }
}
