//! The lines of `--debug`, from events: what workers went through, what each operation was, which seeds were used.
//!
//! An engine's own request has no address that anybody could use: `io_u` is the slot that an operation has while it is in
//! flight. Of the random numbers, the block that came of each is shown.

mod others;
mod regions;

use std::collections::{BTreeSet, HashMap};

use iodyno_model::pace::{Criterion, Steady};
use iodyno_model::{
    Event, Job, JournalEntry, JournalPart, PhaseRecord, Pick, Plan, RunStart, Target, Verb, WorkerRecord,
    Workload,
};

use self::regions::RegionLines;
use super::disks::disks;
use crate::fio::debug::DebugCategories;
use crate::fio::lower::names;
use crate::fio::view::{JobView, ReportContext};

/// Makes the lines of a run.
pub struct DebugLines {
    debug: DebugCategories,
    plan: Plan,
    /// What each worker has in flight, by phase, job and number: verb, offset, length, file.
    in_flight: HashMap<(usize, usize, u32), Vec<Option<InFlight>>>,
    /// Where each worker is that preconditions a file, by phase, job, number and file.
    regions: HashMap<(usize, usize, u32, u32), RegionLines>,
}

#[derive(Clone, Copy, PartialEq)]
struct InFlight {
    verb: Verb,
    offset: u64,
    bytes: u64,
    file: u32,
}

impl DebugLines {
    /// For a run with these categories.
    pub fn new(debug: &DebugCategories) -> Self {
        DebugLines {
            debug: debug.clone(),
            plan: Plan::default(),
            in_flight: HashMap::new(),
            regions: HashMap::new(),
        }
    }

    /// What is printed of an event.
    pub fn lines(&mut self, event: &Event, view: &ReportContext) -> String {
        match event {
            Event::Started(started) => self.started(started, view),
            Event::Journal(part) => self.operations(part, view),
            Event::PhaseEnded(phase) => self.phase_ended(phase, view),
            _ => String::new(),
        }
    }

    fn started(&mut self, started: &RunStart, view: &ReportContext) -> String {
        self.plan = started.plan.clone();
        let (pid, debug) = (self.debug.pid, self.debug.clone());
        let line = |category: &str, text: String| debug.line(category, pid, text);
        let mut text = self.debug.before_start();
        text += &line("time", format!("gettime: clocksource={}", started.machine.clock));
        for path in self.files(view) {
            text += &line("file", format!("add file {path}"));
        }
        text += &self.of_other_categories(view);
        for (number, job, clone) in workers(view) {
            let Some(planned) = self.job(job).cloned() else { continue };
            if !self.debug.shows(number, all_workers(view)) {
                continue;
            }
            text += &line("io", format!("load ioengine {}", job.engine));
            let content = planned.payload.seed.unwrap_or(self.plan.seed);
            let choices = planned.seed.unwrap_or(self.plan.seed).wrapping_add(clone.into());
            text += &line("random", "FIO_RAND_NR_OFFS=2".into());
            text += &line("random", format!("rand_seeds[0]={choices}"));
            text += &line("random", format!("rand_seeds[1]={content}"));
            text += &self.regions_begin(&planned, job, clone);
            text += &line("mutex", "wait on startup_sem".into());
            text += &line("process", "pid=0: runstate NOT_CREATED -> CREATED".into());
            text += &line("process", if job.threads { "will pthread_create" } else { "will fork" }.into());
        }
        text
    }

    /// The files of all workers by their names, each once.
    fn files(&self, view: &ReportContext) -> Vec<String> {
        let mut known = BTreeSet::new();
        let mut files = Vec::new();
        for (number, job, clone) in workers(view) {
            let Some(planned) = self.job(job).filter(|_| self.debug.shows(number, all_workers(view))) else {
                continue;
            };
            let targets = planned.targets.iter().filter_map(|index| self.plan.targets.get(*index));
            let paths = targets.filter_map(Target::path).map(|path| names::of_clone(path, clone));
            files.extend(paths.filter(|path| known.insert(path.clone())));
        }
        files
    }

    fn job(&self, view: &JobView) -> Option<&Job> {
        self.plan.phases.get(view.phase)?.jobs.get(view.job)
    }

