//! The memory of a client, and volumes over unlike parts: against theory, and worked out on paper.

use iodyno_model::device::{
    CachePolicy, Device, DevicePart, PageCache, PartKind, PartRecord, Station, Volume, VolumeLayout,
};
use iodyno_model::reflect::Reflect;
use iodyno_simulation::random::{Random, mix};
use iodyno_simulation::{Completion, DeviceRequest, RequestKind, Simulation};

use RequestKind::{Flush, Read, Write};

const PAGE: u64 = 4096;
const MS: u64 = 1_000_000;

fn part(name: &str, kind: PartKind) -> DevicePart {
    DevicePart { name: name.into(), kind, ..DevicePart::default() }
}

/// A part that takes exactly so long for everything, for as many as come.
fn constant(ns: u64, capacity_bytes: u64) -> PartKind {
    let servers = 1_000;
    PartKind::Station(Station { servers, service_ns: ns, variation: 0.0, capacity_bytes, ..Station::blank() })
}

/// Memory whose own time is 1 ns, in front of a device that takes a millisecond.
fn cached(change: impl Fn(&mut PageCache)) -> Simulation {
    let mut cache = PageCache {
        over: "store".into(),
        memory_bytes: 1000 * PAGE,
        operation_ns: 1,
        rate: 0,
        read_ahead_bytes: 0,
        ..PageCache::blank()
    };
    change(&mut cache);
    let parts = vec![part("memory", PartKind::PageCache(cache)), part("store", constant(MS, 1 << 40))];
    Simulation::new(&Device { name: "d".into(), parts, ..Device::default() }, 1).unwrap()
}

fn at(kind: RequestKind, offset: u64, bytes: u64) -> DeviceRequest {
    DeviceRequest { kind, offset, bytes, ..DeviceRequest::default() }
}

/// Requests at a time: how long each took, ns, in their order.
fn together(simulation: &mut Simulation, requests: &[DeviceRequest]) -> Vec<u64> {
    let (begin, mut done, mut took) = (simulation.now(), Vec::new(), vec![0; requests.len()]);
    for (token, request) in requests.iter().enumerate() {
        simulation.arrive(begin, token as u64, *request);
    }
    let mut left = requests.len();
    while left > 0 {
        simulation.advance_to_answer(u64::MAX, &mut done);
        for Completion { token, at } in done.drain(..) {
            (took[token as usize], left) = (at - begin, left - 1);
        }
    }
    took
}

fn alone(simulation: &mut Simulation, request: DeviceRequest) -> u64 {
    together(simulation, &[request])[0]
}

fn record(simulation: &Simulation, name: &str) -> PartRecord {
    simulation.records().into_iter().find(|part| part.name == name).unwrap()
}

fn count(simulation: &Simulation, part: &str, name: &str) -> f64 {
    record(simulation, part).counts.iter().find(|count| count.name == name).map_or(0.0, |count| count.value)
}

/// The hit ratio of an LRU cache under independent references. Source: Che, Tung, Wang, "Hierarchical Web Caching Systems",
/// IEEE JSAC 20 (7), 2002.
fn che(shares: &[f64], pages: f64) -> f64 {
    let kept = |time: f64| shares.iter().map(|share| 1.0 - (-share * time).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        *if kept(middle) < pages { &mut low } else { &mut high } = middle;
    }
    shares.iter().map(|share| share * (1.0 - (-share * low).exp())).sum()
}

/// Independent references with probabilities as Zipf says; how many of them are hits.
fn zipf_hits(policy: CachePolicy, exponent: f64, items: usize, pages: u64) -> (f64, f64) {
    let weights: Vec<f64> = (1..=items).map(|rank| (rank as f64).powf(-exponent)).collect();
    let all: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
    let sums: Vec<f64> = shares
        .iter()
        .scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        })
        .collect();
    let mut simulation = cached(|cache| (cache.policy, cache.memory_bytes) = (policy, pages * PAGE));
    let mut random = Random::from_seed(3, 3);
    let mut draw = |simulation: &mut Simulation, count: u64| {
        for _ in 0..count {
            let drawn = random.unit();
            let rank = sums.partition_point(|sum| *sum < drawn).min(items - 1) as u64;
            alone(simulation, at(Read, rank * PAGE, PAGE));
        }
    };
    draw(&mut simulation, 100_000);
    simulation.mark();
    draw(&mut simulation, 600_000);
    (count(&simulation, "memory", "page hits"), che(&shares, pages as f64))
}

