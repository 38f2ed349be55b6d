//! Engine `s3` beside a store in this process: what it sends by the store's own log, what it holds, and how every failure
//! is counted and said. No figure here is judged by a clock.

use std::time::Duration;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Content, ErrorPolicy, ItemData, Items, Job, Kind, Mix, Open, Pattern, Payload, Phase, Pick, Plan,
    Prepare, Record, Setting, Share, Size, Target, TargetKind, Verb, Verify, VerifyWhen, Workload,
};
use testbed::store::{
    ACCESS_KEY, EXPIRED_TOKEN, LoggedRequest, ObjectStore, SECRET_KEY, StoreFault, StoreOptions,
};
use testbed::{Case, Outcome};

/// A file with the store's keys, or others.
struct Keys(tempfile::NamedTempFile);

impl Keys {
    fn of(access: &str, secret: &str, token: &str) -> Keys {
        let file = tempfile::NamedTempFile::new().unwrap();
        let token = if token.is_empty() { String::new() } else { format!("aws_session_token = {token}\n") };
        let text =
            format!("[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n{token}");
        std::fs::write(file.path(), text).unwrap();
        Keys(file)
    }

    fn right() -> Keys {
        Keys::of(ACCESS_KEY, SECRET_KEY, "")
    }

    fn setting(&self) -> String {
        format!("credentials=file:{}", self.0.path().display())
    }
}

fn bucket(count: u64, bytes: u64, prepare: Prepare, remove: bool) -> Target {
    let items = Items { count, size: Size::Fixed(bytes), ..Items::default() };
    Target {
        name: "objects".into(),
        kind: TargetKind::Bucket { url: "s3://bucket/pre".into(), items },
        open: Open::default(),
        prepare,
        remove,
        origin: Default::default(),
    }
}

fn job(store: &ObjectStore, keys: &Keys, verb: Verb, bytes: u64, settings: &[&str]) -> Job {
    let mut pattern = Pattern::of(verb, Pick::Sequential, bytes);
    pattern.item_data = (verb.kind() == Kind::Metadata && bytes > 0).then(ItemData::default);
    let mut job = Job::new("j", "s3", vec![0], Workload::Pattern(Box::new(pattern)));
    let own = [format!("endpoint={}", store.endpoint()), keys.setting()];
    let all = own.iter().map(String::as_str).chain(settings.iter().copied());
    job.settings = all
        .map(|text| text.split_once('=').map(|(name, value)| Setting::new(name, value)).unwrap())
        .collect();
    job.errors = ErrorPolicy::Continue;
    job
}

fn plan(target: Target, jobs: Vec<Job>) -> Plan {
    let phase =
        |(number, job)| Phase { name: format!("phase {number}"), jobs: vec![job], ..Phase::default() };
    let phases = jobs.into_iter().enumerate().map(phase).collect();
    Plan { name: "test".into(), seed: 1, targets: vec![target], phases, ..Plan::default() }
}

fn recorded(plan: &Plan) -> Result<Record, String> {
    run(plan, &Options::default(), &mut |_| ()).map_err(|wrong| {
        wrong
            .iter()
            .map(|wrong| format!("{} [{}]", wrong.message, wrong.hint.as_deref().unwrap_or("")))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// What the engine counted in a phase.
fn counted(record: &Record, phase: usize, name: &str) -> u64 {
    let workers = record.phases[phase].jobs[0].workers.iter();
    workers.flat_map(|worker| &worker.facts).filter(|(known, _)| known == name).map(|(_, count)| count).sum()
}

fn starting(program: impl Fn(&LoggedRequest) -> StoreFault + Send + Sync + 'static) -> ObjectStore {
    ObjectStore::start(StoreOptions { program: Box::new(program), ..StoreOptions::default() })
}

fn objects_are_laid_out_read_and_removed() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    let mut read = job(&store, &keys, Verb::Read, 1000, &["sign_payload=on"]);
    read.depth.most = 4;
    let record = recorded(&plan(bucket(8, 4000, Prepare::Filled, true), vec![read]))?;
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Read), tally.bytes(Kind::Read), tally.failed()), (32, 32_000, 0));
    assert_eq!((store.keys().len(), store.count("PUT"), store.count("DELETE")), (0, 8, 8));
    let ranges = store.log().into_iter().filter(|request| request.method == "GET" && !request.key.is_empty());
    let mut ranges: Vec<_> = ranges.map(|request| (request.key, request.headers["range"].clone())).collect();
    ranges.sort();
    assert_eq!(ranges.len(), 32);
    assert_eq!(ranges[1], ("pre/0".into(), "bytes=1000-1999".into()));
    assert_eq!(ranges[31], ("pre/7".into(), "bytes=3000-3999".into()));
    // The preflight has a connection of its own; the four others are kept.
    assert_eq!((counted(&record, 0, "requests"), counted(&record, 0, "connections.opened")), (33, 5));
    assert_eq!(counted(&record, 0, "connections.reused"), 28);
    let spreads: Vec<_> = record.phases[0].jobs[0].workers[0]
        .spreads
        .iter()
        .map(|(name, times)| (name.as_str(), times.count()))
        .collect();
    assert_eq!(spreads, [("connect", 4), ("first_byte", 32), ("body", 32)]);
    Ok(())
}

