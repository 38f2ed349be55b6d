//! What each kind of part does with a request, worked out on paper.

use iodyno_model::device::{
    Cloud, Cluster, Device, DevicePart, HardDisk, Network, Nvme, PartKind, PartRecord, Placing, Raid,
    RaidLevel, Server, Ssd, SsdState, Station,
};
use iodyno_model::reflect::Reflect;
use iodyno_simulation::random::Random;
use iodyno_simulation::{Completion, DeviceRequest, RequestKind, Simulation, scaled};

use RequestKind::{Flush, Metadata, Read, Trim, Write};

fn device(parts: Vec<(&str, PartKind)>) -> Device {
    let part =
        |(name, kind): (&str, PartKind)| DevicePart { name: name.into(), kind, ..DevicePart::default() };
    Device { name: "d".into(), parts: parts.into_iter().map(part).collect(), ..Device::default() }
}

/// A part that takes exactly so long for everything, for as many as come.
fn constant(ns: u64, capacity_bytes: u64) -> PartKind {
    let servers = 1_000;
    PartKind::Station(Station { servers, service_ns: ns, variation: 0.0, capacity_bytes, ..Station::blank() })
}

fn simulation(device: &Device) -> Simulation {
    Simulation::new(device, 1).unwrap()
}

fn at(kind: RequestKind, offset: u64, bytes: u64) -> DeviceRequest {
    DeviceRequest { kind, offset, bytes, ..DeviceRequest::default() }
}

/// One request after the other: how long each takes, ns.
fn alone(simulation: &mut Simulation, requests: &[DeviceRequest]) -> Vec<u64> {
    let mut done = Vec::new();
    requests
        .iter()
        .map(|request| {
            let begin = simulation.now();
            simulation.arrive(begin, 0, *request);
            simulation.advance_to_answer(u64::MAX, &mut done);
            let [Completion { at, .. }] = done[..] else { panic!("one answer") };
            done.clear();
            at - begin
        })
        .collect()
}

/// All at once: when each is answered, in the order of the requests.
fn together(simulation: &mut Simulation, requests: &[DeviceRequest]) -> Vec<u64> {
    let (begin, mut done) = (simulation.now(), Vec::new());
    for (token, request) in requests.iter().enumerate() {
        simulation.arrive(begin, token as u64, *request);
    }
    let mut all = vec![0; requests.len()];
    let mut left = requests.len();
    while left > 0 {
        simulation.advance_to_answer(u64::MAX, &mut done);
        for Completion { token, at } in done.drain(..) {
            (all[token as usize], left) = (at - begin, left - 1);
        }
    }
    all
}

fn record(simulation: &Simulation, name: &str) -> PartRecord {
    simulation.records().into_iter().find(|part| part.name == name).unwrap()
}

fn count(simulation: &Simulation, part: &str, name: &str) -> f64 {
    record(simulation, part).counts.iter().find(|count| count.name == name).map_or(0.0, |count| count.value)
}

const MS: u64 = 1_000_000;
const CHUNK: u64 = 65_536;

fn array(level: RaidLevel, disks: u32, change: impl Fn(&mut Raid)) -> Simulation {
    let mut raid = Raid {
        over: "disk".into(),
        level,
        disks,
        command_ns: 0,
        answer_ns: 0,
        chunk_bytes: CHUNK,
        ..Raid::blank()
    };
    change(&mut raid);
    simulation(&device(vec![("raid", PartKind::Raid(raid)), ("disk", constant(MS, 1 << 30))]))
}

#[test]
fn a_small_write_costs_what_its_level_says() {
    // Requests to disks: data; both mirrors; two reads and two writes; three and three.
    for (level, disks, requests, rounds) in [
        (RaidLevel::Stripe, 4, 1, 1),
        (RaidLevel::Mirror, 2, 2, 1),
        (RaidLevel::StripedMirror, 4, 2, 1),
        (RaidLevel::Parity, 5, 4, 2),
        (RaidLevel::DoubleParity, 6, 6, 2),
    ] {
        let mut simulation = array(level, disks, |_| ());
        let took = alone(&mut simulation, &[at(Write, 3 * CHUNK, 4096)]);
        assert_eq!(record(&simulation, "disk").requests, requests, "{level:?}");
        assert!(took[0].abs_diff(rounds * MS) < 10, "{level:?}: {}", took[0]);
    }
}

