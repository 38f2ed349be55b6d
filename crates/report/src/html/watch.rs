//! What the witnesses saw over time, in columns on the axis of the jobs they watched.

use std::collections::BTreeMap;

use iodyno_model::sighting::{ConnectionActivity, DeviceActivity, InterfaceActivity, Sample};
use serde::Serialize;

use super::short::Short;
use super::time::Column;

/// One chart of what witnesses saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Watch {
    /// What it shows.
    pub title: String,
    /// The unit of its values: `%`, `bytes`, `bytes/s`, `1/s` or `ns`.
    pub unit: &'static str,
    /// Seconds after the start line at which each value's interval ended.
    pub at: Vec<Short>,
    pub lines: Vec<Column>,
}

/// Of the bytes that the jobs moved, so many percent make a device or an interface part of the run.
const SHARE_PERCENT: u64 = 1;

/// Charts of a phase's samples. Devices and interfaces that carried less than a share of `moved` bytes, which is what the
/// phase's jobs moved, are left out: others used them.
pub fn charts(samples: &[Sample], moved: u64) -> Vec<Watch> {
    // What is summed up since the machine was started is no interval.
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.interval_ns > 0).collect();
    if samples.len() < 2 {
        return Vec::new();
    }
    let least = moved / 100 * SHARE_PERCENT;
    let mut charts = connections(&samples);
    charts.extend(devices(&samples, least));
    charts.extend([processors(&samples), pressure(&samples)]);
    charts.extend(memory(&samples));
    charts.extend(interfaces(&samples, least));
    charts.retain(|chart| !chart.lines.is_empty());
    charts
}

fn chart(
    title: &str,
    unit: &'static str,
    samples: &[&Sample],
    lines: impl IntoIterator<Item = Option<Column>>,
) -> Watch {
    let at = samples.iter().map(|sample| Short(sample.at_ns as f64 / 1e9)).collect();
    Watch { title: title.into(), unit, at, lines: lines.into_iter().flatten().collect() }
}

fn line<'a>(name: &str, samples: &'a [&Sample], of: impl Fn(&'a Sample) -> Option<f64>) -> Option<Column> {
    Column::unless_empty(name, samples.iter().map(|sample| Short::of(of(sample))))
}

fn per_second(count: u64, interval_ns: u64) -> Option<f64> {
    (interval_ns > 0).then(|| count as f64 * 1e9 / interval_ns as f64)
}

fn share(part_ns: u64, interval_ns: u64) -> Option<f64> {
    (interval_ns > 0).then(|| part_ns as f64 / interval_ns as f64 * 100.0)
}

/// A value of the same device in each sample.
fn device<'a>(sample: &'a Sample, name: &str) -> Option<&'a DeviceActivity> {
    sample.devices.iter().find(|device| device.device == name)
}

/// Connections that have a line of their own at most.
const CONNECTIONS_MOST: usize = 8;

/// How the TCP connections of the workers fared. Of more than a chart can show, the first have lines.
fn connections(samples: &[&Sample]) -> Vec<Watch> {
    let mut all: Vec<(usize, u32)> = samples
        .iter()
        .flat_map(|sample| &sample.connections)
        .map(|connection| (connection.job, connection.worker))
        .collect();
    all.sort_unstable();
    all.dedup();
    let (count, several) = (all.len(), all.len() > 1);
    all.truncate(CONNECTIONS_MOST);
    let name = |(job, worker): (usize, u32), only: &str| match several {
        true => format!("job {job}, worker {worker}"),
        false => only.to_string(),
    };
    let each = |only: &str, value: fn(&ConnectionActivity) -> u64| {
        let column = |of: &(usize, u32)| {
            let values = samples.iter().map(|sample| {
                let found = sample.connections.iter().find(|one| (one.job, one.worker) == *of);
                Short::of(found.map(value).filter(|value| *value > 0).map(|value| value as f64))
            });
            Column::unless_empty(&name(*of, only), values)
        };
        all.iter().map(column).collect::<Vec<_>>()
    };
    // What was sent again is summed up since the phase began, by all connections.
    let again = |sample: &Sample| sample.connections.iter().map(|one| one.retransmits).sum::<u64>();
    let before = std::iter::once(0).chain(samples.iter().map(|sample| again(sample)));
    let retransmits = samples.iter().zip(before).map(|(sample, before)| {
        Short::of(per_second(again(sample).saturating_sub(before), sample.interval_ns))
    });
    let retransmits = Column { name: "sent again".into(), values: retransmits.collect() };
    let some = (count > 0).then_some(Some(retransmits));
    let more = if count > CONNECTIONS_MOST {
        format!(" (the first {CONNECTIONS_MOST} of {count})")
    } else {
        String::new()
    };
    vec![
        chart("Segments sent again", "1/s", samples, some),
        chart(&format!("Congestion window{more}"), "bytes", samples, each("window", |one| one.cwnd_bytes)),
        chart(
            &format!("Round-trip time{more}"),
            "ns",
            samples,
            each("smoothed", |one| u64::from(one.rtt_us) * 1000),
        ),
    ]
}

