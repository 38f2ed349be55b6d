//! Lies about time, the machine, statistics and the network, staged as data, each with honest twins that must stay silent.
//! No disk, no clock.

use iodyno_model::{
    ClockFacts, ControlActivity, DeviceActivity, Direct, Extent, Finding, Histogram, Intent,
    InterfaceActivity, IoLimit, Job, JobRecord, Line, Open, Origin, Pattern, Phase, PhaseRecord, Pick, Plan,
    Prepare, Pressure, ProcessorActivity, QueueActivity, Rate, Record, Series, SeriesRow, Severity, Sighting,
    Target, TargetFacts, TargetKind, Verb, WearOut, WorkerRecord, Workload, WorldFacts,
};
use iodyno_truth::judge;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// A run of one phase with one job of four workers.
struct Run {
    plan: Plan,
    record: Record,
}

/// Ten seconds of 4 KiB random reads past the cache, 1 GiB from a disk of its own, on a quiet machine of four processors.
fn honest() -> Run {
    let target = Target {
        name: "file".into(),
        kind: TargetKind::File { path: "/data/file".into(), size: Extent::Bytes(GIB) },
        open: Open { direct: Direct::Yes, ..Open::default() },
        prepare: Prepare::Filled,
        remove: true,
        origin: Origin::Default,
    };
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
    let mut job = Job::new("j", "psync", vec![0], Workload::Pattern(Box::new(pattern)));
    job.workers = 4;
    let phase = Phase { name: "p".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { targets: vec![target], phases: vec![phase], ..Plan::default() };
    let found = PhaseRecord {
        name: "p".into(),
        elapsed_ns: 10 * SECOND,
        jobs: vec![job_record()],
        sightings: quiet(),
        ..PhaseRecord::default()
    };
    Run { plan, record: Record { phases: vec![found], ..Record::default() } }
}

fn job_record() -> JobRecord {
    let mut line = Line::empty("read", Verb::Read);
    (line.operations, line.bytes) = (GIB / 4096, GIB);
    (0..GIB / 4096).for_each(|index| line.latency.add(140_000 + index % 1000));
    let worker = |index| WorkerRecord {
        index,
        operations: GIB / 4096 / 4,
        bytes: GIB / 4,
        began_ns: 100_000,
        ended_ns: 10 * SECOND,
        user_ns: SECOND / 10,
        system_ns: SECOND / 2,
        waited_ns: Some(SECOND / 20),
        ..WorkerRecord::default()
    };
    let mut record = JobRecord { name: "j".into(), engine: "psync".into(), depth: 1, ..JobRecord::default() };
    record.tally.lines.push(line);
    record.workers = (0..4).map(worker).collect();
    rows(&mut record, &[26_214; 10]);
    record
}

fn rows(record: &mut JobRecord, reads: &[u64]) {
    let row = |reads: &u64| SeriesRow { reads: *reads, latency_max_ns: MILLISECOND, ..SeriesRow::default() };
    let rows = reads.iter().map(row).collect();
    record.tally.series = Series { interval_ns: SECOND, rows, ..Series::default() };
    let end = reads.len() as u64 * SECOND;
    (record.tally.first_done_ns, record.tally.last_done_ns) = (end, end);
}

fn quiet() -> Vec<Sighting> {
    let interval_ns = 10 * SECOND;
    vec![
        Sighting::Target(Box::new(TargetFacts {
            target: "file".into(),
            path: "/data/file".into(),
            file_system: Some("ext4".into()),
            disk: Some("sda".into()),
            size_bytes: Some(100 * GIB),
            ..TargetFacts::default()
        })),
        Sighting::Device(DeviceActivity {
            device: "sda".into(),
            read_bytes: GIB,
            write_bytes: MIB,
            busy_ns: 99 * interval_ns / 100,
            interval_ns,
            ..DeviceActivity::default()
        }),
        Sighting::Own { read_bytes: GIB, write_bytes: 0 },
        Sighting::Memory {
            total_bytes: 16 * GIB,
            available_bytes: 8 * GIB,
            dirty_before_bytes: MIB,
            dirty_after_bytes: MIB,
        },
        Sighting::Processors(ProcessorActivity {
            cpus: 4,
            own_ns: 3 * SECOND,
            busy_ns: 4 * SECOND,
            steal_ns: SECOND / 100,
            idle_ns: 36 * SECOND,
            throttled: Some(0),
            interval_ns,
            ..ProcessorActivity::default()
        }),
        Sighting::Pressure(Pressure { io_some_ns: 9 * SECOND, interval_ns, ..Pressure::default() }),
        Sighting::Control(ControlActivity {
            group: "/".into(),
            periods: 100,
            interval_ns,
            ..ControlActivity::default()
        }),
        Sighting::Interface(InterfaceActivity {
            name: "eth0".into(),
            link_bits: Some(1_000_000_000),
            received_bytes: 2 * MIB,
            sent_bytes: MIB,
            interval_ns,
            ..InterfaceActivity::default()
        }),
        Sighting::Clock(ClockFacts {
            clock: "tsc".into(),
            cost_ns: 15.0,
            resolution_ns: 1.0,
            stepped_ns: 100_000,
            drift_ppm: 3.0,
            interval_ns,
        }),
    ]
}

/// The sighting of a kind, to be changed.
macro_rules! seen {
    ($run:expr, $kind:ident) => {
        $run.record.phases[0]
            .sightings
            .iter_mut()
            .find_map(|sighting| match sighting {
                Sighting::$kind(seen) => Some(seen),
                _ => None,
            })
            .unwrap()
    };
}

impl Run {
    fn job(&mut self) -> &mut Job {
        &mut self.plan.phases[0].jobs[0]
    }

    fn found(&mut self) -> &mut JobRecord {
        &mut self.record.phases[0].jobs[0]
    }

    fn latency(&mut self) -> &mut Histogram {
        &mut self.found().tally.lines[0].latency
    }

    fn forget(&mut self, is: fn(&Sighting) -> bool) {
        self.record.phases[0].sightings.retain(|sighting| !is(sighting));
    }

    fn own(&mut self, read_bytes: u64, write_bytes: u64) {
        self.forget(|sighting| matches!(sighting, Sighting::Own { .. }));
        self.record.phases[0].sightings.push(Sighting::Own { read_bytes, write_bytes });
    }
}

fn judged(change: impl Fn(&mut Run)) -> Vec<Finding> {
    let mut run = honest();
    change(&mut run);
    let mut findings = judge(&run.plan, &run.record);
    // That the device idled meanwhile (24) is a consequence, told besides.
    findings.retain(|finding| finding.code != 24);
    for finding in &findings {
        assert!(!finding.figures.is_empty() && !finding.advice.is_empty(), "{finding:?}");
        assert!(finding.figures.iter().all(|figure| figure.value.is_finite()), "{finding:?}");
    }
    findings
}

#[track_caller]
fn lie(code: u8, severity: Severity, change: impl Fn(&mut Run)) -> Finding {
    let found = judged(change);
    let told: Vec<_> = found.iter().map(|finding| (finding.code, finding.severity)).collect();
    assert_eq!(told, [(code, severity)], "{found:#?}");
    found.into_iter().next().unwrap()
}

#[track_caller]
fn twin(change: impl Fn(&mut Run)) {
    assert_eq!(judged(change), []);
}

#[test]
fn an_honest_run_is_not_accused() {
    twin(|_| {});
}

#[test]
fn a_percentile_of_few_samples_is_told_with_its_interval() {
    let found = lie(6, Severity::Note, |run| {
        *run.latency() = Histogram::default();
        (0..5000u64).for_each(|index| run.latency().add(MILLISECOND + index * 100));
    });
    let figure =
        |name: &str| found.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value);
    let (low, high) = (figure("p99.9 at least").unwrap(), figure("p99.9 at most").unwrap());
    assert!(low < 1_499_500.0 && high > 1_499_500.0 - 4000.0 && low < high, "{low} to {high}");
}

