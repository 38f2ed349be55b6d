//! Tables with only what the records of a result name.

use crate::{Tables, TraceRecord};

const UNKNOWN: u32 = u32::MAX;

/// Numbers files and threads anew, in the order in which records name them.
#[derive(Default)]
pub struct Renumbering {
    tables: Tables,
    /// By the source's number: ours.
    files: Vec<u32>,
    threads: Vec<u32>,
}

impl Renumbering {
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Renumbers what a record names.
    pub fn apply(&mut self, record: &mut TraceRecord, source: &Tables) {
        record.file = number(&mut self.files, &mut self.tables.files, &source.files, record.file);
        record.other =
            record.other.map(|other| number(&mut self.files, &mut self.tables.files, &source.files, other));
        // Sources that tell no threads have records of a thread 0 all the same.
        if !source.threads.is_empty() {
            record.thread =
                number(&mut self.threads, &mut self.tables.threads, &source.threads, record.thread);
        }
    }

    /// Takes what the source has learned of its files since.
    pub fn update(&mut self, source: &Tables) {
        for (ours, theirs) in self.files.iter().zip(&source.files) {
            if let Some(file) = self.tables.files.get_mut(*ours as usize) {
                file.clone_from(theirs);
            }
        }
    }
}

fn number<T: Clone>(numbers: &mut Vec<u32>, ours: &mut Vec<T>, theirs: &[T], index: u32) -> u32 {
    let place = index as usize;
    if place >= numbers.len() {
        numbers.resize(theirs.len().max(place + 1), UNKNOWN);
    }
    if numbers[place] == UNKNOWN {
        numbers[place] = ours.len() as u32;
        ours.extend(theirs.get(place).cloned());
    }
    numbers[place]
}
