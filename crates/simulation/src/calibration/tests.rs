//! Known devices are found again: what is fitted to their cells predicts the cells that were held out.

use iodyno_model::device::{DevicePart, PartKind, Station};
use iodyno_model::reflect::Reflect;

use super::*;

/// Blocks, depths, percentages of reads, and whether places are random.
const LOADS: [(u64, u32, f64, bool); 19] = [
    (4096, 1, 100.0, true),
    (4096, 2, 100.0, true),
    (4096, 4, 100.0, true),
    (4096, 8, 100.0, true),
    (4096, 32, 100.0, true),
    (4096, 64, 100.0, true),
    (65536, 4, 100.0, true),
    (1 << 20, 1, 100.0, false),
    (1 << 20, 2, 100.0, false),
    (1 << 20, 8, 100.0, false),
    (4096, 1, 0.0, true),
    (4096, 4, 0.0, true),
    (4096, 16, 0.0, true),
    (4096, 64, 0.0, true),
    (1 << 20, 1, 0.0, false),
    (1 << 20, 2, 0.0, false),
    (1 << 20, 8, 0.0, false),
    (4096, 8, 70.0, true),
    (4096, 32, 70.0, true),
];

/// As a run would have measured it, with another seed than any fit has.
fn measured(
    device: &Device,
    (bytes, depth, reads_percent, is_random): (u64, u32, f64, bool),
) -> MeasuredCell {
    let load = CellLoad { bytes, depth, reads_percent, is_random };
    let (rate, [reads, writes]) = closed_loop::latencies(device, &load, 8000, 77).unwrap();
    let histogram = |latencies: Vec<u64>| {
        let mut histogram = Histogram::default();
        latencies.into_iter().for_each(|ns| histogram.add(ns));
        histogram
    };
    MeasuredCell { load, rate, reads: histogram(reads), writes: histogram(writes) }
}

fn device(link: Station, servers: Station) -> Device {
    let part = |name: &str, station| DevicePart {
        name: name.into(),
        kind: PartKind::Station(station),
        ..DevicePart::default()
    };
    let link = Station { over: Some("b".into()), variation: 0.0, ..link };
    Device { parts: vec![part("a", link), part("b", servers)], ..Device::default() }
}

fn known() -> Vec<(&'static str, Device)> {
    let station =
        |service_ns, variation, servers| Station { service_ns, variation, servers, ..Station::blank() };
    let link = |service_ns, rate| Station { service_ns, rate, ..Station::blank() };
    let mut bimodal = vec![400_000; 90];
    bimodal.resize(101, 1_600_000);
    vec![
        ("exponential", device(link(20_000, 500_000_000), station(150_000, 1.0, 4))),
        (
            "bimodal",
            device(
                link(1_000, 0),
                Station { percentiles_ns: bimodal, rate: 200_000_000, ..station(1, 0.0, 4) },
            ),
        ),
        (
            "split",
            device(
                Station { split_bytes: 128 << 10, ..link(1_000, 0) },
                Station { rate: 200_000_000, write_ns: 3_000_000, ..station(1_000_000, 0.0, 4) },
            ),
        ),
        (
            "writes of their own",
            device(
                Station { write_ns: 8_000, write_rate: 300_000_000, ..link(3_000, 2_000_000_000) },
                Station { write_ns: 30_000, write_servers: 2, ..station(90_000, 0.25, 16) },
            ),
        ),
    ]
}

fn off(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0).abs()
}

#[test]
fn a_known_device_predicts_the_rates_and_percentiles_of_cells_that_are_held_out() {
    let mut wrong = Vec::new();
    for (name, known) in known() {
        let cells: Vec<MeasuredCell> = LOADS.into_iter().map(|load| measured(&known, load)).collect();
        let found = calibrated(&cells, 9).unwrap();
        let held_out = found.cells.iter().filter(|cell| cell.is_held_out).count();
        assert_eq!(held_out, 11, "{name}");
        for (cell, checked) in cells.iter().zip(&found.cells) {
            let said = checked.predicted;
            let mut check = |what: &str, said: f64, measured: f64| {
                if (said / measured - 1.0).abs() >= 0.1 {
                    wrong.push(format!(
                        "{name}: {what} {said:.0} of {measured:.0} at {:?}, {checked:?}",
                        cell.load
                    ));
                }
            };
            check("rate", said.rate, cell.rate);
            for (said, is_write) in [(said.read_ns, false), (said.write_ns, true)] {
                for (said, measured) in said.into_iter().flatten().zip(cell.percentiles(is_write)) {
                    measured.into_iter().for_each(|measured| check("percentile", said, measured));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_random_places_cost_is_told_where_the_run_asked_for_both() {
    let station = Station { service_ns: 50_000, variation: 0.0, random_ns: 200_000, ..Station::blank() };
    let known = device(Station { service_ns: 1_000, ..Station::blank() }, station);
    let loads = [(4096, 1, false), (4096, 1, true), (4096, 4, false), (4096, 4, true), (1 << 20, 1, false)];
    let cells: Vec<MeasuredCell> =
        loads.map(|(bytes, depth, is_random)| measured(&known, (bytes, depth, 100.0, is_random))).into();
    let found = calibrated(&cells, 3).unwrap();
    for (cell, checked) in cells.iter().zip(&found.cells) {
        assert!(off(checked.predicted.rate, cell.rate) < 0.02, "{:?} {:?}", cell.load, checked.predicted);
    }
}

#[test]
fn nothing_is_fitted_to_one_block_size() {
    let known = &known()[0].1;
    assert_eq!(calibrated(&[measured(known, LOADS[0]), measured(known, LOADS[3])], 1), None);
}