fn every_verb_is_its_request() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    let of = |verb: Verb, bytes: u64| {
        let mut job = job(&store, &keys, verb, bytes, &["checksum=crc64nvme", "storage_class=STANDARD"]);
        job.limit.operations = Some(5);
        job
    };
    let jobs = vec![
        of(Verb::Create, 3000),
        of(Verb::Open, 3000),
        of(Verb::Stat, 0),
        of(Verb::Clone, 0),
        of(Verb::Readdir, 0),
        of(Verb::Unlink, 0),
    ];
    let record = recorded(&plan(bucket(5, 3000, Prepare::AsItIs, false), jobs))?;
    for (phase, (verb, bytes)) in
        [(Verb::Create, 15_000), (Verb::Open, 15_000), (Verb::Stat, 0), (Verb::Clone, 0), (Verb::Unlink, 0)]
            .into_iter()
            .enumerate()
            .map(|(index, row)| (if index == 4 { 5 } else { index }, row))
    {
        let tally = &record.phases[phase].jobs[0].tally;
        assert_eq!(
            (tally.failed(), tally.operations(Kind::Metadata), tally.bytes(Kind::Metadata)),
            (0, 5, bytes),
            "{verb}"
        );
    }
    // Copies stay where the plan says nothing of removing.
    assert_eq!(store.keys(), ["pre/5", "pre/6", "pre/7", "pre/8", "pre/9"]);
    let log = store.log();
    let puts: Vec<_> = log.iter().filter(|request| request.method == "PUT").collect();
    assert!(puts[0].headers.contains_key("x-amz-checksum-crc64nvme"));
    assert_eq!(puts[0].headers["x-amz-storage-class"], "STANDARD");
    assert_eq!(puts[5].headers["x-amz-copy-source"], "/bucket/pre/0");
    let listed = log
        .iter()
        .filter(|request| request.query.contains_key("list-type") && request.query["max-keys"] == "1000");
    assert_eq!(listed.count(), 5);
    assert_eq!((store.count("HEAD"), store.count("DELETE")), (5, 5));
    Ok(())
}

fn deletions_go_together_where_asked() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    (0..10).for_each(|item| store.put(&format!("pre/{item}"), vec![0]));
    let mut unlink = job(&store, &keys, Verb::Unlink, 0, &["delete_batch=4"]);
    unlink.depth.most = 4;
    let record = recorded(&plan(bucket(10, 1, Prepare::AsItIs, false), vec![unlink]))?;
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Metadata), tally.failed(), store.keys().len()), (10, 0, 0));
    assert_eq!(store.count("DELETE"), 0);
    assert!((3..10).contains(&store.count("POST")));
    Ok(())
}

