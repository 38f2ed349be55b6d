//! Latencies as an HdrHistogram interval log (version 1.3), which its own viewers read: an interval for each row of a
//! job's series, and each label's whole distribution of each phase.
//!
//! Values are ns, the largest of an interval ms. A row's distribution is as coarse as the record keeps it; the whole
//! ones are as fine as they were counted.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram as Counts;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use iodyno_model::{Event, Histogram, JobRecord, PhaseRecord, Record, histogram};
use iodyno_truth::quantity::row_end_ns;

use crate::shape::Context;
use crate::{Output, Reporter};

/// Significant digits of a value.
const DIGITS: u8 = 3;
const NS_OF_MS: f64 = 1e6;

/// Writes the log.
#[derive(Default)]
pub struct HdrLog {
    context: Context,
}

impl HdrLog {
    /// A reporter of such logs.
    pub fn new() -> Self {
        HdrLog::default()
    }

    fn record(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let began_ns = self.context.started.as_ref().map_or(0, |started| started.at_unix_ns);
        let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(began_ns);
        let mut serializer = V2DeflateSerializer::new();
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment(&format!("iodyno {}: latencies in ns", record.machine.version));
        if let Some(device) = self.context.simulated() {
            builder.add_comment(&format!("simulated on {device}"));
        }
        builder.with_start_time(began).with_base_time(began).with_max_value_divisor(NS_OF_MS);
        let mut out = &mut *output.out;
        let mut writer = builder.begin_log_with(&mut out, &mut serializer)?;
        for interval in intervals(record, began_ns) {
            let Interval { tag, start_ns, length_ns, counts } = interval;
            let (start, length) = (Duration::from_nanos(start_ns), Duration::from_nanos(length_ns));
            writer
                .write_histogram(&counts, start, length, Tag::new(&tag))
                .map_err(|error| io::Error::other(error.to_string()))?;
        }
        Ok(())
    }
}

impl Reporter for HdrLog {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Ended(record) => self.record(record, output),
            _ => Ok(()),
        }
    }
}

/// A line of the log.
struct Interval {
    tag: String,
    start_ns: u64,
    length_ns: u64,
    counts: Counts<u64>,
}

/// All intervals in order of their beginning, as the format wants them.
fn intervals(record: &Record, began_ns: u64) -> Vec<Interval> {
    let mut all = Vec::new();
    let mut phase_ns = 0;
    for phase in &record.phases {
        for job in &phase.jobs {
            let known = job.began_unix_ns.checked_sub(began_ns).filter(|_| began_ns > 0);
            let start_ns = known.unwrap_or(phase_ns);
            rows(job, start_ns, &mut all);
            wholes(phase, job, start_ns, &mut all);
        }
        phase_ns += phase.elapsed_ns;
    }
    all.sort_by_key(|interval| interval.start_ns);
    all
}

/// A row of the series each, under the job's name.
fn rows(job: &JobRecord, start_ns: u64, all: &mut Vec<Interval>) {
    let series = &job.tally.series;
    for (index, latencies) in series.latencies.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let mut counts = empty();
        for (coarse, count) in latencies {
            let (low, high) = histogram::coarse_edges(usize::from(*coarse));
            counts.saturating_record_n(low + (high - low) / 2, u64::from(*count));
        }
        let from_ns = series.interval_ns.saturating_mul(index as u64);
        let (start_ns, length_ns) =
            (start_ns.saturating_add(from_ns), row_end_ns(job, index).saturating_sub(from_ns));
        all.push(Interval { tag: tag(&job.name), start_ns, length_ns, counts });
    }
}

/// Each label's whole distribution.
fn wholes(phase: &PhaseRecord, job: &JobRecord, start_ns: u64, all: &mut Vec<Interval>) {
    for line in job.tally.lines.iter().filter(|line| !line.latency.is_empty()) {
        let tag = tag(&format!("{}/{}/{}", phase.name, job.name, line.label));
        let length_ns = phase.elapsed_ns;
        all.push(Interval { tag, start_ns, length_ns, counts: counts(&line.latency) });
    }
}

fn counts(latency: &Histogram) -> Counts<u64> {
    let mut counts = empty();
    for (bucket, count) in latency.buckets() {
        // The ends are known exactly, and a middle beyond them was never seen.
        let value = histogram::middle(*bucket as usize).clamp(latency.min, latency.max.max(latency.min));
        counts.saturating_record_n(value, *count);
    }
    counts
}

/// Counts from 1 ns to an hour and a half, which grow.
fn empty() -> Counts<u64> {
    let mut counts = Counts::new_with_bounds(1, 1 << 42, DIGITS).expect("the bounds are in order");
    counts.auto(true);
    counts
}

/// A name that separates nothing.
fn tag(name: &str) -> String {
    name.chars().map(|letter| if matches!(letter, ',' | ' ' | '\r' | '\n') { '_' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use iodyno_model::{Line, Verb};

    fn record() -> Record {
        let mut line = Line::empty("read", Verb::Read);
        (1..=1000).for_each(|count| line.latency.add(count * 1000));
        let mut job = JobRecord { name: "my job".into(), ..JobRecord::default() };
        job.tally.lines.push(line);
        job.tally.series.interval_ns = 1_000_000_000;
        let coarse = histogram::coarse_of(histogram::bucket_of(500_000)) as u16;
        job.tally.series.latencies = vec![vec![(coarse, 7)], vec![], vec![(coarse, 3)]];
        let phase = PhaseRecord {
            name: "p".into(),
            elapsed_ns: 3_000_000_000,
            jobs: vec![job],
            ..Default::default()
        };
        Record { phases: vec![phase], ..Record::default() }
    }

    /// Base 64 (RFC 4648) back into bytes.
    fn decoded(text: &str) -> Vec<u8> {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let value = |letter: u8| LETTERS.iter().position(|known| *known == letter).unwrap() as u32;
        let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
        for letter in text.bytes().filter(|letter| *letter != b'=') {
            (bits, held) = (bits << 6 | value(letter), held + 6);
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held) as u8);
            }
        }
        bytes
    }

    #[test]
    fn an_independent_reader_finds_the_same_counts() {
        let mut out = Vec::new();
        let mut output = Output { out: &mut out, err: &mut io::sink(), files: &mut crate::NoFiles };
        HdrLog::new().event(&Event::Ended(Box::new(record())), &mut output).unwrap();
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(&out) {
            let LogEntry::Interval(interval) = entry.unwrap() else { continue };
            let bytes = decoded(interval.encoded_histogram());
            let counts: Counts<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let tag = interval.tag().map_or("", |tag| tag.as_str()).to_string();
            found.push((
                tag,
                interval.start_timestamp().as_secs(),
                counts.len(),
                counts.value_at_quantile(0.5),
            ));
        }
        let tags: Vec<_> =
            found.iter().map(|(tag, start, count, _)| (tag.as_str(), *start, *count)).collect();
        assert_eq!(tags, [("my_job", 0, 7), ("p/my_job/read", 0, 1000), ("my_job", 2, 3)]);
        assert!((490_000..510_000).contains(&found[1].3), "{found:?}");
    }
}
