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
    run(&folder, &store, "mixed --obj.randsize").expect(1, &["steps of mixed operations have one size"]);
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
