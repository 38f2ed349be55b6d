//! Several cases at a time, each in a process of its own with a time limit; and what becomes of those that hang, crash or
//! take the file system with them.

use std::collections::VecDeque;
use std::io::{PipeReader, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use iodyno_model::{CaseRecord, Outcome, Verdict};

use super::case::{self, Brief, CaseMessage};
use super::fixtures::Views;
use super::order::RunMemory;
use super::process::{
    End, PANICKED, close_all_but, collect, collect_strays, collect_within, ends_within, kill, kill_group,
    readable, signal_name, spawn,
};
use super::sandbox::{Health, look};
use super::wire::Inbox;
use crate::script::{rounds, unmade, unrun, words};
use crate::syscall::errno_name;
use iodyno_engine::clock::moment;
use iodyno_engine::failure::strerror;

/// How long what was killed may take to die; what sleeps in the kernel may never do.
const DIES_WITHIN: Duration = Duration::from_secs(2);

/// Errors after which it is worth to look whether the file system is still there.
const SUSPECT: [&str; 7] = ["ENOTCONN", "EIO", "ESHUTDOWN", "ETIMEDOUT", "ESTALE", "ECONNABORTED", "ENODEV"];

/// What became of a script.
pub struct ScriptEnd {
    /// Its place on the board.
    pub slot: usize,
    /// What became of its checks.
    pub record: CaseRecord,
    /// A step that is no check, and failed.
    pub set_up: Option<String>,
}

/// Runs scripts.
pub struct Crowd<'a> {
    /// What is to be done.
    pub order: &'a RunMemory,
    /// What cases stand on.
    pub views: Views,
    /// Why nothing can be run any more.
    pub dead: Option<String>,
    /// Other children of this process, who are not to be collected here.
    pub others: Vec<libc::pid_t>,
}

/// A script that runs.
struct Running {
    /// Its place on the board, and the name of its directory.
    slot: usize,
    pid: libc::pid_t,
    pipe: PipeReader,
    inbox: Inbox,
    began: Instant,
    killed: Option<Instant>,
    /// Whether it was killed because its time was up.
    is_late: bool,
    /// Nobody can tell more of it.
    is_over: bool,
    verdicts: Vec<Verdict>,
    set_up: Option<String>,
    broken: Option<String>,
}

impl Crowd<'_> {
    /// Runs scripts by their places, so many at a time, and tells what became of each.
    pub fn run(&mut self, slots: Vec<usize>, at_once: usize, told: &mut dyn FnMut(ScriptEnd)) {
        let (mut waiting, mut running) = (VecDeque::from(slots), Vec::<Running>::new());
        while !waiting.is_empty() || !running.is_empty() {
            while running.len() < at_once.max(1) {
                let Some(slot) = waiting.pop_front() else { break };
                match self.start(slot) {
                    Ok(one) => running.push(one),
                    Err(why) => told(lost(self.order, slot, &why)),
                }
            }
            self.listen(&mut running);
            self.limit(&mut running);
            let mut index = 0;
            while index < running.len() {
                match self.end(&mut running[index]) {
                    None => index += 1,
                    Some(ended) => {
                        let one = running.swap_remove(index);
                        self.order.running.leave(one.pid);
                        self.doubt(&ended, &mut running);
                        told(ended);
                    }
                }
            }
            let known = |pid| self.others.contains(&pid) || running.iter().any(|one| one.pid == pid);
            collect_strays(known);
        }
    }

    fn start(&self, slot: usize) -> Result<Running, String> {
        if let Some(why) = &self.dead {
            return Err(why.clone());
        }
        let (pipe, out) = pipe().map_err(|error| format!("pipe: {error}"))?;
        let body = || {
            close_all_but(&[out.as_raw_fd()]);
            let (script, name) = (self.order.script(slot), slot.to_string());
            let brief = Brief {
                script: &script,
                directory: self.order.index.sandbox().join(&name),
                name,
                views: &self.views,
                progress: self.order.board.of(slot),
                keep: self.order.index.keep,
            };
            case::perform(&brief, out);
        };
        let pid = spawn(body).map_err(|errno| format!("fork: {}", strerror(errno)))?;
        self.order.running.enter(pid);
        Ok(Running {
            slot,
            pid,
            pipe,
            inbox: Inbox::default(),
            began: moment(),
            killed: None,
            is_late: false,
            is_over: false,
            verdicts: Vec::new(),
            set_up: None,
            broken: None,
        })
    }

    /// Hears those that have something to say.
    fn listen(&self, running: &mut [Running]) {
        let fds: Vec<RawFd> = running.iter().map(|one| one.pipe.as_raw_fd()).collect();
        let can_speak = readable(&fds, Duration::from_millis(20));
        for (one, _) in running.iter_mut().zip(can_speak).filter(|(_, can)| *can) {
            one.is_over = !one.inbox.fill(&mut one.pipe);
            while let Some(said) = one.inbox.next() {
                match said {
                    CaseMessage::Verdict(verdict) => one.verdicts.push(verdict),
                    CaseMessage::SetUp(why) => one.set_up = one.set_up.take().or(Some(why)),
                    CaseMessage::Broken(why) => one.broken = Some(why),
                }
            }
        }
    }

    /// Kills those whose time is up.
    fn limit(&self, running: &mut [Running]) {
        let limit = Duration::from_nanos(self.order.index.limit_ns);
        for one in running.iter_mut().filter(|one| one.killed.is_none() && !one.is_over) {
            if !limit.is_zero() && one.began.elapsed() > limit {
                one.is_late = true;
                one.kill(format!("took longer than {limit:?}"), self.order);
            }
        }
    }

    /// Whether one has come to its end: what became of it.
    fn end(&self, one: &mut Running) -> Option<ScriptEnd> {
        let end = match (one.is_over, one.killed) {
            (true, _) => {
                // Nothing that it started may outlive it, and its number is its own until it is collected.
                if !ends_within(one.pid, DIES_WITHIN) {
                    // On a machine under load its end may take longer than that: then the signal below is ours.
                    one.killed.get_or_insert_with(moment);
                }
                kill_group(one.pid);
                collect_within(one.pid, DIES_WITHIN)
            }
            (false, Some(since)) => match collect(one.pid) {
                None if since.elapsed() < DIES_WITHIN => return None,
                end => end,
            },
            (false, None) => return None,
        };
        one.judge_end(end, self.order);
        Some(one.ended(self.order))
    }

    /// After something that a sound file system does not do: is it still there?
    fn doubt(&mut self, ended: &ScriptEnd, running: &mut [Running]) {
        let is_suspect = |verdict: &Verdict| SUSPECT.iter().any(|errno| verdict.got.contains(errno));
        let is_doubtful = ended.record.broken.is_some() || ended.record.verdicts.iter().any(is_suspect);
        if self.dead.is_some() || !is_doubtful {
            return;
        }
        let why = match look(self.order.index.sandbox(), false) {
            Health::Answers(_) => return,
            Health::Fails(errno) => format!("the file system is gone: {}", errno_name(errno)),
            Health::Hangs => "the file system does not answer any more".to_string(),
        };
        let why = format!("{why}; {}", self.suspects(ended.slot, running));
        running
            .iter_mut()
            .filter(|one| one.killed.is_none())
            .for_each(|one| one.kill(why.clone(), self.order));
        self.dead = Some(why);
    }
}

