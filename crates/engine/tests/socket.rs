//! The socket engine over loopback and socket pairs: both sides are jobs of one plan, and count alike.
#![cfg(target_os = "linux")]

use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use iodyno_engine::{Halt, Options, run};
use iodyno_model::{
    Event, Job, JobRecord, Open, Pattern, Phase, PhaseRecord, Pick, Plan, Prepare, Rate, Setting, Sighting,
    Stop, Target, TargetKind, Verb, Workload,
};

fn target(transport: &str, address: &str, listen: bool) -> Target {
    Target {
        name: if listen { "here" } else { "there" }.into(),
        kind: TargetKind::Endpoint { transport: transport.into(), address: address.into(), listen },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    }
}

fn job(name: &str, target: usize, verb: Verb, bytes: u64, settings: &[(&str, &str)]) -> Job {
    let workload = Workload::Pattern(Box::new(Pattern::of(verb, Pick::Stream, bytes)));
    let mut job = Job::new(name, "socket", vec![target], workload);
    job.settings = settings.iter().map(|(name, value)| Setting::new(name, value)).collect();
    job
}

/// A run that `hear` may end once it has heard enough of how it stands.
fn told(
    targets: Vec<Target>,
    jobs: Vec<Job>,
    interim_ns: u64,
    mut hear: impl FnMut(&PhaseRecord) -> bool,
) -> PhaseRecord {
    // Nobody tells one who answers datagrams that the other has left.
    let answers = |job: &Job| job.settings.iter().any(|setting| setting.name == "answers");
    let stop = match (&targets[0].kind, jobs.iter().any(answers)) {
        (TargetKind::Endpoint { transport, .. }, true) if transport == "udp" => Stop::FirstJobDone,
        _ => Stop::default(),
    };
    let phase = Phase { name: "phase".into(), jobs, stop, ..Phase::default() };
    let plan = Plan { name: "test".into(), seed: 1, targets, phases: vec![phase], ..Plan::default() };
    let halt = Halt::default();
    let options = Options { interim_ns, live_ns: 0, halt: Some(halt.clone()), ..Options::default() };
    let record = run(&plan, &options, &mut |event| {
        if let Event::Interim(record) = event
            && hear(record)
        {
            halt.ask();
        }
    });
    let mut record = record.expect("the plan runs");
    assert_eq!(record.errors, []);
    record.phases.remove(0)
}

fn ran(targets: Vec<Target>, jobs: Vec<Job>) -> PhaseRecord {
    told(targets, jobs, 0, |_| false)
}

fn free_port() -> u16 {
    testbed::free_port().expect("a port")
}

fn both(transport: &str, address: &str) -> Vec<Target> {
    vec![target(transport, address, true), target(transport, address, false)]
}

fn fact(job: &JobRecord, name: &str) -> u64 {
    let facts = job.workers.iter().flat_map(|worker| &worker.facts);
    facts.filter(|(known, _)| known == name).map(|(_, value)| *value).sum()
}

fn operations(job: &JobRecord) -> u64 {
    job.tally.lines.iter().map(|line| line.operations).sum()
}

fn failed(job: &JobRecord) -> u64 {
    job.tally.failed()
}

