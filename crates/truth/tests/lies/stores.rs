//! Lies 34 to 40, and what stores add to 10 and 15: each staged as counts of an engine, and an honest twin on the other side of
//! its threshold.

use iodyno_model::{
    Finding, FindingKind, Intent, Items, Pattern, Pick, Setting, Severity, Size, TargetKind, Verb, Workload,
};

use crate::stage::{GIB, MIB, SECOND, Stage, honest};

/// Reads of whole objects from a store: 10,000 requests over 4 connections, as they should be.
fn store() -> Stage {
    let mut stage = honest(Verb::Read);
    stage.no_device();
    let items = Items { count: 1000, size: Size::Fixed(4096), ..Items::default() };
    stage.target.kind = TargetKind::Bucket { url: "s3://b/p".into(), items };
    stage.found.elapsed_ns = 10 * SECOND;
    stage.found.jobs[0].depth = 4;
    stage.found.jobs[0].tally.lines[0].bytes = GIB / 2;
    counts(&mut stage, &[("requests", 10_000), ("requests.get", 10_000), ("connections.opened", 4)]);
    stage
}

fn counts(stage: &mut Stage, counts: &[(&str, u64)]) {
    let facts = &mut stage.found.jobs[0].workers[0].facts;
    for (name, count) in counts {
        facts.retain(|(known, _)| known != name);
        facts.push((name.to_string(), *count));
    }
}

fn found(kind: FindingKind, changed: &[(&str, u64)]) -> Vec<Finding> {
    let mut stage = store();
    counts(&mut stage, changed);
    of(kind, &stage)
}

fn of(kind: FindingKind, stage: &Stage) -> Vec<Finding> {
    stage.judged().into_iter().filter(|finding| finding.kind == Some(kind)).collect()
}

#[test]
fn an_honest_store_is_not_accused() {
    let about: Vec<u8> =
        store().judged().iter().map(|finding| finding.code).filter(|code| *code >= 34).collect();
    assert_eq!(about, [0; 0]);
    // Who sends no requests counts none.
    let file = honest(Verb::Read).judged();
    assert!(file.iter().all(|finding| finding.code < 34), "{file:?}");
}

#[test]
fn a_store_that_turns_requests_away() {
    let found = |count| found(FindingKind::StoreThrottled, &[("requests.throttled", count)]);
    assert_eq!(found(99), []);
    let told = &found(100)[0];
    assert_eq!((told.severity, told.figures[0].value), (Severity::Doubtful, 1.0));
    assert!(told.sentence.starts_with("100 of 10000 requests were turned away"), "{}", told.sentence);
    // Two of a few may be a restart.
    let few = |count| {
        self::found(FindingKind::StoreThrottled, &[("requests", 20), ("requests.throttled", count)]).len()
    };
    assert_eq!((few(2), few(3)), (0, 1));
}

#[test]
fn a_prefix_that_is_turned_away_alone() {
    let two = |here: u64, there: u64| {
        let mut stage = store();
        let mut other = stage.target.clone();
        (other.name, other.kind) =
            ("other".into(), TargetKind::Bucket { url: "s3://b/q".into(), items: Items::default() });
        stage.job.targets.push(1);
        stage.others.push(other);
        counts(&mut stage, &[("prefix.0.requests", 5000), ("prefix.1.requests", 5000)]);
        counts(&mut stage, &[("prefix.0.throttled", here), ("prefix.1.throttled", there)]);
        of(FindingKind::CrowdedShard, &stage)
    };
    let told = &two(600, 200)[0];
    assert!(told.sentence.contains("below s3://b/p were turned away"), "{}", told.sentence);
    assert_eq!(two(599, 200), []);
    assert_eq!((two(10, 0).len(), two(9, 0).len()), (1, 0));
    // Each worker has a prefix of its own.
    let mut stage = store();
    stage.target.kind = TargetKind::Bucket { url: "s3://b/{worker}".into(), items: Items::default() };
    let mut second = stage.found.jobs[0].workers[0].clone();
    second.index = 1;
    second.facts = vec![("prefix.0.requests".into(), 900), ("prefix.0.throttled".into(), 450)];
    stage.found.jobs[0].workers.push(second);
    counts(&mut stage, &[("prefix.0.requests", 900), ("prefix.0.throttled", 3)]);
    assert!(of(FindingKind::CrowdedShard, &stage)[0].sentence.contains("below s3://b/1"));
    // Of one prefix alone nothing can be said.
    let alone = [("prefix.0.requests", 900), ("prefix.0.throttled", 450)];
    assert_eq!(found(FindingKind::CrowdedShard, &alone), []);
}

