//! Loads that are fitted again, and what a fit says of itself.

use super::*;
use crate::{MemorySource, Tables, TraceHeader, TraceRecord};

/// A load that the model can express: it is found again.
fn known() -> FittedLoad {
    let job = FittedJob {
        file: 0,
        name: "disk".into(),
        file_bytes: 1 << 30,
        mix: vec![(Verb::Read, 70.0), (Verb::Write, 30.0)],
        sizes: vec![(Verb::Read, vec![(4096, 80.0), (65_536, 20.0)]), (Verb::Write, vec![(8192, 100.0)])],
        align: 4096,
        places: FittedPlaces::Zones(vec![(10.0, 60.0), (40.0, 10.0), (50.0, 30.0)]),
        run: 1,
        arrivals: FittedArrivals { rate: 2000.0, poisson: true, together: 1, burst: 0, pause_ns: 0 },
        depth: 8,
        ..FittedJob::default()
    };
    let log = FittedJob {
        file: 1,
        name: "log".into(),
        file_bytes: 1 << 26,
        sequential: true,
        mix: vec![(Verb::Write, 100.0)],
        sizes: vec![(Verb::Write, vec![(4096, 100.0)])],
        align: 4096,
        run: 1,
        sync: Some((Verb::Fdatasync, 4)),
        arrivals: FittedArrivals { rate: 500.0, poisson: false, together: 1, burst: 0, pause_ns: 0 },
        depth: 1,
        ..FittedJob::default()
    };
    FittedLoad { span_ns: 20_000_000_000, jobs: vec![job, log], notes: Vec::new() }
}

#[test]
fn a_load_that_the_model_can_express_is_found_again() {
    let (statistics, load) = fit(&mut FittedSource::new(&known(), 5, u64::MAX)).unwrap();
    let [random, log] = load.jobs.as_slice() else { panic!("{load:?}") };
    assert!((random.mix[0].1 - 70.0).abs() < 1.0 && (random.arrivals.rate / 2000.0 - 1.0).abs() < 0.03);
    assert_eq!(
        (random.align, random.run, random.arrivals.pause_ns, random.arrivals.together),
        (4096, 1, 0, 1)
    );
    assert!(matches!(&random.places, FittedPlaces::Zones(zones) if zones.len() > 1), "{:?}", random.places);
    assert_eq!((log.sequential, log.sync, log.arrivals.poisson), (true, Some((Verb::Fdatasync, 4)), false));
    let distance = distance(&statistics, &load, u64::MAX, 9).unwrap();
    assert!(distance.mix_points < 1.0 && distance.hot_spots < 0.03, "{distance:?}");
    assert!(distance.sizes.iter().all(|(_, ks)| *ks < 0.02), "{distance:?}");
    assert!(distance.offsets.iter().all(|(_, ks)| *ks < 0.03), "{distance:?}");
    assert!((distance.sequential.0 - distance.sequential.1).abs() < 2.0, "{distance:?}");
    // Twenty windows of a second tell little.
    let mut dispersions = distance.dispersions.iter().filter(|pair| pair.window_ns < 1_000_000_000);
    assert!(dispersions.all(|pair| (pair.trace - pair.fitted).abs() < 0.3), "{distance:?}");
}

#[test]
fn scattered_hot_places_become_a_skew() {
    let mut load = known();
    load.jobs.truncate(1);
    load.jobs[0].places = FittedPlaces::Zipf(1.2);
    let (_, fitted) = fit(&mut FittedSource::new(&load, 5, u64::MAX)).unwrap();
    assert!(
        matches!(fitted.jobs[0].places, FittedPlaces::Zipf(theta) if (theta - 1.2).abs() < 0.21),
        "{fitted:?}"
    );
}

#[test]
fn bursts_become_pauses() {
    let mut load = known();
    load.jobs.truncate(1);
    load.jobs[0].arrivals =
        FittedArrivals { rate: 5000.0, poisson: true, together: 1, burst: 1000, pause_ns: 800_000_000 };
    let (statistics, fitted) = fit(&mut FittedSource::new(&load, 5, u64::MAX)).unwrap();
    let arrivals = fitted.jobs[0].arrivals;
    assert!((arrivals.pause_ns as f64 / 8e8 - 1.0).abs() < 0.15, "{arrivals:?}");
    assert!((arrivals.burst as f64 / 1000.0 - 1.0).abs() < 0.15, "{arrivals:?}");
    let distance = distance(&statistics, &fitted, u64::MAX, 9).unwrap();
    let tenth = distance.dispersions.iter().find(|pair| pair.window_ns == 100_000_000).unwrap();
    assert!((tenth.trace / tenth.fitted).ln().abs() < 0.5, "{distance:?}");
}

#[test]
fn what_cannot_be_said_is_told() {
    let mut records: Vec<TraceRecord> = (0..1000)
        .map(|at| TraceRecord::new(at * 1_000_000, Verb::Read, 0, at * 7919 * 4096 % (1 << 30), 4096))
        .collect();
    records.push(TraceRecord::new(1_000_000_000, Verb::Rename, 0, 0, 0));
    records.push(TraceRecord::new(1_000_000_001, Verb::Read, 1, 0, 4096));
    let (_, load) = fit(&mut MemorySource::new(TraceHeader::default(), Tables::default(), records)).unwrap();
    assert_eq!(load.jobs.len(), 1);
    let notes = load.notes.join("\n");
    assert!(notes.contains("rename 1 are left out") && notes.contains("1 accesses (0.1 %)"), "{notes}");
    let empty = vec![TraceRecord::new(0, Verb::Stat, 0, 0, 0)];
    let wrong = fit(&mut MemorySource::new(TraceHeader::default(), Tables::default(), empty)).unwrap_err();
    assert!(wrong.message.contains("no reads, writes or trims"));
}

#[test]
fn the_texts_have_every_part() {
    let mut load = known();
    load.jobs[0].name = "evil\n[global]".into();
    let plan = plan_file(&load, "a.iot");
    for part in [
        "[target.file0]",
        "size = 1073741824",
        "mix = { read = 70, write = 30 }",
        "\"65536\" = 20",
        "{ accesses = 60, extent = \"10%\" }",
        "every = { fdatasync = 4 }",
        "rate = \"2000/s\"",
        "until = { time = \"20000ms\" }",
        "# evil?[global]",
    ] {
        assert!(plan.contains(part), "{part} is not in\n{plan}");
    }
    let job = job_file(&load, "a.iot");
    for part in [
        "rw=randrw",
        "rwmixread=70",
        "bssplit=4096/80:65536/20,8192/100",
        "random_distribution=zoned:60/10:10/40:30/50",
        "rate_iops=1400,600",
        "rate_process=poisson",
        "rw=write",
        "fdatasync=4",
        "rate_process=linear",
        "; evil?[global]",
    ] {
        assert!(job.contains(part), "{part} is not in\n{job}");
    }
}