fn long_objects_are_written_in_parts() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    for at_once in ["parts_at_once=1", "parts_at_once=4"] {
        let write = job(&store, &keys, Verb::Write, 10_500, &["part_size=1000", at_once, "checksum=crc32c"]);
        let record = recorded(&plan(bucket(3, 10_500, Prepare::AsItIs, false), vec![write]))?;
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!((tally.operations(Kind::Write), tally.bytes(Kind::Write), tally.failed()), (3, 31_500, 0));
        // An upload is begun and completed, and has eleven parts; one request is the preflight's.
        assert_eq!(
            (counted(&record, 0, "requests"), counted(&record, 0, "requests.parts")),
            (1 + 3 * 13, 33)
        );
        assert_eq!(store.object("pre/2").map(|bytes| bytes.len()), Some(10_500));
        assert_eq!(store.open_uploads(), 0);
    }
    // A part that fails takes its upload with it.
    let fails = |request: &LoggedRequest| match request.query.get("partNumber").map(String::as_str) {
        Some("3") => StoreFault::Status(500, "InternalError"),
        _ => StoreFault::None,
    };
    let store = starting(fails);
    let write = job(&store, &keys, Verb::Write, 10_500, &["part_size=1000", "parts_at_once=2"]);
    let record = recorded(&plan(bucket(1, 10_500, Prepare::AsItIs, false), vec![write]))?;
    assert_eq!(
        (record.phases[0].jobs[0].tally.failed(), store.open_uploads(), store.keys().len()),
        (1, 0, 0)
    );
    assert_eq!(counted(&record, 0, "answer.500.InternalError"), 1);
    Ok(())
}

fn depth_is_requests_in_flight() -> Outcome {
    // Nobody is answered before eight are in service: with fewer in flight it would never end.
    let gate = std::sync::Arc::new(std::sync::Barrier::new(8));
    let theirs = std::sync::Arc::clone(&gate);
    let store = starting(move |request| {
        if request.method == "GET" && !request.key.is_empty() {
            theirs.wait();
        }
        StoreFault::None
    });
    let keys = Keys::right();
    store.put("pre/0", vec![7; 800]);
    let mut read = job(&store, &keys, Verb::Read, 100, &[]);
    read.depth.most = 8;
    let record = recorded(&plan(bucket(1, 800, Prepare::AsItIs, false), vec![read]))?;
    assert_eq!(record.phases[0].jobs[0].tally.operations(Kind::Read), 8);
    assert_eq!(store.connections().0, 9);
    Ok(())
}

fn a_thousand_connections_by_one_worker() -> Outcome {
    let gate = std::sync::Arc::new(std::sync::Barrier::new(1000));
    let store = starting(move |request| {
        if request.method == "GET" && !request.key.is_empty() {
            gate.wait();
        }
        StoreFault::None
    });
    let keys = Keys::right();
    store.put("pre/0", vec![7; 4 << 20]);
    let mut read = job(&store, &keys, Verb::Read, 4096, &[]);
    read.depth.most = 1000;
    read.limit.operations = Some(1000);
    let record = recorded(&plan(bucket(1, 4 << 20, Prepare::AsItIs, false), vec![read]))?;
    assert_eq!(
        (record.phases[0].jobs[0].tally.operations(Kind::Read), record.phases[0].jobs[0].tally.failed()),
        (1000, 0)
    );
    assert_eq!(store.connections().0, 1001);
    Ok(())
}

/// A read of one object under a fault: what failed, and the name that it was counted under.
fn faulty(fault: StoreFault, settings: &[&str]) -> Result<(Record, ObjectStore), String> {
    let store = starting(move |request| {
        if request.method == "GET" && !request.key.is_empty() { fault.clone() } else { StoreFault::None }
    });
    store.put("pre/0", (0..100_000u32).map(|byte| byte as u8).collect());
    let keys = Keys::right();
    let mut read = job(&store, &keys, Verb::Read, 50_000, settings);
    read.limit.operations = Some(2);
    let record = recorded(&plan(bucket(1, 100_000, Prepare::AsItIs, false), vec![read]))?;
    Ok((record, store))
}

