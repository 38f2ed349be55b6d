//! A depth that was asked for and never reached (13).

use iodyno_model::{Finding, Operation, Rate, Script, Severity, Sighting, Verb, Workload};

use crate::stage::*;

#[test]
fn depth_that_was_never_reached() {
    fn depths(stage: &mut Stage, asked: u32, reached: &[u64]) {
        (stage.record().depth, stage.job.depth.most) = (asked, asked);
        stage.record().tally.depths = reached.to_vec();
    }
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 32, &[0, 100_000]), s.record().engine = "psync".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 2, &[0, 100_000]), s.record().engine = "mmap".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| depths(s, 32, &[0, 50_000, 50_000, 1000]));
    // A script that hands ten writes over and does not wait: 65 is the room that it has.
    twin(Verb::Write, |s| {
        depths(s, 65, &[0, 50_000, 50_000, 1000]);
        let write = Operation { background: true, ..Operation::on(Verb::Write, 0) };
        s.job.workload = Workload::Script(Script { actors: Vec::new(), steps: vec![write.step("w")] });
    });
    twin(Verb::Read, |s| depths(s, 4, &[0, 1, 1, 1, 100_000]));
    // All complete together and are handed over one after the other.
    twin(Verb::Read, |s| depths(s, 4, &[0, 25_000, 25_000, 25_000, 25_000]));
    twin(Verb::Read, |s| (depths(s, 1, &[0, 100_000]), s.record().engine = "psync".into()).0);
    // Fewer operations than would fill the queue a few times.
    twin(Verb::Read, |s| depths(s, 32, &[0, 50]));
    twin(Verb::Read, |s| (depths(s, 32, &[0, 100_000]), s.job.pace.rate.read = Rate::Operations(1000.0)).0);
}

/// Thirty-two reads to be in flight for ten seconds by libaio, handed over one by one or together: the time that each spent
/// in submission and after it, and how many its device had in flight.
struct Handed {
    together: bool,
    parts_ns: Option<(u64, u64)>,
    in_device: f64,
    cpu_percent: u64,
}

/// One after the other through the page cache, 300 µs each: a worker is always in submission.
const ONE_BY_ONE: Handed =
    Handed { together: false, parts_ns: Some((305_000, 31 * 305_000)), in_device: 1.0, cpu_percent: 5 };
/// The same, handed over thirty-two at a time.
const TOGETHER: Handed =
    Handed { together: true, parts_ns: Some((32 * 305_000, 1900)), in_device: 1.0, cpu_percent: 5 };

fn handed(stage: &mut Stage, how: &Handed) {
    let count = 32_768;
    (stage.record().depth, stage.job.depth.most, stage.found.elapsed_ns) = (32, 32, 10 * SECOND);
    stage.record().engine = "libaio".into();
    let record = stage.record();
    record.tally.depths = vec![0; 33];
    record.tally.depths[32] = count;
    let batch = if how.together { 32 } else { 1 };
    record.tally.submits = vec![0; 33];
    record.tally.submits[batch] = count / batch as u64;
    record.workers[0].system_ns = how.cpu_percent * SECOND / 10;
    let line = &mut record.tally.lines[0];
    (line.operations, line.bytes) = (count, count * 4096);
    if let Some((submission, completion)) = how.parts_ns {
        (0..count).for_each(|_| {
            line.submission.get_or_insert_default().add(submission);
            line.completion.get_or_insert_default().add(completion);
        });
    }
    stage.device(count * 4096);
    in_flight(stage, count, how.in_device);
}

fn in_flight(stage: &mut Stage, requests: u64, mean: f64) {
    for sighting in &mut stage.found.sightings {
        if let Sighting::Device(device) = sighting {
            (device.reads, device.weighted_ns) = (requests, (mean * 10.0 * SECOND as f64) as u64);
            (device.busy_ns, device.write_bytes) = (10 * SECOND, 0);
        }
    }
}

fn told(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{} {}\n", finding.code, finding.sentence)).collect()
}

#[test]
fn depth_that_was_handed_over_and_never_in_flight() {
    let caught = (13, Severity::Doubtful);
    lie(Verb::Read, caught, |s| (handed(s, &ONE_BY_ONE), s.buffered()).0);
    lie(Verb::Read, caught, |s| (handed(s, &TOGETHER), s.buffered()).0);
    // Where no part of a latency was measured, the device tells, and what libaio is.
    lie(Verb::Read, caught, |s| (handed(s, &Handed { parts_ns: None, ..ONE_BY_ONE }), s.buffered()).0);
    // Past the page cache: writes that extend a file wait for each other while they are handed over.
    lie(Verb::Read, caught, |s| handed(s, &ONE_BY_ONE));
    let found = staged(Verb::Read, |s| (handed(s, &TOGETHER), s.buffered()).0).judged();
    let expected =
        "of 32 operations asked to be in flight, sda had 1.0: each read was done while it was handed over";
    assert!(told(&found).contains(expected), "{}", told(&found));
    let names: Vec<_> = found[0].figures.iter().map(|figure| figure.name.as_str()).collect();
    assert!(names.contains(&"time in submission") && names.contains(&"submission, mean"), "{names:?}");
    // Past the page cache nobody is told to go past it.
    let found = staged(Verb::Read, |s| handed(s, &ONE_BY_ONE)).judged();
    assert!(!found[0].advice.contains("direct = true"), "{}", found[0].advice);
}