#[test]
fn credit_that_is_used_up() {
    let burst = [[9000u64; 6].as_slice(), &[3000; 12]].concat();
    let found = lie(8, Severity::Doubtful, |run| rows(run.found(), &burst));
    assert!(found.sentence.starts_with("it was fast for 6"), "{}", found.sentence);
    assert_eq!(found.figures[0].value, 9000.0);
    assert_eq!(found.figures[1].value, 3000.0);
    // 6 s × 6,000/s × 4 KiB.
    assert!((found.figures[3].value - 6.0 * 6000.0 * 4096.0).abs() < 1e6, "{found:?}");
    let noisy: Vec<u64> =
        burst.iter().enumerate().map(|(row, rate)| rate + row as u64 * 7919 % 300).collect();
    lie(8, Severity::Doubtful, |run| rows(run.found(), &noisy));
    // It is used up in the middle of a row as well as at its end.
    for part in 0..10 {
        let mixed = [465, 470, 460, 80 + part * 38, 80, 81, 79, 80, 81, 80, 79, 80];
        lie(8, Severity::Doubtful, |run| rows(run.found(), &mixed));
    }
    // A drift and a warm-up are not steady, but no credit.
    lie(7, Severity::Doubtful, |run| {
        rows(run.found(), &[9000, 8500, 8000, 7500, 7000, 6500, 6000, 5500, 5000, 4500])
    });
    lie(7, Severity::Doubtful, |run| {
        rows(run.found(), &[3000, 3000, 3000, 3000, 9000, 9000, 9000, 9000, 9000, 9000])
    });
    // Three slow seconds of twenty in the middle.
    twin(|run| rows(run.found(), &[&[9000u64; 9][..], &[7000, 7200, 7100], &[9000; 8]].concat()));
    // Counting noise of a slow disk.
    twin(|run| rows(run.found(), &[18, 15, 17, 16, 14, 11, 13, 12, 12, 13]));
    // A rate that was asked for.
    twin(|run| (rows(run.found(), &burst), run.job().pace.rate.read = Rate::Operations(9000.0)).0);
}

