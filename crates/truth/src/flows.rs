//! Lies 27 to 30: a flow through the network that was limited by something other than the network: the receiver's buffer,
//! one processor, bursts of its own pace, or a window.
//!
//! Proof: what the kernel says of the connection (`TCP_INFO`), datagrams dropped at a full buffer (`SO_RXQ_OVFL`), the
//! processor time of the worker, and how late the schedule was kept. A flow whose other end nobody saw is not judged by it.

use iodyno_model::{
    ConnectionActivity, EngineTrait, Figure, Finding, FindingKind, Job, JobRecord, Kind, ProcessorActivity,
    Rate, Record, Remedy, Severity, Sighting, WorkerRecord, units,
};

use crate::case::{COUNTED_NS, PhaseEvidence};
use crate::merge::{self, Suspicion};

/// Percent of the datagrams sent that were lost, from which loss spoils a figure. Chosen: a thousandth moves no figure
/// of throughput; `a_receivers_buffer_that_is_too_small` stands on both sides.
const LEAST_LOST_PERCENT: f64 = 0.1;
/// Percent of the lost datagrams that a full buffer must explain. Chosen: the rest may be lost on the way;
/// `a_receivers_buffer_that_is_too_small` stands on both sides.
const LEAST_EXPLAINED_PERCENT: f64 = 10.0;
/// Percent of its time in which a worker had a processor. Chosen: start, end and interrupts take the rest;
/// `a_flow_that_fills_a_processor` stands on both sides.
const FULL_PROCESSOR_PERCENT: f64 = 95.0;
/// Percent of its busy time in which a window held a flow back. Chosen: more than half of it;
/// `a_flow_that_waits_for_a_window` and `nothing_is_wrong_with_an_honest_flow` stand on both sides.
const MOST_LIMITED_PERCENT: f64 = 50.0;
/// What most systems give a socket, bytes: a burst that is larger does not fit. Source: Linux, `SK_RMEM_MAX` of
/// include/net/sock.h, the default of net.core.rmem_default.
const USUAL_BUFFER_BYTES: f64 = 212_992.0;

/// Processors that must idle beside a flow that has one for itself. Chosen: half a one is room for another flow;
/// `a_flow_that_fills_a_processor` stands on both sides.
const LEAST_IDLE: f64 = 0.5;
/// A connection that was busy for less than one in so many parts of the phase was not held up. Chosen: a quarter;
/// `a_flow_that_waits_for_a_window` stands on both sides.
const LEAST_BUSY: f64 = 4.0;

/// Flows that something else than the network limited.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let flows = || case.jobs().filter(|(_, record)| record.engine_is(EngineTrait::MovesFlows));
    // How many datagrams found a full buffer is a count, and no matter of time.
    let mut found: Vec<_> = flows().filter_map(|(job, record)| overflowed(case, job, record)).collect();
    if case.found.elapsed_ns < COUNTED_NS || flows().next().is_none() {
        return found;
    }
    found.extend(full_processor(case));
    found.extend(burst(case));
    found.extend(case.found.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::Connection(seen) => windowed(case, seen),
        _ => None,
    }));
    found
}

fn fact(record: &JobRecord, name: &str) -> u64 {
    let of = |worker: &WorkerRecord| {
        worker.facts.iter().filter(|(known, _)| known == name).map(|(_, value)| *value).sum::<u64>()
    };
    record.workers.iter().map(of).sum()
}

fn percent(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of * 100.0 } else { 0.0 }
}

/// Lost datagrams of a receiver, and how many were sent to it as far as it can tell.
fn lost(record: &JobRecord) -> (f64, f64) {
    let lost = fact(record, "lost") as f64;
    (lost, lost + fact(record, "datagrams") as f64)
}

/// What a receiver counted of the datagrams that were sent to it.
#[derive(Clone, Copy)]
struct ReceivedCounts {
    came: f64,
    lost: f64,
    dropped: f64,
}