fn every_failure_has_a_name() -> Outcome {
    for (fault, name, settings) in [
        (StoreFault::Status(403, "AccessDenied"), "answer.403.AccessDenied", vec![]),
        (StoreFault::Status(503, "SlowDown"), "answer.503.SlowDown", vec![]),
        (StoreFault::Status(429, ""), "answer.429", vec![]),
        (StoreFault::ResetInBody, "answer.none.Cut", vec![]),
        (StoreFault::Silent, "answer.none.Silent", vec!["timeout=1"]),
        (StoreFault::Length(50_001), "answer.wrong.TooLong", vec![]),
        (StoreFault::Length(70), "answer.wrong.TooShort", vec![]),
        (StoreFault::WholeInstead, "answer.wrong.RangeIgnored", vec![]),
        (StoreFault::Garbled(b"SSH-2.0-x\r\n"), "answer.none.NotHttp", vec![]),
    ] {
        let (record, store) = faulty(fault.clone(), &settings)?;
        let tally = &record.phases[0].jobs[0].tally;
        assert_eq!(counted(&record, 0, name), 2, "{fault:?} {:?}", record.phases[0].jobs[0].workers[0].facts);
        // What came too short was read so far; all others failed.
        let failed = if matches!(fault, StoreFault::Length(70)) { tally.failed() } else { 2 };
        assert_eq!(tally.failed(), failed, "{fault:?}");
        // Nothing was tried again: two reads and the preflight.
        assert_eq!(counted(&record, 0, "requests"), 3, "{fault:?}");
        assert_eq!(store.log().len(), 3, "{fault:?}");
    }
    for fault in [
        StoreFault::SlowFirstByte(Duration::from_millis(1)),
        StoreFault::Chunked,
        StoreFault::Headers("Age: 9\r\n"),
    ] {
        let (record, _) = faulty(fault.clone(), &[])?;
        assert_eq!(
            (record.phases[0].jobs[0].tally.failed(), record.phases[0].jobs[0].tally.bytes(Kind::Read)),
            (0, 100_000),
            "{fault:?}"
        );
        let cached = if matches!(fault, StoreFault::Headers(_)) { 2 } else { 0 };
        assert_eq!(counted(&record, 0, "answers.cached"), cached);
    }
    Ok(())
}

fn throttling_is_retried_only_when_asked() -> Outcome {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let theirs = std::sync::Arc::clone(&seen);
    let busy_twice = move |request: &LoggedRequest| {
        let get = request.method == "GET" && !request.key.is_empty();
        let early = get && theirs.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2;
        if early { StoreFault::Status(503, "SlowDown") } else { StoreFault::None }
    };
    let (store, keys) = (starting(busy_twice), Keys::right());
    store.put("pre/0", vec![1; 100]);
    let read = job(&store, &keys, Verb::Read, 100, &["retries=5"]);
    let record = recorded(&plan(bucket(1, 100, Prepare::AsItIs, false), vec![read]))?;
    assert_eq!(
        (record.phases[0].jobs[0].tally.failed(), record.phases[0].jobs[0].tally.operations(Kind::Read)),
        (0, 1)
    );
    assert_eq!(
        (
            counted(&record, 0, "requests"),
            counted(&record, 0, "requests.retried"),
            counted(&record, 0, "requests.throttled")
        ),
        (4, 2, 2)
    );
    Ok(())
}

fn a_kept_connection_that_the_store_closed_is_counted() -> Outcome {
    let (record, store) = faulty(StoreFault::CloseAfter, &[])?;
    assert_eq!(record.phases[0].jobs[0].tally.failed(), 0);
    let (requests, stale) = (counted(&record, 0, "requests"), counted(&record, 0, "connections.stale"));
    // The second read may see the end before it sends, or after: in both cases each attempt is counted.
    assert_eq!((requests, stale, store.log().len()), (4, 1, 3));
    Ok(())
}

