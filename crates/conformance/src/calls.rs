//! Whether the calls of cases can be made, as far as their words tell: a slip in a rule is reported where it was written,
//! before anything is touched.

use iodyno_model::{Action, Diagnostic, Job, Step, Workload};

use crate::syscall::table;

/// What is done by whoever runs the cases, and what it does with a call that follows: how many words come before that.
pub const RUNNERS: &[(&str, Option<usize>)] = &[
    ("await", None),
    ("blocked", None),
    ("kill", None),
    ("tick", None),
    ("loop", Some(1)),
    ("try", Some(0)),
];

/// Says what is wrong with the calls of a job's cases; each slip once, however often it was written out.
pub fn check(job: &Job, wrong: &mut Vec<Diagnostic>) {
    let Workload::Cases(cases) = &job.workload else { return };
    let probes = cases.features.iter().map(|feature| &feature.probe);
    let scripts = probes.chain(cases.cases.iter().map(|case| &case.script));
    let mut slips: Vec<Diagnostic> = Vec::new();
    scripts.for_each(|script| script.steps.iter().for_each(|step| check_step(step, &mut slips)));
    wrong.extend(slips);
}

fn check_step(step: &Step, slips: &mut Vec<Diagnostic>) {
    match &step.action {
        Action::Block(steps) => steps.iter().for_each(|step| check_step(step, slips)),
        Action::Call(call) => {
            if let Err(message) = check_call(&call.name, &call.arguments) {
                let slip = Diagnostic::error(&step.origin, message);
                if !slips.contains(&slip) {
                    slips.push(slip);
                }
            }
        }
        Action::Do(_) => (),
    }
}

fn check_call(name: &str, words: &[String]) -> Result<(), String> {
    match RUNNERS.iter().find(|(known, _)| *known == name) {
        None => table::check(name, words),
        Some((_, None)) => Ok(()),
        Some((_, Some(before))) => match words.get(*before) {
            Some(name) if name.contains('$') => Ok(()),
            Some(name) => check_call(name, &words[before + 1..]),
            None => Err(format!("`{name}`: no call follows")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<(), String> {
        let mut words = line.split(' ').map(String::from).collect::<Vec<_>>();
        let name = words.remove(0);
        check_call(&name, &words)
    }

    #[test]
    fn what_is_known_only_later_is_taken_to_be_right() {
        for line in [
            "open f O_CREAT|$flags 0644",
            "pread h $[PAGE*2] 0",
            "mread m 0 1",
            "loop 10 write h x",
            "try unlink f",
            "tick",
            "kill owner",
        ] {
            assert_eq!(words(line), Ok(()), "{line}");
        }
        for (line, hint) in [
            ("open f O_CRAET 0644", "did you mean `O_CREAT`"),
            ("loop 10 wirte h x", "did you mean `write`"),
            ("try", "no call follows"),
            ("mkdir $here", "it wants 2 arguments"),
        ] {
            let wrong = words(line).unwrap_err();
            assert!(wrong.contains(hint), "{line}: {wrong}");
        }
    }
}