fn devices(samples: &[&Sample], least: u64) -> Vec<Watch> {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        let bytes = device.read_bytes + device.write_bytes + device.discard_bytes;
        // Flushes move no bytes.
        let operations = device.reads + device.writes + device.discards;
        *names.entry(&device.device).or_default() += bytes.max(operations);
    }
    names.retain(|_, bytes| *bytes > least);
    let each = names.keys().flat_map(|name| {
        let of = |value: fn(&DeviceActivity) -> Option<f64>| {
            move |sample: &Sample| device(sample, name).and_then(value)
        };
        let moved = [
            line("read", samples, of(|device| per_second(device.read_bytes, device.interval_ns))),
            line("write", samples, of(|device| per_second(device.write_bytes, device.interval_ns))),
            line("discard", samples, of(|device| per_second(device.discard_bytes, device.interval_ns))),
        ];
        let busy = [line("busy", samples, of(|device| share(device.busy_ns, device.interval_ns)))];
        [
            chart(&format!("{name}: moved by the device"), "bytes/s", samples, moved),
            chart(&format!("{name}: time with requests in flight"), "%", samples, busy),
        ]
    });
    each.collect()
}

fn processors(samples: &[&Sample]) -> Watch {
    let of = |value: fn(&iodyno_model::sighting::CpuShares) -> f64| {
        move |sample: &Sample| sample.cpu.as_ref().map(value)
    };
    let lines = [
        line("user", samples, of(|cpu| cpu.user_percent + cpu.nice_percent)),
        line("system", samples, of(|cpu| cpu.system_percent)),
        line("waiting for I/O", samples, of(|cpu| cpu.iowait_percent)),
        line("stolen", samples, of(|cpu| cpu.steal_percent)),
    ];
    chart("Processors of the machine", "%", samples, lines)
}

fn pressure(samples: &[&Sample]) -> Watch {
    let of = |value: fn(&iodyno_model::sighting::Pressure) -> u64| {
        move |sample: &Sample| {
            let pressure = sample.pressure.as_ref()?;
            share(value(pressure), pressure.interval_ns)
        }
    };
    let lines = [
        line("I/O", samples, of(|pressure| pressure.io_some_ns)),
        line("processor", samples, of(|pressure| pressure.cpu_some_ns)),
        line("memory", samples, of(|pressure| pressure.memory_some_ns)),
    ];
    chart("Time in which somebody waited", "%", samples, lines)
}

fn memory(samples: &[&Sample]) -> [Watch; 2] {
    let of = |value: fn(&iodyno_model::sighting::MemoryLevels) -> u64| {
        move |sample: &Sample| sample.memory.as_ref().map(|memory| value(memory) as f64)
    };
    let unwritten = [
        line("dirty", samples, of(|memory| memory.dirty_bytes)),
        line("being written", samples, of(|memory| memory.writeback_bytes)),
    ];
    let cached = [line("page cache", samples, of(|memory| memory.cached_bytes))];
    [
        chart("Memory that waits to be written", "bytes", samples, unwritten),
        chart("Page cache", "bytes", samples, cached),
    ]
}