#[test]
fn an_lru_cache_hits_as_often_as_che_says() {
    for (exponent, items, pages) in [(0.8, 10_000, 1_000), (1.0, 10_000, 300), (0.6, 5_000, 2_000)] {
        let (found, expected) = zipf_hits(CachePolicy::Lru, exponent, items, pages);
        let off = found / expected - 1.0;
        assert!(off.abs() < 0.02, "Zipf {exponent}, {pages} of {items}: {found}, expected {expected}");
    }
}

/// A clock is an LRU that forgets the order: at independent references it hits nearly as often, and never much more.
#[test]
fn a_clock_hits_nearly_as_often() {
    let (found, expected) = zipf_hits(CachePolicy::Clock, 0.8, 10_000, 1_000);
    assert!((0.93..1.03).contains(&(found / expected)), "{found}, LRU {expected}");
}

#[test]
fn what_was_read_is_in_memory_and_what_is_direct_is_not() {
    let mut simulation = cached(|_| ());
    let read = at(Read, 0, 3 * PAGE);
    assert_eq!(alone(&mut simulation, read), MS + 1);
    assert_eq!(alone(&mut simulation, read), 1);
    assert_eq!(alone(&mut simulation, DeviceRequest { direct: true, ..read }), MS);
    // Two who read the same page wait for the same request.
    assert_eq!(together(&mut simulation, &[at(Read, 9 * PAGE, PAGE); 2]), [MS + 1, MS + 1]);
    assert_eq!(record(&simulation, "store").requests, 3);
}

#[test]
fn memory_takes_the_time_of_its_rate() {
    let mut simulation = cached(|cache| (cache.operation_ns, cache.rate) = (500, 1_000_000_000));
    alone(&mut simulation, at(Read, 0, PAGE));
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), 500 + 4096);
}

#[test]
fn reads_that_follow_each_other_are_read_ahead() {
    let mut simulation = cached(|cache| cache.read_ahead_bytes = 32 * PAGE);
    let took: Vec<u64> = (0..400).map(|page| alone(&mut simulation, at(Read, page * PAGE, PAGE))).collect();
    let total: u64 = took.iter().sum();
    assert!(total < 40 * MS, "{total} ns; without, 400 ms");
    let requests = record(&simulation, "store").requests;
    assert!((12..60).contains(&requests), "{requests}");
    assert!(count(&simulation, "memory", "pages read ahead") > 380.0);
    // At random places nothing is.
    let mut simulation = cached(|cache| cache.read_ahead_bytes = 32 * PAGE);
    for page in 0..200 {
        alone(&mut simulation, at(Read, mix(page) % 1_000_000 * 7 * PAGE, PAGE));
    }
    assert!(count(&simulation, "memory", "pages read ahead") < 10.0);
}

#[test]
fn writes_are_answered_from_memory_until_too_much_is_dirty() {
    // 1000 pages: written back from 100 on, writers wait from 200 on.
    let mut simulation = cached(|cache| cache.write_queue = 1);
    let writes: Vec<_> = (0..200).map(|page| at(Write, page * 2 * PAGE, PAGE)).collect();
    let took = together(&mut simulation, &writes);
    assert!(took.iter().all(|ns| *ns == 1), "{took:?}");
    let store = record(&simulation, "store");
    assert_eq!((store.requests, store.bytes), (1, PAGE), "one at a time is written back");
    // The next one waits for the first to be back on the device.
    assert_eq!(alone(&mut simulation, at(Write, 1 << 30, PAGE)), MS);
    assert_eq!(count(&simulation, "memory", "waits for dirty pages"), 1.0);
    // Later all above the background limit are there.
    simulation.advance(simulation.now() + 500 * MS, &mut Vec::new());
    assert_eq!(record(&simulation, "store").requests, 101);
}

