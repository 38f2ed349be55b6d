//! A source under test: a plan of one job, and an in-memory "engine" that plays files, pipes and slow devices.
//!
//! Exists so that sources are tested without a disk and without a clock. Refuses to be clever: one thread, and
//! completions in the order or disorder that the test asks for.

use iodyno_model::{
    Direct, Extent, Items, Job, Open, Phase, Plan, Prepare, ReplayRecord, SharedObject, Target, TargetKind,
    Verb, Workload,
};
use iodyno_trace::format::Reader;
use iodyno_trace::replay::{Feed, Share};
use iodyno_trace::{MemorySource, RecordSource, TraceError};

use super::replay::{OperationRing, ReplaySupply, Supply, WorkerEnds};
use super::{Next, SharedObjects, Source, SourceContext, UNTALLIED};
use crate::clock::Tick;
use crate::facts::EngineFacts;
use crate::failure::Failure;
use crate::io::{AT_POSITION, Files, Handle, Io, Names, SILENT};
use crate::memory::Memory;
use crate::names::templates::Asker;

/// Engines that touch no file, in the machine's time and in their own.
const NOTHING: EngineFacts = EngineFacts { uses_files: false, ..EngineFacts::named("null") };
const SIMULATED: EngineFacts = EngineFacts { is_virtual: true, ..NOTHING };

/// A file in memory.
#[derive(Default)]
pub struct Memo {
    pub bytes: Vec<u8>,
    pub position: usize,
    /// The lengths that successive reads bring at most: a pipe.
    pub dribble: Vec<usize>,
}

/// One operation as it was tallied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TallyEntry {
    pub label: u16,
    pub verb: Verb,
    pub offset: u64,
    pub result: i64,
    pub short: bool,
    pub started: Tick,
    pub latency: u64,
}

type Meddler = dyn FnMut(usize, &Io, &mut Memo) -> Option<i64>;

pub struct SourceBench {
    pub plan: Plan,
    pub files: Files,
    pub memory: Memory,
    pub memos: Vec<Memo>,
    pub shared: Option<SharedObjects>,
    /// How long each operation takes, ns.
    pub service_ns: u64,
    pub depth: u32,
    /// Changes or refuses an operation: its number and itself.
    pub meddle: Box<Meddler>,
    pub waits: usize,
    pub complaints: Vec<String>,
    /// The records of a trace that lies in no file.
    pub records: Option<MemorySource>,
    /// The same in our format.
    pub written: Option<Vec<u8>>,
    /// How faithful the last run was.
    pub replayed: Option<ReplayRecord>,
}

pub fn target(name: &str, kind: TargetKind) -> Target {
    let open = Open { direct: Direct::No, ..Open::default() };
    let (prepare, origin) = (Prepare::AsItIs, Default::default());
    Target { name: name.into(), kind, open, prepare, remove: false, origin }
}

impl SourceBench {
    /// A job on so many files of these lengths (their spans).
    pub fn new(workload: Workload, spans: &[u64]) -> SourceBench {
        let targets = (0..spans.len()).collect();
        let job = Job::new("j", "null", targets, workload);
        let file =
            |index| target(&format!("f{index}"), TargetKind::File { path: "f".into(), size: Extent::Rest });
        let mut plan = Plan { seed: 7, targets: (0..spans.len()).map(file).collect(), ..Plan::default() };
        plan.phases.push(Phase { jobs: vec![job], ..Phase::default() });
        let handle = |(index, bytes): (usize, &u64)| Handle {
            fd: -1,
            target: index as u32,
            bytes: *bytes,
            base: 0,
            names: None,
        };
        SourceBench {
            plan,
            files: Files::of(spans.iter().enumerate().map(handle).collect()),
            memory: Memory::new(16, 1 << 20).unwrap(),
            memos: spans
                .iter()
                .map(|bytes| Memo { bytes: vec![0; *bytes as usize], ..Memo::default() })
                .collect(),
            shared: None,
            service_ns: 100,
            depth: 1,
            meddle: Box::new(|_, _, _| None),
            waits: 0,
            complaints: Vec::new(),
            records: None,
            written: None,
            replayed: None,
        }
    }

    /// Makes the first target a set of `count` items, `present` percent of which exist.
    pub fn set(mut self, count: u64, present_percent: f64, extra: usize) -> SourceBench {
        let items = Items { count, own: true, present_percent, ..Items::default() };
        self.plan.targets[0] = target("set", TargetKind::FileSet { root: "d".into(), items });
        let names = Names { item_bytes: 64, ..Names::flat("", "", count) };
        self.files.handles[0].names = Some(Box::new(names));
        for _ in 0..extra {
            self.files.handles.push(Handle { fd: -1, target: 0, bytes: 0, base: 0, names: None });
            self.memos.push(Memo { bytes: vec![1; 64], ..Memo::default() });
        }
        self
    }

    pub fn job(&mut self) -> &mut Job {
        &mut self.plan.phases[0].jobs[0]
    }

    pub fn share(&mut self, shared: Vec<SharedObject>) {
        self.shared = Some(SharedObjects::new(&shared).unwrap());
    }

    pub fn source(&self) -> Result<Source, Failure> {
        self.source_of(Share { worker: 0, workers: 1 }, None)
    }

