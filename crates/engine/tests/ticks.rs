//! What is reported while a simulated job runs comes at exact times of its own clock, the same on every run.
//!
//! Every figure is worked out on paper: an operation takes 100 µs.

use iodyno_engine::{Options, run as run_plan};
use iodyno_model::{
    Coverage, Criterion, ErrorPolicy, Event, Job, Limit, Live, Pattern, Phase, PhaseRecord, Pick, Plan, Rate,
    Record, Setting, Steady, Verb, WorkerState, Workload,
};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn job(name: &str, time_ns: u64) -> Job {
    let pattern = Pattern { coverage: Coverage::Repeating, ..Pattern::of(Verb::Read, Pick::Uniform, 4096) };
    let plain = Job::new(name, "sim", vec![0], Workload::Pattern(Box::new(pattern)));
    let limit = Limit { time_ns: Some(time_ns), ..Limit::default() };
    let settings = vec![Setting::new("service", "100us")];
    Job { settings, limit, errors: ErrorPolicy::Continue, ..plain }
}

fn plan(jobs: Vec<Job>) -> Plan {
    let target = testbed::pretended::target(1 << 40);
    let phase = Phase { name: "p".into(), jobs, ..Phase::default() };
    Plan { seed: 42, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

fn run(jobs: Vec<Job>, live_ns: u64, interim_ns: u64) -> (Record, Vec<Event>) {
    let options = Options { live_ns, interim_ns, witness: false, ..Options::default() };
    let mut events = Vec::new();
    let record = run_plan(&plan(jobs), &options, &mut |event| events.push(event.clone())).expect("it runs");
    assert_eq!(record.errors, []);
    (record, events)
}

fn lives(events: &[Event]) -> Vec<Live> {
    let live = |event: &Event| match event {
        Event::Live(live) => Some((**live).clone()),
        _ => None,
    };
    events.iter().filter_map(live).collect()
}

/// Records so far, without what the wall clock shows.
fn interims(events: &[Event]) -> Vec<PhaseRecord> {
    let interim = |event: &Event| match event {
        Event::Interim(phase) => {
            let mut phase = (**phase).clone();
            for job in &mut phase.jobs {
                job.began_unix_ns = 0;
                job.workers.iter_mut().for_each(|worker| (worker.pid, worker.began_clock_ns) = (0, 0));
            }
            Some(phase)
        }
        _ => None,
    };
    events.iter().filter_map(interim).collect()
}

#[test]
fn live_figures_are_those_of_their_time() {
    let mut job = job("j", SECOND);
    job.workers = 3;
    let (_, events) = run(vec![job], 250 * MS, 0);
    let told: Vec<_> = lives(&events)
        .iter()
        .map(|live| (live.elapsed_ns, live.left_ns, live.jobs[0].operations, live.jobs[0].states.clone()))
        .collect();
    let at = |ms: u64| {
        let states = vec![(WorkerState::Running, 3)];
        (ms * MS, Some((1000 - ms) * MS), 3 * ms * 10, states)
    };
    assert_eq!(told, [at(250), at(500), at(750)]);
}

#[test]
fn records_so_far_are_the_same_on_every_run() {
    let mut job = job("j", SECOND);
    (job.workers, job.depth.most) = (2, 3);
    job.settings = vec![Setting::new("service", "exponential:100us")];
    let once = || interims(&run(vec![job.clone()], 70 * MS, 300 * MS).1);
    let first = once();
    let times: Vec<u64> = first.iter().map(|phase| phase.elapsed_ns).collect();
    assert_eq!(times, [300 * MS, 600 * MS, 900 * MS]);
    for _ in 0..5 {
        assert_eq!(once(), first);
    }
}

#[test]
fn a_pace_is_kept_by_the_same_clock() {
    let mut job = job("j", 2 * SECOND);
    job.pace.rate_all = Rate::Operations(1000.0);
    let (record, events) = run(vec![job], 500 * MS, 0);
    // Those that were due up to then, each 100 µs after its time.
    let told: Vec<u64> = lives(&events).iter().map(|live| live.jobs[0].operations).collect();
    assert_eq!(told, [500, 1000, 1500]);
    assert_eq!(record.phases[0].jobs[0].tally.all_operations(), 2000);
}

fn steady() -> Steady {
    Steady {
        criterion: Criterion::Operations,
        slope: false,
        limit: 1.0,
        percent: true,
        window_ns: 4 * SECOND,
        ramp_ns: 0,
        interval_ns: SECOND,
    }
}

#[test]
fn whoever_is_steady_ends_at_that_time() {
    let mut job = job("j", 3600 * SECOND);
    job.limit.steady = Some(steady());
    let (record, _) = run(vec![job], 0, 0);
    let job = &record.phases[0].jobs[0];
    // What was in flight is waited for.
    assert_eq!((job.tally.last_done_ns, job.tally.all_operations()), (4 * SECOND + 100_000, 40_001));
    assert!(job.workers[0].steady.as_ref().is_some_and(|steady| steady.attained));
}

#[test]
fn two_clocks_in_a_phase_are_refused_where_one_is_to_judge() {
    let mut job = job("j", SECOND);
    job.limit.steady = Some(steady());
    let other = Job { name: "other".into(), engine: "null".into(), settings: Vec::new(), ..job.clone() };
    let wrong = iodyno_engine::check(&plan(vec![job, other])).expect_err("two clocks");
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].message.contains("job j: virtual time passes unobserved"), "{wrong:?}");
}

#[test]
fn a_job_that_waits_for_another_holds_nobody_up() {
    let first = job("first", SECOND);
    let mut second = job("second", SECOND);
    second.start.after_job = Some("first".into());
    let (record, events) = run(vec![first, second], 400 * MS, 0);
    let told: Vec<_> = lives(&events)
        .iter()
        .map(|live| (live.elapsed_ns, live.jobs[0].operations, live.jobs[1].operations))
        .collect();
    assert_eq!(told, [(400 * MS, 4000, 0), (800 * MS, 8000, 0)]);
    assert_eq!(record.phases[0].jobs[1].tally.all_operations(), 10_000);
}

#[test]
fn workers_that_meet_are_waited_for() {
    let mut job = job("j", SECOND);
    job.workers = 2;
    (job.start.barrier, job.finish.barrier) = (true, true);
    let (_, events) = run(vec![job], 300 * MS, 0);
    let told: Vec<u64> = lives(&events).iter().map(|live| live.jobs[0].operations).collect();
    assert_eq!(told, [6000, 12_000, 18_000]);
}

#[test]
fn a_simulated_year_is_told_in_thousands() {
    let mut job = job("j", 365 * 24 * 3600 * SECOND);
    job.settings = vec![Setting::new("service", "3600s")];
    let (_, events) = run(vec![job], SECOND, 0);
    let count = lives(&events).len();
    assert!((10_000..40_000).contains(&count), "{count}");
}
