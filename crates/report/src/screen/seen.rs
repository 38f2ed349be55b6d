//! What the witnesses see while it runs: a line for the machine, and one for each device.

use iodyno_model::{DeviceActivity, Sample};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Rect};
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::table::{Row, Table};

use crate::number;

/// Devices that are shown at most.
const DEVICES_MOST: usize = 4;

/// The columns of the devices: heading and width.
const COLUMNS: [(&str, u16); 9] = [
    ("device", 16),
    ("read MiB/s", 12),
    ("write MiB/s", 12),
    ("reads/s", 9),
    ("writes/s", 9),
    ("r_await", 9),
    ("w_await", 9),
    ("in flight", 9),
    ("busy", 6),
];

/// Rows that a sample takes: the machine, headings and devices.
pub fn rows(sample: &Sample) -> u16 {
    let devices = devices(sample).count() as u16;
    let headed = if devices > 0 { devices + 1 } else { 0 };
    headed + u16::from(!machine(sample).is_empty())
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
        let mib = |bytes: u64| number::mib(bytes as f64);
        words.push(format!("cache {} MiB, unwritten {} MiB", mib(memory.cached_bytes), mib(unwritten)));
    }
    if let Some(pressure) = sample.pressure.filter(|pressure| pressure.interval_ns > 0) {
        let share = |ns: u64| ns as f64 / pressure.interval_ns as f64 * 100.0;
        let (cpu, io) = (share(pressure.cpu_some_ns), share(pressure.io_some_ns));
        let memory = share(pressure.memory_some_ns);
        words.push(format!("waited for cpu {cpu:.0} %, memory {memory:.0} %, I/O {io:.0} %"));
    }
    words.join(" · ")
}

fn device(did: &DeviceActivity) -> Row<'static> {
    let per_second = |count: u64| count as f64 * 1e9 / did.interval_ns as f64;
    let mean = |ns: u64, count: u64| match count {
        0 => String::new(),
        count => number::latency(ns as f64 / count as f64),
    };
    let share = |ns: u64| ns as f64 / did.interval_ns as f64;
    Row::new([
        did.device.clone(),
        number::mib(per_second(did.read_bytes)),
        number::mib(per_second(did.write_bytes)),
        number::iops(per_second(did.reads)),
        number::iops(per_second(did.writes)),
        mean(did.read_ns, did.reads),
        mean(did.write_ns, did.writes),
        format!("{:.1}", share(did.weighted_ns)),
        format!("{:.0} %", share(did.busy_ns) * 100.0),
    ])
}

/// Draws the newest sample.
pub fn render(sample: &Sample, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let machine = machine(sample);
    let mut below = area;
    if !machine.is_empty() {
        Line::from(format!(" {machine}")).render(Rect { height: 1, ..area }, buffer);
        below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    }
    let rows: Vec<Row<'_>> = devices(sample).map(device).collect();
    if rows.is_empty() || below.height == 0 {
        return;
    }
    let header = Row::new(COLUMNS.map(|(name, _)| name)).style(Style::new().dim());
    let widths = COLUMNS.map(|(_, width)| Constraint::Length(width));
    Widget::render(Table::new(rows, widths).header(header), below, buffer);
}
