//! A script of a case: its rounds, its checks, and what is told of a check.

use iodyno_model::{Action, Call, CaseRecord, Expect, Outcome, Script, Step, Verdict};

use crate::judge::{expected, shorten};

/// The rounds of a script: the blocks at its top, and what stands between them.
pub fn rounds(script: &Script) -> Vec<(&str, Vec<&Step>)> {
    let mut rounds: Vec<(&str, Vec<&Step>)> = Vec::new();
    let mut between = false;
    for step in &script.steps {
        match &step.action {
            Action::Block(steps) => {
                rounds.push((&step.label, flat(steps)));
                between = false;
            }
            _ if between => rounds.last_mut().expect("there is one").1.push(step),
            _ => {
                rounds.push(("", vec![step]));
                between = true;
            }
        }
    }
    rounds
}

fn flat<'a>(steps: &'a [Step]) -> Vec<&'a Step> {
    let inner = |step: &'a Step| match &step.action {
        Action::Block(steps) => flat(steps),
        _ => vec![step],
    };
    steps.iter().flat_map(inner).collect()
}

/// A check, as it stands in its script.
pub struct Check<'a> {
    /// The label of its round.
    pub round: &'a str,
    /// Its step, counted within the round.
    pub step: u32,
    pub call: &'a Call,
    pub expect: &'a Expect,
}

/// All checks of a script, in order.
pub fn checks(script: &Script) -> impl Iterator<Item = Check<'_>> {
    rounds(script).into_iter().flat_map(|(round, steps)| {
        steps.into_iter().enumerate().flat_map(move |(index, step)| {
            let Action::Call(call) = &step.action else { return Vec::new() };
            let check = |expect| Check { round, step: index as u32, call, expect };
            call.expect.iter().map(check).collect::<Vec<_>>()
        })
    })
}

/// The verdict on a check that was not made.
pub fn verdict(script: &Script, number: u32, check: &Check<'_>, outcome: Outcome) -> Verdict {
    Verdict {
        check: number,
        round: check.round.into(),
        step: check.step,
        call: words(script, check.call, &check.call.arguments),
        expected: expected(check.expect),
        got: String::new(),
        outcome,
    }
}

/// A call as a rule would say it, with who makes it.
pub fn words(script: &Script, call: &Call, arguments: &[String]) -> String {
    let who = call.actor.and_then(|index| script.actors.get(index));
    let mut text = who.map(|actor| format!("{}: ", actor.name)).unwrap_or_default();
    text.push_str(&call.name);
    for word in arguments {
        text.push(' ');
        match word.is_empty() || word.contains([' ', '\n', '"']) {
            true => text.push_str(&format!("{:?}", shorten(word, 80))),
            false => text.push_str(&shorten(word, 80)),
        }
    }
    text
}

/// Verdicts on the checks of a script that were not made, from one on.
pub fn unmade(script: &Script, from: u32, outcome: &Outcome) -> Vec<Verdict> {
    let numbered = checks(script).enumerate().skip(from as usize);
    numbered.map(|(number, check)| verdict(script, number as u32, &check, outcome.clone())).collect()
}

/// The record of a case that was not run: the same outcome for each of its checks.
pub fn unrun(script: &Script, slot: usize, outcome: &Outcome) -> CaseRecord {
    let verdicts = unmade(script, 0, outcome);
    CaseRecord { case: slot, checks: verdicts.len() as u32, verdicts, ..CaseRecord::default() }
}
