//! The keeper: makes what cases stand on, finds out what the file system has, and runs them.
//!
//! It never touches the directory under test itself, since it must not get stuck: what has to be asked of it, its children
//! ask.

use std::io::PipeWriter;
use std::time::Duration;

use iodyno_model::{CaseRecord, Feature, Script};
use serde::{Deserialize, Serialize};

use super::Order;
use super::crowd::{Crowd, Ended, Task};
use super::drive::unrun;
use super::features::{Known, Lack, MOUNTS, ROOT, SMALL, implied, is_foreign, is_own};
use super::fixtures::{Views, make_small};
use super::process::{collect_within, die_with_parent, gather_memory, kill, set_umask, spawn};
use super::sandbox::{Health, look};
use super::{mounts, wire};

/// What the keeper tells the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum News {
    /// What there is of features: the name, and why it is missing.
    Features(Vec<(String, Option<String>)>),
    /// What became of a case.
    Case(CaseRecord),
}

/// How long a small file system may take to be made.
const SMALL_WITHIN: Duration = Duration::from_secs(60);

/// Cases at a time where time stamps have whole seconds: most of them wait.
const MANY: usize = 64;

/// Keeps a run. `alone`: in a name space of processes of its own.
pub fn keep(order: &Order<'_>, mut news: PipeWriter, _alone: bool) {
    die_with_parent();
    set_umask(0);
    // A file that grows too large is answered by an error too.
    // SAFETY: ignoring a signal is always allowed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    gather_memory();
    let views = stage(order);
    let small = begin_small(order, &views);
    let at_once = match (look(&order.sandbox, true), order.cases.at_once) {
        (_, wanted @ 1..) => wanted as usize,
        (Health::Answers(true), _) => MANY,
        _ => std::thread::available_parallelism().map_or(1, |count| 4 * count.get()).max(4),
    };
    let others = small.iter().filter_map(|small| small.as_ref().ok().copied()).collect();
    let mut crowd = Crowd { order, views, dead: None, others };
    let mut known = surroundings(order, &crowd.views);
    probe(&mut crowd, &mut known, at_once);
    finish_small(&mut crowd, &mut known, small);
    let _ = wire::send(&mut news, &News::Features(known.all()));
    run(&mut crowd, &known, at_once, &mut news);
}

/// Makes private mounts, where that is allowed.
fn stage(order: &Order<'_>) -> Views {
    let made = match order.privileged {
        true => mounts::hide().and_then(|()| mounts::make_views(&order.sandbox)),
        false => Err("only root can make private mounts".into()),
    };
    match made {
        Ok(base) => Views { base: Some(base), ..Views::default() },
        Err(why) => Views { why, ..Views::default() },
    }
}

/// What is known without a probe; the small file system follows.
fn surroundings(order: &Order<'_>, views: &Views) -> Known {
    let mut known = Known::default();
    let not_root = || Lack::Privilege("whoever runs this is not root".into());
    known.note(ROOT, (!order.privileged).then(not_root));
    known.note(
        MOUNTS,
        match (&views.base, order.privileged) {
            (Some(_), _) => None,
            (None, true) => Some(Lack::Missing(views.why.clone())),
            (None, false) => Some(Lack::Privilege(views.why.clone())),
        },
    );
    known
}

/// Begins to make a small file system, if anybody wants it, while others run.
fn begin_small(order: &Order<'_>, views: &Views) -> Option<Result<libc::pid_t, String>> {
    let wants = |script: &Script, needs: &[String]| {
        needs.iter().any(|need| need == SMALL) || implied(script).any(|need| need == SMALL)
    };
    let any = order.cases.cases.iter().any(|case| wants(&case.script, &case.needs));
    if !any && !order.cases.features.iter().any(|feature| wants(&feature.probe, &[])) {
        return None;
    }
    let base = views.base.as_ref()?;
    let note = base.join("small.why");
    let body = || {
        if let Err(why) = make_small(&order.sandbox, base) {
            let _ = std::fs::write(&note, why);
        }
    };
    Some(spawn(body).map_err(|errno| crate::open::strerror(errno)))
}

/// Waits for it.
fn finish_small(crowd: &mut Crowd<'_>, known: &mut Known, small: Option<Result<libc::pid_t, String>>) {
    let lack = match (small, &crowd.views.base) {
        (_, None) if !crowd.order.privileged => Some(Lack::Privilege("only root can mount one".into())),
        (_, None) => Some(Lack::Missing(crowd.views.why.clone())),
        (None, _) => None,
        (Some(Err(why)), _) => Some(Lack::Missing(why)),
        (Some(Ok(pid)), Some(base)) => match collect_within(pid, SMALL_WITHIN) {
            None => {
                kill(pid);
                Some(Lack::Missing("it took too long to make one".into()))
            }
            Some(_) => {
                crowd.views.small = true;
                std::fs::read_to_string(base.join("small.why")).ok().map(Lack::Missing)
            }
        },
    };
    crowd.views.small &= lack.is_none();
    crowd.others.clear();
    known.note(SMALL, lack);
}

/// Asks for what has a probe.
fn probe(crowd: &mut Crowd<'_>, known: &mut Known, at_once: usize) {
    let order = crowd.order;
    let first = order.cases.cases.len();
    let mut tasks = Vec::new();
    for (index, feature) in
        order.cases.features.iter().enumerate().filter(|(_, feature)| !is_own(&feature.name))
    {
        match forbids(order, feature, known) {
            Some(lack) => known.note(&feature.name, Some(lack)),
            None => tasks.push(Task { script: &feature.probe, slot: first + index }),
        }
    }
    crowd.run(tasks, at_once, &mut |ended| {
        let missed = ended
            .record
            .verdicts
            .first()
            .map(|verdict| format!("`{}` came back with {}", verdict.call, verdict.got));
        let why = ended.record.broken.clone().or(ended.set_up).or(missed);
        known.note(&order.cases.features[ended.slot - first].name, why.map(Lack::Missing));
    });
}

/// What a probe itself needs and does not have.
fn forbids(order: &Order<'_>, feature: &Feature, known: &Known) -> Option<Lack> {
    if is_foreign(&feature.probe) && !order.privileged {
        return Some(Lack::Privilege("it takes root to find out".into()));
    }
    let case = iodyno_model::Case { script: feature.probe.clone(), ..iodyno_model::Case::default() };
    known.lacks(&case).map(|(_, lack)| lack)
}

/// Runs what can be run: first what does not mind company.
fn run(crowd: &mut Crowd<'_>, known: &Known, at_once: usize, news: &mut PipeWriter) {
    let order = crowd.order;
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for (slot, case) in order.cases.cases.iter().enumerate() {
        if let Some((feature, lack)) = known.lacks(case) {
            let _ = wire::send(news, &News::Case(unrun(order.cases, slot, &lack.outcome(&feature))));
            continue;
        }
        let tasks = if case.alone { &mut alone } else { &mut together };
        tasks.push(Task { script: &case.script, slot });
    }
    let mut told = |ended: Ended| {
        let _ = wire::send(news, &News::Case(ended.record));
    };
    crowd.run(together, at_once, &mut told);
    crowd.run(alone, 1, &mut told);
}
