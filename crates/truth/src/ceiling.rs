//! Lie 32: faster than anything beneath can carry.
//!
//! Proof: arithmetic. What a phase moved each second, against the narrowest link on the way to the storage: the bus of the
//! device, the network links of all hosts together, or what the user said that it carries. Whatever is faster was answered
//! on this side of the link. Links carry both ways at once, so that reads and writes are held against it each alone.

use iodyno_model::{Figure, FindingKind, Intent, JobRecord, Kind, Link, Remedy, Severity, units};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// So many times what the link carries are past what clocks and rounded names of links explain. Chosen: a clock that is
/// 0.1 % off is a finding of its own (15), and no link carries more than its name says. `faster_than_its_link` stands
/// on both sides, at 1.01 and 1.07.
const BEYOND: f64 = 1.05;
/// Less than this may still lie in buffers on both sides, bytes. Chosen: well above the buffers of sockets and queues;
/// `faster_than_its_link` stands on both sides.
const LEAST_BYTES: u64 = 64 << 20;

/// What this phase moved faster than it can have come.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if matches!(case.intent(), Intent::Cache | Intent::Nothing) {
        return Vec::new();
    }
    let told = case.plan.ceiling_bits.map(|bits| Link { name: "the ceiling that was told".into(), bits });
    let both = [
        told.and_then(|link| judged(case, &link, case.jobs().map(|(_, record)| record).collect())),
        links(case)
            .and_then(|link| judged(case, &link, case.storage_jobs().map(|(_, record)| record).collect())),
    ];
    both.into_iter().flatten().reduce(|a, b| if b.weight > a.weight { b } else { a }).into_iter().collect()
}

/// All links on the way to the phase's targets as one, on all hosts; none where one of them is not known.
fn links(case: &PhaseEvidence<'_>) -> Option<Link> {
    let mut ways: Vec<(&str, &Link)> = Vec::new();
    for target in case.storage_jobs().flat_map(|(job, _)| case.targets(job)) {
        let facts = case.facts(&target.name)?;
        // What is no disk is reached through the host's network.
        let way = (facts.disk.as_deref().unwrap_or_default(), facts.link.as_ref()?);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let hosts = case.record.world.hosts.len().max(1) as u64;
    let name = ways.iter().map(|(_, link)| link.name.as_str()).collect::<Vec<_>>().join(" and ");
    let name = if hosts > 1 { format!("{name} of each of {hosts} hosts") } else { name };
    let bits = ways.iter().map(|(_, link)| link.bits).sum::<u64>().saturating_mul(hosts);
    (bits > 0).then_some(Link { name, bits })
}

fn judged(case: &PhaseEvidence<'_>, link: &Link, jobs: Vec<&JobRecord>) -> Option<Suspicion> {
    let begun = jobs.iter().map(|record| record.tally.began_ns).min()?;
    let over = jobs.iter().map(|record| record.tally.last_done_ns).max()?;
    let moved = |kind: Kind| jobs.iter().map(|record| record.tally.bytes(kind)).sum::<u64>();
    let ways = [(Kind::Read, "read"), (Kind::Write, "written"), (Kind::Network, "carried")];
    let (bytes, way) =
        ways.map(|(kind, way)| (moved(kind), way)).into_iter().max_by_key(|(bytes, _)| *bytes)?;
    let seconds = over.checked_sub(begun).filter(|ns| *ns > 0)? as f64 / 1e9;
    let (rate, most) = (bytes as f64 * 8.0 / seconds, link.bits as f64);
    if bytes < LEAST_BYTES || rate <= BEYOND * most {
        return None;
    }
    let sentence = format!(
        "{}bit/s were {way}, and {} carries {}bit/s at most: this cannot have come from beneath it",
        units::count(rate),
        link.name,
        units::count(most)
    );
    let figures = vec![
        Figure::new(way, rate, "bit/s"),
        Figure::new("carried at most", most, "bit/s"),
        Figure::new("bytes", bytes as f64, "bytes"),
        Figure::new("seconds", seconds, ""),
    ];
    let found =
        Suspicion::new(FindingKind::ImplausibleRate, Severity::Invalid, case.label(), sentence, figures);
    Some(found.remedy(Remedy::DistrustFigure).weight(rate / most).needs(1.0 - most / rate))
}
