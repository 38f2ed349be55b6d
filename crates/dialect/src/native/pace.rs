//! How fast, from when, until when: `rate`, `think`, `shared`, `start`, `until`, `finish`.

use iodyno_model::{
    Arrivals, Criterion, Directed, Finish, LatencyTarget, Limit, Pace, Per, Rate, SharedUse, Start, Steady,
    Think, Verb,
};

use super::fields::Fields;
use super::pattern::{directed, known, may, must};
use super::tree::Node;
use super::value::{
    Read, bytes, choice, count, flag, list, percent, rate, signed, small_count, some_bytes, text, time, verb,
};

/// The pace of a job.
pub(crate) fn read(fields: &Fields<'_>) -> Pace {
    let arrivals = [("even", Arrivals::Even), ("poisson", Arrivals::Poisson)];
    let (rate_all, rate) = fields.or("rate", rates, (Rate::Unlimited, Directed::default()));
    Pace {
        rate_all,
        rate,
        rate_least: fields.or("rate_least", directed(super::value::rate), Directed::same(Rate::Unlimited)),
        rate_window_ns: fields.or("rate_window", time, 0),
        think_shifts_rate: fields.flag("think_shifts_rate"),
        arrivals: fields.or("arrivals", choice(&arrivals), Arrivals::Even),
        burst: fields.or("burst", small_count, 0),
        think: fields.get("think", think),
        open_loop: fields.or("open_loop", flag, true),
        shared: fields.or("shared", list(gate), Vec::new()),
        latency_target: fields.get("latency_target", latency_target),
    }
}

/// One rate for all operations together, or one for each direction.
fn rates(node: &Node) -> Read<(Rate, Directed<Rate>)> {
    match node.has(&["read", "write", "trim"]) {
        true => Ok((Rate::Unlimited, directed(rate)(node)?)),
        false => Ok((rate(node)?, Directed::default())),
    }
}

/// `"3us"` after every operation, or a table.
fn think(node: &Node) -> Read<Think> {
    if node.word().is_some() {
        return Ok(Think { sleep_ns: time(node)?, every: 1, ..Think::default() });
    }
    known(node, &["sleep", "spin", "spin_cycles", "purge", "every", "completed", "drain", "after"])?;
    Ok(Think {
        spin_cycles: may(node, "spin_cycles", count, 0)?,
        completed: may(node, "completed", flag, false)?,
        sleep_ns: may(node, "sleep", time, 0)?,
        spin_ns: may(node, "spin", time, 0)?,
        purge_bytes: may(node, "purge", bytes, 0)?,
        every: may(node, "every", count, u64::from(!node.has(&["after"])))?,
        drain: may(node, "drain", flag, false)?,
        after_ns: may(node, "after", time, 0)?,
    })
}

fn latency_target(node: &Node) -> Read<LatencyTarget> {
    known(node, &["latency", "window", "percent", "keep"])?;
    Ok(LatencyTarget {
        latency_ns: must(node, "latency", time)?,
        window_ns: may(node, "window", time, 0)?,
        percent: may(node, "percent", percent, 100.0)?,
        keep: may(node, "keep", flag, false)?,
    })
}

/// What gates every operation of a job; only steps look at what others did.
fn gate(node: &Node) -> Read<SharedUse> {
    match shared(node)? {
        SharedUse { from: Some(_), .. } => Err("`from` belongs to the shared object of a step".into()),
        gate => Ok(gate),
    }
}

/// One use of a shared object: its name, or a table.
pub(crate) fn shared(node: &Node) -> Read<SharedUse> {
    if node.word().is_some() {
        return Ok(SharedUse::new(&text(node)?, 1));
    }
    known(node, &["name", "amount", "per", "of", "from", "retry"])?;
    Ok(SharedUse {
        name: must(node, "name", text)?,
        amount: may(node, "amount", signed, 1)?,
        per: may(node, "per", per, Per::Use)?,
        of: may(node, "of", |node| text(node).map(Some), None)?,
        from: may(node, "from", |node| text(node).map(Some), None)?,
        retry_ns: may(node, "retry", time, 0)?,
    })
}

fn per(node: &Node) -> Read<Per> {
    match node.word() {
        Some("use") => Ok(Per::Use),
        Some("operation") => Ok(Per::Operation),
        _ => some_bytes(node)
            .map(Per::Bytes)
            .map_err(|_| "expected \"use\", \"operation\" or a size such as \"1MiB\"".into()),
    }
}

