//! From a test to a plan: a phase of jobs, one for each host, over objects below a prefix of the run's own.
//!
//! ```text
//!   get, stat        objects are laid out; one worker for each host keeps its part of the operations in flight
//!   put              new objects, one after the other, until the time is up
//!   list             a worker and a prefix for each operation in flight
//!   delete           a worker for each request in flight, which gathers as many objects as a request removes
//!   multipart        a phase that writes one object by all hosts, then one that reads its parts by their numbers
//!   retention        as get, with a setting of the object in place of a read
//!   mixed            a worker for each operation in flight; which objects there are is kept account of by all together
//! ```
//! What lies below the prefix is removed at the end; what else is in the bucket is never listed.

use iodyno_model::{
    Coverage, Criterion, ErrorPolicy, Item, ItemData, Items, Job, Journal, Limit, Measure, Open, Operation,
    Origin, Pattern, PerDirection, Phase, Pick, Plan, Prepare, Rate, Script, Setting, Size, Steady, Step,
    Target, TargetKind, Verb, Workload,
};

use super::command::WarpCommand;
use super::test::WarpTest;

/// Names of objects that are made until time is up: more than any run writes.
const BOUNDLESS: u64 = 1 << 40;

/// Names of mixed operations beyond the objects that are laid out, for those that are written meanwhile. Two bytes each.
const ROOM: u64 = 8 << 20;

/// Steps of a round of mixed operations.
const ROUND: f64 = 1000.0;

/// For how long retention retains objects, days. They are removed at the end of the run all the same.
const RETAINED_DAYS: &str = "1";

/// A test's plan.
pub fn plan(test: &WarpTest) -> Plan {
    let mut plan = Plan { name: format!("warp {}", test.command.name()), ..Plan::default() };
    let mut jobs = Vec::new();
    if test.command == WarpCommand::Multipart {
        plan.phases.push(upload(test));
    }
    for (place, host) in test.hosts.iter().enumerate() {
        let share = share(test, place);
        let target = target(test, place, share, &mut plan);
        jobs.push(job(test, host, share, target));
    }
    plan.phases.push(Phase {
        name: test.command.name().into(),
        jobs,
        pause_ns: test.pause_ns,
        ..Phase::default()
    });
    plan
}

/// The phase that writes multipart's object. Its connections are dealt to the hosts in turn.
fn upload(test: &WarpTest) -> Phase {
    let pattern = Pattern::of(Verb::Write, Pick::Sequential, test.part_bytes);
    let mut job = Job::new(&test.hosts.join(","), "s3", vec![0], Workload::Pattern(Box::new(pattern)));
    let parts = test.bytes.div_ceil(test.part_bytes.max(1));
    job.depth.most = test.concurrent.min(u32::try_from(parts).unwrap_or(u32::MAX)).max(1);
    job.settings = settings(test, &test.hosts.join(","));
    job.settings.push(setting("shared_upload", "on".into()));
    job.limit = Limit { passes: Some(1), ..Limit::default() };
    if test.per_second > 0.0 {
        job.pace.rate_all = Rate::Operations(test.per_second);
    }
    job.measure = measured();
    Phase { name: "upload".into(), jobs: vec![job], ..Phase::default() }
}

/// Each request is written down.
fn measured() -> Measure {
    Measure { journal: Some(Journal { completions: true, ..Journal::default() }), ..Measure::default() }
}

/// Operations in flight to the host of that place: as many to each, the rest to the first ones.
pub fn share(test: &WarpTest, place: usize) -> u32 {
    let hosts = test.hosts.len().max(1) as u32;
    test.concurrent / hosts + u32::from((place as u32) < test.concurrent % hosts)
}

/// The target of a host's job: its own, or the one that all share.
fn target(test: &WarpTest, place: usize, share: u32, plan: &mut Plan) -> usize {
    let shared = shares_objects(test.command);
    if shared && place > 0 {
        return 0;
    }
    if test.command == WarpCommand::Multipart {
        plan.targets.push(one_object(test));
        return 0;
    }
    let own = matches!(test.command, WarpCommand::List | WarpCommand::Delete);
    let count = match test.command {
        WarpCommand::Put | WarpCommand::MultipartPut => BOUNDLESS,
        WarpCommand::Mixed => test.objects + ROOM,
        // As many for each worker.
        WarpCommand::List | WarpCommand::Delete => {
            (test.objects / u64::from(test.concurrent)).max(1) * test.versions.max(1)
        }
        _ => test.objects * test.versions.max(1),
    };
    let spread = test.prefixes && !own;
    let prefixes = if shared { test.concurrent } else { share };
    let below = if shared { String::new() } else { format!("/{place}") };
    let items = Items {
        count,
        name: "{item}.rnd".into(),
        directory: "{child}".into(),
        size: size(test),
        depth: u32::from(spread),
        branch: if spread { prefixes.max(1) } else { 1 },
        leaves_only: spread,
        own,
        present_percent: match test.command {
            WarpCommand::Mixed => test.objects as f64 / count as f64 * 100.0,
            _ => 100.0,
        },
        ..Items::default()
    };
    let laid_out = !matches!(test.command, WarpCommand::Put | WarpCommand::MultipartPut);
    plan.targets.push(Target {
        name: format!("objects{below}"),
        kind: TargetKind::Bucket { url: format!("s3://{}/{}{below}", test.bucket, test.prefix), items },
        open: Open::default(),
        prepare: if laid_out { Prepare::Filled } else { Prepare::AsItIs },
        remove: test.removes,
        origin: Origin::Default,
    });
    plan.targets.len() - 1
}

