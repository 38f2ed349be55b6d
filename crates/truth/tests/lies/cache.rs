//! Lies of the page cache: reads it answered (1), writes it took (2); and the share of it, told as one figure.

use iodyno_model::{
    CacheShare, Direct, Figure, Finish, Intent, MountActivity, OpenSync, Phase, Place, Plan, Record,
    Severity, Sighting, TargetFacts, Verb,
};

use crate::stage::*;

#[test]
fn reads_from_the_page_cache() {
    lie(Verb::Read, (1, Severity::Invalid), |s| (s.buffered(), s.device(0)).0);
    lie(Verb::Read, (1, Severity::Doubtful), |s| (s.buffered(), s.device(GIB / 10 * 7)).0);
    twin(Verb::Read, |s| (s.buffered(), s.device(GIB)).0);

    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.intent = Intent::Cache).0);
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.intent = Intent::Correctness).0);
    // Nothing was read at all by an engine that only pretends.
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.record().engine = "null".into()).0);
    // A handful of requests proves nothing.
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.record().tally.lines[0].bytes = MIB / 2).0);
}

#[test]
fn reads_from_the_page_cache_where_no_device_can_be_watched() {
    lie(Verb::Read, (1, Severity::Invalid), |s| (s.buffered(), s.no_device(), s.resident(GIB, GIB)).0);
    twin(Verb::Read, |s| (s.buffered(), s.no_device(), s.resident(0, GIB)).0);
    twin(Verb::Read, |s| (s.no_device(), s.resident(GIB, GIB)).0);
    // Cannot tell is no accusation.
    twin(Verb::Read, |s| (s.buffered(), s.no_device()).0);
    // Four passes over a span that stayed: three of them came from memory.
    lie(Verb::Read, (1, Severity::Invalid), |s| {
        (s.buffered(), s.no_device(), s.resident(0, GIB), s.record().tally.lines[0].bytes = 4 * GIB).0
    });
    // The same over a span that did not stay.
    twin(Verb::Read, |s| {
        (s.buffered(), s.no_device(), s.resident(0, GIB / 2), s.record().tally.lines[0].bytes = 4 * GIB).0
    });
    // A device that moved it all outweighs what was resident.
    twin(Verb::Read, |s| (s.buffered(), s.resident(GIB, GIB)).0);
}

/// A target with everything through the page cache, on two disks: the first moved so much, and so did the second.
fn on_two(stage: &mut Stage, bytes: [u64; 2]) {
    stage.buffered();
    stage.device(bytes[0]);
    stage.second_disk(bytes[1]);
}

#[test]
fn jobs_over_two_devices_are_judged_by_both() {
    lie(Verb::Read, (1, Severity::Invalid), |s| on_two(s, [GIB / 10, GIB / 10]));
    lie(Verb::Write, (2, Severity::Invalid), |s| on_two(s, [GIB / 10, 0]));
    twin(Verb::Read, |s| on_two(s, [GIB / 2, GIB / 2]));
    twin(Verb::Write, |s| on_two(s, [GIB / 2, GIB / 2]));
    let found = staged(Verb::Read, |s| on_two(s, [GIB / 10, GIB / 10])).judged();
    let names: Vec<_> = found[0].figures.iter().map(|figure| figure.name.as_str()).collect();
    assert!(names.contains(&"read by sda and sdb"), "{names:?}");
    assert_eq!(shared(|s| on_two(s, [GIB / 4, GIB / 4])).0, Some(GIB / 2));
    // Past the cache, what both moved is less than what was read.
    lie(Verb::Read, (3, Severity::Invalid), |s| (s.device(GIB / 10), s.second_disk(GIB / 10)).0);
    // Where one of them is not counted, nothing can be reported.
    let uncounted = |s: &mut Stage| {
        on_two(s, [0, 0]);
        s.found.sightings.retain(|seen| !matches!(seen, Sighting::Device(device) if device.device == "sdb"));
    };
    twin(Verb::Read, uncounted);
    assert_eq!(shared(uncounted).0, None);
}

/// A point of a sweep over `cached`.
fn swept(stage: &mut Stage, cached: bool) {
    let value = iodyno_model::Value::Flag(cached);
    stage.found.coordinates =
        vec![iodyno_model::Coordinate { parameter: iodyno_model::Parameter::Cached, value }];
}

