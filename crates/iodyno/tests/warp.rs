//! `iodyno warp` against a store in this process: what it asks, what it leaves, what it says, and its files of results read
//! again.

use std::process::Command;

use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};
use testbed::store::{ObjectStore, SECRET_KEY, StoreFault as Fault, StoreOptions, with_keys};

fn iodyno(folder: &TempDir, arguments: &[&str]) -> ProgramOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(arguments).current_dir(folder.path()).env("IODYNO_HISTORY", folder.path().join("h"));
    with_keys(&mut command).env("HOME", folder.path());
    Program::new(command).run()
}

/// A benchmark on a store, with its words.
fn run(folder: &TempDir, store: &ObjectStore, words: &str) -> ProgramOutput {
    let (endpoint, words) = (store.endpoint(), words.split(' ').collect::<Vec<_>>());
    let host = endpoint.strip_prefix("http://").unwrap();
    let (command, rest) = words.split_first().unwrap();
    iodyno(folder, &[&["warp", command, "--host", host, "--bucket", "bucket"], rest].concat())
}

/// How many requests of a method came, besides those for names of pages and the like.
fn asked(store: &ObjectStore, method: &str) -> usize {
    store.log().iter().filter(|request| request.method == method && !request.key.is_empty()).count()
}

#[test]
fn objects_are_read_told_written_down_and_removed() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    store.put("theirs", b"stays".to_vec());
    let said = run(
        &folder,
        &store,
        "get --objects 10 --obj.size 4KiB --concurrent 3 --duration 6s --rps-limit 200 --full --benchdata got",
    );
    said.expect(
        0,
        &[
            "Report: GET. Concurrency: ",
            " * Average: ",
            " * Reqs: Avg: ",
            " * TTFB: Avg: ",
            "Throughput, split into ",
        ],
    );
    assert!(said.out.contains("warp: Benchmark data written to \"got.csv.zst\"\n"), "{}", said.out);
    assert_eq!((store.keys(), asked(&store, "PUT")), (vec!["theirs".to_string()], 10));
    let keys: std::collections::BTreeSet<_> = store
        .log()
        .into_iter()
        .filter(|request| request.method == "GET" && !request.key.is_empty())
        .map(|request| request.key)
        .collect();
    assert_eq!(keys.len(), 10, "{keys:?}");
    let prefixes: std::collections::BTreeSet<_> =
        keys.iter().filter_map(|key| key.rsplit_once('/')).map(|(prefix, _)| prefix).collect();
    assert!(prefixes.len() == 3 && prefixes.iter().all(|prefix| prefix.starts_with("warp-")), "{prefixes:?}");
    // What was written down has every request by its name, and says the same again.
    let text =
        iodyno_dialect::warp::pack::text(&std::fs::read(folder.path().join("got.csv.zst")).unwrap()).unwrap();
    let requests = iodyno_dialect::warp::requests::parse(&text).unwrap();
    assert_eq!(requests.len(), asked(&store, "GET"));
    assert!(requests.iter().all(|request| keys.contains(&request.file) && request.bytes == 4096), "{text}");
    assert!(
        requests.iter().all(|one| one.first_byte.is_some_and(|at| at > one.began && at <= one.ended)),
        "{text}"
    );
    let again = iodyno(&folder, &["warp", "analyze", "got.csv.zst"]);
    let report = &said.out[said.out.find("Report: ").unwrap()..];
    assert!(report.starts_with(again.out.trim()), "{}\n{}", again.out, said.out);
    iodyno(&folder, &["warp", "cmp", "got.csv.zst", "got.csv.zst"])
        .expect(0, &["Operation: GET", "* Average: +0.00% (+0.0 MiB/s) throughput"]);
}