/// Whether the jobs of all hosts are on the same objects.
pub fn shares_objects(command: WarpCommand) -> bool {
    use WarpCommand as C;
    matches!(command, C::Get | C::Stat | C::Mixed | C::Multipart | C::Retention)
}

/// Multipart's object.
fn one_object(test: &WarpTest) -> Target {
    let items = Items {
        count: 1,
        name: test.object_name.trim_matches('/').into(),
        size: Size::Fixed(test.bytes),
        ..Items::default()
    };
    Target {
        name: "object".into(),
        kind: TargetKind::Bucket { url: format!("s3://{}/{}", test.bucket, test.prefix), items },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: test.removes,
        origin: Origin::Default,
    }
}

fn job(test: &WarpTest, host: &str, share: u32, target: usize) -> Job {
    let (workers, depth) = match test.command {
        WarpCommand::List | WarpCommand::Mixed => (share, 1),
        WarpCommand::Delete => (share, test.batch),
        _ => (1, share),
    };
    let mut job = Job::new(host, "s3", vec![target], workload(test));
    job.workers = workers.max(1);
    job.depth.most = depth.max(1);
    job.errors = ErrorPolicy::Continue;
    job.settings = settings(test, host);
    job.limit = limit(test);
    job.group = test.steady.map(|_| "all".to_string());
    if test.per_second > 0.0 {
        let hosts = test.hosts.len() as f64;
        job.pace.rate_all = Rate::Operations(test.per_second / hosts / f64::from(job.workers));
    }
    job.measure = measured();
    job
}

/// Of objects: one, or as many in each of the eight powers of two up to the largest.
fn size(test: &WarpTest) -> Size {
    if !test.varies {
        return Size::Fixed(test.bytes);
    }
    let octave = |below: u32| {
        let (least_bytes, most_bytes) = ((test.bytes >> (below + 1)).max(1), test.bytes >> below);
        (Size::Uniform { least_bytes, most_bytes, step_bytes: 1 }, 12.5)
    };
    Size::Blend((0..8).map(octave).collect())
}

fn limit(test: &WarpTest) -> Limit {
    let criterion = match test.command {
        WarpCommand::Get | WarpCommand::Put | WarpCommand::MultipartPut | WarpCommand::Multipart => {
            Criterion::Bytes
        }
        _ => Criterion::Operations,
    };
    let steady = test.steady.map(|(window_ns, limit)| Steady {
        criterion,
        slope: false,
        limit,
        percent: true,
        window_ns,
        ramp_ns: 0,
        interval_ns: 1_000_000_000,
    });
    Limit {
        time_ns: Some(test.duration_ns),
        passes: (test.command == WarpCommand::Delete).then_some(1),
        steady,
        ..Limit::default()
    }
}

fn setting(name: &str, value: String) -> Setting {
    Setting { name: name.into(), value, origin: Origin::Default }
}

fn settings(test: &WarpTest, host: &str) -> Vec<Setting> {
    let mut all = vec![setting("endpoint", host.into()), setting("make_bucket", "on".into())];
    all.extend(test.store.iter().map(|(name, value)| setting(name, value.clone())));
    all.push(setting("part_size", test.part_bytes.to_string()));
    if test.parts_at_once > 1 {
        all.push(setting("parts_at_once", test.parts_at_once.to_string()));
    }
    if test.versions > 1 {
        all.push(setting("versions", test.versions.to_string()));
    }
    all.extend(test.range.iter().map(|range| setting("range", range.clone())));
    match test.command {
        WarpCommand::Delete => all.push(setting("delete_batch", test.batch.to_string())),
        WarpCommand::Multipart => all.push(setting("read_by", "part".into())),
        WarpCommand::Retention => all.push(setting("retention", RETAINED_DAYS.into())),
        _ => {}
    }
    all
}

