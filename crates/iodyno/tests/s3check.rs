//! `iodyno s3check` against a store in this process: what it finds where the store breaks a promise, what it leaves, and what
//! it says of a wrong address.

use std::collections::BTreeMap;
use std::process::Command;

use iodyno_conformance::requests::CALLS;
use iodyno_dialect::posix::{expand, rules, suite};
use iodyno_dialect::s3check::vocabulary::STORES;
use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};
use testbed::store::{LoggedRequest, ObjectStore, SECRET_KEY, StoreFault as Fault, StoreOptions, with_keys};

/// Rules that the store of the testbed, which is no whole S3, keeps.
const KEPT: [&str; 14] = [
    "consistency",
    "range/first-bytes",
    "range/middle",
    "range/one-byte",
    "signature/wrong",
    "signature/wrong-on-a-read",
    "signature/wrong-on-a-delete",
    "signature/unknown-key",
    "signature/unsigned-request",
    "signature/other-region",
    "signature/clock-behind",
    "signature/clock-ahead",
    "signature/clock-within-limits",
    "signature/other-digest",
];

fn iodyno(folder: &TempDir, arguments: &[&str]) -> ProgramOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(arguments).current_dir(folder.path()).env("IODYNO_HISTORY", folder.path().join("h"));
    with_keys(&mut command).env("HOME", folder.path());
    Program::new(command).run()
}

/// A store one of whose requests goes wrong.
fn store(wrong: impl Fn(&LoggedRequest) -> Fault + Send + Sync + 'static) -> ObjectStore {
    ObjectStore::start(StoreOptions { program: Box::new(wrong), ..StoreOptions::default() })
}

/// What a run says, and the cases with a check that did not pass.
fn check(store: &ObjectStore, only: &[&str]) -> (ProgramOutput, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let endpoint = store.endpoint();
    let mut arguments = vec!["s3check", "s3://bucket/tests", "--endpoint", &endpoint, "--verbose"];
    only.iter().for_each(|only| arguments.extend(["--only", only]));
    let said = iodyno(&folder, &arguments);
    arguments.push("--tap");
    let tap = iodyno(&folder, &arguments);
    let failed = tap.out.lines().filter_map(|line| line.strip_prefix("not ok ")?.split_once(" - "));
    (said, failed.map(|(_, name)| name.to_string()).collect())
}

#[test]
fn a_store_that_keeps_its_promises_passes_and_holds_nothing_afterwards() {
    let store = store(|_| Fault::None);
    let (said, failed) = check(&store, &KEPT);
    assert_eq!((said.code(), failed), (0, Vec::new()), "{}", said.all());
    assert!(said.out.contains("s3://bucket/tests: S3 on http://127.0.0.1:"), "{}", said.out);
    assert!(store.keys().is_empty() && store.open_uploads() == 0, "{:?}", store.keys());
    assert!(
        store
            .log()
            .iter()
            .all(|request| request.key.is_empty() || request.key.starts_with("tests/iodyno-s3check-"))
    );
}

#[test]
fn promises_that_are_broken_are_named() {
    let is_object = |request: &LoggedRequest| !request.key.is_empty();
    type Wrong = Box<dyn Fn(&LoggedRequest) -> Fault + Send + Sync>;
    let on = |method: &'static str, fault: Fault| -> Wrong {
        Box::new(
            move |request| {
                if is_object(request) && request.method == method { fault.clone() } else { Fault::None }
            },
        )
    };
    for (what, wrong, group, rule) in [
        ("a write is lost", on("PUT", Fault::Lost), "consistency", "consistency/read-after-write"),
        (
            "a write goes elsewhere",
            on("PUT", Fault::Elsewhere("tests/other")),
            "consistency",
            "consistency/read-after-write",
        ),
        ("a write is torn", on("PUT", Fault::Torn), "consistency", "consistency/read-after-overwrite"),
        ("a byte is another", on("GET", Fault::WrongByte), "consistency", "consistency/read-after-write"),
        ("a delete is lost", on("DELETE", Fault::Lost), "consistency", "consistency/read-after-delete"),
        ("a range is not looked at", on("GET", Fault::WholeInstead), "range", "range/middle"),
        ("a body is too short", on("GET", Fault::Length(2)), "range", "range/middle"),
    ] {
        let store = store(wrong);
        let (said, failed) = check(&store, &[group]);
        assert_eq!(said.code(), 1, "{what}: {}", said.all());
        assert!(failed.iter().any(|name| name == rule), "{what}: {failed:?}\n{}", said.all());
        let again = format!("iodyno s3check s3://bucket/tests --endpoint {} --only ", store.endpoint());
        assert!(said.out.contains(&again), "{what}: {}", said.out);
    }
}

