//! One cause, one finding: what another finding explains is told under that one.
//!
//! A finding is explained where, in the same phase, one was found that may bring it about, weighs no less, and took at
//! three quarters of the share that all of it needs: shares are calculated, and a cause is what is behind most of it. Nothing
//! is dropped and nothing weighs less: who counts findings counts them all. What the checks themselves have taken out
//! (stalled workers without their waiting for a processor, 14) is explained by nobody.

use std::cmp::Reverse;

use iodyno_model::FindingKind::{self, *};
use iodyno_model::{Finding, Severity};

use crate::merge::Suspicion;

/// Of the share that an effect needs, so much a cause has taken at least. Chosen: shares are estimates;
/// `a_busy_machine_explains_what_it_is_strong_enough_for` stands on both sides.
const MOST_OF_IT: f64 = 0.75;

/// What may bring what about. No finding explains one that, over others, may explain it.
const EXPLAINS: &[(FindingKind, &[FindingKind])] = &[
    // Reads that memory answered: quick among slow ones, over when they are handed over, all of it processor time.
    (CachedReads, &[UnsteadyRate, FallingRate, GeneratorBound, DepthNotReached, ImplausibleRate]),
    // Writes into memory, besides: until it is full, when the next one waits for all of them.
    (
        UnflushedWrites,
        &[UnsteadyRate, FallingRate, GeneratorBound, DepthNotReached, LatencySpikes, ImplausibleRate],
    ),
    // Holes are answered as memory is.
    (UnwrittenReads, &[UnsteadyRate, FallingRate, GeneratorBound, DepthNotReached, ImplausibleRate]),
    // Passes that a device's cache made quick.
    (DeviceCacheReads, &[UnsteadyRate, ImplausibleRate]),
    // A generator that cannot hand over in time.
    (GeneratorBound, &[DepthNotReached, BelowPeak]),
    // Who has no processor, or no memory, is late, does nothing meanwhile, and does not take what arrives.
    (
        SharedMachine,
        &[
            UnsteadyRate,
            FallingRate,
            CoordinatedOmission,
            LateReplay,
            DepthNotReached,
            BelowPeak,
            LatencySpikes,
            SmallReceiveBuffer,
            BurstLoss,
        ],
    ),
    // A device that works for others, and moves what nobody here asked for.
    (SharedDevice, &[UnsteadyRate, FallingRate, CoordinatedOmission, WriteAmplification, LatencySpikes]),
    // Too little in flight, or too few workers, leave a device idle.
    (DepthNotReached, &[BelowPeak]),
    (UnevenWorkers, &[BelowPeak]),
    // Who waits for a file's lock hands nothing over.
    (SharedFile, &[DepthNotReached, BelowPeak]),
    // A store that turns requests away, most of them of one prefix.
    (StoreThrottled, &[UnsteadyRate, FallingRate]),
    (CrowdedShard, &[StoreThrottled, UnsteadyRate, FallingRate]),
    // Memory is done as it is asked.
    (DisguisedTarget, &[DepthNotReached]),
];

/// The beginning of the name of the figure that says how much of a finding there is; empty: the first share does.
fn figure_name(kind: FindingKind) -> &'static str {
    match kind {
        DeviceCacheReads => "later passes",
        UnsteadyRate => "range",
        FallingRate => "fast for",
        CoordinatedOmission => "p99 from the intended start",
        SharedDevice => "of others",
        DepthNotReached => "depth reached, mean",
        WriteAmplification => "times as much",
        IneffectiveFlushes => "sync latency, median",
        ReshapedRequests => "request of",
        FailedOperations => "failed",
        ShortPhase => "length",
        ShortStroke => "share",
        LatencySpikes => "longest",
        SmallReceiveBuffer => "dropped of what was sent",
        BurstLoss => "lost",
        SharedFile => "share of them",
        ImplausibleRate => "carried at most",
        LateReplay => "p99 of lateness",
        HiddenRetries => "attempts",
        UncheckedContent => "unchecked",
        SmallParts => "a part",
        StarvedAccelerators => "utilisation, mean",
        CachedReads | UnflushedWrites | UnwrittenReads | ReducibleData | FewSamples | GeneratorBound
        | SharedMachine | UnevenWorkers | UnreliableClock | NetworkBound | CachedNames | DisguisedTarget
        | BelowPeak | ProcessorBound | SmallWindow | StoreThrottled | CrowdedShard | CachedAnswers
        | FreshConnections => "",
    }
}

/// What a finding is about, in a few words.
pub fn about(finding: &Finding) -> &'static str {
    finding.kind().map_or("something else", FindingKind::about)
}

