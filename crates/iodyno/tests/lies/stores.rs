//! Lies about object stores: a store of this process that turns away, answers from a cache, keeps no connection, has another
//! clock or stands behind a proxy; and the same store without that.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use iodyno_model::Severity;
use testbed::store::{LoggedRequest, ObjectStore, StoreFault as Fault, StoreOptions};

use crate::stage::{Lie, StagedFindings, run};

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    let lie = |code, title, lie, twin| Lie::new(code, title, &[], lie, twin).besides(FEW);
    vec![
        lie(34, "a store that turns requests away", || throttled(10), || throttled(2000))
            .at_least(Severity::Doubtful),
        lie(35, "one prefix of two that is turned away", || crowded(true), || crowded(false))
            .at_least(Severity::Doubtful),
        lie(36, "a proxy that tries again by itself", || said("x-envoy-attempt-count: 2\r\n"), || said(""))
            .at_least(Severity::Doubtful),
        lie(36, "a proxy that passes on", || said("Via: 1.1 proxy\r\n"), || said(""))
            .part("via")
            .without_twin(),
        lie(37, "answers of a cache", || said("Age: 30\r\n"), || said("Age: 0\r\n"))
            .at_least(Severity::Invalid),
        lie(37, "a second read that is much faster", || first(40), || first(0)).part("faster"),
        lie(
            38,
            "a connection for each request",
            || said("Connection: close\r\n"),
            || said("Connection: keep-alive\r\n"),
        )
        .at_least(Severity::Doubtful),
        lie(39, "a gigabyte that nobody checked", || large(300), || large(60)),
        lie(40, "an upload in small parts", || parts("1MiB"), || parts("8MiB")),
        lie(15, "a store whose clock is ahead", || clock(120), || clock(0)).part("store"),
    ]
}

/// Short runs have few samples.
const FEW: &[u8] = &[6];

fn store(options: StoreOptions) -> ObjectStore {
    // What is told must not be hidden behind a store that is as quick as this program.
    ObjectStore::start(StoreOptions { is_public: true, service: Duration::from_millis(2), ..options })
}

fn wrong(program: impl Fn(&LoggedRequest) -> Fault + Send + Sync + 'static) -> ObjectStore {
    store(StoreOptions { program: Box::new(program), ..StoreOptions::default() })
}

fn is_read(request: &LoggedRequest) -> bool {
    request.method == "GET" && !request.key.is_empty()
}

fn target(name: &str, count: u32, size: &str) -> String {
    format!(
        "[target.{name}]\nbucket = \"s3://bucket/{name}\"\ncount = {count}\nsize = \"{size}\"\nprepare = \"filled\"\nremove = true\n"
    )
}

/// One job with so many operations on objects of one size.
fn job(store: &ObjectStore, targets: &str, on: &str, job: &str, settings: &str) -> StagedFindings {
    run(&format!(
        "{targets}[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\nengine = \"s3\"\non = {on}\n{job}\n\
         settings = {{ endpoint = \"{}\", credentials = \"anonymous\"{settings} }}\n",
        store.endpoint()
    ))
}

fn reads(store: &ObjectStore) -> StagedFindings {
    let read = "do = \"read\"\npick = \"random\"\nblock = \"4KiB\"\ndepth = 4\nuntil = { operations = 1500 }";
    job(store, &target("a", 200, "4KiB"), "\"a\"", read, ", retries = 8")
}

/// One in so many reads is turned away, and tried again.
fn throttled(one_in: u32) -> StagedFindings {
    let count = AtomicU32::new(0);
    let store =
        wrong(move |request| match is_read(request) && count.fetch_add(1, SeqCst).is_multiple_of(one_in) {
            true => Fault::Status(503, "SlowDown"),
            false => Fault::None,
        });
    reads(&store)
}

fn crowded(is_crowded: bool) -> StagedFindings {
    let count = AtomicU32::new(0);
    let store = wrong(move |request| {
        let is_there = is_crowded && is_read(request) && request.key.starts_with("a/");
        if is_there && count.fetch_add(1, SeqCst).is_multiple_of(3) {
            Fault::Status(503, "SlowDown")
        } else {
            Fault::None
        }
    });
    let targets = target("a", 100, "4KiB") + &target("b", 100, "4KiB");
    let read = "do = \"read\"\npick = \"random\"\nblock = \"4KiB\"\ndepth = 4\nuntil = { operations = 1500 }";
    job(&store, &targets, "[\"a\", \"b\"]", read, ", retries = 8")
}

/// Each answer to a read has these header lines, too.
fn said(headers: &'static str) -> StagedFindings {
    reads(&wrong(move |request| if is_read(request) { Fault::Headers(headers) } else { Fault::None }))
}

/// The first read of each object takes so much longer, ms.
fn first(more_ms: u64) -> StagedFindings {
    let seen = Mutex::new(HashSet::new());
    let store = wrong(move |request| {
        let is_first =
            is_read(request) && seen.lock().expect("no thread panicked").insert(request.key.clone());
        if is_first { Fault::SlowFirstByte(Duration::from_millis(more_ms)) } else { Fault::None }
    });
    reads(&store)
}

fn large(operations: u32) -> StagedFindings {
    let read = format!(
        "do = \"read\"\npick = \"random\"\nblock = \"4MiB\"\ndepth = 2\nuntil = {{ operations = {operations} }}"
    );
    job(&store(StoreOptions::default()), &target("a", 8, "4MiB"), "\"a\"", &read, "")
}

fn parts(size: &str) -> StagedFindings {
    let bytes = if size == "1MiB" { 1 << 20 } else { 8 << 20 };
    let write = "do = \"write\"\nblock = \"12MiB\"\ndepth = 2\nuntil = { operations = 20 }";
    job(
        &store(StoreOptions::default()),
        &target("a", 20, "12MiB"),
        "\"a\"",
        write,
        &format!(", part_size = {bytes}"),
    )
}

fn clock(ahead_s: i64) -> StagedFindings {
    reads(&store(StoreOptions { ahead_s, ..StoreOptions::default() }))
}
