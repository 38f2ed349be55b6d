//! What pasted figures make possible, expected or proven, beside an honest load that makes nothing so.

use iodyno_model::FindingKind as K;

use super::*;

/// A random read of 4 KiB blocks past the cache, of a device in use.
fn honest() -> (MeasuredLoad, Claim) {
    let asked = MeasuredLoad {
        reads: true,
        direct: Some(true),
        holes: Some(false),
        span_bytes: Some(1 << 40),
        random: Some(true),
        workers: Some(4),
        depth: Some(32),
        paced: Some(false),
        repeated: Some(5),
        ..MeasuredLoad::default()
    };
    let claim = Claim {
        bytes_per_second: Some(2e9),
        operations_per_second: Some(500_000.0),
        operations: Some(1e8),
        seconds: Some(200.0),
        mean_ns: Some(256_000.0),
        longest_ns: Some(3e6),
        percentile: Some(99.9),
        range: Some((1.95e9, 2.0e9)),
        repeated: 5,
        ..Claim::new("read", WorkKind::Read)
    };
    (asked, claim)
}

fn found(asked: &MeasuredLoad, claim: &Claim) -> Vec<(K, Certainty)> {
    possible(asked, std::slice::from_ref(claim)).into_iter().map(|one| (one.kind, one.certainty)).collect()
}

fn certainty(asked: &MeasuredLoad, claim: &Claim, kind: K) -> Option<Certainty> {
    found(asked, claim).into_iter().find(|(known, _)| *known == kind).map(|(_, certainty)| certainty)
}

#[test]
fn an_honest_result_raises_nothing() {
    let (asked, claim) = honest();
    assert_eq!(found(&asked, &claim), []);
}

#[test]
fn reads_are_of_memory_by_their_time_by_their_span_or_perhaps() {
    let (asked, claim) = honest();
    let buffered = MeasuredLoad { direct: Some(false), ..asked.clone() };
    assert_eq!(certainty(&buffered, &claim, K::CachedReads), Some(Certainty::Open));
    let small = MeasuredLoad { span_bytes: Some(1 << 30), memory_bytes: Some(1 << 34), ..buffered.clone() };
    assert_eq!(certainty(&small, &claim, K::CachedReads), Some(Certainty::Expected));
    let large = MeasuredLoad { span_bytes: Some(1 << 36), memory_bytes: Some(1 << 34), ..buffered.clone() };
    assert_eq!(certainty(&large, &claim, K::CachedReads), None);
    let quick = Claim { mean_ns: Some(3_000.0), longest_ns: None, ..claim.clone() };
    assert_eq!(certainty(&buffered, &quick, K::CachedReads), Some(Certainty::Proven));
    // Past the page cache it can only be a cache below it.
    assert_eq!(certainty(&asked, &quick, K::CachedReads), None);
    assert_eq!(certainty(&asked, &quick, K::DeviceCacheReads), Some(Certainty::Proven));
    let unknown = MeasuredLoad { direct: None, ..asked };
    assert_eq!(certainty(&unknown, &claim, K::CachedReads), Some(Certainty::Open));
}

#[test]
fn writes_without_a_flush_lie_unless_memory_is_outgrown() {
    let asked = MeasuredLoad {
        writes: true,
        direct: Some(false),
        synced: Some(false),
        memory_bytes: Some(1 << 30),
        ..MeasuredLoad::default()
    };
    let claim =
        Claim { bytes: Some(1e9), seconds: Some(200.0), repeated: 3, ..Claim::new("write", WorkKind::Write) };
    assert_eq!(certainty(&asked, &claim, K::UnflushedWrites), Some(Certainty::Expected));
    let more = Claim { bytes: Some(2e10), ..claim.clone() };
    assert_eq!(certainty(&asked, &more, K::UnflushedWrites), Some(Certainty::Open));
    assert_eq!(certainty(&MeasuredLoad { synced: Some(true), ..asked }, &claim, K::UnflushedWrites), None);
}

#[test]
fn figures_show_what_they_are_made_of() {
    let (asked, claim) = honest();
    let of = |claim: Claim, kind| certainty(&asked, &claim, kind);
    assert_eq!(
        of(Claim { operations: Some(5_000.0), ..claim.clone() }, K::FewSamples),
        Some(Certainty::Proven)
    );
    assert_eq!(
        of(Claim { range: Some((1e9, 2e9)), ..claim.clone() }, K::UnsteadyRate),
        Some(Certainty::Proven)
    );
    assert_eq!(
        of(Claim { longest_ns: Some(1e9), ..claim.clone() }, K::LatencySpikes),
        Some(Certainty::Proven)
    );
    assert_eq!(
        of(Claim { failed: Some(1.0), ..claim.clone() }, K::FailedOperations),
        Some(Certainty::Proven)
    );
    assert_eq!(of(Claim { seconds: Some(0.4), ..claim.clone() }, K::ShortPhase), Some(Certainty::Proven));
    assert_eq!(of(Claim { seconds: Some(4.0), ..claim.clone() }, K::ShortPhase), Some(Certainty::Open));
    assert_eq!(
        of(Claim { shallow_percent: Some(100.0), ..claim }, K::DepthNotReached),
        Some(Certainty::Proven)
    );
}

#[test]
fn a_told_ceiling_is_held_against_each_claim() {
    let (asked, claim) = honest();
    let told = MeasuredLoad { ceiling_bits: Some(10_000_000_000), ..asked };
    assert_eq!(certainty(&told, &claim, K::ImplausibleRate), Some(Certainty::Proven));
    let wide = MeasuredLoad { ceiling_bits: Some(25_000_000_000), ..told };
    assert_eq!(certainty(&wide, &claim, K::ImplausibleRate), None);
}

#[test]
fn a_rate_names_what_carries_it_and_what_cannot() {
    let text = |rate, hosts| carried(rate, hosts, WorkKind::Read).sentence();
    assert_eq!(
        text(2.95e9, 1),
        "2.95 GB/s need PCIe 3.0 x4 (75 % of what it carries) or 25 Gbit/s Ethernet (94 % of what it carries) at least; SAS 12 \
         Gbit/s (1.2 GB/s) or 10 Gbit/s Ethernet (1.25 GB/s) cannot carry it"
    );
    assert!(text(2.95e9, 4).starts_with("738 MB/s need SAS"), "{}", text(2.95e9, 4));
    assert!(text(1e12, 1).contains("more than any one link"), "{}", text(1e12, 1));
    assert!(text(70e9, 1).contains("cannot carry it"));
    assert!(!carried(1e9, 1, WorkKind::Network).sentence().contains("PCIe"));
}

#[test]
fn a_network_s_rate_may_be_the_link_s_or_one_processor_s() {
    let asked =
        MeasuredLoad { network: true, workers: Some(1), repeated: Some(3), ..MeasuredLoad::default() };
    let claim = Claim {
        bytes_per_second: Some(9.41e9 / 8.0),
        bytes: Some(1e12),
        seconds: Some(60.0),
        ..Claim::new("flow", WorkKind::Network)
    };
    assert_eq!(certainty(&asked, &claim, K::NetworkBound), Some(Certainty::Expected));
    assert_eq!(certainty(&asked, &claim, K::ProcessorBound), Some(Certainty::Open));
    let busy = Claim { processor_percent: Some(99.0), bytes_per_second: Some(17e9 / 8.0), ..claim };
    assert_eq!(certainty(&asked, &busy, K::NetworkBound), None);
    assert_eq!(certainty(&asked, &busy, K::ProcessorBound), Some(Certainty::Proven));
}
