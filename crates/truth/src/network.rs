//! Lie 18: the network, not the storage, was the limit.
//!
//! Proof: an interface that carried the workload's bytes at (nearly) the rate of its link, or of a queue discipline that
//! lets no more through. Where the network is what is measured, its link is no lie, but a shaper in front of it is.

use iodyno_model::{
    EngineTrait, Figure, FindingKind, Intent, InterfaceActivity, Kind, Remedy, Severity, Sighting, units,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// A link or a shaper is full from this share on; headers and acknowledgements take the rest. Chosen: TCP carries 0.94
/// of a link in frames of 1,500 bytes; `a_network_that_is_the_limit` stands on both sides.
const FULL: f64 = 0.85;
/// Share of the workload's bytes that an interface must have carried to be the way to the storage. Chosen: whichever is
/// more of them; `a_network_that_is_the_limit` stands on both sides.
const LEAST_CARRIED: f64 = 0.5;
/// Less than this is a handful of packets, bytes. Chosen: less than a thousand full packets;
/// `a_handful_of_packets_fills_no_link` stands on both sides.
const LEAST_BYTES: u64 = 1 << 20;

/// Interfaces that this phase filled.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let real = case.jobs().any(|(_, record)| !record.engine_is(EngineTrait::Pretends));
    let interfaces = case.found.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::Interface(interface) if real => Some(interface),
        _ => None,
    });
    let worst = interfaces.filter_map(|interface| judged(case, interface));
    worst.reduce(|a, b| if b.weight > a.weight { b } else { a }).into_iter().collect()
}

/// Bytes that the phase moved towards us and away from us.
fn moved(case: &PhaseEvidence<'_>) -> (u64, u64) {
    case.jobs().fold((0, 0), |(towards, away), (_, record)| {
        let tally = &record.tally;
        // A peer's bytes go both ways.
        let network = tally.bytes(Kind::Network);
        (towards + tally.bytes(Kind::Read) + network, away + tally.bytes(Kind::Write) + network)
    })
}

/// How long the shortest of the jobs was at work that moved most of the bytes: the interface idles before and after it, ns.
fn busy_ns(case: &PhaseEvidence<'_>) -> Option<u64> {
    let most = case.jobs().map(|(_, record)| record.tally.all_bytes()).max()?;
    let movers = case.jobs().filter(|(_, record)| record.tally.all_bytes() * 2 >= most.max(1));
    let spans = movers.map(|(_, record)| record.tally.last_done_ns.saturating_sub(record.tally.began_ns));
    spans.filter(|ns| *ns > 0).min()
}

fn judged(case: &PhaseEvidence<'_>, interface: &InterfaceActivity) -> Option<Suspicion> {
    let seconds = busy_ns(case).unwrap_or(interface.interval_ns).min(interface.interval_ns) as f64 / 1e9;
    let (towards, away) = moved(case);
    let network = case.intent() == Intent::Network
        || case.jobs().any(|(_, record)| record.engine_is(EngineTrait::ExchangesFiles));
    let carried = |bytes: u64, of: u64| of >= LEAST_BYTES && bytes as f64 >= LEAST_CARRIED * of as f64;
    let bits = |bytes: u64| bytes as f64 * 8.0 / seconds.max(1e-9);
    let (sent, received) = (bits(interface.sent_bytes), bits(interface.received_bytes));
    // What comes back over the loop was sent by us, whichever way the workload's bytes went.
    let looped = carried(interface.sent_bytes, towards) && interface.name.starts_with("lo");
    let outward = carried(interface.sent_bytes, away) || looped;
    let inward = carried(interface.received_bytes, towards);
    let shaper = interface.queue.as_ref().and_then(|queue| Some((queue, queue.rate_bits? as f64)));
    if let Some((queue, rate)) = shaper.filter(|(_, rate)| outward && sent >= FULL * rate) {
        let sentence = format!(
            "the queue discipline of {} ({}) lets {}bit/s through, and {}bit/s were sent: it was the limit",
            interface.name,
            queue.kind,
            units::count(rate),
            units::count(sent)
        );
        let figures = vec![
            Figure::new("let through", rate, "bit/s"),
            Figure::new("sent", sent, "bit/s"),
            Figure::new("held back", queue.overlimits as f64, ""),
            Figure::new("backlog", queue.backlog_bytes as f64, "bytes"),
        ];
        return Some(suspicion(case, sentence, figures, Remedy::RemoveShaper).weight(sent / rate));
    }
    let link = interface.link_bits.filter(|bits| *bits > 0 && !network)? as f64;
    let used = if outward { sent } else { 0.0 }.max(if inward { received } else { 0.0 });
    if used < FULL * link {
        return None;
    }
    let sentence = format!(
        "{} carried {}bit/s of the {}bit/s of its link: the network was the limit, not the storage",
        interface.name,
        units::count(used),
        units::count(link)
    );
    let figures = vec![
        Figure::new("link", link, "bit/s"),
        Figure::new("carried", used, "bit/s"),
        Figure::new("used of the link", used / link * 100.0, "%"),
        Figure::new("dropped", interface.dropped as f64, ""),
    ];
    Some(suspicion(case, sentence, figures, Remedy::WidenLink).weight(used / link))
}

fn suspicion(case: &PhaseEvidence<'_>, sentence: String, figures: Vec<Figure>, remedy: Remedy) -> Suspicion {
    Suspicion::new(FindingKind::NetworkBound, Severity::Doubtful, case.label(), sentence, figures)
        .remedy(remedy)
        .matter(remedy.words())
}
