//! Lies about flows through the network, staged as data, each with an honest twin that must stay silent. No socket.

use iodyno_model::{
    ConnectionActivity, Finding, Intent, Job, JobRecord, Line, Open, Origin, Pattern, Phase, PhaseRecord,
    Pick, Plan, Prepare, ProcessorActivity, Rate, Record, Series, SeriesRow, Severity, Sighting, Target,
    TargetKind, Verb, WorkerRecord, Workload,
};
use iodyno_truth::judge;

const SECOND: u64 = 1_000_000_000;

struct Run {
    plan: Plan,
    record: Record,
}

/// Ten seconds of one sender and one receiver of datagrams of 1460 bytes at 100 MB/s, nothing lost, on four processors.
fn honest() -> Run {
    let endpoint = |name: &str| Target {
        name: name.into(),
        kind: TargetKind::Endpoint { transport: "udp".into(), address: "h:1".into(), listen: name == "to" },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::Default,
    };
    let job = |name: &str, verb, target| {
        let pattern = Pattern::of(verb, Pick::Stream, 1460);
        Job::new(name, "socket", vec![target], Workload::Pattern(Box::new(pattern)))
    };
    let mut jobs = vec![job("send", Verb::Send, 0), job("receive", Verb::Recv, 1)];
    jobs[0].pace.rate_all = Rate::Bytes(100_000_000);
    let phase = Phase { name: "p".into(), jobs, ..Phase::default() };
    let plan = Plan {
        intent: Intent::Network,
        targets: vec![endpoint("from"), endpoint("to")],
        phases: vec![phase],
        ..Plan::default()
    };
    let found = PhaseRecord {
        name: "p".into(),
        elapsed_ns: 10 * SECOND,
        jobs: vec![job_record("send", Verb::Send), job_record("receive", Verb::Recv)],
        sightings: quiet(),
        ..PhaseRecord::default()
    };
    Run { plan, record: Record { phases: vec![found], ..Record::default() } }
}

fn job_record(name: &str, verb: Verb) -> JobRecord {
    let datagrams = 1_000_000_000 / 1460;
    let mut line = Line::empty(verb.name(), verb);
    (line.operations, line.bytes) = (datagrams, datagrams * 1460);
    (0..10_000).for_each(|index| line.latency.add(5_000 + index % 100));
    line.service = Some(line.latency.clone());
    let worker = WorkerRecord {
        operations: datagrams,
        bytes: datagrams * 1460,
        ended_ns: 10 * SECOND,
        user_ns: SECOND,
        system_ns: 3 * SECOND,
        waited_ns: Some(0),
        facts: vec![("datagrams".into(), datagrams), ("lost".into(), 0), ("overflow".into(), 0)],
        ..WorkerRecord::default()
    };
    let mut record = JobRecord {
        name: name.into(),
        engine: "socket".into(),
        depth: 1,
        workers: vec![worker],
        ..JobRecord::default()
    };
    record.tally.lines.push(line);
    let row = SeriesRow { others: datagrams / 10, latency_max_ns: 6_000, ..SeriesRow::default() };
    record.tally.series = Series { interval_ns: SECOND, rows: vec![row; 10], ..Series::default() };
    (record.tally.first_done_ns, record.tally.last_done_ns) = (10 * SECOND, 10 * SECOND);
    record
}

fn quiet() -> Vec<Sighting> {
    vec![
        Sighting::Processors(ProcessorActivity {
            cpus: 4,
            own_ns: 8 * SECOND,
            busy_ns: 9 * SECOND,
            idle_ns: 31 * SECOND,
            interval_ns: 10 * SECOND,
            ..ProcessorActivity::default()
        }),
        Sighting::Connection(Box::new(ConnectionActivity {
            target: "from".into(),
            congestion: "cubic".into(),
            rtt_us: 20_000,
            peer_window_bytes: 6 << 20,
            busy_us: 10_000_000,
            window_limited_us: 100_000,
            buffer_limited_us: 200_000,
            ..ConnectionActivity::default()
        })),
    ]
}

impl Run {
    fn fact(&mut self, job: usize, name: &str, value: u64) {
        let facts = &mut self.record.phases[0].jobs[job].workers[0].facts;
        facts.retain(|(known, _)| known != name);
        facts.push((name.into(), value));
    }

    fn connection(&mut self) -> &mut ConnectionActivity {
        let found = self.record.phases[0].sightings.iter_mut().find_map(|sighting| match sighting {
            Sighting::Connection(seen) => Some(seen),
            _ => None,
        });
        found.unwrap()
    }

    /// The sender had a processor all the time.
    fn fills_a_processor(&mut self) {
        let worker = &mut self.record.phases[0].jobs[0].workers[0];
        (worker.user_ns, worker.system_ns) = (SECOND, 9 * SECOND - SECOND / 10);
    }

    /// The latest of the sender's blocks were due so long before.
    fn late(&mut self, ns: u64) {
        let line = &mut self.record.phases[0].jobs[0].tally.lines[0];
        (0..100).for_each(|_| line.latency.add(ns));
    }
}

