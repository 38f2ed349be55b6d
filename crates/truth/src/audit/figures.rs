//! Lies that the figures themselves show.

use iodyno_model::{Remedy, units};

use super::{Certainty, Claim, MeasuredLoad, Possible, WorkKind};
use Certainty::{Expected, Open, Proven};

/// Samples beyond a percentile that make it worth telling. Chosen: as in finding 6; `figures_show_what_they_are_made_of`
/// stands on one side.
const BEYOND_LEAST: f64 = 10.0;
/// Least and most of repetitions may lie this far apart, of their mean. Source: SNIA's range of a steady state, 20 %.
const RANGE_MOST: f64 = 0.2;
/// A phase below this tells little: edges, caches and clocks weigh. Chosen: a thousand times what a thread needs to
/// start; `figures_show_what_they_are_made_of` stands on both sides.
const SHORT_SECONDS: f64 = 1.0;
/// Below this a first second of warming up is a tenth of all. Chosen: by that; `figures_show_what_they_are_made_of` stands on
/// both sides.
const SHORTISH_SECONDS: f64 = 10.0;
/// A longest latency of so many means is a spike. Chosen: far beyond the tail of a queue; `figures_show_what_they_are_made_of`
/// stands on one side.
const SPIKE: f64 = 100.0;
/// Share of one processor at which it limits. Chosen: what is left is the machine's own;
/// `a_network_s_rate_may_be_the_link_s_or_one_processor_s` stands on one side.
const BUSY_PERCENT: f64 = 90.0;
/// Share of the time at less than the depth, in percent, at which the depth was not there. Chosen: more than half of it;
/// `figures_show_what_they_are_made_of` stands on one side.
const SHALLOW_PERCENT: f64 = 50.0;
/// A rate that is this share of a link's name is the link's. Source: TCP over Ethernet carries 94.9 % of the line rate with
/// frames of 1500 bytes and 99.1 % with 9000.
const LINK_SHARE: std::ops::Range<f64> = 0.90..1.0;

/// A check of one figure.
type Check = fn(&MeasuredLoad, &Claim) -> Option<Possible>;

/// All that the figures show.
pub fn check(asked: &MeasuredLoad, claims: &[Claim]) -> Vec<Possible> {
    let checks: [Check; 12] = [
        failed,
        of_cache,
        too_quick,
        few_samples,
        unsteady,
        short,
        spikes,
        processor,
        shallow,
        beyond_ceiling,
        link,
        resent,
    ];
    let mut all: Vec<Possible> =
        claims.iter().flat_map(|claim| checks.iter().filter_map(move |check| check(asked, claim))).collect();
    all.extend(once(asked, claims));
    all
}

fn failed(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let failed = claim.failed.filter(|failed| *failed > 0.0)?;
    if claim.way == WorkKind::Network {
        let sentence = format!("{}: {failed} packets were lost", claim.name);
        return Some(Possible::new(Proven, Remedy::SmoothBursts, sentence));
    }
    let sentence = format!("{}: {failed} operations failed, and a failed operation is quick", claim.name);
    Some(Possible::new(Proven, Remedy::FixFailures, sentence))
}

fn of_cache(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let sentence = format!(
        "{} reads the same few blocks from memory on purpose: it is no figure of the drive",
        claim.name
    );
    claim.is_of_cache.then(|| Possible::new(Proven, Remedy::BypassPageCache, sentence))
}

/// Reads that no medium answers.
fn too_quick(asked: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    if claim.way != WorkKind::Read
        || claim.is_of_cache
        || asked.random == Some(false)
        || asked.pretended.is_some()
    {
        return None;
    }
    let each = claim.each_ns(asked.in_flight()).filter(|ns| *ns < super::carriers::FLASH_READ_NS)?;
    let sentence = format!(
        "{}: a read took {}, and flash needs {} for a page: memory answered, if not all then most of them",
        claim.name,
        units::duration(each),
        units::duration(super::carriers::FLASH_READ_NS)
    );
    let is_direct = asked.direct == Some(true);
    let remedy = if is_direct { Remedy::OutgrowDeviceCache } else { Remedy::BypassPageCache };
    Some(Possible::new(if claim.mean_ns.is_some() { Proven } else { Expected }, remedy, sentence))
}

fn few_samples(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let (percentile, operations) = (claim.percentile?, claim.operations?);
    let beyond = operations * (100.0 - percentile) / 100.0;
    (beyond < BEYOND_LEAST).then(|| {
        let sentence =
            format!("{}: beyond p{percentile} of {operations} operations lie {:.1}", claim.name, beyond);
        Possible::new(Proven, Remedy::ReadLowerPercentile, sentence)
    })
}

