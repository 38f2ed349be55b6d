//! Requests: scripts of requests to an object store, each answer held against what a rule expects.
//!
//! ```text
//!   drive (a worker's thread) ─► threads, a connection each ─► round: call ─► request ─► answer ─► judged
//! ```
//! Each round has a prefix of its own below the bucket's, and removes what it left there. Nothing is timed.

mod calls;
mod client;
pub mod leftovers;
mod plain;
mod round;
mod signing;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use iodyno_engine::worker::Worker;
use iodyno_engine::{Failure, clock};
use iodyno_model::{Case, CaseRecord, Cases, Outcome, TargetKind, Verdict, Workload};

use crate::script::{checks, rounds, unrun, verdict};
use crate::start::run_from_start;
use client::{Client, ClientSettings};
use round::{RoundEnd, StoreRound};

pub use calls::CALLS;

/// How often it is looked whether the run is to stop.
const GLANCE: Duration = Duration::from_millis(50);
/// Connections where nobody says how many.
const CONNECTIONS: u32 = 4;

/// Runs a job's cases on its bucket.
///
/// # Errors
/// What keeps all of them from running, or what could not be removed.
pub fn drive(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let Workload::Cases(cases) = &worker.job.workload else {
        return Err(Failure::new("the engine s3check runs cases"));
    };
    let target = worker.job.targets.first().map(|target| &worker.plan.targets[*target].kind);
    let Some(TargetKind::Bucket { url, .. }) = target else {
        return Err(Failure::new("requests want a bucket"));
    };
    let settings = ClientSettings::of(worker.job, url)?;
    let made = settings.missing_directories()?;
    let outcome = run_from_start(worker, |worker| run(worker, cases, &settings));
    settings.remove_directories(&made);
    outcome
}

/// What a thread tells.
enum News {
    Case(CaseRecord),
    /// Objects could not be removed: why.
    Left(String),
}

fn run(worker: &Worker<'_>, cases: &Cases, settings: &ClientSettings) -> Result<(), Failure> {
    // The first request says what is wrong with the address, the keys or the bucket, before a rule is accused.
    let mut client = Client::new(settings)?;
    client.probe()?;
    let features: Vec<(String, Option<String>)> =
        cases.features.iter().map(|feature| (feature.name.clone(), missing(&mut client, feature))).collect();
    worker.findings.write(worker.index, |entries| entries.features.clone_from(&features));
    let (sender, news) = mpsc::channel();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut told = vec![false; cases.cases.len()];
    let mut left = None;
    let mut hear = |news: News| match news {
        News::Case(record) => {
            told[record.case] = true;
            worker.findings.write(worker.index, |entries| entries.cases.push(record));
        }
        News::Left(why) => left = Some(why),
    };
    std::thread::scope(|scope| {
        let threads = if cases.at_once == 0 { CONNECTIONS } else { cases.at_once };
        for _ in 0..threads {
            let (sender, next, stop, features) = (sender.clone(), &next, &stop, &features);
            scope.spawn(move || perform_all(settings, cases, features, (next, stop), &sender));
        }
        drop(sender);
        loop {
            match news.recv_timeout(GLANCE) {
                Ok(one) => hear(one),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if worker.barrier.is_stopped(worker.number) {
                        stop.store(true, Relaxed);
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    for index in (0..told.len()).filter(|index| !told[*index]).collect::<Vec<_>>() {
        let outcome = Outcome::CouldNotRun("the run was stopped before".into());
        let record = unrun(&cases.cases[index].script, index, &outcome);
        worker.findings.write(worker.index, |entries| entries.cases.push(record));
    }
    worker.counters.tell_facts(&settings.counts());
    match left {
        None => Ok(()),
        Some(why) => Err(Failure::new(why).hint("remove what lies below the prefix yourself")),
    }
}

/// Why a feature is missing, if it is.
fn missing(client: &mut Client<'_>, feature: &iodyno_model::Feature) -> Option<String> {
    let mut round = StoreRound::new(client, &format!("probe-{}", feature.name));
    let mut why = None;
    for step in rounds(&feature.probe).into_iter().flat_map(|(_, steps)| steps) {
        let ended = match round.step(step) {
            Ok(RoundEnd::On(misses)) => misses.into_iter().flatten().next().map(|miss| miss.got),
            Ok(RoundEnd::Ends(_, why) | RoundEnd::SetUpFailed(why)) => Some(why),
            Err(why) => Some(format!("its probe is wrong: {why}")),
        };
        if ended.is_some() {
            why = ended;
            break;
        }
    }
    let _ = round.remove();
    why
}

/// A thread: takes the next case until there is none.
fn perform_all(
    settings: &ClientSettings,
    cases: &Cases,
    features: &[(String, Option<String>)],
    (next, stop): (&AtomicUsize, &AtomicBool),
    news: &mpsc::Sender<News>,
) {
    let mut client = match Client::new(settings) {
        Ok(client) => client,
        Err(failure) => return drop(news.send(News::Left(failure.message))),
    };
    while !stop.load(Relaxed) {
        let index = next.fetch_add(1, Relaxed);
        let Some(case) = cases.cases.get(index) else { return };
        let lacks = features
            .iter()
            .find(|(name, missing)| missing.is_some() && case.needs.iter().any(|need| need == name));
        let record = match lacks {
            Some((name, _)) => unrun(&case.script, index, &Outcome::NotApplicable(name.clone())),
            None => perform(&mut client, case, index, news),
        };
        let _ = news.send(News::Case(record));
    }
}

fn perform(client: &mut Client<'_>, case: &Case, index: usize, news: &mpsc::Sender<News>) -> CaseRecord {
    let began = clock::now();
    let all: Vec<_> = checks(&case.script).collect();
    let mut record = CaseRecord { case: index, checks: all.len() as u32, ..CaseRecord::default() };
    let mut number = 0;
    for (place, (_, steps)) in rounds(&case.script).into_iter().enumerate() {
        let mut round = StoreRound::new(client, &format!("{index}-{place}"));
        let mut rest: Option<String> = None;
        for step in steps {
            let iodyno_model::Action::Call(call) = &step.action else { continue };
            let outcome = match &rest {
                Some(why) => RoundEnd::SetUpFailed(why.clone()),
                None => match round.step(step) {
                    Ok(outcome) => outcome,
                    Err(why) => {
                        record.broken = Some(format!("the rule is wrong: {}: {why}", step.origin));
                        RoundEnd::SetUpFailed(why)
                    }
                },
            };
            let misses = match outcome {
                RoundEnd::On(misses) => misses,
                RoundEnd::Ends(misses, why) => {
                    rest = Some(why);
                    misses
                }
                RoundEnd::SetUpFailed(why) => {
                    for check in call.expect.iter().enumerate().map(|(at, _)| number + at) {
                        let outcome = Outcome::CouldNotRun(why.clone());
                        record.verdicts.push(verdict(&case.script, check as u32, &all[check], outcome));
                    }
                    number += call.expect.len();
                    rest = Some(why);
                    continue;
                }
            };
            for miss in misses {
                match miss {
                    Some(miss) => record.verdicts.push(Verdict {
                        expected: miss.expected,
                        got: miss.got,
                        ..verdict(&case.script, number as u32, &all[number], Outcome::Fail)
                    }),
                    None => record.passed += 1,
                }
                number += 1;
            }
        }
        if let Err(why) = round.remove() {
            let _ = news.send(News::Left(why));
        }
    }
    record.elapsed_ns = clock::now().saturating_sub(began);
    record
}
