//! One round of a case: a fresh directory, its actors, what earlier steps answered, and each step in turn.

use std::path::{Path, PathBuf};

use iodyno_model::{Action, Call, Expect, Step};

use super::actor::{self, Bench, CallRequest, Process, carry_out, meets};
use super::case::{Brief, below};
use super::cleanup::{self, Task};
use super::process::{identity, is_privileged, make_directory};
use super::set_up;
use super::tick;
use crate::judge::{Came, Miss, is_outcome, judge};
use crate::script::words;
use crate::syscall::Hands;
use crate::words::{Labels, Surroundings, WordFailure, letters, resolve};
use iodyno_engine::failure::strerror;

/// What became of a step's checks.
pub struct Misses {
    /// The call's arguments, as they were.
    pub arguments: Vec<String>,
    /// For each expectation, how it was missed.
    pub each: Vec<Option<Miss>>,
}

/// How a round goes on after a step.
pub enum StepEnd {
    /// With the next step.
    On(Misses),
    /// Nothing that follows means anything: why.
    Ends(Misses, String),
    /// The same, because a step that is no check failed.
    SetUpFailed(String),
}

/// A round while it runs.
pub struct Round<'a> {
    brief: &'a Brief<'a>,
    name: &'a str,
    hands: Hands,
    actors: Vec<Option<Result<Process, String>>>,
    labels: Labels,
    tick: Option<std::fs::File>,
    /// What it made outside of its directory.
    made: Vec<PathBuf>,
    steps: Vec<&'a Step>,
    /// Where its actors come from, and go.
    bench: &'a Bench<'a>,
    /// Actors whose call in the background may come back with anything.
    careless: Vec<usize>,
    /// The first set-up that succeeded and did not do what it was asked for.
    untaken: Option<String>,
}

