//! The statistics of a job and of a group, as they go over the wire: 184,056 bytes for a job, whatever it did.
//!
//! They are made from what the report says, so that a report here and one over there say the same.

use iodyno_model::pace::{Criterion, Steady};
use iodyno_model::{Histogram, SteadyRecord};

use super::pdu::{COUNT_MOST, Packer, Unpacker};
use crate::fio::report::bins::{Bins, FIO_BINS};
use crate::fio::report::direction::{Direction, LatencySpread};
use crate::fio::report::disks::Disk;
use crate::fio::report::samples::Samples;
use crate::fio::report::spectrum::Spectrum;
use crate::fio::report::summary::{GroupDirection, GroupSummary, ReportedJob};
use crate::fio::report::trouble::Failure;
use crate::fio::view::{JobView, ReportFigures, UnifiedReporting};

/// Where the two arrays of a steady job would be: behind everything else.
const JOB_BYTES: usize = 184_056;
/// Blocks of a trim test that are told apart; nothing here does.
const BLOCK_INFO_BYTES: usize = 8 + 8192 * 4;
/// Bytes from the offsets of the arrays to the group's part.
const RESERVED_BYTES: usize = 183_888 - 183_832;
/// The unit "bytes per second" as fio numbers it.
const BYTES_PER_SECOND: u32 = 4;
/// Percentiles that there is room for.
const PERCENTILES_MOST: usize = 20;

/// A job's statistics, with those of its group behind them.
pub fn job(job: &ReportedJob<'_>, number: u32, group: &[u8], steady: Option<&Steady>) -> Vec<u8> {
    let mut packer = Packer::default();
    let (view, figures) = (job.view, &job.view.figures);
    let failure = job.failure.as_ref();
    packer.text(&view.name, 128).text(failure.map_or("", |failure| &failure.text), 128);
    packer.u32(job.errno() as u32).u32(number).u32(view.group).u32(job.pid).text(&view.description, 256);
    packer.u32(job.members).u32(unified(figures.unified));
    // No statistics by priority.
    packer.u32(1).u32(0);
    spread(&mut packer, LatencySpread::of(&job.syncs.1));
    for index in [1, 0, 2] {
        job.directions.iter().for_each(|direction| spread(&mut packer, direction.spreads()[index]));
    }
    job.directions.iter().for_each(|direction| samples(&mut packer, &direction.bandwidth));
    job.directions.iter().for_each(|direction| samples(&mut packer, &direction.rate));
    let [run_ms, user_ms, system_ms] = job.times_ns.map(|ns| ns / 1_000_000);
    packer.u64s([user_ms, system_ms, job.switches, job.faults.1, job.faults.0]);
    packer.u32(figures.completion_percentiles.into()).u32(figures.latency_percentiles.into());
    packer.u32(figures.submission_percentiles.into()).u32(0).u64(2);
    let percentiles = figures.percentiles.iter().copied().chain(std::iter::repeat(0.0));
    packer.reals(percentiles.take(PERCENTILES_MOST));
    let spectrum = &job.spectrum;
    packer.u64s(spectrum.depths).u64s(spectrum.submits).u64s(spectrum.completes);
    packer.u64s(spectrum.ns).u64s(spectrum.us).u64s(spectrum.ms);
    let each: [fn(&Direction) -> &Histogram; 3] = [
        |direction| &direction.submission,
        |direction| &direction.completion,
        |direction| &direction.latency,
    ];
    for latency in each {
        packer.u64s(job.directions.iter().flat_map(|direction| Bins::from(latency(direction)).dense()));
    }
    packer.u64s(Bins::from(&job.syncs.1).dense());
    packer.u64s(job.directions.iter().map(|direction| direction.issued)).u64(job.syncs.0);
    packer.u64s(job.directions.iter().map(|direction| direction.short)).zeros(3 * 8);
    packer.u64s([spectrum.submits, spectrum.completes].map(|counts| counts.iter().sum()));
    packer.u64s(job.directions.iter().map(|direction| direction.bytes));
    packer.u64s(job.directions.iter().map(|direction| direction.runtime_ms)).u64(run_ms);
    packer.u32(view.counts_errors.into()).u32(job.errors.1 as u32).u64(job.errors.0).u64(0);
    packer.zeros(BLOCK_INFO_BYTES);
    packer.u32(figures.kb_base).u32(BYTES_PER_SECOND).u32(job.depth).u32(0);
    let (target_ns, window_ns, percent) = view.latency_target;
    let percent = if target_ns == 0 && percent == 0.0 { 100.0 } else { percent };
    packer.u64(target_ns).real(percent).u64(window_ns / 1000).u32(figures.significant_figures);
    let data = steadiness(&mut packer, job, steady);
    packer.zeros(RESERVED_BYTES).0.extend_from_slice(group);
    packer.0.resize(JOB_BYTES, 0);
    packer.u64s(data);
    packer.done()
}

