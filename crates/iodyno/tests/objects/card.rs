//! `iodyno measure s3://…` beside a store in this process: what the card says, what it asks of the store, and what is left
//! there, also where the run is interrupted or killed, and where the store is wrong, slow to agree or too busy.

use std::path::Path;
use std::process::Command;

use testbed::program::{Program, ProgramOutput};
use testbed::store::{LoggedRequest, ObjectStore, SECRET_KEY, StoreFault as Fault, StoreOptions, with_keys};
use testbed::{Case, Outcome};

use super::program::{IODYNO, scratch};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("the_card_of_a_store_is_whole_and_its_bill_is_what_was_asked", &[], whole),
        Case::new("a_card_of_a_store_has_demands_prices_and_a_history", &[], options),
        Case::new("an_interrupted_card_of_a_store_is_partial_and_leaves_nothing", &[], interrupted),
        Case::new("what_a_killed_card_left_in_a_bucket_is_removed_by_the_next", &[], killed),
        Case::new("a_store_that_cannot_be_measured_is_one_message", &[], refusals),
        Case::new("an_eventual_store_is_seen_as_one", &[], eventual),
        Case::new("a_store_that_is_too_busy_is_measured_and_said_to_be", &[], throttled),
        Case::new("a_checkpoint_in_a_bucket_is_saved_restored_and_removed", &[], checkpoint),
        Case::new("caches_and_vectors_in_a_bucket_are_read_stored_and_removed", &[], blocks),
    ]
}

/// Short passes: what is tried here is what is said and left.
const SHORT: [&str; 3] = ["--quick", "--time", "20ms"];

fn iodyno(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(IODYNO);
    command.args(words).current_dir(home).env("HOME", home).env("IODYNO_HISTORY", home.join("history"));
    with_keys(&mut command).env("COLUMNS", "80").env_remove("IODYNO_ALSO");
    command
}

fn measure(home: &Path, store: &ObjectStore, more: &[&str]) -> Command {
    let endpoint = store.endpoint();
    let words =
        [&["measure", "s3://bucket/bench", "--endpoint", endpoint.as_str()], &SHORT[..], more].concat();
    iodyno(home, &words)
}

/// Runs it: what it said holds no secret and no panic, and its lines fit the terminal.
#[track_caller]
fn told(command: Command) -> ProgramOutput {
    let told = Program::new(command).run();
    let all = told.all();
    assert!(!all.contains(SECRET_KEY) && !all.contains("panicked") && !all.contains("NaN"), "{all}");
    told
}

/// A card whose lines fit the terminal, but for names that nothing can break.
#[track_caller]
fn card(command: Command) -> ProgramOutput {
    let told = told(command);
    let is_wide = |line: &&str| line.chars().count() > 80 && !line.contains("/iodyno-");
    let wide: Vec<_> = told.out.lines().filter(is_wide).collect();
    assert!(wide.is_empty(), "{wide:?}\n{}", told.all());
    told
}

fn store(wrong: impl Fn(&LoggedRequest) -> Fault + Send + Sync + 'static) -> ObjectStore {
    let store = ObjectStore::start(StoreOptions { program: Box::new(wrong), ..StoreOptions::default() });
    store.put("precious", vec![1; 10]);
    store.put("bench/precious", vec![2; 10]);
    store
}

/// Nothing but what was there before.
#[track_caller]
fn is_as_before(store: &ObjectStore, said: &ProgramOutput) {
    assert_eq!(store.keys(), ["bench/precious", "precious"], "{}", said.all());
    assert_eq!(store.open_uploads(), 0, "{}", said.all());
}