/// 1,000/s for ten seconds, with one stall of a second: what a closed loop counts.
fn stalled(run: &mut Run, stall_ns: u64) {
    run.job().pace.rate.read = Rate::Operations(1000.0);
    run.job().pace.open_loop = false;
    *run.latency() = Histogram::default();
    (0..9999u64).for_each(|index| run.latency().add(100_000 + index));
    run.latency().add(stall_ns);
}

#[test]
fn latency_without_the_waiting() {
    // The stall itself is a spike besides.
    let found = judged(|run| stalled(run, SECOND));
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [9, 26]);
    let found = &found[0];
    // Of 1,000 operations that were due in that second, a tenth of all: p99 is about 0.9 s.
    let intended = found.figures[1].value;
    assert!((8.5e8..9.5e8).contains(&intended), "{found:?}");
    assert!(found.figures[0].value < 200_000.0);
    assert!(found.advice.contains("open_loop"));
    // The same schedule without a stall, one too short to matter, and no schedule.
    twin(|run| stalled(run, 110_000));
    twin(|run| stalled(run, 8 * MILLISECOND));
    // Eight in flight bridge what one cannot.
    twin(|run| (stalled(run, 15 * MILLISECOND), run.job().depth.most = 8).0);
}

#[test]
fn both_latencies_are_compared_where_both_were_kept() {
    let kept = |late_ns: u64| {
        move |run: &mut Run| {
            run.job().pace.rate_all = Rate::Operations(1000.0);
            let line = &mut run.found().tally.lines[0];
            let mut intended = Histogram::default();
            line.latency = Histogram::default();
            (0..10_000u64).for_each(|index| line.latency.add(100_000 + index));
            (0..10_000u64)
                .for_each(|index| intended.add(100_000 + if index < 500 { late_ns } else { index }));
            line.service = Some(std::mem::replace(&mut line.latency, intended));
        }
    };
    let found = lie(9, Severity::Doubtful, kept(300 * MILLISECOND));
    assert!(found.advice.contains("intended"), "{}", found.advice);
    twin(kept(200_000));
    twin(kept(5 * MILLISECOND));
}

