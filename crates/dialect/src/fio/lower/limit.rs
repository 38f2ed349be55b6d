//! From when, until when, and what is done at the end.

use iodyno_model::{Finish, Limit, Start, Verb};

use super::Found;
use super::ask::Ask;
use super::number;

/// Until when a clone goes on.
pub fn limit(ask: &mut Ask<'_>, found: &Found) -> Limit {
    let Found { direction, sizes, .. } = found;
    let loops = ask.whole("loops").unwrap_or(1).max(1) as u64;
    let time_ns = ask.time_ns("runtime").filter(|ns| *ns > 0);
    let timed = ask.flag("time_based", false) && time_ns.is_some();
    if ask.flag("time_based", false) && time_ns.is_none() {
        ask.note(
            "time_based",
            "time_based requires a runtime/timeout setting",
            "add runtime=60 or leave time_based out",
        );
    }
    // Holes, repeated places and sizes of their own end a pass by bytes, not by places.
    let by_bytes = sizes.own_pass || direction.gap != 0 || (direction.random && direction.operations > 1);
    let bytes = sizes.pass_bytes.filter(|_| by_bytes && !timed).map(|bytes| bytes.saturating_mul(loops));
    Limit {
        time_ns,
        bytes,
        operations: ask
            .whole("number_ios")
            .filter(|count| *count > 0 && !timed)
            .map(|count| (count as u64).saturating_mul(loops)),
        passes: (!timed && bytes.is_none()).then_some(loops).filter(|loops| *loops > 1 || time_ns.is_some()),
        ramp_ns: ask.time_ns("ramp_time").unwrap_or(0),
        ..Limit::default()
    }
}

/// From when.
pub fn start(ask: &mut Ask<'_>) -> Start {
    let mut start = Start::default();
    if let Some(text) = ask.text("startdelay") {
        let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
        match (number::time_ns(low, SECOND), number::time_ns(high, SECOND)) {
            (Some(low), Some(high)) => {
                start.after_ns = low.min(high);
                start.spread_ns = low.abs_diff(high);
            }
            _ => {
                let message = format!("`startdelay={text}`: expected a time or a range of times");
                ask.refuse("startdelay", message, "for example startdelay=10 or startdelay=1s-5s");
            }
        }
    }
    start
}

const SECOND: u64 = 1_000_000_000;

/// What is done with each file after the last operation.
pub fn finish(ask: &Ask<'_>, found: &Found) -> Finish {
    let syncs = ask.flag("end_fsync", false) || ask.flag("fsync_on_close", false);
    Finish { sync: (syncs && found.direction.writes).then_some(Verb::Fsync), ..Finish::default() }
}