fn unified(reporting: UnifiedReporting) -> u32 {
    match reporting {
        UnifiedReporting::No => 0,
        UnifiedReporting::Mixed => 1,
        UnifiedReporting::Both => 2,
    }
}

/// Largest, smallest, how many, mean, and the sum of the squares that the deviation comes from.
fn statistic(packer: &mut Packer, (max, min, count): (u64, u64, u64), mean: f64, squares: f64) {
    packer.u64(max).u64(if count == 0 { u64::MAX } else { min }).u64(count).real(mean).real(squares);
}

fn spread(packer: &mut Packer, spread: LatencySpread) {
    let LatencySpread { count, min, max, mean, deviation } = spread;
    statistic(packer, (max, min, count), mean, deviation * deviation * count.saturating_sub(1) as f64);
}

fn samples(packer: &mut Packer, samples: &Samples) {
    statistic(packer, (samples.max, samples.min, samples.count), samples.mean, samples.squares());
}

/// Which rate is judged and how, and what came of it, as bits.
mod state {
    pub const OPERATIONS: u32 = 1;
    pub const BYTES: u32 = 2;
    pub const SLOPE: u32 = 4;
    pub const ATTAINED: u32 = 8;
    pub const RAMP_OVER: u32 = 16;
    pub const DATA: u32 = 32;
    pub const PERCENT: u32 = 64;
    pub const FULL: u32 = 128;
}

/// The part about steadiness; the values of the last window, which stand behind everything else.
fn steadiness(packer: &mut Packer, job: &ReportedJob<'_>, asked: Option<&Steady>) -> Vec<u64> {
    let Some(asked) = asked else {
        packer.zeros(8 + 4 + 4 + 4 * 16 + 4 + 16);
        return Vec::new();
    };
    let found = job.steady.clone().unwrap_or_default();
    let rate = if asked.criterion == Criterion::Operations { state::OPERATIONS } else { state::BYTES };
    let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    let full = found.found.is_some();
    let bits = rate
        | bit(asked.slope, state::SLOPE)
        | bit(found.attained, state::ATTAINED)
        | bit(full, state::RAMP_OVER | state::DATA | state::FULL)
        | bit(asked.percent, state::PERCENT);
    let length = found.operations.len().min(found.bytes.len());
    packer.u64(length as u64).u32(bits).u32(0);
    packer.real(asked.limit).real(found.slope).real(found.deviation).real(found.found.unwrap_or(0.0)).u32(0);
    let bytes_at = JOB_BYTES + length * 8;
    let places = if length > 0 { [JOB_BYTES, bytes_at] } else { [0, 0] };
    packer.u64s(places.map(|place| place as u64));
    [&found.operations[..length], &found.bytes[..length]]
        .concat()
        .into_iter()
        .map(|value| value as u64)
        .collect()
}

