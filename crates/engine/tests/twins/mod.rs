//! Twin files and directories: one for an engine, one for `call`, and a bench that drives an engine by hand.

use std::os::fd::{IntoRawFd, RawFd};
use std::path::Path;

use iodyno_engine::clock::{NEVER, Tick};
use iodyno_engine::engines::{Engine, Setup};
use iodyno_engine::io::{Files, Handle, Io, Names, Slot};
use iodyno_engine::memory::Memory;
use iodyno_engine::{Failure, call};
use iodyno_model::{Job, Pattern, Pick, Setting, Verb, Workload};
use tempfile::TempDir;

/// Items of a twin set.
pub const ITEMS: u64 = 24;
/// Bytes of each buffer.
const BUFFER: usize = 16384;

/// Repeatable numbers.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    /// A number below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A handle of an open file.
pub fn handle(fd: RawFd) -> Handle {
    Handle { fd, target: 0, bytes: 1 << 20, base: 0, names: None }
}

/// A handle of a set whose items are `f.0`, `f.1` ….
pub fn set(root: &Path) -> std::io::Result<Handle> {
    let names = Names::flat("f.", "", ITEMS);
    let fd = std::fs::File::open(root)?.into_raw_fd();
    Ok(Handle { names: Some(Box::new(names)), ..handle(fd) })
}

/// An engine with its files and buffers.
pub struct Bench<E: Engine> {
    // In this order: an engine must be gone before what it works on.
    pub engine: E,
    pub files: Files,
    memory: Memory,
    flight: Vec<Io>,
}

/// Why a case failed, or is skipped.
pub type Failed = Box<dyn std::error::Error>;

fn failed(failure: Failure) -> Failed {
    failure.message.into()
}

impl<E: Engine> Bench<E> {
    pub fn new(settings: &[&str], depth: u32, handles: Vec<Handle>) -> Result<Self, Failed> {
        let depth = depth.min(E::FACTS.most_depth);
        let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
        let mut job = Job::new("job", E::FACTS.name, vec![0], Workload::Pattern(Box::new(pattern)));
        let pair = |text: &&str| {
            text.split_once('=')
                .map_or((text.to_string(), "1".into()), |(name, value)| (name.to_string(), value.to_string()))
        };
        job.settings = settings.iter().map(pair).map(|(name, value)| Setting::new(&name, value)).collect();
        if let Some(diagnostic) = (E::FACTS.check)(&job).first() {
            return Err(diagnostic.message.clone().into());
        }
        let (files, memory) = (Files::of(handles), Memory::new(depth, BUFFER).unwrap());
        let plan = iodyno_model::Plan::default();
        let setup = Setup {
            plan: &plan,
            job: &job,
            depth,
            files: &files,
            paths: &[],
            objects: &[],
            memory: &memory,
            seed: 1,
            worker: 0,
            seat: 0,
            seats: 1,
            priorities: None,
            live: iodyno_engine::engines::Live::alone(),
        };
        let engine = E::start(&setup).map_err(failed)?;
        Ok(Bench { engine, files, memory, flight: vec![Io::default(); depth as usize] })
    }

    /// A slot's buffer.
    pub fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        // SAFETY: the buffer lies inside the memory, and nothing is in flight for the slot while the test looks at it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.buffer(slot), BUFFER) }
    }

    /// Hands over one operation in a slot.
    pub fn push(&mut self, slot: Slot, io: Io) {
        self.flight[slot as usize] = Io { buffer: self.memory.buffer(slot), ..io };
        self.engine.push(slot, &self.flight[slot as usize], &mut self.files);
    }

    /// Takes completions.
    pub fn poll(&mut self, min: u32, until: Tick) -> Result<Vec<(Slot, i64)>, Failed> {
        let mut done = Vec::new();
        self.engine.poll(min, until, |slot, result, _| done.push((slot, result))).map_err(failed)?;
        Ok(done)
    }

    /// One operation from beginning to end, in slot 0.
    pub fn perform(&mut self, io: Io) -> Result<i64, Failed> {
        self.push(0, io);
        match self.poll(1, NEVER)?[..] {
            [(0, result)] => Ok(result),
            ref other => Err(format!("one completion of slot 0 expected: {other:?}").into()),
        }
    }

    /// The same by `call`.
    pub fn call(&mut self, io: Io) -> i64 {
        call::perform(&Io { buffer: self.memory.buffer(0), ..io }, &mut self.files)
    }
}

/// Two of everything.
pub struct Twins {
    folders: [TempDir; 2],
    reference: Files,
    is_set: bool,
}

/// What is in flight: the operation, and what `call` made of its twin.
struct Expected {
    io: Io,
    result: i64,
    content: Vec<u8>,
}

impl Twins {
    /// Two files of random content, the same in both.
    pub fn files(bytes: u64) -> Result<Self, Failed> {
        let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
        let mut random = Random(bytes);
        let content: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
        for folder in &folders {
            std::fs::write(folder.path().join("f"), &content)?;
        }
        let reference = Files::of(vec![open(&folders[1])?]);
        Ok(Twins { folders, reference, is_set: false })
    }

    /// Two empty directories of items.
    pub fn sets() -> Result<Self, Failed> {
        let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
        let reference = Files::of(vec![set(folders[1].path())?]);
        Ok(Twins { folders, reference, is_set: true })
    }