/// How the workers spent their ten seconds: in user space, in the kernel, and in each of their reads.
fn effort(run: &mut Run, user_ns: u64, system_ns: u64, read_ns: u64) {
    for worker in &mut run.found().workers {
        (worker.user_ns, worker.system_ns) = (user_ns, system_ns);
    }
    *run.latency() = Histogram::default();
    (0..GIB / 4096).for_each(|index| run.latency().add(read_ns + index % 100));
}

#[test]
fn a_generator_that_is_the_bottleneck() {
    let busy = |run: &mut Run, share: u64| seen!(run, Device).busy_ns = share * SECOND / 10;
    // Seven of ten seconds outside of any read, burning the processor.
    let found = lie(10, Severity::Doubtful, |run| effort(run, 7 * SECOND, SECOND, 40_000));
    assert!(found.sentence.contains("outside of any operation"), "{}", found.sentence);
    // A full processor beside an idle device.
    lie(10, Severity::Doubtful, |run| {
        (effort(run, 2 * SECOND, 78 * SECOND / 10, 140_000), busy(run, 50), run.job().depth.most = 8).0
    });
    // The same beside a full device, a processor that waits, one that polls, a pretender, and a pause.
    twin(|run| effort(run, 2 * SECOND, 78 * SECOND / 10, 140_000));
    twin(|run| (effort(run, SECOND, 2 * SECOND, 40_000), busy(run, 50)).0);
    twin(|run| {
        effort(run, 2 * SECOND, 78 * SECOND / 10, 140_000);
        busy(run, 50);
        let (name, value, origin) = ("hipri".into(), "1".into(), Origin::Default);
        run.job().settings.push(iodyno_model::Setting { name, value, origin });
    });
    twin(|run| (effort(run, 7 * SECOND, SECOND, 40_000), run.found().engine = "null".into()).0);
    twin(|run| (effort(run, 7 * SECOND, SECOND, 40_000), run.job().pace.think = Some(Default::default())).0);
}

#[test]
fn more_workers_than_processors() {
    let crowd = |own_ns: u64| {
        move |run: &mut Run| {
            run.found().workers.iter_mut().for_each(|worker| worker.waited_ns = Some(4 * SECOND));
            let seen = seen!(run, Processors);
            (seen.own_ns, seen.busy_ns, seen.idle_ns) = (own_ns, own_ns + SECOND, 39 * SECOND - own_ns);
        }
    };
    lie(10, Severity::Doubtful, crowd(38 * SECOND));
    twin(crowd(3 * SECOND));
}