/// Sizes up to one, as many in each of eight powers of two: what was laid out is read in its own length, and so written.
#[test]
fn objects_of_many_lengths_are_written_and_read_whole() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    for (command, verb, laid) in [("put", "PUT", 0), ("get --objects 200", "GET", 200)] {
        let more =
            "--obj.size 64KiB --obj.randsize --concurrent 4 --duration 2s --rps-limit 200 --full --benchdata";
        let name = format!("{verb}-varies");
        let said = run(&folder, &store, &format!("{command} {more} {name}"));
        assert_eq!(said.code(), 0, "{}", said.all());
        let packed = std::fs::read(folder.path().join(format!("{name}.csv.zst"))).unwrap();
        let text = iodyno_dialect::warp::pack::text(&packed).unwrap();
        let requests = iodyno_dialect::warp::requests::parse(&text).unwrap();
        let log = store.log();
        let written: std::collections::BTreeMap<&str, u64> = log
            .iter()
            .filter(|request| request.method == "PUT")
            .map(|request| (request.key.as_str(), request.body_bytes))
            .collect();
        assert!(
            requests.len() > 100 && written.len() >= requests.len().min(laid.max(100)),
            "{}",
            requests.len()
        );
        assert!(requests.iter().all(|request| written[request.file.as_str()] == request.bytes), "{text}");
        let lengths: std::collections::BTreeSet<u64> = requests.iter().map(|request| request.bytes).collect();
        assert!(lengths.len() > 50 && *lengths.last().unwrap() <= 64 << 10, "{lengths:?}");
        let below = |bytes: u64| requests.iter().filter(|request| request.bytes < bytes).count();
        let (half, sixteenth) =
            (below(32 << 10) * 100 / requests.len(), below(4 << 10) * 100 / requests.len());
        // Seven and four eighths of them.
        assert!((75..=97).contains(&half) && (35..=65).contains(&sixteenth), "{half} {sixteenth}");
    }
    assert_eq!(store.keys(), [""; 0]);
    // Of mixed operations too, whose steps create and open each object at its own length.
    let line = "mixed --objects 200 --obj.size 64KiB --obj.randsize --concurrent 4 --duration 2s --rps-limit 200 --benchdata m";
    let before = store.log().len();
    run(&folder, &store, line).expect(0, &["warp: Cleanup Done."]);
    let log = store.log().split_off(before);
    assert!(log.iter().all(|request| request.status < 300), "something was asked that is not there");
    let lengths = |method: &str| -> std::collections::BTreeSet<u64> {
        let of = log.iter().filter(|request| request.method == method);
        of.map(|request| request.body_bytes).collect()
    };
    assert!(lengths("PUT").len() > 50, "{:?}", lengths("PUT"));
    run(&folder, &store, "put --obj.randsize --obj.size 100").expect(1, &["1/256 of the largest"]);
}

#[test]
fn mixed_operations_keep_account_of_what_is_there() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    let said = run(
        &folder,
        &store,
        "mixed --objects 20 --obj.size 1KiB --concurrent 4 --duration 6s --rps-limit 400 --analyze.v --benchdata m",
    );
    said.expect(
        0,
        &["Report: DELETE (", "Report: GET (", "Report: PUT (", "Report: STAT (", "Report: Total ("],
    );
    assert!(store.log().iter().all(|request| request.status < 300), "something was asked that is not there");
    assert!(store.keys().is_empty(), "{:?}", store.keys());
    let (gets, stats) = (asked(&store, "GET") as f64, asked(&store, "HEAD") as f64);
    assert!((gets / stats - 1.5).abs() < 0.1, "{gets} {stats}");
    iodyno(&folder, &["warp", "analyze", "m.json.zst", "--analyze.op", "put"])
        .expect(0, &["Report: PUT. Concurrency: 4."]);
    iodyno(&folder, &["warp", "analyze", "m.json.zst", "--json"])
        .expect(0, &["\"by_op_type\": {", "\"dur_99_millis\": "]);
}