#[test]
fn a_sweep_over_the_cache_is_an_experiment() {
    twin(Verb::Read, |s| (s.buffered(), s.device(0), swept(s, true)).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(0), swept(s, true)).0);
    // Its other point is what it says.
    lie(Verb::Read, (3, Severity::Invalid), |s| (s.device(0), swept(s, false)).0);
}

#[test]
fn writes_absorbed_by_memory() {
    fn synced(stage: &mut Stage) {
        stage.job.finish = Finish { sync: Some(Verb::Fsync), ..Finish::default() };
    }
    lie(Verb::Write, (2, Severity::Invalid), |s| (s.buffered(), s.device(10 * MIB)).0);
    lie(Verb::Write, (2, Severity::Doubtful), |s| (s.buffered(), s.device(GIB / 10 * 8)).0);
    lie(Verb::Write, (2, Severity::Invalid), |s| (s.buffered(), s.no_device(), s.dirty(GIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(GIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(GIB), synced(s)).0);
    // One sync at the end makes the last write to each place durable, and none of those before it.
    lie(Verb::Write, (2, Severity::Invalid), |s| (s.buffered(), s.device(10 * MIB), synced(s)).0);
    lie(Verb::Write, (2, Severity::Doubtful), |s| (s.buffered(), s.device(GIB / 10 * 7), synced(s)).0);
    let found = staged(Verb::Write, |s| (s.buffered(), s.device(GIB / 10), synced(s)).0).judged();
    let expected = "90 % of the bytes written were overwritten in memory before they were flushed";
    assert!(found[0].sentence.contains(expected) && !found[0].advice.contains("finish"), "{found:?}");
    // So it is with a sync after every thousandth.
    let often = |s: &mut Stage, every: u64| {
        let mut line = iodyno_model::Line::empty("fsync", Verb::Fsync);
        line.operations = s.record().tally.lines[0].operations / every;
        (0..line.operations).for_each(|_| line.latency.add(MILLISECOND));
        (s.buffered(), s.record().tally.lines.push(line)).0
    };
    let rewritten = |device: u64| {
        let mut stage = honest(Verb::Write);
        stage.device(device);
        often(&mut stage, 1000);
        stage.caught()
    };
    assert_eq!((rewritten(GIB / 10), rewritten(GIB)), (vec![(2, Severity::Invalid)], Vec::new()));
    // What compresses is less there than it was.
    twin(Verb::Write, |s| {
        s.no_device();
        let options = Some("rw,compress=zstd:3".into());
        let facts = TargetFacts { mount_options: options, ..facts("btrfs", "sda") };
        s.found.sightings.push(Sighting::Target(Box::new(facts)));
        (s.buffered(), s.device(GIB / 10), synced(s)).0
    });
    twin(Verb::Write, |s| (s.buffered(), s.no_device(), s.dirty(100 * MIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.no_device(), s.dirty(GIB), synced(s)).0);
    twin(Verb::Write, |s| (s.buffered(), s.no_device()).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(0), s.intent = Intent::Cache).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(0), s.target.open.sync = OpenSync::Data).0);
}

/// What this program made the storage move by the kernel's account.
fn own(stage: &mut Stage, read_bytes: u64, write_bytes: u64) {
    stage.found.sightings.push(Sighting::Own { read_bytes, write_bytes });
}

/// What waits of the file when the phase is over.
fn waiting(stage: &mut Stage, bytes: u64) {
    stage.found.sightings.push(Sighting::Dirty { target: "file".into(), bytes });
}

/// The findings without those about the neighbour, who is there.
fn but_for_the_neighbour(change: Change, verb: Verb) -> Vec<(u8, Severity)> {
    staged(verb, change).caught().into_iter().filter(|(code, _)| *code != 12).collect()
}

#[test]
fn what_others_move_hides_no_cache() {
    // The device read all of it and more, a tenth of it for us.
    let caught =
        but_for_the_neighbour(|s| (s.buffered(), s.device(2 * GIB), own(s, GIB / 10, 0)).0, Verb::Read);
    assert_eq!(caught, [(1, Severity::Invalid)]);
    assert_eq!(
        but_for_the_neighbour(|s| (s.buffered(), s.device(2 * GIB), own(s, GIB, 0)).0, Verb::Read),
        []
    );
    let (cached, because) = shared(|s| (s.buffered(), s.device(2 * GIB), own(s, GIB / 4, 0)).0);
    assert_eq!(cached, Some(GIB / 4 * 3));
    assert_eq!(because, format!("sda delivered {} bytes of {} to this run", GIB / 4, 2 * GIB));
    // Holes past the cache, beside a neighbour.
    let caught = but_for_the_neighbour(|s| (s.device(2 * GIB), own(s, GIB / 10, 0)).0, Verb::Read);
    assert_eq!(caught, [(3, Severity::Invalid)]);
    // A process of somebody else's reads for us: its bytes are not in our account.
    let fuse = |s: &mut Stage| {
        s.no_device();
        s.found.sightings.push(Sighting::Target(Box::new(facts("fuseblk", "sda"))));
        (s.buffered(), s.device(GIB), own(s, 0, 0)).0
    };
    assert!(staged(Verb::Read, fuse).caught().iter().all(|(code, _)| *code != 1));
    // Neither are requests that go past the block layer.
    twin(Verb::Read, |s| (s.device(GIB), own(s, 0, 0), s.record().engine = "sg".into()).0);
}

#[test]
fn pages_that_were_dirty_before_hide_no_writes() {
    // The device wrote as much as was asked, of what lay in memory before; ours still waits.
    let caught = but_for_the_neighbour(
        |s| (s.buffered(), s.device(GIB), own(s, 0, GIB), waiting(s, GIB / 10 * 9)).0,
        Verb::Write,
    );
    assert_eq!(caught, [(2, Severity::Invalid)]);
    let found = staged(Verb::Write, |s| (s.buffered(), s.device(GIB), waiting(s, GIB / 2)).0).judged();
    let names: Vec<_> = found[0].figures.iter().map(|figure| figure.name.as_str()).collect();
    assert!(names.contains(&"of the files, still to be written"), "{names:?}");
    twin(Verb::Write, |s| (s.buffered(), s.device(GIB), waiting(s, GIB / 100)).0);
    // A neighbour's bytes are not what a sync made durable.
    let caught = but_for_the_neighbour(
        |s| {
            s.job.finish = Finish { sync: Some(Verb::Fsync), ..Finish::default() };
            (s.buffered(), s.device(2 * GIB), own(s, 0, GIB / 10)).0
        },
        Verb::Write,
    );
    assert_eq!(caught, [(2, Severity::Invalid)]);
}

/// How much of what a stage read came from the page cache.
fn share(stage: &Stage) -> Option<CacheShare> {
    let plan = Plan {
        intent: stage.intent,
        targets: stage.targets(),
        phases: vec![Phase {
            name: stage.found.name.clone(),
            jobs: vec![stage.job.clone()],
            ..Phase::default()
        }],
        ..Plan::default()
    };
    iodyno_truth::cache::share(&plan, &Record::default(), &stage.found)
}

fn shared(change: Change) -> (Option<u64>, String) {
    let found = share(&staged(Verb::Read, change)).unwrap();
    assert_eq!(found.read_bytes % GIB, 0);
    (found.cached_bytes, found.because)
}

/// A file on a network file system, whose client counted so many bytes.
fn on_nfs(stage: &mut Stage, read_bytes: Option<u64>) {
    stage.no_device();
    let facts = TargetFacts { mount_point: Some("/data".into()), disk: None, ..facts("nfs4", "") };
    stage.found.sightings.push(Sighting::Target(Box::new(facts)));
    match read_bytes {
        Some(read_bytes) => stage.found.sightings.push(Sighting::Mount(MountActivity {
            mount_point: "/data".into(),
            file_system: "nfs4".into(),
            read_bytes,
            ..MountActivity::default()
        })),
        None => stage.found.sightings.push(Sighting::CannotTell {
            witness: "device".into(),
            reason: "/data/file: nfs4: a network file system whose counters cannot be read here".into(),
        }),
    }
}

#[test]
fn the_share_of_the_cache_is_what_no_device_delivered() {
    assert_eq!(shared(|s| (s.buffered(), s.device(GIB / 4)).0).0, Some(GIB / 4 * 3));
    assert_eq!(shared(|s| (s.buffered(), s.device(2 * GIB)).0).0, Some(0));
    assert_eq!(shared(|s| s.buffered()).1, format!("sda delivered {GIB} bytes"));
    // Past the cache nothing came from it, whatever the device says.
    assert_eq!(shared(|s| s.device(0)).0, Some(0));
    assert_eq!(share(&honest(Verb::Write)), None, "nothing was read");
    assert_eq!(share(&staged(Verb::Read, |s| s.record().engine = "null".into())), None);
    let memory = |s: &mut Stage| {
        (s.no_device(), s.found.sightings.push(Sighting::Target(Box::new(facts("tmpfs", ""))))).0
    };
    assert_eq!(shared(memory), (Some(GIB), "/data/file is memory".into()));
    let percent = share(&staged(Verb::Read, |s| (s.buffered(), s.device(GIB / 4)).0)).unwrap().percent();
    assert_eq!(percent, Some(75.0));
}

/// A client that counts what its own cache gave as well.
fn on_gpfs(stage: &mut Stage) {
    on_nfs(stage, Some(GIB));
    for sighting in &mut stage.found.sightings {
        if let Sighting::Mount(activity) = sighting {
            activity.includes_cache = true;
        }
    }
    let reason = "/data/file: gpfs: its client counted 1073741824 bytes read".into();
    stage.found.sightings.push(Sighting::CannotTell { witness: "device".into(), reason });
}

#[test]
fn a_client_that_counts_its_own_cache_proves_nothing() {
    let (cached, because) = shared(|s| (s.buffered(), on_gpfs(s)).0);
    assert_eq!(cached, None);
    assert!(because.contains("its client counted"), "{because}");
    assert_eq!(
        shared(|s| (s.buffered(), on_nfs(s, Some(GIB))).0).0,
        Some(0),
        "an honest client's bytes count"
    );
}

#[test]
fn what_cannot_be_told_is_not_zero() {
    let (cached, because) = shared(|s| (s.buffered(), on_nfs(s, None)).0);
    assert_eq!(cached, None);
    assert!(because.contains("nfs4") && because.starts_with("/data/file"), "{because}");
    // Nothing lay in the cache, but who knows what the file system keeps besides.
    assert_eq!(shared(|s| (s.buffered(), on_nfs(s, None), s.resident(0, GIB)).0).0, None);
    // What lay there before is a proof, as far as it goes.
    let (cached, because) = shared(|s| (s.buffered(), on_nfs(s, None), s.resident(GIB / 2, GIB)).0);
    assert_eq!(cached, Some(GIB / 2));
    assert!(because.starts_with("at least"), "{because}");
    assert_eq!(shared(|s| (s.buffered(), s.no_device()).0).0, None);
}

#[test]
fn the_client_of_a_network_file_system_is_a_witness() {
    assert_eq!(shared(|s| (s.buffered(), on_nfs(s, Some(GIB / 4))).0).0, Some(GIB / 4 * 3));
    let codes = |read| {
        let mut stage = honest(Verb::Read);
        stage.buffered();
        on_nfs(&mut stage, Some(read));
        stage.caught().into_iter().filter(|(code, _)| *code == 1).collect::<Vec<_>>()
    };
    assert_eq!(codes(0), [(1, Severity::Invalid)]);
    assert_eq!(codes(GIB), []);
}

#[test]
fn pages_that_did_not_leave_are_told() {
    fn stays(stage: &mut Stage, of: &str, left_bytes: u64) {
        let (of, reason) = (of.into(), "mapped".into());
        stage.found.sightings.push(Sighting::Undropped { of, left_bytes, reason });
    }
    lie(Verb::Read, (1, Severity::Note), |s| stays(s, "j", 5 * MIB));
    lie(Verb::Read, (1, Severity::Note), |s| stays(s, "", 0));
    twin(Verb::Read, |s| stays(s, "j", 4096));
    twin(Verb::Read, |s| (stays(s, "j", GIB), s.intent = Intent::Cache).0);
}

#[test]
fn neighbours_on_one_node_share_its_cache() {
    fn shifted(stage: &mut Stage) {
        (stage.job.place, stage.job.workers) = (Place::ShiftNodes(1), 4);
        stage.buffered();
    }
    lie(Verb::Read, (1, Severity::Note), shifted);
    twin(Verb::Read, |s| (shifted(s), s.target.open.direct = Direct::Yes).0);
    twin(Verb::Read, |s| (shifted(s), s.target.open.invalidate = true).0);
    twin(Verb::Read, |s| (shifted(s), s.job.workers = 1).0);
    twin(Verb::Read, |s| (shifted(s), s.intent = Intent::Cache).0);
    // Repetitions are one matter.
    let mut stages = [staged(Verb::Read, shifted), staged(Verb::Read, shifted)];
    stages[1].found.repetition = 1;
    let findings = together(&stages);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].figures[0], Figure::new("nodes", 1.0, ""));
}
