//! The store's tests: what is kept is found again, what was killed is taken in, what is foreign is refused.

use std::path::Path;

use iodyno_model::{
    Event, Figure, Finding, FindingKind, JobRecord, Kind, Machine, PhaseRecord, Plan, Record, RunStart,
    Severity, Verb,
};
use rusqlite::Connection;

use crate::{Filter, History, Keeping, Opening, PartFilter, State};

fn opening(name: &str, tags: &[&str]) -> Opening {
    Opening {
        tool: "run".into(),
        words: vec!["run".into(), format!("{name}.toml")],
        folder: "/plans".into(),
        plan: Plan { name: name.into(), seed: 9, destroy: vec!["/dev/x".into()], ..Plan::default() },
        tags: tags.iter().map(|tag| tag.to_string()).collect(),
        part_of: None,
    }
}

fn started(name: &str) -> RunStart {
    let machine = Machine { host: "h1".into(), version: "0.1.0".into(), ..Machine::default() };
    let plan = Plan { name: name.into(), seed: 9, ..Plan::default() };
    RunStart {
        plan,
        targets: Vec::new(),
        machine,
        at_unix_ns: 1_795_306_503_000_000_000,
        world: Default::default(),
    }
}

fn phase(name: &str, operations: u64) -> PhaseRecord {
    let mut job = JobRecord { name: name.into(), ..JobRecord::default() };
    let line = job.tally.line_mut("read", Verb::Read);
    (line.operations, line.bytes) = (operations, operations * 4096);
    (0..operations).for_each(|_| line.latency.add(100_000));
    job.tally.last_done_ns = 1_000_000_000;
    PhaseRecord { name: name.into(), elapsed_ns: 1_000_000_000, jobs: vec![job], ..PhaseRecord::default() }
}

fn keep(path: &Path, name: &str, tags: &[&str]) -> Keeping {
    let mut keeping = Keeping::new(History::open(path).unwrap(), opening(name, tags));
    keeping.tell(&Event::Started(Box::new(started(name))));
    keeping
}

fn record(name: &str) -> Record {
    let finding = |severity| Finding {
        code: 5,
        kind: Some(FindingKind::DeviceCacheReads),
        severity,
        phase: "p".into(),
        job: None,
        sentence: "s".into(),
        figures: vec![Figure::new("f", 1.0, "%")],
        advice: "a".into(),
        remedy: None,
        explained_by: None,
    };
    let findings = vec![finding(Severity::Note), finding(Severity::Doubtful)];
    Record { name: name.into(), seed: 9, phases: vec![phase("p", 40)], findings, ..Record::default() }
}

#[test]
fn a_run_is_kept_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/history.sqlite");
    let mut keeping = keep(&path, "one", &["before", "a"]);
    assert_eq!(keeping.id(), Some(1));
    keeping.tell(&Event::Ended(Box::new(record("one"))));
    keeping.close().unwrap();
    let history = History::open(&path).unwrap();
    for name in ["1", "#1", "last", "before", "a~0"] {
        assert_eq!(history.find(name), Ok(1), "{name}");
    }
    assert!(history.find("2").is_err() && history.find("last~1").is_err() && history.find("b").is_err());
    let kept = history.load("before").unwrap();
    assert_eq!(kept.record, record("one"));
    assert_eq!((kept.plan.seed, kept.plan.destroy.len()), (9, 0), "what may be destroyed is not inherited");
    let entry = &kept.entry;
    assert_eq!((entry.state, entry.host.as_str(), entry.findings), (State::Complete, "h1", 1));
    assert_eq!(entry.words, ["run", "one.toml"]);
    assert_eq!(entry.tags, ["a", "before"]);
    assert_eq!(entry.headline, "read 40/s 164 kB/s p99 100 µs");
    assert_eq!(kept.record.phases[0].jobs[0].tally.operations(Kind::Read), 40);
    assert!(matches!(kept.events().as_slice(), [Event::Started(_), .., Event::Ended(_)]));
    assert!(std::fs::read_dir(history.journals()).unwrap().next().is_none(), "no journal is left");
}

