//! What a log says was promised, and what was in flight when it ended.

use std::collections::{BTreeMap, HashMap};

use super::entry::{LogEntry, LogHeader, LogLine, unsealed};
use super::step::{LAID_OUT, PromiseStep, PromisedObject, SyncMode};

/// The last promise of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptPromise {
    pub mode: SyncMode,
    pub generation: u32,
    pub at_unix_ns: u64,
    /// The line of the log, from 1.
    pub line: usize,
}

/// A log that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromiseRecord {
    pub header: LogHeader,
    /// Of blocks, and of sectors of append logs, by object and number; those that are not here were laid out only.
    pub blocks: HashMap<(PromisedObject, u64), KeptPromise>,
    /// Of whole files.
    pub files: HashMap<PromisedObject, KeptPromise>,
    /// The steps of each thread that had begun and not ended before the cut, in order: of a writer that pulled a trigger all that
    /// began until it ended, else at most one.
    pub in_flight: BTreeMap<u32, Vec<PromiseStep>>,
    /// Promises of each mode.
    pub promises: BTreeMap<SyncMode, u64>,
    /// Nothing was promised before.
    pub is_ready: bool,
    /// The trigger was pulled: what returned later is no promise.
    pub is_cut: bool,
    /// All threads ended as they were asked.
    pub has_ended: bool,
    /// Bytes of a last line that was cut, which a power cut may leave.
    pub cut_bytes: usize,
    /// When the first and the last entry were logged, ns since 1970.
    pub time: Option<(u64, u64)>,
}

