//! The job of a pass: what each stream does, by which engine, with which content.

use iodyno_model::{
    Blend, Buffers, Content, Coverage, Dedupe, Depth, Every, Extent, Finish, Job, Journal, Limit, Measure,
    Mix, Pace, Pattern, Payload, Pick, Placement, Ranks, Rate, Refresh, Setting, Span, Stamp, Start, Think,
    Verb, Verify, VerifyWhen, WorkerKind, Workload,
};

use super::{Access, Pass, StreamGroup};
use crate::engine_choice::POSITIONED_CALLS;
use crate::iozone::settings::{Settings, burst};
use crate::iozone::telemetry;

/// Of operations that follow each other faster than this about one is timed in this time, ns.
const SAMPLE_NS: u64 = 100_000;
/// Of so many reads one is elsewhere with `-K`.
const DISTURBED_PERCENT: f64 = 1.0;
/// What the original walks through with many buffers, bytes.
pub const MANY_BUFFERS: u64 = 16 << 20;

/// The job of some streams.
pub fn of(settings: &Settings, part: Pass, group: &StreamGroup, target: usize) -> Job {
    let verb = if group.writes { Verb::Write } else { part.access.verb() };
    let list = settings.list(part.access);
    let workload = match list {
        Some(list) => Workload::Trace(telemetry::trace(list, verb)),
        None => Workload::Pattern(Box::new(pattern(settings, part, group))),
    };
    let cluster = !settings.clients.is_empty();
    Job {
        workers: group.streams.len() as u32,
        ranks: if cluster { Ranks::Only(group.streams[0]) } else { Ranks::All },
        kind: match part.streams > 0 && !settings.has("T") {
            true => WorkerKind::Processes,
            false => WorkerKind::Threads,
        },
        seed: Some(0),
        settings: engine_settings(settings),
        depth: Depth { most: settings.in_flight().unwrap_or(1) as u32, ..Depth::default() },
        pace: pace(settings, part),
        limit: if list.is_some() {
            Limit { passes: Some(1), ..Limit::default() }
        } else {
            limit(settings, part)
        },
        buffers: buffers(settings, part),
        start: Start { after_ns: group.after_ns, ..Start::default() },
        payload: payload(settings, verb),
        placement: placement(settings, group),
        finish: Finish {
            sync: (settings.has("e") && verb == Verb::Write).then_some(Verb::Fsync),
            close: settings.has("c"),
            ..Finish::default()
        },
        measure: measure(settings, part),
        ..Job::new(
            if group.writes { "writers" } else { "streams" },
            engine(settings, part.access),
            vec![target],
            workload,
        )
    }
}

/// Calls as the original makes them, but that a place is no call of its own; of stdio what its buffer of a record comes to.
fn engine(settings: &Settings, access: Access) -> &'static str {
    match access {
        _ if settings.is_mapped() => "mmap",
        _ if settings.in_flight().is_some() => "posixaio",
        Access::Pwritev | Access::Repwritev | Access::Preadv | Access::Repreadv => "pvsync",
        Access::Write | Access::Rewrite | Access::Read | Access::Reread => "sync",
        access if access.buffered() => "sync",
        _ => POSITIONED_CALLS,
    }
}

fn engine_settings(settings: &Settings) -> Vec<Setting> {
    let mut found = Vec::new();
    if settings.has("Z") {
        found.push(Setting { origin: settings.origin("Z"), ..Setting::new("calls", "on") });
    }
    let mut add = |option: &str, name: &str, value: &str| {
        found.push(Setting { origin: settings.origin(option), ..Setting::new(name, value) });
    };
    if settings.is_mapped() {
        match settings.number("+A") {
            Some(0) => add("+A", "advice", "normal"),
            Some(1) => add("+A", "advice", "random"),
            Some(2) => add("+A", "advice", "sequential"),
            Some(3) => add("+A", "dont_need", "on"),
            Some(_) => add("+A", "advice", "willneed"),
            None => {}
        }
        if settings.has("D") {
            add("D", "sync", "async");
        }
    }
    found
}

fn pattern(settings: &Settings, part: Pass, group: &StreamGroup) -> Pattern {
    let Pass { access, cell, .. } = part;
    let pick = match access {
        Access::RandomRead | Access::RandomWrite => Pick::Uniform,
        Access::Mixed if !settings.has("+B") => Pick::Uniform,
        Access::Backward => Pick::Backward,
        Access::Stride | Access::RecordRewrite if settings.distinct || access == Access::Stride => {
            let stride_bytes = settings.number("j").unwrap_or(17).saturating_mul(cell.record);
            Pick::Strided { stride_bytes }
        }
        Access::Read | Access::Reread | Access::Pread | Access::Repread if settings.has("K") => {
            Pick::Blend(vec![
                Blend { percent: 100.0 - DISTURBED_PERCENT, pick: Pick::Sequential },
                Blend { percent: DISTURBED_PERCENT, pick: Pick::Uniform },
            ])
        }
        _ => Pick::Sequential,
    };
    let one = access == Access::RecordRewrite && !settings.distinct;
    let length = if one { cell.record } else { cell.bytes() };
    let verb = if group.writes { Verb::Write } else { access.verb() };
    let blended = matches!(pick, Pick::Blend(_));
    let mut pattern = Pattern {
        span: Span { length: Extent::Bytes(length), ..Span::default() },
        coverage: if blended { Coverage::Repeating } else { Coverage::Once },
        ..Pattern::of(verb, pick, cell.record)
    };
    if access == Access::Mixed && part.streams == 0 {
        pattern.mix = Mix::reads(settings.number("+p").unwrap_or(50) as f64);
        pattern.coverage = Coverage::Together;
    }
    if verb == Verb::Write && (settings.has("D") || settings.has("G")) {
        pattern.every = vec![Every::new(Verb::Msync, 1)];
    }
    pattern
}

