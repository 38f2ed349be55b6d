//! Training input on a simulated device: how busy accelerators are kept is known beforehand, to the nanosecond.

#[path = "inference/kv_cache.rs"]
mod kv_cache;

use iodyno_engine::{Options, run as run_plan};
use iodyno_model::device::{Device, DevicePart, PartKind, Station};
use iodyno_model::reflect::Reflect;
use iodyno_model::training::SAVER;
use iodyno_model::{
    AcceleratorRecord, Action, Job, Lasting, Offset, Operation, Phase, PhaseRecord, Plan, SampleAccess,
    SampleOrder, Script, Size, Step, TrainingInput, Verb, Workload,
};

const MS: u64 = 1_000_000;

/// A device that takes 10 ms for a sample, one after the other.
fn device() -> Device {
    let station = Station { servers: 1, service_ns: 10 * MS, variation: 0.0, ..Station::blank() };
    let part = DevicePart { name: "s".into(), kind: PartKind::Station(station), ..DevicePart::default() };
    Device { name: "d".into(), parts: vec![part], ..Device::default() }
}

/// Batches of 8, so 80 ms each.
fn input(accelerators: u32, readers: u32, compute_ms: u64) -> TrainingInput {
    TrainingInput {
        accelerators,
        readers,
        batch: 8,
        samples: 800 * u64::from(accelerators),
        record_bytes: 4096,
        access: SampleAccess::Record,
        compute: Lasting { ns: compute_ms * MS, drawn: None },
        ..TrainingInput::blank()
    }
}

fn run(input: &TrainingInput, change: impl FnOnce(&mut Phase)) -> PhaseRecord {
    let mut phase = Phase { name: "epoch 1".into(), ..Phase::default() };
    input.fill(&mut phase, 0, "sim");
    change(&mut phase);
    let targets = vec![testbed::pretended::target(1 << 30)];
    let plan = Plan { seed: 42, targets, phases: vec![phase], device: Some(device()), ..Plan::default() };
    let options = Options { live_ns: 0, witness: false, ..Options::default() };
    let mut record = run_plan(&plan, &options, &mut |_| {}).expect("the simulated device runs");
    assert_eq!(record.errors, []);
    record.phases.remove(0)
}

fn of(input: &TrainingInput) -> Vec<AcceleratorRecord> {
    AcceleratorRecord::of(&run(input, |_| {}))
}

#[test]
fn an_accelerator_is_busy_all_the_time_if_the_device_takes_no_longer_than_it() {
    for compute_ms in [80, 100] {
        let [one] = of(&input(1, 1, compute_ms))[..] else { panic!("one accelerator") };
        assert_eq!((one.steps, one.load_ns, one.utilisation_percent()), (100, 0, 100.0));
        assert_eq!(one.whole_ns, 99 * compute_ms * MS, "the first step does not count");
        assert_eq!(one.elapsed_ns, (80 + 100 * compute_ms) * MS, "but its batch had to come first");
    }
}