#[test]
fn a_proxy_that_retries_is_told_apart_from_one_that_passes_on() {
    let found = |changed: &[(&str, u64)]| found(FindingKind::HiddenRetries, changed);
    assert_eq!(found(&[("answers.via", 99)]), []);
    assert_eq!(found(&[("answers.via", 100)])[0].severity, Severity::Note);
    let told = &found(&[("answers.via", 10_000), ("answers.attempts", 7)])[0];
    assert_eq!(told.severity, Severity::Doubtful);
    assert!(told.sentence.contains("tried 7 requests again by itself"), "{}", told.sentence);
    assert_eq!(found(&[("answers.same_id", 1)])[0].severity, Severity::Doubtful);
}

#[test]
fn a_cache_before_a_store() {
    let found = |count| found(FindingKind::CachedAnswers, &[("answers.cached", count)]);
    assert_eq!(found(499), []);
    assert_eq!(found(500)[0].severity, Severity::Doubtful);
    assert_eq!(found(4999)[0].severity, Severity::Doubtful);
    assert_eq!(found(5000)[0].severity, Severity::Invalid);
    let mut meant = store();
    counts(&mut meant, &[("answers.cached", 9000)]);
    meant.intent = Intent::Cache;
    assert_eq!(of(FindingKind::CachedAnswers, &meant), []);
}

#[test]
fn a_second_read_that_is_much_faster() {
    let found = |first: u64, first_ns: u64, again: u64, again_ns: u64| {
        let changed = [
            ("gets.first", first),
            ("gets.first_ns", first * first_ns),
            ("gets.again", again),
            ("gets.again_ns", again * again_ns),
        ];
        found(FindingKind::CachedAnswers, &changed)
    };
    let told = &found(30, 9_000_000, 30, 3_000_000)[0];
    assert!(
        told.sentence.contains("waited 9 ms for its first byte, a further one 3 ms"),
        "{}",
        told.sentence
    );
    assert_eq!(found(30, 8_900_000, 30, 3_000_000), []);
    assert_eq!(found(29, 9_000_000, 30, 3_000_000), []);
    assert_eq!(found(30, 9_000_000, 29, 3_000_000), []);
    // What is as quick as memory everywhere is no cache's doing.
    assert_eq!(found(30, 2_400_000, 30, 500_000), []);
    assert_eq!(found(30, 2_500_000, 30, 500_000).len(), 1);
}

#[test]
fn a_store_whose_clock_differs() {
    let found = |changed: &[(&str, u64)]| found(FindingKind::UnreliableClock, changed);
    assert_eq!(found(&[("date.ahead_s", 29), ("date.behind_s", 29)]), []);
    assert!(found(&[("date.ahead_s", 30)])[0].sentence.contains("30 s ahead of this machine's"));
    assert!(found(&[("date.behind_s", 600)])[0].sentence.contains("600 s behind this machine's"));
}

#[test]
fn a_connection_for_each_request() {
    let found = |requests, opened| {
        found(FindingKind::FreshConnections, &[("requests", requests), ("connections.opened", opened)])
    };
    assert_eq!(found(10_000, 4999), []);
    assert_eq!(found(10_000, 5000)[0].severity, Severity::Doubtful);
    // The first request of each connection opens it: four are in flight.
    assert_eq!((found(15, 15).len(), found(16, 16).len()), (0, 1));
}

