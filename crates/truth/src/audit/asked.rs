//! Lies that follow from what was asked for, or that it does not exclude.

use iodyno_model::{Remedy, units};

use super::{Certainty, Claim, Data, MeasuredLoad, Possible, WorkKind};
use Certainty::{Expected, Open};

/// Spans up to this may lie in the cache of a drive, a controller or a hypervisor. Chosen: larger than the caches of common
/// RAID controllers (8 GiB) and the buffers of drives with flash (some GiB); `an_honest_result_raises_nothing` stands on one side.
const DEVICE_CACHE_BYTES: u64 = 16 << 30;
/// Writes of less than this many seconds may be over before a drive's fast part is full. Chosen: the caches of consumer
/// drives last for tens of seconds at their full rate; `an_honest_result_raises_nothing` stands on one side.
const BURST_SECONDS: f64 = 120.0;

/// A check of what was asked.
type Check = fn(&MeasuredLoad, &[Claim]) -> Option<Possible>;

/// All that hold for what was asked.
pub fn check(asked: &MeasuredLoad, claims: &[Claim]) -> Vec<Possible> {
    let checks: [Check; 15] = [
        pretended,
        cached_reads,
        unflushed,
        holes,
        reducible,
        device_cache,
        falling,
        late,
        generator,
        depth,
        shared_file,
        names,
        part,
        peak,
        single_flow,
    ];
    checks.iter().filter_map(|check| check(asked, claims)).collect()
}

fn pretended(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let name = asked.pretended.as_ref()?;
    let is = if name == "/dev/null" || name == "/dev/zero" { "no storage" } else { "memory" };
    let sentence = format!("{name} is {is}: the figure is that of the processor");
    Some(Possible::new(Expected, Remedy::ChooseStorage, sentence))
}

fn cached_reads(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    if !asked.reads || asked.direct == Some(true) || asked.pretended.is_some() {
        return None;
    }
    let fits = match (asked.span_bytes, asked.memory_bytes) {
        (Some(span), Some(memory)) => Some(span < memory),
        _ => None,
    };
    let span = asked
        .span_bytes
        .map_or_else(|| "what it reads".into(), |span| format!("the {} it reads", units::binary(span)));
    let remedy = Remedy::BypassPageCache;
    if asked.reads_own == Some(true) && asked.direct == Some(false) && fits != Some(false) {
        let sentence =
            format!("{span} were written just before by the same host, and are still in its page cache");
        return Some(Possible::new(Expected, remedy, sentence));
    }
    match (asked.direct, fits, asked.invalidated) {
        (Some(false), Some(false), _) => None,
        (Some(false), Some(true), invalidated) if invalidated != Some(true) => {
            let sentence = format!(
                "{span} fit into memory ({}), and nothing reads past it",
                units::binary(asked.memory_bytes?)
            );
            Some(Possible::new(Expected, remedy, sentence))
        }
        (Some(false), _, Some(true)) => {
            let sentence = "the cache is emptied before, but what is read twice comes from it, and read-ahead serves the rest";
            Some(Possible::new(Open, remedy, sentence))
        }
        (Some(false), ..) => Some(Possible::new(
            Open,
            remedy,
            format!("nothing reads past the page cache, and nothing says whether {span} fit into memory"),
        )),
        _ => Some(Possible::new(Open, remedy, "nothing shown says whether reads go past the page cache")),
    }
}

fn unflushed(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let is_safe = asked.direct == Some(true) || asked.synced == Some(true);
    if !asked.writes || is_safe || asked.pretended.is_some() {
        return None;
    }
    let written = claims
        .iter()
        .filter(|claim| claim.way == WorkKind::Write)
        .filter_map(|claim| claim.bytes)
        .fold(0.0, f64::max);
    let what = if written > 0.0 {
        format!("the {} written", units::binary(written as u64))
    } else {
        "what was written".into()
    };
    match (asked.direct, asked.synced) {
        (Some(false), Some(false)) => {
            let outgrows = asked.memory_bytes.is_some_and(|memory| written > 10.0 * memory as f64);
            let certainty = if outgrows { Open } else { Expected };
            let sentence = format!(
                "nothing flushes {what} inside the measured time, so the clock stopped while data lay in memory"
            );
            Some(Possible::new(certainty, Remedy::IncludeFlush, sentence))
        }
        _ => {
            let sentence =
                format!("nothing shown says that {what} had reached the storage when the clock stopped");
            Some(Possible::new(Open, Remedy::IncludeFlush, sentence))
        }
    }
}

fn holes(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    if !asked.reads || asked.reads_own == Some(true) || asked.pretended.is_some() {
        return None;
    }
    match asked.holes {
        Some(false) => None,
        Some(true) => Some(Possible::new(
            Expected,
            Remedy::FillBeforeReading,
            "the file is made without data before it is read: holes are answered without the device",
        )),
        None => Some(Possible::new(
            Open,
            Remedy::FillBeforeReading,
            "nothing shown says that what it reads was ever written: holes and trimmed blocks are answered without the medium",
        )),
    }
}