    fn operations(&mut self, part: &JournalPart, view: &ReportContext) -> String {
        let known = workers(view)
            .find(|(_, job, clone)| (job.phase, job.job, *clone) == (part.phase, part.job, part.worker));
        let Some((number, job, _)) = known.filter(|_| self.debug.shows_operations()) else {
            return String::new();
        };
        if !self.debug.shows(number, all_workers(view)) {
            return String::new();
        }
        let mut slots = self.in_flight.remove(&(part.phase, part.job, part.worker)).unwrap_or_default();
        let mut text = String::new();
        for entry in &part.entries {
            text += &self.region_of(entry, part);
            text += &self.operation(entry, part, job, &mut slots);
        }
        self.in_flight.insert((part.phase, part.job, part.worker), slots);
        text
    }

    fn operation(
        &self,
        entry: &JournalEntry,
        part: &JournalPart,
        job: &JobView,
        slots: &mut Vec<Option<InFlight>>,
    ) -> String {
        let path = |file: u32| part.files.get(file as usize).map_or("", String::as_str);
        match *entry {
            JournalEntry::Began { verb: verb @ (Verb::Open | Verb::Close), file, .. } => {
                self.debug.line("file", part.pid, format!("fd {} {}", verb.name(), path(file)))
            }
            JournalEntry::Began { verb, file, offset, bytes, .. } => {
                let one = InFlight { verb, offset, bytes, file };
                let slot = slots.iter().position(Option::is_none).unwrap_or(slots.len());
                slots.resize(slots.len().max(slot + 1), None);
                slots[slot] = Some(one);
                self.begun(slot, one, path(file), part.pid, job)
            }
            JournalEntry::Done { verb, offset, bytes, .. } => {
                let same = |one: &InFlight| (one.verb, one.offset) == (verb, offset);
                let slot = slots.iter().position(|slot| slot.as_ref().is_some_and(same));
                let file = slot.and_then(|slot| slots[slot].take()).map_or(0, |one| one.file);
                let one = InFlight { verb, offset, bytes, file };
                self.state("complete", slot.unwrap_or(0), one, path(file), part.pid)
            }
            _ => String::new(),
        }
    }

    fn begun(&self, slot: usize, one: InFlight, path: &str, pid: u32, job: &JobView) -> String {
        let line = |category: &str, text: String| self.debug.line(category, pid, text);
        let mut text = String::new();
        // What is read back was drawn when it was written.
        let is_check = is_check(job, one.verb);
        let moves = matches!(one.verb, Verb::Read | Verb::Write | Verb::Trim);
        if moves && !is_check && self.job(job).is_some_and(|job| is_drawn(job, one.verb)) {
            text += &line("random", format!("off rand {}", one.offset / smallest(job, one.verb)));
        }
        if job.verifies {
            let method = &job.verify;
            text += &match one.verb {
                Verb::Write => line("verify", format!("fill {method} io_u {slot:#x}, len {}", one.bytes)),
                Verb::Read => line("verify", format!("{method} verify io_u {slot:#x}, len {}", one.bytes)),
                _ => String::new(),
            };
        }
        text + &["fill", "prep", "queue"].map(|state| self.state(state, slot, one, path, pid)).concat()
    }

    fn state(&self, state: &str, slot: usize, one: InFlight, path: &str, pid: u32) -> String {
        let direction = match one.verb {
            Verb::Read => 0,
            Verb::Write => 1,
            Verb::Trim => 2,
            Verb::Fdatasync => 4,
            Verb::SyncFileRange => 5,
            _ => 3,
        };
        let InFlight { offset, bytes, .. } = one;
        let place = format!("off={offset:#x},len={bytes:#x},ddir={direction},file={path}");
        self.debug.line("io", pid, format!("{state}: io_u {slot:#x}: {place}"))
    }

