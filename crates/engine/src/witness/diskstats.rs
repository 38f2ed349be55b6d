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