fn whole() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    let said = card(measure(home.path(), &store, &["--json", "r.json"]));
    let cells = [
        "GET 4K Q1T1",
        "GET 4K Q16T1",
        "GET 1M Q8T1",
        "GET 64M Q4T1",
        "RANGE 1M Q8T1",
        "PUT 4K Q1T1",
        "PUT 4K Q16T1",
        "PUT 1M Q8T1",
        "PUT 64M Q1T1",
        "MIX 4K Q16T1",
        "its GETs",
        "HEAD",
        "LIST",
        "DELETE",
    ];
    said.expect(0, &cells)
        .expect(0, &["Concurrency:", "stale not seen", "Strong as far as", "class A", "--prices FILE"]);
    assert!(!said.out.contains("not measured") && !said.out.contains("cannot tell"), "{said}");
    is_as_before(&store, &said);
    // Nothing but its own prefix is asked for, and nothing beyond what begins like it is listed.
    let log = store.log();
    for request in &log {
        let listed = request.query.get("prefix").map(String::as_str);
        let place = if request.key.is_empty() { listed.unwrap_or_default() } else { &request.key };
        let is_own = place.starts_with("bench/iodyno-measure-") || request.query.contains_key("versioning");
        assert!(is_own, "{request:?}");
    }
    // The bill is what the store saw.
    let count = |is: &dyn Fn(&LoggedRequest) -> bool| log.iter().filter(|request| is(request)).count();
    let lists = |request: &LoggedRequest| {
        request.method == "GET"
            && ["list-type", "uploads", "versions"].iter().any(|name| request.query.contains_key(*name))
    };
    let a = count(&|request| ["PUT", "POST"].contains(&request.method.as_str()) || lists(request));
    let b = count(&|request| request.method == "HEAD" || (request.method == "GET" && !lists(request)));
    let deleted = count(&|request| request.method == "DELETE");
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ").replace(',', "");
    for part in [format!("class A {a} (PUT"), format!("class B {b} (GET"), format!("DELETE {deleted} ·")] {
        assert!(flat.contains(&part), "`{part}` is not in {said}");
    }
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
    assert_eq!(record["phases"].as_array().map(Vec::len), Some(2 * 10 + 4 + 4 + 1));
    Ok(())
}

fn checkpoint() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    let endpoint = format!("endpoint={}", store.endpoint());
    let words = [
        "checkpoint",
        "s3://bucket/bench",
        "--model",
        "8b",
        "--scale",
        "1e-5",
        "--times",
        "2",
        "--set",
        &endpoint,
    ];
    let said = told(iodyno(home.path(), &words));
    said.expect(0, &["in 16 files", "scale 0.00001", "the store's own memory", "not a result of it"]);
    is_as_before(&store, &said);
    let log = store.log();
    let of = |method: &str| {
        log.iter().filter(|one| one.method == method && one.key.contains("_states.pt")).count()
    };
    assert_eq!((of("PUT"), of("GET")), (2 * 16, 2 * 16), "each file once, in each of two checkpoints");
    told(iodyno(home.path(), &[&words[..], &["--keep"]].concat())).expect(0, &[]);
    let kept = store.keys();
    let last = "global_epoch1_step2/zero_pp_rank_7_mp_rank_0_optim_states.pt";
    assert!(
        kept.iter().any(|key| key.starts_with("bench/iodyno-checkpoint-") && key.ends_with(last)),
        "{kept:?}"
    );
    assert_eq!(kept.len(), 2 + 2 * 16, "{kept:?}");
    Ok(())
}

