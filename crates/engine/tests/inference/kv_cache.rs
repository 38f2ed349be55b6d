//! A server with a key-value cache on a simulated device: times to first token that arithmetic tells, to the nanosecond.

use iodyno_engine::{Options, run as run_plan};
use iodyno_model::device::{Device, DevicePart, PartKind, Station};
use iodyno_model::kv_cache::{
    BlockLayout, CACHED_TOKENS, CacheRequests, FIRST_TOKEN, KvServer, PROMPT_TOKENS, READ, STORE,
};
use iodyno_model::reflect::Reflect;
use iodyno_model::{JobRecord, Line, Phase, Plan, Size};

const MS: u64 = 1_000_000;
const BLOCK: u64 = 1 << 20;

/// A device that takes 10 ms for a block, with so many at a time.
fn device(servers: u32) -> Device {
    let station = Station { servers, service_ns: 10 * MS, variation: 0.0, ..Station::blank() };
    let part = DevicePart { name: "s".into(), kind: PartKind::Station(station), ..DevicePart::default() };
    Device { name: "d".into(), parts: vec![part], ..Device::default() }
}

/// Requests of 64 new tokens, 1 ms each, that are asked all at once.
fn server(count: u64) -> KvServer {
    let (prompt, answer) = (Size::Fixed(64), Size::Fixed(0));
    KvServer {
        requests: CacheRequests { count, prompt, answer, capacity: 100, ..CacheRequests::default() },
        layout: BlockLayout::Slab,
        block_bytes: BLOCK,
        workers: 8,
        depth: 4,
        accelerators: 1,
        token_ns: MS as f64,
        time_ns: 0,
    }
}

fn run(server: &KvServer, servers: u32) -> JobRecord {
    let mut phase = Phase { name: "serving".into(), ..Phase::default() };
    server.fill(&mut phase, 0, "sim");
    let targets = vec![testbed::pretended::target(1 << 30)];
    let plan =
        Plan { seed: 1, targets, phases: vec![phase], device: Some(device(servers)), ..Plan::default() };
    let options = Options { live_ns: 0, witness: false, ..Options::default() };
    let mut record = run_plan(&plan, &options, &mut |_| {}).expect("the simulated device runs");
    assert_eq!(record.errors, []);
    record.phases.remove(0).jobs.remove(0)
}

fn line<'a>(job: &'a JobRecord, label: &str) -> &'a Line {
    job.tally.lines.iter().find(|line| line.label == label).expect("a line of that label")
}

/// Smallest, sum and largest time to first token, ms.
fn first_tokens(job: &JobRecord) -> (u64, u64, u64) {
    let latency = &line(job, FIRST_TOKEN).latency;
    (latency.min / MS, (latency.sum / u128::from(MS)) as u64, latency.max / MS)
}

fn fact(job: &JobRecord, name: &str) -> u64 {
    let facts = job.workers.iter().flat_map(|worker| &worker.facts);
    facts.filter(|(known, _)| known == name).map(|(_, value)| value).sum()
}

/// Requests whose whole prompt is a common beginning of four blocks, asked so seldom that none meets another.
fn cached(count: u64) -> KvServer {
    let mut server = server(count);
    server.requests = CacheRequests {
        per_second: 0.01,
        before: 1,
        prefixes: 1,
        prefix_tokens: 64,
        prefixed_percent: 100.0,
        prompt: Size::Fixed(0),
        ..server.requests
    };
    server
}

#[test]
fn a_request_whose_prompt_is_cached_takes_its_blocks_times_the_device() {
    for (servers, ms) in [(1, 40), (2, 20), (4, 10)] {
        let job = run(&cached(20), servers);
        assert_eq!(first_tokens(&job), (ms, 20 * ms, ms), "{servers} servers");
        assert_eq!((line(&job, READ).operations, line(&job, READ).bytes), (80, 80 * BLOCK));
        assert_eq!((fact(&job, PROMPT_TOKENS), fact(&job, CACHED_TOKENS)), (1280, 1280));
    }
    let one_by_one = KvServer { depth: 1, ..cached(5) };
    assert_eq!(
        first_tokens(&run(&one_by_one, 4)),
        (40, 200, 40),
        "one block at a time needs no more servers"
    );
}

#[test]
fn blocks_in_memory_are_not_read() {
    let mut server = cached(10);
    server.requests.memory = 3;
    assert_eq!(first_tokens(&run(&server, 1)), (10, 100, 10));
}

#[test]
fn a_request_that_finds_nothing_computes_all_and_its_stores_come_after_the_first_token() {
    let mut server = server(10);
    server.requests.per_second = 0.01;
    let job = run(&server, 1);
    assert_eq!(first_tokens(&job), (64, 640, 64));
    assert_eq!((line(&job, STORE).operations, line(&job, STORE).bytes), (40, 40 * BLOCK));
    assert_eq!(line(&job, "request").latency.max / MS, 64 + 40);
    assert_eq!(fact(&job, CACHED_TOKENS), 0);
}

#[test]
fn accelerators_compute_one_request_after_the_other_in_the_order_of_asking() {
    assert_eq!(first_tokens(&run(&server(3), 1)), (64, 64 * 6, 192));
    let two = KvServer { accelerators: 2, ..server(4) };
    assert_eq!(first_tokens(&run(&two, 1)), (64, 64 * 6, 128));
    // The third waits for a worker too, which stores what the first has computed.
    let few = KvServer { workers: 2, ..server(3) };
    assert_eq!(first_tokens(&run(&few, 1)), (64, 64 + 128 + 192, 192));
}

#[test]
fn the_queue_before_an_accelerator_is_that_of_theory() {
    // Poisson arrivals, one server, always the same service of 64 ms at half its load: on average half as long again.
    let mut half = server(5_000);
    half.workers = 64;
    half.requests.per_second = 0.5 / 0.064;
    let job = run(&half, 64);
    let mean = line(&job, FIRST_TOKEN).latency.mean() / MS as f64;
    assert!((mean - 96.0).abs() < 4.0, "{mean}");
    let again = run(&half, 64);
    assert_eq!(line(&job, FIRST_TOKEN), line(&again, FIRST_TOKEN), "virtual time is the same each time");
}

#[test]
fn what_is_not_answered_in_time_is_left_out() {
    let late = KvServer { time_ns: 150 * MS, ..server(8) };
    assert_eq!(line(&run(&late, 1), FIRST_TOKEN).latency.count(), 2);
}
