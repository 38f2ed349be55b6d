//! Parts against queueing theory: M/M/1, M/M/c, M/G/1, closed networks by exact mean value analysis, and Little's law in
//! every part of every kind.

use iodyno_model::device::{Cluster, Device, DevicePart, PartKind, Station};
use iodyno_model::reflect::Reflect;
use iodyno_simulation::random::Random;
use iodyno_simulation::{Completion, DeviceRequest, RequestKind, Simulation};

fn device(parts: Vec<(&str, PartKind)>) -> Device {
    let part =
        |(name, kind): (&str, PartKind)| DevicePart { name: name.into(), kind, ..DevicePart::default() };
    Device { name: "d".into(), parts: parts.into_iter().map(part).collect(), ..Device::default() }
}

fn station(servers: u32, service_ns: u64, variation: f64) -> PartKind {
    PartKind::Station(Station { servers, service_ns, variation, ..Station::blank() })
}

/// Poisson arrivals: the mean time from arrival to answer, ns.
fn open_loop(device: &Device, per_second: f64, count: u64) -> f64 {
    let mut simulation = Simulation::new(device, 3).unwrap();
    let (mut random, mut at, mut total) = (Random::from_seed(7, 7), 0.0, 0_u128);
    let (mut arrivals, mut done) = (Vec::new(), Vec::new());
    let take = |done: &mut Vec<Completion>, arrivals: &[u64], total: &mut u128| {
        for Completion { token, at } in done.drain(..) {
            *total += u128::from(at - arrivals[token as usize]);
        }
    };
    for token in 0..count {
        at += random.exponential(1e9 / per_second);
        simulation.advance(at as u64, &mut done);
        take(&mut done, &arrivals, &mut total);
        arrivals.push(at as u64);
        let offset = random.below(1 << 30) * 4096;
        simulation.arrive(
            at as u64,
            token,
            DeviceRequest { kind: RequestKind::Read, offset, bytes: 4096, ..DeviceRequest::default() },
        );
    }
    simulation.advance(u64::MAX / 2, &mut done);
    take(&mut done, &arrivals, &mut total);
    total as f64 / count as f64
}

/// So many requests always in flight: answers a second.
fn closed_loop(device: &Device, depth: u64, count: u64, kind: RequestKind) -> (f64, Simulation) {
    let mut simulation = Simulation::new(device, 5).unwrap();
    let mut random = Random::from_seed(9, 9);
    let span = if simulation.capacity_bytes() > 0 { simulation.capacity_bytes() / 4096 } else { 1 << 30 };
    let mut request =
        || DeviceRequest { kind, offset: random.below(span) * 4096, bytes: 4096, ..DeviceRequest::default() };
    (0..depth).for_each(|token| simulation.arrive(0, token, request()));
    let (mut answered, mut done) = (0, Vec::new());
    while answered < count {
        simulation.advance_to_answer(u64::MAX, &mut done);
        for Completion { token, at } in done.drain(..) {
            answered += 1;
            simulation.arrive(at, token, request());
        }
    }
    (answered as f64 * 1e9 / simulation.now() as f64, simulation)
}

fn close(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < share, "{what}: {found}, expected {expected}");
}

#[test]
fn one_memoryless_server_is_as_slow_as_theory_says() {
    // 1 / (μ - λ), with μ = 10,000 a second.
    for (per_second, expected_ns) in [(2_000.0, 125e3), (5_000.0, 200e3), (8_000.0, 500e3)] {
        let found = open_loop(&device(vec![("s", station(1, 100_000, 1.0))]), per_second, 600_000);
        close(found, expected_ns, 0.02, &format!("M/M/1 at {per_second}/s"));
    }
}

/// Erlang's C formula: the probability that all of c servers work, at a load of a = λ/μ.
fn erlang_c(servers: u32, load: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 0..servers {
        sum += term;
        term *= load / f64::from(k + 1);
    }
    let last = term / (1.0 - load / f64::from(servers));
    last / (sum + last)
}

#[test]
fn several_servers_wait_as_erlang_says() {
    for (servers, load) in [(2_u32, 1.2), (4, 3.0), (16, 13.0)] {
        let per_second = load * 10_000.0;
        let found = open_loop(&device(vec![("s", station(servers, 100_000, 1.0))]), per_second, 600_000);
        let waiting = erlang_c(servers, load) / (f64::from(servers) * 10_000.0 - per_second) * 1e9;
        close(found, 100e3 + waiting, 0.02, &format!("M/M/{servers}"));
    }
}

#[test]
fn the_variation_of_the_service_makes_the_queue() {
    // Pollaczek and Khinchine: s + λ s² (1 + v) / (2 (1 - ρ)).
    for variation in [0.0, 0.3, 0.5, 1.0, 2.0, 4.0] {
        let load = 0.6;
        let found = open_loop(&device(vec![("s", station(1, 100_000, variation))]), load * 1e4, 1_500_000);
        let expected = 100e3 * (1.0 + load * (1.0 + variation) / (2.0 * (1.0 - load)));
        close(found, expected, 0.02, &format!("M/G/1 with variation {variation}"));
    }
}