fn blocks() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    let endpoint = format!("endpoint={}", store.endpoint());
    let cache = "--bytes-per-token 4KiB --block-tokens 4 --capacity 1MiB --sessions 4 --turns 3 --prompt 8-40 --answer 8 \
                 --prefix-tokens 16 --prefill 1e6 --rate 200,400 --time 100ms --concurrency 4";
    let words = ["kv-cache", "s3://bucket/bench", "--set", &endpoint].into_iter().chain(cache.split(' '));
    let said = told(iodyno(home.path(), &words.collect::<Vec<_>>()));
    said.expect(0, &["an object each", "requests/s", "not a result of it"]);
    is_as_before(&store, &said);
    let log = store.log();
    let own = |method: &str| {
        let is_own = |one: &&LoggedRequest| one.method == method && one.key.contains("/iodyno-kv-cache-");
        log.iter().filter(is_own).count()
    };
    // 64 objects are laid out once, for both points; then blocks are read and stored.
    assert!(own("PUT") > 64 && own("GET") > 0 && own("DELETE") >= 64, "{} {}", own("PUT"), own("GET"));

    let search = "--vectors 400 --list 5 --threads 1 --time 200ms";
    let words =
        ["vector-search", "s3://bucket/bench", "--set", &endpoint].into_iter().chain(search.split(' '));
    let said = told(iodyno(home.path(), &words.collect::<Vec<_>>()));
    said.expect(0, &["searches/s", "5 reads of 4 KiB in 2 rounds", "s3"]);
    is_as_before(&store, &said);
    let log = store.log();
    let ranged = |one: &&LoggedRequest| one.method == "GET" && one.key.contains("/iodyno-vector-search-");
    assert!(log.iter().filter(ranged).count() >= 5);
    for (words, wanted) in [
        (["kv-cache", "s3://bucket/x", "--layout", "slab"], "cannot be overwritten in parts"),
        (["kv-cache", "swift://bucket/x", "--time", "1s"], "s3://BUCKET/PREFIX"),
        (["vector-search", "s3://bucket/x", "--engine", "libaio"], "reached by the engine s3"),
    ] {
        told(iodyno(home.path(), &words)).expect(2, &[wanted]);
    }
    Ok(())
}

fn options() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    std::fs::write(home.path().join("prices.toml"), "currency = \"USD\"\nclass_a = 5.0\nread_gb = 0.09\n")?;
    let more =
        ["--prices", "prices.toml", "--fail-if", "GET 4K Q16T1.iops < 0", "--fail-if", "HEAD.iops > 0"];
    let said = card(measure(home.path(), &store, &more));
    said.expect(
        1,
        &["kept GET 4K Q16T1.iops < 0", "fails HEAD.iops > 0", " USD: ", "of class A at 5 a thousand"],
    );
    is_as_before(&store, &said);
    let listed = told(iodyno(home.path(), &["runs"]));
    listed.expect(0, &["measure s3://bucket/bench"]);
    let shown = told(iodyno(home.path(), &["rerun", "1"]));
    shown.expect(1, &["GET 4K Q16T1"]);
    is_as_before(&store, &shown);
    told(iodyno(home.path(), &["compare", "1", "2"])).expect(0, &["RANGE 1M Q8T1"]);
    Ok(())
}

fn interrupted() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    let endpoint = store.endpoint();
    let words = ["measure", "s3://bucket/bench", "--quick", "--time", "150ms", "--endpoint", &endpoint];
    let mut running = Program::new(iodyno(home.path(), &words)).start();
    running.until("a range of an object", || {
        store.log().iter().any(|request| request.headers.contains_key("range"))
    });
    running.signal(libc::SIGINT);
    let said = running.end();
    said.expect(
        130,
        &[
            "stopped by signal 2 in measurement",
            "GET 4K Q1T1",
            "class A",
            "measurements: the run was stopped",
        ],
    );
    is_as_before(&store, &said);
    Ok(())
}

fn killed() -> Outcome {
    let (home, store) = (scratch(), store(|_| Fault::None));
    let endpoint = store.endpoint();
    let words = ["measure", "s3://bucket/bench", "--quick", "--time", "60s", "--endpoint", &endpoint];
    let mut first = Program::new(iodyno(home.path(), &words)).start();
    first.until("an object of the run", || store.keys().len() > 100);
    // Of a run that goes on nothing is taken away.
    let beside = card(measure(home.path(), &store, &[]));
    beside.expect(0, &["RANGE 1M Q8T1"]);
    assert!(!beside.err.contains("left by a run"), "{beside}");
    let left = store.keys().len();
    assert!(left > 100, "{left}");
    first.signal(libc::SIGKILL);
    first.end();
    let next = card(measure(home.path(), &store, &[]));
    next.expect(
        0,
        &["s3://bucket/bench/iodyno-measure-", "left by a run that was killed", "objects, removed"],
    );
    is_as_before(&store, &next);
    Ok(())
}