#[test]
fn depth_that_was_in_flight_is_not_accused() {
    // Direct, as it should be: microseconds of submission, and the device has them all.
    const DIRECT: Handed =
        Handed { together: false, parts_ns: Some((3000, 9_700_000)), in_device: 30.0, cpu_percent: 5 };
    twin(Verb::Read, |s| handed(s, &DIRECT));
    twin(Verb::Read, |s| {
        handed(s, &Handed { together: true, parts_ns: Some((96_000, 9_600_000)), ..DIRECT })
    });
    // io_uring reads through the page cache without waiting.
    twin(Verb::Read, |s| (handed(s, &DIRECT), s.buffered(), s.record().engine = "io_uring".into()).0);
    // A device faster than the one worker that reaps: all its time is work.
    const WORKED: Handed =
        Handed { parts_ns: Some((280_000, 9_000_000)), in_device: 3.0, cpu_percent: 98, ..DIRECT };
    assert!(staged(Verb::Read, |s| handed(s, &WORKED)).caught().iter().all(|(code, _)| *code != 13));
    // A machine that others use: it was preempted while it handed over.
    let starved = staged(Verb::Read, |s| {
        handed(s, &Handed { in_device: 3.0, ..ONE_BY_ONE });
        s.record().workers[0].waited_ns = Some(9 * SECOND);
    });
    assert!(starved.caught().iter().all(|(code, _)| *code != 13), "{:?}", starved.judged());
    // Reaped late: what is in flight is low, but no time was spent in submission.
    twin(Verb::Read, |s| (handed(s, &Handed { in_device: 8.0, ..DIRECT }), s.job.depth.most = 32).0);
    // Thirty-two operations in each request are in flight with it: another matter.
    let ahead = staged(Verb::Read, |s| (handed(s, &ONE_BY_ONE), s.buffered(), in_flight(s, 1024, 1.0)).0);
    assert_eq!(ahead.caught(), [(19, Severity::Note)]);
    // Memory answered: that is what is reported.
    let cached = staged(Verb::Read, |s| (handed(s, &ONE_BY_ONE), s.buffered(), s.device(0)).0);
    assert_eq!(cached.caught(), [(1, Severity::Invalid)]);
    twin(Verb::Read, |s| (handed(s, &ONE_BY_ONE), s.buffered(), s.intent = iodyno_model::Intent::Cache).0);
}

#[test]
fn writes_through_the_page_cache_have_no_depth() {
    fn written(stage: &mut Stage) {
        handed(stage, &ONE_BY_ONE);
        stage.job.finish.sync = Some(Verb::Fsync);
        stage.buffered();
        let written = stage.record().tally.lines[0].bytes;
        for sighting in &mut stage.found.sightings {
            if let Sighting::Device(device) = sighting {
                (device.write_bytes, device.writes, device.read_bytes) = (written, written >> 19, 0);
            }
        }
    }
    lie(Verb::Write, (13, Severity::Doubtful), written);
    let found = staged(Verb::Write, written).judged();
    assert!(
        told(&found).contains("none was: each write was done while it was handed over"),
        "{}",
        told(&found)
    );
}

/// A disk whose queue takes so many.
fn queue(stage: &mut Stage, queues: u64, tags: u64, device: Option<u64>) {
    for sighting in &mut stage.found.sightings {
        if let Sighting::Target(facts) = sighting {
            (facts.hardware_queues, facts.queue_tags) = (Some(queues), Some(tags));
            (facts.queue_requests, facts.device_requests) = (Some(256), device);
        }
    }
}

#[test]
fn depth_beyond_the_queue_of_the_device() {
    const FULL: Handed =
        Handed { together: false, parts_ns: Some((3000, 9_700_000)), in_device: 31.0, cpu_percent: 5 };
    const SHORT: Handed =
        Handed { together: false, parts_ns: Some((305_000, 9_400_000)), in_device: 4.0, cpu_percent: 5 };
    // The scheduler keeps what the device does not take.
    lie(Verb::Read, (13, Severity::Note), |s| (handed(s, &FULL), queue(s, 1, 31, None)).0);
    lie(Verb::Read, (13, Severity::Note), |s| (handed(s, &FULL), queue(s, 1, 256, Some(31))).0);
    lie(Verb::Read, (13, Severity::Doubtful), |s| (handed(s, &SHORT), queue(s, 1, 4, None)).0);
    // One worker feeds the queue of its processor, whatever others there are.
    lie(Verb::Read, (13, Severity::Note), |s| (handed(s, &FULL), queue(s, 8, 16, None)).0);
    let found = staged(Verb::Read, |s| (handed(s, &SHORT), queue(s, 1, 4, None)).0).judged();
    let expected =
        "32 operations were to be in flight, but the queue of sda takes 4: the rest waits in the host";
    assert!(told(&found).contains(expected), "{}", told(&found));
    // What never was in flight needs no queue.
    let found =
        staged(Verb::Read, |s| (handed(s, &ONE_BY_ONE), s.buffered(), queue(s, 1, 4, None)).0).judged();
    assert!(told(&found).contains("done while it was handed over"), "{}", told(&found));
    twin(Verb::Read, |s| (handed(s, &FULL), queue(s, 1, 32, Some(254))).0);
    twin(Verb::Read, |s| (handed(s, &FULL), queue(s, 8, 1023, None)).0);
}