/// The figure that says how much of it there is.
pub fn figure(finding: &Finding) -> Option<&iodyno_model::Figure> {
    let named = finding.kind().map_or("", figure_name);
    let figures = || finding.figures.iter();
    let of_name = figures().find(|figure| !named.is_empty() && figure.name.starts_with(named));
    of_name.or_else(|| figures().find(|figure| figure.unit == "%")).or_else(|| figures().next())
}

/// Whether a finding may be what is behind others.
pub fn is_cause(finding: &Finding) -> bool {
    EXPLAINS.iter().any(|(cause, _)| finding.kind() == Some(*cause))
}

/// Says of each suspicion what explains it in the end.
pub fn explain(all: &mut [Suspicion]) {
    let causes: Vec<Option<usize>> = all.iter().map(|effect| cause(all, effect)).collect();
    for index in 0..all.len() {
        // The table has no circle, so this ends.
        let mut root = causes[index];
        while let Some(further) = root.and_then(|root| causes[root]) {
            root = Some(further);
        }
        all[index].finding.explained_by = root.map(|root| all[root].finding.code);
    }
}

/// The strongest of what explains a suspicion.
fn cause(all: &[Suspicion], effect: &Suspicion) -> Option<usize> {
    let fits = all.iter().enumerate().filter(|(_, cause)| explains(cause, effect));
    let strength = |cause: &Suspicion| (cause.finding.severity, cause.takes.unwrap_or(0.0));
    let stronger = |a: &(usize, &Suspicion), b: &(usize, &Suspicion)| {
        let (a, b) = (strength(a.1), strength(b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    fits.max_by(stronger).map(|(index, _)| index)
}

fn explains(cause: &Suspicion, effect: &Suspicion) -> bool {
    let (of, by) = (&effect.finding, &cause.finding);
    let pair = by.kind().zip(of.kind());
    let may = pair.is_some_and(|(by, of)| {
        EXPLAINS.iter().any(|(cause, effects)| *cause == by && effects.contains(&of))
    });
    let same_job = by.job.is_none() || of.job.is_none() || by.job == of.job;
    let enough = cause.takes.zip(effect.needs).is_some_and(|(takes, needs)| takes >= MOST_OF_IT * needs);
    may && enough && same_job && by.phase == of.phase && by.severity >= of.severity
}

/// A finding that stands for itself, and those that it explains.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseGroup<'a> {
    /// The cause, or what nobody explains.
    pub finding: &'a Finding,
    /// What it explains, worst first.
    pub explains: Vec<&'a Finding>,
}

/// All findings, worst first, each that is explained under the first of its cause. One whose cause is not among them (the
/// tool that was asked prints nothing of it) stands for itself.
pub fn folded(findings: &[Finding]) -> Vec<CauseGroup<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (Reverse(finding.severity), finding.code));
    let stands = |code: u8| sorted.iter().any(|one| one.code == code && one.explained_by.is_none());
    let is_told = |finding: &&&Finding| finding.explained_by.is_none_or(|code| !stands(code));
    let mut told: Vec<CauseGroup<'_>> =
        sorted.iter().filter(is_told).map(|finding| CauseGroup { finding, explains: Vec::new() }).collect();
    for finding in sorted.iter().filter(|finding| !is_told(finding)) {
        let by = |told: &&mut CauseGroup<'_>| {
            told.finding.explained_by.is_none() && Some(told.finding.code) == finding.explained_by
        };
        told.iter_mut().find(by).into_iter().for_each(|told| told.explains.push(finding));
    }
    told
}

/// The findings of a run in a few words: how many of each severity there are, and what is behind most of the worst.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingsSummary<'a> {
    /// How many are invalid, doubtful and notes, those that are explained too.
    pub counts: [usize; 3],
    /// What is behind most of the worst.
    pub main: &'a Finding,
    /// How many other numbers stand for themselves and are doubtful or worse.
    pub others: usize,
}

/// The verdict; none where the figures stand.
pub fn verdict(findings: &[Finding]) -> Option<FindingsSummary<'_>> {
    let told = folded(findings);
    let worst = told.first().map(|told| told.finding.severity).filter(|worst| *worst > Severity::Note)?;
    let first = told.iter().filter(|told| told.finding.severity == worst);
    let main = first.min_by_key(|told| (Reverse(told.explains.len()), !is_cause(told.finding)))?.finding;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [Severity::Invalid, Severity::Doubtful, Severity::Note].map(count);
    let grave = told.iter().map(|told| told.finding).filter(|one| one.severity > Severity::Note);
    let mut others: Vec<u8> = grave.map(|one| one.code).filter(|code| *code != main.code).collect();
    others.sort_unstable();
    others.dedup();
    Some(FindingsSummary { counts, main, others: others.len() })
}

#[cfg(test)]
mod tests {
    use iodyno_model::Figure;