    /// The source of one of several workers that divide a trace.
    pub fn source_of(&self, share: Share, ends: Option<WorkerEnds>) -> Result<Source, Failure> {
        let job = &self.plan.phases[0].jobs[0];
        let supply = Supply::default();
        if let (Workload::Trace(trace), Some(records)) = (&job.workload, self.records.clone()) {
            let lengths: Vec<u64> = self.memos.iter().map(|memo| memo.bytes.len() as u64).collect();
            let written = self.written.clone();
            let open = Box::new(move || -> Result<Box<dyn RecordSource + Send>, TraceError> {
                Ok(match &written {
                    Some(bytes) => Box::new(Reader::new(std::io::Cursor::new(bytes.clone()))?),
                    None => Box::new(records.clone()),
                })
            });
            let passes = job.limit.passes.unwrap_or(1);
            let feed = Feed::new(open, trace, passes, share, &lengths, 1_000_000);
            let feed = feed.map_err(|error| Failure::new(error.to_string()))?;
            let feed = if job.payload.verify.is_some() { feed.serialised() } else { feed };
            supply.set(Some(ReplaySupply { ring: OperationRing::start(feed)?, ends }));
        }
        Source::new(&SourceContext {
            engine: if job.engine == "sim" { &SIMULATED } else { &NOTHING },
            plan: &self.plan,
            job,
            worker: 0,
            asker: Asker { all: job.workers, ..Asker::first(&job.name, 0) },
            files: &self.files,
            memory: &self.memory,
            depth: self.depth,
            start: 0,
            goal: None,
            passed: 0,
            rate: None,
            shared: self.shared.as_ref(),
            supply: Some(&supply),
        })
    }

    /// Runs the source as `drive` would, in virtual time; the oldest operation completes first.
    pub fn run(&mut self) -> Vec<TallyEntry> {
        self.run_until(Tick::MAX)
    }

    pub fn run_until(&mut self, deadline: Tick) -> Vec<TallyEntry> {
        let mut source = self.source().unwrap();
        let mut slots: Vec<Io> = (0..self.depth)
            .map(|slot| Io { buffer: self.memory.buffer(slot), ..source.template() })
            .collect();
        let mut flying: Vec<(u32, Tick, i64)> = Vec::new();
        let (mut all, mut now, mut number, mut deadline) = (Vec::new(), 0, 0, deadline);
        for _ in 0..1_000_000 {
            let mut wake = None;
            let mut over = false;
            if now >= deadline {
                over = !source.wind_up();
                deadline = Tick::MAX;
            }
            while !over && flying.len() < self.depth as usize {
                let slot =
                    (0..self.depth).find(|slot| flying.iter().all(|(other, ..)| other != slot)).unwrap();
                let io = &mut slots[slot as usize];
                match source.next(now, slot, io) {
                    Next::Io => {
                        io.started = now;
                        let result = self.perform(number, &slots[slot as usize]);
                        number += 1;
                        flying.push((slot, now + self.service_ns, result));
                        continue;
                    }
                    Next::Later(tick) => wake = Some(tick),
                    Next::Wait => {
                        self.waits += 1;
                        wake = Some(now + 20_000);
                    }
                    Next::Done => over = true,
                }
                break;
            }
            if flying.is_empty() {
                match wake {
                    _ if over => break,
                    Some(tick) => now = now.max(tick),
                    None => {}
                }
                continue;
            }
            if let Some(tick) = wake.filter(|tick| *tick < flying[0].1 && *tick > now) {
                now = tick;
                continue;
            }
            let (slot, ended, result) = flying.remove(0);
            now = now.max(ended);
            let io = &mut slots[slot as usize];
            let result = if source.listens { source.done(slot, io, result, now) } else { result };
            if result != UNTALLIED && io.flags & SILENT == 0 {
                let began = if io.flags & crate::io::PACED != 0 { io.intended } else { io.started };
                let short = result >= 0 && (result as u64) < io.bytes;
                let (label, verb, offset, started) = (io.label, io.verb, io.offset, io.started);
                all.push(TallyEntry { label, verb, offset, result, short, started, latency: now - began });
            }
        }
        self.complaints = source.complaints();
        self.replayed = source.certificate();
        all
    }

    fn perform(&mut self, number: usize, io: &Io) -> i64 {
        let memo = &mut self.memos[io.file as usize];
        if let Some(result) = (self.meddle)(number, io, memo) {
            return result;
        }
        if !matches!(io.verb, Verb::Read | Verb::Write) {
            return 0;
        }
        let at = if io.offset == AT_POSITION { memo.position } else { io.offset as usize };
        let mut bytes = io.bytes as usize;
        assert!(bytes <= self.memory.stride());
        if !memo.dribble.is_empty() && io.verb == Verb::Read {
            bytes = bytes.min(memo.dribble.remove(0));
        }
        // SAFETY: the source says that its buffer holds so many bytes, which the stage's memory does.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, bytes) };
        let moved = if io.verb == Verb::Read {
            let bytes = bytes.min(memo.bytes.len().saturating_sub(at));
            buffer[..bytes].copy_from_slice(&memo.bytes[at..at + bytes]);
            bytes
        } else {
            memo.bytes.resize(memo.bytes.len().max(at + bytes), 0);
            memo.bytes[at..at + bytes].copy_from_slice(buffer);
            bytes
        };
        memo.position = at + moved;
        moved as i64
    }
}
