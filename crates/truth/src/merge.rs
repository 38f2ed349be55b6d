//! Many suspicions, few findings: what is the same matter in forty phases is said once, with its worst figures.
//!
//! Drops nothing but repetition: every phase concerned is named or counted.

use iodyno_model::{Figure, Finding, FindingKind, Remedy, Severity};

/// Phases that are named before the rest is only counted. Chosen: they fit a line;
/// `forty_phases_are_one_finding_with_the_worst_figures` counts them.
const NAMED: usize = 4;

/// A finding of one phase, before it is merged with its like.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    pub finding: Finding,
    /// What besides code and severity makes it another matter (a target's kind, a verb); often nothing.
    pub matter: String,
    /// How bad it is among its like; the largest is shown.
    pub weight: f64,
    /// As a cause: the share of the phase's time, operations or bytes that it took away or made up, 0 to 1; none: it
    /// explains nothing.
    pub takes: Option<f64>,
    /// As an effect: the share that must be taken to bring all of it about, 0 to 1; none: nothing explains it.
    pub needs: Option<f64>,
}

impl Suspicion {
    /// A suspicion about a phase.
    pub fn new(
        kind: FindingKind,
        severity: Severity,
        phase: String,
        sentence: String,
        figures: Vec<Figure>,
    ) -> Self {
        let finding = Finding::new(kind, severity, phase, sentence, figures);
        Suspicion { finding, matter: String::new(), weight: 0.0, takes: None, needs: None }
    }

    /// What to do about it.
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.finding.remedy = Some(remedy);
        self.finding.advice = remedy.words().into();
        self
    }

    /// The job it concerns.
    pub fn job(mut self, job: &str) -> Self {
        self.finding.job = Some(job.into());
        self
    }

    /// How bad it is among its like.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// What makes it another matter.
    pub fn matter(mut self, matter: &str) -> Self {
        self.matter = matter.into();
        self
    }

    /// How much it takes, as a cause.
    pub fn takes(mut self, share: f64) -> Self {
        self.takes = Some(share);
        self
    }

    /// How much must be taken to bring it about.
    pub fn needs(mut self, share: f64) -> Self {
        self.needs = Some(share);
        self
    }

    fn is_like(&self, other: &Suspicion) -> bool {
        let key = |one: &Suspicion| (one.finding.code, one.finding.severity, one.finding.explained_by);
        key(self) == key(other) && self.matter == other.matter
    }
}

/// One finding for each matter, worst first.
pub fn merge(suspicions: Vec<Suspicion>) -> Vec<Finding> {
    let mut groups: Vec<Vec<Suspicion>> = Vec::new();
    for suspicion in suspicions {
        match groups.iter_mut().find(|group| group[0].is_like(&suspicion)) {
            Some(group) => group.push(suspicion),
            None => groups.push(vec![suspicion]),
        }
    }
    let mut findings: Vec<Finding> = groups.into_iter().filter_map(one_of).collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// The worst of a group, for all of them.
fn one_of(group: Vec<Suspicion>) -> Option<Finding> {
    let mut phases: Vec<String> = Vec::new();
    let mut jobs: Vec<Option<String>> = Vec::new();
    for suspicion in &group {
        if !phases.contains(&suspicion.finding.phase) {
            phases.push(suspicion.finding.phase.clone());
        }
        if !jobs.contains(&suspicion.finding.job) {
            jobs.push(suspicion.finding.job.clone());
        }
    }
    let worst = group.into_iter().reduce(|a, b| if b.weight > a.weight { b } else { a })?;
    let mut finding = worst.finding;
    if phases.len() > 1 {
        finding.sentence =
            format!("{} (worst of {} phases: {})", finding.sentence, phases.len(), finding.phase);
        finding.figures.push(Figure::new("phases", phases.len() as f64, ""));
        finding.phase = names(&phases);
    }
    finding.job = if jobs.len() == 1 { jobs.pop().flatten() } else { None };
    Some(finding)
}

fn names(phases: &[String]) -> String {
    match phases.len().checked_sub(NAMED) {
        None | Some(0) => phases.join(", "),
        Some(more) => format!("{} and {more} more", phases[..NAMED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspicion(kind: FindingKind, phase: &str, weight: f64) -> Suspicion {
        let figures = vec![Figure::new("share", weight, "%")];
        Suspicion::new(kind, Severity::Note, phase.into(), format!("it is {weight}"), figures).weight(weight)
    }

    #[test]
    fn forty_phases_are_one_finding_with_the_worst_figures() {
        let many = (0..40)
            .map(|index| suspicion(FindingKind::FewSamples, &format!("p{index}"), f64::from(index % 7)))
            .collect();
        let findings = merge(many);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].phase, "p0, p1, p2, p3 and 36 more");
        assert_eq!(findings[0].sentence, "it is 6 (worst of 40 phases: p6)");
        assert_eq!(findings[0].figures[1], Figure::new("phases", 40.0, ""));
    }

    #[test]
    fn what_is_explained_in_one_phase_stands_for_itself_in_another() {
        let mut explained = suspicion(FindingKind::UnsteadyRate, "a", 1.0);
        explained.finding.explained_by = Some(11);
        let found = merge(vec![explained, suspicion(FindingKind::UnsteadyRate, "b", 2.0)]);
        let told: Vec<_> = found.iter().map(|one| (one.phase.as_str(), one.explained_by)).collect();
        assert_eq!(told, [("a", Some(11)), ("b", None)]);
    }

    #[test]
    fn different_matters_stay_apart_and_the_worst_comes_first() {
        let mut bad = suspicion(FindingKind::FailedOperations, "b", 1.0);
        bad.finding.severity = Severity::Invalid;
        let found = merge(vec![
            suspicion(FindingKind::FewSamples, "a", 1.0),
            suspicion(FindingKind::FewSamples, "a", 2.0).matter("x"),
            bad,
        ]);
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [20, 6, 6]);
    }
}