#[test]
fn beyond_that_its_share_is_that_of_computing_in_the_device_time() {
    let [one] = of(&input(1, 1, 60))[..] else { panic!("one accelerator") };
    assert_eq!((one.load_ns, one.utilisation_percent()), (99 * 20 * MS, 75.0));
    // Four of them on a device that is the same.
    let all = of(&input(4, 2, 80));
    assert_eq!(all.iter().map(|each| each.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let mean = all.iter().map(AcceleratorRecord::utilisation_percent).sum::<f64>() / 4.0;
    assert!((mean - 25.0).abs() < 0.5, "{mean}");
}

#[test]
fn readers_whose_turns_do_not_come_out_even_are_awaited_in_turn() {
    // The readers' first batches are read side by side: with seven, the first is there after 7 · 7 + 1 samples.
    for (readers, samples, warm_up, load_ms) in [(3, 800, 1, 0), (4, 888, 2, 0), (7, 808, 0, 500)] {
        let input = TrainingInput { samples, warm_up, ..input(1, readers, 100) };
        let [one] = of(&input)[..] else { panic!("one accelerator") };
        assert_eq!((one.steps, one.load_ns), (samples / 8, load_ms * MS), "{readers} readers: {one:?}");
    }
}

#[test]
fn what_was_read_ahead_lasts_until_it_is_exhausted() {
    // Two batches are there, and room for no more, when the accelerator comes; computing takes half as long as reading.
    let late = TrainingInput { warm_up: 0, ..input(1, 1, 40) };
    let record = run(&late, |phase| phase.jobs[1].start.after_ns = 240 * MS);
    let [one] = AcceleratorRecord::of(&record)[..] else { panic!("one accelerator") };
    assert_eq!(one.load_ns, 97 * 40 * MS, "the first three steps wait for nothing");
    assert_eq!(one.whole_ns, (3 * 40 + 97 * 80) * MS);
}

#[test]
fn an_accelerator_that_reads_itself_overlaps_nothing() {
    let [one] = of(&input(1, 0, 80))[..] else { panic!("one accelerator") };
    assert_eq!((one.steps, one.load_ns, one.utilisation_percent()), (100, 99 * 80 * MS, 50.0));
}

#[test]
fn a_stream_hands_over_what_it_has_read_by_the_byte() {
    // 100 samples of 4 KiB in each of 8 items are read in transfers of 16 KiB: 10 ms for four samples, 20 ms for a batch.
    let stream = TrainingInput { access: SampleAccess::Stream, ..input(1, 1, 20) };
    let stream = TrainingInput { per_item: 100, transfer_bytes: 16 << 10, prefetch: 3, ..stream };
    let mut phase = Phase::default();
    stream.fill(&mut phase, 0, "psync");
    assert_eq!(stream.taken_steps(), 100);
    let [reader, accelerator] = &phase.jobs[..] else { panic!("two jobs") };
    assert_eq!((reader.workers, accelerator.workers, phase.shared.len()), (1, 1, 2));
}

#[test]
fn each_run_is_the_same_whatever_is_drawn() {
    let gamma = Size::Gamma { mean_bytes: 60.0, shape: 2.0 };
    let drawn = Lasting { ns: 0, drawn: Some((gamma, 1e6)) };
    let input = TrainingInput { compute: drawn, sample_seeds: vec![3], ..input(3, 4, 0) };
    let (one, other) = (of(&input), of(&input));
    assert_eq!(one, other);
    assert!(one.iter().all(|each| each.steps == 100 && each.compute_ns > 0), "{one:?}");
}

#[test]
fn accelerators_that_read_themselves_read_every_sample_once() {
    // Each sample lies at a place of its own: which were read, the journal tells.
    let input = TrainingInput { samples: 32, warm_up: 2, ..input(1, 0, 10) };
    let mut phase = Phase::default();
    input.fill(&mut phase, 0, "sim");
    let orders: Vec<(u64, u64)> =
        sampled(&phase.jobs[0]).iter().map(|order| (order.first, order.steps)).collect();
    assert_eq!(orders, [(0, 2), (2, 2)], "the warm-up's batches, and those behind them");
}

#[test]
fn with_a_barrier_every_step_lasts_as_long_as_the_slowest_ones() {
    // Drawn computing times: without a barrier each accelerator goes on by itself.
    let gamma = Size::Gamma { mean_bytes: 60.0, shape: 2.0 };
    let drawn = Lasting { ns: 0, drawn: Some((gamma, 1e7)) };
    let alone = TrainingInput { compute: drawn, warm_up: 0, ..input(3, 1, 0) };
    let ended = |input: &TrainingInput| of(input).iter().map(|each| each.elapsed_ns).collect::<Vec<_>>();
    let together = ended(&TrainingInput { barrier: true, ..alone.clone() });
    assert_eq!(together.iter().filter(|ns| **ns == together[0]).count(), 3, "{together:?}");
    let alone = ended(&alone);
    assert!(alone.iter().all(|ns| *ns < together[0]), "{alone:?} {together:?}");
    // A warm-up, and steps after which state is saved, divide the script and not the barrier.
    let saved = TrainingInput { barrier: true, saves: vec![7, 50], ..with_warm_up(3) };
    let [first, rest @ ..] = &of(&saved)[..] else { panic!("three accelerators") };
    assert!(
        rest.len() == 2 && rest.iter().all(|each| each.elapsed_ns == first.elapsed_ns),
        "{first:?} {rest:?}"
    );
}

fn with_warm_up(accelerators: u32) -> TrainingInput {
    let gamma = Size::Gamma { mean_bytes: 60.0, shape: 2.0 };
    let compute = Lasting { ns: 0, drawn: Some((gamma, 1e7)) };
    TrainingInput { compute, warm_up: 3, ..input(accelerators, 1, 0) }
}

#[test]
fn accelerators_wait_until_their_state_is_saved() {
    let input = TrainingInput { samples: 80, warm_up: 0, saves: vec![4, 8], ..input(1, 1, 80) };
    let saved = |count: u64| {
        run(&input, |phase| {
            let pause = Operation { time_ns: 500 * MS, ..Operation::control(Verb::Think) }.step("write");
            let steps = TrainingInput::save(vec![pause]);
            let script = Script { steps, ..Script::default() };
            let mut job = Job::new(SAVER, "sim", vec![0], Workload::Script(script));
            job.limit.passes = Some(count);
            phase.jobs.push(job);
        })
    };
    let [one] = AcceleratorRecord::of(&saved(2))[..] else { panic!("one accelerator") };
    // The first batch takes 80 ms, ten steps 800 ms; while it was saved the reader went on.
    assert_eq!((one.steps, one.load_ns), (10, 80 * MS), "{one:?}");
    assert_eq!(saved(2).elapsed_ns, (80 + 800 + 2 * 500) * MS);
}

fn sampled(job: &Job) -> Vec<SampleOrder> {
    fn of(steps: &[Step], found: &mut Vec<SampleOrder>) {
        for step in steps {
            match &step.action {
                Action::Block(steps) => of(steps, found),
                Action::Do(operation) => {
                    if let Offset::Sampled { order, .. } = &operation.offset {
                        found.push((**order).clone());
                    }
                }
                Action::Call(_) => {}
            }
        }
    }
    let Workload::Script(script) = &job.workload else { panic!("a script") };
    let mut found = Vec::new();
    of(&script.steps, &mut found);
    found
}