/// 27: datagrams that came and found the buffer full.
fn overflowed(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let of = |name: &str| fact(record, name) as f64;
    let received = ReceivedCounts { came: of("datagrams"), lost: of("lost"), dropped: of("overflow") };
    full_buffer(case.label(), &job.name, received)
}

/// The same where only the peer saw it, and has told its sender afterwards.
pub fn told_by_peers(record: &Record) -> Vec<Finding> {
    let jobs = record.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
    let found = jobs.filter_map(|(phase, job)| {
        let named = |name: &str| job.peer.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        let of = |name: &str| named(name).unwrap_or(0) as f64;
        let received = ReceivedCounts { came: of("datagrams"), lost: of("lost"), dropped: of("overflow") };
        full_buffer(phase.name.clone(), &job.name, received)
    });
    merge::merge(found.collect())
}

fn full_buffer(phase: String, job: &str, received: ReceivedCounts) -> Option<Suspicion> {
    let ReceivedCounts { came, lost, dropped } = received;
    // Datagrams without numbers tell nothing of the others: then those that were dropped are all that is known missing.
    let lost = lost.max(dropped);
    let sent = lost + came;
    let explained = percent(dropped, lost);
    if percent(dropped, sent) < LEAST_LOST_PERCENT || explained < LEAST_EXPLAINED_PERCENT {
        return None;
    }
    let sentence = format!(
        "{} datagrams came and found the receiver's buffer full: the network lost at most {:.0} % of what is missing",
        units::count(dropped),
        100.0 - explained.min(100.0)
    );
    let figures = vec![
        Figure::new("dropped at the buffer", dropped, ""),
        Figure::new("lost in all", lost, ""),
        Figure::new("dropped of what was sent", percent(dropped, sent), "%"),
    ];
    let found = Suspicion::new(FindingKind::SmallReceiveBuffer, Severity::Doubtful, phase, sentence, figures);
    let needs = percent(dropped, sent) / 100.0;
    Some(found.job(job).remedy(Remedy::RaiseReceiveBuffer).weight(dropped).needs(needs))
}

/// 28: a flow at full speed whose worker always had a processor, while others idled.
fn full_processor(case: &PhaseEvidence<'_>) -> Option<Suspicion> {
    let processors = case.found.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Processors(seen) => Some(seen),
        _ => None,
    })?;
    let open = |(job, record): &(&Job, &JobRecord)| {
        record.engine_is(EngineTrait::MovesFlows) && !job.pace.has_rate()
    };
    let busiest = case.jobs().filter(open).flat_map(|(job, record)| {
        record.workers.iter().filter_map(move |worker| {
            let ran = worker.ended_ns.saturating_sub(worker.began_ns);
            let used = percent((worker.user_ns + worker.system_ns) as f64, ran as f64);
            (ran >= COUNTED_NS).then_some((job, used))
        })
    });
    let (job, used) = busiest.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let idle = idle_processors(processors);
    if used < FULL_PROCESSOR_PERCENT || idle < LEAST_IDLE {
        return None;
    }
    let sentence = format!(
        "one flow took {used:.0} % of a processor while {idle:.1} of {} idled: the processor was the limit",
        processors.cpus
    );
    let figures =
        vec![Figure::new("processor time of the flow", used, "%"), Figure::new("processors idle", idle, "")];
    let found = Suspicion::new(FindingKind::ProcessorBound, Severity::Note, case.label(), sentence, figures);
    Some(found.job(&job.name).remedy(Remedy::AddFlows).weight(used))
}

fn idle_processors(seen: &ProcessorActivity) -> f64 {
    if seen.interval_ns == 0 { 0.0 } else { seen.idle_ns as f64 / seen.interval_ns as f64 }
}

