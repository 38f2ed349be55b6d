//! One cause, one finding: what another finding explains is told under that one.
//!
//! A finding is explained where, in the same phase, one was found that may bring it about, weighs no less, and took at
//! three quarters of the share that all of it needs: shares are reckoned, and a cause is what is behind most of it. Nothing
//! is dropped and nothing weighs less: who counts findings counts them all. What the checks themselves have taken out
//! (stalled workers without their waiting for a processor, 14) is explained by nobody.

use std::cmp::Reverse;

use iodyno_model::{Finding, Severity};

use crate::merge::Suspicion;

/// Of the share that an effect needs, so much a cause has taken at least. Chosen: shares are estimates;
/// `a_busy_machine_explains_what_it_is_strong_enough_for` stands on both sides.
const MOST_OF_IT: f64 = 0.75;

/// What may bring what about. No finding explains one that, over others, may explain it.
const EXPLAINS: &[(u8, &[u8])] = &[
    // Reads that memory answered: quick among slow ones, over when they are handed over, all of it processor time.
    (1, &[7, 8, 10, 13, 32]),
    // Writes into memory, besides: until it is full, when the next one waits for all of them.
    (2, &[7, 8, 10, 13, 26, 32]),
    // Holes are answered as memory is.
    (3, &[7, 8, 10, 13, 32]),
    // Passes that a device's cache made quick.
    (5, &[7, 32]),
    // A generator that cannot hand over in time.
    (10, &[13, 24]),
    // Who has no processor, or no memory, is late, does nothing meanwhile, and does not take what arrives.
    (11, &[7, 8, 9, 13, 24, 26, 27, 29]),
    // A device that works for others, and moves what nobody here asked for.
    (12, &[7, 8, 9, 16, 26]),
    // Too little in flight, or too few workers, leave a device idle.
    (13, &[24]),
    (14, &[24]),
    // Who waits for a file's lock hands nothing over.
    (31, &[13, 24]),
    // Memory is done as it is asked.
    (22, &[13]),
];

/// What each finding is about, in a few words, and the name of the figure that says how much; without one it is the first
/// share.
const NAMES: &[(u8, &str, &str)] = &[
    (1, "reads from the page cache", ""),
    (2, "writes left in memory", ""),
    (3, "reads of what was never written", ""),
    (4, "data that is not stored as it is", ""),
    (5, "reads from a cache of the device", "later passes"),
    (6, "a percentile of few samples", ""),
    (7, "an unsteady rate", "range"),
    (8, "a rate that fell for good", "fast for"),
    (9, "latency without the lateness", "p99 from the intended start"),
    (10, "a load generator at its limit", ""),
    (11, "a machine that others had, too", ""),
    (12, "a device that others used, too", "of others"),
    (13, "a depth that was not reached", "depth reached, mean"),
    (14, "workers far apart", ""),
    (15, "a clock that cannot tell", ""),
    (16, "a device that moved more than asked", "times as much"),
    (17, "flushes that cost nothing", "sync latency, median"),
    (18, "a network at its limit", ""),
    (19, "requests that are not the operations", "request of"),
    (20, "failed operations", "failed"),
    (21, "names from memory", ""),
    (22, "a target that is not what it seems", ""),
    (23, "a phase too short", "length"),
    (24, "not the peak", ""),
    (25, "a short stroke", "share"),
    (26, "spikes of latency", "longest"),
    (27, "a receive buffer too small", "dropped of what was sent"),
    (28, "a processor at its limit", ""),
    (29, "loss from bursts", "lost"),
    (30, "a window too small", ""),
    (31, "one shared file", "share of them"),
    (32, "more than the way to the storage carries", "carried at most"),
];

/// What a finding of this number is about, in a few words.
pub fn name(code: u8) -> &'static str {
    NAMES.iter().find(|(known, ..)| *known == code).map_or("something else", |(_, name, _)| name)
}