/// `start`: a time, or a table.
pub(crate) fn start(fields: &Fields<'_>) -> Start {
    fields.or("start", read_start, Start::default())
}

fn read_start(node: &Node) -> Read<Start> {
    if node.word().is_some() {
        return Ok(Start { after_ns: time(node)?, ..Start::default() });
    }
    known(node, &["after", "spread", "after_job", "open", "barrier"])?;
    Ok(Start {
        after_ns: may(node, "after", time, 0)?,
        spread_ns: may(node, "spread", time, 0)?,
        after_job: may(node, "after_job", |node| text(node).map(Some), None)?,
        open: may(node, "open", flag, false)?,
        barrier: may(node, "barrier", flag, false)?,
        clock_id: None,
    })
}

/// `until`: a time, or a table.
pub(crate) fn until(fields: &Fields<'_>) -> Limit {
    fields.or("until", limit, Limit::default())
}

fn limit(node: &Node) -> Read<Limit> {
    if node.word().is_some() {
        return Ok(Limit { time_ns: Some(some_time(node)?), ..Limit::default() });
    }
    let keys = [
        "time",
        "bytes",
        "operations",
        "passes",
        "least",
        "as_phase",
        "ramp",
        "together",
        "wear_out",
        "ramp_bytes",
        "latency",
        "until_full",
        "steady",
    ];
    known(node, &keys)?;
    Ok(Limit {
        time_ns: may(node, "time", |node| some_time(node).map(Some), None)?,
        bytes: may(node, "bytes", |node| some_bytes(node).map(Some), None)?,
        operations: may(node, "operations", |node| count(node).map(Some), None)?,
        together: may(node, "together", flag, false)?,
        passes: may(node, "passes", |node| count(node).map(Some), None)?,
        least_ns: may(node, "least", time, 0)?,
        as_phase: may(node, "as_phase", |node| text(node).map(Some), None)?,
        ramp_ns: may(node, "ramp", time, 0)?,
        ramp_bytes: may(node, "ramp_bytes", bytes, 0)?,
        latency_ns: may(node, "latency", directed(time), Directed::default())?,
        until_full: may(node, "until_full", flag, false)?,
        steady: may(node, "steady", |node| steady(node).map(Some), None)?,
        wear_out: may(node, "wear_out", flag, false)?,
    })
}

/// When a rate counts as steady: `{ what = "operations", limit = "0.3%", window = "10s" }`.
fn steady(node: &Node) -> Read<Steady> {
    known(node, &["what", "slope", "limit", "window", "ramp", "interval"])?;
    let what =
        [("operations", Criterion::Operations), ("bytes", Criterion::Bytes), ("latency", Criterion::Latency)];
    let limit = must(node, "limit", text)?;
    let (number, percent) = limit.strip_suffix('%').map_or((&limit[..], false), |number| (number, true));
    let limit = number.trim().parse::<f64>().ok().filter(|limit| *limit > 0.0);
    Ok(Steady {
        criterion: may(node, "what", choice(&what), Criterion::Operations)?,
        slope: may(node, "slope", flag, false)?,
        limit: limit.ok_or("`limit`: expected a number above 0 or a percentage such as \"0.3%\"")?,
        percent,
        window_ns: must(node, "window", some_time)?,
        ramp_ns: may(node, "ramp", time, 0)?,
        interval_ns: may(node, "interval", some_time, 1_000_000_000)?,
    })
}

fn some_time(node: &Node) -> Read<u64> {
    let ns = time(node)?;
    if ns == 0 { Err("expected a time longer than 0".into()) } else { Ok(ns) }
}

/// `finish`: a sync verb, or a table.
pub(crate) fn finish(fields: &Fields<'_>) -> Finish {
    fields.or("finish", read_finish, Finish::default())
}

fn read_finish(node: &Node) -> Read<Finish> {
    if node.word().is_some() {
        return Ok(Finish { sync: Some(sync(node)?), ..Finish::default() });
    }
    known(node, &["sync", "close", "barrier"])?;
    Ok(Finish {
        sync: may(node, "sync", |node| sync(node).map(Some), None)?,
        close: may(node, "close", flag, false)?,
        barrier: may(node, "barrier", flag, false)?,
    })
}

fn sync(node: &Node) -> Read<Verb> {
    match verb(node) {
        Ok(verb) if verb.kind() == iodyno_model::Kind::Sync => Ok(verb),
        _ => Err("expected fsync, fdatasync, syncfs, sync_file_range or msync".into()),
    }
}
