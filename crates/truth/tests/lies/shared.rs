//! One shared file (31), more than the way to the storage carries (32), and a replay that came late (33).

use iodyno_model::{
    Histogram, Intent, Link, ReplayRecord, Severity, Sighting, TargetFacts, TargetKind, Timing, Verb,
    WorkerRecord,
};

use crate::stage::*;

/// So many workers on the file, of whom so many waited for its lock.
fn shared(stage: &mut Stage, workers: u32, waiting: f64) {
    stage.job.workers = workers;
    let worker = WorkerRecord { operations: 1000, bytes: 4_096_000, ..WorkerRecord::default() };
    stage.record().workers = vec![worker; workers as usize];
    stage.found.sightings.push(Sighting::Locks { waiting, looks: 100 });
}

#[test]
fn workers_that_wait_for_one_file() {
    lie(Verb::Write, (31, Severity::Doubtful), |s| shared(s, 4, 2.8));
    twin(Verb::Write, |s| shared(s, 4, 0.2));
    // Their own files, a lock that nobody shares, readers alone, and few looks.
    twin(Verb::Write, |s| {
        shared(s, 4, 2.8);
        if let TargetKind::File { path, .. } = &mut s.target.kind {
            *path = "/data/file.{worker}".into();
        }
    });
    twin(Verb::Write, |s| shared(s, 1, 0.9));
    twin(Verb::Read, |s| shared(s, 4, 2.8));
    twin(Verb::Write, |s| (shared(s, 4, 2.8), s.intent = Intent::Cache).0);
    twin(Verb::Write, |s| {
        shared(s, 4, 2.8);
        s.found.sightings.retain(|sighting| !matches!(sighting, Sighting::Locks { .. }));
        s.found.sightings.push(Sighting::Locks { waiting: 2.8, looks: 3 });
    });
    let found = staged(Verb::Write, |s| shared(s, 4, 2.8)).judged();
    assert!(
        found[0].sentence.contains("4 workers wrote to one file, /data/file, and 2.8 of them"),
        "{found:?}"
    );
}

/// The disk hangs on a link of so many bit/s. A GiB in ten seconds is 859 Mbit/s.
fn link(stage: &mut Stage, bits: u64) {
    for sighting in &mut stage.found.sightings {
        if let Sighting::Target(facts) = sighting {
            facts.link = Some(Link { name: "USB 480 Mbit/s".into(), bits });
        }
    }
}

#[test]
fn faster_than_its_link() {
    lie(Verb::Read, (32, Severity::Invalid), |s| link(s, 480_000_000));
    lie(Verb::Write, (32, Severity::Invalid), |s| link(s, 800_000_000));
    twin(Verb::Read, |s| link(s, 850_000_000));
    twin(Verb::Read, |s| (link(s, 480_000_000), s.intent = Intent::Cache).0);
    // Two disks have two links; where one is not known, nothing is.
    twin(Verb::Read, |s| {
        s.second_disk(GIB);
        s.device(GIB / 2);
        link(s, 480_000_000);
    });
    twin(Verb::Read, |s| {
        link(s, 480_000_000);
        s.second_disk(GIB);
    });
    // Less than buffers may hold.
    let bytes = |bytes: u64| {
        let mut stage = honest(Verb::Read);
        stage.record().tally.lines[0].bytes = bytes;
        link(&mut stage, 1_000_000);
        stage.judged().iter().any(|finding| finding.code == 32)
    };
    assert!(bytes(64 * MIB) && !bytes(64 * MIB - 1));
    // What answered is told already.
    let cached = staged(Verb::Read, |s| {
        link(s, 480_000_000);
        s.buffered();
        s.device(0);
    });
    assert_eq!(cached.caught(), [(1, Severity::Invalid), (32, Severity::Invalid)]);
    assert_eq!(cached.judged()[1].explained_by, Some(1));
}

#[test]
fn faster_than_was_said() {
    let mut stage = honest(Verb::Read);
    stage.no_device();
    let facts = TargetFacts { file_system: Some("lustre".into()), disk: None, ..facts("lustre", "") };
    stage.found.sightings.push(Sighting::Target(Box::new(facts)));
    let codes = |ceiling| {
        let found = told(&stage, ceiling);
        found
            .iter()
            .filter(|finding| finding.code == 32)
            .map(|finding| finding.sentence.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(None), [""; 0]);
    assert_eq!(codes(Some(900_000_000)), [""; 0]);
    let said = "859 Mbit/s were read, and the ceiling that was told carries 400 Mbit/s at most: this cannot have come from \
                beneath it";
    assert_eq!(codes(Some(400_000_000)), [said]);
}

/// A replay of a hundred operations, so many of which were so late.
fn replayed(stage: &mut Stage, late: u64, late_ns: u64) {
    let mut lateness = Histogram::default();
    (0..100).for_each(|number| lateness.add(if number < late { late_ns } else { 1000 }));
    let within_100us = if late_ns > 100_000 { 100 - late } else { 100 };
    stage.record().replay = Some(Box::new(ReplayRecord {
        timing: Timing::AsRecorded,
        recorded: 100,
        issued: 100,
        compared: 100,
        within_100us,
        lateness,
        ..ReplayRecord::default()
    }));
}

#[test]
fn a_replay_that_came_late() {
    lie(Verb::Read, (33, Severity::Doubtful), |s| replayed(s, 2, 5_000_000));
    lie(Verb::Read, (33, Severity::Doubtful), |s| replayed(s, 50, 5_000_000));
    lie(Verb::Read, (33, Severity::Invalid), |s| replayed(s, 51, 5_000_000));
    twin(Verb::Read, |s| replayed(s, 1, 5_000_000));
    twin(Verb::Read, |s| replayed(s, 100, 99_000));
    // A clock that recorded in whole seconds tells no less.
    twin(Verb::Read, |s| {
        replayed(s, 100, 5_000_000);
        s.record().replay.as_mut().unwrap().resolution_ns = 1_000_000_000;
    });
    // What keeps no times is not late.
    twin(Verb::Read, |s| {
        replayed(s, 100, 5_000_000);
        s.record().replay.as_mut().unwrap().timing = Timing::AsFast;
    });
    let held = staged(Verb::Read, |s| {
        replayed(s, 60, 5_000_000);
        s.record().replay.as_mut().unwrap().held_by_depth = 60;
    });
    let found = held.judged();
    assert!(found[0].sentence.contains("40.000 % of the operations were issued within 100 µs"), "{found:?}");
    assert!(found[0].sentence.contains("the target could not keep up"), "{found:?}");
}