fn what_no_request_could_succeed_with_is_said_before() -> Outcome {
    let with = |options: StoreOptions, keys: Keys, settings: &[&str], url: &str| {
        let store = ObjectStore::start(options);
        let read = job(&store, &keys, Verb::Read, 100, settings);
        let mut target = bucket(1, 100, Prepare::AsItIs, false);
        let TargetKind::Bucket { url: place, .. } = &mut target.kind else { unreachable!() };
        *place = url.into();
        match recorded(&plan(target, vec![read])) {
            Ok(record) => record
                .errors
                .iter()
                .map(|wrong| format!("{} [{}]", wrong.message, wrong.hint.as_deref().unwrap_or("")))
                .collect(),
            Err(message) => message,
        }
    };
    let plain = StoreOptions::default;
    let pre = "s3://bucket/pre";
    for (said, words) in [
        (
            with(plain(), Keys::of("OTHER", SECRET_KEY, ""), &[], pre),
            ["does not know the access key", "InvalidAccessKeyId"],
        ),
        (
            with(plain(), Keys::of(ACCESS_KEY, "wrong", ""), &[], pre),
            ["secret key does not belong", "SignatureDoesNotMatch"],
        ),
        (
            with(plain(), Keys::of(ACCESS_KEY, SECRET_KEY, EXPIRED_TOKEN), &[], pre),
            ["token has expired", "ExpiredToken"],
        ),
        (
            with(plain(), Keys::right(), &["region=eu-west-1"], pre),
            ["another region", "region = \"us-east-1\""],
        ),
        (with(plain(), Keys::right(), &[], "s3://other/pre"), ["no such bucket", "NoSuchBucket"]),
        (with(StoreOptions { ahead_s: 3600, ..plain() }, Keys::right(), &[], pre), ["clocks", "differ by 3"]),
        (
            with(
                StoreOptions {
                    program: Box::new(|_| StoreFault::Garbled(b"\x15\x03\x01\x00\x02\x02\x46")),
                    ..plain()
                },
                Keys::right(),
                &[],
                pre,
            ),
            ["speaks TLS", "https://"],
        ),
        (
            with(StoreOptions { program: Box::new(|_| StoreFault::Cut), ..plain() }, Keys::right(), &[], pre),
            ["was cut before", "proxy"],
        ),
        (
            with(
                StoreOptions { program: Box::new(|_| StoreFault::Status(404, "")), ..plain() },
                Keys::right(),
                &[],
                pre,
            ),
            ["no such bucket", "404"],
        ),
    ] {
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        assert!(!said.contains(SECRET_KEY), "{said}");
    }
    Ok(())
}

fn prefixes_in_use_are_not_touched() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    store.put("pre/precious", vec![1]);
    store.put("other", vec![2]);
    let read = || job(&store, &keys, Verb::Read, 100, &[]);
    let said = recorded(&plan(bucket(2, 100, Prepare::Filled, true), vec![read()]))
        .map(|record| record.errors.iter().map(|wrong| wrong.message.clone()).collect::<String>())
        .unwrap_or_else(|said| said);
    assert!(said.contains("objects are there already"), "{said}");
    assert_eq!(store.keys(), ["other", "pre/precious"]);
    // Without `remove` what is missing is made, and what is there stays.
    store.put("pre/0", vec![9; 100]);
    recorded(&plan(bucket(2, 100, Prepare::Filled, false), vec![read()]))?;
    assert_eq!((store.keys().len(), store.object("pre/0")), (4, Some(vec![9; 100])));
    // Who may not write is told in the store's words.
    let store = starting(|request| {
        if request.method == "PUT" { StoreFault::Status(403, "AccessDenied") } else { StoreFault::None }
    });
    let read = job(&store, &keys, Verb::Read, 100, &[]);
    let said = recorded(&plan(bucket(2, 100, Prepare::Filled, true), vec![read]))
        .map(|record| record.errors.iter().map(|wrong| wrong.message.clone()).collect::<String>())
        .unwrap_or_else(|said| said);
    assert!(said.contains("s3://bucket/pre/") && said.contains("403.AccessDenied"), "{said}");
    Ok(())
}

fn wrong_content_is_found() -> Outcome {
    // Written once and overwritten; the second time the store lies.
    for (what, fault) in [
        ("stale", StoreFault::Lost),
        ("torn", StoreFault::Torn),
        ("misdirected", StoreFault::Elsewhere("pre/1")),
    ] {
        let seen = std::sync::Mutex::new(std::collections::BTreeMap::<String, u32>::new());
        let lie = fault.clone();
        let store = starting(move |request| {
            let mut seen = seen.lock().unwrap();
            let times = seen.entry(format!("{} {}", request.method, request.key)).or_default();
            *times += 1;
            if request.method == "PUT" && request.key == "pre/0" && *times == 2 {
                lie.clone()
            } else {
                StoreFault::None
            }
        });
        let keys = Keys::right();
        let mut write = job(&store, &keys, Verb::Write, 4096, &[]);
        write.payload = Payload {
            content: Content::Random,
            verify: Some(Verify { when: VerifyWhen::AfterWrites, ..Verify::default() }),
            ..Payload::default()
        };
        write.limit.passes = Some(2);
        let record = recorded(&plan(bucket(2, 4096, Prepare::AsItIs, false), vec![write]))?;
        let tally = &record.phases[0].jobs[0].tally;
        assert!(tally.failed() > 0, "{what}: {:?}", record.phases[0].jobs[0].workers[0].complaints);
    }
    // A byte that changed on the way is found by the content, and by the checksum where one is sent along.
    let store = starting(|request| {
        if request.method == "GET" && !request.key.is_empty() {
            StoreFault::WrongByte
        } else {
            StoreFault::None
        }
    });
    let keys = Keys::right();
    let mut write = job(&store, &keys, Verb::Write, 4096, &["checksum=sha256"]);
    write.payload = Payload {
        content: Content::Random,
        verify: Some(Verify { when: VerifyWhen::AfterWrites, ..Verify::default() }),
        ..Payload::default()
    };
    let record = recorded(&plan(bucket(2, 4096, Prepare::AsItIs, false), vec![write]))?;
    assert_eq!(counted(&record, 0, "answer.wrong.Checksum"), 2);
    Ok(())
}

