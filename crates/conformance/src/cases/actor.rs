//! Actors: processes of their own, each with an identity and hands of its own, that do what their case tells them.
//!
//! A case never takes another identity; it tells an actor what to do through a socket and reads its answer there, at once
//! or later. An actor ends when its case does, at the latest: one that has let go of everything goes on in the case's
//! next round, since a process costs more than most rounds do.

use std::cell::RefCell;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use iodyno_model::reflect::Reflect;
use iodyno_model::{Actor, Expect};

use super::process::{
    End, become_actor, close_all_but, collect, collect_within, die_with_parent, done, kill, look_within,
    readable, signal_name, spawn,
};
use super::wire;
use crate::judge::{Came, judge};
use crate::syscall::{Answer, Hands};
use crate::words::whole;
use iodyno_engine::clock::moment;
use iodyno_engine::failure::strerror;

/// A call to be made.
#[derive(Clone, Debug, Reflect)]
pub struct CallRequest {
    pub name: String,
    /// Its arguments, with all words put in.
    pub arguments: Vec<String>,
    /// What it is kept under.
    pub label: String,
    /// What each turn of a loop must come back with; nothing: it must succeed.
    pub expects: Vec<Expect>,
}

/// Makes a call, as often as it says.
///
/// # Errors
/// It makes no sense.
pub fn carry_out(hands: &mut Hands, order: &CallRequest) -> Reply {
    let inner = |skip: usize| {
        let mut words = order.arguments.iter().skip(skip).cloned();
        let name = words.next().ok_or_else(|| format!("`{}`: no call follows", order.name))?;
        Ok::<_, String>(CallRequest { name, arguments: words.collect(), ..order.clone() })
    };
    match order.name.as_str() {
        "try" => carry_out(hands, &inner(0)?),
        "loop" => {
            let times = order.arguments.first().and_then(|times| whole(times)).filter(|times| *times > 0);
            let times = times.ok_or("`loop`: how often comes first, a whole number of at least 1")?;
            let turn = inner(1)?;
            for _ in 1..times {
                let answer = carry_out(hands, &turn)?;
                if !meets(&turn, &answer) {
                    return Ok(answer);
                }
            }
            carry_out(hands, &turn)
        }
        _ => hands.call(&order.name, &order.arguments, &order.label),
    }
}

/// Whether a turn of a loop came back as it must, so that the next may follow.
pub fn meets(turn: &CallRequest, answer: &Answer) -> bool {
    match turn.expects.as_slice() {
        // Whatever comes back will do; only what the last turn said is judged.
        _ if turn.name == "try" => true,
        [] => answer.errno.is_none(),
        expects => expects.iter().all(|expect| judge(expect, &Came::answer(answer.clone())).is_none()),
    }
}

/// The first thing an actor says: the number by which the whole system knows it, or what keeps it from being who it is to
/// be.
type Hello = Result<u32, String>;

/// An answer, or why the call makes no sense.
pub type Reply = Result<Answer, String>;

/// How long a call must have had no answer before it counts as one that waits.
const WAITS: Duration = Duration::from_millis(30);
/// How long a process that is busy is given to fall asleep.
const BUSY: Duration = Duration::from_secs(3);

/// An actor as its case sees it.
#[derive(Debug)]
pub struct Process {
    /// 0: it was collected.
    pid: libc::pid_t,
    socket: UnixStream,
    /// The number by which the whole system knows it; none: it has not said so yet.
    known_as: Option<u32>,
    /// Since when an answer is owed.
    owes: Option<Instant>,
    /// It has given up something that no process gets back.
    spent: bool,
}

/// What an actor is told when a round is over, and when another begins: no rule can say either.
const LEAVE: &str = " leave";
const ENTER: &str = " enter";

/// Where the actors of a case wait for its next round.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The directory of the case.
    home: &'a OwnedFd,
    /// Whether they may: not where a mount would be kept busy.
    stays: bool,
    /// Those who wait, with their numbers in the script.
    idle: RefCell<Vec<(usize, Process)>>,
}

impl<'a> Bench<'a> {
    /// With nobody on it.
    pub fn new(home: &'a OwnedFd, stays: bool) -> Self {
        Bench { home, stays, idle: RefCell::default() }
    }

    /// An actor in the round's directory, which is the current one and has this name: one who waited, or a new one.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn call(&self, index: usize, actor: &Actor, round: &str) -> Result<Process, String> {
        let mut idle = self.idle.borrow_mut();
        let found = idle.iter().position(|(number, _)| *number == index).map(|at| idle.swap_remove(at).1);
        match found.and_then(|mut waited| waited.told(ENTER, &[round]).then_some(waited)) {
            Some(waited) => Ok(waited),
            None => Process::start(actor, None, self.home.as_raw_fd()),
        }
    }

    /// A new actor, in the directory of a round that runs.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn anew(&self, actor: &Actor, round: &Path) -> Result<Process, String> {
        Process::start(actor, Some(round), self.home.as_raw_fd())
    }

    /// An actor whose round is over: it waits if it can, and ends if not.
    pub fn take(&self, index: usize, mut actor: Process) {
        if self.stays && !actor.spent && actor.pid != 0 && actor.owes.is_none() && actor.told(LEAVE, &[]) {
            self.idle.borrow_mut().push((index, actor));
        }
    }
}

/// Why an actor did not do what it was asked.
pub enum ActorFailure {
    /// The rule makes no sense.
    Wrong(String),
    /// The actor could not be made, or is gone.
    Gone(String),
}

