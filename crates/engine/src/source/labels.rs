//! The names a job's operations are tallied under.
//!
//! Worked out from the job alone, so that conductor, worker and report agree without asking each other.

use iodyno_model::{Action, Job, Script, Step, Verb, VerifyWhen, Workload};

use iodyno_trace::requests::LoadRequestKind;

use crate::priorities;

/// The label of reads that a source adds by itself to check what was written.
pub const VERIFY_LABEL: &str = "verify";

/// The labels a job's operations are tallied under, each once, in the order of an `Io`'s `label`.
pub fn labels(job: &Job) -> Vec<(String, Verb)> {
    let mut labels = Labels(Vec::new());
    match &job.workload {
        Workload::Pattern(pattern) => {
            let mixed = pattern.mix.shares.iter().filter(|share| share.weight > 0.0).map(|share| share.verb);
            mixed.chain(pattern.every.iter().map(|every| every.verb)).for_each(|verb| labels.verb(verb));
        }
        Workload::Script(script) => labels.script(script),
        Workload::Cases(_) | Workload::Exercise(_) => {}
        Workload::Trace(trace) if trace.replay.served => {
            LoadRequestKind::ALL.iter().for_each(|kind| labels.add(kind.label(), kind.verb()));
        }
        Workload::Trace(trace) => trace.verbs().into_iter().for_each(|verb| labels.verb(verb)),
    }
    if let Some(verb) = job.finish.sync {
        labels.verb(verb);
    }
    let reads_back = |when| matches!(when, VerifyWhen::AfterWrites | VerifyWhen::Backlog { .. });
    if job.payload.verify.as_ref().is_some_and(|verify| reads_back(verify.when)) {
        labels.add(VERIFY_LABEL, Verb::Read);
    }
    if job.payload.verify.as_ref().is_some_and(|verify| verify.trim.is_some()) {
        labels.verb(Verb::Trim);
    }
    // Behind all others, so that these keep their places.
    for (label, verb) in labels.0.clone() {
        let values = priorities::labelled(job, verb);
        values.into_iter().for_each(|value| labels.add(&priorities::label_with(&label, value), verb));
    }
    labels.0
}

/// The position of a label; the first line where it is missing.
pub fn label_of(labels: &[(String, Verb)], name: &str, verb: Verb) -> u16 {
    let same = |(label, other): &(String, Verb)| label == name && *other == verb;
    labels.iter().position(same).unwrap_or(0) as u16
}

struct Labels(Vec<(String, Verb)>);

impl Labels {
    fn add(&mut self, name: &str, verb: Verb) {
        if !self.0.iter().any(|(label, other)| label == name && *other == verb) {
            self.0.push((name.to_string(), verb));
        }
    }

    fn verb(&mut self, verb: Verb) {
        self.add(verb.name(), verb);
    }

    fn script(&mut self, script: &Script) {
        script.steps.iter().for_each(|step| self.step(step));
    }

    /// A composite has a line of its own beside those of its steps.
    fn step(&mut self, step: &Step) {
        match &step.action {
            Action::Call(_) => {}
            Action::Do(operation) => self.add(&step.label, operation.verb),
            Action::Block(steps) => {
                self.add(&step.label, block_verb(steps));
                steps.iter().for_each(|step| self.step(step));
            }
        }
    }
}

/// The verb that a composite's line carries: control, so that its steps are not counted twice in any sum.
pub fn block_verb(_steps: &[Step]) -> Verb {
    Verb::Wait
}
