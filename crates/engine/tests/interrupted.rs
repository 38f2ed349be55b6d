//! A signal while workers wait for each other: in a process of its own, since it is told to all of it.
#![allow(unsafe_code)]

use iodyno_engine::{Options, run};
use iodyno_model::{Job, Pattern, Phase, Pick, Plan, Verb, Workload};

#[test]
fn a_signal_ends_a_meeting() {
    let target = testbed::pretended::target(1 << 20);
    let pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
    let mut short = Job::new("short", "null", vec![0], Workload::Pattern(Box::new(pattern)));
    (short.finish.barrier, short.workers) = (true, 3);
    let mut long = Job { name: "long".into(), workers: 1, ..short.clone() };
    long.limit.time_ns = Some(600_000_000_000);
    let phase = Phase { jobs: vec![short, long], ..Phase::default() };
    let plan = Plan { targets: vec![target], phases: vec![phase], ..Plan::default() };
    let mut told = false;
    let options = Options { live_ns: 50_000_000, ..Options::default() };
    let record = run(&plan, &options, &mut |event| {
        if let iodyno_model::Event::Live(live) = event
            && live.jobs[0].states.iter().all(|(state, _)| *state == iodyno_model::WorkerState::Finishing)
            && !std::mem::replace(&mut told, true)
        {
            // SAFETY: the run has a handler for it.
            unsafe { libc::raise(libc::SIGTERM) };
        }
    })
    .unwrap();
    assert_eq!(record.stopped_by, Some(libc::SIGTERM));
    assert!(record.phases[0].jobs[0].workers.iter().all(|worker| worker.operations == 256));
}