#[test]
fn content_that_nobody_checks() {
    let moved = |bytes: u64, change: &dyn Fn(&mut Stage)| {
        let mut stage = store();
        stage.found.jobs[0].tally.lines[0].bytes = bytes;
        change(&mut stage);
        of(FindingKind::UncheckedContent, &stage)
    };
    assert_eq!(moved(GIB - 1, &|_| ()), []);
    assert_eq!(moved(GIB, &|_| ())[0].severity, Severity::Note);
    let checksum =
        |name: &'static str| move |stage: &mut Stage| stage.job.settings.push(Setting::new("checksum", name));
    assert_eq!(moved(GIB, &checksum("crc64nvme")), []);
    assert_eq!(moved(GIB, &checksum("none")).len(), 1);
    assert_eq!(moved(GIB, &|stage| stage.job.payload.verify = Some(Default::default())), []);
}

#[test]
fn an_upload_in_small_parts() {
    let parts = |bytes: u64, count: u64| {
        let mut stage = store();
        stage.job.settings.push(Setting::new("part_size", bytes));
        counts(&mut stage, &[("requests.parts", count)]);
        of(FindingKind::SmallParts, &stage)
    };
    assert_eq!(parts(5 * MIB, 100)[0].severity, Severity::Note);
    assert_eq!(parts(7_999_999, 100).len(), 1);
    assert_eq!(parts(8_000_000, 100), []);
    // Nothing was long enough to be written in parts.
    assert_eq!(parts(5 * MIB, 0), []);
}

#[test]
fn one_connection_is_a_limit_of_its_own() {
    let read = |bytes: u64, depth: u32, body_ns: u64| {
        let mut stage = store();
        stage.job.workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Uniform, bytes)));
        stage.found.jobs[0].depth = depth;
        counts(&mut stage, &[("body_ns", body_ns)]);
        let all = of(FindingKind::GeneratorBound, &stage);
        all.into_iter().filter(|finding| finding.sentence.starts_with("one connection")).count()
    };
    assert_eq!(read(MIB, 1, 8 * SECOND), 1);
    assert_eq!(read(MIB, 1, 8 * SECOND - SECOND / 10), 0);
    assert_eq!(read(MIB - 1, 1, 8 * SECOND), 0);
    assert_eq!(read(MIB, 2, 8 * SECOND), 0);
}

#[test]
fn ciphers_without_instructions() {
    let told = |percent: u64, unaided: u64| {
        let mut stage = store();
        counts(&mut stage, &[("handshakes.unaided", unaided)]);
        let worker = &mut stage.found.jobs[0].workers[0];
        (worker.ended_ns, worker.user_ns) = (10 * SECOND, percent * SECOND / 10);
        let all = of(FindingKind::GeneratorBound, &stage);
        all.into_iter().filter(|finding| finding.sentence.starts_with("TLS ran without")).count()
    };
    assert_eq!((told(50, 1), told(49, 1), told(90, 0)), (1, 0, 0));
}

#[test]
fn a_client_that_is_the_limit_of_a_store() {
    let busy = |percent: u64, requests: u64| {
        let mut stage = store();
        counts(&mut stage, &[("requests", requests)]);
        let worker = &mut stage.found.jobs[0].workers[0];
        (worker.ended_ns, worker.user_ns, worker.system_ns) =
            (10 * SECOND, SECOND, percent * SECOND / 10 - SECOND);
        stage.job.depth.most = 4;
        of(FindingKind::GeneratorBound, &stage).len()
    };
    assert_eq!((busy(95, 10_000), busy(94, 10_000)), (1, 0));
    // Of what sends no requests, a processor that is busy in the kernel says nothing.
    assert_eq!(busy(95, 0), 0);
}