#[test]
fn a_broken_connection_is_no_broken_rule() {
    let store = store(|request| {
        let is_read = request.method == "GET" && request.key.ends_with("/a");
        if is_read { Fault::ResetInBody } else { Fault::None }
    });
    let (said, failed) = check(&store, &["consistency/read-after-write"]);
    assert_eq!(said.code(), 1, "{}", said.all());
    assert_eq!(failed, ["consistency/read-after-write"]);
    assert!(said.out.contains("onnection"), "{}", said.out);
}

#[test]
fn wrong_addresses_and_keys_are_one_message() {
    let store = store(|_| Fault::None);
    let endpoint = store.endpoint();
    let folder = TempDir::new().unwrap();
    let run = |bucket: &str, more: &[&str]| {
        let words = ["s3check", bucket, "--endpoint", &endpoint, "--only", "put/empty"];
        iodyno(&folder, &[&words, more].concat())
    };
    let missing = run("s3://nobucket", &[]);
    assert!(
        missing.code() != 0 && missing.err.contains("s3://nobucket: the store answers NoSuchBucket"),
        "{}",
        missing.err
    );
    let region = run("s3://bucket", &["--region", "eu-west-9"]);
    assert!(region.code() != 0 && region.err.contains("region of the bucket"), "{}", region.err);
    let none = run("bucket", &[]);
    assert_eq!(none.code(), 2);
    assert!(none.err.contains("expected s3://BUCKET or s3://BUCKET/PREFIX"), "{}", none.err);
    let nowhere = iodyno(&folder, &["s3check"]);
    assert_eq!(nowhere.code(), 2);
    assert!(nowhere.err.contains("no bucket was named"), "{}", nowhere.err);
    let closed = iodyno(
        &folder,
        &["s3check", "s3://bucket", "--endpoint", "http://127.0.0.1:1", "--only", "put/empty"],
    );
    assert!(closed.code() != 0 && closed.err.contains("127.0.0.1:1: Connection refused"), "{}", closed.err);
    for said in [missing, region, none, nowhere, closed] {
        assert!(!said.all().contains(SECRET_KEY) && !said.all().contains("panicked"), "{}", said.all());
    }
}

#[test]
fn the_suite_has_its_rules_and_each_has_a_source() {
    let (mut read, wrong) = rules::read(&suite::S3.rules()).unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(read.rules.len() >= 120, "{} rules", read.rules.len());
    let known = ["Amazon S3 API Reference, ", "Amazon S3 User Guide, ", "RFC 9110 "];
    for rule in &read.rules {
        assert!(known.iter().any(|source| rule.source.starts_with(source)), "{}: {}", rule.id, rule.source);
    }
    read.vocabulary = &STORES;
    let expanded = expand::expand(&read);
    assert!(expanded.is_ok(), "{:?}", expanded.err());
}

#[test]
fn what_rules_may_call_is_what_the_engine_can_do_and_the_page_says() {
    let read: BTreeMap<&str, &str> = STORES.calls.entries().collect();
    assert_eq!(read, CALLS.iter().copied().collect());
    let page = include_str!("../../../docs/s3check.md");
    for (name, arguments) in read {
        let line = format!("`{name} {arguments}").trim_end().to_string() + "`";
        assert!(page.contains(&line), "docs/s3check.md lacks {line}");
    }
}
