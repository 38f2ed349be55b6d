//! What a device did in an interval, as the rates, shares and means that iostat prints. Source: the kernel's
//! documentation of `iostats`, and iostat(1) for what each column is.

use iodyno_model::DeviceActivity;

/// One device over one interval, or several devices together.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// The name that is printed.
    pub name: String,
    /// What it did.
    pub did: DeviceActivity,
    /// The interval, s.
    seconds: f64,
    /// Devices that are summed up in it.
    members: u32,
}

const SECTOR_BYTES: f64 = 512.0;

impl Interval {
    /// Of a device; where the activity does not say over how long, it was `interval_ns`.
    pub fn of(name: &str, did: &DeviceActivity, interval_ns: u64) -> Self {
        let ns = if did.interval_ns > 0 { did.interval_ns } else { interval_ns };
        Interval { name: name.into(), did: did.clone(), seconds: ns as f64 / 1e9, members: 1 }
    }

    /// Of several devices together.
    pub fn together<'a>(name: &str, members: impl Iterator<Item = &'a Interval>) -> Self {
        let mut all = Interval { name: name.into(), ..Interval::default() };
        for member in members {
            all.members += 1;
            all.seconds = all.seconds.max(member.seconds);
            add(&mut all.did, &member.did);
        }
        all
    }

    /// Whether it did nothing at all.
    pub fn is_idle(&self) -> bool {
        is_unused(&self.did)
    }

    fn per_second(&self, count: u64) -> f64 {
        ratio(count as f64, self.seconds)
    }

    /// Reads completed each second.
    pub fn reads(&self) -> f64 {
        self.per_second(self.did.reads)
    }
    /// Writes completed each second.
    pub fn writes(&self) -> f64 {
        self.per_second(self.did.writes)
    }
    /// Discards completed each second.
    pub fn discards(&self) -> f64 {
        self.per_second(self.did.discards)
    }
    /// Flushes completed each second.
    pub fn flushes(&self) -> f64 {
        self.per_second(self.did.flushes)
    }
    /// Reads, writes and discards each second.
    pub fn transfers(&self) -> f64 {
        self.per_second(self.requests())
    }

    fn requests(&self) -> u64 {
        self.did.reads + self.did.writes + self.did.discards
    }

    fn bytes(&self) -> u64 {
        self.did.read_bytes + self.did.write_bytes + self.did.discard_bytes
    }

    /// Bytes read each second.
    pub fn read_bytes(&self) -> f64 {
        self.per_second(self.did.read_bytes)
    }
    /// Bytes written each second.
    pub fn write_bytes(&self) -> f64 {
        self.per_second(self.did.write_bytes)
    }
    /// Bytes discarded each second.
    pub fn discard_bytes(&self) -> f64 {
        self.per_second(self.did.discard_bytes)
    }
    /// Bytes written and discarded each second.
    pub fn write_and_discard_bytes(&self) -> f64 {
        self.write_bytes() + self.discard_bytes()
    }
    /// Bytes moved each second, discards included.
    pub fn all_bytes(&self) -> f64 {
        self.per_second(self.bytes())
    }
    /// Bytes read.
    pub fn read_total(&self) -> f64 {
        self.did.read_bytes as f64
    }
    /// Bytes written.
    pub fn write_total(&self) -> f64 {
        self.did.write_bytes as f64
    }
    /// Bytes discarded.
    pub fn discard_total(&self) -> f64 {
        self.did.discard_bytes as f64
    }
    /// Bytes written and discarded.
    pub fn write_and_discard_total(&self) -> f64 {
        self.write_total() + self.discard_total()
    }

    /// Reads merged each second.
    pub fn read_merges(&self) -> f64 {
        self.per_second(self.did.reads_merged)
    }
    /// Writes merged each second.
    pub fn write_merges(&self) -> f64 {
        self.per_second(self.did.writes_merged)
    }
    /// Discards merged each second.
    pub fn discard_merges(&self) -> f64 {
        self.per_second(self.did.discards_merged)
    }
    /// Requests merged each second.
    pub fn merges(&self) -> f64 {
        self.read_merges() + self.write_merges() + self.discard_merges()
    }
    /// Reads that were merged into others, percent.
    pub fn reads_merged(&self) -> f64 {
        merged(self.did.reads_merged, self.did.reads)
    }
    /// Writes that were merged into others, percent.
    pub fn writes_merged(&self) -> f64 {
        merged(self.did.writes_merged, self.did.writes)
    }
    /// Discards that were merged into others, percent.
    pub fn discards_merged(&self) -> f64 {
        merged(self.did.discards_merged, self.did.discards)
    }

    /// Mean time of a read, ms.
    pub fn read_ms(&self) -> f64 {
        ms(self.did.read_ns, self.did.reads)
    }
    /// Mean time of a write, ms.
    pub fn write_ms(&self) -> f64 {
        ms(self.did.write_ns, self.did.writes)
    }
    /// Mean time of a discard, ms.
    pub fn discard_ms(&self) -> f64 {
        ms(self.did.discard_ns, self.did.discards)
    }
    /// Mean time of a flush, ms.
    pub fn flush_ms(&self) -> f64 {
        ms(self.did.flush_ns, self.did.flushes)
    }
    /// Mean time of a request, ms.
    pub fn request_ms(&self) -> f64 {
        ms(self.did.read_ns + self.did.write_ns + self.did.discard_ns, self.requests())
    }
    /// Mean time of a read or write, ms: before discards were counted.
    pub fn transfer_ms(&self) -> f64 {
        ms(self.did.read_ns + self.did.write_ns, self.did.reads + self.did.writes)
    }
    /// Time with a request in flight by reads and writes, ms: what was taken for the time to serve one.
    pub fn service_ms(&self) -> f64 {
        ms(self.did.busy_ns, self.did.reads + self.did.writes)
    }

    /// Mean size of a read, bytes.
    pub fn read_size(&self) -> f64 {
        ratio(self.read_total(), self.did.reads as f64)
    }
    /// Mean size of a write, bytes.
    pub fn write_size(&self) -> f64 {
        ratio(self.write_total(), self.did.writes as f64)
    }
    /// Mean size of a discard, bytes.
    pub fn discard_size(&self) -> f64 {
        ratio(self.discard_total(), self.did.discards as f64)
    }
    /// Mean size of a request, bytes.
    pub fn size(&self) -> f64 {
        ratio(self.bytes() as f64, self.requests() as f64)
    }
    /// Mean size of a read or write, sectors.
    pub fn sectors(&self) -> f64 {
        let bytes = (self.did.read_bytes + self.did.write_bytes) as f64;
        ratio(bytes / SECTOR_BYTES, (self.did.reads + self.did.writes) as f64)
    }

    /// Requests in flight, the mean over time.
    pub fn in_flight(&self) -> f64 {
        ratio(self.did.weighted_ns as f64 / 1e9, self.seconds)
    }
    /// Time with a request in flight, percent; of several devices the mean.
    pub fn busy(&self) -> f64 {
        ratio(self.did.busy_ns as f64 / 1e7, self.seconds * f64::from(self.members))
    }
    /// Reads and writes each second.
    pub fn reads_and_writes(&self) -> f64 {
        self.reads() + self.writes()
    }
}