fn refusals() -> Outcome {
    let home = scratch();
    let refused = |store: &ObjectStore, command: Command, words: &[&str]| {
        let said = told(command);
        assert!(said.code() != 0 && !said.out.contains("GET 4K Q1T1"), "{}", said.all());
        for word in words {
            assert!(said.all().contains(word), "`{word}` was not said: {}", said.all());
        }
        is_as_before(store, &said);
    };
    let fine = store(|_| Fault::None);
    let mut wrong_key = measure(home.path(), &fine, &[]);
    wrong_key.env("AWS_SECRET_ACCESS_KEY", "another");
    refused(&fine, wrong_key, &["SignatureDoesNotMatch", "hint: "]);
    refused(&fine, measure(home.path(), &fine, &["--region", "eu-west-9"]), &["region"]);
    let endpoint = fine.endpoint();
    refused(
        &fine,
        iodyno(home.path(), &["measure", "s3://nobucket/x", "--endpoint", &endpoint]),
        &["NoSuchBucket"],
    );
    let closed = ["measure", "s3://bucket/x", "--endpoint", "http://127.0.0.1:1"];
    refused(&fine, iodyno(home.path(), &closed), &["127.0.0.1:1", "refused"]);
    for (words, message) in [
        (&["measure", "s3://bucket/x"][..], "no endpoint of the store is named"),
        (&["measure", "s3:///x"], "names no bucket"),
        (&["measure", "gs://bucket/x"], "no store is reached by `gs://`"),
        (&["measure", ".", "--endpoint", "http://127.0.0.1:1"], "is no store"),
        (&["measure", "rados://pool/x", "--region", "r"], "engine rados"),
        (&["measure", "s3://bucket/x", "--size", "1G"], "neither a size"),
        (&["measure", "s3://bucket/x", "--setting", "nonsense"], "expected NAME=VALUE"),
        (&["measure", "s3://bucket/x", "--prices", "missing.toml"], "missing.toml"),
    ] {
        let mut command = iodyno(home.path(), words);
        command.env_remove("IODYNO_RADOS");
        refused(&fine, command, &[message]);
    }
    let unknown = ["--setting", "colour=red"];
    refused(&fine, measure(home.path(), &fine, &unknown), &["colour"]);
    let read_only = store(|request| match request.method.as_str() {
        "PUT" | "POST" | "DELETE" => Fault::Status(403, "AccessDenied"),
        _ => Fault::None,
    });
    refused(&read_only, measure(home.path(), &read_only, &[]), &["AccessDenied", "iodyno-measure-"]);
    Ok(())
}

fn eventual() -> Outcome {
    let home = scratch();
    // The store answers as it was before the last write, and deletes later.
    let store = store(|request| match request.key.contains("iodyno-s3check") && request.method == "GET" {
        true => Fault::Lost,
        false => Fault::None,
    });
    let said = card(measure(home.path(), &store, &[]));
    said.expect(0, &["stale SEEN", "Stale answers were seen: the store is eventually consistent."]);
    let line = |name: &str| {
        let found = said.out.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("GET after overwrite"), "GET after overwrite 10 10 – stale SEEN", "{said}");
    assert_eq!(line("GET after PUT"), "GET after PUT 10 0 – stale not seen", "{said}");
    is_as_before(&store, &said);
    Ok(())
}

fn throttled() -> Outcome {
    let home = scratch();
    let numbers = std::sync::atomic::AtomicU32::new(0);
    let store = store(move |request| {
        let number = numbers.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let is_object = !request.key.is_empty();
        if is_object && number.is_multiple_of(5) { Fault::Status(503, "SlowDown") } else { Fault::None }
    });
    let said = card(measure(home.path(), &store, &[]));
    said.expect(
        1,
        &[
            "GET 4K Q16T1: read failed",
            "EAGAIN",
            "no answer",
            "503 SlowDown ×",
            "[34]",
            "were turned away as too many",
        ],
    );
    is_as_before(&store, &said);
    Ok(())
}