    fn phase_ended(&mut self, phase: &PhaseRecord, view: &ReportContext) -> String {
        let mut text = String::new();
        for (number, job, clone) in workers(view).filter(|(_, job, _)| job.phase == phase.index) {
            let record = phase.jobs.get(job.job).and_then(|record| record.workers.get(clone as usize));
            let Some(worker) = record.filter(|_| self.debug.shows(number, all_workers(view))) else {
                continue;
            };
            text += &self.worker_ended(worker, job);
            let asked = self.job(job).and_then(|job| job.limit.steady);
            text += &asked.map_or_else(String::new, |asked| self.steady(worker, &asked));
        }
        for disk in disks(std::iter::once(phase)) {
            let (ios, merge, ticks) = (disk.requests, disk.merges, disk.ticks);
            let told = format!(
                "{}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:.2}%",
                disk.name, ios.0, ios.1, merge.0, merge.1, ticks.0, ticks.1, disk.in_queue, disk.util
            );
            text += &self.debug.line("diskutil", self.debug.pid, told);
        }
        self.in_flight.retain(|(of, ..), _| *of != phase.index);
        text += &self.regions_end(phase.index);
        text
    }

    fn worker_ended(&self, worker: &WorkerRecord, job: &JobView) -> String {
        let pid = worker.pid;
        let blocks = [job.blocks.read.1, job.blocks.write.1, job.blocks.trim.1];
        let most = blocks.into_iter().max().unwrap_or(0).saturating_mul(job.depth.into());
        let mut text = self.debug.line("mem", pid, format!("Alloc {most} for buffers"));
        text += &self.debug.line("mutex", self.debug.pid, "done waiting on startup_sem");
        for what in ["up startup_sem", "wait on td->sem", "done waiting on td->sem"] {
            text += &self.debug.line("mutex", pid, what);
        }
        text += &self.debug.line("process", pid, format!("jobs pid={pid} started"));
        let ramps = self.job(job).is_some_and(|job| job.limit.ramp_ns > 0);
        let states = ["CREATED", "INITIALIZED"].into_iter().chain(ramps.then_some("RAMP")).chain(["RUNNING"]);
        let checks = is_check(job, Verb::Read);
        let states = states.chain(checks.then_some("VERIFYING")).chain(["FINISHING", "EXITED", "REAPED"]);
        let states: Vec<&str> = states.collect();
        for pair in states.windows(2) {
            text +=
                &self.debug.line("process", pid, format!("pid={pid}: runstate {} -> {}", pair[0], pair[1]));
        }
        text
    }

    /// The last window in which steadiness was looked for.
    fn steady(&self, worker: &WorkerRecord, asked: &Steady) -> String {
        let Some(record) = worker.steady.as_ref() else { return String::new() };
        let Some(found) = record.found else { return String::new() };
        let values = match asked.criterion {
            Criterion::Operations => &record.operations,
            Criterion::Bytes => &record.bytes,
            Criterion::Latency => &record.latency_ns,
        };
        let sum: f64 = values.iter().sum();
        let limit = asked.limit;
        let told = match asked.slope {
            true => {
                let by_place: f64 =
                    values.iter().enumerate().map(|(place, value)| place as f64 * value).sum();
                let slope = record.slope;
                format!(
                    "sum_y: {sum:.0}, sum_xy: {by_place:.0}, slope: {slope:.6}, criterion: {found:.6}, limit: {limit:.6}"
                )
            }
            false => {
                let (mean, most) = (sum / values.len().max(1) as f64, record.deviation);
                format!(
                    "sum_y: {sum:.0}, mean: {mean:.6}, max diff: {most:.6}, objective: {found:.6}, limit: {limit:.6}"
                )
            }
        };
        self.debug.line("steadystate", worker.pid, told)
    }
}

/// All workers: their number in the run, their job and their number in it.
fn workers(view: &ReportContext) -> impl Iterator<Item = (u32, &JobView, u32)> {
    let clones = view.jobs.iter().flat_map(|job| (0..job.clones).map(move |clone| (job, clone)));
    clones.enumerate().map(|(number, (job, clone))| (number as u32, job, clone))
}

fn all_workers(view: &ReportContext) -> u32 {
    view.jobs.iter().map(|job| job.clones).sum()
}

/// Whether a job's operations of that kind read back what it wrote.
fn is_check(job: &JobView, verb: Verb) -> bool {
    job.verifies && verb == Verb::Read && job.direction.contains("write")
}