fn mixes_and_workers_share_endpoints() -> Outcome {
    let (one, two, keys) = (starting(|_| StoreFault::None), starting(|_| StoreFault::None), Keys::right());
    for store in [&one, &two] {
        (0..4).for_each(|item| store.put(&format!("pre/{item}"), vec![0; 1000]));
    }
    let mut job = job(&one, &keys, Verb::Read, 1000, &[]);
    let Workload::Pattern(pattern) = &mut job.workload else { unreachable!() };
    let share = |verb, weight| Share { verb, weight };
    pattern.mix =
        Mix { shares: vec![share(Verb::Read, 70.0), share(Verb::Write, 30.0)], ..pattern.mix.clone() };
    pattern.pick.read = Pick::Uniform;
    pattern.pick.write = Pick::Uniform;
    job.settings[0].value = format!("{},{}", one.endpoint(), two.endpoint());
    (job.workers, job.depth.most) = (2, 2);
    job.limit.operations = Some(40);
    let record = recorded(&plan(bucket(4, 1000, Prepare::AsItIs, false), vec![job]))?;
    let tally = &record.phases[0].jobs[0].tally;
    assert_eq!((tally.operations(Kind::Read) + tally.operations(Kind::Write), tally.failed()), (80, 0));
    assert!(one.log().len() > 1 && two.log().len() > 1);
    assert_eq!((one.connections().0, two.connections().0), (3, 3));
    Ok(())
}

/// One endpoint holds every request back until the other has had its share: whoever deals requests out in turn waits.
fn the_least_busy_endpoint_gets_the_next_request() -> Outcome {
    let others = std::sync::Arc::new((std::sync::Mutex::new(0), std::sync::Condvar::new()));
    let theirs = std::sync::Arc::clone(&others);
    let is_data = |request: &LoggedRequest| request.method == "GET" && !request.key.is_empty();
    let slow = starting(move |request| {
        if is_data(request) {
            let guard = theirs.0.lock().unwrap();
            drop(theirs.1.wait_while(guard, |count| *count < 60).unwrap());
        }
        StoreFault::None
    });
    let quick = starting(move |request| {
        if is_data(request) {
            *others.0.lock().unwrap() += 1;
            others.1.notify_all();
        }
        StoreFault::None
    });
    let keys = Keys::right();
    [&slow, &quick].iter().for_each(|store| store.put("pre/0", vec![7; 8000]));
    let endpoints = format!("endpoint={},{}", slow.endpoint(), quick.endpoint());
    let mut read = job(&slow, &keys, Verb::Read, 100, &["balance=least-busy"]);
    read.settings[0] = Setting::new("endpoint", endpoints.trim_start_matches("endpoint="));
    read.depth.most = 8;
    let record = recorded(&plan(bucket(1, 8000, Prepare::AsItIs, false), vec![read]))?;
    let of = |store: &ObjectStore, what: &str| {
        counted(&record, 0, &format!("endpoint.{}/{what}", store.endpoint()))
    };
    assert_eq!(of(&slow, "requests") + of(&quick, "requests"), 80);
    assert!(of(&quick, "requests") >= 60, "{} and {}", of(&slow, "requests"), of(&quick, "requests"));
    assert_eq!((of(&slow, "failed"), of(&quick, "failed")), (0, 0));
    // Connections are kept by endpoint: no more than were in flight.
    assert!(slow.connections().0 + quick.connections().0 <= 2 + 16);
    Ok(())
}