/// The figure that says how much of it there is.
pub fn figure(finding: &Finding) -> Option<&iodyno_model::Figure> {
    let named = NAMES.iter().find(|(code, ..)| *code == finding.code).map_or("", |(.., figure)| figure);
    let figures = || finding.figures.iter();
    let of_name = figures().find(|figure| !named.is_empty() && figure.name.starts_with(named));
    of_name.or_else(|| figures().find(|figure| figure.unit == "%")).or_else(|| figures().next())
}

/// Whether a finding of this number may be what is behind others.
pub fn is_cause(code: u8) -> bool {
    EXPLAINS.iter().any(|(cause, _)| *cause == code)
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
    let may = EXPLAINS.iter().any(|(code, effects)| *code == by.code && effects.contains(&of.code));
    let same_job = by.job.is_none() || of.job.is_none() || by.job == of.job;
    let enough = cause.takes.zip(effect.needs).is_some_and(|(takes, needs)| takes >= MOST_OF_IT * needs);
    may && enough && same_job && by.phase == of.phase && by.severity >= of.severity
}

/// A finding that stands for itself, and those that it explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<'a> {
    /// The cause, or what nobody explains.
    pub finding: &'a Finding,
    /// What it explains, worst first.
    pub explains: Vec<&'a Finding>,
}

/// All findings, worst first, each that is explained under the first of its cause. One whose cause is not among them (the
/// tool that was asked prints nothing of it) stands for itself.
pub fn folded(findings: &[Finding]) -> Vec<Told<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (Reverse(finding.severity), finding.code));
    let stands = |code: u8| sorted.iter().any(|one| one.code == code && one.explained_by.is_none());
    let is_told = |finding: &&&Finding| finding.explained_by.is_none_or(|code| !stands(code));
    let mut told: Vec<Told<'_>> =
        sorted.iter().filter(is_told).map(|finding| Told { finding, explains: Vec::new() }).collect();
    for finding in sorted.iter().filter(|finding| !is_told(finding)) {
        let by = |told: &&mut Told<'_>| {
            told.finding.explained_by.is_none() && Some(told.finding.code) == finding.explained_by
        };
        told.iter_mut().find(by).into_iter().for_each(|told| told.explains.push(finding));
    }
    told
}

/// The findings of a run in a few words: how many of each severity there are, and what is behind most of the worst.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// How many are invalid, doubtful and notes, those that are explained too.
    pub counts: [usize; 3],
    /// What is behind most of the worst.
    pub main: &'a Finding,
    /// How many other numbers stand for themselves and are doubtful or worse.
    pub others: usize,
}

/// The verdict; none where the figures stand.
pub fn verdict(findings: &[Finding]) -> Option<Verdict<'_>> {
    let told = folded(findings);
    let worst = told.first().map(|told| told.finding.severity).filter(|worst| *worst > Severity::Note)?;
    let first = told.iter().filter(|told| told.finding.severity == worst);
    let main = first.min_by_key(|told| (Reverse(told.explains.len()), !is_cause(told.finding.code)))?.finding;
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [Severity::Invalid, Severity::Doubtful, Severity::Note].map(count);
    let grave = told.iter().map(|told| told.finding).filter(|one| one.severity > Severity::Note);
    let mut others: Vec<u8> = grave.map(|one| one.code).filter(|code| *code != main.code).collect();
    others.sort_unstable();
    others.dedup();
    Some(Verdict { counts, main, others: others.len() })
}

#[cfg(test)]
mod tests {
    use iodyno_model::Figure;

    use super::*;

    fn suspicion(code: u8, phase: &str) -> Suspicion {
        let figures = vec![Figure::new("share", 50.0, "%")];
        Suspicion::new(code, Severity::Doubtful, phase.into(), "it is so".into(), figures)
    }

    fn explained(mut all: Vec<Suspicion>) -> Vec<Option<u8>> {
        explain(&mut all);
        all.iter().map(|one| one.finding.explained_by).collect()
    }

