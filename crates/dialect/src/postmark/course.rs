//! What a run does, worked out beforehand: which file is made, read, appended to or deleted when, and how long it is.
//!
//! All of it follows from the settings and the seed, draw by draw as the original makes them. It refuses to know the system:
//! that every call succeeds is taken for granted, and a run in which one fails has no report.

use super::random::Twister;
use super::settings::Settings;

/// Bytes of the text that is repeated, at most: it is a part of the plan.
const TEXT_MOST: i64 = 1 << 16;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Create,
    Read,
    Append,
    Delete,
}

/// A deed on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDeed {
    pub deed: Deed,
    /// The place among the locations' weights, and the subdirectory.
    pub location: u32,
    pub subdirectory: u32,
    /// Its name, counted from 1.
    pub number: u32,
    /// Where it begins in the file, and how long it is.
    pub offset: u64,
    pub bytes: u64,
}

/// The three parts of a run, and what they come to.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// What files hold: text of this length is repeated.
    pub text: Vec<u8>,
    pub creation: Vec<FileDeed>,
    pub transactions: Vec<FileDeed>,
    pub deletion: Vec<FileDeed>,
    pub counts: RunCounts,
    /// Transactions that were left when no file was.
    pub incomplete: u64,
    /// Points that tell how far the transactions are.
    pub points: usize,
}

/// Sums of a run, as the original keeps them: those of bytes in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCounts {
    pub created: u64,
    pub read: u64,
    pub appended: u64,
    pub deleted: u64,
    /// Of these, after the transactions.
    pub deleted_last: u64,
    pub bytes_read: f32,
    pub bytes_written: f32,
}

/// A place for a file; without one its length is 0.
#[derive(Clone, Copy, Default)]
struct FileSlot {
    location: u32,
    subdirectory: u32,
    number: u32,
    bytes: i64,
}

/// The course of a run with these settings.
pub fn course(settings: &Settings) -> Course {
    let mut run = Drawn {
        settings,
        twister: Twister::new(settings.seed as u32),
        slots: vec![FileSlot::default(); 2 * settings.number as usize],
        next_slot: 0,
        counts: RunCounts::default(),
    };
    // The original draws a text of twice the largest file before all else.
    let text = |at: i64, byte: i64| (at < TEXT_MOST).then_some((32 + byte) as u8);
    let text: Vec<u8> =
        (0..2 * settings.size_high).filter_map(|at| text(at, run.twister.below(95))).collect();
    let mut course = Course { text, ..Course::default() };
    for _ in 0..settings.number {
        course.creation.extend(run.create());
    }
    course.incomplete = run.transact(&mut course);
    let before = run.counts.deleted;
    for slot in 0..run.slots.len() {
        course.deletion.extend(run.delete(slot));
    }
    course.counts = RunCounts { deleted_last: run.counts.deleted - before, ..run.counts };
    course
}

/// A run as far as it is drawn.
struct Drawn<'a> {
    settings: &'a Settings,
    twister: Twister,
    slots: Vec<FileSlot>,
    /// Where a place for a file is looked for first.
    next_slot: usize,
    counts: RunCounts,
}