#[test]
fn a_killed_run_is_taken_in_by_the_next_who_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.sqlite");
    let mut keeping = keep(&path, "one", &[]);
    keeping.tell(&Event::PhaseEnded(Box::new(phase("first", 10))));
    keeping.tell(&Event::Kept(Box::new(phase("second", 5))));
    let while_it_runs = History::open(&path).unwrap().load("last").unwrap();
    assert_eq!((while_it_runs.entry.state, while_it_runs.record.phases.len()), (State::Running, 2));
    // As if by SIGKILL: the lock goes, the files stay.
    drop(keeping);
    let kept = History::open(&path).unwrap().load("1").unwrap();
    assert_eq!(kept.entry.state, State::Killed);
    assert_eq!(kept.record.phases, [phase("first", 10), phase("second", 5)]);
    assert_eq!(kept.record.machine.host, "h1");
}

#[test]
fn runs_are_filtered_tagged_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.sqlite");
    for name in ["one", "two", "three"] {
        let mut keeping = keep(&path, name, &[]);
        keeping.tell(&Event::Ended(Box::new(record(name))));
    }
    let history = History::open(&path).unwrap();
    let ids = |filter| history.list(&filter).unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(ids(Filter::default()), [1, 2, 3]);
    assert_eq!(ids(Filter { most: 2, ..Filter::default() }), [2, 3]);
    assert_eq!(ids(Filter { text: Some("two.toml".into()), ..Filter::default() }), [2]);
    assert_eq!(ids(Filter { host: Some("h2".into()), ..Filter::default() }), [0; 0]);
    assert_eq!(ids(Filter { since_unix_ns: 1_795_306_504_000_000_000, ..Filter::default() }), [0; 0]);
    history.tag(2, "good").unwrap();
    history.tag(2, "good").unwrap();
    history.tag(3, "good").unwrap();
    assert_eq!((history.find("good"), history.find("good~1")), (Ok(3), Ok(2)));
    assert_eq!(ids(Filter { tag: Some("good".into()), ..Filter::default() }), [2, 3]);
    assert_eq!((history.untag(3, "good"), history.untag(3, "good")), (Ok(true), Ok(false)));
    assert!(history.tag(1, "7").is_err());
    history.delete(3).unwrap();
    assert_eq!(history.find("last"), Ok(2));
    assert_eq!(keep(&path, "four", &[]).id(), Some(4), "a number is never given twice");
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "a text that is no database at all, but long enough to be one").unwrap();
    assert!(History::open(&text).err().unwrap().message.contains("no database"));
    let foreign = folder.path().join("foreign");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(History::open(&foreign).err().unwrap().message.contains("another program's"));
    let newer = folder.path().join("newer");
    drop(History::open(&newer).unwrap());
    Connection::open(&newer).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(History::open(&newer).err().unwrap().message.contains("newer"));
    assert!(History::open(folder.path()).is_err());
}

#[test]
fn the_runs_of_one_command_are_listed_as_one_and_deleted_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history");
    let history = History::open(&path).unwrap();
    let put = |name: &str, part_of| {
        let opening = Opening { part_of, ..opening(name, &[]) };
        history.put(&opening, &started(name), &record(name), State::Complete).unwrap()
    };
    let alone = put("alone", None);
    let first = put("first", None);
    let parts = [put("second", Some(first)), put("third", Some(first))];
    let ids = |parts| {
        let filter = Filter { parts, ..Filter::default() };
        history.list(&filter).unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(PartFilter::First), [alone, first]);
    assert_eq!(ids(PartFilter::Of(first)), parts);
    assert_eq!(ids(PartFilter::All), [alone, first, parts[0], parts[1]]);
    assert_eq!((history.find("last").unwrap(), history.find("last~1").unwrap()), (first, alone));
    let entry = history.entry(&parts[1].to_string()).unwrap();
    assert_eq!((entry.part_of, history.entry("last").unwrap().parts), (Some(first), 2));
    history.delete(first).unwrap();
    assert_eq!(ids(PartFilter::All), [alone]);
}
