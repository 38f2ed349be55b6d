//! From a test to a plan: the phases, each a script over the data sets.
//!
//! ```text
//!   precreate   object f of each data set is made, f = start … P-1
//!   benchmark   in each data set in turn: the oldest object is looked at, read and removed, and the one P further is made
//!   cleanup     the P objects that are left in each data set are removed, and the data set
//! ```
//! Data set d of task t is the directory `t_d`. A task removes from `(t - O·(d+1))_d` and writes to `(t + O·(d+1))_d`, so
//! that what it finds was made by another one.

use iodyno_model::{
    Content, Direct, ErrorPolicy, FileLock, Intent, Item, ItemData, ItemMarks, Items, Job, Journal, Limit,
    Measure, Open, Operation, Origin, Payload, PayloadMarks, Phase, Plan, Prepare, Ranks, Refresh, Script,
    Size, Stamp, Step, Stop, Target, TargetKind, Think, Verb, Verify, VerifyWhen, Workload,
};

use super::test::WorkbenchTest;
use super::view::{PhaseRole, TestPhase};
use crate::index_of;
use crate::mdtest::lower::delays;

/// A test's plan, and what its phases are.
pub fn plan(test: &WorkbenchTest) -> (Plan, Vec<TestPhase>) {
    let plan = Plan { name: "md-workbench".into(), seed: u64::from(test.signature), ..Plan::default() };
    let mut lowering = Lowering { test, plan, parts: Vec::new() };
    lowering.phases();
    (lowering.plan, lowering.parts)
}

struct Lowering<'a> {
    test: &'a WorkbenchTest,
    plan: Plan,
    parts: Vec<TestPhase>,
}