/// An endpoint that goes away while others stay is named, and is not the least busy one for that.
fn an_endpoint_that_dies_is_named_and_left_alone() -> Outcome {
    let (one, two) = (starting(|_| StoreFault::None), starting(|_| StoreFault::None));
    let keys = Keys::right();
    one.put("pre/0", vec![7; 8000]);
    let endpoints = format!("{},{}", one.endpoint(), two.endpoint());
    let gone = two.endpoint();
    drop(two);
    let run = |balance: &str| {
        let mut read = job(&one, &keys, Verb::Read, 100, &[&format!("balance={balance}"), "preflight=off"]);
        read.settings[0] = Setting::new("endpoint", endpoints.clone());
        read.depth.most = 2;
        recorded(&plan(bucket(1, 8000, Prepare::AsItIs, false), vec![read]))
    };
    let record = run("least-busy")?;
    let failed = record.phases[0].jobs[0].tally.failed();
    assert!((1..=8).contains(&failed), "{failed} failed of 80");
    assert_eq!(counted(&record, 0, &format!("endpoint.{gone}/failed")), failed);
    assert_eq!(counted(&record, 0, "answer.connect.Refused"), failed);
    let record = run("round-robin")?;
    assert!(record.phases[0].jobs[0].tally.failed() >= 40);
    let mut read = job(&one, &keys, Verb::Read, 100, &[]);
    read.settings[0] = Setting::new("endpoint", endpoints.clone());
    let record = recorded(&plan(bucket(1, 8000, Prepare::AsItIs, false), vec![read]))?;
    let refused = &record.errors[0].message;
    assert!(refused.contains(&gone) && refused.contains("no connection"), "{refused}");
    Ok(())
}

fn addressing_puts_the_bucket_before_the_host() -> Outcome {
    let (store, keys) = (starting(|_| StoreFault::None), Keys::right());
    store.put("pre/0", vec![1; 100]);
    let mut read = job(&store, &keys, Verb::Read, 100, &["addressing=virtual"]);
    read.settings[0].value = store.endpoint();
    let record = recorded(&plan(bucket(1, 100, Prepare::AsItIs, false), vec![read]))?;
    assert_eq!(record.phases[0].jobs[0].tally.failed(), 0);
    assert!(store.log().iter().all(|request| request.headers["host"].starts_with("bucket.127.0.0.1:")));
    Ok(())
}

fn main() -> std::process::ExitCode {
    let case = |name, run: fn() -> Outcome| Case::new(name, &[], run);
    testbed::run(vec![
        case("objects_are_laid_out_read_and_removed", objects_are_laid_out_read_and_removed),
        case("every_verb_is_its_request", every_verb_is_its_request),
        case("deletions_go_together_where_asked", deletions_go_together_where_asked),
        case("long_objects_are_written_in_parts", long_objects_are_written_in_parts),
        case("depth_is_requests_in_flight", depth_is_requests_in_flight),
        case("a_thousand_connections_by_one_worker", a_thousand_connections_by_one_worker),
        case("every_failure_has_a_name", every_failure_has_a_name),
        case("throttling_is_retried_only_when_asked", throttling_is_retried_only_when_asked),
        case(
            "a_kept_connection_that_the_store_closed_is_counted",
            a_kept_connection_that_the_store_closed_is_counted,
        ),
        case(
            "what_no_request_could_succeed_with_is_said_before",
            what_no_request_could_succeed_with_is_said_before,
        ),
        case("prefixes_in_use_are_not_touched", prefixes_in_use_are_not_touched),
        case("wrong_content_is_found", wrong_content_is_found),
        case("mixes_and_workers_share_endpoints", mixes_and_workers_share_endpoints),
        case("the_least_busy_endpoint_gets_the_next_request", the_least_busy_endpoint_gets_the_next_request),
        case("an_endpoint_that_dies_is_named_and_left_alone", an_endpoint_that_dies_is_named_and_left_alone),
        case("addressing_puts_the_bucket_before_the_host", addressing_puts_the_bucket_before_the_host),
    ])
}