/// The findings about flows.
fn judged(change: impl Fn(&mut Run)) -> Vec<Finding> {
    let mut run = honest();
    change(&mut run);
    let mut findings = judge(&run.plan, &run.record);
    findings.retain(|finding| (27..=30).contains(&finding.code));
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
fn nothing_is_wrong_with_an_honest_flow() {
    twin(|_| {});
    twin(|run| run.record.phases[0].sightings.clear());
    twin(|run| run.record.phases[0].jobs.iter_mut().for_each(|job| job.workers[0].facts.clear()));
}

#[test]
fn a_receivers_buffer_that_is_too_small() {
    let found = lie(27, Severity::Doubtful, |run| {
        run.fact(1, "lost", 50_000);
        run.fact(1, "overflow", 45_000);
    });
    assert!(found.sentence.contains("at most 10 %"), "{}", found.sentence);
    // Datagrams without numbers: what was dropped is all that is known to be missing.
    let found = lie(27, Severity::Doubtful, |run| run.fact(1, "overflow", 45_000));
    let share = found.figures.iter().find(|figure| figure.name == "dropped of what was sent");
    assert!(share.is_some_and(|share| share.value < 100.0), "{:?}", found.figures);
    // Lost on the way: nobody's buffer.
    twin(|run| run.fact(1, "lost", 50_000));
    // A handful at the start.
    twin(|run| (run.fact(1, "lost", 30), run.fact(1, "overflow", 30)).0);
    // However short it was: it is counted.
    lie(27, Severity::Doubtful, |run| {
        run.record.phases[0].elapsed_ns = 150_000_000;
        run.fact(1, "overflow", 45_000);
    });
}

#[test]
fn a_peers_buffer_is_found_by_what_it_tells() {
    let found = |facts: &[(&str, u64)]| {
        let mut run = honest();
        run.record.phases[0].jobs[0].peer =
            facts.iter().map(|(name, count)| (name.to_string(), *count)).collect();
        iodyno_truth::flows::told_by_peers(&run.record)
    };
    let told = found(&[("datagrams", 950_000), ("lost", 50_000), ("overflow", 45_000)]);
    assert_eq!((told.len(), told[0].code, told[0].severity), (1, 27, Severity::Doubtful));
    assert!(told[0].sentence.contains("at most 10 %"), "{}", told[0].sentence);
    // Lost on the way, or nothing told.
    assert!(found(&[("datagrams", 950_000), ("lost", 50_000), ("overflow", 0)]).is_empty());
    assert!(found(&[("received_bytes", 5)]).is_empty());
}

#[test]
fn a_flow_that_fills_a_processor() {
    let unpaced = |run: &mut Run| run.plan.phases[0].jobs[0].pace.rate_all = Rate::Unlimited;
    let found = lie(28, Severity::Note, |run| (unpaced(run), run.fills_a_processor()).0);
    assert!(found.sentence.contains("of 4 idled"), "{}", found.sentence);
    // At a rate it keeps it is no limit.
    twin(Run::fills_a_processor);
    // Nearly all of its time, and a run that is too short for the kernel's counters.
    let used = |percent: u64| {
        move |run: &mut Run| {
            unpaced(run);
            let worker = &mut run.record.phases[0].jobs[0].workers[0];
            (worker.user_ns, worker.system_ns) = (0, percent * SECOND / 10);
        }
    };
    lie(28, Severity::Note, used(96));
    twin(used(94));
    let lasting = |ns: u64| {
        move |run: &mut Run| {
            used(99)(run);
            let phase = &mut run.record.phases[0];
            phase.elapsed_ns = ns;
            for worker in phase.jobs.iter_mut().flat_map(|job| &mut job.workers) {
                (worker.ended_ns, worker.system_ns) = (ns, ns);
            }
        }
    };
    lie(28, Severity::Note, lasting(SECOND / 5));
    twin(lasting(SECOND / 5 - 1));
    // All processors are busy: more flows would not help.
    twin(|run| {
        unpaced(run);
        run.fills_a_processor();
        let Sighting::Processors(seen) = &mut run.record.phases[0].sightings[0] else { panic!("processors") };
        seen.idle_ns = SECOND;
    });
}

#[test]
fn datagrams_lost_in_bursts_of_the_pace() {
    let lost = |run: &mut Run| run.fact(1, "lost", 5_000);
    let found = lie(29, Severity::Doubtful, |run| (lost(run), run.late(20_000_000)).0);
    assert!(found.sentence.contains("2 MB at once"), "{}", found.sentence);
    // An even sender whose datagrams are lost all the same; and one whose bursts every buffer held.
    twin(lost);
    twin(|run| run.late(20_000_000));
    twin(|run| (lost(run), run.late(100_000)).0);
}

#[test]
fn a_flow_that_waits_for_a_window() {
    let peer = lie(30, Severity::Doubtful, |run| run.connection().window_limited_us = 9_000_000);
    assert!(peer.sentence.contains("90 %") && peer.advice.contains("tcp_rmem"), "{peer:?}");
    let own = lie(30, Severity::Doubtful, |run| run.connection().buffer_limited_us = 7_000_000);
    assert!(own.advice.contains("tcp_wmem"));
    // Limited, but hardly ever busy: the application had nothing to send.
    twin(|run| {
        let seen = run.connection();
        (seen.busy_us, seen.window_limited_us) = (400_000, 390_000);
    });
}