/// A group's statistics.
pub fn group(group: &GroupSummary<'_>, number: u32) -> Vec<u8> {
    let directions = &group.directions[..3];
    let mut packer = Packer::default();
    let least = |value: u64| if value == 0 { u64::MAX } else { value };
    packer.u64s(directions.iter().map(|direction| direction.run_ms.1));
    packer.u64s(directions.iter().map(|direction| least(direction.run_ms.0)));
    packer.u64s(directions.iter().map(|direction| direction.bandwidth.1));
    packer.u64s(directions.iter().map(|direction| least(direction.bandwidth.0)));
    packer.u64s(directions.iter().map(|direction| direction.bytes));
    packer.u64s(directions.iter().map(|direction| direction.aggregate()));
    let figures = &group.view.figures;
    packer.u32(figures.kb_base).u32(BYTES_PER_SECOND).u32(figures.significant_figures);
    packer.u32(number).u32(unified(figures.unified)).done()
}

/// A disk's counters; its share of the time goes over as so many of [`SHARE`].
pub fn disk(disk: &Disk) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.text(&disk.name, 64);
    counters(&mut packer, disk, 1);
    packer.u64((disk.util * SHARE as f64 / 100.0) as u64).u64(disk.in_queue).u64(SHARE);
    let mean = disk.mean.as_deref().cloned().unwrap_or_default();
    counters(&mut packer, &mean, disk.beneath);
    packer.u64(0).u64(mean.in_queue * disk.beneath);
    packer.u32(disk.beneath as u32).u32(0).real(mean.util).done()
}

const SHARE: u64 = 1_000_000;

fn counters(packer: &mut Packer, disk: &Disk, times: u64) {
    for (reads, writes) in [disk.requests, disk.merges, disk.sectors, disk.ticks] {
        packer.u64s([reads * times, writes * times]);
    }
}

/// A job of another machine.
pub struct ReceivedJob {
    /// How it was written, as far as it was told.
    pub view: JobView,
    pub steady: Option<Steady>,
    failure: Option<Failure>,
    pid: u32,
    members: u32,
    directions: [Direction; 3],
    all: Option<Direction>,
    syncs: (u64, Histogram),
    times_ns: [u64; 3],
    switches: u64,
    faults: (u64, u64),
    spectrum: Spectrum,
    errors: (u64, i32),
    record: Option<SteadyRecord>,
}

impl ReceivedJob {
    pub fn reported(&self) -> ReportedJob<'_> {
        ReportedJob {
            view: &self.view,
            members: self.members,
            pid: self.pid,
            failure: self.failure.clone(),
            errors: self.errors,
            directions: self.directions.clone(),
            all: self.all.clone(),
            syncs: self.syncs.clone(),
            times_ns: self.times_ns,
            switches: self.switches,
            faults: self.faults,
            spectrum: self.spectrum,
            depth: self.view.depth,
            steady: self.record.clone(),
            began_unix_ns: 0,
        }
    }
}

/// Largest, smallest, how many; mean; sum of squares.
type Statistic = ((u64, u64, u64), f64, f64);

fn read_statistic(unpacker: &mut Unpacker<'_>) -> Statistic {
    let [max, min, count] = unpacker.counts();
    let min = if count == 0 { 0 } else { min };
    ((max, min, count), unpacker.real(), unpacker.real())
}

fn histogram(counts: &[u64], ((max, min, count), mean, _): Statistic) -> Histogram {
    // A sum has room for others.
    let sum = (mean.max(0.0) * count as f64) as u128;
    Bins::histogram(counts, sum.min(1 << 100), (min, max))
}

