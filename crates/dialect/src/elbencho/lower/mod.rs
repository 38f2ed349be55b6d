//! From a test to a plan: elbencho's phases in their order, with what writes dirty pages out or drops caches between them.
//!
//! ```text
//!   (sync, dropcache)  mkdirs  write  stat  read  delete files  delete directories     each followed by (sync, dropcache)
//! ```
//! A thread's number is counted over all hosts; names and ranges follow from it.

mod directories;
mod files;
mod objects;

use iodyno_model::{
    Action, Content, ErrorPolicy, Intent, Job, Limit, Marks, Measure, Operation, Origin, Pattern, Payload,
    PayloadMarks, Phase, Pick, Place, Placement, Plan, Prepare, Ranks, Rate, Refresh, Script, Setting,
    SharedKind, SharedObject, SharedUse, Stamp, Step, Target, TargetKind, Verb, Verify, VerifyWhen, Workload,
};

use super::test::{BenchmarkPaths, ElbenchoTest};
use super::view::{BESIDE, ENTRY, ElbenchoPhase, PhaseRole};
use crate::index_of;
use crate::ior::lower::names;

/// The name of a job that reads in a phase of writes.
pub const READERS: &str = "readers";

/// Length of the rows by which is told what was done when the first thread was done, ns.
const ROW_NS: u64 = 20_000_000;

/// The weights by which readers and writers keep their shares.
const BALANCE: &str = "balance";

/// Operations that one side of a balance may be ahead.
const AHEAD: u64 = 64;

/// A test's plan, and what its phases are.
pub fn plan(test: &ElbenchoTest) -> (Plan, Vec<ElbenchoPhase>) {
    let plan = Plan {
        name: "elbencho".into(),
        seed: test.seed,
        signatures_allowed: test.kind == BenchmarkPaths::Devices,
        ..Plan::default()
    };
    let mut lowering = ElbenchoLowering { test, plan, parts: Vec::new(), iteration: 0, rotation: 0 };
    for iteration in 0..test.settings.count("iterations").max(1) {
        lowering.iteration = iteration;
        lowering.iteration();
    }
    if let Some(phase) = lowering.plan.phases.first_mut() {
        phase.pause_ns = phase.pause_ns.max(test.pause_ns);
    }
    (lowering.plan, lowering.parts)
}

/// The hints in a list.
pub fn hints(list: &str) -> Vec<&str> {
    list.split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty()).collect()
}

struct ElbenchoLowering<'a> {
    test: &'a ElbenchoTest,
    plan: Plan,
    parts: Vec<ElbenchoPhase>,
    iteration: u64,
    /// How many threads further the data is that a phase works on.
    rotation: u64,
}

