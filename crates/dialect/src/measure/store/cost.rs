//! What a run cost in requests: as the engine counted them, and those before and after it by the plan.
//!
//! Laying out and removing is no part of any phase's record, but of the bill.

use std::collections::BTreeMap;

use iodyno_model::{JobRecord, Kind, PhaseRecord};
use iodyno_report::number;

use super::budget::{CONSISTENCY, ObjectSize, PART_BYTES, REQUESTS};
use super::prices::Prices;
use super::settings::StoreSettings;

/// Counts of requests, by what they are billed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestBill {
    pub put: u64,
    pub copy: u64,
    pub multipart: u64,
    pub list: u64,
    pub get: u64,
    pub head: u64,
    pub delete: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl RequestBill {
    /// Of all of a run.
    pub fn of(settings: &StoreSettings, phases: &[PhaseRecord]) -> RequestBill {
        let mut bill = RequestBill::default();
        for job in phases.iter().flat_map(|phase| &phase.jobs) {
            bill.add_measured(job);
        }
        ObjectSize::ALL.into_iter().filter(|size| uses(phases, size.title())).for_each(|size| {
            bill.add_laid_out(settings, size);
        });
        if phases.iter().any(|phase| REQUESTS.iter().any(|(name, _)| *name == phase.name)) {
            bill.add_looks();
            bill.delete += settings.budget.made;
        }
        if settings.was_looked_into {
            // Prefixes of killed runs, their uploads, and whether the bucket keeps versions.
            bill.list += 2;
            bill.get += 1;
        }
        bill
    }

    fn add_measured(&mut self, job: &JobRecord) {
        for (name, count) in job.workers.iter().flat_map(|worker| &worker.facts) {
            let sum = match name.as_str() {
                "requests.put" => &mut self.put,
                "requests.copy" => &mut self.copy,
                "requests.multipart" => &mut self.multipart,
                "requests.list" => &mut self.list,
                "requests.get" => &mut self.get,
                "requests.head" => &mut self.head,
                "requests.delete" => &mut self.delete,
                _ => continue,
            };
            *sum += count;
        }
        self.read_bytes += job.tally.bytes(Kind::Read);
        self.written_bytes += job.tally.bytes(Kind::Write);
    }

    /// The prefix is seen to be empty, each object is written, and removed at the end.
    fn add_laid_out(&mut self, settings: &StoreSettings, size: ObjectSize) {
        let objects = settings.budget.objects[size as usize];
        self.add_looks();
        self.list += 1;
        match size.bytes() > PART_BYTES {
            true => self.multipart += objects * (2 + size.bytes().div_ceil(PART_BYTES)),
            false => self.put += objects,
        }
        self.delete += objects;
        self.written_bytes += objects * size.bytes();
    }

    /// A look before the prefix is used, whether it is empty, and a look before it is emptied.
    fn add_looks(&mut self) {
        self.list += 3;
    }

    /// What changes or lists.
    pub fn class_a(&self) -> u64 {
        self.put + self.copy + self.multipart + self.list
    }

    /// What reads.
    pub fn class_b(&self) -> u64 {
        self.get + self.head
    }

    /// The counts, in words.
    pub fn words(&self) -> String {
        let part =
            |name: &str, count: u64| (count > 0).then(|| format!("{name} {}", number::thousands(count)));
        let class = |name: &str, count: u64, parts: [Option<String>; 4]| {
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("class {name} {} ({})", number::thousands(count), parts.join(", "))
        };
        let a = [
            part("PUT", self.put),
            part("COPY", self.copy),
            part("of uploads in parts", self.multipart),
            part("LIST", self.list),
        ];
        let b = [part("GET", self.get), part("HEAD", self.head), None, None];
        format!(
            "{} · {} · DELETE {} · {} read, {} written; layout and removal included",
            class("A", self.class_a(), a),
            class("B", self.class_b(), b),
            number::thousands(self.delete),
            gigabytes(self.read_bytes),
            gigabytes(self.written_bytes),
        )
    }

    /// What all of it costs.
    pub fn price(&self, prices: &Prices) -> f64 {
        let thousands = |count: u64| count as f64 / 1000.0;
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        thousands(self.class_a()) * prices.class_a
            + thousands(self.class_b()) * prices.class_b
            + thousands(self.delete) * prices.delete
            + gigabytes(self.read_bytes) * prices.read_gb
            + gigabytes(self.written_bytes) * prices.write_gb
    }

    /// The sum and what it is of, in words.
    pub fn price_words(&self, prices: &Prices) -> String {
        let mut parts = Vec::new();
        let mut add = |what: String, price: f64, of: &str| {
            if price > 0.0 {
                parts.push(format!("{what} at {price} {of}"));
            }
        };
        add(format!("{} of class A", number::thousands(self.class_a())), prices.class_a, "a thousand");
        add(format!("{} of class B", number::thousands(self.class_b())), prices.class_b, "a thousand");
        add(format!("{} DELETE", number::thousands(self.delete)), prices.delete, "a thousand");
        add(format!("{} read", gigabytes(self.read_bytes)), prices.read_gb, "a GB");
        add(format!("{} written", gigabytes(self.written_bytes)), prices.write_gb, "a GB");
        let of = if parts.is_empty() { "nothing has a price".into() } else { parts.join(", ") };
        format!("{:.4} {}: {of}", self.price(prices), prices.currency).replace(" :", ":")
    }
}