#[test]
fn a_whole_stripe_reads_nothing_first() {
    let mut simulation = array(RaidLevel::Parity, 5, |_| ());
    let took = alone(&mut simulation, &[at(Write, 0, 4 * CHUNK)]);
    assert_eq!(record(&simulation, "disk").requests, 5);
    assert!(took[0] < MS + 10);
    assert_eq!(count(&simulation, "raid", "whole stripes written"), 1.0);
    let mut simulation = array(RaidLevel::DoubleParity, 6, |_| ());
    alone(&mut simulation, &[at(Write, 0, 8 * CHUNK)]);
    assert_eq!(
        (record(&simulation, "disk").requests, count(&simulation, "raid", "whole stripes written")),
        (12, 2.0)
    );
}

#[test]
fn a_lost_disk_is_read_from_the_others() {
    // Of five chunks in a row of RAID 5 one lies on the failed disk, and costs four reads.
    let mut simulation = array(RaidLevel::Parity, 5, |raid| raid.failed = 1);
    let reads: Vec<DeviceRequest> = (0..4 * 5).map(|chunk| at(Read, chunk * CHUNK, 4096)).collect();
    alone(&mut simulation, &reads);
    assert_eq!(record(&simulation, "disk").requests, 16 + 4 * 4);
    let mut simulation = array(RaidLevel::StripedMirror, 4, |raid| raid.failed = 1);
    alone(&mut simulation, &reads);
    assert_eq!(record(&simulation, "disk").requests, 20);
    // A write whose data lies on the failed disk computes the parity from all others.
    let mut simulation = array(RaidLevel::Parity, 3, |raid| raid.failed = 1);
    let lost = (0..6).find(|chunk| (2 - chunk / 2 % 3 + 1 + chunk % 2) % 3 == 0).unwrap();
    alone(&mut simulation, &[at(Write, lost * CHUNK, 4096)]);
    assert_eq!(
        record(&simulation, "disk").requests,
        2,
        "one read of the other data, one write of the parity"
    );
}

#[test]
fn a_rebuild_goes_on_at_its_rate() {
    let rebuilds = |raid: &mut Raid| (raid.failed, raid.rebuild_rate) = (1, 10 << 20);
    let mut simulation = array(RaidLevel::DoubleParity, 6, rebuilds);
    let mut done = Vec::new();
    simulation.advance(10_000 * MS, &mut done);
    let rebuilt = count(&simulation, "raid", "bytes rebuilt");
    assert!((rebuilt / (100 << 20) as f64 - 1.0).abs() < 0.01, "{rebuilt}");
}

#[test]
fn memory_with_a_battery_answers_early_and_without_does_not() {
    let cached = |battery| move |raid: &mut Raid| (raid.cache_bytes, raid.battery) = (1 << 20, battery);
    let write = [at(Write, 0, 4096)];
    assert!(alone(&mut array(RaidLevel::Parity, 5, cached(true)), &write)[0] < 10);
    assert!(alone(&mut array(RaidLevel::Parity, 5, cached(false)), &write)[0] > MS);
    assert!(alone(&mut array(RaidLevel::Parity, 5, cached(true)), &[at(Flush, 0, 0)])[0] < 10);
}

#[test]
fn a_disk_takes_what_the_formula_says() {
    let textbook = HardDisk {
        seek_curve: iodyno_model::device::SeekCurve::Flat,
        rotation: iodyno_model::device::Rotation::Half,
        seek_ns: 9 * MS,
        command_ns: 0,
        outer_rate: 0,
        ..HardDisk::blank()
    };
    let mut simulation = simulation(&device(vec![("disk", PartKind::Disk(textbook))]));
    let took = alone(
        &mut simulation,
        &[at(Read, 1 << 30, 4096), at(Read, 1 << 31, 4096), at(Read, (1 << 31) + 4096, 4096)],
    );
    assert_eq!(took[..2], [9 * MS + 4_166_666; 2]);
    assert!(took[2] <= 1, "what goes on where the arm is moves nothing");
}

