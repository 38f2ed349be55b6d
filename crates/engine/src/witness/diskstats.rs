//! What a block device did. Source: `/sys/class/block/NAME/stat`, kernel documentation `block/stat`; sectors are 512
//! bytes, times milliseconds.

use iodyno_model::DeviceActivity;

/// The counters of one device since boot.
#[derive(Clone, Debug)]
pub struct Counters([u64; 17]);

/// The devices that a device is made of, all the way down; none for a plain one.
pub fn beneath(device: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/sys/class/block/{device}/slaves")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let deeper = beneath(&name);
        found.push(name);
        found.extend(deeper);
    }
    found.sort();
    found.dedup();
    found
}

/// Reads a device's counters by its kernel name.
pub fn read(device: &str) -> Option<Counters> {
    parse(&std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).ok()?)
}

/// The counters of all devices of the machine, in the kernel's order: partitions behind their disks.
pub fn read_all() -> Vec<(String, Counters)> {
    parse_all(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default())
}

/// Lines of `/proc/diskstats`: major and minor number, name, and what the device's own file says.
fn parse_all(text: &str) -> Vec<(String, Counters)> {
    let device = |line: &str| {
        let line = line.trim_start();
        let (_, line) = line.split_once(char::is_whitespace)?;
        let (_, line) = line.trim_start().split_once(char::is_whitespace)?;
        let (name, counters) = line.trim_start().split_once(char::is_whitespace)?;
        Some((name.to_string(), parse(counters)?))
    };
    text.lines().filter_map(device).collect()
}

/// What a device did, with what those beneath it did; `activity` knows of each.
pub fn with_beneath<'a>(
    device: &str,
    beneath: impl Iterator<Item = &'a String>,
    activity: impl Fn(&str) -> Option<DeviceActivity>,
) -> Option<DeviceActivity> {
    let whole = activity(device)?;
    Some(DeviceActivity { beneath: beneath.filter_map(|name| activity(name)).collect(), ..whole })
}

/// The disk that a device is a part of, if it is one.
pub fn partition_of(device: &str) -> Option<String> {
    let real = std::fs::canonicalize(format!("/sys/class/block/{device}")).ok()?;
    if !real.join("partition").exists() {
        return None;
    }
    Some(real.parent()?.file_name()?.to_string_lossy().into_owned())
}

fn parse(text: &str) -> Option<Counters> {
    let mut fields = [0; 17];
    let mut count = 0;
    for (field, word) in fields.iter_mut().zip(text.split_whitespace()) {
        *field = word.parse().ok()?;
        count += 1;
    }
    (count >= 11).then_some(Counters(fields))
}

impl Counters {
    /// Nothing yet: what everything since boot is counted from.
    pub fn zero() -> Counters {
        Counters([0; 17])
    }

    /// What it did since an earlier reading.
    pub fn since(&self, before: &Counters, device: &str, interval_ns: u64) -> DeviceActivity {
        let delta = |field: usize| self.0[field].saturating_sub(before.0[field]);
        DeviceActivity {
            device: device.into(),
            reads: delta(0),
            reads_merged: delta(1),
            read_bytes: delta(2) * 512,
            writes: delta(4),
            writes_merged: delta(5),
            write_bytes: delta(6) * 512,
            discards: delta(11),
            flushes: delta(15),
            busy_ns: delta(9) * 1_000_000,
            weighted_ns: delta(10) * 1_000_000,
            interval_ns,
            read_ns: delta(3) * 1_000_000,
            write_ns: delta(7) * 1_000_000,
            discards_merged: delta(12),
            discard_bytes: delta(13) * 512,
            discard_ns: delta(14) * 1_000_000,
            flush_ns: delta(16) * 1_000_000,
            in_flight: self.0[8],
            beneath: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_devices_are_read_from_one_table() {
        let text = "   7       0 loop0 1 0 8 1 0 0 0 0 0 1 1\n 259       1 nvme0n1p1 5 0 16 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n8 0 x 1\n";
        let all = parse_all(text);
        assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["loop0", "nvme0n1p1"]);
        assert_eq!(all[1].1.since(&Counters::zero(), "x", 1).read_bytes, 16 * 512);
    }

    #[test]
    fn fields_are_where_the_kernel_puts_them() {
        let before = parse("1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0").unwrap();
        let after = parse("11 2 88 5 3 1 24 7 0 101 201 4 0 0 0 6 9").unwrap();
        let did = after.since(&before, "sda", 1);
        assert_eq!((did.reads, did.read_bytes, did.writes, did.write_bytes), (10, 80 * 512, 3, 24 * 512));
        assert_eq!((did.read_ns, did.write_ns), (4_000_000, 7_000_000));
        assert_eq!(
            (did.busy_ns, did.weighted_ns, did.discards, did.flushes),
            (100_000_000, 200_000_000, 4, 6)
        );
    }
}