    #[test]
    fn no_finding_explains_its_own_cause() {
        fn reaches(from: u8, to: u8, steps: usize) -> bool {
            let effects = EXPLAINS.iter().filter(|(cause, _)| *cause == from).flat_map(|(_, all)| *all);
            steps > 0 && effects.into_iter().any(|code| *code == to || reaches(*code, to, steps - 1))
        }
        for (cause, _) in EXPLAINS {
            assert!(!reaches(*cause, *cause, EXPLAINS.len()), "[{cause}] explains itself");
        }
    }

    #[test]
    fn every_finding_has_a_name() {
        assert!((1..=32).all(|code| NAMES.iter().any(|(known, ..)| *known == code)));
    }

    #[test]
    fn a_busy_machine_explains_what_it_is_strong_enough_for() {
        let found = vec![
            suspicion(11, "p").takes(0.4),
            suspicion(7, "p").needs(0.2),
            suspicion(26, "p").needs(0.6),
            suspicion(26, "p").needs(0.1),
            suspicion(14, "p"),
        ];
        assert_eq!(explained(found), [None, Some(11), None, Some(11), None]);
    }

    #[test]
    fn a_cause_is_of_the_same_phase_and_job_and_weighs_no_less() {
        let effect = || suspicion(7, "p").needs(0.1).job("a");
        let by = |cause: Suspicion| explained(vec![cause, effect()])[1];
        assert_eq!(by(suspicion(1, "p").takes(0.9)), Some(1));
        assert_eq!(by(suspicion(1, "p").takes(0.9).job("a")), Some(1));
        assert_eq!(by(suspicion(1, "p").takes(0.9).job("b")), None);
        assert_eq!(by(suspicion(1, "q").takes(0.9)), None);
        assert_eq!(by(suspicion(18, "p").takes(0.9)), None);
        assert_eq!(by(suspicion(1, "p")), None);
        let mut note = suspicion(1, "p").takes(0.9);
        note.finding.severity = Severity::Note;
        assert_eq!(by(note), None);
    }

    #[test]
    fn a_chain_is_told_under_its_beginning() {
        let mut idle = suspicion(24, "p").needs(0.0);
        idle.finding.severity = Severity::Note;
        let depth = suspicion(13, "p").takes(0.5).needs(0.3);
        assert_eq!(explained(vec![idle, depth, suspicion(10, "p").takes(0.9)]), [Some(10), Some(10), None]);
    }

    fn finding(code: u8, severity: Severity, explained_by: Option<u8>) -> Finding {
        Finding { severity, explained_by, ..suspicion(code, "p").finding }
    }

    #[test]
    fn what_is_explained_lies_under_its_cause_unless_that_is_not_told() {
        let all = [
            finding(26, Severity::Note, Some(11)),
            finding(11, Severity::Doubtful, None),
            finding(7, Severity::Doubtful, Some(11)),
            finding(13, Severity::Doubtful, Some(1)),
        ];
        let codes = |told: &Told<'_>| {
            let under: Vec<u8> = told.explains.iter().map(|finding| finding.code).collect();
            (told.finding.code, under)
        };
        let told: Vec<_> = folded(&all).iter().map(codes).collect();
        assert_eq!(told, [(11, vec![7, 26]), (13, vec![])]);
    }

    #[test]
    fn the_verdict_counts_all_and_names_what_is_behind_most_of_the_worst() {
        let all = [
            finding(7, Severity::Doubtful, None),
            finding(11, Severity::Doubtful, None),
            finding(26, Severity::Doubtful, Some(11)),
            finding(6, Severity::Note, None),
        ];
        let told = verdict(&all).unwrap();
        assert_eq!((told.counts, told.main.code, told.others), ([0, 3, 1], 11, 1));
        assert_eq!(verdict(&all[3..]), None);
        assert_eq!(verdict(&[]), None);
        let mut worse = all.to_vec();
        worse.push(finding(1, Severity::Invalid, None));
        assert_eq!(verdict(&worse).unwrap().main.code, 1);
    }
}
