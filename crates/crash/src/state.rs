//! The states that a crash can leave: what of a log has reached the medium when the power goes.
//!
//! Whatever a flush covers is there. Of the writes since, any may be missing, since a cache writes back in its own order; the
//! last one may be there in part. Discards and zeroes count as writes. Pure: a state is a name for a content, and two names
//! of the same content are judged once.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::str::FromStr;

use iodyno_simulation::random::{Random, mix};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::image::{DiskContent, punch};
use crate::log::{LogEntry, WriteLog};
use crate::workload::Reach;

/// Of so many unflushed writes all subsets are looked at.
const ALL_SUBSETS: usize = 8;
/// Of more: so many drawn subsets at each place of the log …
const DRAWN_SUBSETS: usize = 16;
/// … and so many that miss one write, or all but one.
const SINGLES: usize = 32;
/// Places of the log that are looked at; of a longer one they are drawn evenly.
const MOST_CUTS: usize = 4096;
/// Of a write of so many sectors all tears are looked at, else so many drawn ones.
const ALL_TEARS: u64 = 8;

/// Which sectors of a write reached the medium: from, to (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tear {
    /// The write, by its place in the log.
    pub entry: usize,
    pub from: u64,
    pub to: u64,
}

/// A state by its name: the place where the power went, the writes before it that are missing, and the one that is torn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StateId {
    /// Entries of the log before it had happened.
    pub cut: usize,
    /// Ascending places in the log.
    pub missing: Vec<usize>,
    pub tear: Option<Tear>,
}

/// A content that a crash can leave, and the moments at which it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashState {
    /// How far the workload had come, and how the content came about then; none says no more than another.
    pub moments: Vec<(Reach, StateId)>,
}

/// What states are asked for.
#[derive(Debug, Clone, Copy)]
pub struct StateChoice {
    /// At most so many; of more they are drawn evenly over the log.
    pub most: usize,
    pub seed: u64,
    /// What the device writes as a whole: a write of more may be torn between two of them.
    pub sector_bytes: u64,
}

/// The states of a log, and how many there were before the draw.
pub fn states(log: &WriteLog, base: &DiskContent, choice: StateChoice) -> (Vec<CrashState>, usize) {
    let mut search = StateSearch::new(log, base, choice);
    let cuts = log.entries.len() + 1;
    let step = cuts.div_ceil(MOST_CUTS);
    for cut in 0..cuts {
        if cut > 0 {
            search.advance(cut - 1);
        }
        if cut % step == 0 || cut + 1 == cuts {
            search.look(cut);
        }
    }
    let found = search.found;
    let all = found.len();
    let mut random = Random::from_seed(choice.seed, 0);
    (draw_evenly(found, choice.most, &mut random), all)
}

/// One of each of `most` equal parts.
fn draw_evenly<T>(mut all: Vec<T>, most: usize, random: &mut Random) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let part = |number: usize| number * count / most;
    let mut kept: Vec<usize> = (0..most)
        .map(|number| part(number) + random.below((part(number + 1) - part(number)) as u64) as usize)
        .collect();
    let mut at = 0;
    kept.reverse();
    all.retain(|_| {
        let keeps = kept.last() == Some(&at);
        if keeps {
            kept.pop();
        }
        at += 1;
        keeps
    });
    all
}

struct StateSearch<'a> {
    log: &'a WriteLog,
    base: &'a DiskContent,
    choice: StateChoice,
    random: Random,
    /// What was written to each sector, by whom, with the hash of its content, oldest first.
    history: HashMap<u64, Vec<(usize, u64)>>,
    /// Hash of the content with everything that was written.
    whole: u64,
    /// Writes that no flush has covered.
    pending: Vec<usize>,
    reach: Reach,
    found: Vec<CrashState>,
    by_content: HashMap<u64, usize>,
}

/// Who wrote what was there before the recording.
const BEFORE: usize = usize::MAX;