#[test]
fn pages_that_lie_side_by_side_are_written_back_together() {
    let mut simulation = cached(|_| ());
    let writes: Vec<_> = (0..64).map(|page| at(Write, page * PAGE, PAGE)).collect();
    together(&mut simulation, &writes);
    assert_eq!(record(&simulation, "store").requests, 0);
    assert_eq!(alone(&mut simulation, at(Flush, 0, 0)), 2 * MS, "the pages, then the device's own flush");
    let store = record(&simulation, "store");
    assert_eq!((store.requests, store.bytes), (2, 64 * PAGE));
    // What is clean is not written again.
    assert_eq!(alone(&mut simulation, at(Flush, 0, 0)), MS);
}

#[test]
fn a_flush_waits_for_what_was_dirty_before_it_only() {
    let mut simulation = cached(|_| ());
    alone(&mut simulation, at(Write, 0, PAGE));
    let took = together(&mut simulation, &[at(Flush, 0, 0), at(Write, PAGE, PAGE), at(Flush, 0, 0)]);
    assert_eq!(took[1], 1);
    assert!(took[0] <= 2 * MS + 2 && took[2] <= 2 * MS + 2, "{took:?}");
}

#[test]
fn dirty_pages_expire() {
    let mut simulation = cached(|cache| cache.dirty_expire_ns = 50 * MS);
    alone(&mut simulation, at(Write, 0, PAGE));
    simulation.advance(49 * MS, &mut Vec::new());
    assert_eq!(record(&simulation, "store").requests, 0);
    simulation.advance(60 * MS, &mut Vec::new());
    assert_eq!(record(&simulation, "store").requests, 1);
}

#[test]
fn a_page_that_is_written_in_part_is_read_first() {
    let mut simulation = cached(|_| ());
    assert_eq!(alone(&mut simulation, at(Write, 512, 512)), MS + 1);
    assert_eq!(alone(&mut simulation, at(Write, 1024, 512)), 1, "now it is there");
    assert_eq!(alone(&mut simulation, at(Write, PAGE, PAGE)), 1, "a whole one is not read");
}

#[test]
fn a_durable_write_waits_and_leaves_its_pages() {
    let mut simulation = cached(|_| ());
    let write = DeviceRequest { durable: true, ..at(Write, 0, PAGE) };
    assert_eq!(alone(&mut simulation, write), MS);
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), 1);
    assert_eq!(alone(&mut simulation, DeviceRequest { direct: true, ..at(Write, 0, PAGE) }), MS);
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), MS + 1, "a direct one drops them");
}

#[test]
fn what_is_given_up_is_not_written_back() {
    let mut simulation = cached(|_| ());
    alone(&mut simulation, at(Write, 0, PAGE));
    assert_eq!(alone(&mut simulation, at(RequestKind::Trim, 0, 1 << 40)), MS);
    assert_eq!(alone(&mut simulation, at(Flush, 0, 0)), MS, "nothing is dirty");
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), MS + 1);
}

/// 1 MiB that takes 1 ms in front of the rest that takes 10 ms.
fn volume(layout: VolumeLayout, shares: &[f64]) -> Simulation {
    let over = ["fast", "slow"].map(String::from).to_vec();
    let shares = shares.to_vec();
    let volume = Volume { over, layout, piece_bytes: 64 << 10, shares, ..Volume::blank() };
    let parts = vec![
        part("v", PartKind::Volume(volume)),
        part("fast", constant(MS, 1 << 20)),
        part("slow", constant(10 * MS, 8 << 20)),
    ];
    Simulation::new(&Device { name: "d".into(), parts, ..Device::default() }, 1).unwrap()
}