impl<'a> Round<'a> {
    /// A round whose directory is the current one. Its actors are called now, while it holds nothing that new ones would
    /// inherit.
    pub fn new(brief: &'a Brief<'a>, name: &'a str, steps: &[&'a Step], bench: &'a Bench<'a>) -> Self {
        let called = |step: &&Step| asked(step).and_then(|call| call.actor);
        let mut actors: Vec<Option<Result<Process, String>>> = Vec::new();
        actors.resize_with(brief.script.actors.len(), || None);
        for index in steps.iter().filter_map(called) {
            if let Some((slot, actor)) = actors.get_mut(index).zip(brief.script.actors.get(index))
                && slot.is_none()
            {
                *slot = Some(bench.call(index, actor, name));
            }
        }
        let (hands, labels) = (Hands::default(), Labels::new());
        Round {
            brief,
            name,
            hands,
            actors,
            labels,
            tick: None,
            made: Vec::new(),
            steps: steps.to_vec(),
            bench,
            careless: Vec::new(),
            untaken: None,
        }
    }

    /// Does a step, and judges what came of it.
    ///
    /// # Errors
    /// The rule makes no sense: why.
    pub fn step(&mut self, step: &Step, call: &Call) -> Result<StepEnd, String> {
        let put_in = call.arguments.iter().map(|word| resolve(word, self)).collect::<Result<Vec<_>, _>>();
        let put_in = put_in.and_then(|arguments| Ok((arguments, self.expects(&call.expect)?)));
        let (arguments, expects) = match put_in {
            Ok(both) => both,
            Err(WordFailure::Wrong(why)) => return Err(why),
            Err(WordFailure::Missing(why)) => return Ok(StepEnd::SetUpFailed(why)),
        };
        let (name, label) = (call.name.clone(), step.label.clone());
        if call.background && !expects.is_empty() {
            return Err("what is expected of a call in the background stands at its `await`".into());
        }
        let each_turn = if call.background { self.awaited(step)? } else { expects.clone() };
        let order = CallRequest { name, arguments, label, expects: each_turn };
        let came = self.repeat(step.repeat, call, &order)?;
        let careless = self.is_careless(call, &order);
        let said = |came: &Came| {
            format!("`{}` came back with {}", words(self.brief.script, call, &order.arguments), came.ended())
        };
        let flow = if expects.is_empty() {
            if call.actor.is_none() && has_succeeded(&came) && self.untaken.is_none() {
                self.untaken = self.untaken(call, &order);
            }
            match has_succeeded(&came) || careless {
                true => StepEnd::On(Misses { arguments: Vec::new(), each: Vec::new() }),
                false => StepEnd::SetUpFailed(said(&came)),
            }
        } else {
            let each: Vec<_> = expects.iter().map(|expect| judge(expect, &came)).collect();
            // What follows from a set-up that did not take accuses nothing.
            if let Some(why) = self.untaken.clone().filter(|_| each.iter().any(Option::is_some)) {
                return Ok(StepEnd::SetUpFailed(why));
            }
            let mut missed = expects.iter().zip(&each).filter(|(_, miss)| miss.is_some());
            let ends = missed.any(|(expect, _)| is_outcome(expect) || !has_succeeded(&came));
            let why = if ends { said(&came) } else { String::new() };
            let misses = Misses { arguments: order.arguments.clone(), each };
            if ends { StepEnd::Ends(misses, why) } else { StepEnd::On(misses) }
        };
        if !step.label.is_empty() && !call.background {
            self.labels.insert(step.label.clone(), came.answer);
        }
        Ok(flow)
    }

    /// What a set-up call of the case's own process left otherwise than it was asked to, in words.
    fn untaken(&mut self, call: &Call, order: &CallRequest) -> Option<String> {
        let says =
            |name: &str| self.steps.iter().filter_map(|step| asked(step)).any(|call| call.name == name);
        let masked = ["umask", "setacl", "setxattr"].into_iter().any(says);
        let asked = set_up::request(&order.name, &order.arguments, masked, is_privileged())?;
        let answer = self.hands.call(asked.look, std::slice::from_ref(asked.path), "").ok()?;
        let left = asked.left_otherwise(&answer)?;
        Some(format!(
            "`{}` came back with success, and left {left}",
            words(self.brief.script, call, &order.arguments)
        ))
    }

    /// Whether whatever comes back will do; of what began in the background, that is remembered until it is awaited.
    fn is_careless(&mut self, call: &Call, order: &CallRequest) -> bool {
        let Some(index) = call.actor.filter(|_| call.background || order.name == "await") else {
            return is_lenient(order);
        };
        let was = self.careless.contains(&index);
        self.careless.retain(|known| *known != index);
        if call.background && is_lenient(order) {
            self.careless.push(index);
        }
        was
    }

    /// What is expected where a call that begins in the background is awaited.
    fn awaited(&mut self, step: &Step) -> Result<Vec<Expect>, String> {
        let after = self.steps.iter().skip_while(|other| !std::ptr::eq(**other, step)).skip(1);
        let Some(call) = asked(step).filter(|call| call.name == "loop") else { return Ok(Vec::new()) };
        let next = after.filter_map(|other| asked(other)).find(|other| other.actor == call.actor);
        let expects = next.filter(|next| next.name == "await").map(|next| next.expect.clone());
        self.expects(&expects.unwrap_or_default()).map_err(|trouble| match trouble {
            WordFailure::Wrong(why) | WordFailure::Missing(why) => why,
        })
    }

    /// Expectations with their words put in.
    fn expects(&mut self, expects: &[Expect]) -> Result<Vec<Expect>, WordFailure> {
        let mut all =
            |words: &[String]| words.iter().map(|word| resolve(word, self)).collect::<Result<Vec<_>, _>>();
        let mut put_in = |expect: &Expect| {
            Ok(match expect {
                Expect::Answers(words) => Expect::Answers(all(words)?),
                Expect::Attribute { name, relation, value } => {
                    let value = all(std::slice::from_ref(value))?.remove(0);
                    Expect::Attribute { name: name.clone(), relation: relation.clone(), value }
                }
                other => other.clone(),
            })
        };
        expects.iter().map(&mut put_in).collect()
    }

    fn repeat(&mut self, times: u64, call: &Call, order: &CallRequest) -> Result<Came, String> {
        let mut came = self.perform(call, order)?;
        for _ in 1..times {
            if came.instead.is_some() || !meets(order, &came.answer) {
                break;
            }
            came = self.perform(call, order)?;
        }
        Ok(came)
    }

    fn perform(&mut self, call: &Call, order: &CallRequest) -> Result<Came, String> {
        match order.name.as_str() {
            "tick" => Ok(self.tick()),
            "kill" => {
                let index = self.actor_named(order)?;
                self.actors[index] = None;
                Ok(Came::default())
            }
            "blocked" => {
                let index = self.actor_named(order)?;
                actor_outcome(self.actor(index)?.and_then(Process::waits))
            }
            "await" => {
                let index = call.actor.ok_or("it wants an actor before it: `owner: await`")?;
                actor_outcome(self.actor(index)?.and_then(|actor| actor.answer().map(Came::answer)))
            }
            _ => match call.actor {
                Some(index) => self.delegate(index, call.background, order),
                None if call.background => Err("only an actor can do something in the background".into()),
                None => carry_out(&mut self.hands, order).map(Came::answer),
            },
        }
    }

    fn delegate(&mut self, index: usize, background: bool, order: &CallRequest) -> Result<Came, String> {
        let answer = |actor: &mut Process| {
            actor.tell(order)?;
            if background { Ok(Came::default()) } else { actor.answer().map(Came::answer) }
        };
        actor_outcome(self.actor(index)?.and_then(answer))
    }

    /// An actor by its number; made anew if it was killed.
    fn actor(&mut self, index: usize) -> Result<Result<&mut Process, actor::ActorFailure>, String> {
        let actor = self.brief.script.actors.get(index).ok_or("there is no such actor")?;
        let home = self.brief.directory.join(self.name);
        let bench = self.bench;
        let slot = self.actors[index].get_or_insert_with(|| bench.anew(actor, &home));
        Ok(slot.as_mut().map_err(|why| actor::ActorFailure::Gone(why.clone())))
    }

    fn actor_named(&self, order: &CallRequest) -> Result<usize, String> {
        let name = order.arguments.first().ok_or("it wants the name of an actor")?;
        let found = self.brief.script.actors.iter().position(|actor| actor.name == *name);
        found.ok_or_else(|| format!("there is no actor `{name}` in this case"))
    }

    fn tick(&mut self) -> Came {
        let file = match &self.tick {
            Some(file) => Ok(file),
            None => tick::open(&self.brief.directory).map(|file| &*self.tick.insert(file)),
        };
        match file.and_then(tick::wait) {
            Ok(()) => Came::default(),
            Err(errno) => Came::instead(format!("the time stamps of a file of our own: {}", strerror(errno))),
        }
    }

    /// A directory of this round's own somewhere else, made at its first use.
    fn own(&mut self, path: PathBuf) -> Result<String, WordFailure> {
        if !self.made.contains(&path) {
            let _ = cleanup::clean(&path, Task::Remove);
            let missing =
                |error: std::io::Error| WordFailure::Missing(format!("{}: {error}", path.display()));
            make_directory(&path).map_err(missing)?;
            self.made.push(path.clone());
        }
        Ok(path.display().to_string())
    }

    fn base(&self) -> Result<&'a Path, WordFailure> {
        let views = self.brief.views;
        views.base.as_deref().ok_or_else(|| WordFailure::Missing(views.why.clone()))
    }

    /// A path of so many bytes: its directories are made, what it names is not.
    fn long_path(&mut self, bytes: usize) -> Result<String, WordFailure> {
        let most = match self.number("NAME_MAX") {
            Some(Ok(most)) => usize::try_from(most).unwrap_or(255),
            _ => 255,
        };
        let mut path = String::new();
        let step = most.clamp(2, 200) + 1;
        while bytes - path.len() > step {
            path.push_str(&letters(step - 1));
            if let Err(error) = std::fs::create_dir(&path)
                && error.kind() != std::io::ErrorKind::AlreadyExists
            {
                return Err(WordFailure::Missing(format!("a path of {bytes} bytes: {error}")));
            }
            path.push('/');
        }
        path.push_str(&letters(bytes - path.len()));
        Ok(path)
    }
}