impl<'a> StateSearch<'a> {
    fn new(log: &'a WriteLog, base: &'a DiskContent, choice: StateChoice) -> StateSearch<'a> {
        StateSearch {
            log,
            base,
            choice,
            random: Random::from_seed(choice.seed, 1),
            history: HashMap::new(),
            whole: 0,
            pending: Vec::new(),
            reach: Reach::default(),
            found: Vec::new(),
            by_content: HashMap::new(),
        }
    }

    /// Takes an entry of the log.
    fn advance(&mut self, at: usize) {
        let log = self.log;
        let entry = &log.entries[at];
        self.reach = entry.reached(self.reach);
        match entry {
            LogEntry::Flush { most } => {
                let kept = most.map_or(0, |most| self.pending.len().saturating_sub(most));
                self.pending.truncate(kept);
            }
            LogEntry::Begin(_) | LogEntry::End(_) | LogEntry::Note(_) => {}
            LogEntry::Write { .. } | LogEntry::Discard { .. } | LogEntry::Zero { .. } => {
                for sector in self.sectors(at) {
                    self.write(at, entry, sector);
                }
                self.pending.push(at);
            }
        }
    }

    fn write(&mut self, at: usize, entry: &LogEntry, sector: u64) {
        let bytes = self.choice.sector_bytes;
        let seed = mix(sector + 1);
        let base = self.base;
        let writers = self.history.entry(sector).or_insert_with(|| {
            vec![(BEFORE, xxh3_64_with_seed(&base.content(sector * bytes, bytes as usize), seed))]
        });
        let hash = xxh3_64_with_seed(&entry.content(sector * bytes, bytes), seed);
        let before = writers.last().map_or(0, |(_, hash)| *hash);
        writers.push((at, hash));
        self.whole ^= before ^ hash;
    }

    /// The sectors of a write.
    fn sectors(&self, at: usize) -> std::ops::Range<u64> {
        sectors(&self.log.entries[at], self.choice.sector_bytes)
    }

    /// Notes the states of one place of the log.
    fn look(&mut self, cut: usize) {
        self.note(StateId { cut, ..StateId::default() });
        let pending = self.pending.clone();
        if pending.len() <= ALL_SUBSETS {
            for subset in 1..1_u32 << pending.len() {
                let missing = pending.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
                self.note(StateId { cut, missing: missing.map(|(_, at)| *at).collect(), tear: None });
            }
        } else {
            self.look_at_some(cut, &pending);
        }
        if let Some(&last) = pending.last() {
            self.tear(cut, last);
        }
    }

    /// Single drops, single keeps, none at all, and subsets by the seed.
    fn look_at_some(&mut self, cut: usize, pending: &[usize]) {
        self.note(StateId { cut, missing: pending.to_vec(), tear: None });
        for index in draw_evenly((0..pending.len()).collect(), SINGLES, &mut self.random) {
            self.note(StateId { cut, missing: vec![pending[index]], tear: None });
            let mut missing = pending.to_vec();
            missing.remove(index);
            self.note(StateId { cut, missing, tear: None });
        }
        for _ in 0..DRAWN_SUBSETS {
            let coins = self.random.next();
            let falls = |at: &&usize| mix(coins ^ **at as u64) & 1 == 1;
            let missing = pending.iter().filter(falls).copied().collect();
            self.note(StateId { cut, missing, tear: None });
        }
    }

    /// The last write in part: its first sectors, or its last ones.
    fn tear(&mut self, cut: usize, entry: usize) {
        let range = self.sectors(entry);
        let count = range.end - range.start;
        let places: Vec<u64> = match count {
            0 | 1 => return,
            2..=ALL_TEARS => (1..count).collect(),
            _ => {
                let drawn = (0..ALL_TEARS - 2).map(|_| 1 + self.random.below(count - 1));
                drawn.chain([1, count - 1]).collect()
            }
        };
        for place in places {
            for (from, to) in [(0, place), (place, count)] {
                let tear = Some(Tear { entry, from, to });
                self.note(StateId { cut, missing: Vec::new(), tear });
            }
        }
    }

    fn note(&mut self, id: StateId) {
        let content = self.content(&id);
        let moment = (self.reach, id);
        match self.by_content.get(&content) {
            Some(&known) => add_moment(&mut self.found[known].moments, moment),
            None => {
                self.by_content.insert(content, self.found.len());
                self.found.push(CrashState { moments: vec![moment] });
            }
        }
    }

    /// Hash of a state's content.
    fn content(&self, id: &StateId) -> u64 {
        let torn = id.tear.map(|tear| {
            let start = self.sectors(tear.entry).start;
            (tear.entry, start + tear.from..start + tear.to)
        });
        let is_missing = |writer: usize, sector: u64| {
            id.missing.binary_search(&writer).is_ok()
                || torn.as_ref().is_some_and(|(entry, kept)| *entry == writer && !kept.contains(&sector))
        };
        let mut hash = self.whole;
        let lossy = id.missing.iter().copied().chain(torn.as_ref().map(|(entry, _)| *entry));
        let mut changed: Vec<u64> = lossy.flat_map(|at| self.sectors(at)).collect();
        changed.sort_unstable();
        changed.dedup();
        for sector in changed {
            let Some(writers) = self.history.get(&sector) else { continue };
            let whole = writers.last().map_or(0, |(_, hash)| *hash);
            let left = writers.iter().rev().find(|(writer, _)| !is_missing(*writer, sector));
            hash ^= whole ^ left.map_or(0, |(_, hash)| *hash);
        }
        hash
    }
}