impl Lowering<'_> {
    fn phases(&mut self) {
        let does = self.test.does;
        if does.precreate {
            self.precreate();
        }
        let waiting = self.test.waiting();
        if does.benchmark {
            for iteration in 0..self.test.iterations {
                waiting.iter().for_each(|waiting| self.benchmark(iteration, *waiting));
            }
        }
        if does.cleanup {
            self.cleanup(waiting.last().copied().unwrap_or_default());
        }
    }

    fn precreate(&mut self) {
        let sets = self.own_sets();
        let mkdir = |set| Operation { item: Item::Whole, ..Operation::on(Verb::Mkdir, set) }.step("mkdir");
        let script = Script { steps: (0..sets.len()).map(mkdir).collect(), ..Script::default() };
        let first = PhaseRole::Sets;
        self.add(first, 0, 0.0, self.job(first, sets.clone(), script));
        let create = |set| {
            let item = Item::Oldest { first: self.test.start, after: None };
            self.moving(Operation { item, ..Operation::on(Verb::Create, set) }).step("create")
        };
        let script = Script { steps: (0..sets.len()).map(create).collect(), ..Script::default() };
        let role = PhaseRole::Precreate;
        let mut job = self.job(role, sets, script);
        job.limit.passes = Some(self.test.precreated - self.test.start);
        job.payload = self.payload(false);
        self.add(role, 0, 0.0, job);
    }

    fn benchmark(&mut self, iteration: u32, waiting: f64) {
        let (test, role) = (self.test, PhaseRole::Benchmark);
        let changes = !test.flag("read-only");
        let (mut targets, mut steps) = (Vec::new(), Vec::new());
        for set in 0..test.sets {
            let from = index_of(&mut targets, self.set(set, test.further(set, -1)));
            // What is only read is there in the next iteration, too.
            let after = changes.then(|| role.name().to_string());
            let oldest = Item::Oldest { first: test.start, after };
            let last = || Item::Last { further: 0 };
            let skips = if changes { 3 } else { 1 };
            steps.push(Operation { item: oldest, skips, ..Operation::on(Verb::Stat, from) }.step("stat"));
            let read = Operation { item: last(), ..Operation::on(Verb::Open, from) };
            steps.push(self.moving(read).step("read"));
            if changes {
                let to = index_of(&mut targets, self.set(set, test.further(set, 1)));
                steps.push(Operation { item: last(), ..Operation::on(Verb::Unlink, from) }.step("delete"));
                let item = Item::Last { further: test.precreated };
                steps.push(self.moving(Operation { item, ..Operation::on(Verb::Create, to) }).step("create"));
            }
        }
        let mut job = self.job(role, targets, Script { steps, ..Script::default() });
        job.limit = Limit { passes: Some(test.objects), ..Limit::default() };
        if test.stonewall_s > 0 {
            job.limit.time_ns = Some(test.stonewall_s.saturating_mul(1_000_000_000));
            job.limit.wear_out = true;
        }
        let think = Think { times_latency: waiting, every: 1, ..Think::default() };
        job.pace.think = (waiting > 1e-9).then_some(think);
        job.payload = self.payload(test.flag("X"));
        self.add(role, iteration, waiting, job);
    }

    fn cleanup(&mut self, waiting: f64) {
        let (test, role) = (self.test, PhaseRole::Cleanup);
        let sets = self.own_sets();
        let changes = test.does.benchmark && !test.flag("read-only");
        let of_set = |set| {
            let after = changes.then(|| PhaseRole::Benchmark.name().to_string());
            let item = Item::Oldest { first: test.start, after };
            let delete = Operation { item, ..Operation::on(Verb::Unlink, set) }.step("delete");
            let rmdir = Operation { item: Item::Whole, ..Operation::on(Verb::Rmdir, set) }.step("rmdir");
            [Step { repeat: test.precreated, ..delete }, rmdir]
        };
        let script = Script { steps: (0..sets.len()).flat_map(of_set).collect(), ..Script::default() };
        self.add(role, test.iterations, waiting, self.job(role, sets, script));
        // Not a failure where something else is in it.
        let root = test.directory.clone();
        let around = Target {
            name: root.clone(),
            kind: TargetKind::FileSet { root, items: Items { count: 0, ..Items::default() } },
            ..self.blank_target()
        };
        let around = index_of(&mut self.plan.targets, around);
        let rmdir = Operation { item: Item::Whole, ..Operation::on(Verb::Rmdir, 0) }.step("rmdir");
        let hidden = PhaseRole::Hidden;
        let job = self.job(hidden, vec![around], Script { steps: vec![rmdir], ..Script::default() });
        self.add(hidden, 0, 0.0, Job { ranks: Ranks::Workers(1), ..job });
    }

    /// An operation that writes or reads a whole object between opening and closing it.
    fn moving(&self, operation: Operation) -> Operation {
        Operation { item_data: Some(ItemData::default()), size: Size::Fixed(self.test.bytes), ..operation }
    }

    fn payload(&self, checks: bool) -> Payload {
        let verify = Verify { stamp: Stamp::Content, when: VerifyWhen::OnRead, ..Verify::default() };
        let marks = PayloadMarks { marks: self.test.marks, signature: self.test.signature };
        Payload {
            content: Content::Marked(marks),
            refresh: Refresh::EachWrite,
            verify: checks.then_some(verify),
            ..Payload::default()
        }
    }

    fn job(&self, role: PhaseRole, targets: Vec<usize>, script: Script) -> Job {
        let test = self.test;
        let mut job = Job::new(role.name(), "psync", targets, Workload::Script(script));
        job.workers = test.threads;
        job.errors = ErrorPolicy::Continue;
        if test.settings.text("a") == Some("DUMMY") {
            job.engine = "dummy".into();
            job.settings = delays(&test.settings);
        }
        let journal = Journal { completions: true, ..Journal::default() };
        let journal = test.settings.text("L").map(|_| journal);
        job.measure = Measure { each: test.flag("process-reports"), journal, ..Measure::default() };
        job
    }

    fn add(&mut self, role: PhaseRole, iteration: u32, waiting: f64, job: Job) {
        self.plan.phases.push(Phase {
            intent: matches!(role, PhaseRole::Sets | PhaseRole::Hidden).then_some(Intent::Nothing),
            name: role.name().into(),
            jobs: vec![job],
            stop: Stop::Each,
            repetition: iteration * u32::from(role == PhaseRole::Benchmark),
            ..Phase::default()
        });
        self.parts.push(TestPhase { role, iteration, waiting });
    }

    /// The data sets of each task itself.
    fn own_sets(&mut self) -> Vec<usize> {
        (0..self.test.sets).map(|set| self.set(set, 0)).collect()
    }

    /// A data set of the task so many further.
    fn set(&mut self, set: u32, further: u32) -> usize {
        let test = self.test;
        let owner = if further == 0 { "{worker}".into() } else { format!("{{worker+{further}}}") };
        let iterations = u64::from(test.iterations) * test.waiting().len() as u64;
        let items = Items {
            count: test.start + test.precreated + test.objects.saturating_mul(iterations),
            name: "file-{item}".into(),
            marked: Some(ItemMarks {
                owner_further: further,
                times: u64::from(test.sets),
                plus: u64::from(set),
            }),
            ..Items::default()
        };
        let root = format!("{}/{owner}_{set}", test.directory);
        let target = Target {
            name: format!("{owner}_{set}"),
            kind: TargetKind::FileSet { root, items },
            remove: test.does.precreate && test.does.cleanup,
            ..self.blank_target()
        };
        index_of(&mut self.plan.targets, target)
    }

    fn blank_target(&self) -> Target {
        let direct = if self.test.flag("posix.odirect") { Direct::Yes } else { Direct::No };
        let lock = if self.test.flag("posix.rangelocks") { FileLock::Range } else { FileLock::No };
        Target {
            name: String::new(),
            kind: TargetKind::Nothing { bytes: 0 },
            open: Open {
                directory: true,
                direct,
                lock,
                hints: self.test.hints.clone().boxed(),
                create: true,
                ..Open::default()
            },
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Origin::Default,
        }
    }
}
