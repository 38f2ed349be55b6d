//! A store that takes 5 ms for each request: our client beside one that does nothing but sign, send and receive.
//!
//! With eight requests in flight that are 1,600 a second. What the record says must be what the store logged, plus what
//! the plain client saw beyond its log in the same turn. Ours takes each request from a plan and reads what is answered, where
//! the plain one signs the same request again and again: what that costs must fit in the tolerance, which is 50 µs.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use iodyno_model::{
    Depth, Items, Job, Kind, Pattern, Pick, Setting, Size, Tally, Target, TargetKind, Verb, Workload,
};
use iodyno_s3::address::BucketAddress;
use iodyno_s3::{Addressing, Endpoint, Signer, UtcTime, operation};
use testbed::store::{ACCESS_KEY, LoggedRequest, ObjectStore, SECRET_KEY, StoreOptions};
use testbed::{Case, Outcome};

use crate::compare::{self, Figure, Turn};
use crate::plain::{Floor, RealTime};

const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
const TURNS: usize = 3;
const DEPTH: u32 = 8;
/// In each turn; those that open a connection are 0.3 % of them, fewer than lie beyond the last percentile.
const REQUESTS: u64 = 2560;
const OBJECT_BYTES: u64 = 4096;

type Any<T> = Result<T, Box<dyn std::error::Error>>;

pub fn case() -> Case {
    Case::new("constant::s3::depth_8", &[], || {
        let _real_time = RealTime::enter();
        let options = StoreOptions { service: Duration::from_millis(5), ..StoreOptions::default() };
        let store = ObjectStore::start(options);
        store.put("pre/0", vec![7; OBJECT_BYTES as usize]);
        latencies(&store)
    })
    .alone()
}

/// Percentiles and rate of GETs, beside the store's log, in turn with the plain client.
fn latencies(store: &ObjectStore) -> Outcome {
    let (mut turns, mut count) = (Vec::new(), 0);
    let (mut our_ns, mut logged_ns, mut beyond_ns) = (0, Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let floor = floor(store)?;
        beyond_ns.push(floor.whole_ns);
        let tally = get(store)?;
        let log = store.take_log();
        if log.len() as u64 != REQUESTS {
            return Err(format!("{} requests reached the store instead of {REQUESTS}", log.len()).into());
        }
        our_ns += tally.last_done_ns - tally.began_ns;
        count += tally.operations(Kind::Read);
        logged_ns.push(span_ns(&log));
        let logged = compare::sorted(log.iter().map(LoggedRequest::latency_ns).collect());
        turns.push(Turn { ours: tally.lines[0].latency.clone(), logged, floor: floor.each_ns });
    }
    let mut figures = compare::percentiles(&PERCENTILES, &turns);
    figures.push(Figure::rate(count, our_ns, &logged_ns, &beyond_ns));
    let beyond = turns.iter().flat_map(|turn| turn.floor.iter().map(|(_, beyond)| *beyond)).collect();
    let half = compare::at(&compare::sorted(beyond), 50.0) as f64 / 1e3;
    compare::judge("s3 at depth 8", &format!("floor {half:.0} µs"), &figures)
}

/// From the first arrival to the last answer.
fn span_ns(log: &[LoggedRequest]) -> u64 {
    let first = log.iter().map(|request| request.arrival_ns).min().unwrap_or(0);
    log.iter().map(|request| request.end_ns).max().unwrap_or(0) - first
}

/// GETs of one object by the engine; their tally.
fn get(store: &ObjectStore) -> Any<Tally> {
    let keys = tempfile::NamedTempFile::new()?;
    let text = format!("[default]\naws_access_key_id={ACCESS_KEY}\naws_secret_access_key={SECRET_KEY}\n");
    std::fs::write(keys.path(), text)?;
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, OBJECT_BYTES);
    let mut job = Job::new("get", "s3", vec![0], Workload::Pattern(Box::new(pattern)));
    job.depth = Depth { most: DEPTH, ..Depth::default() };
    job.limit.operations = Some(REQUESTS);
    job.settings = vec![
        Setting::new("endpoint", store.endpoint()),
        Setting::new("credentials", format!("file:{}", keys.path().display())),
        Setting::new("preflight", "off"),
    ];
    let items = Items { count: 1, size: Size::Fixed(OBJECT_BYTES), ..Items::default() };
    let target = Target {
        name: "objects".into(),
        kind: TargetKind::Bucket { url: "s3://bucket/pre".into(), items },
        open: Default::default(),
        prepare: Default::default(),
        remove: false,
        origin: Default::default(),
    };
    compare::tally_of(target, job)
}

