//! The test stand: one worker, driven by hand without a conductor, so that nothing else allocates or takes time.

#![allow(dead_code)]

use std::os::fd::IntoRawFd;
use std::path::Path;

use iodyno_engine::connections::Connections;
use iodyno_engine::io::{Files, Handle};
use iodyno_engine::memory::Memory;
use iodyno_engine::names::templates::Asker;
use iodyno_engine::preread::Preread;
use iodyno_engine::source::{Source, SourceContext};
use iodyno_engine::start_barrier::StartBarrier;
use iodyno_engine::worker::Worker;
use iodyno_engine::worker_counters::CounterMapping;
use iodyno_engine::worker_findings::WorkerFindings;
use iodyno_engine::{EngineEntry, Failure};
use iodyno_model::{
    Extent, Job, Kind, Open, Pattern, Phase, Pick, Plan, Prepare, Setting, Tally, Target, TargetKind, Verb,
    Workload,
};

/// Random reads of one file, 4 KiB each.
pub struct Stand {
    plan: Plan,
}

impl Stand {
    /// So many operations at a depth on a file of so many bytes.
    pub fn new(path: &Path, bytes: u64, operations: u64, depth: u32, settings: &[&str]) -> Self {
        let path = path.display().to_string();
        let target = Target {
            name: "file".into(),
            kind: TargetKind::File { path, size: Extent::Bytes(bytes) },
            open: Open::default(),
            prepare: Prepare::Filled,
            remove: false,
            origin: Default::default(),
        };
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let mut job = Job::new("job", "", vec![0], Workload::Pattern(Box::new(pattern)));
        job.depth.most = depth;
        job.limit.operations = Some(operations);
        job.settings = settings
            .iter()
            .map(|setting| setting.split_once('=').unwrap_or((setting, "1")))
            .map(|(name, value)| Setting::new(name, value))
            .collect();
        let phase = Phase { name: "phase".into(), jobs: vec![job], ..Phase::default() };
        let plan = Plan {
            name: "stand".into(),
            seed: 7,
            targets: vec![target],
            phases: vec![phase],
            ..Plan::default()
        };
        Stand { plan }
    }

    /// The same, one place after the other: the cheapest source there is.
    pub fn sequential(mut self) -> Self {
        self.plan.phases[0].jobs[0].workload =
            Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 4096)));
        self
    }

    /// Drives an engine to the end and returns what was counted. `around` wraps the drive itself.
    pub fn run(&self, entry: &EngineEntry, around: impl FnOnce(&mut dyn FnMut())) -> Result<Tally, Failure> {
        let job: &Job = &self.plan.phases[0].jobs[0];
        let TargetKind::File { path, size: Extent::Bytes(bytes) } = &self.plan.targets[0].kind else {
            return Err(Failure::new("the stand drives files"));
        };
        let depth = job.depth.most.min(entry.facts.most_depth);
        let fd = match entry.facts.uses_files {
            true => std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap().into_raw_fd(),
            false => -1,
        };
        let files = Files::of(vec![Handle { fd, target: 0, bytes: *bytes, base: 0, names: None }]);
        let memory = Memory::new(depth, 4096).unwrap();
        // SAFETY: the memory is ours; it is touched so that no page fault is measured.
        unsafe { memory.whole().0.write_bytes(1, memory.whole().1) };
        let counters = CounterMapping::new(1, 1, false).unwrap();
        let barrier = StartBarrier::new(&[1]).unwrap();
        let source = |files: &Files, start| {
            Source::new(&SourceContext {
                engine: entry.facts,
                plan: &self.plan,
                job,
                worker: 0,
                asker: Asker::first(&job.name, 0),
                files,
                memory: &memory,
                depth,
                start,
                goal: None,
                passed: 0,
                rate: None,
                shared: None,
                supply: None,
            })
        };
        let mut worker = Worker {
            plan: &self.plan,
            job,
            barrier: &barrier,
            counters: counters.of(0),
            priorities: None,
            kinds: &[Kind::Read],
            files,
            memory: &memory,
            preread: Preread::default(),
            paths: &[],
            objects: &[],
            marks: Box::default(),
            depth,
            open: None,
            number: 0,
            index: 0,
            seat: 0,
            seats: 1,
            has_processor: true,
            seed: 7,
            writer: None,
            after: None,
            findings: &WorkerFindings::new(1),
            connections: &Connections::default(),
            source: &source,
        };
        let start = barrier.open();
        let mut outcome = Ok(());
        around(&mut || outcome = (entry.drive)(&mut worker));
        outcome.map(|()| counters.of(0).tally(&[("read".into(), Verb::Read)], start, start))
    }
}