/// A job's statistics, with the options that were told before.
pub fn read_job(bytes: &[u8], options: Vec<(String, String)>) -> ReceivedJob {
    let mut unpacker = Unpacker::new(bytes);
    let (name, error) = (unpacker.text(128), unpacker.text(128));
    let (errno, _, group, pid) = (unpacker.u32() as i32, unpacker.u32(), unpacker.few(), unpacker.u32());
    let (description, members, unified) = (unpacker.text(256), unpacker.few(), unpacker.u32());
    unpacker.skip(8);
    let sync = read_statistic(&mut unpacker);
    let spreads = std::array::from_fn(|_| std::array::from_fn(|_| read_statistic(&mut unpacker)));
    let [user_ms, system_ms, switches, minor, major] = unpacker.counts();
    let shown: [bool; 4] = std::array::from_fn(|_| unpacker.u32() != 0);
    unpacker.skip(8);
    let percentiles: [f64; PERCENTILES_MOST] = std::array::from_fn(|_| unpacker.real());
    let mut spectrum = read_spectrum(&mut unpacker);
    let bins = std::array::from_fn(|_| std::array::from_fn(|_| read_bins(&mut unpacker)));
    let of_sync = read_bins(&mut unpacker);
    let (issued, syncs): ([u64; 3], u64) = (unpacker.counts(), unpacker.count());
    let short = unpacker.counts();
    unpacker.skip(3 * 8 + 2 * 8);
    let (bytes_moved, runtime_ms, run_ms) = (unpacker.counts(), unpacker.counts(), unpacker.count());
    spectrum.issued = issued.iter().sum();
    let directions = DirectionColumns { bytes_moved, runtime_ms, issued, short, spreads, bins }.directions();
    let (counts_errors, first_error, errors) = (unpacker.u32() != 0, unpacker.u32() as i32, unpacker.count());
    unpacker.skip(8 + BLOCK_INFO_BYTES);
    let (kb_base, _, depth, _) = (unpacker.u32(), unpacker.u32(), unpacker.u32(), unpacker.u32());
    let (target_ns, percent, window_us) = (unpacker.count(), unpacker.real(), unpacker.count());
    let significant_figures = unpacker.u32();
    let (steady, record) = read_steadiness(&mut unpacker, bytes);
    let all = (unified == 2).then(|| sum_of(&directions));
    let figures = ReportFigures {
        percentiles: percentiles.into_iter().take_while(|percent| *percent > 0.0).collect(),
        completion_percentiles: shown[0],
        latency_percentiles: shown[1],
        submission_percentiles: shown[2],
        unified: read_unified(unified),
        kb_base: if kb_base == 1000 { 1000 } else { 1024 },
        significant_figures: significant_figures.clamp(1, 10),
        ..ReportFigures::default()
    };
    let view = JobView {
        name,
        description,
        group,
        options,
        depth,
        figures,
        counts_errors,
        latency_target: (target_ns, window_us.saturating_mul(1000), percent),
        // Each stands for as many as it says.
        clones: 1,
        ..JobView::default()
    };
    ReceivedJob {
        view,
        steady,
        failure: (errno != 0).then_some(Failure { errno, text: error }),
        pid,
        members,
        directions,
        all,
        syncs: (syncs, histogram(&of_sync, sync)),
        times_ns: [run_ms, user_ms, system_ms].map(|ms| ms.saturating_mul(1_000_000).min(COUNT_MOST)),
        switches,
        faults: (major, minor),
        spectrum,
        errors: (errors, first_error),
        record,
    }
}

fn sum_of(directions: &[Direction]) -> Direction {
    let mut all = Direction::default();
    directions.iter().for_each(|direction| all.add(direction));
    all
}

fn read_unified(number: u32) -> UnifiedReporting {
    match number {
        1 => UnifiedReporting::Mixed,
        2 => UnifiedReporting::Both,
        _ => UnifiedReporting::No,
    }
}

fn read_spectrum(unpacker: &mut Unpacker<'_>) -> Spectrum {
    Spectrum {
        depths: unpacker.counts(),
        submits: unpacker.counts(),
        completes: unpacker.counts(),
        ns: unpacker.counts(),
        us: unpacker.counts(),
        ms: unpacker.counts(),
        issued: 0,
    }
}

fn read_bins(unpacker: &mut Unpacker<'_>) -> Vec<u64> {
    (0..FIO_BINS).map(|_| unpacker.count()).collect()
}

/// What a message has of reads, writes and trims, column by column.
struct DirectionColumns {
    bytes_moved: [u64; 3],
    runtime_ms: [u64; 3],
    issued: [u64; 3],
    short: [u64; 3],
    /// Of the completion, the submission, the whole latency, the bandwidth and the rate.
    spreads: [[Statistic; 3]; 5],
    /// Of the submission, the completion and the whole latency.
    bins: [[Vec<u64>; 3]; 3],
}

