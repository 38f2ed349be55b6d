//! From when, until when, and what is done at the end.

use iodyno_model::{Criterion, Finish, Limit, PerDirection, Start, Steady, Verb};

use super::super::number::TimeUnit;
use super::super::value::Amount;
use super::JobContext;
use super::number;
use super::option_reader::OptionReader;
use super::size::Sizes;

/// Until when a clone goes on.
pub fn limit(ask: &mut OptionReader<'_>, found: &JobContext) -> Limit {
    let sizes = &found.sizes;
    let loops = ask.whole("loops").unwrap_or(1).max(1) as u64;
    let time_ns = ask.time_ns("runtime").filter(|ns| *ns > 0);
    let timed = ask.flag("time_based", false) && time_ns.is_some();
    if ask.flag("time_based", false) && time_ns.is_none() {
        ask.warn("time_based", "time_based requires a runtime/timeout setting");
    }
    // What is moved in all loops together; a size of its own goes round the files as often as it takes.
    let moves = found.engine.names.is_none();
    let bytes = sizes.pass_bytes.filter(|_| !timed && moves).map(|bytes| bytes.saturating_mul(loops));
    let operations = ask.whole("number_ios").filter(|count| *count > 0 && !timed);
    let mut limit = Limit {
        time_ns,
        bytes,
        operations: operations.map(|count| (count as u64).saturating_mul(loops)),
        passes: (!timed && !sizes.own_pass).then_some(loops),
        ramp_ns: ask.time_ns("ramp_time").unwrap_or(0),
        ramp_bytes: ramp_bytes(ask, sizes),
        latency_ns: longest(ask),
        until_full: sizes.fill,
        steady: steady(ask),
        ..Limit::default()
    };
    if ask.flag("create_only", false) {
        limit = Limit { operations: Some(0), ..Limit::default() };
    }
    if found.replay.is_some() {
        // A recording is played back once, and ends early only when the time is up.
        limit = Limit { bytes: None, operations: None, passes: Some(1), ..limit };
    }
    if found.engine.sizeless || found.engine.peer {
        limit.passes = None;
    }
    if found.engine.sizeless {
        // What moves nothing never comes to the end of a size: only time ends it.
        limit.bytes = None;
    }
    limit
}

fn ramp_bytes(ask: &mut OptionReader<'_>, sizes: &Sizes) -> u64 {
    match (ask.amount("ramp_size"), sizes.pass_bytes) {
        (Some(Amount::Bytes(bytes)), _) => bytes,
        (Some(Amount::Percent(percent)), Some(bytes)) => (bytes as f64 * percent / 100.0) as u64,
        (None, _) => 0,
        _ => {
            ask.refuse("ramp_size", "a share of a size that is not known yet", "give ramp_size in bytes");
            0
        }
    }
}

/// `max_latency`, for each direction.
fn longest(ask: &OptionReader<'_>) -> PerDirection<u64> {
    ask.triple("max_latency").cloned().unwrap_or_default().map(|ns| ns.unwrap_or(0))
}

/// `steadystate=WORD:LIMIT` with its window.
fn steady(ask: &mut OptionReader<'_>) -> Option<Steady> {
    let (word, limit) = ask.tailed("steadystate")?;
    let window_ns = ask.time_ns("steadystate_duration").filter(|ns| *ns > 0)?;
    let (limit, percent) = limit.strip_suffix('%').map_or((limit, false), |limit| (limit, true));
    let (name, slope) = word.strip_suffix("_slope").map_or((word, false), |name| (name, true));
    let criterion = match name {
        "iops" => Criterion::Operations,
        "bw" => Criterion::Bytes,
        _ => Criterion::Latency,
    };
    let number = match criterion {
        // A bandwidth may have a unit.
        Criterion::Bytes if !percent => number::bytes(limit, ask).map(|bytes| bytes as f64),
        Criterion::Latency if !percent => number::time_ns(limit, TimeUnit::Microsecond).map(|ns| ns as f64),
        _ => limit.parse::<f64>().ok().filter(|limit| limit.is_finite()),
    };
    let Some(limit) = number.filter(|limit| *limit >= 0.0) else {
        let hint = "for example steadystate=iops:0.5% or steadystate=bw_slope:1m";
        ask.refuse_value("steadystate", "expected a criterion and its limit", hint);
        return None;
    };
    Some(Steady {
        criterion,
        slope,
        limit,
        percent,
        window_ns,
        ramp_ns: ask.time_ns("steadystate_ramp_time").unwrap_or(0),
        interval_ns: ask.time_ns("steadystate_check_interval").filter(|ns| *ns > 0).unwrap_or(SECOND),
    })
}

pub fn start(ask: &OptionReader<'_>) -> Start {
    let clock_id = ask.whole("job_start_clock_id").filter(|clock| *clock != 0);
    let (low, high) = ask.times_ns("startdelay").unwrap_or_default();
    Start {
        clock_id: clock_id.map(|clock| clock as i32),
        after_ns: low,
        spread_ns: high - low,
        ..Start::default()
    }
}

const SECOND: u64 = 1_000_000_000;

/// What is done with each file after the last operation.
pub fn finish(ask: &OptionReader<'_>, found: &JobContext) -> Finish {
    let sync = match () {
        () if !found.direction.writes => None,
        () if ask.flag("end_fsync", false) || ask.flag("fsync_on_close", false) => Some(Verb::Fsync),
        () if ask.flag("end_syncfs", false) => Some(Verb::Syncfs),
        () => None,
    };
    Finish { sync, ..Finish::default() }
}
