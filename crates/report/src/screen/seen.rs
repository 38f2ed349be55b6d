//! What the witnesses see while it runs: a line for the machine, and one for each device.

use iodyno_model::{DeviceActivity, Sample, units};

use super::canvas::{Area, Canvas, Ink};
use super::columns::{self, Column};
use crate::number::{self, RateUnit};

/// Devices that are shown at most.
const DEVICES_MOST: usize = 4;

/// The columns of the devices, the most important first.
const COLUMNS: [Column; 9] = [
    ("device", 10),
    ("read", 10),
    ("write", 10),
    ("busy", 6),
    ("reads/s", 9),
    ("writes/s", 9),
    ("r_await", 7),
    ("w_await", 7),
    ("in flight", 9),
];

/// Rows that a sample takes: the machine, headings and devices.
pub fn rows(sample: &Sample) -> usize {
    let devices = devices(sample).count();
    let headed = if devices > 0 { devices + 1 } else { 0 };
    headed + usize::from(!machine(sample).is_empty())
}

/// Those that did something, the busiest first, as many as are shown.
fn devices(sample: &Sample) -> impl Iterator<Item = &DeviceActivity> {
    let mut all: Vec<&DeviceActivity> = sample.devices.iter().filter(|did| did.interval_ns > 0).collect();
    all.sort_by_key(|did| std::cmp::Reverse(did.busy_ns));
    all.into_iter().take(DEVICES_MOST)
}

/// The processors, the memory and what work waited for.
fn machine(sample: &Sample) -> String {
    let mut words = Vec::new();
    if let Some(cpu) = &sample.cpu {
        let shares = [
            ("user", cpu.user_percent + cpu.nice_percent),
            ("system", cpu.system_percent),
            ("iowait", cpu.iowait_percent),
            ("steal", cpu.steal_percent),
            ("idle", cpu.idle_percent),
        ];
        let shares: Vec<String> = shares.iter().map(|(name, share)| format!("{name} {share:.0} %")).collect();
        words.push(format!("cpu {}", shares.join(", ")));
    }
    if let Some(memory) = &sample.memory {
        let unwritten = memory.dirty_bytes + memory.writeback_bytes;
        words.push(format!(
            "cache {}, unwritten {}",
            units::binary(memory.cached_bytes),
            units::binary(unwritten)
        ));
    }
    if let Some(pressure) = sample.pressure.filter(|pressure| pressure.interval_ns > 0) {
        let share = |ns: u64| ns as f64 / pressure.interval_ns as f64 * 100.0;
        let (cpu, io) = (share(pressure.cpu_some_ns), share(pressure.io_some_ns));
        let memory = share(pressure.memory_some_ns);
        words.push(format!("waited for cpu {cpu:.0} %, memory {memory:.0} %, I/O {io:.0} %"));
    }
    words.join(" · ")
}

fn device(did: &DeviceActivity, unit: RateUnit) -> [String; 9] {
    let per_second = |count: u64| count as f64 * 1e9 / did.interval_ns as f64;
    let mean = |ns: u64, count: u64| match count {
        0 => String::new(),
        count => number::latency(ns as f64 / count as f64),
    };
    let share = |ns: u64| ns as f64 / did.interval_ns as f64;
    [
        did.device.clone(),
        unit.figure(per_second(did.read_bytes)),
        unit.figure(per_second(did.write_bytes)),
        format!("{:.0} %", share(did.busy_ns) * 100.0),
        number::iops(per_second(did.reads)),
        number::iops(per_second(did.writes)),
        mean(did.read_ns, did.reads),
        mean(did.write_ns, did.writes),
        format!("{:.1}", share(did.weighted_ns)),
    ]
}

/// Draws the newest sample.
pub fn draw(sample: &Sample, unit: RateUnit, area: Area, canvas: &mut Canvas) {
    let machine = machine(sample);
    let (top, below) = area.split(usize::from(!machine.is_empty()));
    canvas.text(top, 0, 0, Ink::Plain, &machine);
    if devices(sample).count() == 0 {
        return;
    }
    let (count, _) = columns::fitting(&COLUMNS, area.columns);
    let shown = &COLUMNS[..count];
    let headings = COLUMNS.map(|(name, _)| match name {
        "read" | "write" => format!("{name} {}", unit.name()),
        name => name.to_string(),
    });
    columns::row(canvas, below, 0, Ink::Dim, shown, &headings);
    for (index, did) in devices(sample).enumerate() {
        columns::row(canvas, below, index + 1, Ink::Plain, shown, &device(did, unit));
    }
}