/// Each record once; of the record that is rewritten as often as there are records.
fn limit(settings: &Settings, part: Pass) -> Limit {
    let records = part.cell.records();
    let one = part.access == Access::RecordRewrite && !settings.distinct;
    let passes = if one { records } else { 1 };
    Limit { passes: Some(passes), operations: Some(records), ..Limit::default() }
}

fn pace(settings: &Settings, part: Pass) -> Pace {
    let (spin_ns, record) = (settings.compute_ns(part.access), part.cell.record);
    let think = match settings.text("+b").and_then(burst) {
        Some((bytes, sleep_ns)) => {
            Some(Think { sleep_ns, spin_ns: 0, every: (bytes / record).max(1), ..Think::default() })
        }
        None => (spin_ns > 0 || settings.has("p")).then(|| Think {
            spin_ns,
            purge_bytes: if settings.has("p") { settings.size("S", 1024) } else { 0 },
            every: 1,
            ..Think::default()
        }),
    };
    let rate_all = match settings.number("+O") {
        Some(rate) => Rate::Operations(rate as f64),
        None => Rate::Unlimited,
    };
    Pace { think, rate_all, open_loop: false, ..Pace::default() }
}

/// Many buffers are at least two.
fn buffers(settings: &Settings, part: Pass) -> Buffers {
    let turns = (MANY_BUFFERS / part.cell.record).clamp(2, 1 << 20) as u32;
    Buffers { turns: if settings.has("m") { turns } else { 0 }, ..Buffers::default() }
}

fn payload(settings: &Settings, verb: Verb) -> Payload {
    let constant = match () {
        () if settings.has("V") => settings.number("V").map(|byte| byte as u8),
        () if settings.has("+X") => Some(0xbb),
        () if settings.has("+Z") => Some(0xa5),
        () => None,
    };
    let percent = |option: &str| settings.number(option).unwrap_or(0) as u8;
    let (dedupe_percent, dedupe) = dedupe(settings);
    let shaped = dedupe_percent > 0 || percent("+a") > 0;
    let checked = settings.has("V") || settings.has("+d");
    Payload {
        content: constant.map_or(Content::Random, |byte| Content::Pattern(vec![byte])),
        compress_percent: percent("+a"),
        dedupe_percent,
        dedupe_chunk_bytes: settings.number("+Q").unwrap_or(0),
        dedupe,
        refresh: if shaped || checked { Refresh::EachWrite } else { Refresh::Once },
        seed: Some(settings.number("+S").unwrap_or(0)),
        // What is written by one pass is checked by another: of that, a stamp says which write it was.
        verify: checked.then(|| Verify {
            stamp: if constant.is_some() { Stamp::Content } else { Stamp::Block },
            when: if verb == Verb::Read { VerifyWhen::default() } else { VerifyWhen::Never },
            ..Verify::default()
        }),
        ..Payload::default()
    }
}

/// How many records repeat, and what they repeat. `-+y` is a part of what `-+w` says, and `-+C` a part of that; without
/// `-+w` iozone repeats nothing, and here the next one is a part of all records.
fn dedupe(settings: &Settings) -> (u8, Dedupe) {
    let percent = |option: &str| settings.number(option).map(|percent| percent as u8);
    match (percent("+w"), percent("+y"), percent("+C")) {
        (Some(all), within, own) => {
            let (within, own) = (f64::from(within.unwrap_or(0)), f64::from(own.unwrap_or(0)));
            let own_percent = within * own / 100.0;
            (all, Dedupe::Mixed { few_percent: within - own_percent, own_percent })
        }
        (None, Some(within), Some(own)) => {
            let own_percent = f64::from(own);
            (within, Dedupe::Mixed { few_percent: 100.0 - own_percent, own_percent })
        }
        (None, Some(within), None) => (within, Dedupe::Few),
        (None, None, own) => (own.unwrap_or(0), Dedupe::Own),
    }
}

fn placement(settings: &Settings, group: &StreamGroup) -> Placement {
    let Some(first) = settings.number("P") else { return Placement::default() };
    let cpus = group.streams.iter().map(|stream| first as u32 + stream).collect();
    Placement { cpus, spread: true, ..Placement::default() }
}

fn measure(settings: &Settings, part: Pass) -> Measure {
    let logged = settings.has("Q") && (part.streams > 0 || part.access.facts().is_always_logged());
    // Where only the operations' own time counts, each of them is timed.
    let each = settings.has("+z") || settings.is_between(part.access);
    Measure {
        sample_ns: if logged || each { 0 } else { SAMPLE_NS },
        each,
        journal: logged.then(|| Journal { completions: true, ..Journal::default() }),
        ..Measure::default()
    }
}