impl Surroundings for Round<'_> {
    fn number(&mut self, name: &str) -> Option<Result<i128, WordFailure>> {
        let limit = match name {
            "NAME_MAX" => libc::_PC_NAME_MAX,
            "PATH_MAX" => libc::_PC_PATH_MAX,
            "LINK_MAX" => libc::_PC_LINK_MAX,
            "SYMLINK_MAX" => libc::_PC_SYMLINK_MAX,
            "PIPE_BUF" => libc::_PC_PIPE_BUF,
            // SAFETY: the call takes no pointers.
            "PAGE" => return Some(Ok(i128::from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }))),
            "BLOCK" => {
                return Some(super::fixtures::block_bytes().map(i128::from).map_err(WordFailure::Missing));
            }
            _ => return None,
        };
        // SAFETY: the path ends with a zero byte.
        match unsafe { libc::pathconf(c".".as_ptr(), limit) } {
            -1 => Some(Err(WordFailure::Missing(format!("there is no {name} here")))),
            number => Some(Ok(i128::from(number))),
        }
    }

    fn text(&mut self, name: &str) -> Option<Result<String, WordFailure>> {
        let brief = self.brief;
        Some(match name {
            "here" => Ok(below(&brief.directory, "", self.name)),
            "ro" | "nosuid" | "noexec" | "nodev" | "view" => {
                self.base().map(|base| below(&base.join(name), &brief.name, self.name))
            }
            "elsewhere" => {
                let own = format!("elsewhere/{}.{}", brief.name, self.name);
                self.base().map(|base| base.join(own)).and_then(|path| self.own(path))
            }
            "small" if !brief.views.small => {
                Err(WordFailure::Missing("there is no small file system".into()))
            }
            "small" => self.base().map(|base| base.join("small/here")).and_then(|path| self.own(path)),
            "self.uid" => Ok(identity().0.to_string()),
            "self.gid" => Ok(identity().1.to_string()),
            "path_max" | "path_over" => match self.number("PATH_MAX") {
                Some(Ok(most)) => {
                    let bytes = usize::try_from(most).unwrap_or(4096);
                    self.long_path(bytes - usize::from(name == "path_max"))
                }
                _ => Err(WordFailure::Missing("there is no PATH_MAX here".into())),
            },
            _ => return None,
        })
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        // Whoever holds something of the round goes before what is held.
        for (index, actor) in self.actors.drain(..).enumerate() {
            if let Some(Ok(actor)) = actor {
                self.bench.take(index, actor);
            }
        }
        self.hands.empty();
        for path in &self.made {
            let _ = cleanup::clean(path, Task::Remove);
        }
    }
}

/// The call that a step makes.
fn asked(step: &Step) -> Option<&Call> {
    match &step.action {
        Action::Call(call) => Some(call),
        _ => None,
    }
}

fn has_succeeded(came: &Came) -> bool {
    came.instead.is_none() && came.answer.errno.is_none()
}

/// Whether whatever comes back will do.
fn is_lenient(order: &CallRequest) -> bool {
    order.name == "try" || order.name == "loop" && order.arguments.get(1).is_some_and(|name| name == "try")
}

/// An actor that is gone is what came of the step; a call that makes no sense is the rule's fault.
fn actor_outcome(outcome: Result<Came, actor::ActorFailure>) -> Result<Came, String> {
    match outcome {
        Ok(came) => Ok(came),
        Err(actor::ActorFailure::Gone(how)) => Ok(Came::instead(how)),
        Err(actor::ActorFailure::Wrong(why)) => Err(why),
    }
}