#[test]
fn a_machine_that_is_not_ours() {
    let grave = Severity::Doubtful;
    lie(11, grave, |run| seen!(run, Processors).steal_ns = 4 * SECOND);
    twin(|run| seen!(run, Processors).steal_ns = SECOND / 5);
    // Runs that hardly compute: much of what little they wanted is stolen, and that is a share of the workers' time which
    // matters, or none.
    let idle = |workers: usize, stolen: u64| {
        move |run: &mut Run| {
            let seen = seen!(run, Processors);
            (seen.own_ns, seen.busy_ns, seen.steal_ns) = (SECOND / 5, SECOND / 2, stolen);
            seen.idle_ns = 40 * SECOND - seen.busy_ns - stolen;
            let job = run.found();
            job.workers.truncate(workers);
            job.workers.iter_mut().for_each(|worker| (worker.user_ns, worker.system_ns) = (0, SECOND / 20));
        }
    };
    twin(idle(1, 9 * SECOND / 10));
    twin(idle(4, 3 * SECOND));
    let found = lie(11, grave, idle(1, 12 * SECOND / 10));
    let shares: Vec<u64> = found.figures.iter().map(|figure| figure.value.round() as u64).collect();
    assert_eq!(shares, [71, 3, 12], "{found:?}");
    lie(11, grave, idle(4, 5 * SECOND));
    // As many as there are processors lose at once, at most.
    lie(11, grave, |run| (idle(4, 3 * SECOND)(run), seen!(run, Processors).cpus = 2).0);
    let group = |run: &mut Run, periods, ns| {
        let group = seen!(run, Control);
        (group.cpu_quota, group.throttled_periods, group.throttled_ns) = (Some(0.5), periods, ns);
    };
    let found = lie(11, grave, |run| group(run, 60, 4 * SECOND));
    assert!(
        found.sentence.contains("0.50 processors") && found.sentence.contains("60 %"),
        "{}",
        found.sentence
    );
    twin(|run| group(run, 2, SECOND / 50));
    lie(11, grave, |run| seen!(run, Pressure).memory_full_ns = SECOND);
    twin(|run| seen!(run, Pressure).memory_some_ns = SECOND);
    lie(11, grave, |run| seen!(run, Processors).throttled = Some(3));
}

#[test]
fn others_who_have_the_processors() {
    let others = |busy: u64, waited: Option<u64>| {
        move |run: &mut Run| {
            let seen = seen!(run, Processors);
            (seen.busy_ns, seen.idle_ns) = (3 * SECOND + busy, (37 * SECOND).saturating_sub(busy));
            run.found().workers.iter_mut().for_each(|worker| worker.waited_ns = waited);
        }
    };
    lie(11, Severity::Doubtful, others(36 * SECOND, Some(3 * SECOND)));
    lie(11, Severity::Doubtful, others(36 * SECOND, None));
    // They harm nobody: the workers did not wait, or there are processors left.
    twin(others(36 * SECOND, Some(SECOND / 10)));
    twin(others(12 * SECOND, None));
    // Simulated time goes on without processors.
    twin(|run| (others(36 * SECOND, Some(3 * SECOND))(run), run.found().engine = "sim".into()).0);
}

#[test]
fn limits_of_a_control_group() {
    let limit = |limit: IoLimit| {
        move |run: &mut Run| seen!(run, Control).io = vec![IoLimit { device: "sda".into(), ..limit.clone() }]
    };
    let found =
        lie(11, Severity::Doubtful, limit(IoLimit { read_bytes: Some(105 * MIB), ..IoLimit::default() }));
    assert!(found.sentence.contains("sda"), "{}", found.sentence);
    lie(11, Severity::Doubtful, limit(IoLimit { reads: Some(26_500), ..IoLimit::default() }));
    twin(limit(IoLimit { reads: Some(100_000), write_bytes: Some(MIB), ..IoLimit::default() }));
}

#[test]
fn strangers_on_the_device() {
    let device = |run: &mut Run, read, write| {
        (seen!(run, Device).read_bytes, seen!(run, Device).write_bytes) = (read, write);
    };
    lie(12, Severity::Doubtful, |run| device(run, 2 * GIB, 0));
    let found = lie(12, Severity::Doubtful, |run| device(run, GIB, GIB / 2));
    assert!(found.sentence.contains("33 %"), "{}", found.sentence);
    // Metadata, read-ahead that was ours, and nothing to compare with.
    twin(|run| device(run, GIB + GIB / 20, 20 * MIB));
    twin(|run| (device(run, 2 * GIB, 0), run.own(2 * GIB, 0)).0);
    twin(|run| {
        device(run, 2 * GIB, 0);
        run.forget(|sighting| matches!(sighting, Sighting::Own { .. }));
    });
    // What lay in memory before the phase is reported as such.
    let found = lie(12, Severity::Note, |run| {
        device(run, GIB, GIB / 2);
        run.forget(|sighting| matches!(sighting, Sighting::Memory { .. }));
        let [total_bytes, available_bytes] = [16 * GIB, 8 * GIB];
        let (dirty_before_bytes, dirty_after_bytes) = (GIB / 2, 0);
        run.record.phases[0].sightings.push(Sighting::Memory {
            total_bytes,
            available_bytes,
            dirty_before_bytes,
            dirty_after_bytes,
        });
    });
    assert!(found.advice.contains("sync"));
    // A journal that a thousand syncs need.
    twin(|run| {
        let mut line = Line::empty("fsync", Verb::Fsync);
        line.operations = 2000;
        run.found().tally.lines.push(line);
        device(run, GIB, 200 * MIB);
    });
}