#[test]
fn every_method_moves_every_byte() {
    const BLOCK: u64 = 128 << 10;
    const ALL: u64 = 300 * BLOCK;
    for (method, receive, transport) in [
        ("copy", "copy", "tcp"),
        ("sendfile", "truncate", "tcp"),
        ("splice", "splice", "tcp"),
        ("zerocopy", "copy", "tcp"),
        ("io_uring", "io_uring", "tcp"),
        ("io_uring_zerocopy", "copy", "tcp"),
        ("io_uring", "io_uring", "unix"),
        ("copy", "copy", "tcp6"),
        ("sendfile", "copy", "unix"),
        ("splice", "copy", "unix"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let address = match transport {
            "unix" => folder.path().join("socket").display().to_string(),
            "tcp6" => format!("[::1]:{}", free_port()),
            _ => format!("127.0.0.1:{}", free_port()),
        };
        let reader = job("reader", 0, Verb::Recv, BLOCK, &[("receive", receive)]);
        let mut writer = job("writer", 1, Verb::Send, BLOCK, &[("method", method), ("nodelay", "on")]);
        if transport == "unix" {
            writer.settings.pop();
        }
        writer.limit.bytes = Some(ALL);
        let phase = ran(both(transport, &address), vec![reader, writer]);
        let [reader, writer] = &phase.jobs[..] else { panic!("two jobs") };
        let what = format!("{method} {receive} {transport}");
        assert_eq!((fact(writer, "bytes"), fact(writer, "blocks")), (ALL, 300), "{what}");
        assert_eq!((fact(reader, "bytes"), operations(writer)), (ALL, 300), "{what}");
        assert_eq!((failed(reader), failed(writer)), (0, 0), "{what}");
        if method.ends_with("zerocopy") {
            assert!(fact(writer, "copied") > 0, "over loopback the kernel copies after all");
        }
        let of = |job: usize| {
            phase.sightings.iter().find_map(|sighting| match sighting {
                Sighting::Connection(seen) if seen.job == job => Some(seen.clone()),
                _ => None,
            })
        };
        assert_eq!(of(1).is_some(), transport != "unix");
        if let (Some(received), Some(sent)) = (of(0), of(1)) {
            // The kernel counts the end of the stream as one more.
            assert!((ALL..=ALL + 1).contains(&received.received_bytes), "{what}: {received:?}");
            assert_eq!(sent.target, "there", "{what}");
            assert!(sent.rtt_us > 0 && sent.mss > 0 && !sent.congestion.is_empty(), "{sent:?}");
        }
    }
}

#[test]
fn workers_share_a_place_and_each_gets_a_peer() {
    let address = format!("127.0.0.1:{}", free_port());
    let mut reader = job("reader", 0, Verb::Recv, 4096, &[]);
    let mut writer = job("writer", 1, Verb::Send, 4096, &[]);
    (reader.workers, writer.workers, writer.limit.bytes) = (4, 4, Some(1 << 20));
    let phase = ran(both("tcp", &address), vec![reader, writer]);
    for job in &phase.jobs {
        let each: Vec<u64> = job.workers.iter().map(|worker| worker.bytes).collect();
        assert_eq!(each, [1 << 20; 4], "{}", job.name);
    }
}

#[test]
fn every_datagram_is_accounted_for() {
    // So few that all of them wait in the smallest receive buffer, however late they are taken.
    const ALL: u64 = 132;
    for (gso, gro) in [("auto", "auto"), ("off", "off"), ("on", "off"), ("off", "on")] {
        for stamp in ["seconds_micros_u32", "seconds_micros_u64", "number_seconds_micros"] {
            let address = format!("127.0.0.1:{}", free_port());
            let common = [("stamp", stamp), ("datagram_bytes", "1460")];
            let mut reader =
                job("reader", 0, Verb::Recv, 1460 * 44, &[&common[..], &[("gro", gro)]].concat());
            reader.settings.push(Setting::new("receive_buffer_bytes", 4 << 20));
            let mut writer =
                job("writer", 1, Verb::Send, 1460 * 44, &[&common[..], &[("gso", gso)]].concat());
            writer.limit.operations = Some(ALL / 44);
            writer.pace.rate_all = Rate::Operations(100.0);
            // Somebody takes leave once all are sent, behind them.
            let leave = UdpSocket::bind("127.0.0.1:0").unwrap();
            let phase = told(both("udp", &address), vec![reader, writer], 10_000_000, |so_far| {
                if fact(&so_far.jobs[1], "datagrams") == ALL {
                    // It may be over already.
                    let _ = leave.send_to(&[], &address);
                }
                false
            });
            let [reader, writer] = &phase.jobs[..] else { panic!("two jobs") };
            let what = format!("{gso} {gro} {stamp}");
            assert_eq!((fact(writer, "datagrams"), fact(writer, "highest")), (ALL, ALL), "{what}");
            let of = ["datagrams", "highest", "lost", "late", "duplicates"].map(|name| fact(reader, name));
            assert_eq!(of, [ALL, ALL, 0, 0, 0], "{what}");
            assert_eq!(fact(reader, "bytes"), fact(reader, "datagrams") * 1460, "{what}");
            assert_eq!((failed(reader), failed(writer)), (0, 0), "{what}");
        }
    }
}

#[test]
fn losses_are_seen_where_they_are() {
    // Sent by hand: 1 to 10 without 4 and 5, then 5 late, then 9 again.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let place = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(place.local_addr().unwrap()).unwrap();
    place.connect(socket.local_addr().unwrap()).unwrap();
    let numbers = [1u32, 2, 3, 6, 7, 8, 9, 10, 5, 9];
    for number in numbers {
        let mut datagram = [0u8; 100];
        datagram[8..12].copy_from_slice(&number.to_be_bytes());
        socket.send(&datagram).unwrap();
    }
    socket.send(&[]).unwrap();
    let lent = target("connection", &place.as_raw_fd().to_string(), false);
    let settings = [("stamp", "seconds_micros_u32"), ("datagram_bytes", "100")];
    let phase = ran(vec![lent], vec![job("reader", 0, Verb::Recv, 100, &settings)]);
    let reader = &phase.jobs[0];
    let of = ["datagrams", "lost", "late", "duplicates", "highest", "bytes"].map(|name| fact(reader, name));
    assert_eq!(of, [10, 1, 1, 1, 10, 1000]);
}

fn exchanges(transport: &str, depth: u32, count: u64) -> PhaseRecord {
    let address = format!("127.0.0.1:{}", free_port());
    let sizes = [("request_bytes", "100"), ("response_bytes", "300")];
    let answerer = job("answerer", 0, Verb::Exchange, 1, &[&sizes[..], &[("answers", "on")]].concat());
    let mut asker = job("asker", 1, Verb::Exchange, 1, &sizes);
    (asker.depth.most, asker.limit.operations) = (depth, Some(count));
    let mut jobs = vec![answerer, asker];
    if transport == "udp" {
        jobs[1].settings.push(Setting::new("response_timeout_ms", 3_600_000));
    } else {
        jobs.iter_mut().for_each(|job| job.settings.push(Setting::new("nodelay", "on")));
    }
    ran(both(transport, &address), jobs)
}

#[test]
fn requests_are_answered_at_every_depth() {
    for (transport, depth, count) in [("tcp", 1, 500), ("tcp", 16, 2000), ("udp", 1, 200), ("udp", 8, 200)] {
        let phase = exchanges(transport, depth, count);
        let [answerer, asker] = &phase.jobs[..] else { panic!("two jobs") };
        let what = format!("{transport} {depth}");
        assert_eq!((operations(asker), failed(asker)), (count, 0), "{what}");
        assert_eq!((fact(asker, "blocks"), fact(asker, "bytes")), (count, count * 400), "{what}");
        assert_eq!(fact(answerer, "blocks"), count, "{what}");
        assert_eq!(asker.tally.lines[0].latency.count(), count, "{what}");
    }
}

#[test]
fn each_exchange_has_a_connection_of_its_own() {
    let address = format!("127.0.0.1:{}", free_port());
    for sizes in
        [[("request_bytes", "1"), ("response_bytes", "1")], [("request_bytes", "0"), ("response_bytes", "0")]]
    {
        let answers = [("answers", "on"), ("accept_each", "on")];
        let mut taker = job("taker", 0, Verb::Exchange, 1, &[&sizes[..], &answers].concat());
        let mut caller =
            job("caller", 1, Verb::Exchange, 1, &[&sizes[..], &[("connect_each", "on")]].concat());
        (taker.limit.operations, caller.limit.operations) = (Some(200), Some(200));
        let phase = ran(both("tcp", &address), vec![taker, caller]);
        for job in &phase.jobs {
            assert_eq!((operations(job), failed(job), fact(job, "connects")), (200, 0, 200), "{}", job.name);
        }
        assert!(fact(&phase.jobs[1], "connect_ns") > 0);
    }
}

#[test]
fn a_place_that_was_lent_brings_a_peer_or_its_time_is_up() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = place.local_addr().unwrap().to_string();
    let lent = || target("connection", &place.as_raw_fd().to_string(), true);
    let sender = target("tcp", &address, false);
    let taker = job("taker", 0, Verb::Recv, 6400, &[("peer_timeout_ms", "3600000")]);
    let mut jobs = vec![taker, job("sender", 1, Verb::Send, 6400, &[])];
    jobs.iter_mut().for_each(|job| job.limit.bytes = Some(6400));
    let phase = ran(vec![lent(), sender], jobs);
    for job in &phase.jobs {
        assert_eq!((fact(job, "bytes"), failed(job)), (6400, 0), "{}", job.name);
    }
    // Nobody comes, and nobody is there.
    for (waits, words) in
        [(lent(), "no peer came in time"), (target("tcp", "127.0.0.1:1", false), "onnection refused")]
    {
        let phase =
            Phase { jobs: vec![job("a", 0, Verb::Recv, 1, &[("peer_timeout_ms", "1")])], ..Phase::default() };
        let plan = Plan { name: "test".into(), targets: vec![waits], phases: vec![phase], ..Plan::default() };
        let record = run(&plan, &Options::default(), &mut |_| ()).unwrap();
        let text = format!("{record:?}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn time_ends_what_waits_for_a_silent_peer() {
    let (near, far) = UnixStream::pair().unwrap();
    let targets = || vec![target("connection", &near.as_raw_fd().to_string(), false)];
    let sizes = [("request_bytes", "1"), ("response_bytes", "1")];
    for (verb, settings, depth) in [
        (Verb::Recv, &[][..], 1),
        (Verb::Exchange, &sizes[..], 1),
        (Verb::Exchange, &sizes[..], 4),
        (Verb::Exchange, &[("answers", "on")][..], 1),
        (Verb::Send, &[][..], 1),
    ] {
        let mut waits = job("waits", 0, verb, 1 << 16, settings);
        waits.limit.time_ns = Some(120_000_000);
        waits.depth.most = depth;
        // That it ends at all is by its time: the peer never says anything.
        let phase = ran(targets(), vec![waits]);
        assert!(phase.elapsed_ns >= 120_000_000, "{verb}: {}", phase.elapsed_ns);
        assert_eq!(failed(&phase.jobs[0]), 0, "{verb}");
        let moved = fact(&phase.jobs[0], "bytes");
        assert_eq!(moved, phase.jobs[0].tally.lines.iter().map(|line| line.bytes).sum::<u64>(), "{verb}");
        assert_eq!(moved > 0, verb == Verb::Send, "{verb}");
    }
    drop(far);
}

#[test]
fn who_asks_is_told_how_far_it_is_and_what_the_ramp_was() {
    let address = format!("127.0.0.1:{}", free_port());
    let reader = job("reader", 0, Verb::Recv, 4096, &[]);
    let mut writer = job("writer", 1, Verb::Send, 4096, &[]);
    writer.pace.rate_all = Rate::Bytes(40_960_000);
    writer.limit.ramp_ns = 200_000_000;
    let mut interim: Vec<PhaseRecord> = Vec::new();
    // It goes on until it was told three times after the ramp.
    let phase = told(both("tcp", &address), vec![reader, writer], 50_000_000, |so_far| {
        interim.push(so_far.clone());
        interim.iter().filter(|phase| fact(&phase.jobs[1], "ramp_bytes") > 0).count() > 3
    });
    let writer = &phase.jobs[1];
    let (all, ramp) = (fact(writer, "bytes"), fact(writer, "ramp_bytes"));
    assert_eq!(all - ramp, writer.workers[0].bytes, "what counts is what came after the ramp");
    assert!(ramp > 0 && fact(writer, "ramp_blocks") == ramp / 4096);
    let so_far: Vec<u64> = interim.iter().map(|phase| fact(&phase.jobs[1], "bytes")).collect();
    assert!(so_far.len() >= 3 && so_far.is_sorted() && *so_far.last().unwrap() > 0, "{so_far:?}");
    let seen = |phase: &PhaseRecord| phase.sightings.iter().any(|one| matches!(one, Sighting::Connection(_)));
    assert!(interim.iter().any(seen) && seen(&phase));
}

#[test]
fn an_open_loop_counts_from_when_it_should_have_asked() {
    let address = format!("127.0.0.1:{}", free_port());
    let answerer = job("answerer", 0, Verb::Exchange, 1, &[("answers", "on")]);
    let mut asker = job("asker", 1, Verb::Exchange, 1, &[]);
    (asker.pace.rate_all, asker.pace.open_loop) = (Rate::Operations(500.0), true);
    asker.limit.operations = Some(100);
    let phase = ran(both("tcp", &address), vec![answerer, asker]);
    let line = &phase.jobs[1].tally.lines[0];
    let service = line.service.as_ref().expect("both latencies");
    assert_eq!((line.latency.count(), service.count()), (100, 100));
    assert!(line.latency.max >= service.max);
}

#[test]
fn a_peer_that_breaks_off_is_an_error_of_who_asks_only() {
    let (near, far) = UnixStream::pair().unwrap();
    let lent = || vec![target("connection", &near.as_raw_fd().to_string(), false)];
    drop(far);
    let phase = ran(lent(), vec![job("answerer", 0, Verb::Exchange, 1, &[("answers", "on")])]);
    assert_eq!((operations(&phase.jobs[0]), failed(&phase.jobs[0])), (0, 0));
    let mut asker = job("asker", 0, Verb::Exchange, 1, &[]);
    asker.limit.operations = Some(1);
    let phase = Phase { name: "phase".into(), jobs: vec![asker], ..Phase::default() };
    let plan = Plan { name: "test".into(), targets: lent(), phases: vec![phase], ..Plan::default() };
    let record = run(&plan, &Options::default(), &mut |_| {}).unwrap();
    assert_eq!(record.phases[0].jobs[0].tally.errors[0].errno, libc::EPIPE);
}

#[test]
fn a_paced_sender_lasts_its_time_and_an_amount_is_exact() {
    let (near, far) = UnixStream::pair().unwrap();
    let lent = || vec![target("connection", &near.as_raw_fd().to_string(), false)];
    // The next block would be due after ten seconds.
    let mut sender = job("sender", 0, Verb::Send, 1000, &[]);
    (sender.pace.rate_all, sender.limit.time_ns) = (Rate::Bytes(100), Some(120_000_000));
    let phase = ran(lent(), vec![sender]);
    assert_eq!((fact(&phase.jobs[0], "bytes"), operations(&phase.jobs[0])), (1000, 1));
    assert!(phase.elapsed_ns >= 120_000_000, "{}", phase.elapsed_ns);
    // Less than a block, and more than one.
    for bytes in [10, 1500] {
        let mut sender = job("sender", 0, Verb::Send, 1000, &[]);
        sender.limit.bytes = Some(bytes);
        let phase = ran(lent(), vec![sender]);
        assert_eq!(fact(&phase.jobs[0], "bytes"), bytes);
    }
    drop(far);
}

#[test]
fn who_is_lent_a_connection_begins_with_the_others() {
    let pairs: Vec<_> = (0..24).map(|_| UnixStream::pair().unwrap()).collect();
    let lent =
        |(near, _): &(UnixStream, UnixStream)| target("connection", &near.as_raw_fd().to_string(), false);
    let sender = |index: usize| {
        let mut sender = job(&format!("sender {index}"), index, Verb::Send, 1 << 17, &[]);
        sender.limit.time_ns = Some(20_000_000);
        sender
    };
    let phase = ran(pairs.iter().map(lent).collect(), (0..pairs.len()).map(sender).collect());
    // What takes each of them time to get ready is over when the first begins.
    let began: Vec<u64> = phase.jobs.iter().map(|job| job.workers[0].began_ns).collect();
    assert!(began.iter().all(|ns| *ns == began[0]), "{began:?}");
}