/// Whether a device counted nothing.
pub fn is_unused(did: &DeviceActivity) -> bool {
    did.reads + did.writes + did.discards + did.flushes == 0
}

fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}

fn ms(ns: u64, count: u64) -> f64 {
    ratio(ns as f64 / 1e6, count as f64)
}

fn merged(merged: u64, done: u64) -> f64 {
    ratio(merged as f64 * 100.0, (merged + done) as f64)
}

fn add(sum: &mut DeviceActivity, more: &DeviceActivity) {
    let DeviceActivity { reads, reads_merged, read_bytes, writes, writes_merged, write_bytes, .. } = more;
    for (sum, more) in [
        (&mut sum.reads, reads),
        (&mut sum.reads_merged, reads_merged),
        (&mut sum.read_bytes, read_bytes),
        (&mut sum.read_ns, &more.read_ns),
        (&mut sum.writes, writes),
        (&mut sum.writes_merged, writes_merged),
        (&mut sum.write_bytes, write_bytes),
        (&mut sum.write_ns, &more.write_ns),
        (&mut sum.discards, &more.discards),
        (&mut sum.discards_merged, &more.discards_merged),
        (&mut sum.discard_bytes, &more.discard_bytes),
        (&mut sum.discard_ns, &more.discard_ns),
        (&mut sum.flushes, &more.flushes),
        (&mut sum.flush_ns, &more.flush_ns),
        (&mut sum.busy_ns, &more.busy_ns),
        (&mut sum.weighted_ns, &more.weighted_ns),
    ] {
        *sum = sum.saturating_add(*more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters and figures of the original, of a device whose counters were written by hand.
    #[test]
    fn figures_are_the_originals() {
        let did = DeviceActivity {
            reads: 1,
            reads_merged: 2,
            read_bytes: 3 * 512,
            read_ns: 4_000_000,
            writes: 5,
            writes_merged: 6,
            write_bytes: 7 * 512,
            write_ns: 8_000_000,
            busy_ns: 10_000_000,
            weighted_ns: 11_000_000,
            discards: 12,
            discards_merged: 13,
            discard_bytes: 14 * 512,
            discard_ns: 15_000_000,
            flushes: 16,
            flush_ns: 17_000_000,
            interval_ns: 2_000_000_000,
            ..DeviceActivity::default()
        };
        let interval = Interval::of("x", &did, 9);
        let shown = [
            interval.reads_merged(),
            interval.read_ms(),
            interval.read_size() / 1024.0,
            interval.writes_merged(),
            interval.write_ms(),
            interval.write_size() / 1024.0,
            interval.discards_merged(),
            interval.discard_ms(),
            interval.discard_size() / 1024.0,
            interval.flush_ms(),
            interval.request_ms(),
            interval.size() / 1024.0,
        ];
        let shown: Vec<String> = shown.iter().map(|figure| format!("{figure:.2}")).collect();
        assert_eq!(shown.join(" "), "66.67 4.00 1.50 54.55 1.60 0.70 52.00 1.25 0.58 1.06 1.50 0.67");
        assert_eq!((interval.reads(), interval.transfers(), interval.busy()), (0.5, 9.0, 0.5));
        let two = Interval::together("two", [&interval, &interval].into_iter());
        assert_eq!((two.reads(), two.read_ms(), two.busy()), (1.0, 4.0, 0.5));
        assert_eq!(Interval::of("idle", &DeviceActivity::default(), 0).busy(), 0.0);
    }
}