fn is_drawn(job: &Job, verb: Verb) -> bool {
    let Workload::Pattern(pattern) = &job.workload else { return false };
    let pick = match verb {
        Verb::Read => &pattern.pick.read,
        Verb::Write => &pattern.pick.write,
        _ => &pattern.pick.trim,
    };
    !matches!(pick, Pick::Sequential | Pick::Gap(_))
}

fn smallest(job: &JobView, verb: Verb) -> u64 {
    let blocks = match verb {
        Verb::Read => job.blocks.read,
        Verb::Write => job.blocks.write,
        _ => job.blocks.trim,
    };
    blocks.0.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Extent, JobRecord, Pattern, PerDirection, Phase, SteadyRecord, TargetKind};

    fn view(categories: &str) -> ReportContext {
        let mut view = ReportContext::default();
        assert_eq!(view.style.debug.ask(categories), [""; 0]);
        view.style.debug.pid = 7;
        let blocks = PerDirection::same((4096, 4096));
        let job = JobView { clones: 2, engine: "psync".into(), depth: 1, blocks, ..JobView::default() };
        view.jobs = vec![JobView { verifies: true, verify: "crc32c".into(), direction: "randwrite", ..job }];
        view
    }

    fn steadiness() -> Steady {
        let (window_ns, ramp_ns, interval_ns) = (3_000_000_000, 0, 1_000_000_000);
        let criterion = Criterion::Operations;
        Steady { criterion, slope: false, limit: 5.0, percent: true, window_ns, ramp_ns, interval_ns }
    }

    fn plan() -> Plan {
        let mut pattern = Pattern::of(Verb::Write, Pick::Uniform, 4096);
        pattern.pick = PerDirection::same(Pick::Uniform);
        let mut job = Job::new("x", "psync", vec![0], Workload::Pattern(Box::new(pattern)));
        job.seed = Some(12_345);
        job.limit.steady = Some(steadiness());
        let target = Target {
            name: "f".into(),
            kind: TargetKind::File { path: "/f".into(), size: Extent::Bytes(1 << 20) },
            open: iodyno_model::Open::default(),
            prepare: iodyno_model::Prepare::AsItIs,
            remove: false,
            origin: iodyno_model::Origin::Default,
        };
        let phase = Phase { jobs: vec![job], ..Phase::default() };
        Plan { seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() }
    }

    fn lines(categories: &str) -> String {
        let view = view(categories);
        let mut debug = DebugLines::new(&view.style.debug);
        let began = |verb, offset, bytes| JournalEntry::Began { at_ns: 0, verb, file: 0, offset, bytes };
        let done = |offset| JournalEntry::Done {
            at_ns: 0,
            verb: Verb::Write,
            file: 0,
            offset,
            bytes: 4096,
            submission_ns: 0,
            completion_ns: 1,
            latency_ns: 1,
            priority: 0,
        };
        let entries = vec![
            began(Verb::Open, 0, 0),
            began(Verb::Write, 8192, 4096),
            began(Verb::Write, 0, 4096),
            done(0),
            began(Verb::Fsync, 0, 0),
            done(8192),
        ];
        let part =
            JournalPart { worker: 1, pid: 4711, files: vec!["/f".into()], entries, ..JournalPart::default() };
        let steady = SteadyRecord {
            found: Some(1.5),
            deviation: 15.0,
            slope: 2.0,
            operations: vec![1000.0, 1010.0, 990.0],
            ..SteadyRecord::default()
        };
        let worker = |pid| WorkerRecord { pid, steady: Some(steady.clone()), ..WorkerRecord::default() };
        let record = JobRecord { workers: vec![worker(4710), worker(4711)], ..JobRecord::default() };
        let phase = PhaseRecord { jobs: vec![record], ..PhaseRecord::default() };
        let events = [
            Event::Started(Box::new(RunStart { plan: plan(), ..RunStart::default() })),
            Event::Journal(Box::new(part)),
            Event::PhaseEnded(Box::new(phase)),
        ];
        let text: String = events.iter().map(|event| debug.lines(event, &view)).collect();
        text.lines().filter(|line| !line.starts_with("fio: set")).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn files_have_their_names_and_waits_their_processes() {
        let mut plan = plan();
        plan.targets[0].kind =
            TargetKind::File { path: "/d/a.{worker}.0".into(), size: Extent::Bytes(1 << 20) };
        let mut view = view("file");
        view.jobs[0].direction = "randwrite";
        let mut debug = DebugLines::new(&view.style.debug);
        let started =
            |plan: &Plan| Event::Started(Box::new(RunStart { plan: plan.clone(), ..RunStart::default() }));
        let text = debug.lines(&started(&plan), &view);
        assert!(
            text.ends_with("file     7     add file /d/a.0.0\nfile     7     add file /d/a.1.0\n"),
            "{text}"
        );
        assert_eq!(view.style.debug.ask("job:1"), [""; 0]);
        let text = DebugLines::new(&view.style.debug).lines(&started(&plan), &view);
        assert!(!text.contains("a.0.0") && text.contains("a.1.0"), "{text}");
        let waits = lines("mutex,job:1");
        assert_eq!(
            waits,
            "mutex    7     wait on startup_sem\nmutex    7     done waiting on startup_sem\n\
             mutex    4711  up startup_sem\nmutex    4711  wait on td->sem\nmutex    4711  done waiting on td->sem\n"
        );
    }

    #[test]
    fn seeds_and_what_was_drawn() {
        assert_eq!(
            lines("random"),
            "random   7     FIO_RAND_NR_OFFS=2\nrandom   7     rand_seeds[0]=12345\nrandom   7     rand_seeds[1]=1\n\
             random   7     FIO_RAND_NR_OFFS=2\nrandom   7     rand_seeds[0]=12346\nrandom   7     rand_seeds[1]=1\n\
             random   4711  off rand 2\nrandom   4711  off rand 0\n"
        );
    }

    #[test]
    fn operations_have_the_slot_that_they_are_in() {
        assert_eq!(
            lines("io,file,job:1"),
            "file     7     add file /f\n\
             io       7     load ioengine psync\n\
             file     4711  fd open /f\n\
             io       4711  fill: io_u 0x0: off=0x2000,len=0x1000,ddir=1,file=/f\n\
             io       4711  prep: io_u 0x0: off=0x2000,len=0x1000,ddir=1,file=/f\n\
             io       4711  queue: io_u 0x0: off=0x2000,len=0x1000,ddir=1,file=/f\n\
             io       4711  fill: io_u 0x1: off=0x0,len=0x1000,ddir=1,file=/f\n\
             io       4711  prep: io_u 0x1: off=0x0,len=0x1000,ddir=1,file=/f\n\
             io       4711  queue: io_u 0x1: off=0x0,len=0x1000,ddir=1,file=/f\n\
             io       4711  complete: io_u 0x1: off=0x0,len=0x1000,ddir=1,file=/f\n\
             io       4711  fill: io_u 0x1: off=0x0,len=0x0,ddir=3,file=/f\n\
             io       4711  prep: io_u 0x1: off=0x0,len=0x0,ddir=3,file=/f\n\
             io       4711  queue: io_u 0x1: off=0x0,len=0x0,ddir=3,file=/f\n\
             io       4711  complete: io_u 0x0: off=0x2000,len=0x1000,ddir=1,file=/f\n"
        );
        assert_eq!(lines("io,job:0").matches("4711").count(), 0);
    }

    #[test]
    fn workers_states_checks_and_the_last_window() {
        let process = lines("process,job:0");
        for pair in
            ["CREATED -> INITIALIZED", "RUNNING -> VERIFYING", "VERIFYING -> FINISHING", "EXITED -> REAPED"]
        {
            assert!(process.contains(&format!("process  4710  pid=4710: runstate {pair}\n")), "{process}");
        }
        assert!(lines("verify").contains("verify   4711  fill crc32c io_u 0x1, len 4096\n"));
        assert_eq!(
            lines("steadystate,job:1"),
            "steadystate 4711  sum_y: 3000, mean: 1000.000000, max diff: 15.000000, objective: 1.500000, limit: 5.000000\n"
        );
    }
}