impl DirectionColumns {
    fn directions(&self) -> [Direction; 3] {
        [0, 1, 2].map(|index| {
            let [completion, submission, latency, bandwidth, rate] =
                self.spreads.map(|spreads| spreads[index]);
            Direction {
                bytes: self.bytes_moved[index],
                runtime_ms: self.runtime_ms[index],
                issued: self.issued[index],
                done: self.issued[index],
                short: self.short[index],
                submission: histogram(&self.bins[0][index], submission),
                completion: histogram(&self.bins[1][index], completion),
                latency: histogram(&self.bins[2][index], latency),
                received: Some([submission, completion, latency].map(spread_of)),
                priorities: Vec::new(),
                intended: None,
                bandwidth: received(bandwidth),
                rate: received(rate),
            }
        })
    }
}

fn spread_of(((max, min, count), mean, squares): Statistic) -> LatencySpread {
    let deviation = if count > 1 { (squares.max(0.0) / (count - 1) as f64).sqrt() } else { 0.0 };
    LatencySpread { count, min, max, mean, deviation }
}

fn received((extremes, mean, squares): Statistic) -> Samples {
    Samples::received(extremes, mean, squares)
}

/// What was asked about steadiness and what was found; the values stand at places that the structure names.
fn read_steadiness(unpacker: &mut Unpacker<'_>, bytes: &[u8]) -> (Option<Steady>, Option<SteadyRecord>) {
    let (length, bits, _) = (unpacker.u64().min(1 << 40) as usize, unpacker.u32(), unpacker.u32());
    let [limit, slope, deviation, found] = std::array::from_fn(|_| unpacker.real());
    unpacker.skip(4);
    if bits & (state::OPERATIONS | state::BYTES) == 0 {
        return (None, None);
    }
    let mut values = || {
        let mut values = Unpacker::new(bytes);
        values.skip(unpacker.u64().min(1 << 40) as usize);
        (0..length.min(1 << 16)).map(|_| values.count() as f64).collect::<Vec<f64>>()
    };
    let (operations, rates) = (values(), values());
    let has = |bit: u32| bits & bit != 0;
    let asked = Steady {
        criterion: if has(state::OPERATIONS) { Criterion::Operations } else { Criterion::Bytes },
        slope: has(state::SLOPE),
        limit,
        percent: has(state::PERCENT),
        window_ns: (length as u64).saturating_mul(1_000_000_000),
        ramp_ns: 0,
        interval_ns: 1_000_000_000,
    };
    let record = SteadyRecord {
        attained: has(state::ATTAINED),
        found: has(state::DATA).then_some(found),
        slope,
        deviation,
        operations,
        bytes: rates,
        ..SteadyRecord::default()
    };
    (Some(asked), Some(record))
}

/// A group of another machine.
pub struct ReceivedGroup([GroupDirection; 4]);

impl ReceivedGroup {
    pub fn summary<'a>(&self, view: &'a JobView) -> GroupSummary<'a> {
        GroupSummary { view, directions: self.0 }
    }
}

/// A group's statistics.
pub fn read_group(bytes: &[u8]) -> ReceivedGroup {
    let mut unpacker = Unpacker::new(bytes);
    let [most_ms, least_ms, most, least, bytes, _]: [[u64; 3]; 6] =
        std::array::from_fn(|_| unpacker.counts());
    let known = |value: u64| if value == COUNT_MOST { 0 } else { value };
    let mut directions = [GroupDirection::default(); 4];
    for (index, direction) in directions.iter_mut().take(3).enumerate() {
        *direction = GroupDirection {
            bytes: bytes[index],
            run_ms: (known(least_ms[index]), most_ms[index]),
            bandwidth: (known(least[index]), most[index]),
        };
    }
    ReceivedGroup(directions)
}