#[test]
fn a_linear_volume_is_fast_where_its_fast_part_lies() {
    let mut simulation = volume(VolumeLayout::Linear, &[]);
    assert_eq!(simulation.capacity_bytes(), 9 << 20);
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), MS);
    assert_eq!(alone(&mut simulation, at(Read, (1 << 20) - PAGE, PAGE)), MS);
    assert_eq!(alone(&mut simulation, at(Read, 1 << 20, PAGE)), 10 * MS);
    // Over the end of one: both are asked, each for its part.
    assert_eq!(alone(&mut simulation, at(Read, (1 << 20) - PAGE, 3 * PAGE)), 10 * MS);
    assert_eq!((record(&simulation, "fast").bytes, record(&simulation, "slow").bytes), (3 * PAGE, 3 * PAGE));
}

#[test]
fn stripes_over_unlike_disks_are_as_slow_as_the_slow_one() {
    let mut simulation = volume(VolumeLayout::Striped, &[]);
    assert_eq!(simulation.capacity_bytes(), 2 << 20);
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), MS);
    assert_eq!(alone(&mut simulation, at(Read, 64 << 10, PAGE)), 10 * MS);
    assert_eq!(alone(&mut simulation, at(Write, 0, 1 << 20)), 10 * MS);
    // Pieces that lie behind each other on a disk are one request.
    assert_eq!((record(&simulation, "fast").requests, record(&simulation, "slow").requests), (2, 2));
    assert_eq!(record(&simulation, "slow").bytes, (512 << 10) + PAGE);
}

#[test]
fn a_mirror_of_unlike_disks_writes_to_both_and_reads_from_the_one_with_fewer_requests() {
    let mut simulation = volume(VolumeLayout::Mirrored, &[]);
    assert_eq!(simulation.capacity_bytes(), 1 << 20);
    assert_eq!(alone(&mut simulation, at(Write, 0, PAGE)), 10 * MS);
    assert_eq!(alone(&mut simulation, at(Read, 0, PAGE)), MS);
    let mut took = together(&mut simulation, &[at(Read, 0, PAGE); 4]);
    took.sort_unstable();
    assert_eq!(took, [MS, MS, 10 * MS, 10 * MS]);
    assert_eq!(alone(&mut simulation, at(Flush, 0, 0)), 10 * MS);
}

#[test]
fn pieces_lie_on_parts_by_their_shares() {
    let mut simulation = volume(VolumeLayout::Share, &[1.0, 3.0]);
    assert_eq!(simulation.capacity_bytes(), 4 << 20);
    let mut random = Random::from_seed(5, 5);
    let reads = 20_000;
    let total: u64 =
        (0..reads).map(|_| alone(&mut simulation, at(Read, random.below(1 << 40) * PAGE, PAGE))).sum();
    // A quarter takes 1 ms, the others 10.
    let mean = total as f64 / reads as f64 / MS as f64;
    assert!((mean / 7.75 - 1.0).abs() < 0.02, "{mean} ms");
    let share = record(&simulation, "fast").requests as f64 / reads as f64;
    assert!((share / 0.25 - 1.0).abs() < 0.05, "{share}");
}

/// A tiering controller: the hot tenth of the addresses is on the fast tier, and 90 % of the requests go there.
#[test]
fn a_tier_for_the_hot_data_makes_the_mean() {
    let mut simulation = volume(VolumeLayout::Linear, &[]);
    let mut random = Random::from_seed(6, 6);
    let reads = 20_000;
    let mut one = |simulation: &mut Simulation| {
        let page = if random.unit() < 0.9 { random.below(256) } else { 256 + random.below(2048) };
        alone(simulation, at(Read, page * PAGE, PAGE))
    };
    let total: u64 = (0..reads).map(|_| one(&mut simulation)).sum();
    let mean = total as f64 / reads as f64 / MS as f64;
    assert!((mean / (0.9 + 0.1 * 10.0) - 1.0).abs() < 0.02, "{mean} ms");
}