#[test]
fn objects_are_removed_by_many_and_listed_by_prefix() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    let said = run(&folder, &store, "delete --objects 80 --batch 10 --concurrent 2 --benchdata d --full");
    said.expect(0, &["Skipping DELETE too few samples."]);
    let removals = store.log().iter().filter(|request| request.method == "POST").count();
    // Those of the cleanup among them, which finds nothing more.
    assert!((8..30).contains(&removals), "{removals}");
    let text =
        iodyno_dialect::warp::pack::text(&std::fs::read(folder.path().join("d.csv.zst")).unwrap()).unwrap();
    let requests = iodyno_dialect::warp::requests::parse(&text).unwrap();
    assert_eq!(requests.iter().map(|request| request.objects).collect::<Vec<_>>(), [10; 8], "{text}");
    let said = run(
        &folder,
        &store,
        "list --objects 30 --concurrent 3 --duration 1s --rps-limit 30 --benchdata l --full",
    );
    said.expect(0, &["Skipping LIST"]);
    let text =
        iodyno_dialect::warp::pack::text(&std::fs::read(folder.path().join("l.csv.zst")).unwrap()).unwrap();
    let requests = iodyno_dialect::warp::requests::parse(&text).unwrap();
    assert!(!requests.is_empty() && requests.iter().all(|request| request.objects == 10), "{text}");
    assert!(store.keys().is_empty(), "{:?}", store.keys());
}

#[test]
fn a_bucket_is_made_and_new_objects_are_written_in_parts() {
    let store = ObjectStore::start(StoreOptions { lacks_bucket: true, ..StoreOptions::default() });
    let folder = TempDir::new().unwrap();
    let words = "multipart-put --parts 3 --part.size 64KiB --part.concurrent 2 --concurrent 2 --duration 1s --rps-limit 20 --benchdata p";
    run(&folder, &store, words).expect(0, &["Skipping PUT", "Cleanup Done."]);
    assert!(store.keys().is_empty() && store.open_uploads() == 0, "{:?}", store.keys());
    let parts = store.log().iter().filter(|request| request.query.contains_key("partNumber")).count();
    assert!(parts > 0 && parts % 3 == 0, "{parts}");
    run(
        &folder,
        &store,
        "put --obj.size 1KiB --concurrent 2 --duration 1s --rps-limit 20 --noclear --benchdata q",
    )
    .expect(0, &["PUT"]);
    assert!(!store.keys().is_empty(), "{:?}", store.keys());
    // No result of before is overwritten.
    run(&folder, &store, "put --obj.size 1KiB --concurrent 2 --duration 1s --benchdata q")
        .expect(1, &["q.json.zst"]);
}

#[test]
fn what_failed_is_counted_and_the_secret_stands_nowhere() {
    let denied = |request: &testbed::store::LoggedRequest| match request.method == "HEAD" {
        true => Fault::Status(403, "AccessDenied"),
        false => Fault::None,
    };
    let store = ObjectStore::start(StoreOptions { program: Box::new(denied), ..StoreOptions::default() });
    let folder = TempDir::new().unwrap();
    let words = "stat --objects 10 --concurrent 2 --duration 6s --rps-limit 50 --analyze.v --benchdata s";
    let said = run(&folder, &store, words);
    said.expect(1, &["Errors: ", "stat: Permission denied"]);
    assert!(!said.all().contains(SECRET_KEY));
}

