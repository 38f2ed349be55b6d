//! Accelerators that waited for data (41), by what limited them.

use iodyno_model::{
    Histogram, InterfaceActivity, JobRecord, Line, MountActivity, Remedy, Severity, Sighting, Tally, Verb,
    WorkerRecord,
};

use crate::stage::*;

/// Labels of training input, as records hold them.
const LABELS: [&str; 3] = ["step", "load", "compute"];

/// Two accelerators that computed for so many percent of ten seconds; the second waited for twice as long as the first.
fn accelerators(stage: &mut Stage, percent: u64) {
    let worker = |index: u32| {
        let idle = (100 - percent) * SECOND / 10 * u64::from(2 * index + 2) / 3;
        let times = [10 * SECOND, idle, 10 * SECOND - idle];
        let line = |(label, ns): (&str, u64)| {
            let mut latency = Histogram::default();
            latency.add(ns);
            Line { latency, ..Line::empty(label, Verb::Wait) }
        };
        let tally = Tally { lines: LABELS.into_iter().zip(times).map(line).collect(), ..Tally::default() };
        WorkerRecord { index, tally: Some(Box::new(tally)), ..WorkerRecord::default() }
    };
    let workers = vec![worker(0), worker(1)];
    stage.found.elapsed_ns = 10 * SECOND;
    stage.found.jobs.push(JobRecord {
        name: "accelerator".into(),
        engine: "psync".into(),
        workers,
        ..JobRecord::default()
    });
}

/// How long the disk was busy of the ten seconds, in tenths.
fn busy(stage: &mut Stage, tenths: u64) {
    for sighting in &mut stage.found.sightings {
        if let Sighting::Device(device) = sighting {
            (device.busy_ns, device.interval_ns) = (tenths * SECOND, 10 * SECOND);
        }
    }
}

/// Readers that took so many tenths of the time on a processor.
fn readers(stage: &mut Stage, tenths: u64) {
    let worker = WorkerRecord { user_ns: tenths * SECOND, ..WorkerRecord::default() };
    let (name, engine) = ("reader".into(), "psync".into());
    stage.found.jobs.push(JobRecord { name, engine, workers: vec![worker], ..JobRecord::default() });
}

#[track_caller]
fn limited(severity: Severity, remedy: Remedy, words: &str, change: Change) {
    let found: Vec<_> =
        staged(Verb::Read, change).judged().into_iter().filter(|found| found.code == 41).collect();
    assert_eq!(
        found.iter().map(|found| (found.severity, found.remedy)).collect::<Vec<_>>(),
        [(severity, Some(remedy))]
    );
    assert!(found[0].sentence.contains(words), "{found:?}");
}

#[test]
fn accelerators_that_wait_are_found_and_fed_ones_are_not() {
    lie(Verb::Read, (41, Severity::Note), |s| accelerators(s, 89));
    twin(Verb::Read, |s| accelerators(s, 90));
    // Shorter than the kernel counts, nothing to compute, and a device that is only pretended.
    twin(Verb::Read, |s| {
        accelerators(s, 50);
        for worker in &mut s.found.jobs[1].workers {
            let lines = worker.tally.iter_mut().flat_map(|tally| &mut tally.lines);
            lines.for_each(|line| line.latency.sum /= 100);
        }
    });
    twin(Verb::Read, |s| {
        accelerators(s, 50);
        for worker in &mut s.found.jobs[1].workers {
            worker.tally.iter_mut().for_each(|tally| tally.lines.truncate(2));
        }
    });
    twin(Verb::Read, |s| {
        accelerators(s, 50);
        s.found.jobs[1].engine_traits = Some(vec![iodyno_model::EngineTrait::Pretends]);
    });
}

#[test]
fn the_late_one_is_named() {
    let found = staged(Verb::Read, |s| accelerators(s, 70)).judged();
    let sentence =
        "the accelerators computed 70 % of their time; number 1 waited longest, 4.0 s for its batches: ";
    assert!(found[0].sentence.starts_with(sentence), "{found:?}");
}

#[test]
fn what_limited_has_a_remedy_of_its_own() {
    limited(Severity::Note, Remedy::ReadFurtherAhead, "nothing that was seen was full", |s| {
        accelerators(s, 50)
    });
    limited(Severity::Note, Remedy::FeedFewer, "the device sda was busy 90 %", |s| {
        (accelerators(s, 50), busy(s, 9)).0
    });
    limited(Severity::Note, Remedy::ReadFurtherAhead, "nothing", |s| (accelerators(s, 50), busy(s, 8)).0);
    limited(Severity::Doubtful, Remedy::RelieveReaders, "their readers took 90 %", |s| {
        (accelerators(s, 50), busy(s, 9), readers(s, 9)).0
    });
    limited(Severity::Note, Remedy::FeedFewer, "busy", |s| {
        (accelerators(s, 50), busy(s, 9), readers(s, 8)).0
    });
    limited(Severity::Doubtful, Remedy::WidenFeed, "the link eth0 carried 86 %", |s| {
        accelerators(s, 50);
        s.found.sightings.push(Sighting::Interface(InterfaceActivity {
            name: "eth0".into(),
            link_bits: Some(1_000_000_000),
            received_bytes: 1_075_000_000,
            interval_ns: 10 * SECOND,
            ..InterfaceActivity::default()
        }));
    });
    limited(Severity::Note, Remedy::RelieveServers, "the servers of /mnt (nfs4)", |s| {
        accelerators(s, 50);
        s.found.sightings.push(Sighting::Mount(MountActivity {
            mount_point: "/mnt".into(),
            file_system: "nfs4".into(),
            read_bytes: MIB,
            ..MountActivity::default()
        }));
    });
}
