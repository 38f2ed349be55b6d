//! Plans of cases from a few words, in the manner of `docs/rules.md`, and what became of them.

use std::path::Path;

use iodyno_engine::{Options, run};
use iodyno_model::{
    Action, Actor, Call, Case, CaseRecord, Cases, Expect, Feature, Items, Job, JobRecord, Origin, Outcome,
    Phase, Plan, Record, Script, Step, Target, TargetKind, Workload,
};

/// The actors of all scripts.
fn actors() -> Vec<Actor> {
    let actor = |name: &str, uid, gid, groups: &[u32]| Actor {
        name: name.into(),
        uid,
        gid,
        groups: groups.into(),
        umask: 0,
    };
    vec![
        actor("p1", u32::MAX, u32::MAX, &[]),
        actor("p2", u32::MAX, u32::MAX, &[]),
        actor("owner", 65534, 65534, &[]),
        actor("member", 65533, 65533, &[65534]),
        actor("other", 65532, 65532, &[]),
    ]
}

/// A script: a line for each step, `===` and a label before each round.
pub fn script(text: &str) -> Script {
    let mut rounds: Vec<(String, Vec<Step>)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(label) = line.strip_prefix("===") {
            rounds.push((label.trim().into(), Vec::new()));
        } else if !line.is_empty() {
            if rounds.is_empty() {
                rounds.push((String::new(), Vec::new()));
            }
            rounds.last_mut().unwrap().1.push(step(line, number as u32 + 1));
        }
    }
    let block =
        |(label, steps)| Step { label, action: Action::Block(steps), repeat: 1, origin: Origin::Default };
    let mut script = Script { actors: actors(), steps: rounds.into_iter().map(block).collect() };
    let is_used = |index: usize, actor: &Actor| {
        text.contains(&format!("{}:", actor.name)) || text.contains(&format!("{}&:", actor.name)) || index < 2
    };
    // Actors that nobody asks for would make a case one for root.
    if !script.actors.iter().enumerate().skip(2).any(|(index, actor)| is_used(index, actor)) {
        script.actors.truncate(2);
    }
    script
}

fn step(line: &str, number: u32) -> Step {
    let (words, expect) = line.split_once("->").map_or((line, ""), |(words, expect)| (words, expect));
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let mut call = Call::default();
    if let Some(who) = words[0].strip_suffix(':') {
        let name = who.trim_end_matches('&');
        call.background = name != who;
        call.actor = Some(actors().iter().position(|actor| actor.name == name).expect("a known actor"));
        words.remove(0);
    }
    let mut label = String::new();
    if words.get(1) == Some(&"=") {
        label = words[0].into();
        words.drain(..2);
    }
    call.name = words[0].into();
    call.arguments = words[1..].iter().map(|word| word.trim_matches('"').to_string()).collect();
    call.expect = expect.split_whitespace().map(expectation).collect();
    Step {
        label,
        action: Action::Call(Box::new(call)),
        repeat: 1,
        origin: Origin::file("rules.toml", number),
    }
}

fn expectation(word: &str) -> Expect {
    if word == "ok" {
        return Expect::Succeeds;
    }
    for relation in ["!=", ">=", "<=", "=", "<", ">"] {
        if let Some((name, value)) = word.split_once(relation).filter(|_| !word.starts_with('"')) {
            return Expect::Attribute { name: name.into(), relation: relation.into(), value: value.into() };
        }
    }
    let words: Vec<_> = word.split('|').map(|word| word.trim_matches('"').to_string()).collect();
    match word.starts_with('E') && !word.contains("ok") {
        true => Expect::Fails(words),
        false => Expect::Answers(words),
    }
}

pub fn case(name: &str, text: &str) -> Case {
    Case { name: name.into(), rule: name.into(), script: script(text), ..Case::default() }
}

/// A case that needs something.
pub fn needing(need: &str, case: Case) -> Case {
    Case { needs: vec![need.into()], ..case }
}

pub fn feature(name: &str, probe: &str) -> Feature {
    Feature { name: name.into(), text: name.into(), probe: script(probe) }
}

/// Cases as a plan on a directory.
pub fn plan(directory: &Path, cases: Cases) -> Plan {
    let items = Items { count: 0, ..Items::default() };
    let target = Target {
        name: "directory".into(),
        kind: TargetKind::FileSet { root: directory.display().to_string(), items },
        open: Default::default(),
        prepare: Default::default(),
        remove: false,
        origin: Origin::Default,
    };
    let job = Job::new("cases", "cases", vec![0], Workload::Cases(cases.into()));
    let phase = Phase { name: "cases".into(), jobs: vec![job], ..Phase::default() };
    Plan { name: "cases".into(), seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() }
}

/// Runs a plan of cases.
pub fn record(directory: &Path, cases: Cases) -> Record {
    run(&plan(directory, cases), &Options::default(), &mut |_| {}).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

/// What became of some cases, in their order; what is left behind is an error.
pub fn outcome(directory: &Path, cases: Vec<Case>) -> Result<Vec<CaseRecord>, String> {
    with(directory, Cases { cases, limit_ns: 20_000_000_000, ..Cases::default() }).map(|job| job.cases)
}

/// The same of a list with features or limits.
pub fn with(directory: &Path, cases: Cases) -> Result<JobRecord, String> {
    let count = cases.cases.len();
    let mut record = record(directory, cases);
    if !record.errors.is_empty() {
        return Err(format!("{:?}", record.errors));
    }
    let mut job = record.phases.remove(0).jobs.remove(0);
    job.cases.sort_by_key(|case| case.case);
    if job.cases.len() != count {
        return Err(format!("{} records for {count} cases", job.cases.len()));
    }
    for case in &job.cases {
        let told = case.passed + case.verdicts.len() as u32;
        if told != case.checks {
            return Err(format!("{told} of {} checks are accounted for: {case:?}", case.checks));
        }
    }
    Ok(job)
}

/// That everything passed.
pub fn all_pass(records: &[CaseRecord]) -> Result<(), String> {
    match records
        .iter()
        .find(|record| record.broken.is_some() || record.passed < record.checks || record.checks == 0)
    {
        Some(record) => Err(format!("{record:#?}")),
        None => Ok(()),
    }
}

/// Outcomes of the checks that did not pass, with what was expected and what came.
pub fn verdicts(record: &CaseRecord) -> Vec<String> {
    let text = |verdict: &iodyno_model::Verdict| match &verdict.outcome {
        Outcome::Fail => {
            format!("{}: {}: expected {}, got {}", verdict.check, verdict.call, verdict.expected, verdict.got)
        }
        Outcome::Skip(why) => format!("{}: skip: {why}", verdict.check),
        Outcome::NotApplicable(why) => format!("{}: not applicable: {why}", verdict.check),
        Outcome::CouldNotRun(why) => format!("{}: could not run: {why}", verdict.check),
        Outcome::TimedOut(why) => format!("{}: timed out: {why}", verdict.check),
    };
    record.verdicts.iter().map(text).collect()
}

/// That nothing is left in a directory.
pub fn is_empty(directory: &Path) -> Result<(), String> {
    let names: Vec<_> = std::fs::read_dir(directory)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name != "lost+found")
        .collect();
    if names.is_empty() { Ok(()) } else { Err(format!("left behind: {names:?}")) }
}