#[test]
fn workers_that_stall() {
    let slow = |operations: u64| move |run: &mut Run| run.found().workers[2].operations = operations;
    let found = lie(14, Severity::Doubtful, slow(9000));
    assert!(found.sentence.starts_with("1 of 4 workers stalled: worker 2"), "{}", found.sentence);
    twin(slow(55_000));
    let late = |ended: u64| {
        move |run: &mut Run| {
            run.record.phases[0].elapsed_ns = ended;
            run.found().workers[0].ended_ns = ended;
            run.found().tally.last_done_ns = ended;
        }
    };
    lie(14, Severity::Doubtful, late(16 * SECOND));
    twin(late(11 * SECOND));
    // As slow, but because it had no processor.
    twin(|run| {
        slow(9000)(run);
        run.found().workers[2].waited_ns = Some(88 * SECOND / 10);
        // Nobody else had them, by the processors' own account.
        run.forget(|sighting| matches!(sighting, Sighting::Processors(_)));
    });
    // A paced worker, a lone one, and counting noise.
    twin(|run| (slow(9000)(run), run.job().pace.rate_all = Rate::Operations(4000.0)).0);
    twin(|run| (slow(9000)(run), run.found().workers.retain(|worker| worker.index == 2)).1);
    twin(|run| {
        for (index, worker) in run.found().workers.iter_mut().enumerate() {
            worker.operations = [12, 20, 5, 14][index];
        }
    });
    let worn = |least| {
        move |run: &mut Run| {
            let worn = WearOut {
                at_ns: 5 * SECOND,
                operations_least: least,
                operations_most: 9000,
                ..WearOut::default()
            };
            run.found().worn = Some(worn);
        }
    };
    lie(14, Severity::Doubtful, worn(3000));
    twin(worn(8500));
}

#[test]
fn trouble_with_clocks() {
    let grave = Severity::Doubtful;
    let found = lie(15, grave, |run| seen!(run, Clock).stepped_ns = -3_600_000_000_000);
    assert!(found.sentence.contains("back"), "{}", found.sentence);
    lie(15, grave, |run| seen!(run, Clock).stepped_ns = 50_000_000);
    // Slewed by time synchronisation.
    twin(|run| seen!(run, Clock).stepped_ns = 4_900_000);
    lie(15, grave, |run| seen!(run, Clock).drift_ppm = -2000.0);
    lie(15, Severity::Invalid, |run| seen!(run, Clock).drift_ppm = 20_000.0);
    twin(|run| seen!(run, Clock).drift_ppm = 200.0);
    lie(15, Severity::Note, |run| seen!(run, Clock).resolution_ns = 1e6);
    let ranks = |error: u64| {
        move |run: &mut Run| {
            let hosts = vec!["a".into(), "b".into()];
            run.record.world =
                WorldFacts { hosts, nodes: vec![0, 1], clock_error_ns: error, ..WorldFacts::default() };
        }
    };
    lie(15, grave, ranks(SECOND));
    twin(ranks(50_000));
}