/// 29: datagrams are lost of a flow that should have been even, and was sent in bursts that no buffer holds.
fn burst(case: &PhaseEvidence<'_>) -> Option<Suspicion> {
    let all = case
        .jobs()
        .filter(|(_, record)| record.engine_is(EngineTrait::MovesFlows))
        .map(|(_, record)| lost(record));
    let (lost, sent) = all.fold((0.0, 0.0), |(lost, sent), (more, of)| (lost + more, sent + of));
    if percent(lost, sent) < LEAST_LOST_PERCENT {
        return None;
    }
    let paced =
        case.jobs().filter(|(job, record)| record.engine_is(EngineTrait::MovesFlows) && job.pace.has_rate());
    let worst = paced.filter_map(|(job, record)| Some((job, late_bytes(job, record)?)));
    let (job, bytes) = worst.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    if bytes < USUAL_BUFFER_BYTES {
        return None;
    }
    let sentence = format!(
        "the sender fell behind its rate and caught up with up to {} at once, which no buffer holds: {:.2} % of the \
         datagrams are missing",
        units::decimal(bytes),
        percent(lost, sent)
    );
    let figures =
        vec![Figure::new("caught up at once", bytes, "bytes"), Figure::new("lost", percent(lost, sent), "%")];
    let found = Suspicion::new(FindingKind::BurstLoss, Severity::Doubtful, case.label(), sentence, figures);
    let needs = percent(lost, sent) / 100.0;
    Some(found.job(&job.name).remedy(Remedy::SmoothBursts).weight(bytes).needs(needs))
}

/// What was due while the sender was late, bytes: its rate times how late the latest of a thousand was.
fn late_bytes(job: &Job, record: &JobRecord) -> Option<f64> {
    let line = record.tally.lines.iter().find(|line| line.verb.kind() == Kind::Network)?;
    let service = line.service.as_ref()?;
    let late_ns = line.latency.percentile(99.9).saturating_sub(service.percentile(99.9)) as f64;
    let each = line.bytes as f64 / line.operations.max(1) as f64;
    let rates = [job.pace.rate_all, job.pace.rate.write];
    let rate = rates.into_iter().find_map(|rate| match rate {
        Rate::Unlimited => None,
        Rate::Bytes(bytes) => Some(bytes as f64),
        Rate::Operations(operations) => Some(operations * each),
    })?;
    Some(rate * late_ns / 1e9)
}

/// 30: a connection that waited for a window rather than for the network.
fn windowed(case: &PhaseEvidence<'_>, seen: &ConnectionActivity) -> Option<Suspicion> {
    let busy = seen.busy_us as f64;
    let peer = percent(seen.window_limited_us as f64, busy);
    let own = percent(seen.buffer_limited_us as f64, busy);
    let (limited, remedy, whose) = if peer >= own {
        (peer, Remedy::RaiseReceiveWindow, "the peer's window was full")
    } else {
        (own, Remedy::RaiseSendWindow, "the send buffer was too small")
    };
    let long_enough = seen.busy_us as f64 * 1000.0 >= case.found.elapsed_ns as f64 / LEAST_BUSY;
    if limited < MOST_LIMITED_PERCENT || !long_enough {
        return None;
    }
    let job = case.asked.jobs.get(seen.job).map_or(seen.target.as_str(), |job| job.name.as_str());
    let sentence = format!(
        "for {limited:.0} % of the time that {job} sent, {whose}: the network could have carried more"
    );
    let mut figures = vec![
        Figure::new("peer's window full", peer, "%"),
        Figure::new("send buffer too small", own, "%"),
        Figure::new("round trip", f64::from(seen.rtt_us), "µs"),
    ];
    if seen.peer_window_bytes > 0 {
        figures.push(Figure::new("peer's window", seen.peer_window_bytes as f64, "bytes"));
    }
    let found = Suspicion::new(FindingKind::SmallWindow, Severity::Doubtful, case.label(), sentence, figures);
    Some(found.job(job).remedy(remedy).matter(remedy.words()).weight(limited))
}
