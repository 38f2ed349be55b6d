//! Some of the records of a trace.

use std::ops::RangeInclusive;

use iodyno_model::Verb;
use iodyno_model::glob::matches;

use crate::format::has_range;
use crate::transform::positions::Positions;
use crate::transform::renumbering::Renumbering;
use crate::transform::{Adapter, Source, Transform, note_dropped};
use crate::{Batch, RecordFlags, RecordSource, Tables, TraceError, TraceHeader, TraceRecord, TraceThread};

/// Which records are kept: those that meet all that is set.
#[derive(Clone, Debug, Default)]
pub struct RecordFilter {
    pub verbs: Option<Vec<Verb>>,
    /// Patterns of names, of which one must match; empty: all files.
    pub files: Vec<String>,
    /// Patterns of which none may match.
    pub except_files: Vec<String>,
    /// Numbers of processes or threads, or patterns of commands; empty: all.
    pub threads: Vec<String>,
    /// The offset of reads, writes and trims is in here; others have none and are left out.
    pub offsets: Option<RangeInclusive<u64>>,
    /// Their size.
    pub sizes: Option<RangeInclusive<u64>>,
    /// Flags that it has, all of them.
    pub flags: RecordFlags,
    /// Flags of which it has none.
    pub without_flags: RecordFlags,
}

/// Keeps the records that a filter means. Times stay as they are.
pub struct Filter {
    filter: RecordFilter,
    /// By number, where it was looked at.
    files: Vec<Option<bool>>,
    threads: Vec<Option<bool>>,
    kept: u64,
    positions: Positions,
    renumbering: Renumbering,
}

impl Filter {
    pub fn of(source: Source, filter: RecordFilter) -> impl RecordSource + Send {
        let filter = Filter {
            filter,
            files: Vec::new(),
            threads: Vec::new(),
            kept: 0,
            positions: Positions::default(),
            renumbering: Renumbering::default(),
        };
        Adapter::new(source, filter)
    }

    fn has(&mut self, record: &TraceRecord, tables: &Tables) -> bool {
        let filter = &self.filter;
        let is_within = |range: &Option<RangeInclusive<u64>>, value: u64| {
            range.as_ref().is_none_or(|range| has_range(record.verb) && range.contains(&value))
        };
        filter.verbs.as_ref().is_none_or(|verbs| verbs.contains(&record.verb))
            && record.flags.has(filter.flags)
            && record.flags.0 & filter.without_flags.0 == 0
            && is_within(&filter.offsets, record.offset)
            && is_within(&filter.sizes, record.bytes)
            && self.has_file(record, tables)
            && self.has_thread(record.thread, tables)
    }

    fn has_file(&mut self, record: &TraceRecord, tables: &Tables) -> bool {
        let filter = &self.filter;
        if filter.files.is_empty() && filter.except_files.is_empty() {
            return true;
        }
        let any = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches(pattern, name));
        let mut names = std::iter::once(record.file).chain(record.other);
        names.any(|index| {
            remembered(&mut self.files, index, || {
                let name = tables.files.get(index as usize).map_or("", |file| &file.name);
                (filter.files.is_empty() || any(&filter.files, name)) && !any(&filter.except_files, name)
            })
        })
    }

    fn has_thread(&mut self, index: u32, tables: &Tables) -> bool {
        let wanted = &self.filter.threads;
        if wanted.is_empty() {
            return true;
        }
        let is_meant =
            |TraceThread { process, thread, name }: &TraceThread, word: &String| match word.parse::<u32>() {
                Ok(number) => number == *process || number == *thread,
                Err(_) => matches(word, name),
            };
        remembered(&mut self.threads, index, || {
            let thread = tables.threads.get(index as usize);
            thread.is_some_and(|thread| wanted.iter().any(|word| is_meant(thread, word)))
        })
    }
}

fn remembered(known: &mut Vec<Option<bool>>, index: u32, find: impl FnOnce() -> bool) -> bool {
    let index = index as usize;
    if index >= known.len() {
        known.resize(index + 1, None);
    }
    *known[index].get_or_insert_with(find)
}

impl Transform for Filter {
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError> {
        if batch.is_empty() {
            self.renumbering.update(tables);
        }
        batch.retain_mut(|record| {
            if !self.has(record, tables) {
                self.positions.leave_out();
                return false;
            }
            self.positions.keep(record, self.kept);
            self.renumbering.apply(record, tables);
            self.kept += 1;
            true
        });
        Ok(true)
    }

    fn tables(&self) -> Option<&Tables> {
        Some(self.renumbering.tables())
    }

    fn header(&self, header: &mut TraceHeader) {
        note_dropped(header, self.positions.dropped());
    }
}