/// A disk's counters.
pub fn read_disk(bytes: &[u8]) -> Disk {
    let mut unpacker = Unpacker::new(bytes);
    let name = unpacker.text(64);
    let own = read_counters(&mut unpacker, 1);
    let [busy, in_queue, whole] = unpacker.counts();
    let util = (busy as f64 * 100.0 / whole.max(1) as f64).min(100.0);
    let start = unpacker.at();
    unpacker.skip(10 * 8);
    let beneath = unpacker.few();
    let mut again = Unpacker::new(bytes);
    again.skip(start);
    let mean = (beneath > 0).then(|| {
        let mut mean = read_counters(&mut again, beneath.into());
        let [_, in_queue] = again.counts();
        again.skip(8);
        (mean.in_queue, mean.util) = (in_queue / u64::from(beneath), again.real());
        Box::new(mean)
    });
    Disk { name, in_queue, util, beneath: beneath.into(), mean, ..own }
}

fn read_counters(unpacker: &mut Unpacker<'_>, times: u64) -> Disk {
    let mut pair = || (unpacker.count() / times, unpacker.count() / times);
    Disk { requests: pair(), merges: pair(), sectors: pair(), ticks: pair(), ..Disk::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    fn view() -> JobView {
        let mut view =
            JobView { name: "j".into(), description: "d".into(), group: 3, depth: 8, ..JobView::default() };
        view.figures.percentiles = vec![50.0, 99.9];
        view.clones = 1;
        view.latency_target = (5000, 2_000_000, 90.0);
        view
    }

    fn sent(view: &JobView) -> ReportedJob<'_> {
        let direction = |scale: u64| Direction {
            bytes: 4096 * scale,
            runtime_ms: 7,
            issued: scale,
            done: scale,
            short: 1,
            completion: histogram_of(&[17, 100 * scale, 12_345_678]),
            latency: histogram_of(&[20, 200 * scale, 12_345_700]),
            submission: histogram_of(&[3]),
            intended: None,
            received: None,
            priorities: Vec::new(),
            bandwidth: Samples::received((9, 3, 2), 6.0, 18.0),
            rate: Samples::received((5, 5, 1), 5.0, 0.0),
        };
        ReportedJob {
            view,
            members: 2,
            pid: 4711,
            failure: Some(Failure { errno: 28, text: "file:x, error=No space".into() }),
            errors: (4, 28),
            directions: [direction(2), direction(3), Direction::default()],
            all: None,
            syncs: (2, histogram_of(&[1000, 2000])),
            times_ns: [9_000_000, 2_000_000, 3_000_000],
            switches: 11,
            faults: (1, 12),
            spectrum: Spectrum {
                depths: [5, 0, 0, 0, 0, 0, 0],
                us: [1; 10],
                issued: 5,
                ..Spectrum::default()
            },
            depth: 8,
            steady: Some(SteadyRecord {
                attained: true,
                found: Some(1.5),
                deviation: 3.0,
                operations: vec![10.0, 12.0],
                bytes: vec![40_960.0, 49_152.0],
                ..SteadyRecord::default()
            }),
            began_unix_ns: 0,
        }
    }

    fn asked() -> Steady {
        Steady {
            criterion: Criterion::Operations,
            slope: false,
            limit: 20.0,
            percent: true,
            window_ns: 2_000_000_000,
            ramp_ns: 0,
            interval_ns: 1_000_000_000,
        }
    }

    // Where Debian's server has them; the length of its message without and with two values of steadiness.
    #[test]
    fn everything_is_where_fio_has_it() {
        let view = view();
        let bytes = job(&sent(&view), 5, &[0xee; 164], Some(&asked()));
        assert_eq!(bytes.len(), 184_088);
        assert_eq!(job(&sent(&view), 5, &[], None).len(), 184_056);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((u32_at(256), u32_at(260), u32_at(264), u32_at(268)), (28, 5, 3, 4711));
        // Completion latency of reads: largest, smallest, how many.
        assert_eq!((u64_at(600), u64_at(608), u64_at(616)), (12_345_678, 17, 3));
        // Of trims there are none: the smallest is the largest number.
        assert_eq!((u64_at(712), u64_at(720), u64_at(728)), (0, u64::MAX, 0));
        assert_eq!((u64_at(1440), u64_at(1448), u64_at(1456)), (2, 3, 11));
        assert_eq!(u64_at(1824), 5);
        // The bin of 17 ns in the completion latencies of reads.
        assert_eq!(u64_at(46_792 + 17 * 8), 1);
        assert_eq!((u64_at(150_728), u64_at(150_736), u64_at(150_752)), (2, 3, 2));
        assert_eq!((u64_at(150_824), u64_at(150_848)), (8192, 7));
        assert_eq!((u32_at(183_680), u32_at(183_684), u32_at(183_688)), (1024, BYTES_PER_SECOND, 8));
        assert_eq!((u64_at(183_696), u64_at(183_720), u32_at(183_728)), (5000, 2000, 4));
        assert_eq!((u64_at(183_732), u32_at(183_740)), (2, 249));
        assert_eq!((u64_at(183_816), u64_at(183_824)), (184_056, 184_072));
        assert_eq!((bytes[183_888], u64_at(184_056), u64_at(184_072)), (0xee, 10, 40_960));
    }

    #[test]
    fn what_is_sent_is_what_is_reported() {
        let view = view();
        let sent = sent(&view);
        let received = read_job(&job(&sent, 5, &[], Some(&asked())), vec![("rw".into(), "rw".into())]);
        let found = received.reported();
        assert_eq!((found.view.name.as_str(), found.view.group, found.view.depth), ("j", 3, 8));
        assert_eq!(found.view.latency_target, (5000, 2_000_000, 90.0));
        assert_eq!(found.view.figures.percentiles, [50.0, 99.9]);
        assert_eq!((found.failure, found.errors, found.members, found.pid), (sent.failure, (4, 28), 2, 4711));
        assert_eq!((found.times_ns, found.switches, found.faults), (sent.times_ns, 11, (1, 12)));
        assert_eq!((found.spectrum, found.steady), (sent.spectrum, sent.steady));
        for (found, sent) in found.directions.iter().zip(&sent.directions) {
            assert_eq!(
                (found.bytes, found.issued, found.runtime_ms),
                (sent.bytes, sent.issued, sent.runtime_ms)
            );
            assert_eq!((found.bandwidth, found.rate), (sent.bandwidth, sent.rate));
            assert_eq!(Bins::from(&found.completion), Bins::from(&sent.completion));
            let [found, sent] = [&found.latency, &sent.latency].map(LatencySpread::of);
            assert_eq!((found.count, found.min, found.max), (sent.count, sent.min, sent.max));
            assert!(
                (found.mean - sent.mean).abs() < 1.0 && (found.deviation / sent.deviation.max(1.0)) < 1.01
            );
        }
        assert_eq!(received.steady, Some(asked()));
    }

    #[test]
    fn groups_and_disks_come_back() {
        let view = view();
        let mut directions = [GroupDirection::default(); 4];
        directions[1] = GroupDirection { bytes: 8192, run_ms: (3, 4), bandwidth: (5, 6) };
        let bytes = group(&GroupSummary { view: &view, directions }, 1);
        assert_eq!(bytes.len(), 164);
        assert_eq!(read_group(&bytes).0, directions);
        let below =
            Disk { name: String::new(), requests: (3, 4), in_queue: 9, util: 12.5, ..Disk::default() };
        let whole = Disk {
            name: "md0".into(),
            requests: (6, 8),
            ticks: (1, 2),
            in_queue: 18,
            util: 25.0,
            beneath: 2,
            mean: Some(Box::new(below)),
            ..Disk::default()
        };
        let bytes = disk(&whole);
        assert_eq!(bytes.len(), 256);
        assert_eq!(read_disk(&bytes), whole);
    }

    #[test]
    fn nothing_that_is_sent_breaks_the_client() {
        for byte in [0, 1, 0x7f, 0xff] {
            for length in [0, 1, 540, 2000, 184_056, 200_000] {
                let bytes = vec![byte; length];
                let received = read_job(&bytes, Vec::new());
                let view = JobView::default();
                let all = [received.reported(), received.reported()];
                let sum = ReportedJob::sum(&mut all.iter(), &view).unwrap();
                assert_eq!(sum.members, 2);
                let _ = (read_group(&bytes).summary(&view).directions[0].aggregate(), read_disk(&bytes));
            }
        }
    }
}