/// Exact mean value analysis of a closed network of single exponential servers: throughput a second of so many requests.
/// Source: Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", JACM 27 (2), 1980.
fn mean_value_analysis(demands_ns: &[f64], requests: u64) -> f64 {
    let (mut queues, mut throughput) = (vec![0.0; demands_ns.len()], 0.0);
    for inside in 1..=requests {
        let response: Vec<f64> =
            demands_ns.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        throughput = inside as f64 / response.iter().sum::<f64>();
        queues = response.iter().map(|response| throughput * response).collect();
    }
    throughput * 1e9
}

fn in_line(over: &str, service_ns: u64) -> PartKind {
    PartKind::Station(Station { over: Some(over.into()), service_ns, ..Station::blank() })
}

#[test]
fn closed_networks_are_as_fast_as_mean_value_analysis_says() {
    let line = device(vec![
        ("a", in_line("b", 70_000)),
        ("b", in_line("c", 100_000)),
        ("c", station(1, 40_000, 1.0)),
    ]);
    let one_of_eight =
        PartKind::Cluster(Cluster { over: "s".into(), servers: 8, replicas: 1, ..blank_cluster() });
    let fan =
        device(vec![("front", in_line("c", 20_000)), ("c", one_of_eight), ("s", station(1, 100_000, 1.0))]);
    for requests in [1, 2, 5, 20] {
        let found = closed_loop(&line, requests, 400_000, RequestKind::Read).0;
        close(
            found,
            mean_value_analysis(&[70e3, 100e3, 40e3], requests),
            0.02,
            &format!("a line, {requests}"),
        );
        let found = closed_loop(&fan, requests, 400_000, RequestKind::Read).0;
        let demands = [vec![20e3], vec![100e3 / 8.0; 8]].concat();
        close(found, mean_value_analysis(&demands, requests), 0.02, &format!("one of eight, {requests}"));
    }
}

fn blank_cluster() -> Cluster {
    Cluster { piece_bytes: 4096, ..Cluster::blank() }
}

/// Every kind of part in one device of each shape.
fn all_kinds() -> Vec<Device> {
    let kind = |index: usize, over: &str| {
        let mut kind = PartKind::default();
        if let iodyno_model::reflect::ReflectMut::Composite(slot) = kind.slot() {
            slot.set_variant(index);
        }
        match &mut kind {
            PartKind::Nvme(nvme) => nvme.over = over.into(),
            PartKind::Raid(raid) => raid.over = over.into(),
            PartKind::Network(network) => network.over = over.into(),
            PartKind::Server(server) => server.over = over.into(),
            PartKind::Cluster(cluster) => cluster.over = over.into(),
            _ => {}
        }
        kind
    };
    vec![
        device(vec![("station", kind(0, ""))]),
        device(vec![("raid", kind(4, "disk")), ("disk", kind(1, ""))]),
        device(vec![("nvme", kind(3, "ssd")), ("ssd", kind(2, ""))]),
        device(vec![("cloud", kind(5, ""))]),
        device(vec![
            ("net", kind(6, "cluster")),
            ("cluster", kind(8, "server")),
            ("server", kind(7, "ssd")),
            ("ssd", kind(2, "")),
        ]),
    ]
}

/// Requests inside = arrivals a second × time inside, of each part: of what was answered, but for what is still inside.
#[test]
fn littles_law_holds_in_every_part() {
    for device in all_kinds() {
        for kind in [RequestKind::Read, RequestKind::Write] {
            let (_, simulation) = closed_loop(&device, 16, 50_000, kind);
            let seconds = simulation.now() as f64 / 1e9;
            for part in simulation.records() {
                let inside = part.requests as f64 / seconds * part.response_ns / 1e9 / part.instances as f64;
                close(inside, part.queue, 0.01, &format!("{} of {:?}", part.name, kind));
                assert!((0.0..=1.0).contains(&part.utilisation), "{}: {}", part.name, part.utilisation);
            }
        }
    }
}

#[test]
fn the_same_seed_does_the_same() {
    for device in all_kinds() {
        let run = |seed| {
            let mut simulation = Simulation::new(&device, seed).unwrap();
            let mut done = Vec::new();
            for token in 0..2_000 {
                let kind = [RequestKind::Write, RequestKind::Read, RequestKind::Flush][token as usize % 3];
                simulation.advance(token * 10_000, &mut done);
                let offset = token * 7_919 * 4096 % (1 << 36);
                simulation.arrive(
                    token * 10_000,
                    token,
                    DeviceRequest { kind, offset, bytes: 8192, ..DeviceRequest::default() },
                );
            }
            simulation.advance(u64::MAX / 2, &mut done);
            assert_eq!(done.len(), 2_000);
            (done, simulation.records())
        };
        assert_eq!(run(1), run(1));
    }
}

#[test]
fn what_runs_longer_needs_no_more_memory() {
    // Events and tasks are used again: their number is that of what is in flight.
    let device = &all_kinds()[4];
    let (_, simulation) = closed_loop(device, 8, 20_000, RequestKind::Write);
    assert!(simulation.tasks() < 400, "{} tasks", simulation.tasks());
}