/// Adds a moment unless another says as much: with no fewer steps ended, and no more begun.
fn add_moment(moments: &mut Vec<(Reach, StateId)>, new: (Reach, StateId)) {
    let says = |one: Reach, other: Reach| one.ended >= other.ended && one.begun <= other.begun;
    if moments.iter().any(|(reach, _)| says(*reach, new.0)) {
        return;
    }
    moments.retain(|(reach, _)| !says(new.0, *reach));
    moments.push(new);
}

/// The sectors that an entry changes.
fn sectors(entry: &LogEntry, sector_bytes: u64) -> std::ops::Range<u64> {
    entry.range().map_or(0..0, |(offset, bytes)| offset / sector_bytes..(offset + bytes) / sector_bytes)
}

impl StateId {
    /// Makes a file hold this state.
    ///
    /// # Errors
    /// The system's own: ENOSPC, ENOMEM.
    pub fn write_to(
        &self,
        log: &WriteLog,
        base: &DiskContent,
        sector_bytes: u64,
        file: &File,
    ) -> io::Result<()> {
        base.write_to(file)?;
        for (at, entry) in log.entries[..self.cut.min(log.entries.len())].iter().enumerate() {
            let Some((offset, bytes)) = entry.range() else { continue };
            if self.missing.binary_search(&at).is_ok() {
                continue;
            }
            let (from, to) = match self.tear {
                Some(tear) if tear.entry == at => (tear.from * sector_bytes, tear.to * sector_bytes),
                _ => (0, bytes),
            };
            match entry {
                LogEntry::Write { data, .. } => {
                    file.write_all_at(&data[from as usize..to as usize], offset + from)?;
                }
                _ => punch(file, offset + from, to - from)?,
            }
        }
        Ok(())
    }

    /// Whether the log has what the name speaks of.
    pub fn is_of(&self, log: &WriteLog, sector_bytes: u64) -> bool {
        let is_write = |at: &usize| log.entries.get(*at).is_some_and(|entry| entry.range().is_some());
        self.cut <= log.entries.len()
            && self.missing.iter().all(is_write)
            && self.tear.is_none_or(|tear| {
                log.entries.get(tear.entry).is_some_and(|entry| {
                    let sectors = sectors(entry, sector_bytes);
                    tear.to <= sectors.end - sectors.start
                })
            })
    }
}

/// `120`, `120-97-99..103`, `120~118:0..3`: the place, the missing writes, the torn write with its sectors that are there.
impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.cut)?;
        let mut rest = &self.missing[..];
        while let Some((&first, after)) = rest.split_first() {
            let more = after.iter().zip(first + 1..).take_while(|(at, next)| *at == next).count();
            match more {
                0 => write!(f, "-{first}")?,
                _ => write!(f, "-{first}..{}", first + more)?,
            }
            rest = &after[more..];
        }
        match self.tear {
            Some(tear) => write!(f, "~{}:{}..{}", tear.entry, tear.from, tear.to),
            None => Ok(()),
        }
    }
}

impl FromStr for StateId {
    type Err = String;

    fn from_str(text: &str) -> Result<StateId, String> {
        let wrong = || format!("`{text}` is no state");
        let number = |word: &str| word.parse::<usize>().map_err(|_| wrong());
        let (writes, torn) = text.split_once('~').map_or((text, None), |(writes, torn)| (writes, Some(torn)));
        let mut words = writes.split('-');
        let cut = number(words.next().unwrap_or_default())?;
        let mut missing = Vec::new();
        for word in words {
            let (first, last) = word.split_once("..").unwrap_or((word, word));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last >= cut || missing.last().is_some_and(|before| *before >= first) {
                return Err(wrong());
            }
            missing.extend(first..=last);
        }
        let tear = torn.map(|torn| {
            let (entry, range) = torn.split_once(':').ok_or_else(wrong)?;
            let (from, to) = range.split_once("..").ok_or_else(wrong)?;
            let sector = |word: &str| word.parse::<u64>().map_err(|_| wrong());
            let tear = Tear { entry: number(entry)?, from: sector(from)?, to: sector(to)? };
            if tear.entry < cut && tear.from < tear.to { Ok(tear) } else { Err(wrong()) }
        });
        Ok(StateId { cut, missing, tear: tear.transpose()? })
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
