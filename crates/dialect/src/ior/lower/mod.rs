//! From tests to a plan: the only place where IOR's words meet ours.
//!
//! ```text
//!   test, repetition ─► [prefill] write [check] read [remove]: a phase each, one job, a worker for each task
//! ```
//! Nothing is run, and what tests mean is judged before ([`super::test`]).

pub mod advice;
mod engine;
mod job;
pub(crate) mod names;
pub(crate) mod s3;
pub(crate) mod stores;
mod targets;

use iodyno_model::{Intent, Phase, Plan, Ranks, Stop};

use super::test::IorTest;
use super::view::{Access, TestPhase};
use crate::index_of;
use targets::Use;

/// The plan of some tests, and what each of its phases is.
pub fn plan(tests: &[IorTest]) -> (Plan, Vec<TestPhase>) {
    let mut builder = Builder { plan: Plan::default(), parts: Vec::new(), tests: tests.len() };
    for (index, test) in tests.iter().enumerate() {
        builder.test(index, test);
    }
    let first = tests.first();
    let plan = Plan {
        name: first.map_or("ior", |test| test.file.as_str()).into(),
        seed: first.map_or(0, |test| u64::from(test.signature)),
        intent: if tests.iter().all(|test| test.api == "DUMMY") { Intent::Cache } else { Intent::Device },
        signatures_allowed: true,
        ..builder.plan
    };
    (plan, builder.parts)
}

/// Whether a test works on files of this machine.
pub fn is_on_files(test: &IorTest) -> bool {
    engine::store(test).is_none()
}

struct Builder {
    plan: Plan,
    parts: Vec<TestPhase>,
    tests: usize,
}

impl Builder {
    fn test(&mut self, index: usize, test: &IorTest) {
        let removed = !test.flag("keepFile") && !targets::is_device(test);
        for repetition in 0..test.repetitions {
            let turn = Turn { index, test, repetition };
            if test.write && test.count("randomPrefill") > 0 {
                self.phase(turn, Access::Prefill, Use::Made);
            }
            if test.write {
                let prefilled = test.count("randomPrefill") > 0 || test.flag("useExistingTestFile");
                self.phase(turn, Access::Write, if prefilled { Use::Kept } else { Use::Made });
            }
            if test.check_write {
                self.phase(turn, Access::Check, Use::Read);
            }
            if test.read {
                self.phase(turn, Access::Read, Use::Read);
            }
            if removed && !test.flag("dryRun") && engine::has_files(test) {
                self.phase(turn, Access::Remove, Use::Removed);
            }
        }
    }

    fn phase(&mut self, turn: Turn<'_>, access: Access, usage: Use) {
        let Turn { index, test, repetition } = turn;
        let target = index_of(&mut self.plan.targets, targets::target(test, usage));
        let name = |access: Access| match self.tests {
            1 => access.name().to_string(),
            _ => format!("{} {index}", access.name()),
        };
        let job = job::job(test, repetition, access, target, &name(Access::Write));
        let timed = matches!(access, Access::Write | Access::Read);
        let job = iodyno_model::Job { ranks: ranks(test, access), ..job };
        let phase = Phase {
            name: name(access),
            jobs: vec![job],
            stop: Stop::Each,
            intent: matches!(access, Access::Remove | Access::Prefill).then_some(Intent::Nothing),
            repetition,
            pause_ns: if timed { (test.settings.decimal("interTestDelay") * 1e9) as u64 } else { 0 },
            latest_ns: test.count("maxTimeDuration").saturating_mul(60_000_000_000),
            unless_failed: access == Access::Remove && test.flag("keepFileWithError"),
            ..Phase::default()
        };
        self.plan.phases.push(phase);
        self.parts.push(TestPhase { test: index, repetition, access });
    }
}

/// A repetition of a test.
#[derive(Clone, Copy)]
struct Turn<'a> {
    index: usize,
    test: &'a IorTest,
    repetition: u32,
}

/// Who takes part; one task removes a file that is everybody's.
fn ranks(test: &IorTest, access: Access) -> Ranks {
    match access {
        Access::Remove if !test.is_file_per_task() => Ranks::Workers(1),
        _ if test.tasks < test.all_tasks => Ranks::Workers(test.tasks),
        _ => Ranks::All,
    }
}