fn workload(test: &WarpTest) -> Workload {
    let of = |verb, pick, bytes| Pattern::of(verb, pick, bytes);
    let whole = |verb, pick| Pattern {
        item_data: Some(ItemData::default()),
        size: PerDirection::same(size(test)),
        ..of(verb, pick, test.bytes)
    };
    let pattern = match test.command {
        WarpCommand::Mixed => return Workload::Script(mixed(test)),
        WarpCommand::Put | WarpCommand::MultipartPut => whole(Verb::Create, Pick::Sequential),
        WarpCommand::Stat => of(Verb::Stat, Pick::Uniform, 0),
        WarpCommand::List => of(Verb::Readdir, Pick::Sequential, 0),
        WarpCommand::Delete => of(Verb::Unlink, Pick::Sequential, 0),
        WarpCommand::Retention => of(Verb::Setxattr, Pick::Uniform, 0),
        WarpCommand::Multipart => of(Verb::Read, Pick::Uniform, test.part_bytes),
        _ if test.varies || test.range.is_some() || test.versions > 1 => whole(Verb::Open, Pick::Uniform),
        _ => of(Verb::Read, Pick::Uniform, test.bytes),
    };
    let anew = pattern.pick.read == Pick::Uniform;
    let coverage = if anew { Coverage::Repeating } else { pattern.coverage };
    Workload::Pattern(Box::new(Pattern { coverage, ..pattern }))
}

/// A round of mixed operations: each as often as its share says, spread over the round as evenly as can be.
fn mixed(test: &WarpTest) -> Script {
    let total: f64 = test.shares.iter().sum();
    let counts = test.shares.map(|share| (share / total * ROUND).round() as u64);
    let whole = counts.iter().copied().fold(0, gcd).max(1);
    let counts = counts.map(|count| count / whole);
    let length: u64 = counts.iter().sum();
    let mut done = [0_u64; 4];
    let next = |place: u64, done: &mut [u64; 4]| {
        let due = |kind: usize| counts[kind] as f64 * (place + 1) as f64 / length as f64 - done[kind] as f64;
        let kind = (0..4).max_by(|a, b| due(*a).total_cmp(&due(*b)).then(b.cmp(a))).unwrap_or(0);
        done[kind] += 1;
        kind
    };
    Script {
        steps: (0..length).map(|place| step(test, next(place, &mut done))).collect(),
        ..Script::default()
    }
}

fn step(test: &WarpTest, kind: usize) -> Step {
    let on = |verb, item| Operation { item, ..Operation::on(verb, 0) };
    let whole = |operation| Operation { item_data: Some(ItemData::default()), size: size(test), ..operation };
    match kind {
        0 => whole(on(Verb::Open, Item::Existing(Pick::Uniform))).step("GET"),
        1 => on(Verb::Stat, Item::Existing(Pick::Uniform)).step("STAT"),
        2 => whole(on(Verb::Create, Item::Missing(Pick::Sequential))).step("PUT"),
        _ => on(Verb::Unlink, Item::Existing(Pick::Uniform)).step("DELETE"),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(command: WarpCommand) -> WarpTest {
        WarpTest {
            command,
            hosts: vec!["http://a".into(), "http://b".into()],
            bucket: "b".into(),
            prefix: "p".into(),
            prefixes: true,
            concurrent: 5,
            duration_ns: 1,
            objects: 100,
            bytes: 1000,
            batch: 10,
            shares: [45.0, 30.0, 15.0, 10.0],
            removes: true,
            ..WarpTest::default()
        }
    }

    #[test]
    fn operations_in_flight_are_dealt_to_the_hosts() {
        let deals = |command| {
            let plan = plan(&test(command));
            let jobs = &plan.phases[0].jobs;
            (plan.targets.len(), jobs.iter().map(|job| (job.workers, job.depth.most)).collect::<Vec<_>>())
        };
        assert_eq!(deals(WarpCommand::Get), (1, vec![(1, 3), (1, 2)]));
        assert_eq!(deals(WarpCommand::Put), (2, vec![(1, 3), (1, 2)]));
        assert_eq!(deals(WarpCommand::Delete), (2, vec![(3, 10), (2, 10)]));
        assert_eq!(deals(WarpCommand::Mixed), (1, vec![(3, 1), (2, 1)]));
    }

    #[test]
    fn mixed_operations_are_spread_by_their_shares() {
        let script = mixed(&test(WarpCommand::Mixed));
        let labels: Vec<&str> = script.steps.iter().map(|step| step.label.as_str()).collect();
        let of = |label: &str| labels.iter().filter(|other| **other == label).count();
        assert_eq!((labels.len(), of("GET"), of("STAT"), of("PUT"), of("DELETE")), (20, 9, 6, 3, 2));
        assert!(labels[..10].iter().filter(|label| **label == "GET").count().abs_diff(4) <= 1, "{labels:?}");
    }
}