#[test]
fn what_cannot_be_is_told_with_a_way_out() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("f"), "no table").unwrap();
    for (words, told) in [
        ("warp versioned", "warp mixed does the same"),
        ("warp merge f", "two files of requests or more"),
        ("warp merge f f", "no column `op`"),
        ("warp append", "S3 Express alone"),
        ("warp multipart --parts 0", "expected 1 to 10000"),
        ("warp multipart --parts 10001", "expected 1 to 10000"),
        ("warp retention --versions 0", "expected 1 to 1000"),
        ("warp get --obj.size 1 --versions 1001", "expected 1 to 1000"),
        ("warp multipart --disable-multipart", "multipart writes in parts"),
        ("warp get --concurrent 2 --host a{1...4}", "raise --concurrent"),
        ("warp get --host http://a", "the scheme is --tls"),
        ("warp delete --objects 10", "at least 8000"),
        ("warp mixed --delete-distrib 50", "more objects would be removed"),
        ("warp get --obj.size 1,2", "one size"),
        ("warp get --syncstart 25:00", "expected hours and minutes"),
        ("warp analyze f", "no column `op`"),
        ("warp analyze gone", "No such file"),
        ("warp cmp f", "two files"),
        ("warp get --host 127.0.0.1:1 --duration 1s", "no connection"),
    ] {
        let said = iodyno(&folder, &words.split(' ').collect::<Vec<_>>());
        assert!(said.code() == 1 && said.all().contains(told), "{words}: {}", said.all());
    }
    iodyno(&folder, &["warp"]).expect(0, &["COMMANDS:", "multipart-put "]);
    iodyno(&folder, &["warp", "get", "--help"]).expect(0, &["--obj.size=SIZE", "(not supported)"]);
}

/// The requests that a run wrote down.
fn requests(folder: &TempDir, name: &str) -> Vec<iodyno_dialect::warp::requests::WarpRequest> {
    let packed = std::fs::read(folder.path().join(format!("{name}.csv.zst"))).unwrap();
    let text = iodyno_dialect::warp::pack::text(&packed).unwrap();
    iodyno_dialect::warp::requests::parse(&text).unwrap()
}

#[test]
fn one_object_is_written_in_parts_and_its_parts_are_read_by_their_numbers() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    let words = "multipart --parts 6 --part.size 64KiB --obj.name a/one.bin --concurrent 3 --duration 1s --rps-limit 100 \
                 --full --benchdata m";
    run(&folder, &store, words)
        .expect(0, &["Uploading the object's parts.", "Skipping PUT", "Cleanup Done."]);
    let log = store.log();
    let numbers = |method: &str| -> std::collections::BTreeSet<u32> {
        let of = log.iter().filter(|one| one.method == method && one.key.ends_with("/a/one.bin"));
        of.filter_map(|one| one.query.get("partNumber")?.parse().ok()).collect()
    };
    assert_eq!(numbers("PUT"), (1..=6).collect());
    assert_eq!(numbers("GET"), (1..=6).collect());
    assert!(log.iter().all(|one| one.method != "GET" || !one.headers.contains_key("range")));
    let all = requests(&folder, "m");
    let (puts, gets): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.kind == "PUT");
    assert_eq!((puts.len(), store.keys().len(), store.open_uploads()), (6, 0, 0));
    assert!(
        gets.len() > 50 && gets.iter().all(|one| one.bytes == 65_536 && one.file.ends_with("/a/one.bin"))
    );
    assert!(puts.iter().all(|put| gets.iter().all(|get| put.ended <= get.began)));
}

#[test]
fn parts_of_objects_are_read_from_random_places() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    let words =
        "get --objects 4 --obj.size 100000 --concurrent 2 --duration 1s --rps-limit 200 --full --benchdata";
    for (option, name) in [("--range", "r"), ("--range-size 1000", "s")] {
        run(&folder, &store, &format!("{words} {name} {option}")).expect(0, &["Skipping GET"]);
        let lengths: std::collections::BTreeSet<u64> =
            requests(&folder, name).iter().map(|one| one.bytes).collect();
        let log = store.take_log();
        let range = |request: &testbed::store::LoggedRequest| {
            let (first, last) = request.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
        };
        let ranges: Vec<_> = log.iter().filter_map(range).collect();
        assert!(ranges.len() > 100 && ranges.iter().all(|(first, last)| first <= last && *last < 100_000));
        let firsts: std::collections::BTreeSet<_> = ranges.iter().map(|(first, _)| first).collect();
        assert!(firsts.len() > 50, "{firsts:?}");
        let short = ranges.iter().filter(|(first, last)| last - first < 316).count() * 100 / ranges.len();
        match name {
            // Half of them are shorter than the square root of the longest.
            "r" => assert!((30..=70).contains(&short) && lengths.len() > 30, "{short} {lengths:?}"),
            _ => assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [1000]),
        }
    }
    run(&folder, &store, "get --range-size 2000 --obj.size 1000").expect(1, &["objects have 1000 bytes"]);
    run(&folder, &store, "stat --range").expect(1, &["get alone reads parts"]);
}