impl Drawn<'_> {
    /// All transactions; those that are left when there is no file any more.
    fn transact(&mut self, course: &mut Course) -> u64 {
        let settings = self.settings;
        // Of fewer than ten the original divides by zero.
        let tenth = (settings.transactions / 10).max(1);
        for at in 0..settings.transactions {
            if self.counts.created == self.counts.deleted {
                return (settings.transactions - at) as u64;
            }
            if settings.bias_read != -1 {
                let reads = self.twister.below(10) < settings.bias_read;
                let slot = self.used();
                course.transactions.extend(if reads { self.read(slot) } else { self.append(slot) });
            }
            if settings.bias_create != -1 {
                let deed = match self.twister.below(10) < settings.bias_create {
                    true => self.create(),
                    false => {
                        let slot = self.used();
                        self.delete(slot)
                    }
                };
                course.transactions.extend(deed);
            }
            course.points += usize::from(at % tenth == 0);
        }
        0
    }

    /// A slot with a file in it.
    fn used(&mut self) -> usize {
        loop {
            let slot = self.twister.below(self.slots.len() as i64) as usize;
            if self.slots[slot].bytes > 0 {
                return slot;
            }
        }
    }

    /// A slot without a file: the one behind the last that was taken, or else the first.
    fn free(&mut self) -> Option<usize> {
        let is_free = |slot: &FileSlot| slot.bytes == 0;
        let behind = self.slots.get(self.next_slot).is_some_and(is_free).then_some(self.next_slot);
        let slot = behind.or_else(|| self.slots.iter().position(is_free))?;
        self.next_slot = slot + 1;
        Some(slot)
    }

    fn deed(&self, deed: Deed, slot: usize, bytes: i64) -> FileDeed {
        let FileSlot { location, subdirectory, number, .. } = self.slots[slot];
        FileDeed { deed, location, subdirectory, number, offset: 0, bytes: bytes as u64 }
    }

    /// A new file, where there is a place for it.
    fn create(&mut self) -> Option<FileDeed> {
        let settings = self.settings;
        let slot = self.free()?;
        let weights: i64 = settings.locations.iter().map(|location| location.weight).sum();
        let drawn = if settings.locations.len() > 1 { self.twister.below(weights) } else { 0 };
        let location = settings.location_at(drawn) as u32;
        let subdirectory =
            if settings.subdirectories > 1 { self.twister.below(settings.subdirectories) } else { 0 };
        self.counts.created += 1;
        let number = self.counts.created as u32;
        let bytes = settings.size_low + self.twister.below(settings.size_high - settings.size_low);
        self.slots[slot] = FileSlot { location, subdirectory: subdirectory as u32, number, bytes };
        self.counts.bytes_written += bytes as f32;
        Some(self.deed(Deed::Create, slot, bytes))
    }

    fn read(&mut self, slot: usize) -> Option<FileDeed> {
        let bytes = self.slots[slot].bytes;
        self.counts.bytes_read += bytes as f32;
        self.counts.read += 1;
        Some(self.deed(Deed::Read, slot, bytes))
    }

    /// A part that is drawn, where the file has not the greatest length yet.
    fn append(&mut self, slot: usize) -> Option<FileDeed> {
        let room = self.settings.size_high - self.slots[slot].bytes;
        if room <= 0 {
            return None;
        }
        let bytes = self.twister.below(room) + 1;
        let offset = self.slots[slot].bytes as u64;
        self.counts.bytes_written += bytes as f32;
        self.slots[slot].bytes += bytes;
        self.counts.appended += 1;
        Some(FileDeed { offset, ..self.deed(Deed::Append, slot, bytes) })
    }

    fn delete(&mut self, slot: usize) -> Option<FileDeed> {
        if self.slots[slot].bytes == 0 {
            return None;
        }
        let deed = self.deed(Deed::Delete, slot, 0);
        self.slots[slot].bytes = 0;
        self.counts.deleted += 1;
        Some(deed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Debian's postmark 1.51 reported of the same settings.
    #[test]
    fn a_run_comes_to_what_the_original_reports() {
        let settings = Settings {
            number: 6,
            transactions: 12,
            size_low: 500,
            size_high: 20_000,
            subdirectories: 2,
            ..Settings::default()
        };
        let course = course(&settings);
        let counts = course.counts;
        assert_eq!((counts.created, counts.read, counts.appended), (13, 7, 5));
        assert_eq!((counts.deleted, counts.deleted_last), (13, 8));
        assert_eq!((counts.bytes_read, counts.bytes_written), (92_713.0, 166_344.0));
        assert_eq!((course.incomplete, course.points), (0, 12));
        let first = course.creation[0];
        assert_eq!((first.subdirectory, first.number, first.bytes), (1, 1, 16_486));
    }

    #[test]
    fn nothing_is_left_when_only_deletions_are_drawn() {
        let settings =
            Settings { number: 3, transactions: 20, bias_read: -1, bias_create: 0, ..Settings::default() };
        let course = course(&settings);
        assert_eq!((course.transactions.len(), course.incomplete, course.deletion.len()), (3, 17, 0));
    }
}
