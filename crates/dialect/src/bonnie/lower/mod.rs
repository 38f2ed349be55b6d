//! From settings to a plan: a phase for each test of a file, then for each test of files, and all of them for each run.
//!
//! ```text
//!   file    write byte by byte ─ write ─ rewrite ─ read byte by byte ─ read ─ seeks of several processes ─ file away
//!   files   (directory made ─ create ─ look at and read ─ delete ─ directory away), in order, then at random
//! ```
//! A file is opened before a test's time and made durable and closed inside it. What was made or deleted of files is on the
//! storage before the time ends.

mod file;
mod files;

use iodyno_model::{
    ErrorPolicy, Intent, Job, Measure, Open, OpenMode, Phase, Placement, Plan, Script, Step, Stop, Target,
    WorkerKind, Workload,
};

use super::settings::Settings;
use super::view::{BonniePhase, TestName};
use crate::engine_choice::POSITIONED_CALLS;
use crate::index_of;

/// What a step is called whose longest latency is reported.
pub const TIMED: &str = "timed";

/// The plan, and what each of its phases is.
pub fn plan(settings: &Settings) -> (Plan, Vec<BonniePhase>) {
    let plan = Plan { name: "bonnie++".into(), seed: settings.seed, ..Plan::default() };
    let mut lowering = BonniePlan { settings, plan, parts: Vec::new() };
    for run in 0..settings.runs {
        if settings.mib > 0 {
            file::lower(&mut lowering, run);
        }
        if settings.kfiles > 0 {
            files::lower(&mut lowering, run);
        }
        if let Some(last) = lowering.parts.last_mut() {
            last.is_last = true;
        }
    }
    (lowering.plan, lowering.parts)
}

struct BonniePlan<'a> {
    settings: &'a Settings,
    plan: Plan,
    parts: Vec<BonniePhase>,
}

impl BonniePlan<'_> {
    /// A phase that makes ready or clears away; its figures are no result.
    fn aside(&mut self, name: &str, run: u32, job: Job) {
        let part = BonniePhase { run, test: None, begins: false, ends: false, is_last: false };
        self.add(name, part, Some(Intent::Nothing), vec![job]);
    }

    fn test(&mut self, test: TestName, run: u32, jobs: Vec<Job>) {
        let part = BonniePhase { run, test: Some(test), begins: true, ends: true, is_last: false };
        self.add(test.word(), part, None, jobs);
    }

    /// As the original, which ends with the first failure.
    fn add(&mut self, name: &str, part: BonniePhase, intent: Option<Intent>, jobs: Vec<Job>) {
        self.plan.phases.push(Phase {
            name: name.into(),
            jobs,
            stop: Stop::Each,
            intent,
            repetition: part.run,
            unless_failed: !self.parts.is_empty(),
            ..Phase::default()
        });
        self.parts.push(part);
    }

    fn target(&mut self, target: Target) -> usize {
        index_of(&mut self.plan.targets, target)
    }

    fn job(&self, name: &str, target: usize, steps: Vec<Step>) -> Job {
        let script = Workload::Script(Script { steps, ..Script::default() });
        let identity = self.settings.identity;
        Job {
            kind: if identity.is_some() { WorkerKind::Processes } else { WorkerKind::Threads },
            placement: Placement { identity, ..Placement::default() },
            errors: ErrorPolicy::Stop,
            measure: Measure::default(),
            ..Job::new(name, POSITIONED_CALLS, vec![target], script)
        }
    }

    /// A name in the directory of the tests.
    fn path(&self, name: &str) -> String {
        match self.settings.directory.as_str() {
            "/" => format!("/{name}"),
            directory => format!("{directory}/{name}"),
        }
    }
}

/// How the file is opened in every test.
fn opened() -> Open {
    Open { mode: OpenMode::ReadWrite, permissions: Some(0o600), ..Open::default() }
}