    /// How long the reference's file is.
    pub fn file_bytes(&self) -> u64 {
        call::file_bytes(self.reference.fd(0)).unwrap_or(0)
    }

    /// Plays a script through an engine, and each operation through `call` as it is handed over. Operations that touch
    /// what is in flight, or that must be alone, wait until nothing is.
    pub fn play<E: Engine>(
        &mut self,
        settings: &[&str],
        depth: u32,
        count: u32,
        mut draw: impl FnMut(&Twins) -> (Io, bool),
    ) -> Result<(), Failed> {
        let own = if self.is_set { set(self.folders[0].path())? } else { open(&self.folders[0])? };
        let mut bench = Bench::<E>::new(settings, depth, vec![own])?;
        let mut flight: Vec<Option<Expected>> = (0..bench.memory.count()).map(|_| None).collect();
        let mut alone = false;
        for number in 0..count {
            let (io, wants_alone) = draw(self);
            let clash = flight.iter().flatten().any(|other| self.touch(&io, &other.io));
            if alone || wants_alone || clash || flight.iter().all(Option::is_some) {
                let all = alone || wants_alone || clash;
                reap(&mut bench, &mut flight, all)?;
            }
            alone = wants_alone;
            let slot = flight.iter().position(Option::is_none).ok_or("no slot is free")?;
            let mut random = Random(u64::from(number));
            bench.buffer(slot as Slot).fill_with(|| random.next() as u8);
            let mut content = bench.buffer(slot as Slot).to_vec();
            let result = call::perform(&Io { buffer: content.as_mut_ptr(), ..io }, &mut self.reference);
            flight[slot] = Some(Expected { io, result, content });
            bench.push(slot as Slot, io);
        }
        reap(&mut bench, &mut flight, true)
    }

    /// Whether the order of two operations could matter.
    fn touch(&self, one: &Io, other: &Io) -> bool {
        if self.is_set {
            // Links lead from one item to another, so a script with links must take care of all of them.
            let linked =
                |io: &Io| matches!(io.verb, Verb::Rename | Verb::Link | Verb::Symlink | Verb::Readdir);
            return linked(one) || linked(other) || one.offset == other.offset || self.has_links();
        }
        let data = |io: &Io| matches!(io.verb, Verb::Read | Verb::Write);
        let changes = one.verb == Verb::Write || other.verb == Verb::Write;
        let apart = one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
        data(one) && data(other) && changes && !apart
    }

    fn has_links(&self) -> bool {
        let entries = std::fs::read_dir(self.folders[1].path()).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
    }

    /// Both files hold the same bytes.
    pub fn same_content(&self) -> Result<(), Failed> {
        let read = |index: usize| std::fs::read(self.folders[index].path().join("f"));
        let (own, reference) = (read(0)?, read(1)?);
        match own.iter().zip(&reference).position(|(one, other)| one != other) {
            Some(offset) => Err(format!("the files differ at {offset}").into()),
            None if own.len() != reference.len() => {
                Err(format!("{} bytes, not {}", own.len(), reference.len()).into())
            }
            None => Ok(()),
        }
    }

    /// Both directories hold the same names of the same kind, mode and length.
    pub fn same_names(&self) -> Result<(), Failed> {
        use std::os::unix::fs::MetadataExt;
        let list = |index: usize| -> std::io::Result<Vec<_>> {
            let mut list = Vec::new();
            for entry in std::fs::read_dir(self.folders[index].path())? {
                let entry = entry?;
                let about = entry.metadata()?;
                let bytes = if about.is_dir() { 0 } else { about.len() };
                list.push((entry.file_name(), about.mode(), bytes, about.nlink()));
            }
            list.sort();
            Ok(list)
        };
        let (own, reference) = (list(0)?, list(1)?);
        if own == reference { Ok(()) } else { Err(format!("{own:?}\nis not\n{reference:?}").into()) }
    }
}

fn open(folder: &TempDir) -> std::io::Result<Handle> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(folder.path().join("f"))?;
    Ok(handle(file.into_raw_fd()))
}

/// Takes one completion or all of them, and holds each against what `call` said.
fn reap<E: Engine>(bench: &mut Bench<E>, flight: &mut [Option<Expected>], all: bool) -> Result<(), Failed> {
    loop {
        let in_flight = flight.iter().flatten().count() as u32;
        if in_flight == 0 {
            return Ok(());
        }
        let least = if all { in_flight } else { 1 };
        let done = bench.poll(least, NEVER)?;
        if done.len() < least as usize {
            return Err(format!("{} completions, {least} wanted", done.len()).into());
        }
        for (slot, result) in done {
            let expected = flight[slot as usize].take().ok_or(format!("slot {slot} completed twice"))?;
            let io = expected.io;
            let about = format!("{} at {} of {} bytes (other {})", io.verb, io.offset, io.bytes, io.other);
            if result != expected.result {
                return Err(format!("{about}: {result}, not {}", expected.result).into());
            }
            if io.verb == Verb::Read
                && bench.buffer(slot)[..result.max(0) as usize] != expected.content[..result.max(0) as usize]
            {
                return Err(format!("{about}: other bytes were read").into());
            }
        }
        if !all {
            return Ok(());
        }
    }
}