#[test]
fn a_network_that_is_the_limit() {
    let carries = |run: &mut Run, received: u64| seen!(run, Interface).received_bytes = received;
    let found = lie(18, Severity::Doubtful, |run| carries(run, 1_180_000_000));
    assert!(found.sentence.contains("eth0"), "{}", found.sentence);
    twin(|run| carries(run, 600_000_000));
    // Full, but not with our bytes: sent, where we read.
    twin(|run| seen!(run, Interface).sent_bytes = 1_200_000_000);
    // A link that does not say what it carries.
    twin(|run| (carries(run, 1_180_000_000), seen!(run, Interface).link_bits = None).0);
    let meant = |run: &mut Run| (carries(run, 1_180_000_000), run.plan.intent = Intent::Network).0;
    twin(meant);
    // A token bucket in front of the loop, where the network is meant or not.
    let shaped = |run: &mut Run| {
        let interface = seen!(run, Interface);
        (interface.name, interface.link_bits) = ("lo".into(), None);
        (interface.sent_bytes, interface.received_bytes) = (1_200_000_000, 1_200_000_000);
        let (kind, rate_bits, overlimits) = ("tbf".into(), Some(1_000_000_000), 4711);
        interface.queue = Some(QueueActivity { kind, rate_bits, overlimits, ..QueueActivity::default() });
    };
    lie(18, Severity::Doubtful, shaped);
    lie(18, Severity::Doubtful, |run| (shaped(run), run.plan.intent = Intent::Network).0);
    twin(|run| {
        shaped(run);
        seen!(run, Interface).queue.as_mut().unwrap().rate_bits = Some(8_000_000_000);
    });
}

#[test]
fn a_phase_of_edges() {
    let length = |ns: u64| {
        move |run: &mut Run| {
            run.record.phases[0].elapsed_ns = ns;
            run.found().tally.series = Series::default();
            run.found().workers.iter_mut().for_each(|worker| worker.ended_ns = ns);
        }
    };
    lie(23, Severity::Doubtful, length(20 * MILLISECOND));
    lie(23, Severity::Note, length(50 * MILLISECOND));
    twin(length(150 * MILLISECOND));
    twin(|run| (length(20 * MILLISECOND)(run), run.found().engine = "null".into()).0);
    // What is done for the sake of other phases is no result.
    twin(|run| (length(MILLISECOND)(run), run.plan.phases[0].intent = Some(Intent::Nothing)).0);
    // Half a second until the last worker had begun.
    lie(23, Severity::Doubtful, |run| {
        length(SECOND)(run);
        run.found().workers.iter_mut().for_each(|worker| worker.began_ns = SECOND / 2);
    });
    twin(|run| {
        length(SECOND)(run);
        run.job().start.after_ns = SECOND / 2;
        run.found().workers.iter_mut().for_each(|worker| worker.began_ns = SECOND / 2);
    });
}

#[test]
fn spikes_in_a_good_mean() {
    let spikes = |at: &'static [usize], ns: u64| {
        move |run: &mut Run| {
            at.iter().for_each(|_| run.latency().add(ns));
            for row in at {
                run.found().tally.series.rows[*row].latency_max_ns = ns;
            }
        }
    };
    let found = lie(26, Severity::Doubtful, spikes(&[1, 4, 7], 400 * MILLISECOND));
    assert!(
        found.sentence.starts_with("3 operations took") && found.sentence.contains("every 3"),
        "{found:?}"
    );
    assert_eq!(found.figures[0].value, 4e8);
    lie(26, Severity::Note, spikes(&[5], 150 * MILLISECOND));
    twin(spikes(&[1, 4, 7], 60 * MILLISECOND));
    // A storage that is slow throughout has none.
    twin(|run| {
        *run.latency() = Histogram::default();
        (0..30_000u64).for_each(|index| run.latency().add(80 * MILLISECOND + index * 1000));
        spikes(&[1, 4, 7], 700 * MILLISECOND)(run);
    });
}

/// The codes of what is found, idle devices with them.
fn codes(change: impl Fn(&mut Run)) -> Vec<u8> {
    let mut run = honest();
    change(&mut run);
    judge(&run.plan, &run.record).iter().map(|finding| finding.code).collect()
}