impl Crowd<'_> {
    /// The case that found the file system dead, and those that ran beside it: one of them killed it.
    fn suspects(&self, found: usize, running: &[Running]) -> String {
        let name = |slot: usize| self.order.index.names.get(slot).map_or("a probe", String::as_str);
        let beside: Vec<&str> =
            running.iter().map(|one| name(one.slot)).filter(|beside| *beside != name(found)).collect();
        match beside.as_slice() {
            [] => format!("it went while {} ran", name(found)),
            beside => format!("it went while {} ran, beside {}", name(found), beside.join(", ")),
        }
    }
}

impl Running {
    fn kill(&mut self, why: String, order: &RunMemory) {
        self.broken = self.broken.take().or_else(|| Some(format!("{why}{}", self.place(order))));
        self.killed = Some(moment());
        kill_group(self.pid);
        kill(self.pid);
    }

    fn place(&self, order: &RunMemory) -> String {
        let (progress, script) = (order.board.of(self.slot), order.script(self.slot));
        let rounds = rounds(&script);
        let (round, step) = (progress.round.load(Relaxed) as usize, progress.step.load(Relaxed) as usize);
        let Some((label, steps)) = rounds.get(round) else { return String::new() };
        let Some(iodyno_model::Action::Call(call)) = steps.get(step).map(|step| &step.action) else {
            return String::new();
        };
        let call = words(&script, call, &call.arguments);
        if label.is_empty() { format!(", at `{call}`") } else { format!(", at `{call}` ({label})") }
    }

    /// What its end means.
    fn judge_end(&mut self, end: Option<End>, order: &RunMemory) {
        let how = match end {
            None => Some("it could not be killed".to_string()),
            Some(End::Signal(_)) if self.killed.is_some() => None,
            Some(End::Signal(signal)) => {
                Some(format!("killed by {}{}", signal_name(signal), self.place(order)))
            }
            Some(End::Status(PANICKED)) => Some(format!("a defect of iodyno{}", self.place(order))),
            Some(End::Status(_)) => None,
        };
        self.broken = match (self.broken.take(), how) {
            (Some(broken), Some(how)) => Some(format!("{broken}; {how}")),
            (broken, how) => broken.or(how),
        };
    }

    /// Its record. Checks that were not made could not run.
    fn ended(&mut self, order: &RunMemory) -> ScriptEnd {
        let (made, checks) =
            (order.board.of(self.slot).check.load(Relaxed), order.index.scripts[self.slot].checks);
        if self.broken.is_none() && made < checks {
            self.broken = Some("it ended before its end".into());
        }
        let mut verdicts = std::mem::take(&mut self.verdicts);
        if let Some(why) = self.broken.as_ref().filter(|_| made < checks) {
            let told = verdicts.last().map_or(0, |last| last.check + 1);
            let outcome = match self.is_late {
                true => Outcome::TimedOut(why.clone()),
                false => Outcome::CouldNotRun(why.clone()),
            };
            verdicts.extend(unmade(&order.script(self.slot), made.max(told), &outcome));
        }
        let kept = &order.board.of(self.slot).kept;
        if self.broken.is_some() && order.index.keep {
            kept.store(1, Relaxed);
        }
        let directory = || order.index.sandbox().join(self.slot.to_string()).display().to_string();
        let record = CaseRecord {
            case: self.slot,
            elapsed_ns: self.began.elapsed().as_nanos() as u64,
            checks,
            passed: checks.saturating_sub(verdicts.len() as u32),
            verdicts,
            broken: self.broken.take(),
            kept: (kept.load(Relaxed) != 0).then(directory),
        };
        ScriptEnd { slot: self.slot, record, set_up: self.set_up.take() }
    }
}

/// What becomes of a script that cannot even be started.
fn lost(order: &RunMemory, slot: usize, why: &str) -> ScriptEnd {
    let record = unrun(&order.script(slot), slot, &Outcome::CouldNotRun(why.into()));
    ScriptEnd { slot, record, set_up: Some(why.into()) }
}