#[test]
fn versions_are_laid_out_asked_for_by_their_names_and_removed() {
    let lacking = || StoreOptions { lacks_bucket: true, ..StoreOptions::default() };
    let folder = TempDir::new().unwrap();
    let more = "--objects 8 --versions 3 --obj.size 1KiB --concurrent 2 --duration 1s --rps-limit 100 --full --benchdata";
    for (command, method) in [("get", "GET"), ("stat", "HEAD")] {
        let store = ObjectStore::start(lacking());
        run(&folder, &store, &format!("{command} {more} {command}")).expect(0, &["Cleanup Done."]);
        assert_eq!(store.versions(), (0, 0), "{command}");
        let log = store.log();
        let named = log.iter().filter(|one| one.method == method && !one.key.is_empty());
        let named: Vec<_> = named.map(|one| (one.key.clone(), one.query["versionId"].clone())).collect();
        let all: std::collections::BTreeSet<_> = named.iter().collect();
        let refused = log.iter().filter(|one| one.status >= 400).count();
        // A hundred draws of 24 versions; the bucket was not there at first.
        assert!((16..=24).contains(&all.len()) && refused == 1, "{command}: {refused} {named:?}");
        let keys: std::collections::BTreeSet<_> =
            requests(&folder, command).into_iter().map(|one| one.file).collect();
        assert!(keys.len() == 8 && named.iter().all(|(key, _)| keys.contains(key)), "{keys:?}");
    }
    let store = ObjectStore::start(lacking());
    run(&folder, &store, &format!("list {more} l")).expect(0, &["Cleanup Done."]);
    assert!(requests(&folder, "l").iter().all(|one| one.objects == 12));
    let words =
        "delete --objects 40 --versions 2 --batch 5 --concurrent 2 --obj.size 1KiB --full --benchdata d";
    run(&folder, &store, words).expect(0, &["Cleanup Done."]);
    assert_eq!(requests(&folder, "d").iter().map(|one| one.objects).sum::<u64>(), 80);
    assert_eq!((store.versions(), store.keys().len()), ((0, 0), 0));
    // A bucket that somebody uses is not changed.
    let store = ObjectStore::start(StoreOptions::default());
    run(&folder, &store, &format!("get {more} n"))
        .expect(1, &["the bucket keeps no versions", "put-bucket-versioning"]);
    run(&folder, &store, "put --versions 2").expect(1, &["warp put has no versions", "warp get, stat"]);
    run(&folder, &store, "get --versions 2 --obj.randsize")
        .expect(1, &["versions of an object have one size"]);
}

#[test]
fn versions_are_retained_and_removed_all_the_same() {
    let store = ObjectStore::start(StoreOptions { lacks_bucket: true, ..StoreOptions::default() });
    let folder = TempDir::new().unwrap();
    let more = "--objects 4 --concurrent 2 --duration 1s --rps-limit 100 --full --benchdata";
    run(&folder, &store, &format!("retention {more} r --noclear")).expect(0, &["Skipping RETENTION"]);
    let (kept, retained) = store.versions();
    // A hundred draws of twenty.
    assert!(kept == 20 && (14..=20).contains(&retained), "{kept} {retained}");
    assert!(requests(&folder, "r").iter().all(|one| one.kind == "RETENTION" && one.bytes == 0));
    run(&folder, &store, &format!("retention {more} s --versions 1")).expect(0, &["Cleanup Done."]);
    assert_eq!(store.versions(), (kept, retained), "what another run left stays");
    let plain = ObjectStore::start(StoreOptions::default());
    run(&folder, &plain, &format!("retention {more} t"))
        .expect(1, &["ObjectLockConfigurationNotFoundError", "made with object lock"]);
}