/// A run of that length, in which everything is as it is in one of ten seconds.
fn lasting(run: &mut Run, ns: u64) {
    run.record.phases[0].elapsed_ns = ns;
    let job = run.found();
    job.tally.series = Series::default();
    job.workers.iter_mut().for_each(|worker| worker.ended_ns = worker.began_ns + ns);
    (job.tally.first_done_ns, job.tally.last_done_ns) = (ns, ns);
}

#[test]
fn too_short_for_the_kernels_counters() {
    let stolen = |ns| codes(move |run| (lasting(run, ns), seen!(run, Processors).steal_ns = 4 * SECOND).0);
    assert!(stolen(201 * MILLISECOND).contains(&11) && !stolen(199 * MILLISECOND).contains(&11));
    // All of the time outside of operations.
    let generator = |ns: u64| {
        codes(move |run| {
            effort(run, ns, 0, 1);
            lasting(run, ns);
            seen!(run, Device).busy_ns = 0;
        })
    };
    assert!(generator(201 * MILLISECOND).contains(&10), "{:?}", generator(201 * MILLISECOND));
    assert!(!generator(199 * MILLISECOND).contains(&10));
}

#[test]
fn levels_must_lie_far_apart_to_be_credit() {
    // 74 and 76 % of the fast level.
    let burst =
        |slow: u64| codes(move |run| rows(run.found(), &[[9000u64; 6].as_slice(), &[slow; 12]].concat()));
    assert!(burst(6660).contains(&8) && !burst(6840).contains(&8));
}

#[test]
fn lateness_of_three_times_is_no_coincidence() {
    let kept = |intended_ns: u64| {
        codes(move |run| {
            run.job().pace.rate_all = Rate::Operations(1000.0);
            let line = &mut run.found().tally.lines[0];
            let (mut actual, mut intended) = (Histogram::default(), Histogram::default());
            (0..10_000u64).for_each(|_| (actual.add(20 * MILLISECOND), intended.add(intended_ns)).0);
            (line.service, line.latency) = (Some(actual), intended);
        })
    };
    assert!(kept(61 * MILLISECOND).contains(&9) && !kept(58 * MILLISECOND).contains(&9));
}

#[test]
fn an_end_of_workers_is_a_tail_from_a_tenth_of_a_second_on() {
    // Two workers end early, so that a quarter of the time was without work.
    let ends = |whole: u64| {
        codes(move |run| {
            lasting(run, whole);
            run.found().workers[..2].iter_mut().for_each(|worker| worker.ended_ns = whole / 2);
        })
    };
    assert!(ends(202 * MILLISECOND).contains(&14) && !ends(198 * MILLISECOND).contains(&14));
}

#[test]
fn drift_is_told_of_a_second_and_more() {
    let drift = |interval_ns: u64| {
        codes(move |run| (seen!(run, Clock).interval_ns, seen!(run, Clock).drift_ppm) = (interval_ns, 2000.0))
    };
    assert!(drift(SECOND).contains(&15) && !drift(SECOND - 1).contains(&15));
}

#[test]
fn spikes_that_take_a_twentieth_of_the_time_weigh_more() {
    // In one row, beside 37 seconds of other operations.
    let spikes = |count: usize| {
        let mut run = honest();
        (0..count).for_each(|_| run.latency().add(150 * MILLISECOND));
        run.found().tally.series.rows[4].latency_max_ns = 150 * MILLISECOND;
        let found = judge(&run.plan, &run.record);
        found.into_iter().find(|finding| finding.code == 26).map(|finding| finding.severity)
    };
    assert_eq!([12, 14].map(spikes), [Some(Severity::Note), Some(Severity::Doubtful)]);
}

#[test]
fn a_handful_of_packets_fills_no_link() {
    // As slow a link as these bytes fill in ten seconds.
    let link = |bytes: u64| {
        codes(move |run| {
            run.found().tally.lines[0].bytes = bytes;
            let interface = seen!(run, Interface);
            (interface.received_bytes, interface.link_bits) = (bytes, Some(bytes * 8 / 10));
        })
    };
    assert!(link(MIB).contains(&18) && !link(MIB - 1).contains(&18));
}