fn unsteady(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let (least, most) = claim.range.filter(|(least, most)| *most > 0.0 && least <= most)?;
    let range = (most - least) / ((most + least) / 2.0);
    (claim.repeated > 1 && range > RANGE_MOST).then(|| {
        let sentence = format!(
            "{}: the least and the most of {} lie {:.0} % apart, and 20 % is what a steady state may range over",
            claim.name,
            claim.repeated,
            range * 100.0
        );
        Possible::new(Proven, Remedy::RepeatMoreOften, sentence)
    })
}

fn short(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let seconds = claim.seconds.filter(|seconds| *seconds > 0.0 && *seconds < SHORTISH_SECONDS)?;
    let certainty = if seconds < SHORT_SECONDS { Proven } else { Open };
    let sentence = format!(
        "{}: {} is too short: starting, warming up and caches are a large part of it",
        claim.name,
        units::duration(seconds * 1e9)
    );
    Some(Possible::new(certainty, Remedy::RunLonger, sentence))
}

fn spikes(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let (mean, longest) = (claim.mean_ns.filter(|mean| *mean > 0.0)?, claim.longest_ns?);
    (longest > SPIKE * mean).then(|| {
        let sentence = format!(
            "{}: the longest latency ({}) is {:.0} times the mean ({})",
            claim.name,
            units::duration(longest),
            longest / mean,
            units::duration(mean)
        );
        Possible::new(Proven, Remedy::ReadTail, sentence)
    })
}

fn processor(asked: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let busy = claim.processor_percent.filter(|percent| *percent >= BUSY_PERCENT)?;
    let sentence = format!(
        "{}: the tool kept its processor busy for {busy:.0} % of the time, so the figure may be the processor's",
        claim.name
    );
    let remedy = if asked.network { Remedy::AddFlows } else { Remedy::AddWorkers };
    Some(Possible::new(Proven, remedy, sentence))
}

fn shallow(asked: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let (share, depth) = (claim.shallow_percent.filter(|share| *share > SHALLOW_PERCENT)?, asked.depth?);
    let sentence = format!(
        "{}: for {share:.0} % of the submissions fewer than the {depth} that were asked for were in flight",
        claim.name
    );
    (depth > 1).then(|| Possible::new(Proven, Remedy::UseAsynchronousEngine, sentence))
}

fn beyond_ceiling(asked: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let (ceiling, rate) = (asked.ceiling_bits? as f64, claim.bytes_per_second? * 8.0);
    (rate > ceiling).then(|| {
        let sentence = format!(
            "{}: {}bit/s, and the way carries {}bit/s: what is beyond that came from this side of it",
            claim.name,
            units::count(rate),
            units::count(ceiling)
        );
        Possible::new(Proven, Remedy::DistrustFigure, sentence)
    })
}

/// A rate that is just what a link carries.
fn link(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let rate = claim.bytes_per_second.filter(|_| claim.way == WorkKind::Network)? * 8.0;
    let gigabits = [1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0];
    let link = gigabits.into_iter().find(|link| LINK_SHARE.contains(&(rate / (link * 1e9))))?;
    let sentence = format!(
        "{}: {}bit/s are {:.0} % of a link of {link} Gbit/s: the figure is that of the link, and no more is to be seen through it",
        claim.name,
        units::count(rate),
        rate / link / 1e7
    );
    Some(Possible::new(Expected, Remedy::WidenLink, sentence))
}

fn resent(_: &MeasuredLoad, claim: &Claim) -> Option<Possible> {
    let resent = claim.retransmits.filter(|resent| *resent > 0.0)?;
    let segments = claim.bytes? / 1448.0;
    (resent / segments > 1e-3).then(|| {
        let sentence =
            format!("{}: {resent} segments were sent again: something on the way drops them", claim.name);
        Possible::new(Open, Remedy::RaiseReceiveWindow, sentence)
    })
}

/// What was measured once.
fn once(asked: &MeasuredLoad, claims: &[Claim]) -> Option<Possible> {
    let is_once =
        asked.repeated.is_none_or(|times| times < 2) && claims.iter().all(|claim| claim.repeated < 2);
    (is_once && !claims.is_empty()).then(|| {
        let sentence = "it was measured once: nothing shows how far the next time would lie from it";
        Possible::new(Open, Remedy::RepeatMoreOften, sentence)
    })
}