#[test]
fn a_disk_chooses_the_nearest_of_those_that_wait() {
    let rate = |ncq| {
        let disk = PartKind::Disk(HardDisk { ncq, ..HardDisk::blank() });
        let mut simulation = simulation(&device(vec![("disk", disk)]));
        let mut random = Random::from_seed(1, 1);
        let reads: Vec<DeviceRequest> =
            (0..400).map(|_| at(Read, random.below(1_000_000_000_000), 4096)).collect();
        400.0 * 1e9 / *together(&mut simulation, &reads).iter().max().unwrap() as f64
    };
    let (in_order, nearest) = (rate(1), rate(32));
    // 8.5 ms + half a turn of 8.33 ms + 0.1 ms: 78 a second.
    assert!((in_order / 78.0 - 1.0).abs() < 0.06, "{in_order}");
    assert!(nearest > 2.0 * in_order, "{nearest}");
}

#[test]
fn the_mean_seek_of_a_disk_is_its_own() {
    // Seeks alone: turns take no time to speak of.
    let disk = HardDisk { rpm: 4_000_000, command_ns: 0, outer_rate: 0, ..HardDisk::blank() };
    let (capacity, mean_ns) = (disk.capacity_bytes, disk.seek_ns as f64);
    let mut simulation = simulation(&device(vec![("disk", PartKind::Disk(disk))]));
    let mut random = Random::from_seed(1, 1);
    let reads: Vec<DeviceRequest> = (0..20_000).map(|_| at(Read, random.below(capacity), 512)).collect();
    let took = alone(&mut simulation, &reads);
    let mean = took.iter().sum::<u64>() as f64 / took.len() as f64;
    assert!((mean / mean_ns - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn outer_tracks_are_faster_and_what_lies_ahead_is_there() {
    let disk = HardDisk {
        outer_rate: 200_000_000,
        inner_rate: 100_000_000,
        cache_bytes: 8 << 20,
        read_ahead_bytes: 1 << 20,
        ..HardDisk::blank()
    };
    let capacity = disk.capacity_bytes;
    let mut simulation = simulation(&device(vec![("disk", PartKind::Disk(disk))]));
    let rate = |simulation: &mut Simulation, begin: u64| {
        let reads: Vec<DeviceRequest> =
            (0..2_000).map(|block| at(Read, begin + block * CHUNK, CHUNK)).collect();
        let took: u64 = alone(simulation, &reads)[100..].iter().sum();
        1_900.0 * CHUNK as f64 / (took as f64 / 1e9)
    };
    let (outer, inner) = (rate(&mut simulation, 0), rate(&mut simulation, capacity - 2_001 * CHUNK));
    assert!((outer / 200e6 - 1.0).abs() < 0.02 && (inner / 100e6 - 1.0).abs() < 0.02, "{outer} {inner}");
    assert!(count(&simulation, "disk", "read hits") > 0.99);
}

#[test]
fn a_full_memory_makes_writes_wait_for_the_arm() {
    let disk = HardDisk { cache_bytes: 1 << 20, write_back: true, cached_ns: 1_000, ..HardDisk::blank() };
    let mut simulation = simulation(&device(vec![("disk", PartKind::Disk(disk))]));
    let writes: Vec<DeviceRequest> = (0..300).map(|block| at(Write, block * 3_000_000_000, 4096)).collect();
    let took = alone(&mut simulation, &writes);
    assert!(took[..200].iter().all(|ns| *ns == 1_000));
    assert!(took[290..].iter().sum::<u64>() > 10 * MS, "{:?}", &took[290..]);
    assert!(alone(&mut simulation, &[at(Flush, 0, 0)])[0] > 100 * MS);
    assert!(alone(&mut simulation, &[at(Flush, 0, 0)])[0] < MS);
}

fn ssd(change: impl Fn(&mut Ssd)) -> Simulation {
    let mut ssd = Ssd { command_ns: 0, channel_rate: 0, ..Ssd::blank() };
    change(&mut ssd);
    simulation(&device(vec![("ssd", PartKind::Ssd(ssd))]))
}

#[test]
fn flash_is_read_by_page_and_die() {
    let mut simulation = ssd(|ssd| ssd.state = SsdState::Filled);
    // The page is in the register the second time; its neighbour lies on another die.
    let took = alone(&mut simulation, &[at(Read, 0, 4096), at(Read, 4096, 4096), at(Read, 16_384, 4096)]);
    assert_eq!(took, [60_000, 1, 60_000]);
    let both = together(&mut simulation, &[at(Read, 1 << 20, 4096), at(Read, (1 << 20) + 16_384, 4096)]);
    assert_eq!(both, [60_000; 2]);
    let same_die = 32 * 16_384;
    assert_eq!(together(&mut simulation, &[at(Read, 0, 4096), at(Read, same_die, 4096)]), [60_000, 120_000]);
    // What was never written is known without the flash.
    assert_eq!(alone(&mut ssd(|_| ()), &[at(Read, 0, 4096)]), [1]);
}

#[test]
fn a_buffer_answers_until_it_is_full() {
    let one_die = |ssd: &mut Ssd| (ssd.channels, ssd.dies, ssd.buffer_bytes) = (1, 1, 4 * 16_384);
    let mut simulation = ssd(one_die);
    let writes: Vec<DeviceRequest> = (0..64).map(|page| at(Write, page * 16_384, 16_384)).collect();
    let took = alone(&mut simulation, &writes);
    assert_eq!(took[..4], [1; 4]);
    // Then each waits until a page was programmed: 600 µs.
    assert!(took[8..].iter().all(|ns| ns.abs_diff(600_000) < 10), "{took:?}");
    assert!(alone(&mut simulation, &[at(Flush, 0, 0)])[0] > 3 * 600_000);
    let mut safe = ssd(|ssd| (one_die(ssd), ssd.protected = true).1);
    alone(&mut safe, &writes);
    assert_eq!(alone(&mut safe, &[at(Flush, 0, 0)]), [1]);
}

#[test]
fn a_worn_drive_writes_more_than_it_is_asked_and_a_trimmed_one_less() {
    let small = |state| {
        move |ssd: &mut Ssd| {
            (ssd.capacity_bytes, ssd.over_provisioning_percent, ssd.state) = (1 << 30, 15.0, state);
        }
    };
    let amplification = |simulation: &mut Simulation| {
        let mut random = Random::from_seed(1, 1);
        let writes: Vec<DeviceRequest> =
            (0..400_000).map(|_| at(Write, random.below(1 << 18) * 4096, 4096)).collect();
        simulation.mark();
        alone(simulation, &writes);
        count(simulation, "ssd", "write amplification")
    };
    let worn = amplification(&mut ssd(small(SsdState::Worn)));
    // Desnoyers: 3.6 for a spare part of 15 % and blocks of 64 pages.
    assert!((worn / 3.6 - 1.0).abs() < 0.08, "{worn}");
    let mut trimmed = ssd(small(SsdState::Worn));
    alone(&mut trimmed, &[at(Trim, 0, 1 << 30)]);
    let mut random = Random::from_seed(1, 1);
    let writes: Vec<DeviceRequest> =
        (0..100_000).map(|_| at(Write, random.below(1 << 18) * 4096, 4096)).collect();
    trimmed.mark();
    alone(&mut trimmed, &writes);
    let fresh = count(&trimmed, "ssd", "write amplification");
    assert!((fresh - 1.0).abs() < 0.01, "{fresh}");
}

#[test]
fn a_cache_of_single_level_cells_is_fast_until_it_is_full_and_again_after_a_pause() {
    let cached = |ssd: &mut Ssd| {
        (ssd.channels, ssd.dies, ssd.buffer_bytes, ssd.slc_bytes) = (1, 1, 0, 100 * 16_384);
    };
    let mut simulation = ssd(cached);
    let write = |page: u64| at(Write, page * 16_384, 16_384);
    let took = alone(&mut simulation, &(0..200).map(write).collect::<Vec<_>>());
    assert_eq!((took[0], took[99], took[100], took[199]), (200_000, 200_000, 600_000, 600_000));
    let mut done = Vec::new();
    simulation.advance(simulation.now() + 2_000 * MS, &mut done);
    assert_eq!(alone(&mut simulation, &[write(300)]), [200_000]);
}

#[test]
fn a_link_and_processors_are_shared() {
    let nvme = Nvme { over: "s".into(), link_rate: 1_000_000_000, read_ns: 0, write_ns: 0, ..Nvme::blank() };
    let mut simulation =
        simulation(&device(vec![("nvme", PartKind::Nvme(nvme.clone())), ("s", constant(MS, 0))]));
    // 1 MB takes a millisecond on the link, in each direction by itself.
    let both =
        together(&mut simulation, &[at(Read, 0, 1_000_000), at(Read, 0, 1_000_000), at(Write, 0, 1_000_000)]);
    assert!(
        both[0].abs_diff(2 * MS) < 10 && both[1].abs_diff(3 * MS) < 10 && both[2].abs_diff(2 * MS) < 10,
        "{both:?}"
    );
    let queue = Nvme { queue: 1, ..nvme };
    let mut simulation =
        self::simulation(&device(vec![("nvme", PartKind::Nvme(queue)), ("s", constant(MS, 0))]));
    let three = together(&mut simulation, &[at(Metadata, 0, 0); 3]);
    assert!(three[2].abs_diff(3 * MS) < 10, "{three:?}");
}

#[test]
fn a_network_carries_and_loses() {
    let network = Network {
        over: "s".into(),
        rate: 1_000_000_000,
        round_trip_ns: MS,
        header_bytes: 0,
        ..Network::blank()
    };
    let path = |network: &Network| {
        simulation(&device(vec![("net", PartKind::Network(network.clone())), ("s", constant(MS, 0))]))
    };
    let took = alone(&mut path(&network), &[at(Read, 0, 1_000_000), at(Write, 0, 2_000_000)]);
    assert!(took[0].abs_diff(3 * MS) < 10 && took[1].abs_diff(4 * MS) < 10, "{took:?}");
    // Incast: of ten answers of 1 MB at once a switch with room for three drops the others, which come later.
    let incast = Network { buffer_bytes: 3_000_000, ..network.clone() };
    let mut simulation = path(&incast);
    let all = together(&mut simulation, &[at(Read, 0, 1_000_000); 10]);
    assert!(count(&simulation, "net", "answers dropped by the switch") >= 7.0);
    assert!(*all.iter().max().unwrap() > incast.retransmit_ns);
    // One packet in a hundred: a short message waits for a time-out.
    let lossy = Network { loss_percent: 1.0, rate: 0, ..network };
    let mut simulation = path(&lossy);
    let took = alone(&mut simulation, &vec![at(Read, 0, 1_000); 20_000]);
    let late = took.iter().filter(|ns| **ns > lossy.retransmit_ns).count() as f64 / 20_000.0;
    // Both messages of a request can be lost: 1 - 0.99².
    assert!((late / 0.0199 - 1.0).abs() < 0.1, "{late}");
}

#[test]
fn a_server_answers_from_memory_what_it_has() {
    let server = Server {
        over: "s".into(),
        threads: 2,
        operation_ns: 1_000,
        cache_bytes: 1 << 20,
        line_bytes: 4096,
        ..Server::blank()
    };
    let nfs = |server: &Server| {
        simulation(&device(vec![("nfs", PartKind::Server(server.clone())), ("s", constant(MS, 0))]))
    };
    let mut simulation = nfs(&server);
    let took = alone(&mut simulation, &[at(Read, 0, 4096), at(Read, 0, 4096), at(Metadata, 0, 0)]);
    assert_eq!(took, [MS + 1_000, 1_000, 50_000]);
    assert_eq!(count(&simulation, "nfs", "read hits"), 0.5);
    // Two threads hold two requests each millisecond.
    let all = together(&mut simulation, &[1, 2, 3, 4].map(|line| at(Read, line * 8192, 4096)));
    assert_eq!(all, [MS + 1_000, MS + 1_000, 2 * MS + 2_000, 2 * MS + 2_000]);
    let early = Server { write_back: true, ..server };
    let mut simulation = nfs(&early);
    assert_eq!(alone(&mut simulation, &[at(Write, 0, 4096)]), [1_000]);
    assert!(alone(&mut simulation, &[at(Flush, 0, 0)])[0] > MS, "a flush waits for what was answered early");
}

#[test]
fn a_quorum_does_not_wait_for_the_slow_server() {
    let cluster = Cluster {
        over: "s".into(),
        servers: 3,
        placing: Placing::InTurn,
        piece_bytes: 4096,
        slow: 1,
        slow_factor: 10.0,
        ..Cluster::blank()
    };
    let run = |cluster: Cluster, request: DeviceRequest| {
        let mut simulation =
            simulation(&device(vec![("c", PartKind::Cluster(cluster)), ("s", constant(MS, 1 << 30))]));
        (alone(&mut simulation, &[request])[0], record(&simulation, "s").requests)
    };
    let write = at(Write, 0, 4096);
    assert_eq!(run(cluster.clone(), write), (10 * MS, 3));
    assert_eq!(run(Cluster { write_quorum: 2, ..cluster.clone() }, write), (MS, 3));
    // The first copy of piece 0 lies on the slow server, that of piece 1 does not.
    assert_eq!(run(cluster.clone(), at(Read, 0, 4096)), (10 * MS, 1));
    assert_eq!(run(cluster.clone(), at(Read, 4096, 4096)), (MS, 1));
    // Two data, one parity: each server stores half a piece; any two make it whole.
    let code = Cluster { data: 2, parity: 1, read_quorum: 3, ..cluster };
    assert_eq!(run(code.clone(), at(Read, 0, 4096)), (MS, 3));
    assert_eq!(run(Cluster { read_quorum: 0, ..code }, at(Read, 0, 4096)), (10 * MS, 2));
}

#[test]
fn a_request_over_several_pieces_goes_to_several_servers() {
    let cluster = Cluster {
        over: "s".into(),
        servers: 4,
        replicas: 1,
        placing: Placing::InTurn,
        piece_bytes: 4096,
        ..Cluster::blank()
    };
    let mut simulation =
        simulation(&device(vec![("c", PartKind::Cluster(cluster)), ("s", constant(MS, 1 << 30))]));
    assert_eq!(alone(&mut simulation, &[at(Read, 2048, 3 * 4096)]), [MS]);
    assert_eq!((record(&simulation, "s").requests, record(&simulation, "s").bytes), (4, 3 * 4096));
}

#[test]
fn a_cloud_counts_long_requests_more_than_once() {
    let cloud = Cloud { iops: 1_000, bandwidth: 0, latency_ns: 0, accounted_bytes: 16_384, ..Cloud::blank() };
    let mut simulation = simulation(&device(vec![("c", PartKind::Cloud(cloud))]));
    let took = alone(&mut simulation, &[at(Read, 0, 16_384), at(Read, 0, 16_385), at(Read, 0, 65_536)]);
    assert!(
        took[0].abs_diff(MS) < 10 && took[1].abs_diff(2 * MS) < 10 && took[2].abs_diff(4 * MS) < 10,
        "{took:?}"
    );
}

#[test]
fn a_cloud_fetches_each_block_of_its_snapshot_once() {
    let cloud = Cloud {
        capacity_bytes: 1 << 30,
        iops: 1_000_000_000,
        bandwidth: 0,
        latency_ns: MS,
        cold_ns: 5 * MS,
        cold_rate: 524_288_000,
        cold_block_bytes: 524_288,
        ..Cloud::blank()
    };
    let mut simulation = simulation(&device(vec![("c", PartKind::Cloud(cloud))]));
    let took = alone(
        &mut simulation,
        // The first of a block, again, its neighbour in the block, two blocks at once, a write to one of them.
        &[
            at(Read, 4096, 4096),
            at(Read, 4096, 4096),
            at(Read, 520_192, 4096),
            at(Read, 1_048_576 - 4096, 8192),
            at(Write, 1_048_576, 4096),
        ],
    );
    let expected = [7 * MS, MS, MS, 8 * MS, MS];
    assert!(took.iter().zip(expected).all(|(took, known)| took.abs_diff(known) < 10), "{took:?}");
}

#[test]
fn what_is_slow_takes_longer_in_every_figure() {
    let PartKind::Disk(disk) = scaled(&PartKind::Disk(HardDisk::blank()), 2.0) else {
        panic!("a disk stays one")
    };
    assert_eq!((disk.seek_ns, disk.rpm, disk.outer_rate), (17 * MS, 3_600, 90_000_000));
}