fn interfaces(samples: &[&Sample], least: u64) -> Vec<Watch> {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for link in samples.iter().flat_map(|sample| &sample.interfaces) {
        *names.entry(&link.name).or_default() += link.received_bytes + link.sent_bytes;
    }
    names.retain(|_, bytes| *bytes > least);
    let each = names.keys().map(|name| {
        let of = |value: fn(&InterfaceActivity) -> Option<f64>| {
            move |sample: &Sample| {
                sample.interfaces.iter().find(|interface| interface.name == *name).and_then(value)
            }
        };
        let lines = [
            line("received", samples, of(|link| per_second(link.received_bytes, link.interval_ns))),
            line("sent", samples, of(|link| per_second(link.sent_bytes, link.interval_ns))),
        ];
        chart(&format!("{name}: moved by the interface"), "bytes/s", samples, lines)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::sighting::Pressure;

    fn sample(second: u64) -> Sample {
        let device = |name: &str, reads| DeviceActivity {
            device: name.into(),
            reads,
            read_bytes: reads * 4096,
            busy_ns: 250_000_000,
            interval_ns: 1_000_000_000,
            ..DeviceActivity::default()
        };
        let pressure =
            Pressure { io_some_ns: 500_000_000, interval_ns: 1_000_000_000, ..Pressure::default() };
        Sample {
            at_ns: second * 1_000_000_000,
            interval_ns: 1_000_000_000,
            devices: vec![device("vda", 1000), device("idle", 0)],
            pressure: Some(pressure),
            ..Sample::default()
        }
    }

    #[test]
    fn what_was_idle_or_not_looked_at_has_no_chart() {
        let charts = charts(&[sample(1), sample(2)], 0);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        let expected = [
            "vda: moved by the device",
            "vda: time with requests in flight",
            "Time in which somebody waited",
        ];
        assert_eq!(titles, expected);
        assert_eq!(charts[0].lines[0].values[0].0, 4_096_000.0);
        assert_eq!((charts[1].lines[0].values[1].0, charts[2].lines[0].values[0].0), (25.0, 50.0));
    }

    #[test]
    fn connections_are_shown_over_time() {
        let sample = |second: u64, retransmits, workers| {
            let connection = |worker| ConnectionActivity {
                worker,
                retransmits,
                cwnd_bytes: 14_480 * second,
                rtt_us: 250,
                ..ConnectionActivity::default()
            };
            Sample {
                at_ns: second * 1_000_000_000,
                interval_ns: 1_000_000_000,
                connections: (0..workers).map(connection).collect(),
                ..Sample::default()
            }
        };
        let charts = charts(&[sample(1, 3, 2), sample(2, 3, 2), sample(3, 8, 2)], 0);
        let lines = |index: usize| -> Vec<(&str, Vec<f64>)> {
            let line = |line: &Column| line.values.iter().map(|value| value.0).collect();
            charts[index].lines.iter().map(|one| (one.name.as_str(), line(one))).collect()
        };
        assert_eq!(lines(0), [("sent again", vec![6.0, 0.0, 10.0])], "of both workers");
        let windows = vec![14_480.0, 28_960.0, 43_440.0];
        assert_eq!(lines(1), [("job 0, worker 0", windows.clone()), ("job 0, worker 1", windows)]);
        assert_eq!((lines(2)[0].1[0], charts[2].unit), (250_000.0, "ns"));
        let many = super::charts(&[sample(1, 0, 20), sample(2, 0, 20)], 0);
        assert_eq!(
            (many[1].title.as_str(), many[1].lines.len()),
            ("Congestion window (the first 8 of 20)", 8)
        );
    }

    #[test]
    fn what_carried_nothing_of_the_run_has_no_chart() {
        let titles = |moved| -> Vec<String> {
            charts(&[sample(1), sample(2)], moved).into_iter().map(|chart| chart.title).collect()
        };
        assert_eq!(titles(100_000_000).len(), 3);
        assert_eq!(titles(100_000_000_000), ["Time in which somebody waited"]);
    }

    #[test]
    fn the_time_since_the_machine_was_started_is_no_point() {
        let boot = Sample { interval_ns: 0, ..sample(0) };
        assert!(charts(&[boot, sample(1)], 0).is_empty());
    }
}