#[test]
fn files_of_requests_become_one() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    for name in ["a", "b"] {
        let words = "stat --objects 4 --concurrent 2 --duration 1s --rps-limit 50 --full --benchdata";
        assert_eq!(run(&folder, &store, &format!("{words} {name}")).code(), 0);
    }
    let merge = ["warp", "merge", "--benchdata=all", "a.csv.zst", "b.csv.zst"];
    let told = iodyno(&folder, &merge);
    // One run came after the other.
    told.expect(0, &["Benchmark data written to \"all.csv.zst\"", "Type STAT contains no overlapping items"]);
    let (a, b, all) = (requests(&folder, "a"), requests(&folder, "b"), requests(&folder, "all"));
    assert_eq!(all.len(), a.len() + b.len());
    let threads: std::collections::BTreeSet<u32> = all.iter().map(|one| one.thread).collect();
    assert_eq!(threads.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(all.windows(2).all(|two| two[0].began <= two[1].began));
    iodyno(&folder, &["warp", "analyze", "--analyze.v", "all.csv.zst"]).expect(0, &["STAT"]);
    iodyno(&folder, &merge).expect(2, &["all.csv.zst: it exists already"]);
    iodyno(&folder, &["warp", "merge", "--benchdata=x", "a.csv.zst", "gone"]).expect(1, &["No such file"]);
    assert!(!folder.path().join("x.csv.zst").exists());
}

/// Each thing that may be wrong with a store, or with who asks it: one message that says which, and no secret.
#[test]
fn what_is_wrong_with_a_store_is_told_in_words() {
    let plain = StoreOptions::default;
    let folder = TempDir::new().unwrap();
    let tell = |options: StoreOptions, host: Option<&str>, variables: &[(&str, &str)], more: &[&str]| {
        let store = ObjectStore::start(options);
        let endpoint = store.endpoint();
        let host = host.unwrap_or_else(|| endpoint.strip_prefix("http://").unwrap());
        let words =
            ["warp", "get", "--host", host, "--bucket", "bucket", "--objects", "4", "--obj.size", "1KiB"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
        command.args(words).args(["--concurrent", "2", "--duration", "1s", "--benchdata", "x"]).args(more);
        with_keys(command.current_dir(folder.path())).env("HOME", folder.path()).env("IODYNO_HISTORY", "off");
        command.envs(variables.iter().copied());
        Program::new(command).run()
    };
    let garbled: Box<dyn Fn(&testbed::store::LoggedRequest) -> Fault + Send + Sync> =
        Box::new(|_| Fault::Garbled(b"\x15\x03\x01\x00\x02\x02\x46"));
    let cut: Box<dyn Fn(&testbed::store::LoggedRequest) -> Fault + Send + Sync> = Box::new(|_| Fault::Cut);
    let lacks = || StoreOptions { bucket: "another".into(), ..plain() };
    for (said, words) in [
        (
            tell(plain(), None, &[("AWS_SECRET_ACCESS_KEY", "a wrong one")], &[]),
            ["secret key does not belong", "SignatureDoesNotMatch"],
        ),
        (tell(plain(), None, &[("AWS_ACCESS_KEY_ID", "NOBODY")], &[]), ["access key", "InvalidAccessKeyId"]),
        (
            tell(plain(), None, &[("AWS_SESSION_TOKEN", testbed::store::EXPIRED_TOKEN)], &[]),
            ["token has expired", "ExpiredToken"],
        ),
        (tell(plain(), None, &[], &["--region", "eu-west-1"]), ["another region", "us-east-1"]),
        (tell(lacks(), None, &[], &[]), ["bucket", "NoSuchBucket"]),
        (tell(StoreOptions { ahead_s: 3600, ..plain() }, None, &[], &[]), ["clocks", "differ by 3"]),
        (tell(StoreOptions { program: garbled, ..plain() }, None, &[], &[]), ["speaks TLS", "https://"]),
        (tell(StoreOptions { program: cut, ..plain() }, None, &[], &[]), ["was cut before", "proxy"]),
        (tell(plain(), Some("127.0.0.1:1"), &[], &[]), ["no connection", "Connection refused"]),
    ] {
        assert!(
            said.code() == 1 && words.iter().all(|word| said.all().contains(word)),
            "{words:?}: {}",
            said.all()
        );
        assert!(!said.all().contains(SECRET_KEY) && !said.all().contains("a wrong one"), "{}", said.all());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{words:?}: something was left behind"
        );
    }
}