/// What a client sees beyond the store's log that signs and sends one request again and again on eight connections, from
/// one thread.
fn floor(store: &ObjectStore) -> Any<Floor> {
    store.take_log();
    let before = store.connections().0;
    let (seen, began, ended) = by_poll(store, &mut signed(store)?)?;
    let log = store.take_log();
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let mut each_ns: Vec<(u64, u64)> = Vec::new();
    for request in &log {
        let number = numbers.entry(request.connection).or_default();
        let latency_ns = seen[(request.connection - before) as usize][*number];
        *number += 1;
        each_ns.push((request.latency_ns(), latency_ns.saturating_sub(request.latency_ns())));
    }
    each_ns.sort_unstable();
    Ok(Floor { each_ns, whole_ns: (ended - began).saturating_sub(span_ns(&log)) })
}

/// Signs a GET anew with each call.
fn signed(store: &ObjectStore) -> Any<impl FnMut() -> Vec<u8>> {
    let endpoint = Endpoint::parse(&store.endpoint())?;
    let at = BucketAddress::new(&endpoint, Addressing::Path, "bucket");
    let mut signer = Box::new(Signer::new("us-east-1".into()));
    signer.credentials.access_key = ACCESS_KEY.into();
    signer.credentials.secret.set(SECRET_KEY)?;
    Ok(move || {
        let unix = iodyno_engine::clock::unix_ns() / 1_000_000_000;
        let mut head = Vec::new();
        signer.write_head(&operation::get(&at, "pre/0", None, false), &at.host, UtcTime { unix }, &mut head);
        head
    })
}

/// The latencies of each connection's requests in their order, and when all began and ended, ns.
fn by_poll(
    store: &ObjectStore,
    request: &mut dyn FnMut() -> Vec<u8>,
) -> io::Result<(Vec<Vec<u64>>, u64, u64)> {
    let address = store.endpoint().trim_start_matches("http://").to_string();
    let now_ns = testbed::fuse::now_ns;
    let (mut seen, mut connections) = (vec![Vec::new(); DEPTH as usize], Vec::new());
    let (began, mut sent) = (now_ns(), 0);
    for _ in 0..DEPTH {
        let start_ns = now_ns();
        let mut stream = TcpStream::connect(&address)?;
        stream.set_nodelay(true)?;
        stream.write_all(&request())?;
        sent += 1;
        connections.push((stream, start_ns, Vec::with_capacity(8 << 10)));
    }
    let (mut done, mut buffer) = (0, vec![0; 16 << 10]);
    while done < REQUESTS {
        let watched = |(stream, ..): &(TcpStream, u64, Vec<u8>)| libc::pollfd {
            fd: stream.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut ready: Vec<libc::pollfd> = connections.iter().map(watched).collect();
        // SAFETY: the descriptors are valid for the call.
        unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as libc::nfds_t, -1) };
        for (number, _) in ready.iter().enumerate().filter(|(_, ready)| ready.revents != 0) {
            let (stream, start_ns, came) = &mut connections[number];
            let bytes = stream.read(&mut buffer)?;
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            came.extend_from_slice(&buffer[..bytes]);
            let head = came.windows(4).position(|end| end == b"\r\n\r\n");
            if head.is_none_or(|head| came.len() < head + 4 + OBJECT_BYTES as usize) {
                continue;
            }
            came.clear();
            let end_ns = now_ns();
            seen[number].push(end_ns - *start_ns);
            done += 1;
            if sent < REQUESTS {
                *start_ns = end_ns;
                stream.write_all(&request())?;
                sent += 1;
            }
        }
    }
    Ok((seen, began, now_ns()))
}
