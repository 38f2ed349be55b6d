//! Recordings that are played back: fio's own iolog (versions 2 and 3) and the kernel's blktrace, told apart by their
//! first bytes.
//!
//! It takes bytes and gives entries; what cannot be understood is skipped and noted, as fio does, or refused where
//! fio would crash. It opens nothing: names of devices are asked for.

mod blktrace;
mod iolog;

use iodyno_model::{Timing, TraceEntry, Verb};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The files, in the order they appear.
    pub files: Vec<String>,
    /// What was done; targets are indices into the files.
    pub entries: Vec<TraceEntry>,
    pub timing: Timing,
    /// The depth it was recorded at, where it tells.
    pub depth: Option<u32>,
    /// What was wrong with it and did not matter.
    pub notes: Vec<String>,
    /// Writes and trims that were left out because nothing may be written.
    pub forbidden: u64,
}

/// How a recording is played back.
#[derive(Clone, Debug)]
pub struct How {
    /// Everything goes to this file.
    pub redirect: Option<String>,
    /// Offsets are divided by this; 0: they are not.
    pub scale: u64,
    /// Offsets are rounded down to a multiple of this; 0: they are not.
    pub align: u64,
    pub speed_percent: f64,
    /// Without any pause.
    pub no_stall: bool,
    /// Left out: reads, writes, trims, syncs.
    pub skip: [bool; 4],
    /// Nothing may be written.
    pub readonly: bool,
}

/// Finds the name of a device by its major and minor number.
pub type Devices<'a> = dyn FnMut(u32, u32) -> Option<String> + 'a;

/// Understands a recording.
///
/// # Errors
/// A sentence: it is of no kind that is known, it is broken, or nothing in it can be played back.
pub fn read(bytes: &[u8], how: &How, devices: &mut Devices<'_>) -> Result<Recording, String> {
    let recording = match blktrace::order(bytes) {
        Some(order) => blktrace::read(bytes, order, how, devices)?,
        None => iolog::read(bytes, how)?,
    };
    if recording.entries.is_empty() && recording.forbidden == 0 {
        return Err("nothing in it can be played back".into());
    }
    Ok(recording)
}

/// Notes that are kept of one recording.
const MOST_NOTES: usize = 20;

/// The longest operation, bytes.
const MOST_BYTES: u64 = 1 << 30;

impl Recording {
    fn note(&mut self, text: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(text);
        }
    }

    /// The index of a file, which is added where it is not known.
    fn file(&mut self, name: &str) -> usize {
        self.files.iter().position(|file| file == name).unwrap_or_else(|| {
            self.files.push(name.into());
            self.files.len() - 1
        })
    }

    /// Adds an operation; answers whether it was left out.
    fn add(&mut self, how: &How, mut entry: TraceEntry) -> bool {
        let skipped = match entry.verb {
            Verb::Read => how.skip[0],
            Verb::Write => how.skip[1],
            Verb::Discard => how.skip[2],
            _ => how.skip[3],
        };
        if skipped {
            return true;
        }
        if how.readonly && entry.verb.changes() {
            self.forbidden += 1;
            return true;
        }
        entry.offset = entry.offset.checked_div(how.scale).unwrap_or(entry.offset);
        entry.offset -= entry.offset.checked_rem(how.align).unwrap_or(0);
        let places = matches!(entry.verb, Verb::Read | Verb::Write | Verb::Discard);
        let last = entry.offset.checked_add(entry.bytes);
        if places && (entry.bytes == 0 || entry.bytes > MOST_BYTES || last.is_none_or(|last| last >> 63 > 0))
        {
            self.note(format!("left out: {} {} {}", entry.verb, entry.offset, entry.bytes));
            return true;
        }
        if !places {
            (entry.offset, entry.bytes) = (0, 0);
        }
        self.entries.push(entry);
        false
    }
}

impl How {
    /// A time between two starts, as it is played back.
    fn scaled(&self, ns: u64) -> u64 {
        match self.speed_percent {
            _ if self.no_stall => 0,
            100.0 => ns,
            percent => (ns as f64 * 100.0 / percent) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
