//! What a device did in an interval, as the rates, shares and means that iostat prints. Source: the kernel's
//! documentation of `iostats`, and iostat(1) for what each column is.

use iodyno_model::DeviceActivity;

/// One device over one interval, or several devices together.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// The name that is printed.
    pub name: String,
    pub did: DeviceActivity,
    /// The interval, s.
    seconds: f64,
    /// Devices that are summed up in it.
    members: u32,
}

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

    /// A count each second.
    pub fn rate(&self, count: u64) -> f64 {
        ratio(count as f64, self.seconds)
    }

    /// Reads, writes and discards.
    pub fn requests(&self) -> u64 {
        self.did.reads + self.did.writes + self.did.discards
    }

    /// Reads and writes: requests before discards were counted.
    pub fn transfers(&self) -> u64 {
        self.did.reads + self.did.writes
    }

    /// Requests in flight, the mean over time.
    pub fn in_flight(&self) -> f64 {
        ratio(self.did.weighted_ns as f64 / 1e9, self.seconds)
    }

    /// Time with a request in flight, percent; of several devices the mean.
    pub fn busy(&self) -> f64 {
        ratio(self.did.busy_ns as f64 / 1e7, self.seconds * f64::from(self.members))
    }
}

/// Whether a device counted nothing.
pub fn is_unused(did: &DeviceActivity) -> bool {
    did.reads + did.writes + did.discards + did.flushes == 0
}

/// A quotient; 0 where there is nothing to divide by.
pub fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}

/// The mean time of one of so many, ms.
pub fn mean_ms(ns: u64, count: u64) -> f64 {
    ratio(ns as f64 / 1e6, count as f64)
}

/// The mean size of one of so many.
pub fn mean(amount: u64, count: u64) -> f64 {
    ratio(amount as f64, count as f64)
}

/// The share of requests that were merged into others, percent.
pub fn merged_percent(merged: u64, done: u64) -> f64 {
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
    use crate::iostat::columns::table;

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
        let figures = |interval: &Interval, names: &str| {
            let figures = table(names).into_iter().map(|column| (column.value)(interval));
            figures.map(|figure| format!("{figure:.2}")).collect::<Vec<_>>().join(" ")
        };
        let shares_times = "%rrqm r_await %wrqm w_await %drqm d_await f_await await";
        assert_eq!(figures(&interval, shares_times), "66.67 4.00 54.55 1.60 52.00 1.25 1.06 1.50");
        assert_eq!(
            figures(&interval, "rareq-sz wareq-sz dareq-sz areq-sz"),
            "1536.00 716.80 597.33 682.67",
            "bytes"
        );
        assert_eq!(figures(&interval, "r/s tps %util"), "0.50 9.00 0.50");
        let two = Interval::together("two", [&interval, &interval].into_iter());
        assert_eq!(figures(&two, "r/s r_await %util"), "1.00 4.00 0.50");
        assert_eq!(Interval::of("idle", &DeviceActivity::default(), 0).busy(), 0.0);
    }
}
