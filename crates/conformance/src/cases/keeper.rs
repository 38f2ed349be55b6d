//! The keeper: makes what cases stand on, finds out what the file system has, and runs them.
//!
//! It never touches the directory under test itself, since it must not get stuck: what has to be asked of it, its children
//! ask.

use std::io::PipeWriter;
use std::time::Duration;

use iodyno_model::reflect::Reflect;
use iodyno_model::{CaseRecord, Verdict};

use super::case_pool::{Crowd, ScriptEnd};
use super::features::{KnownFeatures, Lack, MOUNTS, ROOT, SMALL, is_own};
use super::fixtures::{Views, make_small};
use super::order::RunMemory;
use super::process::{collect_within, die_with_parent, kill, set_umask, spawn};
use super::sandbox::{Health, look};
use super::{mounts, wire};
use crate::script::unrun;

/// What the keeper tells the worker.
#[derive(Debug, Reflect)]
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

/// Keeps a run.
pub fn keep(order: &RunMemory, mut news: PipeWriter) {
    die_with_parent();
    set_umask(0);
    // A file that grows too large is answered by an error too.
    // SAFETY: ignoring a signal is always allowed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let views = stage(order);
    let small = begin_small(order, &views);
    let at_once = match (look(order.index.sandbox(), true), order.index.at_once) {
        (_, wanted @ 1..) => wanted,
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
fn stage(order: &RunMemory) -> Views {
    let made = match order.index.privileged {
        true => mounts::hide().and_then(|()| mounts::make_views(order.index.sandbox())),
        false => Err("only root can make private mounts".into()),
    };
    match made {
        Ok(base) => Views { base: Some(base), ..Views::default() },
        Err(why) => Views { why, ..Views::default() },
    }
}

/// What is known without a probe; the small file system follows.
fn surroundings(order: &RunMemory, views: &Views) -> KnownFeatures {
    let mut known = KnownFeatures::default();
    let not_root = || Lack::Privilege("whoever runs this is not root".into());
    known.note(ROOT, (!order.index.privileged).then(not_root));
    known.note(
        MOUNTS,
        match (&views.base, order.index.privileged) {
            (Some(_), _) => None,
            (None, true) => Some(Lack::Missing(views.why.clone())),
            (None, false) => Some(Lack::Privilege(views.why.clone())),
        },
    );
    known
}

/// Begins to make a small file system, if anybody wants it, while others run.
fn begin_small(order: &RunMemory, views: &Views) -> Option<Result<libc::pid_t, String>> {
    if !order.index.scripts.iter().any(|entry| entry.needs.iter().any(|need| need == SMALL)) {
        return None;
    }
    let base = views.base.as_ref()?;
    let note = base.join("small.why");
    let body = || {
        if let Err(why) = make_small(order.index.sandbox(), base) {
            let _ = std::fs::write(&note, why);
        }
    };
    Some(spawn(body).map_err(iodyno_engine::failure::strerror))
}

/// Waits for it.
fn finish_small(
    crowd: &mut Crowd<'_>,
    known: &mut KnownFeatures,
    small: Option<Result<libc::pid_t, String>>,
) {
    let lack = match (small, &crowd.views.base) {
        (_, None) if !crowd.order.index.privileged => Some(Lack::Privilege("only root can mount one".into())),
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
fn probe(crowd: &mut Crowd<'_>, known: &mut KnownFeatures, at_once: usize) {
    let index = &crowd.order.index;
    let mut slots = Vec::new();
    for (number, name) in index.features.iter().enumerate().filter(|(_, name)| !is_own(name)) {
        let slot = index.cases + number;
        match known.lacks(&index.scripts[slot].needs) {
            Some((_, lack)) => known.note(name, Some(lack)),
            None => slots.push(slot),
        }
    }
    crowd.run(slots, at_once, &mut |ended| {
        let said = |verdict: &Verdict| format!("`{}` came back with {}", verdict.call, verdict.got);
        let missed = ended.record.verdicts.first().map(said);
        let why = ended.record.broken.clone().or(ended.set_up).or(missed);
        known.note(&index.features[ended.slot - index.cases], why.map(Lack::Missing));
    });
}

/// Runs what can be run: first what does not mind company.
fn run(crowd: &mut Crowd<'_>, known: &KnownFeatures, at_once: usize, news: &mut PipeWriter) {
    let order = crowd.order;
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for (slot, entry) in order.index.scripts[..order.index.cases].iter().enumerate() {
        match known.lacks(&entry.needs) {
            Some((feature, lack)) => {
                let record = unrun(&order.script(slot), slot, &lack.outcome(&feature));
                let _ = wire::send(news, &News::Case(record));
            }
            None if entry.alone => alone.push(slot),
            None => together.push(slot),
        }
    }
    let mut told = |ended: ScriptEnd| {
        let _ = wire::send(news, &News::Case(ended.record));
    };
    crowd.run(together, at_once, &mut told);
    crowd.run(alone, 1, &mut told);
}