fn reducible(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let (certainty, what) = match asked.data? {
        _ if !asked.writes => return None,
        Data::Zeros => (Expected, "it writes zeros, which compress to nothing where storage compresses"),
        Data::Repeating => (
            Open,
            "its blocks are nearly the same, and storage that compresses or removes duplicates stores them once",
        ),
        Data::Random => return None,
    };
    Some(Possible::new(certainty, Remedy::WriteRandomData, what))
}

fn device_cache(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let span = asked.span_bytes.filter(|span| *span < DEVICE_CACHE_BYTES)?;
    if !asked.reads || asked.direct != Some(true) {
        return None;
    }
    let sentence =
        format!("{} fit into the memory of a controller, a hypervisor or a drive", units::binary(span));
    Some(Possible::new(Open, Remedy::OutgrowDeviceCache, sentence))
}

fn falling(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let told = claims
        .iter()
        .filter(|claim| claim.way == WorkKind::Write)
        .filter_map(|claim| claim.seconds)
        .fold(None, |most: Option<f64>, seconds| Some(most.map_or(seconds, |most| most.max(seconds))));
    let seconds = told.or(asked.seconds)?;
    if !asked.writes || asked.pretended.is_some() || seconds >= BURST_SECONDS {
        return None;
    }
    let sentence = format!(
        "{} of writing may end before a drive's fast part or a controller's cache is full",
        units::duration(seconds * 1e9)
    );
    Some(Possible::new(Open, Remedy::OutlastBurst, sentence))
}

fn late(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let has_latency = claims.is_empty() || claims.iter().any(|claim| claim.mean_ns.is_some());
    if asked.paced != Some(true) || asked.open_loop == Some(true) || !has_latency {
        return None;
    }
    let sentence =
        "a rate was set, and latency counts from when an operation was begun, not from when it was due";
    Some(Possible::new(Expected, Remedy::SetOpenLoop, sentence))
}

fn generator(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let sentence =
        "its data come from the kernel's random numbers, at some hundred MB/s: the rate may be theirs";
    asked.slow_generator.then(|| Possible::new(Expected, Remedy::PrepareData, sentence))
}

fn depth(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let depth = asked.depth.filter(|depth| *depth > 1)?;
    if asked.one_at_a_time == Some(true) {
        let sentence = format!("a depth of {depth} was asked of an engine that does one operation at a time");
        return Some(Possible::new(Expected, Remedy::UseAsynchronousEngine, sentence));
    }
    if asked.buffered_inline == Some(true) && asked.direct == Some(false) {
        let sentence = format!(
            "a depth of {depth} was asked, but buffered operations of this engine are done when they are handed over"
        );
        return Some(Possible::new(Expected, Remedy::SubmitDirect, sentence));
    }
    None
}

fn shared_file(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    if asked.shared_file != Some(true) || asked.workers.is_none_or(|workers| workers < 2) {
        return None;
    }
    let sentence = format!("{} workers share one file: its locks may be what is measured", asked.workers?);
    Some(Possible::new(Open, Remedy::SeparateFiles, sentence))
}

fn names(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    if !asked.names || asked.pretended.is_some() {
        return None;
    }
    match asked.own_names {
        Some(false) => None,
        Some(true) => {
            let sentence =
                "each process looks at the names that it made itself, which its host still has in memory";
            Some(Possible::new(Expected, Remedy::DropCaches, sentence))
        }
        None => {
            let sentence =
                "nothing shown says that names were looked at by another host than the one that made them";
            Some(Possible::new(Open, Remedy::DropCaches, sentence))
        }
    }
}

fn part(asked: &MeasuredLoad, _: &[Claim]) -> Option<Possible> {
    let span = asked.span_bytes?;
    let sentence = format!(
        "{} of a device are read or written: a disk does not seek far, and a drive has the rest in reserve",
        units::binary(span)
    );
    asked.part_of_device.then(|| Possible::new(Open, Remedy::CoverWholeTarget, sentence))
}

fn peak(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let in_flight = asked.in_flight()?;
    if asked.names
        || asked.network
        || asked.paced == Some(true)
        || asked.pretended.is_some()
        || in_flight > 8.0
    {
        return None;
    }
    claims.iter().any(|claim| claim.bytes_per_second.is_some()).then(|| {
        let sentence = format!(
            "{in_flight} in flight show the latency of one path, not what the storage can do at most"
        );
        Possible::new(Open, Remedy::SweepFurther, sentence)
    })
}

fn single_flow(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let is_one = asked.workers.is_none_or(|workers| workers == 1);
    let rate = claims
        .iter()
        .filter(|claim| claim.way == WorkKind::Network)
        .filter_map(|claim| claim.bytes_per_second)
        .fold(0.0, f64::max);
    if !asked.network || !is_one || rate < 1e9 {
        return None;
    }
    let sentence = format!(
        "{}bit/s over one flow: one processor carries it at most, however wide the link is",
        units::count(rate * 8.0)
    );
    Some(Possible::new(Open, Remedy::AddFlows, sentence))
}