impl Process {
    /// Makes an actor, in the directory where its case is now, or in another. Between rounds it is in `base`.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn start(actor: &Actor, home: Option<&Path>, base: RawFd) -> Result<Process, String> {
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("socketpair: {error}"))?;
        let body = || {
            die_with_parent();
            close_all_but(&[theirs.as_raw_fd(), base]);
            if let Some(home) = home {
                let _ = std::env::set_current_dir(home);
            }
            serve(actor, theirs, base);
        };
        let pid = spawn(body).map_err(|errno| format!("fork: {}", strerror(errno)))?;
        Ok(Process { pid, socket, known_as: None, owes: None, spent: false })
    }

    /// Tells it to do something, and does not wait.
    ///
    /// # Errors
    /// It is still about something else, or gone.
    pub fn tell(&mut self, order: &CallRequest) -> Result<(), ActorFailure> {
        if self.owes.is_some() {
            return Err(ActorFailure::Wrong(
                "it still is about what it does in the background: `await` comes first".into(),
            ));
        }
        self.owes = Some(moment());
        self.spent |= order.name == "rlimit" || order.arguments.iter().any(|word| word == "rlimit");
        wire::send(&mut self.socket, order).map_err(|_| self.gone())
    }

    /// Whether it did what it was told about rounds.
    fn told(&mut self, name: &str, arguments: &[&str]) -> bool {
        let arguments = arguments.iter().map(|word| (*word).to_string()).collect();
        let order = CallRequest { name: name.into(), arguments, label: String::new(), expects: Vec::new() };
        let answer = self.tell(&order).and_then(|()| self.answer());
        answer.is_ok_and(|answer| answer.errno.is_none())
    }

    /// Waits for its answer.
    ///
    /// # Errors
    /// It owes none, is gone, or says that the call makes no sense.
    pub fn answer(&mut self) -> Result<Answer, ActorFailure> {
        if self.owes.is_none() {
            return Err(ActorFailure::Wrong(
                "it does nothing in the background that could be awaited".into(),
            ));
        }
        self.hear_hello()?;
        let reply: Reply = wire::receive(&mut self.socket).map_err(|_| self.gone())?;
        self.owes = None;
        reply.map_err(ActorFailure::Wrong)
    }

    /// Whether its call in the background still waits for something: what came instead, if not.
    ///
    /// # Errors
    /// It does nothing in the background, or is gone.
    pub fn waits(&mut self) -> Result<Came, ActorFailure> {
        let Some(since) = self.owes else {
            return Err(ActorFailure::Wrong(
                "it does nothing in the background that could be blocked".into(),
            ));
        };
        self.hear_hello()?;
        let until = moment() + BUSY;
        loop {
            let left = WAITS.saturating_sub(since.elapsed()).max(Duration::from_millis(2));
            if readable(&[self.socket.as_raw_fd()], left)[0] {
                return Ok(Came::instead("its call has come back already"));
            }
            if self.sleeps() {
                return Ok(Came::answer(Answer::default()));
            }
            if moment() > until {
                return Ok(Came::instead("it does not wait, it is busy"));
            }
        }
    }

    fn sleeps(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.known_as.unwrap_or(0)));
        let state = stat.ok().and_then(|stat| stat.rsplit_once(')')?.1.trim_start().chars().next());
        matches!(state, Some('S' | 'D'))
    }

    fn hear_hello(&mut self) -> Result<(), ActorFailure> {
        if self.known_as.is_none() {
            let hello: Hello = wire::receive(&mut self.socket).map_err(|_| self.gone())?;
            self.known_as = Some(hello.map_err(ActorFailure::Gone)?);
        }
        Ok(())
    }

    /// It is gone: how it went.
    fn gone(&mut self) -> ActorFailure {
        let end = collect_within(self.pid, Duration::from_secs(1));
        if end.is_some() {
            self.pid = 0;
        }
        ActorFailure::Gone(match end {
            Some(End::Signal(signal)) => format!("its process was killed by {}", signal_name(signal)),
            _ => "its process is gone".into(),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.pid == 0 {
            return;
        }
        kill(self.pid);
        // One that cannot be killed, because its file system does not answer, is its keeper's concern: the case's time
        // limit ends the wait.
        look_within(None, || collect(self.pid));
    }
}

/// What an actor does all its life.
fn serve(actor: &Actor, mut socket: UnixStream, base: RawFd) {
    let own = std::fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok());
    let hello: Hello = become_actor(actor).map(|()| own.unwrap_or(0));
    // Taking an identity clears what was asked for before.
    die_with_parent();
    let is_well = hello.is_ok();
    if wire::send(&mut socket, &hello).is_err() || !is_well {
        return;
    }
    let mut hands = Hands::default();
    while let Ok(order) = wire::receive::<CallRequest>(&mut socket) {
        let reply = match order.name.as_str() {
            LEAVE => {
                hands.empty();
                // SAFETY: the descriptor is open as long as this process is.
                Ok(answered(unsafe { libc::fchdir(base) }))
            }
            ENTER => Ok(enter(&order.arguments)),
            _ => carry_out(&mut hands, &order),
        };
        if wire::send(&mut socket, &reply).is_err() {
            return;
        }
    }
}

fn enter(arguments: &[String]) -> Answer {
    let name = arguments.first().and_then(|name| CString::new(name.as_str()).ok()).unwrap_or_default();
    // SAFETY: the name ends with a zero byte.
    answered(unsafe { libc::chdir(name.as_ptr()) })
}

fn answered(outcome: libc::c_int) -> Answer {
    Answer { errno: done(outcome).err(), ..Answer::default() }
}