#[test]
fn what_was_measured_before_a_proxy_cut_is_kept() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let third = move |request: &testbed::store::LoggedRequest| {
        let is_read = request.method == "GET" && !request.key.is_empty();
        let number = count.fetch_add(u32::from(is_read), std::sync::atomic::Ordering::SeqCst);
        if is_read && number % 3 == 2 { Fault::ResetInBody } else { Fault::None }
    };
    let store = ObjectStore::start(StoreOptions { program: Box::new(third), ..StoreOptions::default() });
    let folder = TempDir::new().unwrap();
    let words = "get --objects 4 --obj.size 64KiB --concurrent 2 --duration 1s --rps-limit 60 --full --analyze.v --benchdata cut";
    let said = run(&folder, &store, words);
    said.expect(1, &["Errors: ", "Connection reset by peer"]);
    let kept = requests(&folder, "cut");
    assert!(kept.len() > 20 && kept.iter().all(|one| one.bytes == 65_536), "{}", kept.len());
    assert!(store.keys().is_empty(), "{:?}", store.keys());
}

/// The phases of elbencho on a bucket: names, requests, bytes, and what is left.
#[test]
fn elbencho_writes_reads_and_removes_objects() {
    let (store, folder) = (ObjectStore::start(StoreOptions::default()), TempDir::new().unwrap());
    store.put("theirs", b"stays".to_vec());
    let endpoint = store.endpoint();
    let run = |words: &str| {
        let all: Vec<&str> =
            ["elbencho", "--s3endpoints", &endpoint].into_iter().chain(words.split(' ')).collect();
        iodyno(&folder, &all)
    };
    let said = run("-w --stat -t 2 -n 2 -N 3 -s 64k -b 64k --log 1 bucket");
    said.expect(0, &["WRITE Elapsed time", "HEADOBJ Elapsed time", "Objects total :"]);
    let mut wanted: Vec<String> = (0..2)
        .flat_map(|thread| (0..2).map(move |dir| (thread, dir)))
        .flat_map(|(thread, dir)| (0..3).map(move |file| format!("r{thread}/d{dir}/r{thread}-f{file}")))
        .collect();
    wanted.push("theirs".into());
    assert_eq!(
        (store.keys(), asked(&store, "PUT"), asked(&store, "HEAD")),
        (wanted, 12, 12),
        "{}",
        said.all()
    );
    assert!(said.out.contains("Objects total    :") && said.out.contains("IOs total "), "{}", said.all());
    let said = run("-r -t 2 -n 2 -N 3 -s 64k -b 16k --log 1 bucket");
    said.expect(0, &["READ Elapsed time"]);
    // Each of the four blocks of an object is a request.
    assert_eq!(asked(&store, "GET"), 48, "{}", said.all());
    let row = said.out.lines().find(|line| line.contains("Objects total")).unwrap_or_default();
    assert!(row.ends_with(" 12"), "{}", said.all());
    let said = run("-F -t 2 -n 2 -N 3 bucket");
    said.expect(0, &["RMOBJECTS Elapsed time"]);
    assert_eq!(store.keys(), ["theirs"], "{}", said.all());
}