/// Whether the engine counted requests by class: one that pretends the store has none.
pub fn has_counts(phases: &[PhaseRecord]) -> bool {
    let workers = phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.workers);
    workers.flat_map(|worker| &worker.facts).any(|(name, _)| name.starts_with("requests."))
}

/// What was asked of a store that bills nothing, by kind, without laying out and removing.
pub fn operations(settings: &StoreSettings, phases: &[PhaseRecord]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut bytes = RequestBill::default();
    for job in phases.iter().flat_map(|phase| &phase.jobs) {
        bytes.add_measured(job);
        for line in &job.tally.lines {
            *counts.entry(line.verb.name()).or_default() += line.operations;
        }
    }
    let tried =
        [("create", bytes.put), ("open", bytes.get), ("unlink", bytes.delete), ("readdir", bytes.list)];
    tried.into_iter().for_each(|(name, count)| *counts.entry(name).or_default() += count);
    let words = counts.iter().filter(|(_, count)| **count > 0);
    let words: Vec<String> =
        words.map(|(name, count)| format!("{name} {}", number::thousands(*count))).collect();
    let laid: u64 = ObjectSize::ALL
        .into_iter()
        .filter(|size| uses(phases, size.title()))
        .map(|size| settings.budget.objects[size as usize])
        .sum();
    format!(
        "{} · {} read, {} written; beside them {} objects were laid out and removed",
        words.join(", "),
        gigabytes(bytes.read_bytes),
        gigabytes(bytes.written_bytes),
        number::thousands(laid),
    )
}

fn gigabytes(bytes: u64) -> String {
    format!("{} GB", number::significant(bytes as f64 / 1e9))
}

/// Whether a phase worked on objects of that length: cells have it in their names.
fn uses(phases: &[PhaseRecord], title: &str) -> bool {
    let of_it = |phase: &PhaseRecord| match (title, phase.name.as_str()) {
        // Ranges are of the large ones, and the sweep of the small.
        (_, CONSISTENCY) => false,
        ("64M", name) if name.starts_with("RANGE ") => true,
        ("1M", name) if name.starts_with("RANGE ") => false,
        (title, name) => name.split(' ').any(|word| word == title),
    };
    phases.iter().any(of_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_its_counts_at_their_prices() {
        let bill = RequestBill {
            put: 2000,
            multipart: 500,
            list: 500,
            get: 9000,
            head: 1000,
            delete: 77,
            read_bytes: 2_000_000_000,
            ..RequestBill::default()
        };
        let prices = Prices {
            currency: "USD".into(),
            class_a: 0.005,
            class_b: 0.0004,
            delete: 0.0,
            read_gb: 0.09,
            write_gb: 0.0,
        };
        assert!((bill.price(&prices) - (0.015 + 0.004 + 0.18)).abs() < 1e-9);
        assert_eq!(
            bill.price_words(&prices),
            "0.1990 USD: 3,000 of class A at 0.005 a thousand, 10,000 of class B at 0.0004 a thousand, 2.00 GB read at \
             0.09 a GB"
        );
        assert_eq!(
            bill.words(),
            "class A 3,000 (PUT 2,000, of uploads in parts 500, LIST 500) · class B 10,000 (GET 9,000, HEAD 1,000) · \
             DELETE 77 · 2.00 GB read, 0 GB written; layout and removal included"
        );
    }
}