/// Why a log cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl PromiseRecord {
    /// Reads a log whose last line may be cut.
    ///
    /// # Errors
    /// It is none, or a line that is not the last is damaged.
    pub fn read(text: &[u8]) -> Result<PromiseRecord, LogFault> {
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text_of = String::from_utf8_lossy(&text[..whole]);
        let lines: Vec<&str> = text_of.lines().collect();
        let fault = |line: usize, message: &str| LogFault { line, message: message.into() };
        let header = lines.first().and_then(|line| unsealed(line)).and_then(LogHeader::parse);
        let header = header.ok_or_else(|| fault(1, "this is no log of `iodyno powerfail write`"))?;
        let mut record = PromiseRecord {
            header,
            blocks: HashMap::new(),
            files: HashMap::new(),
            in_flight: BTreeMap::new(),
            promises: BTreeMap::new(),
            is_ready: false,
            is_cut: false,
            has_ended: false,
            cut_bytes: text.len() - whole,
            time: None,
        };
        let mut ended = 0;
        for (index, line) in lines.iter().enumerate().skip(1) {
            match unsealed(line).and_then(LogLine::parse) {
                Some(line) => {
                    record.time = Some((record.time.map_or(line.at_unix_ns, |time| time.0), line.at_unix_ns));
                    ended += u32::from(line.entry == LogEntry::End);
                    record.take(&line, index + 1).map_err(|message| fault(index + 1, message))?;
                }
                // A write of several sectors may be cut at the end, with what lay there before behind it.
                None if index + 1 == lines.len() => record.cut_bytes += line.len() + 1,
                None => return Err(fault(index + 1, "the line is damaged: its checksum does not fit")),
            }
        }
        record.has_ended = ended == record.header.threads;
        Ok(record)
    }

    fn take(&mut self, line: &LogLine, number: usize) -> Result<(), &'static str> {
        match line.entry {
            LogEntry::Ready => self.is_ready = true,
            LogEntry::Cut => self.is_cut = true,
            LogEntry::Begin(step) => {
                let steps = self.in_flight.entry(line.thread).or_default();
                steps.push(step);
                if steps.len() > 1 && !self.is_cut {
                    return Err("a step begins before the thread's last one has ended");
                }
            }
            LogEntry::Kept(generation) => {
                let last = self.in_flight.get(&line.thread).and_then(|steps| steps.last());
                let step = *last
                    .filter(|step| step.generation == generation)
                    .ok_or("a promise of a step that has not begun")?;
                if self.is_cut {
                    return Ok(());
                }
                self.in_flight.remove(&line.thread);
                let (mode, at_unix_ns) = (step.mode, line.at_unix_ns);
                self.keep(&step, KeptPromise { mode, generation, at_unix_ns, line: number });
            }
            LogEntry::End => {}
        }
        Ok(())
    }

    fn keep(&mut self, step: &PromiseStep, promise: KeptPromise) {
        *self.promises.entry(step.mode).or_default() += 1;
        let has_blocks = step.mode.is_of_blocks()
            || step.mode.is_of_devices()
            || matches!(step.mode, SyncMode::Append | SyncMode::DoubleWrite);
        if has_blocks {
            for block in step.first..step.first + u64::from(step.count) {
                self.blocks.insert((step.object, block), promise);
            }
        } else {
            self.files.insert(step.object, promise);
        }
    }

    /// The promise of a block: of what was laid out where no step was.
    pub fn of_block(&self, object: PromisedObject, block: u64) -> KeptPromise {
        let laid_out = KeptPromise { mode: object.mode, generation: LAID_OUT, at_unix_ns: 0, line: 1 };
        self.blocks.get(&(object, block)).copied().unwrap_or(laid_out)
    }

    /// The generations of the steps in flight that touch an object.
    pub fn in_flight_on(&self, object: PromisedObject) -> Vec<u32> {
        let own = self.steps_on(object);
        own.map(|step| step.generation).collect()
    }

    /// The generations that are being written to a block.
    pub fn in_flight_at(&self, object: PromisedObject, block: u64) -> Vec<u32> {
        let is_touched =
            |step: &&PromiseStep| (step.first..step.first + u64::from(step.count)).contains(&block);
        self.steps_on(object).filter(is_touched).map(|step| step.generation).collect()
    }

    /// The steps in flight that touch an object.
    pub fn steps_on(&self, object: PromisedObject) -> impl Iterator<Item = &PromiseStep> {
        self.in_flight.get(&object.thread).into_iter().flatten().filter(move |step| step.object == object)
    }

    /// All promises.
    pub fn count(&self) -> u64 {
        self.promises.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::sealed;
    use super::*;

    fn log() -> String {
        let header = "iodyno-powerfail/1 run=0000000000000001 target=directory blocks=8 threads=1 xattr=no modes=fsync";
        let lines = [
            header,
            "ready 0 10",
            "begin 0 20 fsync fsync-0 g2 b1 c2",
            "kept 0 30 g2",
            "begin 0 40 fsync fsync-0 g3 b2 c1",
        ];
        lines.map(sealed).concat()
    }

    #[test]
    fn promises_and_what_is_in_flight_are_told_apart() {
        let record = PromiseRecord::read(log().as_bytes()).unwrap();
        let object = PromisedObject { thread: 0, mode: SyncMode::Fsync, number: 0 };
        let generation = |block| record.of_block(object, block).generation;
        assert_eq!([0, 1, 2, 3].map(generation), [1, 2, 2, 1]);
        assert_eq!([1, 2].map(|block| record.in_flight_at(object, block)), [vec![], vec![3]]);
        assert!(record.is_ready && !record.has_ended);
        assert_eq!((record.count(), record.time), (1, Some((10, 40))));
    }

    #[test]
    fn a_cut_at_any_byte_is_expected_behind_the_header() {
        let log = log();
        let header = log.find('\n').unwrap() + 1;
        for cut in header..log.len() {
            let record = PromiseRecord::read(&log.as_bytes()[..cut]).unwrap();
            assert_eq!(record.cut_bytes == 0, log.as_bytes()[cut - 1] == b'\n', "{cut}");
        }
        let wrong = PromiseRecord::read(&log.as_bytes()[..header - 1]).unwrap_err();
        assert_eq!(wrong.message, "this is no log of `iodyno powerfail write`");
    }

    #[test]
    fn what_returns_after_the_trigger_promises_nothing() {
        let more =
            ["cut 0 50", "kept 0 60 g3", "begin 0 70 fsync fsync-0 g4 b2 c2", "kept 0 80 g4", "end 0 90"];
        let record = PromiseRecord::read((log() + &more.map(sealed).concat()).as_bytes()).unwrap();
        let object = PromisedObject { thread: 0, mode: SyncMode::Fsync, number: 0 };
        assert!(record.is_cut && record.has_ended);
        assert_eq!((record.count(), record.of_block(object, 2).generation), (1, 2));
        assert_eq!([1, 2, 3].map(|block| record.in_flight_at(object, block)), [vec![], vec![3, 4], vec![4]]);
    }

    #[test]
    fn damage_before_the_end_has_its_line() {
        let damaged = log().replace("kept 0 30", "kept 0 31");
        assert_eq!(PromiseRecord::read(damaged.as_bytes()).unwrap_err().line, 4);
    }
}