impl ElbenchoLowering<'_> {
    fn iteration(&mut self) {
        let test = self.test;
        self.settle();
        let stores = test.kind == BenchmarkPaths::Buckets;
        for (option, role) in [
            ("mkdirs", PhaseRole::MakeDirectories),
            ("write", PhaseRole::Write),
            ("stat", PhaseRole::Stat),
            ("s3listobjpar", PhaseRole::ListInParallel),
            ("read", PhaseRole::Read),
            ("s3multidel", PhaseRole::DeleteMany),
            ("delfiles", PhaseRole::DeleteFiles),
            ("deldirs", PhaseRole::DeleteDirectories),
        ] {
            if test.settings.number(option) <= 0 {
                continue;
            }
            match test.kind {
                _ if stores => self.objects(role),
                BenchmarkPaths::Directories => self.directories(role),
                _ => self.files(role),
            }
            self.rotation += test.settings.count("rotatehosts") * u64::from(test.threads);
            self.settle();
        }
    }

    /// Writes dirty pages out and drops caches, where that is wanted.
    fn settle(&mut self) {
        if self.test.flag("sync") {
            self.sync();
        }
        if self.test.flag("dropcache") {
            self.drop_caches();
        }
    }

    /// One thread of each host makes what lies in the file systems durable.
    fn sync(&mut self) {
        let test = self.test;
        let mut targets = Vec::new();
        for path in test.paths.clone() {
            let target = match test.kind {
                BenchmarkPaths::Devices => self.target(&path, false),
                BenchmarkPaths::Files => {
                    let root = names::parts(&path).0;
                    index_of(&mut self.plan.targets, files::folder(if root.is_empty() { "." } else { &root }))
                }
                _ => index_of(&mut self.plan.targets, files::folder(&path)),
            };
            index_of(&mut targets, target);
        }
        let verb = if test.kind == BenchmarkPaths::Devices { Verb::Fsync } else { Verb::Syncfs };
        let step = |target| Operation::on(verb, target).step("sync");
        let script = Script { steps: (0..targets.len()).map(step).collect(), ..Script::default() };
        let mut job = Job { limit: once(), ..Job::new("sync", "psync", targets, Workload::Script(script)) };
        job.measure = self.measure();
        self.quiet(PhaseRole::Sync, "SYNC", job);
    }

    fn drop_caches(&mut self) {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Stream, 1)));
        let target = Target {
            name: "caches".into(),
            kind: TargetKind::Nothing { bytes: 1 },
            open: Default::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Origin::Default,
        };
        let target = index_of(&mut self.plan.targets, target);
        let mut job = Job::new("dropcache", "exec", vec![target], workload);
        job.limit.operations = Some(1);
        job.settings = vec![
            Setting::new("command", "echo 3 > /proc/sys/vm/drop_caches"),
            Setting::new("redirect", "off"),
        ];
        job.measure = self.measure();
        self.quiet(PhaseRole::DropCaches, "DROPCACHE", job);
    }

    /// A phase whose rate is no result.
    fn quiet(&mut self, role: PhaseRole, name: &str, job: Job) {
        self.phase(role, name, vec![job], 0, 0);
        if let Some(phase) = self.plan.phases.last_mut() {
            phase.intent = Some(Intent::Nothing);
        }
    }

    fn phase(&mut self, role: PhaseRole, name: &str, mut jobs: Vec<Job>, entries: u64, bytes: u64) {
        let test = self.test;
        let limited = test.settings.count("timelimit");
        let shift = (self.rotation % test.all_threads().max(1)) as u32;
        for job in &mut jobs {
            if limited > 0 {
                job.limit.time_ns = Some(limited.saturating_mul(1_000_000_000));
            }
            if shift > 0 && job.ranks == Ranks::All && job.workers == test.threads {
                job.place = Place::ShiftRanks(shift);
            }
        }
        let is_first = self.plan.phases.is_empty();
        let balanced = jobs.iter().any(|job| !job.pace.shared.is_empty());
        let shared = SharedObject::new(BALANCE, SharedKind::Weights { most: AHEAD });
        self.plan.phases.push(Phase {
            name: name.into(),
            jobs,
            shared: if balanced { vec![shared] } else { Vec::new() },
            pause_ns: if is_first {
                0
            } else {
                test.settings.count("phasedelay").saturating_mul(1_000_000_000)
            },
            repetition: self.iteration as u32,
            unless_failed: !is_first && !test.flag("s3ignoreerrors"),
            unless_timed_out: limited > 0 && !is_first,
            ..Phase::default()
        });
        let others = phase_others(self.plan.phases.last());
        self.parts.push(ElbenchoPhase {
            role,
            name: name.into(),
            iteration: self.iteration,
            entries,
            bytes,
            others,
        });
    }

    fn measure(&self) -> Measure {
        Measure { row_ns: ROW_NS, ..Measure::default() }
    }

    /// A job of all threads.
    fn job(&self, name: &str, targets: Vec<usize>, workload: Workload) -> Job {
        let test = self.test;
        let mut job = Job::new(name, "psync", targets, workload);
        job.workers = test.threads.max(1);
        job.errors = if test.flag("s3ignoreerrors") { ErrorPolicy::Continue } else { ErrorPolicy::Stop };
        job.measure = self.measure();
        job.limit = self.limit();
        job.placement = self.placement();
        job
    }

    /// All of it once, or again and again.
    fn limit(&self) -> Limit {
        let endless = self.test.flag("infloop");
        Limit { passes: Some(if endless { 1 << 40 } else { 1 }), ..Limit::default() }
    }

    fn placement(&self) -> Placement {
        let test = self.test;
        let list = |name: &str| {
            let text = test.settings.text(name).unwrap_or_default();
            let numbers = text.split([',', ' ']).filter_map(|word| word.parse().ok()).collect::<Vec<u32>>();
            (!text.is_empty()).then_some(numbers)
        };
        Placement {
            cpus: list("cores").unwrap_or_default(),
            spread: test.settings.is_given("cores"),
            numa_cpu_nodes: list("zones").unwrap_or_default(),
            ..Placement::default()
        }
    }

    /// Rates of a job that reads or writes.
    fn paced(&self, job: &mut Job, is_reader: bool) {
        let test = self.test;
        let (reads, writes) = (test.settings.count("limitread"), test.settings.count("limitwrite"));
        let limit = if is_reader { reads } else { writes };
        if limit > 0 {
            job.pace.rate_all = Rate::Bytes(limit);
            job.pace.open_loop = false;
        }
        let percent = test.settings.number("rwmixthrpct");
        if percent > 0 && test.readers() > 0 {
            // A side's weight is the other side's share.
            let amount = if job.name == READERS { 100 - percent } else { -percent };
            job.pace.shared = vec![SharedUse::new(BALANCE, amount)];
        }
    }

    /// What is written, and how it is checked.
    fn payload(&self, reads: bool) -> Payload {
        let test = self.test;
        let salt = test.settings.count("verify");
        if salt > 0 {
            let marked = PayloadMarks { marks: Marks::Summed, signature: salt as u32 };
            let checks = reads || test.flag("verifydirect");
            let verify = Verify { stamp: Stamp::Content, when: VerifyWhen::OnRead, ..Verify::default() };
            return Payload {
                content: Content::Marked(marked),
                refresh: Refresh::EachWrite,
                verify: checks.then_some(verify),
                ..Payload::default()
            };
        }
        let varies = test.settings.count("blockvarpct");
        Payload {
            refresh: if varies == 0 { Refresh::Once } else { Refresh::EachWrite },
            ..Payload::default()
        }
    }

    /// The number of a thread in a name.
    fn worker(&self) -> String {
        match self.test.settings.count("rankoffset") {
            0 => "{worker}".into(),
            offset => format!("{{worker:+{offset}}}"),
        }
    }
}

/// Operations of an entry besides reads and writes: of a composite its steps, otherwise one.
fn phase_others(phase: Option<&Phase>) -> u64 {
    let Some(Workload::Script(script)) = phase.and_then(|phase| phase.jobs.last()).map(|job| &job.workload)
    else {
        return 1;
    };
    let count = |steps: &[Step]| {
        let is_other =
            |step: &&Step| matches!(&step.action, Action::Do(operation) if !operation.verb.moves_data());
        steps.iter().filter(is_other).count() as u64
    };
    let mut steps = &script.steps;
    let mut others = 1;
    while let Some(Step { action: Action::Block(inner), .. }) = steps.first() {
        (others, steps) = (count(inner).max(1), inner);
    }
    others
}

/// All of it once.
fn once() -> Limit {
    Limit { passes: Some(1), ..Limit::default() }
}

/// Several steps as one, so often.
fn entry(steps: Vec<Step>, times: u64) -> Step {
    Step { label: ENTRY.into(), action: Action::Block(steps), repeat: times.max(1), origin: Origin::Default }
}

/// An argument of an operation.
fn with(mut operation: Operation, name: &str, value: impl ToString) -> Operation {
    operation.arguments.push((name.into(), value.to_string()));
    operation
}