    use super::*;

    fn suspicion(kind: FindingKind, phase: &str) -> Suspicion {
        let figures = vec![Figure::new("share", 50.0, "%")];
        Suspicion::new(kind, Severity::Doubtful, phase.into(), "it is so".into(), figures)
    }

    fn explained(mut all: Vec<Suspicion>) -> Vec<Option<u8>> {
        explain(&mut all);
        all.iter().map(|one| one.finding.explained_by).collect()
    }

    #[test]
    fn no_finding_explains_its_own_cause() {
        fn reaches(from: FindingKind, to: FindingKind, steps: usize) -> bool {
            let effects = EXPLAINS.iter().filter(|(cause, _)| *cause == from).flat_map(|(_, all)| *all);
            steps > 0 && effects.into_iter().any(|kind| *kind == to || reaches(*kind, to, steps - 1))
        }
        for (cause, _) in EXPLAINS {
            assert!(!reaches(*cause, *cause, EXPLAINS.len()), "{cause:?} explains itself");
        }
    }

    #[test]
    fn a_busy_machine_explains_what_it_is_strong_enough_for() {
        let found = vec![
            suspicion(SharedMachine, "p").takes(0.4),
            suspicion(UnsteadyRate, "p").needs(0.2),
            suspicion(LatencySpikes, "p").needs(0.6),
            suspicion(LatencySpikes, "p").needs(0.1),
            suspicion(UnevenWorkers, "p"),
        ];
        assert_eq!(explained(found), [None, Some(11), None, Some(11), None]);
    }

    #[test]
    fn a_cause_is_of_the_same_phase_and_job_and_weighs_no_less() {
        let effect = || suspicion(UnsteadyRate, "p").needs(0.1).job("a");
        let by = |cause: Suspicion| explained(vec![cause, effect()])[1];
        assert_eq!(by(suspicion(CachedReads, "p").takes(0.9)), Some(1));
        assert_eq!(by(suspicion(CachedReads, "p").takes(0.9).job("a")), Some(1));
        assert_eq!(by(suspicion(CachedReads, "p").takes(0.9).job("b")), None);
        assert_eq!(by(suspicion(CachedReads, "q").takes(0.9)), None);
        assert_eq!(by(suspicion(NetworkBound, "p").takes(0.9)), None);
        assert_eq!(by(suspicion(CachedReads, "p")), None);
        let mut note = suspicion(CachedReads, "p").takes(0.9);
        note.finding.severity = Severity::Note;
        assert_eq!(by(note), None);
    }

    #[test]
    fn a_chain_is_told_under_its_beginning() {
        let mut idle = suspicion(BelowPeak, "p").needs(0.0);
        idle.finding.severity = Severity::Note;
        let depth = suspicion(DepthNotReached, "p").takes(0.5).needs(0.3);
        assert_eq!(
            explained(vec![idle, depth, suspicion(GeneratorBound, "p").takes(0.9)]),
            [Some(10), Some(10), None]
        );
    }

    fn finding(kind: FindingKind, severity: Severity, explained_by: Option<u8>) -> Finding {
        Finding { severity, explained_by, ..suspicion(kind, "p").finding }
    }

    #[test]
    fn what_is_explained_lies_under_its_cause_unless_that_is_not_told() {
        let all = [
            finding(LatencySpikes, Severity::Note, Some(11)),
            finding(SharedMachine, Severity::Doubtful, None),
            finding(UnsteadyRate, Severity::Doubtful, Some(11)),
            finding(DepthNotReached, Severity::Doubtful, Some(1)),
        ];
        let codes = |told: &CauseGroup<'_>| {
            let under: Vec<u8> = told.explains.iter().map(|finding| finding.code).collect();
            (told.finding.code, under)
        };
        let told: Vec<_> = folded(&all).iter().map(codes).collect();
        assert_eq!(told, [(11, vec![7, 26]), (13, vec![])]);
    }

    #[test]
    fn the_verdict_counts_all_and_names_what_is_behind_most_of_the_worst() {
        let all = [
            finding(UnsteadyRate, Severity::Doubtful, None),
            finding(SharedMachine, Severity::Doubtful, None),
            finding(LatencySpikes, Severity::Doubtful, Some(11)),
            finding(FewSamples, Severity::Note, None),
        ];
        let told = verdict(&all).unwrap();
        assert_eq!((told.counts, told.main.code, told.others), ([0, 3, 1], 11, 1));
        assert_eq!(verdict(&all[3..]), None);
        assert_eq!(verdict(&[]), None);
        let mut worse = all.to_vec();
        worse.push(finding(CachedReads, Severity::Invalid, None));
        assert_eq!(verdict(&worse).unwrap().main.code, 1);
    }
}
